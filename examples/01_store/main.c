/* SPDX-License-Identifier: MIT */
/* Every rank stores into its right neighbour's buffer, 16 bytes a lane, and signals it once a workgroup is done. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { COUNT = 1 << 16, VEC = 4 };

typedef struct {
    iris_ctx ctx;
    float *inbox; /* symmetric: written by the left neighbour */
    iris_signal *arrived;
    size_t n;
} store_args;

IRIS_KERNEL(store_right, store_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    for (size_t i = iris_grid_lane() * VEC; i < a->n; i += iris_grid_lanes() * VEC) {
        iris_vec_f32 four;
        for (int k = 0; k < VEC; k++)
            four.v[k] = (float)(i + (size_t)k) + 0.5f * (float)a->ctx.rank;
        iris_store_vec_f32(&a->ctx, a->inbox + i, four, right, IRIS_CACHE_STREAM);
    }
    iris_signal_add_wg(&a->ctx, a->arrived, 1, right);
    iris_wait_ge_wg(&a->ctx, a->arrived, iris_workgroups());
}

static int rank_main(iris_world *w, void *unused)
{
    const int left = (iris_rank(w) + iris_world_size(w) - 1) % iris_world_size(w);
    iris_launch_config grid = iris_cooperative(8, 256);
    float *seen = (float *)malloc(COUNT * sizeof *seen);
    size_t wrong = 0;
    store_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = COUNT;
    a.inbox = iris_full_f32(w, COUNT, -1.0f);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, store_right, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_f32(w, seen, a.inbox, COUNT));
    for (int i = 0; i < COUNT; i++)
        wrong += seen[i] != (float)i + 0.5f * (float)left;
    free(seen);
    printf("rank %d received %d elements from rank %d: %zu wrong\n", iris_rank(w), COUNT, left, wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Every rank stores into its right neighbour's buffer, and signals it.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
