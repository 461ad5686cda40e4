/* SPDX-License-Identifier: MIT */
/*
 * gemm_operands.h: the operands of a GEMM of bf16 with communication, plans for them, and a check of C.
 *
 *   gemm_fused gemm_fused_names gemm_operands gemm_operands_deal gemm_operands_create gemm_operands_free
 *   gemm_operands_plan gemm_operands_peer gemm_operands_alignment gemm_operands_right gemm_operands_own_right
 *
 * What a rank has of m, n and k, and the product that it computes:
 *
 *                    A           B             C              product
 *   all_scatter      all         own columns   all            m x own columns x k
 *   reduce_scatter   own k       own k         own rows       m x n x own k
 *   all_reduce       own k       own k         all            m x n x own k
 *   all_gather       own rows    own columns   own columns    m x own columns x k
 *
 * B and C are dealt out by columns as iris_gemm_band does it, rows and k by gemm_part. all_reduce_rmsnorm is as
 * all_reduce, with a residual, weights and norms (`out`), of which every rank has all.
 */
#ifndef IRIS_BENCH_GEMM_OPERANDS_H
#define IRIS_BENCH_GEMM_OPERANDS_H

#include "bench.h"
#include "gemm_inputs.h"
#include "peer_cublaslt.h"

typedef enum gemm_fused {
    GEMM_ALL_SCATTER,
    GEMM_REDUCE_SCATTER,
    GEMM_ALL_REDUCE,
    GEMM_ALL_GATHER,
    GEMM_ALL_REDUCE_RMSNORM,
    GEMM_FUSED /* how many there are */
} gemm_fused;
static const char *const gemm_fused_names[] = {"all_scatter", "reduce_scatter", "all_reduce", "all_gather",
                                               "all_reduce_rmsnorm"};

enum { GEMM_SETS = 2, GEMM_MOST_SETS = 32, GEMM_SEED_A = 1, GEMM_SEED_B = 100 };
enum { GEMM_SEED_RESIDUAL = 50, GEMM_SEED_WEIGHT };
#define GEMM_EPSILON 1e-5f

/* One shape on one rank: op, m, n, k, transposed (B is n x k) and most_sets are given, the rest is made. */
typedef struct gemm_operands {
    gemm_fused op; /* default all_scatter */
    uint64_t m, n, k;
    int transposed;
    int most_sets;         /* default GEMM_SETS */
    iris_gemm_columns own; /* this rank's columns */
    gemm_range rows, depth; /* its rows, its part of k */
    uint64_t product_n, product_k; /* what it computes is m x product_n x product_k */
    uint64_t c_rows, c_columns;    /* of its C */
    uint64_t a_count, b_count, c_count; /* elements that the widest part has */
    int sets; /* of A and B; as many as it takes for no cache to hold them */
    char *a[GEMM_MOST_SETS], *b[GEMM_MOST_SETS], *c;
    char *residual, *weight, *out; /* of all_reduce_rmsnorm, else null */
    iris_gemm_plan plan[GEMM_MOST_SETS];
} gemm_operands;

static inline int gemm_reduces_all(const gemm_operands *g)
{
    return g->op == GEMM_ALL_REDUCE || g->op == GEMM_ALL_REDUCE_RMSNORM;
}
static inline int gemm_splits_k(const gemm_operands *g) { return g->op == GEMM_REDUCE_SCATTER || gemm_reduces_all(g); }

/* Who has what, on rank `rank`. */
static inline void gemm_operands_deal(gemm_operands *g, uint32_t world, uint32_t rank)
{
    enum { COLD = 200 << 20 }; /* bytes; several times what a cache holds */
    const uint64_t most_rows = gemm_part(g->m, world, 0).count, most_depth = gemm_part(g->k, world, 0).count;
    const uint64_t most_columns = iris_gemm_band((uint32_t)g->n, world, 0).count;
    const int gathers = g->op == GEMM_ALL_GATHER, by_rows = g->op == GEMM_REDUCE_SCATTER, split = gemm_splits_k(g);
    const int most_sets = g->most_sets ? g->most_sets : GEMM_SETS;
    g->own = iris_gemm_band((uint32_t)g->n, world, rank);
    g->rows = gemm_part(g->m, world, rank), g->depth = gemm_part(g->k, world, rank);
    g->product_n = split ? g->n : g->own.count, g->product_k = split ? g->depth.count : g->k;
    g->c_rows = by_rows ? g->rows.count : g->m, g->c_columns = gathers ? g->own.count : g->n;
    g->a_count = (gathers ? most_rows : g->m) * (split ? most_depth : g->k);
    g->b_count = (split ? most_depth : g->k) * (split ? g->n : most_columns);
    g->c_count = (by_rows ? most_rows : g->m) * (gathers ? most_columns : g->n);
    const uint64_t read = 2 * (g->m * (split ? most_depth : g->k) + g->b_count); /* by the product */
    for (g->sets = 1; g->sets < most_sets && (uint64_t)g->sets * read < COLD; g->sets++)
        continue;
}

