/* SPDX-License-Identifier: MIT */
/*
 * skinny.h (nvidia): the loop for few rows of C, whose A and B may start anywhere: from memory to operands of mma.sync.
 *
 *   irisi_skinny_shape irisi_skinny_side irisi_skinny_job irisi_skinny_words irisi_skinny_operands
 *   irisi_skinny_begin irisi_skinny_fetch irisi_skinny_take        of a step, 32 elements of K
 *   irisi_skinny_sum irisi_skinny_place                            where a wave's sums stand
 *
 * Where rows are few, a kernel's start and end and memory's answers are most of the time. So nothing is prepared here:
 * no copies, no maps, no ring. Each wave of a workgroup multiplies a part of K of all of a narrow tile, from its lanes'
 * own loads, and the waves' sums are added up once, through shared memory. No workgroup waits for another.
 *
 * The product is transposed, since its rows come by 16 and its columns by 8: C's columns are its rows. In which
 * order K is added up is nobody's business, so a lane's operands are 8 neighbours along K, 8 * (lane % 4) on, and where
 * B is k x n its columns are neighbours too. Such a run starts at any element: a lane loads the aligned words that it
 * lies in, one or two, and shifts them. Of words that hold no byte of the matrix none is read.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_SKINNY_H
#define IRIS_MAINLOOP_NVIDIA_SKINNY_H

#include <iris/mainloop/shape.h>
#include <iris/arch/nvidia/mma_instructions.h>
#include <iris/gemm/pack.h>
#include <iris/gemm/scheduler.h>

/* A tile's shape and B's, constants wherever they are handed on. */
typedef struct irisi_skinny_shape {
    uint32_t groups; /* of 8 rows of C, at most 4 */
    uint32_t blocks; /* of 16 columns, 1, 2 or 4 */
    int n_major;     /* 1: B is k x n */
    int ahead;       /* 1: a step is loaded while the one before it is multiplied; 0: registers are too few */
} irisi_skinny_shape;

/* Accumulators of a lane, at most; and elements of a tile that a lane adds the waves' sums up of. */
enum { IRISI_SKINNY_ACCS = 32, IRISI_SKINNY_SHARE = (IRISI_SKINNY_ACCS + IRISI_SKINNY_WAVES - 1) / IRISI_SKINNY_WAVES };

IRIS_DEVICE irisi_skinny_shape irisi_skinny_shape_of(uint32_t m, uint32_t n, int n_major, int ahead)
{
    irisi_skinny_shape s;
    s.groups = m / 8, s.blocks = n / 16, s.n_major = n_major, s.ahead = ahead;
    return s;
}

/* Lines of B that a lane has in a step, of k or of columns, and the bytes of its run in each. */
IRIS_DEVICE uint32_t irisi_skinny_lines(irisi_skinny_shape s) { return s.n_major ? 8 : 2 * s.blocks; }
IRIS_DEVICE uint32_t irisi_skinny_run(irisi_skinny_shape s) { return s.n_major ? 4 * s.blocks : 16; }

/* Which of the two words that a run lies in have one of its first `bytes` bytes: bits 0 and 1. */
IRIS_DEVICE uint32_t irisi_skinny_there(uint32_t skew, int bytes, uint32_t run)
{
    const int most = bytes < (int)run ? bytes : (int)run;
    return (uint32_t)(bytes > 0) | (uint32_t)(bytes > 0 && (int)skew + most > (int)run) << 1;
}

/* A lane's runs of up to 8 lines in the next step. Small numbers of all lines share a register, for these are few. */
typedef struct irisi_skinny_side {
    const char *at[8];   /* the aligned word that each begins in */
    uint32_t skews;      /* bytes from there to its begin: 4 bits a line */
    uint32_t low, high;  /* bit i: of line i that word, and the next one, are to be read */
} irisi_skinny_side;

