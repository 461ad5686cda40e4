/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (nvidia): includes the mainloops of this platform, and has what the kernels of sm_90a's two loops share. Those
 * compute products of warpgroups (wgmma) from a ring of blocks of A and B in shared memory (ring.h).
 *
 *   irisi_gemm_workspace_begin irisi_gemm_registers irisi_gemm_ahead
 *   irisi_gemm_blocks irisi_gemm_blocks_of irisi_gemm_skip irisi_gemm_unaligned_b_skip irisi_gemm_pair_exchange
 *   irisi_gemm_scaled irisi_gemm_scale_lane irisi_gemm_scale_last
 *   and what gen/mainloop/gemm_simt.h and gen/mainloop/gemm_sm90a_nvidia.h have
 */
#ifndef IRIS_MAINLOOP_NVIDIA_GEMM_H
#define IRIS_MAINLOOP_NVIDIA_GEMM_H

#include <iris/mainloop/shape.h>
#include <iris/mainloop/nvidia/ring.h>
#include <iris/mainloop/nvidia/split_k.h>
#include <iris/gemm/tile_ll.h>

/*
 * Deals the registers to the roles of sm_90a's loops, and takes them back. A kernel starts with 168 registers a lane;
 * between the two calls the computing warpgroups have 224 and the third warpgroup has 56. Every lane of a warpgroup
 * calls it; its waves may have diverged before. The third warpgroup takes its registers back only after the others have
 * returned theirs: without tiles it could get here before they have taken them. At both ends the workgroups of a
 * cluster meet: neither writes into the other's shared memory before the first meeting or after the second one.
 */
IRIS_DEVICE void irisi_gemm_registers(const iris_gemm_plan *plan, uint32_t mainloop, iris_gemm_role role,
                                      int begins)
{
#if IRISI_WGMMA
    if (!irisi_gemm_is_sm90a(mainloop))
        return;
    __syncwarp();
    if (begins && plan->tiling.cluster > 1)
        irisi_cluster_meet(plan->tiling.cluster);
    if (role == IRIS_GEMM_MATH && begins)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;" ::: "memory");
    else if (begins)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;" ::: "memory");
    else if (role == IRIS_GEMM_MATH) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 168;" ::: "memory");
        irisi_cluster_meet(plan->tiling.cluster);
    } else {
        irisi_cluster_meet(plan->tiling.cluster);
        asm volatile("setmaxnreg.inc.sync.aligned.u32 168;" ::: "memory");
    }
#else
    (void)plan, (void)mainloop, (void)role, (void)begins;
#endif
}

/*
 * Makes the barriers (mbarrier) of the ring and of irisi_gemm_pair_exchange, before the workgroup's first barrier.
 * Every wave makes a few of them: lanes of one wave would make them one after the other.
 */
IRIS_DEVICE void irisi_gemm_workspace_begin(const iris_gemm_plan *plan, char *workspace, uint32_t bytes)
{
#if IRISI_WGMMA
    (void)bytes;
    const int lines = plan->mainloop == IRISI_GEMM_SM90A_UNALIGNED_B;
    if (!irisi_gemm_is_sm90a(plan->mainloop) || iris_lane() != 0)
        return;
    for (uint32_t i = iris_wave(); i < IRISI_GEMM_SM90A_RINGS; i += iris_waves()) {
        const uint32_t full = irisi_shared_address(workspace) + 16 * i;
        irisi_mbar_init(full, lines ? 1 + IRISI_GEMM_WAVE_LANES : 2); /* who fetches A, and who fetches B */
        irisi_mbar_init(full + 8, IRISI_GEMM_SM90A_MATH_WAVES * (lines ? IRISI_GEMM_WAVE_LANES : plan->tiling.cluster));
    }
    if (plan->tiling.cluster > 1 && iris_wave() < IRISI_GEMM_SM90A_MATH_WAVES) { /* for irisi_gemm_pair_exchange */
        const uint32_t full = irisi_shared_address(workspace) + 16 * (IRISI_GEMM_SM90A_RINGS + iris_wave());
        irisi_mbar_init(full, 1);
        irisi_mbar_init(full + 8, iris_wave() == 0 ? (uint32_t)IRISI_GEMM_SM90A_MATH_WAVES : IRISI_MBAR_MOST);
    }
    irisi_mbar_made();
    if (iris_wave() >= IRISI_GEMM_SM90A_MATH_WAVES && iris_wave() < IRISI_GEMM_SM90A_MATH_WAVES + 2 - lines)
        irisi_prefetch_map(plan->maps[iris_wave() - IRISI_GEMM_SM90A_MATH_WAVES]); /* A's and B's */
#else
    (void)plan, (void)workspace, (void)bytes;
#endif
}

