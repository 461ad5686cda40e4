/* SPDX-License-Identifier: MIT */
/*
 * gemm_mfma.h (amd): the parts of the matrix loops that do not depend on the element type.
 *
 *   irisi_mfma_accs irisi_mfma_pipe
 *   irisi_mfma_job irisi_mfma_held irisi_mfma_begin irisi_mfma_advance      slabs on their way
 *   irisi_mfma_operands irisi_mfma_take                     operands of a phase
 *   irisi_mfma_clear irisi_mfma_piece                       accumulators
 *
 * The eight math waves are two groups of four, a wave of each on every SIMD, that are half a phase apart: while one
 * group multiplies, the other reads its operands from shared memory, writes there what it fetched from global memory
 * a few slabs ago, and begins to fetch what comes next. A phase is `steps` steps deep. Shared memory holds two slabs;
 * one is read while the next is written, and the meetings that keep the groups apart also order the two.
 */
#ifndef IRIS_MAINLOOP_AMD_GEMM_MFMA_H
#define IRIS_MAINLOOP_AMD_GEMM_MFMA_H

#include <iris/mainloop/amd/gemm_load.h>
#include <iris/mainloop/shape.h>
#include <iris/gen/bits.h>

enum { IRISI_MFMA_BLOCKS = 4, IRISI_MFMA_RING = 4, IRISI_MFMA_STEPS = 2 }; /* at most, of any loop */

/* One lane's accumulators. */
typedef struct irisi_mfma_accs {
    irisi_mfma_acc v[IRISI_MFMA_BLOCKS][2];
} irisi_mfma_accs;

/* What a loop keeps from tile to tile. */
typedef struct irisi_mfma_pipe {
    char *workspace;
} irisi_mfma_pipe;

/* A tile's slabs, and what of them the lane moves and reads. */
typedef struct irisi_mfma_job {
    irisi_mfma_source a, b;
    irisi_mfma_lds lds;
    uint32_t k;
    uint32_t first_m, first_n; /* where the lane's operands of a slab's first step stand, in A's part and in B's */
} irisi_mfma_job;

/* Slabs in registers, on their way to shared memory. */
typedef struct irisi_mfma_held {
    irisi_words a[IRISI_MFMA_RING][IRISI_MFMA_LOADS], b[IRISI_MFMA_RING][IRISI_MFMA_LOADS];
} irisi_mfma_held;

/* The operands of a phase, by block and step. */
typedef struct irisi_mfma_operands {
    irisi_words m[IRISI_MFMA_BLOCKS][IRISI_MFMA_STEPS], n[2][IRISI_MFMA_STEPS];
} irisi_mfma_operands;

/* Begins to load slab `slab` into set `place` of the registers. */
IRIS_DEVICE void irisi_mfma_fetch_slab(irisi_mfma_loop loop, const irisi_mfma_job *job, irisi_mfma_held *held,
                                       uint32_t slab, uint32_t place, int n_major)
{
    const uint32_t whole = irisi_mfma_whole(loop.shape);
    irisi_mfma_fetch(&job->a, irisi_mfma_loads_a(loop.shape), held->a[place], job->k, slab, whole, 0);
    irisi_mfma_fetch(&job->b, irisi_mfma_loads_b(loop.shape), held->b[place], job->k, slab, whole, n_major);
}

/*
 * Writes slab `slab` from registers to shared memory, and begins to fetch a later slab into these registers. Slabs that
 * are 32 bytes deep are fetched in pairs, since two neighbours share cache lines: then every second call fetches two.
 * `number`: known to the compiler, and the same register set and half of shared memory as `slab`.
 */
IRIS_DEVICE void irisi_mfma_advance(irisi_mfma_loop loop, const irisi_mfma_job *job, irisi_mfma_held *held,
                                    uint32_t slab, uint32_t number, int n_major, int ragged)
{
    const irisi_mfma_shape shape = loop.shape;
    const irisi_mfma_lds to = job->lds + number % 2 * irisi_mfma_slab_bytes(shape);
    const uint32_t whole = irisi_mfma_whole(shape), a = irisi_mfma_loads_a(shape), b = irisi_mfma_loads_b(shape);
    if (loop.direct) {
        irisi_mfma_copy(&job->a, a, to, job->k, slab, whole, ragged, 0);
        irisi_mfma_copy(&job->b, b, to, job->k, slab, whole, ragged, n_major);
        return;
    }
    const uint32_t left = irisi_mfma_left(job->k, slab, whole);
    irisi_mfma_commit(&job->a, a, held->a[number % loop.ring], to, left, ragged, 0);
    irisi_mfma_commit(&job->b, b, held->b[number % loop.ring], to, left, ragged, n_major);
    if (number % loop.pair == loop.pair - 1)
#pragma unroll
        for (uint32_t i = 0; i < loop.pair; i++)
            irisi_mfma_fetch_slab(loop, job, held, slab + 1 - loop.pair + i + loop.ring,
                                  (number + 1 - loop.pair + i) % loop.ring, n_major);
}

