/* SPDX-License-Identifier: MIT */
/*
 * Tries the deadline of every wait (irisi_wait_signal, irisi_expire): a signal that never comes ends every rank's wait
 * in time, with a sentence that says who waited for what, and iris_reset makes the world good again. Every wait says
 * that its condition did not hold, and iris_stopped, iris_stopped_wave and iris_stopped_wg that the world has stopped.
 */
#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include <iris/barrier.h>
#include <iris/gen/wait.h>
#include <iris/collective/ll.h>

namespace {

enum how { WAIT, WAIT_WAVE, WAIT_WG, ANY, ANY_WAVE, SOME, ALL, ALL_WAVE, ALL_WG, BARRIER, GRID, LL_GET, LL_RECEIVE,
           LL_BARRIER, LOOP, LOOP_WAVE, LOOP_ASKS, UNTIL };

struct args {
    iris_ctx ctx;
    iris_channel ch;
    iris_signal *signals; /* 3 */
    uint64_t *out;        /* own memory */
    uint64_t *said;       /* own memory: see tell */
    int how;
};

/* What lanes were told: how many had waited, of how many the condition held, who heard of a world that stopped. */
enum { ASKED, HELD, STOPPED, STOPPED_WAVE, STOPPED_WG, SAID };

IRIS_DEVICE void tell(const args *a, int which, int yes)
{
    if (yes)
        irisi_atomic_add_u64(a->said + which, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* Every lane of a workgroup tells whether its world has stopped. */
IRIS_DEVICE void tell_stopped(const args *a)
{
    tell(a, ASKED, 1);
    tell(a, STOPPED, iris_stopped(&a->ctx));
    tell(a, STOPPED_WAVE, iris_stopped_wave(&a->ctx));
    tell(a, STOPPED_WG, iris_stopped_wg(&a->ctx));
}

/* Loops that end by what they receive, which never comes, in the ways that leave them all the same. */
IRIS_DEVICE void loop_by_what_comes(const args *a)
{
    const iris_ctx *c = &a->ctx;
    const uint64_t *never = &a->signals[1].value; /* set by the host, and not to 9 */
    for (uint64_t m = 4; a->how == LOOP && *never != 9; m++)
        if (!iris_wait_ge_wg(c, a->signals, m))
            break;
    for (uint64_t m = 4; a->how == LOOP_WAVE && *never != 9; m++)
        if (!iris_wait_ge_wave(c, a->signals, m))
            break;
    for (uint64_t m = 4; a->how == LOOP_ASKS && *never != 9; m++) {
        iris_wait_ge_wg(c, a->signals, m);
        if (iris_stopped_wg(c))
            break;
    }
}

/* Waits for what does not come, and must go on all the same. */
IRIS_KERNEL(stuck_kernel, args, a, 256)
{
    const iris_ctx *c = &a->ctx;
    int held = 0;
    if (a->how == WAIT && iris_wg_lane() == 0)
        held = iris_wait_ge(c, a->signals, 7);
    if (a->how == WAIT_WAVE)
        held = iris_wait_eq_wave(c, a->signals, 7);
    if (a->how == WAIT_WG)
        held = iris_wait_gt_wg(c, a->signals, 6);
    if (a->how == ANY && iris_wg_lane() == 0)
        held = iris_wait_any_eq(c, a->signals, 3, 7) != 3;
    if (a->how == ANY_WAVE)
        held = iris_wait_any_eq_wave(c, a->signals, 3, 7) != 3;
    size_t which[3];
    if (a->how == SOME && iris_wg_lane() == 0)
        held = iris_wait_some_eq(c, a->signals, 3, 7, which) != 0;
    if (a->how == ALL && iris_wg_lane() == 0)
        held = iris_wait_all_ge(c, a->signals, 3, 7);
    if (a->how == ALL_WAVE)
        held = iris_wait_all_ge_wave(c, a->signals, 3, 7);
    if (a->how == ALL_WG)
        held = iris_wait_all_ge_wg(c, a->signals, 3, 7);
    if (a->how == UNTIL)
        held = iris_wait_until_ge_wg(c, a->signals, 7, UINT64_MAX);
    tell(a, HELD, held);
    if (a->how == BARRIER && iris_workgroup() == 0)
        iris_barrier_all_wg(c, &a->ch);
    if (a->how == GRID && iris_workgroup() == 0)
        iris_grid_sync(c, &a->ch);
    iris_ll_packet *slots = iris_ll_bank(&a->ch, 1);
    uint32_t word = 0;
    if (a->how == LL_GET)
        iris_ll_get_wg(c, a->out + 2 + 4 * iris_workgroup(), slots, 29, 7, 0);
    if (a->how == LL_RECEIVE && iris_wg_lane() == 0)
        word = iris_ll_receive(c, slots + 3, 7, 0);
    loop_by_what_comes(a);
    if (a->how == LL_BARRIER && iris_workgroup() == 0)
        iris_ll_barrier_wg(c, &a->ch);
    iris_sync_wg();
    if (iris_workgroup() == 0) /* which waits in every case */
        tell_stopped(a);
    if (iris_wg_lane() == 0)
        a->out[iris_workgroup()] = 1 + word;
}

IRIS_KERNEL(good_kernel, args, a, 256)
{
    iris_barrier_all_grid(&a->ctx, &a->ch);
    if (iris_grid_lane() == 0)
        iris_signal_add(&a->ctx, a->signals, 7, (a->ctx.rank + 1) % a->ctx.world);
    tell(a, HELD, iris_wait_eq_wg(&a->ctx, a->signals, 7));
    tell_stopped(a);
    if (iris_wg_lane() == 0)
        a->out[iris_workgroup()] = 2;
}

/* A look at the clock that shows less than the one before. */
IRIS_KERNEL(clock_kernel, args, a, 64)
{
    irisi_wait wait;
    wait.signal = a->signals;
    wait.cmp = IRISI_GE;
    wait.value = 7;
    wait.from = -1;
    wait.start = iris_clock() + a->ctx.deadline;
    if (iris_grid_lane() == 0)
        a->out[0] = 1 + (uint64_t)irisi_give_up(&a->ctx, &wait, 3);
}

double now(void) { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/*
 * Seconds in which all are told of a deadline that is a two-hundredth of the world's: half of that, and 5 in any case.
 * Where kernels run slowly, a larger IRIS_TIMEOUT_MS says so.
 */
double soon(void)
{
    const char *ms = std::getenv("IRIS_TIMEOUT_MS");
    return std::max(5.0, ms ? std::atof(ms) / 2000 : 0);
}

/* How a case goes wrong. */
struct trouble {
    const char *name;
    int how;
    bool last_only; /* the last rank's kernel waits while the others are in iris_barrier; else all but the last wait */
    const char *words; /* what the sentence says besides the ranks' names */
};

const trouble troubles[] = {
    {"wait", WAIT, true, "(saw 3)"},         {"wait_wave", WAIT_WAVE, true, "(saw 3)"},
    {"wait_wg", WAIT_WG, true, "(saw 3)"},   {"wait_any", ANY, true, "7"},
    {"wait_any_wave", ANY_WAVE, true, "7"},  {"wait_some", SOME, true, "7"},
    {"wait_all", ALL, true, "(saw 3)"},
    {"wait_all_wave", ALL_WAVE, true, "7"},  {"wait_all_wg", ALL_WG, true, "7"},
    {"barrier_all_wg", BARRIER, false, "1"}, {"grid_sync", GRID, true, "0"},
    {"ll_get", LL_GET, true, "to equal 7 (saw 0) from rank 0"},
    {"ll_receive", LL_RECEIVE, true, "to equal 7 (saw 0) from rank 0"},
    {"ll_barrier_wg", LL_BARRIER, false, "to equal 2147483649 (saw 0) from rank"},
    {"loop", LOOP, true, "at least 4 (saw 3)"},
    {"loop_wave", LOOP_WAVE, true, "at least 4 (saw 3)"},
    {"loop_asks", LOOP_ASKS, true, "at least 4 (saw 3)"},
};

void set_signals(irist_rank *t, const args &a, uint64_t value)
{
    const uint64_t values[3] = {value, value, value};
    irist_ok(t, iris_memcpy(t->world, a.signals, values, sizeof values));
}

void expect_out(irist_rank *t, const args &a, uint64_t value, const char *what)
{
    uint64_t out[2] = {0, 0};
    irist_ok(t, iris_memcpy(t->world, out, a.out, sizeof out));
    irist_check(t, out[0] == value && out[1] == value, "%s: the kernel did not go on to its end", what);
}

/* All lanes that asked, or none, were told that the world stopped, and that what they had waited for held. */
void expect_said(irist_rank *t, const args &a, bool stopped, bool held, const char *what)
{
    uint64_t said[SAID] = {0};
    irist_ok(t, iris_memcpy(t->world, said, a.said, sizeof said));
    irist_check(t, said[ASKED] != 0 && said[HELD] == (held ? said[ASKED] : 0),
                "%s: the condition held for %llu of %llu lanes", what, (unsigned long long)said[HELD],
                (unsigned long long)said[ASKED]);
    for (int i = STOPPED; i < SAID; i++)
        irist_check(t, said[i] == (stopped ? said[ASKED] : 0),
                    "%s: iris_stopped%s is 1 in %llu of %llu lanes", what,
                    i == STOPPED ? "" : i == STOPPED_WAVE ? "_wave" : "_wg", (unsigned long long)said[i],
                    (unsigned long long)said[ASKED]);
    irist_ok(t, iris_memset(t->world, a.said, 0, sizeof said));
}

void stuck(irist_rank *t)
{
    const trouble *trouble = (const struct trouble *)t->arg;
    const int last = t->ranks - 1;
    const bool waits = trouble->last_only ? t->rank == last : t->rank != last;
    if (!trouble->last_only && t->ranks == 1)
        return; /* nobody to wait for */
    args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    const uint64_t whole = a.ctx.deadline;
    a.ctx.deadline = whole / 200;
    a.how = trouble->how;
    a.signals = iris_signals(t->world, 3);
    a.out = (uint64_t *)iris_malloc(t->world, 10 * sizeof(uint64_t)); /* two results, two messages */
    a.said = iris_zeros_u64(t->world, SAID);
    irist_ok(t, iris_channel_create(t->world, &a.ch, (size_t)t->ranks, 64 * sizeof(iris_ll_packet)));
    irist_ok(t, iris_memset(t->world, a.out, 0, 2 * sizeof(uint64_t)));
    set_signals(t, a, 3);
    irist_meet(t);

    const iris_launch_config grid = iris_cooperative(2, 128);
    const double start = now();
    if (waits)
        irist_ok(t, iris_launch(t->world, stuck_kernel, &a, sizeof a, &grid, iris_default_stream(t->world)));
    const iris_status status = iris_barrier(t->world);
    const std::string sentence = iris_error_string(t->world);
    const double seconds = now() - start;
    irist_check(t, status == IRIS_ERR_TIMEOUT, "%s that never ends: %s", trouble->name, iris_status_name(status));
    irist_check(t,
                sentence.find("rank " + std::to_string(last)) != std::string::npos &&
                    sentence.find("waited") != std::string::npos && sentence.find("iris_reset") != std::string::npos &&
                    sentence.find(trouble->words) != std::string::npos,
                "%s: the sentence does not name rank %d and \"%s\": %s", trouble->name, last, trouble->words,
                sentence.c_str());
    irist_check(t, seconds < soon(), "%s: rank %d was told after %.1f s", trouble->name, t->rank, seconds);
    irist_check(t, iris_synchronize(t->world) == IRIS_ERR_TIMEOUT, "%s: the world works without iris_reset",
                trouble->name);

    irist_ok(t, iris_reset(t->world));
    if (waits) {
        expect_out(t, a, 1, trouble->name);
        expect_said(t, a, true, false, trouble->name);
    }
    uint64_t left[3] = {9, 9, 9};
    irist_ok(t, iris_memcpy(t->world, left, a.signals, sizeof left));
    irist_check(t, left[0] + left[1] + left[2] == 0, "%s: iris_reset left the signals at %llu", trouble->name,
                (unsigned long long)left[0]);
    irist_meet(t);
    a.ctx.deadline = whole;
    irist_ok(t, iris_launch(t->world, good_kernel, &a, sizeof a, &grid, iris_default_stream(t->world)));
    irist_meet(t);
    expect_out(t, a, 2, "after iris_reset");
    expect_said(t, a, false, true, "after iris_reset");
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, a.said));
    irist_ok(t, iris_free(t->world, a.out));
    irist_ok(t, iris_free(t->world, a.signals));
}

/*
 * Every rank waits in a kernel, only the last one's deadline is near: its report ends the others' waits too, those with
 * a deadline of the caller's among them.
 */
void abort_spreads(irist_rank *t)
{
    const int *others_wait = (const int *)t->arg;
    args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    if (t->rank == t->ranks - 1)
        a.ctx.deadline /= 200;
    a.how = t->rank == t->ranks - 1 ? (int)WAIT_WG : *others_wait;
    a.signals = iris_signals(t->world, 3);
    a.out = (uint64_t *)iris_malloc(t->world, 2 * sizeof(uint64_t));
    a.said = iris_zeros_u64(t->world, SAID);
    irist_ok(t, iris_memset(t->world, a.out, 0, 2 * sizeof(uint64_t)));
    iris_channel ch;
    irist_ok(t, iris_channel_create(t->world, &ch, 1, 64));
    const size_t used = iris_heap_used(t->world, IRIS_MEM_SYNC);
    irist_meet(t);
    const iris_launch_config grid = iris_cooperative(2, 128);
    const double start = now();
    irist_ok(t, iris_launch(t->world, stuck_kernel, &a, sizeof a, &grid, iris_default_stream(t->world)));
    const iris_status status = iris_synchronize(t->world);
    const double seconds = now() - start;
    const std::string who = "rank " + std::to_string(t->ranks - 1) + ",";
    irist_check(t, status == IRIS_ERR_TIMEOUT, "a wait that never ends: %s", iris_status_name(status));
    irist_check(t, std::string(iris_error_string(t->world)).find(who) != std::string::npos, "not blamed on %s: %s",
                who.c_str(), iris_error_string(t->world));
    irist_check(t, seconds < soon(), "the abort took %.1f s to reach rank %d", seconds, t->rank);
    irist_ok(t, iris_channel_destroy(t->world, &ch));
    irist_check(t, iris_heap_used(t->world, IRIS_MEM_SYNC) < used, "a stopped world keeps a destroyed channel");
    irist_ok(t, iris_reset(t->world));
    expect_out(t, a, 1, "abort");
    expect_said(t, a, true, false, "abort");
    irist_ok(t, iris_free(t->world, a.said));
    irist_ok(t, iris_free(t->world, a.out));
    irist_ok(t, iris_free(t->world, a.signals));
}

/* Nobody gives up because a clock goes back. */
void clock_goes_back(irist_rank *t)
{
    args a;
    uint64_t out = 0;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.signals = iris_signals(t->world, 1);
    a.out = (uint64_t *)iris_malloc(t->world, sizeof out);
    irist_ok(t, iris_memset(t->world, a.out, 0, sizeof out));
    irist_run(t, clock_kernel, a, iris_grid(1, 64));
    irist_ok(t, iris_memcpy(t->world, &out, a.out, sizeof out));
    irist_check(t, out == 1, "a wait was given up a deadline before it began (%llu)",
                (unsigned long long)out);
    irist_ok(t, iris_free(t->world, a.out));
    irist_ok(t, iris_free(t->world, a.signals));
}

/* A case on ranks that have a deadline, whoever has asked for none. */
void with_deadline(void (*rank)(irist_rank *), const void *arg)
{
    const char *ms = std::getenv("IRIS_TIMEOUT_MS");
    if (ms && std::atof(ms) == 0)
        unsetenv("IRIS_TIMEOUT_MS");
    irist_spmd(rank, arg);
}

} // namespace

TEST_CASE("a clock that goes back ends no wait", "[signal]") { with_deadline(clock_goes_back, nullptr); }

TEST_CASE("a signal that never comes ends in a sentence, and iris_reset mends the world", "[signal]")
{
    for (const trouble &each : troubles) {
        SECTION(each.name) { with_deadline(stuck, &each); }
    }
}

TEST_CASE("one rank's deadline ends every rank's wait", "[signal]")
{
    for (const int others_wait : {(int)WAIT_WG, (int)UNTIL})
        with_deadline(abort_spreads, &others_wait);
}
