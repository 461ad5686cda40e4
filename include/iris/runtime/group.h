/* SPDX-License-Identifier: MIT */
/*
 * group.h: a part of init.c: calls that one thread makes for several worlds, held until iris_group_end makes them.
 *
 *   irisi_grouped irisi_hold irisi_enter_own irisi_group_drop irisi_thread_with_room
 *
 * A held call is a function and a copy of its arguments. Where a call waits for other ranks, each world gets a thread,
 * which makes that world's calls in order; else the thread that ends the group makes them. These threads have no group,
 * so there the function does what it always does.
 */
#ifndef IRIS_RUNTIME_GROUP_H
#define IRIS_RUNTIME_GROUP_H
#ifdef IRIS_INIT_C

#include <iris/runtime/fork.h>

typedef enum irisi_held_kind {
    IRISI_HELD_RETURNS, /* it waits for no other rank */
    IRISI_HELD_WAITS,
    IRISI_HELD_LAST /* iris_finalize: waits, and is made whatever failed before: nobody else would free the world */
} irisi_held_kind;

typedef iris_status (*irisi_held_run)(iris_world *w, const void *args);

typedef struct irisi_held {
    struct irisi_held *next; /* in the order of the calls; while they are made, of this world's */
    iris_world *world;
    irisi_held_run run;
    irisi_held_kind kind;
    const void *args; /* behind this struct */
} irisi_held;

/* The calls that a thread's group holds. */
typedef struct irisi_calls {
    int depth; /* iris_group_begin without its end */
    irisi_held *first, *last;
    iris_status refused; /* a call that could not be held: none is made */
    char sentence[IRISI_SENTENCE];
} irisi_calls;

static __thread irisi_calls irisi_own_calls;

/* Whether the calling thread is between iris_group_begin and iris_group_end. */
static int irisi_grouped(void) { return irisi_own_calls.depth > 0; }

/* Forgets what the calling thread's group holds, and the group. */
static void irisi_group_drop(void)
{
    for (irisi_held *next, *held = irisi_own_calls.first; held; held = next) {
        next = held->next;
        free(held);
    }
    memset(&irisi_own_calls, 0, sizeof irisi_own_calls);
}

static int irisi_holds_of(const iris_world *w)
{
    for (const irisi_held *held = irisi_own_calls.first; held; held = held->next)
        if (held->world == w)
            return 1;
    return 0;
}

/*
 * What fails on a thread that has a group is a call that is not held, or one that happens at once: it fails the group.
 * Were the others made without it, they would wait for it.
 */
static void irisi_group_fail(iris_status status)
{
    if (!irisi_grouped() || irisi_own_calls.refused != IRIS_OK)
        return;
    irisi_own_calls.refused = status;
    memcpy(irisi_own_calls.sentence, irisi_last_error, sizeof irisi_last_error);
}

/* Keeps a call of `w`, with a copy of its arguments, for iris_group_end. */
static iris_status irisi_hold(iris_world *w, const char *call, irisi_held_run run, irisi_held_kind kind,
                              const void *args, size_t bytes)
{
    if (!w)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "%s: the world is null", call);
    if (irisi_foreign(w))
        return irisi_refuse_fork(w, call);
    const size_t head = (sizeof(irisi_held) + 15) / 16 * 16;
    irisi_held *held = (irisi_held *)malloc(head + bytes);
    if (!held)
        return irisi_fail(w, IRIS_ERR_NOMEM, "%s: no memory to hold it until iris_group_end", call);
    held->next = NULL;
    held->world = w;
    held->run = run;
    held->kind = kind;
    held->args = (char *)held + head;
    if (bytes)
        memcpy((char *)held + head, args, bytes);
    if (irisi_own_calls.last)
        irisi_own_calls.last->next = held;
    else
        irisi_own_calls.first = held;
    irisi_own_calls.last = held;
    return IRIS_OK;
}

static iris_status irisi_enter_world(iris_world *w, const char *call);

