/* SPDX-License-Identifier: MIT */
/*
 * make.h: a part of init.c: makes plans of GEMMs, releases them, and launches their kernels. gemm/prepare.h declares
 * these functions.
 */
#ifndef IRIS_RUNTIME_GEMM_MAKE_H
#define IRIS_RUNTIME_GEMM_MAKE_H
#ifdef IRIS_INIT_C

#include <iris/gemm/exchange.h>
#include <iris/runtime/gemm/agree.h>
#include <iris/runtime/gemm/blas.h>
#include <iris/runtime/gemm/validate.h>
#include <iris/runtime/gemm/choose.h>
#include <iris/runtime/gemm/live_plans.h>
#include <iris/runtime/gemm/cluster_split_k.h>

static const uint64_t irisi_gemm_magic = 0x6972697367656d6dull; /* "irisgemm" */

/* 1 for a plan of this world that was not released, whichever copy of the plan iris_gemm_release was given. */
static int irisi_gemm_whole(const iris_world *w, const iris_gemm_plan *p)
{
    return w != NULL && p != NULL && p->launcher.magic == irisi_gemm_magic && irisi_gemm_plan_lives(w, p);
}

/*
 * The pattern that AUTO takes by rule, from what all ranks have in common (docs/gemm-operations.md). The kernel that
 * adds up and normalises behind a product has asked for residual and weights before the sums arrive, which is worth
 * more than its launch where many sums go as packets.
 */
static uint32_t irisi_gemm_one_pattern_of(const iris_world *w, const iris_gemm_plan *p)
{
    const int hopper = strcmp(iris_arch_name(w), "sm_90") == 0;
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K)) {
        const double wider = (double)iris_dtype_bytes(irisi_gemm_reduce_dtype(p)) / p->operands.c_element;
        const double bytes = wider * irisi_gemm_ll_bytes(p);
        const int many = bytes >= IRISI_GEMM_LL_BYTES && p->m <= 96 &&
                         bytes <= irisi_gemm_ll_most(p->op, IRIS_GEMM_BULK_SYNCHRONOUS);
        const int norms = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS) && !p->norm.sequence_parallel;
        return hopper && norms && many && !p->norm.quant_out ? IRIS_GEMM_BULK_SYNCHRONOUS : IRIS_GEMM_FUSED_SEQUENTIAL;
    }
    const int beside = hopper && p->op != IRIS_GEMM_LOCAL && p->m >= 2048;
    return beside ? IRIS_GEMM_WG_SPECIALIZED : IRIS_GEMM_BULK_SYNCHRONOUS;
}

/*
 * Fills in the matrices B of more than one: of those that have columns on this rank the first is in operands. The plan
 * has all of the first one's.
 */
static void irisi_gemm_fill_several(iris_gemm_plan *p, const iris_gemm_args *g)
{
    irisi_gemm_several *s = &p->several;
    for (int i = 0; i < g->n_more; i++) {
        const irisi_gemm_matrix x = irisi_gemm_given(p, g, 1 + i);
        if (x.columns > 0)
            s->more[s->count++] = x;
    }
    if (s->columns > 0 || s->count == 0)
        return;
    p->operands.b = s->more[0].b, p->operands.c = s->more[0].c, p->operands.bias = s->more[0].bias;
    p->operands.scale_b = s->more[0].scale_b, p->operands.ldb = s->more[0].ldb, p->operands.ldc = s->more[0].ldc;
    p->operands.residual = p->operands.c, p->operands.ldr = p->operands.ldc;
    s->columns = s->more[0].columns;
    memmove(s->more, s->more + 1, --s->count * sizeof *s->more);
}

/*
 * Fills in what follows from this rank's arguments; tile and pattern as they were asked for. A GEMM alone has the
 * kernel that computes in bulk_synchronous; unless it is of a band, its plan is that of a world of one rank.
 */
