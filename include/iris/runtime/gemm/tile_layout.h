/* SPDX-License-Identifier: MIT */
/*
 * tile_layout.h: a part of init.c: how a candidate cuts a band into tiles, whether that is possible, and how long it
 * takes.
 *
 *   irisi_gemm_cutting irisi_gemm_open_cut irisi_gemm_lay irisi_gemm_workers irisi_gemm_shares irisi_gemm_covers
 *   irisi_gemm_simulate irisi_gemm_rotate
 */
#ifndef IRIS_RUNTIME_GEMM_TILE_LAYOUT_H
#define IRIS_RUNTIME_GEMM_TILE_LAYOUT_H
#ifdef IRIS_INIT_C

#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/link_bytes.h>

/* No number of sender_tiles is asked for. */
#define IRISI_GEMM_ANY_SENDER_TILES UINT32_MAX

/* A candidate: a way to cut a band, with a pattern, a number of senders, clusters and splits of K. */
typedef struct irisi_gemm_cutting {
    uint32_t pattern, senders, cluster, split_k;
    uint32_t sender_tiles;  /* tiles that each sender computes before it sends */
    uint32_t width, full_n; /* columns of a full tile, full tiles of a row */
    uint32_t head_halves;   /* full tiles (of a cluster) that are halved at the begin: sending begins sooner */
    uint32_t tail_tiles, tail_halves; /* full tiles that are cut at its end; those of them that are halved */
    uint32_t edge_width;    /* columns of an edge's parts */
    double us;              /* until the last tile has arrived, by simulation */
} irisi_gemm_cutting;

/* A candidate of which nothing is fixed. */
static irisi_gemm_cutting irisi_gemm_open_cut(void)
{
    irisi_gemm_cutting c;
    memset(&c, 0, sizeof c);
    c.sender_tiles = IRISI_GEMM_ANY_SENDER_TILES;
    return c;
}

/*
 * Appends a run to the schedule: so many full tiles or edges from number `first` on, each `columns` wide and cut into
 * parts of `width`. `used`: how many runs there are.
 */
static void irisi_gemm_add_run(iris_gemm_plan *p, uint32_t *used, uint32_t first, uint32_t tiles, uint32_t columns,
                               uint32_t width)
{
    if (tiles == 0)
        return;
    irisi_tile_run *run = &p->tiling.runs[(*used)++];
    run->first = first, run->width = width;
    run->parts = (columns + width - 1) / width;
    run->tiles = tiles * run->parts * p->tiling.cluster * p->tiling.split_k;
    p->tiling.positions += run->tiles;
}

/* 1 when clusters compute parts of full tiles together. */
static uint32_t irisi_gemm_pair_split_k(const iris_gemm_plan *p, const irisi_gemm_cutting *c)
{
    return c->cluster > 1 && c->split_k == 1 && irisi_gemm_can_pair_split_k(p);
}

/*
 * Lays out a candidate's schedule over a band of so many columns: first the halves of head_halves, then full tiles,
 * halves and quarters, and the parts of edges among them by width, widest first. Where there are several B all tiles
 * are full ones: of the last one of a matrix some parts could lie beyond its columns.
 */
