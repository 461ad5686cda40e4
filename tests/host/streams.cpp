/* SPDX-License-Identifier: MIT */
/*
 * Launches, streams and events: shape, order, overlap, limits; and the collectives on host memory.
 */
#include "harness.h"

#include <cstring>
#include <iris/iris.h>

typedef struct count_args {
    iris_ctx ctx;
    uint64_t *visits; /* of each workgroup */
    uint64_t *grid;   /* workgroups, waves */
    uint32_t shared_bytes, pad;
} count_args;

/* Every lane leaves a mark in shared memory; lane 0 counts them after the barrier. */
IRIS_KERNEL(count_lanes, count_args, a, 1024)
{
    uint32_t *marks = (uint32_t *)iris_shared();
    marks[iris_wg_lane()] = iris_workgroup() + 1;
    iris_sync_wg();
    if (iris_wg_lane() == 0) {
        uint64_t n = 0;
        for (uint32_t i = 0; i < iris_wg_lanes(); i++)
            n += marks[i] == iris_workgroup() + 1;
        a->visits[iris_workgroup()] += n;
        if (iris_workgroup() == 0) {
            a->grid[0] = iris_workgroups();
            a->grid[1] = iris_wg_lanes();
        }
    }
}

static void shapes(irist_rank *t)
{
    struct {
        uint32_t workgroups, lanes, flags;
    } const grids[] = {{1, 64, 0},   {1, 1, 0},    {7, 65, 0},  {100, 256, 0}, {33, 1024, 0},
                       {1, 1024, 1}, {16, 256, 1}, {61, 64, 1}, {1024, 64, 1}};
    count_args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.visits = (uint64_t *)iris_malloc(t->world, 1024 * 8);
    a.grid = (uint64_t *)iris_malloc(t->world, 16);
    for (const auto &g : grids) {
        iris_launch_config cfg = iris_grid(g.workgroups, g.lanes);
        if (t->ranks > 2 && g.workgroups > 100)
            continue; /* a thousand threads a rank at once are enough for two ranks */
        cfg.flags = g.flags;
        cfg.shared_bytes = 1024 * 4;
        std::memset(a.visits, 0, 1024 * 8);
        if (!irist_run(t, count_lanes, a, cfg))
            return;
        irist_check(t, a.grid[0] == g.workgroups, "grid %u: kernel saw %llu workgroups", g.workgroups,
                    (unsigned long long)a.grid[0]);
        for (uint32_t i = 0; i < 1024; i++)
            if (!irist_check(t, a.visits[i] == (i < g.workgroups ? a.grid[1] : 0),
                             "grid %u x %u, workgroup %u: %llu of %llu lanes", g.workgroups, g.lanes, i,
                             (unsigned long long)a.visits[i], (unsigned long long)a.grid[1]))
                return;
    }
    irist_ok(t, iris_free(t->world, a.visits));
    irist_ok(t, iris_free(t->world, a.grid));
}

TEST_CASE("every lane of every workgroup runs once, whatever the grid", "[host][stream]")
{
    irist_spmd(shapes, nullptr);
}

typedef struct append_args {
    uint64_t *list; /* [0] is its length */
    uint64_t value;
} append_args;

IRIS_KERNEL(append_value, append_args, a, 64)
{
    if (iris_grid_lane() == 0) {
        a->list[1 + a->list[0]] = a->value;
        a->list[0]++;
    }
}

static bool append(irist_rank *t, uint64_t *list, uint64_t value, iris_stream stream)
{
    append_args a = {list, value};
    const iris_launch_config cfg = iris_grid(1, 64);
    return irist_ok(t, iris_launch(t->world, append_value, &a, sizeof a, &cfg, stream));
}

