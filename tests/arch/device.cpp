/* SPDX-License-Identifier: MIT */
/*
 * Tries arch/<platform>/device.h and memory.h: ids count every lane once, shuffles and ballots move what they say,
 * barriers hold, and accesses of each width touch their bytes only.
 */
#include "../harness.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

enum { WORKGROUPS = 3, LANES = 192, MAX_LANES = WORKGROUPS * LANES };

struct args {
    uint64_t *out;        /* MAX_LANES: once for each lane; then [MAX_LANES] lanes, [+1] surprises */
    unsigned char *bytes; /* MAX_LANES * 64 */
    size_t n;
};

IRIS_KERNEL(arch_ids, args, a, LANES)
{
    uint64_t wrong = 0;
    wrong += iris_lane() >= iris_wave_lanes();
    wrong += iris_wave() >= iris_waves();
    wrong += iris_wave() * iris_wave_lanes() + iris_lane() != iris_wg_lane();
    wrong += iris_waves() * iris_wave_lanes() != iris_wg_lanes(); /* LANES is a multiple of every wave */
    wrong += iris_workgroup() * (size_t)iris_wg_lanes() + iris_wg_lane() != iris_grid_lane();
    wrong += iris_workgroups() * (size_t)iris_wg_lanes() != iris_grid_lanes();
    wrong += ((uintptr_t)iris_shared() & 127) != 0;
    wrong += iris_compute_unit() >= IRIS_COMPUTE_UNIT_IDS;
    wrong += iris_shuffle_u32(iris_compute_unit(), 0) != iris_compute_unit();
    irisi_atomic_add_u64(a->out + iris_grid_lane(), 1, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    irisi_atomic_add_u64(a->out + MAX_LANES + 1, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    if (iris_grid_lane() == 0)
        a->out[MAX_LANES] = iris_grid_lanes();
}

IRIS_KERNEL(arch_shuffles, args, a, LANES)
{
    const uint32_t lanes = iris_wave_lanes(), lane = iris_lane();
    const uint64_t mine = irist_random(1, 0, lane);
    uint64_t wrong = 0;
    for (uint32_t k = 0; k < lanes; k++) {
        const uint32_t from = (lane * 7 + k) % lanes;
        const uint64_t theirs = irist_random(1, 0, from), crossed = irist_random(1, 0, lane ^ k);
        wrong += iris_shuffle_u32((uint32_t)mine, from) != (uint32_t)theirs;
        wrong += iris_shuffle_u64(mine, from) != theirs;
        wrong += iris_shuffle_f32((float)lane, from) != (float)from;
        wrong += iris_shuffle_f64(0.1 * lane, from) != 0.1 * from;
        wrong += iris_shuffle_xor_u32((uint32_t)mine, k) != (uint32_t)crossed;
        wrong += iris_shuffle_xor_u64(mine, k) != crossed;
        wrong += iris_shuffle_xor_f32((float)lane, k) != (float)(lane ^ k);
        wrong += iris_shuffle_xor_f64(0.1 * lane, k) != 0.1 * (lane ^ k);
        wrong += iris_ballot(lane == k) != (uint64_t)1 << k;
        wrong += (iris_ballot(lane <= k) >> k & 1) != 1;
    }
    irisi_atomic_add_u64(a->out + MAX_LANES + 1, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* Every lane writes, all meet, every lane reads its neighbour's; shared and global memory. */
IRIS_KERNEL(arch_barriers, args, a, LANES)
{
    uint32_t *shared = (uint32_t *)iris_shared();
    uint64_t *global = a->out + iris_workgroup() * iris_wg_lanes();
    const uint32_t lanes = iris_wg_lanes(), me = iris_wg_lane();
    uint64_t wrong = 0, before = iris_clock();
    for (uint32_t turn = 1; turn <= a->n; turn++) {
        const uint32_t other = (me + turn) % lanes;
        shared[me] = turn * 1000 + me;
        global[me] = turn * 1000 + me;
        iris_sync_wg();
        wrong += shared[other] != turn * 1000 + other;
        wrong += global[other] != turn * 1000 + other;
        iris_sync_wg();
        wrong += irisi_any_wg(turn % 3 != 0 && me == turn * 7 % lanes) != (turn % 3 != 0);
        if (turn % 2 == 0)
            wrong += irisi_any_wg(turn % 5 == 0 && me != turn % lanes) != (turn % 5 == 0);
    }
    wrong += iris_clock() < before;
    irisi_atomic_add_u64(a->out + MAX_LANES + 1, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/*
 * Where the platform has gates: the first wave hands a box of numbers to the others, again and again. Nobody reads it
 * before it is full, or fills it while it is being read.
 */
IRIS_KERNEL(arch_gates, args, a, LANES)
{
    uint32_t *full = (uint32_t *)iris_shared(), *empty = full + 2, *box = full + 4;
    const uint32_t lane = iris_lane(), lanes = iris_wave_lanes();
    uint64_t wrong = 0;
    if (iris_wg_lane() == 0) {
        irisi_gate_make(full, lanes);
        irisi_gate_make(empty, iris_wg_lanes() - lanes);
    }
    iris_sync_wg();
    if (!irisi_gate_await(empty, (uint32_t)-1))
        return; /* there are none */
    for (uint32_t turn = 0; turn < a->n; turn++) {
        if (iris_wave() == 0) {
            irisi_gate_await(empty, turn - 1);
            box[lane] = turn * 1000 + lane;
            irisi_gate_arrive(full);
        } else {
            const uint32_t other = (lane + turn) % lanes;
            irisi_gate_await(full, turn);
            wrong += box[other] != turn * 1000 + other;
            irisi_gate_arrive(empty);
        }
    }
    irisi_atomic_add_u64(a->out + MAX_LANES + 1, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* Each lane has 64 bytes; bytes 0 .. 31 are copied to 32 .. 63 by width and hint, leaving one gap each. */
IRIS_DEVICE void copy_widths(unsigned char *p, iris_cache hint)
{
    irisi_store_8(p + 33, irisi_load_8(p + 1, hint), hint);
    irisi_store_16(p + 34, irisi_load_16(p + 2, hint), hint);
    irisi_store_32(p + 36, irisi_load_32(p + 4, hint), hint);
    irisi_store_64(p + 40, irisi_load_64(p + 8, hint), hint);
    irisi_b128 wide = irisi_load_128(p + 16, hint);
    irisi_loaded(&wide);
    irisi_store_128(p + 48, wide, hint);
}

IRIS_KERNEL(arch_widths, args, a, LANES)
{
    unsigned char *p = a->bytes + 64 * iris_grid_lane();
    if (a->n != 0)
        copy_widths(p, IRIS_CACHE_STREAM);
    else
        copy_widths(p, IRIS_CACHE_DEFAULT);
    irisi_drain();
    irisi_release();
    if (iris_grid_lane() == 0)
        a->out[MAX_LANES] = iris_grid_lanes();
}

/* One lane of one workgroup raises, one of another polls. */
IRIS_KERNEL(arch_signals, args, a, LANES)
{
    uint64_t *there = a->out, *back = a->out + 16, wrong = 0;
    if (iris_wg_lane() != 0 || iris_workgroup() > 1)
        return;
    for (uint64_t turn = 1; turn <= a->n; turn++) {
        uint64_t *raise = iris_workgroup() == 0 ? there : back, *poll = iris_workgroup() == 0 ? back : there;
        unsigned char *data = a->bytes + 128 * (turn % 2); /* in turn: the other may still read the last one */
        irisi_store_32(data + 64 * iris_workgroup(), (uint32_t)turn, IRIS_CACHE_DEFAULT);
        irisi_drain();
        if (turn % 2 == 0)
            irisi_raise_set(raise, turn);
        else
            irisi_raise_add(raise, 1);
        for (uint32_t spins = 0; irisi_poll(poll) < turn; spins++)
            iris_pause(spins);
        irisi_acquired();
        wrong += irisi_load_32(data + 64 * (1 - iris_workgroup()), IRIS_CACHE_DEFAULT) != turn;
        irisi_fence();
    }
    irisi_atomic_add_u64(a->out + MAX_LANES + 1, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* Every member of a group of lanes marks its share of n items. */
IRIS_KERNEL(arch_split, args, a, LANES)
{
    const irisi_span s = irisi_split(a->n, iris_grid_lane(), iris_grid_lanes());
    for (size_t i = s.first; i < s.end; i += s.step)
        irisi_atomic_add_u64(a->out + i, 1, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

struct result {
    std::vector<uint64_t> out = std::vector<uint64_t>(MAX_LANES + 2);
    std::vector<unsigned char> bytes = std::vector<unsigned char>(MAX_LANES * 64);
};

result launch(irist_rank *t, irisi_kernel kernel, const char *name, size_t n)
{
    result got;
    for (size_t i = 0; i < got.bytes.size(); i++)
        got.bytes[i] = i % 64 < 32 ? (unsigned char)irist_random(2, 0, i) : irist_poison(i);
    uint64_t *out = (uint64_t *)iris_malloc_kind(t->world, got.out.size() * 8, 0, IRIS_MEM_SYNC);
    unsigned char *bytes = (unsigned char *)iris_malloc(t->world, got.bytes.size());
    if (!irist_check(t, out != nullptr && bytes != nullptr, "%s", iris_error_string(t->world)))
        return got;
    const args a = {out, bytes, n};
    iris_launch_config cfg = iris_cooperative(WORKGROUPS, LANES);
    cfg.shared_bytes = LANES * sizeof(uint32_t);
    irist_ok(t, iris_memcpy(t->world, out, got.out.data(), got.out.size() * 8));
    irist_ok(t, iris_memcpy(t->world, bytes, got.bytes.data(), got.bytes.size()));
    irist_run_kernel(t, kernel, name, &a, sizeof a, cfg);
    irist_ok(t, iris_memcpy(t->world, got.out.data(), out, got.out.size() * 8));
    irist_ok(t, iris_memcpy(t->world, got.bytes.data(), bytes, got.bytes.size()));
    irist_ok(t, iris_free(t->world, bytes));
    irist_ok(t, iris_free(t->world, out));
    irist_check(t, got.out[MAX_LANES + 1] == 0, "%s: %llu surprises", name, (unsigned long long)got.out[MAX_LANES + 1]);
    return got;
}

void try_widths(irist_rank *t, size_t stream)
{
    const result got = launch(t, IRISI_KERNEL_PTR(arch_widths), "arch_widths", stream);
    size_t wrong = got.out[MAX_LANES] == 0;
    for (size_t i = 0; i < got.bytes.size(); i++) {
        const bool written = i % 64 > 32 && i / 64 < got.out[MAX_LANES]; /* byte 32 is the gap */
        const unsigned char expected = i % 64 < 32 ? (unsigned char)irist_random(2, 0, i)
                                       : written   ? (unsigned char)irist_random(2, 0, i - 32)
                                                   : irist_poison(i);
        wrong += got.bytes[i] != expected;
    }
    irist_check(t, wrong == 0, "hint %zu: %zu bytes are wrong", stream, wrong);
}

} /* namespace */

TEST_CASE("ids count every lane once", "[arch]")
{
    irist_spmd(
        [](irist_rank *t) {
            const result got = launch(t, IRISI_KERNEL_PTR(arch_ids), "arch_ids", 0);
            const uint64_t lanes = got.out[MAX_LANES];
            size_t wrong = lanes % WORKGROUPS != 0 || lanes == 0 || lanes > MAX_LANES;
            for (size_t i = 0; i < MAX_LANES; i++)
                wrong += got.out[i] != (i < lanes);
            irist_check(t, wrong == 0, "%zu lanes were counted twice or never", wrong);
        },
        nullptr);
}

TEST_CASE("shuffles and ballots move what they say", "[arch]")
{
    irist_spmd([](irist_rank *t) { launch(t, IRISI_KERNEL_PTR(arch_shuffles), "arch_shuffles", 0); }, nullptr);
}

TEST_CASE("no lane passes a workgroup barrier early", "[arch]")
{
    irist_spmd(
        [](irist_rank *t) { launch(t, IRISI_KERNEL_PTR(arch_barriers), "arch_barriers", irist_laps(200, 2000)); },
        nullptr);
}

TEST_CASE("no wave passes a gate before all have arrived that it waits for", "[arch]")
{
    irist_spmd([](irist_rank *t) { launch(t, IRISI_KERNEL_PTR(arch_gates), "arch_gates", irist_laps(200, 2000)); },
               nullptr);
}

TEST_CASE("accesses touch their own bytes only", "[arch]")
{
    irist_spmd(
        [](irist_rank *t) {
            try_widths(t, 0);
            try_widths(t, 1);
        },
        nullptr);
}

TEST_CASE("data stored before a signal is there after it", "[arch]")
{
    irist_spmd([](irist_rank *t) { launch(t, IRISI_KERNEL_PTR(arch_signals), "arch_signals", irist_laps(200, 5000)); },
               nullptr);
}

static void too_many_lanes(irist_rank *t)
{
    args a;
    std::memset((void *)&a, 0, sizeof a);
    const iris_launch_config grid = iris_grid(1, 2 * LANES), together = iris_cooperative(1, 2 * LANES);
    for (const iris_launch_config *c : {&grid, &together}) {
        const iris_status status = iris_launch(t->world, arch_ids, &a, sizeof a, c, nullptr);
        irist_check(t, status == IRIS_ERR_ARGUMENT, "too many lanes gave %s", iris_status_name(status));
        const std::string said = iris_error_string(t->world);
        irist_check(t, said.find("more than the " + std::to_string(LANES)) != std::string::npos &&
                           said.find("iris_launch(arch_ids)") != std::string::npos,
                    "%s", said.c_str());
    }
    irist_check(t, iris_max_workgroups(t->world, arch_ids, 2 * LANES, 0) == 0, "too many lanes fit");
    irist_check(t, iris_max_workgroups(t->world, arch_ids, LANES, 0) > 0, "%s", iris_error_string(t->world));
    irist_ok(t, iris_synchronize(t->world));
}

TEST_CASE("a launch with more lanes than its kernel is declared for gets a sentence", "[arch]")
{
    irist_spmd(too_many_lanes, nullptr);
}

TEST_CASE("a split gives every item to one member", "[arch]")
{
    irist_spmd(
        [](irist_rank *t) {
            for (size_t n : {0, 1, 2, 3, 7, 16, 255, 256, 257, (int)MAX_LANES}) {
                const result got = launch(t, IRISI_KERNEL_PTR(arch_split), "arch_split", n);
                size_t wrong = 0;
                for (size_t i = 0; i < MAX_LANES; i++)
                    wrong += got.out[i] != (i < n);
                irist_check(t, wrong == 0, "n %zu: %zu items have no member or two", n, wrong);
            }
        },
        nullptr);
}
