/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/op.h> and <iris/gen/op.h>: integers against 128-bit arithmetic, every pair of the 8-bit ones; floats
 * against their definition.
 */
#include "harness.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <iris/op.h>

namespace {

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

template <typename T> struct ops {
    const char *name;
    T (*sum)(T, T);
    T (*prod)(T, T);
    T (*min)(T, T);
    T (*max)(T, T);
    T (*bit_and)(T, T);
    T (*bit_or)(T, T);
    T (*bit_xor)(T, T);
};

/* The low bits of an exact result, read in T. */
template <typename T> T low_bits(wide exact)
{
    T r;
    std::memcpy(&r, &exact, sizeof r); /* little-endian, as every platform of this library */
    return r;
}

template <typename T> bool agrees(const ops<T> &op, T a, T b)
{
    return op.sum(a, b) == low_bits<T>((wide)a + b) && op.min(a, b) == ((wide)a < b ? a : b) &&
           /* the exact product of two 64-bit values needs 128 bits: unsigned, so that it may wrap */
           op.prod(a, b) == low_bits<T>((wide)((unsigned_wide)(wide)a * (unsigned_wide)(wide)b)) &&
           op.max(a, b) == ((wide)a > b ? a : b) && op.bit_and(a, b) == low_bits<T>((wide)a & b) &&
           op.bit_or(a, b) == low_bits<T>((wide)a | b) && op.bit_xor(a, b) == low_bits<T>((wide)a ^ b);
}

template <typename T> void try_integers(const ops<T> &op)
{
    const T lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
    const T edges[] = {0, 1, 2, (T)-1, (T)-2, lowest, (T)(lowest + 1), highest, (T)(highest - 1), (T)(highest / 2)};
    uint32_t wrong = 0;
    for (T a : edges)
        for (T b : edges)
            wrong += !agrees<T>(op, a, b);
    const uint32_t pairs = 1u << 16;
    for (uint32_t i = 0; i < pairs; i++) {
        const bool all = sizeof(T) == 1; /* every pair there is */
        const uint64_t a = all ? i & 0xFF : irist_random(irist_seed(), 1, i);
        const uint64_t b = all ? i >> 8 : irist_random(irist_seed(), 2, i);
        wrong += !agrees<T>(op, (T)a, (T)b);
    }
    INFO(op.name);
    CHECK(wrong == 0);
}

template <typename T> void try_floats(const ops<T> &op)
{
    const T nan = std::numeric_limits<T>::quiet_NaN(), inf = std::numeric_limits<T>::infinity();
    INFO(op.name);
    CHECK(op.sum((T)0.1, (T)0.2) == (T)0.1 + (T)0.2);
    CHECK(op.prod((T)0.1, (T)0.2) == (T)0.1 * (T)0.2);
    CHECK(op.min(1, 2) == 1);
    CHECK(op.min(2, 1) == 1);
    CHECK(op.max(1, 2) == 2);
    CHECK(op.max(2, 1) == 2);
    CHECK(op.min(-inf, 1) == -inf);
    CHECK(op.max(1, inf) == inf);
    for (T x : {(T)1, inf, -inf}) {
        CHECK(op.min(nan, x) == x);
        CHECK(op.min(x, nan) == x);
        CHECK(op.max(nan, x) == x);
        CHECK(op.max(x, nan) == x);
    }
    CHECK(std::isnan(op.min(nan, nan)));
    CHECK(std::isnan(op.max(nan, nan)));
    CHECK(std::signbit(op.min((T)-0.0, (T)0.0)));
    CHECK(!std::signbit(op.min((T)0.0, (T)-0.0)));
    CHECK(std::signbit(op.max((T)-0.0, (T)0.0)));
    CHECK(!std::signbit(op.max((T)0.0, (T)-0.0)));
}

#define IRIST_FLOAT_OPS(d) #d, iris_sum_##d, iris_prod_##d, iris_min_##d, iris_max_##d
#define IRIST_OPS(d) IRIST_FLOAT_OPS(d), iris_and_##d, iris_or_##d, iris_xor_##d

} // namespace

TEST_CASE("integer operations are the low bits of exact arithmetic", "[dtype]")
{
    try_integers<int8_t>({IRIST_OPS(i8)});
    try_integers<uint8_t>({IRIST_OPS(u8)});
    try_integers<int16_t>({IRIST_OPS(i16)});
    try_integers<uint16_t>({IRIST_OPS(u16)});
    try_integers<int32_t>({IRIST_OPS(i32)});
    try_integers<uint32_t>({IRIST_OPS(u32)});
    try_integers<int64_t>({IRIST_OPS(i64)});
    try_integers<uint64_t>({IRIST_OPS(u64)});
}

TEST_CASE("float operations round once, and a number wins over NaN", "[dtype]")
{
    try_floats<float>({IRIST_FLOAT_OPS(f32), nullptr, nullptr, nullptr});
    try_floats<double>({IRIST_FLOAT_OPS(f64), nullptr, nullptr, nullptr});
}
