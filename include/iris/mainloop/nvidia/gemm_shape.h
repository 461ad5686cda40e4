/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (nvidia): mainloops, tile sizes and shared memory.
 *
 *   irisi_gemm_sm90a and the functions that mainloop/shape.h lists
 *
 * With the plain loop's shape a kernel with two staging tiles stays within 48 KB of shared memory.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_GEMM_SHAPE_H
#define IRIS_MAINLOOP_NVIDIA_GEMM_SHAPE_H

enum { IRISI_GEMM_WAVE_LANES = 32, IRISI_GEMM_COMM_WAVES = 2 };

#include <iris/mainloop/nvidia/mma_shape.h>
#include <iris/mainloop/nvidia/gemv_shape.h>
#include <iris/mainloop/simt_shape.h>

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1
#define IRISI_GEMM_HAS_SM80 1
#define IRISI_GEMM_HAS_SM90A 1
#define IRISI_GEMM_HAS_SM90A_UNALIGNED_B 1
#define IRISI_GEMM_HAS_GEMV 1

/*
 * The sm_90a loop: two warpgroups compute a tile of 128 x 256, each 64 rows of it, from a ring of blocks 128 bytes of K
 * deep. Two lanes of a third warpgroup fetch the blocks, one A and one B; its last wave communicates where a pattern
 * has communication waves. Shared memory has 227 KB. Four blocks (192 KB) leave room for two staging tiles of 64
 * columns (32 columns of 32-bit C). Three blocks leave room for four: all of a tile of 16-bit C, so that the arithmetic
 * of the next tile does not wait for the links. Where lanes copy staging tiles there are three blocks, and one staging
 * tile holds the whole tile: long rows have fewer ragged ends and take fewer packets on a link.
 */
enum {
    IRISI_GEMM_SM90A_M = 128,
    IRISI_GEMM_SM90A_N = 256,
    IRISI_GEMM_SM90A_DEPTH = 128, /* bytes of K in a block */
    IRISI_GEMM_SM90A_A_BYTES = IRISI_GEMM_SM90A_M * IRISI_GEMM_SM90A_DEPTH,
    IRISI_GEMM_SM90A_RUN = 64 * IRISI_GEMM_SM90A_DEPTH, /* 64 columns of B: a box; tiles are 1 to 4 of them wide */
    IRISI_GEMM_SM90A_BLOCK = IRISI_GEMM_SM90A_A_BYTES + IRISI_GEMM_SM90A_N / 64 * IRISI_GEMM_SM90A_RUN,
    IRISI_GEMM_SM90A_HEAD = 1024 - IRISI_GEMM_COUNTERS, /* barriers; blocks start at multiples of 1024 */
    IRISI_GEMM_SM90A_AHEAD = 64 << 10, /* bytes of B that a workgroup prefetches (irisi_gemm_ahead) */
    IRISI_GEMM_SM90A_BLOCKS_WITH_COMM = 3, /* one more where boxes leave room for it */
    IRISI_GEMM_SM90A_STAGE_BYTES = 128, /* of a row of a box */
    IRISI_GEMM_SM90A_MATH_WAVES = 8,
    IRISI_GEMM_SM90A_COMM_WAVES = 1,
    IRISI_GEMM_LANES_SM90A = 384,
    IRISI_GEMM_MOST_LANES = 384,
    IRISI_GEMM_LANES_WITH_COMM_SM90A = 384
};

/* The other loop of sm_90a (sm90a_unaligned_b.h): a warpgroup has 64 columns of a tile, and at most 128 rows. */
enum {
    IRISI_GEMM_UNALIGNED_B_N = 128,
    IRISI_GEMM_LINE = 128 + 16,                        /* bytes of a line in the ring: 16 more, for where it starts */
    IRISI_GEMM_UNALIGNED_B_RUN = 64 * IRISI_GEMM_LINE, /* of 64 columns of B in a block */
    IRISI_GEMM_UNALIGNED_B_WAVES = 3, /* loader waves, a block each; the last wave may notify or communicate */
    IRISI_GEMM_LANES_SM90A_UNALIGNED_B = IRISI_GEMM_LANES_SM90A,
    IRISI_GEMM_LANES_WITH_COMM_SM90A_UNALIGNED_B = IRISI_GEMM_LANES_WITH_COMM_SM90A
};

/* 1 for the loops on a ring of blocks, for which TMA loads A. */
IRIS_HOST_DEVICE int irisi_gemm_is_sm90a(uint32_t mainloop)
{
    return mainloop == IRISI_GEMM_SM90A || mainloop == IRISI_GEMM_SM90A_UNALIGNED_B;
}

