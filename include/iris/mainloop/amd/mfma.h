/* SPDX-License-Identifier: MIT */
/*
 * mfma.h (amd): the matrix instructions and the memory accesses of the loops around them.
 *
 *   irisi_mfma_{f32,i8,f8e4m3fnuz,f8e5m2fnuz,f8e4m3,f8e5m2}
 *   irisi_mfma_acc irisi_mfma_{f16,bf16}                    gen/arch/mfma_amd.h has these
 *   irisi_mfma_acc_16 irisi_mfma_16_{f16,bf16}              of a block of 16 x 16, and these
 *   irisi_mfma_lds irisi_mfma_read irisi_mfma_read_word irisi_mfma_write irisi_mfma_read_sum irisi_mfma_write_sums
 *   irisi_mfma_load irisi_mfma_load_run irisi_mfma_load_lds irisi_mfma_loaded
 *   irisi_mfma_part irisi_mfma_hurry irisi_mfma_yield irisi_mfma_now
 *   irisi_mfma_in_image
 */
#ifndef IRIS_MAINLOOP_AMD_MFMA_H
#define IRIS_MAINLOOP_AMD_MFMA_H

#include <iris/arch/amd/memory.h>
#include <iris/gemm/plan.h>
#include <iris/gen/arch/mfma_amd.h>

typedef IRISI_LOCAL char *irisi_mfma_lds;

/*
 * acc += first * second, like irisi_mfma_f16 (gen/arch/mfma_amd.h), for f32: a step is 8 elements deep, an instruction
 * 2.
 */
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f32(const irisi_words *first, const irisi_words *second, uint32_t step,
                                          irisi_mfma_acc acc)
{
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
    float a[4], b[4];
    __builtin_memcpy(a, first + step, sizeof a);
    __builtin_memcpy(b, second + step, sizeof b);
#pragma unroll
    for (int i = 0; i < 4; i++)
        acc = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i], b[i], acc, 0, 0, 0);
#else
    (void)first, (void)second, (void)step;
#endif
    return acc;
}

/* The same for i8: a step is 32 elements deep, and accumulators are i32. */
IRIS_DEVICE irisi_mfma_acc irisi_mfma_i8(const irisi_words *first, const irisi_words *second, uint32_t step,
                                         irisi_mfma_acc acc)
{
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
    typedef int __attribute__((ext_vector_type(16))) whole;
    whole sums = __builtin_bit_cast(whole, acc);
#if defined(__gfx950__)
    typedef int __attribute__((ext_vector_type(4))) operand;
    enum { PARTS = 1 };
#elif defined(__gfx942__)
    typedef long operand;
    enum { PARTS = 2 };
#else
    typedef int operand;
    enum { PARTS = 4 };
#endif
    operand a[PARTS], b[PARTS];
    __builtin_memcpy(a, first + step, sizeof a);
    __builtin_memcpy(b, second + step, sizeof b);
#pragma unroll
    for (int i = 0; i < PARTS; i++)
#if defined(__gfx950__)
        sums = __builtin_amdgcn_mfma_i32_32x32x32_i8(a[i], b[i], sums, 0, 0, 0);
#elif defined(__gfx942__)
        sums = __builtin_amdgcn_mfma_i32_32x32x16_i8(a[i], b[i], sums, 0, 0, 0);
#else
        sums = __builtin_amdgcn_mfma_i32_32x32x8i8(a[i], b[i], sums, 0, 0, 0);
#endif
    return __builtin_bit_cast(irisi_mfma_acc, sums);
#else
    (void)first, (void)second, (void)step;
    return acc;
#endif
}

/*
 * The same for 8-bit floats: a step is 32 elements deep; fnuz and e5m2 are constants. gfx942's instructions take fnuz
 * formats and are 16 deep. gfx950's take OCP's formats; those that are 64 deep are twice as fast as others, and are
 * used at every second step, for both.
 */
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f8(const irisi_words *first, const irisi_words *second, uint32_t step,
                                         irisi_mfma_acc acc, int fnuz, int e5m2)
{
#if defined(__gfx950__)
    typedef int __attribute__((ext_vector_type(8))) operand;
    operand a, b;
    if (fnuz || step % 2 == 0)
        return acc;
    __builtin_memcpy(&a, first + step - 1, sizeof a);
    __builtin_memcpy(&b, second + step - 1, sizeof b);
    if (e5m2) /* 1, 1: the formats of a and b; the zeros behind them: no scales */
        return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, acc, 1, 1, 0, 0, 0, 0);
    return __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, acc, 0, 0, 0, 0, 0, 0);
