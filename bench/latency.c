/* SPDX-License-Identifier: MIT */
/*
 * latency.c: what goes back and forth between two ranks (signals, puts with signals, LL packets, atomics, and puts with
 * signals and waits on a stream), barriers of all, and launches, beside what is written by hand in the same run.
 * bench/README.md says how it measures.
 */
#define IRIS_INSTANTIATE_ON_STREAM
#include <iris/on_stream.h>

#include "bench.h"
#include "hand_stream.h"
#include "spellings.h"

enum { CASES = 64, LANES = 1024, LAUNCHES = 100, STREAM_LAPS = 100 };

/* 16 bytes as a hand-written kernel would move them. */
typedef struct hand_vec {
    IRISI_ALIGN(16) uint32_t w[4];
} hand_vec;

typedef struct ping_args {
    iris_ctx ctx;
    iris_channel ch; /* of the barriers */
    uint32_t *src, *dst;
    hand_vec *hand_from, *hand_to;
    iris_signal *signal;
    iris_ll_packet *slots; /* symmetric: two packets */
    uint64_t *lap, *word;  /* own: laps so far; symmetric: targets of atomics, then places for what they returned */
    size_t n;              /* u32 elements */
    uint64_t laps;
    int peer;
} ping_args;

/* Counts of laps go on from launch to launch, since signals never go back. */
IRIS_DEVICE uint64_t begin_laps(const ping_args *a) { return *a->lap; }
IRIS_DEVICE void end_laps(const ping_args *a, uint64_t base)
{
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + a->laps;
}
IRIS_DEVICE int plays(const ping_args *a) { return a->ctx.rank < 2; }

/*
 * Every ping-pong: rank 0 sends the first lap, and whoever has heard a lap answers: rank 1 with the same one, rank 0
 * with the next until the last. 1 is what rank 0 is ahead.
 */
IRIS_DEVICE uint64_t ahead(const ping_args *a) { return a->ctx.rank == 0; }

IRIS_KERNEL(ping, ping_args, a, 64)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    if (plays(a) && iris_wg_lane() == 0) {
        if (more)
            iris_signal_set(&a->ctx, a->signal, base + 1, a->peer);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            iris_wait_ge(&a->ctx, a->signal, lap);
            if (lap + more <= last)
                iris_signal_set(&a->ctx, a->signal, lap + more, a->peer);
        }
    }
    end_laps(a, base);
}

/* The same by hand. `raise` and `wait` are constants. */
IRIS_DEVICE void hand_ping(const ping_args *a, spelling_raise_kind raise, spelling_wait_kind wait)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    uint64_t *there = (uint64_t *)iris_at(&a->ctx, a->signal, a->peer);
    if (plays(a) && iris_wg_lane() == 0) {
        if (more)
            spelling_raise(there, base + 1, raise);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            spelling_wait(&a->signal->value, lap, wait, a->ctx.deadline);
            if (lap + more <= last)
                spelling_raise(there, lap + more, raise);
        }
    }
    end_laps(a, base);
}
IRIS_KERNEL(hand_set_library, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_LIBRARY); }
IRIS_KERNEL(hand_set_acquire, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_ACQUIRE); }
IRIS_KERNEL(hand_set_fenced, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_FENCED); }
IRIS_KERNEL(hand_set_two, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_TWO); }
IRIS_KERNEL(hand_set_again, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_AGAIN); }
IRIS_KERNEL(hand_set_checked, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_CHECKED); }
IRIS_KERNEL(hand_add_acquire, ping_args, a, 64) { hand_ping(a, RAISE_ADD, WAIT_ACQUIRE); }
IRIS_KERNEL(hand_add_fenced, ping_args, a, 64) { hand_ping(a, RAISE_ADD, WAIT_FENCED); }
IRIS_KERNEL(hand_exchange_fenced, ping_args, a, 64) { hand_ping(a, RAISE_EXCHANGE, WAIT_FENCED); }
IRIS_KERNEL(hand_fence_fenced, ping_args, a, 64) { hand_ping(a, RAISE_FENCE, WAIT_FENCED); }
IRIS_KERNEL(hand_set_relaxed, ping_args, a, 64) { hand_ping(a, RAISE_SET, WAIT_RELAXED); }
IRIS_KERNEL(hand_relaxed_fenced, ping_args, a, 64) { hand_ping(a, RAISE_RELAXED, WAIT_FENCED); }
IRIS_KERNEL(hand_relaxed, ping_args, a, 64) { hand_ping(a, RAISE_RELAXED, WAIT_RELAXED); }

