/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: every collective by every schedule, of bf16, plain and replayed from a graph, beside NCCL in its
 * default mode and with windows (symmetric memory) in the same run. Bytes are those of the larger buffer of a rank, and
 * bandwidths are bus bandwidths, both as nccl-tests defines them.
 */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_ALL_TO_ALL
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_BF16
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_to_all.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/reduce_scatter.h>

#include "bench.h"
#include "nccl.h"
#include "runtime.h"

/* Graphs: up to so many bytes, of fewer calls above FEW_FROM. */
enum { GRAPH_MOST = 64 << 20, FEW_FROM = 4 << 20, FEW = 4 };

typedef iris_status (*launcher)(iris_world *w, const iris_channel *ch, const iris_collective *what, iris_stream stream);

/* A collective: rows of the larger buffer that are sent on, over all of them, as its bandwidth is counted. */
typedef struct kind {
    const char *name;
    launcher launch;
    int dst_rows, src_rows, reduces;
    int factor; /* of (n - 1) / n: 2 for all_reduce, 0 for broadcast, whose bandwidth is that of its bytes */
} kind;

static const kind kinds[] = {
    {"all_reduce", iris_launch_all_reduce, 0, 0, 1, 2},         {"all_gather", iris_launch_all_gather, 1, 0, 0, 1},
    {"reduce_scatter", iris_launch_reduce_scatter, 0, 1, 1, 1}, {"all_to_all", iris_launch_all_to_all, 1, 1, 0, 1},
    {"broadcast", iris_launch_broadcast, 0, 0, 0, 0},
};

/* A schedule, by what it is called, of collective `kind`, and up to how many bytes anybody would take it. */
typedef struct way {
    int kind;
    iris_schedule schedule;
    size_t most;
} way;

static const way ways[] = {
    {0, IRIS_SCHEDULE_AUTO, SIZE_MAX},       {0, IRIS_SCHEDULE_LL, 1 << 20},
    {0, IRIS_SCHEDULE_LL_TWO_SHOT, 4 << 20}, {0, IRIS_SCHEDULE_ONE_SHOT, 4 << 20},
    {0, IRIS_SCHEDULE_TWO_SHOT, SIZE_MAX},   {0, IRIS_SCHEDULE_TWO_SHOT_PUSH, SIZE_MAX},
    {0, IRIS_SCHEDULE_TWO_PHASE, SIZE_MAX},  {0, IRIS_SCHEDULE_RING, 64 << 20},
    {1, IRIS_SCHEDULE_AUTO, SIZE_MAX},       {1, IRIS_SCHEDULE_LL, 4 << 20},
    {1, IRIS_SCHEDULE_PUSH, SIZE_MAX},       {1, IRIS_SCHEDULE_PULL, SIZE_MAX},
    {1, IRIS_SCHEDULE_RING, 64 << 20},       {2, IRIS_SCHEDULE_AUTO, SIZE_MAX},
    {2, IRIS_SCHEDULE_LL, 4 << 20},          {2, IRIS_SCHEDULE_PUSH, 64 << 20},
    {2, IRIS_SCHEDULE_PULL, SIZE_MAX},       {2, IRIS_SCHEDULE_RING, 64 << 20},
    {3, IRIS_SCHEDULE_AUTO, SIZE_MAX},       {3, IRIS_SCHEDULE_LL, 4 << 20},
    {3, IRIS_SCHEDULE_PUSH, SIZE_MAX},       {3, IRIS_SCHEDULE_PULL, SIZE_MAX},
    {4, IRIS_SCHEDULE_AUTO, SIZE_MAX},       {4, IRIS_SCHEDULE_LL, 1 << 20},
    {4, IRIS_SCHEDULE_PUSH, 16 << 20},       {4, IRIS_SCHEDULE_RELAY, SIZE_MAX},
    {4, IRIS_SCHEDULE_LL_RELAY, 4 << 20},    {4, IRIS_SCHEDULE_CHAIN, SIZE_MAX},
    {4, IRIS_SCHEDULE_FETCH, SIZE_MAX},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], WAYS = sizeof ways / sizeof ways[0] };

/* What is timed: the library's collective, or with `peer` NCCL's. */
typedef struct work {
    const kind *k;
    iris_channel ch;
    iris_collective c;
    const bench_nccl *peer;
    void *dst, *src; /* the peer's */
    uint64_t *wrong; /* elements that are, on the device */
} work;

static iris_status submit_own(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const work *x = (const work *)arg;
    (void)turn;
    return x->k->launch(w, &x->ch, &x->c, stream);
}