IRIS_DEVICE uint32_t irisi_skinny_skew(const irisi_skinny_side *side, uint32_t line)
{
    return side->skews >> 4 * line & 15;
}

IRIS_DEVICE void irisi_skinny_add(irisi_skinny_side *side, uint32_t line, const char *begin, int bytes, uint32_t run)
{
    const uint32_t skew = (uint32_t)(uintptr_t)begin % run, there = irisi_skinny_there(skew, bytes, run);
    side->at[line] = begin - skew;
    side->skews |= skew << 4 * line;
    side->low |= (there & 1) << line, side->high |= there >> 1 << line;
}

/* A wave's part of a tile, as one lane sees it. */
typedef struct irisi_skinny_job {
    irisi_skinny_side a, b;
    uint64_t b_step;     /* bytes from step to step */
    uint32_t next;       /* element of K that the next step to fetch begins with */
    uint32_t begin, end; /* the wave's part of K */
    uint32_t size, own;  /* of all of K; the lane's first element within a step */
} irisi_skinny_job;

/* Lanes of rows and columns beyond the tile's edge load ones inside it again; their products are not stored. */
IRIS_DEVICE void irisi_skinny_begin(irisi_skinny_shape s, const iris_gemm_plan *plan, const iris_tile *tile,
                                    uint32_t wave, irisi_skinny_job *job)
{
    const uint32_t steps = (plan->k + IRISI_SKINNY_DEEP - 1) / IRISI_SKINNY_DEEP;
    const uint32_t part = (steps + IRISI_SKINNY_WAVES - 1) / IRISI_SKINNY_WAVES * IRISI_SKINNY_DEEP;
    const uint32_t group = iris_lane() / 4, run = irisi_skinny_run(s), left = group * 2 * s.blocks;
    const uint64_t lda = 2 * plan->lda, ldb = 2 * plan->ldb;
    job->size = plan->k, job->own = iris_lane() % 4 * 8;
    job->begin = job->next = wave * part < plan->k ? wave * part : plan->k;
    job->end = plan->k - job->begin < part ? plan->k : job->begin + part;
    job->b_step = s.n_major ? IRISI_SKINNY_DEEP * ldb : (uint64_t)2 * IRISI_SKINNY_DEEP;
    job->a.skews = job->a.low = job->a.high = job->b.skews = job->b.low = job->b.high = 0;
    const uint64_t first = job->begin + job->own;
    IRISI_UNROLL
    for (uint32_t j = 0; j < s.groups; j++) {
        const uint32_t row = 8 * j + group < tile->rows ? 8 * j + group : tile->rows - 1;
        irisi_skinny_add(&job->a, j, (const char *)plan->a + (tile->m0 + row) * lda + 2 * first, 16, 16);
    }
    IRISI_UNROLL
    for (uint32_t i = 0; i < irisi_skinny_lines(s); i++) {
        const uint32_t column = 8 * i + group < tile->cols ? 8 * i + group : tile->cols - 1;
        const char *b = (const char *)plan->b;
        if (s.n_major)
            irisi_skinny_add(&job->b, i, b + (first + i) * ldb + 2 * (uint64_t)(tile->n0 + left),
                             2 * ((int)tile->cols - (int)left), run);
        else
            irisi_skinny_add(&job->b, i, b + (tile->n0 + column) * ldb + 2 * first, 16, run);
    }
}

/* What a lane loads for a step: two words of a run in each line. */
typedef struct irisi_skinny_words {
    uint32_t a[4][8], b[8][8];
} irisi_skinny_words;

IRIS_DEVICE void irisi_skinny_clear_words(irisi_skinny_shape s, irisi_skinny_words *words)
{
    IRISI_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        IRISI_UNROLL
        for (uint32_t line = 0; line < irisi_skinny_lines(s); line++)
            if (i < irisi_skinny_run(s) / 2)
                words->b[line][i] = 0;
        IRISI_UNROLL
        for (uint32_t j = 0; j < s.groups; j++)
            words->a[j][i] = 0;
    }
}

