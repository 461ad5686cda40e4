/* SPDX-License-Identifier: MIT */
/*
 * problem.h: a GEMM on a rank's heap, and the plain triple loop that says what must come out.
 *
 *   element                    one value of a dtype
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
    int tf32 = 0, fast_accum = 0;
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
    std::vector<double> expect, bound; /* m x n */
};

/* One element of a dtype, as a double and back (rounded once: v is exact in f32 wherever that matters). */
static inline double element_get(iris_dtype dtype, const unsigned char *p)
{
    union {
        iris_f16 h;
        iris_bf16 b;
        float f;
        double d;
        int8_t i;
        int32_t n;
        iris_f8e4m3 e4;
        iris_f8e5m2 e5;
        iris_f8e4m3fnuz e4z;
        iris_f8e5m2fnuz e5z;
    } v;
    v.d = 0;
    std::memcpy(&v, p, iris_dtype_bytes(dtype));
    switch (dtype) {
    case IRIS_F16: return (double)iris_widen_f16(v.h);
    case IRIS_BF16: return (double)iris_widen_bf16(v.b);
    case IRIS_F32: return (double)v.f;
    case IRIS_I8: return v.i;
    case IRIS_I32: return v.n;
    case IRIS_F8E4M3: return (double)iris_widen_f8e4m3(v.e4);
    case IRIS_F8E5M2: return (double)iris_widen_f8e5m2(v.e5);
    case IRIS_F8E4M3FNUZ: return (double)iris_widen_f8e4m3fnuz(v.e4z);
    case IRIS_F8E5M2FNUZ: return (double)iris_widen_f8e5m2fnuz(v.e5z);
    default: return v.d;
    }
}

static inline void element_set(iris_dtype dtype, unsigned char *p, double v)
{
    const float f = (float)v;
    const iris_f16 h = iris_narrow_f16(f);
    const iris_bf16 b = iris_narrow_bf16(f);
    const int8_t i = irisi_round_i8(f);
    const int32_t n = irisi_round_i32(v);
    const iris_f8e4m3 e4 = iris_narrow_f8e4m3(f);
    const iris_f8e5m2 e5 = iris_narrow_f8e5m2(f);
    const iris_f8e4m3fnuz e4z = iris_narrow_f8e4m3fnuz(f);
    const iris_f8e5m2fnuz e5z = iris_narrow_f8e5m2fnuz(f);
    const void *from;
    switch (dtype) {
    case IRIS_F16: from = &h; break;
    case IRIS_BF16: from = &b; break;
    case IRIS_F32: from = &f; break;
    case IRIS_I8: from = &i; break;
    case IRIS_I32: from = &n; break;
    case IRIS_F8E4M3: from = &e4; break;
    case IRIS_F8E5M2: from = &e5; break;
    case IRIS_F8E4M3FNUZ: from = &e4z; break;
    case IRIS_F8E5M2FNUZ: from = &e5z; break;
    default: from = &v; break;
    }
    std::memcpy(p, from, iris_dtype_bytes(dtype));
}

static inline bool element_whole(iris_dtype dtype) { return dtype == IRIS_I8 || dtype == IRIS_I32; }

enum { INPUT_A = 11, INPUT_B, INPUT_C, INPUT_BIAS, INPUT_SCALE_A, INPUT_SCALE_B, INPUT_SCALE_C };

static inline iris_dtype problem_dtype(const problem *p, uint64_t which)
{
    return which == INPUT_C ? p->c_dtype : which == INPUT_BIAS ? p->bias_dtype : p->dtype;
}

/* The value at (row, col) of input `which`, the same on every rank and exact in the dtype. */
static inline double problem_input(const problem *p, uint64_t which, int64_t row, int64_t col)
{
    const uint64_t bits = irist_random(p->t->seed, which, (uint64_t)row * 1000003u + (uint64_t)col);
    const iris_dtype dtype = problem_dtype(p, which);
    if (!p->options.real)
        return ((double)(bits >> 40) - (double)((bits >> 40) / 17 * 17) - 8) / (element_whole(dtype) ? 1 : 8);
    unsigned char rounded[8];
    element_set(dtype, rounded, ((double)(bits >> 11) / 9007199254740992.0 * 2 - 1) * (element_whole(dtype) ? 128 : 1));
    return element_get(dtype, rounded);
}

/* A scale: a power of 2, or any positive number where inputs are any. */
static inline double problem_scale(const problem *p, uint64_t which, int64_t i)
{
    const uint64_t bits = irist_random(p->t->seed, which, p->options.scales == 2 ? (uint64_t)i : 0);
    if (p->options.scales == 0)
        return 1;
    if (p->options.real)
        return (double)(float)(0.25 + (double)(bits >> 40) / 16777216.0);
    return std::ldexp(1, (int)(bits >> 40) % 3 - 1);
}

