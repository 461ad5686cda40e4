/* SPDX-License-Identifier: MIT */
/*
 * rows.h: rows of a benchmark's result: a table on standard output, a JSON file of schema iris-bench-1, a CSV file.
 *
 *   iris_bench_about iris_bench_row iris_bench_cell iris_bench_file
 *   iris_bench_open iris_bench_put iris_bench_close iris_bench_late iris_bench_all_ok
 *   iris_bench_expect iris_bench_doing
 *
 * Rank 0 writes. Files are whole after every row: a run that is killed leaves what it has, with "complete": false.
 * A row holds what was seen and whether its check passed (ok); numbers that are 0 are left out.
 */
#ifndef IRIS_BENCH_ROWS_H
#define IRIS_BENCH_ROWS_H

#include <iris/bench/progress.h>
#include <iris/bench/time.h>
#include <iris/decimal.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** Most columns of a program's own, and facts of a run. */
enum { IRIS_BENCH_COLUMNS = 8, IRIS_BENCH_FACTS = 4 };

/** What stands at the beginning of a file, and where it goes. Zeroed: nothing is known and no file is written. */
typedef struct iris_bench_about {
    const char *benchmark;                   /**< the program's name */
    const char *commit;                      /**< of the tree that is measured; null: unknown */
    const char *json;                        /**< file to write, or null */
    const char *csv;                         /**< file to write, or null */
    int repeats;                             /**< repetitions of each time */
    int seconds;                             /**< iris_bench_late says 1 after so many; 0: never */
    const char *columns[IRIS_BENCH_COLUMNS]; /**< names of the program's own columns; the first null ends them */
    const char *facts[IRIS_BENCH_FACTS][2];  /**< names and texts of further facts, such as a library's version */
} iris_bench_about;

/** A value in one of the program's own columns; zeroed: there is none. */
typedef struct iris_bench_cell {
    int there;        /**< 1: there is one */
    const char *word; /**< the value, or null where it is a number */
    int64_t number;   /**< the value */
} iris_bench_cell;

/** One row. Texts may be null, and what is 0 is left out of files. */
typedef struct iris_bench_row {
    const char *name, *dtype, *variant;        /**< what was measured: "case" in files */
    size_t bytes;                              /**< of the message or buffer */
    int workgroups, lanes;                     /**< the launch */
    double us;                                 /**< microseconds of one call */
    double gbps;                               /**< 10^9 bytes that cross links, a second, a rank */
    double algbw;                              /**< 10^9 bytes of the row, a second */
    double ceiling;                            /**< what `gbps`, or else `us`, is compared with */
    int ok;                                    /**< whether the row's check passed, the same on every rank */
    const char *op;                            /**< which of several operations the case is of */
    iris_bench_result time;                    /**< quantiles, where n is not 0 */
    iris_bench_cell cells[IRIS_BENCH_COLUMNS]; /**< in the order of the columns */
} iris_bench_row;

/** A result that is being written, as one rank has it. */
typedef struct iris_bench_file {
    iris_world *world;
    const iris_bench_about *about;
    FILE *json, *csv;              /**< rank 0's, or null */
    int rows, failed;              /**< rows so far, and those whose check did not pass */
    int cut;                       /**< rows are missing: 1: iris_bench_late said so, 2: their function failed */
    double began;                  /**< seconds of a clock */
    irisi_bench_progress progress; /**< rank 0's */
} iris_bench_file;

/* A cell of a CSV file, in quotes where it must have them (RFC 4180). */
static inline void irisi_bench_csv_text(FILE *file, const char *text)
{
    if (!text || !strpbrk(text, ",\"\n")) {
        fprintf(file, "%s,", text ? text : "");
        return;
    }
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', file);
        fputc(*c, file);
    }
    fprintf(file, "\",");
}

static inline int irisi_bench_columns(const iris_bench_about *about)
{
    int n = 0;
    while (n < IRIS_BENCH_COLUMNS && about->columns[n])
        n++;
    return n;
}

/* A file, or null with a sentence; `ends`: its end is written anew after every row. */
static inline FILE *irisi_bench_create(const char *name, int ends)
{
    FILE *file = fopen(name, "w");
    if (file && ends && fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "cannot write %s: it must be a file, not a pipe\n", name);
        fclose(file);
        return NULL;
    }
    if (!file)
        fprintf(stderr, "cannot write %s: %s\n", name, strerror(errno));
    return file;
}

