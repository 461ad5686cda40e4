/* SPDX-License-Identifier: MIT */
/*
 * team.cpp: teams of random ranks in random orders, from a list and by colour and key: numbering both ways, barriers,
 * signals and puts in kernels, every collective from the host, teams that overlap in turns, what is refused, and whom a
 * sentence blames. The oracle is the list itself.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_ALL_TO_ALLV
#endif
#include "kinds.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <iris/barrier.h>
#include <iris/collective/collective.h>
#include <iris/gen/launch/all_reduce_rmsnorm.h>
#include <iris/gen/launch/all_to_allv.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/wait.h>

namespace {

enum { TEAMS = 4, MOST = 600 }; /* teams at a time, which overlap; elements of a row */

/* Some ranks in some order, the same on every rank; never none. */
std::vector<int> some_ranks(const irist_rank *t, uint64_t turn)
{
    std::vector<int> ranks;
    for (int r = 0; r < t->ranks; r++)
        ranks.push_back(r);
    for (size_t i = ranks.size(); i > 1; i--)
        std::swap(ranks[i - 1], ranks[irist_pick(t->seed, 11 + turn, i, (uint32_t)i)]);
    ranks.resize(1 + irist_pick(t->seed, 11 + turn, 99, (uint32_t)t->ranks));
    return ranks;
}

int place_of(const std::vector<int> &ranks, int rank)
{
    const auto at = std::find(ranks.begin(), ranks.end(), rank);
    return at == ranks.end() ? -1 : (int)(at - ranks.begin());
}

iris_team create(irist_rank *t, const std::vector<int> &ranks)
{
    iris_team team = {0, 0, 0};
    irist_ok(t, iris_team_create(t->world, &team, ranks.data(), (int)ranks.size()));
    return team;
}

/* Both ways on the host, for every rank of the world and every place, and beyond. */
void expect_numbers(irist_rank *t, iris_team team, const std::vector<int> &ranks)
{
    irist_check(t, team.size == (int)ranks.size(), "a team of %d has %d members", (int)ranks.size(), team.size);
    for (int i = -1; i <= t->ranks; i++) {
        const int place = iris_team_rank(t->world, team, i), rank = iris_team_world_rank(t->world, team, i);
        const int want = i >= 0 && i < (int)ranks.size() ? ranks[(size_t)i] : -1;
        irist_check(t, place == place_of(ranks, i), "world rank %d is member %d, not %d", i, place, place_of(ranks, i));
        irist_check(t, rank == want, "member %d is world rank %d, not %d", i, rank, want);
    }
}

/* ---- kernels ---- */

struct args {
    iris_ctx world, team;
    iris_channel ch;
    uint64_t *cells;      /* symmetric: 2 by parity of the turn, 2 more for puts */
    iris_signal *signals; /* symmetric: one for each rank */
    uint64_t *bad;        /* own memory */
    int32_t *numbers;     /* own memory: of each world rank in the team, then of each member in the world */
    uint64_t first, turns;
};

/*
 * A turn: the right neighbour's cell by a store before a barrier, then the left one's by a put with signal. All of it
 * names ranks of the team and knows of no other.
 */
IRIS_KERNEL(team_kernel, args, a, 64)
{
    const iris_ctx *c = &a->team;
    const int right = (c->rank + 1) % c->world, left = (c->rank + c->world - 1) % c->world;
    for (uint64_t k = a->first; k < a->first + a->turns; k++) {
        if (iris_wg_lane() == 0)
            iris_store_u64(c, a->cells + (k & 1), 64 * k + (uint64_t)c->rank, right);
        iris_barrier_all_wg(c, &a->ch);
        const uint64_t stored = iris_load_u64(c, a->cells + (k & 1), c->rank);
        iris_put_signal_u64_wg(c, a->cells + 2 + (k & 1), a->cells + (k & 1), 1, a->signals + c->rank, k,
                               IRIS_SIGNAL_SET, left);
        iris_wait_ge_wg(c, a->signals + right, k);
        const uint64_t put = iris_load_u64(c, a->cells + 2 + (k & 1), c->rank);
        if (iris_wg_lane() == 0)
            *a->bad += (uint64_t)(stored != 64 * k + (uint64_t)left) + (uint64_t)(put != 64 * k + (uint64_t)c->rank);
    }
    for (int r = (int)iris_wg_lane(); r < a->world.world; r += (int)iris_wg_lanes()) {
        a->numbers[r] = iris_team_translate(&a->world, r, c);
        a->numbers[a->world.world + r] = iris_team_translate(c, r, &a->world);
    }
}

