/* SPDX-License-Identifier: MIT */
/*
 * Ranks that die, wait for what never comes, or disagree: the others get a sentence in time, and iris_spawn its value.
 */
#include "job.h"

#include <dirent.h>

#include <iris/collective/launch.h>

typedef struct wait_args {
    iris_ctx ctx;
    iris_signal *signal;
    uint64_t value;
    int32_t from, pad;
} wait_args;

IRIS_KERNEL(wait_for_value, wait_args, a, 256) { iris_wait_ge_wg(&a->ctx, a->signal, a->value); }

typedef struct raise_args {
    iris_ctx ctx;
    iris_signal *signal;
    int32_t to, pad;
} raise_args;

IRIS_KERNEL(raise_one, raise_args, a, 256) { iris_signal_add_wg(&a->ctx, a->signal, 1, a->to); }

static iris_status launch_wait(iris_world *w, iris_signal *signal, uint64_t value)
{
    wait_args a;
    iris_launch_config grid = iris_cooperative(2, 128);
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(w);
    a.signal = signal;
    a.value = value;
    return iris_launch(w, wait_for_value, &a, sizeof a, &grid, iris_default_stream(w));
}

static iris_status launch_raise(iris_world *w, iris_signal *signal, int to)
{
    raise_args a;
    iris_launch_config grid = iris_grid(1, 64);
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(w);
    a.signal = signal;
    a.to = to;
    return iris_launch(w, raise_one, &a, sizeof a, &grid, iris_default_stream(w));
}

/* Ranks with a deadline of so many milliseconds, or more where everything is slow. */
static iris_config patient(int ms)
{
    iris_config c = small_config();
    c.timeout_ms = slow(ms);
    return c;
}

/* ---- iris_spawn's value --------------------------------------------------------------------------------------- */

static int return_mine(iris_world *w, void *values) { return ((const int *)values)[iris_rank(w)]; }

TEST_CASE("iris_spawn returns the failing rank's value", "[host]")
{
    const iris_config c = patient(1000);
    int all_well[3] = {0, 0, 0}, one_fails[3] = {0, 7, 0}, odd[3] = {256, 0, 0};
    REQUIRE(iris_spawn_config(3, return_mine, all_well, &c) == 0);
    REQUIRE(iris_spawn_config(3, return_mine, one_fails, &c) == 7);
    REQUIRE(iris_spawn_config(3, return_mine, odd, &c) != 0);
    REQUIRE(iris_spawn_config(1, return_mine, one_fails + 1, &c) == 7);
    REQUIRE(iris_spawn_config(0, return_mine, all_well, &c) == 1);
    REQUIRE(iris_spawn_config(2, nullptr, all_well, &c) == 1);
    REQUIRE(iris_spawn_config(100000, return_mine, all_well, &c) == 1);
    setenv("IRIS_SPAWN", "thread", 1);
    REQUIRE(iris_spawn_config(3, return_mine, all_well, &c) == 0);
    REQUIRE(iris_spawn_config(3, return_mine, one_fails, &c) == 7);
    setenv("IRIS_SPAWN", "nonsense", 1);
    REQUIRE(iris_spawn_config(2, return_mine, all_well, &c) == 1);
    CHECK(contains(iris_error_string(nullptr), "IRIS_SPAWN=nonsense is neither process nor thread"));
    unsetenv("IRIS_SPAWN");
}

static int kill_rank_one(iris_world *w, void *)
{
    return iris_rank(w) == 1 ? raise(SIGKILL) : 0;
}

TEST_CASE("a job whose parent is not told of its children's ends fails all the same", "[host]")
{
    const iris_config c = patient(1000);
    int all_well[3] = {0, 0, 0}, one_fails[3] = {0, 7, 0};
    std::signal(SIGCHLD, SIG_IGN);
    CHECK(iris_spawn_config(3, return_mine, all_well, &c) == 0);
    CHECK(iris_spawn_config(3, return_mine, one_fails, &c) == 7);
    CHECK(iris_spawn_config(3, kill_rank_one, nullptr, &c) != 0);
    std::signal(SIGCHLD, SIG_DFL);
}

#if !defined(__SANITIZE_THREAD__) /* it lets no process with threads fork one that starts threads */
static int spawn_then_fail(iris_world *w, void *)
{
    const iris_config c = patient(10000);
    int all_well[2] = {0, 0};
    return iris_rank(w) == 0 ? 0 : iris_spawn_config(2, return_mine, all_well, &c) == 0 ? 7 : 9;
}

