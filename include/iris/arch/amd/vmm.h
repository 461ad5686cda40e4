/* SPDX-License-Identifier: MIT */
/*
 * vmm.h (amd): the functions of nvidia/vmm.h, where there is no heap that grows: irisi_vmm_open says why, and then
 * nobody calls the others, but for irisi_vmm_range.
 *
 * The heap holds signals, so its memory must be uncached or fine-grained. HIP's virtual memory management first had
 * coarse-grained memory alone; what it calls uncached came with ROCm 7, after the runtimes that this library is
 * compiled for, and between versions the descriptor of an import changed its meaning.
 */
#ifndef IRIS_ARCH_AMD_VMM_H
#define IRIS_ARCH_AMD_VMM_H
#ifdef IRIS_INIT_C

#include <stddef.h>

typedef struct irisi_vmm {
    size_t block;
} irisi_vmm;

static const char *irisi_vmm_open(irisi_vmm *v, int device)
{
    (void)v, (void)device;
    return "on AMD heaps are one uncached or fine-grained allocation each (hipExtMallocWithFlags); use IRIS_HEAP=ipc "
           "or auto";
}

static const char *irisi_vmm_reserve(irisi_vmm *v, char **base, size_t bytes)
{
    (void)base, (void)bytes;
    return irisi_vmm_open(v, 0);
}

static void irisi_vmm_release(irisi_vmm *v, char *base, size_t bytes) { (void)v, (void)base, (void)bytes; }

static const char *irisi_vmm_grant(irisi_vmm *v, char *at, size_t bytes)
{
    (void)at, (void)bytes;
    return irisi_vmm_open(v, 0);
}

static void irisi_vmm_drop(irisi_vmm *v, char *at, size_t bytes) { (void)v, (void)at, (void)bytes; }

static const char *irisi_vmm_make(irisi_vmm *v, char *at, size_t bytes, int *fd)
{
    (void)at, (void)bytes;
    *fd = -1;
    return irisi_vmm_open(v, 0);
}

static const char *irisi_vmm_take(irisi_vmm *v, char *at, size_t bytes, int fd)
{
    (void)at, (void)bytes, (void)fd;
    return irisi_vmm_open(v, 0);
}

static const char *irisi_vmm_find(irisi_vmm *v, const void *p, size_t bytes, char **base, size_t *size)
{
    (void)p, (void)bytes, (void)base, (void)size;
    return irisi_vmm_open(v, 0);
}

static const char *irisi_vmm_alias(irisi_vmm *v, char *at, size_t bytes, char *base, int *fd)
{
    (void)base;
    return irisi_vmm_make(v, at, bytes, fd);
}

/* The device and the allocation that p lies in. */
static const char *irisi_vmm_range(irisi_vmm *v, const void *p, int *device, char **base, size_t *bytes)
{
    hipDeviceptr_t start = NULL, at = (hipDeviceptr_t)(uintptr_t)p;
    (void)v;
    if (hipMemGetAddressRange(&start, bytes, at) != hipSuccess ||
        hipPointerGetAttribute(device, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) != hipSuccess) {
        (void)hipGetLastError();
        return "it is no memory of the runtime's (hipMalloc, hipExtMallocWithFlags)";
    }
    *base = (char *)start;
    return NULL;
}

static int irisi_vmm_owns(irisi_vmm *v, const void *p) { return (void)v, (void)p, 0; }

static const char *irisi_vmm_lend(irisi_vmm *v, char *base, int *fd)
{
    (void)base;
    *fd = -1;
    return irisi_vmm_open(v, 0);
}

#endif
#endif
