/* SPDX-License-Identifier: MIT */
/*
 * skinny_shape.h (amd): what the host must know of the loop for few rows (skinny.h): its tiles, and when it is the
 * faster one.
 *
 *   IRISI_GEMM_LANES_SKINNY_MFMA IRISI_GEMM_LANES_WITH_COMM_SKINNY_MFMA
 *   irisi_skinny_tile_of irisi_skinny_tile_us irisi_skinny_us irisi_skinny_takes irisi_skinny_gemm_shape
 */
#ifndef IRIS_MAINLOOP_AMD_SKINNY_SHAPE_H
#define IRIS_MAINLOOP_AMD_SKINNY_SHAPE_H

#include <iris/mainloop/problem.h>

enum {
    IRISI_SKINNY_WAVES = 8, /* of a workgroup, each with a part of K; two on each SIMD, so 256 registers a lane */
    IRISI_SKINNY_DEEP = 32, /* elements of K in a step of a wave */
    IRISI_SKINNY_RING = 4,  /* steps that are loaded ahead; beside communication waves there are registers for fewer */
    IRISI_SKINNY_RING_WITH_COMM = 2,
    IRISI_SKINNY_M = 128, /* most rows of C: four tiles below each other read the same B */
    IRISI_SKINNY_COMM_WAVES = 4,
    IRISI_GEMM_LANES_SKINNY_MFMA = 64 * IRISI_SKINNY_WAVES,
    IRISI_GEMM_LANES_WITH_COMM_SKINNY_MFMA = 64 * (IRISI_SKINNY_WAVES + IRISI_SKINNY_COMM_WAVES)
};

/*
 * Tiles, in 16 x 16 blocks of the instruction, and microseconds of a wave's step where B is k x n, and n x k.
 * Estimates: a step's words come a microsecond after they were asked for, four steps are under way, and lines of a B
 * that is k x n are 128 bytes, of which narrow tiles use only a part.
 */
enum { IRISI_SKINNY_TILES = 4 };
typedef struct irisi_skinny_tile {
    uint32_t m, n;
    double step_us[2];
} irisi_skinny_tile;
static inline irisi_skinny_tile irisi_skinny_tile_of(uint32_t which)
{
    static const irisi_skinny_tile tiles[IRISI_SKINNY_TILES] = {
        {16, 16, {0.50, 0.25}}, {16, 32, {0.40, 0.27}}, {16, 64, {0.35, 0.32}}, {32, 32, {0.45, 0.30}}};
    return tiles[which];
}

/* Which of these tiles a plan has. */
IRIS_HOST_DEVICE uint32_t irisi_skinny_which(uint32_t tile_m, uint32_t tile_n)
{
    return tile_m == 16 ? tile_n / 32 : 3;
}

/* 1 when tile `which` has the sides that are asked for, if any. */
static inline int irisi_skinny_asked(const irisi_gemm_problem *p, uint32_t which)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(which);
    return (p->tile_m == 0 || p->tile_m == t.m) && (p->tile_n == 0 || p->tile_n == t.n);
}

/* A workgroup's arithmetic for a tile: its waves' steps, which take longer with fewer ahead, and their sums. */
static inline double irisi_skinny_tile_us(uint32_t which, uint32_t k, int transposed, int with_comm)
{
    const uint32_t part = IRISI_SKINNY_DEEP * IRISI_SKINNY_WAVES;
    const double ahead = with_comm ? (double)IRISI_SKINNY_RING / (double)IRISI_SKINNY_RING_WITH_COMM : 1;
    return 1.5 + (k + part - 1) / part * irisi_skinny_tile_of(which).step_us[transposed != 0] * ahead;
}

/*
 * About how long a problem takes in tiles of a kind: rounds of workgroups, or as long as the memory needs for B, of
 * which rows of tiles below the first find two thirds in caches.
 */
static inline double irisi_skinny_us(const irisi_gemm_problem *p, uint32_t which, double memory_gbps)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(which);
    const uint64_t rows = ((uint64_t)p->m + t.m - 1) / t.m, tiles = rows * (((uint64_t)p->n + t.n - 1) / t.n);
    const double rounds = (double)((tiles + p->workgroups - 1) / p->workgroups);
    const double computed = rounds * irisi_skinny_tile_us(which, p->k, (int)p->b_transposed, 0);
    const double read = 2e-3 * p->n * p->k * (1 + ((double)rows - 1) / 3) / memory_gbps;
    return computed > read ? computed : read;
}

/* The fastest tile of those with the sides that are asked for; IRISI_SKINNY_TILES when there is none. */
static inline uint32_t irisi_skinny_best(const irisi_gemm_problem *p, double memory_gbps)
{
    uint32_t best = IRISI_SKINNY_TILES;
    for (uint32_t i = 0; i < IRISI_SKINNY_TILES; i++)
        if (irisi_skinny_asked(p, i) &&
            (best == IRISI_SKINNY_TILES || irisi_skinny_us(p, i, memory_gbps) < irisi_skinny_us(p, best, memory_gbps)))
            best = i;
    return best;
}

/*
 * 1 when the loop is to compute a problem: it must; or rows are few, and one of its tiles is asked for or it takes less
 * than `others_us`, which the matrix loops' small tiles need.
 */
static inline int irisi_skinny_takes(const irisi_gemm_problem *p, double memory_gbps, double others_us)
{
    if (!irisi_gemm_has(p, IRISI_GEMM_SKINNY_MFMA) || p->skinny == IRISI_SKINNY_NEVER ||
        p->skinny == IRISI_SKINNY_GEMV || (p->skinny != IRISI_SKINNY_MUST && p->m > IRISI_SKINNY_M))
        return 0;
    const uint32_t best = irisi_skinny_best(p, memory_gbps);
    if (best == IRISI_SKINNY_TILES || p->skinny == IRISI_SKINNY_MUST || (p->tile_m > 0 && p->tile_n > 0))
        return best != IRISI_SKINNY_TILES;
    return irisi_skinny_us(p, best, memory_gbps) < others_us;
}

/* The loop's shape. Its workspace is the waves' sums of a tile, in f32. */
static inline irisi_gemm_shape irisi_skinny_gemm_shape(const irisi_gemm_problem *p, double memory_gbps)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(irisi_skinny_best(p, memory_gbps));
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_SKINNY_MFMA;
    s.cluster_split_k = 1;
    s.tile_m = s.stage_m = t.m, s.tile_n = s.stage_n = t.n;
    s.tma_store = s.window = 0, s.slots = 2, s.slots_with_comm = 4;
    s.workspace_bytes = s.workspace_bytes_with_comm = 4 * IRISI_SKINNY_WAVES * t.m * t.n;
    s.math_waves = s.waves = IRISI_SKINNY_WAVES;
    s.comm_waves = IRISI_SKINNY_COMM_WAVES;
    s.waves_with_comm = s.waves + s.comm_waves;
    return s;
}

#endif
