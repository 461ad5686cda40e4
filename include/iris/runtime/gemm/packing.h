/* SPDX-License-Identifier: MIT */
/*
 * packing.h: a part of init.c: copies of operands that a mainloop cannot read in place.
 *
 * Mainloops other than the plain one need rows of A and B that start at multiples of 16 bytes and are at most
 * IRISI_GEMM_MOST_PITCH apart; for elements of 8 or 32 bits most need a B that is n x k. Every mainloop needs an A that
 * is m x k. Each launch copies what does not fit into memory of the device. The mainloop is the same on every rank, but
 * pointers, row pitches and widths of bands differ, so that some ranks copy and others do not. The memory is therefore
 * not of the heap, whose allocations are the same on every rank.
 */
#ifndef IRIS_RUNTIME_GEMM_PACKING_H
#define IRIS_RUNTIME_GEMM_PACKING_H
#ifdef IRIS_INIT_C

#include <iris/gemm/pack.h>
#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/offers.h>

/* 1 when A must be transposed. On a rank whose part of K is empty zeros of any layout take its place. */
static int irisi_gemm_transposes_a(const iris_gemm_plan *p) { return p->launcher.a_transposed && !p->launcher.no_k; }

/*
 * 1 when B must be transposed: always for elements of 8 bits, and for f32 unless the plan's mainloop reads it either
 * way. Before the mainloop is chosen f32 counts as transposed: at worst, iris_gemm_release then has a barrier that it
 * would not need.
 */
static int irisi_gemm_transposes_b(const iris_gemm_plan *p)
{
    const int either = irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_F32_B_BY_ROWS);
    return (p->operands.element == 1 || (p->operands.element == 4 && !either)) && !p->operands.b_transposed;
}

/* 1 when the plan's mainloop reads A (which: 0) or B (1) wherever its rows start. */
static int irisi_gemm_reads_unaligned(const iris_gemm_plan *p, int which)
{
    if (!which && irisi_gemm_transposes_a(p))
        return 0;
    return irisi_gemm_loop_is(p->mainloop, which ? IRISI_GEMM_LOOPS_UNALIGNED_B : IRISI_GEMM_LOOPS_UNALIGNED_A);
}

/* 1 when a matrix can be read where it is. */
static int irisi_gemm_reads(const irisi_gemm_packing *copy)
{
    const int aligned = ((uint64_t)(uintptr_t)copy->from | copy->from_pitch) % 16 == 0;
    return aligned && copy->from_pitch <= IRISI_GEMM_MOST_PITCH && !copy->transposed;
}

/*
 * The copy that operand `which` (0: A, 1: B, then further B) would have. Its rows start at cache lines, so that
 * loads touch as few lines as possible. For an empty band nothing is computed, and nothing copied.
 */
static irisi_gemm_packing irisi_gemm_packing_of(const iris_gemm_plan *p, int which)
{
    const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, which > 0 ? (uint32_t)which - 1 : 0);
    const uint64_t b_rows = p->operands.b_transposed ? x.columns : p->k;
    const uint64_t b_cols = p->operands.b_transposed ? p->k : x.columns;
    const int a_transposed = irisi_gemm_transposes_a(p), transposed = which ? irisi_gemm_transposes_b(p) : a_transposed;
    irisi_gemm_packing copy;
    memset(&copy, 0, sizeof copy);
    if (p->region.columns == 0)
        return copy;
    copy.from = which ? x.b : p->operands.a;
    copy.from_pitch = (which ? x.ldb : p->operands.lda) * p->operands.element;
    copy.rows = which ? b_rows : a_transposed ? p->k : p->m;
    copy.row_bytes = (which ? b_cols : a_transposed ? p->m : p->k) * p->operands.element;
    copy.transposed = transposed ? p->operands.element : 0;
    copy.to_pitch = ((copy.transposed ? copy.rows * p->operands.element : copy.row_bytes) + 127) / 128 * 128;
    return copy;
}

/* Allocates the copies that a plan needs; its a, b, lda, ldb are then those of the copies. */
static iris_status irisi_gemm_hold_copies(iris_world *w, iris_gemm_plan *p)
{
    const iris_gemm_plan given = *p; /* which layout B has before it is copied, further ones too */
    const int own = p->several.n[0] == 0 && !irisi_gemm_gated(p) && !p->launcher.f32_sums; /* kernels may be */
    p->launcher.packs = (irisi_gemm_packing *)calloc(IRISI_GEMM_PACKS, sizeof *p->launcher.packs);
    if (p->launcher.packs == NULL)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_gemm_prepare: no memory on the host");
    for (int i = 0; i < 2 + (int)p->several.count; i++) {
        irisi_gemm_packing copy = irisi_gemm_packing_of(&given, i);
        const uint64_t bytes = (copy.transposed ? copy.row_bytes / copy.transposed : copy.rows) * copy.to_pitch;
        if (irisi_gemm_reads(&copy) || irisi_gemm_reads_unaligned(p, i))
            continue;
        const char *const name = i > 1 ? "b of more" : i ? "b" : "a";
        const char *why = irisi_dev_local(&w->dev, bytes, &copy.to);
        if (why && !i && copy.transposed)
            return irisi_fail(w, IRIS_ERR_NOMEM,
                              "iris_gemm_prepare: no %llu bytes of device memory for the %u x %u copy of a, which "
                              "a_transposed says is %u x %u (%s); give a as m x k",
                              (unsigned long long)bytes, p->m, p->k, p->k, p->m, why);
        if (why)
            return irisi_fail(w, IRIS_ERR_NOMEM,
                              "iris_gemm_prepare: no %llu bytes of device memory for the copy of %s that its kernel "
                              "needs, since not all rows of %s at %p, ld%s %llu, start at multiples of 16 bytes%s "
                              "(%s); align them%s",
                              (unsigned long long)bytes, name, name, copy.from, i ? "b" : "a",
                              (unsigned long long)(copy.from_pitch / p->operands.element),
                              copy.transposed ? ", or run along N" : "", why,
                              own ? ", or set plain_mainloop" : "");
        p->launcher.packs[i] = copy;
        if (i > 1)
            p->several.more[i - 2].b = copy.to, p->several.more[i - 2].ldb = copy.to_pitch / p->operands.element;
        else if (i)
            p->operands.b = copy.to, p->operands.ldb = copy.to_pitch / p->operands.element,
            p->operands.b_transposed |= copy.transposed != 0;
        else
            p->operands.a = copy.to, p->operands.lda = copy.to_pitch / p->operands.element;
    }
    return IRIS_OK;
}