static void irisi_gemm_lay(iris_gemm_plan *p, const irisi_gemm_cutting *c, uint32_t columns)
{
    const uint32_t rows = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m;
    p->tiling.cluster = c->cluster, p->tiling.split_k = c->split_k,
    p->tiling.tiles_m = (rows + c->cluster - 1) / c->cluster;
    for (p->tiling.split_k_shift = 0; 2u << p->tiling.split_k_shift <= c->split_k;)
        p->tiling.split_k_shift++;
    p->tiling.group_shift = c->cluster > 1 ? 2 : 3;
    p->tiling.tile_n = c->width, p->tiling.full_n = c->full_n < columns / c->width ? c->full_n : columns / c->width,
    p->tiling.positions = 0;
    if (p->several.n[0] > 0)
        p->tiling.full_n = columns / c->width;
    const uint32_t full = p->tiling.tiles_m * p->tiling.full_n, edge = columns - p->tiling.full_n * c->width;
    const uint32_t most = p->several.n[0] > 0 ? 0 : full; /* tiles that may be cut */
    const uint32_t tail_tiles = c->tail_tiles < most ? c->tail_tiles : most,
                   tail_halves = c->tail_halves < tail_tiles ? c->tail_halves : tail_tiles;
    const uint32_t head_halves = c->head_halves < most - tail_tiles ? c->head_halves : most - tail_tiles;
    const uint32_t counts[3] = {full - tail_tiles - head_halves, tail_halves, tail_tiles - tail_halves};
    uint32_t first = head_halves, used = 0, edges = edge ? p->tiling.tiles_m : 0;
    p->tiling.sender_tiles = c->sender_tiles, p->tiling.head_halves = c->head_halves,
    p->tiling.tail_tiles = c->tail_tiles, p->tiling.tail_halves = c->tail_halves, p->tiling.edge_width = c->edge_width,
    p->tiling.most_full_n = c->full_n;
    memset(p->tiling.runs, 0, sizeof p->tiling.runs);
    irisi_gemm_add_run(p, &used, 0, head_halves, c->width, c->width / 2);
    for (uint32_t i = 0; i < 3; first += counts[i++]) {
        if (c->edge_width > c->width >> i) {
            irisi_gemm_add_run(p, &used, full, edges, edge, c->edge_width);
            edges = 0;
        }
        irisi_gemm_add_run(p, &used, first, counts[i], c->width, c->width >> i);
    }
    irisi_gemm_add_run(p, &used, full, edges, edge, c->edge_width);
    for (uint32_t i = 0; i < used; i++)
        p->tiling.runs[i].pair_split_k =
            p->tiling.runs[i].parts > 1 && p->tiling.runs[i].first < full && irisi_gemm_pair_split_k(p, c);
}

/* Workgroups that compute, in whole clusters. */
static uint32_t irisi_gemm_workers(const iris_gemm_plan *p, const irisi_gemm_cutting *c)
{
    return p->machine.workgroups - p->machine.workgroups % c->cluster - c->senders;
}

/* 1 when a candidate's clusters and splits of K are possible: whole clusters compute and send; a split has a block. */
static int irisi_gemm_shares(const iris_gemm_plan *p, const irisi_gemm_cutting *c)
{
    const uint32_t rows = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m;
    const int even = p->machine.workgroups >= 32 || (p->machine.workgroups >= 4 && p->machine.workgroups % 2 == 0);
    if (c->cluster == 0 || c->cluster > irisi_gemm_most_cluster(p->mainloop) || c->split_k == 0 ||
        c->split_k > irisi_gemm_most_split_k(p->mainloop) || (c->split_k & (c->split_k - 1)) != 0)
        return 0;
    if (c->cluster > 1 && (rows == 1 || !even || c->senders % 2 != 0))
        return 0;
    if (c->split_k > 1 && p->operands.dtype == IRIS_I8 &&
        p->k / c->split_k > 130000) /* a sum could be INT32_MAX, which split_k.h takes for missing */
        return 0;
    return irisi_gemm_workers(p, c) >= c->cluster &&
           (c->split_k == 1 || (uint64_t)p->k * p->operands.element >= 128u * c->split_k);
}

/*
 * 1 when a candidate's schedule over a band of so many columns has each full tile and edge once, and all its parts
 * start at whole units. Kernels rely on that, and a candidate may come from a tuning row. The plan has its mainloop and
 * unit.
 */
static int irisi_gemm_covers(const iris_gemm_plan *plan, const irisi_gemm_cutting *c, uint32_t columns)
{
    iris_gemm_plan p = *plan;
    uint64_t full = 0, edges = 0;
    if (c->width < p.tiling.unit || c->width % p.tiling.unit != 0 || c->tail_halves > c->tail_tiles ||
        c->edge_width < p.tiling.unit || c->edge_width > c->width || c->edge_width % p.tiling.unit != 0 ||
        c->cluster == 0 || c->split_k == 0 || c->cluster > 8)
        return 0;
    irisi_gemm_lay(&p, c, columns);
    for (uint32_t r = 0; r < IRISI_GEMM_RUNS; r++) {
        const irisi_tile_run *run = &p.tiling.runs[r];
        if (run->tiles > 0 && run->width % p.tiling.unit != 0)
            return 0;
        if (run->tiles > 0)
            *(run->first < p.tiling.tiles_m * p.tiling.full_n ? &full : &edges) +=
                run->tiles / run->parts / c->cluster / c->split_k;
    }
    return full == (uint64_t)p.tiling.tiles_m * p.tiling.full_n &&
           edges == (p.tiling.full_n * c->width < columns ? p.tiling.tiles_m : 0);
}

