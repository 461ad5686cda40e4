/* SPDX-License-Identifier: MIT */
/*
 * rooted.cpp: collectives with a root (broadcast, reduce, gather, scatter) against their definitions, by every
 * schedule, from and to every member in turn. Nothing is written where nothing belongs. Reductions are tried with every
 * type and operation in kernels that take the operation as a value, and with some by their launchers; what moves bytes
 * with every type by the launchers, and with two types in kernels.
 */
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_SCATTER
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_REDUCE_AVG_F8E5M2
#define IRIS_INSTANTIATE_REDUCE_OR_U64
#define IRIS_INSTANTIATE_REDUCE_XOR_I8
#endif

#include "collective.h"

#include <iris/gen/broadcast_chain.h>
#include <iris/gen/broadcast_fetch.h>
#include <iris/gen/broadcast_ll.h>
#include <iris/gen/broadcast_ll_relay.h>
#include <iris/gen/broadcast_push.h>
#include <iris/gen/broadcast_relay.h>
#include <iris/gen/gather_push.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/scatter.h>
#include <iris/gen/reduce_pull.h>
#include <iris/gen/reduce_two_shot.h>
#include <iris/gen/scatter_pull.h>

#define MOVE(schedule, d, D, ctype)                                                                                    \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            iris_##schedule##_##d(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count, c->root);             \
    }
#define TYPES(x, schedule) x(schedule, bf16, BF16, iris_bf16) x(schedule, f64, F64, double)
TYPES(MOVE, broadcast_push)
TYPES(MOVE, broadcast_chain)
TYPES(MOVE, broadcast_ll)
TYPES(MOVE, broadcast_relay)
TYPES(MOVE, broadcast_ll_relay)
TYPES(MOVE, broadcast_fetch)
TYPES(MOVE, gather_push)
TYPES(MOVE, scatter_pull)

#define REDUCTION(schedule, d, ctype)                                                                                  \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            irisi_##schedule##_##d##_grid(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count, c->root,      \
                                          c->op);                                                                      \
    }
#define REDUCTIONS(d, D, ctype, bits, kind, acc) REDUCTION(reduce_two_shot, d, ctype) REDUCTION(reduce_pull, d, ctype)
IRIST_EACH_SAMPLE(REDUCTIONS)

#define ROW(schedule, d, D, ops) COLLECTIVE_ROW(schedule, (schedule##_##d), D, COLLECTIVE_BY_MEMBER, ops)
#define MOVE_ROW(schedule, d, D, ctype) ROW(schedule, d, D, COLLECTIVE_MOVES)
#define REDUCTION_ROWS(d, D, ctype, bits, kind, acc)                                                                   \
    ROW(reduce_two_shot, d, D, COLLECTIVE_OPS_##kind) ROW(reduce_pull, d, D, COLLECTIVE_OPS_##kind)

static const collective_kind broadcast = {false, false, false, false}, reduce = {true, false, false, true};
static const collective_kind gather = {false, true, false, true}, scatter = {false, false, true, false};

static void broadcasts(irist_rank *t)
{
    collective_try(t, broadcast,
                   {TYPES(MOVE_ROW, broadcast_push) TYPES(MOVE_ROW, broadcast_chain) TYPES(MOVE_ROW, broadcast_ll)
                        TYPES(MOVE_ROW, broadcast_relay) TYPES(MOVE_ROW, broadcast_ll_relay)
                        TYPES(MOVE_ROW, broadcast_fetch)});
    collective_try(
        t, broadcast,
        collective_movers("iris_launch_broadcast", iris_launch_broadcast,
                          {IRIS_SCHEDULE_LL, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_CHAIN, IRIS_SCHEDULE_RELAY,
                           IRIS_SCHEDULE_LL_RELAY, IRIS_SCHEDULE_FETCH, IRIS_SCHEDULE_COPY_ENGINE}));
}
static void gathers(irist_rank *t)
{
    collective_try(t, gather, {TYPES(MOVE_ROW, gather_push)});
    collective_try(t, gather, collective_movers("iris_launch_gather", iris_launch_gather, {IRIS_SCHEDULE_PUSH}));
}
static void scatters(irist_rank *t)
{
    collective_try(t, scatter, {TYPES(MOVE_ROW, scatter_pull)});
    collective_try(t, scatter, collective_movers("iris_launch_scatter", iris_launch_scatter, {IRIS_SCHEDULE_PULL}));
}
static void reductions(irist_rank *t)
{
    const std::vector<iris_schedule> schedules = {IRIS_SCHEDULE_TWO_SHOT, IRIS_SCHEDULE_PULL};
    collective_try(t, reduce, {IRIST_EACH_SAMPLE(REDUCTION_ROWS)});
    collective_try(t, reduce,
                   collective_launchers("iris_launch_reduce", iris_launch_reduce, schedules,
                                        {{IRIS_F8E5M2, IRIS_OP_AVG}, {IRIS_U64, IRIS_OP_OR}, {IRIS_I8, IRIS_OP_XOR}}));
}

TEST_CASE("broadcasts bring the root's elements to everybody", "[collective]") { irist_spmd(broadcasts, nullptr); }
TEST_CASE("gathers bring everybody's row to the root alone", "[collective]") { irist_spmd(gathers, nullptr); }
TEST_CASE("scatters bring everybody the own row", "[collective]") { irist_spmd(scatters, nullptr); }
TEST_CASE("reductions bring the definition's bits to the root alone", "[collective]")
{
    irist_spmd(reductions, nullptr);
}
