/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h: what the host must know about this platform's GEMM kernels: arch/<platform>/gemm_shape.h.
 *
 *   IRISI_GEMM_WAVE_LANES                                    lanes to ask for to get one wave
 *   IRISI_GEMM_MATH_WAVES IRISI_GEMM_LOADER_WAVES IRISI_GEMM_COMM_WAVES   waves of a workgroup, by role
 *   irisi_gemm_largest_tile irisi_gemm_good_tile irisi_gemm_workspace irisi_gemm_xcds
 *
 * No device code: init.c includes it in plain C.
 */
#ifndef IRIS_ARCH_GEMM_SHAPE_H
#define IRIS_ARCH_GEMM_SHAPE_H

#include <iris/arch/gemm_extent.h>

#if defined(IRIS_TARGET_NVIDIA)
#include <iris/arch/nvidia/gemm_shape.h>
#elif defined(IRIS_TARGET_AMD)
#include <iris/arch/amd/gemm_shape.h>
#else
#include <iris/arch/host/gemm_shape.h>
#endif

/* Lanes of a workgroup without and with communication waves. */
enum {
    IRISI_GEMM_LANES = (IRISI_GEMM_MATH_WAVES + IRISI_GEMM_LOADER_WAVES) * IRISI_GEMM_WAVE_LANES,
    IRISI_GEMM_LANES_WITH_COMM = IRISI_GEMM_LANES + IRISI_GEMM_COMM_WAVES * IRISI_GEMM_WAVE_LANES
};

#endif
