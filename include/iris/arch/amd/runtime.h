/* SPDX-License-Identifier: MIT */
/*
 * runtime.h (amd): what init.c asks of the platform: hip_runtime.h, and what differs between HIP and CUDA or between
 * ROCm's versions (5.2, which Debian 12 has, to 7).
 *
 *   irisi_gpu_prepare irisi_gpu_chiplets irisi_gpu_share irisi_gpu_identify irisi_gpu_malloc irisi_gpu_open
 *   irisi_gpu_allow_shared irisi_gpu_resident irisi_gpu_launch
 */
#ifndef IRIS_ARCH_AMD_RUNTIME_H
#define IRIS_ARCH_AMD_RUNTIME_H
#ifdef IRIS_INIT_C

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__HIP_PLATFORM_AMD__) /* HIP's headers ask plain C for it; IRIS_TARGET_AMD has said it */
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>

#define IRISI_IPC_HINT                                                                                                 \
    "its IPC handle cannot be opened (inside a container set HSA_ENABLE_IPC_MODE_LEGACY=1; let both ranks see both "   \
    "devices; or make ranks threads of one process, IRIS_SPAWN=thread)"

/* Flags of hipExtMallocWithFlags; the second is not in every version's headers. */
enum { IRISI_FINE_GRAINED = 0x1, IRISI_UNCACHED = 0x3 };

/* hipDeviceAttributeWallClockRate, kHz; likewise. */
enum { IRISI_WALL_CLOCK_RATE = 10017 };
/* hipDeviceAttributeNumberOfXccs; likewise. */
enum { IRISI_NUMBER_OF_XCCS = 10018 };

static const char *irisi_hip(hipError_t error);

/*
 * HIP loads a module's kernels with the module. It deals streams to 4 queues by default, and what two streams of one
 * queue do is done in turn: a kernel that waits would hold up the kernel that it waits for, of another stream or of
 * another rank on this device. 24 queues are what the hardware serves at once; one is made only when a stream needs it.
 * Newer versions copy a few KiB by a kernel, which finds no room beside kernels that wait and fill the device: the host
 * could not raise their abort word. With a limit of 0 KiB such copies are the copy engines' too. The caller's own
 * settings win.
 */
static void irisi_gpu_prepare(void)
{
    setenv("GPU_MAX_HW_QUEUES", "24", 0);
    setenv("GPU_FORCE_BLIT_COPY_SIZE", "0", 0);
}

enum { IRISI_GPU_SYNC_BYTES = IRISI_SYNC_AMD };
/* The device's memory, as DLPack numbers it: kDLROCM. */
enum { IRISI_DLPACK_DEVICE = 10 };

/*
 * Chiplets of a device: what the runtime says, or, before it could, those that the chip has so many compute units on.
 */
static int irisi_gpu_chiplets(int device, const char *arch, int compute_units)
{
    const int each = strncmp(arch, "gfx942", 6) == 0 ? 38 : strncmp(arch, "gfx950", 6) == 0 ? 32 : 0;
    int chiplets = 0;
    if (hipDeviceGetAttribute(&chiplets, (hipDeviceAttribute_t)IRISI_NUMBER_OF_XCCS, device) != hipSuccess)
        (void)hipGetLastError();
    if (chiplets > 0)
        return chiplets < compute_units ? chiplets : compute_units;
    return each > 0 && compute_units % each == 0 && compute_units >= each ? compute_units / each : 1;
}

/*
 * Compute units of each of `sharers` ranks on a device; 0 where there is no room for them. Workgroups go to the
 * chiplets strictly in turn, wherever there is room, and every rank's first ones to the first chiplets: what fits is
 * counted on one of them. A few are left to spare for chiplets that have lost compute units.
 */
static int irisi_gpu_share(int compute_units, int chiplets, int sharers)
{
    const int each = compute_units / sharers, alike = chiplets * (compute_units / chiplets / sharers);
    const int spared = compute_units < 64 ? each : each - (each / 2 < 7 ? each / 2 : 7);
    return sharers == 1 ? compute_units : spared < alike ? spared : alike;
}

/* Names, and the rate of s_memrealtime: what the runtime says, or 100 MHz, as on every chip so far. */
static const char *irisi_gpu_identify(int device, char *arch, size_t arch_bytes, char *name, size_t name_bytes,
                                      uint64_t *clock_hz)
{
    hipDeviceProp_t p;
    int khz = 0;
    const char *why = irisi_hip(hipGetDeviceProperties(&p, device));
    if (why)
        return why;
    snprintf(arch, arch_bytes, "%.*s", (int)strcspn(p.gcnArchName, ":"), p.gcnArchName);
    snprintf(name, name_bytes, "%.*s", (int)name_bytes - 1, p.name[0] ? p.name : p.gcnArchName);
    if (hipDeviceGetAttribute(&khz, (hipDeviceAttribute_t)IRISI_WALL_CLOCK_RATE, device) != hipSuccess)
        (void)hipGetLastError();
    *clock_hz = khz < 1000 ? 100000000 : (uint64_t)khz * 1000;
    return NULL;
}

