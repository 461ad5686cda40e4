/* SPDX-License-Identifier: MIT */
/* Rank 0's numbers on every rank: by a kernel of one's own, then by the library's call. */
#define IRIS_INSTANTIATE_BROADCAST
#include <iris/gen/launch/broadcast.h>
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { N = 1000, ROOT = 0 };

typedef struct {
    iris_ctx ctx;
    float *x; /* symmetric */
    iris_signal *arrived;
} broadcast_args;

IRIS_KERNEL(broadcast, broadcast_args, a, 256)
{
    if (a->ctx.rank != ROOT)
        iris_wait_ge_wg(&a->ctx, a->arrived, 1);
    for (int to = 0; a->ctx.rank == ROOT && to < a->ctx.world; to++)
        if (to != ROOT)
            iris_put_signal_f32_wg(&a->ctx, a->x, a->x, N, a->arrived, 1, IRIS_SIGNAL_ADD, to);
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config one = iris_cooperative(1, 256);
    const iris_team everybody = {0, 0, 0};
    const iris_stream stream = iris_default_stream(w);
    const float first = 1 + 5000.0f * (float)iris_rank(w); /* every rank has other numbers */
    float *mine = iris_arange_f32(w, N, first, 1), *y = iris_zeros_f32(w, N);
    iris_channel ch;
    broadcast_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.x = iris_arange_f32(w, N, first, 1);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_barrier(w)); /* everyone has created */
    IRIS_TRY(iris_launch(w, broadcast, &a, sizeof a, &one, stream));
    IRIS_TRY(iris_broadcast_f32(w, &ch, y, mine, N, ROOT, everybody, stream));
    IRIS_TRY(iris_synchronize(w));
    const float by_hand = iris_peek_f32(w, a.x + N - 1), by_call = iris_peek_f32(w, y + N - 1);
    printf("rank %d: the last number is %g, and %g\n", iris_rank(w), (double)by_hand, (double)by_call);
    return by_hand != (float)N || by_call != (float)N;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, NULL);
}
