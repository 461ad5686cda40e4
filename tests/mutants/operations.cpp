/* SPDX-License-Identifier: MIT */
/*
 * operations.cpp: tests/gemm/operations.cpp with a part of its types: half the time to compile.
 */
#define IRIST_PART 1
#include "../gemm/operations.cpp"
