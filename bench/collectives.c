/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: every collective by every schedule, of bf16, plain and replayed from a graph, beside NCCL in its
 * default mode and with windows (symmetric memory) in the same run, and from 64 MiB on beside what the links can do:
 * every rank pushes to all others at once, and pulls from them. collective_kinds.h says what is counted.
 */
#include "bench.h"
#include "collective_data.h"
#include "collective_kinds.h"
#include "hand.h"
#include "nccl.h"
#define BENCH_DTYPE u32
#define BENCH_CTYPE uint32_t
#include "moves.h"

/* Graphs: up to so many bytes, of fewer calls above FEW_FROM. The links are looked at from LARGE on. */
enum { GRAPH_MOST = 64 << 20, FEW_FROM = 4 << 20, FEW = 4, LARGE = 64 << 20 };

/* Microseconds of a call, plain or in a graph of several; not more than 0 when a rank failed. */
static double time_calls(bench *b, work *x, iris_bench_fn submit, int graph, size_t bytes)
{
    const int calls = bytes > FEW_FROM && b->o->laps > FEW ? FEW : b->o->laps;
    return bench_time_calls(b, x->k->name, submit, x, graph, graph ? calls : 1);
}

static iris_status submit_links(iris_world *w, void *arg, iris_stream stream, int turn)
{
    return bench_submit_kernel(w, &((work *)arg)->links, stream, turn);
}

/* One way of submitting, timed and checked; the bus bandwidth. `ceiling`: the peer's, or 0. */
static double measure(bench *b, work *x, const char *variant, iris_bench_fn submit, int graph, double ceiling)
{
    const int ranks = iris_world_size(b->w);
    const size_t larger = x->c.count * (x->k->dst_rows || x->k->src_rows ? (size_t)ranks : 1);
    void *dst = submit == submit_peer ? x->dst : x->c.dst;
    char name[48];
    iris_bench_row row;
    const int ok = iris_memset(b->w, dst, 0xFF, larger * sizeof(iris_bf16)) == IRIS_OK;
    memset(&row, 0, sizeof row);
    snprintf(name, sizeof name, "%s%s", variant, graph ? "_graph" : "");
    row.name = x->k->name, row.dtype = "bf16", row.variant = name, row.bytes = larger * sizeof(iris_bf16);
    if (submit == submit_links)
        row.workgroups = (int)x->links.cfg.workgroups, row.lanes = (int)x->links.cfg.lanes;
    if (iris_barrier(b->w) != IRIS_OK)
        return 0;
    row.us = time_calls(b, x, submit, graph, row.bytes);
    if (row.us <= 0)
        return 0;
    row.ok = right(b, x, dst) && ok;
    row.algbw = 1e-3 * (double)row.bytes / row.us;
    row.gbps = row.algbw * kind_crossing(x->k, ranks);
    row.ceiling = ceiling;
    iris_bench_put(&b->file, &row);
    return row.ok ? row.gbps : 0;
}

static int wanted(const bench *b, const char *variant)
{
    return b->o->variant == NULL || strcmp(b->o->variant, variant) == 0;
}

/* One size of one collective: NCCL's modes, then every schedule beside the better of them. */
static void compare(bench *b, work *x, bench_nccl *n, void *const *windows, int graph, size_t bytes)
{
    double best = 0;
    x->peer = n;
    for (int mode = 0; mode < 2 && n->comm; mode++) {
        const char *name = mode ? "nccl_window" : "nccl";
        x->dst = mode ? windows[0] : x->c.dst, x->src = mode ? windows[1] : (void *)x->c.src;
        const double gbps = x->dst && wanted(b, name) ? measure(b, x, name, submit_peer, graph, 0) : 0;
        best = gbps > best ? gbps : best;
    }
    for (int i = 0; i < WAYS; i++) {
        x->c.schedule = ways[i].schedule;
        const char *name = irisi_schedule_name((int)x->c.schedule);
        /* Plain launches of what a graph shows: of the library's choice only. */
        const int shown = graph || i == 0 || ways[i].kind != ways[i - 1].kind || bytes > GRAPH_MOST || b->o->variant ||
                          !iris_bench_graphs();
        if (ways[i].kind == (int)(x->k - kinds) && bytes <= ways[i].most && shown && wanted(b, name) &&
            !iris_bench_late(&b->file))
            measure(b, x, name, submit_own, graph, best);
    }
}

/* Every rank with all others at once, by the library's moves and by hand. */
IRIS_KERNEL(links_put, move_args, a, 1024) { move_u32(a, MOVE_ALL_STORE); }
IRIS_KERNEL(links_get, move_args, a, 1024) { move_u32(a, MOVE_ALL_LOAD); }
IRIS_KERNEL(links_hand, move_args, a, 1024) { hand_move(a, a->ctx.world - 1, 4); }

