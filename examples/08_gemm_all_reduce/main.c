/* SPDX-License-Identifier: MIT */
/*
 * A layer whose weights are split by rows: C = A * B + residual, where each rank has some columns of A and the same
 * rows of B. Every rank computes its part of all sums, and every rank gets the whole C.
 */
/* Kernels of all patterns, for --pattern; without, of those that the library may choose. */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F32
#include <iris/gen/launch/gemm_all_reduce.h>

#include "../layer.h"

enum { A, B, RESIDUAL };

static int check(iris_world *w, const options *o, const void *c)
{
    const iris_gemm_columns all = {0, o->n};
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n),
                 residual = matrix_of(o, RESIDUAL, o->m, o->n);
    float *columns = transposed(&b, all);
    double *row = (double *)malloc(o->k * sizeof *row);
    verdict v = {0, 0, 0, 0, 0, 0};
    for (uint32_t s = 0; s < checked_rows(o->m) && columns && row; s++) {
        const uint32_t i = row_of(s, o->m);
        for (uint32_t k = 0; k < o->k; k++)
            row[k] = element(&a, i, k);
        for (uint32_t j = 0; j < o->n; j++) {
            product p = dot(row, columns + (size_t)j * o->k, o->k, (uint32_t)iris_world_size(w));
            const double added = element(&residual, i, j), want = p.sum + added;
            p.terms += fabs(added);
            judge(&v, i, j, at(o->dtype, c, (size_t)i * o->n + j), want, tolerance(o->dtype, o->k, &p, want));
        }
    }
    const int made = columns && row;
    free(row), free(columns);
    IRIS_TRY(made ? IRIS_OK : IRIS_ERR_NOMEM);
    return differs(w, c, (size_t)o->m * o->n * iris_dtype_bytes(o->dtype), "C") || told(w, &v, "C");
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const iris_gemm_rows part = iris_gemm_shard(o->k, world, rank), all_rows = {0, o->m}; /* of K: it may be empty */
    const iris_gemm_columns part_columns = {part.first, part.count}, all_columns = {0, o->n};
    const size_t bytes = iris_dtype_bytes(o->dtype), longest = iris_gemm_shard(o->k, world, 0).count;
    const size_t c_bytes = (size_t)o->m * o->n * bytes;
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n),
                 residual = matrix_of(o, RESIDUAL, o->m, o->n);
    /* Allocations are the same on every rank, and of a length for the longest part. */
    void *own_a = iris_malloc(w, o->m * longest * bytes), *own_b = iris_malloc(w, longest * o->n * bytes);
    void *c = iris_malloc(w, c_bytes), *added = iris_malloc(w, c_bytes);
    iris_gemm_args g;
    iris_gemm_plan plan;
    IRIS_TRY(own_a && own_b && c && added ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(upload(w, own_a, &a, all_rows, part_columns));
    IRIS_TRY(upload(w, own_b, &b, part, all_columns));
    IRIS_TRY(upload(w, added, &residual, all_rows, all_columns));
    IRIS_TRY(iris_memset(w, c, 0xFF, c_bytes)); /* NaN: what is not written is seen */

    memset(&g, 0, sizeof g);
    g.m = o->m, g.n = o->n, g.k = part.count;
    g.a = own_a, g.b = own_b, g.c = c;
    g.beta = 1, g.residual = added;
    g.pattern = o->pattern;
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_REDUCE, o->dtype, &g));
    if (o->dtype == IRIS_BF16)
        IRIS_TRY(iris_gemm_all_reduce_bf16(w, &plan, iris_default_stream(w)));
    else
        IRIS_TRY(iris_gemm_all_reduce_f32(w, &plan, iris_default_stream(w)));

    void *result = download(w, c, c_bytes);
    IRIS_TRY(iris_gemm_release(w, &plan));
    const int failed = result == NULL || check(w, o, result);
    free(result);
    return failed;
}

int main(int argc, char **argv)
{
    options o;
    const int status = parse_more(&o, argc, argv, "GEMM + all-reduce: sums over all ranks, on every rank.",
                                  "C is M x N, and K is split over the ranks", 'p', NULL);
    if (status >= 0)
        return status;
    const size_t m = o.m, n = o.n, k = o.k;
    const size_t slots = (size_t)o.ranks * iris_gemm_shard(o.m, (uint32_t)o.ranks, 0).count; /* rows of the workspace */
    const iris_config config = heap_for(&o, m * (k + 128) + k * n + 2 * m * n + slots * (n + 64));
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
