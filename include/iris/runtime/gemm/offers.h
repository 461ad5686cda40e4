/* SPDX-License-Identifier: MIT */
/*
 * offers.h: a part of init.c: the table of GEMM kernels, to which each launch header of the program adds its own.
 *
 *   irisi_gemm_add_offer (gemm/prepare.h)
 *   irisi_gemm_base            the offer that has the probe and the copying kernel for a plan's types
 *   irisi_gemm_find_kernel     the kernel of an operation, pattern and role, for a plan's types and mainloop
 *   irisi_gemm_by_packets      whether a launch of a plan may send packets
 *   irisi_gemm_kernel_of irisi_gemm_waits_in irisi_gemm_computes_in   a plan's kernels by a pattern
 *   irisi_gemm_offers_op irisi_gemm_offered_loops                     what the program holds
 */
#ifndef IRIS_RUNTIME_GEMM_OFFERS_H
#define IRIS_RUNTIME_GEMM_OFFERS_H
#ifdef IRIS_INIT_C

#include <iris/gemm/prepare.h>

static irisi_gemm_offer *irisi_gemm_offers; /* the first of the list */

void irisi_gemm_add_offer(irisi_gemm_offer *offer)
{
    offer->next = irisi_gemm_offers;
    irisi_gemm_offers = offer;
}

/* The next offer for a plan's types of A and B, and this one of C, from `offer` on; null: there is none. */
static const irisi_gemm_offer *irisi_gemm_offer_for(const iris_gemm_plan *p, uint32_t c_dtype,
                                                    const irisi_gemm_offer *offer)
{
    while (offer != NULL && ((uint32_t)offer->dtype != p->operands.dtype || (uint32_t)offer->c_dtype != c_dtype))
        offer = offer->next;
    return offer;
}

static const irisi_gemm_offer *irisi_gemm_base(const iris_gemm_plan *p)
{
    const irisi_gemm_offer *offer = irisi_gemm_offer_for(p, p->operands.c_dtype, irisi_gemm_offers);
    while (offer != NULL && offer->probe == NULL)
        offer = irisi_gemm_offer_for(p, p->operands.c_dtype, offer->next);
    return offer;
}

/*
 * The C of the launch header that has the kernels of the plan's operation: its own, or f32 that pairs are made of, or
 * that partial sums are of.
 */
static uint32_t irisi_gemm_offered_dtype(const iris_gemm_plan *p)
{
    return irisi_gemm_gated(p) || p->launcher.f32_sums ? (uint32_t)IRIS_F32 : p->sums.c_dtype;
}

static const irisi_gemm_kernel *irisi_gemm_find_kernel(const iris_gemm_plan *p, iris_gemm_op op,
                                                       iris_gemm_pattern pattern, irisi_gemm_kernel_role role)
{
    const uint32_t c_dtype = op == IRIS_GEMM_LOCAL ? p->operands.c_dtype : irisi_gemm_offered_dtype(p);
    const irisi_gemm_offer *offer = irisi_gemm_offer_for(p, c_dtype, irisi_gemm_offers);
    for (; offer != NULL; offer = irisi_gemm_offer_for(p, c_dtype, offer->next))
        for (const irisi_gemm_kernel *row = offer->rows; row < offer->rows + offer->n; row++)
            if (row->op == (uint32_t)op && row->pattern == (uint32_t)pattern && row->role == (uint32_t)role &&
                (row->mainloop == p->mainloop || row->mainloop == IRISI_GEMM_ANY_LOOP))
                return row;
    return NULL;
}

/* The kernel of the plan's operation by a pattern, with its mainloop; null where no launch header offers it. */
static const irisi_gemm_kernel *irisi_gemm_kernel_of(const iris_gemm_plan *p, iris_gemm_pattern pattern,
                                                     irisi_gemm_kernel_role role)
{
    if (pattern == IRIS_GEMM_BLAS_GATHER) /* the kernel that sends is bulk_synchronous' */
        pattern = IRIS_GEMM_BULK_SYNCHRONOUS;
    if (pattern == IRIS_GEMM_COPY_ENGINE && role == IRISI_GEMM_KERNEL_COMPUTE)
        pattern = IRIS_GEMM_PRODUCER_CONSUMER; /* it waits for the same signals, whoever raises them */
    if (pattern == IRIS_GEMM_BULK_SYNCHRONOUS && role == IRISI_GEMM_KERNEL_COMPUTE)
        return irisi_gemm_find_kernel(p, IRIS_GEMM_LOCAL, IRIS_GEMM_AUTO, role);
    return irisi_gemm_find_kernel(p, (iris_gemm_op)p->op, pattern, role);
}

