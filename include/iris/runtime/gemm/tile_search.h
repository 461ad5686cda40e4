/* SPDX-License-Identifier: MIT */
/*
 * tile_search.h: a part of init.c: chooses the widths of a band's tiles, the pattern, and the number of senders.
 *
 *   irisi_gemm_cut irisi_gemm_cut_again irisi_gemm_rank_all irisi_gemm_sixth irisi_gemm_copy_room
 *
 * Full tiles use the matrix units best. But all workgroups end their last tiles together, so that no computation hides
 * the sending of these; and if the workgroups do not divide the number of tiles, some are idle at the end. So the last
 * tiles are cut into halves and quarters. A simulation decides how many of each: workgroups compute the schedule's
 * tiles in turn, and senders, or the workgroups themselves, send them in that order. The times of tiles and links are
 * the platform's (mainloop/shape.h). Where all tiles have one width, a shorter model (cost_rounds.h) compares patterns
 * and numbers of senders.
 */
#ifndef IRIS_RUNTIME_GEMM_TILE_SEARCH_H
#define IRIS_RUNTIME_GEMM_TILE_SEARCH_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/tile_layout.h>
#include <iris/runtime/gemm/cost_rounds.h>
#include <iris/runtime/gemm/operations.h>

/*
 * How many workgroups send when neither arguments nor a tuning row say it: one in six, about as many as saturate the
 * links of current devices. Each chiplet has equally many, so that it also has equally many that compute.
 */
static uint32_t irisi_gemm_sixth(const iris_gemm_plan *p)
{
    const uint32_t sixth = (p->machine.workgroups + 5) / 6;
    return sixth < p->machine.xcds ? sixth : sixth / p->machine.xcds * p->machine.xcds;
}

/*
 * The same for workgroups that gather A, and for those that add up sums. Where a copy engine gathers for them
 * (tma_gather.h), 12 saturate the links (docs/notes/mainloops.md). Eight do where that hides behind the product: the
 * rows that come last are still to be multiplied.
 */
static inline uint32_t irisi_gemm_gatherers(const iris_gemm_plan *p)
{
    const uint32_t few = 8, many = 12, each_gbps = 30, tile_n = p->tiling.tile_n;
    if (!p->machine.tma_store || p->machine.workgroups < 32)
        return irisi_gemm_sixth(p);
    if (!irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) || irisi_gemm_narrowest(p->mainloop) == 0)
        return few;
    const uint64_t workers = p->machine.workgroups - few, rounds = (irisi_gemm_tiles(p) + workers - 1) / workers;
    const double bytes = (double)p->k * p->operands.element, sent = bytes * p->m * (p->world - 1) / p->world;
    const uint32_t k = (uint32_t)(bytes / 2); /* in 16-bit elements, as times of tiles are */
    const double product = (double)rounds * irisi_gemm_tile_us(p->mainloop, 1, 1, p->m, tile_n, k, 0);
    return 1e-3 * sent / (each_gbps * few) > 0.75 * product ? many : few;
}

/*
 * How many workgroups fewer compute by copy_engine. The kernels of one wave between the copies need room beside those
 * that wait for them, and so do copies that a driver makes by kernels of its own. Whole clusters compute, and on each
 * chiplet equally many workgroups.
 */
static inline uint32_t irisi_gemm_copy_room(const iris_gemm_plan *p)
{
    const uint32_t cluster = irisi_gemm_most_cluster(p->mainloop);
    const uint32_t room = p->machine.xcds > cluster ? p->machine.xcds : cluster;
    return 4 * room <= p->machine.workgroups ? room : 1;
}

/* The best candidates so far, fastest first; of those that differ only in how the last tiles are cut, a few. */
typedef struct irisi_gemm_ranking {
    irisi_gemm_cutting *rows;
    uint32_t n, most;
} irisi_gemm_ranking;
enum { IRISI_GEMM_ALIKE = 3 };

