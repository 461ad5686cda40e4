/* SPDX-License-Identifier: MIT */
/*
 * barrier.h: epochs of a channel, and barriers of a grid, a team and the world from inside a kernel.
 *
 *   iris_channel_enter_wg iris_channel_leave_wg iris_channel_bank
 *   iris_grid_sync
 *   iris_barrier_all_wg iris_barrier_team_wg iris_barrier_all_grid
 *
 * A channel belongs to one operation at a time: calls on it are stream-ordered and come in the same order on all ranks.
 *
 * A barrier that passes its deadline, or whose world has stopped, returns although not everyone has come. Kernels whose
 * loops depend on what lies behind it ask iris_stopped_wg after it.
 */
#ifndef IRIS_BARRIER_H
#define IRIS_BARRIER_H

#include <iris/channel.h>
#include <iris/signal.h>

/* Words of iris_channel.state. */
enum { IRISI_EPOCH, IRISI_LEFT, IRISI_GRID_ARRIVED, IRISI_GRID_PASSED, IRISI_CHANNEL_STATE };

#if IRIS_HAS_DEVICE

/**
 * @name Epochs of a channel, and barriers
 *
 * A channel belongs to one operation at a time: calls on it are stream-ordered and come in the same order on all ranks.
 *
 * @param ctx     the kernel's context, from iris_device_ctx
 * @param ch      the channel
 * @param epoch   what iris_channel_enter_wg returned
 * @param leavers how many workgroups leave the epoch
 * @param team    the members of the barrier
 * @{
 */
/**
 * The number of this use of the channel: 1, 2, … Every lane of every workgroup that takes part calls it at entry and
 * gets the same number; each workgroup calls iris_channel_leave_wg at its end.
 */
IRIS_DEVICE uint64_t iris_channel_enter_wg(const iris_channel *ch)
{
    return 1 + irisi_atomic_fetch_u64(ch->state + IRISI_EPOCH, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/*
 * iris_channel_leave_wg in two steps, for kernels that have one epoch: a workgroup counts itself out once none of its
 * lanes will ask for the epoch's number again, and what it waits for then takes the time that counting does. Every lane
 * of the workgroup calls both, with what the first gave it.
 */
IRIS_DEVICE uint32_t irisi_channel_count_out_of(const iris_channel *ch, uint32_t waves)
{
    uint32_t out = 0;
    iris_sync_wg();
    if (iris_lane() == 0 && iris_wave() + 1 == waves)
        out = (uint32_t)irisi_atomic_add_u64(ch->state + IRISI_LEFT, 1, IRIS_ACQ_REL, IRIS_SCOPE_AGENT) + 1;
    return irisi_in_vector_register_u32(out);
}
IRIS_DEVICE uint32_t irisi_channel_count_out(const iris_channel *ch)
{
    return irisi_channel_count_out_of(ch, iris_waves());
}
IRIS_DEVICE void irisi_channel_close(const iris_channel *ch, uint64_t epoch, uint32_t out, uint32_t leavers)
{
    if (out == leavers) {
        irisi_atomic_set_u64(ch->state + IRISI_LEFT, 0, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELEASE, IRIS_SCOPE_AGENT);
    }
    irisi_drain(); /* the epoch has arrived before another wave reads it */
    iris_sync_wg();
}

/**
 * Leaves the epoch: the last of `leavers` workgroups to call makes it the finished one. Every lane of the workgroup
 * calls it. Where it is the only one, it may enter the next epoch in the same kernel; of several, none may.
 */
IRIS_DEVICE void iris_channel_leave_wg(const iris_channel *ch, uint64_t epoch, uint32_t leavers)
{
    irisi_channel_close(ch, epoch, irisi_channel_count_out(ch), leavers);
}

/** The scratch bank of an epoch: two take turns, so that a peer one epoch ahead does not write over this one's. */
IRIS_DEVICE char *iris_channel_bank(const iris_channel *ch, uint64_t epoch)
{
    return ch->banks + (epoch & 1) * ch->bank_bytes;
}

/**
 * Barrier of the whole grid, with the deadline of every wait: what any workgroup wrote before is visible to all after.
 * Every lane of a cooperative launch calls it; any grid size, launch after launch, on one channel.
 */
IRIS_DEVICE void iris_grid_sync(const iris_ctx *ctx, const iris_channel *ch)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0) {
        uint64_t *arrived = ch->state + IRISI_GRID_ARRIVED;
        uint64_t *passed = ch->state + IRISI_GRID_PASSED;
        const uint64_t before = irisi_atomic_fetch_u64(passed, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        if (irisi_atomic_add_u64(arrived, 1, IRIS_ACQ_REL, IRIS_SCOPE_AGENT) + 1 == iris_workgroups()) {
            irisi_atomic_set_u64(arrived, 0, IRIS_RELAXED, IRIS_SCOPE_AGENT);
            irisi_atomic_set_u64(passed, before + 1, IRIS_RELEASE, IRIS_SCOPE_AGENT);
        } else {
            irisi_wait_signal(ctx, (const iris_signal *)passed, IRISI_NE, before, ctx->rank);
        }
    }
    iris_sync_wg();
    irisi_trace_end_wg(ctx, begun, IRIS_TRACE_BARRIER, ctx->rank, ch->state, 0);
}

/**
 * Barrier of a team: returns once every member has called it, and what any member's workgroup wrote before is visible
 * to all after. Every lane of one workgroup on each member calls it.
 *
 * @param team by start, stride and size; one of any ranks has a context, whose iris_barrier_all_wg is its barrier
 * @param ch   a channel with at least ctx->world signals, used for this team's barrier only
 */
IRIS_DEVICE void iris_barrier_team_wg(const iris_ctx *ctx, iris_team team, const iris_channel *ch)
{
    const uint64_t begun = irisi_trace_begin(ctx), epoch = iris_channel_enter_wg(ch);
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    if ((int32_t)iris_wg_lane() < team.size)
        irisi_release(); /* once in each wave that signals, not in all: on AMD it writes back a cache */
    for (int32_t i = (int32_t)iris_wg_lane(); i < team.size; i += (int32_t)iris_wg_lanes())
        irisi_raise(ctx, ch->signals + ctx->rank, epoch, IRIS_SIGNAL_SET, team.start + i * team.stride);
    for (int32_t i = (int32_t)iris_wg_lane(); i < team.size; i += (int32_t)iris_wg_lanes()) {
        const int from = team.start + i * team.stride;
        irisi_wait_signal(ctx, ch->signals + from, IRISI_GE, epoch, from);
    }
    irisi_drain(); /* the epoch has arrived before another wave reads it in the next barrier */
    iris_sync_wg();
    irisi_trace_end_wg(ctx, begun, IRIS_TRACE_BARRIER, ctx->rank, ch->signals, epoch);
}

/** Barrier of the world: iris_barrier_team_wg for all ranks. Every lane of one workgroup on each rank calls it. */
IRIS_DEVICE void iris_barrier_all_wg(const iris_ctx *ctx, const iris_channel *ch)
{
    iris_team all;
    all.start = 0;
    all.stride = 1;
    all.size = ctx->world;
    iris_barrier_team_wg(ctx, all, ch);
}

/** Barrier of the world for whole grids: every lane of a cooperative launch on every rank calls it. */
IRIS_DEVICE void iris_barrier_all_grid(const iris_ctx *ctx, const iris_channel *ch)
{
    iris_grid_sync(ctx, ch);
    if (iris_workgroup() == 0)
        iris_barrier_all_wg(ctx, ch);
    iris_grid_sync(ctx, ch);
}
/** @} */

#endif
#endif
