/* SPDX-License-Identifier: MIT */
/*
 * runtime.h: the copy engine and graphs, by the runtime's own calls, as a user makes them. The host platform has
 * neither.
 *
 *   BENCH_HAS_RUNTIME bench_copy bench_submit_copy
 *   bench_graph_make bench_submit_graph bench_calls
 *
 * Graphs of what every rank times alike are iris_bench's (options.graph); these are for what is also called otherwise.
 */
#ifndef IRIS_BENCH_RUNTIME_H
#define IRIS_BENCH_RUNTIME_H

#include "bench.h"

/* A copy of `bytes` bytes on the stream; `to` and `from` are addresses of this rank, on its device or a peer's. */
typedef struct bench_copy {
    char *to, *from;
    size_t bytes, places; /* turns go through so many neighbouring places, so that no cache holds the source */
} bench_copy;

/* A runtime's error as the library's; null: there is none. */
static inline iris_status bench_said(iris_world *w, const char *call, const char *why)
{
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s", call, why) : IRIS_OK;
}

#if defined(IRIS_TARGET_HOST)
#define BENCH_HAS_RUNTIME 0
#else
#define BENCH_HAS_RUNTIME 1

#if defined(IRIS_TARGET_NVIDIA)
#define BENCH_GPU(name) cuda##name
#else
#define BENCH_GPU(name) hip##name
#endif

static inline iris_status bench_submit_copy(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const bench_copy *c = (const bench_copy *)arg;
    const size_t at = (size_t)turn % c->places * c->bytes;
    return bench_said(
        w, "MemcpyAsync",
        irisi_graph_said(BENCH_GPU(MemcpyAsync)(c->to + at, c->from + at, c->bytes, BENCH_GPU(MemcpyDefault), stream)));
}

#endif

/* What `submit` puts on the stream `times` times, as one graph. */
static inline iris_status bench_graph_make(iris_world *w, irisi_graph *out, iris_bench_fn submit, void *arg, int times)
{
    iris_stream stream = NULL;
    out->executable = NULL;
    iris_status status = iris_stream_create(w, &stream);
    if (status != IRIS_OK)
        return status;
    status = bench_said(w, "begin a capture", irisi_graph_begin(stream));
    if (status == IRIS_OK) {
        for (int i = 0; i < times && status == IRIS_OK; i++)
            status = submit(w, arg, stream, i);
        const iris_status ended = bench_said(w, "end a capture", irisi_graph_end(stream, out));
        status = status == IRIS_OK ? ended : status;
    }
    iris_stream_destroy(w, stream);
    return status;
}

static inline iris_status bench_submit_graph(iris_world *w, void *arg, iris_stream stream, int turn)
{
    (void)turn;
    return bench_said(w, "launch a graph", irisi_graph_launch(*(const irisi_graph *)arg, stream));
}

/* Microseconds of one of `laps` calls between the events, in a graph where there are graphs; negative: one failed. */
static inline double bench_calls(iris_world *w, iris_bench_fn submit, void *arg, int laps, iris_event begin,
                                 iris_event end)
{
    iris_stream stream = iris_default_stream(w);
    irisi_graph graph;
    float ms = 0;
    iris_status s = IRIS_OK;
    memset(&graph, 0, sizeof graph);
    if (iris_bench_graphs()) {
        s = bench_graph_make(w, &graph, submit, arg, laps);
        if (s == IRIS_OK)
            s = bench_submit_graph(w, &graph, stream, 0); /* the first launch of a graph also uploads it */
    }
    if (s == IRIS_OK)
        s = iris_event_record(w, begin, stream);
    if (s == IRIS_OK && iris_bench_graphs())
        s = bench_submit_graph(w, &graph, stream, 0);
    for (int i = 0; i < laps && s == IRIS_OK && !iris_bench_graphs(); i++)
        s = submit(w, arg, stream, i);
    if (s != IRIS_OK || iris_event_record(w, end, stream) != IRIS_OK ||
        iris_event_elapsed_ms(w, &ms, begin, end) != IRIS_OK)
        fprintf(stderr, "%s\n", iris_error_string(w)), ms = -1;
    irisi_graph_free(graph);
    return ms < 0 ? -1 : 1e3 * ms / laps;
}

#endif
