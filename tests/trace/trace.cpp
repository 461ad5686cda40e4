/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/trace.h> and the hooks of <iris/trace_event.h>: one event for each operation of every kind and group,
 * none while no trace is on, arrows from raises to waits, what rings lose, ranges, collectives, GEMMs, a world that
 * stopped and was reset. The file that rank 0 writes is read back as text: a line for each event.
 */
#define IRIS_TRACE 1
#include "harness.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>
#include <string>

#include <iris/gen/rma_2d.h>
#include <iris/iris.h>

#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#include <iris/gen/launch/all_reduce.h>
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F32
#include <iris/gen/launch/gemm_all_reduce.h>

namespace {

enum { N = 300, RANGE = 7, GROUPS = 3 };

struct trace_args {
    iris_ctx ctx;
    float *data, *own; /* symmetric; own memory */
    uint64_t *words;   /* sync memory */
    iris_signal *signals;
    iris_channel channel;
    uint64_t first; /* turns before */
    uint32_t turns;
};

/* Each operation once by lane 0 of the grid, in each group that it has by the whole workgroup. */
IRIS_KERNEL(kinds_kernel, trace_args, a, 256)
{
    const iris_ctx *ctx = &a->ctx;
    const int peer = (ctx->rank + 1) % ctx->world;
    float *mine = a->data + (size_t)N * (size_t)(1 + ctx->rank);
    const uint64_t begun = iris_trace_begin(ctx);
    if (iris_grid_lane() == 0) {
        iris_store_f32(ctx, mine, iris_load_f32(ctx, a->data, peer), peer);
        iris_put_f32(ctx, mine, a->own, N, peer);
        iris_put_2d_f32(ctx, mine, a->own, 3, N / 3, N / 3, N / 3, peer);
        iris_get_f32(ctx, a->own, a->data, N, peer);
        iris_copy_f32(ctx, mine, a->data, N, peer, peer);
        uint64_t *w = a->words + ctx->rank;
        iris_atomic_set_u64(ctx, w, 1, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_fetch_u64(ctx, w, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_add_u64(ctx, w, 1, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_sub_u64(ctx, w, 1, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_cas_u64(ctx, w, 1, 2, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_xchg_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_xor_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_or_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_and_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_min_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_max_u64(ctx, w, 3, peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_signal_add(ctx, a->signals, 1, peer);
        iris_wait_ge(ctx, a->signals, a->first + 1);
    }
    iris_sync_wg();
    if (iris_wave() == 0)
        iris_put_f32_wave(ctx, mine, a->own, N, peer);
    iris_sync_wg();
    iris_put_f32_wg(ctx, mine, a->own, N, peer);
    iris_sync_wg();
    iris_barrier_all_wg(ctx, &a->channel);
    if (iris_wave() == 0)
        iris_trace_end(ctx, begun, RANGE);
}

/* Workgroup g passes data right and waits for its own, turn by turn. */
IRIS_KERNEL(ring_kernel, trace_args, a, 64)
{
    const iris_ctx *ctx = &a->ctx;
    const int peer = (ctx->rank + 1) % ctx->world;
    const uint32_t g = iris_workgroup();
    float *to = a->data + (size_t)N * (size_t)(1 + ctx->rank) + g * (N / GROUPS);
    for (uint64_t i = a->first + 1; i <= a->first + a->turns; i++) {
        iris_put_signal_f32_wg(ctx, to, a->own, N / GROUPS, a->signals + g, i, IRIS_SIGNAL_SET, peer);
        iris_wait_ge_wg(ctx, a->signals + g, i);
    }
}

/* The first wave waits for what never comes, while the last one fills the ring. */
IRIS_KERNEL(hang_kernel, trace_args, a, 256)
{
    const iris_ctx *ctx = &a->ctx;
    if (iris_wave() == 0)
        iris_wait_ge_wave(ctx, a->signals + GROUPS, 1);
    else if (iris_wave() == iris_waves() - 1 && iris_lane() == 0)
        for (uint32_t i = 0; i < a->turns; i++)
            iris_atomic_add_u64(ctx, a->words, 1, ctx->rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* The world's memory, and where the trace goes: rank 0 reads it. */
struct tracing {
    trace_args args;
    std::string path;

    explicit tracing(irist_rank *t)
    {
        std::memset((void *)&args, 0, sizeof args);
        args.ctx = iris_device_ctx(t->world);
        args.data = iris_zeros_f32(t->world, (size_t)N * (size_t)(1 + t->ranks));
        args.own = iris_zeros_f32(t->world, N);
        args.words = (uint64_t *)iris_malloc_kind(t->world, (size_t)t->ranks * 8, 0, IRIS_MEM_SYNC);
        args.signals = iris_signals(t->world, GROUPS + 1);
        irist_ok(t, iris_channel_create(t->world, &args.channel, (size_t)t->ranks, 0));
        const char *folder = std::getenv("TMPDIR");
        char name[300];
        std::snprintf(name, sizeof name, "%s/iris_trace_%d", folder ? folder : "/tmp", (int)getpid());
        irist_ok(t, iris_broadcast(t->world, name, sizeof name, 0));
        path = name;
        irist_meet(t);
    }
    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_channel_destroy(t->world, &args.channel));
        irist_ok(t, iris_free(t->world, args.signals));
        irist_ok(t, iris_free(t->world, args.words));
        irist_ok(t, iris_free(t->world, args.own));
        irist_ok(t, iris_free(t->world, args.data));
    }
};

std::string read_file(const std::string &path)
{
    std::ifstream in(path);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    std::remove(path.c_str());
    return text;
}

double field(const std::string &line, const char *name)
{
    const size_t at = line.find(name);
    return at == std::string::npos ? -1 : std::strtod(line.c_str() + at + std::strlen(name), nullptr);
}

/* The lines that have all of these texts. */
std::vector<std::string> lines(const std::string &text, const std::string &a, const std::string &b = "",
                               const std::string &c = "")
{
    std::vector<std::string> found;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        if (line.find(a) != std::string::npos && line.find(b) != std::string::npos && line.find(c) != std::string::npos)
            found.push_back(line);
        at = end + 1;
    }
    return found;
}

std::string of_rank(int rank) { return "\"pid\":" + std::to_string(rank) + ","; }
std::string of_kind(const char *kind) { return std::string("\"cat\":\"") + kind + "\""; }

/* A rank's range is not shorter than its parts, and as long as iris_trace_overlap says; the file has rank 0's clock. */
void check_durations(irist_rank *t, const std::string &text, int rank, uint64_t ticks)
{
    const double range = field(lines(text, of_kind("range"), of_rank(rank)).at(0), "\"dur\":");
    double parts = 0;
    for (const std::string &line : lines(text, "\"ph\":\"X\"", of_rank(rank), "\"wave\":0"))
        for (const char *kind : {"load", "store", "get", "put", "copy", "barrier"})
            parts += line.find(of_kind(kind)) != std::string::npos ? field(line, "\"dur\":") : 0;
    irist_check(t, parts > 0 && parts <= range + 0.05, "rank %d: parts of %.3f us in a range of %.3f us", rank, parts,
                range);
    const double wanted = (double)ticks / (double)iris_clock_ticks(t->world, 1);
    irist_check(t, rank != 0 || (range > wanted - 0.002 && range < wanted + 0.002), "a range of %.3f us, not %.3f us",
                range, wanted);
}

void check_count(irist_rank *t, const std::string &text, int rank, const char *kind, size_t wanted)
{
    const size_t n = lines(text, "\"ph\":\"X\"", of_kind(kind), of_rank(rank)).size();
    irist_check(t, n == wanted, "rank %d has %zu events of kind %s, not %zu", rank, n, kind, wanted);
}

void every_kind(irist_rank *t)
{
    tracing x(t);
    irist_ok(t, iris_trace_name(t->world, RANGE, "the \"whole\"", IRIS_SPAN_COMPUTE));
    irist_run(t, kinds_kernel, x.args, iris_cooperative(1, 128)); /* no trace is on: nothing is written */
    x.args.first++;
    irist_meet(t);
    irist_ok(t, iris_trace_start(t->world, nullptr));
    irist_run(t, kinds_kernel, x.args, iris_cooperative(1, 128));
    iris_overlap seen;
    uint64_t lost = 9;
    irist_ok(t, iris_trace_overlap(t->world, &seen, &lost));
    irist_check(t, lost == 0 && seen.compute > 0 && seen.both <= seen.compute && seen.time >= seen.compute,
                "a range of arithmetic and puts: %llu ticks, %llu of arithmetic", (unsigned long long)seen.time,
                (unsigned long long)seen.compute);
    irist_meet(t);
    irist_ok(t, iris_trace_stop(t->world));
    x.args.first++;
    irist_run(t, kinds_kernel, x.args, iris_cooperative(1, 128)); /* nor after its end */
    irist_meet(t);
    irist_ok(t, iris_trace_write(t->world, x.path.c_str()));
    if (t->rank == 0) {
        const std::string text = read_file(x.path);
        static const char *const once[] = {"load",       "store",      "get",         "copy",       "atomic_fetch",
                                           "atomic_set", "atomic_add", "atomic_sub",  "atomic_cas", "atomic_xchg",
                                           "atomic_xor", "atomic_or",  "atomic_and",  "atomic_min", "atomic_max",
                                           "barrier",    "range"};
        for (int r = 0; r < t->ranks; r++) {
            check_durations(t, text, r, seen.compute);
            for (const char *kind : once)
                check_count(t, text, r, kind, 1);
            check_count(t, text, r, "put", 4);
            check_count(t, text, r, "signal", 1 + (size_t)t->ranks); /* own, and the barrier's */
            check_count(t, text, r, "wait", 1 + (size_t)t->ranks);
            check_count(t, text, r, "gemm_compute", 0);
            for (const std::string &line : lines(text, of_kind("put"), of_rank(r)))
                irist_check(t, field(line, "\"bytes\":") == N * 4, "a put of %d bytes: %s", N * 4, line.c_str());
        }
        irist_check(t, lines(text, "\"name\":\"the \\\"whole\\\"\"").size() == (size_t)t->ranks, "no named ranges");
        irist_check(t, text.find("\"lost\":0}") != std::string::npos && text.back() == '\n', "the file's ends");
    }
    x.free(t);
}

/*
 * An arrow for each wait, which ends after its raise, as far as the clocks can tell; and what rings lose. In the
 * smaller rings what a kernel did in a team of all ranks in reverse.
 */
void messages(irist_rank *t)
{
    tracing x(t);
    iris_team reverse = {0, 0, 0};
    irist_ok(t, iris_team_split(t->world, &reverse, 0, -t->rank));
    const uint32_t sizes[] = {1024, 16};
    for (uint32_t events : sizes) {
        const iris_trace_options options = {GROUPS, events};
        const int ahead = events == 16 ? t->ranks - 1 : 1;
        if (events == 16)
            irist_ok(t, iris_team_ctx(t->world, reverse, &x.args.ctx));
        irist_ok(t, iris_trace_start(t->world, &options));
        for (int launch = 0; launch < 2; launch++) {
            x.args.turns = 20;
            irist_run(t, ring_kernel, x.args, iris_cooperative(GROUPS, 64));
            x.args.first += x.args.turns;
            irist_meet(t);
        }
        if (events == 16) /* its members are known to the trace all the same */
            irist_ok(t, iris_team_destroy(t->world, &reverse));
        irist_ok(t, iris_trace_write(t->world, x.path.c_str()));
        if (t->rank != 0)
            continue;
        const std::string text = read_file(x.path);
        const size_t all = (size_t)GROUPS * 40 * 3, kept = std::min<size_t>(all, (size_t)GROUPS * events);
        double within = 0;
        for (int r = 0; r < t->ranks; r++) {
            const std::string clock = "{\"rank\":" + std::to_string(r) + ",";
            const std::string about = text.substr(text.find(clock), 200);
            const double lost = field(about, "\"lost\":");
            irist_check(t, field(about, "\"events\":") == (double)kept && lost == (double)(all - kept),
                        "rank %d, rings of %u: %s", r, events, about.substr(0, 120).c_str());
            within = std::max(within, field(about, "\"within_us\":"));
            const size_t raised = lines(text, of_kind("raised"), of_rank(r)).size();
            irist_check(t, lines(text, "\"ph\":\"X\"", of_rank(r)).size() == kept + raised,
                        "rank %d: events are missing", r);
        }
        const std::vector<std::string> from = lines(text, "\"ph\":\"s\""), to = lines(text, "\"ph\":\"f\"");
        const size_t waits = lines(text, of_kind("wait")).size();
        irist_check(t, from.size() == to.size() && from.size() <= waits, "%zu arrows begin, %zu end", from.size(),
                    to.size());
        irist_check(t, kept < all || from.size() == (size_t)t->ranks * GROUPS * 40, "%zu arrows of %d", from.size(),
                    t->ranks * GROUPS * 40);
        for (size_t i = 0; i < from.size() && i < to.size(); i++) {
            const int raised = (int)field(from[i], "\"pid\":"), waited = (int)field(to[i], "\"pid\":");
            irist_check(t,
                        field(from[i], "\"id\":") == field(to[i], "\"id\":") && (raised + ahead) % t->ranks == waited,
                        "an arrow from rank %d to %d", raised, waited);
            irist_check(t, field(to[i], "\"ts\":") >= field(from[i], "\"ts\":") - 2 * within - 0.002,
                        "a wait ends %.3f us before its raise", field(from[i], "\"ts\":") - field(to[i], "\"ts\":"));
        }
    }
    x.free(t);
}

/* A collective's and GEMMs' own events, in a graph too. */
void fused(irist_rank *t)
{
    enum { M = 96, COLS = 64, K = 64, LAUNCHES = 3 };
    tracing x(t);
    iris_channel ch;
    const iris_team everybody = {0, 1, t->ranks};
    irist_ok(t, iris_collective_channel(t->world, &ch, 4096));
    float *a = iris_zeros_f32(t->world, M * K), *b = iris_zeros_f32(t->world, K * COLS);
    float *c = iris_zeros_f32(t->world, M * COLS);
    iris_gemm_args g;
    std::memset(&g, 0, sizeof g);
    g.m = M, g.n = COLS, g.k = K, g.a = a, g.b = b, g.c = c;
    iris_gemm_plan plan;
    irist_ok(t, iris_gemm_prepare(t->world, &plan, IRIS_GEMM_ALL_REDUCE, IRIS_F32, &g));
    irist_meet(t);
    irist_ok(t, iris_trace_start(t->world, nullptr));
    irist_ok(t, iris_all_reduce_sum_f32(t->world, &ch, x.args.data, x.args.own, N, everybody,
                                        iris_default_stream(t->world)));
    for (int i = 0; i < LAUNCHES; i++)
        irist_ok(t, iris_gemm_all_reduce_f32(t->world, &plan, iris_default_stream(t->world)));
    irist_ok(t, iris_trace_write(t->world, x.path.c_str()));
    iris_overlap seen;
    irist_ok(t, iris_trace_overlap(t->world, &seen, nullptr));
    irist_check(t, seen.compute > 0 && (t->ranks == 1 || seen.communicate > 0), "a GEMM of %llu ticks",
                (unsigned long long)seen.compute);
    if (t->rank == 0) {
        const std::string text = read_file(x.path);
        for (int r = 0; r < t->ranks; r++) {
            const size_t tiles = lines(text, of_kind("gemm_compute"), of_rank(r)).size();
            irist_check(t, tiles == LAUNCHES * (size_t)iris_gemm_tiles(&plan), "rank %d computed %zu tiles of %u", r,
                        tiles, LAUNCHES * iris_gemm_tiles(&plan));
            irist_check(t, lines(text, of_kind("gemm_stage"), of_rank(r)).size() == tiles, "tiles have not left");
            irist_check(t, t->ranks == 1 || !lines(text, of_kind("gemm_reduce"), of_rank(r)).empty(), "no sums");
            irist_check(t, !lines(text, of_kind("collective"), "\"name\":\"all_reduce ", of_rank(r)).empty(),
                        "rank %d: no collective", r);
        }
    }
    irist_ok(t, iris_trace_stop(t->world));
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_meet(t);
    irist_ok(t, iris_free(t->world, c));
    irist_ok(t, iris_free(t->world, b));
    irist_ok(t, iris_free(t->world, a));
    irist_ok(t, iris_channel_destroy(t->world, &ch));
    x.free(t);
}

void refused(irist_rank *t)
{
    iris_overlap seen;
    const iris_trace_options odd = {1, 3}, many = {70000, 16}, large = {65536, 1 << 20};
    irist_check(t, iris_trace_start(t->world, &odd) == IRIS_ERR_ARGUMENT, "3 events");
    irist_check(t, iris_trace_start(t->world, &many) == IRIS_ERR_ARGUMENT, "70,000 rings");
    irist_check(t, iris_trace_start(t->world, &large) == IRIS_ERR_NOMEM, "four terabytes");
    irist_ok(t, iris_barrier(t->world)); /* a full heap is not told once more */
    irist_check(t, iris_trace_stop(t->world) == IRIS_ERR_ARGUMENT, "no trace to end");
    irist_check(t, iris_trace_write(t->world, "/tmp/x") == IRIS_ERR_ARGUMENT, "no trace to write");
    irist_check(t, iris_trace_overlap(t->world, &seen, nullptr) == IRIS_ERR_ARGUMENT, "no trace to look at");
    irist_check(t, iris_trace_name(t->world, IRIS_TRACE_NAMES, "x", 0) == IRIS_ERR_ARGUMENT, "an id too large");
    irist_check(t, iris_trace_name(t->world, 0, nullptr, 0) == IRIS_ERR_ARGUMENT, "no name");
    irist_check(t, iris_trace_name(t->world, 0, "x", 3) == IRIS_ERR_ARGUMENT, "no such span");
    irist_check(t, iris_trace_start(nullptr, nullptr) == IRIS_ERR_ARGUMENT, "no world");
    irist_ok(t, iris_trace_start(t->world, nullptr));
    irist_check(t, iris_trace_write(t->world, "/nowhere/at/all") == IRIS_ERR_SYSTEM, "a path that is not: %s",
                iris_error_string(t->world));
    irist_check(t, std::strstr(iris_error_string(t->world), "/nowhere/at/all") != nullptr, "the sentence: %s",
                iris_error_string(t->world));
    irist_ok(t, iris_trace_stop(t->world));
}

/* A wait that is given up is in its rank's file, while the others want to write; after a reset the trace goes on. */
void stopped(irist_rank *t)
{
    tracing x(t);
    const bool hangs = t->rank == t->ranks - 1;
    const iris_trace_options few = {4, 16};
    irist_ok(t, iris_trace_start(t->world, &few));
    const uint64_t whole = x.args.ctx.deadline;
    x.args.ctx.deadline = whole / 50;
#if !defined(__SANITIZE_THREAD__) /* which would tell of a ring that several waves write over */
    x.args.turns = 100;
#endif
    const iris_launch_config one = iris_grid(1, 256);
    if (hangs) {
        irist_ok(t, iris_launch(t->world, hang_kernel, &x.args, sizeof x.args, &one, iris_default_stream(t->world)));
        irist_check(t, iris_synchronize(t->world) == IRIS_ERR_TIMEOUT, "the world has not stopped");
    }
    irist_ok(t, iris_trace_write(t->world, x.path.c_str()));
    const std::string text = read_file(x.path + ".rank" + std::to_string(t->rank));
    irist_check(t, lines(text, of_kind("wait"), of_rank(t->rank), "\"value\":0}").size() == (hangs ? 1 : 0),
                "rank %d: %zu bytes, %s wait", t->rank, text.size(), hangs ? "no" : "a");
    irist_ok(t, iris_reset(t->world));
    x.args.ctx.deadline = whole;
    x.args.first = 0, x.args.turns = 1;
    irist_run(t, ring_kernel, x.args, iris_cooperative(GROUPS, 64));
    irist_ok(t, iris_trace_write(t->world, x.path.c_str()));
    if (t->rank == 0)
        irist_check(t, lines(read_file(x.path), "\"ph\":\"f\"").size() == (size_t)t->ranks * GROUPS,
                    "a trace does not go on after a reset");
    irist_ok(t, iris_trace_stop(t->world));
    x.free(t);
}

} // namespace

TEST_CASE("nonsense about traces is refused", "[trace]") { irist_spmd(refused, nullptr); }
TEST_CASE("every operation is an event while a trace is on", "[trace]") { irist_spmd(every_kind, nullptr); }
TEST_CASE("an arrow leads from each raise to its wait", "[trace]") { irist_spmd(messages, nullptr); }
TEST_CASE("collectives and GEMMs leave events", "[trace]") { irist_spmd(fused, nullptr); }
TEST_CASE("a hang is in the trace, which goes on after a reset", "[trace][deadline]") { irist_spmd(stopped, nullptr); }
