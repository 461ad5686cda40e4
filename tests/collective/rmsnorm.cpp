/* SPDX-License-Identifier: MIT */
/*
 * rmsnorm.cpp: all-reduce with residual and RMSNorm against a sum in order and a norm in double precision, by both
 * schedules, from the host and from a kernel, with and without quantised output; the same bits on every rank; and what
 * the launchers refuse.
 */
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM
#include <cmath>
#include <cstring>
#include <string>

#include "collective.h"

#include <iris/gen/launch/all_reduce_rmsnorm.h>

namespace {

enum { MOST = 9 * 2056, COLUMNS = 2056 };

struct shape {
    size_t rows, columns;
};
const shape shapes[] = {{1, 8}, {3, 136}, {9, COLUMNS}, {0, 64}, {2, 1024}, {5, 40}};

/* Buffers of 16-bit elements of either type, symmetric; out also holds bytes. */
struct buffers {
    uint16_t *src, *residual, *out, *weight;
    iris_channel ch[3];
};

/* What an element is, in 16 bits: real values around 0; the residual and the weight are the same on every rank. */
enum { RESIDUAL = 100, WEIGHT = 101 };
float value(uint64_t seed, int who, size_t i)
{
    const float x = ((float)irist_pick(seed, (uint64_t)who, i, 1u << 16) - 32768.0f) / 16384.0f;
    return who == WEIGHT ? 1 + x / 4 : x;
}
uint16_t narrow(bool bf16, float x) { return bf16 ? iris_narrow_bf16(x).bits : iris_narrow_f16(x).bits; }
float widen(bool bf16, uint16_t bits)
{
    iris_bf16 b;
    iris_f16 h;
    b.bits = bits, h.bits = bits;
    return bf16 ? iris_widen_bf16(b) : iris_widen_f16(h);
}
float element(bool bf16, uint64_t seed, int who, size_t i) { return widen(bf16, narrow(bf16, value(seed, who, i))); }

void fill(irist_rank *t, bool bf16, uint64_t seed, int who, uint16_t *to, size_t n)
{
    std::vector<uint16_t> host(n + 1);
    for (size_t i = 0; i < n; i++)
        host[i] = narrow(bf16, value(seed, who, i));
    irist_ok(t, iris_memcpy(t->world, to, host.data(), n * 2));
}

struct trial {
    bool bf16, in_kernel;
    iris_schedule schedule;
    float scale;
    int shape; /* of the team */
    iris_rmsnorm what;
};

IRIS_KERNEL(own_kernel, irisi_rmsnorm_args, a, 256)
{
    float *shared = (float *)iris_shared();
    if (iris_workgroup() == 0) /* two calls, on one slice */
        for (size_t row = 0; row < a->what.rows; row += (a->what.rows + 1) / 2)
            iris_all_reduce_rmsnorm_two_shot_bf16_wg(
                &a->ctx, &a->ch, a->team, 1, &a->what, row,
                a->what.rows - row < (a->what.rows + 1) / 2 ? a->what.rows - row : (a->what.rows + 1) / 2, shared);
}

void run(irist_rank *t, buffers *b, const trial &x, iris_team team)
{
    if (!x.in_kernel) {
        irist_ok(t, (x.bf16 ? iris_all_reduce_rmsnorm_bf16
                            : iris_all_reduce_rmsnorm_f16)(t->world, &b->ch[x.shape], &x.what, x.schedule, team, NULL));
        return;
    }
    irisi_rmsnorm_args a;
    a.ctx = iris_device_ctx(t->world);
    a.ch = b->ch[x.shape], a.team = team, a.what = x.what;
    iris_launch_config cfg = iris_cooperative(2, 128);
    cfg.shared_bytes = IRIS_RMSNORM_SHARED;
    irist_run(t, own_kernel, a, cfg);
}

/* The residual's bits are those of the sum in the order of the members; out is as near as its type allows. */
void compare(irist_rank *t, const trial &x, iris_team team, uint64_t seed, const std::vector<uint16_t> &residual,
             const std::vector<unsigned char> &out)
{
    const double unit = x.scale > 0 ? 1.0 / 16 : x.bf16 ? 1.0 / 256 : 1.0 / 2048; /* half a unit in the last place */
    for (size_t row = 0; row < x.what.rows; row++) {
        double squares = 0;
        std::vector<double> sums(x.what.columns);
        for (size_t j = 0; j < x.what.columns; j++) {
            const size_t i = row * x.what.columns + j;
            float sum = element(x.bf16, seed, team.start, i);
            for (int m = 1; m < team.size; m++)
                sum += element(x.bf16, seed, team.start + m * team.stride, i);
            const uint16_t want = narrow(x.bf16, sum + element(x.bf16, seed, RESIDUAL, i));
            irist_check(t, residual[i] == want, "residual %zu is %g, not %g", i, (double)widen(x.bf16, residual[i]),
                        (double)widen(x.bf16, want));
            sums[j] = widen(x.bf16, want);
            squares += sums[j] * sums[j];
        }
        for (size_t j = 0; j < x.what.columns; j++) {
            const size_t i = row * x.what.columns + j;
            double want = sums[j] / std::sqrt(squares / (double)x.what.columns + (double)x.what.epsilon) *
                          (double)element(x.bf16, seed, WEIGHT, j);
            iris_f8e4m3 small;
            uint16_t bits;
            small.bits = out[i];
            std::memcpy(&bits, &out[x.scale > 0 ? 0 : 2 * i], 2);
            const double got = (double)(x.scale > 0 ? iris_widen_f8e4m3(small) : widen(x.bf16, bits));
            if (x.scale > 0)
                want = std::fmin(std::fmax(want / (double)x.scale, -448.0), 448.0);
            /* A little more than half a unit for the norm itself; f8's and f16's smallest step near 0. */
            irist_check(t, std::fabs(got - want) <= std::fabs(want) * unit * 1.02 + (x.scale > 0 ? 1.0 / 1024 : 1e-7),
                        "out %zu of %zu columns is %g, not %g", i, x.what.columns, got, want);
        }
    }
}

void one(irist_rank *t, buffers *b, trial x, const shape &s, uint64_t seed)
{
    const iris_team team = collective_team(x.shape, t->ranks);
    const bool inside = collective_member(team, t->rank) >= 0;
    const size_t n = s.rows * s.columns, bytes = x.scale > 0 ? n : 2 * n;
    uint64_t sums[2] = {0, 0}, all[2 * 8];
    std::vector<uint16_t> residual(n);
    fill(t, x.bf16, seed, t->rank, b->src, n);
    fill(t, x.bf16, seed, RESIDUAL, b->residual, n);
    fill(t, x.bf16, seed, WEIGHT, b->weight, s.columns);
    irist_upload(t, b->out, irist_poisoned(2 * MOST + 64));
    x.what = {b->out, b->residual, b->src, b->weight, s.rows, s.columns, 1e-5f, x.scale};
    if (x.schedule != IRIS_SCHEDULE_ONE_SHOT)
        irist_meet(t); /* it writes others' out and residual, which tests have just filled */
    if (inside)
        run(t, b, x, team);
    irist_ok(t, iris_synchronize(t->world));
    if (inside) {
        irist_ok(t, iris_memcpy(t->world, residual.data(), b->residual, 2 * n));
        const std::vector<unsigned char> out = irist_download(t, b->out, 2 * MOST + 64);
        compare(t, x, team, seed, residual, out);
        const std::vector<unsigned char> poison = irist_poisoned(2 * MOST + 64);
        irist_check(t, std::memcmp(&out[bytes], &poison[bytes], out.size() - bytes) == 0, "written behind out");
        for (size_t i = 0; i < bytes; i++)
            sums[0] = sums[0] * 0x100000001B3u + out[i];
        for (size_t i = 0; i < n; i++)
            sums[1] = sums[1] * 0x100000001B3u + residual[i];
    }
    irist_ok(t, iris_allgather(t->world, sums, all, sizeof sums));
    for (int m = 1; m < team.size; m++)
        irist_check(t, std::memcmp(all + 2 * team.start, all + 2 * (team.start + m * team.stride), sizeof sums) == 0,
                    "members 0 and %d have different bits", m);
}

void create(irist_rank *t, buffers *b)
{
    b->src = (uint16_t *)iris_malloc(t->world, 2 * MOST);
    b->residual = (uint16_t *)iris_malloc(t->world, 2 * MOST);
    b->out = (uint16_t *)iris_malloc(t->world, 2 * MOST + 64);
    b->weight = (uint16_t *)iris_malloc(t->world, 2 * COLUMNS);
    for (iris_channel &ch : b->ch)
        irist_ok(t, iris_collective_channel(t->world, &ch, 2048));
    irist_meet(t);
}
void destroy(irist_rank *t, buffers *b)
{
    irist_meet(t);
    for (int i = 2; i >= 0; i--)
        irist_ok(t, iris_channel_destroy(t->world, &b->ch[i]));
    for (void *p : {(void *)b->weight, (void *)b->out, (void *)b->residual, (void *)b->src})
        irist_ok(t, iris_free(t->world, p));
}

void all_shapes(irist_rank *t)
{
    buffers b;
    create(t, &b);
    uint64_t turn = 0;
    for (const shape &s : shapes)
        for (int k = 0; k < 12; k++) { /* types, schedules, outputs; teams and the own kernel take turns */
            const uint32_t dice = irist_pick(t->seed, 7, turn++, 1u << 16);
            trial x = {k % 2 == 0, false, k / 2 % 3 == 0 ? IRIS_SCHEDULE_AUTO : IRIS_SCHEDULE_ONE_SHOT, 0, 0, {}};
            if (k / 2 % 3 == 2)
                x.schedule = IRIS_SCHEDULE_TWO_SHOT;
            x.scale = k < 6 ? 0 : dice % 4 == 0 ? 0.001f : 0.03125f; /* the first is too small: values saturate */
            x.shape = (int)(dice >> 4) % 3;
            if (collective_team(x.shape, t->ranks).size == 0)
                x.shape = 0;
            x.in_kernel = x.bf16 && x.schedule == IRIS_SCHEDULE_TWO_SHOT && (dice >> 8) % 2 == 0;
            one(t, &b, x, s, t->seed + turn);
        }
    destroy(t, &b);
}

/*
 * Many calls and nothing in between: each adds one to the residual, to which the first rank adds as many as there are
 * ranks, and every other one -1. A call that misses a rank, or takes one from another call, shows.
 */
void again(irist_rank *t)
{
    enum { ROUNDS = 5, ROWS = 3, WIDE = 16, N = ROWS * WIDE };
    const uint32_t calls = irist_laps(100, t->ranks > 4 ? 2000 : 10000) / ROUNDS; /* whole numbers in f16 */
    buffers b;
    create(t, &b);
    const std::vector<uint16_t> own(N, narrow(false, t->rank == 0 ? (float)t->ranks : -1.0f));
    const std::vector<uint16_t> ones(WIDE, narrow(false, 1)), nothing(N, 0);
    irist_ok(t, iris_memcpy(t->world, b.src, own.data(), sizeof own[0] * N));
    irist_ok(t, iris_memcpy(t->world, b.weight, ones.data(), sizeof ones[0] * WIDE));
    const iris_rmsnorm what = {b.out, b.residual, b.src, b.weight, ROWS, WIDE, 0, 0};
    for (int round = 0; round < 2 * ROUNDS; round++) {
        std::vector<uint16_t> residual(N), out(N);
        irist_ok(t, iris_memcpy(t->world, b.residual, nothing.data(), sizeof nothing[0] * N));
        irist_upload(t, b.out, irist_poisoned(sizeof out[0] * N)); /* the round before left what is expected */
        irist_meet(t);
        irist_delay(t, (uint64_t)round);
        for (uint32_t call = 0; call < calls; call++)
            irist_ok(t, iris_all_reduce_rmsnorm_f16(t->world, &b.ch[0], &what,
                                                    round % 2 ? IRIS_SCHEDULE_TWO_SHOT : IRIS_SCHEDULE_ONE_SHOT,
                                                    iris_team{0, 0, 0}, NULL));
        irist_ok(t, iris_synchronize(t->world));
        irist_ok(t, iris_memcpy(t->world, residual.data(), b.residual, sizeof residual[0] * N));
        irist_ok(t, iris_memcpy(t->world, out.data(), b.out, sizeof out[0] * N));
        for (size_t i = 0; i < N; i++)
            irist_check(t, widen(false, residual[i]) == (float)calls && widen(false, out[i]) == 1,
                        "after %u calls the residual is %g, the norm %g", calls, (double)widen(false, residual[i]),
                        (double)widen(false, out[i]));
    }
    destroy(t, &b);
}

/* Rows whose squares overflow become 0, and NaN where they are infinite: nothing that looks like a result. */
void overflowing(irist_rank *t)
{
    enum { ROWS = 4, WIDE = 16, N = ROWS * WIDE };
    buffers b;
    create(t, &b);
    std::vector<uint16_t> in(N);
    for (size_t i = 0; i < N; i++)
        in[i] = narrow(true, i / WIDE == 1 ? 1e20f : i % 2 ? -1.0f : 1.0f);
    in[0] = narrow(true, INFINITY), in[2 * WIDE] = narrow(true, NAN);
    const std::vector<uint16_t> ones(WIDE, narrow(true, 1)), nothing(N, 0);
    irist_ok(t, iris_memcpy(t->world, b.src, in.data(), 2 * N));
    irist_ok(t, iris_memcpy(t->world, b.weight, ones.data(), 2 * WIDE));
    for (int k = 0; k < 4; k++) {
        const iris_rmsnorm what = {b.out, b.residual, b.src, b.weight, ROWS, WIDE, 1e-5f, k / 2 ? 0.0625f : 0.0f};
        irist_ok(t, iris_memcpy(t->world, b.residual, nothing.data(), 2 * N));
        irist_upload(t, b.out, irist_poisoned(2 * N)); /* the call before left what is expected */
        irist_meet(t);
        irist_ok(t, iris_all_reduce_rmsnorm_bf16(t->world, &b.ch[0], &what,
                                                 k % 2 ? IRIS_SCHEDULE_TWO_SHOT : IRIS_SCHEDULE_ONE_SHOT,
                                                 iris_team{0, 0, 0}, NULL));
        const std::vector<unsigned char> out = irist_download(t, b.out, 2 * N);
        for (size_t i = 0; i < N; i++) {
            iris_f8e4m3 small;
            uint16_t bits;
            small.bits = out[i];
            std::memcpy(&bits, &out[k / 2 ? 0 : 2 * i], 2);
            const float got = k / 2 ? 0.0625f * iris_widen_f8e4m3(small) : widen(true, bits);
            const int row = (int)i / WIDE, lost = i == 0 || row == 2;
            const float want = row < 2 ? 0.0f : i % 2 ? -1.0f : 1.0f;
            irist_check(t, lost ? std::isnan(got) : got == want, "row %d of call %d: element %zu is %g", row, k, i,
                        (double)got);
        }
        irist_meet(t);
    }
    destroy(t, &b);
}

/* One call that is refused on every rank, and why. */
void refused(irist_rank *t, buffers *b, iris_rmsnorm what, iris_schedule schedule, const char *why)
{
    const iris_status s = iris_all_reduce_rmsnorm_bf16(t->world, &b->ch[0], &what, schedule, iris_team{0, 0, 0}, NULL);
    irist_check(t, s != IRIS_OK && std::strstr(iris_error_string(t->world), why) != NULL, "'%s' is not in: %s", why,
                s == IRIS_OK ? "IRIS_OK" : iris_error_string(t->world));
}

void bad_arguments(irist_rank *t)
{
    buffers b;
    create(t, &b);
    std::vector<uint16_t> outside(64 + 8);
    uint16_t *elsewhere = (uint16_t *)(((uintptr_t)outside.data() + 15) / 16 * 16);
    const iris_rmsnorm good = {b.out, b.residual, b.src, b.weight, 2, 16, 1e-5f, 0};
    iris_rmsnorm bad = good;
    refused(t, &b, good, IRIS_SCHEDULE_RING, "no schedule ring");
    bad.columns = 12;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "multiple of 8");
    bad = good, bad.epsilon = NAN;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "epsilon");
    bad = good, bad.scale = -1;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "scale");
    bad = good, bad.weight = NULL;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "weight");
    bad = good, bad.residual = b.residual + 1;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "not 16-byte aligned");
    bad = good, bad.src = elsewhere;
    refused(t, &b, bad, IRIS_SCHEDULE_ONE_SHOT, "wants src in the symmetric heap");
    bad = good, bad.out = elsewhere;
    refused(t, &b, bad, IRIS_SCHEDULE_TWO_SHOT, "wants out in the symmetric heap");
    bad = good, bad.out = b.src + 8;
    refused(t, &b, bad, IRIS_SCHEDULE_AUTO, "overlap");
    irist_check(t,
                iris_all_reduce_rmsnorm_f16(t->world, &b.ch[0], NULL, IRIS_SCHEDULE_AUTO, iris_team{0, 0, 0}, NULL) ==
                    IRIS_ERR_ARGUMENT,
                "a null is taken");
    destroy(t, &b);
}

} // namespace

