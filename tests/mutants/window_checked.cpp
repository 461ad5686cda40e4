/* SPDX-License-Identifier: MIT */
/*
 * window_checked.cpp: heap/window.cpp in checked mode. For devices, which have no mutants, that one is compiled itself.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_CHECKED 1
#include "../heap/window.cpp"
#endif
