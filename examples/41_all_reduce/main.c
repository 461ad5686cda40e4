/* SPDX-License-Identifier: MIT */
/*
 * Every rank has a vector; afterwards every rank has the sum of all, by one call on a stream, in place. Then the same
 * by each schedule, to see that all give the same bits.
 */
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#include <iris/gen/launch/all_reduce.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ranks.h"

enum { N = 100000 };

/* Rank r's element i: 0 to 3, so that the sum of all ranks' is at most 192. A bf16 holds whole numbers up to 256. */
static int element(int rank, int i) { return i / (rank + 1) % 4; }

static void fill(iris_bf16 *x, int rank)
{
    for (int i = 0; i < N; i++)
        x[i] = iris_narrow_bf16((float)element(rank, i));
}

static int wrong(const iris_bf16 *x, int ranks)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        int sum = 0;
        for (int r = 0; r < ranks; r++)
            sum += element(r, i);
        n += iris_widen_bf16(x[i]) != (float)sum;
    }
    return n;
}

static int rank_main(iris_world *w, void *unused)
{
    static const iris_schedule schedules[] = {IRIS_SCHEDULE_ONE_SHOT, IRIS_SCHEDULE_TWO_SHOT, IRIS_SCHEDULE_RING,
                                              IRIS_SCHEDULE_LL};
    const iris_team world = {0, 0, 0};
    const int ranks = iris_world_size(w);
    iris_collective by;
    iris_channel ch;
    iris_bf16 *host = (iris_bf16 *)malloc(N * sizeof *host), *x = iris_empty_bf16(w, N), *y = iris_empty_bf16(w, N);
    int failed;
    (void)unused;
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_barrier(w)); /* everyone has created */
    fill(host, iris_rank(w));
    IRIS_TRY(iris_memcpy(w, x, host, N * sizeof *host));
    IRIS_TRY(iris_memcpy(w, y, host, N * sizeof *host));
    IRIS_TRY(iris_all_reduce_sum_bf16(w, &ch, x, x, N, world, iris_default_stream(w)));
    IRIS_TRY(iris_memcpy(w, host, x, N * sizeof *host)); /* after the default stream's work */
    failed = wrong(host, ranks);
    memset(&by, 0, sizeof by);
    by.dst = x, by.src = y, by.count = N, by.dtype = IRIS_BF16;
    for (int s = 0; s < 4; s++) {
        by.schedule = schedules[s];
        IRIS_TRY(iris_memset(w, x, 0xFF, N * sizeof *x)); /* NaN: what is not written is seen */
        IRIS_TRY(iris_launch_all_reduce(w, &ch, &by, iris_default_stream(w)));
        IRIS_TRY(iris_memcpy(w, host, x, N * sizeof *host));
        failed += wrong(host, ranks);
    }
    if (iris_rank(w) == 0 || failed)
        printf("rank %d summed %d elements of %d ranks by 5 calls: %d wrong\n", iris_rank(w), N, ranks, failed);
    free(host);
    IRIS_TRY(iris_barrier(w)); /* nobody works on the channel any more */
    IRIS_TRY(iris_channel_destroy(w, &ch));
    return failed != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Every rank gets the sum of all ranks' vectors, by each schedule.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