/* Inserts a candidate by its time, if it is good enough; behind those that are equally fast. */
static void irisi_gemm_rank(irisi_gemm_ranking *r, const irisi_gemm_cutting *c)
{
    uint32_t at = r->n, alike = 0, last = 0;
    while (at > 0 && c->us < r->rows[at - 1].us)
        at--;
    if (at == r->most)
        return;
    r->n += r->n < r->most;
    memmove(r->rows + at + 1, r->rows + at, (r->n - 1 - at) * sizeof *c);
    r->rows[at] = *c;
    for (uint32_t i = 0; i < r->n; i++)
        if (r->rows[i].senders == c->senders && r->rows[i].width == c->width && r->rows[i].cluster == c->cluster &&
            r->rows[i].split_k == c->split_k)
            alike++, last = i;
    if (alike > IRISI_GEMM_ALIKE) {
        r->n--;
        memmove(r->rows + last, r->rows + last + 1, (r->n - last) * sizeof *c);
    }
}

/* Simulates a candidate, if it is possible, and ranks it. */
static void irisi_gemm_try(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, double *busy,
                           irisi_gemm_ranking *best)
{
    irisi_gemm_lay(p, c, columns);
    const uint32_t workers = irisi_gemm_workers(p, c);
    if (c->split_k > 1 && p->tiling.positions > workers)
        return; /* the workgroup that adds up splits must not come before those that compute them */
    if (c->sender_tiles > 0 && (c->pattern != IRIS_GEMM_WG_SPECIALIZED || c->split_k > 1 ||
                                irisi_gemm_by_senders(p, workers + c->senders, c->senders) == 0))
        return;
    c->us = irisi_gemm_simulate(p, c, columns, busy);
    irisi_gemm_rank(best, c);
}

/*
 * Tries the candidate with no full tile cut, and with all cuts of the last ones: some in halves, the rest in quarters.
 */
static void irisi_gemm_try_tail(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, double *busy,
                                irisi_gemm_ranking *best)
{
    const uint32_t workers = irisi_gemm_workers(p, c) / c->cluster, step = (workers + 1) / 2;
    const uint32_t full = ((p->m + p->tiling.tile_m - 1) / p->tiling.tile_m + c->cluster - 1) / c->cluster * c->full_n;
    const uint32_t by_senders = c->sender_tiles * c->senders / c->cluster;
    const uint32_t rest = full > by_senders ? full - by_senders : 0;
    const int halves = c->width / 2 % p->tiling.unit == 0, quarters = c->width / 4 % p->tiling.unit == 0;
    c->tail_tiles = c->tail_halves = 0;
    irisi_gemm_try(p, c, columns, busy, best);
    if (p->several.n[0] > 0 || full > 1u << 13 || !halves || c->split_k > 1)
        return; /* of so many tiles the last ones make no difference, and those of several B are not cut */
    for (uint32_t i = 0; i < 3; i++) {
        c->tail_tiles = rest % workers + i * workers;
        if (c->tail_tiles > full || c->tail_tiles == 0)
            continue;
        for (c->tail_halves = quarters ? 0 : c->tail_tiles;;
             c->tail_halves = c->tail_tiles - c->tail_halves > step ? c->tail_halves + step : c->tail_tiles) {
            irisi_gemm_try(p, c, columns, busy, best);
            if (c->tail_halves == c->tail_tiles)
                break;
        }
    }
}

/*
 * Where each cluster has one full tile: tries some in halves, equally many at the begin and at the end of the schedule,
 * so that the same clusters compute one of each. Their first halves are sent while the other tiles are computed.
 */
static void irisi_gemm_try_one_round(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, double *busy,
                                     irisi_gemm_ranking *best)
{
    const uint32_t pairs = ((p->m + p->tiling.tile_m - 1) / p->tiling.tile_m + c->cluster - 1) / c->cluster * c->full_n;
    const uint32_t workers = irisi_gemm_workers(p, c) / c->cluster;
    if (!irisi_gemm_pair_split_k(p, c) || c->width / 2 % p->tiling.unit != 0 || pairs > workers || pairs <= workers / 2)
        return;
    for (uint32_t i = 4; i <= 6; i++) {
        c->head_halves = c->tail_tiles = c->tail_halves = pairs * i / 16;
        irisi_gemm_try(p, c, columns, busy, best);
    }
    c->head_halves = c->tail_tiles = c->tail_halves = 0;
}

