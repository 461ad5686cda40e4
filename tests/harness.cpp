/* SPDX-License-Identifier: MIT */
/*
 * harness.cpp: main of every test binary; see harness.h.
 */
#include "harness.h"
#include "session.h"

#if __has_include(<catch2/interfaces/catch_interfaces_capture.hpp>)
#include <catch2/interfaces/catch_interfaces_capture.hpp>
#endif

#include <condition_variable>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IRIST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IRIST_SANITIZED 1
#endif
#endif
#ifndef IRIST_SANITIZED
#define IRIST_SANITIZED 0
#endif

namespace {

struct options {
    int ranks = 2;
    bool full = false;              /* the tier that runs */
    std::vector<std::string> tiers; /* one after the other, in one job */
    uint64_t seed = 1;
    bool threads = false;            /* ranks are threads of this process */
    std::vector<std::string> catch2; /* what is left for Catch2, program name first */
} chosen;

/* What ranks tell each other after every function. */
struct verdict {
    int32_t failures, pad;
    char message[sizeof(irist_rank::message)];
};

iris_world *own_world; /* of the rank that runs the Catch2 session */
int own_rank;
char current_case[200] = "before the first case";

/* Thread mode: rank 0's thread posts a function, the others run it. `posted` counts the posts. */
struct {
    std::mutex mutex;
    std::condition_variable changed;
    uint64_t posted = 0;
    irist_work work = nullptr; /* null: the session is over */
    const void *arg = nullptr;
} job;

[[noreturn]] void die(const char *sentence)
{
    std::fprintf(stderr, "rank %d, in \"%s\": %s\n", own_rank, current_case, sentence);
    std::fflush(stderr);
    _exit(3);
}

/*
 * One rank's share of irist_spmd. Every rank returns the same verdicts. A world that the function has stopped is mended
 * for the cases that follow; when no check has failed, that it was left so is the failure.
 */
std::vector<verdict> run_and_compare(iris_world *world, irist_work work, const void *arg)
{
    irist_rank t;
    std::memset(&t, 0, sizeof t);
    t.world = world;
    t.rank = iris_rank(world);
    t.ranks = iris_world_size(world);
    t.full = chosen.full;
    t.seed = chosen.seed;
    t.arg = arg;
    work(&t);
    verdict mine;
    std::memset(&mine, 0, sizeof mine);
    mine.failures = t.failures;
    std::memcpy(mine.message, t.message, sizeof mine.message);
    std::vector<verdict> all((size_t)t.ranks);
    iris_status met = iris_allgather(world, &mine, all.data(), sizeof mine);
    if (met == IRIS_ERR_TIMEOUT) { /* on every rank; by the function, unless a rank only came here late */
        char late[64];
        std::snprintf(late, sizeof late, "did not come to iris_allgather(%zu bytes)", sizeof mine);
        if (mine.failures == 0 && !std::strstr(iris_error_string(world), late)) {
            mine.failures = 1;
            std::snprintf(mine.message, sizeof mine.message, "the case left a stopped world: %s",
                          iris_error_string(world));
        }
        met = iris_reset(world);
        if (met == IRIS_OK)
            met = iris_allgather(world, &mine, all.data(), sizeof mine);
    }
    if (met != IRIS_OK)
        die(iris_error_string(world));
    return all;
}

/* Thread mode, ranks other than 0. */
void serve(iris_world *world)
{
    for (uint64_t done = 0;; done++) {
        irist_work work;
        const void *arg;
        {
            std::unique_lock<std::mutex> lock(job.mutex);
            job.changed.wait(lock, [done] { return job.posted > done; });
            work = job.work;
            arg = job.arg;
        }
        if (!work)
            return;
        run_and_compare(world, work, arg);
    }
}

void post(irist_work work, const void *arg)
{
    if (!chosen.threads)
        return;
    {
        std::lock_guard<std::mutex> lock(job.mutex);
        job.work = work;
        job.arg = arg;
        job.posted++;
    }
    job.changed.notify_all();
}

void crash(int signal_number)
{
    char line[400];
    const int n = std::snprintf(line, sizeof line, "rank %d received signal %d (%s) in \"%s\"\n", own_rank,
                                signal_number, strsignal(signal_number), current_case);
    if (write(2, line, (size_t)n) < 0)
        _exit(4);
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
}

/* Only rank 0 speaks: the others' reporters write nowhere and take no file of rank 0's. */
std::vector<std::string> session_arguments(int rank)
{
    std::vector<std::string> args;
    for (size_t i = 0; i < chosen.catch2.size(); i++) {
        const std::string &a = chosen.catch2[i];
        const bool output = a == "-o" || a == "--out" || a == "-r" || a == "--reporter";
        if (rank != 0 && output)
            i++;
        else if (rank == 0 || (a.compare(0, 6, "--out=") != 0 && a.compare(0, 11, "--reporter=") != 0))
            args.push_back(a);
    }
    args.push_back("--rng-seed");
    args.push_back(std::to_string((uint32_t)chosen.seed));
    if (rank != 0) {
        args.push_back("-o");
        args.push_back("/dev/null");
    }
    return args;
}

int run_session(void)
{
    std::vector<std::string> args = session_arguments(own_rank);
    std::vector<const char *> argv;
    for (const std::string &a : args)
        argv.push_back(a.c_str());
    if (!IRIST_SANITIZED) {
        const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
        for (int s : crashes)
            std::signal(s, crash);
    }
    int failed = irist_session_begin((int)argv.size(), argv.data()) != 0;
    for (size_t i = 0; i < chosen.tiers.size() && (!failed || i > 0); i++) {
        chosen.full = chosen.tiers[i] == "full";
        const int status = irist_session_run();
        if (own_rank == 0 && status != 0)
            std::fprintf(stderr, "%s failed; repeat with --ranks %d --tier %s --seed %llu\n", argv[0], chosen.ranks,
                         chosen.tiers[i].c_str(), (unsigned long long)chosen.seed);
        if (own_rank == 0 && chosen.tiers.size() > 1)
            std::fprintf(stderr, "tier %s: %s\n", chosen.tiers[i].c_str(), status == 0 ? "ok" : "failed");
        failed |= status != 0;
    }
    return failed;
}

int rank_main(iris_world *world, void *)
{
    if (chosen.threads && iris_rank(world) != 0) {
        serve(world);
        return 0;
    }
    own_world = world;
    own_rank = iris_rank(world);
    const int status = run_session();
    post(nullptr, nullptr);
    return status;
}

const char *environment(const char *name, const char *otherwise)
{
    const char *value = std::getenv(name);
    return value && *value ? value : otherwise;
}

/* Takes the harness's options and leaves Catch2 the rest. False when a value makes no sense. */
bool parse(int argc, char **argv)
{
    std::string ranks = environment("IRIS_TEST_RANKS", "2");
    std::string tier = environment("IRIS_TEST_TIER", "smoke");
    std::string seed = environment("IRIS_TEST_SEED", "1");
    chosen.threads = std::string(environment("IRIS_SPAWN", "process")) == "thread";
    for (int i = 0; i < argc; i++) {
        const std::string a = argv[i];
        std::string *value = a == "--ranks" ? &ranks : a == "--tier" ? &tier : a == "--seed" ? &seed : nullptr;
        if (!value)
            chosen.catch2.push_back(a);
        else if (i + 1 < argc)
            *value = argv[++i];
        else
            return false;
    }
    chosen.ranks = std::atoi(ranks.c_str());
    chosen.seed = std::strtoull(seed.c_str(), nullptr, 0);
    std::istringstream tiers(tier);
    for (std::string one; std::getline(tiers, one, ',');) {
        if (one != "smoke" && one != "full")
            return false;
        chosen.tiers.push_back(one);
    }
    return chosen.ranks >= 1 && chosen.ranks <= 64 && !chosen.tiers.empty();
}

} // namespace

