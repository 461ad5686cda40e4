/* SPDX-License-Identifier: MIT */
/*
 * overlap.h: a part of init.c: how much of the communication the arithmetic hides.
 *
 *   iris_overlap_report
 */
#ifndef IRIS_RUNTIME_OVERLAP_H
#define IRIS_RUNTIME_OVERLAP_H
#ifdef IRIS_INIT_C

#include <iris/overlap.h>
#include <iris/runtime/world_state.h>

static int irisi_span_order(const void *left, const void *right)
{
    const uint64_t a = ((const iris_span *)left)->begin, b = ((const iris_span *)right)->begin;
    return (a > b) - (a < b);
}

/* Ticks from one reading to another; 0 when the other is not later. */
static uint64_t irisi_span_ticks(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

static iris_status irisi_span_check(const iris_span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (spans[i].end < spans[i].begin)
            return irisi_fail(NULL, IRIS_ERR_ARGUMENT,
                              "iris_overlap_report: span %zu ends at %llu, before it begins at %llu; are both readings "
                              "of one device's iris_clock?",
                              i, (unsigned long long)spans[i].end, (unsigned long long)spans[i].begin);
        if (spans[i].kind > IRIS_SPAN_COMMUNICATE)
            return irisi_fail(NULL, IRIS_ERR_ARGUMENT,
                              "iris_overlap_report: span %zu is of kind %u; give IRIS_SPAN_COMPUTE or "
                              "IRIS_SPAN_COMMUNICATE",
                              i, (unsigned)spans[i].kind);
    }
    return IRIS_OK;
}

/*
 * In the order of their begins, the spans of a kind cover a prefix of the time from each new begin on: up to the latest
 * end so far. So what a span adds to its own kind starts there, and the other kind covers the part of it that lies
 * before the other's latest end. What the other kind covers later is counted when its own later span adds it.
 */
iris_status iris_overlap_report(iris_span *spans, size_t n, iris_overlap *result)
{
    uint64_t covered[2] = {0, 0}, ticks[2] = {0, 0};
    if (result != NULL)
        memset(result, 0, sizeof *result);
    if (result == NULL || (spans == NULL && n != 0))
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_overlap_report: %s is null; give memory of the host",
                          result == NULL ? "result" : "spans");
    const iris_status status = irisi_span_check(spans, n);
    if (status != IRIS_OK || n == 0)
        return status;
    qsort(spans, n, sizeof *spans, irisi_span_order);
    size_t first = 0; /* what nobody wrote is at the front */
    while (first < n && spans[first].end == 0)
        first++;
    if (first == n)
        return IRIS_OK;
    for (size_t i = first; i < n; i++) {
        const uint32_t own = spans[i].kind, other = !own;
        const uint64_t from = spans[i].begin > covered[own] ? spans[i].begin : covered[own], to = spans[i].end;
        ticks[own] += irisi_span_ticks(from, to);
        result->both += irisi_span_ticks(from, to < covered[other] ? to : covered[other]);
        covered[own] = to > covered[own] ? to : covered[own];
    }
    result->time = (covered[0] > covered[1] ? covered[0] : covered[1]) - spans[first].begin;
    result->compute = ticks[IRIS_SPAN_COMPUTE];
    result->communicate = ticks[IRIS_SPAN_COMMUNICATE];
    result->exposed = result->communicate - result->both;
    result->idle = result->time - result->compute - result->exposed;
    if (result->time != 0)
        result->efficiency = (double)(ticks[0] > ticks[1] ? ticks[0] : ticks[1]) / (double)result->time;
    return IRIS_OK;
}

#endif
#endif
