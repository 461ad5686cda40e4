/* SPDX-License-Identifier: MIT */
/*
 * tensor_reshard.h: what the launcher of <iris/gen/launch/tensor.h> calls.
 *
 *   irisi_tensor_kernels irisi_tensor_reshard_run
 *
 * Implemented by init.c.
 */
#ifndef IRIS_TENSOR_RESHARD_H
#define IRIS_TENSOR_RESHARD_H

#include <iris/collective/launch.h>
#include <iris/tensor.h>

/*
 * What the kernels that get pieces take. `meet`: other ranks have what this one needs, or the converse. `keep`: a rank
 * gets what it has in the first copy of src, and zeroes for all else.
 */
typedef struct irisi_tensor_reshard_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_tensor dst, src;
    int32_t meet, keep;
} irisi_tensor_reshard_args;

/* The kernels of a program. all_reduce's and reduce_scatter's are for src's type; null: it has not asked for them. */
typedef struct irisi_tensor_kernels {
    irisi_kernel pieces, sums;
    const irisi_collective_kernel *all_gather, *all_to_all, *all_reduce, *reduce_scatter;
    size_t n_all_gather, n_all_to_all, n_all_reduce, n_reduce_scatter;
} irisi_tensor_kernels;

#ifdef __cplusplus
extern "C" {
#endif

/* Checks both tensors, chooses a way, and launches its kernel. */
iris_status irisi_tensor_reshard_run(iris_world *w, const iris_channel *ch, const iris_tensor *dst,
                                     const iris_tensor *src, const irisi_tensor_kernels *kernels, iris_stream stream);

#ifdef __cplusplus
}
#endif

#endif
