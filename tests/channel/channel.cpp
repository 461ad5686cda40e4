/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/barrier.h>: barriers of the world, of teams and of the grid, and channels with their epochs and banks,
 * used again and again.
 */
#include "harness.h"

#include <cstring>

#include <iris/barrier.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>
#include <iris/gen/wait.h>

namespace {

enum { WORDS = 37, MOST = 8 }; /* words of a message: no multiple of 16 bytes or of a wave; most workgroups */

struct args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    uint64_t *cells;   /* symmetric: 2 for each rank, by parity of the turn */
    uint32_t *message; /* own memory, one for each workgroup */
    uint64_t *bad;     /* own memory: [0] how often, [1..3] the first time */
    uint64_t first, turns;
    uint64_t seed;
    int in_team;
};

IRIS_DEVICE void report(const args *a, uint64_t turn, uint64_t saw, uint64_t wanted)
{
    if (irisi_atomic_add_u64(a->bad, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0) {
        a->bad[1] = turn;
        a->bad[2] = saw;
        a->bad[3] = wanted;
    }
}

/* Sometimes, someone is late: another rank each time. */
IRIS_DEVICE void dawdle(const args *a, uint64_t turn, uint64_t stream)
{
    const uint32_t late = irist_pick(a->seed, stream, turn, 64);
    if (late == (uint32_t)a->ctx.rank)
        for (uint32_t i = 0; i < 70; i++)
            iris_pause(i);
}

/*
 * Turn k: everyone writes k into its right neighbour's cell, meets, and finds its left neighbour's k in its own. Cells
 * alternate, so the next turn's write meets no reader.
 */
IRIS_KERNEL(barrier_kernel, args, a, 256)
{
    const iris_team team = a->team;
    const int next = team.start + ((a->ctx.rank - team.start) / team.stride + 1) % team.size * team.stride;
    if (!a->in_team)
        return;
    for (uint64_t k = a->first; k < a->first + a->turns; k++) {
        dawdle(a, k, 1);
        if (iris_wg_lane() == iris_wg_lanes() - 1)
            iris_store_u64(&a->ctx, a->cells + (k & 1), k, next);
        if (team.size == a->ctx.world)
            iris_barrier_all_wg(&a->ctx, &a->ch);
        else
            iris_barrier_team_wg(&a->ctx, team, &a->ch);
        const uint64_t saw = iris_load_u64(&a->ctx, a->cells + (k & 1), a->ctx.rank);
        if (saw != k)
            report(a, k, saw, k);
    }
}

/* The same over whole grids: workgroup g's word goes through the last lane of workgroup g of the neighbour. */
IRIS_KERNEL(grid_kernel, args, a, 256)
{
    const uint32_t g = iris_workgroup(), n = iris_workgroups();
    for (uint64_t k = a->first; k < a->first + a->turns; k++) {
        dawdle(a, k, 2 + g);
        uint64_t *cells = a->cells + (k & 1) * MOST;
        if (iris_wg_lane() == iris_wg_lanes() - 1)
            iris_store_u64(&a->ctx, cells + g, k, (a->ctx.rank + 1) % a->ctx.world);
        iris_barrier_all_grid(&a->ctx, &a->ch);
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t saw = iris_load_u64(&a->ctx, cells + (g + i) % n, a->ctx.rank);
            if (saw != k)
                report(a, k, saw, k);
        }
    }
}

/* Barriers of the grid alone: no rank knows of another. */
IRIS_KERNEL(grid_sync_kernel, args, a, 256)
{
    const uint32_t g = iris_workgroup(), n = iris_workgroups();
    for (uint64_t k = a->first; k < a->first + a->turns; k++) {
        dawdle(a, k, 2 + g);
        uint64_t *cells = a->cells + (k & 1) * MOST;
        if (iris_wg_lane() == iris_wg_lanes() - 1)
            cells[g] = k;
        iris_grid_sync(&a->ctx, &a->ch);
        const uint64_t saw = *(volatile uint64_t *)&cells[(g + 1) % n];
        if (saw != k)
            report(a, k, saw, k);
    }
}

IRIS_DEVICE uint32_t word_of(uint64_t epoch, uint32_t rank, uint32_t wg, uint32_t i)
{
    return (uint32_t)epoch * 2654435761u + rank * 40503u + wg * 9973u + i;
}