static void irisi_gemm_fill(const iris_world *w, iris_gemm_plan *p, iris_gemm_op op, iris_dtype dtype,
                            const iris_gemm_args *g)
{
    const uint32_t units = (uint32_t)iris_compute_units(w);
    p->op = op, p->operands.dtype = dtype, p->operands.c_dtype = irisi_gemm_types_of(dtype, g->c_dtype)->out;
    p->operands.activation = (uint32_t)g->activation + (g->gated ? (uint32_t)IRISI_GEMM_GATED : 0);
    p->pattern = g->pattern;
    const int all = op == IRIS_GEMM_LOCAL && !g->band;
    p->rank = all ? 0 : (uint32_t)iris_rank(w), p->world = all ? 1 : (uint32_t)iris_world_size(w);
    p->m = p->most_m = (uint32_t)g->m, p->n = (uint32_t)g->n, p->k = (uint32_t)g->k;
    for (int i = 0; i < g->n_more; i++)
        p->several.n[i] = (uint32_t)g->more[i].n, p->n += p->several.n[i];
    p->operands.a = g->a, p->operands.b = g->b, p->operands.c = g->c, p->operands.bias = g->bias;
    p->operands.scale_a = g->scale_a, p->operands.scale_b = g->scale_b, p->operands.scale_c = g->scale_c;
    p->operands.scale_a_step = g->scale_a_rows != 0, p->operands.scale_b_step = g->scale_b_columns != 0;
    p->operands.alpha = g->zero_alpha == 2 ? 0 : g->alpha != 0 ? g->alpha : g->zero_alpha ? 0 : 1;
    p->operands.beta = g->beta;
    p->operands.tf32 = g->tf32 != 0, p->operands.fast_accum = g->fast_accum != 0,
    p->operands.b_transposed = g->b_transposed != 0, p->launcher.a_transposed = g->a_transposed != 0;
    p->operands.element = (uint32_t)iris_dtype_bytes(dtype);
    p->operands.c_element = (uint32_t)iris_dtype_bytes((iris_dtype)p->operands.c_dtype);
    const iris_gemm_columns own = iris_gemm_band(irisi_gemm_first_n(p), p->world, p->rank);
    const int bands = irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_N & ~IRISI_GEMM_OPS_GATHERS); /* within an m x n C */
    p->region.n0 = bands ? own.first : 0, p->region.columns = irisi_gemm_columns_of(p, p->rank);
    p->tiling.several = p->several.n[0] > 0;
    p->several.columns = p->tiling.several ? own.count : p->region.columns;
    p->operands.lda = (uint64_t)(g->lda ? g->lda : g->a_transposed ? g->m : g->k);
    p->operands.ldc = (uint64_t)(g->ldc ? g->ldc : irisi_gemm_own_c_columns(p));
    p->operands.residual = g->residual ? g->residual : g->c;
    p->operands.ldr = g->ldr ? (uint64_t)g->ldr : p->operands.ldc;
    p->operands.ldb = (uint64_t)(g->ldb ? g->ldb : p->operands.b_transposed ? g->k : p->several.columns);
    irisi_gemm_fill_several(p, g);
    irisi_gemm_route_c(p);
    p->sums = p->operands, p->exchange.workspace = g->gathered ? g->gathered : g->workspace;
    if (g->gathered != NULL || g->ld_gathered != 0) {
        const uint64_t row = irisi_gemm_gathered_row(p->k, p->operands.element) / p->operands.element;
        p->launcher.ld_gathered = g->ld_gathered ? (uint64_t)g->ld_gathered : row;
    }
    p->norm.out = g->out, p->norm.ldout = g->ldout ? (uint64_t)g->ldout : p->n;
    p->norm.weight = g->weight, p->norm.epsilon = g->epsilon;
    p->norm.quant_out = g->quant_out, p->norm.scale_out = g->scale_out;
    p->norm.ldquant_out = g->ldquant_out ? (uint64_t)g->ldquant_out : p->n;
    p->norm.largest_code = g->quant_dtype == IRIS_F8E4M3FNUZ ? 240.0f : 448.0f;
    p->launcher.stores_c = g->c != NULL;
    p->launcher.f32_sums = g->reduce_dtype == IRIS_F32 && p->operands.c_dtype != IRIS_F32;
    p->norm.sequence_parallel = g->sequence_parallel != 0;
    p->norm.sums_to_all = p->launcher.stores_c && !p->norm.sequence_parallel;
    p->route.shard = p->m / p->world, p->route.longer = p->m % p->world;
    if (irisi_gemm_one_pattern(op) && p->pattern == IRIS_GEMM_AUTO)
        p->pattern = irisi_gemm_one_pattern_of(w, p);
    p->machine.workgroups = g->workgroups ? g->workgroups : units > 2 ? units : 2;
    if (p->machine.workgroups <= g->comm_workgroups)
        p->machine.workgroups = g->comm_workgroups + 1;
    p->machine.xcds = irisi_gemm_xcds(iris_arch_name(w), units);
    p->machine.comm_workgroups = g->comm_workgroups ? g->comm_workgroups : irisi_gemm_sixth(p);
    p->machine.default_workgroups = p->machine.workgroups;
    p->tiling.tile_m = g->tile_m, p->tiling.tile_n = g->tile_n, p->launcher.blas = g->blas,
    p->launcher.blas_arg = g->blas_arg;
}

/*
 * Where C and what beta reads are this rank's rows alone: makes sums.c and sums.residual what they are where these
 * begin at row `first`, and not at row `before`. Where C is not stored, sums.c is `out`, which has all rows.
 */
static void irisi_gemm_begin_own_rows(iris_gemm_plan *p, uint32_t before, uint32_t first)
{
    irisi_gemm_operands *sums = &p->sums;
    const uintptr_t down = (uintptr_t)first - before; /* it may wrap around, as the addresses may */
    if (!p->norm.sequence_parallel)
        return;
    if (p->launcher.stores_c)
        sums->c = (void *)((uintptr_t)sums->c - down * sums->ldc * sums->c_element);
    sums->residual = (const void *)((uintptr_t)sums->residual - down * sums->ldr * sums->c_element);
}

/*
 * Turns the caller's operands into those of the kernel that computes. Where K is split, it stores partial sums, of
 * which only scale_a and scale_b are applied, in the slot; where A is gathered, it reads the gathered A. Slot and
 * gathered A are allocated later. Where C is made of pairs of columns, the kernel's sums are in staging tiles alone.
 */
static void irisi_gemm_divide(iris_gemm_plan *p)
{
    irisi_gemm_operands *o = &p->operands;
    const uint64_t pitch = irisi_gemm_room_pitch(p), line = 16 / o->element; /* elements of 16 bytes */
    if (pitch == 0)
        p->exchange.workspace = NULL; /* the operation needs none */
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS)) {
        p->inputs.a = o->a, p->inputs.ld = o->lda;
        o->a = NULL, o->lda = pitch / o->element;
    }
    if (irisi_gemm_gated(p)) {
        p->sums.activation -= IRISI_GEMM_GATED;
        o->c_dtype = IRIS_F32, o->c_element = sizeof(float), o->c = NULL, o->ldc = p->n;
        o->residual = NULL, o->ldr = 0, o->bias = NULL, o->scale_c = NULL, o->activation = IRISI_GEMM_GATED;
        p->route.base = NULL;
    }
    if (!irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K))
        return;
    p->sums.scale_a = p->sums.scale_b = NULL;
    if (p->sums.c == NULL) /* C is not stored: each sum stands in out until its norm takes its place */
        p->sums.c = p->norm.out, p->sums.ldc = p->norm.ldout;
    irisi_gemm_begin_own_rows(p, 0, irisi_gemm_rows_of(p, p->rank).first);
    o->c_dtype = irisi_gemm_reduce_dtype(p);
    o->c_element = (uint32_t)iris_dtype_bytes((iris_dtype)o->c_dtype);
    o->c = NULL, o->ldc = pitch / o->c_element, o->residual = NULL, o->ldr = 0;
    o->bias = NULL, o->scale_c = NULL, o->alpha = 1, o->beta = 0, o->activation = IRIS_ACTIVATION_NONE;
    p->route.base = NULL;
    if (p->k > 0)
        return;
    p->launcher.no_k = 1, p->k = 1, o->a = o->b = NULL, o->lda = line;
    o->ldb = o->b_transposed ? line : (p->n + line - 1) / line * line;
}

