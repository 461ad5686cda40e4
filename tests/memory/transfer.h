/* SPDX-License-Identifier: MIT */
/*
 * transfer.h: what every test of data movement shares: a table of pieces, poisoned destinations with guard zones, and
 * the oracle.
 *
 * A rank has a source area of random bytes, different on each rank, and a destination area of poison. One launch moves
 * every piece of the table, so that pieces of all sizes and alignments are under way at once; afterwards the whole
 * destination area must be what memcpy would have made of the poison, and the source area what it was.
 */
#ifndef IRIST_MEMORY_TRANSFER_H
#define IRIST_MEMORY_TRANSFER_H

#include <cstring>
#include <string>
#include <vector>

#include "harness.h"
#include "vocabulary.h"

/** n elements from byte `src` of the source area to byte `dst` of the destination area. */
typedef struct irist_piece {
    uint64_t dst, src;
    uint64_t n;
} irist_piece;

/** The argument struct of every kernel that moves pieces. */
typedef struct irist_transfer {
    iris_ctx ctx;
    const irist_piece *pieces; /* own memory */
    uint64_t n_pieces;
    char *dst, *src, *seen; /* symmetric areas; `seen` is what a receiver copied after its wait */
    iris_signal *signals;   /* one for each piece */
    uint64_t epoch;
    int dtype, op, group;
    uint32_t element; /* bytes of one */
    int to, from;     /* ranks: of the destination, of the source */
} irist_transfer;

/** One kind of movement: who holds the data, whether pieces are whole vectors. */
typedef struct irist_movement {
    const char *name;
    int op;
    bool remote_src, remote_dst;
    bool vectors;
} irist_movement;

enum { IRIST_GUARD = 64 };

static inline uint64_t irist_round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

/** Every size with every pair of offsets, all counted in units of `unit` elements of `bytes` bytes; n in elements. */
static inline std::vector<irist_piece> irist_pieces(uint64_t bytes, uint64_t unit, uint64_t seed)
{
    static const uint64_t sizes[] = {0, 1, 2, 3, 7, 16, 255, 256, 4097}, offsets[] = {0, 1, 3};
    std::vector<irist_piece> pieces;
    uint64_t at = IRIST_GUARD;
    const auto add = [&](uint64_t n, uint64_t dst_offset, uint64_t src_offset) {
        at = irist_round_up(at, 16);
        const irist_piece p = {at + dst_offset * unit * bytes, at + src_offset * unit * bytes, n / unit * unit};
        pieces.push_back(p);
        at += (n + 32 * unit) * bytes + IRIST_GUARD;
    };
    for (uint64_t n : sizes)
        for (uint64_t d : offsets)
            for (uint64_t s : offsets)
                if (irist_slow() < 2 || (n <= 256 && 3 * d == s)) /* where all is slow, 0 and 0, 1 and 3 */
                    add(n, d, s);
    for (uint64_t i = 0; i < (irist_slow() > 1 ? 4 : 48); i++)
        add(irist_pick(seed, 1, i, 700), irist_pick(seed, 2, i, 31), irist_pick(seed, 3, i, 31));
    return pieces;
}

/** Bytes of an area that holds the pieces and a guard zone behind the last. */
static inline uint64_t irist_area(const std::vector<irist_piece> &pieces, uint64_t bytes)
{
    const irist_piece &last = pieces.back();
    return irist_round_up((last.dst > last.src ? last.dst : last.src) + last.n * bytes + IRIST_GUARD, 256);
}

/** What a rank's source area holds; `area` is a multiple of 8. */
static inline std::vector<unsigned char> irist_source(uint64_t area, uint64_t seed, int rank)
{
    std::vector<unsigned char> v(area);
    for (uint64_t i = 0; i < area; i += 8) {
        const uint64_t word = irist_random(seed, 100 + (uint64_t)rank, i);
        std::memcpy(v.data() + i, &word, 8);
    }
    return v;
}

/** The first byte that differs between two areas, in words; empty when none does. */
static inline std::string irist_difference(const std::vector<unsigned char> &got,
                                           const std::vector<unsigned char> &want,
                                           const std::vector<irist_piece> &pieces, uint64_t bytes)
{
    for (size_t i = got == want ? got.size() : 0; i < got.size(); i++) {
        if (got[i] == want[i])
            continue;
        std::string where = "in a guard zone";
        for (const irist_piece &p : pieces)
            if (i >= p.dst && i < p.dst + p.n * bytes)
                where = "in the piece of " + std::to_string(p.n) + " elements at byte " + std::to_string(p.dst) +
                        " from byte " + std::to_string(p.src);
        return "byte " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]) +
               ", " + where;
    }
    return "";
}

