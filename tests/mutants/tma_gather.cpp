/* SPDX-License-Identifier: MIT */
/*
 * gemm/tma_gather_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/tma_gather_run.cpp"

static void tma_gather(irist_rank *t)
{
    run_tma_gather(1, 100);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("workgroups that only gather put every row once", "[gemm]") { irist_spmd(tma_gather, nullptr); }
#endif
