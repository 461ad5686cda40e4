/* SPDX-License-Identifier: MIT */
/*
 * types.h: the element types that a test has kernels for.
 *
 *   IRIST_EACH_DTYPE       X(name, NAME, ctype, bits, kind, acc): as IRIS_EACH_DTYPE
 *   IRIST_EACH_SAMPLE      the same; one type where the code of the others is elsewhere
 *   IRIST_EACH_FULL        types that have every schedule of a reduction
 *   IRIST_EACH_BRIEF       the others: those schedules that hold what a type has of its own
 *
 * -DIRIST_PART=0, 1 or 2 leaves a third of the types (GEMMs: half), where all are too many to compile again: under a
 * sanitizer, and for devices that the test will not run on (tests/compile), where every architecture takes another
 * part. One of them has all schedules of a reduction. Schedules differ by type only in how elements are combined, from
 * memory or from packets: the other types have one schedule of each.
 *
 * For devices -DIRIST_KERNELS_ELSEWHERE besides leaves out the kernels of launch headers, which a program has already,
 * an example or another test, and leaves one type of data movement, which compile/every_function.c has for all types,
 * and of reductions to a root, which are put together from what all-reduce and reduce-scatter have.
 */
#ifndef IRIST_TYPES_H
#define IRIST_TYPES_H

#include <iris/gen/index.h>

#if !defined(IRIST_PART)
#define IRIST_EACH_FULL(X) IRIS_EACH_DTYPE(X)
#define IRIST_EACH_BRIEF(X)
#elif IRIST_PART == 0
#define IRIST_EACH_FULL(X) X(f16, F16, iris_f16, 16, FLOAT, f32)
#define IRIST_EACH_BRIEF(X)                                                                                            \
    X(u8, U8, uint8_t, 8, UINT, u8)                                                                                    \
    X(i16, I16, int16_t, 16, INT, i16)                                                                                 \
    X(f8e5m2, F8E5M2, iris_f8e5m2, 8, FLOAT, f32)                                                                      \
    X(u64, U64, uint64_t, 64, UINT, u64)
#elif IRIST_PART == 1
#define IRIST_EACH_FULL(X) X(bf16, BF16, iris_bf16, 16, FLOAT, f32)
#define IRIST_EACH_BRIEF(X)                                                                                            \
    X(i32, I32, int32_t, 32, INT, i32)                                                                                 \
    X(u16, U16, uint16_t, 16, UINT, u16)                                                                               \
    X(f8e4m3fnuz, F8E4M3FNUZ, iris_f8e4m3fnuz, 8, FLOAT, f32)                                                          \
    X(f64, F64, double, 64, FLOAT, f64)
#else
#define IRIST_EACH_FULL(X) X(i64, I64, int64_t, 64, INT, i64)
#define IRIST_EACH_BRIEF(X)                                                                                            \
    X(i8, I8, int8_t, 8, INT, i8)                                                                                      \
    X(u32, U32, uint32_t, 32, UINT, u32)                                                                               \
    X(f32, F32, float, 32, FLOAT, f32)                                                                                 \
    X(f8e4m3, F8E4M3, iris_f8e4m3, 8, FLOAT, f32)                                                                      \
    X(f8e5m2fnuz, F8E5M2FNUZ, iris_f8e5m2fnuz, 8, FLOAT, f32)
#endif

#define IRIST_EACH_DTYPE(X) IRIST_EACH_FULL(X) IRIST_EACH_BRIEF(X)

#if defined(IRIST_KERNELS_ELSEWHERE)
#define IRIST_EACH_SAMPLE(X) X(bf16, BF16, iris_bf16, 16, FLOAT, f32)
#else
#define IRIST_EACH_SAMPLE(X) IRIST_EACH_DTYPE(X)
#endif

#endif
