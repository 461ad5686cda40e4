/* SPDX-License-Identifier: MIT */
/* A row goes to the right neighbour by put, and comes from the left one by get: both are the left neighbour's row. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { N = 10007, GROUPS = 4 };

typedef struct {
    iris_ctx ctx;
    const float *row; /* symmetric: read by the right neighbour */
    float *inbox;     /* symmetric: written by the left neighbour */
    float *fetched;   /* own */
    iris_signal *arrived;
} move_args;

IRIS_KERNEL(move, move_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world, left = (a->ctx.rank + a->ctx.world - 1) % a->ctx.world;
    const size_t each = (N + GROUPS - 1) / GROUPS, first = each * iris_workgroup();
    const size_t count = N - first < each ? N - first : each; /* this workgroup's part of the row */
    iris_put_f32_wg(&a->ctx, a->inbox + first, a->row + first, count, right);
    iris_signal_add_wg(&a->ctx, a->arrived, 1, right); /* the put is done: a release */
    iris_get_f32_wg(&a->ctx, a->fetched + first, a->row + first, count, left);
    iris_wait_ge_wg(&a->ctx, a->arrived, iris_workgroups()); /* the left neighbour's puts are done */
}

static int rank_main(iris_world *w, void *unused)
{
    float put[N], got[N];
    const int left = (iris_rank(w) + iris_world_size(w) - 1) % iris_world_size(w);
    const iris_launch_config grid = iris_cooperative(GROUPS, 256);
    move_args a;
    int wrong = 0;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.row = iris_arange_f32(w, N, 10000.0f * (float)iris_rank(w), 1);
    a.inbox = iris_zeros_f32(w, N);
    a.fetched = iris_zeros_f32(w, N);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w)); /* everyone has created: rows may be read, inboxes written */
    IRIS_TRY(iris_launch(w, move, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_download_f32(w, put, a.inbox, N));
    IRIS_TRY(iris_download_f32(w, got, a.fetched, N));
    for (int i = 0; i < N; i++)
        wrong += put[i] != 10000.0f * (float)left + (float)i || got[i] != put[i];
    printf("rank %d: %d elements of rank %d by put and by get, %d wrong\n", iris_rank(w), N, left, wrong);
    IRIS_TRY(iris_barrier(w)); /* nobody leaves while a neighbour still reads */
    return wrong != 0;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, NULL);
}
