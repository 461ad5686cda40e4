/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (nvidia): tile sizes and shared memory of the plain loop.
 *
 * With the shape below a kernel with two staging tiles stays within 48 KB of shared memory.
 */
#ifndef IRIS_ARCH_NVIDIA_GEMM_SHAPE_H
#define IRIS_ARCH_NVIDIA_GEMM_SHAPE_H

enum { IRISI_GEMM_WAVE_LANES = 32, IRISI_GEMM_MATH_WAVES = 8, IRISI_GEMM_LOADER_WAVES = 0, IRISI_GEMM_COMM_WAVES = 2 };

#include <iris/arch/simt_gemm_shape.h>

IRIS_HOST_DEVICE uint32_t irisi_gemm_xcds(const char *arch) { return (void)arch, 1; }

#endif
