/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/dtype.h> and <iris/gen/dtypes.h>: what every code of a small float means, and which code every float
 * becomes.
 *
 * The oracle knows a format by its definition only: ldexp says what a code means, and a float becomes the code whose
 * meaning is nearest, found by search and compared in double, where every sum of two such values is exact. Floats stand
 * here as their bits, and infinities and NaNs are no values: this file also runs compiled with -ffast-math, where
 * subnormal floats count as 0, and comparisons with NaN say anything.
 */
#include "harness.h"

#include <cmath>
#include <cstring>
#include <string>

#include <iris/dtype.h>

namespace {

uint32_t bits_of(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

float from_bits(uint32_t bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/* The bits that the format under test uses, whatever its storage type. */
#define IRIST_FORMAT(d, integer)                                                                                       \
    uint32_t widen_##d(uint32_t code)                                                                                  \
    {                                                                                                                  \
        iris_##d x;                                                                                                    \
        x.bits = (integer)code;                                                                                        \
        return bits_of(iris_widen_##d(x));                                                                             \
    }                                                                                                                  \
    uint32_t narrow_##d(uint32_t x) { return iris_narrow_##d(from_bits(x)).bits; }

IRIST_FORMAT(f16, uint16_t)
IRIST_FORMAT(bf16, uint16_t)
IRIST_FORMAT(f8e4m3, uint8_t)
IRIST_FORMAT(f8e5m2, uint8_t)
IRIST_FORMAT(f8e4m3fnuz, uint8_t)
IRIST_FORMAT(f8e5m2fnuz, uint8_t)

struct format {
    const char *name;
    int bits, fraction, bias;
    uint32_t largest;  /* code of the largest finite value */
    uint32_t infinity; /* 0: the format has none */
    uint32_t nan;      /* canonical */
    bool saturates, negative_zero;
    uint32_t (*widen)(uint32_t); /* to bits of a float, and back */
    uint32_t (*narrow)(uint32_t);
};

const format formats[] = {
    {"f16", 16, 10, 15, 0x7BFF, 0x7C00, 0x7FFF, false, true, widen_f16, narrow_f16},
    {"bf16", 16, 7, 127, 0x7F7F, 0x7F80, 0x7FFF, false, true, widen_bf16, narrow_bf16},
    {"f8e4m3", 8, 3, 7, 0x7E, 0, 0x7F, true, true, widen_f8e4m3, narrow_f8e4m3},
    {"f8e5m2", 8, 2, 15, 0x7B, 0x7C, 0x7F, true, true, widen_f8e5m2, narrow_f8e5m2},
    {"f8e4m3fnuz", 8, 3, 8, 0x7F, 0, 0x80, true, false, widen_f8e4m3fnuz, narrow_f8e4m3fnuz},
    {"f8e5m2fnuz", 8, 2, 16, 0x7F, 0, 0x80, true, false, widen_f8e5m2fnuz, narrow_f8e5m2fnuz},
};

uint32_t sign_bit(const format &f) { return 1u << (f.bits - 1); }

const uint32_t F32_SIGN = 0x80000000, F32_INFINITY = 0x7F800000;

bool is_nan(uint32_t f32) { return (f32 & ~F32_SIGN) > F32_INFINITY; }

/* The value of bits of a float without a sign, and the bits of a value that a float has. */
double value_of(uint32_t f32)
{
    const int exponent = (int)(f32 >> 23), fraction = (int)(f32 & 0x7FFFFF);
    return exponent == 0 ? std::ldexp(fraction, -149) : std::ldexp(fraction + 0x800000, exponent - 150);
}

uint32_t f32_of(double value)
{
    int exponent;
    const double half = std::frexp(value, &exponent); /* 0, or from 0.5 on, below 1 */
    if (value == 0 || exponent < -125)
        return (uint32_t)std::ldexp(value, 149);
    return (uint32_t)(exponent + 126) << 23 | ((uint32_t)std::ldexp(half, 24) & 0x7FFFFF);
}

bool means_nan(const format &f, uint32_t code)
{
    const uint32_t magnitude = code & (sign_bit(f) - 1);
    return f.negative_zero ? magnitude > f.largest && magnitude != f.infinity : code == sign_bit(f);
}

/* What a code means, without its sign. */
double meaning(const format &f, uint32_t code)
{
    const uint32_t magnitude = code & (sign_bit(f) - 1);
    const int exponent = (int)(magnitude >> f.fraction);
    const int fraction = (int)(magnitude & ((1u << f.fraction) - 1));
    return exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction)
                         : std::ldexp((1 << f.fraction) + fraction, exponent - f.bias - f.fraction);
}

uint32_t nearest(const format &f, uint32_t x)
{
    if (is_nan(x))
        return f.nan;
    uint32_t code = f.largest + 1;
    const uint32_t magnitude = x & ~F32_SIGN;
    if (magnitude != F32_INFINITY) {
        const double a = value_of(magnitude);
        uint32_t low = 0, high = f.largest + 1; /* meaning(low) <= a; a < meaning(high), if high were finite */
        while (high - low > 1) {
            const uint32_t middle = (low + high) / 2;
            (meaning(f, middle) <= a ? low : high) = middle;
        }
        const double here = meaning(f, low);
        const double next = low < f.largest ? meaning(f, low + 1) : here + (here - meaning(f, low - 1));
        code = a + a > here + next || (a + a == here + next && low % 2 == 1) ? low + 1 : low;
    }
    if (code > f.largest)
        code = f.saturates ? f.largest : f.infinity;
    return (x & F32_SIGN) != 0 && (f.negative_zero || code != 0) ? code | sign_bit(f) : code;
}

uint32_t wrong_narrowings;

void expect_nearest(const format &f, uint32_t x)
{
    const uint32_t got = f.narrow(x), want = nearest(f, x);
    if (got != want && wrong_narrowings++ == 0) {
        INFO(f.name << ": " << x << " became " << got << ", nearest is " << want);
        CHECK(got == want);
    }
}

} // namespace

TEST_CASE("every code of every small float widens to what it means", "[dtype]")
{
    for (const format &f : formats) {
        uint32_t wrong = 0;
        for (uint32_t code = 0; code < 1u << f.bits; code++) {
            const uint32_t magnitude = code & (sign_bit(f) - 1), sign = code & sign_bit(f) ? F32_SIGN : 0;
            const bool infinite = f.infinity && magnitude == f.infinity;
            const uint32_t want = sign | (infinite ? F32_INFINITY : f32_of(meaning(f, code))), got = f.widen(code);
            const bool same = means_nan(f, code) ? is_nan(got) : got == want;
            if (!same && wrong++ == 0) {
                INFO(f.name << ": code " << code << " widened to the bits " << got << ", means " << want);
                CHECK(same);
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("narrowing gives back every widened code, NaN the canonical one", "[dtype]")
{
    for (const format &f : formats) {
        uint32_t wrong = 0;
        for (uint32_t code = 0; code < 1u << f.bits; code++) {
            const uint32_t sign = code & sign_bit(f);
            uint32_t want = code;
            if (means_nan(f, code))
                want = f.nan;
            else if (f.infinity && code == (sign | f.infinity) && f.saturates)
                want = sign | f.largest;
            wrong += f.narrow(f.widen(code)) != want;
        }
        INFO(f.name);
        CHECK(wrong == 0);
    }
}

TEST_CASE("ties between neighbouring codes go to the even one, and a float beside the tie does not", "[dtype]")
{
    wrong_narrowings = 0;
    for (const format &f : formats) {
        for (uint32_t code = 0; code <= f.largest; code++) {
            const double here = meaning(f, code);
            const double next = code < f.largest ? meaning(f, code + 1) : here + (here - meaning(f, code - 1));
            const uint32_t exact = f32_of(here);
            const uint32_t tie = f32_of((here + next) / 2);   /* one bit more than the format has */
            const uint32_t below = exact > 0 ? exact - 1 : 0; /* neighbouring floats have neighbouring bits */
            for (uint32_t x : {below, exact, exact + 1, tie - 1, tie, tie + 1}) {
                expect_nearest(f, x);
                expect_nearest(f, x | F32_SIGN);
            }
        }
    }
    CHECK(wrong_narrowings == 0);
}

TEST_CASE("infinities, NaNs with any payload, the largest and the smallest floats narrow as documented", "[dtype]")
{
    wrong_narrowings = 0;
    const uint32_t patterns[] = {0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
                                 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x477FEFFF, 0x477FF000};
    for (const format &f : formats) {
        for (uint32_t bits : patterns) {
            expect_nearest(f, bits);
            expect_nearest(f, bits | F32_SIGN);
        }
    }
    CHECK(wrong_narrowings == 0);
    CHECK(iris_narrow_f16(65519.0f).bits == 0x7BFF);
    CHECK(iris_narrow_f16(65520.0f).bits == 0x7C00);
    CHECK(narrow_f8e4m3(F32_SIGN | F32_INFINITY) == 0xFE);
    CHECK(iris_narrow_f8e5m2(1e30f).bits == 0x7B);
    CHECK(narrow_f8e4m3fnuz(F32_SIGN) == 0);
}

TEST_CASE("random floats narrow to the nearest code", "[dtype]")
{
    wrong_narrowings = 0;
    const uint32_t n = irist_laps(1u << 20, 1u << 22);
    for (const format &f : formats) {
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t r = irist_random(irist_seed(), 1, i);
            expect_nearest(f, (uint32_t)r);
            /* Any bit pattern is mostly far outside an 8-bit float's range: another one with an exponent inside. */
            const uint32_t exponent = 127 - (uint32_t)f.bias - 12 + (uint32_t)(r >> 32) % (2 * (uint32_t)f.bias + 14);
            expect_nearest(f, ((uint32_t)r & 0x807FFFFFu) | (exponent < 255 ? exponent : 254) << 23);
        }
    }
    CHECK(wrong_narrowings == 0);
}

TEST_CASE("floats become the nearest whole number, ties to even, cut to the range, NaN 0", "[dtype]")
{
    const struct {
        uint32_t f32;
        int8_t i8;
    } rows[] = {
        {0xC06CCCCD, -4}, /* -3.7 */
        {0x3F000000, 0},  /* 0.5 */
        {0x3FC00000, 2},  /* 1.5 */
        {0xC0200000, -2}, /* -2.5 */
        {0x42FEFFFF, 127},
        {0x42FF0000, 127},
        {0x43800000, 127},
        {0xC3007FFF, -128},
        {0xC3010000, -128},
        {F32_INFINITY, 127},
        {F32_SIGN | F32_INFINITY, -128},
        {0x7FC00000, 0}, /* NaNs */
        {0xFFC00000, 0},
        {0x7F800001, 0},
        {F32_SIGN, 0},
        {1, 0},
        {F32_SIGN | 1, 0},
    };
    for (const auto &row : rows) {
        INFO("bits " << row.f32);
        CHECK((int)irisi_round_i8(from_bits(row.f32)) == (int)row.i8);
    }
    uint32_t wrong = 0;
    for (int32_t i = -130 * 16; i <= 130 * 16; i++) { /* sixteenths are exact */
        const int32_t below = i >= 0 ? i / 16 : -((-i + 15) / 16), over = i - 16 * below;
        const int32_t want = over > 8 || (over == 8 && below % 2 != 0) ? below + 1 : below;
        wrong += irisi_round_i8((float)i / 16) != (want > 127 ? 127 : want < -128 ? -128 : want);
        wrong += irisi_round_i32((double)i / 16) != want;
    }
    CHECK(wrong == 0);
    CHECK(irisi_round_i32(2147483646.5) == 2147483646);
    CHECK(irisi_round_i32(3e9) == INT32_MAX);
    CHECK(irisi_round_i32(-3e9) == INT32_MIN);
    const volatile uint64_t nan = 0x7FF8000000000001u;
    const uint64_t bits = nan;
    double x;
    std::memcpy(&x, &bits, sizeof x);
    CHECK(irisi_round_i32(x) == 0);
}

TEST_CASE("native types widen and narrow to themselves", "[dtype]")
{
    CHECK(iris_widen_i8(-128) == -128);
    CHECK(iris_narrow_u8(255) == 255);
    CHECK(iris_widen_i16(INT16_MIN) == INT16_MIN);
    CHECK(iris_narrow_u16(UINT16_MAX) == UINT16_MAX);
    CHECK(iris_widen_i32(INT32_MIN) == INT32_MIN);
    CHECK(iris_narrow_u32(UINT32_MAX) == UINT32_MAX);
    CHECK(iris_narrow_i64(INT64_MIN) == INT64_MIN);
    CHECK(iris_widen_u64(UINT64_MAX) == UINT64_MAX);
    CHECK(iris_narrow_f32(0.1f) == 0.1f);
    CHECK(iris_widen_f64(0.1) == 0.1);
}

TEST_CASE("the runtime's dtypes have the names and sizes of the storage types", "[dtype]")
{
    const struct {
        iris_dtype dtype;
        const char *name;
        size_t bytes;
    } rows[] = {
        {IRIS_I8, "i8", sizeof(int8_t)},
        {IRIS_U8, "u8", sizeof(uint8_t)},
        {IRIS_I16, "i16", sizeof(int16_t)},
        {IRIS_U16, "u16", sizeof(uint16_t)},
        {IRIS_I32, "i32", sizeof(int32_t)},
        {IRIS_U32, "u32", sizeof(uint32_t)},
        {IRIS_I64, "i64", sizeof(int64_t)},
        {IRIS_U64, "u64", sizeof(uint64_t)},
        {IRIS_F16, "f16", sizeof(iris_f16)},
        {IRIS_BF16, "bf16", sizeof(iris_bf16)},
        {IRIS_F32, "f32", sizeof(float)},
        {IRIS_F64, "f64", sizeof(double)},
        {IRIS_F8E4M3, "f8e4m3", sizeof(iris_f8e4m3)},
        {IRIS_F8E5M2, "f8e5m2", sizeof(iris_f8e5m2)},
        {IRIS_F8E4M3FNUZ, "f8e4m3fnuz", sizeof(iris_f8e4m3fnuz)},
        {IRIS_F8E5M2FNUZ, "f8e5m2fnuz", sizeof(iris_f8e5m2fnuz)},
    };
    CHECK(sizeof rows / sizeof rows[0] == IRIS_DTYPES - 1);
    CHECK(iris_dtype_bytes(IRIS_DTYPE_NONE) == 0);
    for (const auto &row : rows) {
        CHECK(std::string(iris_dtype_name(row.dtype)) == row.name);
        CHECK(iris_dtype_bytes(row.dtype) == row.bytes);
    }
    CHECK(iris_dtype_bytes(IRIS_DTYPES) == 0);
    CHECK(std::string(iris_dtype_name(IRIS_DTYPES)) == "none");
}
