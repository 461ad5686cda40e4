/* SPDX-License-Identifier: MIT */
/*
 * mfma_layout.h (amd): which element of a tile stands where: in workgroup-shared memory (LDS), in the operands of a
 * matrix instruction, in its accumulators. Arithmetic only: the host's model of the instructions checks it.
 *
 *   irisi_mfma_shape irisi_mfma_whole irisi_mfma_tile_m irisi_mfma_tile_n irisi_mfma_band irisi_mfma_stage_n
 *   irisi_mfma_slab_bytes
 *   irisi_mfma_row irisi_mfma_column
 *   irisi_mfma_swizzle irisi_mfma_chunk irisi_mfma_chunk_{a,bt,b}
 *   irisi_mfma_share irisi_mfma_share_{a,bt,b} irisi_mfma_loads_{a,b}              from the matrices to LDS
 *   irisi_mfma_reach irisi_mfma_offset irisi_mfma_place irisi_mfma_kept
 *   irisi_mfma_at irisi_mfma_first_{m,n} irisi_mfma_at_{m,n,pair} irisi_mfma_pair  from LDS to operands
 *   irisi_mfma_acc_row irisi_mfma_piece_{block,acc,row,column}                     from accumulators to the tile
 *
 * Blocks are 32 x 32. The instruction computes the transpose of a block of C: its first operand, whose index is the
 * accumulator's row, is B's column, so that one lane's accumulators are neighbours in a row of C.
 *
 * A slab is `depth` bytes of K of a tile's rows of A and columns of B; it stands in LDS in chunks of 16 bytes, A first.
 * A step is 32 bytes of K: lanes 0..31 hold its first 16 bytes, lanes 32..63 its last. Which k a place in an operand
 * stands for is free as long as both operands agree, so instructions that are less deep take the chunk in pieces.
 */
#ifndef IRIS_MAINLOOP_AMD_MFMA_LAYOUT_H
#define IRIS_MAINLOOP_AMD_MFMA_LAYOUT_H

#include <iris/arch/select.h>

/* How a mainloop's math waves share a tile: each has blocks_m x 2 blocks. */
typedef struct irisi_mfma_shape {
    uint32_t waves_m, waves_n, blocks_m;
    uint32_t depth;   /* bytes of K in a slab: 32, 64 or 128 */
    uint32_t element; /* bytes of an element of A and B: 1, 2 or 4 */
} irisi_mfma_shape;

/* Elements of K in a slab. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_whole(irisi_mfma_shape s) { return s.depth / s.element; }

IRIS_HOST_DEVICE uint32_t irisi_mfma_tile_m(irisi_mfma_shape s) { return 32 * s.waves_m * s.blocks_m; }
IRIS_HOST_DEVICE uint32_t irisi_mfma_tile_n(irisi_mfma_shape s) { return 64 * s.waves_n; }

/* Rows and columns of a part of the tile in which every wave has 32 rows and 32 columns. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_band(irisi_mfma_shape s) { return 32 * s.waves_m; }
IRIS_HOST_DEVICE uint32_t irisi_mfma_stage_n(irisi_mfma_shape s) { return 32 * s.waves_n; }
IRIS_HOST_DEVICE uint32_t irisi_mfma_slab_bytes(irisi_mfma_shape s)
{
    return (irisi_mfma_tile_m(s) + irisi_mfma_tile_n(s)) * s.depth;
}

/* The tile's row of a wave's block of rows, line i of the block. A band has a block of every wave. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_row(irisi_mfma_shape s, uint32_t wave_m, uint32_t block, uint32_t i)
{
    return (block * s.waves_m + wave_m) * 32 + i;
}

/*
 * The tile's column of a wave's block of columns (0 or 1), line i of the block. Columns alternate between the two
 * blocks, so that a word of two 16-bit columns feeds both; lines 0..15 are in the left half of the tile, the others in
 * its right half, so that either half has columns of all waves.
 */
IRIS_HOST_DEVICE uint32_t irisi_mfma_column(irisi_mfma_shape s, uint32_t wave_n, uint32_t block, uint32_t i)
{
    return (i / 16 * s.waves_n + wave_n) * 32 + i % 16 * 2 + block;
}

/* Accumulator e of a lane is line i of the block of columns; the lane's line of the block of rows is lane % 32. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_acc_row(uint32_t lane, uint32_t e) { return e / 4 * 8 + lane / 32 * 4 + e % 4; }

/*
 * Rows of a slab stand one after the other; within a row, chunk c stands at c ^ swizzle(row). LDS serves 16 bytes to
 * 8 lanes at a time (gfx950: to 16): neighbours when writing, and when reading lanes 4i..4i+3 with four others that
 * are 8, 16 or 20 lanes on. The swizzle gives each such set of rows different banks.
 */
IRIS_HOST_DEVICE uint32_t irisi_mfma_swizzle(uint32_t depth, uint32_t row)
{
    const uint32_t r1 = row >> 1, r2 = row >> 2, r3 = row >> 3;
    if (depth == 32)
        return r2 & 1;
    if (depth == 64)
        return r1 & 3;
    return (r1 & 1) | ((r2 ^ r3) & 1) << 1 | ((row ^ r3) & 1) << 2;
}

