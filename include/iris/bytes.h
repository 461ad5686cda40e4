/* SPDX-License-Identifier: MIT */
/*
 * bytes.h: copies of any length and alignment by a lane, a wave or a workgroup.
 *
 *   irisi_copy irisi_copy_wave irisi_copy_wg irisi_copy_cache irisi_copy_cache_wave irisi_copy_cache_wg
 *   irisi_copy_bytes irisi_divide irisi_wave_members
 *
 * Stores are 16 bytes wide wherever the destination allows it, because the destination is what lies across the link;
 * a source that is not aligned alike is gathered by the widest loads that its alignment allows. `load` and `store` are
 * cache hints, constants, of the loads and of the stores.
 */
#ifndef IRIS_BYTES_H
#define IRIS_BYTES_H

#include <iris/arch/select.h>

/* n / d, by 32 bits where that will do: 64 take a GPU ten times as long. */
IRIS_HOST_DEVICE size_t irisi_divide(size_t n, uint32_t d) { return n >> 32 == 0 ? (uint32_t)n / d : n / d; }

#if IRIS_HAS_DEVICE

/*
 * Lanes that the caller's wave has: iris_wave_lanes(), or fewer in the last wave of a workgroup whose lanes are no
 * multiple of it. On the host, where a wave is one lane, it is the constant 1.
 */
IRIS_DEVICE uint32_t irisi_wave_members(void)
{
    const uint32_t whole = iris_wave_lanes(), left = iris_wg_lanes() - iris_wave() * whole;
    return whole == 1 || left > whole ? whole : left;
}

/*
 * The largest power of two, at most 16, that divides x (16 for 0). Bit by bit, so that a compiler that knows a length
 * knows the widest access too and does not warn of one beyond a small object.
 */
IRIS_DEVICE uint32_t irisi_alignment(uintptr_t x) { return x & 1 ? 1 : x & 2 ? 2 : x & 4 ? 4 : x & 8 ? 8 : 16; }

/* One unit of 1, 2, 4 or 8 bytes. */
IRIS_DEVICE void irisi_copy_unit(char *dst, const char *src, uint32_t unit, iris_cache load, iris_cache store)
{
    if (unit == 1)
        irisi_store_8(dst, irisi_load_8(src, load), store);
    else if (unit == 2)
        irisi_store_16(dst, irisi_load_16(src, load), store);
    else if (unit == 4)
        irisi_store_32(dst, irisi_load_32(src, load), store);
    else
        irisi_store_64(dst, irisi_load_64(src, load), store);
}

/* Fewer than 16 bytes at either end, in units that both sides are aligned to. */
IRIS_DEVICE void irisi_copy_edge(char *dst, const char *src, uint32_t bytes, uint32_t unit, size_t member,
                                 size_t members, iris_cache load, iris_cache store)
{
    for (size_t i = member * unit; i < bytes; i += members * unit)
        irisi_copy_unit(dst + i, src + i, unit, load, store);
}

/* 16 bytes from a source aligned to `align` = 1, 2, 4 or 8 bytes. */
IRIS_DEVICE irisi_b128 irisi_gather_128(const char *src, uint32_t align, iris_cache load)
{
    irisi_b128 v;
    for (int i = 0; i < 4; i++) {
        const char *p = src + 4 * i;
        if (align >= 4)
            v.w[i] = irisi_load_32(p, load);
        else if (align == 2)
            v.w[i] = irisi_load_16(p, load) | (uint32_t)irisi_load_16(p + 2, load) << 16;
        else
            v.w[i] = irisi_load_8(p, load) | (uint32_t)irisi_load_8(p + 1, load) << 8 |
                     (uint32_t)irisi_load_8(p + 2, load) << 16 | (uint32_t)irisi_load_8(p + 3, load) << 24;
    }
    return v;
}

/*
 * What is left at the end of irisi_copy_chunks, one to three chunks a lane: again every load is in flight before the
 * first store. One after the other they would cost a short message a round trip to memory each.
 */
IRIS_DEVICE void irisi_copy_last(char *dst, const char *src, size_t i, size_t step, size_t end, iris_cache load,
                                 iris_cache store)
{
    const int second = i + step < end, third = i + 2 * step < end;
    irisi_b128 v0 = irisi_load_128(src + i, load), v1 = {{0, 0, 0, 0}}, v2 = {{0, 0, 0, 0}};
    if (second)
        v1 = irisi_load_128(src + i + step, load);
    if (third)
        v2 = irisi_load_128(src + i + 2 * step, load);
    irisi_loaded(&v0);
    irisi_loaded(&v1);
    irisi_loaded(&v2);
    irisi_store_128(dst + i, v0, store);
    if (second)
        irisi_store_128(dst + i + step, v1, store);
    if (third)
        irisi_store_128(dst + i + 2 * step, v2, store);
}

/*
 * 16-byte chunks, both sides aligned: four loads are in flight before the first store. A message of one or two chunks a
 * lane goes by the shortest way: every instruction before its last store delays the signal behind it.
 */
