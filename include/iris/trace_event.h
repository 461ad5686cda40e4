/* SPDX-License-Identifier: MIT */
/*
 * trace_event.h: what kernels write while a trace is on, and the library's hooks; trace.h has the host's side.
 *
 *   iris_trace_kind iris_trace_event
 *   iris_trace_begin iris_trace_end                       a range of your own, in a kernel
 *   irisi_trace_begin irisi_trace_end irisi_trace_end_wave irisi_trace_end_wg irisi_trace_note     the hooks
 *
 * With -DIRIS_TRACE=1 the library's operations write events while a trace is on. Without it the hooks are empty and no
 * instruction differs.
 *
 * Events lie in rings in the rank's own heap, one for each workgroup number; of workgroups beyond the number of rings
 * several share one, as do kernels that run side by side. A ring keeps its latest events and counts all, so the last
 * ones before a deadline are there.
 */
#ifndef IRIS_TRACE_EVENT_H
#define IRIS_TRACE_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <iris/arch/select.h>
#include <iris/ctx.h>

#if defined(IRIS_TRACE) && IRIS_TRACE
#define IRISI_TRACE 1
#else
#define IRISI_TRACE 0
#endif

/** What an event is. The first ones are what one lane, wave or workgroup does at another rank's memory. */
typedef enum iris_trace_kind {
    IRIS_TRACE_LOAD,
    IRIS_TRACE_STORE,
    IRIS_TRACE_GET,
    IRIS_TRACE_PUT,
    IRIS_TRACE_COPY,
    IRIS_TRACE_ATOMIC_FETCH,
    IRIS_TRACE_ATOMIC_SET,
    IRIS_TRACE_ATOMIC_ADD,
    IRIS_TRACE_ATOMIC_SUB,
    IRIS_TRACE_ATOMIC_CAS,
    IRIS_TRACE_ATOMIC_XCHG,
    IRIS_TRACE_ATOMIC_XOR,
    IRIS_TRACE_ATOMIC_OR,
    IRIS_TRACE_ATOMIC_AND,
    IRIS_TRACE_ATOMIC_MIN,
    IRIS_TRACE_ATOMIC_MAX,
    IRIS_TRACE_SIGNAL,       /**< a signal was raised on rank `peer` */
    IRIS_TRACE_WAIT,         /**< an own signal was waited for */
    IRIS_TRACE_BARRIER,      /**< a barrier of ranks or of a grid, by one workgroup */
    IRIS_TRACE_COLLECTIVE,   /**< a collective's part on one slice, by one workgroup */
    IRIS_TRACE_GEMM_COMPUTE, /**< the sums of a tile */
    IRIS_TRACE_GEMM_STAGE,   /**< a tile left the registers: epilogue, and storing or handing it on */
    IRIS_TRACE_GEMM_SEND,    /**< waited for a tile's puts to arrive, and told the peers */
    IRIS_TRACE_GEMM_REDUCE,  /**< added up the ranks' partial sums */
    IRIS_TRACE_RANGE,        /**< iris_trace_begin to iris_trace_end */
    IRIS_TRACE_KINDS
} iris_trace_kind;

/** One event: 64 bytes in a ring. */
typedef struct iris_trace_event {
    uint64_t begin;     /**< iris_clock before */
    uint64_t end;       /**< iris_clock after: of a put or store, once it was issued */
    uint64_t offset;    /**< of the address, in the heap or window; UINT64_MAX: none */
    uint64_t amount;    /**< bytes; of a signal its value, of a wait the value seen, of a barrier its number */
    uint64_t number;    /**< the ring's events before it */
    uint32_t workgroup; /**< iris_workgroup */
    uint32_t unit;      /**< iris_compute_unit */
    int32_t peer;       /**< the other rank; own rank: none */
    uint32_t id;        /**< of a range its own, of a signal its iris_signal_op, of a tile its place in the schedule; of
                             a load, store, put, get, copy or atomic iris_ctx.window: 0 is the heap */
    uint16_t wave;      /**< iris_wave */
    uint16_t kind;      /**< iris_trace_kind */
    uint32_t team;      /**< iris_ctx.team: `peer` is a rank of it, of the world where it is 0 */
} iris_trace_event;

/* In data memory: this, `rings` counters, each on a line of its own, and the rings. */
typedef struct irisi_trace_memory {
    uint32_t rings, capacity; /* the capacity is a power of two */
    uint64_t pad[7];
} irisi_trace_memory;
enum { IRISI_TRACE_LINE = 64 };

