/* SPDX-License-Identifier: MIT */
/*
 * ll_units.h: messages of LL packets (ll.h) by units of 8 bytes, in two packets that lie side by side.
 *
 *   irisi_ll_units irisi_ll_unit irisi_ll_store_unit irisi_ll_write_unit irisi_ll_give_up irisi_ll_await_units
 *
 * Each packet has its own flag, and a unit is there when both are.
 */
#ifndef IRIS_COLLECTIVE_LL_UNITS_H
#define IRIS_COLLECTIVE_LL_UNITS_H

#include <iris/collective/ll.h>

#if IRIS_HAS_DEVICE

/* Rows that are looked at together: so many 16-byte loads are under way at once. */
enum { IRISI_LL_ROWS = 4 };

/* Units of a message. 32 bits do for what fits a slice, and are quicker. */
IRIS_DEVICE uint32_t irisi_ll_units(uint32_t bytes) { return (bytes + 7) / 8; }

/* 8 bytes of a message, of which `left` are there; and back. Byte by byte in a loop: the rare case has little code. */
IRIS_DEVICE uint64_t irisi_ll_unit(const char *from, uint32_t left)
{
    uint64_t both = 0;
    if (__builtin_expect(left >= 8 && (uintptr_t)from % 8 == 0, 1))
        return irisi_load_64(from, IRIS_CACHE_DEFAULT);
    IRISI_ROLLED
    for (uint32_t i = 0; i < (left < 8 ? left : 8); i++)
        both |= (uint64_t)irisi_load_8(from + i, IRIS_CACHE_DEFAULT) << 8 * i;
    return both;
}
IRIS_DEVICE void irisi_ll_store_unit(char *to, uint64_t both, uint32_t left)
{
    if (__builtin_expect(left >= 8 && (uintptr_t)to % 8 == 0, 1)) {
        irisi_store_64(to, both, IRIS_CACHE_DEFAULT);
        return;
    }
    IRISI_ROLLED
    for (uint32_t i = 0; i < (left < 8 ? left : 8); i++)
        irisi_store_8(to + i, (uint8_t)(both >> 8 * i), IRIS_CACHE_DEFAULT);
}

IRIS_DEVICE void irisi_ll_write_unit(iris_ll_packet *to, uint64_t both, uint32_t flag)
{
    irisi_store_pair(&to->bits, (uint64_t)flag << 32 | (uint32_t)both, (uint64_t)flag << 32 | both >> 32);
}

/*
 * The deadline of a wait for units: looks for the packet that is missing, of the two with a flag that a unit has,
 * `apart` packets from each other. 1 when the wait is to end.
 */
IRIS_DEVICE int irisi_ll_give_up(const iris_ctx *ctx, irisi_wait *wait, const iris_ll_packet *unit, uint32_t pitch,
                                 uint32_t apart, int rows, int own)
{
    uint64_t saw = wait->value;
    IRISI_ROLLED
    for (int k = 0; k < 2 * rows && saw == wait->value; k++) {
        const iris_ll_packet *packet = unit + (uint32_t)(k / 2) * pitch + (uint32_t)(k % 2) * apart;
        if (k / 2 == own)
            continue;
        saw = irisi_atomic_fetch_u64(&packet->bits, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) >> 32;
        wait->signal = (const iris_signal *)packet;
    }
    return saw != wait->value && irisi_give_up(ctx, wait, saw);
}

/*
 * Waits for one unit of each of `rows` rows (1 to `batch`, a constant), `pitch` packets apart; but for row `own`,
 * which nobody sends, where there is one. seen[2 k] and seen[2 k + 1] are row k's words, in their low halves. `from`
 * is the rank that sends all of them, for sentences, or -1.
 */
IRIS_DEVICE void irisi_ll_await_units(const iris_ctx *ctx, const iris_ll_packet *unit, uint32_t pitch, int rows,
                                      int own, uint32_t flag, int batch, int from, uint64_t *seen)
{
    const int other = own == 0 ? 1 : 0; /* looked at in place of rows that are none */
    irisi_wait wait = irisi_wait_for((const iris_signal *)unit, IRISI_EQ, flag, from);
    for (uint32_t turn = 1; other < rows; turn++) {
        uint32_t late = 0;
        IRISI_UNROLL
        for (int k = 0; k < batch; k++)
            irisi_load_pair(&unit[(uint32_t)(k < rows && k != own ? k : other) * pitch].bits, seen + 2 * k);
        IRISI_UNROLL
        for (int k = 0; k < 2 * batch; k++)
            late |= (uint32_t)(seen[k] >> 32) ^ flag;
        if (late == 0)
            return;
        if (__builtin_expect(turn % IRISI_LL_CHECK == 0, 0) &&
            irisi_ll_give_up(ctx, &wait, unit, pitch, 1, rows, own))
            return;
        iris_pause(turn);
    }
}

#endif
#endif
