/* SPDX-License-Identifier: MIT */
/*
 * reduce.h: who adds up what, where K is split over the ranks; gen/gemm_reduce.h has the arithmetic, a set of functions
 * for each type.
 *
 *   irisi_gemm_slot_chunks irisi_gemm_share irisi_gemm_share_of_rows irisi_gemm_share_of_all
 *
 * A rank's slot holds its partial sums of all of C, m x n of the slot's type, in rows that begin at multiples of 16
 * bytes. What is shared out is 16 bytes of it, a chunk. Chunks are counted row by row.
 */
#ifndef IRIS_GEMM_REDUCE_H
#define IRIS_GEMM_REDUCE_H

#include <iris/gemm/meet.h>

/* Chunks of a row of a slot. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_slot_chunks(const iris_gemm_plan *plan)
{
    return (uint32_t)(((uint64_t)plan->region.columns * plan->operands.c_element + 15) / 16);
}

/* Chunks first, first + 1, ... before `end`. */
typedef struct irisi_gemm_share {
    uint64_t first, end;
} irisi_gemm_share;

/* Of the rows that are this rank's: reduce_scatter. */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_rows(const iris_gemm_plan *plan)
{
    const iris_gemm_rows rows = iris_gemm_shard(plan->m, plan->world, plan->rank);
    const uint64_t across = irisi_gemm_slot_chunks(plan);
    irisi_gemm_share share;
    share.first = rows.first * across, share.end = share.first + rows.count * across;
    return share;
}

/* Of all chunks, so that one row has as many owners as there are ranks: all_reduce. */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_all(const iris_gemm_plan *plan)
{
    const uint64_t chunks = (uint64_t)plan->m * irisi_gemm_slot_chunks(plan);
    irisi_gemm_share share;
    share.first = chunks * plan->rank / plan->world, share.end = chunks * (plan->rank + 1) / plan->world;
    return share;
}

#endif
