/* SPDX-License-Identifier: MIT */
/* Decoding: the second matrix of an MLP, the sum over ranks, the residual stream and its RMSNorm, in one launch. */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_F32
#include <iris/gen/launch/gemm_all_reduce_rmsnorm.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 4, WIDTH = 96, HIDDEN = 200, STEPS = 10 };

static int rank_main(iris_world *w, void *unused)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const size_t most = iris_gemm_band(HIDDEN, world, 0).count; /* equal allocations on every rank */
    iris_gemm_args g;
    iris_gemm_plan plan;
    (void)unused;
    memset(&g, 0, sizeof g);
    g.m = ROWS, g.n = WIDTH, g.k = iris_gemm_band(HIDDEN, world, rank).count; /* each rank its part of the sum */
    float *stream = iris_zeros_f32(w, ROWS * WIDTH), *normed = iris_zeros_f32(w, ROWS * WIDTH);
    g.a = iris_full_f32(w, ROWS * most, 0.5f), g.b = iris_full_f32(w, most * WIDTH, 0.25f);
    g.c = stream, g.beta = 1; /* stream += the sums over all ranks */
    g.out = normed, g.weight = iris_full_f32(w, WIDTH, 2), g.epsilon = 1e-5f;
    IRIS_TRY(g.a && g.b && g.weight && stream && normed ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_F32, &g));
    for (int i = 0; i < STEPS; i++) /* `normed` is what the next layer's GEMM would read */
        IRIS_TRY(iris_gemm_all_reduce_rmsnorm_f32(w, &plan, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    const float sum = iris_peek_f32(w, stream), norm = iris_peek_f32(w, normed);
    printf("rank %u: the stream holds %g, its norm %g\n", rank, (double)sum, (double)norm);
    IRIS_TRY(iris_gemm_release(w, &plan));
    return !(sum == 250.0f && norm > 1.999f && norm < 2.001f); /* 10 steps of 200 / 8; 2 * 250 / sqrt(250 * 250) */
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
