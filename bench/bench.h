/* SPDX-License-Identifier: MIT */
/*
 * bench.h: what every benchmark needs: options, times, a JSON file.
 *
 *   bench_options bench_parse bench_time bench_row bench_open bench_close
 *
 * A time is the median over repetitions of the maximum over ranks, from events on the stream, after warm-up. A row is
 * written only with the outcome of its check. One schema for all benchmarks (bench/README.md).
 */
#ifndef IRIS_BENCH_H
#define IRIS_BENCH_H

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/iris.h>
#include <iris/init.h>

typedef struct bench_options {
    int ranks, repeats, warmup;
    size_t min_bytes, max_bytes;
    const char *only;   /* a case's name, or null for all */
    const char *json;   /* file, or null */
    const char *commit; /* of the tree that was measured */
} bench_options;

/* One line of a result; unused numbers are negative and left out of the file. */
typedef struct bench_row {
    const char *name, *dtype, *variant;
    size_t bytes;
    int workgroups, lanes;
    double us, gbps; /* gbps: 10^9 bytes that cross links, a second, a rank */
    double ceiling;  /* gbps (bandwidths) or us (latencies) of the hand-written kernel in the same run */
    int ok;
} bench_row;

typedef struct bench_file {
    FILE *file;
    int rows, failed, quiet;
} bench_file;

/* Fills the options from the command line; what is not asked for keeps its value. Ends the program when it must. */
static void bench_parse(bench_options *o, int argc, char **argv, const char *what)
{
    static const struct option names[] = {{"ranks", 1, NULL, 'n'},  {"only", 1, NULL, 'o'}, {"json", 1, NULL, 'j'},
                                          {"min", 1, NULL, 'm'},    {"max", 1, NULL, 'M'},  {"repeats", 1, NULL, 'r'},
                                          {"commit", 1, NULL, 'c'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "n:o:j:m:M:r:c:h", names, NULL)) != -1;) {
        switch (c) {
        case 'n': o->ranks = atoi(optarg); break;
        case 'o': o->only = optarg; break;
        case 'j': o->json = optarg; break;
        case 'm': o->min_bytes = (size_t)strtoull(optarg, NULL, 0); break;
        case 'M': o->max_bytes = (size_t)strtoull(optarg, NULL, 0); break;
        case 'r': o->repeats = atoi(optarg); break;
        case 'c': o->commit = optarg; break;
        default:
            printf("%s\n\n  -n, --ranks N     ranks (default %d)\n  -o, --only NAME   one case\n  -m, --min BYTES   "
                   "smallest "
                   "message\n  -M, --max BYTES   largest message\n  -r, --repeats N   repetitions of each\n  -c, "
                   "--commit ID "
                   "  what is measured\n  -j, --json FILE   write rows to a file\n",
                   what, o->ranks);
            exit(c == 'h' ? 0 : 2);
        }
    }
    if (o->ranks < 1 || o->repeats < 1 || o->min_bytes > o->max_bytes || optind != argc) {
        fprintf(stderr, "%s: ranks and repeats are at least 1, --min is at most --max; see --help\n", argv[0]);
        exit(2);
    }
}

static int bench_open(bench_file *f, iris_world *w, const bench_options *o, const char *benchmark)
{
    memset(f, 0, sizeof *f);
    f->quiet = iris_rank(w) != 0;
    if (f->quiet)
        return 0;
    printf("%-12s %-6s %-14s %12s %5s %5s %11s %9s %9s %6s %s\n", "case", "dtype", "variant", "bytes", "wgs", "lanes",
           "us", "GB/s", "ceiling", "ratio", "ok");
    if (!o->json)
        return 0;
    f->file = fopen(o->json, "w");
    if (!f->file) {
        fprintf(stderr, "cannot write %s\n", o->json);
        return 1;
    }
    fprintf(f->file,
            "{\n  \"schema\": \"iris-bench-1\",\n  \"benchmark\": \"%s\",\n  \"device\": \"%s\",\n  \"arch\": \"%s\",\n"
            "  \"compute_units\": %d,\n  \"commit\": \"%s\",\n  \"ranks\": %d,\n  \"repeats\": %d,\n  \"rows\": [",
            benchmark, iris_device_name(w), iris_arch_name(w), iris_compute_units(w), o->commit ? o->commit : "unknown",
            iris_world_size(w), o->repeats);
    return 0;
}

