/* SPDX-License-Identifier: MIT */
/* boxes.cpp: the cases of memory/rma_2d.cpp by one element type, which compile in a tenth of the time. */
#define IRIST_PART 1
#define IRIST_KERNELS_ELSEWHERE
#include "../memory/rma_2d.cpp"
