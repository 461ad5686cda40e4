/* SPDX-License-Identifier: MIT */
/*
 * ll_steps.h: LL packets of collectives, by units of 8 bytes (collective/ll_units.h).
 *
 *   irisi_slice_ll_first irisi_slice_ll_put irisi_ll_group irisi_slice_group irisi_slice_ll_deal irisi_slice_ll_collect
 *   irisi_slice_ll_await irisi_slice_ll_await_beside irisi_slice_ll_send irisi_slice_ll_get irisi_slice_ll_take
 *   irisi_slice_ll_greet irisi_slice_ll_greeted
 *
 * A member's message is a row of packets; rows are iris_slice.room / 4 packets apart. Each packet has its own flag, and
 * a unit is there when both are: what collective/ll128.h left in a packet's place may look like a flag by chance, but
 * then both of its words do not, and where it writes such words the two of a unit move as one 16-byte access.
 */
#ifndef IRIS_COLLECTIVE_LL_STEPS_H
#define IRIS_COLLECTIVE_LL_STEPS_H

#include <iris/collective/collective.h>
#include <iris/collective/ll_units.h>

#if IRIS_HAS_DEVICE

/*
 * Waits for unit number i of the rows of members m, m + 1, …, `rows` of them: units[k] is that of member m + k. In
 * place of the own row's, which nobody sends, stands `mine`.
 */
IRIS_DEVICE void irisi_slice_ll_await_beside(const iris_slice *s, const iris_ll_packet *slots, uint32_t pitch,
                                             uint64_t mine, uint32_t i, int m, int rows, uint32_t flag, uint64_t *units)
{
    const int row = s->member - m;
    uint64_t seen[2 * IRISI_LL_ROWS];
    irisi_ll_await_units(s->ctx, slots + (uint32_t)m * pitch + 2 * i, pitch, rows, row, flag, IRISI_LL_ROWS, -1, seen);
    IRISI_UNROLL
    for (int k = 0; k < IRISI_LL_ROWS; k++)
        units[k] = k == row ? mine : seen[2 * k + 1] << 32 | (uint32_t)seen[2 * k];
}
/* The same where the own unit is read from `own`, its row's `bytes` bytes in this rank's memory. */
IRIS_DEVICE void irisi_slice_ll_await(const iris_slice *s, const iris_ll_packet *slots, uint32_t pitch, const void *own,
                                      uint32_t bytes, uint32_t i, int m, int rows, uint32_t flag, uint64_t *units)
{
    const int row = s->member - m;
    uint64_t mine = 0;
    if (row >= 0 && row < rows)
        mine = irisi_ll_unit((const char *)own + 8 * i, bytes - 8 * i);
    irisi_slice_ll_await_beside(s, slots, pitch, mine, i, m, rows, flag, units);
}

/* Sends unit number i of a row of slots to every other member. */
IRIS_DEVICE void irisi_slice_ll_send(const iris_slice *s, iris_ll_packet *slots, uint32_t i, uint64_t unit,
                                     uint32_t flag)
{
    for (int k = 1; k < s->size; k++)
        irisi_ll_write_unit((iris_ll_packet *)irisi_translate(s->ctx, slots + 2 * i, irisi_slice_ahead(s, k)), unit,
                            flag);
}

/* What the calling lane sends first of `bytes` bytes: read while the slice's step is on its way, not after it. */
IRIS_DEVICE uint64_t irisi_slice_ll_first(const void *src, size_t bytes)
{
    const irisi_span part = irisi_split(irisi_ll_units((uint32_t)bytes), iris_wg_lane(), iris_wg_lanes());
    const uint32_t first = 8 * (uint32_t)part.first;
    return first < (uint32_t)bytes ? irisi_ll_unit((const char *)src + first, (uint32_t)bytes - first) : 0;
}

/*
 * Sends `bytes` bytes to the same slots on members ahead by first, …, last places, and to `copy` in own memory, if that
 * is not null: each 8 bytes are read once. `unit` is what irisi_slice_ll_first gave.
 */
