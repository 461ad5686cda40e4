/* SPDX-License-Identifier: MIT */
/*
 * overlap.c: iris_overlap_report against a count of ticks one by one, on random spans of every arrangement; its figures
 * add up; nonsense is refused in one sentence.
 */
#include <iris/init.h>

#include <stdio.h>
#include <string.h>

enum { TICKS = 61, MOST = 12, TURNS = 20000 };

static unsigned failures;

static void check(int holds, const char *what, unsigned turn)
{
    if (!holds && failures++ < 10)
        printf("turn %u: %s\n", turn, what);
}

static uint64_t state = 20240229;

static uint32_t pick(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

/* The definition: looks at every tick. */
static iris_overlap count(const iris_span *spans, size_t n, uint64_t origin)
{
    iris_overlap wanted;
    uint64_t first = UINT64_MAX, last = 0;
    memset(&wanted, 0, sizeof wanted);
    for (size_t i = 0; i < n; i++) {
        first = spans[i].begin < first ? spans[i].begin : first;
        last = spans[i].end > last ? spans[i].end : last;
    }
    for (uint64_t t = origin; n != 0 && t < origin + 2 * TICKS; t++) {
        int busy[2] = {0, 0};
        for (size_t i = 0; i < n; i++)
            if (spans[i].begin <= t && t < spans[i].end)
                busy[spans[i].kind] = 1;
        if (t >= first && t < last)
            wanted.idle += !busy[0] && !busy[1];
        wanted.compute += (uint64_t)busy[IRIS_SPAN_COMPUTE];
        wanted.communicate += (uint64_t)busy[IRIS_SPAN_COMMUNICATE];
        wanted.both += (uint64_t)(busy[0] && busy[1]);
        wanted.exposed += (uint64_t)(busy[IRIS_SPAN_COMMUNICATE] && !busy[IRIS_SPAN_COMPUTE]);
    }
    wanted.time = n == 0 ? 0 : last - first;
    return wanted;
}

static void random_spans(unsigned turn)
{
    iris_span spans[MOST];
    iris_overlap saw, wanted;
    const size_t n = pick(MOST + 1);
    const uint64_t origin = turn % 2 ? UINT64_MAX - 3 * TICKS : 1 + pick(9); /* a clock that has run for long */
    for (size_t i = 0; i < n; i++) {
        spans[i].begin = origin + pick(TICKS);
        spans[i].end = spans[i].begin + pick(turn % 3 ? 9 : TICKS);
        spans[i].kind = turn % 5 ? pick(2) : turn % 2;
        spans[i].pad = pick(99);
    }
    wanted = count(spans, n, origin);
    memset(&saw, 0xa5, sizeof saw);
    check(iris_overlap_report(spans, n, &saw) == IRIS_OK, "good spans are refused", turn);
    check(saw.time == wanted.time, "wrong time", turn);
    check(saw.compute == wanted.compute, "wrong arithmetic", turn);
    check(saw.communicate == wanted.communicate, "wrong communication", turn);
    check(saw.both == wanted.both, "wrong overlap", turn);
    check(saw.exposed == wanted.exposed, "wrong exposed communication", turn);
    check(saw.idle == wanted.idle, "wrong idle time", turn);
    check(saw.compute + saw.exposed + saw.idle == saw.time, "the parts do not add up to the time", turn);
    const uint64_t most = wanted.compute > wanted.communicate ? wanted.compute : wanted.communicate;
    const double bound = wanted.time == 0 ? 0 : (double)most / (double)wanted.time;
    check(!(saw.efficiency < bound) && !(saw.efficiency > bound), "wrong efficiency", turn);
}

static void refused(iris_span *spans, size_t n, iris_overlap *result, const char *part)
{
    check(iris_overlap_report(spans, n, result) == IRIS_ERR_ARGUMENT, part, 0);
    check(strstr(iris_error_string(NULL), part) != NULL, iris_error_string(NULL), 0);
    check(result == NULL || (result->time == 0 && result->both == 0), "figures of refused spans", 0);
}

int main(void)
{
    iris_span spans[2];
    iris_overlap result;
    for (unsigned turn = 0; turn < TURNS; turn++)
        random_spans(turn);
    check(iris_overlap_report(NULL, 0, &result) == IRIS_OK, "no spans at all are refused", 0);
    memset(&result, 0, sizeof result);
    memset(spans, 0, sizeof spans);
    refused(NULL, 1, &result, "spans is null");
    refused(spans, 1, NULL, "result is null");
    check(iris_overlap_report(spans, 2, &result) == IRIS_OK && result.time == 0, "zeros are spans", 0);
    spans[0].begin = 1000, spans[0].end = 1010, spans[1].kind = IRIS_SPAN_COMMUNICATE;
    check(iris_overlap_report(spans, 2, &result) == IRIS_OK && result.time == 10 && result.compute == 10, "zeros count",
          0);
    memset(spans, 0, sizeof spans);
    spans[0].end = 5;
    check(iris_overlap_report(spans, 2, &result) == IRIS_OK && result.time == 5, "a clock's first span", 0);
    memset(spans, 0, sizeof spans);
    spans[1].begin = 8, spans[1].end = 7;
    refused(spans, 2, &result, "span 1 ends at 7, before it begins at 8");
    spans[1].end = 9, spans[1].kind = 2;
    refused(spans, 2, &result, "span 1 is of kind 2");
    printf("%u failures\n", failures);
    return failures != 0;
}
