/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/signal.h> and <iris/gen/wait.h>: iris_signal_set, iris_signal_add, iris_wait_*, iris_test_*,
 * iris_wait_any_*, iris_wait_all_*, iris_wait_some_*, iris_wait_until_*, iris_test_any_* and iris_test_all_* for every
 * comparison and group; iris_clock_ticks.
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
enum { LANES = 80 };   /* of a workgroup: the last wave is short of lanes on every GPU */

struct wait_args {
    iris_ctx ctx;
    iris_signal *signals;
    uint64_t *out; /* own memory */
    uint64_t value, after;
    int cmp, group, from, chosen, everyone;
    uint32_t spins; /* how long the raiser holds back */
    size_t n;       /* signals that several_kernel looks at */
    uint64_t ticks; /* of until_kernel */
    size_t *indices; /* own memory */
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
        IRIS_DEVICE size_t some(const wait_args *a)                                                                    \
        {                                                                                                              \
            return iris_wait_some_##c(&a->ctx, a->signals, a->n, a->value, a->indices);                                \
        }                                                                                                              \
        IRIS_DEVICE size_t test_any(const wait_args *a)                                                                \
        {                                                                                                              \
            return iris_test_any_##c(&a->ctx, a->signals, a->n, a->value);                                             \
        }                                                                                                              \
        IRIS_DEVICE int test_all(const wait_args *a)                                                                   \
        {                                                                                                              \
            return iris_test_all_##c(&a->ctx, a->signals, a->n, a->value);                                             \
        }                                                                                                              \
        IRIS_DEVICE int until(const wait_args *a)                                                                      \
        {                                                                                                              \
            return a->group == LANE   ? iris_wait_until_##c(&a->ctx, a->signals, a->value, a->ticks)                   \
                   : a->group == WAVE ? iris_wait_until_##c##_wave(&a->ctx, a->signals, a->value, a->ticks)            \
                                      : iris_wait_until_##c##_wg(&a->ctx, a->signals, a->value, a->ticks);             \
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

/* One lane asks in each of the ways that take several signals: any, all, and which of them if any. */
enum { TEST_ANY, TEST_ALL, SOME, ANSWERS };
template <typename F> IRIS_DEVICE void several_chosen(const wait_args *a)
{
    const uint64_t any = F::test_any(a);
    a->out[TEST_ANY] = any;
    a->out[TEST_ALL] = (uint64_t)F::test_all(a);
    a->out[SOME] = any == a->n ? 0 : F::some(a); /* which would wait for ever */
}
template <typename F> IRIS_DEVICE void some_chosen(const wait_args *a)
{
    if (iris_grid_lane() == 0)
        a->out[0] = F::some(a);
}

/* 0 when the signal held, else how long the lane that watched has waited; of other lanes more than that. */
template <typename F> IRIS_DEVICE void until_chosen(const wait_args *a)
{
    if (a->group == LANE && iris_lane() != 0)
        return;
    const uint64_t start = iris_clock();
    const int held = F::until(a);
    const bool watches = a->group == LANE || (a->group == WAVE ? iris_lane() : iris_wg_lane()) == 0;
    a->out[iris_grid_lane()] = held ? 0 : watches ? 1 + (iris_clock() - start) : ~0ull;
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
#define chosen several_chosen
IRIS_KERNEL(several_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen
#define chosen some_chosen
IRIS_KERNEL(some_kernel, wait_args, a, 256)
{
    switch (a->cmp) {
        IRIS_EACH_CMP(IRIST_CMP_CASE)
    }
}
#undef chosen
#define chosen until_chosen
IRIS_KERNEL(until_kernel, wait_args, a, 256)
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
        args.n = SIGNALS;
        args.indices = (size_t *)iris_malloc(t->world, SIGNALS * sizeof(size_t));
        irist_check(t, args.signals && args.out && args.indices, "%s", iris_error_string(t->world));
        irist_ok(t, iris_stream_create(t->world, &raiser));
    }

    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_stream_destroy(t->world, raiser));
        irist_ok(t, iris_free(t->world, args.indices));
        irist_ok(t, iris_free(t->world, args.out));
        irist_ok(t, iris_free(t->world, args.signals));
    }

