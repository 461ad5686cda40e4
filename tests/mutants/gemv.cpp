/* SPDX-License-Identifier: MIT */
/*
 * gemm/gemv_run.cpp as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../gemm/gemv_run.cpp"

static void gemv_case(irist_rank *t)
{
    run_gemv(1, 24);
    irist_check(t, failures == 0, "a trial failed");
}

TEST_CASE("up to 8 rows are multiplied right on the host", "[gemm]") { irist_spmd(gemv_case, nullptr); }
#endif