/* Refuses a pattern whose kernels the program lacks although it has others of the plan's operation. */
static iris_status irisi_gemm_check_offered(iris_world *w, const iris_gemm_plan *p, const char *who, uint32_t pattern)
{
    const irisi_gemm_kernel_role role = irisi_gemm_computes_in(p, (iris_gemm_pattern)pattern);
    if (!irisi_gemm_has_pattern(p->op, pattern))
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "%s: %s has no %s, only bulk_synchronous and fused_sequential; leave the pattern open", who,
                          irisi_gemm_op_names[p->op], iris_gemm_pattern_name((iris_gemm_pattern)pattern));
    if (irisi_gemm_offered_dtype(p) != p->sums.c_dtype && !irisi_gemm_offers_op(p))
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "%s: %s needs kernels of %s for %s with a C of f32, which this program has not: define their "
                          "IRIS_INSTANTIATE_ macro too",
                          who, p->launcher.f32_sums ? "reduce_dtype f32" : "gated", irisi_gemm_op_names[p->op],
                          iris_dtype_name((iris_dtype)p->operands.dtype));
    if (p->op == IRIS_GEMM_LOCAL || pattern == IRIS_GEMM_BLAS_GATHER || !irisi_gemm_offers_op(p) ||
        irisi_gemm_kernel_of(p, (iris_gemm_pattern)pattern, role) != NULL)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                      "%s: this program has no kernel of %s for %s with the plan's mainloop, since AUTO never chooses "
                      "it: define IRIS_GEMM_ALL_PATTERNS where the kernels are made, or leave the pattern open",
                      who, iris_gemm_pattern_name((iris_gemm_pattern)pattern), irisi_gemm_types_name(p));
}

/* How many of a kernel's workgroups that only communicate it is launched with: by packets of sums none without any. */
static uint32_t irisi_gemm_communicators(const iris_gemm_plan *p, irisi_gemm_kernel_role role, uint32_t workgroups)
{
    if (role != IRISI_GEMM_KERNEL_COMMUNICATE_LL || !irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K))
        return workgroups;
    const uint64_t row = (irisi_gemm_row_bytes(p, p->region.columns) + 15) / 16; /* chunks: reduce.h */
    const uint64_t lanes = p->machine.wave_lanes;
    const uint64_t busy = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS) ? p->m : (p->m * row + lanes - 1) / lanes;
    return busy < workgroups ? (uint32_t)busy : workgroups;
}

/* Refuses a plan whose workgroups that wait for peers cannot all be on the device at once. */
static iris_status irisi_gemm_check_grid(iris_world *w, const iris_gemm_plan *p)
{
    const iris_gemm_pattern pattern = (iris_gemm_pattern)p->pattern;
    const irisi_gemm_kernel_role role = irisi_gemm_waits_in(p, pattern);
    const irisi_gemm_kernel *k = irisi_gemm_kernel_of(p, pattern, role);
    const uint32_t stages = irisi_gemm_only_communicates(role) ? 0 : pattern == IRIS_GEMM_WAVE_SPECIALIZED ? 2 : 1;
    const iris_launch_config cfg = iris_gemm_grid(p, stages);
    const uint32_t all = pattern == IRIS_GEMM_PRODUCER_CONSUMER ? p->machine.comm_workgroups
                         : irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES | 1 << IRIS_GEMM_LOCAL)
                             ? p->machine.workgroups
                             : p->machine.equal_workgroups;
    const uint32_t workgroups = irisi_gemm_communicators(p, role, all);
    const uint32_t most = k ? irisi_max_workgroups(w, k->kernel, cfg.lanes, cfg.shared_bytes) : UINT32_MAX;
    if (workgroups <= most)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_GRID,
                      "iris_gemm_prepare: %s cannot have %u workgroups of %u lanes and %u bytes of shared memory on "
                      "the device at once, it can have %u; ask for fewer",
                      iris_gemm_pattern_name(pattern), workgroups, cfg.lanes, cfg.shared_bytes, most);
}

/* Where K is split: where a pattern's kernels leave partial sums. Those that go as packets are there for nobody. */
static void irisi_gemm_route_by(iris_gemm_plan *p, uint32_t pattern)
{
    const int packets = pattern == IRIS_GEMM_FUSED_SEQUENTIAL && irisi_gemm_by_packets(p);
    if (pattern == IRIS_GEMM_BULK_SYNCHRONOUS || pattern == IRIS_GEMM_BLAS_GATHER || packets)
        irisi_gemm_route_slot(p);
    else
        irisi_gemm_route_owners(p);
}

/* Gives a plan its workspace: the caller's, or its own, which all ranks allocate alike. */
static iris_status irisi_gemm_hold_workspace(iris_world *w, iris_gemm_plan *p)
{
    const uint64_t bytes = irisi_gemm_room(p);
    const iris_status pending = w->pending;
    if (bytes == 0)
        return IRIS_OK;
    if (p->exchange.workspace == NULL)
        p->exchange.workspace = p->launcher.workspace =
            irisi_malloc_by(w, "iris_gemm_prepare", bytes, 0, IRIS_MEM_DATA);
    w->pending = pending; /* iris_gemm_prepare says it itself, so the next barrier need not */
    if (p->exchange.workspace == NULL)
        return IRIS_ERR_NOMEM; /* the error is set */
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS))
        p->operands.a = p->exchange.workspace;
    else
        p->operands.c = p->exchange.workspace;
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K)) /* this rank's part of the slots, on every owner */
        p->route.base = (char *)p->operands.c + (uint64_t)p->rank * irisi_gemm_slot_rows(p) * irisi_gemm_room_pitch(p);
    return IRIS_OK;
}

/*
 * Makes the stream and the events of producer_consumer and copy_engine. A plan can be launched by any pattern that the
 * program has kernels of, whatever its own one, so they are made where the program has those of these two: only with
 * IRIS_GEMM_ALL_PATTERNS. Each plan has its own stream, since plans that are launched on two streams at once wait for
 * nothing of each other: on one stream for both, what the second plan sends would stand behind what the first one's
 * stream waits for, which may be the second plan on another rank. Ranks that share a device never launch these patterns
 * (irisi_gemm_in_sequence).
 */
