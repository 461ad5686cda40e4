/* SPDX-License-Identifier: MIT */
/*
 * agree.h: a part of init.c: compares the ranks' arguments, and finds what all ranks of a plan have in common.
 *
 *   irisi_gemm_agree
 */
#ifndef IRIS_RUNTIME_GEMM_AGREE_H
#define IRIS_RUNTIME_GEMM_AGREE_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/choose.h>

/* How the common value is made of the ranks' values. */
typedef enum irisi_gemm_rule {
    IRISI_AGREE_SAME,    /* all must be the same, else the call fails */
    IRISI_AGREE_AND,     /* the bits that are set on every rank */
    IRISI_AGREE_MIN,     /* the smallest */
    IRISI_AGREE_OR_ELSE  /* the value, if it is the same on every rank, else `otherwise` */
} irisi_gemm_rule;

/* A value that the ranks compare. */
typedef struct irisi_gemm_term {
    const char *name; /* for the error of SAME */
    int64_t mine;
    irisi_gemm_rule rule;
    uint64_t *common; /* where the common value goes; SAME has none */
    uint64_t otherwise;
} irisi_gemm_term;

/* Adds a rank's value to the common one, by the rule. 0 when it must be the same as rank 0's (`first`) and is not. */
static int irisi_gemm_combine(const irisi_gemm_term *t, int64_t first, int64_t theirs)
{
    switch (t->rule) {
    case IRISI_AGREE_AND: *t->common &= (uint64_t)theirs; break;
    case IRISI_AGREE_MIN: *t->common = *t->common < (uint64_t)theirs ? *t->common : (uint64_t)theirs; break;
    case IRISI_AGREE_OR_ELSE: *t->common = theirs == first ? *t->common : t->otherwise; break;
    default: return theirs == first;
    }
    return 1;
}

/* Where memory begins in this rank's heap, whose first byte is 1; 0: there is none. */
static int64_t irisi_gemm_place_in_heap(const void *p, uintptr_t base)
{
    return p != NULL ? 1 + (int64_t)((uintptr_t)p - base) : 0;
}

static int64_t irisi_gemm_bits(double value)
{
    int64_t bits = 0;
    if (value != 0) /* 0 and -0 are the same */
        memcpy(&bits, &value, sizeof bits);
    return bits;
}

/*
 * Compares the ranks' arguments, and leaves in `common` what all have. Every rank calls it, also one whose own
 * arguments are wrong (`own`). Nothing is compared for a GEMM alone.
 */
