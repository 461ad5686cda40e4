/* SPDX-License-Identifier: MIT */
/* One layer of a tensor-parallel model: C = relu(A * B + bias), each rank's band of columns on every rank. */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32 /* this file holds the kernels, for f32 only */
#include <iris/gen/launch/gemm_all_scatter.h>
#include <stdio.h>
#include <string.h>

enum { M = 300, N = 200, K = 100, LAYERS = 10 };

static int rank_main(iris_world *w, void *unused)
{
    const size_t widest = iris_gemm_band(N, (uint32_t)iris_world_size(w), 0).count; /* as much memory on every rank */
    iris_gemm_args args;
    iris_gemm_plan plan;
    float *c = iris_zeros_f32(w, M * N);
    (void)unused;
    memset(&args, 0, sizeof args);
    args.m = M, args.n = N, args.k = K;
    args.a = iris_full_f32(w, M * K, 0.5f);
    args.b = iris_full_f32(w, K * widest, 2.0f); /* this rank's columns, as many as iris_gemm_band says */
    args.bias = iris_full_f32(w, widest, (float)iris_rank(w));
    args.c = c;
    args.activation = IRIS_ACTIVATION_RELU;
    IRIS_TRY(args.a && args.b && args.bias && args.c ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &args));
    for (int i = 0; i < LAYERS; i++)
        IRIS_TRY(iris_gemm_all_scatter_f32(w, &plan, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    const float first = iris_peek_f32(w, c), last = iris_peek_f32(w, c + N - 1);
    printf("rank %d: first column %g, last column %g\n", iris_rank(w), (double)first, (double)last);
    IRIS_TRY(iris_gemm_release(w, &plan));
    return !(first == 100.0f && last == 103.0f); /* the biases of ranks 0 and 3 */
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
