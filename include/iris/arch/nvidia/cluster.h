/* SPDX-License-Identifier: MIT */
/*
 * cluster.h (nvidia): workgroups of a cluster, which can write into each other's shared memory (sm_90).
 *
 *   irisi_cluster_rank irisi_cluster_meet irisi_cluster_at irisi_cluster_store irisi_mbar_arrive_at
 *   irisi_mbar_wait_stored irisi_add_shared irisi_fetch_box_for
 *   irisi_cluster_arrive irisi_cluster_await irisi_cluster_give
 */
#ifndef IRIS_ARCH_NVIDIA_CLUSTER_H
#define IRIS_ARCH_NVIDIA_CLUSTER_H

#include <iris/arch/nvidia/async.h>

/* The number of this workgroup in its cluster. */
IRIS_DEVICE uint32_t irisi_cluster_rank(void)
{
    uint32_t rank = 0;
#if IRISI_BULK
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

/*
 * Barrier of all lanes of a cluster of so many workgroups, which its waves may call from different places in the
 * kernel; orders no memory operations. For one workgroup it is the workgroup's barrier: synccheck would report a
 * cluster's, because waves call it from different places.
 */
IRIS_DEVICE void irisi_cluster_meet(uint32_t workgroups)
{
#if IRISI_BULK
    if (workgroups > 1)
        asm volatile("barrier.cluster.arrive.relaxed.aligned;\n barrier.cluster.wait.aligned;" ::: "memory");
    else
        asm volatile("barrier.sync 0, %0;" ::"r"(iris_wg_lanes()) : "memory");
#else
    (void)workgroups;
#endif
}

/*
 * One arrival at the barrier at the same address in workgroup `rank` of the cluster; after it the lane reads nothing
 * that the phase guards. A workgroup without a cluster is rank 0 of its own.
 */
IRIS_DEVICE void irisi_mbar_arrive_at(uint32_t bar, uint32_t rank)
{
#if IRISI_BULK
    asm volatile("{\n .reg .b32 at;\n mapa.shared::cluster.u32 at, %0, %1;\n"
                 " mbarrier.arrive.shared::cluster.b64 _, [at];\n}" ::"r"(bar),
                 "r"(rank)
                 : "memory");
#else
    (void)bar, (void)rank;
#endif
}

/* The address by which a shared address of workgroup `rank` of the cluster is reached. */
IRIS_DEVICE uint32_t irisi_cluster_at(uint32_t address, uint32_t rank)
{
    uint32_t there = address;
#if IRISI_BULK
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
#else
    (void)rank;
#endif
    return there;
}

/* irisi_cluster_meet in two halves, with other work between them; whole waves call them. */
IRIS_DEVICE void irisi_cluster_arrive(void)
{
#if IRISI_BULK
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
IRIS_DEVICE void irisi_cluster_await(void)
{
#if IRISI_BULK
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

/* Stores 16 bytes into another workgroup's shared memory; its barrier `bar` counts them (irisi_mbar_wait_stored). */
IRIS_DEVICE void irisi_cluster_store(uint32_t to, uint32_t bar, const float *v)
{
#if IRISI_BULK
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                 "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
                 "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(bar)
                 : "memory");
#else
    (void)to, (void)bar, (void)v;
#endif
}

/* The same for one float. */
IRIS_DEVICE void irisi_cluster_give(uint32_t to, uint32_t bar, float v)
{
#if IRISI_BULK
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to), "f"(v),
                 "r"(bar)
                 : "memory");
#else
    (void)to, (void)bar, (void)v;
#endif
}

/*
 * irisi_mbar_wait that also makes visible what other workgroups of the cluster did before they arrived or stored here.
 */
IRIS_DEVICE void irisi_mbar_wait_stored(uint32_t bar, uint32_t parity)
{
#if IRISI_BULK
    uint32_t done;
    do
        asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     " selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(bar), "r"(parity)
                     : "memory");
    while (!done);
#else
    (void)bar, (void)parity;
#endif
}

/* Adds four floats of shared memory to v[0] .. v[3]. */
IRIS_DEVICE void irisi_add_shared(float *v, uint32_t from)
{
    float a = 0, b = 0, c = 0, d = 0;
#if IRISI_BULK
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                 : "r"(from)
                 : "memory");
#else
    (void)from;
#endif
    v[0] += a, v[1] += b, v[2] += c, v[3] += d;
}

/*
 * irisi_fetch_box into every workgroup of the cluster whose bit is set, at the same address; each one's `bar` counts
 * it.
 */
IRIS_DEVICE void irisi_fetch_box_for(uint32_t to, const void *map, uint32_t x, uint32_t y, uint32_t bar, uint16_t ranks)
{
#if IRISI_WGMMA /* for whose loops it is: assemblers advise against it for plain sm_90 */
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                 "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                 "l"(map), "r"(x), "r"(y), "r"(bar), "h"(ranks)
                 : "memory");
#else
    (void)to, (void)map, (void)x, (void)y, (void)bar, (void)ranks;
#endif
}

#endif
