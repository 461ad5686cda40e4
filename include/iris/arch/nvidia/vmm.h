/* SPDX-License-Identifier: MIT */
/*
 * vmm.h (nvidia): virtual memory management: reserved addresses, and memory that is put behind them piece by piece.
 *
 *   irisi_vmm irisi_vmm_open irisi_vmm_reserve irisi_vmm_release
 *   irisi_vmm_make irisi_vmm_take irisi_vmm_grant irisi_vmm_drop irisi_vmm_find irisi_vmm_alias
 *   irisi_vmm_range irisi_vmm_owns irisi_vmm_lend
 *
 * Only CUDA's driver has it, so its functions are looked up at run time and nothing links against it. They return null,
 * or what went wrong, with the name of the call and the driver's words.
 */
#ifndef IRIS_ARCH_NVIDIA_VMM_H
#define IRIS_ARCH_NVIDIA_VMM_H
#ifdef IRIS_INIT_C

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <iris/arch/descriptor.h>
#include <iris/arch/nvidia/driver.h>

typedef struct irisi_vmm {
    CUresult (*DeviceGetAttribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*GetErrorString)(CUresult, const char **);
    CUresult (*MemAddressFree)(CUdeviceptr, size_t);
    CUresult (*MemAddressReserve)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long);
    CUresult (*MemCreate)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *, unsigned long long);
    CUresult (*MemExportToShareableHandle)(void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                           unsigned long long);
    CUresult (*MemGetAllocationGranularity)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags);
    CUresult (*MemGetAllocationPropertiesFromHandle)(CUmemAllocationProp *, CUmemGenericAllocationHandle);
    CUresult (*MemImportFromShareableHandle)(CUmemGenericAllocationHandle *, void *, CUmemAllocationHandleType);
    CUresult (*MemMap)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long);
    CUresult (*MemRelease)(CUmemGenericAllocationHandle);
    CUresult (*MemRetainAllocationHandle)(CUmemGenericAllocationHandle *, void *);
    CUresult (*MemSetAccess)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    CUresult (*MemUnmap)(CUdeviceptr, size_t);
    CUresult (*PointerGetAttribute)(void *, CUpointer_attribute, CUdeviceptr);
    CUmemAllocationProp prop; /* of what irisi_vmm_make makes */
    size_t block;             /* sizes and places are multiples of it */
    char why[200];
} irisi_vmm;

/* Null for success, else the call's name and the driver's words. */
static const char *irisi_vmm_said(irisi_vmm *v, const char *call, CUresult result)
{
    const char *words = NULL;
    if (result == CUDA_SUCCESS)
        return NULL;
    if (!v->GetErrorString || v->GetErrorString(result, &words) != CUDA_SUCCESS || !words)
        words = "unknown error";
    snprintf(v->why, sizeof v->why, "%s: %s (CUDA driver error %d)", call, words, (int)result);
    return v->why;
}

/* The driver's function of that name, written to the function pointer at `slot`. */
static const char *irisi_vmm_look_up(irisi_vmm *v, const char *name, void *slot)
{
    void *const at = irisi_driver_find(name);
    if (at != NULL) {
        memcpy(slot, &at, sizeof at);
        return NULL;
    }
    snprintf(v->why, sizeof v->why, "this CUDA driver has no %s", name);
    return v->why;
}

static const char *irisi_vmm_look_up_all(irisi_vmm *v)
{
    const struct {
        const char *name;
        void *slot;
    } functions[] = {
        {"cuDeviceGetAttribute", &v->DeviceGetAttribute},
        {"cuGetErrorString", &v->GetErrorString},
        {"cuMemAddressFree", &v->MemAddressFree},
        {"cuMemAddressReserve", &v->MemAddressReserve},
        {"cuMemCreate", &v->MemCreate},
        {"cuMemExportToShareableHandle", &v->MemExportToShareableHandle},
        {"cuMemGetAllocationGranularity", &v->MemGetAllocationGranularity},
        {"cuMemGetAllocationPropertiesFromHandle", &v->MemGetAllocationPropertiesFromHandle},
        {"cuMemImportFromShareableHandle", &v->MemImportFromShareableHandle},
        {"cuMemMap", &v->MemMap},
        {"cuMemRelease", &v->MemRelease},
        {"cuMemRetainAllocationHandle", &v->MemRetainAllocationHandle},
        {"cuMemSetAccess", &v->MemSetAccess},
        {"cuMemUnmap", &v->MemUnmap},
        {"cuPointerGetAttribute", &v->PointerGetAttribute},
    };
    const char *why = NULL;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && !why; i++)
        why = irisi_vmm_look_up(v, functions[i].name, functions[i].slot);
    return why;
}