static int submit_all_to_all(const work *x, int ranks, iris_stream stream)
{
    const size_t row = x->c.count * sizeof(iris_bf16);
    int error = x->peer->group_start();
    for (int r = 0; r < ranks && error == 0; r++) {
        error = x->peer->send((char *)x->src + (size_t)r * row, x->c.count, BENCH_NCCL_BF16, r, x->peer->comm, stream);
        if (error == 0)
            error =
                x->peer->recv((char *)x->dst + (size_t)r * row, x->c.count, BENCH_NCCL_BF16, r, x->peer->comm, stream);
    }
    return error == 0 ? x->peer->group_end() : error;
}

static iris_status submit_peer(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const work *x = (const work *)arg;
    const bench_nccl *n = x->peer;
    const size_t count = x->c.count;
    int error;
    (void)turn;
    switch (x->k - kinds) {
    case 0: error = n->all_reduce(x->src, x->dst, count, BENCH_NCCL_BF16, BENCH_NCCL_SUM, n->comm, stream); break;
    case 1: error = n->all_gather(x->src, x->dst, count, BENCH_NCCL_BF16, n->comm, stream); break;
    case 2: error = n->reduce_scatter(x->src, x->dst, count, BENCH_NCCL_BF16, BENCH_NCCL_SUM, n->comm, stream); break;
    case 3: error = submit_all_to_all(x, iris_world_size(w), stream); break;
    default: error = n->broadcast(x->src, x->dst, count, BENCH_NCCL_BF16, 0, n->comm, stream); break;
    }
    return bench_nccl_ok(w, n, error, x->k->name);
}

/* Rank r's element i: whole numbers so small that bf16 holds their sums. */
IRIS_HOST_DEVICE float element(int rank, size_t i) { return (float)((uint32_t)(i * 7 + (size_t)rank * 3) % 13); }

/* Fills a source, or compares a result, on the device. */
typedef struct data_args {
    iris_bf16 *at;
    size_t n, count;
    int rank, ranks, dst_rows, src_rows, reduces;
    uint64_t *wrong;
} data_args;

IRIS_KERNEL(fill_source, data_args, a, 512)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->at[i] = iris_narrow_bf16(element(a->rank, i));
}
IRIS_KERNEL(compare_result, data_args, a, 512)
{
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes()) {
        const size_t row = a->dst_rows ? i / a->count : 0, in = i - row * a->count;
        const size_t place = a->src_rows ? (size_t)a->rank * a->count + in : in;
        float want = element((int)row, place);
        for (int r = 1; r < a->ranks && a->reduces; r++)
            want += element(r, place);
        wrong += iris_widen_bf16(a->at[i]) != want;
    }
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* 1 once every rank's kernel is done. */
static int on_data(bench *b, irisi_kernel kernel, const char *name, const data_args *a)
{
    const iris_launch_config all = iris_grid(4 * (uint32_t)iris_compute_units(b->w), 512);
    const iris_status status = irisi_launch(b->w, kernel, name, a, sizeof *a, &all, NULL);
    if (status != IRIS_OK || iris_synchronize(b->w) != IRIS_OK)
        fprintf(stderr, "%s: %s\n", name, iris_error_string(b->w));
    return bench_all_ok(b, status == IRIS_OK);
}

/* Fills a source, once for all collectives: none changes its own. */
static int fill(bench *b, void *src, size_t elements)
{
    data_args a;
    memset(&a, 0, sizeof a);
    a.at = (iris_bf16 *)src, a.n = elements, a.rank = iris_rank(b->w);
    return on_data(b, IRISI_KERNEL_PTR(fill_source), "fill_source", &a);
}

/* 1 when every element of dst is right, on every rank. */
static int right(bench *b, const work *x, void *dst)
{
    uint64_t wrong = 0;
    data_args a;
    memset(&a, 0, sizeof a);
    a.rank = iris_rank(b->w), a.ranks = iris_world_size(b->w), a.count = x->c.count, a.at = (iris_bf16 *)dst;
    a.dst_rows = x->k->dst_rows, a.src_rows = x->k->src_rows, a.reduces = x->k->reduces, a.wrong = x->wrong;
    a.n = x->c.count * (x->k->dst_rows ? (size_t)a.ranks : 1);
    int ok = iris_memset(b->w, x->wrong, 0, sizeof wrong) == IRIS_OK;
    ok = on_data(b, IRISI_KERNEL_PTR(compare_result), "compare_result", &a) && ok;
    ok = iris_memcpy(b->w, &wrong, x->wrong, sizeof wrong) == IRIS_OK && ok && wrong == 0;
    return bench_all_ok(b, ok);
}

