/* SPDX-License-Identifier: MIT */
/*
 * ring.h (nvidia): the ring of blocks of A and B that the sm_90a mainloop computes from.
 *
 *   irisi_gemm_ring irisi_gemm_ring_begin irisi_gemm_ring_block irisi_gemm_ring_full irisi_gemm_ring_empty
 *   irisi_gemm_ring_next irisi_gemm_ring_fit irisi_gemm_ring_notified irisi_gemm_ring_return
 */
#ifndef IRIS_MAINLOOP_NVIDIA_RING_H
#define IRIS_MAINLOOP_NVIDIA_RING_H

#include <iris/mainloop/shape.h>
#include <iris/arch/nvidia/cluster.h>
#include <iris/gemm/tile.h>

/*
 * A ring of blocks in shared memory. Each block has two barriers (mbarrier): full, when its bytes have come, and empty,
 * when all have read it. Blocks are as wide as the tile, so that narrow tiles have more of them; each width has its own
 * barriers.
 */
typedef struct irisi_gemm_ring {
    uint32_t blocks, bars; /* shared addresses: of the blocks, of this width's barriers */
    uint32_t room, a_bytes; /* bytes of all blocks; of A in a block */
    uint32_t runs;         /* the width: runs of 64 columns in a block; 0: none yet */
    uint32_t bytes;        /* of a block */
    uint32_t count, at, parity;
    uint32_t left;         /* at and parity of each width when it was last used, 5 bits each */
} irisi_gemm_ring;

/*
 * The number of the first block's barriers, for blocks of `runs` runs: the widths have at most 4, 6, 8 and 12 blocks.
 */
enum { IRISI_GEMM_SM90A_RINGS = 30 };
IRIS_DEVICE uint32_t irisi_gemm_ring_first(uint32_t runs) { return runs > 3 ? 0 : runs == 3 ? 4 : runs == 2 ? 10 : 18; }

IRIS_DEVICE irisi_gemm_ring irisi_gemm_ring_begin(const iris_gemm_plan *plan, char *workspace, uint32_t bytes)
{
    irisi_gemm_ring ring;
    ring.a_bytes = irisi_gemm_a_rows(plan) * 128;
    ring.bars = irisi_shared_address(workspace);
    ring.blocks = ring.bars + IRISI_GEMM_SM90A_HEAD;
    ring.room = bytes - IRISI_GEMM_SM90A_HEAD;
    ring.runs = ring.bytes = ring.count = ring.at = ring.parity = ring.left = 0;
    return ring;
}

IRIS_DEVICE uint32_t irisi_gemm_ring_block(const irisi_gemm_ring *ring)
{
    return ring->blocks + ring->at * ring->bytes;
}
IRIS_DEVICE uint32_t irisi_gemm_ring_full(const irisi_gemm_ring *ring) { return ring->bars + 16 * ring->at; }
IRIS_DEVICE uint32_t irisi_gemm_ring_empty(const irisi_gemm_ring *ring) { return ring->bars + 16 * ring->at + 8; }

/* Goes on to the next block. */
IRIS_DEVICE void irisi_gemm_ring_next(irisi_gemm_ring *ring)
{
    if (++ring->at == ring->count) {
        ring->at = 0;
        ring->parity ^= 1;
    }
}

/*
 * Before a tile: sets the ring to blocks of the tile's width. When the last tile had another width, the waves that load
 * (`loads`) wait until all of its blocks are empty; the waves that compute have emptied them.
 */
IRIS_DEVICE void irisi_gemm_ring_fit(const iris_gemm_plan *plan, irisi_gemm_ring *ring, uint32_t columns, int loads)
{
    const uint32_t runs = (columns + 63) / 64;
    if (ring->runs == runs)
        return;
    if (ring->runs) {
        irisi_gemm_ring all = *ring;
        for (uint32_t i = 0; loads && i < all.count; i++, irisi_gemm_ring_next(&all))
            irisi_mbar_wait(irisi_gemm_ring_empty(&all), all.parity ^ 1);
        ring->left &= ~(31u << 5 * ring->runs);
        ring->left |= (ring->at << 1 | ring->parity) << 5 * ring->runs;
        ring->bars -= 16 * irisi_gemm_ring_first(ring->runs);
    }
    ring->bars += 16 * irisi_gemm_ring_first(runs);
    ring->runs = runs;
    ring->bytes = ring->a_bytes + runs * (plan->mainloop == IRISI_GEMM_SM90A ? (uint32_t)IRISI_GEMM_SM90A_RUN
                                                                             : (uint32_t)IRISI_GEMM_UNALIGNED_B_RUN);
    ring->count = ring->room / ring->bytes;
    ring->at = ring->left >> 5 * runs >> 1 & 15;
    ring->parity = ring->left >> 5 * runs & 1;
}

/*
 * A computing wave returns a block: for each workgroup of the cluster, each of which fills a part of the block, one
 * lane arrives at that workgroup's empty barrier. irisi_gemm_ring_notified: the workgroup that this lane notifies, or
 * IRISI_GEMM_NOBODY; computed anew for each block, while products run, since the accumulators leave no register for it.
 */
enum { IRISI_GEMM_NOBODY = 2 };
IRIS_DEVICE uint32_t irisi_gemm_ring_notified(uint32_t cluster)
{
    uint32_t lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane < cluster ? lane : (uint32_t)IRISI_GEMM_NOBODY;
}
IRIS_DEVICE void irisi_gemm_ring_return(uint32_t empty, uint32_t notified)
{
    if (notified < IRISI_GEMM_NOBODY)
        irisi_mbar_arrive_at(empty, notified);
}

#endif