/* All members but the first meet on a slice, which does not happen. */
IRIS_KERNEL(alone_kernel, args, a, 64)
{
    if (a->first != 0) {
        iris_barrier_all_wg(&a->team, &a->ch);
        return;
    }
    iris_slice s = iris_slice_enter_wg(&a->team, &a->ch, iris_team_world(&a->team), 0);
    iris_slice_meet_wg(&s);
    iris_slice_leave_wg(&s);
}

/* Nobody sends the signal. */
IRIS_KERNEL(vain_kernel, args, a, 64) { iris_wait_ge_wg(&a->world, a->signals, 1); }

args arguments(irist_rank *t, size_t teams)
{
    args a;
    std::memset(&a, 0, sizeof a);
    a.world = iris_device_ctx(t->world);
    a.cells = (uint64_t *)iris_malloc_kind(t->world, 4 * teams * sizeof *a.cells, 0, IRIS_MEM_SYNC);
    a.signals = iris_signals(t->world, (size_t)t->ranks * teams);
    a.bad = iris_zeros_u64(t->world, 1);
    a.numbers = iris_zeros_i32(t->world, 2 * (size_t)t->ranks);
    irist_meet(t);
    return a;
}
void release(irist_rank *t, const args &a)
{
    irist_meet(t);
    void *all[] = {a.numbers, a.bad, a.signals, a.cells};
    for (void *p : all)
        irist_ok(t, iris_free(t->world, p));
}

void in_kernels(irist_rank *t)
{
    args a = arguments(t, 1);
    for (uint64_t lap = 0; lap < irist_laps(4, 20); lap++) {
        const std::vector<int> ranks = some_ranks(t, lap);
        iris_team team = create(t, ranks);
        expect_numbers(t, team, ranks);
        irist_ok(t, iris_channel_create(t->world, &a.ch, (size_t)t->ranks, 16));
        irist_ok(t, iris_memset(t->world, a.signals, 0, (size_t)t->ranks * sizeof *a.signals));
        irist_meet(t);
        for (a.first = 1; place_of(ranks, t->rank) >= 0 && a.first < 40; a.first += a.turns) {
            a.turns = 1 + a.first / 2;
            irist_ok(t, iris_team_ctx(t->world, team, &a.team));
            irist_check(t, a.team.rank == place_of(ranks, t->rank) && a.team.world == (int)ranks.size(),
                        "the context is of rank %d of %d", a.team.rank, a.team.world);
            irist_run(t, team_kernel, a, iris_cooperative(1, 64));
            std::vector<int32_t> numbers(2 * (size_t)t->ranks);
            irist_ok(t, iris_memcpy(t->world, numbers.data(), a.numbers, numbers.size() * sizeof numbers[0]));
            for (int r = 0; r < t->ranks; r++)
                irist_check(t,
                            numbers[(size_t)r] == iris_team_rank(t->world, team, r) &&
                                numbers[(size_t)(t->ranks + r)] == iris_team_world_rank(t->world, team, r),
                            "a kernel translates %d to %d and back to %d", r, numbers[(size_t)r],
                            numbers[(size_t)(t->ranks + r)]);
        }
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
        irist_ok(t, iris_team_destroy(t->world, &team));
    }
    irist_check(t, iris_peek_u64(t->world, a.bad) == 0, "%llu cells were wrong",
                (unsigned long long)iris_peek_u64(t->world, a.bad));
    release(t, a);
}

/* ---- collectives ---- */