/*
 * irisi_enter of a function that only touches what this rank has: in a group it is made at once. Not where a call that
 * comes before it is still held.
 */
static iris_status irisi_enter_own(iris_world *w, const char *call)
{
    if (irisi_grouped() && w && irisi_holds_of(w))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: iris_group_begin holds earlier calls of this world, which this call, made at once, "
                          "would overtake; make it before them, or after iris_group_end",
                          call);
    return irisi_enter_world(w, call);
}

/* Every other function that takes a world begins here: one that is not held may wait for other ranks. */
static iris_status irisi_enter(iris_world *w, const char *call)
{
    if (irisi_grouped())
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: iris_group_begin does not hold this call; hand iris_group_call a function that makes "
                          "it, or make it after iris_group_end",
                          call);
    return irisi_enter_world(w, call);
}

/* A thread with the stack that threads get here, but enough to run kernels, which some C libraries' is not. */
static int irisi_thread_with_room(pthread_t *thread, void *(*run)(void *), void *arg)
{
    const size_t least = (size_t)2 << 20;
    size_t bytes = 0;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_getstacksize(&attr, &bytes);
    if (bytes < least)
        pthread_attr_setstacksize(&attr, least);
    const int failed = pthread_create(thread, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return failed;
}

/* What the threads of one iris_group_end share. */
typedef struct irisi_group_run {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int go;             /* 1: make the calls; -1: leave */
    iris_status status; /* of the call that failed first */
    char sentence[IRISI_SENTENCE];
} irisi_group_run;

/* One world's calls. */
typedef struct irisi_group_member {
    irisi_group_run *run;
    iris_world *world;
    irisi_held *first, *last;
    pthread_t thread;
} irisi_group_member;

/* Like a rank's main function, which a failure ends: what follows it is not made. */
static void irisi_make_calls(irisi_group_member *m)
{
    iris_status status = IRIS_OK;
    for (const irisi_held *held = m->first; held; held = held->next) {
        if (status != IRIS_OK && held->kind != IRISI_HELD_LAST)
            continue;
        const iris_status made = held->run(m->world, held->args);
        if (status != IRIS_OK || made == IRIS_OK)
            continue;
        status = made;
        pthread_mutex_lock(&m->run->lock);
        if (m->run->status == IRIS_OK) {
            m->run->status = made;
            memcpy(m->run->sentence, irisi_last_error, sizeof irisi_last_error);
        }
        pthread_mutex_unlock(&m->run->lock);
    }
}

static void *irisi_group_thread(void *arg)
{
    irisi_group_member *m = (irisi_group_member *)arg;
    pthread_mutex_lock(&m->run->lock);
    while (!m->run->go)
        pthread_cond_wait(&m->run->changed, &m->run->lock);
    const int go = m->run->go;
    pthread_mutex_unlock(&m->run->lock);
    if (go > 0)
        irisi_make_calls(m);
    return NULL;
}

/* A thread for each world: all are there before the first call is made, or none is made. */
static void irisi_group_in_threads(irisi_group_run *run, irisi_group_member *members, size_t n)
{
    size_t started = 0;
    while (started < n &&
           irisi_thread_with_room(&members[started].thread, irisi_group_thread, &members[started]) == 0)
        started++;
    pthread_mutex_lock(&run->lock);
    run->go = started == n ? 1 : -1;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    for (size_t i = 0; i < started; i++)
        pthread_join(members[i].thread, NULL);
    if (started == n)
        return;
    run->status = irisi_fail(NULL, IRIS_ERR_SYSTEM,
                             "iris_group_end: cannot create a thread for each of %zu worlds (see ulimit -u); none of "
                             "the calls was made",
                             n);
    memcpy(run->sentence, irisi_last_error, sizeof run->sentence);
}

/* Shares the calls out among their worlds; the number of worlds. */
static size_t irisi_group_members(irisi_group_member *members, irisi_group_run *run, irisi_held *first)
{
    size_t n = 0;
    for (irisi_held *next, *held = first; held; held = next) {
        size_t i = 0;
        next = held->next;
        held->next = NULL;
        while (i < n && members[i].world != held->world)
            i++;
        if (i == n) {
            members[n].run = run;
            members[n].world = held->world;
            members[n].first = members[n].last = NULL;
            n++;
        }
        if (members[i].last)
            members[i].last->next = held;
        else
            members[i].first = held;
        members[i].last = held;
    }
    return n;
}

static void irisi_group_make(irisi_group_run *run, irisi_held *first, size_t calls, int waits)
{
    irisi_group_member *members = (irisi_group_member *)malloc(calls * sizeof *members);
    if (!members) {
        run->status = irisi_fail(NULL, IRIS_ERR_NOMEM, "iris_group_end: no memory for %zu calls; none was made", calls);
        memcpy(run->sentence, irisi_last_error, sizeof run->sentence);
        return;
    }
    const size_t n = irisi_group_members(members, run, first);
    if (n > 1 && waits)
        irisi_group_in_threads(run, members, n);
    else
        for (size_t i = 0; i < n; i++)
            irisi_make_calls(&members[i]);
    for (size_t i = 0; i < n; i++) /* a list for each world, to be freed as one */
        if (i + 1 < n)
            members[i].last->next = members[i + 1].first;
    free(members);
}

iris_status iris_group_begin(void)
{
    irisi_own_calls.depth++;
    return IRIS_OK;
}

iris_status iris_group_end(void)
{
    irisi_group_run run;
    if (!irisi_grouped())
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_group_end: this thread has called no iris_group_begin before");
    if (irisi_own_calls.depth > 1) {
        irisi_own_calls.depth--;
        return IRIS_OK;
    }
    irisi_calls calls = irisi_own_calls;
    memset(&irisi_own_calls, 0, sizeof irisi_own_calls);
    memset(&run, 0, sizeof run);
    run.status = calls.refused;
    memcpy(run.sentence, calls.sentence, sizeof run.sentence);
    pthread_mutex_init(&run.lock, NULL);
    pthread_cond_init(&run.changed, NULL);
    size_t n = 0;
    int waits = 0;
    for (const irisi_held *held = calls.first; held; held = held->next) {
        n++;
        waits |= held->kind != IRISI_HELD_RETURNS;
    }
    irisi_held *first = calls.first;
    if (n && run.status == IRIS_OK)
        irisi_group_make(&run, first, n, waits);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    irisi_own_calls.first = first;
    irisi_group_drop();
    if (run.status != IRIS_OK)
        memcpy(irisi_last_error, run.sentence, sizeof run.sentence);
    return run.status;
}

/* A function of the caller's, as a held call. */
typedef struct irisi_group_function {
    iris_rank_main main;
    void *arg;
} irisi_group_function;

static iris_status irisi_held_function(iris_world *w, const void *args)
{
    const irisi_group_function *f = (const irisi_group_function *)args;
    const int rank = w->rank;
    irisi_last_error[0] = 0;
    irisi_last_status = IRIS_OK;
    const int value = f->main(w, f->arg);
    if (value == 0 || irisi_last_status != IRIS_OK)
        return value == 0 ? IRIS_OK : irisi_last_status; /* the sentence is that of the call that failed there */
    return irisi_fail(NULL, IRIS_ERR_PEER, "iris_group_call: the function returned %d on rank %d", value, rank);
}

iris_status iris_group_call(iris_world *w, iris_rank_main main, void *arg)
{
    irisi_group_function f;
    if (!main || !w)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_group_call: the %s is null", main ? "world" : "function");
    f.main = main;
    f.arg = arg;
    return irisi_grouped() ? irisi_hold(w, "iris_group_call", irisi_held_function, IRISI_HELD_WAITS, &f, sizeof f)
                           : irisi_held_function(w, &f);
}

#endif
#endif