TEST_CASE("a rank that spawned a job of its own fails with its own value", "[host]")
{
    const iris_config c = patient(10000);
    CHECK(iris_spawn_config(2, spawn_then_fail, nullptr, &c) == 7);
}
#endif

static int wait_for_usr1(iris_world *w, void *)
{
    sigset_t usr1, before;
    sigemptyset(&usr1), sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, &before);
    iris_signal *signal = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(launch_raise(w, signal, iris_rank(w))); /* the stream has its thread now */
    IRIS_TRY(iris_synchronize(w));
    kill(getpid(), SIGUSR1);
    const timespec patience = {slow(1000) / 100, 0};
    const int got = sigtimedwait(&usr1, nullptr, &patience);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return got == SIGUSR1 ? 0 : 8;
}

TEST_CASE("a signal that a rank waits for does not go to the library's threads", "[host]")
{
    const iris_config c = patient(10000);
    CHECK(iris_spawn_config(2, wait_for_usr1, nullptr, &c) == 0);
}

static int print_rank(iris_world *w, void *)
{
    std::printf("rank %d speaks\n", iris_rank(w));
    return 0;
}

TEST_CASE("what is buffered when ranks are forked is written once", "[host]")
{
    char path[] = "/tmp/iris-test-XXXXXX", text[400] = "";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    unlink(path);
    const iris_config c = patient(1000);
    const pid_t pid = fork_rank([&] {
        dup2(file, 1);
        std::printf("before\n");
        const int value = iris_spawn_config(2, print_rank, nullptr, &c);
        std::printf("after\n");
        std::fflush(stdout);
        return value;
    });
    REQUIRE(reap(pid) == 0);
    REQUIRE(pread(file, text, sizeof text - 1, 0) > 0);
    close(file);
    const std::string all = text;
    CHECK(all.size() == std::strlen("before\nrank 0 speaks\nrank 1 speaks\nafter\n"));
    CHECK(all.find("before\n") == 0);
    CHECK(contains(text, "rank 0 speaks\n"));
    CHECK(contains(text, "rank 1 speaks\n"));
}

/* ---- death ---------------------------------------------------------------------------------------------------- */

enum { IN_KERNEL, IN_BARRIER, IN_HOST_CODE };

struct death {
    int victim, where;
    outcome *said;
};

static int die_somewhere(iris_world *w, void *arg)
{
    const death *d = (const death *)arg;
    outcome *mine = &d->said[iris_rank(w)];
    iris_signal *signal = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    if (iris_rank(w) == d->victim) {
        if (d->where == IN_KERNEL)
            IRIS_TRY(launch_wait(w, signal, 1));
        nap_ms(100);
        kill(getpid(), SIGKILL);
    }
    if (d->where == IN_BARRIER) {
        tell(mine, iris_barrier(w), w);
    } else if (d->where == IN_KERNEL) {
        IRIS_TRY(launch_wait(w, signal, 1));
        tell(mine, iris_synchronize(w), w);
    } else {
        nap_ms(slow(600));
        tell(mine, iris_malloc(w, 64) ? IRIS_OK : IRIS_ERR_PEER, w);
    }
    return 0;
}

TEST_CASE("a killed rank is named by every other rank, in time", "[host]")
{
    outcome *said = shared_outcomes(4);
    for (int where = IN_KERNEL; where <= IN_HOST_CODE; where++) {
        for (int victim = 0; victim < 4; victim += 2) {
            death d = {victim, where, said};
            const iris_config c = patient(30000); /* far more than the test may take */
            const double start = seconds();
            for (int r = 0; r < 4; r++)
                said[r].status = -1;
            INFO("victim " << victim << " where " << where);
            CHECK(iris_spawn_config(4, die_somewhere, &d, &c) == 128 + SIGKILL);
            CHECK(seconds() - start < slow(5));
            for (int r = 0; r < 4; r++) {
                if (r == victim)
                    continue;
                INFO("rank " << r << " says: " << said[r].sentence);
                CHECK(said[r].status == IRIS_ERR_PEER);
                CHECK(contains(said[r].sentence, victim ? "rank 2 died (killed by signal 9" : "rank 0 died"));
            }
        }
    }
}

static int leave_early(iris_world *w, void *said)
{
    if (iris_rank(w) == 1)
        std::_Exit(0); /* no iris_finalize */
    tell(&((outcome *)said)[iris_rank(w)], iris_barrier(w), w);
    return 0;
}

TEST_CASE("a rank that exits without iris_finalize is named", "[host]")
{
    outcome *said = shared_outcomes(3);
    const iris_config c = patient(30000);
    CHECK(iris_spawn_config(3, leave_early, said, &c) == 1);
    CHECK(said[0].status == IRIS_ERR_PEER);
    CHECK(said[2].status == IRIS_ERR_PEER);
    CHECK(contains(said[2].sentence, "rank 1"));
}