/* LL: 4 bytes in one packet, 8 bytes in two. */
IRIS_KERNEL(ping_ll, ping_args, a, 64)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    if (plays(a) && iris_wg_lane() == 0) {
        if (more)
            iris_ll_send(&a->ctx, a->slots, (uint32_t)base + 1, iris_ll_flag(base + 1), a->peer);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            const uint32_t seen = iris_ll_receive(&a->ctx, a->slots, iris_ll_flag(lap), a->peer);
            if (lap + more <= last)
                iris_ll_send(&a->ctx, a->slots, seen + (uint32_t)more, iris_ll_flag(lap + more), a->peer);
        }
    }
    end_laps(a, base);
}
IRIS_KERNEL(ping_ll_8, ping_args, a, 64)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    if (plays(a) && iris_wave() == 0) {
        if (more)
            iris_ll_put_wave(&a->ctx, a->slots, a->src, 8, iris_ll_flag(base + 1), a->peer);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            iris_ll_get_wave(&a->ctx, a->dst, a->slots, 8, iris_ll_flag(lap), a->peer);
            if (lap + more <= last)
                iris_ll_put_wave(&a->ctx, a->slots, a->src, 8, iris_ll_flag(lap + more), a->peer);
        }
    }
    end_laps(a, base);
}

IRIS_KERNEL(ping_put, ping_args, a, 1024)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    if (plays(a)) {
        if (more)
            iris_put_signal_u32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, base + 1, IRIS_SIGNAL_SET, a->peer);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            iris_wait_ge_wg(&a->ctx, a->signal, lap);
            if (lap + more <= last)
                iris_put_signal_u32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, lap + more, IRIS_SIGNAL_SET, a->peer);
        }
    }
    end_laps(a, base);
}
IRIS_DEVICE void hand_send(const ping_args *a, uint64_t *there, uint64_t lap)
{
    const size_t n = a->n / 4, step = iris_wg_lanes();
    hand_vec v[4];
    for (size_t i = iris_wg_lane(); i < n; i += 4 * step) {
        for (size_t k = 0; k < 4; k++)
            if (i + k * step < n)
                v[k] = a->hand_from[i + k * step];
        for (size_t k = 0; k < 4; k++)
            if (i + k * step < n)
                a->hand_to[i + k * step] = v[k];
    }
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        spelling_raise(there, lap, RAISE_SET);
}
IRIS_KERNEL(hand_ping_put, ping_args, a, 1024)
{
    const uint64_t base = begin_laps(a), last = base + a->laps, more = ahead(a);
    uint64_t *there = (uint64_t *)iris_at(&a->ctx, a->signal, a->peer);
    if (plays(a)) {
        if (more)
            hand_send(a, there, base + 1);
        for (uint64_t lap = base + 1; lap <= last; lap++) {
            if (iris_wg_lane() == 0)
                spelling_wait(&a->signal->value, lap, WAIT_LIBRARY, 0);
            iris_sync_wg();
            if (lap + more <= last)
                hand_send(a, there, lap + more);
        }
    }
    end_laps(a, base);
}

IRIS_KERNEL(barrier, ping_args, a, 64)
{
    for (uint64_t lap = 0; lap < a->laps; lap++)
        iris_barrier_all_wg(&a->ctx, &a->ch);
}
IRIS_KERNEL(ll_barrier, ping_args, a, 64)
{
    for (uint64_t lap = 0; lap < a->laps; lap++)
        iris_ll_barrier_wg(&a->ctx, &a->ch);
}
IRIS_KERNEL(empty, ping_args, a, 64) { (void)a; }

