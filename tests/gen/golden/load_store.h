/* SPDX-License-Identifier: MIT */
/*
 * load_store.h: loads and stores of one element, or of 16 bytes, on any rank.
 *
 * Generated from templates/memory/load_store.h.j2; edit that or gen/registry.py.
 *
 *   iris_load_cache_{i32, u32, bf16}
 *   iris_load_{i32, u32, bf16}
 *   iris_load_vec_{i32, u32, bf16}
 *   iris_load_{i32, u32, bf16}_if
 *   iris_load_vec_{i32, u32, bf16}_if
 *   iris_store_cache_{i32, u32, bf16}
 *   iris_store_{i32, u32, bf16}
 *   iris_store_vec_{i32, u32, bf16}
 *   iris_store_{i32, u32, bf16}_if
 *   iris_store_vec_{i32, u32, bf16}_if
 */
#ifndef IRIS_GEN_LOAD_STORE_H
#define IRIS_GEN_LOAD_STORE_H

#include <iris/gen/bits.h>
#include <iris/memory.h>

#if IRIS_HAS_DEVICE

/**
 * @name Load and store
 *
 * One access of the calling lane to an object at a symmetric address, on any rank, its own included. A load or store
 * has no order of its own: a signal, iris_fence or iris_quiet orders what was stored, and an acquiring wait stands
 * before what is loaded. Checked mode refuses a rank or an address that cannot be.
 *
 * The forms that end in _if are for ragged edges: a lane whose `ok` is 0 touches no memory, and its address and rank
 * may be anything, in checked mode too. A load gives it `other`. Lanes of a wave may differ in `ok`.
 *
 * @param ctx   the kernel's context, from iris_device_ctx
 * @param src   symmetric address to read, aligned for its element; 16 bytes for a vector
 * @param dst   symmetric address to write, aligned likewise
 * @param value the element to write
 * @param vec   the 16 bytes to write
 * @param rank  world rank
 * @param hint  a constant: how the access uses caches, one for loads or one for stores (iris_cache)
 * @param ok    whether the lane makes the access
 * @param other what a load gives to a lane that does not
 * @{
 */
/** 4 i32 that move as one 16-byte access. */
typedef struct iris_vec_i32 {
    IRISI_ALIGN(16) int32_t v[4]; /**< the elements */
} iris_vec_i32;

/** iris_load_i32 with a cache hint, a constant. */
IRIS_DEVICE int32_t iris_load_cache_i32(const iris_ctx *ctx, const int32_t *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const int32_t value = irisi_unbits_i32(
        irisi_load_32(irisi_reach(ctx, src, rank, sizeof *src, IRISI_ACCESS_LOAD), hint));
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, sizeof *src);
    return value;
}
/** The element at symmetric address `src` on `rank`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE int32_t iris_load_i32(const iris_ctx *ctx, const int32_t *src, int rank)
{
    return iris_load_cache_i32(ctx, src, rank, IRIS_CACHE_DEFAULT);
}
/** 16 bytes at symmetric address `src`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE iris_vec_i32 iris_load_vec_i32(const iris_ctx *ctx, const int32_t *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const irisi_b128 bits = irisi_load_128(irisi_reach(ctx, src, rank, 16, IRISI_ACCESS_LOAD), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, 16);
    iris_vec_i32 vec;
    __builtin_memcpy(&vec, &bits, sizeof vec);
    return vec;
}
/** iris_load_i32 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE int32_t iris_load_i32_if(const iris_ctx *ctx, const int32_t *src, int rank, int ok, int32_t other)
{
    return ok ? iris_load_i32(ctx, src, rank) : other;
}
/** iris_load_vec_i32 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE iris_vec_i32 iris_load_vec_i32_if(const iris_ctx *ctx, const int32_t *src, int rank, iris_cache hint,
                                              int ok, iris_vec_i32 other)
{
    return ok ? iris_load_vec_i32(ctx, src, rank, hint) : other;
}

/** iris_store_i32 with a cache hint, a constant. */
IRIS_DEVICE void iris_store_cache_i32(const iris_ctx *ctx, int32_t *dst, int32_t value, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_store_32(irisi_reach(ctx, dst, rank, sizeof *dst, IRISI_ACCESS_STORE), irisi_bits_i32(value), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, sizeof *dst);
}
/**
 * Writes the element at symmetric address `dst` on `rank`. Each lane calls it for itself; a signal or fence orders it.
 */
