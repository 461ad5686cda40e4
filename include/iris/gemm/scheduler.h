/* SPDX-License-Identifier: MIT */
/*
 * scheduler.h: the schedule, the order in which a kernel's tiles are computed; and the pieces of tiles.
 *
 *   iris_tile iris_tile_begin iris_tile_next iris_tile_piece iris_tile_pass
 *   irisi_tile_matrix irisi_tile_b irisi_tile_ldb irisi_tile_bias irisi_tile_scale_b      the tile's B, of several
 *   irisi_tile_find
 *   irisi_tile_schedule irisi_tile_schedule_all irisi_tile_schedule_split irisi_tile_sent irisi_tile_begin_schedule
 *   irisi_tile_next_scheduled irisi_tile_next_even
 */
#ifndef IRIS_GEMM_SCHEDULER_H
#define IRIS_GEMM_SCHEDULER_H

#include <iris/gemm/plan.h>
#include <iris/trace_event.h>

#if IRIS_HAS_DEVICE

/** A tile of this rank's band, and the schedule's state. */
typedef struct iris_tile {
    uint32_t m0, n0;     /**< first row of C, first column within the band of its matrix */
    uint32_t rows, cols; /**< less than the plan's tile at the edges */
    uint32_t top, left;  /**< of a piece: its first row and column within the tile it was cut from */
    uint32_t index;      /**< the number of its first unit among the band's */
    uint32_t matrix;     /* 0: its B is operands.b; else the number of one of several, from 1 on */
    uint32_t k_split;    /* the split of K, where K is cut */
    uint32_t pair_split_k; /* 1: its cluster computes it and the tile beside it together, each workgroup half of K */
    uint32_t position, step; /* the schedule's next position, and from one to the next */
} iris_tile;

/* The number of a tile's matrix: a constant 0 where no plan has several. */
IRIS_DEVICE uint32_t irisi_tile_matrix(const iris_tile *tile)
{
    return irisi_from_vector_register_u32(tile->matrix);
}

/*
 * A tile's B, elements from row to row of it, and what the epilogue has for its columns. Where there are not several
 * matrices these are the plan's operands.
 */
IRIS_DEVICE const void *irisi_tile_b(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint32_t matrix = irisi_tile_matrix(tile);
    return matrix == 0 ? plan->operands.b : plan->several.more[matrix - 1].b;
}
IRIS_DEVICE uint64_t irisi_tile_ldb(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint32_t matrix = irisi_tile_matrix(tile);
    return matrix == 0 ? plan->operands.ldb : plan->several.more[matrix - 1].ldb;
}
IRIS_DEVICE const void *irisi_tile_bias(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint32_t matrix = irisi_tile_matrix(tile);
    return matrix == 0 ? plan->operands.bias : plan->several.more[matrix - 1].bias;
}
IRIS_DEVICE const float *irisi_tile_scale_b(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint32_t matrix = irisi_tile_matrix(tile);
    return matrix == 0 ? plan->operands.scale_b : plan->several.more[matrix - 1].scale_b;
}

/*
 * Finds the matrix of a tile that the schedule gave, where a plan may have several, and counts the tile's columns
 * within it. `park`: 1 where the number is to wait in a vector register, since scalars are scarcer. Every lane calls it
 * that has got the tile.
 */
IRIS_DEVICE void irisi_tile_find(const iris_gemm_plan *plan, iris_tile *tile, int park)
{
    if (!plan->tiling.several)
        return;
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    uint32_t first = 0, columns = plan->several.columns;
    IRISI_ROLLED /* the compiler would load what all matrices have, into scalars that are scarce */
    for (uint32_t i = 0; i < plan->several.count && tile->n0 >= plan->several.more[i].first; i++)
        tile->matrix = i + 1, first = plan->several.more[i].first, columns = plan->several.more[i].columns;
    tile->n0 -= first;
    if (park)
        tile->matrix = irisi_in_vector_register_u32(tile->matrix);
    tile->cols = columns - tile->n0 < tile->cols ? columns - tile->n0 : tile->cols;
}

/*
 * The position in the schedule with which a worker begins. On devices made of chiplets, the device deals workgroups to
 * the chiplets in turn; here each chiplet's workgroups get neighbouring positions, so that they share what is in its
 * cache. Where tiles are fewer than workers, the first positions are shared evenly among the chiplets, and workers
 * without a tile come behind them.
 */
