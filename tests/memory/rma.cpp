/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/rma.h> and <iris/bytes.h>: iris_put, iris_get and iris_copy of every dtype by a lane, a wave and a
 * workgroup, with every pair of alignments.
 */
#include "transfer.h"

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
