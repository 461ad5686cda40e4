/* SPDX-License-Identifier: MIT */
/*
 * all_scatter.cpp: GEMM + all-scatter: five patterns, four dtypes, every shape against the triple loop of problem.h.
 * types.cpp has the types that A, B and C do not share.
 * The shapes take gemm_tiles.h over every edge: tiles that end early, ranks without columns.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F64
#if !defined(IRIST_PART)
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16_F32 /* of which pairs of columns become an f16 */
#endif
#endif
#include "problem.h"

#include <iris/mainloop/shape.h>
#include <iris/gen/rma.h>

static const problem_shape shapes[] = {
    {1, 1, 1},    {1, 7, 5},     {5, 3, 1},      {2, 8, 16},    {13, 17, 19},   {31, 37, 41},  {64, 64, 64},
    {1, 129, 33}, {129, 1, 65},  {128, 131, 1},  {33, 2, 300},  {127, 257, 63}, {97, 101, 103}, {300, 40, 130},
};

static const problem_options variants[] = {
    {"plain", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"alpha, beta, padded", 1.5, -0.5, 0, IRIS_ACTIVATION_NONE, 0, 3, 1, 5, 16, 24, 3, 1, 0, 0},
    {"transposed, bias, relu", 0, 0, 1, IRIS_ACTIVATION_RELU, 1, 0, 2, 1, 32, 8, 2, 1, 0, 0},
    {"everything, A and B transposed", -0.5, 2, 1, IRIS_ACTIVATION_GELU, 1, 1, 0, 8, 8, 40, 5, 2, 0, 0, 0,
     IRIS_DTYPE_NONE, 0, 0, 1},
    {"silu, real", 1, 0, 0, IRIS_ACTIVATION_SILU, 0, 0, 0, 0, 0, 0, 4, 2, 1, 0},
    {"real, odd tile", 0.75, 1.25, 1, IRIS_ACTIVATION_NONE, 0, 2, 2, 2, 19, 13, 3, 2, 1, 0},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], VARIANTS = sizeof variants / sizeof variants[0] };

#define LAUNCHERS(d)                                                                                                   \
    {                                                                                                                  \
        iris_gemm_all_scatter_##d, iris_gemm_all_scatter_bulk_synchronous_##d,                                         \
            iris_gemm_all_scatter_producer_consumer_##d, iris_gemm_all_scatter_fused_sequential_##d,                   \
            iris_gemm_all_scatter_wg_specialized_##d, iris_gemm_all_scatter_wave_specialized_##d                       \
    }

problem_launcher problem_launcher_of(const problem *p, int pattern)
{
    static const problem_launcher launchers[][IRIS_GEMM_PATTERNS] = {
        LAUNCHERS(bf16),
        LAUNCHERS(f32),
        LAUNCHERS(f64),
#if !defined(IRIST_PART)
        LAUNCHERS(f16),
#endif
    };
    const int row = p->dtype == IRIS_BF16 ? 0 : p->dtype == IRIS_F32 ? 1 : p->dtype == IRIS_F64 ? 2 : 3;
    return launchers[row][pattern];
}

/* One problem by every pattern, all with one plan. */
static void every_pattern(irist_rank *t, iris_dtype dtype, problem_shape shape, const problem_options &options)
{
    problem p;
    if (problem_create(&p, t, dtype, shape, options)) {
        problem_expect(&p);
        problem_by_loops(&p, 1);
    }
    problem_free(&p);
}

static void shape_work(irist_rank *t)
{
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < VARIANTS; v++)
            if (t->full || (s + v) % (irist_slow() ? 12 : 3) == 0)
                every_pattern(t, dtype, shapes[s], variants[v]);
}