IRIS_DEVICE uint32_t irisi_tile_place(const iris_gemm_plan *plan, uint32_t worker, uint32_t workers)
{
    if (plan->machine.xcds <= 1 || workers % plan->machine.xcds != 0)
        return worker;
    const uint32_t busy = plan->tiling.positions < workers ? plan->tiling.positions : workers,
                   each = (busy + plan->machine.xcds - 1) / plan->machine.xcds;
    const uint32_t slot = worker / plan->machine.xcds, chiplet = worker - slot * plan->machine.xcds;
    return slot < each ? chiplet * each + slot : worker;
}

/**
 * @name The schedule over a plan's tiles
 *
 * Every lane of a workgroup calls them with equal arguments and gets the same tile.
 *
 * @param plan    the plan, from iris_gemm_prepare, in the kernel's argument struct
 * @param tile    the current tile and the schedule's state
 * @param worker  this workgroup's place among those that take tiles
 * @param workers how many take tiles
 * @param i       which piece, from 0 on
 * @param piece   receives the piece
 * @param pass    receives the part
 * @{
 */
/** Begins the schedule of worker `worker` of `workers`; iris_tile_next gives the first tile. */
IRIS_DEVICE void iris_tile_begin(const iris_gemm_plan *plan, iris_tile *tile, uint32_t worker, uint32_t workers)
{
    tile->position = irisi_tile_place(plan, worker, workers);
    tile->step = irisi_in_vector_register_u32(workers);
}

/*
 * Row i and column j, in tiles (of clusters), of the n-th full tile or edge. A few rows of full tiles are taken
 * together, column by column, so that tiles computed at one time share rows of A and columns of B. Edges are numbered
 * behind full tiles. Each rank starts with another tile (rotate). Before a kernel's first fetch a division takes as
 * long as a load, so divisors that are powers of two are shifts.
 */
IRIS_DEVICE void irisi_tile_at(const iris_gemm_plan *plan, uint32_t n, uint32_t *i, uint32_t *j)
{
    const uint32_t full = plan->tiling.tiles_m * plan->tiling.full_n;
    if (irisi_tile_cuts() && n >= full) {
        *i = (n - full + plan->tiling.rotate_m) % plan->tiling.tiles_m;
        *j = plan->tiling.full_n;
        return;
    }
    const uint32_t rotated = n + plan->tiling.rotate, place = rotated < full ? rotated : rotated - full;
    if (plan->tiling.tiles_m == 1) {
        *i = 0, *j = place;
        return;
    }
    const uint32_t shift = plan->tiling.group_shift, group = (place >> shift) / plan->tiling.full_n,
                   first = group << shift;
    const uint32_t within = place - first * plan->tiling.full_n, left = plan->tiling.tiles_m - first;
    *j = left >> shift ? within >> shift : within / left;
    *i = first + within - *j * (left >> shift ? 1u << shift : left);
}

/*
 * The run that a position of the schedule is in; where all tiles have one width there is one run. *position becomes the
 * position within the run.
 */
IRIS_DEVICE const irisi_tile_run *irisi_tile_run_of(const iris_gemm_plan *plan, uint32_t *position)
{
    const irisi_tile_run *run = plan->tiling.runs;
    if (irisi_tile_cuts())
        for (; *position >= run->tiles; run++)
            *position -= run->tiles;
    return run;
}

/* Units of a tile: by so many it raises `done`. */
IRIS_DEVICE uint32_t irisi_tile_units(const iris_gemm_plan *plan, const iris_tile *tile)
{
    return irisi_tile_cuts() ? (tile->cols + plan->tiling.unit - 1) / plan->tiling.unit : 1;
}

/*
 * 1 when the tile is to be written: not the missing second tile of a cluster at the last row, nor a split of K before
 * the last one, whose sums another workgroup adds to its own.
 */
IRIS_DEVICE int irisi_tile_ends(const iris_gemm_plan *plan, const iris_tile *tile)
{
    return !irisi_tile_cuts() || (tile->rows > 0 && tile->k_split + 1 == plan->tiling.split_k);
}

/**
 * Goes on to a worker's next tile: 1, or 0 at the schedule's end. All workers together get each tile once, run after
 * run. Workers 2 * i and 2 * i + 1 of a cluster get tiles one below the other, of which the lower may have no rows; in
 * runs with pair_split_k they get two parts side by side, which both compute.
 */
