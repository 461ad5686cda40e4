/* SPDX-License-Identifier: MIT */
/*
 * Averages an array of another library over all ranks where it lies. average.py loads this file, compiled with init.c
 * as a shared library, and hands over what PyTorch and NumPy give away by DLPack.
 */
#include <iris/dlpack.h>
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>

typedef struct {
    iris_window array;
    size_t n;
} average_args;

/* Each rank adds up a slice of all ranks' arrays, and writes the mean into all of them. */
IRIS_KERNEL(average_slices, average_args, a, 256)
{
    const iris_ctx *c = &a->array.ctx;
    const size_t rank = (size_t)c->rank, ranks = (size_t)c->world, end = a->n * (rank + 1) / ranks;
    float *own = (float *)(uintptr_t)c->base;
    for (size_t i = a->n * rank / ranks + iris_grid_lane(); i < end; i += iris_grid_lanes()) {
        float sum = 0;
        for (int r = 0; r < c->world; r++)
            sum += iris_load_f32(c, own + i, r);
        for (int r = 0; r < c->world; r++)
            iris_store_f32(c, own + i, sum / (float)c->world, r);
    }
}

/* Whether every rank has registered as many bytes as this one. */
static int alike(const iris_world *w, const iris_window *win)
{
    for (int r = 0; r < iris_world_size(w); r++)
        if (iris_window_bytes(w, win, r) != iris_window_bytes(w, win, iris_rank(w)))
            return 0;
    return 1;
}

#ifdef __cplusplus
extern "C"
#endif
/* Called by every rank with what its capsule "dltensor" holds; 0 once all ranks' arrays are the mean. What fills the
   array has been waited for. */
int average(iris_world *w, const iris_dlpack_unversioned *managed)
{
    const iris_launch_config grid = iris_grid(8, 256);
    iris_dlpack_array array;
    average_args a;
    const int read = iris_from_dlpack_unversioned(w, managed, &array) == IRIS_OK;
    const int good = read && array.dtype == IRIS_F32 && array.compact;
    if (!good)
        fprintf(stderr, "rank %d: %s\n", iris_rank(w),
                read ? "the array is not of f32, row-major and without gaps" : iris_error_string(w));
    /* a rank with nothing to give takes part, so that the others need not wait for it */
    IRIS_TRY(iris_register(w, good ? array.first : NULL, good ? array.bytes : 0, &a.array));
    if (!alike(w, &a.array)) {
        fprintf(stderr, "rank %d: the arrays of all ranks are not of one size\n", iris_rank(w));
        IRIS_TRY(iris_unregister(w, &a.array));
        return 1;
    }
    a.n = good ? (size_t)array.elements : 0;
    IRIS_TRY(iris_launch(w, average_slices, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_barrier(w)); /* all slices are written, on every rank */
    IRIS_TRY(iris_unregister(w, &a.array));
    return !good;
}
