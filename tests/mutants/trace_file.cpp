/* SPDX-License-Identifier: MIT */
/*
 * trace/file.c as a case, for mutants.py: programs have none.
 */
#include "../harness.h"

#if defined(IRIS_TARGET_HOST)
#define IRIST_NO_MAIN
#include "../trace/file.c"

static void trace_file_case(irist_rank *t)
{
    run();
    irist_check(t, failures == 0, "%d failures", failures);
}

TEST_CASE("the file of a trace says what happened", "[trace]") { irist_spmd(trace_file_case, nullptr); }
#endif
