/* SPDX-License-Identifier: MIT */
/*
 * oracle.h: what a GEMM with communication must give: a plain triple loop in double precision, for every operation,
 * from one description of the whole problem.
 *
 *   oracle_op oracle_matrix oracle            the description; a zeroed field means its default
 *   oracle_create oracle_free                 its memory; call it before anything else, and after all
 *   oracle_part oracle_band                   how M and K, and how N, are dealt out
 *   oracle_block oracle_block_of              which part of a matrix a rank has, and how it lies in memory
 *   oracle_bytes oracle_fill oracle_before    such a part in memory: inputs; C before the operation
 *   oracle_input                              one value of an input
 *   oracle_expect                             one value of C, and how far off it may be
 *   oracle_right oracle_wrong                 a whole C, with what stands between its rows
 *
 * There is one A (m x K) and one B (K x n), K being the sum of all ranks' k where K is split. A rank's operands are
 * blocks of them: an element is a function of the seed and its place in the whole matrix. Of m, k and n rank r has
 *
 *                      A                     B                    C
 *   local              all                   all                  all
 *   all_scatter        all                   own columns          all
 *   reduce_scatter     own k                 own k                own rows
 *   all_reduce         own k                 own k                all
 *   all_gather         own rows              own columns          own columns, all rows
 *
 * Element i, j of C becomes, with a rank r for each part of K, and o the element's owner,
 *
 *   P_r = scale_a_r[i] * scale_b_r[j] * sum over r's part of K of A[i, k] * B[k, j], rounded to the slot's type
 *   x   = alpha * (P_0 + P_1 + ...) + beta * R_o[i, j] + bias[j]
 *   C   = act(x) * scale_c, with SwiGLU act(x of column 2 j) * (x of column 2 j + 1) * scale_c
 *
 * where R_o is the owner's own C, or its residual. R and the scales of a part of K differ on each rank. Owners are who
 * has the column (all_scatter, all_gather), who has the row (reduce_scatter), or whoever `owner` says (all_reduce).
 *
 * Inputs are small multiples of 1/8, or small whole numbers of integer types: a P_r is exact before it is rounded, and
 * the order in which K is added inside a rank changes nothing. Partials are rounded to the slot's type and added in the
 * order of ranks, each sum rounded to the type that sums have (f32; f64 of f64 and where C is i32), so C must be x,
 * rounded once. Where alpha, beta and the rest are powers of 2 or small, that is exact in f32 too. With `spread` the
 * parts of K with odd r are 2^spread times as large, so that sums of three and more f32 partials depend on their order.
 *
 * With `real` inputs are any numbers in [-1, 1]. C must then be within the bound of all roundings on the way.
 */
#ifndef TESTS_GEMM_ORACLE_H
#define TESTS_GEMM_ORACLE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/gemm/plan.h>

#include "../random.h"
#include "element.h"

enum { ORACLE_RANKS = 8 };

/* In the order of iris_gemm_op's table of operations (docs/gemm-all-scatter.md). */
typedef enum oracle_op {
    ORACLE_LOCAL,
    ORACLE_ALL_SCATTER,
    ORACLE_REDUCE_SCATTER,
    ORACLE_ALL_REDUCE,
    ORACLE_ALL_GATHER
} oracle_op;

/* Inputs by name; their numbers are streams of irist_random. */
typedef enum oracle_matrix {
    ORACLE_A = 11,
    ORACLE_B,
    ORACLE_C,
    ORACLE_BIAS,
    ORACLE_SCALE_A,
    ORACLE_SCALE_B,
    ORACLE_SCALE_C,
    ORACLE_RESIDUAL
} oracle_matrix;

/* The C of a rank that was right; none: null. Rows like its own are right too. */
struct oracle_seen {
    int rank;
    unsigned char *c;
};

