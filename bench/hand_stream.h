/* SPDX-License-Identifier: MIT */
/*
 * hand_stream.h: a put with signal and a wait on a stream as one writes them by hand for CUDA: a copy, and the driver's
 * write and wait of a word, which no kernel carries out. Other platforms have none.
 *
 *   hand_stream hand_stream_open hand_stream_put_signal hand_stream_wait
 */
#ifndef IRIS_BENCH_HAND_STREAM_H
#define IRIS_BENCH_HAND_STREAM_H

#include "runtime.h"

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda.h>

#include <iris/arch/nvidia/driver.h>

/* The driver's functions. */
typedef struct hand_stream {
    CUresult (*write)(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
    CUresult (*wait)(CUstream, CUdeviceptr, cuuint64_t, unsigned int);
} hand_stream;

/* 1 when the driver has both. */
static inline int hand_stream_open(hand_stream *h)
{
    void *const write = irisi_driver_find("cuStreamWriteValue64");
    void *const wait = irisi_driver_find("cuStreamWaitValue64");
    memcpy((void *)&h->write, &write, sizeof write);
    memcpy((void *)&h->wait, &wait, sizeof wait);
    return write != NULL && wait != NULL;
}

/* 1 when they are on the stream: a copy of `bytes` bytes, if any, and behind it `value` to `word`. */
static inline int hand_stream_put_signal(const hand_stream *h, void *to, const void *from, size_t bytes, uint64_t *word,
                                         uint64_t value, iris_stream stream)
{
    if (bytes > 0 && cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) != cudaSuccess)
        return 0;
    return h->write(stream, (CUdeviceptr)(uintptr_t)word, value, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS;
}

/* 1 when the stream waits until `word` is `value` or more. */
static inline int hand_stream_wait(const hand_stream *h, const uint64_t *word, uint64_t value, iris_stream stream)
{
    return h->wait(stream, (CUdeviceptr)(uintptr_t)word, value, CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}
#else
typedef struct hand_stream {
    int none;
} hand_stream;
static inline int hand_stream_open(hand_stream *h) { return h->none = 0; }
static inline int hand_stream_put_signal(const hand_stream *h, void *to, const void *from, size_t bytes, uint64_t *word,
                                         uint64_t value, iris_stream stream)
{
    (void)h, (void)to, (void)from, (void)bytes, (void)word, (void)value, (void)stream;
    return 0;
}
static inline int hand_stream_wait(const hand_stream *h, const uint64_t *word, uint64_t value, iris_stream stream)
{
    (void)h, (void)word, (void)value, (void)stream;
    return 0;
}
#endif

#endif
