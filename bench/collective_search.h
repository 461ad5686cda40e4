/* SPDX-License-Identifier: MIT */
/*
 * collective_search.h: which schedule of a collective is the fastest on this machine, by size: rows for IRIS_TUNE. A
 * part of iris_tune.c, which includes the launchers first.
 *
 *   collective_search collective_search_open collective_search_close collective_search_kind collective_search_points
 *
 * Every schedule is timed at every size, of bf16, in a graph where there are graphs, and every element of its result is
 * looked at. Where the schedule of the size below is hardly slower than the fastest one it stays, so that noise makes
 * no rows.
 */
#ifndef IRIS_BENCH_COLLECTIVE_SEARCH_H
#define IRIS_BENCH_COLLECTIVE_SEARCH_H

#include "collective_data.h"
#include "collective_kinds.h"

enum {
    SEARCH_SIZES = 40,
    SEARCH_STEP = 4,              /* from size to size */
    SEARCH_GRAPH_MOST = 64 << 20, /* bytes of a call in a graph, at most */
    SEARCH_FEW_FROM = 4 << 20,    /* above so many bytes there are few calls in one time */
    SEARCH_FEW = 4
};
/* A schedule stays while it is at most so many times as slow as the fastest. */
static const double SEARCH_STAYS = 1.02;

/* What was the fastest at one size: a place in `ways`, -1 where nothing was timed. */
typedef struct search_winner {
    int way;
    double us;
    uint64_t all; /* bytes of all ranks' elements together, by which rows choose */
} search_winner;

typedef struct collective_search {
    bench *b;
    work x;
    int rings; /* 1: rings too, of collectives that combine: their bits are others */
} collective_search;

/* 1 when a way is a schedule that a row may choose for this size. */
static inline int search_tries(const way *y, int kind_number, size_t bytes, int rings)
{
    const int ring = y->schedule == IRIS_SCHEDULE_RING && kinds[kind_number].reduces;
    return y->kind == kind_number && y->schedule != IRIS_SCHEDULE_AUTO && bytes <= y->most && (rings || !ring);
}

/* How many schedules there are to choose from. */
static inline int search_ways(int kind_number, size_t bytes, int rings)
{
    int n = 0;
    for (int i = 0; i < WAYS; i++)
        n += search_tries(&ways[i], kind_number, bytes, rings);
    return n;
}

/* How many times a collective will be timed. */
static inline int collective_search_points(int kind_number, const bench_options *o, int rings)
{
    int n = 0;
    for (size_t bytes = o->min_bytes, i = 0; bytes <= o->max_bytes && i < SEARCH_SIZES; bytes *= SEARCH_STEP, i++)
        n += search_ways(kind_number, bytes, rings);
    return n;
}

/* Memory of a search. 0, or 1 with a sentence on stderr. Collective. */
static inline int collective_search_open(collective_search *s, bench *b, int rings)
{
    memset(s, 0, sizeof *s);
    s->b = b, s->rings = rings;
    IRIS_TRY(iris_collective_channel(b->w, &s->x.ch, 0));
    s->x.c.dst = iris_malloc(b->w, b->o->max_bytes);
    s->x.c.src = iris_malloc(b->w, b->o->max_bytes);
    s->x.wrong = (uint64_t *)iris_malloc(b->w, sizeof *s->x.wrong);
    s->x.c.dtype = IRIS_BF16;
    if (!s->x.c.dst || !s->x.c.src || !s->x.wrong)
        return irisi_try_failed(IRIS_ERR_NOMEM, "the buffers of collectives");
    IRIS_TRY(iris_barrier(b->w));
    return !fill(b, (void *)(uintptr_t)s->x.c.src, b->o->max_bytes / sizeof(iris_bf16));
}

/* Gives it back. Collective. */
static inline int collective_search_close(collective_search *s)
{
    iris_world *w = s->b->w;
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_free(w, s->x.wrong));
    IRIS_TRY(iris_free(w, (void *)(uintptr_t)s->x.c.src));
    IRIS_TRY(iris_free(w, s->x.c.dst));
    IRIS_TRY(iris_channel_destroy(w, &s->x.ch));
    return 0;
}