/* One way of submitting, timed and checked; the bus bandwidth. `ceiling`: the peer's, or 0. */
static double measure(bench *b, work *x, const char *variant, bench_submit submit, int graph, double ceiling)
{
    const int ranks = iris_world_size(b->w);
    const size_t larger = x->c.count * (x->k->dst_rows || x->k->src_rows ? (size_t)ranks : 1);
    void *dst = submit == submit_peer ? x->dst : x->c.dst;
    char name[48];
    bench_row row;
    const int ok = iris_memset(b->w, dst, 0xFF, larger * sizeof(iris_bf16)) == IRIS_OK;
    memset(&row, 0, sizeof row);
    snprintf(name, sizeof name, "%s%s", variant, graph ? "_graph" : "");
    row.name = x->k->name, row.dtype = "bf16", row.variant = name, row.bytes = larger * sizeof(iris_bf16);
    if (iris_barrier(b->w) != IRIS_OK)
        return 0;
#if BENCH_HAS_RUNTIME
    bench_graph made = NULL;
    if (graph) {
        const int calls = row.bytes > FEW_FROM && b->o->laps > FEW ? FEW : b->o->laps;
        const iris_status status = bench_graph_make(b, &made, submit, x, calls);
        if (!bench_all_ok(b, status == IRIS_OK))
            return 0;
        row.us = bench_time(b, x->k->name, bench_submit_graph, &made) / calls;
        bench_graph_free(made);
    } else
#endif
        row.us = bench_time(b, x->k->name, submit, x);
    if (row.us <= 0)
        return 0;
    row.ok = right(b, x, dst) && ok;
    const double shared = x->k->factor ? x->k->factor * (double)(ranks - 1) / ranks : 1;
    row.gbps = 1e-3 * (double)row.bytes * shared / row.us;
    row.ceiling = ceiling;
    bench_put(b, &row);
    return row.ok ? row.gbps : 0;
}

static int wanted(const bench *b, const char *variant)
{
    return b->o->variant == NULL || strcmp(b->o->variant, variant) == 0;
}

/* One size of one collective: NCCL's modes, then every schedule beside the better of them. */
static void compare(bench *b, work *x, bench_nccl *n, void *const *windows, size_t bytes)
{
    const int ranks = iris_world_size(b->w), rows = x->k->dst_rows || x->k->src_rows;
    x->c.count = bytes / sizeof(iris_bf16) / (rows ? (size_t)ranks : 1);
    for (int graph = 0; graph <= (BENCH_HAS_RUNTIME && bytes <= GRAPH_MOST); graph++) {
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
            const int shown = graph || i == 0 || ways[i].kind != ways[i - 1].kind || bytes > GRAPH_MOST ||
                              b->o->variant || !BENCH_HAS_RUNTIME;
            if (ways[i].kind == (int)(x->k - kinds) && bytes <= ways[i].most && shown && wanted(b, name) &&
                !bench_late(b))
                measure(b, x, name, submit_own, graph, best);
        }
    }
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    void *windows[2] = {NULL, NULL};
    bench_nccl n;
    bench b;
    work x;
    memset(&x, 0, sizeof x);
    IRIS_TRY(iris_collective_channel(w, &x.ch, o->piece));
    x.c.dst = iris_malloc(w, o->max_bytes);
    x.c.src = iris_malloc(w, o->max_bytes);
    x.wrong = (uint64_t *)iris_malloc(w, sizeof *x.wrong);
    x.c.dtype = IRIS_BF16;
    if (!x.c.dst || !x.c.src || !x.wrong || bench_open(&b, w, o, "collectives"))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's buffers");
    IRIS_TRY(iris_barrier(w));
    if (bench_nccl_open(&b, &n)) {
        windows[0] = bench_nccl_alloc(&b, &n, o->max_bytes);
        windows[1] = windows[0] ? bench_nccl_alloc(&b, &n, o->max_bytes) : NULL;
        windows[0] = windows[1] ? windows[0] : NULL;
    }
    if (!fill(&b, (void *)x.c.src, o->max_bytes / sizeof(iris_bf16)) ||
        (windows[0] && !fill(&b, windows[1], o->max_bytes / sizeof(iris_bf16))))
        return irisi_try_failed(IRIS_ERR_DEVICE, "the benchmark's inputs");
    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= 4)
        for (int k = 0; k < KINDS && !bench_late(&b); k++) {
            x.k = kinds + k;
            if (!o->only || strcmp(o->only, x.k->name) == 0)
                compare(&b, &x, &n, windows, bytes);
        }
    bench_nccl_close(&b, &n);
    return bench_close(&b);
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
    config.sync_bytes = 4 * 128 * (o.piece ? o.piece : 32768) + (4u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
