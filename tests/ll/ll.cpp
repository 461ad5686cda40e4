/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/collective/ll.h>: messages of any length and alignment, whoever comes first, epoch after epoch through
 * two banks, by a lane, a wave and a workgroup; single words around a ring; the barrier without order.
 */
#include "harness.h"

#include <cstring>

#include <iris/gen/load_store.h>
#include <iris/collective/ll.h>

namespace {

enum { MOST = 4200, GUARD = 16 }; /* longest message; bytes around a received one */
enum group { LANE, WAVE, WG, GROUPS };
const char *const group_names[] = {"lane", "wave", "wg"};

/* 0 bytes, less than a packet, ragged ends, more than a batch of every lane. */
const uint32_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 12, 31, 64, 255, 256, 1021, 1024, 1025, MOST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

struct args {
    iris_ctx ctx;
    iris_channel ch;
    char *src;     /* own memory: a message to each rank, MOST + GUARD apart */
    char *dst;     /* own memory: a message from each rank, with guards */
    uint64_t *bad; /* own memory: [0] how often, [1..3] the first time */
    uint64_t *cells;
    uint64_t first, turns, seed;
    size_t bytes; /* of every message; MOST + 1: another length for each epoch and pair */
    int src_shift, dst_shift, group, half;
};

enum half { SEND_ONLY = 1, RECEIVE_ONLY = 2, BOTH = 3 };

IRIS_DEVICE unsigned char byte_of(uint64_t epoch, uint64_t from, uint64_t to, uint64_t i)
{
    return (unsigned char)(epoch * 31 + from * 101 + to * 57 + i * 7 + (i >> 8) * 3);
}

IRIS_DEVICE void report(const args *a, uint64_t turn, uint64_t saw, uint64_t wanted)
{
    if (irisi_atomic_add_u64(a->bad, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0) {
        a->bad[1] = turn;
        a->bad[2] = saw;
        a->bad[3] = wanted;
    }
}

/* Sometimes, someone is late: another rank each time. */
IRIS_DEVICE void dawdle(const args *a, uint64_t turn)
{
    if (irist_pick(a->seed, 5, turn, 40) == (uint32_t)a->ctx.rank)
        for (uint32_t i = 0; i < 70; i++)
            iris_pause(i);
}

IRIS_DEVICE size_t length_of(const args *a, uint64_t epoch, uint64_t from, uint64_t to)
{
    return a->bytes <= MOST ? a->bytes : 1 + (size_t)irist_pick(a->seed, 7 + from * 64 + to, epoch, 97);
}

IRIS_DEVICE void put(const args *a, iris_ll_packet *slots, const char *src, size_t bytes, uint32_t flag, int to)
{
    if (a->group == WG)
        iris_ll_put_wg(&a->ctx, slots, src, bytes, flag, to);
    else if (a->group == WAVE && iris_wave() == iris_waves() - 1)
        iris_ll_put_wave(&a->ctx, slots, src, bytes, flag, to);
    else if (a->group == LANE && iris_wg_lane() == 0)
        iris_ll_put(&a->ctx, slots, src, bytes, flag, to);
}

IRIS_DEVICE void get(const args *a, char *dst, const iris_ll_packet *slots, size_t bytes, uint32_t flag, int from)
{
    if (a->group == WG)
        iris_ll_get_wg(&a->ctx, dst, slots, bytes, flag, from);
    else if (a->group == WAVE && iris_wave() == iris_waves() - 1)
        iris_ll_get_wave(&a->ctx, dst, slots, bytes, flag, from);
    else if (a->group == LANE && iris_wg_lane() == iris_wg_lanes() - 1)
        iris_ll_get(&a->ctx, dst, slots, bytes, flag, from);
    iris_sync_wg();
}

/* Everyone sends at least a byte to everyone: the slots of epoch e are free again in epoch e + 2. */
IRIS_DEVICE void exchange(const args *a, uint64_t epoch)
{
    const uint32_t world = (uint32_t)a->ctx.world, me = (uint32_t)a->ctx.rank;
    const uint32_t flag = iris_ll_flag(epoch);
    iris_ll_packet *bank = iris_ll_bank(&a->ch, epoch);
    const size_t stride = iris_ll_packets(MOST);
    for (uint32_t k = 0; k < world && a->half & SEND_ONLY; k++) {
        const uint32_t to = (me + k) % world;
        const size_t bytes = length_of(a, epoch, me, to);
        char *src = a->src + to * (MOST + GUARD) + a->src_shift;
        for (size_t i = iris_wg_lane(); i < bytes; i += iris_wg_lanes())
            src[i] = (char)byte_of(epoch, me, to, i);
        iris_sync_wg();
        put(a, bank + me * stride, src, bytes, flag, (int)to);
        iris_sync_wg();
    }
    for (uint32_t from = 0; from < world && a->half & RECEIVE_ONLY; from++) {
        const size_t bytes = length_of(a, epoch, from, me);
        char *dst = a->dst + from * (MOST + GUARD) + a->dst_shift;
        get(a, dst, bank + from * stride, bytes, flag, (int)from);
        for (size_t i = iris_wg_lane(); i < bytes; i += iris_wg_lanes())
            if ((unsigned char)dst[i] != byte_of(epoch, from, me, i))
                report(a, epoch, (unsigned char)dst[i], byte_of(epoch, from, me, i));
        iris_sync_wg();
    }
}

IRIS_KERNEL(exchange_kernel, args, a, 256)
{
    for (uint64_t k = 0; k < a->turns; k++) {
        const uint64_t epoch = iris_channel_enter_wg(&a->ch);
        if (epoch != a->first + k)
            report(a, a->first + k, epoch, a->first + k);
        dawdle(a, epoch);
        exchange(a, epoch);
        if (a->half & RECEIVE_ONLY)
            iris_channel_leave_wg(&a->ch, epoch, 1);
        iris_sync_wg();
    }
}

/* A word goes around the ring, one more at each rank: everyone but rank 0 waits before it sends. */
IRIS_KERNEL(ring_kernel, args, a, 64)
{
    const int world = a->ctx.world, me = a->ctx.rank;
    for (uint64_t k = 0; k < a->turns; k++) {
        const uint64_t epoch = a->first + k;
        const uint32_t flag = iris_ll_flag(epoch), start = (uint32_t)epoch * 2654435761u;
        iris_ll_packet *slot = iris_ll_bank(&a->ch, epoch);
        if (iris_wg_lane() == 0) {
            if (me == 0)
                iris_ll_send(&a->ctx, slot, start, flag, 1 % world);
            const uint32_t got = iris_ll_receive(&a->ctx, slot, flag, (me + world - 1) % world);
            if (me != 0)
                iris_ll_send(&a->ctx, slot, got + 1, flag, (me + 1) % world);
            const uint32_t wanted = start + (uint32_t)(me == 0 ? world - 1 : me - 1);
            if (got != wanted)
                report(a, epoch, got, wanted);
        }
    }
}

/* The barrier orders nothing by itself; between two fences it must hold back who is early. */
IRIS_KERNEL(barrier_kernel, args, a, 256)
{
    for (uint64_t k = a->first; k < a->first + a->turns; k++) {
        dawdle(a, k);
        if (iris_wg_lane() == iris_wg_lanes() - 1)
            iris_store_u64(&a->ctx, a->cells + (k & 1), k, (a->ctx.rank + 1) % a->ctx.world);
        iris_fence_wg(&a->ctx);
        iris_ll_barrier_wg(&a->ctx, &a->ch);
        iris_fence_wg(&a->ctx);
        const uint64_t saw = iris_load_u64(&a->ctx, a->cells + (k & 1), a->ctx.rank);
        if (saw != k)
            report(a, k, saw, k);
        iris_sync_wg();
    }
}

struct fixture {
    args a;
    size_t area;
    explicit fixture(irist_rank *t) : area((size_t)t->ranks * (MOST + GUARD) + GUARD)
    {
        std::memset(&a, 0, sizeof a);
        a.ctx = iris_device_ctx(t->world);
        a.seed = t->seed;
        a.first = a.turns = 1;
        a.half = BOTH;
        a.src = (char *)iris_malloc(t->world, area);
        a.dst = (char *)iris_malloc(t->world, area);
        a.bad = (uint64_t *)iris_malloc(t->world, 4 * sizeof(uint64_t));
        a.cells = (uint64_t *)iris_malloc_kind(t->world, 2 * sizeof(uint64_t), 0, IRIS_MEM_SYNC);
        irist_check(t, a.src && a.dst && a.bad && a.cells, "%s", iris_error_string(t->world));
        irist_ok(t, iris_memset(t->world, a.bad, 0, 4 * sizeof(uint64_t)));
        irist_ok(t, iris_memset(t->world, a.cells, 0, 2 * sizeof(uint64_t)));
        irist_ok(t, iris_channel_create(t->world, &a.ch, 0,
                                        (size_t)t->ranks * iris_ll_packets(MOST) * sizeof(iris_ll_packet)));
        irist_meet(t);
    }
    void expect_good(irist_rank *t, const char *what)
    {
        uint64_t bad[4] = {0, 0, 0, 0};
        irist_ok(t, iris_memcpy(t->world, bad, a.bad, sizeof bad));
        irist_check(t, bad[0] == 0, "%s: %llu times wrong, first in epoch %llu: saw %llu, not %llu", what,
                    (unsigned long long)bad[0], (unsigned long long)bad[1], (unsigned long long)bad[2],
                    (unsigned long long)bad[3]);
    }
    void run(irist_rank *t, uint32_t lanes)
    {
        irist_run(t, exchange_kernel, a, iris_cooperative(1, lanes));
        if (a.half & RECEIVE_ONLY)
            a.first += a.turns;
    }
    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
        irist_ok(t, iris_free(t->world, a.cells));
        irist_ok(t, iris_free(t->world, a.bad));
        irist_ok(t, iris_free(t->world, a.dst));
        irist_ok(t, iris_free(t->world, a.src));
    }
};

/* What lies beside a received message is as it was before. */
void expect_guards(irist_rank *t, const fixture &f, const char *what)
{
    const std::vector<unsigned char> got = irist_download(t, f.a.dst, f.area), poison = irist_poisoned(f.area);
    for (size_t i = 0; i < f.area; i++) {
        const size_t in = i % (MOST + GUARD), from = i / (MOST + GUARD), shift = (size_t)f.a.dst_shift;
        const bool inside = from < (size_t)t->ranks && in >= shift && in < shift + f.a.bytes;
        if (!irist_check(t, inside || got[i] == poison[i], "%s of %zu bytes wrote byte %zu of its surroundings", what,
                         f.a.bytes, i))
            return;
    }
}

void every_length(irist_rank *t)
{
    fixture f(t);
    for (f.a.group = 0; f.a.group < GROUPS; f.a.group++)
        for (uint32_t length : lengths)
            for (int shift = 0; shift < (t->full ? 16 : 4) && !t->failures; shift += t->full ? 1 : 3) {
                f.a.bytes = length;
                f.a.src_shift = shift % 4;
                f.a.dst_shift = shift / 4 % 4 ? shift / 4 % 4 : 3 - shift % 4;
                irist_upload(t, f.a.dst, irist_poisoned(f.area));
                f.run(t, 176); /* the last wave is short of lanes on every GPU */
                irist_meet(t); /* an empty message is waited for by nobody */
                f.expect_good(t, group_names[f.a.group]);
                expect_guards(t, f, group_names[f.a.group]);
            }
    f.free(t);
}

/* All packets are there before anyone looks; and, the other way round, everyone looks before they come. */
void arrival_orders(irist_rank *t)
{
    fixture f(t);
    for (f.a.group = 0; f.a.group < GROUPS && !t->failures; f.a.group++)
        for (uint64_t lap = 0; lap < 4; lap++) {
            f.a.bytes = lengths[(3 + 5 * lap) % LENGTHS];
            f.a.half = SEND_ONLY;
            f.run(t, 128);
            irist_meet(t);
            f.a.half = RECEIVE_ONLY;
            f.run(t, 128);
            irist_meet(t);
            f.a.half = BOTH;
            irist_delay(t, f.a.first);
            f.run(t, 128);
            f.expect_good(t, group_names[f.a.group]);
        }
    f.free(t);
}

uint64_t many_turns(const irist_rank *t, int group)
{
    return irist_epochs(t, t->ranks > 4 ? 100 : 1000, group == WG ? 100000 : 5000);
}

void many_epochs(irist_rank *t)
{
    fixture f(t);
    f.a.bytes = MOST + 1;
    for (f.a.group = GROUPS - 1; f.a.group >= 0 && !t->failures; f.a.group--)
        for (uint64_t turns : {(uint64_t)1, (uint64_t)2, many_turns(t, f.a.group)}) {
            f.a.turns = turns;
            f.run(t, 128);
            f.expect_good(t, "epochs");
        }
    f.free(t);
}

/*
 * Where the flags begin anew: the last ones before are still in the slots, and are greater. It happens in the first
 * epoch of a launch that one rank is late for, so that the others look at the old flags; several times over.
 */
void flags_wrap(irist_rank *t)
{
    enum { TURNS = 15 };
    fixture f(t);
    const uint64_t done = 0x7fffffff - TURNS;
    f.a.bytes = MOST + 1;
    for (int lap = 0; lap < 8; lap++) {
        irist_ok(t, iris_memcpy(t->world, f.a.ch.state, &done, sizeof done));
        irist_meet(t);
        f.a.first = done + 1;
        for (int k = 0; k < GROUPS; k++) {
            f.a.group = (lap + k) % GROUPS;
            f.a.turns = TURNS;
            f.run(t, 128);
            f.expect_good(t, "epochs around the last flag");
            irist_delay(t, (uint64_t)(lap * GROUPS + k));
        }
    }
    f.free(t);
}

void ring(irist_rank *t)
{
    fixture f(t);
    f.a.turns = irist_epochs(t, 2000, 100000);
    for (int lap = 0; lap < 2; lap++) {
        irist_run(t, ring_kernel, f.a, iris_cooperative(1, 64));
        f.expect_good(t, "ring");
        f.a.first += f.a.turns;
    }
    f.free(t);
}

void barrier(irist_rank *t)
{
    fixture f(t);
    for (uint32_t lanes = 64; lanes <= 192; lanes += 128) {
        f.a.turns = lanes == 64 ? irist_epochs(t, 2000, 100000) : irist_epochs(t, 300, 10000);
        irist_run(t, barrier_kernel, f.a, iris_cooperative(1, lanes));
        f.expect_good(t, "ll_barrier_wg");
        f.a.first += f.a.turns;
    }
    f.free(t);
}

} // namespace