/* A plan's copy of A or of a B, for the rows that launches have: columns of what it is copied from, where that is
   transposed. */
static irisi_gemm_packing irisi_gemm_pack_of_rows(const iris_gemm_plan *p, int which)
{
    irisi_gemm_packing copy = p->launcher.packs[which];
    if (which > 0 || copy.to == NULL)
        return copy;
    if (copy.transposed)
        copy.row_bytes = p->m * copy.transposed;
    else
        copy.rows = p->m;
    return copy;
}

/* Allocates room for the sums of splits of K; between launches all are marked as missing. */
static iris_status irisi_gemm_hold_partials(iris_world *w, iris_gemm_plan *p)
{
    const uint64_t sums = (uint64_t)p->tiling.positions * IRISI_GEMM_PARTIAL_BYTES;
    if (p->tiling.split_k <= 1 || p->tiling.positions == 0)
        return IRIS_OK;
    const char *why = irisi_dev_local(&w->dev, sums, &p->tiling.partials);
    if (why)
        return irisi_fail(w, IRIS_ERR_NOMEM,
                          "iris_gemm_prepare: no %llu bytes of device memory for sums of splits of K (%s)",
                          (unsigned long long)sums, why);
    return iris_memset(w, p->tiling.partials, IRISI_GEMM_PARTIAL_BYTE, sums);
}

/*
 * Gives a rank whose part of K is empty zeros as A and B, one column and one row of them, so that it computes partial
 * sums like the others.
 */
static iris_status irisi_gemm_hold_zeros(iris_world *w, iris_gemm_plan *p)
{
    const uint64_t rows = p->operands.b_transposed ? p->n : 1;
    const uint64_t a = (uint64_t)p->m * p->operands.lda * p->operands.element;
    const uint64_t b = rows * p->operands.ldb * p->operands.element;
    if (!p->launcher.no_k)
        return IRIS_OK;
    const char *why = irisi_dev_local(&w->dev, a + b, &p->launcher.zeros);
    if (why)
        return irisi_fail(w, IRIS_ERR_NOMEM,
                          "iris_gemm_prepare: no %llu bytes of device memory for zeros in place of an empty A and B "
                          "(%s)",
                          (unsigned long long)(a + b), why);
    p->operands.a = p->launcher.zeros, p->operands.b = (const char *)p->launcher.zeros + a;
    return iris_memset(w, p->launcher.zeros, 0, a + b);
}

/*
 * Frees a plan's copies. Freeing may wait for everything on the device. Where ranks share a device, no rank may launch
 * a kernel that waits for another rank before that rank has freed its memory: so all meet at a barrier if any of them
 * may have copies. A GEMM alone concerns no other rank.
 */
static iris_status irisi_gemm_free_copies(iris_world *w, iris_gemm_plan *p)
{
    for (int i = 0; p->launcher.packs != NULL && i < IRISI_GEMM_PACKS; i++)
        if (p->launcher.packs[i].to != NULL)
            irisi_dev_local_free(&w->dev, p->launcher.packs[i].to);
    free(p->launcher.packs);
    if (p->launcher.zeros != NULL)
        irisi_dev_local_free(&w->dev, p->launcher.zeros);
    if (p->tiling.partials != NULL)
        irisi_dev_local_free(&w->dev, p->tiling.partials);
    return p->launcher.copies && p->op != IRIS_GEMM_LOCAL ? iris_barrier(w) : IRIS_OK;
}

/* Launches the kernel that copies, with enough workgroups to keep the memory busy. */
static iris_status irisi_gemm_start_pack(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    const uint32_t most = 8 * (uint32_t)iris_compute_units(w);
    irisi_gemm_pack_launch args;
    uint64_t words = 0;
    for (int i = 0; i < IRISI_GEMM_PACKS; i++) {
        args.packs[i] = irisi_gemm_pack_of_rows(plan, i);
        if (args.packs[i].to != NULL)
            words += args.packs[i].rows * ((args.packs[i].row_bytes + 15) / 16);
    }
    if (words == 0)
        return IRIS_OK;
    const uint64_t workgroups = words / (IRISI_PACK_LANES * IRISI_PACK_WORDS) + 1;
    const iris_launch_config cfg = iris_grid(workgroups < most ? (uint32_t)workgroups : most, IRISI_PACK_LANES);
    const uint32_t early_launch = plan->machine.early_launch ? IRISI_LAUNCH_EARLY : 0;
    return irisi_launch_with(w, irisi_gemm_base(plan)->pack, "irisi_gemm_pack", &args, sizeof args, &cfg, early_launch,
                             stream);
}

#endif
#endif
