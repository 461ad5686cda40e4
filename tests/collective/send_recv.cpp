/* SPDX-License-Identifier: MIT */
/*
 * send_recv.cpp: messages arrive whole and in order: around a ring, down a pipeline of stages that run ahead of each
 * other, by a workgroup of a kernel of one's own, and what the launchers refuse.
 */
#define IRIS_INSTANTIATE_SEND_RECV
#include <cstring>

#include "harness.h"

#include <iris/gen/launch/send_recv.h>
#include <iris/gen/send_recv.h>

namespace {

enum { MOST = 40000 };

uint16_t element(uint64_t message, int from, size_t i)
{
    return (uint16_t)(message * 7919 + (uint64_t)from * 1009 + i);
}

struct buffers {
    iris_channel ch;
    uint16_t *dst, *src;
};
void create(irist_rank *t, buffers *b)
{
    irist_ok(t, iris_collective_channel(t->world, &b->ch, 1024));
    b->dst = (uint16_t *)iris_malloc(t->world, MOST * sizeof *b->dst);
    b->src = (uint16_t *)iris_malloc(t->world, MOST * sizeof *b->src);
    irist_meet(t);
}
void destroy(irist_rank *t, buffers *b)
{
    irist_meet(t);
    irist_ok(t, iris_free(t->world, b->src));
    irist_ok(t, iris_free(t->world, b->dst));
    irist_ok(t, iris_channel_destroy(t->world, &b->ch));
}
void fill(irist_rank *t, uint16_t *to, uint64_t message, size_t n)
{
    std::vector<uint16_t> in(n);
    for (size_t i = 0; i < n; i++)
        in[i] = element(message, t->rank, i);
    irist_ok(t, n ? iris_memcpy(t->world, to, in.data(), n * sizeof in[0]) : IRIS_OK);
}
void expect(irist_rank *t, const uint16_t *from, uint64_t message, int sender, size_t n, const char *what)
{
    std::vector<uint16_t> got(n);
    irist_ok(t, n ? iris_memcpy(t->world, got.data(), from, n * sizeof got[0]) : IRIS_OK);
    for (size_t i = 0; i < n; i++)
        if (!irist_check(t, got[i] == element(message, sender, i), "%s: message %llu of %zu: element %zu differs", what,
                         (unsigned long long)message, n, i))
            return;
}

/* Everybody sends to the next and receives from the last at once, odd lengths and places. */
void ring(irist_rank *t)
{
    static const size_t counts[] = {1, 0, 2, 7, 255, 4097, 33333};
    const int next = (t->rank + 1) % t->ranks, last = (t->rank + t->ranks - 1) % t->ranks;
    buffers b;
    create(t, &b);
    const uint32_t laps = irist_laps(14, 140);
    for (uint32_t lap = 0; lap < laps; lap++) {
        const size_t n = counts[lap % 7], shift = lap % 3;
        fill(t, b.src + shift, lap, n);
        irist_delay(t, lap);
        irist_ok(t, iris_exchange_u16(t->world, &b.ch, b.dst + 1, last, b.src + shift, next, n, nullptr));
        expect(t, b.dst + 1, lap, last, n, "ring");
    }
    destroy(t, &b);
}

/* Words around the ring, each rank's own and then what came: a message that is lost or doubled turns all of them. */
void again(irist_rank *t)
{
    const int next = (t->rank + 1) % t->ranks, last = (t->rank + t->ranks - 1) % t->ranks;
    const uint32_t laps = irist_laps(100, t->ranks > 4 ? 2000 : 10000);
    buffers b;
    create(t, &b);
    fill(t, b.src, 1, 3);
    irist_ok(t, iris_exchange_u16(t->world, &b.ch, b.dst, last, b.src, next, 3, nullptr));
    for (uint32_t lap = 1; lap < laps; lap++) {
        uint16_t *to = lap % 2 ? b.src : b.dst, *from = lap % 2 ? b.dst : b.src;
        irist_ok(t, iris_exchange_u16(t->world, &b.ch, to, last, from, next, 3, nullptr));
    }
    const uint32_t ranks = (uint32_t)t->ranks;
    expect(t, laps % 2 ? b.dst : b.src, 1, (int)(((uint32_t)t->rank + ranks - laps % ranks) % ranks), 3, "again");
    destroy(t, &b);
}

/* Stage r receives from r - 1, and sends on what it received: the first stages run ahead. */
void pipeline(irist_rank *t)
{
    enum { EACH = 900, KEPT = 40 };
    buffers b;
    create(t, &b);
    if (t->rank == 0)
        for (size_t m = 0; m < KEPT; m++)
            fill(t, b.src + m * EACH, m, EACH);
    for (size_t m = 0; m < KEPT; m++) {
        uint16_t *at = t->rank == 0 ? b.src + m * EACH : b.dst + m * EACH;
        if (t->rank > 0)
            irist_ok(t, iris_recv_from_u16(t->world, &b.ch, at, EACH, t->rank - 1, nullptr));
        if (t->rank + 1 < t->ranks)
            irist_ok(t, iris_send_to_u16(t->world, &b.ch, at, EACH, t->rank + 1, nullptr));
    }
    irist_ok(t, iris_synchronize(t->world));
    for (size_t m = 0; m < KEPT && t->rank > 0; m++)
        expect(t, b.dst + m * EACH, m, 0, EACH, "pipeline");
    destroy(t, &b);
}

struct own_args {
    iris_ctx ctx;
    iris_channel ch;
    uint32_t *table; /* own: a word for each message */
    uint32_t messages;
};
/* Workgroup g passes words on along slice g, adding its rank, as soon as they come. */
IRIS_KERNEL(pass_on, own_args, a, 64)
{
    const uint32_t slice = iris_workgroup();
    uint32_t *words = a->table + slice * a->messages;
    for (uint32_t m = 0; m < a->messages; m++) {
        if (a->ctx.rank > 0)
            iris_recv_u32_wg(&a->ctx, &a->ch, slice, words + m, 1, a->ctx.rank - 1);
        if (iris_wg_lane() == 0)
            words[m] = (a->ctx.rank == 0 ? slice * 1000 + m : words[m]) + (uint32_t)a->ctx.rank;
        iris_sync_wg();
        if (a->ctx.rank + 1 < a->ctx.world)
            iris_send_u32_wg(&a->ctx, &a->ch, slice, words + m, 1, a->ctx.rank + 1);
    }
}
void own_kernel(irist_rank *t)
{
    enum { GROUPS = 3 };
    buffers b;
    create(t, &b);
    own_args a = {iris_device_ctx(t->world), b.ch, nullptr, irist_laps(40, t->ranks > 4 ? 2000 : 10000)};
    std::vector<uint32_t> got(GROUPS * a.messages);
    a.table = (uint32_t *)iris_malloc(t->world, got.size() * sizeof got[0]);
    irist_run(t, pass_on, a, iris_cooperative(GROUPS, 64));
    irist_ok(t, iris_memcpy(t->world, got.data(), a.table, got.size() * sizeof got[0]));
    for (uint32_t i = 0; i < got.size(); i++) {
        const uint32_t want = i / a.messages * 1000 + i % a.messages + (uint32_t)(t->rank * (t->rank + 1) / 2);
        irist_check(t, got[i] == want, "word %u is %u, not %u", i, got[i], want);
    }
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a.table));
    destroy(t, &b);
}