/** The areas of one test function, and its table in device memory. */
struct irist_areas {
    std::vector<irist_piece> pieces;
    uint64_t bytes, area; /* of an element, of an area */
    irist_transfer args;
    std::vector<unsigned char> poison, source; /* what the areas start with */

    /* Collective: symmetric allocations. */
    irist_areas(irist_rank *t, int dtype, bool vectors)
    {
        bytes = iris_dtype_bytes((iris_dtype)dtype);
        pieces = irist_pieces(bytes, vectors ? 16 / bytes : 1, t->seed + (uint64_t)dtype);
        area = irist_area(pieces, bytes);
        std::memset(&args, 0, sizeof args);
        args.ctx = iris_device_ctx(t->world);
        args.dtype = dtype;
        args.element = (uint32_t)bytes;
        args.n_pieces = pieces.size();
        args.dst = (char *)iris_malloc(t->world, area);
        args.src = (char *)iris_malloc(t->world, area);
        args.seen = (char *)iris_malloc(t->world, area);
        args.signals = iris_signals(t->world, pieces.size());
        char *table = (char *)iris_malloc(t->world, pieces.size() * sizeof(irist_piece));
        args.pieces = (const irist_piece *)(const void *)table;
        if (!irist_check(t, args.dst && args.src && args.seen && args.signals && table, "%s",
                         iris_error_string(t->world)))
            return;
        irist_ok(t, iris_memcpy(t->world, table, pieces.data(), pieces.size() * sizeof(irist_piece)));
        poison = irist_poisoned(area);
        source = irist_source(area, t->seed, t->rank);
        irist_upload(t, args.src, source);
    }

    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_free(t->world, (void *)(uintptr_t)args.pieces));
        irist_ok(t, iris_free(t->world, args.signals));
        irist_ok(t, iris_free(t->world, args.seen));
        irist_ok(t, iris_free(t->world, args.src));
        irist_ok(t, iris_free(t->world, args.dst));
    }

    /* The destination area after rank `from`'s pieces have come. */
    std::vector<unsigned char> expected(const irist_rank *t, int from) const
    {
        std::vector<unsigned char> want = poison;
        const std::vector<unsigned char> sent = irist_source(area, t->seed, from);
        for (const irist_piece &p : pieces)
            std::memcpy(want.data() + p.dst, sent.data() + p.src, p.n * bytes);
        return want;
    }

    /* Both areas of this rank are what they should be. */
    void compare(irist_rank *t, const char *what, int from)
    {
        std::string wrong = irist_difference(irist_download(t, args.dst, area), expected(t, from), pieces, bytes);
        irist_check(t, wrong.empty(), "%s %s from rank %d: %s", what, iris_dtype_name((iris_dtype)args.dtype), from,
                    wrong.c_str());
        irist_check(t, irist_download(t, args.src, area) == source, "%s %s changed its source", what,
                    iris_dtype_name((iris_dtype)args.dtype));
    }
};

/** Ranks between the two ends of a movement: in the smoke tier the own rank and the neighbour, else every distance. */
static inline int irist_distances(const irist_rank *t) { return t->full || t->ranks < 2 ? t->ranks : 2; }

/** Lanes of a workgroup. Of those whose waves work alone, so many that the last wave is short of lanes on every GPU. */
static inline uint32_t irist_lanes(int group) { return group == IRIST_WAVE ? 208 : 256; }

/** Moves every piece by one kernel for each distance between ranks and checks what came. */
static inline void irist_move(irist_rank *t, irist_areas *areas, irisi_kernel kernel, const char *name,
                              const irist_movement *m)
{
    const int n = t->ranks;
    for (int distance = 0; distance < irist_distances(t) && !t->failures; distance++) {
        /* One rank writes each destination: its neighbour at this distance, from itself or from a third rank. */
        const int to = m->remote_dst ? (t->rank + distance) % n : t->rank;
        const int writer = m->remote_dst ? (t->rank + n - distance) % n : t->rank;
        const int read = m->remote_dst ? 1 : distance;
        irist_upload(t, areas->args.dst, areas->poison);
        areas->args.to = to;
        areas->args.op = m->op;
        areas->args.from = m->remote_src ? (t->rank + n - read) % n : t->rank;
        irist_meet(t);
        irist_delay(t, (uint64_t)distance);
        irist_run_kernel(t, kernel, name, &areas->args, sizeof areas->args,
                         iris_grid(3, irist_lanes(areas->args.group)));
        irist_meet(t);
        areas->compare(t, m->name, m->remote_src ? (writer + n - read) % n : writer);
    }
}

#define IRIST_MOVE(t, areas, kernel, movement) irist_move((t), (areas), IRISI_KERNEL_PTR(kernel), #kernel, (movement))

#endif
