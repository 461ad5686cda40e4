/* SPDX-License-Identifier: MIT */
/*
 * socket_list.h: a part of init.c: every socket that the library holds in this process, from its creation on.
 *
 *   irisi_socket irisi_accept irisi_socket_pair irisi_socket_close irisi_close_all irisi_sockets_keep_only
 *
 * A child of fork() has copies of them. While it held one, nobody would see its parent die. So each is in this list as
 * long as it is open, and a child closes all of the list at once. The lock keeps a fork apart from whatever opens or
 * closes a socket.
 */
#ifndef IRIS_RUNTIME_SOCKET_LIST_H
#define IRIS_RUNTIME_SOCKET_LIST_H
#ifdef IRIS_INIT_C

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t irisi_sockets_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t irisi_sockets_once = PTHREAD_ONCE_INIT;
static int *irisi_sockets, irisi_n_sockets, irisi_sockets_room;
static __thread int irisi_forks_ranks; /* the child is a rank of iris_spawn: it chooses what it keeps */

static void irisi_fork_prepare(void) { pthread_mutex_lock(&irisi_sockets_lock); }
static void irisi_fork_parent(void) { pthread_mutex_unlock(&irisi_sockets_lock); }

static void irisi_fork_child(void)
{
    for (int i = 0; i < irisi_n_sockets && !irisi_forks_ranks; i++)
        close(irisi_sockets[i]);
    irisi_n_sockets = irisi_forks_ranks ? irisi_n_sockets : 0;
    pthread_mutex_unlock(&irisi_sockets_lock);
}

static void irisi_watch_forks(void) { pthread_atfork(irisi_fork_prepare, irisi_fork_parent, irisi_fork_child); }

/* Before a socket is made. Who comes first asks to be called at forks. */
static void irisi_sockets_enter(void)
{
    pthread_once(&irisi_sockets_once, irisi_watch_forks);
    pthread_mutex_lock(&irisi_sockets_lock);
}

static void irisi_sockets_leave(void)
{
    const int failed = errno;
    pthread_mutex_unlock(&irisi_sockets_lock);
    errno = failed;
}

/* Takes a new socket into the list; its number, or -1. Locked. */
static int irisi_sockets_add(int fd)
{
    fd = irisi_descriptor(fd);
    if (fd >= 0 && irisi_n_sockets == irisi_sockets_room) {
        const int room = 2 * irisi_sockets_room + 16;
        int *more = (int *)realloc(irisi_sockets, (size_t)room * sizeof *more);
        if (!more) {
            close(fd);
            errno = ENOMEM;
            return -1;
        }
        irisi_sockets = more;
        irisi_sockets_room = room;
    }
    if (fd >= 0)
        irisi_sockets[irisi_n_sockets++] = fd;
    return fd;
}

/* socket(), as everything of the library is opened. */
static int irisi_socket(int family, int type, int protocol)
{
    irisi_sockets_enter();
    const int fd = irisi_sockets_add(socket(family, type | SOCK_CLOEXEC, protocol));
    irisi_sockets_leave();
    return fd;
}

/* A connection to a listener that does not block; -1: nobody is there. */
static int irisi_accept(int listener)
{
    irisi_sockets_enter();
    const int fd = irisi_sockets_add(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    irisi_sockets_leave();
    return fd;
}

/* Closes a socket of the list; a number that is not in it is somebody else's. */
static void irisi_socket_close(int fd)
{
    irisi_sockets_enter();
    for (int i = 0; i < irisi_n_sockets; i++) {
        if (irisi_sockets[i] != fd)
            continue;
        irisi_sockets[i] = irisi_sockets[--irisi_n_sockets];
        close(fd);
        break;
    }
    irisi_sockets_leave();
}

static void irisi_close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            irisi_socket_close(fds[i]);
        fds[i] = -1;
    }
}

/* Two connected sockets; 0, or -1. */
static int irisi_socket_pair(int pair[2])
{
    irisi_sockets_enter();
    const int made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0;
    for (int i = 0; i < 2; i++)
        pair[i] = made ? irisi_sockets_add(pair[i]) : -1;
    irisi_sockets_leave();
    if (pair[0] >= 0 && pair[1] >= 0)
        return 0;
    irisi_close_all(pair, 2);
    return -1;
}

/* In a rank that iris_spawn forked: closes what is not among its own. */
static void irisi_sockets_keep_only(const int *own, int n)
{
    irisi_sockets_enter();
    int kept = 0;
    for (int i = 0; i < irisi_n_sockets; i++) {
        int mine = 0;
        for (int k = 0; k < n && !mine; k++)
            mine = own[k] == irisi_sockets[i];
        if (mine)
            irisi_sockets[kept++] = irisi_sockets[i];
        else
            close(irisi_sockets[i]);
    }
    irisi_n_sockets = kept;
    irisi_sockets_leave();
}

#endif
#endif
