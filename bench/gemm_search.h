/* SPDX-License-Identifier: MIT */
/*
 * gemm_search.h: how GEMM + AllScatter of bf16 is computed best on this machine, for one shape after the other: rows
 * for IRIS_TUNE. A part of iris_tune.c, which includes the launcher first.
 *
 *   gemm_search_options gemm_search gemm_search_open gemm_search_shape gemm_search_bytes
 *
 * For each shape: the model's choice; then of every pattern the candidates that iris_gemm_candidates proposes, until
 * they are far behind; the caller's BLAS where there is one (peer_cublaslt.h). The best few are timed again, longer.
 * Every C is checked on every rank, at sampled elements, before it is timed.
 */
#ifndef IRIS_BENCH_GEMM_SEARCH_H
#define IRIS_BENCH_GEMM_SEARCH_H

#include "gemm_operands.h"

enum { GEMM_CANDIDATES = 32, GEMM_TRIES = 8 * GEMM_CANDIDATES, GEMM_FINALISTS = 3 };

/* How to search. */
typedef struct gemm_search_options {
    bench_options bench, few; /* the second for the first look at a candidate */
    int candidates;           /* of a pattern */
    int transposed;           /* 1: B is n x k */
    double behind; /* a pattern is given up when its best two are so many times slower than the best of all */
} gemm_search_options;

/* What was tried, and how long it took. */
typedef struct attempt {
    char row[IRIS_GEMM_TUNE_ROW];
    double us;
} attempt;

/* One shape on one rank. */
typedef struct gemm_search {
    bench *b;
    const gemm_search_options *o;
    gemm_operands g;
    uint32_t *flag;
    peer vendor;
    attempt tried[GEMM_TRIES];
    int n_tried;
} gemm_search;

static iris_status gemm_search_submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    gemm_search *j = (gemm_search *)arg;
    return iris_gemm_all_scatter_bf16(w, &j->g.plan[turn % j->g.sets], stream);
}

/* Plans for a row, one for each set of operands; 0 on every rank when it is refused. */
static int gemm_search_plan(gemm_search *j, const char *row)
{
    iris_gemm_args args;
    memset(&args, 0, sizeof args);
    args.tune = row;
    if (j->vendor.best >= 0)
        args.blas = peer_blas, args.blas_arg = &j->vendor;
    const iris_status s = gemm_operands_plan(j->b->w, &j->g, gemm_prepare_all_scatter, &args);
    if (s != IRIS_OK && iris_rank(j->b->w) == 0)
        fprintf(stderr, "%s: %s\n", row, iris_error_string(j->b->w));
    return s == IRIS_OK;
}

/* Poisons C, runs the plan once, and looks at C. Collective. */
static int gemm_search_checked(gemm_search *j, const char *who)
{
    iris_world *w = j->b->w;
    int ok = iris_memset(w, j->g.c, 0xff, j->g.m * j->g.n * 2) == IRIS_OK;
    ok = iris_barrier(w) == IRIS_OK && ok; /* nobody writes before all have poisoned */
    ok = gemm_search_submit(w, j, iris_default_stream(w), 0) == IRIS_OK && iris_synchronize(w) == IRIS_OK && ok;
    if (!ok)
        fprintf(stderr, "rank %d, %s: %s\n", iris_rank(w), who, iris_error_string(w));
    return iris_bench_all_ok(j->b->w, ok && gemm_operands_right(w, &j->g, j->g.c, 0, 0, j->flag, who));
}

/* The plan's row without the problem, and what to call it. */
static const char *gemm_choice_of(const char *row)
{
    const char *from = strstr(row, "pattern=");
    return from ? from : row;
}

/* Tries a row: 1 when it was timed, 0 when it was refused or tried before, -1 when the run cannot go on. */
static int gemm_try_row(gemm_search *j, const char *row, const bench_options *how, const char *shape)
{
    char what[80 + IRIS_GEMM_TUNE_ROW];
    iris_bench_row r;
    iris_gemm_row became;
    if (j->n_tried == GEMM_TRIES)
        return 0;
    if (!gemm_search_plan(j, row)) /* another one is still needed to ask for candidates */
        return gemm_search_plan(j, "model") ? 0 : -1;
    if (iris_gemm_choice(j->b->w, &j->g.plan[0], &became) != IRIS_OK)
        return -1;
    attempt *t = &j->tried[j->n_tried];
    for (int i = 0; i < j->n_tried && how == &j->o->few; i++)
        if (strcmp(j->tried[i].row, became.text) == 0)
            return 0;
    memset(&r, 0, sizeof r);
    j->b->o = how;
    r.ok = gemm_search_checked(j, became.text);
    snprintf(what, sizeof what, "%s %s", shape, gemm_choice_of(became.text));
    r.us = r.ok ? bench_time(j->b, what, gemm_search_submit, j) : 0;
    j->b->o = &j->o->bench;
    if (r.us < 0)
        return -1;
    snprintf(t->row, sizeof t->row, "%s", became.text);
    t->us = r.us;
    r.name = shape, r.dtype = "bf16", r.variant = gemm_choice_of(t->row);
    r.bytes = (size_t)(j->g.m * j->g.own.count * 2) * (size_t)(iris_world_size(j->b->w) - 1);
    r.workgroups = (int)j->g.plan[0].machine.workgroups,
    r.lanes = (int)(j->g.plan[0].machine.waves * j->g.plan[0].machine.wave_lanes);
    iris_bench_put(&j->b->file, &r);
    j->n_tried += r.ok;
    return r.ok;
}

