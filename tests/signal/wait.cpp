/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/signal.h> and <iris/gen/wait.h>: iris_signal_set, iris_signal_add, iris_wait_*, iris_test_*,
 * iris_wait_any_* and iris_wait_all_* for every comparison and group.
 */
#include "harness.h"

#include <cstring>
#include <string>

#include <iris/gen/index.h>
#include <iris/gen/wait.h>

namespace {

enum { LANE, WAVE, WG };

const uint64_t big = (uint64_t)1 << 63; /* compares as unsigned, or is found out */

/* A comparison, a value that it does not hold for, and one that it does. */
struct comparison {
    const char *name;
    irisi_cmp cmp;
    uint64_t before, after, value;
};

const comparison comparisons[] = {
    {"eq", IRISI_EQ, 4, 5, 5}, {"eq", IRISI_EQ, 6, 5, 5},     {"eq", IRISI_EQ, 5 + ((uint64_t)1 << 32), 5, 5},
    {"ne", IRISI_NE, 5, 6, 5}, {"ne", IRISI_NE, 5, 4, 5},     {"ne", IRISI_NE, 5, 5 + ((uint64_t)1 << 32), 5},
    {"gt", IRISI_GT, 5, 6, 5}, {"gt", IRISI_GT, 5, big, 5},   {"gt", IRISI_GT, big, big + 1, big},
    {"ge", IRISI_GE, 4, 5, 5}, {"ge", IRISI_GE, 0, ~0ull, 5}, {"ge", IRISI_GE, big - 1, big, big},
    {"lt", IRISI_LT, 5, 4, 5}, {"lt", IRISI_LT, big, 0, 5},   {"lt", IRISI_LT, ~0ull, big, big + 1},
    {"le", IRISI_LE, 6, 5, 5}, {"le", IRISI_LE, ~0ull, 0, 0}, {"le", IRISI_LE, big + 1, big, big},
};

enum { SIGNALS = 70 }; /* more than the lanes of a wave */

struct wait_args {
    iris_ctx ctx;
    iris_signal *signals;
    uint64_t *out; /* own memory */
    uint64_t value, after;
    int cmp, group, from, chosen, everyone;
    uint32_t spins; /* how long the raiser holds back */
};

template <int C> struct forms;

#define IRIST_FORMS(c, C, sign)                                                                                        \
    template <> struct forms<IRISI_##C> {                                                                              \
        IRIS_DEVICE int wait(const wait_args *a)                                                                       \
        {                                                                                                              \
            return a->group == LANE   ? iris_wait_##c(&a->ctx, a->signals, a->value)                                   \
                   : a->group == WAVE ? iris_wait_##c##_wave(&a->ctx, a->signals, a->value)                            \
                                      : iris_wait_##c##_wg(&a->ctx, a->signals, a->value);                             \
        }                                                                                                              \
        IRIS_DEVICE uint64_t any(const wait_args *a)                                                                   \
        {                                                                                                              \
            return a->group == LANE ? iris_wait_any_##c(&a->ctx, a->signals, SIGNALS, a->value)                        \
                                    : iris_wait_any_##c##_wave(&a->ctx, a->signals, SIGNALS, a->value);                \
        }                                                                                                              \
        IRIS_DEVICE int all(const wait_args *a)                                                                        \
        {                                                                                                              \
            return a->group == LANE   ? iris_wait_all_##c(&a->ctx, a->signals, SIGNALS, a->value)                      \
                   : a->group == WAVE ? iris_wait_all_##c##_wave(&a->ctx, a->signals, SIGNALS, a->value)               \
                                      : iris_wait_all_##c##_wg(&a->ctx, a->signals, SIGNALS, a->value);                \
        }                                                                                                              \
        IRIS_DEVICE uint64_t test(const wait_args *a)                                                                  \
        {                                                                                                              \
            return (uint64_t)iris_test_##c(&a->ctx, a->signals, a->value);                                             \
        }                                                                                                              \
    };
IRIS_EACH_CMP(IRIST_FORMS)

