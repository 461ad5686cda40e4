/* SPDX-License-Identifier: MIT */
/*
 * window.h: memory that others allocated, for all ranks, without a copy.
 *
 *   iris_window
 *   iris_register iris_register_kind iris_unregister      on every rank
 *   iris_window_reach iris_window_bytes iris_window_translate
 *   iris_window_at                                        in a kernel
 *
 * A window is a part of each rank's memory, as a framework or a program allocated it: of another length and at another
 * address on each rank. Its context has the windows in the place of the heaps, so that every load, store, put, get,
 * copy and atomic takes it as it takes the heap's, with the same instructions:
 *
 *   iris_put_f32_wg(&a->window.ctx, dst, src, n, rank);   dst lies in the own window, or would if it were long enough
 *   iris_signal_add_wg(&a->ctx, arrived, 1, rank);        signals are in the heap
 *
 * Signals, waits, packets, barriers, channels and collectives take the heap's context (iris_device_ctx); so
 * iris_put_signal_*, which has one context for both, is for the heap alone. Checked mode refuses a window's there.
 *
 * Implemented by init.c.
 */
#ifndef IRIS_WINDOW_H
#define IRIS_WINDOW_H

#include <iris/memory.h>
#include <iris/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory of every rank, from iris_register. A kernel takes it by value; a zeroed one is none. */
typedef struct iris_window {
    iris_ctx ctx; /**< what loads, stores, puts, gets, copies and atomics of kernels take; ctx.base is its first byte */
} iris_window;

/** How kernels of this rank reach a rank's part of a window, the nearest first. */
typedef enum iris_reach {
    IRIS_REACH_NONE,    /**< not at all: that rank has registered 0 bytes, or there is no such rank or window */
    IRIS_REACH_PROCESS, /**< by that rank's own addresses: of this process, and of this device */
    IRIS_REACH_DEVICE,  /**< by a mapping of memory of this device, which another process has allocated */
    IRIS_REACH_PEER     /**< over a link, on another device */
} iris_reach;

/**
 * @name Windows
 *
 * Host functions.
 *
 * @param w      the world, from iris_init
 * @param p      memory of this rank's device; of iris_window_translate, an address in the own window
 * @param bytes  its length; 0: this rank has nothing to give, and reaches the others
 * @param kind   what the memory carries: IRIS_MEM_SYNC, atomics from other ranks too
 * @param win    receives the window, or is one
 * @param rank   world rank
 * @{
 */
/**
 * Makes memory of each rank a window. Collective; addresses and lengths may differ. Drains this rank's streams.
 *
 * Ranks of one process reach each other's memory as it is. For other processes it must be memory that the driver can
 * give away: on NVIDIA of cudaMalloc, or of cuMemCreate with the handle type POSIX_FILE_DESCRIPTOR, in one mapping; on
 * AMD of hipMalloc and hipExtMallocWithFlags; on the host a memfd that is open, sealed against shrinking and mapped
 * shared as a whole. Any part of an allocation will do; all of it is mapped: by handle (cudaMalloc, hipMalloc) once a
 * process and device, by descriptor once for each window.
 *
 * The memory stays its owner's, who frees it after iris_unregister. Like iris_malloc's it is data: what a peer's kernel
 * has put is there when that kernel's stream was drained and an iris_barrier followed, or behind a signal. On AMD the
 * latter takes memory of hipExtMallocWithFlags, fine-grained or uncached.
 *
 * @return IRIS_ERR_ARGUMENT where memory of a rank is null, in the heap, or in a window already; IRIS_ERR_UNSUPPORTED
 *         where it cannot be given to another process. Then no rank has a window, and every rank says why
 */
iris_status iris_register(iris_world *w, void *p, size_t bytes, iris_window *win);
/** iris_register with a kind, the same on every rank. Checked mode holds IRIS_MEM_DATA to be no target of a peer's
 *  atomics where only sync memory carries them (AMD). */
iris_status iris_register_kind(iris_world *w, void *p, size_t bytes, iris_mem_kind kind, iris_window *win);
/**
 * Ends a window on every rank and zeroes `win`. Collective; drains this rank's streams first. When it returns no rank
 * has the memory mapped any more, and it may be freed. Windows that live end with iris_finalize.
 */
iris_status iris_unregister(iris_world *w, iris_window *win);
/** How this rank reaches `rank`'s part. Nothing here fails. */
iris_reach iris_window_reach(const iris_world *w, const iris_window *win, int rank);
/** How many bytes `rank` has registered; 0 where there is no such rank or window. Nothing here fails. */
size_t iris_window_bytes(const iris_world *w, const iris_window *win, int rank);
/** The address, valid in this rank's kernels and copies, of what lies on `rank` as far from the window's first byte as
 *  p here; null, without a sentence, when it is outside of that rank's part. */
void *iris_window_translate(const iris_world *w, const iris_window *win, const void *p, int rank);
/** @} */

#ifdef __cplusplus
}
#endif

#if IRIS_HAS_DEVICE

/**
 * The address of what lies on `rank` as far from the window's first byte as p here: one constant load and one add.
 *
 * @param win  the window
 * @param p    address in the own window; beyond its end where that of `rank` is longer
 * @param rank world rank, 0 .. win->ctx.world - 1
 *
 * Checked mode (check.h) refuses other ranks and what is outside of that rank's part.
 */
IRIS_DEVICE void *iris_window_at(const iris_window *win, const void *p, int rank)
{
    return iris_at(&win->ctx, p, rank);
}

#endif
#endif
