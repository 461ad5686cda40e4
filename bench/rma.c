/* SPDX-License-Identifier: MIT */
/*
 * rma.c: loads, stores, puts, gets, atomics, signals and barriers between ranks, beside hand-written kernels of the
 * same run. Bandwidths are for rank 0 and 1 alone ("pair") or all ranks at once ("all"); latencies are round trips.
 */
#include "bench.h"

#include <iris/ll.h>

enum { LAPS = 5000, MOST = 8 };

/* 16 bytes as a hand-written kernel would move them. */
typedef struct hand_vec {
    IRISI_ALIGN(16) uint32_t w[4];
} hand_vec;

typedef struct rma_args {
    iris_ctx ctx;
    iris_channel ch, ll; /* of the two barriers */
    uint32_t *src, *dst; /* symmetric */
    hand_vec *hand_from, *hand_to;
    hand_vec *all_from[MOST], *all_to[MOST]; /* what rank k after this one is sent from and to */
    iris_signal *signal;
    iris_ll_packet *slot; /* symmetric: one packet */
    uint64_t *lap, *word; /* own: laps so far; symmetric: target of atomics */
    size_t n;             /* u32 elements */
    int pair, peer;
} rma_args;

/* A workgroup's share of n elements, in whole 16-byte chunks. */
IRIS_DEVICE size_t share_first(const rma_args *a, size_t wg)
{
    const size_t each = (a->n / 4 + iris_workgroups() - 1) / iris_workgroups() * 4;
    return each * wg < a->n ? each * wg : a->n;
}
IRIS_DEVICE int idle(const rma_args *a) { return a->pair && a->ctx.rank != 0; }

IRIS_KERNEL(put, rma_args, a, 1024)
{
    const size_t first = share_first(a, iris_workgroup()), end = share_first(a, iris_workgroup() + 1);
    if (!idle(a))
        iris_put_u32_wg(&a->ctx, a->dst + first, a->src + first, end - first, a->peer);
}
IRIS_KERNEL(get, rma_args, a, 1024)
{
    const size_t first = share_first(a, iris_workgroup()), end = share_first(a, iris_workgroup() + 1);
    if (!idle(a))
        iris_get_u32_wg(&a->ctx, a->dst + first, a->src + first, end - first, a->peer);
}
IRIS_KERNEL(copy, rma_args, a, 1024)
{
    const size_t first = share_first(a, iris_workgroup()), end = share_first(a, iris_workgroup() + 1);
    if (!idle(a))
        iris_copy_u32_wg(&a->ctx, a->dst + first, a->src + first, end - first, a->peer, a->ctx.rank);
}
/* One vector a lane at a time is the user's loop: four loads are under way before the first store. */
IRIS_DEVICE void move_vectors(const rma_args *a, int to, int from)
{
    const size_t step = 4 * iris_grid_lanes();
    size_t i = 4 * iris_grid_lane();
    for (; i + 3 * step < a->n; i += 4 * step) {
        const iris_vec_u32 v0 = iris_load_vec_u32(&a->ctx, a->src + i, from, IRIS_CACHE_DEFAULT);
        const iris_vec_u32 v1 = iris_load_vec_u32(&a->ctx, a->src + i + step, from, IRIS_CACHE_DEFAULT);
        const iris_vec_u32 v2 = iris_load_vec_u32(&a->ctx, a->src + i + 2 * step, from, IRIS_CACHE_DEFAULT);
        const iris_vec_u32 v3 = iris_load_vec_u32(&a->ctx, a->src + i + 3 * step, from, IRIS_CACHE_DEFAULT);
        iris_store_vec_u32(&a->ctx, a->dst + i, v0, to, IRIS_CACHE_DEFAULT);
        iris_store_vec_u32(&a->ctx, a->dst + i + step, v1, to, IRIS_CACHE_DEFAULT);
        iris_store_vec_u32(&a->ctx, a->dst + i + 2 * step, v2, to, IRIS_CACHE_DEFAULT);
        iris_store_vec_u32(&a->ctx, a->dst + i + 3 * step, v3, to, IRIS_CACHE_DEFAULT);
    }
    for (; i < a->n; i += step)
        iris_store_vec_u32(&a->ctx, a->dst + i, iris_load_vec_u32(&a->ctx, a->src + i, from, IRIS_CACHE_DEFAULT), to,
                           IRIS_CACHE_DEFAULT);
}
IRIS_KERNEL(store, rma_args, a, 1024)
{
    if (!idle(a))
        move_vectors(a, a->peer, a->ctx.rank);
}
IRIS_KERNEL(load, rma_args, a, 1024)
{
    if (!idle(a))
        move_vectors(a, a->ctx.rank, a->peer);
}
IRIS_KERNEL(all_store, rma_args, a, 1024)
{
    const size_t first = share_first(a, iris_workgroup()), end = share_first(a, iris_workgroup() + 1);
    for (int k = 1; k < a->ctx.world; k++)
        iris_put_u32_wg(&a->ctx, a->dst + (size_t)a->ctx.rank * a->n + first, a->src + first, end - first,
                        (a->ctx.rank + k) % a->ctx.world);
}
IRIS_KERNEL(all_load, rma_args, a, 1024)
{
    const size_t first = share_first(a, iris_workgroup()), end = share_first(a, iris_workgroup() + 1);
    for (int k = 1; k < a->ctx.world; k++) {
        const int rank = (a->ctx.rank + k) % a->ctx.world;
        iris_get_u32_wg(&a->ctx, a->dst + (size_t)rank * a->n + first, a->src + first, end - first, rank);
    }
}

