/* SPDX-License-Identifier: MIT */
/*
 * gemm_local.c: the GEMM alone, IRIS_GEMM_LOCAL, beside the vendor's library in the same run (peer_cublaslt.h).
 *
 * For each shape the two are timed in turn, round after round, each from a graph of several calls, on inputs that do
 * not stay in the cache, and the medians compared. Before that both results are checked: sampled elements against sums
 * in double precision. With -T, once for each row of choices (docs/gemm-choosing.md, "Rows"), all of these are timed in
 * the same rounds, beside what the library chooses; a row that a shape cannot have is left out there. With -P, a whole
 * pattern of GEMM + AllScatter on one rank is timed instead.
 */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#if !defined(IRIST_KERNELS_ELSEWHERE) /* tests/compile: the others' take long */
#define IRIS_INSTANTIATE_GEMM_LOCAL_F16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F32
#define IRIS_INSTANTIATE_GEMM_LOCAL_F64
#define IRIS_INSTANTIATE_GEMM_LOCAL_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_I8_I32
#endif
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/gen/launch/gemm_all_scatter.h>

#include "gemm_inputs.h"
#include "peer_cublaslt.h"
#include "runtime.h"

enum { SETS = 4, ROUNDS = 64, SHAPES = 128, PATHS = 8 };
enum { OURS = -1, COPIES = -2 };

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

/* What -d takes: types of A and B and of C, what else iris_gemm_args has, and what launches a GEMM alone of them. */
typedef struct operands_kind {
    const char *name;
    iris_dtype dtype, c_dtype;
    int tf32, fast_accum;
    launcher local;
} operands_kind;
static const operands_kind kinds[] = {
    {"bf16", IRIS_BF16, IRIS_BF16, 0, 0, iris_gemm_local_bf16},
#if !defined(IRIST_KERNELS_ELSEWHERE)
    {"f16", IRIS_F16, IRIS_F16, 0, 0, iris_gemm_local_f16},
    {"tf32", IRIS_F32, IRIS_F32, 1, 0, iris_gemm_local_f32},
    {"f32", IRIS_F32, IRIS_F32, 0, 0, iris_gemm_local_f32},
    {"f64", IRIS_F64, IRIS_F64, 0, 0, iris_gemm_local_f64},
    {"f8e4m3", IRIS_F8E4M3, IRIS_BF16, 0, 0, iris_gemm_local_f8e4m3_bf16},
    {"f8e4m3_fast", IRIS_F8E4M3, IRIS_BF16, 0, 1, iris_gemm_local_f8e4m3_bf16},
    {"i8", IRIS_I8, IRIS_I32, 0, 0, iris_gemm_local_i8_i32},
#endif
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* Whole patterns of bf16, for -P. */
static const launcher patterns[] = {NULL,
                                    iris_gemm_all_scatter_bulk_synchronous_bf16,
                                    iris_gemm_all_scatter_producer_consumer_bf16,
                                    iris_gemm_all_scatter_fused_sequential_bf16,
                                    iris_gemm_all_scatter_wg_specialized_bf16,
                                    iris_gemm_all_scatter_wave_specialized_bf16};

typedef struct options {
    const operands_kind *kind;
    int transposed, rounds, shapes, pattern;
    int64_t pad; /* rows start at multiples of so many elements */
    uint32_t tile_n, workgroups;
    const char *json, *commit;
    int paths; /* path 0 is what the library chooses, the others are by rows */
    const char *row[PATHS];
    long shape[SHAPES][3];
} options;

/* One problem on this rank: inputs in turn, a plan for each. */
typedef struct job {
    iris_world *w;
    const options *o;
    uint64_t m, n, k;
    int64_t lda, ldb, ldc;
    int sets, who, path; /* who: OURS, COPIES, or one of the peer's algorithms */
    char *a[SETS], *b[SETS], *c;
    uint64_t c_bytes;
    uint32_t *flag;
    iris_gemm_plan plan[PATHS][SETS];
    int has[PATHS]; /* plans of a path: of all sets, or none */
    peer vendor;
    iris_event begin, end;
} job;

/* 1 when the sampled elements of C are what set 0's inputs give. */
static int right(job *j, const char *who)
{
    gemm_product p;
    memset(&p, 0, sizeof p);
    p.c = j->c, p.dtype = j->o->kind->dtype, p.c_dtype = j->o->kind->c_dtype, p.fast = j->o->kind->fast_accum;
    p.m = j->m, p.n = j->n, p.k = j->k;
    p.lda = (uint64_t)j->lda, p.ldb = (uint64_t)j->ldb, p.ldc = (uint64_t)j->ldc;
    p.seed_a = 1, p.seed_b = 2, p.world = 1;
    p.transposed = j->o->transposed;
    return gemm_right(j->w, &p, j->flag, who);
}

static iris_status ours(job *j, int set, iris_stream stream)
{
    const launcher pattern = patterns[j->o->pattern];
    return (pattern ? pattern : j->o->kind->local)(j->w, &j->plan[j->path][set], stream);
}

/* One call, of the inputs whose turn it is: an iris_bench_fn. */
static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    job *j = (job *)arg;
    const int set = turn % j->sets;
    if (j->who == OURS)
        return ours(j, set, stream);
    if (j->who == COPIES)
        return iris_gemm_pack(w, &j->plan[j->path][set], stream);
    return peer_gemm(&j->vendor, j->who, j->a[set], j->b[set], j->c, stream)
               ? IRIS_OK
               : irisi_fail(w, IRIS_ERR_DEVICE, "the peer refuses the problem");
}

