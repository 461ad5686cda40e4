/* SPDX-License-Identifier: MIT */
/*
 * tuned.cpp: rows of IRIS_TUNE choose schedules of collectives: the first one that is for a call, of those that its
 * channel was made with; ranks that read different rows are told so when they make a channel; a row that cannot be is
 * refused there, with its place. gemm/bad_arguments.cpp has the sentence of each mistake.
 *
 * A schedule shows in what it refuses: dst is outside the symmetric heap, where most schedules want it, and the
 * sentence says which one does and who chose it.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_I32
#endif

#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "harness.h"

#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>

namespace {

/* So many elements that the library chooses two_shot for any number of ranks, on every platform. */
enum { COUNT = (1 << 20) + 1, BYTES = 4 * COUNT };

/* IRIS_TUNE for the ranks that make a channel; it is set where none is at work. */
struct rows {
    explicit rows(const std::string &text) { setenv("IRIS_TUNE", text.c_str(), 1); }
    ~rows() { unsetenv("IRIS_TUNE"); }
    rows(const rows &) = delete;
    rows &operator=(const rows &) = delete;
};

bool threads()
{
    const char *how = std::getenv("IRIS_SPAWN");
    return how && std::strcmp(how, "thread") == 0;
}

/* What an all-reduce says that the channel's rows, or the library, choose a schedule for which dst is not right. */
std::string refusal(irist_rank *t, const iris_channel *ch)
{
    static int32_t outside[4];
    iris_collective c;
    std::memset(&c, 0, sizeof c);
    c.dst = outside, c.src = outside, c.count = COUNT, c.dtype = IRIS_I32;
    const iris_status status = iris_launch_all_reduce(t->world, ch, &c, nullptr);
    irist_check(t, status == IRIS_ERR_ARGUMENT, "dst outside the heap: %s", iris_status_name(status));
    return iris_error_string(t->world);
}

/* IRIS_TUNE, and what the refusal then says. */
struct lookup {
    std::string rows, sentence;
};

void lookup_work(irist_rank *t)
{
    const lookup *l = (const lookup *)t->arg;
    iris_channel ch;
    if (!irist_ok(t, iris_collective_channel(t->world, &ch, 0)))
        return;
    const std::string said = refusal(t, &ch);
    irist_check(t, said.find("iris_all_reduce: schedule " + l->sentence + " wants dst in the") != std::string::npos,
                "%s: \"%s\" lacks \"%s\"", l->rows.c_str(), said.c_str(), l->sentence.c_str());
    irist_meet(t);
    irist_ok(t, iris_channel_destroy(t->world, &ch));
}

std::string number(size_t n) { return std::to_string(n); }

std::vector<lookup> lookups()
{
    const size_t ranks = (size_t)irist_ranks(), all = ranks * BYTES;
    const std::string library = "two_shot", reduce = "collective=all_reduce ", phase = "schedule=two_phase";
    const std::string first = "two_phase, which row 1 of IRIS_TUNE chose,";
    return {
        {"", library},
        {"model", library},
        {reduce + phase, first},
        {"schedule=two_phase,collective=all_reduce,us=7.5 # in any order", first},
        {reduce + "ranks=" + number(ranks) + " " + phase, first},
        {reduce + "ranks=" + number(ranks + 1) + " " + phase, library},
        {reduce + "dtype_bytes=4 " + phase, first},
        {reduce + "dtype_bytes=2 " + phase, library},
        {reduce + "upto=" + number(all) + " " + phase, first},
        {reduce + "upto=" + number(all - 1) + " " + phase, library},
        {reduce + "upto=18446744073709551615 " + phase, first},
        {reduce + "arch=none " + phase, library},
        {reduce + "units=65535 " + phase, library},
        {"collective=all_gather schedule=push", library},
        {"pattern=bulk_synchronous;" + reduce + "upto=5 schedule=ll;;" + reduce + phase + ";" + reduce +
             "schedule=two_shot_push",
         "two_phase, which row 4 of IRIS_TUNE chose,"},
    };
}

TEST_CASE("the first row that is for a collective chooses its schedule", "[collective]")
{
    for (const lookup &l : lookups()) {
        const rows tune(l.rows);
        irist_spmd(lookup_work, &l);
    }
}

