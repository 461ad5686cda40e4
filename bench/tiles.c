/* SPDX-License-Identifier: MIT */
/*
 * tiles.c: a kernel that computes tiles of bf16 and all-reduces each as soon as it is there, beside what it is made of:
 *
 *   compute      the same arithmetic alone, on every compute unit
 *   all_reduce   the library's all-reduce of all tiles as one message, two_shot
 *   communicate  the same all-reduces, tile by tile in this kernel, alone
 *   both         on each compute unit a workgroup that computes, and EACH that all-reduce what is done
 *
 * A grid does not say which workgroups share a compute unit: with the first ones computing, several of these shared one
 * while others had none. So a workgroup's part is its turn on its unit. A wave of its own tells that a tile is there:
 * the fence before takes microseconds while much is on its way, which the arithmetic need not wait for. And workgroups
 * have few lanes: with 320 each, too many loads are under way at once.
 *
 * The arithmetic is made so long that compute takes as long as all_reduce. `ceiling` of both is the longer of the two,
 * in microseconds; its ratio is 1 when one is hidden behind the other.
 */
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/wait.h>

#include "bench.h"

enum { TILE = 32 << 10, LANES = 160 };                  /* elements; lanes of a workgroup, of which 4 in 5 compute */
enum { EACH = 2, CHANNELS = 4 };                        /* most channels: for a slice for each that all-reduces */
enum { COMPUTE = 1, COMMUNICATE = 2 };                  /* what workgroups do */
enum { NEXT_TILE, NEXT_SLICE, CHOSEN, COMPUTERS, LEFT, TURNS, COUNTERS = TURNS + IRIS_COMPUTE_UNIT_IDS };

typedef struct tiles_args {
    iris_ctx ctx;
    iris_channel ch[CHANNELS];
    iris_bf16 *sums, *parts; /* symmetric: `tiles` tiles */
    iris_signal *done;       /* a signal for each tile: the turn in which it was computed */
    uint64_t turn;
    uint64_t *counters; /* COUNTERS, all 0 when a launch begins and ends */
    uint32_t tiles, channels, slices, what, steps; /* slices: of each channel */
    float one, zero; /* what the compiler does not know */
    uint64_t *wrong;
} tiles_args;

/* Whole numbers so small that bf16 holds their sums. */
IRIS_HOST_DEVICE float element(int rank, size_t i) { return (float)((uint32_t)(i + 3 * (size_t)rank) % 13); }

IRIS_DEVICE void compute(const tiles_args *a, uint32_t tile)
{
    iris_bf16 *part = a->parts + (size_t)tile * TILE;
    const uint32_t lanes = iris_wg_lanes() / 5 * 4;
    for (size_t i = iris_wg_lane(); iris_wg_lane() < lanes && i < TILE; i += 4 * lanes) {
        float x[4];
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++)
            x[u] = element(a->ctx.rank, (size_t)tile * TILE + i + u * lanes);
        for (uint32_t k = 0; k < a->steps; k++) {
            IRISI_UNROLL
            for (uint32_t u = 0; u < 4; u++)
                x[u] = x[u] * a->one + a->zero;
        }
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++)
            part[i + u * lanes] = iris_narrow_bf16(x[u]);
    }
}

