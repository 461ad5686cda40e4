/* SPDX-License-Identifier: MIT */
/*
 * sm90a_unaligned_b.h (nvidia): how sm_90a's loop for few rows of C and an unaligned B fetches and reads B.
 *
 *   irisi_gemm_unaligned_b irisi_gemm_unaligned_b_of irisi_gemm_unaligned_b_block  from memory to the ring
 *   irisi_gemm_held irisi_gemm_held_of irisi_gemm_held_take            from there to registers
 *
 * For few rows of C the time is that of reading B from memory, and making an aligned copy first would move B three
 * times. But the copy engine reads at multiples of 16 bytes only, and wgmma reads shared memory in aligned groups of 16
 * bytes. So the 16-byte words that a row of B lies in are copied into the ring as they are (cp.async), and the product
 * is transposed: C's columns are its rows, and B is its first operand, which may come from registers. Lanes read B from
 * the ring and shift it into place there.
 *
 * A line is the part of a row of B in a run of a block: 64 elements of K of one column, or where B is k x n 64 columns
 * of one k. Lines 8 apart start at the same place within 16 bytes, since rows are whole elements of 2 bytes.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_SM90A_UNALIGNED_B_H
#define IRIS_MAINLOOP_NVIDIA_SM90A_UNALIGNED_B_H

#include <iris/mainloop/shape.h>
#include <iris/arch/nvidia/mma_instructions.h>
#include <iris/gemm/scheduler.h>

/* A lane's share of a run of a block: word `word` of every fourth line from `line` on, and two lines' last words. */
typedef struct irisi_gemm_unaligned_b {
    const char *b;             /* the tile's first line of K's first block */
    uint64_t pitch, step, run; /* bytes from line to line, from block to block, from run to run */
    uint32_t line, word;
} irisi_gemm_unaligned_b;

IRIS_DEVICE irisi_gemm_unaligned_b irisi_gemm_unaligned_b_of(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint64_t ldb = irisi_tile_ldb(plan, tile);
    irisi_gemm_unaligned_b lines;
    lines.b = (const char *)irisi_tile_b(plan, tile) + 2 * (plan->operands.b_transposed ? tile->n0 * ldb : tile->n0);
    lines.pitch = 2 * ldb;
    lines.step = plan->operands.b_transposed ? 128 : 64 * lines.pitch;
    lines.run = plan->operands.b_transposed ? 64 * lines.pitch : 128;
    lines.line = iris_lane() / 8, lines.word = iris_lane() % 8;
    return lines;
}

/* How many of the 16 bytes from byte `at` on lie before byte `end`. */
IRIS_DEVICE uint32_t irisi_gemm_unaligned_b_part(uint32_t at, uint32_t end)
{
    return end <= at ? 0 : end - at < 16 ? end - at : 16;
}

/* Begins to copy a part of a word. A copy of no bytes gets the address of `other`'s word, since it must be valid. */
IRIS_DEVICE void irisi_gemm_unaligned_b_copy(uint32_t to, const char *from, uint32_t bytes, const char *other)
{
    irisi_copy_chunk(to, bytes > 0 ? from : other - ((uintptr_t)other & 15), bytes);
}

/*
 * A wave begins to fetch a run, `there` lines of `bytes` bytes, from `from` to shared address `to`. Zeros are written
 * behind the end of K, and nothing behind the end of B is read. `whole`, a constant: neither ends in this run, so that
 * whole words are read. The copies are unrolled, with two addresses in turn: a loop with tests of the ends would take
 * longer than the products of a block.
 */
IRIS_DEVICE void irisi_gemm_unaligned_b_fetch(const irisi_gemm_unaligned_b *lines, const char *from, uint32_t to,
                                              int whole, uint32_t there, uint32_t bytes)
{
    const char *line[2], *last = from + iris_lane() * lines->pitch;
    const uint32_t at = to + lines->line * IRISI_GEMM_LINE + 16 * lines->word;
    const uint32_t last_at = to + iris_lane() * IRISI_GEMM_LINE + 128, last_skew = (uint32_t)(uintptr_t)last & 15;
    uint32_t part[2];
    IRISI_UNROLL
    for (uint32_t i = 0; i < 2; i++) {
        line[i] = from + (lines->line + 4 * i) * lines->pitch;
        const uint32_t skew = (uint32_t)(uintptr_t)line[i] & 15;
        part[i] = irisi_gemm_unaligned_b_part(16 * lines->word, skew + bytes);
        line[i] = line[i] - skew + 16 * lines->word;
    }
    IRISI_UNROLL
    for (uint32_t i = 0; i < 16; i++) {
        if (whole)
            irisi_copy_whole_chunk(at + 4 * i * IRISI_GEMM_LINE, line[i % 2]);
        else
            irisi_gemm_unaligned_b_copy(at + 4 * i * IRISI_GEMM_LINE, line[i % 2],
                                        lines->line + 4 * i < there ? part[i % 2] : 0, from);
        line[i % 2] += 8 * lines->pitch;
    }
    last = last - last_skew + 128;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 64; i += 32, last += 32 * lines->pitch)
        if (!whole)
            irisi_gemm_unaligned_b_copy(
                last_at + i * IRISI_GEMM_LINE, last,
                iris_lane() + i < there ? irisi_gemm_unaligned_b_part(128, last_skew + bytes) : 0, from);
        else if (last_skew > 0)
            irisi_copy_whole_chunk(last_at + i * IRISI_GEMM_LINE, last);
}

