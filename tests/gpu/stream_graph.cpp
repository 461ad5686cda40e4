/* SPDX-License-Identifier: MIT */
/*
 * Operations on a stream, captured once and replayed, in the full tier a thousand times: a put with signal and its wait
 * around a ring, rows that are put and got, signals that are set and added to, and a barrier that ends each replay, so
 * that the signals may be set back before. GPUs only: the host platform has no graphs.
 */
#define IRIS_INSTANTIATE_ON_STREAM
#include <cstring>

#include "capture.h"

#include <iris/iris.h>
#include <iris/on_stream.h>

namespace {

enum { WORDS = 20000, ROW = 100, PITCH = 130, ROWS = 40 };
enum { LANES = 256 };

struct args {
    uint32_t *src;   /* own: WORDS, made anew in each turn */
    uint32_t *inbox; /* symmetric: WORDS from the left rank, then ROWS rows of it, PITCH apart */
    uint32_t *got;   /* own: the left rank's WORDS */
    uint64_t *turn;  /* own: replays so far */
    uint64_t *wrong; /* own */
    int rank, left;
};

IRIS_DEVICE uint32_t word_of(uint64_t turn, int from, size_t i)
{
    return (uint32_t)(turn * 2654435761u + (uint32_t)from * 40503u + (uint32_t)i);
}

IRIS_KERNEL(make_words, args, a, LANES)
{
    for (size_t i = iris_grid_lane(); i < WORDS; i += iris_grid_lanes())
        a->src[i] = word_of(*a->turn + 1, a->rank, i);
}
IRIS_KERNEL(look_at_words, args, a, LANES)
{
    const uint64_t turn = *a->turn + 1;
    uint64_t wrong = 0;
    for (size_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        wrong += (a->inbox[i] != word_of(turn, a->left, i)) + (a->got[i] != word_of(turn, a->left, i));
    for (size_t i = iris_wg_lane(); i < (size_t)ROW * ROWS; i += iris_wg_lanes())
        wrong += a->inbox[WORDS + i / ROW * PITCH + i % ROW] != word_of(turn, a->left, i);
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->turn = turn;
}

struct work {
    args a;
    iris_channel ch;
    iris_signal *signals; /* 2: set and added to by the left rank */
    int right;
};

void submit(irist_rank *t, const work *k, iris_stream s)
{
    const iris_team all = {0, 0, 0};
    const iris_launch_config wide = iris_grid(8, LANES), one = iris_grid(1, LANES);
    const size_t word = sizeof(uint32_t);
    iris_world *w = t->world;
    irist_ok(t, iris_launch(w, make_words, &k->a, sizeof k->a, &wide, s));
    irist_ok(t, iris_put_signal_on_stream(w, k->a.inbox, k->a.src, WORDS * word, k->signals, 1, IRIS_SIGNAL_SET,
                                          k->right, s));
    irist_ok(t, iris_put_2d_on_stream(w, k->a.inbox + WORDS, PITCH * word, k->a.src, ROW * word, ROW * word, ROWS,
                                      k->right, s));
    irist_ok(t, iris_quiet_on_stream(w, s));
    irist_ok(t, iris_signal_on_stream(w, k->signals + 1, 2, IRIS_SIGNAL_ADD, k->right, s));
    irist_ok(t, iris_wait_until_on_stream(w, k->signals, IRIS_CMP_EQ, 1, s));
    irist_ok(t, iris_wait_until_on_stream(w, k->signals + 1, IRIS_CMP_GT, 1, s));
    irist_ok(t, iris_get_on_stream(w, k->a.got, k->a.src, WORDS * word, k->a.left, s));
    irist_ok(t, iris_launch(w, look_at_words, &k->a, sizeof k->a, &one, s));
    for (int i = 0; i < 2; i++)
        irist_ok(t, iris_signal_on_stream(w, k->signals + i, 0, IRIS_SIGNAL_SET, t->rank, s));
    irist_ok(t, iris_barrier_on_stream(w, &k->ch, all, s));
}

void replay(irist_rank *t)
{
    uint64_t words[2] = {0, 0};
    iris_stream recorder = nullptr;
    work k;
    std::memset(static_cast<void *>(&k), 0, sizeof k);
    k.right = (t->rank + 1) % t->ranks, k.a.left = (t->rank + t->ranks - 1) % t->ranks, k.a.rank = t->rank;
    k.a.src = (uint32_t *)irist_zeroed(t, WORDS * sizeof(uint32_t), IRIS_MEM_DATA);
    k.a.inbox = (uint32_t *)irist_zeroed(t, (WORDS + ROWS * PITCH) * sizeof(uint32_t), IRIS_MEM_DATA);
    k.a.got = (uint32_t *)irist_zeroed(t, WORDS * sizeof(uint32_t), IRIS_MEM_DATA);
    k.a.turn = (uint64_t *)irist_zeroed(t, sizeof words, IRIS_MEM_DATA), k.a.wrong = k.a.turn + 1;
    k.signals = iris_signals(t->world, 2);
    irist_ok(t, iris_channel_create(t->world, &k.ch, (size_t)t->ranks, 0));
    irist_ok(t, iris_stream_create(t->world, &recorder));
    irist_meet(t);
    irist_replay(t, iris_default_stream(t->world), recorder, [&](iris_stream stream) { submit(t, &k, stream); });
    irist_ok(t, iris_memcpy(t->world, words, k.a.turn, sizeof words));
    irist_check(t, words[1] == 0 && words[0] == (uint64_t)irist_replays() + 1, "%llu words wrong in %llu turns",
                (unsigned long long)words[1], (unsigned long long)words[0]);
    irist_meet(t);
    irist_ok(t, iris_stream_destroy(t->world, recorder));
    irist_ok(t, iris_channel_destroy(t->world, &k.ch));
    void *const memory[] = {k.signals, k.a.turn, k.a.got, k.a.inbox, k.a.src};
    for (void *p : memory)
        irist_ok(t, iris_free(t->world, p));
}

} // namespace

TEST_CASE("captured operations on a stream replay", "[gpu]") { irist_spmd(replay, nullptr); }