    /* What a kernel wrote to `indices`. */
    std::vector<size_t> indices(irist_rank *t)
    {
        std::vector<size_t> got(SIGNALS);
        irist_ok(t, iris_memcpy(t->world, got.data(), args.indices, got.size() * sizeof got[0]));
        return got;
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
        irist_meet(t); /* what the neighbour raised before has come, also where nobody waited for it */
        set_all(t, c.before);
        irist_meet(t);
        const iris_launch_config one = iris_grid(1, 1), grid = iris_cooperative(2, LANES);
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

/* Of a random part of the signals the comparison holds: none, one, some or all, of one signal too. */
void every_test_of_several(irist_rank *t)
{
    static const size_t counts[] = {1, 2, 3, SIGNALS - 1, SIGNALS};
    const size_t untouched = 0xDDDDDDDDDDDDDDDDull;
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons) {
        for (uint32_t k = 0; k < 4 * sizeof counts / sizeof counts[0]; k++, turn++) {
            w.args.n = counts[k / 4];
            std::vector<size_t> holding;
            for (size_t i = 0; i < SIGNALS; i++) {
                const bool holds = k % 4 == 0   ? false
                                   : k % 4 == 1 ? i == irist_pick(t->seed, 61, turn, (uint32_t)w.args.n)
                                   : k % 4 == 2 ? irist_pick(t->seed, 62 + turn, i, 2) == 0
                                                : true;
                const bool behind = i >= w.args.n; /* these hold, and nobody asks */
                w.before[i].value = holds || behind ? c.after : c.before;
                if (holds && !behind)
                    holding.push_back(i);
            }
            irist_ok(t, iris_memcpy(t->world, w.args.signals, w.before.data(), SIGNALS * sizeof w.before[0]));
            irist_ok(t, iris_memset(t->world, w.args.indices, 0xDD, SIGNALS * sizeof(size_t)));
            w.args.cmp = c.cmp;
            w.args.value = c.value;
            irist_run(t, several_kernel, w.args, iris_grid(1, 1));
            irist_ok(t, iris_memcpy(t->world, w.out.data(), w.args.out, ANSWERS * sizeof w.out[0]));
            const size_t any = holding.empty() ? w.args.n : holding[0];
            irist_check(t, w.out[TEST_ANY] == any, "iris_test_any_%s of %zu is %llu, not %zu", c.name, w.args.n,
                        (unsigned long long)w.out[TEST_ANY], any);
            irist_check(t, w.out[TEST_ALL] == (uint64_t)(holding.size() == w.args.n),
                        "iris_test_all_%s is %llu where %zu of %zu hold", c.name,
                        (unsigned long long)w.out[TEST_ALL], holding.size(), w.args.n);
            irist_check(t, w.out[SOME] == holding.size(), "iris_wait_some_%s of %zu counts %llu, not %zu", c.name,
                        w.args.n, (unsigned long long)w.out[SOME], holding.size());
            holding.resize(SIGNALS, untouched);
            irist_check(t, w.indices(t) == holding, "iris_wait_some_%s of %zu wrote other indices", c.name, w.args.n);
        }
    }
    w.args.n = 0;
    irist_run(t, several_kernel, w.args, iris_grid(1, 1));
    irist_ok(t, iris_memcpy(t->world, w.out.data(), w.args.out, ANSWERS * sizeof w.out[0]));
    irist_check(t, w.out[TEST_ANY] == 0 && w.out[TEST_ALL] == 1, "of no signals any is %llu and all %llu",
                (unsigned long long)w.out[TEST_ANY], (unsigned long long)w.out[TEST_ALL]);
    w.free(t);
}

void every_wait_some(irist_rank *t)
{
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons) {
        const int which = (int)irist_pick(t->seed, 53, turn, SIGNALS);
        const uint64_t count = w.run(t, IRISI_KERNEL_PTR(some_kernel), "wait_some", c, LANE, which, 0, turn++)[0];
        irist_check(t, count == 1 && w.indices(t)[0] == (size_t)which,
                    "iris_wait_some_%s counts %llu, the first %zu, where %d alone was raised", c.name,
                    (unsigned long long)count, w.indices(t)[0], which);
    }
    w.free(t);
}

