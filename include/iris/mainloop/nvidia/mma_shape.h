/* SPDX-License-Identifier: MIT */
/*
 * mma_shape.h (nvidia): what the host must know of the loop around mma.sync: which problems it takes, in what shape.
 *
 *   IRISI_GEMM_LANES_SM80 IRISI_GEMM_LANES_WITH_COMM_SM80
 *   irisi_mma_extent irisi_mma_takes irisi_mma_gemm_shape irisi_gemm_pass_m
 *
 * Shared memory: a ring of up to four slabs, and staging tiles of 64 x 64. A workgroup can have at least 99 KB.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_MMA_SHAPE_H
#define IRIS_MAINLOOP_NVIDIA_MMA_SHAPE_H

#include <string.h>

#include <iris/mainloop/problem.h>
#include <iris/mainloop/nvidia/mma_layout.h>

/*
 * Each quarter of a multiprocessor has its own registers, and two of the eight math waves. A third wave in any quarter
 * leaves every wave of the workgroup fewer registers, so that four communication waves cost no more than one.
 */
enum {
    IRISI_GEMM_MMA_COMM_WAVES = 4,
    IRISI_GEMM_LANES_SM80 = IRISI_MMA_LANES,
    IRISI_GEMM_LANES_WITH_COMM_SM80 = IRISI_MMA_LANES + 32 * IRISI_GEMM_MMA_COMM_WAVES
};

/* The most shared memory of a workgroup. An architecture that is not listed counts as the one with the least. */
static inline uint32_t irisi_mma_shared(const char *arch)
{
    static const char *const most[] = {"sm_90", "sm_100", "sm_103", "sm_110"}, *const more[] = {"sm_80", "sm_87"};
    for (uint32_t i = 0; i < sizeof most / sizeof most[0]; i++)
        if (strcmp(arch, most[i]) == 0)
            return 227u << 10;
    for (uint32_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (strcmp(arch, more[i]) == 0)
            return 163u << 10;
    return 99u << 10;
}

/* The largest tile. */
static inline irisi_gemm_extent irisi_mma_extent(uint32_t bytes)
{
    const irisi_mma_shape shape = irisi_mma_shape_of(bytes, 0, 0);
    irisi_gemm_extent tile;
    tile.m = irisi_mma_tile_m(shape), tile.n = irisi_mma_tile_n(shape);
    return tile;
}

#define IRISI_GEMM_HAS_PASSES 1
static inline uint32_t irisi_gemm_pass_m(uint32_t mainloop, uint32_t tile_m)
{
    return mainloop == IRISI_GEMM_SM80 && tile_m > 64 ? 64 : tile_m;
}

/* 1 when the loop can compute a problem: each tile of A and B must start at a multiple of 16 bytes. */
static inline int irisi_mma_takes(const irisi_gemm_problem *p)
{
    return irisi_gemm_has(p, IRISI_GEMM_SM80) && p->aligned && (p->b_transposed || p->tile_n * p->element % 16 == 0) &&
           irisi_gemm_fits(p, irisi_mma_extent(p->element));
}

/* How many tiles of m x n each workgroup computes of a problem, at most. */
static inline uint64_t irisi_mma_rounds(const irisi_gemm_problem *p, uint32_t m, uint32_t n)
{
    const uint64_t tiles = (uint64_t)((p->m + m - 1) / m) * ((p->n + n - 1) / n);
    return (tiles + p->workgroups - 1) / p->workgroups;
}

/* Divides shared memory: up to `slots` staging tiles, but no more than leave room for three slabs; then up to four. */
typedef struct irisi_mma_room {
    uint32_t slots, bytes; /* bytes: of the slabs */
} irisi_mma_room;

static inline irisi_mma_room irisi_mma_room_of(uint32_t shared, uint32_t stage, uint32_t slots, uint32_t slab)
{
    irisi_mma_room r;
    for (r.slots = slots; r.slots > 1 && shared < r.slots * stage + 3 * slab;)
        r.slots--;
    const uint32_t slabs = (shared - r.slots * stage) / slab;
    r.bytes = (slabs < 4 ? slabs : 4) * slab;
    return r;
}

/* The loop's shape. A small tile is an eighth of a large one (f32: a quarter) and takes about a quarter of its time. */
static inline irisi_gemm_shape irisi_mma_gemm_shape(const char *arch, const irisi_gemm_problem *p)
{
    const irisi_gemm_extent large = irisi_mma_extent(p->element);
    const int few = p->tile_m || p->tile_n ? irisi_mma_is_small(p->element, p->tile_m, p->tile_n)
                                           : irisi_mma_rounds(p, 64, 64) < 4 * irisi_mma_rounds(p, large.m, large.n);
    const irisi_mma_shape most = irisi_mma_shape_of(p->element, few, 0);
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_SM80;
    s.cluster_split_k = 1;
    s.tile_m = p->tile_m ? p->tile_m : irisi_mma_tile_m(most);
    s.tile_n = p->tile_n ? p->tile_n : irisi_mma_tile_n(most);
    s.stage_m = s.stage_n = IRISI_MMA_STAGE;
    s.tma_store = s.window = 0;
    const int small = irisi_mma_is_small(p->element, s.tile_m, s.tile_n);
    const uint32_t shared = irisi_mma_shared(arch) - IRISI_GEMM_COUNTERS;
    const uint32_t stage = (s.stage_m * (s.stage_n * p->element + 16) + 127) / 128 * 128;
    const uint32_t slab = irisi_mma_slab_bytes(irisi_mma_shape_of(p->element, small, 0));
    const uint32_t pass = irisi_mma_slab_bytes(irisi_mma_shape_of(p->element, small, 1));
    const irisi_mma_room without_comm = irisi_mma_room_of(shared, stage, 2, slab);
    const irisi_mma_room beside = irisi_mma_room_of(shared, stage, 4, pass);
    s.slots = without_comm.slots, s.slots_with_comm = beside.slots;
    s.workspace_bytes = without_comm.bytes, s.workspace_bytes_with_comm = beside.bytes;
    s.math_waves = s.waves = IRISI_MMA_WAVES;
    s.comm_waves = IRISI_GEMM_MMA_COMM_WAVES;
    s.waves_with_comm = s.waves + s.comm_waves;
    return s;
}

#endif
