/* SPDX-License-Identifier: MIT */
/*
 * roles.h: what waves and workgroups of GEMM kernels do besides the mainloops (mainloop/mainloop.h) and besides storing
 * and putting tiles (tile.h).
 *
 *   IRIS_GEMM_LANES IRIS_GEMM_LANES_WITH_COMM     lanes for which your own kernel is declared
 *   iris_gemm_part iris_gemm_begin       waves by role, shared memory, the epoch
 *   iris_gemm_enter iris_gemm_await_peers iris_gemm_finish     the handshakes at either end
 *   iris_gemm_send                       a wave group that only sends
 *   irisi_gemm_send_piped irisi_gemm_communicate_all_scatter   communication waves and kernels
 *   irisi_stage_pipe_*                   staging tiles between math waves and communication waves
 *   irisi_gemm_notify_begin irisi_gemm_notify_request irisi_gemm_notify_wave    a wave that raises others' signals
 *   irisi_gemm_tma_forward_fetch irisi_gemm_tma_forward_put irisi_gemm_send_beside    workgroups that only send
 *   irisi_gemm_gather_begun irisi_gemm_gather_for_others    workgroups and kernels that gather A
 *
 * Shared memory of a workgroup: IRISI_GEMM_COUNTERS bytes of counters and gates, the mainloop's workspace, the staging
 * tiles.
 *
 * Handshakes of epoch e. Entry: a rank raises ready[rank] to e on every peer once its stream has reached the operation;
 * earlier readers of its C are done then, and no peer writes to its C before. Exit: a rank raises done[rank] on every
 * peer after each of its tiles, by the tile's units, and at once by the units of rows that the launch does not have; a
 * kernel ends when every peer's units of all epochs so far have arrived. Neither depends on the grid, the pattern or
 * the rows.
 */
#ifndef IRIS_GEMM_ROLES_H
#define IRIS_GEMM_ROLES_H

#include <iris/mainloop/mainloop.h>
#include <iris/gemm/gather.h>
#include <iris/gemm/glu.h>
#include <iris/gemm/tile_ll.h>

/** Lanes for which your own kernel with the plain mainloop is declared; the second: with communication waves. */
enum { IRIS_GEMM_LANES = IRISI_GEMM_LANES, IRIS_GEMM_LANES_WITH_COMM = IRISI_GEMM_LANES_WITH_COMM };

/*
 * Offsets from the start of shared memory, in units of 4 bytes: of the wave groups' counters, of a word for
 * irisi_gemm_same_wg before the tiles, and of two gates for each of 4 stages of the pipe.
 */
enum {
    IRISI_WAVE_GROUP_MATH,
    IRISI_WAVE_GROUP_LOADER,
    IRISI_WAVE_GROUP_COMM,
    IRISI_SAME,
    IRISI_FULL,
    IRISI_EMPTY = IRISI_FULL + 2 * 4
};

#if IRIS_HAS_DEVICE

/** What a wave has to do in a GEMM kernel, and with which memory. */
typedef struct iris_gemm_part {
    iris_gemm_role role;
    iris_wave_group group; /**< the waves of this role */
    uint64_t epoch;
    uint32_t *counters;
    char *workspace, *stages;
    uint32_t workspace_bytes;
    uint32_t workgroups; /**< of the grid; behind the tiles: irisi_rematerialize_u32 */
} iris_gemm_part;

/*
 * Which tiles the math waves deliver themselves. The others are stored in this rank's C, from where senders put them.
 */
typedef enum irisi_gemm_directly {
    IRISI_GEMM_DIRECTLY_NONE,
    IRISI_GEMM_DIRECTLY_LAST, /* each workgroup's last one: no computation is left to overlap with its sending */
    IRISI_GEMM_DIRECTLY_ALL
} irisi_gemm_directly;

/*
 * What a kernel does with computed tiles. Kernels pass constants, so that each has only the code that it needs. On
 * platforms where all tiles have one width, DIRECTLY_LAST counts as DIRECTLY_NONE.
 */
typedef struct irisi_gemm_way {
    irisi_gemm_to to; /* where delivered tiles go */
    irisi_gemm_directly directly;
    int flagged;      /* 1: a flag is raised for each tile that is stored for senders */
    int piped;        /* 1: communication waves deliver all tiles, through the stage pipe */
    int needs;        /* 1: A arrives while tiles are computed: each waits for its rows (gather.h) */
} irisi_gemm_way;

