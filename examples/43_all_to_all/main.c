/* SPDX-License-Identifier: MIT */
/*
 * A matrix that lies across the ranks in bands of rows becomes its transpose: each rank turns the blocks of its band,
 * all-to-all brings every block to its owner, and each rank puts the blocks that arrived side by side.
 */
#define IRIS_INSTANTIATE_ALL_TO_ALL
#include <iris/gen/launch/all_to_all.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { B = 24 }; /* rows of a rank's band; the matrix is B * ranks square */

typedef struct {
    iris_ctx ctx;
    int32_t *band, *blocks, *arrived, *transposed;
} transpose_args;

/* Block r of `blocks`, B by B, is columns r * B … of the band, transposed. */
IRIS_KERNEL(turn_blocks, transpose_args, a, 256)
{
    const size_t n = (size_t)B * (size_t)a->ctx.world;
    for (size_t i = iris_grid_lane(); i < B * n; i += iris_grid_lanes()) {
        const size_t row = i / n, column = i % n;
        a->blocks[column / B * B * B + column % B * B + row] = a->band[i];
    }
}

/* Block r of `arrived` is columns r * B … of this rank's band of the transpose. */
IRIS_KERNEL(place_blocks, transpose_args, a, 256)
{
    const size_t n = (size_t)B * (size_t)a->ctx.world;
    for (size_t i = iris_grid_lane(); i < B * n; i += iris_grid_lanes())
        a->transposed[i] = a->arrived[i % n / B * B * B + i / n * B + i % n % B];
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_team world = {0, 0, 0};
    const iris_launch_config cfg = iris_grid(2, 256);
    const iris_stream stream = iris_default_stream(w);
    const int n = B * iris_world_size(w), first = B * iris_rank(w);
    int32_t *host = (int32_t *)malloc((size_t)(B * n) * sizeof *host);
    iris_channel ch;
    transpose_args a;
    int wrong = 0;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.band = iris_empty_i32(w, (size_t)(B * n));
    a.blocks = iris_empty_i32(w, (size_t)(B * n));
    a.arrived = iris_empty_i32(w, (size_t)(B * n));
    a.transposed = iris_empty_i32(w, (size_t)(B * n));
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_barrier(w));
    for (int i = 0; i < B * n; i++) /* element (row, column) of the matrix is row * n + column */
        host[i] = first * n + i;
    IRIS_TRY(iris_memcpy(w, a.band, host, (size_t)(B * n) * sizeof *host));
    IRIS_TRY(iris_launch(w, turn_blocks, &a, sizeof a, &cfg, stream));
    IRIS_TRY(iris_all_to_all_i32(w, &ch, a.arrived, a.blocks, B * B, world, stream));
    IRIS_TRY(iris_launch(w, place_blocks, &a, sizeof a, &cfg, stream));
    IRIS_TRY(iris_memcpy(w, host, a.transposed, (size_t)(B * n) * sizeof *host));
    for (int i = 0; i < B * n; i++)
        wrong += host[i] != i % n * n + first + i / n;
    if (iris_rank(w) == 0 || wrong)
        printf("rank %d has its %d rows of the transpose of %d x %d: %d wrong\n", iris_rank(w), B, n, n, wrong);
    free(host);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "A matrix that lies across the ranks in bands becomes its transpose.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
