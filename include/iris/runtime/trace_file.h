/* SPDX-License-Identifier: MIT */
/*
 * trace_file.h: a part of init.c: from the events of all ranks to a file for Perfetto, and how clocks are compared.
 *
 *   irisi_clock_sample irisi_clock_fit irisi_clock_best irisi_clock_shift
 *   irisi_trace_log irisi_trace_keep irisi_trace_print
 *
 * Nothing here needs a world or a device: the test gives it clocks that disagree and events that are missing.
 *
 * Clocks. Rank 0 reads its clock, raises a signal on the other rank, which answers with its own clock's value, and
 * reads again: the other's clock stood at that value at some moment between the two readings. Of many rounds the
 * shortest says most: the middle of it is off by at most half its length. Rounds before and after a trace give the
 * drift.
 */
#ifndef IRIS_RUNTIME_TRACE_FILE_H
#define IRIS_RUNTIME_TRACE_FILE_H
#ifdef IRIS_INIT_C

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/decimal.h>
#include <iris/gen/schedules.h>
#include <iris/trace.h>

/* One round: rank 0's clock before and after, and the other's in between. */
typedef struct irisi_clock_sample {
    uint64_t before, there, after;
} irisi_clock_sample;

/* A moment of rank 0's clock, how far the other's was ahead then, and how wrong that may be; ticks. */
typedef struct irisi_clock_fit {
    uint64_t at;
    int64_t ahead;
    uint64_t error;
} irisi_clock_fit;

static inline irisi_clock_fit irisi_clock_best(const irisi_clock_sample *samples, size_t n)
{
    irisi_clock_fit best = {0, 0, UINT64_MAX};
    for (size_t i = 0; i < n; i++) {
        const uint64_t length = samples[i].after - samples[i].before;
        if (length / 2 + 1 >= best.error)
            continue;
        best.at = samples[i].before + length / 2;
        best.ahead = (int64_t)(samples[i].there - best.at);
        best.error = length / 2 + 1;
    }
    return best;
}

/* What a reading of the other clock is on rank 0's: on the line through two fits, or off by the one there is. */
static uint64_t irisi_clock_shift(const irisi_clock_fit fits[2], uint64_t there)
{
    const int64_t gone = (int64_t)(there - (uint64_t)fits[0].ahead - fits[0].at);
    const int64_t span = (int64_t)(fits[1].at - fits[0].at), drift = fits[1].ahead - fits[0].ahead;
    const int64_t more = span > 0 ? (int64_t)((double)drift * ((double)gone / (double)span)) : 0;
    return there - (uint64_t)(fits[0].ahead + more);
}

/* What one rank's trace holds, on the host. */
typedef struct irisi_trace_rank {
    iris_trace_event *events;
    size_t n;
    uint64_t lost; /* that rings had no room for any more */
    irisi_clock_fit fits[2];
} irisi_trace_rank;

/* How far a rank's times may be off on rank 0's clock; ticks. */
static uint64_t irisi_trace_error(const irisi_trace_rank *rank)
{
    return rank->fits[0].error > rank->fits[1].error ? rank->fits[0].error : rank->fits[1].error;
}

typedef struct irisi_trace_range {
    char name[IRIS_TRACE_NAME_BYTES];
    int span;
} irisi_trace_range;

typedef struct irisi_trace_log {
    int first, ranks;            /* the number of the first rank; how many there are */
    irisi_trace_rank *of;        /* each rank's */
    double ticks_us;             /* ticks of iris_clock in a microsecond */
    uint32_t chiplet_shift;      /* a compute unit's number without its chiplet's: so many bits; 0: no chiplets */
    const char *device;          /* what the ranks run on */
    const irisi_trace_range *ranges;
} irisi_trace_log;

/* Written already, and ends after it began, as a range does that was given what iris_trace_begin returned. */
static inline int irisi_trace_sound(const iris_trace_event *e) { return e->begin != 0 && e->end >= e->begin; }