/* Gets ready for a device; or why it has no memory that can be put behind addresses and given to other processes. */
static const char *irisi_vmm_open(irisi_vmm *v, int device)
{
    int has = 0, gives = 0;
    const char *why = irisi_vmm_look_up_all(v);
    if (!why)
        why = irisi_vmm_said(
            v, "cuDeviceGetAttribute",
            v->DeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device));
    if (!why)
        why = irisi_vmm_said(
            v, "cuDeviceGetAttribute",
            v->DeviceGetAttribute(&gives, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, device));
    if (why)
        return why;
    if (!has || !gives)
        return has ? "the device's memory has no file descriptors" : "the device has no virtual memory management";
    memset(&v->prop, 0, sizeof v->prop);
    v->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    v->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    v->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    v->prop.location.id = device;
    return irisi_vmm_said(v, "cuMemGetAllocationGranularity",
                          v->MemGetAllocationGranularity(&v->block, &v->prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}

static const char *irisi_vmm_reserve(irisi_vmm *v, char **base, size_t bytes)
{
    CUdeviceptr at = 0;
    const char *why = irisi_vmm_said(v, "cuMemAddressReserve", v->MemAddressReserve(&at, bytes, v->block, 0, 0));
    *base = why ? NULL : (char *)(uintptr_t)at;
    return why;
}

static void irisi_vmm_release(irisi_vmm *v, char *base, size_t bytes)
{
    (void)v->MemAddressFree((CUdeviceptr)(uintptr_t)base, bytes);
}

/* Lets this rank's device read and write what is mapped there. */
static const char *irisi_vmm_grant(irisi_vmm *v, char *at, size_t bytes)
{
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location = v->prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return irisi_vmm_said(v, "cuMemSetAccess", v->MemSetAccess((CUdeviceptr)(uintptr_t)at, bytes, &access, 1));
}

static void irisi_vmm_drop(irisi_vmm *v, char *at, size_t bytes)
{
    (void)v->MemUnmap((CUdeviceptr)(uintptr_t)at, bytes);
}

/* Maps an allocation and gives the handle back: from then on the mapping keeps the memory. */
static const char *irisi_vmm_put(irisi_vmm *v, char *at, size_t bytes, CUmemGenericAllocationHandle handle)
{
    const char *why = irisi_vmm_said(v, "cuMemMap", v->MemMap((CUdeviceptr)(uintptr_t)at, bytes, 0, handle, 0));
    (void)v->MemRelease(handle);
    if (why)
        return why;
    why = irisi_vmm_grant(v, at, bytes);
    if (why)
        irisi_vmm_drop(v, at, bytes);
    return why;
}

/* Puts memory behind the addresses and hands out a descriptor of it; on failure neither, and the memory is let go. */
static const char *irisi_vmm_share(irisi_vmm *v, char *at, size_t bytes, CUmemGenericAllocationHandle handle, int *fd)
{
    const char *why =
        irisi_vmm_said(v, "cuMemExportToShareableHandle",
                       v->MemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (!why && (*fd = irisi_descriptor(*fd)) < 0)
        why = "no more descriptors (see ulimit -n)";
    if (why) {
        (void)v->MemRelease(handle);
        *fd = -1;
        return why;
    }
    why = irisi_vmm_put(v, at, bytes, handle);
    if (why) {
        close(*fd);
        *fd = -1;
    }
    return why;
}

/* New memory behind the addresses, and a descriptor of it for other processes. */
static const char *irisi_vmm_make(irisi_vmm *v, char *at, size_t bytes, int *fd)
{
    CUmemGenericAllocationHandle handle = 0;
    const char *why = irisi_vmm_said(v, "cuMemCreate", v->MemCreate(&handle, bytes, &v->prop, 0));
    *fd = -1;
    return why ? why : irisi_vmm_share(v, at, bytes, handle, fd);
}

/* Another process's memory, by its descriptor, behind the addresses. */
static const char *irisi_vmm_take(irisi_vmm *v, char *at, size_t bytes, int fd)
{
    CUmemGenericAllocationHandle handle = 0;
    const char *why = irisi_vmm_said(
        v, "cuMemImportFromShareableHandle",
        v->MemImportFromShareableHandle(&handle, (void *)(uintptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return why ? why : irisi_vmm_put(v, at, bytes, handle);
}

/* The mapping that [p, p + bytes) lies in, when its memory can be mapped a second time and given to other processes. */
static const char *irisi_vmm_find(irisi_vmm *v, const void *p, size_t bytes, char **base, size_t *size)
{
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)p;
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp prop;
    CUdeviceptr start = 0;
    size_t length = 0;
    if (v->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)p) != CUDA_SUCCESS)
        return "it does not come from virtual memory management (cuMemCreate)";
    memset(&prop, 0, sizeof prop);
    const char *why = irisi_vmm_said(v, "cuMemGetAllocationPropertiesFromHandle",
                                     v->MemGetAllocationPropertiesFromHandle(&prop, handle));
    (void)v->MemRelease(handle);
    if (!why)
        why = irisi_vmm_said(v, "cuPointerGetAttribute(MAPPING_BASE_ADDR)",
                             v->PointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at));
    if (!why)
        why = irisi_vmm_said(v, "cuPointerGetAttribute(MAPPING_SIZE)",
                             v->PointerGetAttribute(&length, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at));
    if (why)
        return why;
    if (prop.location.type != v->prop.location.type || prop.location.id != v->prop.location.id)
        return "it lies on another device";
    if (!(prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return "it was made without the handle type POSIX_FILE_DESCRIPTOR";
    if (at < start || bytes > length - (size_t)(at - start))
        return "it is more than one mapping";
    *base = (char *)(uintptr_t)start;
    *size = length;
    return NULL;
}

/* The memory that is mapped at `base`, behind the addresses too, and a descriptor of it for other processes. */
static const char *irisi_vmm_alias(irisi_vmm *v, char *at, size_t bytes, char *base, int *fd)
{
    CUmemGenericAllocationHandle handle = 0;
    const char *why = irisi_vmm_said(v, "cuMemRetainAllocationHandle", v->MemRetainAllocationHandle(&handle, base));
    *fd = -1;
    return why ? why : irisi_vmm_share(v, at, bytes, handle, fd);
}

/* The device and the allocation, of whatever kind, that p lies in. */
static const char *irisi_vmm_range(irisi_vmm *v, const void *p, int *device, char **base, size_t *bytes)
{
    CUresult (*range)(CUdeviceptr *, size_t *, CUdeviceptr) = NULL;
    struct cudaPointerAttributes about;
    CUdeviceptr start = 0;
    memset(&about, 0, sizeof about);
    if (cudaPointerGetAttributes(&about, p) != cudaSuccess || about.type != cudaMemoryTypeDevice) {
        (void)cudaGetLastError();
        return "it is no device memory (cudaMalloc, or cuMemCreate and cuMemMap)";
    }
    const char *why = irisi_vmm_look_up(v, "cuMemGetAddressRange", &range);
    if (!why)
        why = irisi_vmm_said(v, "cuMemGetAddressRange", range(&start, bytes, (CUdeviceptr)(uintptr_t)p));
    *device = about.device;
    *base = (char *)(uintptr_t)start;
    return why;
}

/* 1 where p is memory of virtual memory management. */
static int irisi_vmm_owns(irisi_vmm *v, const void *p)
{
    CUmemGenericAllocationHandle handle = 0;
    if (v->block == 0 || v->MemRetainAllocationHandle(&handle, (void *)(uintptr_t)p) != CUDA_SUCCESS)
        return 0;
    (void)v->MemRelease(handle);
    return 1;
}

/* A descriptor for other processes of the memory that is mapped at `base`. */
static const char *irisi_vmm_lend(irisi_vmm *v, char *base, int *fd)
{
    CUmemGenericAllocationHandle handle = 0;
    const char *why = irisi_vmm_said(v, "cuMemRetainAllocationHandle", v->MemRetainAllocationHandle(&handle, base));
    *fd = -1;
    if (why)
        return why;
    why = irisi_vmm_said(v, "cuMemExportToShareableHandle",
                         v->MemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    (void)v->MemRelease(handle);
    if (why)
        *fd = -1;
    else if ((*fd = irisi_descriptor(*fd)) < 0)
        why = "no more descriptors (see ulimit -n)";
    return why;
}

#endif
#endif
