/* SPDX-License-Identifier: MIT */
/*
 * Collectives captured once and replayed a thousand times: all_reduce and all_gather by their schedules, input made and
 * result compared by kernels in the same graph. Arguments are fixed at capture, so whatever changes from use to use is
 * on the device. GPUs only: the host platform has no graphs.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_I32
#endif

#include <cstring>

#include "capture.h"

#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/op.h>

namespace {

enum { IN_FLIGHT = 25, MOST = 30000 };

struct args {
    int32_t *src;
    const int32_t *dst;
    uint64_t *lap, *wrong; /* own: replays so far, elements that were not right */
    size_t n;
    int rank, ranks, gathers;
};

IRIS_DEVICE int32_t element(uint64_t lap, int rank, size_t i)
{
    return (int32_t)(lap * 7919 + (uint64_t)rank * 1009 + i * 3);
}

IRIS_KERNEL(make_input, args, a, 128)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->src[i] = element(*a->lap, a->rank, i);
}

IRIS_KERNEL(compare, args, a, 128)
{
    uint64_t wrong = 0;
    for (size_t i = iris_wg_lane(); i < a->n; i += iris_wg_lanes()) {
        int32_t sum = 0;
        for (int r = 0; r < a->ranks; r++) {
            const int32_t x = element(*a->lap, r, i);
            sum = iris_sum_i32(sum, x);
            wrong += a->gathers && a->dst[(size_t)r * a->n + i] != x;
        }
        wrong += !a->gathers && a->dst[i] != sum;
    }
    irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap += 1;
}

struct scene {
    irist_rank *t;
    args a;
    iris_channel ch;
    iris_collective c;
};

void submit(scene *s, iris_stream stream)
{
    const iris_launch_config many = iris_grid(8, 128), one = iris_grid(1, 128);
    iris_world *w = s->t->world;
    irist_ok(s->t, iris_launch(w, make_input, &s->a, sizeof s->a, &many, stream));
    irist_ok(s->t, (s->a.gathers ? iris_launch_all_gather : iris_launch_all_reduce)(w, &s->ch, &s->c, stream));
    irist_ok(s->t, iris_launch(w, compare, &s->a, sizeof s->a, &one, stream));
}

/* Once as it is on the default stream, then captured on another one, and replayed on the first. */
void replay(scene *s)
{
    irist_rank *t = s->t;
    const iris_stream stream = iris_default_stream(t->world);
    iris_stream recorder = nullptr;
    irist_graph graph = nullptr;
    uint64_t wrong = 0, laps = 0;
    const int replays = (int)irist_laps(1000, 1000);
    irist_ok(t, iris_stream_create(t->world, &recorder));
    submit(s, stream);
    irist_meet(t);
    if (irist_capture_begin(t, recorder)) {
        submit(s, recorder);
        irist_capture_end(t, recorder, &graph);
    }
    irist_meet(t);
    for (int lap = 1; lap <= replays && graph && !t->failures; lap++) {
        irist_replay(t, graph, stream);
        if (lap % IN_FLIGHT == 0)
            irist_ok(t, iris_stream_synchronize(t->world, stream));
    }
    irist_ok(t, iris_memcpy(t->world, &wrong, s->a.wrong, sizeof wrong));
    irist_ok(t, iris_memcpy(t->world, &laps, s->a.lap, sizeof laps));
    irist_check(t, wrong == 0 && laps == (uint64_t)replays + 1, "%s %s of %zu: %llu elements wrong in %llu laps",
                s->a.gathers ? "all_gather" : "all_reduce", irisi_schedule_name((int)s->c.schedule), s->c.count,
                (unsigned long long)wrong, (unsigned long long)laps);
    irist_meet(t);
    irist_graph_free(t, graph);
    irist_ok(t, iris_stream_destroy(t->world, recorder));
}

void every_schedule(irist_rank *t)
{
    const std::vector<iris_schedule> schedules[2] = {
        {IRIS_SCHEDULE_LL, IRIS_SCHEDULE_LL_TWO_SHOT, IRIS_SCHEDULE_ONE_SHOT, IRIS_SCHEDULE_TWO_SHOT,
         IRIS_SCHEDULE_TWO_SHOT_PUSH, IRIS_SCHEDULE_RING},
        {IRIS_SCHEDULE_LL, IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_PULL, IRIS_SCHEDULE_RING}};
    scene s;
    std::memset(&s, 0, sizeof s);
    s.t = t;
    s.a.rank = t->rank, s.a.ranks = t->ranks;
    s.a.src = (int32_t *)iris_malloc(t->world, MOST * sizeof(int32_t));
    int32_t *dst = (int32_t *)iris_malloc(t->world, MOST * sizeof(int32_t) * (size_t)t->ranks);
    uint64_t *words = (uint64_t *)iris_malloc(t->world, 2 * sizeof(uint64_t));
    s.a.dst = dst, s.a.lap = words, s.a.wrong = words + 1;
    irist_ok(t, iris_collective_channel(t->world, &s.ch, 0));
    irist_meet(t);
    for (int gathers = 0; gathers < 2; gathers++)
        for (iris_schedule schedule : schedules[gathers])
            for (size_t n : {(size_t)257, (size_t)MOST}) {
                irist_ok(t, iris_memset(t->world, words, 0, 2 * sizeof(uint64_t)));
                s.a.gathers = gathers, s.a.n = n;
                s.c.dst = dst, s.c.src = s.a.src, s.c.count = n, s.c.dtype = IRIS_I32, s.c.schedule = schedule;
                replay(&s);
            }
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &s.ch));
    irist_ok(t, iris_free(t->world, words));
    irist_ok(t, iris_free(t->world, dst));
    irist_ok(t, iris_free(t->world, s.a.src));
}

} // namespace

TEST_CASE("captured collectives are right in every replay", "[gpu]") { irist_spmd(every_schedule, nullptr); }
