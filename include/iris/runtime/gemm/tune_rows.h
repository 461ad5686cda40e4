/* SPDX-License-Identifier: MIT */
/*
 * tune_rows.h: a part of init.c: the tuning row that says how a GEMM is to be computed. Rows come from
 * iris_gemm_args.tune or else IRIS_TUNE (tune_read.h), and then from the built-in table (table.h). The first row that
 * is for a problem counts. Without `op` a row is for local and all_scatter; a row that contradicts an argument is not
 * for that call. docs/gemm-choosing.md lists the fields.
 *
 *   irisi_gemm_find irisi_gemm_print
 */
#ifndef IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#define IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/offers.h>
#include <iris/runtime/gemm/operations.h>
#include <iris/runtime/gemm/table.h>
#include <iris/runtime/tune_read.h>

/* The problem of a plan that irisi_gemm_fill has filled in; its C is of the type that kernels finish in. */
static irisi_tune_row irisi_gemm_problem_of(const iris_world *w, const iris_gemm_plan *p)
{
    irisi_tune_row row;
    memset(&row, 0, sizeof row);
    const uint32_t keys[IRISI_TUNE_KEYS] = {p->op,
                                            irisi_tune_arch(iris_arch_name(w)),
                                            p->machine.default_workgroups,
                                            p->world,
                                            p->m,
                                            p->n,
                                            p->k,
                                            p->operands.dtype,
                                            irisi_gemm_offered_dtype(p),
                                            p->operands.b_transposed};
    memcpy(row.value, keys, sizeof keys);
    return row;
}

/*
 * 1 when a row is for a problem and contradicts no argument. A row for a world of one rank whose pattern has no sending
 * workgroups is for a GEMM alone too, since both compute the same.
 */
static int irisi_gemm_applies(const irisi_tune_row *row, const irisi_tune_row *problem, const iris_gemm_args *g,
                              int blas)
{
    const uint32_t *v = row->value, pattern = v[IRISI_TUNE_PATTERN];
    const uint32_t senders = g->comm_workgroups ? g->comm_workgroups : (uint32_t)irisi_gemm_splits(g->pattern);
    if (row->given >> IRISI_TUNE_COLLECTIVE & 1)
        return 0;
    for (uint32_t f = 0; f < IRISI_TUNE_KEYS; f++)
        if ((row->given >> f & 1) && v[f] != problem->value[f])
            return 0;
    if (pattern && g->pattern != IRIS_GEMM_AUTO && pattern != (uint32_t)g->pattern)
        return 0;
    const uint32_t op = problem->value[IRISI_TUNE_OP];
    const int general = irisi_gemm_op_is(op, IRISI_GEMM_OPS_SENDS_TILES | 1 << IRIS_GEMM_LOCAL);
    if (!general && !(row->given >> IRISI_TUNE_OP & 1))
        return 0; /* a row that names no operation is for these two */
    if (pattern && !irisi_gemm_has_pattern(op, pattern))
        return 0;
    const int all_compute = problem->value[IRISI_TUNE_WORLD] == 1 && !irisi_gemm_splits(pattern);
    if (pattern && op == IRIS_GEMM_LOCAL && pattern != IRIS_GEMM_BLAS_GATHER && !all_compute)
        return 0;
    if (v[IRISI_TUNE_WORKGROUPS] &&
        (g->workgroups ? v[IRISI_TUNE_WORKGROUPS] != g->workgroups : v[IRISI_TUNE_WORKGROUPS] <= senders))
        return 0;
    if (v[IRISI_TUNE_COMM] && g->comm_workgroups && v[IRISI_TUNE_COMM] != g->comm_workgroups)
        return 0;
    const uint32_t tiles = v[IRISI_TUNE_HEIGHT] | v[IRISI_TUNE_WIDTH] | v[IRISI_TUNE_SKINNY];
    if (tiles && (g->tile_m || g->tile_n || g->n_more)) /* several B begin tiles of their own: the row is of one */
        return 0;
    return pattern != IRIS_GEMM_BLAS_GATHER || blas;
}

/* A search for a problem's row. */
typedef struct irisi_gemm_search {
    irisi_tune_row problem, found;
    const iris_gemm_args *args;
    int blas;
} irisi_gemm_search;

/* Keeps a row if it is the first one that is for the problem. */
static void irisi_gemm_consider(void *search, const irisi_tune_row *row, const char *from)
{
    irisi_gemm_search *s = (irisi_gemm_search *)search;
    if (s->found.given != 0 || !irisi_gemm_applies(row, &s->problem, s->args, s->blas))
        return;
    s->found = *row;
    snprintf(s->found.from, sizeof s->found.from, "%s", from);
}

/*
 * The row that counts for a plan, if there is one, and a hash of all rows. A call that asks for the plain mainloop has
 * its own kernels, to which rows do not apply.
 *
 * @param plan irisi_gemm_fill has filled it in
 * @param blas 1: the arguments allow IRIS_GEMM_BLAS_GATHER
 */
