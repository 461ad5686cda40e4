/* SPDX-License-Identifier: MIT */
/* values.cpp: the cases of collective/values.cpp with a part of its types: a third of the time to compile. */
#define IRIST_PART 1
#include "../collective/values.cpp"