/* A matrix of rows x cols with leading dimension ld; the rest is poison. */
static inline std::vector<unsigned char> problem_matrix(const problem *p, uint64_t which, int64_t rows, int64_t cols,
                                                        int64_t ld, int64_t row0, int64_t col0, int transposed)
{
    const iris_dtype dtype = problem_dtype(p, which);
    const size_t size = iris_dtype_bytes(dtype);
    std::vector<unsigned char> bytes = irist_poisoned((size_t)(rows * ld) * size);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            element_set(dtype, &bytes[(size_t)(i * ld + j) * size],
                        transposed ? problem_input(p, which, row0 + j, col0 + i)
                                   : problem_input(p, which, row0 + i, col0 + j));
    return bytes;
}

/* C before the operation: poison, but for the own band where beta reads it. Returns what was written. */
static inline std::vector<unsigned char> problem_poison(problem *p)
{
    const size_t size = iris_dtype_bytes(p->c_dtype);
    std::vector<unsigned char> bytes = irist_poisoned(p->c_bytes);
    if (p->options.beta != 0)
        for (int64_t i = 0; i < p->shape.m; i++)
            for (int64_t j = 0; j < (int64_t)p->own.count; j++)
                element_set(p->c_dtype, &bytes[(size_t)(i * p->ldc + p->own.first + j) * size],
                            problem_input(p, INPUT_C, i, p->own.first + j));
    irist_upload(p->t, p->c, bytes);
    return bytes;
}

static inline double problem_activate(iris_activation activation, double x)
{
    switch (activation) {
    case IRIS_ACTIVATION_RELU: return x > 0 ? x : 0;
    case IRIS_ACTIVATION_GELU: return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case IRIS_ACTIVATION_SILU: return x / (1 + std::exp(-x));
    default: return x;
    }
}

/* Half a unit in the last place of a value of a dtype; none of a whole number that is one. */
static inline double problem_half_unit(iris_dtype dtype, double v)
{
    static const int digits[][3] = {{IRIS_F16, 11, -24},   {IRIS_BF16, 8, -133}, {IRIS_F32, 24, -149},
                                    {IRIS_F64, 53, -1074}, {IRIS_F8E4M3, 4, -9}};
    if (element_whole(dtype))
        return v == std::floor(v) ? 0 : 0.5;
    for (const int *row : digits) {
        const int last = v == 0 ? row[2] : std::ilogb(v) - row[1] + 1;
        if (row[0] == dtype)
            return std::ldexp(0.5, last > row[2] ? last : row[2]);
    }
    return 0;
}

/* A value within what a dtype can hold, where the library cuts what is beyond. */
static inline double problem_cut(iris_dtype dtype, double v)
{
    const double high = dtype == IRIS_I8 ? 127 : dtype == IRIS_I32 ? 2147483647 : dtype == IRIS_F8E4M3 ? 448 : HUGE_VAL;
    const double low = element_whole(dtype) ? -high - 1 : -high;
    return v > high ? high : v < low ? low : v;
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

/* The triple loop. The bound is on what the accumulator's type may lose; rounding to the dtype comes on top. */
static inline void problem_expect(problem *p)
{
    const problem_shape s = p->shape;
    const problem_options &o = p->options;
    const bool wide = p->c_dtype == IRIS_F64 || p->c_dtype == IRIS_I32;
    const double unit = std::ldexp(1, wide ? -53 : -24);
    const double alpha = o.alpha == 0 ? 1 : o.alpha;
    std::vector<double> a((size_t)(s.m * s.k)), b((size_t)(s.k * s.n));
    for (int64_t i = 0; i < s.m * s.k; i++)
        a[(size_t)i] = problem_input(p, INPUT_A, i / s.k, i % s.k);
    for (int64_t i = 0; i < s.k * s.n; i++)
        b[(size_t)i] = problem_input(p, INPUT_B, i / s.n, i % s.n);
    p->expect.assign((size_t)(s.m * s.n), 0);
    p->bound.assign((size_t)(s.m * s.n), 0);
    for (int64_t i = 0; i < s.m; i++)
        for (int64_t j = 0; j < s.n; j++) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < s.k; k++) {
                sum += a[(size_t)(i * s.k + k)] * b[(size_t)(k * s.n + j)];
                size += std::fabs(a[(size_t)(i * s.k + k)] * b[(size_t)(k * s.n + j)]);
            }
            const double c = o.beta == 0 ? 0 : o.beta * problem_input(p, INPUT_C, i, j);
            const double bias = o.bias ? problem_input(p, INPUT_BIAS, 0, j) : 0;
            const double scaled = alpha * problem_scale(p, INPUT_SCALE_A, i) * problem_scale(p, INPUT_SCALE_B, j);
            const double last = problem_scale(p, INPUT_SCALE_C, 0);
            const double x = scaled * sum + c + bias;
            p->expect[(size_t)(i * s.n + j)] = problem_cut(p->c_dtype, problem_activate(o.activation, x) * last);
            /* k additions and products, alpha, scales, beta, bias: each rounds once. */
            if (o.real)
                p->bound[(size_t)(i * s.n + j)] =
                    last * (unit * ((double)s.k + (o.scales ? 8 : 4)) + problem_units_lose(p)) *
                    (std::fabs(scaled) * size + std::fabs(c) + std::fabs(bias));
            /* An exponential, a quotient and four products, each within a few units; gelu's argument is amplified. */
            if (o.activation >= IRIS_ACTIVATION_GELU)
                p->bound[(size_t)(i * s.n + j)] += last * (16 * unit * (std::fabs(x) + x * x) + 1e-30);
        }
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
    g.alpha = options.alpha, g.beta = options.beta, g.activation = options.activation;
    g.b_transposed = options.b_transposed;
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

