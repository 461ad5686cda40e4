/* SPDX-License-Identifier: MIT */
/*
 * A stream of messages from every even rank to the odd rank after it, through two slots. The producer puts and signals;
 * the consumer waits, checks every element, and gives the slot back. No host in between, no flag is ever reset.
 */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

#include "../ranks.h"

enum { MESSAGE = 1000, MESSAGES = 500, SLOTS = 2 };

typedef struct {
    iris_ctx ctx;
    float *outgoing;
    float *slots;         /* symmetric: SLOTS messages */
    iris_signal *arrived; /* raised at the consumer: messages sent */
    iris_signal *freed;   /* raised at the producer: messages consumed */
    uint64_t *wrong;      /* one for each lane */
} message_args;

IRIS_DEVICE void produce(const message_args *a, int to)
{
    for (uint64_t m = 0; m < MESSAGES; m++) {
        for (uint32_t i = iris_wg_lane(); i < MESSAGE; i += iris_wg_lanes())
            a->outgoing[i] = (float)(m * 7 + i);
        iris_sync_wg();
        if (m >= SLOTS)
            iris_wait_ge_wg(&a->ctx, a->freed, m - SLOTS + 1);
        iris_put_signal_f32_wg(&a->ctx, a->slots + m % SLOTS * MESSAGE, a->outgoing, MESSAGE, a->arrived, 1,
                               IRIS_SIGNAL_ADD, to);
    }
}

IRIS_DEVICE void consume(const message_args *a, int from)
{
    uint64_t wrong = 0;
    for (uint64_t m = 0; m < MESSAGES; m++) {
        iris_wait_ge_wg(&a->ctx, a->arrived, m + 1);
        for (uint32_t i = iris_wg_lane(); i < MESSAGE; i += iris_wg_lanes())
            wrong += a->slots[m % SLOTS * MESSAGE + i] != (float)(m * 7 + i);
        iris_signal_add_wg(&a->ctx, a->freed, 1, from);
    }
    a->wrong[iris_wg_lane()] = wrong;
}

IRIS_KERNEL(pass_messages, message_args, a, 256)
{
    const int rank = a->ctx.rank;
    if (rank % 2 == 0 && rank + 1 < a->ctx.world)
        produce(a, rank + 1);
    else if (rank % 2 == 1)
        consume(a, rank - 1);
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(1, 256);
    uint64_t lanes[256], wrong = 0;
    message_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.outgoing = iris_empty_f32(w, MESSAGE);
    a.slots = iris_full_f32(w, SLOTS * MESSAGE, -1.0f);
    a.arrived = iris_signals(w, 1);
    a.freed = iris_signals(w, 1);
    a.wrong = iris_zeros_u64(w, 256);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, pass_messages, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_u64(w, lanes, a.wrong, 256));
    for (int i = 0; i < 256; i++)
        wrong += lanes[i];
    if (iris_rank(w) % 2 == 1)
        printf("rank %d consumed %d messages of %d elements each: %llu wrong\n", iris_rank(w), MESSAGES, MESSAGE,
               (unsigned long long)wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "A stream of messages from every even rank to the odd rank after it.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
