/* SPDX-License-Identifier: MIT */
/*
 * skinny.h (amd): the loop for few rows of C: from memory to operands of a matrix instruction of 16 x 16.
 *
 *   irisi_skinny_shape irisi_skinny_job irisi_skinny_words irisi_skinny_operands
 *   irisi_skinny_begin irisi_skinny_fetch irisi_skinny_take  of a step, 32 elements of K
 *   irisi_skinny_sum irisi_skinny_place                     where a wave's sums stand
 *
 * For few rows it matters only that all compute units read B, and that loads are under way all the time. The matrix
 * loops' tiles are too wide for that: 16 rows of 2048 columns are 16 of theirs and 32 to 128 of these. Each wave of a
 * workgroup multiplies one part of K for the whole of a narrow tile; its lanes load what they multiply, some steps
 * ahead. The waves' sums are added up once, through shared memory; until then no wave waits for another.
 *
 * The instruction computes the transpose of a block, so that a lane's accumulators are neighbours in a row of C. The
 * order in which K is added up is free, so a lane's operands are 8 neighbours along K, from 8 * (lane / 16) on. Where B
 * is k x n, a lane has neighbouring columns of 8 lines. Rows start at multiples of 16 bytes, and loads stay within the
 * 16-byte units that hold elements.
 */
#ifndef IRIS_MAINLOOP_AMD_SKINNY_H
#define IRIS_MAINLOOP_AMD_SKINNY_H

#include <iris/mainloop/amd/skinny_shape.h>
#include <iris/mainloop/amd/mfma.h>
#include <iris/mainloop/amd/mfma_layout.h>
#include <iris/gemm/tile.h>

/* The shape of a tile and the layout of B. Callers pass constants. */
typedef struct irisi_skinny_shape {
    uint32_t groups; /* of 16 rows of C, at most 2 */
    uint32_t blocks; /* of 16 columns, 1, 2 or 4 */
    int n_major;     /* 1: B is k x n */
    uint32_t ring;   /* steps that are loaded ahead */
} irisi_skinny_shape;

/* The most groups, blocks and lines of a lane; the most elements of a tile of which a lane adds up the waves' sums. */
enum { IRISI_SKINNY_GROUPS = 2, IRISI_SKINNY_BLOCKS = 4, IRISI_SKINNY_LINES = 8, IRISI_SKINNY_SHARE = 2 };

/* Beside communication waves a lane has 168 registers, which are too few for all steps ahead. */
IRIS_DEVICE irisi_skinny_shape irisi_skinny_shape_of(uint32_t m, uint32_t n, int n_major, int with_comm)
{
    irisi_skinny_shape s;
    s.groups = m / 16, s.blocks = n / 16, s.n_major = n_major;
    s.ring = with_comm ? (uint32_t)IRISI_SKINNY_RING_WITH_COMM : (uint32_t)IRISI_SKINNY_RING;
    return s;
}

/* Lines of B that a lane has in a step, of k or of columns, and the bytes of its run in each. */
IRIS_DEVICE uint32_t irisi_skinny_lines(irisi_skinny_shape s) { return s.n_major ? 8 : s.blocks; }
IRIS_DEVICE uint32_t irisi_skinny_run(irisi_skinny_shape s) { return s.n_major ? 2 * s.blocks : 16; }

/* A wave's part of a tile, as one lane sees it. */
typedef struct irisi_skinny_job {
    const IRISI_GLOBAL char *a, *b;       /* the tile's first line, the same in all lanes */
    uint64_t b_step;                      /* bytes from step to step */
    uint32_t a_at[IRISI_SKINNY_GROUPS];   /* the lane's run of a line, from there on */
    uint32_t b_at[IRISI_SKINNY_LINES];
    uint32_t b_first[IRISI_SKINNY_BLOCKS]; /* the same at a step's first element of K, which always exists */
    uint32_t k, begin, end, last;         /* elements of K; the wave's steps; the last step of all */
} irisi_skinny_job;

/* Lanes of rows and columns beyond the tile's edge load ones inside it again; their products are not stored. */
IRIS_DEVICE void irisi_skinny_begin(irisi_skinny_shape s, const iris_gemm_plan *plan, const iris_tile *tile,
                                    uint32_t wave, irisi_skinny_job *job)
{
    const uint32_t steps = (plan->k + IRISI_SKINNY_DEEP - 1) / IRISI_SKINNY_DEEP;
    const uint32_t part = (steps + IRISI_SKINNY_WAVES - 1) / IRISI_SKINNY_WAVES;
    const uint32_t line = iris_lane() % 16, own = iris_lane() / 16 * 8;
    const uint32_t lda = 2 * (uint32_t)plan->operands.lda, ldb = 2 * (uint32_t)irisi_tile_ldb(plan, tile);
    job->k = plan->k, job->last = steps - 1;
    job->begin = irisi_rematerialize_u32(wave * part < steps ? wave * part : steps);
    job->end = irisi_rematerialize_u32(steps - job->begin < part ? steps : job->begin + part);
    job->a = (const IRISI_GLOBAL char *)plan->operands.a + (uint64_t)tile->m0 * lda;
    job->b = (const IRISI_GLOBAL char *)irisi_tile_b(plan, tile) + (uint64_t)tile->n0 * (s.n_major ? 2 : ldb);
    job->b_step = s.n_major ? (uint64_t)IRISI_SKINNY_DEEP * ldb : (uint64_t)2 * IRISI_SKINNY_DEEP;
#pragma unroll
    for (uint32_t j = 0; j < s.groups; j++) {
        const uint32_t row = 16 * j + line < tile->rows ? 16 * j + line : tile->rows - 1;
        job->a_at[j] = row * lda + 2 * own;
    }
#pragma unroll
    for (uint32_t i = 0; i < irisi_skinny_lines(s); i++) {
        const uint32_t column = s.n_major ? line * s.blocks : 16 * i + line;
        const uint32_t there = column < tile->cols ? column
                               : s.n_major         ? (tile->cols - 1) / s.blocks * s.blocks
                                                   : tile->cols - 1;
        job->b_at[i] = s.n_major ? (own + i) * ldb + 2 * there : there * ldb + 2 * own;
        if (i < s.blocks)
            job->b_first[i] = s.n_major ? 2 * there : there * ldb;
    }
}

