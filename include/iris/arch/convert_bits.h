/* SPDX-License-Identifier: MIT */
/*
 * convert_bits.h: conversions between f32 and the 16- and 8-bit floats in integer arithmetic: the reference that every
 * platform's arch/<platform>/convert.h equals bit for bit (but for the payload of a widened NaN).
 *
 *   irisi_bits_widen_{f16,bf16,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz}    code -> float, exact
 *   irisi_bits_narrow_{f16,bf16,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz}   float -> code, to nearest, ties to even
 *
 * No branches, only masks, so that compilers vectorise loops over them. dtype.h says what the formats are and what
 * becomes of values beyond their range.
 */
#ifndef IRIS_ARCH_CONVERT_BITS_H
#define IRIS_ARCH_CONVERT_BITS_H

#include <iris/arch/fast_math.h>

/*
 * `yes` where below < limit, else `no`. By mask, because compilers turn a conditional expression back into a branch
 * and then give up on the loop around it; signed, because SSE2 has no other comparison.
 */
IRIS_HOST_DEVICE uint32_t irisi_bits_if_below(uint32_t below, uint32_t limit, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - (uint32_t)((int32_t)below < (int32_t)limit);
    return (yes & mask) | (no & ~mask);
}

/*
 * f32 bits of a finite code without its sign. `mantissa` bits of fraction follow an exponent of bias `bias`.
 *
 * Normal codes only move and get another bias. A subnormal code m means m * 2^(1 - bias - mantissa): put below the
 * leading 1 of 2^(1 - bias) it adds exactly that, and subtracting the leading 1 again leaves a normalised float.
 */
IRIS_HOST_DEVICE uint32_t irisi_bits_widen(uint32_t code, uint32_t mantissa, uint32_t bias)
{
    const uint32_t lead = (128 - bias) << 23;
    const uint32_t moved = code << (23 - mantissa);
    const uint32_t subnormal = irisi_f32_bits(irisi_f32_from(moved + lead) - irisi_f32_from(lead));
    return irisi_bits_if_below(code, 1u << mantissa, subnormal, moved + ((127 - bias) << 23));
}

/*
 * Code of f32 bits without their sign; it may exceed the format's largest, which the caller cuts off.
 *
 * Normal results: add just under half of what falls away, and one more when the bit that stays last is odd.
 * Subnormal results: adding the float whose last bit weighs as much as the format's smallest subnormal makes the
 * addition itself round (to nearest even, the mode that C and every device start in).
 */
IRIS_HOST_DEVICE uint32_t irisi_bits_narrow(uint32_t a, uint32_t mantissa, uint32_t bias)
{
    const uint32_t drop = 23 - mantissa;
    const uint32_t lead = (128 - bias + drop) << 23;
    const uint32_t rounded = (a + (1u << (drop - 1)) - 1 + (a >> drop & 1)) >> drop;
    const uint32_t subnormal = irisi_f32_bits(irisi_f32_from(irisi_finite_bits(a)) + irisi_f32_from(lead)) - lead;
    return irisi_bits_if_below(a, (128 - bias) << 23, subnormal, rounded - ((127 - bias) << mantissa));
}

/* As irisi_bits_narrow, with codes above `largest` cut to it, and `nan` for NaN. */
IRIS_HOST_DEVICE uint32_t irisi_bits_narrow_to(uint32_t a, uint32_t mantissa, uint32_t bias, uint32_t largest,
                                               uint32_t nan)
{
    const uint32_t code = irisi_bits_narrow(a, mantissa, bias);
    const uint32_t cut = irisi_bits_if_below(code, largest, code, largest);
    return irisi_bits_if_below(0x7F800000u, a, nan, cut);
}

/* The sign of f32 bits u in bit `at`; none for NaN, which has one canonical code. */
IRIS_HOST_DEVICE uint32_t irisi_bits_sign(uint32_t u, uint32_t at)
{
    return irisi_bits_if_below(0x7F800000u, u & 0x7FFFFFFFu, 0, u >> 31 << at);
}

