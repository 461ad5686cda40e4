/* SPDX-License-Identifier: MIT */
/*
 * runtime.h: what init.c asks of the platform, from the platform that select.h has chosen.
 */
#ifndef IRIS_ARCH_RUNTIME_H
#define IRIS_ARCH_RUNTIME_H

#include <iris/arch/descriptor.h>
#include <iris/arch/select.h>

/* Where heaps come from. IPC: one allocation each, opened by a handle. VMM: memory behind reserved addresses. */
typedef enum irisi_heap_mode { IRISI_HEAP_AUTO, IRISI_HEAP_IPC, IRISI_HEAP_VMM } irisi_heap_mode;

/*
 * Bytes of the heap's sync part, by default: four channels of collectives (two streams, each with collectives and
 * messages), and plans of GEMMs. docs/collectives.md says what each takes.
 */
enum { IRISI_SYNC_NVIDIA = 128 << 20, IRISI_SYNC_AMD = 64 << 20, IRISI_SYNC_HOST = 8 << 20 };

#if defined(IRIS_TARGET_NVIDIA)
#include <iris/arch/nvidia/runtime.h>
#elif defined(IRIS_TARGET_AMD)
#include <iris/arch/amd/runtime.h>
#else
#include <iris/arch/host/runtime.h>
#endif

#endif
