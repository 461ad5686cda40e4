/* SPDX-License-Identifier: MIT */
/* Two layers of a sequence-parallel model: y = relu(x * W1) * W2, where each rank has its rows of x and y. */
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>
#include <stdio.h>
#include <string.h>

enum { M = 301, WIDTH = 96, HIDDEN = 200, LAYERS = 10 };

static int rank_main(iris_world *w, void *unused)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const size_t rows = iris_gemm_shard(M, world, 0).count, columns = iris_gemm_band(HIDDEN, world, 0).count;
    const uint32_t own = iris_gemm_band(HIDDEN, world, rank).count; /* columns of W1, and rows of W2 */
    iris_gemm_args up, down;
    iris_gemm_plan first, second;
    (void)unused;
    memset(&up, 0, sizeof up);
    up.m = M, up.n = HIDDEN, up.k = WIDTH;
    up.a = iris_full_f32(w, rows * WIDTH, (float)rank + 1); /* this rank's rows of x, as iris_gemm_shard says */
    up.b = iris_full_f32(w, WIDTH * columns, 0.5f);
    up.activation = IRIS_ACTIVATION_RELU;
    float *hidden = iris_zeros_f32(w, M * columns), *y = iris_zeros_f32(w, rows * WIDTH);
    up.c = hidden;
    memset(&down, 0, sizeof down);
    down.m = M, down.n = WIDTH, down.k = own; /* each rank its part of the sum */
    down.a = hidden;
    down.b = iris_full_f32(w, columns * WIDTH, 0.25f);
    down.c = y;
    IRIS_TRY(up.a && up.b && down.b && hidden && y ? IRIS_OK : IRIS_ERR_NOMEM);

    /* Both plans are launched on one stream: they may share the memory for what crosses the ranks. */
    size_t room = iris_gemm_workspace_bytes(w, IRIS_GEMM_ALL_GATHER, IRIS_F32, &up);
    const size_t sums = iris_gemm_workspace_bytes(w, IRIS_GEMM_REDUCE_SCATTER, IRIS_F32, &down);
    room = room > sums ? room : sums;
    up.workspace = down.workspace = iris_malloc(w, room), up.workspace_bytes = down.workspace_bytes = room;
    IRIS_TRY(up.workspace ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_gemm_prepare(w, &first, IRIS_GEMM_ALL_GATHER, IRIS_F32, &up));
    IRIS_TRY(iris_gemm_prepare(w, &second, IRIS_GEMM_REDUCE_SCATTER, IRIS_F32, &down));
    for (int i = 0; i < LAYERS; i++) {
        IRIS_TRY(iris_gemm_all_gather_f32(w, &first, iris_default_stream(w)));
        IRIS_TRY(iris_gemm_reduce_scatter_f32(w, &second, iris_default_stream(w)));
    }
    IRIS_TRY(iris_synchronize(w));
    const float own_y = iris_peek_f32(w, y);
    printf("rank %u: y is %g in each of %u rows\n", rank, (double)own_y, iris_gemm_shard(M, world, rank).count);
    IRIS_TRY(iris_gemm_release(w, &second));
    IRIS_TRY(iris_gemm_release(w, &first));
    return own_y != 2400.0f * (float)(rank + 1); /* x * 96 / 2 * 200 / 4 */
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
