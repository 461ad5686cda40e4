/* SPDX-License-Identifier: MIT */
/*
 * types.h: words that every platform's device layer shares.
 *
 *   iris_order iris_scope iris_cache IRIS_COMPUTE_UNIT_IDS irisi_b128
 */
#ifndef IRIS_ARCH_TYPES_H
#define IRIS_ARCH_TYPES_H

#include <stddef.h>
#include <stdint.h>

/** Memory order of an atomic, as in C11. */
typedef enum iris_order { IRIS_RELAXED, IRIS_ACQUIRE, IRIS_RELEASE, IRIS_ACQ_REL } iris_order;

/** Who must agree on an order: the workgroup, the device (agent), or every device and the CPU (system). */
typedef enum iris_scope { IRIS_SCOPE_WG, IRIS_SCOPE_AGENT, IRIS_SCOPE_SYSTEM } iris_scope;

/** Cache hint of a load or store. A hint never changes what is coherent. STREAM: will not be used again soon. */
typedef enum iris_cache { IRIS_CACHE_DEFAULT, IRIS_CACHE_STREAM } iris_cache;

/** Numbers of compute units (iris_compute_unit) are below this. */
enum { IRIS_COMPUTE_UNIT_IDS = 4096 };

#ifdef __cplusplus
#define IRISI_ALIGN(n) alignas(n)
#else
#define IRISI_ALIGN(n) _Alignas(n)
#endif

/* 16 bytes that move as one access. */
typedef struct irisi_b128 {
    IRISI_ALIGN(16) uint32_t w[4];
} irisi_b128;

#endif
