/* SPDX-License-Identifier: MIT */
/*
 * waits.c: how long kernels take that do little but wait for each other, every rank for its neighbours or for all.
 *
 *   waits [OPTION...] [ranks [lanes [repeats]]]        4 ranks, 256 lanes a workgroup, 5 repetitions
 *
 * Beside other programs that want the same cores it says what waits lose there (the host platform):
 *
 *   build/bench/waits; for i in 1 2 3 4; do sh -c 'while :; do :; done' & done; build/bench/waits; kill $(jobs -p)
 */
#include <iris/bench.h>
#include <iris/collective/launch.h>
#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_two_shot.h>

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
    iris_bench_suite suite;
    int lanes;
} waits_options;

/* One rank's kernels. */
typedef struct waits_job {
    const waits_options *o;
    waits_args args;
} waits_job;

static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    waits_job *j = (waits_job *)arg;
    const iris_launch_config grid = iris_cooperative(2, (uint32_t)j->o->lanes);
    (void)turn;
    if (j->args.how != 0)
        return iris_launch(w, sums, &j->args, sizeof j->args, &grid, stream);
    const iris_status status = iris_launch(w, jacobi, &j->args, sizeof j->args, &grid, stream);
    j->args.before += STEPS;
    return status;
}

/* One case; its last signals must stand where its steps put them. */
static iris_status measure(iris_bench_point *p)
{
    waits_job *j = (waits_job *)p->arg;
    const int rank = iris_rank(p->world), ends = 4 - (rank == 0) - (rank == iris_world_size(p->world) - 1);
    iris_signal here[4];
    int right = 0;
    j->args.how = (int)(p->benchmark - p->suite->benchmark);
    p->row.dtype = j->args.how == 0 ? "f64" : "f32", p->row.workgroups = 2, p->row.lanes = j->o->lanes;
    iris_status status = iris_bench_time(p, NULL, submit, j);
    if (status == IRIS_OK)
        status = iris_memcpy(p->world, here, j->args.here, sizeof here);
    for (int i = 0; i < 4 && status == IRIS_OK; i++)
        right += here[i].value == j->args.before && j->args.before > 0;
    p->row.ok = j->args.how != 0 || right == ends;
    return status;
}

static int rank_main(iris_world *w, void *options)
{
    waits_job j;
    memset((void *)&j, 0, sizeof j);
    j.o = (const waits_options *)options;
    j.args.ctx = iris_device_ctx(w);
    j.args.line = iris_zeros_f64(w, 4 * BANK);
    j.args.here = iris_signals(w, 4);
    j.args.tiles = iris_zeros_f32(w, TILES * TILE);
    IRIS_TRY(iris_collective_channel(w, &j.args.ch, 0));
    IRIS_TRY(iris_barrier(w));
    return iris_bench_run(w, &j.o->suite, &j);
}

int main(int argc, char **argv)
{
    static waits_options o;
    iris_bench_suite_init(&o.suite, "waits", "waits: kernels that do little but wait [ranks [lanes [repeats]]]");
    o.suite.ranks = 4, o.suite.time.repeats = 5, o.suite.takes_words = 1, o.lanes = 256;
    for (int i = 0; i < CASES; i++)
        iris_bench_add(&o.suite, cases[i], measure);
    iris_bench_option_int(&o.suite, 'l', "lanes", &o.lanes, "lanes of a workgroup");
    const int done = iris_bench_parse(&o.suite, argc, argv);
    if (done >= 0)
        return done;
    int *const given[] = {&o.suite.ranks, &o.lanes, &o.suite.time.repeats};
    static const char *const names[] = {"ranks", "lanes", "repeats"};
    static const int most[] = {IRISI_MOST_RANKS, 1024, IRIS_BENCH_MOST_REPEATS};
    for (int i = 0; i < o.suite.words && i < 3; i++)
        if (!irisi_bench_int(argv[0], names[i], o.suite.word[i], 1, most[i], given[i]))
            return 2;
    o.suite.about.repeats = o.suite.time.repeats;
    return iris_spawn(o.suite.ranks, rank_main, &o);
}
