/* SPDX-License-Identifier: MIT */
/*
 * boxes.cpp: the cases of memory/rma_2d.cpp by one element type, a quarter of the time to compile. For devices, which
 * have no mutants, that one is compiled itself.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIST_PART 1
#define IRIST_KERNELS_ELSEWHERE
#include "../memory/rma_2d.cpp"
#endif