struct lane {
    std::vector<int> ranks;
    iris_team team;
    iris_channel ch;
    int member;
};

/* The first is of all ranks, the last from start and stride: both kinds take turns. */
std::vector<lane> lanes(irist_rank *t)
{
    std::vector<lane> all(TEAMS);
    for (size_t i = 0; i < all.size(); i++) {
        lane &l = all[i];
        l.ranks = some_ranks(t, 40 + i);
        if (i + 1 < all.size()) {
            l.team = create(t, l.ranks);
        } else {
            l.team = {t->ranks > 1, 1, t->ranks > 1 ? t->ranks - 1 : 1};
            l.ranks.clear();
            for (int m = 0; m < l.team.size; m++)
                l.ranks.push_back(l.team.start + m);
            expect_numbers(t, l.team, l.ranks);
        }
        l.member = place_of(l.ranks, t->rank);
        irist_ok(t, iris_collective_channel(t->world, &l.ch, 4096));
        l.ch.least = 1024; /* on the host too several slices have something to do */
    }
    irist_meet(t);
    return all;
}

/* Every collective by every schedule, by teams that overlap, in a row: nobody meets in between. */
void mixed(irist_rank *t)
{
    std::vector<lane> all = lanes(t);
    int32_t *src = iris_zeros_i32(t->world, MOST * (size_t)t->ranks);
    int32_t *dst = iris_zeros_i32(t->world, MOST * (size_t)t->ranks);
    uint64_t *wrong = iris_zeros_u64(t->world, 1);
    const iris_launch_config one = iris_grid(1, 64);
    irist_meet(t);
    for (uint64_t lap = 0; lap < irist_laps(2, 6) * KINDS; lap++) {
        const collective_kind &kind = collective_kinds[lap % KINDS];
        const lane &l = all[irist_pick(t->seed, 5, lap, TEAMS)];
        const size_t n = irist_pick(t->seed, 6, lap, MOST);
        const int root = (int)irist_pick(t->seed, 7, lap, (uint32_t)l.ranks.size());
        irist_rank member = *t; /* what the kernels that make and compare take for the world */
        member.rank = l.member, member.ranks = (int)l.ranks.size();
        const kind_args a = kind_arguments(&member, kind, dst, src, n, root, lap, wrong);
        iris_collective c = kind_what(kind, dst, src, n, l.ranks[(size_t)root]);
        c.team = l.team;
        if (l.member < 0)
            continue;
        if (irist_pick(t->seed, 8, lap, 8) == 0)
            irist_delay(t, lap);
        irist_ok(t, iris_launch(t->world, kind_input, &a, sizeof a, &one, NULL));
        irist_ok(t, kind.launch(t->world, &l.ch, &c, NULL));
        irist_ok(t, iris_launch(t->world, kind_compare, &a, sizeof a, &one, NULL));
    }
    irist_ok(t, iris_synchronize(t->world));
    irist_check(t, iris_peek_u64(t->world, wrong) == 0, "%llu elements were wrong",
                (unsigned long long)iris_peek_u64(t->world, wrong));
    irist_meet(t);
    void *memory[] = {wrong, dst, src};
    for (void *p : memory)
        irist_ok(t, iris_free(t->world, p));
    for (lane &l : all)
        irist_ok(t, iris_channel_destroy(t->world, &l.ch));
    for (size_t i = 0; i + 1 < all.size(); i++)
        irist_ok(t, iris_team_destroy(t->world, &all[i].team));
}

