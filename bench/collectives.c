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

enum { IN_A_GRAPH = 20, GRAPH_MOST = 1 << 24, CHECKED = 1 << 22 }; /* elements compared at each end */

typedef iris_status (*launcher)(iris_world *w, const iris_channel *ch, const iris_collective *what, iris_stream stream);

/* A collective: rows of the larger buffer that are sent on, over all of them, as its bandwidth is counted. */
typedef struct kind {
    const char *name;
    launcher launch;
    int dst_rows, src_rows, reduces;
    int factor; /* of (n - 1) / n: 2 for all_reduce, 0 for broadcast, whose bandwidth is that of its bytes */
    iris_schedule schedules[6];
} kind;

static const kind kinds[] = {
    {"all_reduce", iris_launch_all_reduce, 0, 0, 1, 2,
     {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_ONE_SHOT, IRIS_SCHEDULE_TWO_SHOT, IRIS_SCHEDULE_RING,
      IRIS_SCHEDULES}},
    {"all_gather", iris_launch_all_gather, 1, 0, 0, 1,
     {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_PULL, IRIS_SCHEDULE_RING,
      IRIS_SCHEDULES}},
    {"reduce_scatter", iris_launch_reduce_scatter, 0, 1, 1, 1,
     {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_PULL, IRIS_SCHEDULE_RING,
      IRIS_SCHEDULES}},
    {"all_to_all", iris_launch_all_to_all, 1, 1, 0, 1,
     {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_PULL, IRIS_SCHEDULES, IRIS_SCHEDULES}},
    {"broadcast", iris_launch_broadcast, 0, 0, 0, 0,
     {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_CHAIN, IRIS_SCHEDULES, IRIS_SCHEDULES, IRIS_SCHEDULES}},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* What is timed: the library's collective, or with `peer` NCCL's. */
typedef struct work {
    const kind *k;
    iris_channel ch;
    iris_collective c;
    const bench_nccl *peer;
    void *dst, *src; /* the peer's */
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
            error = x->peer->recv((char *)x->dst + (size_t)r * row, x->c.count, BENCH_NCCL_BF16, r, x->peer->comm,
                                  stream);
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
    case 0:
        error = n->all_reduce(x->src, x->dst, count, BENCH_NCCL_BF16, BENCH_NCCL_SUM, n->comm, stream);
        break;
    case 1: error = n->all_gather(x->src, x->dst, count, BENCH_NCCL_BF16, n->comm, stream); break;
    case 2:
        error = n->reduce_scatter(x->src, x->dst, count, BENCH_NCCL_BF16, BENCH_NCCL_SUM, n->comm, stream);
        break;
    case 3: error = submit_all_to_all(x, iris_world_size(w), stream); break;
    default: error = n->broadcast(x->src, x->dst, count, BENCH_NCCL_BF16, 0, n->comm, stream); break;
    }
    return bench_nccl_ok(w, n, error, x->k->name);
}

/* Rank r's element i: whole numbers so small that bf16 holds their sums. */
static float element(int rank, size_t i) { return (float)((i * 7 + (size_t)rank * 3) % 13); }

/* Element i of what a rank must have. */
static float expected(const kind *k, int rank, int ranks, size_t count, size_t i)
{
    float sum = 0;
    if (k->dst_rows)
        return element((int)(i / count), k->src_rows ? (size_t)rank * count + i % count : i % count);
    if (!k->reduces)
        return element(0, i);
    for (int r = 0; r < ranks; r++)
        sum += element(r, k->src_rows ? (size_t)rank * count + i : i);
    return sum;
}

/* Fills a source, once for all collectives: none changes its own. */
static int fill(bench *b, void *src, size_t elements)
{
    iris_bf16 *host = (iris_bf16 *)malloc(elements * sizeof *host);
    for (size_t i = 0; host && i < elements; i++)
        host[i] = iris_narrow_bf16(element(iris_rank(b->w), i));
    const int ok = host && iris_memcpy(b->w, src, host, elements * sizeof *host) == IRIS_OK;
    free(host);
    return ok;
}

