/* SPDX-License-Identifier: MIT */
/*
 * signal.h: raising a signal on another rank, and waiting for one with a deadline.
 *
 *   iris_signal_set iris_signal_set_wave iris_signal_set_wg
 *   iris_signal_add iris_signal_add_wave iris_signal_add_wg
 *   iris_signal_read
 *   iris_stopped iris_stopped_wave iris_stopped_wg
 *   irisi_raise irisi_passed irisi_wait_signal irisi_await irisi_wait_until irisi_wait_any irisi_wait_some
 *   irisi_wait_all irisi_test_any irisi_test_all
 *                                                                        (gen/wait.h has the public waits)
 *
 * Raising is a release at system scope: who waits for the value sees everything that the lane (wave, workgroup) wrote
 * before. Waiting is an acquire. A wait that is given up returns all the same: a loop whose end depends on what it
 * receives looks at what the wait returns, or asks iris_stopped.
 */
#ifndef IRIS_SIGNAL_H
#define IRIS_SIGNAL_H

#include <iris/memory.h>

/** How a put_signal changes the signal: iris_put_signal_<dtype>. */
typedef enum iris_signal_op { IRIS_SIGNAL_SET, IRIS_SIGNAL_ADD } iris_signal_op;

/*
 * How often a wait looks at the abort word and the clock: once in so many turns. IRISI_LL_CHECK: a wait for packets, of
 * which a kernel has thousands, also in a world that has stopped: on the host before a turn gives the core away.
 */
enum { IRISI_WAIT_CHECK = 64 };
#if defined(IRIS_TARGET_HOST)
enum { IRISI_LL_CHECK = 16 };
#else
enum { IRISI_LL_CHECK = IRISI_WAIT_CHECK };
#endif

#if IRIS_HAS_DEVICE

/* The signal itself; the caller's writes have been drained (store-through puts) or released before. */
IRIS_DEVICE void irisi_raise_at(uint64_t *at, uint64_t value, iris_signal_op op)
{
    if (op == IRIS_SIGNAL_ADD)
        irisi_raise_add(at, value);
    else
        irisi_raise_set(at, value);
}

/* Where a signal stands on `rank`. */
IRIS_DEVICE uint64_t *irisi_signal_at(const iris_ctx *ctx, iris_signal *signal, int rank)
{
    return (uint64_t *)irisi_reach(ctx, signal, rank, sizeof *signal, IRISI_ACCESS_SIGNAL);
}

/* How much a put before the signal moves: nothing where checked mode has refused the signal. */
IRIS_DEVICE size_t irisi_before_signal(const iris_ctx *ctx, const uint64_t *at, size_t n)
{
    return IRISI_CHECKED && (uintptr_t)at == (uintptr_t)ctx->control->scratch ? 0 : n;
}

/* The event of a raised signal: one of each lane that raises one. */
IRIS_DEVICE void irisi_trace_raised(const iris_ctx *ctx, uint64_t begun, const iris_signal *signal, uint64_t value,
                                    iris_signal_op op, int rank)
{
    irisi_trace_note(ctx, begun, IRIS_TRACE_SIGNAL, rank, signal, value, (uint32_t)op);
}
IRIS_DEVICE void irisi_trace_raised_wave(const iris_ctx *ctx, uint64_t begun, const iris_signal *signal, uint64_t value,
                                         iris_signal_op op, int rank)
{
    if (IRISI_TRACE && iris_lane() == 0)
        irisi_trace_raised(ctx, begun, signal, value, op, rank);
}
IRIS_DEVICE void irisi_trace_raised_wg(const iris_ctx *ctx, uint64_t begun, const iris_signal *signal, uint64_t value,
                                       iris_signal_op op, int rank)
{
    if (IRISI_TRACE && iris_wg_lane() == 0)
        irisi_trace_raised(ctx, begun, signal, value, op, rank);
}

IRIS_DEVICE void irisi_raise(const iris_ctx *ctx, iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_raise_at(irisi_signal_at(ctx, signal, rank), value, op);
    irisi_trace_raised(ctx, begun, signal, value, op, rank);
}