#define IRIST_CMP_CASE(c, C, sign)                                                                                     \
    case IRISI_##C: chosen<forms<IRISI_##C>>(a); break;

/* Who waits: lanes that are alone, a wave, or a workgroup. Each lane says what it saw, or that nothing held. */
const uint64_t GAVE_UP = 12345;
template <typename F> IRIS_DEVICE void wait_chosen(const wait_args *a)
{
    if (a->group == LANE && iris_lane() != 0)
        return; /* a wave's lanes wait as one: lane 0 stands for them */
    const int held = F::wait(a);
    a->out[iris_grid_lane()] = held == 1 ? iris_signal_read(&a->ctx, a->signals) : GAVE_UP;
}
template <typename F> IRIS_DEVICE void any_chosen(const wait_args *a)
{
    if (a->group == LANE && iris_lane() != 0)
        return;
    a->out[iris_grid_lane()] = F::any(a);
}
template <typename F> IRIS_DEVICE void all_chosen(const wait_args *a)
{
    if (a->group == LANE && iris_lane() != 0)
        return;
    uint64_t holding = F::all(a) == 1 ? 0 : GAVE_UP;
    for (int i = 0; i < SIGNALS; i++)
        holding += iris_signal_read(&a->ctx, a->signals + i) == a->after;
    a->out[iris_grid_lane()] = holding;
}
template <typename F> IRIS_DEVICE void test_chosen(const wait_args *a) { a->out[iris_grid_lane()] = F::test(a); }

#define chosen wait_chosen
IRIS_KERNEL(wait_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen
#define chosen any_chosen
IRIS_KERNEL(wait_any_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen
#define chosen all_chosen
IRIS_KERNEL(wait_all_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen
#define chosen test_chosen
IRIS_KERNEL(test_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen

IRIS_DEVICE void hold_back(uint32_t spins)
{
    for (uint32_t i = 0; i < spins; i++)
        iris_pause(i);
}

/* Raises signal `chosen` of rank `from`, after all the others or alone. */
IRIS_KERNEL(raise_kernel, wait_args, a, 256)
{
    if (iris_grid_lane() != 0)
        return;
    hold_back(a->spins);
    for (int i = SIGNALS - 1; i >= 0 && a->everyone; i--)
        if (a->chosen != i)
            iris_signal_set(&a->ctx, a->signals + i, a->after, a->from);
    if (a->everyone)
        hold_back(a->spins);
    iris_signal_set(&a->ctx, a->signals + a->chosen, a->after, a->from);
}

/* A rank's two streams: one waits, one raises the neighbour's signals. */
struct waiter {
    wait_args args;
    iris_stream raiser;
    std::vector<iris_signal> before;
    std::vector<uint64_t> out;

    explicit waiter(irist_rank *t) : before(SIGNALS), out(512)
    {
        std::memset(&args, 0, sizeof args);
        args.ctx = iris_device_ctx(t->world);
        args.signals = iris_signals(t->world, SIGNALS);
        args.out = (uint64_t *)iris_malloc(t->world, out.size() * sizeof out[0]);
        args.from = (t->rank + 1) % t->ranks;
        irist_check(t, args.signals && args.out, "%s", iris_error_string(t->world));
        irist_ok(t, iris_stream_create(t->world, &raiser));
    }

    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_stream_destroy(t->world, raiser));
        irist_ok(t, iris_free(t->world, args.out));
        irist_ok(t, iris_free(t->world, args.signals));
    }

    void set_all(irist_rank *t, uint64_t value)
    {
        for (iris_signal &s : before)
            s.value = value;
        irist_ok(t, iris_memcpy(t->world, args.signals, before.data(), SIGNALS * sizeof before[0]));
        irist_ok(t, iris_memset(t->world, args.out, 0xEE, out.size() * sizeof out[0]));
    }

    /* Runs the kernel while the neighbour raises; what the lanes said, the untouched left out. */
    std::vector<uint64_t> run(irist_rank *t, irisi_kernel kernel, const char *name, const comparison &c, int group,
                              int which, int everyone, uint32_t turn)
    {
        args.cmp = c.cmp;
        args.group = group;
        args.value = c.value;
        args.after = c.after;
        args.chosen = which;
        args.everyone = everyone;
        args.spins = irist_pick(t->seed, 40 + (uint64_t)t->rank, turn, 3) * 40; /* the waiter is first, or the raiser */
        set_all(t, c.before);
        irist_meet(t);
        const iris_launch_config one = iris_grid(1, 1), grid = iris_cooperative(2, 128);
        irist_ok(t, irisi_launch(t->world, kernel, name, &args, sizeof args, &grid, iris_default_stream(t->world)));
        irist_ok(t, irisi_launch(t->world, IRISI_KERNEL_PTR(raise_kernel), "raise_kernel", &args, sizeof args, &one,
                                 raiser));
        irist_ok(t, iris_synchronize(t->world));
        irist_ok(t, iris_memcpy(t->world, out.data(), args.out, out.size() * sizeof out[0]));
        std::vector<uint64_t> said;
        for (uint64_t v : out)
            if (v != 0xEEEEEEEEEEEEEEEEull)
                said.push_back(v);
        irist_check(t, !said.empty(), "%s %s: nobody came back", name, c.name);
        return said;
    }
};

void every_wait(irist_rank *t)
{
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons)
        for (int group = LANE; group <= WG; group++)
            for (uint64_t seen : w.run(t, IRISI_KERNEL_PTR(wait_kernel), "wait", c, group, 0, 0, turn++))
                irist_check(t, seen == c.after, "iris_wait_%s, group %d, returned at %llu instead of %llu", c.name,
                            group, (unsigned long long)seen, (unsigned long long)c.after);
    w.free(t);
}

void every_wait_any(irist_rank *t)
{
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons) {
        for (int group = LANE; group <= WAVE; group++) {
            const int which = (int)irist_pick(t->seed, 50, turn, SIGNALS);
            for (uint64_t found : w.run(t, IRISI_KERNEL_PTR(wait_any_kernel), "wait_any", c, group, which, 0, turn))
                irist_check(t, found == (uint64_t)which, "iris_wait_any_%s, group %d, found %llu instead of %d", c.name,
                            group, (unsigned long long)found, which);
            turn++;
        }
    }
    w.free(t);
}

