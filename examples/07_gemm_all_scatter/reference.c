/* SPDX-License-Identifier: MIT */
/* reference.c: OpenBLAS, apart from main.c so that a device compiler need not read its headers. */
#include "reference.h"

#include <cblas.h>

void reference_gemm(int m, int n, int k, const double *a, const double *b, double *c)
{
    openblas_set_num_threads(1); /* the ranks already share the cores */
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0, a, k, b, n, 0.0, c, n);
}
