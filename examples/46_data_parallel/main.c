/* SPDX-License-Identifier: MIT */
/*
 * Data-parallel training of a linear model in one kernel: each rank has samples of its own. The gradient is computed
 * in tiles; the workgroup that has computed a tile all-reduces it at once and updates its weights, while the other
 * workgroups are still computing theirs. No launch for communication, no barrier between tiles.
 */
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/collective/launch.h>
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <string.h>

#include "../ranks.h"

enum { WEIGHTS = 1024, TILE = 256, SAMPLES = 8, STEPS = 12, WORKGROUPS = 2, LANES = 128 };

typedef struct {
    iris_ctx ctx;
    iris_channel ch, grid;
    float *weights, *gradient; /* gradient: symmetric */
    float *x, *y, *error;      /* own: SAMPLES rows of WEIGHTS; what is to come out; what is missing */
} training_args;

/* error[s] = y[s] - x[s] . weights, in one order of additions on every rank. */
IRIS_DEVICE void predict(const training_args *a)
{
    for (size_t s = iris_grid_lane(); s < SAMPLES; s += iris_grid_lanes()) {
        float sum = 0;
        for (size_t i = 0; i < WEIGHTS; i++)
            sum += a->x[s * WEIGHTS + i] * a->weights[i];
        a->error[s] = a->y[s] - sum;
    }
}

IRIS_KERNEL(train, training_args, a, LANES)
{
    const iris_team world = iris_team_world(&a->ctx);
    for (int step = 0; step < STEPS; step++) {
        predict(a);
        iris_grid_sync(&a->ctx, &a->grid);
        for (uint32_t tile = iris_workgroup(); tile < WEIGHTS / TILE; tile += iris_workgroups()) {
            float *g = a->gradient + tile * TILE, *weights = a->weights + tile * TILE;
            for (size_t i = iris_wg_lane(); i < TILE; i += iris_wg_lanes()) {
                float sum = 0;
                for (size_t s = 0; s < SAMPLES; s++)
                    sum += a->error[s] * a->x[s * WEIGHTS + tile * TILE + i];
                g[i] = sum;
            }
            iris_sync_wg();
            iris_all_reduce_two_shot_avg_f32_wg(&a->ctx, &a->ch, world, tile, g, g, TILE); /* the tile's own slice */
            for (size_t i = iris_wg_lane(); i < TILE; i += iris_wg_lanes())
                weights[i] += g[i] / 64;
        }
        iris_grid_sync(&a->ctx, &a->grid);
    }
}

/* Sample s of all ranks together; every weight that is to be found is 1/2 or -1/2. */
static float sample(int s, int i) { return (float)((s * 37 + i * 11 + s * i) % 13 - 6) / 16; }
static float goal(int i) { return i % 3 == 0 ? -0.5f : 0.5f; }

static int rank_main(iris_world *w, void *unused)
{
    float x[SAMPLES * WEIGHTS], y[SAMPLES], found[WEIGHTS], all[MOST_RANKS][WEIGHTS], error[SAMPLES];
    const iris_launch_config cfg = iris_cooperative(WORKGROUPS, LANES);
    const int ranks = iris_world_size(w);
    training_args a;
    double before = 0, after = 0;
    int differ = 0;
    (void)unused;
    memset(y, 0, sizeof y);
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < WEIGHTS; i++) {
            x[s * WEIGHTS + i] = sample(iris_rank(w) * SAMPLES + s, i);
            y[s] += x[s * WEIGHTS + i] * goal(i);
        }
    a.ctx = iris_device_ctx(w);
    a.weights = iris_zeros_f32(w, WEIGHTS);
    a.gradient = iris_zeros_f32(w, WEIGHTS);
    a.x = iris_empty_f32(w, SAMPLES * WEIGHTS);
    a.y = iris_empty_f32(w, SAMPLES);
    a.error = iris_empty_f32(w, SAMPLES);
    IRIS_TRY(iris_collective_channel(w, &a.ch, 0));
    IRIS_TRY(iris_channel_create(w, &a.grid, 1, 0));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_memcpy(w, a.x, x, sizeof x));
    IRIS_TRY(iris_memcpy(w, a.y, y, sizeof y));
    IRIS_TRY(iris_launch(w, train, &a, sizeof a, &cfg, iris_default_stream(w)));
    IRIS_TRY(iris_memcpy(w, found, a.weights, sizeof found));
    IRIS_TRY(iris_memcpy(w, error, a.error, sizeof error));
    IRIS_TRY(iris_allgather(w, found, all, sizeof found));
    for (int r = 0; r < ranks; r++) /* bit for bit: every rank added the same numbers in the same order */
        differ += memcmp(all[r], found, sizeof found) != 0;
    for (int s = 0; s < SAMPLES; s++) {
        before += (double)y[s] * (double)y[s];
        after += (double)error[s] * (double)error[s];
    }
    if (iris_rank(w) == 0)
        printf("%d ranks trained %d steps: squared error %s; weights differ on %d ranks\n", ranks, STEPS,
               after < before / 2 ? "less than half" : "too large", differ);
    return differ != 0 || !(after < before / 2); /* weights that are NaN are wrong too */
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Data-parallel training of a linear model in one kernel.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
