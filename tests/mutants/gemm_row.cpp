/* SPDX-License-Identifier: MIT */
/*
 * The order that a GEMM + all-scatter keeps between launches, for mutants.py: small, since it is compiled again for
 * each of them; tests/gemm has the real test.
 *
 * One stream, no host in between: C is poisoned, the GEMM runs, C is copied, and copied again by who dawdles. Poison
 * in a copy: the GEMM ended before its peers' tiles were here. Two copies that differ, or poison over tiles: a peer's
 * next GEMM did not wait for this rank's.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F64
#endif
#include "../gemm/problem.h"

#include <iris/bytes.h>

problem_launcher problem_launcher_of(const problem *, int pattern)
{
    static const problem_launcher launchers[IRIS_GEMM_PATTERNS] = {iris_gemm_all_scatter_f64,
                                                                   iris_gemm_all_scatter_bulk_synchronous_f64,
                                                                   iris_gemm_all_scatter_producer_consumer_f64,
                                                                   iris_gemm_all_scatter_fused_sequential_f64,
                                                                   iris_gemm_all_scatter_wg_specialized_f64,
                                                                   iris_gemm_all_scatter_wave_specialized_f64};
    return launchers[pattern];
}

struct row_args {
    char *c, *kept;
    size_t bytes;
    uint32_t turns; /* how long to dawdle */
    double poison;
};

IRIS_KERNEL(poison_c, row_args, a, 64)
{
    for (size_t i = iris_wg_lane(); i < a->bytes / 8; i += iris_wg_lanes())
        ((double *)(void *)a->c)[i] = a->poison;
}

IRIS_KERNEL(keep_c, row_args, a, 64)
{
    irisi_copy_wg(a->kept, a->c, a->bytes);
    for (uint32_t i = 0; i < a->turns; i++)
        iris_pause(i);
    irisi_copy_wg(a->kept + a->bytes, a->c, a->bytes);
}

static void row(irist_rank *t)
{
    enum { LAPS = 40 };
    static const int patterns[] = {IRIS_GEMM_BULK_SYNCHRONOUS,  IRIS_GEMM_FUSED_SEQUENTIAL, IRIS_GEMM_FUSED_SEQUENTIAL,
                                   IRIS_GEMM_WG_SPECIALIZED,    PROBLEM_BY_PUTS,            IRIS_GEMM_FUSED_SEQUENTIAL,
                                   IRIS_GEMM_PRODUCER_CONSUMER, IRIS_GEMM_WAVE_SPECIALIZED};
    problem p;
    /* By packets each launch has another result, or one that takes an epoch's packets for the next one's would do. */
    const double beta = t->arg ? 0.5 : 0;
    const problem_options options = {"in a row", 1, beta, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 16, 16, 3, 1, 0, 0};
    /* A band for each of 8 ranks, the last a narrow one; or one for the first two alone, whose tiles go as packets. */
    const problem_shape shape = {40, t->arg ? 20 : 140, 8};
    const iris_launch_config one = iris_grid(1, 64);
    const iris_stream stream = iris_default_stream(t->world);
    if (problem_create(&p, t, IRIS_F64, shape, options, "ll=1")) {
        irist_check(t, t->ranks == 1 || p.plan.exchange.ll.banks != nullptr, "there is no room for packets");
        row_args args = {p.c, (char *)iris_malloc(t->world, 2 * LAPS * p.c_bytes), p.c_bytes, 0, 0};
        char *const kept = args.kept;
        irist_ok(t, iris_launch(t->world, poison_c, &args, sizeof args, &one, stream));
        irist_meet(t);
        problem_launch(&p, IRIS_GEMM_BULK_SYNCHRONOUS);
        irist_meet(t);
        const std::vector<unsigned char> product = irist_download(t, p.c, p.c_bytes);
        irist_meet(t);
        for (uint32_t lap = 0; lap < LAPS; lap++) {
            args.kept = kept + 2 * lap * p.c_bytes;
            args.turns = irist_pick(t->seed, 60 + (uint64_t)t->rank, lap, 4) == 0 ? 80 : 0;
            args.poison = t->arg ? lap : 1e300;
            irist_ok(t, iris_launch(t->world, poison_c, &args, sizeof args, &one, stream));
            problem_launch(&p, t->arg ? (int)IRIS_GEMM_FUSED_SEQUENTIAL : patterns[lap % 8]);
            irist_ok(t, iris_launch(t->world, keep_c, &args, sizeof args, &one, stream));
        }
        irist_ok(t, iris_synchronize(t->world));
        for (uint32_t copy = 0; copy < 2 * LAPS; copy++) {
            std::vector<unsigned char> want = product;
            for (size_t i = 0; i < want.size(); i += 8)
                element_set(IRIS_F64, &want[i], element_get(IRIS_F64, &want[i]) + beta * (copy / 2)); /* exactly */
            irist_check(t, irist_download(t, kept + copy * p.c_bytes, p.c_bytes) == want,
                        "launch %u, copy %u of C is wrong", copy / 2, copy % 2);
        }
        irist_meet(t);
        irist_ok(t, iris_free(t->world, kept));
    }
    problem_free(&p);
}

TEST_CASE("GEMMs in a row keep out of each other's C", "[gemm]") { irist_spmd(row, nullptr); }

TEST_CASE("GEMMs by packets in a row, some ranks without columns", "[gemm]")
{
    const int few = 1;
    irist_spmd(row, &few);
}
