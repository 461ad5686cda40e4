/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what every benchmark needs: options, times, a JSON file.
 *
 *   bench_options bench_parse bench bench_open bench_close bench_row bench_put bench_late
 *   bench_submit bench_time bench_kernel bench_submit_kernel bench_all_ok
 *
 * A time is the median over repetitions of the maximum over ranks, from events on the stream, after warm-up. Before
 * each repetition the ranks meet on their devices, and stay there until the hosts have submitted the work, so that all
 * begin within about a microsecond and no launch is timed that a host was late with. A row is written only with the
 * outcome of its check. One schema for all benchmarks (bench/README.md).
 */
#ifndef IRIS_BENCH_H
#define IRIS_BENCH_H

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <iris/iris.h>
#include <iris/init.h>

#include <iris/collective/ll.h>

enum { BENCH_RANKS = 8, BENCH_REPEATS = 256, BENCH_HOLD_US = 60 };

typedef struct bench_options {
    int ranks, repeats, warmup;
    int laps;    /* of what goes back and forth inside one kernel, or is called in one graph */
    int seconds; /* no new row is begun after so many */
    size_t min_bytes, max_bytes;
    size_t piece;        /* bytes that a workgroup puts or gets at a time, 0 for one part of the whole */
    const char *only;    /* a case's name, or null for all */
    const char *dtype;   /* an element type, or null for those of the table */
    const char *variant; /* a schedule, peer or other variant of bench/collectives, or null for all */
    const char *json;    /* file, or null */
    const char *commit;  /* of the tree that was measured */
    const char *nccl;    /* its version, or null */
    int takes_words;     /* 1: words may stand behind the options; the number of them and the first */
    int words;
    char **word;
} bench_options;

/* One run of a benchmark, as one rank has it. */
typedef struct bench {
    iris_world *w;
    const bench_options *o;
    iris_channel meet; /* of the meeting before each repetition */
    FILE *file;        /* rank 0's, or null */
    int rows, failed, cut;
    double began;
} bench;

/* One line of a result; unused numbers are negative (times and bandwidths: 0) and left out of the file. */
typedef struct bench_row {
    const char *name, *dtype, *variant;
    size_t bytes;
    int workgroups, lanes;
    double us, gbps; /* gbps: 10^9 bytes that cross links, a second, a rank */
    double algbw;    /* 10^9 bytes of the row, a second; collectives: nccl-tests' algorithm bandwidth */
    double ceiling;  /* gbps (bandwidths) or us (latencies) of the hand-written kernel in the same run */
    int ok;
    const char *op; /* which of several operations the case is of, or null */
} bench_row;

/* Puts one repetition's work on the stream. */
typedef iris_status (*bench_submit)(iris_world *w, void *arg, iris_stream stream, int turn);

/* The commonest: one kernel. */
typedef struct bench_kernel {
    irisi_kernel kernel;
    const char *name;
    const void *args;
    size_t bytes;
    iris_launch_config cfg;
} bench_kernel;

typedef struct bench_meeting {
    iris_ctx ctx;
    iris_channel ch;
    uint64_t hold; /* ticks of the device's clock */
} bench_meeting;

IRIS_KERNEL(bench_meet, bench_meeting, a, 64)
{
    iris_ll_barrier_wg(&a->ctx, &a->ch);
    for (const uint64_t met = iris_clock(); iris_clock() - met < a->hold;)
        iris_pause(1);
}

