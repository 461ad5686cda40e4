/* SPDX-License-Identifier: MIT */
/*
 * tile.cpp: collectives inside a kernel of one's own: workgroups that compute tiles and combine each by themselves,
 * again and again, while other workgroups do other things; and the order in which rings combine.
 */
#include <cstring>

#include "harness.h"

#include <iris/collective/launch.h>
#include <iris/gen/all_gather_push.h>
#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_one_shot.h>
#include <iris/gen/all_reduce_ring.h>
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/gen/reduce_scatter_ring.h>

namespace {

enum { TILE = 600, TILES = 12, SUMMING = 3 };

struct tile_args {
    iris_ctx ctx;
    iris_channel ch;
    float *dst, *src; /* symmetric: TILES tiles */
    int32_t *table;   /* symmetric: a row of TILE for each rank */
    uint64_t *wrong;
    uint32_t laps;
};

IRIS_HOST_DEVICE float part(uint32_t lap, int rank, uint32_t tile, size_t i)
{
    return (float)((lap * 3 + (uint32_t)rank * 5 + tile * 7 + (uint32_t)i) % 97);
}

/* Workgroups 0 to 2 sum tiles on slices 0 to 2, by another schedule in each lap; workgroup 3 gathers on slice 3. */
IRIS_KERNEL(tiles, tile_args, a, 128)
{
    const iris_team all = iris_team_world(&a->ctx);
    uint64_t wrong = 0;
    for (uint32_t lap = 0; lap < a->laps; lap++)
        for (uint32_t tile = iris_workgroup(); tile < TILES && iris_workgroup() < SUMMING; tile += SUMMING) {
            float *dst = a->dst + tile * TILE, *src = a->src + tile * TILE;
            const uint32_t slice = iris_workgroup();
            for (size_t i = iris_wg_lane(); i < TILE; i += iris_wg_lanes())
                src[i] = part(lap, a->ctx.rank, tile, i);
            iris_sync_wg();
            if (lap % 3 == 0)
                iris_all_reduce_two_shot_sum_f32_wg(&a->ctx, &a->ch, all, slice, dst, src, TILE);
            else if (lap % 3 == 1)
                iris_all_reduce_ll_sum_f32_wg(&a->ctx, &a->ch, all, slice, dst, src, TILE);
            else
                iris_all_reduce_one_shot_sum_f32_wg(&a->ctx, &a->ch, all, slice, dst, src, TILE);
            for (size_t i = iris_wg_lane(); i < TILE; i += iris_wg_lanes()) {
                float sum = 0;
                for (int r = 0; r < a->ctx.world; r++)
                    sum += part(lap, r, tile, i);
                wrong += dst[i] != sum;
            }
            iris_sync_wg();
        }
    for (uint32_t lap = 0; lap < a->laps && iris_workgroup() == SUMMING; lap++) {
        int32_t *row = a->table + (size_t)a->ctx.rank * TILE;
        for (size_t i = iris_wg_lane(); i < TILE; i += iris_wg_lanes())
            row[i] = (int32_t)part(lap, a->ctx.rank, 99, i);
        iris_sync_wg();
        iris_all_gather_push_i32_wg(&a->ctx, &a->ch, all, SUMMING, a->table, row, TILE, TILE);
        for (size_t i = iris_wg_lane(); i < TILE * (size_t)a->ctx.world; i += iris_wg_lanes())
            wrong += a->table[i] != (int32_t)part(lap, (int)(i / TILE), 99, i % TILE);
        iris_sync_wg();
    }
    irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/*
 * A slice beyond the last, a channel made for something else, a team without this rank: nothing happens, and checked
 * mode reports the first.
 */
IRIS_KERNEL(nothing, tile_args, a, 128)
{
    iris_team alone = iris_team_world(&a->ctx), all = alone;
    iris_channel bare = a->ch;
    bare.slices = 0, bare.half = 0;
    alone.start = (a->ctx.rank + 1) % a->ctx.world, alone.size = 1;
    iris_all_reduce_ll_sum_f32_wg(&a->ctx, &a->ch, all, 1000, a->dst, a->src, TILE);
    iris_all_reduce_two_shot_sum_f32_wg(&a->ctx, &bare, all, 0, a->dst, a->src, TILE);
    iris_all_gather_push_i32(&a->ctx, &bare, all, a->table, a->table, TILE);
    if (a->ctx.world > 1)
        iris_all_reduce_one_shot_sum_f32(&a->ctx, &a->ch, alone, a->dst, a->src, TILE);
}

void own_kernel(irist_rank *t)
{
    tile_args a;
    uint64_t wrong = 0;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.laps = irist_laps(10, 100);
    a.dst = (float *)iris_malloc(t->world, TILES * TILE * sizeof(float));
    a.src = (float *)iris_malloc(t->world, TILES * TILE * sizeof(float));
    a.table = (int32_t *)iris_malloc(t->world, TILE * sizeof(int32_t) * (size_t)t->ranks);
    a.wrong = (uint64_t *)iris_malloc(t->world, sizeof wrong);
    irist_ok(t, iris_memset(t->world, a.wrong, 0, sizeof wrong));
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 4096));
    irist_meet(t);
    irist_run(t, tiles, a, iris_cooperative(SUMMING + 1, 128));
    const std::vector<unsigned char> before = irist_download(t, a.dst, TILES * TILE * sizeof(float));
    const iris_launch_config two = iris_cooperative(2, 128);
    irist_meet(t); /* who is told of another rank's report has done what was before it */
    iris_status refused = iris_launch(t->world, nothing, &a, sizeof a, &two, iris_default_stream(t->world));
    if (refused == IRIS_OK)
        refused = iris_synchronize(t->world);
    irist_check(t, refused == (IRISI_CHECKED ? IRIS_ERR_CHECK : IRIS_OK), "calls that are none: %s (%s)",
                iris_status_name(refused), iris_error_string(t->world));
    if (refused != IRIS_OK) {
        irist_check(t, std::strstr(iris_error_string(t->world), "there is no slice 1000: ") != nullptr, "%s",
                    iris_error_string(t->world));
        irist_ok(t, iris_reset(t->world));
    }
    irist_check(t, irist_download(t, a.dst, before.size()) == before, "a call that is none wrote something");
    irist_run(t, tiles, a, iris_cooperative(SUMMING + 1, 128));
    irist_ok(t, iris_memcpy(t->world, &wrong, a.wrong, sizeof wrong));
    irist_check(t, wrong == 0, "%llu elements of tiles wrong", (unsigned long long)wrong);
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, a.wrong));
    irist_ok(t, iris_free(t->world, a.table));
    irist_ok(t, iris_free(t->world, a.src));
    irist_ok(t, iris_free(t->world, a.dst));
}