/* 1 where math waves put tiles to other ranks and notify these. */
IRIS_DEVICE int irisi_gemm_puts(irisi_gemm_way way)
{
    return (way.to == IRISI_GEMM_TO_EVERYONE || way.to == IRISI_GEMM_TO_OWNER) &&
           way.directly != IRISI_GEMM_DIRECTLY_NONE;
}

/*
 * 1 where tiles go into this rank's C and nowhere else: in a GEMM alone, and where A is gathered. Only then a plan may
 * have several matrices B.
 */
IRIS_DEVICE int irisi_gemm_to_own_c(irisi_gemm_way way) { return way.to == IRISI_GEMM_TO_SELF && !way.flagged; }

/*
 * The stage pipe: pieces of tiles pass from the math waves to the communication waves through staging tiles, used in
 * turn; `seq` counts pieces. Each staging tile has two gates: the n-th phase of FULL ends when every math wave has
 * filled its share for the n-th time, that of EMPTY when every communication wave is done with it. A gate is a barrier
 * of the device (mbarrier), or a counter of all arrivals so far. No wave leaves its schedule early, even when the world
 * has stopped, so every wait at a gate ends.
 */
IRIS_DEVICE uint32_t *irisi_stage_pipe_gate(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t gates,
                                            uint32_t seq)
{
    return part->counters + gates + 2 * (seq % plan->machine.slots_with_comm);
}

/* Makes the gates. One lane calls it, before a barrier of the workgroup. `each`: lanes of a wave that arrive. */
IRIS_DEVICE void irisi_stage_pipe_begin(const iris_gemm_part *part, const iris_gemm_plan *plan)
{
    const uint32_t each = irisi_tile_tma_store(plan) ? 1 : iris_wave_lanes();
    for (uint32_t slot = 0; slot < plan->machine.slots_with_comm; slot++) {
        uint32_t *full = irisi_stage_pipe_gate(part, plan, IRISI_FULL, slot);
        uint32_t *empty = irisi_stage_pipe_gate(part, plan, IRISI_EMPTY, slot);
        if (!irisi_gate_make(full, plan->machine.math_waves * each) ||
            !irisi_gate_make(empty, plan->machine.comm_waves * each))
            *full = *empty = 0;
    }
}

/* Arrives at a gate. Every lane of a wave calls it; with boxes only lane 0 arrives, which gives them to the engine. */
IRIS_DEVICE void irisi_stage_pipe_arrive(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t gates,
                                         uint32_t seq)
{
    uint32_t *gate = irisi_stage_pipe_gate(part, plan, gates, seq);
    iris_sync_wave();
    if ((iris_lane() == 0 || !irisi_tile_tma_store(plan)) && !irisi_gate_arrive(gate) && iris_lane() == 0)
        irisi_shared_add(gate, 1);
}

/* Waits for the end of a phase; phase 2^32 - 1, before the first one, has ended. Every lane of a wave calls it. */
IRIS_DEVICE void irisi_stage_pipe_await(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t gates,
                                        uint32_t seq, uint32_t phase, uint32_t waves)
{
    uint32_t *gate = irisi_stage_pipe_gate(part, plan, gates, seq);
    if (irisi_gate_await(gate, phase))
        iris_sync_wave();
    else
        irisi_await_counter(gate, (phase + 1) * waves);
}

/**
 * @name The frame of a GEMM kernel
 *
 * In this order: iris_gemm_begin, iris_gemm_enter, tiles, iris_gemm_finish. docs/gemm-own-kernel.md shows one.
 *
 * @param ctx     the kernel's context, from iris_device_ctx
 * @param plan    the plan, from iris_gemm_prepare, in the kernel's argument struct
 * @param epoch   the running epoch of the plan's channel
 * @param group   the waves that do it; every lane of them calls
 * @param worker  number of the wave group among those that send
 * @param workers how many send
 * @param positions how many of the schedule's first tiles are sent
 * @{
 */
