/* SPDX-License-Identifier: MIT */
/*
 * mma.h (nvidia): the parts of the loop around mma.sync that do not depend on the accumulator's type.
 *
 *   irisi_copy_chunk irisi_copies_close irisi_copies_await     global to shared memory, beside the lanes (cp.async)
 *   irisi_mma_ring irisi_mma_job irisi_mma_begin irisi_mma_fetch irisi_mma_meet irisi_mma_next       slabs on their way
 *   irisi_mma_operands_16 irisi_mma_operands_64 irisi_mma_take_16 irisi_mma_take_64     operands of a step
 *   irisi_mma_f16 irisi_mma_bf16 irisi_mma_f64                                          products of a block
 *
 * The math waves fetch what they need themselves: each lane copies its chunks of a slab, two or three slabs ahead, into
 * a ring in shared memory. What lies beyond the edges of A and B is not read; zeros stand for it.
 */
#ifndef IRIS_ARCH_NVIDIA_MMA_H
#define IRIS_ARCH_NVIDIA_MMA_H

#include <iris/arch/nvidia/async.h>
#include <iris/arch/nvidia/mma_layout.h>
#include <iris/tile.h>

/* Begins to copy `bytes` of 16 bytes to shared memory; zeros follow them. Both places are multiples of 16. */
IRIS_DEVICE void irisi_copy_chunk(uint32_t to, const void *from, uint32_t bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

/* Closes the lane's group of copies. */
IRIS_DEVICE void irisi_copies_close(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits until at most `open` of the lane's groups are under way: 0, 1 or 2. */
IRIS_DEVICE void irisi_copies_await(uint32_t open)
{
    if (open == 2)
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    else if (open == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 0;" ::: "memory");
}

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
    uint32_t most;       /* of the tile: lines; or bytes of the lane's chunks, where lines run along N */
    irisi_mma_share share;
} irisi_mma_source;

/* The lesser of `left` and a chunk, where `before` bytes come first. */
IRIS_DEVICE uint32_t irisi_mma_within(uint32_t left, uint32_t before)
{
    return left <= before ? 0 : left - before < 16 ? left - before : 16;
}

/* `first`: the tile's first row or column; `lines`: how many it has of them; `ld`: in bytes. */
IRIS_DEVICE irisi_mma_source irisi_mma_source_of(irisi_mma_shape shape, int turned, const void *matrix, uint64_t ld,
                                                 uint32_t first, uint32_t lines, uint32_t member)
{
    irisi_mma_source s;
    s.share = irisi_mma_share_of(shape, turned, member);
    s.from = (const char *)matrix + s.share.line * ld + 16 * s.share.chunk + first * (turned ? shape.bytes : ld);
    s.next = s.share.next * ld;
    s.step = turned ? IRISI_MMA_DEPTH / shape.bytes * ld : (uint64_t)IRISI_MMA_DEPTH;
    s.most = turned ? irisi_mma_within(lines * shape.bytes, 16 * s.share.chunk) : lines;
    return s;
}

/* Begins to copy a lane's share of a matrix's part of a slab, of which `left` elements of K are left. Where nothing is
 * read, it names the matrix's first element. */
IRIS_DEVICE void irisi_mma_copy(irisi_mma_shape shape, int turned, irisi_mma_source *s, uint32_t loads,
                                const void *matrix, uint32_t to, uint32_t left)
{
    const uint32_t bytes = turned ? s->most : irisi_mma_within(left * shape.bytes, 16 * s->share.chunk);
    const uint32_t lines = turned ? left : s->most;
#pragma unroll
    for (uint32_t j = 0; j < loads; j++) {
        const uint32_t line = s->share.line + j * s->share.next;
        const uint32_t size = line < lines ? bytes : 0;
        irisi_copy_chunk(to + irisi_mma_place(shape, turned, line, s->share.chunk),
                         size ? s->from + j * s->next : matrix, size);
    }
    s->from += s->step;
}

/* A tile's slabs, and the lane's place among those who work on it. */
typedef struct irisi_mma_job {
    irisi_mma_source a, b;
    uint32_t left;               /* elements of K that are not fetched */
    uint32_t begin, end;         /* of the ring */
    uint32_t fill, read;         /* the slabs in it that are fetched next, and read now */
    uint32_t first_a, first_b;   /* where the lane's operands stand in a slab */
    uint32_t open;               /* groups of copies that may be under way when a slab is to be there */
} irisi_mma_job;

/* Begins to fetch the next slab, if there is one. */
IRIS_DEVICE void irisi_mma_fetch(irisi_mma_shape shape, const iris_gemm_plan *plan, int turned, irisi_mma_job *job)
{
    const uint32_t whole = IRISI_MMA_DEPTH / shape.bytes;
    if (job->left > 0) {
        const uint32_t left = job->left < whole ? job->left : whole;
        irisi_mma_copy(shape, 0, &job->a, irisi_mma_loads_a(shape), plan->a, job->fill, left);
        irisi_mma_copy(shape, turned, &job->b, irisi_mma_loads_b(shape), plan->b,
                       job->fill + irisi_mma_tile_m(shape) * IRISI_MMA_DEPTH, left);
        job->left -= left;
    }
    irisi_copies_close();
    job->fill += irisi_mma_slab_bytes(shape);
    if (job->fill == job->end)
        job->fill = job->begin;
}

/* The next slab is read. */
IRIS_DEVICE void irisi_mma_next(irisi_mma_shape shape, irisi_mma_job *job)
{
    job->read += irisi_mma_slab_bytes(shape);
    if (job->read == job->end)
        job->read = job->begin;
}

/* Until the slab that is read next stands in shared memory, and all have read the one before. */
IRIS_DEVICE void irisi_mma_meet(const irisi_mma_job *job, iris_crew *crew)
{
    irisi_copies_await(job->open);
    iris_crew_sync(crew);
}

/* Begins a tile, once all have read the last one's slabs: all slabs of the ring but one are on their way. */
IRIS_DEVICE void irisi_mma_begin(irisi_mma_shape shape, const iris_gemm_plan *plan, const iris_tile *tile,
                                 const irisi_mma_ring *ring, iris_crew *crew, int turned, irisi_mma_job *job)
{
    const uint32_t lane = iris_lane(), b = irisi_mma_tile_m(shape) * IRISI_MMA_DEPTH;
    const uint32_t slabs = ring->bytes / irisi_mma_slab_bytes(shape);
    job->a = irisi_mma_source_of(shape, 0, plan->a, plan->lda * shape.bytes, tile->m0, tile->rows, crew->member);
    job->b = irisi_mma_source_of(shape, turned, plan->b, plan->ldb * shape.bytes, tile->n0, tile->cols, crew->member);
    job->left = plan->k;
    job->begin = job->fill = job->read = ring->begin;
    job->end = ring->begin + slabs * irisi_mma_slab_bytes(shape);
    job->open = slabs - 2;
    if (shape.bytes == 8) {
        job->first_a = irisi_mma_first_a_64(shape, crew->wave, lane);
        job->first_b = b + (turned ? irisi_mma_first_b_64_turned(shape, crew->wave, lane)
                                   : irisi_mma_first_b_64(shape, crew->wave, lane));
    } else {
        job->first_a = irisi_mma_first_a(shape, crew->wave, lane);
        job->first_b = b + (turned ? irisi_mma_first_b_turned(shape, crew->wave, lane)
                                   : irisi_mma_first_b(shape, crew->wave, lane));
    }
    iris_crew_sync(crew);
#pragma unroll 1
    for (uint32_t i = 1; i < slabs; i++)
        irisi_mma_fetch(shape, plan, turned, job);
}

/* Four 8 x 8 matrices of 16-bit values, one row of 16 bytes at each lane's address; and transposed. */
IRIS_DEVICE void irisi_load_matrices(uint32_t *w, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
}
IRIS_DEVICE void irisi_load_matrices_turned(uint32_t *w, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
}
IRIS_DEVICE double irisi_load_double(uint32_t from)
{
    double v;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(from));
    return v;
}

/* A lane's operands of a step: blocks of A, pairs of blocks of B. */
typedef struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
} irisi_mma_operands_16;
typedef struct irisi_mma_operands_64 {
    double a[2][2], b[4];
} irisi_mma_operands_64;