/* Every lane of the workgroup calls it: drain, meet, and one lane releases and raises. */
IRIS_DEVICE void irisi_raise_wg(const iris_ctx *ctx, iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0) {
        irisi_release();
        irisi_raise(ctx, signal, value, op, rank);
    }
}

/* Every lane of the wave calls it. */
IRIS_DEVICE void irisi_raise_wave(const iris_ctx *ctx, iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    irisi_drain();
    iris_sync_wave();
    if (iris_lane() == 0) {
        irisi_release();
        irisi_raise(ctx, signal, value, op, rank);
    }
}

/* One lane calls it. */
IRIS_DEVICE void irisi_raise_lane(const iris_ctx *ctx, iris_signal *signal, uint64_t value, iris_signal_op op, int rank)
{
    irisi_drain();
    irisi_release();
    irisi_raise(ctx, signal, value, op, rank);
}

/*
 * The same without the release, after a put of the same lane, wave or workgroup: its stores store through. Where the
 * signal stands on the other rank is looked up before the put, so that it does not wait behind it.
 */
IRIS_DEVICE void irisi_put_raise(uint64_t *at, uint64_t value, iris_signal_op op)
{
    irisi_drain();
    irisi_raise_at(at, value, op);
}
IRIS_DEVICE void irisi_put_raise_wave(uint64_t *at, uint64_t value, iris_signal_op op)
{
    irisi_drain();
    iris_sync_wave();
    if (iris_lane() == 0)
        irisi_raise_at(at, value, op);
}
IRIS_DEVICE void irisi_put_raise_wg(uint64_t *at, uint64_t value, iris_signal_op op)
{
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_raise_at(at, value, op);
}

/**
 * @name Raising and reading signals
 *
 * Raising is a release at system scope: who waits for the value sees everything that the caller wrote before. Reading
 * is an acquire. <iris/gen/wait.h> has the waits.
 *
 * @param ctx    the kernel's context, from iris_device_ctx
 * @param signal symmetric address of the signal; of iris_signal_read, an own signal
 * @param value  what it is set to, or what is added
 * @param rank   world rank of the signal
 * @{
 */
/** Sets `signal` on `rank` to `value`. One lane calls it; its own earlier writes are visible to who waits for it. */
IRIS_DEVICE void iris_signal_set(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_lane(ctx, signal, value, IRIS_SIGNAL_SET, rank);
}
/** iris_signal_set, once, after the writes of a whole wave. Every lane of the wave calls it with equal arguments. */
IRIS_DEVICE void iris_signal_set_wave(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_wave(ctx, signal, value, IRIS_SIGNAL_SET, rank);
}
/** iris_signal_set, once, after the writes of a whole workgroup. Every lane of it calls with equal arguments. */
IRIS_DEVICE void iris_signal_set_wg(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_wg(ctx, signal, value, IRIS_SIGNAL_SET, rank);
}

/** Adds `value` to `signal` on `rank`. One lane calls it; its own earlier writes are visible to who waits for it. */
IRIS_DEVICE void iris_signal_add(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_lane(ctx, signal, value, IRIS_SIGNAL_ADD, rank);
}
/** iris_signal_add, once, after the writes of a whole wave. Every lane of the wave calls it with equal arguments. */
IRIS_DEVICE void iris_signal_add_wave(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_wave(ctx, signal, value, IRIS_SIGNAL_ADD, rank);
}
/** iris_signal_add, once, after the writes of a whole workgroup. Every lane of it calls with equal arguments. */
IRIS_DEVICE void iris_signal_add_wg(const iris_ctx *ctx, iris_signal *signal, uint64_t value, int rank)
{
    irisi_raise_wg(ctx, signal, value, IRIS_SIGNAL_ADD, rank);
}

/** The value of an own signal now; acquires, so that data behind the value seen may be read. One lane calls it. */
IRIS_DEVICE uint64_t iris_signal_read(const iris_ctx *ctx, const iris_signal *signal)
{
    const uint64_t seen = irisi_poll((const uint64_t *)irisi_own(ctx, signal, sizeof *signal, IRISI_ACCESS_WAIT));
    irisi_drain(); /* nobody has compared the value yet: it arrives before caches drop what is older (AMD) */
    irisi_acquired();
    return seen;
}
/** @} */

