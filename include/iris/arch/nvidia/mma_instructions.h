/* SPDX-License-Identifier: MIT */
/*
 * mma_instructions.h (nvidia): the instructions of the loop around mma.sync. On the host a test has stand-ins for them.
 *
 *   irisi_copy_chunk irisi_copy_whole_chunk irisi_copies_close irisi_copies_await irisi_copies_arrive
 *                                                              global to shared memory, beside the lanes (cp.async)
 *   irisi_load_matrices irisi_load_matrices_transposed irisi_load_double irisi_load_quad irisi_load_two irisi_load_word
 *   irisi_load_short irisi_load_words                          shared memory to registers
 *   irisi_store_short                                          and back
 *   irisi_read_chunk                                           global memory to registers
 *   irisi_mma_operands_16 irisi_mma_operands_64                operands of a step
 *   irisi_mma_f16 irisi_mma_bf16 irisi_mma_f64                 products of a block
 */
#ifndef IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H

#include <iris/arch/nvidia/async.h>

/* Begins to copy the first `bytes` of 16 bytes to shared memory, zeros for the rest; addresses are multiples of 16. */
IRIS_DEVICE void irisi_copy_chunk(uint32_t to, const void *from, uint32_t bytes)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes)
                 : "memory");
}

IRIS_DEVICE void irisi_copy_whole_chunk(uint32_t to, const void *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from))
                 : "memory");
}

/* Closes the lane's group of copies. */
IRIS_DEVICE void irisi_copies_close(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* The lane arrives at an mbarrier once all that it has begun to copy is in shared memory. */
IRIS_DEVICE void irisi_copies_arrive(uint32_t bar)
{
#if IRISI_BULK
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
#else
    (void)bar;
#endif
}

/* Waits until at most `open` of the lane's groups are under way: 0, 1 or 2. */
IRIS_DEVICE void irisi_copies_await(uint32_t open)
{
    if (open == 2)
        asm volatile("cp.async.wait_group 2;" ::: "memory");
    else if (open == 1)
        asm volatile("cp.async.wait_group 1;" ::: "memory");
    else
        asm volatile("cp.async.wait_group 0;" ::: "memory");
}

/*
 * Loads four 8 x 8 matrices of 16-bit values, a row of 16 bytes from each lane's address; below, transposes them too.
 */
IRIS_DEVICE void irisi_load_matrices(uint32_t *w, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
}
IRIS_DEVICE void irisi_load_matrices_transposed(uint32_t *w, uint32_t from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
}
/* Loads a word; below, 16 bits. */
IRIS_DEVICE uint32_t irisi_load_word(uint32_t from)
{
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(from));
    return v;
}
IRIS_DEVICE uint32_t irisi_load_short(uint32_t from)
{
    uint32_t v;
    asm volatile("{\n .reg .u16 h;\n ld.shared.u16 h, [%1];\n cvt.u32.u16 %0, h;\n}" : "=r"(v) : "r"(from));
    return v;
}
/* Loads four words from a multiple of 16. */
IRIS_DEVICE void irisi_load_words(uint32_t *w, uint32_t from)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : "r"(from));
}
IRIS_DEVICE void irisi_store_short(uint32_t to, uint32_t v)
{
    asm volatile("{\n .reg .u16 h;\n cvt.u16.u32 h, %1;\n st.shared.u16 [%0], h;\n}" ::"r"(to), "r"(v) : "memory");
}
IRIS_DEVICE double irisi_load_double(uint32_t from)
{
    double v;
    asm volatile("ld.shared.f64 %0, [%1];" : "=d"(v) : "r"(from));
    return v;
}

IRIS_DEVICE void irisi_load_quad(float *v, uint32_t from)
{
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "r"(from));
}
IRIS_DEVICE void irisi_load_two(float *v, uint32_t from)
{
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "r"(from));
}

/*
 * Loads 16 bytes at a multiple of 16 that are not read again soon, or zeros if they are not `there`; their line comes
 * into the cache. Not by the path for constant data (.nc), because the kernel before may still write them when this one
 * begins.
 */
IRIS_DEVICE void irisi_read_chunk(uint32_t *w, const void *from, uint32_t there)
{
    asm volatile("{\n .reg .pred p;\n setp.ne.u32 p, %5, 0;\n"
                 " mov.u32 %0, 0;\n mov.u32 %1, 0;\n mov.u32 %2, 0;\n mov.u32 %3, 0;\n"
                 " @p ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
                 : "=&r"(w[0]), "=&r"(w[1]), "=&r"(w[2]), "=&r"(w[3])
                 : "l"(__cvta_generic_to_global(from)), "r"(there));
}

/* A lane's operands of a step: blocks of A, pairs of blocks of B. */
typedef struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
} irisi_mma_operands_16;
typedef struct irisi_mma_operands_64 {
    double a[2][2], b[4];
} irisi_mma_operands_64;

/* c += a * b for the block in row m and column n of a lane's blocks, with the operands of a step. */
IRIS_DEVICE void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(o->a[m][0]), "r"(o->a[m][1]), "r"(o->a[m][2]), "r"(o->a[m][3]), "r"(o->b[n / 2][n % 2 * 2]),
          "r"(o->b[n / 2][n % 2 * 2 + 1]));
}
IRIS_DEVICE void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(o->a[m][0]), "r"(o->a[m][1]), "r"(o->a[m][2]), "r"(o->a[m][3]), "r"(o->b[n / 2][n % 2 * 2]),
          "r"(o->b[n / 2][n % 2 * 2 + 1]));
}
/* From sm_90 on one instruction instead of two, which is faster. */
IRIS_DEVICE void irisi_mma_f64(double *c, const irisi_mma_operands_64 *o, uint32_t m, uint32_t n)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(o->a[m][0]), "d"(o->a[m][1]), "d"(o->b[n]));
#else
#pragma unroll
    for (uint32_t half = 0; half < 2; half++)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
            : "d"(o->a[m][half]), "d"(o->b[n]));
#endif
}

#endif