static inline double bench_clock(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline size_t bench_number(const char *program, const char *text)
{
    char *end = NULL;
    const unsigned long long n = strtoull(text, &end, 0);
    if (end == text || *end || *text == '-') {
        fprintf(stderr, "%s: '%s' is no number; see --help\n", program, text);
        exit(2);
    }
    return (size_t)n;
}

static inline void bench_help(const bench_options *o, const char *what)
{
    printf("%s\n\n"
           "  -n, --ranks N     ranks (default %d)\n"
           "  -o, --only NAME   one case\n"
           "  -t, --dtype NAME  one element type\n"
           "  -v, --variant NAME one variant (collectives: a schedule, nccl, nccl_window)\n"
           "  -m, --min BYTES   smallest message (default %zu)\n"
           "  -M, --max BYTES   largest message (default %zu)\n"
           "  -p, --piece BYTES what a workgroup puts or gets at a time (default %zu; 0: its part of the whole)\n"
           "  -l, --laps N      round trips in one kernel, or calls in one graph (default %d)\n"
           "  -r, --repeats N   repetitions of each, at least 1 (default %d)\n"
           "  -s, --seconds N   begin no row after so many (default %d)\n"
           "  -c, --commit ID   what is measured\n"
           "  -j, --json FILE   write rows to a file\n",
           what, o->ranks, o->min_bytes, o->max_bytes, o->piece, o->laps, o->repeats, o->seconds);
}

/* Fills the options from the command line; what is not asked for keeps its value. Ends the program when it must. */
static inline void bench_parse(bench_options *o, int argc, char **argv, const char *what)
{
    static const struct option names[] = {
        {"ranks", 1, NULL, 'n'},   {"only", 1, NULL, 'o'},   {"dtype", 1, NULL, 't'}, {"min", 1, NULL, 'm'},
        {"max", 1, NULL, 'M'},     {"piece", 1, NULL, 'p'},  {"laps", 1, NULL, 'l'},  {"repeats", 1, NULL, 'r'},
        {"seconds", 1, NULL, 's'}, {"commit", 1, NULL, 'c'}, {"json", 1, NULL, 'j'},  {"help", 0, NULL, 'h'},
        {"variant", 1, NULL, 'v'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "n:o:t:v:m:M:p:l:r:s:c:j:h", names, NULL)) != -1;) {
        switch (c) {
        case 'n': o->ranks = (int)bench_number(argv[0], optarg); break;
        case 'o': o->only = optarg; break;
        case 't': o->dtype = optarg; break;
        case 'v': o->variant = optarg; break;
        case 'm': o->min_bytes = bench_number(argv[0], optarg); break;
        case 'M': o->max_bytes = bench_number(argv[0], optarg); break;
        case 'p': o->piece = bench_number(argv[0], optarg); break;
        case 'l': o->laps = (int)bench_number(argv[0], optarg); break;
        case 'r': o->repeats = (int)bench_number(argv[0], optarg); break;
        case 's': o->seconds = (int)bench_number(argv[0], optarg); break;
        case 'c': o->commit = optarg; break;
        case 'j': o->json = optarg; break;
        default: bench_help(o, what); exit(c == 'h' ? 0 : 2);
        }
    }
    if (o->ranks < 1 || o->ranks > BENCH_RANKS || o->repeats < 1 || o->repeats > BENCH_REPEATS || o->laps < 1 ||
        o->min_bytes < 4 || o->min_bytes > o->max_bytes || (!o->takes_words && optind != argc)) {
        fprintf(stderr,
                "%s: 1 to %d ranks, 1 to %d repetitions, at least 1 lap, messages of at least 4 bytes, --min at most "
                "--max; see --help\n",
                argv[0], BENCH_RANKS, BENCH_REPEATS);
        exit(2);
    }
    o->words = argc - optind, o->word = argv + optind;
}