/*
 * Signals need memory that is coherent between devices while kernels run, and the heap is one allocation: uncached
 * where the runtime has it, else fine-grained. IRIS_HEAP_KIND=fine asks for fine-grained, coarse for ordinary memory
 * (only where it is known to be coherent between devices while kernels run).
 */
static const char *irisi_gpu_malloc(void **out, size_t bytes, const char *arch)
{
    const char *kind = getenv("IRIS_HEAP_KIND");
    if (kind && strcmp(kind, "coarse") != 0 && strcmp(kind, "fine") != 0 && strcmp(kind, "uncached") != 0)
        return "IRIS_HEAP_KIND is none of uncached, fine and coarse";
    if (kind && strcmp(kind, "coarse") == 0 && strcmp(arch, "gfx90a") == 0)
        return "IRIS_HEAP_KIND=coarse cannot be on gfx90a: its puts reach another device only through fine-grained "
               "memory";
    if (kind && strcmp(kind, "coarse") == 0)
        return irisi_hip(hipMalloc(out, bytes));
    if (!kind || strcmp(kind, "fine") != 0) {
        if (hipExtMallocWithFlags(out, bytes, IRISI_UNCACHED) == hipSuccess)
            return NULL;
        (void)hipGetLastError();
    }
    return irisi_hip(hipExtMallocWithFlags(out, bytes, IRISI_FINE_GRAINED));
}

/* The one flag that there is has been 0 and is 1 since ROCm 6: headers may be older than the runtime, or newer. */
static hipError_t irisi_gpu_open(void **base, hipIpcMemHandle_t handle)
{
    const hipError_t error = hipIpcOpenMemHandle(base, handle, 1);
    if (error != hipErrorInvalidValue)
        return error;
    (void)hipGetLastError();
    return hipIpcOpenMemHandle(base, handle, 0);
}

enum { IRISI_SHARED_ANYWAY = 64 << 10 }; /* bytes of shared memory that every kernel may have */

static const char *irisi_gpu_allow_shared(irisi_kernel kernel, uint32_t bytes)
{
    return irisi_hip(hipFuncSetAttribute(kernel, hipFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
}

/*
 * Workgroups of a kernel that a compute unit can hold at once; as many lanes as the kernel is declared for have been
 * checked. One fits by registers, the compiler has seen to that: before ROCm 6.1 the runtime counts half of MI300's
 * registers, and finds no room, or an error, for kernels that need more. How many fit by shared memory is counted here:
 * the runtime divides by the bytes that a workgroup has, and the hardware gives it whole units, of 512 bytes, or of
 * 1280 where a compute unit has more than 64 KiB (gfx950).
 */
static const char *irisi_gpu_resident(int device, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes, int *each)
{
    struct hipFuncAttributes a;
    int most = 0;
    hipError_t error = hipOccupancyMaxActiveBlocksPerMultiprocessor(each, kernel, (int)lanes, shared_bytes);
    if (error != hipSuccess && error != hipErrorUnknown)
        return irisi_hip(error);
    *each = error == hipSuccess && *each > 0 ? *each : 1;
    (void)hipGetLastError();
    error = hipDeviceGetAttribute(&most, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
    if (error == hipSuccess)
        error = hipFuncGetAttributes(&a, kernel);
    if (error != hipSuccess)
        return irisi_hip(error);
    const size_t unit = most > (64 << 10) ? 1280 : 512;
    const size_t bytes = (a.sharedSizeBytes + shared_bytes + unit - 1) / unit * unit;
    if (bytes > 0 && (size_t)most / bytes < (size_t)*each)
        *each = (int)((size_t)most / bytes);
    return NULL;
}

/*
 * An ordinary launch, a cooperative one too: its caller has counted that the whole grid fits on the device, and no more
 * than that is asked of it. HIP's own cooperative launch would put every such kernel of a process on one hidden queue
 * of the device, where kernels of two ranks or two streams that wait for each other stand one behind the other; and a
 * stream that is being captured did not notice it up to ROCm 6.2: it ran at once instead.
 */
static const char *irisi_gpu_launch(irisi_kernel kernel, const void *args, const iris_launch_config *cfg, iris_stream s)
{
    dim3 grid, block;
    void *parameters[1];
    parameters[0] = (void *)args;
    grid.x = cfg->workgroups;
    block.x = cfg->lanes;
    grid.y = grid.z = block.y = block.z = 1;
    return irisi_hip(hipLaunchKernel(kernel, grid, block, parameters, cfg->shared_bytes, s));
}

#include <iris/arch/amd/vmm.h>

#include <iris/arch/hip_runtime.h>

#endif
#endif
