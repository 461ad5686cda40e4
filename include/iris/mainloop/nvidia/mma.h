/* SPDX-License-Identifier: MIT */
/*
 * mma.h (nvidia): the parts of the loop around mma.sync that do not depend on the accumulator's type.
 *
 *   irisi_mma_ring irisi_mma_job irisi_mma_begin irisi_mma_fetch irisi_mma_meet irisi_mma_next       slabs on their way
 *   irisi_mma_take_16 irisi_mma_take_32 irisi_mma_take_64                           operands of a step
 *   irisi_mma_operands_32 irisi_mma_f32                                             f32, which lanes multiply
 *   and what mma_instructions.h has
 *
 * The math waves fetch what they need themselves: each lane copies its chunks of a slab, two or three slabs ahead, into
 * a ring in shared memory. Beyond the edges of A and B nothing is read: the copies write zeros there.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_MMA_H
#define IRIS_MAINLOOP_NVIDIA_MMA_H

#include <iris/arch/nvidia/mma_instructions.h>
#include <iris/mainloop/nvidia/mma_layout.h>
#include <iris/gemm/tile.h>

/* What the loop keeps from tile to tile: where its slabs stand in shared memory. */
typedef struct irisi_mma_ring {
    uint32_t begin, bytes;
} irisi_mma_ring;

IRIS_DEVICE irisi_mma_ring irisi_mma_ring_begin(const char *workspace, uint32_t bytes)
{
    irisi_mma_ring ring;
    ring.begin = irisi_shared_address(workspace);
    ring.bytes = bytes;
    return ring;
}

/* A matrix, and the lane's share of each slab. */
typedef struct irisi_mma_source {
    const char *from;    /* the lane's first chunk of the next slab */
    uint64_t next, step; /* bytes from chunk to chunk, from slab to slab */
    uint32_t most;       /* lines inside the tile; where lines run along N, bytes of the lane's chunks inside it */
    irisi_mma_share share;
} irisi_mma_source;

/* How many bytes of a chunk, which starts at byte `before`, lie before byte `left`. */
IRIS_DEVICE uint32_t irisi_mma_within(uint32_t left, uint32_t before)
{
    return left <= before ? 0 : left - before < 16 ? left - before : 16;
}

/* `first`: the tile's first row or column; `lines`: how many it has of them; `ld`: in bytes. */
IRIS_DEVICE irisi_mma_source irisi_mma_source_of(irisi_mma_shape shape, int n_major, const void *matrix, uint64_t ld,
                                                 uint32_t first, uint32_t lines, uint32_t member)
{
    irisi_mma_source s;
    s.share = irisi_mma_share_of(shape, n_major, member);
    s.from = (const char *)matrix + s.share.line * ld + 16 * s.share.chunk + first * (n_major ? shape.bytes : ld);
    s.next = s.share.next * ld;
    s.step = n_major ? IRISI_MMA_DEPTH / shape.bytes * ld : (uint64_t)IRISI_MMA_DEPTH;
    s.most = n_major ? irisi_mma_within(lines * shape.bytes, 16 * s.share.chunk) : lines;
    return s;
}

/*
 * Begins to copy a lane's share of a matrix's part of a slab; `left` elements of K are left. A copy of no bytes gets
 * the address of the matrix's first element, since it must be a valid one.
 */
IRIS_DEVICE void irisi_mma_copy(irisi_mma_shape shape, int n_major, irisi_mma_source *s, uint32_t loads,
                                const void *matrix, uint32_t to, uint32_t left)
{
    const uint32_t bytes = n_major ? s->most : irisi_mma_within(left * shape.bytes, 16 * s->share.chunk);
    const uint32_t lines = n_major ? left : s->most;
#pragma unroll
    for (uint32_t j = 0; j < loads; j++) {
        const uint32_t line = s->share.line + j * s->share.next;
        const uint32_t size = line < lines ? bytes : 0;
        irisi_copy_chunk(to + irisi_mma_place(shape, n_major, line, s->share.chunk),
                         size ? s->from + j * s->next : matrix, size);
    }
    s->from += s->step;
}

