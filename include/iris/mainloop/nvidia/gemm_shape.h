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
 * deep that one lane of a third warpgroup fetches. The third warpgroup's last wave communicates where a
 * pattern has such waves. Of the 227 KB of shared memory four blocks (192 KB) leave two staging tiles of 64 columns,
 * three leave four of them: all of a tile of 16-bit C (half of 32-bit C, 32 columns each), so that the next one's
 * arithmetic waits for no link. Where lanes copy
 * staging tiles, there are three blocks, and one staging tile holds all of a tile: the longer a row, the less of it is
 * at its ragged ends, and the fewer packets of a link it takes.
 */
enum {
    IRISI_GEMM_SM90A_M = 128,
    IRISI_GEMM_SM90A_N = 256,
    IRISI_GEMM_SM90A_DEPTH = 128, /* bytes of K in a block */
    IRISI_GEMM_SM90A_A_BYTES = IRISI_GEMM_SM90A_M * IRISI_GEMM_SM90A_DEPTH,
    IRISI_GEMM_SM90A_RUN = 64 * IRISI_GEMM_SM90A_DEPTH, /* 64 columns of B: a box, and what narrow tiles are cut to */
    IRISI_GEMM_SM90A_BLOCK = IRISI_GEMM_SM90A_A_BYTES + IRISI_GEMM_SM90A_N / 64 * IRISI_GEMM_SM90A_RUN,
    IRISI_GEMM_SM90A_HEAD = 1024 - IRISI_GEMM_COUNTERS, /* barriers; blocks start at multiples of 1024 */
    IRISI_GEMM_SM90A_AHEAD = 64 << 10, /* bytes of B that a workgroup asks for before its kernel may begin */
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
    IRISI_GEMM_UNALIGNED_B_WAVES = 3, /* that fetch them, a block each: the last one may notify, or communicate */
    IRISI_GEMM_LANES_SM90A_UNALIGNED_B = IRISI_GEMM_LANES_SM90A,
    IRISI_GEMM_LANES_WITH_COMM_SM90A_UNALIGNED_B = IRISI_GEMM_LANES_WITH_COMM_SM90A
};

/* 1 for the loops on a ring of blocks, for which TMA loads A. */
IRIS_HOST_DEVICE int irisi_gemm_is_sm90a(uint32_t mainloop)
{
    return mainloop == IRISI_GEMM_SM90A || mainloop == IRISI_GEMM_SM90A_UNALIGNED_B;
}

/* Rows of A in a block: no more than the problem has, in steps of a warpgroup's. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_a_rows(const iris_gemm_plan *plan)
{
    return plan->m > 64 ? (uint32_t)IRISI_GEMM_SM90A_M : (uint32_t)IRISI_GEMM_SM90A_M / 2;
}

/*
 * Rows of A that are fetched for a tile of so many: whole groups of 8, over which they are swizzled. Rows that A
 * does not have are not fetched, because the copy engine fills them in slowly; the products of what stands in their
 * place are never written. 0 for a tile that a pair lacks.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_a_box(uint32_t rows) { return (rows + 7) / 8 * 8; }

static inline uint32_t irisi_gemm_xcds(const char *arch, uint32_t units) { return (void)arch, (void)units, 1; }

/* A tensor map's rows are less than 2^40 bytes apart. */
#define IRISI_GEMM_MOST_PITCH (((uint64_t)1 << 40) - 16)

/* Bytes up to which tiles go as LL packets: host/gemm_ll.h. */
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

/* The other loop's: all of a tile is staged at once, in plain rows; the ring has what is left. */
static inline irisi_gemm_shape irisi_gemm_unaligned_b_shape(const irisi_gemm_problem *p)
{
    irisi_gemm_shape s = irisi_gemm_sm90a(p);
    s.mainloop = IRISI_GEMM_SM90A_UNALIGNED_B;
    s.tile_n = s.stage_n = p->tile_n ? p->tile_n : (uint32_t)IRISI_GEMM_UNALIGNED_B_N;
    s.tma_store = s.window = 0, s.slots = s.slots_with_comm = 1;
    s.workspace_bytes = s.workspace_bytes_with_comm = IRISI_GEMM_SM90A_HEAD + 4 * IRISI_GEMM_SM90A_BLOCK;
    return s;
}

/* What a position of a plan whose K is cut leaves behind: a tile's sums; and the bytes of one that is not there. */
enum { IRISI_GEMM_PARTIAL_BYTES = 4 * IRISI_GEMM_SM90A_M * IRISI_GEMM_SM90A_N, IRISI_GEMM_PARTIAL_BYTE = 0xff };

/*
 * 1 when workgroups that only send do it by the copy engine. C in 32 bits takes twice as many boxes: the ring of a
 * tma_forward.h holds too few tiles for it, and lanes send.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_tma_forwards(const iris_gemm_plan *plan)
{
    return plan->machine.tma_store && plan->operands.c_element == 2;
}

/*
 * 1 when pairs compute parts of their full tiles together, side by side, a half of K of both each: products are as wide
 * as of a whole tile, and a part takes half as long. Both warpgroups must have rows (irisi_gemm_a_rows): one without is
 * not there to give its sums away. Sums of i8 are not added up. With a K below 4096 bytes, by estimate, the sums' way
 * from one to the other takes longer than is spared.
 */
