/* SPDX-License-Identifier: MIT */
/*
 * runtime.h (nvidia): what init.c asks of the platform: hip_runtime.h over CUDA's runtime, and what CUDA does its own
 * way.
 *
 *   irisi_gpu_prepare irisi_gpu_chiplets irisi_gpu_share irisi_gpu_identify irisi_gpu_malloc irisi_gpu_open
 *   irisi_gpu_allow_shared irisi_gpu_resident irisi_gpu_launch
 */
#ifndef IRIS_ARCH_NVIDIA_RUNTIME_H
#define IRIS_ARCH_NVIDIA_RUNTIME_H
#ifdef IRIS_INIT_C

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/arch/nvidia/hip_names.h>

#define IRISI_IPC_HINT ""

static const char *irisi_hip(hipError_t error);

/*
 * Every kernel is loaded when the context is made: loading one at its first launch may wait for the device, where a
 * peer's kernel may be waiting for exactly that launch. The caller's own setting wins.
 */
static void irisi_gpu_prepare(void)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    /* Streams beyond the 8 queues that a context has by default share one: a kernel that waits would hold up the very
     * kernel that it waits for, in another stream or of another rank on this device. 32 is the most there is. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

enum { IRISI_GPU_SYNC_BYTES = IRISI_SYNC_NVIDIA };
/* The device's memory, as DLPack numbers it: kDLCUDA. */
enum { IRISI_DLPACK_DEVICE = 2 };

/* Compute units of each of `sharers` ranks on a device. */
static int irisi_gpu_share(int compute_units, int chiplets, int sharers)
{
    return (void)chiplets, compute_units / sharers;
}

static int irisi_gpu_chiplets(int device, const char *arch, int compute_units)
{
    return (void)device, (void)arch, (void)compute_units, 1;
}

/* Names, and the rate of %globaltimer. */
static const char *irisi_gpu_identify(int device, char *arch, size_t arch_bytes, char *name, size_t name_bytes,
                                      uint64_t *clock_hz)
{
    struct cudaDeviceProp p;
    const char *why = irisi_hip(cudaGetDeviceProperties(&p, device));
    if (why)
        return why;
    snprintf(arch, arch_bytes, "sm_%d%d", p.major, p.minor);
    snprintf(name, name_bytes, "%.*s", (int)name_bytes - 1, p.name);
    *clock_hz = 1000000000;
    return NULL;
}

static const char *irisi_gpu_malloc(void **out, size_t bytes, const char *arch)
{
    (void)arch;
    return irisi_hip(cudaMalloc(out, bytes));
}

static hipError_t irisi_gpu_open(void **base, hipIpcMemHandle_t handle)
{
    return cudaIpcOpenMemHandle(base, handle, cudaIpcMemLazyEnablePeerAccess);
}

enum { IRISI_SHARED_ANYWAY = 48 << 10 }; /* bytes of shared memory that every kernel may have */

static const char *irisi_gpu_allow_shared(irisi_kernel kernel, uint32_t bytes)
{
    return irisi_hip(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
}

/* Workgroups of a kernel that a compute unit can hold at once. */
static const char *irisi_gpu_resident(int device, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes, int *each)
{
    (void)device;
    return irisi_hip(cudaOccupancyMaxActiveBlocksPerMultiprocessor(each, kernel, (int)lanes, shared_bytes));
}

/* 1 where a captured launch may be early too: older drivers have no such edges in graphs. */
static int irisi_gpu_early(void)
{
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess && version >= 12030;
}

/* A configuration in CUDA's words, which has the attributes in `room`. */
static cudaLaunchConfig_t irisi_gpu_config(const iris_launch_config *cfg, cudaLaunchAttribute room[3])
{
    cudaLaunchConfig_t launch;
    memset((void *)&launch, 0, sizeof launch);
    memset((void *)room, 0, 3 * sizeof *room);
    launch.gridDim.x = cfg->workgroups;
    launch.gridDim.y = launch.gridDim.z = 1;
    launch.blockDim.x = cfg->lanes;
    launch.blockDim.y = launch.blockDim.z = 1;
    launch.dynamicSmemBytes = cfg->shared_bytes;
    launch.attrs = room;
    if (cfg->flags & IRIS_LAUNCH_COOPERATIVE) {
        room[launch.numAttrs].id = cudaLaunchAttributeCooperative;
        room[launch.numAttrs++].val.cooperative = 1;
    }
    if (cfg->cluster > 1) {
        room[launch.numAttrs].id = cudaLaunchAttributeClusterDimension;
        room[launch.numAttrs].val.clusterDim.x = cfg->cluster;
        room[launch.numAttrs].val.clusterDim.y = room[launch.numAttrs].val.clusterDim.z = 1;
        launch.numAttrs++;
    }
    if ((cfg->flags & IRISI_LAUNCH_EARLY) && irisi_gpu_early()) {
        room[launch.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        room[launch.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return launch;
}

static const char *irisi_gpu_launch(irisi_kernel kernel, const void *args, const iris_launch_config *cfg, iris_stream s)
{
    cudaLaunchAttribute room[3];
    cudaLaunchConfig_t launch = irisi_gpu_config(cfg, room);
    void *parameters[1] = {(void *)args};
    launch.stream = s;
    return irisi_hip(cudaLaunchKernelExC(&launch, kernel, parameters));
}

/* Workgroups of a kernel that the device can hold at once, in clusters; irisi_dev_allow_shared comes before. */
#define IRISI_HAS_CLUSTERS 1
static const char *irisi_gpu_clustered(irisi_kernel kernel, const iris_launch_config *cfg, uint32_t *workgroups)
{
    iris_launch_config one = *cfg;
    cudaLaunchAttribute room[3];
    int clusters = 0;
    one.workgroups = cfg->cluster, one.flags = 0;
    const cudaLaunchConfig_t launch = irisi_gpu_config(&one, room);
    const char *why = irisi_hip(cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch));
    *workgroups = why ? 0 : (uint32_t)clusters * cfg->cluster;
    return why;
}

#include <iris/arch/nvidia/vmm.h>

#include <iris/arch/hip_runtime.h>

#endif
#endif
