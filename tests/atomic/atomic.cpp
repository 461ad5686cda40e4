/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/atomic.h> and <iris/atomic.h>: iris_atomic_* of every dtype, order and scope, with every rank and
 * workgroup at the same few elements.
 *
 * Four neighbouring elements are fought over, so that 8- and 16-bit ones share a word, between guard zones. Each lane
 * writes down what every call returned; then the host replays: sums are exact, and a chain of exchanges hands every
 * value on once.
 */
#include "harness.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include <iris/barrier.h>
#include <iris/gen/atomic.h>
#include <iris/gen/index.h>

namespace {

enum op { ADD, SUB, XCHG, CAS, AND, OR, XOR, MIN, MAX, SET, OPS };
const char *const op_names[] = {"add", "sub", "xchg", "cas", "and", "or", "xor", "min", "max", "set and fetch"};
enum { CELLS = 4, GUARD = 16, WORKGROUPS = 2, LANES = 128 }; /* elements fought over, guard elements on each side */

struct args {
    iris_ctx ctx;
    iris_channel ch; /* of the barrier that starts everyone at once */
    char *cells;     /* symmetric: GUARD, CELLS and GUARD elements for each workgroup */
    uint64_t *old;   /* symmetric: what the calls of this rank returned, `laps` for each lane of the grid */
    uint64_t *lanes; /* symmetric: lanes of the grid */
    uint64_t seed;
    uint32_t laps; /* calls of a lane, where few lanes make a workgroup; see laps_of */
    int dtype, op;
    iris_order order;
    iris_scope scope;
    int target; /* rank whose cells are changed */
};

/*
 * Calls of each lane. On the host a workgroup is two threads; on a GPU a hundred lanes fight as hard with fewer calls
 * each, and the host has as many fewer to explain.
 */
IRIS_HOST_DEVICE uint32_t laps_of(uint32_t most, uint64_t wg_lanes)
{
    const uint64_t enough = (most < 512 ? 8 * (uint64_t)most : 4096) / wg_lanes;
    return enough < 1 ? 1 : enough < most ? (uint32_t)enough : most;
}

/* The operand of call `lap` of a lane: bits whose meaning depends on the operation. */
IRIS_HOST_DEVICE uint64_t operand(uint64_t seed, int op, int rank, uint64_t lane, uint32_t lap)
{
    const uint64_t bits = irist_random(seed, 1000 + (uint64_t)rank, lane << 32 | lap);
    if (op == AND) /* few zeros, or nothing is left */
        return bits | irist_random(seed, 2000 + (uint64_t)rank, lane << 32 | lap) | bits >> 7 | bits << 9;
    if (op == OR)
        return bits & irist_random(seed, 2000 + (uint64_t)rank, lane << 32 | lap) & (bits >> 7) & (bits << 9);
    return bits;
}

/* Operands of floats: small integers, whose sums are exact in any order. */
template <typename T> IRIS_HOST_DEVICE T operand_value(uint64_t bits, int op)
{
    if (!std::is_floating_point<T>::value)
        return (T)bits;
    return (T)(op == ADD ? (int)(bits & 7) - 3 : (int)(bits & 0xFFFF) - 0x8000);
}

template <typename T> IRIS_HOST_DEVICE uint64_t bits_of(T value)
{
    uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}

/* A lane's cell, and who shares it: the scope says. */
template <typename T> IRIS_DEVICE T *cell_of(const args *a)
{
    const uint32_t wg = a->scope == IRIS_SCOPE_WG ? iris_workgroup() : 0;
    return (T *)a->cells + wg * (2 * GUARD + CELLS) + GUARD + iris_wg_lane() % CELLS;
}

#define IRIST_ADD(d, o, s) iris_atomic_add_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_SUB(d, o, s) iris_atomic_sub_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_XCHG(d, o, s) iris_atomic_xchg_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_AND(d, o, s) iris_atomic_and_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_OR(d, o, s) iris_atomic_or_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_XOR(d, o, s) iris_atomic_xor_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_MIN(d, o, s) iris_atomic_min_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_MAX(d, o, s) iris_atomic_max_##d(&a->ctx, p, v, a->target, o, s)
#define IRIST_CAS(d, o, s) iris_atomic_cas_##d(&a->ctx, p, expected, v, a->target, o, s)
#define IRIST_FETCH(d, o, s) iris_atomic_fetch_##d(&a->ctx, p, a->target, o, s)
#define IRIST_SET(d, o, s) (iris_atomic_set_##d(&a->ctx, p, v, a->target, o, s), v)
#define IRIST_NAMED(name, call, d, type)                                                                               \
    IRIS_DEVICE type name(const args *a, type *p, type v) { return call(d, a->order, a->scope); }

/* What f32 and f64 have, and what integers have besides. */
#define IRIST_ANY_OPS(d, type)                                                                                         \
    typedef type value_type;                                                                                           \
    IRIST_NAMED(add, IRIST_ADD, d, type)                                                                               \
    IRIST_NAMED(xchg, IRIST_XCHG, d, type)                                                                             \
    IRIST_NAMED(min, IRIST_MIN, d, type)                                                                               \
    IRIST_NAMED(max, IRIST_MAX, d, type)                                                                               \
    IRIST_NAMED(set, IRIST_SET, d, type)                                                                               \
    IRIS_DEVICE type fetch(const args *a, const type *p) { return IRIST_FETCH(d, a->order, a->scope); }                \
    IRIS_DEVICE type cas(const args *a, type *p, type expected, type v)                                                \
    {                                                                                                                  \
        return IRIST_CAS(d, a->order, a->scope);                                                                       \
    }
#define IRIST_INTEGER(d, type)                                                                                         \
    struct atomics_##d {                                                                                               \
        IRIST_ANY_OPS(d, type)                                                                                         \
        IRIST_NAMED(sub, IRIST_SUB, d, type)                                                                           \
        IRIST_NAMED(bit_and, IRIST_AND, d, type)                                                                       \
        IRIST_NAMED(bit_or, IRIST_OR, d, type)                                                                         \
        IRIST_NAMED(bit_xor, IRIST_XOR, d, type)                                                                       \
    };