/* Closes a file, if there is one; 1 when not all could be written, with a sentence. */
static inline int irisi_bench_shut(FILE *file, const char *name)
{
    const int wrong = file != NULL && ferror(file) != 0;
    if (file == NULL || (fclose(file) == 0 && !wrong))
        return 0;
    fprintf(stderr, "cannot write all of %s\n", name);
    return 1;
}

static inline void irisi_bench_json_head(iris_bench_file *f)
{
    const iris_bench_about *a = f->about;
    fprintf(f->json, "{\n  \"schema\": \"iris-bench-1\",\n  \"benchmark\": ");
    irisi_json_text(f->json, a->benchmark);
    fprintf(f->json, ",\n  \"device\": ");
    irisi_json_text(f->json, iris_device_name(f->world));
    fprintf(f->json, ",\n  \"arch\": ");
    irisi_json_text(f->json, iris_arch_name(f->world));
    fprintf(f->json, ",\n  \"compute_units\": %d,\n  \"commit\": ", iris_compute_units(f->world));
    irisi_json_text(f->json, a->commit ? a->commit : "unknown");
    fprintf(f->json, ",\n  \"world\": %d,\n  \"repeats\": %d,\n", iris_world_size(f->world), a->repeats);
    for (int i = 0; i < IRIS_BENCH_FACTS && a->facts[i][0]; i++) {
        fprintf(f->json, "  ");
        irisi_json_text(f->json, a->facts[i][0]);
        fprintf(f->json, ": ");
        irisi_json_text(f->json, a->facts[i][1]);
        fprintf(f->json, ",\n");
    }
    fprintf(f->json, "  \"rows\": [");
}

/* The end of the JSON file as it stands after each row. */
static inline void irisi_bench_json_end(iris_bench_file *f, const char *complete)
{
    const long here = ftell(f->json);
    fprintf(f->json, "\n  ],\n  \"complete\": %s,\n  \"seconds\": %s\n}\n", complete,
            irisi_decimal_of(irisi_bench_seconds() - f->began, 1).text);
    fflush(f->json);
    fseek(f->json, here, SEEK_SET);
}

/**
 * @name A result
 *
 * Host functions. iris_bench_open, iris_bench_put, iris_bench_late and iris_bench_close are called by every rank.
 *
 * @param f     the result
 * @param w     the world
 * @param about what stands at its beginning; lives as long as the result
 * @param row   one row, the same on every rank but for its numbers, of which rank 0's count
 * @param ok    0 or 1
 * @param rows  how many
 * @param what  the next row, in a few words
 * @{
 */
/** Begins a result: the table's head, and files. Returns 0, or 1 on rank 0 with a sentence on stderr when a file cannot
 *  be written. */
static inline int iris_bench_open(iris_bench_file *f, iris_world *w, const iris_bench_about *about)
{
    memset(f, 0, sizeof *f);
    f->world = w, f->about = about, f->began = irisi_bench_seconds();
    if (iris_rank(w) != 0)
        return 0;
    printf("%-16s %-5s %-10s %11s %5s %5s", "case", "dtype", "variant", "bytes", "wgs", "lanes");
    for (int i = 0; i < irisi_bench_columns(about); i++)
        printf(" %8s", about->columns[i]);
    printf(" %11s %11s %11s %9s %9s %6s %s\n", "us", "p10", "p90", "GB/s", "ceiling", "ratio", "ok");
    f->csv = about->csv ? irisi_bench_create(about->csv, 0) : NULL;
    f->json = about->json && (!about->csv || f->csv) ? irisi_bench_create(about->json, 1) : NULL;
    if ((about->json && !f->json) || (about->csv && !f->csv))
        return 1;
    if (f->json)
        irisi_bench_json_head(f), irisi_bench_json_end(f, "false");
    if (f->csv) {
        fprintf(f->csv, "case,op,dtype,variant,bytes,workgroups,lanes,");
        for (int i = 0; i < irisi_bench_columns(about); i++)
            irisi_bench_csv_text(f->csv, about->columns[i]);
        fprintf(f->csv, "us,n,p10,p90,min,gbps,algbw,ceiling,ratio,ok\n");
    }
    return 0;
}

