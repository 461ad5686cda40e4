/* SPDX-License-Identifier: MIT */
/*
 * rendezvous.h: how ranks find rank 0.
 *
 * Rank 0 listens; the others connect, say who they are, and are welcomed once everyone is there. On one node that is a
 * Unix socket in Linux's abstract namespace: it is no file, so nothing can outlive a kill -9. Such a socket has no mode
 * bits, so both ends check that the other runs as the same user (what mode 0600 would give), besides the job token.
 * Across nodes it is TCP and needs a token. The token keeps strangers and other jobs out; it is no encryption.
 */
#ifndef IRIS_RUNTIME_RENDEZVOUS_H
#define IRIS_RUNTIME_RENDEZVOUS_H
#ifdef IRIS_INIT_C

#include <iris/runtime/socket.h>

enum {
    IRISI_VERSION = IRIS_VERSION_MAJOR << 16 | IRIS_VERSION_MINOR,
    IRISI_STRANGERS = 64,    /* connections that have not said who they are */
    IRISI_GREETING_MS = 5000 /* time to say it */
};

/* What a rank says when it connects. */
typedef struct irisi_greeting {
    uint32_t magic, version;
    int32_t rank, world;
    char token[IRISI_TOKEN];
} irisi_greeting;

/* Takes the same time wherever the first difference is, so that a token cannot be guessed byte by byte. */
static int irisi_token_differs(const char *a, const char *b)
{
    volatile unsigned char difference = 0;
    for (int i = 0; i < IRISI_TOKEN; i++)
        difference = (unsigned char)(difference | ((unsigned char)a[i] ^ (unsigned char)b[i]));
    return difference != 0;
}

/* A random word of hexadecimal digits. */
static void irisi_random_word(char *word, size_t room)
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes && 2 * i + 2 < room; i++)
        snprintf(word + 2 * i, 3, "%02x", bytes[i]);
}

static void irisi_job_token(const irisi_settings *s, char token[IRISI_TOKEN])
{
    memset(token, 0, IRISI_TOKEN);
    snprintf(token, IRISI_TOKEN, "%s", s->c.token);
}

/* Rank 0's view of the ranks that arrive. */
typedef struct irisi_door {
    const irisi_settings *s;
    int listener, here, refused;
    int *ranks; /* sockets by rank; -1: not here */
    int strangers[IRISI_STRANGERS];
    int64_t since[IRISI_STRANGERS];
    int n_strangers;
} irisi_door;

static void irisi_refuse(irisi_door *door, int fd, iris_status status, const char *text)
{
    irisi_send_text(fd, IRISI_WELCOME, 0, status, text);
    irisi_socket_close(fd);
    door->refused++;
    irisi_log(0, IRISI_WARN, "refused a connection: %s", text);
}

/* Looks at what a connection said; takes the socket. */
static void irisi_admit(irisi_door *door, int fd, const irisi_greeting *g)
{
    char text[IRISI_SENTENCE], token[IRISI_TOKEN];
    irisi_job_token(door->s, token);
    if (g->magic != IRISI_MAGIC) {
        irisi_socket_close(fd);
        door->refused++;
    } else if (irisi_token_differs(g->token, token)) {
        irisi_refuse(door, fd, IRIS_ERR_TOKEN, "the job token does not match rank 0's; give every rank one IRIS_TOKEN");
    } else if (g->version != IRISI_VERSION || g->world != door->s->c.world || g->rank < 1 ||
               g->rank >= door->s->c.world) {
        snprintf(text, sizeof text, "rank %d of %d (version %u.%u) does not fit rank 0's world of %d (version %d.%d)",
                 (int)g->rank, (int)g->world, g->version >> 16, g->version & 0xffffu, door->s->c.world,
                 IRIS_VERSION_MAJOR, IRIS_VERSION_MINOR);
        irisi_refuse(door, fd, IRIS_ERR_MISMATCH, text);
    } else if (door->ranks[g->rank] >= 0) {
        snprintf(text, sizeof text,
                 "rank %d has arrived already; two processes have one rank, or two jobs one name (set IRIS_JOB)",
                 (int)g->rank);
        irisi_refuse(door, fd, IRIS_ERR_MISMATCH, text);
    } else {
        door->ranks[g->rank] = fd;
        door->here++;
    }
}

