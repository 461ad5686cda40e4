/* SPDX-License-Identifier: MIT */
/*
 * Blocks go around the ring while they are computed with: each rank has a block, and in the end every rank has done
 * something with all of them. A stream computes; another sends the block on at the same time, by the device's copy
 * engine, which takes no compute unit from the kernel. The host puts all of it on the streams at once.
 */
#define IRIS_INSTANTIATE_ON_STREAM
#include <iris/init.h>
#include <iris/iris.h>
#include <iris/on_stream.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { BLOCK = 100000 };

typedef struct {
    const float *block;
    float *sum;
    float factor;
} work_args;

/* What is done with a block: this rank's sums change by its elements, each block's by a factor of its own. */
IRIS_KERNEL(work, work_args, a, 256)
{
    for (size_t i = iris_grid_lane(); i < BLOCK; i += iris_grid_lanes())
        a->sum[i] += a->block[i] * a->factor;
}

typedef struct {
    float *blocks;        /* symmetric: two, which take turns */
    float *sum;           /* own */
    iris_signal *arrived; /* blocks that have come from the left */
    iris_signal *freed;   /* blocks of the right one's that it needs no more */
    iris_stream compute, copies;
    iris_event computed;
} ring;

/* Puts step `step` on both streams: the block that is here is computed with, and sent on while that goes on. */
static iris_status enqueue(iris_world *w, const ring *r, int step)
{
    const int rank = iris_rank(w), ranks = iris_world_size(w), right = (rank + 1) % ranks;
    const int left = (rank + ranks - 1) % ranks, owner = (rank + ranks - step) % ranks;
    float *here = r->blocks + step % 2 * BLOCK, *next = r->blocks + (step + 1) % 2 * BLOCK;
    const uint64_t n = (uint64_t)step;
    work_args a;
    iris_status s = iris_wait_until_on_stream(w, r->arrived, IRIS_CMP_GE, n, r->compute);
    a.block = here, a.sum = r->sum, a.factor = (float)(1 + owner);
    if (s == IRIS_OK)
        s = iris_launch(w, work, &a, sizeof a, NULL, r->compute);
    if (s == IRIS_OK)
        s = iris_event_record(w, r->computed, r->compute);
    if (s == IRIS_OK && step + 1 < ranks)
        s = iris_wait_until_on_stream(w, r->arrived, IRIS_CMP_GE, n, r->copies);
    if (s == IRIS_OK && step + 1 < ranks)
        s = iris_wait_until_on_stream(w, r->freed, IRIS_CMP_GE, n, r->copies);
    if (s == IRIS_OK && step + 1 < ranks)
        s = iris_put_signal_on_stream(w, next, here, BLOCK * sizeof *here, r->arrived, 1, IRIS_SIGNAL_ADD, right,
                                      r->copies);
    if (s == IRIS_OK)
        s = iris_stream_wait_event(w, r->copies, r->computed); /* sent and computed with: the left one may write here */
    return s == IRIS_OK ? iris_signal_on_stream(w, r->freed, 1, IRIS_SIGNAL_ADD, left, r->copies) : s;
}

static int rank_main(iris_world *w, void *unused)
{
    const int rank = iris_rank(w), ranks = iris_world_size(w);
    float *host = (float *)malloc(BLOCK * sizeof *host);
    int wrong = 0;
    ring r;
    (void)unused;
    r.blocks = iris_empty_f32(w, 2 * BLOCK);
    r.sum = iris_zeros_f32(w, BLOCK);
    r.arrived = iris_signals(w, 2);
    r.freed = r.arrived + 1;
    for (int i = 0; i < BLOCK; i++)
        host[i] = (float)((i + rank) % 100);
    IRIS_TRY(iris_upload_f32(w, r.blocks, host, BLOCK));
    IRIS_TRY(iris_stream_create(w, &r.compute));
    IRIS_TRY(iris_stream_create(w, &r.copies));
    IRIS_TRY(iris_event_create(w, &r.computed));
    IRIS_TRY(iris_barrier(w));
    for (int step = 0; step < ranks; step++)
        IRIS_TRY(enqueue(w, &r, step));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_f32(w, host, r.sum, BLOCK));
    for (int i = 0; i < BLOCK; i++) {
        float sum = 0;
        for (int owner = 0; owner < ranks; owner++)
            sum += (float)((i + owner) % 100) * (float)(1 + owner);
        wrong += host[i] != sum;
    }
    if (rank == 0 || wrong)
        printf("rank %d computed with %d blocks of %d while they went around: %d wrong\n", rank, ranks, BLOCK, wrong);
    IRIS_TRY(iris_event_destroy(w, r.computed));
    IRIS_TRY(iris_stream_destroy(w, r.copies));
    IRIS_TRY(iris_stream_destroy(w, r.compute));
    free(host);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Blocks go around a ring by copies while each rank computes with them.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
