/* SPDX-License-Identifier: MIT */
/*
 * differ.cpp: what kernels compiled for checked mode refuse where ranks call the same collective with another root or
 * operation, or a message is of another length than its receiver says. Every rank gets the status and a sentence,
 * nothing hangs, nothing is written, and after iris_reset the channel works.
 */
#define IRIS_CHECKED 1
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_SCATTER
#define IRIS_INSTANTIATE_REDUCE_SUM_I32
#define IRIS_INSTANTIATE_REDUCE_MAX_I32
#define IRIS_INSTANTIATE_SEND_RECV
#include <cstring>

#include "harness.h"

#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/scatter.h>
#include <iris/gen/launch/send_recv.h>

namespace {

enum { MOST = 3000 };
typedef iris_status (*launcher)(iris_world *w, const iris_channel *ch, const iris_collective *what, iris_stream stream);

/* The last rank calls with another root or operation than the others. */
struct mistake {
    const char *name;
    launcher launch;
    iris_schedule schedule;
    int root;
    iris_reduce_op op;
    const char *words;
};
const char root[] = "the collective was called with root", other[] = "with another operation or element type";
const mistake mistakes[] = {
    {"broadcast ll", iris_launch_broadcast, IRIS_SCHEDULE_LL, 1, IRIS_OP_SUM, root},
    {"broadcast ll_relay", iris_launch_broadcast, IRIS_SCHEDULE_LL_RELAY, 1, IRIS_OP_SUM, root},
    {"broadcast push", iris_launch_broadcast, IRIS_SCHEDULE_PUSH, 1, IRIS_OP_SUM, root},
    {"broadcast relay", iris_launch_broadcast, IRIS_SCHEDULE_RELAY, 1, IRIS_OP_SUM, root},
    {"broadcast fetch", iris_launch_broadcast, IRIS_SCHEDULE_FETCH, 1, IRIS_OP_SUM, root},
    {"broadcast chain", iris_launch_broadcast, IRIS_SCHEDULE_CHAIN, 1, IRIS_OP_SUM, root},
    {"reduce pull", iris_launch_reduce, IRIS_SCHEDULE_PULL, 1, IRIS_OP_SUM, root},
    {"reduce max", iris_launch_reduce, IRIS_SCHEDULE_PULL, 0, IRIS_OP_MAX, other},
    {"gather push", iris_launch_gather, IRIS_SCHEDULE_PUSH, 1, IRIS_OP_SUM, root},
    {"scatter pull", iris_launch_scatter, IRIS_SCHEDULE_PULL, 1, IRIS_OP_SUM, root},
};

struct buffers {
    iris_channel ch;
    int32_t *dst, *src;
    size_t bytes;
};
void create(irist_rank *t, buffers *b)
{
    b->bytes = MOST * sizeof(int32_t) * (size_t)t->ranks;
    irist_ok(t, iris_collective_channel(t->world, &b->ch, 2048));
    b->dst = (int32_t *)iris_malloc(t->world, b->bytes);
    b->src = (int32_t *)iris_malloc(t->world, b->bytes);
    irist_upload(t, b->dst, irist_poisoned(b->bytes));
    irist_upload(t, b->src, irist_poisoned(b->bytes));
    irist_meet(t);
}
void destroy(irist_rank *t, buffers *b)
{
    irist_meet(t);
    irist_ok(t, iris_free(t->world, b->src));
    irist_ok(t, iris_free(t->world, b->dst));
    irist_ok(t, iris_channel_destroy(t->world, &b->ch));
}

/* The mistake is reported on every rank, in whichever call it is noticed, and dst was not written. */
void expect(irist_rank *t, buffers *b, iris_status started, const char *name, const char *words)
{
    (void)iris_synchronize(t->world); /* who sends may be done before the receiver looks */
    (void)iris_barrier(t->world);
    const iris_status status = started == IRIS_OK ? iris_synchronize(t->world) : started;
    const char *said = iris_error_string(t->world);
    irist_check(t, status == IRIS_ERR_CHECK && std::strstr(said, words), "%s: %s, '%s' without '%s'", name,
                iris_status_name(status), said, words);
    irist_ok(t, iris_reset(t->world));
    irist_check(t, irist_download(t, b->dst, b->bytes) == irist_poisoned(b->bytes), "%s: dst was written", name);
}

void calls(irist_rank *t)
{
    const mistake *m = (const mistake *)t->arg;
    const int wrong = t->rank == t->ranks - 1;
    buffers b;
    iris_collective c;
    create(t, &b);
    std::memset(&c, 0, sizeof c);
    c.dst = b.dst, c.src = b.src, c.schedule = m->schedule, c.root = wrong ? m->root : 0;
    c.op = wrong ? m->op : IRIS_OP_SUM, c.dtype = IRIS_I32, c.count = MOST;
    expect(t, &b, m->launch(t->world, &b.ch, &c, nullptr), m->name, m->words);
    c.root = 0, c.op = IRIS_OP_SUM;
    irist_ok(t, m->launch(t->world, &b.ch, &c, nullptr));
    irist_ok(t, iris_synchronize(t->world));
    destroy(t, &b);
}

/* Rank 0 sends to the last rank, who says another length. */
struct message {
    const char *name;
    size_t sent, received, before; /* before it comes one that fits, of so many */
};
const message messages[] = {
    {"longer than sent", 100, 200, 0},
    {"shorter than sent", 200, 100, 0},
    {"one element apart", 2999, 2998, 0},
    {"of many pieces, half sent", 1500, 3000, 0},
    {"of many pieces, half taken", 3000, 1500, 0},
    {"the second one", 7, 8, 9},
};
void lengths(irist_rank *t)
{
    const message *m = (const message *)t->arg;
    buffers b;
    create(t, &b);
    iris_status status = IRIS_OK;
    for (int again = 0; again < 2; again++) {
        const size_t sent = again ? 50 : m->sent, received = again ? 50 : m->received;
        if (t->rank == 0 && m->before && !again)
            irist_ok(t, iris_send_to_i32(t->world, &b.ch, b.src, m->before, t->ranks - 1, nullptr));
        if (t->rank == t->ranks - 1 && m->before && !again)
            irist_ok(t, iris_recv_from_i32(t->world, &b.ch, b.src, m->before, 0, nullptr));
        if (t->rank == 0)
            status = iris_send_to_i32(t->world, &b.ch, b.src, sent, t->ranks - 1, nullptr);
        else if (t->rank == t->ranks - 1)
            status = iris_recv_from_i32(t->world, &b.ch, b.dst, received, 0, nullptr);
        if (!again) {
            expect(t, &b, status, m->name, "was to be received, rank 0 sent one of");
            continue;
        }
        irist_ok(t, status);
        irist_ok(t, iris_synchronize(t->world));
    }
    const std::vector<unsigned char> got = irist_download(t, b.dst, 200), want = irist_poisoned(200);
    irist_check(t, got == want, "%s: the next message differs", m->name);
    destroy(t, &b);
}

} // namespace

TEST_CASE("collectives called with another root or operation are refused on every rank", "[collective]")
{
    for (const mistake &m : mistakes) {
        SECTION(m.name) { irist_spmd(calls, &m); }
    }
}
TEST_CASE("messages of another length than said are refused on every rank", "[collective]")
{
    for (const message &m : messages) {
        SECTION(m.name) { irist_spmd(lengths, &m); }
    }
}
