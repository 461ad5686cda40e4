/* SPDX-License-Identifier: MIT */
/*
 * tma_gather.h (nvidia): the functions irisi_tma_gather_* that mainloop/mainloop.h lists, for workgroups of the sm_90a
 * loop that only gather A.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_TMA_GATHER_H
#define IRIS_MAINLOOP_NVIDIA_TMA_GATHER_H

#include <iris/gemm/gather.h>
#include <iris/mainloop/nvidia/tma_forward.h>

/*
 * Rows of A go to the peers by the copy engine alone, through shared memory, so that few workgroups fill the links. A
 * lane of each of two waves has them fetched into a ring of stages, piece by piece, and put from there to every rank.
 * A piece's stage is free only when the links have taken it: half of the ring is behind, and half ahead of what is put.
 * Blocks of rows that are short and lie without gaps, here and in the gathered A, are cut into pieces as a whole,
 * others row by row.
 */
#define IRISI_HAS_TMA_GATHER 1
enum {
    IRISI_TMA_GATHER_WAVES = 2,
    IRISI_TMA_GATHER_STAGES = 12,  /* of each wave */
    IRISI_TMA_GATHER_BEHIND = 5,   /* pieces that were put and may be unread: irisi_bulk_reusable_but_five */
    IRISI_TMA_GATHER_PIECE = 8192, /* bytes of a stage */
    IRISI_TMA_GATHER_OPEN = 15,    /* pieces that may be on their way: irisi_bulk_pace */
    IRISI_TMA_GATHER_RING = IRISI_TMA_GATHER_STAGES * IRISI_TMA_GATHER_PIECE,
    /* where the barriers stand: behind the mainloop's, irisi_gemm_pair_exchange's too */
    IRISI_TMA_GATHER_BARS = 16 * ((int)IRISI_GEMM_SM90A_RINGS + (int)IRISI_GEMM_SM90A_MATH_WAVES),
    IRISI_TMA_GATHER_FITS =
        1 / (IRISI_TMA_GATHER_BARS + 8 * IRISI_TMA_GATHER_WAVES * IRISI_TMA_GATHER_STAGES <= IRISI_GEMM_SM90A_HEAD &&
             IRISI_TMA_GATHER_WAVES * IRISI_TMA_GATHER_RING <= 4 * IRISI_GEMM_SM90A_BLOCK)
};

/*
 * How a worker's rows are cut into pieces: blocks worker, worker + workers, ... of the rows of this rank's shard. Each
 * wave is a worker.
 */
typedef struct irisi_tma_gather {
    uint32_t rows, workers;
    uint32_t row_bytes, joined; /* joined: a block's rows are one line */
    uint32_t each;              /* pieces of a block that is not the last */
} irisi_tma_gather;

/* A place in this order: a block, a line of it, a byte of that. */
typedef struct irisi_tma_gather_at {
    uint32_t block, line, byte;
} irisi_tma_gather_at;

/*
 * 1 when the rows of a plan's A may be gathered so: whole chunks of 16 bytes, here and there, and shared memory for the
 * ring, which tiles of few bytes that are not stored by boxes do not take.
 */
IRIS_DEVICE int irisi_tma_gather_can(const iris_gemm_plan *plan)
{
    const uint64_t bytes = (uint64_t)plan->k * plan->operands.element;
    const uint64_t pitch = plan->inputs.ld * plan->operands.element;
    const uint32_t ring = IRISI_GEMM_COUNTERS + IRISI_GEMM_SM90A_HEAD + IRISI_TMA_GATHER_WAVES * IRISI_TMA_GATHER_RING;
    return IRISI_WGMMA && irisi_gemm_is_sm90a(plan->mainloop) && bytes <= INT32_MAX &&
           irisi_gemm_shared_bytes(plan, 1) >= ring &&
           (((uint64_t)(uintptr_t)plan->inputs.a | pitch | bytes) & 15) == 0;
}

IRIS_DEVICE uint32_t irisi_tma_gather_block_rows(const irisi_tma_gather *g, uint32_t block)
{
    const uint32_t left = g->rows - block * IRISI_GEMM_BLOCK_ROWS;
    return left < IRISI_GEMM_BLOCK_ROWS ? left : (uint32_t)IRISI_GEMM_BLOCK_ROWS;
}

