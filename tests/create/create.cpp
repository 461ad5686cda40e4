/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/create.h>: what created memory holds, element by element, that it lies at one offset on all ranks,
 * and what happens at the edges. Lengths end before, at and behind the chunks that contents are computed in.
 */
#include "harness.h"

#include <cmath>
#include <cstring>

#include <iris/dtype.h>
#include <iris/init.h>

namespace {

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

const size_t lengths[] = {1, 2, 3, 255, 8191, 8192, 8193, 20000};
const uint64_t seed = 0x1234567890ABCDEFu;

/* The functions of one dtype: T elements, V values, I whole numbers. */
template <typename T, typename V, typename I> struct creators {
    const char *name;
    V (*widen)(T);
    T (*narrow)(V);
    T *(*empty)(iris_world *, size_t);
    T *(*zeros)(iris_world *, size_t);
    T *(*zeros_like)(iris_world *, const T *, size_t);
    T *(*ones)(iris_world *, size_t);
    T *(*full)(iris_world *, size_t, V);
    T *(*arange)(iris_world *, size_t, V, V);
    T *(*linspace)(iris_world *, size_t, V, V);
    T *(*randint)(iris_world *, size_t, uint64_t, I, I);
    iris_status (*download)(iris_world *, T *, const T *, size_t);
    iris_status (*upload)(iris_world *, T *, const T *, size_t);
    V (*peek)(iris_world *, const T *);
    iris_status (*poke)(iris_world *, T *, V);
    /* floats */
    int digits;
    T *(*rand)(iris_world *, size_t, uint64_t);
    T *(*uniform)(iris_world *, size_t, uint64_t, V, V);
    T *(*randn)(iris_world *, size_t, uint64_t);
};

#define IRIST_CREATORS(d)                                                                                              \
#d, iris_widen_##d, iris_narrow_##d, iris_empty_##d, iris_zeros_##d, iris_zeros_like_##d, iris_ones_##d,           \
        iris_full_##d, iris_arange_##d, iris_linspace_##d, iris_randint_##d, iris_download_##d, iris_upload_##d,       \
        iris_peek_##d, iris_poke_##d
#define IRIST_FLOAT_CREATORS(d, digits) IRIST_CREATORS(d), digits, iris_rand_##d, iris_uniform_##d, iris_randn_##d

/* Contents of created memory, which is freed; empty, and a failure, when there is none. */
template <typename C, typename T> std::vector<T> taken(irist_rank *t, const C &c, const char *what, T *p, size_t n)
{
    std::vector<T> v;
    if (!irist_check(t, p != NULL, "%s_%s, n = %zu: %s", what, c.name, n, iris_error_string(t->world)))
        return v;
    irist_check(t, iris_is_symmetric(t->world, p, n * sizeof(T)), "%s_%s is not in the heap", what, c.name);
    v.resize(n);
    irist_ok(t, c.download(t->world, v.data(), p, n));
    irist_ok(t, iris_free(t->world, p));
    return v;
}

/* Element by element against expected(i); the first difference is reported. */
template <typename C, typename T, typename E>
void expect(irist_rank *t, const C &c, const char *what, T *p, size_t n, E expected)
{
    const std::vector<T> v = taken(t, c, what, p, n);
    for (size_t i = 0; i < v.size(); i++) {
        const T want = expected(i);
        if (!irist_check(t, std::memcmp(&v[i], &want, sizeof want) == 0, "%s_%s, n = %zu: element %zu is %g, not %g",
                         what, c.name, n, i, (double)c.widen(v[i]), (double)c.widen(want)))
            return;
    }
}

/* The whole number that randint puts at i: lo and the scaled bits of Philox's first two words, stream 2. */
template <typename I> wide random_whole(size_t i, I lo, I hi)
{
    const iris_philox x = iris_random_bits(seed, i, 2);
    const uint64_t bits = (uint64_t)x.v[0] << 32 | x.v[1];
    return (wide)lo + (wide)((unsigned_wide)bits * (uint64_t)((wide)hi - lo) >> 64);
}

template <typename T, typename V, typename I> void try_constants(irist_rank *t, const creators<T, V, I> &c, size_t n)
{
    expect(t, c, "zeros", c.zeros(t->world, n), n, [&](size_t) { return c.narrow(0); });
    expect(t, c, "ones", c.ones(t->world, n), n, [&](size_t) { return c.narrow(1); });
    expect(t, c, "full", c.full(t->world, n, (V)13), n, [&](size_t) { return c.narrow(13); });
    expect(t, c, "full", c.full(t->world, n, (V)-3), n, [&](size_t) { return c.narrow((V)-3); });
    const std::vector<T> unused = taken(t, c, "empty", c.empty(t->world, n), n);
    irist_check(t, unused.size() == n, "empty_%s", c.name);
}

template <typename T, typename I> void try_integers(irist_rank *t, const creators<T, T, I> &c)
{
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    for (size_t n : lengths) {
        try_constants(t, c, n);
        expect(t, c, "arange", c.arange(t->world, n, 5, 3), n, [](size_t i) { return (T)(5 + 3 * (uint64_t)i); });
        expect(t, c, "arange", c.arange(t->world, n, high, (T)-7), n,
               [&](size_t i) { return (T)((uint64_t)high - 7 * (uint64_t)i); });
        const T ends[][2] = {{low, high}, {high, low}, {1, 2}, {7, 7}, {100, 3}};
        for (const auto &e : ends)
            expect(t, c, "linspace", c.linspace(t->world, n, e[0], e[1]), n, [&](size_t i) {
                const wide moved = ((wide)e[1] - e[0]) * (wide)i / (wide)(n > 1 ? n - 1 : 1);
                return (T)(e[0] + moved);
            });
        const T bounds[][2] = {{low, high}, {3, 11}, {100, 101}};
        for (const auto &b : bounds)
            expect(t, c, "randint", c.randint(t->world, n, seed, b[0], b[1]), n,
                   [&](size_t i) { return (T)random_whole<T>(i, b[0], b[1]); });
    }
    irist_check(t, !c.randint(t->world, 5, seed, 4, 4), "randint_%s took an empty range", c.name);
}

/* The value next to a narrowed one is less than this far away, relative to the larger of value and 1. */
template <typename C> double step_of(const C &c) { return std::ldexp(1.0, 1 - c.digits); }

const double step_of_double = std::ldexp(1.0, -52);

template <typename T, typename V> void try_line(irist_rank *t, const creators<T, V, int64_t> &c, size_t n)
{
    const V first = (V)-1.5, last = (V)6;
    const std::vector<T> v = taken(t, c, "linspace", c.linspace(t->world, n, first, last), n);
    for (size_t i = 0; i < v.size(); i++) {
        const double got = c.widen(v[i]), want = n > 1 ? -1.5 + 7.5 * (double)i / (double)(n - 1) : -1.5;
        const bool end = i == 0 || i == n - 1;
        const double error = 8 * step_of_double + step_of(c) * std::fmax(1, std::fabs(want)); /* 8 > last - first */
        irist_check(t, end ? got == want : std::fabs(got - want) <= error,
                    "linspace_%s, n = %zu: element %zu is %.17g, not %.17g", c.name, n, i, got, want);
    }
}

template <typename T, typename V> void try_floats(irist_rank *t, const creators<T, V, int64_t> &c)
{
    for (size_t n : lengths) {
        try_constants(t, c, n);
        try_line(t, c, n);
        expect(t, c, "arange", c.arange(t->world, n, (V)-2, (V)0.25), n,
               [&](size_t i) { return c.narrow((V)(-2 + 0.25 * (double)i)); }); /* exact in double */
        expect(t, c, "rand", c.rand(t->world, n, seed), n, [&](size_t i) {
            const iris_philox x = iris_random_bits(seed, i, 0);
            const uint64_t bits = (uint64_t)x.v[0] << 32 | x.v[1];
            return c.narrow((V)std::ldexp((double)(bits >> (64 - c.digits)), -c.digits));
        });
        expect(t, c, "randint", c.randint(t->world, n, seed, -4, 5), n,
               [&](size_t i) { return c.narrow((V)random_whole<int64_t>(i, -4, 5)); });
        for (T x : taken(t, c, "uniform", c.uniform(t->world, n, seed, (V)-3, (V)1.5), n))
            irist_check(t, c.widen(x) >= -3 && c.widen(x) <= 1.5, "uniform_%s gave %g", c.name, (double)c.widen(x));
        for (T x : taken(t, c, "rand", c.rand(t->world, n, seed + 1), n))
            irist_check(t, c.widen(x) >= 0 && c.widen(x) < 1, "rand_%s gave %g", c.name, (double)c.widen(x));
    }
    irist_check(t, !c.randint(t->world, 5, seed, 4, 3), "randint_%s took an empty range", c.name);
}

/* Copies in both directions, one element and many. */
template <typename T, typename V, typename I> void try_access(irist_rank *t, const creators<T, V, I> &c)
{
    const size_t n = 300;
    T *p = c.zeros(t->world, n);
    std::vector<T> up(n), down(n);
    for (size_t i = 0; i < n; i++)
        up[i] = c.narrow((V)(i % 13));
    irist_ok(t, c.upload(t->world, p, up.data(), n));
    irist_check(t, c.peek(t->world, p + 20) == 7, "peek_%s", c.name);
    irist_ok(t, c.poke(t->world, p + 20, 3));
    irist_check(t, c.peek(t->world, p + 20) == 3 && c.peek(t->world, p + 21) == 8, "poke_%s", c.name);
    irist_ok(t, c.download(t->world, down.data(), p, n));
    up[20] = c.narrow(3);
    irist_check(t, std::memcmp(up.data(), down.data(), n * sizeof(T)) == 0, "upload_%s and download_%s", c.name,
                c.name);
    const auto names = [&](const char *what, const char *missing) {
        const std::string begin = std::string("iris_") + what + "_" + c.name + ": the " + missing + " is null";
        irist_check(t, std::strstr(iris_error_string(t->world), begin.c_str()) != nullptr, "%s, says %s",
                    begin.c_str(), iris_error_string(t->world));
    };
    irist_check(t, c.upload(t->world, p, nullptr, n) == IRIS_ERR_ARGUMENT, "upload_%s from nowhere", c.name);
    names("upload", "source");
    irist_check(t, c.download(t->world, nullptr, p, n) == IRIS_ERR_ARGUMENT, "download_%s to nowhere", c.name);
    names("download", "destination");
    irist_check(t, c.poke(t->world, nullptr, 3) == IRIS_ERR_ARGUMENT, "poke_%s to nowhere", c.name);
    names("poke", "destination");
    irist_check(t, c.peek(t->world, nullptr) == 0, "peek_%s from nowhere", c.name);
    names("peek", "source");
    irist_ok(t, iris_free(t->world, p));
}

template <typename T, typename V, typename I> void try_edges(irist_rank *t, const creators<T, V, I> &c)
{
    T *a = c.zeros(t->world, 0), *b = c.full(t->world, 0, 1);
    irist_check(t, a && b && a != b, "%s: no elements must get addresses of their own", c.name);
    irist_ok(t, iris_free(t->world, a));
    irist_ok(t, iris_free(t->world, b));
    const size_t too_many[] = {SIZE_MAX, SIZE_MAX / sizeof(T), SIZE_MAX / sizeof(T) - 100, (size_t)1 << 50};
    for (size_t n : too_many) {
        irist_check(t, !c.zeros(t->world, n) && !c.ones(t->world, n) && !c.empty(t->world, n), "%s: %zu elements",
                    c.name, n);
        irist_check(t, std::strlen(iris_error_string(t->world)) > 0, "%s: %zu elements without a sentence", c.name, n);
    }
    const size_t data = iris_heap_used(t->world, IRIS_MEM_DATA), sync = iris_heap_used(t->world, IRIS_MEM_SYNC);
    T *s = (T *)iris_malloc_kind(t->world, 64, 0, IRIS_MEM_SYNC);
    T *like = c.zeros_like(t->world, s, 64);
    irist_check(t, iris_heap_used(t->world, IRIS_MEM_DATA) == data && iris_heap_used(t->world, IRIS_MEM_SYNC) > sync,
                "zeros_like_%s: not in sync memory", c.name);
    irist_check(t, like && c.peek(t->world, like + 63) == 0, "zeros_like_%s", c.name);
    irist_ok(t, iris_free(t->world, like));
    irist_ok(t, iris_free(t->world, s));
}

void integers(irist_rank *t)
{
    try_integers<int8_t, int8_t>(t, {IRIST_CREATORS(i8), 0, 0, 0, 0});
    try_integers<uint8_t, uint8_t>(t, {IRIST_CREATORS(u8), 0, 0, 0, 0});
    try_integers<int16_t, int16_t>(t, {IRIST_CREATORS(i16), 0, 0, 0, 0});
    try_integers<uint16_t, uint16_t>(t, {IRIST_CREATORS(u16), 0, 0, 0, 0});
    try_integers<int32_t, int32_t>(t, {IRIST_CREATORS(i32), 0, 0, 0, 0});
    try_integers<uint32_t, uint32_t>(t, {IRIST_CREATORS(u32), 0, 0, 0, 0});
    try_integers<int64_t, int64_t>(t, {IRIST_CREATORS(i64), 0, 0, 0, 0});
    try_integers<uint64_t, uint64_t>(t, {IRIST_CREATORS(u64), 0, 0, 0, 0});
}

void floats(irist_rank *t)
{
    try_floats<iris_f16, float>(t, {IRIST_FLOAT_CREATORS(f16, 11)});
    try_floats<iris_bf16, float>(t, {IRIST_FLOAT_CREATORS(bf16, 8)});
    try_floats<float, float>(t, {IRIST_FLOAT_CREATORS(f32, 24)});
    try_floats<double, double>(t, {IRIST_FLOAT_CREATORS(f64, 53)});
    try_floats<iris_f8e4m3, float>(t, {IRIST_FLOAT_CREATORS(f8e4m3, 4)});
    try_floats<iris_f8e5m2, float>(t, {IRIST_FLOAT_CREATORS(f8e5m2, 3)});
    try_floats<iris_f8e4m3fnuz, float>(t, {IRIST_FLOAT_CREATORS(f8e4m3fnuz, 4)});
    try_floats<iris_f8e5m2fnuz, float>(t, {IRIST_FLOAT_CREATORS(f8e5m2fnuz, 3)});
}

#define IRIST_BOTH(T, V, I, d)                                                                                         \
    {                                                                                                                  \
        const creators<T, V, I> c = {IRIST_CREATORS(d), 0, 0, 0, 0};                                                   \
        try_access(t, c);                                                                                              \
        try_edges(t, c);                                                                                               \
    }

void access(irist_rank *t)
{
    IRIST_BOTH(int8_t, int8_t, int8_t, i8)
    IRIST_BOTH(uint8_t, uint8_t, uint8_t, u8)
    IRIST_BOTH(int16_t, int16_t, int16_t, i16)
    IRIST_BOTH(uint16_t, uint16_t, uint16_t, u16)
    IRIST_BOTH(int32_t, int32_t, int32_t, i32)
    IRIST_BOTH(uint32_t, uint32_t, uint32_t, u32)
    IRIST_BOTH(int64_t, int64_t, int64_t, i64)
    IRIST_BOTH(uint64_t, uint64_t, uint64_t, u64)
    IRIST_BOTH(iris_f16, float, int64_t, f16)
    IRIST_BOTH(iris_bf16, float, int64_t, bf16)
    IRIST_BOTH(float, float, int64_t, f32)
    IRIST_BOTH(double, double, int64_t, f64)
    IRIST_BOTH(iris_f8e4m3, float, int64_t, f8e4m3)
    IRIST_BOTH(iris_f8e5m2, float, int64_t, f8e5m2)
    IRIST_BOTH(iris_f8e4m3fnuz, float, int64_t, f8e4m3fnuz)
    IRIST_BOTH(iris_f8e5m2fnuz, float, int64_t, f8e5m2fnuz)
    irist_check(t, iris_barrier(t->world) != IRIS_OK, "the barrier does not report creations that failed");
    irist_ok(t, iris_barrier(t->world)); /* once */
}

/* Rank r creates the same things as the others; seeds that include the rank must change contents, not places. */
void places(irist_rank *t)
{
    struct {
        uint64_t offset[4];
        float same, own;
    } mine, all[64];
    const iris_ctx ctx = iris_device_ctx(t->world);
    float *a = iris_rand_f32(t->world, 1000, seed);
    iris_bf16 *b = iris_randn_bf16(t->world, 7, seed + (uint64_t)t->rank);
    int8_t *c = iris_zeros_i8(t->world, 0);
    double *d = iris_uniform_f64(t->world, 9000, seed + (uint64_t)t->rank, 0, 1);
    std::memset(&mine, 0, sizeof mine);
    mine.offset[0] = (uintptr_t)a - ctx.base;
    mine.offset[1] = (uintptr_t)b - ctx.base;
    mine.offset[2] = (uintptr_t)c - ctx.base;
    mine.offset[3] = (uintptr_t)d - ctx.base;
    mine.same = iris_peek_f32(t->world, a + 999);
    mine.own = (float)iris_peek_f64(t->world, d + 8999);
    irist_ok(t, iris_allgather(t->world, &mine, all, sizeof mine));
    for (int r = 0; r < t->ranks; r++) {
        irist_check(t, std::memcmp(all[r].offset, mine.offset, sizeof mine.offset) == 0, "other offsets on rank %d", r);
        irist_check(t, all[r].same == mine.same, "another number from the same seed on rank %d", r);
        irist_check(t, r == t->rank || all[r].own != mine.own, "the same number from rank %d's own seed", r);
    }
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a));
    irist_ok(t, iris_free(t->world, b));
    irist_ok(t, iris_free(t->world, c));
    irist_ok(t, iris_free(t->world, d));
}