/* Collective: makes the channel of the meetings and, on rank 0, the file. An iris_barrier must follow. */
static inline int bench_open(bench *b, iris_world *w, const bench_options *o, const char *benchmark)
{
    memset(b, 0, sizeof *b);
    b->w = w;
    b->o = o;
    b->began = bench_clock();
    IRIS_TRY(iris_channel_create(w, &b->meet, 0, 8 * (size_t)iris_world_size(w)));
    if (iris_rank(w) != 0)
        return 0;
    printf("%-16s %-5s %-10s %11s %5s %5s %11s %9s %9s %6s %s\n", "case", "dtype", "variant", "bytes", "wgs", "lanes",
           "us", "GB/s", "ceiling", "ratio", "ok");
    if (!o->json)
        return 0;
    b->file = fopen(o->json, "w");
    if (!b->file) {
        fprintf(stderr, "cannot write %s\n", o->json);
        return 1;
    }
    fprintf(b->file,
            "{\n  \"schema\": \"iris-bench-1\",\n  \"benchmark\": \"%s\",\n  \"device\": \"%s\",\n  \"arch\": \"%s\",\n"
            "  \"compute_units\": %d,\n  \"commit\": \"%s\",\n  \"world\": %d,\n  \"repeats\": %d,\n",
            benchmark, iris_device_name(w), iris_arch_name(w), iris_compute_units(w), o->commit ? o->commit : "unknown",
            iris_world_size(w), o->repeats);
    if (o->nccl)
        fprintf(b->file, "  \"nccl\": \"%s\",\n", o->nccl);
    fprintf(b->file, "  \"rows\": [");
    return 0;
}

/* The end of the file, as it stands after each row, so that a run that is killed leaves a whole file too. */
static inline void bench_end(bench *b, const char *complete)
{
    const long here = ftell(b->file);
    fprintf(b->file, "\n  ],\n  \"complete\": %s,\n  \"seconds\": %.1f\n}\n", complete, bench_clock() - b->began);
    fflush(b->file);
    fseek(b->file, here, SEEK_SET);
}

/* Bandwidths are better when high, latencies (no gbps) when low; the ratio is above 1 when ours is better. */
static inline void bench_put(bench *b, const bench_row *r)
{
    const double ratio = r->ceiling <= 0 || r->us <= 0 ? 0 : r->gbps > 0 ? r->gbps / r->ceiling : r->ceiling / r->us;
    b->failed += !r->ok;
    if (iris_rank(b->w) != 0)
        return;
    if (r->op)
        printf("%-14s ", r->op);
    printf("%-16s %-5s %-10s %11zu %5d %5d %11.3f %9.2f %9.2f %6.3f %s\n", r->name, r->dtype, r->variant, r->bytes,
           r->workgroups, r->lanes, r->us, r->gbps, r->ceiling > 0 ? r->ceiling : 0, ratio, r->ok ? "ok" : "WRONG");
    fflush(stdout);
    if (!b->file)
        return;
    fprintf(b->file,
            "%s\n    {\"case\": \"%s\", \"dtype\": \"%s\", \"variant\": \"%s\", \"bytes\": %zu, \"workgroups\": %d, "
            "\"lanes\": %d, \"us\": %.4f",
            b->rows++ ? "," : "", r->name, r->dtype, r->variant, r->bytes, r->workgroups, r->lanes, r->us);
    if (r->op)
        fprintf(b->file, ", \"op\": \"%s\"", r->op);
    if (r->gbps > 0)
        fprintf(b->file, ", \"gbps\": %.3f", r->gbps);
    if (r->algbw > 0)
        fprintf(b->file, ", \"algbw\": %.3f", r->algbw);
    if (r->ceiling > 0)
        fprintf(b->file, ", \"ceiling\": %.4f, \"ratio\": %.4f", r->ceiling, ratio);
    fprintf(b->file, ", \"ok\": %s}", r->ok ? "true" : "false");
    bench_end(b, "false");
}

/* Closes the file; 1 when a row's check failed. */
static inline int bench_close(bench *b)
{
    if (b->cut && iris_rank(b->w) == 0)
        printf("stopped after %d s: rows are missing\n", b->o->seconds);
    if (b->file) {
        bench_end(b, b->cut ? "false" : "true");
        fclose(b->file);
    }
    return b->failed != 0;
}