/* One look at every connection that has not said who it is; nobody can hold the others up. */
static void irisi_hear_strangers(irisi_door *door)
{
    for (int i = 0; i < door->n_strangers; i++) {
        irisi_greeting g;
        const int fd = door->strangers[i];
        const ssize_t n = recv(fd, &g, sizeof g, MSG_PEEK | MSG_DONTWAIT);
        const int nothing = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        if ((nothing || (n > 0 && n < (ssize_t)sizeof g)) && irisi_now_ms() - door->since[i] < IRISI_GREETING_MS)
            continue;
        door->n_strangers--;
        door->strangers[i] = door->strangers[door->n_strangers];
        door->since[i] = door->since[door->n_strangers];
        i--;
        if (n == (ssize_t)sizeof g && recv(fd, &g, sizeof g, MSG_DONTWAIT) == n)
            irisi_admit(door, fd, &g);
        else
            irisi_socket_close(fd);
    }
}

static void irisi_open_door(irisi_door *door)
{
    if (door->n_strangers == IRISI_STRANGERS)
        return;
    const int fd = irisi_accept(door->listener);
    if (fd < 0)
        return;
    if (!door->s->c.host && !irisi_same_user(fd)) {
        irisi_socket_close(fd);
        door->refused++;
        return;
    }
    if (door->s->c.host)
        irisi_tune_tcp(fd);
    door->strangers[door->n_strangers] = fd;
    door->since[door->n_strangers++] = irisi_now_ms();
}

/* The sentence about ranks that did not come. */
static void irisi_absent(const irisi_door *door, char *text, size_t room)
{
    size_t used = 0;
    for (int r = 1; r < door->s->c.world && used + 200 < room; r++)
        if (door->ranks[r] < 0)
            used += (size_t)snprintf(text + used, room - used, "%s%d", used ? ", " : "rank ", r);
    snprintf(text + used, room - used,
             " never arrived at rank 0 within %lld ms (job \"%.60s\", %d of %d are here, %d refused)",
             (long long)door->s->c.timeout_ms, door->s->job, door->here + 1, door->s->c.world, door->refused);
}

/* Rank 0: waits for every rank, then welcomes them all, or tells those that came who did not. */
static iris_status irisi_receive(const irisi_settings *s, int listener, int *ranks)
{
    irisi_door door;
    char text[IRISI_SENTENCE] = "";
    const int64_t until = irisi_until(s->c.timeout_ms);
    memset(&door, 0, sizeof door);
    door.s = s;
    door.listener = listener;
    door.ranks = ranks;
    while (door.here < s->c.world - 1 && irisi_now_ms() < until) {
        struct pollfd polls[IRISI_STRANGERS + 1];
        for (int i = 0; i <= door.n_strangers; i++) {
            polls[i].fd = i < door.n_strangers ? door.strangers[i] : listener;
            polls[i].events = POLLIN;
        }
        poll(polls, (nfds_t)door.n_strangers + 1, irisi_poll_ms(until, 100));
        const int said = door.n_strangers;
        irisi_open_door(&door);
        irisi_hear_strangers(&door);
        if (door.n_strangers && door.n_strangers == said)
            irisi_nap_ms(1); /* half a greeting would keep poll awake */
    }
    irisi_close_all(door.strangers, door.n_strangers);
    irisi_socket_close(listener);
    if (door.here < s->c.world - 1)
        irisi_absent(&door, text, sizeof text);
    for (int r = 1; r < s->c.world; r++)
        if (ranks[r] >= 0)
            irisi_send_text(ranks[r], IRISI_WELCOME, 0, text[0] ? IRIS_ERR_PEER : IRIS_OK, text);
    return text[0] ? irisi_fail(NULL, IRIS_ERR_PEER, "%s", text) : IRIS_OK;
}

