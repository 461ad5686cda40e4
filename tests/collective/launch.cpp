/* SPDX-License-Identifier: MIT */
/*
 * launch.cpp: collectives from the host: the launchers' choice of schedules, many in a row, two streams, and what they
 * refuse, with the sentence that says why.
 */
#include "kinds.h"

namespace {

const iris_team world = {0, 0, 0};

/* One stream's collectives: its own channel, buffers and counter of wrong elements. */
struct lane {
    iris_stream stream;
    iris_channel ch;
    int32_t *src, *dst;
    uint64_t *wrong;
    uint32_t workgroups, lanes; /* asked for; 0: not */
};

enum { MOST = 20000 };

void lane_create(irist_rank *t, lane *l, int own_stream, size_t most = MOST)
{
    std::memset(l, 0, sizeof *l);
    if (own_stream)
        irist_ok(t, iris_stream_create(t->world, &l->stream));
    else
        l->stream = iris_default_stream(t->world);
    irist_ok(t, iris_collective_channel(t->world, &l->ch, 4096));
    l->ch.least = 1024; /* on the host too several slices have something to do */
    l->src = (int32_t *)iris_malloc(t->world, most * sizeof *l->src * (size_t)t->ranks);
    l->dst = (int32_t *)iris_malloc(t->world, most * sizeof *l->dst * (size_t)t->ranks);
    l->wrong = (uint64_t *)iris_malloc(t->world, sizeof *l->wrong);
    irist_check(t, l->src && l->dst && l->wrong, "no memory for %zu elements a rank: IRIS_HEAP_MB", most);
    irist_ok(t, iris_memset(t->world, l->wrong, 0, sizeof *l->wrong));
}

void lane_destroy(irist_rank *t, lane *l, const char *what)
{
    uint64_t wrong = 0;
    irist_ok(t, iris_memcpy(t->world, &wrong, l->wrong, sizeof wrong));
    irist_check(t, wrong == 0, "%s: %llu elements wrong", what, (unsigned long long)wrong);
    irist_meet(t);
    irist_ok(t, iris_free(t->world, l->wrong));
    irist_ok(t, iris_free(t->world, l->dst));
    irist_ok(t, iris_free(t->world, l->src));
    irist_ok(t, iris_channel_destroy(t->world, &l->ch));
    if (l->stream != iris_default_stream(t->world))
        irist_ok(t, iris_stream_destroy(t->world, l->stream));
}

/* One collective by one schedule, its input made and its result compared by kernels around it. */
void step(irist_rank *t, lane *l, const collective_kind &kind, size_t n, uint64_t lap, bool checked)
{
    const int root = (int)(lap % (uint64_t)t->ranks);
    const kind_args a = kind_arguments(t, kind, l->dst, l->src, n, root, lap, l->wrong);
    const iris_launch_config one = iris_grid(n > MOST ? 64 : 1, 64);
    iris_collective c = kind_what(kind, l->dst, l->src, n, root);
    c.workgroups = l->workgroups, c.lanes = l->lanes;
    if (checked)
        irist_ok(t, iris_launch(t->world, kind_input, &a, sizeof a, &one, l->stream));
    irist_ok(t, kind.launch(t->world, &l->ch, &c, l->stream));
    if (checked)
        irist_ok(t, iris_launch(t->world, kind_compare, &a, sizeof a, &one, l->stream));
}

/* Every schedule after every other on one channel, nothing in between; ranks arrive late in turn. */
void mixed(irist_rank *t)
{
    lane l;
    lane_create(t, &l, 0);
    irist_meet(t);
    const uint32_t laps = irist_laps(60, 600);
    for (uint32_t lap = 0; lap < laps; lap++) {
        const uint32_t dice = irist_pick(t->seed, 5, lap, KINDS * 8);
        const bool whole = dice / KINDS == 1; /* on one slice, which several pieces of it go around */
        const size_t few = irist_pick(t->seed, 6, lap, 700);
        const size_t n = whole ? MOST - lap : dice / KINDS % 4 == 0 ? MOST / 3 + lap : few;
        l.ch.least = whole ? 1 << 18 : 1024;
        if (lap % 16 == 0)
            irist_delay(t, lap);
        step(t, &l, collective_kinds[dice % KINDS], n, lap, true);
    }
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &l, "schedules after one another");
}

