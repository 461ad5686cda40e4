/* SPDX-License-Identifier: MIT */
/*
 * gemm_load.h (amd): slabs of A and B on their way from global memory to workgroup-shared memory.
 *
 *   irisi_mfma_source irisi_mfma_source_a irisi_mfma_source_b   what a lane fetches of a matrix
 *   irisi_mfma_left irisi_mfma_fetch irisi_mfma_commit     through registers
 *   irisi_mfma_copy                                        directly
 *   irisi_mfma_meet
 *
 * Chunks of 16 bytes are dealt to the lanes of the math waves in the order in which they stand in shared memory, so
 * writes are linear; it is the global addresses that are permuted, within whole cache lines. Rows and columns beyond
 * the edges are read from the last one inside, since their products are not stored; what lies beyond the end of K must
 * be zero. Loads stay within the 16-byte units that hold elements of the matrix.
 */
#ifndef IRIS_MAINLOOP_AMD_GEMM_LOAD_H
#define IRIS_MAINLOOP_AMD_GEMM_LOAD_H

#include <iris/mainloop/amd/mfma.h>
#include <iris/mainloop/amd/mfma_layout.h>
#include <iris/gemm/tile.h>

enum { IRISI_MFMA_LOADS = 4 }; /* most chunks of a slab's A or B that a lane moves */

/* A matrix, and the lane's share of each slab. */
typedef struct irisi_mfma_source {
    const IRISI_GLOBAL char *base; /* the tile's first line in slab 0 */
    uint64_t step;                 /* bytes from slab to slab */
    uint32_t part, first;          /* where it begins in a slab in shared memory; where the wave's first chunk goes */
    irisi_mfma_share share;
} irisi_mfma_source;

IRIS_DEVICE irisi_mfma_source irisi_mfma_source_a(irisi_mfma_shape shape, const iris_gemm_plan *plan,
                                                  const iris_tile *tile, const iris_wave_group *group)
{
    irisi_mfma_source s;
    s.base = (const IRISI_GLOBAL char *)plan->operands.a + tile->m0 * plan->operands.lda * shape.element;
    s.step = shape.depth;
    s.part = 0;
    s.first = 1024 * group->wave;
    s.share = irisi_mfma_share_a(shape, group->member, plan->operands.lda, tile->rows);
    return s;
}

IRIS_DEVICE irisi_mfma_source irisi_mfma_source_b(irisi_mfma_shape shape, const iris_gemm_plan *plan,
                                                  const iris_tile *tile, const iris_wave_group *group, int n_major)
{
    const uint64_t ldb = irisi_tile_ldb(plan, tile);
    irisi_mfma_source s;
    s.base = (const IRISI_GLOBAL char *)irisi_tile_b(plan, tile) + tile->n0 * (n_major ? 1 : ldb) * shape.element;
    s.step = shape.depth * (n_major ? ldb : 1);
    s.part = irisi_mfma_tile_m(shape) * shape.depth;
    s.first = s.part + 1024 * group->wave;
    if (n_major)
        s.share = irisi_mfma_share_b(shape, group->member, ldb, tile->cols);
    else
        s.share = irisi_mfma_share_bt(shape, group->member, ldb, tile->cols);
    return s;
}

/* Elements of K that a slab has, at most `whole`; 0 for slabs behind the last. */
IRIS_DEVICE uint32_t irisi_mfma_left(uint32_t k, uint32_t slab, uint32_t whole)
{
    const uint32_t first = slab * whole;
    return first >= k ? 0 : k - first < whole ? k - first : whole;
}

/* Begins to load a lane's chunks of a slab into registers. A slab behind the last one reads the first one instead. */
IRIS_DEVICE void irisi_mfma_fetch(const irisi_mfma_source *s, uint32_t loads, irisi_words *to, uint32_t k,
                                  uint32_t slab, uint32_t whole, int n_major)
{
    const uint32_t left = irisi_mfma_left(k, slab, whole);
    const IRISI_GLOBAL char *base = s->base + (left ? slab : 0) * s->step;
#pragma unroll
    for (uint32_t j = 0; j < loads; j++)
        to[j] = irisi_mfma_load(base, irisi_mfma_offset(&s->share, j, left, n_major));
}

/* Writes chunk j of a slab to shared memory; `ragged`: with zeros beyond `left` elements of K. */
IRIS_DEVICE void irisi_mfma_commit_chunk(const irisi_mfma_source *s, uint32_t j, irisi_words words, irisi_mfma_lds lds,
                                         uint32_t left, int ragged, int n_major)
{
    if (ragged)
#pragma unroll
        for (int32_t i = 0; i < 4; i++)
            words[i] &= irisi_mfma_kept(&s->share, j, left, n_major, i);
    irisi_mfma_write(lds + s->part, irisi_mfma_place(&s->share, j), words);
}

/* Writes a lane's chunks of a slab to shared memory. */
IRIS_DEVICE void irisi_mfma_commit(const irisi_mfma_source *s, uint32_t loads, const irisi_words *from,
                                   irisi_mfma_lds lds, uint32_t left, int ragged, int n_major)
{
#pragma unroll
    for (uint32_t j = 0; j < loads; j++)
        irisi_mfma_commit_chunk(s, j, from[j], lds, left, ragged, n_major);
}

/* Loads a lane's chunks of a slab directly into shared memory; a ragged slab through registers, chunk by chunk. */
IRIS_DEVICE void irisi_mfma_copy(const irisi_mfma_source *s, uint32_t loads, irisi_mfma_lds lds, uint32_t k,
                                 uint32_t slab, uint32_t whole, int ragged, int n_major)
{
    const uint32_t left = irisi_mfma_left(k, slab, whole);
    if (ragged && left < whole) {
        const IRISI_GLOBAL char *base = s->base + (left ? slab : 0) * s->step;
#pragma unroll
        for (uint32_t j = 0; j < loads; j++) {
            const irisi_words words = irisi_mfma_load(base, irisi_mfma_offset(&s->share, j, left, n_major));
            irisi_mfma_commit_chunk(s, j, words, lds, left, 1, n_major);
            irisi_mfma_part();
        }
        return;
    }
    const uint32_t first = irisi_rematerialize_u32(s->first);
    irisi_mfma_share now = s->share;
    now.line = irisi_mfma_now(now.line);
#pragma unroll
    for (uint32_t j = 0; j < loads; j++)
        irisi_mfma_load_lds(s->base + slab * s->step, irisi_mfma_offset(&now, j, whole, n_major),
                            lds + first + j * 16 * IRISI_MFMA_LANES);
}

/*
 * The math waves meet: what each wrote to shared memory is visible to the others, and what each read has arrived. Where
 * there are no communication waves they meet at the workgroup's barrier, else at their wave group's counter, which they
 * poll without a pause. irisi_mfma_yield lets a scheduler in software, where there is one, run the other waves.
 */
IRIS_DEVICE void irisi_mfma_meet(iris_wave_group *group, int with_comm)
{
    irisi_mfma_part();
    if (!with_comm) {
        iris_sync_wg();
    } else {
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        group->met += IRISI_MFMA_WAVES;
        if (iris_lane() == 0)
            irisi_shared_add(group->counter, 1);
        while ((int32_t)(irisi_shared_get(group->counter) - group->met) < 0)
            irisi_mfma_yield();
        iris_sync_wave();
    }
    irisi_mfma_part();
}

#endif
