/* SPDX-License-Identifier: MIT */
/*
 * tma_forward.h (nvidia): the functions irisi_tma_forward_* that mainloop/mainloop.h lists, for workgroups of the
 * sm_90a loop that only send.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_TMA_FORWARD_H
#define IRIS_MAINLOOP_NVIDIA_TMA_FORWARD_H

#include <iris/mainloop/nvidia/gemm.h>

/*
 * Tiles that stand in this rank's C go to the peers by the copy engine alone, through shared memory, so that few
 * workgroups fill the links. A tile is sent in parts of 64 columns, each in boxes of 16 rows: one wave fetches a part
 * into a ring, and the math waves put it, a box each, so that each box is read once for all peers.
 */
typedef struct irisi_tma_forward {
    uint32_t boxes, bars; /* shared addresses: of the ring; of each part's two barriers: it has come, it has left */
    uint32_t at, parity;
    uint32_t left; /* the second barrier of the last part that was put; 0: none was */
} irisi_tma_forward;
#define IRISI_HAS_TMA_FORWARD 1
enum {
    IRISI_TMA_FORWARD_PARTS = 12,
    IRISI_TMA_FORWARD_FETCHERS = 3,
    IRISI_TMA_FORWARD_BARS = 16 * IRISI_GEMM_SM90A_RINGS, /* where they stand: behind the mainloop's barriers */
    IRISI_TMA_FORWARD_FITS = 1 / (4 * IRISI_TMA_FORWARD_FETCHERS <= IRISI_TMA_FORWARD_PARTS &&
                                  IRISI_TMA_FORWARD_BARS + 16 * IRISI_TMA_FORWARD_PARTS <= IRISI_GEMM_SM90A_HEAD &&
                                  IRISI_TMA_FORWARD_PARTS * 8 * 2048 <= 4 * IRISI_GEMM_SM90A_BLOCK)
};

/* 1 when a plan's tiles may be sent so. */
IRIS_DEVICE int irisi_tma_forward_can(const iris_gemm_plan *plan)
{
    return IRISI_WGMMA && plan->mainloop == IRISI_GEMM_SM90A && irisi_gemm_tma_forwards(plan);
}

/* Parts of a tile, and boxes of each of them. */
IRIS_DEVICE uint32_t irisi_tma_forward_parts(const iris_tile *tile) { return (tile->cols + 63) / 64; }
IRIS_DEVICE uint32_t irisi_tma_forward_boxes(const iris_tile *tile) { return (tile->rows + 15) / 16; }

/* Makes the barriers. Every lane of a workgroup that only sends calls it, and then iris_sync_wg. */
IRIS_DEVICE irisi_tma_forward irisi_tma_forward_begin(char *workspace)
{
    irisi_tma_forward r;
    const uint32_t base = irisi_shared_address(workspace);
    r.boxes = base + IRISI_GEMM_SM90A_HEAD;
    r.bars = base + IRISI_TMA_FORWARD_BARS;
    r.at = r.parity = r.left = 0;
    if (iris_wg_lane() == 0) {
        for (uint32_t i = 0; i < IRISI_TMA_FORWARD_PARTS; i++) {
            irisi_mbar_init(r.bars + 16 * i, 1);
            irisi_mbar_init(r.bars + 16 * i + 8, IRISI_GEMM_SM90A_MATH_WAVES);
        }
        irisi_mbar_made();
    }
    return r;
}

/* Goes on to the ring's next part. */
IRIS_DEVICE void irisi_tma_forward_step(irisi_tma_forward *r)
{
    r->at = r->at + 1 < IRISI_TMA_FORWARD_PARTS ? r->at + 1 : 0;
    r->parity ^= r->at == 0;
}

/* Steps over a tile that another wave fetches. */
IRIS_DEVICE void irisi_tma_forward_skip(const iris_tile *tile, irisi_tma_forward *r)
{
    r->at += irisi_tma_forward_parts(tile);
    r->parity ^= r->at >= IRISI_TMA_FORWARD_PARTS;
    r->at -= r->at >= IRISI_TMA_FORWARD_PARTS ? IRISI_TMA_FORWARD_PARTS : 0;
}

/*
 * Fetches a tile whose flag has been seen. Every lane of a wave calls it; IRISI_TMA_FORWARD_FETCHERS waves take tiles
 * in turn. The ring holds a tile of each of them, so that no barrier is two phases behind a wave that waits for it.
 */
IRIS_DEVICE void irisi_tma_forward_fetch(const iris_gemm_plan *plan, const iris_tile *tile, irisi_tma_forward *r)
{
    const uint32_t parts = irisi_tma_forward_parts(tile), boxes = irisi_tma_forward_boxes(tile),
                   elected = irisi_elected();
    if (elected)
        irisi_bulk_acquired();
    for (uint32_t i = 0; i < parts; i++, irisi_tma_forward_step(r)) {
        const uint32_t bar = r->bars + 16 * r->at;
        if (!elected)
            continue;
        irisi_mbar_wait(bar + 8, r->parity ^ 1);
        irisi_mbar_expect(bar, boxes * 2048);
        for (uint32_t b = 0; b < boxes; b++)
            irisi_fetch_box(r->boxes + 2048 * (8 * r->at + b), plan->maps[2 + plan->rank], tile->n0 + 64 * i,
                            tile->m0 + 16 * b, bar);
    }
    __syncwarp();
}

/*
 * Puts a tile to every peer, part by part; to none when the world has stopped. Every lane of the math waves calls it.
 * irisi_bulk_pace bounds how many boxes are on their way.
 */
IRIS_DEVICE void irisi_tma_forward_put(const iris_gemm_plan *plan, const iris_tile *tile, int stopped,
                                       irisi_tma_forward *r)
{
    const uint32_t b = iris_wave(), elected = irisi_elected();
    for (uint32_t i = 0; i < irisi_tma_forward_parts(tile); i++, irisi_tma_forward_step(r)) {
        const uint32_t bar = r->bars + 16 * r->at;
        if (!elected)
            continue;
        irisi_mbar_wait(bar, r->parity);
        for (uint32_t k = 1; k < plan->world && b < irisi_tma_forward_boxes(tile) && !stopped; k++) {
            const uint32_t to = (plan->rank + 1 + (tile->index + i + b + k) % (plan->world - 1)) % plan->world;
            irisi_bulk_put_box_at(plan->maps[2 + to], tile->n0 + 64 * i, tile->m0 + 16 * b,
                                  r->boxes + 2048 * (8 * r->at + b));
        }
        irisi_bulk_commit();
        irisi_bulk_reusable(1);
        if (r->left)
            irisi_mbar_expect(r->left, 0); /* an arrival: the part before has left */
        irisi_bulk_pace(15);
        r->left = bar + 8;
    }
    __syncwarp();
}

/* Waits until all boxes that the wave has put have arrived. */
IRIS_DEVICE void irisi_tma_forward_end(void) { irisi_bulk_arrived(); }

#endif