/* A chunk's place in a matrix: its row there, and its number within the row. */
typedef struct irisi_mfma_chunk {
    uint32_t row, chunk;
} irisi_mfma_chunk;

/* Chunk `index` of A's part of a slab: row of the tile, chunk of the slab's K. */
IRIS_HOST_DEVICE irisi_mfma_chunk irisi_mfma_chunk_a(irisi_mfma_shape s, uint32_t index)
{
    const uint32_t chunks = s.depth / 16;
    irisi_mfma_chunk c;
    c.row = index / chunks;
    c.chunk = index % chunks ^ irisi_mfma_swizzle(s.depth, c.row);
    return c;
}

/* Chunk `index` of a transposed B's part: column of the tile, chunk of the slab's K. A wave's columns are together. */
IRIS_HOST_DEVICE irisi_mfma_chunk irisi_mfma_chunk_bt(irisi_mfma_shape s, uint32_t index)
{
    irisi_mfma_chunk c = irisi_mfma_chunk_a(s, index);
    c.row = irisi_mfma_column(s, c.row / 64, c.row / 32 % 2, c.row % 32);
    return c;
}

/*
 * Chunk `index` of B's part, 16-bit elements: row of the slab's K, chunk of the tile's columns. A row holds each
 * wave's 64 columns together; rows whose numbers differ in bit 3, which the two halves of a wave read at once, differ
 * in which 128 bytes they start with.
 */
IRIS_HOST_DEVICE irisi_mfma_chunk irisi_mfma_chunk_b(irisi_mfma_shape s, uint32_t index)
{
    const uint32_t k = index / (8 * s.waves_n);
    const uint32_t place = index % (8 * s.waves_n) ^ (k & 8);
    irisi_mfma_chunk c;
    c.row = k;
    c.chunk = (place / 4 % 2 * s.waves_n + place / 8) * 4 + place % 4;
    return c;
}

/*
 * What a lane of the math waves moves of one matrix: chunk j, of line `line` + j * `next`. A line is a row of K, or,
 * where B is n_major, the tile's columns of one k. Offsets are from the tile's first line in the slab.
 */
enum { IRISI_MFMA_WAVES = 8, IRISI_MFMA_LANES = 512 };

typedef struct irisi_mfma_share {
    uint32_t line, next, last; /* last: the last line inside; n_major: unused */
    uint32_t pitch, deep;      /* bytes from line to line, and into it */
    uint32_t place;            /* of chunk 0, within the matrix's part of a slab */
    uint32_t element;          /* bytes of one */
} irisi_mfma_share;

/* Chunks of a slab's A or B, `lines` rows or columns, that a lane moves. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_loads(irisi_mfma_shape s, uint32_t lines)
{
    const uint32_t chunks = lines * s.depth / 16;
    return chunks > IRISI_MFMA_LANES ? chunks / IRISI_MFMA_LANES : 1;
}
IRIS_HOST_DEVICE uint32_t irisi_mfma_loads_a(irisi_mfma_shape s) { return irisi_mfma_loads(s, irisi_mfma_tile_m(s)); }
IRIS_HOST_DEVICE uint32_t irisi_mfma_loads_b(irisi_mfma_shape s) { return irisi_mfma_loads(s, irisi_mfma_tile_n(s)); }

/* A lane's share of A; `count`: rows inside. Where there are fewer chunks than lanes, several lanes move the same. */
IRIS_HOST_DEVICE irisi_mfma_share irisi_mfma_share_a(irisi_mfma_shape s, uint32_t member, uint64_t ld, uint32_t count)
{
    const uint32_t index = member % (irisi_mfma_tile_m(s) * s.depth / 16);
    const irisi_mfma_chunk c = irisi_mfma_chunk_a(s, index);
    irisi_mfma_share share;
    share.line = c.row, share.next = IRISI_MFMA_LANES / (s.depth / 16), share.last = count - 1;
    share.pitch = (uint32_t)ld * s.element, share.deep = 16 * c.chunk, share.place = 16 * index;
    share.element = s.element;
    return share;
}

/* A lane's share of a transposed B; `count`: columns inside. */
IRIS_HOST_DEVICE irisi_mfma_share irisi_mfma_share_bt(irisi_mfma_shape s, uint32_t member, uint64_t ld, uint32_t count)
{
    const uint32_t index = member % (irisi_mfma_tile_n(s) * s.depth / 16);
    const irisi_mfma_chunk c = irisi_mfma_chunk_bt(s, index);
    irisi_mfma_share share;
    share.line = c.row, share.next = IRISI_MFMA_LANES / (s.depth / 16) / 2, share.last = count - 1;
    share.pitch = (uint32_t)ld * s.element, share.deep = 16 * c.chunk, share.place = 16 * index;
    share.element = s.element;
    return share;
}

