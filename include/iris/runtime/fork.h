/* SPDX-License-Identifier: MIT */
/*
 * fork.h: a part of init.c: what a forked child has of its parent's worlds: memory to free, and no say.
 *
 *   irisi_forget_sockets irisi_foreign irisi_refuse_fork
 *
 * A child has copies of the world and of its sockets, but none of its threads. What it sent would count as its
 * parent's, and while it held the sockets nobody would see its parent die. So a child of fork() closes them at once
 * (socket_list.h), every function refuses a world of another process, and iris_finalize only frees the copy.
 */
#ifndef IRIS_RUNTIME_FORK_H
#define IRIS_RUNTIME_FORK_H
#ifdef IRIS_INIT_C

#include <iris/runtime/coordinator.h>

/* A child's copy of a world has no sockets: they were closed when it was forked, and their numbers may be others'. */
static void irisi_forget_sockets(iris_world *w)
{
    w->sock = w->post = -1;
    for (int r = 0; w->hub && r <= w->hub->n; r++)
        w->hub->conns[r].fd = -1;
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
