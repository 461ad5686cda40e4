/* SPDX-License-Identifier: MIT */
/*
 * types.cpp: GEMM + all-scatter of narrow types, with C in another type than A and B, and with scales. Some of them
 * have all their kernels here; of the others one kernel each is enough, since patterns do not look at types.
 */
#include <iris/mainloop/shape.h>

#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_I8_I32
#if !defined(IRIST_PART)
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16_F32
#endif
#if defined(IRISI_GEMM_HAS_SM90A) || defined(IRISI_GEMM_HAS_MFMA_GFX942)
#define HAS_UNITS 1 /* for these types too */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_I8_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E5M2_BF16
#endif
#if defined(IRISI_GEMM_HAS_SM90A) /* f32 as tf32 */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#endif
#endif
#include "problem.h"

#include <iris/gen/gemm_all_scatter_fused_sequential.h>

typedef struct types_args {
    iris_ctx ctx;
    iris_gemm_plan plan;
} types_args;

/* A kernel of one's own, and its launcher. */
#define OWN_KERNEL(name)                                                                                               \
    IRIS_KERNEL(types_##name##_kernel, types_args, a, IRISI_GEMM_LANES)                                                \
    {                                                                                                                  \
        iris_gemm_all_scatter_fused_sequential_##name##_grid(&a->ctx, &a->plan);                                       \
    }                                                                                                                  \
    static iris_status types_##name(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)                     \
    {                                                                                                                  \
        const iris_launch_config grid = iris_gemm_grid(plan, 1);                                                       \
        const types_args a = {iris_device_ctx(w), *plan};                                                              \
        return iris_launch(w, types_##name##_kernel, &a, sizeof a, &grid, stream);                                     \
    }
OWN_KERNEL(f8e4m3_f8e4m3)
OWN_KERNEL(i8_i8)
#if !defined(HAS_UNITS)
#define MANY OWN
OWN_KERNEL(i8_bf16)
#else
#define MANY ALL
#endif
#if !defined(IRIST_KERNELS_ELSEWHERE)
#if !defined(HAS_UNITS)
OWN_KERNEL(f8e5m2_bf16)
#endif
OWN_KERNEL(f16_f32)
OWN_KERNEL(f8e4m3_f16)
OWN_KERNEL(f8e4m3fnuz_bf16)
OWN_KERNEL(f8e5m2fnuz_bf16)
#endif

#if defined(IRISI_GEMM_HAS_SM90A) && defined(IRIST_KERNELS_ELSEWHERE)
/* For the assembler alone, which sees no other of these in the compile checks: products of bytes by a warpgroup. */
#define LOOP_KERNEL(name)                                                                                              \
    IRIS_KERNEL(types_loop_##name##_kernel, types_args, a, IRISI_GEMM_LANES_SM90A)                                     \
    {                                                                                                                  \
        if (iris_gemm_in_image_##name##_sm90a())                                                                       \
            iris_gemm_all_scatter_fused_sequential_##name##_sm90a_grid(&a->ctx, &a->plan);                             \
    }
LOOP_KERNEL(f8e4m3_bf16)
LOOP_KERNEL(i8_i32)
#endif

#define LAUNCHERS(d)                                                                                                   \
    {                                                                                                                  \
        iris_gemm_all_scatter_##d, iris_gemm_all_scatter_bulk_synchronous_##d,                                         \
            iris_gemm_all_scatter_producer_consumer_##d, iris_gemm_all_scatter_fused_sequential_##d,                   \
            iris_gemm_all_scatter_wg_specialized_##d, iris_gemm_all_scatter_wave_specialized_##d                       \
    }

#define OWN(name, IN, OUT) {IRIS_##IN, IRIS_##OUT, {types_##name}}
#define ALL(name, IN, OUT) {IRIS_##IN, IRIS_##OUT, LAUNCHERS(name)}

/* Launchers by pattern; the first alone where there is no more than a kernel of one's own. */
static const struct pair {
    iris_dtype dtype, c_dtype;
    problem_launcher launchers[IRIS_GEMM_PATTERNS];
} pairs[] = {
    OWN(f8e4m3_f8e4m3, F8E4M3, F8E4M3),
    OWN(i8_i8, I8, I8),
    MANY(i8_bf16, I8, BF16),
#if !defined(IRIST_KERNELS_ELSEWHERE)
    ALL(f8e4m3_bf16, F8E4M3, BF16),
    ALL(i8_i32, I8, I32),
#if !defined(IRIST_PART)
    ALL(bf16_f32, BF16, F32),
#endif
    OWN(f16_f32, F16, F32),
    OWN(f8e4m3_f16, F8E4M3, F16),
    MANY(f8e5m2_bf16, F8E5M2, BF16),
    OWN(f8e4m3fnuz_bf16, F8E4M3FNUZ, BF16),
    OWN(f8e5m2fnuz_bf16, F8E5M2FNUZ, BF16),
#if defined(IRISI_GEMM_HAS_SM90A)
    ALL(f32, F32, F32),
#endif
#endif
};

problem_launcher problem_launcher_of(const problem *p, int pattern)
{
    for (const pair &row : pairs)
        if (row.dtype == p->dtype && row.c_dtype == p->c_dtype)
            return row.launchers[pattern];
    return nullptr;
}

static const problem_shape shapes[] = {{1, 1, 1}, {13, 37, 19}, {130, 72, 300}, {48, 256, 144}, {40, 77, 530}};

/* Small factors, so that few values are beyond what 8 bits hold, and many of them use all of it. */
static const problem_options variants[] = {
    {"plain", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"one scale each", 0.125, -0.5, 1, IRIS_ACTIVATION_NONE, 1, 3, 1, 5, 16, 24, 3, 1, 0, 0, 1},
    {"scales of rows and columns", 0.25, 2, 1, IRIS_ACTIVATION_RELU, 0, 1, 2, 3, 0, 0, 4, 1, 0, 0, 2},
    {"any values, scales", 0.0625, 0.75, 1, IRIS_ACTIVATION_SILU, 1, 0, 0, 0, 0, 0, 0, 0, 1, 16, 2},
    {"any values", 0.25, 0, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 0, 0, 3, 1, 1, 16},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], VARIANTS = sizeof variants / sizeof variants[0] };

/* A row, and what a plan by it must have. */
struct asking {
    const char *row;
    uint32_t pair_split_k, split_k;
};

/*
 * One problem by every pattern that there is for its types, and by a row if one is given. `loops`: bit i says that
 * mainloop i may be the plan's.
 */
static void every_pattern(irist_rank *t, const pair &types, problem_shape shape, problem_options options,
                          uint32_t loops, const asking *asked = nullptr)
{
    problem p;
    const int own = types.launchers[1] == nullptr;
    options.c_dtype = types.c_dtype, options.tf32 = 1;
    if (types.dtype == IRIS_I8 && options.real && types.c_dtype != IRIS_I32)
        options.alpha /= 1024; /* values of up to 128 */
    if (problem_create(&p, t, types.dtype, shape, options)) {
        if ((own || asked) && irist_ok(t, iris_gemm_release(t->world, &p.plan)))
            problem_plan(&p, own, asked ? asked->row : nullptr);
        irist_check(t,
                    !asked || (p.plan.tiling.runs[0].pair_split_k == asked->pair_split_k &&
                               p.plan.tiling.split_k == asked->split_k),
                    "%s: pairs compute %s together, of %u splits", iris_dtype_name(types.dtype),
                    p.plan.tiling.runs[0].pair_split_k ? "tiles" : "nothing", p.plan.tiling.split_k);
        irist_check(t, loops >> p.plan.mainloop & 1, "%s %s, %s: the plan has mainloop %u, not one of %#x",
                    iris_dtype_name(types.dtype), iris_dtype_name(types.c_dtype), options.name, p.plan.mainloop, loops);
        problem_expect(&p);
        for (int pattern = 0; pattern < (own ? 1 : IRIS_GEMM_PATTERNS); pattern++) {
            const std::vector<unsigned char> before = problem_poison(&p);
            problem_launch(&p, pattern);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, iris_gemm_pattern_name((iris_gemm_pattern)pattern));
        }
    }
    problem_free(&p);
}

static void types_work(irist_rank *t)
{
    int turn = 0;
    for (const pair &types : pairs)
        for (int s = 0; s < SHAPES; s++)
            for (int v = 0; v < VARIANTS; v++)
                if (t->full || turn++ % 3 == 0)
                    every_pattern(t, types, shapes[s], variants[v], UINT32_MAX);
}

TEST_CASE("GEMM + all-scatter is right for types that A, B and C do not share", "[gemm]")
{
    irist_spmd(types_work, nullptr);
}

#if !defined(IRIST_KERNELS_ELSEWHERE)
typedef struct image_args {
    uint32_t *mainloops;
} image_args;

/* Which loops on tensor cores and matrix units the image holds, by what it says of those of bf16. */
IRIS_KERNEL(types_image_kernel, image_args, a, 64)
{
    uint32_t mainloops = 0;
#if defined(IRISI_GEMM_HAS_SM90A)
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_sm90a() << IRISI_GEMM_SM90A;
#endif
#if defined(IRISI_GEMM_HAS_MFMA_GFX942)
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx90a() << IRISI_GEMM_MFMA_GFX90A;
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx90a_small() << IRISI_GEMM_MFMA_GFX90A_SMALL;
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx942() << IRISI_GEMM_MFMA_GFX942;
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx942_small() << IRISI_GEMM_MFMA_GFX942_SMALL;
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx950() << IRISI_GEMM_MFMA_GFX950;
    mainloops |= (uint32_t)iris_gemm_in_image_bf16_gfx950_small() << IRISI_GEMM_MFMA_GFX950_SMALL;
#endif
    if (iris_grid_lane() == 0)
        *a->mainloops = mainloops;
}

/* What the kernel says. */
static uint32_t loops_in_image(irist_rank *t)
{
    uint32_t *place = (uint32_t *)iris_malloc(t->world, sizeof *place), image = 0;
    const image_args args = {place};
    irist_run(t, types_image_kernel, args, iris_grid(1, 64));
    irist_ok(t, iris_memcpy(t->world, &image, place, sizeof image));
    irist_ok(t, iris_free(t->world, place));
    return image;
}

/* Of an image's loops those that a plan for these types must have one of; else the plain one, or f32's. */
static uint32_t loops_of(const pair &types, uint32_t image)
{
    const uint32_t others = 1u << (types.dtype == IRIS_F32 ? IRISI_GEMM_SM80 : IRISI_GEMM_PLAIN);
    uint32_t loops = 1u << IRISI_GEMM_SM90A | 1u << IRISI_GEMM_MFMA_GFX950 | 1u << IRISI_GEMM_MFMA_GFX950_SMALL;
    if (types.dtype == IRIS_BF16 || types.dtype == IRIS_I8) /* gfx942's 8-bit floats are others */
        loops |= 1u << IRISI_GEMM_MFMA_GFX90A | 1u << IRISI_GEMM_MFMA_GFX90A_SMALL | 1u << IRISI_GEMM_MFMA_GFX942 |
                 1u << IRISI_GEMM_MFMA_GFX942_SMALL;
    return loops & image ? loops & image : others;
}

/* Aligned rows, with K side by side in B and not: then copies turn an 8-bit or 32-bit B. */
static void loop_work(irist_rank *t)
{
    const problem_shape shape = {130, 72, 272};
    const uint32_t image = loops_in_image(t);
    for (const pair &types : pairs)
        for (int transposed = 0; types.launchers[1] != nullptr && transposed < 2; transposed++) {
            const problem_options options = {transposed ? "aligned, transposed" : "aligned", 0, 0, 0,
                                             IRIS_ACTIVATION_NONE, transposed, 0, 0, 0, 0, 0, 0, 0, 0, 16};
            every_pattern(t, types, shape, options, loops_of(types, image));
        }
}

TEST_CASE("GEMMs of narrow types use the tensor cores' loop where the image holds it", "[gemm]")
{
    irist_spmd(loop_work, nullptr);
}

/* Every width of a tile, each with loops of its own, and both ways to add 8-bit floats up. */
static void width_work(irist_rank *t)
{
    const uint32_t hopper = loops_in_image(t) & 1u << IRISI_GEMM_SM90A;
    int turn = 0;
    for (const pair &types : pairs)
        for (int64_t width = 64; width <= 256; width += 64)
            for (int fast = 0; fast < 2; fast++) {
                problem_options options = {fast ? "fast" : "width", 0, 0, 0, IRIS_ACTIVATION_NONE,
                                           1, 0, 0, 0, 0, 0, 0, 0, 0, 16};
                options.tile_n = (uint32_t)width, options.fast_accum = fast;
                const bool counts = !fast || types.dtype == IRIS_F8E4M3 || types.dtype == IRIS_F8E5M2;
                if (hopper && counts && types.launchers[1] != nullptr && (t->full || turn++ % 3 == 0))
                    every_pattern(t, types, {70, width * t->ranks, 144}, options, hopper);
            }
}

TEST_CASE("GEMMs of narrow types are right in tiles of every width", "[gemm]") { irist_spmd(width_work, nullptr); }

/*
 * Many equal terms, 16384 of 1.125^2 or 0.625^2: a sum that keeps 14 bits loses of each, one in f32 loses nothing, and
 * bf16 holds what it comes to. With fast_accum an H200 gives 80 * 256 instead of 81 * 256 in tiles of 64 columns.
 */
static void long_sum(irist_rank *t, iris_dtype dtype, uint32_t width, int fast)
{
    problem_options options = {"long sum", 0, 0, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16};
    problem p;
    options.fast_accum = fast, options.tile_n = width;
    if (problem_create(&p, t, dtype, {40, (width ? (int64_t)width : 64) * t->ranks, 16384}, options)) {
        const int lossy = fast && p.plan.mainloop == IRISI_GEMM_SM90A;
        const double want = dtype == IRIS_F8E4M3 ? 81 * 256 : 25 * 256, most = lossy ? want - 1 : want;
        irist_ok(t, iris_memset(t->world, p.a, 0x39, (size_t)(p.shape.m * p.lda)));
        irist_ok(t, iris_memset(t->world, p.b, 0x39, (size_t)(p.own.count * p.ldb)));
        for (int pattern = 0; pattern < (width || dtype != IRIS_F8E4M3 ? 1 : IRIS_GEMM_PATTERNS); pattern++) {
            problem_poison(&p);
            problem_launch(&p, pattern);
            irist_ok(t, iris_synchronize(t->world));
            const std::vector<unsigned char> got = irist_download(t, p.c, p.c_bytes);
            for (int64_t i = 0; i < p.shape.m * p.shape.n; i++) {
                const double v = element_get(IRIS_BF16, &got[(size_t)(i / p.shape.n * p.ldc + i % p.shape.n) * 2]);
                if (!irist_check(t, v <= most && v >= (lossy ? 0.97 : 1) * want,
                                 "%s, %s, tile_n %u, fast_accum %d: a sum is %g, of f32 %g", iris_dtype_name(dtype),
                                 iris_gemm_pattern_name((iris_gemm_pattern)pattern), width, fast, v, want))
                    break;
            }
        }
    }
    problem_free(&p);
}

static void long_sum_work(irist_rank *t)
{
    const uint32_t hopper = loops_in_image(t) & 1u << IRISI_GEMM_SM90A;
    long_sum(t, IRIS_F8E4M3, 0, 1);
    for (const iris_dtype dtype : {IRIS_F8E4M3, IRIS_F8E5M2})
        for (uint32_t width = 0; width <= (hopper ? 256 : 0); width += width ? 64 : 128)
            long_sum(t, dtype, width, 0);
}

TEST_CASE("sums of 8-bit floats are f32's unless fast_accum is asked for", "[gemm]")
{
    irist_spmd(long_sum_work, nullptr);
}

/* Pairs that compute tiles together, where there are such: of each type of A and B that the loop takes, but i8. */
static void pair_split_k_work(irist_rank *t)
{
    const uint32_t hopper = loops_in_image(t) & 1u << IRISI_GEMM_SM90A;
    for (const pair &types : pairs) {
        const int64_t bytes = (int64_t)iris_dtype_bytes(types.dtype);
        const problem_shape shape = {264, 140 * (t->ranks > 4 ? t->ranks : 4), 4200 / bytes};
        const problem_options options = {"pair_split_k", 0, 0, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 0, 0, 4, 0, 0, 16};
        const asking asked = {
            "pattern=fused_sequential width=128 cluster=2 head_halves=1 tail_tiles=1 tail_halves=1 edge_width=128",
            types.dtype != IRIS_I8, 1};
        if (hopper && types.launchers[1] != nullptr)
            every_pattern(t, types, shape, options, UINT32_MAX, &asked);
    }
}

TEST_CASE("pairs may compute tiles of narrow types together", "[gemm]") { irist_spmd(pair_split_k_work, nullptr); }

/*
 * K in splits, whose sums different workgroups have: of each type that the loop takes, any values or such as make many
 * a split's sum of i8 -1, 0 or 1.
 */
static void split_k_work(irist_rank *t)
{
    static const asking asked[] = {{"pattern=fused_sequential width=128 split_k=2", 0, 2},
                                   {"pattern=wg_specialized comm=2 width=128 split_k=4", 0, 4},
                                   {"pattern=fused_sequential width=256 split_k=4", 0, 4}};
    const uint32_t hopper = loops_in_image(t) & 1u << IRISI_GEMM_SM90A;
    for (const pair &types : pairs)
        for (size_t i = 0; hopper && types.launchers[1] != nullptr && i < sizeof asked / sizeof asked[0]; i++) {
            const int64_t bytes = (int64_t)iris_dtype_bytes(types.dtype);
            const problem_shape shape = {i == 1 ? 130 : 19 + 45 * (int64_t)i, 90 * t->ranks + 38, 4300 / bytes};
            const problem_options options = {"split_k", 0, 0,      0, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 0, 0,
                                             12,        0, i == 2, 16};
            every_pattern(t, types, shape, options, UINT32_MAX, &asked[i]);
        }
}

TEST_CASE("K may be cut into splits for narrow types", "[gemm]") { irist_spmd(split_k_work, nullptr); }

/* What C is when nobody says, and that i32 is exact where f32 would not be; the product alone, and more than that. */
static void exact_work(irist_rank *t)
{
    const problem_shape shape = {17, 19, 4099}; /* odd sums beyond 2^24 */
    for (int more = 0; more < 2; more++) {
        const problem_options options = {"exact", 1, 3.0 * more, more, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 0, 0,
                                         2, 1, 1, 0};
        problem p;
        if (problem_create(&p, t, IRIS_I8, shape, options)) {
            irist_check(t, p.plan.operands.c_dtype == IRIS_I32, "C of i8 is %s",
                        iris_dtype_name((iris_dtype)p.plan.operands.c_dtype));
            irist_ok(t, iris_memset(t->world, p.a, 0x7f, (size_t)(shape.m * p.lda)));
            irist_ok(t, iris_memset(t->world, p.b, 0x7f, (size_t)(p.own.count * p.ldb)));
            problem_poison(&p);
            problem_launch(&p, IRIS_GEMM_AUTO);
            irist_ok(t, iris_synchronize(t->world));
            const std::vector<unsigned char> got = irist_download(t, p.c, p.c_bytes);
            for (int64_t i = 0; i < shape.m * shape.n; i++) {
                const int64_t row = i / shape.n, col = i % shape.n;
                const double rest = 3 * problem_input(&p, ORACLE_C, row, col) + problem_input(&p, ORACLE_BIAS, 0, col);
                const double want = 127.0 * 127 * 4099 + more * rest;
                const double v = element_get(IRIS_I32, &got[(size_t)(row * p.ldc + col) * 4]);
                irist_check(t, v == want, "C[%lld][%lld] is %.0f, expected %.0f", (long long)row, (long long)col, v,
                            want);
            }
        }
        problem_free(&p);
    }
}

TEST_CASE("GEMM + all-scatter of i8 into i32 is exact", "[gemm]") { irist_spmd(exact_work, nullptr); }
#endif