/* Types that are left open, as iris_gemm_args says they are chosen. */
static inline void problem_types(problem *p)
{
    const iris_dtype c = p->dtype == IRIS_I8 ? IRIS_I32 : iris_dtype_bytes(p->dtype) == 1 ? IRIS_BF16 : p->dtype;
    p->c_dtype = p->options.c_dtype ? p->options.c_dtype : c;
    p->bias_dtype = iris_dtype_bytes(p->c_dtype) == 1 ? IRIS_BF16 : p->c_dtype;
}

static inline void problem_upload_scales(problem *p)
{
    std::vector<float> v;
    for (int64_t i = 0; i < p->shape.m; i++)
        v.push_back((float)problem_scale(p, INPUT_SCALE_A, i));
    for (uint32_t j = 0; j < p->own.count; j++)
        v.push_back((float)problem_scale(p, INPUT_SCALE_B, p->own.first + j));
    v.push_back((float)problem_scale(p, INPUT_SCALE_C, 0));
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
    p->lda = problem_padded(options, shape.k) + options.pad_a;
    p->ldb = problem_padded(options, options.b_transposed ? shape.k : widest) + options.pad_b;
    p->ldc = problem_padded(options, shape.n) + options.pad_c;
    p->c_bytes = (size_t)(shape.m * p->ldc) * iris_dtype_bytes(p->c_dtype);
    p->a = (char *)iris_malloc(t->world, (size_t)(shape.m * p->lda) * size);
    p->b = (char *)iris_malloc(t->world, (size_t)((options.b_transposed ? widest : shape.k) * p->ldb) * size);
    p->c = (char *)iris_malloc(t->world, p->c_bytes);
    p->bias = (char *)iris_malloc(t->world, (size_t)widest * iris_dtype_bytes(p->bias_dtype));
    p->scales = (float *)iris_malloc(t->world, (size_t)(shape.m + widest + 1) * sizeof(float));
    if (!irist_check(t, p->a && p->b && p->c && p->bias && p->scales, "%s", iris_error_string(t->world)))
        return false;
    const int64_t b_rows = options.b_transposed ? p->own.count : shape.k;
    const int64_t b_cols = options.b_transposed ? shape.k : p->own.count;
    irist_upload(t, p->a, problem_matrix(p, INPUT_A, shape.m, shape.k, p->lda, 0, 0, 0));
    if (p->own.count > 0) {
        irist_upload(t, p->b, problem_matrix(p, INPUT_B, b_rows, b_cols, p->ldb, 0, p->own.first,
                                             options.b_transposed));
        irist_upload(t, p->bias, problem_matrix(p, INPUT_BIAS, 1, p->own.count, p->own.count, 0, p->own.first, 0));
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
    const std::vector<unsigned char> got = irist_download(p->t, p->c, p->c_bytes);
    for (int64_t i = 0; i < p->shape.m; i++) {
        for (int64_t j = 0; j < p->shape.n; j++) {
            const double v = element_get(p->c_dtype, &got[(size_t)(i * p->ldc + j) * size]);
            const double want = p->expect[(size_t)(i * p->shape.n + j)];
            const double slack = p->bound[(size_t)(i * p->shape.n + j)];
            if (!irist_check(p->t, std::fabs(v - want) <= slack + problem_half_unit(p->c_dtype, want),
                             "%s %s %s %lldx%lldx%lld, %s: C[%lld][%lld] is %.17g, expected %.17g", what,
                             iris_dtype_name(p->dtype), iris_dtype_name(p->c_dtype), (long long)p->shape.m,
                             (long long)p->shape.n, (long long)p->shape.k, p->options.name, (long long)i, (long long)j,
                             v, want))
                return false;
        }
        const size_t from = (size_t)(i * p->ldc + p->shape.n) * size;
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
