/* SPDX-License-Identifier: MIT */
/* Lap after lap every rank writes a number and reads its neighbour's, with barriers of the world inside the kernel. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { LAPS = 100 };

typedef struct {
    iris_ctx ctx;
    iris_channel barrier;
    int32_t *number; /* symmetric */
    int32_t *wrong;  /* own: one for each lane */
} lap_args;

IRIS_KERNEL(laps, lap_args, a, 64)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    int32_t wrong = 0;
    for (int32_t lap = 0; lap < LAPS; lap++) {
        if (iris_wg_lane() == 0)
            iris_store_i32(&a->ctx, a->number, 1000 * a->ctx.rank + lap, a->ctx.rank);
        iris_barrier_all_wg(&a->ctx, &a->barrier); /* every number is written */
        wrong += iris_load_i32(&a->ctx, a->number, right) != 1000 * right + lap;
        iris_barrier_all_wg(&a->ctx, &a->barrier); /* every number is read: the next lap may write */
    }
    a->wrong[iris_wg_lane()] = wrong;
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config one = iris_cooperative(1, 64);
    int32_t lanes[64], wrong = 0;
    lap_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.number = iris_zeros_i32(w, 1);
    a.wrong = iris_zeros_i32(w, 64);
    IRIS_TRY(iris_channel_create(w, &a.barrier, (size_t)iris_world_size(w), 0)); /* a signal for each rank, no banks */
    IRIS_TRY(iris_barrier(w)); /* the host's barrier: everyone has created */
    IRIS_TRY(iris_launch(w, laps, &a, sizeof a, &one, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_i32(w, lanes, a.wrong, 64));
    for (int i = 0; i < 64; i++)
        wrong += lanes[i];
    printf("rank %d: %d laps, %d wrong\n", iris_rank(w), LAPS, wrong);
    return wrong != 0;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, NULL);
}
