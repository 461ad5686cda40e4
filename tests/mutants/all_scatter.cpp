/* SPDX-License-Identifier: MIT */
/*
 * all_scatter.cpp: tests/gemm/all_scatter.cpp with a part of its types: less to compile.
 */
#if !defined(IRIST_PART)
#define IRIST_PART 1
#endif
#include "../gemm/all_scatter.cpp"
