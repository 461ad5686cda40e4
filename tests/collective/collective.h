/* SPDX-License-Identifier: MIT */
/*
 * collective.h: what the tests of collectives share: elements of every type as functions of (seed, rank, index), the
 * plain combination of many, teams, and a case that runs one collective and compares what it wrote.
 *
 * Whole numbers so small that every type holds their sums make the order irrelevant; real values show it.
 */
#ifndef IRIST_COLLECTIVE_H
#define IRIST_COLLECTIVE_H

#include <cstring>

#include "harness.h"

#include <iris/collective_host.h>
#include <iris/op.h>

/** What every test kernel takes. */
struct collective_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    void *dst;
    const void *src;
    size_t count;
    int root;
};

/** Plain versions of what a row of a test is about; bytes are those of an element. */
struct collective_type {
    size_t bytes;
    void (*make)(void *to, int real, uint64_t seed, uint64_t rank, uint64_t i); /* an input element */
    void (*reduce)(void *to, const void *const *from, size_t n); /* n elements combined in order; null for moves */
};

/** Element number i of a rank: one of few whole numbers, or a real value that sums of it are rounded. */
#define COLLECTIVE_MAKE(d, ctype)                                                                                      \
    [[maybe_unused]] static void make_##d(void *to, int real, uint64_t seed, uint64_t rank, uint64_t i)                \
    {                                                                                                                  \
        const uint32_t r = irist_pick(seed, 1 + rank, i, 1u << 20);                                                    \
        const double x = real ? 0.5 + (double)r / (1 << 20) : (int)(r % 3) - 1;                                        \
        const ctype e = iris_narrow_##d((decltype(iris_widen_##d(ctype())))x);                                         \
        std::memcpy(to, &e, sizeof e);                                                                                 \
    }
/* Integers take all their bits. */
#define COLLECTIVE_MAKE_WHOLE(d, ctype)                                                                                \
    [[maybe_unused]] static void make_##d(void *to, int, uint64_t seed, uint64_t rank, uint64_t i)                     \
    {                                                                                                                  \
        const ctype e = (ctype)irist_random(seed, 1 + rank, i);                                                        \
        std::memcpy(to, &e, sizeof e);                                                                                 \
    }
#define COLLECTIVE_EACH_FLOAT(x)                                                                                       \
    x(f16, iris_f16) x(bf16, iris_bf16) x(f32, float) x(f64, double) x(f8e4m3, iris_f8e4m3) x(f8e5m2, iris_f8e5m2)     \
        x(f8e4m3fnuz, iris_f8e4m3fnuz) x(f8e5m2fnuz, iris_f8e5m2fnuz)
#define COLLECTIVE_EACH_WHOLE(x)                                                                                       \
    x(i8, int8_t) x(u8, uint8_t) x(i16, int16_t) x(u16, uint16_t) x(i32, int32_t) x(u32, uint32_t) x(i64, int64_t)     \
        x(u64, uint64_t)
COLLECTIVE_EACH_FLOAT(COLLECTIVE_MAKE)
COLLECTIVE_EACH_WHOLE(COLLECTIVE_MAKE_WHOLE)

/** reduce_<op>_<d>: in the order given, in the type that the elements compute in, narrowed once. */
#define COLLECTIVE_REDUCE(op, combine, d, ctype, acc, divide)                                                          \
    [[maybe_unused]] static void reduce_##op##_##d(void *to, const void *const *from, size_t n)                        \
    {                                                                                                                  \
        ctype e;                                                                                                       \
        std::memcpy(&e, from[0], sizeof e);                                                                            \
        auto sum = iris_widen_##d(e);                                                                                  \
        for (size_t i = 1; i < n; i++) {                                                                               \
            std::memcpy(&e, from[i], sizeof e);                                                                        \
            sum = iris_##combine##_##acc(sum, iris_widen_##d(e));                                                      \
        }                                                                                                              \
        e = iris_narrow_##d((decltype(sum))(sum / (divide ? (decltype(sum))n : (decltype(sum))1)));                    \
        std::memcpy(to, &e, sizeof e);                                                                                 \
    }