/* Rows of A in a block: 64, those of one warpgroup, where the problem has no more. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_a_rows(const iris_gemm_plan *plan)
{
    return plan->m > 64 ? (uint32_t)IRISI_GEMM_SM90A_M : (uint32_t)IRISI_GEMM_SM90A_M / 2;
}

/*
 * Rows of A that are fetched for a tile of so many rows: whole groups of 8, the unit of the swizzle. More are not
 * fetched, because the copy engine is slow to fill in rows that A does not have; the products of what stands in their
 * place are never written. 0 for the missing second tile of a cluster.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_a_box(uint32_t rows) { return (rows + 7) / 8 * 8; }

static inline uint32_t irisi_gemm_xcds(const char *arch, uint32_t units) { return (void)arch, (void)units, 1; }

/* A tensor map's rows are less than 2^40 bytes apart. */
#define IRISI_GEMM_MOST_PITCH (((uint64_t)1 << 40) - 16)

/* Bytes that a rank sends up to which its tiles go as LL packets: runtime/gemm/ll_banks.h. */
#define IRISI_GEMM_LL_BYTES (256u << 10)

/* The largest tile that a mainloop takes. */
static inline irisi_gemm_extent irisi_gemm_largest_tile(uint32_t mainloop, uint32_t element)
{
    irisi_gemm_extent tile = irisi_gemm_plain_tile(element);
    if (mainloop == IRISI_GEMM_SM80)
        tile = irisi_mma_extent(element);
    if (mainloop == IRISI_GEMM_SM90A)
        tile.m = IRISI_GEMM_SM90A_M, tile.n = IRISI_GEMM_SM90A_N;
    if (mainloop == IRISI_GEMM_SM90A_UNALIGNED_B)
        tile.m = IRISI_GEMM_SM90A_M, tile.n = IRISI_GEMM_UNALIGNED_B_N;
    if (mainloop == IRISI_GEMM_GEMV)
        tile.m = IRISI_GEMV_M, tile.n = IRISI_GEMV_LINES;
    return tile;
}

/* The shape of the sm_90a loop. */
static inline irisi_gemm_shape irisi_gemm_sm90a(const irisi_gemm_problem *p)
{
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_SM90A;
    s.cluster_split_k = 1;
    s.tile_m = p->tile_m ? p->tile_m : (uint32_t)IRISI_GEMM_SM90A_M;
    s.tile_n = p->tile_n ? p->tile_n : (uint32_t)IRISI_GEMM_SM90A_N;
    s.stage_m = IRISI_GEMM_SM90A_M;
    s.tma_store = p->tma_store && p->c_element > 1 && s.tile_m % 16 == 0 && s.tile_n % 64 == 0;
    s.stage_n = s.tma_store ? IRISI_GEMM_SM90A_STAGE_BYTES / p->c_element : s.tile_n;
    if (p->c_element == 4 && s.stage_n > IRISI_GEMM_SM90A_N / 2)
        s.stage_n = IRISI_GEMM_SM90A_N / 2;
    s.slots = s.tma_store ? 2 : 1, s.slots_with_comm = s.tma_store ? 4 : 1;
    s.workspace_bytes_with_comm = IRISI_GEMM_SM90A_HEAD + IRISI_GEMM_SM90A_BLOCKS_WITH_COMM * IRISI_GEMM_SM90A_BLOCK;
    s.workspace_bytes = s.workspace_bytes_with_comm + (s.tma_store ? (uint32_t)IRISI_GEMM_SM90A_BLOCK : 0);
    s.math_waves = IRISI_GEMM_SM90A_MATH_WAVES;
    s.comm_waves = IRISI_GEMM_SM90A_COMM_WAVES;
    s.window = 2; /* with more, boxes that wait for the links hold up the fetching of A and B */
    s.waves = s.waves_with_comm = (int)IRISI_GEMM_LANES_SM90A / (int)IRISI_GEMM_WAVE_LANES;
    return s;
}

/*
 * The shape of the loop for an unaligned B: one staging tile holds a whole tile in plain rows; the ring has the rest.
 */
static inline irisi_gemm_shape irisi_gemm_unaligned_b_shape(const irisi_gemm_problem *p)
{
    irisi_gemm_shape s = irisi_gemm_sm90a(p);
    s.mainloop = IRISI_GEMM_SM90A_UNALIGNED_B;
    s.tile_n = s.stage_n = p->tile_n ? p->tile_n : (uint32_t)IRISI_GEMM_UNALIGNED_B_N;
    s.tma_store = s.window = 0, s.slots = s.slots_with_comm = 1;
    s.workspace_bytes = s.workspace_bytes_with_comm = IRISI_GEMM_SM90A_HEAD + 4 * IRISI_GEMM_SM90A_BLOCK;
    return s;
}

