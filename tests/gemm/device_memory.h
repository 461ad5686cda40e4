/* SPDX-License-Identifier: MIT */
/*
 * device_memory.h: memory of the device that no heap of the library holds, as a caller may have it.
 *
 *   device_memory   base is null where there is none left
 */
#ifndef TESTS_GEMM_DEVICE_MEMORY_H
#define TESTS_GEMM_DEVICE_MEMORY_H

#include <cstddef>
#include <cstdlib>

#include <iris/init.h>

#if defined(IRIS_TARGET_NVIDIA)
#include <cuda_runtime_api.h>
#elif defined(IRIS_TARGET_AMD)
#include <hip/hip_runtime_api.h>
#endif

struct device_memory {
    char *base = nullptr;

    device_memory(iris_world *w, size_t bytes)
    {
        void *p = nullptr;
#if defined(IRIS_TARGET_NVIDIA)
        if (cudaSetDevice(iris_device(w)) == cudaSuccess && cudaMalloc(&p, bytes) == cudaSuccess)
            base = (char *)p;
#elif defined(IRIS_TARGET_AMD)
        if (hipSetDevice(iris_device(w)) == hipSuccess && hipMalloc(&p, bytes) == hipSuccess)
            base = (char *)p;
#else
        (void)w;
        base = posix_memalign(&p, 256, bytes) == 0 ? (char *)p : nullptr;
#endif
    }
    ~device_memory()
    {
#if defined(IRIS_TARGET_NVIDIA)
        (void)cudaFree(base);
#elif defined(IRIS_TARGET_AMD)
        (void)hipFree(base);
#else
        std::free(base);
#endif
    }
    device_memory(const device_memory &) = delete;
    device_memory &operator=(const device_memory &) = delete;
};

#endif
