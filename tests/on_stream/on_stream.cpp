/* SPDX-License-Identifier: MIT */
/*
 * Operations on a stream: puts and gets of rows of any length, signals that follow their bytes, every comparison of a
 * wait, barriers of teams, many in a row without a word from the host, on one stream and on two; what is refused.
 */
#define IRIS_INSTANTIATE_ON_STREAM
#include <iris/collective/launch.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <iris/on_stream.h>

#include "harness.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

const iris_team everybody = {0, 0, 0};

typedef std::vector<unsigned char> bytes;

bytes random_bytes(const irist_rank *t, int from, uint64_t turn, size_t n)
{
    bytes v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = (unsigned char)irist_random(t->seed + turn, 1000u + (uint64_t)from, i);
    return v;
}

/* Symmetric memory that looks untouched. */
unsigned char *poisoned(irist_rank *t, size_t n)
{
    unsigned char *p = (unsigned char *)iris_malloc(t->world, n);
    irist_check(t, p != nullptr, "%s", iris_error_string(t->world));
    irist_upload(t, p, irist_poisoned(n));
    return p;
}

void expect(irist_rank *t, const unsigned char *p, const bytes &want, const char *what, uint64_t turn)
{
    const bytes got = irist_download(t, p, want.size());
    for (size_t i = 0; i < want.size(); i++)
        if (!irist_check(t, got[i] == want[i], "%s, turn %llu: byte %zu of %zu is %u, not %u", what,
                         (unsigned long long)turn, i, want.size(), got[i], want[i]))
            return;
}

/* ---- messages around the ring ---------------------------------------------------------------------------------- */

enum { MOST = 70000, SLOTS = 2, APART = MOST + 16 }; /* sources begin anywhere within 16 bytes */

size_t length_of(const irist_rank *t, uint64_t stream, uint64_t turn)
{
    static const size_t lengths[] = {0, 1, 3, 16, 255, 2049, 4099, 8193, 65536, 65537, MOST};
    return lengths[irist_pick(t->seed, 2000 + stream, turn, 11)];
}

size_t source_of(uint64_t turn) { return (size_t)turn * APART + turn % 5; }

/* One stream's ring: everything is enqueued at once, and the log shows what each turn's message was. */
struct ring {
    iris_stream stream;
    unsigned char *src, *inbox, *log; /* a message a turn; SLOTS; a message a turn */
    iris_signal *arrived, *freed;
};

void ring_create(irist_rank *t, ring *r, uint64_t number, uint32_t turns)
{
    r->stream = nullptr;
    if (number > 0)
        irist_ok(t, iris_stream_create(t->world, &r->stream));
    r->src = poisoned(t, (size_t)turns * APART);
    r->inbox = poisoned(t, (size_t)SLOTS * MOST);
    r->log = poisoned(t, (size_t)turns * MOST);
    r->arrived = iris_signals(t->world, 2);
    r->freed = r->arrived + 1;
    for (uint32_t turn = 0; turn < turns; turn++)
        irist_upload(t, r->src + source_of(turn), random_bytes(t, t->rank, 100 * number + turn, MOST));
}

/* The slot is free, so the message goes; the left one's message has come, so it is kept and its slot given back. */
void ring_turn(irist_rank *t, const ring *r, uint64_t number, uint64_t turn)
{
    const int right = (t->rank + 1) % t->ranks, left = (t->rank + t->ranks - 1) % t->ranks;
    const size_t n = length_of(t, number, turn);
    unsigned char *slot = r->inbox + turn % SLOTS * MOST;
    if (turn >= SLOTS)
        irist_ok(t, iris_wait_until_on_stream(t->world, r->freed, IRIS_CMP_GE, turn - SLOTS + 1, r->stream));
    if (turn % 3 == 0) {
        irist_ok(t, iris_put_on_stream(t->world, slot, r->src + source_of(turn), n, right, r->stream));
        irist_ok(t, iris_signal_on_stream(t->world, r->arrived, turn + 1, IRIS_SIGNAL_SET, right, r->stream));
    } else {
        irist_ok(t, iris_put_signal_on_stream(t->world, slot, r->src + source_of(turn), n, r->arrived,
                                              turn % 3 == 1 ? 1 : turn + 1,
                                              turn % 3 == 1 ? IRIS_SIGNAL_ADD : IRIS_SIGNAL_SET, right, r->stream));
    }
    irist_ok(t, iris_wait_until_on_stream(t->world, r->arrived, IRIS_CMP_GT, turn, r->stream));
    irist_ok(t, iris_get_on_stream(t->world, r->log + turn * MOST, slot, n, t->rank, r->stream));
    irist_ok(t, iris_signal_on_stream(t->world, r->freed, 1, IRIS_SIGNAL_ADD, left, r->stream));
}

