/* SPDX-License-Identifier: MIT */
/*
 * layer.h: what the examples of layers share: a command line, random matrices of which every rank can make any element,
 * and a plain product in double to compare with.
 *
 *   options parse_options parse_more heap_for      the command line, and the heap that its shape needs
 *   matrix matrix_of element part_of               random matrices
 *   upload download                                parts of them on the device, and what it computed back
 *   transposed row_of add_part dot tolerance       the plain product, and what a correct one may differ by
 *   verdict judge told differs                     what the ranks found
 */
#ifndef LAYER_H
#define LAYER_H

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/iris.h>
#include <iris/init.h>
#include <iris/gemm/plan.h>

#include "common.h"

enum { CHECKED_ROWS = 128 };

typedef struct options {
    int ranks;
    uint32_t m, n, k;
    iris_dtype dtype;
    uint64_t seed;
    iris_gemm_pattern pattern;
    uint32_t workgroups; /* parse_more's */
    int weight_gradient; /* likewise */
} options;

static inline int parse_shape(options *o, const char *text)
{
    int used = 0;
    const int sides = sscanf(text, "%6ux%6ux%6u%n", &o->m, &o->n, &o->k, &used);
    return sides == 3 && text[used] == 0 && strspn(text, "0123456789x") == strlen(text) && o->m && o->n && o->k;
}

static inline int parse_dtype(options *o, const char *text)
{
    o->dtype = strcmp(text, "bf16") == 0 ? IRIS_BF16 : IRIS_F32;
    return strcmp(text, iris_dtype_name(o->dtype)) == 0;
}

static inline int parse_pattern(options *o, const char *text)
{
    uint32_t pattern = IRIS_GEMM_AUTO;
    while (pattern < IRIS_GEMM_PATTERNS && strcmp(text, iris_gemm_pattern_name((iris_gemm_pattern)pattern)) != 0)
        pattern++;
    o->pattern = (iris_gemm_pattern)pattern;
    return pattern < IRIS_GEMM_PATTERNS;
}

/*
 * `does`: one sentence for --help; `sides`: what M, N and K are. `own`: the letter of the option that not every program
 * has, 'p' or 'w', or 'g', which has 'p' too, or 0; `workgroups`: what --workgroups is. -1 to go on, else the program's
 * exit status.
 */
static inline int parse_more(options *o, int argc, char **argv, const char *does, const char *sides, int own,
                             const char *workgroups)
{
    static const struct option known[] = {
        {"shape", 1, NULL, 's'},      {"dtype", 1, NULL, 'd'},
        {"seed", 1, NULL, 'r'},       {"pattern", 1, NULL, 'p'},
        {"workgroups", 1, NULL, 'w'}, {"weight-gradient", 0, NULL, 'g'},
        {"help", 0, NULL, 'h'},       {NULL, 0, NULL, 0}};
    const int patterns = own == 'p' || own == 'g';
    int letter;
    memset(o, 0, sizeof *o);
    o->ranks = 4, o->m = 127, o->n = 200, o->k = 90, o->dtype = IRIS_F32, o->seed = 1; /* no side divides evenly */
    while ((letter = getopt_long(argc, argv, patterns ? "s:d:p:h" : own ? "s:d:w:h" : "s:d:h", known, NULL)) != -1) {
        switch (letter) {
        case 's':
            if (!parse_shape(o, optarg))
                return refuse(argv, optarg, "--shape", "MxNxK with sides of 1 to 999999");
            break;
        case 'd':
            if (!parse_dtype(o, optarg))
                return refuse(argv, optarg, "--dtype", "f32 or bf16");
            break;
        case 'r':
            if ((o->seed = parse_number(optarg, UINT32_MAX)) == 0)
                return refuse(argv, optarg, "--seed", "a number from 1 to 4294967295");
            break;
        case 'p':
            if (!patterns || !parse_pattern(o, optarg))
                return refuse(argv, optarg, "--pattern",
                              patterns ? "auto or a pattern's name, as --help has them"
                                         : "which this program does not have");
            break;
        case 'w':
            if (own != 'w' || (o->workgroups = (uint32_t)parse_number(optarg, 1024)) == 0)
                return refuse(argv, optarg, "--workgroups",
                              own == 'w' ? "a number from 1 to 1024" : "which this program does not have");
            break;
        case 'g':
            if (own != 'g')
                return refuse(argv, argv[optind - 1], "the program", "which has no weight gradient");
            o->weight_gradient = 1;
            break;
        case 'h':
            printf("usage: %s [option...] [RANKS]\n%s\n\n"
                   "  RANKS                1 to %d (default %d)\n"
                   "  -s, --shape MxNxK    %s (default %ux%ux%u)\n"
                   "  -d, --dtype NAME     f32 (default) or bf16\n"
                   "      --seed N         another one makes other matrices (default 1)\n",
                   argv[0], does, MOST_RANKS, o->ranks, sides, o->m, o->n, o->k);
            if (patterns)
                printf("  -p, --pattern NAME   bulk_synchronous, producer_consumer, fused_sequential, wg_specialized\n"
                       "                       or wave_specialized; auto (default): the library chooses\n");
            if (own == 'w')
                printf("  -w, --workgroups N   %s\n", workgroups);
            if (own == 'g')
                printf("      --weight-gradient  A is given as K x M: C = 1/2 transposed(A) * B\n");
            printf("  -h, --help           this\n");
            return 0;
        default: return 2; /* getopt has said what is wrong */
        }
    }
    if (optind == argc)
        return -1;
    o->ranks = (int)parse_number(argv[optind], MOST_RANKS);
    if (o->ranks == 0 || optind + 1 < argc)
        return refuse(argv, argv[argc - 1], "the program", "one number of ranks from 1 to 8");
    return -1;
}

