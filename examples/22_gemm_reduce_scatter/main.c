/* SPDX-License-Identifier: MIT */
/*
 * A layer whose weights are split by rows, and whose output is spread over the ranks by rows: C = 1/2 A * B + bias.
 * Each rank has some columns of A and the same rows of B, computes its part of all sums, and gets some rows of C. With
 * --weight-gradient it has some tokens: rows of X, which is A transposed, and of dY, which is B; C = 1/2 X^T dY is the
 * gradient of the weights, each rank's rows of it the sums over all tokens.
 */
/* Kernels of all patterns, for --pattern; without, of those that the library may choose. */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include "../layer.h"

enum { A, B, BIAS };

/* The matrix that A is given as: M x K, or K x M. */
static matrix a_of(const options *o)
{
    return o->weight_gradient ? matrix_of(o, A, o->k, o->m) : matrix_of(o, A, o->m, o->k);
}

static int check(iris_world *w, const options *o, const void *c)
{
    const uint32_t world = (uint32_t)iris_world_size(w);
    const iris_gemm_rows own = iris_gemm_shard(o->m, world, (uint32_t)iris_rank(w));
    const iris_gemm_columns all = {0, o->n};
    const matrix a = a_of(o), b = matrix_of(o, B, o->k, o->n), bias = matrix_of(o, BIAS, 1, o->n);
    float *columns = transposed(&b, all);
    double *row = (double *)malloc(o->k * sizeof *row);
    verdict v = {0, 0, 0, 0, 0, 0};
    for (uint32_t s = 0; s < checked_rows(own.count) && columns && row; s++) {
        const uint32_t i = row_of(s, own.count); /* of the own rows */
        for (uint32_t k = 0; k < o->k; k++)
            row[k] = o->weight_gradient ? element(&a, k, own.first + i) : element(&a, own.first + i, k);
        for (uint32_t j = 0; j < o->n; j++) {
            product p = dot(row, columns + (size_t)j * o->k, o->k, world);
            const double added = o->weight_gradient ? 0 : element(&bias, 0, j), want = 0.5 * p.sum + added;
            p.terms += fabs(added);
            judge(&v, own.first + i, j, at(o->dtype, c, (size_t)i * o->n + j), want,
                  tolerance(o->dtype, o->k, &p, want));
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
    const iris_gemm_rows part = iris_gemm_shard(o->k, world, rank), all_rows = {0, o->m}, one = {0, 1};
    const iris_gemm_columns part_columns = {part.first, part.count}, all_columns = {0, o->n}; /* part: of K */
    const iris_gemm_rows own = iris_gemm_shard(o->m, world, rank);                            /* of C */
    const size_t bytes = iris_dtype_bytes(o->dtype);
    const size_t longest = iris_gemm_shard(o->k, world, 0).count, most = iris_gemm_shard(o->m, world, 0).count;
    const iris_gemm_columns all_of_m = {0, o->m};
    const matrix a = a_of(o), b = matrix_of(o, B, o->k, o->n), bias = matrix_of(o, BIAS, 1, o->n);
    /* Allocations are the same on every rank: those of rank 0, which has the most. */
    void *own_a = iris_malloc(w, o->m * longest * bytes), *own_b = iris_malloc(w, longest * o->n * bytes);
    void *c = iris_malloc(w, most * o->n * bytes), *added = iris_malloc(w, o->n * bytes);
    iris_gemm_args g;
    iris_gemm_plan plan;
    IRIS_TRY(own_a && own_b && c && added ? IRIS_OK : IRIS_ERR_NOMEM);
    if (o->weight_gradient)
        IRIS_TRY(upload(w, own_a, &a, part, all_of_m));
    else
        IRIS_TRY(upload(w, own_a, &a, all_rows, part_columns));
    IRIS_TRY(upload(w, own_b, &b, part, all_columns));
    IRIS_TRY(upload(w, added, &bias, one, all_columns));
    IRIS_TRY(iris_memset(w, c, 0xFF, most * o->n * bytes)); /* NaN: what is not written is seen */

    memset(&g, 0, sizeof g);
    g.m = o->m, g.n = o->n, g.k = part.count; /* k is this rank's part; 0 where there are more ranks than K has */
    g.a = own_a, g.b = own_b, g.c = c;
    g.alpha = 0.5, g.bias = o->weight_gradient ? NULL : added;
    g.a_transposed = o->weight_gradient; /* each launch transposes A into the plan's own copy first */
    g.pattern = o->pattern;
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_REDUCE_SCATTER, o->dtype, &g));
    if (o->dtype == IRIS_BF16)
        IRIS_TRY(iris_gemm_reduce_scatter_bf16(w, &plan, iris_default_stream(w)));
    else
        IRIS_TRY(iris_gemm_reduce_scatter_f32(w, &plan, iris_default_stream(w)));

    void *result = download(w, c, (size_t)own.count * o->n * bytes);
    IRIS_TRY(iris_gemm_release(w, &plan));
    const int failed = result == NULL || check(w, o, result);
    free(result);
    return failed;
}

int main(int argc, char **argv)
{
    options o;
    const int status = parse_more(&o, argc, argv, "GEMM + reduce-scatter: sums over all ranks, own rows of them.",
                                  "C is M x N, split by rows; K is split over the ranks", 'g', NULL);
    if (status >= 0)
        return status;
    const size_t m = o.m, n = o.n, k = o.k;
    const iris_config config = heap_for(&o, m * (k + 128) + k * n + 2 * m * (n + 64) + 2 * n);
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
