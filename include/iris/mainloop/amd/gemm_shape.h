/* SPDX-License-Identifier: MIT */
/*
 * gemm_shape.h (amd): mainloops, tile sizes and shared memory.
 *
 *   irisi_mfma_loop irisi_mfma_loop_of                       the matrix loops
 *   irisi_gemm_xcds irisi_gemm_largest_tile irisi_gemm_pick irisi_gemm_pass_m
 *   irisi_gemm_sheet irisi_gemm_sheet_of irisi_mfma_tile_us irisi_gemm_rates_of
 *
 * Shared memory is 64 KB, on gfx950 160 KB. The plain loop's kernels with two staging tiles stay within 64 KB; so do
 * those of a matrix loop, which stage a piece of 64 x 128 or 64 x 64 at a time, of f32 half as many rows. Two waves on
 * a SIMD can have 256 registers a lane, three 168: beside communication waves the large tile is computed in two passes,
 * whose accumulators are half as many.
 */
#ifndef IRIS_MAINLOOP_AMD_GEMM_SHAPE_H
#define IRIS_MAINLOOP_AMD_GEMM_SHAPE_H

#include <string.h>

enum { IRISI_GEMM_WAVE_LANES = 64, IRISI_GEMM_COMM_WAVES = 1 };

#include <iris/mainloop/amd/skinny_shape.h>
#include <iris/mainloop/amd/mfma_layout.h>
#include <iris/mainloop/simt_shape.h>

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1
#define IRISI_GEMM_HAS_MFMA_GFX90A 1
#define IRISI_GEMM_HAS_MFMA_GFX942 1
#define IRISI_GEMM_HAS_MFMA_GFX950 1
#define IRISI_GEMM_HAS_MFMA_GFX90A_SMALL 1
#define IRISI_GEMM_HAS_MFMA_GFX942_SMALL 1
#define IRISI_GEMM_HAS_MFMA_GFX950_SMALL 1
#define IRISI_GEMM_HAS_SKINNY_MFMA 1

/* Lanes of a workgroup of the matrix loops: 8 math waves; 4 communication waves, one for each SIMD. */
enum {
    IRISI_GEMM_MOST_LANES = 512,
    IRISI_GEMM_LANES_GFX90A = 512,
    IRISI_GEMM_LANES_GFX942 = 512,
    IRISI_GEMM_LANES_GFX950 = 512,
    IRISI_GEMM_LANES_GFX90A_SMALL = 512,
    IRISI_GEMM_LANES_GFX942_SMALL = 512,
    IRISI_GEMM_LANES_GFX950_SMALL = 512,
    IRISI_GEMM_LANES_WITH_COMM_GFX90A = 768,
    IRISI_GEMM_LANES_WITH_COMM_GFX942 = 768,
    IRISI_GEMM_LANES_WITH_COMM_GFX950 = 768,
    IRISI_GEMM_LANES_WITH_COMM_GFX90A_SMALL = 768,
    IRISI_GEMM_LANES_WITH_COMM_GFX942_SMALL = 768,
    IRISI_GEMM_LANES_WITH_COMM_GFX950_SMALL = 768
};

/* A matrix loop. */
typedef struct irisi_mfma_loop {
    irisi_mfma_shape shape;
    uint32_t steps; /* of 32 bytes of K, in a phase */
    uint32_t ring;  /* slabs that registers hold on their way to shared memory; a round of the loop */
    uint32_t pair;  /* slabs that are fetched together */
    int direct;     /* 1: slabs go to shared memory without registers */
} irisi_mfma_loop;

/* 1 for the matrix loops of small tiles. */
IRIS_HOST_DEVICE int irisi_mfma_is_small(uint32_t mainloop)
{
    return mainloop == IRISI_GEMM_MFMA_GFX90A_SMALL || mainloop == IRISI_GEMM_MFMA_GFX942_SMALL ||
           mainloop == IRISI_GEMM_MFMA_GFX950_SMALL;
}

