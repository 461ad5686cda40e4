/* SPDX-License-Identifier: MIT */
/*
 * Collectives captured once and replayed, in the full tier a thousand times: each by every schedule, then all of them
 * in one graph on one channel. Input is made and the result compared by kernels in the same graph. Arguments are fixed
 * at capture, so whatever changes from use to use is on the device. GPUs only: the host platform has no graphs.
 */
#include "../collective/kinds.h"
#include "capture.h"

namespace {

enum { FEW = 257, MOST = 30000 };

struct scene {
    irist_rank *t;
    iris_channel ch;
    iris_stream stream, recorder;
    int32_t *src, *dst;
    uint64_t *words; /* own: turns so far, wrong elements */
};

struct turn_args {
    uint64_t *turns;
};
IRIS_KERNEL(count_turn, turn_args, a, 64)
{
    if (iris_grid_lane() == 0)
        *a->turns += 1;
}

void submit_kind(scene *s, int kind, size_t n, iris_stream stream)
{
    const collective_kind &k = collective_kinds[kind];
    const int more = n == MOST, root = (kind + more) % s->t->ranks;
    const iris_launch_config some = iris_grid(8, 128);
    const iris_collective c = kind_what(k, s->dst, s->src, n, root);
    kind_args a = kind_arguments(s->t, k, s->dst, s->src, n, root, (uint64_t)(2 * kind + more), s->words + 1);
    a.turn = s->words;
    irist_ok(s->t, iris_launch(s->t->world, kind_input, &a, sizeof a, &some, stream));
    irist_ok(s->t, k.launch(s->t->world, &s->ch, &c, stream));
    irist_ok(s->t, iris_launch(s->t->world, kind_compare, &a, sizeof a, &some, stream));
}

/* Kinds first to last - 1 in one graph, of both lengths. */
void replay(scene *s, int first, int last)
{
    irist_rank *t = s->t;
    uint64_t words[2] = {0, 0};
    irist_ok(t, iris_memset(t->world, s->words, 0, sizeof words));
    irist_replay(t, s->stream, s->recorder, [&](iris_stream stream) {
        const turn_args turn = {s->words};
        const iris_launch_config one = iris_grid(1, 64);
        for (int kind = first; kind < last; kind++)
            for (size_t n : {(size_t)FEW, (size_t)MOST})
                submit_kind(s, kind, n, stream);
        irist_ok(t, iris_launch(t->world, count_turn, &turn, sizeof turn, &one, stream));
    });
    irist_ok(t, iris_memcpy(t->world, words, s->words, sizeof words));
    irist_check(t, words[1] == 0 && words[0] == (uint64_t)irist_replays() + 1,
                "%s %s to kind %d: %llu elements wrong in %llu turns", collective_kinds[first].name,
                irisi_schedule_name(collective_kinds[first].schedule), last, (unsigned long long)words[1],
                (unsigned long long)words[0]);
}

void every_kind(irist_rank *t)
{
    const size_t bytes = MOST * sizeof(int32_t) * (size_t)t->ranks;
    scene s;
    s.t = t, s.stream = iris_default_stream(t->world);
    irist_ok(t, iris_stream_create(t->world, &s.recorder));
    irist_ok(t, iris_collective_channel(t->world, &s.ch, 0));
    s.src = (int32_t *)iris_malloc(t->world, bytes), s.dst = (int32_t *)iris_malloc(t->world, bytes);
    s.words = (uint64_t *)iris_malloc(t->world, 2 * sizeof *s.words);
    irist_check(t, s.src && s.dst && s.words, "%s", iris_error_string(t->world));
    irist_meet(t);
    for (int kind = 0; kind < KINDS && !t->failures; kind++)
        replay(&s, kind, kind + 1);
    replay(&s, 0, KINDS);
    irist_meet(t);
    irist_ok(t, iris_free(t->world, s.words));
    irist_ok(t, iris_free(t->world, s.dst));
    irist_ok(t, iris_free(t->world, s.src));
    irist_ok(t, iris_channel_destroy(t->world, &s.ch));
    irist_ok(t, iris_stream_destroy(t->world, s.recorder));
}

} // namespace

TEST_CASE("captured collectives are right in every replay", "[gpu]") { irist_spmd(every_kind, nullptr); }
