/* SPDX-License-Identifier: MIT */
/*
 * choose.h: a part of init.c: chooses a plan's mainloop, pattern and shape.
 *
 * A choice depends only on what all ranks have in common, so that all choose alike. Where ranks have different numbers
 * of workgroups, the smallest counts.
 */
#ifndef IRIS_RUNTIME_GEMM_CHOOSE_H
#define IRIS_RUNTIME_GEMM_CHOOSE_H
#ifdef IRIS_INIT_C

#include <iris/mainloop/maps.h>
#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/validate.h>
#include <iris/runtime/gemm/tile_search.h>
#include <iris/runtime/gemm/ll_banks.h>
#include <iris/runtime/gemm/packing.h>
#include <iris/runtime/gemm/tune_rows.h>

/* What the choice of a mainloop depends on: first this rank's values, then what all ranks have in common (agree.h). */
typedef struct irisi_gemm_common {
    uint64_t mainloops; /* of the image and the device */
    uint64_t aligned;   /* rows 16-byte aligned, not too far apart: of A and B or copies (bit 0), A (1), B (2) */
    uint64_t tma_store; /* C's rows are aligned too, and ranks few enough: all ones, or 0 */
    uint64_t no_epilogue; /* nothing but the product is asked for: all ones, or 0 */
    uint64_t full;       /* every rank has as many workgroups as its device has units: all ones, or 0 */
    uint64_t workgroups; /* the fewest that a rank has */
    uint64_t k;          /* the shortest part of K, where K is split; else K */
    uint64_t equal_k;    /* K, or the part of K that every rank has; 0: they differ */
    uint64_t xcds;       /* chiplets, where all ranks have as many; else 1 */
    uint64_t blas;       /* 1 + the slowest rank's BLAS in 10^9 operations a second; 0: not every rank has one */
    uint64_t row;        /* the hash of the tuning row that all ranks have found; 0: not all found the same */
    uint64_t rows;       /* the hash of all tuning rows that the rank has read */
} irisi_gemm_common;

/* Rank 0 warns once when the image lacks the device's fastest mainloop for these types: results are right, but slow. */
static void irisi_gemm_warn(iris_world *w, const iris_gemm_plan *p, uint64_t mainloops)
{
    const irisi_gemm_offer *offered = irisi_gemm_base(p);
    const irisi_gemm_image best = irisi_gemm_image_of(iris_arch_name(w), p->operands.dtype, p->operands.tf32);
    size_t i = 0;
    while (i < offered->n && offered->rows[i].mainloop != best.mainloop)
        i++;
    if (w->gemm_warned || i == offered->n || mainloops >> best.mainloop & 1)
        return;
    w->gemm_warned = 1;
    if (iris_rank(w) == 0)
        irisi_warn("iris_gemm_prepare: this program's image lacks the fastest loop of %s for GEMMs of %s: compile its "
                   "kernels with %s",
                   iris_arch_name(w), irisi_gemm_types_name(p), best.option);
}

/*
 * 1 when the copy engine can store C, and each further C: it writes whole 16 bytes, and lanes what is behind the last
 * of them.
 */
static int irisi_gemm_stores_boxes(const iris_gemm_plan *p)
{
    const uint32_t element = p->operands.c_element;
    for (uint32_t i = 0; i <= p->several.count; i++) {
        const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, i);
        const uint64_t at = (uint64_t)(uintptr_t)x.c | x.ldc * element | (uint64_t)p->region.n0 * element;
        const uint64_t row = (uint64_t)x.columns * element;
        if (x.ldc > IRISI_GEMM_MOST_PITCH / element ||
            (row > 0 && (at % 16 != 0 || row < 16 ||
                         (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K) && row % 16 != 0))))
            return 0;
    }
    return 1;
}

/*
 * Asks the device which mainloops the image has for the plan's types. Programs with only their own kernels: the plain.
 */