/* Each lane has a word of its own on rank 1. */
IRIS_KERNEL(atomic_add, ping_args, a, 1024)
{
    if (a->ctx.rank == 0)
        for (uint64_t lap = 0; lap < a->laps; lap++)
            iris_atomic_add_u64(&a->ctx, a->word + iris_wg_lane(), 1, a->peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}
/* What is stored depends on what the exchange before returned: one after the other. It counts up by one. */
IRIS_KERNEL(atomic_xchg, ping_args, a, 1024)
{
    uint64_t *state = a->word + LANES + iris_wg_lane();
    uint64_t value = *state;
    if (a->ctx.rank == 0)
        for (uint64_t lap = 0; lap < a->laps; lap++)
            value = 2 + iris_atomic_xchg_u64(&a->ctx, a->word + iris_wg_lane(), value, a->peer, IRIS_RELAXED,
                                             IRIS_SCOPE_SYSTEM);
    *state = value;
}

/* What a case leaves behind, and so how it is checked. */
typedef enum trace_kind { TRACE_NONE, TRACE_SIGNAL, TRACE_DATA, TRACE_PACKET, TRACE_EPOCH, TRACE_WORD } trace_kind;

typedef struct ping_case {
    const char *name, *variant;
    irisi_kernel kernel, by_hand; /* by_hand: null where nothing stands beside it */
    uint32_t lanes;
    size_t bytes;
    trace_kind trace;
    int no_deadline; /* the case itself, or only what stands beside it */
} ping_case;

typedef struct ping_run {
    bench *b;
    ping_args args;
    iris_signal *signals;
    uint64_t *laps, *words;
    int next; /* of signals and laps: each case has its own */
    hand_stream by_hand;
    uint64_t lap; /* of puts on a stream, and whether those by hand */
    int hand;
} ping_run;

static uint64_t total_laps(const ping_run *r) { return r->args.laps * (uint64_t)(r->b->o->warmup + r->b->o->repeats); }

static int held(iris_world *w, const void *at, uint64_t mask, uint64_t want)
{
    uint64_t seen = 0;
    return iris_memcpy(w, &seen, at, sizeof seen) == IRIS_OK && (seen & mask) == (want & mask);
}

static int data_arrived(iris_world *w, const ping_args *a)
{
    static const size_t most = 65536 / 4;
    uint32_t seen[65536 / 4];
    const uint32_t first = (uint32_t)(1 - iris_rank(w)) * 0x01000193u;
    if (a->n > most || iris_memcpy(w, seen, a->dst, 4 * a->n) != IRIS_OK)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (seen[i] != first + (uint32_t)i)
            return 0;
    return 1;
}

/* Collective: whether every rank holds what the case's laps leave. */
static int left_behind(ping_run *r, trace_kind t)
{
    iris_world *w = r->b->w;
    const int rank = iris_rank(w), plays = rank < 2 && iris_world_size(w) > 1;
    const uint64_t laps = total_laps(r);
    int ok = 1;
    if (t == TRACE_SIGNAL || t == TRACE_DATA)
        ok = !plays || held(w, r->args.signal, ~(uint64_t)0, laps);
    if (t == TRACE_DATA)
        ok &= !plays || data_arrived(w, &r->args);
    if (t == TRACE_PACKET)
        ok = !plays || held(w, r->args.slots, ~(uint64_t)0 << 32, (uint64_t)iris_ll_flag(laps) << 32);
    if (t == TRACE_EPOCH)
        ok = held(w, r->args.ch.state + IRISI_EPOCH, ~(uint64_t)0, laps);
    if (t == TRACE_WORD)
        ok = rank != 1 || held(w, r->args.word, ~(uint64_t)0, laps);
    return iris_bench_all_ok(r->b->w, ok);
}

/* Microseconds a lap, and whether it left what it should; a negative time when it failed. */
static double time_laps(ping_run *r, const ping_case *c, irisi_kernel kernel, int no_deadline, int *ok)
{
    bench_kernel k;
    memset(&k, 0, sizeof k);
    r->args.signal = r->signals + 8 * r->next; /* a cache line each */
    r->args.slots = (iris_ll_packet *)(void *)(r->args.signal + 2);
    r->args.lap = r->laps + r->next++;
    r->args.word = r->words;
    r->args.ctx.deadline = no_deadline ? 0 : iris_device_ctx(r->b->w).deadline;
    if (r->next > CASES || (c->trace == TRACE_WORD && iris_memset(r->b->w, r->words, 0, 16 * LANES) != IRIS_OK) ||
        (c->trace == TRACE_DATA && iris_memset(r->b->w, r->args.dst, 0xEE, 65536) != IRIS_OK))
        return -1;
    if (c->trace == TRACE_WORD)
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint64_t one = 1; /* what atomic_xchg begins with */
            if (iris_memcpy(r->b->w, r->words + LANES + lane, &one, sizeof one) != IRIS_OK)
                return -1;
        }
    if (c->trace == TRACE_EPOCH && iris_channel_create(r->b->w, &r->args.ch, (size_t)iris_world_size(r->b->w),
                                                       8 * (size_t)iris_world_size(r->b->w)) != IRIS_OK)
        return -1;
    if (iris_barrier(r->b->w) != IRIS_OK)
        return -1;
    k.kernel = kernel, k.name = c->name, k.args = &r->args, k.bytes = sizeof r->args;
    k.cfg = iris_cooperative(1, c->lanes);
    const double us = bench_time(r->b, c->name, bench_submit_kernel, &k);
    *ok &= us < 0 || left_behind(r, c->trace);
    return us / (double)r->args.laps;
}

