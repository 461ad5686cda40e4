/* SPDX-License-Identifier: MIT */
/*
 * bad_arguments.cpp: what iris_gemm_prepare and the launchers refuse, and the sentence that says why.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#endif
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <iris/gen/launch/gemm_all_scatter.h>

#include "harness.h"

/* A sound question that each row spoils in one way. */
struct question {
    iris_gemm_args args;
    iris_gemm_op op;
    iris_dtype dtype;
    iris_gemm_more further[IRIS_GEMM_MOST_MORE]; /* of this rank: ranks may be threads */
};

enum { M = 40, N = 144, K = 24 }; /* a band for each of up to 8 ranks */

static void null_a(question *q) { q->args.a = nullptr; }
static void null_b(question *q) { q->args.b = nullptr; }
static void null_c(question *q) { q->args.c = nullptr; }
static void local_c(question *q)
{
    static double c[M * N];
    q->args.c = c;
}
static void zero_m(question *q) { q->args.m = 0; }
static void negative_n(question *q) { q->args.n = -4; }
static void huge_k(question *q) { q->args.k = (int64_t)1 << 31; }
static void overflow(question *q) { q->args.m = 2147483647, q->args.ldc = INT64_MAX / 8; }
static void beyond_heap(question *q) { q->args.ldc = (int64_t)1 << 30; }
static void short_lda(question *q) { q->args.lda = K - 1; }
static void short_ldb(question *q) { q->args.ldb = 1, q->args.b_transposed = 1; }
static void short_lda_transposed(question *q) { q->args.lda = M - 1, q->args.a_transposed = 1; }
static void gathered_transposed(question *q) { q->op = IRIS_GEMM_ALL_GATHER, q->args.a_transposed = 1; }
static void c_is_last_of_a_transposed(question *q)
{
    q->args.a = (const float *)q->args.c - (K - 1) * M - 15, q->args.a_transposed = 1, q->args.lda = M;
}
static void transposed_without_kernels(question *q) { q->args.a_transposed = 1, q->dtype = IRIS_BF16; }
static void short_ldc(question *q) { q->args.ldc = N - 1; }
static void odd_a(question *q) { q->args.a = (const char *)q->args.a + 1; }
static void odd_bias(question *q) { q->args.bias = (const char *)q->args.a + 2; }
static void no_kernel(question *q) { q->dtype = IRIS_I32; }
static void no_dtype(question *q) { q->dtype = (iris_dtype)77; }
static void forgotten_dtype(question *q) { q->dtype = (iris_dtype)0; }
static void no_op(question *q) { q->op = (iris_gemm_op)6; }
static void far_op(question *q) { q->op = (iris_gemm_op)40; }
static int naught(void *, const iris_gemm_blas_call *, iris_stream) { return 0; }
static void no_blas(question *q) { q->args.pattern = IRIS_GEMM_BLAS_GATHER; }
static void blas_with_bias(question *q)
{
    q->args.pattern = IRIS_GEMM_BLAS_GATHER, q->args.blas = naught, q->args.bias = q->args.a;
}
static void blas_with_activation(question *q)
{
    q->args.pattern = IRIS_GEMM_BLAS_GATHER, q->args.blas = naught, q->args.activation = IRIS_ACTIVATION_SILU;
}
static void blas_with_scale(question *q)
{
    q->args.pattern = IRIS_GEMM_BLAS_GATHER, q->args.blas = naught, q->args.scale_b = (const float *)q->args.a;
}
static void slow_blas(question *q) { q->args.blas_tflops = -1; }
static void no_speed(question *q) { q->args.blas_tflops = std::nan(""); }
static void no_pattern(question *q) { q->args.pattern = (iris_gemm_pattern)9; }
static void no_activation(question *q) { q->args.activation = (iris_activation)8; }
static void large_tile(question *q) { q->args.tile_m = 4096; }
static void one_workgroup(question *q) { q->args.workgroups = 1, q->args.pattern = IRIS_GEMM_WG_SPECIALIZED; }
static void all_send(question *q) { q->args.workgroups = 4, q->args.comm_workgroups = 4; }
static void many_workgroups(question *q) { q->args.workgroups = 70000; }
static void many_senders(question *q) { q->args.comm_workgroups = UINT32_MAX; }
static void two_alphas(question *q) { q->args.zero_alpha = 1, q->args.alpha = 0.5; }
static void wide_grid(question *q) { q->args.workgroups = 65535, q->args.pattern = IRIS_GEMM_WAVE_SPECIALIZED; }
static void wide_grid_to_send(question *q)
{
    q->args.workgroups = 65535, q->args.comm_workgroups = 65000, q->args.pattern = IRIS_GEMM_PRODUCER_CONSUMER;
}
static void wide_grid_to_choose(question *q) { q->args.workgroups = 65535; }
static void zero_n(question *q) { q->args.n = 0; }
static void zero_k(question *q) { q->args.k = 0; }
static void least_m(question *q) { q->args.m = INT64_MIN; }
static void overflow_a(question *q) { q->args.m = 2147483647, q->args.lda = INT64_MAX / 2; }
static void overflow_b(question *q) { q->args.ldb = INT64_MAX / 4; }
static void negative_lda(question *q) { q->args.lda = -K; }
static void negative_ldc(question *q) { q->args.ldc = INT64_MIN; }
static void short_ldb_as_is(question *q) { q->args.ldb = 1; }
static void odd_b(question *q) { q->args.b = (const char *)q->args.b + 2; }
static void odd_c(question *q) { q->args.c = (char *)q->args.c + 3; }
static void before_c(question *q) { q->args.c = (void *)16; }
static void negative_pattern(question *q) { q->args.pattern = (iris_gemm_pattern)-1; }
static void negative_activation(question *q) { q->args.activation = (iris_activation)-1; }
static void wide_tile(question *q) { q->args.tile_n = UINT32_MAX; }
static void fp8(question *q) { q->dtype = IRIS_F8E4M3, q->args.c_dtype = IRIS_F64; }
static void no_c_dtype(question *q) { q->args.c_dtype = (iris_dtype)99; }
static void other_c_dtype(question *q) { q->args.c_dtype = IRIS_BF16; }
static void odd_scale_a(question *q) { q->args.scale_a = (const float *)((const char *)q->args.a + 2); }
static void odd_scale_b(question *q) { q->args.scale_b = (const float *)((const char *)q->args.a + 1); }
static void odd_scale_c(question *q) { q->args.scale_c = (const float *)((const char *)q->args.a + 3); }
static void c_is_a(question *q) { q->args.c = (void *)(uintptr_t)q->args.a; }
static void c_is_last_of_b(question *q) { q->args.b = (const float *)q->args.c - (K - 1) * N - 15, q->args.ldb = N; }
static void c_is_bias(question *q) { q->args.bias = (const float *)q->args.c + M * N - 1; }
static void c_is_scale_a(question *q) { q->args.scale_a = (const float *)q->args.c + 1; }
static void c_is_scale_b(question *q)
{
    q->args.scale_b = (const float *)q->args.c - 1, q->args.scale_b_columns = 1;
}
static void c_is_scale_c(question *q) { q->args.scale_c = (const float *)q->args.c + M * N - 1; }
static void reduced(question *q) { q->op = IRIS_GEMM_REDUCE_SCATTER; }
static void reduced_negative_k(question *q) { reduced(q), q->args.k = -1; }
static void reduced_short_ldb(question *q) { reduced(q), q->args.ldb = N - 1; }
static void reduced_band(question *q) { reduced(q), q->args.band = 1; }
static void reduced_blas_with_scale(question *q) { reduced(q), blas_with_scale(q); }
static void reduced_to_all_locally(question *q) { local_c(q), q->op = IRIS_GEMM_ALL_REDUCE; }
static void gathered_onto_a(question *q) { c_is_a(q), q->op = IRIS_GEMM_ALL_GATHER; }
static void gathered_wide(question *q)
{
    q->op = IRIS_GEMM_ALL_GATHER, q->args.m = INT32_MAX;
    q->args.c = (void *)((uintptr_t)1 << 60); /* nobody's memory, and far from everybody's */
}
static void small_workspace(question *q)
{
    reduced(q), q->args.workspace = q->args.c, q->args.workspace_bytes = M * N * sizeof(float) - 1;
}
static void odd_workspace(question *q)
{
    reduced(q), q->args.workspace = (char *)q->args.c + 64, q->args.workspace_bytes = 1 << 30;
}
static void local_workspace(question *q)
{
    IRISI_ALIGN(128) static char room[M * (N * sizeof(float) + 128)];
    reduced(q), q->args.workspace = room, q->args.workspace_bytes = sizeof room;
}
static void workspace_is_c(question *q)
{
    reduced(q), q->args.workspace_bytes = 1 << 30;
    q->args.workspace = (void *)((uintptr_t)q->args.c / 128 * 128 + 128);
    q->args.m = 8; /* all within the heap */
}
static void workspace_is_b(question *q)
{
    workspace_is_c(q), q->args.b = q->args.workspace, q->args.c = (void *)(uintptr_t)q->args.a;
    q->args.a = (const float *)q->args.a + M * N, q->args.n = 16, q->args.k = 4;
}
static void normed(question *q)
{
    q->op = IRIS_GEMM_ALL_REDUCE_RMSNORM, q->args.m = 8;
    q->args.out = (float *)q->args.c + 8 * N, q->args.weight = q->args.a, q->args.epsilon = 0.125f;
}
static void normed_by_another(question *q) { normed(q), q->op = IRIS_GEMM_ALL_REDUCE; }
static void normed_f64(question *q) { normed(q), q->dtype = IRIS_F64; }
static void normed_i8(question *q) { normed(q), q->dtype = IRIS_I8, q->args.c_dtype = IRIS_I8; }
static void negative_epsilon(question *q) { normed(q), q->args.epsilon = -1; }
static void no_epsilon(question *q) { normed(q), q->args.epsilon = std::nanf(""); }
static void null_out(question *q) { normed(q), q->args.out = nullptr; }
static void short_ldout(question *q) { normed(q), q->args.ldout = N - 1; }
static void odd_out(question *q) { normed(q), q->args.out = (char *)q->args.out + 2; }
static void local_out(question *q)
{
    static float out[8 * N];
    normed(q), q->args.out = out;
}
static void null_weight(question *q) { normed(q), q->args.weight = nullptr; }
static void odd_weight(question *q) { normed(q), q->args.weight = (const char *)q->args.weight + 1; }
static void out_is_c(question *q) { normed(q), q->args.out = (float *)q->args.out - 1; }
static void out_is_weight(question *q) { normed(q), q->args.weight = (const float *)q->args.out + 1; }
static void out_is_residual(question *q) { normed(q), q->args.residual = q->args.out, q->args.beta = 1; }
static void c_is_weight(question *q) { normed(q), q->args.weight = q->args.c; }
static void beta_of_nothing(question *q) { normed(q), q->args.c = nullptr, q->args.beta = 1; }
static void norms_beside(question *q) { normed(q), q->args.pattern = IRIS_GEMM_WG_SPECIALIZED; }
static void workspace_is_out(question *q)
{
    normed(q), q->args.workspace_bytes = 1 << 30;
    q->args.workspace = (void *)((uintptr_t)q->args.out / 128 * 128 + 128);
}
static void quantized(question *q)
{
    normed(q), q->args.quant_out = (float *)q->args.c + 16 * N, q->args.scale_out = (float *)q->args.c + 24 * N;
}
static void quantized_by_another(question *q)
{
    q->op = IRIS_GEMM_ALL_REDUCE, q->args.scale_out = (float *)q->args.c + 24 * N;
}
static void quantized_to_bf16(question *q) { quantized(q), q->args.quant_dtype = IRIS_BF16; }
static void quantized_to_f8e5m2(question *q) { quantized(q), q->args.quant_dtype = IRIS_F8E5M2; }
static void quantized_nowhere(question *q) { quantized(q), q->args.quant_out = nullptr; }
static void quantized_as_nothing(question *q) { normed(q), q->args.quant_dtype = IRIS_F8E4M3; }
static void quantized_apart(question *q) { normed(q), q->args.ldquant_out = N; }
static void null_scale_out(question *q) { quantized(q), q->args.scale_out = nullptr; }
static void odd_scale_out(question *q) { quantized(q), q->args.scale_out = (float *)((char *)q->args.scale_out + 2); }
static void short_ldquant_out(question *q) { quantized(q), q->args.ldquant_out = N - 1; }
static void huge_ldquant_out(question *q) { quantized(q), q->args.ldquant_out = INT64_MAX / 4; }
static void local_quant_out(question *q)
{
    static uint8_t codes[8 * N];
    quantized(q), q->args.quant_out = codes;
}
static void local_scale_out(question *q)
{
    static float scales[8];
    quantized(q), q->args.scale_out = scales;
}
static void no_place_for_sums(question *q) { quantized(q), q->args.c = q->args.out = nullptr; }
static void null_out_alone(question *q) { quantized(q), q->args.out = nullptr, q->args.quant_out = nullptr; }
static void quant_out_is_c(question *q) { quantized(q), q->args.quant_out = q->args.c; }
static void quant_out_is_out(question *q) { quantized(q), q->args.quant_out = (float *)q->args.out + 8 * N - 1; }
static void quant_out_is_a(question *q) { quantized(q), q->args.quant_out = (void *)(uintptr_t)q->args.a; }
static void scale_out_is_quant_out(question *q)
{
    quantized(q), q->args.scale_out = (float *)q->args.quant_out + 2 * N - 1;
}
static void scale_out_is_scale_a(question *q) { quantized(q), q->args.scale_a = q->args.scale_out + 7; }
static void workspace_is_quant_out(question *q)
{
    quantized(q), q->args.workspace_bytes = 1 << 30;
    q->args.workspace = (void *)((uintptr_t)q->args.quant_out / 128 * 128 + 128);
}
static void own_rows_of_another(question *q) { q->op = IRIS_GEMM_REDUCE_SCATTER, q->args.sequence_parallel = 1; }
static void own_rows(question *q) { normed(q), q->args.sequence_parallel = 1; }
static void own_rows_of_nothing(question *q) { own_rows(q), q->args.c = nullptr; }
static void own_rows_apart(question *q)
{
    own_rows(q), q->args.beta = 1, q->args.residual = (float *)q->args.c + N - 1;
}
static void own_rows_short_ldc(question *q) { own_rows(q), q->args.ldc = N - 1; }
static void out_is_own_rows(question *q) { own_rows(q), q->args.out = (float *)q->args.c + N - 1; }
static void gated(question *q) { q->args.gated = 1, q->op = IRIS_GEMM_LOCAL; }
static void gated_sums(question *q) { q->args.gated = 1, q->op = IRIS_GEMM_REDUCE_SCATTER; }
static void gated_odd(question *q) { gated(q), q->args.n = N - 1; }
static void gated_beta(question *q) { gated(q), q->args.beta = 0.5; }
static void gated_f64(question *q) { gated(q), q->dtype = IRIS_F64; }
static void gated_short_ldc(question *q) { gated(q), q->args.ldc = N / 2 - 1; }
#if defined(IRIS_TARGET_HOST) /* whose tiles have any width */
static void gated_odd_tile(question *q) { gated(q), q->args.tile_n = 13; }
#endif
static void gated_blas(question *q)
{
    gated(q), q->args.pattern = IRIS_GEMM_BLAS_GATHER, q->args.blas = naught;
}
static void gated_own_kernel(question *q) { gated(q), q->args.plain_mainloop = 1; }
static void f32_sums_of_none(question *q) { q->args.reduce_dtype = IRIS_F32; }
static void f16_sums(question *q) { q->args.reduce_dtype = IRIS_F16, q->op = IRIS_GEMM_ALL_REDUCE; }
static void f32_sums_of_f64(question *q) { f32_sums_of_none(q), q->op = IRIS_GEMM_ALL_REDUCE, q->dtype = IRIS_F64; }
static void f32_sums_own_kernel(question *q)
{
    f32_sums_of_none(q), q->op = IRIS_GEMM_ALL_REDUCE, q->dtype = IRIS_BF16, q->args.plain_mainloop = 1;
}
static void gated_without_kernels(question *q) { gated(q), q->dtype = IRIS_BF16; }
/* One further B of 16 columns, with a C behind the first one's rows. */
static void several(question *q)
{
    q->op = IRIS_GEMM_LOCAL, q->args.more = q->further, q->args.n_more = 1, q->args.b_transposed = 1;
    q->args.m = M / 2, q->further[0] = iris_gemm_more();
    q->further[0].n = 16, q->further[0].b = q->args.b, q->further[0].c = (float *)q->args.c + M / 2 * N;
}
static void several_to_all(question *q) { several(q), q->op = IRIS_GEMM_ALL_SCATTER; }
static void several_too_many(question *q) { several(q), q->args.n_more = IRIS_GEMM_MOST_MORE + 1; }
static void several_nowhere(question *q) { several(q), q->args.more = nullptr; }
static void several_of_none(question *q) { several(q), q->args.n_more = 0; }
static void several_gated(question *q) { several(q), q->args.gated = 1; }
static void several_beta(question *q) { several(q), q->args.beta = 1; }
static void several_band(question *q) { several(q), q->args.band = 1; }
static void several_own_kernel(question *q) { several(q), q->args.plain_mainloop = 1; }
static void several_no_n(question *q) { several(q), q->further[0].n = 0; }
static void several_huge_n(question *q) { several(q), q->further[0].n = INT32_MAX; }
static void several_null_b(question *q) { several(q), q->further[0].b = nullptr; }
static void several_null_c(question *q) { several(q), q->further[0].c = nullptr; }
static void several_short_ldb(question *q) { several(q), q->further[0].ldb = K - 1; }
static void several_short_ldc(question *q) { several(q), q->further[0].ldc = 1; }
static void several_odd_bias(question *q) { several(q), q->further[0].bias = (const char *)q->args.a + 2; }
static void several_one_bias(question *q) { several(q), q->further[0].bias = q->args.a; }
static void several_one_scale(question *q) { several(q), q->args.scale_b = (const float *)q->args.a; }
static void several_one_c(question *q) { several(q), q->further[0].c = q->args.c; }
static void several_onto_b(question *q) { several(q), q->further[0].c = (void *)(uintptr_t)q->args.b; }
static void several_from_c(question *q) { several(q), q->further[0].b = q->args.c; }
static void gathered(question *q)
{
    q->op = IRIS_GEMM_ALL_GATHER, q->args.gathered = q->args.c, q->args.gathered_bytes = 1 << 30;
    q->args.c = (void *)((uintptr_t)1 << 60); /* nobody's memory */
}
static void gathered_by_another(question *q) { gathered(q), q->op = IRIS_GEMM_ALL_REDUCE; }
static void gathered_alone(question *q) { q->op = IRIS_GEMM_LOCAL, q->args.ld_gathered = K; }
static void gathered_nowhere(question *q) { gathered(q), q->args.gathered = nullptr, q->args.ld_gathered = 2 * K; }
static void short_ld_gathered(question *q) { gathered(q), q->args.ld_gathered = K - 1; }
static void odd_ld_gathered(question *q) { gathered(q), q->args.ld_gathered = K + 2; }
static void huge_ld_gathered(question *q) { gathered(q), q->args.ld_gathered = INT64_MAX / 16 * 4; }
static void small_gathered(question *q) { gathered(q), q->args.gathered_bytes = M * K * sizeof(float) - 1; }
static void small_wide_gathered(question *q)
{
    gathered(q), q->args.ld_gathered = 2 * K, q->args.gathered_bytes = (2 * M - 1) * K * sizeof(float) - 1;
}
static void odd_gathered(question *q) { gathered(q), q->args.gathered = (char *)q->args.gathered + 4; }
static void local_gathered(question *q)
{
    IRISI_ALIGN(128) static char room[M * K * sizeof(float)];
    gathered(q), q->args.gathered = room;
}
static void gathered_is_a(question *q) { gathered(q), q->args.gathered = (void *)(uintptr_t)q->args.a; }
static void idle_residual(question *q) { q->args.residual = q->args.a; }
static void short_ldr(question *q) { q->args.residual = q->args.c, q->args.beta = 1, q->args.ldr = N - 1; }
static void odd_residual(question *q) { q->args.residual = (const char *)q->args.a + 2, q->args.beta = 1; }
static void residual_beside_c(question *q)
{
    q->args.residual = (const float *)q->args.c + 1, q->args.beta = 1;
}
static void own_band(question *q) { q->args.band = 1; }
static void alone(question *q) { q->op = IRIS_GEMM_LOCAL; }
static void alone_with_pattern(question *q) { alone(q), q->args.pattern = IRIS_GEMM_FUSED_SEQUENTIAL; }
static void alone_in_bulk(question *q) { alone(q), q->args.pattern = IRIS_GEMM_BULK_SYNCHRONOUS; }
static void alone_with_senders(question *q) { alone(q), q->args.workgroups = 4, q->args.comm_workgroups = 1; }
static void alone_without_blas(question *q) { alone(q), q->args.pattern = IRIS_GEMM_BLAS_GATHER; }
static void alone_without_c(question *q) { alone(q), q->args.c = nullptr; }
static void alone_without_k(question *q) { alone(q), q->args.k = 0; }
static void alone_short_ldb(question *q) { alone(q), q->args.ldb = N - 1; }
static void alone_short_ldc(question *q) { alone(q), q->args.ldc = N - 1; }
static void alone_short_ldc_of_band(question *q) { alone(q), q->args.ldc = N - 1, q->args.band = 1; }
static void alone_onto_a(question *q) { alone(q), c_is_a(q); }
static void alone_no_types(question *q) { alone(q), q->dtype = IRIS_I32; }
static void alone_bad_row(question *q) { alone(q), q->args.tune = "op=loca width=8"; }
static void scattered_by_copies(question *q) { q->args.pattern = IRIS_GEMM_COPY_ENGINE; }
static void reduced_by_copies(question *q) { reduced(q), q->args.pattern = IRIS_GEMM_COPY_ENGINE; }
static void alone_by_copies(question *q) { alone(q), q->args.pattern = IRIS_GEMM_COPY_ENGINE; }
static void one_beside_copies(question *q)
{
    q->op = IRIS_GEMM_ALL_GATHER, q->args.workgroups = 1, q->args.pattern = IRIS_GEMM_COPY_ENGINE;
}
static void one_producer(question *q) { q->args.workgroups = 1, q->args.pattern = IRIS_GEMM_PRODUCER_CONSUMER; }

