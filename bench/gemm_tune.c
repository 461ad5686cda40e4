/* SPDX-License-Identifier: MIT */
/*
 * gemm_tune.c: finds out how GEMM + AllScatter of bf16 is computed best on this machine, and writes rows of a table:
 * for IRIS_TUNE as they are, for the built-in table by bench/tune.py.
 *
 * For each shape: the model's choice; then of every pattern the candidates that iris_gemm_candidates proposes, until
 * they are far behind; the caller's BLAS where there is one (peer_cublaslt.h). The best few are timed again, longer.
 * Every C is checked on every rank, at sampled elements, before it is timed.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* tests/compile: gemm_fused.c has the same */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#endif
#include <iris/gen/launch/gemm_all_scatter.h>

#include "gemm_operands.h"

enum { SHAPES = 64, CANDIDATES = 32, TRIES = 8 * CANDIDATES, FINALISTS = 3, FEW = 5 };

typedef struct options {
    bench_options bench, few; /* the second for the first look at a candidate */
    const char *table;
    int candidates, shapes, transposed;
    double behind; /* a pattern is given up when its best two are so many times slower than the best of all */
    long shape[SHAPES][3];
} options;

/* What was tried, and how long it took. */
typedef struct attempt {
    char row[IRIS_GEMM_TUNE_ROW];
    double us;
} attempt;

/* One shape on one rank. */
typedef struct job {
    bench *b;
    const options *o;
    gemm_operands g;
    uint32_t *flag;
    peer vendor;
    attempt tried[TRIES];
    int n_tried;
} job;

static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    job *j = (job *)arg;
    return iris_gemm_all_scatter_bf16(w, &j->g.plan[turn % j->g.sets], stream);
}

/* Plans for a row, one for each set of operands; 0 on every rank when it is refused. */
static int plan(job *j, const char *row)
{
    iris_gemm_args args;
    memset(&args, 0, sizeof args);
    args.tune = row;
    if (j->vendor.best >= 0)
        args.blas = peer_blas, args.blas_arg = &j->vendor;
    const iris_status s = gemm_operands_plan(j->b->w, &j->g, gemm_prepare_all_scatter, &args);
    if (s != IRIS_OK && iris_rank(j->b->w) == 0)
        fprintf(stderr, "%s: %s\n", row, iris_error_string(j->b->w));
    return s == IRIS_OK;
}

/* Poisons C, runs the plan once, and looks at C. Collective. */
static int checked(job *j, const char *who)
{
    iris_world *w = j->b->w;
    int ok = iris_memset(w, j->g.c, 0xff, j->g.m * j->g.n * 2) == IRIS_OK;
    ok = iris_barrier(w) == IRIS_OK && ok; /* nobody writes before all have poisoned */
    ok = submit(w, j, iris_default_stream(w), 0) == IRIS_OK && iris_synchronize(w) == IRIS_OK && ok;
    if (!ok)
        fprintf(stderr, "rank %d, %s: %s\n", iris_rank(w), who, iris_error_string(w));
    return iris_bench_all_ok(j->b->w, ok && gemm_operands_right(w, &j->g, j->g.c, 0, j->flag, who));
}

/* The plan's row without the problem, and what to call it. */
static const char *choice_of(const char *row)
{
    const char *from = strstr(row, "pattern=");
    return from ? from : row;
}

/* Tries a row: 1 when it was timed, 0 when it was refused or tried before, -1 when the run cannot go on. */
static int try_row(job *j, const char *row, const bench_options *how, const char *shape)
{
    iris_bench_row r;
    iris_gemm_row became;
    if (j->n_tried == TRIES)
        return 0;
    if (!plan(j, row)) /* another one is still needed to ask for candidates */
        return plan(j, "model") ? 0 : -1;
    if (iris_gemm_choice(j->b->w, &j->g.plan[0], &became) != IRIS_OK)
        return -1;
    attempt *t = &j->tried[j->n_tried];
    for (int i = 0; i < j->n_tried && how == &j->o->few; i++)
        if (strcmp(j->tried[i].row, became.text) == 0)
            return 0;
    memset(&r, 0, sizeof r);
    j->b->o = how;
    r.ok = checked(j, became.text);
    r.us = r.ok ? bench_time(j->b, became.text, submit, j) : 0;
    j->b->o = &j->o->bench;
    if (r.us < 0)
        return -1;
    snprintf(t->row, sizeof t->row, "%s", became.text);
    t->us = r.us;
    r.name = shape, r.dtype = "bf16", r.variant = choice_of(t->row);
    r.bytes = (size_t)(j->g.m * j->g.own.count * 2) * (size_t)(iris_world_size(j->b->w) - 1);
    r.workgroups = (int)j->g.plan[0].machine.workgroups,
    r.lanes = (int)(j->g.plan[0].machine.waves * j->g.plan[0].machine.wave_lanes);
    iris_bench_put(&j->b->file, &r);
    j->n_tried += r.ok;
    return r.ok;
}

