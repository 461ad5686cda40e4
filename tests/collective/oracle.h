/* SPDX-License-Identifier: MIT */
/*
 * oracle.h: what collectives must bring, from their definitions: plain, slow, all types by one table.
 *
 *   collective_kind collective_team collective_member collective_order collective_order_of
 *   collective_input collective_combine collective_oracle
 *
 * Inputs repeat after a prime number of elements: the results of an operation are one short table, however long the
 * message is, and nothing that is misplaced by a line, a share or a turn looks right. Each message begins at another
 * place of the period, so that what an earlier call left behind looks wrong.
 */
#ifndef IRIST_COLLECTIVE_ORACLE_H
#define IRIST_COLLECTIVE_ORACLE_H

#include <cmath>
#include <cstring>
#include <map>

#include "harness.h"

#include <iris/collective/launch.h>
#include <iris/gen/index.h>

/** Element i of result row r of member m is element i of (where src has rows: of row m of) ... */
struct collective_kind {
    bool reduces;            /* ... all members combined; else of member r, or of the root where dst has no rows */
    bool dst_rows, src_rows; /* a row for each member */
    bool to_root;            /* the others get nothing */
};

/** The team of the i-th shape: the world, all but its first rank, every other one; size 0 when it is no new one. */
static inline iris_team collective_team(int shape, int ranks)
{
    iris_team t = {0, 1, ranks};
    if (shape == 1)
        t = {1, 1, ranks - 1};
    if (shape == 2)
        t = {ranks % 2, 2, ranks / 2};
    if (shape > 0 && (t.size < 1 || (shape == 2 && t.size < 2)))
        t.size = 0;
    return t;
}
static inline int collective_member(iris_team t, int rank)
{
    const int ahead = rank - t.start;
    return ahead >= 0 && ahead % t.stride == 0 && ahead / t.stride < t.size ? ahead / t.stride : -1;
}

/* ---- elements ------------------------------------------------------------------------------------------------- */

/** An element as it is computed with: an integer extended to 64 bits, or a float in double, which holds all of them. */
struct collective_value {
    uint64_t whole;
    double real;
};

enum collective_number { COLLECTIVE_INT, COLLECTIVE_UINT, COLLECTIVE_FLOAT };
struct collective_type {
    size_t bytes;
    collective_number number;
    size_t computed; /* bytes of the type that it is computed in */
    double (*widen)(const void *from);
    void (*narrow)(void *to, double x); /* rounds once; dtype/convert.cpp tries both with every code */
};

template <typename T, typename W, W (*widen)(T)> double collective_widen(const void *from)
{
    T e;
    std::memcpy(&e, from, sizeof e);
    return (double)widen(e);
}
template <typename T, typename W, T (*narrow)(W)> void collective_narrow(void *to, double x)
{
    const T e = narrow((W)x);
    std::memcpy(to, &e, sizeof e);
}

