/* SPDX-License-Identifier: MIT */
/* Two teams by colour and key, each in reverse: a ring by a kernel that knows of its team, a gather by a launcher. */
#define IRIS_INSTANTIATE_GATHER
#include <iris/iris.h>
#include <iris/init.h>
#include <iris/gen/launch/gather.h>
#include <stdio.h>

enum { RANKS = 5 };

typedef struct {
    iris_ctx world, team;
    iris_channel channel;
    int32_t *left; /* symmetric: the left neighbour's number in the world */
} ring_args;

IRIS_KERNEL(ring, ring_args, a, 64)
{
    const iris_ctx *ctx = &a->team; /* rank and world are those of the team */
    if (iris_wg_lane() == 0)
        iris_store_i32(ctx, a->left, iris_team_translate(ctx, ctx->rank, &a->world), (ctx->rank + 1) % ctx->world);
    iris_barrier_all_wg(ctx, &a->channel); /* of the team */
}

/* Teams go from high ranks to low ones: the left neighbour is two ranks higher; that of a team's first is its last. */
static int left_of(int rank) { return rank + 2 < RANKS ? rank + 2 : rank % 2; }

static int rank_main(iris_world *w, void *unused)
{
    const int rank = iris_rank(w);
    iris_launch_config one = iris_cooperative(1, 64);
    int32_t *lefts = iris_zeros_i32(w, RANKS);
    iris_channel gathers;
    iris_team team;
    ring_args a;
    int first, wrong;
    (void)unused;
    IRIS_TRY(iris_team_split(w, &team, rank % 2, -rank)); /* {4, 2, 0} and {3, 1} */
    a.world = iris_device_ctx(w);
    a.left = iris_zeros_i32(w, 1);
    IRIS_TRY(iris_team_ctx(w, team, &a.team));
    IRIS_TRY(iris_channel_create(w, &a.channel, (size_t)iris_world_size(w), 0));
    IRIS_TRY(iris_collective_channel(w, &gathers, 0));
    IRIS_TRY(iris_barrier(w)); /* everyone has created before anyone writes */
    IRIS_TRY(iris_launch(w, ring, &a, sizeof a, &one, iris_default_stream(w)));
    first = iris_team_world_rank(w, team, 0); /* roots are ranks of the world */
    IRIS_TRY(iris_gather_i32(w, &gathers, lefts, a.left, 1, first, team, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    const int left = (int)iris_peek_i32(w, a.left);
    printf("rank %d is %d of %d, to its left is rank %d\n", rank, a.team.rank, a.team.world, left);
    wrong = left != left_of(rank);
    for (int i = 0; rank == first && i < a.team.world; i++) {
        const int other = (int)iris_peek_i32(w, lefts + i);
        printf("rank %d: to the left of %d is rank %d\n", rank, i, other);
        wrong += other != left_of(iris_team_world_rank(w, team, i));
    }
    return wrong != 0;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(RANKS, rank_main, NULL);
}
