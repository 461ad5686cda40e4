/* SPDX-License-Identifier: MIT */
/*
 * set_rows.h: a part of init.c: gives a plan another number of rows, at most those that it was prepared for.
 *
 * What a plan holds stays, and so do its mainloop, its tiles, and by how much signals rise (gemm/exchange.h). What
 * follows from the rows is made anew, by the functions that made it for the plan: who owns which rows, the schedule,
 * and the tensor maps, which leave out what is beyond the last row. Kernels carry their plan by value, so those that
 * were launched before are not affected.
 */
#ifndef IRIS_RUNTIME_GEMM_SET_ROWS_H
#define IRIS_RUNTIME_GEMM_SET_ROWS_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/make.h>

/* Changes all that depends on the rows. */
static iris_status irisi_gemm_change_rows(iris_world *w, iris_gemm_plan *p, uint32_t rows)
{
    const int sums = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K);
    const uint32_t own = irisi_gemm_rows_of(p, p->rank).first;
    p->m = p->region.rows = rows;
    p->route.shard = rows / p->world, p->route.longer = rows % p->world;
    irisi_gemm_begin_own_rows(p, own, irisi_gemm_rows_of(p, p->rank).first);
    irisi_gemm_cut_again(p);
    p->exchange.missing = irisi_exchange_missing(p);
    if (rows == 0) /* there is neither a tile nor a map of nothing */
        return IRIS_OK;
    irisi_gemm_rotate(p);
    p->inputs.first = p->inputs.end = 0; /* a map of own rows of A sets them */
    if (sums)
        irisi_gemm_route_owners(p);
    const char *why = irisi_gemm_maps(w, p);
    if (sums)
        irisi_gemm_route_by(p, p->pattern);
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "iris_gemm_set_rows: %s", why) : IRIS_OK;
}

/* Compares the ranks' numbers of rows. Every rank calls it, also one whose own number is refused (`own`). */
static iris_status irisi_gemm_agree_rows(iris_world *w, iris_status own, int64_t rows)
{
    const int64_t mine[2] = {own, rows};
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_gemm_set_rows", mine, sizeof mine, &votes);
    const int64_t *first = (const int64_t *)votes;
    iris_status s = met != IRIS_OK ? met : own;
    for (int r = 0; s == IRIS_OK && r < w->size; r++) {
        const int64_t *theirs = first + 2 * r;
        if (theirs[0] != IRIS_OK)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_gemm_set_rows: rank %d refused its arguments (%s)", r,
                           iris_status_name((iris_status)theirs[0]));
        else if (theirs[1] != first[1])
            s = irisi_fail(w, IRIS_ERR_MISMATCH,
                           "iris_gemm_set_rows: rows is %lld on rank %d but %lld on rank 0; it must be the same",
                           (long long)theirs[1], r, (long long)first[1]);
    }
    free(votes);
    return s;
}

iris_status iris_gemm_set_rows(iris_world *w, iris_gemm_plan *plan, int64_t rows)
{
    if (!irisi_gemm_whole(w, plan))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_set_rows: the plan is not from iris_gemm_prepare, or was released");
    if (plan->op == IRIS_GEMM_LOCAL && plan->region.columns == 0 && rows >= 0)
        return IRIS_OK; /* a tensor's empty shard has nothing to compute, whatever its plan's m */
    iris_status s = rows >= 0 && rows <= (int64_t)plan->most_m
                        ? IRIS_OK
                        : irisi_fail(w, IRIS_ERR_ARGUMENT,
                                     "iris_gemm_set_rows: rows is %lld, not from 0 to %u, the m that the plan was "
                                     "prepared for",
                                     (long long)rows, plan->most_m);
    if (w->checked && w->size > 1 && plan->op != IRIS_GEMM_LOCAL)
        s = irisi_gemm_agree_rows(w, s, rows);
    if (s != IRIS_OK || (uint32_t)rows == plan->m)
        return s;
    iris_gemm_plan changed = *plan; /* a plan whose change fails stays as it is */
    s = irisi_gemm_change_rows(w, &changed, (uint32_t)rows);
    if (s == IRIS_OK)
        *plan = changed;
    return s;
}

#endif
#endif
