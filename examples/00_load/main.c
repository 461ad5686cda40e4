/* SPDX-License-Identifier: MIT */
/* Every rank loads its right neighbour's buffer, one element a lane, and checks every value. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { COUNT = 1 << 16 };

typedef struct {
    iris_ctx ctx;
    const int32_t *there; /* symmetric: read on the neighbour */
    int32_t *here;
    size_t n;
} load_args;

IRIS_KERNEL(load_right, load_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->here[i] = iris_load_i32(&a->ctx, a->there + i, right);
}

static int rank_main(iris_world *w, void *unused)
{
    const int right = (iris_rank(w) + 1) % iris_world_size(w);
    iris_launch_config grid = iris_grid(16, 256);
    int32_t *seen = (int32_t *)malloc(COUNT * sizeof *seen);
    size_t wrong = 0;
    load_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = COUNT;
    a.there = iris_arange_i32(w, COUNT, 1000 * iris_rank(w), 3);
    a.here = iris_full_i32(w, COUNT, -1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, load_right, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_i32(w, seen, a.here, COUNT));
    for (int i = 0; i < COUNT; i++)
        wrong += seen[i] != 1000 * right + 3 * i;
    free(seen);
    printf("rank %d loaded %d elements from rank %d: %zu wrong\n", iris_rank(w), COUNT, right, wrong);
    IRIS_TRY(iris_barrier(w)); /* nobody frees what a neighbour still reads */
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Every rank loads its right neighbour's buffer and checks every value.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
