/* SPDX-License-Identifier: MIT */
/*
 * activation.h: activations, and the exponential they need, in the same arithmetic on every platform.
 *
 *   iris_exp_{f32,f64} iris_sigmoid_{f32,f64}
 *   iris_relu_{f32,f64} iris_gelu_{f32,f64} iris_silu_{f32,f64}
 *
 * No math library: AMD kernels are compiled without one, and compilers vectorise these.
 */
#ifndef IRIS_GEMM_ACTIVATION_H
#define IRIS_GEMM_ACTIVATION_H

#include <iris/dtype.h>

/**
 * @name Activations
 *
 * Any lane or host thread calls them.
 *
 * @param x the value
 * @{
 */
/**
 * e^x within 2 units in the last place, for x from -87 to 88; beyond, the value at the nearer end.
 *
 * x = n ln 2 + r: adding 1.5 * 2^23 rounds x / ln 2 to the integer n, which stands in the sum's low bits; 2^n is its
 * exponent field. Polynomial: S. Moshier, Cephes, expf.
 */
IRIS_HOST_DEVICE float iris_exp_f32(float x)
{
    IRISI_AS_WRITTEN
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float n = x * 1.44269504f + 12582912.0f;
    const float scale = irisi_f32_from((irisi_f32_bits(n) + 127) << 23);
    const uint32_t zero = irisi_f32_bits(n) >> 31; /* n's sign, 0, which the compiler does not know */
    const float whole = irisi_as_is_f32(n, zero) - 12582912.0f;
    const float r = irisi_as_is_f32(x - whole * 0.693359375f, zero) + whole * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return (p * r * r + r + 1.0f) * scale;
}

/** e^x within a few units in the last place, for x from -700 to 700; beyond, the value at the nearer end. Taylor's
 *  series to r^13 on |r| <= ln 2 / 2; 1.5 * 2^52 rounds as in iris_exp_f32. */
IRIS_HOST_DEVICE double iris_exp_f64(double x)
{
    IRISI_AS_WRITTEN
    x = x < -700.0 ? -700.0 : x > 700.0 ? 700.0 : x;
    const double n = x * 1.4426950408889634 + 6755399441055744.0;
    const double scale = irisi_f64_from((irisi_f64_bits(n) + 1023) << 52);
    const uint64_t zero = irisi_f64_bits(n) >> 63;
    const double whole = irisi_as_is_f64(n, zero) - 6755399441055744.0;
    const double r = irisi_as_is_f64(x - whole * 6.93147180369123816490e-01, zero) - whole * 1.90821492927058770002e-10;
    double p = 1.0;
    IRISI_CONSTANTS
    for (int k = 13; k > 0; k--)
        p = 1.0 + p * r * (1.0 / k);
    return p * scale;
}

/** 1 / (1 + e^-x). */
IRIS_HOST_DEVICE float iris_sigmoid_f32(float x) { return 1.0f / (1.0f + iris_exp_f32(-x)); }
/** iris_sigmoid_f32 for f64. */
IRIS_HOST_DEVICE double iris_sigmoid_f64(double x) { return 1.0 / (1.0 + iris_exp_f64(-x)); }

/** x where it is positive (or NaN), else 0. */
IRIS_HOST_DEVICE float iris_relu_f32(float x) { return irisi_choose_f32(irisi_at_most_f32(x, 0.0f), x, 0.0f); }
/** iris_relu_f32 for f64. */
IRIS_HOST_DEVICE double iris_relu_f64(double x) { return irisi_choose_f64(irisi_at_most_f64(x, 0.0), x, 0.0); }

/** x * sigmoid(x). */
IRIS_HOST_DEVICE float iris_silu_f32(float x) { return x * iris_sigmoid_f32(x); }
/** iris_silu_f32 for f64. */
IRIS_HOST_DEVICE double iris_silu_f64(double x) { return x * iris_sigmoid_f64(x); }

/** x / 2 * (1 + tanh u) with u = sqrt(2 / pi) * (x + 0.044715 x^3), written as x * sigmoid(2 u).
 *  D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415. */
IRIS_HOST_DEVICE float iris_gelu_f32(float x)
{
    return x * iris_sigmoid_f32(1.59576912f * (x + 0.044715f * x * x * x));
}
/** iris_gelu_f32 for f64. */
IRIS_HOST_DEVICE double iris_gelu_f64(double x)
{
    return x * iris_sigmoid_f64(1.5957691216057308 * (x + 0.044715 * x * x * x));
}
/** @} */

#endif