struct ring_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_bf16 *dst;
    const iris_bf16 *src;
    size_t count;
};
IRIS_KERNEL(ring_sum, ring_args, a, 128)
{
    const iris_team all = iris_team_world(&a->ctx);
    if (iris_workgroup() == 0)
        iris_all_reduce_ring_avg_bf16_wg(&a->ctx, &a->ch, all, 0, a->dst, a->src, a->count);
    if (iris_workgroup() == 1)
        iris_reduce_scatter_ring_sum_bf16_wg(&a->ctx, &a->ch, all, 1, a->dst + a->count * (size_t)a->ctx.world, a->src,
                                             a->count, a->count);
}

iris_bf16 input(uint64_t seed, int rank, size_t i)
{
    return iris_narrow_bf16(0.5f + (float)irist_pick(seed, 1 + (uint64_t)rank, i, 1u << 20) / (1 << 20));
}

/* Share k: k + 1 first, k last, rounded at each hop; the average divides before the last rounding. */
iris_bf16 ring_oracle(uint64_t seed, int ranks, int owner, size_t i, bool average)
{
    iris_bf16 sum = input(seed, (owner + 1) % ranks, i);
    for (int hop = 2; hop <= ranks; hop++) {
        const float both = iris_widen_bf16(sum) + iris_widen_bf16(input(seed, (owner + hop) % ranks, i));
        sum = iris_narrow_bf16(hop == ranks && average ? both / (float)ranks : both);
    }
    return sum;
}

/* Few enough elements for one turn; a share is a multiple of 8 elements, 16 bytes. */
void ring_order(irist_rank *t)
{
    enum { N = 131 };
    const size_t ranks = (size_t)t->ranks, each = ((N + ranks - 1) / ranks + 7) / 8 * 8;
    ring_args a;
    std::memset(&a, 0, sizeof a);
    std::vector<iris_bf16> in(N * ranks), out(N * ranks + N);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = input(t->seed, t->rank, i);
    a.ctx = iris_device_ctx(t->world);
    a.count = N;
    a.dst = (iris_bf16 *)iris_malloc(t->world, out.size() * sizeof out[0]);
    iris_bf16 *src = (iris_bf16 *)iris_malloc(t->world, in.size() * sizeof in[0]);
    a.src = src;
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 8192));
    irist_ok(t, iris_memcpy(t->world, src, in.data(), in.size() * sizeof in[0]));
    irist_meet(t);
    irist_run(t, ring_sum, a, iris_cooperative(2, 128));
    irist_ok(t, iris_memcpy(t->world, out.data(), a.dst, out.size() * sizeof out[0]));
    for (size_t i = 0; i < N; i++) {
        const iris_bf16 sum = ring_oracle(t->seed, t->ranks, (int)(i / each), i, true);
        const size_t own = (size_t)t->rank * N + i, at = N * ranks + i;
        const iris_bf16 row = ring_oracle(t->seed, t->ranks, t->rank, own, false);
        irist_check(t, out[i].bits == sum.bits, "all_reduce_ring: element %zu is %g, not %g", i,
                    (double)iris_widen_bf16(out[i]), (double)iris_widen_bf16(sum));
        irist_check(t, out[at].bits == row.bits, "reduce_scatter_ring: element %zu is %g, not %g", i,
                    (double)iris_widen_bf16(out[at]), (double)iris_widen_bf16(row));
    }
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, src));
    irist_ok(t, iris_free(t->world, a.dst));
}

} // namespace

TEST_CASE("workgroups combine their tiles while others do something else", "[collective]")
{
    irist_spmd(own_kernel, nullptr);
}
TEST_CASE("a ring combines in its own order, rounding at each hop", "[collective]") { irist_spmd(ring_order, nullptr); }
