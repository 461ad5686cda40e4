/* SPDX-License-Identifier: MIT */
/*
 * ll128.h: LL packets for messages of some length: units of elements in lines of 16 bytes, packed tightly.
 *
 *   irisi_ll128 irisi_ll128_unit irisi_ll128_units irisi_ll128_at irisi_ll128_load irisi_ll128_store irisi_ll128_write
 *   irisi_ll128_read irisi_ll128_flag irisi_ll128_await irisi_slice_ll128 irisi_slice_ll128_deal
 *   irisi_slice_ll128_take
 *
 * Where a 16-byte access is one atomic (IRISI_WIDE_ATOMIC), a line has 12 bytes of elements and a flag, and a unit has
 * two lines: 8-byte elements stay whole. Elsewhere a line is two packets of 4 bytes and a flag each, and a unit. A row
 * has the first lines of all its units, then the second ones, so that those of a wave lie side by side. A third less
 * travels than with collective/ll_steps.h, by more instructions, which short messages have no use for.
 */
#ifndef IRIS_COLLECTIVE_LL128_H
#define IRIS_COLLECTIVE_LL128_H

#include <iris/collective/ll_steps.h>

#if IRIS_HAS_DEVICE

enum {
    IRISI_LL128_LINES = IRISI_WIDE_ATOMIC ? 2 : 1,     /* of a unit */
    IRISI_LINE = IRISI_WIDE_ATOMIC ? 12 : 8,           /* bytes of elements in a line, */
    IRISI_LL128_UNIT = IRISI_LL128_LINES * IRISI_LINE, /* and in a unit, */
    IRISI_LL128_WORDS = IRISI_LL128_UNIT / 8,          /* in words; */
    IRISI_LL128_SEEN = 2 * IRISI_LL128_LINES           /* words of a unit's lines */
};

/* Rows of `lines` lines each, an even number: symmetric. */
typedef struct irisi_ll128 {
    iris_ll_packet *at;
    uint32_t lines;
} irisi_ll128;

/* A unit's elements. */
typedef struct irisi_ll128_unit {
    uint64_t w[IRISI_LL128_WORDS];
} irisi_ll128_unit;

/* Units of a message. */
IRIS_DEVICE uint32_t irisi_ll128_units(uint32_t bytes) { return (bytes + IRISI_LL128_UNIT - 1) / IRISI_LL128_UNIT; }

/* The first line of unit i of a row; the second, where there is one, is as many packets on as a row has lines. */
IRIS_DEVICE iris_ll_packet *irisi_ll128_at(irisi_ll128 rows, uint32_t row, uint32_t i)
{
    return rows.at + 2 * (row * rows.lines + i);
}

/* Whether a unit in memory, of which `left` bytes are there, is whole words: all but the rarest are. */
IRIS_DEVICE int irisi_ll128_whole(const void *p, uint32_t left)
{
    return __builtin_expect((uintptr_t)p % 8 == 0 && (left >= IRISI_LL128_UNIT || left % 8 == 0), 1);
}

/*
 * A unit of a message, of which `left` bytes are there; and back. Else byte by byte, in one loop, not word by word with
 * irisi_ll_unit: there is less code to fetch then.
 */
