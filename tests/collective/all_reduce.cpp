/* SPDX-License-Identifier: MIT */
/*
 * all_reduce.cpp: every schedule of all-reduce with every type and operation against the definition, bit for bit on
 * every rank. A kernel for each schedule and type takes the operation as a value; the launchers' kernels, for which
 * it is a constant, are tried with some.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F16
#define IRIS_INSTANTIATE_ALL_REDUCE_PROD_U8
#define IRIS_INSTANTIATE_ALL_REDUCE_MIN_I64
#endif

#include "collective.h"

#include <iris/gen/all_reduce_atomic.h>
#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_ll_two_shot.h>
#include <iris/gen/all_reduce_one_shot.h>
#include <iris/gen/all_reduce_ring.h>
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/gen/launch/all_reduce.h>

#define KERNEL(schedule, d, ctype)                                                                                     \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            irisi_all_reduce_##schedule##_##d##_grid(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count,    \
                                                     c->op);                                                           \
    }
#define KERNELS(d, D, ctype, bits, kind, acc)                                                                          \
    KERNEL(ll, d, ctype) KERNEL(ll_two_shot, d, ctype) KERNEL(one_shot, d, ctype) KERNEL(two_shot, d, ctype) KERNEL(ring, d, ctype)
IRIST_EACH_DTYPE(KERNELS)

#if defined(IRIST_PART)
#define EACH_ATOMIC(x) x(u8, U8, uint8_t) x(i64, I64, int64_t) x(bf16, BF16, iris_bf16) x(f32, F32, float)
#else
#define EACH_ATOMIC(x)                                                                                                 \
    x(i8, I8, int8_t) x(u8, U8, uint8_t) x(i16, I16, int16_t) x(u16, U16, uint16_t) x(i32, I32, int32_t)               \
        x(u32, U32, uint32_t) x(i64, I64, int64_t) x(u64, U64, uint64_t) x(f16, F16, iris_f16)                         \
            x(bf16, BF16, iris_bf16) x(f32, F32, float) x(f64, F64, double)
#endif
#define ATOMIC_KERNEL(d, D, ctype) KERNEL(atomic, d, ctype)
EACH_ATOMIC(ATOMIC_KERNEL)

#define ROW(schedule, d, D, order, ops)                                                                                \
    {"all_reduce_" #schedule, IRIS_##D, IRISI_KERNEL_PTR((schedule##_##d)), nullptr, IRIS_SCHEDULE_AUTO, order, ops},
#define ROWS(d, D, ctype, bits, kind, acc)                                                                             \
    ROW(ll, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                         \
    ROW(ll_two_shot, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                \
    ROW(one_shot, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                   \
    ROW(two_shot, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                   \
    ROW(ring, d, D, COLLECTIVE_BY_RING, COLLECTIVE_OPS_##kind)
#define ATOMIC_ROW(d, D, ctype) ROW(atomic, d, D, COLLECTIVE_ANY, 1u << IRIS_OP_SUM)

static const collective_kind kind = {true, false, false, false};

static void kernels(irist_rank *t) { collective_try(t, kind, {IRIST_EACH_DTYPE(ROWS) EACH_ATOMIC(ATOMIC_ROW)}); }

static void launchers(irist_rank *t)
{
    const std::vector<iris_schedule> schedules = {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_LL_TWO_SHOT, IRIS_SCHEDULE_ONE_SHOT,
                                                  IRIS_SCHEDULE_TWO_SHOT, IRIS_SCHEDULE_RING};
    collective_try(t, kind,
                   collective_launchers("iris_launch_all_reduce", iris_launch_all_reduce, schedules,
                                        {{IRIS_F16, IRIS_OP_SUM}, {IRIS_U8, IRIS_OP_PROD}, {IRIS_I64, IRIS_OP_MIN}}));
}

TEST_CASE("every schedule of all-reduce gives the definition's bits on every rank", "[collective]")
{
    irist_spmd(kernels, nullptr);
}
TEST_CASE("launchers of all-reduce combine by the operation that they are given", "[collective]")
{
    irist_spmd(launchers, nullptr);
}