IRIS_DEVICE irisi_tma_gather irisi_tma_gather_of(const iris_gemm_plan *plan, uint32_t workers)
{
    irisi_tma_gather g;
    g.rows = irisi_gemm_rows_of(plan, plan->rank).count, g.workers = workers;
    g.row_bytes = plan->k * plan->operands.element;
    g.joined = g.row_bytes < IRISI_TMA_GATHER_PIECE && plan->inputs.ld == plan->k && plan->operands.lda == plan->k;
    const uint32_t lines = g.joined ? 1 : (uint32_t)IRISI_GEMM_BLOCK_ROWS,
                   line = g.joined ? IRISI_GEMM_BLOCK_ROWS * g.row_bytes : g.row_bytes;
    g.each = lines * ((line + IRISI_TMA_GATHER_PIECE - 1) / IRISI_TMA_GATHER_PIECE);
    return g;
}

IRIS_DEVICE int irisi_tma_gather_more(const irisi_tma_gather *g, const irisi_tma_gather_at *at)
{
    return at->block * IRISI_GEMM_BLOCK_ROWS < g->rows;
}

/* The bytes of the piece at a place, and its first row in the shard. irisi_tma_gather_step: goes on to the next one. */
IRIS_DEVICE uint32_t irisi_tma_gather_bytes(const irisi_tma_gather *g, const irisi_tma_gather_at *at)
{
    const uint32_t line = g->joined ? irisi_tma_gather_block_rows(g, at->block) * g->row_bytes : g->row_bytes;
    const uint32_t left = line - at->byte;
    return left < IRISI_TMA_GATHER_PIECE ? left : (uint32_t)IRISI_TMA_GATHER_PIECE;
}
IRIS_DEVICE uint32_t irisi_tma_gather_row(const irisi_tma_gather *g, const irisi_tma_gather_at *at)
{
    return at->block * IRISI_GEMM_BLOCK_ROWS + (g->joined ? at->byte / g->row_bytes : at->line);
}
IRIS_DEVICE void irisi_tma_gather_step(const irisi_tma_gather *g, irisi_tma_gather_at *at)
{
    const uint32_t rows = irisi_tma_gather_block_rows(g, at->block);
    at->byte += irisi_tma_gather_bytes(g, at);
    if (at->byte < (g->joined ? rows * g->row_bytes : g->row_bytes))
        return;
    at->byte = 0, at->line++;
    if (at->line == (g->joined ? 1 : rows))
        at->line = 0, at->block += g->workers;
}

/* Begins to fetch the piece at a place into a stage, and steps over it. */
IRIS_DEVICE void irisi_tma_gather_fetch(const iris_gemm_plan *plan, const irisi_tma_gather *g, irisi_tma_gather_at *at,
                                        uint32_t stage, uint32_t bar)
{
    const uint64_t pitch = plan->inputs.ld * plan->operands.element, bytes = irisi_tma_gather_bytes(g, at);
    const uint32_t first = at->block * IRISI_GEMM_BLOCK_ROWS + at->line;
    irisi_mbar_expect(bar, (uint32_t)bytes);
    irisi_bulk_fetch(stage, (const char *)plan->inputs.a + first * pitch + at->byte, (uint32_t)bytes, bar);
    irisi_tma_gather_step(g, at);
}

/* Has the piece at a place put to every rank, not to this one where it is read in place, and steps over it. */
IRIS_DEVICE void irisi_tma_gather_put(const iris_ctx *ctx, const iris_gemm_plan *plan, const irisi_tma_gather *g,
                                      irisi_tma_gather_at *at, const char *stage)
{
    const uint32_t bytes = irisi_tma_gather_bytes(g, at), shard = irisi_gemm_rows_of(plan, plan->rank).first;
    const uint32_t row = shard + irisi_tma_gather_row(g, at), rows = g->joined ? (bytes - 1) / g->row_bytes + 2 : 1;
    const uint64_t pitch = plan->operands.lda * plan->operands.element;
    const uint32_t first = shard + at->block * IRISI_GEMM_BLOCK_ROWS + at->line;
    char *to = (char *)(uintptr_t)plan->operands.a + first * pitch + at->byte;
    for (int k = 1, rank = ctx->rank; k <= ctx->world; k++) {
        rank = rank + 1 == ctx->world ? 0 : rank + 1;
        if (rank != ctx->rank || !irisi_gemm_in_place(plan, row, rows))
            irisi_bulk_put(irisi_translate(ctx, to, rank), stage, bytes);
    }
    irisi_bulk_commit();
    irisi_tma_gather_step(g, at);
}

