/* SPDX-License-Identifier: MIT */
/*
 * collective.h: what collectives are made of: slices of a channel, meetings of a team, shares of the elements.
 *
 *   iris_team_world iris_reduce_op iris_channel_slices
 *   iris_slice iris_slice_enter_wg iris_slice_meet_wg iris_slice_leave_wg
 *   irisi_slice_ahead irisi_slice_rank
 *   irisi_slice_arrive irisi_slice_await irisi_slice_meet_puts irisi_slice_raise irisi_slice_raise_all irisi_slice_wait
 *   irisi_slice_wait_all irisi_slice_fault irisi_call_of irisi_slice_agree
 *   irisi_slice_scratch irisi_slice_packets irisi_slice_put_all irisi_slice_row_fits irisi_streams_meet
 *
 * A collective's channel is cut into slices. A slice is a small channel of its own: a workgroup on each rank works on
 * it, alone, and meets the workgroups that work on the same slice of the other ranks; no barrier of a grid is ever
 * needed. How the elements are shared out among slices depends on their number and on the channel only, so the grids
 * of two ranks may differ: a workgroup takes one slice after the other, the lowest first, and the lowest unfinished
 * slice is always somebody's on every rank.
 *
 * Steps. A slice counts steps, equally on all members, and never back. A meeting is one step: each member sets its
 * signal at every other one to the step's number and waits for theirs. Banks, LL flags and signals all take their
 * number from the step. Any collectives may follow each other on a slice, without a barrier in between, because each
 * keeps this rule: it writes the banks and packets of step s only once it has heard, in step s - 1 or later, from
 * every member that reads or writes them. What has been heard from in step s - 1 is done with step s - 2, which used
 * the same bank. A schedule that talks to its neighbours only therefore meets everybody when it begins, and when it
 * ends if it used banks: who has met since their last use need not have heard in the very last step.
 *
 * A slice's words, in the channel's signals (iris_collective_channel makes the channel):
 *   0             steps finished, own
 *   1, 2          1 while a workgroup is inside; 1 once a call was refused; own, checked mode
 *   8 + r         step that rank r has reached in its meetings
 *   8 + W + r     what rank r has sent: hops of a ring, messages of iris_send
 *   8 + 2 W + r   messages that rank r has taken from here
 *   8 + 3 W + r   own: messages sent to rank r
 *   8 + 4 W + r   own: messages received from rank r
 *   8 + 5 W + r   what rank r was called with, the number of elements first; own: a verdict; checked mode
 * for a context of W ranks, rounded up to whole lines. Its part of a bank has two halves: LL packets, then raw scratch.
 */
#ifndef IRIS_COLLECTIVE_COLLECTIVE_H
#define IRIS_COLLECTIVE_COLLECTIVE_H

#include <iris/bytes.h>
#include <iris/collective/share.h>
#include <iris/gen/schedules.h>
#include <iris/collective/ll.h>

/** How a reduction combines elements. AVG is the sum divided by the team's size; integers cut off towards 0. */
typedef enum iris_reduce_op {
    IRIS_OP_SUM,
    IRIS_OP_PROD,
    IRIS_OP_MIN,
    IRIS_OP_MAX,
    IRIS_OP_AVG,
    IRIS_OP_AND,
    IRIS_OP_OR,
    IRIS_OP_XOR,
    IRIS_REDUCE_OPS /**< how many there are */
} iris_reduce_op;

/* Scratch that a slice has at least for each rank: 4 lines of LL packets, or two hops of a ring. */
enum { IRISI_SLICE_ROW = 64 };

enum { IRISI_SLICE_STEP, IRISI_SLICE_BUSY, IRISI_SLICE_REFUSED, IRISI_SLICE_HEAD = 8 };
/* Rows of one word a rank behind the head. */
typedef enum irisi_slice_row {
    IRISI_WORD_MET,
    IRISI_WORD_MOVED,
    IRISI_WORD_TAKEN,
    IRISI_WORD_SENT,
    IRISI_WORD_RECEIVED,
    IRISI_WORD_COUNT,
    IRISI_ROWS
} irisi_slice_row;

/* Words of a slice in a world of `world` ranks. */
IRIS_HOST_DEVICE uint32_t irisi_slice_words(uint32_t world)
{
    return (IRISI_SLICE_HEAD + IRISI_ROWS * world + 15) / 16 * 16;
}

