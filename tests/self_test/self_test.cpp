/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/self_test.h>: a sound machine passes every check between every two ranks, and broken ones, made by wrong
 * addresses in a rank's context, are reported with the ranks and the check that failed. tests/mutants has the rest: a
 * signal before its data, an atomic that loses updates.
 */
#define IRIS_INSTANTIATE_SELF_TEST
#include <iris/self_test.h>

#include "harness.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

namespace {

enum { EVERY = (1 << IRIS_SELF_TEST_CHECKS) - 1, FIRST = 1 << IRIS_SELF_TEST_TRANSLATION };

/* A pair's place in the table. */
void expect_pair(irist_rank *t, const iris_self_test_result &r, int from, int to, int passed, int failed, int late = 0)
{
    irist_check(t, r.passed[from][to] == passed && r.failed[from][to] == failed && r.late[from][to] == late,
                "from %d to %d: passed %#x, failed %#x, late %#x, not %#x, %#x and %#x", from, to,
                (unsigned)r.passed[from][to], (unsigned)r.failed[from][to], (unsigned)r.late[from][to],
                (unsigned)passed, (unsigned)failed, (unsigned)late);
}

std::string text_of(const iris_self_test_result &r)
{
    std::string text(iris_self_test_text(&r, nullptr, 0) + 1, '?');
    const size_t length = iris_self_test_text(&r, &text[0], text.size());
    text.resize(length);
    return text;
}

void sound(irist_rank *t)
{
    std::unique_ptr<iris_self_test_result> r(new iris_self_test_result);
    const size_t used[2] = {iris_heap_used(t->world, IRIS_MEM_DATA), iris_heap_used(t->world, IRIS_MEM_SYNC)};
    for (int lap = 0; lap < (irist_slow() > 1 ? 1 : 2) && !t->failures; lap++) {
        std::memset(r.get(), 0xFF, sizeof *r);
        irist_ok(t, iris_self_test(t->world, lap ? nullptr : r.get()));
        if (lap)
            continue;
        irist_check(t, r->world == t->ranks, "the table has %d ranks", (int)r->world);
        irist_check(t, r->kinds == (1u << IRIS_MEM_DATA | 1u << IRIS_MEM_SYNC), "kinds of memory: %#x", r->kinds);
        for (int from = 0; from < t->ranks; from++)
            for (int to = 0; to < t->ranks; to++)
                expect_pair(t, *r, from, to, EVERY, 0);
        const std::string text = text_of(*r);
        size_t cells = 0;
        for (size_t at = text.find("tosad"); at != std::string::npos; at = text.find("tosad", at + 1))
            cells++;
        irist_check(t, cells == (size_t)(t->ranks * t->ranks), "the text has %zu sound cells: %s", cells, text.c_str());
    }
    irist_check(
        t, used[0] == iris_heap_used(t->world, IRIS_MEM_DATA) && used[1] == iris_heap_used(t->world, IRIS_MEM_SYNC),
        "the heap has lost memory");
}

/* After what went wrong on purpose. */
void still_works(irist_rank *t)
{
    irist_ok(t, irist_slow() > 1 ? iris_barrier(t->world) : iris_self_test(t->world, nullptr));
}

/* Where a rank with a wrong address ends up instead: in its own heap, or, alone in the world, a little further on. */
void mislead(irist_rank *t, iris_ctx *ctx, int victim, int rank)
{
    if (t->rank == victim)
        ctx->delta[rank] = rank == victim ? (int64_t)1 << 20 : 0;
}

void wrong_address(irist_rank *t)
{
    std::unique_ptr<iris_self_test_result> r(new iris_self_test_result);
    const int from = t->ranks - 1, to = t->ranks > 2 ? 1 : 0;
    iris_ctx ctx = iris_device_ctx(t->world);
    mislead(t, &ctx, from, to);
    const iris_status status = irisi_self_test_run(t->world, &ctx, &ctx, r.get());
    const std::string wanted =
        "translation from rank " + std::to_string(from) + " to rank " + std::to_string(to) + " failed";
    irist_check(t, status == IRIS_ERR_DEVICE && std::strstr(iris_error_string(t->world), wanted.c_str()),
                "%s instead of '%s': %s", iris_status_name(status), wanted.c_str(), iris_error_string(t->world));
    for (int a = 0; a < t->ranks; a++) {
        for (int b = 0; b < t->ranks; b++) {
            if (a == from && b == to)
                expect_pair(t, *r, a, b, 0, FIRST);
            else if (a == to && b == from) /* finds its way, but would get no answer */
                expect_pair(t, *r, a, b, FIRST, 0);
            else
                expect_pair(t, *r, a, b, EVERY, 0);
        }
    }
    irist_check(t, r->kinds == 0, "kinds of memory: %#x", r->kinds);
    still_works(t);
}

/* Pairs of which one of these checks was late. */
int late_pairs(const iris_self_test_result &r, int checks)
{
    int pairs = 0;
    for (int pair = 0; pair < r.world * r.world; pair++)
        pairs += (r.late[pair / r.world][pair % r.world] & checks) != 0;
    return pairs;
}

/* From the second part on one rank's messages for another stay at home: both wait in vain, everyone else does not. */
void silence(irist_rank *t)
{
    std::unique_ptr<iris_self_test_result> r(new iris_self_test_result);
    const int from = t->ranks - 1, to = 0;
    const iris_ctx whole = iris_device_ctx(t->world);
    iris_ctx reach = whole, talk = whole;
    mislead(t, &talk, from, to);
    /* The launches are patient for half of it; under a sanitizer deadlines are ten times as long. On a busy machine
     * ranks that do hear each other may take longer: once more, then, with all of it. */
    reach.deadline /= irist_laps(100, 100) < 100 ? 40 : t->ranks > 4 ? 4 : 12;
    iris_status status = irisi_self_test_run(t->world, &reach, &talk, r.get());
    if (late_pairs(*r, EVERY) > 2)
        status = irisi_self_test_run(t->world, &whole, &talk, r.get());
    irist_check(t, status == IRIS_ERR_TIMEOUT && std::strstr(iris_error_string(t->world), "ordering from rank 0 to"),
                "%s: %s", iris_status_name(status), iris_error_string(t->world));
    for (int a = 0; a < t->ranks; a++) {
        for (int b = 0; b < t->ranks; b++) {
            const bool broken = (a == from && b == to) || (a == to && b == from);
            expect_pair(t, *r, a, b, broken ? FIRST : EVERY, 0, broken ? 1 << IRIS_SELF_TEST_ORDERING : 0);
        }
    }
    const std::string text = text_of(*r);
    irist_check(t, text.find("t?...") != std::string::npos, "the text does not show it: %s", text.c_str());
    still_works(t);
}

/* A sound machine that is given too little time, more each time: some checks do not end, and none is wrong. */
void hurry(irist_rank *t)
{
    std::unique_ptr<iris_self_test_result> r(new iris_self_test_result);
    const iris_ctx talk = iris_device_ctx(t->world);
    iris_ctx reach = talk; /* launches are patient for half of its deadline */
    reach.deadline = 2;
    for (int lap = 0; lap < (irist_slow() > 1 ? 3 : 16) && !t->failures;
         lap++, reach.deadline += lap < 2 ? 20 : reach.deadline) {
        const iris_status status = irisi_self_test_run(t->world, &reach, &talk, r.get());
        const int late = late_pairs(*r, EVERY & ~(1 << IRIS_SELF_TEST_DATA_MEMORY));
        for (int a = 0; a < t->ranks; a++)
            for (int b = 0; b < t->ranks; b++)
                irist_check(t, r->failed[a][b] == 0, "from %d to %d failed in %llu ticks: %#x", a, b,
                            (unsigned long long)reach.deadline / 2, (unsigned)r->failed[a][b]);
        irist_check(t, status == (late ? IRIS_ERR_TIMEOUT : IRIS_OK), "%d pairs late: %s", late,
                    iris_status_name(status));
        irist_check(t, !late || std::strstr(iris_error_string(t->world), "nothing was wrong"), "the sentence: %s",
                    iris_error_string(t->world));
    }
    still_works(t);
}

} // namespace