static iris_status irisi_gemm_find(iris_world *w, const iris_gemm_plan *plan, const iris_gemm_args *g, int blas,
                                   irisi_tune_row *found, uint64_t *hash)
{
    const char *name = g->tune ? "tune" : "IRIS_TUNE", *text = g->tune ? g->tune : getenv("IRIS_TUNE");
    irisi_gemm_search s;
    irisi_tune_reader r;
    memset(&s, 0, sizeof s);
    memset(&r, 0, sizeof r);
    s.problem = irisi_gemm_problem_of(w, plan), s.args = g, s.blas = blas;
    r.w = w, r.call = "iris_gemm_prepare", r.take = irisi_gemm_consider, r.arg = &s;
    r.hash = (uint64_t)irisi_tune_model_only(text);
    iris_status status = irisi_tune_source(&r, text, name);
    for (size_t i = 0; status == IRIS_OK && !irisi_tune_model_only(text) && irisi_gemm_table[i] != NULL; i++) {
        char row[IRIS_GEMM_TUNE_ROW];
        snprintf(row, sizeof row, "%s", irisi_gemm_table[i]);
        status = irisi_tune_one(&r, row, "");
    }
    *hash = r.hash;
    *found = s.found;
    if (plan->op == IRIS_GEMM_LOCAL && found->value[IRISI_TUNE_PATTERN] != IRIS_GEMM_BLAS_GATHER)
        found->value[IRISI_TUNE_PATTERN] = IRIS_GEMM_AUTO; /* a GEMM alone has no pattern */
    if (g->plain_mainloop)
        memset(found, 0, sizeof *found);
    return status;
}

/* Writes a plan's tiles behind a row, of which so much is used; returns how much is then. */
static int irisi_gemm_print_tiles(const iris_gemm_plan *p, char *row, size_t room, int used)
{
    const int cluster = irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K);
    used += snprintf(row + used, room - (size_t)used, " height=%u width=%u", p->tiling.tile_m, p->tiling.tile_n);
    if (p->tiling.edge_width != 0)
        used += snprintf(row + used, room - (size_t)used,
                         " cluster=%u split_k=%u full=%u tail_tiles=%u tail_halves=%u edge_width=%u", p->tiling.cluster,
                         p->tiling.split_k, p->tiling.most_full_n, p->tiling.tail_tiles, p->tiling.tail_halves,
                         p->tiling.edge_width);
    if (p->tiling.head_halves)
        used += snprintf(row + used, room - (size_t)used, " head_halves=%u", p->tiling.head_halves);
    if (p->tiling.sender_tiles)
        used += snprintf(row + used, room - (size_t)used, " sender_tiles=%u", p->tiling.sender_tiles);
    if (cluster)
        used += snprintf(row + used, room - (size_t)used, " split_k=%u", p->tiling.cluster_split_k);
    if (irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_SKINNY))
        used += snprintf(row + used, room - (size_t)used, " skinny=%d", cluster ? 2 : 1);
    return used;
}

/* Writes a plan's problem and choice as a row. `packets`: 0 where it is left open whether there are any. */
static void irisi_gemm_print(const iris_world *w, const iris_gemm_plan *p, int packets, char *row, size_t room)
{
    const char *arch = iris_arch_name(w);
    int used = snprintf(row, room, "op=%s arch=%.*s units=%u world=%u m=%u n=%u k=%u dtype=%s out=%s layout=%s",
                        irisi_gemm_op_names[p->op], (int)strcspn(arch, ":"), arch, p->machine.default_workgroups,
                        p->world, p->m, p->n, p->k, iris_dtype_name((iris_dtype)p->operands.dtype),
                        iris_dtype_name((iris_dtype)irisi_gemm_offered_dtype(p)),
                        irisi_tune_layouts[p->operands.b_transposed]);
    if (p->op != IRIS_GEMM_LOCAL || p->pattern == IRIS_GEMM_BLAS_GATHER)
        used += snprintf(row + used, room - (size_t)used, " pattern=%s",
                         iris_gemm_pattern_name((iris_gemm_pattern)p->pattern));
    if (p->machine.workgroups != p->machine.default_workgroups)
        used += snprintf(row + used, room - (size_t)used, " workgroups=%u", p->machine.workgroups);
    if (irisi_gemm_splits(p->pattern))
        used += snprintf(row + used, room - (size_t)used, " comm=%u", p->machine.comm_workgroups);
    if (p->several.n[0] == 0) /* rows of tiles are not for several B */
        used = irisi_gemm_print_tiles(p, row, room, used);
    if (packets && irisi_gemm_sends_packets(p->op, p->pattern) && p->world > 1)
        snprintf(row + used, room - (size_t)used, " ll=%d", p->exchange.ll_pitch > 0);
}

#endif
#endif