static inline int parse_options(options *o, int argc, char **argv, const char *does, const char *sides)
{
    return parse_more(o, argc, argv, does, sides, 0, NULL);
}

/* A heap that holds so many elements; the default one where that is larger. */
static inline iris_config heap_for(const options *o, size_t elements)
{
    iris_config config;
    memset(&config, 0, sizeof config);
    const size_t bytes = elements * iris_dtype_bytes(o->dtype) + (4u << 20);
    config.heap_bytes = bytes > (64u << 20) ? bytes : 0;
    return config;
}

/* A matrix of random numbers in [-1, 1), each rounded to the type, and each a function of its place alone. */
typedef struct matrix {
    uint64_t seed;
    uint32_t rows, columns;
    iris_dtype dtype;
} matrix;

/* `which`: another number for each matrix of an example. */
static inline matrix matrix_of(const options *o, uint32_t which, uint32_t rows, uint32_t columns)
{
    matrix x;
    x.seed = mixed(16 * o->seed + which);
    x.rows = rows, x.columns = columns, x.dtype = o->dtype;
    return x;
}

static inline float element(const matrix *x, size_t row, size_t column)
{
    const uint64_t z = mixed(x->seed + (row * x->columns + column + 1) * 0x9E3779B97F4A7C15u);
    const float v = (float)((double)(z >> 11) / 4503599627370496.0 - 1);
    return x->dtype == IRIS_BF16 ? iris_widen_bf16(iris_narrow_bf16(v)) : v;
}

static inline double at(iris_dtype dtype, const void *p, size_t i)
{
    return dtype == IRIS_BF16 ? iris_widen_bf16(((const iris_bf16 *)p)[i]) : ((const float *)p)[i];
}

/* Some rows and columns of a matrix, without gaps; to be freed. */
static inline void *part_of(const matrix *x, iris_gemm_rows rows, iris_gemm_columns columns)
{
    const size_t n = (size_t)rows.count * columns.count;
    const int narrow = x->dtype == IRIS_BF16;
    float *wide = (float *)malloc((n + 1) * sizeof *wide);
    for (size_t i = 0; wide != NULL && i < n; i++) {
        const float v = element(x, rows.first + i / columns.count, columns.first + i % columns.count);
        if (narrow)
            ((iris_bf16 *)(void *)wide)[i] = iris_narrow_bf16(v);
        else
            wide[i] = v;
    }
    return wide;
}

/* The same into memory of the device. */
static inline iris_status upload(iris_world *w, void *to, const matrix *x, iris_gemm_rows rows,
                                 iris_gemm_columns columns)
{
    void *part = part_of(x, rows, columns);
    const size_t bytes = (size_t)rows.count * columns.count * iris_dtype_bytes(x->dtype);
    const iris_status status = part ? iris_memcpy(w, to, part, bytes) : IRIS_ERR_NOMEM;
    free(part);
    return status;
}

/* Bytes of the device on the host, after all work before; to be freed. */
static inline void *download(iris_world *w, const void *from, size_t bytes)
{
    void *host = malloc(bytes + 1);
    if (host != NULL && iris_synchronize(w) == IRIS_OK && iris_memcpy(w, host, from, bytes) == IRIS_OK)
        return host;
    fprintf(stderr, "rank %d: %s\n", iris_rank(w), host ? iris_error_string(w) : "no memory on the host");
    free(host);
    return NULL;
}

/* The columns of a matrix, one after the other; to be freed. */
static inline float *transposed(const matrix *x, iris_gemm_columns columns)
{
    float *t = (float *)malloc(((size_t)x->rows * columns.count + 1) * sizeof *t);
    for (size_t j = 0; t != NULL && j < columns.count; j++)
        for (size_t i = 0; i < x->rows; i++)
            t[j * x->rows + i] = element(x, i, columns.first + j);
    return t;
}

