/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/random.h>: the generator against its authors' published answers, and the mappings to numbers against
 * their definition.
 */
#include "harness.h"

#include <cmath>
#include <cstring>

#include <iris/random.h>

namespace {

__extension__ typedef unsigned __int128 wide;

struct answer {
    uint32_t counter[4], key[2], result[4];
};

/* Lines "philox4x32 10" of kat_vectors in Random123, the authors' distribution. */
const answer published[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}},
    {{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
     {0xFFFFFFFF, 0xFFFFFFFF},
     {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}},
    {{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344},
     {0xA4093822, 0x299F31D0},
     {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}},
};

} // namespace

TEST_CASE("Philox4x32-10 gives the published answers", "[create]")
{
    for (const answer &row : published) {
        iris_philox counter;
        std::memcpy(counter.v, row.counter, sizeof counter.v);
        const iris_philox x = iris_philox4x32(counter, row.key[0], row.key[1]);
        for (int i = 0; i < 4; i++)
            CHECK(x.v[i] == row.result[i]);
    }
}

TEST_CASE("seed, index and stream are the key and the counter", "[create]")
{
    const uint64_t seed = 0x299F31D0A4093822u, index = 0x85A308D3243F6A88u;
    iris_philox counter;
    counter.v[0] = 0x243F6A88;
    counter.v[1] = 0x85A308D3;
    counter.v[2] = 7;
    counter.v[3] = 0;
    const iris_philox want = iris_philox4x32(counter, 0xA4093822, 0x299F31D0);
    const iris_philox got = iris_random_bits(seed, index, 7);
    CHECK(std::memcmp(want.v, got.v, sizeof want.v) == 0);
}

TEST_CASE("uniform numbers are exact multiples below 1, from the upper bits", "[create]")
{
    uint32_t wrong = 0;
    const uint32_t n = irist_laps(100000, 1000000);
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        const iris_philox x = iris_random_bits(irist_seed(), i, 0);
        const uint64_t bits = (uint64_t)x.v[0] << 32 | x.v[1];
        const float f = iris_random_f32(irist_seed(), i);
        const double d = iris_random_f64(irist_seed(), i);
        wrong += f != (float)std::ldexp((double)(x.v[0] >> 8), -24) || f < 0 || f >= 1;
        wrong += d != std::ldexp((double)(bits >> 11), -53) || d < 0 || d >= 1;
        sum += d;
    }
    CHECK(wrong == 0);
    CHECK(std::fabs(sum / n - 0.5) < 6 * std::sqrt(1.0 / 12 / n)); /* six standard deviations */
}

TEST_CASE("the upper half of a 64-bit product is exact", "[create]")
{
    const uint64_t edges[] = {0, 1, 2, 0xFFFFFFFF, 0x100000000, 0x100000001, UINT64_MAX - 1, UINT64_MAX, INT64_MAX};
    uint32_t wrong = 0;
    for (uint64_t a : edges)
        for (uint64_t b : edges)
            wrong += irisi_mulhi_u64(a, b) != (uint64_t)((wide)a * b >> 64);
    for (uint64_t i = 0; i < 100000; i++) {
        const uint64_t a = irist_random(1, 1, i), b = irist_random(1, 2, i);
        wrong += irisi_mulhi_u64(a, b) != (uint64_t)((wide)a * b >> 64);
    }
    CHECK(wrong == 0);
}

TEST_CASE("integers below a range reach all of it evenly and nothing else", "[create]")
{
    const uint32_t n = 70000, range = 7;
    uint32_t count[range] = {0};
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t x = iris_random_below(irist_seed(), i, range);
        REQUIRE(x < range);
        count[x]++;
    }
    double chi2 = 0;
    for (uint32_t c : count)
        chi2 += ((double)c - n / range) * ((double)c - n / range) / (n / range);
    CHECK(chi2 < 50); /* six degrees of freedom: above 50 once in 10^8 */
    CHECK(iris_random_below(irist_seed(), 3, 1) == 0);
    const iris_philox x = iris_random_bits(irist_seed(), 3, 2);
    CHECK(iris_random_below(irist_seed(), 3, 0) == ((uint64_t)x.v[0] << 32 | x.v[1]));
}