/* Bandwidths are better when high, times (no gbps) when low; the ratio is above 1 when ours is better. */
static inline double irisi_bench_ratio(const iris_bench_row *r)
{
    return r->ceiling <= 0 || r->us <= 0 ? 0 : r->gbps > 0 ? r->gbps / r->ceiling : r->ceiling / r->us;
}

static inline void irisi_bench_print(const iris_bench_file *f, const iris_bench_row *r)
{
    if (r->op)
        printf("%-14s ", r->op);
    printf("%-16s %-5s %-10s %11zu %5d %5d", r->name, r->dtype ? r->dtype : "", r->variant ? r->variant : "", r->bytes,
           r->workgroups, r->lanes);
    for (int i = 0; i < irisi_bench_columns(f->about); i++)
        if (!r->cells[i].there || r->cells[i].word)
            printf(" %8s", r->cells[i].there ? r->cells[i].word : "");
        else
            printf(" %8lld", (long long)r->cells[i].number);
    printf(" %11.3f", r->us);
    if (r->time.n > 0)
        printf(" %11.3f %11.3f", r->time.p10, r->time.p90);
    else
        printf(" %11s %11s", "", "");
    printf(" %9.2f %9.2f %6.3f %s\n", r->gbps, r->ceiling > 0 ? r->ceiling : 0, irisi_bench_ratio(r),
           r->ok ? "ok" : "WRONG");
    fflush(stdout);
}

static inline void irisi_bench_json_cell(FILE *file, const char *name, const iris_bench_cell *cell)
{
    if (!cell->there)
        return;
    fprintf(file, ", ");
    irisi_json_text(file, name);
    fprintf(file, ": ");
    if (cell->word)
        irisi_json_text(file, cell->word);
    else
        fprintf(file, "%lld", (long long)cell->number);
}

static inline void irisi_bench_json_text(FILE *file, const char *name, const char *text)
{
    fprintf(file, "\"%s\": ", name);
    irisi_json_text(file, text);
    fprintf(file, ", ");
}

/* A rate: of a few bytes it is small, and not 0. */
static inline irisi_decimal irisi_bench_rate(double rate) { return irisi_decimal_of(rate, rate < 1 ? 7 : 3); }

static inline void irisi_bench_json_row(iris_bench_file *f, const iris_bench_row *r)
{
    fprintf(f->json, "%s\n    {", f->rows ? "," : "");
    irisi_bench_json_text(f->json, "case", r->name);
    irisi_bench_json_text(f->json, "dtype", r->dtype);
    irisi_bench_json_text(f->json, "variant", r->variant);
    fprintf(f->json, "\"bytes\": %zu, \"workgroups\": %d, \"lanes\": %d, \"us\": %s", r->bytes, r->workgroups, r->lanes,
            irisi_decimal_of(r->us, 4).text);
    if (r->op) {
        fprintf(f->json, ", \"op\": ");
        irisi_json_text(f->json, r->op);
    }
    for (int i = 0; i < irisi_bench_columns(f->about); i++)
        irisi_bench_json_cell(f->json, f->about->columns[i], r->cells + i);
    if (r->time.n > 0)
        fprintf(f->json, ", \"n\": %d, \"p10\": %s, \"p90\": %s, \"min\": %s", r->time.n,
                irisi_decimal_of(r->time.p10, 4).text, irisi_decimal_of(r->time.p90, 4).text,
                irisi_decimal_of(r->time.min, 4).text);
    if (r->gbps > 0)
        fprintf(f->json, ", \"gbps\": %s", irisi_bench_rate(r->gbps).text);
    if (r->algbw > 0)
        fprintf(f->json, ", \"algbw\": %s", irisi_bench_rate(r->algbw).text);
    if (r->ceiling > 0)
        fprintf(f->json, ", \"ceiling\": %s, \"ratio\": %s", irisi_decimal_of(r->ceiling, 4).text,
                irisi_decimal_of(irisi_bench_ratio(r), 4).text);
    fprintf(f->json, ", \"ok\": %s}", r->ok ? "true" : "false");
    f->rows++;
    irisi_bench_json_end(f, "false");
}

