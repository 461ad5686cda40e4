/* SPDX-License-Identifier: MIT */
/* reference.h: the product that everything is checked against. */
#ifndef REFERENCE_H
#define REFERENCE_H

#ifdef __cplusplus
extern "C" {
#endif

/* c = a * b, row-major, in f64 by OpenBLAS on one thread: a is m x k, b is k x n. */
void reference_gemm(int m, int n, int k, const double *a, const double *b, double *c);

#ifdef __cplusplus
}
#endif

#endif