/*
 * One epoch of a channel, as an operation uses it: each workgroup puts a message into every rank's bank, raises a
 * signal there, waits until everyone's messages of its own number are here, reads them, and leaves. No barrier closes
 * the epoch: the two banks keep a fast peer's next message apart from what is still being read. Each rank has a signal
 * of its own: a sum over ranks could hold one peer's next raise in place of another's missing one.
 */
IRIS_DEVICE void one_epoch(const args *a, uint64_t expected)
{
    const uint32_t g = iris_workgroup(), n = iris_workgroups(), world = (uint32_t)a->ctx.world;
    const uint32_t me = (uint32_t)a->ctx.rank;
    const uint64_t epoch = iris_channel_enter_wg(&a->ch);
    if (epoch != expected)
        report(a, expected, epoch, expected);
    uint32_t *bank = (uint32_t *)iris_channel_bank(&a->ch, epoch);
    uint32_t *message = a->message + g * WORDS;
    iris_signal *signals = a->ch.signals + g * world;
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        message[i] = word_of(epoch, me, g, i);
    iris_sync_wg();
    for (uint32_t k = 0; k < world; k++) {
        const uint32_t to = (me + k) % world;
        uint32_t *slot = bank + (me * n + g) * WORDS;
        iris_put_signal_u32_wg(&a->ctx, slot, message, WORDS, signals + me, 1, IRIS_SIGNAL_ADD, (int)to);
    }
    iris_wait_all_ge_wg(&a->ctx, signals, world, epoch);
    dawdle(a, epoch, 2 + g);
    for (uint32_t r = 0; r < world; r++) {
        const uint32_t *slot = bank + (r * n + g) * WORDS;
        for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
            if (slot[i] != word_of(epoch, r, g, i))
                report(a, epoch, slot[i], word_of(epoch, r, g, i));
    }
    iris_channel_leave_wg(&a->ch, epoch, n);
}

IRIS_KERNEL(channel_kernel, args, a, 256) { one_epoch(a, a->first); }

/* Many epochs in one kernel; one workgroup, since the epoch's end is not waited for by others. */
IRIS_KERNEL(channel_loop_kernel, args, a, 256)
{
    for (uint64_t k = 0; k < a->turns; k++) {
        one_epoch(a, a->first + k);
        iris_sync_wg();
    }
}

struct fixture {
    args a;
    fixture(irist_rank *t, size_t cells, size_t signals, size_t bank_bytes)
    {
        std::memset(&a, 0, sizeof a);
        a.ctx = iris_device_ctx(t->world);
        a.team.stride = 1;
        a.team.size = t->ranks;
        a.in_team = 1;
        a.seed = t->seed;
        a.first = 1;
        a.cells = (uint64_t *)iris_malloc_kind(t->world, cells * sizeof(uint64_t), 0, IRIS_MEM_SYNC);
        a.message = (uint32_t *)iris_malloc(t->world, MOST * WORDS * sizeof(uint32_t));
        a.bad = (uint64_t *)iris_malloc(t->world, 4 * sizeof(uint64_t));
        irist_check(t, a.cells && a.message && a.bad, "%s", iris_error_string(t->world));
        irist_ok(t, iris_memset(t->world, a.cells, 0, cells * sizeof(uint64_t)));
        irist_ok(t, iris_memset(t->world, a.bad, 0, 4 * sizeof(uint64_t)));
        irist_ok(t, iris_channel_create(t->world, &a.ch, signals, bank_bytes));
        irist_meet(t);
    }
    void expect_good(irist_rank *t, const char *what)
    {
        uint64_t bad[4] = {0, 0, 0, 0};
        irist_ok(t, iris_memcpy(t->world, bad, a.bad, sizeof bad));
        irist_check(t, bad[0] == 0, "%s: %llu times wrong, first in turn %llu: saw %llu, not %llu", what,
                    (unsigned long long)bad[0], (unsigned long long)bad[1], (unsigned long long)bad[2],
                    (unsigned long long)bad[3]);
    }
    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
        irist_ok(t, iris_free(t->world, a.bad));
        irist_ok(t, iris_free(t->world, a.message));
        irist_ok(t, iris_free(t->world, a.cells));
    }
};

/* In many short kernels, so that state must last between launches, and in long ones. */
template <typename F> void in_launches(irist_rank *t, fixture *f, uint64_t turns, F launch)
{
    const uint64_t lengths[] = {1, 1, 2, 3, 10, turns};
    for (uint64_t length : lengths) {
        f->a.turns = length;
        launch();
        f->a.first += length;
        if (t->failures)
            return;
    }
}

