/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what the benchmarks here share beyond <iris/bench.h>, on which they stand: the options of message sizes and
 * kernels, and rows that are not points of axes.
 *
 *   bench_options bench_parse bench bench_open bench_time bench_time_calls bench_kernel bench_submit_kernel
 *
 * Times are iris_bench's, rows and files iris_bench_put's, options iris_bench_parse's. A row is written only with the
 * outcome of its check. One schema for all benchmarks (bench/README.md).
 */
#ifndef IRIS_BENCH_BENCH_H
#define IRIS_BENCH_BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/bench.h>

enum { BENCH_RANKS = 8 };

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
    const char *csv;     /* file, or null */
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
    iris_bench_about about;
    iris_bench_file file;
} bench;

/* The commonest work: one kernel. */
typedef struct bench_kernel {
    irisi_kernel kernel;
    const char *name;
    const void *args;
    size_t bytes;
    iris_launch_config cfg;
} bench_kernel;

/* Fills the options from the command line; what is not asked for keeps its value. Ends the program when it must. */
static inline void bench_parse(bench_options *o, int argc, char **argv, const char *what)
{
    static iris_bench_suite s;
    iris_bench_suite_init(&s, "", what);
    s.ranks = o->ranks, s.time.repeats = o->repeats, s.about.seconds = o->seconds, s.takes_words = o->takes_words;
    iris_bench_option_text(&s, 'o', "only", &o->only, "one case");
    iris_bench_option_text(&s, 't', "dtype", &o->dtype, "one element type");
    iris_bench_option_text(&s, 'v', "variant", &o->variant, "one variant (collectives: a schedule, nccl, nccl_window)");
    iris_bench_option_size(&s, 'm', "min", &o->min_bytes, "smallest message");
    iris_bench_option_size(&s, 'M', "max", &o->max_bytes, "largest message");
    iris_bench_option_size(&s, 'p', "piece", &o->piece,
                           "what a workgroup puts or gets at a time; 0: its part of the whole");
    iris_bench_option_int(&s, 'l', "laps", &o->laps, "round trips in one kernel, or calls in one graph");
    const int done = iris_bench_parse(&s, argc, argv);
    if (done >= 0)
        exit(done);
    o->ranks = s.ranks, o->repeats = s.time.repeats, o->seconds = s.about.seconds;
    o->json = s.about.json, o->csv = s.about.csv, o->commit = s.about.commit;
    o->words = s.words, o->word = s.word;
    if (o->ranks > BENCH_RANKS || o->laps < 1 || o->min_bytes < 4 || o->min_bytes > o->max_bytes) {
        fprintf(stderr,
                "%s: 1 to %d ranks, at least 1 lap, messages of at least 4 bytes, --min at most --max; see "
                "--help\n",
                argv[0], BENCH_RANKS);
        exit(2);
    }
}

/* Begins the result of a run. The options live as long as the run. */
static inline int bench_open(bench *b, iris_world *w, const bench_options *o, const char *benchmark)
{
    memset(b, 0, sizeof *b);
    b->w = w, b->o = o;
    b->about.benchmark = benchmark, b->about.commit = o->commit, b->about.json = o->json, b->about.csv = o->csv;
    b->about.repeats = o->repeats, b->about.seconds = o->seconds;
    if (o->nccl)
        b->about.facts[0][0] = "nccl", b->about.facts[0][1] = o->nccl;
    return iris_bench_open(&b->file, w, &b->about);
}

/* Microseconds of one of `calls` calls, in a graph or one behind the other; negative on every rank, with a sentence on
 * stderr, when it failed on one. */
static inline double bench_time_calls(bench *b, const char *name, iris_bench_fn submit, void *arg, int graph, int calls)
{
    iris_bench_options how;
    iris_bench_result result;
    memset(&how, 0, sizeof how);
    how.repeats = b->o->repeats, how.warmup = b->o->warmup, how.graph = graph, how.calls = calls;
    iris_bench_doing(&b->file, name);
    if (iris_bench(b->w, NULL, submit, arg, &how, &result) == IRIS_OK)
        return result.median;
    fprintf(stderr, "%s: %s\n", name, iris_error_string(b->w));
    return -1;
}

/* The same of one call. */
static inline double bench_time(bench *b, const char *name, iris_bench_fn submit, void *arg)
{
    return bench_time_calls(b, name, submit, arg, 0, 1);
}

static inline iris_status bench_submit_kernel(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const bench_kernel *k = (const bench_kernel *)arg;
    (void)turn;
    return irisi_launch(w, k->kernel, k->name, k->args, k->bytes, &k->cfg, stream);
}

#endif