/**
 * @name Slices
 *
 * A slice is a small channel of its own, on which one workgroup of each member works.
 *
 * @param ctx   the kernel's context, from iris_device_ctx
 * @param ch    the channel, from iris_collective_channel
 * @param world ranks
 * @param team  the members; size 0: the world
 * @param slice which slice of the channel, the same on every member
 * @param s     what iris_slice_enter_wg returned
 * @{
 */
/** Slices that a collective's channel has. Any lane calls it. */
IRIS_HOST_DEVICE uint32_t iris_channel_slices(const iris_channel *ch, int world) { return (void)world, ch->slices; }

#if IRIS_HAS_DEVICE

/** The team of all ranks; a team of size 0 means the same. */
IRIS_DEVICE iris_team iris_team_world(const iris_ctx *ctx)
{
    iris_team all;
    all.start = 0;
    all.stride = 1;
    all.size = ctx->world;
    return all;
}

/** One workgroup's part in a collective: the slice that it works on, and its team. Every lane has the same. */
typedef struct iris_slice {
    const iris_ctx *ctx;     /**< of the kernel */
    iris_signal *words;      /**< symmetric: the slice's words */
    char *banks;             /**< symmetric: the slice's part of the first bank */
    size_t half;             /**< bytes of LL packets, and of raw scratch behind them, in each bank */
    size_t turn;             /**< bytes from one bank to the other */
    uint32_t room;           /**< bytes of elements in a member's row of LL packets */
    int32_t start, stride;   /**< the team */
    int32_t size, member;    /**< its size, 0 where this rank is not in it; own place in it */
    uint64_t step;           /**< steps finished */
} iris_slice;

/* The event of a collective's part on a slice. `id`: what irisi_collective_label knows. */
IRIS_DEVICE void irisi_trace_slice(const iris_slice *s, uint64_t begun, uint32_t id, size_t bytes)
{
    if (IRISI_TRACE && iris_wg_lane() == 0)
        irisi_trace_note(s->ctx, begun, IRIS_TRACE_COLLECTIVE, s->ctx->rank, s->words, bytes, id);
}

/* The member `ahead` places after this one, up to once around, and its world rank. */
IRIS_DEVICE int irisi_slice_member(const iris_slice *s, int ahead)
{
    return s->member + ahead < s->size ? s->member + ahead : s->member + ahead - s->size;
}
IRIS_DEVICE int irisi_slice_ahead(const iris_slice *s, int ahead)
{
    return s->start + irisi_slice_member(s, ahead) * s->stride;
}
/* World rank of a member. */
IRIS_DEVICE int irisi_slice_rank(const iris_slice *s, int member) { return s->start + member * s->stride; }

/* One word of a row: about `rank`. */
IRIS_DEVICE iris_signal *irisi_slice_word(const iris_slice *s, irisi_slice_row row, int rank)
{
    return s->words + IRISI_SLICE_HEAD + (int)row * s->ctx->world + rank;
}

/* What went wrong between ranks, as a report. */
IRIS_DEVICE void irisi_slice_report(const iris_slice *s, irisi_fault fault, int from, uint64_t expected, uint64_t seen)
{
    irisi_report *report = irisi_claim(s->ctx);
    if (report == NULL)
        return;
    report->fault = (uint32_t)fault;
    report->from = from;
    report->workgroup = iris_workgroup();
    report->workgroups = iris_workgroups();
    report->team = s->ctx->team;
    report->expected = expected;
    report->seen = seen;
    irisi_publish(s->ctx, report);
}

/**
 * Begins work on a slice. Every lane of one workgroup on every member calls it, then the schedule, then
 * iris_slice_leave_wg. A team of size 0 is the world. On a rank outside the team, for a slice that does not exist and
 * with a channel that is not from iris_collective_channel, the result's size is 0, and nothing happens; the last two
 * are reported in checked mode.
 */
