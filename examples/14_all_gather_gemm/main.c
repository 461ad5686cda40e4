/* SPDX-License-Identifier: MIT */
/*
 * A layer whose weights are split by columns, on activations that are spread over the ranks by rows: C = silu(A * B).
 * Each rank has some rows of A and some columns of B; it gathers all rows, and computes its columns of C.
 */
/* Kernels of all patterns, for --pattern; without, of those that the library may choose. */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F32
#include <iris/gen/launch/gemm_all_gather.h>

#include "../layer.h"

enum { A, B };

static int check(iris_world *w, const options *o, const void *c)
{
    const iris_gemm_columns own = iris_gemm_band(o->n, (uint32_t)iris_world_size(w), (uint32_t)iris_rank(w));
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n);
    float *columns = transposed(&b, own);
    double *row = (double *)malloc(o->k * sizeof *row);
    verdict v = {0, 0, 0, 0, 0, 0};
    for (uint32_t s = 0; s < checked_rows(o->m) && columns && row; s++) {
        const uint32_t i = row_of(s, o->m);
        for (uint32_t k = 0; k < o->k; k++)
            row[k] = element(&a, i, k);
        for (uint32_t j = 0; j < own.count; j++) {
            const product p = dot(row, columns + (size_t)j * o->k, o->k, 1);
            const double want = p.sum / (1 + exp(-p.sum));
            /* The slope of silu is at most 1.1, and its own rounding in f32 is a few units of the sum's. */
            judge(&v, i, own.first + j, at(o->dtype, c, (size_t)i * own.count + j), want,
                  1.25 * tolerance(o->dtype, o->k, &p, p.sum));
        }
    }
    const int made = columns && row;
    free(row), free(columns);
    IRIS_TRY(made ? IRIS_OK : IRIS_ERR_NOMEM);
    return told(w, &v, "C");
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w);
    const iris_gemm_rows rows = iris_gemm_shard(o->m, world, rank), all_rows = {0, o->k}; /* of A; of B */
    const iris_gemm_columns columns = iris_gemm_band(o->n, world, rank), all_columns = {0, o->k};
    const size_t bytes = iris_dtype_bytes(o->dtype);
    const size_t most = iris_gemm_shard(o->m, world, 0).count, widest = iris_gemm_band(o->n, world, 0).count;
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n);
    /* Allocations are the same on every rank: those of rank 0, which has the most. */
    void *own_a = iris_malloc(w, most * o->k * bytes), *own_b = iris_malloc(w, o->k * widest * bytes);
    void *c = iris_malloc(w, o->m * widest * bytes);
    iris_gemm_args g;
    iris_gemm_plan plan;
    IRIS_TRY(own_a && own_b && c ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(upload(w, own_a, &a, rows, all_columns));
    IRIS_TRY(upload(w, own_b, &b, all_rows, columns));
    IRIS_TRY(iris_memset(w, c, 0xFF, o->m * widest * bytes)); /* NaN: what is not written is seen */

    memset(&g, 0, sizeof g);
    g.m = o->m, g.n = o->n, g.k = o->k; /* of the whole product, on every rank */
    g.a = own_a, g.b = own_b, g.c = c;
    g.activation = IRIS_ACTIVATION_SILU;
    g.pattern = o->pattern;
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_GATHER, o->dtype, &g));
    if (o->dtype == IRIS_BF16)
        IRIS_TRY(iris_gemm_all_gather_bf16(w, &plan, iris_default_stream(w)));
    else
        IRIS_TRY(iris_gemm_all_gather_f32(w, &plan, iris_default_stream(w)));

    void *result = download(w, c, (size_t)o->m * columns.count * bytes);
    IRIS_TRY(iris_gemm_release(w, &plan));
    const int failed = result == NULL || check(w, o, result);
    free(result);
    return failed;
}

int main(int argc, char **argv)
{
    options o;
    const int status = parse_more(&o, argc, argv, "All-gather + GEMM: rows of A from all ranks, own columns of C.",
                                  "A is M x K, split by rows; B is K x N, split by columns", 'p', NULL);
    if (status >= 0)
        return status;
    const size_t m = o.m, n = o.n, k = o.k;
    const iris_config config = heap_for(&o, 2 * m * (k + 128) + (m + k) * (n + 16));
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