static int run_case(ping_run *r, const ping_case *c)
{
    iris_bench_row row;
    if ((r->b->o->only && strcmp(r->b->o->only, c->name) != 0) || iris_bench_late(&r->b->file))
        return 0;
    memset(&row, 0, sizeof row);
    r->args.n = c->bytes / 4;
    row.ok = 1;
    row.us = time_laps(r, c, c->kernel, c->no_deadline, &row.ok);
    row.ceiling = c->by_hand ? time_laps(r, c, c->by_hand, 1, &row.ok) : 0;
    if (row.us < 0 || row.ceiling < 0) {
        fprintf(stderr, "%s, %s: %s\n", c->name, c->variant, iris_error_string(r->b->w));
        return 1;
    }
    row.name = c->name, row.dtype = "u32", row.variant = c->variant, row.bytes = c->bytes;
    row.workgroups = 1, row.lanes = (int)c->lanes;
    iris_bench_put(&r->b->file, &row);
    return 0;
}

/* STREAM_LAPS laps of a ping-pong on the stream: rank 0 begins. */
static iris_status submit_stream_laps(iris_world *w, void *arg, iris_stream stream, int turn)
{
    ping_run *r = (ping_run *)arg;
    const ping_args *a = &r->args;
    const int rank = iris_rank(w), peer = a->peer;
    const uint64_t last = r->lap + STREAM_LAPS;
    uint64_t *there = &((iris_signal *)iris_translate(w, a->signal, peer))->value;
    (void)turn;
    for (int step = 0; step < 2 * STREAM_LAPS && rank < 2; step++) {
        const int puts = step % 2 == rank;
        iris_status s = IRIS_OK;
        r->lap += step % 2 == 0;
        if (r->hand && !(puts ? hand_stream_put_signal(&r->by_hand, a->hand_to, a->src, 4 * a->n, there, r->lap, stream)
                              : hand_stream_wait(&r->by_hand, &a->signal->value, r->lap, stream)))
            s = irisi_fail(w, IRIS_ERR_DEVICE, "the driver refused a write or a wait on a stream");
        else if (!r->hand && puts)
            s = iris_put_signal_on_stream(w, a->dst, a->src, 4 * a->n, a->signal, r->lap, IRIS_SIGNAL_SET, peer,
                                          stream);
        else if (!r->hand)
            s = iris_wait_until_on_stream(w, a->signal, IRIS_CMP_GE, r->lap, stream);
        if (s != IRIS_OK)
            return s;
    }
    r->lap = last;
    return IRIS_OK;
}

