/* SPDX-License-Identifier: MIT */
/* A persistent kernel: it serves until it is told to leave, or until the world has stopped. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { COMMANDS = 100, LEAVE = -1 };

typedef struct {
    iris_ctx ctx;
    iris_signal *sent, *taken; /* symmetric, sync memory; both count up */
    int32_t *command;          /* symmetric */
    int64_t *sum;
} serve_args;

/* Every rank but 0: adds up what it is sent. The loop ends by what it receives, or because nothing can come. */
IRIS_KERNEL(serve, serve_args, a, 256)
{
    int64_t sum = 0;
    for (uint64_t m = 1;; m++) {
        if (!iris_wait_ge_wg(&a->ctx, a->sent, m))
            break; /* given up: command m will not come */
        const int32_t command = iris_load_i32(&a->ctx, a->command, a->ctx.rank);
        if (command == LEAVE)
            break;
        sum += command;
        iris_signal_add_wg(&a->ctx, a->taken, 1, 0); /* all lanes have read it */
    }
    if (iris_grid_lane() == 0)
        *a->sum = sum;
}

/* Rank 0: sends a command once everyone has taken the one before. */
IRIS_KERNEL(command, serve_args, a, 256)
{
    const uint64_t others = (uint64_t)a->ctx.world - 1;
    for (uint64_t m = 1; m <= COMMANDS + 1; m++) {
        if (!iris_wait_ge_wg(&a->ctx, a->taken, (m - 1) * others))
            return; /* given up: a rank takes no more commands */
        for (int rank = 1; rank < a->ctx.world; rank++) {
            if (iris_wg_lane() == 0)
                iris_store_i32(&a->ctx, a->command, m <= COMMANDS ? (int32_t)m : LEAVE, rank);
            iris_signal_add_wg(&a->ctx, a->sent, 1, rank);
        }
    }
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config one = iris_cooperative(1, 256);
    serve_args a;
    int64_t sum = 0;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.sent = iris_signals(w, 1);
    a.taken = iris_signals(w, 1);
    a.command = iris_zeros_i32(w, 1);
    a.sum = iris_zeros_i64(w, 1);
    IRIS_TRY(iris_barrier(w));
    if (iris_rank(w) == 0)
        IRIS_TRY(iris_launch(w, command, &a, sizeof a, &one, iris_default_stream(w)));
    else
        IRIS_TRY(iris_launch(w, serve, &a, sizeof a, &one, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, &sum, a.sum, sizeof sum));
    return iris_rank(w) == 0 || sum == COMMANDS * (COMMANDS + 1) / 2 ? 0 : 1;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, NULL);
}
