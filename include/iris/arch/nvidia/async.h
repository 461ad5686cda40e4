/* SPDX-License-Identifier: MIT */
/*
 * async.h (nvidia): what runs beside the lanes on Hopper: bulk copies, barriers in shared memory, warpgroup products.
 *
 *   irisi_tile_cuts irisi_bulk_can irisi_bulk_put irisi_bulk_put_box irisi_bulk_commit
 *   irisi_bulk_reusable irisi_bulk_reusable_but_five irisi_bulk_arrived irisi_bulk_pace irisi_bulk_written
 *   irisi_bulk_acquired
 *   irisi_mbar_init irisi_mbar_made irisi_mbar_expect irisi_mbar_arrive irisi_mbar_wait irisi_mbar_passed
 *   irisi_elected irisi_prefetch_map irisi_bulk_fetch irisi_fetch_box irisi_prefetch_box
 *   irisi_store_two irisi_store_matrices irisi_wgmma_begin irisi_wgmma_commit irisi_wgmma_wait_one irisi_wgmma_wait
 *   irisi_wgmma_done_f32 irisi_wgmma_done_i32 irisi_wgmma_operand irisi_wgmma_whole
 *
 * Shared memory is given by its 32-bit address. Bulk copies and warpgroup products read it through the asynchronous
 * proxy: irisi_bulk_written must come between a lane's own stores to it and the barrier before such a read.
 */
#ifndef IRIS_ARCH_NVIDIA_ASYNC_H
#define IRIS_ARCH_NVIDIA_ASYNC_H

#include <iris/arch/nvidia/device.h>

/* 1 where this compilation's target has bulk copies (sm_90), and where it has warpgroup products (sm_90a). */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define IRISI_BULK 1
#else
#define IRISI_BULK 0
#endif
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define IRISI_WGMMA 1
#else
#define IRISI_WGMMA 0
#endif

IRIS_DEVICE uint32_t irisi_shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

/* 1 where tiles may be of several widths (runtime/gemm/tile_search.h). */
IRIS_DEVICE int irisi_tile_cuts(void) { return 1; }

/* 1 where a lane can have the copy engine put whole rows. */
IRIS_DEVICE int irisi_bulk_can(void) { return IRISI_BULK; }

/*
 * Begins to copy from shared to global memory on any rank; both addresses and the length are multiples of 16. The copy
 * is one of the lane's open group, which irisi_bulk_commit closes.
 */
IRIS_DEVICE void irisi_bulk_put(void *to, const void *from, uint32_t bytes)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(irisi_shared_address(from)), "r"(bytes)
                 : "memory");
#else
    (void)to, (void)from, (void)bytes;
#endif
}

/* Begins to copy a box from shared memory to element (x, y) of a tensor map; nothing is written beyond the matrix. */
IRIS_DEVICE void irisi_bulk_put_box_at(const void *map, uint32_t x, uint32_t y, uint32_t from)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
                 "r"(y), "r"(from)
                 : "memory");
#else
    (void)map, (void)x, (void)y, (void)from;
#endif
}
IRIS_DEVICE void irisi_bulk_put_box(const void *map, uint32_t x, uint32_t y, const void *from)
{
    irisi_bulk_put_box_at(map, x, y, irisi_shared_address(from));
}

/* Closes the lane's group of bulk puts. */
IRIS_DEVICE void irisi_bulk_commit(void)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}

/*
 * Waits until the lane's bulk puts, except those of its latest group if `keep` is 1, have read shared memory, which may
 * be written again then. They may not have arrived yet.
 */
IRIS_DEVICE void irisi_bulk_reusable(int keep)
{
#if IRISI_BULK
    if (keep)
        asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    else
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#else
    (void)keep;
#endif
}

/* The same, except for those of its latest five groups. */
IRIS_DEVICE void irisi_bulk_reusable_but_five(void)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.wait_group.read 5;" ::: "memory");
#endif
}

/* Waits until the lane's bulk puts have arrived: a release by this lane, or by one that meets it, covers them. */
IRIS_DEVICE void irisi_bulk_arrived(void)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