/* Times one schedule; microseconds, 0 where its result is wrong, negative when the run cannot go on. */
static inline double search_measure(collective_search *s, iris_schedule schedule, size_t bytes)
{
    bench *b = s->b;
    const int graph = iris_bench_graphs() && bytes <= SEARCH_GRAPH_MOST;
    const int few = bytes > SEARCH_FEW_FROM && b->o->laps > SEARCH_FEW;
    char what[96];
    iris_bench_row row;
    memset(&row, 0, sizeof row);
    row.name = s->x.k->name, row.dtype = "bf16", row.variant = irisi_schedule_name((int)schedule), row.bytes = bytes;
    s->x.c.schedule = schedule;
    snprintf(what, sizeof what, "%s %s bytes=%zu", row.name, row.variant, bytes);
    const int poisoned = iris_memset(b->w, s->x.c.dst, 0xFF, bytes) == IRIS_OK;
    if (iris_barrier(b->w) != IRIS_OK)
        return -1;
    row.us = bench_time_calls(b, what, submit_own, &s->x, graph, few ? SEARCH_FEW : b->o->laps);
    if (row.us < 0)
        return -1;
    row.ok = right(b, &s->x, s->x.c.dst) && iris_bench_all_ok(b->w, poisoned);
    row.algbw = 1e-3 * (double)bytes / row.us;
    row.gbps = row.algbw * kind_crossing(s->x.k, iris_world_size(b->w));
    iris_bench_put(&b->file, &row);
    return row.ok ? row.us : 0;
}

/* Times every schedule at one size. The winner's way is -1 where none was timed, -2 when the run cannot go on. */
static inline search_winner search_size(collective_search *s, int kind_number, size_t bytes, int before)
{
    const int ranks = iris_world_size(s->b->w);
    search_winner best = {-1, 0, 0};
    double stays = 0;
    s->x.k = kinds + kind_number;
    s->x.c.count = kind_count(s->x.k, bytes, ranks);
    best.all = (uint64_t)s->x.c.count * sizeof(iris_bf16) * (uint64_t)ranks;
    for (int i = 0; i < WAYS && s->x.c.count > 0; i++) {
        if (!search_tries(&ways[i], kind_number, bytes, s->rings))
            continue;
        const int late = iris_bench_late(&s->b->file);
        const double us = late ? 0 : search_measure(s, ways[i].schedule, bytes);
        if (late || us < 0) {
            best.way = late ? -1 : -2; /* a winner among some is none */
            return best;
        }
        if (us > 0 && (best.way < 0 || us < best.us))
            best.way = i, best.us = us;
        stays = i == before ? us : stays;
    }
    if (stays > 0 && stays <= SEARCH_STAYS * best.us)
        best.way = before, best.us = stays;
    return best;
}

/* Writes a row for each range of sizes that one schedule won; a range ends halfway to the next, in the logarithm. */
static inline void search_write(const bench *b, const kind *k, const search_winner *won, int n, FILE *table)
{
    const char *arch = iris_arch_name(b->w);
    for (int i = 0; i < n; i++) {
        if (i + 1 < n && won[i + 1].way == won[i].way)
            continue;
        const double end = sqrt((double)won[i].all * (double)won[i + 1 < n ? i + 1 : i].all);
        fprintf(table, "collective=%s arch=%.*s units=%d ranks=%d upto=%llu schedule=%s us=%.1f\n", k->name,
                (int)strcspn(arch, ":"), arch, iris_compute_units(b->w), iris_world_size(b->w), (unsigned long long)end,
                irisi_schedule_name((int)ways[won[i].way].schedule), won[i].us);
    }
}

/* Searches for one collective, and writes rank 0's rows. 0, or 1 when the run cannot go on. Collective. */
static inline int collective_search_kind(collective_search *s, int kind_number, FILE *table)
{
    const bench_options *o = s->b->o;
    search_winner won[SEARCH_SIZES];
    int n = 0, before = -1;
    for (size_t bytes = o->min_bytes; bytes <= o->max_bytes && n < SEARCH_SIZES; bytes *= SEARCH_STEP) {
        const search_winner w = search_size(s, kind_number, bytes, before);
        if (w.way == -2)
            return 1;
        if (w.way < 0)
            continue;
        before = w.way;
        won[n++] = w;
    }
    if (table != NULL) {
        search_write(s->b, kinds + kind_number, won, n, table);
        fflush(table); /* what it could not write the file itself knows */
    }
    return 0;
}

#endif