static inline const collective_type &collective_type_of(iris_dtype dtype)
{
#define COLLECTIVE_TYPE(d, D, ctype, bits, kind, acc)                                                                  \
    {sizeof(ctype), COLLECTIVE_##kind, sizeof(iris_widen_##d(ctype())),                                                \
     collective_widen<ctype, decltype(iris_widen_##d(ctype())), iris_widen_##d>,                                       \
     collective_narrow<ctype, decltype(iris_widen_##d(ctype())), iris_narrow_##d>},
    static const collective_type types[] = {IRIS_EACH_DTYPE(COLLECTIVE_TYPE)};
    return types[dtype - IRIS_I8];
}

/* The low bits of an integer, extended by its sign where it has one. */
static inline uint64_t collective_wrap(const collective_type &type, uint64_t bits)
{
    const int drop = 64 - 8 * (int)type.bytes;
    return type.number == COLLECTIVE_INT ? (uint64_t)((int64_t)(bits << drop) >> drop) : bits << drop >> drop;
}
static inline collective_value collective_load(const collective_type &type, const unsigned char *from)
{
    collective_value v = {0, 0};
    if (type.number == COLLECTIVE_FLOAT)
        v.real = type.widen(from);
    else
        std::memcpy(&v.whole, from, type.bytes), v.whole = collective_wrap(type, v.whole);
    return v;
}
static inline void collective_store(const collective_type &type, unsigned char *to, collective_value v)
{
    if (type.number == COLLECTIVE_FLOAT)
        type.narrow(to, v.real);
    else
        std::memcpy(to, &v.whole, type.bytes);
}

/**
 * Element i of a rank: integers take all their bits; floats are real values, one in sixteen a special one. `exact`:
 * floats so small and whole that every order gives the same sum.
 */
static inline void collective_input(const collective_type &type, bool exact, uint64_t seed, int rank, size_t i,
                                    unsigned char *to)
{
    static const double special[] = {NAN, HUGE_VAL, -HUGE_VAL, -0.0, 0, 3e38, -6e4, 1e-3, 1e-7, -2e-39};
    const uint64_t bits = irist_random(seed, 1 + (uint64_t)rank, i);
    collective_value v = {bits, 0.5 + (double)(bits >> 44) / (1 << 20)};
    if (bits & 1)
        v.real = -v.real;
    if (bits / 2 % 16 == 0)
        v.real = special[bits / 32 % (sizeof special / sizeof special[0])];
    if (exact)
        v.real = (double)(bits % 3) - 1;
    collective_store(type, to, v);
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

/** Two elements combined, rounded to the type that they compute in: op.h says what becomes of NaN and of -0. */
static inline double collective_combine_real(iris_reduce_op op, bool single, double a, double b)
{
    switch (op) {
    case IRIS_OP_PROD: return single ? (double)((float)a * (float)b) : a * b;
    case IRIS_OP_MIN: return b < a || a != a ? b : a;
    case IRIS_OP_MAX: return a < b || a != a ? b : a;
    default: return single ? (double)((float)a + (float)b) : a + b;
    }
}
static inline uint64_t collective_combine_whole(iris_reduce_op op, bool is_signed, uint64_t a, uint64_t b)
{
    const bool less = is_signed ? (int64_t)b < (int64_t)a : b < a; /* b is */
    switch (op) {
    case IRIS_OP_PROD: return a * b;
    case IRIS_OP_MIN: return less ? b : a;
    case IRIS_OP_MAX: return less ? a : b;
    case IRIS_OP_AND: return a & b;
    case IRIS_OP_OR: return a | b;
    case IRIS_OP_XOR: return a ^ b;
    default: return a + b;
    }
}
static inline collective_value collective_combine(const collective_type &type, iris_reduce_op op, collective_value a,
                                                  collective_value b)
{
    a.real = collective_combine_real(op, type.computed == 4, a.real, b.real);
    a.whole = collective_wrap(type, collective_combine_whole(op, type.number == COLLECTIVE_INT, a.whole, b.whole));
    return a;
}
/** An average from a sum: integers cut off towards 0. */
static inline collective_value collective_divide(const collective_type &type, collective_value sum, int n)
{
    sum.real = type.computed == 4 ? (double)((float)sum.real / (float)n) : sum.real / n;
    sum.whole = type.number == COLLECTIVE_INT ? (uint64_t)((int64_t)sum.whole / n) : sum.whole / (uint64_t)n;
    return sum;
}

/** In which order elements are combined: member 0 first; a ring, which rounds at each hop; any, of exact sums. */
enum collective_order { COLLECTIVE_BY_MEMBER, COLLECTIVE_BY_RING, COLLECTIVE_ANY };

/** The order of a schedule of reductions. */
static inline collective_order collective_order_of(const char *schedule)
{
    return std::strcmp(schedule, "ring") == 0     ? COLLECTIVE_BY_RING
           : std::strcmp(schedule, "atomic") == 0 ? COLLECTIVE_ANY
                                                  : COLLECTIVE_BY_MEMBER;
}

/* ---- tables ---------------------------------------------------------------------------------------------------- */

enum { COLLECTIVE_PERIOD = 1021 };

typedef std::vector<unsigned char> collective_bytes;

/** Writes n elements of a table that repeats, from place `first` on. */
static inline void collective_repeat(unsigned char *to, const collective_bytes &table, size_t first, size_t n)
{
    const size_t e = table.size() / COLLECTIVE_PERIOD;
    for (first %= COLLECTIVE_PERIOD; n > 0; first = 0) {
        const size_t now = n < COLLECTIVE_PERIOD - first ? n : COLLECTIVE_PERIOD - first;
        std::memcpy(to, &table[first * e], now * e);
        to += now * e;
        n -= now;
    }
}

/** Everybody's elements of one type, and what operations make of them; tables are made when they are asked for. */
struct collective_oracle {
    iris_dtype dtype;
    int size; /* of the team */
    collective_type type;
    std::vector<collective_bytes> in; /* by member */
    std::map<int, collective_bytes> made;

    collective_oracle(iris_dtype of, bool exact, uint64_t seed, iris_team team) : dtype(of), size(team.size)
    {
        type = collective_type_of(of);
        for (int m = 0; m < size; m++) {
            in.push_back(collective_bytes(COLLECTIVE_PERIOD * type.bytes));
            for (size_t i = 0; i < COLLECTIVE_PERIOD; i++)
                collective_input(type, exact, seed, team.start + m * team.stride, i, &in.back()[i * type.bytes]);
        }
    }

    /* One element of all members, `first` and those behind it; a ring stores what goes from hop to hop. */
    collective_value element(iris_reduce_op op, bool ring, int first, size_t i) const
    {
        unsigned char hop[8];
        collective_value v = collective_load(type, &in[(size_t)first][i * type.bytes]);
        for (int k = 1; k < size; k++) {
            if (ring && k > 1) {
                collective_store(type, hop, v);
                v = collective_load(type, hop);
            }
            const collective_bytes &next = in[(size_t)((first + k) % size)];
            v = collective_combine(type, op, v, collective_load(type, &next[i * type.bytes]));
        }
        return op == IRIS_OP_AVG ? collective_divide(type, v, size) : v;
    }

    /* The table of an operation. */
    const collective_bytes &combined(iris_reduce_op op, bool ring, int first)
    {
        collective_bytes &table = made[((int)op * 2 + ring) * 64 + first];
        if (table.empty()) {
            table.resize(COLLECTIVE_PERIOD * type.bytes);
            for (size_t i = 0; i < COLLECTIVE_PERIOD; i++)
                collective_store(type, &table[i * type.bytes], element(op, ring, first, i));
        }
        return table;
    }
};

#endif