static const struct {
    void (*spoil)(question *);
    iris_status status;
    const char *sentence; /* part of it */
} rows[] = {
    {null_a, IRIS_ERR_ARGUMENT, "a is a null pointer; pass 40 x 24"},
    {null_b, IRIS_ERR_ARGUMENT, "b is a null pointer; pass 24 x"},
    {null_c, IRIS_ERR_ARGUMENT, "c is a null pointer; pass 40 x 144"},
    {local_c, IRIS_ERR_ARGUMENT, "c must lie in the symmetric heap"},
    {zero_m, IRIS_ERR_ARGUMENT, "m, n, k are 0, 144, 24"},
    {negative_n, IRIS_ERR_ARGUMENT, "m, n, k are 40, -4, 24"},
    {huge_k, IRIS_ERR_ARGUMENT, "2147483648; each must be from 1 to 2147483647"},
    {overflow, IRIS_ERR_ARGUMENT, "exceeds 2^63 bytes"},
    {beyond_heap, IRIS_ERR_ARGUMENT, "its 167503725120 bytes"},
    {short_lda, IRIS_ERR_ARGUMENT, "lda is 23, less than the 24 elements of a row of a"},
    {short_ldb, IRIS_ERR_ARGUMENT, "ldb is 1, less than the 24 elements of a row of b"},
    {short_lda_transposed, IRIS_ERR_ARGUMENT, "lda is 39, less than the 40 elements of a row of a"},
    {gathered_transposed, IRIS_ERR_ARGUMENT, "a_transposed is not for all_gather, which gathers rows of an m x k A"},
    {c_is_last_of_a_transposed, IRIS_ERR_ARGUMENT, "have elements in common; c must be apart"},
    {transposed_without_kernels, IRIS_ERR_UNSUPPORTED,
     "a_transposed needs the kernel that copies a, which this program lacks for bf16"},
    {short_ldc, IRIS_ERR_ARGUMENT, "ldc is 143, less than the 144 elements of a row of c"},
    {odd_a, IRIS_ERR_ARGUMENT, "is not aligned to its 4-byte elements"},
    {odd_bias, IRIS_ERR_ARGUMENT, "is not aligned to its 4-byte elements"},
    {no_kernel, IRIS_ERR_UNSUPPORTED, "there is no GEMM kernel for i32"},
    {no_dtype, IRIS_ERR_UNSUPPORTED, "dtype is 77, which does not exist; there are GEMM kernels for: f16 "},
    {forgotten_dtype, IRIS_ERR_UNSUPPORTED, "dtype is 0, as if it was never set; there are GEMM kernels for: f16 "},
    {no_op, IRIS_ERR_ARGUMENT, "operation 6 does not exist"},
    {no_pattern, IRIS_ERR_ARGUMENT, "pattern 9 does not exist; there are 1 to 7, and 0 leaves it open"},
    {no_activation, IRIS_ERR_ARGUMENT, "activation 8 does not exist; there are 0 to 3"},
    {large_tile, IRIS_ERR_ARGUMENT, "a tile of 4096 x 0 is too large; the f32 kernel's is"},
    {one_workgroup, IRIS_ERR_GRID, "wg_specialized needs 2 or more workgroups, but workgroups is 1"},
    {all_send, IRIS_ERR_GRID, "4 workgroups, 4 of them to send"},
    {many_workgroups, IRIS_ERR_GRID, "70000 workgroups"},
    {many_senders, IRIS_ERR_GRID, "0 workgroups, 4294967295 of them to send"},
    {two_alphas, IRIS_ERR_ARGUMENT, "zero_alpha says that alpha is 0, but alpha is 0.5"},
    {wide_grid, IRIS_ERR_GRID, "wave_specialized cannot have 65535 workgroups of"},
    {wide_grid_to_send, IRIS_ERR_GRID, "producer_consumer cannot have 65000 workgroups of"},
    {wide_grid_to_choose, IRIS_ERR_GRID, "cannot have 65535 workgroups of"},
    {zero_n, IRIS_ERR_ARGUMENT, "m, n, k are 40, 0, 24"},
    {zero_k, IRIS_ERR_ARGUMENT, "m, n, k are 40, 144, 0"},
    {least_m, IRIS_ERR_ARGUMENT, "m, n, k are -9223372036854775808, 144, 24"},
    {overflow_a, IRIS_ERR_ARGUMENT, "a with 2147483647 rows of lda 4611686018427387903 exceeds 2^63 bytes"},
    {overflow_b, IRIS_ERR_ARGUMENT, "b with 24 rows of ldb 2305843009213693951 exceeds 2^63 bytes"},
    {negative_lda, IRIS_ERR_ARGUMENT, "lda is -24, less than the 24 elements of a row of a"},
    {negative_ldc, IRIS_ERR_ARGUMENT, "ldc is -9223372036854775808, less than the 144 elements of a row of c"},
    {short_ldb_as_is, IRIS_ERR_ARGUMENT, "ldb is 1, less than the"},
    {odd_b, IRIS_ERR_ARGUMENT, "b at"},
    {odd_c, IRIS_ERR_ARGUMENT, "c at"},
    {before_c, IRIS_ERR_ARGUMENT, "its 23040 bytes at 0x10 do not"},
    {negative_pattern, IRIS_ERR_ARGUMENT, "pattern -1"},
    {negative_activation, IRIS_ERR_ARGUMENT, "activation -1 does not exist"},
    {wide_tile, IRIS_ERR_ARGUMENT, "a tile of 0 x 4294967295 is too large; the f32 kernel's is"},
    {fp8, IRIS_ERR_UNSUPPORTED, "there is no GEMM kernel for f8e4m3 with C in f64; there are"},
    {no_c_dtype, IRIS_ERR_UNSUPPORTED, "there is no GEMM kernel for f32 with C in none"},
    {other_c_dtype, IRIS_ERR_UNSUPPORTED, "with C in bf16; there are, for A and B or for them and C: f16 bf16 f32 f64"},
    {odd_scale_a, IRIS_ERR_ARGUMENT, "is not aligned to its 4-byte elements"},
    {odd_scale_b, IRIS_ERR_ARGUMENT, "scale_b at"},
    {odd_scale_c, IRIS_ERR_ARGUMENT, "scale_c at"},
    {c_is_a, IRIS_ERR_ARGUMENT, "and a at"},
    {c_is_last_of_b, IRIS_ERR_ARGUMENT, "40 x 144 with ldc 144, and b at"},
    {c_is_bias, IRIS_ERR_ARGUMENT, "and bias at"},
    {c_is_scale_a, IRIS_ERR_ARGUMENT, "and scale_a at"},
    {c_is_scale_b, IRIS_ERR_ARGUMENT, "and scale_b at"},
    {c_is_scale_c, IRIS_ERR_ARGUMENT, "have elements in common; c must be apart from all that is read for it"},
    {reduced_negative_k, IRIS_ERR_ARGUMENT, "each must be from 1 to 2147483647, k also 0"},
    {reduced_short_ldb, IRIS_ERR_ARGUMENT, "ldb is 143, less than the 144 elements of a row of b"},
    {reduced_band, IRIS_ERR_ARGUMENT, "band is for IRIS_GEMM_LOCAL"},
    {reduced_blas_with_scale, IRIS_ERR_ARGUMENT, "alone: there are scales"},
    {reduced_to_all_locally, IRIS_ERR_ARGUMENT, "c must lie in the symmetric heap, so that peers can write it"},
    {gathered_onto_a, IRIS_ERR_ARGUMENT, "and a at"},
    {gathered_wide, IRIS_ERR_ARGUMENT, "bytes of workspace; at most 2^36 can be"},
    {small_workspace, IRIS_ERR_ARGUMENT, "the workspace has 23039 bytes, but reduce_scatter of 40 x 144 x 24 needs"},
    {odd_workspace, IRIS_ERR_ARGUMENT, "must be aligned to 128 bytes"},
    {local_workspace, IRIS_ERR_ARGUMENT, "the workspace must lie in the symmetric heap"},
    {workspace_is_c, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: c at"},
    {workspace_is_c, IRIS_ERR_ARGUMENT, "have bytes in common; keep them apart"},
    {workspace_is_b, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: b at"},
    {normed_by_another, IRIS_ERR_ARGUMENT, "weight and epsilon are for all_reduce_rmsnorm; all_reduce has no norm"},
    {normed_f64, IRIS_ERR_UNSUPPORTED, "all_reduce_rmsnorm is for a C of f16, bf16 or f32, not of f64"},
    {normed_i8, IRIS_ERR_UNSUPPORTED, "all_reduce_rmsnorm is for a C of f16, bf16 or f32, not of i8"},
    {negative_epsilon, IRIS_ERR_ARGUMENT, "epsilon is -1; it must be from 0 to 1e30"},
    {no_epsilon, IRIS_ERR_ARGUMENT, "; it must be from 0 to 1e30"},
    {null_out, IRIS_ERR_ARGUMENT, "out is a null pointer; pass 8 x 144"},
    {short_ldout, IRIS_ERR_ARGUMENT, "ldout is 143, less than the 144 elements of a row of out"},
    {odd_out, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: out at"},
    {local_out, IRIS_ERR_ARGUMENT, "out must lie in the symmetric heap, so that peers can write it"},
    {null_weight, IRIS_ERR_ARGUMENT, "weight is a null pointer; pass 144 elements"},
    {odd_weight, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: weight at"},
    {out_is_c, IRIS_ERR_ARGUMENT, "8 rows of 576 bytes, and c at"},
    {out_is_weight, IRIS_ERR_ARGUMENT, "have elements in common; out must be apart from all else that is written or"},
    {out_is_residual, IRIS_ERR_ARGUMENT, "8 rows of 576 bytes, and residual at"},
    {c_is_weight, IRIS_ERR_ARGUMENT, "and weight at"},
    {beta_of_nothing, IRIS_ERR_ARGUMENT, "beta is 1, but there is neither a residual nor a c that it could read"},
    {norms_beside, IRIS_ERR_UNSUPPORTED, "all_reduce_rmsnorm has no wg_specialized, only bulk_synchronous and"},
    {workspace_is_out, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: out at"},
    {quantized_by_another, IRIS_ERR_ARGUMENT, "scale_out and quant_dtype are for all_reduce_rmsnorm; all_reduce has"},
    {quantized_to_bf16, IRIS_ERR_UNSUPPORTED, "norms are quantised to f8e4m3 or f8e4m3fnuz"},
    {quantized_to_f8e5m2, IRIS_ERR_UNSUPPORTED, "quant_dtype is f8e5m2"},
    {quantized_nowhere, IRIS_ERR_ARGUMENT, "but quant_out is a null pointer; pass 8 x 144 bytes"},
    {quantized_as_nothing, IRIS_ERR_ARGUMENT, "but quant_out is a null pointer; pass 8 x 144 bytes"},
    {quantized_apart, IRIS_ERR_ARGUMENT, "but quant_out is a null pointer; pass 8 x 144 bytes"},
    {null_scale_out, IRIS_ERR_ARGUMENT, "scale_out is a null pointer; quant_out needs 8 floats there"},
    {odd_scale_out, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: scale_out at"},
    {short_ldquant_out, IRIS_ERR_ARGUMENT, "ldquant_out is 143, less than the 144 elements of a row of quant_out"},
    {huge_ldquant_out, IRIS_ERR_ARGUMENT, "quant_out with 8 rows of ldquant_out 2305843009213693951 exceeds 2^63"},
    {local_quant_out, IRIS_ERR_ARGUMENT, "quant_out must lie in the symmetric heap"},
    {local_scale_out, IRIS_ERR_ARGUMENT, "scale_out must lie in the symmetric heap, so that peers can write it: its 3"},
    {no_place_for_sums, IRIS_ERR_ARGUMENT, "c and out are null pointers, but sums need one of them"},
    {null_out_alone, IRIS_ERR_ARGUMENT, "out is a null pointer; pass 8 x 144"},
    {quant_out_is_c, IRIS_ERR_ARGUMENT, "8 rows of 144 bytes, and c at"},
    {quant_out_is_out, IRIS_ERR_ARGUMENT, "8 rows of 144 bytes, and out at"},
    {quant_out_is_a, IRIS_ERR_ARGUMENT, "quant_out must be apart from all else that is written or read"},
    {scale_out_is_quant_out, IRIS_ERR_ARGUMENT, "1 rows of 32 bytes, and quant_out at"},
    {scale_out_is_scale_a, IRIS_ERR_ARGUMENT, "1 rows of 32 bytes, and scale_a at"},
    {workspace_is_quant_out, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: quant_out at"},
    {own_rows_of_another, IRIS_ERR_ARGUMENT, "sequence_parallel is for all_reduce_rmsnorm; reduce_scatter has no norm"},
    {own_rows_of_nothing, IRIS_ERR_ARGUMENT, "sequence_parallel says that c and residual are this rank's rows, but"},
    {own_rows_apart, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: c at"},
    {own_rows_apart, IRIS_ERR_ARGUMENT, " x 144 with ldc 144, and residual at"},
    {own_rows_short_ldc, IRIS_ERR_ARGUMENT, "ldc is 143, less than the 144 elements of a row of c"},
    {out_is_own_rows, IRIS_ERR_ARGUMENT, "8 rows of 576 bytes, and c at"},
    {gated_sums, IRIS_ERR_UNSUPPORTED, "local, all_scatter and all_gather, not for reduce_scatter"},
    {gated_odd, IRIS_ERR_ARGUMENT, "n is 143, but gated columns are pairs"},
    {gated_beta, IRIS_ERR_ARGUMENT, "beta is 0.5, but a gated C is not read"},
    {gated_f64, IRIS_ERR_UNSUPPORTED, "and a C of the same or of f32, not for f64"},
    {gated_short_ldc, IRIS_ERR_ARGUMENT, "ldc is 71, less than the 72 elements of a row of c"},
#if defined(IRIS_TARGET_HOST)
    {gated_odd_tile, IRIS_ERR_ARGUMENT, "tiles of 13 columns part a gate from its up"},
#endif
    {gated_blas, IRIS_ERR_ARGUMENT, "alone: columns are gated"},
    {f32_sums_of_none, IRIS_ERR_ARGUMENT, "operations that add up partial sums of ranks; all_scatter has none"},
    {f16_sums, IRIS_ERR_UNSUPPORTED, "reduce_dtype is f16 (9), but partial sums of f32 are f32"},
    {f32_sums_of_f64, IRIS_ERR_UNSUPPORTED, "but partial sums of f64 are f64"},
    {gated_own_kernel, IRIS_ERR_UNSUPPORTED, "gated is for the library's kernels, not for your own"},
    {f32_sums_own_kernel, IRIS_ERR_UNSUPPORTED, "reduce_dtype f32 of a narrower C is for the library's kernels"},
    {gated_without_kernels, IRIS_ERR_UNSUPPORTED, "gated needs kernels of local for bf16 with a C of f32"},
    {several_to_all, IRIS_ERR_UNSUPPORTED, "more is for local and all_gather, not for all_scatter"},
    {several_too_many, IRIS_ERR_ARGUMENT, "n_more is 4, and more is there; pass 1 to 3 further matrices"},
    {several_nowhere, IRIS_ERR_ARGUMENT, "n_more is 1, and more is null"},
    {several_of_none, IRIS_ERR_ARGUMENT, "n_more is 0, and more is there"},
    {several_gated, IRIS_ERR_UNSUPPORTED, "with more there is no gated"},
    {several_beta, IRIS_ERR_UNSUPPORTED, "with more there is no beta"},
    {several_band, IRIS_ERR_UNSUPPORTED, "with more there is no band"},
    {several_own_kernel, IRIS_ERR_UNSUPPORTED, "with more there is no plain_mainloop"},
    {several_no_n, IRIS_ERR_ARGUMENT, "n of more[0] is 0; it must be from 1 to 2147483647"},
    {several_huge_n, IRIS_ERR_ARGUMENT, "n of all matrices is 2147483791 together; it must be at most 1073741823"},
    {several_null_b, IRIS_ERR_ARGUMENT, "b of more[0] is a null pointer; pass 16 x 24 elements"},
    {several_null_c, IRIS_ERR_ARGUMENT, "c of more[0] is a null pointer; pass 20 x 16 elements"},
    {several_short_ldb, IRIS_ERR_ARGUMENT, "ldb of more[0] is 23, less than the 24 elements of a row of b of more[0]"},
    {several_short_ldc, IRIS_ERR_ARGUMENT, "ldc of more[0] is 1, less than the 16 elements of a row of c of more[0]"},
    {several_odd_bias, IRIS_ERR_ARGUMENT, "bias of more[0] at"},
    {several_one_bias, IRIS_ERR_ARGUMENT, "some of the matrices b have a bias and others have none"},
    {several_one_scale, IRIS_ERR_ARGUMENT, "some of the matrices b have a scale_b and others have none"},
    {several_one_c, IRIS_ERR_ARGUMENT, "and c of more at"},
    {several_onto_b, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: c of more at"},
    {several_from_c, IRIS_ERR_ARGUMENT, "and b of more at"},
    {gathered_by_another, IRIS_ERR_ARGUMENT, "gathered and ld_gathered are for all_gather; all_reduce gathers no A"},
    {gathered_alone, IRIS_ERR_ARGUMENT, "gathered and ld_gathered are for all_gather; local gathers no A"},
    {gathered_nowhere, IRIS_ERR_ARGUMENT, "ld_gathered is 48, but gathered is null: pass 7584 bytes"},
    {short_ld_gathered, IRIS_ERR_ARGUMENT, "ld_gathered is 23, less than the 24 elements of a row of the gathered A"},
    {odd_ld_gathered, IRIS_ERR_ARGUMENT, "so that rows of the gathered A are 104 bytes apart; it must be a multiple"},
    {huge_ld_gathered, IRIS_ERR_ARGUMENT, "gathered with 40 rows of ld_gathered 2305843009213693948 exceeds 2^63"},
    {small_gathered, IRIS_ERR_ARGUMENT, "gathered has 3839 bytes, but all_gather of 40 x 144 x 24 needs 3840"},
    {small_wide_gathered, IRIS_ERR_ARGUMENT, "gathered has 7583 bytes, but all_gather of 40 x 144 x 24 needs 7584"},
    {odd_gathered, IRIS_ERR_ARGUMENT, "must be aligned to 16 bytes, as iris_malloc's memory is"},
    {local_gathered, IRIS_ERR_ARGUMENT, "gathered must lie in the symmetric heap"},
    {gathered_is_a, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: a at"},
    {gathered_is_a, IRIS_ERR_ARGUMENT, "have bytes in common; keep them apart"},
    {idle_residual, IRIS_ERR_ARGUMENT, "there is a residual, but beta is 0"},
    {short_ldr, IRIS_ERR_ARGUMENT, "ldr is 143, but there is no residual: beta reads c, whose ldc is 144"},
    {far_op, IRIS_ERR_ARGUMENT, "operation 40 does not exist"},
    {odd_residual, IRIS_ERR_ARGUMENT, "residual at"},
    {residual_beside_c, IRIS_ERR_ARGUMENT, "and residual at"},
    {own_band, IRIS_ERR_ARGUMENT, "band is for IRIS_GEMM_LOCAL"},
    {alone_with_pattern, IRIS_ERR_ARGUMENT, "pattern is fused_sequential, but a GEMM alone has nothing to send"},
    {alone_in_bulk, IRIS_ERR_ARGUMENT, "pattern is bulk_synchronous, but a GEMM alone has nothing to send"},
    {alone_with_senders, IRIS_ERR_ARGUMENT, "comm_workgroups is 1, but a GEMM alone has nothing to send"},
    {alone_without_blas, IRIS_ERR_ARGUMENT, "blas_gather needs blas"},
    {alone_without_c, IRIS_ERR_ARGUMENT, "c is a null pointer; pass 40 x 144"},
    {alone_without_k, IRIS_ERR_ARGUMENT, "m, n, k are 40, 144, 0"},
    {alone_short_ldb, IRIS_ERR_ARGUMENT, "ldb is 143, less than the 144 elements of a row of b"},
    {alone_short_ldc, IRIS_ERR_ARGUMENT, "ldc is 143, less than the 144 elements of a row of c"},
    {alone_short_ldc_of_band, IRIS_ERR_ARGUMENT, "ldc is 143, less than the 144 elements of a row of c"},
    {alone_onto_a, IRIS_ERR_ARGUMENT, "and a at"},
    {alone_no_types, IRIS_ERR_UNSUPPORTED, "there is no GEMM kernel for i32"},
    {alone_bad_row, IRIS_ERR_ARGUMENT, "op=loca is none of local all_scatter reduce_scatter all_reduce all_gather"},
    {scattered_by_copies, IRIS_ERR_ARGUMENT, "it is for all_gather alone, not for all_scatter"},
    {reduced_by_copies, IRIS_ERR_ARGUMENT, "it is for all_gather alone, not for reduce_scatter"},
    {alone_by_copies, IRIS_ERR_ARGUMENT, "pattern is copy_engine, but a GEMM alone has nothing to send"},
    {one_beside_copies, IRIS_ERR_GRID, "copy_engine needs 2 or more workgroups, but workgroups is 1"},
    {one_producer, IRIS_ERR_GRID, "producer_consumer needs 2 or more workgroups, but workgroups is 1"},
    {no_blas, IRIS_ERR_ARGUMENT, "blas_gather needs blas, and is alpha * A * B + beta * C alone: blas is null"},
    {blas_with_bias, IRIS_ERR_ARGUMENT, "alone: there is a bias"},
    {blas_with_activation, IRIS_ERR_ARGUMENT, "alone: there is an activation"},
    {blas_with_scale, IRIS_ERR_ARGUMENT, "alone: there are scales"},
    {slow_blas, IRIS_ERR_ARGUMENT, "blas_tflops is -1; it must be from 0 to 10^6"},
    {no_speed, IRIS_ERR_ARGUMENT, "; it must be from 0 to 10^6"},
};

static question sound(irist_rank *t, float *memory)
{
    question q;
    std::memset(&q, 0, sizeof q);
    q.op = IRIS_GEMM_ALL_SCATTER;
    q.dtype = IRIS_F32;
    q.args.m = M, q.args.n = N, q.args.k = K;
    q.args.a = memory, q.args.b = memory + M * K, q.args.c = memory + M * K + K * N;
    (void)t;
    return q;
}

static float *operands(irist_rank *t)
{
    float *memory = (float *)iris_malloc(t->world, (M * K + K * N + M * N) * sizeof(float));
    irist_check(t, memory != nullptr, "%s", iris_error_string(t->world));
    return memory;
}

/* Expects a refusal and its sentence. */
static void refused(irist_rank *t, const question *q, iris_status status, const char *sentence, const char *who)
{
    iris_gemm_plan plan;
    const iris_status got = iris_gemm_prepare(t->world, &plan, q->op, q->dtype, &q->args);
    irist_check(t, got == status, "%s: %s, expected %s", who, iris_status_name(got), iris_status_name(status));
    irist_check(t, std::strstr(iris_error_string(t->world), sentence) != nullptr, "%s: \"%s\" lacks \"%s\"", who,
                iris_error_string(t->world), sentence);
    irist_ok(t, iris_gemm_release(t->world, &plan));
}

static void refuse_work(irist_rank *t)
{
    float *memory = operands(t);
    iris_gemm_plan plan;
    const question q = sound(t, memory);
    irist_check(t, iris_gemm_prepare(t->world, nullptr, q.op, q.dtype, &q.args) == IRIS_ERR_ARGUMENT, "a null plan");
    irist_check(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, nullptr) == IRIS_ERR_ARGUMENT, "null args");
    irist_check(t, std::strstr(iris_error_string(t->world), "plan and args must not be null") != nullptr, "%s",
                iris_error_string(t->world));
    for (size_t i = 0; memory && i < sizeof rows / sizeof rows[0]; i++) {
        question q = sound(t, memory);
        rows[i].spoil(&q);
        refused(t, &q, rows[i].status, rows[i].sentence, rows[i].sentence);
    }
    iris_free(t->world, memory);
}

TEST_CASE("iris_gemm_prepare refuses what cannot be, with the numbers", "[gemm]") { irist_spmd(refuse_work, nullptr); }

/* Rows of choices, and what is wrong with them; a file's name ends in what cannot be one. */
static const struct {
    const char *rows, *sentence;
} tables[] = {
    {"width", "cannot be read: No such file or directory"},
    {"/tmp", "/tmp, cannot be read: Is a directory"},
    {"./no/table=1", "./no/table=1, cannot be read: No such file or directory"},
    {"width=24 fast", "row 1 of tune: 'fast' is not of the form name=value"},
    {"width=", "row 1 of tune: width= is not a whole number from 1 to 65535"},
    {"width=0", "width=0 is not a whole number from 1 to 65535"},
    {"width=-8", "width=-8 is not a whole number"},
    {"width=24x", "width=24x is not a whole number"},
    {"width= 24", "width= is not a whole number"},
    {"m=2147483648,width=24", "m=2147483648 is not a whole number from 1 to 2147483647"},
    {"k=99999999999999999999,width=24", "k=99999999999999999999 is not a whole number from 1 to"},
    {"widths=24",
     "there is no field 'widths'; there are op arch units world m n k dtype out layout pattern workgroups comm "
     "height width cluster split_k full head_halves tail_tiles tail_halves edge_width sender_tiles skinny ll us "
     "collective ranks dtype_bytes upto schedule"},
    {"=24", "there is no field ''"},
    {"width=24,width=24", "width stands there twice"},
    {"pattern=auto", "pattern=auto is none of bulk_synchronous producer_consumer"},
    {"pattern=", "pattern= is none of"},
    {"pattern=copy_engine", "pattern=copy_engine is for op=all_gather alone"},
    {"dtype=f31,width=8", "dtype=f31 is no element type"},
    {"out=,width=8", "out= is no element type"},
    {"out=none,width=8", "out=none is no element type"},
    {"layout=tn,width=8", "layout=tn is neither nn nor nt"},
    {"arch=,width=8", "arch= is no name"},
    {"us=soon,width=8", "us=soon is not a time in microseconds"},
    {"us=-1,width=8", "us=-1 is not a time"},
    {"us=inf,width=8", "us=inf is not a time"},
    {"us=1e,width=8", "us=1e is not a time"},
    {"us=0e3,width=8", "us=0e3 is not a time"},
    {"us=1e3s,width=8", "us=1e3s is not a time"},
    {"us=.,width=8", "us=. is not a time"},
    {"us=0.0,width=8", "us=0.0 is not a time"},
    {"us=12.5,wide=8", "there is no field 'wide'"},
    {"# of a file\nus=3.,width=24\nwide=3", "row 3 of tune: there is no field 'wide'"},
    {"m=40,us=3", "it chooses nothing, neither pattern nor workgroups, comm, height, width, skinny or ll"},
    {"ll=2", "ll=2 is not a whole number from 0 to 1"},
    {"pattern=bulk_synchronous,ll=1",
     "ll=1 is for pattern=fused_sequential, and where op is not all_scatter for bulk_synchronous and blas_gather too"},
    {"width=5,ll=1", "ll=1 cannot be: tiles must begin at multiples of 8 bytes, not of 5 columns of 4"},
    {"skinny=3", "skinny=3 is not a whole number from 0 to 2"},
    {"skinny=1", "skinny=1 height=0 width=0 split_k=0 cannot be: no such loop for these types here"},
    {"skinny=2,split_k=4", "skinny=2 height=0 width=0 split_k=4 cannot be: no such loop for these types here"},
    {"skinny=1,height=8,width=24", "width=24 split_k=0 cannot be: no such loop for these types here, or no such tile"},
    {"head_halves=8",
     "cluster, split_k, full, head_halves, tail_tiles, tail_halves, edge_width and sender_tiles need a width"},
    {"pattern=fused_sequential,width=24,sender_tiles=1", "sender_tiles=1 needs pattern=wg_specialized and split_k=1"},
    {"width=24,sender_tiles=1", "sender_tiles=1 needs pattern=wg_specialized"},
    {"pattern=wg_specialized,width=24,split_k=2,sender_tiles=1",
     "sender_tiles=1 needs pattern=wg_specialized and split_k=1"},
    {"width=24,tail_tiles=8,tail_halves=9", "tail_halves=9 are more than tail_tiles=8"},
    {"workgroups=4,comm=4", "comm=4 of workgroups=4 leaves none to compute"},
    {"pattern=bulk_synchronous;k=1,wide=3", "row 2 of tune: there is no field 'wide'"},
    {"width=60000", "row 1 of tune: height=0 width=60000 is too large a tile; the kernel's is"},
    {"m=1,width=8;height=60000", "row 2 of tune: height=60000 width=0 is too large a tile"},
    {"pattern=wg_specialized,width=24,sender_tiles=3",
     "head_halves=0 tail_tiles=0 cluster=1 split_k=1 sender_tiles=3 cannot be"},
    {"width=24,tail_tiles=3", "head_halves=0 tail_tiles=3 cluster=1 split_k=1 sender_tiles=0 cannot be: this kernel's "
                              "tiles are all of one kind"},
    {"comm=65534", "comm=65534 of "},
    /* Rows of collectives, which may stand beside a GEMM's. */
    {"collective=allreduce,schedule=ll",
     "collective=allreduce is none of all_reduce all_gather reduce_scatter all_to_all broadcast reduce gather scatter"},
    {"collective=,schedule=ll", "collective= is none of"},
    {"collective=all_reduce,schedule=auto", "schedule=auto is no schedule"},
    {"collective=all_reduce,schedule=fast", "schedule=fast is no schedule"},
    {"collective=all_gather,schedule=two_shot",
     "all_gather has no schedule two_shot; it has ring ll push pull copy_engine"},
    {"schedule=copy_engine,collective=all_reduce",
     "all_reduce has no schedule copy_engine; it has one_shot two_shot two_phase two_shot_push ring ll ll_two_shot"},
    {"collective=reduce,upto=9,us=3", "it chooses nothing, since there is no schedule; reduce has two_shot pull"},
    {"collective=all_reduce,schedule=ll,upto=0", "upto=0 is not a whole number of bytes, 1 or more"},
    {"collective=all_reduce,schedule=ll,upto=64K", "upto=64K is not a whole number of bytes"},
    {"collective=all_reduce,schedule=ll,upto=-1", "upto=-1 is not a whole number of bytes"},
    {"collective=all_reduce,schedule=ll,upto=18446744073709551616", "upto=18446744073709551616 is not a whole number"},
    {"collective=all_reduce,schedule=ll,upto=4,upto=4", "upto stands there twice"},
    {"collective=all_reduce,schedule=ll,dtype_bytes=3", "dtype_bytes=3 is not 1, 2, 4 or 8"},
    {"collective=all_reduce,schedule=ll,dtype_bytes=16", "dtype_bytes=16 is not 1, 2, 4 or 8"},
    {"collective=all_reduce,schedule=ll,dtype_bytes=", "dtype_bytes= is not 1, 2, 4 or 8"},
    {"collective=all_reduce,schedule=ll,ranks=0", "ranks=0 is not a whole number from 1 to"},
    {"collective=all_reduce,schedule=ll,pattern=bulk_synchronous",
     "pattern is of a GEMM's row; a collective's has arch units us collective ranks dtype_bytes upto schedule"},
    {"collective=all_reduce,schedule=ll,world=2", "world is of a GEMM's row"},
    {"width=24,schedule=ll", "schedule needs the field collective, which says of which collective the row is"},
    {"ranks=2,width=24", "ranks needs the field collective"},
    {"width=24,upto=5", "upto needs the field collective"},
};

static void tables_work(irist_rank *t)
{
    float *memory = operands(t);
    question q = sound(t, memory);
    for (size_t i = 0; memory && i < sizeof tables / sizeof tables[0]; i++) {
        q.args.tune = tables[i].rows;
        refused(t, &q, IRIS_ERR_ARGUMENT, tables[i].sentence, tables[i].rows);
    }
    const std::string padding(IRIS_GEMM_TUNE_ROW, ' ');
    const std::string row = "pattern=bulk_synchronous;" + padding + "width=24";
    q.args.tune = row.c_str();
    refused(t, &q, IRIS_ERR_ARGUMENT, "row 2 of tune: it has 384 characters or more", "a long row");
    q.args.tune = "workgroups=3", q.args.tile_n = 60000;
    refused(t, &q, IRIS_ERR_ARGUMENT, "a tile of 0 x 60000 is too large", "a tile that no row asked for");
    q.args.tile_n = 0;
    for (const char *empty : {";", "# nothing", " \n", "# workgroups=3;"}) {
        iris_gemm_plan plan;
        q.args.tune = empty;
        irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, &q.args));
        irist_ok(t, iris_gemm_release(t->world, &plan));
    }
    char path[] = "/tmp/iris_tune_XXXXXX";
    const int file = mkstemp(path);
    static const char text[] = "# of the problem\n\nm=40 pattern=fused_sequential\nm=41 patern=fused_sequential\n";
    irist_check(t, file >= 0 && write(file, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "no file");
    q.args.tune = path;
    refused(t, &q, IRIS_ERR_ARGUMENT, (std::string("line 4 of ") + path + ": there is no field 'patern'").c_str(),
            "a file");
    irist_check(t, pwrite(file, padding.data(), padding.size(), 0) == (ssize_t)padding.size(), "no file");
    refused(t, &q, IRIS_ERR_ARGUMENT, (std::string("line 1 of ") + path + ": it has 383 characters or more").c_str(),
            path);
    close(file);
    irist_meet(t);
    unlink(path);
    iris_free(t->world, memory);
}

TEST_CASE("rows that cannot be are refused, with their place", "[gemm]") { irist_spmd(tables_work, nullptr); }

/* Slices of the columns of one matrix have no element in common, though one's rows stand between the other's. */
static void slices_work(irist_rank *t)
{
    enum { WIDE = K + N + N };
    float *memory = (float *)iris_malloc(t->world, M * WIDE * sizeof(float));
    question q = sound(t, memory);
    if (!irist_check(t, memory != nullptr, "%s", iris_error_string(t->world)))
        return;
    q.args.a = memory, q.args.b = memory + K, q.args.c = memory + K + N;
    q.args.lda = q.args.ldb = q.args.ldc = WIDE;
    iris_gemm_plan plan;
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, &q.args));
    irist_ok(t, iris_gemm_release(t->world, &plan));
    const uint32_t own = iris_gemm_band(N, (uint32_t)t->ranks, (uint32_t)t->rank).count;
    q.args.b = memory + K + N - own;
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, &q.args));
    irist_ok(t, iris_gemm_release(t->world, &plan));
    q.args.b = memory + K + N - own + 1;
    refused(t, &q, IRIS_ERR_ARGUMENT, "and b at", "a column too many");
    q.args.b = memory + K, q.args.lda = WIDE - 1; /* rows of A move to the left, the first of them into C */
    q.args.a = memory + K + 1;
    refused(t, &q, IRIS_ERR_ARGUMENT, "and a at", "rows that drift");
    iris_free(t->world, memory);
}

TEST_CASE("C may be a slice of the matrix that A and B are slices of", "[gemm]") { irist_spmd(slices_work, nullptr); }

/* One rank's mistake is every rank's error, and nobody hangs. */
static void differ_work(irist_rank *t)
{
    float *memory = operands(t);
    question q = sound(t, memory);
    const int last = t->ranks - 1;
    if (t->ranks > 1 && memory) {
        q.args.m = t->rank == last ? M - 8 : M;
        char sentence[80];
        std::snprintf(sentence, sizeof sentence, "m is 32 on rank %d but 40 on rank 0", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "another m");
        q = sound(t, memory);
        q.args.workgroups = t->rank == last ? 65535 : 2;
        std::snprintf(sentence, sizeof sentence, "rank %d refused its arguments (IRIS_ERR_GRID)", last);
        if (t->rank == last)
            refused(t, &q, IRIS_ERR_GRID, "cannot have 65535 workgroups", "one rank's grid");
        else
            refused(t, &q, IRIS_ERR_MISMATCH, sentence, "another rank's grid");
        q = sound(t, memory);
        q.dtype = IRIS_BF16, q.args.c_dtype = t->rank == last ? IRIS_BF16 : IRIS_F32;
        refused(t, &q, IRIS_ERR_MISMATCH, "c_dtype is ", "another type of C");
        q = sound(t, memory);
        q.args.tf32 = t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "tf32 is 1 on rank", "one rank's tf32");
        q = sound(t, memory), q.op = IRIS_GEMM_ALL_GATHER, q.args.gated = t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "gated is 1 on rank", "one rank's pairs");
        q = sound(t, memory), q.op = IRIS_GEMM_ALL_REDUCE, q.dtype = IRIS_BF16;
        q.args.reduce_dtype = t->rank == last ? IRIS_F32 : IRIS_DTYPE_NONE;
        refused(t, &q, IRIS_ERR_MISMATCH, "reduce_dtype, 1 for f32 that C is not, is 1", "one rank's sums of f32");
        q = sound(t, memory), q.op = IRIS_GEMM_ALL_REDUCE;
        q.args.beta = t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "beta, in the bits of a double, is ", "one rank's residual");
        q.args.beta = 0, q.args.alpha = t->rank == last ? -1 : 1;
        refused(t, &q, IRIS_ERR_MISMATCH, "alpha, in the bits of a double, is ", "one rank's alpha");
        q.args.alpha = 1, q.args.activation = t->rank == last ? IRIS_ACTIVATION_RELU : IRIS_ACTIVATION_NONE;
        refused(t, &q, IRIS_ERR_MISMATCH, "activation is 1 on rank", "one rank's activation");
        q.args.activation = IRIS_ACTIVATION_NONE, q.args.bias = t->rank == last ? q.args.a : nullptr;
        refused(t, &q, IRIS_ERR_MISMATCH, "bias, 1 where there is one, is 1", "one rank's bias");
        q = sound(t, memory);
        q.args.tf32 = 0, q.args.fast_accum = t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "fast_accum is 1 on rank", "one rank's fast_accum");
        q = sound(t, memory);
        q.args.a_transposed = t->rank == last, q.args.lda = M;
        refused(t, &q, IRIS_ERR_MISMATCH, "a_transposed is 1 on rank", "one rank's transposed A");
        q = sound(t, memory), normed(&q);
        q.args.ldout = t->rank == last ? N + 1 : 0;
        std::snprintf(sentence, sizeof sentence, "ldout is 145 on rank %d but 144 on rank 0", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's ldout");
        q.args.ldout = 0, quantized(&q), q.args.ldquant_out = t->rank == last ? N + 1 : 0;
        std::snprintf(sentence, sizeof sentence, "ldquant_out is 145 on rank %d but 144 on rank 0", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's ldquant_out");
        q.args.ldquant_out = 0, q.args.quant_dtype = t->rank == last ? IRIS_F8E4M3FNUZ : IRIS_F8E4M3;
        refused(t, &q, IRIS_ERR_MISMATCH, "quant_dtype's largest value is 240 on", "one rank's codes of another type");
        q.args.quant_dtype = IRIS_DTYPE_NONE, q.args.scale_out += t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "scale_out's place in the heap", "one rank's scales elsewhere");
        q = sound(t, memory), normed(&q);
        if (t->rank == last)
            quantized(&q);
        refused(t, &q, IRIS_ERR_MISMATCH, "quant_out's place in the heap, or that there is one", "one rank's codes");
        q = sound(t, memory), normed(&q);
        q.args.c = t->rank == last ? nullptr : q.args.c;
        refused(t, &q, IRIS_ERR_MISMATCH, "c's place in the heap", "one rank's C that is not stored");
        q = sound(t, memory), normed(&q);
        q.args.sequence_parallel = t->rank == last;
        refused(t, &q, IRIS_ERR_MISMATCH, "sequence_parallel is 1 on rank", "one rank's own rows");
        q.args.sequence_parallel = 1;
        if (t->rank == last)
            q.args.c = nullptr;
        if (t->rank == last)
            refused(t, &q, IRIS_ERR_ARGUMENT, "both are null pointers; pass one of them", "one rank without own rows");
        else
            refused(t, &q, IRIS_ERR_MISMATCH, "refused its arguments (IRIS_ERR_ARGUMENT)", "another rank's own rows");
        q = sound(t, memory), several(&q), q.op = IRIS_GEMM_ALL_GATHER;
        q.further[0].n = t->rank == last ? 32 : 16;
        std::snprintf(sentence, sizeof sentence, "n of more[0], which is 0 without it, is 32 on rank %d", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's further n");
        q.args.n_more = t->rank == last, q.args.more = t->rank == last ? q.further : nullptr;
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's further B");
        q = sound(t, memory), gathered(&q);
        q.args.ld_gathered = t->rank == last ? 2 * K : K;
        std::snprintf(sentence, sizeof sentence, "ld_gathered, which is 0 without gathered, is 48 on rank %d", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's ld_gathered");
        q.args.ld_gathered = 0, q.args.gathered = t->rank == last ? q.args.gathered : nullptr;
        std::snprintf(sentence, sizeof sentence, "without gathered, is 24 on rank %d but 0 on rank 0", last);
        refused(t, &q, IRIS_ERR_MISMATCH, sentence, "one rank's gathered A");
        q = sound(t, memory);
        if (t->rank == last)
            q.args.lda = 1;
        std::snprintf(sentence, sizeof sentence, "rank %d refused its arguments (IRIS_ERR_ARGUMENT)", last);
        if (t->rank == last)
            refused(t, &q, IRIS_ERR_ARGUMENT, "lda is 1", "one rank's lda");
        else
            refused(t, &q, IRIS_ERR_MISMATCH, sentence, "another rank's lda");
        q = sound(t, memory);
        iris_gemm_plan plan;
        for (int null_plan = 0; null_plan < 2; null_plan++) {
            const int here = t->rank == last;
            const iris_status s = iris_gemm_prepare(t->world, here && null_plan ? nullptr : &plan, q.op, q.dtype,
                                                    here && !null_plan ? nullptr : &q.args);
            const char *said = iris_error_string(t->world);
            irist_check(t, s == (here ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH), "%s", iris_status_name(s));
            irist_check(t, std::strstr(said, here ? "plan and args must not be null" : sentence) != nullptr,
                        "'%s' of one rank's null", said);
        }
    }
    iris_free(t->world, memory);
}

TEST_CASE("ranks that differ are told so, all of them", "[gemm]") { irist_spmd(differ_work, nullptr); }

/* What one rank is refused of a GEMM alone, no other hears of. */
static void single_work(irist_rank *t)
{
    static float memory[M * K + K * N + M * N]; /* c too: it need not be in the heap, and nothing is launched */
    question q = sound(t, memory);
    q.op = IRIS_GEMM_LOCAL;
    if (t->rank != t->ranks - 1)
        return;
    q.args.lda = 1;
    refused(t, &q, IRIS_ERR_ARGUMENT, "lda is 1", "one rank alone");
    q = sound(t, memory), q.op = IRIS_GEMM_LOCAL;
    iris_gemm_plan plan;
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, &q.args));
    irist_check(t, iris_gemm_all_scatter_f32(t->world, &plan, nullptr) == IRIS_ERR_ARGUMENT, "a plan for a GEMM alone");
    irist_check(t, std::strstr(iris_error_string(t->world), "of all_scatter was given a plan for local") != nullptr,
                "%s", iris_error_string(t->world));
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_check(t, iris_gemm_prepare(t->world, nullptr, q.op, q.dtype, &q.args) == IRIS_ERR_ARGUMENT, "a null plan");
    irist_check(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, nullptr) == IRIS_ERR_ARGUMENT, "null args");
    irist_ok(t, iris_gemm_release(t->world, &plan));
}

