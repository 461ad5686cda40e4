/* SPDX-License-Identifier: MIT */
/*
 * reduce.h: which rank adds up which partial sums, where K is split over the ranks; gen/gemm_reduce.h has the
 * arithmetic, a set of functions for each type.
 *
 *   irisi_gemm_slot_chunks irisi_gemm_share irisi_gemm_share_of_rows irisi_gemm_share_of_all
 *   irisi_gemm_parts irisi_gemm_parts_of irisi_gemm_share_of_part
 *   irisi_gemm_own_sums irisi_gemm_send_sums
 *
 * A rank's slot holds its partial sums of all of C, m x n of the slot's type, in rows that begin at multiples of 128
 * bytes. Where kernels put partial sums to the owners of their rows, it has a part for each rank instead, with that
 * rank's partial sums of the rows that this rank owns. The ranks share the work by chunks of 16 bytes, which are
 * counted row by row.
 */
#ifndef IRIS_GEMM_REDUCE_H
#define IRIS_GEMM_REDUCE_H

#include <iris/gemm/meet.h>
#include <iris/gemm/tile_ll.h>

/* Chunks of a row of a slot. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_slot_chunks(const iris_gemm_plan *plan)
{
    return (uint32_t)(((uint64_t)plan->region.columns * plan->operands.c_element + 15) / 16);
}

/* Chunks first, first + 1, ... before `end`. */
typedef struct irisi_gemm_share {
    uint64_t first, end;
} irisi_gemm_share;

/* The chunks of this rank's own rows, in a slot of all rows. */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_rows(const iris_gemm_plan *plan)
{
    const iris_gemm_rows rows = iris_gemm_shard(plan->m, plan->world, plan->rank);
    const uint64_t across = irisi_gemm_slot_chunks(plan);
    irisi_gemm_share share;
    share.first = rows.first * across, share.end = share.first + rows.count * across;
    return share;
}

/*
 * This rank's share in all_reduce by bulk_synchronous: equally many of all chunks, so that all ranks share even a C of
 * one row.
 */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_all(const iris_gemm_plan *plan)
{
    const uint64_t chunks = (uint64_t)plan->m * irisi_gemm_slot_chunks(plan);
    irisi_gemm_share share;
    share.first = chunks * plan->rank / plan->world, share.end = chunks * (plan->rank + 1) / plan->world;
    return share;
}

/*
 * Parts of this rank's own rows that are added up by a workgroup each: `split` of each row of tiles, `count` in all. If
 * rows are few, a part has a chunk for each of a workgroup's `lanes` or more; else each of so many workgroups gets one,
 * but for a few that get none, or several if there are more rows of tiles than workgroups.
 */
typedef struct irisi_gemm_parts {
    uint32_t split, count;
} irisi_gemm_parts;
IRIS_HOST_DEVICE irisi_gemm_parts irisi_gemm_parts_of(const iris_gemm_plan *plan, uint32_t lanes, uint32_t workgroups)
{
    const uint32_t tiles = irisi_exchange_tile_rows(plan, plan->rank).count;
    const uint64_t across = irisi_gemm_slot_chunks(plan), chunks = plan->tiling.tile_m * across;
    const uint64_t most = (chunks + lanes - 1) / lanes;
    const uint64_t even = tiles > 0 && tiles < workgroups ? workgroups / tiles : 1;
    irisi_gemm_parts parts;
    parts.split = (uint32_t)(even < most ? even : most), parts.count = tiles * parts.split;
    return parts;
}

/* The chunks of part `i`, in a part of the slot that holds this rank's rows alone. */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_part(const iris_gemm_plan *plan, const irisi_gemm_parts *parts,
                                                           uint32_t i)
{
    const iris_gemm_rows rows = irisi_gemm_rows_of(plan, plan->rank);
    const uint32_t tile_row = i / parts->split, part = i - tile_row * parts->split;
    const uint32_t top = (rows.first / plan->tiling.tile_m + tile_row) * plan->tiling.tile_m;
    const uint32_t bottom = top + plan->tiling.tile_m, last = rows.first + rows.count;
    const uint32_t first = (top > rows.first ? top : rows.first) - rows.first;
    const uint64_t across = irisi_gemm_slot_chunks(plan);
    const uint64_t chunks = ((bottom < last ? bottom : last) - rows.first - first) * across;
    irisi_gemm_share share;
    share.first = first * across + chunks * part / parts->split;
    share.end = first * across + chunks * (part + 1) / parts->split;
    return share;
}

#if IRIS_HAS_DEVICE

/* A chunk of row `row` of this rank's slot of all rows, which a kernel before this one has stored. One lane calls. */
IRIS_DEVICE irisi_b128 irisi_gemm_own_sums(const iris_gemm_plan *plan, uint32_t row, uint32_t chunk)
{
    const uint64_t pitch = plan->operands.ldc * plan->operands.c_element;
    return irisi_load_128((const char *)plan->exchange.workspace + row * pitch + 16 * (uint64_t)chunk,
                          IRIS_CACHE_DEFAULT);
}

/*
 * Sends such a chunk as packets of an epoch to every other rank that adds it up: all of them or, if rows are
 * `scattered`, the row's owner. One lane calls it.
 */
IRIS_DEVICE void irisi_gemm_send_sums(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch, uint32_t row,
                                      uint32_t chunk, int scattered)
{
    const uint32_t flag = iris_ll_flag(epoch), owner = scattered ? irisi_gemm_owner_of(plan, row) : plan->rank;
    const int both = irisi_ll_units(plan->region.columns * plan->operands.c_element) - 2 * chunk > 1;
    iris_ll_packet *to = irisi_gemm_ll_slots(plan, epoch, plan->rank);
    to += (uint64_t)row * plan->exchange.ll_pitch + 4 * chunk;
    if (scattered && owner == plan->rank)
        return;
    const irisi_b128 sums = irisi_gemm_own_sums(plan, row, chunk);
    uint64_t units[2];
    __builtin_memcpy(units, &sums, 16);
    for (uint32_t k = 1, rank = plan->rank; k < (scattered ? 2 : plan->world); k++) {
        rank = scattered ? owner : rank + 1 == plan->world ? 0 : rank + 1; /* the next one first, as links are shared */
        iris_ll_packet *there = (iris_ll_packet *)irisi_translate(ctx, to, (int)rank);
        irisi_ll_write_unit(there, units[0], flag);
        if (both)
            irisi_ll_write_unit(there + 2, units[1], flag);
    }
}
#endif

#endif
