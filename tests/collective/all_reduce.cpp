/* SPDX-License-Identifier: MIT */
/*
 * all_reduce.cpp: every schedule of all-reduce against the definition, bit for bit on every rank. Types and operations
 * take turns with the schedules. Inputs are real values where the
 * order of the members is promised; a ring's order has a test of its own.
 */
#include "collective.h"

#include <iris/gen/all_reduce_atomic.h>
#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_ll_two_shot.h>
#include <iris/gen/all_reduce_one_shot.h>
#include <iris/gen/all_reduce_ring.h>
#include <iris/gen/all_reduce_two_shot.h>

/* x(schedule, op, dtype, C type): each type with three schedules and three operations. */
#define DEAL(x, d, ctype, schedule1, op1, schedule2, op2, schedule3, op3)                                              \
    x(schedule1, op1, d, ctype) x(schedule2, op2, d, ctype) x(schedule3, op3, d, ctype)
#define ROWS(x)                                                                                                        \
    x(atomic, sum, i32, int32_t) x(atomic, sum, u8, uint8_t)                                                           \
    x(atomic, sum, f32, float) x(atomic, sum, bf16, iris_bf16)                                                         \
    x(ll_two_shot, sum, u8, uint8_t) x(ll_two_shot, sum, bf16, iris_bf16) x(ll_two_shot, min, f64, double)             \
    DEAL(x, i8, int8_t, one_shot, sum, two_shot, and, ring, prod)                                                      \
    DEAL(x, u8, uint8_t, two_shot, sum, ring, or, ll, min)                                                             \
    DEAL(x, i16, int16_t, ring, sum, ll, xor, one_shot, max)                                                           \
    DEAL(x, u16, uint16_t, ll, sum, one_shot, avg, two_shot, and)                                                      \
    DEAL(x, i32, int32_t, two_shot, sum, ring, prod, ll, or)                                                           \
    DEAL(x, u32, uint32_t, ring, sum, ll, min, one_shot, xor)                                                          \
    DEAL(x, i64, int64_t, ll, sum, one_shot, max, two_shot, avg)                                                       \
    DEAL(x, u64, uint64_t, one_shot, sum, two_shot, and, ring, prod)                                                   \
    DEAL(x, f16, iris_f16, ring, sum, ll, prod, one_shot, avg)                                                         \
    DEAL(x, bf16, iris_bf16, ll, sum, one_shot, avg, two_shot, min)                                                    \
    DEAL(x, f32, float, one_shot, sum, two_shot, avg, ring, min)                                                       \
    DEAL(x, f64, double, two_shot, sum, ring, min, ll, max)                                                            \
    DEAL(x, f8e4m3, iris_f8e4m3, ll, sum, one_shot, max, two_shot, prod)                                               \
    DEAL(x, f8e5m2, iris_f8e5m2, one_shot, sum, two_shot, prod, ring, avg)                                             \
    DEAL(x, f8e4m3fnuz, iris_f8e4m3fnuz, two_shot, sum, ring, avg, ll, min)                                            \
    DEAL(x, f8e5m2fnuz, iris_f8e5m2fnuz, ring, sum, ll, min, one_shot, max)

#define WHOLE(d, ctype) COLLECTIVE_REDUCE_WHOLE(d, ctype)
#define FLOAT(d, ctype) COLLECTIVE_REDUCE_FLOAT(d, ctype, f32)
namespace {

COLLECTIVE_EACH_WHOLE(WHOLE)
FLOAT(f16, iris_f16)
FLOAT(bf16, iris_bf16)
FLOAT(f32, float)
COLLECTIVE_REDUCE_FLOAT(f64, double, f64)
FLOAT(f8e4m3, iris_f8e4m3)
FLOAT(f8e5m2, iris_f8e5m2)
FLOAT(f8e4m3fnuz, iris_f8e4m3fnuz)
FLOAT(f8e5m2fnuz, iris_f8e5m2fnuz)

} // namespace

#define KERNEL(schedule, op, d, ctype)                                                                                 \
    IRIS_KERNEL(schedule##_##op##_##d, collective_args, a, 256)                                                        \
    {                                                                                                                  \
        iris_all_reduce_##schedule##_##op##_##d(&a->ctx, &a->ch, a->team, (ctype *)a->dst, (const ctype *)a->src,      \
                                                a->count);                                                             \
    }
ROWS(KERNEL)

#define ROW(schedule, op, d, ctype)                                                                                    \
    {"all_reduce_" #schedule "_" #op "_" #d, IRISI_KERNEL_PTR((schedule##_##op##_##d)),                                \
     {sizeof(ctype), make_##d, reduce_##op##_##d}, std::strchr("otl", #schedule[0]) != nullptr, 0, 0},
static const collective_row rows[] = {ROWS(ROW)};

std::vector<unsigned char> collective_expect(const collective_row &row, uint64_t seed, int, int size, size_t count, int)
{
    const size_t e = row.type.bytes;
    std::vector<unsigned char> want(count * e), in((size_t)size * e);
    std::vector<const void *> from((size_t)size);
    for (size_t i = 0; i < count; i++) {
        for (int m = 0; m < size; m++) {
            from[(size_t)m] = &in[(size_t)m * e];
            collective_input(row, seed, m, i, &in[(size_t)m * e]);
        }
        row.type.reduce(&want[i * e], from.data(), (size_t)size);
    }
    return want;
}

static void all_rows(irist_rank *t) { collective_try_all(t, rows, sizeof rows / sizeof rows[0], 2048); }

TEST_CASE("every schedule of all-reduce gives the definition's bits on every rank", "[collective]")
{
    irist_spmd(all_rows, nullptr);
}
