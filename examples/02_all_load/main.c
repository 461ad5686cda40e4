/* SPDX-License-Identifier: MIT */
/* Every rank loads every rank's buffer and adds them up: the pull half of an all-reduce. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { COUNT = 10007 };

typedef struct {
    iris_ctx ctx;
    const iris_bf16 *parts; /* symmetric: one part on each rank */
    float *sum;
    size_t n;
} all_load_args;

IRIS_KERNEL(all_load, all_load_args, a, 256)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes()) {
        float sum = 0.0f; /* one order of ranks for each element, the same on every rank */
        for (int rank = 0; rank < a->ctx.world; rank++)
            sum += iris_widen_bf16(iris_load_bf16(&a->ctx, a->parts + i, rank));
        a->sum[i] = sum;
    }
}

static int rank_main(iris_world *w, void *unused)
{
    const int world = iris_world_size(w);
    iris_launch_config grid = iris_grid(16, 256);
    float *seen = (float *)malloc(COUNT * sizeof *seen);
    size_t wrong = 0;
    all_load_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = COUNT;
    a.parts = iris_full_bf16(w, COUNT, (float)(1 + iris_rank(w)));
    a.sum = iris_zeros_f32(w, COUNT);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, all_load, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_f32(w, seen, a.sum, COUNT));
    for (int i = 0; i < COUNT; i++)
        wrong += seen[i] != (float)(world * (world + 1) / 2);
    printf("rank %d added up %d ranks: %g, %zu wrong\n", iris_rank(w), world, (double)seen[0], wrong);
    free(seen);
    IRIS_TRY(iris_barrier(w));
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 4, "Every rank loads every rank's buffer and adds them up.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