IRIS_DEVICE int iris_tile_next(const iris_gemm_plan *plan, iris_tile *tile)
{
    uint32_t i, j, below = 0, within = 0, position = tile->position;
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (position >= (irisi_tile_cuts() ? plan->tiling.positions : plan->tiling.tiles_m * plan->tiling.full_n))
        return 0;
    tile->matrix = tile->k_split = tile->pair_split_k = 0;
    const irisi_tile_run *run = irisi_tile_run_of(plan, &position);
    if (irisi_tile_cuts()) {
        below = position & (plan->tiling.cluster - 1), position >>= plan->tiling.cluster - 1;
        if (plan->tiling.split_k > 1)
            tile->k_split = position & (plan->tiling.split_k - 1), position >>= plan->tiling.split_k_shift;
        if (run->parts > 1) {
            const uint32_t part = position % run->parts;
            position /= run->parts, within = part * run->width;
            if (run->pair_split_k)
                tile->pair_split_k = 1, within = (part / 2 * 2 + below) * run->width, below = part % 2;
        }
    }
    irisi_tile_at(plan, irisi_tile_cuts() ? run->first + position : position, &i, &j);
    if (irisi_tile_cuts())
        i = i * plan->tiling.cluster + below;
    const uint32_t right = plan->region.columns - j * plan->tiling.tile_n; /* an edge may be wider than a full tile */
    const int narrow = right < plan->tiling.tile_n || (irisi_tile_cuts() && j == plan->tiling.full_n);
    const uint32_t left = (narrow ? right : plan->tiling.tile_n) - within;
    tile->m0 = i * plan->tiling.tile_m;
    tile->n0 = j * plan->tiling.tile_n + within;
    tile->rows =
        plan->region.rows - tile->m0 < plan->tiling.tile_m ? plan->region.rows - tile->m0 : plan->tiling.tile_m;
    if (irisi_tile_cuts() && tile->m0 >= plan->region.rows)
        tile->rows = 0;
    tile->cols = irisi_tile_cuts() && run->width < left ? run->width : left;
    tile->top = tile->left = 0;
    tile->index = irisi_tile_cuts() ? i * ((plan->region.columns + plan->tiling.unit - 1) / plan->tiling.unit) +
                                          tile->n0 / plan->tiling.unit
                                    : i * plan->tiling.full_n + j;
    tile->position += irisi_rematerialize_u32(tile->step);
    return 1;
}

/* The position of the current tile. */
IRIS_DEVICE uint32_t irisi_tile_position(const iris_tile *tile)
{
    return tile->position - irisi_rematerialize_u32(tile->step);
}

/* iris_tile_next, but only for the schedule's first `positions` tiles; for all where tiles have one width. */
IRIS_DEVICE int irisi_tile_next_of(const iris_gemm_plan *plan, iris_tile *tile, uint32_t positions)
{
    return iris_tile_next(plan, tile) && (!irisi_tile_cuts() || irisi_tile_position(tile) < positions);
}

/*
 * The tiles of the schedule that a workgroup computes: as worker `worker` of `workers`, those at positions from `first`
 * on and before `end`. A tile whose worker's next position would be `direct` or later is the worker's last, and may be
 * put to all ranks directly.
 */
typedef struct irisi_tile_schedule {
    uint32_t worker, workers, first, end, direct;
} irisi_tile_schedule;

/* All of a worker's tiles. */
IRIS_DEVICE irisi_tile_schedule irisi_tile_schedule_all(const iris_gemm_plan *plan, uint32_t worker, uint32_t workers)
{
    const irisi_tile_schedule t = {worker, workers, 0, UINT32_MAX, plan->tiling.positions};
    return t;
}

/* Where the first `senders` of so many workgroups send: they compute some tiles too, while there is nothing to send. */
IRIS_DEVICE irisi_tile_schedule irisi_tile_schedule_split(const iris_gemm_plan *plan, uint32_t workgroup,
                                                          uint32_t workgroups, uint32_t senders)
{
    const uint32_t by_senders = irisi_tile_cuts() ? irisi_gemm_by_senders(plan, workgroups, senders) : 0;
    irisi_tile_schedule t = {workgroup - senders, workgroups - senders, by_senders, UINT32_MAX, plan->tiling.positions};
    if (workgroup < senders)
        t.worker = workgroup, t.workers = senders, t.first = 0, t.end = by_senders, t.direct = UINT32_MAX;
    return t;
}

/* How many tiles of the schedule are for senders to send: all but those that are a worker's last. */
IRIS_DEVICE uint32_t irisi_tile_sent(const iris_gemm_plan *plan, uint32_t workers)
{
    if (!irisi_tile_cuts())
        return plan->tiling.positions;
    return plan->tiling.positions > workers ? plan->tiling.positions - workers : 0;
}

