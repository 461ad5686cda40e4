/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (nvidia): mainloops, tile sizes and shared memory. So far the plain loop.
 *
 * With its shape a kernel with two staging tiles stays within 48 KB of shared memory.
 */
#ifndef IRIS_ARCH_NVIDIA_GEMM_SHAPE_H
#define IRIS_ARCH_NVIDIA_GEMM_SHAPE_H

enum { IRISI_GEMM_WAVE_LANES = 32, IRISI_GEMM_COMM_WAVES = 2 };

#include <iris/arch/simt_gemm_shape.h>

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1

static inline uint32_t irisi_gemm_xcds(const char *arch) { return (void)arch, 1; }

/* The largest tile that a mainloop takes. */
static inline irisi_gemm_extent irisi_gemm_largest_tile(uint32_t mainloop, uint32_t accumulator)
{
    return (void)mainloop, irisi_gemm_plain_tile(accumulator);
}

/* The mainloop for a problem, and its shape. */
static inline irisi_gemm_shape irisi_gemm_pick(const char *arch, const irisi_gemm_problem *p)
{
    return (void)arch, irisi_gemm_plain(p);
}

#endif