#define SHAPE_CASE(d, D)                                                                                               \
    TEST_CASE("GEMM + all-scatter of " #d " is right for every shape, option and pattern", "[gemm][" #d "]")           \
    {                                                                                                                  \
        const iris_dtype dtype = IRIS_##D;                                                                             \
        irist_spmd(shape_work, &dtype);                                                                                \
    }
SHAPE_CASE(f32, F32)
SHAPE_CASE(f64, F64)
SHAPE_CASE(bf16, BF16)
#if !defined(IRIST_PART)
SHAPE_CASE(f16, F16)
#endif

/*
 * Columns in pairs, by every pattern, as packets and as puts: ragged bands, and one rank's empty; tiles that packets
 * cannot have because they would begin between units of 8 bytes; a C that is nowhere aligned to 8 bytes.
 */
static void gated_work(irist_rank *t)
{
    static const problem_options o[] = {
        {"swiglu", 0.5, 0, 1, IRIS_ACTIVATION_SILU, 0, 3, 1, 5, 0, 0, 0, 0, 0, 0, 2, IRIS_DTYPE_NONE, 0, 0, 0, 1},
        {"geglu, transposed", 0, 0, 0, IRIS_ACTIVATION_GELU, 1, 0, 0, 0, 16, 24, 3, 1, 0, 0, 0, IRIS_DTYPE_NONE, 0, 0,
         1, 1},
        {"pairs, real", 0.75, 0, 1, IRIS_ACTIVATION_NONE, 1, 1, 2, 1, 8, 6, 5, 2, 1, 0, 1, IRIS_DTYPE_NONE, 0, 0, 0, 1},
    };
    static const problem_shape sizes[] = {{1, 2, 5}, {13, 34, 19}, {64, 64, 64}, {127, 258, 63}, {3, 200, 100}};
    static const iris_dtype types[] = {
        IRIS_F32,
#if !defined(IRIST_PART)
        IRIS_F16,
#endif
    };
    int turn = 0;
    for (const iris_dtype dtype : types)
        for (const problem_options &options : o)
            for (const problem_shape &shape : sizes)
                if (t->full || turn++ % 2 == 0)
                    every_pattern(t, dtype, shape, options);
}

TEST_CASE("gates and ups are multiplied before they go to every rank", "[gemm][gated]")
{
    irist_spmd(gated_work, nullptr);
}

/* Where the loop can, tiles are shared by as many workgroups as it does: in pairs, with K cut, at ragged edges. */
static void cut_plan(problem *p)
{
    iris_gemm_args g = problem_args(p);
    if (irisi_gemm_most_split_k(p->plan.mainloop) < 4)
        return;
    g.tile_m = g.tile_n = 0, g.workgroups = 12, g.comm_workgroups = 0;
    g.tune = "pattern=fused_sequential width=128 cluster=2 split_k=4";
    irist_ok(p->t, iris_gemm_release(p->t->world, &p->plan));
    irist_ok(p->t, iris_gemm_prepare(p->t->world, &p->plan, IRIS_GEMM_ALL_SCATTER, p->dtype, &g));
    irist_check(p->t, p->plan.tiling.cluster == 2 && p->plan.tiling.split_k == 4, "pairs are %u, split_k %u",
                p->plan.tiling.cluster, p->plan.tiling.split_k);
}

/* Bitwise equal, however often and by whichever pattern; nothing but the first launch is checked against the oracle. */
static void repeat_work(irist_rank *t)
{
    problem p;
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    const problem_options options = {"repeats", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 16, 16, 3, 1, 1, 0};
    const problem_shape small = {67, 61, 129}, sliced = {200, 122, 300};
    if (problem_create(&p, t, dtype, dtype == IRIS_BF16 ? sliced : small, options)) {
        cut_plan(&p);
        problem_expect(&p);
        std::vector<unsigned char> before = problem_poison(&p);
        problem_launch(&p, IRIS_GEMM_AUTO);
        problem_check(&p, before, "auto");
        const std::vector<unsigned char> first = irist_download(t, p.c, p.c_bytes);
        const int patterns = p.plan.exchange.ll.banks ? PROBLEM_BY_PUTS : IRIS_GEMM_PATTERNS - 1;
        const int laps = (int)irist_epochs(t, 4, 100) * patterns;
        for (int lap = 0; lap < laps; lap++) {
            const int pattern = 1 + lap % patterns;
            problem_poison(&p);
            irist_delay(t, (uint64_t)lap);
            problem_launch(&p, pattern);
            irist_check(t, irist_download(t, p.c, p.c_bytes) == first, "%s: lap %d, %s, differs from the first",
                        iris_dtype_name(dtype), lap, iris_gemm_pattern_name((iris_gemm_pattern)pattern));
        }
    }
    problem_free(&p);
}

TEST_CASE("GEMM + all-scatter gives the same bits every time", "[gemm]")
{
    const iris_dtype types[] = {IRIS_F32, IRIS_BF16};
    for (const iris_dtype &dtype : types)
        irist_spmd(repeat_work, &dtype);
}

/* Copies C as it is when the stream gets there. */
typedef struct keep_args {
    const char *from;
    char *to;
    size_t bytes;
} keep_args;

IRIS_KERNEL(keep_c, keep_args, a, 64)
{
    if (iris_workgroup() == 0)
        irisi_copy_wg(a->to, a->from, a->bytes);
}

enum { KEPT = 12 };

/*
 * Many launches in a row on one stream, without the host in between. A reader of C stands between two launches: a
 * rank that is ahead must not write over what a rank that is behind still reads. beta makes each result another.
 */
static void row_work(irist_rank *t)
{
    problem p;
    const problem_options options = {"in a row", 0.5, 0.5, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 16, 16, 3, 1, 0, 0};
    const problem_shape shape = {40, 140, 8}; /* a band for each of 8 ranks, the last a narrow one */
    if (problem_create(&p, t, IRIS_F64, shape, options)) {
        char *kept = (char *)iris_malloc(t->world, KEPT * p.c_bytes);
        problem_expect(&p);
        problem_poison(&p);
        const int patterns = p.plan.exchange.ll.banks ? PROBLEM_BY_PUTS : IRIS_GEMM_PATTERNS - 1;
        for (int lap = 0; lap < KEPT; lap++) {
            const iris_launch_config one = iris_grid(1, 64);
            const keep_args args = {p.c, kept + (size_t)lap * p.c_bytes, p.c_bytes};
            irist_delay(t, (uint64_t)lap);
            problem_launch(&p, 1 + lap % patterns);
            irist_ok(t, iris_launch(t->world, keep_c, &args, sizeof args, &one, iris_default_stream(t->world)));
        }
        irist_ok(t, iris_synchronize(t->world));
        const std::vector<unsigned char> got = irist_download(t, kept, KEPT * p.c_bytes);
        std::vector<double> c(p.expect.size());
        for (size_t i = 0; i < c.size(); i++) /* what the product alone adds each time */
            c[i] = problem_input(&p, ORACLE_C, (int64_t)i / shape.n, (int64_t)i % shape.n);
        for (int lap = 0; lap < KEPT; lap++)
            for (size_t i = 0; i < c.size() && t->failures == 0; i++) {
                const double product =
                    p.expect[i] - 0.5 * problem_input(&p, ORACLE_C, (int64_t)i / shape.n, (int64_t)i % shape.n);
                c[i] = product + 0.5 * c[i];
                const double v = element_get(IRIS_F64, &got[(size_t)lap * p.c_bytes + 8 * i]);
                irist_check(t, v == c[i], "launch %d: element %zu is %.17g, expected %.17g", lap, i, v, c[i]);
            }
        irist_meet(t);
        iris_free(t->world, kept);
    }
    problem_free(&p);
}

TEST_CASE("launches in a row see each other's C and nothing newer", "[gemm]") { irist_spmd(row_work, nullptr); }

/* A GEMM of its own needs no peer and leaves their bands alone. */
static void local_work(irist_rank *t)
{
    problem p;
    const problem_options options = {"local", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 16, 16, 2, 0, 0, 0};
    const problem_shape shape = {33, 135, 37};
    if (problem_create(&p, t, IRIS_F32, shape, options)) {
        problem_expect(&p);
        std::vector<unsigned char> want = problem_poison(&p);
        for (int64_t i = 0; i < shape.m; i++)
            for (int64_t j = p.own.first; j < (int64_t)(p.own.first + p.own.count); j++)
                element_set(IRIS_F32, &want[(size_t)(i * p.ldc + j) * 4], p.expect[(size_t)(i * shape.n + j)]);
        irist_ok(t, iris_gemm_local_f32(t->world, &p.plan, iris_default_stream(t->world)));
        irist_check(t, irist_download(t, p.c, p.c_bytes) == want, "more than the own band was written, or not all");
        irist_meet(t);
    }
    problem_free(&p);
}

TEST_CASE("a local GEMM writes its own band only", "[gemm]") { irist_spmd(local_work, nullptr); }

/* An alpha of 0 leaves nothing of the product, infinities and NaNs included. */
static void zero_work(irist_rank *t)
{
    static const iris_dtype dtypes[] = {
        IRIS_BF16,
        IRIS_F32,
        IRIS_F64,
#if !defined(IRIST_PART)
        IRIS_F16,
#endif
    };
    const problem_options options = {"alpha is 0", 0, -0.5, 1, IRIS_ACTIVATION_RELU, 0, 3, 0, 1, 0, 0, 2, 1, 0, 0};
    const problem_shape shape = {67, 141, 70};
    for (iris_dtype dtype : dtypes) {
        problem p;
        if (problem_create(&p, t, dtype, shape, options)) {
            iris_gemm_args g = problem_args(&p);
            g.zero_alpha = 1;
            irist_ok(t, iris_gemm_release(t->world, &p.plan));
            irist_ok(t, iris_memset(t->world, p.a, 0xff, (size_t)(shape.m * p.lda) * iris_dtype_bytes(dtype)));
            irist_ok(t, iris_gemm_prepare(t->world, &p.plan, IRIS_GEMM_ALL_SCATTER, dtype, &g));
            problem_expect(&p);
            for (int64_t i = 0; i < shape.m * shape.n; i++) {
                const double c = problem_input(&p, ORACLE_C, i / shape.n, i % shape.n);
                const double x = options.beta * c + problem_input(&p, ORACLE_BIAS, 0, i % shape.n);
                p.expect[(size_t)i] = oracle_activate(options.activation, x);
            }
            for (int loops = 1 + irisi_gemm_loop_is(p.plan.mainloop, IRISI_GEMM_LOOPS_SKINNY); loops-- > 0;) {
                const std::vector<unsigned char> before = problem_poison(&p);
                problem_launch(&p, IRIS_GEMM_AUTO);
                irist_ok(t, iris_synchronize(t->world));
                problem_check(&p, before, "zero_alpha");
                if (loops == 0)
                    break;
                g.tune = "skinny=0"; /* the other loop too */
                irist_ok(t, iris_gemm_release(t->world, &p.plan));
                irist_ok(t, iris_gemm_prepare(t->world, &p.plan, IRIS_GEMM_ALL_SCATTER, dtype, &g));
            }
        }
        problem_free(&p);
    }
}

TEST_CASE("an alpha of 0 leaves beta * C and bias", "[gemm]") { irist_spmd(zero_work, nullptr); }

/* Plans come and go, with a copy of A and without: nothing is left of them in the heap. */
static void release_work(irist_rank *t)
{
    const size_t data = iris_heap_used(t->world, IRIS_MEM_DATA), sync = iris_heap_used(t->world, IRIS_MEM_SYNC);
    for (int lap = 0; lap < 10; lap++)
        every_pattern(t, IRIS_BF16, shapes[lap % SHAPES], variants[lap % 2 ? 3 : 0]); /* A by columns, and by rows */
    const size_t left = iris_heap_used(t->world, IRIS_MEM_DATA) - data;
    const size_t signals = iris_heap_used(t->world, IRIS_MEM_SYNC) - sync;
    irist_check(t, left == 0 && signals == 0, "plans left %zu bytes of data and %zu of signals", left, signals);
}

TEST_CASE("released plans leave nothing in the heap", "[gemm]") { irist_spmd(release_work, nullptr); }