/* Microseconds of one GEMM: ours, our copies of operands alone, or the peer's algorithm; `laps` between two events. */
static double once(job *j, int who, int laps)
{
    j->who = who;
    return bench_calls(j->w, submit, j, laps, j->begin, j->end);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Elements from row to row. */
static int64_t padded(const job *j, uint64_t n)
{
    const int64_t unit = j->o->pad > 1 ? j->o->pad : 1;
    return ((int64_t)n + unit - 1) / unit * unit;
}

/* Plans of a path, of all sets, or a sentence and none where its row cannot be. 0, or 1 when that is no row's fault. */
static int plan_path(job *j, int path, const iris_gemm_args *args)
{
    const iris_gemm_op op = j->o->pattern ? IRIS_GEMM_ALL_SCATTER : IRIS_GEMM_LOCAL;
    iris_gemm_args g = *args;
    g.tune = j->o->row[path];
    for (j->has[path] = 0; j->has[path] < j->sets; j->has[path]++) {
        const int i = j->has[path];
        g.a = j->a[i], g.b = j->b[i];
        if (iris_gemm_prepare(j->w, &j->plan[path][i], op, j->o->kind->dtype, &g) == IRIS_OK)
            continue;
        if (path == 0 || i > 0)
            return fprintf(stderr, "%s\n", iris_error_string(j->w)), 1;
        break;
    }
    return 0;
}

static int prepare(job *j)
{
    const operands_kind *const t = j->o->kind;
    const uint64_t element = iris_dtype_bytes(t->dtype);
    iris_gemm_args g;
    j->lda = padded(j, j->k), j->ldc = padded(j, j->n);
    j->ldb = padded(j, j->o->transposed ? j->k : j->n);
    const uint64_t a = j->m * (uint64_t)j->lda, b = (j->o->transposed ? j->n : j->k) * (uint64_t)j->ldb;
    j->sets = (a + b) * element > 200u << 20 ? 1 : (a + b) * element > 100u << 20 ? 2 : SETS;
    j->c_bytes = j->m * (uint64_t)j->ldc * iris_dtype_bytes(t->c_dtype);
    j->c = (char *)iris_malloc(j->w, j->c_bytes);
    memset(&g, 0, sizeof g);
    g.m = (int64_t)j->m, g.n = (int64_t)j->n, g.k = (int64_t)j->k;
    g.c = j->c, g.b_transposed = j->o->transposed, g.tf32 = t->tf32, g.fast_accum = t->fast_accum;
    g.lda = j->lda, g.ldb = j->ldb, g.ldc = j->ldc;
    g.tile_n = j->o->tile_n, g.workgroups = j->o->workgroups;
    for (int i = 0; i < j->sets; i++) {
        j->a[i] = (char *)iris_malloc(j->w, a * element);
        j->b[i] = (char *)iris_malloc(j->w, b * element);
        if (!j->c || !j->a[i] || !j->b[i])
            return fprintf(stderr, "%s\n", iris_error_string(j->w)), 1;
        IRIS_TRY(gemm_fill(j->w, t->dtype, j->a[i], a, 2 * (uint64_t)i + 1));
        IRIS_TRY(gemm_fill(j->w, t->dtype, j->b[i], b, 2 * (uint64_t)i + 2));
    }
    for (int path = 0; path < j->o->paths; path++)
        if (plan_path(j, path, &g))
            return 1;
    return 0;
}

static int release(job *j)
{
    for (int i = 0; i < j->sets; i++) {
        for (int path = 0; path < j->o->paths; path++)
            if (j->has[path])
                IRIS_TRY(iris_gemm_release(j->w, &j->plan[path][i]));
        IRIS_TRY(iris_free(j->w, j->b[i]));
        IRIS_TRY(iris_free(j->w, j->a[i]));
    }
    IRIS_TRY(iris_free(j->w, j->c));
    return 0;
}

/* What the plan's copies of operands cost, where it has some. */
static void time_copies(job *j, int laps)
{
    double bytes = 0;
    for (int i = 0; i < 2; i++)
        if (j->plan[0][0].launcher.packs[i].to)
            bytes +=
                2 * (double)j->plan[0][0].launcher.packs[i].rows * (double)j->plan[0][0].launcher.packs[i].row_bytes;
    const double us = bytes > 0 ? once(j, COPIES, laps) : 0;
    if (us > 0)
        printf("    of that, aligned copies of operands take %.1f us: %.0f GB/s read and written\n", us,
               bytes / us * 1e-3);
}

static const char *loop_name(uint32_t mainloop)
{
    return mainloop == IRISI_GEMM_SM90A               ? "sm90a"
           : mainloop == IRISI_GEMM_SM90A_UNALIGNED_B ? "sm90a_unaligned_b"
           : mainloop == IRISI_GEMM_GEMV              ? "gemv"
           : mainloop == IRISI_GEMM_PLAIN             ? "plain"
                                                      : "other";
}

/* Poisons C, computes it by a path and looks at it. 1: right, 0: wrong, -1: it failed. */
static int path_right(job *j, int path)
{
    j->path = path;
    if (iris_memset(j->w, j->c, 0xff, j->c_bytes) != IRIS_OK || once(j, OURS, 1) < 0)
        return -1;
    return right(j, path ? j->o->row[path] : "iris");
}

/* The paths of a shape, for the file; what the library chooses is the first. */
static void put_paths(const job *j, FILE *file, const double *us, const int *fine)
{
    const char *comma = "";
    fprintf(file, ", \"paths\": [");
    for (int path = 0; path < j->o->paths; path++) {
        const iris_gemm_plan *p = &j->plan[path][0];
        if (!j->has[path])
            continue;
        fprintf(file,
                "%s{\"row\": \"%s\", \"loop\": \"%s\", \"tile\": [%u, %u], \"split_k\": %u, \"copies\": %d, "
                "\"us\": %.2f, \"ok\": %s}",
                comma, path ? j->o->row[path] : "", loop_name(p->mainloop), p->tiling.tile_m, p->tiling.tile_n,
                p->tiling.split_k, p->launcher.packs[0].to || p->launcher.packs[1].to, us[path],
                fine[path] ? "true" : "false");
        comma = ", ";
    }
    fprintf(file, "]");
}

/* The peer's fastest algorithm whose C is right, or -1: some add sums up that they have rounded before. */
static int choose_right(job *j)
{
    const peer_inputs in = {j->a, j->b, j->sets, j->c, j->begin, j->end};
    int best = peer_choose(&j->vendor, j->w, &in, 0);
    for (uint32_t wrong = 0; best >= 0; best = peer_choose(&j->vendor, j->w, &in, wrong)) {
        if (iris_memset(j->w, j->c, 0xff, j->c_bytes) == IRIS_OK && once(j, best, 1) > 0 && right(j, "peer"))
            break;
        wrong |= 1u << best;
    }
    return best;
}

/* Medians of all paths and the peer, which are timed in turn. */
static void time_all(job *j, int best, int laps, double *us, double *peer_us)
{
    static double mine[PATHS][ROUNDS];
    double theirs[ROUNDS];
    const int rounds = j->o->rounds < ROUNDS ? j->o->rounds : ROUNDS;
    for (int i = 0; i < rounds; i++) {
        for (j->path = 0; j->path < j->o->paths; j->path++)
            mine[j->path][i] = j->has[j->path] ? once(j, OURS, laps) : 0;
        j->path = 0;
        theirs[i] = best >= 0 ? once(j, best, laps) : -1;
    }
    for (int path = 0; path < j->o->paths; path++) {
        qsort(mine[path], (size_t)rounds, sizeof *mine[path], compare);
        us[path] = mine[path][rounds / 2];
    }
    qsort(theirs, (size_t)rounds, sizeof *theirs, compare);
    *peer_us = theirs[rounds / 2];
}

/* One shape: 0, or 1 when something failed. */
static int run_shape(job *j, FILE *file, int first, double *ratio)
{
    double us[PATHS] = {0}, peer_us;
    int fine[PATHS] = {0}, ok = 1;
    const double work = 2.0 * (double)j->m * (double)j->n * (double)j->k;
    if (prepare(j))
        return 1;
    j->vendor.tf32 = j->o->kind->tf32, j->vendor.fast_accum = j->o->kind->fast_accum;
    if (!peer_problem(&j->vendor, j->o->kind->dtype, j->o->kind->c_dtype, j->m, j->n, j->k, j->lda, j->ldb, j->ldc,
                      j->o->transposed))
        j->vendor.algorithms = 0;
    for (int path = 0; path < j->o->paths; path++) {
        const int said = j->has[path] ? path_right(j, path) : 1;
        if (said < 0)
            return 1;
        fine[path] = said, ok &= said;
    }
    j->path = 0;
    const int best = choose_right(j);
    const double guess = once(j, OURS, 2);
    const int laps = guess > 1000 ? 2 : guess > 200 ? 4 : 8;
    time_all(j, best, laps, us, &peer_us);
    *ratio = best >= 0 ? peer_us / us[0] : 0;
    const iris_gemm_plan *p = &j->plan[0][0];
    printf("%5llu x %5llu x %5llu  loop %u tile %3ux%3u cluster %u split_k %u%s %9.1f us %6.1f TFLOP/s   peer %9.1f us "
           "%6.1f   ratio %.3f %s\n",
           (unsigned long long)j->m, (unsigned long long)j->n, (unsigned long long)j->k, p->mainloop, p->tiling.tile_m,
           p->tiling.tile_n, p->tiling.cluster, p->tiling.split_k, p->machine.tma_store ? " tma_store" : "", us[0],
           work / us[0] * 1e-6, peer_us, work / peer_us * 1e-6, *ratio, ok ? "ok" : "WRONG");
    time_copies(j, laps);
    fflush(stdout);
    if (file) {
        fprintf(file,
                "%s\n    {\"m\": %llu, \"n\": %llu, \"k\": %llu, \"us\": %.2f, \"tflops\": %.1f, \"peer_us\": %.2f, "
                "\"ratio\": %.4f, \"ok\": %s",
                first ? "" : ",", (unsigned long long)j->m, (unsigned long long)j->n, (unsigned long long)j->k, us[0],
                work / us[0] * 1e-6, peer_us, *ratio, ok ? "true" : "false");
        if (j->o->paths > 1)
            put_paths(j, file, us, fine);
        fprintf(file, "}");
        fflush(file); /* a run may be stopped */
    }
    return release(j) || !ok;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    FILE *file = o->json ? fopen(o->json, "w") : NULL;
    int failed = 0, counted = 0;
    double product = 0;
    static job j;
    j.w = w, j.o = o;
    IRIS_TRY(iris_event_create(w, &j.begin));
    IRIS_TRY(iris_event_create(w, &j.end));
    j.flag = (uint32_t *)iris_malloc(w, sizeof *j.flag);
    const int there = peer_open(&j.vendor);
    printf("%s, %s, B %s\n", iris_device_name(w), o->kind->name, o->transposed ? "n x k" : "k x n");
    if (file)
        fprintf(file,
                "{\n  \"schema\": \"iris-gemm-local-1\",\n  \"device\": \"%s\",\n  \"arch\": \"%s\",\n  \"commit\": "
                "\"%s\",\n  \"dtype\": \"%s\",\n  \"b_transposed\": %d,\n  \"peer\": \"%s\",\n  \"rounds\": %d,\n  "
                "\"rows\": [",
                iris_device_name(w), iris_arch_name(w), o->commit, o->kind->name, o->transposed,
                there ? "cuBLASLt, best of 16 algorithms" : "none", o->rounds);
    for (int i = 0; i < o->shapes; i++) {
        double ratio = 0;
        j.m = (uint64_t)o->shape[i][0], j.n = (uint64_t)o->shape[i][1], j.k = (uint64_t)o->shape[i][2];
        failed |= run_shape(&j, file, i == 0, &ratio);
        if (ratio > 0)
            product += log(ratio), counted++;
    }
    if (counted)
        printf("geometric mean of the ratios: %.3f\n", exp(product / counted));
    if (file) {
        fprintf(file, "\n  ]\n}\n");
        fclose(file);
    }
    return failed;
}

static const operands_kind *kind_of(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    fprintf(stderr, "gemm_local: '%s' is no type that it knows\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    static options o;
    iris_config config;
    memset(&config, 0, sizeof config);
    o.kind = kinds, o.paths = 1, o.rounds = 15, o.commit = "unknown";
    for (int c; (c = getopt(argc, argv, "d:tr:p:j:c:n:w:P:T:")) != -1;) {
        switch (c) {
        case 'd': o.kind = kind_of(optarg); break;
        case 't': o.transposed = 1; break;
        case 'r': o.rounds = atoi(optarg); break;
        case 'p': o.pad = atoi(optarg); break;
        case 'n': o.tile_n = (uint32_t)atoi(optarg); break;
        case 'w': o.workgroups = (uint32_t)atoi(optarg); break;
        case 'P': o.pattern = atoi(optarg); break;
        case 'T':
            if (o.paths == PATHS) {
                fprintf(stderr, "gemm_local: at most %d rows\n", PATHS - 1);
                return 2;
            }
            o.row[o.paths++] = optarg;
            break;
        case 'j': o.json = optarg; break;
        case 'c': o.commit = optarg; break;
        default:
            printf("gemm_local [-d bf16|f16|tf32|f32|f64|f8e4m3|f8e4m3_fast|i8] [-t] [-r ROUNDS] [-p PAD] [-n TILE_N] "
                   "[-w WORKGROUPS] "
                   "[-P PATTERN] [-T ROW]... [-j FILE] [-c COMMIT] [MxNxK...]\n");
            return 2;
        }
    }
    if (o.pattern < 0 || o.pattern >= IRIS_GEMM_PATTERNS || (o.pattern > 0 && o.kind != kinds)) {
        fprintf(stderr, "gemm_local: patterns are 0 to %d, and of bf16 alone\n", IRIS_GEMM_PATTERNS - 1);
        return 2;
    }
    o.shapes = gemm_shapes_read("gemm_local", argc - optind, argv + optind, GEMM_SHAPES, o.shape, SHAPES);
    config.heap_bytes = (size_t)6 << 30;
    return iris_spawn_config(1, rank_main, &o, &config);
}
