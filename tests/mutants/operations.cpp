/* SPDX-License-Identifier: MIT */
/*
 * operations.cpp: tests/gemm/operations.cpp with a part of its types: half the time to compile.
 */
#if !defined(IRIST_PART)
#define IRIST_PART 1
#endif
#include "../gemm/operations.cpp"
