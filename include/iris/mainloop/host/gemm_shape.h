/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (host): tile sizes and shared memory of the blocked loop, this platform's plain one.
 *
 * One math wave is one CPU thread, which a whole tile keeps busy; ranks and workgroups already outnumber the cores.
 */
#ifndef IRIS_MAINLOOP_HOST_GEMM_SHAPE_H
#define IRIS_MAINLOOP_HOST_GEMM_SHAPE_H

#include <iris/mainloop/problem.h>

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1

enum {
    IRISI_GEMM_WAVE_LANES = 64,
    IRISI_GEMM_LANES = IRISI_GEMM_WAVE_LANES,
    IRISI_GEMM_MOST_LANES = IRISI_GEMM_LANES,
    IRISI_GEMM_LANES_WITH_COMM = 2 * IRISI_GEMM_WAVE_LANES,
    IRISI_GEMM_TILE = 128,    /* most rows and columns of a tile */
    IRISI_GEMM_BLOCK_K = 128, /* a panel of B this deep and a tile wide stays in a core's second-level cache */
    IRISI_GEMM_ROWS = 8,      /* rows and columns are padded to what the largest micro-kernel computes at once */
    IRISI_GEMM_COLUMNS = 32
};

/* x, rounded up to whole units. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_padded(uint32_t x, uint32_t unit) { return (x + unit - 1) / unit * unit; }

/* The largest tile that a mainloop takes. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_largest_tile(uint32_t mainloop, uint32_t element)
{
    irisi_gemm_extent tile;
    (void)mainloop, (void)element;
    tile.m = IRISI_GEMM_TILE;
    tile.n = IRISI_GEMM_TILE;
    return tile;
}

/*
 * The mainloop for a problem, and its shape. Large tiles waste less, but each workgroup should have several, so that
 * one is sent while the next is computed. Shared memory: a widened block of A and a widened panel of B.
 */
IRIS_HOST_DEVICE irisi_gemm_shape irisi_gemm_pick(const char *arch, const irisi_gemm_problem *p)
{
    irisi_gemm_extent tile = irisi_gemm_largest_tile(IRISI_GEMM_PLAIN, p->element);
    irisi_gemm_shape s;
    (void)arch;
    if (p->n <= tile.n / 2)
        tile.n /= 2;
    while (tile.m > 32 &&
           (uint64_t)((p->m + tile.m - 1) / tile.m) * ((p->n + tile.n - 1) / tile.n) < 4 * p->workgroups)
        tile.m /= 2;
    s.mainloop = IRISI_GEMM_PLAIN;
    s.cluster_split_k = 1;
    s.tma_store = s.window = 0, s.slots = 1, s.slots_with_comm = 2;
    s.tile_m = s.stage_m = p->tile_m ? p->tile_m : tile.m;
    s.tile_n = s.stage_n = p->tile_n ? p->tile_n : tile.n;
    s.workspace_bytes = irisi_gemm_padded(s.tile_m, IRISI_GEMM_ROWS) + irisi_gemm_padded(s.tile_n, IRISI_GEMM_COLUMNS);
    s.workspace_bytes *= p->accumulator * IRISI_GEMM_BLOCK_K;
    s.workspace_bytes_with_comm = s.workspace_bytes;
    s.math_waves = s.comm_waves = s.waves = 1;
    s.waves_with_comm = 2;
    return s;
}

IRIS_HOST_DEVICE uint32_t irisi_gemm_xcds(const char *arch, uint32_t units) { return (void)arch, (void)units, 1; }

#endif
