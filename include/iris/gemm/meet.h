/* SPDX-License-Identifier: MIT */
/*
 * meet.h: the handshakes of kernels that communicate before or behind the arithmetic, with all ranks at once.
 *
 *   irisi_gemm_enter_all irisi_gemm_leave_all irisi_gemm_await_partials irisi_gemm_ticket irisi_gemm_same_wg
 *
 * Handshakes of epoch e. Entry: a rank raises ready[rank] to e on every peer once its stream has reached the kernel:
 * peers may then read what the kernel before it has written there, and write what they are to write there. Exit: the
 * workgroups of a rank raise sums[rank] on every peer once they have read and written everything, all together by
 * plan->machine.equal_workgroups, which is the same on every rank. A kernel ends when all workgroups of all peers have
 * done so. After that no peer reads or writes this rank's memory, and the next epoch, or another plan, may use it.
 *
 * partial[rank] counts the partial sums that rank has put to the owner of their rows, for each row of tiles. Kernels
 * that put none raise it too, so that kernels of different patterns may follow each other on one plan. All raise it for
 * rows of tiles that an owner has not in this launch, so that launches of more rows may follow launches of fewer.
 */
#ifndef IRIS_GEMM_MEET_H
#define IRIS_GEMM_MEET_H

#include <iris/barrier.h>
#include <iris/gemm/exchange.h>
#include <iris/signal.h>

#if IRIS_HAS_DEVICE

/* Waits until one signal of each peer has reached a value; they stand one behind the other. Every lane of a wave. */
IRIS_DEVICE void irisi_gemm_wait_all(const iris_ctx *ctx, const iris_signal *signals, uint64_t value)
{
    for (int rank = (int)iris_lane(); rank < ctx->world; rank += (int)iris_wave_lanes())
        if (rank != ctx->rank)
            irisi_wait_signal(ctx, signals + rank, IRISI_GE, value, rank);
}

/*
 * Tells every peer that this rank has begun the epoch, and waits until they have. 1, or 0 where the world has stopped
 * instead: then nothing is read or written. Every lane of the grid calls it.
 */
IRIS_DEVICE int irisi_gemm_enter_all(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch)
{
    if (iris_workgroup() == 0)
        for (int rank = (int)iris_wg_lane(); rank < ctx->world; rank += (int)iris_wg_lanes())
            if (rank != ctx->rank)
                irisi_raise(ctx, irisi_exchange_ready(plan, ctx->rank), epoch, IRIS_SIGNAL_SET, rank);
    if (iris_wave() == 0)
        irisi_gemm_wait_all(ctx, irisi_exchange_ready(plan, 0), epoch);
    iris_sync_wg();
    return irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 0;
}

/* Waits until all workgroups of all peers are done with the epoch. Every lane of a workgroup. */
IRIS_DEVICE void irisi_gemm_await_ends(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch)
{
    if (iris_wave() == 0)
        irisi_gemm_wait_all(ctx, irisi_exchange_sums(plan, 0), epoch * plan->machine.equal_workgroups);
}

/*
 * Tells every peer that this workgroup is done, and ends the epoch once all workgroups of all ranks are. `put`: 1 if
 * the kernel has notified the owners of partial sums, or there are none; `waves`: of a workgroup; `workgroups`: of the
 * grid; `beside`: 1 where another kernel of this rank computes in the same epoch. Its workgroups may not have looked at
 * the epoch's number yet, while those of this one that find nothing to do are done: it must not end before all tiles
 * are. A workgroup without a tile may look later, since it waits for nothing. Every lane of the grid calls it.
 */
IRIS_DEVICE void irisi_gemm_leave_all(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch, int put,
                                      uint32_t waves, uint32_t workgroups, int beside)
{
    const uint32_t workgroup = irisi_rematerialize_u32(iris_workgroup());
    /* The last workgroup counts for those that the grid lacks, too. */
    const uint32_t last = workgroup + 1 == irisi_rematerialize_u32(workgroups);
    const uint32_t amount = last ? plan->machine.equal_workgroups - workgroup : 1;
    irisi_drain();
    iris_sync_wg();
    const uint32_t world = (uint32_t)ctx->world;
    const uint32_t rows =
        last && irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K) ? irisi_exchange_most_tile_rows(plan) : 0;
    for (uint32_t i = iris_wg_lane(); i < rows * world; i += iris_wg_lanes()) {
        const uint32_t tile_row = i / world, rank = i - tile_row * world;
        if (!put || tile_row >= irisi_exchange_tile_rows(plan, rank).count) /* no tile has raised it */
            irisi_raise(ctx, irisi_exchange_partial(plan, (uint32_t)ctx->rank, tile_row), irisi_exchange_units(plan),
                        IRIS_SIGNAL_ADD, (int)rank);
    }
    for (int rank = (int)iris_wg_lane(); rank < ctx->world; rank += (int)iris_wg_lanes())
        if (rank != ctx->rank)
            irisi_raise(ctx, irisi_exchange_sums(plan, ctx->rank), amount, IRIS_SIGNAL_ADD, rank);
    if (beside && workgroup == 0)
        irisi_gemm_await_ends(ctx, plan, epoch);
    const uint32_t out = irisi_channel_count_out_of(&plan->exchange.channel, waves);
    if (out == irisi_rematerialize_u32(workgroups) && irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K))
        irisi_atomic_set_u64(irisi_exchange_ticket(plan), 0, IRIS_RELAXED, IRIS_SCOPE_AGENT); /* nobody asks any more */
    if (!beside && workgroup == 0)
        irisi_gemm_await_ends(ctx, plan, epoch);
    irisi_channel_close(&plan->exchange.channel, epoch, out, irisi_rematerialize_u32(workgroups));
}

/*
 * Waits until the partial sums of all ranks, this one's too, have arrived for a row of tiles of this rank's rows. 1, or
 * 0 where the world has stopped instead. Every lane of the workgroup calls it.
 */
IRIS_DEVICE int irisi_gemm_await_partials(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch,
                                          uint32_t tile_row)
{
    const uint64_t amount = epoch * irisi_exchange_units(plan);
    for (int rank = (int)iris_lane(); iris_wave() == 0 && rank < ctx->world; rank += (int)iris_wave_lanes())
        irisi_wait_signal(ctx, irisi_exchange_partial(plan, (uint32_t)rank, tile_row), IRISI_GE, amount, rank);
    iris_sync_wg();
    return irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 0;
}

/*
 * The next number that no workgroup of this rank has had in this epoch, the same in every lane; `word`: in the
 * workgroup's shared memory. Every lane of the workgroup calls it.
 */
IRIS_DEVICE uint32_t irisi_gemm_ticket(const iris_gemm_plan *plan, uint32_t *word)
{
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_shared_set(
            word, (uint32_t)irisi_atomic_add_u64(irisi_exchange_ticket(plan), 1, IRIS_RELAXED, IRIS_SCOPE_AGENT));
    iris_sync_wg();
    return irisi_shared_get(word);
}

/*
 * What lane 0 passes, on every lane. Lanes may see at different times that the world has stopped; those that meet at a
 * barrier afterwards must all do so, or none. `word`: in the workgroup's shared memory. Every lane of the workgroup
 * calls it.
 */
IRIS_DEVICE int irisi_gemm_same_wg(int own, uint32_t *word)
{
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_shared_set(word, (uint32_t)own);
    iris_sync_wg();
    return (int)irisi_shared_get(word);
}

#endif
#endif
