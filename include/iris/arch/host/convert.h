/* SPDX-License-Identifier: MIT */
/*
 * convert.h (host): the conversions of the 16- and 8-bit floats; also in plain C files of a GPU build.
 *
 *   irisi_{widen,narrow}_{f16,bf16,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz}
 *
 * The portable ones, which vectorise: F16C would only serve f16, and gcc 12 does not vectorise conversions of
 * _Float16.
 */
#ifndef IRIS_ARCH_HOST_CONVERT_H
#define IRIS_ARCH_HOST_CONVERT_H

#include <iris/arch/convert_bits.h>

IRIS_HOST_DEVICE float irisi_widen_f16(uint16_t x) { return irisi_bits_widen_f16(x); }
IRIS_HOST_DEVICE float irisi_widen_bf16(uint16_t x) { return irisi_bits_widen_bf16(x); }
IRIS_HOST_DEVICE float irisi_widen_f8e4m3(uint8_t x) { return irisi_bits_widen_f8e4m3(x); }
IRIS_HOST_DEVICE float irisi_widen_f8e5m2(uint8_t x) { return irisi_bits_widen_f8e5m2(x); }
IRIS_HOST_DEVICE float irisi_widen_f8e4m3fnuz(uint8_t x) { return irisi_bits_widen_f8e4m3fnuz(x); }
IRIS_HOST_DEVICE float irisi_widen_f8e5m2fnuz(uint8_t x) { return irisi_bits_widen_f8e5m2fnuz(x); }

IRIS_HOST_DEVICE uint16_t irisi_narrow_f16(float x) { return irisi_bits_narrow_f16(x); }
IRIS_HOST_DEVICE uint16_t irisi_narrow_bf16(float x) { return irisi_bits_narrow_bf16(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3(float x) { return irisi_bits_narrow_f8e4m3(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2(float x) { return irisi_bits_narrow_f8e5m2(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e4m3fnuz(float x) { return irisi_bits_narrow_f8e4m3fnuz(x); }
IRIS_HOST_DEVICE uint8_t irisi_narrow_f8e5m2fnuz(float x) { return irisi_bits_narrow_f8e5m2fnuz(x); }

#endif
