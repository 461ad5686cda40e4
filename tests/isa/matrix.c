/* SPDX-License-Identifier: MIT */
/*
 * matrix.c: an accumulator that goes straight from the matrix unit to another rank (AMD only).
 *
 * The store is asm, so the compiler does not know that it must let the matrix instruction finish first.
 */
#include <iris/iris.h>

typedef float isa_acc __attribute__((ext_vector_type(4)));
typedef _Float16 isa_half __attribute__((ext_vector_type(4)));

typedef struct isa_args {
    iris_ctx ctx;
    const isa_half *a, *b;
    char *dst;
} isa_args;

IRIS_KERNEL(isa_matrix_store, isa_args, m, 64)
{
    const isa_acc zero = {0, 0, 0, 0};
    const isa_acc acc = __builtin_amdgcn_mfma_f32_16x16x16f16(m->a[iris_lane()], m->b[iris_lane()], zero, 0, 0, 0);
    irisi_b128 bits;
    __builtin_memcpy(&bits, &acc, sizeof bits);
    irisi_store_128(m->dst + 16 * iris_lane(), bits, IRIS_CACHE_DEFAULT);
}