/* Microseconds of a lap there and back, the library's or those by hand; a negative time when it failed. */
static double time_stream_laps(ping_run *r, int hand, int *ok)
{
    r->args.signal = r->signals + 8 * r->next++, r->lap = 0, r->hand = hand;
    if (r->next > CASES || iris_memset(r->b->w, r->args.dst, 0xEE, 65536) != IRIS_OK ||
        iris_barrier(r->b->w) != IRIS_OK)
        return -1;
    const double us = bench_time(r->b, "on_stream", submit_stream_laps, r);
    *ok &= us < 0 ||
           iris_bench_all_ok(r->b->w, iris_rank(r->b->w) > 1 || (held(r->b->w, r->args.signal, ~(uint64_t)0, r->lap) &&
                                                                 data_arrived(r->b->w, &r->args)));
    return us / STREAM_LAPS;
}

/* A put with signal and a wait on a stream, beside a copy and the driver's write and wait, where there are these. */
static int run_stream(ping_run *r, size_t bytes)
{
    iris_bench_row row;
    if ((r->b->o->only && strcmp(r->b->o->only, "on_stream") != 0) || iris_bench_late(&r->b->file))
        return 0;
    memset(&row, 0, sizeof row);
    r->args.n = bytes / 4, row.ok = 1;
    row.us = time_stream_laps(r, 0, &row.ok);
    const int by_hand = iris_bench_all_ok(r->b->w, hand_stream_open(&r->by_hand));
    row.ceiling = by_hand && row.us >= 0 ? time_stream_laps(r, 1, &row.ok) : 0;
    if (row.us < 0 || row.ceiling < 0) {
        fprintf(stderr, "on_stream: %s\n", iris_error_string(r->b->w));
        return 1;
    }
    row.name = "on_stream", row.dtype = "u32", row.variant = "library", row.bytes = bytes;
    iris_bench_put(&r->b->file, &row);
    return 0;
}

/* LAUNCHES launches of a kernel one behind the other, plain and as one graph: microseconds of one. */
static int run_launches(ping_run *r, const char *name, irisi_kernel kernel, int cooperative)
{
    static const char *const variants[2][2] = {{"plain", "plain_graph"}, {"cooperative", "cooperative_graph"}};
    bench_kernel k;
    iris_bench_row row;
    if ((r->b->o->only && strcmp(r->b->o->only, name) != 0) || iris_bench_late(&r->b->file))
        return 0;
    memset(&row, 0, sizeof row);
    memset(&k, 0, sizeof k);
    r->args.laps = 1;
    IRIS_TRY(iris_channel_create(r->b->w, &r->args.ch, (size_t)iris_world_size(r->b->w),
                                 8 * (size_t)iris_world_size(r->b->w)));
    IRIS_TRY(iris_barrier(r->b->w));
    k.kernel = kernel, k.name = name, k.args = &r->args, k.bytes = sizeof r->args;
    k.cfg = cooperative ? iris_cooperative(1, 64) : iris_grid(1, 64);
    row.ok = 1, row.name = name, row.dtype = "u32";
    row.workgroups = 1, row.lanes = 64;
    for (int graph = 0; graph <= iris_bench_graphs(); graph++) {
        row.us = bench_time_calls(r->b, name, bench_submit_kernel, &k, graph, LAUNCHES);
        row.variant = variants[cooperative][graph];
        if (row.us < 0)
            return 1;
        iris_bench_put(&r->b->file, &row);
    }
    return 0;
}