static iris_status irisi_gemm_agree(iris_world *w, const iris_gemm_plan *p, iris_status own, irisi_gemm_common *common)
{
    const int on_all = irisi_gemm_c_on_all(p);
    common->xcds = p->machine.xcds;
    if (p->op == IRIS_GEMM_LOCAL) /* no other rank takes part: `common` has this one's values already */
        return own == IRIS_OK ? irisi_enter(w, "iris_gemm_prepare") : own;
    const uintptr_t base = (uintptr_t)iris_device_ctx(w).base;
    const int64_t place = own == IRIS_OK && on_all ? (int64_t)((uintptr_t)p->sums.c - base) : 0;
    const int norms = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS);
    const int quantizes = norms && p->norm.quant_out != NULL;
    const int64_t out = irisi_gemm_place_in_heap(own == IRIS_OK && norms ? p->norm.out : NULL, base);
    const int64_t quant = irisi_gemm_place_in_heap(own == IRIS_OK && norms ? p->norm.quant_out : NULL, base);
    const int64_t scales = irisi_gemm_place_in_heap(own == IRIS_OK && norms ? p->norm.scale_out : NULL, base);
    const int64_t room = irisi_gemm_place_in_heap(own == IRIS_OK ? p->exchange.workspace : NULL, base);
    /* Whose rows of the sum a rank finishes is the pattern's affair. */
    const int any_owner = on_all && irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K) && own == IRIS_OK;
    const irisi_gemm_term terms[] = {
        {"op", p->op, IRISI_AGREE_SAME, NULL, 0},
        {"dtype", p->operands.dtype, IRISI_AGREE_SAME, NULL, 0},
        {"c_dtype", p->sums.c_dtype, IRISI_AGREE_SAME, NULL, 0},
        {"gated", irisi_gemm_gated(p), IRISI_AGREE_SAME, NULL, 0},
        {"reduce_dtype, 1 for f32 that C is not,", p->launcher.f32_sums, IRISI_AGREE_SAME, NULL, 0},
        {"sequence_parallel", p->norm.sequence_parallel, IRISI_AGREE_SAME, NULL, 0},
        {"alpha, in the bits of a double,", any_owner ? irisi_gemm_bits(p->sums.alpha) : 0, IRISI_AGREE_SAME, NULL, 0},
        {"beta, in the bits of a double,", any_owner ? irisi_gemm_bits(p->sums.beta) : 0, IRISI_AGREE_SAME, NULL, 0},
        {"activation", any_owner ? (int64_t)p->sums.activation : 0, IRISI_AGREE_SAME, NULL, 0},
        {"bias, 1 where there is one,", any_owner && p->sums.bias != NULL, IRISI_AGREE_SAME, NULL, 0},
        {"tf32", p->operands.tf32, IRISI_AGREE_SAME, NULL, 0},
        {"fast_accum", p->operands.fast_accum, IRISI_AGREE_SAME, NULL, 0},
        {"m", p->m, IRISI_AGREE_SAME, NULL, 0},
        {"n", irisi_gemm_first_n(p), IRISI_AGREE_SAME, NULL, 0},
        {"n of more[0], which is 0 without it,", p->several.n[0], IRISI_AGREE_SAME, NULL, 0},
        {"n of more[1], which is 0 without it,", p->several.n[1], IRISI_AGREE_SAME, NULL, 0},
        {"n of more[2], which is 0 without it,", p->several.n[2], IRISI_AGREE_SAME, NULL, 0},
        {"k", irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K) ? 0 : (int64_t)p->k, IRISI_AGREE_SAME, NULL, 0},
        {"the least k", p->k, IRISI_AGREE_MIN, &common->k, 0},
        {"equal k", p->k, IRISI_AGREE_OR_ELSE, &common->equal_k, 0},
        {"a_transposed", (int64_t)p->launcher.a_transposed, IRISI_AGREE_SAME, NULL, 0},
        {"ld_gathered, which is 0 without gathered,", (int64_t)p->launcher.ld_gathered, IRISI_AGREE_SAME, NULL, 0},
        {"the workspace's place in the heap, or that there is one,", room, IRISI_AGREE_SAME, NULL, 0},
        {"c's place in the heap, which equal allocations in one order make equal,", place, IRISI_AGREE_SAME, NULL, 0},
        {"ldc", on_all ? (int64_t)p->sums.ldc : 0, IRISI_AGREE_SAME, NULL, 0},
        {"out's place in the heap, or that there is one,", out, IRISI_AGREE_SAME, NULL, 0},
        {"ldout", norms ? (int64_t)p->norm.ldout : 0, IRISI_AGREE_SAME, NULL, 0},
        {"quant_out's place in the heap, or that there is one,", quant, IRISI_AGREE_SAME, NULL, 0},
        {"ldquant_out", quantizes ? (int64_t)p->norm.ldquant_out : 0, IRISI_AGREE_SAME, NULL, 0},
        {"quant_dtype's largest value", quantizes ? (int64_t)p->norm.largest_code : 0, IRISI_AGREE_SAME, NULL, 0},
        {"scale_out's place in the heap", scales, IRISI_AGREE_SAME, NULL, 0},
        {"tile_m", p->tiling.tile_m, IRISI_AGREE_SAME, NULL, 0},
        {"tile_n", p->tiling.unit ? p->tiling.unit : p->tiling.tile_n, IRISI_AGREE_SAME, NULL, 0},
        {"pattern", p->pattern, IRISI_AGREE_SAME, NULL, 0},
        {"the checksum of IRIS_TUNE or tune and of the built-in table", (int64_t)(common->rows & UINT32_MAX),
         IRISI_AGREE_SAME, NULL, 0},
        {"the room for packets", p->exchange.ll.banks != NULL, IRISI_AGREE_SAME, NULL, 0},
        {"the mainloop that fits", p->mainloop, IRISI_AGREE_SAME, NULL, 0},
        {"mainloops", (int64_t)common->mainloops, IRISI_AGREE_AND, &common->mainloops, 0},
        {"aligned", (int64_t)common->aligned, IRISI_AGREE_AND, &common->aligned, 0},
        {"tma_store", (int64_t)common->tma_store, IRISI_AGREE_AND, &common->tma_store, 0},
        {"no_epilogue", (int64_t)common->no_epilogue, IRISI_AGREE_AND, &common->no_epilogue, 0},
        {"full", (int64_t)common->full, IRISI_AGREE_AND, &common->full, 0},
        {"workgroups", (int64_t)common->workgroups, IRISI_AGREE_MIN, &common->workgroups, 0},
        {"blas", (int64_t)common->blas, IRISI_AGREE_MIN, &common->blas, 0},
        {"row", (int64_t)common->row, IRISI_AGREE_OR_ELSE, &common->row, 0},
        {"xcds", (int64_t)common->xcds, IRISI_AGREE_OR_ELSE, &common->xcds, 1},
    };
    enum { TERMS = sizeof terms / sizeof terms[0], VALUES = 1 + TERMS }; /* the status comes first */
    int64_t mine[VALUES];
    mine[0] = own;
    for (int i = 0; i < TERMS; i++)
        mine[1 + i] = terms[i].mine;
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_gemm_prepare", mine, sizeof mine, &votes);
    const int64_t *first = (const int64_t *)votes;
    iris_status s = met != IRIS_OK ? met : own;
    for (uint32_t r = 0; s == IRIS_OK && r < p->world; r++) {
        const int64_t *theirs = first + r * VALUES;
        if (theirs[0] != IRIS_OK)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_gemm_prepare: rank %u refused its arguments (%s)", r,
                           iris_status_name((iris_status)theirs[0]));
        for (int i = 0; s == IRIS_OK && i < TERMS; i++)
            if (!irisi_gemm_combine(&terms[i], first[1 + i], theirs[1 + i]))
                s = irisi_fail(w, IRIS_ERR_MISMATCH,
                               "iris_gemm_prepare: %s is %lld on rank %u but %lld on rank 0; it must be the same",
                               terms[i].name, (long long)theirs[1 + i], r, (long long)first[1 + i]);
    }
    free(votes);
    return s;
}

#endif
#endif
