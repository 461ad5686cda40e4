/* SPDX-License-Identifier: MIT */
/*
 * time.h: how long what a function puts on a stream takes, on all ranks.
 *
 *   iris_bench_fn iris_bench_options iris_bench_result
 *   iris_bench iris_bench_graphs iris_bench_place
 *   iris_bench_summarize iris_bench_quantile iris_bench_gbps iris_bench_tflops
 *
 * A repetition: the ranks meet on their devices (an LL barrier in the stream that is timed) and stay there until the
 * hosts have submitted the work, so that all begin within about a microsecond and no launch is timed that a host was
 * late with; then an event, the work, an event. What counts is the slowest rank's time of each repetition; median and
 * quantiles are over repetitions.
 */
#ifndef IRIS_BENCH_TIME_H
#define IRIS_BENCH_TIME_H

#include <iris/arch/graph.h>
#include <iris/bench/kernels.h>
#include <iris/init.h>
#include <iris/iris.h>

#include <stdlib.h>
#include <string.h>

/** Most repetitions, and what a zeroed iris_bench_options means. */
enum {
    IRIS_BENCH_MOST_REPEATS = 4096,
    IRIS_BENCH_REPEATS = 20, /**< repetitions */
    IRIS_BENCH_WARMUP = 3,   /**< repetitions before them */
    IRIS_BENCH_HOLD_US = 60  /**< microseconds that ranks stay together before the work */
};

/**
 * Puts work on `stream`; iris_bench calls it on every rank.
 *
 * @param w      the world
 * @param arg    what iris_bench was given
 * @param stream where the work goes
 * @param turn   how many calls were before this one, warm-up included, modulo options.places where that is not 0; with
 *               options.graph 0 .. options.calls - 1, over and over, since the calls are made once and then replayed
 * @return IRIS_OK, or what failed: iris_bench then ends with it
 */
typedef iris_status (*iris_bench_fn)(iris_world *w, void *arg, iris_stream stream, int turn);

/** How to measure; the same on every rank. A zeroed struct means defaults. */
typedef struct iris_bench_options {
    int repeats;        /**< repetitions that count; 0: 20 */
    int warmup;         /**< repetitions before them; 0: 3, -1: none */
    int calls;          /**< calls of the function in a repetition, whose time is divided by them; 0: 1 */
    int graph;          /**< 1: the calls are captured once, and a repetition launches the graph; for buffers that take
                             turns give as many `calls` as there are places, or flush_bytes */
    int places;         /**< turns are 0 .. places - 1, over and over, for buffers that take turns; 0: they go on */
    int hold_us;        /**< how long ranks stay together before the work; 0: 60, -1: not at all */
    size_t flush_bytes; /**< so much of the heap is overwritten before a repetition, to empty caches; 0: nothing is */
} iris_bench_options;

/** What came out: microseconds of one call, of each repetition's slowest rank. The same on every rank. */
typedef struct iris_bench_result {
    int n;         /**< repetitions */
    double median; /**< half of the repetitions took less */
    double p10;    /**< a tenth took less */
    double p90;    /**< nine tenths took less */
    double min;    /**< the fastest */
} iris_bench_result;

/**
 * @name Numbers
 *
 * Host functions of one rank.
 *
 * @param sorted n numbers in rising order, n at least 1
 * @param us     n times, which are sorted
 * @param n      how many
 * @param q      0 (the least) to 1 (the greatest)
 * @param result what came out
 * @param bytes  that a call moves
 * @param room   of the buffer
 * @param turn   as an iris_bench_fn gets it
 * @param flops  operations of a call
 * @{
 */
