/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/tensor.h>, <iris/gen/tensor_create.h> and <iris/gen/tensor_access.h>: who has what, against an oracle
 * that deals indices out one by one; data in and out; elements, vectors and tiles by index, of random layouts with
 * gaps, empty shards, teams and copies.
 */
#include "tensor/cases.h"

#include <algorithm>

#include <iris/gemm/plan.h>
#include <iris/gen/tensor_access.h>
#include <iris/gen/tensor_create.h>
#include <iris/iris.h>

namespace {

enum { LOAD, STORE, VEC_LOAD, VEC_STORE, TILE_LOAD, TILE_STORE };
enum { LANE, WAVE, WG };

/* Access differs by the size of an element alone: one type of each. */
#if defined(IRIST_KERNELS_ELSEWHERE)
#define EACH_SIZE(X) IRIST_EACH_SAMPLE(X)
#else
#define EACH_SIZE(X)                                                                                                   \
    X(i8, I8, int8_t, 8, INT, i8)                                                                                      \
    X(bf16, BF16, iris_bf16, 16, FLOAT, f32)                                                                           \
    X(f32, F32, float, 32, FLOAT, f32)                                                                                 \
    X(u64, U64, uint64_t, 64, UINT, u64)
#endif

/* A tile: a box of the tensor, and where it lies in the buffer. */
struct tile {
    int64_t index[IRIS_TENSOR_DIMS];
    uint32_t rows, columns;
    uint64_t at, pitch; /* elements */
};

struct access_args {
    iris_ctx ctx;
    iris_tensor t;
    char *buffer;      /* own memory: all elements in row-major order, or the tiles */
    const tile *tiles; /* own memory */
    uint64_t n;        /* elements, or tiles */
    int op, group, dtype;
    int member, members; /* of stores: this rank's elements or tiles are those of its place in its copy */
};

IRIS_DEVICE void index_of(const iris_tensor *t, uint64_t i, int64_t *index)
{
    for (int d = t->dims - 1; d >= 0; d--) {
        index[d] = (int64_t)(i % t->dim[d].size);
        i /= t->dim[d].size;
    }
}

#define VOCABULARY(d, D, ctype, bits, kind, acc)                                                                       \
    struct vocabulary_##d {                                                                                            \
        typedef ctype type;                                                                                            \
        IRIS_DEVICE void one(const access_args *a, uint64_t i)                                                         \
        {                                                                                                              \
            ctype *at = (ctype *)(void *)a->buffer + i;                                                                \
            int64_t index[IRIS_TENSOR_DIMS];                                                                           \
            index_of(&a->t, i, index);                                                                                 \
            if (a->op >= VEC_LOAD && !iris_tensor_vec_fits(&a->t, index))                                              \
                return;                                                                                                \
            if (a->op == LOAD)                                                                                         \
                *at = iris_tensor_load_##d(&a->ctx, &a->t, index);                                                     \
            else if (a->op == STORE)                                                                                   \
                iris_tensor_store_##d(&a->ctx, &a->t, index, *at);                                                     \
            else if (a->op == VEC_LOAD) {                                                                              \
                const iris_vec_##d vec = iris_tensor_load_vec_##d(&a->ctx, &a->t, index);                              \
                for (int k = 0; k < 128 / bits; k++)                                                                   \
                    at[k] = vec.v[k];                                                                                  \
            } else {                                                                                                   \
                iris_vec_##d vec;                                                                                      \
                for (int k = 0; k < 128 / bits; k++)                                                                   \
                    vec.v[k] = at[k];                                                                                  \
                iris_tensor_store_vec_##d(&a->ctx, &a->t, index, vec);                                                 \
            }                                                                                                          \
        }                                                                                                              \
        IRIS_DEVICE void box(const access_args *a, const tile *b)                                                      \
        {                                                                                                              \
            ctype *p = (ctype *)(void *)a->buffer + b->at;                                                             \
            const iris_ctx *c = &a->ctx;                                                                               \
            const iris_tensor *t = &a->t;                                                                              \
            if (a->op == TILE_LOAD && a->group == LANE)                                                                \
                iris_tensor_tile_load_##d(c, t, b->index, b->rows, b->columns, p, b->pitch);                           \
            else if (a->op == TILE_LOAD && a->group == WAVE)                                                           \
                iris_tensor_tile_load_##d##_wave(c, t, b->index, b->rows, b->columns, p, b->pitch);                    \
            else if (a->op == TILE_LOAD)                                                                               \
                iris_tensor_tile_load_##d##_wg(c, t, b->index, b->rows, b->columns, p, b->pitch);                      \
            else if (a->group == LANE)                                                                                 \
                iris_tensor_tile_store_##d(c, t, b->index, b->rows, b->columns, p, b->pitch);                          \
            else if (a->group == WAVE)                                                                                 \
                iris_tensor_tile_store_##d##_wave(c, t, b->index, b->rows, b->columns, p, b->pitch);                   \
            else                                                                                                       \
                iris_tensor_tile_store_##d##_wg(c, t, b->index, b->rows, b->columns, p, b->pitch);                     \
        }                                                                                                              \
    };