IRIS_DEVICE irisi_ll128_unit irisi_ll128_load(const char *from, uint32_t left)
{
    irisi_ll128_unit unit;
    __builtin_memset(&unit, 0, sizeof unit);
    if (irisi_ll128_whole(from, left)) {
        IRISI_UNROLL
        for (uint32_t w = 0; w < IRISI_LL128_WORDS; w++)
            if (left > 8 * w)
                unit.w[w] = irisi_load_64(from + 8 * w, IRIS_CACHE_DEFAULT);
        return unit;
    }
    IRISI_ROLLED
    for (uint32_t i = 0; i < (left < (uint32_t)IRISI_LL128_UNIT ? left : (uint32_t)IRISI_LL128_UNIT); i++) {
        const uint64_t byte = (uint64_t)irisi_load_8(from + i, IRIS_CACHE_DEFAULT) << i % 8 * 8;
        IRISI_UNROLL
        for (uint32_t w = 0; w < IRISI_LL128_WORDS; w++)
            unit.w[w] |= i / 8 == w ? byte : 0;
    }
    return unit;
}
IRIS_DEVICE void irisi_ll128_store(char *to, irisi_ll128_unit unit, uint32_t left)
{
    if (irisi_ll128_whole(to, left)) {
        IRISI_UNROLL
        for (uint32_t w = 0; w < IRISI_LL128_WORDS; w++)
            if (left > 8 * w)
                irisi_store_64(to + 8 * w, unit.w[w], IRIS_CACHE_DEFAULT);
        return;
    }
    IRISI_ROLLED
    for (uint32_t i = 0; i < (left < (uint32_t)IRISI_LL128_UNIT ? left : (uint32_t)IRISI_LL128_UNIT); i++) {
        uint64_t word = unit.w[0];
        IRISI_UNROLL
        for (uint32_t w = 1; w < IRISI_LL128_WORDS; w++)
            word = i / 8 == w ? unit.w[w] : word;
        irisi_store_8(to + i, (uint8_t)(word >> i % 8 * 8), IRIS_CACHE_DEFAULT);
    }
}

/* A unit to its lines, the second `apart` packets after the first, and back from what they were seen to be. */
IRIS_DEVICE void irisi_ll128_write(iris_ll_packet *to, uint32_t apart, irisi_ll128_unit unit, uint32_t flag)
{
    const uint64_t high = (uint64_t)flag << 32, last = unit.w[IRISI_LL128_WORDS - 1];
    if (IRISI_LL128_LINES == 1) {
        irisi_store_pair(&to->bits, high | (uint32_t)last, high | last >> 32);
        return;
    }
    irisi_store_pair(&to->bits, unit.w[0], high | (uint32_t)last);
    irisi_store_pair(&to[apart].bits, unit.w[IRISI_LL128_WORDS / 2], high | last >> 32);
}
IRIS_DEVICE irisi_ll128_unit irisi_ll128_read(const uint64_t *seen)
{
    const uint64_t low = (uint32_t)seen[IRISI_LL128_LINES - 1], high = seen[IRISI_LL128_SEEN - 1] << 32;
    irisi_ll128_unit unit;
    unit.w[0] = seen[0];
    unit.w[IRISI_LL128_WORDS / 2] = seen[IRISI_LL128_SEEN / 2];
    unit.w[IRISI_LL128_WORDS - 1] = high | low;
    return unit;
}
/* What flag `j` of a unit's two, 0 or 1, was seen to be. */
IRIS_DEVICE uint32_t irisi_ll128_flag(const uint64_t *seen, int j)
{
    return (uint32_t)(seen[j * IRISI_LL128_LINES + IRISI_LL128_LINES - 1] >> 32);
}

/* Waits for `units` units (1 to IRISI_LL_ROWS), `step` packets apart: seen + k * IRISI_LL128_SEEN is what k was. */
IRIS_DEVICE void irisi_ll128_await(const iris_ctx *ctx, const iris_ll_packet *unit, uint32_t step, uint32_t apart,
                                   int units, uint32_t flag, uint64_t *seen)
{
    const iris_ll_packet *first = unit + IRISI_LL128_LINES - 1; /* of its two with a flag */
    irisi_wait wait = irisi_wait_for((const iris_signal *)first, IRISI_EQ, flag, -1);
    for (uint32_t turn = 1;; turn++) {
        uint32_t late = 0;
        IRISI_UNROLL
        for (int k = 0; k < IRISI_LL_ROWS; k++)
            for (int l = 0; l < IRISI_LL128_LINES; l++)
                irisi_load_pair(&unit[(uint32_t)(k < units ? k : 0) * step + (uint32_t)l * apart].bits,
                                seen + k * IRISI_LL128_SEEN + 2 * l);
        IRISI_UNROLL
        for (int k = 0; k < 2 * IRISI_LL_ROWS; k++)
            late |= irisi_ll128_flag(seen + k / 2 * IRISI_LL128_SEEN, k % 2) ^ flag;
        if (late == 0)
            return;
        if (__builtin_expect(turn % IRISI_LL_CHECK == 0, 0) &&
            irisi_ll_give_up(ctx, &wait, first, step, IRISI_LL128_LINES == 1 ? 1 : apart, units, -1))
            return;
        iris_pause(turn);
    }
}

