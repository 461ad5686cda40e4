/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/launch/tensor.h>: iris_tensor_reshard between random layouts of one shape, and between those that a
 * copy, an all-gather or an all-to-all does, many in a row on one channel without a barrier, src overwritten behind
 * each.
 */
#define IRIS_INSTANTIATE_TENSOR
#include "tensor/cases.h"

#include <iris/gen/launch/tensor.h>
#include <iris/iris.h>

namespace {

/* Two layouts of one shape. */
struct pair {
    irist_case src, dst;
};

iris_dtype dtype_of(uint64_t seed, uint64_t n)
{
    static const iris_dtype dtypes[] = {IRIS_I8, IRIS_BF16, IRIS_F32, IRIS_F64};
    return dtypes[irist_pick(seed, 20, n, 4)];
}

/* Two dimensions may have `pitch` elements from row to row. */
irist_case plain(const irist_rank *r, iris_dtype dtype, const std::vector<int64_t> &size, int split, int64_t pitch = 0)
{
    irist_case c;
    c.layout = split < 0 ? iris_tensor_replicated(dtype, (int)size.size(), size.data())
                         : iris_tensor_split(dtype, (int)size.size(), size.data(), split, 1);
    if (pitch)
        c.layout.stride[0] = pitch, c.layout.stride[1] = 1;
    c.finish(r->ranks);
    return c;
}

pair pair_of(const irist_rank *r, uint64_t i)
{
    const iris_dtype dtype = dtype_of(r->seed, i);
    const int64_t n = r->ranks, m = 1 + irist_pick(r->seed, 21, i, 40);
    const std::vector<int64_t> even = {n, m * n, 3}, rows = {m * n, 7}, ragged = {5 * n + 1, 33};
    switch (i % 10) {
    case 0: return {plain(r, dtype, rows, 0), plain(r, dtype, rows, -1)};   /* all-gather */
    case 1: return {plain(r, dtype, even, 1), plain(r, dtype, even, 0)};    /* all-to-all */
    case 2: return {plain(r, dtype, rows, -1), plain(r, dtype, rows, 0)};   /* copy */
    case 3: return {plain(r, dtype, ragged, 0), plain(r, dtype, ragged, 1)};
    case 4: return {plain(r, dtype, {17 * n}, 0), plain(r, dtype, {17 * n}, -1)};
    case 5: return {plain(r, dtype, rows, 0, 9), plain(r, dtype, rows, -1)}; /* gaps in one of the two */
    case 6: return {plain(r, dtype, rows, 0), plain(r, dtype, rows, -1, 9)};
    default: break;
    }
    const irist_case src = irist_layout(r->seed, 100 + i, r->ranks, dtype, 0, nullptr);
    return {src, irist_layout(r->seed, 5000 + i, r->ranks, dtype, src.layout.dims, src.layout.size)};
}

/* What dst's memory is to hold on this rank. */
void expect(irist_rank *r, const pair &p, const iris_tensor &dst, const irist_bytes &whole, const irist_bytes &poison)
{
    if (!poison.empty())
        irist_check(r, irist_download(r, dst.data, poison.size()) == irist_image(p.dst, whole, poison, r->rank),
                    "from %s to %s", p.src.text().c_str(), p.dst.text().c_str());
}

void one(irist_rank *r, const iris_channel *ch, uint64_t i)
{
    const pair p = pair_of(r, i);
    iris_tensor src, dst;
    if (!irist_ok(r, iris_tensor_create(r->world, &src, &p.src.layout)) ||
        !irist_ok(r, iris_tensor_create(r->world, &dst, &p.dst.layout)))
        return;
    const irist_bytes poison = irist_poisoned((size_t)dst.room * p.dst.bytes());
    for (uint64_t lap = 0; lap < 3 && !r->failures; lap++) {
        const irist_bytes whole = irist_whole(p.src, r->seed + 10 * i + lap);
        if (!poison.empty())
            irist_upload(r, dst.data, poison);
        if (!whole.empty())
            irist_ok(r, iris_tensor_upload(r->world, &src, whole.data()));
        irist_delay(r, 3 * i + lap);
        irist_ok(r, iris_tensor_reshard(r->world, ch, &dst, &src, NULL));
        irist_ok(r, iris_memset(r->world, src.data, 0xAA, src.room ? (size_t)src.room * p.src.bytes() : 1));
        expect(r, p, dst, whole, poison);
    }
    irist_meet(r);
    irist_ok(r, iris_tensor_destroy(r->world, &dst));
    irist_ok(r, iris_tensor_destroy(r->world, &src));
}

void layouts(irist_rank *r)
{
    iris_channel ch;
    if (!irist_ok(r, iris_collective_channel(r->world, &ch, 0)))
        return;
    irist_ok(r, iris_barrier(r->world));
    for (uint64_t i = 0; i < irist_laps(32, 160) && !r->failures; i++)
        one(r, &ch, i);
    irist_meet(r);
    irist_ok(r, iris_channel_destroy(r->world, &ch));
}

/* There and back again, with nothing in between: each call reads what the one before it wrote. */
void in_a_row(irist_rank *r)
{
    iris_channel ch;
    const int64_t size[] = {37, 3 * r->ranks, 5};
    const iris_tensor_layout layouts[] = {
        iris_tensor_split(IRIS_F32, 3, size, 0, 1), iris_tensor_split(IRIS_F32, 3, size, 1, 1),
        iris_tensor_replicated(IRIS_F32, 3, size), iris_tensor_split(IRIS_F32, 3, size, 0, 0)};
    iris_tensor t[4];
    if (!irist_ok(r, iris_collective_channel(r->world, &ch, 0)))
        return;
    for (int i = 0; i < 4; i++)
        irist_ok(r, iris_tensor_create(r->world, &t[i], &layouts[i]));
    std::vector<float> whole((size_t)iris_tensor_elements(&t[0])), got(whole.size());
    for (size_t i = 0; i < whole.size(); i++)
        whole[i] = (float)irist_pick(r->seed, 1, i, 1000);
    irist_ok(r, iris_tensor_upload(r->world, &t[0], whole.data()));
    irist_ok(r, iris_barrier(r->world));
    const uint32_t laps = irist_epochs(r, 40, 200);
    for (uint32_t lap = 0; lap < laps; lap++) {
        irist_delay(r, lap);
        irist_ok(r, iris_tensor_reshard(r->world, &ch, &t[(lap + 1) % 4], &t[lap % 4], NULL));
    }
    irist_ok(r, iris_tensor_download(r->world, &t[laps % 4], got.data()));
    irist_check(r, got == whole, "something else came back");
    irist_meet(r);
    for (int i = 3; i >= 0; i--)
        irist_ok(r, iris_tensor_destroy(r->world, &t[i]));
    irist_ok(r, iris_channel_destroy(r->world, &ch));
}

void refused(irist_rank *r, iris_status status, const char *says)
{
    irist_check(r, status == IRIS_ERR_ARGUMENT && std::strstr(iris_error_string(r->world), says),
                "status %s, and '%s' lacks '%s'", iris_status_name(status), iris_error_string(r->world), says);
}

void bad_arguments(irist_rank *r)
{
    const int64_t size[] = {40, 30}, larger[] = {40, 31};
    const iris_tensor_layout l = iris_tensor_split(IRIS_F32, 2, size, 1, 0);
    const iris_tensor_layout ints = iris_tensor_split(IRIS_I32, 2, size, 1, 0);
    const iris_tensor_layout large = iris_tensor_split(IRIS_F32, 2, larger, 1, 0);
    const iris_tensor_layout line = iris_tensor_split(IRIS_F32, 1, size, 0, 0);
    iris_world *w = r->world;
    iris_tensor a, b, c, d, e, none;
    iris_channel ch, zero;
    std::memset(&none, 0, sizeof none);
    std::memset(&zero, 0, sizeof zero);
    if (!irist_ok(r, iris_collective_channel(w, &ch, 0)) || !irist_ok(r, iris_tensor_create(w, &a, &l)) ||
        !irist_ok(r, iris_tensor_create(w, &b, &l)) || !irist_ok(r, iris_tensor_create(w, &c, &ints)) ||
        !irist_ok(r, iris_tensor_create(w, &d, &large)) || !irist_ok(r, iris_tensor_create(w, &e, &line)))
        return;
    irist_ok(r, iris_barrier(w));
    irist_check(r, iris_tensor_reshard(NULL, &ch, &b, &a, NULL) == IRIS_ERR_ARGUMENT, "no world");
    refused(r, iris_tensor_reshard(w, &ch, NULL, &a, NULL), "the tensor is null");
    refused(r, iris_tensor_reshard(w, &ch, &b, NULL, NULL), "the tensor is null");
    refused(r, iris_tensor_reshard(w, &ch, &b, &none, NULL), "not from iris_tensor_create");
    refused(r, iris_tensor_reshard(w, &ch, &c, &a, NULL), "dst has 2 dimensions of i32, src 2 of f32");
    refused(r, iris_tensor_reshard(w, &ch, &e, &a, NULL), "dst has 1 dimensions of f32, src 2 of f32");
    refused(r, iris_tensor_reshard(w, &ch, &d, &a, NULL), "dimension 1 has 31 indices in dst, 30 in src");
    refused(r, iris_tensor_reshard(w, &ch, &a, &a, NULL), "overlap");
    refused(r, iris_tensor_reshard(w, NULL, &b, &a, NULL), "the channel is not from iris_collective_channel");
    refused(r, iris_tensor_reshard(w, &zero, &b, &a, NULL), "the channel is not from iris_collective_channel");
    irist_ok(r, iris_tensor_reshard(w, &ch, &b, &a, NULL));
    irist_meet(r);
    for (iris_tensor *t : {&e, &d, &c, &b, &a})
        irist_ok(r, iris_tensor_destroy(w, t));
    irist_ok(r, iris_channel_destroy(w, &ch));
}

} // namespace

TEST_CASE("a tensor is the same in another layout", "[tensor]") { irist_spmd(layouts, NULL); }
TEST_CASE("a tensor may change its layout many times in a row", "[tensor]") { irist_spmd(in_a_row, NULL); }
TEST_CASE("tensors that cannot become each other are refused in a sentence", "[tensor]")
{
    irist_spmd(bad_arguments, NULL);
}
