/* SPDX-License-Identifier: MIT */
/*
 * trace_event.h: what kernels write while a trace is on, and the library's hooks; trace.h has the host's side.
 *
 *   iris_trace_kind iris_trace_event
 *   iris_trace_begin iris_trace_end                       a range of your own, in a kernel
 *   irisi_trace_begin irisi_trace_end irisi_trace_end_wave irisi_trace_end_wg irisi_trace_note     the hooks
 *   irisi_trace_prepare irisi_trace_open irisi_trace_open_at irisi_trace_close irisi_trace_open_wait
 *   irisi_trace_close_wait
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

/* A ring, in data memory: the count of all events that it got, on a line of its own, and its events behind that. */
enum { IRISI_TRACE_LINE = 64, IRISI_TRACE_LONG = 1 << 17 /* ticks of iris_clock */ };
IRIS_HOST_DEVICE uint64_t irisi_trace_ring_bytes(uint64_t capacity)
{
    return IRISI_TRACE_LINE + capacity * sizeof(iris_trace_event);
}
IRIS_HOST_DEVICE iris_trace_event *irisi_trace_events(uint64_t *count)
{
    return (iris_trace_event *)(void *)((char *)count + IRISI_TRACE_LINE);
}

#if IRIS_HAS_DEVICE

#if IRISI_TRACE
/* The calling workgroup's ring, or a null while no trace is on. */
typedef struct irisi_trace_own {
    uint64_t *count;
    uint32_t last; /* the capacity less one */
} irisi_trace_own;

IRIS_DEVICE irisi_trace_own irisi_trace_find(const iris_ctx *ctx)
{
    const uint64_t memory = irisi_load_invariant_u64(&ctx->control->trace[0]); /* both words come at once */
    const uint64_t shape = irisi_load_invariant_u64(&ctx->control->trace[1]);
    irisi_trace_own own = {NULL, (uint32_t)(shape >> 32) - 1};
    if (memory) {
        const uint32_t ring = iris_workgroup() % (uint32_t)shape;
        own.count = (uint64_t *)(uintptr_t)(memory + ring * irisi_trace_ring_bytes(shape >> 32));
    }
    return own;
}

