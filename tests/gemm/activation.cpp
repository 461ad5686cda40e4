/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gemm/activation.h> against the C library in wider arithmetic, over arrays, as kernels call it. Compiled
 * with -ffast-math too, where divisions may be less exact, and comparisons with NaN say anything.
 */
#include "harness.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <iris/gemm/activation.h>

namespace {

template <typename T> std::vector<T> over(T (*function)(T), const std::vector<T> &x)
{
    std::vector<T> y(x.size());
    for (size_t i = 0; i < x.size(); i++)
        y[i] = function(x[i]);
    return y;
}

/* Evenly spread over [low, high], ends included. */
template <typename T> std::vector<T> spread(T low, T high)
{
    const size_t n = irist_laps(1u << 14, 1u << 18);
    std::vector<T> x(n + 1);
    for (size_t i = 0; i <= n; i++)
        x[i] = i == n ? high : low + (high - low) * ((T)i / (T)n);
    return x;
}

/* Every e^x is within so many units of the last place; a NaN is not. */
template <typename T> bool within(double units, const std::vector<T> &got, const std::vector<T> &x, T low, T high)
{
    const int digits = std::numeric_limits<T>::digits;
    for (size_t i = 0; i < x.size(); i++) {
        const T at = x[i] < low ? low : x[i] > high ? high : x[i];
        const long double want = std::exp((long double)at);
        const long double error = std::fabs((long double)got[i] - want);
        if (!irisi_at_most_f64((double)(error / std::ldexp(1.0L, std::ilogb(want) + 1 - digits)), units))
            return false;
    }
    return true;
}

float logistic(float x) { return (float)((double)x / (1 + std::exp(-(double)x))); }
float gelu(float x)
{
    const double u = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    return (float)(x / (1 + std::exp(-2 * u)));
}

/* Within a few units of the last place, or of 1 where that is more; a NaN is not. */
bool near(const std::vector<float> &got, const std::vector<float> &want)
{
    for (size_t i = 0; i < got.size(); i++)
        if (!irisi_at_most_f32(std::fabs(got[i] - want[i]), 4e-7f * std::fmax(1.0f, std::fabs(want[i]))))
            return false;
    return true;
}

template <typename T, typename U> U relu_bits(T (*relu)(T), U bits)
{
    const volatile U opaque = bits;
    const U given = opaque;
    T x;
    std::memcpy(&x, &given, sizeof x);
    const T y = relu(x);
    U result;
    std::memcpy(&result, &y, sizeof result);
    return result;
}

} // namespace

TEST_CASE("e^x is within 2 units of the last place, f64 within 4, and that of the nearer end beyond", "[gemm]")
{
    const std::vector<float> x = spread(-100.0f, 100.0f), small = spread(-1.0f, 1.0f);
    CHECK(within(2, over(iris_exp_f32, x), x, -87.0f, 88.0f));
    CHECK(within(2, over(iris_exp_f32, small), small, -87.0f, 88.0f));
    const std::vector<double> y = spread(-800.0, 800.0), near_0 = spread(-1.0, 1.0);
    CHECK(within(4, over(iris_exp_f64, y), y, -700.0, 700.0));
    CHECK(within(4, over(iris_exp_f64, near_0), near_0, -700.0, 700.0));
}

TEST_CASE("silu and gelu are those of their formulas", "[gemm]")
{
    const std::vector<float> x = spread(-20.0f, 20.0f);
    CHECK(near(over(iris_silu_f32, x), over(logistic, x)));
    CHECK(near(over(iris_gelu_f32, x), over(gelu, x)));
}

TEST_CASE("relu gives 0 for what is negative, NaN for NaN, and what is positive as it is", "[gemm]")
{
    CHECK(relu_bits<float, uint32_t>(iris_relu_f32, 0x3F800000) == 0x3F800000);
    CHECK(relu_bits<float, uint32_t>(iris_relu_f32, 0xBF800000) == 0);
    CHECK(relu_bits<float, uint32_t>(iris_relu_f32, 0x80000000) == 0);
    CHECK(relu_bits<float, uint32_t>(iris_relu_f32, 0x7F800000) == 0x7F800000);
    CHECK(relu_bits<float, uint32_t>(iris_relu_f32, 0xFF800000) == 0);
    CHECK((relu_bits<float, uint32_t>(iris_relu_f32, 0x7FC00001) & 0x7FFFFFFF) > 0x7F800000);
    CHECK((relu_bits<float, uint32_t>(iris_relu_f32, 0xFFC00001) & 0x7FFFFFFF) > 0x7F800000);
    CHECK(relu_bits<double, uint64_t>(iris_relu_f64, 0x3FF0000000000000u) == 0x3FF0000000000000u);
    CHECK(relu_bits<double, uint64_t>(iris_relu_f64, 0xBFF0000000000000u) == 0);
    CHECK(relu_bits<double, uint64_t>(iris_relu_f64, 0xFFF0000000000000u) == 0);
    CHECK(relu_bits<double, uint64_t>(iris_relu_f64, 0x7FF8000000000001u) << 1 > 0xFFE0000000000000u);
}
