/* SPDX-License-Identifier: MIT */
/* Every rank puts its row into every rank's table, the next rank first so that links share the load: an all-gather. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { ROW = 10007 };

typedef struct {
    iris_ctx ctx;
    const int16_t *row;
    int16_t *table; /* symmetric: world rows */
    iris_signal *arrived;
    size_t n;
} all_store_args;

IRIS_KERNEL(all_store, all_store_args, a, 256)
{
    const size_t each = (a->n + iris_workgroups() - 1) / iris_workgroups();
    const size_t first = each * iris_workgroup() < a->n ? each * iris_workgroup() : a->n;
    const size_t count = a->n - first < each ? a->n - first : each;
    int16_t *mine = a->table + (size_t)a->ctx.rank * a->n + first;
    for (int k = 1; k <= a->ctx.world; k++)
        iris_put_signal_i16_wg(&a->ctx, mine, a->row + first, count, a->arrived, 1, IRIS_SIGNAL_ADD,
                               (a->ctx.rank + k) % a->ctx.world);
    iris_wait_ge_wg(&a->ctx, a->arrived, (uint64_t)iris_workgroups() * (uint64_t)a->ctx.world);
}

static int rank_main(iris_world *w, void *unused)
{
    const int world = iris_world_size(w);
    iris_launch_config grid = iris_cooperative(8, 256);
    int16_t *seen = (int16_t *)malloc((size_t)world * ROW * sizeof *seen);
    size_t wrong = 0;
    all_store_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = ROW;
    a.row = iris_arange_i16(w, ROW, (int16_t)(100 * iris_rank(w)), 1);
    a.table = iris_full_i16(w, (size_t)world * ROW, -1);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, all_store, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_i16(w, seen, a.table, (size_t)world * ROW));
    for (int rank = 0; rank < world; rank++)
        for (int i = 0; i < ROW; i++)
            wrong += seen[rank * ROW + i] != (int16_t)(100 * rank + i);
    free(seen);
    printf("rank %d gathered %d rows of %d: %zu wrong\n", iris_rank(w), world, ROW, wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 4, "Every rank puts its row into every rank's table: an all-gather.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
