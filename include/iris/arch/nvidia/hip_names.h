/* SPDX-License-Identifier: MIT */
/*
 * hip_names.h (nvidia): the HIP names that hip_runtime.h uses, spelled in CUDA; nothing that is not used. HIP's own
 * NVIDIA headers lag behind CUDA 13, so they are not needed, and where they are included they win.
 */
#ifndef IRIS_ARCH_NVIDIA_HIP_NAMES_H
#define IRIS_ARCH_NVIDIA_HIP_NAMES_H

#include <cuda_runtime_api.h>

#if !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
typedef cudaError_t hipError_t;
typedef cudaIpcMemHandle_t hipIpcMemHandle_t;
#define hipSuccess cudaSuccess
#define hipErrorNoDevice cudaErrorNoDevice
#define hipErrorInsufficientDriver cudaErrorInsufficientDriver
#define hipDriverGetVersion cudaDriverGetVersion
#define hipErrorPeerAccessAlreadyEnabled cudaErrorPeerAccessAlreadyEnabled
#define hipGetErrorString cudaGetErrorString
#define hipGetLastError cudaGetLastError
#define hipGetDevice cudaGetDevice
#define hipSetDevice cudaSetDevice
#define hipGetDeviceCount cudaGetDeviceCount
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceGetPCIBusId cudaDeviceGetPCIBusId
#define hipDeviceCanAccessPeer cudaDeviceCanAccessPeer
#define hipDeviceEnablePeerAccess cudaDeviceEnablePeerAccess
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemGetInfo cudaMemGetInfo
#define hipHostMalloc cudaHostAlloc
#define hipHostFree cudaFreeHost
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpy2DAsync cudaMemcpy2DAsync
#define hipMemcpyDefault cudaMemcpyDefault
#define hipMemsetAsync cudaMemsetAsync
#define hipIpcGetMemHandle cudaIpcGetMemHandle
#define hipIpcCloseMemHandle cudaIpcCloseMemHandle
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipStreamIsCapturing cudaStreamIsCapturing
#define hipStreamCaptureStatus enum cudaStreamCaptureStatus
#define hipStreamCaptureStatusNone cudaStreamCaptureStatusNone
#define hipStreamWaitEvent cudaStreamWaitEvent
#define hipEventCreate cudaEventCreate
#define hipEventDestroy cudaEventDestroy
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipEventElapsedTime cudaEventElapsedTime
#define hipFuncAttributes cudaFuncAttributes
#define hipFuncGetAttributes cudaFuncGetAttributes
#endif

#endif
