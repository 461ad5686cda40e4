/* SPDX-License-Identifier: MIT */
/*
 * capture.h: a stream's work as a graph, by the runtime's own calls, as a user makes one.
 *
 *   irist_graph irist_capture_begin irist_capture_end irist_replay irist_graph_free
 */
#ifndef IRIST_CAPTURE_H
#define IRIST_CAPTURE_H

#include "harness.h"

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda_runtime_api.h>
#define IRIST_GPU(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define IRIST_GPU(name) hip##name
#endif

typedef IRIST_GPU(GraphExec_t) irist_graph;

static inline bool irist_gpu_ok(irist_rank *t, IRIST_GPU(Error_t) error, const char *call)
{
    return irist_check(t, error == IRIST_GPU(Success), "%s: %s", call, IRIST_GPU(GetErrorString)(error));
}

/** From here on work on `stream` is recorded, not run. Other threads may be ranks: only this one's calls count. */
static inline bool irist_capture_begin(irist_rank *t, iris_stream stream)
{
    return irist_gpu_ok(t, IRIST_GPU(StreamBeginCapture)(stream, IRIST_GPU(StreamCaptureModeThreadLocal)),
                        "StreamBeginCapture");
}

static inline bool irist_capture_end(irist_rank *t, iris_stream stream, irist_graph *out)
{
    IRIST_GPU(Graph_t) graph = nullptr;
    *out = nullptr;
    if (!irist_gpu_ok(t, IRIST_GPU(StreamEndCapture)(stream, &graph), "StreamEndCapture"))
        return false;
#if defined(IRIS_TARGET_NVIDIA)
    const IRIST_GPU(Error_t) made = cudaGraphInstantiateWithFlags(out, graph, 0);
#else
    const IRIST_GPU(Error_t) made = hipGraphInstantiate(out, graph, nullptr, nullptr, 0);
#endif
    return irist_gpu_ok(t, made, "GraphInstantiate") && irist_gpu_ok(t, IRIST_GPU(GraphDestroy)(graph), "GraphDestroy");
}

static inline bool irist_replay(irist_rank *t, irist_graph graph, iris_stream stream)
{
    return irist_gpu_ok(t, IRIST_GPU(GraphLaunch)(graph, stream), "GraphLaunch");
}

static inline void irist_graph_free(irist_rank *t, irist_graph graph)
{
    if (graph)
        irist_gpu_ok(t, IRIST_GPU(GraphExecDestroy)(graph), "GraphExecDestroy");
}

#endif