static int fail_one(iris_world *w, void *said)
{
    if (iris_rank(w) == 1)
        return 9;
    tell(&((outcome *)said)[iris_rank(w)], iris_barrier(w), w);
    return 0;
}

TEST_CASE("a rank whose main fails is named, with its value", "[host]")
{
    outcome *said = shared_outcomes(3);
    const iris_config c = patient(30000);
    for (int threads = 0; threads < 2; threads++) {
        if (threads)
            setenv("IRIS_SPAWN", "thread", 1);
        CHECK(iris_spawn_config(3, fail_one, said, &c) != 0);
        CHECK(said[0].status == IRIS_ERR_PEER);
        CHECK(said[2].status == IRIS_ERR_PEER);
        CHECK(contains(said[0].sentence, "rank 1 failed: its main returned 9"));
    }
    unsetenv("IRIS_SPAWN");
}

static int hang_on(iris_world *w, void *)
{
    if (iris_rank(w) == 0)
        return 5;
    for (;;)
        pause();
}

TEST_CASE("ranks that ignore a failure are killed", "[host]")
{
    const iris_config c = patient(500);
    const double start = seconds();
    CHECK(iris_spawn_config(3, hang_on, nullptr, &c) == 5);
    CHECK(seconds() - start > 2.4);
    CHECK(seconds() - start < slow(6));
}

/* ---- nothing is left ------------------------------------------------------------------------------------------ */

static int sleep_forever(iris_world *w, void *pids)
{
    ((volatile pid_t *)pids)[iris_rank(w)] = getpid();
    for (;;)
        pause();
}

/* Lines of /proc/net/unix with this process's job, and files of the usual places whose names begin with iris. */
static int leftovers()
{
    const std::string job = "leftovers-" + std::to_string((int)getpid());
    char line[512];
    int n = 0;
    FILE *f = std::fopen("/proc/net/unix", "r");
    REQUIRE(f != nullptr);
    while (std::fgets(line, sizeof line, f))
        n += contains(line, job.c_str());
    std::fclose(f);
    for (const char *folder : {"/dev/shm", "/tmp"}) {
        DIR *d = opendir(folder);
        for (const dirent *e = d ? readdir(d) : nullptr; e; e = readdir(d))
            n += std::strncmp(e->d_name, "iris-", 5) == 0 || std::strncmp(e->d_name, "iris_", 5) == 0;
        if (d)
            closedir(d);
    }
    return n;
}

TEST_CASE("a killed job leaves no process, socket or file", "[host]")
{
    volatile pid_t *pids = (volatile pid_t *)shared_alloc(4096);
    const iris_config c = patient(10000);
    const int before = leftovers();
    const pid_t job = fork_rank([&] { return iris_spawn_config(4, sleep_forever, (void *)pids, &c); });
    for (int r = 0; r < 4; r++)
        while (!pids[r])
            nap_ms(5);
    REQUIRE(kill(job, SIGKILL) == 0);
    CHECK(reap(job) == 128 + SIGKILL);
    for (int r = 0; r < 4; r++) {
        int turns = 0;
        for (; turns < 400 && kill(pids[r], 0) == 0; turns++) {
            char path[64], state = 'Z';
            std::snprintf(path, sizeof path, "/proc/%d/stat", (int)pids[r]);
            FILE *f = std::fopen(path, "r"); /* a zombie waits for whoever adopted it; it holds nothing any more */
            if (f && std::fscanf(f, "%*d %*s %c", &state) != 1)
                state = 'Z';
            if (f)
                std::fclose(f);
            if (state == 'Z')
                break;
            nap_ms(5);
        }
        CHECK(turns < 400);
    }
    CHECK(leftovers() == before);
}

TEST_CASE("ranks killed at the rendezvous leave its name free", "[host]")
{
    const std::string job = "leftovers-" + std::to_string((int)getpid());
    const int before = leftovers();
    iris_config c = patient(20000);
    c.world = 3;
    c.job = job.c_str();
    for (int lap = 0; lap < 3; lap++) {
        const pid_t zero = fork_rank([&] {
            iris_world *w;
            return (int)iris_init(&w, &c);
        });
        c.rank = 1;
        const pid_t one = fork_rank([&] {
            iris_world *w;
            return (int)iris_init(&w, &c);
        });
        c.rank = 0;
        for (int i = 0; i < 1000 && leftovers() < before + 2; i++)
            nap_ms(5); /* until it listens and rank 1 is there */
        CHECK(leftovers() >= before + 2);
        kill(zero, SIGKILL);
        CHECK(reap(zero) == 128 + SIGKILL);
        CHECK(reap(one) == (int)IRIS_ERR_PEER);
        CHECK(leftovers() == before);
    }
}