IRIS_DEVICE uint32_t next(const tiles_args *a, uint32_t counter)
{
    return (uint32_t)irisi_atomic_add_u64(a->counters + counter, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* The same for every lane of the workgroup. */
IRIS_DEVICE uint32_t next_wg(const tiles_args *a, uint32_t counter)
{
    uint32_t *taken = (uint32_t *)iris_shared();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *taken = next(a, counter);
    iris_sync_wg();
    return *taken;
}

/* Computes tiles, as they come. The last wave takes the next one meanwhile, and tells of the last. */
IRIS_DEVICE void compute_wg(const tiles_args *a)
{
    uint32_t *following = (uint32_t *)iris_shared() + 1;
    const int notifies = iris_wg_lane() + iris_wave_lanes() == iris_wg_lanes();
    uint32_t tile = next_wg(a, NEXT_TILE);
    for (uint32_t turn = 0; tile < a->tiles; tile = following[turn++ % 2]) {
        if (notifies)
            following[turn % 2] = next(a, NEXT_TILE);
        compute(a, tile);
        irisi_drain();
        iris_sync_wg();
        if (notifies)
            iris_signal_set(&a->ctx, a->done + tile, a->turn, a->ctx.rank);
    }
}

/* All-reduces tiles: of one slice after the other, in turn, each once it is done. */
IRIS_DEVICE void communicate_wg(const tiles_args *a)
{
    const uint32_t slices = a->channels * a->slices;
    for (uint32_t slice = next_wg(a, NEXT_SLICE); slice < slices; slice = next_wg(a, NEXT_SLICE))
        for (uint32_t tile = slice; tile < a->tiles; tile += slices) {
            if (a->what & COMPUTE)
                iris_wait_ge_wg(&a->ctx, a->done + tile, a->turn);
            iris_all_reduce_two_shot_sum_bf16_wg(&a->ctx, a->ch + slice / a->slices, iris_team_world(&a->ctx),
                                                 slice % a->slices, a->sums + (size_t)tile * TILE,
                                                 a->parts + (size_t)tile * TILE, TILE);
        }
}

IRIS_KERNEL(tiles, tiles_args, a, (EACH + 1) * LANES)
{
    int computes = a->what == COMPUTE;
    if (a->what == (COMPUTE | COMMUNICATE)) {
        computes = next_wg(a, TURNS + iris_compute_unit()) % (EACH + 1) == EACH;
        if (computes)
            next_wg(a, COMPUTERS);
        if (next_wg(a, CHOSEN) + 1 == iris_workgroups() && next_wg(a, COMPUTERS) == 0)
            computes = 1; /* ranks that share a device may have too few workgroups on each unit */
    }
    if (computes)
        compute_wg(a);
    else
        communicate_wg(a);
    if (next_wg(a, LEFT) + 1 == iris_workgroups()) /* all others have counted */
        for (uint32_t i = iris_wg_lane(); i < COUNTERS; i += iris_wg_lanes())
            a->counters[i] = 0;
}

IRIS_KERNEL(compare, tiles_args, a, 2 * LANES)
{
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < (size_t)a->tiles * TILE; i += iris_grid_lanes()) {
        float sum = 0;
        for (int r = 0; r < a->ctx.world; r++)
            sum += element(r, i);
        wrong += iris_widen_bf16(a->sums[i]) != sum;
    }
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

typedef struct job {
    bench *b;
    tiles_args a;
} job;

static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    job *j = (job *)arg;
    const uint32_t each = (j->a.what & COMPUTE ? 1 : 0) + (j->a.what & COMMUNICATE ? EACH : 0);
    iris_launch_config cfg;
    (void)turn;
    if (!j->a.what) {
        iris_collective c;
        memset(&c, 0, sizeof c);
        c.dst = j->a.sums, c.src = j->a.parts, c.count = (size_t)j->a.tiles * TILE, c.dtype = IRIS_BF16;
        c.schedule = IRIS_SCHEDULE_TWO_SHOT;
        return iris_launch_all_reduce(w, j->a.ch, &c, stream);
    }
    j->a.turn++;
    cfg = iris_cooperative(each * (uint32_t)iris_compute_units(w), LANES);
    cfg.shared_bytes = 3 * sizeof(uint32_t);
    return iris_launch(w, tiles, &j->a, sizeof j->a, &cfg, stream);
}

/* All of the sums, on every rank. */
static int right(job *j)
{
    uint64_t wrong = 0;
    const iris_launch_config all = iris_grid(4 * (uint32_t)iris_compute_units(j->b->w), LANES);
    int ok = iris_memset(j->b->w, j->a.wrong, 0, sizeof wrong) == IRIS_OK;
    ok = iris_launch(j->b->w, compare, &j->a, sizeof j->a, &all, NULL) == IRIS_OK && ok;
    ok = iris_memcpy(j->b->w, &wrong, j->a.wrong, sizeof wrong) == IRIS_OK && ok && wrong == 0;
    return iris_bench_all_ok(j->b->w, ok);
}

static double measure(job *j, const char *variant, uint32_t what, double ceiling)
{
    iris_bench_row row;
    memset(&row, 0, sizeof row);
    int ok = iris_memset(j->b->w, j->a.sums, 0xff, (size_t)j->a.tiles * TILE * sizeof(iris_bf16)) == IRIS_OK;
    if (what & COMPUTE)
        ok = iris_memset(j->b->w, j->a.parts, 0xff, (size_t)j->a.tiles * TILE * sizeof(iris_bf16)) == IRIS_OK && ok;
    if (iris_barrier(j->b->w) != IRIS_OK)
        return -1;
    j->a.what = what;
    row.name = "tiles", row.dtype = "bf16", row.variant = variant, row.lanes = LANES, row.ceiling = ceiling;
    row.bytes = (size_t)j->a.tiles * TILE * sizeof(iris_bf16);
    row.us = bench_time(j->b, variant, submit, j);
    if (row.us <= 0)
        return -1;
    row.workgroups = ((what & COMPUTE ? 1 : 0) + (what & COMMUNICATE ? EACH : 0)) * iris_compute_units(j->b->w);
    row.ok = (what == COMPUTE || right(j)) && ok;
    iris_bench_put(&j->b->file, &row);
    return row.us;
}

/* Microseconds of the arithmetic with so many steps, the same number on every rank. */
static double computing(job *j, uint32_t steps)
{
    j->a.what = COMPUTE;
    j->a.steps = steps;
    return bench_time(j->b, "compute", submit, j);
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    bench b;
    job j;
    memset(&j, 0, sizeof j);
    j.b = &b;
    for (int i = 0; i < CHANNELS; i++)
        IRIS_TRY(iris_collective_channel(w, j.a.ch + i, o->piece));
    j.a.ctx = iris_device_ctx(w);
    j.a.sums = (iris_bf16 *)iris_malloc(w, o->max_bytes);
    j.a.parts = (iris_bf16 *)iris_malloc(w, o->max_bytes);
    j.a.wrong = (uint64_t *)iris_malloc(w, sizeof *j.a.wrong);
    j.a.counters = (uint64_t *)iris_malloc(w, COUNTERS * sizeof *j.a.counters);
    j.a.done = iris_signals(w, o->max_bytes / sizeof(iris_bf16) / TILE);
    j.a.slices = iris_channel_slices(j.a.ch, iris_world_size(w)), j.a.one = 1;
    const uint32_t enough = (uint32_t)(EACH * iris_compute_units(w)) / j.a.slices; /* 264 workgroups: 2 of 128 slices */
    j.a.channels = enough < 1 ? 1 : enough < CHANNELS ? enough : (uint32_t)CHANNELS;
    if (!j.a.sums || !j.a.parts || !j.a.wrong || !j.a.counters || !j.a.done || bench_open(&b, w, o, "tiles"))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's buffers");
    IRIS_TRY(iris_memset(w, j.a.counters, 0, COUNTERS * sizeof *j.a.counters));
    IRIS_TRY(iris_barrier(w));
    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes && !iris_bench_late(&b.file); bytes *= 4) {
        j.a.tiles = (uint32_t)(bytes / sizeof(iris_bf16) / TILE);
        const double few = computing(&j, 64), many = computing(&j, 192);
        const double alone = few > 0 && many > few ? measure(&j, "all_reduce", 0, 0) : -1;
        if (alone < 0)
            return 1;
        const double steps = 64 + 128 * (alone - few) / (many - few); /* every rank has the same times */
        j.a.steps = steps < 1 ? 1 : (uint32_t)(steps + 0.5);
        const double compute_us = measure(&j, "compute", COMPUTE, 0);
        if (measure(&j, "communicate", COMMUNICATE, 0) < 0 ||
            measure(&j, "both", COMPUTE | COMMUNICATE, compute_us > alone ? compute_us : alone) < 0)
            return 1;
    }
    return iris_bench_close(&b.file);
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 2, o.repeats = 20, o.warmup = 5, o.min_bytes = o.max_bytes = 4 << 20, o.laps = 1, o.seconds = 120;
    bench_parse(&o, argc, argv, "tiles: compute and all-reduce tiles in one kernel, beside each alone");
    o.min_bytes = (o.min_bytes + 2 * TILE - 1) / (2 * TILE) * (2 * TILE); /* whole tiles */
    o.max_bytes = o.max_bytes < o.min_bytes ? o.min_bytes : o.max_bytes / (2 * TILE) * (2 * TILE);
    config.heap_bytes = 2 * o.max_bytes + (8u << 20);
    config.sync_bytes = CHANNELS * 4 * 128 * (o.piece ? o.piece : 32768) + (8u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
