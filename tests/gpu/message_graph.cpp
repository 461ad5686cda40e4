/* SPDX-License-Identifier: MIT */
/*
 * The other launchers, captured once and replayed, in the full tier a thousand times: messages around a ring and down a
 * line, rows of lengths that differ from replay to replay, and all-reduce with RMSNorm. Kernels in the same graph make
 * the input and compare the result. GPUs only: the host platform has no graphs.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM
#define IRIS_INSTANTIATE_ALL_TO_ALLV
#define IRIS_INSTANTIATE_SEND_RECV
#endif

#include <cstring>

#include "capture.h"

#include <iris/gen/launch/all_reduce_rmsnorm.h>
#include <iris/gen/launch/all_to_allv.h>
#include <iris/gen/launch/send_recv.h>

namespace {

enum { MOST = 3000, ROWS = 5, COLUMNS = 136, UNTOUCHED = 0xA5A5 };
const iris_team world = {0, 0, 0};

struct args {
    uint16_t *src, *dst;                                           /* MOST elements for each rank */
    uint64_t *dst_offsets, *dst_counts, *src_offsets, *src_counts; /* of the rows */
    iris_rmsnorm norm;
    uint64_t *turn, *wrong; /* replays so far, what was not right */
    int rank, ranks;
};

IRIS_DEVICE uint16_t element(uint64_t turn, int from, int to, size_t i)
{
    return (uint16_t)(turn * 7919 + (uint64_t)from * 4099 + (uint64_t)to * 257 + i);
}
IRIS_DEVICE uint64_t length(uint64_t turn, int from, int to)
{
    return (turn * 37 + (uint64_t)from * 1009 + (uint64_t)to * 503) % (MOST - 4);
}
IRIS_DEVICE void report(const args *a, uint64_t wrong)
{
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* A row for each rank; the room for each begins at another place every time. */
IRIS_KERNEL(rows_input, args, a, 128)
{
    for (int r = 0; r < a->ranks; r++) {
        for (size_t i = iris_grid_lane(); i < MOST; i += iris_grid_lanes())
            a->src[(size_t)r * MOST + i] = element(*a->turn, a->rank, r, i);
        if (iris_grid_lane() == 0) {
            a->src_offsets[r] = (uint64_t)r * MOST;
            a->src_counts[r] = length(*a->turn, a->rank, r);
            a->dst_offsets[r] = (uint64_t)(a->ranks - 1 - r) * MOST + *a->turn % 3;
            a->dst_counts[r] = MOST - 3;
            a->dst[a->dst_offsets[r] + length(*a->turn, r, a->rank)] = UNTOUCHED; /* behind what comes */
        }
    }
}
IRIS_KERNEL(rows_compare, args, a, 128)
{
    uint64_t wrong = 0;
    for (int r = 0; r < a->ranks; r++) {
        const uint64_t n = length(*a->turn, r, a->rank);
        for (size_t i = iris_grid_lane(); i < n; i += iris_grid_lanes())
            wrong += a->dst[a->dst_offsets[r] + i] != element(*a->turn, r, a->rank, i);
        wrong += iris_grid_lane() == 0 && a->dst[a->dst_offsets[r] + n] != UNTOUCHED;
    }
    report(a, wrong);
}
IRIS_KERNEL(message_input, args, a, 128)
{
    for (size_t i = iris_grid_lane(); i < MOST; i += iris_grid_lanes())
        a->src[i] = element(*a->turn, a->rank, 0, i);
}
IRIS_KERNEL(ring_compare, args, a, 128)
{
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < MOST; i += iris_grid_lanes())
        wrong += a->dst[i] != element(*a->turn, (a->rank + a->ranks - 1) % a->ranks, 0, i);
    report(a, wrong);
}
IRIS_KERNEL(line_compare, args, a, 128)
{
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < MOST && a->rank > 0; i += iris_grid_lanes())
        wrong += a->dst[i] != element(*a->turn, 0, 0, i);
    report(a, wrong);
}

