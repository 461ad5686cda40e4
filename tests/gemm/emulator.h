/* SPDX-License-Identifier: MIT */
/*
 * emulator.h: a workgroup of a GPU on the host, for the programs that execute the library's device loops lane by lane:
 * mma_run.cpp, gemv_run.cpp, mfma_run.cpp, skinny_amd_run.cpp, tma_forward_run.cpp and tma_gather_run.cpp. They say
 * LANES before, of a wave, and IRIST_WAVES, where there are not 8.
 *
 *   wg fiber run_lanes pause_lane rest_lane           each lane is a fiber that runs until it waits for others; what
 *                                                     goes on beside them, where something does, has its turns too
 *   meeting meet join_wave join_workgroup             lanes wait for each other
 *   wave_instruction                                  is carried out when the wave's last lane has come to it
 *   shared_at touch_shared read_shared write_shared   no wave touches what another writes between two meetings
 *   copy_chunk close_copies await_copies              copies to shared memory arrive when their lane waits for them and
 *   begin_copies end_copies                           no sooner; what is copied over is NaN till then
 *   expect failures trial random_below                what went wrong, and the trial's name
 *   made notices                                      what is done wrong on purpose, and whether a trial fails then
 *   program run_program                               main of such a program
 *   group_of_all                                      the group of all waves, for the lane that asks
 *
 * Waves run in an order that changes every time. Once all lanes have met, nothing from before can race with what comes
 * after.
 */
#ifndef TESTS_GEMM_EMULATOR_H
#define TESTS_GEMM_EMULATOR_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <ucontext.h>
#include <utility>
#include <vector>

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
    uint32_t rest; /* turns that it sits out */
    bool done;
    uint32_t wave, lane, met; /* met: how often it has met all others */
};

/* Lanes that meet: how many have come, and how often all have. */
struct meeting {
    uint32_t came, times;
};

/* The workgroup. */
static struct {
    fiber fibers[WAVES * LANES];
    ucontext_t host; /* whoever has them run */
    void *sanitizer;
    fiber *now;
    uint32_t order[WAVES], turn; /* of waves; and the next lane's place in it */
    bool moved;                  /* some lane goes on since waves were put in order */
    void (*work)();
    bool (*beside)(); /* a turn of what goes on beside the lanes: false at its end; null: nothing does */
    meeting all, waves[WAVES];
    void (*instructions[WAVES])(); /* that some lanes of a wave have come to */
    std::vector<char> shared;
    std::vector<touch> touches;
} wg;

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

/* What is done wrong on purpose, to see that it is noticed. */
enum mistake { NONE, PASS_A_MEETING, FORGET_A_WAIT, READ_BEYOND, LOSE_WORDS, OTHER_SHIFT, LOSE_A_GIFT };

static uint32_t failures;
static char trial[160];
static mistake made;

static void expect(bool held, const char *what)
{
    if (!held && failures++ < 20 && made == NONE)
        std::printf("%s: %s\n", trial, what);
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t n) { return ((random_state = random_state * 1664525u + 1013904223u) >> 8) % n; }

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/*
 * The lane that goes on, of those that need not wait: each has a turn, wave by wave, then what goes on beside them, and
 * so on. Null when all are done, or all wait.
 */
static fiber *next_lane()
{
    for (;;) {
        for (; wg.turn < WAVES * LANES; wg.turn++) {
            fiber &f = wg.fibers[wg.order[wg.turn / LANES] * LANES + wg.turn % LANES];
            if (f.done || (f.watched && *f.watched == f.seen))
                continue;
            wg.moved = true;
            if (f.rest == 0)
                return wg.turn++, &f;
            f.rest--;
        }
        if (!wg.moved)
            return nullptr;
        wg.moved = wg.beside && wg.beside();
        wg.turn = 0;
        for (uint32_t w = 0; w < WAVES; w++)
            wg.order[w] = w;
        for (uint32_t w = 0; w < WAVES; w++)
            std::swap(wg.order[w], wg.order[w + random_below(WAVES - w)]);
    }
}

