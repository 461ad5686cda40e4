/* SPDX-License-Identifier: MIT */
/*
 * all_to_all.cpp: every schedule of all-to-all against the definition: row m of member k's dst is row k of member m's
 * src. A schedule is one row of SCHEDULES; it is tried with elements of one and of eight bytes.
 */
#include "collective.h"

#include <iris/gen/all_to_all_ll.h>
#include <iris/gen/all_to_all_pull.h>
#include <iris/gen/all_to_all_push.h>

#define SCHEDULES(x)                                                                                                   \
    x(push)                                                                                                            \
    x(pull)                                                                                                            \
    x(ll)

#define KERNEL(schedule, d, ctype)                                                                                     \
    IRIS_KERNEL(schedule##_##d, collective_args, a, 256)                                                               \
    {                                                                                                                  \
        iris_all_to_all_##schedule##_##d(&a->ctx, &a->ch, a->team, (ctype *)a->dst, (const ctype *)a->src, a->count);  \
    }
#define KERNELS(schedule) KERNEL(schedule, u8, uint8_t) KERNEL(schedule, f64, double)
SCHEDULES(KERNELS)

#define ROW(schedule, d, ctype)                                                                                        \
    {"all_to_all_" #schedule "_" #d, IRISI_KERNEL_PTR((schedule##_##d)), {sizeof(ctype), make_##d, nullptr}, 1, 1, 1},
#define BOTH(schedule) ROW(schedule, u8, uint8_t) ROW(schedule, f64, double)
static const collective_row rows[] = {SCHEDULES(BOTH)};

std::vector<unsigned char> collective_expect(const collective_row &row, uint64_t seed, int member, int size,
                                             size_t count, int)
{
    const size_t e = row.type.bytes;
    std::vector<unsigned char> want((size_t)size * count * e);
    for (int m = 0; m < size; m++)
        for (size_t i = 0; i < count; i++)
            collective_input(row, seed, m, (size_t)member * count + i, &want[((size_t)m * count + i) * e]);
    return want;
}

static void all_rows(irist_rank *t) { collective_try_all(t, rows, sizeof rows / sizeof rows[0], 2048); }

TEST_CASE("every schedule of all-to-all brings every row to its rank", "[collective]")
{
    irist_spmd(all_rows, nullptr);
}