IRIS_DEVICE int irisi_holds(irisi_cmp cmp, uint64_t seen, uint64_t value)
{
    switch (cmp) {
    case IRISI_EQ: return seen == value;
    case IRISI_NE: return seen != value;
    case IRISI_GT: return seen > value;
    case IRISI_GE: return seen >= value;
    case IRISI_LT: return seen < value;
    default: return seen <= value;
    }
}

/*
 * 1 once `limit` ticks have passed since `start`. A waiting wave may be taken off the device and go on where the clock
 * is a little behind: then no time has passed, not all of it.
 */
IRIS_DEVICE int irisi_passed(uint64_t start, uint64_t now, uint64_t limit)
{
    const uint64_t gone = now - start;
    return gone < (uint64_t)1 << 63 && gone >= limit;
}

/* What a wait was for, in the report. */
typedef struct irisi_wait {
    const iris_signal *signal;
    irisi_cmp cmp;
    uint64_t value;
    int from;       /* rank that should raise it, -1 unknown */
    uint64_t start; /* clock at the first look at the deadline, 0 before */
} irisi_wait;

/* A wait that begins. */
IRIS_DEVICE irisi_wait irisi_wait_for(const iris_signal *signal, irisi_cmp cmp, uint64_t value, int from)
{
    irisi_wait wait;
    wait.signal = signal;
    wait.cmp = cmp;
    wait.value = value;
    wait.from = from;
    wait.start = 0;
    return wait;
}

/* The deadline has passed: the first waiter of this rank reports, and every rank's abort word names the reporter. */
IRIS_DEVICE void irisi_expire(const iris_ctx *ctx, const irisi_wait *wait, uint64_t seen)
{
    irisi_report *report = irisi_claim(ctx);
    if (report == NULL)
        return;
    report->from = wait->from;
    report->cmp = (uint32_t)wait->cmp;
    report->workgroup = iris_workgroup();
    if (IRISI_GRID_AT_HAND || IRISI_CHECKED)
        report->workgroups = iris_workgroups(); /* which kernel it is; 0: of the latest, any */
    report->signal = (uint64_t)((uintptr_t)wait->signal - (uintptr_t)ctx->base);
    report->expected = wait->value;
    report->seen = seen;
    irisi_publish(ctx, report);
}

/* Looked at once in IRISI_WAIT_CHECK turns: 1 when the wait should end although the value has not come. */
IRIS_DEVICE int irisi_give_up(const iris_ctx *ctx, irisi_wait *wait, uint64_t seen)
{
    if (irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0)
        return 1;
    if (ctx->deadline == 0)
        return 0;
    const uint64_t now = iris_clock();
    if (wait->start == 0)
        wait->start = now;
    if (!irisi_passed(wait->start, now, ctx->deadline))
        return 0;
    irisi_expire(ctx, wait, seen); /* or another lane does: who gives up has seen the abort word raised */
    return irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0;
}

/* The rest of a long wait: looks until the signal holds or the wait is given up; the last value seen. */
IRIS_DEVICE uint64_t irisi_wait_on(const iris_ctx *ctx, const iris_signal *signal, irisi_cmp cmp, uint64_t value,
                                   int from, uint64_t seen)
{
    irisi_wait wait = irisi_wait_for(signal, cmp, value, from);
    for (uint32_t turn = IRISI_WAIT_CHECK; !irisi_holds(cmp, seen, value); turn++) {
        if (turn % IRISI_WAIT_CHECK == 0 && irisi_give_up(ctx, &wait, seen))
            break;
        iris_pause(turn);
        seen = irisi_poll(&signal->value);
    }
    return seen;
}

/*
 * Waits until `signal cmp value`, then acquires; returns the last value seen. When the deadline passes, or the world
 * was aborted, it returns all the same: callers do not branch on that, and the host reports it. The first looks stand
 * apart, so that their loop is as short as one without a deadline.
 */
