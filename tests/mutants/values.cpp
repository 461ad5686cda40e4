/* SPDX-License-Identifier: MIT */
/*
 * values.cpp: the cases of collective/values.cpp with a part of its types: a third of the time to compile. For devices,
 * which have no mutants, that one is compiled itself.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIST_PART 1
#include "../collective/values.cpp"
#endif
