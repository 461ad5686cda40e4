/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/dtype.h> and <iris/gen/dtypes.h>: what every code of a small float means, and which code every float
 * becomes.
 *
 * The oracle knows a format by its definition only: ldexp says what a code means, and a float becomes the code whose
 * meaning is nearest, found by search and compared in double, where every sum of two such values is exact.
 */
#include "harness.h"

#include <cmath>
#include <cstring>
#include <string>

#include <iris/dtype.h>

namespace {

/* The bits that the format under test uses, whatever its storage type. */
#define IRIST_FORMAT(d, integer)                                                                                       \
    float widen_##d(uint32_t code)                                                                                     \
    {                                                                                                                  \
        iris_##d x;                                                                                                    \
        x.bits = (integer)code;                                                                                        \
        return iris_widen_##d(x);                                                                                      \
    }                                                                                                                  \
    uint32_t narrow_##d(float x) { return iris_narrow_##d(x).bits; }

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
    float (*widen)(uint32_t);
    uint32_t (*narrow)(float);
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

double meaning(const format &f, uint32_t code)
{
    const uint32_t magnitude = code & (sign_bit(f) - 1);
    const int exponent = (int)(magnitude >> f.fraction);
    const int fraction = (int)(magnitude & ((1u << f.fraction) - 1));
    double value = exponent == 0 ? std::ldexp(fraction, 1 - f.bias - f.fraction)
                                 : std::ldexp((1 << f.fraction) + fraction, exponent - f.bias - f.fraction);
    if (!f.negative_zero && code == sign_bit(f))
        value = NAN;
    else if (magnitude > f.largest)
        value = f.infinity && magnitude == f.infinity ? HUGE_VAL : NAN;
    return code & sign_bit(f) ? -value : value;
}

uint32_t nearest(const format &f, float x)
{
    if (std::isnan(x))
        return f.nan;
    const double a = std::fabs((double)x);
    uint32_t low = 0, high = f.largest + 1; /* meaning(low) <= a; a < meaning(high), if high were finite */
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        (meaning(f, middle) <= a ? low : high) = middle;
    }
    const double here = meaning(f, low);
    const double next = low < f.largest ? meaning(f, low + 1) : here + (here - meaning(f, low - 1));
    uint32_t code = low;
    if (a + a > here + next || (a + a == here + next && low % 2 == 1))
        code = low + 1;
    if (code > f.largest)
        code = f.saturates ? f.largest : f.infinity;
    if (std::signbit(x) && (f.negative_zero || code != 0))
        code |= sign_bit(f);
    return code;
}

float from_bits(uint32_t bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

uint32_t wrong_narrowings;

void expect_nearest(const format &f, float x)
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
            const double want = meaning(f, code);
            const float got = f.widen(code);
            const bool same =
                std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
            if (!same && wrong++ == 0) {
                INFO(f.name << ": code " << code << " widened to " << got << ", means " << want);
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
            if (std::isnan(meaning(f, code)))
                want = f.nan;
            else if (std::isinf(meaning(f, code)) && f.saturates)
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
            const float tie = (float)((here + next) / 2); /* exact: one bit more than the format has */
            const float values[] = {(float)here,
                                    tie,
                                    std::nextafterf(tie, 0),
                                    std::nextafterf(tie, HUGE_VALF),
                                    std::nextafterf((float)here, 0),
                                    std::nextafterf((float)here, HUGE_VALF)};
            for (float x : values) {
                expect_nearest(f, x);
                expect_nearest(f, -x);
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
            expect_nearest(f, from_bits(bits));
            expect_nearest(f, from_bits(bits | 0x80000000u));
        }
    }
    CHECK(wrong_narrowings == 0);
    CHECK(iris_narrow_f16(65519.0f).bits == 0x7BFF);
    CHECK(iris_narrow_f16(65520.0f).bits == 0x7C00);
    CHECK(iris_narrow_f8e4m3(-HUGE_VALF).bits == 0xFE);
    CHECK(iris_narrow_f8e5m2(1e30f).bits == 0x7B);
    CHECK(iris_narrow_f8e4m3fnuz(-0.0f).bits == 0);
}

TEST_CASE("random floats narrow to the nearest code", "[dtype]")
{
    wrong_narrowings = 0;
    const uint32_t n = irist_laps(1u << 20, 1u << 22);
    for (const format &f : formats) {
        for (uint32_t i = 0; i < n; i++) {
            const uint64_t r = irist_random(irist_seed(), 1, i);
            expect_nearest(f, from_bits((uint32_t)r));
            /* Any bit pattern is mostly far outside an 8-bit float's range: another one with an exponent inside. */
            const uint32_t exponent = 127 - (uint32_t)f.bias - 12 + (uint32_t)(r >> 32) % (2 * (uint32_t)f.bias + 14);
            expect_nearest(f, from_bits(((uint32_t)r & 0x807FFFFFu) | (exponent < 255 ? exponent : 254) << 23));
        }
    }
    CHECK(wrong_narrowings == 0);
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