/* Tries halves at the begin too, for a quarter of the workgroups: nothing is sent until the first tile is finished. */
static void irisi_gemm_try_head(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, double *busy,
                                irisi_gemm_ranking *best)
{
    const uint32_t full = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m * c->full_n;
    const uint32_t quarter = irisi_gemm_workers(p, c) / c->cluster / 4;
    c->head_halves = 0;
    irisi_gemm_try_tail(p, c, columns, busy, best);
    irisi_gemm_try_one_round(p, c, columns, busy, best);
    if (c->pattern != IRIS_GEMM_WG_SPECIALIZED || c->split_k > 1 || c->width / 2 % p->tiling.unit != 0 ||
        quarter == 0 || full < p->machine.workgroups || full > 1u << 10)
        return;
    c->head_halves = quarter;
    irisi_gemm_try_tail(p, c, columns, busy, best);
    c->head_halves = 0;
}

/*
 * Tries several numbers of tiles that senders compute before they send, up to half of the rounds of full tiles, if none
 * is asked for. Few numbers: each costs a simulation.
 */
static void irisi_gemm_try_sender_tiles(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, double *busy,
                                        irisi_gemm_ranking *best)
{
    const uint32_t full = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m * c->full_n,
                   half = full / p->machine.workgroups / 2;
    const int never = c->pattern != IRIS_GEMM_WG_SPECIALIZED || c->split_k > 1 || full > 1u << 13 ||
                      irisi_gemm_one_pattern(p->op);
    const uint32_t most = never ? 0 : half > 0 ? half : 1, asked = c->sender_tiles;
    for (c->sender_tiles = 0; c->sender_tiles <= most && asked == IRISI_GEMM_ANY_SENDER_TILES;
         c->sender_tiles = c->sender_tiles > 0 ? 4 * c->sender_tiles : 1)
        irisi_gemm_try_head(p, c, columns, busy, best);
    c->sender_tiles = asked;
    if (asked != IRISI_GEMM_ANY_SENDER_TILES)
        irisi_gemm_try_head(p, c, columns, busy, best);
}

/*
 * Tries all widths of full tiles, with up to three fewer than fit, and for the columns beside them all widths of parts.
 */
static void irisi_gemm_try_widths(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, uint32_t widest,
                                  double *busy, irisi_gemm_ranking *best)
{
    const int several = p->several.n[0] > 0;
    for (c->width = widest; c->width >= p->tiling.unit; c->width -= p->tiling.unit) {
        columns = several ? irisi_gemm_laid(p, 0, c->width) : columns;
        for (uint32_t less = 0; less <= 3 && less <= columns / c->width; less++) {
            c->full_n = columns / c->width - less;
            c->edge_width = less ? c->width - p->tiling.unit : c->width;
            for (; c->edge_width >= p->tiling.unit; c->edge_width -= p->tiling.unit) {
                irisi_gemm_try_sender_tiles(p, c, columns, busy, best);
                if (c->full_n * c->width == columns || c->split_k > 1)
                    break;
            }
            if (several || c->split_k > 1 || (uint64_t)p->m * columns > (uint64_t)1 << 28)
                break;
        }
    }
}

/* Where there are several B: where each begins in the schedule, whose full tiles have the plan's width. */
static inline void irisi_gemm_lay_several(iris_gemm_plan *p)
{
    const uint32_t width = p->tiling.tile_n;
    uint32_t end = (p->several.columns + width - 1) / width * width;
    if (p->several.n[0] == 0)
        return;
    for (uint32_t i = 0; i < p->several.count; i++) {
        p->several.more[i].first = end;
        end += (p->several.more[i].columns + width - 1) / width * width;
    }
    p->region.columns = end;
}