#elif defined(__gfx942__)
    long a[2], b[2];
    __builtin_memcpy(a, first + step, sizeof a);
    __builtin_memcpy(b, second + step, sizeof b);
    for (int half = 0; half < 2 && fnuz; half++)
        acc = e5m2 ? __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(a[half], b[half], acc, 0, 0, 0)
                   : __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a[half], b[half], acc, 0, 0, 0);
    return acc;
#else
    (void)first, (void)second, (void)step, (void)fnuz, (void)e5m2;
    return acc;
#endif
}
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f8e4m3fnuz(const irisi_words *first, const irisi_words *second, uint32_t step,
                                                 irisi_mfma_acc acc)
{
    return irisi_mfma_f8(first, second, step, acc, 1, 0);
}
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f8e5m2fnuz(const irisi_words *first, const irisi_words *second, uint32_t step,
                                                 irisi_mfma_acc acc)
{
    return irisi_mfma_f8(first, second, step, acc, 1, 1);
}
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f8e4m3(const irisi_words *first, const irisi_words *second, uint32_t step,
                                             irisi_mfma_acc acc)
{
    return irisi_mfma_f8(first, second, step, acc, 0, 0);
}
IRIS_DEVICE irisi_mfma_acc irisi_mfma_f8e5m2(const irisi_words *first, const irisi_words *second, uint32_t step,
                                             irisi_mfma_acc acc)
{
    return irisi_mfma_f8(first, second, step, acc, 0, 1);
}

/* Reads or writes workgroup-shared memory, `offset` bytes on. */
IRIS_DEVICE irisi_words irisi_mfma_read(irisi_mfma_lds lds, uint32_t offset)
{
    return *(const IRISI_LOCAL irisi_any_128 *)(lds + offset);
}
IRIS_DEVICE uint32_t irisi_mfma_read_word(irisi_mfma_lds lds, uint32_t offset)
{
    return *(const IRISI_LOCAL irisi_any_32 *)(lds + offset);
}
IRIS_DEVICE void irisi_mfma_write(irisi_mfma_lds lds, uint32_t offset, irisi_words words)
{
    *(IRISI_LOCAL irisi_any_128 *)(lds + offset) = words;
}

IRIS_DEVICE float irisi_mfma_read_sum(irisi_mfma_lds lds, uint32_t offset)
{
    return *(const IRISI_LOCAL float *)(lds + offset);
}
IRIS_DEVICE void irisi_mfma_write_sums(irisi_mfma_lds lds, uint32_t offset, irisi_mfma_acc_16 sums)
{
    *(IRISI_LOCAL irisi_mfma_acc_16 *)(lds + offset) = sums;
}

/* Hides from the compiler how a lane's value was computed, as irisi_rematerialize does. */
IRIS_DEVICE uint32_t irisi_mfma_now(uint32_t v)
{
    __asm__ __volatile__("" : "+v"(v));
    return v;
}

/*
 * Loads 16 bytes of global memory. `base` is the same in all lanes of the wave, so that it stays in scalar registers.
 * irisi_mfma_now keeps the compiler from widening offsets before the loop, where each would take two registers.
 */
IRIS_DEVICE irisi_words irisi_mfma_load(const IRISI_GLOBAL char *base, uint32_t offset)
{
    offset = irisi_mfma_now(offset);
    return *(const IRISI_GLOBAL irisi_any_128 *)(base + (uint64_t)offset);
}

