/* SPDX-License-Identifier: MIT */
/*
 * control_link.h: each rank's end of the connection to the hub: a reader thread, and irisi_gather, on which every host
 * collective is built.
 */
#ifndef IRIS_RUNTIME_CONTROL_LINK_H
#define IRIS_RUNTIME_CONTROL_LINK_H
#ifdef IRIS_INIT_C

#include <iris/runtime/fork.h>

/*
 * Records why the world has stopped, and makes running kernels leave. A rank's death outweighs a deadline; that a rank
 * has left because of the deadline does not: see irisi_parted.
 */
static void irisi_noticed(iris_world *w, iris_status status, int rank, const char *text)
{
    pthread_mutex_lock(&w->lock);
    const int news = !w->leaving && (!w->notice || (irisi_mendable(w->notice) && status == IRIS_ERR_PEER &&
                                                    !w->parted_text[0]));
    if (news) {
        snprintf(w->notice_text, sizeof w->notice_text, "%s", text);
        __atomic_store_n(&w->notice, (int)status, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&w->lock);
    irisi_control *control = __atomic_load_n(&w->control, __ATOMIC_ACQUIRE);
    if (news && control)
        irisi_dev_raise_abort(&w->dev, control, 1u + (uint32_t)(rank < 0 ? 0 : rank));
    pthread_mutex_lock(&w->lock);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/*
 * A rank has left the stopped world. Every call goes on to say why it has stopped, the same on every rank, however late
 * a rank asks; only iris_reset says that somebody is gone.
 */
static void irisi_parted(iris_world *w, const char *text)
{
    pthread_mutex_lock(&w->lock);
    if (!w->parted_text[0])
        snprintf(w->parted_text, sizeof w->parted_text, "%s", text);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

/* Until the hub has told every rank the same reason, for two seconds at most. */
static void irisi_await_notice(iris_world *w)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 2;
    pthread_mutex_lock(&w->lock);
    while (!w->notice && pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT)
        continue;
    pthread_mutex_unlock(&w->lock);
}

/* Reads what the hub sends, also while this rank's main thread is in a kernel. */
static void *irisi_reader_main(void *arg)
{
    iris_world *w = (iris_world *)arg;
    irisi_frame f;
    for (;;) {
        char *data = NULL;
        const char *why = "rank 0 died or left: its connection closed before iris_finalize";
        if (irisi_recv_all(w->sock, &f, sizeof f) == 0 && f.magic == IRISI_MAGIC &&
            (uint64_t)f.payload <= (uint64_t)IRISI_CHUNK * (uint64_t)w->size &&
            (data = (char *)malloc((size_t)f.payload + 1)) != NULL && irisi_recv_all(w->sock, data, f.payload) == 0)
            why = NULL;
        if (why) {
            free(data);
            irisi_noticed(w, IRIS_ERR_PEER, 0, why);
            return NULL;
        }
        data[f.payload] = 0;
        if (f.type == IRISI_NOTICE || f.type == IRISI_PARTED) {
            if (f.type == IRISI_NOTICE)
                irisi_noticed(w, (iris_status)f.status, f.rank, data);
            else
                irisi_parted(w, data);
            free(data);
            continue;
        }
        pthread_mutex_lock(&w->lock);
        free(w->reply_data);
        w->reply = f;
        w->reply_data = data;
        w->replied = 1;
        if (f.kind == IRISI_FINALIZE && f.status == IRIS_OK)
            w->leaving = 1; /* what closes from here on is no news */
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
    }
}

/* Waits for the hub's answer to call `seq`; 0, or -1 when the world has stopped, or the status of silence. */
static int irisi_await_reply(iris_world *w, irisi_kind kind, irisi_frame *f, char **data)
{
    int64_t patience = irisi_patience_ms(w->timeout_ms);
    const int64_t until = irisi_now_ms() + patience + 2000; /* the hub is the first to lose patience */
    struct timespec deadline;
    int result = 1;
    deadline.tv_sec = (time_t)(until / 1000);
    deadline.tv_nsec = (long)(until % 1000) * 1000000;
    pthread_mutex_lock(&w->lock);
    for (;;) {
        if (kind == IRISI_RESET && w->parted_text[0] && irisi_mendable(w->notice)) {
            memcpy(w->notice_text, w->parted_text, sizeof w->notice_text);
            __atomic_store_n(&w->notice, (int)IRIS_ERR_PEER, __ATOMIC_RELEASE);
        }
        const int stopped = w->notice && !(kind == IRISI_RESET && irisi_mendable(w->notice));
        if (w->replied && w->reply.seq == w->seq) {
            *f = w->reply;
            *data = w->reply_data;
            w->reply_data = NULL;
            w->replied = 0;
            result = 0;
        }
        if (!result || stopped) {
            result = result ? -1 : 0;
            break;
        }
        if (patience < 0)
            pthread_cond_wait(&w->changed, &w->lock);
        else if (pthread_cond_timedwait(&w->changed, &w->lock, &deadline) == ETIMEDOUT)
            break;
    }
    pthread_mutex_unlock(&w->lock);
    return result;
}

static iris_status irisi_fail_stopped(iris_world *w);

/* What stopped the world, once: from the hub, or from a wait whose deadline passed in a kernel. */
static iris_status irisi_stop(iris_world *w, iris_status status, const char *text)
{
    if (!w->failed || (irisi_mendable(w->failed) && status == IRIS_ERR_PEER)) {
        w->failed = status;
        w->failure_logged = 0;
        snprintf(w->failure, sizeof w->failure, "%s", text);
    }
    return irisi_fail_stopped(w);
}

static iris_status irisi_take_notice(iris_world *w)
{
    char text[IRISI_SENTENCE];
    if (!__atomic_load_n(&w->notice, __ATOMIC_ACQUIRE))
        return IRIS_OK;
    pthread_mutex_lock(&w->lock);
    const iris_status status = (iris_status)w->notice;
    snprintf(text, sizeof text, "%s", w->notice_text);
    pthread_mutex_unlock(&w->lock);
    return irisi_stop(w, status, text);
}

/*
 * Every host collective: sends `bytes` bytes to the hub and receives what all ranks sent, in rank order (`*all`, to be
 * freed, `*total` bytes). `a` and `b` must be the same on every rank.
 */
static iris_status irisi_gather(iris_world *w, irisi_kind kind, uint64_t a, uint64_t b, const void *mine, size_t bytes,
                                char **all, size_t *total)
{
    irisi_frame f = irisi_frame_of(IRISI_GATHER, w->rank, IRIS_OK, bytes);
    char *data = NULL;
    *all = NULL;
    *total = bytes;
    if (w->size == 1) {
        *all = (char *)malloc(bytes + 1);
        if (!*all)
            return irisi_fail(w, IRIS_ERR_NOMEM, "%s: no memory for %zu bytes", irisi_kind_name[kind], bytes);
        if (bytes)
            memcpy(*all, mine, bytes);
        return IRIS_OK;
    }
    f.kind = (uint32_t)kind;
    pthread_mutex_lock(&w->lock);
    w->replied = 0; /* what came too late for the last call */
    pthread_mutex_unlock(&w->lock);
    f.seq = ++w->seq;
    f.a = a;
    f.b = b;
    if (irisi_send_all(w->sock, &f, sizeof f) || irisi_send_all(w->sock, mine, bytes))
        irisi_log(w->rank, IRISI_DEBUG, "%s: the connection to rank 0 is closed", irisi_kind_name[kind]);
    const int came = irisi_await_reply(w, kind, &f, &data);
    if (came < 0)
        return irisi_take_notice(w);
    if (came > 0)
        return irisi_stop(w, IRIS_ERR_PEER,
                          "rank 0 gave no answer within the deadline; it may be stopped in a debugger");
    if (f.status != IRIS_OK) {
        irisi_fail(w, (iris_status)f.status, "%s", data);
        free(data);
        return (iris_status)f.status;
    }
    *all = data;
    *total = f.payload;
    return IRIS_OK;
}

static iris_status irisi_enter(iris_world *w, const char *call);

/*
 * What every rank has, in rank order: *all, to be freed. For `call`, which needs no memory of its own for it: while it
 * had none, the other ranks would wait.
 */
static iris_status irisi_hear_all(iris_world *w, const char *call, const void *mine, size_t bytes, void **all)
{
    char *data = NULL;
    size_t total;
    iris_status status = irisi_enter(w, call);
    if (status == IRIS_OK)
        status = irisi_gather(w, IRISI_ALLGATHER, bytes, 0, mine, bytes, &data, &total);
    *all = data;
    return status;
}

/* A collective that carries nothing. */
static iris_status irisi_meet(iris_world *w, irisi_kind kind)
{
    char *all;
    size_t total;
    const iris_status status = irisi_gather(w, kind, 0, 0, NULL, 0, &all, &total);
    free(all);
    return status;
}

/* Everyone tells how a step went; everyone fails with the first sentence of a rank that failed. */
static iris_status irisi_agree(iris_world *w, irisi_kind kind, iris_status status)
{
    struct {
        int32_t status;
        char text[IRISI_SENTENCE];
    } mine, *all;
    char *data;
    size_t total;
    memset(&mine, 0, sizeof mine);
    mine.status = (int32_t)status;
    if (status != IRIS_OK)
        snprintf(mine.text, sizeof mine.text, "%s", w->error);
    const iris_status met = irisi_gather(w, kind, sizeof mine, 0, &mine, sizeof mine, &data, &total);
    if (met != IRIS_OK)
        return met; /* the sentence is its own too: what failed here may well be what follows from it */
    for (int r = 0; r < w->size && total == sizeof mine * (size_t)w->size; r++) {
        memcpy(&mine, data + sizeof mine * (size_t)r, sizeof mine);
        mine.text[IRISI_SENTENCE - 1] = 0;
        if (mine.status != IRIS_OK) {
            status = (iris_status)mine.status;
            irisi_remember_failure(w, status, mine.text);
            break;
        }
    }
    (void)all;
    free(data);
    return status;
}

#endif
#endif
