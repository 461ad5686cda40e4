/* SPDX-License-Identifier: MIT */
/*
 * job.h: for tests that start, kill and starve jobs of their own, and so do without harness.h's ranks.
 *
 *   shared_alloc   memory that every forked process of a test shares
 *   outcome        what a rank has to say: a status and its sentence
 *   fork_rank      a process that is one rank of a job, found through its environment or config
 *   job_main       main: takes --ranks, ignores the suite's other options
 *   job_ranks      what --ranks says, for tests whose jobs may be of any size
 */
#ifndef IRIST_JOB_H
#define IRIST_JOB_H

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <iris/init.h>
#include <iris/iris.h>

#include "session.h"

/* What one rank has to say. */
struct outcome {
    int status;
    char sentence[1024];
};

inline void *shared_alloc(size_t bytes)
{
    void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(p != MAP_FAILED);
    return p;
}

inline outcome *shared_outcomes(int n)
{
    outcome *o = (outcome *)shared_alloc(sizeof(outcome) * (size_t)n);
    for (int i = 0; i < n; i++)
        o[i].status = -1;
    return o;
}

inline void tell(outcome *o, iris_status status, const iris_world *w)
{
    o->status = (int)status;
    std::snprintf(o->sentence, sizeof o->sentence, "%s", iris_error_string(w));
}

inline bool contains(const char *text, const char *part) { return std::strstr(text, part) != nullptr; }

inline double seconds()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

inline void nap_ms(int ms) { usleep((useconds_t)ms * 1000); }

/* A child process that runs `body` and exits with what it returns. */
template <class Body> pid_t fork_rank(Body body)
{
    std::fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(body());
    REQUIRE(pid > 0);
    return pid;
}

/* Exit value, or 128 + signal. */
inline int reap(pid_t pid)
{
    int how = 0;
    REQUIRE(waitpid(pid, &how, 0) == pid);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

inline iris_config small_config()
{
    iris_config c;
    std::memset(&c, 0, sizeof c);
    c.heap_bytes = 1 << 20;
    c.sync_bytes = 1 << 18;
    return c;
}

/* Multiplies a time where a sanitizer slows everything down, or where waits have more time than else: the suite gives
 * them four times as long (IRIS_TIMEOUT_MS), for machines that are busy. */
inline int slow(int n)
{
    const char *ms = std::getenv("IRIS_TIMEOUT_MS");
    if (ms && std::atoll(ms) > 10000)
        n = (int)std::min(std::atoll(ms) / 10000 * n, 100000000ll);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 4 * n;
#else
    return n;
#endif
}

inline int &job_ranks()
{
    static int ranks = 2;
    return ranks;
}

inline int job_main(int argc, char **argv)
{
    unsetenv("IRIS_SPAWN"); /* each case says what it wants: some kill their ranks */
    std::vector<char *> kept;
    for (int i = 0; i < argc; i++) {
        const std::string a = argv[i];
        if (a == "--ranks" && i + 1 < argc)
            job_ranks() = std::atoi(argv[i + 1]);
        if (a == "--tier" || a == "--ranks" || a == "--seed")
            i++;
        else
            kept.push_back(argv[i]);
    }
    const int status = irist_session_begin((int)kept.size(), kept.data());
    return status ? status : irist_session_run();
}

#endif