/* Rows of any length, and the all-reduce with RMSNorm: whole numbers, which bf16 holds. */
void others(irist_rank *t)
{
    enum { ROWS = 3, COLUMNS = 8 };
    std::vector<int> ranks = some_ranks(t, 70);
    iris_team team = create(t, ranks);
    const int me = place_of(ranks, t->rank);
    const size_t size = ranks.size(), n = ROWS * COLUMNS;
    iris_channel ch;
    irist_ok(t, iris_collective_channel(t->world, &ch, 4096));
    uint64_t *at = iris_zeros_u64(t->world, size), *count = iris_zeros_u64(t->world, size);
    uint64_t *room = iris_full_u64(t->world, size, 2 * size);
    uint32_t *src = iris_zeros_u32(t->world, 2 * size * size), *dst = iris_zeros_u32(t->world, 2 * size * size);
    iris_rmsnorm what;
    std::memset(&what, 0, sizeof what);
    what.src = iris_full_bf16(t->world, n, (float)(t->rank + 1));
    what.residual = iris_full_bf16(t->world, n, 1);
    what.weight = iris_full_bf16(t->world, COLUMNS, 2);
    what.out = iris_zeros_bf16(t->world, n);
    what.rows = ROWS, what.columns = COLUMNS;
    std::vector<uint64_t> begin(size), length(size);
    std::vector<uint32_t> in(2 * size * size), got(2 * size * size);
    for (size_t m = 0; m < size; m++) {
        begin[m] = 2 * size * m, length[m] = (size_t)std::max(me, 0) + m + 1;
        for (size_t i = 0; i < 2 * size; i++)
            in[2 * size * m + i] = (uint32_t)(10000 * t->rank + 100 * (int)m + (int)i);
    }
    irist_ok(t, iris_memcpy(t->world, at, begin.data(), 8 * size));
    irist_ok(t, iris_memcpy(t->world, count, length.data(), 8 * size));
    irist_ok(t, iris_memcpy(t->world, src, in.data(), 4 * in.size()));
    irist_meet(t);
    if (me >= 0) {
        float sum = 1;
        irist_ok(t, iris_all_to_allv_rows_u32(t->world, &ch, dst, at, room, src, at, count, team, NULL));
        irist_ok(t, iris_memcpy(t->world, got.data(), dst, 4 * got.size()));
        for (size_t m = 0; m < size; m++)
            for (size_t i = 0; i < 2 * size; i++) {
                const bool came = i <= (size_t)me + m;
                const uint32_t want = came ? (uint32_t)(10000 * ranks[m] + 100 * me + (int)i) : 0;
                irist_check(t, got[2 * size * m + i] == want, "element %zu of member %zu is %u, not %u", i, m,
                            got[2 * size * m + i], want);
            }
        for (int rank : ranks)
            sum += (float)(rank + 1);
        for (iris_schedule s : {IRIS_SCHEDULE_ONE_SHOT, IRIS_SCHEDULE_TWO_SHOT}) {
            irist_ok(t, iris_all_reduce_rmsnorm_bf16(t->world, &ch, &what, s, team, NULL));
            const float residual = iris_peek_bf16(t->world, (iris_bf16 *)what.residual + n - 1);
            const float out = iris_peek_bf16(t->world, (iris_bf16 *)what.out + n - 1);
            irist_check(t, residual == sum && out == 2, "the sum is %g, not %g, its norm %g", (double)residual,
                        (double)sum, (double)out);
            sum += sum - 1;
        }
    }
    irist_meet(t);
    void *memory[] = {what.out, (void *)what.weight, what.residual, (void *)what.src, dst, src, room, count, at};
    for (void *p : memory)
        irist_ok(t, iris_free(t->world, p));
    irist_ok(t, iris_channel_destroy(t->world, &ch));
    irist_ok(t, iris_team_destroy(t->world, &team));
}

/* ---- by colour and key ---- */

