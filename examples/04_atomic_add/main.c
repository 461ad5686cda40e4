/* SPDX-License-Identifier: MIT */
/* All ranks count into one histogram that is spread over all ranks: bin b lives on rank b % world. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <string.h>

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
    uint32_t samples[SAMPLES], bins[BINS], own[BINS], all[MOST_RANKS][BINS];
    int wrong = 0;
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
    IRIS_TRY(iris_memcpy(w, samples, a.samples, sizeof samples));
    memset(own, 0, sizeof own);
    for (int i = 0; i < SAMPLES; i++)
        own[samples[i] % BINS]++;
    IRIS_TRY(iris_allgather(w, own, all, sizeof own)); /* what each rank has counted, by the host */
    for (int bin = 0; bin < BINS; bin++) {
        uint32_t want = 0; /* on every rank but the one where the bin lives */
        for (int rank = 0; bin % iris_world_size(w) == iris_rank(w) && rank < iris_world_size(w); rank++)
            want += all[rank][bin];
        wrong += bins[bin] != want;
    }
    if (iris_rank(w) == 0 || wrong)
        printf("%d ranks counted %d samples: %d of %d bins on rank %d are wrong\n", iris_world_size(w),
               SAMPLES * iris_world_size(w), wrong, BINS, iris_rank(w));
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 4, "All ranks count into one histogram that is spread over all ranks.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
