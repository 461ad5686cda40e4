/* SPDX-License-Identifier: MIT */
/*
 * dtype.h: the element types, and how to compute with them.
 *
 *   iris_f16 iris_bf16 iris_f8e4m3 iris_f8e5m2 iris_f8e4m3fnuz iris_f8e5m2fnuz   storage types
 *   and from <iris/gen/dtypes.h>, for every dtype:
 *   iris_widen_<d> iris_narrow_<d>                   to the type that it computes in, and back
 *   iris_dtype iris_dtype_bytes iris_dtype_name      dtypes as values
 *   irisi_round_i8 irisi_round_i32                   whole numbers from floats
 *
 * Integers, f32 and f64 compute in themselves: widening and narrowing change nothing. The 16- and 8-bit floats are
 * storage types on every platform and compute in float:
 *
 *                 sign exponent fraction  bias  largest  smallest    infinity  NaN              -0
 *   f16            1      5       10       15    65504   2^-24       yes       yes              yes
 *   bf16           1      8        7      127    3.4e38  2^-133      yes       yes              yes
 *   f8e4m3         1      4        3        7      448   2^-9        no        0x7F 0xFF        yes   OCP E4M3 ("FN")
 *   f8e5m2         1      5        2       15    57344   2^-16       yes       0x7D..0x7F, -    yes   OCP E5M2
 *   f8e4m3fnuz     1      4        3        8      240   2^-10       no        0x80             no    gfx942
 *   f8e5m2fnuz     1      5        2       16    57344   2^-17       no        0x80             no    gfx942
 *
 * Widening is exact. A NaN stays a NaN, whose payload is the platform's.
 *
 * Narrowing rounds to nearest, ties to even, subnormals included, and gives the same bits on every platform:
 *   f16, bf16   values beyond the largest become infinity, as IEEE 754 has it
 *   f8…         values beyond the largest, infinity included, become the largest with their sign: the saturating mode
 *               of the OCP 8-bit floating point specification (OFP8, 1.0), which NVIDIA's cvt.satfinite implements.
 *               Conversions in AMD's and ml_dtypes' default mode differ here: they give infinity or NaN.
 *   NaN         becomes the canonical NaN: 0x7FFF (f16, bf16), 0x7F (f8e4m3, f8e5m2), 0x80 (fnuz)
 *   -0          and negative values that round to 0 become 0 in fnuz types, which have no -0
 * So narrowing what was widened gives back every code but a non-canonical NaN and f8e5m2's infinities.
 *
 * Sources: IEEE 754-2019; OCP OFP8 1.0 (2023); "8-bit Numerical Formats for Deep Neural Networks" (Noune et al.,
 * arXiv 2206.02915) for fnuz.
 */
#ifndef IRIS_DTYPE_H
#define IRIS_DTYPE_H

#include <iris/float_types.h>
#include <iris/gen/dtypes.h>

/*
 * The nearest whole number, ties to even, cut to the range; NaN becomes 0. Adding 1.5 * 2^23 or 2^52 makes the addition
 * itself round, and leaves the whole number in the sum's low bits.
 */
IRIS_HOST_DEVICE int8_t irisi_round_i8(float x)
{
    const float number = irisi_choose_f32(irisi_nan_f32(x), x, 0.0f);
    const float above = number > -128.0f ? number : -128.0f, cut = above < 127.0f ? above : 127.0f;
    return (int8_t)irisi_f32_bits(cut + 12582912.0f);
}
IRIS_HOST_DEVICE int32_t irisi_round_i32(double x)
{
    const double cut = x > 2147483647.0 ? 2147483647.0 : x > -2147483648.0 ? x : -2147483648.0;
    return (int32_t)(irisi_nan_f64(x) ? 0 : (uint32_t)irisi_f64_bits(cut + 6755399441055744.0));
}

#endif
