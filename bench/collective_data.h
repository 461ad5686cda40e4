/* SPDX-License-Identifier: MIT */
/*
 * collective_data.h: inputs of collectives of bf16, and a look at every element of a result, on the device. For a file
 * with kernels.
 *
 *   fill right
 */
#ifndef IRIS_BENCH_COLLECTIVE_DATA_H
#define IRIS_BENCH_COLLECTIVE_DATA_H

#include "collective_kinds.h"

/* Rank r's element i: whole numbers so small that bf16 holds their sums. */
IRIS_HOST_DEVICE float element(int rank, size_t i) { return (float)((uint32_t)(i * 7 + (size_t)rank * 3) % 13); }

/* Fills a source, or compares a part of a result, on the device. */
typedef struct data_args {
    iris_bf16 *at;
    size_t n;
    int rank, ranks; /* more than 1: elements of so many ranks from `rank` on are added up */
    size_t first;    /* of the source, where `at` begins */
    uint64_t *wrong;
} data_args;

IRIS_KERNEL(fill_source, data_args, a, 512)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->at[i] = iris_narrow_bf16(element(a->rank, i));
}
IRIS_KERNEL(compare_result, data_args, a, 512)
{
    uint64_t wrong = 0;
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes()) {
        float want = 0;
        for (int r = 0; r < a->ranks; r++)
            want += element(a->rank + r, a->first + i);
        wrong += iris_widen_bf16(a->at[i]) != want;
    }
    if (wrong)
        irisi_atomic_add_u64(a->wrong, wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* 1 once the own kernel is done. */
static int on_data(bench *b, irisi_kernel kernel, const char *name, const data_args *a)
{
    const iris_launch_config all = iris_grid(4 * (uint32_t)iris_compute_units(b->w), 512);
    const iris_status status = irisi_launch(b->w, kernel, name, a, sizeof *a, &all, NULL);
    if (status == IRIS_OK && iris_synchronize(b->w) == IRIS_OK)
        return 1;
    fprintf(stderr, "%s: %s\n", name, iris_error_string(b->w));
    return 0;
}

/* Fills a source, once for all collectives: none changes its own. 1 when every rank has. */
static int fill(bench *b, void *src, size_t elements)
{
    data_args a;
    memset(&a, 0, sizeof a);
    a.at = (iris_bf16 *)src, a.n = elements, a.rank = iris_rank(b->w);
    return iris_bench_all_ok(b->w, on_data(b, IRISI_KERNEL_PTR(fill_source), "fill_source", &a));
}

/* 1 when every element of dst is right, on every rank. */
static int right(bench *b, const work *x, void *dst)
{
    const int ranks = iris_world_size(b->w);
    uint64_t wrong = 0;
    int ok = iris_memset(b->w, x->wrong, 0, sizeof wrong) == IRIS_OK;
    for (int from = 0; from < ranks; from++) {
        const part p = part_of(x->k, x->c.count, ranks, from, iris_rank(b->w));
        data_args a;
        memset(&a, 0, sizeof a);
        a.at = (iris_bf16 *)dst + p.at, a.n = p.count, a.first = p.first, a.wrong = x->wrong;
        a.rank = p.from, a.ranks = x->k->reduces ? ranks : 1;
        ok = (p.count == 0 || on_data(b, IRISI_KERNEL_PTR(compare_result), "compare_result", &a)) && ok;
    }
    ok = iris_memcpy(b->w, &wrong, x->wrong, sizeof wrong) == IRIS_OK && ok && wrong == 0;
    return iris_bench_all_ok(b->w, ok);
}

#endif
