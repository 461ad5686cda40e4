/* SPDX-License-Identifier: MIT */
#include <iris/iris.h> /* device side */
#include <iris/init.h> /* host side   */
#include <stdio.h>

typedef struct {
    iris_ctx ctx;
    float *inbox;
    iris_signal *arrived;
    size_t n;
} pass_args;

/* Every rank writes its number into its right neighbour's inbox, then waits for its left neighbour's. */
IRIS_KERNEL(pass_right, pass_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        iris_store_f32(&a->ctx, a->inbox + i, (float)a->ctx.rank, right);
    iris_signal_add_wg(&a->ctx, a->arrived, 1, right);       /* release, system scope */
    iris_wait_ge_wg(&a->ctx, a->arrived, iris_workgroups()); /* acquire, with a deadline */
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(16, 256);
    pass_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = 4096;
    a.inbox = iris_zeros_f32(w, a.n);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w)); /* everyone has created before anyone writes */
    IRIS_TRY(iris_launch(w, pass_right, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    const int left = (iris_rank(w) + iris_world_size(w) - 1) % iris_world_size(w);
    const float received = iris_peek_f32(w, a.inbox);
    printf("rank %d received %g\n", iris_rank(w), (double)received);
    return received != (float)left;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
