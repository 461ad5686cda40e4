/* SPDX-License-Identifier: MIT */
/*
 * simt_shape.h: shape of the plain loop of GPUs: 16 x 16 lanes, each with a few rows of four columns.
 *
 *   irisi_gemm_plain_tile irisi_gemm_plain
 *
 * The platform defines IRISI_GEMM_WAVE_LANES and IRISI_GEMM_COMM_WAVES before.
 */
#ifndef IRIS_MAINLOOP_SIMT_SHAPE_H
#define IRIS_MAINLOOP_SIMT_SHAPE_H

#include <iris/mainloop/problem.h>

enum {
    IRISI_GEMM_SIDE = 16,   /* lanes each way */
    IRISI_GEMM_BLOCK_K = 16,
    IRISI_GEMM_A_PITCH = 17, /* elements from row to row of A's tile: odd, so that rows are in different banks */
    IRISI_GEMM_ROWS_4 = 4,  /* rows of a lane with accumulators of 4 bytes, and of 8 */
    IRISI_GEMM_ROWS_8 = 2,
    IRISI_GEMM_COLUMNS = 4,
    IRISI_GEMM_LANES = IRISI_GEMM_SIDE * IRISI_GEMM_SIDE,
    IRISI_GEMM_LANES_WITH_COMM = IRISI_GEMM_LANES + IRISI_GEMM_COMM_WAVES * IRISI_GEMM_WAVE_LANES
};

/* The largest tile that the plain loop takes: the kernel's own, since smaller ones leave lanes idle. */
IRIS_HOST_DEVICE irisi_gemm_extent irisi_gemm_plain_tile(uint32_t element)
{
    irisi_gemm_extent tile;
    tile.m = IRISI_GEMM_SIDE * (element == 8 ? IRISI_GEMM_ROWS_8 : IRISI_GEMM_ROWS_4);
    tile.n = IRISI_GEMM_SIDE * IRISI_GEMM_COLUMNS;
    return tile;
}

/* The plain loop's shape. Shared memory: a tile of A and one of B, as wide as the kernel's largest. */
IRIS_HOST_DEVICE irisi_gemm_shape irisi_gemm_plain(const irisi_gemm_problem *p)
{
    const irisi_gemm_extent most = irisi_gemm_plain_tile(p->element);
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_PLAIN;
    s.cluster_split_k = 1;
    s.tma_store = s.window = 0, s.slots = 1, s.slots_with_comm = 2;
    s.tile_m = s.stage_m = p->tile_m ? p->tile_m : most.m;
    s.tile_n = s.stage_n = p->tile_n ? p->tile_n : most.n;
    s.workspace_bytes = p->accumulator * (most.m * IRISI_GEMM_A_PITCH + most.n * IRISI_GEMM_BLOCK_K);
    s.workspace_bytes_with_comm = s.workspace_bytes;
    s.math_waves = s.waves = (int)IRISI_GEMM_LANES / (int)IRISI_GEMM_WAVE_LANES;
    s.comm_waves = IRISI_GEMM_COMM_WAVES;
    s.waves_with_comm = s.waves + s.comm_waves;
    return s;
}

#endif
