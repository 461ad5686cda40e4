/* SPDX-License-Identifier: MIT */
/*
 * waits.c: how long kernels take that do little but wait for each other, every rank for its neighbours or for all.
 *
 *   waits [ranks [lanes [laps]]]        4 ranks, 256 lanes a workgroup, 5 laps
 *
 * Beside other programs that want the same cores it says what waits lose there (the host platform):
 *
 *   build/bench/waits; for i in 1 2 3 4; do sh -c 'while :; do :; done' & done; build/bench/waits; kill $(jobs -p)
 */
#include <iris/collective/launch.h>
#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CELLS = 256, BANK = CELLS + 2, STEPS = 1000, TILES = 40, TILE = 256, CASES = 3 };
static const char *const cases[CASES] = {"jacobi", "all_reduce_ll", "all_reduce_two_shot"};

typedef struct waits_args {
    iris_ctx ctx;
    iris_channel ch;
    double *line;      /* [workgroup][bank]: cells of a line, and one of each neighbour's */
    iris_signal *here; /* [workgroup][side]: steps that the neighbour has sent */
    float *tiles;
    uint32_t before; /* steps of earlier launches */
    int how;
} waits_args;

/* A workgroup's edge goes into its neighbour's bank of the next step. */
IRIS_DEVICE void send_edge(const waits_args *a, int segment, int side, const double *bank, uint32_t step)
{
    const int other = segment + (side ? 1 : -1), wg = other % 2;
    if (other < 0 || other >= 2 * a->ctx.world)
        return;
    double *halo = a->line + (2 * (uint32_t)wg + step % 2) * BANK + (side ? 0 : CELLS + 1);
    iris_put_signal_f64_wg(&a->ctx, halo, bank + (side ? CELLS : 1), 1, a->here + 2 * wg + (side ? 0 : 1),
                           a->before + step, IRIS_SIGNAL_SET, other / 2);
}

/* Each of two workgroups a rank has a part of the line: a step is the mean of both neighbours, for every cell. */
IRIS_KERNEL(jacobi, waits_args, a, 256)
{
    const int segment = a->ctx.rank * 2 + (int)iris_workgroup();
    double *banks = a->line + 2 * iris_workgroup() * BANK;
    for (uint32_t step = 1; step <= STEPS; step++) {
        const double *from = banks + (step - 1) % 2 * BANK;
        double *to = banks + step % 2 * BANK;
        for (size_t i = 1 + iris_wg_lane(); i <= CELLS; i += iris_wg_lanes())
            to[i] = 0.5 * (from[i - 1] + from[i + 1]);
        iris_sync_wg();
        send_edge(a, segment, 0, to, step);
        send_edge(a, segment, 1, to, step);
        if (segment > 0)
            iris_wait_ge_wg(&a->ctx, a->here + 2 * iris_workgroup(), a->before + step);
        if (segment < 2 * a->ctx.world - 1)
            iris_wait_ge_wg(&a->ctx, a->here + 2 * iris_workgroup() + 1, a->before + step);
    }
}

IRIS_KERNEL(sums, waits_args, a, 256)
{
    const iris_team all = iris_team_world(&a->ctx);
    for (uint32_t t = iris_workgroup(); t < TILES; t += iris_workgroups()) {
        float *x = a->tiles + t * TILE;
        if (a->how == 1)
            iris_all_reduce_ll_sum_f32_wg(&a->ctx, &a->ch, all, iris_workgroup(), x, x, TILE);
        else
            iris_all_reduce_two_shot_sum_f32_wg(&a->ctx, &a->ch, all, iris_workgroup(), x, x, TILE);
    }
}

typedef struct waits_options {
    int lanes, laps;
} waits_options;

static double seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int rank_main(iris_world *w, void *options)
{
    const waits_options *o = (const waits_options *)options;
    const iris_launch_config grid = iris_cooperative(2, (uint32_t)o->lanes);
    double sum[CASES] = {0}, best[CASES] = {1e9, 1e9, 1e9};
    waits_args a;
    memset((void *)&a, 0, sizeof a);
    a.ctx = iris_device_ctx(w);
    a.line = iris_zeros_f64(w, 4 * BANK);
    a.here = iris_signals(w, 4);
    a.tiles = iris_zeros_f32(w, TILES * TILE);
    IRIS_TRY(iris_collective_channel(w, &a.ch, 0));
    for (int lap = 0; lap < o->laps; lap++, a.before += STEPS)
        for (a.how = 0; a.how < CASES; a.how++) {
            IRIS_TRY(iris_barrier(w));
            const double start = seconds();
            if (a.how == 0)
                IRIS_TRY(iris_launch(w, jacobi, &a, sizeof a, &grid, iris_default_stream(w)));
            else
                IRIS_TRY(iris_launch(w, sums, &a, sizeof a, &grid, iris_default_stream(w)));
            IRIS_TRY(iris_synchronize(w));
            const double took = seconds() - start;
            sum[a.how] += took;
            best[a.how] = took < best[a.how] ? took : best[a.how];
        }
    IRIS_TRY(iris_barrier(w));
    for (int i = 0; i < CASES && iris_rank(w) == 0; i++)
        printf("%-20s %9.3f ms, the quickest of %d %9.3f\n", cases[i], 1e3 * sum[i] / o->laps, o->laps, 1e3 * best[i]);
    return 0;
}

int main(int argc, char **argv)
{
    waits_options o;
    o.lanes = argc > 2 ? atoi(argv[2]) : 256;
    o.laps = argc > 3 ? atoi(argv[3]) : 5;
    return iris_spawn(argc > 1 ? atoi(argv[1]) : 4, rank_main, &o);
}