/* ---- deadlines ------------------------------------------------------------------------------------------------ */

struct deadline_case {
    outcome *first, *again; /* of each rank */
};

/* Rank 1's kernel waits for 7 and gets 3; everyone hears of it, resets, and the same signal works from 0 on. */
static int wait_in_vain(iris_world *w, void *arg)
{
    const deadline_case *d = (const deadline_case *)arg;
    const int me = iris_rank(w);
    iris_signal *signal = iris_signals(w, 1), *other = iris_signals(w, 1);
    iris_channel ch;
    IRIS_TRY(iris_channel_create(w, &ch, 4, 100));
    IRIS_TRY(iris_barrier(w));
    if (me == 0)
        for (int i = 0; i < 3; i++)
            IRIS_TRY(launch_raise(w, signal, 1));
    IRIS_TRY(launch_wait(w, me == 1 ? signal : other, me == 1 ? 7 : me == 0 ? 0 : 1));
    iris_status status = iris_synchronize(w);
    if (status == IRIS_OK)
        status = iris_barrier(w);
    tell(&d->first[me], status, w);
    if (iris_malloc(w, 64) || iris_barrier(w) != IRIS_ERR_TIMEOUT)
        return 50; /* a stopped world does nothing */
    IRIS_TRY(iris_reset(w));
    if (signal->value != 0 || ch.state[0] != 0)
        return 51;
    IRIS_TRY(iris_barrier(w)); /* before anyone raises it again */
    IRIS_TRY(launch_raise(w, signal, (me + 1) % iris_world_size(w)));
    IRIS_TRY(launch_wait(w, signal, 1));
    status = iris_barrier(w);
    tell(&d->again[me], status, w);
    return status == IRIS_OK && iris_malloc(w, 64) ? 0 : 52;
}

TEST_CASE("a wait that passes its deadline is reported on every rank, and reset mends the world", "[host]")
{
    deadline_case d = {shared_outcomes(3), shared_outcomes(3)};
    const iris_config c = patient(500);
    char waited[64];
    std::snprintf(waited, sizeof waited, "waited %d ms for the signal at heap offset", (int)c.timeout_ms);
    for (int threads = 0; threads < 2; threads++) {
        if (threads)
            setenv("IRIS_SPAWN", "thread", 1);
        CHECK(iris_spawn_config(3, wait_in_vain, &d, &c) == 0);
        unsetenv("IRIS_SPAWN");
        for (int r = 0; r < 3; r++) {
            INFO("rank " << r << " says: " << d.first[r].sentence);
            CHECK(d.first[r].status == IRIS_ERR_TIMEOUT);
            CHECK(contains(d.first[r].sentence, waited));
            CHECK(contains(d.first[r].sentence, "call iris_reset"));
            CHECK(std::string(d.first[r].sentence) == d.first[0].sentence);
            CHECK(d.again[r].status == IRIS_OK);
        }
        CHECK(contains(d.first[1].sentence, "be at least"));
        CHECK(contains(d.first[1].sentence, ", kernel wait_for_value, workgroup ")); /* of rank 1, or 2: it waits too */
        CHECK(contains(d.first[1].sentence, "(signal 0 of 1 from iris_signals, allocation call "));
    }
}

/* ---- what the others hear of it ------------------------------------------------------------------------------- */

/* What `job` writes to stderr, line by line. */
template <class Job> static std::vector<std::string> lines_of(Job job)
{
    char path[] = "/tmp/iris-test-XXXXXX", text[8192] = "";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    unlink(path);
    const pid_t pid = fork_rank([&] {
        dup2(file, 2);
        return job();
    });
    reap(pid);
    const ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    close(file);
    std::vector<std::string> lines;
    for (const char *at = text; at < text + bytes; at += lines.back().size() + 1)
        lines.emplace_back(at, std::strcspn(at, "\n"));
    return lines;
}

static int lines_with(const std::vector<std::string> &lines, const char *part)
{
    int n = 0;
    for (const std::string &line : lines)
        n += contains(line.c_str(), part);
    return n;
}

struct parting {
    outcome *said, *reset;
    volatile int *gone;
    int waiter;
};