IRIS_DEVICE void iris_store_i32(const iris_ctx *ctx, int32_t *dst, int32_t value, int rank)
{
    iris_store_cache_i32(ctx, dst, value, rank, IRIS_CACHE_DEFAULT);
}
/** Writes 16 bytes at symmetric address `dst`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE void iris_store_vec_i32(const iris_ctx *ctx, int32_t *dst, iris_vec_i32 vec, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_b128 bits;
    __builtin_memcpy(&bits, &vec, sizeof bits);
    irisi_store_128(irisi_reach(ctx, dst, rank, 16, IRISI_ACCESS_STORE), bits, hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, 16);
}
/** iris_store_i32 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_i32_if(const iris_ctx *ctx, int32_t *dst, int32_t value, int rank, int ok)
{
    if (ok)
        iris_store_i32(ctx, dst, value, rank);
}
/** iris_store_vec_i32 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_vec_i32_if(const iris_ctx *ctx, int32_t *dst, iris_vec_i32 vec, int rank, iris_cache hint,
                                       int ok)
{
    if (ok)
        iris_store_vec_i32(ctx, dst, vec, rank, hint);
}

/** 4 u32 that move as one 16-byte access. */
typedef struct iris_vec_u32 {
    IRISI_ALIGN(16) uint32_t v[4]; /**< the elements */
} iris_vec_u32;

/** iris_load_u32 with a cache hint, a constant. */
IRIS_DEVICE uint32_t iris_load_cache_u32(const iris_ctx *ctx, const uint32_t *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const uint32_t value = irisi_unbits_u32(
        irisi_load_32(irisi_reach(ctx, src, rank, sizeof *src, IRISI_ACCESS_LOAD), hint));
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, sizeof *src);
    return value;
}
/** The element at symmetric address `src` on `rank`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE uint32_t iris_load_u32(const iris_ctx *ctx, const uint32_t *src, int rank)
{
    return iris_load_cache_u32(ctx, src, rank, IRIS_CACHE_DEFAULT);
}
/** 16 bytes at symmetric address `src`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE iris_vec_u32 iris_load_vec_u32(const iris_ctx *ctx, const uint32_t *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const irisi_b128 bits = irisi_load_128(irisi_reach(ctx, src, rank, 16, IRISI_ACCESS_LOAD), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, 16);
    iris_vec_u32 vec;
    __builtin_memcpy(&vec, &bits, sizeof vec);
    return vec;
}
/** iris_load_u32 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE uint32_t iris_load_u32_if(const iris_ctx *ctx, const uint32_t *src, int rank, int ok, uint32_t other)
{
    return ok ? iris_load_u32(ctx, src, rank) : other;
}
/** iris_load_vec_u32 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE iris_vec_u32 iris_load_vec_u32_if(const iris_ctx *ctx, const uint32_t *src, int rank, iris_cache hint,
                                              int ok, iris_vec_u32 other)
{
    return ok ? iris_load_vec_u32(ctx, src, rank, hint) : other;
}

/** iris_store_u32 with a cache hint, a constant. */
IRIS_DEVICE void iris_store_cache_u32(const iris_ctx *ctx, uint32_t *dst, uint32_t value, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_store_32(irisi_reach(ctx, dst, rank, sizeof *dst, IRISI_ACCESS_STORE), irisi_bits_u32(value), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, sizeof *dst);
}
/**
 * Writes the element at symmetric address `dst` on `rank`. Each lane calls it for itself; a signal or fence orders it.
 */
IRIS_DEVICE void iris_store_u32(const iris_ctx *ctx, uint32_t *dst, uint32_t value, int rank)
{
    iris_store_cache_u32(ctx, dst, value, rank, IRIS_CACHE_DEFAULT);
}
/** Writes 16 bytes at symmetric address `dst`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE void iris_store_vec_u32(const iris_ctx *ctx, uint32_t *dst, iris_vec_u32 vec, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_b128 bits;
    __builtin_memcpy(&bits, &vec, sizeof bits);
    irisi_store_128(irisi_reach(ctx, dst, rank, 16, IRISI_ACCESS_STORE), bits, hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, 16);
}
/** iris_store_u32 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_u32_if(const iris_ctx *ctx, uint32_t *dst, uint32_t value, int rank, int ok)
{
    if (ok)
        iris_store_u32(ctx, dst, value, rank);
}
/** iris_store_vec_u32 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_vec_u32_if(const iris_ctx *ctx, uint32_t *dst, iris_vec_u32 vec, int rank, iris_cache hint,
                                       int ok)
{
    if (ok)
        iris_store_vec_u32(ctx, dst, vec, rank, hint);
}

/** 8 bf16 that move as one 16-byte access. */
typedef struct iris_vec_bf16 {
    IRISI_ALIGN(16) iris_bf16 v[8]; /**< the elements */
} iris_vec_bf16;