void world_barrier(irist_rank *t)
{
    fixture f(t, 2, (size_t)t->ranks, 16);
    in_launches(t, &f, irist_epochs(t, 2000, 100000),
                [&] { irist_run(t, barrier_kernel, f.a, iris_cooperative(1, 64)); });
    f.expect_good(t, "barrier_all_wg, 1 wave");
    in_launches(t, &f, irist_epochs(t, 500, 10000),
                [&] { irist_run(t, barrier_kernel, f.a, iris_cooperative(1, 192)); });
    f.expect_good(t, "barrier_all_wg, 3 waves");
    f.free(t);
}

void team_barrier(irist_rank *t)
{
    for (int stride = 1; stride <= 3; stride++) {
        for (int start = 0; start < t->ranks && start < 2; start++) {
            fixture f(t, 2, (size_t)t->ranks, 16);
            f.a.team.start = start;
            f.a.team.stride = stride;
            f.a.team.size = (t->ranks - start + stride - 1) / stride;
            f.a.in_team = t->rank >= start && (t->rank - start) % stride == 0;
            in_launches(t, &f, irist_epochs(t, 200, 5000),
                        [&] { irist_run(t, barrier_kernel, f.a, iris_cooperative(1, 128)); });
            f.expect_good(t, "barrier_team_wg");
            f.free(t);
        }
    }
}

void world_grid_barrier(irist_rank *t)
{
    fixture f(t, 2 * MOST, (size_t)t->ranks, 16);
    for (uint32_t workgroups = 1; workgroups <= 4; workgroups += 3)
        in_launches(t, &f, irist_epochs(t, 200, 5000),
                    [&] { irist_run(t, grid_kernel, f.a, iris_cooperative(workgroups, 128)); });
    f.expect_good(t, "barrier_all_grid");
    f.free(t);
}

void grid_barrier(irist_rank *t)
{
    fixture f(t, 2 * MOST, 1, 16);
    for (uint32_t workgroups = 1; workgroups <= 4; workgroups++)
        in_launches(t, &f, irist_epochs(t, 200, 20000),
                    [&] { irist_run(t, grid_sync_kernel, f.a, iris_cooperative(workgroups, 64)); });
    f.expect_good(t, "grid_sync");
    f.free(t);
}

void epochs_in_one_kernel(irist_rank *t)
{
    fixture f(t, 2, MOST * (size_t)t->ranks, (size_t)t->ranks * MOST * WORDS * sizeof(uint32_t));
    in_launches(t, &f, irist_epochs(t, 2000, 100000),
                [&] { irist_run(t, channel_loop_kernel, f.a, iris_cooperative(1, 64)); });
    f.expect_good(t, "channel, one workgroup");
    f.free(t);
}

/* Launches follow each other in the stream without the host waiting: a fast rank is an epoch ahead. */
void epochs_in_many_kernels(irist_rank *t)
{
    fixture f(t, 2, MOST * (size_t)t->ranks, (size_t)t->ranks * MOST * WORDS * sizeof(uint32_t));
    const uint64_t epochs = irist_epochs(t, 100, 2000);
    const iris_launch_config grid = iris_cooperative(3, 128);
    for (f.a.first = 1; f.a.first <= epochs && !t->failures; f.a.first++) {
        irist_delay(t, f.a.first);
        irist_ok(t, iris_launch(t->world, channel_kernel, &f.a, sizeof f.a, &grid, iris_default_stream(t->world)));
    }
    irist_ok(t, iris_synchronize(t->world));
    f.expect_good(t, "channel, three workgroups, kernel after kernel");
    f.free(t);
}

} // namespace

TEST_CASE("a barrier of the world holds back who is early, epoch after epoch", "[channel]")
{
    irist_spmd(world_barrier, nullptr);
}
TEST_CASE("a barrier of a team holds back its members only", "[channel]") { irist_spmd(team_barrier, nullptr); }
TEST_CASE("a barrier of whole grids holds back every workgroup", "[channel]")
{
    irist_spmd(world_grid_barrier, nullptr);
}
TEST_CASE("a barrier of the grid holds back every workgroup of the rank", "[channel]")
{
    irist_spmd(grid_barrier, nullptr);
}
TEST_CASE("a channel's banks keep epochs apart in one kernel", "[channel]")
{
    irist_spmd(epochs_in_one_kernel, nullptr);
}
TEST_CASE("a channel's epoch lasts from kernel to kernel", "[channel]") { irist_spmd(epochs_in_many_kernels, nullptr); }
