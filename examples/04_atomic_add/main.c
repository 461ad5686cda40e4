/* SPDX-License-Identifier: MIT */
/* All ranks count into one histogram that is spread over all ranks: bin b lives on rank b % world. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

#include "../ranks.h"

enum { BINS = 64, SAMPLES = 1 << 14 };

typedef struct {
    iris_ctx ctx;
    uint32_t *bins; /* symmetric, sync memory: targets of remote atomics */
    const uint32_t *samples;
    size_t n;
} count_args;

IRIS_KERNEL(count, count_args, a, 256)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes()) {
        const uint32_t bin = a->samples[i] % BINS;
        iris_atomic_add_u32(&a->ctx, a->bins + bin, 1, (int)(bin % (uint32_t)a->ctx.world), IRIS_RELAXED,
                            IRIS_SCOPE_SYSTEM);
    }
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_grid(8, 256);
    uint64_t total = 0, all[64];
    uint32_t bins[BINS];
    count_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = SAMPLES;
    a.bins = (uint32_t *)iris_malloc_kind(w, sizeof bins, 0, IRIS_MEM_SYNC);
    a.samples = iris_randint_u32(w, SAMPLES, 7 + (uint64_t)iris_rank(w), 0, 1u << 30);
    IRIS_TRY(a.bins ? iris_memset(w, a.bins, 0, sizeof bins) : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, count, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_barrier(w)); /* everyone has counted */
    IRIS_TRY(iris_memcpy(w, bins, a.bins, sizeof bins));
    for (int bin = 0; bin < BINS; bin++)
        total += bins[bin];
    IRIS_TRY(iris_allgather(w, &total, all, sizeof total));
    total = 0;
    for (int rank = 0; rank < iris_world_size(w); rank++)
        total += all[rank];
    if (iris_rank(w) == 0)
        printf("%d ranks counted %llu samples of %d\n", iris_world_size(w), (unsigned long long)total,
               SAMPLES * iris_world_size(w));
    return total != (uint64_t)SAMPLES * (uint64_t)iris_world_size(w);
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 4, "All ranks count into one histogram that is spread over all ranks.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
