/* SPDX-License-Identifier: MIT */
/* A GEMM alone: the right half of a matrix becomes A * B, on one rank of two, and the other knows nothing of it. */
#define IRIS_INSTANTIATE_GEMM_LOCAL_F32
#include <iris/gen/launch/gemm.h>
#include <stdio.h>
#include <string.h>

enum { M = 300, N = 200, K = 100 };

static int multiply(iris_world *w, const float *a, const float *b, float *c)
{
    iris_gemm_args g;
    iris_gemm_plan plan;
    memset(&g, 0, sizeof g);
    g.m = M, g.n = N, g.k = K, g.a = a, g.b = b;
    g.c = c + N, g.ldc = 2 * N; /* any place in memory of the device, any distance from row to row */
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_LOCAL, IRIS_F32, &g));
    IRIS_TRY(iris_gemm_local_f32(w, &plan, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    return iris_gemm_release(w, &plan) != IRIS_OK;
}

static int rank_main(iris_world *w, void *unused)
{
    float *a = iris_full_f32(w, M * K, 0.5f), *b = iris_full_f32(w, K * N, 2.0f), *c = iris_zeros_f32(w, M * 2 * N);
    (void)unused;
    IRIS_TRY(a && b && c ? IRIS_OK : IRIS_ERR_NOMEM);
    if (iris_rank(w) == 0 && multiply(w, a, b, c))
        return 1;
    const float first = iris_peek_f32(w, c), last = iris_peek_f32(w, c + 2 * N - 1);
    printf("rank %d: first column %g, last column %g\n", iris_rank(w), (double)first, (double)last);
    return !(first == 0.0f && last == (iris_rank(w) == 0 ? 100.0f : 0.0f));
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