/* Seeds of the first set: those of the next are GEMM_SEED_A + 1, GEMM_SEED_B * 2, and so on. */
static inline uint64_t gemm_seed_a(const gemm_operands *g, uint32_t rank)
{
    return GEMM_SEED_A + (g->op == GEMM_ALL_SCATTER ? 0 : gemm_seed_of(rank));
}

/* Memory, and random A and B. 0, or 1 with a sentence on stderr. */
static inline int gemm_operands_create(iris_world *w, gemm_operands *g)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    gemm_operands_deal(g, world, rank);
    const uint64_t a = (g->op == GEMM_ALL_GATHER ? g->rows.count : g->m) * g->product_k;
    g->c = (char *)iris_malloc(w, g->c_count * 2);
    for (uint64_t i = 0; i < (uint64_t)g->sets; i++) {
        g->a[i] = (char *)iris_malloc(w, g->a_count * 2);
        g->b[i] = (char *)iris_malloc(w, g->b_count * 2);
        if (!g->c || !g->a[i] || !g->b[i])
            return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
        IRIS_TRY(gemm_fill(w, IRIS_BF16, g->a[i], a, gemm_seed_a(g, rank) + i));
        IRIS_TRY(gemm_fill(w, IRIS_BF16, g->b[i], g->product_k * g->product_n, GEMM_SEED_B * (i + 1) + rank));
    }
    if (g->op != GEMM_ALL_REDUCE_RMSNORM)
        return 0;
    g->residual = (char *)iris_malloc(w, g->c_count * 2);
    g->weight = (char *)iris_malloc(w, g->n * 2);
    g->out = (char *)iris_malloc(w, g->c_count * 2);
    if (!g->residual || !g->weight || !g->out)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    IRIS_TRY(gemm_fill(w, IRIS_BF16, g->residual, g->c_count, GEMM_SEED_RESIDUAL));
    IRIS_TRY(gemm_fill(w, IRIS_BF16, g->weight, g->n, GEMM_SEED_WEIGHT));
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
    IRIS_TRY(iris_free(w, g->out));
    IRIS_TRY(iris_free(w, g->weight));
    IRIS_TRY(iris_free(w, g->residual));
    IRIS_TRY(iris_free(w, g->c));
    return 0;
}

/* Makes a plan of these arguments: iris_gemm_prepare for one operation and bf16. */
typedef iris_status (*gemm_prepare)(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args);

static inline iris_status gemm_prepare_all_scatter(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_ALL_SCATTER, IRIS_BF16, args);
}
static inline iris_status gemm_prepare_reduce_scatter(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_REDUCE_SCATTER, IRIS_BF16, args);
}
static inline iris_status gemm_prepare_all_reduce(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_ALL_REDUCE, IRIS_BF16, args);
}
static inline iris_status gemm_prepare_all_gather(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_ALL_GATHER, IRIS_BF16, args);
}
static inline iris_status gemm_prepare_all_reduce_rmsnorm(iris_world *w, iris_gemm_plan *plan,
                                                          const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_BF16, args);
}

/* A plan for each set, as `args` has it but for operands and shape: the operation's, k being this rank's own. */
static inline iris_status gemm_operands_plan(iris_world *w, gemm_operands *g, gemm_prepare prepare,
                                             iris_gemm_args *args)
{
    iris_status s = IRIS_OK;
    args->m = (int64_t)g->m, args->n = (int64_t)g->n, args->k = (int64_t)g->product_k;
    args->c = g->c, args->b_transposed = g->transposed;
    if (g->op == GEMM_ALL_REDUCE_RMSNORM) {
        args->beta = 1, args->residual = g->residual, args->weight = g->weight, args->out = g->out;
        args->epsilon = GEMM_EPSILON;
    }
    for (int i = 0; i < g->sets && s == IRIS_OK; i++) {
        s = iris_gemm_release(w, &g->plan[i]);
        args->a = g->a[i], args->b = g->b[i];
        if (s == IRIS_OK)
            s = prepare(w, &g->plan[i], args);
    }
    return s;
}

