/* SPDX-License-Identifier: MIT */
/*
 * crowded.c: a wait gives the core away only as long as it gets it back soon. Beside programs that want the same cores
 * a yield lasts milliseconds; kernels whose every wait begins with some were a hundred times slower there. Here
 * sched_yield is a function of this file that takes that long.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <iris/iris.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { WAITS = 40, TURNS = 80 };

static unsigned yields;

int sched_yield(void)
{
    struct timespec slow;
    slow.tv_sec = 0;
    slow.tv_nsec = 3000000;
    __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
    nanosleep(&slow, NULL);
    return 0;
}

static void *wait_often(void *unused)
{
    for (uint32_t wait = 0; wait < WAITS; wait++)
        for (uint32_t turn = 0; turn < TURNS; turn++)
            iris_pause(turn);
    return unused;
}

int main(void)
{
    pthread_t other;
    if (pthread_create(&other, NULL, wait_often, NULL) != 0) {
        printf("no thread\n");
        return 1;
    }
    wait_often(NULL);
    pthread_join(other, NULL);
    printf("%u waits of %u turns yielded %u times\n", 2 * WAITS, TURNS, yields);
    /* Each thread is in one yield when the first of them ends; later ones come ever more seldom. A handful are made, or
     * some more on a slow machine; without that there are 3,840. */
    return yields > 5 * WAITS;
}