/* `parts` rows of a step, as long as there is room for, behind a unit of collective/ll_steps.h for each member. */
IRIS_DEVICE irisi_ll128 irisi_slice_ll128(const iris_slice *s, uint64_t step, uint32_t parts)
{
    irisi_ll128 rows;
    rows.at = irisi_slice_packets(s, step) + 2 * s->size;
    rows.lines = ((uint32_t)s->half / 16 - (uint32_t)s->size) / parts / 2 * 2;
    return rows;
}

/*
 * Sends every other member a part of its own of the `bytes` bytes at src, to the row of its place behind the caller:
 * the next one's is the first part, to row 0. Parts have `each` bytes, whole units, but the last may be shorter. Units
 * of several parts are read together, so that the loads of all parts are under way at once.
 */
IRIS_DEVICE void irisi_slice_ll128_deal(const iris_slice *s, irisi_ll128 rows, const void *src, uint32_t each,
                                        uint32_t bytes, uint32_t flag)
{
    const irisi_span part = irisi_split(irisi_ll128_units(each), iris_wg_lane(), iris_wg_lanes());
    for (uint32_t i = (uint32_t)part.first; i < (uint32_t)part.end; i += (uint32_t)part.step)
        for (int m = 0; m < s->size - 1; m += IRISI_LL_ROWS) {
            irisi_ll128_unit unit[IRISI_LL_ROWS];
            uint32_t at[IRISI_LL_ROWS];
            IRISI_UNROLL
            for (int k = 0; k < IRISI_LL_ROWS; k++) {
                at[k] = m + k < s->size - 1 ? (uint32_t)(m + k) * each + IRISI_LL128_UNIT * i : bytes;
                unit[k] = irisi_ll128_load((const char *)src + at[k], at[k] < bytes ? bytes - at[k] : 0);
            }
            IRISI_UNROLL
            for (int k = 0; k < IRISI_LL_ROWS; k++)
                if (at[k] < bytes) {
                    iris_ll_packet *to = irisi_ll128_at(rows, (uint32_t)(m + k), i);
                    irisi_ll128_write((iris_ll_packet *)irisi_translate(s->ctx, to, irisi_slice_ahead(s, m + k + 1)),
                                      rows.lines, unit[k], flag);
                }
        }
}

/*
 * Receives `bytes` bytes of row `row`, several units at a time. With `skip` above 0 every unit is also sent on, to the
 * same lines on all other members but the one so many places ahead.
 */
IRIS_DEVICE void irisi_slice_ll128_take(const iris_slice *s, void *dst, irisi_ll128 rows, uint32_t row, uint32_t bytes,
                                        uint32_t flag, int skip)
{
    const irisi_span part = irisi_split(irisi_ll128_units(bytes), iris_wg_lane(), iris_wg_lanes());
    const uint32_t step = (uint32_t)part.step, end = (uint32_t)part.end;
    for (uint32_t i = (uint32_t)part.first; i < end; i += IRISI_LL_ROWS * step) {
        uint64_t seen[(int)IRISI_LL128_SEEN * (int)IRISI_LL_ROWS];
        const int units = 1 + (i + step < end) + (i + 2 * step < end) + (i + 3 * step < end);
        irisi_ll128_await(s->ctx, irisi_ll128_at(rows, row, i), 2 * step, rows.lines, units, flag, seen);
        IRISI_UNROLL
        for (int k = 0; k < IRISI_LL_ROWS; k++)
            if (k < units) {
                const uint32_t at = i + (uint32_t)k * step;
                const irisi_ll128_unit unit = irisi_ll128_read(seen + k * IRISI_LL128_SEEN);
                for (int m = 1; skip > 0 && m < s->size; m++) {
                    void *to = irisi_translate(s->ctx, irisi_ll128_at(rows, row, at), irisi_slice_ahead(s, m));
                    if (m != skip)
                        irisi_ll128_write((iris_ll_packet *)to, rows.lines, unit, flag);
                }
                irisi_ll128_store((char *)dst + IRISI_LL128_UNIT * at, unit, bytes - IRISI_LL128_UNIT * at);
            }
    }
}

#endif
#endif