/* Bandwidths are better when high, latencies (gbps < 0) when low; the ratio is above 1 when ours is better. */
static void bench_put(bench_file *f, const bench_row *r)
{
    const double ratio = r->ceiling <= 0 ? -1 : r->gbps > 0 ? r->gbps / r->ceiling : r->ceiling / r->us;
    f->failed += !r->ok;
    if (f->quiet)
        return;
    printf("%-12s %-6s %-14s %12zu %5d %5d %11.3f %9.2f %9.2f %6.3f %s\n", r->name, r->dtype, r->variant, r->bytes,
           r->workgroups, r->lanes, r->us, r->gbps > 0 ? r->gbps : 0, r->ceiling > 0 ? r->ceiling : 0,
           ratio > 0 ? ratio : 0, r->ok ? "ok" : "WRONG");
    fflush(stdout);
    if (!f->file)
        return;
    fprintf(f->file,
            "%s\n    {\"case\": \"%s\", \"dtype\": \"%s\", \"variant\": \"%s\", \"bytes\": %zu, \"workgroups\": %d, "
            "\"lanes\": %d, "
            "\"us\": %.4f",
            f->rows++ ? "," : "", r->name, r->dtype, r->variant, r->bytes, r->workgroups, r->lanes, r->us);
    if (r->gbps > 0)
        fprintf(f->file, ", \"gbps\": %.3f", r->gbps);
    if (r->ceiling > 0)
        fprintf(f->file, ", \"ceiling\": %.4f, \"ratio\": %.4f", r->ceiling, ratio);
    fprintf(f->file, ", \"ok\": %s}", r->ok ? "true" : "false");
}

static int bench_close(bench_file *f)
{
    if (f->file) {
        fprintf(f->file, "\n  ]\n}\n");
        fclose(f->file);
    }
    return f->failed != 0;
}

static int bench_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/*
 * Microseconds of one launch: the median over repetitions of the maximum over ranks, each repetition begun together.
 * Negative, with the sentence on stderr, when a launch failed.
 */
static double bench_time(iris_world *w, const bench_options *o, irisi_kernel kernel, const char *name, const void *args,
                         size_t bytes, const iris_launch_config *cfg)
{
    double times[256], mine, all[64];
    iris_stream stream = iris_default_stream(w);
    iris_event begin = NULL, end = NULL;
    iris_status status = iris_event_create(w, &begin);
    if (status == IRIS_OK)
        status = iris_event_create(w, &end);
    const int repeats = o->repeats < 256 ? o->repeats : 256;
    for (int i = -o->warmup; i < repeats && status == IRIS_OK; i++) {
        float ms = 0;
        if ((status = iris_barrier(w)) != IRIS_OK || (status = iris_event_record(w, begin, stream)) != IRIS_OK ||
            (status = irisi_launch(w, kernel, name, args, bytes, cfg, stream)) != IRIS_OK ||
            (status = iris_event_record(w, end, stream)) != IRIS_OK ||
            (status = iris_event_elapsed_ms(w, &ms, begin, end)) != IRIS_OK ||
            (status = iris_stream_synchronize(w, stream)) != IRIS_OK)
            break;
        mine = 1e3 * ms;
        if ((status = iris_allgather(w, &mine, all, sizeof mine)) != IRIS_OK)
            break;
        for (int r = 0; r < iris_world_size(w); r++)
            mine = all[r] > mine ? all[r] : mine;
        if (i >= 0)
            times[i] = mine;
    }
    iris_event_destroy(w, begin);
    iris_event_destroy(w, end);
    if (status != IRIS_OK) {
        fprintf(stderr, "%s: %s\n", name, iris_error_string(w));
        return -1;
    }
    qsort(times, (size_t)repeats, sizeof *times, bench_compare);
    return times[repeats / 2];
}

#define bench_launch(w, o, kernel, args, cfg)                                                                          \
    bench_time((w), (o), IRISI_KERNEL_PTR(kernel), #kernel, &(args), sizeof(args), (cfg))

#endif
