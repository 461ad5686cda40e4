/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/arch/atomic_*.h>: under contention no update is lost or seen twice, whatever the order and scope, and
 * release and acquire carry data from one lane to another.
 */
#include "../harness.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

enum { WORKGROUPS = 2, LANES = 128, MAX_LANES = WORKGROUPS * LANES };

/* Operations of a launch, over all lanes; below 2^24, so that a float counts them exactly. And turns between two. */
uint32_t operations(void) { return MAX_LANES * (irist_slow() > 1 ? 2 : irist_laps(128, 128)); }
uint32_t turns(void) { return irist_slow() > 1 ? 16 : irist_laps(1024, 1024); }

enum { U32, U64, I32, I64, F32, F64 };

struct run {
    int type;
    iris_order order;
    iris_scope scope;
};

/* What a kernel leaves: lanes of the grid, surprises, workgroups started, sum of what the operations returned. */
enum { OUT_LANES, OUT_WRONG, OUT_STARTED, OUT_SUM, OUT_DATA, OUT };

struct args {
    run r;
    uint32_t seed, operations, turns;
    uint64_t *cells; /* MAX_LANES of them: what is contended for */
    uint64_t *out;   /* OUT of them, all 0 */
};

/* The whole grid is cooperative and starts together: lanes that came one after another would not contend. */
IRIS_DEVICE void start(const args *a)
{
    if (iris_wg_lane() == 0) {
        irisi_atomic_add_u64(a->out + OUT_STARTED, 1, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        while (irisi_atomic_fetch_u64(a->out + OUT_STARTED, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) < iris_workgroups())
            continue;
    }
    iris_sync_wg();
}

/* How often each lane does it. */
IRIS_DEVICE uint32_t laps(const args *a) { return a->operations / (uint32_t)iris_grid_lanes(); }

IRIS_DEVICE void leave(const args *a, uint64_t wrong, uint64_t sum)
{
    irisi_atomic_add_u64(a->out + OUT_WRONG, wrong, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    irisi_atomic_add_u64(a->out + OUT_SUM, sum, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    if (iris_grid_lane() == 0)
        a->out[OUT_LANES] = iris_grid_lanes();
}

IRIS_DEVICE uint32_t add(uint32_t *p, uint32_t v, run r) { return irisi_atomic_add_u32(p, v, r.order, r.scope); }
IRIS_DEVICE uint64_t add(uint64_t *p, uint64_t v, run r) { return irisi_atomic_add_u64(p, v, r.order, r.scope); }
IRIS_DEVICE float add(float *p, float v, run r) { return irisi_atomic_add_f32(p, v, r.order, r.scope); }
IRIS_DEVICE double add(double *p, double v, run r) { return irisi_atomic_add_f64(p, v, r.order, r.scope); }

/* Counts up by ones; the sum of the old values tells a number that was returned twice. */
template <typename T> IRIS_DEVICE void count(const args *a)
{
    T *cell = (T *)a->cells;
    uint64_t sum = 0;
    for (uint32_t lap = 0; lap < laps(a); lap++)
        sum += (uint64_t)add(cell, (T)1, a->r);
    leave(a, 0, sum);
}

IRIS_KERNEL(arch_add, args, a, LANES)
{
    start(a);
    if (a->r.type == U32)
        count<uint32_t>(a);
    else if (a->r.type == U64)
        count<uint64_t>(a);
    else if (a->r.type == F32)
        count<float>(a);
    else
        count<double>(a);
}

IRIS_DEVICE uint32_t cas(uint32_t *p, uint32_t e, uint32_t d, run r)
{
    return irisi_atomic_cas_u32(p, e, d, r.order, r.scope);
}
IRIS_DEVICE uint64_t cas(uint64_t *p, uint64_t e, uint64_t d, run r)
{
    return irisi_atomic_cas_u64(p, e, d, r.order, r.scope);
}

template <typename T> IRIS_DEVICE void count_by_cas(const args *a)
{
    T *cell = (T *)a->cells;
    T seen = 0;
    uint64_t sum = 0;
    for (uint32_t lap = 0; lap < laps(a); lap++) {
        for (;;) {
            const T tried = seen;
            seen = cas(cell, tried, (T)(tried + 1), a->r);
            if (seen == tried)
                break;
        }
        sum += seen;
    }
    leave(a, 0, sum);
}

IRIS_KERNEL(arch_cas, args, a, LANES)
{
    start(a);
    if (a->r.type == U32)
        count_by_cas<uint32_t>(a);
    else
        count_by_cas<uint64_t>(a);
}

/* Every lane puts numbers of its own in; each must come out once. */
IRIS_KERNEL(arch_xchg, args, a, LANES)
{
    uint64_t sum = 0;
    start(a);
    for (uint32_t lap = 0; lap < laps(a); lap++) {
        const uint64_t mine = 1 + iris_grid_lane() * laps(a) + lap;
        if (a->r.type == U32)
            sum += irisi_atomic_xchg_u32((uint32_t *)a->cells, (uint32_t)mine, a->r.order, a->r.scope);
        else
            sum += irisi_atomic_xchg_u64(a->cells, mine, a->r.order, a->r.scope);
    }
    leave(a, 0, sum);
}

/* Every lane owns a bit of a word that it shares, and must always find that bit as it left it. */
IRIS_KERNEL(arch_bits, args, a, LANES)
{
    const uint32_t width = a->r.type == U32 ? 32 : 64;
    const uint64_t mine = (uint64_t)1 << iris_grid_lane() % width;
    const size_t word = iris_grid_lane() / width;
    uint32_t *p32 = (uint32_t *)a->cells + word;
    uint64_t *p64 = a->cells + word, wrong = 0;
    const iris_order o = a->r.order;
    const iris_scope s = a->r.scope;
    start(a);
    for (uint32_t lap = 0; lap < laps(a); lap++) {
        uint64_t off, on, toggled;
        if (width == 32) {
            off = irisi_atomic_or_u32(p32, (uint32_t)mine, o, s);
            on = irisi_atomic_and_u32(p32, ~(uint32_t)mine, o, s);
            toggled = irisi_atomic_xor_u32(p32, (uint32_t)mine, o, s);
            irisi_atomic_xor_u32(p32, (uint32_t)mine, o, s);
        } else {
            off = irisi_atomic_or_u64(p64, mine, o, s);
            on = irisi_atomic_and_u64(p64, ~mine, o, s);
            toggled = irisi_atomic_xor_u64(p64, mine, o, s);
            irisi_atomic_xor_u64(p64, mine, o, s);
        }
        wrong += ((off & mine) != 0) + ((on & mine) == 0) + ((toggled & mine) != 0);
    }
    if (width == 32)
        irisi_atomic_or_u32(p32, (uint32_t)mine, o, s);
    else
        irisi_atomic_or_u64(p64, mine, o, s);
    leave(a, wrong, 0);
}

IRIS_DEVICE int32_t low(int32_t *p, int32_t v, run r) { return irisi_atomic_min_i32(p, v, r.order, r.scope); }
IRIS_DEVICE uint32_t low(uint32_t *p, uint32_t v, run r) { return irisi_atomic_min_u32(p, v, r.order, r.scope); }
IRIS_DEVICE int64_t low(int64_t *p, int64_t v, run r) { return irisi_atomic_min_i64(p, v, r.order, r.scope); }
IRIS_DEVICE uint64_t low(uint64_t *p, uint64_t v, run r) { return irisi_atomic_min_u64(p, v, r.order, r.scope); }
IRIS_DEVICE int32_t high(int32_t *p, int32_t v, run r) { return irisi_atomic_max_i32(p, v, r.order, r.scope); }
IRIS_DEVICE uint32_t high(uint32_t *p, uint32_t v, run r) { return irisi_atomic_max_u32(p, v, r.order, r.scope); }
IRIS_DEVICE int64_t high(int64_t *p, int64_t v, run r) { return irisi_atomic_max_i64(p, v, r.order, r.scope); }
IRIS_DEVICE uint64_t high(uint64_t *p, uint64_t v, run r) { return irisi_atomic_max_u64(p, v, r.order, r.scope); }

/* cells[0] takes the minimum and cells[1] the maximum; neither ever goes back, and both pass every value. */
template <typename T> IRIS_DEVICE uint64_t extremes(const args *a)
{
    T *least = (T *)a->cells, *most = (T *)(a->cells + 1);
    T floor = 0, ceiling = 0;
    uint64_t wrong = 0;
    for (uint32_t lap = 0; lap < laps(a); lap++) {
        const T value = (T)irist_random(a->seed, iris_grid_lane(), lap);
        const T below = low(least, value, a->r), above = high(most, value, a->r);
        wrong += lap > 0 && (below > floor || above < ceiling);
        floor = below < value ? below : value;
        ceiling = above > value ? above : value;
    }
    return wrong;
}

IRIS_KERNEL(arch_extremes, args, a, LANES)
{
    start(a);
    if (a->r.type == I32)
        leave(a, extremes<int32_t>(a), 0);
    else if (a->r.type == U32)
        leave(a, extremes<uint32_t>(a), 0);
    else if (a->r.type == I64)
        leave(a, extremes<int64_t>(a), 0);
    else
        leave(a, extremes<uint64_t>(a), 0);
}

/* One lane writes plainly and then raises a flag; another sees the flag and reads plainly. Then the roles change. */
IRIS_DEVICE uint64_t pass(const args *a, int first)
{
    uint32_t *turn = (uint32_t *)a->cells;
    uint64_t wrong = 0;
    for (uint32_t lap = (uint32_t)first; lap < a->turns; lap += 2) {
        for (uint32_t spins = 0; irisi_atomic_fetch_u32(turn, IRIS_ACQUIRE, a->r.scope) != lap; spins++)
            iris_pause(spins);
        wrong += a->out[OUT_DATA] != lap;
        a->out[OUT_DATA] = lap + 1;
        if (a->r.order == IRIS_RELEASE)
            irisi_atomic_set_u32(turn, lap + 1, IRIS_RELEASE, a->r.scope);
        else
            irisi_atomic_add_u32(turn, 1, IRIS_ACQ_REL, a->r.scope);
    }
    return wrong;
}

IRIS_KERNEL(arch_pass, args, a, LANES)
{
    const int within = a->r.scope == IRIS_SCOPE_WG; /* between two waves of a workgroup, or between two workgroups */
    const uint32_t place = within ? iris_wave() : iris_workgroup();
    uint64_t wrong = 0;
    if (iris_lane() == 0 && (within ? iris_workgroup() == 0 : iris_wave() == 0) && place < 2)
        wrong = pass(a, (int)place);
    leave(a, wrong, 0);
}

/* What a kernel left behind. */
struct result {
    std::vector<uint64_t> cells = std::vector<uint64_t>(MAX_LANES), out = std::vector<uint64_t>(OUT);
};

result launch(irist_rank *t, irisi_kernel kernel, const char *name, run r, const std::vector<uint64_t> &cells)
{
    result got;
    uint64_t *memory = (uint64_t *)iris_malloc_kind(t->world, (MAX_LANES + OUT) * 8, 0, IRIS_MEM_SYNC);
    if (!irist_check(t, memory != nullptr, "%s", iris_error_string(t->world)))
        return got;
    std::copy(cells.begin(), cells.end(), got.cells.begin());
    const args a = {r, (uint32_t)t->seed, operations(), turns(), memory, memory + MAX_LANES};
    irist_ok(t, iris_memcpy(t->world, a.cells, got.cells.data(), MAX_LANES * 8));
    irist_ok(t, iris_memcpy(t->world, a.out, got.out.data(), OUT * 8));
    irist_run_kernel(t, kernel, name, &a, sizeof a, iris_cooperative(WORKGROUPS, LANES));
    irist_ok(t, iris_memcpy(t->world, got.cells.data(), a.cells, MAX_LANES * 8));
    irist_ok(t, iris_memcpy(t->world, got.out.data(), a.out, OUT * 8));
    irist_ok(t, iris_free(t->world, memory));
    irist_check(t, got.out[OUT_LANES] > 0 && got.out[OUT_WRONG] == 0, "%s type %d order %d scope %d: %llu surprises",
                name, r.type, (int)r.order, (int)r.scope, (unsigned long long)got.out[OUT_WRONG]);
    return got;
}

const iris_order orders[] = {IRIS_RELAXED, IRIS_ACQUIRE, IRIS_RELEASE, IRIS_ACQ_REL};
const iris_scope scopes[] = {IRIS_SCOPE_AGENT, IRIS_SCOPE_SYSTEM};

/* Calls `one` for every order and every scope that covers the grid; where all is slow, for every other pair of them. */
void each(irist_rank *t, const std::vector<int> &types, void (*one)(irist_rank *t, run r))
{
    for (int type : types)
        for (iris_order order : orders)
            for (iris_scope scope : scopes)
                if (irist_slow() < 2 || ((int)order + (int)scope + type) % 2 == 0)
                    one(t, run{type, order, scope});
}

/* n operations returned 0 .. n-1 in some order and left n: none was lost and none counted twice. */
void expect_counted(irist_rank *t, const char *name, run r, const result &got)
{
    const uint64_t n = operations(), sum = got.out[OUT_SUM];
    uint64_t left = got.cells[0];
    if (r.type == F32 || r.type == F64) {
        float f;
        double d;
        std::memcpy(&f, &got.cells[0], sizeof f);
        std::memcpy(&d, &got.cells[0], sizeof d);
        left = r.type == F32 ? (uint64_t)f : (uint64_t)d;
    }
    irist_check(t, left == n && sum == n * (n - 1) / 2, "%s type %d order %d scope %d: %llu of %llu, sum %llu", name,
                r.type, (int)r.order, (int)r.scope, (unsigned long long)left, (unsigned long long)n,
                (unsigned long long)sum);
}

void try_add(irist_rank *t, run r)
{
    expect_counted(t, "add", r, launch(t, IRISI_KERNEL_PTR(arch_add), "arch_add", r, {}));
}
void try_cas(irist_rank *t, run r)
{
    expect_counted(t, "cas", r, launch(t, IRISI_KERNEL_PTR(arch_cas), "arch_cas", r, {}));
}
void try_xchg(irist_rank *t, run r)
{
    const result got = launch(t, IRISI_KERNEL_PTR(arch_xchg), "arch_xchg", r, {});
    const uint64_t n = operations(), out = got.out[OUT_SUM] + got.cells[0]; /* one number is still in */
    irist_check(t, out == n * (n + 1) / 2, "xchg type %d order %d scope %d: values came out twice or never", r.type,
                (int)r.order, (int)r.scope);
}
void try_bits(irist_rank *t, run r)
{
    const result got = launch(t, IRISI_KERNEL_PTR(arch_bits), "arch_bits", r, {});
    uint64_t set = 0;
    for (uint64_t word : got.cells)
        for (uint64_t rest = word; rest != 0; rest &= rest - 1)
            set++;
    irist_check(t, set == got.out[OUT_LANES] && set > 0, "type %d order %d scope %d: %llu bits set by %llu lanes",
                r.type, (int)r.order, (int)r.scope, (unsigned long long)set, (unsigned long long)got.out[OUT_LANES]);
}

template <typename T> void expect_extremes(irist_rank *t, run r, T start_low, T start_high)
{
    const result got =
        launch(t, IRISI_KERNEL_PTR(arch_extremes), "arch_extremes", r, {(uint64_t)start_low, (uint64_t)start_high});
    T least = start_low, most = start_high;
    for (uint64_t lane = 0; lane < got.out[OUT_LANES]; lane++) {
        for (uint32_t lap = 0; lap < operations() / got.out[OUT_LANES]; lap++) {
            const T value = (T)irist_random((uint32_t)t->seed, lane, lap);
            least = std::min(least, value);
            most = std::max(most, value);
        }
    }
    irist_check(t, (T)got.cells[0] == least && (T)got.cells[1] == most, "type %d order %d scope %d: wrong extremes",
                r.type, (int)r.order, (int)r.scope);
}
void try_extremes(irist_rank *t, run r)
{
    if (r.type == I32)
        expect_extremes<int32_t>(t, r, INT32_MAX, INT32_MIN);
    else if (r.type == U32)
        expect_extremes<uint32_t>(t, r, UINT32_MAX, 0);
    else if (r.type == I64)
        expect_extremes<int64_t>(t, r, INT64_MAX, INT64_MIN);
    else
        expect_extremes<uint64_t>(t, r, UINT64_MAX, 0);
}

} /* namespace */

TEST_CASE("no addition is lost or counted twice", "[arch]")
{
    irist_spmd([](irist_rank *t) { each(t, {U32, U64, F32, F64}, try_add); }, nullptr);
}

TEST_CASE("a compare-and-swap succeeds only on the value it expects", "[arch]")
{
    irist_spmd([](irist_rank *t) { each(t, {U32, U64}, try_cas); }, nullptr);
}

TEST_CASE("every exchanged value comes out once", "[arch]")
{
    irist_spmd([](irist_rank *t) { each(t, {U32, U64}, try_xchg); }, nullptr);
}

TEST_CASE("bits of a shared word stay as their owner left them", "[arch]")
{
    irist_spmd([](irist_rank *t) { each(t, {U32, U64}, try_bits); }, nullptr);
}

TEST_CASE("minimum and maximum never go back", "[arch]")
{
    irist_spmd([](irist_rank *t) { each(t, {I32, U32, I64, U64}, try_extremes); }, nullptr);
}

TEST_CASE("release and acquire carry plain data", "[arch]")
{
    irist_spmd(
        [](irist_rank *t) {
            for (iris_order order : {IRIS_RELEASE, IRIS_ACQ_REL})
                for (iris_scope scope : {IRIS_SCOPE_WG, IRIS_SCOPE_AGENT, IRIS_SCOPE_SYSTEM})
                    launch(t, IRISI_KERNEL_PTR(arch_pass), "arch_pass", run{U32, order, scope}, {});
        },
        nullptr);
}
