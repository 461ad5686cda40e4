/* SPDX-License-Identifier: MIT */
/*
 * cost_rounds.h: a part of init.c: about how long a pattern takes where all tiles have one width.
 *
 *   irisi_gemm_may_choose irisi_gemm_splits irisi_gemm_tiles irisi_gemm_burst_us irisi_gemm_whole_us
 *
 * Workgroups compute in rounds, a tile each, and a round's tiles are all ready at one time. So the time depends on the
 * number of rounds, on whether the next round is computed while a round's tiles are sent, and on what is sent after the
 * last one. The times of a tile, a link and a signal are the platform's (mainloop/shape.h).
 */
#ifndef IRIS_RUNTIME_GEMM_COST_ROUNDS_H
#define IRIS_RUNTIME_GEMM_COST_ROUNDS_H
#ifdef IRIS_INIT_C

#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/link_bytes.h>

/*
 * 1 for patterns that split the workgroups into some that compute and some that send; of copy_engine the latter are
 * room that is left free (irisi_gemm_copy_room).
 */
static int irisi_gemm_splits(uint32_t pattern)
{
    return pattern == IRIS_GEMM_WG_SPECIALIZED || pattern == IRIS_GEMM_PRODUCER_CONSUMER ||
           pattern == IRIS_GEMM_COPY_ENGINE;
}

/* 1 when AUTO may choose a pattern for a mainloop: its row in gen/gemm.py says so. */
static int irisi_gemm_may_choose(uint32_t mainloop, uint32_t pattern)
{
    switch (pattern) {
    case IRIS_GEMM_PRODUCER_CONSUMER: return irisi_gemm_loop_is(mainloop, IRISI_GEMM_LOOPS_CHOOSE_PRODUCER_CONSUMER);
    case IRIS_GEMM_FUSED_SEQUENTIAL: return irisi_gemm_loop_is(mainloop, IRISI_GEMM_LOOPS_CHOOSE_FUSED_SEQUENTIAL);
    case IRIS_GEMM_WG_SPECIALIZED: return irisi_gemm_loop_is(mainloop, IRISI_GEMM_LOOPS_CHOOSE_WG_SPECIALIZED);
    case IRIS_GEMM_WAVE_SPECIALIZED: return irisi_gemm_loop_is(mainloop, IRISI_GEMM_LOOPS_CHOOSE_WAVE_SPECIALIZED);
    case IRIS_GEMM_COPY_ENGINE: return irisi_gemm_loop_is(mainloop, IRISI_GEMM_LOOPS_CHOOSE_COPY_ENGINE);
    default: return 1;
    }
}

/* Tiles of the widest band, uncut. */
static uint64_t irisi_gemm_tiles(const iris_gemm_plan *p)
{
    const uint64_t columns = irisi_gemm_columns_of(p, 0);
    return ((uint64_t)p->m + p->tiling.tile_m - 1) / p->tiling.tile_m *
           ((columns + p->tiling.tile_n - 1) / p->tiling.tile_n);
}

/* How long so many workgroups take to send so many tiles, ready at one time, to all peers. */
static double irisi_gemm_burst_us(const iris_gemm_plan *p, const irisi_gemm_rates *r, uint64_t tiles,
                                  uint32_t workgroups)
{
    const uint32_t columns = irisi_gemm_columns_of(p, 0);
    const double peers = p->world - 1.0, wide = columns < p->tiling.tile_n ? columns : p->tiling.tile_n;
    if (!irisi_gemm_has_peers(p))
        return 0;
    const double rows = p->m < p->tiling.tile_m ? p->m : p->tiling.tile_m;
    const double bytes = irisi_gemm_link_bytes(p, rows, wide) / peers; /* of one tile, to one peer */
    const double gbps = r->link_gbps < r->links_gbps / peers ? r->link_gbps : r->links_gbps / peers;
    const double each = 1e-3 * bytes * peers / r->sender_gbps + r->signal_us;
    const double own = each * (double)((tiles + workgroups - 1) / workgroups);
    const double links = 1e-3 * bytes * (double)tiles / gbps + r->signal_us;
    return own > links ? own : links;
}

/*
 * The model. Workgroups that compute and send in turn wait until the links have taken a round's tiles. Workgroups that
 * only send do so while the others, which are fewer, compute the next round; communication waves do so while the math
 * waves, which are slower beside them, compute it. `senders` counts only where the pattern splits workgroups. No
 * pattern ends before A and B have been read once.
 */
static double irisi_gemm_whole_us(const iris_gemm_plan *p, const irisi_gemm_rates *r, uint32_t pattern,
                                  uint32_t senders)
{
    const int splits = irisi_gemm_splits(pattern);
    const uint32_t workers = splits ? p->machine.workgroups - senders : p->machine.workgroups;
    const uint32_t sending = splits ? senders : p->machine.workgroups;
    const uint64_t tiles = irisi_gemm_tiles(p), before = (tiles - 1) / workers; /* rounds before the last one */
    const double tile = pattern == IRIS_GEMM_WAVE_SPECIALIZED ? r->beside_us : r->tile_us;
    const double bytes = ((double)p->m + irisi_gemm_columns_of(p, 0)) * p->k * p->operands.element;
    const double least = 1e-3 * bytes / r->memory_gbps, computed = tile * (double)(before + 1);
    const double products = computed > least ? computed : least, first = products / (double)(before + 1);
    const double full = before > 0 ? (double)before * irisi_gemm_burst_us(p, r, workers, sending) : 0;
    const double rest = irisi_gemm_burst_us(p, r, tiles - before * workers, sending);
    const double more = (splits ? r->signal_us : 0) + /* flags */
                        (pattern == IRIS_GEMM_PRODUCER_CONSUMER ? r->launch_us : 0);
    if (pattern == IRIS_GEMM_BULK_SYNCHRONOUS)
        return products + r->launch_us + irisi_gemm_burst_us(p, r, tiles, sending);
    if (pattern == IRIS_GEMM_FUSED_SEQUENTIAL)
        return products + full + rest;
    return (products > first + full ? products : first + full) + rest + more; /* the slower of computing and sending */
}

#endif
#endif
