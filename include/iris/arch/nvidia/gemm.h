/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (nvidia): the mainloops of this platform: the plain one, shared-memory tiles and fused multiply-adds, and
 * sm_90a's, warpgroup products from a ring of blocks that the copy engine fetches.
 *
 *   irisi_gemm_workspace_begin irisi_gemm_registers
 *   irisi_gemm_ring irisi_gemm_ring_begin irisi_gemm_ring_next irisi_gemm_scaled
 *   and what gen/arch/gemm_simt.h and gen/arch/gemm_sm90a_nvidia.h have
 */
#ifndef IRIS_ARCH_NVIDIA_GEMM_H
#define IRIS_ARCH_NVIDIA_GEMM_H

#include <iris/arch/gemm_shape.h>
#include <iris/arch/nvidia/async.h>
#include <iris/tile.h>

/*
 * sm_90a: a kernel starts with 168 registers a lane; while roles last, the computing warpgroups have 224 and the third
 * has 56. Every lane of a warpgroup calls it; its waves may have parted before. The third warpgroup takes its registers
 * back only when the others have returned theirs: with nothing to do it could be here before they have taken them.
 */
IRIS_DEVICE void irisi_gemm_registers(uint32_t mainloop, iris_gemm_role role, int begins)
{
#if IRISI_WGMMA
    if (mainloop != IRISI_GEMM_SM90A)
        return;
    __syncwarp();
    if (role == IRIS_GEMM_MATH && begins)
        asm volatile("setmaxnreg.inc.sync.aligned.u32 224;" ::: "memory");
    else if (begins)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 56;" ::: "memory");
    else if (role == IRIS_GEMM_MATH) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 168;" ::: "memory");
        iris_sync_wg();
    } else {
        iris_sync_wg();
        asm volatile("setmaxnreg.inc.sync.aligned.u32 168;" ::: "memory");
    }
#else
    (void)mainloop, (void)role, (void)begins;
#endif
}

/* A ring of blocks in shared memory. Barriers: one that says a block is full for each, then one that says empty. */
typedef struct irisi_gemm_ring {
    uint32_t blocks, bars; /* shared addresses */
    uint32_t bytes;        /* of a block */
    uint32_t count, at, parity;
} irisi_gemm_ring;

/* Blocks are as wide as the plan's full tiles: the narrower those, the more blocks. */
IRIS_DEVICE irisi_gemm_ring irisi_gemm_ring_begin(const iris_gemm_plan *plan, char *workspace, uint32_t bytes)
{
    irisi_gemm_ring ring;
    ring.bytes = IRISI_GEMM_SM90A_A_BYTES + (plan->tile_n + 63) / 64 * IRISI_GEMM_SM90A_RUN;
    ring.bars = irisi_shared_address(workspace);
    ring.blocks = ring.bars + IRISI_GEMM_SM90A_HEAD;
    ring.count = (bytes - IRISI_GEMM_SM90A_HEAD) / ring.bytes;
    ring.at = 0;
    ring.parity = 0;
    return ring;
}

IRIS_DEVICE uint32_t irisi_gemm_ring_block(const irisi_gemm_ring *ring)
{
    return ring->blocks + ring->at * ring->bytes;
}
IRIS_DEVICE uint32_t irisi_gemm_ring_full(const irisi_gemm_ring *ring) { return ring->bars + 8 * ring->at; }
IRIS_DEVICE uint32_t irisi_gemm_ring_empty(const irisi_gemm_ring *ring)
{
    return ring->bars + 8 * (ring->count + ring->at);
}

IRIS_DEVICE void irisi_gemm_ring_next(irisi_gemm_ring *ring)
{
    if (++ring->at == ring->count) {
        ring->at = 0;
        ring->parity ^= 1;
    }
}