/* Connects to rank 0, which may start later than this rank. */
static iris_status irisi_dial(const irisi_settings *s, int64_t until, int *sock)
{
    struct addrinfo *all = s->c.host ? irisi_resolve(s->c.host, s->c.port, 0) : NULL;
    int nap = 2, failed = 0;
    if (s->c.host && !all)
        return IRIS_ERR_SYSTEM;
    for (*sock = -1; *sock < 0; nap = nap < 50 ? 2 * nap : 50) {
        struct sockaddr_un a;
        const socklen_t bytes = irisi_unix_address(s, &a);
        if (!all)
            *sock = irisi_dial_once((const struct sockaddr *)(const void *)&a, bytes, AF_UNIX, until);
        for (struct addrinfo *i = all; i && *sock < 0; i = i->ai_next)
            *sock = irisi_dial_once(i->ai_addr, i->ai_addrlen, i->ai_family, until);
        failed = *sock < 0 ? errno : 0;
        if (*sock < 0 && irisi_now_ms() >= until)
            break;
        if (*sock < 0)
            irisi_nap_ms(nap);
    }
    if (all)
        freeaddrinfo(all);
    char place[128] = "the job's Unix socket";
    if (s->c.host)
        snprintf(place, sizeof place, "%.100s, port %d", s->c.host, s->c.port);
    if (*sock < 0)
        return irisi_fail(NULL, IRIS_ERR_PEER,
                          "rank %d found nobody listening at %s (job \"%.60s\") within %lld ms: %s; is rank 0 started, "
                          "with the same IRIS_JOB?",
                          s->c.rank, place, s->job, (long long)s->c.timeout_ms, strerror(failed));
    if (s->c.host)
        irisi_tune_tcp(*sock);
    if (s->c.host || irisi_same_user(*sock))
        return IRIS_OK;
    irisi_socket_close(*sock);
    return irisi_fail(NULL, IRIS_ERR_TOKEN, "another user listens under the name of job \"%.60s\"; set IRIS_JOB",
                      s->job);
}

