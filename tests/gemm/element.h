/* SPDX-License-Identifier: MIT */
/*
 * element.h: one value of an element type of a GEMM, as a double: read, written, rounded, and what rounding may change.
 *
 *   element_get element_set element_round element_whole element_half_unit element_cut
 */
#ifndef TESTS_GEMM_ELEMENT_H
#define TESTS_GEMM_ELEMENT_H

#include <math.h>
#include <string.h>

#include <iris/arch/select.h>
#include <iris/dtype.h>

/* A value in memory. */
union element_bits {
    iris_f16 h;
    iris_bf16 b;
    float f;
    double d;
    int8_t i;
    int32_t n;
    iris_f8e4m3 e4;
    iris_f8e5m2 e5;
    iris_f8e4m3fnuz e4z;
    iris_f8e5m2fnuz e5z;
};

static inline double element_get(iris_dtype dtype, const unsigned char *p)
{
    union element_bits v;
    v.d = 0;
    memcpy(&v, p, iris_dtype_bytes(dtype));
    switch (dtype) {
    case IRIS_F16: return (double)iris_widen_f16(v.h);
    case IRIS_BF16: return (double)iris_widen_bf16(v.b);
    case IRIS_F32: return (double)v.f;
    case IRIS_I8: return v.i;
    case IRIS_I32: return v.n;
    case IRIS_F8E4M3: return (double)iris_widen_f8e4m3(v.e4);
    case IRIS_F8E5M2: return (double)iris_widen_f8e5m2(v.e5);
    case IRIS_F8E4M3FNUZ: return (double)iris_widen_f8e4m3fnuz(v.e4z);
    case IRIS_F8E5M2FNUZ: return (double)iris_widen_f8e5m2fnuz(v.e5z);
    default: return v.d;
    }
}

/* By way of f32 where the type is narrower: rounded once, where v is exact in f32. */
static inline void element_set(iris_dtype dtype, unsigned char *p, double v)
{
    const float f = (float)v;
    union element_bits to;
    switch (dtype) {
    case IRIS_F16: to.h = iris_narrow_f16(f); break;
    case IRIS_BF16: to.b = iris_narrow_bf16(f); break;
    case IRIS_F32: to.f = f; break;
    case IRIS_I8: to.i = irisi_round_i8(f); break;
    case IRIS_I32: to.n = irisi_round_i32(v); break;
    case IRIS_F8E4M3: to.e4 = iris_narrow_f8e4m3(f); break;
    case IRIS_F8E5M2: to.e5 = iris_narrow_f8e5m2(f); break;
    case IRIS_F8E4M3FNUZ: to.e4z = iris_narrow_f8e4m3fnuz(f); break;
    case IRIS_F8E5M2FNUZ: to.e5z = iris_narrow_f8e5m2fnuz(f); break;
    default: to.d = v; break;
    }
    memcpy(p, &to, iris_dtype_bytes(dtype));
}

/* The value that a type has for v. */
static inline double element_round(iris_dtype dtype, double v)
{
    unsigned char bytes[8];
    element_set(dtype, bytes, v);
    return element_get(dtype, bytes);
}

/* 1 for types of whole numbers. */
static inline int element_whole(iris_dtype dtype) { return dtype == IRIS_I8 || dtype == IRIS_I32; }

/* Half a unit in the last place of a value of a type; none of a whole number that is one. */
static inline double element_half_unit(iris_dtype dtype, double v)
{
    static const int digits[][3] = {{IRIS_F16, 11, -24},   {IRIS_BF16, 8, -133}, {IRIS_F32, 24, -149},
                                    {IRIS_F64, 53, -1074}, {IRIS_F8E4M3, 4, -9}};
    if (element_whole(dtype))
        return v == floor(v) ? 0 : 0.5;
    for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
        const int last = v == 0 ? digits[i][2] : ilogb(v) - digits[i][1] + 1;
        if (digits[i][0] == (int)dtype)
            return ldexp(0.5, last > digits[i][2] ? last : digits[i][2]);
    }
    return 0;
}

/* A value within what a type can hold, where the library cuts what is beyond. */
static inline double element_cut(iris_dtype dtype, double v)
{
    const double high = dtype == IRIS_I8 ? 127 : dtype == IRIS_I32 ? 2147483647 : dtype == IRIS_F8E4M3 ? 448 : HUGE_VAL;
    const double low = element_whole(dtype) ? -high - 1 : -high;
    return v > high ? high : v < low ? low : v;
}

#endif
