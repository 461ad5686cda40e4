/* SPDX-License-Identifier: MIT */
/*
 * A pipeline: rank r is stage r. It receives a block from the stage before, computes, and sends it to the stage after,
 * block after block; the first stages run ahead. Everything is put on the stream at once.
 */
#define IRIS_INSTANTIATE_SEND_RECV
#include <iris/gen/launch/send_recv.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { BLOCK = 3000, BLOCKS = 32 };

typedef struct {
    float *block;
    float factor, addend;
} stage_args;

/* What a stage does to a block. */
IRIS_KERNEL(stage, stage_args, a, 256)
{
    for (size_t i = iris_grid_lane(); i < BLOCK; i += iris_grid_lanes())
        a->block[i] = a->block[i] * a->factor + a->addend;
}

static int rank_main(iris_world *w, void *unused)
{
    const int rank = iris_rank(w), ranks = iris_world_size(w), first = rank == 0, last = rank == ranks - 1;
    const iris_launch_config cfg = iris_grid(1, 256);
    const iris_stream stream = iris_default_stream(w);
    float *blocks = iris_empty_f32(w, BLOCKS * BLOCK), *host = (float *)malloc(BLOCKS * BLOCK * sizeof *host);
    iris_channel ch;
    int wrong = 0;
    (void)unused;
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_barrier(w));
    for (int i = 0; i < BLOCKS * BLOCK; i++)
        host[i] = (float)(i % 1000);
    if (first)
        IRIS_TRY(iris_memcpy(w, blocks, host, BLOCKS * BLOCK * sizeof *host));
    for (int b = 0; b < BLOCKS; b++) {
        stage_args a;
        a.block = blocks + b * BLOCK, a.factor = 2, a.addend = (float)rank;
        if (!first)
            IRIS_TRY(iris_recv_from_f32(w, &ch, a.block, BLOCK, rank - 1, stream));
        IRIS_TRY(iris_launch(w, stage, &a, sizeof a, &cfg, stream));
        if (!last)
            IRIS_TRY(iris_send_to_f32(w, &ch, a.block, BLOCK, rank + 1, stream));
    }
    IRIS_TRY(iris_memcpy(w, host, blocks, BLOCKS * BLOCK * sizeof *host));
    for (int i = 0; i < BLOCKS * BLOCK; i++) {
        float x = (float)(i % 1000);
        for (int r = 0; r <= rank; r++)
            x = x * 2 + (float)r;
        wrong += host[i] != x;
    }
    if (last || wrong)
        printf("rank %d, the last of %d stages, has %d blocks of %d: %d wrong\n", rank, ranks, BLOCKS, BLOCK, wrong);
    free(host);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "A pipeline: each rank receives a block, computes, and sends it on.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
