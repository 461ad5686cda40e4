/* SPDX-License-Identifier: MIT */
/*
 * local.cpp: a GEMM alone: one rank prepares, launches and releases it, while the others do something else. All its
 * memory is outside the heap, C with poison on all sides. Every type, against the triple loop of problem.h.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_GEMM_LOCAL_F16
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F32
#define IRIS_INSTANTIATE_GEMM_LOCAL_F64
#define IRIS_INSTANTIATE_GEMM_LOCAL_F16_F32
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16_F32
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E4M3_F16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E4M3_F8E4M3
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E5M2_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E4M3FNUZ_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E5M2FNUZ_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_I8_I32
#define IRIS_INSTANTIATE_GEMM_LOCAL_I8_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_I8_I8
#endif
#include <iris/gen/gemm_types.h>
#include <iris/gen/launch/gemm.h>

#include <memory>
#include <string>

#include "blas.h"
#include "device_memory.h"
#include "problem.h"

static const struct type {
    const char *name;
    iris_dtype dtype, c_dtype;
    problem_launcher launch;
} types[] = {
#define TYPE_ROW(name, NAME, IN, OUT, BIAS) {#name, IRIS_##IN, IRIS_##OUT, iris_gemm_local_##name},
    IRIS_EACH_GEMM(TYPE_ROW)
#undef TYPE_ROW
};
enum { TYPES = sizeof types / sizeof types[0] };

static const type *type_of(const char *name)
{
    const type *row = types;
    while (std::strcmp(row->name, name) != 0)
        row++;
    return row;
}

/* A problem whose memory is the caller's own: poison before the first and behind the last row of C too. */
enum { BORDER = 1024 };
struct alone {
    problem p;
    const type *types;
    int band;
    std::unique_ptr<device_memory> memory;
    char *around; /* C and its borders */
    size_t bytes;

    alone(irist_rank *t, const type *of, problem_shape shape, const problem_options &options, int own_band = 0,
          size_t shift = 0)
        : types(of), band(own_band), around(nullptr), bytes(0)
    {
        p.t = t, p.dtype = of->dtype, p.shape = shape, p.options = options, p.options.c_dtype = of->c_dtype;
        std::memset(&p.plan, 0, sizeof p.plan);
        problem_types(&p);
        p.own = iris_gemm_band((uint32_t)shape.n, (uint32_t)(band ? t->ranks : 1), (uint32_t)(band ? t->rank : 0));
        const size_t in = iris_dtype_bytes(of->dtype), out = iris_dtype_bytes(of->c_dtype);
        const int64_t columns = p.own.count ? p.own.count : 1;
        const int64_t b_rows = options.b_transposed ? columns : shape.k;
        const int64_t b_cols = options.b_transposed ? shape.k : columns;
        const int64_t a_rows = options.a_transposed ? shape.k : shape.m;
        const int64_t a_cols = options.a_transposed ? shape.m : shape.k;
        p.lda = a_cols + options.pad_a, p.ldb = b_cols + options.pad_b, p.ldc = shape.n + options.pad_c;
        p.c_bytes = (size_t)(shape.m * p.ldc) * out;
        bytes = p.c_bytes + 2 * BORDER;
        const size_t sizes[] = {(size_t)(a_rows * p.lda) * in, (size_t)(b_rows * p.ldb) * in,
                                (size_t)columns * iris_dtype_bytes(p.bias_dtype),
                                (size_t)(shape.m + columns + 1) * sizeof(float), bytes};
        size_t at[6] = {0};
        for (int i = 0; i < 5; i++)
            at[i + 1] = at[i] + (sizes[i] + 255) / 256 * 256;
        memory.reset(new device_memory(t->world, at[5]));
        char *base = memory->base;
        if (!irist_check(t, base != nullptr, "no memory"))
            return;
        p.a = base, p.b = base + at[1], p.bias = base + at[2], p.scales = (float *)(void *)(base + at[3]);
        around = base + at[4], p.c = around + BORDER + shift * out; /* within the border: a start that is not aligned */
        irist_upload(t, p.a, problem_matrix(&p, ORACLE_A, a_rows, a_cols, p.lda, 0, 0, options.a_transposed));
        if (p.own.count > 0) {
            irist_upload(t, p.b, problem_matrix(&p, ORACLE_B, b_rows, b_cols, p.ldb, 0, p.own.first,
                                                options.b_transposed));
            irist_upload(t, p.bias, problem_matrix(&p, ORACLE_BIAS, 1, p.own.count, p.own.count, 0, p.own.first, 0));
        }
        problem_upload_scales(&p);
    }

