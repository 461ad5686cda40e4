/* SPDX-License-Identifier: MIT */
/* ranks.h: the command line of the small examples: how many ranks, or --help. */
#ifndef RANKS_H
#define RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 64 }; /* what the library takes without -DIRIS_FAR_RANKS */

/* The number of ranks asked for, else `usual`. Ends the program after --help, and after what it does not know. */
static int ranks_of(int argc, char **argv, int usual, const char *does)
{
    char *end;
    if (argc < 2)
        return usual;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        printf("usage: %s [RANKS]\n%s\nRANKS: how many ranks, 1 to %d; %d when not given.\n", argv[0], does, MOST_RANKS,
               usual);
        exit(0);
    }
    const long ranks = strtol(argv[1], &end, 10);
    if (argc > 2 || end == argv[1] || *end || ranks < 1 || ranks > MOST_RANKS) {
        fprintf(stderr, "%s: '%s' is not what it takes, one number of ranks from 1 to %d; see --help\n", argv[0],
                argv[argc - 1], MOST_RANKS);
        exit(2);
    }
    return (int)ranks;
}

#endif