/* The same collective again and again; what a rank that is ahead writes must not reach one that is behind. */
void again(irist_rank *t)
{
    const uint32_t laps = irist_epochs(t, 100, 10000);
    lane l;
    lane_create(t, &l, 0);
    irist_meet(t);
    for (int kind = 0; kind < KINDS; kind++) {
        for (uint32_t lap = 0; lap < laps; lap++)
            step(t, &l, collective_kinds[kind], 50 + lap % 3, lap, true);
        uint64_t wrong = 0;
        irist_ok(t, iris_memcpy(t->world, &wrong, l.wrong, sizeof wrong));
        irist_check(t, wrong == 0, "%s: %llu elements wrong", irisi_schedule_name(collective_kinds[kind].schedule),
                    (unsigned long long)wrong);
    }
    lane_destroy(t, &l, "again and again");
}

/*
 * Every rank asks for another grid. Few wide workgroups begin one after the other on a small processor: none that has
 * several slices may keep back one that a peer's only workgroup waits for.
 */
void grids(irist_rank *t)
{
    lane l;
    lane_create(t, &l, 0);
    irist_meet(t);
    for (uint32_t lap = 0; lap < 2 * KINDS; lap++) {
        l.workgroups = 1 + ((uint32_t)t->rank + lap / KINDS) % 3, l.lanes = l.workgroups == 1 ? 64 : 256;
        step(t, &l, collective_kinds[lap % KINDS], 3000, lap, true);
    }
    l.workgroups = 0; /* for nothing, by as many as the library chooses */
    for (uint32_t kind = 0; kind < KINDS; kind++)
        step(t, &l, collective_kinds[kind], 0, kind, true);
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &l, "grids that differ");
}

/* Two streams with a channel each; ranks submit in one order. */
void streams(irist_rank *t)
{
    lane l[2];
    lane_create(t, &l[0], 0);
    lane_create(t, &l[1], 1);
    irist_meet(t);
    const uint32_t laps = irist_laps(30, 200);
    for (uint32_t lap = 0; lap < laps; lap++)
        for (int s = 0; s < 2; s++) {
            const uint32_t kind = irist_pick(t->seed, 7 + (uint64_t)s, lap, KINDS);
            step(t, &l[s], collective_kinds[kind], irist_pick(t->seed, 9, lap, 3000), lap, true);
        }
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &l[1], "second stream");
    lane_destroy(t, &l[0], "first stream");
}

/*
 * Messages that go by all slices of a GPU's channel, on two streams: kernels of both must run at once, for half of the
 * ranks begin the one first, and half the other, where a rank has a device to itself.
 */
void crowds(irist_rank *t)
{
    lane l[2];
    lane_create(t, &l[0], 0, 1);
    const bool many = l[0].ch.slices > IRISI_FEW_SLICES;
    lane_destroy(t, &l[0], "nothing");
    const size_t n = many ? IRISI_CROWD / sizeof(int32_t) + 1029 : 5000;
    lane_create(t, &l[0], 0, n);
    lane_create(t, &l[1], 1, n);
    irist_meet(t);
    for (uint64_t lap = 0; lap < KINDS; lap++)
        for (int s = 0; s < 2; s++) {
            const int turn = many && t->rank % 2 ? 1 - s : s;
            step(t, &l[turn], collective_kinds[turn ? KINDS - 1 - lap : lap], n - 100 * (size_t)turn, lap, true);
        }
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &l[1], "second stream of all slices");
    lane_destroy(t, &l[0], "first stream of all slices");
}