static iris_status irisi_gemm_hold_second(iris_world *w, iris_gemm_plan *p)
{
    const irisi_gemm_kernel_role role = IRISI_GEMM_KERNEL_COMMUNICATE;
    if (irisi_dev_shared(&w->dev) || (irisi_gemm_kernel_of(p, IRIS_GEMM_PRODUCER_CONSUMER, role) == NULL &&
                                      irisi_gemm_kernel_of(p, IRIS_GEMM_COPY_ENGINE, role) == NULL))
        return IRIS_OK;
    iris_status s = iris_stream_create(w, &p->launcher.second);
    if (s == IRIS_OK)
        s = iris_event_create(w, &p->launcher.fork);
    return s == IRIS_OK ? iris_event_create(w, &p->launcher.join) : s;
}

/*
 * Allocates what a plan of an operation that communicates holds, once all ranks have agreed: the channel, the banks for
 * packets, the workspace, the second stream. All ranks allocate, or none.
 */
static iris_status irisi_gemm_hold_exchange(iris_world *w, iris_gemm_plan *p, const irisi_tune_row *row)
{
    iris_status s = iris_channel_create(w, &p->exchange.channel, irisi_exchange_signals(p), 0);
    if (s == IRIS_OK)
        s = irisi_gemm_ll_hold(w, p, row);
    if (s == IRIS_OK)
        s = irisi_gemm_hold_workspace(w, p);
    return s == IRIS_OK ? irisi_gemm_hold_second(w, p) : s;
}

/* Chooses mainloop, pattern and tiling from what the ranks have in common, and allocates what the plan holds. */
static iris_status irisi_gemm_acquire(iris_world *w, iris_gemm_plan *p, const irisi_gemm_common *common,
                                      uint32_t senders, irisi_tune_row *row)
{
    const uint32_t own = p->machine.workgroups, own_k = p->k;
    p->machine.workgroups = p->machine.equal_workgroups = (uint32_t)common->workgroups;
    p->k = (uint32_t)common->k; /* the choice depends only on what all ranks have in common */
    p->machine.xcds = (uint32_t)common->xcds; /* the model reads it, and must choose the same on every rank */
    iris_status s = irisi_gemm_shape_plan(w, p, common, senders, row);
    if (s == IRIS_OK && p->pattern == IRIS_GEMM_AUTO)
        p->pattern = irisi_gemm_choose(p);
    if (s == IRIS_OK && irisi_gemm_gated(p) && p->tiling.tile_n % 2 != 0)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT,
                       "iris_gemm_prepare: tiles of %u columns part a gate from its up: ask for an even tile_n or "
                       "width",
                       p->tiling.tile_n);
    if (s == IRIS_OK)
        s = irisi_gemm_check_offered(w, p, "iris_gemm_prepare", p->pattern);
    p->k = own_k;
    p->machine.workgroups = row->value[IRISI_TUNE_WORKGROUPS]                       ? row->value[IRISI_TUNE_WORKGROUPS]
                            : irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES | 1 << IRIS_GEMM_LOCAL) ? own
                                                                                     : p->machine.equal_workgroups;
    if (row->value[IRISI_TUNE_WORKGROUPS])
        p->machine.equal_workgroups = row->value[IRISI_TUNE_WORKGROUPS]; /* which all ranks have read */
    p->machine.workgroups -= s == IRIS_OK ? p->machine.workgroups % p->tiling.cluster : 0;
    if (s == IRIS_OK && p->op != IRIS_GEMM_LOCAL) /* before what may fail on one rank alone */
        s = irisi_gemm_hold_exchange(w, p, row);
    if (s == IRIS_OK)
        s = irisi_gemm_hold_zeros(w, p);
    if (s == IRIS_OK)
        s = irisi_gemm_hold_copies(w, p);
    if (s == IRIS_OK)
        s = irisi_gemm_hold_partials(w, p);
    if (s == IRIS_OK) {
        const char *why = irisi_gemm_maps(w, p);
        s = why ? irisi_fail(w, IRIS_ERR_DEVICE, "iris_gemm_prepare: %s", why) : IRIS_OK;
    }
    if (s == IRIS_OK && irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K))
        irisi_gemm_route_by(p, p->pattern);
    if (s == IRIS_OK)
        s = irisi_gemm_plan_enlist(w, p);
    const iris_gemm_pattern sequential = IRIS_GEMM_FUSED_SEQUENTIAL;
    const irisi_gemm_kernel *fused = irisi_gemm_kernel_of(p, sequential, irisi_gemm_waits_in(p, sequential));
    p->tiling.cluster_split_k_fused = s == IRIS_OK && fused ? irisi_gemm_cluster_split_k_fused(w, p, fused->kernel) : 0;
    p->exchange.missing = s == IRIS_OK ? irisi_exchange_missing(p) : 0;
    if (s == IRIS_OK)
        s = irisi_gemm_check_grid(w, p);
    if (s == IRIS_OK && irisi_gemm_by_packets(p)) { /* a launch of fewer rows may send none, by another kernel */
        iris_gemm_plan without = *p;
        without.exchange.ll.banks = NULL;
        s = irisi_gemm_check_grid(w, &without);
    }
    return s;
}

/* Frees all that a plan holds, and zeroes it; returns the last error. */
static iris_status irisi_gemm_free(iris_world *w, iris_gemm_plan *p)
{
    iris_status s = IRIS_OK, t;
    irisi_gemm_plan_strike(w, p);
    if (p->launcher.join != NULL && (t = iris_event_destroy(w, p->launcher.join)) != IRIS_OK)
        s = t;
    if (p->launcher.fork != NULL && (t = iris_event_destroy(w, p->launcher.fork)) != IRIS_OK)
        s = t;
    if (p->launcher.second != NULL && (t = iris_stream_destroy(w, p->launcher.second)) != IRIS_OK)
        s = t;
    if (p->exchange.ll.state != NULL && (t = iris_channel_destroy(w, &p->exchange.ll)) != IRIS_OK)
        s = t;
    if (p->exchange.channel.signals != NULL && (t = iris_channel_destroy(w, &p->exchange.channel)) != IRIS_OK)
        s = t;
    if (p->launcher.workspace != NULL && (t = iris_free(w, p->launcher.workspace)) != IRIS_OK)
        s = t;
    if ((t = irisi_gemm_free_copies(w, p)) != IRIS_OK)
        s = t;
    memset(p, 0, sizeof *p);
    return s;
}

