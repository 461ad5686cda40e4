/* SPDX-License-Identifier: MIT */
/*
 * reduce_scatter.cpp: every schedule of reduce-scatter with every type and operation against the definition, bit for
 * bit. A schedule is one row of SCHEDULES: a kernel for each type, which takes the operation as a value. The launchers'
 * kernels, for which it is a constant, are tried with some.
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

#define SCHEDULES(x, d, D, ctype, ops)                                                                                 \
    x(ll, LL, d, D, ctype, ops) x(pull, PULL, d, D, ctype, ops) x(push, PUSH, d, D, ctype, ops)                        \
        x(ring, RING, d, D, ctype, ops)
/* Those that hold all that a type has of its own: elements combined from members' memory and from packets (types.h). */
#define BRIEF(x, d, D, ctype, ops) x(ll, LL, d, D, ctype, ops) x(pull, PULL, d, D, ctype, ops)

#define KERNEL(schedule, S, d, D, ctype, ops)                                                                          \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            irisi_reduce_scatter_##schedule##_##d##_grid(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype),          \
                                                         c->count, c->op);                                             \
    }
#define KERNELS(d, D, ctype, bits, kind, acc) SCHEDULES(KERNEL, d, D, ctype, )
#define BRIEF_KERNELS(d, D, ctype, bits, kind, acc) BRIEF(KERNEL, d, D, ctype, )
IRIST_EACH_FULL(KERNELS)
IRIST_EACH_BRIEF(BRIEF_KERNELS)

#define ROW(schedule, S, d, D, ctype, ops)                                                                             \
    COLLECTIVE_ROW(reduce_scatter_##schedule, (schedule##_##d), D, collective_order_of(#schedule), ops)
#define ROWS(d, D, ctype, bits, kind, acc) SCHEDULES(ROW, d, D, ctype, COLLECTIVE_OPS_##kind)
#define BRIEF_ROWS(d, D, ctype, bits, kind, acc) BRIEF(ROW, d, D, ctype, COLLECTIVE_OPS_##kind)
#define NUMBER(schedule, S, d, D, ctype, ops) IRIS_SCHEDULE_##S,

static const collective_kind kind = {true, false, true, false};

static void kernels(irist_rank *t)
{
    collective_try(t, kind, {IRIST_EACH_FULL(ROWS) IRIST_EACH_BRIEF(BRIEF_ROWS)});
}
static void launchers(irist_rank *t)
{
    collective_try(t, kind,
                   collective_launchers("iris_launch_reduce_scatter", iris_launch_reduce_scatter,
                                        {SCHEDULES(NUMBER, , , , )},
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
