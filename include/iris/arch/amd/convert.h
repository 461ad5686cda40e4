/* SPDX-License-Identifier: MIT */
/*
 * convert.h (amd): the conversions of the 16- and 8-bit floats.
 *
 *   irisi_{widen,narrow}_{f16,bf16,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz}
 *
 * One instruction where the chip has one, and selects for what it does otherwise than convert_bits.h (NaN, values
 * beyond the range): f16 everywhere, bf16 on gfx950, 8-bit floats in the fnuz formats on gfx942 and in the OCP
 * formats on gfx950. Everything else, and host code, takes the portable way.
 */
#ifndef IRIS_ARCH_AMD_CONVERT_H
#define IRIS_ARCH_AMD_CONVERT_H

#include <iris/arch/amd/device.h>

#include <iris/arch/convert_bits.h>

/* `code` unless x is NaN. */
IRIS_HOST_DEVICE uint32_t irisi_unless_nan(float x, uint32_t code, uint32_t nan)
{
    return (irisi_f32_bits(x) & 0x7FFFFFFFu) > 0x7F800000u ? nan : code;
}

IRIS_HOST_DEVICE float irisi_widen_f16(uint16_t x)
{
#if defined(__HIP_DEVICE_COMPILE__)
    return (float)__builtin_bit_cast(_Float16, x);
#else
    return irisi_bits_widen_f16(x);
#endif
}

IRIS_HOST_DEVICE uint16_t irisi_narrow_f16(float x)
{
#if defined(__HIP_DEVICE_COMPILE__)
    return (uint16_t)irisi_unless_nan(x, __builtin_bit_cast(uint16_t, (_Float16)x), 0x7FFF);
#else
    return irisi_bits_narrow_f16(x);
#endif
}

IRIS_HOST_DEVICE float irisi_widen_bf16(uint16_t x) { return irisi_bits_widen_bf16(x); }

IRIS_HOST_DEVICE uint16_t irisi_narrow_bf16(float x)
{
#if defined(__gfx950__)
    return (uint16_t)irisi_unless_nan(x, __builtin_bit_cast(uint16_t, (__bf16)x), 0x7FFF);
#else
    return irisi_bits_narrow_bf16(x);
#endif
}

IRIS_HOST_DEVICE float irisi_widen_f8e4m3(uint8_t x)
{
#if defined(__gfx950__)
    return __builtin_amdgcn_cvt_f32_fp8(x, 0);
#else
    return irisi_bits_widen_f8e4m3(x);
#endif
}

IRIS_HOST_DEVICE float irisi_widen_f8e5m2(uint8_t x)
{
#if defined(__gfx950__)
    return __builtin_amdgcn_cvt_f32_bf8(x, 0);
#else
    return irisi_widen_f16((uint16_t)(x << 8));
#endif
}

IRIS_HOST_DEVICE float irisi_widen_f8e4m3fnuz(uint8_t x)
{
#if defined(__gfx942__)
    return __builtin_amdgcn_cvt_f32_fp8(x, 0);
#else
    return irisi_bits_widen_f8e4m3fnuz(x);
#endif
}

IRIS_HOST_DEVICE float irisi_widen_f8e5m2fnuz(uint8_t x)
{
#if defined(__gfx942__)
    return __builtin_amdgcn_cvt_f32_bf8(x, 0);
#else
    return irisi_bits_widen_f8e5m2fnuz(x);
#endif
}

/* The conversion instructions do not saturate by themselves: the value is clamped first. They convert pairs. */
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3(float x)
{
#if defined(__gfx950__)
    const float clamped = __builtin_amdgcn_fmed3f(x, 448.0f, -448.0f);
    return (uint8_t)irisi_unless_nan(x, __builtin_amdgcn_cvt_pk_fp8_f32(clamped, clamped, 0, false) & 0xFF, 0x7F);
#else
    return irisi_bits_narrow_f8e4m3(x);
#endif
}

IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2(float x)
{
#if defined(__gfx950__)
    const float clamped = __builtin_amdgcn_fmed3f(x, 57344.0f, -57344.0f);
    return (uint8_t)irisi_unless_nan(x, __builtin_amdgcn_cvt_pk_bf8_f32(clamped, clamped, 0, false) & 0xFF, 0x7F);
#else
    return irisi_bits_narrow_f8e5m2(x);
#endif
}

/* 0x80 is no number's code: whatever the chip makes of -0, it becomes 0. */
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3fnuz(float x)
{
#if defined(__gfx942__)
    const float clamped = __builtin_amdgcn_fmed3f(x, 240.0f, -240.0f);
    const uint32_t code = __builtin_amdgcn_cvt_pk_fp8_f32(clamped, clamped, 0, false) & 0xFF;
    return (uint8_t)irisi_unless_nan(x, code == 0x80 ? 0 : code, 0x80);
#else
    return irisi_bits_narrow_f8e4m3fnuz(x);
#endif
}

IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2fnuz(float x)
{
#if defined(__gfx942__)
    const float clamped = __builtin_amdgcn_fmed3f(x, 57344.0f, -57344.0f);
    const uint32_t code = __builtin_amdgcn_cvt_pk_bf8_f32(clamped, clamped, 0, false) & 0xFF;
    return (uint8_t)irisi_unless_nan(x, code == 0x80 ? 0 : code, 0x80);
#else
    return irisi_bits_narrow_f8e5m2fnuz(x);
#endif
}

#endif