/*
 * Mainloop `mainloop`, beside communication waves or not, for elements of so many bytes: tiles of 256 x 256, small ones
 * of 128 x 128 or, where shared memory would not keep up with the matrix units on those, 128 x 256. Where shared memory
 * is small, the large tile's slabs are 32 bytes deep, and registers hold four of them: 128 bytes of K.
 */
IRIS_HOST_DEVICE irisi_mfma_loop irisi_mfma_loop_of(uint32_t mainloop, int with_comm, uint32_t element)
{
    const int small = irisi_mfma_is_small(mainloop);
    const int roomy = mainloop == IRISI_GEMM_MFMA_GFX950 || mainloop == IRISI_GEMM_MFMA_GFX950_SMALL;
    irisi_mfma_loop loop;
    loop.shape.waves_m = small && !roomy ? 4 : 2;
    loop.shape.waves_n = small && !roomy ? 2 : 4;
    loop.shape.blocks_m = small && !roomy ? 1 : small || with_comm ? 2 : 4;
    loop.shape.depth = roomy ? 128 : small ? 64 : 32;
    loop.shape.element = element;
    loop.steps = loop.shape.depth == 32 ? 1 : 2;
    loop.ring = loop.shape.depth == 32 ? 4 : 2;
    loop.pair = loop.shape.depth == 32 ? 2 : 1;
    loop.direct = roomy;
    return loop;
}

/*
 * MI300 and MI350 deal workgroups to their chiplets in turn: to 8, an MI300A to 6, a part of a divided device to fewer.
 * A chiplet has 38 compute units, on gfx950 32; any other number of units than 1 to 8 times that counts as 8 chiplets.
 */
static inline uint32_t irisi_gemm_xcds(const char *arch, uint32_t units)
{
    const uint32_t each = strncmp(arch, "gfx942", 6) == 0 ? 38 : strncmp(arch, "gfx950", 6) == 0 ? 32 : 0;
    if (each == 0)
        return 1;
    return units == 0 || units % each != 0 || units > 8 * each ? 8 : units / each;
}

/* The largest tile that a mainloop takes. */
static inline irisi_gemm_extent irisi_gemm_largest_tile(uint32_t mainloop, uint32_t element)
{
    const irisi_mfma_shape shape = irisi_mfma_loop_of(mainloop, 0, 2).shape;
    irisi_gemm_extent tile;
    tile.m = irisi_mfma_tile_m(shape);
    tile.n = irisi_mfma_tile_n(shape);
    if (mainloop == IRISI_GEMM_SKINNY_MFMA)
        tile.m = 32, tile.n = 64;
    return mainloop == IRISI_GEMM_PLAIN ? irisi_gemm_plain_tile(element) : tile;
}

#define IRISI_GEMM_HAS_PASSES 1
static inline uint32_t irisi_gemm_pass_m(uint32_t mainloop, uint32_t tile_m)
{
    return mainloop == IRISI_GEMM_PLAIN || mainloop == IRISI_GEMM_SKINNY_MFMA
               ? tile_m
               : irisi_mfma_tile_m(irisi_mfma_loop_of(mainloop, 1, 2).shape);
}

/* A matrix loop's shape: two slabs in shared memory. */
static inline irisi_gemm_shape irisi_mfma_gemm_shape(uint32_t mainloop, const irisi_gemm_problem *p)
{
    const irisi_gemm_extent most = irisi_gemm_largest_tile(mainloop, p->element);
    const uint32_t unit = 16 / p->element; /* columns of a chunk */
    irisi_gemm_shape s;
    s.mainloop = mainloop;
    s.cluster_split_k = 1;
    s.tile_m = p->tile_m ? p->tile_m : most.m;
    s.tile_n = p->tile_n ? (p->tile_n + unit - 1) / unit * unit : most.n; /* tiles of B start where chunks do */
    s.tma_store = s.window = 0;
    s.slots = 1, s.slots_with_comm = 2;
    s.stage_m = p->c_element > 2 ? 32 : 64;
    s.stage_n = irisi_mfma_stage_n(irisi_mfma_loop_of(mainloop, 0, 2).shape);
    s.workspace_bytes = 2 * irisi_mfma_slab_bytes(irisi_mfma_loop_of(mainloop, 0, 2).shape);
    s.workspace_bytes_with_comm = 2 * irisi_mfma_slab_bytes(irisi_mfma_loop_of(mainloop, 1, 2).shape);
    s.math_waves = s.waves = 8;
    s.comm_waves = 4;
    s.waves_with_comm = 12;
    return s;
}

