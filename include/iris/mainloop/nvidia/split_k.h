/* SPDX-License-Identifier: MIT */
/*
 * split_k.h (nvidia): how the sm_90a mainloops add up splits of K, which different workgroups computed.
 *
 *   irisi_gemm_join irisi_gemm_sum_out irisi_gemm_sum_in irisi_gemm_leave_sums irisi_gemm_look
 */
#ifndef IRIS_MAINLOOP_NVIDIA_SPLIT_K_H
#define IRIS_MAINLOOP_NVIDIA_SPLIT_K_H

#include <iris/mainloop/shape.h>
#include <iris/gemm/tile.h>

/*
 * Sums of a split as another workgroup reads them from memory. Each shows by its value whether it has arrived: until
 * then its place holds IRISI_GEMM_MISSING, a NaN that no product gives. So there is neither a flag nor a fence. i32 is
 * stored with the top bit flipped: only INT32_MAX would then look missing, which the sum of fewer than 131072 products
 * of i8, each at most 16384, does not reach (irisi_gemm_shares sees to so many splits).
 */
enum { IRISI_GEMM_LOOKS = 8 };
#define IRISI_GEMM_MISSING 0xffffffffu
typedef struct irisi_gemm_sums {
    uint32_t v[IRISI_GEMM_LOOKS][4];
} irisi_gemm_sums;

/*
 * irisi_gemm_sum_out: a sum as it is stored. irisi_gemm_sum_in: adds a stored one to `own`. `whole`, a constant: i32.
 */
IRIS_DEVICE uint32_t irisi_gemm_sum_out(const void *own, const int whole)
{
    uint32_t v;
    __builtin_memcpy(&v, own, sizeof v);
    return whole ? v ^ 0x80000000u : v == IRISI_GEMM_MISSING ? 0x7fffffffu : v;
}
IRIS_DEVICE void irisi_gemm_sum_in(void *own, uint32_t other, const int whole)
{
    uint32_t v;
    __builtin_memcpy(&v, own, sizeof v);
    v = whole ? v + (other ^ 0x80000000u) : __float_as_uint(__uint_as_float(v) + __uint_as_float(other));
    __builtin_memcpy(own, &v, sizeof v);
}

/* Stores four sums for another workgroup of the device. */
IRIS_DEVICE void irisi_gemm_leave_sums(uint32_t *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(a), "r"(b), "r"(c), "r"(d)
                 : "memory");
}

/* Reads a lane's `quads` groups of four sums, which are 1024 sums apart: 1 when all have arrived. */
IRIS_DEVICE int irisi_gemm_look(irisi_gemm_sums *sums, const uint32_t *from, uint32_t quads)
{
    int missing = 0;
#pragma unroll
    for (uint32_t j = 0; j < IRISI_GEMM_LOOKS; j++)
        if (j < quads)
            asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(sums->v[j][0]), "=r"(sums->v[j][1]), "=r"(sums->v[j][2]), "=r"(sums->v[j][3])
                         : "l"(from + 1024 * j)
                         : "memory");
#pragma unroll
    for (uint32_t j = 0; j < IRISI_GEMM_LOOKS; j++)
#pragma unroll
        for (uint32_t i = 0; j < quads && i < 4; i++)
            missing |= sums->v[j][i] == IRISI_GEMM_MISSING;
    return !missing;
}

/*
 * Adds up a tile's splits of K. Workgroups that computed a split before the last store their accumulators in
 * `partials`; the one that computed the last waits for them in order, adds them up, and writes IRISI_GEMM_MISSING in
 * their place for the next launch. The wait ends: workgroups begin in order, so those waited for have begun, and no
 * wave leaves its schedule early, even when the world has stopped. Every lane of the math wave group calls it. `v` has
 * `n` columns, a constant, of f32 or, if `whole`, i32.
 */
IRIS_DEVICE void irisi_gemm_join(const iris_gemm_plan *plan, const iris_tile *tile, const iris_wave_group *group,
                                 void *v, const uint32_t n, const int whole)
{
    char *own = (char *)v;
    const size_t each = IRISI_GEMM_PARTIAL_BYTES / sizeof(uint32_t);
    const uint32_t quads = n > 192 ? 4 : IRISI_GEMM_LOOKS, last = irisi_tile_position(tile);
    uint32_t *at = (uint32_t *)plan->tiling.partials + each * last + 4 * group->member;
    if (plan->tiling.split_k == 1 || group->wave * 16 >= tile->rows)
        return;
    if (tile->k_split + 1 < plan->tiling.split_k) {
#pragma unroll
        for (uint32_t i = 0; i < n / 2; i += 4)
            irisi_gemm_leave_sums(at + 256 * i, irisi_gemm_sum_out(own + 4 * i, whole),
                                  irisi_gemm_sum_out(own + 4 * i + 4, whole),
                                  irisi_gemm_sum_out(own + 4 * i + 8, whole),
                                  irisi_gemm_sum_out(own + 4 * i + 12, whole));
        return;
    }
    at -= each * plan->tiling.cluster * tile->k_split;
    for (uint32_t k_split = 0; k_split < tile->k_split; k_split++, at += each * plan->tiling.cluster)
#pragma unroll
        for (uint32_t i = 0; i < n / 2; i += 4 * quads) {
            irisi_gemm_sums sums;
            for (uint32_t spin = 1; !irisi_gemm_look(&sums, at + 256 * i, quads); spin++)
                iris_pause(spin);
#pragma unroll
            for (uint32_t j = 0; j < 4 * quads; j++)
                irisi_gemm_sum_in(own + 4 * (i + j), sums.v[j / 4][j % 4], whole);
#pragma unroll
            for (uint32_t j = 0; j < quads; j++)
                irisi_gemm_leave_sums(at + 256 * i + 1024 * j, IRISI_GEMM_MISSING, IRISI_GEMM_MISSING,
                                      IRISI_GEMM_MISSING, IRISI_GEMM_MISSING);
        }
}

#endif
