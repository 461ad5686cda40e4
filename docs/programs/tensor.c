/* SPDX-License-Identifier: MIT */
/* A matrix whose columns are split over the ranks: rank 0 transposes it tile by tile, wherever the tiles lie. */
#include <iris/gen/tensor_access.h>
#include <iris/gen/tensor_create.h>
#include <iris/iris.h>
#include <stdio.h>

enum { N = 100, TILE = 32, TILES = (N + TILE - 1) / TILE };

typedef struct {
    iris_ctx ctx;
    iris_tensor from, to;
} transpose_args;

IRIS_KERNEL(transpose, transpose_args, a, 64)
{
    float *in = (float *)iris_shared(), *out = in + TILE * TILE;
    for (int64_t tile = iris_workgroup(); tile < TILES * TILES; tile += iris_workgroups()) {
        const int64_t here[] = {tile / TILES * TILE, tile % TILES * TILE}, there[] = {here[1], here[0]};
        iris_tensor_tile_load_f32_wg(&a->ctx, &a->from, here, TILE, TILE, in, TILE); /* edges are cut off */
        iris_sync_wg();
        for (uint32_t i = iris_wg_lane(); i < TILE * TILE; i += iris_wg_lanes())
            out[i] = in[i % TILE * TILE + i / TILE];
        iris_sync_wg();
        iris_tensor_tile_store_f32_wg(&a->ctx, &a->to, there, TILE, TILE, out, TILE);
        iris_sync_wg();
    }
}

static int rank_main(iris_world *w, void *unused)
{
    static const int64_t size[] = {N, N};
    const iris_tensor_layout columns = iris_tensor_split(IRIS_F32, 2, size, 1, 0);
    iris_launch_config grid = iris_grid(4, 64);
    float host[N * N];
    transpose_args a;
    int wrong = 0;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    grid.shared_bytes = 2 * TILE * TILE * sizeof(float);
    IRIS_TRY(iris_tensor_arange_f32(w, &a.from, &columns, 0, 1)); /* element i of the whole matrix is i */
    IRIS_TRY(iris_tensor_zeros_f32(w, &a.to, &columns));
    IRIS_TRY(iris_barrier(w)); /* everyone has created before anyone reads */
    if (iris_rank(w) == 0)
        IRIS_TRY(iris_launch(w, transpose, &a, sizeof a, &grid, NULL));
    IRIS_TRY(iris_barrier(w)); /* the kernel is done */
    IRIS_TRY(iris_tensor_print(w, &a.to, stdout, 3));
    IRIS_TRY(iris_tensor_download(w, &a.to, host)); /* all elements, on every rank */
    for (int i = 0; i < N * N; i++)
        wrong += host[i] != (float)(i % N * N + i / N);
    return wrong != 0;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