/* Small whole numbers, which every sum of them is too: bf16 has them all. Weights are 1. */
IRIS_DEVICE float whole(uint64_t turn, int who, size_t i)
{
    return (float)((turn * 3 + (uint64_t)who * 5 + i) % 15) - 7;
}

IRIS_KERNEL(norm_input, args, a, 128)
{
    iris_bf16 *src = (iris_bf16 *)a->norm.src, *residual = (iris_bf16 *)a->norm.residual;
    iris_bf16 *weight = (iris_bf16 *)a->norm.weight;
    for (size_t i = iris_grid_lane(); i < ROWS * COLUMNS; i += iris_grid_lanes()) {
        src[i] = iris_narrow_bf16(whole(*a->turn, a->rank, i));
        residual[i] = iris_narrow_bf16(whole(*a->turn, a->ranks, i)); /* as on every rank */
        weight[i % COLUMNS] = iris_narrow_bf16(1);
    }
}
/* The residual is the sum, and out has its direction, with a mean of squares of 1. */
IRIS_KERNEL(norm_compare, args, a, 128)
{
    const iris_bf16 *residual = (const iris_bf16 *)a->norm.residual, *out = (const iris_bf16 *)a->norm.out;
    uint64_t wrong = 0;
    for (size_t row = iris_grid_lane(); row < ROWS; row += iris_grid_lanes()) {
        float squares = 0;
        for (size_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
            float sum = 0;
            for (int r = 0; r <= a->ranks; r++)
                sum += whole(*a->turn, r, i);
            wrong += iris_widen_bf16(residual[i]) != sum;
            squares += sum * sum / COLUMNS;
        }
        for (size_t i = row * COLUMNS; i < (row + 1) * COLUMNS; i++) {
            const float x = iris_widen_bf16(residual[i]), y = iris_widen_bf16(out[i]);
            const float missing = y * y * (squares + a->norm.epsilon) - x * x;
            wrong += x * y < 0 || (missing < 0 ? -missing : missing) > 0.02f * x * x;
        }
    }
    report(a, wrong);
}
IRIS_KERNEL(count_turn, args, a, 128)
{
    if (iris_grid_lane() == 0)
        *a->turn += 1;
}

struct scene {
    irist_rank *t;
    args a;
    iris_channel ch;
    iris_schedule schedule;
};
void launch(scene *s, irisi_kernel kernel, const char *name, uint32_t workgroups, iris_stream stream)
{
    const iris_launch_config cfg = iris_grid(workgroups, 128);
    irist_ok(s->t, irisi_launch(s->t->world, kernel, name, &s->a, sizeof s->a, &cfg, stream));
}
#define LAUNCH(s, kernel, workgroups, stream) launch((s), IRISI_KERNEL_PTR(kernel), #kernel, (workgroups), (stream))

void submit_rows(scene *s, iris_stream stream)
{
    const args *a = &s->a;
    LAUNCH(s, rows_input, 4, stream);
    irist_ok(s->t, iris_all_to_allv_rows_u16(s->t->world, &s->ch, a->dst, a->dst_offsets, a->dst_counts, a->src,
                                             a->src_offsets, a->src_counts, world, stream));
    LAUNCH(s, rows_compare, 4, stream);
    LAUNCH(s, count_turn, 1, stream);
}
void submit_ring(scene *s, iris_stream stream)
{
    const args *a = &s->a;
    LAUNCH(s, message_input, 4, stream);
    irist_ok(s->t, iris_exchange_u16(s->t->world, &s->ch, a->dst, (a->rank + a->ranks - 1) % a->ranks, a->src,
                                     (a->rank + 1) % a->ranks, MOST, stream));
    LAUNCH(s, ring_compare, 4, stream);
    LAUNCH(s, count_turn, 1, stream);
}
void submit_line(scene *s, iris_stream stream)
{
    const args *a = &s->a;
    LAUNCH(s, message_input, 4, stream);
    if (a->rank > 0)
        irist_ok(s->t, iris_recv_from_u16(s->t->world, &s->ch, a->dst, MOST, a->rank - 1, stream));
    if (a->rank + 1 < a->ranks)
        irist_ok(s->t, iris_send_to_u16(s->t->world, &s->ch, a->rank > 0 ? a->dst : a->src, MOST, a->rank + 1, stream));
    LAUNCH(s, line_compare, 4, stream);
    LAUNCH(s, count_turn, 1, stream);
}
void submit_norm(scene *s, iris_stream stream)
{
    LAUNCH(s, norm_input, 4, stream);
    irist_ok(s->t, iris_all_reduce_rmsnorm_bf16(s->t->world, &s->ch, &s->a.norm, s->schedule, world, stream));
    LAUNCH(s, norm_compare, 1, stream);
    LAUNCH(s, count_turn, 1, stream);
}

