/* SPDX-License-Identifier: MIT */
/*
 * quantize.h: 8-bit floats with a scale for each row (iris_gemm_args.quant_out), of rows that a workgroup holds.
 *
 *   irisi_gemm_larger irisi_gemm_bound              what the scale of a row follows from
 *   irisi_gemm_codes_of                             its elements as codes
 *   irisi_gemm_store_codes irisi_gemm_store_scale   where they go
 */
#ifndef IRIS_GEMM_QUANTIZE_H
#define IRIS_GEMM_QUANTIZE_H

#include <iris/gemm/plan.h>
#include <iris/memory.h>

#if IRIS_HAS_DEVICE

/* The larger of |x| and an earlier result, as bits: their order is that of the values, with NaN above infinity. */
IRIS_DEVICE uint32_t irisi_gemm_larger(uint32_t largest, float x)
{
    const uint32_t bits = irisi_f32_bits(x) & 0x7FFFFFFFu;
    return bits > largest ? bits : largest;
}

/*
 * What the scale of a row is of whose elements the largest has these bits: that, but 2^-100 at least, so that the
 * scale's inverse is finite, for a row of zeros too. NaN where the largest is NaN or infinite: the types have no
 * infinity.
 */
IRIS_DEVICE float irisi_gemm_bound(uint32_t largest)
{
    const uint32_t least = 0x0D800000u;
    return irisi_f32_from(largest >= 0x7F800000u ? 0x7FC00000u : largest > least ? largest : least);
}

/* The codes of up to 8 elements of a row whose largest element has these bits, the first in the lowest byte. */
IRIS_DEVICE uint64_t irisi_gemm_codes_of(const iris_gemm_plan *plan, const float *v, int n, uint32_t largest)
{
    const float inverse = plan->norm.largest_code / irisi_gemm_bound(largest);
    uint64_t codes = 0;
    if (plan->norm.largest_code < 448) { /* of f8e4m3fnuz */
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
 * Stores the first n of up to 8 codes of a row from column `col` on: on this rank, or if `all` on every rank, 4 or 8
 * bytes at a time where that is aligned. One lane calls it.
 */
IRIS_DEVICE void irisi_gemm_store_codes(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t row, uint32_t col,
                                        uint64_t codes, uint32_t n, int all)
{
    uint8_t *own = (uint8_t *)plan->norm.quant_out + row * plan->norm.ldquant_out + col;
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

/* The same of the scale of a row whose largest element has these bits. */
IRIS_DEVICE void irisi_gemm_store_scale(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t row, uint32_t largest,
                                        int all)
{
    const float scale = irisi_gemm_bound(largest) / plan->norm.largest_code;
    for (int rank = 0; rank < (all ? ctx->world : 1); rank++)
        irisi_store_32(all ? irisi_translate(ctx, plan->norm.scale_out + row, rank) : plan->norm.scale_out + row,
                       irisi_f32_bits(scale), IRIS_CACHE_DEFAULT);
}

#endif
#endif