/* iris_gemm_begin with a given epoch; a kernel that exchanges no signals with other ranks passes any number. */
IRIS_DEVICE iris_gemm_part irisi_gemm_begin_epoch(const iris_gemm_plan *plan, uint32_t comm_waves, uint64_t epoch)
{
    const uint32_t math = plan->machine.math_waves;
    const uint32_t loaders = iris_waves() - math - comm_waves;
    char *shared = (char *)iris_shared();
    iris_gemm_part part;
    part.counters = (uint32_t *)shared;
    part.workspace = shared + IRISI_GEMM_COUNTERS;
    part.workspace_bytes = comm_waves ? plan->machine.workspace_bytes_with_comm : plan->machine.workspace_bytes;
    part.stages = part.workspace + part.workspace_bytes;
    part.epoch = epoch;
    part.workgroups = iris_workgroups();
    for (uint32_t i = iris_wg_lane(); i < IRISI_FULL; i += iris_wg_lanes())
        part.counters[i] = 0;
    if (comm_waves && iris_wg_lane() == 0)
        irisi_stage_pipe_begin(&part, plan);
    irisi_gemm_workspace_begin(plan, part.workspace, part.workspace_bytes);
    iris_sync_wg();
    part.role = IRIS_GEMM_MATH;
    if (math == iris_waves()) {
        part.group = iris_wave_group_all();
    } else if (iris_wave() < math) {
        part.group = iris_wave_group_of(0, math, part.counters + IRISI_WAVE_GROUP_MATH);
    } else if (iris_wave() < math + loaders) {
        part.role = IRIS_GEMM_LOADER;
        part.group = iris_wave_group_of(math, loaders, part.counters + IRISI_WAVE_GROUP_LOADER);
    } else {
        part.role = IRIS_GEMM_COMM;
        part.group = iris_wave_group_of(math + loaders, comm_waves, part.counters + IRISI_WAVE_GROUP_COMM);
    }
    return part;
}

/**
 * Begins a kernel: splits the workgroup's waves by role. The first waves compute, as many as the plan says; the last
 * `comm_waves` waves communicate; the waves between them load. Every lane of the workgroup calls it. The plan is one of
 * an operation that communicates.
 *
 * @param comm_waves 0, or plan->machine.comm_waves
 */
IRIS_DEVICE iris_gemm_part iris_gemm_begin(const iris_gemm_plan *plan, uint32_t comm_waves)
{
    return irisi_gemm_begin_epoch(plan, comm_waves, iris_channel_enter_wg(&plan->exchange.channel));
}

/** Tells every peer that this rank has begun epoch `epoch`. Every lane of the grid calls it; workgroup 0 does it. */
IRIS_DEVICE void iris_gemm_enter(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch)
{
    if (iris_workgroup() != 0)
        return;
    for (int rank = (int)iris_wg_lane(); rank < ctx->world; rank += (int)iris_wg_lanes()) {
        if (rank == ctx->rank)
            continue;
        irisi_raise(ctx, irisi_exchange_ready(plan, ctx->rank), epoch, IRIS_SIGNAL_SET, rank);
        if (plan->exchange.missing > 0) /* no tile raises it by so much: the band is empty, or rows are fewer */
            irisi_raise(ctx, irisi_exchange_done(plan, ctx->rank), plan->exchange.missing, IRIS_SIGNAL_ADD, rank);
    }
}

/*
 * Waits for one signal of each peer; they stand one behind the other, from `signals` on. Each must reach `epoch`, or if
 * `counted` what its rank adds in so many epochs. Every lane of a wave calls it, and waits for one peer.
 */
IRIS_DEVICE void irisi_gemm_await_all(const iris_ctx *ctx, const iris_signal *signals, const iris_gemm_plan *plan,
                                      uint64_t epoch, int counted)
{
    for (int first = 0; first < ctx->world; first += (int)iris_wave_lanes()) {
        const int rank = first + (int)iris_lane();
        if (rank < ctx->world && rank != ctx->rank)
            irisi_wait_signal(ctx, signals + rank, IRISI_GE,
                              counted ? epoch * irisi_exchange_amount(plan, (uint32_t)rank) : epoch, rank);
    }
}

/**
 * Waits until every peer has begun the epoch, before the first put. Every lane of the wave group calls it. When the
 * world has stopped, the wave group puts nothing any more: a late peer may still read the C of its last epoch.
 */
