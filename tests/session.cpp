/* SPDX-License-Identifier: MIT */
/*
 * session.cpp: the one file that holds Catch2 itself; see session.h. It includes nothing of the library.
 */
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS /* harness.cpp names the rank as well as the case */
#include "session.h"

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#include <catch2/catch.hpp>
#endif

static Catch::Session &session(void)
{
    static Catch::Session one;
    return one;
}

int irist_session_begin(int argc, const char *const *argv) { return session().applyCommandLine(argc, argv); }

int irist_session_run(void) { return session().run(); }
