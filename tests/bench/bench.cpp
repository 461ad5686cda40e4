/* SPDX-License-Identifier: MIT */
/*
 * The benchmark harness: quantiles of known samples, the slowest rank's time of each repetition, a start that all ranks
 * make together, what is refused and what fails on one rank, points of axes, filters, and what stands in files.
 */
#include "harness.h"

#include <cstdio>
#include <cstring>
#include <iris/bench.h>
#include <limits>
#include <string>
#include <unistd.h>

static bool near(double a, double b) { return a - b < 1e-9 && b - a < 1e-9; }

static void numbers(irist_rank *t)
{
    double eleven[] = {7, 1, 11, 3, 9, 5, 2, 10, 4, 8, 6}, four[] = {4, 1, 3, 2}, one[] = {5};
    iris_bench_result r;
    iris_bench_summarize(eleven, 11, &r);
    irist_check(t, r.n == 11 && near(r.min, 1) && near(r.p10, 2) && near(r.median, 6) && near(r.p90, 10),
                "1 .. 11: n %d, min %g, p10 %g, median %g, p90 %g", r.n, r.min, r.p10, r.median, r.p90);
    iris_bench_summarize(four, 4, &r);
    irist_check(t, near(r.min, 1) && near(r.p10, 1.3) && near(r.median, 2.5) && near(r.p90, 3.7),
                "1 .. 4: min %g, p10 %g, median %g, p90 %g", r.min, r.p10, r.median, r.p90);
    iris_bench_summarize(one, 1, &r);
    irist_check(t, r.n == 1 && near(r.min, 5) && near(r.p10, 5) && near(r.median, 5) && near(r.p90, 5), "one sample");
    irist_check(t, near(iris_bench_gbps(&r, 20000), 4) && near(iris_bench_tflops(&r, 2e7), 4), "rates");
    iris_bench_summarize(one, 0, &r);
    irist_check(t, r.n == 0 && near(r.median, 0) && near(iris_bench_gbps(&r, 8), 0), "no sample");
    irist_check(t,
                iris_bench_place(100, 1000, 0) == 0 && iris_bench_place(100, 1000, 2) == 512 &&
                    iris_bench_place(100, 1000, 3) == 0 && iris_bench_place(300, 1100, 1) == 512 &&
                    iris_bench_place(2000, 1000, 7) == 0,
                "places");
    const double all[] = {1, 5, 2, 3, 4, 9};
    double slowest[2];
    irisi_bench_slowest(all, 3, 2, slowest);
    irist_check(t, near(slowest[0], 4) && near(slowest[1], 9), "the slowest: %g and %g", slowest[0], slowest[1]);
}

/* How far a run is, and how long it will take: by its pace, by its limit, or not known. */
static void progress(irist_rank *t)
{
    static const struct {
        long done, all;
        double spent, limit;
        const char *text;
    } rows[] = {
        {0, 80, 0, 0, "0 of 80 rows: put bytes=4"},
        {20, 80, 15, 0, "20 of 80 rows, 45 s left: put bytes=4"},
        {20, 80, 15, 600, "20 of 80 rows, 45 s left: put bytes=4"},
        {20, 80, 15, 40, "20 of 80 rows, at most 25 s left: put bytes=4"},
        {1, 11, 100, 0, "1 of 11 rows, 17 min left: put bytes=4"},
        {1, 61, 90, 0, "1 of 61 rows, 1 h 30 min left: put bytes=4"},
        {7, 0, 10, 0, "7 rows: put bytes=4"},
        {7, 0, 10, 100, "7 rows, at most 90 s left: put bytes=4"},
        {80, 80, 10, 0, "80 rows: put bytes=4"},
    };
    for (const auto &row : rows) {
        irisi_bench_progress p;
        char text[100];
        std::memset(&p, 0, sizeof p);
        p.done = row.done, p.all = row.all;
        irisi_bench_progress_text(&p, row.spent, row.limit, "put bytes=4", text, sizeof text);
        irist_check(t, std::strcmp(text, row.text) == 0, "\"%s\", not \"%s\"", text, row.text);
    }
}

