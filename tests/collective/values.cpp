/* SPDX-License-Identifier: MIT */
/*
 * values.cpp: tries <iris/gen/all_reduce_values.h>: values of every dtype and operation that lanes hold, one to many of
 * each, in one turn and in many, with more lanes than a turn has room for, by every team, again and again and between
 * other collectives on the same slice.
 */
#if defined(IRIS_CHECKED) && !defined(IRIST_PART)
#define IRIST_PART 1 /* types.h: what checked mode adds is the same for all of them */
#endif
#include "collective.h"

#include <iris/gen/all_reduce_ll.h>
#include <iris/gen/all_reduce_two_shot.h>
#include <iris/gen/all_reduce_values.h>

namespace {

enum { SLICES = 2, MOST = 13, LANES = 512, LAPS = 3, CHANNELS = 5 };

struct values_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    char *memory;    /* own: in each lap n elements for each of LANES lanes of each workgroup; results replace them */
    uint32_t *lanes; /* own: how many of a workgroup there are */
    uint32_t n;
    iris_reduce_op op;
};

/* n is a constant, the operation is not: as many instances as compile in a minute. */
#define VALUES_KERNEL(d, D, ctype, bits, kind, acc)                                                                    \
    template <uint32_t N> IRIS_DEVICE void values_##d(const values_args *a)                                            \
    {                                                                                                                  \
        for (uint32_t lap = 0; lap < LAPS; lap++) {                                                                    \
            const uint32_t lane = (lap * SLICES + iris_workgroup()) * LANES + iris_wg_lane();                          \
            ctype *mine = (ctype *)(void *)a->memory + (size_t)lane * N;                                               \
            ctype v[N];                                                                                                \
            IRISI_UNROLL                                                                                               \
            for (uint32_t j = 0; j < N; j++)                                                                           \
                v[j] = mine[j];                                                                                        \
            irisi_all_reduce_values_##d##_wg(&a->ctx, &a->ch, a->team, iris_workgroup(), v, N, a->op);                 \
            IRISI_UNROLL                                                                                               \
            for (uint32_t j = 0; j < N; j++)                                                                           \
                mine[j] = v[j];                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    IRIS_KERNEL(values_kernel_##d, values_args, a, LANES)                                                              \
    {                                                                                                                  \
        if (iris_grid_lane() == 0)                                                                                     \
            *a->lanes = iris_wg_lanes();                                                                               \
        if (a->n == 1)                                                                                                 \
            values_##d<1>(a);                                                                                          \
        else if (a->n == 4)                                                                                            \
            values_##d<4>(a);                                                                                          \
        else                                                                                                           \
            values_##d<MOST>(a);                                                                                       \
    }
IRIST_EACH_DTYPE(VALUES_KERNEL)

struct values_row {
    iris_dtype dtype;
    irisi_kernel kernel;
    uint32_t ops;
};
#define VALUES_ROW(d, D, ctype, bits, kind, acc)                                                                       \
    {IRIS_##D, IRISI_KERNEL_PTR(values_kernel_##d), COLLECTIVE_OPS_##kind},
const values_row rows[] = {IRIST_EACH_DTYPE(VALUES_ROW)};

struct values_test {
    irist_rank *t;
    values_args a;
    iris_channel ch[CHANNELS]; /* a roomy one, the smallest, one with room for 2 units: of the world; two of teams */
    uint64_t turn;
};

/* What the results must be, element by element; lanes beyond those that there are keep what they had. */
void compare(values_test *x, const values_row &row, collective_oracle *oracle, int member, size_t shift,
             uint32_t lanes, const collective_bytes &before)
{
    const size_t e = oracle->type.bytes, n = x->a.n;
    collective_bytes want = before;
    if (member >= 0) {
        const collective_bytes &table = oracle->combined(x->a.op, false, 0);
        for (size_t group = 0; group < LAPS * SLICES; group++)
            collective_repeat(&want[group * LANES * n * e], table, shift + group * LANES * n, lanes * n);
    }
    const collective_bytes got = irist_download(x->t, x->a.memory, before.size());
    for (size_t i = 0; i + e <= got.size() && got != want; i += e)
        if (!collective_same(oracle->type, &want[i], &got[i])) {
            irist_check(x->t, false,
                        "%s, op %d, %zu values of %u lanes, team of %d: value %zu of lane %zu, lap and slice %zu: "
                        "first byte %d, not %d",
                        iris_dtype_name(row.dtype), (int)x->a.op, n, lanes, (int)x->a.team.size, i / e % n,
                        i / e / n % LANES, i / e / n / LANES, got[i], want[i]);
            return;
        }
}

/* One launch: a type, an operation, n, a channel. */
void try_values(values_test *x, const values_row &row, iris_reduce_op op, uint32_t n, int channel)
{
    static const uint32_t lanes[] = {64, 192, LANES};
    irist_rank *t = x->t;
    const uint64_t dice = irist_random(t->seed, 94, x->turn++);
    const iris_team team = collective_team(channel < 3 ? 0 : channel - 2, t->ranks);
    const int member = collective_member(team, t->rank);
    if (team.size == 0)
        return;
    collective_oracle oracle(row.dtype, false, t->seed * 64 + (uint64_t)row.dtype, team);
    const size_t shift = dice / 8 % COLLECTIVE_PERIOD;
    const size_t elements = (size_t)LAPS * SLICES * LANES * n;
    collective_bytes before(elements * oracle.type.bytes);
    collective_repeat(before.data(), oracle.in[member < 0 ? 0 : (size_t)member], shift, elements);
    x->a.op = op, x->a.n = n, x->a.team = team, x->a.ch = x->ch[channel];
    irist_upload(t, x->a.memory, before);
    if (dice % 8 == 0)
        irist_delay(t, x->turn);
    irist_run_kernel(t, row.kernel, "values", &x->a, sizeof x->a, iris_cooperative(SLICES, lanes[dice / 16384 % 3]));
    uint32_t there = 0;
    irist_ok(t, iris_memcpy(t->world, &there, x->a.lanes, sizeof there));
    compare(x, row, &oracle, member, shift, there, before);
}

void create(irist_rank *t, values_test *x)
{
    x->t = t, x->turn = 0;
    std::memset(static_cast<void *>(&x->a), 0, sizeof x->a);
    x->a.ctx = iris_device_ctx(t->world);
    x->a.memory = (char *)iris_malloc(t->world, (size_t)LAPS * SLICES * LANES * MOST * 8);
    x->a.lanes = (uint32_t *)iris_malloc(t->world, sizeof(uint32_t));
    for (int i = 0; i < CHANNELS; i++)
        irist_ok(t, iris_collective_channel(t->world, &x->ch[i], i == 0 ? 0 : 1));
    x->ch[2].room = 16;
    irist_check(t, x->a.memory && x->a.lanes, "%s", iris_error_string(t->world));
    irist_meet(t);
}
void destroy(irist_rank *t, values_test *x)
{
    irist_meet(t);
    for (int i = CHANNELS - 1; i >= 0; i--)
        irist_ok(t, iris_channel_destroy(t->world, &x->ch[i]));
    irist_ok(t, iris_free(t->world, x->a.lanes));
    irist_ok(t, iris_free(t->world, x->a.memory));
}

void every_type(irist_rank *t)
{
    static const uint32_t counts[] = {1, 4, MOST};
    const uint32_t percent = irist_laps(12, t->ranks > 4 ? 20 : 100); /* where eight ranks share two cores, a choice */
    values_test x;
    create(t, &x);
    uint64_t k = 0;
    for (const values_row &row : rows)
        for (int op = 0; op < IRIS_REDUCE_OPS && !t->failures; op++)
            for (int i = 0; i < 3 * CHANNELS && row.ops >> op & 1; i++)
                if (irist_pick(t->seed, 93, k++, 100) < percent || (op == 0 && i == (int)row.dtype % 12))
                    try_values(&x, row, (iris_reduce_op)op, counts[i % 3], i / 3);
    destroy(t, &x);
}

/* ---- the public functions, between other collectives ---------------------------------------------------------- */

struct mixed_args {
    iris_ctx ctx;
    iris_channel ch;
    int32_t *dst, *src; /* symmetric: ELEMENTS for each slice */
    uint64_t *wrong;
    uint32_t laps;
};
enum { ELEMENTS = 700, OPS_TRIED = 8 };

/* What lane `lane` of `rank` gives in a lap, as value j. */
IRIS_HOST_DEVICE int32_t given(uint32_t lap, int rank, size_t lane, uint32_t j)
{
    return (int32_t)((lap * 31u + (uint32_t)rank * 7u + (uint32_t)lane * 3u + j * 5u) % 61u) + 1;
}

/* All values of all ranks, by `op`. */
IRIS_DEVICE int32_t all_of(int op, uint32_t lap, int world, size_t lane, uint32_t j)
{
    uint32_t all = (uint32_t)given(lap, 0, lane, j);
    for (int r = 1; r < world; r++) {
        const uint32_t x = (uint32_t)given(lap, r, lane, j);
        all = op == 1 ? all * x : op == 2 ? (x < all ? x : all) : op == 3 ? (x > all ? x : all) : op == 5 ? all & x
              : op == 6 ? all | x : op == 7 ? all ^ x : all + x;
    }
    return op == 4 ? (int32_t)all / world : (int32_t)all;
}

/* Every workgroup on its slice: values by each operation in turn, and sums in memory by two schedules between them. */
IRIS_KERNEL(mixed, mixed_args, a, 256)
{
    const iris_team all = iris_team_world(&a->ctx);
    const iris_ctx *c = &a->ctx;
    const uint32_t slice = iris_workgroup();
    int32_t *dst = a->dst + slice * ELEMENTS, *src = a->src + slice * ELEMENTS;
    uint64_t wrong = 0;
    for (uint32_t lap = 0; lap < a->laps; lap++) {
        const int op = (int)(lap % OPS_TRIED), values = 3;
        int32_t v[values];
        for (uint32_t j = 0; j < (uint32_t)values; j++)
            v[j] = given(lap, c->rank, iris_wg_lane(), j);
        switch (op) {
        case 0: iris_all_reduce_values_sum_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 1: iris_all_reduce_values_prod_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 2: iris_all_reduce_values_min_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 3: iris_all_reduce_values_max_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 4: iris_all_reduce_values_avg_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 5: iris_all_reduce_values_and_i32_wg(c, &a->ch, all, slice, v, values); break;
        case 6: iris_all_reduce_values_or_i32_wg(c, &a->ch, all, slice, v, values); break;
        default: iris_all_reduce_values_xor_i32_wg(c, &a->ch, all, slice, v, values); break;
        }
        for (uint32_t j = 0; j < (uint32_t)values; j++)
            wrong += v[j] != all_of(op, lap, c->world, iris_wg_lane(), j);
        if (lap % 3 == 0)
            continue;
        for (size_t i = iris_wg_lane(); i < ELEMENTS; i += iris_wg_lanes())
            src[i] = given(lap, c->rank, i, 9);
        iris_sync_wg();
        if (lap % 3 == 1)
            iris_all_reduce_ll_sum_i32_wg(c, &a->ch, all, slice, dst, src, ELEMENTS);
        else
            iris_all_reduce_two_shot_sum_i32_wg(c, &a->ch, all, slice, dst, src, ELEMENTS);
        for (size_t i = iris_wg_lane(); i < ELEMENTS; i += iris_wg_lanes())
            wrong += dst[i] != all_of(0, lap, c->world, i, 9);
        iris_sync_wg();
    }
    irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* No values, a slice that there is not, a rank outside the team: nothing happens. */
IRIS_KERNEL(nothing, mixed_args, a, 256)
{
    const iris_team all = iris_team_world(&a->ctx);
    iris_team other = all;
    int32_t v[2] = {5, 6};
    other.start = (a->ctx.rank + 1) % a->ctx.world, other.size = 1;
    iris_all_reduce_values_sum_i32_wg(&a->ctx, &a->ch, all, 0, v, 0);
    if (!IRISI_CHECKED)
        iris_all_reduce_values_sum_i32_wg(&a->ctx, &a->ch, all, 1000, v, 2);
    if (a->ctx.world > 1)
        iris_all_reduce_values_sum_i32_wg(&a->ctx, &a->ch, other, 0, v, 2);
    irisi_atomic_add_u64(a->wrong, (uint64_t)(v[0] != 5 || v[1] != 6), IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* The last rank has a value more, or another operation. */
IRIS_KERNEL(unlike, mixed_args, a, 256)
{
    const iris_team all = iris_team_world(&a->ctx);
    const int last = a->ctx.rank == a->ctx.world - 1;
    int32_t v[3] = {5, 6, 7};
    if (a->laps == 0)
        iris_all_reduce_values_sum_i32_wg(&a->ctx, &a->ch, all, 0, v, last ? 3 : 2);
    else if (last)
        iris_all_reduce_values_max_i32_wg(&a->ctx, &a->ch, all, 0, v, 3);
    else
        iris_all_reduce_values_sum_i32_wg(&a->ctx, &a->ch, all, 0, v, 3);
    if (v[0] != 5 || v[1] != 6 || v[2] != 7)
        *a->wrong = 1;
}

/* In checked mode every rank gets the sentence, and no value is touched. */
void refused(irist_rank *t)
{
    static const char *const words[] = {"the collective was called with", "with another operation"};
    mixed_args a;
    uint64_t wrong = 0;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.wrong = (uint64_t *)iris_malloc(t->world, sizeof wrong);
    irist_ok(t, iris_memset(t->world, a.wrong, 0, sizeof wrong));
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 512));
    irist_meet(t);
    for (a.laps = 0; a.laps < 2 && IRISI_CHECKED && t->ranks > 1; a.laps++) {
        const iris_launch_config one = iris_cooperative(1, 128);
        iris_status status = iris_launch(t->world, unlike, &a, sizeof a, &one, iris_default_stream(t->world));
        if (status == IRIS_OK)
            status = iris_synchronize(t->world);
        irist_check(t,
                    status == IRIS_ERR_CHECK && std::strstr(iris_error_string(t->world), words[a.laps]) != nullptr,
                    "%s (%s)", iris_status_name(status), iris_error_string(t->world));
        irist_ok(t, iris_reset(t->world));
    }
    irist_ok(t, iris_memcpy(t->world, &wrong, a.wrong, sizeof wrong));
    irist_check(t, wrong == 0, "a value of a refused call was changed");
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, a.wrong));
}

void between(irist_rank *t)
{
    mixed_args a;
    uint64_t wrong = 0;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.laps = irist_epochs(t, 16, 96);
    a.dst = (int32_t *)iris_malloc(t->world, SLICES * ELEMENTS * sizeof(int32_t));
    a.src = (int32_t *)iris_malloc(t->world, SLICES * ELEMENTS * sizeof(int32_t));
    a.wrong = (uint64_t *)iris_malloc(t->world, sizeof wrong);
    irist_ok(t, iris_memset(t->world, a.wrong, 0, sizeof wrong));
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 512));
    irist_meet(t);
    irist_run(t, mixed, a, iris_cooperative(SLICES, 256));
    irist_run(t, nothing, a, iris_cooperative(1, 256));
    irist_run(t, mixed, a, iris_cooperative(SLICES, 128));
    irist_ok(t, iris_memcpy(t->world, &wrong, a.wrong, sizeof wrong));
    irist_check(t, wrong == 0, "%llu values or elements wrong", (unsigned long long)wrong);
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, a.wrong));
    irist_ok(t, iris_free(t->world, a.src));
    irist_ok(t, iris_free(t->world, a.dst));
}

} // namespace

TEST_CASE("values of lanes are combined to the definition's bits on every rank", "[collective]")
{
    irist_spmd(every_type, nullptr);
}
TEST_CASE("values of another number or operation are refused in checked mode", "[collective]")
{
    irist_spmd(refused, nullptr);
}
TEST_CASE("values are combined between other collectives on the same slice", "[collective]")
{
    irist_spmd(between, nullptr);
}