/* The same for so many bytes, a constant: 16, 8, 4 or, into the low half of a word, 2. */
IRIS_DEVICE void irisi_mfma_load_run(const IRISI_GLOBAL char *base, uint32_t offset, uint32_t bytes, uint32_t *to)
{
    const IRISI_GLOBAL char *from = base + (uint64_t)irisi_mfma_now(offset);
    const irisi_words none = {0, 0, 0, 0}, words = bytes == 16 ? *(const IRISI_GLOBAL irisi_any_128 *)from : none;
    const uint64_t two = bytes == 8 ? *(const IRISI_GLOBAL irisi_any_64 *)from : 0;
    if (bytes == 16)
        to[0] = words[0], to[1] = words[1], to[2] = words[2], to[3] = words[3];
    else if (bytes == 8)
        to[0] = (uint32_t)two, to[1] = (uint32_t)(two >> 32);
    else
        to[0] = bytes == 4 ? *(const IRISI_GLOBAL irisi_any_32 *)from : *(const IRISI_GLOBAL irisi_any_16 *)from;
}

/*
 * Loads 16 bytes for each lane from global memory into the 1024 bytes of shared memory at `lds`, which is the same in
 * all lanes; irisi_mfma_loaded waits for it. gfx950 has an instruction for that, without registers in between. It is in
 * asm, because the compiler would wait for it before the next barrier and before the next read of any shared memory. A
 * vector instruction may have written the base's registers just before (readfirstlane): then five clocks must pass,
 * which the compiler does not see to for asm. Other devices, and gfx950 with the macro IRIS_NO_DIRECT_LDS, load the 16
 * bytes into registers, wait, and write them.
 */
IRIS_DEVICE void irisi_mfma_load_lds(const IRISI_GLOBAL char *base, uint32_t offset, irisi_mfma_lds lds)
{
#if defined(__gfx950__) && !defined(IRIS_NO_DIRECT_LDS)
    uint32_t kept; /* asm cannot say that it changes m0 */
    __asm__ __volatile__("s_mov_b32 %0, m0\n\ts_mov_b32 m0, %3\n\ts_nop 2\n\t"
                         "global_load_lds_dwordx4 %1, %2\n\ts_mov_b32 m0, %0"
                         : "=&s"(kept)
                         : "v"(offset),
                           "s"((uint64_t)(uint32_t)__builtin_amdgcn_readfirstlane((int)((uint64_t)base >> 32)) << 32 |
                               (uint32_t)__builtin_amdgcn_readfirstlane((int)(uint64_t)base)),
                           "s"(__builtin_amdgcn_readfirstlane((int)(uintptr_t)lds))
                         : "memory");
#else
    irisi_mfma_write(lds, 16 * iris_lane(), irisi_mfma_load(base, offset));
#endif
}

/* Waits until all of the wave's irisi_mfma_load_lds are in shared memory; barriers alone do not wait for them. */
IRIS_DEVICE void irisi_mfma_loaded(void) { __asm__ __volatile__("s_waitcnt vmcnt(0)" ::: "memory"); }

/* The compiler moves no instruction across it: a wave uses memory on one side, the matrix unit on the other. */
IRIS_DEVICE void irisi_mfma_part(void) { __builtin_amdgcn_sched_barrier(0); }

/* 1: this wave's instructions go before those of the SIMD's other waves. 0: it waits its turn again. */
IRIS_DEVICE void irisi_mfma_hurry(int yes)
{
    if (yes)
        __builtin_amdgcn_s_setprio(1);
    else
        __builtin_amdgcn_s_setprio(0);
}

/* Sleeps for no clocks while the wave polls for others. */
IRIS_DEVICE void irisi_mfma_yield(void) { __builtin_amdgcn_s_sleep(0); }

/* 1 when this compilation is for an architecture that the mainloop is made for. */
IRIS_DEVICE int irisi_mfma_in_image(uint32_t mainloop)
{
#if defined(__gfx90a__)
    return mainloop == IRISI_GEMM_SKINNY_MFMA || mainloop == IRISI_GEMM_MFMA_GFX90A ||
           mainloop == IRISI_GEMM_MFMA_GFX90A_SMALL;
#elif defined(__gfx942__)
    return mainloop == IRISI_GEMM_SKINNY_MFMA || mainloop == IRISI_GEMM_MFMA_GFX942 ||
           mainloop == IRISI_GEMM_MFMA_GFX942_SMALL;
#elif defined(__gfx950__)
    return mainloop == IRISI_GEMM_SKINNY_MFMA || mainloop == IRISI_GEMM_MFMA_GFX950 ||
           mainloop == IRISI_GEMM_MFMA_GFX950_SMALL;
#else
    return (void)mainloop, 0;
#endif
}

#endif
