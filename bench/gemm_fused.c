/* SPDX-License-Identifier: MIT */
/*
 * gemm_fused.c: every GEMM with communication, bf16, in every pattern, beside BLAS, NCCL and what bounds it, in one run
 * (gemm_fused.h). A pattern that the library lacks has no rows.
 */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_all_reduce_rmsnorm.h>
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_BF16
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/reduce_scatter.h>

#include "gemm_fused.h"

/*
 * Launchers by pattern: auto, the five patterns, auto again for a plan with the caller's BLAS, and of all_gather
 * copy_engine.
 */
static const gemm_operation operations[GEMM_FUSED] = {
    {GEMM_ALL_SCATTER,
     gemm_prepare_all_scatter,
     {iris_gemm_all_scatter_bf16, iris_gemm_all_scatter_bulk_synchronous_bf16,
      iris_gemm_all_scatter_producer_consumer_bf16, iris_gemm_all_scatter_fused_sequential_bf16,
      iris_gemm_all_scatter_wg_specialized_bf16, iris_gemm_all_scatter_wave_specialized_bf16,
      iris_gemm_all_scatter_bf16}},
    {GEMM_REDUCE_SCATTER,
     gemm_prepare_reduce_scatter,
     {iris_gemm_reduce_scatter_bf16, iris_gemm_reduce_scatter_bulk_synchronous_bf16,
      iris_gemm_reduce_scatter_producer_consumer_bf16, iris_gemm_reduce_scatter_fused_sequential_bf16,
      iris_gemm_reduce_scatter_wg_specialized_bf16, iris_gemm_reduce_scatter_wave_specialized_bf16,
      iris_gemm_reduce_scatter_bf16}},
    {GEMM_ALL_REDUCE,
     gemm_prepare_all_reduce,
     {iris_gemm_all_reduce_bf16, iris_gemm_all_reduce_bulk_synchronous_bf16,
      iris_gemm_all_reduce_producer_consumer_bf16, iris_gemm_all_reduce_fused_sequential_bf16,
      iris_gemm_all_reduce_wg_specialized_bf16, iris_gemm_all_reduce_wave_specialized_bf16, iris_gemm_all_reduce_bf16}},
    {GEMM_ALL_GATHER,
     gemm_prepare_all_gather,
     {iris_gemm_all_gather_bf16, iris_gemm_all_gather_bulk_synchronous_bf16,
      iris_gemm_all_gather_producer_consumer_bf16, iris_gemm_all_gather_fused_sequential_bf16,
      iris_gemm_all_gather_wg_specialized_bf16, iris_gemm_all_gather_wave_specialized_bf16, iris_gemm_all_gather_bf16,
      iris_gemm_all_gather_copy_engine_bf16}},
    {GEMM_ALL_REDUCE_RMSNORM,
     gemm_prepare_all_reduce_rmsnorm,
     {iris_gemm_all_reduce_rmsnorm_bf16, iris_gemm_all_reduce_rmsnorm_bulk_synchronous_bf16, NULL,
      iris_gemm_all_reduce_rmsnorm_fused_sequential_bf16, NULL, NULL, iris_gemm_all_reduce_rmsnorm_bf16}},
};

int main(int argc, char **argv) { return gemm_fused_main(argc, argv, operations, iris_gemm_local_bf16); }