/** iris_load_bf16 with a cache hint, a constant. */
IRIS_DEVICE iris_bf16 iris_load_cache_bf16(const iris_ctx *ctx, const iris_bf16 *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const iris_bf16 value = irisi_unbits_bf16(
        irisi_load_16(irisi_reach(ctx, src, rank, sizeof *src, IRISI_ACCESS_LOAD), hint));
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, sizeof *src);
    return value;
}
/** The element at symmetric address `src` on `rank`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE iris_bf16 iris_load_bf16(const iris_ctx *ctx, const iris_bf16 *src, int rank)
{
    return iris_load_cache_bf16(ctx, src, rank, IRIS_CACHE_DEFAULT);
}
/** 16 bytes at symmetric address `src`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE iris_vec_bf16 iris_load_vec_bf16(const iris_ctx *ctx, const iris_bf16 *src, int rank, iris_cache hint)
{
    irisi_check_load_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    const irisi_b128 bits = irisi_load_128(irisi_reach(ctx, src, rank, 16, IRISI_ACCESS_LOAD), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_LOAD, rank, src, 16);
    iris_vec_bf16 vec;
    __builtin_memcpy(&vec, &bits, sizeof vec);
    return vec;
}
/** iris_load_bf16 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE iris_bf16 iris_load_bf16_if(const iris_ctx *ctx, const iris_bf16 *src, int rank, int ok, iris_bf16 other)
{
    return ok ? iris_load_bf16(ctx, src, rank) : other;
}
/** iris_load_vec_bf16 where `ok`, else `other`. Each lane calls it for itself; no order of its own. */
IRIS_DEVICE iris_vec_bf16 iris_load_vec_bf16_if(const iris_ctx *ctx, const iris_bf16 *src, int rank, iris_cache hint,
                                                int ok, iris_vec_bf16 other)
{
    return ok ? iris_load_vec_bf16(ctx, src, rank, hint) : other;
}

/** iris_store_bf16 with a cache hint, a constant. */
IRIS_DEVICE void iris_store_cache_bf16(const iris_ctx *ctx, iris_bf16 *dst, iris_bf16 value, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_store_16(irisi_reach(ctx, dst, rank, sizeof *dst, IRISI_ACCESS_STORE), irisi_bits_bf16(value), hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, sizeof *dst);
}
/**
 * Writes the element at symmetric address `dst` on `rank`. Each lane calls it for itself; a signal or fence orders it.
 */
IRIS_DEVICE void iris_store_bf16(const iris_ctx *ctx, iris_bf16 *dst, iris_bf16 value, int rank)
{
    iris_store_cache_bf16(ctx, dst, value, rank, IRIS_CACHE_DEFAULT);
}
/** Writes 16 bytes at symmetric address `dst`, which is a multiple of 16, on `rank`. Each lane calls it for itself. */
IRIS_DEVICE void iris_store_vec_bf16(const iris_ctx *ctx, iris_bf16 *dst, iris_vec_bf16 vec, int rank, iris_cache hint)
{
    irisi_check_store_hint(hint);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_b128 bits;
    __builtin_memcpy(&bits, &vec, sizeof bits);
    irisi_store_128(irisi_reach(ctx, dst, rank, 16, IRISI_ACCESS_STORE), bits, hint);
    irisi_trace_end(ctx, begun, IRIS_TRACE_STORE, rank, dst, 16);
}
/** iris_store_bf16 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_bf16_if(const iris_ctx *ctx, iris_bf16 *dst, iris_bf16 value, int rank, int ok)
{
    if (ok)
        iris_store_bf16(ctx, dst, value, rank);
}
/** iris_store_vec_bf16 where `ok`, else nothing. Each lane calls it for itself; a signal or fence orders it. */
IRIS_DEVICE void iris_store_vec_bf16_if(const iris_ctx *ctx, iris_bf16 *dst, iris_vec_bf16 vec, int rank,
                                        iris_cache hint, int ok)
{
    if (ok)
        iris_store_vec_bf16(ctx, dst, vec, rank, hint);
}

/** @} */

#endif

#endif
