/* SPDX-License-Identifier: MIT */
/*
 * All-gather inside a kernel of one's own: every rank computes its row of a table, the whole grid gathers, and goes on
 * with the complete table, in the same launch.
 */
#include <iris/gen/all_gather_push.h>
#include <iris/collective/launch.h>
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

#include "../ranks.h"

enum { ROW = 5000, LAPS = 20, WORKGROUPS = 2, LANES = 128 };

typedef struct {
    iris_ctx ctx;
    iris_channel ch, grid; /* of the collective; of the grid's barriers */
    float *table;          /* symmetric: a row for each rank */
    uint64_t *wrong;
} gather_args;

IRIS_DEVICE float value(int lap, int rank, size_t i) { return (float)(lap * 3 + rank * 100) + (float)(i % 64); }

IRIS_KERNEL(compute_and_gather, gather_args, a, LANES)
{
    const iris_team world = iris_team_world(&a->ctx);
    float *row = a->table + (size_t)a->ctx.rank * ROW;
    uint64_t wrong = 0;
    for (int lap = 0; lap < LAPS; lap++) {
        for (size_t i = iris_grid_lane(); i < ROW; i += iris_grid_lanes())
            row[i] = value(lap, a->ctx.rank, i);
        iris_grid_sync(&a->ctx, &a->grid); /* workgroups send what others have computed */
        iris_all_gather_push_f32(&a->ctx, &a->ch, world, a->table, row, ROW);
        iris_grid_sync(&a->ctx, &a->grid); /* and read what others have received */
        for (size_t i = iris_grid_lane(); i < ROW * (size_t)a->ctx.world; i += iris_grid_lanes())
            wrong += a->table[i] != value(lap, (int)(i / ROW), i % ROW);
        iris_grid_sync(&a->ctx, &a->grid);
    }
    iris_atomic_add_u64(&a->ctx, a->wrong, wrong, a->ctx.rank, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config cfg = iris_cooperative(WORKGROUPS, LANES);
    uint64_t wrong;
    gather_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.table = iris_zeros_f32(w, ROW * (size_t)iris_world_size(w));
    a.wrong = iris_zeros_u64(w, 1);
    IRIS_TRY(iris_collective_channel(w, &a.ch, 0));
    IRIS_TRY(iris_channel_create(w, &a.grid, 1, 0));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, compute_and_gather, &a, sizeof a, &cfg, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    wrong = iris_peek_u64(w, a.wrong);
    if (iris_rank(w) == 0 || wrong)
        printf("rank %d gathered %d rows of %d elements %d times: %llu wrong\n", iris_rank(w), iris_world_size(w), ROW,
               LAPS, (unsigned long long)wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Every rank computes a row of a table and gathers all, in one kernel.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
