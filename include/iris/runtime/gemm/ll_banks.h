/* SPDX-License-Identifier: MIT */
/*
 * ll_banks.h: a part of init.c: decides whether tiles and partial sums of fused_sequential, rows of A that are gathered
 * before a GEMM, and partial sums behind one, go as LL packets (gemm/tile_ll.h, gather.h, reduce.h), and allocates the
 * banks for them.
 *
 *   irisi_gemm_ll_choose irisi_gemm_ll_hold
 */
#ifndef IRIS_RUNTIME_GEMM_LL_BANKS_H
#define IRIS_RUNTIME_GEMM_LL_BANKS_H
#ifdef IRIS_INIT_C

#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/link_bytes.h>
#include <iris/runtime/gemm/tune_rows.h>

/*
 * IRISI_GEMM_LL_BYTES: up to so many bytes that a rank sends to all others together, its tiles or its rows of A go as
 * packets, unless a tuning row says otherwise; an estimate for platforms that do not define it (mainloop/shape.h).
 * Partial sums go so up to four times as many, since otherwise they are written and read once more; up to three times
 * where they leave as packets while tiles are computed, which then wait for the links.
 * IRISI_GEMM_LL_MOST: the most packets of a bank for one rank.
 */
#if !defined(IRISI_GEMM_LL_BYTES)
#define IRISI_GEMM_LL_BYTES (128u << 10)
#endif
enum { IRISI_GEMM_LL_MOST = 1 << 24 };

/* The most bytes, as above, that a pattern of an operation sends as packets. */
static double irisi_gemm_ll_most(uint32_t op, uint32_t pattern)
{
    const int sums = irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_K), meanwhile = pattern == IRIS_GEMM_FUSED_SEQUENTIAL;
    return (sums ? 4.0 - meanwhile : 1.0) * IRISI_GEMM_LL_BYTES;
}

/* Packets from row to row of a bank: two for each 8 bytes of the widest band, or of a row of A, in whole 16 bytes. */
static uint32_t irisi_gemm_ll_pitch(const iris_gemm_plan *p)
{
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS))
        return 4 * (uint32_t)(((uint64_t)p->k * p->operands.element + 15) / 16);
    return 2 * (uint32_t)((irisi_gemm_row_bytes(p, irisi_gemm_columns_of(p, 0)) + 7) / 8);
}

/* Rows of a bank for one rank. */
static uint32_t irisi_gemm_ll_rows(const iris_gemm_plan *p)
{
    return irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) ? irisi_gemm_slot_rows(p) : p->m;
}

/*
 * 1 when other ranks may get something of the plan's as packets: its tiles, partial sums or rows of A; each rank gets
 * some from each other in every epoch, as banks need it. Where all ranks finish all sums, each would read its own C for
 * beta, and Cs that differ would give sums that do; for norms they hold the same, unless a row of it is its owner's
 * alone: then nobody else can finish it.
 */
static int irisi_gemm_ll_peers(const iris_gemm_plan *p)
{
    const int sums = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K);
    const int norms = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS);
    const int differ = norms ? (int)p->norm.sequence_parallel : p->sums.beta != 0;
    if (sums && (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_M) ? p->m < p->world : differ))
        return 0;
    return irisi_gemm_has_peers(p) || (p->world > 1 && (sums || irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS)));
}

/*
 * Bytes that a rank sends to all others together: of its tiles, of its rows of A, or of partial sums, of which it may
 * keep own rows'.
 */
static double irisi_gemm_ll_bytes(const iris_gemm_plan *p)
{
    if (irisi_gemm_has_peers(p))
        return irisi_gemm_link_bytes(p, p->m, irisi_gemm_columns_of(p, 0));
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS))
        return (double)irisi_gemm_slot_rows(p) * p->k * p->operands.element * (p->world - 1.0);
    const double all = (double)p->m * p->n * p->operands.c_element * (p->world - 1.0);
    return irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_M) ? all / p->world : all;
}

