/* SPDX-License-Identifier: MIT */
/*
 * fast_math.h: what must come out the same where a compiler was told that floats are real numbers: gcc's and clang's
 * -ffast-math and -Ofast, nvcc's --use_fast_math.
 *
 *   irisi_{f32,f64}_bits irisi_{f32,f64}_from       a float's encoding, and back
 *   irisi_nan_{f32,f64}                             whether x is a NaN
 *   irisi_less_{f32,f64} irisi_at_most_{f32,f64}    a < b and a <= b; 0 where one is a NaN
 *   irisi_zero_f64                                  x == 0
 *   irisi_choose_{f32,f64}                          b where `second` is not 0, else a; also infinities and NaNs
 *   irisi_finite_bits                               bits below those of 2.0f as they are, others those of some float
 *   IRISI_AS_WRITTEN irisi_as_is_{f32,f64}          a function's sums are not rearranged
 *
 * With -ffinite-math-only compilers fold comparisons with NaN and turn others round; they keep those of whole numbers.
 * Under other flags these are the plain comparisons. What such flags do to a program's own arithmetic they do to that
 * of kernels too: sums may be taken in another order, and what becomes of an infinity or NaN in a sum is not defined.
 */
#ifndef IRIS_ARCH_FAST_MATH_H
#define IRIS_ARCH_FAST_MATH_H

#include <stdint.h>

/* A float and its bits. C defines reading the other member; gcc, clang and nvcc define it in C++ too. */
typedef union irisi_f32_pun {
    float value;
    uint32_t bits;
} irisi_f32_pun;
typedef union irisi_f64_pun {
    double value;
    uint64_t bits;
} irisi_f64_pun;

IRIS_HOST_DEVICE uint32_t irisi_f32_bits(float x)
{
    irisi_f32_pun pun;
    pun.value = x;
    return pun.bits;
}

IRIS_HOST_DEVICE float irisi_f32_from(uint32_t bits)
{
    irisi_f32_pun pun;
    pun.bits = bits;
    return pun.value;
}

IRIS_HOST_DEVICE uint64_t irisi_f64_bits(double x)
{
    irisi_f64_pun pun;
    pun.value = x;
    return pun.bits;
}

IRIS_HOST_DEVICE double irisi_f64_from(uint64_t bits)
{
    irisi_f64_pun pun;
    pun.bits = bits;
    return pun.value;
}

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__

IRIS_HOST_DEVICE int irisi_nan_f32(float x) { return (irisi_f32_bits(x) & 0x7FFFFFFFu) > 0x7F800000u; }
IRIS_HOST_DEVICE int irisi_nan_f64(double x) { return irisi_f64_bits(x) << 1 > 0xFFE0000000000000u; }

/* Whole numbers in the order of floats: both zeros are 0. */
IRIS_HOST_DEVICE int32_t irisi_rank_f32(float x)
{
    const uint32_t u = irisi_f32_bits(x), sign = 0u - (u >> 31);
    return (int32_t)(((u & 0x7FFFFFFFu) ^ sign) - sign);
}
IRIS_HOST_DEVICE int64_t irisi_rank_f64(double x)
{
    const uint64_t u = irisi_f64_bits(x), sign = 0u - (u >> 63);
    return (int64_t)(((u & 0x7FFFFFFFFFFFFFFFu) ^ sign) - sign);
}

IRIS_HOST_DEVICE int irisi_less_f32(float a, float b)
{
    return !irisi_nan_f32(a) && !irisi_nan_f32(b) && irisi_rank_f32(a) < irisi_rank_f32(b);
}
IRIS_HOST_DEVICE int irisi_less_f64(double a, double b)
{
    return !irisi_nan_f64(a) && !irisi_nan_f64(b) && irisi_rank_f64(a) < irisi_rank_f64(b);
}
IRIS_HOST_DEVICE int irisi_at_most_f32(float a, float b)
{
    return !irisi_nan_f32(a) && !irisi_nan_f32(b) && irisi_rank_f32(a) <= irisi_rank_f32(b);
}
IRIS_HOST_DEVICE int irisi_at_most_f64(double a, double b)
{
    return !irisi_nan_f64(a) && !irisi_nan_f64(b) && irisi_rank_f64(a) <= irisi_rank_f64(b);
}
IRIS_HOST_DEVICE int irisi_zero_f64(double x) { return irisi_f64_bits(x) << 1 == 0; }

IRIS_HOST_DEVICE float irisi_choose_f32(int second, float a, float b)
{
    return irisi_f32_from(second ? irisi_f32_bits(b) : irisi_f32_bits(a));
}
IRIS_HOST_DEVICE double irisi_choose_f64(int second, double a, double b)
{
    return irisi_f64_from(second ? irisi_f64_bits(b) : irisi_f64_bits(a));
}

/* Without bit 30 an exponent is at most 127: neither infinity nor NaN. */
IRIS_HOST_DEVICE uint32_t irisi_finite_bits(uint32_t bits) { return bits & 0x3FFFFFFFu; }

#else

IRIS_HOST_DEVICE int irisi_nan_f32(float x) { return x != x; }
IRIS_HOST_DEVICE int irisi_nan_f64(double x) { return x != x; }
IRIS_HOST_DEVICE int irisi_less_f32(float a, float b) { return a < b; }
IRIS_HOST_DEVICE int irisi_less_f64(double a, double b) { return a < b; }
IRIS_HOST_DEVICE int irisi_at_most_f32(float a, float b) { return a <= b; }
IRIS_HOST_DEVICE int irisi_at_most_f64(double a, double b) { return a <= b; }
IRIS_HOST_DEVICE int irisi_zero_f64(double x) { return x == 0; }
IRIS_HOST_DEVICE float irisi_choose_f32(int second, float a, float b) { return second ? b : a; }
IRIS_HOST_DEVICE double irisi_choose_f64(int second, double a, double b) { return second ? b : a; }
IRIS_HOST_DEVICE uint32_t irisi_finite_bits(uint32_t bits) { return bits; }

#endif

/*
 * IRISI_AS_WRITTEN begins a function, irisi_as_is is around a part of a sum: (a + b) - b stays two roundings. clang
 * knows the first. gcc knows no such word that its vectoriser keeps: its sums end at a detour by whole numbers, with a
 * `zero` that is always 0, which gcc cannot prove. nvcc rearranges no sums.
 */
#if defined(__clang__)
#define IRISI_AS_WRITTEN _Pragma("clang fp reassociate(off)")
#else
#define IRISI_AS_WRITTEN
#endif

#if !defined(__clang__) && !defined(__CUDA_ARCH__) && (defined(__ASSOCIATIVE_MATH__) || defined(__FAST_MATH__))
IRIS_HOST_DEVICE float irisi_as_is_f32(float x, uint32_t zero) { return irisi_f32_from(irisi_f32_bits(x) ^ zero); }
IRIS_HOST_DEVICE double irisi_as_is_f64(double x, uint64_t zero) { return irisi_f64_from(irisi_f64_bits(x) ^ zero); }
#else
IRIS_HOST_DEVICE float irisi_as_is_f32(float x, uint32_t zero) { return (void)zero, x; }
IRIS_HOST_DEVICE double irisi_as_is_f64(double x, uint64_t zero) { return (void)zero, x; }
#endif

#endif
