/* SPDX-License-Identifier: MIT */
/*
 * problem.h: a GEMM + AllScatter on a rank's heap, and what must come out, by the plain triple loop of oracle.h.
 *
 *   problem_shape problem_options
 *   problem_create problem_free problem_poison problem_launch problem_expect problem_check
 *   problem_by_patterns problem_by_loops
 *
 * Inputs are small multiples of 1/8, or whole numbers, so that every product and sum is exact in every accumulator:
 * whatever comes out without an activation must be the exact result, rounded once.
 */
#ifndef TESTS_GEMM_PROBLEM_H
#define TESTS_GEMM_PROBLEM_H

#include <cmath>
#include <cstring>
#include <vector>

#include <iris/gen/launch/gemm_all_scatter.h>

#include "harness.h"
#include "oracle.h"

struct problem_shape {
    int64_t m, n, k;
};

struct problem_options {
    const char *name;
    double alpha, beta;
    int bias;
    iris_activation activation;
    int b_transposed;
    int64_t pad_a, pad_b, pad_c; /* elements beyond each row */
    uint32_t tile_m, tile_n, workgroups, comm_workgroups;
    int real;  /* 1: inputs are any values in [-1, 1]; the result is checked within an error bound */
    int unit;  /* rows take multiples of so many elements before the padding; 0 and 1: no more than they need */
    int scales = 0; /* 1: one of A, of B and of C; 2: of each row of A and column of B, and of C */
    iris_dtype c_dtype = IRIS_DTYPE_NONE; /* none: as iris_gemm_prepare has it */
    int tf32 = 0, fast_accum = 0, a_transposed = 0;
    int gated = 0; /* 1: columns are pairs, and C has half of them */
};

/* Everything about one GEMM of one rank. */
struct problem {
    irist_rank *t;
    iris_dtype dtype, c_dtype, bias_dtype;
    problem_shape shape;
    problem_options options;
    iris_gemm_columns own;
    int64_t lda, ldb, ldc;
    char *a, *b, *c, *bias;
    float *scales; /* of A, of the own columns of B, of C */
    size_t c_bytes;
    iris_gemm_plan plan;
    oracle question; /* what it is asked; problem_expect makes one of it */
    std::vector<double> expect, bound; /* m x n */
};

/* The value at (row, col) of an input, exact in its type; of C the one that its band's owner has there. */
static inline double problem_input(const problem *p, oracle_matrix which, int64_t row, int64_t col)
{
    return oracle_input(&p->question, which, which == ORACLE_C ? oracle_owner(&p->question, 0, row, col) : 0, row, col);
}

/* A matrix of rows x cols with leading dimension ld; the rest is poison. */
static inline std::vector<unsigned char> problem_matrix(const problem *p, oracle_matrix which, int64_t rows,
                                                        int64_t cols, int64_t ld, int64_t row0, int64_t col0,
                                                        int transposed)
{
    const iris_dtype dtype = oracle_dtype(&p->question, which);
    const size_t size = iris_dtype_bytes(dtype);
    std::vector<unsigned char> bytes = irist_poisoned((size_t)(rows * ld) * size);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            element_set(dtype, &bytes[(size_t)(i * ld + j) * size],
                        transposed ? problem_input(p, which, row0 + j, col0 + i)
                                   : problem_input(p, which, row0 + i, col0 + j));
    return bytes;
}

/* Columns of C. */
static inline int64_t problem_columns(const problem *p) { return oracle_width(&p->question, p->shape.n); }

/* C before the operation: poison, but for the own band where beta reads it. Returns what was written. */
static inline std::vector<unsigned char> problem_poison(problem *p)
{
    const size_t size = iris_dtype_bytes(p->c_dtype);
    std::vector<unsigned char> bytes = irist_poisoned(p->c_bytes);
    if (p->options.beta != 0)
        for (int64_t i = 0; i < p->shape.m; i++)
            for (int64_t j = 0; j < (int64_t)p->own.count; j++)
                element_set(p->c_dtype, &bytes[(size_t)(i * p->ldc + p->own.first + j) * size],
                            problem_input(p, ORACLE_C, i, p->own.first + j));
    irist_upload(p->t, p->c, bytes);
    return bytes;
}

