/* SPDX-License-Identifier: MIT */
/*
 * tile_ll.h: sends finished tiles as LL packets (collective/ll_units.h), for bands so short that a fence takes longer
 * than sending them.
 *
 *   irisi_gemm_ll_slots irisi_tile_store_chunk irisi_tile_send_ll irisi_gemm_ll_finish
 *
 * A tile that is put into a peer's C needs a handshake before it (the peer's stream has reached the operation), and a
 * fence and a signal behind it (the bytes have arrived). Packets need none of these: they go into a bank of the peer's,
 * each with its flag, and the peer's own lanes store them into its C once they have computed their tiles. A bank may be
 * written again two epochs later (collective/ll.h), because in each epoch every rank receives at least one unit from
 * every other. Packets have a channel of their own, so that epochs with packets and epochs with signals may follow each
 * other in any order.
 *
 * In a bank each rank's band has a row of units for each row of C that a launch may have, as many units as the widest
 * band needs. Where K is split, a rank's partial sums take the place of its band; gen/gemm_reduce.h adds them up as
 * they arrive.
 */
#ifndef IRIS_GEMM_TILE_LL_H
#define IRIS_GEMM_TILE_LL_H

#include <iris/collective/ll_units.h>
#include <iris/gemm/tile.h>

#if IRIS_HAS_DEVICE

/* Where this rank's bank of an epoch has the packets of `rank`'s band. */
IRIS_DEVICE iris_ll_packet *irisi_gemm_ll_slots(const iris_gemm_plan *plan, uint64_t epoch, uint32_t rank)
{
    return iris_ll_bank(&plan->exchange.ll, epoch) + (uint64_t)rank * plan->most_m * plan->exchange.ll_pitch;
}

/* Stores 8 bytes of a row of C, of which `left` are inside, into this rank's memory; one by one if unaligned. */
IRIS_DEVICE void irisi_tile_store_8(char *to, uint64_t both, uint32_t left, uint32_t size)
{
    if (__builtin_expect(left >= 8 && (uintptr_t)to % 8 == 0, 1)) {
        irisi_store_64(to, both, IRIS_CACHE_DEFAULT);
        return;
    }
    IRISI_ROLLED
    for (uint32_t i = 0; i < left && i < 8; i += size)
        irisi_tile_store_unit(to + i, both >> 8 * i, size);
}

/* Reads 8 bytes of a row of a staging tile, of which `left` are inside; element by element if unaligned. */
IRIS_DEVICE uint64_t irisi_tile_load_8(const char *from, uint32_t left, uint32_t size)
{
    uint64_t both = 0;
    if (__builtin_expect((uintptr_t)from % 8 == 0 && left >= 8, 1)) {
        __builtin_memcpy(&both, __builtin_assume_aligned(from, 8), 8);
        return both;
    }
    IRISI_ROLLED
    for (uint32_t i = 0; i < left && i < 8; i += size)
        both |= irisi_tile_staged_unit(from + i, size) << 8 * i;
    return both;
}

/* The address of unit `unit`, 8 bytes, of a row of a staging tile. */
IRIS_DEVICE const char *irisi_tile_staged_8(const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                            uint32_t row, uint32_t unit)
{
    if (irisi_tile_tma_store(plan))
        return stage + 128 * row + ((8 * unit) ^ (row % 8 * 16));
    return iris_tile_row(plan, tile, stage, row) + 8 * unit;
}

/*
 * Writes one unit of a row into the banks of who is to have it; `to`: the same place in this rank's bank. A tile goes
 * to every other rank, partial sums to all that add them up: to this one too, whose workgroups read each other's.
 */
IRIS_DEVICE void irisi_tile_write_ll(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t row, iris_ll_packet *to,
                                     uint64_t both, uint32_t flag)
{
    const int sums = irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K);
    uint32_t rank = plan->rank;
    if (sums && irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_M)) {
        rank = irisi_gemm_owner_of(plan, row);
        irisi_ll_write_unit((iris_ll_packet *)irisi_translate(ctx, to, (int)rank), both, flag);
        return;
    }
    for (uint32_t k = 1; k < plan->world + (uint32_t)sums; k++) {
        rank = rank + 1 == plan->world ? 0 : rank + 1;
        irisi_ll_write_unit((iris_ll_packet *)irisi_translate(ctx, to, (int)rank), both, flag);
    }
}

/*
 * Stores 16 bytes of a tile's row, from its byte `at` on, to `own`, their place in this rank's C, and if `ll` is not 0
 * sends them to every other rank as packets of epoch `ll`.
 */
