/* SPDX-License-Identifier: MIT */
/*
 * gather.h: what all_gather does before the GEMM: puts every rank's rows of A to every rank.
 *
 *   irisi_gemm_gather irisi_gemm_communicate_all_gather
 *
 * The gathered A is in the workspace, in rows that begin at multiples of 128 bytes, so that every mainloop reads it in
 * place, whatever the alignment of the ranks' own rows.
 */
#ifndef IRIS_GEMM_GATHER_H
#define IRIS_GEMM_GATHER_H

#include <iris/bytes.h>
#include <iris/gemm/meet.h>

#if IRIS_HAS_DEVICE

/* Reads 16 bytes of a row, of which `left` are inside; zeros stand for the others. One lane calls it. */
IRIS_DEVICE irisi_b128 irisi_gemm_gather_chunk(const char *from, uint32_t align, uint64_t left)
{
    irisi_b128 v = {{0, 0, 0, 0}};
    if (left >= 16)
        return align == 16 ? irisi_load_128(from, IRIS_CACHE_STREAM) : irisi_gather_128(from, align);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 16; i++)
        if (i < left)
            v.w[i / 4] |= (uint32_t)irisi_load_8(from + i, IRIS_CACHE_DEFAULT) << (8 * (i % 4));
    return v;
}

/* Puts this rank's rows of A to every rank, in chunks of 16 bytes; all lanes of the grid share them. */
IRIS_DEVICE void irisi_gemm_gather(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    const iris_gemm_rows rows = iris_gemm_shard(plan->m, plan->world, plan->rank);
    const uint64_t bytes = (uint64_t)plan->k * plan->operands.element;
    const uint64_t from_pitch = plan->inputs.ld * plan->operands.element,
                   to_pitch = plan->operands.lda * plan->operands.element;
    const uint32_t across = (uint32_t)((bytes + 15) / 16);
    const uint64_t chunks = (uint64_t)rows.count * across;
    const char *from = (const char *)plan->inputs.a;
    char *to = (char *)(uintptr_t)plan->operands.a + rows.first * to_pitch;
    const uint32_t align = irisi_alignment((uintptr_t)from | (uintptr_t)from_pitch);
    const irisi_span own = irisi_split((size_t)chunks, iris_grid_lane(), iris_grid_lanes());
    for (size_t i = own.first; i < own.end; i += 4 * own.step) {
        irisi_b128 v[4];
        char *at[4];
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++) {
            const size_t n = i + u * own.step < own.end ? i + u * own.step : i; /* beyond the end, the first again */
            const uint32_t row = (uint32_t)n / across, chunk = (uint32_t)n - row * across;
            v[u] = irisi_gemm_gather_chunk(from + row * from_pitch + 16 * (uint64_t)chunk, align,
                                           bytes - 16 * (uint64_t)chunk);
            at[u] = to + row * to_pitch + 16 * (uint64_t)chunk;
        }
        IRISI_UNROLL
        for (uint32_t u = 0; u < 4; u++)
            irisi_loaded(v + u);
        for (int k = 1, rank = ctx->rank; k <= ctx->world; k++) {
            rank = rank + 1 == ctx->world ? 0 : rank + 1; /* each rank begins with another, so all links are used */
            IRISI_UNROLL
            for (uint32_t u = 0; u < 4; u++)
                if (i + u * own.step < own.end)
                    irisi_store_128(irisi_translate(ctx, at[u], rank), v[u], IRIS_CACHE_DEFAULT);
        }
    }
}

/* A whole kernel that gathers. Every lane of a cooperative grid calls it; every rank has equally many workgroups. */
IRIS_DEVICE void irisi_gemm_communicate_all_gather(const iris_ctx *ctx, const iris_gemm_plan *plan)
{
    const uint64_t epoch = iris_channel_enter_wg(&plan->exchange.channel);
    if (irisi_gemm_enter_all(ctx, plan, epoch))
        irisi_gemm_gather(ctx, plan);
    irisi_gemm_leave_all(ctx, plan, epoch, 1);
}

#endif
#endif