/* Leaves this context until it is its turn again. */
static void leave_for(fiber *next, ucontext_t *left)
{
    if (next) {
        next->watched = nullptr;
        wg.now = next;
    }
    IRIST_FIBER(__tsan_switch_to_fiber(next ? next->sanitizer : wg.sanitizer, 0));
    swapcontext(left, next ? &next->context : &wg.host);
}

/* Waits until *watched changes. */
static void pause_lane(const uint32_t *watched, uint32_t seen)
{
    fiber *own = wg.now;
    own->watched = watched;
    own->seen = seen;
    fiber *next = next_lane();
    if (next != own)
        leave_for(next, &own->context);
    else
        own->watched = nullptr;
}

/* Others have so many turns. */
static inline void rest_lane(uint32_t turns)
{
    if (turns == 0)
        return;
    wg.now->rest = turns - 1;
    pause_lane(nullptr, 0);
}

/* So many lanes meet; the last one does what they have met for. Who passes does not wait. */
template <typename function> static inline void meet(meeting &m, uint32_t lanes, function do_last, bool passes = false)
{
    const uint32_t times = m.times;
    if (++m.came == lanes) {
        m.came = 0;
        do_last();
        m.times++;
    }
    while (m.times == times && !passes)
        pause_lane(&m.times, times);
}

/* The lanes of a wave meet for an instruction; the last one carries it out. */
template <typename function> static inline void meet_for(void (*instruction)(), function carry_out)
{
    const uint32_t wave = wg.now->wave;
    expect(wg.waves[wave].came == 0 || wg.instructions[wave] == instruction,
           "lanes of a wave are at different instructions");
    wg.instructions[wave] = instruction;
    meet(wg.waves[wave], LANES, carry_out);
}

/* The lanes of a wave meet for nothing else: on a GPU they are in step anyway. */
static inline void join_wave()
{
    meet_for(nullptr, [] {});
}

/* All lanes meet. */
static void join_workgroup()
{
    const bool passes = made == PASS_A_MEETING && wg.now->wave == 5 && wg.now->met == 3;
    meet(
        wg.all, WAVES * LANES, [] {}, passes);
    wg.now->met++;
}

/* An instruction of a wave, which is carried out with what each of its lanes gives, as the last one comes. */
template <typename operands> static inline void wave_instruction(const operands &own, void (*carry_out)(operands *))
{
    static operands given[WAVES][LANES];
    const uint32_t wave = wg.now->wave;
    given[wave][wg.now->lane] = own;
    meet_for((void (*)())carry_out, [=] { carry_out(given[wave]); });
}

static void begin_lane()
{
    wg.work();
    wg.now->done = true;
    pause_lane(nullptr, 0);
}

/* Every lane of a workgroup with so many bytes of shared memory, all NaN, does `work`. */
static void run_lanes(uint32_t shared_bytes, void (*work)())
{
    wg.shared.assign(shared_bytes + MARGIN, (char)0xff);
    wg.touches.assign(wg.shared.size() / 16, touch());
    wg.all = {};
    for (meeting &m : wg.waves)
        m = {};
    wg.work = work;
    IRIST_FIBER(wg.sanitizer = __tsan_get_current_fiber());
    for (uint32_t i = 0; i < WAVES * LANES; i++) {
        fiber &f = wg.fibers[i];
        if (!f.stack)
            f.stack.reset(new char[STACK]);
        f.wave = i / LANES, f.lane = i % LANES;
        f.watched = nullptr;
        f.done = false;
        f.met = f.rest = 0;
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = STACK;
        f.context.uc_link = nullptr;
        makecontext(&f.context, begin_lane, 0);
        IRIST_FIBER(f.sanitizer = __tsan_create_fiber(0));
    }
    wg.moved = true, wg.turn = WAVES * LANES;
    leave_for(next_lane(), &wg.host);
    bool all_done = true;
    for (const fiber &f : wg.fibers)
        all_done &= f.done;
    expect(all_done, "lanes wait for each other");
    for (fiber &f : wg.fibers)
        IRIST_FIBER(__tsan_destroy_fiber(f.sanitizer)), (void)f;
}