TEST_CASE("a GEMM alone is refused on its rank alone", "[gemm]") { irist_spmd(single_work, nullptr); }

static void launch_work(irist_rank *t)
{
    float *memory = operands(t);
    const question q = sound(t, memory);
    iris_stream stream = iris_default_stream(t->world);
    iris_gemm_plan plan;
    std::memset(&plan, 0, sizeof plan);
    irist_check(t, iris_gemm_all_scatter_f32(t->world, &plan, stream) == IRIS_ERR_ARGUMENT, "a zeroed plan was taken");
    irist_check(t, std::strstr(iris_error_string(t->world), "not from iris_gemm_prepare") != nullptr, "%s",
                iris_error_string(t->world));
    irist_check(t, iris_gemm_all_scatter_f32(t->world, nullptr, stream) == IRIS_ERR_ARGUMENT, "no plan was taken");
    irist_check(t, iris_gemm_pack(t->world, &plan, stream) == IRIS_ERR_ARGUMENT, "a zeroed plan was packed");
    irist_check(t, std::strstr(iris_error_string(t->world), "iris_gemm_pack: the plan is not") != nullptr, "%s",
                iris_error_string(t->world));
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, IRIS_BF16, &q.args));
    irist_check(t, iris_gemm_all_scatter_f32(t->world, &plan, stream) == IRIS_ERR_ARGUMENT, "a bf16 plan was taken");
    irist_check(t, std::strstr(iris_error_string(t->world), "for f32 was given a plan for bf16") != nullptr, "%s",
                iris_error_string(t->world));
    irist_check(t, iris_gemm_release(t->world, nullptr) == IRIS_ERR_ARGUMENT, "no plan was released");
    irist_ok(t, iris_gemm_release(t->world, &plan));
    iris_gemm_args other = q.args;
    other.c_dtype = IRIS_F32;
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, IRIS_F32, &q.args));
    iris_gemm_plan copy = plan;
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_check(t, iris_gemm_all_scatter_f32(t->world, &copy, stream) == IRIS_ERR_ARGUMENT, "a released copy ran");
    irist_check(t, iris_gemm_release(t->world, &copy) == IRIS_ERR_ARGUMENT, "a plan was released twice");
    irist_check(t, std::strstr(iris_error_string(t->world), "another copy of the plan was released") != nullptr, "%s",
                iris_error_string(t->world));
    irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, IRIS_BF16, &other));
    irist_check(t, iris_gemm_all_scatter_f32(t->world, &plan, stream) == IRIS_ERR_ARGUMENT, "another type of C");
    irist_check(t, std::strstr(iris_error_string(t->world), "for f32 was given a plan for bf16_f32") != nullptr, "%s",
                iris_error_string(t->world));
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_check(t, iris_gemm_all_scatter_wg_specialized_f32(t->world, &plan, stream) == IRIS_ERR_ARGUMENT,
                "a released plan was taken");
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_check(t, iris_gemm_tiles(nullptr) == 0 && iris_gemm_grid(nullptr, 2).workgroups == 0, "no plan has tiles");
    iris_free(t->world, memory);
}