void irist_spmd(irist_work work, const void *arg)
{
    const std::string name = Catch::getResultCapture().getCurrentTestName();
    std::snprintf(current_case, sizeof current_case, "%s", name.c_str());
    post(work, arg);
    const std::vector<verdict> all = run_and_compare(own_world, work, arg);
    int failures = 0;
    std::string messages;
    for (size_t r = 0; r < all.size(); r++) {
        failures += all[r].failures;
        if (all[r].failures)
            messages += "rank " + std::to_string(r) + " of " + std::to_string(all.size()) + ", " +
                        std::to_string(all[r].failures) + " failures, the first: " + all[r].message + "\n";
    }
    INFO(messages);
    REQUIRE(failures == 0);
}

bool irist_check(irist_rank *t, bool condition, const char *format, ...)
{
    if (condition)
        return true;
    if (t->failures++ == 0) {
        va_list args;
        va_start(args, format);
        std::vsnprintf(t->message, sizeof t->message, format, args);
        va_end(args);
    }
    return false;
}

bool irist_ok(irist_rank *t, iris_status status)
{
    if (status == IRIS_ERR_PEER)
        die(iris_error_string(t->world));
    return irist_check(t, status == IRIS_OK, "%s: %s", iris_status_name(status), iris_error_string(t->world));
}

