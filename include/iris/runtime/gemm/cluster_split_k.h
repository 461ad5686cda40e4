/* SPDX-License-Identifier: MIT */
/*
 * cluster_split_k.h: a part of init.c: launches of the gemv loop with a workgroup for each split of a tile's K. The
 * splits of a tile are a cluster; several workgroups share a compute unit.
 *
 *   irisi_gemm_can_cluster_split_k irisi_gemm_cluster_split_k irisi_gemm_cluster_split_k_fused
 *
 * A kernel that only computes has as many workgroups as there are splits, which run whenever there is room. The
 * workgroups of fused_sequential wait for other ranks' tiles, so all must be on the device at once: K is cut as far as
 * that allows.
 */
#ifndef IRIS_RUNTIME_GEMM_CLUSTER_SPLIT_K_H
#define IRIS_RUNTIME_GEMM_CLUSTER_SPLIT_K_H
#ifdef IRIS_INIT_C

#include <iris/gemm/prepare.h>

/*
 * 1 when a plan's kernels may have such clusters: it has the gemv loop, and the plan has at least as many
 * workgroups as the device has compute units.
 */
static int irisi_gemm_can_cluster_split_k(const iris_world *w, const iris_gemm_plan *p)
{
    return irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K) && p->tiling.positions > 0 &&
           p->machine.workgroups >= (uint32_t)w->dev.compute_units;
}

/* Changes a plan to one with such clusters, and returns the number of its workgroups. */
static uint32_t irisi_gemm_cluster_split_k(iris_gemm_plan *p, uint32_t split_k)
{
    for (p->tiling.split_k = split_k; 1u << p->tiling.split_k_shift < split_k;)
        p->tiling.split_k_shift++;
    p->tiling.positions *= split_k, p->tiling.runs[0].tiles *= split_k;
    return p->tiling.positions;
}

/*
 * Workgroups of a kernel that can be on the device at once. Where ranks share it there are no clusters: the runtime
 * counts those of the whole device, and a rank's part of them may lie where another rank's leave no room for a cluster.
 */
static uint32_t irisi_gemm_resident(iris_world *w, irisi_kernel kernel, const iris_launch_config *cfg)
{
    uint32_t most = 0;
#if defined(IRISI_HAS_CLUSTERS)
    if (cfg->cluster > 1)
        return !irisi_dev_shared(&w->dev) && irisi_dev_allow_shared(&w->dev, kernel, cfg->shared_bytes) == NULL &&
                       irisi_gpu_clustered(kernel, cfg, &most) == NULL
                   ? most
                   : 0;
#endif
    if (cfg->cluster <= 1)
        most = irisi_max_workgroups(w, kernel, cfg->lanes, cfg->shared_bytes);
    return most;
}

/* Into how many splits fused_sequential's kernel cuts K; 0: it has no such clusters. */
static uint32_t irisi_gemm_cluster_split_k_fused(iris_world *w, const iris_gemm_plan *p, irisi_kernel kernel)
{
    for (uint32_t split_k = irisi_gemm_can_cluster_split_k(w, p) ? p->tiling.cluster_split_k : 0; split_k > 0;
         split_k /= 2) {
        iris_gemm_plan cluster_split_k = *p;
        const uint32_t workgroups = irisi_gemm_cluster_split_k(&cluster_split_k, split_k);
        const iris_launch_config cfg = iris_gemm_grid(&cluster_split_k, 1);
        if (workgroups <= irisi_gemm_resident(w, kernel, &cfg))
            return split_k;
    }
    return 0;
}

#endif
#endif