TEST_CASE("a run says how far it is and how long it will take", "[bench]") { irist_spmd(progress, nullptr); }

TEST_CASE("quantiles, rates and places are those of known samples", "[bench]") { irist_spmd(numbers, nullptr); }

/* A call that takes a while on one rank, and counts; what it sees of the others' counts. */
typedef struct work_args {
    iris_ctx ctx;
    iris_signal *done; /* of each rank: turns that it has ended */
    uint64_t *early;   /* turns that began before a peer had ended the one before */
    uint64_t turn, ticks;
    int meets; /* 1: looks at the others' counts */
} work_args;

IRIS_KERNEL(bench_work, work_args, a, 64)
{
    if (iris_wg_lane() != 0)
        return;
    for (int r = 0; r < a->ctx.world; r++)
        if (a->meets && iris_signal_read(&a->ctx, a->done + r) + 1 < a->turn + 1)
            *a->early += 1;
    for (const uint64_t begun = iris_clock(); iris_clock() - begun < a->ticks;)
        iris_pause(1);
    for (int r = 0; r < a->ctx.world && a->meets; r++)
        iris_signal_set(&a->ctx, a->done + a->ctx.rank, a->turn + 1, r);
}

typedef struct bench_job {
    work_args a;
    int calls, most, least; /* of the function; the greatest and least turn that it saw */
    int slow;               /* the rank that takes long; -1: it is the turn's, -2: each */
    uint64_t ticks;
    int fails_at; /* the call that fails on the last rank; 0: none does */
} bench_job;

static iris_status submit_work(iris_world *w, void *arg, iris_stream stream, int turn)
{
    bench_job *j = (bench_job *)arg;
    const iris_launch_config one = iris_grid(1, 64);
    const int slow = j->slow == -1 ? turn % iris_world_size(w) : j->slow;
    j->calls++;
    j->most = turn > j->most ? turn : j->most, j->least = turn < j->least ? turn : j->least;
    if (j->fails_at && j->calls == j->fails_at && iris_rank(w) + 1 == iris_world_size(w))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "made up for a test");
    j->a.turn = (uint64_t)turn;
    j->a.ticks = slow == -2 || slow == iris_rank(w) ? j->ticks : 0;
    return iris_launch(w, bench_work, &j->a, sizeof j->a, &one, stream);
}

/* A job whose slow calls take `us`. */
static bool begin(irist_rank *t, bench_job *j, int slow, uint64_t us)
{
    std::memset((void *)j, 0, sizeof *j);
    j->a.ctx = iris_device_ctx(t->world);
    j->a.done = iris_signals(t->world, (size_t)t->ranks);
    j->a.early = iris_zeros_u64(t->world, 1);
    j->slow = slow, j->ticks = iris_clock_ticks(t->world, us), j->least = 1 << 30;
    return irist_meet(t);
}

static bool end(irist_rank *t, bench_job *j)
{
    return irist_meet(t) && irist_ok(t, iris_free(t->world, j->a.done)) && irist_ok(t, iris_free(t->world, j->a.early));
}

/* Every rank has the same figures. */
static void same(irist_rank *t, const iris_bench_result *r)
{
    std::vector<iris_bench_result> all((size_t)t->ranks);
    if (irist_ok(t, iris_allgather(t->world, r, all.data(), sizeof *r)))
        for (int i = 0; i < t->ranks; i++)
            irist_check(t, std::memcmp(r, &all[(size_t)i], sizeof *r) == 0, "rank %d has other figures", i);
}

