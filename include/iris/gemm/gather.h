/* SPDX-License-Identifier: MIT */
/*
 * gather.h: what all_gather does before the GEMM: puts every rank's rows of A to every rank.
 *
 *   irisi_gemm_gather_rows irisi_gemm_gather_ll irisi_gemm_communicate_all_gather
 *   irisi_gemm_gather_beside irisi_tile_needs     blocks of rows, while others compute
 *   irisi_gemm_gather_copied                      the same where copy engines put them
 *
 * The gathered A is in the workspace, in rows that begin at multiples of 128 bytes, or where the caller asks for it in
 * the caller's memory, at multiples of 16: every mainloop reads it in place, whatever the alignment of the ranks' own
 * rows.
 */
#ifndef IRIS_GEMM_GATHER_H
#define IRIS_GEMM_GATHER_H

#include <iris/bytes.h>
#include <iris/collective/ll_units.h>
#include <iris/gemm/meet.h>
#include <iris/gemm/scheduler.h>
#include <iris/gemm/wave_group.h>

#if IRIS_HAS_DEVICE

/* Reads 16 bytes of a row, of which `left` are inside; zeros stand for the others. One lane calls it. */
IRIS_DEVICE irisi_b128 irisi_gemm_gather_chunk(const char *from, uint32_t align, uint64_t left)
{
    irisi_b128 v = {{0, 0, 0, 0}};
    if (left >= 16)
        return align == 16 ? irisi_load_128(from, IRIS_CACHE_STREAM)
                           : irisi_gather_128(from, align, IRIS_CACHE_DEFAULT);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 16; i++)
        if (i < left)
            v.w[i / 4] |= (uint32_t)irisi_load_8(from + i, IRIS_CACHE_DEFAULT) << (8 * (i % 4));
    return v;
}

/*
 * Puts rows first, first + 1, ... (count of them) of this rank's shard of A to every rank, in chunks of 16 bytes, which
 * so many lanes share; not to this rank what it reads in place.
 */
IRIS_DEVICE void irisi_gemm_gather_rows(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t first, uint32_t count,
                                        size_t member, size_t members)
{
    const uint64_t bytes = (uint64_t)plan->k * plan->operands.element;
    const uint64_t from_pitch = plan->inputs.ld * plan->operands.element,
                   to_pitch = plan->operands.lda * plan->operands.element;
    const uint32_t across = (uint32_t)((bytes + 15) / 16), before = irisi_gemm_rows_of(plan, plan->rank).first + first;
    const char *from = (const char *)plan->inputs.a + first * from_pitch;
    char *to = (char *)(uintptr_t)plan->operands.a + before * to_pitch;
    const uint32_t align = irisi_alignment((uintptr_t)from | (uintptr_t)from_pitch);
    const irisi_span own = irisi_split((size_t)count * across, member, members);
    const uint64_t begun = irisi_trace_begin(ctx);
    for (size_t i = own.first; i < own.end; i += 4 * own.step) {
        irisi_b128 v[4];
        char *at[4];
        int in_place[4];
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++) {
            const size_t n = i + u * own.step < own.end ? i + u * own.step : i; /* beyond the end, the first again */
            const uint32_t row = (uint32_t)n / across, chunk = (uint32_t)n - row * across;
            v[u] = irisi_gemm_gather_chunk(from + row * from_pitch + 16 * (uint64_t)chunk, align,
                                           bytes - 16 * (uint64_t)chunk);
            at[u] = to + row * to_pitch + 16 * (uint64_t)chunk;
            in_place[u] = irisi_gemm_in_place(plan, before + row, 1);
        }
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++)
            irisi_loaded(v + u);
        for (int k = 1, rank = ctx->rank; k <= ctx->world; k++) {
            rank = rank + 1 == ctx->world ? 0 : rank + 1; /* each rank begins with another, so all links are used */
            IRISI_UNROLL
            for (uint32_t u = 0; u < 4; u++)
                if (i + u * own.step < own.end && !(rank == ctx->rank && in_place[u]))
                    irisi_store_128(irisi_translate(ctx, at[u], rank), v[u], IRIS_CACHE_DEFAULT);
        }
    }
    if (IRISI_TRACE && member == 0) /* in place of a tile the first row */
        irisi_trace_note(ctx, begun, IRIS_TRACE_GEMM_SEND, ctx->rank, NULL,
                         (uint32_t)(ctx->world - 1) * count * bytes, first);
}