/* What matrix units lose of products and sums besides, as a part of all of them (iris_gemm_args). */
static inline double problem_units_lose(const problem *p)
{
    const bool cut = p->plan.mainloop == IRISI_GEMM_SM90A; /* f32 to tf32; elsewhere it is multiplied as it is */
    if (p->plan.mainloop == IRISI_GEMM_PLAIN || iris_dtype_bytes(p->dtype) == 2 || p->dtype == IRIS_I8 ||
        p->dtype == IRIS_F64 || (p->dtype == IRIS_F32 && !cut))
        return 0;
    return std::ldexp(1, p->dtype == IRIS_F32 ? -9 : cut && !p->options.fast_accum ? -11 : -8);
}

/* The triple loop. The bound is on what the accumulator's type may lose; rounding to C's type comes on top. */
static inline void problem_expect(problem *p)
{
    problem_shape s = p->shape;
    oracle o = p->question;
    s.n = problem_columns(p);
    o.units_lose = problem_units_lose(p);
    p->expect.assign((size_t)(s.m * s.n), 0);
    p->bound.assign((size_t)(s.m * s.n), 0);
    if (irist_check(p->t, oracle_create(&o) == 0, "there is no oracle"))
        for (int64_t i = 0; i < s.m * s.n; i++) {
            const int owner = oracle_owner(&o, 0, i / s.n, i % s.n);
            p->expect[(size_t)i] = oracle_expect(&o, owner, i / s.n, i % s.n, &p->bound[(size_t)i]);
        }
    oracle_free(&o);
}

/* A leading dimension before the padding. */
static inline int64_t problem_padded(const problem_options &options, int64_t elements)
{
    const int64_t unit = options.unit > 1 ? options.unit : 1;
    return (elements + unit - 1) / unit * unit;
}

/* The problem as iris_gemm_prepare is asked it. */
static inline iris_gemm_args problem_args(const problem *p)
{
    const problem_options &options = p->options;
    iris_gemm_args g = {};
    g.m = p->shape.m, g.n = p->shape.n, g.k = p->shape.k;
    g.a = p->a, g.b = p->b, g.c = p->c, g.bias = options.bias ? p->bias : nullptr;
    g.lda = p->lda, g.ldb = p->ldb, g.ldc = p->ldc, g.c_dtype = options.c_dtype, g.tf32 = options.tf32;
    g.fast_accum = options.fast_accum;
    if (options.scales) {
        g.scale_a = p->scales, g.scale_b = p->scales + p->shape.m, g.scale_c = g.scale_b + p->own.count;
        g.scale_a_rows = g.scale_b_columns = options.scales == 2;
    }
    g.alpha = options.alpha, g.beta = options.beta, g.activation = options.activation, g.gated = options.gated;
    g.a_transposed = options.a_transposed, g.b_transposed = options.b_transposed;
    g.tile_m = options.tile_m, g.tile_n = options.tile_n;
    g.workgroups = options.workgroups, g.comm_workgroups = options.comm_workgroups;
    return g;
}

/* A plan for the problem, by a row if one is given. */
static inline bool problem_plan(problem *p, int plain_mainloop, const char *tune = nullptr)
{
    iris_gemm_args g = problem_args(p);
    g.plain_mainloop = plain_mainloop, g.tune = tune;
    const bool made = irist_ok(p->t, iris_gemm_prepare(p->t->world, &p->plan, IRIS_GEMM_ALL_SCATTER, p->dtype, &g));
    const bool cut = made && p->dtype == IRIS_F32 && p->plan.mainloop == IRISI_GEMM_SM90A && !g.tf32;
    return irist_check(p->t, !cut, "f32 is cut to tf32 unasked") && made;
}

