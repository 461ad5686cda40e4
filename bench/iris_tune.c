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

#include <math.h>

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

static FILE *open_table(const options *o, iris_world *w)
{
    if (iris_rank(w) != 0)
        return NULL;
    FILE *table = fopen(o->table, "w");
    if (table == NULL)
        fprintf(stderr, "iris-tune: cannot write %s\n", o->table);
    else
        fprintf(table, "# %d x %s, commit %s: rows for IRIS_TUNE, by iris-tune\n", iris_world_size(w),
                iris_device_name(w), o->gemm.bench.commit ? o->gemm.bench.commit : "unknown");
    return table;
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
    bench b;
    FILE *table = open_table(o, w);
    if (!iris_bench_all_ok(w, table != NULL || iris_rank(w) != 0) || bench_open(&b, w, &o->gemm.bench, "iris_tune"))
        return 1;
    if (tune_collectives(&b, o, table) || tune_gemms(&b, o, table))
        return 1;
    if (table != NULL && fclose(table) != 0) {
        fprintf(stderr, "iris_tune: cannot write all of %s\n", o->table);
        (void)iris_bench_close(&b.file);
        return 1;
    }
    if (table != NULL)
        printf("rows are in %s: IRIS_TUNE=%s%s makes programs choose by them\n", o->table,
               strchr(o->table, '/') ? "" : "./", o->table);
    return iris_bench_close(&b.file);
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