void every_wait_all(irist_rank *t)
{
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons)
        for (int group = LANE; group <= WG; group++) {
            const uint32_t ends = irist_pick(t->seed, 51, turn, 4); /* the last to come: the first, the last, or any */
            const uint32_t late = ends == 0 ? 0 : ends == 1 ? SIGNALS - 1 : irist_pick(t->seed, 52, turn, SIGNALS);
            for (uint64_t holding :
                 w.run(t, IRISI_KERNEL_PTR(wait_all_kernel), "wait_all", c, group, (int)late, 1, turn++))
                irist_check(t, holding == SIGNALS,
                            "iris_wait_all_%s, group %d, returned with %llu of %d signals raised", c.name, group,
                            (unsigned long long)holding, SIGNALS);
        }
    w.free(t);
}

void every_test(irist_rank *t)
{
    static const uint64_t values[] = {0, 1, 4, 5, 6, big - 1, big, big + 1, ~0ull};
    waiter w(t);
    for (uint64_t now : values) {
        for (uint64_t value : values) {
            const int holds[] = {now == value, now != value, now > value, now >= value, now < value, now <= value};
            w.set_all(t, now);
            for (int c = IRISI_EQ; c <= IRISI_LE; c++) {
                w.args.cmp = c;
                w.args.value = value;
                irist_run(t, test_kernel, w.args, iris_grid(1, 1));
                irist_ok(t, iris_memcpy(t->world, w.out.data(), w.args.out, sizeof w.out[0]));
                irist_check(t, w.out[0] == (uint64_t)holds[c], "iris_test, comparison %d of %llu and %llu, is %llu", c,
                            (unsigned long long)now, (unsigned long long)value, (unsigned long long)w.out[0]);
            }
        }
    }
    w.free(t);
}