/* A number depends on its index, not on where a chunk begins. */
void chunks(irist_rank *t)
{
    const size_t n = 1000;
    const irisi_fill fills[] = {irisi_fill_rand(n, seed, 53),
                                irisi_fill_uniform(n, seed, -1, 3),
                                irisi_fill_normal(n, seed),
                                irisi_fill_line_f64(n, 0.1, 0.9, 0),
                                irisi_fill_ramp_f64(n, 0.1, 0.3),
                                irisi_fill_line_u64(n, 3, 90000, 0),
                                irisi_fill_randint(irisi_values_randint_u64, n, seed, 3, 1000, 1)};
    int which = 0;
    for (const irisi_fill &how : fills) {
        std::vector<uint64_t> whole(n), parts(n);
        how.values(whole.data(), 0, n, &how);
        for (size_t first = 0, count = 1; first < n; first += count, count = 1 + count * 3 % 61) {
            count = count < n - first ? count : n - first;
            how.values(parts.data() + first, first, count, &how);
        }
        irist_check(t, whole == parts, "fill %d depends on the chunks", which++);
    }
}

/* Mean, variance, skewness, kurtosis and the share within one standard deviation: six standard errors each. */
void normals(irist_rank *t)
{
    const size_t n = t->full ? 1000000 : 100000;
    double *p = iris_randn_f64(t->world, n, t->seed);
    std::vector<double> v(n);
    if (!irist_check(t, p != NULL, "%s", iris_error_string(t->world)))
        return;
    irist_ok(t, iris_download_f64(t->world, v.data(), p, n));
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0, inside = 0;
    for (double x : v) {
        m1 += x;
        m2 += x * x;
        m3 += x * x * x;
        m4 += x * x * x * x;
        inside += std::fabs(x) < 1;
    }
    const double error = 6 / std::sqrt((double)n);
    const double count = (double)n;
    irist_check(t, std::fabs(m1 / count) < error, "mean %g", m1 / count);
    irist_check(t, std::fabs(m2 / count - 1) < error * std::sqrt(2.0), "variance %g", m2 / count);
    irist_check(t, std::fabs(m3 / count) < error * std::sqrt(15.0), "third moment %g", m3 / count);
    irist_check(t, std::fabs(m4 / count - 3) < error * std::sqrt(96.0), "fourth moment %g", m4 / count);
    irist_check(t, std::fabs(inside / count - 0.682689492) < error * 0.466, "%g within 1", inside / count);
    irist_ok(t, iris_free(t->world, p));
}

} // namespace

TEST_CASE("created integers hold what their creator says", "[create]") { irist_spmd(integers, NULL); }
TEST_CASE("created floats hold what their creator says", "[create]") { irist_spmd(floats, NULL); }
TEST_CASE("peek, poke, upload and download reach created memory; bad lengths give a sentence", "[create]")
{
    irist_spmd(access, NULL);
}
TEST_CASE("creation gives one offset on all ranks, and numbers that depend on the seed alone", "[create]")
{
    irist_spmd(places, NULL);
}
TEST_CASE("a value depends on its index and not on the chunk that it is computed in", "[create]")
{
    irist_spmd(chunks, NULL);
}
TEST_CASE("randn is normal", "[create]") { irist_spmd(normals, NULL); }
