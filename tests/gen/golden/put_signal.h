/* SPDX-License-Identifier: MIT */
/*
 * put_signal.h: a put, and a signal that says it has arrived.
 *
 * Generated from templates/memory/put_signal.h.j2; edit that or gen/registry.py.
 *
 *   iris_put_signal_{i32, u32, bf16}
 *   iris_put_signal_{i32, u32, bf16}_wave
 *   iris_put_signal_{i32, u32, bf16}_wg
 */
#ifndef IRIS_GEN_PUT_SIGNAL_H
#define IRIS_GEN_PUT_SIGNAL_H

#include <iris/gen/rma.h>
#include <iris/signal.h>

#if IRIS_HAS_DEVICE

/**
 * @name Put with signal
 *
 * A put, then a signal at the same rank that says it has arrived: who waits for the signal sees the data. Only the
 * put's own stores are ordered before the signal (they store through, so no cache is written back); use iris_fence or
 * iris_signal_add where earlier ordinary stores must be seen too. As for every put, source and destination must not
 * overlap; with n = 0 the signal alone is raised.
 *
 * @param ctx    the kernel's context, from iris_device_ctx
 * @param dst    symmetric address: where the elements go on `rank`
 * @param src    own global memory, in the heap or not; it may be reused when the call returns
 * @param n      elements
 * @param signal symmetric address of the signal
 * @param value  what the signal is set to, or what is added to it
 * @param op     IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD, a constant
 * @param rank   world rank of data and signal
 * @{
 */
/**
 * iris_put_i32, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * One lane calls it alone.
 */
IRIS_DEVICE void iris_put_signal_i32(const iris_ctx *ctx, int32_t *dst, const int32_t *src, size_t n,
                                     iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_i32(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise(at, value, op);
    irisi_trace_raised(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_i32_wave, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one wave calls it together.
 */
IRIS_DEVICE void iris_put_signal_i32_wave(const iris_ctx *ctx, int32_t *dst, const int32_t *src, size_t n,
                                          iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_i32_wave(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wave(at, value, op);
    irisi_trace_raised_wave(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_i32_wg, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one workgroup calls it together.
 */
IRIS_DEVICE void iris_put_signal_i32_wg(const iris_ctx *ctx, int32_t *dst, const int32_t *src, size_t n,
                                        iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_i32_wg(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wg(at, value, op);
    irisi_trace_raised_wg(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_u32, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * One lane calls it alone.
 */
IRIS_DEVICE void iris_put_signal_u32(const iris_ctx *ctx, uint32_t *dst, const uint32_t *src, size_t n,
                                     iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_u32(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise(at, value, op);
    irisi_trace_raised(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_u32_wave, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one wave calls it together.
 */
IRIS_DEVICE void iris_put_signal_u32_wave(const iris_ctx *ctx, uint32_t *dst, const uint32_t *src, size_t n,
                                          iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_u32_wave(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wave(at, value, op);
    irisi_trace_raised_wave(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_u32_wg, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one workgroup calls it together.
 */
IRIS_DEVICE void iris_put_signal_u32_wg(const iris_ctx *ctx, uint32_t *dst, const uint32_t *src, size_t n,
                                        iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_u32_wg(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wg(at, value, op);
    irisi_trace_raised_wg(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_bf16, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * One lane calls it alone.
 */
IRIS_DEVICE void iris_put_signal_bf16(const iris_ctx *ctx, iris_bf16 *dst, const iris_bf16 *src, size_t n,
                                      iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_bf16(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise(at, value, op);
    irisi_trace_raised(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_bf16_wave, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one wave calls it together.
 */
IRIS_DEVICE void iris_put_signal_bf16_wave(const iris_ctx *ctx, iris_bf16 *dst, const iris_bf16 *src, size_t n,
                                           iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_bf16_wave(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wave(at, value, op);
    irisi_trace_raised_wave(ctx, begun, signal, value, op, rank);
}

/**
 * iris_put_bf16_wg, then `op` (IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD) of `value` on `signal`.
 * Every lane of one workgroup calls it together.
 */
IRIS_DEVICE void iris_put_signal_bf16_wg(const iris_ctx *ctx, iris_bf16 *dst, const iris_bf16 *src, size_t n,
                                         iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    uint64_t *at = irisi_signal_at(ctx, signal, rank);
    iris_put_bf16_wg(ctx, dst, src, irisi_before_signal(ctx, at, n), rank);
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_put_raise_wg(at, value, op);
    irisi_trace_raised_wg(ctx, begun, signal, value, op, rank);
}

/** @} */

#endif

#endif
