/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (amd): the mainloops of this platform. So far the plain one: shared-memory tiles and fused multiply-adds.
 *
 *   iris_gemm_has_loader, and what gen/arch/gemm_simt.h has
 */
#ifndef IRIS_ARCH_AMD_GEMM_H
#define IRIS_ARCH_AMD_GEMM_H

#include <iris/arch/gemm_shape.h>
#include <iris/tile.h>

enum { iris_gemm_has_loader = 0 };

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1

#include <iris/gen/arch/gemm_simt.h>

#endif