#define IRIST_FLOAT(d, type)                                                                                           \
    struct atomics_##d {                                                                                               \
        IRIST_ANY_OPS(d, type)                                                                                         \
        IRIS_DEVICE type sub(const args *, type *, type v) { return v; }                                               \
        IRIS_DEVICE type bit_and(const args *, type *, type v) { return v; }                                           \
        IRIS_DEVICE type bit_or(const args *, type *, type v) { return v; }                                            \
        IRIS_DEVICE type bit_xor(const args *, type *, type v) { return v; }                                           \
    };
IRIST_INTEGER(i8, int8_t)
IRIST_INTEGER(u8, uint8_t)
IRIST_INTEGER(i16, int16_t)
IRIST_INTEGER(u16, uint16_t)
IRIST_INTEGER(i32, int32_t)
IRIST_INTEGER(u32, uint32_t)
IRIST_INTEGER(i64, int64_t)
IRIST_INTEGER(u64, uint64_t)
IRIST_FLOAT(f32, float)
IRIST_FLOAT(f64, double)

/* Adds one, for f16 and bf16 too, by compare-and-swap on what was seen last. Returns what was replaced. */
template <typename A> IRIS_DEVICE typename A::value_type increment(const args *a, typename A::value_type *p)
{
    typedef typename A::value_type T;
    T seen = A::fetch(a, p);
    for (;;) {
        const T now = A::cas(a, p, seen, (T)(seen + (T)1));
        if (bits_of(now) == bits_of(seen))
            return now;
        seen = now;
    }
}

/* Bytes that are all alike: a value put together from two is found out. */
template <typename T> IRIS_HOST_DEVICE T uniform(uint64_t bits)
{
    T v;
    __builtin_memset(&v, (int)(bits & 0x3F), sizeof v);
    return v;
}

