/* SPDX-License-Identifier: MIT */
/*
 * all_to_allv.cpp: rows of every length arrive whole, none is longer than the room for it, and nothing around them is
 * touched; what the launcher refuses.
 */
#define IRIS_INSTANTIATE_ALL_TO_ALLV
#include <cstring>

#include "harness.h"

#include <iris/gen/launch/all_to_allv.h>

namespace {

enum { MOST = 700, LAPS = 12 }; /* room for a row, which is two shorter at most */
const iris_team world = {0, 0, 0};

/* How many elements rank `from` has for rank `to`; some have none. */
uint64_t length(uint64_t seed, uint64_t lap, int from, int to)
{
    const uint32_t n = irist_pick(seed + lap, 3 + (uint64_t)from, (uint64_t)to, MOST + 98);
    return n < 100 ? 0 : n - 99;
}
uint16_t element(uint64_t lap, int from, int to, size_t i)
{
    return (uint16_t)(lap * 131 + (uint64_t)from * 4099 + (uint64_t)to * 257 + i);
}

struct buffers {
    iris_channel ch;
    uint16_t *dst, *src;
    uint64_t *dst_offsets, *dst_counts, *src_offsets, *src_counts;
};
void create(irist_rank *t, buffers *b)
{
    const size_t ranks = (size_t)t->ranks;
    irist_ok(t, iris_collective_channel(t->world, &b->ch, 256));
    b->dst = (uint16_t *)iris_malloc(t->world, ranks * MOST * 2);
    b->src = (uint16_t *)iris_malloc(t->world, ranks * MOST * 2);
    uint64_t **arrays[] = {&b->dst_offsets, &b->dst_counts, &b->src_offsets, &b->src_counts};
    for (uint64_t **array : arrays)
        *array = (uint64_t *)iris_malloc(t->world, ranks * sizeof **array);
    irist_meet(t);
}
void destroy(irist_rank *t, buffers *b)
{
    irist_meet(t);
    void *all[] = {b->src_counts, b->src_offsets, b->dst_counts, b->dst_offsets, b->src, b->dst};
    for (void *p : all)
        irist_ok(t, iris_free(t->world, p));
    irist_ok(t, iris_channel_destroy(t->world, &b->ch));
}

void rows(irist_rank *t)
{
    const size_t ranks = (size_t)t->ranks;
    buffers b;
    create(t, &b);
    for (uint64_t lap = 0; lap < LAPS; lap++) {
        std::vector<uint16_t> in(ranks * MOST), want(ranks * MOST);
        std::vector<uint64_t> from(ranks), count(ranks), to(ranks), room(ranks);
        const std::vector<unsigned char> before = irist_poisoned(ranks * MOST * 2);
        std::memcpy(want.data(), before.data(), before.size());
        uint64_t at = 0;
        for (size_t r = 0; r < ranks; r++) { /* rows follow each other in src; in dst they lie apart, the last first */
            count[r] = length(t->seed, lap, t->rank, (int)r);
            from[r] = at;
            for (size_t i = 0; i < count[r]; i++)
                in[at++] = element(lap, t->rank, (int)r, i);
            to[r] = (ranks - 1 - r) * MOST + lap % 3;
            const uint64_t comes = length(t->seed, lap, (int)r, t->rank);
            room[r] = lap % 4 == 3 ? comes : MOST - 2;
            for (size_t i = 0; i < comes; i++)
                want[to[r] + i] = element(lap, (int)r, t->rank, i);
        }
        irist_upload(t, b.dst, before);
        irist_ok(t, iris_memcpy(t->world, b.src, in.data(), in.size() * 2));
        irist_ok(t, iris_memcpy(t->world, b.src_counts, count.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.src_offsets, from.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.dst_counts, room.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.dst_offsets, to.data(), ranks * 8));
        irist_delay(t, lap);
        irist_ok(t, iris_all_to_allv_rows_u16(t->world, &b.ch, b.dst, b.dst_offsets, b.dst_counts, b.src, b.src_offsets,
                                              b.src_counts, world, nullptr));
        std::vector<uint16_t> got(ranks * MOST);
        irist_ok(t, iris_memcpy(t->world, got.data(), b.dst, got.size() * 2));
        irist_check(t, got == want, "lap %llu: a row is wrong, or what is around it", (unsigned long long)lap);
    }
    destroy(t, &b);
}

/* Many calls and nothing in between; rows grow from round to round, so that what an earlier one left is not enough. */
void again(irist_rank *t)
{
    enum { ROUNDS = 20 };
    const size_t ranks = (size_t)t->ranks;
    const uint32_t calls = irist_laps(400, t->ranks > 4 ? 2000 : 10000) / ROUNDS;
    buffers b;
    create(t, &b);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        std::vector<uint16_t> in(ranks * MOST), got(ranks * MOST);
        std::vector<uint64_t> count(ranks, round), room(ranks, MOST), at(ranks);
        for (size_t r = 0; r < ranks; r++) {
            at[r] = r * MOST;
            for (size_t i = 0; i < round; i++)
                in[at[r] + i] = element(round, t->rank, (int)r, i);
        }
        irist_ok(t, iris_memcpy(t->world, b.src, in.data(), in.size() * 2));
        for (auto array : {b.src_offsets, b.dst_offsets})
            irist_ok(t, iris_memcpy(t->world, array, at.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.src_counts, count.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.dst_counts, room.data(), ranks * 8));
        irist_delay(t, round);
        for (uint32_t call = 0; call < calls; call++)
            irist_ok(t, iris_all_to_allv_rows_u16(t->world, &b.ch, b.dst, b.dst_offsets, b.dst_counts, b.src,
                                                  b.src_offsets, b.src_counts, world, nullptr));
        irist_ok(t, iris_memcpy(t->world, got.data(), b.dst, got.size() * 2));
        for (size_t i = 0; i < ranks * round; i++) {
            const size_t r = i / round, k = i % round;
            irist_check(t, got[at[r] + k] == element(round, (int)r, t->rank, k), "round %llu: row %zu is wrong",
                        (unsigned long long)round, r);
        }
        irist_meet(t); /* before the next round's rows are written */
    }
    destroy(t, &b);
}

