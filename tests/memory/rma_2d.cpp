/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/rma_2d.h>, <iris/gen/put_signal_2d.h> and <iris/bytes_2d.h>: boxes of every size of element by a
 * lane, a wave and a workgroup, narrow and wide, aligned and not, with rows apart, one behind the other, and the same
 * row again and again. What lies between rows must stay, or is written by others at the same time, and who waits for
 * the signal of a box must see all of it.
 */
#include <cstring>
#include <string>
#include <vector>

#include "harness.h"
#include "types.h"

#include <iris/gen/put_signal_2d.h>
#include <iris/gen/wait.h>

namespace {

enum { PUT, GET, COPY, SET, ADD, OPS };
enum { LANE, WAVE, WG, WHO };
enum { GUARD = 64 };

const char *const op_names[] = {"put_2d", "get_2d", "copy_2d", "put_signal_2d set", "put_signal_2d add"};
const char *const group_names[] = {"", "_wave", "_wg"};

/* A box: bytes of its areas at which it begins; the rest in elements. */
struct box {
    uint64_t dst, src, rows, n, dst_pitch, src_pitch;
};

struct box_args {
    iris_ctx ctx;
    const box *boxes; /* own memory */
    uint64_t n_boxes;
    char *dst, *src, *seen; /* symmetric areas; `seen` is what a receiver copied after its wait */
    iris_signal *signals;   /* one for each box */
    uint64_t epoch;
    uint32_t element; /* bytes of one */
    int dtype, op, group, to, from;
};

/* A type of each size: functions of types of one size differ by name alone; compile/every_function.c has them all. */
#if defined(IRIST_KERNELS_ELSEWHERE)
#define BOX_EACH(X) IRIST_EACH_SAMPLE(X)
#else
#define BOX_EACH(X)                                                                                                    \
    X(u8, U8, uint8_t, 8, UINT, u8)                                                                                    \
    X(bf16, BF16, iris_bf16, 16, FLOAT, f32)                                                                           \
    X(f32, F32, float, 32, FLOAT, f32)                                                                                 \
    X(f64, F64, double, 64, FLOAT, f64)
#endif

/* The functions of a type by who calls them. `G` is a constant: of each chain of ifs one line is left. */
#define BOX_CALL(function, ...)                                                                                        \
    if (G == LANE)                                                                                                     \
        function(__VA_ARGS__);                                                                                         \
    if (G == WAVE)                                                                                                     \
        function##_wave(__VA_ARGS__);                                                                                  \
    if (G == WG)                                                                                                       \
        function##_wg(__VA_ARGS__);
#define BOX_TYPE(d, D, ctype, bits, kind, acc)                                                                         \
    struct box_##d {                                                                                                   \
        template <int G> IRIS_DEVICE void move(const box_args *a, uint64_t k)                                          \
        {                                                                                                              \
            const box b = a->boxes[k];                                                                                 \
            ctype *dst = (ctype *)(void *)(a->dst + b.dst);                                                            \
            const ctype *src = (const ctype *)(const void *)(a->src + b.src);                                          \
            const iris_ctx *c = &a->ctx;                                                                               \
            if (a->op == PUT) {                                                                                        \
                BOX_CALL(iris_put_2d_##d, c, dst, src, b.rows, b.n, b.dst_pitch, b.src_pitch, a->to)                   \
            } else if (a->op == GET) {                                                                                 \
                BOX_CALL(iris_get_2d_##d, c, dst, src, b.rows, b.n, b.dst_pitch, b.src_pitch, a->from)                 \
            } else if (a->op == COPY) {                                                                                \
                BOX_CALL(iris_copy_2d_##d, c, dst, src, b.rows, b.n, b.dst_pitch, b.src_pitch, a->to, a->from)         \
            } else if (a->op == SET) {                                                                                 \
                BOX_CALL(iris_put_signal_2d_##d, c, dst, src, b.rows, b.n, b.dst_pitch, b.src_pitch, a->signals + k,   \
                         a->epoch, IRIS_SIGNAL_SET, a->to)                                                             \
            } else {                                                                                                   \
                BOX_CALL(iris_put_signal_2d_##d, c, dst, src, b.rows, b.n, b.dst_pitch, b.src_pitch, a->signals + k,   \
                         1, IRIS_SIGNAL_ADD, a->to)                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    };
BOX_EACH(BOX_TYPE)

/* The groups of the grid take the boxes in turn. */
template <typename V> IRIS_DEVICE void move_boxes(const box_args *a)
{
    if (a->group == LANE) {
        for (uint64_t k = iris_grid_lane(); k < a->n_boxes; k += iris_grid_lanes())
            V::template move<LANE>(a, k);
    } else if (a->group == WAVE) {
        const uint64_t waves = (uint64_t)iris_workgroups() * iris_waves();
        for (uint64_t k = (uint64_t)iris_workgroup() * iris_waves() + iris_wave(); k < a->n_boxes; k += waves)
            V::template move<WAVE>(a, k);
    } else {
        for (uint64_t k = iris_workgroup(); k < a->n_boxes; k += iris_workgroups())
            V::template move<WG>(a, k);
    }
}

#define BOX_CASE(d, D, ctype, bits, kind, acc)                                                                         \
    case IRIS_##D: move_boxes<box_##d>(a); break;

/* With signals, who receives a box copies it as soon as its signal is there. */
IRIS_KERNEL(box_kernel, box_args, a, 256)
{
    switch (a->dtype) {
        BOX_EACH(BOX_CASE)
    }
    for (uint64_t k = iris_workgroup(); k < a->n_boxes && a->op >= SET; k += iris_workgroups()) {
        iris_wait_ge_wg(&a->ctx, a->signals + k, a->epoch);
        const box b = a->boxes[k];
        const uint64_t row = b.n * a->element;
        for (uint64_t i = iris_wg_lane(); i < b.rows * row; i += iris_wg_lanes()) {
            const uint64_t at = b.dst + i / row * b.dst_pitch * a->element + i % row;
            a->seen[at] = a->dst[at];
        }
    }
}

uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

/* The areas of one type, and its table in device memory. */
struct box_areas {
    std::vector<box> boxes;
    uint64_t bytes, area; /* of an element, of an area */
    box_args args;
    std::vector<unsigned char> poison, source;

    /* A box behind those that are there; offsets and gaps in elements. */
    void add(uint64_t rows, uint64_t n, uint64_t dst_offset, uint64_t src_offset, uint64_t dst_pitch,
             uint64_t src_pitch)
    {
        const box b = {area + dst_offset * bytes, area + src_offset * bytes, rows, n, dst_pitch, src_pitch};
        const uint64_t most = dst_pitch > src_pitch ? dst_pitch : src_pitch;
        boxes.push_back(b);
        area = round_up(area + (rows * most + n + 64) * bytes + GUARD, 64);
    }

    /* Of each kind of alignment: all alike, one side's address or pitch off by one element, narrow and wide. */
    void choose(const irist_rank *t)
    {
        static const uint64_t rows[] = {1, 2, 3, 5, 16, 33, 100}, widths[] = {1, 2, 3, 4, 7, 8, 16, 17, 31, 64, 129};
        const uint64_t seed = t->seed + (uint64_t)args.dtype, vector = 16 / bytes;
        area = GUARD;
        add(0, 5, 0, 0, 8, 8), add(5, 0, 0, 0, 8, 8), add(0, 0, 0, 0, 0, 0);
        add(7, 3 * vector, 0, 0, 3 * vector, 3 * vector);  /* one behind the other */
        add(9, 4 * vector, 0, 0, 5 * vector, 0);           /* one row again and again */
        add(40, vector, 0, 0, 2 * vector, 3 * vector);     /* one chunk a row */
        add(3, 300 * vector, 0, 0, 300 * vector + vector, 301 * vector);
        add(6, 2 * vector + 1, 0, 0, 4 * vector, 4 * vector); /* chunks, and an element that is left */
        add(1, 1000, 1, 3, 0, 0);                             /* one row needs no pitch */
        for (uint64_t i = 0; i < (irist_slow() > 1 ? 6 : t->full ? 96 : 40); i++) {
            const uint64_t unit = irist_pick(seed, 1, i, 3) ? vector : 1, dice = irist_random(seed, 2, i);
            const uint64_t n = widths[irist_pick(seed, 3, i, 11)] * (dice % 4 == 0 ? vector : 1) + dice / 4 % 3;
            const uint64_t pitch = round_up(n, unit), gap = dice / 16;
            add(rows[irist_pick(seed, 4, i, 7)], n, gap % 3 * unit, gap / 4 % 3 * unit, pitch + gap / 16 % 4 * unit,
                gap / 64 % 8 == 0 ? gap / 512 % 3 * unit : pitch + gap / 512 % 4 * unit);
        }
        area = round_up(area, 256);
    }

    /* Collective: symmetric allocations. */
    explicit box_areas(irist_rank *t)
    {
        std::memset(static_cast<void *>(&args), 0, sizeof args);
        args.dtype = *(const int *)t->arg;
        bytes = iris_dtype_bytes((iris_dtype)args.dtype);
        choose(t);
        args.ctx = iris_device_ctx(t->world);
        args.element = (uint32_t)bytes;
        args.n_boxes = boxes.size();
        args.dst = (char *)iris_malloc(t->world, area);
        args.src = (char *)iris_malloc(t->world, area);
        args.seen = (char *)iris_malloc(t->world, area);
        args.signals = iris_signals(t->world, boxes.size());
        char *table = (char *)iris_malloc(t->world, boxes.size() * sizeof(box));
        args.boxes = (const box *)(const void *)table;
        if (!irist_check(t, args.dst && args.src && args.seen && args.signals && table, "%s",
                         iris_error_string(t->world)))
            return;
        irist_ok(t, iris_memcpy(t->world, table, boxes.data(), boxes.size() * sizeof(box)));
        poison = irist_poisoned(area);
        source = random_bytes(t, t->rank);
        irist_upload(t, args.src, source);
    }

    std::vector<unsigned char> random_bytes(const irist_rank *t, int rank) const
    {
        std::vector<unsigned char> v(area);
        for (uint64_t i = 0; i < area; i += 8) {
            const uint64_t word = irist_random(t->seed, 100 + (uint64_t)rank, i);
            std::memcpy(v.data() + i, &word, 8);
        }
        return v;
    }

    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_free(t->world, (void *)(uintptr_t)args.boxes));
        irist_ok(t, iris_free(t->world, args.signals));
        irist_ok(t, iris_free(t->world, args.seen));
        irist_ok(t, iris_free(t->world, args.src));
        irist_ok(t, iris_free(t->world, args.dst));
    }

    /* The destination area after rank `from`'s boxes have come. */
    std::vector<unsigned char> expected(const irist_rank *t, int from) const
    {
        std::vector<unsigned char> want = poison;
        const std::vector<unsigned char> sent = random_bytes(t, from);
        for (const box &b : boxes)
            for (uint64_t r = 0; r < b.rows; r++)
                std::memcpy(want.data() + b.dst + r * b.dst_pitch * bytes,
                            sent.data() + b.src + r * b.src_pitch * bytes, b.n * bytes);
        return want;
    }

    /* An area is as it should be; else the first byte that differs, in words. */
    void compare(irist_rank *t, const char *area_name, const std::vector<unsigned char> &got,
                 const std::vector<unsigned char> &want)
    {
        for (size_t i = got == want ? got.size() : 0; i < got.size(); i++) {
            if (got[i] == want[i])
                continue;
            const box *of = nullptr;
            for (const box &b : boxes)
                if (b.dst <= i)
                    of = &b;
            irist_check(t, false,
                        "%s%s of %s: byte %zu of %s is %d, not %d; the box before has %d rows of %d, pitches %d and "
                        "%d, from byte %d, to byte %d",
                        op_names[args.op], group_names[args.group], iris_dtype_name((iris_dtype)args.dtype), i,
                        area_name, got[i], want[i], of ? (int)of->rows : 0, of ? (int)of->n : 0,
                        of ? (int)of->dst_pitch : 0, of ? (int)of->src_pitch : 0, of ? (int)of->src : 0,
                        of ? (int)of->dst : 0);
            return;
        }
    }
};

/* Between every rank and itself, its neighbour and its last but one; copies are made by a third rank where there is. */
void move_by(irist_rank *t, box_areas *areas, int distance)
{
    box_args *args = &areas->args;
    const int n = t->ranks, puts = args->op != GET, reads = args->op == GET || args->op == COPY;
    const int writer = puts ? (t->rank + n - distance) % n : t->rank;
    const int read = args->op == COPY ? 1 : distance;
    args->to = puts ? (t->rank + distance) % n : t->rank;
    args->from = (t->rank + n - read) % n;
    args->epoch += args->op >= SET;
    irist_upload(t, args->dst, areas->poison);
    irist_upload(t, args->seen, areas->poison);
    irist_meet(t);
    irist_delay(t, args->epoch);
    const uint32_t lanes = args->group == WAVE ? 208 : 256; /* the last wave is short of lanes on every GPU */
    irist_run(t, box_kernel, *args, args->op >= SET ? iris_cooperative(3, lanes) : iris_grid(3, lanes));
    irist_meet(t);
    const std::vector<unsigned char> want = areas->expected(t, reads ? (writer + n - read) % n : writer);
    areas->compare(t, "dst", irist_download(t, args->dst, areas->area), want);
    if (args->op >= SET)
        areas->compare(t, "what was seen after the wait", irist_download(t, args->seen, areas->area), want);
    areas->compare(t, "src", irist_download(t, args->src, areas->area), areas->source);
}

void move_all(irist_rank *t)
{
    box_areas areas(t);
    box_args *args = &areas.args;
    for (args->op = 0; args->op < OPS && !t->failures; args->op++) {
        for (args->group = 0; args->group < WHO; args->group++)
            for (int distance = 0; distance < 3 && distance < t->ranks && !t->failures; distance++)
                if (t->full || distance == 1 || t->ranks == 1)
                    move_by(t, &areas, distance);
        irist_ok(t, iris_memset(t->world, args->signals, 0, args->n_boxes * sizeof(iris_signal)));
        args->epoch = 0; /* the adds of the next round start from 0 again */
        irist_meet(t);
    }
    areas.free(t);
}

/* ---- columns of one matrix by all ranks ------------------------------------------------------------------------- */

enum { BAND_ROWS = 37 };

struct band_args {
    iris_ctx ctx;
    uint8_t *matrix, *own; /* symmetric: BAND_ROWS rows, `pitch` apart; own: as many rows of n */
    iris_signal *arrived;
    uint64_t n, pitch;
};

/* Every rank writes its band of columns on every rank. Then all bands are put beside themselves, between their rows. */
IRIS_KERNEL(bands, band_args, a, 256)
{
    const iris_ctx *c = &a->ctx;
    const uint64_t all = (uint64_t)c->world * a->n;
    for (int to = 0; to < c->world; to++)
        iris_put_signal_2d_u8_wg(c, a->matrix + (uint64_t)c->rank * a->n, a->own, BAND_ROWS, a->n, a->pitch, a->n,
                                 a->arrived, 1, IRIS_SIGNAL_ADD, to);
    iris_wait_ge_wg(c, a->arrived, (uint64_t)c->world);
    iris_put_2d_u8_wg(c, a->matrix + all, a->matrix, BAND_ROWS, all, a->pitch, a->pitch, c->rank);
}

/* Element i of a rank's band. */
unsigned char of_band(int rank, uint64_t i) { return (unsigned char)((uint64_t)rank * 71 + i * 13 + i / 251); }

/* Bands of n columns, and `gap` columns at the end of each row that nobody writes. */
void one_matrix(irist_rank *t, uint64_t n, uint64_t gap)
{
    band_args a;
    std::memset(&a, 0, sizeof a);
    const uint64_t ranks = (uint64_t)t->ranks, all = ranks * n;
    a.ctx = iris_device_ctx(t->world);
    a.n = n, a.pitch = 2 * all + gap;
    a.matrix = (uint8_t *)iris_malloc(t->world, BAND_ROWS * a.pitch);
    a.own = (uint8_t *)iris_malloc(t->world, BAND_ROWS * n);
    a.arrived = iris_signals(t->world, 1);
    irist_check(t, a.matrix && a.own && a.arrived, "%s", iris_error_string(t->world));
    std::vector<unsigned char> own(BAND_ROWS * n), want = irist_poisoned(BAND_ROWS * a.pitch);
    irist_upload(t, a.matrix, want);
    for (uint64_t i = 0; i < own.size(); i++)
        own[i] = of_band(t->rank, i);
    irist_upload(t, a.own, own);
    irist_meet(t);
    irist_run(t, bands, a, iris_cooperative(1, 256));
    for (uint64_t i = 0; i < BAND_ROWS * 2 * all; i++) {
        const uint64_t row = i / (2 * all), column = i % (2 * all) % all;
        want[row * a.pitch + i % (2 * all)] = of_band((int)(column / n), row * n + column % n);
    }
    irist_check(t, irist_download(t, a.matrix, want.size()) == want, "bands of %d columns, %d between rows: wrong",
                (int)n, (int)gap);
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a.arrived));
    irist_ok(t, iris_free(t->world, a.own));
    irist_ok(t, iris_free(t->world, a.matrix));
}

void matrices(irist_rank *t)
{
    one_matrix(t, 5, 3);   /* single bytes */
    one_matrix(t, 16, 16); /* chunks */
    one_matrix(t, 51, 0);  /* both, of any alignment */
}

} // namespace

TEST_CASE("columns of one matrix are written by all ranks at the same time, and beside themselves", "[memory]")
{
    irist_spmd(matrices, nullptr);
}

TEST_CASE("boxes move exactly their rows, and are there when their signal is seen", "[memory]")
{
#define BOX_SECTION(d, D, ctype, bits, kind, acc)                                                                      \
    SECTION(#d)                                                                                                        \
    {                                                                                                                  \
        const int dtype = IRIS_##D;                                                                                    \
        irist_spmd(move_all, &dtype);                                                                                  \
    }
    BOX_EACH(BOX_SECTION)
}