static void slowest(irist_rank *t)
{
    bench_job j;
    iris_bench_options o;
    iris_bench_result r;
    std::memset(&o, 0, sizeof o);
    o.repeats = 6;
    for (int slow = -1; slow < t->ranks; slow += t->ranks) { /* each in turn, and the last one always */
        begin(t, &j, slow, 2000);
        irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, &o, &r));
        irist_check(t, r.n == 6 && r.min >= 2000 && r.median >= r.min && r.p90 >= r.median && r.p10 >= r.min,
                    "slow rank %d: min %g, p10 %g, median %g, p90 %g us", slow, r.min, r.p10, r.median, r.p90);
        same(t, &r);
        end(t, &j);
    }
}

TEST_CASE("the slowest rank's time of each repetition counts", "[bench]") { irist_spmd(slowest, nullptr); }

static void together(irist_rank *t)
{
    bench_job j;
    iris_bench_options o;
    iris_bench_result r;
    uint64_t early = 1;
    std::memset(&o, 0, sizeof o);
    o.repeats = 20;
    begin(t, &j, t->ranks - 1, 1000);
    j.a.meets = 1;
    irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, &o, &r));
    irist_ok(t, iris_memcpy(t->world, &early, j.a.early, sizeof early));
    irist_check(t, early == 0, "%llu calls began before a peer had ended the one before", (unsigned long long)early);
    end(t, &j);
}

TEST_CASE("no rank begins a repetition before all have ended the one before", "[bench]")
{
    irist_spmd(together, nullptr);
}

static void counts(irist_rank *t)
{
    bench_job j;
    iris_bench_options o;
    iris_bench_result r;
    std::memset(&o, 0, sizeof o);
    begin(t, &j, -2, 1000);
    const size_t data = iris_heap_used(t->world, IRIS_MEM_DATA), sync = iris_heap_used(t->world, IRIS_MEM_SYNC);
    o.repeats = 4, o.warmup = 2, o.calls = 8, o.places = 3, o.flush_bytes = 1 << 16;
    const double began = irisi_bench_seconds();
    irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, &o, &r));
    const double whole = 1e6 * (irisi_bench_seconds() - began); /* of which 4 repetitions of 8 calls are a part */
    irist_check(t, r.n == 4 && j.calls == 6 * 8, "%d repetitions, %d calls", r.n, j.calls);
    irist_check(t, j.least == 0 && j.most == 2, "turns %d to %d, of 3 places", j.least, j.most);
    irist_check(t, r.min >= 1000 && 4 * 8 * r.min <= whole, "calls of 1000 us took %g each, all of it %g", r.min,
                whole);
    o.warmup = -1, o.calls = 0, o.places = 0, o.flush_bytes = 0, j.calls = 0;
    irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, &o, &r));
    irist_check(t, j.calls == 4 && j.most == 3, "%d calls, the last with turn %d", j.calls, j.most);
    j.calls = 0;
    irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, nullptr, &r));
    irist_check(t, r.n == 20 && j.calls == 23, "by default %d repetitions and %d calls", r.n, j.calls);
    irist_check(t, iris_heap_used(t->world, IRIS_MEM_DATA) == data && iris_heap_used(t->world, IRIS_MEM_SYNC) == sync,
                "memory is not given back");
    end(t, &j);
}

TEST_CASE("repetitions, calls and turns are those that were asked for", "[bench]") { irist_spmd(counts, nullptr); }

static void refused(irist_rank *t, const iris_bench_options *o, iris_status wanted, const char *words)
{
    bench_job j;
    iris_bench_result r;
    std::memset((void *)&j, 0, sizeof j);
    std::memset(&r, 0x5a, sizeof r);
    const iris_status status = iris_bench(t->world, nullptr, submit_work, &j, o, &r);
    irist_check(t, status == wanted && std::strstr(iris_error_string(t->world), words), "%s: %s; not '%s'",
                iris_status_name(status), iris_error_string(t->world), words);
    irist_check(t, j.calls == 0 && r.n == 0 && near(r.median, 0), "a refused call left figures");
}