static iris_status irisi_gemm_ask(iris_world *w, const iris_gemm_plan *p, int plain, irisi_gemm_common *own)
{
    const irisi_gemm_offer *base = irisi_gemm_base(p);
    const iris_launch_config one = iris_grid(1, IRISI_GEMM_WAVE_LANES);
    irisi_gemm_probe args;
    irisi_control control;
    own->aligned = UINT64_MAX;
    for (int i = 0; i < 2 + (int)p->several.count; i++) {
        const irisi_gemm_packing copy = irisi_gemm_packing_of(p, i);
        if (irisi_gemm_reads(&copy))
            continue;
        if (copy.to_pitch > IRISI_GEMM_MOST_PITCH)
            own->aligned = 0;
        else if (i || !copy.transposed) /* no mainloop reads a transposed A: all take the same aligned copy */
            own->aligned &= ~((uint64_t)2 << (i > 0));
    }
    const int elsewhere = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES | IRISI_GEMM_OPS_SPLIT_K);
    const int mapped = !elsewhere || p->world <= IRISI_GEMM_TMA_STORE_RANKS; /* wherever tiles are written */
    const int pairs = irisi_gemm_gated(p); /* of columns, which are read from rows of staging tiles */
    own->tma_store = mapped && !pairs && irisi_gemm_stores_boxes(p) ? UINT64_MAX : 0;
    own->no_epilogue = p->operands.alpha == 1 && p->operands.beta == 0 && p->operands.bias == NULL &&
                               p->operands.activation == IRIS_ACTIVATION_NONE && p->operands.scale_a == NULL &&
                               p->operands.scale_b == NULL && p->operands.scale_c == NULL
                           ? UINT64_MAX
                           : 0;
    own->mainloops = 1u << IRISI_GEMM_PLAIN, own->workgroups = p->machine.workgroups, own->k = own->equal_k = p->k;
    own->full = p->machine.workgroups >= (uint32_t)iris_compute_units(w) ? UINT64_MAX : 0;
    if (base == NULL && p->launcher.a_transposed)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: a_transposed needs the kernel that copies a, which this program lacks "
                          "for %s: define IRIS_INSTANTIATE_GEMM_ of these types, or give a as m x k",
                          irisi_gemm_types_name(p));
    if (base == NULL || plain)
        return IRIS_OK;
    args.control = w->control;
    iris_status s = irisi_launch(w, base->probe, "irisi_gemm_probe", &args, sizeof args, &one, NULL);
    if (s == IRIS_OK)
        s = iris_memcpy(w, &control, w->control, sizeof control);
    if (s == IRIS_OK)
        own->mainloops = control.mainloops, irisi_gemm_warn(w, p, own->mainloops);
    if (p->pattern != IRIS_GEMM_AUTO) /* only mainloops that the program has this pattern for, and plain */
        own->mainloops &= irisi_gemm_offered_loops(p) | 1u << IRISI_GEMM_PLAIN;
    return s;
}

/* The cut that a tuning row asks for; its width is 0 where the row leaves the cut open. */
static irisi_gemm_cutting irisi_tune_row_cut(const irisi_tune_row *row)
{
    const uint32_t *v = row->value;
    irisi_gemm_cutting c;
    memset(&c, 0, sizeof c);
    c.width = v[IRISI_TUNE_WIDTH], c.tail_tiles = v[IRISI_TUNE_TAIL_TILES], c.tail_halves = v[IRISI_TUNE_TAIL_HALVES];
    c.edge_width = v[IRISI_TUNE_EDGE_WIDTH] ? v[IRISI_TUNE_EDGE_WIDTH] : c.width;
    c.cluster = v[IRISI_TUNE_CLUSTER] ? v[IRISI_TUNE_CLUSTER] : 1,
    c.split_k = v[IRISI_TUNE_SPLIT_K] ? v[IRISI_TUNE_SPLIT_K] : 1;
    c.head_halves = v[IRISI_TUNE_HEAD_HALVES];
    c.sender_tiles = c.width ? v[IRISI_TUNE_SENDER_TILES] : IRISI_GEMM_ANY_SENDER_TILES;
    c.full_n = row->given >> IRISI_TUNE_FULL & 1 ? v[IRISI_TUNE_FULL] : INT32_MAX; /* the most a row can say */
    return c;
}

