/* SPDX-License-Identifier: MIT */
/*
 * stream.h (host): streams, events and launches; the part of host.h that runs kernels. Only init.c includes it.
 *
 * A stream is a queue of tasks: launches (job.h), copies, events to record, events to wait for; and a thread that runs
 * them, one after the other, with whoever waits for the stream.
 */
#ifndef IRIS_ARCH_HOST_STREAM_H
#define IRIS_ARCH_HOST_STREAM_H
#ifdef IRIS_INIT_C

#include <iris/arch/host/job.h>

static void irisi_event_release(iris_event e)
{
    if (__atomic_sub_fetch(&e->users, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void irisi_event_reached(iris_event e, uint64_t turn)
{
    pthread_mutex_lock(&e->lock);
    if (turn > e->done) {
        e->done = turn;
        e->time = iris_clock();
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static uint64_t irisi_event_await(iris_event e, uint64_t turn)
{
    pthread_mutex_lock(&e->lock);
    while (e->done < turn)
        pthread_cond_wait(&e->changed, &e->lock);
    const uint64_t time = e->time;
    pthread_mutex_unlock(&e->lock);
    return time;
}

/* The next task, which the caller is to run; null when there is none, or another thread is at one. Locked. */
static irisi_task *irisi_take(iris_stream s)
{
    irisi_task *task = s->running ? NULL : s->head;
    if (task) {
        s->head = task->next;
        s->running = 1;
    }
    return task;
}

static void irisi_copy_rows(const irisi_host_copy *c)
{
    for (size_t i = 0; i < c->rows; i++)
        memcpy(c->to + i * c->to_pitch, c->from + i * c->from_pitch, c->bytes);
}

/* Runs a task that was taken; 0 when it was the stream's last. Unlocked. */
static int irisi_run_task(iris_stream s, irisi_task *task)
{
    const int open = task->kind != IRISI_TASK_CLOSE;
    if (task->kind == IRISI_TASK_LAUNCH)
        irisi_run_job(s, &task->job);
    else if (task->kind == IRISI_TASK_COPY)
        irisi_copy_rows(&task->copy);
    else if (task->kind == IRISI_TASK_RECORD)
        irisi_event_reached(task->event, task->turn);
    else if (task->kind == IRISI_TASK_WAIT)
        irisi_event_await(task->event, task->turn);
    if (task->event)
        irisi_event_release(task->event);
    free(task);

    pthread_mutex_lock(&s->lock);
    s->running = 0;
    if (++s->finished == s->awaited) /* a wake-up for each task would cost small kernels more than their work */
        pthread_cond_broadcast(&s->idle);
    if (s->sleeping && s->head)
        pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    return open;
}

/*
 * Gives the processor away, the stream unlocked, as long as that is quicker than to sleep and be woken. 1: the caller
 * looks again, since what it waits for may have come while the stream was unlocked and nobody slept; 0: the stream was
 * locked all the time, and the caller may sleep. Locked.
 */
static int irisi_linger(iris_stream s, uint32_t *turn)
{
    if (*turn >= IRISI_LINGER)
        return 0;
    pthread_mutex_unlock(&s->lock);
    *turn = irisi_yield() ? *turn + 1 : (uint32_t)IRISI_LINGER;
    pthread_mutex_lock(&s->lock);
    return 1;
}

static void *irisi_stream_main(void *arg)
{
    iris_stream s = (iris_stream)arg;
    irisi_task *task;
    do {
        pthread_mutex_lock(&s->lock);
        for (uint32_t turn = 0; (task = irisi_take(s)) == NULL;)
            if (!irisi_linger(s, &turn)) {
                s->sleeping = 1;
                pthread_cond_wait(&s->work, &s->lock);
                s->sleeping = 0;
            }
        pthread_mutex_unlock(&s->lock);
    } while (irisi_run_task(s, task));
    return NULL;
}

static void irisi_submit(iris_stream s, irisi_task *task)
{
    pthread_mutex_lock(&s->lock);
    task->next = NULL;
    if (s->head)
        s->tail->next = task;
    else
        s->head = task;
    s->tail = task;
    s->submitted++;
    if (s->sleeping)
        pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
}

static irisi_task *irisi_task_new(irisi_task_kind kind, iris_event event)
{
    irisi_task *task = (irisi_task *)calloc(1, sizeof *task);
    if (!task)
        return NULL;
    task->kind = kind;
    task->event = event;
    if (event)
        __atomic_add_fetch(&event->users, 1, __ATOMIC_RELAXED);
    return task;
}

/* The caller, who would only wait, runs what the stream's own thread has not begun: a kernel that is waited for at once
 * needs no other thread. That is for callers whose stack has room for a kernel. */
static const char *irisi_dev_stream_synchronize(irisi_dev *d, iris_stream s)
{
    const int roomy = irisi_stack_suffices();
    (void)d;
    pthread_mutex_lock(&s->lock);
    const uint64_t until = s->submitted;
    for (uint32_t turn = 0; s->finished < until;) {
        irisi_task *task = roomy ? irisi_take(s) : NULL;
        if (task) {
            pthread_mutex_unlock(&s->lock);
            irisi_run_task(s, task);
            pthread_mutex_lock(&s->lock);
            turn = 0;
        } else if (!irisi_linger(s, &turn)) {
            s->awaited = until;
            pthread_cond_wait(&s->idle, &s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static const char *irisi_dev_stream_create(irisi_dev *d, iris_stream *out)
{
    iris_stream s = (iris_stream)calloc(1, sizeof *s);
    if (!s)
        return "no memory for a stream";
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->idle, NULL);
    sem_init(&s->done, 0, 0);
    if (irisi_thread_start(&s->thread, irisi_stream_main, s) != 0) {
        free(s);
        return "cannot create a thread for a stream (see ulimit -u)";
    }
    s->next = d->streams;
    d->streams = s;
    *out = s;
    return NULL;
}

static const char *irisi_dev_stream_destroy(irisi_dev *d, iris_stream s)
{
    irisi_task *last = irisi_task_new(IRISI_TASK_CLOSE, NULL);
    if (!last)
        return "no memory to close a stream";
    irisi_submit(s, last);
    pthread_join(s->thread, NULL);
    s->job = NULL;
    for (uint32_t i = 0; i < s->n_workers; i++) {
        sem_post(&s->workers[i]->go);
        pthread_join(s->workers[i]->thread, NULL);
        sem_destroy(&s->workers[i]->go);
        free(s->workers[i]);
    }
    for (iris_stream *p = &d->streams; *p; p = &(*p)->next) {
        if (*p == s) {
            *p = s->next;
            break;
        }
    }
    sem_destroy(&s->done);
    pthread_cond_destroy(&s->idle);
    pthread_cond_destroy(&s->work);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

static int irisi_dev_stream_known(const irisi_dev *d, iris_stream s)
{
    for (iris_stream p = d->streams; p; p = p->next)
        if (p == s)
            return 1;
    return 0;
}

static const char *irisi_dev_synchronize(irisi_dev *d)
{
    for (iris_stream s = d->streams; s; s = s->next)
        irisi_dev_stream_synchronize(d, s);
    return NULL;
}

static const char *irisi_dev_event_create(irisi_dev *d, iris_event *out)
{
    (void)d;
    iris_event e = (iris_event)calloc(1, sizeof *e);
    if (!e)
        return "no memory for an event";
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->changed, NULL);
    e->users = 1;
    *out = e;
    return NULL;
}

static const char *irisi_dev_event_destroy(irisi_dev *d, iris_event e)
{
    (void)d;
    irisi_event_release(e);
    return NULL;
}

static const char *irisi_dev_event_record(irisi_dev *d, iris_event e, iris_stream s)
{
    (void)d;
    irisi_task *task = irisi_task_new(IRISI_TASK_RECORD, e);
    if (!task)
        return "no memory to record an event";
    pthread_mutex_lock(&e->lock);
    task->turn = ++e->recorded;
    pthread_mutex_unlock(&e->lock);
    irisi_submit(s, task);
    return NULL;
}

/* Waits for the last recording asked for; an event that was never recorded does not hold a stream up. */
static const char *irisi_dev_stream_wait_event(irisi_dev *d, iris_stream s, iris_event e)
{
    (void)d;
    irisi_task *task = irisi_task_new(IRISI_TASK_WAIT, e);
    if (!task)
        return "no memory to wait for an event";
    pthread_mutex_lock(&e->lock);
    task->turn = e->recorded;
    pthread_mutex_unlock(&e->lock);
    irisi_submit(s, task);
    return NULL;
}

/* Puts a copy of rows on a stream, between any memory that this rank can reach. */
static const char *irisi_dev_copy_rows(irisi_dev *d, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                       size_t bytes, size_t rows, iris_stream s)
{
    (void)d;
    irisi_task *task = irisi_task_new(IRISI_TASK_COPY, NULL);
    if (!task)
        return "no memory for a copy";
    task->copy.to = (char *)to, task->copy.to_pitch = to_pitch;
    task->copy.from = (const char *)from, task->copy.from_pitch = from_pitch;
    task->copy.bytes = bytes, task->copy.rows = rows;
    irisi_submit(s, task);
    return NULL;
}

/* There are no graphs here. */
static int irisi_dev_stream_capturing(irisi_dev *d, iris_stream s) { return (void)d, (void)s, 0; }

static const char *irisi_dev_event_elapsed_ms(irisi_dev *d, float *ms, iris_event start, iris_event stop)
{
    (void)d;
    pthread_mutex_lock(&start->lock);
    const uint64_t first = start->recorded;
    pthread_mutex_unlock(&start->lock);
    pthread_mutex_lock(&stop->lock);
    const uint64_t second = stop->recorded;
    pthread_mutex_unlock(&stop->lock);
    if (!first || !second)
        return "an event was never recorded";
    const uint64_t to = irisi_event_await(stop, second), from = irisi_event_await(start, first);
    *ms = (float)((double)(int64_t)(to - from) * 1e-6);
    return NULL;
}

/* A kernel without arguments does nothing but say how many lanes it was declared for, and how large its struct is. */
static const char *irisi_too_many_lanes(irisi_dev *d, irisi_kernel kernel, uint32_t lanes)
{
    kernel(NULL);
    if (lanes <= irisi_self.most_lanes)
        return NULL;
    snprintf(d->mistake, sizeof d->mistake, "%u lanes a workgroup are more than the %u that the kernel is declared for",
             lanes, irisi_self.most_lanes);
    return d->mistake;
}

static const char *irisi_dev_max_workgroups(irisi_dev *d, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes,
                                            uint32_t *workgroups)
{
    (void)shared_bytes;
    const char *why = irisi_too_many_lanes(d, kernel, lanes);
    *workgroups = why ? 0 : IRISI_MAX_THREADS / irisi_waves_of(lanes);
    return why;
}

static const char *irisi_dev_launch(irisi_dev *d, irisi_kernel kernel, const void *args, size_t bytes,
                                    const iris_launch_config *cfg, iris_stream s)
{
    const char *why = irisi_too_many_lanes(d, kernel, cfg->lanes);
    if (!why && bytes != irisi_self.args_bytes) {
        snprintf(d->mistake, sizeof d->mistake,
                 "%zu bytes of arguments are not the %zu of the struct that the kernel takes", bytes,
                 irisi_self.args_bytes);
        why = d->mistake;
    }
    irisi_task *task = why ? NULL : irisi_task_new(IRISI_TASK_LAUNCH, NULL);
    if (!task)
        return why ? why : "no memory for a launch";
    irisi_job *job = &task->job;
    job->kernel = kernel;
    job->waves = irisi_waves_of(cfg->lanes);
    job->workgroups = cfg->workgroups;
    job->slots = cfg->workgroups;
    if (!(cfg->flags & IRIS_LAUNCH_COOPERATIVE)) {
        const uint32_t room = (uint32_t)d->compute_units / job->waves;
        job->slots = room < 1 ? 1 : room < cfg->workgroups ? room : cfg->workgroups;
    }
    why = irisi_job_init(job, args, bytes, cfg->shared_bytes);
    if (!why)
        why = irisi_more_workers(s, job->slots * job->waves);
    if (why) {
        irisi_job_free(job);
        free(task);
        return why;
    }
    irisi_submit(s, task);
    return NULL;
}

#endif
#endif