/* One rank waits in vain and leaves; the others do something else meanwhile, and ask long after it has gone. */
static int ask_late(iris_world *w, void *arg)
{
    const parting *p = (const parting *)arg;
    const int me = iris_rank(w);
    iris_signal *signal = iris_signals(w, 3);
    IRIS_TRY(iris_barrier(w));
    if (me == p->waiter) {
        IRIS_TRY(launch_wait(w, signal + 2, 7));
        tell(&p->said[me], iris_synchronize(w), w);
        *p->gone = 1;
        return 3;
    }
    while (!*p->gone)
        nap_ms(5);
    nap_ms(200);
    tell(&p->said[me], iris_barrier(w), w);
    tell(&p->reset[me], iris_reset(w), w);
    return 4;
}

TEST_CASE("ranks that ask after the waiter has left hear what it said, and reset that it is gone", "[host]")
{
    parting p = {shared_outcomes(3), shared_outcomes(3), (volatile int *)shared_alloc(4096), 0};
    const iris_config c = patient(300);
    for (p.waiter = 0; p.waiter < 3; p.waiter++) {
        *p.gone = 0;
        iris_spawn_config(3, ask_late, &p, &c);
        char who[64];
        std::snprintf(who, sizeof who, "rank %d, kernel wait_for_value, workgroup ", p.waiter);
        for (int r = 0; r < 3; r++) {
            INFO("waiter " << p.waiter << ", rank " << r << " says: " << p.said[r].sentence);
            CHECK(p.said[r].status == IRIS_ERR_TIMEOUT);
            CHECK(std::string(p.said[r].sentence).find(who) == 0);
            CHECK(std::string(p.said[r].sentence) == p.said[p.waiter].sentence);
            CHECK(contains(p.said[r].sentence, "(signal 2 of 3 from iris_signals, allocation call 1)"));
            CHECK(contains(p.said[r].sentence, "(saw 0): nobody raised it, or somebody did before an iris_barrier"));
            CHECK((r == p.waiter || p.reset[r].status == IRIS_ERR_PEER));
        }
    }
}

/* Ways to fail that every rank hears of. */
enum { WAITS_IN_VAIN, EVERY_HEAP_FULL, A_DEATH, TOUCHES };

static int fail_as(iris_world *w, void *arg)
{
    const int how = *(const int *)arg, last = iris_rank(w) == iris_world_size(w) - 1;
    if (how == EVERY_HEAP_FULL && iris_malloc(w, 64 << 20))
        return 1;
    iris_signal *signal = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    if (how == WAITS_IN_VAIN)
        IRIS_TRY(launch_wait(w, signal, last ? 1 : 0));
    if (how >= A_DEATH && last) {
        nap_ms(100);
        std::signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own opinion */
        kill(getpid(), how == TOUCHES ? SIGSEGV : SIGKILL);
    }
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_barrier(w));
    return 0;
}

TEST_CASE("one failure is printed once, however many ranks hear of it", "[host]")
{
    const iris_config c = patient(300);
    const char *const words[] = {" waited ", "the data heap is full", "died (killed by signal 9",
                                 IRISI_CHECKED /* nobody is told to build what is built */
                                     ? "died (killed by signal 11"
                                     : "; where a kernel has touched what it must not, a build with -DIRIS_CHECKED=1 "
                                       "says"};
    for (int threads = 0; threads < 2; threads++) {
        if (threads)
            setenv("IRIS_SPAWN", "thread", 1);
        for (int how = 0; how <= (threads ? EVERY_HEAP_FULL : TOUCHES); how++) {
            const std::vector<std::string> lines = lines_of([&] { return iris_spawn_config(4, fail_as, &how, &c); });
            std::string all;
            for (const std::string &line : lines)
                all += line + "\n";
            INFO("failure " << how << ": " << all);
            CHECK(lines_with(lines, words[how]) == 1);
            CHECK(lines_with(lines, "rank 3: rank 3") == 0);
        }
        unsetenv("IRIS_SPAWN");
    }
}

/* Every rank frees what was never allocated, each at an address of its own, after all have come that far. */
static int fail_alike(iris_world *w, void *)
{
    IRIS_TRY(iris_barrier(w));
    const int result = iris_free(w, (char *)iris_malloc(w, 4096) + 8 * (1 + iris_rank(w))) == IRIS_ERR_ARGUMENT
                           ? irisi_try_failed(IRIS_ERR_ARGUMENT, "iris_free")
                           : 0;
    IRIS_TRY(iris_barrier(w)); /* nobody leaves before all have failed */
    return result;
}