/* A tile's slabs, and what of them the lane moves and reads. */
typedef struct irisi_mma_job {
    irisi_mma_source a, b;
    uint32_t left;               /* elements of K that are not fetched yet */
    uint32_t begin, end;         /* of the ring */
    uint32_t fill, read;         /* the slabs in it that are fetched next, and read now */
    uint32_t first_a, first_b;   /* where the lane's operands stand in a slab */
    uint32_t open;               /* groups of copies that may still be under way when the next slab must have arrived */
} irisi_mma_job;

/* Begins to fetch the next slab, if there is one. */
IRIS_DEVICE void irisi_mma_fetch(irisi_mma_shape shape, const iris_gemm_plan *plan, int n_major, irisi_mma_job *job)
{
    const uint32_t whole = IRISI_MMA_DEPTH / shape.bytes;
    if (job->left > 0) {
        const uint32_t left = job->left < whole ? job->left : whole;
        irisi_mma_copy(shape, 0, &job->a, irisi_mma_loads_a(shape), plan->operands.a, job->fill, left);
        irisi_mma_copy(shape, n_major, &job->b, irisi_mma_loads_b(shape), plan->operands.b,
                       job->fill + irisi_mma_tile_m(shape) * IRISI_MMA_DEPTH, left);
        job->left -= left;
    }
    irisi_copies_close();
    job->fill += irisi_mma_slab_bytes(shape);
    if (job->fill == job->end)
        job->fill = job->begin;
}

/* Goes on to the slab that is read next. */
IRIS_DEVICE void irisi_mma_next(irisi_mma_shape shape, irisi_mma_job *job)
{
    job->read += irisi_mma_slab_bytes(shape);
    if (job->read == job->end)
        job->read = job->begin;
}

/* Waits until the slab that is read next stands in shared memory, and all waves have read the one before. */
IRIS_DEVICE void irisi_mma_meet(const irisi_mma_job *job, iris_wave_group *group)
{
    irisi_copies_await(job->open);
    iris_wave_group_sync(group);
}

/*
 * Begins a tile, once all waves have read the last one's slabs: begins to fetch as many slabs as the ring has, less
 * one.
 */
IRIS_DEVICE void irisi_mma_begin(irisi_mma_shape shape, const iris_gemm_plan *plan, const iris_tile *tile,
                                 const irisi_mma_ring *ring, iris_wave_group *group, int n_major, irisi_mma_job *job)
{
    const uint32_t lane = iris_lane(), b = irisi_mma_tile_m(shape) * IRISI_MMA_DEPTH;
    const uint32_t slabs = ring->bytes / irisi_mma_slab_bytes(shape);
    job->a = irisi_mma_source_of(shape, 0, plan->operands.a, plan->operands.lda * shape.bytes, tile->m0, tile->rows,
                                 group->member);
    job->b = irisi_mma_source_of(shape, n_major, irisi_tile_b(plan, tile),
                                 irisi_tile_ldb(plan, tile) * shape.bytes, tile->n0, tile->cols, group->member);
    job->left = plan->k;
    job->begin = job->fill = job->read = ring->begin;
    job->end = ring->begin + slabs * irisi_mma_slab_bytes(shape);
    job->open = slabs - 2;
    if (shape.bytes == 4) {
        job->first_a = irisi_mma_first_a_32(shape, group->wave, lane);
        job->first_b = b + (n_major ? irisi_mma_first_b_32_n_major(shape, group->wave, lane)
                                    : irisi_mma_first_b_32(shape, group->wave, lane));
    } else if (shape.bytes == 8) {
        job->first_a = irisi_mma_first_a_64(shape, group->wave, lane);
        job->first_b = b + (n_major ? irisi_mma_first_b_64_n_major(shape, group->wave, lane)
                                    : irisi_mma_first_b_64(shape, group->wave, lane));
    } else {
        job->first_a = irisi_mma_first_a(shape, group->wave, lane);
        job->first_b = b + (n_major ? irisi_mma_first_b_n_major(shape, group->wave, lane)
                                    : irisi_mma_first_b(shape, group->wave, lane));
    }
    iris_wave_group_sync(group);
#pragma unroll 1
    for (uint32_t i = 1; i < slabs; i++)
        irisi_mma_fetch(shape, plan, n_major, job);
}