IRIS_DEVICE void iris_gemm_await_peers(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch,
                                       iris_wave_group *group)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (irisi_rematerialize_u32(group->wave) == 0)
        irisi_gemm_await_all(ctx, irisi_exchange_ready(plan, 0), plan, epoch, 0);
    iris_wave_group_sync(group);
    group->stopped = irisi_atomic_fetch_u32(&ctx->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) != 0;
}

/**
 * Ends a kernel: workgroup 0 waits for everything that peers send here, and the last workgroup to leave ends the
 * epoch. Every lane of the grid calls it.
 */
IRIS_DEVICE void iris_gemm_finish(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch)
{
    const uint32_t out = irisi_channel_count_out(&plan->exchange.channel);
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (irisi_rematerialize_u32(iris_workgroup()) == 0 && iris_wave() == 0)
        irisi_gemm_await_all(ctx, irisi_exchange_done(plan, 0), plan, epoch, 1);
    irisi_channel_close(&plan->exchange.channel, epoch, out, iris_workgroups());
}

/**
 * Sends tiles that stand in this rank's C to every peer, the schedule's first `positions`: worker `worker` of `workers`
 * wave groups. Every lane of the wave group calls it.
 *
 * @param flagged 1: the tiles are still being computed; wait for each tile's flag. 0: all are there
 */
IRIS_DEVICE void iris_gemm_send(const iris_ctx *ctx, const iris_gemm_plan *plan, uint64_t epoch, iris_wave_group *group,
                                uint32_t worker, uint32_t workers, int flagged, uint32_t positions)
{
    iris_tile tile;
    iris_gemm_await_peers(ctx, plan, epoch, group);
    for (iris_tile_begin(plan, &tile, worker, workers); irisi_tile_next_of(plan, &tile, positions);) {
        if (!irisi_tile_ends(plan, &tile))
            continue;
        if (flagged)
            iris_tile_await(ctx, plan, &tile, epoch, group);
        iris_tile_send(ctx, plan, &tile, group);
        iris_tile_notify(ctx, plan, &tile, group);
    }
}
/** @} */

/* The staging tile of piece `seq`. */
IRIS_DEVICE char *irisi_stage_pipe_stage(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    return part->workspace + plan->machine.workspace_bytes_with_comm +
           seq % plan->machine.slots_with_comm * plan->machine.stage_bytes;
}

/* Math waves: waits until the staging tile of piece `seq` is empty, and returns it. */
IRIS_DEVICE char *irisi_stage_pipe_acquire(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    irisi_stage_pipe_await(part, plan, IRISI_EMPTY, seq, seq / plan->machine.slots_with_comm - 1,
                           plan->machine.comm_waves);
    return irisi_stage_pipe_stage(part, plan, seq);
}

/* Math waves: says that the wave has filled its share of piece `seq`. Every lane of the wave group calls it. */
IRIS_DEVICE void irisi_stage_pipe_commit(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    irisi_bulk_written();
    irisi_stage_pipe_arrive(part, plan, IRISI_FULL, seq);
}

/* Communication waves: waits until piece `seq` is full, and returns its staging tile. */
IRIS_DEVICE char *irisi_stage_pipe_wait(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    irisi_stage_pipe_await(part, plan, IRISI_FULL, seq, seq / plan->machine.slots_with_comm, plan->machine.math_waves);
    return irisi_stage_pipe_stage(part, plan, seq);
}

/*
 * A notification of a finished tile takes a fence and a store. The fence takes long where much is on its way, and a
 * warpgroup of which one wave waits computes nothing. So where a workgroup has waves beside the math waves, one of them
 * notifies: math waves request it at the gates of the stage pipe, which such kernels do not use otherwise. This makes
 * the gates. Every lane of the workgroup calls it.
 */
IRIS_DEVICE void irisi_gemm_notify_begin(const iris_gemm_part *part, const iris_gemm_plan *plan)
{
    if (iris_wg_lane() == iris_wg_lanes() - 1)
        irisi_stage_pipe_begin(part, plan);
    iris_sync_wg();
}

/*
 * Math waves: waits until the wave's share of tile `seq` has been put or stored, and requests its notification. Every
 * lane of the wave group calls it.
 */
IRIS_DEVICE void irisi_gemm_notify_request(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    irisi_bulk_arrived();
    irisi_drain();
    irisi_stage_pipe_await(part, plan, IRISI_EMPTY, seq, seq / plan->machine.slots_with_comm - 1,
                           plan->machine.comm_waves);
    irisi_stage_pipe_arrive(part, plan, IRISI_FULL, seq);
}