void ring_finish(irist_rank *t, ring *r, uint64_t number, uint32_t turns)
{
    const int left = (t->rank + t->ranks - 1) % t->ranks;
    for (uint32_t turn = 0; turn < turns; turn++) {
        bytes want = irist_poisoned((size_t)turns * MOST);
        const bytes sent = random_bytes(t, left, 100 * number + turn, length_of(t, number, turn));
        want.assign(want.begin() + (std::ptrdiff_t)turn * MOST, want.begin() + (std::ptrdiff_t)(turn + 1) * MOST);
        std::copy(sent.begin(), sent.end(), want.begin());
        expect(t, r->log + (size_t)turn * MOST, want, "ring", turn);
    }
    irist_meet(t);
    if (number > 0)
        irist_ok(t, iris_stream_destroy(t->world, r->stream));
    irist_ok(t, iris_free(t->world, r->arrived));
    irist_ok(t, iris_free(t->world, r->log));
    irist_ok(t, iris_free(t->world, r->inbox));
    irist_ok(t, iris_free(t->world, r->src));
}

/* *arg rings at once, each on a stream of its own, without a word from the host in between. */
void rings(irist_rank *t)
{
    const uint64_t n = (uint64_t)*(const int *)t->arg;
    const uint32_t turns = irist_laps(12, 40);
    ring r[2];
    for (uint64_t i = 0; i < n; i++)
        ring_create(t, &r[i], i, turns);
    irist_meet(t);
    irist_delay(t, n);
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint64_t i = 0; i < n; i++)
            ring_turn(t, &r[i], i, turn);
    irist_ok(t, iris_synchronize(t->world));
    for (uint64_t i = 0; i < n; i++)
        ring_finish(t, &r[i], i, turns);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

struct shape {
    size_t row, rows, dst_pitch, src_pitch;
};
const shape shapes[] = {{1, 1, 1, 1}, {7, 5, 7, 7},         {16, 9, 64, 16}, {33, 4, 40, 129},     {0, 3, 8, 8},
                        {5, 0, 8, 8}, {999, 3, 1000, 1024}, {4, 300, 12, 5}, {4096, 8, 4096, 8192}};
enum { AREA = 70000 };

/* What an area holds after rows of `from` have gone there. */
bytes with_rows(const shape &s, const bytes &from)
{
    bytes area = irist_poisoned(AREA);
    for (size_t y = 0; y < s.rows; y++)
        for (size_t x = 0; x < s.row; x++)
            area[y * s.dst_pitch + x] = from[y * s.src_pitch + x];
    return area;
}

/* Rows to the right one's area, and rows of the left one into an area of the own. */
void rows(irist_rank *t)
{
    const int right = (t->rank + 1) % t->ranks, left = (t->rank + t->ranks - 1) % t->ranks;
    unsigned char *src = poisoned(t, AREA), *put = poisoned(t, AREA), *got = poisoned(t, AREA);
    iris_stream other = nullptr;
    irist_ok(t, iris_stream_create(t->world, &other));
    for (uint64_t turn = 0; turn < sizeof shapes / sizeof shapes[0]; turn++) {
        const shape &s = shapes[turn];
        irist_upload(t, src, random_bytes(t, t->rank, turn, AREA));
        irist_upload(t, put, irist_poisoned(AREA));
        irist_upload(t, got, irist_poisoned(AREA));
        irist_meet(t);
        irist_ok(t, iris_put_2d_on_stream(t->world, put, s.dst_pitch, src, s.src_pitch, s.row, s.rows, right, other));
        irist_ok(t, iris_get_2d_on_stream(t->world, got, s.dst_pitch, src, s.src_pitch, s.row, s.rows, left, nullptr));
        irist_meet(t);
        const bytes want = with_rows(s, random_bytes(t, left, turn, AREA));
        expect(t, put, want, "rows that were put", turn);
        expect(t, got, want, "rows that were got", turn);
        irist_meet(t);
    }
    irist_ok(t, iris_stream_destroy(t->world, other));
    irist_ok(t, iris_free(t->world, got));
    irist_ok(t, iris_free(t->world, put));
    irist_ok(t, iris_free(t->world, src));
}

