/* SPDX-License-Identifier: MIT */
/*
 * kernels.h: what iris_bench puts on a stream before the work that it times.
 *
 *   irisi_bench_meet    the ranks' devices meet, and stay together for a while
 *   irisi_bench_flush   memory is overwritten, so that caches hold nothing else
 */
#ifndef IRIS_BENCH_KERNELS_H
#define IRIS_BENCH_KERNELS_H

#include <iris/iris.h>

typedef struct irisi_bench_meeting {
    iris_ctx ctx;
    iris_channel ch;
    uint64_t hold; /* ticks of the device's clock */
} irisi_bench_meeting;

IRISI_WEAK IRIS_KERNEL(irisi_bench_meet, irisi_bench_meeting, a, 64)
{
    iris_ll_barrier_wg(&a->ctx, &a->ch);
    for (const uint64_t met = iris_clock(); iris_clock() - met < a->hold;)
        iris_pause(1);
}

typedef struct irisi_bench_flushing {
    uint32_t *at;
    size_t n;
} irisi_bench_flushing;

IRISI_WEAK IRIS_KERNEL(irisi_bench_flush, irisi_bench_flushing, a, 256)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->at[i] = (uint32_t)i;
}

#endif
