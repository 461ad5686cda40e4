/* SPDX-License-Identifier: MIT */
/*
 * gemm/skinny_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/skinny_run.cpp"

static void few(irist_rank *t) { irist_check(t, run_skinny(1, 20) == 0, "a trial failed"); }

TEST_CASE("few rows are multiplied right on the host", "[gemm]") { irist_spmd(few, nullptr); }
#endif
