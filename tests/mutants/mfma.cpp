/* SPDX-License-Identifier: MIT */
/*
 * gemm/mfma_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/mfma_run.cpp"

static void mfma_case(irist_rank *t)
{
    run_mfma(1, 16);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("tiles are multiplied right by AMD's matrix units", "[gemm]") { irist_spmd(mfma_case, nullptr); }
#endif
