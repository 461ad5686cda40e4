/* SPDX-License-Identifier: MIT */
/* A persistent kernel that is sent short messages as LL packets, until one of them is the last. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { COMMANDS = 100 };

typedef struct {
    int32_t number, last;
} command;

typedef struct {
    iris_ctx ctx;
    iris_channel ch;    /* its two banks take turns as the slots of a message */
    iris_signal *taken; /* symmetric, sync memory; on rank 0: how many messages rank 1 has taken */
    const command *commands;
    command *message;
    int64_t *sum;
} packets_args;

/* Rank 1: adds up what it is sent. */
IRIS_KERNEL(serve, packets_args, a, 256)
{
    int64_t sum = 0;
    for (uint64_t m = 1;; m++) {
        iris_ll_get_wg(&a->ctx, a->message, iris_ll_bank(&a->ch, m), sizeof *a->message, iris_ll_flag(m), 0);
        if (iris_stopped_wg(&a->ctx))
            break; /* given up: message m will not come */
        const command c = *a->message;
        iris_sync_wg(); /* every lane has read the message, before one of them writes the next there */
        iris_signal_add_wg(&a->ctx, a->taken, 1, 0);
        sum += c.number;
        if (c.last)
            break;
    }
    if (iris_grid_lane() == 0)
        *a->sum = sum;
}

/* Rank 0: sends message m once message m - 2, which had the same slots, is taken. */
IRIS_KERNEL(dispatch, packets_args, a, 256)
{
    for (uint64_t m = 1; m <= COMMANDS; m++) {
        if (m > 2 && !iris_wait_ge_wg(&a->ctx, a->taken, m - 2))
            return;
        iris_ll_put_wg(&a->ctx, iris_ll_bank(&a->ch, m), a->commands + m - 1, sizeof *a->commands, iris_ll_flag(m), 1);
    }
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config one = iris_cooperative(1, 256);
    command commands[COMMANDS], *own = (command *)iris_malloc(w, sizeof commands);
    packets_args a;
    int64_t sum = 0;
    (void)unused;
    for (int i = 0; i < COMMANDS; i++)
        commands[i].number = i + 1, commands[i].last = i + 1 == COMMANDS;
    a.ctx = iris_device_ctx(w);
    a.commands = own;
    a.message = (command *)iris_malloc(w, sizeof *a.message);
    a.sum = iris_zeros_i64(w, 1);
    a.taken = iris_signals(w, 1);
    IRIS_TRY(iris_channel_create(w, &a.ch, 0, iris_ll_packets(sizeof *a.message) * sizeof(iris_ll_packet)));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_memcpy(w, own, commands, sizeof commands));
    if (iris_rank(w) == 0)
        IRIS_TRY(iris_launch(w, dispatch, &a, sizeof a, &one, iris_default_stream(w)));
    else
        IRIS_TRY(iris_launch(w, serve, &a, sizeof a, &one, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, &sum, a.sum, sizeof sum));
    return iris_rank(w) == 0 || sum == COMMANDS * (COMMANDS + 1) / 2 ? 0 : 1;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