/* Copies what a ring holds of its events, the oldest first; how many those are. Adds the others to *lost. */
static inline size_t irisi_trace_keep(iris_trace_event *to, const iris_trace_event *ring, uint64_t count,
                                      uint32_t capacity, uint64_t *lost)
{
    size_t n = 0;
    const uint64_t first = count > capacity ? count - capacity : 0;
    for (uint64_t i = first; i < count; i++)
        if (ring[i & (capacity - 1)].number == i && irisi_trace_sound(ring + (i & (capacity - 1))))
            to[n++] = ring[i & (capacity - 1)];
    *lost += count - n;
    return n;
}

static const char *const irisi_trace_names[IRIS_TRACE_KINDS] = {
    "load", "store", "get", "put", "copy", "atomic_fetch", "atomic_set", "atomic_add", "atomic_sub", "atomic_cas",
    "atomic_xchg", "atomic_xor", "atomic_or", "atomic_and", "atomic_min", "atomic_max", "signal", "wait", "barrier",
    "collective", "gemm_compute", "gemm_stage", "gemm_send", "gemm_reduce", "range"};

/* 1: bytes between this rank and others are under way while it lasts. */
static int irisi_trace_moves(const iris_trace_event *e, int rank)
{
    return (e->kind <= IRIS_TRACE_COPY && e->peer != rank) || e->kind == IRIS_TRACE_GEMM_SEND;
}

static int irisi_trace_order(const void *left, const void *right)
{
    const iris_trace_event *a = (const iris_trace_event *)left, *b = (const iris_trace_event *)right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1; /* the outer one first */
    return (a->number > b->number) - (a->number < b->number);
}

/*
 * Who writes one row of the picture: a wave, on a compute unit, for as long as it has events there. Lanes of a wave
 * that part may begin one event in another and end it later; readers drop such events, so they get another row.
 */
typedef struct irisi_trace_row {
    uint32_t unit, workgroup, wave;
    uint32_t strand; /* events of one strand of a wave lie in each other or apart */
    uint32_t place;  /* which row of its compute unit it is on */
    uint64_t begin, end;
    uint64_t inner; /* before rows are made: the latest end of what lies in the event; its begin: nothing does */
    size_t event;   /* which event it is, in the order of irisi_trace_order */
} irisi_trace_row;

static int irisi_trace_wave_order(const irisi_trace_row *a, const irisi_trace_row *b)
{
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    if (a->workgroup != b->workgroup)
        return a->workgroup < b->workgroup ? -1 : 1;
    return (a->wave > b->wave) - (a->wave < b->wave);
}