    iris_gemm_args args() const
    {
        iris_gemm_args g = problem_args(&p);
        g.band = band;
        return g;
    }

    /* What to expect is known with the plan: some mainloops keep fewer bits of a sum. */
    bool prepare(const iris_gemm_args &g)
    {
        const bool made = irist_ok(p.t, iris_gemm_prepare(p.t->world, &p.plan, IRIS_GEMM_LOCAL, p.dtype, &g));
        problem_expect(&p);
        return made;
    }

    void release() { irist_ok(p.t, iris_gemm_release(p.t->world, &p.plan)); }

    /* Poison all around, and in C but for what beta reads. */
    std::vector<unsigned char> poison()
    {
        irist_upload(p.t, around, irist_poisoned(bytes));
        problem_poison(&p);
        return irist_download(p.t, around, bytes);
    }

    /* This rank's columns are what the triple loop gives, and not another byte has changed. */
    bool check(const std::vector<unsigned char> &before, const char *what)
    {
        const size_t size = iris_dtype_bytes(p.c_dtype), first = (size_t)(p.c - around);
        std::vector<unsigned char> got = irist_download(p.t, around, bytes);
        for (int64_t i = 0; i < p.shape.m; i++)
            for (int64_t j = p.own.first; j < (int64_t)(p.own.first + p.own.count); j++) {
                const size_t at = first + (size_t)(i * p.ldc + j) * size;
                const double v = element_get(p.c_dtype, &got[at]), want = p.expect[(size_t)(i * p.shape.n + j)];
                const double slack = p.bound[(size_t)(i * p.shape.n + j)] + element_half_unit(p.c_dtype, want);
                if (!irist_check(p.t, std::fabs(v - want) <= slack,
                                 "%s %s %lldx%lldx%lld, %s: C[%lld][%lld] is %.17g, expected %.17g", what, types->name,
                                 (long long)p.shape.m, (long long)p.shape.n, (long long)p.shape.k, p.options.name,
                                 (long long)i, (long long)j, v, want))
                    return false;
                std::memcpy(&got[at], &before[at], size);
            }
        return irist_check(p.t, got == before, "%s %s %lldx%lldx%lld, %s: more than this rank's columns was written",
                           what, types->name, (long long)p.shape.m, (long long)p.shape.n, (long long)p.shape.k,
                           p.options.name);
    }

    bool run(const char *what)
    {
        const std::vector<unsigned char> before = poison();
        irist_ok(p.t, types->launch(p.t->world, &p.plan, nullptr));
        irist_ok(p.t, iris_synchronize(p.t->world));
        return check(before, what);
    }

    /* From nothing to a released plan. */
    bool whole(const char *what)
    {
        const bool right = around != nullptr && prepare(args()) && run(what);
        release();
        return right;
    }
};

static const problem_shape shapes[] = {{1, 1, 1},    {1, 7, 5},    {5, 3, 1},     {3, 1, 64},    {13, 37, 19},
                                       {31, 37, 41}, {64, 64, 64}, {2, 200, 130}, {130, 72, 70}, {97, 101, 103}};