/* An iris_wave_group. */
template <typename wave_group> static inline void group_of_all(wave_group *group)
{
    *group = {};
    group->wave = wg.now->wave, group->waves = WAVES;
    group->member = group->wave * LANES + wg.now->lane, group->members = WAVES * LANES;
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

static inline uint32_t shared_at(const void *p) { return (uint32_t)((const char *)p - wg.shared.data()); }

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

static inline void read_shared(void *to, uint32_t from, uint32_t bytes)
{
    touch_shared(from, bytes, wg.now->met, false);
    std::memcpy(to, &wg.shared[from], bytes);
}

static inline void write_shared(uint32_t to, const void *from, uint32_t bytes)
{
    touch_shared(to, bytes, wg.now->met, true);
    std::memcpy(&wg.shared[to], from, bytes);
}

/* ---- copies to shared memory ------------------------------------------------------------------------------------- */

/* One on its way: no other wave may touch its place from its issue on. */
struct transfer {
    uint32_t to, issued;
    char bytes[16];
};

static std::deque<std::vector<transfer>> copy_groups[WAVES][LANES]; /* the last one is open */

static inline std::deque<std::vector<transfer>> &own_groups() { return copy_groups[wg.now->wave][wg.now->lane]; }

static inline void begin_copies() { own_groups().assign(1, {}); }

/* Copies 16 bytes, which are read at once. */
static inline void copy_chunk(uint32_t to, const void *bytes)
{
    transfer t = {to, wg.now->met, {}};
    std::memcpy(t.bytes, bytes, 16);
    touch_shared(to, 16, t.issued, true);
    std::memset(&wg.shared[to], 0xff, 16);
    own_groups().back().push_back(t);
}

/* Ends the lane's group of copies. */
static inline void close_copies() { own_groups().emplace_back(); }

/* Waits until at most `open` of the lane's groups are under way. */
static inline void await_copies(uint32_t open)
{
    if (made == FORGET_A_WAIT && wg.now->wave == 2 && wg.now->met > 2)
        return;
    for (; own_groups().size() - 1 > open; own_groups().pop_front())
        for (const transfer &t : own_groups().front()) {
            touch_shared(t.to, 16, t.issued, true);
            std::memcpy(&wg.shared[t.to], t.bytes, 16);
        }
}

static inline void end_copies()
{
    for (const std::vector<transfer> &group : own_groups())
        expect(group.empty() || made == FORGET_A_WAIT, "a copy that nobody waits for");
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* 1 when a trial fails while a mistake is made; its failures do not count. */
static inline bool notices(mistake m, void (*try_it)(mistake))
{
    const uint32_t before = failures;
    made = m;
    try_it(m);
    const bool noticed = failures > before;
    made = NONE;
    failures = before;
    return noticed;
}

/* What a program tries: trials of a seed; how many of them usually, with a sanitizer, and if all are asked for. */
struct program {
    void (*run)(uint32_t seed, uint32_t trials);
    uint32_t usual, slow, all;
    void (*also)();                /* what else it tries, once; or null */
    std::vector<mistake> mistakes; /* that it must notice, */
    void (*try_mistaken)(mistake); /* by this; null: none is made */
};

/* PROGRAM [all | trials [first seed]]: main's value. */
static inline int run_program(const program &p, int argc, char **argv)
{
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    const uint32_t usual = IRIST_SLOW ? p.slow : p.usual;
    const uint32_t trials = all ? p.all : argc > 1 ? (uint32_t)std::strtoul(argv[1], nullptr, 10) : usual;
    p.run(argc > 2 ? (uint32_t)std::strtoul(argv[2], nullptr, 10) : 1, trials);
    if (p.also)
        p.also();
    std::printf("%u trials, %u failures\n", trials, failures);
    bool blind = false;
    for (mistake m : p.mistakes) {
        const bool noticed = p.try_mistaken == nullptr || notices(m, p.try_mistaken);
        if (!noticed)
            std::printf("mistake %d goes unnoticed\n", (int)m);
        blind |= !noticed;
    }
    return failures > 0 || trials == 0 || blind;
}

#endif