void replay(irist_rank *t, const char *what, iris_schedule schedule, void (*submit)(scene *, iris_stream))
{
    const size_t ranks = (size_t)t->ranks, bytes = ranks * MOST * sizeof(uint16_t);
    iris_stream recorder = nullptr;
    uint64_t words[2] = {0, 0};
    scene s;
    std::memset(static_cast<void *>(&s), 0, sizeof s);
    s.t = t, s.schedule = schedule, s.a.rank = t->rank, s.a.ranks = t->ranks;
    char *const memory = (char *)iris_malloc(t->world, 2 * bytes + 4 * ranks * sizeof(uint64_t) + sizeof words);
    irist_check(t, memory != nullptr, "%s", iris_error_string(t->world));
    irist_ok(t, iris_memset(t->world, memory, 0, 2 * bytes + 4 * ranks * sizeof(uint64_t) + sizeof words));
    uint64_t *const lists = (uint64_t *)(void *)(memory + 2 * bytes);
    s.a.src = (uint16_t *)(void *)memory, s.a.dst = (uint16_t *)(void *)(memory + bytes);
    s.a.dst_offsets = lists, s.a.dst_counts = lists + ranks;
    s.a.src_offsets = lists + 2 * ranks, s.a.src_counts = lists + 3 * ranks;
    s.a.turn = lists + 4 * ranks, s.a.wrong = s.a.turn + 1;
    s.a.norm = {s.a.dst, s.a.dst + ROWS * COLUMNS, s.a.src, s.a.src + ROWS * COLUMNS, ROWS, COLUMNS, 1e-5f, 0};
    irist_ok(t, iris_collective_channel(t->world, &s.ch, 0));
    irist_ok(t, iris_stream_create(t->world, &recorder));
    irist_meet(t);
    irist_replay(t, iris_default_stream(t->world), recorder, [&](iris_stream stream) { submit(&s, stream); });
    irist_ok(t, iris_memcpy(t->world, words, s.a.turn, sizeof words));
    irist_check(t, words[1] == 0 && words[0] == (uint64_t)irist_replays() + 1, "%s: %llu elements wrong in %llu turns",
                what, (unsigned long long)words[1], (unsigned long long)words[0]);
    irist_meet(t);
    irist_ok(t, iris_stream_destroy(t->world, recorder));
    irist_ok(t, iris_channel_destroy(t->world, &s.ch));
    irist_ok(t, iris_free(t->world, memory));
}

void rows(irist_rank *t) { replay(t, "all_to_allv", IRIS_SCHEDULE_AUTO, submit_rows); }
void messages(irist_rank *t)
{
    replay(t, "exchange", IRIS_SCHEDULE_AUTO, submit_ring);
    replay(t, "send and receive", IRIS_SCHEDULE_AUTO, submit_line);
}
void norms(irist_rank *t)
{
    replay(t, "all_reduce_rmsnorm one_shot", IRIS_SCHEDULE_ONE_SHOT, submit_norm);
    replay(t, "all_reduce_rmsnorm two_shot", IRIS_SCHEDULE_TWO_SHOT, submit_norm);
}

} // namespace

TEST_CASE("captured rows of any length replay", "[gpu]") { irist_spmd(rows, nullptr); }
TEST_CASE("captured messages replay", "[gpu]") { irist_spmd(messages, nullptr); }
TEST_CASE("captured all-reduces with RMSNorm replay", "[gpu]") { irist_spmd(norms, nullptr); }