#define KERNEL(name) IRISI_KERNEL_PTR(name)
static const ping_case cases[] = {
    {"signal", "library", KERNEL(ping), KERNEL(hand_set_acquire), 64, 0, TRACE_SIGNAL, 0},
    {"signal_deadline", "library", KERNEL(ping), KERNEL(ping), 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+library", KERNEL(hand_set_library), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+acquire", KERNEL(hand_set_acquire), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+fenced", KERNEL(hand_set_fenced), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+two", KERNEL(hand_set_two), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+again", KERNEL(hand_set_again), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "set+checked", KERNEL(hand_set_checked), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "add+acquire", KERNEL(hand_add_acquire), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "add+fenced", KERNEL(hand_add_fenced), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "exch+fenced", KERNEL(hand_exchange_fenced), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_hand", "fence+fenced", KERNEL(hand_fence_fenced), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_floor", "set+relaxed", KERNEL(hand_set_relaxed), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_floor", "relaxed+fenced", KERNEL(hand_relaxed_fenced), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"signal_floor", "relaxed", KERNEL(hand_relaxed), NULL, 64, 0, TRACE_SIGNAL, 0},
    {"ll", "lane", KERNEL(ping_ll), NULL, 64, 4, TRACE_PACKET, 0},
    {"ll", "wave", KERNEL(ping_ll_8), NULL, 64, 8, TRACE_PACKET, 0},
    {"ll_barrier", "device", KERNEL(ll_barrier), NULL, 64, 0, TRACE_EPOCH, 0},
    {"barrier", "device", KERNEL(barrier), NULL, 64, 0, TRACE_EPOCH, 0},
    {"atomic_add", "lane", KERNEL(atomic_add), NULL, 64, 8, TRACE_WORD, 0},
    {"atomic_add", "workgroup", KERNEL(atomic_add), NULL, 1024, 8, TRACE_WORD, 0},
    {"atomic_xchg", "lane", KERNEL(atomic_xchg), NULL, 64, 8, TRACE_WORD, 0},
    {"atomic_xchg", "workgroup", KERNEL(atomic_xchg), NULL, 1024, 8, TRACE_WORD, 0},
};

static int run_all(ping_run *r)
{
    const bench_options *o = r->b->o;
    if (r->args.ctx.world > 1) {
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            if (run_case(r, &cases[c]))
                return 1;
        for (size_t bytes = 512; bytes <= 65536; bytes *= 2) {
            ping_case put = {"put_signal", "library", KERNEL(ping_put), KERNEL(hand_ping_put), 512, 0, TRACE_DATA, 0};
            put.bytes = bytes;
            put.lanes = bytes < 16384 ? 512 : 1024; /* four chunks a lane at most: one round */
            if (bytes >= o->min_bytes && bytes <= o->max_bytes && run_case(r, &put))
                return 1;
        }
    }
    for (size_t bytes = 8; r->args.ctx.world > 1 && bytes <= 65536; bytes *= 16)
        if (bytes >= o->min_bytes && bytes <= o->max_bytes && run_stream(r, bytes))
            return 1;
    return run_launches(r, "empty", KERNEL(empty), 0) || run_launches(r, "empty", KERNEL(empty), 1) ||
           run_launches(r, "launch_barrier", KERNEL(barrier), 1) ||
           run_launches(r, "launch_ll_barrier", KERNEL(ll_barrier), 1);
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    bench b;
    ping_run r;
    memset(&r, 0, sizeof r);
    if (bench_open(&b, w, o, "latency"))
        return 1;
    r.b = &b;
    r.args.ctx = iris_device_ctx(w);
    r.args.laps = (uint64_t)o->laps;
    r.args.peer = iris_rank(w) == 0 && iris_world_size(w) > 1 ? 1 : 0;
    r.args.src = iris_arange_u32(w, 65536 / 4, (uint32_t)iris_rank(w) * 0x01000193u, 1);
    r.args.dst = iris_zeros_u32(w, 65536 / 4);
    r.signals = iris_signals(w, 8 * CASES);
    r.laps = iris_zeros_u64(w, CASES);
    r.words = (uint64_t *)(void *)iris_signals(w, 2 * LANES);
    IRIS_TRY(iris_barrier(w));
    r.args.hand_from = (hand_vec *)(void *)r.args.src;
    r.args.hand_to = (hand_vec *)iris_translate(w, r.args.dst, r.args.peer);
    const int failed = run_all(&r);
    b.file.cut = failed ? 2 : b.file.cut;
    return iris_bench_close(&b.file) || failed;
}

int main(int argc, char **argv)
{
    bench_options o;
    memset(&o, 0, sizeof o);
    o.ranks = 2, o.repeats = 20, o.warmup = 3, o.min_bytes = 4, o.max_bytes = 65536;
    o.laps = 2000, o.seconds = 600;
    bench_parse(&o, argc, argv, "latency: how long a message, a barrier or a launch takes");
    return iris_spawn(o.ranks, rank_main, &o);
}
