/* SPDX-License-Identifier: MIT */
/* Every rank makes the same array, finds it at the same offset, and reads its neighbour's with its own pointer. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { N = 1 << 20, RANKS = 3 };

typedef struct {
    iris_ctx ctx;
    const int32_t *x; /* symmetric */
    int32_t *seen;    /* own */
} look_args;

IRIS_KERNEL(look_right, look_args, a, 64)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    if (iris_grid_lane() == 0)
        *a->seen = iris_load_i32(&a->ctx, a->x + N - 1, right);
}

static int rank_main(iris_world *w, void *unused)
{
    const iris_launch_config grid = iris_grid(1, 64);
    const int rank = iris_rank(w), right = (rank + 1) % iris_world_size(w);
    uint64_t offset, all[RANKS];
    look_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.x = iris_full_i32(w, N, 100 + rank);
    a.seen = iris_zeros_i32(w, 1);
    IRIS_TRY(iris_barrier(w)); /* tells of a creation that failed, and waits for the others' */
    IRIS_TRY(iris_launch(w, look_right, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));

    offset = (uint64_t)(uintptr_t)a.x - a.ctx.base;
    IRIS_TRY(iris_allgather(w, &offset, all, sizeof offset)); /* behind it everyone has read */
    printf("rank %d: x is %s there; rank %d has %d in it\n", rank,
           all[rank] == all[right] ? "as far into the heap as" : "elsewhere than", right, iris_peek_i32(w, a.seen));
    return iris_peek_i32(w, a.seen) != 100 + right;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(RANKS, rank_main, NULL);
}
