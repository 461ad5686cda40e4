/* SPDX-License-Identifier: MIT */
/*
 * A tensor of tokens x heads x channels changes its layout: every rank has some tokens of all heads, then all tokens of
 * some heads, which is what sums along the tokens need, and then some tokens again. Neither number is a multiple of the
 * number of ranks.
 */
#define IRIS_INSTANTIATE_TENSOR
#include <iris/gen/launch/tensor.h>
#include <iris/gen/tensor_create.h>
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ranks.h"

enum { TOKENS = 203, HEADS = 6, CHANNELS = 16, ALL = TOKENS * HEADS * CHANNELS };

typedef struct {
    iris_ctx ctx;
    iris_tensor heads;
} sums_args;

/* Sums along the tokens, for each head and channel that this rank has: a lane takes one of them. */
IRIS_KERNEL(sums_of_tokens, sums_args, a, 64)
{
    const iris_tensor *t = &a->heads;
    const iris_tensor_shard own = iris_tensor_shard_of(t, a->ctx.rank);
    const int64_t channels = own.count[2], sums = own.count[1] * channels;
    for (int64_t i = (int64_t)iris_grid_lane(); i < sums; i += (int64_t)iris_grid_lanes()) {
        float *p = (float *)t->data + i / channels * t->dim[1].stride + i % channels * t->dim[2].stride, sum = 0;
        for (int64_t token = 0; token < own.count[0]; token++) {
            sum += p[token * t->dim[0].stride];
            p[token * t->dim[0].stride] = sum;
        }
    }
}

/* How many elements are not the sums of what element i of the input was, i % 7 (exact in f32). */
static int wrong_sums(const float *got)
{
    int wrong = 0;
    for (int column = 0; column < HEADS * CHANNELS; column++) {
        float sum = 0;
        for (int token = 0; token < TOKENS; token++) {
            sum += (float)((token * HEADS * CHANNELS + column) % 7);
            wrong += got[token * HEADS * CHANNELS + column] != sum;
        }
    }
    return wrong;
}

static int rank_main(iris_world *w, void *unused)
{
    static const int64_t size[] = {TOKENS, HEADS, CHANNELS};
    const iris_tensor_layout by_tokens = iris_tensor_split(IRIS_F32, 3, size, 0, 1);
    const iris_tensor_layout by_heads = iris_tensor_split(IRIS_F32, 3, size, 1, 1);
    const iris_launch_config cfg = iris_grid(2, 64);
    float *host = (float *)malloc(ALL * sizeof *host);
    iris_tensor tokens;
    iris_channel ch;
    sums_args a;
    (void)unused;
    for (int i = 0; host && i < ALL; i++)
        host[i] = (float)(i % 7);
    a.ctx = iris_device_ctx(w);
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_tensor_create(w, &tokens, &by_tokens));
    IRIS_TRY(iris_tensor_create(w, &a.heads, &by_heads));
    IRIS_TRY(iris_tensor_upload(w, &tokens, host)); /* this rank's tokens of it */
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_tensor_print(w, &tokens, stdout, 0));
    IRIS_TRY(iris_tensor_print(w, &a.heads, stdout, 0));
    IRIS_TRY(iris_tensor_reshard(w, &ch, &a.heads, &tokens, NULL));
    IRIS_TRY(iris_launch(w, sums_of_tokens, &a, sizeof a, &cfg, NULL));
    IRIS_TRY(iris_tensor_reshard(w, &ch, &tokens, &a.heads, NULL));
    IRIS_TRY(iris_tensor_download(w, &tokens, host)); /* behind the kernels; all elements, on every rank */
    const int wrong = wrong_sums(host);
    free(host);
    if (iris_rank(w) == 0)
        printf("%d ranks: %d of %d sums are wrong\n", iris_world_size(w), wrong, (int)ALL);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "A tensor that changes its layout: split by tokens, then by heads.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