/* Logs what was chosen for a plan, and by what. */
static void irisi_gemm_log_choice(const iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g,
                                  const irisi_tune_row *row)
{
    const irisi_gemm_kernel *kernel = irisi_gemm_kernel_of(
        p, (iris_gemm_pattern)p->pattern, irisi_gemm_computes_in(p, (iris_gemm_pattern)p->pattern));
    const int tile_asked = g->tile_m > 0 && g->tile_n > 0, pattern_asked = g->pattern != IRIS_GEMM_AUTO;
    const char *by = row->from[0]                  ? row->from
                     : row->given                  ? "a row of the built-in table"
                     : tile_asked && pattern_asked ? "the arguments"
                                                   : "the library's model";
    char text[IRIS_GEMM_TUNE_ROW];
    irisi_gemm_print(w, p, 1, text, sizeof text);
    const int local = p->op == IRIS_GEMM_LOCAL && p->pattern != IRIS_GEMM_BLAS_GATHER;
    irisi_log(w->rank, IRISI_DEBUG, "iris_gemm_prepare: pattern %s%s, tile %u x %u%s, kernel %s, by %s: %s",
              local ? "none" : iris_gemm_pattern_name((iris_gemm_pattern)p->pattern),
              pattern_asked ? " (asked for)" : "", p->tiling.tile_m, p->tiling.tile_n, tile_asked ? " (asked for)" : "",
              kernel ? kernel->name : "of the caller's own", by, text);
}

/* iris_gemm_prepare, where `s` says that what the arguments were made of is sound; if it is not, this rank votes so. */
static iris_status irisi_gemm_prepare_by(iris_world *w, iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                                         const iris_gemm_args *args, iris_status s)
{
    iris_gemm_plan none;
    irisi_gemm_common common;
    irisi_tune_row row;
    const int given = plan != NULL && args != NULL; /* a rank without them still votes, since the others wait for it */
    plan = plan ? plan : &none;
    memset(&common, 0, sizeof common);
    memset(&row, 0, sizeof row);
    memset(plan, 0, sizeof *plan);
    plan->op = (unsigned)op < IRISI_GEMM_OPS ? op : IRIS_GEMM_ALL_SCATTER; /* one that can vote */
    plan->world = (uint32_t)iris_world_size(w);
    if (s == IRIS_OK)
        s = given ? irisi_gemm_check_values(w, op, dtype, args)
                  : irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: plan and args must not be null");
    if (s == IRIS_OK) {
        irisi_gemm_fill(w, plan, op, dtype, args);
        s = irisi_gemm_check_operands(w, plan, args);
    }
    if (s == IRIS_OK)
        s = irisi_gemm_check_workspace(w, plan, args);
    if (s == IRIS_OK) {
        irisi_gemm_divide(plan);
        common.blas = irisi_gemm_blas_of(op, args);
        s = irisi_gemm_find(w, plan, args, common.blas != 0, &row, &common.rows);
        common.row = row.hash;
    }
    if (s == IRIS_OK)
        s = irisi_gemm_ask(w, plan, args->plain_mainloop, &common);
    s = irisi_gemm_agree(w, plan, s, &common); /* before the heap is touched: all ranks allocate, or none */
    if (common.row == 0)
        memset(&row, 0, sizeof row);
    if (s == IRIS_OK) {
        const iris_status acquired = irisi_gemm_acquire(w, plan, &common, args->comm_workgroups, &row);
        s = irisi_gemm_agree(w, plan, acquired, &common); /* peers may raise signals now */
    }
    if (s != IRIS_OK) {
        irisi_gemm_free(w, plan);
        return s;
    }
    plan->launcher.magic = irisi_gemm_magic;
    if (irisi_verbose(w))
        irisi_gemm_log_choice(w, plan, args, &row);
    return s;
}

