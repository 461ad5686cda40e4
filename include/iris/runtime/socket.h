/* SPDX-License-Identifier: MIT */
/*
 * socket.h: sockets for the rendezvous: Linux's abstract Unix addresses, and TCP.
 */
#ifndef IRIS_RUNTIME_SOCKET_H
#define IRIS_RUNTIME_SOCKET_H
#ifdef IRIS_INIT_C

#include <iris/runtime/config.h>

/* The time that is left until `until`, as poll wants it; INT64_MAX is never. */
static int irisi_poll_ms(int64_t until, int most)
{
    const int64_t left = until - irisi_now_ms();
    return left < 0 ? 0 : left < most ? (int)left : most;
}

static int64_t irisi_until(int64_t timeout_ms) { return timeout_ms < 0 ? INT64_MAX : irisi_now_ms() + timeout_ms; }

/* The job's abstract address: user and job name, the latter hashed when it is long. */
static socklen_t irisi_unix_address(const irisi_settings *s, struct sockaddr_un *a)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    const int used = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "iris-%u-%.60s-%016llx", (unsigned)getuid(),
                              s->job, (unsigned long long)irisi_hash_text(s->job));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used);
}

static int irisi_same_user(int fd)
{
    struct ucred other;
    socklen_t bytes = sizeof other;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 && other.uid == getuid();
}

static iris_status irisi_listen_unix(const irisi_settings *s, int *listener)
{
    struct sockaddr_un a;
    const socklen_t bytes = irisi_unix_address(s, &a);
    *listener = irisi_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (*listener >= 0 && bind(*listener, (struct sockaddr *)(void *)&a, bytes) == 0 && listen(*listener, 128) == 0)
        return IRIS_OK;
    return irisi_fail(NULL, IRIS_ERR_SYSTEM,
                      "rank 0 cannot listen for job \"%s\" (%s); if another job has this name, set IRIS_JOB", s->job,
                      strerror(errno));
}

/* The addresses of host:port; null and a sentence when there are none. */
static struct addrinfo *irisi_resolve(const char *host, int port, int flags)
{
    struct addrinfo hints, *found = NULL;
    char text[16];
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    snprintf(text, sizeof text, "%d", port);
    const int failed = getaddrinfo(host, text, &hints, &found);
    if (failed)
        irisi_fail(NULL, IRIS_ERR_SYSTEM, "the rendezvous host \"%s\" has no address: %s", host ? host : "",
                   gai_strerror(failed));
    return failed ? NULL : found;
}

/* Listens on host:port. A null host: every address of this machine; port 0: any free one, and `*port` says which. */
static iris_status irisi_listen_tcp(const char *host, int *port, int *listener)
{
    struct addrinfo *all = irisi_resolve(host, *port, AI_PASSIVE);
    const int yes = 1;
    int failed = 0;
    if (!all)
        return IRIS_ERR_SYSTEM;
    *listener = -1;
    for (struct addrinfo *a = all; a && *listener < 0; a = a->ai_next) {
        const int fd = irisi_socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK, a->ai_protocol);
        if (fd >= 0)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (fd >= 0 && bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 128) == 0) {
            *listener = fd;
            break;
        }
        failed = errno;
        if (fd >= 0)
            irisi_socket_close(fd);
    }
    freeaddrinfo(all);
    if (*listener < 0)
        return irisi_fail(NULL, IRIS_ERR_SYSTEM, "rank 0 cannot listen on %s:%d: %s", host ? host : "*", *port,
                          strerror(failed));
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    if (getsockname(*listener, (struct sockaddr *)(void *)&own, &bytes) == 0)
        *port = ntohs(own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&own)->sin6_port
                                                : ((struct sockaddr_in *)(void *)&own)->sin_port);
    return IRIS_OK;
}

/* Small frames leave at once, and a machine that vanished is noticed within half a minute. */
static void irisi_tune_tcp(int fd)
{
    const int yes = 1, idle = 10, every = 5, times = 4;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

/* One attempt to connect, which does not outlast the deadline; the socket or -1. */
static int irisi_dial_once(const struct sockaddr *a, socklen_t bytes, int family, int64_t until)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    const int fd = irisi_socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, a, bytes) != 0) {
        struct pollfd p;
        p.fd = fd;
        p.events = POLLOUT;
        p.revents = 0;
        failed = errno;
        if (failed == EINPROGRESS && poll(&p, 1, irisi_poll_ms(until, 10000)) == 1)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    }
    if (!failed && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0)
        return fd;
    irisi_socket_close(fd);
    errno = failed;
    return -1;
}

#endif
#endif
