/* SPDX-License-Identifier: MIT */
/*
 * quantize.h: 8-bit floats with a scale for each row (iris_gemm_args.quant_out), of rows that a workgroup holds.
 *
 *   irisi_gemm_larger irisi_gemm_row_scale_of             the scale of a row
 *   irisi_gemm_codes_of                                   its elements as codes
 *   irisi_gemm_store_codes irisi_gemm_store_scale         where they go
 */
#ifndef IRIS_GEMM_QUANTIZE_H
#define IRIS_GEMM_QUANTIZE_H

#include <iris/dtype.h>
#include <iris/memory.h>

#if IRIS_HAS_DEVICE

/* The larger of |x| and an earlier result, as bits: their order is that of the values, with NaN above infinity. */
IRIS_DEVICE uint32_t irisi_gemm_larger(uint32_t largest, float x)
{
    const uint32_t bits = irisi_f32_bits(x) & 0x7FFFFFFFu;
    return bits > largest ? bits : largest;
}

/* What a row's codes are to be multiplied by, and what its elements were multiplied by. */
typedef struct irisi_gemm_row_scale {
    float scale, inverse;
} irisi_gemm_row_scale;

/*
 * The scale of a row whose largest element has these bits, for f8e4m3 or, with `fnuz`, f8e4m3fnuz. Below 2^-100 it stays
 * what it is there, so that the inverse is finite too, for a row of zeros as well. NaN where the largest is NaN or
 * infinite: no scale would tell of an infinity, which the types do not have.
 */
IRIS_DEVICE irisi_gemm_row_scale irisi_gemm_row_scale_of(uint32_t largest, int fnuz)
{
    const float code = fnuz ? 240.0f : 448.0f;
    const uint32_t least = 0x0D800000u, infinity = 0x7F800000u, nan = 0x7FC00000u;
    const float bound = irisi_f32_from(largest > least ? largest : least);
    irisi_gemm_row_scale scale;
    scale.scale = irisi_f32_from(largest < infinity ? irisi_f32_bits(bound / code) : nan);
    scale.inverse = irisi_f32_from(largest < infinity ? irisi_f32_bits(code / bound) : nan);
    return scale;
}

/* The codes of up to 8 elements times `inverse`, the first in the lowest byte. */
IRIS_DEVICE uint64_t irisi_gemm_codes_of(const float *v, int n, float inverse, int fnuz)
{
    uint64_t codes = 0;
    if (fnuz) {
        IRISI_UNROLL
        for (int j = 0; j < n; j++)
            codes |= (uint64_t)iris_narrow_f8e4m3fnuz(v[j] * inverse).bits << 8 * j;
    } else {
        IRISI_UNROLL
        for (int j = 0; j < n; j++)
            codes |= (uint64_t)iris_narrow_f8e4m3(v[j] * inverse).bits << 8 * j;
    }
    return codes;
}

/*
 * Stores the first n of up to 8 codes from `own` on: on this rank, or if `all` on every rank, 4 or 8 bytes at a time
 * where that is aligned. One lane calls it.
 */
IRIS_DEVICE void irisi_gemm_store_codes(const iris_ctx *ctx, uint8_t *own, uint64_t codes, uint32_t n, int all)
{
    const uint32_t whole = (n == 8 || n == 4) && (uintptr_t)own % n == 0 ? n : 0;
    for (int i = 1, rank = ctx->rank; i <= (all ? ctx->world : 1); i++) {
        rank = all ? (rank + 1 == ctx->world ? 0 : rank + 1) : rank; /* the next one first, so that links are shared */
        uint8_t *to = all ? (uint8_t *)irisi_translate(ctx, own, rank) : own;
        if (whole == 8)
            irisi_store_64(to, codes, IRIS_CACHE_DEFAULT);
        else if (whole == 4)
            irisi_store_32(to, (uint32_t)codes, IRIS_CACHE_DEFAULT);
        else
            for (uint32_t j = 0; j < n; j++)
                irisi_store_8(to + j, (uint8_t)(codes >> 8 * j), IRIS_CACHE_DEFAULT);
    }
}

/* The same of a row's scale. */
IRIS_DEVICE void irisi_gemm_store_scale(const iris_ctx *ctx, float *own, float scale, int all)
{
    for (int rank = 0; rank < (all ? ctx->world : 1); rank++)
        irisi_store_32(all ? irisi_translate(ctx, own, rank) : own, irisi_f32_bits(scale), IRIS_CACHE_DEFAULT);
}

#endif
#endif
