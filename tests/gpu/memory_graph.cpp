/* SPDX-License-Identifier: MIT */
/*
 * What a kernel does with other ranks' memory, captured once and replayed, in the full tier a thousand times: loads,
 * stores, puts, gets and copies by lanes, waves and workgroups, every atomic operation, and every way to signal and to
 * wait. A counter of turns on the device makes each replay differ from the last. GPUs only: the host has no graphs.
 */
#include <cstring>

#include "capture.h"

#include <iris/barrier.h>
#include <iris/gen/atomic.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>
#include <iris/gen/wait.h>

namespace {

enum { LANES = 256, WORDS = 1200, THIRD = WORDS / 3, SIGNALS = 9 };
/* Areas of WORDS words: the first come from the left rank, the others are the rank's own. */
enum { STORED, VECTORS, PUT, COPIED, MESSAGE, GOT, AREAS };

struct args {
    iris_ctx ctx;
    iris_channel barrier;
    uint32_t *words;      /* symmetric: AREAS */
    uint32_t *cells;      /* symmetric, sync memory: one that the left rank alone changes, one that all add to */
    iris_signal *signals; /* symmetric: SIGNALS, raised by the left rank */
    uint64_t *turn;       /* own: replays so far */
    uint64_t *wrong;      /* own */
    int right, left;
};

IRIS_DEVICE uint32_t word_of(uint64_t turn, int from, uint32_t i)
{
    return (uint32_t)(turn * 2654435761u + (uint32_t)from * 40503u + i);
}
IRIS_DEVICE uint32_t *area(const args *a, int which) { return a->words + which * WORDS; }

IRIS_DEVICE void expect(const args *a, int right)
{
    if (!right)
        irisi_atomic_add_u64(a->wrong, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}
/* Words of an area of this rank's memory, from `from` first. */
IRIS_DEVICE void expect_words(const args *a, int which, uint64_t turn, int from)
{
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        expect(a, iris_load_u32(&a->ctx, area(a, which) + i, a->ctx.rank) == word_of(turn, from, i));
}
IRIS_DEVICE void write_message(const args *a, uint64_t turn)
{
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        area(a, MESSAGE)[i] = word_of(turn, a->ctx.rank, i);
    iris_sync_wg();
}
/* The last of a turn: nobody begins the next before everyone is here. */
IRIS_DEVICE void end_turn(const args *a, uint64_t turn)
{
    iris_barrier_all_wg(&a->ctx, &a->barrier);
    if (iris_wg_lane() == 0)
        *a->turn = turn;
}

/* Elements first .. first + n - 1 of so many, as even as can be. */
struct part {
    uint32_t first, n;
};
IRIS_DEVICE part part_of(uint32_t index, uint32_t parts, uint32_t from, uint32_t count)
{
    const uint32_t each = (count + parts - 1) / parts, begin = index * each < count ? index * each : count;
    return {from + begin, count - begin < each ? count - begin : each};
}

/* A third by lanes, a third by waves, a third by the workgroup, by iris_put_u32 and its kin. */
#define THIRDS(op, a, to, from, ...)                                                                                   \
    {                                                                                                                  \
        const part lane = part_of(iris_wg_lane(), iris_wg_lanes(), 0, THIRD);                                          \
        const part wave = part_of(iris_wave(), iris_waves(), THIRD, THIRD);                                            \
        iris_##op##_u32(&(a)->ctx, (to) + lane.first, (from) + lane.first, lane.n, __VA_ARGS__);                       \
        iris_##op##_u32_wave(&(a)->ctx, (to) + wave.first, (from) + wave.first, wave.n, __VA_ARGS__);                  \
        iris_##op##_u32_wg(&(a)->ctx, (to) + 2 * THIRD, (from) + 2 * THIRD, THIRD, __VA_ARGS__);                       \
    }

IRIS_KERNEL(access_kernel, args, a, LANES)
{
    const uint64_t turn = *a->turn + 1;
    write_message(a, turn);
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        iris_store_u32(&a->ctx, area(a, STORED) + i, area(a, MESSAGE)[i], a->right);
    for (uint32_t i = 4 * iris_wg_lane(); i < WORDS; i += 4 * iris_wg_lanes())
        iris_store_vec_u32(&a->ctx, area(a, VECTORS) + i,
                           iris_load_vec_u32(&a->ctx, area(a, MESSAGE) + i, a->ctx.rank, IRIS_CACHE_DEFAULT), a->right,
                           IRIS_CACHE_DEFAULT);
    THIRDS(put, a, area(a, PUT), area(a, MESSAGE), a->right)
    iris_barrier_all_wg(&a->ctx, &a->barrier); /* everybody's message is there */
    expect_words(a, STORED, turn, a->left);
    expect_words(a, VECTORS, turn, a->left);
    expect_words(a, PUT, turn, a->left);
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        expect(a, iris_load_u32(&a->ctx, area(a, MESSAGE) + i, a->right) == word_of(turn, a->right, i));
    THIRDS(get, a, area(a, GOT), area(a, MESSAGE), a->right)
    THIRDS(copy, a, area(a, COPIED), area(a, MESSAGE), a->right, a->left)
    iris_barrier_all_wg(&a->ctx, &a->barrier);
    expect_words(a, GOT, turn, a->right);
    expect_words(a, COPIED, turn, (a->left + a->ctx.world - 1) % a->ctx.world);
    end_turn(a, turn);
}

/* Each operation returns what the one before left; the first, what the last one of the turn before left. */
IRIS_DEVICE uint32_t atomics_in_turn(const args *a, uint64_t turn, uint32_t before)
{
    const uint32_t x = (uint32_t)turn * 2654435761u;
    uint32_t *cell = a->cells, v = before;
#define STEP(call, next)                                                                                               \
    expect(a, (call) == v);                                                                                            \
    v = (next);
#define AT_RIGHT a->right, IRIS_RELAXED, IRIS_SCOPE_SYSTEM
    STEP(iris_atomic_xchg_u32(&a->ctx, cell, x, AT_RIGHT), x)
    STEP(iris_atomic_add_u32(&a->ctx, cell, 77, AT_RIGHT), v + 77)
    STEP(iris_atomic_sub_u32(&a->ctx, cell, 5, AT_RIGHT), v - 5)
    STEP(iris_atomic_or_u32(&a->ctx, cell, 0x1234, AT_RIGHT), v | 0x1234)
    STEP(iris_atomic_and_u32(&a->ctx, cell, 0xFFFFF0F0, AT_RIGHT), v & 0xFFFFF0F0)
    STEP(iris_atomic_xor_u32(&a->ctx, cell, x >> 3, AT_RIGHT), v ^ x >> 3)
    STEP(iris_atomic_min_u32(&a->ctx, cell, 0x7FFFFFFF, AT_RIGHT), v < 0x7FFFFFFF ? v : 0x7FFFFFFF)
    STEP(iris_atomic_max_u32(&a->ctx, cell, 0x10000000, AT_RIGHT), v > 0x10000000 ? v : 0x10000000)
    STEP(iris_atomic_cas_u32(&a->ctx, cell, v, v + 1, AT_RIGHT), v + 1)
    STEP(iris_atomic_cas_u32(&a->ctx, cell, v - 1, 0, AT_RIGHT), v) /* not what is there */
    STEP(iris_atomic_fetch_u32(&a->ctx, cell, AT_RIGHT), v + 3)
    iris_atomic_set_u32(&a->ctx, cell, v, AT_RIGHT);
    return v;
#undef STEP
#undef AT_RIGHT
}

IRIS_KERNEL(atomic_kernel, args, a, LANES)
{
    const uint64_t turn = *a->turn + 1;
    if (iris_wg_lane() == 0) /* what a rank's last one left is kept in its own words */
        area(a, MESSAGE)[0] = atomics_in_turn(a, turn, area(a, MESSAGE)[0]);
    iris_atomic_add_u32(&a->ctx, a->cells + 1, 1, 0, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    iris_barrier_all_wg(&a->ctx, &a->barrier);
    if (iris_wg_lane() == 0)
        expect(a, iris_atomic_fetch_u32(&a->ctx, a->cells + 1, 0, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) ==
                      (uint32_t)turn * (uint32_t)a->ctx.world * iris_wg_lanes());
    end_turn(a, turn);
}

IRIS_KERNEL(signal_kernel, args, a, LANES)
{
    const uint64_t turn = *a->turn + 1;
    const part lane = part_of(0, 1, 0, THIRD), wave = part_of(0, 1, THIRD, THIRD);
    write_message(a, turn);
    if (iris_wave() == 0) {
        iris_signal_set_wave(&a->ctx, a->signals + 1, turn, a->right);
        iris_signal_add_wave(&a->ctx, a->signals + 4, 1, a->right);
        iris_put_signal_u32_wave(&a->ctx, area(a, PUT) + wave.first, area(a, MESSAGE) + wave.first, wave.n,
                                 a->signals + 7, 1, IRIS_SIGNAL_ADD, a->right);
    }
    if (iris_wg_lane() == iris_wg_lanes() - 1) {
        iris_signal_set(&a->ctx, a->signals, turn, a->right);
        iris_signal_add(&a->ctx, a->signals + 3, 1, a->right);
        iris_put_signal_u32(&a->ctx, area(a, PUT) + lane.first, area(a, MESSAGE) + lane.first, lane.n, a->signals + 6,
                            turn, IRIS_SIGNAL_SET, a->right);
    }
    iris_signal_set_wg(&a->ctx, a->signals + 2, turn, a->right);
    iris_signal_add_wg(&a->ctx, a->signals + 5, 1, a->right);
    iris_put_signal_u32_wg(&a->ctx, area(a, PUT) + 2 * THIRD, area(a, MESSAGE) + 2 * THIRD, THIRD, a->signals + 8, turn,
                           IRIS_SIGNAL_SET, a->right);
    iris_wait_eq(&a->ctx, a->signals, turn);
    iris_wait_ge_wave(&a->ctx, a->signals + 1, turn);
    iris_wait_gt_wg(&a->ctx, a->signals + 2, turn - 1);
    iris_wait_ne(&a->ctx, a->signals + 3, turn - 1);
    iris_wait_all_ge_wave(&a->ctx, a->signals + 3, 2, turn);
    expect(a, iris_wait_any_eq(&a->ctx, a->signals + 4, 1, turn) == 0);
    iris_wait_all_eq_wg(&a->ctx, a->signals, SIGNALS, turn);
    expect(a, iris_test_eq(&a->ctx, a->signals + 5, turn) && !iris_test_gt(&a->ctx, a->signals + 5, turn));
    expect(a, iris_signal_read(&a->ctx, a->signals + 7) == turn);
    expect_words(a, PUT, turn, a->left);
    end_turn(a, turn);
}

void replay(irist_rank *t, irisi_kernel kernel, const char *name)
{
    const size_t ranks = (size_t)t->ranks;
    iris_stream recorder = nullptr;
    uint64_t words[2] = {0, 0};
    args a;
    std::memset(static_cast<void *>(&a), 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.right = (t->rank + 1) % t->ranks, a.left = (t->rank + t->ranks - 1) % t->ranks;
    a.words = (uint32_t *)irist_zeroed(t, AREAS * WORDS * sizeof(uint32_t), IRIS_MEM_DATA);
    a.cells = (uint32_t *)irist_zeroed(t, 2 * sizeof(uint32_t), IRIS_MEM_SYNC);
    a.turn = (uint64_t *)irist_zeroed(t, sizeof words, IRIS_MEM_DATA), a.wrong = a.turn + 1;
    a.signals = iris_signals(t->world, SIGNALS);
    irist_ok(t, iris_channel_create(t->world, &a.barrier, ranks, ranks * 16));
    irist_ok(t, iris_stream_create(t->world, &recorder));
    irist_meet(t);
    irist_replay(t, iris_default_stream(t->world), recorder, [&](iris_stream stream) {
        const iris_launch_config cfg = iris_cooperative(1, LANES);
        irist_ok(t, irisi_launch(t->world, kernel, name, &a, sizeof a, &cfg, stream));
    });
    irist_ok(t, iris_memcpy(t->world, words, a.turn, sizeof words));
    irist_check(t, words[1] == 0 && words[0] == (uint64_t)irist_replays() + 1, "%s: %llu things wrong in %llu turns",
                name, (unsigned long long)words[1], (unsigned long long)words[0]);
    irist_meet(t);
    irist_ok(t, iris_stream_destroy(t->world, recorder));
    irist_ok(t, iris_channel_destroy(t->world, &a.barrier));
    void *const memory[] = {a.signals, a.turn, a.cells, a.words};
    for (void *p : memory)
        irist_ok(t, iris_free(t->world, p));
}

void accesses(irist_rank *t) { replay(t, IRISI_KERNEL_PTR(access_kernel), "access_kernel"); }
void atomics(irist_rank *t) { replay(t, IRISI_KERNEL_PTR(atomic_kernel), "atomic_kernel"); }
void signals(irist_rank *t) { replay(t, IRISI_KERNEL_PTR(signal_kernel), "signal_kernel"); }

} // namespace

TEST_CASE("captured loads, stores, puts, gets and copies replay", "[graph]") { irist_spmd(accesses, nullptr); }
TEST_CASE("captured atomic operations replay", "[graph]") { irist_spmd(atomics, nullptr); }
TEST_CASE("captured signals and waits replay", "[graph]") { irist_spmd(signals, nullptr); }