/* The time of a candidate, by simulation; irisi_gemm_lay has put it into the plan. `busy`: room for each workgroup. */
static double irisi_gemm_simulate(const iris_gemm_plan *p, const irisi_gemm_cutting *c, uint32_t columns, double *busy)
{
    const int gathers = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS); /* senders send A, nobody sends tiles */
    const int flagged = c->senders > 0 && irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES);
    const uint32_t workers = irisi_gemm_workers(p, c), full = p->tiling.tiles_m * p->tiling.full_n,
                   by_senders = c->sender_tiles * c->senders;
    const uint32_t own = c->pattern == IRIS_GEMM_PRODUCER_CONSUMER ? 0 : workers; /* no sender sends these last tiles */
    const uint32_t direct = !flagged ? 0 : p->tiling.positions > own ? p->tiling.positions - own : 0;
    const uint32_t k = (uint32_t)((uint64_t)p->k * p->operands.element / 2); /* as if of 16-bit elements */
    double end = 0, link = 0, owed = 0;
    uint32_t position = 0, worker = by_senders ? workers : 0; /* senders have the numbers behind the others */
    memset(busy, 0, (workers + c->senders) * sizeof *busy);
    for (uint32_t r = 0; r < IRISI_GEMM_RUNS; r++) {
        const irisi_tile_run *run = &p->tiling.runs[r];
        const uint32_t wide = run->first >= full ? columns - p->tiling.full_n * p->tiling.tile_n : p->tiling.tile_n;
        for (uint32_t i = 0; i < run->tiles; i++, position++) {
            const uint32_t left = wide - i / p->tiling.cluster / p->tiling.split_k % run->parts * run->width;
            const uint32_t cols = left < run->width ? left : run->width;
            const int sends = c->pattern != IRIS_GEMM_BULK_SYNCHRONOUS && !gathers &&
                              i / p->tiling.cluster % p->tiling.split_k == p->tiling.split_k - 1;
            const double bytes = sends ? irisi_gemm_link_bytes(p, p->tiling.tile_m, cols) : 0;
            const uint32_t senders = position < direct ? c->senders : p->machine.workgroups;
            const uint32_t engine = position < direct ? irisi_gemm_tma_forwards(p) : p->machine.tma_store;
            const double gbps = irisi_gemm_link_gbps(senders, (int)engine, p->world - 1);
            const double way = 1e-3 * bytes / gbps;
            busy[worker] += run->pair_split_k ? irisi_gemm_pair_split_k_us(p->mainloop, p->m, cols, k, flagged)
                                              : irisi_gemm_tile_us(p->mainloop, p->tiling.cluster, p->tiling.split_k,
                                                                   p->m, cols, k, flagged);
            end = end > busy[worker] ? end : busy[worker];
            owed += position < by_senders ? way : 0; /* a sender that computes cannot send yet */
            link = position < by_senders ? end + owed : (link > busy[worker] ? link : busy[worker]) + way;
            if (!flagged) /* a workgroup that sends its own tile waits until the links have taken it */
                busy[worker] += way * (workers < p->tiling.positions ? workers : p->tiling.positions);
            if (++worker == (position < by_senders ? workers + c->senders : workers) || position + 1 == by_senders)
                worker = position + 1 < by_senders ? workers : 0;
        }
    }
    /* At least until A and B have been read once and the last tile has left; for few rows this bound counts. */
    const double bytes = ((double)p->m + columns) * p->k * p->operands.element;
    const double least =
        irisi_gemm_memory_us(bytes) + irisi_gemm_tile_us(p->mainloop, p->tiling.cluster, p->tiling.split_k, p->m,
                                                         p->tiling.tile_n, 0, flagged);
    const double all = (link > end ? link : end) + (direct > 0 && flagged ? irisi_gemm_senders_us() : 0);
    return all > least ? all : least;
}

/* Which tile of a schedule that has tiles each rank begins with. */
static inline void irisi_gemm_rotate(iris_gemm_plan *p)
{
    irisi_gemm_tiling *t = &p->tiling;
    t->rotate_m = (uint32_t)((uint64_t)t->tiles_m * p->rank / p->world);
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS)) /* from the rows that this rank has */
        t->rotate_m = iris_gemm_shard(p->m, p->world, p->rank).first / (t->tile_m * t->cluster) % t->tiles_m;
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K)) /* from behind the rows that this rank owns: those come last */
        t->rotate_m =
            iris_gemm_shard(p->m, p->world, (p->rank + 1) % p->world).first / (t->tile_m * t->cluster) % t->tiles_m;
    t->rotate = t->rotate_m * t->full_n;
}

#endif
#endif