static void refusals(irist_rank *t)
{
    iris_bench_options zero, o;
    iris_bench_result r;
    std::memset(&zero, 0, sizeof zero);
    o = zero, o.repeats = -1, refused(t, &o, IRIS_ERR_ARGUMENT, "repeats is -1; give 1 to 4096, or 0 for 20");
    irist_check(t, iris_bench(t->world, nullptr, submit_work, nullptr, nullptr, nullptr) == IRIS_ERR_ARGUMENT,
                "a null result is taken");
    o = zero, o.repeats = 4097, refused(t, &o, IRIS_ERR_ARGUMENT, "repeats is 4097");
    o = zero, o.warmup = -2, refused(t, &o, IRIS_ERR_ARGUMENT, "warmup is less than -1");
    o = zero, o.hold_us = -2, refused(t, &o, IRIS_ERR_ARGUMENT, "hold_us is less than -1");
    o = zero, o.calls = -1, refused(t, &o, IRIS_ERR_ARGUMENT, "calls is negative");
    o = zero, o.places = -1, refused(t, &o, IRIS_ERR_ARGUMENT, "places is negative");
    o = zero, o.flush_bytes = (size_t)1 << 60, refused(t, &o, IRIS_ERR_NOMEM, "");
    if (!iris_bench_graphs())
        o = zero, o.graph = 1, refused(t, &o, IRIS_ERR_UNSUPPORTED, "the host platform has no graphs");
    irist_check(t, iris_bench(t->world, nullptr, nullptr, nullptr, &zero, &r) == IRIS_ERR_ARGUMENT, "no function");
    for (int turn = 1; turn < 6; turn += 4) { /* in the warm-up, and in a repetition */
        bench_job j;
        begin(t, &j, -2, 0);
        j.fails_at = turn;
        const bool fails = t->rank + 1 == t->ranks;
        const iris_status status = iris_bench(t->world, nullptr, submit_work, &j, &zero, &r);
        irist_check(t,
                    status == (fails ? IRIS_ERR_ARGUMENT : IRIS_ERR_PEER) && r.n == 0 &&
                        std::strstr(iris_error_string(t->world),
                                    fails ? "made up for a test" : "failed with IRIS_ERR_ARGUMENT"),
                    "call %d failed on one rank: %s: %s", turn, iris_status_name(status), iris_error_string(t->world));
        j.fails_at = 0;
        irist_ok(t, iris_bench(t->world, nullptr, submit_work, &j, &zero, &r));
        end(t, &j);
    }
}

TEST_CASE("what is refused or fails on one rank leaves a sentence and a sound world", "[bench]")
{
    irist_spmd(refusals, nullptr);
}

/* What the points of a run were, in order. */
struct seen {
    std::string points;
    int wrong_at;    /* the point whose check fails on the last rank */
    int fail_at = 0; /* the point whose function fails */
};

static iris_status note(iris_bench_point *p)
{
    seen *s = (seen *)p->arg;
    const bool wrong = s->wrong_at && iris_bench_value(p, "grid") == s->wrong_at;
    s->points += std::string(iris_bench_word(p, "dtype")) + "/" + iris_bench_word(p, "how") + "/" +
                 std::to_string(iris_bench_value(p, "grid")) + " ";
    if (s->fail_at && iris_bench_value(p, "grid") == s->fail_at)
        return IRIS_ERR_ARGUMENT;
    p->row.us = 2, p->row.gbps = 3, p->row.ceiling = 4;
    p->row.time.n = 7, p->row.time.p10 = 1.5;
    p->row.ok = !(wrong && iris_rank(p->world) + 1 == iris_world_size(p->world));
    return iris_bench_value(p, "none") != 0 || iris_bench_word(p, "none") ? IRIS_ERR_ARGUMENT : IRIS_OK;
}