template <typename A>
IRIS_DEVICE typename A::value_type one_call(const args *a, typename A::value_type *p, uint64_t bits)
{
    typedef typename A::value_type T;
    const T v = operand_value<T>(bits, a->op);
    switch (a->op) {
    case ADD:
        return A::add(a, p, v);
    case SUB:
        return A::sub(a, p, v);
    case XCHG:
        return A::xchg(a, p, v);
    case CAS:
        return increment<A>(a, p);
    case AND:
        return A::bit_and(a, p, v);
    case OR:
        return A::bit_or(a, p, v);
    case XOR:
        return A::bit_xor(a, p, v);
    case MIN:
        return A::min(a, p, v);
    case MAX:
        return A::max(a, p, v);
    default:
        A::set(a, p, uniform<T>(bits));
        return A::fetch(a, p);
    }
}

template <typename A> IRIS_DEVICE void many_calls(const args *a)
{
    const uint64_t lane = iris_grid_lane();
    const uint32_t laps = laps_of(a->laps, iris_wg_lanes());
    iris_barrier_all_grid(&a->ctx, &a->ch);
    for (uint32_t lap = 0; lap < laps; lap++) {
        const uint64_t bits = operand(a->seed, a->op, a->ctx.rank, lane, lap);
        a->old[lane * laps + lap] = bits_of(one_call<A>(a, cell_of<typename A::value_type>(a), bits));
    }
    if (lane == 0)
        *a->lanes = iris_grid_lanes();
}

#define IRIST_CASE(d, D)                                                                                               \
    case IRIS_##D:                                                                                                     \
        many_calls<atomics_##d>(a);                                                                                    \
        break;
IRIS_KERNEL(atomic_kernel, args, a, LANES)
{
    switch (a->dtype) {
        IRIST_CASE(i8, I8)
        IRIST_CASE(u8, U8)
        IRIST_CASE(i16, I16)
        IRIST_CASE(u16, U16)
        IRIST_CASE(i32, I32)
        IRIST_CASE(u32, U32)
        IRIST_CASE(i64, I64)
        IRIST_CASE(u64, U64)
        IRIST_CASE(f32, F32)
        IRIST_CASE(f64, F64)
    }
}

/*
 * Each lane adds 1 and -1 in turns, in an odd number of laps, so that a lane of the first workgroup adds 1 in all.
 * Lanes of the second leave out the first lap: each begins with -1 and adds 0 in all. A cell's sum ends at the number
 * of the first workgroup's lanes that use the cell, on all ranks, and is never further from 0 than that number. Each
 * lane counts the calls that returned something else than a whole number so near to 0.
 */
IRIS_KERNEL(small_float_kernel, args, a, LANES)
{
    const uint32_t laps = a->laps / (iris_wg_lanes() * iris_wg_lanes()) | 1; /* with more lanes a call takes longer */
    const float most = (float)((iris_wg_lanes() + CELLS - 1) / CELLS * (uint32_t)a->ctx.world);
    uint64_t wrong = 0;
    iris_barrier_all_grid(&a->ctx, &a->ch);
    for (uint32_t lap = iris_workgroup(); lap < laps; lap++) {
        const float v = lap % 2 ? -1.0f : 1.0f;
        const float old = a->dtype == IRIS_F16
                              ? iris_widen_f16(iris_atomic_add_f16(&a->ctx, cell_of<iris_f16>(a), iris_narrow_f16(v),
                                                                   a->target, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM))
                              : iris_widen_bf16(iris_atomic_add_bf16(&a->ctx, cell_of<iris_bf16>(a),
                                                                     iris_narrow_bf16(v), a->target, IRIS_ACQ_REL,
                                                                     IRIS_SCOPE_SYSTEM));
        wrong += !(old >= -most && old <= most && old == (float)(int32_t)old);
    }
    a->old[iris_grid_lane()] = wrong;
    if (iris_grid_lane() == 0)
        *a->lanes = iris_grid_lanes();
}

/* ---- the oracle ------------------------------------------------------------------------------------------------ */

/* What one call makes of a value, in plain C. */
template <typename T> typename std::enable_if<std::is_integral<T>::value, T>::type next_value(int op, T now, T v)
{
    switch (op) {
    case ADD:
        return (T)((uint64_t)now + (uint64_t)v);
    case SUB:
        return (T)((uint64_t)now - (uint64_t)v);
    case CAS:
        return (T)((uint64_t)now + 1);
    case AND:
        return (T)(now & v);
    case OR:
        return (T)(now | v);
    case XOR:
        return (T)(now ^ v);
    case MIN:
        return v < now ? v : now;
    default:
        return v > now ? v : now;
    }
}
template <typename T> typename std::enable_if<std::is_floating_point<T>::value, T>::type next_value(int op, T now, T v)
{
    switch (op) {
    case ADD:
        return now + v;
    case CAS:
        return now + 1;
    case MIN:
        return v < now ? v : now;
    default:
        return v > now ? v : now;
    }
}