EACH_SIZE(VOCABULARY)

/* Each lane, wave or workgroup of the grid takes tiles of its own. */
template <typename V> IRIS_DEVICE void tiles_of(const access_args *a)
{
    const uint64_t waves = iris_waves();
    const uint64_t wg = iris_workgroup(), wgs = iris_workgroups();
    const uint64_t first = a->group == WG ? wg : a->group == WAVE ? wg * waves + iris_wave() : iris_grid_lane();
    const uint64_t step = a->group == WG ? wgs : a->group == WAVE ? wgs * waves : iris_grid_lanes();
    for (uint64_t i = first; i < a->n; i += step)
        if (a->op == TILE_LOAD || i % (uint64_t)a->members == (uint64_t)a->member)
            V::box(a, a->tiles + i);
}

template <typename V> IRIS_DEVICE void elements_of(const access_args *a)
{
    for (uint64_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        if (a->op == LOAD || a->op == VEC_LOAD || i % (uint64_t)a->members == (uint64_t)a->member)
            V::one(a, i);
}

#define ACCESS_CASE(d, D, ctype, bits, kind, acc)                                                                      \
    case IRIS_##D:                                                                                                     \
        if (a->op >= TILE_LOAD)                                                                                        \
            tiles_of<vocabulary_##d>(a);                                                                               \
        else                                                                                                           \
            elements_of<vocabulary_##d>(a);                                                                            \
        break;

IRIS_KERNEL(access_kernel, access_args, a, 128)
{
    switch (a->dtype) {
        EACH_SIZE(ACCESS_CASE)
    default: break;
    }
}

/* The random dtypes of cases: those that this build has kernels for. */
#define DTYPE_OF(d, D, ctype, bits, kind, acc) IRIS_##D,
const iris_dtype dtypes[] = {EACH_SIZE(DTYPE_OF)};

iris_dtype dtype_of(uint64_t seed, uint64_t n)
{
    return dtypes[irist_pick(seed, 20, n, (uint32_t)(sizeof dtypes / sizeof *dtypes))];
}

/* A tensor of a case, poisoned; its memory, and what that holds. */
struct tensor {
    irist_case c;
    iris_tensor t;
    irist_bytes poison, whole;
    bool made;

    tensor(irist_rank *r, const irist_case &of, uint64_t seed) : c(of), made(false)
    {
        whole = irist_whole(c, seed);
        made = irist_check(r, iris_tensor_create(r->world, &t, &c.layout) == IRIS_OK, "%s: %s", c.text().c_str(),
                           iris_error_string(r->world));
        if (!made)
            return;
        poison = irist_poisoned((size_t)t.room * c.bytes());
        if (!poison.empty())
            irist_upload(r, t.data, poison);
    }
    /* The memory is what the oracle says. */
    void compare(irist_rank *r, const char *what)
    {
        if (!poison.empty())
            irist_check(r, irist_download(r, t.data, poison.size()) == irist_image(c, whole, poison, r->rank),
                        "%s, %s: the shard is wrong", what, c.text().c_str());
    }
    void free(irist_rank *r)
    {
        irist_meet(r);
        irist_ok(r, iris_tensor_destroy(r->world, &t));
        irist_check(r, t.data == nullptr, "a destroyed tensor has memory");
    }
};

/* Owner, offset and shard of every element. */
void look(irist_rank *r, const tensor &x)
{
    const irist_case &c = x.c;
    int64_t index[IRIS_TENSOR_DIMS], mine = 0;
    const iris_tensor_shard shard = iris_tensor_shard_of(&x.t, r->rank);
    irist_check(r, iris_tensor_elements(&x.t) == c.elements, "%s: elements", c.text().c_str());
    irist_check(r, iris_tensor_member(&x.t, r->rank) == c.place_of(r->rank), "%s: member", c.text().c_str());
    for (int64_t i = 0; i < c.elements && !r->failures; i++) {
        c.index_of(i, index);
        const int owner = iris_tensor_owner(&x.t, index, r->rank);
        const int64_t offset = iris_tensor_offset(&x.t, index);
        irist_check(r, owner == c.owner_of(index, r->rank) && offset == c.offset_of(index),
                    "%s: element %lld is on rank %d at %lld, not on rank %d at %lld", c.text().c_str(), (long long)i,
                    owner, (long long)offset, c.owner_of(index, r->rank), (long long)c.offset_of(index));
        irist_check(r, offset < x.t.room, "%s: element %lld lies behind the shard", c.text().c_str(), (long long)i);
        bool inside = true;
        for (int d = 0; d < c.layout.dims; d++)
            inside &= index[d] >= shard.first[d] && index[d] < shard.first[d] + shard.count[d];
        irist_check(r, inside == (owner == r->rank), "%s: element %lld and the shard", c.text().c_str(), (long long)i);
        mine += inside;
    }
    int64_t n = 1;
    for (int d = 0; d < IRIS_TENSOR_DIMS; d++)
        n *= shard.count[d];
    irist_check(r, n == mine, "%s: the shard has %lld elements, not %lld", c.text().c_str(), (long long)n,
                (long long)mine);
}

/* Whole arrays and shards, in and out. */
void in_and_out(irist_rank *r, tensor &x)
{
    irist_ok(r, iris_tensor_upload(r->world, &x.t, x.whole.data()));
    x.compare(r, "upload");
    irist_bytes got(x.whole.size() + 8, 0xEE), shard(x.poison.size() + 8, 0xEE);
    irist_ok(r, iris_tensor_download(r->world, &x.t, got.data()));
    irist_check(r, std::equal(x.whole.begin(), x.whole.end(), got.begin()) && got.back() == 0xEE, "download, %s",
                x.c.text().c_str());
    irist_ok(r, iris_tensor_download_shard(r->world, &x.t, shard.data()));
    if (!x.poison.empty())
        irist_upload(r, x.t.data, x.poison);
    irist_ok(r, iris_tensor_upload_shard(r->world, &x.t, shard.data()));
    x.compare(r, "download and upload of the shard");
}

bool access(irist_rank *r, const tensor &x, access_args *a, int op, int group, irist_bytes *buffer)
{
    const int place = x.c.place_of(r->rank);
    char *memory = (char *)iris_malloc(r->world, buffer->size() + 16);
    a->ctx = iris_device_ctx(r->world);
    a->t = x.t;
    a->buffer = memory;
    a->op = op, a->group = group, a->dtype = (int)x.c.layout.dtype;
    a->member = place < 0 ? -1 : place % x.c.members; /* others store nothing */
    a->members = x.c.members;
    if (!irist_check(r, memory != nullptr, "%s", iris_error_string(r->world)) || !irist_upload(r, memory, *buffer))
        return false;
    irist_meet(r);
    irist_run(r, access_kernel, *a, iris_grid(3, 112)); /* the last wave is short of lanes on every GPU */
    irist_meet(r);
    *buffer = irist_download(r, memory, buffer->size());
    return irist_ok(r, iris_free(r->world, memory));
}

/* Every rank loads all elements; the ranks of a copy store all of them together. */
void by_element(irist_rank *r, tensor &x)
{
    access_args a;
    std::memset(&a, 0, sizeof a);
    a.n = (uint64_t)x.c.elements;
    if (x.c.elements == 0)
        return;
    irist_ok(r, iris_tensor_upload(r->world, &x.t, x.whole.data()));
    const irist_bytes untouched = irist_poisoned(x.whole.size());
    for (int op : {LOAD, VEC_LOAD}) {
        irist_bytes got = untouched;
        access(r, x, &a, op, LANE, &got);
        irist_bytes want = x.whole;
        const size_t bytes = x.c.bytes();
        if (op == VEC_LOAD) {
            want = untouched;
            int64_t index[IRIS_TENSOR_DIMS];
            for (int64_t i = 0; i < x.c.elements; i++) {
                x.c.index_of(i, index);
                if (iris_tensor_vec_fits(&x.t, index))
                    std::memcpy(want.data() + (size_t)i * bytes, x.whole.data() + (size_t)i * bytes, 16);
            }
        }
        irist_check(r, got == want, "%s, %s", op == LOAD ? "load" : "load_vec", x.c.text().c_str());
    }
    if (!x.poison.empty())
        irist_upload(r, x.t.data, x.poison);
    irist_bytes from = x.whole;
    access(r, x, &a, STORE, LANE, &from);
    x.compare(r, "store");
    access(r, x, &a, VEC_STORE, LANE, &from);
    x.compare(r, "store_vec");
}

/* Random boxes, which begin and end outside too, in a buffer one behind the other. */
std::vector<tile> boxes(const irist_case &c, uint64_t seed, uint64_t *room)
{
    std::vector<tile> tiles;
    const int last = c.layout.dims - 1;
    uint64_t at = 0;
    for (uint64_t i = 0; i < 24; i++) {
        tile b;
        std::memset(&b, 0, sizeof b);
        for (int d = 0; d < c.layout.dims; d++)
            b.index[d] = irist_pick(seed, 30 + (uint64_t)d, i, (uint32_t)c.layout.size[d] + (i % 8 == 0));
        for (int d = last - 1; d <= last; d++)
            if (d >= 0 && i % 3 == 0)
                b.index[d] -= irist_pick(seed, 40 + (uint64_t)d, i, (uint32_t)c.layout.size[d] + 5);
        b.rows = last > 0 ? irist_pick(seed, 50, i, (uint32_t)c.layout.size[last - 1] + 6) : (uint32_t)(i % 3);
        b.columns = irist_pick(seed, 51, i, (uint32_t)c.layout.size[last] + 20);
        if (i % 2) /* aligned rows */
            at = (at + 15) / 16 * 16, b.index[last] = b.index[last] / 16 * 16;
        b.at = at;
        b.pitch = b.columns + irist_pick(seed, 52, i, 5);
        if (i % 2)
            b.pitch = (b.pitch + 15) / 16 * 16;
        at += b.rows * b.pitch + 3;
        tiles.push_back(b);
    }
    *room = at;
    return tiles;
}

/* Boxes that cover the tensor once: the last two dimensions in a grid of tiles, the others index by index. */
std::vector<tile> cover(const irist_case &c, uint64_t seed, uint64_t *room)
{
    std::vector<tile> tiles;
    const int last = c.layout.dims - 1;
    const int64_t rows = last > 0 ? c.layout.size[last - 1] : 1, columns = c.layout.size[last];
    const uint32_t high = 1 + irist_pick(seed, 60, 0, 20), wide = 1 + irist_pick(seed, 61, 0, 40);
    uint64_t at = irist_pick(seed, 62, 0, 2);
    const int64_t matrices = rows * columns > 0 ? c.elements / (rows * columns) : 0;
    for (int64_t m = 0; m < matrices; m++)
        for (int64_t row = 0; row < rows; row += high)
            for (int64_t column = -(int64_t)(wide / 2); column < columns; column += wide) {
                tile b;
                std::memset(&b, 0, sizeof b);
                c.index_of(m * rows * columns, b.index);
                if (last > 0)
                    b.index[last - 1] = row;
                b.index[last] = column;
                b.rows = high, b.columns = wide;
                b.at = at;
                b.pitch = wide + irist_pick(seed, 63, (uint64_t)at, 3);
                at += high * b.pitch;
                tiles.push_back(b);
            }
    *room = at;
    return tiles;
}

/* Copies between a tile's places in a buffer and in the whole tensor. */
template <typename F> void each_inside(const irist_case &c, const tile &b, F f)
{
    const int last = c.layout.dims - 1;
    for (int d = 0; d < last - 1; d++)
        if (b.index[d] < 0 || b.index[d] >= c.layout.size[d])
            return;
    for (uint32_t y = 0; y < b.rows && (last > 0 || y == 0); y++)
        for (uint32_t x = 0; x < b.columns; x++) {
            const int64_t row = last > 0 ? b.index[last - 1] + y : 0, column = b.index[last] + x;
            if (row < 0 || column < 0 || column >= c.layout.size[last] || (last > 0 && row >= c.layout.size[last - 1]))
                continue;
            int64_t i = 0;
            for (int d = 0; d <= last; d++)
                i = i * c.layout.size[d] + (d == last ? column : d == last - 1 ? row : b.index[d]);
            f((size_t)(b.at + y * b.pitch + x), (size_t)i);
        }
}

void by_tile(irist_rank *r, tensor &x, uint64_t seed)
{
    const size_t bytes = x.c.bytes();
    irist_ok(r, iris_tensor_upload(r->world, &x.t, x.whole.data()));
    for (int group : {LANE, WAVE, WG}) {
        access_args a;
        std::memset(&a, 0, sizeof a);
        for (bool store : {false, true}) {
            uint64_t room;
            const std::vector<tile> tiles = store ? cover(x.c, seed, &room) : boxes(x.c, seed, &room);
            tile *table = (tile *)iris_malloc(r->world, tiles.size() * sizeof(tile) + 1);
            a.tiles = table;
            a.n = tiles.size();
            if (!irist_check(r, table != nullptr, "%s", iris_error_string(r->world)))
                return;
            if (!tiles.empty())
                irist_ok(r, iris_memcpy(r->world, table, tiles.data(), tiles.size() * sizeof(tile)));
            irist_bytes buffer = irist_poisoned((size_t)room * bytes), want = buffer;
            for (const tile &b : tiles)
                each_inside(x.c, b, [&](size_t at, size_t i) {
                    std::memcpy((store ? buffer : want).data() + at * bytes, x.whole.data() + i * bytes, bytes);
                });
            if (store && !x.poison.empty())
                irist_upload(r, x.t.data, x.poison);
            access(r, x, &a, store ? TILE_STORE : TILE_LOAD, group, &buffer);
            if (store)
                x.compare(r, "tile_store");
            else
                irist_check(r, buffer == want, "tile_load by %d, %s", group, x.c.text().c_str());
            irist_ok(r, iris_free(r->world, table));
        }
    }
}

void cases(irist_rank *r)
{
    const uint32_t n = irist_laps(30, 150);
    for (uint64_t i = 0; i < n && !r->failures; i++) {
        tensor x(r, irist_layout(r->seed, i, r->ranks, dtype_of(r->seed, i), 0, nullptr), r->seed + i);
        if (!x.made)
            continue;
        look(r, x);
        if (r->failures) /* loops over a tile's pieces need not end then */
            return;
        in_and_out(r, x);
        by_element(r, x);
        by_tile(r, x, r->seed + i);
        x.free(r);
    }
}

/* Columns are cut as iris_gemm_band cuts them, rows as iris_gemm_shard does. */
void as_gemm(irist_rank *r)
{
    for (int64_t n : {1, 15, 16, 17, 100, 1000, 4096}) {
        const int64_t size[] = {n, n};
        const iris_tensor_layout columns = iris_tensor_split(IRIS_BF16, 2, size, 1, 0);
        const iris_tensor_layout rows = iris_tensor_split(IRIS_BF16, 2, size, 0, 1);
        iris_tensor b, c;
        if (!irist_ok(r, iris_tensor_create(r->world, &b, &columns)) ||
            !irist_ok(r, iris_tensor_create(r->world, &c, &rows)))
            return;
        const uint32_t world = (uint32_t)r->ranks, rank = (uint32_t)r->rank;
        const iris_gemm_columns band = iris_gemm_band((uint32_t)n, world, rank);
        const iris_gemm_rows shard = iris_gemm_shard((uint32_t)n, world, rank);
        const iris_tensor_shard own = iris_tensor_shard_of(&b, r->rank), high = iris_tensor_shard_of(&c, r->rank);
        irist_check(r, own.first[1] == band.first && own.count[1] == band.count && own.count[0] == n, "columns of %lld",
                    (long long)n);
        irist_check(r, high.first[0] == shard.first && high.count[0] == shard.count, "rows of %lld", (long long)n);
        irist_ok(r, iris_tensor_destroy(r->world, &c));
        irist_ok(r, iris_tensor_destroy(r->world, &b));
    }
}

/* A filled tensor holds what the flat function gives, whatever the layout. */
template <typename T> void expect(irist_rank *r, const irist_case &c, const char *what, iris_tensor *t, T *flat)
{
    std::vector<T> want((size_t)c.elements), got(want);
    if (irist_check(r, flat != nullptr, "%s", iris_error_string(r->world)) && c.elements > 0) {
        irist_ok(r, iris_memcpy(r->world, want.data(), flat, want.size() * sizeof(T)));
        irist_ok(r, iris_tensor_download(r->world, t, got.data()));
        irist_check(r, std::memcmp(want.data(), got.data(), want.size() * sizeof(T)) == 0, "%s, %s", what,
                    c.text().c_str());
    }
    irist_ok(r, iris_free(r->world, flat));
    irist_ok(r, iris_tensor_destroy(r->world, t));
}

#define EXPECT_NONE(d, what)                                                                                           \
    {                                                                                                                  \
        iris_tensor t;                                                                                                 \
        if (irist_ok(r, iris_tensor_##what##_##d(r->world, &t, &c.layout)))                                            \
            expect(r, c, "iris_tensor_" #what "_" #d, &t, iris_##what##_##d(r->world, n));                             \
    }
#define RANDOM_FLOAT(d)                                                                                                \
    {                                                                                                                  \
        iris_tensor t;                                                                                                 \
        if (irist_ok(r, iris_tensor_uniform_##d(r->world, &t, &c.layout, seed, -3, 1.5)))                              \
            expect(r, c, "iris_tensor_uniform_" #d, &t, iris_uniform_##d(r->world, n, seed, -3, 1.5));                 \
        if (irist_ok(r, iris_tensor_randn_##d(r->world, &t, &c.layout, seed)))                                         \
            expect(r, c, "iris_tensor_randn_" #d, &t, iris_randn_##d(r->world, n, seed));                              \
    }
#define RANDOM_INT(d)
#define RANDOM_UINT(d)
#define FILLS(d, D, ctype, bits, kind, acc)                                                                            \
    {                                                                                                                  \
        irist_case c = irist_layout(r->seed, 1000 + i, r->ranks, IRIS_##D, 0, nullptr);                                \
        const size_t n = (size_t)c.elements;                                                                           \
        iris_tensor t;                                                                                                 \
        c.layout.dtype = i % 2 ? IRIS_DTYPE_NONE : IRIS_##D;                                                           \
        if (irist_ok(r, iris_tensor_full_##d(r->world, &t, &c.layout, 13)))                                            \
            expect(r, c, "iris_tensor_full_" #d, &t, iris_full_##d(r->world, n, 13));                                  \
        if (irist_ok(r, iris_tensor_arange_##d(r->world, &t, &c.layout, 5, 3)))                                        \
            expect(r, c, "iris_tensor_arange_" #d, &t, iris_arange_##d(r->world, n, 5, 3));                            \
        EXPECT_NONE(d, zeros)                                                                                          \
        EXPECT_NONE(d, ones)                                                                                           \
        RANDOM_##kind(d) i++;                                                                                          \
    }

void fills(irist_rank *r)
{
    uint64_t i = 0;
    const uint64_t seed = r->seed + 5;
    for (uint32_t lap = 0; lap < irist_laps(1, 4) && !r->failures; lap++)
        IRIST_EACH_DTYPE(FILLS)
}

void texts(irist_rank *r)
{
    const int64_t size[] = {4, 3};
    iris_tensor_layout layout = iris_tensor_split(IRIS_I32, 2, size, 0, 1);
    layout.team.size = 1, layout.team.start = r->ranks - 1;
    iris_tensor t;
    char text[200], *printed = nullptr;
    size_t length = 0;
    if (!irist_ok(r, iris_tensor_arange_i32(r->world, &t, &layout, 0, 2)))
        return;
    const std::string line = "i32 [4, 3], 1 copy on rank " + std::to_string(r->ranks - 1) +
                             ", strides [3, 1], at most 12 elements a rank";
    irist_check(r, iris_tensor_text(&t, text, sizeof text) == line.size() && line == text, "says %s", text);
    irist_check(r, iris_tensor_text(&t, text, 8) == line.size() && std::strcmp(text, "i32 [4,") == 0, "says %s", text);
    irist_check(r, iris_tensor_text(&t, nullptr, 0) == line.size(), "the length of a text");
    FILE *out = open_memstream(&printed, &length);
    irist_ok(r, iris_tensor_print(r->world, &t, out, 10));
    std::fclose(out);
    const std::string want = line + "\n    0 2 4 6 8 10 12 14\n    16 18\n    … 2 more\n";
    irist_check(r, printed == (r->rank == 0 ? want : ""), "printed %s", printed);
    std::free(printed);
    irist_ok(r, iris_tensor_destroy(r->world, &t));
    const int64_t large[] = {1000, 512};
    layout = iris_tensor_split(IRIS_F32, 2, large, 1, 0);
    irist_ok(r, iris_tensor_create(r->world, &t, &layout));
    iris_tensor_text(&t, text, sizeof text);
    const std::string begin = r->ranks == 1 ? "f32 [1000, 512], 1 copy on rank 0"
                                            : "f32 [1000, 512 in " + std::to_string(r->ranks) +
                                                  " by 16], 1 copy on ranks 0 to " + std::to_string(r->ranks - 1);
    irist_check(r, std::strncmp(text, begin.c_str(), begin.size()) == 0, "says %s", text);
    irist_ok(r, iris_tensor_destroy(r->world, &t));
}

void refused(irist_rank *r, iris_status status, const char *says)
{
    irist_check(r, status == IRIS_ERR_ARGUMENT && std::strstr(iris_error_string(r->world), says),
                "status %s, and '%s' lacks '%s'", iris_status_name(status), iris_error_string(r->world), says);
}

void bad_arguments(irist_rank *r)
{
    const int64_t size[] = {40, 30};
    const iris_tensor_layout good = iris_tensor_split(IRIS_F32, 2, size, 1, 0);
    iris_world *w = r->world;
    iris_tensor t, other;
    iris_tensor_layout l = good;
    const size_t used = iris_heap_used(w, IRIS_MEM_DATA);
    refused(r, iris_tensor_create(w, nullptr, &l), "the tensor's address is null");
    refused(r, iris_tensor_create(w, &t, nullptr), "the layout is null");
    l = good, l.dtype = IRIS_DTYPE_NONE;
    refused(r, iris_tensor_create(w, &t, &l), "as if it was never set");
    l = good, l.dtype = (iris_dtype)99;
    refused(r, iris_tensor_create(w, &t, &l), "which does not exist");
    for (int dims : {0, 6, 1000000})
        l = good, l.dims = dims, refused(r, iris_tensor_create(w, &t, &l), "too many dimensions, or none");
    for (int dim : {-1, 2, 7}) {
        l = iris_tensor_split(IRIS_F32, 2, size, dim, 0);
        refused(r, iris_tensor_create(w, &t, &l), "no such dimension");
    }
    for (int64_t n : {(int64_t)-1, (int64_t)1 << 31})
        l = good, l.size[0] = n, refused(r, iris_tensor_create(w, &t, &l), "dimension 0 has");
    for (int64_t n : {(int64_t)-1, (int64_t)1 << 31})
        l = good, l.unit[1] = n, refused(r, iris_tensor_create(w, &t, &l), "dimension 1 is cut");
    for (int n : {-2, r->ranks + 1})
        l = good, l.parts[0] = n, refused(r, iris_tensor_create(w, &t, &l), "dimension 0 is to be split");
    l = good, l.parts[0] = IRIS_TENSOR_REST;
    refused(r, iris_tensor_create(w, &t, &l), "both have IRIS_TENSOR_REST");
    if (r->ranks > 2) {
        l = good, l.parts[1] = r->ranks - 1;
        refused(r, iris_tensor_create(w, &t, &l), "does not divide");
    }
    l = good, l.team.size = r->ranks + 1, l.team.stride = 1;
    refused(r, iris_tensor_create(w, &t, &l), "is not within ranks");
    l = good, l.team.size = 1, l.team.start = -1;
    refused(r, iris_tensor_create(w, &t, &l), "is not within ranks");
    iris_team listed = {0, 0, 0};
    irist_ok(r, iris_team_split(w, &listed, 0, 0));
    l = good, l.team = listed;
    refused(r, iris_tensor_create(w, &t, &l), "this one is of any ranks");
    irist_ok(r, iris_team_destroy(w, &listed));
    l = good, l.stride[0] = 1, l.stride[1] = 1;
    refused(r, iris_tensor_create(w, &t, &l), "elements would share memory");
    l = good, l.stride[0] = 100;
    refused(r, iris_tensor_create(w, &t, &l), "dimension 1 has stride 0");
    l = good, l.stride[0] = -30, l.stride[1] = 1;
    refused(r, iris_tensor_create(w, &t, &l), "dimension 0 has stride -30");
    l = iris_tensor_replicated(IRIS_F32, 2, size), l.size[0] = l.size[1] = 1 << 20;
    irist_check(r, iris_tensor_create(w, &t, &l) == IRIS_ERR_NOMEM && t.data == nullptr, "a tensor beyond the heap");
    irist_check(r, iris_barrier(w) == IRIS_ERR_NOMEM, "the barrier does not report it");
    l.dims = 5, l.size[0] = l.size[1] = l.size[2] = l.size[3] = l.size[4] = INT32_MAX;
    refused(r, iris_tensor_create(w, &t, &l), "more elements than memory");
    std::memset(&t, 1, sizeof t);
    refused(r, iris_tensor_ones_i8(w, &t, &good), "the layout is of f32, the function of i8");
    irist_ok(r, iris_tensor_destroy(w, &t)); /* it is zeroed */
    refused(r, iris_tensor_ones_i8(w, &t, nullptr), "iris_tensor_ones_i8: the layout is null");
    irist_check(r, iris_tensor_create(nullptr, &t, &good) == IRIS_ERR_ARGUMENT, "a tensor without a world");
    irist_check(r, iris_heap_used(w, IRIS_MEM_DATA) == used, "what was refused has memory");

    irist_ok(r, iris_tensor_create(w, &t, &good));
    refused(r, iris_tensor_upload(w, &t, nullptr), "iris_tensor_upload: the host's array is null");
    if (iris_tensor_shard_of(&t, r->rank).count[1] > 0) {
        refused(r, iris_tensor_upload_shard(w, &t, nullptr), "iris_tensor_upload_shard: the host's array is null");
        refused(r, iris_tensor_download_shard(w, &t, nullptr), "iris_tensor_download_shard: the host's array is null");
    } else { /* nothing is read or written */
        irist_ok(r, iris_tensor_upload_shard(w, &t, nullptr));
        irist_ok(r, iris_tensor_download_shard(w, &t, nullptr));
    }
    refused(r, iris_tensor_download(w, &t, nullptr), "iris_tensor_download: the host's array is null");
    std::vector<float> host(1200);
    if (r->ranks > 1) /* one rank's null fails all, and nobody waits */
        refused(r, iris_tensor_download(w, &t, r->rank == 1 ? nullptr : host.data()),
                "rank 1: iris_tensor_download: the host's array is null");
    refused(r, iris_tensor_upload(w, nullptr, host.data()), "the tensor is null");
    refused(r, iris_tensor_download(w, nullptr, host.data()), "the tensor is null");
    refused(r, iris_tensor_print(w, &t, nullptr, 0), "the file is null");
    other = t, other.data = host.data();
    refused(r, iris_tensor_upload(w, &other, host.data()), "is not in this world's heap");
    refused(r, iris_tensor_wrap(w, &other, &good, nullptr, 10000), "a shard takes");
    refused(r, iris_tensor_wrap(w, &other, &good, host.data(), host.size() * 4), "not in the heap");
    refused(r, iris_tensor_wrap(w, &other, &good, t.data, 100), "are too few");
    refused(r, iris_tensor_wrap(w, &other, &good, (char *)t.data + 2, 4800), "are not aligned");
    refused(r, iris_tensor_destroy(w, nullptr), "the tensor is null");
    irist_ok(r, iris_tensor_wrap(w, &other, &good, t.data, (size_t)t.room * 4));
    irist_ok(r, iris_tensor_upload(w, &other, host.data()));
    irist_ok(r, iris_tensor_destroy(w, &other)); /* whose memory is the other's */
    irist_ok(r, iris_tensor_destroy(w, &t));
    irist_ok(r, iris_tensor_destroy(w, &t));
    irist_check(r, iris_heap_used(w, IRIS_MEM_DATA) == used, "tensors that are gone have memory");
    irist_ok(r, iris_barrier(w));
}

} // namespace

TEST_CASE("every element of a partitioned tensor is where its index says", "[tensor]") { irist_spmd(cases, NULL); }
TEST_CASE("tensors are cut as GEMMs cut their operands", "[tensor]") { irist_spmd(as_gemm, NULL); }
TEST_CASE("a tensor holds the same values in every layout", "[tensor]") { irist_spmd(fills, NULL); }
TEST_CASE("a tensor says what it looks like", "[tensor]") { irist_spmd(texts, NULL); }
TEST_CASE("layouts and calls that cannot be are refused in a sentence", "[tensor]") { irist_spmd(bad_arguments, NULL); }
