/* SPDX-License-Identifier: MIT */
/*
 * glu.h: makes C of pairs of columns of the product, gate and up (iris_gemm_args.gated): gated linear units.
 *
 *   irisi_tile_put_gated     of a tile, on this rank and on those that it goes to
 *
 * The mainloop's epilogue leaves the product in the staging tile as f32, with alpha and the scales of A and B. What
 * follows is done on the way from there to C: bias, activation, the product of each pair, scale_c, one rounding. So it
 * is the same for every mainloop that has a C of f32.
 */
#ifndef IRIS_GEMM_GLU_H
#define IRIS_GEMM_GLU_H

#include <iris/gemm/tile_ll.h>
#include <iris/gen/bits.h>
#include <iris/gen/gemm_epilogue.h>

#if IRIS_HAS_DEVICE

/* The bias of a column of this rank's product; of C's type. */
IRIS_DEVICE float irisi_glu_bias(const iris_gemm_plan *plan, uint32_t column)
{
    if (plan->sums.bias == NULL)
        return 0;
    if (plan->sums.c_dtype == IRIS_F16)
        return iris_widen_f16(((const iris_f16 *)plan->sums.bias)[column]);
    if (plan->sums.c_dtype == IRIS_BF16)
        return iris_widen_bf16(((const iris_bf16 *)plan->sums.bias)[column]);
    return ((const float *)plan->sums.bias)[column];
}

/* The bits of a value in C's type. */
IRIS_DEVICE uint32_t irisi_glu_bits(const iris_gemm_plan *plan, float v)
{
    if (plan->sums.c_dtype == IRIS_F16)
        return irisi_bits_f16(iris_narrow_f16(v));
    if (plan->sums.c_dtype == IRIS_BF16)
        return irisi_bits_bf16(iris_narrow_bf16(v));
    return irisi_f32_bits(v);
}

/* An element of C from a pair in a staging tile, `pair`, whose gate is at `column` of this rank's product. */
IRIS_DEVICE float irisi_glu_pair(const iris_gemm_plan *plan, const float *pair, uint32_t column)
{
    const float up = pair[1] + irisi_glu_bias(plan, column + 1);
    float gate = pair[0] + irisi_glu_bias(plan, column);
    irisi_gemm_activate_f32(plan->sums.activation, &gate, 1);
    gate *= up;
    return plan->sums.scale_c != NULL ? gate * plan->sums.scale_c[0] : gate;
}

/* Stores 8 bytes of a row of C, of which `left` are inside, to the same place on every other rank. */
IRIS_DEVICE void irisi_glu_store_to_peers(const iris_ctx *ctx, char *own, uint64_t bits, uint32_t left, uint32_t size)
{
    int rank = ctx->rank;
    for (int i = 1; i < ctx->world; i++) {
        rank = rank + 1 == ctx->world ? 0 : rank + 1; /* the next one first, so that links are shared */
        irisi_tile_store_8((char *)irisi_translate(ctx, own, rank), bits, left, size);
    }
}

/* Sends them to every other rank as a packet of epoch `ll` instead: `from` is the first in the rank's band of C. */
IRIS_DEVICE void irisi_glu_send_ll(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t row, uint32_t from,
                                   uint64_t bits, uint64_t ll)
{
    iris_ll_packet *to =
        irisi_gemm_ll_slots(plan, ll, plan->rank) + (uint64_t)row * plan->exchange.ll_pitch + 2 * (from / 8);
    const uint32_t flag = irisi_in_vector_register_u32(iris_ll_flag(ll));
    ctx = (const iris_ctx *)irisi_rematerialize(ctx), plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    irisi_tile_write_ll(ctx, plan, row, to, bits, flag);
}

/* How many 8 bytes a row of a tile becomes in C. */
IRIS_DEVICE uint32_t irisi_glu_chunks(const iris_gemm_plan *plan, const iris_tile *tile)
{
    return irisi_ll_units((uint32_t)irisi_gemm_row_bytes(plan, tile->cols));
}

/*
 * Makes C of a staging tile of pairs, or of a piece of one, 8 bytes at a time: on this rank, and on all others if it
 * goes to everyone, or as packets of epoch `ll`. `to` is neither of those two in a kernel that sends no tiles. Every
 * lane of the wave group calls it, after a barrier of the waves that filled the tile.
 */
IRIS_DEVICE void irisi_tile_put_gated(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                      char *stage, const iris_wave_group *group, irisi_gemm_to to, uint64_t ll)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan); /* scalars that live from tile to tile are scarce */
    const uint32_t chunks = irisi_glu_chunks(plan, tile), all = tile->rows * chunks;
    const uint32_t across = irisi_in_vector_register_u32(chunks), end = irisi_in_vector_register_u32(all);
    for (uint32_t i = group->member; i < end; i += group->members) {
        plan = (const iris_gemm_plan *)irisi_rematerialize(plan); /* or from turn to turn */
        const uint32_t size = plan->sums.c_element, each = 8 / size;
        const uint32_t row = i / across, first = (i - row * across) * each, left = tile->cols / 2 - first;
        const float *from = (const float *)(const void *)iris_tile_row(plan, tile, stage, row) + 2 * first;
        char *own = irisi_in_vector_register(irisi_tile_in_c(plan, tile, row) + first * size);
        uint64_t bits = 0;
        IRISI_ROLLED
        for (uint32_t j = 0; j < each && j < left; j++)
            bits |= (uint64_t)irisi_glu_bits(plan, irisi_glu_pair(plan, from + 2 * j, tile->n0 + 2 * (first + j)))
                    << 8 * size * j;
        irisi_tile_store_8(own, bits, left * size, size);
        if (to == IRISI_GEMM_TO_SELF)
            continue;
        ctx = (const iris_ctx *)irisi_rematerialize(ctx), plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
        if (to == IRISI_GEMM_TO_EVERYONE && !group->stopped)
            irisi_glu_store_to_peers(ctx, own, bits, left * size, size);
        else if (to == IRISI_GEMM_TO_LL)
            irisi_glu_send_ll(ctx, plan, tile->m0 + row, (tile->n0 / 2 + first) * size, bits, ll);
    }
}

#endif
#endif