/* The fastest row from the first-th to before the end-th that took longer than `above`; `own`: not by BLAS. Or null. */
static const attempt *gemm_search_fastest(const gemm_search *j, int first, int end, double above, int own)
{
    const attempt *best = NULL;
    for (int i = first; i < end; i++)
        if (j->tried[i].us > above && (best == NULL || j->tried[i].us < best->us) &&
            !(own && strstr(j->tried[i].row, "pattern=blas_gather")))
            best = &j->tried[i];
    return best;
}

/* The candidates of one pattern. */
static int gemm_try_pattern(gemm_search *j, iris_gemm_pattern pattern, const char *shape)
{
    iris_gemm_row rows[GEMM_CANDIDATES];
    const int first = j->n_tried;
    const uint32_t n = iris_gemm_candidates(j->b->w, &j->g.plan[0], pattern, rows, (uint32_t)j->o->candidates);
    for (uint32_t i = 0; i < n && !iris_bench_late(&j->b->file); i++) {
        if (gemm_try_row(j, rows[i].text, &j->o->few, shape) < 0)
            return -1;
        const attempt *own = gemm_search_fastest(j, first, j->n_tried, 0, 0);
        const attempt *best = gemm_search_fastest(j, 0, j->n_tried, 0, 0);
        if (j->n_tried - first >= 2 && own->us > j->o->behind * best->us)
            break;
    }
    return 0;
}

static int gemm_search_prepare(gemm_search *j)
{
    j->n_tried = 0;
    if (gemm_operands_create(j->b->w, &j->g))
        return 1;
    j->vendor.c_alignment = gemm_operands_alignment(&j->g);
    gemm_operands_peer(j->b, &j->g, &j->vendor, j->vendor.algorithms >= 0, j->g.c + 2 * j->g.own.first, j->g.n);
    return 0;
}

/* Times the best few again, and writes the best one's row; before it BLAS's, which counts only where there is one. */
static int gemm_search_conclude(gemm_search *j, FILE *table, const char *shape, double model)
{
    const int first = j->n_tried;
    const attempt *next = gemm_search_fastest(j, 0, first, 0, 0);
    for (int i = 0; i < GEMM_FINALISTS && next != NULL; i++, next = gemm_search_fastest(j, 0, first, next->us, 0))
        if (gemm_try_row(j, next->row, &j->o->bench, shape) < 0)
            return 1;
    const attempt *best = gemm_search_fastest(j, first, j->n_tried, 0, 0);
    const attempt *own = gemm_search_fastest(j, first, j->n_tried, 0, 1);
    if (own == NULL)
        own = gemm_search_fastest(j, 0, first, 0, 1);
    if (iris_rank(j->b->w) != 0 || best == NULL)
        return 0;
    printf("%s: %.1f us by %s; the model's choice %.1f us\n", shape, best->us, gemm_choice_of(best->row), model);
    if (best != own)
        fprintf(table, "%s us=%.1f\n", best->row, best->us);
    if (own != NULL)
        fprintf(table, "%s us=%.1f\n", own->row, own->us);
    fflush(table); /* what it could not write the file itself knows */
    return 0;
}

/* Searches for one shape, and writes its rows into rank 0's table. 0, or 1 when the run cannot go on. Collective. */
static int gemm_search_shape(gemm_search *j, const long *mnk, FILE *table)
{
    char shape[64];
    j->g.m = (uint64_t)mnk[0], j->g.n = (uint64_t)mnk[1], j->g.k = (uint64_t)mnk[2];
    snprintf(shape, sizeof shape, "%ldx%ldx%ld", mnk[0], mnk[1], mnk[2]);
    if (gemm_search_prepare(j) || gemm_try_row(j, "model", &j->o->few, shape) < 0)
        return 1;
    const double model = j->n_tried ? j->tried[0].us : 0;
    for (int p = 1; p < IRIS_GEMM_PATTERNS; p++)
        if (gemm_try_pattern(j, (iris_gemm_pattern)p, shape) < 0)
            return 1;
    if (j->vendor.best >= 0 && gemm_try_row(j, "pattern=blas_gather", &j->o->few, shape) < 0)
        return 1;
    if (j->b->file.cut) /* a winner among some is none */
        return gemm_operands_free(j->b->w, &j->g);
    return gemm_search_conclude(j, table, shape, model) || gemm_operands_free(j->b->w, &j->g);
}

/* Begins a search; the options live as long as it. Null: there is no memory. Collective. */
static gemm_search *gemm_search_open(bench *b, const gemm_search_options *o)
{
    gemm_search *j = (gemm_search *)calloc(1, sizeof *j);
    if (!iris_bench_all_ok(b->w, j != NULL)) {
        free(j);
        return NULL;
    }
    j->b = b, j->o = o, j->g.transposed = o->transposed;
    j->flag = (uint32_t *)iris_malloc(b->w, sizeof *j->flag);
    j->vendor.algorithms = peer_open(&j->vendor) ? 0 : -1;
    return j;
}

/* Bytes of heap that a shape takes on each of so many ranks. */
static uint64_t gemm_search_bytes(const long *mnk, uint32_t ranks)
{
    const uint64_t m = (uint64_t)mnk[0], n = (uint64_t)mnk[1], k = (uint64_t)mnk[2];
    return 2 * (m * n + GEMM_SETS * k * (m + iris_gemm_band((uint32_t)n, ranks, 0).count));
}

#endif
