/* SPDX-License-Identifier: MIT */
/*
 * select.h: the only place that decides which platform a translation unit is for.
 *
 *   IRIS_TARGET_HOST | IRIS_TARGET_NVIDIA | IRIS_TARGET_AMD   exactly one is 1
 *   IRIS_HAS_DEVICE                                           1 where kernels can be written in this file
 *   IRIS_TARGET_NAME                                          host, nvidia or amd, as a bare word
 *   iris_stream iris_event irisi_kernel                       the platform's own handles
 *
 * In HIP and CUDA files the language is the target. In plain C and C++ files it is what the build says with
 * -DIRIS_TARGET_AMD or -DIRIS_TARGET_NVIDIA (the Meson and pkg-config dependencies do), and the host otherwise.
 */
#ifndef IRIS_ARCH_SELECT_H
#define IRIS_ARCH_SELECT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#undef IRIS_TARGET_NVIDIA
#define IRIS_TARGET_NVIDIA 1
#define IRIS_HAS_DEVICE 1
#elif defined(__HIP__)
#undef IRIS_TARGET_AMD
#define IRIS_TARGET_AMD 1
#define IRIS_HAS_DEVICE 1
#elif !defined(IRIS_TARGET_NVIDIA) && !defined(IRIS_TARGET_AMD)
/** 1 in files compiled for the host platform. */
#define IRIS_TARGET_HOST 1
/** 1 where kernels can be written in this file, 0 in plain C files of a GPU build. */
#define IRIS_HAS_DEVICE 1
#else
#define IRIS_HAS_DEVICE 0
#endif

#if defined(IRIS_TARGET_NVIDIA)
#define IRIS_TARGET_NAME nvidia
#if IRIS_HAS_DEVICE
#include <iris/arch/nvidia/device.h>
#include <iris/arch/nvidia/convert.h>
#include <iris/arch/nvidia/memory.h>
#include <iris/arch/nvidia/async.h>
#include <iris/gen/arch/atomic_nvidia.h>
#endif
#elif defined(IRIS_TARGET_AMD)
#define IRIS_TARGET_NAME amd
#if IRIS_HAS_DEVICE
#include <iris/arch/amd/device.h>
#include <iris/arch/amd/convert.h>
#include <iris/arch/amd/memory.h>
#include <iris/gen/arch/atomic_amd.h>
#endif
#else
/** host, nvidia or amd, as a bare word. */
#define IRIS_TARGET_NAME host
#include <iris/arch/host/device.h>
#include <iris/arch/host/convert.h>
#include <iris/arch/host/memory.h>
#include <iris/gen/arch/atomic_host.h>
#endif

/*
 * Handles are the runtime's own (cudaStream_t, hipStream_t), spelled by their tags so that plain C files agree with
 * CUDA and HIP files without including a runtime header.
 */
#if defined(IRIS_TARGET_NVIDIA)
typedef struct CUstream_st *iris_stream;
typedef struct CUevent_st *iris_event;
typedef const void *irisi_kernel;
#define IRISI_KERNEL_PTR(kernel) ((const void *)(kernel))
#elif defined(IRIS_TARGET_AMD)
typedef struct ihipStream_t *iris_stream;
typedef struct ihipEvent_t *iris_event;
typedef const void *irisi_kernel;
#define IRISI_KERNEL_PTR(kernel) ((const void *)(kernel))
#else
/** An in-order queue of work on a device: the native handle on GPUs (hipStream_t, cudaStream_t). */
typedef struct irisi_stream *iris_stream;
/** A point in a stream: the native handle on GPUs. */
typedef struct irisi_event *iris_event;
typedef void (*irisi_kernel)(const void *args);
#define IRISI_KERNEL_PTR(kernel) (kernel)
#endif

/* In front of a function or kernel that several files define alike: the linker keeps one of them. */
#define IRISI_WEAK __attribute__((weak))

#if !IRIS_HAS_DEVICE
/* Plain C files of a GPU build: types and conversions only, no kernels. */
#define IRIS_HOST_DEVICE static inline
#define IRISI_CONSTANTS
#include <iris/arch/host/convert.h>
#endif

#endif