bool irist_run_kernel(irist_rank *t, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                      iris_launch_config cfg)
{
    const bool launched =
        irist_ok(t, irisi_launch(t->world, kernel, name, args, bytes, &cfg, iris_default_stream(t->world)));
    return launched && irist_ok(t, iris_synchronize(t->world));
}

int irist_ranks(void) { return chosen.ranks; }
int irist_full(void) { return chosen.full; }
uint64_t irist_seed(void) { return chosen.seed; }

uint32_t irist_laps(uint32_t smoke, uint32_t full)
{
    if (chosen.full)
        return full;
    const uint32_t fewer = (IRIST_SANITIZED || irist_slow()) && smoke > 10 ? (smoke + 9) / 10 : smoke;
    return irist_slow() > 1 && fewer > 40 ? 40 : fewer;
}

int irist_slow(void)
{
    return std::atoi(environment("IRIS_TEST_SLOW", "0"));
}

uint32_t irist_epochs(const irist_rank *t, uint32_t smoke, uint32_t full)
{
    const bool host = std::strcmp(iris_arch_name(t->world), "host") == 0;
    return irist_laps(smoke, !host || t->ranks == 2 ? full : t->ranks > 4 ? full / 20 : full / 5);
}

std::vector<unsigned char> irist_poisoned(size_t bytes)
{
    std::vector<unsigned char> v(bytes);
    for (size_t i = 0; i < bytes; i++)
        v[i] = irist_poison(i);
    return v;
}

bool irist_upload(irist_rank *t, void *to, const std::vector<unsigned char> &from)
{
    return irist_ok(t, iris_memcpy(t->world, to, from.data(), from.size()));
}

std::vector<unsigned char> irist_download(irist_rank *t, const void *from, size_t bytes)
{
    std::vector<unsigned char> v(bytes);
    irist_ok(t, iris_memcpy(t->world, v.data(), from, bytes));
    return v;
}

void irist_delay(const irist_rank *t, uint64_t turn)
{
    const uint32_t late = irist_pick(t->seed, 977, turn, (uint32_t)t->ranks);
    if (late == (uint32_t)t->rank)
        usleep(50u << irist_pick(t->seed, 978, turn, 4));
}

bool irist_meet(irist_rank *t) { return irist_ok(t, iris_barrier(t->world)); }

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        std::fprintf(stderr, "usage: %s [--ranks 1..64] [--tier smoke|full[,…]] [--seed N] [Catch2 options]\n",
                     argv[0]);
        return 2;
    }
    iris_config config;
    std::memset(&config, 0, sizeof config);
    return iris_spawn_config(chosen.ranks, rank_main, nullptr, &config);
}
