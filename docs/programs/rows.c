/* SPDX-License-Identifier: MIT */
/* Decoding: a batch that changes at each step, through two layers whose plans were prepared for the largest one. */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F32
#include <iris/gen/launch/gemm_all_reduce.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 48, WIDTH = 96, HIDDEN = 200, STEPS = 6 };
static const int64_t batches[STEPS] = {48, 5, 0, 17, 1, 48}; /* requests that are decoded in each step */

static int rank_main(iris_world *w, void *unused)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const size_t columns = iris_gemm_band(HIDDEN, world, 0).count;
    const uint32_t own = iris_gemm_band(HIDDEN, world, rank).count; /* columns of W1, and rows of W2 */
    iris_gemm_args up, down;
    iris_gemm_plan first, second;
    int wrong = 0;
    (void)unused;
    memset(&up, 0, sizeof up);
    up.m = MOST, up.n = own, up.k = WIDTH; /* a GEMM alone: every rank has all of x */
    up.a = iris_full_f32(w, MOST * WIDTH, 1.0f);
    up.b = iris_full_f32(w, WIDTH * columns, 0.5f);
    up.activation = IRIS_ACTIVATION_RELU;
    float *hidden = iris_zeros_f32(w, MOST * columns), *y = iris_zeros_f32(w, MOST * WIDTH);
    up.c = hidden;
    memset(&down, 0, sizeof down);
    down.m = MOST, down.n = WIDTH, down.k = own; /* each rank its part of the sum */
    down.a = hidden;
    down.b = iris_full_f32(w, columns * WIDTH, 0.25f);
    down.c = y;
    IRIS_TRY(up.a && up.b && down.b && hidden && y ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_gemm_prepare(w, &first, IRIS_GEMM_LOCAL, IRIS_F32, &up));
    IRIS_TRY(iris_gemm_prepare(w, &second, IRIS_GEMM_ALL_REDUCE, IRIS_F32, &down));

    for (int step = 0; step < STEPS; step++) {
        const int64_t batch = batches[step]; /* the same on every rank */
        IRIS_TRY(iris_memset(w, y, 0, MOST * WIDTH * sizeof *y));
        IRIS_TRY(iris_gemm_set_rows(w, &first, batch));
        IRIS_TRY(iris_gemm_set_rows(w, &second, batch));
        IRIS_TRY(iris_gemm_local_f32(w, &first, iris_default_stream(w)));
        IRIS_TRY(iris_gemm_all_reduce_f32(w, &second, iris_default_stream(w)));
        IRIS_TRY(iris_synchronize(w));
        for (int64_t i = 0; i < MOST; i++) /* rows beyond the batch are as they were */
            wrong |= iris_peek_f32(w, y + i * WIDTH) != (i < batch ? 2400.0f : 0.0f);
        if (rank == 0)
            printf("step %d: %lld rows%s\n", step, (long long)batch, wrong ? ", wrong" : "");
    }
    IRIS_TRY(iris_gemm_release(w, &second));
    IRIS_TRY(iris_gemm_release(w, &first));
    return wrong;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, NULL);
}