/* A file with these bytes, one for each process. */
std::string file_of(const std::string &bytes)
{
    char path[] = "/tmp/iris_tuned_XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(file >= 0);
    const bool whole = write(file, bytes.data(), bytes.size()) == (ssize_t)bytes.size();
    close(file);
    REQUIRE(whole);
    return path;
}

TEST_CASE("rows of collectives may stand in a file", "[collective]")
{
    const std::string path = file_of("# GEMMs\nm=4 pattern=bulk_synchronous\ncollective=all_reduce schedule=two_phase");
    const lookup l = {path, "two_phase, which line 3 of " + path + " chose,"};
    {
        const rows tune(l.rows);
        irist_spmd(lookup_work, &l);
    }
    unlink(path.c_str());
}

/* Results are right by a row's schedule too, and a schedule that is asked for counts more than a row. */
void results_work(irist_rank *t)
{
    enum { N = 301 };
    const size_t all = (size_t)t->ranks * N;
    iris_channel ch;
    irist_ok(t, iris_collective_channel(t->world, &ch, 0));
    int32_t *src = (int32_t *)iris_malloc(t->world, N * sizeof *src);
    int32_t *dst = (int32_t *)iris_malloc(t->world, all * sizeof *dst);
    std::vector<int32_t> own(N), sums(N), rows_of(all);
    for (int i = 0; i < N; i++)
        own[(size_t)i] = 1000 * t->rank + i;
    if (irist_check(t, src && dst, "no memory")) {
        irist_ok(t, iris_memcpy(t->world, src, own.data(), N * sizeof own[0]));
        irist_meet(t);
        iris_collective c = irisi_collective_of(dst, src, N, IRIS_I32, IRIS_OP_SUM, 0, {0, 0, 0});
        for (const iris_schedule asked : {IRIS_SCHEDULE_AUTO, IRIS_SCHEDULE_LL}) {
            c.schedule = asked;
            irist_ok(t, iris_memset(t->world, dst, 0xff, all * sizeof *dst));
            irist_meet(t);
            irist_ok(t, iris_launch_all_reduce(t->world, &ch, &c, nullptr));
            irist_ok(t, iris_memcpy(t->world, sums.data(), dst, N * sizeof sums[0]));
            for (int i = 0; i < N; i++)
                irist_check(t, sums[(size_t)i] == 500 * t->ranks * (t->ranks - 1) + i * t->ranks, "sum %d is %d", i,
                            sums[(size_t)i]);
        }
        c.schedule = IRIS_SCHEDULE_AUTO;
        irist_ok(t, iris_memset(t->world, dst, 0xff, all * sizeof *dst));
        irist_meet(t);
        irist_ok(t, iris_launch_all_gather(t->world, &ch, &c, nullptr));
        irist_ok(t, iris_memcpy(t->world, rows_of.data(), dst, all * sizeof rows_of[0]));
        for (size_t i = 0; i < all; i++)
            irist_check(t, rows_of[i] == 1000 * (int32_t)(i / N) + (int32_t)(i % N), "element %zu is %d", i,
                        rows_of[i]);
        irist_meet(t);
    }
    irist_ok(t, iris_free(t->world, dst));
    irist_ok(t, iris_free(t->world, src));
    irist_ok(t, iris_channel_destroy(t->world, &ch));
}

TEST_CASE("collectives by schedules of rows are right", "[collective]")
{
    const rows tune("collective=all_reduce schedule=ring;collective=all_gather schedule=pull");
    irist_spmd(results_work, nullptr);
}

/* All ranks' IRIS_TUNE, while nobody reads it. */
void all_set(irist_rank *t, const char *text)
{
    irist_meet(t);
    if (t->rank == 0 || !threads())
        setenv("IRIS_TUNE", text, 1);
    irist_meet(t);
}

/* Whether a channel's calls are refused by this schedule. */
void chooses(irist_rank *t, const iris_channel *ch, const char *schedule)
{
    const std::string said = refusal(t, ch);
    irist_check(t, said.find(schedule) != std::string::npos, "\"%s\" lacks \"%s\"", said.c_str(), schedule);
}

