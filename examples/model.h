/* SPDX-License-Identifier: MIT */
/*
 * model.h: what the examples of parts of models share: a command line of numbers, and a time.
 *
 *   number parse_numbers worse launched LAUNCHES median_us
 */
#ifndef MODEL_H
#define MODEL_H

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <iris/bench.h>

#include "common.h"

/* An option: --name NUMBER from `least` (1 or more) to `most`; with `most` 0 --name alone, which makes the value 1. */
typedef struct number {
    const char *name;
    uint32_t *value;
    uint32_t least, most;
    const char *what;
} number;

enum { MOST_NUMBERS = 12 };

/*
 * Reads so many known options, of which each value is the default, and the number of ranks. `does`: a sentence for
 * --help. -1 to go on, else the program's exit status.
 */
static inline int parse_numbers(int argc, char **argv, const char *does, const number *known, int n, int *ranks)
{
    struct option table[MOST_NUMBERS + 2];
    char takes[80];
    int at = -1, letter;
    memset(table, 0, sizeof table);
    for (int i = 0; i < n; i++)
        table[i].name = known[i].name, table[i].has_arg = known[i].most > 0;
    table[n].name = "help", table[n].val = 'h';
    while ((letter = getopt_long(argc, argv, "h", table, &at)) != -1) {
        if (letter == 'h') {
            printf("usage: %s [option...] [RANKS]\n%s\n\n  %-18s 1 to %d (default %d)\n", argv[0], does, "RANKS",
                   MOST_RANKS, *ranks);
            for (int i = 0; i < n; i++) {
                snprintf(takes, sizeof takes, "--%s%s", known[i].name, known[i].most ? " N" : "");
                printf("  %-18s %s", takes, known[i].what);
                printf(known[i].most && *known[i].value ? " (default %u)\n" : "\n", *known[i].value);
            }
            return 0;
        }
        if (letter != 0)
            return 2; /* getopt has said what is wrong */
        const number *x = &known[at];
        *x->value = x->most ? (uint32_t)parse_number(optarg, x->most) : 1;
        snprintf(takes, sizeof takes, "a number from %u to %u", x->least, x->most);
        if (x->most && *x->value < x->least)
            return refuse(argv, optarg, x->name, takes);
    }
    if (optind == argc)
        return -1;
    *ranks = (int)parse_number(argv[optind], MOST_RANKS);
    if (*ranks == 0 || optind + 1 < argc)
        return refuse(argv, argv[argc - 1], "the program", "one number of ranks from 1 to 8");
    return -1;
}

/* The greater of two errors; a NaN, which is no number, is greater than all and stays. */
static inline double worse(double a, double b) { return isnan(a) || b <= a ? a : b; }

/* A kernel's arguments and grid, for a function `submit` that LAUNCHES(kernel, their type) defines. */
typedef struct launched {
    const void *args;
    const iris_launch_config *grid;
} launched;

#define LAUNCHES(kernel, type)                                                                                         \
    static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)                                  \
    {                                                                                                                  \
        const launched *x = (const launched *)arg;                                                                     \
        (void)turn;                                                                                                    \
        return iris_launch(w, kernel, (const type *)x->args, sizeof(type), x->grid, stream);                           \
    }

/* Microseconds of what `fn` puts on a stream, over and over, on GPUs from a graph; negative when it fails. */
static inline double median_us(iris_world *w, iris_bench_fn fn, void *arg)
{
    iris_bench_options how;
    iris_bench_result r;
    memset(&how, 0, sizeof how);
    how.graph = iris_bench_graphs(), how.calls = how.graph ? 8 : 1;
    if (iris_bench(w, iris_default_stream(w), fn, arg, &how, &r) == IRIS_OK)
        return r.median;
    fprintf(stderr, "rank %d: %s\n", iris_rank(w), iris_error_string(w));
    return -1;
}

#endif
