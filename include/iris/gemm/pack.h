/* SPDX-License-Identifier: MIT */
/*
 * pack.h: copies matrices that a mainloop cannot read in place: aligned, or transposed.
 *
 *   irisi_gemm_pack_grid                   makes the copy that an irisi_gemm_packing (gemm/plan.h) asks for
 *   irisi_gemm_transpose_grid              makes a transposed copy: its rows are the matrix's columns
 *
 * Rows of the matrix start at any element, rows of the copy at multiples of 16 bytes. A lane reads the two aligned
 * words of 16 bytes that its 16 bytes of a row lie in, shifts them together, and writes one word: every access is 16
 * bytes wide, and since neighbouring lanes have neighbouring words, every second read comes from the cache. Words
 * without a byte of the row are not read. The copy has zeros from the end of a row to the next multiple of 16 bytes;
 * what is behind that is not written, since mainloops read only words that hold elements.
 *
 * To transpose, a lane reads a word of 4 bytes (an element of 8) of each of the rows whose elements make up 32 bytes of
 * the copy, and writes 32 bytes for each element of the word. Neighbouring lanes read neighbouring words.
 */
#ifndef IRIS_GEMM_PACK_H
#define IRIS_GEMM_PACK_H

#include <iris/arch/select.h>
#include <iris/gemm/plan.h>

/* Lanes of a workgroup that copies; words that a lane has under way. */
enum { IRISI_PACK_LANES = 256, IRISI_PACK_WORDS = 4 };

#if IRIS_HAS_DEVICE

/*
 * Replaces each of the first `words` words of w by the n-th after it, if `go` is not 0. By choosing between values: if
 * `go` chose an index, w would stand in memory instead of registers.
 */
IRIS_DEVICE void irisi_pack_down(uint32_t *w, int words, int n, uint32_t go)
{
    IRISI_UNROLL
    for (int i = 0; i < words; i++) {
        const uint32_t stays = w[i], comes = w[i + n];
        w[i] = go ? comes : stays;
    }
}

/* The 16 bytes that start `skew` bytes into the words low and high; zeros from byte `left` on. */
IRIS_DEVICE irisi_b128 irisi_pack_join(irisi_b128 low, irisi_b128 high, uint32_t skew, uint32_t left)
{
    const uint32_t bits = skew % 4 * 8;
    uint32_t w[8] = {low.w[0], low.w[1], low.w[2], low.w[3], high.w[0], high.w[1], high.w[2], high.w[3]};
    irisi_b128 v;
    irisi_pack_down(w, 6, 2, skew & 8);
    irisi_pack_down(w, 5, 1, skew & 4);
    IRISI_UNROLL
    for (int i = 0; i < 4; i++)
        v.w[i] = (uint32_t)(((uint64_t)w[i + 1] << 32 | w[i]) >> bits);
    if (left < 16)
        IRISI_UNROLL
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t kept = left < 4 * i ? 0 : left - 4 * i;
            v.w[i] &= kept < 4 ? ((uint32_t)1 << 8 * kept) - 1 : UINT32_MAX;
        }
    return v;
}

/* Copies one lane's words of a part of a row that has `left` bytes: those at bytes at, at + step, … */
IRIS_DEVICE void irisi_pack_part(const char *from, char *to, uint32_t left, uint32_t at, uint32_t step)
{
    const uint32_t skew = (uint32_t)((uintptr_t)from & 15);
    const uint32_t last = (skew + left - 1) / 16 * 16; /* the row's last word, from the part's first one on */
    irisi_b128 low[IRISI_PACK_WORDS], high[IRISI_PACK_WORDS];
    from -= skew;
    IRISI_UNROLL
    for (uint32_t i = 0; i < IRISI_PACK_WORDS; i++) {
        const uint32_t word = at + i * step, next = word + 16;
        low[i] = irisi_load_128(from + (word < last ? word : last), IRIS_CACHE_DEFAULT);
        high[i] = irisi_load_128(from + (next < last ? next : last), IRIS_CACHE_DEFAULT);
    }
    IRISI_UNROLL
    for (uint32_t i = 0; i < IRISI_PACK_WORDS; i++) {
        irisi_loaded(&low[i]);
        irisi_loaded(&high[i]);
    }
    IRISI_UNROLL
    for (uint32_t i = 0; i < IRISI_PACK_WORDS; i++) {
        const uint32_t word = at + i * step;
        if (word < left)
            irisi_store_128(to + word, irisi_pack_join(low[i], high[i], skew, left - word), IRIS_CACHE_DEFAULT);
    }
}

/* Reads 4 bytes of a row from byte `at` on, or what is left of it; a word at once where the row begins at one. */
IRIS_DEVICE uint32_t irisi_transpose_load(const char *row, uint64_t at, uint64_t bytes, uint32_t element)
{
    uint32_t word = 0;
    if ((uintptr_t)row % 4 == 0 && (element == 4 || at + 4 <= bytes))
        return irisi_load_32(row + at, IRIS_CACHE_DEFAULT);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i += element)
        if (at + i < bytes)
            word |= (element == 1 ? (uint32_t)irisi_load_8(row + at + i, IRIS_CACHE_DEFAULT)
                                  : (uint32_t)irisi_load_16(row + at + i, IRIS_CACHE_DEFAULT))
                    << 8 * i;
    return word;
}

