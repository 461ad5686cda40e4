/* SPDX-License-Identifier: MIT */
/*
 * fibers.h: the lanes of a workgroup on the host, for mma_run.cpp, mfma_run.cpp and tma_forward_run.cpp, which say
 * LANES before: of a wave; and IRIST_WAVES, where there are not 8.
 *
 *   wg fiber run_lanes pause_lane join_workgroup      each lane is a fiber that runs until it waits for others; what
 *                                                     goes on beside them, where something does, has its turns too
 *   touch_shared                                      no wave touches what another writes between two meetings
 *   expect failures trial made                        what went wrong, and what is done wrong on purpose
 *   notices                                           a trial fails while something is done wrong
 *   group_of_all                                      the group of all waves, for the lane that asks
 *   random_below random_state expect_untouched
 *   widened_16 narrowed_16                            f16 and bf16 as bits
 *
 * Waves run in an order that changes every time. Once all lanes have met, nothing from before can race with what comes
 * after.
 */
#ifndef TESTS_GEMM_FIBERS_H
#define TESTS_GEMM_FIBERS_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

#include <iris/gen/dtypes.h>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define IRIST_FIBER(statement) statement
#else
#define IRIST_FIBER(statement) (void)0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IRIST_SLOW 1 /* to compile and to run: few of the loops */
#else
#define IRIST_SLOW 0
#endif

#if !defined(IRIST_WAVES)
#define IRIST_WAVES 8
#endif
enum { WAVES = IRIST_WAVES, STACK = 256 << 10, MARGIN = 64 };

/* When each wave last touched 16 bytes of shared memory: 1 + the meetings it had been to; 0: never. */
struct touch {
    uint32_t read[WAVES], written[WAVES];
};

struct fiber {
    ucontext_t context;
    void *sanitizer;
    std::unique_ptr<char[]> stack;
    const uint32_t *watched; /* waits until it is no longer `seen`; null: runs */
    uint32_t seen;
    bool done;
    uint32_t wave, lane, met; /* met: how often it has met all others */
};

/* The workgroup. */
static struct {
    fiber fibers[WAVES * LANES];
    ucontext_t scheduler;
    void *sanitizer;
    fiber *now;
    void (*work)();
    bool (*beside)(); /* a turn of what goes on beside the lanes: false at its end; null: nothing does */
    uint32_t arrived, meetings;
    std::vector<char> shared;
    std::vector<touch> touches;
} wg;

/* What is done wrong on purpose, to see that it is noticed. */
enum mistake { NONE, PASS_A_MEETING, FORGET_A_WAIT, READ_BEYOND };

static uint32_t failures;
static char trial[160];
static mistake made;

static void expect(bool held, const char *what)
{
    if (!held && failures++ < 20 && made == NONE)
        std::printf("%s: %s\n", trial, what);
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n)
{
    return ((random_state = random_state * 1664525u + 1013904223u) >> 8) % n;
}

/* Waits until *watched changes. */
static void pause_lane(const uint32_t *watched, uint32_t seen)
{
    wg.now->watched = watched;
    wg.now->seen = seen;
    IRIST_FIBER(__tsan_switch_to_fiber(wg.sanitizer, 0));
    swapcontext(&wg.now->context, &wg.scheduler);
}

/* All lanes meet. */
static void join_workgroup()
{
    const uint32_t meeting = wg.meetings;
    if (++wg.arrived == WAVES * LANES) {
        wg.arrived = 0;
        wg.meetings++;
    }
    const bool passes = made == PASS_A_MEETING && wg.now->wave == 5 && wg.now->met == 3;
    while (wg.meetings == meeting && !passes)
        pause_lane(&wg.meetings, meeting);
    wg.now->met++;
}