/* 1 when the first elements of dst and the last ones are right. */
static int right(bench *b, const work *x, const void *dst)
{
    const int ranks = iris_world_size(b->w);
    const size_t all = x->c.count * (x->k->dst_rows ? (size_t)ranks : 1), part = all < CHECKED ? all : (size_t)CHECKED;
    iris_bf16 *host = (iris_bf16 *)malloc(part * sizeof *host);
    int ok = host != NULL;
    for (int end = 0; end < 2 && ok; end++) {
        const size_t at = end ? all - part : 0;
        ok = iris_memcpy(b->w, host, (const iris_bf16 *)dst + at, part * sizeof *host) == IRIS_OK;
        for (size_t i = 0; i < part && ok; i++)
            ok = iris_widen_bf16(host[i]) == expected(x->k, iris_rank(b->w), ranks, x->c.count, at + i);
    }
    free(host);
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
        const iris_status status = bench_graph_make(b, &made, submit, x, IN_A_GRAPH);
        if (!bench_all_ok(b, status == IRIS_OK))
            return 0;
        row.us = bench_time(b, x->k->name, bench_submit_graph, &made) / IN_A_GRAPH;
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

/* One size of one collective: NCCL's modes, then every schedule beside the better of them. */
static void compare(bench *b, work *x, bench_nccl *n, void *const *windows, size_t bytes)
{
    const int ranks = iris_world_size(b->w), rows = x->k->dst_rows || x->k->src_rows;
    x->c.count = bytes / sizeof(iris_bf16) / (rows ? (size_t)ranks : 1);
    for (int graph = 0; graph <= (BENCH_HAS_RUNTIME && bytes <= GRAPH_MOST); graph++) {
        double best = 0;
        x->peer = n;
        for (int mode = 0; mode < 2 && n->comm; mode++) {
            x->dst = mode ? windows[0] : x->c.dst, x->src = mode ? windows[1] : (void *)x->c.src;
            const double gbps = x->dst ? measure(b, x, mode ? "nccl_window" : "nccl", submit_peer, graph, 0) : 0;
            best = gbps > best ? gbps : best;
        }
        for (int s = 0; x->k->schedules[s] != IRIS_SCHEDULES; s++) {
            x->c.schedule = x->k->schedules[s];
            if (x->c.schedule == IRIS_SCHEDULE_RING && bytes > GRAPH_MOST << 2)
                continue; /* never the one to take there */
            if (!bench_late(b))
                measure(b, x, irisi_schedule_name((int)x->c.schedule), submit_own, graph, best);
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
    x.c.dtype = IRIS_BF16;
    if (!x.c.dst || !x.c.src || bench_open(&b, w, o, "collectives"))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's buffers");
    IRIS_TRY(iris_barrier(w));
    if (bench_nccl_open(&b, &n)) {
        windows[0] = bench_nccl_alloc(&b, &n, o->max_bytes);
        windows[1] = windows[0] ? bench_nccl_alloc(&b, &n, o->max_bytes) : NULL;
        windows[0] = windows[1] ? windows[0] : NULL;
    }
    if (!bench_all_ok(&b, fill(&b, (void *)x.c.src, o->max_bytes / sizeof(iris_bf16)) &&
                              (!windows[0] || fill(&b, windows[1], o->max_bytes / sizeof(iris_bf16)))))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's inputs");
    for (int k = 0; k < KINDS; k++) {
        x.k = kinds + k;
        if (o->only && strcmp(o->only, x.k->name) != 0)
            continue;
        for (size_t bytes = o->min_bytes; bytes <= o->max_bytes && !bench_late(&b); bytes *= 4)
            compare(&b, &x, &n, windows, bytes);
    }
    bench_nccl_close(&n);
    return bench_close(&b);
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 2, o.repeats = 20, o.warmup = 5, o.min_bytes = 1024, o.max_bytes = 1 << 20, o.piece = 1 << 16;
    o.laps = 1, o.seconds = 600;
    bench_parse(&o, argc, argv, "collectives: every schedule beside NCCL; --piece: scratch of a slice");
    config.heap_bytes = 2 * o.max_bytes + (8u << 20);
    config.sync_bytes = 4 * 64 * (o.piece ? o.piece : 8192) + (4u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
