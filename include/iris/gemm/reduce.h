/* SPDX-License-Identifier: MIT */
/*
 * reduce.h: which rank adds up which partial sums, where K is split over the ranks; gen/gemm_reduce.h has the
 * arithmetic, a set of functions for each type.
 *
 *   irisi_gemm_slot_chunks irisi_gemm_share irisi_gemm_share_of_rows irisi_gemm_share_of_all
 *
 * A rank's slot holds its partial sums of all of C, m x n of the slot's type, in rows that begin at multiples of 128
 * bytes. Where kernels put partial sums to the owners of their rows, it has a part for each rank instead, with that
 * rank's partial sums of the rows that this rank owns. The ranks share the work by chunks of 16 bytes, which are
 * counted row by row.
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

/* The chunks of this rank's own rows. `put`: of a part that holds these rows alone, else of a slot of all rows. */
IRIS_HOST_DEVICE irisi_gemm_share irisi_gemm_share_of_rows(const iris_gemm_plan *plan, int put)
{
    const iris_gemm_rows rows = iris_gemm_shard(plan->m, plan->world, plan->rank);
    const uint64_t across = irisi_gemm_slot_chunks(plan);
    irisi_gemm_share share;
    share.first = put ? 0 : rows.first * across, share.end = share.first + rows.count * across;
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

#endif