/* The smallest channel there is carries everything, in many turns. */
void smallest(irist_rank *t)
{
    lane l;
    lane_create(t, &l, 0);
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &l.ch));
    irist_ok(t, iris_collective_channel(t->world, &l.ch, 1));
    irist_meet(t);
    for (uint32_t lap = 0; lap < 2 * KINDS; lap++)
        step(t, &l, collective_kinds[lap % KINDS], 1500 + lap, lap, true);
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &l, "smallest channel");
}

/* A sound call that each row spoils in one way. */
struct question {
    iris_collective c;
    iris_channel ch;
    iris_stream stream;
    iris_world *w;
    lane *other;
};
int32_t outside[64];
void null_dst(question *q) { q->c.dst = nullptr; }
void null_src(question *q) { q->c.src = nullptr; }
void odd_src(question *q) { q->c.src = (const char *)q->c.src + 1; }
void far_dst(question *q) { q->c.dst = outside, q->c.schedule = IRIS_SCHEDULE_TWO_SHOT; }
void far_src(question *q) { q->c.src = outside, q->c.schedule = IRIS_SCHEDULE_TWO_SHOT; }
void overlap(question *q) { q->c.dst = (int32_t *)q->c.dst, q->c.src = (int32_t *)q->c.dst + 4; }
void too_many(question *q) { q->c.count = (size_t)1 << 62; }
void no_schedule(question *q) { q->c.schedule = IRIS_SCHEDULE_PUSH; }
void wrong_schedule(question *q) { q->c.schedule = (iris_schedule)99; }
void float_and(question *q) { q->c.op = IRIS_OP_AND, q->c.dtype = IRIS_F32; }
void no_dtype(question *q) { q->c.dtype = (iris_dtype)77; }
void forgotten_dtype(question *q) { q->c.dtype = (iris_dtype)0; }
/* Together they would be the number of a pair that there is. */
void no_pair(question *q) { q->c.dtype = (iris_dtype)(IRIS_DTYPES + IRIS_I32), q->c.op = (iris_reduce_op)-1; }
void no_op(question *q) { q->c.op = (iris_reduce_op)12; }
void not_asked_for(question *q) { q->c.dtype = IRIS_F64; }
void other_team(question *q) { q->c.team.start = iris_rank(q->w) == 0 ? 1 : 0, q->c.team.stride = q->c.team.size = 1; }
void long_team(question *q) { q->c.team.start = 0, q->c.team.stride = 1, q->c.team.size = 100; }
void no_stride(question *q) { q->c.team.start = 0, q->c.team.stride = 0, q->c.team.size = 2; }
void second_team(question *q)
{
    q->c.team.start = iris_rank(q->w);
    q->c.team.stride = q->c.team.size = 1;
}
void no_channel(question *q) { std::memset(&q->ch, 0, sizeof q->ch); }
void no_banks(question *q) { q->ch.bank_bytes = 0; }
void small_banks(question *q) { q->ch.bank_bytes = 256; }
void other_stream(question *q) { q->stream = q->other->stream; }

