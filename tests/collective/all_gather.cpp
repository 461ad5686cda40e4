/* SPDX-License-Identifier: MIT */
/*
 * all_gather.cpp: every schedule of all-gather against the definition: row m of every dst is src of member m. One row
 * of SCHEDULES is a schedule. Launchers are tried with every type; in a kernel of one's own, types of two and of eight
 * bytes stand for the others.
 */
#define IRIS_INSTANTIATE_ALL_GATHER

#include "collective.h"

#include <iris/gen/all_gather_ll.h>
#include <iris/gen/all_gather_pull.h>
#include <iris/gen/all_gather_push.h>
#include <iris/gen/all_gather_ring.h>
#include <iris/gen/launch/all_gather.h>

#define SCHEDULES(x, d, D, ctype)                                                                                      \
    x(push, PUSH, d, D, ctype) x(pull, PULL, d, D, ctype) x(ring, RING, d, D, ctype) x(ll, LL, d, D, ctype)
#define TYPES(x) SCHEDULES(x, bf16, BF16, iris_bf16) SCHEDULES(x, f64, F64, double)

#define KERNEL(schedule, S, d, D, ctype)                                                                               \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            iris_all_gather_##schedule##_##d(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count);           \
    }
TYPES(KERNEL)

#define ROW(schedule, S, d, D, ctype)                                                                                  \
    COLLECTIVE_ROW(all_gather_##schedule, (schedule##_##d), D, COLLECTIVE_BY_MEMBER, COLLECTIVE_MOVES)
#define NUMBER(schedule, S, d, D, ctype) IRIS_SCHEDULE_##S,

static const collective_kind kind = {false, true, false, false};

static void kernels(irist_rank *t) { collective_try(t, kind, {TYPES(ROW)}); }
static void launchers(irist_rank *t)
{
    collective_try(t, kind,
                   collective_movers("iris_launch_all_gather", iris_launch_all_gather,
                                     {SCHEDULES(NUMBER, , , ) IRIS_SCHEDULE_COPY_ENGINE}));
}

TEST_CASE("every schedule of all-gather brings every row to every rank", "[collective]")
{
    irist_spmd(kernels, nullptr);
}
TEST_CASE("launchers of all-gather bring elements of every type", "[collective]") { irist_spmd(launchers, nullptr); }