/* Bytes of one position's sums (a tile's) where K is cut into splits; the value of each byte of a missing sum. */
enum { IRISI_GEMM_PARTIAL_BYTES = 4 * IRISI_GEMM_SM90A_M * IRISI_GEMM_SM90A_N, IRISI_GEMM_PARTIAL_BYTE = 0xff };

/*
 * 1 when workgroups that only send do it by the copy engine (tma_forward.h). A tile of 32-bit C has twice as many
 * boxes, too many for the ring there: lanes send it.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_tma_forwards(const iris_gemm_plan *plan)
{
    return plan->machine.tma_store && plan->operands.c_element == 2;
}

/*
 * 1 when a cluster may compute halves of full tiles together: two halves side by side, each workgroup half of K of
 * both. Products are then as wide as for a full tile, and a half takes half as long. Both warpgroups must have rows
 * (irisi_gemm_a_rows), since each exchanges its own sums; i8 has no code for the exchange. For a K below 4096 bytes, by
 * estimate, the exchange takes longer than it saves.
 */
static inline uint32_t irisi_gemm_can_pair_split_k(const iris_gemm_plan *plan)
{
    return irisi_gemm_a_rows(plan) == IRISI_GEMM_SM90A_M && plan->operands.dtype != IRIS_I8 &&
           (uint64_t)plan->k * plan->operands.element >= 4096;
}

/*
 * The times that runtime/gemm/tile_search.h asks for, fitted to H200s; k counts 16-bit elements, or as many bytes of
 * others. `blocks`: a block of K by the tile's width (64, 128, 192, 256 columns), for more than 256 rows, up to 256,
 * where the clock is higher, and up to 64, where only fetching counts. Narrow tiles take longer than their products
 * alone, for what stands between two products and for what they fetch. `joined`: the sums of splits of K. The rest of a
 * tile is its way into C, longer with a flag. Workgroups of a cluster read B once for both. A sending workgroup fetches
 * each byte once while others compute, and puts it to each peer; tiles that senders send arrive later by a flag, a
 * fetch and a signal. The senders' times and those of halves that a cluster computes together fit the rows of
 * bench/results/gemm_tune, the sums' times for up to 256 rows those of bench/results/gemm_local.
 */
#define IRISI_GEMM_HAS_WIDTHS 1
static inline uint32_t irisi_gemm_narrowest(uint32_t mainloop) { return irisi_gemm_is_sm90a(mainloop) ? 64 : 0; }
static inline uint32_t irisi_gemm_most_cluster(uint32_t mainloop) { return mainloop == IRISI_GEMM_SM90A ? 2 : 1; }
static inline uint32_t irisi_gemm_most_split_k(uint32_t mainloop) { return irisi_gemm_is_sm90a(mainloop) ? 8 : 1; }
static inline double irisi_gemm_tile_us(uint32_t mainloop, uint32_t cluster, uint32_t split_k, uint32_t rows,
                                        uint32_t columns, uint32_t k, int flagged)
{
    static const double blocks[3][4] = {
        {0.29, 0.36, 0.51, 0.64}, {0.23, 0.32, 0.45, 0.57}, {0.19, 0.215, 0.265, 0.36}}; /* by rows, by width */
    const double few = columns / 128.0 * (0.8 + 0.005 * (rows < 128 ? rows : 128));
    const double many = columns > 192 ? 8 : columns > 128 ? 5 : columns > 64 ? 1.3 : 0.64;
    const double begun = rows <= 128 ? 0.4 : rows <= 256 ? 0.7 : 1.2;
    const double joined = split_k > 1 ? begun + (split_k - 1) * (rows <= 256 ? few : many) : 0;
    const double block = blocks[(rows <= 256) + (rows <= 64)][columns > 192 ? 3 : columns > 128 ? 2 : columns > 64];
    (void)mainloop;
    return (flagged ? 4 : 1.7) * (0.5 + columns / 512.0) + joined +
           (cluster > 1 ? 1 : 1.04) * block * ((double)k / split_k / 64);
}
/*
 * A half that a cluster computes together: half of K of a tile twice as wide, no B in common, and the sums' exchange.
 */
