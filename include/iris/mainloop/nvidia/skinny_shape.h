/* SPDX-License-Identifier: MIT */
/*
 * skinny_shape.h (nvidia): what the host must know of the loop for few rows (skinny.h): its tiles, and when it is the
 * faster one.
 *
 *   IRISI_GEMM_LANES_SKINNY IRISI_GEMM_LANES_WITH_COMM_SKINNY
 *   irisi_skinny_which irisi_skinny_takes irisi_skinny_us irisi_skinny_others_us irisi_skinny_gemm_shape
 *   irisi_skinny_rates
 */
#ifndef IRIS_MAINLOOP_NVIDIA_SKINNY_SHAPE_H
#define IRIS_MAINLOOP_NVIDIA_SKINNY_SHAPE_H

#include <iris/mainloop/problem.h>

enum {
    IRISI_SKINNY_WAVES =
        12, /* of a workgroup, each with a part of K, and 168 registers a lane: 8 with more registers have
                             too few loads under way */
    IRISI_SKINNY_DEEP = 32, /* elements of K in a step of a wave */
    IRISI_SKINNY_M = 128,   /* most rows of C: four tiles below each other read the same B */
    IRISI_SKINNY_COMM_WAVES = 1,
    IRISI_GEMM_LANES_SKINNY = 32 * IRISI_SKINNY_WAVES,
    IRISI_GEMM_LANES_WITH_COMM_SKINNY = 32 * (IRISI_SKINNY_WAVES + IRISI_SKINNY_COMM_WAVES)
};

/*
 * Tiles: rows, columns; microseconds of a step where B is k x n, and n x k: where few workgroups run, and where all do,
 * since then the cache and the memory behind it are what it waits for. Fitted to runs by each tile on an H200; the
 * times that come of them are within 25 % of bench/results/gemm_local/1xH200/d2c8a52.json's.
 */
enum { IRISI_SKINNY_TILES = 5 };
typedef struct irisi_skinny_tile {
    uint32_t m, n;
    double unshared_us[2], step_us[2];
} irisi_skinny_tile;
static inline irisi_skinny_tile irisi_skinny_tile_of(uint32_t which)
{
    static const irisi_skinny_tile tiles[IRISI_SKINNY_TILES] = {{8, 16, {0.40, 0.35}, {0.72, 0.55}},
                                                                {8, 32, {0.75, 0.53}, {1.20, 0.92}},
                                                                {8, 64, {1.35, 0.75}, {2.10, 1.85}},
                                                                {16, 32, {0.80, 0.60}, {1.20, 1.15}},
                                                                {32, 32, {1.25, 1.00}, {1.70, 1.35}}};
    return tiles[which];
}

/* Which of them a plan has. */
IRIS_HOST_DEVICE uint32_t irisi_skinny_which(uint32_t tile_m, uint32_t tile_n)
{
    return tile_m == 8 ? tile_n / 32 : tile_m == 16 ? 3 : 4;
}

/* Which of them is asked for; IRISI_SKINNY_TILES when it is none. */
static inline uint32_t irisi_skinny_asked(uint32_t tile_m, uint32_t tile_n)
{
    uint32_t i = 0;
    while (i < IRISI_SKINNY_TILES && (irisi_skinny_tile_of(i).m != tile_m || irisi_skinny_tile_of(i).n != tile_n))
        i++;
    return i;
}

/* Steps of a wave, and about how long one takes where so many of all workgroups have a tile. */
static inline double irisi_skinny_tile_us(uint32_t which, uint32_t k, int transposed, double filled)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(which);
    const uint32_t part = IRISI_SKINNY_DEEP * IRISI_SKINNY_WAVES;
    const double busy = t.step_us[transposed != 0] * (filled < 1 ? filled : 1),
                 unshared = t.unshared_us[transposed != 0];
    return (k + part - 1) / part * (busy > unshared ? busy : unshared);
}

/* About how long a problem takes in tiles of a kind: rounds of workgroups, a tile each. */
static inline double irisi_skinny_us(const irisi_gemm_problem *p, uint32_t which)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(which);
    const uint64_t tiles = ((uint64_t)p->m + t.m - 1) / t.m * (((uint64_t)p->n + t.n - 1) / t.n);
    const uint64_t rounds = (tiles + p->workgroups - 1) / p->workgroups;
    const double step = irisi_skinny_tile_us(which, p->k, (int)p->b_transposed, (double)tiles / p->workgroups);
    return 1.3 + 0.3 * (which > 0) + (double)rounds * (1 + step);
}

