/* SPDX-License-Identifier: MIT */
/*
 * tensors.h: GEMMs of partitioned tensors: sizes, pointers and leading dimensions follow from A, B and C.
 *
 *   iris_gemm_prepare_tensors   a plan
 *   iris_gemm_tensor_args       what it asks iris_gemm_prepare for
 *   iris_gemm_tensor_op         which operation has these layouts
 *
 * A, B and C are tensors of two dimensions, m x k (k x m with a_transposed), k x n (n x k with b_transposed) and m x n,
 * on all ranks of the world. Which of their dimensions are split follows from the operation:
 *
 *     operation        A       B             C
 *     local            any M   any N         M as in A, N as in B
 *     local            K       K as in A     -, partial
 *     all_scatter      -       N by 16       -
 *     reduce_scatter   K       K as in A     M by 1
 *     all_reduce       K       K as in A     -
 *     all_gather       M by 1  N by 16       N by 16
 *
 * all_reduce_rmsnorm takes what all_reduce does, with sequence_parallel what reduce_scatter does; its out is a pointer,
 * as in iris_gemm_args.
 *
 * "By 16" and "by 1" is the unit of a split over all ranks, as iris_gemm_band and iris_gemm_shard cut. K is split over
 * all ranks by any unit. Of local M or N may be split in any way, but not both: each rank computes its shard of C from
 * its shards of A and B. What counts is which indices each rank has, not how the layout says it. So in a world of one
 * rank, where nothing is split, every operation takes every tensor.
 *
 * A C of partial sums (iris_tensor_partial) is left by local alone: each rank has the product of its part of K, in C's
 * type. Bias, activation and residual are for the whole sum, and refused with it; beta scales each rank's own. Partial
 * tensors as A or B are refused.
 *
 * The host functions are implemented by init.c.
 */
#ifndef IRIS_GEMM_TENSORS_H
#define IRIS_GEMM_TENSORS_H

#include <iris/gemm/prepare.h>
#include <iris/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Plans for tensors
 *
 * Host functions. What is refused is refused with a sentence that names the layout wanted: IRIS_ERR_ARGUMENT. It
 * depends on the tensors alone, so that it is the same on every rank that passes the same ones.
 *
 * Elements of a row of a matrix follow each other (stride 1 of the second dimension); rows are any stride apart.
 *
 * @param w    the world, from iris_init
 * @param op   the operation
 * @param a    A, m x k, or k x m with args->a_transposed
 * @param b    B of the same type, k x n, or n x k with args->b_transposed
 * @param c    C, m x n; its type is args->c_dtype
 * @param args what else there is to say: alpha, beta, bias, activation, scales, residual, workspace, pattern, … What
 *             follows from the tensors is not read: m, n, k, a, b, c, lda, ldb, ldc, c_dtype, band. `gated` is refused,
 *             since C would not be m x n, and so is `more`
 * @{
 */
/**
 * iris_gemm_prepare for tensors. Collective as that is, also where one rank's tensors are refused: then every rank
 * returns an error, and none waits. A plan for IRIS_GEMM_LOCAL concerns this rank only; where its shard of C is empty,
 * launches compute nothing. The tensors themselves are not needed any more; their memory is, as long as the plan lives.
 *
 * @param plan receives the plan
 * @param args null: a plain product
 * @return as iris_gemm_prepare
 */
iris_status iris_gemm_prepare_tensors(iris_world *w, iris_gemm_plan *plan, iris_gemm_op op, const iris_tensor *a,
                                      const iris_tensor *b, const iris_tensor *c, const iris_gemm_args *args);
/**
 * Sets those fields of `args` that follow from the tensors, for iris_gemm_workspace_bytes and iris_gemm_prepare, whose
 * dtype is a->dtype. On this rank alone: no other rank need call it.
 *
 * An empty shard of C of IRIS_GEMM_LOCAL becomes an empty band: m, n and band are 1 then. Where C is partial, an empty
 * part of K becomes a product that is 0, whatever alpha is: k is 1 and zero_alpha 2 then, unless it was 1; of other
 * tensors a zero_alpha of 2 becomes 0 again.
 */
iris_status iris_gemm_tensor_args(iris_world *w, iris_gemm_op op, const iris_tensor *a, const iris_tensor *b,
                                  const iris_tensor *c, iris_gemm_args *args);
/**
 * The operation that takes tensors in these layouts; in a world of one rank IRIS_GEMM_LOCAL. At most one does, but for
 * tensors without elements, and all_reduce_rmsnorm, which is not found: it takes what all_reduce does. A is m x k here.
 * On this rank alone.
 *
 * @param b_transposed 1: B is n x k
 * @param op           receives the operation
 */
iris_status iris_gemm_tensor_op(iris_world *w, const iris_tensor *a, const iris_tensor *b, const iris_tensor *c,
                                int b_transposed, iris_gemm_op *op);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