/* Calls that hit one cell: what they passed and what they got back. */
struct history {
    std::vector<uint64_t> operands, old;
};

template <typename T> T value_of(uint64_t bits)
{
    T v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

/* Empty when some order of the calls explains the history and the final value. */
template <typename T> std::string explain(int op, const history &h, T initial, T final)
{
    if (op == SET) {
        std::vector<uint64_t> written;
        for (uint64_t bits : h.operands)
            written.push_back(bits_of(uniform<T>(bits)));
        std::sort(written.begin(), written.end());
        std::vector<uint64_t> seen = h.old;
        seen.push_back(bits_of(final));
        for (uint64_t bits : seen)
            if (!std::binary_search(written.begin(), written.end(), bits))
                return "fetch saw a value that nobody set";
        return "";
    }
    /* Every call takes what one left and leaves what one takes: the same values come in and go out. */
    std::vector<uint64_t> in(1, bits_of(initial)), out(1, bits_of(final));
    T all = initial;
    for (size_t i = 0; i < h.old.size(); i++) {
        const T v = operand_value<T>(h.operands[i], op), old = value_of<T>(h.old[i]);
        in.push_back(bits_of(op == XCHG ? v : next_value(op, old, v)));
        out.push_back(h.old[i]);
        if (op != XCHG)
            all = next_value(op, all, v);
    }
    if (op != XCHG && bits_of(all) != bits_of(final))
        return "the final value is wrong";
    std::sort(in.begin(), in.end());
    std::sort(out.begin(), out.end());
    return in == out ? "" : "the values returned do not follow from each other";
}

struct shared_memory {
    args a;
    size_t old_bytes, cell_bytes;

    shared_memory(irist_rank *t, int dtype, uint32_t laps)
    {
        std::memset(&a, 0, sizeof a);
        a.ctx = iris_device_ctx(t->world);
        a.dtype = dtype;
        a.laps = laps;
        old_bytes = (size_t)WORKGROUPS * LANES * laps * sizeof(uint64_t);
        cell_bytes = (size_t)WORKGROUPS * (2 * GUARD + CELLS) * iris_dtype_bytes((iris_dtype)dtype);
        a.cells = (char *)iris_malloc_kind(t->world, cell_bytes, 0, IRIS_MEM_SYNC);
        a.old = (uint64_t *)iris_malloc(t->world, old_bytes);
        a.lanes = (uint64_t *)iris_malloc(t->world, sizeof(uint64_t));
        irist_check(t, a.cells && a.old && a.lanes, "%s", iris_error_string(t->world));
        irist_ok(t, iris_channel_create(t->world, &a.ch, (size_t)t->ranks, 16));
    }
    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &a.ch));
        irist_ok(t, iris_free(t->world, a.lanes));
        irist_ok(t, iris_free(t->world, a.old));
        irist_ok(t, iris_free(t->world, a.cells));
    }

    /* Calls of each of so many lanes. */
    uint32_t laps(uint64_t lanes) const { return laps_of(a.laps, lanes / WORKGROUPS); }

    /* What rank r's calls returned, and how many lanes made them. */
    std::vector<uint64_t> returned(irist_rank *t, int r, uint64_t *lanes)
    {
        irist_ok(t, iris_memcpy(t->world, lanes, iris_translate(t->world, a.lanes, r), sizeof *lanes));
        const bool ran =
            irist_check(t, *lanes >= 1 && *lanes <= (uint64_t)WORKGROUPS * LANES, "the kernel did not run");
        std::vector<uint64_t> v(ran ? *lanes * laps(*lanes) : 0);
        irist_ok(t, iris_memcpy(t->world, v.data(), iris_translate(t->world, a.old, r), v.size() * sizeof v[0]));
        return v;
    }
};