static void suite_of(iris_bench_suite *s)
{
    static const char *const how[] = {"plain", "a\"b,c"};
    static const iris_dtype dtypes[] = {IRIS_F32, IRIS_BF16};
    static const int64_t grid[] = {1, 10};
    iris_bench_suite_init(s, "made up", "for a test");
    iris_bench_benchmark *b = iris_bench_add(s, "first", note);
    iris_bench_dtypes(b, dtypes, 2);
    iris_bench_words(b, "how", how, 2);
    iris_bench_list(b, "grid", grid, 2);
    b = iris_bench_add(s, "second", note);
    iris_bench_powers(b, "bytes", 3, 100, 4); /* 3 12 48 */
    iris_bench_ranks(b, "from");
}

static int parsed(iris_bench_suite *s, std::vector<const char *> words)
{
    words.insert(words.begin(), "bench");
    words.push_back(nullptr);
    return iris_bench_parse(s, (int)words.size() - 1, const_cast<char **>(words.data()));
}

/* How many points a filter chooses. */
static int64_t chosen(const char *filter)
{
    static iris_bench_suite s;
    suite_of(&s);
    s.ranks = 5, s.filter = filter;
    return irisi_bench_list_points(&s, nullptr);
}

TEST_CASE("points are the product of the axes, and filters choose among them", "[bench]")
{
    static iris_bench_suite s;
    suite_of(&s);
    int64_t values[IRIS_BENCH_AXES];
    CHECK(irisi_bench_points(s.benchmark, 5) == 8);
    CHECK(irisi_bench_points(s.benchmark + 1, 5) == 15);
    irisi_bench_values(s.benchmark + 1, 5, 7, values); /* the last axis is the fastest */
    CHECK(values[0] == 12);
    CHECK(values[1] == 2);
    irisi_bench_values(s.benchmark + 1, 5, 14, values);
    CHECK(values[0] == 48);
    CHECK(values[1] == 4);
    CHECK(chosen(nullptr) == 23);
    CHECK(chosen("first") == 8);
    CHECK(chosen("*") == 23);
    CHECK(chosen("first second") == 23);
    CHECK(chosen("dtype=f32") == 4); /* the second has no such axis */
    CHECK(chosen("dtype=?f16 grid=1") == 2);
    CHECK(chosen("grid=1*") == 8);
    CHECK(chosen("grid=1,grid=10,how=plain") == 4);
    CHECK(chosen("second bytes=12 bytes=48") == 10);
    CHECK(chosen("second from=4") == 3);
    CHECK(chosen("first from=4") == 0);
    CHECK(chosen("third") == 0);
    CHECK(parsed(&s, {"-n", "3", "-f", "second", "--seconds", "9", "-c", "abc", "--calls", "2"}) == -1);
    CHECK(s.ranks == 3);
    CHECK(s.about.seconds == 9);
    CHECK(s.time.calls == 2);
    CHECK(std::string(s.about.commit) == "abc");
    CHECK(std::string(s.about.columns[0]) == "how");
    CHECK(std::string(s.about.columns[2]) == "from");
    CHECK(s.about.columns[3] == nullptr);
}

TEST_CASE("a program that registers too much, or nothing for an axis, is told", "[bench]")
{
    static iris_bench_suite s;
    iris_bench_suite_init(&s, "made up", "for a test");
    iris_bench_powers(iris_bench_add(&s, "empty", note), "bytes", 8, 4, 2);
    CHECK(parsed(&s, {}) == 2);
    CHECK(std::string(s.wrong) == "axis 'bytes' of benchmark 'empty' has 0 values; give 1 to 64");
    iris_bench_suite_init(&s, "made up", "for a test");
    iris_bench_benchmark *b = iris_bench_add(&s, "wide", note);
    for (int i = 0; i < 7; i++)
        iris_bench_ranks(b, "from");
    CHECK(parsed(&s, {}) == 2);
    CHECK(std::string(s.wrong) == "benchmark 'wide' has 7 axes; at most 6");
    iris_bench_suite_init(&s, "made up", "for a test");
    for (int i = 0; i < 33; i++)
        iris_bench_add(&s, "many", note);
    CHECK(parsed(&s, {}) == 2);
    CHECK(std::string(s.wrong) == "'many' is one benchmark too many: at most 32");
}