TEST_CASE("ranks that fail alike print one sentence, and how many they are", "[host]")
{
    const iris_config c = patient(10000);
    for (int threads = 0; threads < 2; threads++) {
        setenv("IRIS_SPAWN", threads ? "thread" : "process", 1);
        const std::vector<std::string> lines = lines_of([&] { return iris_spawn_config(4, fail_alike, nullptr, &c); });
        unsetenv("IRIS_SPAWN");
        std::string all;
        for (const std::string &line : lines)
            all += line + "\n";
        INFO("threads " << threads << ": " << all);
        CHECK(lines_with(lines, "is not the start of a live allocation") == 1);
        CHECK(lines_with(lines, "iris: 3 other ranks failed likewise") == 1);
    }
}

/* The last rank's main fails while the others wait in iris_finalize; it says why, or nothing. */
static int fail_late(iris_world *w, void *arg)
{
    IRIS_TRY(iris_barrier(w));
    if (iris_rank(w) < iris_world_size(w) - 1)
        return 0;
    nap_ms(200);
    if (*(const int *)arg)
        IRIS_TRY(iris_free(w, arg));
    return 9;
}

TEST_CASE("that a rank's main failed is printed where nothing says why", "[host]")
{
    const iris_config c = patient(10000);
    for (int why = 0; why < 2; why++) {
        const std::vector<std::string> lines = lines_of([&] { return iris_spawn_config(3, fail_late, &why, &c); });
        std::string all;
        for (const std::string &line : lines)
            all += line + "\n";
        INFO("reason told " << why << ": " << all);
        CHECK(lines_with(lines, "is not the start of a live allocation") == why);
        CHECK(lines_with(lines, "rank 2 failed: its main returned") == 1 - why);
    }
}

static int refuse_memory(iris_world *w, void *arg)
{
    outcome *said = (outcome *)arg + 5 * iris_rank(w);
    iris_channel ch;
    if (iris_malloc(w, 64 << 20) || iris_malloc_kind(w, 8, 24, IRIS_MEM_SYNC))
        return 60;
    tell(said, iris_barrier(w), w); /* the first of the two */
    tell(said + 1, iris_barrier(w), w);
    if (iris_as_symmetric(w, nullptr, 64))
        return 61;
    tell(said + 2, iris_barrier(w), w);
    if (iris_channel_create(w, &ch, 4, 1 << 18) != IRIS_ERR_NOMEM)
        return 62;
    tell(said + 3, iris_barrier(w), w); /* what returned its status is not told again */
    if (iris_signals(w, (size_t)1 << 40))
        return 63;
    IRIS_TRY(iris_heap_grow(w, 1 << 20)); /* no answer to a lack of sync memory */
    tell(said + 4, iris_barrier(w), w);
    return 0;
}

TEST_CASE("memory that was not granted is remembered until the next barrier", "[host]")
{
    outcome *said = shared_outcomes(10);
    const iris_config c = patient(10000);
    CHECK(iris_spawn_config(2, refuse_memory, said, &c) == 0);
    for (int r = 0; r < 2; r++) {
        const outcome *mine = said + 5 * r;
        INFO("rank " << r << " says: " << mine->sentence << " / " << mine[2].sentence);
        CHECK(mine[0].status == IRIS_ERR_NOMEM);
        CHECK(contains(mine[0].sentence, "asked for 67108864 bytes"));
        CHECK(mine[1].status == IRIS_OK);
        CHECK(mine[2].status == IRIS_ERR_ARGUMENT);
        CHECK(mine[3].status == IRIS_OK);
        CHECK(mine[4].status == IRIS_ERR_NOMEM);
    }
}

static int miss_the_barrier(iris_world *w, void *arg)
{
    outcome *said = (outcome *)arg;
    iris_status status = IRIS_OK;
    if (iris_rank(w) == 2) {
        for (int i = 0; i < 2000 && status == IRIS_OK; i++) {
            nap_ms(10);
            status = iris_synchronize(w);
        }
    } else {
        status = iris_barrier(w);
    }
    tell(&said[iris_rank(w)], status, w);
    IRIS_TRY(iris_reset(w));
    IRIS_TRY(iris_barrier(w));
    return 0;
}

TEST_CASE("a rank that misses a barrier is named; reset mends the world", "[host]")
{
    outcome *said = shared_outcomes(4);
    const iris_config c = patient(300);
    CHECK(iris_spawn_config(4, miss_the_barrier, said, &c) == 0);
    for (int r = 0; r < 4; r++) {
        INFO("rank " << r << " says: " << said[r].sentence);
        CHECK(said[r].status == IRIS_ERR_TIMEOUT);
        CHECK(contains(said[r].sentence, "rank 2 did not come to iris_barrier"));
    }
}

/* ---- disagreement --------------------------------------------------------------------------------------------- */