static inline uint32_t irisi_gemm_can_pair_split_k(const iris_gemm_plan *plan)
{
    return irisi_gemm_a_rows(plan) == IRISI_GEMM_SM90A_M && plan->operands.dtype != IRIS_I8 &&
           (uint64_t)plan->k * plan->operands.element >= 4096;
}

/*
 * What runtime/gemm/tile_search.h asks; k counts 16-bit elements, or as many bytes of others. From H200s: 64 of K take
 * a tile of 256 columns 0.64 us, as long as its products, its way into C 1.7 us, with a flag 4; a workgroup that only
 * sends needs 0.035 ns to fetch a byte by the copy engine while others compute, and 0.016 to put it to each peer (36
 * GB/s for three, 47 alone, which would have the model choose too few senders), 24 GB/s by lanes; memory gives 4.2 TB/s
 * after 0.7 us. Narrower tiles take longer than their products, for what is between them and what they fetch; where
 * there are up to 64 rows it is what they fetch alone, up to 256 the clock is higher. A pair of workgroups reads B from
 * it once. What goes by senders arrives 5 us later than what workgroups send themselves: a flag, a fetch, a signal at
 * the end. The senders' numbers, and those of parts that pairs compute together, fit the rows of
 * bench/results/gemm_tune, the way of the sums up to 256 rows those of bench/results/gemm_local.
 */
#define IRISI_GEMM_HAS_WIDTHS 1
static inline uint32_t irisi_gemm_narrowest(uint32_t mainloop) { return irisi_gemm_is_sm90a(mainloop) ? 64 : 0; }
static inline uint32_t irisi_gemm_most_cluster(uint32_t mainloop) { return mainloop == IRISI_GEMM_SM90A ? 2 : 1; }
static inline uint32_t irisi_gemm_most_split_k(uint32_t mainloop) { return irisi_gemm_is_sm90a(mainloop) ? 8 : 1; }
static inline double irisi_gemm_tile_us(uint32_t mainloop, uint32_t cluster, uint32_t split_k, uint32_t rows,
                                        uint32_t columns, uint32_t k, int flagged)
{
    static const double blocks[3][4] = {
        {0.29, 0.36, 0.51, 0.64}, {0.23, 0.32, 0.45, 0.57}, {0.19, 0.215, 0.265, 0.36}}; /* by width; of fewer rows */
    const double few = columns / 128.0 * (0.8 + 0.005 * (rows < 128 ? rows : 128));
    const double many = columns > 192 ? 8 : columns > 128 ? 5 : columns > 64 ? 1.3 : 0.64;
    const double begun = rows <= 128 ? 0.4 : rows <= 256 ? 0.7 : 1.2;
    const double joined = split_k > 1 ? begun + (split_k - 1) * (rows <= 256 ? few : many) : 0;
    const double block = blocks[(rows <= 256) + (rows <= 64)][columns > 192 ? 3 : columns > 128 ? 2 : columns > 64];
    (void)mainloop;
    return (flagged ? 4 : 1.7) * (0.5 + columns / 512.0) + joined +
           (cluster > 1 ? 1 : 1.04) * block * ((double)k / split_k / 64);
}
/* A part that a pair computes together: half of one twice as wide, of which nothing is shared, and the sums' way. */
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
 * What the model of whole tiles computes with, for the loops whose tiles are not cut. Estimates: peaks,
 * multiprocessors, memory and NVLink of NVIDIA's data sheet of the A100, of which 0.6 and 0.8 are taken; other devices
 * count as if they were as fast for each multiprocessor. A small tile takes a quarter of a large one's time
 * (mma_shape.h). A workgroup that sends by lanes moves 12 GB/s on an H200; NVLink is two thirds as fast on an A100, so
 * 8. The plain loop reaches 25 TFLOP/s on an H200, 0.37 of the peak; of a B that is n x k only 6.
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
    r.link_gbps = r.links_gbps = 0.8 * 300; /* one peer may have all of it */
    r.sender_gbps = 8;
    r.memory_gbps = 2039;
    return r;
}

#define IRISI_GEMM_HAS_IMAGES 1
/* Warpgroup products are in images for sm_90a, and in no others that Hopper runs. */
static inline irisi_gemm_image irisi_gemm_image_of(const char *arch, uint32_t dtype, uint32_t tf32)
{
    const int hopper = strcmp(arch, "sm_90") == 0 && (dtype != IRIS_F32 || tf32);
    irisi_gemm_image image;
    image.mainloop = hopper ? IRISI_GEMM_SM90A : IRISI_GEMM_PLAIN;
    image.option = hopper ? "-gencode=arch=compute_90a,code=sm_90a" : "";
    return image;
}

/*
 * The mainloop for a problem, and its shape. The copy engine takes rows and boxes at multiples of 16 bytes only.
 * Products of f32 cut it to tf32, and i32 is written as it was summed up.
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