/*
 * The same by Hopper's other loops, for up to 128 rows. It is within 17 % of the few0_us of
 * bench/results/gemm_local/1xH200/d2c8a52.json for aligned shapes, and within 28 % for others. A C that leaves in no
 * boxes takes its time, and so does a copy of A.
 */
static inline double irisi_skinny_others_us(const irisi_gemm_problem *p)
{
    const double mb = 2e-6 * p->n * p->k, rows = p->m / 128.0, copied = p->a_unaligned ? 4 : 0;
    const double started = 4.1 + 0.65 * p->k / 1024 + (p->m > 64 ? 1.2 : 0), read = 3.3 + 0.255 * mb;
    if (p->b_unaligned)
        return 8 + 0.34 * mb + 5 * rows + copied;
    return (started > read ? started : read) + (p->tma_store ? 0 : 3.5 + 2.5 * rows) + copied;
}

/* The tile for a problem: the one that is asked for, or the fastest. */
static inline uint32_t irisi_skinny_best(const irisi_gemm_problem *p)
{
    uint32_t best = irisi_skinny_asked(p->tile_m, p->tile_n);
    for (uint32_t i = 0; i < IRISI_SKINNY_TILES && p->tile_m == 0 && p->tile_n == 0; i++)
        if (best == IRISI_SKINNY_TILES || irisi_skinny_us(p, i) < irisi_skinny_us(p, best))
            best = i;
    return best;
}

/*
 * 1 when the loop is to compute a problem: it must; or rows are few, and one of its tiles is asked for or it is faster.
 * Beside the loop of sm_80 it was not measured: there it spares copies, and computes nothing else.
 */
static inline int irisi_skinny_takes(const irisi_gemm_problem *p)
{
    if (!irisi_gemm_has(p, IRISI_GEMM_SKINNY) || p->skinny == IRISI_SKINNY_NEVER ||
        (p->skinny != IRISI_SKINNY_MUST && p->m > IRISI_SKINNY_M))
        return 0;
    const uint32_t best = irisi_skinny_best(p);
    if (best == IRISI_SKINNY_TILES || p->skinny == IRISI_SKINNY_MUST || p->tile_m > 0)
        return best != IRISI_SKINNY_TILES;
    if (!irisi_gemm_has(p, IRISI_GEMM_SM90A))
        return p->a_unaligned || p->b_unaligned;
    return irisi_skinny_us(p, best) < irisi_skinny_others_us(p);
}

/* The loop's shape. Its workspace is the waves' sums of a tile, in f32. */
static inline irisi_gemm_shape irisi_skinny_gemm_shape(const irisi_gemm_problem *p)
{
    const irisi_skinny_tile t = irisi_skinny_tile_of(irisi_skinny_best(p));
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_SKINNY;
    s.cluster_split_k = 1;
    s.tile_m = s.stage_m = t.m, s.tile_n = s.stage_n = t.n;
    s.tma_store = s.window = 0, s.slots = 2, s.slots_with_comm = 4;
    s.workspace_bytes = s.workspace_bytes_with_comm = 4 * IRISI_SKINNY_WAVES * t.m * t.n;
    s.math_waves = s.waves = IRISI_SKINNY_WAVES;
    s.comm_waves = IRISI_SKINNY_COMM_WAVES;
    s.waves_with_comm = s.waves + s.comm_waves;
    return s;
}

/* What the model of whole tiles computes with, of H200s: its own times, and lanes that send (gemm_shape.h). */
static inline irisi_gemm_rates irisi_skinny_rates(const iris_gemm_plan *p)
{
    irisi_gemm_rates r;
    r.tile_us = 1 + irisi_skinny_tile_us(irisi_skinny_which(p->tile_m, p->tile_n), p->k, (int)p->b_transposed, 1);
    r.beside_us = r.tile_us / 0.6; /* 13 waves have 128 registers a lane, and 2 KB of a tile's are spilled */
    r.launch_us = 6, r.signal_us = 3;
    r.link_gbps = r.links_gbps = 340;
    r.sender_gbps = 12;
    r.memory_gbps = 4200;
    return r;
}

#endif
