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

/**
 * Cache hint of a load or a store; a constant. A hint says what is likely to be used again, and where. It never changes
 * what a signal, a fence or a barrier promises, and what is read or written is the same with every hint. The last six
 * have the names and the meaning of PTX's and Triton's cache operators; docs/how-to/hint-at-caches.md says what
 * instruction each becomes. A load takes a hint that is for stores alone as DEFAULT, and a store one that is for loads
 * alone; gcc and clang refuse both where they optimise.
 */
typedef enum iris_cache {
    IRIS_CACHE_DEFAULT, /**< loads, stores: as usual; a store goes through to the system */
    IRIS_CACHE_STREAM,  /**< loads, stores: will not be used again soon */
    IRIS_CACHE_CA,      /**< loads: in all caches */
    IRIS_CACHE_CG,      /**< loads, stores: in the device's L2, not in the L1 of a compute unit */
    IRIS_CACHE_CV,      /**< loads: in no cache, fetched again each time */
    IRIS_CACHE_WB,      /**< stores: in all caches, written back later; on AMD an ordinary store */
    IRIS_CACHE_CS,      /**< stores: streaming, will be used once */
    IRIS_CACHE_WT       /**< stores: written through the caches */
} iris_cache;

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
