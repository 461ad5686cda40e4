/* SPDX-License-Identifier: MIT */
/*
 * checked.cpp: what collectives refuse in kernels compiled for checked mode: counts that differ between ranks, two
 * workgroups on one slice, a slice that does not exist. Every rank gets the status and a sentence, nothing hangs, and
 * nothing is written.
 */
#define IRIS_CHECKED 1
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_I32
#include <cstring>

#include "harness.h"

#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>

namespace {

enum { MOST = 9000 };

struct mistake {
    const char *name;
    int gather;
    iris_schedule schedule;
    size_t count, others; /* of the last rank, of the others */
};
const mistake mistakes[] = {
    {"all_reduce ll", 0, IRIS_SCHEDULE_LL, 40, 41},
    {"all_reduce one_shot", 0, IRIS_SCHEDULE_ONE_SHOT, 5000, 40},
    {"all_reduce two_shot", 0, IRIS_SCHEDULE_TWO_SHOT, 8000, 8001},
    {"all_reduce two_shot_push", 0, IRIS_SCHEDULE_TWO_SHOT_PUSH, 100, 8000},
    {"all_reduce ring", 0, IRIS_SCHEDULE_RING, 0, 100},
    {"all_gather push", 1, IRIS_SCHEDULE_PUSH, 100, 0},
    {"all_gather ll", 1, IRIS_SCHEDULE_LL, 900, 9000},
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

/* The mistake is reported on every rank; after iris_reset the channel works. */
void expect(irist_rank *t, buffers *b, const char *name, const char *words)
{
    const iris_status status = iris_synchronize(t->world);
    const char *said = iris_error_string(t->world);
    irist_check(t, status == IRIS_ERR_CHECK && std::strstr(said, words), "%s: %s, '%s' without '%s'", name,
                iris_status_name(status), said, words);
    irist_ok(t, iris_reset(t->world));
    irist_check(t, irist_download(t, b->dst, b->bytes) == irist_poisoned(b->bytes), "%s: dst was written", name);
    const iris_team all = {0, 0, 0};
    std::vector<int32_t> in(64, 3), out(64);
    irist_ok(t, iris_memcpy(t->world, b->src, in.data(), 256));
    irist_ok(t, iris_all_reduce_sum_i32(t->world, &b->ch, b->dst, b->src, 64, all, nullptr));
    irist_ok(t, iris_memcpy(t->world, out.data(), b->dst, 256));
    for (int32_t x : out)
        irist_check(t, x == 3 * t->ranks, "%s: after iris_reset a sum is %d", name, (int)x);
}

void counts(irist_rank *t)
{
    const mistake *m = (const mistake *)t->arg;
    buffers b;
    iris_collective c;
    create(t, &b);
    std::memset(&c, 0, sizeof c);
    c.dst = b.dst, c.src = b.src, c.dtype = IRIS_I32, c.schedule = m->schedule;
    c.count = t->rank == t->ranks - 1 ? m->count : m->others;
    started(t, (m->gather ? iris_launch_all_gather : iris_launch_all_reduce)(t->world, &b.ch, &c, nullptr));
    expect(t, &b, m->name, "the collective was called with");
    destroy(t, &b);
}

struct tile_args {
    iris_ctx ctx;
    iris_channel ch;
    int32_t *dst, *src;
};
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
    const tile_args a = {iris_device_ctx(t->world), b.ch, b.dst, b.src};
    const iris_launch_config cfg = iris_cooperative(workgroups, 64);
    started(t, irisi_launch(t->world, kernel, what, &a, sizeof a, &cfg, iris_default_stream(t->world)));
    expect(t, &b, what, sentence);
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

TEST_CASE("counts that differ between ranks are refused on every rank", "[collective]")
{
    for (const mistake &m : mistakes) {
        SECTION(m.name) { irist_spmd(counts, &m); }
    }
}
TEST_CASE("two workgroups on one slice are noticed", "[collective]") { irist_spmd(slices, nullptr); }
TEST_CASE("a slice that the channel lacks is noticed", "[collective]") { irist_spmd(wrong_slice, nullptr); }
