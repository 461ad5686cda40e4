/* SPDX-License-Identifier: MIT */
/*
 * kinds.h: every collective by every schedule, in one table, and kernels that make its input and compare its result in
 * stream order: for tests that mix them, repeat them, and replay them in graphs.
 *
 *   kind_element collective_kind collective_kinds KINDS kind_args kind_input kind_compare kind_arguments kind_what
 */
#ifndef IRIST_KINDS_H
#define IRIST_KINDS_H

#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_I32
#define IRIS_INSTANTIATE_ALL_TO_ALL
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_I32
#define IRIS_INSTANTIATE_REDUCE_SUM_I32
#define IRIS_INSTANTIATE_SCATTER
#endif

#include <cstring>

#include "harness.h"

#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_to_all.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/reduce_scatter.h>
#include <iris/gen/launch/scatter.h>
#include <iris/op.h>

namespace {

IRIS_HOST_DEVICE int32_t kind_element(uint64_t lap, int rank, size_t i)
{
    return (int32_t)(lap * 7919 + (uint64_t)rank * 1009 + i * 3);
}

/*
 * A collective: whether it reduces, which of its buffers have a row for each rank, whether its result is the root's;
 * its launcher, with a schedule.
 */
struct collective_kind {
    const char *name;
    int reduces, dst_rows, src_rows, to_root;
    iris_status (*launch)(iris_world *, const iris_channel *, const iris_collective *, iris_stream);
    iris_schedule schedule;
};
const collective_kind collective_kinds[] = {
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_AUTO},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_ONE_SHOT},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_TWO_SHOT},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_TWO_PHASE},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_RING},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_LL},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_AUTO},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_PUSH},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_PULL},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_RING},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_LL},
    {"reduce_scatter", 1, 0, 1, 0, iris_launch_reduce_scatter, IRIS_SCHEDULE_PUSH},
    {"reduce_scatter", 1, 0, 1, 0, iris_launch_reduce_scatter, IRIS_SCHEDULE_PULL},
    {"reduce_scatter", 1, 0, 1, 0, iris_launch_reduce_scatter, IRIS_SCHEDULE_RING},
    {"reduce_scatter", 1, 0, 1, 0, iris_launch_reduce_scatter, IRIS_SCHEDULE_LL},
    {"all_to_all", 0, 1, 1, 0, iris_launch_all_to_all, IRIS_SCHEDULE_PUSH},
    {"all_to_all", 0, 1, 1, 0, iris_launch_all_to_all, IRIS_SCHEDULE_PULL},
    {"all_to_all", 0, 1, 1, 0, iris_launch_all_to_all, IRIS_SCHEDULE_LL},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_PUSH},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_CHAIN},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_LL},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_RELAY},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_LL_RELAY},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_FETCH},
    {"reduce", 1, 0, 0, 1, iris_launch_reduce, IRIS_SCHEDULE_TWO_SHOT},
    {"reduce", 1, 0, 0, 1, iris_launch_reduce, IRIS_SCHEDULE_PULL},
    {"gather", 0, 1, 0, 1, iris_launch_gather, IRIS_SCHEDULE_PUSH},
    {"scatter", 0, 0, 1, 0, iris_launch_scatter, IRIS_SCHEDULE_PULL},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_LL_TWO_SHOT},
    {"all_reduce", 1, 0, 0, 0, iris_launch_all_reduce, IRIS_SCHEDULE_TWO_SHOT_PUSH},
    {"all_gather", 0, 1, 0, 0, iris_launch_all_gather, IRIS_SCHEDULE_COPY_ENGINE},
    {"all_to_all", 0, 1, 1, 0, iris_launch_all_to_all, IRIS_SCHEDULE_COPY_ENGINE},
    {"broadcast", 0, 0, 0, 0, iris_launch_broadcast, IRIS_SCHEDULE_COPY_ENGINE},
};
enum { KINDS = sizeof collective_kinds / sizeof collective_kinds[0] };

struct kind_args {
    int32_t *src;
    const int32_t *dst;
    size_t n;
    uint64_t lap;         /* added to *turn */
    const uint64_t *turn; /* own memory, for what is replayed with the same arguments; null: 0 */
    int ranks, rank, root, reduces, dst_rows, src_rows, has_result;
    uint64_t *wrong; /* own memory: elements that were not right */
};

IRIS_DEVICE uint64_t kind_lap(const kind_args *a) { return a->lap + (a->turn ? *a->turn : 0); }

/* The next input; then, the collective's result of this lap compared, on the device, in stream order. */
IRIS_KERNEL(kind_input, kind_args, a, 128)
{
    const uint64_t lap = kind_lap(a);
    for (size_t i = iris_grid_lane(); i < a->n * (size_t)(a->src_rows ? a->ranks : 1); i += iris_grid_lanes())
        a->src[i] = kind_element(lap, a->rank, i);
}
IRIS_KERNEL(kind_compare, kind_args, a, 128)
{
    const uint64_t lap = kind_lap(a);
    const size_t first = a->src_rows ? (size_t)a->rank * a->n : 0; /* the row that comes here */
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < a->n && a->has_result; i += iris_grid_lanes()) {
        int32_t sum = 0;
        for (int r = 0; r < a->ranks; r++) {
            sum = iris_sum_i32(sum, kind_element(lap, r, first + i));
            wrong += a->dst_rows && a->dst[(size_t)r * a->n + i] != kind_element(lap, r, first + i);
        }
        if (!a->dst_rows)
            wrong += a->dst[i] != (a->reduces ? sum : kind_element(lap, a->root, first + i));
    }
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* What the kernels take for one collective, where nothing counts turns. */
inline kind_args kind_arguments(const irist_rank *t, const collective_kind &kind, int32_t *dst, int32_t *src, size_t n,
                                int root, uint64_t lap, uint64_t *wrong)
{
    const int has_result = !kind.to_root || t->rank == root;
    return {src,           dst,           n,          lap,  nullptr, t->ranks, t->rank, root, kind.reduces,
            kind.dst_rows, kind.src_rows, has_result, wrong};
}

/* What the launcher takes. */
inline iris_collective kind_what(const collective_kind &kind, int32_t *dst, const int32_t *src, size_t n, int root)
{
    iris_collective c;
    std::memset(&c, 0, sizeof c);
    c.dst = dst, c.src = src, c.count = n, c.dtype = IRIS_I32, c.schedule = kind.schedule, c.root = root;
    return c;
}

} // namespace

#endif