IRIS_DEVICE void irisi_slice_ll_put(const iris_slice *s, iris_ll_packet *slots, uint64_t unit, const void *src,
                                    size_t bytes, uint32_t flag, int first, int last, void *copy)
{
    const irisi_span part = irisi_split(irisi_ll_units((uint32_t)bytes), iris_wg_lane(), iris_wg_lanes());
    for (uint32_t i = (uint32_t)part.first; i < (uint32_t)part.end; i += (uint32_t)part.step) {
        if (i != (uint32_t)part.first)
            unit = irisi_ll_unit((const char *)src + 8 * i, (uint32_t)bytes - 8 * i);
        for (int k = first; k <= last; k++)
            irisi_ll_write_unit((iris_ll_packet *)irisi_translate(s->ctx, slots + 2 * i, irisi_slice_ahead(s, k)), unit,
                                flag);
        if (copy != NULL)
            irisi_ll_store_unit((char *)copy + 8 * i, unit, (uint32_t)bytes - 8 * i);
    }
}

/* A lane's place: waves make a group for each other member, or for several members where waves are few. */
typedef struct irisi_ll_group {
    uint32_t group, groups; /* waves that are left over have numbers from `groups` on */
    uint32_t lane, lanes;   /* of the group */
} irisi_ll_group;

IRIS_DEVICE irisi_ll_group irisi_slice_group(const iris_slice *s)
{
    const uint32_t lanes = iris_wg_lanes(), wave = iris_wave_lanes(), others = (uint32_t)s->size - 1;
    const uint32_t waves = lanes % wave == 0 ? lanes / wave : 1;
    irisi_ll_group g;
    g.groups = waves < others ? waves : others;
    g.lanes = g.groups <= 1 ? lanes : waves / g.groups * wave;
    g.group = iris_wg_lane() / g.lanes;
    g.lane = iris_wg_lane() - g.group * g.lanes;
    return g;
}

/*
 * Every other member's part of `bytes` bytes, cut into parts of `each`, a multiple of 8, but the last may be shorter:
 * deal sends them to the same slots on their members; collect receives them from each member's row. Waves divide among
 * the members, so that a lane reads and sends once, and has little code to fetch: one part after the other took 0.5
 * microseconds more for each.
 */
IRIS_DEVICE void irisi_slice_ll_deal(const iris_slice *s, iris_ll_packet *slots, const void *src, uint32_t each,
                                     uint32_t bytes, uint32_t flag)
{
    const irisi_ll_group g = irisi_slice_group(s);
    const irisi_span part = irisi_split(irisi_ll_units(each), g.lane, g.lanes);
    for (uint32_t k = g.group; k + 1 < (uint32_t)s->size && g.group < g.groups; k += g.groups) {
        const uint32_t first = (uint32_t)irisi_slice_member(s, (int)k + 1) * each;
        const uint32_t left = first >= bytes ? 0 : bytes - first < each ? bytes - first : each;
        for (uint32_t i = (uint32_t)part.first; i < (uint32_t)part.end && 8 * i < left; i += (uint32_t)part.step) {
            const uint64_t unit = irisi_ll_unit((const char *)src + first + 8 * i, left - 8 * i);
            void *to = irisi_translate(s->ctx, slots + 2 * i, irisi_slice_ahead(s, (int)k + 1));
            irisi_ll_write_unit((iris_ll_packet *)to, unit, flag);
        }
    }
}
IRIS_DEVICE void irisi_slice_ll_collect(const iris_slice *s, void *dst, const iris_ll_packet *slots, uint32_t each,
                                        uint32_t bytes, uint32_t flag)
{
    const irisi_ll_group g = irisi_slice_group(s);
    const irisi_span part = irisi_split(irisi_ll_units(each), g.lane, g.lanes);
    for (uint32_t k = g.group; k + 1 < (uint32_t)s->size && g.group < g.groups; k += g.groups) {
        const uint32_t m = (uint32_t)irisi_slice_member(s, (int)k + 1), first = m * each;
        const uint32_t left = first >= bytes ? 0 : bytes - first < each ? bytes - first : each;
        for (uint32_t i = (uint32_t)part.first; i < (uint32_t)part.end && 8 * i < left; i += (uint32_t)part.step) {
            uint64_t seen[2];
            irisi_ll_await_units(s->ctx, slots + m * (s->room / 4) + 2 * i, 0, 1, -1, flag, 1, -1, seen);
            irisi_ll_store_unit((char *)dst + first + 8 * i, seen[1] << 32 | (uint32_t)seen[0], left - 8 * i);
        }
    }
}

