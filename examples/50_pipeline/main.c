/* SPDX-License-Identifier: MIT */
/*
 * Pipeline-parallel inference in one kernel on each rank: rank r has layer r of a network of 8-bit integers. A batch is
 * cut into micro-batches, tiles of some of its rows. While one is computed, the next one comes from the rank before,
 * and the result of the last one goes to the rank after.
 */
#include <iris/gen/send_recv_2d.h>
#include <iris/collective/launch.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <string.h>

#include "../ranks.h"

enum { TILES = 12, ROWS = 24, WIDTH = 64, BANDS = 2, BAND = WIDTH / BANDS, LANES = 128 };

typedef struct {
    iris_ctx ctx;
    iris_channel ch, grid;
    const int8_t *batch, *weights; /* own: TILES tiles of ROWS x WIDTH, on the first rank; WIDTH x WIDTH */
    int8_t *in, *out;              /* own: two tiles each, one that is computed with and one that is on its way */
    int8_t *result;                /* own: TILES tiles, on the last rank */
} stage_args;

/* Tile t before and after this rank's layer: in the batch and in the result at the ends, else in turn in two places. */
IRIS_DEVICE const int8_t *before(const stage_args *a, int t)
{
    return a->ctx.rank == 0 ? a->batch + t * ROWS * WIDTH : a->in + t % 2 * ROWS * WIDTH;
}
IRIS_DEVICE int8_t *after(const stage_args *a, int t)
{
    return a->ctx.rank == a->ctx.world - 1 ? a->result + t * ROWS * WIDTH : a->out + t % 2 * ROWS * WIDTH;
}

/* One element of a layer's output: a product, then ReLU, scaled to 8 bits. Integers: every order gives these bits. */
IRIS_HOST_DEVICE int8_t layer(const int8_t *row, const int8_t *weights, int column)
{
    int32_t sum = 0;
    for (int k = 0; k < WIDTH; k++)
        sum += row[k] * weights[k * WIDTH + column];
    sum = sum < 0 ? 0 : sum / 64;
    return (int8_t)(sum > 127 ? 127 : sum);
}

/* Columns of tile t, by one workgroup. */
IRIS_DEVICE void compute(const stage_args *a, int t, int column)
{
    for (int i = (int)iris_wg_lane(); i < ROWS * BAND; i += (int)iris_wg_lanes()) {
        const int row = i / BAND, at = column + i % BAND;
        after(a, t)[row * WIDTH + at] = layer(before(a, t) + row * WIDTH, a->weights, at);
    }
}

/*
 * In step t half of the workgroups compute tile t - 1, a band of columns each. The others send tile t - 2 and receive
 * tile t by bands: boxes of ROWS rows that begin WIDTH elements apart, each band on a slice of its own.
 */
IRIS_KERNEL(stage, stage_args, a, LANES)
{
    const int rank = a->ctx.rank, last = a->ctx.world - 1;
    const uint32_t band = iris_workgroup() % BANDS;
    const int column = (int)band * BAND, computes = iris_workgroup() < BANDS;
    for (int t = 0; t < TILES + 2; t++) {
        if (computes && t >= 1 && t <= TILES)
            compute(a, t - 1, column);
        if (!computes && t >= 2 && rank < last)
            iris_send_2d_i8_wg(&a->ctx, &a->ch, band, after(a, t - 2) + column, ROWS, BAND, WIDTH, rank + 1);
        if (!computes && t < TILES && rank > 0)
            iris_recv_2d_i8_wg(&a->ctx, &a->ch, band, a->in + t % 2 * ROWS * WIDTH + column, ROWS, BAND, WIDTH,
                               rank - 1);
        iris_grid_sync(&a->ctx, &a->grid); /* of this rank: the next step needs all bands of this one */
    }
}

static int8_t element(int i) { return (int8_t)(i * 37 % 101 + i / WIDTH % 13); }
static int8_t weight(int rank, int k, int n) { return (int8_t)((rank * 7 + k * 13 + n * 5 + k * n) % 11 - 4); }

static void weights_of(int rank, int8_t *weights)
{
    for (int i = 0; i < WIDTH * WIDTH; i++)
        weights[i] = weight(rank, i / WIDTH, i % WIDTH);
}

/* All layers one after the other, a row at a time. */
static void expect(int8_t *batch, int layers)
{
    int8_t weights[WIDTH * WIDTH], row[WIDTH];
    for (int r = 0; r < layers; r++) {
        weights_of(r, weights);
        for (int8_t *p = batch; p < batch + TILES * ROWS * WIDTH; p += WIDTH) {
            memcpy(row, p, WIDTH);
            for (int n = 0; n < WIDTH; n++)
                p[n] = layer(row, weights, n);
        }
    }
}

static int rank_main(iris_world *w, void *unused)
{
    static const int size = TILES * ROWS * WIDTH;
    const int rank = iris_rank(w), ranks = iris_world_size(w);
    const iris_launch_config cfg = iris_cooperative(2 * BANDS, LANES);
    int8_t batch[TILES * ROWS * WIDTH], got[TILES * ROWS * WIDTH], weights[WIDTH * WIDTH];
    int wrong = 0;
    stage_args a;
    (void)unused;
    memset(&a, 0, sizeof a);
    for (int i = 0; i < size; i++)
        batch[i] = element(i);
    weights_of(rank, weights);
    int8_t *own_batch = iris_empty_i8(w, TILES * ROWS * WIDTH), *own_weights = iris_empty_i8(w, WIDTH * WIDTH);
    a.ctx = iris_device_ctx(w);
    a.batch = own_batch, a.weights = own_weights;
    a.in = iris_zeros_i8(w, 2 * ROWS * WIDTH);
    a.out = iris_zeros_i8(w, 2 * ROWS * WIDTH);
    a.result = iris_zeros_i8(w, TILES * ROWS * WIDTH);
    IRIS_TRY(iris_collective_channel(w, &a.ch, 0));
    IRIS_TRY(iris_channel_create(w, &a.grid, 1, 0));
    IRIS_TRY(iris_upload_i8(w, own_weights, weights, sizeof weights));
    if (rank == 0)
        IRIS_TRY(iris_upload_i8(w, own_batch, batch, sizeof batch));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, stage, &a, sizeof a, &cfg, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    if (rank < ranks - 1)
        return 0;
    IRIS_TRY(iris_download_i8(w, got, a.result, sizeof got));
    expect(batch, ranks);
    for (int i = 0; i < size; i++)
        wrong += got[i] != batch[i];
    printf("%d layers on %d ranks, %d micro-batches of %dx%d: %d wrong elements\n", ranks, ranks, (int)TILES, (int)ROWS,
           (int)WIDTH, wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Pipeline-parallel inference: each rank computes a layer.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