typedef struct oracle {
    oracle_op op;
    int world;               /* 1 to ORACLE_RANKS; 1 of local */
    int64_t m, n;            /* C is m x n, with SwiGLU m x n / 2 */
    int64_t k[ORACLE_RANKS]; /* where K is split each rank's own, 0 or more; else the first counts */
    int64_t lda[ORACLE_RANKS], ldb[ORACLE_RANKS]; /* elements from row to row; 0: as many as a row has */
    int64_t ldc[ORACLE_RANKS], ldr[ORACLE_RANKS]; /* of C and the residual; likewise */
    iris_dtype dtype;                             /* of A and B */
    iris_dtype c_dtype;                           /* of C and the residual; none: dtype */
    iris_dtype bias_dtype;                        /* none: c_dtype */
    iris_dtype slot_dtype; /* of partial sums on their way, where K is split; none: C's, or bf16 if it has 8 bits */
    int a_transposed, b_transposed; /* 1: stands in memory column by column */
    double alpha, beta;             /* alpha 0 means 1 */
    int zero_alpha;                 /* 1: alpha is 0 indeed */
    int bias, residual;             /* 1: there is one */
    int alike;                      /* 1: C before the operation and the residual hold the same on every rank */
    int scales;                     /* 1: one of A, of B and of C; 2: of each row of A and column of B, and of C */
    iris_activation activation;
    int swiglu;        /* 1: columns of x in pairs, gate first; n is even */
    int real;          /* 1: inputs are any numbers, see above */
    int spread;        /* of inputs that are not real: see above */
    double units_lose; /* what matrix units lose of a sum, as a part of the size of its terms */
    uint64_t seed;
    int (*owner)(const void *arg, int64_t row, int64_t column); /* of all_reduce; null: unknown, any rank will do */
    const void *owner_arg;

    /* Made by oracle_create: m x K, K x n, twice m x n; room for three rows; of each row whether it was added up. */
    double *a, *b, *sum, *off, *row;
    unsigned char *added;
    struct oracle_seen *seen;
} oracle;

/* Numbers first, first + 1, ... (count of them). */
typedef struct oracle_range {
    int64_t first, count;
} oracle_range;

/* Part `rank` of n: n / world each, the first n % world one more. */
static inline oracle_range oracle_part(int64_t n, int world, int rank)
{
    const int64_t each = n / world, more = n % world;
    oracle_range part;
    part.first = rank * each + (rank < more ? rank : more);
    part.count = each + (rank < more);
    return part;
}

/* Columns of `rank`: whole blocks of 16, dealt out as oracle_part does; the last of n's blocks has what is left. */
static inline oracle_range oracle_band(int64_t n, int world, int rank)
{
    const oracle_range blocks = oracle_part((n + 15) / 16, world, rank);
    const int64_t end = 16 * (blocks.first + blocks.count);
    oracle_range band;
    band.first = 16 * blocks.first < n ? 16 * blocks.first : n;
    band.count = (end < n ? end : n) - band.first;
    return band;
}

static inline oracle_range oracle_all(int64_t n)
{
    oracle_range all;
    all.first = 0, all.count = n;
    return all;
}

static inline int oracle_splits_k(const oracle *p)
{
    return p->op == ORACLE_REDUCE_SCATTER || p->op == ORACLE_ALL_REDUCE;
}
static inline int oracle_splits_n(const oracle *p) { return p->op == ORACLE_ALL_SCATTER || p->op == ORACLE_ALL_GATHER; }

/* Parts of K. */
static inline int oracle_parts(const oracle *p) { return oracle_splits_k(p) ? p->world : 1; }

/* Part r of K. */
static inline oracle_range oracle_depth(const oracle *p, int r)
{
    oracle_range part;
    part.first = 0, part.count = p->k[oracle_splits_k(p) ? r : 0];
    for (int i = 0; i < r && oracle_splits_k(p); i++)
        part.first += p->k[i];
    return part;
}

/* All of K. */
static inline int64_t oracle_k(const oracle *p)
{
    const oracle_range last = oracle_depth(p, oracle_parts(p) - 1);
    return last.first + last.count;
}

/* Columns of C for so many of x. */
static inline int64_t oracle_width(const oracle *p, int64_t columns) { return p->swiglu ? columns / 2 : columns; }