/** The quantile: the number at q * (n - 1), linear between two neighbours (Hyndman and Fan's type 7, 1996). */
static inline double iris_bench_quantile(const double *sorted, int n, double q)
{
    const double at = q * (double)(n - 1);
    const int below = (int)at < n - 1 ? (int)at : n - 1, above = below + 1 < n ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static inline int irisi_bench_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/** Sorts times and fills in the result; zeros where n is 0. */
static inline void iris_bench_summarize(double *us, int n, iris_bench_result *result)
{
    memset(result, 0, sizeof *result);
    if (n < 1)
        return;
    qsort(us, (size_t)n, sizeof *us, irisi_bench_order);
    result->n = n;
    result->min = us[0];
    result->p10 = iris_bench_quantile(us, n, 0.1);
    result->median = iris_bench_quantile(us, n, 0.5);
    result->p90 = iris_bench_quantile(us, n, 0.9);
}

/** 10^9 bytes a second, by the median; 0 where nothing was timed. */
static inline double iris_bench_gbps(const iris_bench_result *result, size_t bytes)
{
    return result->median > 0 ? 1e-3 * (double)bytes / result->median : 0;
}

/** 10^12 operations a second, by the median; 0 where nothing was timed. */
static inline double iris_bench_tflops(const iris_bench_result *result, double flops)
{
    return result->median > 0 ? 1e-6 * flops / result->median : 0;
}

/** Where the turn's message of `bytes` bytes begins in a buffer of `room` bytes: places, 256 bytes apart or more, take
 *  turns, so that no cache that is smaller than the buffer holds the message. 0 where only one fits. */
static inline size_t iris_bench_place(size_t bytes, size_t room, int turn)
{
    const size_t apart = (bytes + 255) / 256 * 256, places = apart && room / apart ? room / apart : 1;
    return (size_t)turn % places * apart;
}
/** @} */

/* One call of iris_bench on one rank. */
typedef struct irisi_bench_job {
    iris_world *w;
    iris_stream stream;
    iris_bench_fn fn;
    void *arg;
    iris_bench_options o; /* with defaults filled in */
    iris_channel meet;
    iris_event begin, end;
    irisi_graph graph;
    uint32_t *flush;
    double *us; /* of this rank, then of all, one rank's after the other */
    int turn;
    iris_status status; /* the first that this rank saw; it goes on meeting the others, so that none waits for it */
} irisi_bench_job;

static inline iris_status irisi_bench_check(iris_world *w, iris_bench_fn fn, const iris_bench_options *o)
{
    if (!fn)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_bench: the function is null");
    if (o->repeats < 1 || o->repeats > IRIS_BENCH_MOST_REPEATS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_bench: repeats is %d; give 1 to %d, or 0 for %d", o->repeats,
                          (int)IRIS_BENCH_MOST_REPEATS, (int)IRIS_BENCH_REPEATS);
    if (o->warmup < 0 || o->hold_us < 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_bench: %s is less than -1, which means none",
                          o->warmup < 0 ? "warmup" : "hold_us");
    if (o->calls < 1 || o->places < 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_bench: %s is negative", o->calls < 1 ? "calls" : "places");
    if (o->graph && !IRISI_HAS_GRAPHS)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "iris_bench: the host platform has no graphs; leave graph 0");
    return IRIS_OK;
}

/* What zeros mean; values that are none stay negative. */
static inline iris_bench_options irisi_bench_defaults(const iris_bench_options *options)
{
    iris_bench_options o;
    memset(&o, 0, sizeof o);
    if (options)
        o = *options;
    o.repeats = o.repeats ? o.repeats : IRIS_BENCH_REPEATS;
    o.warmup = o.warmup == -1 ? 0 : o.warmup ? o.warmup : IRIS_BENCH_WARMUP;
    o.hold_us = o.hold_us == -1 ? 0 : o.hold_us ? o.hold_us : IRIS_BENCH_HOLD_US;
    o.calls = o.calls ? o.calls : 1;
    return o;
}

/* Keeps the first failure. 1 as long as there is none. */
static inline int irisi_bench_keep(irisi_bench_job *j, iris_status status)
{
    if (j->status == IRIS_OK)
        j->status = status;
    return j->status == IRIS_OK;
}

/* A failure of the runtime's, which is null when there is none. */
static inline int irisi_bench_said(irisi_bench_job *j, const char *call, const char *why)
{
    return irisi_bench_keep(j, why ? irisi_fail(j->w, IRIS_ERR_DEVICE, "iris_bench: %s: %s", call, why) : IRIS_OK);
}

static inline void irisi_bench_calls(irisi_bench_job *j, iris_stream stream)
{
    for (int i = 0; i < j->o.calls && j->status == IRIS_OK; i++, j->turn++)
        irisi_bench_keep(j, j->fn(j->w, j->arg, stream, j->o.places ? j->turn % j->o.places : j->turn));
}

/* The calls of one repetition as a graph, recorded on a stream that nothing else is on. */
static inline void irisi_bench_capture(irisi_bench_job *j)
{
    iris_stream stream = NULL;
    if (!j->o.graph || !irisi_bench_keep(j, iris_stream_create(j->w, &stream)))
        return;
    if (irisi_bench_said(j, "begin a capture", irisi_graph_begin(stream))) {
        irisi_bench_calls(j, stream);
        irisi_bench_said(j, "end a capture", irisi_graph_end(stream, &j->graph));
    }
    irisi_bench_keep(j, iris_stream_destroy(j->w, stream));
}

/* Submits the meeting and what comes before it. 1 when that went well. */
static inline int irisi_bench_gather(irisi_bench_job *j)
{
    const iris_launch_config one = iris_cooperative(1, 64);
    const iris_launch_config all = iris_grid(4 * (uint32_t)iris_compute_units(j->w), 256);
    irisi_bench_meeting m;
    iris_status status = IRIS_OK;
    if (j->flush) {
        irisi_bench_flushing f;
        f.at = j->flush, f.n = j->o.flush_bytes / sizeof *f.at;
        status =
            irisi_launch(j->w, IRISI_KERNEL_PTR(irisi_bench_flush), "irisi_bench_flush", &f, sizeof f, &all, j->stream);
    }
    memset((void *)&m, 0, sizeof m);
    m.ctx = iris_device_ctx(j->w), m.ch = j->meet, m.hold = iris_clock_ticks(j->w, (uint64_t)j->o.hold_us);
    if (status == IRIS_OK)
        status =
            irisi_launch(j->w, IRISI_KERNEL_PTR(irisi_bench_meet), "irisi_bench_meet", &m, sizeof m, &one, j->stream);
    irisi_bench_keep(j, status);
    return status == IRIS_OK;
}

/* One repetition: microseconds of a call. 0 when the ranks can no longer meet. */
static inline int irisi_bench_once(irisi_bench_job *j, double *us)
{
    float ms = 0;
    if (!irisi_bench_gather(j))
        return 0;
    if (j->status == IRIS_OK && irisi_bench_keep(j, iris_event_record(j->w, j->begin, j->stream))) {
        if (j->graph.executable)
            irisi_bench_said(j, "launch a graph", irisi_graph_launch(j->graph, j->stream));
        else
            irisi_bench_calls(j, j->stream);
        if (j->status == IRIS_OK && irisi_bench_keep(j, iris_event_record(j->w, j->end, j->stream)))
            irisi_bench_keep(j, iris_event_elapsed_ms(j->w, &ms, j->begin, j->end));
    }
    *us = 1e3 * (double)ms / j->o.calls;
    const iris_status drained = iris_stream_synchronize(j->w, j->stream);
    irisi_bench_keep(j, drained);
    return drained == IRIS_OK;
}

/* The same status on every rank: IRIS_OK, the own failure, or a sentence that names the first rank that failed. */
static inline iris_status irisi_bench_agree(iris_world *w, iris_status own)
{
    const int mine = (int)own;
    int *all = (int *)calloc((size_t)iris_world_size(w), sizeof *all);
    iris_status status =
        all ? iris_allgather(w, &mine, all, sizeof mine)
            : irisi_fail(w, IRIS_ERR_SYSTEM, "iris_bench: no memory for %d numbers", iris_world_size(w));
    status = own != IRIS_OK ? own : status;
    for (int r = 0; status == IRIS_OK && r < iris_world_size(w); r++)
        if (all[r] != IRIS_OK)
            status = irisi_fail(w, IRIS_ERR_PEER, "iris_bench: rank %d failed with %s; its own sentence says why", r,
                                iris_status_name((iris_status)all[r]));
    free(all);
    return status;
}

/* The slowest rank's time of each repetition. */
static inline void irisi_bench_slowest(const double *all, int ranks, int n, double *us)
{
    for (int i = 0; i < n; i++) {
        us[i] = all[i];
        for (int r = 1; r < ranks; r++)
            us[i] = all[(size_t)r * (size_t)n + (size_t)i] > us[i] ? all[(size_t)r * (size_t)n + (size_t)i] : us[i];
    }
}

/* Memory, events, the channel of the meetings and the graph. Collective. */
static inline iris_status irisi_bench_begin(irisi_bench_job *j)
{
    const size_t ranks = (size_t)iris_world_size(j->w);
    j->us = (double *)calloc((ranks + 1) * (size_t)j->o.repeats, sizeof *j->us);
    if (!j->us)
        irisi_bench_keep(j, irisi_fail(j->w, IRIS_ERR_SYSTEM, "iris_bench: no memory for the times"));
    irisi_bench_keep(j, iris_channel_create(j->w, &j->meet, 0, 8 * ranks));
    if (j->o.flush_bytes) {
        j->flush = (uint32_t *)iris_malloc(j->w, j->o.flush_bytes);
        irisi_bench_keep(j, j->flush ? IRIS_OK : IRIS_ERR_NOMEM);
    }
    irisi_bench_keep(j, iris_event_create(j->w, &j->begin));
    irisi_bench_keep(j, iris_event_create(j->w, &j->end));
    irisi_bench_keep(j, iris_barrier(j->w)); /* everyone has created before anyone meets */
    if (j->status == IRIS_OK)
        irisi_bench_capture(j);
    return irisi_bench_agree(j->w, j->status);
}

/* Gives everything back. Collective. */
static inline iris_status irisi_bench_end(irisi_bench_job *j, iris_status status)
{
    irisi_graph_free(j->graph);
    iris_status freed = iris_barrier(j->w); /* nobody meets any more */
    if (j->begin)
        iris_event_destroy(j->w, j->begin);
    if (j->end)
        iris_event_destroy(j->w, j->end);
    if (j->flush && freed == IRIS_OK)
        freed = iris_free(j->w, j->flush);
    if (freed == IRIS_OK)
        freed = iris_channel_destroy(j->w, &j->meet);
    free(j->us);
    return status == IRIS_OK ? freed : status;
}

/**
 * @name One time
 *
 * Host functions.
 *
 * @param w       the world, from iris_init
 * @param stream  where the work goes; null: the world's default stream
 * @param fn      puts one call's work on the stream
 * @param arg     handed to it
 * @param options null or zeroed for defaults; the same on every rank
 * @param result  receives the times; zeros when it fails
 * @{
 */
/** 1 where options.graph may be 1: on GPUs. */
static inline int iris_bench_graphs(void) { return IRISI_HAS_GRAPHS; }

/**
 * Times what `fn` puts on the stream: warm-up, then repetitions, each from a start that the ranks' devices make
 * together, by events; the slowest rank's time of each. Collective. Needs sync memory for a channel of 64 bytes a rank,
 * and options.flush_bytes of the heap, while it runs.
 *
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for a null function and options out of range; IRIS_ERR_UNSUPPORTED for graphs on
 *         the host; what failed on this rank; IRIS_ERR_PEER, with a sentence that names the rank, when `fn` or the
 *         device failed on another. A function that fails without waiting for peers leaves the world usable.
 */
static inline iris_status iris_bench(iris_world *w, iris_stream stream, iris_bench_fn fn, void *arg,
                                     const iris_bench_options *options, iris_bench_result *result)
{
    irisi_bench_job j;
    memset(&j, 0, sizeof j);
    if (result)
        memset(result, 0, sizeof *result);
    j.w = w, j.stream = stream ? stream : iris_default_stream(w), j.fn = fn, j.arg = arg;
    j.o = irisi_bench_defaults(options);
    iris_status status = irisi_bench_check(w, fn, &j.o);
    if (status == IRIS_OK && !result)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_bench: result is null");
    if (status != IRIS_OK)
        return status;
    status = irisi_bench_begin(&j);
    if (status == IRIS_OK) {
        double us = 0;
        for (int i = -j.o.warmup; i < j.o.repeats && irisi_bench_once(&j, &us); i++)
            if (i >= 0)
                j.us[i] = us;
        status = irisi_bench_agree(w, j.status);
    }
    if (status == IRIS_OK) {
        double *all = j.us + j.o.repeats;
        status = iris_allgather(w, j.us, all, (size_t)j.o.repeats * sizeof *all);
        irisi_bench_slowest(all, iris_world_size(w), j.o.repeats, j.us);
        if (status == IRIS_OK)
            iris_bench_summarize(j.us, j.o.repeats, result);
    }
    return irisi_bench_end(&j, status);
}
/** @} */

#endif