/* Two streams append to one list; events between them make the order certain. */
static void in_order(irist_rank *t)
{
    iris_stream one, two;
    iris_event e[2];
    uint64_t *list = (uint64_t *)iris_malloc(t->world, 8 * 300);
    irist_ok(t, iris_memset(t->world, list, 0, 8 * 300));
    irist_ok(t, iris_stream_create(t->world, &one));
    irist_ok(t, iris_stream_create(t->world, &two));
    for (int i = 0; i < 2; i++)
        irist_ok(t, iris_event_create(t->world, &e[i]));
    irist_ok(t, iris_stream_wait_event(t->world, two, e[0])); /* never recorded: holds nothing up */
    for (uint64_t i = 0; i < 200; i += 4) {
        append(t, list, i, one);
        append(t, list, i + 1, one);
        irist_ok(t, iris_event_record(t->world, e[0], one));
        irist_ok(t, iris_stream_wait_event(t->world, two, e[0]));
        append(t, list, i + 2, two);
        append(t, list, i + 3, two);
        irist_ok(t, iris_event_record(t->world, e[1], two));
        irist_ok(t, iris_stream_wait_event(t->world, one, e[1]));
    }
    irist_ok(t, iris_event_destroy(t->world, e[1])); /* while streams may still use it */
    irist_ok(t, iris_synchronize(t->world));
    irist_check(t, list[0] == 200, "%llu of 200 kernels ran", (unsigned long long)list[0]);
    for (uint64_t i = 0; i < 200; i++)
        if (!irist_check(t, list[1 + i] == i, "kernel %llu ran at place %llu", (unsigned long long)list[1 + i],
                         (unsigned long long)i))
            break;
    irist_ok(t, iris_event_destroy(t->world, e[0]));
    irist_ok(t, iris_stream_destroy(t->world, one));
    irist_ok(t, iris_stream_destroy(t->world, two));
    irist_ok(t, iris_free(t->world, list));
}

TEST_CASE("a stream's work runs in order, and events order streams", "[host][stream]")
{
    irist_spmd(in_order, nullptr);
}

typedef struct pass_args {
    iris_ctx ctx;
    iris_signal *mine, *yours;
    uint64_t times;
} pass_args;

/* Raises one signal and waits for the other, again and again: two such kernels only finish side by side. */
IRIS_KERNEL(pass_to_and_fro, pass_args, a, 256)
{
    for (uint64_t i = 1; i <= a->times; i++) {
        iris_signal_add_wg(&a->ctx, a->yours, 1, a->ctx.rank);
        iris_wait_ge_wg(&a->ctx, a->mine, i * iris_workgroups());
    }
}

static void side_by_side(irist_rank *t)
{
    iris_stream other;
    iris_signal *s = iris_signals(t->world, 2);
    const iris_launch_config cfg = iris_cooperative(3, 128);
    pass_args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    a.times = irist_laps(20, 100);
    irist_ok(t, iris_stream_create(t->world, &other));
    a.mine = s;
    a.yours = s + 1;
    irist_ok(t, iris_launch(t->world, pass_to_and_fro, &a, sizeof a, &cfg, iris_default_stream(t->world)));
    a.mine = s + 1;
    a.yours = s;
    irist_ok(t, iris_launch(t->world, pass_to_and_fro, &a, sizeof a, &cfg, other));
    irist_ok(t, iris_stream_synchronize(t->world, other));
    irist_ok(t, iris_synchronize(t->world));
    irist_check(t, s[0].value == 3 * a.times && s[1].value == 3 * a.times, "signals %llu %llu",
                (unsigned long long)s[0].value, (unsigned long long)s[1].value);
    irist_ok(t, iris_stream_destroy(t->world, other));
    irist_ok(t, iris_free(t->world, s));
}

TEST_CASE("kernels on two streams run side by side", "[host][stream]") { irist_spmd(side_by_side, nullptr); }

IRIS_KERNEL(take_a_moment, pass_args, a, 256)
{
    const uint64_t until = iris_clock() + a->times;
    while (iris_clock() < until)
        iris_pause(100);
}