/* One size in one direction: the row of each rank to each other rank, or from it, by grids that were best on H200s. */
static void look_at_links(bench *b, work *x, int graph)
{
    enum { PIECE = 64 << 10 };
    static const uint32_t lanes[] = {512, 256};
    const int pull = x->k - kinds == PULL;
    const size_t units = (size_t)iris_compute_units(b->w), row = x->c.count * sizeof(iris_bf16);
    const size_t turns = (row + units * PIECE - 1) / (units * PIECE);
    move_args a;
    memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(b->w);
    a.src = (char *)(void *)(uintptr_t)x->c.src, a.dst = (char *)x->c.dst, a.bytes = a.slot = row;
    a.piece = (row / (turns * units) + 16) / 16 * 16; /* as many for each workgroup */
    hand_aim(b->w, &a, 1, pull);
    x->links.args = &a, x->links.bytes = sizeof a;
    for (int i = 0; i < 4; i++) {
        const int hand = i >= 2;
        const char *name = hand ? "hand" : pull ? "get" : "put";
        x->links.kernel = hand   ? IRISI_KERNEL_PTR(links_hand)
                          : pull ? IRISI_KERNEL_PTR(links_get)
                                 : IRISI_KERNEL_PTR(links_put);
        x->links.name = x->k->name;
        x->links.cfg = iris_grid((uint32_t)units, lanes[i % 2]);
        if (wanted(b, name) && !iris_bench_late(&b->file))
            measure(b, x, name, submit_links, graph, 0);
    }
}

/* Where all_to_allv's rows are, for the count of x. */
static int lay_rows(bench *b, const work *x)
{
    const int ranks = iris_world_size(b->w), rank = iris_rank(b->w);
    uint64_t rows[4 * BENCH_RANKS];
    for (int r = 0; r < ranks; r++) {
        const part out = part_of(x->k, x->c.count, ranks, rank, r), in = part_of(x->k, x->c.count, ranks, r, rank);
        rows[r] = out.first, rows[ranks + r] = out.count, rows[2 * ranks + r] = in.at, rows[3 * ranks + r] = in.count;
    }
    return iris_memcpy(b->w, x->rows, rows, 4 * (size_t)ranks * sizeof *rows) == IRIS_OK;
}

/* One size of everything that was asked for; what the links can do stands in every file. */
static void run_size(bench *b, work *x, bench_nccl *n, void *const *windows, size_t bytes)
{
    const int ranks = iris_world_size(b->w), large = bytes >= LARGE || bytes > b->o->max_bytes / 4;
    for (int k = 0; k < KINDS; k++) {
        const int links = k == PUSH || k == PULL;
        x->k = kinds + k;
        x->c.count = kind_count(x->k, bytes, ranks);
        if (links ? !large || ranks < 2 || x->c.count == 0 : b->o->only && strcmp(b->o->only, x->k->name) != 0)
            continue;
        if (!iris_bench_all_ok(b->w, k != ALL_TO_ALLV || lay_rows(b, x)))
            continue;
        for (int graph = 0; graph <= (iris_bench_graphs() && bytes <= GRAPH_MOST) && !iris_bench_late(&b->file);
             graph++)
            if (links)
                look_at_links(b, x, graph);
            else
                compare(b, x, n, windows, graph, bytes);
    }
}

static int rank_main(iris_world *w, void *arg)
{
    bench_options o = *(const bench_options *)arg;
    void *windows[2] = {NULL, NULL};
    bench_nccl n;
    bench b;
    work x;
    memset(&x, 0, sizeof x);
    o.nccl = bench_nccl_version(w);
    IRIS_TRY(iris_collective_channel(w, &x.ch, o.piece));
    IRIS_TRY(iris_collective_channel(w, &x.messages, o.piece));
    x.c.dst = iris_malloc(w, o.max_bytes);
    x.c.src = iris_malloc(w, o.max_bytes);
    x.rows = (uint64_t *)iris_malloc(w, 4 * BENCH_RANKS * sizeof *x.rows);
    x.wrong = (uint64_t *)iris_malloc(w, sizeof *x.wrong);
    x.c.dtype = IRIS_BF16;
    if (!x.c.dst || !x.c.src || !x.rows || !x.wrong || bench_open(&b, w, &o, "collectives"))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's buffers");
    IRIS_TRY(iris_barrier(w));
    if (bench_nccl_open(&b, &n)) {
        windows[0] = bench_nccl_alloc(&b, &n, o.max_bytes);
        windows[1] = windows[0] ? bench_nccl_alloc(&b, &n, o.max_bytes) : NULL;
        windows[0] = windows[1] ? windows[0] : NULL;
    }
    if (!fill(&b, (void *)(uintptr_t)x.c.src, o.max_bytes / sizeof(iris_bf16)) ||
        (windows[0] && !fill(&b, windows[1], o.max_bytes / sizeof(iris_bf16))))
        return irisi_try_failed(IRIS_ERR_DEVICE, "the benchmark's inputs");
    for (size_t bytes = o.min_bytes; bytes <= o.max_bytes; bytes *= 4)
        run_size(&b, &x, &n, windows, bytes);
    bench_nccl_close(&b, &n);
    return iris_bench_close(&b.file);
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 2, o.repeats = 20, o.warmup = 5, o.min_bytes = 1024, o.max_bytes = 1 << 20;
    o.laps = 20, o.seconds = 600;
    bench_parse(&o, argc, argv, "collectives: every schedule beside NCCL; --piece: scratch of a slice, 0 the default");
    config.heap_bytes = 2 * o.max_bytes + (8u << 20);
    config.sync_bytes = 2 * 4 * 128 * (o.piece ? o.piece : 32768) + (4u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
