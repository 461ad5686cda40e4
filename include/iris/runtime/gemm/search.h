/* SPDX-License-Identifier: MIT */
/*
 * search.h: a part of init.c: what was chosen for a plan, and which other candidates are worth measuring.
 */
#ifndef IRIS_RUNTIME_GEMM_SEARCH_H
#define IRIS_RUNTIME_GEMM_SEARCH_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/make.h>

iris_status iris_gemm_choice(iris_world *w, const iris_gemm_plan *plan, iris_gemm_row *row)
{
    if (w == NULL || plan == NULL || row == NULL || !irisi_gemm_whole(w, plan))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_choice: a null pointer, or the plan is not from iris_gemm_prepare or released");
    iris_gemm_plan p = *plan;
    p.m = p.most_m; /* what was chosen was chosen for these */
    irisi_gemm_print(w, &p, 1, row->text, sizeof row->text);
    return IRIS_OK;
}

/* Where there are no times: the plan's own tiles, with a few numbers of senders if the pattern has senders. */
static void irisi_gemm_rank_senders(const iris_gemm_plan *p, irisi_gemm_ranking *best)
{
    irisi_gemm_cutting c;
    memset(&c, 0, sizeof c);
    c.width = p->tiling.tile_n, c.senders = p->machine.comm_workgroups;
    if (p->pattern == IRIS_GEMM_COPY_ENGINE) { /* nobody sends: more room is of no use */
        irisi_gemm_rank(best, &c);
        return;
    }
    for (uint32_t part = 12; part > 1; part /= 2, c.us++) {
        c.senders = irisi_gemm_splits(p->pattern) ? (p->machine.workgroups + part - 1) / part : 0;
        if (c.us == 0 || (c.senders > best->rows[best->n - 1].senders && c.senders < p->machine.workgroups))
            irisi_gemm_rank(best, &c);
    }
}

uint32_t iris_gemm_candidates(iris_world *w, const iris_gemm_plan *plan, iris_gemm_pattern pattern, iris_gemm_row *rows,
                              uint32_t most)
{
    const int local = plan != NULL && plan->op == IRIS_GEMM_LOCAL;
    if (w == NULL || plan == NULL || rows == NULL || plan->launcher.magic != irisi_gemm_magic || most == 0 ||
        (pattern >= IRIS_GEMM_PATTERNS && pattern != IRIS_GEMM_COPY_ENGINE) || local != (pattern == IRIS_GEMM_AUTO) ||
        !irisi_gemm_has_pattern(plan->op, pattern))
        return 0;
    pattern = local ? IRIS_GEMM_BULK_SYNCHRONOUS : pattern;
    const irisi_gemm_cutting any = irisi_gemm_open_cut();
    irisi_gemm_ranking best;
    iris_gemm_plan p = *plan;
    best.n = 0, best.most = most;
    best.rows = (irisi_gemm_cutting *)malloc(most * sizeof *best.rows);
    if (best.rows == NULL ||
        (irisi_gemm_splits(pattern) && (p.machine.workgroups < 2 || p.world < 2))) /* no peer to send to */
        best.most = 0;
    p.pattern = pattern, p.m = p.region.rows = p.most_m;
    const uint32_t comm = pattern == IRIS_GEMM_COPY_ENGINE ? irisi_gemm_copy_room(&p) : p.machine.comm_workgroups;
    p.machine.comm_workgroups = comm;
    if (best.most > 0 && irisi_gemm_narrowest(p.mainloop) == 0)
        irisi_gemm_rank_whole(&p, 0, &best);
    else if (best.most > 0)
        irisi_gemm_rank_all(&p, 0, irisi_gemm_largest_tile(p.mainloop, p.operands.element).n, &any, &best);
    p = *plan, p.pattern = pattern, p.m = p.region.rows = p.most_m, p.machine.comm_workgroups = comm;
    if (best.most > 0 && best.n == 0)
        irisi_gemm_rank_senders(&p, &best);
    /* How many sums go as packets depends on the pattern. */
    const int packets = pattern == plan->pattern || !irisi_gemm_op_is(p.op, IRISI_GEMM_OPS_SPLIT_K);
    for (uint32_t i = 0; i < best.n; i++) {
        const irisi_gemm_cutting *c = &best.rows[i];
        p.machine.comm_workgroups = c->senders, p.tiling.tile_n = c->width;
        p.tiling.sender_tiles = c->sender_tiles, p.tiling.head_halves = c->head_halves,
        p.tiling.tail_tiles = c->tail_tiles, p.tiling.tail_halves = c->tail_halves, p.tiling.edge_width = c->edge_width;
        p.tiling.cluster = c->cluster, p.tiling.split_k = c->split_k, p.tiling.most_full_n = c->full_n;
        irisi_gemm_print(w, &p, packets, rows[i].text, sizeof rows[i].text);
    }
    free(best.rows);
    return best.n;
}

#endif
#endif