TEST_CASE("an LL message of any length and alignment arrives whole and writes nothing else", "[ll]")
{
    irist_spmd(every_length, nullptr);
}
TEST_CASE("an LL message arrives whoever comes first", "[ll]") { irist_spmd(arrival_orders, nullptr); }
TEST_CASE("LL packets of one epoch are never taken for another's", "[ll]") { irist_spmd(many_epochs, nullptr); }
TEST_CASE("LL flags begin anew", "[ll]") { irist_spmd(flags_wrap, nullptr); }
TEST_CASE("a word goes around the ring of ranks", "[ll]") { irist_spmd(ring, nullptr); }
TEST_CASE("the LL barrier holds back who is early", "[ll]") { irist_spmd(barrier, nullptr); }

TEST_CASE("an LL flag is never 0 and differs from the next epochs' flags", "[ll]")
{
    const uint64_t epochs[] = {0, 1, 0x7ffffffe, 0x7fffffff, 0x80000000u, 0xfffffffeu, 0xffffffffu, 0x100000000u};
    for (uint64_t e : epochs) {
        CHECK(iris_ll_flag(e) != 0);
        for (uint64_t later = e + 1; later < e + 5; later++)
            CHECK(iris_ll_flag(e) != iris_ll_flag(later));
    }
    CHECK(iris_ll_packets(0) == 0);
    CHECK(iris_ll_packets(1) == 1);
    CHECK(iris_ll_packets(4) == 1);
    CHECK(iris_ll_packets(5) == 2);
}