/* What comes is waited for, what does not is given up when the caller says so, and the world goes on. */
void every_wait_until(irist_rank *t)
{
    waiter w(t);
    uint32_t turn = 0;
    for (const comparison &c : comparisons) {
        for (int group = LANE; group <= WG; group++) {
            w.args.ticks = UINT64_MAX;
            for (uint64_t gone : w.run(t, IRISI_KERNEL_PTR(until_kernel), "wait_until", c, group, 0, 0, turn++))
                irist_check(t, gone == 0, "iris_wait_until_%s, group %d, gave up for ever", c.name, group);
            /* Signal 0 stays as it is: signal 1 is raised. */
            w.args.ticks = turn % 2 ? iris_clock_ticks(t->world, 300) : 0;
            for (uint64_t gone : w.run(t, IRISI_KERNEL_PTR(until_kernel), "wait_until", c, group, 1, 0, turn))
                irist_check(t, gone > w.args.ticks, "iris_wait_until_%s, group %d, of %llu ticks ended with %llu",
                            c.name, group, (unsigned long long)w.args.ticks, (unsigned long long)gone);
        }
    }
    /* One look is enough for what is there already. */
    const comparison there = {"eq", IRISI_EQ, 5, 5, 5};
    w.args.ticks = 0;
    for (uint64_t gone : w.run(t, IRISI_KERNEL_PTR(until_kernel), "wait_until", there, WG, 1, 0, turn))
        irist_check(t, gone == 0, "iris_wait_until_eq with no time missed a signal that held before");
    w.free(t);
}

/* The caller's deadline may be behind the world's, which does not hold then. */
void until_outlasts(irist_rank *t)
{
    const comparison c = {"ge", IRISI_GE, 4, 5, 5};
    waiter w(t);
    w.args.ctx.deadline = iris_clock_ticks(t->world, 1000);
    w.args.ticks = iris_clock_ticks(t->world, 20000);
    for (uint64_t gone : w.run(t, IRISI_KERNEL_PTR(until_kernel), "wait_until", c, WG, 1, 0, 0))
        irist_check(t, gone > w.args.ticks, "a wait of %llu ticks ended with %llu", (unsigned long long)w.args.ticks,
                    (unsigned long long)gone);
    w.free(t);
}

void ticks_of_microseconds(irist_rank *t)
{
    const uint64_t second = iris_clock_ticks(t->world, 1000000);
    irist_check(t, second >= 1000000, "a second has %llu ticks", (unsigned long long)second);
    irist_check(t, iris_clock_ticks(t->world, 0) == 0, "no time has ticks");
    irist_check(t, iris_clock_ticks(t->world, 1) == (second + 999999) / 1000000, "a microsecond is not rounded up");
    irist_check(t, iris_clock_ticks(t->world, 7000003) == 7 * second + (3 * second + 999999) / 1000000,
                "seven seconds and a bit");
    irist_check(t, iris_clock_ticks(t->world, UINT64_MAX) == UINT64_MAX || second == 1000000,
                "what 64 bits do not hold is not without limit");
    irist_check(t, iris_clock_ticks(nullptr, 5) == 0, "a null world has ticks");
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
TEST_CASE("tests of several signals, and wait_some, name those that hold", "[signal]")
{
    irist_spmd(every_test_of_several, nullptr);
}
TEST_CASE("wait_some returns the signals that were raised", "[signal]") { irist_spmd(every_wait_some, nullptr); }
TEST_CASE("wait_until ends with the signal or with the caller's time, and the world goes on", "[signal]")
{
    irist_spmd(every_wait_until, nullptr);
    irist_spmd(until_outlasts, nullptr);
}
TEST_CASE("microseconds become ticks of the device's clock", "[signal]") { irist_spmd(ticks_of_microseconds, nullptr); }
