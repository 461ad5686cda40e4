/* SPDX-License-Identifier: MIT */
/*
 * wake.c: nobody sleeps through what he waits for. Who waits at a stream unlocks it several times before he sleeps, and
 * what happens at such a moment wakes nobody, since nobody sleeps yet. Here it happens at each of these moments: a task
 * comes while the stream's thread looks for one, and the last task ends while a caller waits for it. Both where yields
 * are quick and where the machine is so busy that none is made. Who sleeps through it sleeps for ever.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int unlock_and_act(pthread_mutex_t *lock);
static int stand_still(clockid_t clock, struct timespec *t);
#define pthread_mutex_unlock unlock_and_act
#define clock_gettime stand_still
#include "../../include/iris/init.c"
#undef pthread_mutex_unlock
#undef clock_gettime

#include <iris/iris.h>

/* What is to happen in which thread, counted in its unlockings of the stream from now on; 0: nothing any more. */
static iris_stream watched;
static pthread_t who;
static unsigned at, acted;
static void (*act)(void);

static int unlock_and_act(pthread_mutex_t *lock)
{
    const int failed = pthread_mutex_unlock(lock);
    iris_stream stream = __atomic_load_n(&watched, __ATOMIC_ACQUIRE);
    if (stream && lock == &stream->lock && __atomic_load_n(&at, __ATOMIC_ACQUIRE) != 0 &&
        pthread_equal(pthread_self(), who) && __atomic_sub_fetch(&at, 1, __ATOMIC_ACQ_REL) == 0) {
        act();
        __atomic_store_n(&acted, 1, __ATOMIC_RELEASE);
    }
    return failed;
}

/* No yield takes long, whatever the machine does. */
static int stand_still(clockid_t clock, struct timespec *t)
{
    (void)clock;
    t->tv_sec = 1;
    t->tv_nsec = 0;
    return 0;
}

static iris_world *world;
static iris_event event;
static uint32_t begun, go;

static uint64_t finished(void)
{
    pthread_mutex_lock(&watched->lock);
    const uint64_t n = watched->finished;
    pthread_mutex_unlock(&watched->lock);
    return n;
}

static int asleep(void)
{
    pthread_mutex_lock(&watched->lock);
    const int is = watched->sleeping && watched->finished == watched->submitted; /* not still, before it begins */
    pthread_mutex_unlock(&watched->lock);
    return is;
}

static void submit(void) { irisi_dev_event_record(&world->dev, event, watched); }

static void release(void)
{
    const uint64_t before = finished();
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    while (finished() == before)
        irisi_nap_ms(1);
}

typedef struct hold_args {
    uint32_t *begun, *go;
} hold_args;

IRIS_KERNEL(hold, hold_args, a, 64)
{
    __atomic_store_n(a->begun, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(a->go, __ATOMIC_ACQUIRE))
        irisi_nap_ms(1);
}

static void arm(pthread_t thread, unsigned moment, void (*what)(void))
{
    who = thread;
    act = what;
    __atomic_store_n(&acted, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&at, moment, __ATOMIC_RELEASE);
}

/* A task comes at a moment at which the stream's thread, which has just run one, has unlocked; 0: it sleeps by then. */
static int comes(unsigned moment)
{
    arm(watched->thread, moment, submit);
    submit();
    while (!asleep()) /* with a task behind it: for ever */
        irisi_nap_ms(1);
    return __atomic_load_n(&acted, __ATOMIC_ACQUIRE) != 0;
}

/* The task that a caller waits for ends at a moment at which he has unlocked; 0: he never did. */
static int ends(unsigned moment)
{
    hold_args a;
    const iris_launch_config one = iris_grid(1, 64);
    a.begun = &begun, a.go = &go;
    begun = go = 0;
    if (iris_launch(world, hold, &a, sizeof a, &one, NULL) != IRIS_OK)
        exit(1);
    while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
        irisi_nap_ms(1);
    arm(pthread_self(), moment, release);
    irisi_dev_stream_synchronize(&world->dev, watched);
    return __atomic_load_n(&acted, __ATOMIC_ACQUIRE) != 0;
}

/* Whether a wait yields or sleeps: see irisi_yield. */
static void crowd(int busy)
{
    __atomic_store_n(&irisi_crowded_until, busy ? UINT64_MAX : 0, __ATOMIC_RELAXED);
}

int main(void)
{
    unsigned moments = 0, failed = 0;
    alarm(120); /* for who sleeps for ever */
    if (iris_init(&world, NULL) != IRIS_OK || iris_event_create(world, &event) != IRIS_OK)
        return 1;
    __atomic_store_n(&watched, iris_default_stream(world), __ATOMIC_RELEASE);
    for (int busy = 0; busy < 2; busy++) {
        unsigned moment = 1;
        crowd(busy);
        while (moment < 2 * IRISI_LINGER && comes(moment))
            moment++;
        failed += moment < 3; /* after the task was taken, after it was run, … */
        moments += moment - 1;
        __atomic_store_n(&at, 0, __ATOMIC_RELEASE);
    }
    /* The caller unlocks once in a crowd, IRISI_LINGER times else; then only this can end the kernel. */
    for (unsigned moment = 1; moment <= IRISI_LINGER; moment++, moments++) {
        crowd(0);
        failed += !ends(moment);
    }
    crowd(1);
    failed += !ends(1);
    printf("nobody slept through what happened at %u moments; %u failures\n", moments + 1, failed);
    iris_event_destroy(world, event);
    return iris_finalize(world) != IRIS_OK || failed;
}