static int irisi_trace_row_order(const void *left, const void *right)
{
    const irisi_trace_row *a = (const irisi_trace_row *)left, *b = (const irisi_trace_row *)right;
    const int order = irisi_trace_wave_order(a, b);
    if (order != 0 || a->strand != b->strand)
        return order != 0 ? order : a->strand < b->strand ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

static int irisi_trace_row_begins(const void *left, const void *right)
{
    const irisi_trace_row *a = *(irisi_trace_row *const *)left, *b = *(irisi_trace_row *const *)right;
    if (a->unit != b->unit)
        return a->unit < b->unit ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return irisi_trace_row_order(a, b);
}

/*
 * Gives the events of one wave, which are sorted, their strands: what begins in an event of a strand and ends after it
 * goes on to the next strand. `open`: room for as many places of events as there are.
 */
static void irisi_trace_strands(irisi_trace_row *events, size_t n, uint64_t *open)
{
    size_t moved = n;
    for (uint32_t strand = 0; moved > 0; strand++) {
        size_t depth = 0;
        moved = 0;
        for (size_t i = 0; i < n; i++) {
            if (events[i].strand != strand)
                continue;
            while (depth > 0 && events[open[depth - 1]].end <= events[i].begin)
                depth--;
            irisi_trace_row *outer = depth > 0 ? events + open[depth - 1] : NULL;
            if (outer && events[i].end > outer->end) {
                events[i].strand++, moved++;
                continue;
            }
            if (outer && events[i].end > outer->inner)
                outer->inner = events[i].end;
            open[depth++] = i;
        }
    }
}

/* Where an event is: its row, and the latest end of what lies in it. */
typedef struct irisi_trace_spot {
    uint64_t inner;
    size_t row;
} irisi_trace_spot;

/* Merges sorted events of one strand each into rows, in place: how many rows there are. */
static size_t irisi_trace_merge(irisi_trace_row *rows, size_t events, irisi_trace_spot *spots)
{
    size_t n = 0;
    for (size_t i = 0; i < events; i++) {
        irisi_trace_row *last = n ? rows + n - 1 : NULL;
        irisi_trace_spot *spot = spots + rows[i].event;
        spot->inner = rows[i].inner;
        if (!last || irisi_trace_wave_order(last, rows + i) != 0 || last->strand != rows[i].strand) {
            rows[n++] = rows[i];
        } else {
            last->begin = rows[i].begin < last->begin ? rows[i].begin : last->begin;
            last->end = rows[i].end > last->end ? rows[i].end : last->end;
        }
        spot->row = n - 1;
    }
    return n;
}

/* The rows of one rank. */
typedef struct irisi_trace_rows {
    irisi_trace_row *row; /* in order; null without memory */
    size_t n;
    uint32_t most;           /* rows of the fullest compute unit */
    irisi_trace_spot *spots; /* of each event */
} irisi_trace_rows;

/* Each strand of a wave gets the first row of its compute unit that is free all the time it has events. */
static void irisi_trace_place(irisi_trace_rows *r, irisi_trace_row **by, uint64_t *ends)
{
    uint32_t used = 0;
    r->most = 1;
    for (size_t i = 0; i < r->n; i++)
        by[i] = r->row + i;
    qsort(by, r->n, sizeof *by, irisi_trace_row_begins);
    for (size_t i = 0; i < r->n; i++) {
        if (i == 0 || by[i]->unit != by[i - 1]->unit)
            used = 0;
        uint32_t place = 0;
        while (place < used && ends[place] > by[i]->begin)
            place++;
        used = place == used ? used + 1 : used;
        by[i]->place = place, ends[place] = by[i]->end;
        r->most = used > r->most ? used : r->most;
    }
}

/* The rows of a rank, whose events are sorted: 1, or 0 without memory. */
static int irisi_trace_rows_of(const irisi_trace_rank *rank, irisi_trace_rows *r)
{
    irisi_trace_row *rows = (irisi_trace_row *)malloc((rank->n + 1) * sizeof *rows);
    irisi_trace_row **by = (irisi_trace_row **)malloc((rank->n + 1) * sizeof *by);
    uint64_t *ends = (uint64_t *)malloc((rank->n + 1) * sizeof *ends);
    r->row = rows, r->spots = (irisi_trace_spot *)malloc((rank->n + 1) * sizeof *r->spots);
    const int done = rows && by && ends && r->spots;
    if (done) {
        for (size_t i = 0; i < rank->n; i++) {
            const iris_trace_event *e = rank->events + i;
            const irisi_trace_row row = {e->unit, e->workgroup, e->wave, 0, 0, e->begin, e->end, e->begin, i};
            rows[i] = row;
        }
        qsort(rows, rank->n, sizeof *rows, irisi_trace_row_order);
        for (size_t i = 0, next = 0; i < rank->n; i = next) {
            while (next < rank->n && irisi_trace_wave_order(rows + i, rows + next) == 0)
                next++;
            irisi_trace_strands(rows + i, next - i, ends);
        }
        qsort(rows, rank->n, sizeof *rows, irisi_trace_row_order);
        r->n = irisi_trace_merge(rows, rank->n, r->spots);
        irisi_trace_place(r, by, ends);
    }
    free(by), free(ends);
    return done;
}

/* The file, and what all that is written into it needs. */
typedef struct irisi_trace_out {
    FILE *f;
    const irisi_trace_log *log;
    irisi_trace_rows *rows; /* of each rank */
    uint64_t zero;          /* a tick before the earliest begin, on rank 0's clock */
    uint64_t flows;
    uint32_t threads; /* numbers of threads begin here */
} irisi_trace_out;

/* Microseconds, of whole nanoseconds: so what lies in another event does so in the file. */
static double irisi_trace_us(const irisi_trace_out *o, int rank, uint64_t clock)
{
    const uint64_t at = irisi_clock_shift(o->log->of[rank].fits, clock);
    return (double)(uint64_t)((double)(at - o->zero) * 1000 / o->log->ticks_us + 0.5) / 1000;
}

/* As it is printed: readers cut it to nanoseconds, and as a double 12.345 may be less than that. */
static irisi_decimal irisi_trace_printed(double us) { return irisi_decimal_of(us + 0.0002, 4); }

/* A time on its own, which no other is compared with. */
static irisi_decimal irisi_trace_ticks(const irisi_trace_log *log, double ticks)
{
    return irisi_decimal_of(ticks / log->ticks_us, 3);
}

/*
 * A row's number as a thread. Perfetto takes thread 0, and one with its process's number, for the main thread of that
 * process, which would make one row out of two: so numbers are greater than those of all ranks.
 */
static uint32_t irisi_trace_thread(const irisi_trace_out *o, int rank, const irisi_trace_row *row)
{
    return o->threads + row->unit * o->rows[rank].most + row->place;
}

/* Of a rank's event with this number. */
static uint32_t irisi_trace_thread_of(const irisi_trace_out *o, int rank, size_t event)
{
    const irisi_trace_rows *rows = o->rows + rank;
    return irisi_trace_thread(o, rank, rows->row + rows->spots[event].row);
}

/*
 * Perfetto shows a process's name and then its number, and makes a long name short in its middle. It sorts processes of
 * as many blocks by their first event: so that of each rank is here, before those of all others.
 */
static void irisi_trace_print_process(const irisi_trace_out *o, int rank)
{
    const irisi_trace_rank *of = o->log->of + rank;
    const int pid = o->log->first + rank;
    fprintf(o->f, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"", pid);
    if (of->lost)
        fprintf(o->f, "%llu events lost, ", (unsigned long long)of->lost);
    fprintf(o->f,
            "rank\"}},\n"
            "{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%d,\"args\":{\"labels\":\"clock within %s us\"}},\n"
            "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}},\n"
            "{\"ph\":\"C\",\"name\":\"in-flight\",\"pid\":%d,\"ts\":0.0,\"args\":{\"bytes\":0}},\n",
            pid, irisi_trace_ticks(o->log, (double)irisi_trace_error(of)).text, pid, pid, pid);
}

/* The names of rows: of threads, which Perfetto too shows before their number. */
static void irisi_trace_print_rows(const irisi_trace_out *o, int rank)
{
    const irisi_trace_row *rows = o->rows[rank].row;
    const uint32_t shift = o->log->chiplet_shift;
    const int pid = o->log->first + rank;
    for (size_t i = 0; i < o->rows[rank].n; i++) {
        const uint32_t unit = rows[i].unit, thread = irisi_trace_thread(o, rank, rows + i);
        int told = 0;
        for (size_t j = i; j-- > 0 && rows[j].unit == unit && !told;)
            told = rows[j].place == rows[i].place;
        if (told)
            continue;
        fprintf(o->f, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"", pid,
                thread);
        if (shift)
            fprintf(o->f, "chiplet %u, ", unit >> shift);
        fprintf(o->f,
                "unit %u, row\"}},\n"
                "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%d,\"tid\":%u,\"args\":{\"sort_index\":%u}},\n",
                shift ? unit & ((1u << shift) - 1) : unit, pid, thread, thread);
    }
}

static void irisi_trace_print_name(const irisi_trace_out *o, const iris_trace_event *e)
{
    const char *schedule = "";
    if (e->kind == IRIS_TRACE_RANGE && e->id < IRIS_TRACE_NAMES && o->log->ranges[e->id].name[0]) {
        irisi_json_text(o->f, o->log->ranges[e->id].name);
    } else if (e->kind == IRIS_TRACE_RANGE) {
        fprintf(o->f, "\"range %u\"", e->id);
    } else if (e->kind == IRIS_TRACE_COLLECTIVE) {
        const char *name = irisi_collective_label(e->id, &schedule);
        fprintf(o->f, "\"%s%s%s\"", name, *schedule ? " " : "", schedule);
    } else {
        fprintf(o->f, "\"%s\"", irisi_trace_names[e->kind]);
    }
}

static void irisi_trace_print_event(const irisi_trace_out *o, int rank, const iris_trace_event *e, uint32_t thread)
{
    const double begin = irisi_trace_us(o, rank, e->begin), end = irisi_trace_us(o, rank, e->end);
    fprintf(o->f, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", irisi_trace_names[e->kind]);
    irisi_trace_print_name(o, e);
    fprintf(o->f, ",\"pid\":%d,\"tid\":%u,\"ts\":%s,\"dur\":%s,\"args\":{\"workgroup\":%u,\"wave\":%u",
            o->log->first + rank, thread, irisi_trace_printed(begin).text,
            irisi_trace_printed(end > begin ? end - begin : 0).text, e->workgroup, e->wave);
    if (e->peer != o->log->first + rank)
        fprintf(o->f, ",\"peer\":%d", e->peer);
    const int windowed = e->kind <= IRIS_TRACE_ATOMIC_MAX && e->id != 0;
    if (windowed)
        fprintf(o->f, ",\"window\":%u", e->id);
    if (e->offset != UINT64_MAX)
        fprintf(o->f, ",\"%s_offset\":\"0x%llx\"", windowed ? "window" : "heap", (unsigned long long)e->offset);
    if (e->kind == IRIS_TRACE_SIGNAL || e->kind == IRIS_TRACE_WAIT || e->kind == IRIS_TRACE_BARRIER)
        fprintf(o->f, ",\"value\":%llu", (unsigned long long)e->amount);
    else if (e->kind >= IRIS_TRACE_GEMM_COMPUTE && e->kind <= IRIS_TRACE_GEMM_SEND)
        fprintf(o->f, ",\"tile\":%u", e->id);
    if (e->kind <= IRIS_TRACE_ATOMIC_MAX || e->kind == IRIS_TRACE_COLLECTIVE || e->kind == IRIS_TRACE_GEMM_SEND)
        fprintf(o->f, ",\"bytes\":%llu", (unsigned long long)e->amount);
    fprintf(o->f, "}},\n");
}

/* Bytes that a rank has under way: up where an operation begins, down where it ends. Perfetto shows the name and then
   that of the series: "in-flight bytes". */
typedef struct irisi_trace_step {
    double us;
    int64_t bytes;
} irisi_trace_step;

static int irisi_trace_step_order(const void *left, const void *right)
{
    const irisi_trace_step *a = (const irisi_trace_step *)left, *b = (const irisi_trace_step *)right;
    if (a->us < b->us || a->us > b->us)
        return a->us < b->us ? -1 : 1;
    return (a->bytes < b->bytes) - (a->bytes > b->bytes); /* never below 0 */
}

static int irisi_trace_print_flight(const irisi_trace_out *o, int rank)
{
    const irisi_trace_rank *of = o->log->of + rank;
    irisi_trace_step *steps = (irisi_trace_step *)malloc((2 * of->n + 1) * sizeof *steps);
    size_t n = 0;
    int64_t now = 0;
    if (!steps)
        return 0;
    for (size_t i = 0; i < of->n; i++) {
        const iris_trace_event *e = of->events + i;
        if (!irisi_trace_moves(e, o->log->first + rank))
            continue;
        const irisi_trace_step up = {irisi_trace_us(o, rank, e->begin), (int64_t)e->amount},
                               down = {irisi_trace_us(o, rank, e->end), -(int64_t)e->amount};
        steps[n++] = up, steps[n++] = down;
    }
    qsort(steps, n, sizeof *steps, irisi_trace_step_order);
    for (size_t i = 0; i < n; i++) {
        now += steps[i].bytes;
        if (i + 1 == n || steps[i + 1].us > steps[i].us)
            fprintf(o->f,
                    "{\"ph\":\"C\",\"name\":\"in-flight\",\"pid\":%d,\"ts\":%s,\"args\":{\"bytes\":%lld}},\n",
                    o->log->first + rank, irisi_trace_printed(steps[i].us).text, (long long)now);
    }
    free(steps);
    return 1;
}

/* A raised signal, with its time on rank 0's clock. */
typedef struct irisi_trace_raise {
    const iris_trace_event *event;
    uint64_t at;
    uint32_t thread;
    int rank;
} irisi_trace_raise;

static int irisi_trace_raise_order(const void *left, const void *right)
{
    const irisi_trace_raise *a = (const irisi_trace_raise *)left, *b = (const irisi_trace_raise *)right;
    if (a->event->peer != b->event->peer)
        return a->event->peer < b->event->peer ? -1 : 1;
    if (a->event->offset != b->event->offset)
        return a->event->offset < b->event->offset ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* 1: a raise stands behind those of the signal at `offset` on `rank` up to a time of rank 0's clock. */
static int irisi_trace_raise_after(const irisi_trace_raise *raise, int rank, uint64_t offset, uint64_t at)
{
    const iris_trace_event *e = raise->event;
    if (e->peer != rank)
        return e->peer > rank;
    return e->offset != offset ? e->offset > offset : raise->at > at;
}

/*
 * The raise that ended a wait: of those of its signal that began before the wait was over, as far as the clocks can
 * tell, the last one that added, or set the value seen; else the last one. Null: it is not in the trace.
 */
static const irisi_trace_raise *irisi_trace_raised_by(const irisi_trace_raise *raises, size_t n, int rank,
                                                      const iris_trace_event *wait, uint64_t end, uint64_t error)
{
    const irisi_trace_raise *last = NULL;
    size_t low = 0, high = n;
    while (low < high) { /* the first raise that is too late, or of a signal behind this one */
        const size_t mid = low + (high - low) / 2;
        if (irisi_trace_raise_after(raises + mid, rank, wait->offset, end + error))
            high = mid;
        else
            low = mid + 1;
    }
    while (low-- > 0) {
        const iris_trace_event *e = raises[low].event;
        if (e->peer != rank || e->offset != wait->offset)
            break;
        if (e->id != IRIS_SIGNAL_SET || e->amount == wait->amount)
            return raises + low;
        last = last ? last : raises + low;
    }
    return last;
}

/*
 * An arrow from a raise to the wait that it ended. Perfetto draws it from the end of one block to the beginning of the
 * other; a wait begins long before its raise, so the arrow goes to a block of its own in it, `raised`: from the raise
 * to the end of the wait, but after what other lanes did in it, and of a nanosecond at least, where the wait has one.
 */
static void irisi_trace_print_arrow(irisi_trace_out *o, const irisi_trace_raise *raise, int rank, size_t event)
{
    const iris_trace_event *wait = o->log->of[rank].events + event;
    const uint32_t thread = irisi_trace_thread_of(o, rank, event);
    const double from = irisi_trace_us(o, raise->rank, raise->event->begin);
    const double raised = irisi_trace_us(o, raise->rank, raise->event->end);
    const double begin = irisi_trace_us(o, rank, wait->begin), end = irisi_trace_us(o, rank, wait->end);
    const double last = end - 0.001 > begin ? end - 0.001 : begin; /* an arrow ends in what has not ended yet */
    const double inner = irisi_trace_us(o, rank, o->rows[rank].spots[event].inner); /* not before `begin` */
    const double free_at = raised > inner ? raised : inner, known = free_at < last ? free_at : last;
    const uint64_t within = irisi_trace_error(o->log->of + raise->rank) + irisi_trace_error(o->log->of + rank);
    const unsigned long long id = (unsigned long long)++o->flows;
    const int pid = o->log->first + rank, peer = o->log->first + raise->rank;
    fprintf(o->f,
            "{\"ph\":\"X\",\"cat\":\"raised\",\"name\":\"raised\",\"pid\":%d,\"tid\":%u,\"ts\":%s,\"dur\":%s,"
            "\"args\":{\"peer\":%d,\"clocks_within_us\":%s}},\n"
            "{\"ph\":\"s\",\"cat\":\"signal\",\"name\":\"signal\",\"id\":%llu,\"pid\":%d,\"tid\":%u,\"ts\":%s},\n"
            "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"signal\",\"name\":\"signal\",\"id\":%llu,\"pid\":%d,\"tid\":%u,"
            "\"ts\":%s},\n",
            pid, thread, irisi_trace_printed(known).text, irisi_trace_printed(end - known).text, peer,
            irisi_trace_ticks(o->log, (double)within).text, id, peer, raise->thread, irisi_trace_printed(from).text, id,
            pid, thread, irisi_trace_printed(last > from ? last : from).text);
}

static int irisi_trace_print_arrows(irisi_trace_out *o)
{
    const irisi_trace_log *log = o->log;
    size_t n = 0, all = 1;
    uint64_t error = 0;
    for (int r = 0; r < log->ranks; r++) {
        all += log->of[r].n;
        error = irisi_trace_error(log->of + r) > error ? irisi_trace_error(log->of + r) : error;
    }
    irisi_trace_raise *raises = (irisi_trace_raise *)malloc(all * sizeof *raises);
    if (!raises)
        return 0;
    for (int r = 0; r < log->ranks; r++)
        for (size_t i = 0; i < log->of[r].n; i++) {
            const iris_trace_event *e = log->of[r].events + i;
            const irisi_trace_raise raise = {e, irisi_clock_shift(log->of[r].fits, e->begin),
                                             irisi_trace_thread_of(o, r, i), r};
            if (e->kind == IRIS_TRACE_SIGNAL)
                raises[n++] = raise;
        }
    qsort(raises, n, sizeof *raises, irisi_trace_raise_order);
    for (int r = 0; r < log->ranks; r++)
        for (size_t i = 0; i < log->of[r].n; i++) {
            const iris_trace_event *e = log->of[r].events + i;
            const irisi_trace_raise *raise = NULL;
            if (e->kind == IRIS_TRACE_WAIT)
                raise = irisi_trace_raised_by(raises, n, log->first + r, e, irisi_clock_shift(log->of[r].fits, e->end),
                                              2 * error);
            if (raise)
                irisi_trace_print_arrow(o, raise, r, i);
        }
    free(raises);
    return 1;
}

static int irisi_trace_print_rank(irisi_trace_out *o, int rank)
{
    irisi_trace_rank *of = o->log->of + rank;
    qsort(of->events, of->n, sizeof *of->events, irisi_trace_order);
    if (!irisi_trace_rows_of(of, o->rows + rank))
        return 0;
    irisi_trace_print_rows(o, rank);
    for (size_t i = 0; i < of->n; i++)
        irisi_trace_print_event(o, rank, of->events + i, irisi_trace_thread_of(o, rank, i));
    return irisi_trace_print_flight(o, rank);
}

/* Writes the file: 1, or 0 without memory. Sorts the events. The caller looks whether the file took it. */
static inline int irisi_trace_print(FILE *f, const irisi_trace_log *log)
{
    irisi_trace_out o = {f, log, (irisi_trace_rows *)calloc((size_t)log->ranks, sizeof *o.rows), UINT64_MAX, 0, 100};
    int done = o.rows != NULL;
    while (o.threads < (uint32_t)(log->first + log->ranks))
        o.threads *= 10;
    for (int r = 0; r < log->ranks; r++)
        for (size_t i = 0; i < log->of[r].n; i++) {
            const uint64_t at = irisi_clock_shift(log->of[r].fits, log->of[r].events[i].begin);
            o.zero = at - 1 < o.zero ? at - 1 : o.zero;
        }
    fprintf(f, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"device\":");
    irisi_json_text(f, log->device);
    fprintf(f, ",\"clocks\":[");
    for (int r = 0; r < log->ranks; r++)
        fprintf(f, "%s{\"rank\":%d,\"ahead_us\":%s,\"within_us\":%s,\"events\":%llu,\"lost\":%llu}", r ? "," : "",
                log->first + r, irisi_trace_ticks(log, (double)log->of[r].fits[0].ahead).text,
                irisi_trace_ticks(log, (double)irisi_trace_error(log->of + r)).text, (unsigned long long)log->of[r].n,
                (unsigned long long)log->of[r].lost);
    fprintf(f, "]},\"traceEvents\":[\n");
    for (int r = 0; r < log->ranks; r++)
        irisi_trace_print_process(&o, r);
    for (int r = 0; done && r < log->ranks; r++)
        done = irisi_trace_print_rank(&o, r);
    done = done && irisi_trace_print_arrows(&o);
    fprintf(f, "{\"ph\":\"M\",\"name\":\"trace\",\"pid\":%d,\"args\":{}}\n]}\n", log->first); /* after the last comma */
    for (int r = 0; o.rows && r < log->ranks; r++)
        free(o.rows[r].row), free(o.rows[r].spots);
    free(o.rows);
    return done;
}

#endif
#endif