static inline double irisi_gemm_pair_split_k_us(uint32_t mainloop, uint32_t rows, uint32_t columns, uint32_t k,
                                                int flagged)
{
    return 1.5 + 1.1 * irisi_gemm_tile_us(mainloop, 2, 1, rows, 2 * columns, k / 2, flagged);
}
static inline double irisi_gemm_senders_us(void) { return 5; }
static inline double irisi_gemm_memory_us(double bytes) { return 0.7 + bytes / 4.2e6; }
static inline double irisi_gemm_link_gbps(uint32_t workgroups, int tma_store, uint32_t peers)
{
    const double gbps = (tma_store && peers > 0 ? peers / (0.035 + 0.016 * peers) : 24) * workgroups;
    return gbps < 340 ? gbps : 340;
}

/*
 * What the model of cost_rounds.h computes with, for the loops whose tiles are not cut. Estimates: arithmetic, memory
 * and NVLink from NVIDIA's data sheet of the A100, of which 0.6, all and 0.8 are taken; other devices count as equally
 * fast for each multiprocessor. A small tile takes a quarter of a large one's time (mma_shape.h). sender_gbps is what a
 * workgroup sends by lanes on an H200, times two thirds, as NVLink is slower on an A100. The plain loop's share of the
 * peak is what it reaches on an H200; for a B that is n x k it reaches a quarter of that.
 */
#define IRISI_GEMM_HAS_RATES 1
static inline irisi_gemm_rates irisi_gemm_rates_of(const iris_gemm_plan *p)
{
    const int plain = p->mainloop != IRISI_GEMM_SM80, wide = p->operands.element == 8;
    const int small = !plain && irisi_mma_is_small(p->operands.element, p->tiling.tile_m, p->tiling.tile_n);
    const irisi_gemm_extent tile =
        plain ? irisi_gemm_plain_tile(p->operands.element) : irisi_mma_extent(p->operands.element);
    const double peak = plain && wide                       ? 9.7
                        : plain || p->operands.element >= 4 ? 19.5
                                                            : 312; /* 10^12 operations a second */
    const double rate = (plain ? 0.37 : 0.6) * peak / 108;
    irisi_gemm_rates r;
    if (p->mainloop == IRISI_GEMM_GEMV)
        return irisi_gemv_rates_of(p);
    r.tile_us = (small ? 0.25 : 1) * 2e-6 * tile.m * tile.n * p->k / rate;
    r.beside_us = r.tile_us / 0.8;
    r.launch_us = 6, r.signal_us = 3;
    r.link_gbps = r.links_gbps = 0.8 * 300; /* a single peer can get all of it */
    r.sender_gbps = 8;
    r.memory_gbps = 2039;
    return r;
}

#define IRISI_GEMM_HAS_IMAGES 1
/* Only images made for sm_90a have products of warpgroups; Hopper runs other images too, which do not. */
static inline irisi_gemm_image irisi_gemm_image_of(const char *arch, uint32_t dtype, uint32_t tf32)
{
    const int hopper = strcmp(arch, "sm_90") == 0 && (dtype != IRIS_F32 || tf32);
    irisi_gemm_image image;
    image.mainloop = hopper ? IRISI_GEMM_SM90A : IRISI_GEMM_PLAIN;
    image.option = hopper ? "-gencode=arch=compute_90a,code=sm_90a" : "";
    return image;
}

/*
 * The mainloop for a problem, and its shape. The copy engine reads rows and boxes at multiples of 16 bytes only. The
 * sm_90a loop multiplies f32 as tf32, and writes sums of i8 into an i32 C as they are, without an epilogue.
 */
static inline irisi_gemm_shape irisi_gemm_pick(const char *arch, const irisi_gemm_problem *p)
{
    if (irisi_gemv_takes(p))
        return irisi_gemv_gemm_shape(p);
    if (irisi_gemm_has(p, IRISI_GEMM_SM90A_UNALIGNED_B) && p->aligned && p->b_unaligned && p->m <= IRISI_GEMM_SM90A_M &&
        irisi_gemm_fits(p, irisi_gemm_largest_tile(IRISI_GEMM_SM90A_UNALIGNED_B, p->element)))
        return irisi_gemm_unaligned_b_shape(p);
    if (irisi_gemm_has(p, IRISI_GEMM_SM90A) && p->aligned && p->tile_n % 8 == 0 && (p->element < 4 || p->tf32) &&
        (p->c_dtype != IRIS_I32 || p->no_epilogue) &&
        irisi_gemm_fits(p, irisi_gemm_largest_tile(IRISI_GEMM_SM90A, p->element)))
        return irisi_gemm_sm90a(p);
    if (irisi_mma_takes(p))
        return irisi_mma_gemm_shape(arch, p);
    return irisi_gemm_plain(p);
}

#endif
