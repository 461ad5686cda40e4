/* SPDX-License-Identifier: MIT */
/*
 * plane.h: what the examples on a plane (a plate, a matrix of scores) share: a command line, and random numbers of
 * which every rank can make any.
 *
 *   options command parse_options    the command line
 *   random_at                        the random number of a place
 */
#ifndef PLANE_H
#define PLANE_H

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

typedef struct options {
    int ranks;
    uint32_t rows, columns;
    uint32_t number; /* of the example's own option */
    uint64_t seed;
} options;

/* What --help says of an example, and its own option, which takes a number from 1 to `most`. */
typedef struct command {
    const char *does, *sides;
    const char *option, *means;
    uint32_t most;
    options usual;
} command;

static inline int parse_shape(options *o, const char *text)
{
    int used = 0;
    const int sides = sscanf(text, "%6ux%6u%n", &o->rows, &o->columns, &used);
    return sides == 2 && text[used] == 0 && strspn(text, "0123456789x") == strlen(text) && o->rows && o->columns;
}

static inline void help(const char *program, const command *c)
{
    printf("usage: %s [option...] [RANKS]\n%s\n\n"
           "  RANKS            1 to %d (default %d)\n"
           "  -s, --shape RxC  %s (default %ux%u)\n",
           program, c->does, MOST_RANKS, c->usual.ranks, c->sides, c->usual.rows, c->usual.columns);
    printf("      --%s N%*s%s, 1 to %u (default %u)\n", c->option, 9 - (int)strlen(c->option), "", c->means, c->most,
           c->usual.number);
    printf("      --seed N     another one makes other numbers (default %u)\n"
           "  -h, --help       this\n",
           (unsigned)c->usual.seed);
}

/* -1 to go on, else the program's exit status. */
static inline int parse_options(options *o, int argc, char **argv, const command *c)
{
    const struct option known[] = {{"shape", 1, NULL, 's'},
                                   {c->option, 1, NULL, 'n'},
                                   {"seed", 1, NULL, 'r'},
                                   {"help", 0, NULL, 'h'},
                                   {NULL, 0, NULL, 0}};
    int letter;
    *o = c->usual;
    while ((letter = getopt_long(argc, argv, "s:h", known, NULL)) != -1) {
        switch (letter) {
        case 's':
            if (!parse_shape(o, optarg))
                return refuse(argv, optarg, "--shape", "RxC with sides of 1 to 999999");
            break;
        case 'n':
            if ((o->number = (uint32_t)parse_number(optarg, c->most)) == 0)
                return refuse(argv, optarg, "this option", "a number in the range that --help says");
            break;
        case 'r':
            if ((o->seed = parse_number(optarg, UINT32_MAX)) == 0)
                return refuse(argv, optarg, "--seed", "a number from 1 to 4294967295");
            break;
        case 'h': help(argv[0], c); return 0;
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

/* A random number that depends on the seed and the place alone: SplitMix64. */
static inline uint64_t random_at(uint64_t seed, uint64_t place)
{
    return mixed((seed << 32) + (place + 1) * 0x9E3779B97F4A7C15u);
}

#endif
