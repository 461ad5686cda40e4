/* SPDX-License-Identifier: MIT */
/*
 * atomic.h: atomic operations on any rank.
 *
 * Generated from templates/atomic/atomic.h.j2; edit that or gen/registry.py.
 *
 *   iris_atomic_fetch_{i32, u32}
 *   iris_atomic_set_{i32, u32}
 *   iris_atomic_xchg_{i32, u32}
 *   iris_atomic_cas_{i32, u32}
 *   iris_atomic_add_{i32, u32, bf16}
 *   iris_atomic_sub_{i32, u32}
 *   iris_atomic_and_{i32, u32}
 *   iris_atomic_or_{i32, u32}
 *   iris_atomic_xor_{i32, u32}
 *   iris_atomic_min_{i32, u32}
 *   iris_atomic_max_{i32, u32}
 */
#ifndef IRIS_GEN_ATOMIC_H
#define IRIS_GEN_ATOMIC_H

#include <iris/atomic.h>
#include <iris/gen/bits.h>
#include <iris/memory.h>
#include <iris/op.h>

#if IRIS_HAS_DEVICE

/**
 * @name Atomic operations
 *
 * All of these: one atomic operation on the element at symmetric address `p` on `rank`; `order` and `scope` are
 * constants (remote targets need IRIS_SCOPE_SYSTEM, and sync memory on AMD). They return the value before. Each lane
 * calls them for itself. Elements narrower than 4 bytes are changed by compare-and-swap on the word that holds them.
 *
 * @param ctx      the kernel's context, from iris_device_ctx
 * @param p        symmetric address, aligned for its element
 * @param value    the operand
 * @param expected what compare-and-swap looks for
 * @param desired  what it writes then
 * @param rank     world rank of the element
 * @param order    a constant: IRIS_RELAXED, IRIS_ACQUIRE, IRIS_RELEASE or IRIS_ACQ_REL
 * @param scope    a constant: IRIS_SCOPE_WG, IRIS_SCOPE_AGENT, or for other ranks' elements IRIS_SCOPE_SYSTEM
 * @return the value before; iris_atomic_set_* returns nothing
 * @{
 */
/** Reads `*p` on `rank` in one piece. */
IRIS_DEVICE int32_t iris_atomic_fetch_i32(const iris_ctx *ctx, const int32_t *p, int rank, iris_order order,
                                          iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    const uint32_t *at =
        (const uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t now = irisi_atomic_fetch_u32(at, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_FETCH, rank, p, sizeof *p);
    return irisi_unbits_i32(now);
}
/** Writes `value` to `*p` on `rank` in one piece. */
IRIS_DEVICE void iris_atomic_set_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                     iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    irisi_atomic_set_u32(at, irisi_bits_i32(value), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_SET, rank, p, sizeof *p);
}
/** Writes `value` to `*p` on `rank`. */
IRIS_DEVICE int32_t iris_atomic_xchg_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old = irisi_atomic_xchg_u32(at, irisi_bits_i32(value), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_XCHG, rank, p, sizeof *p);
    return irisi_unbits_i32(old);
}
/** Writes `desired` to `*p` on `rank` if it holds `expected`, compared bit by bit. */
IRIS_DEVICE int32_t iris_atomic_cas_i32(const iris_ctx *ctx, int32_t *p, int32_t expected, int32_t desired, int rank,
                                        iris_order order, iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old = irisi_atomic_cas_u32(at, irisi_bits_i32(expected), irisi_bits_i32(desired), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_CAS, rank, p, sizeof *p);
    return irisi_unbits_i32(old);
}

