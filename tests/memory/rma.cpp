/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/rma.h> and <iris/bytes.h>: iris_put, iris_get and iris_copy of every dtype by a lane, a wave and a
 * workgroup, with every pair of alignments; <iris/gen/rma_cache.h>: the same of one dtype, with every cache hint.
 */
#include "transfer.h"

#include <iris/gen/rma_cache.h>

namespace {

enum { PUT, GET, COPY };

const irist_movement movements[] = {
    {"put", PUT, false, true, false},
    {"get", GET, true, false, false},
    {"copy", COPY, true, true, false},
};

const char *const group_names[] = {"", "_wave", "_wg"};

template <typename V, int G> IRIS_DEVICE void move_piece(const irist_transfer *a, irist_piece p)
{
    typename V::type *dst = (typename V::type *)(a->dst + p.dst);
    const typename V::type *src = (const typename V::type *)(a->src + p.src);
    if (a->op == PUT)
        V::template put<G>(&a->ctx, dst, src, p.n, a->to);
    else if (a->op == GET)
        V::template get<G>(&a->ctx, dst, src, p.n, a->from);
    else
        V::template copy<G>(&a->ctx, dst, src, p.n, a->to, a->from);
}

/* The groups of the grid take the pieces in turn. */
template <typename V> IRIS_DEVICE void irist_chosen(const irist_transfer *a)
{
    if (a->group == IRIST_LANE) {
        for (uint64_t k = iris_grid_lane(); k < a->n_pieces; k += iris_grid_lanes())
            move_piece<V, IRIST_LANE>(a, a->pieces[k]);
    } else if (a->group == IRIST_WAVE) {
        const uint64_t waves = (uint64_t)iris_workgroups() * iris_waves();
        for (uint64_t k = (uint64_t)iris_workgroup() * iris_waves() + iris_wave(); k < a->n_pieces; k += waves)
            move_piece<V, IRIST_WAVE>(a, a->pieces[k]);
    } else {
        for (uint64_t k = iris_workgroup(); k < a->n_pieces; k += iris_workgroups())
            move_piece<V, IRIST_WG>(a, a->pieces[k]);
    }
}

IRIS_KERNEL(rma_kernel, irist_transfer, a, 256)
{
    switch (a->dtype) {
        IRIST_EACH_SAMPLE(IRIST_DTYPE_CASE)
    }
}

/* What differs by hint is how words are accessed, whatever their dtype. The groups take the pieces in turn. */
IRIS_DEVICE void put_by_hints(const irist_transfer *a, iris_bf16 *dst, const iris_bf16 *src, size_t n, uint64_t k)
{
    if (k % 3 == 0 && iris_wg_lane() == 0)
        iris_put_cache_bf16(&a->ctx, dst, src, n, a->to, IRIS_CACHE_CG, IRIS_CACHE_CS);
    if (k % 3 == 1 && iris_wave() + 1 == iris_waves())
        iris_put_cache_bf16_wave(&a->ctx, dst, src, n, a->to, IRIS_CACHE_DEFAULT, IRIS_CACHE_WT);
    if (k % 3 == 2)
        iris_put_cache_bf16_wg(&a->ctx, dst, src, n, a->to, IRIS_CACHE_CA, IRIS_CACHE_STREAM);
}
IRIS_DEVICE void get_by_hints(const irist_transfer *a, iris_bf16 *dst, const iris_bf16 *src, size_t n, uint64_t k)
{
    if (k % 3 == 0 && iris_wg_lane() == 0)
        iris_get_cache_bf16(&a->ctx, dst, src, n, a->from, IRIS_CACHE_STREAM, IRIS_CACHE_CG);
    if (k % 3 == 1 && iris_wave() + 1 == iris_waves())
        iris_get_cache_bf16_wave(&a->ctx, dst, src, n, a->from, IRIS_CACHE_CV, IRIS_CACHE_WB);
    if (k % 3 == 2)
        iris_get_cache_bf16_wg(&a->ctx, dst, src, n, a->from, IRIS_CACHE_CG, IRIS_CACHE_WB);
}
IRIS_DEVICE void copy_by_hints(const irist_transfer *a, iris_bf16 *dst, const iris_bf16 *src, size_t n, uint64_t k)
{
    if (k % 3 == 0 && iris_wg_lane() == 0)
        iris_copy_cache_bf16(&a->ctx, dst, src, n, a->to, a->from, IRIS_CACHE_STREAM, IRIS_CACHE_WT);
    if (k % 3 == 1 && iris_wave() + 1 == iris_waves())
        iris_copy_cache_bf16_wave(&a->ctx, dst, src, n, a->to, a->from, IRIS_CACHE_CV, IRIS_CACHE_DEFAULT);
    if (k % 3 == 2)
        iris_copy_cache_bf16_wg(&a->ctx, dst, src, n, a->to, a->from, IRIS_CACHE_CA, IRIS_CACHE_CG);
}
IRIS_KERNEL(rma_cache_kernel, irist_transfer, a, 256)
{
    for (uint64_t k = iris_workgroup(); k < a->n_pieces; k += iris_workgroups()) {
        const irist_piece p = a->pieces[k];
        iris_bf16 *dst = (iris_bf16 *)(a->dst + p.dst);
        const iris_bf16 *src = (const iris_bf16 *)(a->src + p.src);
        if (a->op == PUT)
            put_by_hints(a, dst, src, p.n, k);
        else if (a->op == GET)
            get_by_hints(a, dst, src, p.n, k);
        else
            copy_by_hints(a, dst, src, p.n, k);
    }
}

const irist_movement hinted[] = {
    {"put_cache", PUT, false, true, false},
    {"get_cache", GET, true, false, false},
    {"copy_cache", COPY, true, true, false},
};

void move_by_hints(irist_rank *t)
{
    irist_areas areas(t, IRIS_BF16, false);
    areas.args.group = IRIST_WAVE;
    for (const irist_movement &m : hinted)
        IRIST_MOVE(t, &areas, rma_cache_kernel, &m);
    areas.free(t);
}

void move(irist_rank *t)
{
    irist_areas areas(t, *(const int *)t->arg, false);
    for (const irist_movement &m : movements) {
        for (int group = 0; group < IRIST_GROUPS; group++) {
            const std::string name = std::string(m.name) + group_names[group];
            irist_movement named = m;
            named.name = name.c_str();
            areas.args.group = group;
            IRIST_MOVE(t, &areas, rma_kernel, &named);
        }
    }
    areas.free(t);
}

} // namespace

TEST_CASE("puts, gets and copies of every length and alignment move exactly their elements", "[memory]")
{
#define IRIST_SECTION(d, D, ctype, bits, kind, acc)                                                                    \
    SECTION(#d)                                                                                                        \
    {                                                                                                                  \
        const int dtype = IRIS_##D;                                                                                    \
        irist_spmd(move, &dtype);                                                                                      \
    }
    IRIST_EACH_SAMPLE(IRIST_SECTION)
}

TEST_CASE("puts, gets and copies move the same with every cache hint", "[memory]")
{
    irist_spmd(move_by_hints, nullptr);
}
