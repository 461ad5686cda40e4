/* SPDX-License-Identifier: MIT */
/*
 * gemm_extent.h: the size of a tile.
 *
 *   irisi_gemm_extent
 */
#ifndef IRIS_ARCH_GEMM_EXTENT_H
#define IRIS_ARCH_GEMM_EXTENT_H

#include <iris/arch/select.h>

/* Rows and columns. */
typedef struct irisi_gemm_extent {
    uint32_t m, n;
} irisi_gemm_extent;

#endif
