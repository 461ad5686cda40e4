/* SPDX-License-Identifier: MIT */
/*
 * iris_tune.c: iris-tune, which measures on this machine what its command line names, and writes one file of rows for
 * IRIS_TUNE: which schedules collectives go by, by size, and how GEMM + AllScatter of bf16 is computed, by shape.
 *
 *   iris-tune -n 4 -o rows.txt                                collectives
 *   iris-tune -n 4 -o rows.txt all_reduce 8192x4096x12288     one of them, and a GEMM
 *
 * collective_search.h and gemm_search.h say how. docs/how-to/tune-for-your-machine.md is its manual, and bench/tune.py
 * makes the built-in table of such files.
 */
#define _GNU_SOURCE 1 /* unsetenv */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* tests/compile: gemm_fused.c has the same */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#endif
#include <iris/gen/launch/gemm_all_scatter.h>

#include <limits.h>
#include <math.h>
#include <sys/stat.h>

#include "collective_search.h"
#include "gemm_search.h"

enum { SHAPES = 64, FEW = 5 };

/* What the command line says. */
typedef struct options {
    gemm_search_options gemm; /* of it `bench` counts for collectives too */
    const char *table;
    int rings, chosen[KINDS], shapes; /* chosen: 1 for the collectives to measure */
    long shape[SHAPES][3];
} options;

/* Rank 0's rows as they come: in a file beside the table, which keeps what it has until there are others. */
typedef struct rows_file {
    FILE *file;                               /* null on other ranks */
    char table[PATH_MAX], name[PATH_MAX + 8]; /* name: the table's own where that is no plain file */
} rows_file;

static int rows_open(rows_file *r, const options *o, iris_world *w)
{
    struct stat about;
    const int there = stat(o->table, &about) == 0;
    memset(r, 0, sizeof *r);
    if (iris_rank(w) != 0)
        return 0;
    if (!there || realpath(o->table, r->table) == NULL) /* the file itself, not a link to it */
        snprintf(r->table, sizeof r->table, "%s", o->table);
    snprintf(r->name, sizeof r->name, "%s%s", r->table, there && !S_ISREG(about.st_mode) ? "" : ".new");
    r->file = fopen(r->name, "w");
    if (r->file == NULL)
        fprintf(stderr, "iris-tune: cannot write %s: %s\n", r->name, strerror(errno));
    else
        fprintf(r->file, "# %d x %s, commit %s: rows for IRIS_TUNE, by iris-tune\n", iris_world_size(w),
                iris_device_name(w), o->gemm.bench.commit ? o->gemm.bench.commit : "unknown");
    return r->file == NULL;
}

/* How many lines a file has behind its first one; 0 where it is no plain file. */
static int rows_in(const char *name)
{
    FILE *file = fopen(name, "r");
    int lines = 0;
    for (int c; file != NULL && (c = fgetc(file)) != EOF;)
        lines += c == '\n';
    if (file != NULL)
        fclose(file);
    return lines > 0 ? lines - 1 : 0;
}

/* Puts the rows in the table's place when all is well: 0, or 1 with a sentence. `failed`: what the run came to. */
static int rows_close(rows_file *r, const options *o, int failed)
{
    if (r->file == NULL)
        return failed;
    const int lost = ferror(r->file) != 0, closed = fclose(r->file) == 0 && !lost;
    if (strcmp(r->name, r->table) == 0) { /* a terminal, a pipe: rows went there as they came */
        if (!closed)
            fprintf(stderr, "iris-tune: cannot write all of %s\n", r->table);
        return failed || !closed;
    }
    const int rows = rows_in(r->name);
    if (!closed)
        fprintf(stderr, "iris-tune: cannot write all of %s; %s is as it was\n", r->name, o->table);
    else if (rows == 0)
        fprintf(stderr, "iris-tune: nothing was measured to its end: there are no rows; %s is as it was\n", o->table);
    else if (failed)
        fprintf(stderr, "iris-tune: %s is as it was; what was found is in %s\n", o->table, r->name);
    else if (rename(r->name, r->table) != 0)
        fprintf(stderr, "iris-tune: cannot write %s: %s; what was found is in %s\n", r->table, strerror(errno),
                r->name);
    else
        return printf("%d rows are in %s: IRIS_TUNE=%s%s makes programs choose by them\n", rows, o->table,
                      strchr(o->table, '/') ? "" : "./", o->table) < 0;
    if (rows == 0)
        remove(r->name);
    return 1;
}

/* 0, or 1 when the run cannot go on. */
static int tune_collectives(bench *b, const options *o, FILE *table)
{
    collective_search s;
    int points = 0, failed = 0;
    for (int k = 0; k < KINDS; k++)
        points += o->chosen[k] ? collective_search_points(k, &o->gemm.bench, o->rings) : 0;
    if (points == 0)
        return 0;
    iris_bench_expect(&b->file, points);
    if (collective_search_open(&s, b, o->rings))
        return 1;
    for (int k = 0; k < KINDS && !failed; k++)
        failed = o->chosen[k] && collective_search_kind(&s, k, table);
    return failed || collective_search_close(&s);
}