/*
 * The first block of K of a split; a block is `depth` elements deep. A split ends where the next one begins. The last
 * split has four blocks more than the others: the workgroup that computes it then adds up the others' sums, which have
 * arrived meanwhile.
 */
IRIS_DEVICE uint32_t irisi_gemm_k_split_begin(const iris_gemm_plan *plan, uint32_t k_split, uint32_t depth)
{
    const uint32_t blocks = (plan->k + depth - 1) / depth; /* < 2^27: times 8 splits it fits 32 bits */
    const uint32_t more = plan->tiling.split_k > 1 && blocks >= 8 * plan->tiling.split_k ? 4 : 0;
    return k_split == plan->tiling.split_k ? blocks : (blocks - more) * k_split >> plan->tiling.split_k_shift;
}

/*
 * The blocks of K that this workgroup computes of a tile: those of the tile's split, and where a cluster computes the
 * tile together (pair_split_k), half of them.
 */
typedef struct irisi_gemm_blocks {
    uint32_t first, end;
} irisi_gemm_blocks;
IRIS_DEVICE irisi_gemm_blocks irisi_gemm_k_split_of(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t depth)
{
    irisi_gemm_blocks b;
    b.first = irisi_gemm_k_split_begin(plan, tile->k_split, depth);
    b.end = irisi_gemm_k_split_begin(plan, tile->k_split + 1, depth);
    return b;
}
IRIS_DEVICE irisi_gemm_blocks irisi_gemm_blocks_of(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t depth)
{
    irisi_gemm_blocks b = irisi_gemm_k_split_of(plan, tile, depth);
    if (tile->pair_split_k) { /* both halves have equally many blocks: behind the end of K the engine writes zeros */
        const uint32_t half = (b.end + 1) / 2;
        b.first = irisi_cluster_rank() * half, b.end = b.first + half;
    }
    return b;
}

/*
 * The block of the loop that does not return its predecessor to the ring. For a tile of one workgroup it is the first
 * block, which has no predecessor. For a tile that a cluster computes together it is the last block, because the two
 * blocks that were read last receive the other workgroup's sums; the first block, which then has no predecessor to
 * return, arrives at irisi_gemm_pair_exchange_unused. The loop compares once for both cases, since a second comparison
 * costs time in every kernel.
 */
IRIS_DEVICE uint32_t irisi_gemm_kept(const iris_tile *tile, const irisi_gemm_blocks *blocks)
{
    return tile->pair_split_k ? blocks->end - 1 : blocks->first;
}

/* tile->pair_split_k, read again from memory: the loop is slower when the compiler keeps it in a predicate register. */
IRIS_DEVICE uint32_t irisi_gemm_pair_exchanges(const iris_tile *tile)
{
    uint32_t pair_split_k = tile->pair_split_k;
    asm volatile("" : "+r"(pair_split_k)::"memory");
    return pair_split_k;
}

/*
 * The barriers of irisi_gemm_pair_exchange. `full`, one for each wave: counts the bytes of sums that have arrived.
 * `open`: the other workgroup's products are done, so that it takes sums. `unused`: takes arrivals that mean nothing.
 * It expects more of them than can come, so that its phase never ends: synccheck reports phases that no one waits for.
 */
IRIS_DEVICE uint32_t irisi_gemm_pair_exchange_full(const irisi_gemm_ring *ring, uint32_t wave)
{
    return ring->blocks - IRISI_GEMM_SM90A_HEAD + 16 * (IRISI_GEMM_SM90A_RINGS + wave);
}
IRIS_DEVICE uint32_t irisi_gemm_pair_exchange_open(const irisi_gemm_ring *ring)
{
    return irisi_gemm_pair_exchange_full(ring, 0) + 8;
}
IRIS_DEVICE uint32_t irisi_gemm_pair_exchange_unused(const irisi_gemm_ring *ring)
{
    return irisi_gemm_pair_exchange_full(ring, 1) + 8;
}

/*
 * Prefetches B of the workgroup's first blocks into the second-level cache, before irisi_launch_wait, while the kernel
 * before this one in the stream still runs. Should that kernel still write B, its writes go to the same cache. Only for
 * few rows, where the memory is idle at that time; with more rows the prefetch would slow the other kernel down. Every
 * lane calls it; a wave of the loader wave group that fetches neither A nor B does it.
 */