void split(irist_rank *t)
{
    for (uint64_t lap = 0; lap < irist_laps(30, 100); lap++) {
        const auto colour = [&](int r) { return (int)irist_pick(t->seed, 80 + lap, (uint64_t)r, 3) - 1; };
        const auto key = [&](int r) { return (int)irist_pick(t->seed, 80 + lap, 100 + (uint64_t)r, 3) - 1; };
        std::vector<std::pair<int, int>> order;
        for (int r = 0; r < t->ranks; r++)
            if (colour(r) == colour(t->rank))
                order.push_back({key(r), r});
        std::sort(order.begin(), order.end());
        std::vector<int> ranks;
        for (const auto &each : order)
            ranks.push_back(each.second);
        iris_team team = {5, 5, 5};
        iris_ctx ctx;
        irist_ok(t, iris_team_split(t->world, &team, colour(t->rank), key(t->rank)));
        if (colour(t->rank) < 0) {
            irist_check(t, team.size == -1 && iris_team_rank(t->world, team, t->rank) == -1, "a team of %d", team.size);
            irist_check(t,
                        iris_team_ctx(t->world, team, &ctx) == IRIS_ERR_ARGUMENT &&
                            std::strstr(iris_error_string(t->world), "is in no team"),
                        "%s", iris_error_string(t->world));
            continue;
        }
        expect_numbers(t, team, ranks);
        irist_ok(t, iris_team_ctx(t->world, team, &ctx));
        irist_check(t, ctx.team != 0 && ctx.rank == place_of(ranks, t->rank), "rank %d", ctx.rank);
        irist_ok(t, iris_team_destroy(t->world, &team));
        irist_check(t, team.size == -1, "a team that was destroyed has %d members", team.size);
    }
    /* A colour's team has a number of its own, the same on all its members; the next call goes on behind them. */
    iris_team team = {0, 0, 0};
    irist_ok(t, iris_team_split(t->world, &team, t->rank % 2, 0));
    std::vector<int32_t> starts((size_t)t->ranks);
    irist_ok(t, iris_allgather(t->world, &team.start, starts.data(), sizeof starts[0]));
    for (int r = 2; r < t->ranks; r++)
        irist_check(t, starts[(size_t)r] == starts[(size_t)r - 2] && starts[(size_t)r] != starts[(size_t)r - 1],
                    "rank %d has team %d", r, starts[(size_t)r]);
    irist_ok(t, iris_team_destroy(t->world, &team));
    team = create(t, {0});
    irist_ok(t, iris_allgather(t->world, &team.start, starts.data(), sizeof starts[0]));
    irist_check(t, starts[0] == starts[(size_t)t->ranks - 1], "ranks number teams differently");
    irist_ok(t, iris_team_destroy(t->world, &team));
}

/* ---- refusals ---- */

void expect_refused(irist_rank *t, iris_status got, iris_status want, const char *words)
{
    const char *said = iris_error_string(t->world);
    irist_check(t, got == want && std::strstr(said, words), "expected %s with '%s', got %s: %s", iris_status_name(want),
                words, iris_status_name(got), said);
}

void refused_lists(irist_rank *t)
{
    const int twice[] = {0, 0}, beyond[] = {t->ranks}, below[] = {-1}, good[] = {0}, own[] = {t->rank};
    iris_team team = {0, 0, 0};
    const auto list = [&](const int *ranks, int n) { return iris_team_create(t->world, &team, ranks, n); };
    irist_check(t, iris_team_create(NULL, &team, good, 1) == IRIS_ERR_ARGUMENT, "a null world was taken");
    if (t->ranks > 1)
        expect_refused(t, list(twice, 2), IRIS_ERR_ARGUMENT, "rank 0 is in the list twice, at places 0 and 1");
    expect_refused(t, list(beyond, 1), IRIS_ERR_ARGUMENT, "which is not within ranks 0 to");
    expect_refused(t, list(below, 1), IRIS_ERR_ARGUMENT, "place 0 of the list is rank -1");
    expect_refused(t, list(good, 0), IRIS_ERR_ARGUMENT, "a list of 0 ranks is not of 1 to");
    expect_refused(t, list(good, t->ranks + 1), IRIS_ERR_ARGUMENT, "ranks is not of 1 to");
    expect_refused(t, list(NULL, 1), IRIS_ERR_ARGUMENT, "the list is null");
    expect_refused(t, iris_team_create(t->world, NULL, good, 1), IRIS_ERR_ARGUMENT, "the team's address is null");
    expect_refused(t, iris_team_split(t->world, NULL, 0, 0), IRIS_ERR_ARGUMENT, "the team's address is null");
    if (t->ranks == 1)
        return;
    expect_refused(t, list(own, 1), IRIS_ERR_MISMATCH, "place 0 of the list is rank 1 on rank 1 but rank 0 on rank 0");
    const int both[] = {0, 1};
    expect_refused(t, list(both, t->rank == 0 ? 2 : 1), IRIS_ERR_MISMATCH,
                   "the list has 1 ranks on rank 1 but 2 on rank 0");
    expect_refused(t, list(both, t->rank == 0 ? 0 : 2), t->rank == 0 ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH,
                   t->rank == 0 ? "a list of 0 ranks" : "rank 0 refused its arguments");
}