/* Matrix loops reach the 256 rows of a tile by 32-bit offsets. */
#define IRISI_GEMM_MOST_PITCH ((uint64_t)1 << 24)

/*
 * What the model of cost_rounds.h computes with. None of it was measured here: all are estimates. Peaks, compute units,
 * memory and links are those of AMD's data sheets: of MI250X (half of it, which is a device), MI300X and MI355X. What
 * is reached of them is from what others have published. On MI300X a link carries three quarters of its nominal rate,
 * and 32 compute units nearly fill all seven links; the same shares are taken for the others. Matrix loops are taken to
 * reach half of the peak, as good kernels reach slightly more, less in small tiles, which fetch twice as much for each
 * product, and at most 0.8 of that beside other waves. Half an MI250X reaches its seven peers over the equivalent of
 * four links. The plain loop is taken to reach the share of the peak without matrix units that it reaches on an H200. A
 * part of a divided device counts as if all memory and all links were its own. Plans of the plain loop, and of the one
 * for few rows, do not name the device: one of several chiplets counts as an MI300X there.
 */
#define IRISI_GEMM_HAS_RATES 1
typedef struct irisi_gemm_sheet {
    double units_tflops, plain_tflops; /* 16-bit by matrix units; f32 without them (with them twice that) */
    double units, memory_gbps, link_gbps;
} irisi_gemm_sheet;
static inline irisi_gemm_sheet irisi_gemm_sheet_of(uint32_t i)
{
    static const irisi_gemm_sheet sheets[3] = {
        {191.5, 23.9, 110, 1600, 50}, {1307.4, 81.7, 304, 5300, 64}, {2516.6, 78.6, 256, 8000, 76.8}};
    return sheets[i];
}

/* About how long a workgroup computes a tile of a matrix loop, on architecture `i` (irisi_gemm_sheet_of). */
static inline double irisi_mfma_tile_us(uint32_t mainloop, uint32_t i, uint32_t element, uint32_t k)
{
    const irisi_gemm_extent tile = irisi_gemm_largest_tile(mainloop, element);
    const irisi_gemm_sheet sheet = irisi_gemm_sheet_of(i);
    const double units = i == 0 ? sheet.units_tflops : sheet.units_tflops * 2 / element;
    const double peak = element == 4 ? 2 * sheet.plain_tflops : units;
    return 2e-6 * tile.m * tile.n * k / ((irisi_mfma_is_small(mainloop) ? 0.35 : 0.5) * peak / sheet.units);
}

static inline irisi_gemm_rates irisi_gemm_rates_of(const iris_gemm_plan *p)
{
    const int plain = p->mainloop == IRISI_GEMM_PLAIN, skinny = p->mainloop == IRISI_GEMM_SKINNY_MFMA;
    const uint32_t at = plain || skinny ? p->machine.xcds > 1 : (p->mainloop - IRISI_GEMM_MFMA_GFX90A) % 3;
    const irisi_gemm_extent tile = irisi_gemm_plain_tile(p->operands.element);
    const irisi_gemm_sheet sheet = irisi_gemm_sheet_of(at);
    irisi_gemm_rates r;
    const uint32_t which = skinny ? irisi_skinny_which(p->tiling.tile_m, p->tiling.tile_n) : 0;
    if (skinny)
        r.tile_us = irisi_skinny_tile_us(which, p->k, (int)p->operands.b_transposed, 0);
    else if (plain)
        r.tile_us = 2e-6 * tile.m * tile.n * p->k / (0.37 * sheet.plain_tflops / sheet.units);
    else
        r.tile_us = irisi_mfma_tile_us(p->mainloop, at, p->operands.element, p->k);
    r.beside_us = skinny ? irisi_skinny_tile_us(which, p->k, (int)p->operands.b_transposed, 1) : r.tile_us / 0.8;
    r.launch_us = 6, r.signal_us = 3;
    r.link_gbps = 0.75 * sheet.link_gbps, r.links_gbps = (at > 0 ? 7 : 4) * r.link_gbps;
    r.sender_gbps = 7 * r.link_gbps / 32;
    r.memory_gbps = sheet.memory_gbps;
    return r;
}

