/* SPDX-License-Identifier: MIT */
/*
 * all_reduce.cpp: every schedule of all-reduce with every type and operation against the definition, bit for bit on
 * every rank. A schedule is one row of SCHEDULES: a kernel for each type, which takes the operation as a value. The
 * launchers' kernels, for which it is a constant, are tried with some.
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
#include <iris/gen/all_reduce_two_phase.h>
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/gen/all_reduce_two_shot_push.h>
#include <iris/gen/launch/all_reduce.h>

#define SCHEDULES(x, d, D, ctype, ops)                                                                                 \
    x(ll, LL, d, D, ctype, ops) x(ll_two_shot, LL_TWO_SHOT, d, D, ctype, ops) x(one_shot, ONE_SHOT, d, D, ctype, ops)  \
        x(two_shot, TWO_SHOT, d, D, ctype, ops) x(two_shot_push, TWO_SHOT_PUSH, d, D, ctype, ops)                      \
            x(two_phase, TWO_PHASE, d, D, ctype, ops) x(ring, RING, d, D, ctype, ops)
/* Those that hold all that a type has of its own: elements combined from members' memory and from packets (types.h). */
#define BRIEF(x, d, D, ctype, ops) x(ll, LL, d, D, ctype, ops) x(two_shot, TWO_SHOT, d, D, ctype, ops)

/* Sums that grow by remote atomics; whole numbers, since their order is anybody's. */
#if defined(IRIST_PART)
#define ATOMIC_TYPES(x)                                                                                                \
    x(atomic, , u8, U8, uint8_t, 1) x(atomic, , i64, I64, int64_t, 1) x(atomic, , bf16, BF16, iris_bf16, 1)            \
        x(atomic, , f32, F32, float, 1)
#else
#define ATOMIC_TYPES(x)                                                                                                \
    x(atomic, , i8, I8, int8_t, 1) x(atomic, , u8, U8, uint8_t, 1) x(atomic, , i16, I16, int16_t, 1)                   \
        x(atomic, , u16, U16, uint16_t, 1) x(atomic, , i32, I32, int32_t, 1) x(atomic, , u32, U32, uint32_t, 1)        \
            x(atomic, , i64, I64, int64_t, 1) x(atomic, , u64, U64, uint64_t, 1) x(atomic, , f16, F16, iris_f16, 1)    \
                x(atomic, , bf16, BF16, iris_bf16, 1) x(atomic, , f32, F32, float, 1) x(atomic, , f64, F64, double, 1)
#endif

#define KERNEL(schedule, S, d, D, ctype, ops)                                                                          \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            irisi_all_reduce_##schedule##_##d##_grid(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count,    \
                                                     c->op);                                                           \
    }
#define KERNELS(d, D, ctype, bits, kind, acc) SCHEDULES(KERNEL, d, D, ctype, )
#define BRIEF_KERNELS(d, D, ctype, bits, kind, acc) BRIEF(KERNEL, d, D, ctype, )
IRIST_EACH_FULL(KERNELS)
IRIST_EACH_BRIEF(BRIEF_KERNELS)
ATOMIC_TYPES(KERNEL)

#define ROW(schedule, S, d, D, ctype, ops)                                                                             \
    COLLECTIVE_ROW(all_reduce_##schedule, (schedule##_##d), D, collective_order_of(#schedule), ops)
#define ROWS(d, D, ctype, bits, kind, acc) SCHEDULES(ROW, d, D, ctype, COLLECTIVE_OPS_##kind)
#define BRIEF_ROWS(d, D, ctype, bits, kind, acc) BRIEF(ROW, d, D, ctype, COLLECTIVE_OPS_##kind)
#define NUMBER(schedule, S, d, D, ctype, ops) IRIS_SCHEDULE_##S,

static const collective_kind kind = {true, false, false, false};

static void kernels(irist_rank *t)
{
    collective_try(t, kind, {IRIST_EACH_FULL(ROWS) IRIST_EACH_BRIEF(BRIEF_ROWS) ATOMIC_TYPES(ROW)});
}
static void launchers(irist_rank *t)
{
    collective_try(t, kind,
                   collective_launchers("iris_launch_all_reduce", iris_launch_all_reduce, {SCHEDULES(NUMBER, , , , )},
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