/* 8 bytes of a row of the gathered A; a lane stores them. */
IRIS_DEVICE void irisi_gemm_gather_store(const iris_gemm_plan *plan, uint32_t row, uint32_t unit, uint64_t both)
{
    const uint64_t pitch = plan->operands.lda * plan->operands.element;
    irisi_store_64((char *)(uintptr_t)plan->operands.a + row * pitch + 8 * (uint64_t)unit, both, IRIS_CACHE_DEFAULT);
}

/*
 * A whole kernel that gathers few rows, as packets in banks (tile_ll.h): without handshakes. Each rank's rows have a
 * part of the bank, with a row of units for each, and one unit if there are none. Every lane of a grid calls it, which
 * may have any number of workgroups.
 */
IRIS_DEVICE void irisi_gemm_gather_ll(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.ll);
    const uint32_t out = irisi_channel_count_out_of(&plan->exchange.ll, plan->machine.waves);
    const uint32_t bytes = plan->k * plan->operands.element, units = (bytes + 15) / 16 * 2, flag = iris_ll_flag(epoch);
    const uint32_t lanes = (uint32_t)iris_grid_lanes(), lane = (uint32_t)iris_grid_lane();
    const uint32_t part = irisi_gemm_slot_rows(plan) * plan->exchange.ll_pitch; /* packets */
    const iris_gemm_rows own = irisi_gemm_rows_of(plan, plan->rank);
    iris_ll_packet *bank = iris_ll_bank(&plan->exchange.ll, epoch), *mine = bank + (uint64_t)plan->rank * part;
    for (uint32_t i = lane; i < (own.count > 0 ? own.count * units : 1); i += lanes) {
        const uint32_t row = i / units, unit = i - row * units;
        const char *from = (const char *)plan->inputs.a + row * plan->inputs.ld * plan->operands.element + 8 * unit;
        const uint64_t both = own.count > 0 && 8 * unit < bytes ? irisi_ll_unit(from, bytes - 8 * unit) : 0;
        if (own.count > 0)
            irisi_gemm_gather_store(plan, own.first + row, unit, both);
        for (int k = 1, rank = ctx->rank; k < ctx->world; k++) {
            rank = rank + 1 == ctx->world ? 0 : rank + 1;
            irisi_ll_write_unit((iris_ll_packet *)irisi_translate(ctx, mine + row * plan->exchange.ll_pitch + 2 * unit,
                                                                  rank), both, flag);
        }
    }
    for (int k = 1, rank = ctx->rank; k < ctx->world; k++) {
        rank = rank == 0 ? ctx->world - 1 : rank - 1;
        const iris_gemm_rows rows = irisi_gemm_rows_of(plan, (uint32_t)rank);
        for (uint32_t i = lane; i < (rows.count > 0 ? rows.count * units : 1); i += lanes) {
            const uint32_t row = i / units, unit = i - row * units;
            uint64_t seen[2];
            irisi_ll_await_units(ctx, bank + (uint64_t)rank * part + row * plan->exchange.ll_pitch + 2 * unit, 0, 1, -1,
                                 flag, 1, rank, seen);
            if (rows.count > 0)
                irisi_gemm_gather_store(plan, rows.first + row, unit, seen[1] << 32 | (uint32_t)seen[0]);
        }
    }
    irisi_channel_close(&plan->exchange.ll, epoch, out, iris_workgroups());
}

/* A whole kernel that gathers. Every lane of a cooperative grid calls it; every rank has equally many workgroups. */
IRIS_DEVICE void irisi_gemm_communicate_all_gather(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.channel);
    if (irisi_gemm_enter_all(ctx, plan, epoch))
        irisi_gemm_gather_rows(ctx, plan, 0, irisi_gemm_rows_of(plan, plan->rank).count, iris_grid_lane(),
                               iris_grid_lanes());
    irisi_gemm_leave_all(ctx, plan, epoch, 1, plan->machine.waves, iris_workgroups(), 0);
}

/*
 * The same beside waves that compute, once all ranks have begun: worker `worker` of `workers` wave groups puts blocks
 * of rows, and raises a signal for each, on this rank too. A wave that has seen that the world has stopped puts nothing
 * and raises nothing, but meets the others all the same, who may not have seen it, and may raise a signal still: its
 * peers' results do not count any more. Every lane of the wave group calls it.
 */