/* Every rank but 0: connects, says who it is, and waits to be welcomed. */
static iris_status irisi_arrive(const irisi_settings *s, int *sock)
{
    irisi_greeting g;
    irisi_frame f;
    char text[IRISI_SENTENCE] = "rank 0 closed the connection before everyone had arrived";
    const int64_t until = irisi_until(s->c.timeout_ms);
    iris_status status = irisi_dial(s, until, sock);
    if (status != IRIS_OK)
        return status;
    memset(&g, 0, sizeof g);
    g.magic = IRISI_MAGIC;
    g.version = IRISI_VERSION;
    g.rank = s->c.rank;
    g.world = s->c.world;
    irisi_job_token(s, g.token);
    struct timeval patience; /* rank 0 may have started later: its own deadline counts */
    patience.tv_sec = s->c.timeout_ms < 0 ? 0 : (time_t)(s->c.timeout_ms / 1000 + 2);
    patience.tv_usec = 0;
    setsockopt(*sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    status = IRIS_ERR_PEER;
    errno = 0;
    if (irisi_send_all(*sock, &g, sizeof g) == 0 && irisi_recv_all(*sock, &f, sizeof f) == 0 &&
        f.magic == IRISI_MAGIC && f.type == IRISI_WELCOME && f.payload < sizeof text &&
        irisi_recv_all(*sock, text, f.payload) == 0) {
        text[f.payload] = 0;
        status = (iris_status)f.status;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        snprintf(text, sizeof text, "not everyone had arrived within %lld s, by the deadline of this rank",
                 (long long)patience.tv_sec);
    }
    patience.tv_sec = 0;
    setsockopt(*sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (status == IRIS_OK)
        return IRIS_OK;
    irisi_socket_close(*sock);
    return irisi_fail(NULL, status, "rank %d: %s", s->c.rank, text);
}

/* Where rank 0 listens, as the caller's allgather carries it. */
typedef struct irisi_place {
    uint64_t node;
    int32_t port, status;
    char host[256], job[64], token[IRISI_TOKEN], text[IRISI_SENTENCE];
} irisi_place;

static iris_status irisi_ask(const irisi_settings *s, const irisi_place *mine, irisi_place *all)
{
    const int failed = s->c.allgather(s->c.allgather_arg, mine, all, sizeof *mine);
    return failed ? irisi_fail(NULL, IRIS_ERR_SYSTEM, "rank %d: the allgather callback returned %d", s->c.rank, failed)
                  : IRIS_OK;
}

/* The caller's allgather tells everyone rank 0's address and a random token; the settings then say so. */
static iris_status irisi_agree_on_place(irisi_settings *s, irisi_place *all, int *listener)
{
    irisi_place mine;
    int nodes = 0;
    memset(&mine, 0, sizeof mine);
    mine.node = irisi_node();
    iris_status status = irisi_ask(s, &mine, all);
    for (int r = 1; status == IRIS_OK && r < s->c.world; r++)
        nodes += all[r].node != all[0].node;
    if (status == IRIS_OK && s->c.rank == 0) {
        irisi_random_word(mine.job, sizeof mine.job);
        irisi_random_word(mine.token, sizeof mine.token);
        if (nodes && gethostname(mine.host, sizeof mine.host - 1) != 0)
            mine.status = IRIS_ERR_SYSTEM;
        snprintf(s->job, sizeof s->job, "%s", mine.job);
        mine.status = (int32_t)(nodes ? irisi_listen_tcp(NULL, &mine.port, listener) : irisi_listen_unix(s, listener));
        if (mine.status)
            snprintf(mine.text, sizeof mine.text, "%s", irisi_last_error);
    }
    if (status == IRIS_OK)
        status = irisi_ask(s, &mine, all);
    if (status != IRIS_OK)
        return status;
    all[0].text[IRISI_SENTENCE - 1] = all[0].job[63] = all[0].token[IRISI_TOKEN - 1] = all[0].host[255] = 0;
    if (all[0].status != IRIS_OK)
        return irisi_fail(NULL, (iris_status)all[0].status, "%s", all[0].text);
    snprintf(s->job, sizeof s->job, "%s", all[0].job);
    s->c.token = all[0].token;
    s->c.host = nodes ? all[0].host : NULL;
    s->c.port = all[0].port;
    return IRIS_OK;
}

/* Rank 0: a socket pair for itself, and everyone else through the door. */
static iris_status irisi_gather_ranks(const irisi_settings *s, int listener, irisi_link *link)
{
    int pair[2];
    iris_status status = irisi_receive(s, listener, link->hub);
    if (status == IRIS_OK && irisi_socket_pair(pair) != 0)
        status = irisi_fail(NULL, IRIS_ERR_SYSTEM, "socketpair failed: %s", strerror(errno));
    if (status != IRIS_OK) {
        irisi_close_all(link->hub, s->c.world);
        return status;
    }
    link->hub[0] = pair[0];
    link->sock = pair[1];
    return IRIS_OK;
}

/* Finds the other ranks of the job. `link->hub`, to be freed, is set in rank 0. */
static iris_status irisi_connect(irisi_settings *s, irisi_link *link)
{
    int listener = -1;
    link->sock = link->parent = -1;
    link->hub = NULL;
    if (s->c.world == 1)
        return IRIS_OK;
    irisi_place *places = s->c.allgather ? (irisi_place *)calloc((size_t)s->c.world, sizeof *places) : NULL;
    int *ranks = s->c.rank == 0 ? (int *)malloc(sizeof *ranks * (size_t)s->c.world) : NULL;
    iris_status status = IRIS_OK;
    if ((s->c.allgather && !places) || (s->c.rank == 0 && !ranks))
        status = irisi_fail(NULL, IRIS_ERR_NOMEM, "no memory for a world of %d ranks", s->c.world);
    else if (s->c.allgather)
        status = irisi_agree_on_place(s, places, &listener);
    else if (s->c.host && (!s->c.port || !s->c.token[0]))
        status = irisi_fail(NULL, IRIS_ERR_ARGUMENT, "a TCP rendezvous at %s needs a %s", s->c.host,
                            s->c.port ? "job token: set IRIS_TOKEN" : "port: set IRIS_PORT");
    else if (s->c.rank == 0)
        status = s->c.host ? irisi_listen_tcp(s->c.host, &s->c.port, &listener) : irisi_listen_unix(s, &listener);
    for (int r = 0; ranks && r < s->c.world; r++)
        ranks[r] = -1;
    link->hub = ranks;
    if (status == IRIS_OK)
        status = s->c.rank == 0 ? irisi_gather_ranks(s, listener, link) : irisi_arrive(s, &link->sock);
    else if (listener >= 0)
        irisi_socket_close(listener);
    free(places); /* with the token, which only the rendezvous needs */
    if (status == IRIS_OK)
        return IRIS_OK;
    free(ranks);
    link->hub = NULL;
    char why[IRISI_SENTENCE];
    memcpy(why, irisi_last_error, sizeof why);
    return irisi_fail(NULL, status, "%s; %s", why, s->by);
}

#endif
#endif