/* Everything that a rank's cells went through, one history for each cell of each workgroup. */
template <typename T> void judge(irist_rank *t, shared_memory *m, const std::vector<T> &before)
{
    const args &a = m->a;
    std::vector<T> cells(before.size());
    std::vector<history> histories((size_t)WORKGROUPS * CELLS);
    irist_ok(t, iris_memcpy(t->world, cells.data(), a.cells, m->cell_bytes));
    for (int r = 0; r < t->ranks; r++) {
        uint64_t lanes = 0;
        if (a.scope == IRIS_SCOPE_SYSTEM ? t->rank != 0 : r != t->rank)
            continue; /* system: all hit rank 0; narrower: each its own */
        const std::vector<uint64_t> old = m->returned(t, r, &lanes);
        if (t->failures)
            return;
        for (uint64_t lane = 0; lane < lanes; lane++) {
            const uint64_t wg = a.scope == IRIS_SCOPE_WG ? lane / (lanes / WORKGROUPS) : 0;
            history &h = histories[wg * CELLS + lane % (lanes / WORKGROUPS) % CELLS];
            for (uint32_t lap = 0; lap < m->laps(lanes); lap++) {
                h.operands.push_back(operand(a.seed, a.op, r, lane, lap));
                h.old.push_back(old[lane * m->laps(lanes) + lap]);
            }
        }
    }
    for (size_t i = 0; i < cells.size(); i++) {
        const size_t wg = i / (2 * GUARD + CELLS), at = i % (2 * GUARD + CELLS);
        const bool guard = at < GUARD || at >= GUARD + CELLS;
        const history *h = guard ? nullptr : &histories[wg * CELLS + at - GUARD];
        std::string why;
        if (h && !h->old.empty())
            why = explain<T>(a.op, *h, before[i], cells[i]);
        else if (bits_of(cells[i]) != bits_of(before[i]))
            why = "an element that nobody touched has changed";
        irist_check(t, why.empty(), "atomic %s of %s, order %d, scope %d, element %zu: %s", op_names[a.op],
                    iris_dtype_name((iris_dtype)a.dtype), a.order, a.scope, i, why.c_str());
    }
}

template <typename T> void fight(irist_rank *t, shared_memory *m, int op, int order, int scope)
{
    args &a = m->a;
    std::vector<T> before((size_t)WORKGROUPS * (2 * GUARD + CELLS));
    for (size_t i = 0; i < before.size(); i++)
        before[i] = std::is_floating_point<T>::value ? (T)(int)(i % 5) : (T)irist_random(t->seed, 77, i);
    a.op = op;
    a.order = (iris_order)order;
    a.scope = (iris_scope)scope;
    a.seed = t->seed * 131 + (uint64_t)(op * 16 + order * 4 + scope);
    a.target = scope == IRIS_SCOPE_SYSTEM ? 0 : t->rank;
    if (op == SET) /* the first fetch may come before the first set of another lane, but not before its own */
        before.assign(before.size(), uniform<T>(operand(a.seed, op, 0, 0, 0)));
    irist_ok(t, iris_memcpy(t->world, a.cells, before.data(), m->cell_bytes));
    irist_meet(t);
    irist_delay(t, a.seed);
    irist_run(t, atomic_kernel, a, iris_cooperative(WORKGROUPS, LANES));
    irist_meet(t);
    judge<T>(t, m, before);
    irist_meet(t);
}

template <typename T> void fights(irist_rank *t, int dtype)
{
    shared_memory m(t, dtype, irist_laps(300, 2000));
    for (int op = ADD; op < OPS; op++) {
        if (std::is_floating_point<T>::value && (op == SUB || op == AND || op == OR || op == XOR))
            continue;
        for (int scope = IRIS_SCOPE_WG; scope <= IRIS_SCOPE_SYSTEM; scope++)
            for (int order = IRIS_RELAXED; order <= IRIS_ACQ_REL && !t->failures; order++)
                if (irist_slow() < 2 || (4 * scope + order + op + dtype) % 12 == 0) /* each pair for some op */
                    fight<T>(t, &m, op, order, scope);
    }
    m.free(t);
}