IRIS_DEVICE uint64_t irisi_wait_signal(const iris_ctx *ctx, const iris_signal *signal, irisi_cmp cmp, uint64_t value,
                                       int from)
{
    const irisi_trace_opened event = irisi_trace_open_wait(ctx, signal);
    signal = (const iris_signal *)irisi_own(ctx, signal, sizeof *signal, IRISI_ACCESS_WAIT);
    uint64_t seen = irisi_poll(&signal->value);
    IRISI_ROLLED
    for (uint32_t turn = 1; !irisi_holds(cmp, seen, value); turn++) {
        if (turn >= IRISI_WAIT_CHECK) {
            seen = irisi_wait_on(ctx, signal, cmp, value, from, seen);
            break;
        }
        iris_pause(turn);
        seen = irisi_poll(&signal->value);
    }
    irisi_acquired();
    irisi_trace_close_wait(ctx, event, from, signal, seen);
    return seen;
}

/* irisi_wait_signal for who asks whether the condition held: 1, or 0 when the wait was given up or refused. */
IRIS_DEVICE int irisi_await(const iris_ctx *ctx, const iris_signal *signal, irisi_cmp cmp, uint64_t value)
{
    if (IRISI_CHECKED && !irisi_allowed(ctx, signal, ctx->rank, 1, sizeof *signal, IRISI_ACCESS_WAIT))
        return 0;
    return irisi_holds(cmp, irisi_wait_signal(ctx, signal, cmp, value, -1), value);
}

/* Waits until one of n signals holds and acquires; its index, or n when the wait was given up. n >= 1. */
IRIS_DEVICE size_t irisi_wait_any(const iris_ctx *ctx, const iris_signal *signals, size_t n, irisi_cmp cmp,
                                  uint64_t value)
{
    const irisi_trace_opened event = irisi_trace_open_wait(ctx, signals);
    irisi_wait wait = irisi_wait_for(signals, cmp, value, -1);
    uint64_t seen = 0;
    size_t found = n;
    int over = !irisi_allowed(ctx, signals, ctx->rank, n, sizeof *signals, IRISI_ACCESS_WAIT);
    for (uint32_t turn = 1; !over; turn++) {
        for (size_t i = 0; i < n && found == n; i++) {
            seen = irisi_poll(&signals[i].value);
            if (irisi_holds(cmp, seen, value))
                found = i;
        }
        over = found != n || (turn % IRISI_WAIT_CHECK == 0 && irisi_give_up(ctx, &wait, seen));
        if (!over)
            iris_pause(turn);
    }
    irisi_acquired();
    irisi_trace_close_wait(ctx, event, -1, signals + (found < n ? found : 0), seen);
    return found;
}

/* Waits until all of n signals hold, member `member` of `members` lanes watching its share: 1 when all of that held. */
IRIS_DEVICE int irisi_wait_all(const iris_ctx *ctx, const iris_signal *signals, size_t n, irisi_cmp cmp,
                               uint64_t value, size_t member, size_t members)
{
    int held = 1;
    for (size_t i = member; i < n; i += members)
        held &= irisi_await(ctx, signals + i, cmp, value);
    return held;
}

/**
 * @name Has the world stopped?
 *
 * @param ctx the kernel's context, from iris_device_ctx
 * @{
 */
/**
 * 1 once the world has stopped: a wait passed its deadline, a rank died, or checked mode refused an access, here or on
 * another rank. From then on every wait of this rank returns at once, and what a kernel receives is not to be trusted.
 * 0 before. Stopped is stopped until iris_reset, which comes after the kernel.
 *
 * For loops that end by what they receive (a command, a count, a flag): in a stopped world that never comes. When a
 * wait of any kind was given up, iris_stopped says 1 right after it. One lane calls it; lanes that ask each for
 * themselves may get different answers, so a loop that a wave or workgroup goes through together asks
 * iris_stopped_wave or iris_stopped_wg, or looks at what the wave's or workgroup's form of a wait returns.
 */
