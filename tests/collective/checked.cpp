/* SPDX-License-Identifier: MIT */
/*
 * checked.cpp: what collectives refuse in kernels compiled for checked mode: counts, roots and operations that differ
 * between ranks, a message of another length than its receiver says, two workgroups on one slice, a slice that does not
 * exist. Every rank gets the status and a sentence, nothing hangs, and nothing is written.
 */
#define IRIS_CHECKED 1
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_I32
#define IRIS_INSTANTIATE_ALL_TO_ALL
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_REDUCE_MAX_I32
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_I32
#define IRIS_INSTANTIATE_REDUCE_SUM_I32
#define IRIS_INSTANTIATE_SCATTER
#define IRIS_INSTANTIATE_SEND_RECV
#include <cstring>

#include "harness.h"

#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_reduce_rmsnorm.h>
#include <iris/gen/launch/all_to_all.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/reduce_scatter.h>
#include <iris/gen/launch/scatter.h>
#include <iris/gen/launch/send_recv.h>
#include <iris/gen/send_recv.h>

namespace {

enum { MOST = 9000 };

/* RMSNorm in the form of the others: so many rows of 8 columns. out is where dst begins, the residual behind it. */
iris_status rmsnorm(iris_world *w, const iris_channel *ch, const iris_collective *c, iris_stream stream)
{
    const size_t bytes = c->count * 16;
    iris_rmsnorm what;
    std::memset(&what, 0, sizeof what);
    what.out = c->dst, what.residual = (char *)c->dst + bytes;
    what.src = c->src, what.weight = (const char *)c->src + bytes;
    what.rows = c->count, what.columns = 8, what.epsilon = 1;
    return iris_all_reduce_rmsnorm_bf16(w, ch, &what, c->schedule, c->team, stream);
}

struct mistake {
    const char *name;
    iris_status (*launch)(iris_world *, const iris_channel *, const iris_collective *, iris_stream);
    iris_schedule schedule;
    size_t count, others; /* of the last rank, of the others */
    int root;             /* of the last rank; that of the others is 0 */
    iris_reduce_op op;    /* likewise; the others sum up */
    const char *words;    /* of the sentence; null: about counts */
};
const char root[] = "the collective was called with root", other[] = "with another operation";
const mistake mistakes[] = {
    {"all_reduce ll", iris_launch_all_reduce, IRIS_SCHEDULE_LL, 40, 41, 0, IRIS_OP_SUM, nullptr},
    {"all_reduce ll_two_shot", iris_launch_all_reduce, IRIS_SCHEDULE_LL_TWO_SHOT, 4096, 1024, 0, IRIS_OP_SUM, nullptr},
    {"all_reduce one_shot", iris_launch_all_reduce, IRIS_SCHEDULE_ONE_SHOT, 5000, 40, 0, IRIS_OP_SUM, nullptr},
    {"all_reduce two_shot", iris_launch_all_reduce, IRIS_SCHEDULE_TWO_SHOT, 8000, 8001, 0, IRIS_OP_SUM, nullptr},
    {"all_reduce two_shot_push", iris_launch_all_reduce, IRIS_SCHEDULE_TWO_SHOT_PUSH, 100, 8000, 0, IRIS_OP_SUM,
     nullptr},
    {"all_reduce two_phase", iris_launch_all_reduce, IRIS_SCHEDULE_TWO_PHASE, 8000, 100, 0, IRIS_OP_SUM, nullptr},
    {"all_reduce ring", iris_launch_all_reduce, IRIS_SCHEDULE_RING, 0, 100, 0, IRIS_OP_SUM, nullptr},
    {"all_gather push", iris_launch_all_gather, IRIS_SCHEDULE_PUSH, 100, 0, 0, IRIS_OP_SUM, nullptr},
    {"all_gather pull", iris_launch_all_gather, IRIS_SCHEDULE_PULL, 7000, 7001, 0, IRIS_OP_SUM, nullptr},
    {"all_gather ring", iris_launch_all_gather, IRIS_SCHEDULE_RING, 9000, 1, 0, IRIS_OP_SUM, nullptr},
    {"all_gather ll", iris_launch_all_gather, IRIS_SCHEDULE_LL, 900, 9000, 0, IRIS_OP_SUM, nullptr},
    {"reduce_scatter pull", iris_launch_reduce_scatter, IRIS_SCHEDULE_PULL, 9000, 8999, 0, IRIS_OP_SUM, nullptr},
    {"reduce_scatter push", iris_launch_reduce_scatter, IRIS_SCHEDULE_PUSH, 0, 3000, 0, IRIS_OP_SUM, nullptr},
    {"reduce_scatter ring", iris_launch_reduce_scatter, IRIS_SCHEDULE_RING, 4, 9000, 0, IRIS_OP_SUM, nullptr},
    {"reduce_scatter ll", iris_launch_reduce_scatter, IRIS_SCHEDULE_LL, 40, 0, 0, IRIS_OP_SUM, nullptr},
    {"all_to_all push", iris_launch_all_to_all, IRIS_SCHEDULE_PUSH, 100, 9000, 0, IRIS_OP_SUM, nullptr},
    {"all_to_all pull", iris_launch_all_to_all, IRIS_SCHEDULE_PULL, 1, 0, 0, IRIS_OP_SUM, nullptr},
    {"all_to_all ll", iris_launch_all_to_all, IRIS_SCHEDULE_LL, 9000, 900, 0, IRIS_OP_SUM, nullptr},
    {"broadcast push", iris_launch_broadcast, IRIS_SCHEDULE_PUSH, 9000, 64, 0, IRIS_OP_SUM, nullptr},
    {"broadcast chain", iris_launch_broadcast, IRIS_SCHEDULE_CHAIN, 64, 9000, 0, IRIS_OP_SUM, nullptr},
    {"broadcast relay", iris_launch_broadcast, IRIS_SCHEDULE_RELAY, 0, 9000, 0, IRIS_OP_SUM, nullptr},
    {"broadcast fetch", iris_launch_broadcast, IRIS_SCHEDULE_FETCH, 9000, 0, 0, IRIS_OP_SUM, nullptr},
    {"broadcast ll", iris_launch_broadcast, IRIS_SCHEDULE_LL, 41, 40, 0, IRIS_OP_SUM, nullptr},
    {"broadcast ll_relay", iris_launch_broadcast, IRIS_SCHEDULE_LL_RELAY, 500, 5000, 0, IRIS_OP_SUM, nullptr},
    {"reduce two_shot", iris_launch_reduce, IRIS_SCHEDULE_TWO_SHOT, 5000, 500, 0, IRIS_OP_SUM, nullptr},
    {"reduce pull", iris_launch_reduce, IRIS_SCHEDULE_PULL, 0, 7, 0, IRIS_OP_SUM, nullptr},
    {"gather push", iris_launch_gather, IRIS_SCHEDULE_PUSH, 5000, 4999, 0, IRIS_OP_SUM, nullptr},
    {"scatter pull", iris_launch_scatter, IRIS_SCHEDULE_PULL, 4999, 5000, 0, IRIS_OP_SUM, nullptr},
    {"rmsnorm one_shot", rmsnorm, IRIS_SCHEDULE_ONE_SHOT, 0, 9, 0, IRIS_OP_SUM, nullptr},
    {"rmsnorm two_shot", rmsnorm, IRIS_SCHEDULE_TWO_SHOT, 500, 499, 0, IRIS_OP_SUM, nullptr},
    {"root of broadcast ll", iris_launch_broadcast, IRIS_SCHEDULE_LL, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of broadcast ll_relay", iris_launch_broadcast, IRIS_SCHEDULE_LL_RELAY, 3000, 3000, 1, IRIS_OP_SUM, root},
#if !defined(__SANITIZE_THREAD__) /* copies of calls that differ are a race, which is the mistake */
    {"all_gather copy_engine", iris_launch_all_gather, IRIS_SCHEDULE_COPY_ENGINE, 100, 5000, 0, IRIS_OP_SUM, nullptr},
    {"all_to_all copy_engine", iris_launch_all_to_all, IRIS_SCHEDULE_COPY_ENGINE, 7, 0, 0, IRIS_OP_SUM, nullptr},
    {"root of broadcast copy_engine", iris_launch_broadcast, IRIS_SCHEDULE_COPY_ENGINE, 30, 30, 1, IRIS_OP_SUM, root},
#endif
    {"root of broadcast push", iris_launch_broadcast, IRIS_SCHEDULE_PUSH, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of broadcast relay", iris_launch_broadcast, IRIS_SCHEDULE_RELAY, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of broadcast fetch", iris_launch_broadcast, IRIS_SCHEDULE_FETCH, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of broadcast chain", iris_launch_broadcast, IRIS_SCHEDULE_CHAIN, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of reduce pull", iris_launch_reduce, IRIS_SCHEDULE_PULL, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of gather push", iris_launch_gather, IRIS_SCHEDULE_PUSH, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"root of scatter pull", iris_launch_scatter, IRIS_SCHEDULE_PULL, 3000, 3000, 1, IRIS_OP_SUM, root},
    {"operation of reduce pull", iris_launch_reduce, IRIS_SCHEDULE_PULL, 3000, 3000, 0, IRIS_OP_MAX, other},
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

/* A launch; another rank may have been quicker, and its mistake reported already. */
void started(irist_rank *t, iris_status status)
{
    irist_check(t, status == IRIS_OK || status == IRIS_ERR_CHECK, "%s", iris_error_string(t->world));
}

/* The mistake is reported on every rank; after iris_reset the channel works. `copied`: by copies, which nobody asks. */
void expect(irist_rank *t, buffers *b, const iris_channel *then, const char *name, const char *words,
            bool copied = false)
{
    const iris_status status = iris_synchronize(t->world);
    const char *said = iris_error_string(t->world);
    irist_check(t, status == IRIS_ERR_CHECK && std::strstr(said, words), "%s: %s, '%s' without '%s'", name,
                iris_status_name(status), said, words);
    irist_ok(t, iris_reset(t->world));
    irist_check(t, copied || irist_download(t, b->dst, b->bytes) == irist_poisoned(b->bytes), "%s: dst was written",
                name);
    const iris_team all = {0, 0, 0};
    std::vector<int32_t> in(64, 3), out(64);
    irist_ok(t, iris_memcpy(t->world, b->src, in.data(), 256));
    irist_ok(t, iris_all_reduce_sum_i32(t->world, then, b->dst, b->src, 64, all, nullptr));
    irist_ok(t, iris_memcpy(t->world, out.data(), b->dst, 256));
    for (int32_t x : out)
        irist_check(t, x == 3 * t->ranks, "%s: after iris_reset a sum is %d", name, (int)x);
}

void calls(irist_rank *t)
{
    const mistake *m = (const mistake *)t->arg;
    const bool last = t->rank == t->ranks - 1;
    buffers b;
    iris_collective c;
    create(t, &b);
    std::memset(&c, 0, sizeof c);
    c.dst = b.dst, c.src = b.src, c.dtype = IRIS_I32, c.schedule = m->schedule;
    c.count = last ? m->count : m->others, c.root = last ? m->root : 0, c.op = last ? m->op : IRIS_OP_SUM;
    started(t, m->launch(t->world, &b.ch, &c, nullptr));
    expect(t, &b, &b.ch, m->name, m->words ? m->words : "the collective was called with",
           m->schedule == IRIS_SCHEDULE_COPY_ENGINE);
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
void send(irist_rank *t, buffers *b, int32_t *to, size_t sent, size_t received)
{
    if (t->rank == 0)
        started(t, iris_send_to_i32(t->world, &b->ch, b->src, sent, t->ranks - 1, nullptr));
    else if (t->rank == t->ranks - 1)
        started(t, iris_recv_from_i32(t->world, &b->ch, to, received, 0, nullptr));
}
void lengths(irist_rank *t)
{
    const message *m = (const message *)t->arg;
    iris_channel sums; /* the other carries messages only */
    buffers b;
    irist_ok(t, iris_collective_channel(t->world, &sums, 2048)); /* before ranks meet in create */
    create(t, &b);
    if (m->before)
        send(t, &b, b.src, m->before, m->before);
    send(t, &b, b.dst, m->sent, m->received);
    (void)iris_synchronize(t->world); /* who sends may be done before the receiver looks */
    (void)iris_barrier(t->world);
    expect(t, &b, &sums, m->name, "was to be received, rank 0 sent one of");
    send(t, &b, b.dst, 50, 50);
    irist_ok(t, iris_synchronize(t->world));
    destroy(t, &b);
    irist_ok(t, iris_channel_destroy(t->world, &sums));
}

struct tile_args {
    iris_ctx ctx;
    iris_channel ch;
    int32_t *dst, *src;
    size_t sent, received;
};
/* The same by a workgroup of several waves, a message on each of some slices, from rank 0 to the last. */
IRIS_KERNEL(talk, tile_args, a, 256)
{
    const int last = a->ctx.world - 1;
    for (uint32_t slice = 0; slice < 4; slice++) {
        if (a->ctx.rank == 0)
            iris_send_i32_wg(&a->ctx, &a->ch, slice, a->src, a->sent, last);
        else if (a->ctx.rank == last)
            iris_recv_i32_wg(&a->ctx, &a->ch, slice, a->dst + slice * a->received, a->received, 0);
    }
}
/* Scratch holds messages as long as the receiver says, when a shorter one comes: not even old elements may be taken. */
void stale(irist_rank *t)
{
    enum { LENGTH = 4000, GOOD = 2 };
    iris_channel sums;
    buffers b;
    irist_ok(t, iris_collective_channel(t->world, &sums, 2048));
    create(t, &b);
    for (int turn = 0; turn <= GOOD; turn++) {
        tile_args a = {iris_device_ctx(t->world), b.ch, turn < GOOD ? b.src : b.dst, b.src, LENGTH, LENGTH};
        a.sent = turn == GOOD ? 4 : a.sent; /* one piece: the other bank still holds one of a longer message */
        const iris_launch_config cfg = iris_cooperative(1, 256);
        started(t, irisi_launch(t->world, IRISI_KERNEL_PTR(talk), "talk", &a, sizeof a, &cfg, nullptr));
    }
    (void)iris_synchronize(t->world);
    (void)iris_barrier(t->world);
    expect(t, &b, &sums, "behind longer ones", "a message of 16000 bytes was to be received, rank 0 sent one of 16;");
    destroy(t, &b);
    irist_ok(t, iris_channel_destroy(t->world, &sums));
}
/* Both workgroups on slice 1; one that has left has left it to the other, so they meet inside. */
IRIS_KERNEL(one_slice, tile_args, a, 64)
{
    const iris_team all = {0, 0, 0};
    iris_slice s = iris_slice_enter_wg(&a->ctx, &a->ch, all, 1);
    iris_grid_sync(&a->ctx, &a->ch);
    iris_slice_leave_wg(&s);
}
/* Launches a kernel of tiles, which is to stop with a sentence. */
void refuse(irist_rank *t, irisi_kernel kernel, uint32_t workgroups, const char *what, const char *sentence)
{
    buffers b;
    create(t, &b);
    const tile_args a = {iris_device_ctx(t->world), b.ch, b.dst, b.src, 0, 0};
    const iris_launch_config cfg = iris_cooperative(workgroups, 64);
    started(t, irisi_launch(t->world, kernel, what, &a, sizeof a, &cfg, iris_default_stream(t->world)));
    expect(t, &b, &b.ch, what, sentence);
    destroy(t, &b);
}
void slices(irist_rank *t)
{
    refuse(t, IRISI_KERNEL_PTR(one_slice), 2, "two on a slice",
           "slice 1 of the channel is in use by another workgroup");
}

/* One slice too many, on the last rank only: the others would wait for it. */
IRIS_KERNEL(no_slice, tile_args, a, 64)
{
    const iris_team all = {0, 0, 0};
    const uint32_t slices = iris_channel_slices(&a->ch, a->ctx.world);
    iris_all_reduce_ll_sum_i32_wg(&a->ctx, &a->ch, all, a->ctx.rank == a->ctx.world - 1 ? slices : 0, a->dst, a->src,
                                  9);
}
void wrong_slice(irist_rank *t)
{
    refuse(t, IRISI_KERNEL_PTR(no_slice), 1, "no such slice", "there is no slice");
}

} // namespace

TEST_CASE("calls that differ between ranks are refused on every rank", "[collective]")
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
TEST_CASE("nothing is taken of a message of another length, whatever scratch holds", "[collective]")
{
    irist_spmd(stale, nullptr);
}
TEST_CASE("two workgroups on one slice are noticed", "[collective]") { irist_spmd(slices, nullptr); }
TEST_CASE("a slice that the channel lacks is noticed", "[collective]") { irist_spmd(wrong_slice, nullptr); }