const struct {
    void (*spoil)(question *);
    iris_status status;
    const char *sentence; /* part of it */
} refusals[] = {
    {null_dst, IRIS_ERR_ARGUMENT, "iris_all_reduce: dst is null; pass 40 elements of i32"},
    {null_src, IRIS_ERR_ARGUMENT, "iris_all_reduce: src is null"},
    {odd_src, IRIS_ERR_ARGUMENT, "not aligned to its 4-byte elements"},
    {far_dst, IRIS_ERR_ARGUMENT, "schedule two_shot wants dst in the symmetric heap, where its 160 bytes"},
    {far_src, IRIS_ERR_ARGUMENT, "schedule two_shot wants src in the symmetric heap"},
    {overlap, IRIS_ERR_ARGUMENT, "overlap, and not in place"},
    {too_many, IRIS_ERR_ARGUMENT, "are too many"},
    {no_schedule, IRIS_ERR_UNSUPPORTED, "iris_all_reduce: there is no schedule push"},
    {wrong_schedule, IRIS_ERR_UNSUPPORTED, "there is no schedule none (99)"},
    {float_and, IRIS_ERR_UNSUPPORTED, "iris_all_reduce: and of f32 has no kernel: the type lacks the operation"},
    {no_dtype, IRIS_ERR_ARGUMENT, "dtype is 77, which does not exist"},
    {forgotten_dtype, IRIS_ERR_ARGUMENT,
     "dtype is 0, as if it was never set; set it to IRIS_F32 or another iris_dtype, 1 to 16"},
    {no_pair, IRIS_ERR_ARGUMENT, "which does not exist; set it to IRIS_F32"},
    {no_op, IRIS_ERR_ARGUMENT,
     "op is 12, which does not exist; set it to IRIS_OP_SUM or another iris_reduce_op, 0 to 7"},
    {not_asked_for, IRIS_ERR_UNSUPPORTED,
     "define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F64 before <iris/gen/launch/all_reduce.h>"},
    {other_team, IRIS_ERR_ARGUMENT, "is not in the team of 1 ranks"},
    {long_team, IRIS_ERR_ARGUMENT, "a team of 100 ranks from 0 on, 1 apart, is not within ranks 0 to 1"},
    {no_stride, IRIS_ERR_ARGUMENT, "a team of 2 ranks from 0 on, 0 apart"},
    {no_channel, IRIS_ERR_ARGUMENT, "the channel is not from iris_collective_channel"},
    {no_banks, IRIS_ERR_ARGUMENT, "the channel is not from iris_collective_channel"},
    {small_banks, IRIS_ERR_ARGUMENT, "the channel is not from iris_collective_channel"},
    {second_team, IRIS_ERR_ARGUMENT, "the channel is used by another team already"},
    {other_stream, IRIS_ERR_ARGUMENT, "the channel is used on another stream already"},
};

/* What iris_collective_channel refuses, on every rank. */
void channels_refused(irist_rank *t)
{
    iris_channel ch;
    irist_check(t, iris_collective_channel(nullptr, &ch, 0) == IRIS_ERR_ARGUMENT, "a null world was taken");
    irist_check(t, iris_collective_channel(t->world, nullptr, 0) == IRIS_ERR_ARGUMENT, "a null channel was taken");
    irist_check(t, iris_collective_channel(t->world, &ch, (size_t)1 << 50) == IRIS_ERR_NOMEM, "2^50 bytes were taken");
    irist_check(t, iris_collective_channel(t->world, &ch, (size_t)3 << 20) == IRIS_ERR_NOMEM, "24 MiB were taken");
    irist_check(t,
                iris_collective_channel(t->world, &ch, t->rank ? 4000 : 8000) == IRIS_ERR_MISMATCH &&
                    std::strstr(iris_error_string(t->world), "scratch is 4096 bytes on rank 1 but 8192 on rank 0"),
                "%s", iris_error_string(t->world));
    const iris_status some = iris_collective_channel(t->world, t->rank ? &ch : nullptr, 4000);
    const char *said = iris_error_string(t->world);
    irist_check(t,
                some == (t->rank ? IRIS_ERR_MISMATCH : IRIS_ERR_ARGUMENT) &&
                    std::strstr(said, t->rank ? "rank 0 refused its arguments" : "the channel is null"),
                "%s", said);
}