void refused(irist_rank *t)
{
    refused_lists(t);
    const int last = t->ranks - 1;
    iris_team team = create(t, {last}), world = {0, 0, 0}, stride = {0, 1, 1};
    iris_channel ch;
    iris_ctx ctx;
    irist_ok(t, iris_collective_channel(t->world, &ch, 0));
    int32_t *x = iris_zeros_i32(t->world, 8);
    irist_meet(t);
    iris_collective c;
    std::memset(&c, 0, sizeof c);
    c.dst = x, c.src = x, c.count = 8, c.dtype = IRIS_I32, c.team = team, c.root = last;
    const auto launch = [&] { return iris_launch_broadcast(t->world, &ch, &c, NULL); };
    if (t->rank == last) {
        irist_ok(t, launch());
        c.root = t->ranks;
        expect_refused(t, launch(), IRIS_ERR_ARGUMENT, "is not in the team of ranks");
        c.team = stride, c.root = 0;
        if (last == 0)
            expect_refused(t, launch(), IRIS_ERR_ARGUMENT, "the channel is used by another team already");
        irist_ok(t, iris_team_ctx(t->world, team, &ctx));
    } else {
        const std::string words = "iris_broadcast: rank " + std::to_string(t->rank) + " is not in the team of ranks " +
                                  std::to_string(last);
        expect_refused(t, launch(), IRIS_ERR_ARGUMENT, words.c_str());
        expect_refused(t, iris_team_ctx(t->world, team, &ctx), IRIS_ERR_ARGUMENT, "is not in the team of ranks");
    }
    expect_refused(t, iris_team_ctx(t->world, stride, &ctx), IRIS_ERR_ARGUMENT, "beside the world's context");
    expect_refused(t, iris_team_ctx(t->world, team, NULL), IRIS_ERR_ARGUMENT, "the context's address is null");
    irist_ok(t, iris_team_ctx(t->world, world, &ctx));
    irist_check(t, ctx.rank == t->rank && ctx.world == t->ranks && ctx.team == 0, "the world's context");
    irist_ok(t, iris_synchronize(t->world));
    const iris_team stale = team;
    irist_ok(t, iris_team_destroy(t->world, &team));
    c.team = stale, c.root = last;
    expect_refused(t, launch(), IRIS_ERR_ARGUMENT, "or was destroyed");
    c.team = team;
    expect_refused(t, launch(), IRIS_ERR_ARGUMENT, "this rank is in no team");
    expect_refused(t, iris_team_ctx(t->world, stale, &ctx), IRIS_ERR_ARGUMENT, "or was destroyed");
    expect_refused(t, iris_team_destroy(t->world, &team), IRIS_ERR_ARGUMENT, "or was destroyed");
    expect_refused(t, iris_team_destroy(t->world, NULL), IRIS_ERR_ARGUMENT, "or was destroyed");
    irist_check(t, iris_team_rank(t->world, stale, last) == -1 && iris_team_world_rank(t->world, stale, 0) == -1,
                "a team that was destroyed has members");
    irist_meet(t);
    irist_ok(t, iris_free(t->world, x));
    irist_ok(t, iris_channel_destroy(t->world, &ch));
}