/* What a lane loads for a step. */
typedef struct irisi_skinny_words {
    irisi_words a[IRISI_SKINNY_GROUPS];
    uint32_t b[4 * IRISI_SKINNY_BLOCKS]; /* line by line; a run of 2 bytes takes a word too */
} irisi_skinny_words;

/* Words of a line in irisi_skinny_words. */
IRIS_DEVICE uint32_t irisi_skinny_pitch(irisi_skinny_shape s) { return s.n_major ? (s.blocks + 1) / 2 : 4; }

/*
 * Begins to load a step's words. Behind the last step the last one is loaded again; instead of what lies behind the end
 * of K, elements before it are.
 */
IRIS_DEVICE void irisi_skinny_fetch(irisi_skinny_shape s, const irisi_skinny_job *job, uint32_t step,
                                    irisi_skinny_words *to)
{
    const uint32_t now = step < job->last ? step : job->last, left = job->k - now * IRISI_SKINNY_DEEP;
    const uint32_t own = iris_lane() / 16 * 8;
    const IRISI_GLOBAL char *a = job->a + (uint64_t)now * 2 * IRISI_SKINNY_DEEP, *b = job->b + now * job->b_step;
#pragma unroll
    for (uint32_t i = 0; i < irisi_skinny_lines(s); i++) {
        const uint32_t first = job->b_first[s.n_major ? 0 : i];
        irisi_mfma_load_run(b, own + (s.n_major ? i : 0) < left ? job->b_at[i] : first, irisi_skinny_run(s),
                            to->b + i * irisi_skinny_pitch(s));
    }
#pragma unroll
    for (uint32_t j = 0; j < s.groups; j++)
        to->a[j] = irisi_mfma_load(a, job->a_at[j] - (own < left ? 0 : 2 * own));
}

/* Operands of a step: 8 neighbours along K of a row, and of a column. */
typedef struct irisi_skinny_operands {
    irisi_words m[IRISI_SKINNY_GROUPS], n[IRISI_SKINNY_BLOCKS];
} irisi_skinny_operands;

/* Zeros, of 8 neighbours along K, those behind its end; `left` of them are before it. */
IRIS_DEVICE irisi_words irisi_skinny_clear(irisi_words pairs, int left)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        pairs[i] &= left >= 2 * i + 2 ? UINT32_MAX : left == 2 * i + 1 ? 0xffffu : 0;
    return pairs;
}

/* Makes a step's operands from its words, with zeros behind the end of K. */
IRIS_DEVICE void irisi_skinny_take(irisi_skinny_shape s, const irisi_skinny_job *job, const irisi_skinny_words *from,
                                   uint32_t step, irisi_skinny_operands *to)
{
    const uint32_t begun = step * IRISI_SKINNY_DEEP, pitch = irisi_skinny_pitch(s);
#pragma unroll
    for (uint32_t block = 0; block < s.blocks; block++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) { /* pair of k */
            const uint32_t *two = from->b + 2 * i * pitch + block / 2;
            to->n[block][i] = s.n_major ? irisi_mfma_pair(two[0], two[pitch], block % 2) : from->b[block * 4 + i];
        }
#pragma unroll
    for (uint32_t j = 0; j < s.groups; j++)
        to->m[j] = from->a[j];
    if (job->k - begun >= IRISI_SKINNY_DEEP)
        return;
    const int left = (int)(job->k - begun) - (int)(iris_lane() / 16 * 8);
#pragma unroll
    for (uint32_t j = 0; j < s.groups; j++)
        to->m[j] = irisi_skinny_clear(to->m[j], left);
#pragma unroll
    for (uint32_t block = 0; block < s.blocks; block++)
        to->n[block] = irisi_skinny_clear(to->n[block], left);
}

/*
 * irisi_skinny_sum: where a lane's four accumulators of a block and a group stand among a wave's sums;
 * irisi_skinny_place: where an element of the tile does. The four are in row lane % 16 of the group and in four
 * neighbouring columns of the block, from 4 * (lane / 16) on. Lanes' places are permuted so that the 32 lanes that read
 * neighbours of a row read different banks.
 */
IRIS_DEVICE uint32_t irisi_skinny_sum(irisi_skinny_shape s, uint32_t block, uint32_t group, uint32_t lane)
{
    const uint32_t other = 2 * (lane / 16) ^ (block % 2 | block / 2 * 4);
    return (block * s.groups + group) * 256 + 4 * (lane ^ other);
}
IRIS_DEVICE uint32_t irisi_skinny_place(irisi_skinny_shape s, uint32_t row, uint32_t column)
{
    const uint32_t block = s.n_major ? column % s.blocks : column / 16;
    const uint32_t within = s.n_major ? column / s.blocks : column % 16;
    return irisi_skinny_sum(s, block, row / 16, within / 4 * 16 + row % 16) + within % 4;
}

#endif