/* Before the workgroup's first barrier: one lane readies what the roles will meet at. */
IRIS_DEVICE void irisi_gemm_workspace_begin(const iris_gemm_plan *plan, char *workspace, uint32_t bytes)
{
#if IRISI_WGMMA
    if (plan->mainloop != IRISI_GEMM_SM90A || iris_wg_lane() != 0)
        return;
    irisi_gemm_ring ring = irisi_gemm_ring_begin(plan, workspace, bytes);
    for (; ring.parity == 0; irisi_gemm_ring_next(&ring)) {
        irisi_mbar_init(irisi_gemm_ring_full(&ring), 1);
        irisi_mbar_init(irisi_gemm_ring_empty(&ring), IRISI_GEMM_SM90A_MATH_WAVES);
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async;" ::: "memory");
#else
    (void)plan, (void)workspace, (void)bytes;
#endif
}

/*
 * A wave's part of a relay: tiles that stand in this rank's C go to the peers by the copy engine alone, through shared
 * memory, so that few workgroups fill the links. Box after box of 16 rows of 128 bytes, each read once.
 */
typedef struct irisi_relay {
    uint32_t boxes, bar, parity; /* shared addresses: room for IRISI_RELAY_BOXES, a barrier */
} irisi_relay;
#define IRISI_HAS_RELAY 1
enum { IRISI_RELAY_BOXES = 8, IRISI_RELAY_BARS = 512 };

/* 1 where plans may be sent so. */
IRIS_DEVICE int irisi_relay_can(const iris_gemm_plan *plan)
{
    return IRISI_WGMMA && plan->mainloop == IRISI_GEMM_SM90A && plan->boxed;
}

/* Every lane of a workgroup that only sends calls it; 12 waves have room. */
IRIS_DEVICE irisi_relay irisi_relay_begin(char *workspace)
{
    irisi_relay r;
    const uint32_t base = irisi_shared_address(workspace);
    r.boxes = base + IRISI_GEMM_SM90A_HEAD + iris_wave() * IRISI_RELAY_BOXES * 2048;
    r.bar = base + IRISI_RELAY_BARS + 8 * iris_wave();
    r.parity = 0;
    if (iris_lane() == 0) {
        irisi_mbar_init(r.bar, 1);
        asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async;" ::: "memory");
    }
    __syncwarp();
    return r;
}

/* Sends a tile's boxes to every peer. Every lane of the crew calls it, after the tile's flag. */
IRIS_DEVICE void irisi_relay_send(const iris_gemm_plan *plan, const iris_tile *tile, const iris_crew *crew,
                                  irisi_relay *r)
{
    const uint32_t across = (tile->cols + 63) / 64, boxes = across * ((tile->rows + 15) / 16);
    uint32_t mine = 0;
    if (crew->stopped || iris_lane() != 0)
        return;
    irisi_bulk_reusable(0);
    irisi_bulk_acquired();
    for (uint32_t b = crew->wave; b < boxes; b += crew->waves)
        mine++;
    irisi_mbar_expect(r->bar, mine * 2048);
    mine = 0;
    for (uint32_t b = crew->wave; b < boxes; b += crew->waves)
        irisi_fetch_box(r->boxes + 2048 * mine++, plan->maps[2 + plan->rank], tile->n0 + b % across * 64,
                        tile->m0 + b / across * 16, r->bar);
    irisi_mbar_wait(r->bar, r->parity);
    r->parity ^= 1;
    mine = 0;
    for (uint32_t b = crew->wave; b < boxes; b += crew->waves, mine++)
        for (uint32_t i = 1; i < plan->world; i++) {
            const uint32_t to = (plan->rank + 1 + (tile->index + b + i) % (plan->world - 1)) % plan->world;
            irisi_bulk_put_box_at(plan->maps[2 + to], tile->n0 + b % across * 64, tile->m0 + b / across * 16,
                                  r->boxes + 2048 * mine);
        }
    irisi_bulk_commit();
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

/* alpha * v; 0 for an alpha of 0, whatever v is. */
IRIS_DEVICE float irisi_gemm_scaled(float v, float alpha)
{
    return __uint_as_float(__float_as_uint(alpha * v) & (alpha == 0 ? 0 : UINT32_MAX));
}

#include <iris/gen/arch/gemm_simt.h>
#include <iris/gen/arch/gemm_sm80_nvidia.h>
#include <iris/gen/arch/gemm_sm90a_nvidia.h>

#endif
