/* SPDX-License-Identifier: MIT */
/*
 * driver.h (nvidia): functions of CUDA's driver, looked up at run time, so that nothing links against it.
 *
 *   irisi_driver_find
 */
#ifndef IRIS_ARCH_NVIDIA_DRIVER_H
#define IRIS_ARCH_NVIDIA_DRIVER_H

#include <stddef.h>

#include <cuda_runtime_api.h>

/* The driver's function of that name, as CUDA 12.0 has it; null: this driver has none. */
static inline void *irisi_driver_find(const char *name)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *at = NULL;
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &at, 12000, cudaEnableDefault, &found);
#else
    const cudaError_t error = cudaGetDriverEntryPoint(name, &at, cudaEnableDefault, &found);
#endif
    if (error == cudaSuccess && found == cudaDriverEntryPointSuccess)
        return at;
    (void)cudaGetLastError();
    return NULL;
}

#endif
