/* SPDX-License-Identifier: MIT */
/*
 * skinny_nvidia.h: skinny_gpu.h for NVIDIA's loops, on stand-ins for mma_instructions.h.
 */
#ifndef TESTS_GEMM_SKINNY_NVIDIA_H
#define TESTS_GEMM_SKINNY_NVIDIA_H

#include <cstdint>

enum { LANES = 32 };
#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define IRIST_GEMM_SHAPE <iris/mainloop/nvidia/gemm_shape.h>
#include "skinny_gpu.h"

namespace {

/* mma.m16n8k16: two elements of K a register (PTX ISA). */
void carry_out(const product &p)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++) {
            const uint32_t row = lane / 4 * 4, column = (lane % 4 * 2 + e % 2) * 4;
            float sum = 0;
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t a = p.a[row + k % 8 / 2][k / 8 * 2 + e / 2], b = p.b[column + k % 8 / 2][k / 8];
                sum += widened((uint16_t)(a >> k % 2 * 16)) * widened((uint16_t)(b >> k % 2 * 16));
            }
            p.c[lane][e] += sum;
        }
}

} // namespace

static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits)
{
    bits = gpu.broken == OTHER_SHIFT ? 16 - bits : bits;
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits % 32);
}
static uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t s)
{
    const uint64_t all = (uint64_t)y << 32 | x;
    uint32_t v = 0;
    s = gpu.broken == OTHER_PAIRS ? s ^ 0x2200 : s;
    for (uint32_t i = 0; i < 4; i++)
        v |= (uint32_t)(all >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return v;
}

struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
};
static void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    multiply(c, o->a[m], 4, o->b[n / 2] + n % 2 * 2, 2);
}
static void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    irisi_mma_f16(c, o, m, n);
}

#endif