/* Tells every rank that a block has arrived: what this lane has waited for has. */
IRIS_DEVICE void irisi_tma_gather_raise(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t block, uint64_t epoch)
{
    for (int k = 1, rank = ctx->rank; k <= ctx->world; k++) {
        rank = rank + 1 == ctx->world ? 0 : rank + 1;
        irisi_raise(ctx, irisi_exchange_block(plan, plan->rank, block), epoch, IRIS_SIGNAL_SET, rank);
    }
}

/*
 * All that a workgroup does that gathers: worker `worker` of `workers`. A block's signals are raised once its pieces
 * have arrived, which is certain when so many pieces behind them have left that only those can be on their way. Every
 * lane of the workgroup calls it.
 */
IRIS_DEVICE void irisi_tma_gather_rows(const iris_ctx *ctx, const iris_gemm_plan *plan, char *workspace, uint64_t epoch,
                                       uint32_t worker, uint32_t workers)
{
    const uint32_t wave = iris_wave(), each = 8 * IRISI_TMA_GATHER_STAGES;
    const uint32_t bars = irisi_shared_address(workspace) + IRISI_TMA_GATHER_BARS + wave * each;
    const char *ring = workspace + IRISI_GEMM_SM90A_HEAD + wave * IRISI_TMA_GATHER_RING;
    const uint32_t stages = irisi_shared_address(ring);
    if (wave < IRISI_TMA_GATHER_WAVES && iris_lane() == 0) {
        for (uint32_t i = 0; i < IRISI_TMA_GATHER_STAGES; i++)
            irisi_mbar_init(bars + 8 * i, 1);
        irisi_mbar_made();
    }
    iris_sync_wg();
    if (wave >= IRISI_TMA_GATHER_WAVES || !irisi_elected())
        return;
    const irisi_tma_gather g = irisi_tma_gather_of(plan, workers * IRISI_TMA_GATHER_WAVES);
    uint32_t fetched = 0, left = 0, block = worker + wave * workers, whole = g.each;
    irisi_tma_gather_at fetch = {block, 0, 0}, put = {block, 0, 0};
    for (; fetched + IRISI_TMA_GATHER_BEHIND < IRISI_TMA_GATHER_STAGES && irisi_tma_gather_more(&g, &fetch); fetched++)
        irisi_tma_gather_fetch(plan, &g, &fetch, stages + fetched * IRISI_TMA_GATHER_PIECE, bars + 8 * fetched);
    while (irisi_tma_gather_more(&g, &put)) {
        const uint32_t stage = left % IRISI_TMA_GATHER_STAGES, next = fetched % IRISI_TMA_GATHER_STAGES;
        irisi_mbar_wait(bars + 8 * stage, left / IRISI_TMA_GATHER_STAGES & 1);
        irisi_tma_gather_put(ctx, plan, &g, &put, ring + stage * IRISI_TMA_GATHER_PIECE);
        left++;
        irisi_bulk_reusable_but_five(); /* the piece before those has been read: `next` was its stage */
        if (irisi_tma_gather_more(&g, &fetch)) {
            irisi_tma_gather_fetch(plan, &g, &fetch, stages + next * IRISI_TMA_GATHER_PIECE, bars + 8 * next);
            fetched++;
        }
        irisi_bulk_pace(IRISI_TMA_GATHER_OPEN);
        for (; whole + IRISI_TMA_GATHER_OPEN <= left && block < put.block; whole += g.each, block += g.workers)
            irisi_tma_gather_raise(ctx, plan, block, epoch);
    }
    irisi_bulk_arrived();
    for (; block * IRISI_GEMM_BLOCK_ROWS < g.rows; block += g.workers)
        irisi_tma_gather_raise(ctx, plan, block, epoch);
}

#endif