static void timing(irist_rank *t)
{
    iris_event start, stop, never;
    float ms = -1;
    pass_args a;
    const iris_launch_config cfg = iris_grid(1, 64);
    std::memset(&a, 0, sizeof a);
    a.times = 20000000; /* 20 ms on the host's clock */
    irist_ok(t, iris_event_create(t->world, &start));
    irist_ok(t, iris_event_create(t->world, &stop));
    irist_ok(t, iris_event_create(t->world, &never));
    irist_ok(t, iris_event_record(t->world, start, nullptr)); /* null: the default stream */
    irist_ok(t, iris_launch(t->world, take_a_moment, &a, sizeof a, &cfg, nullptr));
    irist_ok(t, iris_event_record(t->world, stop, nullptr));
    irist_ok(t, iris_event_elapsed_ms(t->world, &ms, start, stop));
    irist_check(t, ms >= 20 && ms < 5000, "20 ms took %g", (double)ms);
    irist_check(t, iris_event_elapsed_ms(t->world, &ms, never, stop) != IRIS_OK, "an unrecorded event has a time");
    irist_ok(t, iris_event_destroy(t->world, start));
    irist_ok(t, iris_event_destroy(t->world, stop));
    irist_ok(t, iris_event_destroy(t->world, never));
}

TEST_CASE("events measure time", "[host][stream]") { irist_spmd(timing, nullptr); }

static void limits(irist_rank *t)
{
    pass_args a;
    std::memset(&a, 0, sizeof a);
    const uint32_t most = iris_max_workgroups(t->world, take_a_moment, 256, 0);
    iris_launch_config cfg = iris_cooperative(most + 1, 256);
    char numbers[80];
    irist_check(t, most > 0, "nothing can be launched");
    irist_check(t, iris_launch(t->world, take_a_moment, &a, sizeof a, &cfg, nullptr) == IRIS_ERR_GRID,
                "a grid too large was taken");
    std::snprintf(numbers, sizeof numbers, "%u workgroups of 256 lanes", most + 1);
    irist_check(t, std::strstr(iris_error_string(t->world), numbers) != nullptr, "%s", iris_error_string(t->world));
    std::snprintf(numbers, sizeof numbers, "%u can", most);
    irist_check(t, std::strstr(iris_error_string(t->world), numbers) != nullptr, "%s", iris_error_string(t->world));
    cfg = iris_grid(1, 2000);
    irist_check(t, iris_launch(t->world, take_a_moment, &a, sizeof a, &cfg, nullptr) == IRIS_ERR_ARGUMENT,
                "2000 lanes were taken");
    cfg = iris_grid(1, 64);
    irist_check(t, iris_launch(t->world, take_a_moment, &a, 1 << 20, &cfg, nullptr) == IRIS_ERR_ARGUMENT,
                "1 MiB of arguments was taken");
    irist_check(t, iris_launch(t->world, take_a_moment, nullptr, sizeof a, &cfg, nullptr) == IRIS_ERR_ARGUMENT,
                "null arguments were taken");
    irist_check(t, iris_launch(t->world, take_a_moment, &a, sizeof &a, &cfg, nullptr) == IRIS_ERR_ARGUMENT &&
                       std::strstr(iris_error_string(t->world), "8 bytes of arguments are not the") != nullptr,
                "the size of a pointer was taken: %s", iris_error_string(t->world));
    irist_check(t, irisi_launch(t->world, nullptr, "null", &a, sizeof a, &cfg, nullptr) == IRIS_ERR_ARGUMENT,
                "a null kernel was taken");
    cfg.flags = 64;
    irist_check(t, iris_launch(t->world, take_a_moment, &a, sizeof a, &cfg, nullptr) == IRIS_ERR_ARGUMENT,
                "an unknown flag was taken");
    irist_ok(t, iris_launch(t->world, take_a_moment, &a, sizeof a, nullptr, nullptr)); /* defaults */
    irist_check(t, iris_stream_create(t->world, nullptr) == IRIS_ERR_ARGUMENT, "a null result was taken");
    irist_check(t, iris_stream_destroy(t->world, iris_default_stream(t->world)) == IRIS_ERR_ARGUMENT,
                "the default stream was destroyed");
    irist_ok(t, iris_stream_destroy(t->world, nullptr));
    irist_check(t, iris_event_record(t->world, nullptr, nullptr) == IRIS_ERR_ARGUMENT, "a null event was taken");
    irist_check(t, iris_memcpy(t->world, nullptr, &a, 4) == IRIS_ERR_ARGUMENT, "a copy to null was taken");
    irist_check(t, iris_memset(t->world, nullptr, 0, 4) == IRIS_ERR_ARGUMENT, "a fill of null was taken");
    irist_check(t, iris_broadcast(t->world, &a, 4, t->ranks) == IRIS_ERR_ARGUMENT,
                "a root that does not exist was taken");
    irist_check(t, iris_allgather(t->world, nullptr, &a, 4) == IRIS_ERR_ARGUMENT, "a null part was taken");
    irist_check(t, iris_barrier(nullptr) == IRIS_ERR_ARGUMENT && iris_synchronize(nullptr) == IRIS_ERR_ARGUMENT,
                "a null world was taken");
    irist_check(t, std::strstr(iris_error_string(nullptr), "null") != nullptr, "%s", iris_error_string(nullptr));
    irist_check(t, iris_rank(nullptr) == -1 && !iris_malloc(nullptr, 4) && !iris_default_stream(nullptr),
                "a null world has a rank");
    irist_ok(t, iris_barrier(t->world));
}