/* ---- comparisons ------------------------------------------------------------------------------------------------ */

const uint64_t HIGH = (uint64_t)1 << 63;

/* The signal is `before`, then `still`, which do not end the wait, then `then`, which does. */
struct comparison {
    iris_cmp cmp;
    const char *name;
    uint64_t value, before, still, then;
};
const comparison comparisons[] = {
    {IRIS_CMP_EQ, "equal", 7, 5, 9, 7},
    {IRIS_CMP_NE, "not equal", HIGH + 3, HIGH + 3, HIGH + 3, 3},
    {IRIS_CMP_GT, "above", 3, 2, 3, HIGH},
    {IRIS_CMP_GT, "above, by one", HIGH, 1, HIGH, HIGH + 1},
    {IRIS_CMP_GE, "at least", HIGH + 1, 1, HIGH, HIGH + 1},
    {IRIS_CMP_GE, "at least, unsigned", 5, 0, 4, UINT64_MAX},
    {IRIS_CMP_LT, "below", HIGH, UINT64_MAX, HIGH, 1},
    {IRIS_CMP_LE, "at most", HIGH, UINT64_MAX, HIGH + 1, HIGH},
};

/*
 * A stream waits, then leaves a mark; another looks at the mark in the meantime and tells the left rank that it has.
 * Only then the left rank raises the signal to what ends the wait.
 */
void waits(irist_rank *t)
{
    const int right = (t->rank + 1) % t->ranks, left = (t->rank + t->ranks - 1) % t->ranks;
    iris_stream waiter = nullptr, other = nullptr;
    iris_signal *signal = iris_signals(t->world, 2), *looked = signal + 1;
    uint64_t turn = 0;
    unsigned char *memory = poisoned(t, 4), *mark = memory, *seen = memory + 1, *one = memory + 2;
    irist_ok(t, iris_stream_create(t->world, &waiter));
    irist_ok(t, iris_stream_create(t->world, &other));
    for (const comparison &c : comparisons) {
        irist_upload(t, memory, {0, 9, 1, 0});
        irist_ok(t, iris_memcpy(t->world, signal, &c.before, sizeof c.before));
        irist_meet(t);
        irist_ok(t, iris_wait_until_on_stream(t->world, signal, c.cmp, c.value, waiter));
        irist_ok(t, iris_put_on_stream(t->world, mark, one, 1, t->rank, waiter));
        irist_ok(t, iris_signal_on_stream(t->world, signal, c.still, IRIS_SIGNAL_SET, right, other));
        for (int i = 0; i < 20; i++)
            irist_ok(t, iris_quiet_on_stream(t->world, other));
        irist_ok(t, iris_get_on_stream(t->world, seen, mark, 1, t->rank, other));
        irist_ok(t, iris_signal_on_stream(t->world, looked, ++turn, IRIS_SIGNAL_SET, left, other));
        irist_delay(t, c.value);
        irist_ok(t, iris_wait_until_on_stream(t->world, looked, IRIS_CMP_GE, turn, other));
        irist_ok(t, iris_signal_on_stream(t->world, signal, c.then, IRIS_SIGNAL_SET, right, other));
        irist_ok(t, iris_synchronize(t->world));
        expect(t, memory, {1, 0, 1, 0}, c.name, c.then);
        irist_meet(t);
    }
    irist_ok(t, iris_stream_destroy(t->world, other));
    irist_ok(t, iris_stream_destroy(t->world, waiter));
    irist_ok(t, iris_free(t->world, memory));
    irist_ok(t, iris_free(t->world, signal));
}