IRIS_DEVICE void irisi_gemm_ahead(const iris_gemm_plan *plan, const iris_wave_group *group, iris_gemm_role role,
                                  uint32_t depth)
{
    iris_tile tile;
    if (role != IRIS_GEMM_LOADER || group->wave != 2 || plan->m > IRISI_GEMM_SM90A_M || !irisi_elected())
        return;
    iris_tile_begin(plan, &tile, iris_workgroup(), iris_workgroups());
    if (!iris_tile_next(plan, &tile))
        return;
    irisi_tile_find(plan, &tile, 0);
    const unsigned char *map = plan->maps[tile.matrix == 0 ? 1 : irisi_gemm_more_b(plan, tile.matrix)];
    const uint32_t runs = (tile.cols + 63) / 64, most = IRISI_GEMM_SM90A_AHEAD / (runs * IRISI_GEMM_SM90A_RUN);
    const uint32_t first = irisi_gemm_k_split_begin(plan, tile.k_split, depth);
    const uint32_t end = irisi_gemm_k_split_begin(plan, tile.k_split + 1, depth);
    for (uint32_t i = first; i < end && i < first + most; i++)
        for (uint32_t run = 0; run < runs; run++) {
            const uint32_t k = i * depth, n = tile.n0 + 64 * run;
            irisi_prefetch_box(map, plan->operands.b_transposed ? k : n, plan->operands.b_transposed ? n : k);
        }
}

/* A tile of which a warpgroup has no rows: it returns the blocks unread, in step with the warpgroup that has rows. */
IRIS_DEVICE void irisi_gemm_skip(const iris_gemm_plan *plan, irisi_gemm_ring *ring, uint32_t k_split, uint32_t depth)
{
    const uint32_t end = irisi_gemm_k_split_begin(plan, k_split + 1, depth);
    for (uint32_t i = irisi_gemm_k_split_begin(plan, k_split, depth); i < end; i++, irisi_gemm_ring_next(ring)) {
        irisi_mbar_wait(irisi_gemm_ring_full(ring), ring->parity);
        irisi_gemm_ring_return(irisi_gemm_ring_empty(ring), irisi_gemm_ring_notified(plan->tiling.cluster));
    }
}

/* The same in the loop for an unaligned B, for a warpgroup that has no columns. There every lane returns each block. */
IRIS_DEVICE void irisi_gemm_unaligned_b_skip(irisi_gemm_ring *ring, irisi_gemm_blocks blocks)
{
    for (uint32_t i = blocks.first; i < blocks.end; i++, irisi_gemm_ring_next(ring)) {
        irisi_mbar_wait(irisi_gemm_ring_full(ring), ring->parity);
        irisi_mbar_arrive(irisi_gemm_ring_empty(ring));
    }
}

/*
 * Both workgroups of a cluster have computed two tiles side by side, each over half of K. `v` has the sums of `n`
 * columns, a constant: this workgroup's own tile first, then the other's. The sums of the other's tile are stored into
 * the other's shared memory, into the two blocks that were read last (one for each warpgroup's four waves); the sums
 * that come from there are added to the own ones; then the two blocks are returned to the ring. Bit 0 of ring->left is
 * the phase of the barriers. Every lane of the math wave group calls it.
 */
IRIS_DEVICE void irisi_gemm_pair_exchange(irisi_gemm_ring *ring, const iris_wave_group *group, float *v,
                                          const uint32_t n)
{
    const uint32_t other = irisi_cluster_rank() ^ 1, wave = group->wave, parity = ring->left & 1;
    const uint32_t full = irisi_gemm_pair_exchange_full(ring, wave), open = irisi_gemm_pair_exchange_open(ring);
    const uint32_t last = (ring->at > 0 ? ring->at : ring->count) - 1, before = (last > 0 ? last : ring->count) - 1;
    const uint32_t block = ring->blocks + (wave < 4 ? before : last) * ring->bytes;
    const uint32_t sums = block + wave % 4 * 32 * n + iris_lane() * 16, to = irisi_cluster_at(sums, other);
    ring->left ^= 1;
    iris_sync_wave();
    if (iris_lane() == 0) {
        irisi_mbar_arrive_at(open, other);
        irisi_mbar_expect(full, 32 * n);
    }
    irisi_mbar_wait_stored(open, parity);
#pragma unroll
    for (uint32_t q = 0; q < n / 16; q++)
        irisi_cluster_store(to + 512 * q, irisi_cluster_at(full, other), v + n / 4 + 4 * q);
    irisi_mbar_wait_stored(full, parity);
#pragma unroll
    for (uint32_t q = 0; q < n / 16; q++)
        irisi_add_shared(v + 4 * q, sums + 512 * q);
    irisi_bulk_written(); /* before the copy engine writes there again */
    iris_sync_wave();
    irisi_gemm_ring_return(ring->bars + 16 * before + 8, irisi_gemm_ring_notified(2));
    irisi_gemm_ring_return(ring->bars + 16 * last + 8, irisi_gemm_ring_notified(2));
}

