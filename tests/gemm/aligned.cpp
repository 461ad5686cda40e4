/* SPDX-License-Identifier: MIT */
/*
 * aligned.cpp: GEMM + all-scatter of 16-bit types whose rows start at multiples of 16 bytes, which is what mainloops on
 * tensor cores want: tiles of every size that the device picks, edges in every direction, and a B or C whose rows start
 * elsewhere; and the copies that make other operands so. all_scatter.cpp has the rest. On AMD also of 8-bit floats,
 * which have loops on matrix units where B is transposed.
 */
#include <iris/mainloop/shape.h>
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#if !defined(IRIST_PART)
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16
#endif
#if defined(IRISI_GEMM_HAS_MFMA_GFX942)
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E4M3FNUZ_BF16
#endif
#endif
#include "problem.h"

/* The first two leave every band of 1, 2, 3, 4 and 8 ranks whole 16 bytes wide, the last two end within some. */
static const problem_shape shapes[] = {
    {300, 384, 200}, {130, 960, 72}, {128, 1, 64}, {1, 264, 8}, {257, 515, 129}, {64, 77, 1000},
};

static const problem_options variants[] = {
    {"aligned", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 3, 1, 0, 8},
    {"aligned, transposed, everything", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 8, 0, 0, 4, 2, 0, 8},
    {"aligned but for C, no epilogue", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 3, 0, 0, 3, 1, 0, 8},
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

problem_launcher problem_launcher_of(const problem *p, int pattern)
{
    static const problem_launcher launchers[][IRIS_GEMM_PATTERNS] = {
        LAUNCHERS(bf16),
#if !defined(IRIST_PART)
        LAUNCHERS(f16),
#endif
    };
#if defined(IRISI_GEMM_HAS_MFMA_GFX942)
    static const problem_launcher bytes[2][IRIS_GEMM_PATTERNS] = {LAUNCHERS(f8e4m3_bf16), LAUNCHERS(f8e4m3fnuz_bf16)};
    if (p->dtype == IRIS_F8E4M3 || p->dtype == IRIS_F8E4M3FNUZ)
        return bytes[p->dtype == IRIS_F8E4M3FNUZ][pattern];
#endif
    return launchers[p->dtype != IRIS_BF16][pattern];
}

static void every_pattern(irist_rank *t, iris_dtype dtype, problem_shape shape, problem_options options, int laps)
{
    problem p;
    if (problem_create(&p, t, dtype, shape, options)) {
        problem_expect(&p);
        problem_by_loops(&p, laps);
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

#if !defined(IRIST_PART)
TEST_CASE("GEMM + all-scatter of f16 is right where rows are aligned", "[gemm][f16]")
{
    const iris_dtype dtype = IRIS_F16;
    irist_spmd(aligned_work, &dtype);
}
#endif

TEST_CASE("GEMM + all-scatter of bf16 is right where rows are aligned", "[gemm][bf16]")
{
    const iris_dtype dtype = IRIS_BF16;
    irist_spmd(aligned_work, &dtype);
}

#if defined(IRISI_GEMM_HAS_MFMA_GFX942)
TEST_CASE("GEMM + all-scatter of 8-bit floats is right where rows are aligned", "[gemm][f8]")
{
    const iris_dtype types[] = {IRIS_F8E4M3, IRIS_F8E4M3FNUZ};
    for (const iris_dtype &dtype : types)
        irist_spmd(aligned_work, &dtype);
}
#endif

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

/* Senders that compute the schedule's first tiles before they send, where the kernel has tiles of several widths. */
static void leads_work(irist_rank *t)
{
    static const struct {
        const char *row;
        uint32_t sender_tiles;
    } rows[] = {
        {"pattern=wg_specialized comm=1 width=256 sender_tiles=1", 1},
        {"pattern=wg_specialized comm=2 width=128 cluster=2 tail_tiles=4 tail_halves=4 edge_width=64 sender_tiles=1",
         1},
        {"pattern=wg_specialized comm=2 width=64 cluster=2 sender_tiles=2", 2},
        {"pattern=wg_specialized comm=3 width=64 sender_tiles=1", 1},
    };
    const uint32_t grid = 6 + 2 * (uint32_t)(t->rank % 3); /* ranks may differ, and some have no tiles left for it */
    const problem_options options[] = {
        {"leads", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, grid, 0, 0, 8},
        {"leads, rows end within 16 bytes", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, grid, 0, 0, 8},
        {"leads, everything", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 8, 0, 0, grid, 0, 0, 8},
        {"leads, C in no boxes", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 3, 0, 0, grid, 0, 0, 8},
    };
    for (const auto &row : rows)
        for (const problem_options &o : options) {
            const problem_shape several = {900, &o == options + 1 ? 1531 : 1536, 200}; /* bands may differ too */
            problem p;
            if (problem_create(&p, t, IRIS_BF16, several, o) && irisi_gemm_narrowest(p.plan.mainloop) != 0) {
                irist_ok(t, iris_gemm_release(t->world, &p.plan));
                problem_plan(&p, 0, row.row);
                irist_check(t, p.plan.tiling.sender_tiles == row.sender_tiles, "%s: senders compute %u tiles first",
                            row.row, p.plan.tiling.sender_tiles);
                problem_expect(&p);
                for (int lap = 0; lap < 3; lap++) {
                    const std::vector<unsigned char> before = problem_poison(&p);
                    irist_delay(t, (uint64_t)lap);
                    problem_launch(&p, IRIS_GEMM_AUTO);
                    irist_ok(t, iris_synchronize(t->world));
                    problem_check(&p, before, row.row);
                }
            }
            problem_free(&p);
        }
}

TEST_CASE("senders may compute tiles before they send", "[gemm][bf16][parts]") { irist_spmd(leads_work, nullptr); }

/* Fewer rows than a tile has: of A only those that are there are fetched, and K is cut into splits of two lengths. */
static void skinny_rows_work(irist_rank *t)
{
    const problem_options options[] = {
        {"few rows", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 22, 0, 0, 8},
        {"few rows, everything", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 8, 0, 0, 22, 0, 0, 8},
    };
    static const int64_t rows[] = {1, 16, 40, 72, 100, 136, 264};
    for (const int64_t m : rows)
        for (const problem_options &o : options) {
            const problem_shape shape = {m, 128, 2200};
            problem p;
            if (problem_create(&p, t, IRIS_BF16, shape, o, "skinny=0")) {
                const char *row = m > 256
                                      ? "pattern=fused_sequential width=64 split_k=2 cluster=2" /* the last is alone */
                                      : "pattern=fused_sequential width=64 split_k=4";
                if (irisi_gemm_most_split_k(p.plan.mainloop) >= 4) {
                    irist_ok(t, iris_gemm_release(t->world, &p.plan));
                    problem_plan(&p, 0, row);
                    irist_check(t, p.plan.tiling.split_k * p.plan.tiling.cluster == 4, "%u splits",
                                p.plan.tiling.split_k);
                }
                problem_expect(&p);
                problem_by_patterns(&p, 1);
            }
            problem_free(&p);
        }
}

TEST_CASE("few rows of a long K are multiplied right", "[gemm][bf16][parts]") { irist_spmd(skinny_rows_work, nullptr); }

/*
 * The same of a B whose rows start anywhere, in both layouts: Hopper has a loop of its own for it, where rows are few
 * and tiles not too wide, and else a copy. What A's rows are is nobody's business.
 */
static void unaligned_b_work(irist_rank *t)
{
    static const char *const tunes[] = {nullptr, "pattern=fused_sequential width=64 split_k=2",
                                        "pattern=fused_sequential width=128", "pattern=fused_sequential width=256"};
    static const int64_t rows[] = {1, 16, 40, 72, 100, 128, 136};
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    uint64_t turn = 0;
    for (const int64_t m : rows)
        for (int transposed = 0; transposed < 2; transposed++)
            for (const char *tune : tunes) {
                const int64_t pad = 1 + (int64_t)irist_pick(t->seed, turn, 0, 7), odd = turn % 2;
                const int64_t k = 640 + (int64_t)irist_pick(t->seed, turn, 1, 64);
                const problem_options plain = {
                    "sm90a_unaligned_b", 0, 0, 0, IRIS_ACTIVATION_NONE, transposed, odd, pad, odd, 0, 0, 22, 0, 0, 8};
                const uint32_t low = m == 100 && tune == nullptr ? 48 : 0; /* tiles, the last one lower */
                const problem_options full = {"sm90a_unaligned_b, all",
                                              1.5,
                                              -0.5,
                                              1,
                                              IRIS_ACTIVATION_GELU,
                                              transposed,
                                              odd,
                                              pad,
                                              3,
                                              low,
                                              0,
                                              22,
                                              0,
                                              0,
                                              8};
                const problem_shape shape = {m, 60 * t->ranks + 83 + 8 * pad, k};
                problem p;
                if (turn++ % (t->full ? 3 : 7) != (dtype == IRIS_BF16 ? 0u : 1u))
                    continue;
                if (problem_create(&p, t, dtype, shape, turn / 2 % 2 ? plain : full, "skinny=0")) {
                    const int hopper = irisi_gemm_most_split_k(p.plan.mainloop) > 1;
                    const int wide = hopper && tune && std::strstr(tune, "256");
                    if (hopper && tune) {
                        irist_ok(t, iris_gemm_release(t->world, &p.plan));
                        problem_plan(&p, 0, tune);
                    }
                    irist_check(t, !hopper || (p.plan.mainloop == IRISI_GEMM_SM90A_UNALIGNED_B) == (m <= 128 && !wide),
                                "m %lld, %s: mainloop %u", (long long)m, tune ? tune : "no row", p.plan.mainloop);
                    irist_check(
                        t, p.plan.mainloop != IRISI_GEMM_SM90A_UNALIGNED_B || p.plan.launcher.packs[1].to == nullptr,
                        "B is copied");
                    if (hopper || m == 16) { /* elsewhere it is a problem like others */
                        problem_expect(&p);
                        problem_by_patterns(&p, 1);
                    }
                }
                problem_free(&p);
            }
}

/* Three workgroups, and so several tiles each, of one width and of two, as high as C or lower, and K of few blocks. */
static void unaligned_b_schedule_work(irist_rank *t)
{
    static const struct {
        uint32_t tile_m, tile_n;
        const char *tune;
    } cuts[] = {{0, 0, nullptr},
                {32, 0, nullptr},
                {64, 33, nullptr},
                {48, 100, nullptr},
                {0, 0, "pattern=fused_sequential width=128 tail_tiles=2 tail_halves=2 edge_width=64"},
                {0, 0, "pattern=wave_specialized width=128 edge_width=64"}};
    static const int64_t depths[] = {40, 100, 700, 1500};
    int turn = 0;
    for (const auto &cut : cuts)
        for (const int64_t k : depths) {
            const problem_options o = {"sm90a_unaligned_b, several tiles",
                                       1.5,
                                       -0.5,
                                       0,
                                       IRIS_ACTIVATION_NONE,
                                       turn % 2,
                                       turn % 3,
                                       1 + turn % 7,
                                       1,
                                       cut.tile_m,
                                       cut.tile_n,
                                       3,
                                       1,
                                       0,
                                       8};
            const problem_shape shape = {turn % 4 ? 100 : 33, 460 * t->ranks + turn, k};
            problem p;
            if (turn++ % (t->full ? 1 : 5) != 0)
                continue;
            if (problem_create(&p, t, IRIS_BF16, shape, o, "skinny=0")) {
                const int hopper = irisi_gemm_most_split_k(p.plan.mainloop) > 1;
                if (hopper && cut.tune) {
                    irist_ok(t, iris_gemm_release(t->world, &p.plan));
                    problem_plan(&p, 0, cut.tune);
                }
                irist_check(t, !hopper || p.plan.mainloop == IRISI_GEMM_SM90A_UNALIGNED_B, "mainloop %u",
                            p.plan.mainloop);
                if (hopper || k == 100) { /* elsewhere it is a problem like others */
                    problem_expect(&p);
                    problem_by_patterns(&p, t->full ? 3 : 1);
                }
            }
            problem_free(&p);
        }
}

TEST_CASE("several tiles of rows of B that start anywhere are multiplied right", "[gemm][unaligned_b]")
{
    irist_spmd(unaligned_b_schedule_work, nullptr);
}

TEST_CASE("a bf16 B of rows that start anywhere is multiplied right", "[gemm][unaligned_b]")
{
    const iris_dtype dtype = IRIS_BF16;
    irist_spmd(unaligned_b_work, &dtype);
}

#if !defined(IRIST_PART)
TEST_CASE("an f16 B of rows that start anywhere is multiplied right", "[gemm][f16]")
{
    const iris_dtype dtype = IRIS_F16;
    irist_spmd(unaligned_b_work, &dtype);
}
#endif

#if defined(IRISI_GEMM_HAS_SKINNY_MFMA)
/*
 * The loop for few rows, by each of its tiles: A, B and C start anywhere or not, in both layouts, with K shorter than a
 * wave's step and longer than all waves' together, and more tiles than workgroups.
 */
static void skinny_work(irist_rank *t)
{
    static const char *const tunes[] = {"skinny=1 height=16 width=16", "skinny=1 height=16 width=32",
                                        "skinny=1 height=16 width=64", "skinny=1 height=32 width=32", "skinny=1"};
    static const int64_t depths[] = {7, 400, 33, 1150, 768};
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    uint64_t turn = 0;
    for (const char *tune : tunes)
        for (const int64_t k : depths)
            for (int transposed = 0; transposed < 2; transposed++) {
                const int64_t pad = (int64_t)irist_pick(t->seed, turn, 0, 8);
                const int64_t m = 1 + (int64_t)irist_pick(t->seed, turn, 1, 70);
                const int unit = irist_pick(t->seed, turn, 2, 3) ? 0 : 8;
                const problem_options plain = {"few",
                                               0,
                                               0,
                                               0,
                                               IRIS_ACTIVATION_NONE,
                                               transposed,
                                               unit ? 0 : pad % 3,
                                               unit ? 0 : pad,
                                               unit ? 8 : pad % 4,
                                               0,
                                               0,
                                               5,
                                               2,
                                               0,
                                               unit};
                const problem_options full = {"few, all", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, transposed, pad, 1, 3,
                                              0, 0, 22, 3, 0, unit};
                const problem_shape shape = {m, 40 * t->ranks + 3 + (int64_t)irist_pick(t->seed, turn, 3, 90), k};
                problem p;
                if (turn++ % (t->full ? 2 : 5) != (dtype == IRIS_BF16 ? 0u : 1u))
                    continue;
                if (problem_create(&p, t, dtype, shape, turn % 3 ? plain : full, tune)) {
                    const int copies = p.plan.launcher.packs[0].to || p.plan.launcher.packs[1].to;
                    irist_check(t, irisi_gemm_loop_is(p.plan.mainloop, IRISI_GEMM_LOOPS_SKINNY) &&
                                       !(copies && irisi_gemm_loop_is(p.plan.mainloop, IRISI_GEMM_LOOPS_UNALIGNED_A)),
                                "%s: mainloop %u, or copies", tune, p.plan.mainloop);
                    iris_gemm_row row;
                    irist_ok(t, iris_gemm_choice(t->world, &p.plan, &row));
                    irist_check(t, std::strstr(row.text, " skinny=1") != nullptr, "the choice is '%s'", row.text);
                    problem_expect(&p);
                    problem_by_patterns(&p, t->full ? 3 : 1);
                }
                problem_free(&p);
            }
}

TEST_CASE("few rows of bf16 are multiplied right wherever rows start", "[gemm][skinny]")
{
    const iris_dtype dtype = IRIS_BF16;
    irist_spmd(skinny_work, &dtype);
}

#if !defined(IRIST_PART)
TEST_CASE("few rows of f16 are multiplied right wherever rows start", "[gemm][skinny]")
{
    const iris_dtype dtype = IRIS_F16;
    irist_spmd(skinny_work, &dtype);
}
#endif
#endif

#if defined(IRISI_GEMM_HAS_GEMV)
/* A plan's workgroups: all of the device, or few enough where ranks are threads that share one. */
static uint32_t gemv_all(const irist_rank *t)
{
    const char *spawn = std::getenv("IRIS_SPAWN");
    return t->ranks > 1 && spawn != nullptr && std::strcmp(spawn, "thread") == 0 ? 22 : 0;
}

/*
 * The loop for up to 8 rows, by each of its tiles and numbers of splits: A, B and C start anywhere or not, in both
 * layouts, with K shorter than a step and longer than the pieces of A that are copied, and more rows than a tile has.
 * With all workgroups a GEMM alone and fused_sequential cut K into splits; with some, they have several tiles each.
 * Ranks may differ in that.
 */
static void gemv_work(irist_rank *t)
{
    static const char *const tunes[] = {
        "skinny=2",           "skinny=2 split_k=1",          "skinny=2 split_k=2", "skinny=2 split_k=4",
        "skinny=2 split_k=8", "skinny=2 width=16 split_k=2", "skinny=2 width=32",  "skinny=2 width=64 split_k=8"};
    static const int64_t depths[] = {7, 400, 1031, 2500, 768, 8200};
    const iris_dtype dtype = *(const iris_dtype *)t->arg;
    uint64_t turn = 0;
    for (const char *tune : tunes)
        for (const int64_t k : depths)
            for (int transposed = 0; transposed < 2; transposed++) {
                const int aligned = std::strstr(tune, "width") != nullptr; /* narrow tiles, of a B that is n x k */
                const int64_t pad = (int64_t)irist_pick(t->seed, turn, 0, 8);
                const int64_t m = 1 + (int64_t)irist_pick(t->seed, turn, 1, k > 2000 ? 9 : 20);
                const int unit = !aligned && irist_pick(t->seed, turn, 2, 3) ? 0 : 8;
                /* All, some, or some on every second rank, whose kernel has no clusters beside those that have. */
                const uint64_t which = irist_pick(t->seed, turn, 4, 3);
                const uint32_t all = gemv_all(t), some = which == 0 || (which == 1 && t->rank % 2) ? 5 : all;
                const problem_options plain = {"gemv",
                                               0,
                                               0,
                                               0,
                                               IRIS_ACTIVATION_NONE,
                                               transposed,
                                               unit ? 0 : pad % 3,
                                               unit ? 0 : pad,
                                               unit ? 8 : pad % 4,
                                               0,
                                               0,
                                               some,
                                               2,
                                               0,
                                               unit};
                const problem_options full = {"gemv, all",
                                              1.5,
                                              -0.5,
                                              1,
                                              IRIS_ACTIVATION_GELU,
                                              transposed,
                                              aligned ? 8 : pad,
                                              aligned ? 0 : pad % 5,
                                              3,
                                              0,
                                              0,
                                              all,
                                              all / 8,
                                              0,
                                              unit};
                const problem_shape shape = {m, 70 * t->ranks + 3 + (int64_t)irist_pick(t->seed, turn, 3, 90), k};
                problem p;
                if (turn++ % (t->full ? 2 : 5) != (dtype == IRIS_BF16 ? 0u : 1u) || (aligned && !transposed))
                    continue;
                if (problem_create(&p, t, dtype, shape, turn % 3 ? plain : full, tune)) {
                    irist_check(t,
                                p.plan.mainloop == IRISI_GEMM_GEMV && !p.plan.launcher.packs[0].to &&
                                    !p.plan.launcher.packs[1].to,
                                "%s: mainloop %u, or copies", tune, p.plan.mainloop);
                    iris_gemm_row row;
                    irist_ok(t, iris_gemm_choice(t->world, &p.plan, &row));
                    irist_check(t, std::strstr(row.text, " skinny=2") != nullptr, "the choice is '%s'", row.text);
                    problem_expect(&p);
                    problem_by_patterns(&p, t->full ? 3 : 1);
                }
                problem_free(&p);
            }
}

/* Sums of any values, cut into splits of K that different workgroups have: the same bits by every launch. */
static void gemv_repeat_work(irist_rank *t)
{
    const iris_dtype dtype = IRIS_BF16;
    for (int transposed = 0; transposed < 2; transposed++) {
        const problem_options options = {"repeats",   0, 0, 0, IRIS_ACTIVATION_NONE, transposed, 1, 3, 1, 0, 0,
                                         gemv_all(t), 0, 1, 0};
        const problem_shape shape = {7, 70 * t->ranks + 5, 4200};
        problem p;
        const char *tune = t->ranks > 1 ? "skinny=2 split_k=8 pattern=fused_sequential"
                                        : "skinny=2 split_k=8 pattern=bulk_synchronous";
        if (problem_create(&p, t, dtype, shape, options, tune)) {
            problem_expect(&p);
            std::vector<unsigned char> before = problem_poison(&p);
            problem_launch(&p, IRIS_GEMM_AUTO);
            problem_check(&p, before, "auto");
            const std::vector<unsigned char> first = irist_download(t, p.c, p.c_bytes);
            for (int lap = 0; lap < (int)irist_epochs(t, 4, 100); lap++) {
                problem_poison(&p);
                irist_delay(t, (uint64_t)lap);
                problem_launch(&p, IRIS_GEMM_AUTO);
                irist_check(t, irist_download(t, p.c, p.c_bytes) == first, "lap %d differs from the first", lap);
            }
        }
        problem_free(&p);
    }
}

TEST_CASE("K cut into splits for up to 8 rows gives the same bits every time", "[gemm][skinny]")
{
    irist_spmd(gemv_repeat_work, nullptr);
}

TEST_CASE("up to 8 rows of bf16 are multiplied right wherever rows start", "[gemm][skinny]")
{
    const iris_dtype dtype = IRIS_BF16;
    irist_spmd(gemv_work, &dtype);
}

#if !defined(IRIST_PART)
TEST_CASE("up to 8 rows of f16 are multiplied right wherever rows start", "[gemm][skinny]")
{
    const iris_dtype dtype = IRIS_F16;
    irist_spmd(gemv_work, &dtype);
}
#endif
#endif

/*
 * Pairs that compute parts of full tiles together, a half of K each, where the kernel has tiles of several widths:
 * early and late, with an odd number of blocks, a last row of tiles that has no partner, and edges between them. Of 64
 * rows they compute none together, since one warpgroup has no part in them, though there are two rows of low tiles.
 */
static void pair_split_k_work(irist_rank *t)
{
    static const char *const rows[] = {
        "pattern=fused_sequential width=256 cluster=2 tail_tiles=9 tail_halves=9 edge_width=64",
        "pattern=wg_specialized comm=2 width=256 cluster=2 head_halves=1 tail_tiles=4 tail_halves=1 edge_width=64",
        "pattern=wave_specialized width=128 cluster=2 head_halves=1 tail_tiles=2 tail_halves=2 edge_width=128",
        "pattern=wg_specialized comm=2 width=256 cluster=2 tail_tiles=4 tail_halves=4",
    };
    const problem_options options[] = {
        {"pair_split_k", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 6, 0, 0, 8},
        {"pair_split_k, everything", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 8, 0, 0, 6, 0, 0, 8},
        {"pair_split_k, C in no boxes", 1.5, -0.5, 1, IRIS_ACTIVATION_GELU, 1, 0, 8, 3, 0, 0, 6, 0, 0, 8},
        {"few rows in low tiles", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 32, 0, 6, 0, 0, 8},
    };
    for (const problem_options &o : options) {
        const int64_t wide = 275 * (t->ranks > 4 ? t->ranks : 4); /* a full tile and an edge in each band, or more */
        const problem_shape shape = {o.tile_m ? 64 : 264, wide, 2200};
        problem p;
        if (problem_create(&p, t, IRIS_BF16, shape, o) && irisi_gemm_narrowest(p.plan.mainloop) != 0) {
            problem_expect(&p);
            for (const char *row : rows) {
                irist_ok(t, iris_gemm_release(t->world, &p.plan));
                problem_plan(&p, 0, row);
                uint32_t pair_split_k = 0;
                for (const irisi_tile_run &run : p.plan.tiling.runs)
                    pair_split_k += run.tiles * run.pair_split_k;
                irist_check(t, (pair_split_k > 0) == (shape.m > 64), "%s: pairs compute %u tiles together", row,
                            pair_split_k);
                problem_by_patterns(&p, t->full ? 3 : 1);
            }
        }
        problem_free(&p);
    }
}

TEST_CASE("pairs may compute tiles together", "[gemm][bf16][parts]") { irist_spmd(pair_split_k_work, nullptr); }

/* ---- copies of operands whose rows start elsewhere ---- */

IRIS_KERNEL(pack_kernel, irisi_gemm_pack_launch, a, IRISI_PACK_LANES)
{
    irisi_gemm_pack_grid(&a->packs[0]);
    irisi_gemm_pack_grid(&a->packs[1]);
}

enum { PACK_ROOM = 1 << 18, PACK_EDGE = 64 };

/* A matrix of any size, element and place in `from`, and its copy's place in `to`. */
static irisi_gemm_packing pack_case(uint64_t seed, uint64_t turn, char *from, char *to)
{
    const uint32_t element = 1u << irist_pick(seed, turn, 0, 4);
    const uint32_t widest = irist_pick(seed, turn, 1, 4) == 0 ? 9000 : 400; /* parts of a row, and narrow rows */
    irisi_gemm_packing p;
    p.row_bytes = (1 + irist_pick(seed, turn, 2, widest)) * element;
    p.from_pitch = p.row_bytes + irist_pick(seed, turn, 3, 20) * element;
    p.to_pitch = (p.row_bytes + 15) / 16 * 16 + 16 * irist_pick(seed, turn, 4, 3);
    const uint64_t wider = p.to_pitch > p.from_pitch ? p.to_pitch : p.from_pitch;
    p.rows = 1 + irist_pick(seed, turn, 5, (uint32_t)((PACK_ROOM - 2 * PACK_EDGE) / wider));
    p.from = from + PACK_EDGE + element * irist_pick(seed, turn, 6, 16 / element);
    p.transposed = irist_pick(seed, turn, 10, 2) ? element : 0;
    if (p.transposed) { /* the copy has a row for each column, and no room between them */
        const uint64_t columns = p.row_bytes / element;
        const uint64_t most = (PACK_ROOM - 2 * PACK_EDGE) / columns / 16 * 16 / element;
        if (p.rows > most)
            p.rows = 1 + irist_pick(seed, turn, 11, (uint32_t)most);
        p.to_pitch = (p.rows * element + 15) / 16 * 16;
    }
    p.to = irist_pick(seed, turn, 7, 8) == 0 ? nullptr : to + PACK_EDGE;
    return p;
}

/* The copy has every row and zeros up to the next 16 bytes, and is as it was everywhere else. */
static void pack_check(irist_rank *t, const irisi_gemm_packing &p, const char *from, char *to,
                       const std::vector<unsigned char> &source, const char *what)
{
    std::vector<unsigned char> expect = irist_poisoned(PACK_ROOM);
    for (uint64_t column = 0; p.to && p.transposed && column < p.row_bytes / p.transposed; column++) {
        unsigned char *line = &expect[PACK_EDGE + column * p.to_pitch];
        std::memset(line, 0, (p.rows * p.transposed + 15) / 16 * 16);
        for (uint64_t row = 0; row < p.rows; row++)
            std::memcpy(line + row * p.transposed,
                        &source[(size_t)((const char *)p.from - from) + row * p.from_pitch + column * p.transposed],
                        p.transposed);
    }
    for (uint64_t row = 0; p.to && !p.transposed && row < p.rows; row++) {
        unsigned char *line = &expect[PACK_EDGE + row * p.to_pitch];
        std::memset(line, 0, (p.row_bytes + 15) / 16 * 16);
        std::memcpy(line, &source[(size_t)((const char *)p.from - from) + row * p.from_pitch], p.row_bytes);
    }
    const std::vector<unsigned char> got = irist_download(t, to, PACK_ROOM);
    size_t at = 0;
    while (at < got.size() && got[at] == expect[at])
        at++;
    irist_check(t, at == got.size(),
                "%s%s, %llu rows of %llu bytes, pitch %llu to %llu, from %llu: byte %zu is %u, not %u", what,
                p.transposed ? ", transposed" : "", (unsigned long long)p.rows, (unsigned long long)p.row_bytes,
                (unsigned long long)p.from_pitch, (unsigned long long)p.to_pitch,
                (unsigned long long)((const char *)p.from - from), at, at < got.size() ? got[at] : 0u,
                at < got.size() ? expect[at] : 0u);
}

static void pack_work(irist_rank *t)
{
    char *from[2], *to[2];
    for (int i = 0; i < 2; i++) {
        from[i] = (char *)iris_malloc(t->world, PACK_ROOM);
        to[i] = (char *)iris_malloc(t->world, PACK_ROOM);
        irist_check(t, from[i] && to[i], "%s", iris_error_string(t->world));
    }
    std::vector<unsigned char> source(PACK_ROOM);
    for (size_t i = 0; i < source.size(); i++)
        source[i] = (unsigned char)irist_random(t->seed, 5, i);
    for (uint64_t turn = 0; t->failures == 0 && turn < irist_laps(40, 150); turn++) {
        irisi_gemm_pack_launch a;
        for (int i = 0; i < 2; i++) {
            irist_upload(t, from[i], source);
            irist_upload(t, to[i], irist_poisoned(PACK_ROOM));
            a.packs[i] = pack_case(t->seed + (uint64_t)t->rank, 2 * turn + (uint64_t)i, from[i], to[i]);
        }
        const uint32_t lanes = 64u << irist_pick(t->seed, turn, 8, 3);
        irist_run(t, pack_kernel, a, iris_grid(1 + irist_pick(t->seed, turn, 9, 5), lanes));
        for (int i = 0; i < 2; i++) {
            pack_check(t, a.packs[i], from[i], to[i], source, i ? "second matrix" : "first matrix");
            irist_check(t, irist_download(t, from[i], PACK_ROOM) == source, "the source was written");
        }
    }
    for (int i = 0; i < 2; i++) {
        irist_ok(t, iris_free(t->world, to[i]));
        irist_ok(t, iris_free(t->world, from[i]));
    }
}

TEST_CASE("aligned copies of matrices have every byte of every row", "[gemm]") { irist_spmd(pack_work, nullptr); }

/* Where a plan has copies, every launch makes them before anything reads them: the plain loop with copies shows it. */
static void copies_work(irist_rank *t)
{
    const problem_options options = {"copies", 1.5, -0.5, 1, IRIS_ACTIVATION_NONE, 1, 3, 1, 5, 0, 0, 3, 1, 0, 0};
    const problem_shape shape = {67, 130, 45};
    const uint64_t pitch = 112; /* of the copies: 45 elements of 2 bytes, and more */
    problem p;
    char *copies[2] = {(char *)iris_malloc(t->world, 130 * pitch), (char *)iris_malloc(t->world, 130 * pitch)};
    irist_check(t, copies[0] && copies[1], "%s", iris_error_string(t->world));
    if (problem_create(&p, t, IRIS_BF16, shape, options) && irist_ok(t, iris_gemm_release(t->world, &p.plan)) &&
        problem_plan(&p, 1)) {
        problem_expect(&p);
        for (int i = 0; i < 2; i++) {
            irisi_gemm_packing *copy = &p.plan.launcher.packs[i];
            copy->from = i ? p.b : p.a, copy->from_pitch = 2 * (uint64_t)(i ? p.ldb : p.lda);
            copy->rows = i ? p.own.count : (uint64_t)shape.m, copy->row_bytes = 2 * (uint64_t)shape.k;
            copy->to = copies[i], copy->to_pitch = pitch;
        }
        p.plan.operands.a = copies[0], p.plan.operands.b = copies[1],
        p.plan.operands.lda = p.plan.operands.ldb = pitch / 2;
        for (int pattern = 0; pattern < IRIS_GEMM_PATTERNS; pattern++) {
            const std::vector<unsigned char> before = problem_poison(&p);
            for (int i = 0; i < 2; i++)
                irist_ok(t, iris_memset(t->world, copies[i], 0xff, 130 * pitch));
            problem_launch(&p, pattern);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, iris_gemm_pattern_name((iris_gemm_pattern)pattern));
        }
        std::memset(p.plan.launcher.packs, 0, 2 * sizeof *p.plan.launcher.packs); /* this memory is not the plan's */
    }
    problem_free(&p);
    irist_ok(t, iris_free(t->world, copies[1]));
    irist_ok(t, iris_free(t->world, copies[0]));
}

TEST_CASE("every launch of a plan with copies makes them first", "[gemm][bf16]") { irist_spmd(copies_work, nullptr); }

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