/* The wave touches bytes `at` … of shared memory at some time since it had been to `since` meetings. */
static inline void touch_shared(size_t at, uint32_t bytes, uint32_t since, bool writes)
{
    if (at + bytes + MARGIN > wg.shared.size() || at % bytes != 0) {
        expect(false, "an access beyond the workspace, or misaligned");
        std::exit(1);
    }
    touch &t = wg.touches[at / 16];
    for (uint32_t w = 0; w < WAVES; w++)
        if (w != wg.now->wave)
            expect(t.written[w] <= since && (!writes || t.read[w] <= since), "two waves race for shared memory");
    (writes ? t.written : t.read)[wg.now->wave] = wg.now->met + 1;
}

static void begin_lane()
{
    wg.work();
    wg.now->done = true;
    pause_lane(nullptr, 0);
}

/* Lets lanes run until all are done, or all wait. */
static void schedule()
{
    for (bool moved = true; moved;) {
        uint32_t order[WAVES];
        moved = wg.beside && wg.beside();
        for (uint32_t w = 0; w < WAVES; w++)
            order[w] = w;
        for (uint32_t w = 0; w < WAVES; w++)
            std::swap(order[w], order[w + random_below(WAVES - w)]);
        for (uint32_t i = 0; i < WAVES * LANES; i++) {
            fiber &f = wg.fibers[order[i / LANES] * LANES + i % LANES];
            if (f.done || (f.watched && *f.watched == f.seen))
                continue;
            moved = true;
            f.watched = nullptr;
            wg.now = &f;
            IRIST_FIBER(__tsan_switch_to_fiber(f.sanitizer, 0));
            swapcontext(&wg.scheduler, &f.context);
        }
    }
    for (const fiber &f : wg.fibers)
        if (!f.done) {
            expect(false, "lanes wait for each other");
            return; /* the others too */
        }
}

/* Every lane of a workgroup with so many bytes of shared memory, all NaN, does `work`. */
static void run_lanes(uint32_t shared_bytes, void (*work)())
{
    wg.shared.assign(shared_bytes + MARGIN, (char)0xff);
    wg.touches.assign(wg.shared.size() / 16, touch());
    wg.arrived = wg.meetings = 0;
    wg.work = work;
    IRIST_FIBER(wg.sanitizer = __tsan_get_current_fiber());
    for (uint32_t i = 0; i < WAVES * LANES; i++) {
        fiber &f = wg.fibers[i];
        if (!f.stack)
            f.stack.reset(new char[STACK]);
        f.wave = i / LANES, f.lane = i % LANES;
        f.watched = nullptr;
        f.done = false;
        f.met = 0;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, begin_lane, 0);
        IRIST_FIBER(f.sanitizer = __tsan_create_fiber(0));
    }
    schedule();
    for (fiber &f : wg.fibers)
        IRIST_FIBER(__tsan_destroy_fiber(f.sanitizer)), (void)f;
}

static inline float widened_16(iris_dtype dtype, uint16_t bits)
{
    iris_bf16 b;
    iris_f16 h;
    b.bits = h.bits = bits;
    return dtype == IRIS_BF16 ? iris_widen_bf16(b) : iris_widen_f16(h);
}

static inline uint16_t narrowed_16(iris_dtype dtype, float v)
{
    return dtype == IRIS_BF16 ? iris_narrow_bf16(v).bits : iris_narrow_f16(v).bits;
}

/* An iris_wave_group. */
template <typename wave_group> static inline void group_of_all(wave_group *group)
{
    *group = {};
    group->wave = wg.now->wave, group->waves = WAVES;
    group->member = group->wave * LANES + wg.now->lane, group->members = WAVES * LANES;
}

/* 1 when a trial fails while a mistake is made; its failures do not count. */
template <typename trial_function> static inline bool notices(mistake m, trial_function try_it)
{
    const uint32_t before = failures;
    made = m;
    try_it();
    const bool noticed = failures > before;
    made = NONE;
    if (!noticed)
        std::printf("mistake %d goes unnoticed\n", (int)m);
    failures = before;
    return noticed;
}

/* A staging tile whose piece has been looked at and covered holds nothing else. */
static inline void expect_untouched(const std::vector<char> &stage)
{
    for (char byte : stage)
        expect(byte == (char)0xaa, "a staging tile is written beside the piece");
}

#endif