/* The hand-written kernels: four 16-byte loads, four 16-byte stores, grid-stride; addresses made on the host. */
IRIS_DEVICE void hand_move(hand_vec *to, const hand_vec *from, size_t n)
{
    const size_t step = iris_grid_lanes();
    size_t i = iris_grid_lane();
    for (; i + 3 * step < n; i += 4 * step) {
        const hand_vec v0 = from[i], v1 = from[i + step], v2 = from[i + 2 * step], v3 = from[i + 3 * step];
        to[i] = v0;
        to[i + step] = v1;
        to[i + 2 * step] = v2;
        to[i + 3 * step] = v3;
    }
    for (; i < n; i += step)
        to[i] = from[i];
}
IRIS_KERNEL(hand, rma_args, a, 1024)
{
    if (!idle(a))
        hand_move(a->hand_to, a->hand_from, a->n / 4);
}

/* To (or from) every peer at once: element by element, so that all links are busy from the first on. */
IRIS_KERNEL(hand_all, rma_args, a, 1024)
{
    const size_t step = iris_grid_lanes(), n = a->n / 4;
    size_t i = iris_grid_lane();
    for (; i + step < n; i += 2 * step)
        for (int k = 1; k < a->ctx.world; k++) {
            const hand_vec v0 = a->all_from[k][i], v1 = a->all_from[k][i + step];
            a->all_to[k][i] = v0;
            a->all_to[k][i + step] = v1;
        }
    for (; i < n; i += step)
        for (int k = 1; k < a->ctx.world; k++)
            a->all_to[k][i] = a->all_from[k][i];
}