/* The fastest row from the first-th to before the end-th that took longer than `above`; `own`: not by BLAS. Or null. */
static const attempt *fastest(const job *j, int first, int end, double above, int own)
{
    const attempt *best = NULL;
    for (int i = first; i < end; i++)
        if (j->tried[i].us > above && (best == NULL || j->tried[i].us < best->us) &&
            !(own && strstr(j->tried[i].row, "pattern=blas_gather")))
            best = &j->tried[i];
    return best;
}

/* The candidates of one pattern. */
static int try_pattern(job *j, iris_gemm_pattern pattern, const char *shape)
{
    iris_gemm_row rows[CANDIDATES];
    const int first = j->n_tried;
    const uint32_t n = iris_gemm_candidates(j->b->w, &j->g.plan[0], pattern, rows, (uint32_t)j->o->candidates);
    for (uint32_t i = 0; i < n && !iris_bench_late(&j->b->file); i++) {
        if (try_row(j, rows[i].text, &j->o->few, shape) < 0)
            return -1;
        const attempt *own = fastest(j, first, j->n_tried, 0, 0), *best = fastest(j, 0, j->n_tried, 0, 0);
        if (j->n_tried - first >= 2 && own->us > j->o->behind * best->us)
            break;
    }
    return 0;
}

static int prepare(job *j)
{
    j->n_tried = 0;
    if (gemm_operands_create(j->b->w, &j->g))
        return 1;
    j->vendor.c_alignment = gemm_operands_alignment(&j->g);
    gemm_operands_peer(j->b, &j->g, &j->vendor, j->vendor.algorithms >= 0, j->g.c + 2 * j->g.own.first, j->g.n);
    return 0;
}

/* Times the best few again, and writes the best one's row; before it BLAS's, which counts only where there is one. */
static int conclude(job *j, FILE *table, const char *shape, double model)
{
    const int first = j->n_tried;
    const attempt *next = fastest(j, 0, first, 0, 0);
    for (int i = 0; i < FINALISTS && next != NULL; i++, next = fastest(j, 0, first, next->us, 0))
        if (try_row(j, next->row, &j->o->bench, shape) < 0)
            return 1;
    const attempt *best = fastest(j, first, j->n_tried, 0, 0), *own = fastest(j, first, j->n_tried, 0, 1);
    if (own == NULL)
        own = fastest(j, 0, first, 0, 1);
    if (iris_rank(j->b->w) != 0 || best == NULL)
        return 0;
    printf("%s: %.1f us by %s; the model's choice %.1f us\n", shape, best->us, choice_of(best->row), model);
    if (best != own)
        fprintf(table, "%s us=%.1f\n", best->row, best->us);
    if (own != NULL)
        fprintf(table, "%s us=%.1f\n", own->row, own->us);
    return fflush(table) != 0;
}

static int run_shape(job *j, FILE *table)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)j->g.m, (unsigned long long)j->g.n,
             (unsigned long long)j->g.k);
    if (prepare(j) || try_row(j, "model", &j->o->few, shape) < 0)
        return 1;
    const double model = j->n_tried ? j->tried[0].us : 0;
    for (int p = 1; p < IRIS_GEMM_PATTERNS; p++)
        if (try_pattern(j, (iris_gemm_pattern)p, shape) < 0)
            return 1;
    if (j->vendor.best >= 0 && try_row(j, "pattern=blas_gather", &j->o->few, shape) < 0)
        return 1;
    return conclude(j, table, shape, model) || gemm_operands_free(j->b->w, &j->g);
}