/* What a rank reads later, and perhaps others do not, changes nothing for a channel that there is. */
void kept_work(irist_rank *t)
{
    static const char *const texts[] = {"", "collective=all_reduce schedule=two_phase",
                                        "collective=all_reduce schedule=two_shot_push", ""};
    static const char *const chosen[] = {"schedule two_shot wants", "schedule two_phase, which",
                                         "schedule two_shot_push, which", "schedule two_shot wants"};
    iris_channel ch[4];
    for (int i = 0; i < 4; i++) {
        all_set(t, texts[i]);
        irist_ok(t, iris_collective_channel(t->world, &ch[i], 0));
    }
    all_set(t, "collective=all_reduce schedule=ring");
    for (int i = 0; i < 4; i++)
        chooses(t, &ch[i], chosen[i]);
    irist_meet(t);
    for (int i = 0; i < 4; i++)
        irist_ok(t, iris_channel_destroy(t->world, &ch[i]));
}

TEST_CASE("a channel keeps the rows that it was made with", "[collective]")
{
    const rows tune("");
    irist_spmd(kept_work, nullptr);
}

/* What iris_collective_channel says on a rank that sets IRIS_TUNE to this. */
void refused(irist_rank *t, const std::string &text, iris_status status, const std::string &sentence)
{
    iris_channel ch;
    if (!threads())
        setenv("IRIS_TUNE", text.c_str(), 1);
    const iris_status got = iris_collective_channel(t->world, &ch, 0);
    const char *said = iris_error_string(t->world);
    irist_check(t, got == status && std::strstr(said, sentence.c_str()), "%s: expected %s with '%s', got %s: %s",
                text.c_str(), iris_status_name(status), sentence.c_str(), iris_status_name(got), said);
}

void disagree_work(irist_rank *t)
{
    const int last = t->ranks - 1, odd = t->rank == last;
    const std::string on = " on rank " + std::to_string(last) + " but ";
    const char *const ring = "collective=all_reduce schedule=ring", *const ll = "collective=all_reduce schedule=ll";
    if (t->ranks == 1 || threads()) /* of one process, which has one environment */
        return;
    refused(t, odd ? ring : ll, IRIS_ERR_MISMATCH, "iris_collective_channel: the checksum of IRIS_TUNE's rows is ");
    refused(t, odd ? ring : "", IRIS_ERR_MISMATCH, on);
    refused(t, odd ? "model" : "", IRIS_ERR_MISMATCH, on);
    refused(t, odd ? "m=4,pattern=bulk_synchronous" : "", IRIS_ERR_MISMATCH, "give every rank the same rows");
    refused(t, odd ? "collective=all_reduce schedule=push" : ring, odd ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH,
            odd ? "row 1 of IRIS_TUNE: all_reduce has no schedule push; it has"
                : "rank " + std::to_string(last) + " refused its arguments");
    setenv("IRIS_TUNE", odd ? "collective=all_reduce,schedule=ring # the same, written otherwise" : ring, 1);
    results_work(t); /* nothing is broken */
}

TEST_CASE("ranks with other rows of collectives are told so, and none waits for another", "[collective]")
{
    const rows tune("");
    irist_spmd(disagree_work, nullptr);
}

/* IRIS_TUNE, and what every rank says of it. */
void mistake_work(irist_rank *t)
{
    const lookup *l = (const lookup *)t->arg;
    refused(t, l->rows, IRIS_ERR_ARGUMENT, "iris_collective_channel: " + l->sentence);
}

TEST_CASE("a channel is refused for a row that cannot be, with its place", "[collective]")
{
    const std::string path = file_of("# of ours\n\ncollective=all_reduce schedule=ll\ncollective=reduce schedule=ll\n");
    const lookup mistakes[] = {
        {"collective=all_reduce,schedule=ll;collective=all_gather,schedule=two_shot",
         "row 2 of IRIS_TUNE: all_gather has no schedule two_shot; it has ring ll push pull copy_engine"},
        {"width=60,width=60", "row 1 of IRIS_TUNE: width stands there twice"}, /* a GEMM's row is looked at too */
        {"./no/such", "the table of IRIS_TUNE, ./no/such, cannot be read: No such file or directory"},
        {path, "line 4 of " + path + ": reduce has no schedule ll; it has two_shot pull"},
    };
    for (const lookup &l : mistakes) {
        const rows tune(l.rows);
        irist_spmd(mistake_work, &l);
    }
    unlink(path.c_str());
}

} // namespace