/* Begins to load a side's words, and goes on to the next step's. */
IRIS_DEVICE void irisi_skinny_load(irisi_skinny_side *side, uint32_t lines, uint32_t run, uint64_t step, uint32_t low,
                                   uint32_t high, uint32_t (*to)[8])
{
    IRISI_UNROLL
    for (uint32_t i = 0; i < lines; i++) {
        irisi_read_words(to[i], side->at[i], run, low & 1u << i);
        irisi_read_words(to[i] + run / 4, side->at[i] + run, run, high & 1u << i);
        side->at[i] += step;
    }
}

/* The words of lines that run along K, of which only `left` elements are left. */
IRIS_DEVICE void irisi_skinny_end(const irisi_skinny_side *side, uint32_t lines, int left, uint32_t *low,
                                  uint32_t *high)
{
    *low = *high = 0;
    IRISI_UNROLL
    for (uint32_t i = 0; i < lines; i++) {
        const uint32_t there = irisi_skinny_there(irisi_skinny_skew(side, i), 2 * left, 16);
        *low |= (there & 1) << i, *high |= there >> 1 << i;
    }
}

/*
 * Begins to load the next step's words, if the wave has one more. At the end of K no word behind it is read;
 * irisi_skinny_take clears what is there from before.
 */
IRIS_DEVICE void irisi_skinny_fetch(irisi_skinny_shape s, irisi_skinny_job *job, irisi_skinny_words *to)
{
    const uint32_t lines = irisi_skinny_lines(s), run = irisi_skinny_run(s);
    if (job->next >= job->end)
        return;
    if (job->size - job->next >= IRISI_SKINNY_DEEP) {
        irisi_skinny_load(&job->b, lines, run, job->b_step, job->b.low, job->b.high, to->b);
        irisi_skinny_load(&job->a, s.groups, 16, 2 * IRISI_SKINNY_DEEP, job->a.low, job->a.high, to->a);
    } else {
        const int left = (int)(job->size - job->next) - (int)job->own; /* elements from the lane's first one on */
        const uint32_t some = left >= 8 ? 255 : left > 0 ? (1u << left) - 1 : 0;
        uint32_t low = job->b.low & some, high = job->b.high & some;
        if (!s.n_major)
            irisi_skinny_end(&job->b, lines, left, &low, &high);
        irisi_skinny_load(&job->b, lines, run, job->b_step, low, high, to->b);
        irisi_skinny_end(&job->a, s.groups, left, &low, &high);
        irisi_skinny_load(&job->a, s.groups, 16, 2 * IRISI_SKINNY_DEEP, low, high, to->a);
    }
    job->next += IRISI_SKINNY_DEEP;
}

/* A run, put together from its words. */
IRIS_DEVICE void irisi_skinny_join(uint32_t *to, const uint32_t *words, uint32_t skew, uint32_t run)
{
    uint32_t w[8];
    IRISI_UNROLL
    for (uint32_t i = 0; i < run / 2; i++)
        w[i] = words[i];
    if (run == 16)
        irisi_pack_down(w, 6, 2, skew & 8);
    if (run >= 8)
        irisi_pack_down(w, run == 16 ? 5 : 3, 1, skew & 4);
    IRISI_UNROLL
    for (uint32_t i = 0; i < run / 4; i++)
        to[i] = __funnelshift_r(w[i], w[i + 1], skew % 4 * 8);
}

/* Of 8 neighbours along K those behind its end become zeros; `left` are before it. */
IRIS_DEVICE void irisi_skinny_clear(uint32_t *pairs, int left)
{
    IRISI_UNROLL
    for (int i = 0; i < 4; i++)
        pairs[i] &= left >= 2 * i + 2 ? UINT32_MAX : left == 2 * i + 1 ? 0xffffu : 0;
}

