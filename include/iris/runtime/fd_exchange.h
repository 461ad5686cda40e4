/* SPDX-License-Identifier: MIT */
/*
 * fd_exchange.h: a part of init.c: how descriptors of memory travel between the processes of a world.
 *
 *   irisi_post_open irisi_post_exchange
 *
 * Each rank has a datagram socket in Linux's abstract namespace: it is no file, so nothing outlives a kill -9. Its name
 * is a random number that the ranks exchange like everything else at start-up, so it does not matter how they found
 * each other. A letter carries one descriptor (SCM_RIGHTS); the kernel vouches for the user who sent it
 * (SCM_CREDENTIALS), and whatever is not the letter that is waited for is closed unread.
 */
#ifndef IRIS_RUNTIME_FD_EXCHANGE_H
#define IRIS_RUNTIME_FD_EXCHANGE_H
#ifdef IRIS_INIT_C

#include <iris/runtime/socket.h>

typedef struct irisi_letter {
    uint64_t magic, turn, key[2]; /* key: the sender's */
    int32_t rank, pad;
} irisi_letter;

/* The descriptors of one step: what is sent, and what is done with those received, which stay the exchange's. */
typedef struct irisi_parcel {
    int fd;
    const char *what; /* "heap": whose memory it is, for sentences */
    const char *(*take)(iris_world *w, int from, int fd, const struct irisi_parcel *parcel);
    size_t offset, bytes; /* of a heap's piece */
    void *arg;            /* of other memory: take's own */
} irisi_parcel;

static socklen_t irisi_post_address(const uint64_t key[2], struct sockaddr_un *a)
{
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    const int used = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "iris-post-%016llx%016llx",
                              (unsigned long long)key[0], (unsigned long long)key[1]);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)used);
}

/* Makes this rank's socket and the key that names it. */
static iris_status irisi_post_open(iris_world *w)
{
    uint64_t *key = w->peers[w->rank].key;
    struct sockaddr_un a;
    const int yes = 1;
    if (w->size == 1)
        return IRIS_OK;
    if (getrandom(key, sizeof w->peers->key, 0) != (ssize_t)sizeof w->peers->key)
        return irisi_fail(w, IRIS_ERR_SYSTEM, "the machine gives no random number: %s", strerror(errno));
    const socklen_t bytes = irisi_post_address(key, &a);
    w->post = irisi_socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    if (w->post >= 0 && setsockopt(w->post, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0 &&
        bind(w->post, (struct sockaddr *)(void *)&a, bytes) == 0)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_SYSTEM, "cannot make the socket that heaps are exchanged through: %s",
                      strerror(errno));
}

/* Room for one descriptor and the sender's credentials, aligned as control messages are. */
typedef union irisi_envelope {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
} irisi_envelope;

/* Tries to send a letter; 0: sent, else what errno says. */
static int irisi_post_send(iris_world *w, int to, int fd)
{
    irisi_letter letter;
    irisi_envelope envelope;
    struct sockaddr_un a;
    struct msghdr message;
    struct iovec part;
    memset(&letter, 0, sizeof letter);
    memset(&envelope, 0, sizeof envelope);
    memset(&message, 0, sizeof message);
    letter.magic = IRISI_MAGIC;
    letter.turn = w->turn;
    memcpy(letter.key, w->peers[w->rank].key, sizeof letter.key);
    letter.rank = w->rank;
    part.iov_base = &letter;
    part.iov_len = sizeof letter;
    message.msg_name = &a;
    message.msg_namelen = irisi_post_address(w->peers[to].key, &a);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = envelope.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof fd);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(w->post, &message, MSG_NOSIGNAL) == (ssize_t)sizeof letter ? 0 : errno;
}

/* Takes what a message carried: the descriptor, or -1, and whether the sender runs as this user. */
static int irisi_post_unpack(struct msghdr *message, int *same_user)
{
    int fd = -1;
    *same_user = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET)
            continue;
        if (c->cmsg_type == SCM_CREDENTIALS) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(c), sizeof sender);
            *same_user = sender.uid == getuid();
        }
        const size_t n = c->cmsg_type == SCM_RIGHTS ? (c->cmsg_len - CMSG_LEN(0)) / sizeof fd : 0;
        for (size_t i = 0; i < n; i++) {
            if (fd >= 0)
                close(fd);
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            fd = irisi_descriptor(fd);
        }
    }
    return fd;
}

