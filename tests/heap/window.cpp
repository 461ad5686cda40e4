/* SPDX-License-Identifier: MIT */
/*
 * window.cpp: memory that the library has not allocated, of another length and at another place on each rank, is
 * reached by every rank as it is: by puts, gets, copies, boxes, stores, loads and atomics with the window's context, by
 * copies on a stream, and by the host's questions. The oracle is every rank's memory as plain bytes. Then what is
 * refused, that nothing stays mapped, and with -DIRIS_CHECKED=1 what kernels must not do with a window.
 */
#include "harness.h"
#include "heap/lender.h"

#include <algorithm>
#include <cstring>
#include <string>

#define IRIS_INSTANTIATE_ON_STREAM
#include <iris/collective/collective.h>
#include <iris/collective/launch.h>
#include <iris/gen/atomic.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>
#include <iris/gen/rma_2d.h>
#include <iris/gen/wait.h>
#include <iris/on_stream.h>
#include <iris/window.h>

namespace {

typedef std::vector<unsigned char> bytes;

enum { MOST = 9000, GUARD = 96, LANES = 128 };

/* Whether ranks are threads of one process, and whether they are processes of the host platform. */
bool threads()
{
    const char *spawn = std::getenv("IRIS_SPAWN");
    return spawn && std::strcmp(spawn, "thread") == 0;
}
bool on_host(const irist_rank *t) { return std::strcmp(iris_arch_name(t->world), "host") == 0; }
bool host_processes(const irist_rank *t) { return on_host(t) && !threads() && t->ranks > 1; }

enum op { PUT, STORE, PUT_2D, COPY, GET, LOAD, GET_2D, ADD };

/* What a workgroup does: offsets are in windows; of a put's source and a get's destination, in own memory. */
struct job {
    int32_t op, to, from, pad;
    uint64_t dst, src, n, rows, pitch;
};

struct args {
    iris_ctx ctx;
    iris_window win;
    unsigned char *source, *sink; /* own memory */
    const job *jobs;              /* own memory */
    int32_t *numbers;             /* own memory: of each rank, from the window's context to the heap's, and back */
    uint64_t n;
};

IRIS_KERNEL(window_kernel, args, a, LANES)
{
    const iris_ctx *c = &a->win.ctx;
    unsigned char *own = (unsigned char *)(uintptr_t)c->base;
    for (uint64_t i = 0; i < a->n; i++) {
        const job j = a->jobs[i];
        const int one = iris_wg_lane() == 0;
        uint16_t *own_16 = (uint16_t *)(void *)own, *sink_16 = (uint16_t *)(void *)a->sink;
        if (j.op == PUT)
            iris_put_u8_wg(c, own + j.dst, a->source + j.src, j.n, j.to);
        else if (j.op == COPY)
            iris_copy_u8_wg(c, own + j.dst, own + j.src, j.n, j.to, j.from);
        else if (j.op == GET)
            iris_get_u8_wg(c, a->sink + j.dst, own + j.src, j.n, j.from);
        else if (j.op == PUT_2D)
            iris_put_2d_u16_wg(c, own_16 + j.dst / 2, (const uint16_t *)(const void *)a->source + j.src / 2, j.rows,
                               j.n, j.pitch, j.n, j.to);
        else if (j.op == GET_2D)
            iris_get_2d_u16_wg(c, sink_16 + j.dst / 2, own_16 + j.src / 2, j.rows, j.n, j.n, j.pitch, j.from);
        else if (j.op == STORE && one)
            iris_store_u32(c, (uint32_t *)(void *)(own + j.dst), (uint32_t)j.n, j.to);
        else if (j.op == LOAD && one)
            *(uint32_t *)(void *)(a->sink + j.dst) = iris_load_u32(c, (uint32_t *)(void *)(own + j.src), j.from);
        else if (j.op == ADD && one)
            iris_atomic_add_u64(c, (uint64_t *)(void *)(own + j.dst), j.n, j.to, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_quiet_wg(&a->ctx);
    }
    for (int r = (int)iris_wg_lane(); r < c->world; r += (int)iris_wg_lanes()) {
        a->numbers[r] = iris_team_translate(c, r, &a->ctx);
        a->numbers[c->world + r] = iris_team_translate(&a->ctx, r, c);
    }
}

/* ---- the oracle ---- */

/* One turn's windows as every rank knows them: where they lie in which memory, and what that holds. */
struct model {
    struct part {
        size_t lead, n; /* the window's first byte, its length */
        bytes all;      /* the allocation */
    };
    std::vector<part> parts;
    uint64_t seed, turn;

    model(const irist_rank *t, uint64_t k) : parts((size_t)t->ranks), seed(t->seed), turn(k)
    {
        for (size_t r = 0; r < parts.size(); r++) {
            part &p = parts[r];
            p.lead = 8 * irist_pick(seed, 50 + turn, 4 * r, 600);
            p.n = irist_pick(seed, 50 + turn, 4 * r + 1, irist_pick(seed, 50 + turn, 4 * r + 2, 3) ? MOST : 40);
            if (irist_pick(seed, 50 + turn, 4 * r + 3, 5) == 0)
                p.n = 0;
            p.all.resize(p.lead + p.n + GUARD);
            for (size_t i = 0; i < p.all.size(); i++)
                p.all[i] = (unsigned char)(irist_poison(i) + 31 * r + 7 * turn);
        }
    }
    uint32_t pick(uint64_t stream, uint64_t index, uint64_t n) const
    {
        return irist_pick(seed, 1000 + 100 * turn + stream, index, (uint32_t)n);
    }
    unsigned char *window(int r) { return parts[(size_t)r].all.data() + parts[(size_t)r].lead; }
    size_t length(int r) const { return parts[(size_t)r].n; }
};

/* The part of a window that one rank alone writes in a turn: from `first`, a multiple of 8, `n` bytes. */
struct stripe {
    size_t first, n;
    stripe(const model &m, int window, int rank)
    {
        const size_t all = m.length(window), ranks = m.parts.size();
        first = all * (size_t)rank / ranks / 8 * 8;
        n = ((size_t)rank + 1 == ranks ? all : all * ((size_t)rank + 1) / ranks / 8 * 8) - first;
    }
};

bytes source_of(int rank)
{
    bytes s(MOST);
    for (size_t i = 0; i < s.size(); i++)
        s[i] = (unsigned char)(irist_random(9, (uint64_t)rank, i) >> 17);
    return s;
}

/* Some of what fits the stripe, at any alignment that the operation allows. */
std::vector<job> writes(const model &m, int rank)
{
    std::vector<job> jobs;
    for (int to = 0; to < (int)m.parts.size(); to++) {
        const stripe s(m, to, rank);
        const uint64_t k = (uint64_t)(rank * 64 + to);
        if (s.n == 0)
            continue;
        const size_t at = m.pick(1, k, s.n), n = m.pick(2, k, s.n - at + 1);
        jobs.push_back({PUT, to, 0, 0, s.first + at, m.pick(3, k, MOST - n), n, 0, 0});
        if (s.n >= 4)
            jobs.push_back({STORE, to, 0, 0, s.first + m.pick(4, k, s.n / 4) * 4, 0, m.pick(5, k, 1u << 31), 0, 0});
        if (s.n >= 64) {
            const uint64_t columns = 1 + m.pick(6, k, 7), pitch = columns + m.pick(7, k, 3);
            const uint64_t rows = 1 + m.pick(8, k, std::min<uint64_t>(s.n / 2 / pitch, 40));
            jobs.push_back({PUT_2D, to, 0, 0, s.first, 2 * m.pick(9, k, 90), columns, rows, pitch});
        }
    }
    return jobs;
}

/* From one window into the one before it, in the own stripe of both: nobody reads what was just written. */
std::vector<job> copies(const model &m, int rank)
{
    std::vector<job> jobs;
    for (int to = 0; to + 1 < (int)m.parts.size(); to++) {
        const stripe dst(m, to, rank), src(m, to + 1, rank);
        const uint64_t k = (uint64_t)(rank * 64 + to), most = std::min(dst.n, src.n);
        const uint64_t n = m.pick(10, k, most + 1);
        if (most > 0)
            jobs.push_back({COPY, to, to + 1, 0, dst.first + m.pick(11, k, dst.n - n + 1),
                            src.first + m.pick(12, k, src.n - n + 1), n, 0, 0});
    }
    return jobs;
}

/* Anything from anywhere, one behind the other in own memory. */
std::vector<job> reads(const model &m, int rank)
{
    std::vector<job> jobs;
    uint64_t at = 0;
    for (int from = 0; from < (int)m.parts.size(); from++) {
        const uint64_t all = m.length(from), k = (uint64_t)(rank * 64 + from);
        if (all == 0)
            continue;
        const uint64_t first = m.pick(13, k, all), n = m.pick(14, k, std::min<uint64_t>(all - first + 1, MOST / 16));
        jobs.push_back({GET, 0, from, 0, at, first, n, 0, 0});
        at += (n + 7) / 8 * 8;
        if (all >= 4) {
            jobs.push_back({LOAD, 0, from, 0, at, m.pick(15, k, all / 4) * 4, 4, 0, 0});
            at += 8;
        }
        if (all >= 64) {
            jobs.push_back({GET_2D, 0, from, 0, at, 2 * m.pick(16, k, 8), 3, 5, 4});
            at += 32;
        }
    }
    return jobs;
}

/* A counter at the front of each window. */
std::vector<job> additions(const model &m, int rank)
{
    std::vector<job> jobs;
    for (int to = 0; to < (int)m.parts.size(); to++)
        if (m.length(to) >= 8)
            jobs.push_back({ADD, to, 0, 0, 0, 0, m.pick(17, (uint64_t)(rank * 64 + to), 1u << 30), 0, 0});
    return jobs;
}

/* The same on plain bytes. */
void apply(model &m, const std::vector<job> &jobs, const bytes &source, bytes &sink)
{
    for (const job &j : jobs) {
        const uint32_t word = (uint32_t)j.n;
        uint64_t sum;
        unsigned char *const dst = j.op == GET || j.op == GET_2D || j.op == LOAD ? nullptr : m.window(j.to) + j.dst;
        switch (j.op) {
        case PUT: std::memcpy(dst, source.data() + j.src, j.n); break;
        case STORE: std::memcpy(dst, &word, 4); break;
        case COPY: std::memcpy(dst, m.window(j.from) + j.src, j.n); break;
        case GET:
        case LOAD: std::memcpy(sink.data() + j.dst, m.window(j.from) + j.src, j.n); break;
        case PUT_2D:
        case GET_2D:
            for (uint64_t i = 0; i < 2 * j.n * j.rows; i++) {
                const uint64_t apart = i / (2 * j.n) * 2 * j.pitch + i % (2 * j.n);
                if (j.op == PUT_2D)
                    dst[apart] = source[j.src + i];
                else
                    sink[j.dst + i] = m.window(j.from)[j.src + apart];
            }
            break;
        default:
            std::memcpy(&sum, dst, 8);
            sum += j.n;
            std::memcpy(dst, &sum, 8);
        }
    }
}

/* ---- windows that work ---- */

struct fixture {
    model m;
    others_memory memory;
    args a;
    bytes source;
    job *jobs;

    fixture(irist_rank *t, uint64_t turn, iris_mem_kind kind)
        : m(t, turn), memory(t->world, m.parts[(size_t)t->rank].all.size(), (uint32_t)(turn + (uint64_t)t->rank)),
          source(source_of(t->rank))
    {
        const model::part &own = m.parts[(size_t)t->rank];
        std::memset(static_cast<void *>(&a), 0, sizeof a);
        a.ctx = iris_device_ctx(t->world);
        a.source = (unsigned char *)iris_malloc(t->world, MOST);
        a.sink = (unsigned char *)iris_malloc(t->world, MOST);
        a.jobs = jobs = (job *)iris_malloc(t->world, 1024 * sizeof(job));
        a.numbers = (int32_t *)iris_malloc(t->world, 2 * sizeof(int32_t) * (size_t)t->ranks);
        irist_check(t, memory.base && a.jobs && a.numbers, "no memory: %s", iris_error_string(t->world));
        irist_upload(t, a.source, source);
        irist_upload(t, memory.base, own.all);
        void *p = own.n ? memory.base + own.lead : nullptr;
        irist_ok(t, kind == IRIS_MEM_DATA ? iris_register(t->world, p, own.n, &a.win)
                                          : iris_register_kind(t->world, p, own.n, kind, &a.win));
    }
    /* What each rank has of `list` to do: here on the device, everywhere in the model. */
    template <class List> void run(irist_rank *t, List list, const char *what)
    {
        bytes sink(MOST, 0xEE), others(MOST);
        irist_upload(t, a.sink, sink);
        for (int r = 0; r < t->ranks; r++) {
            const std::vector<job> some = list(m, r);
            if (r == t->rank) {
                a.n = some.size();
                irist_ok(t, iris_memcpy(t->world, jobs, some.data(), some.size() * sizeof(job)));
            }
        }
        irist_meet(t); /* everyone's memory is filled */
        irist_run(t, window_kernel, a, iris_grid(1, LANES));
        irist_meet(t);
        for (int r = 0; r < t->ranks; r++)
            apply(m, list(m, r), r == t->rank ? source : source_of(r), r == t->rank ? sink : others);
        expect(t, what);
        irist_check(t, irist_download(t, a.sink, MOST) == sink, "turn %d, %s: read something else", (int)m.turn, what);
    }
    /* The own allocation, the window and what lies around it. */
    void expect(irist_rank *t, const char *what)
    {
        const bytes &want = m.parts[(size_t)t->rank].all, got = irist_download(t, memory.base, want.size());
        const auto at = std::mismatch(want.begin(), want.end(), got.begin()).first - want.begin();
        irist_check(t, got == want, "turn %d, %s: byte %d of %d is wrong; the window is %d from %d on", (int)m.turn,
                    what, (int)at, (int)want.size(), (int)m.length(t->rank), (int)m.parts[(size_t)t->rank].lead);
        irist_meet(t); /* before anyone goes on */
    }
    void free(irist_rank *t)
    {
        irist_ok(t, iris_unregister(t->world, &a.win));
        irist_check(t, a.win.ctx.window == 0, "a window that has ended is not zeroed");
        irist_ok(t, iris_free(t->world, a.numbers));
        irist_ok(t, iris_free(t->world, jobs));
        irist_ok(t, iris_free(t->world, a.sink));
        irist_ok(t, iris_free(t->world, a.source));
    }
};

/* What the host says of a window, and where its addresses lead. */
void questions(irist_rank *t, fixture &f)
{
    const iris_window *win = &f.a.win;
    const char *own = (const char *)(uintptr_t)win->ctx.base;
    for (int r = -1; r <= t->ranks; r++) {
        const bool there = r >= 0 && r < t->ranks;
        const size_t n = there ? f.m.length(r) : 0;
        const iris_reach reach = iris_window_reach(t->world, win, r);
        irist_check(t, iris_window_bytes(t->world, win, r) == n, "rank %d has %zu bytes", r, n);
        irist_check(t, (reach == IRIS_REACH_NONE) == (n == 0), "rank %d, %zu bytes: reached by %d", r, n, (int)reach);
        if (n && on_host(t))
            irist_check(t, reach == (threads() || r == t->rank ? IRIS_REACH_PROCESS : IRIS_REACH_DEVICE),
                        "rank %d is reached by %d", r, (int)reach);
        irist_check(t, !iris_window_translate(t->world, win, own + n, r), "something is behind rank %d's part", r);
        if (n == 0)
            continue;
        const void *last = iris_window_translate(t->world, win, own + n - 1, r);
        unsigned char byte = 0;
        irist_ok(t, iris_memcpy(t->world, &byte, last, 1));
        irist_check(t, byte == f.m.window(r)[n - 1], "the last byte of rank %d's part is another", r);
    }
    irist_check(t, iris_window_reach(t->world, nullptr, 0) == IRIS_REACH_NONE, "null is a window");
}

/* To the right by a copy on a stream, or by a put with signal, which is a kernel for few bytes; and back. */
void on_stream(irist_rank *t, fixture &f)
{
    char *own = (char *)(uintptr_t)f.a.win.ctx.base;
    iris_signal *arrived = iris_signals(t->world, 1);
    uint32_t comes = 0; /* 1: the left one raises `arrived` */
    irist_check(t, arrived != nullptr, "%s", iris_error_string(t->world));
    irist_meet(t);
    for (int r = 0; r < t->ranks; r++) {
        const int right = (r + 1) % t->ranks;
        const size_t n = std::min(f.m.length(r), f.m.length(right)); /* of addresses that the own window has */
        if (r == t->rank && f.m.length(r) == 0) /* where it counts from is nobody's memory, and not the heap's */
            irist_check(t, iris_put_on_stream(t->world, own, f.a.source, 1, right, nullptr) == IRIS_ERR_ARGUMENT,
                        "a rank with nothing put something on a stream");
        if (n == 0)
            continue;
        const size_t at = f.m.pick(20, (uint64_t)r, n);
        const uint32_t signals = f.m.pick(21, (uint64_t)r, 2);
        std::memcpy(f.m.window(right) + at, source_of(r).data(), n - at);
        comes = right == t->rank ? signals : comes;
        if (r != t->rank)
            continue;
        if (signals)
            irist_ok(t, iris_put_signal_on_stream(t->world, own + at, f.a.source, n - at, arrived, 7, IRIS_SIGNAL_SET,
                                                  right, nullptr));
        else
            irist_ok(t, iris_put_on_stream(t->world, own + at, f.a.source, n - at, right, nullptr));
        irist_ok(t, iris_get_on_stream(t->world, f.a.sink, own + at, n - at, right, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        const bytes want(f.source.begin(), f.source.begin() + (long)(n - at));
        irist_check(t, irist_download(t, f.a.sink, n - at) == want, "a get on a stream brought something else");
        irist_check(t,
                    iris_put_on_stream(t->world, own + at, f.a.source, f.m.length(right) - at + 1, right, nullptr) ==
                        IRIS_ERR_ARGUMENT,
                    "a put behind rank %d's part was taken", right);
    }
    if (comes)
        irist_ok(t, iris_wait_until_on_stream(t->world, arrived, IRIS_CMP_EQ, 7, nullptr));
    irist_meet(t);
    f.expect(t, "copies on a stream");
    irist_ok(t, iris_free(t->world, arrived));
}

void works(irist_rank *t)
{
    const uint64_t turns = t->full ? 12 : 4;
    for (uint64_t k = 0; k < turns; k++) {
        const iris_mem_kind kind = k % 2 ? IRIS_MEM_SYNC : IRIS_MEM_DATA;
        fixture f(t, k, kind);
        f.run(t, writes, "writes");
        f.run(t, copies, "copies");
        f.run(t, reads, "reads");
        if (kind == IRIS_MEM_SYNC)
            f.run(t, additions, "atomics");
        int32_t numbers[128];
        irist_ok(t, iris_memcpy(t->world, numbers, f.a.numbers, 2 * sizeof(int32_t) * (size_t)t->ranks));
        for (int r = 0; r < 2 * t->ranks; r++)
            irist_check(t, numbers[r] == r % t->ranks, "a window numbers ranks anew: %d is %d", r, (int)numbers[r]);
        questions(t, f);
        on_stream(t, f);
        f.free(t);
    }
}

/* Several live at once, and end in another order than they were made in. */
void several(irist_rank *t)
{
    fixture first(t, 20, IRIS_MEM_SYNC), second(t, 21, IRIS_MEM_DATA), third(t, 22, IRIS_MEM_DATA);
    third.run(t, writes, "three at a time");
    first.run(t, additions, "three at a time");
    first.free(t);
    second.run(t, writes, "two at a time");
    third.free(t);
    second.run(t, reads, "the last of three");
    second.free(t);
}

/* ---- what is refused ---- */

/* `status` on this rank, and a sentence with `words`; the world goes on. */
void refused(irist_rank *t, iris_status status, iris_status want, const std::string &words)
{
    const std::string said = iris_error_string(t->world);
    irist_check(t, status == want && said.find(words) != std::string::npos, "%s, not %s with \"%s\": %s",
                iris_status_name(status), iris_status_name(want), words.c_str(), said.c_str());
}

void refusals(irist_rank *t)
{
    iris_world *w = t->world;
    const int last = t->ranks - 1, me = t->rank;
    const std::string by_last = "rank " + std::to_string(last) + ": ";
    others_memory memory(w, 8192, 0), other(w, 8192, 0);
    void *heap = iris_malloc(w, 64);
    iris_window a, b, none;
    std::memset(static_cast<void *>(&none), 0, sizeof none);
    refused(t, iris_register(w, memory.base, 64, nullptr), IRIS_ERR_ARGUMENT, "the window's address is null");
    refused(t, iris_register(w, nullptr, 64, &a), IRIS_ERR_ARGUMENT, "64 bytes at");
    refused(t, iris_register(w, memory.base, SIZE_MAX - 8, &a), IRIS_ERR_ARGUMENT, "are no memory");
    refused(t, iris_register(w, heap, 64, &a), IRIS_ERR_ARGUMENT, "are in the symmetric heap");
    refused(t, iris_register_kind(w, memory.base, 64, (iris_mem_kind)7, &a), IRIS_ERR_ARGUMENT, "7 is no memory kind");
    irist_check(t, iris_register(nullptr, memory.base, 64, &a) == IRIS_ERR_ARGUMENT, "a null world was taken");
    /* one rank refuses: every rank says which, and why */
    refused(t, iris_register(w, me == last ? heap : memory.base, 64, &a), IRIS_ERR_ARGUMENT,
            by_last + "iris_register: 64 bytes at");
    irist_check(t, a.ctx.window == 0, "a window that nobody made has a number");
    if (t->ranks > 1)
        refused(t, iris_register_kind(w, memory.base, 64, me == 0 ? IRIS_MEM_DATA : IRIS_MEM_SYNC, &a),
                IRIS_ERR_MISMATCH, "the kind is sync on rank 1 but data on rank 0");
    if (host_processes(t)) {
        std::vector<char> plain(8192);
        refused(t, iris_register(w, me == last ? plain.data() : memory.base, 64, &a), IRIS_ERR_UNSUPPORTED,
                by_last + "iris_register: 64 bytes at");
        refused(t, iris_register(w, me == last ? plain.data() : memory.base, 64, &a), IRIS_ERR_UNSUPPORTED,
                "cannot be given to ranks of other processes");
    }
    irist_ok(t, iris_register(w, memory.base + 1024, 1024, &a));
    irist_ok(t, iris_register(w, memory.base + 2048, 1024, &b)); /* side by side */
    refused(t, iris_register(w, memory.base + 1024, 1024, &none), IRIS_ERR_ARGUMENT, "are already window");
    refused(t, iris_register(w, memory.base + 1023, 2, &none), IRIS_ERR_ARGUMENT, "overlap window");
    refused(t, iris_register(w, memory.base, 8192, &none), IRIS_ERR_ARGUMENT, "end that with iris_unregister first");
    refused(t, iris_unregister(w, nullptr), IRIS_ERR_ARGUMENT, "is not from iris_register of this world");
    refused(t, iris_unregister(w, &none), IRIS_ERR_ARGUMENT, "is not from iris_register of this world");
    iris_window copy = me == last ? none : a;
    if (t->ranks > 1) {
        refused(t, iris_unregister(w, &copy), me == last ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH,
                me == last ? "has ended" : "rank " + std::to_string(last) + " refused its window");
        copy = me == last ? b : a;
        refused(t, iris_unregister(w, &copy), IRIS_ERR_MISMATCH, "it must be the same");
    }
    copy = a;
    irist_ok(t, iris_unregister(w, &a));
    refused(t, iris_unregister(w, &copy), IRIS_ERR_ARGUMENT, "or has ended");
    irist_check(t, iris_window_reach(w, &copy, me) == IRIS_REACH_NONE, "a window that has ended is reached");
    irist_check(t, iris_window_reach(w, &b, me) != IRIS_REACH_NONE, "another window has ended too");
    irist_ok(t, iris_unregister(w, &b));
    irist_ok(t, iris_free(w, heap));
    irist_meet(t);
}

/* On the host: lines of the list of mappings that name memory of the lender's. */
int mappings()
{
    char line[512];
    int n = 0;
    FILE *f = std::fopen("/proc/self/maps", "r");
    while (f && std::fgets(line, sizeof line, f))
        n += std::strstr(line, "memfd:lent") != nullptr;
    if (f)
        std::fclose(f);
    return n;
}

/* Nothing stays mapped, whether a window was made or refused. */
void leaves_nothing(irist_rank *t)
{
    const int before = mappings();
    {
        others_memory memory(t->world, 8192, 0);
        iris_window win;
        const int last = t->ranks - 1;
        const bool far = host_processes(t);
        irist_ok(t, iris_register(t->world, memory.base, 4096, &win));
        irist_check(t, !far || mappings() == before + t->ranks, "%d mappings more of %d ranks' memory",
                    mappings() - before, t->ranks);
        irist_ok(t, iris_unregister(t->world, &win));
        refused(t, iris_register(t->world, t->rank == last ? nullptr : memory.base, 4096, &win), IRIS_ERR_ARGUMENT,
                "4096 bytes at");
        irist_meet(t);
        irist_check(t, !far || mappings() == before + 1, "%d mappings more are left", mappings() - before);
    }
    irist_meet(t);
}

/* ---- what kernels must not do ---- */

#if IRISI_CHECKED

enum deed { BEHIND, ACROSS, BEFORE, NO_RANK, UNALIGNED, DATA_ATOMIC, RAISE, PUT_RAISE, MEET, WAIT, SLICE };

struct violation {
    const char *name;
    int deed;
    const char *words; /* the sentence has them */
};

const violation violations[] = {
    {"put behind a peer's part", BEHIND, "put of 1 x 4 bytes at offset 1024 of window "},
    {"get across the end of a peer's part", ACROSS, "is not inside that rank's 1024 bytes of the window"},
    {"load before a window", BEFORE, "load of 1 x 4 bytes at offset -64 of window "},
    {"store to a rank that is not there", NO_RANK, "names no rank of this world (0 to"},
    {"store at an odd place", UNALIGNED, "is not aligned to 4 bytes"},
    {"atomic on a peer's data", DATA_ATOMIC, "(iris_register_kind with IRIS_MEM_SYNC)"},
    {"signal with a window's context", RAISE, "a signal was given the context of window "},
    {"put with a signal, with a window's context", PUT_RAISE, "a signal was given the context of window "},
    {"barrier with a window's context", MEET, "was given the context of window "},
    {"wait with a window's context", WAIT, "a wait was given the context of window "},
    {"collective with a window's context", SLICE, "a collective was given the context of window "},
};

struct wrong_args {
    iris_ctx ctx;
    iris_window win;
    iris_channel ch;
    iris_signal *signal;
    uint32_t *own; /* own memory */
    int deed, peer;
};

IRIS_KERNEL(wrong_kernel, wrong_args, a, 64)
{
    const iris_ctx *c = &a->win.ctx;
    char *p = (char *)(uintptr_t)c->base;
    uint32_t *words = (uint32_t *)(void *)p;
    if (a->deed == SLICE) {
        iris_slice s = iris_slice_enter_wg(c, &a->ch, iris_team_world(c), 0);
        iris_slice_leave_wg(&s);
    }
    if (a->deed == MEET)
        iris_barrier_team_wg(c, iris_team_world(c), &a->ch);
    if (iris_wg_lane() != 0)
        return;
    switch (a->deed) {
    case BEHIND: iris_put_u32(c, words + 256, a->own, 1, a->peer); break;
    case ACROSS: iris_get_u32(c, a->own, words + 250, 8, a->peer); break;
    case BEFORE: *a->own = iris_load_u32(c, words - 16, a->peer); break;
    case NO_RANK: iris_store_u32(c, words, 1, c->world); break;
    case UNALIGNED: iris_store_u32(c, (uint32_t *)(void *)(p + 2), 1, a->peer); break;
    case DATA_ATOMIC:
        iris_atomic_add_u64(c, (uint64_t *)(void *)p, 1, a->peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        break;
    case RAISE: iris_signal_add(c, a->signal, 1, a->peer); break;
    case PUT_RAISE:
        iris_put_signal_u32(c, words, a->own, 1, a->signal, 1, IRIS_SIGNAL_ADD, a->peer);
        break;
    case WAIT: *a->own = (uint32_t)iris_wait_ge(c, a->signal, 1); break;
    default: break;
    }
}

/* The others wait in a kernel for what never comes: the refusal ends their wait too. */
IRIS_KERNEL(waiting_kernel, wrong_args, a, 64)
{
    iris_wait_ge_wg(&a->ctx, a->signal, 1);
}

void checked(irist_rank *t)
{
    const violation *v = (const violation *)t->arg;
    const int last = t->ranks - 1;
    if (v->deed == DATA_ATOMIC && (t->ranks == 1 || !IRISI_REMOTE_ATOMICS_NEED_SYNC))
        return;
    others_memory memory(t->world, 8192, (uint32_t)t->rank);
    wrong_args a;
    std::memset(static_cast<void *>(&a), 0, sizeof a);
    bytes before = irist_poisoned(8192);
    a.ctx = iris_device_ctx(t->world);
    a.signal = iris_signals(t->world, 1);
    a.own = (uint32_t *)iris_malloc(t->world, 256);
    a.deed = v->deed;
    a.peer = 0;
    irist_upload(t, memory.base, before);
    irist_ok(t, iris_collective_channel(t->world, &a.ch, 0));
    irist_ok(t, iris_register(t->world, memory.base + 64, t->rank == last ? 2048 : 1024, &a.win));
    if (t->ranks == 1) { /* the own part is as long as the peers' in the other worlds */
        irist_ok(t, iris_unregister(t->world, &a.win));
        irist_ok(t, iris_register(t->world, memory.base + 64, 1024, &a.win));
    }
    irist_meet(t);
    const iris_launch_config grid = iris_cooperative(1, 64);
    iris_status status = t->rank == last ? iris_launch(t->world, wrong_kernel, &a, sizeof a, &grid, nullptr)
                                         : iris_launch(t->world, waiting_kernel, &a, sizeof a, &grid, nullptr);
    if (status == IRIS_OK) /* else it was refused before this rank came to wait */
        status = iris_synchronize(t->world);
    const std::string said = iris_error_string(t->world);
    irist_check(t, status == IRIS_ERR_CHECK && said.find(v->words) != std::string::npos, "%s: %s, \"%s\": %s", v->name,
                iris_status_name(status), v->words, said.c_str());
    irist_ok(t, iris_reset(t->world));
    irist_check(t, irist_download(t, memory.base, 8192) == before, "%s: it was done all the same", v->name);
    irist_ok(t, iris_unregister(t->world, &a.win)); /* which outlives the reset */
    irist_ok(t, iris_channel_destroy(t->world, &a.ch));
    irist_ok(t, iris_free(t->world, a.own));
    irist_ok(t, iris_free(t->world, a.signal));
    irist_meet(t);
}

#endif

/* A window that nobody ends: iris_finalize does. */
void left_over(irist_rank *t)
{
    static struct {
        others_memory *memory;
        iris_window win;
    } kept[64];
    if (kept[t->rank].memory) /* of another tier, which ran before */
        irist_ok(t, iris_unregister(t->world, &kept[t->rank].win));
    delete kept[t->rank].memory;
    kept[t->rank].memory = new others_memory(t->world, 8192, 0);
    irist_ok(t, iris_register(t->world, kept[t->rank].memory->base, 4096, &kept[t->rank].win));
}

} // namespace

TEST_CASE("memory of others is remote for every rank as it is", "[heap]") { irist_spmd(works, nullptr); }

TEST_CASE("windows live side by side", "[heap]") { irist_spmd(several, nullptr); }

TEST_CASE("what is no window is refused on every rank", "[heap]") { irist_spmd(refusals, nullptr); }

TEST_CASE("a window that ends leaves nothing mapped", "[heap]") { irist_spmd(leaves_nothing, nullptr); }

#if IRISI_CHECKED
TEST_CASE("checked mode refuses what a window does not carry", "[heap]")
{
    for (const violation &v : violations) {
        SECTION(v.name) { irist_spmd(checked, &v); }
    }
}
#endif

TEST_CASE("windows that live end with their world", "[heap]") { irist_spmd(left_over, nullptr); }