/* A lane's share of a B that is n_major; 16-bit elements. */
IRIS_HOST_DEVICE irisi_mfma_share irisi_mfma_share_b(irisi_mfma_shape s, uint32_t member, uint64_t ld, uint32_t count)
{
    const uint32_t index = member % (irisi_mfma_tile_n(s) * s.depth / 16), last = (count - 1) / 8;
    const irisi_mfma_chunk c = irisi_mfma_chunk_b(s, index);
    irisi_mfma_share share;
    share.line = c.row, share.next = IRISI_MFMA_LANES / (8 * s.waves_n), share.last = 0;
    share.pitch = (uint32_t)ld * 2, share.deep = 16 * (c.chunk < last ? c.chunk : last), share.place = 16 * index;
    share.element = 2;
    return share;
}

/* Elements of K in a slab before chunk j. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_reach(const irisi_mfma_share *s, uint32_t j, int n_major)
{
    return n_major ? s->line + j * s->next : s->deep / s->element;
}

/* Offset of chunk j in a slab with `left` elements of K: chunks beyond them read the slab's first instead. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_offset(const irisi_mfma_share *s, uint32_t j, uint32_t left, int n_major)
{
    const uint32_t line = s->line + j * s->next;
    if (n_major)
        return s->deep + (line < left ? line : 0) * s->pitch;
    return (line < s->last ? line : s->last) * s->pitch + (s->deep / s->element < left ? s->deep : 0);
}

/* Where chunk j goes, within the matrix's part of a slab. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_place(const irisi_mfma_share *s, uint32_t j)
{
    return s->place + j * 16 * IRISI_MFMA_LANES;
}

/* The bits of word `word` of chunk j that count in a slab with `left` elements of K; others become 0. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_kept(const irisi_mfma_share *s, uint32_t j, uint32_t left, int n_major,
                                          int32_t word)
{
    const int32_t inside = (int32_t)left - (int32_t)irisi_mfma_reach(s, j, n_major);
    const int32_t bytes = inside * (n_major ? 16 : (int32_t)s->element) - 4 * word;
    const uint32_t within = bytes < 0 ? 0 : bytes > 4 ? 4 : (uint32_t)bytes;
    return (uint32_t)(((uint64_t)1 << 8 * within) - 1);
}

/* Where a line of A's part, or of a transposed B's, has a chunk; in bytes. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_at(uint32_t depth, uint32_t line, uint32_t chunk)
{
    return line * depth + (chunk ^ irisi_mfma_swizzle(depth, line)) * 16;
}

/*
 * Where a lane's operands of a slab's first step stand: of rows, in A's part, and of columns, in B's. A B that is
 * n_major has words of two columns, of which the lane needs 8 rows of K.
 */
IRIS_HOST_DEVICE uint32_t irisi_mfma_first_m(irisi_mfma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mfma_row(s, wave / s.waves_n, 0, 0) * s.depth + irisi_mfma_at(s.depth, lane % 32, lane / 32);
}
IRIS_HOST_DEVICE uint32_t irisi_mfma_first_n(irisi_mfma_shape s, uint32_t wave, uint32_t lane, int n_major)
{
    const uint32_t wave_n = wave % s.waves_n;
    if (n_major)
        return 8 * (lane / 32) * (128 * s.waves_n) + ((wave_n * 128 + lane % 32 * 4) ^ lane / 32 * 128);
    return wave_n * 64 * s.depth + irisi_mfma_at(s.depth, lane % 32, lane / 32);
}

/* The same in another step and block, or in another step and row of K. The swizzle repeats every 32 lines. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_at_m(irisi_mfma_shape s, uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 32 * step) + irisi_mfma_row(s, 0, block, 0) * s.depth;
}
IRIS_HOST_DEVICE uint32_t irisi_mfma_at_n(irisi_mfma_shape s, uint32_t first, uint32_t step, uint32_t block)
{
    return (first ^ 32 * step) + block * 32 * s.depth;
}
IRIS_HOST_DEVICE uint32_t irisi_mfma_at_pair(irisi_mfma_shape s, uint32_t first, uint32_t step, uint32_t k)
{
    return first + (16 * step + k) * (128 * s.waves_n);
}

/* From two words, each of which holds columns 0 and 1 of a row of K: one column of both rows. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_pair(uint32_t first, uint32_t second, uint32_t column)
{
    return column ? first >> 16 | (second & 0xffff0000u) : (first & 0xffffu) | second << 16;
}

/* For the i-th of the 16 accumulators that a lane has of a piece: its block of columns, and its number there. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_piece_block(uint32_t i) { return i % 2; }
IRIS_HOST_DEVICE uint32_t irisi_mfma_piece_acc(uint32_t right, uint32_t i) { return right * 8 + i / 8 * 4 + i % 8 / 2; }

/* The 16 are in one row of the piece, the first 8 from one column on, the others 16 columns to the right. */
IRIS_HOST_DEVICE uint32_t irisi_mfma_piece_row(irisi_mfma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mfma_row(s, wave / s.waves_n, 0, lane % 32);
}
IRIS_HOST_DEVICE uint32_t irisi_mfma_piece_column(irisi_mfma_shape s, uint32_t wave, uint32_t lane)
{
    return irisi_mfma_column(s, wave % s.waves_n, 0, irisi_mfma_acc_row(lane, 0));
}

#endif
