/* SPDX-License-Identifier: MIT */
/*
 * Tries partial tensors: upload, creation, download and text, elements in kernels, and iris_tensor_reshard out of and
 * into partial sums: between random layouts with teams, gaps, empty parts and several copies, and between those that an
 * all-reduce or a reduce-scatter does, many in a row on one channel without a barrier, src overwritten behind each.
 */
#define IRIS_INSTANTIATE_TENSOR
#define IRIS_INSTANTIATE_TENSOR_SUM_F32
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_TENSOR_SUM_BF16
#endif
#include "tensor/cases.h"

#include <limits>

#include <iris/gen/launch/tensor.h>
#include <iris/gen/tensor_access.h>
#include <iris/gen/tensor_create.h>
#include <iris/iris.h>

namespace {

/* Two layouts of one shape. */
struct pair {
    irist_case src, dst;
};

/* What a test needs of a type: a summand from random bits, and the sum of several, in their order. */
enum { IS_INT, IS_UINT = 0, IS_FLOAT }; /* kinds */
#define TYPE_OF(d, D, ctype, bits, kind, acc)                                                                          \
    void fill_##d(unsigned char *to, uint64_t random)                                                                  \
    {                                                                                                                  \
        typedef decltype(iris_widen_##d(ctype())) wide;                                                                \
        const int whole = (int)(random % 101) - (std::numeric_limits<wide>::is_signed ? 50 : 0);                       \
        const ctype x = iris_narrow_##d((wide)(IS_##kind ? whole / 7.0 : whole));                                      \
        std::memcpy(to, &x, sizeof x);                                                                                 \
    }                                                                                                                  \
    void sum_##d(unsigned char *to, const std::vector<const unsigned char *> &from)                                    \
    {                                                                                                                  \
        ctype x;                                                                                                       \
        std::memcpy(&x, from[0], sizeof x);                                                                            \
        auto sum = iris_widen_##d(x);                                                                                  \
        for (size_t i = 1; i < from.size(); i++) {                                                                     \
            std::memcpy(&x, from[i], sizeof x);                                                                        \
            sum = (decltype(sum))(sum + iris_widen_##d(x));                                                            \
        }                                                                                                              \
        x = iris_narrow_##d(sum);                                                                                      \
        std::memcpy(to, &x, sizeof x);                                                                                 \
    }
IRIST_EACH_DTYPE(TYPE_OF)

struct type {
    iris_dtype dtype;
    void (*fill)(unsigned char *, uint64_t);
    void (*sum)(unsigned char *, const std::vector<const unsigned char *> &);
};
#define ROW_OF(d, D, ctype, bits, kind, acc) {IRIS_##D, fill_##d, sum_##d},
const type types[] = {IRIST_EACH_DTYPE(ROW_OF)};

const type &type_of(iris_dtype dtype)
{
    for (const type &t : types)
        if (t.dtype == dtype)
            return t;
    return types[0];
}
const type &random_type(uint64_t seed, uint64_t n)
{
    return types[irist_pick(seed, 20, n, (uint32_t)(sizeof types / sizeof *types))];
}
/* A type with kernels of all_reduce and reduce_scatter, where this part of the types has one. */
iris_dtype summed(uint64_t i)
{
    const iris_dtype wanted = i % 2 ? IRIS_BF16 : IRIS_F32, other = i % 2 ? IRIS_F32 : IRIS_BF16;
    return type_of(wanted).dtype == wanted ? wanted : type_of(other).dtype;
}

/* A layout with a partial sum on each rank of its team for each block. */
irist_case partial(irist_case c)
{
    c.layout.partial = 1;
    return c;
}

irist_case plain(const irist_rank *r, iris_dtype dtype, const std::vector<int64_t> &size, int split, int64_t unit = 1,
                 int64_t pitch = 0)
{
    irist_case c;
    c.layout = split < 0 ? iris_tensor_replicated(dtype, (int)size.size(), size.data())
                         : iris_tensor_split(dtype, (int)size.size(), size.data(), split, unit);
    if (pitch)
        c.layout.stride[0] = pitch, c.layout.stride[1] = 1;
    c.finish(r->ranks);
    return c;
}

/* How many copies a layout has, and whether their sum is the tensor. */
int copies_of(const irist_case &c) { return c.team.size / c.members; }
bool sums(const irist_case &c) { return c.layout.partial && copies_of(c) > 1; }

/* The tensor that everybody's partial sums add up to, from `summand[copy]`, each a whole tensor. */
irist_bytes total(const irist_case &c, const std::vector<irist_bytes> &summand)
{
    irist_bytes whole((size_t)c.elements * c.bytes());
    for (size_t i = 0; i < whole.size(); i += c.bytes()) {
        std::vector<const unsigned char *> at;
        for (const irist_bytes &one : summand)
            at.push_back(one.data() + i);
        type_of(c.layout.dtype).sum(whole.data() + i, at);
    }
    return whole;
}

std::vector<irist_bytes> summands(const irist_case &c, uint64_t seed)
{
    std::vector<irist_bytes> all;
    for (int copy = 0; copy < (sums(c) ? copies_of(c) : 1); copy++) {
        all.emplace_back((size_t)c.elements * c.bytes());
        for (int64_t i = 0; i < c.elements; i++)
            type_of(c.layout.dtype)
                .fill(all.back().data() + (size_t)i * c.bytes(), irist_random(seed, 300 + (uint64_t)copy, (uint64_t)i));
    }
    return all;
}

/* Which of the summands a rank has a part of; -1: of none. */
int copy_of(const irist_case &c, int rank)
{
    const int place = c.place_of(rank);
    return place < 0 ? -1 : sums(c) ? place / c.members : 0;
}

/* This rank's shard gets what the oracle says, gaps and all. */
void write(irist_rank *r, const iris_tensor &t, const irist_case &c, const std::vector<irist_bytes> &all)
{
    const int copy = copy_of(c, r->rank);
    const irist_bytes poison = irist_poisoned((size_t)t.room * c.bytes());
    if (copy >= 0 && !poison.empty())
        irist_upload(r, t.data, irist_image(c, all[(size_t)copy], poison, r->rank));
}

pair pair_of(const irist_rank *r, uint64_t i)
{
    const int64_t n = r->ranks, m = 1 + irist_pick(r->seed, 21, i, 40);
    const iris_dtype any = random_type(r->seed, i).dtype, by = summed(i / 8);
    const std::vector<int64_t> rows = {m * n, 7}, ragged = {5 * n + 1, 33}, wide = {7, m * n}, few = {1, 19};
    switch (i % 8) {
    case 0: return {partial(plain(r, by, rows, -1)), plain(r, by, rows, -1)};    /* all-reduce */
    case 1: return {partial(plain(r, by, rows, -1)), plain(r, by, rows, 0)};     /* reduce-scatter */
    case 2: return {partial(plain(r, by, ragged, -1)), plain(r, by, ragged, 0)}; /* rows, ragged */
    case 3: return {partial(plain(r, by, wide, -1)), plain(r, by, wide, 1)};     /* columns */
    case 4: return {partial(plain(r, any, few, -1)), plain(r, any, few, 0)};     /* empty parts */
    case 5:
        return {partial(plain(r, by, rows, -1, 1, 9)), plain(r, by, rows, i / 16 % 2 - 1)}; /* gaps in src, in dst */
    case 6: return {partial(plain(r, by, rows, -1)), plain(r, by, rows, -1, 1, 9)};
    default: break;
    }
    const irist_case src = irist_layout(r->seed, 100 + i, r->ranks, any, 0, nullptr);
    return {partial(src), irist_layout(r->seed, 5000 + i, r->ranks, any, src.layout.dims, src.layout.size)};
}

bool make(irist_rank *r, const pair &p, iris_tensor *src, iris_tensor *dst)
{
    return irist_check(r,
                       iris_tensor_create(r->world, src, &p.src.layout) == IRIS_OK &&
                           iris_tensor_create(r->world, dst, &p.dst.layout) == IRIS_OK,
                       "%s", iris_error_string(r->world));
}

void destroy(irist_rank *r, iris_tensor *src, iris_tensor *dst)
{
    irist_meet(r);
    irist_ok(r, iris_tensor_destroy(r->world, dst));
    irist_ok(r, iris_tensor_destroy(r->world, src));
}

/* dst's memory on this rank: the shard of `whole`, and poison between its elements. */
void expect(irist_rank *r, const pair &p, const iris_tensor &dst, const irist_bytes &whole, const irist_bytes &poison)
{
    if (!poison.empty())
        irist_check(r, irist_download(r, dst.data, poison.size()) == irist_image(p.dst, whole, poison, r->rank),
                    "from partial %s to %s", p.src.text().c_str(), p.dst.text().c_str());
}

void add_up(irist_rank *r, const iris_channel *ch, uint64_t i)
{
    const pair p = pair_of(r, i);
    iris_tensor src, dst;
    if (!make(r, p, &src, &dst))
        return;
    const irist_bytes poison = irist_poisoned((size_t)dst.room * p.dst.bytes());
    for (uint64_t lap = 0; lap < 3 && !r->failures; lap++) {
        const std::vector<irist_bytes> all = summands(p.src, r->seed + 10 * i + lap);
        const irist_bytes whole = total(p.src, all);
        if (!poison.empty())
            irist_upload(r, dst.data, poison);
        write(r, src, p.src, all);
        if (lap == 0 && p.src.elements > 0) {
            irist_bytes got(whole.size());
            irist_ok(r, iris_tensor_download(r->world, &src, got.data()));
            irist_check(r, got == whole, "download of partial %s", p.src.text().c_str());
        }
        irist_delay(r, 3 * i + lap);
        irist_ok(r, iris_tensor_reshard(r->world, ch, &dst, &src, NULL));
        irist_ok(r, iris_memset(r->world, src.data, 0xAA, src.room ? (size_t)src.room * p.src.bytes() : 1));
        expect(r, p, dst, whole, poison);
    }
    destroy(r, &src, &dst);
}

/* Into partial sums: what each rank has of the first copy, and zeroes; of partial sums each rank keeps its own. */
void take_apart(irist_rank *r, const iris_channel *ch, uint64_t i)
{
    const iris_dtype dtype = random_type(r->seed, 700 + i).dtype;
    const irist_case any = irist_layout(r->seed, 900 + i, r->ranks, dtype, 0, nullptr);
    const std::vector<int64_t> size(any.layout.size, any.layout.size + any.layout.dims);
    const bool kept = i % 3 == 0;
    irist_case to = partial(plain(r, dtype, size, -1, 1, size.size() == 2 && !kept ? size[1] + 3 : 0));
    if (kept)
        to = partial(any);
    const pair p = {kept ? partial(any) : any, to};
    iris_tensor src, dst;
    if (!make(r, p, &src, &dst))
        return;
    const std::vector<irist_bytes> all = summands(p.src, r->seed + i);
    const irist_bytes poison = irist_poisoned((size_t)dst.room * to.bytes());
    const size_t bytes = to.bytes();
    const int copy = copy_of(p.src, r->rank);
    irist_bytes own(all[0].size(), 0); /* what this rank is to have of the whole tensor */
    int64_t index[IRIS_TENSOR_DIMS];
    for (size_t e = 0; e < own.size() / bytes; e++) {
        p.src.index_of((int64_t)e, index);
        if (kept ? copy >= 0 : !sums(to) || p.src.owner_of(index, -1) == r->rank)
            std::memcpy(&own[e * bytes], &all[kept ? (size_t)copy : 0][e * bytes], bytes);
    }
    write(r, src, p.src, all);
    if (!poison.empty())
        irist_upload(r, dst.data, poison);
    irist_meet(r);
    irist_ok(r, iris_tensor_reshard(r->world, ch, &dst, &src, NULL));
    expect(r, p, dst, own, poison);
    destroy(r, &src, &dst);
}

void reshard(irist_rank *r)
{
    iris_channel ch;
    if (!irist_ok(r, iris_collective_channel(r->world, &ch, 0)))
        return;
    irist_ok(r, iris_barrier(r->world));
    for (uint64_t i = 0; i < irist_laps(40, 200) && !r->failures; i++)
        add_up(r, &ch, i);
    for (uint64_t i = 0; i < irist_laps(20, 80) && !r->failures; i++)
        take_apart(r, &ch, i);
    irist_meet(r);
    irist_ok(r, iris_channel_destroy(r->world, &ch));
}

/* Whole arrays come back as they were, from the first copy, and creation gives the tensor the values. */
void in_and_out(irist_rank *r)
{
    for (uint64_t i = 0; i < irist_laps(12, 60) && !r->failures; i++) {
        const iris_dtype dtype = random_type(r->seed, 40 + i).dtype;
        const irist_case c = partial(irist_layout(r->seed, 40 + i, r->ranks, dtype, 0, nullptr));
        const irist_bytes whole = summands(c, r->seed + i)[0];
        const irist_bytes nothing(whole.size(), 0);
        iris_tensor t;
        if (c.elements == 0 || !irist_ok(r, iris_tensor_create(r->world, &t, &c.layout)))
            continue;
        const irist_bytes poison = irist_poisoned((size_t)t.room * c.bytes());
        irist_bytes got(whole.size());
        irist_upload(r, t.data, poison);
        irist_ok(r, iris_tensor_upload(r->world, &t, whole.data()));
        const irist_bytes &own = copy_of(c, r->rank) > 0 ? nothing : whole;
        irist_check(r, irist_download(r, t.data, poison.size()) == irist_image(c, own, poison, r->rank),
                    "upload of partial %s", c.text().c_str());
        irist_ok(r, iris_tensor_download(r->world, &t, got.data()));
        const irist_bytes want = total(c, {whole, nothing});
        irist_check(r, got == (sums(c) ? want : whole), "upload and download of partial %s", c.text().c_str());
        irist_meet(r);
        irist_ok(r, iris_tensor_destroy(r->world, &t));
    }
}

struct own_args {
    iris_ctx ctx;
    iris_tensor t;
};

/* Each rank adds its number to its own partial sum of every element, by index, and by tiles of one row. */
IRIS_KERNEL(own_kernel, own_args, a, 64)
{
    const int64_t rows = a->t.dim[0].size, columns = a->t.dim[1].size;
    for (int64_t i = (int64_t)iris_grid_lane(); i < rows * columns; i += (int64_t)iris_grid_lanes()) {
        const int64_t index[] = {i / columns, i % columns};
        const float x = (float)(a->ctx.rank + 1) * (float)(i % 5);
        if (iris_tensor_owner(&a->t, index, a->ctx.rank) != a->ctx.rank)
            return; /* the host finds it missing */
        if (i % 2)
            iris_tensor_store_f32(&a->ctx, &a->t, index, iris_tensor_load_f32(&a->ctx, &a->t, index) + x);
        else {
            float tile[1];
            iris_tensor_tile_load_f32(&a->ctx, &a->t, index, 1, 1, tile, 1);
            tile[0] += x;
            iris_tensor_tile_store_f32(&a->ctx, &a->t, index, 1, 1, tile, 1);
        }
    }
}

void in_kernels(irist_rank *r)
{
    const int64_t size[] = {13, 21}, n = size[0] * size[1];
    const iris_tensor_layout l = iris_tensor_partial(IRIS_F32, 2, size);
    own_args a;
    std::vector<float> got((size_t)n), want((size_t)n);
    char text[256], says[64];
    a.ctx = iris_device_ctx(r->world);
    if (!irist_ok(r, iris_tensor_arange_f32(r->world, &a.t, &l, 7, 1)))
        return;
    irist_run(r, own_kernel, a, iris_grid(3, 64));
    irist_ok(r, iris_tensor_download(r->world, &a.t, got.data()));
    for (int64_t i = 0; i < n; i++)
        want[(size_t)i] = (float)(7 + i + r->ranks * (r->ranks + 1) / 2 * (i % 5));
    irist_check(r, got == want, "element 1 of the sum is %g, not %g", got[1], want[1]);
    irist_check(r, iris_tensor_is_partial(&a.t) == (r->ranks > 1), "whether it is partial");
    iris_tensor_text(&a.t, text, sizeof text);
    std::snprintf(says, sizeof says, "f32 [13, 21], %d partial sum%s on rank", r->ranks, r->ranks > 1 ? "s" : "");
    irist_check(r, std::strncmp(text, says, std::strlen(says)) == 0, "'%s' does not begin with '%s'", text, says);
    FILE *const out = std::tmpfile();
    irist_ok(r, iris_tensor_print(r->world, &a.t, out, 2));
    std::rewind(out);
    if (r->rank == 0) {
        const int wrong = !std::fgets(text, sizeof text, out) || std::strncmp(text, says, std::strlen(says)) ||
                          std::fscanf(out, "%f %f", &got[0], &got[1]) != 2;
        irist_check(r, !wrong && got[0] == want[0] && got[1] == want[1], "printed: '%s', %g and %g", text, got[0],
                    got[1]);
    }
    std::fclose(out);
    irist_meet(r);
    irist_ok(r, iris_tensor_destroy(r->world, &a.t));
}

void refused(irist_rank *r, iris_status status, const char *says)
{
    irist_check(r, status == IRIS_ERR_ARGUMENT && std::strstr(iris_error_string(r->world), says),
                "status %s, and '%s' lacks '%s'", iris_status_name(status), iris_error_string(r->world), says);
}

/* Blocks of a partial dst that do not hold what their ranks have. */
void bad_layouts(irist_rank *r)
{
    const int64_t size[] = {8, 6};
    iris_tensor_layout columns = iris_tensor_split(IRIS_F32, 2, size, 1, 1),
                       sums = iris_tensor_partial(IRIS_F32, 2, size);
    iris_tensor_layout whole = iris_tensor_replicated(IRIS_F32, 2, size), some = sums, halves = sums;
    iris_tensor t[5];
    iris_channel ch;
    if (r->ranks < 3 || !irist_ok(r, iris_collective_channel(r->world, &ch, 0)))
        return;
    some.team.start = 1, some.team.stride = 1, some.team.size = 2;
    const iris_tensor_layout *layouts[] = {&columns, &sums, &whole, &some, &halves};
    if (r->ranks % 2 == 0)
        halves.parts[0] = 2, halves.unit[0] = 1;
    for (int i = 0; i < 5; i++)
        irist_ok(r, iris_tensor_create(r->world, &t[i], layouts[i]));
    irist_ok(r, iris_barrier(r->world));
    refused(r, iris_tensor_reshard(r->world, &ch, &t[3], &t[0], NULL), "rank 0 in dst does not hold its block in src");
    refused(r, iris_tensor_reshard(r->world, &ch, &t[3], &t[2], NULL), "rank 0 in dst does not hold its block in src");
    refused(r, iris_tensor_reshard(r->world, &ch, &t[3], &t[1], NULL), "rank 0 in dst is not its block in src");
    refused(r, iris_tensor_reshard(r->world, &ch, &t[1], &t[3], NULL), "rank 0 in dst is not its block in src");
    if (r->ranks % 2 == 0) {
        refused(r, iris_tensor_reshard(r->world, &ch, &t[1], &t[4], NULL), "is not its block in src; reshard");
        refused(r, iris_tensor_reshard(r->world, &ch, &t[4], &t[0], NULL),
                "does not hold its block in src; reshard src");
    }
    irist_meet(r);
    for (int i = 4; i >= 0; i--)
        irist_ok(r, iris_tensor_destroy(r->world, &t[i]));
    irist_ok(r, iris_channel_destroy(r->world, &ch));
}

} // namespace

TEST_CASE("partial sums add up in another layout, and layouts become partial sums", "[tensor]")
{
    irist_spmd(reshard, NULL);
}
TEST_CASE("a partial tensor holds what was written as a whole", "[tensor]") { irist_spmd(in_and_out, NULL); }
TEST_CASE("a kernel reaches its own partial sums by index", "[tensor]") { irist_spmd(in_kernels, NULL); }
TEST_CASE("layouts that partial sums cannot be kept in are refused", "[tensor]") { irist_spmd(bad_layouts, NULL); }
