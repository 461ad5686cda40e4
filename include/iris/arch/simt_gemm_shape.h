/* SPDX-License-Identifier: MIT */
/*
 * simt_gemm_shape.h: shape of the plain loop of GPUs: 16 x 16 lanes, each with a few rows of four columns.
 */
#ifndef IRIS_ARCH_SIMT_GEMM_SHAPE_H
#define IRIS_ARCH_SIMT_GEMM_SHAPE_H

#include <iris/arch/gemm_extent.h>

enum {
    IRISI_GEMM_SIDE = 16,   /* lanes each way */
    IRISI_GEMM_BLOCK_K = 16,
    IRISI_GEMM_A_PITCH = 17, /* elements from row to row of A's tile: odd, so that rows are in different banks */
    IRISI_GEMM_ROWS_4 = 4,  /* rows of a lane with accumulators of 4 bytes, and of 8 */
    IRISI_GEMM_ROWS_8 = 2,
    IRISI_GEMM_COLUMNS = 4
};

/* The largest tile that a kernel with accumulators of `acc_bytes` bytes takes. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_largest_tile(uint32_t acc_bytes)
{
    irisi_gemm_extent tile;
    tile.m = IRISI_GEMM_SIDE * (acc_bytes == 8 ? IRISI_GEMM_ROWS_8 : IRISI_GEMM_ROWS_4);
    tile.n = IRISI_GEMM_SIDE * IRISI_GEMM_COLUMNS;
    return tile;
}

/* The tile for a band of m x n: the kernel's own, since smaller ones leave lanes idle. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_good_tile(uint32_t acc_bytes, uint32_t m, uint32_t n, uint32_t workgroups)
{
    (void)m, (void)n, (void)workgroups;
    return irisi_gemm_largest_tile(acc_bytes);
}

/* Shared memory of the mainloop: a tile of A and one of B, as wide as the kernel's largest. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_workspace(uint32_t acc_bytes, uint32_t tile_m, uint32_t tile_n)
{
    const irisi_gemm_extent tile = irisi_gemm_largest_tile(acc_bytes);
    (void)tile_m;
    (void)tile_n;
    return acc_bytes * (tile.m * IRISI_GEMM_A_PITCH + tile.n * IRISI_GEMM_BLOCK_K);
}

#endif