/* Types that are left open, as iris_gemm_args says they are chosen, and what the oracle is asked. */
static inline void problem_types(problem *p)
{
    const iris_dtype c = p->dtype == IRIS_I8 ? IRIS_I32 : iris_dtype_bytes(p->dtype) == 1 ? IRIS_BF16 : p->dtype;
    const problem_options &options = p->options;
    p->c_dtype = options.c_dtype ? options.c_dtype : c;
    p->bias_dtype = iris_dtype_bytes(p->c_dtype) == 1 ? IRIS_BF16 : p->c_dtype;
    p->question = oracle();
    p->question.op = ORACLE_ALL_SCATTER, p->question.world = p->t->ranks, p->question.seed = p->t->seed;
    p->question.m = p->shape.m, p->question.n = p->shape.n, p->question.k[0] = p->shape.k;
    p->question.dtype = p->dtype, p->question.c_dtype = p->c_dtype, p->question.bias_dtype = p->bias_dtype;
    p->question.alpha = options.alpha, p->question.beta = options.beta, p->question.bias = options.bias;
    p->question.scales = options.scales, p->question.activation = options.activation, p->question.real = options.real;
    p->question.swiglu = options.gated;
}

static inline void problem_upload_scales(problem *p)
{
    std::vector<float> v;
    for (int64_t i = 0; i < p->shape.m; i++)
        v.push_back((float)oracle_scale(&p->question, ORACLE_SCALE_A, 0, i));
    for (uint32_t j = 0; j < p->own.count; j++)
        v.push_back((float)oracle_scale(&p->question, ORACLE_SCALE_B, 0, p->own.first + j));
    v.push_back((float)oracle_scale(&p->question, ORACLE_SCALE_C, 0, 0));
    irist_ok(p->t, iris_memcpy(p->t->world, p->scales, v.data(), v.size() * sizeof v[0]));
}

/* Memory, inputs and a plan. The same allocations on every rank, whatever its band. */
static inline bool problem_create(problem *p, irist_rank *t, iris_dtype dtype, problem_shape shape,
                                  const problem_options &options, const char *tune = nullptr)
{
    const size_t size = iris_dtype_bytes(dtype);
    p->t = t, p->dtype = dtype, p->shape = shape, p->options = options;
    problem_types(p);
    p->own = iris_gemm_band((uint32_t)shape.n, (uint32_t)t->ranks, (uint32_t)t->rank);
    const int64_t widest = iris_gemm_band((uint32_t)shape.n, (uint32_t)t->ranks, 0).count;
    const int64_t a_rows = options.a_transposed ? shape.k : shape.m;
    const int64_t a_cols = options.a_transposed ? shape.m : shape.k;
    p->lda = problem_padded(options, a_cols) + options.pad_a;
    p->ldb = problem_padded(options, options.b_transposed ? shape.k : widest) + options.pad_b;
    p->ldc = problem_padded(options, problem_columns(p)) + options.pad_c;
    p->c_bytes = (size_t)(shape.m * p->ldc) * iris_dtype_bytes(p->c_dtype);
    p->a = (char *)iris_malloc(t->world, (size_t)(a_rows * p->lda) * size);
    p->b = (char *)iris_malloc(t->world, (size_t)((options.b_transposed ? widest : shape.k) * p->ldb) * size);
    p->c = (char *)iris_malloc(t->world, p->c_bytes);
    p->bias = (char *)iris_malloc(t->world, (size_t)widest * iris_dtype_bytes(p->bias_dtype));
    p->scales = (float *)iris_malloc(t->world, (size_t)(shape.m + widest + 1) * sizeof(float));
    if (!irist_check(t, p->a && p->b && p->c && p->bias && p->scales, "%s", iris_error_string(t->world)))
        return false;
    const int64_t b_rows = options.b_transposed ? p->own.count : shape.k;
    const int64_t b_cols = options.b_transposed ? shape.k : p->own.count;
    irist_upload(t, p->a, problem_matrix(p, ORACLE_A, a_rows, a_cols, p->lda, 0, 0, options.a_transposed));
    if (p->own.count > 0) {
        irist_upload(t, p->b, problem_matrix(p, ORACLE_B, b_rows, b_cols, p->ldb, 0, p->own.first,
                                             options.b_transposed));
        irist_upload(t, p->bias, problem_matrix(p, ORACLE_BIAS, 1, p->own.count, p->own.count, 0, p->own.first, 0));
    }
    problem_upload_scales(p);
    return problem_plan(p, 0, tune);
}

