/* SPDX-License-Identifier: MIT */
/* options.h: the command line of this example. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/gemm/plan.h>

typedef struct shape {
    int m, n, k;
} shape;

enum { MAX_SHAPES = 16, MAX_REPEATS = 1000 };

typedef struct options {
    int ranks, repeats;
    shape shapes[MAX_SHAPES];
    int n_shapes;
    int pattern; /* 0: all five */
    iris_dtype dtype;
    const char *json;
} options;

static const char *const pattern_names[] = {"all", "bulk_synchronous", "producer_consumer", "fused_sequential",
                                            "wg_specialized", "wave_specialized"};

/* The six shapes of Iris's study (arXiv 2511.12500) with every side divided by 8, and one that divides nothing. */
static const shape default_shapes[] = {{1024, 448, 1792},  {1024, 512, 1536},  {1024, 512, 1792}, {1024, 576, 4608},
                                       {1024, 1024, 3584}, {1024, 1024, 3840}, {1021, 509, 1531}};

/* `./run demo --help` prints these lines before anything is built: it takes them from here. */
static void print_help(void)
{
    puts("GEMM + all-scatter: every rank computes a band of C's columns and writes it to every rank, in five\n"
         "patterns, each checked element by element against OpenBLAS in f64 and then timed.\n"
         "\n"
         "  -n, --ranks N        rank processes, 1 to 8 (default 4)\n"
         "  -s, --shape MxNxK    this shape instead of the seven; may be given 16 times\n"
         "  -p, --pattern NAME   only bulk_synchronous, producer_consumer, fused_sequential, wg_specialized or\n"
         "                       wave_specialized\n"
         "  -d, --dtype NAME     f32 (default), f64, f16 or bf16\n"
         "  -r, --repeats N      timed runs of each row; the table has their median (default 5)\n"
         "  -j, --json FILE      write the rows there too\n"
         "  -h, --help           this");
}

/* A number from `low` to `high`, and nothing after it; 0 otherwise. */
static int parse_number(const char *text, int low, int high)
{
    char *end;
    const long v = strtol(text, &end, 10);
    return end != text && *end == 0 && v >= low && v <= high ? (int)v : 0;
}

static int parse_shape(const char *text, shape *s)
{
    int used = 0;
    if (!isdigit((unsigned char)text[0]) || sscanf(text, "%8dx%8dx%8d%n", &s->m, &s->n, &s->k, &used) != 3)
        return 0;
    return text[used] == 0 && s->m > 0 && s->n > 0 && s->k > 0;
}

/* The index of a name; -1 when it is none of them. */
static int parse_name(const char *text, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return -1;
}

/* One option; 0 when its value is no good. */
static int parse_option(options *o, int letter, const char *value)
{
    static const char *const dtypes[] = {"f32", "f64", "f16", "bf16"};
    static const iris_dtype values[] = {IRIS_F32, IRIS_F64, IRIS_F16, IRIS_BF16};
    int i;
    switch (letter) {
    case 'n': return (o->ranks = parse_number(value, 1, 8)) != 0;
    case 'r': return (o->repeats = parse_number(value, 1, MAX_REPEATS)) != 0;
    case 's': return o->n_shapes < MAX_SHAPES && parse_shape(value, &o->shapes[o->n_shapes++]);
    case 'p': return (o->pattern = parse_name(value, pattern_names, IRIS_GEMM_PATTERNS)) >= 0;
    case 'd':
        i = parse_name(value, dtypes, 4);
        o->dtype = values[i < 0 ? 0 : i];
        return i >= 0;
    default: o->json = value; return value[0] != 0;
    }
}

/* What an option takes. */
static const char *good_values(int letter)
{
    switch (letter) {
    case 'n': return "a number of ranks, 1 to 8";
    case 'r': return "a number of runs, 1 to 1000";
    case 's': return "MxNxK with sides of 1 to 99999999, at most 16 times";
    case 'p': return "all or a pattern's name, as --help has them";
    case 'd': return "f32, f64, f16 or bf16";
    default: return "the name of a file";
    }
}

/* 0 when the rows can be written later: found out before the work that they come from. */
static int can_write(const char *path)
{
    FILE *f = fopen(path, "a");
    return f ? fclose(f) : -1;
}

/* -1 to go on, else the program's exit status. */
static int parse_options(options *o, int argc, char **argv)
{
    static const struct option known[] = {{"ranks", 1, NULL, 'n'}, {"shape", 1, NULL, 's'}, {"pattern", 1, NULL, 'p'},
                                          {"dtype", 1, NULL, 'd'}, {"repeats", 1, NULL, 'r'}, {"json", 1, NULL, 'j'},
                                          {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    int letter, index = 0;
    memset(o, 0, sizeof *o);
    o->ranks = 4, o->repeats = 5, o->dtype = IRIS_F32;
    while ((letter = getopt_long(argc, argv, "n:s:p:d:r:j:h", known, &index)) != -1) {
        if (letter == 'h')
            return print_help(), 0;
        if (letter == '?')
            return 2; /* getopt has said what is wrong */
        if (!parse_option(o, letter, optarg)) {
            fprintf(stderr, "%s: '%s' is no good for -%c, which takes %s\n", argv[0], optarg, letter,
                    good_values(letter));
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "%s: '%s' is not an option; --help lists them\n", argv[0], argv[optind]);
        return 2;
    }
    if (o->json && can_write(o->json) != 0) {
        fprintf(stderr, "%s: cannot write %s: %s\n", argv[0], o->json, strerror(errno));
        return 2;
    }
    if (o->n_shapes == 0) {
        o->n_shapes = (int)(sizeof default_shapes / sizeof default_shapes[0]);
        memcpy(o->shapes, default_shapes, sizeof default_shapes);
    }
    return -1;
}

#endif