/** Reads `*p` on `rank` in one piece. */
IRIS_DEVICE uint32_t iris_atomic_fetch_u32(const iris_ctx *ctx, const uint32_t *p, int rank, iris_order order,
                                           iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    const uint32_t *at =
        (const uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t now = irisi_atomic_fetch_u32(at, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_FETCH, rank, p, sizeof *p);
    return irisi_unbits_u32(now);
}
/** Writes `value` to `*p` on `rank` in one piece. */
IRIS_DEVICE void iris_atomic_set_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                     iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    irisi_atomic_set_u32(at, irisi_bits_u32(value), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_SET, rank, p, sizeof *p);
}
/** Writes `value` to `*p` on `rank`. */
IRIS_DEVICE uint32_t iris_atomic_xchg_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                          iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old = irisi_atomic_xchg_u32(at, irisi_bits_u32(value), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_XCHG, rank, p, sizeof *p);
    return irisi_unbits_u32(old);
}
/** Writes `desired` to `*p` on `rank` if it holds `expected`, compared bit by bit. */
IRIS_DEVICE uint32_t iris_atomic_cas_u32(const iris_ctx *ctx, uint32_t *p, uint32_t expected, uint32_t desired,
                                         int rank, iris_order order, iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old = irisi_atomic_cas_u32(at, irisi_bits_u32(expected), irisi_bits_u32(desired), order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_CAS, rank, p, sizeof *p);
    return irisi_unbits_u32(old);
}

/** `*p = *p add value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_add_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_add_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_ADD, rank, p, sizeof *p);
    return old;
}

/** `*p = *p sub value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_sub_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_sub_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_SUB, rank, p, sizeof *p);
    return old;
}

/** `*p = *p and value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_and_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_and_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_AND, rank, p, sizeof *p);
    return old;
}

/** `*p = *p or value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_or_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                       iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_or_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_OR, rank, p, sizeof *p);
    return old;
}

/** `*p = *p xor value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_xor_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_xor_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_XOR, rank, p, sizeof *p);
    return old;
}

/** `*p = *p add value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_add_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_add_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_ADD, rank, p, sizeof *p);
    return old;
}

/** `*p = *p sub value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_sub_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_sub_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_SUB, rank, p, sizeof *p);
    return old;
}

/** `*p = *p and value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_and_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_and_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_AND, rank, p, sizeof *p);
    return old;
}

/** `*p = *p or value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_or_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_or_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_OR, rank, p, sizeof *p);
    return old;
}

/** `*p = *p xor value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_xor_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_xor_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_XOR, rank, p, sizeof *p);
    return old;
}

/** `*p = *p min value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_min_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    int32_t *at = (int32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_min_i32(at, (int32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_MIN, rank, p, sizeof *p);
    return old;
}

/** `*p = *p max value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE int32_t iris_atomic_max_i32(const iris_ctx *ctx, int32_t *p, int32_t value, int rank, iris_order order,
                                        iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    int32_t *at = (int32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const int32_t old =
        (int32_t)irisi_atomic_max_i32(at, (int32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_MAX, rank, p, sizeof *p);
    return old;
}

/** `*p = *p min value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_min_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_min_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_MIN, rank, p, sizeof *p);
    return old;
}

/** `*p = *p max value` on `rank`, as one instruction where the device has it. */
IRIS_DEVICE uint32_t iris_atomic_max_u32(const iris_ctx *ctx, uint32_t *p, uint32_t value, int rank, iris_order order,
                                         iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint32_t *at = (uint32_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    const uint32_t old =
        (uint32_t)irisi_atomic_max_u32(at, (uint32_t)value, order, scope);
    irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_MAX, rank, p, sizeof *p);
    return old;
}

/** `*p = *p add value` on `rank`, by compare-and-swap. */
IRIS_DEVICE iris_bf16 iris_atomic_add_bf16(const iris_ctx *ctx, iris_bf16 *p, iris_bf16 value, int rank,
                                           iris_order order, iris_scope scope)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    uint16_t *at = (uint16_t *)irisi_reach(ctx, p, rank, sizeof *p, IRISI_ACCESS_ATOMIC);
    uint16_t old = irisi_atomic_fetch_u16(at, IRIS_RELAXED, scope);
    for (;;) {
        const iris_bf16 now = irisi_unbits_bf16(old);
        const iris_bf16 next = iris_narrow_bf16(iris_sum_f32(iris_widen_bf16(now), iris_widen_bf16(value)));
        const uint16_t seen = irisi_atomic_cas_u16(at, old, irisi_bits_bf16(next), order, scope);
        if (seen == old) {
            irisi_trace_end(ctx, begun, IRIS_TRACE_ATOMIC_ADD, rank, p, sizeof *p);
            return now;
        }
        old = seen;
    }
}

/** @} */

#endif

#endif
