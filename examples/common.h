/* SPDX-License-Identifier: MIT */
/* common.h: what layer.h and plane.h share: numbers on a command line, and the mixing of random ones. */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANKS = 8 };

/* A number from 1 to `most`, and nothing after it; 0 otherwise. */
static inline uint64_t parse_number(const char *text, uint64_t most)
{
    char *end;
    const unsigned long long v = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && v <= most ? v : 0;
}

static inline int refuse(char **argv, const char *value, const char *who, const char *takes)
{
    fprintf(stderr, "%s: '%s' is not what %s takes, %s; see --help\n", argv[0], value, who, takes);
    return 2;
}

/* SplitMix64's output function. */
static inline uint64_t mixed(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

#endif
