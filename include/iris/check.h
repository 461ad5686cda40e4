/* SPDX-License-Identifier: MIT */
/*
 * check.h: from an address here to the same object on another rank, and whether an operation may touch it.
 *
 *   irisi_translate irisi_translate_heap                       the address, unchecked
 *   irisi_allowed irisi_reach irisi_own irisi_count irisi_count_rows irisi_rows_apart
 *                                                              what operations call, with checks in checked mode
 *   irisi_claim irisi_publish                              who reports, and how the host learns of it
 *
 * Checked mode is a macro of the file that holds the kernel: -DIRIS_CHECKED=1. Without it all of this is one load and
 * one add. With it every operation says what it will touch first. What is not allowed is reported like a wait that
 * passed its deadline (the first report of a rank counts, every rank's waits end) and then does nothing: copies become
 * empty, and one element or vector goes to the scratch word of the own control block. Never a fault, never a trap.
 */
#ifndef IRIS_CHECK_H
#define IRIS_CHECK_H

#include <iris/arch/select.h>
#include <iris/ctx.h>

#if defined(IRIS_CHECKED) && IRIS_CHECKED
#define IRISI_CHECKED 1
#else
#define IRISI_CHECKED 0
#endif

#if IRIS_HAS_DEVICE

/* The address of own object p on `rank`. */
IRIS_DEVICE void *irisi_translate(const iris_ctx *ctx, const void *p, int rank)
{
#if IRISI_CHECKED /* the tables have no row for it; the operation has been refused, or will be */
    if (rank < 0 || rank >= ctx->world)
        return (char *)p;
#endif
#if defined(IRIS_FAR_RANKS) /* worlds beyond IRIS_CTX_RANKS ranks pay one more load */
    return (char *)p + ctx->far[rank];
#else
    return (char *)p + ctx->delta[rank];
#endif
}

/* The address of p, which lies in the own heap, on `rank`: of a window's context too. */
IRIS_DEVICE void *irisi_translate_heap(const iris_ctx *ctx, const void *p, int rank)
{
    return ctx->window != 0 ? (char *)p + ctx->far[ctx->world + rank] : irisi_translate(ctx, p, rank);
}

/*
 * The rank's report, for the first of its lanes that has something to say; null for all others. In checked mode these
 * raise the rank's abort word, which the first one comes to later: iris_stopped says 1 after a wait that was refused.
 */
IRIS_DEVICE irisi_report *irisi_claim(const iris_ctx *ctx)
{
    irisi_report *report = &ctx->control->report;
    if (irisi_atomic_cas_u32(&report->claimed, 0, 1, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM) == 0) {
        if (IRISI_CHECKED) /* else the host finds it by the channel that was waited on: no kernel grows by it */
            report->team = ctx->team;
        return report;
    }
    if (IRISI_CHECKED)
        irisi_atomic_cas_u32(&ctx->control->abort, 0, 1u + (uint32_t)ctx->rank, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM);
    return NULL;
}

/*
 * The report is written: every rank's abort word names the reporter, as its context does, so every wait ends. Without
 * checks only waits and collectives come here, which do not take a window's context: no kernel grows by it.
 */
IRIS_DEVICE void irisi_publish(const iris_ctx *ctx, irisi_report *report)
{
    irisi_atomic_set_u32(&report->complete, 1, IRIS_RELEASE, IRIS_SCOPE_SYSTEM);
    IRISI_ROLLED
    for (int rank = 0; rank < ctx->world; rank++) {
        const uint32_t *own = &ctx->control->abort;
        void *at = IRISI_CHECKED ? irisi_translate_heap(ctx, own, rank) : irisi_translate(ctx, own, rank);
        irisi_atomic_cas_u32((uint32_t *)at, 0, 1u + (uint32_t)ctx->rank, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM);
    }
}

#if IRISI_CHECKED

/* Bytes that there are on `rank`, a rank of the context: heaps are equally long, windows need not be. */
IRIS_DEVICE uint64_t irisi_bytes_on(const iris_ctx *ctx, int rank)
{
    return ctx->window != 0 ? (uint64_t)ctx->far[2 * ctx->world + rank] : ctx->bytes;
}

/* What is wrong with an access to n items of `size` bytes, aligned to their size, at p on `rank`. */
IRIS_DEVICE irisi_fault irisi_fault_of(const iris_ctx *ctx, const void *p, int rank, size_t n, size_t size,
                                       irisi_access access)
{
    const uint64_t offset = (uint64_t)(uintptr_t)p - ctx->base;
    if (ctx->window != 0 &&
        (access == IRISI_ACCESS_SIGNAL || access == IRISI_ACCESS_WAIT || access == IRISI_ACCESS_LL))
        return IRISI_FAULT_WINDOW;
    if (rank < 0 || rank >= ctx->world)
        return IRISI_FAULT_RANK;
    const uint64_t bytes = irisi_bytes_on(ctx, rank);
    if (offset > bytes || n > (bytes - offset) / size)
        return IRISI_FAULT_RANGE;
    if ((uintptr_t)(ctx->window != 0 ? irisi_translate(ctx, p, rank) : p) % size != 0)
        return IRISI_FAULT_ALIGN;
    if (IRISI_REMOTE_ATOMICS_NEED_SYNC && rank != ctx->rank && access >= IRISI_ACCESS_ATOMIC &&
        offset + n * size > ctx->sync_bytes)
        return IRISI_FAULT_SYNC;
    return IRISI_FAULT_NONE;
}

