/* SPDX-License-Identifier: MIT */
/*
 * fork.h: a part of init.c: what a forked child has of its parent's worlds: memory to free, and no say.
 *
 *   irisi_world_enlist irisi_world_delist irisi_foreign irisi_refuse_fork irisi_disconnect
 *
 * A child has copies of the world and of its sockets, but none of its threads. What it sent would count as its
 * parent's, and while it held the sockets nobody would see its parent die. So a child of fork() closes them at once,
 * every function refuses a world of another process, and iris_finalize only frees the copy.
 */
#ifndef IRIS_RUNTIME_FORK_H
#define IRIS_RUNTIME_FORK_H
#ifdef IRIS_INIT_C

#include <iris/runtime/coordinator.h>

static pthread_mutex_t irisi_worlds_lock = PTHREAD_MUTEX_INITIALIZER;
static iris_world *irisi_worlds; /* of this process */
static pthread_once_t irisi_worlds_once = PTHREAD_ONCE_INIT;

/* Closes this process's ends of all connections, without a word to anybody. */
static void irisi_disconnect(iris_world *w)
{
    irisi_close_all(&w->sock, 1);
    irisi_close_all(&w->post, 1);
    for (int r = 0; w->hub && r <= w->hub->n; r++)
        irisi_close_all(&w->hub->conns[r].fd, 1);
}

static void irisi_fork_prepare(void) { pthread_mutex_lock(&irisi_worlds_lock); }
static void irisi_fork_parent(void) { pthread_mutex_unlock(&irisi_worlds_lock); }

static void irisi_fork_child(void)
{
    for (iris_world *w = irisi_worlds; w; w = w->next)
        irisi_disconnect(w);
    pthread_mutex_unlock(&irisi_worlds_lock);
}

static void irisi_watch_forks(void) { pthread_atfork(irisi_fork_prepare, irisi_fork_parent, irisi_fork_child); }

static void irisi_world_enlist(iris_world *w)
{
    pthread_once(&irisi_worlds_once, irisi_watch_forks);
    pthread_mutex_lock(&irisi_worlds_lock);
    w->process = getpid();
    w->next = irisi_worlds;
    irisi_worlds = w;
    pthread_mutex_unlock(&irisi_worlds_lock);
}

static void irisi_world_delist(iris_world *w)
{
    pthread_mutex_lock(&irisi_worlds_lock);
    iris_world **at = &irisi_worlds;
    while (*at && *at != w)
        at = &(*at)->next;
    if (*at)
        *at = w->next;
    pthread_mutex_unlock(&irisi_worlds_lock);
}

/* 1 where the world is another process's. */
static int irisi_foreign(const iris_world *w) { return w->process != getpid(); }

static iris_status irisi_refuse_fork(iris_world *w, const char *call)
{
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "%s: this world belongs to process %ld, and this is process %ld, forked from it; a child may "
                      "only call iris_finalize, which frees its copy, or join a job of its own by iris_init",
                      call, (long)w->process, (long)getpid());
}

#endif
#endif