/* Operands of a step's two products: `a` of blocks of columns of C, `b` of groups of its rows. */
typedef struct irisi_skinny_operands {
    irisi_mma_operands_16 half[2];
} irisi_skinny_operands;

/* Both sides' runs of the step that begins with element k of K, zeros behind the end of it. */
IRIS_DEVICE void irisi_skinny_runs(irisi_skinny_shape s, const irisi_skinny_job *job, const irisi_skinny_words *from,
                                   uint32_t k, uint32_t (*a)[4], uint32_t (*b)[4])
{
    const int left = (int)(job->size - k) - (int)job->own;
    IRISI_UNROLL
    for (uint32_t i = 0; i < irisi_skinny_lines(s); i++)
        irisi_skinny_join(b[i], from->b[i], irisi_skinny_skew(&job->b, i), irisi_skinny_run(s));
    IRISI_UNROLL
    for (uint32_t j = 0; j < s.groups; j++)
        irisi_skinny_join(a[j], from->a[j], irisi_skinny_skew(&job->a, j), 16);
    if (job->size - k >= IRISI_SKINNY_DEEP)
        return;
    IRISI_UNROLL
    for (uint32_t j = 0; j < s.groups; j++)
        irisi_skinny_clear(a[j], left);
    IRISI_UNROLL
    for (uint32_t i = 0; i < irisi_skinny_lines(s); i++)
        if (!s.n_major)
            irisi_skinny_clear(b[i], left);
        else if ((int)i >= left) /* the line is behind the end */
            b[i][0] = b[i][1] = b[i][2] = b[i][3] = 0;
}

/* And as operands. */
IRIS_DEVICE void irisi_skinny_take(irisi_skinny_shape s, const irisi_skinny_job *job, const irisi_skinny_words *from,
                                   uint32_t k, irisi_skinny_operands *to)
{
    uint32_t a[4][4], b[8][4];
    irisi_skinny_runs(s, job, from, k, a, b);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4 * s.groups; i++) /* group, pair of k */
        to->half[i % 4 / 2].b[i / 8][i / 4 % 2 * 2 + i % 2] = a[i / 4][i % 4];
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4 * s.blocks; i++) { /* block, pair of k */
        const uint32_t block = i / 4, pair = i % 4;
        uint32_t *two = &to->half[pair / 2].a[block][pair % 2 * 2]; /* of two columns */
        if (s.n_major) {
            two[0] = __byte_perm(b[2 * pair][block], b[2 * pair + 1][block], 0x5410);
            two[1] = __byte_perm(b[2 * pair][block], b[2 * pair + 1][block], 0x7632);
        } else {
            two[0] = b[2 * block][pair];
            two[1] = b[2 * block + 1][pair];
        }
    }
}

/*
 * Where a lane's accumulator stands among a wave's sums, and an element of the tile. Accumulator e of a block and a
 * group is row 2 * (lane % 4) + e % 2 of the group, and of the block's 16 columns that of lane / 4, the first or the
 * second. Lanes change places within 32, so that those that read neighbours of a row find them in different banks.
 */
IRIS_DEVICE uint32_t irisi_skinny_sum(irisi_skinny_shape s, uint32_t acc, uint32_t lane)
{
    const uint32_t block = acc / 4 / s.groups, low = s.blocks == 1 ? acc % 2 : block % 2;
    return 32 * acc + (lane ^ (low | acc / 2 % 2 << 1 | block / 2 << 4));
}
IRIS_DEVICE uint32_t irisi_skinny_place(irisi_skinny_shape s, uint32_t row, uint32_t column)
{
    const uint32_t lane = s.n_major ? column / (2 * s.blocks) : column % 8;
    const uint32_t block = s.n_major ? column / 2 % s.blocks : column / 16;
    const uint32_t second = s.n_major ? column % 2 : column / 8 % 2;
    return irisi_skinny_sum(s, (block * s.groups + row / 8) * 4 + second * 2 + row % 2, 4 * lane + row % 8 / 2);
}

#endif
