/* SPDX-License-Identifier: MIT */
/*
 * Waits and barriers on a stream whose other side never comes: they end with the world's deadline, in a sentence on
 * every rank, streams go on, and iris_reset mends the world. And operations that a group holds. One thread drives all
 * worlds; rank 0 of the harness makes them, the other ranks have nothing to do.
 */
#define IRIS_INSTANTIATE_ON_STREAM
#include <iris/init.h>
#include <iris/iris.h>
#include <iris/on_stream.h>

#include "harness.h"

#include <cstring>
#include <string>

namespace {

const iris_team everybody = {0, 0, 0};

struct worlds {
    irist_rank *t;
    int n;
    iris_world *w[4];
    iris_signal *signal[4];
    iris_channel ch[4];
    uint64_t *out[4]; /* symmetric: two words */
};

bool ok(worlds *j, iris_status status, const char *what)
{
    return irist_check(j->t, status == IRIS_OK, "%d worlds, %s: %s: %s", j->n, what, iris_status_name(status),
                       iris_error_string(nullptr));
}

/* One call of every world, all at once. */
template <typename Call> iris_status together(worlds *j, Call call)
{
    iris_group_begin();
    for (int r = 0; r < j->n; r++)
        call(r);
    return iris_group_end();
}
iris_status meet(worlds *j)
{
    return together(j, [&](int r) { iris_barrier(j->w[r]); });
}

bool begin(worlds *j, irist_rank *t, int n, int64_t timeout_ms)
{
    iris_config config;
    std::memset(&config, 0, sizeof config);
    std::memset(static_cast<void *>(j), 0, sizeof *j);
    config.heap_bytes = (size_t)4 << 20;
    config.heap_max_bytes = (size_t)64 << 20;
    config.sync_bytes = (size_t)4 << 20;
    config.timeout_ms = timeout_ms;
    j->t = t, j->n = n;
    if (!ok(j, iris_init_all(j->w, n, &config), "iris_init_all"))
        return false;
    for (int r = 0; r < n; r++) {
        j->signal[r] = iris_signals(j->w[r], 2);
        j->out[r] = iris_zeros_u64(j->w[r], 2);
        ok(j, iris_channel_create(j->w[r], &j->ch[r], (size_t)n, 0), "iris_channel_create");
    }
    return ok(j, meet(j), "iris_barrier");
}
void finish(worlds *j) { ok(j, together(j, [&](int r) { iris_finalize(j->w[r]); }), "iris_finalize"); }

uint64_t word(worlds *j, int r, int i)
{
    uint64_t v = 99;
    ok(j, iris_memcpy(j->w[r], &v, j->out[r] + i, sizeof v), "iris_memcpy");
    return v;
}

#if defined(IRIS_TARGET_HOST)
enum { DEADLINE_MS = 300 };
#else
enum { DEADLINE_MS = 2000 };
#endif

/* Every rank but the last waits for the last, or meets it; the last one never comes. */
void stuck(worlds *j, int barrier)
{
    const int waiters = j->n > 1 ? j->n - 1 : 1;
    const uint64_t one = 1;
    iris_stream other = nullptr;
    ok(j, iris_stream_create(j->w[0], &other), "iris_stream_create");
    for (int r = 0; r < j->n; r++)
        ok(j, iris_memcpy(j->w[r], j->out[r], &one, sizeof one), "iris_memcpy");
    for (int r = 0; r < waiters; r++) {
        const iris_status s =
            barrier ? iris_barrier_on_stream(j->w[r], &j->ch[r], everybody, nullptr)
                    : iris_wait_until_on_stream(j->w[r], j->signal[r] + 1, IRIS_CMP_GE, 7, nullptr);
        ok(j, s, "a wait that never ends");
        ok(j, iris_get_on_stream(j->w[r], j->out[r] + 1, j->out[r], sizeof one, r, nullptr), "what follows");
    }
    for (int r = 0; r < j->n; r++) {
        const iris_status status = iris_barrier(j->w[r]);
        const std::string said = iris_error_string(j->w[r]);
        const char *words = barrier ? "to be at least 1 (saw 0) from rank" : "(signal 1 of 2 from iris_signals";
        irist_check(j->t, status == IRIS_ERR_TIMEOUT && said.find(words) != std::string::npos &&
                              said.find("iris_reset") != std::string::npos,
                    "rank %d of %d, %s: %s: %s", r, j->n, barrier ? "barrier" : "wait", iris_status_name(status),
                    said.c_str());
        irist_check(j->t, iris_quiet_on_stream(j->w[r], nullptr) == IRIS_ERR_TIMEOUT, "rank %d goes on", r);
    }
    const iris_status forgotten = iris_stream_destroy(j->w[0], other);
    irist_check(j->t, forgotten == IRIS_ERR_TIMEOUT, "a stream of a world that has stopped: %s",
                iris_status_name(forgotten));
    ok(j, together(j, [&](int r) { iris_reset(j->w[r]); }), "iris_reset");
    const iris_status again = iris_stream_destroy(j->w[0], other);
    irist_check(j->t, again == IRIS_ERR_ARGUMENT, "a world that stopped did not forget its stream: %s",
                iris_status_name(again));
    for (int r = 0; r < waiters; r++)
        irist_check(j->t, word(j, r, 1) == 1, "rank %d of %d: its stream did not go on behind the wait", r, j->n);
}

/* As in a world to which nothing has happened: a message around the ring, and a barrier, held by a group. */
void good(worlds *j, uint64_t turn)
{
    for (int r = 0; r < j->n; r++) {
        const uint64_t mine[2] = {turn * 10 + (uint64_t)r, 0};
        ok(j, iris_memcpy(j->w[r], j->out[r], mine, sizeof mine), "iris_memcpy");
    }
    ok(j, meet(j), "iris_barrier");
    const iris_status status = together(j, [&](int r) {
        ok(j, iris_put_signal_on_stream(j->w[r], j->out[r] + 1, j->out[r], sizeof(uint64_t), j->signal[r], 1,
                                        IRIS_SIGNAL_ADD, (r + 1) % j->n, nullptr),
           "a put that is held");
        ok(j, iris_wait_until_on_stream(j->w[r], j->signal[r], IRIS_CMP_EQ, turn, nullptr), "a wait that is held");
        ok(j, iris_barrier_on_stream(j->w[r], &j->ch[r], everybody, nullptr), "a barrier that is held");
        ok(j, iris_synchronize(j->w[r]), "iris_synchronize");
    });
    ok(j, status, "a group of operations");
    for (int r = 0; r < j->n; r++)
        irist_check(j->t, word(j, r, 1) == turn * 10 + (uint64_t)((r + j->n - 1) % j->n), "rank %d received %llu", r,
                    (unsigned long long)word(j, r, 1));
}

void deadlines_of(irist_rank *t, int n)
{
    worlds j;
#if !defined(IRIS_TARGET_HOST)
    /* A device beside which other tests run takes its time for the first world of a process. */
    if (!begin(&j, t, n, 40000))
        return;
    finish(&j);
#endif
    if (!begin(&j, t, n, DEADLINE_MS))
        return;
    stuck(&j, 0);
    if (n > 1)
        stuck(&j, 1);
    finish(&j);
}

void deadlines(irist_rank *t)
{
    static const int counts[] = {1, 2, 4, 3};
    for (int i = 0; i < (t->full ? 4 : 3); i++) {
        if (t->rank == 0)
            deadlines_of(t, counts[i]);
        irist_meet(t); /* the others wait for a part of the whole only: there are limits to that */
    }
}

/* Waits are short here too, but for the machine's sake not that short. */
void groups(irist_rank *t)
{
    static const int counts[] = {1, 2, 4, 3};
    for (int i = 0; t->rank == 0 && i < (t->full ? 4 : 3); i++) {
        worlds j;
        if (!begin(&j, t, counts[i], 40000))
            return;
        for (uint64_t turn = 1; turn <= irist_laps(3, 20); turn++)
            good(&j, turn);
        finish(&j);
    }
}

} // namespace

TEST_CASE("a wait on a stream that is never answered ends with the deadline", "[stream]")
{
    irist_spmd(deadlines, nullptr);
}

TEST_CASE("a group holds operations on streams", "[stream]") { irist_spmd(groups, nullptr); }
