/* SPDX-License-Identifier: MIT */
/*
 * graph.h: a stream's work as a graph, by the runtime's own calls, for what times launches. No part of init.c: whoever
 * includes it needs the runtime's header. The host platform has no graphs.
 *
 *   IRISI_HAS_GRAPHS irisi_graph irisi_graph_begin irisi_graph_end irisi_graph_launch irisi_graph_free
 *
 * Each returns what went wrong, in the runtime's words, or null.
 */
#ifndef IRIS_ARCH_GRAPH_H
#define IRIS_ARCH_GRAPH_H

#include <iris/arch/select.h>

/* A graph that can be launched; zeroed: none. */
typedef struct irisi_graph {
    void *executable;
} irisi_graph;

#if defined(IRIS_TARGET_HOST)
#define IRISI_HAS_GRAPHS 0

static inline const char *irisi_graph_begin(iris_stream stream) { return (void)stream, "the host has no graphs"; }
static inline const char *irisi_graph_end(iris_stream stream, irisi_graph *out)
{
    (void)stream, out->executable = NULL;
    return "the host has no graphs";
}
static inline const char *irisi_graph_launch(irisi_graph graph, iris_stream stream)
{
    return (void)graph, (void)stream, "the host has no graphs";
}
static inline void irisi_graph_free(irisi_graph graph) { (void)graph; }

#else
#define IRISI_HAS_GRAPHS 1

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda_runtime_api.h>
#define IRISI_GRAPH(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define IRISI_GRAPH(name) hip##name
#endif

static inline const char *irisi_graph_said(IRISI_GRAPH(Error_t) error)
{
    return error == IRISI_GRAPH(Success) ? NULL : IRISI_GRAPH(GetErrorString)(error);
}

/* From here on the stream's work is recorded, not run. Other threads may be ranks: only this one's calls count. */
static inline const char *irisi_graph_begin(iris_stream stream)
{
    return irisi_graph_said(IRISI_GRAPH(StreamBeginCapture)(stream, IRISI_GRAPH(StreamCaptureModeThreadLocal)));
}

static inline const char *irisi_graph_end(iris_stream stream, irisi_graph *out)
{
    IRISI_GRAPH(Graph_t) graph = NULL;
    IRISI_GRAPH(GraphExec_t) made = NULL;
    const char *why = irisi_graph_said(IRISI_GRAPH(StreamEndCapture)(stream, &graph));
#if defined(IRIS_TARGET_NVIDIA)
    why = why ? why : irisi_graph_said(cudaGraphInstantiateWithFlags(&made, graph, 0));
#else
    why = why ? why : irisi_graph_said(hipGraphInstantiate(&made, graph, NULL, NULL, 0));
#endif
    if (graph)
        (void)IRISI_GRAPH(GraphDestroy)(graph);
    out->executable = why ? NULL : (void *)made;
    return why;
}

static inline const char *irisi_graph_launch(irisi_graph graph, iris_stream stream)
{
    return irisi_graph_said(IRISI_GRAPH(GraphLaunch)((IRISI_GRAPH(GraphExec_t))graph.executable, stream));
}

static inline void irisi_graph_free(irisi_graph graph)
{
    if (graph.executable)
        (void)IRISI_GRAPH(GraphExecDestroy)((IRISI_GRAPH(GraphExec_t))graph.executable);
}

#endif
#endif