TEST_CASE("all-reduce with residual and RMSNorm is the norm of the sum, with the same bits everywhere", "[collective]")
{
    irist_spmd(all_shapes, nullptr);
}

/* The workgroup's sum and largest value in turns, in the same memory; the largest is another lane's each time. */
struct largest_args {
    uint64_t *wrong;
};
IRIS_KERNEL(largest_kernel, largest_args, a, 256)
{
    float *shared = (float *)iris_shared();
    const uint32_t lanes = iris_wg_lanes(), lane = iris_wg_lane();
    for (uint32_t lap = 0; lap < 2 * lanes; lap++) { /* from small values to the bits of NaNs */
        const uint32_t most = lap % 2 ? 0x7FC00000u + lap : lanes + lap;
        const int wrong = irisi_wg_max_u32(lane == lap % lanes ? most : lane, shared) != most ||
                          irisi_wg_sum(lane == lap % lanes ? 2.0f : 1.0f, shared) != (float)lanes + 1;
        irisi_atomic_add_u64(a->wrong, (uint64_t)wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    }
}
void largest(irist_rank *t)
{
    largest_args a;
    a.wrong = iris_zeros_u64(t->world, 1);
    for (const uint32_t lanes : {1, 4, 128, 200}) {
        iris_launch_config cfg = iris_cooperative(2, lanes);
        cfg.shared_bytes = IRIS_RMSNORM_SHARED;
        irist_run(t, largest_kernel, a, cfg);
    }
    uint64_t wrong = 1;
    irist_ok(t, iris_memcpy(t->world, &wrong, a.wrong, sizeof wrong));
    irist_check(t, wrong == 0, "%llu lanes have another sum or largest value", (unsigned long long)wrong);
    irist_ok(t, iris_free(t->world, a.wrong));
}
TEST_CASE("a workgroup's largest value is the same on every lane", "[collective]") { irist_spmd(largest, nullptr); }
TEST_CASE("all-reduce with RMSNorm may follow itself at once", "[collective]") { irist_spmd(again, nullptr); }
TEST_CASE("all-reduce with RMSNorm makes nothing up where squares overflow", "[collective]")
{
    irist_spmd(overflowing, nullptr);
}
TEST_CASE("all-reduce with RMSNorm refuses what cannot be", "[collective]") { irist_spmd(bad_arguments, nullptr); }
