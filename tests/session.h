/* SPDX-License-Identifier: MIT */
/*
 * session.h: Catch2's session, whose source is large and compiled once, in session.cpp.
 */
#ifndef IRIST_SESSION_H
#define IRIST_SESSION_H

/** Takes Catch2's options, the program's name first; 0 when all is well. Once in a process. */
int irist_session_begin(int argc, const char *const *argv);

/** Runs the cases; any number of times. Returns how many failed, or another status that is not 0. */
int irist_session_run(void);

#endif