/*
 * 1 when the plan's tiles can go as packets: all pieces begin at multiples of 8 bytes; lanes count packets in 32 bits.
 */
static int irisi_gemm_ll_can(const iris_gemm_plan *p)
{
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS))
        return irisi_gemm_ll_peers(p) &&
               (uint64_t)p->k * p->operands.element * irisi_gemm_slot_rows(p) <= IRISI_GEMM_LL_MOST;
    return irisi_gemm_ll_peers(p) && irisi_gemm_row_bytes(p, p->tiling.unit) % 8 == 0 &&
           irisi_gemm_row_bytes(p, p->machine.stage_n) % 8 == 0 &&
           (uint64_t)p->m * irisi_gemm_ll_pitch(p) <= IRISI_GEMM_LL_MOST;
}

/*
 * Decides whether they do: as the tuning row says; else if a rank has little to send and the banks take at most a
 * quarter of the free heap for signals, which other plans and channels need too. `blas`: the products may yet be left
 * to the caller's.
 */
static iris_status irisi_gemm_ll_choose(iris_world *w, iris_gemm_plan *p, const irisi_tune_row *row, int blas)
{
    const double most = irisi_gemm_ll_most(p->op, blas ? (uint32_t)IRIS_GEMM_BLAS_GATHER : p->pattern);
    const int given = (int)(row->given >> IRISI_TUNE_LL & 1), can = irisi_gemm_ll_can(p);
    const uint64_t banks = (uint64_t)p->world * irisi_gemm_ll_rows(p) * irisi_gemm_ll_pitch(p) * 16;
    const uint64_t room = iris_heap_size(w, IRIS_MEM_SYNC) - iris_heap_used(w, IRIS_MEM_SYNC);
    const int wants = given ? row->value[IRISI_TUNE_LL] == 1 : irisi_gemm_ll_bytes(p) <= most && banks <= room / 4;
    p->exchange.ll_pitch = can && wants ? irisi_gemm_ll_pitch(p) : 0;
    if (can || !row->from[0] || row->value[IRISI_TUNE_LL] == 0 || !irisi_gemm_ll_peers(p))
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "iris_gemm_prepare: %s: ll=1 cannot be: tiles must begin at multiples of 8 bytes, not of %u "
                      "columns of %u, and C have at most %u packets for a rank",
                      row->from, p->tiling.unit, p->operands.c_element, IRISI_GEMM_LL_MOST);
}

/*
 * Allocates a plan's banks, with the same result on every rank, since their heaps are alike. Without room tiles are put
 * instead; that is an error if a row of the caller's or of the environment asks for packets. A launch by another
 * pattern of a plan for partial sums makes use of the banks too, where that pattern sends packets.
 */
static iris_status irisi_gemm_ll_hold(iris_world *w, iris_gemm_plan *p, const irisi_tune_row *row)
{
    const int asked = row->from[0] && row->value[IRISI_TUNE_LL] == 1;
    const uint64_t bytes = (uint64_t)p->world * irisi_gemm_ll_rows(p) * p->exchange.ll_pitch * 8;
    if (p->exchange.ll_pitch == 0 || !irisi_gemm_sends_packets(p->op, p->pattern))
        return IRIS_OK;
    const iris_status s = iris_channel_create(w, &p->exchange.ll, 0, bytes);
    p->exchange.ll_pitch = s == IRIS_OK ? p->exchange.ll_pitch : 0;
    if (s == IRIS_ERR_NOMEM && asked)
        return irisi_fail(w, s, "iris_gemm_prepare: %s: ll=1 cannot be: its two banks need %llu bytes of the heap for "
                          "signals, which is too full; make it larger (%s), or let tiles be put (ll=0)",
                          row->from, 2 * (unsigned long long)bytes, irisi_size_name(w, IRIS_MEM_SYNC));
    return s == IRIS_ERR_NOMEM ? IRIS_OK : s;
}

#endif
#endif
