/* SPDX-License-Identifier: MIT */
/*
 * gemm/mma_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/mma_run.cpp"

static void mma_case(irist_rank *t)
{
    run_mma(1, 16);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("slabs in shared memory are multiplied right by mma.sync", "[gemm]") { irist_spmd(mma_case, nullptr); }
#endif
