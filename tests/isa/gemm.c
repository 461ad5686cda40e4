/* SPDX-License-Identifier: MIT */
/* gemm.c: the library's GEMM kernels, of the types with loops on matrix units. */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E4M3FNUZ_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F8E4M3_BF16
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/iris.h>