void fights_of(irist_rank *t)
{
    const int dtype = *(const int *)t->arg;
    switch (dtype) {
    case IRIS_I8:
        fights<int8_t>(t, dtype);
        break;
    case IRIS_U8:
        fights<uint8_t>(t, dtype);
        break;
    case IRIS_I16:
        fights<int16_t>(t, dtype);
        break;
    case IRIS_U16:
        fights<uint16_t>(t, dtype);
        break;
    case IRIS_I32:
        fights<int32_t>(t, dtype);
        break;
    case IRIS_U32:
        fights<uint32_t>(t, dtype);
        break;
    case IRIS_I64:
        fights<int64_t>(t, dtype);
        break;
    case IRIS_U64:
        fights<uint64_t>(t, dtype);
        break;
    case IRIS_F32:
        fights<float>(t, dtype);
        break;
    case IRIS_F64:
        fights<double>(t, dtype);
        break;
    default:
        break;
    }
}

/* Sums are exact as long as they need no more bits than the type has: bf16's have 8, which is enough up to 256. */
void small_floats(irist_rank *t)
{
    const uint32_t most = 256 * CELLS / (uint32_t)t->ranks, wg_lanes = most < LANES ? most : (uint32_t)LANES;
    for (int dtype : {(int)IRIS_F16, (int)IRIS_BF16}) {
        shared_memory m(t, dtype, 1);
        args &a = m.a;
        a.scope = IRIS_SCOPE_SYSTEM;
        a.laps = irist_laps(200000, 400000);
        const size_t n = (size_t)WORKGROUPS * (2 * GUARD + CELLS);
        const uint16_t guard = 0x1234;
        std::vector<uint16_t> before(n, guard), after(n);
        std::fill(before.begin() + GUARD, before.begin() + GUARD + CELLS, (uint16_t)0);
        irist_ok(t, iris_memcpy(t->world, a.cells, before.data(), m.cell_bytes));
        irist_meet(t);
        irist_run(t, small_float_kernel, a, iris_cooperative(WORKGROUPS, wg_lanes));
        irist_meet(t);
        irist_ok(t, iris_memcpy(t->world, after.data(), a.cells, m.cell_bytes));
        uint64_t lanes = 0;
        irist_ok(t, iris_memcpy(t->world, &lanes, a.lanes, sizeof lanes));
        irist_check(t, lanes > 0, "the kernel did not run");
        std::vector<uint64_t> wrong(lanes);
        irist_ok(t, iris_memcpy(t->world, wrong.data(), a.old, lanes * sizeof wrong[0]));
        for (size_t lane = 0; lane < lanes; lane++)
            irist_check(t, wrong[lane] == 0, "atomic add of %s: lane %zu got %llu values that no cell had",
                        iris_dtype_name((iris_dtype)dtype), lane, (unsigned long long)wrong[lane]);
        for (size_t i = 0; i < n && t->rank == 0; i++) {
            float wanted = 0;
            for (uint64_t lane = 0; lane < lanes / WORKGROUPS; lane++)
                wanted += lane % CELLS == i - GUARD ? (float)t->ranks : 0.0f;
            const bool cell = i >= GUARD && i < GUARD + CELLS;
            iris_f16 h = {after[i]};
            iris_bf16 b = {after[i]};
            const float got = dtype == IRIS_F16 ? iris_widen_f16(h) : iris_widen_bf16(b);
            irist_check(t, cell ? got == wanted : after[i] == guard, "atomic add of %s, element %zu: %g instead of %g",
                        iris_dtype_name((iris_dtype)dtype), i, (double)got, cell ? (double)wanted : -1.0);
        }
        m.free(t);
    }
}

} // namespace

TEST_CASE("atomics of every order and scope lose nothing under contention", "[atomic]")
{
    const int dtypes[] = {IRIS_I8,  IRIS_U8,  IRIS_I16, IRIS_U16, IRIS_I32,
                          IRIS_U32, IRIS_I64, IRIS_U64, IRIS_F32, IRIS_F64};
    for (const int &dtype : dtypes) {
        SECTION(iris_dtype_name((iris_dtype)dtype)) { irist_spmd(fights_of, &dtype); }
    }
}

TEST_CASE("atomic sums of 16-bit floats are exact where the type is", "[atomic]") { irist_spmd(small_floats, nullptr); }