/* Types that are left open. */
static inline iris_dtype oracle_c_dtype(const oracle *p) { return p->c_dtype ? p->c_dtype : p->dtype; }
static inline iris_dtype oracle_slot_dtype(const oracle *p)
{
    const iris_dtype c = oracle_c_dtype(p);
    return p->slot_dtype ? p->slot_dtype : iris_dtype_bytes(c) == 1 ? IRIS_BF16 : c;
}
static inline iris_dtype oracle_dtype(const oracle *p, oracle_matrix which)
{
    switch (which) {
    case ORACLE_C:
    case ORACLE_RESIDUAL: return oracle_c_dtype(p);
    case ORACLE_BIAS: return p->bias_dtype ? p->bias_dtype : oracle_c_dtype(p);
    case ORACLE_SCALE_A:
    case ORACLE_SCALE_B:
    case ORACLE_SCALE_C: return IRIS_F32;
    default: return p->dtype;
    }
}

/* A rank's part of a matrix, or of a vector, which is one row. Where it is transposed, ld is from column to column. */
typedef struct oracle_block {
    oracle_range rows, columns;
    int64_t ld;
    int transposed;
} oracle_block;

static inline oracle_block oracle_block_of(const oracle *p, oracle_matrix which, int rank)
{
    const oracle_range band = oracle_splits_n(p) ? oracle_band(p->n, p->world, rank) : oracle_all(p->n);
    const oracle_range rows = oracle_part(p->m, p->world, rank);
    const int64_t *ld = NULL;
    oracle_block block;
    block.rows = oracle_all(1), block.columns = oracle_all(1), block.transposed = 0;
    switch (which) {
    case ORACLE_A:
        block.rows = p->op == ORACLE_ALL_GATHER ? rows : oracle_all(p->m);
        block.columns = oracle_depth(p, rank), block.transposed = p->a_transposed, ld = p->lda;
        break;
    case ORACLE_B:
        block.rows = oracle_depth(p, rank), block.columns = band, block.transposed = p->b_transposed, ld = p->ldb;
        break;
    case ORACLE_C:
    case ORACLE_RESIDUAL:
        block.rows = p->op == ORACLE_REDUCE_SCATTER ? rows : oracle_all(p->m);
        block.columns = p->op == ORACLE_ALL_GATHER ? band : oracle_all(p->n);
        block.columns.first = oracle_width(p, block.columns.first);
        block.columns.count = oracle_width(p, block.columns.count);
        ld = which == ORACLE_C ? p->ldc : p->ldr;
        break;
    case ORACLE_BIAS: block.columns = band; break;
    case ORACLE_SCALE_A: block.columns = oracle_all(p->scales == 2 ? p->m : 1); break;
    case ORACLE_SCALE_B: block.columns = p->scales == 2 ? band : oracle_all(1); break;
    default: break;
    }
    const int64_t least = block.transposed ? block.rows.count : block.columns.count;
    block.ld = ld != NULL && ld[rank] != 0 ? ld[rank] : least;
    return block;
}

/* Bytes of a rank's part in memory, what stands between its rows included. */
static inline size_t oracle_bytes(const oracle *p, oracle_matrix which, int rank)
{
    const oracle_block block = oracle_block_of(p, which, rank);
    const int64_t lines = block.transposed ? block.columns.count : block.rows.count;
    return (size_t)(lines * block.ld) * iris_dtype_bytes(oracle_dtype(p, which));
}

/* A place of the whole matrix in a rank's part of it. */
static inline size_t oracle_at(const oracle *p, oracle_matrix which, const oracle_block *block, int64_t row,
                               int64_t column)
{
    const int64_t i = row - block->rows.first, j = column - block->columns.first;
    return (size_t)(block->transposed ? j * block->ld + i : i * block->ld + j) *
           iris_dtype_bytes(oracle_dtype(p, which));
}

/* 1 where each rank has values of its own at the same place. */
static inline int oracle_differs(const oracle *p, oracle_matrix which)
{
    return (!p->alike && (which == ORACLE_C || which == ORACLE_RESIDUAL)) ||
           (oracle_splits_k(p) && (which == ORACLE_SCALE_A || which == ORACLE_SCALE_B));
}

/* The part of K that a place of the whole K belongs to. */
static inline int oracle_part_at(const oracle *p, int64_t k)
{
    int r = 0;
    while (r + 1 < oracle_parts(p) && oracle_depth(p, r).first + oracle_depth(p, r).count <= k)
        r++;
    return r;
}

