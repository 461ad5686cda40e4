/* SPDX-License-Identifier: MIT */
/*
 * collective_kinds.h: what bench/collectives measures: every collective, its schedules, which elements of whose buffer
 * go where, and NCCL's call for the same. It brings the launchers.
 *
 *   kind kinds way ways part part_of kind_count kind_crossing
 *   work submit_own submit_peer
 *
 * Bytes are those of the larger buffer of a rank and bandwidths are bus bandwidths, both as nccl-tests defines them.
 * Its all-to-all has rows of one length; those of all_to_allv here have lengths of 1, 3, 5, ... units, the own one the
 * shortest, and as many bytes leave every rank.
 */
#ifndef IRIS_BENCH_COLLECTIVE_KINDS_H
#define IRIS_BENCH_COLLECTIVE_KINDS_H

#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_ALL_TO_ALL
#define IRIS_INSTANTIATE_ALL_TO_ALLV
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_BF16
#define IRIS_INSTANTIATE_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_SCATTER
#define IRIS_INSTANTIATE_SEND_RECV
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_to_all.h>
#include <iris/gen/launch/all_to_allv.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/reduce_scatter.h>
#include <iris/gen/launch/scatter.h>
#include <iris/gen/launch/send_recv.h>

#include "bench.h"
#include "nccl.h"

typedef iris_status (*launcher)(iris_world *w, const iris_channel *ch, const iris_collective *what, iris_stream stream);

/* Roots are rank 0. What follows the collectives is what the links can do: every rank with all others at once. */
enum {
    ALL_REDUCE,
    ALL_GATHER,
    REDUCE_SCATTER,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE,
    GATHER,
    SCATTER,
    ALL_TO_ALLV,
    SEND_RECV, /* each rank to the next */
    PUSH,
    PULL,
    KINDS
};

/* A collective: which buffers have a row for each rank, and how much of the larger one crosses links. */
typedef struct kind {
    const char *name;
    launcher launch; /* null: it has no schedules */
    int dst_rows, src_rows, reduces;
    int factor; /* of (n - 1) / n: 2 for all_reduce; 0: all of it */
} kind;

static const kind kinds[KINDS] = {
    {"all_reduce", iris_launch_all_reduce, 0, 0, 1, 2},
    {"all_gather", iris_launch_all_gather, 1, 0, 0, 1},
    {"reduce_scatter", iris_launch_reduce_scatter, 0, 1, 1, 1},
    {"all_to_all", iris_launch_all_to_all, 1, 1, 0, 1},
    {"broadcast", iris_launch_broadcast, 0, 0, 0, 0},
    {"reduce", iris_launch_reduce, 0, 0, 1, 0},
    {"gather", iris_launch_gather, 1, 0, 0, 1},
    {"scatter", iris_launch_scatter, 0, 1, 0, 1},
    {"all_to_allv", NULL, 1, 1, 0, 1},
    {"send_recv", NULL, 0, 0, 0, 0},
    {"push", NULL, 1, 0, 0, 1},
    {"pull", NULL, 1, 0, 0, 1},
};

/* A schedule, by what it is called, of collective `kind`, and up to how many bytes anybody would take it. */
typedef struct way {
    int kind;
    iris_schedule schedule;
    size_t most;
} way;