/* The last rank's row for rank 0 cannot be received; everybody hears of it, and rank 0's dst stays as it is there. */
struct misfit {
    const char *name;
    uint64_t room, offset, count;
    const char *words;
};
const misfit misfits[] = {
    {"one element more than there is room", 9, 0, 10, "sends a row of 10 elements, and dst_counts has room for 9"},
    {"no room at all", 0, 0, 1, "and dst_counts has room for 0"},
    {"beyond the heap", MOST, (uint64_t)1 << 40, 10, "from element 1099511627776 on is not inside the heap"},
    {"an offset whose bytes wrap", MOST, (uint64_t)1 << 63, 10, "is not inside the heap"},
    {"more than any heap", UINT64_MAX, 0, UINT64_MAX / 2, "is not inside the heap"},
};
void unfit(irist_rank *t)
{
    const misfit *m = (const misfit *)t->arg;
    const size_t ranks = (size_t)t->ranks, bytes = ranks * MOST * 2;
    const std::vector<unsigned char> before = irist_poisoned(bytes);
    buffers b;
    create(t, &b);
    for (int turn = 0; turn < 2; turn++) { /* after iris_reset the channel works */
        const int wrong = turn == 0 && t->rank == t->ranks - 1;
        std::vector<uint64_t> at(ranks), count(ranks, 7), room(ranks, 7), from(ranks);
        for (size_t r = 0; r < ranks; r++)
            at[r] = from[r] = r * MOST;
        count[0] = wrong ? m->count : count[0], from[0] = wrong ? m->offset : from[0];
        room[ranks - 1] = turn == 0 && t->rank == 0 ? m->room : 7;
        irist_upload(t, b.dst, before);
        irist_upload(t, b.src, before);
        irist_ok(t, iris_memcpy(t->world, b.src_counts, count.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.src_offsets, from.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.dst_counts, room.data(), ranks * 8));
        irist_ok(t, iris_memcpy(t->world, b.dst_offsets, at.data(), ranks * 8));
        irist_meet(t);
        iris_status status = iris_all_to_allv_rows_u16(t->world, &b.ch, b.dst, b.dst_offsets, b.dst_counts, b.src,
                                                       b.src_offsets, b.src_counts, world, nullptr);
        status = status == IRIS_OK ? iris_synchronize(t->world) : status; /* another rank may have been quicker */
        const char *said = iris_error_string(t->world);
        irist_check(t, turn ? status == IRIS_OK : status == IRIS_ERR_CHECK && std::strstr(said, m->words),
                    "%s, turn %d: %s, '%s'", m->name, turn, iris_status_name(status), said);
        if (turn == 0)
            irist_ok(t, iris_reset(t->world));
        std::vector<unsigned char> got = irist_download(t, b.dst, bytes);
        const size_t row = (ranks - 1) * MOST * 2, own = (size_t)t->rank * MOST * 2;
        const int same = std::memcmp(got.data() + row, before.data() + (turn ? own : row), 14) == 0;
        irist_check(t, same || (turn == 0 && t->rank != 0), "%s, turn %d: the row from the last rank", m->name, turn);
    }
    destroy(t, &b);
}

void refused(irist_rank *t)
{
    static uint64_t outside[8];
    const iris_team wide = {0, 1, 99};
    buffers b;
    create(t, &b);
    const iris_channel none = {};
    const auto call = [&](const iris_channel *ch, uint16_t *dst, const uint64_t *offsets, const uint64_t *counts,
                          iris_team team, const char *words) {
        const iris_status status = iris_all_to_allv_rows_u16(t->world, ch, dst, offsets, b.dst_counts, b.src,
                                                             b.src_offsets, counts, team, nullptr);
        const char *said = iris_error_string(t->world);
        irist_check(t, status == IRIS_ERR_ARGUMENT && std::strstr(said, words), "'%s' without '%s'", said, words);
    };
    call(&b.ch, b.dst, nullptr, b.src_counts, world, "dst_offsets or dst_counts is null");
    call(&b.ch, nullptr, b.dst_offsets, b.src_counts, world, "dst, dst_offsets or dst_counts is null");
    call(&b.ch, b.dst, (const uint64_t *)((char *)b.dst_offsets + 4), b.src_counts, world, "an array not to 8 bytes");
    call(&b.ch, (uint16_t *)((char *)b.dst + 1), b.dst_offsets, b.src_counts, world, "not aligned to its 2-byte");
    call(&b.ch, b.dst, b.dst_offsets, outside, world, "must lie in the symmetric heap");
    call(&b.ch, b.dst, b.dst_offsets, b.src_counts, wide, "a team of 99 ranks");
    call(&none, b.dst, b.dst_offsets, b.src_counts, world, "the channel is not from iris_collective_channel");
    destroy(t, &b);
}

} // namespace

TEST_CASE("rows of any length arrive whole", "[collective]") { irist_spmd(rows, nullptr); }
TEST_CASE("rows may follow each other at once", "[collective]") { irist_spmd(again, nullptr); }
TEST_CASE("rows that do not fit are reported on every rank", "[collective]")
{
    for (const misfit &m : misfits) {
        SECTION(m.name) { irist_spmd(unfit, &m); }
    }
}
TEST_CASE("rows that cannot be are refused with a sentence", "[collective]") { irist_spmd(refused, nullptr); }
