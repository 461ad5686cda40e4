/* SPDX-License-Identifier: MIT */
/*
 * mma_layout.h (nvidia): which element of a tile stands where in the loop around mma.sync: in workgroup-shared memory,
 * in a warp's operands, in its accumulators. Arithmetic only: the host's model of the instructions checks it.
 *
 *   irisi_mma_shape irisi_mma_shape_of irisi_mma_is_small irisi_mma_tile_m irisi_mma_tile_n irisi_mma_slab_bytes
 *   irisi_mma_place irisi_mma_share irisi_mma_share_of irisi_mma_loads_{a,b}        from the matrices to shared memory
 *   irisi_mma_first_{a,b,b_n_major}{,_32,_64} irisi_mma_at_*                        from there to operands
 *   irisi_mma_row irisi_mma_column irisi_mma_block irisi_mma_piece                  from accumulators to the tile
 *
 * Eight waves, two down and four across, compute a tile. A wave's part is blocks of 16 x 8, whose rows and columns
 * alternate with the other waves', so that every 64 x 64 of the tile have four blocks of each wave: a piece to stage.
 *
 * A slab is 64 bytes of K of a tile's rows of A and columns of B, in chunks of 16 bytes, A first; a step is half a
 * slab, for 4-byte elements a quarter. A line is a row of A or a column of B, 64 bytes of K each; where B is k x n
 * (n_major), a line of B runs along N.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_MMA_LAYOUT_H
#define IRIS_MAINLOOP_NVIDIA_MMA_LAYOUT_H

#include <iris/arch/select.h>

enum {
    IRISI_MMA_WAVES_M = 2,
    IRISI_MMA_WAVES = 8,
    IRISI_MMA_LANES = 256,
    IRISI_MMA_DEPTH = 64,   /* bytes of K in a slab */
    IRISI_MMA_STAGE = 64,   /* rows and columns of a piece */
    IRISI_MMA_ACCS = 128,   /* accumulators of a lane, at most; and those of a piece */
    IRISI_MMA_ACCS_OF_PIECE = 16
};

/* How many blocks of 16 x 8 a wave has, and the elements that they are products of. */
typedef struct irisi_mma_shape {
    uint32_t blocks_m, blocks_n;
    uint32_t bytes; /* of an element of A and B */
    int ahead;      /* 1: a step's operands are read while the step before is multiplied; 0: registers are too few */
} irisi_mma_shape;

/*
 * Tiles are 128 x 256, small ones 64 x 64. Large tiles of 8-byte elements are 64 x 128, because their accumulators take
 * twice the registers, those of 4-byte elements 128 x 128, because their operands do. Beside communication waves, where
 * a lane has 168 registers instead of 255, a large tile is computed in passes of 64 rows.
 */
IRIS_HOST_DEVICE irisi_mma_shape irisi_mma_shape_of(uint32_t bytes, int small, int with_comm)
{
    irisi_mma_shape s;
    s.blocks_m = bytes == 8 || small || with_comm ? 2 : 4;
    s.blocks_n = bytes == 8 ? 4 : small ? 2 : bytes == 4 ? 4 : 8;
    s.bytes = bytes;
    s.ahead = !with_comm;
    return s;
}

IRIS_HOST_DEVICE uint32_t irisi_mma_tile_m(irisi_mma_shape s) { return 32 * s.blocks_m; }
IRIS_HOST_DEVICE uint32_t irisi_mma_tile_n(irisi_mma_shape s) { return 32 * s.blocks_n; }

/* 1 when tiles of a plan are of the small shape. */
IRIS_HOST_DEVICE int irisi_mma_is_small(uint32_t bytes, uint32_t tile_m, uint32_t tile_n)
{
    return bytes < 8 && tile_m <= 64 && tile_n <= 64;
}

IRIS_HOST_DEVICE uint32_t irisi_mma_slab_bytes(irisi_mma_shape s)
{
    return (irisi_mma_tile_m(s) + irisi_mma_tile_n(s)) * IRISI_MMA_DEPTH;
}

/* Bytes of a line. */
IRIS_HOST_DEVICE uint32_t irisi_mma_pitch(irisi_mma_shape s, int n_major)
{
    return n_major ? irisi_mma_tile_n(s) * s.bytes : (uint32_t)IRISI_MMA_DEPTH;
}

/*
 * Where a chunk stands in its matrix's part of a slab. Chunks are permuted within 64 bytes of a line, or within 128
 * where lines run along N, so that what a warp reads at a time is in different banks: one chunk of each of 8 lines
 * (ldmatrix), or two of each of 4 lines (8-byte elements).
 */
IRIS_HOST_DEVICE uint32_t irisi_mma_place(irisi_mma_shape s, int n_major, uint32_t line, uint32_t chunk)
{
    const uint32_t swap = n_major ? line % 4 * 2 + line / 4 % 2 : line / 2 % 2 * 2 + line / 4 % 2;
    return line * irisi_mma_pitch(s, n_major) + (chunk ^ swap) * 16;
}

/* What a lane moves of a matrix: chunk `chunk` of the lines `line` + j * `next`. */
typedef struct irisi_mma_share {
    uint32_t line, chunk, next;
} irisi_mma_share;

IRIS_HOST_DEVICE irisi_mma_share irisi_mma_share_of(irisi_mma_shape s, int n_major, uint32_t member)
{
    const uint32_t chunks = irisi_mma_pitch(s, n_major) / 16; /* of a line */
    irisi_mma_share share;
    share.line = member / chunks;
    share.chunk = member % chunks;
    share.next = IRISI_MMA_LANES / chunks;
    return share;
}