/* What is said of an axis of numbers, or of words, with this name. */
static std::string said_of(const char *name, bool words, int64_t value = 8)
{
    static const char *const some[] = {"a", "b"};
    static iris_bench_suite s;
    iris_bench_suite_init(&s, "made up", "for a test");
    iris_bench_benchmark *b = iris_bench_add(&s, "it", note);
    if (words)
        iris_bench_words(b, name, some, 2);
    else
        iris_bench_list(b, name, &value, 1);
    return parsed(&s, {}) == -1 ? "" : s.wrong;
}

TEST_CASE("an axis has a name that its values have room under, and options have letters of their own", "[bench]")
{
    for (const char *name : {"case", "op", "us", "n", "p10", "p90", "min", "gbps", "algbw", "ceiling", "ratio", "ok"})
        CHECK(said_of(name, false).find("has the name of a figure in files") != std::string::npos);
    for (const char *name : {"variant", "dtype"}) {
        CHECK(said_of(name, false).find("must be of words") != std::string::npos);
        CHECK(said_of(name, true).empty());
    }
    for (const char *name : {"bytes", "workgroups", "lanes"}) {
        CHECK(said_of(name, true).find("must be of numbers") != std::string::npos);
        CHECK(said_of(name, false, -1).find("must be of numbers") != std::string::npos);
        CHECK(said_of(name, false).empty());
    }
    CHECK(said_of("bytes", false, INT64_C(1) << 40).empty());
    CHECK(said_of("lanes", false, INT64_C(1) << 40).find("must be of numbers") != std::string::npos);
    CHECK(said_of("m", false, -1).empty());
    static iris_bench_suite s;
    suite_of(&s);
    iris_bench_ranks(s.benchmark + 1, "from");
    CHECK(parsed(&s, {}) == 2);
    CHECK(std::string(s.wrong).find("an axis before it") != std::string::npos);
    int own = 0, other = 0;
    for (const char *name : {"size", "ranks"}) {
        suite_of(&s);
        iris_bench_option_int(&s, name[0], name, &own, "for a test");
        CHECK(parsed(&s, {}) == 2);
        CHECK(std::string(s.wrong).find("has the letter or the name of --") != std::string::npos);
    }
    suite_of(&s);
    iris_bench_option_int(&s, 0, "turns", &own, "for a test");
    iris_bench_option_int(&s, 0, "waves", &other, "for a test");
    CHECK(parsed(&s, {"--waves", "4", "--turns", "3", "-r", "5"}) == -1);
    CHECK((own == 3 && other == 4 && s.time.repeats == 5));
    CHECK(parsed(&s, {"--json", "same", "--csv", "same"}) == 2);
}

static std::string file(const std::string &name)
{
    std::string text;
    FILE *f = std::fopen(name.c_str(), "r");
    for (int c; f && (c = std::fgetc(f)) != EOF;)
        text += (char)c;
    if (f)
        std::fclose(f);
    std::remove(name.c_str());
    return text;
}