/* Waits until at most `open` of the lane's groups of bulk puts have not arrived; at most 15. */
IRIS_DEVICE void irisi_bulk_pace(uint32_t open)
{
#if IRISI_BULK
    if (open == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    else if (open == 1)
        asm volatile("cp.async.bulk.wait_group 1;" ::: "memory");
    else if (open <= 3)
        asm volatile("cp.async.bulk.wait_group 3;" ::: "memory");
    else if (open <= 7)
        asm volatile("cp.async.bulk.wait_group 7;" ::: "memory");
    else
        asm volatile("cp.async.bulk.wait_group 15;" ::: "memory");
#else
    (void)open;
#endif
}

/* Orders the lane's stores to shared memory before what the copy engine reads after the next barrier. */
IRIS_DEVICE void irisi_bulk_written(void)
{
#if IRISI_BULK
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Orders what the lane has acquired before what it has the copy engine read afterwards. */
IRIS_DEVICE void irisi_bulk_acquired(void)
{
#if IRISI_BULK
    asm volatile("fence.proxy.async;" ::: "memory");
#endif
}

/*
 * Makes barriers that the lane has initialised visible to the copy engine and the cluster; a workgroup barrier follows.
 */
IRIS_DEVICE void irisi_mbar_made(void)
{
#if IRISI_BULK
    asm volatile("fence.mbarrier_init.release.cluster;\n fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#define IRISI_MBAR_MOST ((1u << 20) - 1) /* arrivals that a barrier's phase can count (PTX ISA, mbarrier) */

/* A barrier in shared memory, 8 bytes: a phase is complete when `count` arrivals and all expected bytes have come. */
IRIS_DEVICE void irisi_mbar_init(uint32_t bar, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

/* One arrival, which also adds to the bytes that the phase expects. */
IRIS_DEVICE void irisi_mbar_expect(uint32_t bar, uint32_t bytes)
{
#if IRISI_BULK
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
#else
    (void)bar, (void)bytes;
#endif
}

/* One arrival. */
IRIS_DEVICE void irisi_mbar_arrive(uint32_t bar)
{
    asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(bar) : "memory");
}

/* Waits until the phase of this parity is complete; for a new barrier the phase of parity 1 is. */
IRIS_DEVICE void irisi_mbar_wait(uint32_t bar, uint32_t parity)
{
#if IRISI_BULK
    uint32_t done;
    do
        asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     " selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
    while (!done);
#else
    (void)bar, (void)parity;
#endif
}

/* 1 when the phase of this parity is complete already; does not wait. */
IRIS_DEVICE uint32_t irisi_mbar_passed(uint32_t bar, uint32_t parity)
{
    uint32_t done = 0;
#if IRISI_BULK
    asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 " selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
#else
    (void)bar, (void)parity;
#endif
    return done;
}

/*
 * 1 for one lane of a wave, always the same; all of its lanes call it. The compiler then knows that one lane goes on,
 * and gives the copy engine's instructions their uniform registers at once, not lane by lane in a loop.
 */
IRIS_DEVICE uint32_t irisi_elected(void)
{
    uint32_t elected = 0;
#if IRISI_BULK
    asm volatile("{\n .reg .pred p;\n elect.sync _|p, 0xffffffff;\n selp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
#endif
    return elected;
}

/*
 * Begins to copy from global memory of this device into shared memory; both addresses and the length are multiples of
 * 16. `bar` counts the bytes.
 */
IRIS_DEVICE void irisi_bulk_fetch(uint32_t to, const void *from, uint32_t bytes, uint32_t bar)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(bar)
                 : "memory");
#else
    (void)to, (void)from, (void)bytes, (void)bar;
#endif
}

/*
 * Begins to copy a box of a tensor map, from (x, y) on, into shared memory, with zeros beyond the matrix; `bar` counts
 * it.
 */
IRIS_DEVICE void irisi_fetch_box(uint32_t to, const void *map, uint32_t x, uint32_t y, uint32_t bar)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(bar)
                 : "memory");
#else
    (void)to, (void)map, (void)x, (void)y, (void)bar;
#endif
}

/* Prefetches a box into the second-level cache, where later stores of the device are seen too. */
IRIS_DEVICE void irisi_prefetch_box(const void *map, uint32_t x, uint32_t y)
{
#if IRISI_BULK
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(map), "r"(x), "r"(y)
                 : "memory");
#else
    (void)map, (void)x, (void)y;
#endif
}

/* Prefetches a tensor map. */
IRIS_DEVICE void irisi_prefetch_map(const void *map)
{
#if IRISI_BULK
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#else
    (void)map;
#endif
}

/* Orders the lane's accesses to accumulator registers before the warpgroup products that follow. */
IRIS_DEVICE void irisi_wgmma_begin(void)
{
#if IRISI_WGMMA
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

IRIS_DEVICE void irisi_wgmma_commit(void)
{
#if IRISI_WGMMA
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/*
 * irisi_wgmma_wait_one: waits until all committed groups but the latest are complete; irisi_wgmma_wait: until all are.
 */
IRIS_DEVICE void irisi_wgmma_wait_one(void)
{
#if IRISI_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
#endif
}
IRIS_DEVICE void irisi_wgmma_wait(void)
{
#if IRISI_WGMMA
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#endif
}

/*
 * Waits until all groups are complete, and keeps the compiler from reading the lane's `n` (a constant) accumulators
 * sooner: otherwise ptxas waits for every single product.
 */
IRIS_DEVICE void irisi_wgmma_done_f32(float *v, const uint32_t n)
{
    irisi_wgmma_wait();
#pragma unroll
    for (uint32_t i = 0; i < n; i++)
        asm volatile("" : "+f"(v[i])::"memory");
}
IRIS_DEVICE void irisi_wgmma_done_i32(int32_t *v, const uint32_t n)
{
    irisi_wgmma_wait();
#pragma unroll
    for (uint32_t i = 0; i < n; i++)
        asm volatile("" : "+r"(v[i])::"memory");
}

/*
 * The descriptor of an operand in shared memory whose rows of 128 bytes are swizzled over groups of 8 (PTX ISA, matrix
 * descriptor of wgmma), 1024 bytes from one group to the next: its low half, and both. `leading`: bytes from one run of
 * 64 columns to the next where rows run along K. The shuffle shows the compiler that all lanes have the same value, so
 * that it stays in uniform registers: values of lanes would have to be moved there between two products.
 */
IRIS_DEVICE uint32_t irisi_wgmma_operand(uint32_t address, uint32_t leading)
{
    return __shfl_sync(0xffffffffu, leading >> 4 << 16 | (address >> 4 & 0x3fff), 0);
}
IRIS_DEVICE uint64_t irisi_wgmma_whole(uint32_t low) { return (uint64_t)(1u << 30 | 1024 >> 4) << 32 | low; }

/* Stores into shared memory: two words; below, four 8 x 8 matrices of 16-bit values, a row of 16 bytes by each lane. */
IRIS_DEVICE void irisi_store_two(uint32_t to, uint32_t a, uint32_t b)
{
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(to), "r"(a), "r"(b) : "memory");
}
IRIS_DEVICE void irisi_store_matrices(uint32_t to, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
#if IRISI_BULK
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b), "r"(c),
                 "r"(d)
                 : "memory");
#else
    (void)to, (void)a, (void)b, (void)c, (void)d;
#endif
}

#endif
