/* SPDX-License-Identifier: MIT */
/*
 * gemm/skinny_amd_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/skinny_amd_run.cpp"

static void few(irist_rank *t)
{
    schedule_chiplets();
    run_skinny(1, 16);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("few rows are multiplied right on AMD's matrix units", "[gemm]") { irist_spmd(few, nullptr); }
#endif