IRIS_HOST_DEVICE float irisi_bits_widen_f16(uint16_t x)
{
    const uint32_t code = x & 0x7FFFu;
    const uint32_t special = irisi_bits_if_below(code, 0x7C00, 0, 0x7F800000u);
    return irisi_f32_from((uint32_t)(x & 0x8000u) << 16 | irisi_bits_widen(code, 10, 15) | special);
}

IRIS_HOST_DEVICE uint16_t irisi_bits_narrow_f16(float x)
{
    const uint32_t u = irisi_f32_bits(x);
    return (uint16_t)(irisi_bits_narrow_to(u & 0x7FFFFFFFu, 10, 15, 0x7C00, 0x7FFF) | irisi_bits_sign(u, 15));
}

IRIS_HOST_DEVICE float irisi_bits_widen_bf16(uint16_t x) { return irisi_f32_from((uint32_t)x << 16); }

/* bf16 is the upper half of an f32, subnormals and infinities included: only rounding is left to do. */
IRIS_HOST_DEVICE uint16_t irisi_bits_narrow_bf16(float x)
{
    const uint32_t u = irisi_f32_bits(x);
    const uint32_t rounded = (u + 0x7FFF + (u >> 16 & 1)) >> 16;
    return (uint16_t)irisi_bits_if_below(0x7F800000u, u & 0x7FFFFFFFu, 0x7FFF, rounded);
}

IRIS_HOST_DEVICE float irisi_bits_widen_f8e4m3(uint8_t x)
{
    const uint32_t code = x & 0x7Fu;
    const uint32_t special = irisi_bits_if_below(code, 0x7F, 0, 0x7F800000u);
    return irisi_f32_from((uint32_t)(x & 0x80u) << 24 | irisi_bits_widen(code, 3, 7) | special);
}

IRIS_HOST_DEVICE uint8_t irisi_bits_narrow_f8e4m3(float x)
{
    const uint32_t u = irisi_f32_bits(x);
    return (uint8_t)(irisi_bits_narrow_to(u & 0x7FFFFFFFu, 3, 7, 0x7E, 0x7F) | irisi_bits_sign(u, 7));
}

IRIS_HOST_DEVICE float irisi_bits_widen_f8e5m2(uint8_t x) { return irisi_bits_widen_f16((uint16_t)(x << 8)); }

IRIS_HOST_DEVICE uint8_t irisi_bits_narrow_f8e5m2(float x)
{
    const uint32_t u = irisi_f32_bits(x);
    return (uint8_t)(irisi_bits_narrow_to(u & 0x7FFFFFFFu, 2, 15, 0x7B, 0x7F) | irisi_bits_sign(u, 7));
}

/* FNUZ has no negative zero: 0x80 is its one NaN. */
IRIS_HOST_DEVICE float irisi_bits_widen_fnuz(uint32_t x, uint32_t mantissa, uint32_t bias)
{
    const uint32_t finite = (x & 0x80u) << 24 | irisi_bits_widen(x & 0x7Fu, mantissa, bias);
    return irisi_f32_from(irisi_bits_if_below(0, x ^ 0x80u, finite, 0x7FC00000u));
}

IRIS_HOST_DEVICE uint8_t irisi_bits_narrow_fnuz(float x, uint32_t mantissa, uint32_t bias)
{
    const uint32_t u = irisi_f32_bits(x);
    const uint32_t code = irisi_bits_narrow_to(u & 0x7FFFFFFFu, mantissa, bias, 0x7F, 0x80);
    return (uint8_t)irisi_bits_if_below(0, code, code | irisi_bits_sign(u, 7), 0);
}

IRIS_HOST_DEVICE float irisi_bits_widen_f8e4m3fnuz(uint8_t x) { return irisi_bits_widen_fnuz(x, 3, 8); }
IRIS_HOST_DEVICE float irisi_bits_widen_f8e5m2fnuz(uint8_t x) { return irisi_bits_widen_fnuz(x, 2, 16); }
IRIS_HOST_DEVICE uint8_t irisi_bits_narrow_f8e4m3fnuz(float x) { return irisi_bits_narrow_fnuz(x, 3, 8); }
IRIS_HOST_DEVICE uint8_t irisi_bits_narrow_f8e5m2fnuz(float x) { return irisi_bits_narrow_fnuz(x, 2, 16); }

#endif