static inline void problem_free(problem *p)
{
    irist_ok(p->t, iris_gemm_release(p->t->world, &p->plan));
    irist_ok(p->t, iris_free(p->t->world, p->scales));
    irist_ok(p->t, iris_free(p->t->world, p->bias));
    irist_ok(p->t, iris_free(p->t->world, p->c));
    irist_ok(p->t, iris_free(p->t->world, p->b));
    irist_ok(p->t, iris_free(p->t->world, p->a));
}

typedef iris_status (*problem_launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

/* The launcher of a pattern; IRIS_GEMM_AUTO is the one that chooses. */
problem_launcher problem_launcher_of(const problem *p, int pattern);

/* A pattern of its own, for tests: fused_sequential by puts, where the plan would have it send packets. */
enum { PROBLEM_BY_PUTS = IRIS_GEMM_PATTERNS };

static inline bool problem_launch(problem *p, int pattern)
{
    iris_gemm_plan plan = p->plan;
    if (pattern == PROBLEM_BY_PUTS)
        pattern = IRIS_GEMM_FUSED_SEQUENTIAL, std::memset(&plan.exchange.ll, 0, sizeof plan.exchange.ll);
    return irist_ok(p->t, problem_launcher_of(p, pattern)(p->t->world, &plan, iris_default_stream(p->t->world)));
}

/* Every element of C, and every byte between its rows. `before` is what problem_poison wrote. */
static inline bool problem_check(problem *p, const std::vector<unsigned char> &before, const char *what)
{
    const size_t size = iris_dtype_bytes(p->c_dtype);
    const int64_t columns = problem_columns(p);
    const std::vector<unsigned char> got = irist_download(p->t, p->c, p->c_bytes);
    for (int64_t i = 0; i < p->shape.m; i++) {
        for (int64_t j = 0; j < columns; j++) {
            const double v = element_get(p->c_dtype, &got[(size_t)(i * p->ldc + j) * size]);
            const double want = p->expect[(size_t)(i * columns + j)];
            const double slack = p->bound[(size_t)(i * columns + j)];
            if (!irist_check(p->t, std::fabs(v - want) <= slack + element_half_unit(p->c_dtype, want),
                             "%s %s %s %lldx%lldx%lld, %s: C[%lld][%lld] is %.17g, expected %.17g", what,
                             iris_dtype_name(p->dtype), iris_dtype_name(p->c_dtype), (long long)p->shape.m,
                             (long long)p->shape.n, (long long)p->shape.k, p->options.name, (long long)i, (long long)j,
                             v, want))
                return false;
        }
        const size_t from = (size_t)(i * p->ldc + columns) * size;
        const size_t to = (size_t)((i + 1) * p->ldc) * size;
        if (!irist_check(p->t, to <= from || std::memcmp(&got[from], &before[from], to - from) == 0,
                         "%s %s, %s: row %lld was written beyond its end", what, iris_dtype_name(p->dtype),
                         p->options.name, (long long)i))
            return false;
    }
    return true;
}

/* Runs a plan by every pattern, so many times, each on poisoned memory; the problem knows what to expect. */
static inline void problem_by_patterns(problem *p, int laps)
{
    const int patterns = IRIS_GEMM_PATTERNS + (p->plan.exchange.ll.banks != nullptr);
    for (int lap = 0; lap < laps * patterns; lap++) {
        const int pattern = lap % patterns;
        const std::vector<unsigned char> before = problem_poison(p);
        problem_launch(p, pattern);
        irist_ok(p->t, iris_synchronize(p->t->world));
        problem_check(p, before, iris_gemm_pattern_name((iris_gemm_pattern)pattern));
    }
}

/* By what the library chooses; where that is the loop for few rows, by what it would choose without it too. */
static inline void problem_by_loops(problem *p, int laps)
{
    problem_by_patterns(p, laps);
    if (!irisi_gemm_loop_is(p->plan.mainloop, IRISI_GEMM_LOOPS_SKINNY))
        return;
    irist_ok(p->t, iris_gemm_release(p->t->world, &p->plan));
    if (problem_plan(p, 0, "skinny=0")) {
        irist_check(p->t, !irisi_gemm_loop_is(p->plan.mainloop, IRISI_GEMM_LOOPS_SKINNY), "skinny=0 is not obeyed");
        problem_by_patterns(p, laps);
    }
}

#endif