IRIS_DEVICE iris_slice iris_slice_enter_wg(const iris_ctx *ctx, const iris_channel *ch, iris_team team, uint32_t slice)
{
    const uint32_t words = irisi_slice_words((uint32_t)ctx->world);
    const int32_t stride = team.size == 0 || team.stride == 0 ? 1 : team.stride;
    const int32_t size = team.size == 0 ? ctx->world : team.size;
    const int32_t start = team.size == 0 ? 0 : team.start;
    iris_slice s;
    s.ctx = ctx;
    s.words = ch->signals + slice * words;
    s.half = slice < ch->slices ? ch->half : 0;
    s.banks = ch->banks + slice * 2 * s.half;
    s.turn = ch->bank_bytes;
    s.room = ch->room;
    /* As if new for each slice: else the places of members' offsets fill scalar registers all through the kernel. */
    s.start = (int32_t)irisi_rematerialize_u32((uint32_t)start);
    s.stride = (int32_t)irisi_rematerialize_u32((uint32_t)stride);
    s.member = stride == 1 ? ctx->rank - start : (ctx->rank - start) / stride; /* a division takes as long as a load */
    s.size = s.member >= 0 && s.member < size && start + s.member * stride == ctx->rank ? size : 0;
    s.step = 0;
    if (IRISI_CHECKED && ctx->window != 0) { /* its table of heaps is another: no word of a peer is where it points */
        if (s.size > 0 && iris_wg_lane() == 0)
            irisi_slice_report(&s, IRISI_FAULT_WINDOW, ctx->rank, ctx->window, slice);
        s.size = 0;
    }
    if (s.half == 0) { /* no such slice, or made for something else */
        if (IRISI_CHECKED && s.size > 0 && iris_wg_lane() == 0)
            irisi_slice_report(&s, IRISI_FAULT_SLICE, ctx->rank, ch->slices, slice);
        s.size = 0;
    }
    if (s.size == 0)
        return s;
    s.step = irisi_atomic_fetch_u64(&s.words[IRISI_SLICE_STEP].value, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    if (IRISI_CHECKED && s.size > 0 && iris_wg_lane() == 0 &&
        irisi_atomic_xchg_u64(&s.words[IRISI_SLICE_BUSY].value, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) != 0)
        irisi_slice_report(&s, IRISI_FAULT_BUSY, ctx->rank, 0, slice);
    return s;
}

/** Ends work on a slice: the next collective on it goes on from here. Every lane of the workgroup calls it. */
IRIS_DEVICE void iris_slice_leave_wg(const iris_slice *s)
{
    iris_sync_wg();
    if (iris_wg_lane() == 0 && s->size > 0) {
        irisi_atomic_set_u64(&s->words[IRISI_SLICE_STEP].value, s->step, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        if (IRISI_CHECKED)
            irisi_atomic_set_u64(&s->words[IRISI_SLICE_BUSY].value, 0, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    }
    irisi_drain(); /* the step has arrived before another wave reads it in the next collective */
    iris_sync_wg();
}

/* The first half of a meeting. `puts`: only what the library's puts and stores wrote is to be seen by the others. */
IRIS_DEVICE void irisi_slice_arrive(iris_slice *s, int puts)
{
    iris_signal *own = irisi_slice_word(s, IRISI_WORD_MET, s->ctx->rank);
    int k = 1 + (int)iris_wg_lane();
    uint64_t *at = k < s->size ? irisi_signal_at(s->ctx, own, irisi_slice_ahead(s, k)) : NULL;
    s->step++;
    irisi_drain();
    iris_sync_wg();
    if (at == NULL)
        return;
    if (!puts)
        irisi_release(); /* once in each wave that signals: on AMD it writes back a cache */
    irisi_raise_at(at, s->step, IRIS_SIGNAL_SET);
    while ((k += (int)iris_wg_lanes()) < s->size)
        irisi_raise(s->ctx, own, s->step, IRIS_SIGNAL_SET, irisi_slice_ahead(s, k));
}

/* Waits until every other member has set its word of a row to at least `value`. */
IRIS_DEVICE void irisi_slice_wait_all(const iris_slice *s, irisi_slice_row row, uint64_t value)
{
    for (int k = 1 + (int)iris_wg_lane(); k < s->size; k += (int)iris_wg_lanes()) {
        const int from = irisi_slice_ahead(s, k);
        irisi_wait_signal(s->ctx, irisi_slice_word(s, row, from), IRISI_GE, value, from);
    }
    iris_sync_wg();
}
/* The second half: every member has arrived at this step. */
IRIS_DEVICE void irisi_slice_await(const iris_slice *s) { irisi_slice_wait_all(s, IRISI_WORD_MET, s->step); }

/**
 * Meeting of the team, one step: what any member's workgroup did before comes before what any does after, its own
 * writes in this kernel and earlier ones included. Every lane of the workgroup calls it.
 */
IRIS_DEVICE void iris_slice_meet_wg(iris_slice *s)
{
    irisi_slice_arrive(s, 0);
    irisi_slice_await(s);
}
/** @} */
/* The same where others are to see only what puts and irisi_store_* wrote: no cache is written back. */
IRIS_DEVICE void irisi_slice_meet_puts(iris_slice *s)
{
    irisi_slice_arrive(s, 1);
    irisi_slice_await(s);
}

/* After puts of the workgroup: sets this rank's word of a row at `rank`. Every lane of the workgroup calls it. */
IRIS_DEVICE void irisi_slice_raise(const iris_slice *s, irisi_slice_row row, uint64_t value, int rank)
{
    const uint64_t begun = irisi_trace_begin(s->ctx);
    iris_signal *own = irisi_slice_word(s, row, s->ctx->rank);
    irisi_put_raise_wg(irisi_signal_at(s->ctx, own, rank), value, IRIS_SIGNAL_SET);
    irisi_trace_raised_wg(s->ctx, begun, own, value, IRIS_SIGNAL_SET, rank);
}
/* The same at every other member. */
IRIS_DEVICE void irisi_slice_raise_all(const iris_slice *s, irisi_slice_row row, uint64_t value)
{
    iris_signal *own = irisi_slice_word(s, row, s->ctx->rank);
    irisi_drain();
    iris_sync_wg();
    for (int k = 1 + (int)iris_wg_lane(); k < s->size; k += (int)iris_wg_lanes())
        irisi_raise(s->ctx, own, value, IRIS_SIGNAL_SET, irisi_slice_ahead(s, k));
}
/* Waits until `rank` has set its word of a row to at least `value`. Every lane of the workgroup calls it. */
IRIS_DEVICE void irisi_slice_wait(const iris_slice *s, irisi_slice_row row, uint64_t value, int rank)
{
    if (iris_wg_lane() == 0)
        irisi_wait_signal(s->ctx, irisi_slice_word(s, row, rank), IRISI_GE, value, rank);
    iris_sync_wg();
}

/* The raw scratch of a step; symmetric, s->half bytes. */
IRIS_DEVICE char *irisi_slice_scratch(const iris_slice *s, uint64_t step)
{
    return s->banks + (step & 1) * s->turn + s->half;
}
/* The LL packets of a step; symmetric, s->half bytes. */
IRIS_DEVICE iris_ll_packet *irisi_slice_packets(const iris_slice *s, uint64_t step)
{
    return (iris_ll_packet *)(void *)(s->banks + (step & 1) * s->turn);
}

/* What goes wrong between ranks is reported by one lane, if waits have not been ended by another report already. */
IRIS_DEVICE void irisi_slice_fault(const iris_slice *s, irisi_fault fault, int from, uint64_t expected, uint64_t seen)
{
    if (iris_wg_lane() == 0 && irisi_atomic_fetch_u32(&s->ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 0)
        irisi_slice_report(s, fault, from, expected, seen);
}

/* What ranks must call a collective alike with, beside the count: the root, -1 for none, and how elements are taken. */
IRIS_HOST_DEVICE uint64_t irisi_call_of(int root, int op, size_t element)
{
    return (uint32_t)root | (uint64_t)op << 32 | (uint64_t)element << 48;
}

/*
 * 1, and in checked mode only where every member was called with as many elements, and alike (irisi_call_of). Else that
 * is reported, waits end, and the result is 0 for every lane: nothing may be touched. Every lane of the workgroup calls
 * it; four steps.
 */
#if IRISI_CHECKED
IRIS_DEVICE void irisi_slice_compare(iris_slice *s, uint64_t value, irisi_fault fault)
{
    irisi_slice_raise_all(s, IRISI_WORD_COUNT, value);
    iris_slice_meet_wg(s);
    for (int k = 1 + (int)iris_wg_lane(); k < s->size; k += (int)iris_wg_lanes()) {
        const int from = irisi_slice_ahead(s, k);
        const uint64_t theirs = iris_signal_read(s->ctx, irisi_slice_word(s, IRISI_WORD_COUNT, from));
        if (theirs == value)
            continue;
        irisi_atomic_set_u64(&s->words[IRISI_SLICE_REFUSED].value, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        if (irisi_atomic_fetch_u32(&s->ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 0)
            irisi_slice_report(s, fault, from, value, theirs);
    }
    iris_slice_meet_wg(s);
}
IRIS_DEVICE int irisi_slice_agree(iris_slice *s, size_t count, uint64_t call)
{
    if (s->size == 0)
        return 0;
    uint64_t *refused = &s->words[IRISI_SLICE_REFUSED].value;
    irisi_slice_compare(s, count, IRISI_FAULT_COUNT);
    if (irisi_atomic_fetch_u64(refused, IRIS_RELAXED, IRIS_SCOPE_AGENT) != 0)
        return 0; /* a rank that still compares counts would take the next value for one */
    irisi_slice_compare(s, call, IRISI_FAULT_CALL);
    return irisi_atomic_fetch_u64(refused, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0;
}
#else
IRIS_DEVICE int irisi_slice_agree(iris_slice *s, size_t count, uint64_t call)
{
    return (void)s, (void)count, (void)call, 1;
}
#endif

/*
 * 1 where a row of `count` items, `first` behind p, which rank `from` has named, lies in its heap and finds room here.
 * Else that is reported, in every build, and waits end. Every lane of the workgroup calls it.
 */
IRIS_DEVICE int irisi_slice_row_fits(const iris_slice *s, const void *p, uint64_t first, uint64_t count, uint64_t room,
                                     size_t size, int from)
{
    const uint64_t offset = (uint64_t)(uintptr_t)p - s->ctx->base;
    const uint64_t most = offset > s->ctx->bytes ? 0 : (s->ctx->bytes - offset) / size;
    if (count == 0 || (count <= room && first <= most && count <= most - first))
        return 1;
    if (count > room)
        irisi_slice_fault(s, IRISI_FAULT_ROOM, from, room, count);
    else
        irisi_slice_fault(s, IRISI_FAULT_ROW, from, first, count);
    return 0;
}

/*
 * Writes `bytes` bytes of own memory to the same symmetric address on every member, this one included where `self`,
 * without the one `skip` places ahead (-1: with all): each 16 bytes are read once and go to every link. Every lane of
 * the workgroup calls it; no order of its own.
 */
IRIS_DEVICE void irisi_slice_put_all(const iris_slice *s, void *dst, const void *src, size_t bytes, int self, int skip)
{
    const int first = self ? 0 : 1;
    if (irisi_alignment((uintptr_t)dst | (uintptr_t)src | (uintptr_t)bytes) < 16) {
        for (int k = first; k < s->size; k++)
            if (k != skip)
                irisi_copy_wg(irisi_translate(s->ctx, dst, irisi_slice_ahead(s, k)), src, bytes);
        return;
    }
    const irisi_span own = irisi_split(bytes / 16, iris_wg_lane(), iris_wg_lanes());
    const size_t step = 16 * own.step, end = 16 * own.end;
    const char *from = (const char *)src;
    size_t i = 16 * own.first;
    for (; i + 3 * step < end; i += 4 * step) {
        irisi_b128 v[4];
        IRISI_UNROLL
        for (int u = 0; u < 4; u++)
            v[u] = irisi_load_128(from + i + (size_t)u * step, IRIS_CACHE_STREAM);
        IRISI_UNROLL
        for (int u = 0; u < 4; u++)
            irisi_loaded(v + u);
        for (int k = first; k < s->size; k++) {
            if (k == skip)
                continue;
            char *to = (char *)irisi_translate(s->ctx, dst, irisi_slice_ahead(s, k)) + i;
            IRISI_UNROLL
            for (int u = 0; u < 4; u++)
                irisi_store_128(to + (size_t)u * step, v[u], IRIS_CACHE_DEFAULT);
        }
    }
    for (; i < end; i += step) {
        const irisi_b128 v = irisi_load_128(from + i, IRIS_CACHE_STREAM);
        for (int k = first; k < s->size; k++)
            if (k != skip)
                irisi_store_128((char *)irisi_translate(s->ctx, dst, irisi_slice_ahead(s, k)) + i, v,
                                IRIS_CACHE_DEFAULT);
    }
}

/*
 * A meeting of a team's streams, on the first slice: what a member's stream did before comes before what any does
 * after. `count` and `root` are what the collective was called with. Every lane of one workgroup calls it.
 */
IRIS_DEVICE void irisi_streams_meet(const iris_ctx *ctx, const iris_channel *ch, iris_team team, size_t count, int root)
{
    iris_slice s = iris_slice_enter_wg(ctx, ch, team, 0);
    if (s.size > 0 && irisi_slice_agree(&s, count, irisi_call_of(root, 0, 1)))
        iris_slice_meet_wg(&s);
    iris_slice_leave_wg(&s);
}

#endif
#endif