TEST_CASE("nonsense is refused with a sentence", "[host][stream]") { irist_spmd(limits, nullptr); }

#ifdef IRIS_TARGET_HOST
static void foreign_stream(irist_rank *t)
{
    int nothing = 0;
    irist_check(t, iris_stream_synchronize(t->world, (iris_stream)(void *)&nothing) == IRIS_ERR_ARGUMENT,
                "a stray pointer is a stream");
}
TEST_CASE("a stream of no world is refused", "[host][stream]") { irist_spmd(foreign_stream, nullptr); }
#endif

static void exchange(irist_rank *t)
{
    const size_t sizes[] = {0, 1, 7, 4096, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, 1 << 20};
    for (size_t n : sizes) {
        std::vector<unsigned char> mine(n + 1), all(n * (size_t)t->ranks + 1, 0xEE);
        for (size_t i = 0; i < n; i++)
            mine[i] = (unsigned char)irist_random(t->seed, (uint64_t)t->rank, i);
        irist_ok(t, iris_allgather(t->world, mine.data(), all.data(), n));
        for (int r = 0; r < t->ranks; r++)
            for (size_t i = 0; i<n; i += n> 8192 ? 97 : 1)
                if (!irist_check(t, all[(size_t)r * n + i] == (unsigned char)irist_random(t->seed, (uint64_t)r, i),
                                 "allgather of %zu bytes", n))
                    return;
        irist_check(t, all[n * (size_t)t->ranks] == 0xEE, "allgather wrote past its end");
        for (int root = 0; root < t->ranks; root++) {
            std::vector<unsigned char> data = mine;
            data[n] = 0xEE;
            irist_ok(t, iris_broadcast(t->world, data.data(), n, root));
            irist_check(t, n == 0 || std::memcmp(data.data(), all.data() + (size_t)root * n, n) == 0,
                        "broadcast of %zu bytes", n);
            irist_check(t, data[n] == 0xEE, "broadcast wrote past its end");
        }
    }
}

TEST_CASE("broadcast and allgather carry any size", "[host][collective]") { irist_spmd(exchange, nullptr); }

static void many_barriers(irist_rank *t)
{
    for (uint32_t i = irist_laps(300, 5000); i > 0; i--)
        if (!irist_ok(t, iris_barrier(t->world)))
            return;
}

TEST_CASE("thousands of host barriers", "[host][collective]") { irist_spmd(many_barriers, nullptr); }
