/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (nvidia): mainloops, tile sizes and shared memory.
 *
 *   irisi_gemm_sm90a and the functions that arch/gemm_shape.h lists
 *
 * With the plain loop's shape a kernel with two staging tiles stays within 48 KB of shared memory.
 */
#ifndef IRIS_ARCH_NVIDIA_GEMM_SHAPE_H
#define IRIS_ARCH_NVIDIA_GEMM_SHAPE_H

enum { IRISI_GEMM_WAVE_LANES = 32, IRISI_GEMM_COMM_WAVES = 2 };

#include <iris/arch/nvidia/mma_shape.h>
#include <iris/arch/simt_gemm_shape.h>

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1
#define IRISI_GEMM_HAS_SM80 1
#define IRISI_GEMM_HAS_SM90A 1

/*
 * The sm_90a loop, for 16-bit types: two warpgroups compute a tile of 128 x 256, each 64 rows of it, from a ring of
 * blocks 64 deep that one lane of a third warpgroup fetches. The third warpgroup's last wave communicates where a
 * pattern has such waves. Of the 227 KB of shared memory four blocks (192 KB) leave two staging tiles of 64 columns,
 * three leave four of them: all of a tile, so that the next one's arithmetic waits for no link. Where lanes copy
 * staging tiles, there are three blocks, and one staging tile holds all of a tile: the longer a row, the less of it is
 * at its ragged ends, and the fewer packets of a link it takes.
 */
enum {
    IRISI_GEMM_SM90A_M = 128,
    IRISI_GEMM_SM90A_N = 256,
    IRISI_GEMM_SM90A_K = 64,
    IRISI_GEMM_SM90A_A_BYTES = 2 * IRISI_GEMM_SM90A_M * IRISI_GEMM_SM90A_K,
    IRISI_GEMM_SM90A_RUN = 2 * 64 * IRISI_GEMM_SM90A_K, /* 64 columns of B: a box, and what narrow tiles are cut to */
    IRISI_GEMM_SM90A_BLOCK = IRISI_GEMM_SM90A_A_BYTES + IRISI_GEMM_SM90A_N / 64 * IRISI_GEMM_SM90A_RUN,
    IRISI_GEMM_SM90A_HEAD = 1024 - IRISI_GEMM_COUNTERS, /* barriers; blocks start at multiples of 1024 */
    IRISI_GEMM_SM90A_BLOCKS_WITH_COMM = 3, /* one more where boxes leave room for it */
    IRISI_GEMM_SM90A_STAGE_N = 64,
    IRISI_GEMM_SM90A_MATH_WAVES = 8,
    IRISI_GEMM_SM90A_COMM_WAVES = 1,
    IRISI_GEMM_LANES_SM90A = 384,
    IRISI_GEMM_LANES_WITH_COMM_SM90A = 384
};

static inline uint32_t irisi_gemm_xcds(const char *arch) { return (void)arch, 1; }

/* A tensor map's rows are less than 2^40 bytes apart. */
#define IRISI_GEMM_MOST_PITCH (((uint64_t)1 << 40) - 16)

/* The largest tile that a mainloop takes. */
static inline irisi_gemm_extent irisi_gemm_largest_tile(uint32_t mainloop, uint32_t accumulator)
{
    irisi_gemm_extent tile = irisi_gemm_plain_tile(accumulator);
    if (mainloop == IRISI_GEMM_SM80)
        tile = irisi_mma_extent(accumulator);
    if (mainloop == IRISI_GEMM_SM90A)
        tile.m = IRISI_GEMM_SM90A_M, tile.n = IRISI_GEMM_SM90A_N;
    return tile;
}

static inline irisi_gemm_shape irisi_gemm_sm90a(const irisi_gemm_problem *p)
{
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_SM90A;
    s.tile_m = p->tile_m ? p->tile_m : (uint32_t)IRISI_GEMM_SM90A_M;
    s.tile_n = p->tile_n ? p->tile_n : (uint32_t)IRISI_GEMM_SM90A_N;
    s.stage_m = IRISI_GEMM_SM90A_M;
    s.boxed = p->boxes && s.tile_m % 16 == 0 && s.tile_n % (uint32_t)IRISI_GEMM_SM90A_STAGE_N == 0;
    s.stage_n = s.boxed ? (uint32_t)IRISI_GEMM_SM90A_STAGE_N : s.tile_n;
    s.slots = s.boxed ? 2 : 1, s.slots_with_comm = s.boxed ? 4 : 1;
    s.workspace_bytes_with_comm = IRISI_GEMM_SM90A_HEAD + IRISI_GEMM_SM90A_BLOCKS_WITH_COMM * IRISI_GEMM_SM90A_BLOCK;
    s.workspace_bytes = s.workspace_bytes_with_comm + (s.boxed ? (uint32_t)IRISI_GEMM_SM90A_BLOCK : 0);
    s.math_waves = IRISI_GEMM_SM90A_MATH_WAVES;
    s.comm_waves = IRISI_GEMM_SM90A_COMM_WAVES;
    s.window = 2; /* more, and what waits for the links holds up the fetching of A and B: 396 against 417 us */
    s.waves = s.waves_with_comm = IRISI_GEMM_LANES_SM90A / IRISI_GEMM_WAVE_LANES;
    return s;
}

/*
 * What gemm_cut.h asks. From 4 x H200: 64 of K take a tile of 256 columns 0.65 us, its way into C 2 us, with a flag 6;
 * a workgroup that only sends moves 24 GB/s. Narrower tiles are bound by shared memory, which every product reads A and
 * B from (128 columns: 0.58 of the time of 256), and among full tiles of 256 columns, whose blocks leave room for four,
 * by the way that blocks come.
 */
#define IRISI_GEMM_HAS_WIDTHS 1
static inline uint32_t irisi_gemm_narrowest(uint32_t mainloop) { return mainloop == IRISI_GEMM_SM90A ? 64 : 0; }
static inline double irisi_gemm_tile_us(uint32_t mainloop, uint32_t full, uint32_t columns, uint32_t k, int flagged)
{
    const double narrow = full > 128 ? 0.44 : full > 64 ? (columns > 64 ? 0.38 : 0.29) : 0.276;
    const double block = columns > 128 ? 0.65 : narrow;
    return (void)mainloop, (flagged ? 6 : 2) * (0.5 + columns / 512.0) + block * ((double)k / IRISI_GEMM_SM90A_K);
}
static inline double irisi_gemm_link_gbps(uint32_t workgroups) { return workgroups < 14 ? 24.0 * workgroups : 340; }

/* The mainloop for a problem, and its shape. The copy engine takes rows and boxes at multiples of 16 bytes only. */
static inline irisi_gemm_shape irisi_gemm_pick(const char *arch, const irisi_gemm_problem *p)
{
    if (irisi_gemm_has(p, IRISI_GEMM_SM90A) && p->aligned && p->tile_n % 8 == 0 &&
        irisi_gemm_fits(p, irisi_gemm_largest_tile(IRISI_GEMM_SM90A, p->accumulator)))
        return irisi_gemm_sm90a(p);
    if (irisi_mma_takes(p))
        return irisi_mma_gemm_shape(arch, p);
    return irisi_gemm_plain(p);
}

#endif