#define COLLECTIVE_REDUCE_FLOAT(d, ctype, acc)                                                                         \
    COLLECTIVE_REDUCE(sum, sum, d, ctype, acc, 0)                                                                      \
    COLLECTIVE_REDUCE(prod, prod, d, ctype, acc, 0)                                                                    \
    COLLECTIVE_REDUCE(min, min, d, ctype, acc, 0)                                                                      \
    COLLECTIVE_REDUCE(max, max, d, ctype, acc, 0)                                                                      \
    COLLECTIVE_REDUCE(avg, sum, d, ctype, acc, 1)
#define COLLECTIVE_REDUCE_WHOLE(d, ctype)                                                                              \
    COLLECTIVE_REDUCE_FLOAT(d, ctype, d)                                                                               \
    COLLECTIVE_REDUCE(and, and, d, ctype, d, 0)                                                                        \
    COLLECTIVE_REDUCE(or, or, d, ctype, d, 0)                                                                          \
    COLLECTIVE_REDUCE(xor, xor, d, ctype, d, 0)

/** A collective to try: its kernel, its elements, and what the definition gives. */
struct collective_row {
    const char *name;
    irisi_kernel kernel;
    collective_type type;
    int real;              /* real values, where the order is that of the members */
    int dst_rows, src_rows; /* a row for each member */
};

/** The team of the i-th shape: the world, its first ranks, its last, every other one; size 0 when it is no new one. */
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

enum { COLLECTIVE_GUARD = 64 };

/** Buffers for the largest case, made once for a table of rows. */
struct collective_buffers {
    char *dst, *src;
    size_t bytes; /* of each */
    iris_channel ch[3]; /* one for each shape of team */
};

static inline void collective_create(irist_rank *t, collective_buffers *b, size_t bytes, size_t scratch)
{
    b->bytes = bytes + 2 * COLLECTIVE_GUARD;
    b->dst = (char *)iris_malloc(t->world, b->bytes);
    b->src = (char *)iris_malloc(t->world, b->bytes);
    for (iris_channel &ch : b->ch) {
        irist_ok(t, iris_collective_channel(t->world, &ch, scratch));
        ch.least = 1024; /* on the host too several slices have something to do */
    }
    irist_meet(t);
}
static inline void collective_destroy(irist_rank *t, collective_buffers *b)
{
    irist_meet(t);
    for (int i = 2; i >= 0; i--)
        irist_ok(t, iris_channel_destroy(t->world, &b->ch[i]));
    irist_ok(t, iris_free(t->world, b->src));
    irist_ok(t, iris_free(t->world, b->dst));
}

/** What member `m`'s element i of its src is: i counts through all rows. */
static inline void collective_input(const collective_row &row, uint64_t seed, int m, size_t i, unsigned char *to)
{
    row.type.make(to, row.real, seed, (uint64_t)m, i);
}

/** The oracle: the bytes of dst on `member`, by the definition; none where nothing may be written. */
std::vector<unsigned char> collective_expect(const collective_row &row, uint64_t seed, int member, int size,
                                             size_t count, int root);

/** How a case is called. */
struct collective_case {
    size_t count;
    int shape;       /* of the team */
    int in_place;
    size_t offset;   /* elements before the first, to take alignment away */
    uint32_t workgroups;
};

/**
 * One collective: inputs made, output poisoned, the kernel run by the members, all bytes of the output and those around
 * it compared. Nobody meets before or after: what is too early or too late shows.
 */