IRIS_DEVICE void irisi_gemm_gather_beside(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch,
                                          iris_wave_group *group, uint32_t worker, uint32_t workers)
{
    const uint32_t rows = irisi_gemm_rows_of(plan, plan->rank).count;
    for (uint32_t block = worker; block * IRISI_GEMM_BLOCK_ROWS < rows; block += workers) {
        const uint32_t first = block * IRISI_GEMM_BLOCK_ROWS, left = rows - first;
        if (!group->stopped)
            irisi_gemm_gather_rows(ctx, plan, first,
                                   left < IRISI_GEMM_BLOCK_ROWS ? left : (uint32_t)IRISI_GEMM_BLOCK_ROWS,
                                   group->member, group->members);
        irisi_drain();
        iris_wave_group_sync(group);
        for (int rank = (int)group->member; !group->stopped && rank < ctx->world; rank += (int)group->members)
            irisi_raise(ctx, irisi_exchange_block(plan, plan->rank, block), epoch, IRIS_SIGNAL_SET, rank);
    }
}

/*
 * A whole kernel between the copies of copy_engine, on their stream. Before the first one (no blocks were copied):
 * tells every peer that this rank has begun, and waits until they have. Else: raises the signals of the blocks whose
 * copies the stream has passed, on this rank last: where all of its own are raised, the kernel that computes may end
 * the epoch. A kernel begins behind the copies before it, so its release makes them visible to who acquires a signal.
 * Where the world has stopped no signal is raised, since copies then took place without a handshake. Every lane calls
 * it, of one workgroup of one wave.
 */
IRIS_DEVICE void irisi_gemm_gather_copied(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.channel);
    if (plan->copied.count == 0) {
        irisi_gemm_enter_all(ctx, plan, epoch);
        return;
    }
    if (irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0)
        return; /* who waits for the rows stops too */
    irisi_release();
    for (int k = 1, rank = ctx->rank; k <= ctx->world; k++) {
        rank = rank + 1 == ctx->world ? 0 : rank + 1;
        for (uint32_t i = iris_wg_lane(); i < plan->copied.count; i += iris_wg_lanes())
            irisi_raise(ctx, irisi_exchange_block(plan, plan->rank, plan->copied.first + i), epoch, IRIS_SIGNAL_SET,
                        rank);
        iris_sync_wave();
    }
}

/*
 * Waits until this rank's own blocks of rows have been put, by whoever does. Every lane of a wave calls it.
 */
IRIS_DEVICE void irisi_gemm_await_own_rows(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch)
{
    const uint32_t rows = irisi_gemm_rows_of(plan, plan->rank).count;
    for (uint32_t block = iris_lane(); block * IRISI_GEMM_BLOCK_ROWS < rows; block += iris_wave_lanes())
        irisi_wait_signal(ctx, irisi_exchange_block(plan, plan->rank, block), IRISI_GE, epoch, ctx->rank);
}

/*
 * Waits until the rows of A have arrived that a tile is computed from. Every wave that loads them calls it, before it
 * does, with all lanes.
 */
IRIS_DEVICE void irisi_tile_needs(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                  uint64_t epoch)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (irisi_gemm_in_place(plan, tile->m0, tile->rows))
        return;
    for (uint32_t row = tile->m0, end = tile->m0 + tile->rows; row < end;) {
        const iris_signal *mine = NULL; /* each lane waits for another block, all at once */
        int from = ctx->rank;
        for (uint32_t lane = 0; lane < iris_wave_lanes() && row < end; lane++) {
            const uint32_t owner = irisi_gemm_owner_of(plan, row);
            const iris_gemm_rows shard = irisi_gemm_rows_of(plan, owner);
            const uint32_t block = (row - shard.first) / IRISI_GEMM_BLOCK_ROWS;
            const uint32_t next = (block + 1) * IRISI_GEMM_BLOCK_ROWS;
            if (lane == iris_lane())
                mine = irisi_exchange_block(plan, owner, block), from = (int)owner;
            row = shard.first + (next < shard.count ? next : shard.count);
        }
        if (mine != NULL)
            irisi_wait_signal(ctx, mine, IRISI_GE, epoch, from);
    }
    iris_sync_wave();
    irisi_bulk_acquired();
}

#endif
#endif
