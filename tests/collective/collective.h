/* SPDX-License-Identifier: MIT */
/*
 * collective.h: runs a collective's schedules with every type, operation, size, team and place, and compares all that
 * they wrote, and what lies around it, with the oracle.
 *
 *   collective_call collective_args COLLECTIVE_CALLS
 *   collective_row collective_try
 *
 * A launch holds many calls: a kernel makes them one after the other, a launcher is called for each without waiting.
 * Nobody meets between calls or launches: what is too early or too late shows.
 */
#ifndef IRIST_COLLECTIVE_H
#define IRIST_COLLECTIVE_H

#include <memory>

#include "oracle.h"
#include "types.h"

/** One call in a kernel: places are bytes in the kernel's memory. */
struct collective_call {
    uint64_t dst, src, count;
    int32_t root;
    iris_reduce_op op;
};

/** What every test kernel takes. */
struct collective_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    char *memory;
    const collective_call *calls;
    uint32_t n_calls;
};

/** In a kernel: for each `c` of its calls. */
#define COLLECTIVE_CALLS(c)                                                                                            \
    const collective_call *c = a->calls;                                                                               \
    c != a->calls + a->n_calls;                                                                                        \
    c++
/** A call's buffers. */
#define COLLECTIVE_DATA(c, ctype) (ctype *)(void *)(a->memory + c->dst), (const ctype *)(void *)(a->memory + c->src)

typedef iris_status (*collective_launcher)(iris_world *w, const iris_channel *ch, const iris_collective *what,
                                           iris_stream stream);

/** Operations that types have, a bit for each; what does not combine has one. */
enum { COLLECTIVE_OPS_INT = 0xFF, COLLECTIVE_OPS_UINT = 0xFF, COLLECTIVE_OPS_FLOAT = 0x1F, COLLECTIVE_MOVES = 1 };

/** What is tried: a kernel, or a launcher with a schedule. */
struct collective_row {
    const char *name;
    iris_dtype dtype;
    irisi_kernel kernel;
    collective_launcher launcher;
    iris_schedule schedule;
    collective_order order;
    uint32_t ops;
};