static inline void collective_try(irist_rank *t, const collective_buffers *b, const collective_row &row,
                                  const collective_case &c, uint64_t seed, int root)
{
    const iris_team team = collective_team(c.shape, t->ranks);
    const int member = collective_member(team, t->rank);
    if (member < 0)
        return;
    const size_t e = row.type.bytes, size = (size_t)team.size, row_bytes = c.count * e;
    const size_t at = COLLECTIVE_GUARD + c.offset * e;
    const size_t dst_bytes = row_bytes * (row.dst_rows ? size : 1), src_bytes = row_bytes * (row.src_rows ? size : 1);
    std::vector<unsigned char> in(src_bytes), before = irist_poisoned(at + dst_bytes + COLLECTIVE_GUARD);
    for (size_t i = 0; i < src_bytes / e; i++)
        collective_input(row, seed, member, i, &in[i * e]);
    char *dst = b->dst + at, *src = b->src + at;
    size_t shift = 0; /* of dst or src within the other */
    irist_upload(t, b->dst, before);
    const bool in_place = c.in_place && !(row.src_rows && row.dst_rows); /* rows of both: never */
    if (in_place && row.src_rows) {
        shift = (size_t)member * row_bytes;
        dst = src + shift;
    } else if (in_place) {
        shift = row.dst_rows ? (size_t)member * row_bytes : 0;
        src = dst + shift;
    }
    if (!in.empty())
        irist_ok(t, iris_memcpy(t->world, src, in.data(), in.size()));
    collective_args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.ch = b->ch[c.shape];
    a.team = team;
    a.dst = dst, a.src = src, a.count = c.count, a.root = team.start + root * team.stride;
    irist_run_kernel(t, row.kernel, row.name, &a, sizeof a, iris_cooperative(c.workgroups, 128));
    std::vector<unsigned char> want = collective_expect(row, seed, member, team.size, c.count, root);
    if (want.empty() && in_place)
        return; /* what is in dst of those that get nothing is their own src */
    if (want.empty())
        want.assign(before.begin() + (ptrdiff_t)at, before.begin() + (ptrdiff_t)(at + dst_bytes));
    const std::vector<unsigned char> got = irist_download(t, dst, dst_bytes);
    size_t wrong = 0;
    while (wrong < want.size() && wrong < got.size() && want[wrong] == got[wrong])
        wrong++;
    irist_check(t, want == got, "%s of %zu, team shape %d, %s, offset %zu: byte %zu differs", row.name, c.count,
                c.shape, in_place ? "in place" : "apart", c.offset, wrong);
    if (!(in_place && row.src_rows)) {
        const std::vector<unsigned char> low = irist_download(t, b->dst, at);
        irist_check(t, std::memcmp(low.data(), before.data(), at) == 0, "%s of %zu wrote before dst", row.name,
                    c.count);
        const std::vector<unsigned char> high = irist_download(t, b->dst + at + dst_bytes, COLLECTIVE_GUARD);
        irist_check(t, std::memcmp(high.data(), &before[at + dst_bytes], COLLECTIVE_GUARD) == 0,
                    "%s of %zu wrote behind dst", row.name, c.count);
    }
}

/** Every row with every size, team and place that its tier has. */
static inline void collective_try_all(irist_rank *t, const collective_row *rows, size_t n, size_t scratch)
{
    static const size_t counts[] = {1, 0, 7, 2, 255, 4097, 1031};
    collective_buffers b;
    uint64_t turn = 0;
    const bool large = t->full && t->ranks <= 4; /* and then, of bytes, what many slices and turns are needed for */
    const size_t most = (1 << 20) + 3;
    collective_create(t, &b, (large ? most : 5000 * 8) * (size_t)t->ranks, scratch);
    for (size_t r = 0; r < n; r++)
        for (int shape = 0; shape < 3; shape++) {
            if (collective_team(shape, t->ranks).size == 0)
                continue;
            for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
                const uint64_t seed = t->seed + turn * 64;
                const uint32_t dice = irist_pick(t->seed, 99, turn++, 1u << 16);
                if ((!t->full || t->ranks > 4) && (dice & 3) != 0 && k != r % 7)
                    continue; /* a choice of them in the smoke tier, and where eight ranks share two cores */
                const collective_case c = {counts[k], shape, (int)(dice >> 2 & 1), (dice >> 3 & 3) == 0 ? 1u : 0u,
                                           1 + (dice >> 5 & 1) * 2 + (uint32_t)t->rank % 2};
                if (turn % 8 == 0)
                    irist_delay(t, turn);
                const uint32_t size = (uint32_t)collective_team(shape, t->ranks).size;
                collective_try(t, &b, rows[r], c, seed, (int)((dice >> 8) % size));
            }
        }
    int tried = 0; /* every row on three ranks, one row on others: the oracle is slow */
    for (size_t r = 0; large && r < n; r++) {
        const collective_case c = {most, 0, 0, 0, 2};
        if (std::strstr(rows[r].name, "_u8") && (t->ranks == 3 || tried++ == 0))
            collective_try(t, &b, rows[r], c, t->seed + r, (int)r % t->ranks);
    }
    collective_destroy(t, &b);
}

#endif