IRIS_DEVICE void irisi_tile_store_chunk(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                        uint32_t row, uint32_t at, char *own, irisi_b128 chunk, uint64_t ll)
{
    irisi_store_128(own, chunk, IRIS_CACHE_DEFAULT);
    if (ll == 0)
        return;
    iris_ll_packet *to = irisi_gemm_ll_slots(plan, ll, plan->rank) +
                         (uint64_t)(tile->m0 + row) * plan->exchange.ll_pitch +
                         2 * ((tile->n0 * plan->operands.c_element + at) / 8);
    uint64_t both[2];
    __builtin_memcpy(both, &chunk, 16);
    irisi_tile_write_ll(ctx, plan, tile->m0 + row, to, both[0], iris_ll_flag(ll));
    irisi_tile_write_ll(ctx, plan, tile->m0 + row, to + 2, both[1], iris_ll_flag(ll));
}

/*
 * Stores a tile, or a piece of one, from its staging tile into this rank's C, and sends it as packets to every other
 * rank. Every lane of the wave group calls it, after iris_tile_staged.
 */
IRIS_DEVICE void irisi_tile_send_ll(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                    iris_wave_group *group, uint64_t epoch)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    const uint32_t size = plan->operands.c_element, bytes = irisi_in_vector_register_u32(tile->cols * size),
                   units = irisi_ll_units(bytes);
    const uint32_t flag = irisi_in_vector_register_u32(iris_ll_flag(epoch));
    iris_ll_packet *slots = irisi_gemm_ll_slots(plan, epoch, plan->rank);
    slots += (uint64_t)tile->m0 * plan->exchange.ll_pitch + 2 * (tile->n0 * size / 8);
    if (irisi_tile_tma_store(plan))
        iris_wave_group_sync(group); /* iris_tile_staged has waited for the calling wave only */
    for (uint32_t i = group->member; i < tile->rows * units; i += group->members) {
        const uint32_t row = i / units, unit = i - row * units, left = bytes - 8 * unit;
        const uint64_t both = irisi_tile_load_8(irisi_tile_staged_8(plan, tile, stage, row, unit), left, size);
        irisi_tile_write_ll(ctx, plan, tile->m0 + row, slots + (uint64_t)row * plan->exchange.ll_pitch + 2 * unit, both,
                            flag);
        irisi_tile_store_8(irisi_tile_out(plan, tile, row) + 8 * unit, both, left, size);
    }
}

/* Stores the calling lane's share of one rank's band into this rank's C, as the packets arrive. */
IRIS_DEVICE void irisi_gemm_ll_collect(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch, uint32_t rank,
                                       uint32_t workgroups)
{
    const iris_gemm_columns band = iris_gemm_band(plan->n, plan->world, rank);
    const uint32_t size = plan->sums.c_element, bytes = (uint32_t)irisi_gemm_row_bytes(plan, band.count);
    const uint32_t units = irisi_ll_units(bytes);
    const uint32_t all = units ? plan->region.rows * units : 1, step = workgroups * iris_wg_lanes();
    const uint32_t flag = iris_ll_flag(epoch);
    const iris_ll_packet *slots = irisi_gemm_ll_slots(plan, epoch, rank);
    char *c = (char *)plan->sums.c + irisi_gemm_row_bytes(plan, band.first);
    /* Units are dealt wave by wave over all workgroups, so that few waves of each wait, and the last ones least. */
    uint32_t i = (iris_wave() * workgroups + iris_workgroup()) * iris_wave_lanes() + iris_lane();
    for (; i < all; i += step) {
        const uint32_t row = units ? i / units : 0, unit = units ? i % units : 0;
        uint64_t seen[2];
        const iris_ll_packet *from = slots + (uint64_t)row * plan->exchange.ll_pitch + 2 * unit;
        irisi_ll_await_units(ctx, from, 0, 1, -1, flag, 1, (int)rank, seen);
        if (units)
            irisi_tile_store_8(c + row * plan->sums.ldc * size + 8 * unit, seen[1] << 32 | (uint32_t)seen[0],
                               bytes - 8 * unit, size);
    }
}

/*
 * Ends a kernel whose tiles have gone as packets: stores all other ranks' bands into this rank's C. A rank with an
 * empty band sends one unit. Every lane of the grid calls it.
 */
IRIS_DEVICE void irisi_gemm_ll_finish(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch,
                                      uint32_t workgroups)
{
    const uint32_t out = irisi_channel_count_out(&plan->exchange.ll);
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    uint32_t rank = plan->rank;
    if (plan->region.columns == 0 && iris_grid_lane() == 0)
        irisi_tile_write_ll(ctx, plan, 0, irisi_gemm_ll_slots(plan, epoch, rank), 0, iris_ll_flag(epoch));
    for (uint32_t k = 1; k < plan->world; k++) {
        rank = rank == 0 ? plan->world - 1 : rank - 1;
        irisi_gemm_ll_collect(ctx, plan, epoch, rank, irisi_rematerialize_u32(workgroups));
    }
    irisi_channel_close(&plan->exchange.ll, epoch, out, irisi_rematerialize_u32(workgroups));
}

#endif
#endif