static int disagree(iris_world *w, void *arg)
{
    outcome *said = (outcome *)arg;
    const int me = iris_rank(w);
    int value = me, all[3] = {0, 0, 0};
    char eight[8] = {0};
    tell(&said[me], me == 1 ? iris_broadcast(w, &value, sizeof value, 0) : iris_barrier(w), w);
    IRIS_TRY(iris_barrier(w)); /* the world goes on: everyone has been told */
    tell(&said[3 + me], iris_broadcast(w, eight, me == 2 ? 8 : 4, 0), w);
    tell(&said[6 + me], iris_broadcast(w, eight, 8, me == 2), w);
    IRIS_TRY(iris_allgather(w, &value, all, sizeof value));
    return all[0] == 0 && all[1] == 1 && all[2] == 2 ? 0 : 60;
}

TEST_CASE("ranks that call different collectives are told which", "[host]")
{
    outcome *said = shared_outcomes(9);
    const iris_config c = patient(5000);
    CHECK(iris_spawn_config(3, disagree, said, &c) == 0);
    for (int i = 0; i < 9; i++) {
        INFO("rank " << i % 3 << " says: " << said[i].sentence);
        CHECK(said[i].status == IRIS_ERR_MISMATCH);
    }
    CHECK(contains(said[2].sentence, "rank 0 iris_barrier"));
    CHECK(contains(said[2].sentence, "rank 1 iris_broadcast(4 bytes, root 0)"));
    CHECK(contains(said[3].sentence, "rank 2 iris_broadcast(8 bytes, root 0)"));
    CHECK(contains(said[6].sentence, "root 1"));
}

static int allocate_differently(iris_world *w, void *arg)
{
    outcome *said = (outcome *)arg;
    const int me = iris_rank(w);
    void *p = iris_malloc(w, 1000);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_free(w, p));
    iris_malloc(w, me == 2 ? 2000 : 1000);
    iris_malloc(w, 10);
    tell(&said[me], iris_barrier(w), w);
    return 0;
}

TEST_CASE("checked mode names the first allocation that differs", "[host]")
{
    outcome *said = shared_outcomes(3);
    iris_config c = patient(5000);
    c.checked = 1;
    iris_spawn_config(3, allocate_differently, said, &c);
    for (int r = 0; r < 3; r++) {
        INFO("rank " << r << " says: " << said[r].sentence);
        CHECK(said[r].status == IRIS_ERR_MISMATCH);
        CHECK(contains(said[r].sentence, "allocation call 3 differs"));
        CHECK(contains(said[r].sentence, "rank 0 asked for 1000 bytes"));
        CHECK(contains(said[r].sentence, "rank 2 asked for 2000 bytes"));
    }
}

/* ---- forks ---------------------------------------------------------------------------------------------------- */

struct fork_case {
    volatile int parent_came, left_before[3]; /* the latter by rank */
    outcome child[16];
};

/* A world that the child's own exit ends too, as a destructor or an atexit handler does. */
static iris_world *left_to_atexit;
static void finalize_at_exit() { iris_finalize(left_to_atexit); }

/* What a child of a rank is told, call by call; then it frees its copy, and leaves by exit(). */
static void use_a_parent_s_world(iris_world *w, fork_case *f)
{
    outcome *said = f->child;
    iris_stream stream = iris_default_stream(w);
    iris_channel ch;
    char byte = 0, all[8] = {0};
    std::memset(&ch, 0, sizeof ch);
    tell(said++, iris_barrier(w), w);
    tell(said++, iris_allgather(w, &byte, all, 1), w);
    tell(said++, iris_broadcast(w, &byte, 1, 0), w);
    tell(said++, iris_synchronize(w), w);
    tell(said++, iris_reset(w), w);
    tell(said++, iris_malloc(w, 64) ? IRIS_OK : IRIS_ERR_ARGUMENT, w);
    tell(said++, iris_free(w, &byte), w);
    tell(said++, iris_memcpy(w, &byte, all, 1), w);
    tell(said++, iris_channel_create(w, &ch, 4, 100), w);
    tell(said++, iris_collective_channel(w, &ch, 0), w);
    tell(said++, launch_raise(w, nullptr, 0), w);
    tell(said++, iris_stream_create(w, &stream), w);
    tell(said++, iris_heap_grow(w, 1 << 20), w);
    tell(said++, iris_as_symmetric(w, all, 8) ? IRIS_OK : IRIS_ERR_ARGUMENT, w);
    tell(said++, iris_signals(w, 1) ? IRIS_OK : IRIS_ERR_ARGUMENT, w);
    said->status = (int)iris_finalize(w);
}