/* Begins a tile: once the math waves have met, the first slab is in shared memory; others are on their way. */
IRIS_DEVICE void irisi_mfma_begin(irisi_mfma_loop loop, const iris_gemm_plan *plan, const iris_tile *tile,
                                  const irisi_mfma_pipe *pipe, const iris_wave_group *group, int n_major,
                                  irisi_mfma_job *job, irisi_mfma_held *held)
{
    job->lds = (irisi_mfma_lds)pipe->workspace;
    job->k = plan->k;
    job->first_m = irisi_mfma_first_m(loop.shape, group->wave, iris_lane());
    job->first_n = irisi_mfma_first_n(loop.shape, group->wave, iris_lane(), n_major);
    job->a = irisi_mfma_source_a(loop.shape, plan, tile, group);
    job->b = irisi_mfma_source_b(loop.shape, plan, tile, group, n_major);
    if (!loop.direct)
#pragma unroll
        for (uint32_t i = 0; i < loop.ring; i++)
            irisi_mfma_fetch_slab(loop, job, held, i, i, n_major);
    irisi_mfma_advance(loop, job, held, 0, 0, n_major, 1);
    if (loop.direct)
        irisi_mfma_loaded();
}

/* The columns' operands of a step where B is k x n: pairs of rows of K are put together. */
IRIS_DEVICE void irisi_mfma_take_n_major(irisi_mfma_shape shape, irisi_mfma_lds from, uint32_t first, uint32_t step,
                                         irisi_words (*n)[IRISI_MFMA_STEPS], uint32_t place)
{
    uint32_t w[8];
#pragma unroll
    for (uint32_t i = 0; i < 8; i++)
        w[i] = irisi_mfma_read_word(from, irisi_mfma_at_pair(shape, first, step, i));
#pragma unroll
    for (uint32_t column = 0; column < 2; column++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            n[column][place][i] = irisi_mfma_pair(w[2 * i], w[2 * i + 1], column);
}

/* Reads a phase's operands from one of the two slabs in shared memory. */
IRIS_DEVICE void irisi_mfma_take(irisi_mfma_loop loop, const irisi_mfma_job *job, uint32_t slab, uint32_t phase,
                                 int n_major, irisi_mfma_operands *to)
{
    const irisi_mfma_shape shape = loop.shape;
    const irisi_mfma_lds from = job->lds + slab % 2 * irisi_mfma_slab_bytes(shape);
    const irisi_mfma_lds from_b = from + irisi_mfma_tile_m(shape) * shape.depth;
    const uint32_t first_m = loop.steps > 1 ? irisi_mfma_now(job->first_m) : job->first_m;
    const uint32_t first_n = loop.steps > 1 ? irisi_mfma_now(job->first_n) : job->first_n;
#pragma unroll
    for (uint32_t i = 0; i < loop.steps; i++) {
        const uint32_t step = phase * loop.steps + i;
#pragma unroll
        for (uint32_t block = 0; block < shape.blocks_m; block++)
            to->m[block][i] = irisi_mfma_read(from, irisi_mfma_at_m(shape, first_m, step, block));
        if (n_major)
            irisi_mfma_take_n_major(shape, from_b, first_n, step, to->n, i);
        else
#pragma unroll
            for (uint32_t block = 0; block < 2; block++)
                to->n[block][i] = irisi_mfma_read(from_b, irisi_mfma_at_n(shape, first_n, step, block));
    }
}

IRIS_DEVICE void irisi_mfma_clear(irisi_mfma_loop loop, irisi_mfma_accs *acc)
{
#pragma unroll
    for (uint32_t block = 0; block < loop.shape.blocks_m; block++)
        acc->v[block][0] = acc->v[block][1] = 0;
}

/*
 * A lane's accumulators of a piece: two times eight neighbours in a row of C, 16 columns apart. `band` and `right` say
 * which piece; they are the same in all lanes, but accumulators have no address, so each piece has code of its own.
 * `v`: 16 values of 4 bytes. `whole`, a constant: accumulators are i32 and become floats.
 */
IRIS_DEVICE void irisi_mfma_piece(irisi_mfma_loop loop, const irisi_mfma_accs *acc, uint32_t band, uint32_t right,
                                  int whole, void *v)
{
#pragma unroll
    for (uint32_t place = 0; place < 2 * loop.shape.blocks_m; place++)
        if (band * 2 + right == place)
#pragma unroll
            for (uint32_t i = 0; i < 16; i++) {
                float one = acc->v[place / 2][irisi_mfma_piece_block(i)][irisi_mfma_piece_acc(place % 2, i)];
                if (whole)
                    one = (float)(int32_t)irisi_bits_f32(one);
                __builtin_memcpy((char *)v + 4 * i, &one, 4);
            }
}

#endif