/* Collective: 1 on every rank when it is 1 on each. */
static inline int bench_all_ok(bench *b, int ok)
{
    int all[BENCH_RANKS];
    if (iris_allgather(b->w, &ok, all, sizeof ok) != IRIS_OK)
        return 0;
    for (int r = 0; r < iris_world_size(b->w); r++)
        ok &= all[r];
    return ok;
}

/* Collective: 1 once the time is up. */
static inline int bench_late(bench *b)
{
    if (!b->cut && !bench_all_ok(b, bench_clock() - b->began < b->o->seconds))
        b->cut = 1;
    return b->cut;
}

static inline int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* One repetition: the ranks meet on their devices, then the work, between two events. */
static inline iris_status bench_once(bench *b, bench_submit submit, void *arg, int turn, iris_event begin,
                                     iris_event end, double *us)
{
    iris_stream stream = iris_default_stream(b->w);
    iris_launch_config one = iris_cooperative(1, 64);
    bench_meeting m;
    float ms = 0;
    m.ctx = iris_device_ctx(b->w);
    m.ch = b->meet;
    m.hold = BENCH_HOLD_US * (strncmp(iris_arch_name(b->w), "gfx", 3) == 0 ? 100u : 1000u); /* ticks a microsecond */
    iris_status status = iris_launch(b->w, bench_meet, &m, sizeof m, &one, stream);
    if (status == IRIS_OK)
        status = iris_event_record(b->w, begin, stream);
    if (status == IRIS_OK)
        status = submit(b->w, arg, stream, turn);
    if (status == IRIS_OK)
        status = iris_event_record(b->w, end, stream);
    if (status == IRIS_OK)
        status = iris_event_elapsed_ms(b->w, &ms, begin, end);
    if (status == IRIS_OK)
        status = iris_stream_synchronize(b->w, stream);
    *us = 1e3 * ms;
    return status;
}

/*
 * Collective: microseconds of what `submit` submits, the median over repetitions of the maximum over ranks. Turns are
 * counted from 0, warm-up included. Negative on every rank, with the sentence on stderr, when one rank failed.
 */
static inline double bench_time(bench *b, const char *name, bench_submit submit, void *arg)
{
    double times[BENCH_REPEATS], us = 0;
    iris_event begin = NULL, end = NULL;
    iris_status status = iris_event_create(b->w, &begin);
    if (status == IRIS_OK)
        status = iris_event_create(b->w, &end);
    for (int turn = 0; turn < b->o->warmup + b->o->repeats && status == IRIS_OK; turn++) {
        status = bench_once(b, submit, arg, turn, begin, end, &us);
        if (turn >= b->o->warmup)
            times[turn - b->o->warmup] = us;
    }
    if (status != IRIS_OK)
        fprintf(stderr, "%s: %s\n", name, iris_error_string(b->w));
    iris_event_destroy(b->w, begin);
    iris_event_destroy(b->w, end);
    if (!bench_all_ok(b, status == IRIS_OK))
        return -1;
    const size_t repeats = (size_t)b->o->repeats;
    double *seen = (double *)malloc(BENCH_RANKS * sizeof times);
    status = seen ? iris_allgather(b->w, times, seen, repeats * sizeof *times) : IRIS_ERR_SYSTEM;
    for (size_t i = 0; i < repeats; i++)
        for (int r = 0; r < iris_world_size(b->w); r++)
            times[i] = seen && seen[(size_t)r * repeats + i] > times[i] ? seen[(size_t)r * repeats + i] : times[i];
    free(seen);
    qsort(times, repeats, sizeof *times, bench_compare);
    return status == IRIS_OK ? times[repeats / 2] : -1;
}

static inline iris_status bench_submit_kernel(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const bench_kernel *k = (const bench_kernel *)arg;
    (void)turn;
    return irisi_launch(w, k->kernel, k->name, k->args, k->bytes, &k->cfg, stream);
}

#endif