/* Reads a step's operands from the slab that is read now. */
IRIS_DEVICE void irisi_mma_take_16(irisi_mma_shape shape, const irisi_mma_job *job, uint32_t step, int turned,
                                   irisi_mma_operands_16 *to)
{
    const uint32_t a = job->read + job->first_a, b = job->read + job->first_b;
#pragma unroll
    for (uint32_t block = 0; block < shape.blocks_m; block++)
        irisi_load_matrices(to->a[block], irisi_mma_at_a(a, step, block));
#pragma unroll
    for (uint32_t pair = 0; pair < shape.blocks_n / 2; pair++)
        if (turned)
            irisi_load_matrices_turned(to->b[pair], irisi_mma_at_b_turned(shape, b, step, pair));
        else
            irisi_load_matrices(to->b[pair], irisi_mma_at_b(b, step, pair));
}

IRIS_DEVICE void irisi_mma_take_64(irisi_mma_shape shape, const irisi_mma_job *job, uint32_t step, int turned,
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
        to->b[block] = irisi_load_double(turned ? irisi_mma_at_b_64_turned(shape, b, step, block)
                                                : irisi_mma_at_b_64(b, step, block));
}

/* c += a * b for a block of C: operands of a step; column `block` of its blocks. */
IRIS_DEVICE void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(o->a[m][0]), "r"(o->a[m][1]), "r"(o->a[m][2]), "r"(o->a[m][3]), "r"(o->b[n / 2][n % 2 * 2]),
          "r"(o->b[n / 2][n % 2 * 2 + 1]));
}
IRIS_DEVICE void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(o->a[m][0]), "r"(o->a[m][1]), "r"(o->a[m][2]), "r"(o->a[m][3]), "r"(o->b[n / 2][n % 2 * 2]),
          "r"(o->b[n / 2][n % 2 * 2 + 1]));
}
IRIS_DEVICE void irisi_mma_f64(double *c, const irisi_mma_operands_64 *o, uint32_t m, uint32_t n)
{
#pragma unroll
    for (uint32_t half = 0; half < 2; half++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(o->a[m][half]), "d"(o->b[n]));
}

#endif