/*
 * A problem's `compute_only`, on which the choice of the gemv loop depends: 1 when all workgroups of a kernel that only
 * computes take part, 2 for those of fused_sequential's kernel, else 0. An open pattern counts as fused_sequential,
 * with one rank as bulk_synchronous. `full`: every rank has as many workgroups as units; a row's number of `workgroups`
 * is compared with this rank's units, and counts only with one rank.
 */
static uint32_t irisi_gemm_compute_only(const iris_world *w, const iris_gemm_plan *p, uint32_t pattern,
                                        uint32_t workgroups, uint32_t full)
{
    if (workgroups > 0)
        full = p->world == 1 && workgroups >= (uint32_t)iris_compute_units(w);
    if (pattern == IRIS_GEMM_AUTO)
        pattern = p->world == 1 ? IRIS_GEMM_BULK_SYNCHRONOUS : IRIS_GEMM_FUSED_SEQUENTIAL;
    if (!full || (p->world == 1 && pattern == IRIS_GEMM_FUSED_SEQUENTIAL))
        return 0;
    return pattern == IRIS_GEMM_BULK_SYNCHRONOUS ? 1 : pattern == IRIS_GEMM_FUSED_SEQUENTIAL ? 2 : 0;
}

/* The shape for a problem, as a tuning row asks for it. 1, or 0 with the reason in `why` when that is not possible. */
static int irisi_gemm_fit_tune_row(iris_world *w, const iris_gemm_plan *plan, const irisi_tune_row *row,
                                   irisi_gemm_problem *q, irisi_gemm_shape *s, char *why, size_t room)
{
    const uint32_t *v = row->value, workgroups = v[IRISI_TUNE_WORKGROUPS] ? v[IRISI_TUNE_WORKGROUPS] : q->workgroups;
    const uint32_t comm = v[IRISI_TUNE_COMM] ? v[IRISI_TUNE_COMM] : (uint32_t)irisi_gemm_splits(v[IRISI_TUNE_PATTERN]);
    irisi_gemm_cutting c = irisi_tune_row_cut(row);
    iris_gemm_plan p = *plan;
    q->workgroups = workgroups;
    q->tile_m = v[IRISI_TUNE_HEIGHT] ? v[IRISI_TUNE_HEIGHT] : plan->tiling.tile_m;
    if (row->given >> IRISI_TUNE_SKINNY & 1)
        q->skinny = v[IRISI_TUNE_SKINNY] == 2 ? IRISI_SKINNY_GEMV
                    : v[IRISI_TUNE_SKINNY]    ? IRISI_SKINNY_MUST
                                              : IRISI_SKINNY_NEVER;
    else if (v[IRISI_TUNE_HEIGHT] || c.width)
        q->skinny = IRISI_SKINNY_NEVER; /* height and width without skinny are for the other loops */
    const int skinny = q->skinny == IRISI_SKINNY_MUST || q->skinny == IRISI_SKINNY_GEMV;
    if (skinny && c.width)
        q->tile_n = c.width;
    if (q->skinny == IRISI_SKINNY_GEMV)
        q->split_k = v[IRISI_TUNE_SPLIT_K], c.split_k = 1;
    q->compute_only = irisi_gemm_compute_only(w, plan, v[IRISI_TUNE_PATTERN] ? v[IRISI_TUNE_PATTERN] : plan->pattern,
                                              v[IRISI_TUNE_WORKGROUPS], q->full);
    *s = irisi_gemm_pick(iris_arch_name(w), q);
    if (q->b_unaligned && (c.width > irisi_gemm_largest_tile(s->mainloop, q->element).n ||
                           c.cluster > irisi_gemm_most_cluster(s->mainloop))) {
        q->b_unaligned = 0; /* B is copied, then, and a loop computes it that has such tiles */
        *s = irisi_gemm_pick(iris_arch_name(w), q);
    }
    const int cuts = irisi_gemm_narrowest(s->mainloop) != 0;
    if (c.width && !cuts && !irisi_gemm_loop_is(s->mainloop, IRISI_GEMM_LOOPS_SKINNY)) {
        q->tile_n = c.width;
        *s = irisi_gemm_pick(iris_arch_name(w), q);
    }
    const irisi_gemm_extent most = irisi_gemm_largest_tile(s->mainloop, q->element);
    p.tiling.unit = irisi_gemm_narrowest(s->mainloop), p.tiling.tile_m = s->tile_m;
    why[0] = 0;
    if (row->given == 0)
        return 1;
    if (skinny &&
        !(irisi_gemm_loop_is(s->mainloop, IRISI_GEMM_LOOPS_SKINNY) &&
          irisi_gemm_loop_is(s->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K) == (q->skinny == IRISI_SKINNY_GEMV)))
        snprintf(
            why, room,
            "skinny=%u height=%u width=%u split_k=%u cannot be: no such loop for these types here, or no such tile",
            v[IRISI_TUNE_SKINNY], q->tile_m, q->tile_n, q->split_k);
    else if (comm >= workgroups)
        snprintf(why, room, "comm=%u of %u workgroups leaves none to compute", comm, workgroups);
    else if ((v[IRISI_TUNE_HEIGHT] && !irisi_gemm_fits(q, most)) || c.width > most.n)
        snprintf(why, room, "height=%u width=%u is too large a tile; the kernel's is %u x %u", q->tile_m, c.width,
                 most.m, most.n);
    else if (!cuts && (c.head_halves + c.tail_tiles > 0 || c.cluster * c.split_k > 1 || v[IRISI_TUNE_SENDER_TILES] > 0))
        snprintf(
            why, room,
            "head_halves=%u tail_tiles=%u cluster=%u split_k=%u sender_tiles=%u cannot be: this kernel's tiles are "
            "all of one kind",
            c.head_halves, c.tail_tiles, c.cluster, c.split_k, v[IRISI_TUNE_SENDER_TILES]);
    else if (cuts && c.width &&
             !(irisi_gemm_covers(&p, &c, irisi_gemm_laid(&p, 0, c.width)) &&
               irisi_gemm_covers(&p, &c, irisi_gemm_laid(&p, p.world - 1, c.width))))
        snprintf(why, room,
                 "width=%u head_halves=%u tail_tiles=%u tail_halves=%u edge_width=%u do not cut the band into "
                 "multiples of %u columns",
                 c.width, c.head_halves, c.tail_tiles, c.tail_halves, c.edge_width, p.tiling.unit);
    return why[0] == 0;
}