/* The number of the ring's next event, of `events` that come. */
IRIS_DEVICE uint64_t irisi_trace_take(irisi_trace_own own, uint32_t events)
{
    return irisi_atomic_add_u64(own.count, events, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* Writes an event of the calling lane. */
IRIS_DEVICE void irisi_trace_write(const iris_ctx *ctx, irisi_trace_own own, uint64_t number, uint64_t begun,
                                   uint64_t end, iris_trace_kind kind, int peer, const void *p, uint64_t amount,
                                   uint32_t id)
{
    iris_trace_event *event = irisi_trace_events(own.count) + (number & own.last);
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
}
#endif

/* The clock when an operation begins. Of short ones whether a trace is on is asked behind them: a look costs time. */
IRIS_DEVICE uint64_t irisi_trace_begin(const iris_ctx *ctx)
{
    (void)ctx;
    return IRISI_TRACE ? iris_clock() : 0;
}

/* Writes an event of the calling lane, from `begun` until now. `p`: an address in the own heap, or null. */
IRIS_DEVICE void irisi_trace_note(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer, const void *p,
                                  uint64_t amount, uint32_t id)
{
#if IRISI_TRACE
    const uint64_t end = iris_clock();
    const irisi_trace_own own = irisi_trace_find(ctx);
    if (own.count)
        irisi_trace_write(ctx, own, irisi_trace_take(own, 1), begun, end, kind, peer, p, amount, id);
#else
    (void)ctx, (void)begun, (void)kind, (void)peer, (void)p, (void)amount, (void)id;
#endif
}

/*
 * An event whose place in the ring is taken when it begins, by the lane that writes it when it ends: what it costs is
 * over before the end, behind which others wait. Without traces nothing.
 */
typedef struct irisi_trace_opened {
#if IRISI_TRACE
    irisi_trace_own own; /* a null: no trace is on, or another lane writes the event */
    uint64_t number;
#endif
    uint64_t begun;
} irisi_trace_opened;

/* Finds the ring for events that are opened later. `writes`: 1 for the lane that writes them, if any. */
IRIS_DEVICE irisi_trace_opened irisi_trace_prepare(const iris_ctx *ctx, int writes)
{
    irisi_trace_opened event;
    event.begun = 0;
#if IRISI_TRACE
    event.own.count = NULL, event.own.last = 0, event.number = 0;
    if (writes)
        event.own = irisi_trace_find(ctx);
#else
    (void)ctx, (void)writes;
#endif
    return event;
}

/* An event begins, or `events` one behind the other do, whose places are taken together. */
IRIS_DEVICE void irisi_trace_open_at(const iris_ctx *ctx, irisi_trace_opened *event, uint32_t events)
{
    event->begun = irisi_trace_begin(ctx);
#if IRISI_TRACE
    if (event->own.count)
        event->number = irisi_trace_take(event->own, events);
#else
    (void)events;
#endif
}
IRIS_DEVICE irisi_trace_opened irisi_trace_open(const iris_ctx *ctx, int writes)
{
    irisi_trace_opened event = irisi_trace_prepare(ctx, writes);
    irisi_trace_open_at(ctx, &event, 1);
    return event;
}

IRIS_DEVICE void irisi_trace_close(const iris_ctx *ctx, irisi_trace_opened event, iris_trace_kind kind, int peer,
                                   const void *p, uint64_t amount, uint32_t id)
{
#if IRISI_TRACE
    if (!event.own.count)
        return;
    const uint64_t end = iris_clock();
    /* While a long one lasts others may fill the ring. It takes a new place then. */
    if (end - event.begun > IRISI_TRACE_LONG && irisi_poll(event.own.count) - event.number > event.own.last)
        event.number = irisi_trace_take(event.own, 1);
    irisi_trace_write(ctx, event.own, event.number, event.begun, end, kind, peer, p, amount, id);
#else
    (void)ctx, (void)event, (void)kind, (void)peer, (void)p, (void)amount, (void)id;
#endif
}

/*
 * A wait. Of the lanes of a wave that wait for the same signal together the first writes the event. A look whether a
 * trace is on comes before the wait: behind it the next raise would come later by that.
 */
IRIS_DEVICE irisi_trace_opened irisi_trace_open_wait(const iris_ctx *ctx, const void *signal)
{
    irisi_trace_opened event = irisi_trace_prepare(ctx, 1);
#if IRISI_TRACE
    if (event.own.count && !irisi_is_first_of(irisi_lanes_that_mean((uint32_t)(uintptr_t)signal)))
        event.own.count = NULL;
#else
    (void)signal;
#endif
    irisi_trace_open_at(ctx, &event, 1);
    return event;
}
IRIS_DEVICE void irisi_trace_close_wait(const iris_ctx *ctx, irisi_trace_opened event, int from, const void *signal,
                                        uint64_t seen)
{
    irisi_trace_close(ctx, event, IRIS_TRACE_WAIT, from < 0 ? ctx->rank : from, signal, seen, 0);
}

/* An operation of each lane for itself: one event of those lanes of the wave that are here and mean the same rank. */
IRIS_DEVICE void irisi_trace_end(const iris_ctx *ctx, uint64_t begun, iris_trace_kind kind, int peer, const void *p,
                                 size_t bytes)
{
#if IRISI_TRACE
    if (!irisi_load_invariant_u64(ctx->control->trace))
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
    if (iris_lane() == 0)
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
    if (iris_wg_lane() == 0)
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
 * both are empty; while no trace is on they cost a look at the clock, a load and a branch.
 *
 * @param ctx   the kernel's context, from iris_device_ctx
 * @param id    which range, as iris_trace_name knows it
 * @param begun what iris_trace_begin returned
 * @{
 */
/** Begins a range: the clock now. */
IRIS_DEVICE uint64_t iris_trace_begin(const iris_ctx *ctx) { return irisi_trace_begin(ctx); }
/** Ends a range: writes its event. */
IRIS_DEVICE void iris_trace_end(const iris_ctx *ctx, uint64_t begun, uint32_t id)
{
#if IRISI_TRACE
    if (irisi_load_invariant_u64(ctx->control->trace) && irisi_is_first_of(irisi_lanes_that_mean(id)))
        irisi_trace_note(ctx, begun, IRIS_TRACE_RANGE, ctx->rank, NULL, 0, id);
#else
    (void)ctx, (void)begun, (void)id;
#endif
}
/** @} */

#endif
#endif