static FILE *open_table(const options *o, iris_world *w)
{
    if (iris_rank(w) != 0)
        return NULL;
    FILE *table = o->table ? fopen(o->table, "w") : stdout;
    if (table == NULL)
        fprintf(stderr, "cannot write %s\n", o->table);
    else
        fprintf(table, "# %d x %s, commit %s\n", iris_world_size(w), iris_device_name(w),
                o->bench.commit ? o->bench.commit : "unknown");
    return table;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    bench b;
    job *j = (job *)calloc(1, sizeof *j);
    FILE *table = open_table(o, w);
    if (j == NULL || bench_open(&b, w, &o->bench, "gemm_tune"))
        return 1;
    j->b = &b, j->o = o, j->g.transposed = o->transposed;
    j->flag = (uint32_t *)iris_malloc(w, sizeof *j->flag);
    IRIS_TRY(iris_barrier(w));
    if (!iris_bench_all_ok(b.w, table != NULL || iris_rank(w) != 0))
        return 1;
    j->vendor.algorithms = peer_open(&j->vendor) ? 0 : -1;
    for (int i = 0; i < o->shapes && !iris_bench_late(&b.file); i++) {
        j->g.m = (uint64_t)o->shape[i][0], j->g.n = (uint64_t)o->shape[i][1], j->g.k = (uint64_t)o->shape[i][2];
        if (run_shape(j, table))
            return 1;
    }
    if (table != NULL && table != stdout)
        fclose(table);
    IRIS_TRY(iris_free(w, j->flag));
    free(j);
    return iris_bench_close(&b.file);
}

static void parse(options *o, int argc, char **argv)
{
    static iris_bench_suite s;
    char number[32];
    const char *behind = number;
    snprintf(number, sizeof number, "%g", o->behind);
    iris_bench_suite_init(&s, "gemm_tune", "gemm_tune [OPTION...] [MxNxK...]: the best choices for GEMMs of bf16");
    s.ranks = o->bench.ranks, s.time.repeats = o->bench.repeats, s.about.seconds = o->bench.seconds, s.takes_words = 1;
    iris_bench_option_int(&s, 'k', "candidates", &o->candidates, "candidates of a pattern");
    iris_bench_option_text(&s, 'b', "behind", &behind, "give a pattern up that is so many times as slow; default 1.5");
    iris_bench_option_flag(&s, 't', "transposed", &o->transposed, "B is n x k");
    iris_bench_option_text(&s, 'o', "table", &o->table, "write the table to a file");
    const int done = iris_bench_parse(&s, argc, argv);
    if (done >= 0)
        exit(done);
    o->bench.ranks = s.ranks, o->bench.repeats = s.time.repeats, o->bench.seconds = s.about.seconds;
    o->bench.json = s.about.json, o->bench.csv = s.about.csv, o->bench.commit = s.about.commit;
    o->behind = atof(behind);
    o->shapes = gemm_shapes_read(argv[0], s.words, s.word, GEMM_SHAPES, o->shape, SHAPES);
    if (o->bench.ranks > BENCH_RANKS || o->candidates < 1 || o->candidates > CANDIDATES) {
        fprintf(stderr, "%s: 1 to %d ranks, 1 to %d candidates\n", argv[0], BENCH_RANKS, CANDIDATES);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static options o;
    iris_config config;
    uint64_t most = 0;
    memset(&config, 0, sizeof config);
    o.bench.ranks = 4, o.bench.repeats = 20, o.bench.warmup = 5, o.bench.laps = 1, o.bench.seconds = 240;
    o.candidates = 12, o.behind = 1.5;
    parse(&o, argc, argv);
    o.few = o.bench;
    o.few.repeats = o.bench.repeats < FEW ? o.bench.repeats : FEW, o.few.warmup = 2;
    for (int i = 0; i < o.shapes; i++) {
        const uint64_t m = (uint64_t)o.shape[i][0], n = (uint64_t)o.shape[i][1], k = (uint64_t)o.shape[i][2];
        const uint64_t bytes =
            2 * (m * n + GEMM_SETS * k * (m + iris_gemm_band((uint32_t)n, (uint32_t)o.bench.ranks, 0).count));
        most = bytes > most ? bytes : most;
    }
    config.heap_bytes = (size_t)most + ((size_t)64 << 20);
    return iris_spawn_config(o.bench.ranks, rank_main, &o, &config);
}
