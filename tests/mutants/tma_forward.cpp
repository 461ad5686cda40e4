/* SPDX-License-Identifier: MIT */
/*
 * gemm/tma_forward_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/tma_forward_run.cpp"

static void tma_forward(irist_rank *t)
{
    run_tma_forward(1, 100);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("a workgroup that only sends puts every box once", "[gemm]") { irist_spmd(tma_forward, nullptr); }
#endif