static int tune_gemms(bench *b, const options *o, FILE *table)
{
    gemm_search *j = o->shapes > 0 ? gemm_search_open(b, &o->gemm) : NULL;
    int failed = o->shapes > 0 && j == NULL;
    for (int i = 0; i < o->shapes && !failed && !iris_bench_late(&b->file); i++)
        failed = gemm_search_shape(j, o->shape[i], table);
    if (j != NULL && !failed)
        failed = iris_free(b->w, j->flag) != IRIS_OK;
    free(j);
    return failed;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    rows_file rows;
    bench b;
    if (!iris_bench_all_ok(w, rows_open(&rows, o, w) == 0))
        return 1;
    int failed = !iris_bench_all_ok(w, bench_open(&b, w, &o->gemm.bench, "iris_tune") == 0);
    if (!failed)
        failed = tune_collectives(&b, o, rows.file) || tune_gemms(&b, o, rows.file) || iris_bench_close(&b.file);
    return !iris_bench_all_ok(w, rows_close(&rows, o, failed) == 0);
}

/* A word of the command line: a collective, `collectives`, `published` shapes of GEMMs, or a shape. 0: it is none. */
static int take_word(options *o, const char *word)
{
    const int all = strcmp(word, "collectives") == 0;
    int found = 0;
    for (int k = 0; k < KINDS; k++)
        if ((all || strcmp(word, kinds[k].name) == 0) && search_ways(k, o->gemm.bench.min_bytes, 1) > 1)
            found = o->chosen[k] = 1;
    if (found)
        return 1;
    if (strcmp(word, "published") == 0 && o->shapes + GEMM_SHAPES <= SHAPES) {
        memcpy(o->shape[o->shapes], gemm_shapes, GEMM_SHAPES * sizeof gemm_shapes[0]);
        o->shapes += GEMM_SHAPES;
        return 1;
    }
    return o->shapes < SHAPES && gemm_shape_read(word, o->shape[o->shapes]) && ++o->shapes;
}

static void parse(options *o, int argc, char **argv)
{
    static iris_bench_suite s;
    static char everything[] = "collectives", *all[] = {everything};
    bench_options *b = &o->gemm.bench;
    char number[32];
    const char *behind = number;
    snprintf(number, sizeof number, "%g", o->gemm.behind);
    iris_bench_suite_init(&s, "iris_tune",
                          "iris-tune [OPTION...] [WORD...]: measures, and writes a file for IRIS_TUNE. A word is a "
                          "collective,\n'collectives' (what there is without words), the shape of a GEMM (MxNxK), or "
                          "'published' shapes");
    s.ranks = b->ranks, s.time.repeats = b->repeats, s.about.seconds = b->seconds, s.takes_words = 1;
    iris_bench_option_text(&s, 'o', "table", &o->table, "the file to write; default iris_tune.txt");
    iris_bench_option_size(&s, 'm', "min", &b->min_bytes, "smallest message of collectives");
    iris_bench_option_size(&s, 'M', "max", &b->max_bytes, "largest message of collectives");
    iris_bench_option_int(&s, 'l', "laps", &b->laps, "calls of a collective in one time");
    iris_bench_option_flag(&s, 'R', "ring", &o->rings, "reductions by rings too, whose bits are others");
    iris_bench_option_int(&s, 'k', "candidates", &o->gemm.candidates, "candidates of a GEMM's pattern");
    iris_bench_option_text(&s, 'b', "behind", &behind, "give a pattern up that is so many times as slow; default 1.5");
    iris_bench_option_flag(&s, 't', "transposed", &o->gemm.transposed, "B of GEMMs is n x k");
    const int done = iris_bench_parse(&s, argc, argv);
    if (done >= 0)
        exit(done);
    b->ranks = s.ranks, b->repeats = s.time.repeats, b->seconds = s.about.seconds;
    b->json = s.about.json, b->csv = s.about.csv, b->commit = s.about.commit;
    char *end = NULL;
    o->gemm.behind = strtod(behind, &end);
    if (*behind == 0 || *end != 0 || !(o->gemm.behind >= 1)) {
        fprintf(stderr, "%s: --behind %s: give a number of 1 or more\n", argv[0], behind);
        exit(2);
    }
    for (int i = 0; i < (s.words ? s.words : 1); i++) {
        const char *word = (s.words ? s.word : all)[i];
        if (!take_word(o, word)) {
            fprintf(stderr, "%s: '%s' is no collective with several schedules and no shape MxNxK, or one too many\n",
                    argv[0], word);
            exit(2);
        }
    }
    if (b->ranks > BENCH_RANKS || o->gemm.candidates < 1 || o->gemm.candidates > GEMM_CANDIDATES || b->laps < 1 ||
        b->min_bytes < 256 || b->min_bytes > b->max_bytes) {
        fprintf(stderr, "%s: 1 to %d ranks, 1 to %d candidates, laps from 1, sizes from 256, --min at most --max\n",
                argv[0], BENCH_RANKS, GEMM_CANDIDATES);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static options o;
    iris_config config;
    bench_options *b = &o.gemm.bench;
    memset(&config, 0, sizeof config);
    b->ranks = 2, b->repeats = 20, b->warmup = 5, b->laps = 20, b->seconds = 600;
    b->min_bytes = 1024, b->max_bytes = 64 << 20;
    o.gemm.candidates = 12, o.gemm.behind = 1.5, o.table = "iris_tune.txt";
    parse(&o, argc, argv);
    unsetenv("IRIS_TUNE"); /* what is measured is what is named here */
    o.gemm.few = *b;
    o.gemm.few.repeats = b->repeats < FEW ? b->repeats : FEW, o.gemm.few.warmup = 2;
    uint64_t most = 2 * b->max_bytes;
    for (int i = 0; i < o.shapes; i++) {
        const uint64_t bytes = gemm_search_bytes(o.shape[i], (uint32_t)b->ranks);
        most = bytes > most ? bytes : most;
    }
    config.heap_bytes = (size_t)most + ((size_t)64 << 20);
    return iris_spawn_config(b->ranks, rank_main, &o, &config);
}
