/* SPDX-License-Identifier: MIT */
/* launchers.c: one launcher of every family, by the file that asks for its kernels. */
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#define IRIS_INSTANTIATE_REDUCE_SUM_F32
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_F32
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_SEND_RECV
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#define IRIS_INSTANTIATE_SELF_TEST
#define IRIS_INSTANTIATE_TENSOR
#include <iris/iris.h>
#include <stdio.h>
#include <string.h>

int launchers(iris_world *w);

enum { COUNT = 64, K = 32 };

static int expect(iris_world *w, const char *name, const float *p, float value)
{
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_barrier(w));
    if (iris_peek_f32(w, p) == value)
        return 0;
    return printf("rank %d, %s: %g, not %g\n", iris_rank(w), name, (double)iris_peek_f32(w, p), (double)value), 1;
}

static int gemm(iris_world *w, float *c)
{
    iris_gemm_args g;
    iris_gemm_plan plan;
    memset(&g, 0, sizeof g);
    g.m = 1, g.n = COUNT, g.k = K, g.c = c;
    g.a = iris_full_f32(w, K, 0.5f);
    g.b = iris_full_f32(w, K * COUNT, 2);
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g));
    IRIS_TRY(iris_gemm_all_scatter_f32(w, &plan, NULL));
    if (expect(w, "iris_gemm_all_scatter_f32", c, K))
        return 1;
    return iris_gemm_release(w, &plan) != IRIS_OK;
}

static int tensor(iris_world *w, const iris_channel *ch, float *dst, float *src)
{
    static const int64_t size[] = {2, COUNT};
    const iris_tensor_layout rows = iris_tensor_split(IRIS_F32, 2, size, 0, 1);
    const iris_tensor_layout whole = iris_tensor_replicated(IRIS_F32, 2, size);
    iris_tensor from, to;
    IRIS_TRY(iris_tensor_wrap(w, &from, &rows, src, COUNT * sizeof(float)));
    IRIS_TRY(iris_tensor_wrap(w, &to, &whole, dst, 2 * COUNT * sizeof(float)));
    IRIS_TRY(iris_tensor_reshard(w, ch, &to, &from, NULL));
    return expect(w, "iris_tensor_reshard", dst, 1) || expect(w, "iris_tensor_reshard", dst + COUNT, 2);
}

int launchers(iris_world *w)
{
    const int me = iris_rank(w), other = 1 - me;
    const iris_team all = {0, 0, 0};
    iris_channel ch, messages;
    iris_rmsnorm norm;
    float *dst = iris_zeros_f32(w, 2 * COUNT), *src = iris_full_f32(w, 2 * COUNT, (float)(1 + me));
    memset(&norm, 0, sizeof norm);
    norm.rows = 1, norm.columns = COUNT;
    norm.src = iris_full_bf16(w, COUNT, (float)(1 + me)), norm.residual = iris_zeros_bf16(w, COUNT);
    norm.weight = iris_full_bf16(w, COUNT, 2), norm.out = iris_zeros_bf16(w, COUNT);
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_collective_channel(w, &messages, 0));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_all_reduce_sum_f32(w, &ch, dst, src, COUNT, all, NULL));
    if (expect(w, "iris_all_reduce_sum_f32", dst, 3))
        return 1;
    IRIS_TRY(iris_reduce_sum_f32(w, &ch, dst + COUNT, src, COUNT, 1, all, NULL));
    if (expect(w, "iris_reduce_sum_f32", dst + COUNT, me ? 3 : 0))
        return 1;
    IRIS_TRY(iris_reduce_scatter_sum_f32(w, &ch, dst, src, COUNT, all, NULL));
    if (expect(w, "iris_reduce_scatter_sum_f32", dst, 3))
        return 1;
    IRIS_TRY(iris_all_gather_f32(w, &ch, dst, src, COUNT, all, NULL));
    if (expect(w, "iris_all_gather_f32", dst + COUNT, 2))
        return 1;
    IRIS_TRY(iris_exchange_f32(w, &messages, dst, other, src, other, COUNT, NULL));
    if (expect(w, "iris_exchange_f32", dst, (float)(1 + other)))
        return 1;
    IRIS_TRY(iris_all_reduce_rmsnorm_bf16(w, &ch, &norm, IRIS_SCHEDULE_AUTO, all, NULL));
    IRIS_TRY(iris_synchronize(w));
    if (iris_peek_bf16(w, (iris_bf16 *)norm.out) != 2)
        return printf("rank %d, iris_all_reduce_rmsnorm_bf16 is wrong\n", me), 1;
    if (tensor(w, &ch, dst, src) || gemm(w, dst))
        return 1;
    IRIS_TRY(iris_self_test(w, NULL));
    return 0;
}