/* 1 for kernels that compute nothing. */
static inline int irisi_gemm_only_communicates(irisi_gemm_kernel_role role)
{
    return role == IRISI_GEMM_KERNEL_COMMUNICATE || role == IRISI_GEMM_KERNEL_COMMUNICATE_LL;
}

/*
 * 1 when a launch of the plan's rows may send packets: the plan has banks for them, and each rank gets some from each
 * other, as banks need it. Without a row there are neither tiles nor partial sums, and where sums are scattered, none
 * for a rank without rows; a rank without rows of A says so by a packet.
 */
static int irisi_gemm_by_packets(const iris_gemm_plan *p)
{
    const int scattered = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K & IRISI_GEMM_OPS_SPLIT_M);
    const uint32_t least = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) ? 0 : scattered ? p->world : 1;
    return p->exchange.ll.banks != NULL && p->m >= least;
}

/* The role, in a pattern, of the kernel that waits for peers, all of whose workgroups must be on the device at once. */
static irisi_gemm_kernel_role irisi_gemm_waits_in(const iris_gemm_plan *p, iris_gemm_pattern pattern)
{
    const int packets = irisi_gemm_by_packets(p), gathers = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS);
    if (pattern == IRIS_GEMM_BULK_SYNCHRONOUS || pattern == IRIS_GEMM_BLAS_GATHER)
        return packets && irisi_gemm_sends_packets(p->op, pattern) ? IRISI_GEMM_KERNEL_COMMUNICATE_LL
                                                                   : IRISI_GEMM_KERNEL_COMMUNICATE;
    if (pattern == IRIS_GEMM_PRODUCER_CONSUMER)
        return IRISI_GEMM_KERNEL_COMMUNICATE;
    if (pattern == IRIS_GEMM_COPY_ENGINE)
        return IRISI_GEMM_KERNEL_COMPUTE;
    return pattern == IRIS_GEMM_FUSED_SEQUENTIAL && packets && !gathers ? IRISI_GEMM_KERNEL_PACKETS
                                                                        : IRISI_GEMM_KERNEL_WHOLE;
}

/* The role, in a pattern, of the kernel that computes. */
static irisi_gemm_kernel_role irisi_gemm_computes_in(const iris_gemm_plan *p, iris_gemm_pattern pattern)
{
    const irisi_gemm_kernel_role waits = irisi_gemm_waits_in(p, pattern);
    return irisi_gemm_only_communicates(waits) ? IRISI_GEMM_KERNEL_COMPUTE : waits;
}

/* 1 when a launch header of the plan's operation offers kernels for its types. */
static int irisi_gemm_offers_op(const iris_gemm_plan *p)
{
    const uint32_t c_dtype = irisi_gemm_offered_dtype(p);
    const irisi_gemm_offer *offer = irisi_gemm_offer_for(p, c_dtype, irisi_gemm_offers);
    for (; offer != NULL; offer = irisi_gemm_offer_for(p, c_dtype, offer->next))
        if (offer->n > 0 && offer->rows[0].op == p->op)
            return 1;
    return 0;
}

/* A bit for each mainloop for which the program has the plan's pattern; all bits if it has none of the operation. */
static uint32_t irisi_gemm_offered_loops(const iris_gemm_plan *p)
{
    const iris_gemm_pattern pattern = (iris_gemm_pattern)p->pattern;
    iris_gemm_plan with = *p;
    uint32_t loops = 0;
    if (p->op == IRIS_GEMM_LOCAL || pattern == IRIS_GEMM_BLAS_GATHER || !irisi_gemm_offers_op(p))
        return UINT32_MAX;
    for (with.mainloop = 0; with.mainloop < IRISI_GEMM_LOOPS; with.mainloop++)
        if (irisi_gemm_kernel_of(&with, pattern, irisi_gemm_computes_in(p, pattern)) != NULL)
            loops |= 1u << with.mainloop;
    return loops;
}

#endif
#endif