#define IRISI_GEMM_HAS_IMAGES 1
/* Only images made for the device have matrix loops, not generic ones. */
static inline irisi_gemm_image irisi_gemm_image_of(const char *arch, uint32_t dtype, uint32_t tf32)
{
    static const char *const names[] = {"gfx90a", "gfx942", "gfx950"};
    static const char *const options[] = {"--offload-arch=gfx90a", "--offload-arch=gfx942", "--offload-arch=gfx950"};
    irisi_gemm_image image = {IRISI_GEMM_PLAIN, ""};
    (void)dtype, (void)tf32;
    for (uint32_t i = 0; i < 3; i++)
        if (strncmp(arch, names[i], 6) == 0)
            image.mainloop = IRISI_GEMM_MFMA_GFX90A + i, image.option = options[i];
    return image;
}

/*
 * The mainloop for a problem, and its shape. Matrix loops need aligned operands and, for elements of 8 or 32 bits, a B
 * that is n x k; copies provide both (runtime/gemm/packing.h). Large tiles are taken where there is one for every
 * workgroup, since they need half the loads for their arithmetic; the loop for few rows where it takes less time than
 * small tiles.
 */
static inline irisi_gemm_shape irisi_gemm_pick(const char *arch, const irisi_gemm_problem *p)
{
    const int i = strncmp(arch, "gfx90a", 6) == 0 ? 0 : strncmp(arch, "gfx942", 6) == 0 ? 1 : 2;
    const uint32_t large = IRISI_GEMM_MFMA_GFX90A + (uint32_t)i;
    const uint32_t small = IRISI_GEMM_MFMA_GFX90A_SMALL + (uint32_t)i;
    const uint64_t tiles = (uint64_t)((p->m + 255) / 256) * ((p->n + 255) / 256);
    const int fits = irisi_gemm_fits(p, irisi_gemm_largest_tile(small, p->element));
    if (!p->aligned || (p->c_dtype == IRIS_I32 && !p->no_epilogue)) /* matrix loops have no epilogue for i32 */
        return irisi_gemm_plain(p);
    const double gbps = irisi_gemm_sheet_of((uint32_t)i).memory_gbps;
    const irisi_gemm_extent tile = irisi_gemm_largest_tile(small, p->element);
    const uint64_t lower = (uint64_t)((p->m + tile.m - 1) / tile.m) * ((p->n + tile.n - 1) / tile.n);
    const double rounds = (double)((lower + p->workgroups - 1) / p->workgroups);
    const double others = 1.5 + rounds * irisi_mfma_tile_us(small, (uint32_t)i, p->element, p->k); /* 1.5: into C */
    if (irisi_skinny_takes(p, gbps, others))
        return irisi_skinny_gemm_shape(p, gbps);
    if (irisi_gemm_has(p, small) && fits && (tiles < p->workgroups || p->tile_m || p->tile_n))
        return irisi_mfma_gemm_shape(small, p);
    if (irisi_gemm_has(p, large) && irisi_gemm_fits(p, irisi_gemm_largest_tile(large, p->element)))
        return irisi_mfma_gemm_shape(large, p);
    return irisi_gemm_plain(p);
}

#endif