TEST_CASE("a text in a file is one that JSON takes", "[bench]")
{
    const double none = std::numeric_limits<double>::infinity();
    CHECK(std::string(irisi_decimal_of(none, 3).text) == "null");
    CHECK(std::string(irisi_decimal_of(-none, 3).text) == "null");
    CHECK(std::string(irisi_decimal_of(none - none, 3).text) == "null");
    CHECK(std::string(irisi_decimal_of(-1.25, 1).text) == "-1.2");
    const struct {
        const char *text, *said;
    } texts[] = {{"", "\"\""},
                 {"a\"b\\c\n", "\"a\\\"b\\\\c\\u000a\""},
                 {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
                 {"caf\xe9!", "\"caf?!\""},
                 {"\xc0\x80 \xed\xa0\x80 \xe0\x9f\x80 \xf4\x90\x80\x80 \xff\xc3", "\"?? ??? ??? ???? ??\""}};
    for (const auto &x : texts) {
        const std::string name = "/tmp/iris_text_" + std::to_string(getpid());
        FILE *f = std::fopen(name.c_str(), "w");
        irisi_json_text(f, x.text);
        std::fclose(f);
        CHECK(file(name) == x.said);
    }
}

static void files(irist_rank *t)
{
    std::vector<iris_bench_suite> s(1); /* a rank's own, too large for a small stack */
    const std::string name = "/tmp/iris_bench_" + std::to_string(getpid()), csv = name + ".csv";
    seen points = {"", 10};
    suite_of(&s[0]);
    s[0].about.json = name.c_str(), s[0].about.csv = csv.c_str(), s[0].filter = "first dtype=f32";
    s[0].about.columns[0] = "how", s[0].about.columns[1] = "grid";
    s[0].about.facts[0][0] = "library", s[0].about.facts[0][1] = "1.2";
    irist_check(t, iris_bench_run(t->world, &s[0], &points) == 1, "a run whose checks failed returned 0");
    irist_check(t, points.points == "f32/plain/1 f32/plain/10 f32/a\"b,c/1 f32/a\"b,c/10 ", "points: %s",
                points.points.c_str());
    points.wrong_at = 0, s[0].about.json = s[0].about.csv = nullptr;
    irist_check(t, iris_bench_run(t->world, &s[0], &points) == 0, "a run whose checks passed did not return 0");
    s[0].about.json = "/dev/full";
    irist_check(t, iris_bench_run(t->world, &s[0], &points) == 1, "a full disk goes unnoticed");
    const std::string part_name = name + ".part", nowhere = name + "/nowhere.csv";
    points.fail_at = 1, s[0].about.json = part_name.c_str();
    irist_check(t, iris_bench_run(t->world, &s[0], &points) == 1, "a run whose function failed returned 0");
    s[0].about.csv = nowhere.c_str();
    irist_check(t, iris_bench_run(t->world, &s[0], &points) == 1, "a file that cannot be goes unnoticed");
    if (t->rank != 0)
        return;
    const std::string part_json = file(part_name);
    irist_check(t, part_json.find("\"complete\": false") != std::string::npos, "half a run: %s", part_json.c_str());
    const std::string json = file(name), rows = file(csv);
    for (const char *part :
         {"\"schema\": \"iris-bench-1\"", "\"benchmark\": \"made up\"", "\"library\": \"1.2\"", "\"complete\": true",
          "{\"case\": \"first\", \"dtype\": \"f32\", \"variant\": \"\", \"bytes\": 0, "
          "\"workgroups\": 0, \"lanes\": 0, \"us\": 2.0000, \"how\": \"a\\\"b,c\", \"grid\": 10, "
          "\"n\": 7, \"p10\": 1.5000, \"p90\": 0.0000, \"min\": 0.0000, \"gbps\": 3.000, "
          "\"ceiling\": 4.0000, \"ratio\": 0.7500, \"ok\": false}\n  ],"})
        irist_check(t, json.find(part) != std::string::npos, "the JSON file has no %s: %s", part, json.c_str());
    irist_check(t,
                rows.find("case,op,dtype,variant,bytes,workgroups,lanes,how,grid,us,n,p10,p90,min,gbps,algbw,"
                          "ceiling,ratio,ok\nfirst,,f32,,0,0,0,plain,1,2.0000,7,1.5000,,,3.000,,4.0000,0.7500,1\n") ==
                    0,
                "the CSV file: %s", rows.c_str());
    irist_check(t,
                rows.find("\nfirst,,f32,,0,0,0,\"a\"\"b,c\",10,2.0000,7,1.5000,,,3.000,,4.0000,0.7500,0\n") !=
                    std::string::npos,
                "the CSV file: %s", rows.c_str());
}

TEST_CASE("rows stand in both files, with the verdict of all ranks", "[bench]") { irist_spmd(files, nullptr); }
