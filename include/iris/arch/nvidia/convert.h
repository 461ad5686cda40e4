/* SPDX-License-Identifier: MIT */
/*
 * convert.h (nvidia): the conversions of the 16- and 8-bit floats.
 *
 *   irisi_{widen,narrow}_{f16,bf16,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz}
 *
 * PTX's cvt: f16 always, bf16 from sm_80, OCP 8-bit floats from sm_89. Everything else, and host code, takes the
 * portable way. Compared on an H200 with convert_bits.h: all 2^32 floats narrow to the same codes, all codes widen to
 * the same floats, but that cvt widens a NaN to the canonical one.
 */
#ifndef IRIS_ARCH_NVIDIA_CONVERT_H
#define IRIS_ARCH_NVIDIA_CONVERT_H

#include <iris/arch/nvidia/device.h>

#include <iris/arch/convert_bits.h>

IRIS_HOST_DEVICE float irisi_widen_f16(uint16_t x)
{
#if defined(__CUDA_ARCH__)
    float f;
    __asm__("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return irisi_bits_widen_f16(x);
#endif
}

IRIS_HOST_DEVICE uint16_t irisi_narrow_f16(float x)
{
#if defined(__CUDA_ARCH__)
    uint16_t h;
    __asm__("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    return irisi_bits_narrow_f16(x);
#endif
}

IRIS_HOST_DEVICE float irisi_widen_bf16(uint16_t x) { return irisi_bits_widen_bf16(x); }

IRIS_HOST_DEVICE uint16_t irisi_narrow_bf16(float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint16_t h;
    __asm__("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    return irisi_bits_narrow_bf16(x);
#endif
}

/* The instructions convert pairs: the value goes through the low half. */
IRIS_HOST_DEVICE float irisi_widen_f8e4m3(uint8_t x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint32_t pair;
    __asm__("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(pair) : "h"((uint16_t)x));
    return irisi_widen_f16((uint16_t)pair);
#else
    return irisi_bits_widen_f8e4m3(x);
#endif
}

IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3(float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    __asm__("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    return (uint8_t)pair;
#else
    return irisi_bits_narrow_f8e4m3(x);
#endif
}

/* An OCP E5M2 is the upper byte of an f16. */
IRIS_HOST_DEVICE float irisi_widen_f8e5m2(uint8_t x) { return irisi_widen_f16((uint16_t)(x << 8)); }

IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2(float x)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    __asm__("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(x));
    return (uint8_t)pair;
#else
    return irisi_bits_narrow_f8e5m2(x);
#endif
}

/* AMD's formats: no instruction. */
IRIS_HOST_DEVICE float irisi_widen_f8e4m3fnuz(uint8_t x) { return irisi_bits_widen_f8e4m3fnuz(x); }
IRIS_HOST_DEVICE float irisi_widen_f8e5m2fnuz(uint8_t x) { return irisi_bits_widen_f8e5m2fnuz(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3fnuz(float x) { return irisi_bits_narrow_f8e4m3fnuz(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2fnuz(float x) { return irisi_bits_narrow_f8e5m2fnuz(x); }

#endif