TEST_CASE("launchers refuse plans that are not theirs", "[gemm]") { irist_spmd(launch_work, nullptr); }

static int counted(void *calls, const iris_gemm_blas_call *, iris_stream) { return ++*(int *)calls, 0; }

/* A group holds no GEMM, whoever computes it: the library's kernel or the caller's BLAS. */
static void group_work(irist_rank *t)
{
    static const char sentence[] = "GEMM launch: iris_group_begin does not hold this call";
    float *memory = operands(t);
    int calls = 0;
    for (int i = 0; memory && i < 4; i++) {
        question q = sound(t, memory);
        const int local = i / 2, by_blas = i % 2;
        iris_gemm_plan plan;
        if (local)
            q.op = IRIS_GEMM_LOCAL;
        if (by_blas)
            q.args.pattern = IRIS_GEMM_BLAS_GATHER, q.args.blas = counted, q.args.blas_arg = &calls;
        irist_ok(t, iris_gemm_prepare(t->world, &plan, q.op, q.dtype, &q.args));
        irist_ok(t, iris_group_begin());
        const iris_status s = local ? iris_gemm_local_f32(t->world, &plan, nullptr)
                                    : iris_gemm_all_scatter_f32(t->world, &plan, nullptr);
        irist_check(t, s == IRIS_ERR_ARGUMENT, "op %d, BLAS %d: %s", (int)q.op, by_blas, iris_status_name(s));
        irist_check(t, std::strstr(iris_error_string(t->world), sentence) != nullptr, "op %d, BLAS %d: %s", (int)q.op,
                    by_blas, iris_error_string(t->world));
        irist_check(t, iris_group_end() == IRIS_ERR_ARGUMENT, "a group that was refused a call ends well");
        irist_ok(t, iris_gemm_release(t->world, &plan));
    }
    irist_check(t, calls == 0, "BLAS was called %d times in a group", calls);
    iris_free(t->world, memory);
}

TEST_CASE("a group refuses GEMMs, those of the caller's BLAS too", "[gemm]") { irist_spmd(group_work, nullptr); }
