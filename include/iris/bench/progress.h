/* SPDX-License-Identifier: MIT */
/*
 * progress.h: what a long run is at, on standard error: on a terminal one line that changes, elsewhere a line now and
 * then. A part of rows.h: iris_bench_expect and iris_bench_doing there call it.
 */
#ifndef IRIS_BENCH_PROGRESS_H
#define IRIS_BENCH_PROGRESS_H

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Seconds between lines where standard error is no terminal, and columns of the line where it is one. */
enum { IRISI_BENCH_EVERY = 10, IRISI_BENCH_LINE = 79 };

/* How far a run is; zeroed: nothing is shown. */
typedef struct irisi_bench_progress {
    long done, all; /* rows that were begun before, and those that are expected; 0: nobody knows */
    double said;    /* when the last line was written, in seconds of a clock */
    int shown;      /* 1: a line stands on the terminal that is to go before anything else is written */
} irisi_bench_progress;

static inline double irisi_bench_seconds(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "45 s", "12 min" or "1 h 20 min". */
static inline void irisi_bench_duration(double seconds, char *text, size_t room)
{
    const long s = seconds > 0 ? (long)(seconds + 0.5) : 0, minutes = (s + 30) / 60;
    if (s < 100)
        snprintf(text, room, "%ld s", s);
    else if (minutes < 60)
        snprintf(text, room, "%ld min", minutes);
    else
        snprintf(text, room, "%ld h %ld min", minutes / 60, minutes % 60);
}

/*
 * "12 of 80 rows, 45 s left: ...". How long is left says the pace so far, or the run's own limit where that is sooner;
 * where nobody knows how many rows there will be, the limit alone.
 *
 * @param p     how far the run is
 * @param spent seconds since it began
 * @param limit seconds after which it begins no row; 0: none
 * @param what  the next row
 */
static inline void irisi_bench_progress_text(const irisi_bench_progress *p, double spent, double limit,
                                             const char *what, char *text, size_t room)
{
    char of[32] = "", left[48] = "", time[32];
    const int counted = p->all > p->done, paced = counted && p->done > 0;
    double seconds = paced ? spent / (double)p->done * (double)(p->all - p->done) : limit - spent;
    const int at_most = limit > 0 && (!paced || seconds > limit - spent);
    if (at_most)
        seconds = limit - spent;
    irisi_bench_duration(seconds, time, sizeof time);
    if (counted)
        snprintf(of, sizeof of, " of %ld", p->all);
    if (paced || at_most)
        snprintf(left, sizeof left, ", %s%s left", at_most ? "at most " : "", time);
    snprintf(text, room, "%ld%s rows%s: %.100s", p->done, of, left, what);
}

/* Shows what comes next, which counts as done from then on; `began`: seconds of the clock when the run did. */
static inline void irisi_bench_progress_show(irisi_bench_progress *p, double began, double limit, const char *what)
{
    char text[256];
    const double now = irisi_bench_seconds();
    irisi_bench_progress_text(p, now - began, limit, what, text, sizeof text);
    p->done++;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%.*s", (int)IRISI_BENCH_LINE, text);
        p->shown = 1;
    } else if (now - (p->said > 0 ? p->said : began) >= (double)IRISI_BENCH_EVERY) {
        fprintf(stderr, "%s\n", text);
        p->said = now;
    }
    fflush(stderr);
}

/* Takes the line from the terminal. */
static inline void irisi_bench_progress_clear(irisi_bench_progress *p)
{
    if (p->shown) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
    p->shown = 0;
}

#endif