TEST_CASE("a machine that is too slow is late, not wrong", "[self_test]") { irist_spmd(hurry, nullptr); }

TEST_CASE("a sound machine passes its self-test", "[self_test]") { irist_spmd(sound, nullptr); }

TEST_CASE("a wrong address is reported with its two ranks", "[self_test]") { irist_spmd(wrong_address, nullptr); }

TEST_CASE("ranks that do not hear each other are reported, and nobody hangs", "[self_test]")
{
    if (irist_ranks() > 1)
        irist_spmd(silence, nullptr);
}

TEST_CASE("the text of a self-test is cut where its room ends", "[self_test]")
{
    std::unique_ptr<iris_self_test_result> r(new iris_self_test_result);
    std::memset(r.get(), 0, sizeof *r);
    r->world = 2;
    r->passed[0][1] = EVERY;
    r->passed[1][0] = FIRST;
    r->failed[1][0] = 1 << IRIS_SELF_TEST_ORDERING;
    r->passed[0][0] = FIRST;
    r->late[0][0] = 1 << IRIS_SELF_TEST_ORDERING;
    const std::string whole = text_of(*r);
    REQUIRE(whole.find("\n        0 t?... tosad\n        1 tX... .....\n") != std::string::npos);
    char small[20];
    std::memset(small, '?', sizeof small);
    REQUIRE(iris_self_test_text(r.get(), small, 10) == whole.size());
    REQUIRE(std::string(small, 9) == whole.substr(0, 9));
    REQUIRE((small[9] == 0 && small[10] == '?'));
    REQUIRE(iris_self_test_text(nullptr, small, sizeof small) == 0);
    REQUIRE(small[0] == 0);
    REQUIRE(std::string(iris_self_test_check_name(IRIS_SELF_TEST_ATOMICS)) == "atomics");
    REQUIRE(std::string(iris_self_test_check_name(IRIS_SELF_TEST_CHECKS)) == "none");
    REQUIRE(iris_self_test(nullptr, nullptr) == IRIS_ERR_ARGUMENT);
}