/* Two values rounded to a 16-bit type, the first in the low half. */
IRIS_DEVICE uint32_t irisi_gemm_pair_bf16(const float *v)
{
    uint32_t pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(v[1]), "f"(v[0]));
    return pair;
}
IRIS_DEVICE uint32_t irisi_gemm_pair_f16(const float *v)
{
    uint32_t pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(v[1]), "f"(v[0]));
    return pair;
}

/* 1 when nothing but the product is asked for. irisi_gemm_leaves: 1 when tiles also leave in boxes. */
IRIS_DEVICE int irisi_gemm_no_epilogue(const iris_gemm_plan *plan)
{
    return plan->operands.alpha == 1 && plan->operands.beta == 0 && plan->operands.bias == NULL &&
           plan->operands.activation == IRIS_ACTIVATION_NONE && plan->operands.scale_a == NULL &&
           plan->operands.scale_b == NULL && plan->operands.scale_c == NULL;
}
IRIS_DEVICE int irisi_gemm_leaves(const iris_gemm_plan *plan)
{
    return plan->machine.tma_store && irisi_gemm_no_epilogue(plan);
}

/*
 * Writes the elements of a tile's rows that lie behind their last whole 16 bytes, which no box takes: lanes copy them
 * from the staged boxes of the last piece into this rank's C or, if `direct`, into every rank's. Every lane of a wave
 * that has rows calls it.
 */
IRIS_DEVICE void irisi_gemm_leave_rest(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                       const iris_wave_group *group, const char *stage, int direct)
{
    const irisi_tile_ranks self = {ctx->rank, ctx->rank}, all = {0, ctx->world - 1};
    irisi_tile_put_rest(ctx, plan, tile, group->wave * 16, stage + group->wave * 2048,
                        direct && !group->stopped ? all : self);
}

/* alpha * v; 0 for an alpha of 0, even if v is infinite or NaN. */
IRIS_DEVICE float irisi_gemm_scaled(float v, float alpha)
{
    return __uint_as_float(__float_as_uint(alpha * v) & (alpha == 0 ? 0 : UINT32_MAX));
}

/* Multiplies a lane's 32 accumulators of a piece, whose first is at (row, col), by alpha and the scales of A and B. */
IRIS_DEVICE void irisi_gemm_scale_lane(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t row, uint32_t col,
                                       float *v)
{
    if (plan->operands.alpha != 1)
#pragma unroll
        for (uint32_t i = 0; i < 32; i++)
            v[i] = irisi_gemm_scaled(v[i], (float)plan->operands.alpha);
    if (plan->operands.scale_a != NULL && plan->operands.alpha != 0)
#pragma unroll
        for (uint32_t half = 0; half < 2; half++) {
            const uint32_t r = row + 8 * half;
            const float scale =
                r < tile->rows ? plan->operands.scale_a[(tile->m0 + r) * plan->operands.scale_a_step] : 0;
#pragma unroll
            for (uint32_t i = 2 * half; i < 32; i += i % 2 ? 3 : 1)
                v[i] *= scale;
        }
    const float *scale_b = irisi_tile_scale_b(plan, tile);
    if (scale_b != NULL && plan->operands.alpha != 0)
#pragma unroll
        for (uint32_t i = 0; i < 32; i += i % 2 ? 3 : 1) {
            const uint32_t c = col + i / 4 * 8 + i % 2;
            const float scale =
                c < tile->cols ? scale_b[(tile->n0 + c) * plan->operands.scale_b_step] : 0;
            v[i] *= scale, v[i + 2] *= scale;
        }
}

/* Multiplies a lane's 32 accumulators by the scale of C. */
IRIS_DEVICE void irisi_gemm_scale_last(const iris_gemm_plan *plan, float *v)
{
    if (plan->operands.scale_c != NULL)
#pragma unroll
        for (uint32_t i = 0; i < 32; i++)
            v[i] *= plan->operands.scale_c[0];
}

/* C in i32 has no epilogue in this loop: plans that ask for one get another mainloop (irisi_gemm_pick). */
IRIS_DEVICE void irisi_gemm_finish_i8_i32_sm90a(const iris_gemm_plan *plan, const iris_tile *tile, int32_t *v,
                                                uint32_t row, uint32_t col)
{
    (void)plan, (void)tile, (void)v, (void)row, (void)col;
}

#include <iris/mainloop/nvidia/sm90a_unaligned_b.h>

#include <iris/gen/mainloop/gemm_gemv_nvidia.h>
#include <iris/gen/mainloop/gemm_simt.h>
#include <iris/gen/mainloop/gemm_sm80_nvidia.h>
#include <iris/gen/mainloop/gemm_sm90a_leave_nvidia.h>
#include <iris/gen/mainloop/gemm_sm90a_unaligned_b_nvidia.h>
#include <iris/gen/mainloop/gemm_sm90a_nvidia.h>

#endif
