/* SPDX-License-Identifier: MIT */
/*
 * reduce_scatter.cpp: every schedule of reduce-scatter with every type and operation against the definition, bit for bit.
 * A kernel for each schedule and type takes the operation as a value; the launchers' kernels, for which
 * it is a constant, are tried with some.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_REDUCE_SCATTER_MAX_F32
#define IRIS_INSTANTIATE_REDUCE_SCATTER_AVG_I16
#define IRIS_INSTANTIATE_REDUCE_SCATTER_AND_U32
#endif

#include "collective.h"

#include <iris/gen/launch/reduce_scatter.h>
#include <iris/gen/reduce_scatter_ll.h>
#include <iris/gen/reduce_scatter_pull.h>
#include <iris/gen/reduce_scatter_push.h>
#include <iris/gen/reduce_scatter_ring.h>

#define KERNEL(schedule, d, ctype)                                                                                     \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            irisi_reduce_scatter_##schedule##_##d##_grid(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype),          \
                                                         c->count, c->op);                                             \
    }
#define KERNELS(d, D, ctype, bits, kind, acc)                                                                          \
    KERNEL(ll, d, ctype) KERNEL(pull, d, ctype) KERNEL(push, d, ctype) KERNEL(ring, d, ctype)
IRIST_EACH_DTYPE(KERNELS)

#define ROW(schedule, d, D, order, ops)                                                                                \
    {"reduce_scatter_" #schedule, IRIS_##D, IRISI_KERNEL_PTR((schedule##_##d)), nullptr, IRIS_SCHEDULE_AUTO, order,    \
     ops},
#define ROWS(d, D, ctype, bits, kind, acc)                                                                             \
    ROW(ll, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                         \
    ROW(pull, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                       \
    ROW(push, d, D, COLLECTIVE_BY_MEMBER, COLLECTIVE_OPS_##kind)                                                       \
    ROW(ring, d, D, COLLECTIVE_BY_RING, COLLECTIVE_OPS_##kind)

static const collective_kind kind = {true, false, true, false};

static void kernels(irist_rank *t) { collective_try(t, kind, {IRIST_EACH_DTYPE(ROWS)}); }

static void launchers(irist_rank *t)
{
    const std::vector<iris_schedule> schedules = {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL, IRIS_SCHEDULE_PULL,
                                                  IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_RING};
    collective_try(t, kind,
                   collective_launchers("iris_launch_reduce_scatter", iris_launch_reduce_scatter, schedules,
                                        {{IRIS_F32, IRIS_OP_MAX}, {IRIS_I16, IRIS_OP_AVG}, {IRIS_U32, IRIS_OP_AND}}));
}

TEST_CASE("every schedule of reduce-scatter gives the definition's bits", "[collective]")
{
    irist_spmd(kernels, nullptr);
}
TEST_CASE("launchers of reduce-scatter combine by the operation that they are given", "[collective]")
{
    irist_spmd(launchers, nullptr);
}