struct raise_args {
    iris_ctx ctx;
    iris_signal *signals;
    int op, group, raises;
};

/* Each caller of the group raises `raises` times: ADD 3 on every rank's signal, SET to the turn. */
IRIS_KERNEL(raising_kernel, raise_args, a, 256)
{
    for (int k = 0; k < a->raises; k++) {
        for (int rank = 0; rank < a->ctx.world; rank++) {
            iris_signal *add = a->signals, *set = a->signals + 1 + a->ctx.rank;
            if (a->group == LANE && a->op == 0)
                iris_signal_add(&a->ctx, add, 3, rank);
            else if (a->group == WAVE && a->op == 0)
                iris_signal_add_wave(&a->ctx, add, 3, rank);
            else if (a->op == 0)
                iris_signal_add_wg(&a->ctx, add, 3, rank);
            else if (a->group == LANE)
                iris_signal_set(&a->ctx, set, (uint64_t)k + 1, rank);
            else if (a->group == WAVE)
                iris_signal_set_wave(&a->ctx, set, (uint64_t)k + 1, rank);
            else
                iris_signal_set_wg(&a->ctx, set, (uint64_t)k + 1, rank);
        }
    }
}

struct count_args {
    uint64_t *out;
};
IRIS_KERNEL(count_kernel, count_args, a, 256)
{
    if (iris_grid_lane() == 0) {
        a->out[LANE] = iris_grid_lanes();
        a->out[WAVE] = (uint64_t)iris_workgroups() * iris_waves();
        a->out[WG] = iris_workgroups();
    }
}

/* Signals raised from everywhere at once: one raise for each lane, wave or workgroup that called, none lost. */
void every_raise(irist_rank *t)
{
    const size_t n = 1 + (size_t)t->ranks;
    std::vector<uint64_t> got(n), callers(3);
    count_args count;
    count.out = (uint64_t *)iris_malloc(t->world, 3 * sizeof(uint64_t));
    irist_run(t, count_kernel, count, iris_cooperative(2, 256));
    irist_ok(t, iris_memcpy(t->world, callers.data(), count.out, 3 * sizeof(uint64_t)));
    raise_args args;
    args.ctx = iris_device_ctx(t->world);
    args.signals = iris_signals(t->world, n);
    args.raises = (int)irist_laps(100, 1000);
    for (args.group = LANE; args.group <= WG; args.group++) {
        irist_ok(t, iris_memset(t->world, args.signals, 0, n * sizeof(uint64_t)));
        irist_meet(t);
        for (args.op = 0; args.op < 2; args.op++)
            irist_run(t, raising_kernel, args, iris_cooperative(2, 256));
        irist_meet(t);
        irist_ok(t, iris_memcpy(t->world, got.data(), args.signals, n * sizeof(uint64_t)));
        const uint64_t sum = 3 * callers[(size_t)args.group] * (uint64_t)args.raises * (uint64_t)t->ranks;
        irist_check(t, got[0] == sum, "group %d: signal_add reached %llu, not %llu", args.group,
                    (unsigned long long)got[0], (unsigned long long)sum);
        for (size_t r = 1; r < n; r++)
            irist_check(t, got[r] == (uint64_t)args.raises, "group %d: signal_set by rank %zu left %llu", args.group,
                        r - 1, (unsigned long long)got[r]);
        irist_meet(t);
    }
    irist_ok(t, iris_free(t->world, args.signals));
    irist_ok(t, iris_free(t->world, count.out));
}

} // namespace

TEST_CASE("a wait returns when its comparison holds, and not before", "[signal]") { irist_spmd(every_wait, nullptr); }
TEST_CASE("wait_any returns the signal that holds", "[signal]") { irist_spmd(every_wait_any, nullptr); }
TEST_CASE("wait_all returns when every signal holds", "[signal]") { irist_spmd(every_wait_all, nullptr); }
TEST_CASE("a test of a signal compares unsigned 64-bit values", "[signal]") { irist_spmd(every_test, nullptr); }
TEST_CASE("no raise of a signal is lost or doubled", "[signal]") { irist_spmd(every_raise, nullptr); }
