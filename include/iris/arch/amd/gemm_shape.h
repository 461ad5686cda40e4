/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (amd): tile sizes and shared memory of the plain loop.
 *
 * With the shape below a kernel with two staging tiles stays within 64 KB of shared memory.
 */
#ifndef IRIS_ARCH_AMD_GEMM_SHAPE_H
#define IRIS_ARCH_AMD_GEMM_SHAPE_H

#include <string.h>

enum { IRISI_GEMM_WAVE_LANES = 64, IRISI_GEMM_MATH_WAVES = 4, IRISI_GEMM_LOADER_WAVES = 0, IRISI_GEMM_COMM_WAVES = 1 };

#include <iris/arch/simt_gemm_shape.h>

/* MI300 and MI350 deal workgroups to 8 chiplets in turn. */
static inline uint32_t irisi_gemm_xcds(const char *arch)
{
    return strncmp(arch, "gfx942", 6) == 0 || strncmp(arch, "gfx950", 6) == 0 ? 8 : 1;
}

#endif
