/* SPDX-License-Identifier: MIT */
/*
 * gemm_table.h: a part of init.c: the built-in table of measured choices, rows as gemm_rows.h reads them.
 *
 * Made by `python3 bench/tune.py` of what bench/gemm_tune wrote into bench/results/gemm_tune_*.txt: measure again
 * instead of editing it.
 */
#ifndef IRIS_HOST_GEMM_TABLE_H
#define IRIS_HOST_GEMM_TABLE_H
#ifdef IRIS_INIT_C

static const char *const irisi_gemm_table[] = {
    NULL,
};

#endif
#endif
