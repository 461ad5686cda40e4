/* SPDX-License-Identifier: MIT */
/*
 * Messages without end: each rank sends to its right neighbour by every way that orders data before a signal, through a
 * ring of slots that are used again as soon as the receiver gives them back. A signal that overtakes its data, or a
 * slot written before it was given back, shows as a wrong word, and as a data race to a thread sanitizer.
 */
#include "harness.h"

#include <cstring>

#include <iris/gen/atomic.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>
#include <iris/gen/rma_cache.h>
#include <iris/gen/wait.h>

namespace {

enum way {
    PUT_SIGNAL,         /* put_signal by a lane */
    PUT_SIGNAL_WAVE,    /* by a wave */
    PUT_SIGNAL_WG,      /* by a workgroup */
    STORE_SIGNAL,       /* stores by a lane, then signal_add */
    STORE_SIGNAL_WAVE,  /* stores by the lanes of a wave, then signal_add_wave */
    STORE_SIGNAL_WG,    /* stores by the lanes of a workgroup, then signal_add_wg */
    PLAIN_SET_WG,       /* ordinary C stores to a peer's memory, then signal_set_wg */
    PUT_FENCE_SIGNAL,   /* puts by a lane, fence, relaxed atomic */
    PUT_FENCE_SIGNAL_WG /* puts by a workgroup, fence_wg, relaxed atomic */
};
enum { SLOTS = 4, WORDS = 33 };

struct args {
    iris_ctx ctx;
    uint32_t *slots;       /* symmetric: SLOTS messages of WORDS words, and a guard word after each */
    uint32_t *message;     /* own memory of the sender */
    iris_signal *arrived;  /* raised by the left neighbour */
    iris_signal *returned; /* raised by the right neighbour */
    uint64_t *bad;
    uint64_t first, messages, seed;
    int way;
};

IRIS_DEVICE uint32_t word_of(uint64_t k, int from, uint32_t i)
{
    return (uint32_t)(k * 977 + (uint64_t)from * 131 + i);
}

/* Which lanes carry a message together. */
IRIS_DEVICE uint32_t members(const args *a)
{
    switch (a->way) {
    case PUT_SIGNAL:
    case STORE_SIGNAL:
    case PUT_FENCE_SIGNAL:
        return 1;
    case PUT_SIGNAL_WAVE:
    case STORE_SIGNAL_WAVE:
        return iris_wave_lanes();
    default:
        return iris_wg_lanes();
    }
}

IRIS_DEVICE void dawdle(const args *a, uint64_t k, uint64_t stream)
{
    if (irist_pick(a->seed, stream + 2 * (uint64_t)a->ctx.rank, k, 200) == 0)
        for (uint32_t i = 0; i < 68; i++)
            iris_pause(i);
}

IRIS_DEVICE void send(const args *a, uint64_t k, uint32_t lane, uint32_t lanes)
{
    const iris_ctx *c = &a->ctx;
    const int to = (c->rank + 1) % c->world;
    uint32_t *slot = a->slots + k % SLOTS * (WORDS + 1);
    const bool stores = a->way >= STORE_SIGNAL && a->way <= PLAIN_SET_WG;
    uint32_t *plain = a->way == PLAIN_SET_WG ? (uint32_t *)iris_at(c, slot, to) : a->message;
    for (uint32_t i = lane; i < WORDS; i += lanes) {
        if (stores && a->way != PLAIN_SET_WG && (k + i) % 3 == 0) /* what may stay in a cache, too */
            iris_store_cache_u32(c, slot + i, word_of(k, c->rank, i), to, IRIS_CACHE_WB);
        else if (stores && a->way != PLAIN_SET_WG)
            iris_store_u32(c, slot + i, word_of(k, c->rank, i), to);
        else
            plain[i] = word_of(k, c->rank, i);
    }
    if (!stores && lanes == iris_wg_lanes())
        iris_sync_wg(); /* the message is whole before anyone puts it */
    else if (!stores && lanes > 1)
        iris_sync_wave();
    if (a->way == PUT_SIGNAL)
        iris_put_signal_u32(c, slot, a->message, WORDS, a->arrived, 1, IRIS_SIGNAL_ADD, to);
    else if (a->way == PUT_SIGNAL_WAVE)
        iris_put_signal_u32_wave(c, slot, a->message, WORDS, a->arrived, k, IRIS_SIGNAL_SET, to);
    else if (a->way == PUT_SIGNAL_WG)
        iris_put_signal_u32_wg(c, slot, a->message, WORDS, a->arrived, 1, IRIS_SIGNAL_ADD, to);
    else if (a->way == STORE_SIGNAL)
        iris_signal_add(c, a->arrived, 1, to);
    else if (a->way == STORE_SIGNAL_WAVE)
        iris_signal_add_wave(c, a->arrived, 1, to);
    else if (a->way == STORE_SIGNAL_WG)
        iris_signal_add_wg(c, a->arrived, 1, to);
    else if (a->way == PLAIN_SET_WG)
        iris_signal_set_wg(c, a->arrived, k, to);
    else if (a->way == PUT_FENCE_SIGNAL)
        iris_put_u32(c, slot, a->message, WORDS, to), iris_fence(c);
    else if (k % 2 == 0)
        iris_put_u32_wg(c, slot, a->message, WORDS, to), iris_fence_wg(c);
    else
        iris_put_cache_u32_wg(c, slot, a->message, WORDS, to, IRIS_CACHE_CV, IRIS_CACHE_WB), iris_fence_wg(c);
    if (a->way >= PUT_FENCE_SIGNAL && lane == 0)
        iris_atomic_add_u64(c, &a->arrived->value, 1, to, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    if (lanes == iris_wg_lanes())
        iris_sync_wg(); /* nobody writes the next message while this one is put */
    else if (lanes > 1)
        iris_sync_wave();
}

/* One lane waits for message k, by each of the waits and tests in turn. */
IRIS_DEVICE void wait_for(const args *a, uint64_t k)
{
    const iris_ctx *c = &a->ctx;
    size_t which;
    if (k % 5 == 0)
        iris_wait_ge(c, a->arrived, k);
    else if (k % 5 == 1)
        iris_wait_some_ge(c, a->arrived, 1, k, &which);
    while (k % 5 == 2 && !iris_wait_until_ge(c, a->arrived, k, 1000) && !iris_stopped(c))
        ;
    for (uint32_t turn = 1; k % 5 == 3 && iris_test_any_ge(c, a->arrived, 1, k) == 1 && !iris_stopped(c); turn++)
        iris_pause(turn);
    for (uint32_t turn = 1; k % 5 == 4 && !iris_test_all_ge(c, a->arrived, 1, k) && !iris_stopped(c); turn++)
        iris_pause(turn);
}

IRIS_DEVICE void receive(const args *a, uint64_t k, uint32_t lane, uint32_t lanes)
{
    const iris_ctx *c = &a->ctx;
    const int from = (c->rank + c->world - 1) % c->world;
    const uint32_t *slot = a->slots + k % SLOTS * (WORDS + 1);
    uint32_t saw = 0, wanted = 0;
    if (lanes == iris_wg_lanes())
        iris_wait_ge_wg(c, a->arrived, k);
    else if (lanes > 1)
        iris_wait_ge_wave(c, a->arrived, k);
    else
        wait_for(a, k);
    if (a->way >= PUT_FENCE_SIGNAL)
        iris_fence(c); /* for thread sanitizer alone, to which only fences answer fences */
    for (uint32_t i = lane; i < WORDS; i += lanes) {
        if (slot[i] != word_of(k, from, i)) {
            saw = slot[i];
            wanted = word_of(k, from, i);
        }
    }
    /* After a deadline nobody waits for words any more: that is said by itself. */
    const bool stopped = saw != wanted && irisi_atomic_fetch_u32(&c->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    if (saw != wanted && !stopped && irisi_atomic_add_u64(a->bad, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0) {
        a->bad[1] = k;
        a->bad[2] = saw;
        a->bad[3] = wanted;
    }
    dawdle(a, k, 3);
    if (lanes == iris_wg_lanes())
        iris_signal_set_wg(c, a->returned, k, from);
    else if (lanes > 1)
        iris_signal_set_wave(c, a->returned, k, from);
    else
        iris_signal_set(c, a->returned, k, from);
}

/* Workgroup 0 sends, workgroup 1 receives. */
IRIS_KERNEL(message_kernel, args, a, 128)
{
    const uint32_t lanes = members(a), lane = iris_wg_lane();
    if (lane >= lanes)
        return;
    for (uint64_t k = a->first; k < a->first + a->messages; k++) {
        if (iris_workgroup() == 1) {
            receive(a, k, lane, lanes);
            continue;
        }
        dawdle(a, k, 2);
        if (lanes == iris_wg_lanes())
            iris_wait_ge_wg(&a->ctx, a->returned, k > SLOTS ? k - SLOTS : 0);
        else if (lanes > 1)
            iris_wait_ge_wave(&a->ctx, a->returned, k > SLOTS ? k - SLOTS : 0);
        else
            iris_wait_ge(&a->ctx, a->returned, k > SLOTS ? k - SLOTS : 0);
        send(a, k, lane, lanes);
    }
}

struct row {
    const char *name;
    int way;
    uint32_t smoke, full;
};

void stream(irist_rank *t)
{
    const row *r = (const row *)t->arg;
    args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.slots = (uint32_t *)iris_malloc(t->world, SLOTS * (WORDS + 1) * sizeof(uint32_t));
    a.message = (uint32_t *)iris_malloc(t->world, WORDS * sizeof(uint32_t));
    a.arrived = iris_signals(t->world, 1);
    a.returned = iris_signals(t->world, 1);
    a.bad = (uint64_t *)iris_malloc(t->world, 4 * sizeof(uint64_t));
    irist_check(t, a.slots && a.message && a.arrived && a.returned && a.bad, "%s", iris_error_string(t->world));
    irist_ok(t, iris_memset(t->world, a.bad, 0, 4 * sizeof(uint64_t)));
    irist_ok(t, iris_memset(t->world, a.slots, 0xEE, SLOTS * (WORDS + 1) * sizeof(uint32_t)));
    a.way = r->way;
    a.seed = t->seed;
    a.messages = irist_laps(r->smoke, r->full);
    a.first = 1;
    irist_meet(t);
    for (int half = 0; half < 2; half++) { /* the second launch goes on where the first ended */
        irist_run(t, message_kernel, a, iris_cooperative(2, 128));
        a.first += a.messages;
    }
    uint64_t bad[4] = {0, 0, 0, 0};
    uint32_t slots[SLOTS][WORDS + 1];
    irist_ok(t, iris_memcpy(t->world, bad, a.bad, sizeof bad));
    irist_check(t, bad[0] == 0, "%s: %llu messages wrong, the first is number %llu: %llu instead of %llu", r->name,
                (unsigned long long)bad[0], (unsigned long long)bad[1], (unsigned long long)bad[2],
                (unsigned long long)bad[3]);
    irist_meet(t);
    irist_ok(t, iris_memcpy(t->world, slots, a.slots, sizeof slots));
    for (int s = 0; s < SLOTS; s++)
        irist_check(t, slots[s][WORDS] == 0xEEEEEEEEu, "%s: the word behind slot %d was written", r->name, s);
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a.bad));
    irist_ok(t, iris_free(t->world, a.returned));
    irist_ok(t, iris_free(t->world, a.arrived));
    irist_ok(t, iris_free(t->world, a.message));
    irist_ok(t, iris_free(t->world, a.slots));
}

const row rows[] = {
    {"put_signal", PUT_SIGNAL, 5000, 60000},
    {"put_signal_wave", PUT_SIGNAL_WAVE, 5000, 60000},
    {"put_signal_wg", PUT_SIGNAL_WG, 1000, 50000},
    {"store, signal_add", STORE_SIGNAL, 5000, 60000},
    {"store, signal_add_wave", STORE_SIGNAL_WAVE, 5000, 60000},
    {"store, signal_add_wg", STORE_SIGNAL_WG, 1000, 50000},
    {"plain stores, signal_set_wg", PLAIN_SET_WG, 1000, 50000},
    {"put, fence, relaxed atomic", PUT_FENCE_SIGNAL, 5000, 60000},
    {"put_wg, fence_wg, relaxed atomic", PUT_FENCE_SIGNAL_WG, 1000, 50000},
};

} // namespace

TEST_CASE("who sees a signal sees the data before it, message after message", "[litmus]")
{
    for (const row &r : rows) {
        SECTION(r.name) { irist_spmd(stream, &r); }
    }
}
