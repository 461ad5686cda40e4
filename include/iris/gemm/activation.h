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
/*
 * A constant plus `zero`, which is 0, though the compiler may not know it: it would keep constants in registers all
 * through a kernel that has an activation somewhere, and scalar registers are scarce on AMD.
 */
IRIS_HOST_DEVICE float irisi_opaque_f32(float constant, uint32_t zero)
{
    return irisi_f32_from(irisi_f32_bits(constant) | zero);
}

/* iris_exp_f32 with opaque constants. */
IRIS_HOST_DEVICE float irisi_exp_f32(float x, uint32_t zero)
{
    IRISI_AS_WRITTEN
    x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
    const float magic = irisi_opaque_f32(12582912.0f, zero), n = x * irisi_opaque_f32(1.44269504f, zero) + magic;
    const float scale = irisi_f32_from((irisi_f32_bits(n) + 127) << 23);
    const uint32_t sign = irisi_f32_bits(n) >> 31; /* of n: 0, which the compiler does not know */
    const float whole = irisi_as_is_f32(n, sign) - magic;
    const float r = irisi_as_is_f32(x - whole * irisi_opaque_f32(0.693359375f, zero), sign) +
                    whole * irisi_opaque_f32(2.12194440e-4f, zero);
    float p = irisi_opaque_f32(1.9875691500e-4f, zero);
    p = p * r + irisi_opaque_f32(1.3981999507e-3f, zero);
    p = p * r + irisi_opaque_f32(8.3334519073e-3f, zero);
    p = p * r + irisi_opaque_f32(4.1665795894e-2f, zero);
    p = p * r + irisi_opaque_f32(1.6666665459e-1f, zero);
    p = p * r + 5.0000001201e-1f;
    return (p * r * r + r + 1.0f) * scale;
}

/**
 * e^x within 2 units in the last place, for x from -87 to 88; beyond, the value at the nearer end.
 *
 * x = n ln 2 + r: adding 1.5 * 2^23 rounds x / ln 2 to the integer n, which stands in the sum's low bits; 2^n is its
 * exponent field. Polynomial: S. Moshier, Cephes, expf.
 */
IRIS_HOST_DEVICE float iris_exp_f32(float x) { return irisi_exp_f32(x, 0); }

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

/* iris_sigmoid_f32, iris_silu_f32 and iris_gelu_f32 with opaque constants; in f64 they are not kept. */
IRIS_HOST_DEVICE float irisi_sigmoid_f32(float x, uint32_t zero) { return 1.0f / (1.0f + irisi_exp_f32(-x, zero)); }
IRIS_HOST_DEVICE float irisi_silu_f32(float x, uint32_t zero) { return x * irisi_sigmoid_f32(x, zero); }
IRIS_HOST_DEVICE float irisi_gelu_f32(float x, uint32_t zero)
{
    const float u = x + irisi_opaque_f32(0.044715f, zero) * x * x * x;
    return x * irisi_sigmoid_f32(irisi_opaque_f32(1.59576912f, zero) * u, zero);
}

/** 1 / (1 + e^-x). */
IRIS_HOST_DEVICE float iris_sigmoid_f32(float x) { return irisi_sigmoid_f32(x, 0); }
/** iris_sigmoid_f32 for f64. */
IRIS_HOST_DEVICE double iris_sigmoid_f64(double x) { return 1.0 / (1.0 + iris_exp_f64(-x)); }

/** x where it is positive (or NaN), else 0. */
IRIS_HOST_DEVICE float iris_relu_f32(float x) { return irisi_choose_f32(irisi_at_most_f32(x, 0.0f), x, 0.0f); }
/** iris_relu_f32 for f64. */
IRIS_HOST_DEVICE double iris_relu_f64(double x) { return irisi_choose_f64(irisi_at_most_f64(x, 0.0), x, 0.0); }

/** x * sigmoid(x). */
IRIS_HOST_DEVICE float iris_silu_f32(float x) { return irisi_silu_f32(x, 0); }
/** iris_silu_f32 for f64. */
IRIS_HOST_DEVICE double iris_silu_f64(double x) { return x * iris_sigmoid_f64(x); }
IRIS_HOST_DEVICE double irisi_silu_f64(double x, uint32_t zero) { return (void)zero, iris_silu_f64(x); }

/** x / 2 * (1 + tanh u) with u = sqrt(2 / pi) * (x + 0.044715 x^3), written as x * sigmoid(2 u).
 *  D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units", arXiv 1606.08415. */
IRIS_HOST_DEVICE float iris_gelu_f32(float x) { return irisi_gelu_f32(x, 0); }
/** iris_gelu_f32 for f64. */
IRIS_HOST_DEVICE double iris_gelu_f64(double x)
{
    return x * iris_sigmoid_f64(1.5957691216057308 * (x + 0.044715 * x * x * x));
}
IRIS_HOST_DEVICE double irisi_gelu_f64(double x, uint32_t zero) { return (void)zero, iris_gelu_f64(x); }
/** @} */

#endif