/* Reads a step's operands from the slab that is read now. */
IRIS_DEVICE void irisi_mma_take_16(irisi_mma_shape shape, const irisi_mma_job *job, uint32_t step, int n_major,
                                   irisi_mma_operands_16 *to)
{
    const uint32_t a = job->read + job->first_a, b = job->read + job->first_b;
#pragma unroll
    for (uint32_t block = 0; block < shape.blocks_m; block++)
        irisi_load_matrices(to->a[block], irisi_mma_at_a(a, step, block));
#pragma unroll
    for (uint32_t pair = 0; pair < shape.blocks_n / 2; pair++)
        if (n_major)
            irisi_load_matrices_transposed(to->b[pair], irisi_mma_at_b_n_major(shape, b, step, pair));
        else
            irisi_load_matrices(to->b[pair], irisi_mma_at_b(b, step, pair));
}

/* Operands of a step in f32: four k of each of a lane's rows and columns. */
typedef struct irisi_mma_operands_32 {
    float a[4][2][4], b[4][4][2]; /* row, k; k, column */
} irisi_mma_operands_32;

IRIS_DEVICE void irisi_mma_take_32(irisi_mma_shape shape, const irisi_mma_job *job, uint32_t step, int n_major,
                                   irisi_mma_operands_32 *to)
{
    const uint32_t a = job->read + job->first_a, b = job->read + job->first_b;
#pragma unroll
    for (uint32_t i = 0; i < 2 * shape.blocks_m; i++)
        irisi_load_quad(to->a[i / 2][i % 2], irisi_mma_at_32(a, step, i / 2) + i % 2 * 8 * IRISI_MMA_DEPTH);
#pragma unroll
    for (uint32_t block = 0; block < shape.blocks_n; block++)
#pragma unroll
        for (uint32_t i = 0; i < (n_major ? 4 : 2); i++) {
            float v[4];
            if (n_major) {
                irisi_load_two(to->b[block][i], irisi_mma_at_b_32_n_major(shape, b, step, block, i));
                continue;
            }
            irisi_load_quad(v, irisi_mma_at_32(b, step, block) + i * IRISI_MMA_DEPTH);
#pragma unroll
            for (uint32_t k = 0; k < 4; k++)
                to->b[block][k][i] = v[k];
        }
}

/* c += a * b for a lane's accumulators of a block of C, as if the warp had an instruction for it. */
IRIS_DEVICE void irisi_mma_f32(float *c, const irisi_mma_operands_32 *o, uint32_t m, uint32_t n)
{
#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
#pragma unroll
        for (uint32_t e = 0; e < 4; e++)
            c[e] += o->a[m][e / 2][k] * o->b[n][k][e % 2];
}

IRIS_DEVICE void irisi_mma_take_64(irisi_mma_shape shape, const irisi_mma_job *job, uint32_t step, int n_major,
                                   irisi_mma_operands_64 *to)
{
    const uint32_t a = job->read + job->first_a, b = job->read + job->first_b;
#pragma unroll
    for (uint32_t block = 0; block < shape.blocks_m; block++) {
        to->a[block][0] = irisi_load_double(irisi_mma_at_a(a, step, block));
        to->a[block][1] = irisi_load_double(irisi_mma_at_a(a, step, block) + 8 * IRISI_MMA_DEPTH);
    }
#pragma unroll
    for (uint32_t block = 0; block < shape.blocks_n; block++)
        to->b[block] = irisi_load_double(n_major ? irisi_mma_at_b_64_n_major(shape, b, step, block)
                                                 : irisi_mma_at_b_64(b, step, block));
}

#endif
