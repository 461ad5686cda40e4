/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (host): tile sizes and shared memory of the blocked loop.
 *
 * One math wave is one CPU thread, which a whole tile keeps busy; ranks and workgroups already outnumber the cores.
 */
#ifndef IRIS_ARCH_HOST_GEMM_SHAPE_H
#define IRIS_ARCH_HOST_GEMM_SHAPE_H

#include <iris/arch/gemm_extent.h>

enum { IRISI_GEMM_WAVE_LANES = 64, IRISI_GEMM_MATH_WAVES = 1, IRISI_GEMM_LOADER_WAVES = 0, IRISI_GEMM_COMM_WAVES = 1 };

enum {
    IRISI_GEMM_TILE = 128,    /* largest tile, both ways */
    IRISI_GEMM_BLOCK_K = 128, /* a panel of B this deep and a tile wide stays in a core's second-level cache */
    IRISI_GEMM_ROWS = 8,      /* rows and columns are padded to what the largest micro-kernel computes at once */
    IRISI_GEMM_COLUMNS = 32
};

/* x, rounded up to whole units. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_padded(uint32_t x, uint32_t unit) { return (x + unit - 1) / unit * unit; }

/* The largest tile that a kernel with accumulators of `acc_bytes` bytes takes. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_largest_tile(uint32_t acc_bytes)
{
    irisi_gemm_extent tile;
    (void)acc_bytes;
    tile.m = IRISI_GEMM_TILE;
    tile.n = IRISI_GEMM_TILE;
    return tile;
}

/* The tile for a band of m x n on so many workgroups: large ones waste less, but each workgroup should have a few, so
 * that some travel while others are computed. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_good_tile(uint32_t acc_bytes, uint32_t m, uint32_t n, uint32_t workgroups)
{
    irisi_gemm_extent tile = irisi_gemm_largest_tile(acc_bytes);
    if (n <= tile.n / 2)
        tile.n /= 2;
    while (tile.m > 32 && (uint64_t)((m + tile.m - 1) / tile.m) * ((n + tile.n - 1) / tile.n) < 4 * workgroups)
        tile.m /= 2;
    return tile;
}

/* Shared memory of the mainloop: a widened block of A and a widened panel of B. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_workspace(uint32_t acc_bytes, uint32_t tile_m, uint32_t tile_n)
{
    return acc_bytes * IRISI_GEMM_BLOCK_K * (irisi_gemm_padded(tile_m, IRISI_GEMM_ROWS) +
                                            irisi_gemm_padded(tile_n, IRISI_GEMM_COLUMNS));
}

IRIS_HOST_DEVICE uint32_t irisi_gemm_xcds(const char *arch) { return (void)arch, 1; }

#endif