/* ---- barriers --------------------------------------------------------------------------------------------------- */

/* Turn by turn every member puts its row into every member's table; whoever leaves the barrier has all of them. */
void barriers(irist_rank *t)
{
    enum { ROW = 3000 };
    /* 0: the world; 1: ranks of one parity, which are a team each; 2: the same in reverse, by colour and key. */
    const int parity = *(const int *)t->arg;
    const int first = parity ? t->rank % 2 : 0, step = parity ? 2 : 1, size = (t->ranks - first + step - 1) / step;
    iris_team team = {first, step, parity ? size : 0};
    const uint32_t most = irist_laps(20, t->ranks > 4 ? 100 : 300) + 1; /* all ranks allocate alike */
    const uint32_t turns = most - (uint32_t)first;                       /* the teams go apart */
    const size_t table = (size_t)t->ranks * ROW;
    iris_channel ch;
    unsigned char *src = poisoned(t, (size_t)most * ROW), *tables = poisoned(t, 2 * table);
    unsigned char *log = poisoned(t, (size_t)most * table);
    irist_ok(t, iris_channel_create(t->world, &ch, (size_t)t->ranks, 0));
    if (parity == 2)
        irist_ok(t, iris_team_split(t->world, &team, first, -t->rank));
    for (uint32_t turn = 0; turn < turns; turn++)
        irist_upload(t, src + (size_t)turn * ROW, random_bytes(t, t->rank, turn, ROW));
    irist_meet(t);
    irist_delay(t, (uint64_t)parity);
    for (uint32_t turn = 0; turn < turns; turn++) { /* two tables: who is a turn ahead has passed this turn's barrier */
        unsigned char *at = tables + turn % 2 * table;
        for (int rank = first; rank < t->ranks; rank += step)
            irist_ok(t, iris_put_on_stream(t->world, at + (size_t)t->rank * ROW, src + (size_t)turn * ROW, ROW, rank,
                                           nullptr));
        irist_ok(t, iris_barrier_on_stream(t->world, &ch, team, nullptr));
        irist_ok(t, iris_get_on_stream(t->world, log + turn * table, at, table, t->rank, nullptr));
    }
    irist_ok(t, iris_synchronize(t->world));
    for (uint32_t turn = 0; turn < turns; turn++)
        for (int rank = first; rank < t->ranks; rank += step)
            expect(t, log + turn * table + (size_t)rank * ROW, random_bytes(t, rank, turn, ROW), "barrier", turn);
    irist_meet(t);
    if (parity == 2)
        irist_ok(t, iris_team_destroy(t->world, &team));
    irist_ok(t, iris_channel_destroy(t->world, &ch));
    irist_ok(t, iris_free(t->world, log));
    irist_ok(t, iris_free(t->world, tables));
    irist_ok(t, iris_free(t->world, src));
}

/* ---- kernels ahead of a signal ---------------------------------------------------------------------------------- */

struct store_args {
    iris_ctx ctx;
    uint32_t *cells;
    uint32_t n, turn;
    int to;
};
/* Ordinary stores, which nobody fences. */
IRIS_KERNEL(store_cells, store_args, a, 128)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        iris_store_u32(&a->ctx, a->cells + i, a->turn * 1000003u + (uint32_t)i, a->to);
}