/* How many chunks of a slab's A and B a lane moves. */
IRIS_HOST_DEVICE uint32_t irisi_mma_loads_a(irisi_mma_shape s) { return irisi_mma_tile_m(s) / 64; }
IRIS_HOST_DEVICE uint32_t irisi_mma_loads_b(irisi_mma_shape s) { return irisi_mma_tile_n(s) / 64; }

/* The first of the wave's 16 rows among every 32, and of its 8 columns among every 32. */
IRIS_HOST_DEVICE uint32_t irisi_mma_wave_row(uint32_t wave) { return wave % IRISI_MMA_WAVES_M * 16; }
IRIS_HOST_DEVICE uint32_t irisi_mma_wave_column(uint32_t wave) { return wave / IRISI_MMA_WAVES_M * 8; }

/* The tile's row (below: column) of a lane's accumulator e (0 .. 3) in row (column) `block` of its wave's blocks. */
IRIS_HOST_DEVICE uint32_t irisi_mma_row(uint32_t wave, uint32_t lane, uint32_t block, uint32_t e)
{
    return 32 * block + irisi_mma_wave_row(wave) + lane / 4 + e / 2 * 8;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_column(uint32_t wave, uint32_t lane, uint32_t block, uint32_t e)
{
    return 32 * block + irisi_mma_wave_column(wave) + lane % 4 * 2 + e % 2;
}

/* The number of the block in row m, column n of a lane's blocks: blocks of one piece follow each other. */
IRIS_HOST_DEVICE uint32_t irisi_mma_block(irisi_mma_shape s, uint32_t m, uint32_t n)
{
    return (m / 2 * s.blocks_n + n) * 2 + m % 2;
}

/* The number of the piece whose first row and column are `top` and `left` of the tile. */
IRIS_HOST_DEVICE uint32_t irisi_mma_piece(irisi_mma_shape s, uint32_t top, uint32_t left)
{
    return top / IRISI_MMA_STAGE * (s.blocks_n / 2) + left / IRISI_MMA_STAGE;
}

/*
 * Addresses for ldmatrix. irisi_mma_first_*: the chunk that a lane points to for the first block of A, or the first two
 * of B, in a slab's first step; irisi_mma_at_*: the same in other blocks and steps. A's four matrices are rows 0 .. 7
 * and 8 .. 15 of the step's first chunk, then of its second. B's are the step's two chunks of one block of columns,
 * then of the next block.
 */
IRIS_HOST_DEVICE uint32_t irisi_mma_first_a(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_row(wave) + lane % 16, lane / 16);
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_column(wave) + lane / 16 * 32 + lane % 8, lane / 8 % 2);
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b_n_major(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 1, lane % 16, lane / 16 * 4 + irisi_mma_wave_column(wave) / 8);
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_a(uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 32 * step) + 32 * IRISI_MMA_DEPTH * block;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_b(uint32_t first, uint32_t step, uint32_t pair)
{
    return (first ^ 32 * step) + 64 * IRISI_MMA_DEPTH * pair;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_b_n_major(irisi_mma_shape s, uint32_t first, uint32_t step, uint32_t pair)
{
    return first + 16 * irisi_mma_pitch(s, 1) * step + 128 * pair;
}

/*
 * The same for elements of 4 bytes, which lanes multiply without a matrix instruction: a lane reads four k of row lane
 * / 4 of A and of the row 8 lines further on, and of column lane % 4 * 2 of B and of the next one. Where lines of B run
 * along N it reads two columns of each of four lines (`i`).
 */
IRIS_HOST_DEVICE uint32_t irisi_mma_first_a_32(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_row(wave) + lane / 4, 0);
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b_32(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_column(wave) + lane % 4 * 2, 0);
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b_32_n_major(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 1, 0, irisi_mma_wave_column(wave) / 4 + lane % 4 / 2) + lane % 2 * 8;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_32(uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 16 * step) + 32 * IRISI_MMA_DEPTH * block;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_b_32_n_major(irisi_mma_shape s, uint32_t first, uint32_t step, uint32_t block,
                                                    uint32_t i)
{
    return (first ^ 16 * (2 * i + step % 2)) + (4 * step + i) * irisi_mma_pitch(s, 1) + 128 * block;
}

/*
 * The same for elements of 8 bytes, which lanes read one by one: row lane / 4 and k lane % 4 of A, and the row 8 lines
 * further on; k lane % 4 and column lane / 4 of B.
 */
IRIS_HOST_DEVICE uint32_t irisi_mma_first_a_64(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_row(wave) + lane / 4, lane % 4 / 2) + lane % 2 * 8;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b_64(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 0, irisi_mma_wave_column(wave) + lane / 4, lane % 4 / 2) + lane % 2 * 8;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_first_b_64_n_major(irisi_mma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mma_place(s, 1, lane % 4, irisi_mma_wave_column(wave) / 2 + lane / 8) + lane / 4 % 2 * 8;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_b_64(uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 32 * step) + 32 * IRISI_MMA_DEPTH * block;
}
IRIS_HOST_DEVICE uint32_t irisi_mma_at_b_64_n_major(irisi_mma_shape s, uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 16 * step) + 4 * irisi_mma_pitch(s, 1) * step + 256 * block;
}

#endif