/* iris_tile_begin and iris_tile_next for such a part of the schedule. */
IRIS_DEVICE void irisi_tile_begin_schedule(const iris_gemm_plan *plan, iris_tile *tile,
                                           const irisi_tile_schedule *schedule)
{
    iris_tile_begin(plan, tile, schedule->worker, schedule->workers);
    tile->position += schedule->first;
}
IRIS_DEVICE int irisi_tile_next_scheduled(const iris_gemm_plan *plan, iris_tile *tile,
                                          const irisi_tile_schedule *schedule)
{
    return schedule->end == UINT32_MAX ? iris_tile_next(plan, tile) : irisi_tile_next_of(plan, tile, schedule->end);
}

/* irisi_tile_next_scheduled for mainloops whose tiles have one width: there is one run. K may be cut into splits. */
IRIS_DEVICE int irisi_tile_next_even(const iris_gemm_plan *plan, iris_tile *tile, const irisi_tile_schedule *schedule)
{
    uint32_t i, j;
    if (tile->position >= plan->tiling.positions || tile->position >= schedule->end)
        return 0;
    irisi_tile_at(plan, tile->position >> plan->tiling.split_k_shift, &i, &j);
    tile->m0 = i * plan->tiling.tile_m, tile->n0 = j * plan->tiling.tile_n;
    tile->rows =
        plan->region.rows - tile->m0 < plan->tiling.tile_m ? plan->region.rows - tile->m0 : plan->tiling.tile_m;
    tile->cols =
        plan->region.columns - tile->n0 < plan->tiling.tile_n ? plan->region.columns - tile->n0 : plan->tiling.tile_n;
    tile->matrix = tile->top = tile->left = tile->pair_split_k = 0;
    tile->k_split = tile->position & (plan->tiling.split_k - 1);
    tile->index = i * plan->tiling.full_n + j;
    tile->position += tile->step;
    return 1;
}

/*
 * The events of a tile, or of a part of its K: its sums, until `computed`, and where it left the registers (`staged`)
 * that. They were opened together. Every lane of a wave group calls it, once its sums take no registers any more.
 */
IRIS_DEVICE void irisi_trace_tile(const iris_ctx *ctx, const irisi_trace_opened *event, uint64_t computed, int staged,
                                  const iris_tile *tile)
{
#if IRISI_TRACE
    if (!event->own.count)
        return;
    const uint64_t end = irisi_trace_begin(ctx);
    const uint32_t position = irisi_tile_position(tile);
    irisi_trace_write(ctx, event->own, event->number, event->begun, computed, IRIS_TRACE_GEMM_COMPUTE, ctx->rank, NULL,
                      0, position);
    if (staged)
        irisi_trace_write(ctx, event->own, event->number + 1, computed, end, IRIS_TRACE_GEMM_STAGE, ctx->rank, NULL, 0,
                          position);
#else
    (void)ctx, (void)event, (void)computed, (void)staged, (void)tile;
#endif
}

/* Part `i` of a tile that is cut into parts of m x n, row by row: 1, or 0 when there is none. */
IRIS_DEVICE int irisi_tile_cut(const iris_tile *tile, uint32_t i, uint32_t m, uint32_t n, iris_tile *part)
{
    const uint32_t across = (tile->cols + n - 1) / n;
    const uint32_t top = i / across * m;
    const uint32_t left = i % across * n;
    if (top >= tile->rows)
        return 0;
    *part = *tile;
    part->top = top, part->left = left;
    part->m0 += top, part->n0 += left;
    part->rows = tile->rows - top < m ? tile->rows - top : m;
    part->cols = tile->cols - left < n ? tile->cols - left : n;
    return 1;
}

/**
 * Piece `i` of a tile, itself a tile: as much of it as a staging tile holds. 1, or 0 when there is none. Flags and
 * signals are those of the tile that was cut.
 */
IRIS_DEVICE int iris_tile_piece(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t i, iris_tile *piece)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    return irisi_tile_cut(tile, i, plan->machine.stage_m, plan->machine.stage_n, piece);
}

/** Part `i` of a tile that math waves beside communication waves compute at a time; 1, or 0 when there is none. */
IRIS_DEVICE int iris_tile_pass(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t i, iris_tile *pass)
{
    if (irisi_tile_cuts() &&
        plan->machine.pass_m >= plan->tiling.tile_m) { /* the whole tile, even one without rows: its cluster loads it */
        *pass = *tile;
        return i == 0;
    }
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    return irisi_tile_cut(tile, i, plan->machine.pass_m, plan->tiling.tile_n, pass);
}
/** @} */

#endif
#endif