/* What a kernel stored before has come with the signal behind it. */
void kernels(irist_rank *t)
{
    const uint32_t n = 5000, turns = irist_laps(5, 50);
    const iris_launch_config cfg = iris_grid(2, 128);
    iris_signal *signal = iris_signals(t->world, 1);
    std::vector<uint32_t> got(n);
    store_args a;
    std::memset(static_cast<void *>(&a), 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.to = (t->rank + 1) % t->ranks;
    a.n = n;
    a.cells = iris_zeros_u32(t->world, 2 * n);
    irist_meet(t);
    for (a.turn = 1; a.turn <= turns; a.turn++) {
        irist_ok(t, iris_launch(t->world, store_cells, &a, sizeof a, &cfg, nullptr));
        if (a.turn % 2)
            irist_ok(t, iris_quiet_on_stream(t->world, nullptr));
        irist_ok(t, iris_signal_on_stream(t->world, signal, 1, IRIS_SIGNAL_ADD, a.to, nullptr));
        irist_ok(t, iris_wait_until_on_stream(t->world, signal, IRIS_CMP_GE, a.turn, nullptr));
        irist_ok(t, iris_get_on_stream(t->world, a.cells + n, a.cells, n * sizeof got[0], t->rank, nullptr));
        irist_ok(t, iris_memcpy(t->world, got.data(), a.cells + n, n * sizeof got[0]));
        for (uint32_t i = 0; i < n; i++)
            if (!irist_check(t, got[i] == a.turn * 1000003u + i, "turn %u: cell %u is %u", a.turn, i, got[i]))
                break;
        irist_meet(t);
    }
    irist_ok(t, iris_free(t->world, a.cells));
    irist_ok(t, iris_free(t->world, signal));
}

/* ---- what is refused -------------------------------------------------------------------------------------------- */

void refused(irist_rank *t, iris_status status, const char *words)
{
    const std::string said = iris_error_string(t->world);
    irist_check(t, status == IRIS_ERR_ARGUMENT && said.find(words) != std::string::npos, "%s, with '%s', not '%s'",
                iris_status_name(status), said.c_str(), words);
}

void bad_copies(irist_rank *t, unsigned char *heap, iris_signal *signal, size_t left)
{
    iris_world *w = t->world;
    unsigned char outside[64] = {0};
    const size_t huge = SIZE_MAX / 2;
    refused(t, iris_put_on_stream(w, nullptr, heap, 1, 0, nullptr), "iris_put_on_stream: dst is null; pass 1 bytes");
    refused(t, iris_get_on_stream(w, heap, nullptr, 3, 0, nullptr), "iris_get_on_stream: src is null; pass 3 bytes");
    refused(t, iris_put_on_stream(w, outside, heap, 8, 0, nullptr), "not in the symmetric heap");
    refused(t, iris_get_on_stream(w, heap, outside, 8, 0, nullptr), "src is to name memory of rank 0");
    refused(t, iris_put_on_stream(w, heap, outside, left + 1, 0, nullptr), "not in the symmetric heap");
    refused(t, iris_put_on_stream(w, heap, heap + 8, 8, t->ranks, nullptr), "is not within ranks 0 to");
    refused(t, iris_get_on_stream(w, heap, heap + 8, 8, -1, nullptr), "rank -1 is not within ranks 0 to");
    refused(t, iris_get_on_stream(w, heap, heap + 8, 0, -1, nullptr), "rank -1 is not within ranks 0 to");
    refused(t, iris_put_on_stream(w, heap, heap + 7, 8, t->rank, nullptr), "overlap");
    refused(t, iris_put_2d_on_stream(w, heap, 8, outside, 7, 8, 2, 0, nullptr), "are 7 bytes apart in src");
    refused(t, iris_get_2d_on_stream(w, outside, 7, heap, 8, 8, 2, 0, nullptr), "are 7 bytes apart in dst");
    refused(t, iris_put_2d_on_stream(w, heap, huge, outside, 8, 8, 3, 0, nullptr), "more than memory holds");
    refused(t, iris_put_2d_on_stream(w, heap, 8, outside, 8, 8, left / 8 + 1, 0, nullptr), "symmetric heap");
    refused(t, iris_put_signal_on_stream(w, outside, heap, 8, signal, 1, IRIS_SIGNAL_ADD, 0, nullptr),
            "iris_put_signal_on_stream: dst is to name memory");
}

void bad_signals(irist_rank *t, unsigned char *heap, iris_signal *signal)
{
    iris_world *w = t->world;
    iris_signal outside, *const data = (iris_signal *)(void *)heap, *const odd = (iris_signal *)((char *)signal + 4);
    const iris_signal_op no_op = (iris_signal_op)2;
    refused(t, iris_signal_on_stream(w, nullptr, 1, IRIS_SIGNAL_SET, 0, nullptr), "the signal is null");
    refused(t, iris_signal_on_stream(w, &outside, 1, IRIS_SIGNAL_SET, 0, nullptr), "is no signal");
    refused(t, iris_signal_on_stream(w, data, 1, IRIS_SIGNAL_SET, 0, nullptr), "is no signal");
    refused(t, iris_signal_on_stream(w, odd, 1, IRIS_SIGNAL_SET, 0, nullptr), "is no signal");
    refused(t, iris_signal_on_stream(w, signal, 1, no_op, 0, nullptr), "operation 2 does not exist");
    refused(t, iris_signal_on_stream(w, signal, 1, IRIS_SIGNAL_SET, t->ranks, nullptr), "is not within ranks 0 to");
    refused(t, iris_put_signal_on_stream(w, heap, heap + 8, 8, data, 1, IRIS_SIGNAL_ADD, 0, nullptr), "is no signal");
    refused(t, iris_put_signal_on_stream(w, heap, heap + 8, 8, signal, 1, no_op, 0, nullptr), "operation 2");
    refused(t, iris_put_signal_on_stream(w, heap, heap + 8, 8, nullptr, 1, IRIS_SIGNAL_ADD, 0, nullptr),
            "iris_put_signal_on_stream: the signal is null");
    refused(t, iris_put_signal_on_stream(w, nullptr, nullptr, 0, signal, 1, IRIS_SIGNAL_ADD, -1, nullptr),
            "rank -1 is not within ranks 0 to");
    refused(t, iris_wait_until_on_stream(w, nullptr, IRIS_CMP_EQ, 1, nullptr), "the signal is null");
    refused(t, iris_wait_until_on_stream(w, &outside, IRIS_CMP_EQ, 1, nullptr), "is no signal");
    refused(t, iris_wait_until_on_stream(w, data, IRIS_CMP_EQ, 1, nullptr), "is no signal");
    refused(t, iris_wait_until_on_stream(w, signal, (iris_cmp)6, 1, nullptr), "comparison 6 does not exist");
}

void bad_barriers(irist_rank *t)
{
    iris_world *w = t->world;
    iris_channel few, ch, gone, slices;
    iris_stream other = nullptr;
    const iris_team far = {0, 1, t->ranks + 1}, alone = {t->rank, 1, 1};
    irist_ok(t, iris_channel_create(w, &few, (size_t)t->ranks - 1, 0));
    irist_ok(t, iris_channel_create(w, &ch, (size_t)t->ranks, 0));
    irist_ok(t, iris_collective_channel(w, &slices, 0));
    irist_ok(t, iris_stream_create(w, &other));
    irist_meet(t);
    refused(t, iris_barrier_on_stream(w, nullptr, everybody, nullptr), "the channel is not from iris_channel_create");
    refused(t, iris_barrier_on_stream(w, &few, everybody, nullptr), "signals or more");
    refused(t, iris_barrier_on_stream(w, &slices, everybody, nullptr), "the channel is not from iris_channel_create");
    refused(t, iris_barrier_on_stream(w, &ch, far, nullptr), "a team of");
    irist_ok(t, iris_barrier_on_stream(w, &ch, everybody, nullptr));
    irist_ok(t, iris_barrier_on_stream(w, &ch, everybody, nullptr));
    refused(t, iris_barrier_on_stream(w, &ch, everybody, other), "used on another stream already");
    if (t->ranks > 1)
        refused(t, iris_barrier_on_stream(w, &ch, alone, nullptr), "used by another team already");
    irist_meet(t);
    gone = ch;
    irist_ok(t, iris_channel_destroy(w, &ch));
    refused(t, iris_barrier_on_stream(w, &gone, everybody, nullptr), "or was destroyed");
    irist_ok(t, iris_stream_destroy(w, other));
    irist_ok(t, iris_channel_destroy(w, &slices));
    irist_ok(t, iris_channel_destroy(w, &few));
}

void without_a_world(irist_rank *t, unsigned char *heap, iris_signal *signal)
{
    const auto gone = [t](iris_status status, const char *name) {
        const std::string said = iris_error_string(nullptr), want = std::string(name) + ": the world is null";
        irist_check(t, status == IRIS_ERR_ARGUMENT && said.find(want) != std::string::npos, "%s: %s, '%s'", name,
                    iris_status_name(status), said.c_str());
    };
    iris_channel ch;
    std::memset(static_cast<void *>(&ch), 0, sizeof ch);
    gone(iris_put_on_stream(nullptr, heap, heap + 8, 8, 0, nullptr), "iris_put_on_stream");
    gone(iris_get_on_stream(nullptr, heap, heap + 8, 8, 0, nullptr), "iris_get_on_stream");
    gone(iris_put_2d_on_stream(nullptr, heap, 8, heap + 8, 8, 8, 1, 0, nullptr), "iris_put_2d_on_stream");
    gone(iris_get_2d_on_stream(nullptr, heap, 8, heap + 8, 8, 8, 1, 0, nullptr), "iris_get_2d_on_stream");
    gone(iris_put_signal_on_stream(nullptr, heap, heap + 8, 8, signal, 1, IRIS_SIGNAL_SET, 0, nullptr),
         "iris_put_signal_on_stream");
    gone(iris_signal_on_stream(nullptr, signal, 1, IRIS_SIGNAL_SET, 0, nullptr), "iris_signal_on_stream");
    gone(iris_wait_until_on_stream(nullptr, signal, IRIS_CMP_EQ, 0, nullptr), "iris_wait_until_on_stream");
    gone(iris_barrier_on_stream(nullptr, &ch, everybody, nullptr), "iris_barrier_on_stream");
    gone(iris_quiet_on_stream(nullptr, nullptr), "iris_quiet_on_stream");
}

/* Nothing to copy is no mistake, whatever the addresses. */
void nothing_to_copy(irist_rank *t)
{
    irist_ok(t, iris_put_on_stream(t->world, nullptr, nullptr, 0, t->rank, nullptr));
    irist_ok(t, iris_get_on_stream(t->world, nullptr, nullptr, 0, t->rank, nullptr));
    irist_ok(t, iris_put_2d_on_stream(t->world, nullptr, 0, nullptr, 0, 8, 0, t->rank, nullptr));
    irist_ok(t, iris_get_2d_on_stream(t->world, nullptr, 0, nullptr, 0, 0, 8, t->rank, nullptr));
}

/* Nothing of what is refused was put on the stream: memory and signals are as before. */
void bad_calls(irist_rank *t)
{
    unsigned char *heap = poisoned(t, 64);
    iris_signal *signal = iris_signals(t->world, 2);
    irist_meet(t);
    size_t left = 0;
    while (iris_is_symmetric(t->world, heap, left + 4096))
        left += 4096;
    while (iris_is_symmetric(t->world, heap, left + 1))
        left++;
    without_a_world(t, heap, signal);
    nothing_to_copy(t);
    bad_copies(t, heap, signal, left);
    bad_signals(t, heap, signal);
    bad_barriers(t);
    irist_meet(t);
    expect(t, heap, irist_poisoned(64), "after refusals", 0);
    expect(t, (unsigned char *)(void *)signal, bytes(2 * sizeof *signal), "signals after refusals", 0);
    irist_ok(t, iris_free(t->world, signal));
    irist_ok(t, iris_free(t->world, heap));
}

} // namespace

TEST_CASE("messages on a stream come whole, in order, behind their signals", "[stream]")
{
    for (const int streams : {1, 2})
        irist_spmd(rings, &streams);
}

TEST_CASE("rows of any length and pitch are put and got", "[stream]") { irist_spmd(rows, nullptr); }

TEST_CASE("a wait on a stream holds it back until its comparison holds", "[stream]") { irist_spmd(waits, nullptr); }

TEST_CASE("a barrier on a stream holds every member's stream back", "[stream]")
{
    for (const int parity : {0, 1, 2})
        irist_spmd(barriers, &parity);
}

TEST_CASE("a signal on a stream follows what its kernels stored", "[stream]") { irist_spmd(kernels, nullptr); }

TEST_CASE("operations on a stream refuse what cannot be, with a sentence", "[stream]")
{
    irist_spmd(bad_calls, nullptr);
}