/* Factors are small, so that few values are beyond what C's type holds. */
static const problem_options variants[] = {
    {"plain", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"alpha, beta, ragged", 0.5, -0.5, 0, IRIS_ACTIVATION_NONE, 0, 3, 1, 5, 16, 24, 3, 0, 0, 0},
    {"transposed, bias, relu", 0.25, 0, 1, IRIS_ACTIVATION_RELU, 1, 0, 2, 1, 32, 8, 2, 0, 0, 0},
    {"scales, gelu", -0.25, 1, 1, IRIS_ACTIVATION_GELU, 1, 1, 0, 8, 0, 0, 5, 0, 0, 0, 2},
    {"silu, any values", 0.25, 0.5, 0, IRIS_ACTIVATION_SILU, 0, 0, 0, 3, 0, 0, 4, 0, 1, 0, 1},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0], VARIANTS = sizeof variants / sizeof variants[0] };

static void shapes_work(irist_rank *t)
{
    const type *of = (const type *)t->arg;
    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < VARIANTS; v++)
            if (t->full || (s + v + (int)(of - types)) % (irist_slow() ? 10 : 5) == 0)
                alone(t, of, shapes[s], variants[v], 0, (size_t)(s + v) % 3).whole("a GEMM alone");
}

TEST_CASE("a GEMM alone is right for every type, shape and option", "[gemm]")
{
    for (const type &of : types)
        irist_spmd(shapes_work, &of);
}

