/* SPDX-License-Identifier: MIT */
/*
 * families.c: one call of every family that kernels call, by a file that defines no IRIS_INSTANTIATE_… at all. The
 * launchers are in launchers.c, which asks for them.
 */
#include <iris/iris.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 64, LANES = 64 };

int launchers(iris_world *w); /* launchers.c */

typedef struct {
    iris_ctx ctx;
    iris_channel ch, messages;
    iris_team team;
    float *dst, *src; /* symmetric: a row for each of two ranks; src's row r is 1 + rank + 10 * r */
    uint64_t *counts, *offsets, *word;
    iris_signal *arrived;
    iris_ll_packet *packets;
    iris_rmsnorm norm;
    iris_gemm_plan plan;
    iris_tensor tensor; /* dst's first rows: the two ranks have one each */
} family_args;

#define FAMILY(name, lanes, call)                                                                                      \
    IRIS_KERNEL(family_##name, family_args, a, lanes)                                                                  \
    {                                                                                                                  \
        const iris_ctx *ctx = &a->ctx;                                                                                 \
        const int other = 1 - ctx->rank;                                                                               \
        (void)other;                                                                                                   \
        call;                                                                                                          \
    }
#define REDUCES(name) FAMILY(name, LANES, iris_##name##_sum_f32(ctx, &a->ch, a->team, a->dst, a->src, COUNT))
#define MOVES(name) FAMILY(name, LANES, iris_##name##_f32(ctx, &a->ch, a->team, a->dst, a->src, COUNT))
#define ROOTED(name) FAMILY(name, LANES, iris_##name##_f32(ctx, &a->ch, a->team, a->dst, a->src, COUNT, 1))

FAMILY(store, LANES, {
    for (size_t i = iris_wg_lane(); i < COUNT; i += iris_wg_lanes())
        iris_store_f32(ctx, a->dst + i, iris_load_f32(ctx, a->src + i, ctx->rank), other);
    iris_signal_add_wg(ctx, a->arrived, 1, other);
    iris_wait_ge_wg(ctx, a->arrived, 1);
})
FAMILY(put, LANES, {
    iris_put_signal_f32_wg(ctx, a->dst, a->src, COUNT, a->arrived, 1, IRIS_SIGNAL_ADD, other);
    iris_wait_ge_wg(ctx, a->arrived, 2);
    iris_get_f32_wg(ctx, a->dst + COUNT, a->src + COUNT, COUNT, other);
})
FAMILY(atomic, LANES, {
    if (iris_wg_lane() == 0)
        iris_atomic_add_u64(ctx, a->word, 5, other, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
})
FAMILY(ll, LANES, {
    iris_ll_put_wg(ctx, a->packets, a->src, COUNT * sizeof(float), 1, other);
    iris_ll_get_wg(ctx, a->dst, a->packets, COUNT * sizeof(float), 1, other);
})
REDUCES(all_reduce_one_shot)
REDUCES(all_reduce_two_shot)
REDUCES(all_reduce_two_phase)
REDUCES(all_reduce_two_shot_push)
REDUCES(all_reduce_ring)
REDUCES(all_reduce_ll)
REDUCES(all_reduce_ll_two_shot)
REDUCES(all_reduce_atomic)
MOVES(all_gather_push)
MOVES(all_gather_pull)
MOVES(all_gather_ring)
MOVES(all_gather_ll)
REDUCES(reduce_scatter_pull)
REDUCES(reduce_scatter_push)
REDUCES(reduce_scatter_ring)
REDUCES(reduce_scatter_ll)
MOVES(all_to_all_push)
MOVES(all_to_all_pull)
MOVES(all_to_all_ll)
FAMILY(all_to_allv, LANES,
       iris_all_to_allv_f32(ctx, &a->ch, a->team, a->dst, a->offsets, a->counts, a->src, a->offsets, a->counts))
ROOTED(broadcast_push)
ROOTED(broadcast_chain)
ROOTED(broadcast_ll)
ROOTED(broadcast_relay)
ROOTED(broadcast_ll_relay)
ROOTED(broadcast_fetch)
ROOTED(gather_push)
ROOTED(scatter_pull)
FAMILY(reduce_two_shot, LANES, iris_reduce_two_shot_sum_f32(ctx, &a->ch, a->team, a->dst, a->src, COUNT, 1))
FAMILY(reduce_pull, LANES, iris_reduce_pull_sum_f32(ctx, &a->ch, a->team, a->dst, a->src, COUNT, 1))
FAMILY(send_recv, LANES, iris_send_recv_f32(ctx, &a->messages, a->dst, other, a->src, other, COUNT))
FAMILY(rmsnorm, LANES,
       iris_all_reduce_rmsnorm_one_shot_bf16(ctx, &a->ch, a->team, &a->norm, (float *)(void *)iris_shared()))
FAMILY(tensor, LANES, {
    int64_t index[2] = {0};
    index[0] = other;
    iris_tensor_tile_store_f32_wg(ctx, &a->tensor, index, 1, COUNT, a->src, COUNT);
})
FAMILY(gemm, IRIS_GEMM_LANES, iris_gemm_all_scatter_fused_sequential_f32_grid(ctx, &a->plan))

static int failures;

/* One launch; then dst's rows are these two values, where they are above 0. */
static int ran(iris_world *w, const char *name, iris_status launched, const float *dst, float first, float second)
{
    float seen[2 * COUNT];
    IRIS_TRY(launched);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_download_f32(w, seen, dst, 2 * COUNT));
    for (int i = 0; i < 2 * COUNT; i++) {
        const float expected = i < COUNT ? first : second;
        if (expected > 0 && seen[i] != expected && ++failures)
            return printf("rank %d, %s: element %d is %g, not %g\n", iris_rank(w), name, i, (double)seen[i],
                          (double)expected), 0;
    }
    return 0;
}

#define RUN(name, first, second)                                                                                       \
    do {                                                                                                               \
        IRIS_TRY(iris_memset(w, a.dst, 0, 2 * COUNT * sizeof(float)));                                                 \
        IRIS_TRY(iris_barrier(w));                                                                                     \
        if (ran(w, #name, iris_launch(w, family_##name, &a, sizeof a, &grid, NULL), a.dst, (float)(first),             \
                (float)(second)))                                                                                      \
            return 1;                                                                                                  \
    } while (0)

static int prepare(iris_world *w, family_args *a, iris_gemm_args *g)
{
    static const int64_t size[] = {2, COUNT};
    const iris_tensor_layout split = iris_tensor_split(IRIS_F32, 2, size, 0, 1);
    const int me = iris_rank(w);
    float rows[2 * COUNT];
    memset(a, 0, sizeof *a);
    memset(g, 0, sizeof *g);
    a->ctx = iris_device_ctx(w);
    a->dst = iris_zeros_f32(w, 2 * COUNT);
    a->src = iris_zeros_f32(w, 2 * COUNT);
    a->counts = iris_full_u64(w, 2, COUNT);
    a->offsets = iris_arange_u64(w, 2, 0, COUNT);
    a->word = (uint64_t *)iris_malloc_kind(w, sizeof *a->word, 0, IRIS_MEM_SYNC);
    a->packets = (iris_ll_packet *)iris_malloc_kind(w, COUNT * sizeof *a->packets, 0, IRIS_MEM_SYNC);
    a->arrived = iris_signals(w, 1);
    a->norm.rows = 1, a->norm.columns = COUNT;
    a->norm.src = iris_full_bf16(w, COUNT, (float)(1 + me));
    a->norm.residual = iris_zeros_bf16(w, COUNT);
    a->norm.weight = iris_full_bf16(w, COUNT, 2);
    a->norm.out = iris_zeros_bf16(w, COUNT);
    g->m = 1, g->n = 2 * COUNT, g->k = 32, g->plain_mainloop = 1;
    g->a = iris_full_f32(w, 32, 0.5f);
    g->b = iris_full_f32(w, 32 * COUNT, (float)(2 + 2 * me));
    g->c = a->dst;
    IRIS_TRY(iris_tensor_wrap(w, &a->tensor, &split, a->dst, COUNT * sizeof(float)));
    IRIS_TRY(iris_memset(w, a->word, 0, sizeof *a->word));
    IRIS_TRY(iris_memset(w, a->packets, 0, COUNT * sizeof *a->packets));
    IRIS_TRY(iris_collective_channel(w, &a->ch, 0));
    IRIS_TRY(iris_collective_channel(w, &a->messages, 0));
    for (int i = 0; i < 2 * COUNT; i++)
        rows[i] = (float)(1 + me + 10 * (i / COUNT));
    IRIS_TRY(iris_upload_f32(w, a->src, rows, 2 * COUNT));
    IRIS_TRY(iris_barrier(w));
    return 0;
}

static int rank_main(iris_world *w, void *unused)
{
    const int me = iris_rank(w), other = 1 - me;
    iris_launch_config grid = iris_cooperative(1, LANES);
    iris_gemm_args g;
    family_args a;
    (void)unused;
    grid.shared_bytes = IRIS_RMSNORM_SHARED;
    if (prepare(w, &a, &g))
        return 1;
    RUN(store, 1 + other, 0);
    RUN(put, 1 + other, 11 + other);
    RUN(atomic, 0, 0);
    failures += iris_peek_u64(w, a.word) != 5;
    RUN(ll, 1 + other, 0);
    RUN(all_reduce_one_shot, 3, 0);
    RUN(all_reduce_two_shot, 3, 0);
    RUN(all_reduce_two_phase, 3, 0);
    RUN(all_reduce_two_shot_push, 3, 0);
    RUN(all_reduce_ring, 3, 0);
    RUN(all_reduce_ll, 3, 0);
    RUN(all_reduce_ll_two_shot, 3, 0);
    RUN(all_reduce_atomic, 3, 0);
    RUN(all_gather_push, 1, 2);
    RUN(all_gather_pull, 1, 2);
    RUN(all_gather_ring, 1, 2);
    RUN(all_gather_ll, 1, 2);
    RUN(reduce_scatter_pull, 3 + 20 * me, 0);
    RUN(reduce_scatter_push, 3 + 20 * me, 0);
    RUN(reduce_scatter_ring, 3 + 20 * me, 0);
    RUN(reduce_scatter_ll, 3 + 20 * me, 0);
    RUN(all_to_all_push, 1 + 10 * me, 2 + 10 * me);
    RUN(all_to_all_pull, 1 + 10 * me, 2 + 10 * me);
    RUN(all_to_all_ll, 1 + 10 * me, 2 + 10 * me);
    RUN(all_to_allv, 1 + 10 * me, 2 + 10 * me);
    RUN(broadcast_push, 2, 0);
    RUN(broadcast_chain, 2, 0);
    RUN(broadcast_ll, 2, 0);
    RUN(broadcast_relay, 2, 0);
    RUN(broadcast_ll_relay, 2, 0);
    RUN(broadcast_fetch, 2, 0);
    RUN(gather_push, me, 2 * me); /* on the root alone */
    RUN(scatter_pull, 2 + 10 * me, 0);
    RUN(reduce_two_shot, 3 * me, 0);
    RUN(reduce_pull, 3 * me, 0);
    RUN(send_recv, 1 + other, 0);
    RUN(tensor, 1 + other, 0);
    RUN(rmsnorm, 0, 0);
    failures += iris_peek_bf16(w, (iris_bf16 *)a.norm.out) != 2;
    IRIS_TRY(iris_gemm_prepare(w, &a.plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g));
    grid = iris_gemm_grid(&a.plan, 1);
    RUN(gemm, 32, 64);
    IRIS_TRY(iris_gemm_release(w, &a.plan));
    if (launchers(w))
        return 1;
    if (failures == 0)
        printf("rank %d: every family\n", me);
    return failures;
}

int main(void) { return iris_spawn(2, rank_main, NULL); }
