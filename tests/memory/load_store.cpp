/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/load_store.h> and <iris/gen/bits.h>: iris_load, iris_store, their _cache, _vec and _if forms, with
 * every cache hint.
 */
#include "transfer.h"

namespace {

enum {
    LOAD,
    LOAD_CACHE,
    LOAD_HINTS,
    STORE,
    STORE_CACHE,
    STORE_HINTS,
    LOAD_IF,
    STORE_IF,
    VEC_LOAD,
    VEC_LOAD_HINTS,
    VEC_STORE,
    VEC_STORE_HINTS,
    VEC_LOAD_IF,
    VEC_STORE_IF
};

const irist_movement movements[] = {
    {"load", LOAD, true, false, false},
    {"load_cache", LOAD_CACHE, true, false, false},
    {"load_cache, each hint", LOAD_HINTS, true, false, false},
    {"store", STORE, false, true, false},
    {"store_cache", STORE_CACHE, false, true, false},
    {"store_cache, each hint", STORE_HINTS, false, true, false},
    {"load_if", LOAD_IF, true, false, false},
    {"store_if", STORE_IF, false, true, false},
    {"load_vec", VEC_LOAD, true, false, true},
    {"load_vec, each hint", VEC_LOAD_HINTS, true, false, true},
    {"store_vec", VEC_STORE, false, true, true},
    {"store_vec, each hint", VEC_STORE_HINTS, false, true, true},
    {"load_vec_if", VEC_LOAD_IF, true, false, true},
    {"store_vec_if", VEC_STORE_IF, false, true, true},
};

/*
 * Each element goes through a call that makes the access and one that is masked: at an address and a rank that do not
 * exist, or with a value that would be wrong. A masked load gives `other`, here the element.
 */
enum { NO_RANK = 1 << 20 };
template <typename V>
IRIS_DEVICE void one_element_if(const irist_transfer *a, typename V::type *dst, const typename V::type *src)
{
    const iris_ctx *c = &a->ctx;
    typename V::type none, *nowhere = NULL;
    __builtin_memset(&none, 0x5A, sizeof none);
    if (a->op == LOAD_IF) {
        const typename V::type there = V::load_if(c, src, a->from, 1, none);
        *dst = V::load_if(c, nowhere, NO_RANK, 0, there);
    } else {
        V::store_if(c, nowhere, none, NO_RANK, 0);
        V::store_if(c, dst, *src, a->to, 1);
        V::store_if(c, dst, none, a->to, 0);
    }
}
template <typename V>
IRIS_DEVICE void one_vector_if(const irist_transfer *a, typename V::type *dst, const typename V::type *src)
{
    const iris_ctx *c = &a->ctx;
    typename V::type *nowhere = NULL;
    typename V::vec none;
    __builtin_memset(&none, 0x5A, sizeof none);
    if (a->op == VEC_LOAD_IF) {
        const typename V::vec there = V::load_vec_if(c, src, a->from, 1, none);
        *(typename V::vec *)dst = V::load_vec_if(c, nowhere, NO_RANK, 0, there);
    } else {
        V::store_vec_if(c, nowhere, none, NO_RANK, 0);
        V::store_vec_if(c, dst, *(const typename V::vec *)src, a->to, 1);
        V::store_vec_if(c, dst, none, a->to, 0);
    }
}

/* Elements and vectors take the hints in turn: access `k` takes hint k. */
template <typename V>
IRIS_DEVICE typename V::type load_hint(const iris_ctx *c, const typename V::type *p, int rank, size_t k)
{
    switch (k % 4) {
    case 0: return V::load_cache(c, p, rank, IRIS_CACHE_STREAM);
    case 1: return V::load_cache(c, p, rank, IRIS_CACHE_CA);
    case 2: return V::load_cache(c, p, rank, IRIS_CACHE_CG);
    default: return V::load_cache(c, p, rank, IRIS_CACHE_CV);
    }
}
template <typename V>
IRIS_DEVICE typename V::vec load_vec_hint(const iris_ctx *c, const typename V::type *p, int rank, size_t k)
{
    switch (k % 4) {
    case 0: return V::load_vec(c, p, rank, IRIS_CACHE_STREAM);
    case 1: return V::load_vec(c, p, rank, IRIS_CACHE_CA);
    case 2: return V::load_vec(c, p, rank, IRIS_CACHE_CG);
    default: return V::load_vec(c, p, rank, IRIS_CACHE_CV);
    }
}
template <typename V>
IRIS_DEVICE void store_hint(const iris_ctx *c, typename V::type *p, typename V::type v, int rank, size_t k)
{
    switch (k % 5) {
    case 0: V::store_cache(c, p, v, rank, IRIS_CACHE_STREAM); break;
    case 1: V::store_cache(c, p, v, rank, IRIS_CACHE_WB); break;
    case 2: V::store_cache(c, p, v, rank, IRIS_CACHE_CG); break;
    case 3: V::store_cache(c, p, v, rank, IRIS_CACHE_CS); break;
    default: V::store_cache(c, p, v, rank, IRIS_CACHE_WT); break;
    }
}
template <typename V>
IRIS_DEVICE void store_vec_hint(const iris_ctx *c, typename V::type *p, typename V::vec v, int rank, size_t k)
{
    switch (k % 5) {
    case 0: V::store_vec(c, p, v, rank, IRIS_CACHE_STREAM); break;
    case 1: V::store_vec(c, p, v, rank, IRIS_CACHE_WB); break;
    case 2: V::store_vec(c, p, v, rank, IRIS_CACHE_CG); break;
    case 3: V::store_vec(c, p, v, rank, IRIS_CACHE_CS); break;
    default: V::store_vec(c, p, v, rank, IRIS_CACHE_WT); break;
    }
}

template <typename V>
IRIS_DEVICE void one_element(const irist_transfer *a, typename V::type *dst, const typename V::type *src, size_t k)
{
    const iris_ctx *c = &a->ctx;
    if (a->op == LOAD)
        *dst = V::load(c, src, a->from);
    else if (a->op == LOAD_CACHE)
        *dst = V::load_cache(c, src, a->from, IRIS_CACHE_DEFAULT);
    else if (a->op == LOAD_HINTS)
        *dst = load_hint<V>(c, src, a->from, k);
    else if (a->op == STORE)
        V::store(c, dst, *src, a->to);
    else if (a->op == LOAD_IF || a->op == STORE_IF)
        one_element_if<V>(a, dst, src);
    else if (a->op == STORE_CACHE)
        V::store_cache(c, dst, *src, a->to, IRIS_CACHE_DEFAULT);
    else
        store_hint<V>(c, dst, *src, a->to, k);
}

template <typename V>
IRIS_DEVICE void one_vector(const irist_transfer *a, typename V::type *dst, const typename V::type *src, size_t k)
{
    const iris_ctx *c = &a->ctx;
    if (a->op == VEC_LOAD)
        *(typename V::vec *)dst = V::load_vec(c, src, a->from, IRIS_CACHE_DEFAULT);
    else if (a->op == VEC_LOAD_HINTS)
        *(typename V::vec *)dst = load_vec_hint<V>(c, src, a->from, k);
    else if (a->op == VEC_LOAD_IF || a->op == VEC_STORE_IF)
        one_vector_if<V>(a, dst, src);
    else if (a->op == VEC_STORE)
        V::store_vec(c, dst, *(const typename V::vec *)src, a->to, IRIS_CACHE_DEFAULT);
    else
        store_vec_hint<V>(c, dst, *(const typename V::vec *)src, a->to, k);
}

/* Every lane of the grid takes its share of every piece. */
template <typename V> IRIS_DEVICE void irist_chosen(const irist_transfer *a)
{
    const size_t step = a->op >= VEC_LOAD ? 16 / sizeof(typename V::type) : 1;
    for (uint64_t k = 0; k < a->n_pieces; k++) {
        typename V::type *dst = (typename V::type *)(a->dst + a->pieces[k].dst);
        const typename V::type *src = (const typename V::type *)(a->src + a->pieces[k].src);
        for (size_t i = step * iris_grid_lane(); i < a->pieces[k].n; i += step * iris_grid_lanes()) {
            if (a->op >= VEC_LOAD)
                one_vector<V>(a, dst + i, src + i, k + i / step);
            else
                one_element<V>(a, dst + i, src + i, k + i);
        }
    }
}

IRIS_KERNEL(load_store_kernel, irist_transfer, a, 256)
{
    switch (a->dtype) {
        IRIST_EACH_SAMPLE(IRIST_DTYPE_CASE)
    }
}

void move(irist_rank *t)
{
    const int dtype = *(const int *)t->arg; /* where all is slow, a type of each size */
    if (irist_slow() > 1 && dtype != IRIS_I8 && dtype != IRIS_BF16 && dtype != IRIS_F32 && dtype != IRIS_U64)
        return;
    for (bool vectors : {false, true}) {
        irist_areas areas(t, dtype, vectors);
        for (const irist_movement &m : movements)
            if (m.vectors == vectors)
                IRIST_MOVE(t, &areas, load_store_kernel, &m);
        areas.free(t);
    }
}

#define IRIST_BITS_CASE(d, D, ctype, bits, kind, acc)                                                                  \
    for (uint32_t i = 0; i < 1000; i++) {                                                                              \
        const uint##bits##_t code = (uint##bits##_t)irist_random(irist_seed(), IRIS_##D, i);                           \
        wrong += irisi_bits_##d(irisi_unbits_##d(code)) != code;                                                       \
    }

} // namespace

TEST_CASE("loads and stores of every dtype move exactly their elements", "[memory]"){
#define IRIST_SECTION(d, D, ctype, bits, kind, acc)                                                                    \
    SECTION(#d)                                                                                                        \
    {                                                                                                                  \
        const int dtype = IRIS_##D;                                                                                    \
        irist_spmd(move, &dtype);                                                                                      \
    }
    IRIST_EACH_SAMPLE(IRIST_SECTION)}

TEST_CASE("values survive as bits, NaNs included", "[memory]")
{
    uint32_t wrong = 0;
    IRIST_EACH_SAMPLE(IRIST_BITS_CASE)
    CHECK(wrong == 0);
}