/* The value of an input at a place of the whole matrix; exact in its type. `rank`: whose, where they differ. */
static inline double oracle_input(const oracle *p, oracle_matrix which, int rank, int64_t row, int64_t column)
{
    const uint64_t stream = (uint64_t)which + (oracle_differs(p, which) ? 64 * (uint64_t)rank : 0);
    const uint64_t bits = irist_random(p->seed, stream, (uint64_t)row * 1000003u + (uint64_t)column);
    const iris_dtype dtype = oracle_dtype(p, which);
    if (which == ORACLE_SCALE_A || which == ORACLE_SCALE_B || which == ORACLE_SCALE_C) {
        if (p->real)
            return (double)(float)(0.25 + (double)(bits >> 40) / 16777216.0);
        return ldexp(1, (int)((bits >> 40) % 3) - 1);
    }
    if (p->real)
        return element_round(dtype,
                             ((double)(bits >> 11) / 9007199254740992.0 * 2 - 1) * (element_whole(dtype) ? 128 : 1));
    const double small = ((double)((bits >> 40) % 17) - 8) / (element_whole(dtype) ? 1 : 8);
    return which == ORACLE_A && oracle_part_at(p, column) % 2 == 1 ? ldexp(small, p->spread) : small;
}

/* The scale of a row or column of part r of K, or of C, 1 without scales. */
static inline double oracle_scale(const oracle *p, oracle_matrix which, int r, int64_t i)
{
    return p->scales == 0 ? 1 : oracle_input(p, which, r, 0, p->scales == 2 && which != ORACLE_SCALE_C ? i : 0);
}

/* A rank's part as the operation reads it; bytes that belong to no element are poison. `to`: oracle_bytes of them. */
static inline void oracle_fill(const oracle *p, oracle_matrix which, int rank, unsigned char *to)
{
    const oracle_block block = oracle_block_of(p, which, rank);
    const size_t bytes = oracle_bytes(p, which, rank);
    for (size_t i = 0; i < bytes; i++)
        to[i] = irist_poison(i);
    for (int64_t i = block.rows.first; i < block.rows.first + block.rows.count; i++)
        for (int64_t j = block.columns.first; j < block.columns.first + block.columns.count; j++)
            element_set(oracle_dtype(p, which), to + oracle_at(p, which, &block, i, j),
                        oracle_input(p, which, rank, i, j));
}

/* The element's owner: the rank whose C or residual beta reads. -1: unknown. */
static inline int oracle_owner(const oracle *p, int rank, int64_t row, int64_t column)
{
    if (p->op == ORACLE_ALL_REDUCE)
        return p->owner != NULL ? p->owner(p->owner_arg, row, column) : p->world == 1 ? 0 : -1;
    if (p->op == ORACLE_ALL_GATHER || p->op == ORACLE_LOCAL)
        return rank;
    for (int r = 0; r + 1 < p->world; r++) {
        const oracle_range band = oracle_band(p->n, p->world, r), rows = oracle_part(p->m, p->world, r);
        if (p->op == ORACLE_ALL_SCATTER ? column < oracle_width(p, band.first + band.count)
                                        : row < rows.first + rows.count)
            return r;
    }
    return p->world - 1;
}

/* A rank's C before the operation: poison, but for what beta reads there. `to`: oracle_bytes of them. */
static inline void oracle_before(const oracle *p, int rank, unsigned char *to)
{
    const oracle_block block = oracle_block_of(p, ORACLE_C, rank);
    const size_t bytes = oracle_bytes(p, ORACLE_C, rank);
    for (size_t i = 0; i < bytes; i++)
        to[i] = irist_poison(i);
    if (p->beta == 0 || p->residual)
        return;
    for (int64_t i = block.rows.first; i < block.rows.first + block.rows.count; i++)
        for (int64_t j = block.columns.first; j < block.columns.first + block.columns.count; j++) {
            const int owner = oracle_owner(p, rank, i, j);
            if (owner == rank || owner < 0)
                element_set(oracle_c_dtype(p), to + oracle_at(p, ORACLE_C, &block, i, j),
                            oracle_input(p, ORACLE_C, rank, i, j));
        }
}