/* Problems that a seed makes up, another one on each rank; nothing of one rank's is like another's. */
static void random_work(irist_rank *t)
{
    static const double factors[] = {0, 0.5, -0.25, 1};
    const uint32_t laps = irist_laps(irist_slow() ? 8 : 60, 400);
    for (uint32_t lap = 0; lap < laps && t->failures == 0; lap++) {
        uint32_t drawn = 0;
        const auto draw = [&](uint32_t n) {
            return irist_pick(t->seed, 77 + (uint64_t)t->rank, 64 * (uint64_t)lap + drawn++, n);
        };
        const uint32_t most = draw(4) == 0 ? 140 : 40;
        const problem_shape shape = {1 + draw(draw(2) ? most : 8), 1 + draw(most), 1 + draw(2 * most)};
        problem_options o = {"made up", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
        o.alpha = factors[draw(4)], o.beta = factors[draw(4)], o.bias = (int)draw(2);
        o.activation = (iris_activation)draw(IRIS_ACTIVATIONS), o.b_transposed = (int)draw(2);
        o.pad_a = draw(9), o.pad_b = draw(9), o.pad_c = draw(9), o.workgroups = draw(6), o.real = (int)draw(2);
        o.scales = (int)draw(3), o.a_transposed = draw(3) == 0;
        const type *of = &types[draw(TYPES)];
        const int band = draw(4) == 0;
        alone(t, of, shape, o, band, draw(9)).whole("made up");
    }
}

TEST_CASE("a GEMM alone is right for whatever a seed makes up", "[gemm]") { irist_spmd(random_work, nullptr); }

static const problem_options ragged = {"ragged", 0.5, 0.5, 1, IRIS_ACTIVATION_RELU, 0, 1, 3, 5, 0, 0, 3, 0, 0, 0};

/* One rank does all of it, the last; the others are at the end of the case already. */
static void single_work(irist_rank *t)
{
    const size_t sync = iris_heap_used(t->world, IRIS_MEM_SYNC), data = iris_heap_used(t->world, IRIS_MEM_DATA);
    if (t->rank != t->ranks - 1)
        return;
    for (const char *name : {"f32", "bf16", "i8_i32"}) {
        alone g(t, type_of(name), {67, 141, 45}, ragged, 0, 1);
        if (!g.around || !g.prepare(g.args()))
            return;
        irist_check(t, g.p.plan.region.columns == 141, "%u columns, not all 141", g.p.plan.region.columns);
        irist_check(t,
                    iris_heap_used(t->world, IRIS_MEM_SYNC) == sync && iris_heap_used(t->world, IRIS_MEM_DATA) == data,
                    "a GEMM alone takes memory of the heap");
        for (int lap = 0; lap < 3; lap++)
            g.run("one rank");
        g.release();
    }
}

TEST_CASE("a GEMM alone needs no other rank", "[gemm]") { irist_spmd(single_work, nullptr); }

/* The band where it is asked for: another one on each rank, and none where there are more ranks than blocks. */
static void band_work(irist_rank *t)
{
    for (int64_t n : {(int64_t)141, (int64_t)17, (int64_t)1})
        for (const char *name : {"f32", "bf16"}) {
            alone g(t, type_of(name), {33, n, 29}, ragged, 1);
            if (!g.around || !g.prepare(g.args()))
                return;
            irist_check(t, g.p.plan.region.columns == g.p.own.count, "%u columns, not the band's %u",
                        g.p.plan.region.columns, g.p.own.count);
            g.run("a band");
            g.release();
        }
}

TEST_CASE("a GEMM alone writes its band only where that is asked for", "[gemm]") { irist_spmd(band_work, nullptr); }

/* What came out is read by the next call: a launch begins when the one before it on the stream has ended. */
static void row_work(irist_rank *t)
{
    const problem_options o = {"in a row", 0.5, 0.5, 0, IRIS_ACTIVATION_NONE, 0, 1, 2, 3, 0, 0, 3, 0, 0, 0};
    alone g(t, type_of("f64"), {40, 45, 8}, o);
    if (!g.around || !g.prepare(g.args()))
        return;
    const std::vector<unsigned char> before = g.poison();
    for (int lap = 0; lap < 6; lap++)
        irist_ok(t, g.types->launch(t->world, &g.p.plan, nullptr));
    for (size_t i = 0; i < g.p.expect.size(); i++) { /* what the first launch gives, five times halved and added to */
        const double product = g.p.expect[i] - 0.5 * problem_input(&g.p, ORACLE_C, (int64_t)i / 45, (int64_t)i % 45);
        for (int lap = 1; lap < 6; lap++)
            g.p.expect[i] = product + 0.5 * g.p.expect[i];
    }
    irist_ok(t, iris_synchronize(t->world));
    g.check(before, "six calls");
    g.release();
}

TEST_CASE("calls of a GEMM alone follow each other on a stream", "[gemm]") { irist_spmd(row_work, nullptr); }

/* Plans come and go in any order; a copy of one that is gone is refused, and its neighbours go on. */
static void plans_work(irist_rank *t)
{
    enum { PLANS = 40 };
    const problem_options o = {"plans", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0};
    alone g(t, type_of("f32"), {5, 6, 7}, o);
    std::vector<iris_gemm_plan> plans(PLANS);
    for (iris_gemm_plan &plan : plans)
        if (g.around && g.prepare(g.args()))
            plan = g.p.plan;
    for (int i = 0, at = 0; i < PLANS && t->failures == 0; i++, at = (at + 17) % PLANS) {
        g.p.plan = plans[(size_t)at];
        g.run("a plan of many");
        g.release();
        irist_check(t, g.types->launch(t->world, &plans[(size_t)at], nullptr) == IRIS_ERR_ARGUMENT,
                    "a released copy ran");
        irist_check(t, iris_gemm_release(t->world, &plans[(size_t)at]) == IRIS_ERR_ARGUMENT, "released twice");
        irist_check(t, std::strstr(iris_error_string(t->world), "another copy of the plan was released") != nullptr,
                    "%s", iris_error_string(t->world));
    }
}

TEST_CASE("plans for a GEMM alone come and go in any order", "[gemm]") { irist_spmd(plans_work, nullptr); }

/* The caller's BLAS, where it is asked for or said to be fast: all columns at once, and its failure is this rank's. */
static void blas_work(irist_rank *t)
{
    const problem_options o = {"blas", 0.5, -0.5, 0, IRIS_ACTIVATION_NONE, 0, 1, 2, 3, 0, 0, 3, 0, 0, 0};
    alone g(t, type_of("f32"), {21, 35, 18}, o);
    naive_blas blas = {t->world, 0, 0, {}};
    iris_gemm_args a = g.args();
    a.blas = naive_gemm, a.blas_arg = &blas, a.pattern = IRIS_GEMM_BLAS_GATHER;
    if (!g.around || !g.prepare(a))
        return;
    g.run("by BLAS");
    irist_check(t, blas.calls == 1 && blas.last.n == 35 && blas.last.c == g.p.c && blas.last.ldc == g.p.ldc,
                "%d calls of the BLAS, the last with %lld columns", blas.calls, (long long)blas.last.n);
    if (t->rank == 0) {
        blas.fail = 5;
        irist_check(t, g.types->launch(t->world, &g.p.plan, nullptr) == IRIS_ERR_DEVICE, "a BLAS that fails");
        irist_check(t, std::strstr(iris_error_string(t->world), "its BLAS returned 5 for 21 x 35 x 18") != nullptr,
                    "%s", iris_error_string(t->world));
    }
    g.release();
    irist_meet(t); /* the world goes on */
}

TEST_CASE("a GEMM alone may be the caller's BLAS", "[gemm]") { irist_spmd(blas_work, nullptr); }

/*
 * Rows of other operations are not for it, nor is one of a pattern in which some workgroups send; of another pattern's
 * the rest counts. Its own row makes another plan like it.
 */
static void rows_work(irist_rank *t)
{
    const problem_options o = {"rows", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0};
    static const struct {
        const char *rows;
        bool counts;
    } cases[] = {{"op=local height=16 width=16", true},      {"height=16 width=16", true},
                 {"world=1 height=16 width=16", true},       {"op=all_scatter height=16 width=16", false},
                 {"world=9 height=16 width=16", false},      {"pattern=fused_sequential height=16 width=16", true},
                 {"pattern=wg_specialized height=16 width=16", false}};
    alone g(t, type_of("f32"), {50, 60, 20}, o);
    for (const auto &row : cases) {
        iris_gemm_args a = g.args();
        iris_gemm_row choice = {};
        a.tune = row.rows;
        if (!g.around || !g.prepare(a))
            return;
        irist_check(t, (g.p.plan.tiling.tile_m == 16 && g.p.plan.tiling.tile_n == 16) == row.counts,
                    "'%s': a tile of %u x %u", row.rows, g.p.plan.tiling.tile_m, g.p.plan.tiling.tile_n);
        g.run(row.rows);
        irist_ok(t, iris_gemm_choice(t->world, &g.p.plan, &choice));
        irist_check(t, std::strstr(choice.text, "op=local ") != nullptr && !std::strstr(choice.text, "pattern="), "%s",
                    choice.text);
        iris_gemm_row rows[3] = {};
        irist_check(t, iris_gemm_candidates(t->world, &g.p.plan, IRIS_GEMM_FUSED_SEQUENTIAL, rows, 3) == 0,
                    "a pattern of a GEMM alone");
        irist_check(t, iris_gemm_candidates(t->world, &g.p.plan, IRIS_GEMM_AUTO, rows, 3) > 0, "nothing to try");
        const uint32_t tile_m = g.p.plan.tiling.tile_m, tile_n = g.p.plan.tiling.tile_n;
        for (const char *again : {(const char *)choice.text, (const char *)rows[0].text}) {
            g.release();
            a.tune = again;
            if (!g.prepare(a))
                return;
            g.run(again);
            irist_check(t,
                        again != choice.text || (g.p.plan.tiling.tile_m == tile_m && g.p.plan.tiling.tile_n == tile_n),
                        "'%s' made a tile of %u x %u", again, g.p.plan.tiling.tile_m, g.p.plan.tiling.tile_n);
        }
        g.release();
    }
}

TEST_CASE("rows choose for a GEMM alone", "[gemm]") { irist_spmd(rows_work, nullptr); }
