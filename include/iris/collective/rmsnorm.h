/* SPDX-License-Identifier: MIT */
/*
 * rmsnorm.h: what all-reduce with residual and RMSNorm works on, and what its lanes do together.
 *
 *   iris_rmsnorm IRIS_RMSNORM_SHARED
 *   irisi_rmsnorm_rows irisi_rsqrt irisi_wg_sum irisi_wg_max_u32
 *
 * <iris/gen/all_reduce_rmsnorm.h> has the functions.
 */
#ifndef IRIS_COLLECTIVE_RMSNORM_H
#define IRIS_COLLECTIVE_RMSNORM_H

#include <iris/collective/sources.h>

/** Bytes of workgroup-shared memory that a workgroup needs for it. */
enum { IRIS_RMSNORM_SHARED = 256 };

/**
 * For each row of `columns` elements:
 *
 *   x        = src of every member added up, + residual, in f32 and rounded once
 *   residual = x
 *   out      = x / sqrt(mean of x squared + epsilon) * weight
 *
 * (B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019.) All of it 16-byte aligned; columns a multiple of
 * 8; out, residual and src apart. rows, columns, epsilon, scale, and what residual and weight hold are the same on
 * every member.
 */
typedef struct iris_rmsnorm {
    void *out;          /**< rows * columns elements; of f8e4m3 where scale is not 0 */
    void *residual;     /**< rows * columns elements, read and overwritten */
    const void *src;    /**< rows * columns elements: this member's part of the sum; symmetric */
    const void *weight; /**< columns elements */
    size_t rows, columns;
    float epsilon;
    float
        scale; /**< 0: out is of the type of src; else f8e4m3, and holds out / scale, the largest where that is more */
} iris_rmsnorm;

/* Rows of each slice, as even as can be: the same on every rank. */
IRIS_HOST_DEVICE size_t irisi_rmsnorm_rows(const iris_channel *ch, size_t rows)
{
    const uint32_t slices = irisi_some_slices(ch, 1);
    return slices == 0 ? rows : irisi_divide(rows + slices - 1, slices);
}

#if IRIS_HAS_DEVICE

/*
 * 1 / sqrt(x) within 2 units in the last place, for x > 0 that is no denormal, without a math library; 0 of infinity,
 * so that a row whose squares overflow becomes 0, and NaN where it is infinite, and no finite norm is made up.
 * The exponent halved and turned round is within 4 %; each of Newton's steps squares what is missing.
 */
IRIS_DEVICE float irisi_rsqrt(float x)
{
    float y = irisi_f32_from(0x5F375A86u - (irisi_f32_bits(x) >> 1));
    for (int step = 0; step < 4; step++)
        y = y * (1.5f - 0.5f * x * y * y);
    return irisi_f32_bits(x) == 0x7F800000u ? 0.0f : y; /* infinity; compilers may not know of one */
}

/*
 * Leaves x of each wave's first lane in `shared`, which every lane may read behind it. Every lane of the workgroup
 * calls it. Neither the wave's number nor which lanes are first waits in scalar registers from row to row.
 */
IRIS_DEVICE void irisi_wg_leave(float x, float *shared)
{
    const uint32_t lane = irisi_in_vector_register_u32(iris_wg_lane());
    iris_sync_wg(); /* what was left before has been read */
    if (lane % iris_wave_lanes() == 0)
        shared[lane / iris_wave_lanes()] = x;
    iris_sync_wg();
}

/* iris_waves, of which nothing is kept from row to row. */
IRIS_DEVICE uint32_t irisi_wg_waves(void)
{
    return (irisi_rematerialize_u32(iris_wg_lanes()) + iris_wave_lanes() - 1) / iris_wave_lanes();
}

/*
 * The sum of x over the workgroup, the same on every lane. The order of the additions depends on the number of lanes
 * alone. Every lane of the workgroup calls it; `shared` is workgroup-shared.
 */
IRIS_DEVICE float irisi_wg_sum(float x, float *shared)
{
    float sum = 0;
    for (uint32_t mask = iris_wave_lanes() / 2; mask > 0; mask /= 2)
        x += iris_shuffle_xor_f32(x, mask);
    irisi_wg_leave(x, shared);
    for (uint32_t wave = 0, waves = irisi_wg_waves(); wave < waves; wave++)
        sum += shared[wave];
    return sum;
}

/* The largest x of the workgroup, the same on every lane; as irisi_wg_sum, in the same memory. */
IRIS_DEVICE uint32_t irisi_wg_max_u32(uint32_t x, float *shared)
{
    for (uint32_t mask = iris_wave_lanes() / 2; mask > 0; mask /= 2) {
        const uint32_t other = iris_shuffle_xor_u32(x, mask);
        x = other > x ? other : x;
    }
    irisi_wg_leave(irisi_f32_from(x), shared);
    for (uint32_t wave = 0, waves = irisi_wg_waves(); wave < waves; wave++) {
        const uint32_t other = irisi_f32_bits(shared[wave]);
        x = other > x ? other : x;
    }
    return x;
}

#endif
#endif