/* Leak checks at exit() see the stack of the forking thread alone, not that of the program's main. */
static bool exits_well()
{
#if defined(__SANITIZE_ADDRESS__)
    return std::getenv("IRIS_SPAWN") == nullptr;
#else
    return true;
#endif
}

static int fork_and_go_on(iris_world *w, void *arg)
{
    fork_case *f = (fork_case *)arg;
    const int me = iris_rank(w), world = iris_world_size(w);
    iris_signal *signal = iris_signals(w, 1);
    IRIS_TRY(launch_raise(w, signal, me)); /* a child has none of the threads that this starts */
    IRIS_TRY(iris_barrier(w));
    if (me == world - 1) {
        const pid_t one = fork_rank([&] { return use_a_parent_s_world(w, f), 3; });
        const pid_t two = fork_rank([&] {
            left_to_atexit = w;
            std::atexit(finalize_at_exit);
            if (exits_well())
                std::exit(4);
            return 4;
        });
        std::fflush(nullptr);
        const pid_t three = fork();
        if (three == 0 && !exits_well())
            std::_Exit(5);
        if (three == 0)
            return 5; /* from the rank's main */
        if (reap(one) != 3 || reap(two) != 4 || reap(three) != 5)
            return 70;
        nap_ms(50);
        f->parent_came = 1;
    }
    IRIS_TRY(iris_barrier(w));
    f->left_before[me] = !f->parent_came;
    IRIS_TRY(launch_raise(w, signal, (me + 1) % world)); /* the world is as good as before */
    IRIS_TRY(launch_wait(w, signal, 2));
    IRIS_TRY(iris_barrier(w));
    return 0;
}

TEST_CASE("a forked child has no say in its parent's world", "[host]")
{
    fork_case *f = (fork_case *)shared_alloc(sizeof *f);
    const iris_config c = patient(20000);
    for (int threads = 0; threads < 2; threads++) {
        if (threads)
            setenv("IRIS_SPAWN", "thread", 1);
        for (int world = 1; world < 4; world++) {
            std::memset((void *)f, 0, sizeof *f);
            const double start = seconds();
            INFO(world << " ranks, threads " << threads);
            CHECK(iris_spawn_config(world, fork_and_go_on, f, &c) == 0);
            CHECK(seconds() - start < slow(15));
            for (int r = 0; r < world; r++)
                CHECK(f->left_before[r] == 0);
            for (int i = 0; i < 15; i++) {
                INFO("call " << i << " says: " << f->child[i].sentence);
                CHECK(f->child[i].status == IRIS_ERR_ARGUMENT);
                CHECK(contains(f->child[i].sentence, "forked from it; a child may only call iris_finalize"));
            }
            CHECK(f->child[15].status == IRIS_OK);
        }
    }
    unsetenv("IRIS_SPAWN");
}

struct orphan_case {
    volatile pid_t child;
    outcome said[3];
};

/* Rank 1 is no child of the program that starts it, and leaves one of its own behind. */
static int die_as_a_parent(iris_world *w, orphan_case *o)
{
    IRIS_TRY(iris_barrier(w));
    if (iris_rank(w) != 1) {
        tell(&o->said[iris_rank(w)], iris_barrier(w), w);
        iris_finalize(w);
        return 0;
    }
    o->child = fork_rank([] { return pause(); });
    nap_ms(50);
    return kill(getpid(), SIGKILL);
}

TEST_CASE("a killed rank's own child does not hide its death", "[host]")
{
    orphan_case *o = (orphan_case *)shared_alloc(sizeof *o);
    const std::string job = "orphans-" + std::to_string((int)getpid());
    iris_config c = patient(30000); /* far more than the test may take */
    pid_t ranks[3];
    const double start = seconds();
    c.world = 3;
    c.job = job.c_str();
    for (c.rank = 0; c.rank < 3; c.rank++)
        ranks[c.rank] = fork_rank([&] {
            iris_world *w;
            return iris_init(&w, &c) == IRIS_OK ? die_as_a_parent(w, o) : 80;
        });
    CHECK(reap(ranks[1]) == 128 + SIGKILL);
    CHECK(reap(ranks[0]) == 0);
    CHECK(reap(ranks[2]) == 0);
    CHECK(seconds() - start < slow(15));
    REQUIRE(o->child > 0);
    kill(o->child, SIGKILL);
    for (int r = 0; r < 3; r += 2) {
        INFO("rank " << r << " says: " << o->said[r].sentence);
        CHECK(o->said[r].status == IRIS_ERR_PEER);
        CHECK(contains(o->said[r].sentence, "rank 1 died"));
    }
}

int main(int argc, char **argv) { return job_main(argc, argv); }