iris_status iris_gemm_prepare(iris_world *w, iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                              const iris_gemm_args *args)
{
    if (w == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: world, plan and args must not be null");
    return irisi_gemm_prepare_by(w, plan, op, dtype, args, IRIS_OK);
}

iris_status iris_gemm_release(iris_world *w, iris_gemm_plan *plan)
{
    if (w == NULL || plan == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_release: world and plan must not be null");
    if (plan->launcher.magic != irisi_gemm_magic)
        return IRIS_OK;
    if (!irisi_gemm_whole(w, plan))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_release: another copy of the plan was released already");
    /* After the barrier no peer raises the channel's signals. A GEMM alone has no channel. */
    const iris_status met = plan->op == IRIS_GEMM_LOCAL ? iris_synchronize(w) : iris_barrier(w);
    if (irisi_mendable(met))
        return met; /* peers may still touch what it holds; the plan stays valid until iris_reset */
    const iris_status freed = irisi_gemm_free(w, plan);
    return met != IRIS_OK ? met : freed;
}

const char *iris_gemm_pattern_name(iris_gemm_pattern pattern)
{
    static const char *const names[] = {"auto",           "bulk_synchronous", "producer_consumer", "fused_sequential",
                                        "wg_specialized", "wave_specialized", "blas_gather",       "copy_engine"};
    return (unsigned)pattern <= IRIS_GEMM_COPY_ENGINE ? names[pattern] : "none";
}

size_t iris_gemm_workspace_bytes(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *args)
{
    iris_gemm_plan plan;
    memset(&plan, 0, sizeof plan);
    if (w == NULL || args == NULL || irisi_gemm_check_values(w, op, dtype, args) != IRIS_OK)
        return 0;
    irisi_gemm_fill(w, &plan, op, dtype, args);
    const uint64_t bytes = irisi_gemm_room(&plan);
    return irisi_gemm_check_room(w, &plan, bytes) == IRIS_OK ? (size_t)bytes : 0;
}

uint32_t iris_gemm_tiles(const iris_gemm_plan *plan) { return plan ? plan->tiling.positions : 0; }

iris_launch_config iris_gemm_grid(const iris_gemm_plan *plan, uint32_t stages)
{
    if (plan == NULL)
        return iris_cooperative(0, 0);
    const uint32_t waves = stages > 1 ? plan->machine.waves_with_comm : plan->machine.waves;
    iris_launch_config cfg = iris_cooperative(plan->machine.workgroups, waves * plan->machine.wave_lanes);
    cfg.shared_bytes = stages ? irisi_gemm_shared_bytes(plan, stages)
                              : irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K) ? (uint32_t)IRISI_GEMM_COUNTERS : 0;
    cfg.cluster = stages ? plan->tiling.cluster : 0; /* a kernel that only sends has no clusters */
    if (stages && irisi_gemm_loop_is(plan->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K) && plan->tiling.split_k > 1)
        cfg.cluster = plan->tiling.split_k;
    return cfg;
}

/* Launches one kernel of a plan; `stages`: as for iris_gemm_grid. */
static iris_status irisi_gemm_start(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                    uint32_t workgroups, uint32_t stages, uint32_t flags, iris_stream stream)
{
    irisi_gemm_launch args;
    iris_launch_config cfg = iris_gemm_grid(plan, stages);
    cfg.workgroups = workgroups;
    cfg.flags = flags & IRIS_LAUNCH_COOPERATIVE;
    args.ctx = iris_device_ctx(w);
    args.plan = *plan;
    return irisi_launch_with(w, k->kernel, k->name, &args, sizeof args, &cfg, flags & IRISI_LAUNCH_EARLY, stream);
}

/* The plan's second stream goes on behind what the operation's stream has so far; at the end the reverse. */
static iris_status irisi_gemm_fork(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    const iris_status s = iris_event_record(w, plan->launcher.fork, stream);
    return s == IRIS_OK ? iris_stream_wait_event(w, plan->launcher.second, plan->launcher.fork) : s;
}
static iris_status irisi_gemm_join(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    const iris_status s = iris_event_record(w, plan->launcher.join, plan->launcher.second);
    return s == IRIS_OK ? iris_stream_wait_event(w, stream, plan->launcher.join) : s;
}

/*
 * Launches two kernels on two streams (not where irisi_gemm_in_sequence is 1); the operation's stream goes on when both
 * have ended. It is checked first that the second kernel can start: if only the first ran, tiles' flags would stay
 * raised in an epoch that does not end.
 */
static iris_status irisi_gemm_start_two(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *compute,
                                        const irisi_gemm_kernel *send, iris_stream stream)
{
    const uint32_t most = irisi_max_workgroups(w, send->kernel, iris_gemm_grid(plan, 0).lanes, 0);
    if (plan->machine.comm_workgroups > most)
        return irisi_fail(w, IRIS_ERR_GRID,
                          "GEMM launch: %u workgroups that send cannot be on the device at once, %u can",
                          plan->machine.comm_workgroups, most);
    iris_status s = irisi_gemm_fork(w, plan, stream);
    if (s == IRIS_OK)
        s = irisi_gemm_start(w, plan, compute, plan->machine.workgroups - plan->machine.comm_workgroups, 1,
                             irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES) ? 0 : IRIS_LAUNCH_COOPERATIVE,
                             stream); /* where it waits for peers, all its workgroups must be there */
    if (s == IRIS_OK)
        s = irisi_gemm_start(w, plan, send, plan->machine.comm_workgroups, 0, IRIS_LAUNCH_COOPERATIVE,
                             plan->launcher.second);
    return s == IRIS_OK ? irisi_gemm_join(w, plan, stream) : s;
}

/* Most batches in which copy_engine copies own rows, of equally many blocks of rows; the last may have fewer. */
enum { IRISI_GEMM_COPY_BATCHES = 4 };

/*
 * Copies rows first, first + 1, ... before `end` of this rank's shard of A to the gathered A of a rank. What is behind
 * a row there stays as it is: no mainloop uses it.
 */
static const char *irisi_gemm_copy_rows(iris_world *w, const iris_gemm_plan *plan, uint32_t first, uint32_t end,
                                        uint32_t rank, iris_stream stream)
{
    const size_t element = plan->operands.element, from_pitch = plan->inputs.ld * element;
    const size_t to_pitch = plan->operands.lda * element;
    if (first >= end)
        return NULL;
    char *to = (char *)plan->exchange.workspace + (irisi_gemm_rows_of(plan, plan->rank).first + first) * to_pitch;
    return irisi_dev_copy_rows(&w->dev, iris_translate(w, to, (int)rank), to_pitch,
                               (const char *)plan->inputs.a + first * from_pitch, from_pitch, plan->k * element,
                               end - first, stream);
}

/*
 * The same for all ranks, each of which begins with another one. Of this rank's rows those that it reads in place are
 * left out.
 */
static const char *irisi_gemm_copy_batch(iris_world *w, const iris_gemm_plan *plan, uint32_t first, uint32_t end,
                                         iris_stream stream)
{
    const uint32_t before = irisi_gemm_rows_of(plan, plan->rank).first;
    uint32_t in_place = end, behind = end; /* where those begin and end, within this batch */
    const char *why = NULL;
    for (uint32_t k = 1; k < plan->world && !why; k++)
        why = irisi_gemm_copy_rows(w, plan, first, end, (plan->rank + k) % plan->world, stream);
    if (plan->inputs.end > plan->inputs.first) {
        in_place = plan->inputs.first - before < end ? plan->inputs.first - before : end;
        behind = plan->inputs.end - before > first ? plan->inputs.end - before : first;
    }
    if (!why)
        why = irisi_gemm_copy_rows(w, plan, first, in_place, plan->rank, stream);
    return why ? why : irisi_gemm_copy_rows(w, plan, behind, end, plan->rank, stream);
}

/* Launches the kernel behind the copies of so many blocks of rows; 0: before the first ones. */
static iris_status irisi_gemm_start_copied(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                           uint32_t first, uint32_t blocks, iris_stream stream)
{
    const iris_launch_config one = iris_grid(1, plan->machine.wave_lanes);
    irisi_gemm_launch args;
    args.ctx = iris_device_ctx(w);
    args.plan = *plan;
    args.plan.copied.first = first, args.plan.copied.count = blocks;
    return irisi_launch(w, k->kernel, k->name, &args, sizeof args, &one, stream);
}

