/* SPDX-License-Identifier: MIT */
/*
 * tile_walk.h: the walk over a plan's tiles, and their pieces.
 *
 *   iris_tile iris_tile_begin iris_tile_next iris_tile_piece iris_tile_pass
 */
#ifndef IRIS_TILE_WALK_H
#define IRIS_TILE_WALK_H

#include <iris/gemm_plan.h>

#if IRIS_HAS_DEVICE

/** A tile of the own band, and where the walk stands. */
typedef struct iris_tile {
    uint32_t m0, n0;     /**< first row of C, first column within the own band */
    uint32_t rows, cols; /**< less than the plan's tile at the edges */
    uint32_t top, left;  /**< of a piece: its first row and column within the tile it was cut from */
    uint32_t index;      /**< which of the band's tiles */
    uint32_t turn, step; /* the walk */
} iris_tile;

/*
 * The place in the walk of worker w: on devices made of chiplets, workgroups are dealt to those in turn, and each
 * chiplet's workgroups take neighbouring places so that they share what is in its cache.
 */
IRIS_DEVICE uint32_t irisi_tile_place(const iris_gemm_plan *plan, uint32_t worker, uint32_t workers)
{
    if (plan->xcds <= 1 || workers % plan->xcds != 0)
        return worker;
    return worker % plan->xcds * (workers / plan->xcds) + worker / plan->xcds;
}

/** Begins the walk of worker `worker` of `workers`; iris_tile_next gives the first tile. */
IRIS_DEVICE void iris_tile_begin(const iris_gemm_plan *plan, iris_tile *tile, uint32_t worker, uint32_t workers)
{
    tile->turn = irisi_tile_place(plan, worker, workers);
    tile->step = irisi_parked_u32(workers);
}

/**
 * The next tile of a walk: 1, or 0 at its end. All workers together meet each tile once. group_m rows of tiles are
 * walked column by column, so that tiles computed at one time share rows of A and columns of B; the walk starts
 * elsewhere on each rank.
 */
IRIS_DEVICE int iris_tile_next(const iris_gemm_plan *plan, iris_tile *tile)
{
    plan = (const iris_gemm_plan *)irisi_afresh(plan);
    const uint32_t tiles = plan->tiles_m * plan->tiles_n;
    if (tile->turn >= tiles)
        return 0;
    const uint32_t place = (tile->turn + plan->rotate) % tiles;
    const uint32_t first = place / (plan->group_m * plan->tiles_n) * plan->group_m;
    const uint32_t left = plan->tiles_m - first;
    const uint32_t high = left < plan->group_m ? left : plan->group_m;
    const uint32_t within = place % (plan->group_m * plan->tiles_n);
    const uint32_t i = first + within % high;
    const uint32_t j = within / high;
    tile->m0 = i * plan->tile_m;
    tile->n0 = j * plan->tile_n;
    tile->rows = plan->m - tile->m0 < plan->tile_m ? plan->m - tile->m0 : plan->tile_m;
    tile->cols = plan->columns - tile->n0 < plan->tile_n ? plan->columns - tile->n0 : plan->tile_n;
    tile->top = tile->left = 0;
    tile->index = i * plan->tiles_n + j;
    tile->turn += irisi_afresh_u32(tile->step);
    return 1;
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
    plan = (const iris_gemm_plan *)irisi_afresh(plan);
    return irisi_tile_cut(tile, i, plan->stage_m, plan->stage_n, piece);
}

/** The part that math waves beside communication waves compute at a time; likewise. */
IRIS_DEVICE int iris_tile_pass(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t i, iris_tile *pass)
{
    plan = (const iris_gemm_plan *)irisi_afresh(plan);
    return irisi_tile_cut(tile, i, plan->pass_m, plan->tile_n, pass);
}

#endif
#endif