/*
 * What the compute loop (gen/gemm_tiles.h) keeps about the tiles that its math waves have sent. Peers are notified of a
 * tile only before the next one leaves: its bytes have had time to arrive meanwhile, so that the wait is short.
 */
typedef struct irisi_gemm_sink {
    iris_tile last;        /* the last tile that was put to others */
    uint32_t pieces, seq;  /* pieces that have been staged; requests to the wave that notifies, or pieces in the pipe */
    int sent;              /* 1: `last` is such a tile, and peers were not notified of it */
    int direct;            /* 1: math waves put the tile that leaves now to other ranks themselves */
} irisi_gemm_sink;

/* Part `i` of a tile that is computed at a time: all of it, or if `piped` as much as registers have room for. */
IRIS_DEVICE int irisi_gemm_pass(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t i, int piped,
                                iris_tile *pass)
{
    if (piped)
        return iris_tile_pass(plan, tile, i, pass);
    *pass = *tile;
    return i == 0;
}

/*
 * Notifies peers of the last tile that was put to them: 1, or 0 if there is none. Every lane of the math wave group
 * calls it.
 */
IRIS_DEVICE int irisi_gemm_sink_announce(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                         irisi_gemm_sink *sink, int notifier, irisi_gemm_way way)
{
    const int arrived = irisi_gemm_puts(way) && way.directly == IRISI_GEMM_DIRECTLY_ALL ? sink->pieces > 0 : sink->sent;
    if (notifier && arrived)
        irisi_gemm_notify_request(part, plan, sink->seq++);
    else if (arrived)
        irisi_tile_notify_to(ctx, plan, &sink->last, &part->group, way.to);
    return arrived;
}

/*
 * Before a computed tile leaves: notifies peers of the last one, or before the first waits until peers have begun the
 * epoch. Every lane of the math wave group calls it.
 */
IRIS_DEVICE void irisi_gemm_sink_before(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                        irisi_gemm_sink *sink, int notifier, irisi_gemm_way way)
{
    if (!irisi_gemm_sink_announce(ctx, plan, part, sink, notifier, way) && sink->direct)
        iris_gemm_await_peers(ctx, plan, part->epoch, &part->group);
}

/*
 * After the tile has left: peers will be notified before the next one leaves; senders on this rank are notified at
 * once. Every lane of the math wave group calls it.
 */
IRIS_DEVICE void irisi_gemm_sink_after(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                       const iris_tile *tile, irisi_gemm_sink *sink, int notifier, irisi_gemm_way way)
{
    if (sink->direct)
        sink->last = *tile, sink->sent = 1;
    else if (notifier)
        irisi_gemm_notify_request(part, plan, sink->seq++);
    else if (way.flagged)
        iris_tile_flag(ctx, plan, tile, part->epoch, &part->group);
    if (way.to == IRISI_GEMM_TO_OWNER) { /* scalars that live while the next tile is computed are scarce */
        sink->last.m0 = irisi_in_vector_register_u32(tile->m0);
        sink->last.rows = irisi_in_vector_register_u32(tile->rows);
    }
}

/*
 * What the wave does that notifies: for each tile, waits for the request of the math waves beside it, and notifies all
 * ranks if the tile was put to all, else the senders on this rank. Every lane of the wave calls it.
 */
IRIS_DEVICE void irisi_gemm_notify_wave(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_gemm_part *part,
                                        const irisi_tile_schedule *schedule, irisi_gemm_way way)
{
    iris_wave_group self = iris_wave_group_of(iris_wave(), 1, part->counters);
    iris_tile tile;
    uint32_t seq = 0;
    for (irisi_tile_begin_schedule(plan, &tile, schedule); irisi_tile_next_scheduled(plan, &tile, schedule);) {
        if (!irisi_tile_ends(plan, &tile))
            continue;
        irisi_stage_pipe_await(part, plan, IRISI_FULL, seq, seq / plan->machine.slots_with_comm,
                               plan->machine.math_waves);
        if (irisi_gemm_puts(way) && (way.directly == IRISI_GEMM_DIRECTLY_ALL || tile.position >= schedule->direct))
            irisi_tile_notify_to(ctx, plan, &tile, &self, way.to);
        else
            iris_tile_flag(ctx, plan, &tile, part->epoch, &self);
        irisi_stage_pipe_arrive(part, plan, IRISI_EMPTY, seq++);
    }
}

