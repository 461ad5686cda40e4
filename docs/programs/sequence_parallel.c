/* SPDX-License-Identifier: MIT */
/* Layers of a sequence-parallel model: each rank has the residual stream of its tokens, and all norms of it. */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_F32
#include <iris/gen/launch/gemm_all_reduce_rmsnorm.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 50, WIDTH = 96, HIDDEN = 200, LAYERS = 10 };

static int rank_main(iris_world *w, void *unused)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const uint32_t columns = iris_gemm_band(HIDDEN, world, rank).count; /* of W1, and rows of W2 */
    const size_t most = iris_gemm_band(HIDDEN, world, 0).count, tokens = iris_gemm_shard(TOKENS, world, 0).count;
    iris_gemm_args up, down;
    iris_gemm_plan first, second;
    (void)unused;
    float *stream = iris_zeros_f32(w, tokens * WIDTH);              /* own tokens alone */
    float *normed = iris_full_f32(w, (size_t)TOKENS * WIDTH, 1.0f); /* all of them */
    float *hidden = iris_zeros_f32(w, TOKENS * most);
    memset(&up, 0, sizeof up);
    up.m = TOKENS, up.n = columns, up.k = WIDTH; /* a GEMM alone */
    up.a = normed, up.b = iris_full_f32(w, WIDTH * most, 0.25f), up.c = hidden;
    up.activation = IRIS_ACTIVATION_RELU;
    memset(&down, 0, sizeof down);
    down.m = TOKENS, down.n = WIDTH, down.k = columns; /* each rank its part of the sum */
    down.a = hidden, down.b = iris_full_f32(w, most * WIDTH, 0.125f);
    down.sequence_parallel = 1;
    down.c = stream, down.beta = 1; /* stream += the sums of own tokens */
    down.out = normed, down.weight = iris_full_f32(w, WIDTH, 1), down.epsilon = 1e-5f;
    IRIS_TRY(up.b && down.b && down.weight && stream && normed && hidden ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_gemm_prepare(w, &first, IRIS_GEMM_LOCAL, IRIS_F32, &up));
    IRIS_TRY(iris_gemm_prepare(w, &second, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_F32, &down));
    for (int layer = 0; layer < LAYERS; layer++) { /* no barrier: `normed` is whole behind the call on its stream */
        IRIS_TRY(iris_gemm_local_f32(w, &first, iris_default_stream(w)));
        IRIS_TRY(iris_gemm_all_reduce_rmsnorm_f32(w, &second, iris_default_stream(w)));
    }
    IRIS_TRY(iris_synchronize(w));
    const float sum = iris_peek_f32(w, stream), norm = iris_peek_f32(w, normed + (TOKENS - 1) * WIDTH);
    printf("rank %u: the stream of its %u tokens holds %g, the norm of the last token %g\n", rank,
           iris_gemm_shard(TOKENS, world, rank).count, (double)sum, (double)norm);
    IRIS_TRY(iris_gemm_release(w, &second));
    IRIS_TRY(iris_gemm_release(w, &first));
    return !(sum > 5999 && sum < 6001 && norm > 0.999f && norm < 1.001f); /* 10 layers add 96 / 4 * 200 / 8 each */
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(4, rank_main, NULL);
}
