/* SPDX-License-Identifier: MIT */
/*
 * gemm_isa.h (host): the vector unit of this machine, and how functions are compiled for each.
 *
 *   irisi_gemm_isa irisi_gemm_best_isa
 *   IRISI_GEMM_FOR_BASE IRISI_GEMM_FOR_AVX2 IRISI_GEMM_FOR_AVX512 IRISI_GEMM_UNROLL IRISI_GEMM_VECTORIZE
 */
#ifndef IRIS_MAINLOOP_HOST_GEMM_ISA_H
#define IRIS_MAINLOOP_HOST_GEMM_ISA_H

#include <iris/mainloop/shape.h>

/* Vector units, narrowest first. */
typedef enum irisi_gemm_isa { IRISI_GEMM_BASE, IRISI_GEMM_AVX2, IRISI_GEMM_AVX512 } irisi_gemm_isa;

#if defined(__x86_64__)
#define IRISI_GEMM_FOR_AVX2 __attribute__((target("avx2,fma")))
#define IRISI_GEMM_FOR_AVX512 __attribute__((target("avx512f,avx2,fma")))
IRIS_DEVICE irisi_gemm_isa irisi_gemm_best_isa(void)
{
    if (__builtin_cpu_supports("avx512f"))
        return IRISI_GEMM_AVX512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? IRISI_GEMM_AVX2 : IRISI_GEMM_BASE;
}
#else
#define IRISI_GEMM_FOR_AVX2
#define IRISI_GEMM_FOR_AVX512
IRIS_DEVICE irisi_gemm_isa irisi_gemm_best_isa(void) { return IRISI_GEMM_BASE; }
#endif
#define IRISI_GEMM_FOR_BASE

/* Loops over registers must be unrolled at every optimisation level, or the registers become memory. */
#if defined(__clang__)
#define IRISI_GEMM_UNROLL _Pragma("clang loop unroll(full)")
#define IRISI_GEMM_VECTORIZE
#else
#define IRISI_GEMM_UNROLL _Pragma("GCC unroll 16")
#define IRISI_GEMM_VECTORIZE __attribute__((optimize("O3"))) /* gcc's -O2 does not vectorise conversions */
#endif

#endif
