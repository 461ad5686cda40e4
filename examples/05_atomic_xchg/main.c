/* SPDX-License-Identifier: MIT */
/*
 * Every workgroup of every rank exchanges its own ticket with one word on rank 0. Each ticket is handed to exactly one
 * later caller, or is still in the word: nothing is lost and nothing appears twice.
 */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { GROUPS = 16 };

typedef struct {
    iris_ctx ctx;
    uint64_t *word; /* symmetric, sync memory; used on rank 0 */
    uint64_t *received;
} xchg_args;

IRIS_KERNEL(exchange, xchg_args, a, 64)
{
    const uint64_t ticket = 1 + (uint64_t)a->ctx.rank * iris_workgroups() + iris_workgroup();
    if (iris_wg_lane() == 0)
        a->received[iris_workgroup()] =
            iris_atomic_xchg_u64(&a->ctx, a->word, ticket, 0, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM);
}

static int rank_main(iris_world *w, void *unused)
{
    const int tickets = GROUPS * iris_world_size(w);
    iris_launch_config grid = iris_grid(GROUPS, 64);
    uint64_t mine[GROUPS], last = 0, wrong = 0;
    uint64_t *all = (uint64_t *)calloc((size_t)tickets, sizeof *all);
    unsigned *times = (unsigned *)calloc((size_t)tickets + 1, sizeof *times);
    xchg_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.word = (uint64_t *)iris_signals(w, 1);
    a.received = iris_zeros_u64(w, GROUPS);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, exchange, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_download_u64(w, mine, a.received, GROUPS));
    IRIS_TRY(iris_download_u64(w, &last, a.word, 1));
    IRIS_TRY(iris_broadcast(w, &last, sizeof last, 0));
    IRIS_TRY(iris_allgather(w, mine, all, sizeof mine));
    times[last <= (uint64_t)tickets ? last : 0]++;
    for (int i = 0; i < tickets; i++)
        times[all[i] <= (uint64_t)tickets ? all[i] : 0]++;
    for (int i = 0; i <= tickets; i++) /* ticket 0 is the word's first value */
        wrong += times[i] != 1;
    free(times);
    free(all);
    printf("rank %d: %d tickets, %llu lost or doubled\n", iris_rank(w), tickets, (unsigned long long)wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 4, "Every workgroup exchanges its ticket with one word on rank 0.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
