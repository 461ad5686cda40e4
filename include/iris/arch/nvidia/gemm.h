/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (nvidia): the mainloops of this platform: the plain one, shared-memory tiles and fused multiply-adds, and
 * sm_90a's, warpgroup products from a ring of blocks that the copy engine fetches.
 *
 *   irisi_gemm_workspace_begin irisi_gemm_registers
 *   irisi_gemm_ring irisi_gemm_ring_begin irisi_gemm_ring_next
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
    uint32_t count, at, parity;
} irisi_gemm_ring;

IRIS_DEVICE irisi_gemm_ring irisi_gemm_ring_begin(char *workspace, uint32_t bytes)
{
    irisi_gemm_ring ring;
    ring.bars = irisi_shared_address(workspace);
    ring.blocks = ring.bars + IRISI_GEMM_SM90A_HEAD;
    ring.count = (bytes - IRISI_GEMM_SM90A_HEAD) / IRISI_GEMM_SM90A_BLOCK;
    ring.at = 0;
    ring.parity = 0;
    return ring;
}

IRIS_DEVICE uint32_t irisi_gemm_ring_block(const irisi_gemm_ring *ring)
{
    return ring->blocks + ring->at * IRISI_GEMM_SM90A_BLOCK;
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
    irisi_gemm_ring ring = irisi_gemm_ring_begin(workspace, bytes);
    for (; ring.parity == 0; irisi_gemm_ring_next(&ring)) {
        irisi_mbar_init(irisi_gemm_ring_full(&ring), 1);
        irisi_mbar_init(irisi_gemm_ring_empty(&ring), IRISI_GEMM_SM90A_MATH_WAVES);
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async;" ::: "memory");
#else
    (void)plan, (void)workspace, (void)bytes;
#endif
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

#include <iris/gen/arch/gemm_simt.h>
#include <iris/gen/arch/gemm_sm90a_nvidia.h>

#endif
