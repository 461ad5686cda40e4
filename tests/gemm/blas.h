/* SPDX-License-Identifier: MIT */
/*
 * blas.h: a BLAS for IRIS_GEMM_BLAS_GATHER: a kernel with the plain loop, f32 and f64 alone.
 *
 *   naive_blas naive_gemm
 */
#ifndef TESTS_GEMM_BLAS_H
#define TESTS_GEMM_BLAS_H

#include <iris/gemm/plan.h>
#include <iris/init.h>

/* The callback's argument. */
struct naive_blas {
    iris_world *world;
    int calls, fail; /* fail: what to return instead of computing */
    iris_gemm_blas_call last;
};

typedef struct naive_args {
    iris_gemm_blas_call call;
} naive_args;

IRIS_DEVICE double naive_at(iris_dtype dtype, const void *p, int64_t i)
{
    return dtype == IRIS_F64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

IRIS_KERNEL(naive_kernel, naive_args, a, 64)
{
    const iris_gemm_blas_call *g = &a->call;
    for (int64_t at = (int64_t)iris_grid_lane(); at < g->m * g->n; at += (int64_t)iris_grid_lanes()) {
        const int64_t i = at / g->n, j = at % g->n;
        double sum = 0;
        for (int64_t k = 0; k < g->k && g->alpha != 0; k++)
            sum += naive_at(g->dtype, g->a, g->a_transposed ? k * g->lda + i : i * g->lda + k) *
                   naive_at(g->dtype, g->b, g->b_transposed ? j * g->ldb + k : k * g->ldb + j);
        sum = g->alpha * sum + (g->beta != 0 ? g->beta * naive_at(g->c_dtype, g->c, i * g->ldc + j) : 0);
        if (g->c_dtype == IRIS_F64)
            ((double *)g->c)[i * g->ldc + j] = sum;
        else
            ((float *)g->c)[i * g->ldc + j] = (float)sum;
    }
}

static inline int naive_gemm(void *arg, const iris_gemm_blas_call *call, iris_stream stream)
{
    naive_blas *b = (naive_blas *)arg;
    const iris_launch_config grid = iris_grid(4, 64);
    naive_args a;
    b->calls++;
    b->last = *call;
    if (b->fail)
        return b->fail;
    a.call = *call;
    return (int)iris_launch(b->world, naive_kernel, &a, sizeof a, &grid, stream);
}

#endif
