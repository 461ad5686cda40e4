/* SPDX-License-Identifier: MIT */
/*
 * runtime.h: the copy engine and graphs, by the runtime's own calls, as a user makes them. The host platform has
 * neither.
 *
 *   BENCH_HAS_RUNTIME bench_copy bench_submit_copy
 *   bench_graph bench_graph_make bench_submit_graph bench_graph_free
 *   bench_calls
 */
#ifndef IRIS_BENCH_RUNTIME_H
#define IRIS_BENCH_RUNTIME_H

#include "bench.h"

/* A copy of `bytes` bytes on the stream; `to` and `from` are addresses of this rank, on its device or a peer's. */
typedef struct bench_copy {
    char *to, *from;
    size_t bytes, places; /* turns go through so many neighbouring places, so that no cache holds the source */
} bench_copy;

#if defined(IRIS_TARGET_HOST)
#define BENCH_HAS_RUNTIME 0
#else
#define BENCH_HAS_RUNTIME 1

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda_runtime_api.h>
#define BENCH_GPU(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define BENCH_GPU(name) hip##name
#endif

typedef BENCH_GPU(GraphExec_t) bench_graph;

/* A runtime's error as the library's. */
static inline iris_status bench_gpu(iris_world *w, BENCH_GPU(Error_t) error, const char *call)
{
    return error == BENCH_GPU(Success)
               ? IRIS_OK
               : irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s", call, BENCH_GPU(GetErrorString)(error));
}

static inline iris_status bench_submit_copy(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const bench_copy *c = (const bench_copy *)arg;
    const size_t at = (size_t)turn % c->places * c->bytes;
    return bench_gpu(w, BENCH_GPU(MemcpyAsync)(c->to + at, c->from + at, c->bytes, BENCH_GPU(MemcpyDefault), stream),
                     "MemcpyAsync");
}

/* What `submit` puts on the stream `times` times, as one graph. */
static inline iris_status bench_graph_make(bench *b, bench_graph *out, bench_submit submit, void *arg, int times)
{
    iris_stream stream = NULL;
    BENCH_GPU(Graph_t) graph = NULL;
    *out = NULL;
    iris_status status = iris_stream_create(b->w, &stream);
    if (status == IRIS_OK)
        status = bench_gpu(b->w, BENCH_GPU(StreamBeginCapture)(stream, BENCH_GPU(StreamCaptureModeThreadLocal)),
                           "StreamBeginCapture");
    for (int i = 0; i < times && status == IRIS_OK; i++)
        status = submit(b->w, arg, stream, i);
    const BENCH_GPU(Error_t) ended = BENCH_GPU(StreamEndCapture)(stream, &graph);
    if (status == IRIS_OK)
        status = bench_gpu(b->w, ended, "StreamEndCapture");
#if defined(IRIS_TARGET_NVIDIA)
    if (status == IRIS_OK)
        status = bench_gpu(b->w, cudaGraphInstantiateWithFlags(out, graph, 0), "GraphInstantiate");
#else
    if (status == IRIS_OK)
        status = bench_gpu(b->w, hipGraphInstantiate(out, graph, NULL, NULL, 0), "GraphInstantiate");
#endif
    if (graph)
        (void)BENCH_GPU(GraphDestroy)(graph);
    iris_stream_destroy(b->w, stream);
    return status;
}

static inline iris_status bench_submit_graph(iris_world *w, void *arg, iris_stream stream, int turn)
{
    (void)turn;
    return bench_gpu(w, BENCH_GPU(GraphLaunch)(*(bench_graph *)arg, stream), "GraphLaunch");
}

static inline void bench_graph_free(bench_graph graph)
{
    if (graph)
        (void)BENCH_GPU(GraphExecDestroy)(graph);
}

#endif

/* Microseconds of one of `laps` calls between the events, in a graph where there are graphs; negative: one failed. */
static inline double bench_calls(iris_world *w, bench_submit submit, void *arg, int laps, iris_event begin,
                                 iris_event end)
{
    iris_stream stream = iris_default_stream(w);
    float ms = 0;
    iris_status s = IRIS_OK;
#if BENCH_HAS_RUNTIME
    bench_graph graph = NULL;
    bench b;
    memset(&b, 0, sizeof b);
    b.w = w;
    s = bench_graph_make(&b, &graph, submit, arg, laps);
    if (s == IRIS_OK)
        s = bench_submit_graph(w, &graph, stream, 0); /* the first launch of a graph also uploads it */
    if (s == IRIS_OK)
        s = iris_event_record(w, begin, stream);
    if (s == IRIS_OK)
        s = bench_submit_graph(w, &graph, stream, 0);
#else
    s = iris_event_record(w, begin, stream);
    for (int i = 0; i < laps && s == IRIS_OK; i++)
        s = submit(w, arg, stream, i);
#endif
    if (s != IRIS_OK || iris_event_record(w, end, stream) != IRIS_OK ||
        iris_event_elapsed_ms(w, &ms, begin, end) != IRIS_OK)
        fprintf(stderr, "%s\n", iris_error_string(w)), ms = -1;
#if BENCH_HAS_RUNTIME
    bench_graph_free(graph);
#endif
    return ms < 0 ? -1 : 1e3 * ms / laps;
}

#endif
