/* SPDX-License-Identifier: MIT */
/*
 * op.h: what reductions and atomics combine two values with, for every type that values are computed in.
 *
 *   iris_{sum,prod,min,max}_<acc>   i8 u8 i16 u16 i32 u32 i64 u64 f32 f64   (from <iris/gen/op.h>)
 *   iris_{and,or,xor}_<int>         i8 u8 i16 u16 i32 u32 i64 u64
 *
 * Integers wrap around: the result is the low bits of the exact one, signed types in two's complement. Nothing here
 * is undefined behaviour.
 *
 * Float sum and product round once, to nearest even. Minimum and maximum let a number win over a NaN and give NaN
 * only for two of them, like C's fmin and fmax, which NCCL and RCCL reduce with. Unlike theirs the result has the same
 * bits on every platform: of two equal values (0 and -0) the first, of two NaNs the second.
 */
#ifndef IRIS_OP_H
#define IRIS_OP_H

#include <iris/dtype.h>
#include <iris/gen/op.h>

#endif
