/* SPDX-License-Identifier: MIT */
/*
 * atomics.c: a kernel for each atomic operation at system scope, for atomics.py.
 */
#include <iris/gen/index.h>
#include <iris/iris.h>

typedef struct isa_args {
    void *memory;
} isa_args;

#define ATOMIC(op, name, ctype)                                                                                        \
    IRIS_KERNEL(isa_##op##_##name, isa_args, a, 64)                                                                    \
    {                                                                                                                  \
        ctype *p = (ctype *)a->memory + iris_lane();                                                                   \
        p[64] = irisi_atomic_##op##_##name(p, (ctype)3, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);                              \
    }

#define BITS(name, ctype) ATOMIC(or, name, ctype) ATOMIC(and, name, ctype) ATOMIC(xor, name, ctype)
#define EXTREMA(name, ctype) ATOMIC(min, name, ctype) ATOMIC(max, name, ctype)
#define WORD(name, ctype) ATOMIC(add, name, ctype) ATOMIC(xchg, name, ctype)

WORD(u32, uint32_t)
WORD(u64, uint64_t)
BITS(u32, uint32_t)
BITS(u64, uint64_t)
EXTREMA(u32, uint32_t)
EXTREMA(u64, uint64_t)
EXTREMA(i32, int32_t)
EXTREMA(i64, int64_t)
ATOMIC(add, f32, float)
ATOMIC(add, f64, double)