/* Held by a group: there after its end. */
void grouped(irist_rank *t)
{
    iris_team list = {0, 0, 0}, half = {0, 0, 0};
    std::vector<int> ranks = some_ranks(t, 90);
    irist_ok(t, iris_group_begin());
    irist_ok(t, iris_team_create(t->world, &list, ranks.data(), (int)ranks.size()));
    irist_ok(t, iris_team_split(t->world, &half, 0, -t->rank));
    irist_check(t, list.size == 0 && half.size == 0, "a team was made before the group's end");
    irist_ok(t, iris_group_end());
    expect_numbers(t, list, ranks);
    irist_check(t, iris_team_rank(t->world, half, 0) == t->ranks - 1, "keys do not order ranks");
    irist_ok(t, iris_team_destroy(t->world, &half)); /* list is left to iris_finalize */
}

/* The first member of the world in reverse does not come: the sentence names it by its rank in the world. */
void blamed(irist_rank *t)
{
    if (t->ranks == 1)
        return;
    const int last = t->ranks - 1;
    std::vector<int> ranks;
    for (int r = last; r >= 0; r--)
        ranks.push_back(r);
    const iris_team team = create(t, ranks);
    args a = arguments(t, 1);
    irist_ok(t, iris_team_ctx(t->world, team, &a.team));
    a.team.deadline /= 200;
    int32_t *x = iris_zeros_i32(t->world, 8);
    for (a.first = 0; a.first < 2; a.first++) { /* on a channel that a launcher has used, on one that none has */
        irist_ok(t, iris_collective_channel(t->world, &a.ch, 0));
        irist_meet(t);
        if (a.first == 0)
            irist_ok(t, iris_all_reduce_sum_i32(t->world, &a.ch, x, x, 8, team, NULL));
        irist_meet(t);
        const iris_launch_config one = iris_cooperative(1, 64);
        if (t->rank != last)
            irist_ok(t, iris_launch(t->world, alone_kernel, &a, sizeof a, &one, NULL));
        const iris_status status = iris_barrier(t->world);
        const std::string said = iris_error_string(t->world);
        const std::string words = a.first == 0 || IRISI_CHECKED ? "from rank " + std::to_string(last) + ", which"
                                               : "from rank 0 of the kernel's context, which";
        irist_check(t, status == IRIS_ERR_TIMEOUT && said.find(words) != std::string::npos &&
                           said.find("rank " + std::to_string(last) + ", kernel") == std::string::npos,
                    "not '%s' but %s: %s", words.c_str(), iris_status_name(status), said.c_str());
        irist_ok(t, iris_reset(t->world));
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    }
    irist_ok(t, iris_free(t->world, x));
    release(t, a);
}

/* The world stops, and no check says so. */
void left_stopped(irist_rank *t)
{
    args a = arguments(t, 1);
    const iris_launch_config one = iris_cooperative(1, 64);
    a.world.deadline = iris_clock_ticks(t->world, 50000);
    iris_launch(t->world, vain_kernel, &a, sizeof a, &one, NULL);
    iris_synchronize(t->world);
}
} // namespace

TEST_CASE("a team of any ranks is a world in kernels", "[collective]") { irist_spmd(in_kernels, nullptr); }
TEST_CASE("every collective works by teams of any ranks, in turns", "[collective]") { irist_spmd(mixed, nullptr); }
TEST_CASE("rows of any length and RMSNorm go by teams of any ranks", "[collective]") { irist_spmd(others, nullptr); }
TEST_CASE("colours and keys make teams", "[collective]") { irist_spmd(split, nullptr); }
TEST_CASE("what is no team is refused on every rank", "[collective]") { irist_spmd(refused, nullptr); }
TEST_CASE("a group holds the making of teams", "[collective]") { irist_spmd(grouped, nullptr); }
TEST_CASE("a wait in a team names the member by its rank in the world", "[collective]")
{
    const char *ms = std::getenv("IRIS_TIMEOUT_MS");
    if (ms && std::atof(ms) == 0) /* whoever has asked for no deadline */
        unsetenv("IRIS_TIMEOUT_MS");
    irist_spmd(blamed, nullptr);
}
TEST_CASE("the harness fails a case that leaves a stopped world", "[collective][!shouldfail]")
{
    irist_spmd(left_stopped, nullptr);
}
