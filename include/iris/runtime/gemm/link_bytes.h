/* SPDX-License-Identifier: MIT */
/*
 * link_bytes.h: a part of init.c: how many bytes an operation puts on this rank's links, for all models and limits.
 *
 *   irisi_gemm_has_peers irisi_gemm_link_bytes
 */
#ifndef IRIS_RUNTIME_GEMM_LINK_BYTES_H
#define IRIS_RUNTIME_GEMM_LINK_BYTES_H
#ifdef IRIS_INIT_C

#include <iris/gemm/plan.h>

/* 1 when tiles go to other ranks as they are computed. Other operations communicate before or after the GEMM. */
static inline int irisi_gemm_has_peers(const iris_gemm_plan *p)
{
    return p->world > 1 && irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES);
}

/*
 * The bytes that a part of C of so many rows and columns puts on the links: it goes to every peer, if there are any. A
 * whole number, exact below 2^53.
 */
static inline double irisi_gemm_link_bytes(const iris_gemm_plan *p, double rows, double columns)
{
    const double element = irisi_gemm_gated(p) ? 0.5 * p->sums.c_element : p->operands.c_element;
    return irisi_gemm_has_peers(p) ? rows * columns * element * (p->world - 1.0) : 0;
}

#endif
#endif