/* Every member's row of `bytes` bytes: member m's goes to dst + m * stride. The own one is copied from `own`. */
IRIS_DEVICE void irisi_slice_ll_get(const iris_slice *s, void *dst, size_t stride, const iris_ll_packet *slots,
                                    const void *own, size_t bytes, uint32_t flag)
{
    const uint32_t row = (uint32_t)bytes;
    const irisi_span part = irisi_split(irisi_ll_units(row), iris_wg_lane(), iris_wg_lanes());
    for (uint32_t i = (uint32_t)part.first; i < (uint32_t)part.end; i += (uint32_t)part.step)
        for (int m = 0; m < s->size; m += IRISI_LL_ROWS) {
            const int rows = s->size - m < IRISI_LL_ROWS ? s->size - m : IRISI_LL_ROWS;
            uint64_t units[IRISI_LL_ROWS];
            irisi_slice_ll_await(s, slots, s->room / 4, own, row, i, m, rows, flag, units);
            IRISI_UNROLL
            for (int k = 0; k < IRISI_LL_ROWS; k++)
                if (k < rows)
                    irisi_ll_store_unit((char *)dst + (size_t)(m + k) * stride + 8 * i, units[k], row - 8 * i);
        }
}

/* Receives one row of `bytes` bytes: as many units of it are looked at together as else rows. */
IRIS_DEVICE void irisi_slice_ll_take(const iris_slice *s, void *dst, const iris_ll_packet *slots, size_t bytes,
                                     uint32_t flag)
{
    const irisi_span part = irisi_split(irisi_ll_units((uint32_t)bytes), iris_wg_lane(), iris_wg_lanes());
    const uint32_t step = (uint32_t)part.step, end = (uint32_t)part.end;
    for (uint32_t i = (uint32_t)part.first; i < end; i += IRISI_LL_ROWS * step) {
        uint64_t seen[2 * IRISI_LL_ROWS];
        const int units = 1 + (i + step < end) + (i + 2 * step < end) + (i + 3 * step < end);
        irisi_ll_await_units(s->ctx, slots + 2 * i, 2 * step, units, -1, flag, IRISI_LL_ROWS, -1, seen);
        IRISI_UNROLL
        for (int k = 0; k < IRISI_LL_ROWS; k++)
            if (k < units) {
                const uint32_t at = i + (uint32_t)k * step;
                irisi_ll_store_unit((char *)dst + 8 * at, seen[2 * k + 1] << 32 | (uint32_t)seen[2 * k],
                                    (uint32_t)bytes - 8 * at);
            }
    }
}

/* Every member sends every other one an empty unit, and then waits for theirs. */
IRIS_DEVICE void irisi_slice_ll_greet(const iris_slice *s, iris_ll_packet *slots, uint32_t flag)
{
    for (int k = 1 + (int)iris_wg_lane(); k < s->size; k += (int)iris_wg_lanes())
        irisi_ll_write_unit((iris_ll_packet *)irisi_translate(s->ctx, slots + 2 * s->member, irisi_slice_ahead(s, k)),
                            0, flag);
}
IRIS_DEVICE void irisi_slice_ll_greeted(const iris_slice *s, const iris_ll_packet *slots, uint32_t flag)
{
    for (int k = 1 + (int)iris_wg_lane(); k < s->size; k += (int)iris_wg_lanes()) {
        uint64_t seen[2];
        irisi_ll_await_units(s->ctx, slots + 2 * irisi_slice_member(s, k), 0, 1, -1, flag, 1, -1, seen);
    }
}

#endif
#endif
