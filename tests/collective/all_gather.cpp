/* SPDX-License-Identifier: MIT */
/*
 * all_gather.cpp: every schedule of all-gather against the definition: row m of every dst is src of member m. The
 * launcher is tried with every type; in a kernel of one's own, types of two and of eight bytes stand for the others.
 */
#define IRIS_INSTANTIATE_ALL_GATHER

#include "collective.h"

#include <iris/gen/all_gather_ll.h>
#include <iris/gen/all_gather_pull.h>
#include <iris/gen/all_gather_push.h>
#include <iris/gen/all_gather_ring.h>
#include <iris/gen/launch/all_gather.h>

#define KERNEL(schedule, d, ctype)                                                                                     \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        for (COLLECTIVE_CALLS(c))                                                                                      \
            iris_all_gather_##schedule##_##d(&a->ctx, &a->ch, a->team, COLLECTIVE_DATA(c, ctype), c->count);           \
    }
#define KERNELS(d, D, ctype) KERNEL(push, d, ctype) KERNEL(pull, d, ctype) KERNEL(ring, d, ctype) KERNEL(ll, d, ctype)
#define ROW(schedule, d, D)                                                                                            \
    {"all_gather_" #schedule, IRIS_##D, IRISI_KERNEL_PTR((schedule##_##d)), nullptr, IRIS_SCHEDULE_AUTO,                \
     COLLECTIVE_BY_MEMBER, COLLECTIVE_MOVES},
#define ROWS(d, D, ctype) ROW(push, d, D) ROW(pull, d, D) ROW(ring, d, D) ROW(ll, d, D)
#define TYPES(x) x(bf16, BF16, iris_bf16) x(f64, F64, double)
TYPES(KERNELS)

static const collective_kind kind = {false, true, false, false};

static void kernels(irist_rank *t) { collective_try(t, kind, {TYPES(ROWS)}); }
static void launchers(irist_rank *t)
{
    collective_try(t, kind, collective_movers("iris_launch_all_gather", iris_launch_all_gather,
                                              {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_PUSH, IRIS_SCHEDULE_PULL, IRIS_SCHEDULE_RING, IRIS_SCHEDULE_LL}));
}

TEST_CASE("every schedule of all-gather brings every row to every rank", "[collective]") { irist_spmd(kernels, nullptr); }
TEST_CASE("launchers of all-gather bring elements of every type", "[collective]") { irist_spmd(launchers, nullptr); }