/* Rank 0 and 1 in turn, LAPS times; the count of laps goes on from launch to launch, since signals never go back. */
IRIS_KERNEL(ping, rma_args, a, 64)
{
    const uint64_t base = *a->lap;
    if (a->ctx.rank < 2 && iris_wg_lane() == 0)
        for (uint64_t lap = base + 1; lap <= base + LAPS; lap++) {
            if (a->ctx.rank == 0)
                iris_signal_set(&a->ctx, a->signal, lap, a->peer);
            iris_wait_ge(&a->ctx, a->signal, lap);
            if (a->ctx.rank == 1)
                iris_signal_set(&a->ctx, a->signal, lap, a->peer);
        }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + LAPS;
}
IRIS_KERNEL(hand_ping, rma_args, a, 64)
{
    const uint64_t base = *a->lap;
    uint64_t *there = (uint64_t *)iris_at(&a->ctx, a->signal, a->peer);
    const uint64_t *here = &a->signal->value;
    if (a->ctx.rank < 2 && iris_wg_lane() == 0)
        for (uint64_t lap = base + 1; lap <= base + LAPS; lap++) {
            if (a->ctx.rank == 0)
                irisi_raise_set(there, lap);
            while (irisi_poll(here) < lap)
                iris_pause(0);
            irisi_acquired();
            if (a->ctx.rank == 1)
                irisi_raise_set(there, lap);
        }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + LAPS;
}
IRIS_KERNEL(ping_ll, rma_args, a, 64)
{
    const uint64_t base = *a->lap;
    if (a->ctx.rank < 2 && iris_wg_lane() == 0)
        for (uint64_t lap = base + 1; lap <= base + LAPS; lap++) {
            if (a->ctx.rank == 0)
                iris_ll_send(&a->ctx, a->slot, (uint32_t)lap, iris_ll_flag(lap), a->peer);
            const uint32_t seen = iris_ll_receive(&a->ctx, a->slot, iris_ll_flag(lap), a->peer);
            if (a->ctx.rank == 1)
                iris_ll_send(&a->ctx, a->slot, seen, iris_ll_flag(lap), a->peer);
        }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + LAPS;
}
IRIS_KERNEL(ping_put, rma_args, a, 1024)
{
    const uint64_t base = *a->lap;
    for (uint64_t lap = base + 1; lap <= base + LAPS && a->ctx.rank < 2; lap++) {
        if (a->ctx.rank == 0)
            iris_put_signal_u32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, lap, IRIS_SIGNAL_SET, a->peer);
        iris_wait_ge_wg(&a->ctx, a->signal, lap);
        if (a->ctx.rank == 1)
            iris_put_signal_u32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, lap, IRIS_SIGNAL_SET, a->peer);
    }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + LAPS;
}
IRIS_DEVICE void hand_send(const rma_args *a, uint64_t lap)
{
    hand_move(a->hand_to, a->hand_from, a->n / 4);
    irisi_drain();
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_raise_set((uint64_t *)iris_at(&a->ctx, a->signal, a->peer), lap);
}
IRIS_KERNEL(hand_ping_put, rma_args, a, 1024)
{
    const uint64_t base = *a->lap;
    for (uint64_t lap = base + 1; lap <= base + LAPS && a->ctx.rank < 2; lap++) {
        if (a->ctx.rank == 0)
            hand_send(a, lap);
        if (iris_wg_lane() == 0)
            while (irisi_poll(&a->signal->value) < lap)
                iris_pause(0);
        irisi_acquired();
        iris_sync_wg();
        if (a->ctx.rank == 1)
            hand_send(a, lap);
    }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        *a->lap = base + LAPS;
}
IRIS_KERNEL(barrier, rma_args, a, 64)
{
    for (int lap = 0; lap < LAPS; lap++)
        iris_barrier_all_wg(&a->ctx, &a->ch);
}
IRIS_KERNEL(ll_barrier, rma_args, a, 64)
{
    for (int lap = 0; lap < LAPS; lap++)
        iris_ll_barrier_wg(&a->ctx, &a->ll);
}
IRIS_KERNEL(atomic_add, rma_args, a, 1024)
{
    if (!idle(a))
        for (int lap = 0; lap < LAPS; lap++)
            iris_atomic_add_u64(&a->ctx, a->word + iris_wg_lane(), 1, a->peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}
IRIS_KERNEL(atomic_xchg, rma_args, a, 1024)
{
    uint64_t seen = 0;
    if (!idle(a))
        for (int lap = 0; lap < LAPS; lap++)
            seen += iris_atomic_xchg_u64(&a->ctx, a->word + iris_wg_lane(), seen + (uint64_t)lap, a->peer, IRIS_RELAXED,
                                         IRIS_SCOPE_SYSTEM);
    a->word[1024 + iris_wg_lane()] = seen;
}

/* dst holds what `from` has in src: spot checks, every element of small messages. */
static int arrived(iris_world *w, const uint32_t *dst, size_t n, int from)
{
    uint32_t seen[4096];
    const size_t step = n / 16 > 4096 ? n / 16 : 4096;
    for (size_t first = 0; first < n; first += step) {
        const size_t count = n - first < 4096 ? n - first : 4096;
        if (iris_download_u32(w, seen, dst + first, count) != IRIS_OK)
            return 0;
        for (size_t i = 0; i < count; i++)
            if (seen[i] != (uint32_t)from * 0x01000193u + (uint32_t)(first + i))
                return 0;
    }
    return 1;
}

static int all_ok(iris_world *w, int ok)
{
    int all[64];
    if (iris_allgather(w, &ok, all, sizeof ok) != IRIS_OK)
        return 0;
    for (int r = 0; r < iris_world_size(w); r++)
        ok &= all[r];
    return ok;
}

typedef struct bandwidth {
    const char *name;
    irisi_kernel kernel;
    int all;  /* every rank at once, to or from every other */
    int pull; /* the data comes from the peer */
} bandwidth;

static int run_bandwidth(iris_world *w, const bench_options *o, bench_file *f, rma_args *a, const bandwidth *c,
                         uint32_t workgroups, uint32_t lanes)
{
    const int world = iris_world_size(w), rank = iris_rank(w);
    iris_launch_config cfg = iris_grid(workgroups, lanes);
    bench_row row;
    memset(&row, 0, sizeof row);
    a->pair = !c->all;
    if (iris_memset(w, a->dst, 0xEE, (c->all ? (size_t)world : 1) * a->n * 4) != IRIS_OK)
        return 1;
    row.us = bench_time(w, o, c->kernel, c->name, a, sizeof *a, &cfg);
    if (row.us < 0)
        return 1;
    row.ok = 1;
    if (c->all)
        for (int from = 0; from < world; from++)
            row.ok &= from == rank || arrived(w, a->dst + (size_t)from * a->n, a->n, from);
    else if (rank == (c->pull ? 0 : 1))
        row.ok = arrived(w, a->dst, a->n, c->pull ? a->peer : 0);
    row.ok = all_ok(w, row.ok);
    row.name = c->name, row.dtype = "u32", row.variant = c->all ? "all" : "pair";
    row.bytes = 4 * a->n * (c->all ? (size_t)(world - 1) : 1);
    row.gbps = 1e-3 * (double)row.bytes / row.us;
    row.workgroups = (int)workgroups, row.lanes = (int)lanes;
    row.ceiling = -1;
    if (c->all && world > 1) {
        for (int k = 1; k < world; k++) {
            const int peer = (rank + k) % world;
            uint32_t *slot = a->dst + (size_t)(c->pull ? peer : rank) * a->n;
            a->all_from[k] = (hand_vec *)(c->pull ? iris_translate(w, a->src, peer) : a->src);
            a->all_to[k] = (hand_vec *)(c->pull ? slot : iris_translate(w, slot, peer));
        }
        const double us = bench_launch(w, o, hand_all, *a, &cfg);
        if (us < 0)
            return 1;
        row.ceiling = 1e-3 * (double)row.bytes / us;
    } else if (!c->all) {
        a->hand_from = (hand_vec *)(c->pull ? iris_translate(w, a->src, a->peer) : a->src);
        a->hand_to = (hand_vec *)(c->pull ? a->dst : iris_translate(w, a->dst, a->peer));
        const double us = bench_launch(w, o, hand, *a, &cfg);
        if (us < 0)
            return 1;
        row.ceiling = 1e-3 * (double)row.bytes / us;
    }
    bench_put(f, &row);
    return 0;
}

static int run_latency(iris_world *w, const bench_options *o, bench_file *f, rma_args *a, const char *name,
                       irisi_kernel kernel, irisi_kernel by_hand, uint32_t lanes, size_t bytes)
{
    iris_launch_config cfg = iris_cooperative(1, lanes);
    bench_row row;
    memset(&row, 0, sizeof row);
    a->n = bytes / 4;
    a->hand_from = (hand_vec *)a->src;
    a->hand_to = (hand_vec *)iris_translate(w, a->dst, a->peer);
    row.us = bench_time(w, o, kernel, name, a, sizeof *a, &cfg) / LAPS;
    row.ceiling = by_hand ? bench_time(w, o, by_hand, "by hand", a, sizeof *a, &cfg) / LAPS : -1;
    if (row.us < 0 || (by_hand && row.ceiling < 0))
        return 1;
    row.ok = all_ok(w, iris_rank(w) > 1 || bytes == 0 || arrived(w, a->dst, a->n, 1 - iris_rank(w)));
    row.name = name, row.dtype = "u32", row.variant = "latency", row.bytes = bytes;
    row.gbps = -1, row.workgroups = 1, row.lanes = (int)lanes;
    bench_put(f, &row);
    return 0;
}

static int run_all(iris_world *w, const bench_options *o, bench_file *f, rma_args *a, size_t room)
{
    static const bandwidth cases[] = {
        {"put", IRISI_KERNEL_PTR(put), 0, 0},          {"get", IRISI_KERNEL_PTR(get), 0, 1},
        {"copy", IRISI_KERNEL_PTR(copy), 0, 0},        {"store", IRISI_KERNEL_PTR(store), 0, 0},
        {"load", IRISI_KERNEL_PTR(load), 0, 1},        {"all_store", IRISI_KERNEL_PTR(all_store), 1, 0},
        {"all_load", IRISI_KERNEL_PTR(all_load), 1, 1}};
    static const uint32_t grids[][2] = {{1, 256},  {4, 256},   {1, 1024}, {4, 1024}, {8, 1024},  {12, 1024}, {16, 256},
                                        {16, 512}, {16, 1024}, {32, 512}, {64, 256}, {132, 256}, {264, 256}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (o->only && strcmp(o->only, cases[c].name) != 0)
            continue;
        for (size_t bytes = o->min_bytes; bytes <= o->max_bytes; bytes *= 16)
            for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
                if (iris_compute_units(w) < 16 && (grids[g][0] > 8 || grids[g][1] > 256))
                    continue; /* the host: threads beyond its cores say nothing */
                a->n = bytes / 4;
                if (a->n * 4 * (cases[c].all ? (size_t)iris_world_size(w) : 1) <= room &&
                    run_bandwidth(w, o, f, a, &cases[c], grids[g][0], grids[g][1]))
                    return 1;
            }
    }
    if (o->only && strcmp(o->only, "latency") != 0)
        return 0;
    if (run_latency(w, o, f, a, "signal", IRISI_KERNEL_PTR(ping), IRISI_KERNEL_PTR(hand_ping), 64, 0) ||
        run_latency(w, o, f, a, "ll", IRISI_KERNEL_PTR(ping_ll), NULL, 64, 0) ||
        run_latency(w, o, f, a, "ll_barrier", IRISI_KERNEL_PTR(ll_barrier), NULL, 64, 0) ||
        run_latency(w, o, f, a, "barrier", IRISI_KERNEL_PTR(barrier), NULL, 64, 0) ||
        run_latency(w, o, f, a, "atomic_add", IRISI_KERNEL_PTR(atomic_add), NULL, 256, 0) ||
        run_latency(w, o, f, a, "atomic_xchg", IRISI_KERNEL_PTR(atomic_xchg), NULL, 256, 0))
        return 1;
    for (size_t bytes = 512; bytes <= 65536; bytes *= 2)
        if (run_latency(w, o, f, a, "put_signal", IRISI_KERNEL_PTR(ping_put), IRISI_KERNEL_PTR(hand_ping_put), 512,
                        bytes))
            return 1;
    return 0;
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    const size_t room = 4 * o->max_bytes > 1 << 20 ? 4 * o->max_bytes : 1 << 20;
    bench_file f;
    rma_args a;
    memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(w);
    a.src = iris_arange_u32(w, o->max_bytes / 4 + 16384, (uint32_t)iris_rank(w) * 0x01000193u, 1);
    a.dst = iris_empty_u32(w, room / 4 + 16384);
    a.signal = iris_signals(w, 1);
    a.lap = iris_zeros_u64(w, 1);
    a.word = (uint64_t *)iris_signals(w, 2048);
    a.slot = (iris_ll_packet *)(void *)iris_signals(w, 1);
    a.peer = iris_rank(w) == 0 && iris_world_size(w) > 1 ? 1 : 0;
    IRIS_TRY(iris_channel_create(w, &a.ch, (size_t)iris_world_size(w), 0));
    IRIS_TRY(iris_channel_create(w, &a.ll, 0, 8 * (size_t)iris_world_size(w)));
    IRIS_TRY(iris_barrier(w));
    if (!a.src || !a.dst || !a.signal || !a.lap || !a.word || !a.slot) {
        fprintf(stderr, "%s\n", iris_error_string(w));
        return 1;
    }
    if (bench_open(&f, w, o, "rma"))
        return 1;
    const int failed = run_all(w, o, &f, &a, room);
    return bench_close(&f) || failed;
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 2, o.repeats = 20, o.warmup = 3, o.min_bytes = 4096, o.max_bytes = 1 << 20;
    bench_parse(&o, argc, argv, "rma: what one rank can do to another, and how fast");
    if (o.ranks > MOST) {
        fprintf(stderr, "rma: at most %d ranks\n", MOST);
        return 2;
    }
    config.heap_bytes = 6 * o.max_bytes + (8u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