/* What one rounding of the type that sums have may change, as a part of the value. */
static inline double oracle_unit(const oracle *p)
{
    const iris_dtype c = oracle_c_dtype(p);
    return ldexp(1, p->dtype == IRIS_F64 || c == IRIS_I32 ? -53 : -24);
}

/* A sum of partials in the type that sums have. */
static inline double oracle_sum(const oracle *p, double v)
{
    return p->dtype == IRIS_F64 || oracle_c_dtype(p) == IRIS_I32 ? v : (double)(float)v;
}

/* sums += a * b for n columns, and sizes, where there are any, the size of the products. */
#if defined(IRIS_TARGET_HOST) && defined(__GNUC__) && !defined(__clang__)
__attribute__((optimize("O3"))) /* tests are not optimised as a whole, and spend much of their time here */
#endif
static inline void
oracle_multiply(double a, const double *b, int64_t n, double *__restrict sums, double *__restrict sizes)
{
    for (int64_t j = 0; j < n; j++)
        sums[j] += a * b[j];
    for (int64_t j = 0; j < n && sizes != NULL; j++)
        sizes[j] += fabs(a * b[j]);
}

/* The sums of row i over all ranks, and how far off they may be: of all columns at once, which is quicker. */
static inline void oracle_add_up(const oracle *p, int64_t i)
{
    const int64_t k = oracle_k(p), n = p->n;
    const double unit = oracle_unit(p);
    double *all = p->sum + i * n, *off = p->off + i * n, *sums = p->row, *sizes = sums + n, *passed = sizes + n;
    for (int64_t j = 0; j < n; j++)
        all[j] = off[j] = passed[j] = 0;
    for (int r = 0; r < oracle_parts(p); r++) {
        const oracle_range part = oracle_depth(p, r);
        const double scale_a = oracle_scale(p, ORACLE_SCALE_A, r, i);
        for (int64_t j = 0; j < n; j++)
            sums[j] = sizes[j] = 0;
        for (int64_t at = part.first; at < part.first + part.count; at++)
            oracle_multiply(p->a[i * k + at], p->b + at * n, n, sums, p->real ? sizes : NULL);
        for (int64_t j = 0; j < n; j++) {
            const double scale = scale_a * oracle_scale(p, ORACLE_SCALE_B, r, j);
            double sum = sums[j] * scale, lost = 0;
            if (p->real) /* k products and additions, alpha and scales: each rounds once */
                lost = (unit * ((double)part.count + (p->scales ? 8 : 4)) + p->units_lose) * fabs(scale) * sizes[j];
            if (oracle_splits_k(p) && (p->real || p->world == 1)) /* one rank's sum goes nowhere: rounded or not */
                lost += element_half_unit(oracle_slot_dtype(p), fabs(sum) + lost);
            else if (oracle_splits_k(p))
                sum = element_round(oracle_slot_dtype(p), sum);
            passed[j] += fabs(sum) + lost;
            all[j] = oracle_parts(p) == 1 ? sum : oracle_sum(p, all[j] + sum);
            off[j] += lost + (p->real && r > 0 ? unit * passed[j] : 0);
        }
    }
    p->added[i] = 1;
}

/* Why the description cannot be, or null. */
static inline const char *oracle_refuses(const oracle *p)
{
    if (p->world < 1 || p->world > ORACLE_RANKS || (p->op == ORACLE_LOCAL && p->world != 1))
        return "1 to 8 ranks, of the GEMM alone 1";
    if (p->m < 1 || p->n < 1 || oracle_k(p) < 0 || p->dtype == IRIS_DTYPE_NONE)
        return "m and n are 1 or more, and there is a type";
    if (p->swiglu && (p->n % 2 != 0 || p->beta != 0))
        return "SwiGLU takes columns in pairs, and no beta";
    if (p->residual && p->beta == 0)
        return "a residual without beta counts for nothing";
    for (int r = 0; r < p->world; r++)
        for (int which = ORACLE_A; which <= ORACLE_RESIDUAL; which++) {
            const oracle_block block = oracle_block_of(p, (oracle_matrix)which, r);
            if (block.ld < (block.transposed ? block.rows.count : block.columns.count))
                return "a leading dimension is less than a row";
        }
    return NULL;
}