/* The next letter of this exchange: its sender and `*fd`; -1 when nothing is there. */
static int irisi_post_receive(iris_world *w, int *fd)
{
    irisi_letter letter;
    irisi_envelope envelope;
    struct msghdr message;
    struct iovec part;
    for (;;) {
        int same_user;
        memset(&message, 0, sizeof message);
        part.iov_base = &letter;
        part.iov_len = sizeof letter;
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = envelope.bytes;
        message.msg_controllen = sizeof envelope.bytes;
        const ssize_t n = recvmsg(w->post, &message, MSG_CMSG_CLOEXEC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        *fd = irisi_post_unpack(&message, &same_user);
        if (*fd >= 0 && same_user && n == (ssize_t)sizeof letter && letter.magic == IRISI_MAGIC &&
            letter.turn == w->turn && letter.rank >= 0 && letter.rank < w->size &&
            memcmp(letter.key, w->peers[letter.rank].key, sizeof letter.key) == 0)
            return letter.rank;
        if (*fd >= 0)
            close(*fd);
    }
}

/* What is still to be done, for each rank. */
enum { IRISI_POST_SEND = 1, IRISI_POST_TAKE = 2 };

/* One round of sending and taking; returns how many ranks something is still to be done for. */
static int irisi_post_round(iris_world *w, const irisi_parcel *p, unsigned char *todo, iris_status *status)
{
    int fd, from, left = 0;
    for (int r = 0; r < w->size; r++) {
        const int failed = todo[r] & IRISI_POST_SEND ? irisi_post_send(w, r, p->fd) : EAGAIN;
        if (failed == 0)
            todo[r] = (unsigned char)(todo[r] & ~IRISI_POST_SEND);
        if (failed == 0 || failed == EAGAIN || failed == EINTR || failed == ENOBUFS || failed == ETOOMANYREFS)
            continue;
        todo[r] = 0; /* nor can it reach this rank */
        *status = irisi_fail(w, IRIS_ERR_SYSTEM,
                             "cannot send rank %d the descriptor of the %s (%s); do both ranks run in one network "
                             "namespace?",
                             r, p->what, strerror(failed));
    }
    while ((from = irisi_post_receive(w, &fd)) >= 0) {
        const char *why = todo[from] & IRISI_POST_TAKE ? p->take(w, from, fd, p) : NULL;
        close(fd);
        todo[from] = (unsigned char)(todo[from] & ~IRISI_POST_TAKE);
        if (why)
            *status = irisi_fail(w, IRIS_ERR_DEVICE, "cannot map the %s of rank %d: %s", p->what, from, why);
    }
    for (int r = 0; r < w->size; r++)
        left += todo[r] != 0;
    return left;
}

/*
 * Sends the parcel's descriptor to every rank of another process and takes one from each. Collective; a rank on which
 * something fails goes on to the end, so that no other rank waits for it.
 */
static iris_status irisi_post_exchange(iris_world *w, const irisi_parcel *p)
{
    unsigned char *todo = (unsigned char *)calloc((size_t)w->size, 1);
    iris_status status = IRIS_OK;
    const int64_t until = irisi_until(irisi_patience_ms(w->timeout_ms));
    if (!todo)
        return irisi_fail(w, IRIS_ERR_NOMEM, "no memory to exchange descriptors");
    for (int r = 0; r < w->size; r++)
        todo[r] = w->peers[r].near ? 0 : IRISI_POST_SEND | IRISI_POST_TAKE;
    w->turn++;
    while (irisi_post_round(w, p, todo, &status) > 0) {
        struct pollfd ready;
        ready.fd = w->post;
        ready.events = POLLIN;
        poll(&ready, 1, 5); /* not longer: a letter may have found its reader's queue full */
        if (__atomic_load_n(&w->notice, __ATOMIC_ACQUIRE)) {
            status = irisi_take_notice(w);
            break;
        }
        if (irisi_now_ms() > until) {
            int r = 0;
            while (!todo[r])
                r++;
            status = irisi_fail(w, IRIS_ERR_PEER, "rank %d did not exchange the descriptors of %ss within %lld ms", r,
                                p->what, (long long)w->timeout_ms);
            break;
        }
    }
    free(todo);
    return status;
}

#endif
#endif
