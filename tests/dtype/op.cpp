/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/op.h> and <iris/gen/op.h>: integers against 128-bit arithmetic, every pair of the 8-bit ones; floats
 * against their definition.
 */
#include "harness.h"

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

/* Floats as their bits: with -ffast-math comparisons of infinities, NaNs and -0 say anything. */
uint64_t bits_of(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
uint64_t bits_of(double x)
{
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
template <typename T> bool same(T a, T b) { return bits_of(a) == bits_of(b); }

/* A value of which the compiler knows nothing. */
template <typename T> T special(bool negative, uint64_t exponent, uint64_t fraction)
{
    const int digits = std::numeric_limits<T>::digits - 1;
    const volatile uint64_t bits = (uint64_t)negative << (8 * sizeof(T) - 1) | exponent << digits | fraction;
    const uint64_t now = bits;
    T x;
    std::memcpy(&x, &now, sizeof x);
    return x;
}

template <typename T> void try_floats(const ops<T> &op)
{
    const uint64_t ones = 2 * (uint64_t)std::numeric_limits<T>::max_exponent - 1; /* the largest exponent there is */
    const T nan = special<T>(false, ones, 1), other = special<T>(true, ones, 2);
    const T zero = special<T>(false, 0, 0), below = special<T>(true, 0, 0);
    const T one = special<T>(false, ones / 2, 0), tiny = special<T>(false, 1, 1);
    const T ascending[] = {special<T>(true, ones, 0), -one - one, -one, -tiny, zero, tiny, one, one + one,
                           special<T>(false, ones, 0)};
    const size_t n = sizeof ascending / sizeof ascending[0];
    INFO(op.name);
    CHECK(op.sum((T)0.1, (T)0.2) == (T)0.1 + (T)0.2);
    CHECK(op.prod((T)0.1, (T)0.2) == (T)0.1 * (T)0.2);
    for (size_t i = 0; i < n; i++) {
        const T x = ascending[i];
        for (size_t k = i; k < n; k++) {
            CHECK(same(op.min(x, ascending[k]), x));
            CHECK(same(op.min(ascending[k], x), x));
            CHECK(same(op.max(x, ascending[k]), ascending[k]));
            CHECK(same(op.max(ascending[k], x), ascending[k]));
        }
        for (T lost : {nan, other}) {
            CHECK(same(op.min(lost, x), x));
            CHECK(same(op.min(x, lost), x));
            CHECK(same(op.max(lost, x), x));
            CHECK(same(op.max(x, lost), x));
        }
    }
    /* Of two NaNs the second, of two zeros the first. */
    CHECK(same(op.min(nan, other), other));
    CHECK(same(op.max(other, nan), nan));
    CHECK(same(op.min(below, zero), below));
    CHECK(same(op.min(zero, below), zero));
    CHECK(same(op.max(below, zero), below));
    CHECK(same(op.max(zero, below), zero));
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