/* The 32 bytes made of the j-th element of each of 32 / element words, which stand one below the other. */
IRIS_DEVICE void irisi_transpose_gather(const uint32_t *words, uint32_t j, uint32_t element, uint32_t *to)
{
    const uint32_t each = 4 / element, kept = element == 4 ? UINT32_MAX : ((uint32_t)1 << 8 * element % 32) - 1;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 8; i++) {
        to[i] = 0;
        IRISI_UNROLL
        for (uint32_t s = 0; s < each; s++)
            to[i] |= (words[i * each + s] >> 8 * element * j & kept) << 8 * element * s;
    }
}

/* Writes 32 bytes of a row of the copy, from byte `at` on, but for words of 16 that begin at byte `bytes` or behind. */
IRIS_DEVICE void irisi_transpose_store(char *row, uint64_t at, uint64_t bytes, const uint32_t *words)
{
    IRISI_UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        const irisi_b128 v = {{words[4 * half], words[4 * half + 1], words[4 * half + 2], words[4 * half + 3]}};
        if (at + 16 * half < bytes)
            irisi_store_128(row + at + 16 * half, v, IRIS_CACHE_DEFAULT);
    }
}

/* Transposes one lane's words, those from byte `at` on of the rows from row `row` on. `element` is a constant. */
IRIS_DEVICE void irisi_transpose_part(const irisi_gemm_packing *p, uint64_t row, uint64_t at, uint32_t element)
{
    const uint32_t rows = 32 / element;
    uint32_t words[32], out[8];
    IRISI_UNROLL
    for (uint32_t i = 0; i < rows; i++)
        words[i] = row + i < p->rows ? irisi_transpose_load((const char *)p->from + (row + i) * p->from_pitch, at,
                                                            p->row_bytes, element)
                                     : 0;
    IRISI_UNROLL
    for (uint32_t j = 0; j < 4 / element; j++) {
        if (at + j * element >= p->row_bytes)
            break;
        irisi_transpose_gather(words, j, element, out);
        irisi_transpose_store((char *)p->to + (at / element + j) * p->to_pitch, row * element, p->rows * element, out);
    }
}

/* The same of elements of 8 bytes: the one at byte `at` of each of 4 rows. */
IRIS_DEVICE void irisi_transpose_part_64(const irisi_gemm_packing *p, uint64_t row, uint64_t at)
{
    uint32_t out[8];
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint64_t v = row + i < p->rows ? irisi_load_64((const char *)p->from + (row + i) * p->from_pitch + at,
                                                             IRIS_CACHE_DEFAULT)
                                             : 0;
        out[2 * i] = (uint32_t)v, out[2 * i + 1] = (uint32_t)(v >> 32);
    }
    irisi_transpose_store((char *)p->to + at / 8 * p->to_pitch, row * 8, p->rows * 8, out);
}

/* Makes a transposed copy. Every lane of the grid calls it. */
IRIS_DEVICE void irisi_gemm_transpose_grid(const irisi_gemm_packing *p)
{
    const uint64_t word = p->transposed == 8 ? 8 : 4; /* bytes that a lane reads of a row */
    const uint64_t across = (p->row_bytes + word - 1) / word, step = 32 / p->transposed;
    const uint64_t parts = across * ((p->rows + step - 1) / step);
    for (uint64_t i = iris_grid_lane(); i < parts; i += iris_grid_lanes())
        if (p->transposed == 1)
            irisi_transpose_part(p, i / across * step, i % across * 4, 1);
        else if (p->transposed == 2)
            irisi_transpose_part(p, i / across * step, i % across * 4, 2);
        else if (p->transposed == 4)
            irisi_transpose_part(p, i / across * step, i % across * 4, 4);
        else
            irisi_transpose_part_64(p, i / across * step, i % across * 8);
}

/*
 * Copies a matrix; does nothing where `to` is null or rows are empty. Every lane of the grid calls it. Rows are dealt
 * out in parts, each to as many lanes as have work in it, at most a wave.
 */
IRIS_DEVICE void irisi_gemm_pack_grid(const irisi_gemm_packing *p)
{
    uint32_t share = 1;
    if (p->to == NULL || p->row_bytes == 0)
        return;
    if (p->transposed) {
        irisi_gemm_transpose_grid(p);
        return;
    }
    while (share < iris_wave_lanes() && 16 * IRISI_PACK_WORDS * share < p->row_bytes)
        share *= 2;
    const uint32_t part_bytes = 16 * IRISI_PACK_WORDS * share;
    const uint32_t parts = (uint32_t)((p->row_bytes + part_bytes - 1) / part_bytes);
    const uint32_t worker = (uint32_t)iris_grid_lane() / share, workers = (uint32_t)iris_grid_lanes() / share;
    const uint32_t member = (uint32_t)iris_grid_lane() % share;
    uint32_t row = worker / parts, part = worker % parts;
    while (row < p->rows) {
        const uint64_t first = (uint64_t)part * part_bytes;
        const uint64_t left = p->row_bytes - first;
        irisi_pack_part((const char *)p->from + row * p->from_pitch + first, (char *)p->to + row * p->to_pitch + first,
                        left < 2 * part_bytes ? (uint32_t)left : 2 * part_bytes, 16 * member, 16 * share);
        row += workers / parts;
        part += workers % parts;
        if (part >= parts)
            part -= parts, row++;
    }
}

#endif
#endif
