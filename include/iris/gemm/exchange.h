/* SPDX-License-Identifier: MIT */
/*
 * exchange.h: the signals of a plan's channel, and by how much they are raised. Other files reach them only by these
 * functions.
 *
 *   irisi_exchange_ready     rank r sets ready[r] on every peer to the epoch that it has begun: r may be written to
 *   irisi_exchange_done      rank r adds to done[r] on every peer, after the tiles that it has put there
 *   irisi_exchange_amount    how much rank r adds to done[r] in each epoch
 *   irisi_exchange_missing   how much of that is for no tile, but for rows that a launch does not have
 *   irisi_exchange_partial   the same for partial sums, one for each row of tiles that has rows of the owner
 *   irisi_exchange_units     how much each rank adds to each of them in each epoch
 *   irisi_exchange_tile_rows rows of tiles that have rows of an owner
 *   irisi_exchange_ticket    counts on this rank which sums its workgroups have begun to add up
 *   irisi_exchange_sums      each workgroup of rank r adds to sums[r] on every peer, once it is done with the epoch
 *   irisi_exchange_block     set on every rank to the epoch in which a block of rows of A stands in its memory
 *   irisi_exchange_flag      a tile's flag: set on this rank to the epoch in which the tile stands in its memory
 *   irisi_exchange_signals   how many signals the channel has
 *
 * Launches of one plan may have different numbers of rows (iris_gemm_set_rows). Amounts do not depend on them, but on
 * the most rows that the plan was prepared for: what tiles of fewer rows do not add is added at once, to `done` when
 * the kernel begins (iris_gemm_enter), to the signals of partial sums when it ends (irisi_gemm_leave_all). So each
 * epoch raises each counter by the same amount, whatever its number of rows.
 */
#ifndef IRIS_GEMM_EXCHANGE_H
#define IRIS_GEMM_EXCHANGE_H

#include <iris/gemm/plan.h>

/* How much `rank` adds to done[rank] on every peer in one epoch: 1 for each unit of its band, 1 for an empty band. */
IRIS_HOST_DEVICE uint32_t irisi_exchange_amount(const iris_gemm_plan *plan, uint32_t rank)
{
    const uint32_t units = irisi_gemm_units(plan, rank);
    return units == 0 ? 1 : units;
}

/* How much of this rank's amount its tiles of a launch do not add: all of it if there are none. */
IRIS_HOST_DEVICE uint32_t irisi_exchange_missing(const iris_gemm_plan *plan)
{
    if (!irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES))
        return 0;
    return irisi_exchange_amount(plan, plan->rank) - irisi_gemm_units_of_rows(plan, plan->m, plan->rank);
}

/*
 * Where K is split: the rows of tiles that have rows of an owner in a launch, and how many any owner may have in any
 * launch. How much each rank, the owner too, adds in one epoch to its signal of each of the latter: 1 for each unit.
 */
IRIS_HOST_DEVICE iris_gemm_rows irisi_exchange_tile_rows(const iris_gemm_plan *plan, uint32_t owner)
{
    const iris_gemm_rows rows = irisi_gemm_rows_of(plan, owner);
    iris_gemm_rows tiles;
    tiles.first = rows.first / plan->tiling.tile_m;
    tiles.count =
        rows.count == 0 ? 0 : (rows.first + rows.count - 1) / plan->tiling.tile_m - tiles.first + 1;
    return tiles;
}
IRIS_HOST_DEVICE uint32_t irisi_exchange_most_tile_rows(const iris_gemm_plan *plan)
{
    return (irisi_gemm_slot_rows(plan) + plan->tiling.tile_m - 1) / plan->tiling.tile_m + 1;
}
IRIS_HOST_DEVICE uint32_t irisi_exchange_units(const iris_gemm_plan *plan)
{
    return (plan->region.columns + plan->tiling.unit - 1) / plan->tiling.unit;
}

/* Rows of A that have a signal of their own for their arrival, and how many such blocks the longest shard has. */
enum { IRISI_GEMM_BLOCK_ROWS = 32 };
IRIS_HOST_DEVICE uint32_t irisi_gemm_row_blocks(const iris_gemm_plan *plan)
{
    return (irisi_gemm_slot_rows(plan) + IRISI_GEMM_BLOCK_ROWS - 1) / IRISI_GEMM_BLOCK_ROWS;
}

/*
 * Signals of the channel: three for each rank, of which operations that send tiles use two, and have a flag for each
 * unit of the widest band, which is rank 0's. Where A is gathered its blocks of rows have some too, and where K is
 * split rows of tiles.
 */
IRIS_HOST_DEVICE size_t irisi_exchange_signals(const iris_gemm_plan *plan)
{
    const int flags = irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES);
    const size_t blocks = irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_GATHERS) ? irisi_gemm_row_blocks(plan)
                                                                             : irisi_exchange_most_tile_rows(plan);
    return flags ? 2 * (size_t)plan->world + irisi_gemm_units(plan, 0) : (3 + blocks) * (size_t)plan->world + 1;
}

#if IRIS_HAS_DEVICE

/* The signals ready[rank] and done[rank]; those of the next ranks follow. */
IRIS_DEVICE iris_signal *irisi_exchange_ready(const iris_gemm_plan *plan, int rank)
{
    return plan->exchange.channel.signals + rank;
}
IRIS_DEVICE iris_signal *irisi_exchange_done(const iris_gemm_plan *plan, int rank)
{
    return plan->exchange.channel.signals + plan->world + rank;
}
IRIS_DEVICE iris_signal *irisi_exchange_sums(const iris_gemm_plan *plan, int rank)
{
    return plan->exchange.channel.signals + 2 * plan->world + rank;
}
IRIS_DEVICE iris_signal *irisi_exchange_block(const iris_gemm_plan *plan, uint32_t rank, uint32_t block)
{
    return plan->exchange.channel.signals + (size_t)plan->world * (3 + block) + rank;
}

IRIS_DEVICE iris_signal *irisi_exchange_partial(const iris_gemm_plan *plan, uint32_t rank, uint32_t tile_row)
{
    return irisi_exchange_block(plan, rank, tile_row);
}
IRIS_DEVICE uint64_t *irisi_exchange_ticket(const iris_gemm_plan *plan)
{
    return (uint64_t *)irisi_exchange_block(plan, 0, irisi_exchange_most_tile_rows(plan));
}

/* The flag of the tile whose first unit is `index`. */
IRIS_DEVICE iris_signal *irisi_exchange_flag(const iris_gemm_plan *plan, uint32_t index)
{
    return plan->exchange.channel.signals + 2 * plan->world + index;
}

#endif
#endif
