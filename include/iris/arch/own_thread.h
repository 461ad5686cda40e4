/* SPDX-License-Identifier: MIT */
/*
 * own_thread.h: a part of init.c: threads of the library's own.
 *
 *   irisi_own_thread
 */
#ifndef IRIS_ARCH_OWN_THREAD_H
#define IRIS_ARCH_OWN_THREAD_H
#ifdef IRIS_INIT_C

#include <pthread.h>
#include <signal.h>

/*
 * pthread_create, for a thread that leaves signals which are sent to the process to the program's threads: one that
 * waits for them by sigwait has them blocked everywhere. What a thread brings upon itself stays, and the profiler's.
 */
static int irisi_own_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_BLOCK, &others, &before);
    const int failed = pthread_create(thread, attr, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

#endif
#endif
