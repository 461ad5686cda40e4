/* SPDX-License-Identifier: MIT */
/*
 * collective_ll.h: LL packets of collectives: units of 8 bytes in two packets that lie side by side.
 *
 *   irisi_ll_units irisi_ll_unit irisi_ll_write_unit irisi_ll_await_units irisi_ll_store_unit
 *   irisi_slice_ll_room irisi_slice_ll_put irisi_slice_ll_get
 *
 * A member's message is a row of packets. Each of its packets has its own flag, so the two of a unit move as one
 * 16-byte access where the platform has that, without anybody relying on it.
 */
#ifndef IRIS_COLLECTIVE_LL_H
#define IRIS_COLLECTIVE_LL_H

#include <iris/collective.h>

#if IRIS_HAS_DEVICE

/* Rows that are looked at together: so many 16-byte loads are under way at once. */
enum { IRISI_LL_ROWS = 4 };

/* Units of a message. */
IRIS_DEVICE size_t irisi_ll_units(size_t bytes) { return bytes / 8 + (bytes % 8 != 0); }

/* Most bytes of a row of which `rows` go into a slice's packets at once: a multiple of 16. */
IRIS_DEVICE size_t irisi_slice_ll_room(const iris_slice *s, int rows)
{
    return (uint32_t)s->half / ((uint32_t)rows * 32) * 16;
}

/* Two words of 4 bytes of a message, of which `left` bytes are there; and back. */
IRIS_DEVICE void irisi_ll_unit(const char *from, size_t left, uint32_t *words)
{
    if (left >= 8 && (uintptr_t)from % 8 == 0) {
        const uint64_t both = irisi_load_64(from, IRIS_CACHE_DEFAULT);
        words[0] = (uint32_t)both;
        words[1] = (uint32_t)(both >> 32);
    } else {
        words[0] = irisi_ll_gather(from, left);
        words[1] = left > 4 ? irisi_ll_gather(from + 4, left - 4) : 0;
    }
}
IRIS_DEVICE void irisi_ll_store_unit(char *to, uint32_t low, uint32_t high, size_t left)
{
    if (left >= 8 && (uintptr_t)to % 8 == 0) {
        irisi_store_64(to, (uint64_t)high << 32 | low, IRIS_CACHE_DEFAULT);
        return;
    }
    irisi_ll_scatter(to, low, left);
    if (left > 4)
        irisi_ll_scatter(to + 4, high, left - 4);
}

IRIS_DEVICE void irisi_ll_write_unit(iris_ll_packet *to, const uint32_t *words, uint32_t flag)
{
    irisi_store_pair(&to->bits, (uint64_t)flag << 32 | words[0], (uint64_t)flag << 32 | words[1]);
}

/*
 * Waits for one unit of each of `rows` rows (1 to IRISI_LL_ROWS), `pitch` packets apart. seen[2 k] and seen[2 k + 1]
 * are row k's words, in their low halves.
 */
IRIS_DEVICE void irisi_ll_await_units(const iris_ctx *ctx, const iris_ll_packet *unit, size_t pitch, int rows,
                                      uint32_t flag, uint64_t *seen)
{
    irisi_wait wait;
    wait.signal = (const iris_signal *)unit;
    wait.cmp = IRISI_EQ;
    wait.value = flag;
    wait.from = -1;
    wait.start = 0;
    for (uint32_t turn = 1;; turn++) {
        uint64_t late = 0, saw = flag;
        IRISI_UNROLL
        for (int k = 0; k < IRISI_LL_ROWS; k++)
            irisi_load_pair(&unit[k < rows ? (size_t)k * pitch : 0].bits, seen + 2 * k);
        IRISI_UNROLL
        for (int k = 2 * IRISI_LL_ROWS - 1; k >= 0; k--)
            if (seen[k] >> 32 != flag) {
                late = 1;
                saw = seen[k] >> 32;
                wait.signal = (const iris_signal *)&unit[k / 2 < rows ? (size_t)(k / 2) * pitch + (size_t)(k % 2) : 0];
            }
        if (!late || (turn % IRISI_WAIT_CHECK == 0 && irisi_give_up(ctx, &wait, saw)))
            return;
        iris_pause(turn);
    }
}

/* Sends `bytes` bytes to the same slots on members ahead by first, …, last places, each 8 bytes read once. */
IRIS_DEVICE void irisi_slice_ll_put(const iris_slice *s, iris_ll_packet *slots, const void *src, size_t bytes,
                                    uint32_t flag, int first, int last)
{
    const irisi_span own = irisi_split(irisi_ll_units(bytes), iris_wg_lane(), iris_wg_lanes());
    for (size_t i = own.first; i < own.end; i += own.step) {
        uint32_t words[2];
        irisi_ll_unit((const char *)src + 8 * i, bytes - 8 * i, words);
        for (int k = first; k <= last; k++)
            irisi_ll_write_unit((iris_ll_packet *)irisi_translate(s->ctx, slots, irisi_slice_ahead(s, k)) + 2 * i,
                                words, flag);
    }
}

/* Receives every member's row of `bytes` bytes: member m's goes to dst + m * stride. */
IRIS_DEVICE void irisi_slice_ll_get(const iris_slice *s, void *dst, size_t stride, const iris_ll_packet *slots,
                                    size_t pitch, size_t bytes, uint32_t flag)
{
    const irisi_span own = irisi_split(irisi_ll_units(bytes), iris_wg_lane(), iris_wg_lanes());
    for (size_t i = own.first; i < own.end; i += own.step)
        for (int m = 0; m < s->size; m += IRISI_LL_ROWS) {
            const int rows = s->size - m < IRISI_LL_ROWS ? s->size - m : IRISI_LL_ROWS;
            uint64_t seen[2 * IRISI_LL_ROWS];
            irisi_ll_await_units(s->ctx, slots + (size_t)m * pitch + 2 * i, pitch, rows, flag, seen);
            IRISI_UNROLL
            for (int k = 0; k < IRISI_LL_ROWS; k++)
                if (k < rows)
                    irisi_ll_store_unit((char *)dst + (size_t)(m + k) * stride + 8 * i, (uint32_t)seen[2 * k],
                                        (uint32_t)seen[2 * k + 1], bytes - 8 * i);
        }
}

#endif
#endif