IRIS_DEVICE int iris_stopped(const iris_ctx *ctx)
{
    return irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0;
}
/** iris_stopped for a wave: one lane looks; every lane of the wave calls it and gets the same answer. */
IRIS_DEVICE int iris_stopped_wave(const iris_ctx *ctx)
{
    uint32_t stopped = 0;
    if (iris_lane() == 0)
        stopped = (uint32_t)iris_stopped(ctx);
    iris_sync_wave();
    return (int)iris_shuffle_u32(stopped, 0);
}
/**
 * iris_stopped for a workgroup: one lane looks; every lane of the workgroup calls it and gets the same answer. It is a
 * workgroup barrier too. Other workgroups may get another answer at the same place.
 */
IRIS_DEVICE int iris_stopped_wg(const iris_ctx *ctx)
{
    return irisi_any_wg(iris_wg_lane() == 0 && iris_stopped(ctx));
}
/** @} */

/*
 * Waits until some of n signals hold, writes their indices, in order, and acquires; how many, or 0 when the wait was
 * given up. n >= 1. The one that ended the wait is not looked at again: it may have gone on since.
 */
IRIS_DEVICE size_t irisi_wait_some(const iris_ctx *ctx, const iris_signal *signals, size_t n, irisi_cmp cmp,
                                   uint64_t value, size_t *indices)
{
    const size_t first = irisi_wait_any(ctx, signals, n, cmp, value);
    size_t count = 0;
    for (size_t i = first; i < n; i++)
        if (i == first || irisi_holds(cmp, irisi_poll(&signals[i].value), value))
            indices[count++] = i;
    irisi_acquired();
    return count;
}

/* Looks once at n signals until one holds, and acquires; its index, or n. */
IRIS_DEVICE size_t irisi_test_any(const iris_ctx *ctx, const iris_signal *signals, size_t n, irisi_cmp cmp,
                                  uint64_t value)
{
    size_t i = irisi_allowed(ctx, signals, ctx->rank, n, sizeof *signals, IRISI_ACCESS_WAIT) ? 0 : n;
    while (i < n && !irisi_holds(cmp, irisi_poll(&signals[i].value), value))
        i++;
    irisi_acquired();
    return i;
}

/* Looks once at n signals until one does not hold, and acquires; 1 when there was none. */
IRIS_DEVICE int irisi_test_all(const iris_ctx *ctx, const iris_signal *signals, size_t n, irisi_cmp cmp,
                               uint64_t value)
{
    if (!irisi_allowed(ctx, signals, ctx->rank, n, sizeof *signals, IRISI_ACCESS_WAIT))
        return 0;
    size_t i = 0;
    while (i < n && irisi_holds(cmp, irisi_poll(&signals[i].value), value))
        i++;
    irisi_acquired();
    return i == n;
}

/*
 * Waits until the signal holds, `ticks` of iris_clock have passed or the world has stopped, then acquires; 1 when the
 * signal held. Reports nothing. The signal is looked at after the clock, so that a lane which did not run for a while
 * finds what has come meanwhile.
 */
IRIS_DEVICE int irisi_wait_until(const iris_ctx *ctx, const iris_signal *signal, irisi_cmp cmp, uint64_t value,
                                 uint64_t ticks)
{
    if (!irisi_allowed(ctx, signal, ctx->rank, 1, sizeof *signal, IRISI_ACCESS_WAIT))
        return 0;
    const irisi_trace_opened event = irisi_trace_open_wait(ctx, signal);
    const uint64_t start = iris_clock();
    uint64_t seen = 0;
    int held = 0;
    for (uint32_t turn = 1, late = 0; !held && !late; turn++) {
        late = (uint32_t)irisi_passed(start, iris_clock(), ticks) ||
               (turn % IRISI_WAIT_CHECK == 0 && iris_stopped(ctx));
        seen = irisi_poll(&signal->value);
        held = irisi_holds(cmp, seen, value);
        if (!held && !late)
            iris_pause(turn);
    }
    irisi_acquired();
    irisi_trace_close_wait(ctx, event, -1, signal, seen);
    return held;
}

#endif
#endif