/*
 * Applies a tuning row's choices, which contradict no argument. A choice that is not possible is an error if the row
 * came from the caller or the environment; a row of the built-in table is ignored then (it was measured with another
 * kernel).
 */
static iris_status irisi_gemm_obey(iris_world *w, iris_gemm_plan *p, irisi_tune_row *row, irisi_gemm_problem *q,
                                   irisi_gemm_shape *s, uint32_t *senders)
{
    const irisi_gemm_problem before = *q;
    const uint32_t *v = row->value;
    char why[256];
    if (!irisi_gemm_fit_tune_row(w, p, row, q, s, why, sizeof why)) {
        if (row->from[0])
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: %s", row->from, why);
        memset(row, 0, sizeof *row);
        *q = before;
        irisi_gemm_fit_tune_row(w, p, row, q, s, why, sizeof why);
    }
    if (v[IRISI_TUNE_PATTERN])
        p->pattern = v[IRISI_TUNE_PATTERN];
    if (v[IRISI_TUNE_WORKGROUPS])
        p->machine.workgroups = v[IRISI_TUNE_WORKGROUPS];
    if (v[IRISI_TUNE_COMM])
        *senders = p->machine.comm_workgroups = v[IRISI_TUNE_COMM];
    else if (v[IRISI_TUNE_WORKGROUPS] && *senders == 0)
        p->machine.comm_workgroups = irisi_gemm_sixth(p);
    return IRIS_OK;
}