/* Puts the copies of own rows on a stream, and between them the kernel by which the ranks know of them. */
static iris_status irisi_gemm_start_copies(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                           iris_stream stream)
{
    const uint32_t rows = irisi_gemm_rows_of(plan, plan->rank).count;
    const uint32_t blocks = (rows + IRISI_GEMM_BLOCK_ROWS - 1) / IRISI_GEMM_BLOCK_ROWS;
    const uint32_t each = (blocks + IRISI_GEMM_COPY_BATCHES - 1) / IRISI_GEMM_COPY_BATCHES;
    iris_status s = blocks > 0 ? irisi_gemm_start_copied(w, plan, k, 0, 0, stream) : IRIS_OK;
    for (uint32_t block = 0; s == IRIS_OK && block < blocks; block += each) {
        const uint32_t more = block + each < blocks ? each : blocks - block;
        const uint32_t first = block * IRISI_GEMM_BLOCK_ROWS, end = first + more * IRISI_GEMM_BLOCK_ROWS;
        s = irisi_device_result(w, "GEMM launch",
                                irisi_gemm_copy_batch(w, plan, first, end < rows ? end : rows, stream));
        if (s == IRIS_OK)
            s = irisi_gemm_start_copied(w, plan, k, block, more, stream);
    }
    return s;
}

/*
 * copy_engine: puts the copies on another stream and launches the kernel that waits for them (not where
 * irisi_gemm_in_sequence is 1). The copies are submitted first: where a device serves both streams by one queue, the
 * kernel then begins behind them, and would hold them up for good otherwise. So it is checked before that the kernel
 * can start.
 */
static iris_status irisi_gemm_start_beside_copies(iris_world *w, const iris_gemm_plan *plan,
                                                  const irisi_gemm_kernel *compute, const irisi_gemm_kernel *copied,
                                                  iris_stream stream)
{
    const iris_launch_config cfg = iris_gemm_grid(plan, 1);
    const uint32_t workgroups = plan->machine.workgroups - plan->machine.comm_workgroups;
    const uint32_t most = irisi_max_workgroups(w, compute->kernel, cfg.lanes, cfg.shared_bytes);
    if (workgroups > most)
        return irisi_fail(w, IRIS_ERR_GRID,
                          "GEMM launch: %u workgroups that compute cannot be on the device at once, %u can", workgroups,
                          most);
    iris_status s = irisi_gemm_fork(w, plan, stream);
    if (s == IRIS_OK)
        s = irisi_gemm_start_copies(w, plan, copied, plan->launcher.second);
    if (s == IRIS_OK)
        s = irisi_gemm_start(w, plan, compute, workgroups, 1, IRIS_LAUNCH_COOPERATIVE, stream);
    return s == IRIS_OK ? irisi_gemm_join(w, plan, stream) : s;
}

iris_status iris_gemm_pack(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    if (!irisi_gemm_whole(w, plan))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_pack: the plan is not from iris_gemm_prepare, or was released");
    return irisi_gemm_start_pack(w, plan, stream);
}

int irisi_gemm_capturing(iris_world *w, iris_stream stream)
{
    return w != NULL && !irisi_foreign(w) && irisi_dev_stream_capturing(&w->dev, stream ? stream : w->stream);
}

int irisi_gemm_in_sequence(iris_world *w, iris_stream stream)
{
    return irisi_gemm_capturing(w, stream) || (w != NULL && irisi_dev_shared(&w->dev));
}

/*
 * Launches a kernel that only computes. Loops for few rows get no more workgroups than there are tiles; the gemv loop
 * gets one for each split of each tile.
 */
static iris_status irisi_gemm_start_compute_only(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                                 uint32_t flags, iris_stream stream)
{
    iris_gemm_plan p = *plan;
    uint32_t workgroups = p.machine.workgroups;
    if (irisi_gemm_can_cluster_split_k(w, plan)) {
        workgroups = irisi_gemm_cluster_split_k(&p, p.tiling.cluster_split_k);
        p.machine.slots = 0; /* tiles leave by lanes: nothing is staged */
        p.machine.next =
            p.tiling.split_k > 1 || p.tiling.positions > plan->machine.workgroups ? IRISI_NEXT_READ : IRISI_NEXT_SUMMED;
    }
    if (irisi_gemm_loop_is(p.mainloop, IRISI_GEMM_LOOPS_SKINNY) && p.tiling.positions < workgroups)
        workgroups = p.tiling.positions;
    return irisi_gemm_start(w, &p, k, workgroups > 0 ? workgroups : 1, 1, flags, stream);
}

/* Launches the kernel of fused_sequential; the gemv loop's may have clusters that compute splits of K. */
static iris_status irisi_gemm_start_fused(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                          iris_stream stream)
{
    iris_gemm_plan p = *plan;
    const int any_grid = irisi_gemm_waits_in(plan, IRIS_GEMM_FUSED_SEQUENTIAL) == IRISI_GEMM_KERNEL_PACKETS ||
                         irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES);
    const uint32_t cluster_split_k =
        any_grid && p.tiling.cluster_split_k_fused > 0 && irisi_gemm_can_cluster_split_k(w, plan);
    const uint32_t workgroups =
        cluster_split_k ? irisi_gemm_cluster_split_k(&p, p.tiling.cluster_split_k_fused) : p.machine.workgroups;
    return irisi_gemm_start(w, &p, k, workgroups, 1, IRIS_LAUNCH_COOPERATIVE, stream);
}

/* Refuses a plan that was not made for a launcher; the GEMM of any plan can be launched alone. */
static iris_status irisi_gemm_check_launch(iris_world *w, const iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                                           iris_dtype c_dtype, iris_gemm_pattern pattern)
{
    if (w != NULL && irisi_foreign(w))
        return irisi_refuse_fork(w, "GEMM launch");
    if (!irisi_gemm_whole(w, plan))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "GEMM launch: the plan is not from iris_gemm_prepare, or was released");
    if (op == IRIS_GEMM_LOCAL && irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K | IRISI_GEMM_OPS_GATHERS))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "GEMM launch: a plan for %s has no GEMM alone, since all ranks take part in each element; "
                          "prepare one for IRIS_GEMM_LOCAL",
                          irisi_gemm_op_names[plan->op]);
    if (plan->operands.dtype != (uint32_t)dtype || plan->sums.c_dtype != (uint32_t)c_dtype)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "GEMM launch: a launcher for %s was given a plan for %s",
                          irisi_gemm_types_of(dtype, c_dtype)->name, irisi_gemm_types_name(plan));
    if (irisi_gemm_splits(pattern) && plan->machine.comm_workgroups >= plan->machine.workgroups)
        return irisi_fail(w, IRIS_ERR_GRID, "GEMM launch: %s needs 2 or more workgroups, but the plan has %u",
                          iris_gemm_pattern_name(pattern), plan->machine.workgroups);
    if (op != IRIS_GEMM_LOCAL && plan->op != (uint32_t)op)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "GEMM launch: a launcher of %s was given a plan for %s",
                          irisi_gemm_op_names[op], irisi_gemm_op_names[plan->op]);
    return IRIS_OK;
}

