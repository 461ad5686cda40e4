/* SPDX-License-Identifier: MIT */
/*
 * offers.h: a part of init.c: the table of GEMM kernels, to which each launch header of the program adds its own.
 *
 *   irisi_gemm_add_offer (gemm/prepare.h)
 *   irisi_gemm_base            the offer that has the probe and the copying kernel for a plan's types
 *   irisi_gemm_find_kernel     the kernel of an operation, pattern and role, for a plan's types and mainloop
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

/* The next offer for a plan's types, from `offer` on; null: there is none. */
static const irisi_gemm_offer *irisi_gemm_offer_for(const iris_gemm_plan *p, const irisi_gemm_offer *offer)
{
    while (offer != NULL && ((uint32_t)offer->dtype != p->dtype || (uint32_t)offer->c_dtype != p->c_dtype))
        offer = offer->next;
    return offer;
}

static const irisi_gemm_offer *irisi_gemm_base(const iris_gemm_plan *p)
{
    const irisi_gemm_offer *offer = irisi_gemm_offer_for(p, irisi_gemm_offers);
    while (offer != NULL && offer->probe == NULL)
        offer = irisi_gemm_offer_for(p, offer->next);
    return offer;
}

static const irisi_gemm_kernel *irisi_gemm_find_kernel(const iris_gemm_plan *p, iris_gemm_op op,
                                                       iris_gemm_pattern pattern, irisi_gemm_kernel_role role)
{
    const irisi_gemm_offer *offer = irisi_gemm_offer_for(p, irisi_gemm_offers);
    for (; offer != NULL; offer = irisi_gemm_offer_for(p, offer->next))
        for (const irisi_gemm_kernel *row = offer->rows; row < offer->rows + offer->n; row++)
            if (row->op == (uint32_t)op && row->pattern == (uint32_t)pattern && row->role == (uint32_t)role &&
                (row->mainloop == p->mainloop || row->mainloop == IRISI_GEMM_ANY_LOOP))
                return row;
    return NULL;
}

#endif
#endif
