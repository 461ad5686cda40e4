/* SPDX-License-Identifier: MIT */
/*
 * coordinator.h: a thread of rank 0 that joins the ranks' collectives and tells them of deaths; frames and sockets.
 */
#ifndef IRIS_RUNTIME_COORDINATOR_H
#define IRIS_RUNTIME_COORDINATOR_H
#ifdef IRIS_INIT_C

#include <iris/arch/own_thread.h>
#include <iris/runtime/world_state.h>

enum { IRISI_MAGIC = 0x49726953 };

static int64_t irisi_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void irisi_nap_ms(int64_t ms)
{
    struct timespec t;
    t.tv_sec = (time_t)(ms / 1000);
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    nanosleep(&t, NULL);
}

/* How long a host collective waits: a kernel's own deadline passes first, since its report says more. */
static int64_t irisi_patience_ms(int64_t timeout_ms) { return timeout_ms < 0 ? -1 : timeout_ms + timeout_ms / 4 + 500; }

static int irisi_send_all(int fd, const void *data, size_t bytes)
{
    const char *p = (const char *)data;
    while (bytes) {
        const ssize_t n = send(fd, p, bytes, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int irisi_recv_all(int fd, void *data, size_t bytes)
{
    char *p = (char *)data;
    while (bytes) {
        const ssize_t n = recv(fd, p, bytes, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        p += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static irisi_frame irisi_frame_of(irisi_frame_type type, int rank, iris_status status, size_t payload)
{
    irisi_frame f;
    memset(&f, 0, sizeof f);
    f.magic = IRISI_MAGIC;
    f.type = (uint32_t)type;
    f.rank = rank;
    f.status = (int32_t)status;
    f.payload = (uint32_t)payload;
    return f;
}

/* A frame whose payload is a sentence. */
static int irisi_send_text(int fd, irisi_frame_type type, int rank, iris_status status, const char *text)
{
    const irisi_frame f = irisi_frame_of(type, rank, status, strlen(text));
    return irisi_send_all(fd, &f, sizeof f) || irisi_send_all(fd, text, f.payload) ? -1 : 0;
}

/* Collectives by number; the names are for sentences. */
typedef enum irisi_kind {
    IRISI_INIT,
    IRISI_BARRIER,
    IRISI_BROADCAST,
    IRISI_ALLGATHER,
    IRISI_CHECK,
    IRISI_RESET,
    IRISI_RESTART,
    IRISI_LEAVING,
    IRISI_FINALIZE,
    IRISI_GROW,
    IRISI_ADOPT,
    IRISI_REGISTER,
    IRISI_UNREGISTER,
    IRISI_KINDS
} irisi_kind;

static const char *const irisi_kind_name[IRISI_KINDS] = {
    "iris_init",  "iris_barrier",  "iris_broadcast", "iris_allgather", "iris_barrier (checked)", "iris_reset",
    "iris_reset", "iris_finalize", "iris_finalize",  "iris_heap_grow", "iris_as_symmetric",
    "iris_register", "iris_unregister"};

typedef struct irisi_conn {
    int fd;      /* -1: gone */
    int pending; /* its part of the running collective is here */
    size_t got;  /* bytes of the frame so far */
    irisi_frame frame;
    char *payload;
} irisi_conn;

struct irisi_hub {
    pthread_t thread;
    int n; /* ranks; conns[n] is the spawning parent's, or gone */
    irisi_conn *conns;
    struct pollfd *polls;
    int64_t patience_ms;
    int64_t since; /* when the running collective's first part came; 0: none has */
    int stopped;   /* a TIMEOUT notice is out: only iris_reset goes on */
    int dead;      /* a PEER notice is out: nothing goes on */
    int over;      /* iris_finalize is through */
    int lost;      /* a rank whose socket closed, and that the parent may say more about; -1: none */
    int64_t lost_at;
};

static void irisi_hub_forget(irisi_conn *c)
{
    free(c->payload);
    c->payload = NULL;
    c->pending = 0;
    c->got = 0;
}

static void irisi_hub_drop(irisi_conn *c)
{
    irisi_hub_forget(c);
    irisi_close_all(&c->fd, 1);
}

/* A notice, or a word about a rank that has parted, for every rank. */
static void irisi_hub_notify(irisi_hub *h, irisi_frame_type type, iris_status status, int rank, const char *text)
{
    if (h->dead || h->over || (irisi_mendable(status) && h->stopped))
        return;
    if (irisi_mendable(status))
        h->stopped = 1;
    else
        h->dead = 1;
    h->since = 0;
    for (int r = 0; r < h->n; r++) {
        irisi_conn *c = &h->conns[r];
        if (c->pending && (h->dead || c->frame.kind != IRISI_RESET))
            irisi_hub_forget(c);
        if (c->fd >= 0 && irisi_send_text(c->fd, type, rank, status, text) != 0)
            shutdown(c->fd, SHUT_RDWR); /* its end of file comes through poll */
    }
}

/* Tells every rank that the world has stopped, and why. */
static void irisi_hub_notice(irisi_hub *h, iris_status status, int rank, const char *text)
{
    irisi_hub_notify(h, IRISI_NOTICE, status, rank, text);
}

static void irisi_hub_lost(irisi_hub *h, int rank)
{
    char text[IRISI_SENTENCE];
    snprintf(text, sizeof text, "rank %d died or left: its connection closed before iris_finalize", rank);
    irisi_hub_notice(h, IRIS_ERR_PEER, rank, text);
}

static void irisi_hub_call_text(char *text, size_t room, const irisi_frame *f)
{
    const unsigned long long a = f->a, b = f->b;
    if (f->kind == IRISI_BROADCAST)
        snprintf(text, room, "iris_broadcast(%llu bytes, root %llu)", a, b);
    else if (f->kind == IRISI_GROW || f->kind == IRISI_ADOPT)
        snprintf(text, room, "%s(%llu bytes; heap %llu)", irisi_kind_name[f->kind], a, b);
    else if (f->kind == IRISI_ALLGATHER)
        snprintf(text, room, "iris_allgather(%llu bytes)", a);
    else
        snprintf(text, room, "%s", irisi_kind_name[f->kind]);
}

/* Every rank's part is here: the same call on all, or a sentence about the first that differs. */
static void irisi_hub_finish(irisi_hub *h)
{
    char text[IRISI_SENTENCE] = "", ours[96], theirs[96];
    size_t total = 0;
    const irisi_frame first = h->conns[0].frame;
    for (int r = 0; r < h->n && !text[0]; r++) {
        const irisi_frame *f = &h->conns[r].frame;
        total += f->payload;
        const int counted =
            f->seq == first.seq || f->kind == IRISI_RESET; /* a deadline left ranks at different calls */
        if (f->kind == first.kind && f->a == first.a && f->b == first.b && counted)
            continue;
        irisi_hub_call_text(ours, sizeof ours, &first);
        irisi_hub_call_text(theirs, sizeof theirs, f);
        snprintf(text, sizeof text,
                 "the ranks called different collectives: rank 0 %s (its call %llu), rank %d %s (its call %llu)", ours,
                 (unsigned long long)first.seq, r, theirs, (unsigned long long)f->seq);
    }
    for (int to = 0; to < h->n; to++) {
        irisi_conn *c = &h->conns[to];
        irisi_frame f =
            irisi_frame_of(IRISI_RESULT, to, text[0] ? IRIS_ERR_MISMATCH : IRIS_OK, text[0] ? strlen(text) : total);
        f.seq = c->frame.seq;
        f.kind = c->frame.kind;
        int bad = irisi_send_all(c->fd, &f, sizeof f);
        if (text[0])
            bad |= irisi_send_all(c->fd, text, f.payload);
        for (int r = 0; r < h->n && !text[0]; r++)
            bad |= irisi_send_all(c->fd, h->conns[r].payload, h->conns[r].frame.payload);
        if (bad)
            shutdown(c->fd, SHUT_RDWR);
    }
    if (!text[0] && first.kind == IRISI_RESET)
        h->stopped = 0;
    if (!text[0] && first.kind == IRISI_FINALIZE)
        h->over = 1;
    h->since = 0;
    for (int r = 0; r < h->n; r++)
        irisi_hub_forget(&h->conns[r]);
}

static void irisi_hub_gather(irisi_hub *h, int rank)
{
    irisi_conn *c = &h->conns[rank];
    char text[96];
    if (h->dead || (h->stopped && c->frame.kind != IRISI_RESET)) {
        irisi_hub_forget(c); /* it has had the notice */
        return;
    }
    c->pending = 1;
    int here = 0, resets = 0, resetter = -1;
    for (int r = 0; r < h->n; r++) {
        const int reset = h->conns[r].pending && h->conns[r].frame.kind == IRISI_RESET;
        here += h->conns[r].pending;
        resets += reset;
        resetter = reset ? r : resetter;
    }
    if (resets && resets < here) {
        snprintf(text, sizeof text, "rank %d called iris_reset; every rank must", resetter);
        irisi_hub_notice(h, IRIS_ERR_TIMEOUT, resetter, text);
    } else if (here == h->n) {
        irisi_hub_finish(h);
    } else if (!h->since) {
        h->since = irisi_now_ms();
    }
}

static void irisi_hub_frame(irisi_hub *h, int rank)
{
    irisi_conn *c = &h->conns[rank];
    char text[IRISI_SENTENCE];
    if (c->frame.type == IRISI_GATHER && rank < h->n) {
        irisi_hub_gather(h, rank);
        return;
    }
    snprintf(text, sizeof text, "%.*s", (int)c->frame.payload, c->payload ? c->payload : "");
    const irisi_frame frame = c->frame;
    irisi_hub_forget(c);
    if (frame.type == IRISI_ABORT) {
        irisi_hub_notice(h, (iris_status)frame.status, frame.rank, text);
    } else if (frame.type == IRISI_LEAVE) {
        /* Who leaves a stopped world leaves because it has stopped: that is what the others have been told. */
        irisi_hub_notify(h, h->stopped ? IRISI_PARTED : IRISI_NOTICE, IRIS_ERR_PEER, rank, text);
        irisi_hub_drop(c);
    } else if (frame.type == IRISI_DIED && rank == h->n) {
        irisi_hub_notice(h, IRIS_ERR_PEER, frame.rank, text);
    }
}

/* Sizes come from the wire: a frame is looked at before anything is allocated for it. */
static int irisi_hub_sane(const irisi_frame *f)
{
    return f->magic == IRISI_MAGIC && f->kind < IRISI_KINDS &&
           f->payload <= (f->type == IRISI_GATHER ? (uint32_t)IRISI_CHUNK : (uint32_t)IRISI_SENTENCE - 1);
}

/* Takes what a socket has, without waiting for the rest. */
static void irisi_hub_read(irisi_hub *h, int rank)
{
    irisi_conn *c = &h->conns[rank];
    while (c->fd >= 0 && !c->pending) {
        const int head = c->got < sizeof c->frame;
        char *to = head ? (char *)&c->frame + c->got : c->payload + (c->got - sizeof c->frame);
        const size_t want = (head ? sizeof c->frame : sizeof c->frame + c->frame.payload) - c->got;
        const ssize_t n = want ? recv(c->fd, to, want, MSG_DONTWAIT) : 0;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        c->got += n > 0 ? (size_t)n : 0;
        const int headed = c->got == sizeof c->frame && head;
        int bad = want && n <= 0;
        if (!bad && headed)
            bad = !irisi_hub_sane(&c->frame);
        if (!bad && headed && c->frame.payload)
            bad = (c->payload = (char *)malloc(c->frame.payload)) == NULL;
        if (bad) {
            irisi_hub_drop(c);
            if (rank < h->n && h->lost < 0) {
                h->lost = rank;
                h->lost_at = irisi_now_ms();
            }
            return;
        }
        if (c->got == sizeof c->frame + c->frame.payload && c->got >= sizeof c->frame) {
            c->got = 0;
            irisi_hub_frame(h, rank);
        }
    }
}

/* The running collective has waited long enough: says who is missing. In iris_reset that ends the world. */
static void irisi_hub_expire(irisi_hub *h)
{
    char text[IRISI_SENTENCE], call[96] = "";
    size_t used = 0;
    int first = -1, mendable = 1;
    text[0] = 0;
    for (int r = 0; r < h->n; r++) {
        if (h->conns[r].pending) {
            const int kind = (int)h->conns[r].frame.kind;
            irisi_hub_call_text(call, sizeof call, &h->conns[r].frame);
            mendable = kind != IRISI_INIT && kind != IRISI_LEAVING && kind != IRISI_FINALIZE;
        } else if (used < sizeof text - 200) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", first < 0 ? "rank " : ", ", r);
        }
        if (!h->conns[r].pending && first < 0)
            first = r;
    }
    snprintf(text + used, sizeof text - used, " did not come to %s within %lld ms%s", call, (long long)h->patience_ms,
             h->stopped ? "" : mendable ? "; call iris_reset on every rank" : "; raise IRIS_TIMEOUT_MS");
    irisi_hub_notice(h, h->stopped ? IRIS_ERR_PEER : IRIS_ERR_TIMEOUT, first, text);
}

static void *irisi_hub_main(void *arg)
{
    irisi_hub *h = (irisi_hub *)arg;
    while (!h->over && h->conns[0].fd >= 0) { /* rank 0 takes its hub along when it leaves */
        int wait = -1;
        for (int r = 0; r <= h->n; r++) {
            h->polls[r].fd = h->conns[r].pending ? -1 : h->conns[r].fd;
            h->polls[r].events = POLLIN;
            if (h->conns[r].pending && h->conns[r].fd >= 0) {
                h->polls[r].fd = h->conns[r].fd; /* its next frame waits; its death does not */
                h->polls[r].events = POLLRDHUP;
            }
        }
        if (h->lost >= 0 && !h->dead)
            wait = 20;
        else if (h->since && h->patience_ms >= 0)
            wait = 50;
        if (poll(h->polls, (nfds_t)h->n + 1, wait) < 0 && errno != EINTR)
            break;
        for (int r = h->n; r >= 0; r--) { /* the parent first: it knows more than a closed socket */
            if (h->conns[r].pending && (h->polls[r].revents & (POLLRDHUP | POLLHUP | POLLERR)))
                irisi_hub_forget(&h->conns[r]);
            if (h->polls[r].revents)
                irisi_hub_read(h, r);
        }
        const int64_t now = irisi_now_ms();
        if (h->lost >= 0 && !h->dead && (h->conns[h->n].fd < 0 || now - h->lost_at > 200))
            irisi_hub_lost(h, h->lost);
        if (h->since && h->patience_ms >= 0 && now - h->since > h->patience_ms)
            irisi_hub_expire(h);
    }
    irisi_hub_lost(h, 0); /* no news when all is over or dead */
    for (int r = 0; r <= h->n; r++)
        irisi_hub_drop(&h->conns[r]);
    return NULL;
}

static irisi_hub *irisi_hub_start(int n, const int *fds, int parent, int64_t timeout_ms)
{
    irisi_hub *h = (irisi_hub *)calloc(1, sizeof *h);
    irisi_conn *conns = (irisi_conn *)calloc((size_t)n + 1, sizeof *conns);
    struct pollfd *polls = (struct pollfd *)calloc((size_t)n + 1, sizeof *polls);
    struct timeval stuck;
    stuck.tv_sec = 10; /* a rank that takes nothing for so long is as good as dead */
    stuck.tv_usec = 0;
    if (h && conns && polls) {
        h->n = n;
        h->conns = conns;
        h->polls = polls;
        h->patience_ms = irisi_patience_ms(timeout_ms);
        h->lost = -1;
        for (int r = 0; r <= n; r++) {
            conns[r].fd = r < n ? fds[r] : parent;
            if (conns[r].fd >= 0)
                setsockopt(conns[r].fd, SOL_SOCKET, SO_SNDTIMEO, &stuck, sizeof stuck);
        }
        if (irisi_own_thread(&h->thread, NULL, irisi_hub_main, h) == 0)
            return h;
    }
    free(h);
    free(conns);
    free(polls);
    return NULL;
}

/* Once its thread is gone, or was never in this process. */
static void irisi_hub_free(irisi_hub *h)
{
    for (int r = 0; r <= h->n; r++)
        irisi_hub_drop(&h->conns[r]);
    free(h->conns);
    free(h->polls);
    free(h);
}

static void irisi_hub_join(irisi_hub *h)
{
    pthread_join(h->thread, NULL);
    irisi_hub_free(h);
}

#endif
#endif