/* Reports an access that is refused, unless something was reported before. */
IRIS_DEVICE void irisi_refuse_access(const iris_ctx *ctx, const void *p, int rank, size_t n, size_t size,
                                     irisi_access access, irisi_fault fault)
{
    irisi_report *report = irisi_claim(ctx);
    if (report == NULL)
        return;
    report->fault = (uint32_t)fault;
    report->access = (uint32_t)access;
    report->workgroup = iris_workgroup();
    report->workgroups = iris_workgroups();
    report->from = rank;
    report->signal = (uint64_t)(uintptr_t)p - ctx->base;
    report->address = (uint64_t)(uintptr_t)p;
    report->items = n;
    report->size = (uint32_t)size;
    report->expected = ctx->window;
    report->seen = ctx->window != 0 && rank >= 0 && rank < ctx->world ? irisi_bytes_on(ctx, rank) : 0;
    irisi_publish(ctx, report);
}

/* 1 when the access is allowed; else it is reported and the result is 0. */
IRIS_DEVICE int irisi_allowed(const iris_ctx *ctx, const void *p, int rank, size_t n, size_t size, irisi_access access)
{
    const irisi_fault fault = irisi_fault_of(ctx, p, rank, n, size, access);
    if (fault != IRISI_FAULT_NONE)
        irisi_refuse_access(ctx, p, rank, n, size, access, fault);
    return fault == IRISI_FAULT_NONE;
}

/* The same for `rows` rows of n items that begin `pitch` items apart: their first item to their last. */
IRIS_DEVICE size_t irisi_count_rows(const iris_ctx *ctx, const void *p, int rank, size_t rows, size_t n, size_t pitch,
                                    size_t size, irisi_access access)
{
    if (rows == 0 || n == 0)
        return 0;
    const size_t most = ~(size_t)0, down = rows - 1;
    const size_t all = pitch > 0 && down > (most - n) / pitch ? most : down * pitch + n;
    return irisi_allowed(ctx, p, rank, all, size, access) ? rows : 0;
}

/* All of `rows` rows that are written, or none where they would overlap each other, which is reported. */
IRIS_DEVICE size_t irisi_rows_apart(const iris_ctx *ctx, const void *p, int rank, size_t rows, size_t n, size_t pitch,
                                    size_t size, irisi_access access)
{
    if (rows < 2 || n <= pitch)
        return rows;
    irisi_refuse_access(ctx, p, rank, n, size, access, IRISI_FAULT_PITCH);
    return 0;
}

#else

IRIS_DEVICE int irisi_allowed(const iris_ctx *ctx, const void *p, int rank, size_t n, size_t size, irisi_access access)
{
    (void)ctx, (void)p, (void)rank, (void)n, (void)size, (void)access;
    return 1;
}
IRIS_DEVICE size_t irisi_count_rows(const iris_ctx *ctx, const void *p, int rank, size_t rows, size_t n, size_t pitch,
                                    size_t size, irisi_access access)
{
    (void)ctx, (void)p, (void)rank, (void)n, (void)pitch, (void)size, (void)access;
    return rows;
}
IRIS_DEVICE size_t irisi_rows_apart(const iris_ctx *ctx, const void *p, int rank, size_t rows, size_t n, size_t pitch,
                                    size_t size, irisi_access access)
{
    (void)ctx, (void)p, (void)rank, (void)n, (void)pitch, (void)size, (void)access;
    return rows;
}

#endif

/* One item of `size` bytes at p on `rank`: its address, or the scratch word. */
IRIS_DEVICE void *irisi_reach(const iris_ctx *ctx, const void *p, int rank, size_t size, irisi_access access)
{
    return irisi_allowed(ctx, p, rank, 1, size, access) ? irisi_translate(ctx, p, rank) : (void *)ctx->control->scratch;
}

/* The same for an item of the own heap. */
IRIS_DEVICE const void *irisi_own(const iris_ctx *ctx, const void *p, size_t size, irisi_access access)
{
    return irisi_allowed(ctx, p, ctx->rank, 1, size, access) ? p : (const void *)ctx->control->scratch;
}

/* How many of n items of `size` bytes at p on `rank` may be touched: all, or none. */
IRIS_DEVICE size_t irisi_count(const iris_ctx *ctx, const void *p, int rank, size_t n, size_t size,
                               irisi_access access)
{
    return n == 0 || irisi_allowed(ctx, p, rank, n, size, access) ? n : 0;
}

#endif
#endif
