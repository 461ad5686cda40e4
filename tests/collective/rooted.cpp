/* SPDX-License-Identifier: MIT */
/*
 * rooted.cpp: collectives with a root (broadcast, reduce, gather, scatter) against their definitions, by every
 * schedule, from and to every member in turn. Nothing is written where nothing belongs.
 */
#include "collective.h"

#include <iris/gen/broadcast_chain.h>
#include <iris/gen/broadcast_ll.h>
#include <iris/gen/broadcast_push.h>
#include <iris/gen/broadcast_relay.h>
#include <iris/gen/gather_push.h>
#include <iris/gen/reduce_pull.h>
#include <iris/gen/reduce_two_shot.h>
#include <iris/gen/scatter_pull.h>

/* x(collective and schedule, operation, dtype, C type, rows of dst, rows of src) */
#define MOVES(x)                                                                                                       \
    x(broadcast_push, u8, uint8_t, 0, 0)                                                                               \
    x(broadcast_push, f64, double, 0, 0)                                                                               \
    x(broadcast_chain, u8, uint8_t, 0, 0)                                                                              \
    x(broadcast_chain, i16, int16_t, 0, 0)                                                                             \
    x(broadcast_ll, u8, uint8_t, 0, 0)                                                                                 \
    x(broadcast_ll, f32, float, 0, 0)                                                                                  \
    x(broadcast_relay, u8, uint8_t, 0, 0)                                                                              \
    x(broadcast_relay, u32, uint32_t, 0, 0)                                                                            \
    x(gather_push, u8, uint8_t, 1, 0)                                                                                  \
    x(gather_push, bf16, iris_bf16, 1, 0)                                                                              \
    x(scatter_pull, u8, uint8_t, 0, 1)                                                                                 \
    x(scatter_pull, i64, int64_t, 0, 1)
#define REDUCTIONS(x)                                                                                                  \
    x(reduce_two_shot, sum, f16, iris_f16)                                                                             \
    x(reduce_two_shot, avg, f32, float)                                                                                \
    x(reduce_two_shot, xor, u64, uint64_t)                                                                             \
    x(reduce_two_shot, max, i8, int8_t)                                                                                \
    x(reduce_pull, sum, bf16, iris_bf16)                                                                               \
    x(reduce_pull, prod, f64, double)                                                                                  \
    x(reduce_pull, and, i32, int32_t)                                                                                  \
    x(reduce_pull, min, u16, uint16_t)

namespace {

COLLECTIVE_REDUCE(sum, sum, f16, iris_f16, f32, 0)
COLLECTIVE_REDUCE(avg, sum, f32, float, f32, 1)
COLLECTIVE_REDUCE(xor, xor, u64, uint64_t, u64, 0)
COLLECTIVE_REDUCE(max, max, i8, int8_t, i8, 0)
COLLECTIVE_REDUCE(sum, sum, bf16, iris_bf16, f32, 0)
COLLECTIVE_REDUCE(prod, prod, f64, double, f64, 0)
COLLECTIVE_REDUCE(and, and, i32, int32_t, i32, 0)
COLLECTIVE_REDUCE(min, min, u16, uint16_t, u16, 0)

} // namespace

#define MOVE_KERNEL(schedule, d, ctype, dst_rows, src_rows)                                                            \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        iris_##schedule##_##d(&a->ctx, &a->ch, a->team, (ctype *)a->dst, (const ctype *)a->src, a->count, a->root);    \
    }
#define REDUCTION_KERNEL(schedule, op, d, ctype)                                                                       \
    IRIS_KERNEL(schedule##_##op##_##d, collective_args, a, 256)                                                        \
    {                                                                                                                  \
        iris_##schedule##_##op##_##d(&a->ctx, &a->ch, a->team, (ctype *)a->dst, (const ctype *)a->src, a->count,       \
                                     a->root);                                                                         \
    }
MOVES(MOVE_KERNEL)
REDUCTIONS(REDUCTION_KERNEL)

#define MOVE_ROW(schedule, d, ctype, dst_rows, src_rows)                                                               \
    {#schedule "_" #d, IRISI_KERNEL_PTR((schedule##_##d)), {sizeof(ctype), make_##d, nullptr}, 1, dst_rows, src_rows},
#define REDUCTION_ROW(schedule, op, d, ctype)                                                                          \
    {#schedule "_" #op "_" #d, IRISI_KERNEL_PTR((schedule##_##op##_##d)),                                              \
     {sizeof(ctype), make_##d, reduce_##op##_##d}, 1, 0, 0},
static const collective_row rows[] = {MOVES(MOVE_ROW) REDUCTIONS(REDUCTION_ROW)};

std::vector<unsigned char> collective_expect(const collective_row &row, uint64_t seed, int member, int size,
                                             size_t count, int root)
{
    const size_t e = row.type.bytes;
    const bool gathers = row.dst_rows != 0, scatters = row.src_rows != 0;
    if ((gathers || row.type.reduce) && member != root)
        return {};
    std::vector<unsigned char> want((gathers ? (size_t)size : 1) * count * e), in((size_t)size * e);
    std::vector<const void *> from((size_t)size);
    for (size_t i = 0; i < count; i++) {
        for (int m = 0; m < size; m++) {
            from[(size_t)m] = &in[(size_t)m * e];
            collective_input(row, seed, m, i, &in[(size_t)m * e]);
            if (gathers)
                std::memcpy(&want[((size_t)m * count + i) * e], &in[(size_t)m * e], e);
        }
        if (row.type.reduce)
            row.type.reduce(&want[i * e], from.data(), (size_t)size);
        else if (!gathers)
            collective_input(row, seed, root, scatters ? (size_t)member * count + i : i, &want[i * e]);
    }
    return want;
}

static void all_rows(irist_rank *t) { collective_try_all(t, rows, sizeof rows / sizeof rows[0], 2048); }

TEST_CASE("every collective with a root brings what belongs there, and nothing else", "[collective]")
{
    irist_spmd(all_rows, nullptr);
}