/*
 * Makes the inputs, and room for sums, which are added up when they are asked for. The description does not change any
 * more until oracle_free, and no copy of it is judged with. 0, or 1 and a sentence on stderr.
 */
static inline int oracle_create(oracle *p)
{
    const char *why = oracle_refuses(p);
    p->a = p->b = p->sum = p->off = p->row = NULL, p->added = NULL, p->seen = NULL;
    if (why != NULL)
        return fprintf(stderr, "oracle: %s\n", why), 1;
    const int64_t k = oracle_k(p);
    p->a = (double *)malloc((size_t)(p->m * k + 1) * sizeof *p->a);
    p->b = (double *)malloc((size_t)(k * p->n + 1) * sizeof *p->b);
    p->sum = (double *)malloc((size_t)(p->m * p->n) * sizeof *p->sum);
    p->off = (double *)malloc((size_t)(p->m * p->n) * sizeof *p->off);
    p->row = (double *)malloc((size_t)(3 * p->n) * sizeof *p->row);
    p->added = (unsigned char *)calloc((size_t)p->m, 1);
    p->seen = (struct oracle_seen *)calloc(1, sizeof *p->seen);
    if (!p->a || !p->b || !p->sum || !p->off || !p->row || !p->added || !p->seen)
        return fprintf(stderr, "oracle: no memory\n"), 1;
    for (int64_t i = 0; i < p->m * k; i++)
        p->a[i] = oracle_input(p, ORACLE_A, 0, i / k, i % k);
    for (int64_t i = 0; i < k * p->n; i++)
        p->b[i] = oracle_input(p, ORACLE_B, 0, i / p->n, i % p->n);
    return 0;
}

static inline void oracle_free(oracle *p)
{
    if (p->seen != NULL)
        free(p->seen->c);
    free(p->a), free(p->b), free(p->sum), free(p->off), free(p->row), free(p->added), free(p->seen);
    p->a = p->b = p->sum = p->off = p->row = NULL, p->added = NULL, p->seen = NULL;
}

static inline double oracle_activate(iris_activation activation, double x)
{
    const double pi = 3.14159265358979323846;
    switch (activation) {
    case IRIS_ACTIVATION_RELU: return x > 0 ? x : 0;
    case IRIS_ACTIVATION_GELU: return 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
    case IRIS_ACTIVATION_SILU: return x / (1 + exp(-x));
    default: return x;
    }
}

/* x at a place, column j of n, by this owner, and how far off it may be. */
static inline double oracle_x(const oracle *p, int owner, int64_t i, int64_t j, double *off)
{
    const double alpha = p->zero_alpha ? 0 : p->alpha == 0 ? 1 : p->alpha;
    if (!p->added[i])
        oracle_add_up(p, i);
    const double old =
        p->beta == 0 ? 0 : p->beta * oracle_input(p, p->residual ? ORACLE_RESIDUAL : ORACLE_C, owner, i, j);
    const double bias = p->bias ? oracle_input(p, ORACLE_BIAS, 0, 0, j) : 0;
    const double sum = p->zero_alpha ? 0 : alpha * p->sum[i * p->n + j];
    *off = fabs(alpha) * p->off[i * p->n + j];
    if (p->real)
        *off += oracle_unit(p) * 8 * (fabs(sum) + fabs(old) + fabs(bias)) + p->units_lose * (fabs(old) + fabs(bias));
    return sum + old + bias;
}

/* act(x) and how far off it may be: an exponential, a quotient and products, each within a few units. */
static inline double oracle_act(const oracle *p, double x, double *off)
{
    *off *= p->activation >= IRIS_ACTIVATION_GELU ? 1.2 : 1; /* the steepest slope of these */
    if (p->activation >= IRIS_ACTIVATION_GELU)
        *off += 16 * oracle_unit(p) * (fabs(x) + x * x) + 1e-30;
    return oracle_activate(p->activation, x);
}

/*
 * C's value at a place of the whole C, where beta reads what `owner` has there; off: how far from it a right one may
 * be, before it is rounded to C's type.
 */