/* The schedule counts up to twice as many tiles as a band of so many columns has, in 32 bits (gemm/scheduler.h). */
static iris_status irisi_gemm_check_units(iris_world *w, const iris_gemm_plan *p, uint32_t columns)
{
    const uint64_t units =
        (p->m + p->tiling.tile_m - 1) / p->tiling.tile_m * (((uint64_t)columns + p->tiling.unit - 1) / p->tiling.unit);
    const int most = INT32_MAX / 8;
    if (units <= (uint64_t)most)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "iris_gemm_prepare: tiles of %u x %u are too small: %llu of them for a band, at most %d",
                      p->tiling.tile_m, p->tiling.tile_n, (unsigned long long)units, most);
}

/* Chooses the mainloop and fills in what follows from its shape, once the ranks know what they have in common. */
static iris_status irisi_gemm_shape_plan(iris_world *w, iris_gemm_plan *p, const irisi_gemm_common *all,
                                         uint32_t senders, irisi_tune_row *row)
{
    irisi_gemm_problem q;
    irisi_gemm_shape s;
    q.mainloops = (uint32_t)all->mainloops;
    if (all->equal_k == 0) /* loops for few rows lay out shared memory by K */
        q.mainloops &= ~(uint32_t)IRISI_GEMM_LOOPS_SKINNY;
    q.tma_store = all->tma_store != 0;
    q.aligned = all->aligned & 1, q.a_unaligned = !(all->aligned >> 1 & 1), q.b_unaligned = !(all->aligned >> 2 & 1);
    q.skinny = IRISI_SKINNY_MAY, q.split_k = 0;
    q.full = all->full != 0, q.compute_only = irisi_gemm_compute_only(w, p, p->pattern, 0, q.full);
    q.no_epilogue = all->no_epilogue != 0, q.tf32 = p->operands.tf32, q.c_dtype = p->operands.c_dtype;
    q.dtype = p->operands.dtype, q.element = p->operands.element, q.c_element = p->operands.c_element,
    q.accumulator = p->operands.element == 8 ? 8 : 4;
    q.m = p->m, q.n = irisi_gemm_columns_of(p, 0), q.k = p->k;
    q.b_transposed = p->operands.b_transposed, q.workgroups = p->machine.workgroups;
    q.tile_m = p->tiling.tile_m, q.tile_n = p->tiling.tile_n;
    const iris_status obeyed = irisi_gemm_obey(w, p, row, &q, &s, &senders);
    if (obeyed != IRIS_OK)
        return obeyed;
    irisi_gemm_cutting cut = irisi_tune_row_cut(row);
    const int asked = p->pattern != IRIS_GEMM_AUTO;
    if (irisi_gemm_loop_is(s.mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K))
        cut.split_k = 1; /* the gemv loop's split is cluster_split_k, which not every kernel of the plan has */
    const irisi_gemm_extent most = irisi_gemm_largest_tile(s.mainloop, q.element);
    if (!irisi_gemm_fits(&q, most))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: a tile of %u x %u is too large; the %s kernel's is %u x %u", q.tile_m,
                          q.tile_n, irisi_gemm_types_name(p), most.m, most.n);
    p->mainloop = s.mainloop, p->tiling.cluster_split_k = s.cluster_split_k, p->tiling.tile_m = s.tile_m,
    p->tiling.tile_n = s.tile_n, p->machine.stage_n = s.stage_n;
    p->machine.stage_m = s.stage_m, p->machine.pass_m = irisi_gemm_pass_m(s.mainloop, s.tile_m);
    p->machine.math_waves = s.math_waves, p->machine.comm_waves = s.comm_waves,
    p->machine.wave_lanes = IRISI_GEMM_WAVE_LANES;
    p->machine.tma_store = s.tma_store, p->machine.window = s.window, p->machine.slots = s.slots,
    p->machine.slots_with_comm = s.slots_with_comm;
    p->machine.waves = s.waves, p->machine.waves_with_comm = s.waves_with_comm;
    if (irisi_gemm_one_pattern(p->op) && p->op != IRIS_GEMM_LOCAL && senders == 0)
        p->machine.comm_workgroups =
            p->pattern == IRIS_GEMM_COPY_ENGINE ? irisi_gemm_copy_room(p) : irisi_gemm_gatherers(p);
    p->machine.early_launch = irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_EARLY_LAUNCH) ||
                              (irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_EARLY_BESIDE) &&
                               (all->mainloops & IRISI_GEMM_LOOPS_EARLY_LAUNCH) != 0);
    p->tiling.unit =
        q.tile_n == 0 && irisi_gemm_narrowest(p->mainloop) ? irisi_gemm_narrowest(p->mainloop) : p->tiling.tile_n;
    /* Whether iris_gemm_release has a barrier: the same on every rank, although K may be cut on some of them only. */
    p->launcher.copies =
        irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K) || /* some rank may have zeros for A and B */
        p->launcher.a_transposed ||
        (!irisi_gemm_reads_unaligned(p, 0) &&
         (all->aligned != UINT64_MAX || irisi_gemm_most_split_k(p->mainloop) > 1));
    const iris_status units = irisi_gemm_check_units(w, p, q.n), sends = irisi_gemm_ll_choose(w, p, row, all->blas > 0);
    if (units != IRIS_OK || sends != IRIS_OK)
        return units != IRIS_OK ? units : sends;
    const int asked_by_row = row->value[IRISI_TUNE_PATTERN] != IRIS_GEMM_AUTO && irisi_gemm_one_pattern(p->op);
    const double tflops = all->blas > 0 && !asked_by_row ? 1e-3 * (double)(all->blas - 1) : 0;
    if (!irisi_gemm_cut(p, senders, &cut, tflops)) {
        if (row->from[0])
            return irisi_fail(
                w, IRIS_ERR_ARGUMENT,
                "iris_gemm_prepare: %s: width=%u tail_tiles=%u split_k=%u sender_tiles=%u cannot be with %u "
                "workgroups, %u to send, and a K of %u",
                row->from, cut.width, cut.tail_tiles, cut.split_k, row->value[IRISI_TUNE_SENDER_TILES],
                p->machine.workgroups, p->machine.comm_workgroups, p->k);
        cut = irisi_gemm_open_cut();
        irisi_gemm_cut(p, senders, &cut, tflops);
    }
    if (!asked && irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K) &&
        p->pattern != IRIS_GEMM_BLAS_GATHER) /* the pattern for which the gemv loop was chosen */
        p->pattern = p->world == 1 ? IRIS_GEMM_BULK_SYNCHRONOUS : IRIS_GEMM_FUSED_SEQUENTIAL;
    irisi_gemm_rotate(p);
    /* 16 bytes more than a row needs: a row may start anywhere within 16 bytes, and rows start in different banks. */
    p->machine.pitch = (p->machine.stage_n * p->operands.c_element + 15) / 16 * 16 + (p->machine.tma_store ? 0 : 16);
    p->machine.stage_bytes = (s.stage_m * p->machine.pitch + 127) / 128 * 128;
    p->machine.workspace_bytes = (s.workspace_bytes + 127) / 128 * 128;
    p->machine.workspace_bytes_with_comm = (s.workspace_bytes_with_comm + 127) / 128 * 128;
    return IRIS_OK;
}

/* Chooses a pattern where the platform gives no times, from what all ranks have in common. */
static iris_gemm_pattern irisi_gemm_choose(const iris_gemm_plan *p)
{
    if (p->world == 1 || p->exchange.ll_pitch > 0 || !irisi_gemm_may_choose(p->mainloop, IRIS_GEMM_WAVE_SPECIALIZED))
        return IRIS_GEMM_FUSED_SEQUENTIAL;
    /* With fewer than two tiles for each workgroup there is little to overlap. */
    const uint32_t columns = irisi_gemm_columns_of(p, 0);
    const uint32_t tiles = p->tiling.tiles_m * ((columns + p->tiling.tile_n - 1) / p->tiling.tile_n);
    return tiles >= 2 * p->machine.workgroups ? IRIS_GEMM_WAVE_SPECIALIZED : IRIS_GEMM_FUSED_SEQUENTIAL;
}

#endif
#endif