static inline void irisi_bench_csv_row(const iris_bench_file *f, const iris_bench_row *r)
{
    const double rates[] = {r->gbps, r->algbw}, times[] = {r->time.p10, r->time.p90, r->time.min};
    const double beside[] = {r->ceiling, irisi_bench_ratio(r)};
    irisi_bench_csv_text(f->csv, r->name);
    irisi_bench_csv_text(f->csv, r->op);
    irisi_bench_csv_text(f->csv, r->dtype);
    irisi_bench_csv_text(f->csv, r->variant);
    fprintf(f->csv, "%zu,%d,%d,", r->bytes, r->workgroups, r->lanes);
    for (int i = 0; i < irisi_bench_columns(f->about); i++)
        if (r->cells[i].there && !r->cells[i].word)
            fprintf(f->csv, "%lld,", (long long)r->cells[i].number);
        else
            irisi_bench_csv_text(f->csv, r->cells[i].there ? r->cells[i].word : NULL);
    fprintf(f->csv, "%s,", irisi_decimal_of(r->us, 4).text);
    if (r->time.n > 0)
        fprintf(f->csv, "%d", r->time.n);
    for (size_t i = 0; i < 3; i++)
        fprintf(f->csv, ",%s", times[i] > 0 ? irisi_decimal_of(times[i], 4).text : "");
    for (size_t i = 0; i < 2; i++)
        fprintf(f->csv, ",%s", rates[i] > 0 ? irisi_bench_rate(rates[i]).text : "");
    for (size_t i = 0; i < 2; i++)
        fprintf(f->csv, ",%s", beside[i] > 0 ? irisi_decimal_of(beside[i], 4).text : "");
    fprintf(f->csv, ",%d\n", r->ok != 0);
    fflush(f->csv);
}

/** Writes a row. */
static inline void iris_bench_put(iris_bench_file *f, const iris_bench_row *row)
{
    f->failed += !row->ok;
    irisi_bench_progress_clear(&f->progress);
    if (iris_rank(f->world) != 0)
        return;
    irisi_bench_print(f, row);
    if (f->json)
        irisi_bench_json_row(f, row);
    if (f->csv)
        irisi_bench_csv_row(f, row);
}

/** Says that so many more rows will come: iris_bench_doing then tells how long they will take. */
static inline void iris_bench_expect(iris_bench_file *f, long rows) { f->progress.all += rows; }

/** Says on rank 0's standard error what is measured next and how far the run is: on a terminal in a line that changes,
 *  elsewhere in a line every ten seconds. */
static inline void iris_bench_doing(iris_bench_file *f, const char *what)
{
    if (iris_rank(f->world) == 0)
        irisi_bench_progress_show(&f->progress, f->began, f->about->seconds, what);
}

/** Ends a result. Returns 1 when a row's check failed or a file could not be written, else 0. */
static inline int iris_bench_close(iris_bench_file *f)
{
    irisi_bench_progress_clear(&f->progress);
    if (f->cut == 1 && iris_rank(f->world) == 0)
        printf("stopped after %d s: rows are missing\n", f->about->seconds);
    if (f->json)
        irisi_bench_json_end(f, f->cut ? "false" : "true");
    const int lost = irisi_bench_shut(f->json, f->about->json) + irisi_bench_shut(f->csv, f->about->csv);
    f->json = f->csv = NULL;
    return f->failed != 0 || lost > 0;
}

/** 1 on every rank when `ok` is 1 on each; 0 too when the ranks cannot be asked. Collective. */
static inline int iris_bench_all_ok(iris_world *w, int ok)
{
    int *all = (int *)calloc((size_t)iris_world_size(w), sizeof *all);
    int every = all && iris_allgather(w, &ok, all, sizeof ok) == IRIS_OK;
    for (int r = 0; every && r < iris_world_size(w); r++)
        every = all[r] != 0;
    free(all);
    return every;
}

/** 1 once the time of the run is up, on every rank: no further row should be begun. Collective. */
static inline int iris_bench_late(iris_bench_file *f)
{
    const int seconds = f->about->seconds;
    if (!f->cut && seconds > 0 && !iris_bench_all_ok(f->world, irisi_bench_seconds() - f->began < seconds))
        f->cut = 1;
    return f->cut;
}
/** @} */

#endif
