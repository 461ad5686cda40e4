/* SPDX-License-Identifier: MIT */
/*
 * aligned.cpp: GEMM + all-scatter of 16-bit types whose rows start at multiples of 16 bytes, which is what mainloops on
 * tensor cores want: tiles of every size that the device picks, edges in every direction, and bands of C that start
 * elsewhere. all_scatter.cpp has the rest.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#endif
#include "problem.h"

/* The first two leave every band of 1, 2, 3, 4 and 8 ranks at a multiple of 16 bytes. */
static const problem_shape shapes[] = {
    {300, 384, 200}, {130, 960, 72}, {128, 1, 64}, {1, 264, 8}, {257, 515, 129}, {64, 77, 1000},
};

static const problem_options variants[] = {
    {"aligned", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 3, 1, 0, 8},
    {"aligned, transposed, everything", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 8, 0, 0, 4, 2, 0, 8},
    {"aligned but for C", 0.5, 1, 1, IRIS_ACTIVATION_RELU, 0, 8, 0, 3, 0, 0, 3, 1, 0, 8},
    {"small tiles, real", 1, 0.25, 1, IRIS_ACTIVATION_SILU, 1, 0, 0, 0, 48, 64, 5, 2, 1, 8},
    {"tiles that are no boxes", 1, 2, 0, IRIS_ACTIVATION_NONE, 0, 8, 8, 0, 24, 40, 3, 1, 0, 8},
    {"odd tiles", 0, 0, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, 0, 19, 21, 3, 1, 0, 8},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0], VARIANTS = sizeof variants / sizeof variants[0] };

#define LAUNCHERS(d)                                                                                                   \
    {                                                                                                                  \
        iris_gemm_all_scatter_##d, iris_gemm_all_scatter_bulk_synchronous_##d,                                         \
            iris_gemm_all_scatter_producer_consumer_##d, iris_gemm_all_scatter_fused_sequential_##d,                   \
            iris_gemm_all_scatter_wg_specialized_##d, iris_gemm_all_scatter_wave_specialized_##d                       \
    }

problem_launcher problem_launcher_of(iris_dtype dtype, int pattern)
{
    static const problem_launcher launchers[2][IRIS_GEMM_PATTERNS] = {LAUNCHERS(f16), LAUNCHERS(bf16)};
    return launchers[dtype == IRIS_BF16][pattern];
}

static void every_pattern(irist_rank *t, iris_dtype dtype, problem_shape shape, problem_options options, int laps)
{
    problem p;
    if (problem_create(&p, t, dtype, shape, options)) {
        problem_expect(&p);
        for (int lap = 0; lap < laps * IRIS_GEMM_PATTERNS; lap++) {
            const int pattern = lap % IRIS_GEMM_PATTERNS;
            const std::vector<unsigned char> before = problem_poison(&p);
            problem_launch(&p, pattern);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, iris_gemm_pattern_name((iris_gemm_pattern)pattern));
        }
    }
    problem_free(&p);
}

static void aligned_work(irist_rank *t)
{
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < VARIANTS; v++)
            if ((s + v + (dtype == IRIS_BF16)) % (t->full ? 2 : 4) == 0) /* both types together take them all */
                every_pattern(t, dtype, shapes[s], variants[v], 1);
}

TEST_CASE("GEMM + all-scatter of f16 is right where rows are aligned", "[gemm][f16]")
{
    const iris_dtype dtype = IRIS_F16;
    irist_spmd(aligned_work, &dtype);
}

TEST_CASE("GEMM + all-scatter of bf16 is right where rows are aligned", "[gemm][bf16]")
{
    const iris_dtype dtype = IRIS_BF16;
    irist_spmd(aligned_work, &dtype);
}

/* Who calls the plain mainloop's functions in a kernel of his own asks for a plan that fits them. */
static void plain_work(irist_rank *t)
{
    problem p;
    if (problem_create(&p, t, IRIS_BF16, shapes[0], variants[0])) {
        irist_ok(t, iris_gemm_release(t->world, &p.plan));
        if (problem_plan(&p, 1)) {
            problem_expect(&p);
            const std::vector<unsigned char> before = problem_poison(&p);
            irist_check(t, p.plan.mainloop == IRISI_GEMM_PLAIN, "the plan has mainloop %u", p.plan.mainloop);
            problem_launch(&p, IRIS_GEMM_AUTO);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, "plain mainloop");
        }
    }
    problem_free(&p);
}

TEST_CASE("a plan for the plain mainloop has no other", "[gemm][bf16]") { irist_spmd(plain_work, nullptr); }

/* Many tiles for each workgroup, so that every buffer is used again and again. */
static void many_tiles_work(irist_rank *t)
{
    const problem_options options = {"many tiles", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 32, 64, 2, 1, 0, 8};
    const problem_shape shape = {416, 768, 136};
    every_pattern(t, IRIS_BF16, shape, options, t->full ? 4 : 1);
}

TEST_CASE("every pattern stays right over many tiles of a workgroup", "[gemm][bf16]")
{
    irist_spmd(many_tiles_work, nullptr);
}
