/* SPDX-License-Identifier: MIT */
/*
 * Captured once and replayed, in the full tier a thousand times: put_signal and wait, barriers, a channel's epochs, LL
 * messages, and every pattern of GEMM and all-scatter, of operands as they are and of packed ones, a BLAS of the
 * caller's among them; GEMMs in a row. Arguments are fixed at capture, so whatever changes from use to use must be on
 * the device. GPUs only: the host platform has no graphs.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#endif

#include <algorithm>
#include <cstring>

#include "../gemm/blas.h"
#include "../gemm/problem.h"
#include "capture.h"

#include <iris/mainloop/shape.h>
#include <iris/barrier.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/wait.h>
#include <iris/collective/ll.h>

problem_launcher problem_launcher_of(const problem *p, int pattern)
{
#define LAUNCHERS(d)                                                                                                   \
    {                                                                                                                  \
        iris_gemm_all_scatter_##d, iris_gemm_all_scatter_bulk_synchronous_##d,                                         \
            iris_gemm_all_scatter_producer_consumer_##d, iris_gemm_all_scatter_fused_sequential_##d,                   \
            iris_gemm_all_scatter_wg_specialized_##d, iris_gemm_all_scatter_wave_specialized_##d,                      \
            iris_gemm_all_scatter_##d /* of a plan for the caller's BLAS */                                            \
    }
    static const problem_launcher launchers[][IRIS_GEMM_BLAS_GATHER + 1] = {LAUNCHERS(f32), LAUNCHERS(bf16)};
    return launchers[p->dtype == IRIS_BF16][pattern];
}