void refused(irist_rank *t)
{
    lane l, other;
    lane_create(t, &l, 0);
    lane_create(t, &other, 1);
    irist_meet(t);
    step(t, &l, collective_kinds[0], 40, 1, true);
    for (const auto &row : refusals) {
        question q;
        std::memset(&q, 0, sizeof q);
        q.w = t->world, q.ch = l.ch, q.other = &other;
        q.c.dst = l.dst, q.c.src = l.src, q.c.count = 40, q.c.dtype = IRIS_I32;
        row.spoil(&q);
        const iris_status got = iris_launch_all_reduce(t->world, &q.ch, &q.c, q.stream);
        const char *said = iris_error_string(t->world);
        irist_check(t, got == row.status && std::strstr(said, row.sentence), "expected %s with '%s', got %s: %s",
                    iris_status_name(row.status), row.sentence, iris_status_name(got), said);
    }
    irist_check(t, iris_launch_all_reduce(t->world, &l.ch, nullptr, nullptr) == IRIS_ERR_ARGUMENT, "null was taken");
    irist_check(t, iris_launch_all_gather(t->world, &l.ch, nullptr, nullptr) == IRIS_ERR_ARGUMENT, "null was taken");
    iris_collective forgotten;
    std::memset(&forgotten, 0, sizeof forgotten);
    irist_check(t, iris_launch_all_gather(t->world, &l.ch, &forgotten, nullptr) == IRIS_ERR_ARGUMENT,
                "no type was taken");
    channels_refused(t);
    question early;
    std::memset(&early, 0, sizeof early);
    early.w = t->world, early.c.dst = l.dst, early.c.src = l.src, early.c.count = 40, early.c.dtype = IRIS_I32;
    second_team(&early), early.c.lanes = 100000; /* a launch that is refused leaves the channel to nobody */
    const iris_status got = iris_launch_all_reduce(t->world, &other.ch, &early.c, other.stream);
    irist_check(t, got != IRIS_OK, "100000 lanes were taken");
    std::memset(&early.c.team, 0, sizeof early.c.team), early.c.lanes = 0;
    irist_ok(t, iris_launch_all_reduce(t->world, &other.ch, &early.c, nullptr));
    step(t, &l, collective_kinds[0], 41, 2, true); /* nothing is broken */
    irist_ok(t, iris_synchronize(t->world));
    lane_destroy(t, &other, "other stream");
    lane_destroy(t, &l, "refusals");
}

/* The typed launchers take what their names say. */
void typed(irist_rank *t)
{
    enum { N = 300 };
    lane l;
    lane_create(t, &l, 0);
    irist_meet(t);
    std::vector<iris_bf16> ones(N, iris_narrow_bf16(1)), sums(N), rows((size_t)t->ranks * N);
    irist_ok(t, iris_memcpy(t->world, l.src, ones.data(), N * sizeof ones[0]));
    iris_bf16 *dst = (iris_bf16 *)(void *)l.dst, *src = (iris_bf16 *)(void *)l.src;
    irist_ok(t, iris_all_reduce_sum_bf16(t->world, &l.ch, dst, src, N, world, nullptr));
    irist_ok(t, iris_memcpy(t->world, sums.data(), l.dst, N * sizeof sums[0]));
    irist_ok(t, iris_all_gather_bf16(t->world, &l.ch, dst, src, N, world, nullptr));
    irist_ok(t, iris_memcpy(t->world, rows.data(), l.dst, rows.size() * sizeof rows[0]));
    for (int i = 0; i < N; i++)
        irist_check(t, iris_widen_bf16(sums[(size_t)i]) == (float)t->ranks, "sum %d is not the number of ranks", i);
    for (iris_bf16 x : rows)
        irist_check(t, iris_widen_bf16(x) == 1, "a gathered element is %g", (double)iris_widen_bf16(x));
    lane_destroy(t, &l, "typed launchers");
}

} // namespace

TEST_CASE("any collective may follow any other on a channel", "[collective]") { irist_spmd(mixed, nullptr); }
TEST_CASE("a collective may follow itself at once", "[collective]") { irist_spmd(again, nullptr); }
TEST_CASE("ranks may ask for grids of their own", "[collective]") { irist_spmd(grids, nullptr); }
TEST_CASE("collectives on two streams keep to their channels", "[collective]") { irist_spmd(streams, nullptr); }
TEST_CASE("two streams may each have all slices", "[collective]") { irist_spmd(crowds, nullptr); }
TEST_CASE("the smallest channel carries every collective", "[collective]") { irist_spmd(smallest, nullptr); }
TEST_CASE("typed launchers of collectives do what their names say", "[collective]") { irist_spmd(typed, nullptr); }
TEST_CASE("a collective that cannot be is refused with a sentence", "[collective]")
{
    if (irist_ranks() == 2)
        irist_spmd(refused, nullptr);
}
