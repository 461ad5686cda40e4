/* SPDX-License-Identifier: MIT */
/*
 * How ranks find each other: launchers' environments, tokens, TCP, the caller's allgather; and who is told what when
 * they do not.
 */
#include "job.h"

#include <arpa/inet.h>
#include <atomic>
#include <fcntl.h>
#include <netinet/in.h>
#include <set>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

/* Starts, checks who it is, meets the others, leaves. 0 when all went well. */
static int visit(const iris_config *c, outcome *said, int rank, int world)
{
    iris_world *w = nullptr;
    int all[8] = {0}, me = rank;
    tell(said, iris_init(&w, c), nullptr);
    if (said->status != IRIS_OK)
        return w ? 99 : 10 + said->status;
    if (iris_rank(w) != rank || iris_world_size(w) != world)
        return 90;
    if (iris_allgather(w, &me, all, sizeof me) != IRIS_OK)
        return 91;
    for (int r = 0; r < world; r++)
        if (all[r] != r)
            return 92;
    int *slots = (int *)iris_malloc(w, sizeof(int) * (size_t)world);
    if (!slots || iris_memset(w, slots, 0, sizeof(int) * (size_t)world) != IRIS_OK || iris_barrier(w) != IRIS_OK)
        return 93;
    for (int r = 0; r < world; r++) /* the heaps are each other's */
        ((volatile int *)iris_translate(w, slots, r))[rank] = rank + 1;
    if (iris_barrier(w) != IRIS_OK)
        return 94;
    for (int r = 0; r < world; r++)
        if (slots[r] != r + 1)
            return 95;
    return iris_finalize(w) == IRIS_OK ? 0 : 96;
}

typedef std::vector<std::pair<std::string, std::string>> variables;

static void forget_launchers()
{
    const char *names[] = {"IRIS_RANK",
                           "IRIS_WORLD",
                           "RANK",
                           "WORLD_SIZE",
                           "TORCHELASTIC_RUN_ID",
                           "MASTER_PORT",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_COMM_WORLD_SIZE",
                           "OMPI_MCA_ess_base_jobid",
                           "PMIX_NAMESPACE",
                           "PMI_RANK",
                           "PMI_SIZE",
                           "PMI_JOBID",
                           "SLURM_PROCID",
                           "SLURM_NTASKS",
                           "SLURM_STEP_ID",
                           "SLURM_JOB_ID",
                           "IRIS_JOB",
                           "IRIS_TOKEN",
                           "IRIS_HOST",
                           "IRIS_PORT"};
    for (const char *name : names)
        unsetenv(name);
}

/* A job's name that no other run of these tests has; to be made before the job's ranks are forked. */
static std::string own_name(const char *what) { return std::string(what) + "-" + std::to_string((int)getpid()); }

/* Forks `world` ranks whose environment says who they are; the exit value of each. */
static std::vector<int> run_job(int world, outcome *said, const iris_config &config, const variables &common,
                                const char *rank_name, const char *world_name, int missing = -1)
{
    std::vector<pid_t> pids;
    std::vector<int> values;
    for (int r = world - 1; r >= 0; r--) { /* rank 0 last: the others have to wait for it */
        if (r == missing)
            continue;
        pids.push_back(fork_rank([&] {
            for (const auto &v : common)
                setenv(v.first.c_str(), v.second.c_str(), 1);
            if (rank_name)
                setenv(rank_name, std::to_string(r).c_str(), 1);
            if (world_name)
                setenv(world_name, std::to_string(world).c_str(), 1);
            return visit(&config, &said[r], r, world);
        }));
        if (r == 1)
            nap_ms(50);
    }
    for (pid_t pid : pids)
        values.insert(values.begin(), reap(pid));
    return values;
}

static const std::vector<int> all_well(int n) { return std::vector<int>((size_t)n, 0); }