static const way ways[] = {
    {ALL_REDUCE, IRIS_SCHEDULE_AUTO, SIZE_MAX},        {ALL_REDUCE, IRIS_SCHEDULE_LL, 1 << 20},
    {ALL_REDUCE, IRIS_SCHEDULE_LL_TWO_SHOT, 4 << 20},  {ALL_REDUCE, IRIS_SCHEDULE_ONE_SHOT, 4 << 20},
    {ALL_REDUCE, IRIS_SCHEDULE_TWO_SHOT, SIZE_MAX},    {ALL_REDUCE, IRIS_SCHEDULE_TWO_SHOT_PUSH, SIZE_MAX},
    {ALL_REDUCE, IRIS_SCHEDULE_TWO_PHASE, SIZE_MAX},   {ALL_REDUCE, IRIS_SCHEDULE_RING, 64 << 20},
    {ALL_GATHER, IRIS_SCHEDULE_AUTO, SIZE_MAX},        {ALL_GATHER, IRIS_SCHEDULE_LL, 4 << 20},
    {ALL_GATHER, IRIS_SCHEDULE_PUSH, SIZE_MAX},        {ALL_GATHER, IRIS_SCHEDULE_PULL, SIZE_MAX},
    {ALL_GATHER, IRIS_SCHEDULE_RING, 64 << 20},        {ALL_GATHER, IRIS_SCHEDULE_COPY_ENGINE, SIZE_MAX},
    {REDUCE_SCATTER, IRIS_SCHEDULE_AUTO, SIZE_MAX},    {REDUCE_SCATTER, IRIS_SCHEDULE_LL, 4 << 20},
    {REDUCE_SCATTER, IRIS_SCHEDULE_PUSH, 64 << 20},    {REDUCE_SCATTER, IRIS_SCHEDULE_PULL, SIZE_MAX},
    {REDUCE_SCATTER, IRIS_SCHEDULE_RING, 64 << 20},    {ALL_TO_ALL, IRIS_SCHEDULE_AUTO, SIZE_MAX},
    {ALL_TO_ALL, IRIS_SCHEDULE_LL, 4 << 20},           {ALL_TO_ALL, IRIS_SCHEDULE_PUSH, SIZE_MAX},
    {ALL_TO_ALL, IRIS_SCHEDULE_PULL, SIZE_MAX},        {ALL_TO_ALL, IRIS_SCHEDULE_COPY_ENGINE, SIZE_MAX},
    {BROADCAST, IRIS_SCHEDULE_AUTO, SIZE_MAX},         {BROADCAST, IRIS_SCHEDULE_LL, 1 << 20},
    {BROADCAST, IRIS_SCHEDULE_PUSH, 16 << 20},         {BROADCAST, IRIS_SCHEDULE_RELAY, SIZE_MAX},
    {BROADCAST, IRIS_SCHEDULE_LL_RELAY, 4 << 20},      {BROADCAST, IRIS_SCHEDULE_CHAIN, SIZE_MAX},
    {BROADCAST, IRIS_SCHEDULE_FETCH, SIZE_MAX},        {BROADCAST, IRIS_SCHEDULE_COPY_ENGINE, SIZE_MAX},
    {REDUCE, IRIS_SCHEDULE_AUTO, SIZE_MAX},            {REDUCE, IRIS_SCHEDULE_TWO_SHOT, SIZE_MAX},
    {REDUCE, IRIS_SCHEDULE_PULL, 64 << 20},            {GATHER, IRIS_SCHEDULE_AUTO, SIZE_MAX},
    {GATHER, IRIS_SCHEDULE_PUSH, SIZE_MAX},            {SCATTER, IRIS_SCHEDULE_AUTO, SIZE_MAX},
    {SCATTER, IRIS_SCHEDULE_PULL, SIZE_MAX},           {ALL_TO_ALLV, IRIS_SCHEDULE_AUTO, SIZE_MAX},
    {SEND_RECV, IRIS_SCHEDULE_AUTO, SIZE_MAX},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* What is timed: the library's collective, or with `peer` NCCL's, or one of the kernels that show the links. */
typedef struct work {
    const kind *k;
    iris_channel ch, messages;
    iris_collective c;
    const bench_nccl *peer;
    void *dst, *src; /* the peer's */
    uint64_t *rows;  /* symmetric, of all_to_allv: offsets in src, counts there, offsets in dst, counts there */
    uint64_t *wrong; /* elements that are, on the device */
    bench_kernel links;
} work;

/* Elements of all_to_allv's row between two ranks. */
static size_t row_length(size_t count, int ranks, int from, int to)
{
    return count / (size_t)ranks * (2 * (size_t)((to - from + ranks) % ranks) + 1);
}

/* Elements from `first` of a rank's src that come to `at` of a rank's dst. */
typedef struct part {
    size_t first, at, count;
    int from;
} part;

/* What rank `to` has of rank `from`; a collective that combines: of all ranks, in the name of rank 0. */
static part part_of(const kind *k, size_t count, int ranks, int from, int to)
{
    part p;
    int there = 1;
    p.first = k->src_rows ? (size_t)to * count : 0;
    p.at = k->dst_rows ? (size_t)from * count : 0;
    p.from = from;
    switch (k - kinds) {
    case ALL_REDUCE:
    case REDUCE_SCATTER:
    case BROADCAST:
    case SCATTER: there = from == 0; break;
    case REDUCE: there = from == 0 && to == 0; break;
    case GATHER: there = to == 0; break;
    case SEND_RECV: there = to == (from + 1) % ranks; break;
    case PUSH:
    case PULL: there = from != to; break;
    case ALL_TO_ALLV:
        p.first = p.at = 0;
        for (int r = 0; r < to; r++)
            p.first += row_length(count, ranks, from, r);
        for (int r = 0; r < from; r++)
            p.at += row_length(count, ranks, r, to);
        count = row_length(count, ranks, from, to);
        break;
    default: break;
    }
    p.count = there ? count : 0;
    return p;
}

/* Elements of the collective for so many bytes: of a row, if it has rows; the mean one of all_to_allv. */
static size_t kind_count(const kind *k, size_t bytes, int ranks)
{
    const size_t all = bytes / sizeof(iris_bf16), count = k->dst_rows || k->src_rows ? all / (size_t)ranks : all;
    switch (k - kinds) {
    case ALL_TO_ALLV: return count - count % (size_t)ranks;
    case PUSH:
    case PULL: return count - count % 8; /* 16 bytes */
    default: return count;
    }
}

/* The part of the bytes that crosses links: bus over algorithm bandwidth. */
static double kind_crossing(const kind *k, int ranks)
{
    if (k - kinds == ALL_TO_ALLV) /* all but the shortest of its rows */
        return 1 - 1.0 / ranks / ranks;
    return k->factor ? k->factor * (double)(ranks - 1) / ranks : 1;
}

static inline iris_status submit_own(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const work *x = (const work *)arg;
    const int ranks = iris_world_size(w), rank = iris_rank(w);
    iris_bf16 *dst = (iris_bf16 *)x->c.dst;
    const iris_bf16 *src = (const iris_bf16 *)x->c.src;
    (void)turn;
    if (x->k->launch)
        return x->k->launch(w, &x->ch, &x->c, stream);
    if (x->k - kinds == SEND_RECV)
        return iris_exchange_bf16(w, &x->messages, dst, (rank + ranks - 1) % ranks, src, (rank + 1) % ranks, x->c.count,
                                  stream);
    return iris_all_to_allv_rows_bf16(w, &x->ch, dst, x->rows + 2 * ranks, x->rows + 3 * ranks, src, x->rows,
                                      x->rows + ranks, x->c.team, stream);
}

/* NCCL's way where it has no collective: everybody's sends and receives as a group. */
static inline int submit_group(const work *x, int ranks, int rank, iris_stream stream)
{
    const bench_nccl *n = x->peer;
    iris_bf16 *dst = (iris_bf16 *)x->dst, *src = (iris_bf16 *)x->src;
    int error = n->group_start();
    for (int r = 0; r < ranks && error == 0; r++) {
        const part out = part_of(x->k, x->c.count, ranks, rank, r), in = part_of(x->k, x->c.count, ranks, r, rank);
        if (out.count > 0)
            error = n->send(src + out.first, out.count, BENCH_NCCL_BF16, r, n->comm, stream);
        if (in.count > 0 && error == 0)
            error = n->recv(dst + in.at, in.count, BENCH_NCCL_BF16, r, n->comm, stream);
    }
    return error == 0 ? n->group_end() : error;
}

static inline iris_status submit_peer(iris_world *w, void *arg, iris_stream stream, int turn)
{
    enum { BF16 = BENCH_NCCL_BF16, SUM = BENCH_NCCL_SUM };
    const work *x = (const work *)arg;
    const bench_nccl *n = x->peer;
    const size_t count = x->c.count;
    int error;
    (void)turn;
    switch (x->k - kinds) {
    case ALL_REDUCE: error = n->all_reduce(x->src, x->dst, count, BF16, SUM, n->comm, stream); break;
    case ALL_GATHER: error = n->all_gather(x->src, x->dst, count, BF16, n->comm, stream); break;
    case REDUCE_SCATTER: error = n->reduce_scatter(x->src, x->dst, count, BF16, SUM, n->comm, stream); break;
    case BROADCAST: error = n->broadcast(x->src, x->dst, count, BF16, 0, n->comm, stream); break;
    case REDUCE: error = n->reduce(x->src, x->dst, count, BF16, SUM, 0, n->comm, stream); break;
    default: error = submit_group(x, iris_world_size(w), iris_rank(w), stream); break;
    }
    return bench_nccl_ok(w, n, error, x->k->name);
}

#endif
