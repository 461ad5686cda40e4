/* SPDX-License-Identifier: MIT */
/*
 * gemm_operands.h: the operands of GEMM + AllScatter of bf16, plans for them, and a check of C.
 *
 *   gemm_operands gemm_operands_create gemm_operands_free
 *   gemm_operands_plan gemm_operands_peer gemm_operands_right
 */
#ifndef IRIS_BENCH_GEMM_OPERANDS_H
#define IRIS_BENCH_GEMM_OPERANDS_H

#include "bench.h"
#include "gemm_inputs.h"
#include "peer_cublaslt.h"

enum { GEMM_SETS = 2, GEMM_SEED_A = 1, GEMM_SEED_B = 100 };

/* One shape on one rank: m, n, k and transposed (B is n x k) are given, the rest is created. */
typedef struct gemm_operands {
    uint64_t m, n, k;
    int transposed;
    iris_gemm_columns own;
    int sets; /* of A and B; more than one where the caches could hold a set */
    char *a[GEMM_SETS], *b[GEMM_SETS], *c;
    iris_gemm_plan plan[GEMM_SETS];
} gemm_operands;

/* Memory, and random A and B. 0, or 1 with a sentence on stderr. */
static inline int gemm_operands_create(iris_world *w, gemm_operands *g)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const uint64_t widest = iris_gemm_band((uint32_t)g->n, world, 0).count;
    g->own = iris_gemm_band((uint32_t)g->n, world, rank);
    g->sets = (g->m + widest) * g->k * 2 > 100u << 20 ? 1 : GEMM_SETS;
    g->c = (char *)iris_malloc(w, g->m * g->n * 2);
    for (uint64_t i = 0; i < (uint64_t)g->sets; i++) {
        g->a[i] = (char *)iris_malloc(w, g->m * g->k * 2);
        g->b[i] = (char *)iris_malloc(w, g->k * widest * 2);
        if (!g->c || !g->a[i] || !g->b[i])
            return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
        IRIS_TRY(gemm_fill(w, IRIS_BF16, g->a[i], g->m * g->k, GEMM_SEED_A + i));
        IRIS_TRY(gemm_fill(w, IRIS_BF16, g->b[i], g->k * g->own.count, GEMM_SEED_B * (i + 1) + rank));
    }
    return 0;
}

/* Gives plans and memory back. Collective: C only when nobody writes into it any more. */
static inline int gemm_operands_free(iris_world *w, gemm_operands *g)
{
    for (int i = 0; i < g->sets; i++) {
        IRIS_TRY(iris_gemm_release(w, &g->plan[i]));
        IRIS_TRY(iris_free(w, g->b[i]));
        IRIS_TRY(iris_free(w, g->a[i]));
    }
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_free(w, g->c));
    return 0;
}

/* A plan for each set, as `args` has it but for operands and shape. */
static inline iris_status gemm_operands_plan(iris_world *w, gemm_operands *g, iris_gemm_args *args)
{
    iris_status s = IRIS_OK;
    args->m = (int64_t)g->m, args->n = (int64_t)g->n, args->k = (int64_t)g->k;
    args->c = g->c, args->b_transposed = g->transposed;
    for (int i = 0; i < g->sets && s == IRIS_OK; i++) {
        s = iris_gemm_release(w, &g->plan[i]);
        args->a = g->a[i], args->b = g->b[i];
        if (s == IRIS_OK)
            s = iris_gemm_prepare(w, &g->plan[i], IRIS_GEMM_ALL_SCATTER, IRIS_BF16, args);
    }
    return s;
}

/* The vendor's fastest algorithm for the own band at `c`, if it is `there`; p->best is -1 where some rank has none. */
static inline void gemm_operands_peer(bench *b, const gemm_operands *g, peer *p, int there, char *c, uint64_t ldc)
{
    const uint64_t ldb = g->transposed ? g->k : g->own.count;
    there = there && g->own.count > 0 &&
            peer_problem(p, IRIS_BF16, IRIS_BF16, g->m, g->own.count, g->k, (int64_t)g->k, (int64_t)ldb, (int64_t)ldc,
                         g->transposed) &&
            peer_choose(p, b->w, g->a[0], g->b[0], c);
    if (!bench_all_ok(b, there))
        p->best = -1;
}

/* Bytes that the start of the own band in C is a multiple of: what the vendor's algorithms are chosen for. */
static inline uint32_t gemm_operands_alignment(const gemm_operands *g)
{
    uint32_t bytes = 256;
    while (g->own.first * 2 % bytes != 0)
        bytes /= 2;
    return bytes;
}

/* 1 when sampled elements of the first set's product at `c` are right; `banded`: each rank's band is a matrix there. */
static inline int gemm_operands_right(iris_world *w, const gemm_operands *g, const char *c, int banded, uint32_t *flag,
                                      const char *who)
{
    gemm_product p;
    memset(&p, 0, sizeof p);
    p.c = c, p.dtype = p.c_dtype = IRIS_BF16, p.banded = banded;
    p.m = g->m, p.n = g->n, p.k = g->k, p.lda = g->k, p.ldb = g->transposed ? g->k : 0, p.ldc = g->n;
    p.seed_a = GEMM_SEED_A, p.seed_b = GEMM_SEED_B, p.world = (uint32_t)iris_world_size(w);
    p.transposed = g->transposed;
    return gemm_right(w, &p, flag, who);
}

#endif
