/* SPDX-License-Identifier: MIT */
/*
 * gemm_norm.h: what all_reduce_rmsnorm does behind the sums, as a kernel of its own behind a BLAS and a collective, and
 * a check of the norms. A part of gemm_peers.h.
 *
 *   gemm_norm gemm_norms_right
 */
#ifndef IRIS_BENCH_GEMM_NORM_H
#define IRIS_BENCH_GEMM_NORM_H

#include <iris/collective/rmsnorm.h>

#include "gemm_operands.h"

typedef union gemm_eight {
    irisi_b128 b128;
    iris_bf16 e[8];
} gemm_eight;

/* bf16 matrices of `rows` rows of `columns`; c = sum + residual, out = the norms of c's rows. */
typedef struct gemm_norm_args {
    const char *sum, *residual, *weight;
    char *c, *out;
    uint32_t rows, columns; /* gemm_norm: columns are a multiple of 8, all of it at multiples of 16 bytes */
    float epsilon;
    uint32_t *wrong; /* gemm_norms_right */
} gemm_norm_args;

static inline gemm_norm_args gemm_norm_of(const gemm_operands *g, const char *sum)
{
    gemm_norm_args a;
    memset(&a, 0, sizeof a);
    a.sum = sum, a.residual = g->residual, a.weight = g->weight, a.c = g->c, a.out = g->out;
    a.rows = (uint32_t)g->m, a.columns = (uint32_t)g->n, a.epsilon = GEMM_EPSILON;
    return a;
}

IRIS_DEVICE gemm_eight gemm_eight_at(const char *p, uint64_t i)
{
    gemm_eight v;
    v.b128 = ((const irisi_b128 *)(const void *)p)[i];
    return v;
}

/* A workgroup a row, a lane 16 bytes at a time, of which the last stay in registers: all, where lanes are enough. */
IRIS_KERNEL(gemm_norm_rows, gemm_norm_args, p, 1024)
{
    const uint32_t pieces = p->columns / 8, lane = iris_wg_lane(), lanes = iris_wg_lanes();
    const uint32_t last = lane < pieces ? lane + (pieces - 1 - lane) / lanes * lanes : pieces;
    for (uint32_t row = iris_workgroup(); row < p->rows; row += iris_workgroups()) {
        const uint64_t at = (uint64_t)row * pieces;
        gemm_eight x, y, v;
        float squares = 0;
        __builtin_memset(&v, 0, sizeof v);
        for (uint32_t i = lane; i < pieces; i += lanes) {
            x = gemm_eight_at(p->sum, at + i), y = gemm_eight_at(p->residual, at + i);
            for (int j = 0; j < 8; j++) {
                v.e[j] = iris_narrow_bf16(iris_widen_bf16(x.e[j]) + iris_widen_bf16(y.e[j]));
                squares += iris_widen_bf16(v.e[j]) * iris_widen_bf16(v.e[j]);
            }
            ((irisi_b128 *)(void *)p->c)[at + i] = v.b128;
        }
        squares = irisi_wg_sum(squares, (float *)iris_shared());
        const float by = irisi_rsqrt(squares / (float)p->columns + p->epsilon);
        for (uint32_t i = lane; i < pieces; i += lanes) {
            if (i != last)
                x = gemm_eight_at(p->c, at + i);
            else
                x = v;
            y = gemm_eight_at(p->weight, i);
            for (int j = 0; j < 8; j++)
                x.e[j] = iris_narrow_bf16(iris_widen_bf16(x.e[j]) * by * iris_widen_bf16(y.e[j]));
            ((irisi_b128 *)(void *)p->out)[at + i] = x.b128;
        }
    }
}

/* The residual added to `sum`, into C, and the norms of its rows, on a stream: one kernel. */
static inline iris_status gemm_norm(iris_world *w, const gemm_operands *g, const char *sum, iris_stream stream)
{
    const gemm_norm_args a = gemm_norm_of(g, sum);
    const uint32_t most = 8 * (uint32_t)iris_compute_units(w), lanes = (uint32_t)(g->n / 8 + 63) / 64 * 64;
    iris_launch_config grid = iris_grid(g->m < most ? (uint32_t)g->m : most, lanes < 1024 ? lanes : 1024);
    grid.shared_bytes = IRIS_RMSNORM_SHARED;
    return iris_launch(w, gemm_norm_rows, &a, sizeof a, &grid, stream);
}

/* A lane a row: what its elements are, from C as it stands there. */
IRIS_KERNEL(gemm_norm_check, gemm_norm_args, p, 64)
{
    for (uint64_t row = iris_grid_lane(); row < p->rows; row += iris_grid_lanes()) {
        double squares = 0;
        for (uint64_t j = 0; j < p->columns; j++) {
            const double x = gemm_get(p->c, row * p->columns + j, IRIS_BF16);
            squares += x * x;
        }
        const double mean = squares / p->columns + (double)p->epsilon;
        for (uint64_t j = 0; j < p->columns; j++) {
            const double x = gemm_get(p->c, row * p->columns + j, IRIS_BF16);
            const double got = gemm_get(p->out, row * p->columns + j, IRIS_BF16);
            /* squared, since there is no root on every platform: of signs the product tells */
            const double weighed = x * gemm_get(p->weight, j, IRIS_BF16), is = got * got * mean, be = weighed * weighed;
            const double off = is < be ? be - is : is - be;
            if (!(off <= be * (2.02 * 0.00390625 + 1e-4)) || got * weighed < 0) /* NaN is wrong too */
                irisi_atomic_set_u32(p->wrong, 1 + (uint32_t)row, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        }
    }
}

/* 1 when every norm is that of C's row on this rank; else 0, with a sentence on stderr. `flag`: a word of the heap. */
static inline int gemm_norms_right(iris_world *w, const gemm_operands *g, uint32_t *flag, const char *who)
{
    gemm_norm_args a = gemm_norm_of(g, NULL);
    const iris_launch_config grid = iris_grid((uint32_t)(g->m + 63) / 64, 64);
    uint32_t wrong = 0;
    a.wrong = flag;
    if (iris_memset(w, flag, 0, sizeof *flag) != IRIS_OK ||
        iris_launch(w, gemm_norm_check, &a, sizeof a, &grid, NULL) != IRIS_OK ||
        iris_memcpy(w, &wrong, flag, sizeof wrong) != IRIS_OK)
        return fprintf(stderr, "%s: %s\n", who, iris_error_string(w)), 0;
    if (wrong)
        fprintf(stderr, "%s: a norm of row %u is wrong on rank %d\n", who, wrong - 1, iris_rank(w));
    return wrong == 0;
}

#endif
