/* SPDX-License-Identifier: MIT */
/*
 * memory.h: from an address here to the address of the same object on another rank.
 *
 *   iris_at iris_team_translate
 *   iris_fence iris_fence_wave iris_fence_wg iris_quiet iris_quiet_wave iris_quiet_wg
 */
#ifndef IRIS_MEMORY_H
#define IRIS_MEMORY_H

#include <iris/check.h>
#include <iris/trace_event.h>

#if IRIS_HAS_DEVICE

/**
 * @name Addresses, order and completion
 *
 * Each has a form for one lane, for a wave and for a workgroup: who calls it says whose operations it is for.
 *
 * @param ctx the kernel's context, from iris_device_ctx; of iris_at also a window's (window.h)
 * @{
 */
/**
 * The address of symmetric object `p` on `rank`: one constant load and one add.
 *
 * @param ctx  the caller's context
 * @param p    address inside the caller's own heap
 * @param rank world rank, 0 .. ctx->world - 1
 *
 * Checked mode (check.h) refuses other ranks and addresses; the result is then that of 16 bytes that nobody uses.
 */
IRIS_DEVICE void *iris_at(const iris_ctx *ctx, const void *p, int rank)
{
    return irisi_allowed(ctx, p, rank, 0, 1, IRISI_ACCESS_AT) ? irisi_translate(ctx, p, rank)
                                                              : (void *)ctx->control->scratch;
}

/**
 * From a rank's number in one team to that in another. It looks through `to`: once before a loop, not in it. Any lane
 * calls it.
 *
 * @param from a context of the calling rank: the world's, from iris_device_ctx, or a team's, from iris_team_ctx
 * @param rank a number in `from`
 * @param to   another context of the calling rank
 * @return its number in `to`; -1 where `from` or `to` has no such rank
 */
IRIS_DEVICE int iris_team_translate(const iris_ctx *from, int rank, const iris_ctx *to)
{
    if (rank < 0 || rank >= from->world)
        return -1;
    const void *there = irisi_translate_heap(from, from->control, rank);
    for (int r = 0; r < to->world; r++)
        if (irisi_translate_heap(to, to->control, r) == there)
            return r;
    return -1;
}

/**
 * Orders the caller's earlier puts, stores and remote atomics before its later ones, on every rank: who sees a later
 * one, and acquires it, sees the earlier ones. One lane calls it, for its own operations.
 */
IRIS_DEVICE void iris_fence(const iris_ctx *ctx)
{
    (void)ctx;
    irisi_drain();
    irisi_fence();
}

/** iris_fence for the operations of a whole wave. Every lane of the wave calls it. */
IRIS_DEVICE void iris_fence_wave(const iris_ctx *ctx)
{
    iris_sync_wave();
    iris_fence(ctx);
    iris_sync_wave();
}

/** iris_fence for the operations of a whole workgroup. Every lane of the workgroup calls it. */
IRIS_DEVICE void iris_fence_wg(const iris_ctx *ctx)
{
    irisi_drain();
    iris_sync_wg();
    if (iris_wave() == 0 || irisi_fence_is_own())
        iris_fence(ctx);
    iris_sync_wg();
}

/**
 * Completes the caller's earlier puts, stores and remote atomics: when it returns they have taken place at their
 * ranks. On load/store paths that is what iris_fence does too. One lane calls it, for its own operations.
 */
IRIS_DEVICE void iris_quiet(const iris_ctx *ctx) { iris_fence(ctx); }
/** iris_quiet for a whole wave. Every lane of the wave calls it. */
IRIS_DEVICE void iris_quiet_wave(const iris_ctx *ctx) { iris_fence_wave(ctx); }
/** iris_quiet for a whole workgroup. Every lane of the workgroup calls it. */
IRIS_DEVICE void iris_quiet_wg(const iris_ctx *ctx) { iris_fence_wg(ctx); }
/** @} */

#endif
#endif