static inline double oracle_expect(const oracle *p, int owner, int64_t row, int64_t column, double *off)
{
    const double last = oracle_scale(p, ORACLE_SCALE_C, 0, 0);
    double more = 0, x = oracle_x(p, owner, row, p->swiglu ? 2 * column : column, off);
    double v = oracle_act(p, x, off);
    if (p->swiglu) {
        const double up = oracle_x(p, owner, row, 2 * column + 1, &more), gate = v;
        v = gate * up;
        *off = fabs(up) * *off + fabs(gate) * more + *off * more + (p->real ? oracle_unit(p) * fabs(v) : 0);
    }
    *off *= last;
    return element_cut(oracle_c_dtype(p), v * last);
}

/* What oracle_right found: an element, or a byte between rows. */
typedef struct oracle_wrong {
    int64_t row, column; /* of the whole C; column -1: between rows */
    double got, expected, off;
    char text[160];
} oracle_wrong;

/* 1 when `got` is the value, rounded or not further off than it may be. What is not finite must be just that. */
static inline int oracle_value_right(const oracle *p, double got, double expected, double off)
{
    if (got == element_round(oracle_c_dtype(p), expected)) /* most are */
        return 1;
    if (expected - expected != 0)
        return got == expected || (got != got && expected != expected);
    const double near = element_half_unit(oracle_c_dtype(p), expected), /* the value itself, and the largest there */
        far = element_half_unit(oracle_c_dtype(p), fabs(expected) + off);
    return fabs(got - expected) <= off + (near > far ? near : far);
}

/* 1 when an element of a rank's C is right, whoever owns it if that is unknown. */
static inline int oracle_element_right(const oracle *p, int rank, int64_t row, int64_t column, double got,
                                       oracle_wrong *wrong)
{
    const int owner = oracle_owner(p, rank, row, column);
    for (int r = owner < 0 ? 0 : owner; r < (owner < 0 && p->beta != 0 ? p->world : owner < 0 ? 1 : owner + 1); r++) {
        wrong->expected = oracle_expect(p, r, row, column, &wrong->off);
        if (oracle_value_right(p, got, wrong->expected, wrong->off))
            return 1;
    }
    wrong->row = row, wrong->column = column, wrong->got = got;
    return 0;
}

/*
 * 1 when a rank's whole C is right, and nothing was written between its rows. `got` and `before`, what stood there
 * before the operation, have oracle_bytes bytes. 0 with a sentence in wrong->text.
 */
static inline int oracle_right(const oracle *p, int rank, const unsigned char *got, const unsigned char *before,
                               oracle_wrong *wrong)
{
    const oracle_block block = oracle_block_of(p, ORACLE_C, rank);
    const size_t size = iris_dtype_bytes(oracle_c_dtype(p)), bytes = oracle_bytes(p, ORACLE_C, rank);
    const unsigned char *seen = bytes > 0 && p->seen->rank == rank ? p->seen->c : NULL;
    memset(wrong, 0, sizeof *wrong);
    for (int64_t i = block.rows.first; i < block.rows.first + block.rows.count; i++) {
        const size_t from = (size_t)((i - block.rows.first) * block.ld) * size;
        const size_t end = from + (size_t)block.columns.count * size, next = from + (size_t)block.ld * size;
        const int known = seen != NULL && memcmp(got + from, seen + from, end - from) == 0;
        for (int64_t j = block.columns.first; !known && j < block.columns.first + block.columns.count; j++) {
            const double v = element_get(oracle_c_dtype(p), got + oracle_at(p, ORACLE_C, &block, i, j));
            if (!oracle_element_right(p, rank, i, j, v, wrong)) {
                snprintf(wrong->text, sizeof wrong->text, "rank %d: C[%lld][%lld] is %.17g, expected %.17g (off %.2g)",
                         rank, (long long)i, (long long)j, v, wrong->expected, wrong->off);
                return 0;
            }
        }
        if (next > end && memcmp(got + end, before + end, next - end) != 0) {
            wrong->row = i, wrong->column = -1;
            snprintf(wrong->text, sizeof wrong->text, "rank %d: row %lld was written beyond its end", rank,
                     (long long)i);
            return 0;
        }
    }
    free(p->seen->c);
    p->seen->rank = rank, p->seen->c = (unsigned char *)malloc(bytes + 1);
    if (p->seen->c != NULL && bytes > 0)
        memcpy(p->seen->c, got, bytes);
    return 1;
}

#endif
