/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/gen/put_signal.h>: iris_put_signal of every dtype by a lane, a wave and a workgroup. Who waits for the
 * signal sees the data: the receiver copies each piece as soon as its signal is there, and the copy must be right too.
 */
#include "transfer.h"

#include <iris/gen/wait.h>

namespace {

enum { SET, ADD };

const char *const names[][IRIST_GROUPS] = {
    {"put_signal set", "put_signal_wave set", "put_signal_wg set"},
    {"put_signal add", "put_signal_wave add", "put_signal_wg add"},
};

template <typename V, int G> IRIS_DEVICE void send(const irist_transfer *a, uint64_t k)
{
    const irist_piece p = a->pieces[k];
    typename V::type *dst = (typename V::type *)(a->dst + p.dst);
    const typename V::type *src = (const typename V::type *)(a->src + p.src);
    if (a->op == SET)
        V::template put_signal<G>(&a->ctx, dst, src, p.n, a->signals + k, a->epoch, IRIS_SIGNAL_SET, a->to);
    else
        V::template put_signal<G>(&a->ctx, dst, src, p.n, a->signals + k, 1, IRIS_SIGNAL_ADD, a->to);
}

template <typename V> IRIS_DEVICE void irist_chosen(const irist_transfer *a)
{
    if (a->group == IRIST_LANE) {
        for (uint64_t k = iris_grid_lane(); k < a->n_pieces; k += iris_grid_lanes())
            send<V, IRIST_LANE>(a, k);
    } else if (a->group == IRIST_WAVE) {
        const uint64_t waves = (uint64_t)iris_workgroups() * iris_waves();
        for (uint64_t k = (uint64_t)iris_workgroup() * iris_waves() + iris_wave(); k < a->n_pieces; k += waves)
            send<V, IRIST_WAVE>(a, k);
    } else {
        for (uint64_t k = iris_workgroup(); k < a->n_pieces; k += iris_workgroups())
            send<V, IRIST_WG>(a, k);
    }
}

IRIS_KERNEL(put_signal_kernel, irist_transfer, a, 256)
{
    switch (a->dtype) {
        IRIST_EACH_SAMPLE(IRIST_DTYPE_CASE)
    }
    for (uint64_t k = iris_workgroup(); k < a->n_pieces; k += iris_workgroups()) {
        iris_wait_ge_wg(&a->ctx, a->signals + k, a->epoch);
        const irist_piece p = a->pieces[k];
        const uint64_t bytes = p.n * a->element;
        for (uint64_t i = iris_wg_lane(); i < bytes; i += iris_wg_lanes())
            a->seen[p.dst + i] = a->dst[p.dst + i];
    }
}

void send_all(irist_rank *t)
{
    irist_areas areas(t, *(const int *)t->arg, false);
    irist_transfer *args = &areas.args;
    for (args->op = SET; args->op <= ADD; args->op++) {
        for (args->group = 0; args->group < IRIST_GROUPS; args->group++) {
            for (int distance = 0; distance < irist_distances(t) && !t->failures; distance++) {
                const char *name = names[args->op][args->group];
                args->epoch++;
                args->to = (t->rank + distance) % t->ranks;
                const int from = (t->rank + t->ranks - distance) % t->ranks;
                irist_upload(t, args->dst, areas.poison);
                irist_upload(t, args->seen, areas.poison);
                irist_meet(t);
                irist_delay(t, args->epoch);
                irist_run(t, put_signal_kernel, *args, iris_cooperative(3, irist_lanes(args->group)));
                irist_meet(t);
                areas.compare(t, name, from);
                irist_check(t, irist_download(t, args->seen, areas.area) == areas.expected(t, from),
                            "%s %s: after the wait the data was not there", name,
                            iris_dtype_name((iris_dtype)args->dtype));
            }
        }
        /* The adds of the next round start from 0 again. */
        irist_ok(t, iris_memset(t->world, args->signals, 0, args->n_pieces * sizeof(iris_signal)));
        args->epoch = 0;
        irist_meet(t);
    }
    areas.free(t);
}

} // namespace

TEST_CASE("a put is complete when its signal is seen, for every dtype and group", "[memory]")
{
#define IRIST_SECTION(d, D, ctype, bits, kind, acc)                                                                    \
    SECTION(#d)                                                                                                        \
    {                                                                                                                  \
        const int dtype = IRIS_##D;                                                                                    \
        irist_spmd(send_all, &dtype);                                                                                  \
    }
    IRIST_EACH_SAMPLE(IRIST_SECTION)
}