/** A row of a kernel: its name, itself, its type. */
#define COLLECTIVE_ROW(name, kernel, D, order, ops)                                                                    \
    {#name, IRIS_##D, IRISI_KERNEL_PTR(kernel), nullptr, IRIS_SCHEDULE_AUTO, order, ops},

/** A type and one operation. */
struct collective_pair {
    iris_dtype dtype;
    iris_reduce_op op;
};
/** A launcher by the schedules that it has, and by its own choice, with each pair. */
static inline std::vector<collective_row> collective_launchers(const char *name, collective_launcher launcher,
                                                               const std::vector<iris_schedule> &schedules,
                                                               const std::vector<collective_pair> &pairs)
{
    std::vector<collective_row> rows;
    for (collective_pair p : pairs) {
        rows.push_back({name, p.dtype, nullptr, launcher, IRIS_SCHEDULE_AUTO, COLLECTIVE_BY_MEMBER, 1u << p.op});
        for (iris_schedule s : schedules)
            rows.push_back({name, p.dtype, nullptr, launcher, s,
                            s == IRIS_SCHEDULE_RING ? COLLECTIVE_BY_RING : COLLECTIVE_BY_MEMBER, 1u << p.op});
    }
    return rows;
}
/** The same with every type: what moves bytes. */
static inline std::vector<collective_row> collective_movers(const char *name, collective_launcher launcher,
                                                            const std::vector<iris_schedule> &schedules)
{
    std::vector<collective_pair> pairs;
    for (int dtype = IRIS_I8; dtype < IRIS_DTYPES; dtype++)
        pairs.push_back({(iris_dtype)dtype, IRIS_OP_SUM});
    return collective_launchers(name, launcher, schedules, pairs);
}

enum {
    COLLECTIVE_GUARD = 64,      /* bytes around every dst */
    COLLECTIVE_SHIFTS = 64,     /* places of the inputs that a message begins at */
    COLLECTIVE_LARGE = 1 << 20, /* bytes of the large message, less 3 elements */
    COLLECTIVE_MOST = 8 * 7 * 2 /* calls of a launch */
};

/** A call, and where its bytes are. */
struct collective_place {
    collective_call call;
    size_t at, bytes; /* what it may write lies in here: dst, or in place the longer of dst and src */
    size_t shift;     /* elements of the period before its src's first */
    bool in_place;
};

/** What all tests of one collective share. */
struct collective_test {
    irist_rank *t;
    collective_kind kind;
    iris_channel ch[3]; /* one for each shape of team */
    collective_args args;
    char *inputs; /* within args.memory: what src of calls that are not in place points into */
    size_t room;  /* bytes for inputs, and for the calls' regions */
    collective_bytes poison;
    uint64_t turn; /* calls so far */
    uint64_t bits; /* of all results of the world, where all members get the same */
};

/* One launch: a row, a team, its inputs. */
struct collective_scene {
    const collective_row *row;
    int shape, member;
    iris_team team;
    std::unique_ptr<collective_oracle> oracle;
    std::vector<collective_place> places;
    collective_bytes before; /* the regions before the calls, and then as they must become */
};

static inline size_t collective_rows(bool each, int size) { return each ? (size_t)size : 1; }

/* Chooses how to call, in steps that are the same on all ranks, and makes room for it behind what there is. */
static inline void collective_add(collective_test *x, collective_scene *s, size_t count, iris_reduce_op op,
                                  bool in_place)
{
    const size_t e = s->oracle->type.bytes, row = count * e;
    const uint64_t dice = irist_random(x->t->seed, 99, x->turn++);
    const size_t dst_bytes = row * collective_rows(x->kind.dst_rows, s->team.size);
    const size_t src_bytes = row * collective_rows(x->kind.src_rows, s->team.size);
    const size_t own = s->member > 0 ? (size_t)s->member * row : 0;
    collective_place p;
    std::memset(&p, 0, sizeof p);
    const bool aligned = dice % 2 != 0;
    p.in_place = in_place;
    p.shift = aligned ? 16 * (dice / 2 % 4) : dice / 2 % COLLECTIVE_SHIFTS;
    p.bytes = in_place && src_bytes > dst_bytes ? src_bytes : dst_bytes;
    p.at = (s->before.size() + 15) / 16 * 16 + COLLECTIVE_GUARD + (aligned ? 0 : dice / 128 % 4 * e);
    p.call.count = count;
    p.call.op = op;
    p.call.root = s->team.start + (int)(dice / 512 % (uint64_t)s->team.size) * s->team.stride;
    p.call.dst = p.at + (in_place && x->kind.src_rows ? own : 0);
    p.call.src = in_place ? p.at + (x->kind.dst_rows ? own : 0) : (size_t)(x->inputs - x->args.memory) + p.shift * e;
    const size_t from = s->before.size(), to = p.at + p.bytes + COLLECTIVE_GUARD;
    s->before.insert(s->before.end(), x->poison.begin() + (ptrdiff_t)from, x->poison.begin() + (ptrdiff_t)to);
    if (in_place && s->member >= 0)
        collective_repeat(&s->before[p.call.src], s->oracle->in[(size_t)s->member], p.shift, src_bytes / e);
    s->places.push_back(p);
}

/* all_reduce by a ring: share k of each turn of each slice begins behind k. The library says how shares are cut. */
static inline void collective_expect_ring(collective_scene *s, const iris_channel *ch, const collective_place &p,
                                          unsigned char *to)
{
    const uint32_t size = (uint32_t)s->team.size;
    const size_t e = s->oracle->type.bytes, row = ch->half / (2 * size - 1) / 16 * 16;
    const size_t most = row / e * size;
    for (uint32_t slice = 0; slice < ch->slices; slice++) {
        const irisi_share own = irisi_share_of(irisi_slice_each(ch, 0, p.call.count, e), slice, p.call.count);
        for (size_t done = 0; done < own.count; done += most) {
            const size_t now = own.count - done < most ? own.count - done : most;
            for (uint32_t k = 0; k < size; k++) {
                const irisi_share part = irisi_even_share(now, k, size, e);
                const size_t first = own.first + done + part.first;
                collective_repeat(to + first * e, s->oracle->combined(p.call.op, true, (int)((k + 1) % size)),
                                  p.shift + first, part.count);
            }
        }
    }
}

/* The oracle: what the member's dst holds afterwards. */
static inline void collective_expect(collective_test *x, collective_scene *s, const collective_place &p,
                                     unsigned char *dst)
{
    const bool ring = x->kind.reduces && s->row->order == COLLECTIVE_BY_RING;
    const size_t e = s->oracle->type.bytes, count = p.call.count;
    const int root = (p.call.root - s->team.start) / s->team.stride;
    const size_t first = p.shift + (x->kind.src_rows ? (size_t)s->member * count : 0);
    if (s->member < 0 || (x->kind.to_root && s->member != root))
        return;
    if (ring && !x->kind.src_rows) {
        collective_expect_ring(s, &x->ch[s->shape], p, dst);
        return;
    }
    for (int r = 0; r < (x->kind.dst_rows ? s->team.size : 1); r++) {
        const int begin = ring ? (s->member + 1) % s->team.size : 0; /* a row that travels to its owner */
        const collective_bytes &table = x->kind.reduces ? s->oracle->combined(p.call.op, ring, begin)
                                                        : s->oracle->in[(size_t)(x->kind.dst_rows ? r : root)];
        collective_repeat(dst + (size_t)r * count * e, table, first, count);
    }
}

/* Whether two elements are the same; the payload of a NaN that was computed in f32 or f64 is the platform's. */
static inline bool collective_same(const collective_type &type, const unsigned char *a, const unsigned char *b)
{
    if (std::memcmp(a, b, type.bytes) == 0)
        return true;
    return type.number == COLLECTIVE_FLOAT && type.bytes == type.computed && type.widen(a) != type.widen(a) &&
           type.widen(b) != type.widen(b);
}

/* Finds what differs and says where. */
static inline void collective_differs(collective_test *x, collective_scene *s, const collective_bytes &want,
                                      const collective_bytes &got)
{
    static const char *const ops[] = {"sum", "prod", "min", "max", "avg", "and", "or", "xor"};
    const collective_type &type = s->oracle->type;
    size_t checked = 0; /* all before is as it should be */
    for (const collective_place &p : s->places) {
        char what[120];
        std::snprintf(what, sizeof what, "%s %s %s, %s of %zu, team %d, root %d, %s, shift %zu", s->row->name,
                      irisi_schedule_name(s->row->schedule), iris_dtype_name(s->row->dtype), ops[p.call.op],
                      (size_t)p.call.count, s->shape, (int)p.call.root, p.in_place ? "in place" : "apart", p.shift);
        const size_t end = p.at + p.bytes + COLLECTIVE_GUARD;
        for (; checked < end; checked++) {
            const bool inside = checked >= p.at && checked + type.bytes <= p.at + p.bytes;
            if (want[checked] == got[checked])
                continue;
            const size_t i = inside ? (checked - p.at) / type.bytes : 0, at = p.at + i * type.bytes;
            if (inside && collective_same(type, &want[at], &got[at])) {
                checked = at + type.bytes - 1;
                continue;
            }
            irist_check(x->t, false, "%s: byte %zu of element %zu %s is %02x, not %02x", what, checked - p.at, i,
                        inside ? "of what it may write" : "outside of what it may write", got[checked], want[checked]);
            return;
        }
    }
}

/* Everything that the launch wrote. */
static inline void collective_compare(collective_test *x, collective_scene *s)
{
    const collective_bytes got = irist_download(x->t, x->args.memory, s->before.size());
    const bool alike = s->shape == 0 && !x->kind.to_root && !x->kind.src_rows;
    for (const collective_place &p : s->places) {
        collective_expect(x, s, p, &s->before[p.call.dst]);
        for (size_t i = 0; alike && i < p.bytes; i += 8) {
            uint64_t word = 0;
            std::memcpy(&word, &got[p.at + i], p.bytes - i < 8 ? p.bytes - i : 8);
            x->bits = (x->bits ^ word) * 0x9E3779B97F4A7C15u;
        }
    }
    if (got != s->before)
        collective_differs(x, s, s->before, got);
}

static inline void collective_launch(collective_test *x, collective_scene *s)
{
    iris_world *w = x->t->world;
    const uint64_t dice = irist_random(x->t->seed, 98, x->turn);
    if (dice % 8 == 0)
        irist_delay(x->t, x->turn);
    if (s->row->launcher) {
        for (size_t i = 0; i < s->places.size() && s->member >= 0; i++) {
            const collective_call &call = s->places[i].call;
            iris_collective what;
            std::memset(&what, 0, sizeof what);
            what.dst = x->args.memory + call.dst, what.src = x->args.memory + call.src, what.count = call.count;
            what.dtype = s->row->dtype, what.op = call.op, what.schedule = s->row->schedule;
            what.root = call.root, what.team = s->team, what.workgroups = (uint32_t)(i % 3);
            irist_ok(x->t, s->row->launcher(w, &x->ch[s->shape], &what, nullptr));
        }
        irist_ok(x->t, iris_synchronize(w));
        return;
    }
    std::vector<collective_call> calls;
    for (const collective_place &p : s->places)
        calls.push_back(p.call);
    irist_ok(x->t, iris_memcpy(w, (void *)x->args.calls, calls.data(), calls.size() * sizeof calls[0]));
    x->args.ch = x->ch[s->shape];
    x->args.team = s->team;
    x->args.n_calls = (uint32_t)calls.size();
    const uint32_t workgroups = 1 + (uint32_t)(dice / 8 % 2) * 2 + (uint32_t)x->t->rank % 2; /* ranks may differ */
    const uint32_t lanes = dice / 16 % 4 == 0 ? 128 : 64;
    irist_run_kernel(x->t, s->row->kernel, s->row->name, &x->args, sizeof x->args, iris_cooperative(workgroups, lanes));
}

/* Runs what has been added, and begins anew. */
static inline void collective_flush(collective_test *x, collective_scene *s)
{
    if (s->places.empty() || !irist_check(x->t, s->before.size() <= x->room, "a test's regions are too small"))
        return;
    irist_upload(x->t, x->args.memory, s->before);
    collective_launch(x, s);
    collective_compare(x, s);
    s->places.clear();
    s->before.clear();
}

/* One row by one team: every operation, size and place, or `percent` of them, but at least one. */
static inline void collective_try_row(collective_test *x, collective_scene *s, uint32_t percent)
{
    static const size_t counts[] = {1, 0, 7, 2, 255, 4097};
    const int step = x->kind.dst_rows && x->kind.src_rows ? 2 : 1; /* places: where both have rows never in place */
    const uint64_t dice = irist_random(x->t->seed, 97, x->turn++);
    uint64_t candidates = 0, k = 0;
    for (int op = 0; op < IRIS_REDUCE_OPS; op++)
        candidates += s->row->ops >> op & 1 ? (uint64_t)(12 / step) : 0;
    for (int op = 0; op < IRIS_REDUCE_OPS; op++) {
        for (int i = 0; i < 12 && s->row->ops >> op & 1; i += step, k++) {
            if (percent == 100 || irist_pick(dice, 96, k, 100) < percent || k == dice % candidates)
                collective_add(x, s, counts[i / 2], (iris_reduce_op)op, i % 2 != 0);
        }
    }
    irist_check(x->t, !s->places.empty(), "%s: no call of this row was chosen", s->row->name);
    collective_flush(x, s);
}

/* The large message: one operation of a row, by one of the teams, mostly the world, and in one of the places. */
static inline void collective_try_large(collective_test *x, collective_scene *s, uint64_t number)
{
    const uint64_t dice = irist_random(x->t->seed, 95, number);
    const int other = 1 + (int)(dice % 2), ranks = x->t->ranks;
    const int shape = dice / 2 % 8 == 0 && collective_team(other, ranks).size > 0 ? other : 0;
    int op = (int)(dice / 16 % IRIS_REDUCE_OPS);
    while (!(s->row->ops >> op & 1))
        op = (op + 1) % IRIS_REDUCE_OPS;
    if (shape != s->shape || (ranks > 4 && dice / 256 % 4 != 0))
        return;
    collective_add(x, s, COLLECTIVE_LARGE / s->oracle->type.bytes + 3, (iris_reduce_op)op,
                   !(x->kind.dst_rows && x->kind.src_rows) && dice / 128 % 2 != 0);
    collective_flush(x, s);
}

/* Memory for the largest call, a channel for each team, and everybody's inputs' place. */
static inline void collective_create(irist_rank *t, collective_test *x, collective_kind kind)
{
    const size_t rows = collective_rows(kind.dst_rows || kind.src_rows, t->ranks);
    const size_t large = rows * (COLLECTIVE_LARGE + 64) + 4096, small = (kind.reduces ? 8 : 1) * (rows + 1) * 40000;
    x->t = t, x->kind = kind, x->turn = 0, x->bits = 0;
    x->room = large > small ? large : small;
    std::memset(&x->args, 0, sizeof x->args);
    x->args.ctx = iris_device_ctx(t->world);
    x->args.memory = (char *)iris_malloc(t->world, x->room + large);
    x->inputs = x->args.memory + x->room;
    x->args.calls = (const collective_call *)iris_malloc(t->world, COLLECTIVE_MOST * sizeof(collective_call));
    for (int shape = 0; shape < 3; shape++) { /* the world's takes large messages; those of teams make many turns */
        irist_ok(t, iris_collective_channel(t->world, &x->ch[shape], shape == 0 ? 0 : 2048));
        x->ch[shape].least = shape == 0 ? 4096 : 256; /* on the host too several slices have something to do */
    }
    x->poison = irist_poisoned(x->room);
    irist_check(t, x->args.memory && x->args.calls, "%s", iris_error_string(t->world));
    irist_meet(t);
}

/* Everybody's elements of a type, on this rank where calls that are not in place find them. */
static inline void collective_begin(collective_test *x, collective_scene *s, bool exact)
{
    const iris_dtype dtype = s->row->dtype;
    const size_t e = iris_dtype_bytes(dtype), rows = collective_rows(x->kind.src_rows, s->team.size);
    const size_t most = x->t->full ? COLLECTIVE_LARGE / e + 3 : 4097;
    if (s->shape > 0)
        irist_meet(x->t); /* a rank outside the team would run ahead, and then wait for too long */
    s->oracle.reset(new collective_oracle(dtype, exact, x->t->seed * 64 + (uint64_t)dtype, s->team));
    if (s->member < 0)
        return;
    collective_bytes in((rows * most + COLLECTIVE_SHIFTS) * e);
    collective_repeat(in.data(), s->oracle->in[(size_t)s->member], 0, in.size() / e);
    irist_ok(x->t, iris_memcpy(x->t->world, x->inputs, in.data(), in.size()));
}

/** Every row by every team; rows of a type stand behind each other. */
static inline void collective_try(irist_rank *t, collective_kind kind, const std::vector<collective_row> &rows)
{
    const uint32_t percent = irist_laps(15, t->ranks > 4 ? 20 : 100); /* where eight ranks share two cores, a choice */
    collective_test x;
    collective_scene s;
    collective_create(t, &x, kind);
    for (s.shape = 0; s.shape < 3; s.shape++) {
        s.team = collective_team(s.shape, t->ranks);
        s.member = collective_member(s.team, t->rank);
        for (size_t r = 0; r < rows.size() && s.team.size > 0; r++) {
            const bool exact = rows[r].order == COLLECTIVE_ANY;
            s.row = &rows[r];
            if (r == 0 || rows[r].dtype != rows[r - 1].dtype || exact != (rows[r - 1].order == COLLECTIVE_ANY))
                collective_begin(&x, &s, exact);
            collective_try_row(&x, &s, percent);
            if (t->full && (rows[r].kernel || rows[r].dtype == IRIS_I8)) /* launchers of all types share a kernel */
                collective_try_large(&x, &s, r);
        }
    }
    std::vector<uint64_t> bits((size_t)t->ranks);
    irist_ok(t, iris_allgather(t->world, &x.bits, bits.data(), sizeof x.bits));
    for (uint64_t theirs : bits)
        irist_check(t, theirs == x.bits, "ranks have different results");
    irist_meet(t);
    for (int i = 2; i >= 0; i--)
        irist_ok(t, iris_channel_destroy(t->world, &x.ch[i]));
    irist_ok(t, iris_free(t->world, (void *)x.args.calls));
    irist_ok(t, iris_free(t->world, x.args.memory));
}

#endif
