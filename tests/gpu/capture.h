/* SPDX-License-Identifier: MIT */
/*
 * capture.h: a stream's work as a graph, by the runtime's own calls, as a user makes one.
 *
 *   irist_graph irist_capture_begin irist_capture_end irist_graph_free irist_replays irist_replay
 *   irist_zeroed
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

static inline void irist_graph_free(irist_rank *t, irist_graph graph)
{
    if (graph)
        irist_gpu_ok(t, IRIST_GPU(GraphExecDestroy)(graph), "GraphExecDestroy");
}

/** How often irist_replay replays: a thousand times in the full tier. */
static inline int irist_replays(void) { return (int)irist_laps(200, 1000); }

/**
 * Work that submit(stream) puts on a stream: once as it is, then captured and replayed, a few replays in flight at a
 * time. Every rank calls it; it returns when the last replay has ended here.
 *
 * @param stream   where the work runs
 * @param recorder where it is captured; may be `stream`
 */
template <typename Submit>
static void irist_replay(irist_rank *t, iris_stream stream, iris_stream recorder, Submit submit)
{
    enum { IN_FLIGHT = 25 };
    irist_graph graph = nullptr;
    const int replays = irist_replays();
    submit(stream);
    irist_meet(t);
    if (irist_capture_begin(t, recorder)) {
        submit(recorder);
        irist_capture_end(t, recorder, &graph);
    }
    irist_meet(t);
    for (int lap = 1; lap <= replays && graph && !t->failures; lap++) {
        irist_gpu_ok(t, IRIST_GPU(GraphLaunch)(graph, stream), "GraphLaunch");
        if (lap % IN_FLIGHT == 0)
            irist_ok(t, iris_stream_synchronize(t->world, stream));
    }
    irist_ok(t, iris_stream_synchronize(t->world, stream));
    irist_meet(t);
    irist_graph_free(t, graph);
}

/** Symmetric memory of zeros. */
static inline void *irist_zeroed(irist_rank *t, size_t bytes, iris_mem_kind kind)
{
    void *p = iris_malloc_kind(t->world, bytes, 0, kind);
    irist_check(t, p != nullptr, "%s", iris_error_string(t->world));
    irist_ok(t, iris_memset(t->world, p, 0, bytes));
    return p;
}

#endif