TEST_CASE("every launcher's environment is understood", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(3);
    const iris_config c = small_config();
    const std::string own = own_name("own"), pmix = own_name("prterun-host") + "@1", number = std::to_string(getpid());
    struct {
        const char *rank, *world;
        variables more;
    } const launchers[] = {
        {"IRIS_RANK", "IRIS_WORLD", {{"IRIS_JOB", own}}},
        {"IRIS_RANK", "IRIS_WORLD", {}}, /* named after user and parent */
        {"RANK", "WORLD_SIZE", {{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_PORT", number}}},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {{"PMIX_NAMESPACE", pmix}}},
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {{"OMPI_MCA_ess_base_jobid", number}}},
        {"PMI_RANK", "PMI_SIZE", {}},
        {"SLURM_PROCID", "SLURM_NTASKS", {{"SLURM_JOB_ID", number}, {"SLURM_STEP_ID", "0"}}},
    };
    for (const auto &l : launchers) {
        INFO(l.rank << ": " << said[0].sentence << " | " << said[1].sentence);
        CHECK(run_job(3, said, c, l.more, l.rank, l.world) == all_well(3));
    }
    /* The own variables win over an outer launcher's. */
    CHECK(run_job(2, said, c, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}, "IRIS_RANK",
                  "IRIS_WORLD") == all_well(2));
    /* sbatch without srun: one process, though a task count is set. */
    CHECK(run_job(1, said, c, {{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, nullptr, nullptr) == all_well(1));
}

TEST_CASE("an environment that makes no sense gets a sentence", "[host]")
{
    const std::string most = "=5000: a world has at most " + std::to_string(IRISI_MOST_RANKS) + " ranks",
                      most_ranks = "IRIS_WORLD" + most, most_torch_ranks = "WORLD_SIZE" + most;
    struct {
        variables set;
        const char *says;
    } const nonsense[] = {
        {{{"IRIS_RANK", "1"}}, "IRIS_RANK is set but IRIS_WORLD is not"},
        {{{"WORLD_SIZE", "4"}}, "WORLD_SIZE is set but RANK is not"},
        {{{"IRIS_RANK", "2"}, {"IRIS_WORLD", "2"}}, "IRIS_RANK=2 is not a whole number from 0 to 1"},
        {{{"IRIS_RANK", "-1"}, {"IRIS_WORLD", "2"}}, "IRIS_RANK=-1"},
        {{{"IRIS_RANK", "0"}, {"IRIS_WORLD", "two"}}, "IRIS_WORLD=two"},
        {{{"IRIS_RANK", "0"}, {"IRIS_WORLD", "99999999999999999999"}}, "IRIS_WORLD=9999"},
        {{{"IRIS_RANK", "4999"}, {"IRIS_WORLD", "5000"}}, most_ranks.c_str()},
        {{{"RANK", "0"}, {"WORLD_SIZE", "5000"}}, most_torch_ranks.c_str()},
        {{{"IRIS_HEAP_MB", "64MB"}}, "IRIS_HEAP_MB=64MB"},
        {{{"IRIS_SYNC_MB", "0"}}, "IRIS_SYNC_MB=0"},
        {{{"IRIS_HEAP", "nonsense"}}, "IRIS_HEAP=nonsense is none of auto, ipc and vmm"},
        {{{"IRIS_HEAP_MAX_MB", "-1"}}, "IRIS_HEAP_MAX_MB=-1"},
        {{{"IRIS_HEAP_MAX_MB", "1"}}, "is to grow to 1048576 at most; raise IRIS_HEAP_MAX_MB"},
        {{{"IRIS_TIMEOUT_MS", "soon"}}, "IRIS_TIMEOUT_MS=soon"},
        {{{"IRIS_CHECKED", "yes"}}, "IRIS_CHECKED=yes"},
        {{{"IRIS_LOG", "DEBUG"}}, "IRIS_LOG=DEBUG is none of error, warn, info and debug"},
        {{{"IRIS_PORT", "70000"}}, "IRIS_PORT=70000"},
        {{{"IRIS_TOKEN", std::string(200, 't')}}, "the job token has 200 bytes"},
        {{{"IRIS_RANK", "0"}, {"IRIS_WORLD", "2"}, {"IRIS_HOST", "localhost"}}, "needs a port"},
        {{{"IRIS_RANK", "0"}, {"IRIS_WORLD", "2"}, {"IRIS_HOST", "localhost"}, {"IRIS_PORT", "9"}},
         "needs a job token"},
        {{{"IRIS_RANK", "1"},
          {"IRIS_WORLD", "2"},
          {"IRIS_HOST", "no.such.host.invalid"},
          {"IRIS_PORT", "9"},
          {"IRIS_TOKEN", "t"}},
         "no.such.host.invalid"},
    };
    forget_launchers();
    outcome *said = shared_outcomes(1);
    for (const auto &n : nonsense) {
        iris_config c;
        std::memset(&c, 0, sizeof c);
        reap(fork_rank([&] {
            for (const auto &v : n.set)
                setenv(v.first.c_str(), v.second.c_str(), 1);
            return visit(&c, said, 0, 1);
        }));
        INFO(said->sentence);
        CHECK((said->status == IRIS_ERR_ARGUMENT || said->status == IRIS_ERR_SYSTEM));
        CHECK(contains(said->sentence, n.says));
    }
}

TEST_CASE("a config that makes no sense gets a sentence", "[host]")
{
    forget_launchers();
    iris_world *w = (iris_world *)(void *)&w;
    iris_config c = small_config();
    CHECK(iris_init(nullptr, &c) == IRIS_ERR_ARGUMENT);
    c.world = 2;
    c.rank = 2;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(w == nullptr);
    c.rank = -1;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    c.world = -5;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    c.rank = 0;
    c.world = 65;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(contains(iris_error_string(nullptr), "IRIS_FAR_RANKS"));
    c = small_config();
    c.timeout_ms = -2;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    c.timeout_ms = INT64_MAX; /* "for ever" is -1: sums and ticks of this would wrap around */
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(contains(iris_error_string(nullptr), "-1 means none"));
    for (int port : {-1, 65536, 700000}) {
        c = small_config();
        c.port = port;
        CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
        CHECK(contains(iris_error_string(nullptr), "ports are 1 to 65535"));
    }
    c = small_config();
    c.heap_bytes = (size_t)10000000000000000;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(contains(iris_error_string(nullptr), "iris_config.heap_bytes is 10000000000000000 bytes; at most "
                                               "4503599627370496 (4 PiB) can be"));
    c = small_config();
    c.heap_max_bytes = SIZE_MAX;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(contains(iris_error_string(nullptr), "iris_config.heap_max_bytes is"));
    c = small_config();
    c.heap_bytes = (size_t)1 << 50;
    CHECK(iris_init(&w, &c) == IRIS_ERR_NOMEM);
    CHECK(contains(iris_error_string(nullptr), "lower iris_config.heap_bytes"));
    c.heap_bytes = 1 << 20;
    c.heap_max_bytes = 1 << 19;
    CHECK(iris_init(&w, &c) == IRIS_ERR_ARGUMENT);
    CHECK(contains(iris_error_string(nullptr), "raise iris_config.heap_max_bytes"));
    CHECK(w == nullptr);
}

TEST_CASE("a full heap's sentence names what its size comes from, the config or the environment", "[host]")
{
    forget_launchers();
    for (int by_config = 0; by_config < 2; by_config++) {
        iris_config c = small_config();
        c.heap = "ipc";
        c.heap_bytes = by_config ? 1 << 20 : 0;
        setenv("IRIS_HEAP_MB", "2", 1);
        iris_world *w = nullptr;
        REQUIRE(iris_init(&w, &c) == IRIS_OK);
        unsetenv("IRIS_HEAP_MB");
        const size_t bytes = iris_heap_size(w, IRIS_MEM_DATA);
        const std::string now = by_config ? "raise iris_config.heap_bytes (now " + std::to_string(bytes) + ")"
                                          : "raise IRIS_HEAP_MB (now " + std::to_string(bytes >> 20) + ")";
        CHECK(iris_malloc(w, bytes + 1) == nullptr);
        CHECK(contains(iris_error_string(w), now.c_str()));
        CHECK(iris_signals(w, (size_t)1 << 30) == nullptr);
        CHECK(contains(iris_error_string(w), "raise iris_config.sync_bytes"));
        CHECK(iris_heap_grow(w, 1 << 20) == IRIS_ERR_UNSUPPORTED);
        CHECK(contains(iris_error_string(w), by_config ? "a larger iris_config.heap_bytes" : "a larger IRIS_HEAP_MB"));
        iris_finalize(w);
    }
}

TEST_CASE("a wrong token is refused at once, and rank 0 waits on for the right one", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(3);
    iris_config c = small_config();
    const std::string job = own_name("token");
    const int port = 20000 + (int)(getpid() % 20000);
    for (int tcp = 0; tcp < 2; tcp++) {
        c.world = 2;
        c.timeout_ms = slow(20000);
        c.job = job.c_str();
        c.host = tcp ? "127.0.0.1" : nullptr;
        c.port = tcp ? port : 0;
        c.token = "the right one";
        c.rank = 0;
        const pid_t zero = fork_rank([&] { return visit(&c, &said[0], 0, 2); });
        nap_ms(100);
        c.rank = 1;
        c.token = "the right ona";
        const double start = seconds();
        const pid_t wrong = fork_rank([&] { return visit(&c, &said[1], 1, 2); });
        CHECK(reap(wrong) == 10 + IRIS_ERR_TOKEN);
        CHECK(seconds() - start < slow(3));
        INFO(said[1].sentence);
        CHECK(contains(said[1].sentence, "token does not match"));
        c.token = "the right one";
        const pid_t right = fork_rank([&] { return visit(&c, &said[2], 1, 2); });
        CHECK(reap(right) == 0);
        CHECK(reap(zero) == 0);
    }
}

TEST_CASE("ranks that never arrive are named to those that did", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(4);
    iris_config c = small_config();
    const std::string job = own_name("missing");
    c.timeout_ms = slow(600);
    c.job = job.c_str();
    const double start = seconds();
    const std::vector<int> values = run_job(4, said, c, {}, "IRIS_RANK", "IRIS_WORLD", 2);
    CHECK(values == std::vector<int>(3, 10 + IRIS_ERR_PEER));
    CHECK(seconds() - start < slow(6));
    for (int r : {0, 1, 3}) {
        INFO("rank " << r << " says: " << said[r].sentence);
        CHECK(contains(said[r].sentence, "rank 2 never arrived"));
    }
    run_job(2, said, c, {}, "IRIS_RANK", "IRIS_WORLD", 0);
    INFO(said[1].sentence);
    CHECK(contains(said[1].sentence, "is rank 0 started, with the same IRIS_JOB?"));
}

TEST_CASE("two processes with one rank, and another world's size, are refused", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(4);
    iris_config c = small_config();
    const std::string job = own_name("twice");
    c.timeout_ms = slow(1500);
    c.job = job.c_str();
    c.world = 3;
    c.rank = 0;
    const pid_t zero = fork_rank([&] { return visit(&c, &said[0], 0, 3); });
    nap_ms(slow(100));
    c.rank = 1;
    const pid_t one = fork_rank([&] { return visit(&c, &said[1], 1, 3); });
    nap_ms(slow(100));
    const pid_t twin = fork_rank([&] { return visit(&c, &said[2], 1, 3); });
    c.world = 5;
    const pid_t stranger = fork_rank([&] { return visit(&c, &said[3], 1, 5); });
    CHECK(reap(twin) == 10 + IRIS_ERR_MISMATCH);
    CHECK(contains(said[2].sentence, "rank 1 has arrived already"));
    CHECK(reap(stranger) == 10 + IRIS_ERR_MISMATCH);
    CHECK(contains(said[3].sentence, "does not fit rank 0's world of 3"));
    CHECK(reap(one) == 10 + IRIS_ERR_PEER);
    CHECK(reap(zero) == 10 + IRIS_ERR_PEER);
    CHECK(contains(said[0].sentence, "rank 2 never arrived"));
}

TEST_CASE("ranks meet over TCP, while strangers knock", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(3);
    iris_config c = small_config();
    const int port = 20000 + (int)((getpid() + 7) % 20000);
    c.timeout_ms = 20000;
    const pid_t stranger = fork_rank([&] {
        for (int i = 0; i < 60; i++) {
            sockaddr_in a;
            std::memset(&a, 0, sizeof a);
            a.sin_family = AF_INET;
            a.sin_port = htons((uint16_t)port);
            a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            const int fd = socket(AF_INET, SOCK_STREAM, 0);
            char noise[300];
            std::memset(noise, i, sizeof noise);
            if (connect(fd, (sockaddr *)&a, sizeof a) == 0 &&
                send(fd, noise, i % 3 ? sizeof noise : 7, MSG_NOSIGNAL) < 0)
                return 1;
            nap_ms(5);
            if (i % 2)
                close(fd);
        }
        return 0;
    });
    const variables where = {{"IRIS_HOST", "localhost"}, {"IRIS_PORT", std::to_string(port)}, {"IRIS_TOKEN", "s3cret"}};
    nap_ms(20);
    CHECK(run_job(3, said, c, where, "IRIS_RANK", "IRIS_WORLD") == all_well(3));
    INFO(said[0].sentence << " | " << said[1].sentence);
    reap(stranger);
}

/* The caller's allgather, over memory that all ranks share. */
struct meeting {
    int world, arrived[8];
    char data[8][4096];
};
struct member {
    meeting *m;
    int rank, call, fail;
};

static int gather_in_memory(void *arg, const void *mine, void *all, size_t bytes)
{
    member *me = (member *)arg;
    meeting *m = me->m + me->call++;
    if (me->fail || bytes > sizeof m->data[0])
        return 77;
    std::memcpy(m->data[me->rank], mine, bytes);
    __atomic_store_n(&m->arrived[me->rank], 1, __ATOMIC_RELEASE);
    for (int r = 0; r < m->world; r++) {
        while (!__atomic_load_n(&m->arrived[r], __ATOMIC_ACQUIRE))
            nap_ms(1);
        std::memcpy((char *)all + (size_t)r * bytes, m->data[r], bytes);
    }
    return 0;
}

TEST_CASE("the caller's allgather starts a job", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(4);
    for (int fail = 0; fail < 2; fail++) {
        meeting *m = (meeting *)shared_alloc(4 * sizeof *m);
        std::vector<pid_t> pids;
        for (int i = 0; i < 4; i++)
            m[i].world = 4;
        for (int r = 0; r < 4; r++) {
            pids.push_back(fork_rank([&] {
                member me = {m, r, 0, fail};
                iris_config c = small_config();
                c.rank = r;
                c.world = 4;
                c.allgather = gather_in_memory;
                c.allgather_arg = &me;
                return visit(&c, &said[r], r, 4);
            }));
        }
        for (pid_t pid : pids)
            CHECK(reap(pid) == (fail ? 10 + (int)IRIS_ERR_SYSTEM : 0));
        INFO(said[0].sentence << " | " << said[1].sentence);
        if (fail)
            CHECK(contains(said[2].sentence, "callback returned 77"));
    }
}

TEST_CASE("ranks whose heaps differ in size are told", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(2);
    iris_config c = small_config();
    const std::string job = own_name("sizes");
    c.world = 2;
    c.job = job.c_str();
    const pid_t zero = fork_rank([&] { return visit(&c, &said[0], 0, 2); });
    c.rank = 1;
    c.heap_bytes *= 2;
    const pid_t one = fork_rank([&] { return visit(&c, &said[1], 1, 2); });
    CHECK(reap(zero) == 10 + IRIS_ERR_MISMATCH);
    CHECK(reap(one) == 10 + IRIS_ERR_MISMATCH);
    INFO(said[0].sentence);
    CHECK(contains(said[0].sentence, "heap sizes"));
}

/* What two ranks say who differ in nothing but what `differ` does to the config of rank 1. */
template <class Differ> static void two_ranks(const char *what, outcome *said, iris_config c, Differ differ)
{
    const std::string job = own_name(what);
    c.world = 2;
    c.job = job.c_str();
    const pid_t zero = fork_rank([&] { return visit(&c, &said[0], 0, 2); });
    c.rank = 1;
    const pid_t one = fork_rank([&] {
        differ(&c);
        return visit(&c, &said[1], 1, 2);
    });
    reap(zero);
    reap(one);
}

TEST_CASE("ranks that want different heaps are told", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(2);
    iris_config c = small_config();
    c.heap = "ipc";
    two_ranks("modes", said, c, [](iris_config *o) { o->heap = "vmm"; });
    for (int r = 0; r < 2; r++) {
        INFO(said[r].sentence);
        CHECK(said[r].status == IRIS_ERR_MISMATCH);
        CHECK(contains(said[r].sentence, "IRIS_HEAP differs: rank 0 has ipc, rank 1 vmm"));
    }
}

TEST_CASE("checked ranks whose deadlines differ are told, others get along", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(2);
    iris_config c = small_config();
    c.timeout_ms = 20000;
    two_ranks("deadlines", said, c, [](iris_config *o) { o->timeout_ms = 30000; });
    CHECK(said[0].status == IRIS_OK);
    CHECK(said[1].status == IRIS_OK);
    c.checked = 1;
    two_ranks("deadlines", said, c, [](iris_config *o) { o->timeout_ms = 30000; });
    for (int r = 0; r < 2; r++) {
        INFO(said[r].sentence);
        CHECK(said[r].status == IRIS_ERR_MISMATCH);
        CHECK(contains(said[r].sentence, "deadlines differ (IRIS_TIMEOUT_MS): rank 0 has 20000 ms, rank 1 30000 ms"));
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they take more addresses than a limit leaves */
/* A rank that says which kind of heap it has got. */
static int say_mode(const iris_config *c, outcome *said)
{
    iris_world *w = nullptr;
    tell(said, iris_init(&w, c), nullptr);
    if (said->status == IRIS_OK)
        std::snprintf(said->sentence, sizeof said->sentence, "%s", iris_heap_mode(w));
    return iris_finalize(w);
}

TEST_CASE("where one rank has no room for addresses, no heap grows, or IRIS_HEAP=vmm says why", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(2);
    iris_config c = small_config();
    const std::string job = own_name("addresses");
    c.world = 2;
    c.job = job.c_str();
    for (const char *mode : {"auto", "vmm"}) {
        c.heap = mode;
        c.rank = 0;
        const pid_t zero = fork_rank([&] { return say_mode(&c, &said[0]); });
        c.rank = 1;
        const pid_t one = fork_rank([&] {
            const rlimit few = {(rlim_t)2 << 30, (rlim_t)2 << 30};
            setrlimit(RLIMIT_AS, &few);
            return say_mode(&c, &said[1]);
        });
        reap(zero);
        reap(one);
        for (int r = 0; r < 2; r++) {
            INFO(mode << ", rank " << r << ": " << said[r].sentence);
            CHECK(said[r].status == (std::strcmp(mode, "auto") == 0 ? IRIS_OK : IRIS_ERR_NOMEM));
            CHECK(contains(said[r].sentence, std::strcmp(mode, "auto") == 0 ? "ipc" : "IRIS_HEAP_MAX_MB"));
        }
    }
}

#endif

TEST_CASE("one rank's failed start is every rank's sentence", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(2);
    iris_config c = small_config();
    const std::string job = own_name("start");
    c.world = 2;
    c.job = job.c_str();
    const pid_t zero = fork_rank([&] { return visit(&c, &said[0], 0, 2); });
    c.rank = 1;
    const pid_t one = fork_rank([&] {
        const rlimit short_files = {1 << 20, 1 << 20}; /* so rank 1 cannot make the file of its heap */
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &short_files);
        return visit(&c, &said[1], 1, 2);
    });
    CHECK(reap(zero) == 10 + IRIS_ERR_NOMEM);
    CHECK(reap(one) == 10 + IRIS_ERR_NOMEM);
    INFO(said[0].sentence);
    CHECK(contains(said[0].sentence, "rank 1: cannot create a heap"));
}

TEST_CASE("iris_init_all makes ranks of one process", "[host]")
{
    forget_launchers();
    iris_world *worlds[3];
    iris_config c = small_config();
    REQUIRE(iris_init_all(worlds, 3, &c) == IRIS_OK);
    for (int r = 0; r < 3; r++) {
        CHECK(iris_rank(worlds[r]) == r);
        CHECK(iris_world_size(worlds[r]) == 3);
    }
    void *p = iris_malloc(worlds[0], 64);
    CHECK(iris_translate(worlds[0], p, 0) == p);
    CHECK(iris_translate(worlds[0], p, 1) == iris_malloc(worlds[1], 64)); /* mapped once */
    pthread_t threads[3];
    for (int r = 0; r < 3; r++)
        pthread_create(
            &threads[r], nullptr, [](void *w) -> void * { return (void *)(intptr_t)iris_finalize((iris_world *)w); },
            worlds[r]);
    for (int r = 0; r < 3; r++) {
        void *status;
        pthread_join(threads[r], &status);
        CHECK((intptr_t)status == IRIS_OK);
    }
    CHECK(iris_init_all(nullptr, 3, &c) == IRIS_ERR_ARGUMENT);
    CHECK(iris_init_all(worlds, 0, &c) == IRIS_ERR_ARGUMENT);
    setenv("IRIS_PORT", "nonsense", 1);
    CHECK(iris_init_all(worlds, 3, &c) == IRIS_ERR_ARGUMENT);
    unsetenv("IRIS_PORT");
}


/* ---- what a process may have when it starts ------------------------------------------------------------------- */

/* 0 when standard streams are still closed, and what was opened since `before` is closed by exec. */
static int look_at_descriptors(const std::vector<bool> &before, int where)
{
    for (int fd = 0; fd < (int)before.size(); fd++) {
        const int flags = fcntl(fd, F_GETFD);
        if (flags < 0 || before[(size_t)fd])
            continue;
        if (fd < 3 || !(flags & FD_CLOEXEC))
            return where + fd;
    }
    return 0;
}

static std::vector<bool> close_standard_streams()
{
    std::vector<bool> open(60);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    for (int fd = 3; fd < (int)open.size(); fd++)
        open[(size_t)fd] = fcntl(fd, F_GETFD) >= 0;
    return open;
}

static int without_streams(iris_world *w, const std::vector<bool> &before)
{
    int all[8] = {0}, me = iris_rank(w) + 1;
    if (const int bad = look_at_descriptors(before, 100))
        return bad;
    std::printf("what a program prints\n"); /* in a descriptor of the library's, it would be read by rank 0 */
    std::fflush(stdout);
    std::fprintf(stderr, "and says of errors\n");
    const size_t bytes = iris_heap_size(w, IRIS_MEM_DATA);
    if (iris_heap_grow(w, 1 << 20) != IRIS_OK || iris_heap_size(w, IRIS_MEM_DATA) <= bytes)
        return 80;
    const int file = memfd_create("mine", MFD_CLOEXEC | MFD_ALLOW_SEALING), high = fcntl(file, F_DUPFD_CLOEXEC, 50);
    if (ftruncate(high, 1 << 16) != 0 || fcntl(high, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return 81;
    close(file);
    void *mine = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, high, 0);
    void *alias = iris_as_symmetric(w, mine, 1 << 16);
    if (!alias || !iris_is_alias(w, alias))
        return 82;
    if (iris_allgather(w, &me, all, sizeof me) != IRIS_OK)
        return 83;
    for (int r = 0; r < iris_world_size(w); r++)
        if (all[r] != r + 1)
            return 84;
    return look_at_descriptors(before, 150);
}

static int spawned_without_streams(iris_world *w, void *before)
{
    return without_streams(w, *(const std::vector<bool> *)before);
}

TEST_CASE("no descriptor takes the place of a standard stream that is closed", "[host]")
{
    forget_launchers();
    iris_config c = small_config();
    c.timeout_ms = 20000;
    const int port = 20000 + (int)((getpid() + 13) % 20000);
#if defined(__SANITIZE_THREAD__)
    const int hows = 1; /* a socket under another number is another socket to it, which orders no threads */
#else
    const int hows = 2;
#endif
    for (int threads = 0; threads < hows; threads++)
        CHECK(reap(fork_rank([&] {
                  setenv("IRIS_SPAWN", threads ? "thread" : "process", 1);
                  std::vector<bool> before = close_standard_streams();
                  return iris_spawn_config(3, spawned_without_streams, &before, &c);
              })) == 0);
    for (int tcp = 0; tcp < 2; tcp++) {
        pid_t ranks[3];
        const std::string job = own_name("streams");
        c.world = 3;
        c.job = job.c_str();
        c.host = tcp ? "127.0.0.1" : nullptr;
        c.port = tcp ? port : 0;
        c.token = "t";
        for (c.rank = 0; c.rank < 3; c.rank++)
            ranks[c.rank] = fork_rank([&] {
                const std::vector<bool> before = close_standard_streams();
                iris_world *w;
                if (iris_init(&w, &c) != IRIS_OK)
                    return 70;
                const int bad = without_streams(w, before);
                return iris_finalize(w) == IRIS_OK ? bad : 71;
            });
        for (pid_t rank : ranks)
            CHECK(reap(rank) == 0);
    }
}

/* The sockets that this process has, by /proc: another thread may make them now, and a call on one would be a race. */
static std::set<int> sockets()
{
    std::set<int> found;
    for (int fd = 0; fd < 200; fd++) {
        char target[8] = "";
        const std::string link = "/proc/self/fd/" + std::to_string(fd);
        if (readlink(link.c_str(), target, 7) == 7 && !std::strcmp(target, "socket:"))
            found.insert(fd);
    }
    return found;
}

/* Forks once this process has `n` sockets more than before; 0 when the child has the old ones alone. */
static int fork_at_sockets(const std::set<int> &before, size_t n)
{
    while (sockets().size() < before.size() + n)
        nap_ms(2);
    return reap(fork_rank([&] { return (int)(sockets() != before); }));
}

struct start_case {
    std::atomic<int> forked[2], left;
};

static int stay_for_a_fork(iris_world *, void *arg)
{
    const std::atomic<int> *left = &((start_case *)arg)->left;
    while (!*left)
        nap_ms(2);
    return 0;
}

/*
 * Ranks 0 and 1 wait for rank 2: sockets are there, worlds are not. A child that kept them would hide that its parent
 * dies. Rank 0 has a listener and rank 1's connection then, rank 1 its end.
 */
TEST_CASE("a child that is forked during start-up has none of its parent's sockets", "[host]")
{
    forget_launchers();
    start_case *s = (start_case *)shared_alloc(sizeof *s);
    outcome *said = shared_outcomes(3);
    iris_config c = small_config();
    const std::string job = own_name("forks");
    c.timeout_ms = slow(20000);
    c.world = 3;
    c.job = job.c_str();
    s->forked[0] = s->forked[1] = -1;
    pid_t ranks[3];
    for (c.rank = 0; c.rank < 3; c.rank++)
        ranks[c.rank] = fork_rank([&] {
            const int rank = c.rank;
            const std::set<int> before = sockets();
            std::thread forks([&] {
                if (rank < 2)
                    s->forked[rank] = fork_at_sockets(before, rank == 0 ? 2 : 1);
            });
            while (rank == 2 && (s->forked[0] < 0 || s->forked[1] < 0))
                nap_ms(2);
            const int bad = visit(&c, &said[rank], rank, 3);
            forks.join();
            return bad;
        });
    for (pid_t rank : ranks)
        CHECK(reap(rank) == 0);
    CHECK(s->forked[0] == 0);
    CHECK(s->forked[1] == 0);
    /* The process that iris_spawn was called in has one to rank 0; with threads for ranks, all of them. */
#if defined(__SANITIZE_THREAD__)
    const int first = 1; /* it lets no process with threads fork one that starts threads */
#else
    const int first = 0;
#endif
    for (int threads = first; threads < 2; threads++)
        CHECK(reap(fork_rank([&] {
                  setenv("IRIS_SPAWN", threads ? "thread" : "process", 1);
                  const std::set<int> before = sockets();
                  int bad = 1;
                  s->left = 0;
                  std::thread forks([&] {
                      bad = fork_at_sockets(before, 1);
                      s->left = 1;
                  });
                  const int value = iris_spawn_config(3, stay_for_a_fork, s, &c);
                  forks.join();
                  return value || bad;
              })) == 0);
}

TEST_CASE("a limit on the size of files is told, not died of", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(3);
    iris_config c = small_config();
    c.heap_bytes = 8 << 20;
    const pid_t pid = fork_rank([&] {
        rlimit limit;
        limit.rlim_cur = limit.rlim_max = 4 << 20;
        iris_world *w;
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            return 1;
        tell(&said[0], iris_init(&w, &c), nullptr);
        c.heap_bytes = 1 << 20;
        tell(&said[1], iris_init(&w, &c), nullptr);
        if (said[1].status != IRIS_OK)
            return 2;
        tell(&said[2], iris_heap_grow(w, 8 << 20), w);
        return iris_malloc(w, 1000) && iris_finalize(w) == IRIS_OK ? 0 : 3;
    });
    CHECK(reap(pid) == 0);
    for (int i : {0, 2}) {
        INFO(said[i].sentence);
        CHECK(said[i].status == IRIS_ERR_NOMEM);
        CHECK(contains(said[i].sentence, "see ulimit -f"));
    }
}

TEST_CASE("the variables that made two processes one rank are named", "[host]")
{
    forget_launchers();
    outcome *said = shared_outcomes(3);
    iris_config c = small_config();
    c.timeout_ms = slow(600);
    const variables pod = {{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"MASTER_PORT", std::to_string((int)getpid())}};
    run_job(3, said, c, pod, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    for (int r = 0; r < 3; r++) {
        const std::string others = r == 0 ? "" :
            ", while OMPI_COMM_WORLD_RANK=" + std::to_string(r) + " and OMPI_COMM_WORLD_SIZE=3; unset the pair";
        INFO("rank " << r << " says: " << said[r].sentence);
        CHECK((said[r].status == IRIS_ERR_SYSTEM || said[r].status == IRIS_ERR_PEER));
        CHECK(contains(said[r].sentence, "this process is rank 0 of 3 by RANK=0 and WORLD_SIZE=3"));
        CHECK(contains(said[r].sentence, others.c_str()));
    }
}

/* What a process that does `body` writes to its standard error. */
template <class Body> static std::string errors_of(Body body)
{
    char path[] = "/tmp/iris-test-XXXXXX", text[4000] = "";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    unlink(path);
    const pid_t pid = fork_rank([&] {
        dup2(file, 2);
        return body();
    });
    CHECK(reap(pid) == 0);
    REQUIRE(pread(file, text, sizeof text - 1, 0) >= 0);
    close(file);
    return text;
}

static int do_nothing(iris_world *, void *) { return 0; }

TEST_CASE("variables that are none are told once, with the ones that were meant", "[host]")
{
    forget_launchers();
    const iris_config c = small_config();
    const std::string warning = "iris: warning: the environment has what this library does not know: ";
    const auto job = [&](const variables &set) {
        return errors_of([&] {
            for (const auto &v : set)
                setenv(v.first.c_str(), v.second.c_str(), 1);
            iris_world *w;
            const int value = iris_spawn_config(3, do_nothing, nullptr, &c);
            return value || iris_init(&w, &c) != IRIS_OK || iris_finalize(w) != IRIS_OK;
        });
    };
    CHECK(job({}) == "");
    CHECK(job({{"IRIS_TIMEOUT_MS", "30000"}, {"IRIS_HEAP_MAX_MB", "512"}, {"IRIS_TEST_SLOW", "1"}}) == "");
    CHECK(job({{"IRIS_TIMEOUT", "300"}}) == warning + "IRIS_TIMEOUT (is IRIS_TIMEOUT_MS meant?)\n");
    CHECK(job({{"IRIS_TUNING", "1"}}) == warning + "IRIS_TUNING (is IRIS_TUNE meant?)\n");
    CHECK(job({{"IRIS_QUIETLY", "1"}}) == warning + "IRIS_QUIETLY\n");
    CHECK(job({{"IRIS_TIMEOUT", "300"}, {"IRIS_LOG", "error"}}) == "");
    const std::string two = job({{"IRIS_QUIETLY", "1"}, {"IRIS_WORLD_SIZE", "4"}});
    CHECK(two.size() == (warning + "IRIS_QUIETLY, IRIS_WORLD_SIZE (is IRIS_WORLD meant?)\n").size());
    /* A launcher that counts more ranks than the pair that counts has probably started this process. */
    const std::string pod = job({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
    CHECK(pod.find("iris: warning: this process is rank 0 of 1 by RANK=0 and WORLD_SIZE=1, while PMI_RANK=2 and "
                   "PMI_SIZE=3") == 0);
    /* One that counts fewer has started a launcher on each node. */
    const std::string alone = job({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1"}});
    CHECK(alone == "");
}

int main(int argc, char **argv) { return job_main(argc, argv); }