IRIS_DEVICE void irisi_copy_chunks(char *dst, const char *src, size_t chunks, size_t member, size_t members,
                                   iris_cache load, iris_cache store)
{
    const irisi_span s = irisi_split(chunks, member, members);
    const size_t step = 16 * s.step;
    const size_t end = 16 * s.end;
    size_t i = 16 * s.first;
    if (i + step >= end) {
        if (i < end)
            irisi_store_128(dst + i, irisi_load_128(src + i, load), store);
        return;
    }
    if (i + 2 * step >= end) {
        irisi_b128 v0 = irisi_load_128(src + i, load);
        irisi_b128 v1 = irisi_load_128(src + i + step, load);
        irisi_loaded(&v0);
        irisi_loaded(&v1);
        irisi_store_128(dst + i, v0, store);
        irisi_store_128(dst + i + step, v1, store);
        return;
    }
    for (; i + 3 * step < end; i += 4 * step) {
        irisi_b128 v0 = irisi_load_128(src + i, load);
        irisi_b128 v1 = irisi_load_128(src + i + step, load);
        irisi_b128 v2 = irisi_load_128(src + i + 2 * step, load);
        irisi_b128 v3 = irisi_load_128(src + i + 3 * step, load);
        irisi_loaded(&v0);
        irisi_loaded(&v1);
        irisi_loaded(&v2);
        irisi_loaded(&v3);
        irisi_store_128(dst + i, v0, store);
        irisi_store_128(dst + i + step, v1, store);
        irisi_store_128(dst + i + 2 * step, v2, store);
        irisi_store_128(dst + i + 3 * step, v3, store);
    }
    if (i < end)
        irisi_copy_last(dst, src, i, step, end, load, store);
}

/*
 * Copies `bytes` bytes, member `member` of `members` lanes doing its share. Any alignment; the two must not overlap.
 * No order and no meeting of the lanes: callers add those.
 */
IRIS_DEVICE void irisi_copy_bytes(void *to, const void *from, size_t bytes, size_t member, size_t members,
                                  iris_cache load, iris_cache store)
{
    char *dst = (char *)to;
    const char *src = (const char *)from;
    const uintptr_t places = (uintptr_t)dst | (uintptr_t)src | (uintptr_t)bytes;
    if (places % 16 == 0) {
        irisi_copy_chunks(dst, src, bytes / 16, member, members, load, store);
        return;
    }
    const uint32_t align = irisi_alignment(places);
    size_t head = (0 - (uintptr_t)dst) & 15;
    if (head > bytes)
        head = bytes;
    const size_t chunks = (bytes - head) / 16;
    const size_t tail = head + 16 * chunks;
    irisi_copy_edge(dst, src, (uint32_t)head, align, member, members, load, store);
    irisi_copy_edge(dst + tail, src + tail, (uint32_t)(bytes - tail), align, member, members, load, store);
    dst += head;
    src += head;
    const uint32_t gather = irisi_alignment((uintptr_t)src);
    if (gather == 16) {
        irisi_copy_chunks(dst, src, chunks, member, members, load, store);
        return;
    }
    const irisi_span s = irisi_split(chunks, member, members);
    for (size_t i = s.first; i < s.end; i += s.step)
        irisi_store_128(dst + 16 * i, irisi_gather_128(src + 16 * i, gather, load), store);
}

/* By one lane, by the lanes of a wave, by the lanes of a workgroup; hints of a user's own. */
IRIS_DEVICE void irisi_copy_cache(void *to, const void *from, size_t bytes, iris_cache load, iris_cache store)
{
    irisi_check_load_hint(load);
    irisi_check_store_hint(store);
    irisi_copy_bytes(to, from, bytes, 0, 1, load, store);
}
IRIS_DEVICE void irisi_copy_cache_wave(void *to, const void *from, size_t bytes, iris_cache load, iris_cache store)
{
    irisi_check_load_hint(load);
    irisi_check_store_hint(store);
    irisi_copy_bytes(to, from, bytes, iris_lane(), irisi_wave_members(), load, store);
}
IRIS_DEVICE void irisi_copy_cache_wg(void *to, const void *from, size_t bytes, iris_cache load, iris_cache store)
{
    irisi_check_load_hint(load);
    irisi_check_store_hint(store);
    irisi_copy_bytes(to, from, bytes, iris_wg_lane(), iris_wg_lanes(), load, store);
}

/* The same without hints: stores go through to the system. */
IRIS_DEVICE void irisi_copy(void *to, const void *from, size_t bytes)
{
    irisi_copy_bytes(to, from, bytes, 0, 1, IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
}
IRIS_DEVICE void irisi_copy_wave(void *to, const void *from, size_t bytes)
{
    irisi_copy_bytes(to, from, bytes, iris_lane(), irisi_wave_members(), IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
}
IRIS_DEVICE void irisi_copy_wg(void *to, const void *from, size_t bytes)
{
    irisi_copy_bytes(to, from, bytes, iris_wg_lane(), iris_wg_lanes(), IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
}

#endif
#endif