/* How many of so many rows are checked: all, or of many rows a sample from the first to the last. */
static inline uint32_t checked_rows(uint32_t rows) { return rows < CHECKED_ROWS ? rows : (uint32_t)CHECKED_ROWS; }
static inline uint32_t row_of(uint32_t i, uint32_t rows)
{
    return rows <= CHECKED_ROWS ? i : (uint32_t)((uint64_t)i * (rows - 1) / (CHECKED_ROWS - 1));
}

/* An element of A * B: its sum, and what its rounding errors are in proportion to. */
typedef struct product {
    double sum;
    double terms;     /* of the absolute values of all terms */
    double parts;     /* of the absolute values of the ranks' partial sums */
    double inherited; /* what errors of A make of the sum, at most */
} product;

/*
 * Adds the terms first, first + 1, ... (count of them) of a row of A times a column of B, which one rank adds up. Each
 * value of A may be off by a_error; null: by nothing.
 */
static inline void add_part(product *p, const double *a, const double *a_error, const float *b, uint32_t first,
                            uint32_t count)
{
    double part = 0;
    for (uint32_t i = first; i < first + count; i++) {
        part += a[i] * b[i];
        p->terms += fabs(a[i] * b[i]);
        p->inherited += a_error ? a_error[i] * fabs(b[i]) : 0;
    }
    p->sum += part, p->parts += fabs(part);
}

/* A row of A times a column of B, K split over so many ranks as by iris_gemm_shard. */
static inline product dot(const double *a, const float *b, uint32_t k, uint32_t world)
{
    product p = {0, 0, 0, 0};
    for (uint32_t r = 0; r < world; r++)
        add_part(&p, a, NULL, b, iris_gemm_shard(k, world, r).first, iris_gemm_shard(k, world, r).count);
    return p;
}

/*
 * What a correct element may differ by. The accumulator's k rounding errors add up like a random walk: 4 sqrt(k) of
 * them, each of a sum of at most all terms, are exceeded by no element in practice (N. Higham, T. Mary, "A New Approach
 * to Probabilistic Rounding Error Analysis", 2019, with lambda = 4). Each partial sum is rounded to C's type, then
 * added in f32, and the result is rounded.
 */
static inline double tolerance(iris_dtype dtype, uint32_t k, const product *p, double value)
{
    const double f32 = ldexp(1, -24), out = dtype == IRIS_BF16 ? ldexp(1, -8) : f32;
    return f32 * (4 * sqrt(k) * p->terms + (double)MOST_RANKS * p->parts) + out * (p->parts + fabs(value)) +
           p->inherited + 1e-30;
}

/* The element farthest from what it should be; `worst`: how far, as a part of what rounding may cause. */
typedef struct verdict {
    double worst, got, want, allowed;
    uint64_t row, column;
} verdict;

static inline void judge(verdict *v, uint64_t row, uint64_t column, double got, double want, double allowed)
{
    const double share = fabs(got - want) / allowed;
    if (share <= v->worst || !(v->worst <= 1)) /* the first that is wrong stays; a NaN is wrong */
        return;
    v->worst = share, v->got = got, v->want = want, v->allowed = allowed, v->row = row, v->column = column;
}

/* What all ranks found, in one sentence from rank 0. Returns 1 when one of them found something wrong. */
static inline int told(iris_world *w, const verdict *mine, const char *what)
{
    verdict all[MOST_RANKS];
    double worst = 0;
    IRIS_TRY(iris_allgather(w, mine, all, sizeof *mine));
    for (int r = 0; r < iris_world_size(w); r++) {
        const verdict *v = &all[r];
        if (!(v->worst <= 1)) {
            if (iris_rank(w) == 0)
                fprintf(stderr,
                        "%s is wrong: on rank %d row %llu, column %llu is %g, not %g, which rounding may change "
                        "by %g\n",
                        what, r, (unsigned long long)v->row, (unsigned long long)v->column, v->got, v->want,
                        v->allowed);
            return 1;
        }
        worst = v->worst > worst ? v->worst : worst;
    }
    if (iris_rank(w) == 0)
        printf("%s is right on %d ranks; largest error: %.2g of what rounding may cause\n", what, iris_world_size(w),
               worst);
    return 0;
}

/* 1 when the ranks have different bytes, and then a sentence from rank 0. */
static inline int differs(iris_world *w, const void *bytes, size_t n, const char *what)
{
    uint64_t mine = 1, all[MOST_RANKS];
    for (size_t i = 0; i < n; i++)
        mine = (mine ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u; /* FNV-1 */
    IRIS_TRY(iris_allgather(w, &mine, all, sizeof mine));
    for (int r = 1; r < iris_world_size(w); r++)
        if (all[r] != all[0]) {
            if (iris_rank(w) == 0)
                fprintf(stderr, "%s is not the same, bit for bit, on rank 0 and on rank %d\n", what, r);
            return 1;
        }
    return 0;
}

#endif