/* The count of all events that a ring got, and its events. */
IRIS_HOST_DEVICE uint64_t *irisi_trace_count(irisi_trace_memory *m, uint32_t ring)
{
    return (uint64_t *)(void *)((char *)(m + 1) + (size_t)ring * IRISI_TRACE_LINE);
}
IRIS_HOST_DEVICE iris_trace_event *irisi_trace_ring(irisi_trace_memory *m, uint32_t ring)
{
    char *first = (char *)(m + 1) + (size_t)m->rings * IRISI_TRACE_LINE;
    return (iris_trace_event *)(void *)first + (size_t)ring * m->capacity;
}

#if IRIS_HAS_DEVICE

/* The clock when an operation begins, or 0 while no trace is on. */
IRIS_DEVICE uint64_t irisi_trace_begin(const iris_ctx *ctx)
{
#if IRISI_TRACE
    return ctx->control->trace ? iris_clock() : 0;
#else
    (void)ctx;
    return 0;
#endif
}

/* Writes an event of the calling lane, where `begun` is not 0. `p`: an address in the own heap, or null. */
IRIS_DEVICE void irisi_trace_note(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer, const void *p,
                                  uint64_t amount, uint32_t id)
{
#if IRISI_TRACE
    irisi_trace_memory *m = (irisi_trace_memory *)(uintptr_t)ctx->control->trace;
    if (begun == 0 || m == NULL)
        return;
    const uint64_t end = iris_clock();
    const uint32_t ring = iris_workgroup() % m->rings;
    const uint64_t number = irisi_atomic_add_u64(irisi_trace_count(m, ring), 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    iris_trace_event *event = irisi_trace_ring(m, ring) + (number & (m->capacity - 1));
    event->begin = begun;
    event->end = end;
    event->offset = p ? (uint64_t)(uintptr_t)p - ctx->base : UINT64_MAX;
    event->amount = amount;
    event->number = number;
    event->workgroup = iris_workgroup();
    event->unit = iris_compute_unit();
    event->peer = peer;
    event->id = id;
    event->wave = (uint16_t)iris_wave();
    event->kind = (uint16_t)kind;
    event->team = ctx->team;
#else
    (void)ctx, (void)begun, (void)kind, (void)peer, (void)p, (void)amount, (void)id;
#endif
}

/* An operation of each lane for itself: one event of those lanes of the wave that are here and mean the same rank. */
IRIS_DEVICE void irisi_trace_end(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer, const void *p,
                                 size_t bytes)
{
#if IRISI_TRACE
    if (begun == 0)
        return;
    const uint64_t lanes = irisi_lanes_that_mean((uint32_t)peer);
    if (irisi_is_first_of(lanes))
        irisi_trace_note(ctx, begun, kind, peer, p, bytes * irisi_count_lanes(lanes), ctx->window);
#else
    (void)ctx, (void)begun, (void)kind, (void)peer, (void)p, (void)bytes;
#endif
}

/* An operation of a whole wave. */
IRIS_DEVICE void irisi_trace_end_wave(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer,
                                      const void *p, size_t bytes)
{
#if IRISI_TRACE
    if (begun != 0 && iris_lane() == 0)
        irisi_trace_note(ctx, begun, kind, peer, p, bytes, ctx->window);
#else
    (void)ctx, (void)begun, (void)kind, (void)peer, (void)p, (void)bytes;
#endif
}

/* An operation of a whole workgroup: the time of its first wave. */
IRIS_DEVICE void irisi_trace_end_wg(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer, const void *p,
                                    size_t bytes)
{
#if IRISI_TRACE
    if (begun != 0 && iris_wg_lane() == 0)
        irisi_trace_note(ctx, begun, kind, peer, p, bytes, ctx->window);
#else
    (void)ctx, (void)begun, (void)kind, (void)peer, (void)p, (void)bytes;
#endif
}

/**
 * @name Ranges of your own
 *
 * One event for a part of a kernel, with a name from iris_trace_name. One lane calls both, or all lanes of a wave do,
 * which gives one event; ranges of one wave may lie in each other, but not overlap otherwise. Without -DIRIS_TRACE=1
 * both are empty; while no trace is on they cost a load and a branch.
 *
 * @param ctx   the kernel's context, from iris_device_ctx
 * @param id    which range, as iris_trace_name knows it
 * @param begun what iris_trace_begin returned
 * @{
 */
/** Begins a range: the clock now, or 0 while no trace is on. */
IRIS_DEVICE uint64_t iris_trace_begin(const iris_ctx *ctx) { return irisi_trace_begin(ctx); }
/** Ends a range: writes its event. */
IRIS_DEVICE void iris_trace_end(const iris_ctx *ctx, uint64_t begun, uint32_t id)
{
#if IRISI_TRACE
    if (begun != 0 && irisi_is_first_of(irisi_lanes_that_mean(id)))
        irisi_trace_note(ctx, begun, IRIS_TRACE_RANGE, ctx->rank, NULL, 0, id);
#else
    (void)ctx, (void)begun, (void)id;
#endif
}
/** @} */

#endif
#endif