namespace {

enum { WORDS = 301, GROUPS = 3 };

struct args {
    iris_ctx ctx;
    iris_channel ch;      /* the operation's */
    iris_channel barrier; /* the barriers' */
    iris_signal *arrived;
    uint32_t *inbox;      /* symmetric: a message */
    uint32_t *message;    /* own memory: one for each workgroup */
    uint64_t *cells;      /* symmetric, two */
    uint64_t *turn;       /* own memory: replays so far */
    uint64_t *bad;        /* own memory: [0] how often, [1..3] the first time */
    const uint32_t *want; /* own memory: what `got` must be */
    uint32_t *got;
    uint64_t n;
};

IRIS_DEVICE uint32_t word_of(uint64_t turn, uint32_t from, uint64_t i)
{
    return (uint32_t)(turn * 2654435761u + from * 40503u + i);
}

IRIS_DEVICE void expect(const args *a, uint64_t turn, uint64_t saw, uint64_t wanted)
{
    if (saw != wanted && irisi_atomic_add_u64(a->bad, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0) {
        a->bad[1] = turn;
        a->bad[2] = saw;
        a->bad[3] = wanted;
    }
}

IRIS_KERNEL(put_kernel, args, a, 256)
{
    const uint64_t turn = *a->turn + 1;
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        a->message[i] = word_of(turn, (uint32_t)a->ctx.rank, i);
    iris_sync_wg();
    iris_put_signal_u32_wg(&a->ctx, a->inbox, a->message, WORDS, a->arrived, 1, IRIS_SIGNAL_ADD,
                           (a->ctx.rank + 1) % a->ctx.world);
}

IRIS_KERNEL(wait_kernel, args, a, 256)
{
    const uint64_t turn = *a->turn + 1;
    const uint32_t left = (uint32_t)((a->ctx.rank + a->ctx.world - 1) % a->ctx.world);
    iris_wait_ge_wg(&a->ctx, a->arrived, turn);
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        expect(a, turn, iris_load_u32(&a->ctx, a->inbox + i, a->ctx.rank), word_of(turn, left, i));
}

/* Closes a replay: nobody begins the next one before everyone is here. */
IRIS_KERNEL(meet_kernel, args, a, 256)
{
    iris_barrier_all_grid(&a->ctx, &a->barrier);
    if (iris_grid_lane() == 0)
        *a->turn += 1;
}

IRIS_KERNEL(barrier_kernel, args, a, 256)
{
    const uint64_t turn = *a->turn + 1;
    uint64_t *cell = a->cells + (turn & 1);
    if (iris_wg_lane() == iris_wg_lanes() - 1)
        iris_store_u64(&a->ctx, cell, turn, (a->ctx.rank + 1) % a->ctx.world);
    iris_barrier_all_wg(&a->ctx, &a->ch);
    expect(a, turn, iris_load_u64(&a->ctx, cell, a->ctx.rank), turn);
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->turn = turn;
}

/* Each workgroup sends to every rank and waits for every rank's message of its own number. */
IRIS_KERNEL(channel_kernel, args, a, 256)
{
    const uint32_t g = iris_workgroup(), n = iris_workgroups(), world = (uint32_t)a->ctx.world;
    const uint32_t me = (uint32_t)a->ctx.rank;
    const uint64_t epoch = iris_channel_enter_wg(&a->ch);
    uint32_t *bank = (uint32_t *)(void *)iris_channel_bank(&a->ch, epoch), *message = a->message + g * WORDS;
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        message[i] = word_of(epoch, me * GROUPS + g, i);
    iris_sync_wg();
    for (uint32_t k = 0; k < world; k++)
        iris_put_signal_u32_wg(&a->ctx, bank + (me * n + g) * WORDS, message, WORDS, a->ch.signals + g * world + me, 1,
                               IRIS_SIGNAL_ADD, (int)((me + k) % world));
    iris_wait_all_ge_wg(&a->ctx, a->ch.signals + g * world, world, epoch);
    for (uint32_t r = 0; r < world; r++)
        for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
            expect(a, epoch, iris_load_u32(&a->ctx, bank + (r * n + g) * WORDS + i, (int)me),
                   word_of(epoch, r * GROUPS + g, i));
    iris_channel_leave_wg(&a->ch, epoch, n);
}

IRIS_KERNEL(ll_kernel, args, a, 256)
{
    const uint32_t world = (uint32_t)a->ctx.world, me = (uint32_t)a->ctx.rank;
    const uint64_t epoch = iris_channel_enter_wg(&a->ch);
    iris_ll_packet *bank = iris_ll_bank(&a->ch, epoch);
    for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
        a->message[i] = word_of(epoch, me, i);
    iris_sync_wg();
    for (uint32_t k = 0; k < world; k++)
        iris_ll_put_wg(&a->ctx, bank + me * WORDS, a->message, sizeof(uint32_t) * WORDS, iris_ll_flag(epoch),
                       (int)((me + k) % world));
    for (uint32_t r = 0; r < world; r++) {
        uint32_t *got = a->message + WORDS;
        iris_ll_get_wg(&a->ctx, got, bank + r * WORDS, sizeof(uint32_t) * WORDS, iris_ll_flag(epoch), (int)r);
        for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
            expect(a, epoch, got[i], word_of(epoch, r, i));
        iris_sync_wg();
    }
    iris_channel_leave_wg(&a->ch, epoch, 1);
    iris_ll_barrier_wg(&a->ctx, &a->barrier);
}

IRIS_KERNEL(clear_kernel, args, a, 256)
{
    for (uint64_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->got[i] = ~a->want[i];
}

IRIS_KERNEL(compare_kernel, args, a, 256)
{
    for (uint64_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        expect(a, i, a->got[i], a->want[i]);
}

/* What a case captures. */
struct scene {
    irist_rank *t;
    args a;
    problem gemm;
    int pattern;
    iris_stream stream;
};

void launch(scene *s, irisi_kernel kernel, const char *name, uint32_t workgroups, int waits)
{
    const iris_launch_config cfg = waits ? iris_cooperative(workgroups, 128) : iris_grid(workgroups, 128);
    irist_ok(s->t, irisi_launch(s->t->world, kernel, name, &s->a, sizeof s->a, &cfg, s->stream));
}
#define LAUNCH(s, kernel, workgroups, waits) launch((s), IRISI_KERNEL_PTR(kernel), #kernel, (workgroups), (waits))

void submit_put(scene *s)
{
    LAUNCH(s, put_kernel, 1, 0);
    LAUNCH(s, wait_kernel, 1, 1);
    LAUNCH(s, meet_kernel, 2, 1);
}
void submit_barrier(scene *s) { LAUNCH(s, barrier_kernel, 1, 1); }
void submit_channel(scene *s) { LAUNCH(s, channel_kernel, GROUPS, 1); }
void submit_ll(scene *s) { LAUNCH(s, ll_kernel, 1, 1); }
void submit_gemm(scene *s)
{
    LAUNCH(s, clear_kernel, 2, 0);
    irist_ok(s->t, iris_gemm_pack(s->t->world, &s->gemm.plan, s->stream)); /* the launcher does it again */
    irist_ok(s->t, problem_launcher_of(&s->gemm, s->pattern)(s->t->world, &s->gemm.plan, s->stream));
    LAUNCH(s, compare_kernel, 2, 0);
}

void open_scene(scene *s, irist_rank *t)
{
    const size_t ranks = (size_t)t->ranks;
    std::memset(static_cast<void *>(&s->a), 0, sizeof s->a);
    s->t = t;
    s->a.ctx = iris_device_ctx(t->world);
    s->a.arrived = iris_signals(t->world, 1);
    s->a.inbox = (uint32_t *)irist_zeroed(t, WORDS * sizeof(uint32_t), IRIS_MEM_DATA);
    s->a.message = (uint32_t *)irist_zeroed(t, GROUPS * WORDS * sizeof(uint32_t), IRIS_MEM_DATA);
    s->a.cells = (uint64_t *)irist_zeroed(t, 2 * sizeof(uint64_t), IRIS_MEM_SYNC);
    s->a.turn = (uint64_t *)irist_zeroed(t, sizeof(uint64_t), IRIS_MEM_DATA);
    s->a.bad = (uint64_t *)irist_zeroed(t, 4 * sizeof(uint64_t), IRIS_MEM_DATA);
    irist_ok(t, iris_channel_create(t->world, &s->a.ch, GROUPS * ranks, GROUPS * ranks * WORDS * sizeof(uint64_t)));
    irist_ok(t, iris_channel_create(t->world, &s->a.barrier, ranks, ranks * sizeof(iris_ll_packet)));
    irist_ok(t, iris_stream_create(t->world, &s->stream));
    irist_meet(t);
}

void close_scene(scene *s)
{
    irist_rank *t = s->t;
    irist_meet(t);
    irist_ok(t, iris_stream_destroy(t->world, s->stream));
    irist_ok(t, iris_channel_destroy(t->world, &s->a.barrier));
    irist_ok(t, iris_channel_destroy(t->world, &s->a.ch));
    void *const memory[] = {s->a.bad, s->a.turn, s->a.cells, s->a.message, s->a.inbox, s->a.arrived};
    for (void *p : memory)
        irist_ok(t, iris_free(t->world, p));
}

void replay(scene *s, const char *what, void (*submit)(scene *))
{
    irist_rank *t = s->t;
    uint64_t bad[4];
    irist_replay(t, s->stream, s->stream, [&](iris_stream) { submit(s); });
    irist_ok(t, iris_memcpy(t->world, bad, s->a.bad, sizeof bad));
    irist_check(t, bad[0] == 0, "%s: %llu times wrong, first at %llu: saw %llu, not %llu", what,
                (unsigned long long)bad[0], (unsigned long long)bad[1], (unsigned long long)bad[2],
                (unsigned long long)bad[3]);
}

void expect_count(scene *s, const char *what, const uint64_t *counter)
{
    uint64_t n = 0;
    irist_ok(s->t, iris_memcpy(s->t->world, &n, counter, sizeof n));
    const uint64_t uses = 1 + (uint64_t)irist_replays();
    irist_check(s->t, n == uses, "%s: %llu of %llu uses took place", what, (unsigned long long)n,
                (unsigned long long)uses);
}

void messages(irist_rank *t)
{
    scene s;
    open_scene(&s, t);
    replay(&s, "put_signal and wait", submit_put);
    expect_count(&s, "put_signal and wait", s.a.turn);
    close_scene(&s);
}

void barriers(irist_rank *t)
{
    scene s;
    open_scene(&s, t);
    replay(&s, "barrier_all_wg", submit_barrier);
    expect_count(&s, "barrier_all_wg", s.a.turn);
    close_scene(&s);
}

void channels(irist_rank *t)
{
    scene s;
    open_scene(&s, t);
    replay(&s, "channel", submit_channel);
    expect_count(&s, "channel", s.a.ch.state);
    close_scene(&s);
}

void ll_messages(irist_rank *t)
{
    scene s;
    open_scene(&s, t);
    replay(&s, "LL messages", submit_ll);
    expect_count(&s, "LL messages", s.a.ch.state);
    close_scene(&s);
}

const struct family {
    iris_dtype dtype;
    problem_shape shape;
    int last; /* pattern: the BLAS of this test is of f32 */
} families[] = {
    {IRIS_F32, {150, 331, 40}, IRIS_GEMM_BLAS_GATHER},
    {IRIS_BF16, {150, 331, 40}, IRIS_GEMM_WAVE_SPECIALIZED}, /* odd rows: packed where tiles are fetched by TMA */
    {IRIS_BF16, {256, 1024, 128}, IRIS_GEMM_WAVE_SPECIALIZED},
    {IRIS_BF16, {9, 331, 400}, IRIS_GEMM_WAVE_SPECIALIZED}, /* few rows */
    {IRIS_BF16, {5, 331, 400}, IRIS_GEMM_WAVE_SPECIALIZED}, /* and fewer */
};

void gemm(irist_rank *t, const family &f, int pattern)
{
    const problem_options options = {"graph", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0};
    naive_blas blas = {t->world, 0, 0, {}};
    const char *tune = nullptr;
#if defined(IRISI_GEMM_HAS_GEMV)
    tune = f.shape.m < 16 ? "skinny=2" : tune;
#elif defined(IRISI_GEMM_HAS_SKINNY_MFMA)
    tune = f.shape.m < 16 ? "skinny=1" : tune;
#endif
    scene s;
    open_scene(&s, t);
    if (problem_create(&s.gemm, t, f.dtype, f.shape, options, tune)) {
        iris_gemm_args g = problem_args(&s.gemm);
        if (pattern == IRIS_GEMM_BLAS_GATHER) {
            g.blas = naive_gemm, g.blas_arg = &blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
            irist_ok(t, iris_gemm_release(t->world, &s.gemm.plan));
            irist_ok(t, iris_gemm_prepare(t->world, &s.gemm.plan, IRIS_GEMM_ALL_SCATTER, f.dtype, &g));
        } else if (pattern == IRIS_GEMM_WG_SPECIALIZED && irisi_gemm_narrowest(s.gemm.plan.mainloop) != 0) {
            g.tune = "pattern=wg_specialized comm=1 width=64 sender_tiles=1"; /* senders that compute first */
            irist_ok(t, iris_gemm_release(t->world, &s.gemm.plan));
            irist_ok(t, iris_gemm_prepare(t->world, &s.gemm.plan, IRIS_GEMM_ALL_SCATTER, f.dtype, &g));
            irist_check(t, s.gemm.plan.tiling.sender_tiles == 1, "senders compute %u tiles first",
                        s.gemm.plan.tiling.sender_tiles);
        }
        problem_expect(&s.gemm);
        const std::vector<unsigned char> before = problem_poison(&s.gemm);
        uint32_t *want = (uint32_t *)irist_zeroed(t, s.gemm.c_bytes, IRIS_MEM_DATA);
        s.a.got = (uint32_t *)(void *)s.gemm.c;
        s.a.want = want;
        s.pattern = pattern;
        irist_meet(t);
        irist_ok(t, problem_launcher_of(&s.gemm, IRIS_GEMM_FUSED_SEQUENTIAL)(t->world, &s.gemm.plan, s.stream));
        irist_ok(t, iris_stream_synchronize(t->world, s.stream));
        irist_meet(t);
        problem_check(&s.gemm, before, "before the capture");
        irist_ok(t, iris_memcpy(t->world, want, s.gemm.c, s.gemm.c_bytes));
        s.a.n = s.gemm.c_bytes / sizeof(uint32_t);
        irist_meet(t);
        replay(&s, iris_gemm_pattern_name((iris_gemm_pattern)pattern), submit_gemm);
        irist_ok(t, iris_free(t->world, want));
    }
    problem_free(&s.gemm);
    close_scene(&s);
    irist_check(t, t->failures || blas.calls == (pattern == IRIS_GEMM_BLAS_GATHER ? 2 : 0),
                "replays called BLAS: %d calls", blas.calls);
}

void gemms(irist_rank *t)
{
    for (const family &f : families)
        for (int pattern = 0; pattern <= f.last && !t->failures; pattern++)
            gemm(t, f, pattern);
}

/*
 * ---- GEMMs alone in a row, each of what the one before has written: it may begin while that one ends ----
 * x to y, y to x, both of so many rows; and few rows, whose kernel asks for B before it may begin, are added, times x,
 * to a third C; and likewise times an x whose rows start anywhere: few, for which Hopper reads it as it stands, and
 * more of them, for which every launch makes a copy first; and by the loop for few rows, where there is one.
 */

enum { ROW_M = 512, ROW_N = 512, ROW_SKINNY = 64, ROW_MORE = 192, ROW_PLANS = 6, ROW_LAPS = 8 };

/* Elements of bf16 from -1 to 1. */
std::vector<uint16_t> row_values(uint64_t seed, uint64_t stream, size_t n)
{
    std::vector<uint16_t> v(n);
    for (size_t i = 0; i < n; i++) {
        const float x = (float)irist_pick(seed, stream, i, 257) / 128 - 1;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        v[i] = (uint16_t)(bits >> 16);
    }
    return v;
}

/* All, lap by lap; `apart`: each launch when the one before has ended. */
void row_submit(irist_rank *t, const iris_gemm_plan *plans, iris_stream stream, bool apart)
{
    for (int i = 0; i < ROW_PLANS * ROW_LAPS; i++) {
        irist_ok(t, iris_gemm_local_bf16(t->world, &plans[i % ROW_PLANS], stream));
        if (apart)
            irist_ok(t, iris_stream_synchronize(t->world, stream));
    }
}

void gemm_row(irist_rank *t)
{
    const iris_gemm_columns own = iris_gemm_band(ROW_N, (uint32_t)t->ranks, (uint32_t)t->rank);
    const size_t values = ROW_M * ROW_N, third = ROW_MORE * ROW_N;
    const std::vector<uint16_t> first = row_values(t->seed, 1, values);
    const std::vector<uint16_t> weights = row_values(t->seed, 2 + (uint64_t)t->rank, ROW_N * own.count);
    std::vector<uint16_t> want(values + third), got(values + third);
    uint16_t *w = (uint16_t *)iris_malloc(t->world, values * 2), *x[3]; /* the last: of ROW_MORE rows */
    for (uint16_t *&of : x)
        of = (uint16_t *)iris_malloc(t->world, values * 2);
    iris_stream stream = nullptr;
    iris_gemm_plan plans[ROW_PLANS] = {};
    irist_graph graph = nullptr;
    irist_ok(t, iris_stream_create(t->world, &stream));
    irist_ok(t, iris_memcpy(t->world, w, weights.data(), weights.size() * 2));
    for (int i = 0; i < ROW_PLANS; i++) {
        iris_gemm_args g = {};
        g.m = ROW_M, g.n = ROW_N, g.k = ROW_N, g.a = x[i % 2], g.b = w, g.c = x[1 - i % 2], g.alpha = 1 / 13.0;
        if (i >= 2)
            g.m = ROW_SKINNY, g.a = w, g.b = x[0] + own.first, g.ldb = ROW_N, g.c = x[2], g.beta = 1;
        if (i >= 3)
            g.k = ROW_N / 4, g.ldb = ROW_N + 1;
        if (i == 4)
            g.m = ROW_MORE;
        g.tune = "skinny=0";
#if defined(IRISI_GEMM_HAS_GEMV)
        if (i == 5) /* lower rows of what the GEMM before wrote, times an x, added to its upper ones */
            g.tune = "skinny=2", g.a = x[2] + ROW_SKINNY * ROW_N, g.lda = ROW_N;
#endif
        g.band = i % 2; /* plans of both operations can be launched alone */
        const iris_gemm_op op = g.band ? IRIS_GEMM_LOCAL : IRIS_GEMM_ALL_SCATTER;
        irist_ok(t, iris_gemm_prepare(t->world, &plans[i], op, IRIS_BF16, &g));
    }
    const int laps = irist_replays() / 20;
    for (int lap = -2; lap < laps && !t->failures; lap++) { /* launch by launch, in a stream, replayed */
        for (uint16_t *of : x)
            irist_ok(t, iris_memcpy(t->world, of, first.data(), values * 2));
        if (lap < 0)
            row_submit(t, plans, stream, lap == -2);
        if (lap == 0 && irist_capture_begin(t, stream)) {
            row_submit(t, plans, stream, false);
            irist_capture_end(t, stream, &graph);
        }
        if (lap >= 0)
            irist_gpu_ok(t, IRIST_GPU(GraphLaunch)(graph, stream), "GraphLaunch");
        irist_ok(t, iris_stream_synchronize(t->world, stream));
        irist_ok(t, iris_memcpy(t->world, got.data(), x[0], values * 2));
        irist_ok(t, iris_memcpy(t->world, got.data() + values, x[2], third * 2));
        want = lap == -2 ? got : want;
        irist_check(t, got == want && !std::equal(first.begin(), first.end(), got.begin()) &&
                           !std::equal(first.begin(), first.begin() + third, got.begin() + values),
                    "lap %d: GEMMs in a row read what was written too late", lap);
    }
    irist_graph_free(t, graph);
    for (iris_gemm_plan &plan : plans)
        irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_ok(t, iris_stream_destroy(t->world, stream));
    for (int i = 3; i-- > 0;)
        irist_ok(t, iris_free(t->world, x[i]));
    irist_ok(t, iris_free(t->world, w));
}

} // namespace

TEST_CASE("GEMMs alone in a row read what the one before has written", "[graph]") { irist_spmd(gemm_row, nullptr); }
TEST_CASE("a captured put with signal and its wait replay", "[graph]") { irist_spmd(messages, nullptr); }
TEST_CASE("captured barriers replay", "[graph]") { irist_spmd(barriers, nullptr); }
TEST_CASE("a captured channel operation replays", "[graph]") { irist_spmd(channels, nullptr); }
TEST_CASE("captured LL messages replay", "[graph]") { irist_spmd(ll_messages, nullptr); }
TEST_CASE("every captured pattern of GEMM and all-scatter replays", "[graph]") { irist_spmd(gemms, nullptr); }