/*
 * The vendor's fastest algorithm for this rank's product at `c`, but for those of which a bit is set in `wrong`; -1
 * where there is no vendor or none is left. `a`: what the product reads, for each set. Not collective.
 */
static inline int gemm_operands_algorithm(iris_world *w, const gemm_operands *g, peer *p, char *const *a, char *c,
                                          uint64_t ldc, uint32_t wrong)
{
    peer_inputs in = {a, g->b, g->sets, c, NULL, NULL};
    const uint64_t ldb = g->transposed ? g->product_k : g->product_n;
    p->best = -1;
    if (g->product_n > 0 && g->product_k > 0 && iris_event_create(w, &in.begin) == IRIS_OK &&
        iris_event_create(w, &in.end) == IRIS_OK &&
        peer_problem(p, IRIS_BF16, IRIS_BF16, g->m, g->product_n, g->product_k, (int64_t)g->product_k, (int64_t)ldb,
                     (int64_t)ldc, g->transposed))
        (void)peer_choose(p, w, &in, wrong);
    iris_event_destroy(w, in.begin);
    iris_event_destroy(w, in.end);
    return p->best;
}

/* The same if it is `there`, with -1 on every rank where some rank has none. Collective. */
static inline void gemm_operands_peer(bench *b, const gemm_operands *g, peer *p, int there, char *c, uint64_t ldc)
{
    if (!iris_bench_all_ok(b->w, there && gemm_operands_algorithm(b->w, g, p, g->a, c, ldc, 0) >= 0))
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

/* The whole product of the first set, for gemm_right. */
static inline gemm_product gemm_operands_product(iris_world *w, const gemm_operands *g, const char *c)
{
    const uint32_t world = (uint32_t)iris_world_size(w);
    gemm_product p;
    memset(&p, 0, sizeof p);
    p.c = c, p.dtype = p.c_dtype = IRIS_BF16;
    p.m = g->m, p.n = g->n, p.k = g->k, p.lda = g->k, p.ldb = g->transposed ? g->k : 0, p.ldc = g->c_columns;
    p.seed_a = GEMM_SEED_A, p.seed_b = GEMM_SEED_B, p.world = world, p.transposed = g->transposed;
    p.depths = gemm_splits_k(g) ? world : 0, p.shards = g->op == GEMM_ALL_GATHER ? world : 0;
    if (p.depths)
        p.ldb = 0; /* of each part its own */
    if (g->op == GEMM_ALL_REDUCE_RMSNORM)
        p.seed_residual = GEMM_SEED_RESIDUAL;
    if (g->op == GEMM_REDUCE_SCATTER)
        p.rows = g->rows;
    if (g->op == GEMM_ALL_GATHER)
        p.columns.first = g->own.first, p.columns.count = g->own.count;
    return p;
}

/* 1 when sampled elements of the first set's C at `c` are right; `banded`: each rank's band is a matrix there. */
static inline int gemm_operands_right(iris_world *w, const gemm_operands *g, const char *c, int banded, int hops,
                                      uint32_t *flag, const char *who)
{
    gemm_product p = gemm_operands_product(w, g, c);
    p.banded = banded, p.hops = hops;
    return g->c_rows == 0 || g->c_columns == 0 || gemm_right(w, &p, flag, who);
}

/* 1 when sampled elements of what this rank computes, m x product_n at `c`, are right. */
static inline int gemm_operands_own_right(iris_world *w, const gemm_operands *g, const char *c, uint32_t *flag,
                                          const char *who)
{
    gemm_product p = gemm_operands_product(w, g, c);
    memset(&p.rows, 0, sizeof p.rows);
    memset(&p.columns, 0, sizeof p.columns);
    p.n = p.ldc = g->product_n, p.k = p.lda = g->product_k, p.world = 1, p.depths = 0, p.ldb = 0;
    p.seed_residual = 0;
    p.seed_b += (uint32_t)iris_rank(w);
    if (gemm_splits_k(g))
        p.seed_a = gemm_seed_a(g, (uint32_t)iris_rank(w));
    return g->product_n == 0 || gemm_right(w, &p, flag, who);
}

#endif
