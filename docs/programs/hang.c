/* SPDX-License-Identifier: MIT */
/* A deliberate mistake: rank 1 waits for a signal that rank 0 never raises. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

typedef struct {
    iris_ctx ctx;
    iris_signal *arrived;
} hang_args;

IRIS_KERNEL(wait_for_nobody, hang_args, a, 64)
{
    if (a->ctx.rank == 1)
        iris_wait_ge_wg(&a->ctx, a->arrived, 3);
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(1, 64);
    hang_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, wait_for_nobody, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    return 0;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