/*
 * A workgroup that only sends what other workgroups compute, by the copy engine. Some of its loader waves take tiles in
 * turn: each waits for a tile's flag and has the engine fetch the tile. The math waves have the engine put its parts,
 * and notify the peers once, at the end: peers wait for all tiles anyway. Every lane of these waves calls them.
 */
IRIS_DEVICE void irisi_gemm_tma_forward_fetch(const iris_ctx *ctx, const iris_gemm_plan *plan,
                                              const iris_gemm_part *part, const irisi_tile_schedule *schedule,
                                              irisi_tma_forward *forward)
{
    uint32_t others = part->group.wave; /* tiles that other waves fetch before this wave's next one */
    iris_tile tile;
    for (irisi_tile_begin_schedule(plan, &tile, schedule); irisi_tile_next_scheduled(plan, &tile, schedule);) {
        if (!irisi_tile_ends(plan, &tile))
            continue;
        if (others-- > 0) {
            irisi_tma_forward_skip(&tile, forward);
            continue;
        }
        irisi_wait_signal(ctx, irisi_exchange_flag(plan, tile.index), IRISI_GE, part->epoch, ctx->rank);
        irisi_tma_forward_fetch(plan, &tile, forward);
        others = IRISI_TMA_FORWARD_FETCHERS - 1;
    }
}
IRIS_DEVICE void irisi_gemm_tma_forward_put(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                            const irisi_tile_schedule *schedule, irisi_tma_forward *forward)
{
    irisi_trace_opened event = irisi_trace_prepare(ctx, IRISI_TRACE && part->group.member == 0);
    uint32_t units = 0;
    iris_tile tile;
    iris_gemm_await_peers(ctx, plan, part->epoch, &part->group);
    for (irisi_tile_begin_schedule(plan, &tile, schedule); irisi_tile_next_scheduled(plan, &tile, schedule);) {
        if (!irisi_tile_ends(plan, &tile))
            continue;
        irisi_trace_open_at(ctx, &event, 1);
        irisi_tma_forward_put(plan, &tile, part->group.stopped, forward);
        irisi_tile_send_rest(ctx, plan, &tile, &part->group);
        irisi_trace_close(ctx, event, IRIS_TRACE_GEMM_SEND, ctx->rank, NULL,
                          irisi_trace_sent_bytes(ctx, plan, &tile, IRISI_GEMM_TO_EVERYONE), irisi_tile_position(&tile));
        units += irisi_tile_units(plan, &tile);
    }
    irisi_tma_forward_end();
    irisi_drain(); /* what lanes have sent */
    iris_wave_group_sync(&part->group);
    if (units > 0)
        irisi_tile_notify_units(ctx, plan, units, &part->group);
}

/*
 * All that a workgroup does that sends the tiles of some positions of the schedule while others compute. Every lane
 * calls it.
 */
IRIS_DEVICE void irisi_gemm_send_beside(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                        const irisi_tile_schedule *schedule)
{
    iris_wave_group group = iris_wave_group_all();
    if (!irisi_tma_forward_can(plan)) {
        iris_gemm_send(ctx, plan, part->epoch, &group, schedule->worker, schedule->workers, 1, schedule->end);
        return;
    }
    irisi_tma_forward forward = irisi_tma_forward_begin(part->workspace);
    iris_sync_wg(); /* the barriers are made, and all waves are done with what they computed before */
    if (part->role == IRIS_GEMM_MATH)
        irisi_gemm_tma_forward_put(ctx, plan, part, schedule, &forward);
    else if (part->group.wave < IRISI_TMA_FORWARD_FETCHERS)
        irisi_gemm_tma_forward_fetch(ctx, plan, part, schedule, &forward);
}

/*
 * All that a workgroup does that gathers: once all ranks have begun, puts own rows of A to every rank, as worker
 * `worker` of `workers` workgroups. Every lane of the workgroup calls it.
 */