/* A wave begins to fetch B's part of the block whose first k is `k`. */
IRIS_DEVICE void irisi_gemm_unaligned_b_block(const iris_gemm_plan *plan, const iris_tile *tile,
                                              const irisi_gemm_unaligned_b *lines, uint32_t to, uint32_t k,
                                              uint32_t runs)
{
    const uint32_t deep = plan->k - k < 64 ? plan->k - k : 64;
    const char *from = lines->b + k / 64 * lines->step;
    for (uint32_t run = 0; run < runs; run++, to += IRISI_GEMM_UNALIGNED_B_RUN, from += lines->run) {
        const uint32_t cols = tile->cols - 64 * run, wide = cols < 64 ? cols : 64;
        if (wide == 64 && plan->k - k > 64)
            irisi_gemm_unaligned_b_fetch(lines, from, to, 1, 64, 128);
        else
            irisi_gemm_unaligned_b_fetch(lines, from, to, 0, plan->operands.b_transposed ? wide : deep,
                                         2 * (plan->operands.b_transposed ? deep : wide));
    }
}

/*
 * Where a lane's operands of a warpgroup's product stand in a run: pairs of k, of columns lane / 4 and lane / 4 + 8 of
 * the wave's 16 (PTX ISA, wgmma, the first operand in registers).
 */
typedef struct irisi_gemm_held {
    uint32_t first, second; /* bytes to the first pair's word, or to both of its elements where B is k x n */
    uint32_t bits;          /* by how many a word and the next are shifted to get a pair */
} irisi_gemm_held;

IRIS_DEVICE irisi_gemm_held irisi_gemm_held_of(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t wave)
{
    const uint32_t lane = iris_lane(), column = 16 * (wave % 4) + lane / 4, k = lane % 4 * 2;
    const uint32_t ld = 2 * (uint32_t)irisi_tile_ldb(plan, tile), b = (uint32_t)(uintptr_t)irisi_tile_b(plan, tile);
    const uint32_t first = wave / 4 * IRISI_GEMM_UNALIGNED_B_RUN;
    irisi_gemm_held held;
    if (plan->operands.b_transposed) {
        const uint32_t skew = (b + (tile->n0 + column) * ld) & 15;
        held.first = held.second = first + column * IRISI_GEMM_LINE + skew / 4 * 4 + 2 * k;
        held.bits = skew % 4 * 8;
    } else {
        const uint32_t at = b + 2 * tile->n0 + k * ld;
        held.first = first + k * IRISI_GEMM_LINE + (at & 15) + 2 * column;
        held.second = first + (k + 1) * IRISI_GEMM_LINE + ((at + ld) & 15) + 2 * column;
        held.bits = 0;
    }
    return held;
}

/* Reads the operands of the four products of a block, whose B is at `b`. `n_major`, a constant: lines run along N. */
IRIS_DEVICE void irisi_gemm_held_take(const irisi_gemm_held *held, uint32_t b, int n_major, uint32_t (*to)[4])
{
    const uint32_t first = b + held->first, second = b + held->second;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        IRISI_UNROLL
        for (uint32_t j = 0; j < 4; j++) { /* j % 2: 8 columns further; j / 2: 8 of K further */
            const uint32_t at = n_major ? (16 * i + j / 2 * 8) * IRISI_GEMM_LINE + j % 2 * 16
                                        : 32 * i + j / 2 * 16 + j % 2 * 8 * IRISI_GEMM_LINE;
            if (n_major)
                to[i][j] = irisi_load_short(first + at) | irisi_load_short(second + at) << 16;
            else
                to[i][j] = __funnelshift_r(irisi_load_word(first + at), irisi_load_word(first + at + 4), held->bits);
        }
}

#endif