/* Launches the kernel that communicates, by signals or packets. */
static iris_status irisi_gemm_start_communicate(iris_world *w, const iris_gemm_plan *plan, const irisi_gemm_kernel *k,
                                                irisi_gemm_kernel_role role, uint32_t workgroups, iris_stream stream)
{
    return irisi_gemm_start(w, plan, k, irisi_gemm_communicators(plan, role, workgroups), 0, IRIS_LAUNCH_COOPERATIVE,
                            stream);
}

iris_status irisi_gemm_run(iris_world *w, const iris_gemm_plan *plan, iris_gemm_op op, iris_dtype dtype,
                           iris_dtype c_dtype, iris_gemm_pattern pattern, iris_stream stream)
{
    const iris_status sound = irisi_gemm_check_launch(w, plan, op, dtype, c_dtype, pattern);
    const irisi_gemm_kernel *part[IRISI_GEMM_KERNEL_ROLES];
    int found = 0;
    if (sound != IRIS_OK)
        return sound;
    const iris_status taken = irisi_take_stream(w, "GEMM launch", &stream); /* before the caller's BLAS may be called */
    if (taken != IRIS_OK)
        return taken;
    const iris_status offered =
        op == IRIS_GEMM_LOCAL ? IRIS_OK : irisi_gemm_check_offered(w, plan, "GEMM launch", pattern);
    iris_gemm_plan routed;
    if (irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_K)) { /* maybe by another pattern than the plan's own */
        routed = *plan;
        irisi_gemm_route_by(&routed, pattern);
        plan = &routed;
    }
    if (offered != IRIS_OK)
        return offered;
    if (op == IRIS_GEMM_LOCAL && plan->op == IRIS_GEMM_LOCAL && plan->pattern == IRIS_GEMM_BLAS_GATHER)
        return irisi_gemm_start_blas(w, plan, stream);
    for (int role = 0; role < IRISI_GEMM_KERNEL_ROLES; role++) {
        part[role] = irisi_gemm_kernel_of(plan, op == IRIS_GEMM_LOCAL ? IRIS_GEMM_BULK_SYNCHRONOUS : pattern,
                                          (irisi_gemm_kernel_role)role);
        found += part[role] != NULL;
    }
    if (found == 0)
        return irisi_fail(w, IRIS_ERR_ARCH, "GEMM launch: this build has no kernel for the plan's mainloop %u",
                          plan->mainloop);
    /*
     * A GEMM alone waits for no rank, so it may begin while the kernel before it ends. Not without tiles: only waves
     * that have a tile wait for that end.
     */
    const uint32_t early_launch = plan->machine.early_launch && plan->tiling.positions > 0 ? IRISI_LAUNCH_EARLY : 0;
    const irisi_gemm_kernel *whole = part[IRISI_GEMM_KERNEL_WHOLE], *compute = part[IRISI_GEMM_KERNEL_COMPUTE];
    const irisi_gemm_kernel_role waits = irisi_gemm_waits_in(plan, pattern);
    const irisi_gemm_kernel *communicate = irisi_gemm_only_communicates(waits) ? part[waits] : NULL;
    const int gathers = irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_GATHERS); /* the kernel that communicates is first */
    const int no_peers = plan->world == 1 && irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES);
    const uint32_t equal = irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SENDS_TILES) ? plan->machine.workgroups
                                                                                  : plan->machine.equal_workgroups;
    iris_status s = IRIS_OK;
    if (gathers && communicate != NULL && pattern != IRIS_GEMM_PRODUCER_CONSUMER)
        s = irisi_gemm_start_communicate(w, plan, communicate, waits, equal, stream);
    if (s == IRIS_OK)
        s = pattern == IRIS_GEMM_BLAS_GATHER ? irisi_gemm_start_blas(w, plan, stream)
                                             : irisi_gemm_start_pack(w, plan, stream);
    if (s != IRIS_OK)
        return s;
    if (op == IRIS_GEMM_LOCAL)
        return irisi_gemm_start_compute_only(w, plan, compute, early_launch, stream);
    switch (pattern) {
    case IRIS_GEMM_BULK_SYNCHRONOUS:
        s = irisi_gemm_start_compute_only(w, plan, compute, early_launch, stream);
        return s != IRIS_OK || gathers ? s : irisi_gemm_start_communicate(w, plan, communicate, waits, equal, stream);
    case IRIS_GEMM_BLAS_GATHER:
        return no_peers || gathers ? IRIS_OK : irisi_gemm_start_communicate(w, plan, communicate, waits, equal, stream);
    case IRIS_GEMM_PRODUCER_CONSUMER:
        return irisi_gemm_start_two(w, plan, compute, communicate, stream);
    case IRIS_GEMM_COPY_ENGINE:
        return irisi_gemm_start_beside_copies(w, plan, compute, part[IRISI_GEMM_KERNEL_COMMUNICATE], stream);
    case IRIS_GEMM_WAVE_SPECIALIZED:
        return irisi_gemm_start(w, plan, whole, plan->machine.workgroups, 2, IRIS_LAUNCH_COOPERATIVE, stream);
    case IRIS_GEMM_FUSED_SEQUENTIAL:
        return irisi_gemm_start_fused(w, plan, part[waits], stream);
    default: return irisi_gemm_start(w, plan, whole, plan->machine.workgroups, 1, IRIS_LAUNCH_COOPERATIVE, stream);
    }
}

#endif
#endif