void refused(irist_rank *t)
{
    buffers b;
    create(t, &b);
    const iris_channel none = {};
    const auto expect = [t](iris_status status, const char *words) {
        irist_check(t, status == IRIS_ERR_ARGUMENT && std::strstr(iris_error_string(t->world), words),
                    "status %d with '%s', not '%s'", (int)status, iris_error_string(t->world), words);
    };
    expect(iris_send_to_u16(t->world, &b.ch, b.src, 4, t->ranks, nullptr),
           "iris_send_to: rank 2 is not within ranks 0 to 1");
    expect(iris_recv_from_u16(t->world, &b.ch, b.dst, 4, -1, nullptr), "iris_recv_from: rank -1 is not within");
    expect(iris_send_to_u16(t->world, &b.ch, nullptr, 4, 0, nullptr), "src is null");
    expect(iris_send_to_f64(t->world, &b.ch, (double *)b.src, (size_t)-1 / 4, 0, nullptr), "more than memory holds");
    expect(iris_recv_from_u32(t->world, &b.ch, (uint32_t *)((char *)b.dst + 2), 4, 0, nullptr), "not aligned to its 4");
    expect(iris_exchange_u16(t->world, &b.ch, b.dst + 3, 1, b.dst, 1, 4, nullptr), "iris_exchange: dst at");
    expect(iris_send_to_u16(t->world, &none, b.src, 4, 0, nullptr), "the channel is not from iris_collective_channel");
    destroy(t, &b);
}

} // namespace

TEST_CASE("messages around a ring arrive whole", "[collective]") { irist_spmd(ring, nullptr); }
TEST_CASE("messages may follow each other at once", "[collective]") { irist_spmd(again, nullptr); }
TEST_CASE("messages down a pipeline arrive in order", "[collective]") { irist_spmd(pipeline, nullptr); }
TEST_CASE("workgroups pass messages on by themselves", "[collective]") { irist_spmd(own_kernel, nullptr); }
TEST_CASE("a message that cannot be is refused with a sentence", "[collective]")
{
    if (irist_ranks() == 2)
        irist_spmd(refused, nullptr);
}