/* Lays a band out as one run of tiles of one width; the last tile of each row may be narrower. */
static void irisi_gemm_uncut(iris_gemm_plan *p)
{
    memset(p->tiling.runs, 0, sizeof p->tiling.runs); /* candidates that were tried left some */
    p->tiling.cluster = p->tiling.split_k = 1, p->tiling.split_k_shift = 0, p->tiling.group_shift = 3;
    p->tiling.tiles_m = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m;
    p->tiling.full_n = (p->region.columns + p->tiling.tile_n - 1) / p->tiling.tile_n;
    p->tiling.positions = p->tiling.tiles_m * p->tiling.full_n;
    p->tiling.runs[0].tiles = p->tiling.positions, p->tiling.runs[0].parts = 1,
    p->tiling.runs[0].width = p->tiling.tile_n;
}

/* Tries all candidates of a pattern and a number of senders. */
static void irisi_gemm_try_all(iris_gemm_plan *p, irisi_gemm_cutting *c, uint32_t columns, uint32_t widest,
                               double *busy, irisi_gemm_ranking *best)
{
    const uint32_t rows = (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m;
    for (c->cluster = irisi_gemm_most_cluster(p->mainloop); c->cluster >= 1; c->cluster--) {
        uint32_t tried = 0;
        for (c->split_k = 1; c->split_k <= irisi_gemm_most_split_k(p->mainloop); c->split_k *= 2)
            if (irisi_gemm_shares(p, c))
                irisi_gemm_try_widths(p, c, columns, widest, busy, best), tried++;
        if (c->cluster > 1 && tried > 0 && rows % 2 == 0)
            break; /* every row of tiles has a partner: clusters cost nothing */
    }
}

/*
 * Ranks the plan's pattern, or all if it is open, by the model of cost_rounds.h, with several numbers of senders:
 * equally many on each chiplet, so that it also has equally many workgroups that compute. `senders`: what this rank was
 * asked for. Other ranks may have been asked for other numbers, and would then choose other patterns, so it counts only
 * if the pattern is given.
 */
static void irisi_gemm_rank_whole(const iris_gemm_plan *p, uint32_t senders, irisi_gemm_ranking *best)
{
    static const uint32_t patterns[] = {IRIS_GEMM_FUSED_SEQUENTIAL, IRIS_GEMM_WG_SPECIALIZED,
                                        IRIS_GEMM_WAVE_SPECIALIZED, IRIS_GEMM_BULK_SYNCHRONOUS,
                                        IRIS_GEMM_PRODUCER_CONSUMER}; /* of equally fast ones the first is taken */
    const irisi_gemm_rates rates = irisi_gemm_rates_of(p);
    const uint32_t step = p->machine.xcds > 1 ? p->machine.xcds : 4;
    irisi_gemm_cutting c = irisi_gemm_open_cut();
    c.width = p->tiling.tile_n, c.cluster = c.split_k = 1, c.sender_tiles = 0;
    for (size_t i = 0; rates.tile_us > 0 && i < sizeof patterns / sizeof patterns[0]; i++) {
        const int asked = senders > 0 && p->pattern != IRIS_GEMM_AUTO, few = p->machine.workgroups / 4 < step;
        uint32_t most = 0;
        c.pattern = patterns[i], c.senders = 0;
        if (p->pattern != IRIS_GEMM_AUTO && p->pattern != c.pattern)
            continue;
        if (p->pattern == IRIS_GEMM_AUTO && p->exchange.ll_pitch > 0 && c.pattern != IRIS_GEMM_FUSED_SEQUENTIAL)
            continue; /* only fused_sequential sends packets */
        if (p->pattern == IRIS_GEMM_AUTO && !irisi_gemm_may_choose(p->mainloop, c.pattern))
            continue;
        if (irisi_gemm_splits(c.pattern)) {
            c.senders = asked ? senders : few ? irisi_gemm_sixth(p) : step;
            most = asked || few ? c.senders : p->machine.workgroups / 4;
        }
        for (; c.senders <= most && c.senders < p->machine.workgroups; c.senders += step) {
            c.us = irisi_gemm_whole_us(p, &rates, c.pattern, c.senders);
            irisi_gemm_rank(best, &c);
        }
    }
}

/* About how long a BLAS of so many TFLOP/s takes for a band of so many columns, and the sending after it. */
static double irisi_gemm_blas_us(const iris_gemm_plan *p, uint32_t columns, double tflops)
{
    const irisi_gemm_rates rates = irisi_gemm_rates_of(p);
    const double area = (double)p->m * columns, launch = 6; /* of the kernel that sends */
    const double bytes = irisi_gemm_link_bytes(p, p->m, columns);
    const double us = 2e-6 * area * p->k / tflops;
    const double gbps = irisi_gemm_link_gbps(p->machine.workgroups, (int)p->machine.tma_store, p->world - 1);
    if (!irisi_gemm_has_peers(p))
        return us;
    if (irisi_gemm_narrowest(p->mainloop) == 0)
        return us + rates.launch_us + irisi_gemm_burst_us(p, &rates, irisi_gemm_tiles(p), p->machine.workgroups);
    return us + launch + 1e-3 * bytes / gbps;
}

/*
 * Ranks the candidates for the widest band, so that all ranks choose alike: those of the plan's pattern, or if it is
 * open, of fused_sequential and wg_specialized. `senders`: the number that is asked for, or 0. `fixed`: the only cut to
 * try; all if its width is 0.
 */
static void irisi_gemm_rank_all(iris_gemm_plan *p, uint32_t senders, uint32_t widest, const irisi_gemm_cutting *fixed,
                                irisi_gemm_ranking *best)
{
    const uint32_t columns = irisi_gemm_columns_of(p, 0);
    double *busy = (double *)malloc(p->machine.workgroups * sizeof *busy); /* no memory: as if there were no times */
    const int known = busy != NULL && irisi_gemm_narrowest(p->mainloop) != 0;
    irisi_gemm_cutting c = *fixed;
    const uint32_t step = irisi_gemm_tma_forwards(p) ? 2 : 4, most = irisi_gemm_tma_forwards(p) ? 12 : 20;
    for (uint32_t n = 0; known && n <= most && (n <= step || n < p->machine.workgroups);
         n += step) {
        c.pattern = p->pattern != IRIS_GEMM_AUTO ? p->pattern
                    : n == 0                     ? (uint32_t)IRIS_GEMM_FUSED_SEQUENTIAL
                                                 : (uint32_t)IRIS_GEMM_WG_SPECIALIZED;
        const int fixed_senders = senders || c.pattern == IRIS_GEMM_PRODUCER_CONSUMER || irisi_gemm_one_pattern(p->op);
        c.senders = n > 0 && fixed_senders ? p->machine.comm_workgroups : n;
        if (irisi_gemm_splits(c.pattern) == (n == 0) || c.senders >= p->machine.workgroups)
            continue;
        if (p->pattern == IRIS_GEMM_AUTO && !irisi_gemm_may_choose(p->mainloop, c.pattern))
            continue;
        if (n > 0 && p->pattern == IRIS_GEMM_AUTO &&
            (p->world == 1 || !irisi_gemm_tma_forwards(p) || p->exchange.ll_pitch > 0))
            continue; /* nothing to send, or only lanes could send, which is slower, or packets are sent */
        if (fixed->width == 0)
            irisi_gemm_try_all(p, &c, columns, widest, busy, best);
        else if (irisi_gemm_shares(p, &c))
            irisi_gemm_try(p, &c, irisi_gemm_laid(p, 0, c.width), busy, best);
        if (n > 0 && c.senders != n)
            break; /* the number of senders does not depend on n */
    }
    free(busy);
}

/*
 * Cuts this rank's band of a plan that has everything else, and chooses the pattern and the number of senders if they
 * are open. `senders`, `fixed`: as for irisi_gemm_rank_all; `blas_tflops`: of a BLAS that may be chosen instead, or 0.
 * Returns 1, or 0 when the plan's workgroups cannot compute the fixed cut: the band is not cut then.
 */
static int irisi_gemm_cut(iris_gemm_plan *p, uint32_t senders, const irisi_gemm_cutting *fixed, double blas_tflops)
{
    const uint32_t columns = irisi_gemm_columns_of(p, 0), widest = p->tiling.tile_n;
    irisi_gemm_cutting best;
    irisi_gemm_ranking first;
    memset(&best, 0, sizeof best);
    first.rows = &best, first.n = 0, first.most = 1;
    if (p->pattern != IRIS_GEMM_BLAS_GATHER && irisi_gemm_narrowest(p->mainloop) == 0)
        irisi_gemm_rank_whole(p, senders, &first);
    else if (p->pattern != IRIS_GEMM_BLAS_GATHER)
        irisi_gemm_rank_all(p, senders, widest, fixed, &first);
    const int open = p->pattern == IRIS_GEMM_AUTO || p->op == IRIS_GEMM_LOCAL || irisi_gemm_one_pattern(p->op);
    if (open && first.n && blas_tflops > 0 &&
        irisi_gemm_blas_us(p, columns, blas_tflops) < best.us)
        p->pattern = IRIS_GEMM_BLAS_GATHER, first.n = 0;
    p->tiling.sender_tiles = p->tiling.head_halves = p->tiling.tail_tiles = p->tiling.tail_halves =
        p->tiling.edge_width = p->tiling.most_full_n = 0;
    if (first.n > 0 && irisi_gemm_narrowest(p->mainloop) == 0) {
        p->pattern = best.pattern;
        p->machine.comm_workgroups = best.senders > 0 && senders == 0 ? best.senders : p->machine.comm_workgroups;
        first.n = 0;
    }
    if (first.n == 0) { /* tiles are not cut, there are no times, or no candidate is possible */
        p->tiling.tile_n = widest;
        irisi_gemm_lay_several(p);
        irisi_gemm_uncut(p);
        return fixed->width == 0 || p->pattern == IRIS_GEMM_BLAS_GATHER || irisi_gemm_narrowest(p->mainloop) == 0;
    }
    p->pattern = best.pattern;
    p->machine.comm_workgroups = best.senders ? best.senders : p->machine.comm_workgroups;
    p->tiling.tile_n = best.width;
    irisi_gemm_lay_several(p);
    irisi_gemm_lay(p, &best, p->region.columns);
    p->pairs_split_k = irisi_gemm_pair_split_k(p, &best); /* p->k is the shortest of all ranks here, and here alone */
    p->machine.comm_workgroups += p->machine.comm_workgroups % p->tiling.cluster;
    return 1;
}

/* Cuts the region into tiles again, in the way that was chosen for the plan. */
static inline void irisi_gemm_cut_again(iris_gemm_plan *p)
{
    const irisi_gemm_tiling before = p->tiling;
    irisi_gemm_cutting c = irisi_gemm_open_cut();
    if (before.edge_width == 0) { /* all tiles have one width */
        irisi_gemm_uncut(p);
        return;
    }
    c.pattern = p->pattern, c.senders = p->machine.comm_workgroups, c.cluster = before.cluster;
    c.split_k = before.split_k, c.sender_tiles = before.sender_tiles, c.width = before.tile_n;
    c.full_n = before.most_full_n, c.head_halves = before.head_halves, c.tail_tiles = before.tail_tiles;
    c.tail_halves = before.tail_halves, c.edge_width = before.edge_width;
    irisi_gemm_lay(p, &c, p->region.columns);
    for (uint32_t i = 0; i < IRISI_GEMM_RUNS; i++)
        p->tiling.runs[i].pair_split_k &= p->pairs_split_k;
}

#endif
#endif