IRIS_DEVICE void irisi_gemm_gather_begun(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_gemm_part *part,
                                         uint32_t worker, uint32_t workers)
{
    if (!irisi_gemm_same_wg(irisi_gemm_enter_all(ctx, plan, part->epoch), part->counters + IRISI_SAME))
        return;
    iris_wave_group group = iris_wave_group_all();
    if (irisi_tma_gather_can(plan))
        irisi_tma_gather_rows(ctx, plan, part->workspace, part->epoch, worker, workers);
    else
        irisi_gemm_gather_beside(ctx, plan, part->epoch, &group, worker, workers);
}

/*
 * A whole kernel that gathers A while another one, on another stream, computes with it: by blocks of rows, each with
 * its signals. The other kernel begins the epoch for both and ends it, so workgroups without a block do not look at it.
 * Every lane of the grid calls it.
 */
IRIS_DEVICE void irisi_gemm_gather_for_others(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    iris_wave_group group = iris_wave_group_all();
    if (iris_workgroup() * IRISI_GEMM_BLOCK_ROWS >= irisi_gemm_rows_of(plan, plan->rank).count)
        return;
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.channel);
    iris_gemm_await_peers(ctx, plan, epoch, &group);
    irisi_gemm_gather_beside(ctx, plan, epoch, &group, iris_workgroup(), iris_workgroups());
}

/*
 * Communication waves: the wave has put its share of piece `seq`, and returns the staging tile. Where the copy engine
 * may still read it and there is more than one, it returns the one before instead. Every lane calls it.
 */
IRIS_DEVICE void irisi_stage_pipe_release(const iris_gemm_part *part, const iris_gemm_plan *plan, uint32_t seq)
{
    const uint32_t behind = irisi_bulk_can() && plan->machine.slots_with_comm > 1;
    irisi_bulk_reusable(behind);
    if (seq >= behind)
        irisi_stage_pipe_arrive(part, plan, IRISI_EMPTY, seq - behind);
}

/*
 * Communication waves: put every piece that the workgroup's math waves pass through the stage pipe where it is to go,
 * once all peers have begun, and tell them of each tile. Where A is gathered they put own rows before. `gates`: 1 where
 * the kernel can make C of pairs of columns.
 */
IRIS_DEVICE void irisi_gemm_send_piped(const iris_ctx *ctx, const iris_gemm_plan *plan, iris_gemm_part *part,
                                       irisi_gemm_way way, int gates)
{
    iris_tile tile, piece;
    uint32_t seq = 0;
    iris_gemm_await_peers(ctx, plan, part->epoch, &part->group);
    if (way.needs)
        irisi_gemm_gather_beside(ctx, plan, part->epoch, &part->group, iris_workgroup(), iris_workgroups());
    part->group.window = plan->machine.window;
    for (iris_tile_begin(plan, &tile, iris_workgroup(), iris_workgroups()); iris_tile_next(plan, &tile);) {
        if (!irisi_tile_ends(plan, &tile))
            continue;
        if (irisi_gemm_to_own_c(way))
            irisi_tile_find(plan, &tile, 1);
        for (uint32_t i = 0; iris_tile_piece(plan, &tile, i, &piece); i++, seq++) {
            char *stage = irisi_stage_pipe_wait(part, plan, seq);
            if (gates && !irisi_gemm_to_sums(way.to) && irisi_gemm_gated(plan))
                irisi_tile_put_gated(ctx, plan, &piece, stage, &part->group, way.to, part->epoch);
            else
                iris_tile_deliver(ctx, plan, &piece, stage, &part->group, way.to);
            irisi_stage_pipe_release(part, plan, seq);
        }
        if (way.to != IRISI_GEMM_TO_SELF)
            irisi_tile_notify_to(ctx, plan, &tile, &part->group, way.to);
    }
}

/*
 * A whole kernel that only communicates, for all mainloops: puts all of this rank's tiles to every peer. Every lane of
 * a cooperative grid calls it. `flagged`: 1 where the tiles are still being computed.
 */
IRIS_DEVICE void irisi_gemm_communicate_all_scatter(const iris_ctx *ctx, const iris_gemm_plan *plan, int flagged)
{
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.channel);
    iris_wave_group group = iris_wave_group_all();
    iris_gemm_enter(ctx, plan, epoch);
    iris_gemm_send(ctx, plan, epoch, &group, iris_workgroup(), iris_workgroups(), flagged, plan->tiling.positions);
    iris_gemm_finish(ctx, plan, epoch);
}

#endif
#endif
