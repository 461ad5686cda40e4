/* SPDX-License-Identifier: MIT */
/*
 * sources.h: where a reduction's elements come from, and where and how its results go.
 *
 *   irisi_sources irisi_from_rows irisi_from_scratch irisi_from_members irisi_source irisi_target irisi_deliver
 *   irisi_slice_put_shares irisi_slice_go_around
 */
#ifndef IRIS_COLLECTIVE_SOURCES_H
#define IRIS_COLLECTIVE_SOURCES_H

#include <iris/collective/collective.h>

#if IRIS_HAS_DEVICE

/* Where elements come from: the same place on every member, or `n` rows of own memory, `pitch` bytes apart. */
typedef struct irisi_sources {
    const void *first;
    size_t pitch;
    int n, remote;
} irisi_sources;
/* Where results go, if not to one rank. */
enum { IRISI_FOR_SELF = -1, IRISI_FOR_ALL = -2 };

IRIS_DEVICE irisi_sources irisi_from_rows(const void *first, size_t pitch, int n)
{
    irisi_sources from;
    from.first = first, from.pitch = pitch, from.n = n, from.remote = 0;
    return from;
}
/*
 * All members' rows in the own scratch; the same place on all members. Their number is as if new: what follows from it
 * is computed where it is used, where the compiler would keep it in more scalar registers than AMD has.
 */
IRIS_DEVICE irisi_sources irisi_from_scratch(const iris_slice *s, const void *first, size_t pitch)
{
    return irisi_from_rows(first, (size_t)irisi_rematerialize_u64(pitch),
                           (int)irisi_rematerialize_u32((uint32_t)s->size));
}
IRIS_DEVICE irisi_sources irisi_from_members(const iris_slice *s, const void *first)
{
    irisi_sources from = irisi_from_rows(first, 0, (int)irisi_rematerialize_u32((uint32_t)s->size));
    from.remote = 1;
    return from;
}
IRIS_DEVICE const char *irisi_source(const iris_slice *s, const irisi_sources *from, int k)
{
    return from->remote ? (const char *)irisi_translate(s->ctx, from->first, irisi_slice_rank(s, k))
                        : (const char *)from->first + (size_t)k * from->pitch;
}

/* Where result number k goes, 1 … size for all members: the next one first, so that no link is everybody's first. */
IRIS_DEVICE void *irisi_target(const iris_slice *s, void *dst, int to, int k)
{
    return to == IRISI_FOR_SELF ? dst
                                : irisi_translate(s->ctx, dst, to == IRISI_FOR_ALL ? irisi_slice_ahead(s, k) : to);
}
IRIS_DEVICE void irisi_deliver(const iris_slice *s, void *dst, int to, irisi_b128 v)
{
    for (int k = 1; k <= (to == IRISI_FOR_ALL ? s->size : 1); k++)
        irisi_store_128(irisi_target(s, dst, to, k), v, IRIS_CACHE_DEFAULT);
}

/*
 * Cuts `bytes` bytes of own memory into a share of `each` bytes, a multiple of 16, for every member, and puts each into
 * the row of scratch at `row` on its member: the 16 bytes that a lane looks at may be anybody's, so that all loads are
 * under way at once. Every lane of the workgroup calls it; no order of its own.
 */
IRIS_DEVICE void irisi_slice_put_shares(const iris_slice *s, void *row, const void *src, size_t bytes, size_t each)
{
    const int whole = irisi_alignment((uintptr_t)src) == 16;
    const uint32_t share = (uint32_t)(each / 16);
    const irisi_span own = irisi_split(whole ? bytes / 16 : 0, iris_wg_lane(), iris_wg_lanes());
    for (size_t i = own.first; i < own.end; i += 4 * own.step) {
        irisi_b128 v[4];
        IRISI_UNROLL
        for (int u = 0; u < 4; u++) {
            const size_t at = i + (uint32_t)u * own.step; /* beyond the end, the first again */
            v[u] = irisi_load_128((const char *)src + 16 * (at < own.end ? at : i), IRIS_CACHE_STREAM);
        }
        IRISI_UNROLL
        for (int u = 0; u < 4; u++)
            irisi_loaded(v + u);
        IRISI_UNROLL
        for (int u = 0; u < 4; u++) {
            const uint32_t at = (uint32_t)(i + (uint32_t)u * own.step), whose = at / share;
            if (at < own.end)
                irisi_store_128((char *)irisi_translate(s->ctx, row, irisi_slice_rank(s, (int)whose)) +
                                    16 * (at - whose * share), v[u], IRIS_CACHE_DEFAULT);
        }
    }
    for (int m = 0; m < s->size; m++) { /* what is left of every share: all of it, or less than 16 bytes */
        const size_t first = (size_t)m * each, end = first + each < bytes ? first + each : bytes;
        const size_t from = whole && first < end ? first + (end - first) / 16 * 16 : first;
        if (from < end)
            irisi_copy_wg((char *)irisi_translate(s->ctx, row, irisi_slice_rank(s, m)) + (from - first),
                          (const char *)src + from, end - from);
    }
}

/*
 * Parts go around the members in pieces, everybody putting to the next one only. Member m's is at dst + m * pitch, of
 * `each` bytes, or fewer where all parts one after the other have `all`. The own one is there, written by this
 * workgroup; when it returns, all are. Every lane of it calls it, after a meeting.
 */
IRIS_DEVICE void irisi_slice_go_around(iris_slice *s, char *dst, size_t pitch, size_t each, size_t all)
{
    const int next = irisi_slice_ahead(s, 1), last = irisi_slice_ahead(s, s->size - 1);
    const size_t piece = irisi_hop_bytes(each, 4, IRISI_CHAIN_PIECE), pieces = (each + piece - 1) / piece;
    irisi_drain(); /* the own part is there */
    iris_sync_wg();
    for (int k = 0; k < s->size - 1; k++) { /* the part of the member k places behind, which came the turn before */
        const size_t m = (size_t)irisi_slice_member(s, s->size - k);
        const size_t part = m * each >= all ? 0 : all - m * each < each ? all - m * each : each;
        for (size_t i = 0; i < pieces; i++) { /* as many of every part, though some are empty */
            char *from = dst + m * pitch + i * piece;
            const size_t left = part > i * piece ? part - i * piece : 0;
            if (k > 0)
                irisi_slice_wait(s, IRISI_WORD_MOVED, s->step - pieces + i + 1, last);
            irisi_copy_wg(irisi_translate(s->ctx, from, next), from, left < piece ? left : piece);
            irisi_slice_raise(s, IRISI_WORD_MOVED, s->step + i + 1, next);
        }
        s->step += pieces;
    }
    irisi_slice_wait(s, IRISI_WORD_MOVED, s->size > 1 ? s->step : 0, last);
}

#endif
#endif
