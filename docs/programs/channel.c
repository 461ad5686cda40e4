/* SPDX-License-Identifier: MIT */
/* A small all-reduce through a channel, launched a thousand times without the host in between. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { COUNT = 1000, LAUNCHES = 1000 };

typedef struct {
    iris_ctx ctx;
    iris_channel channel;
    float *values; /* local: replaced by the mean over all ranks */
    size_t n;
} mean_args;

IRIS_KERNEL(mean_of_all, mean_args, a, 256)
{
    const iris_ctx *ctx = &a->ctx;
    const uint64_t epoch = iris_channel_enter_wg(&a->channel); /* 1, 2, … */
    float *bank = (float *)iris_channel_bank(&a->channel, epoch);
    for (int k = 0; k < ctx->world; k++) /* own row into every rank's bank, the next rank first */
        iris_put_signal_f32_wg(ctx, bank + (size_t)ctx->rank * a->n, a->values, a->n, a->channel.signals + ctx->rank,
                               epoch, IRIS_SIGNAL_SET, (ctx->rank + 1 + k) % ctx->world);
    iris_wait_all_ge_wg(ctx, a->channel.signals, (size_t)ctx->world, epoch); /* every rank's row is here */
    for (size_t i = iris_wg_lane(); i < a->n; i += iris_wg_lanes()) {
        float sum = 0.0f;
        for (int rank = 0; rank < ctx->world; rank++)
            sum += bank[(size_t)rank * a->n + i];
        a->values[i] = sum / (float)ctx->world;
    }
    iris_channel_leave_wg(&a->channel, epoch, iris_workgroups());
}

static int rank_main(iris_world *w, void *unused)
{
    const size_t world = (size_t)iris_world_size(w);
    iris_launch_config grid = iris_cooperative(1, 256);
    mean_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.n = COUNT;
    a.values = iris_full_f32(w, COUNT, (float)iris_rank(w));
    IRIS_TRY(iris_channel_create(w, &a.channel, world, world * COUNT * sizeof(float)));
    IRIS_TRY(iris_barrier(w)); /* every channel exists before anyone signals */
    for (int i = 0; i < LAUNCHES; i++)
        IRIS_TRY(iris_launch(w, mean_of_all, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    const float mean = iris_peek_f32(w, a.values);
    printf("rank %d: mean %g\n", iris_rank(w), (double)mean);
    return mean != 1.5f; /* of 0, 1, 2 and 3 */
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
