/* SPDX-License-Identifier: MIT */
/*
 * job.h (host): how a launch becomes threads. Only init.c includes it, through stream.h.
 *
 * A launch needs `slots * waves` threads at once: its stream's own and that stream's workers, which are created when a
 * launch first needs them, and then park. A cooperative launch has a slot for each workgroup; any other has as many as
 * the processor has room for, and each slot runs its workgroups in turn.
 */
#ifndef IRIS_ARCH_HOST_JOB_H
#define IRIS_ARCH_HOST_JOB_H
#ifdef IRIS_INIT_C

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <iris/arch/host/device.h>
#include <iris/arch/own_thread.h>

enum {
    IRISI_MAX_THREADS = 1024,            /* of one launch */
    IRISI_LANES_A_WAVE = 64,             /* lanes asked for that become one thread */
    IRISI_KERNEL_STACK = 1024 * 1024,    /* bytes that a kernel finds on whatever thread runs it */
    IRISI_STACK_BYTES = 2 * 1024 * 1024, /* of a thread for kernels: thread-local variables are there too */
    IRISI_LINGER = 64                    /* how often who waits for a stream gives the processor away, then sleeps */
};

__thread irisi_thread irisi_self;

/* One launch, until it is over. */
typedef struct irisi_job {
    irisi_kernel kernel;
    void *args;
    irisi_group *groups; /* one for each slot */
    uint32_t waves, workgroups, slots;
    uint32_t left; /* workers that still run */
} irisi_job;

typedef enum irisi_task_kind {
    IRISI_TASK_LAUNCH,
    IRISI_TASK_COPY,
    IRISI_TASK_RECORD,
    IRISI_TASK_WAIT,
    IRISI_TASK_CLOSE
} irisi_task_kind;

/* Rows of bytes to copy. */
typedef struct irisi_host_copy {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, bytes, rows;
} irisi_host_copy;

typedef struct irisi_task {
    struct irisi_task *next;
    irisi_task_kind kind;
    iris_event event;
    uint64_t turn; /* which recording of the event */
    irisi_job job;
    irisi_host_copy copy;
} irisi_task;

/* Alive while its owner or a queued task still uses it. */
struct irisi_event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t recorded, done; /* recordings asked for, and reached */
    uint64_t time;           /* iris_clock() of the last one */
    uint32_t users;
};

typedef struct irisi_worker {
    pthread_t thread;
    sem_t go;
    struct irisi_stream *stream;
    uint32_t index; /* thread of the launch: 1, 2, … (the stream's own thread is 0) */
} irisi_worker;

struct irisi_stream {
    struct irisi_stream *next; /* of the same world */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    irisi_task *head, *tail;
    uint64_t submitted, finished, awaited; /* tasks; who waits, waits for so many to finish */
    int running, sleeping;                 /* a thread is at a task; the stream's own waits for `work` */
    irisi_job *job; /* what the workers run; null: leave */
    sem_t done;     /* the last worker has finished */
    uint32_t n_workers;
    irisi_worker *workers[IRISI_MAX_THREADS];
};

static void irisi_sem_wait(sem_t *s)
{
    while (sem_wait(s) != 0 && errno == EINTR)
        continue;
}

/* Thread `index` of a launch: one wave of one slot, which runs every slots-th workgroup. */
static void irisi_run_wave(irisi_job *job, uint32_t index)
{
    const uint32_t slot = index / job->waves;
    irisi_self.group = &job->groups[slot];
    irisi_self.wave = index % job->waves;
    irisi_self.workgroups = job->workgroups;
    for (uint32_t wg = slot; wg < job->workgroups; wg += job->slots) {
        if (wg != slot)
            iris_sync_wg(); /* everyone has left the previous workgroup's shared memory */
        irisi_self.workgroup = wg;
        job->kernel(job->args);
    }
}

static void *irisi_worker_main(void *arg)
{
    irisi_worker *me = (irisi_worker *)arg;
    for (;;) {
        irisi_sem_wait(&me->go);
        irisi_job *job = me->stream->job;
        if (!job)
            return NULL;
        irisi_run_wave(job, me->index);
        if (__atomic_sub_fetch(&job->left, 1, __ATOMIC_ACQ_REL) == 0)
            sem_post(&me->stream->done);
    }
}

/*
 * 1 when the calling thread has the stack that kernels are promised. A caller may have any: 128 KiB are what some C
 * libraries give a thread, and what ulimit -s 128 leaves of the first one's.
 */
static int irisi_stack_suffices(void)
{
    static __thread uintptr_t low, high; /* asked for once in each thread: of the first thread it reads a file */
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (high == 0) {
        pthread_attr_t attr;
        void *first = NULL;
        size_t bytes = 0;
        high = 1;
        if (pthread_getattr_np(pthread_self(), &attr) == 0) {
            if (pthread_attr_getstack(&attr, &first, &bytes) == 0)
                low = (uintptr_t)first, high = low + bytes;
            pthread_attr_destroy(&attr);
        }
    }
    /* Elsewhere than on its own stack, a coroutine's, nobody knows how much is left. */
    return here > low && here < high && here - low >= IRISI_KERNEL_STACK + 64 * 1024;
}

/* A thread that runs kernels. */
static int irisi_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, IRISI_STACK_BYTES);
    const int failed = irisi_own_thread(thread, &attr, run, arg);
    pthread_attr_destroy(&attr);
    return failed;
}

static void irisi_job_free(irisi_job *job)
{
    for (uint32_t i = 0; job->groups && i < job->slots; i++)
        free(job->groups[i].shared);
    free(job->groups);
    free(job->args);
}

static void irisi_run_job(iris_stream s, irisi_job *job)
{
    const uint32_t others = job->slots * job->waves - 1;
    job->left = others;
    s->job = job;
    for (uint32_t i = 0; i < others; i++)
        sem_post(&s->workers[i]->go);
    irisi_run_wave(job, 0);
    if (others)
        irisi_sem_wait(&s->done);
    irisi_job_free(job);
}

static uint32_t irisi_waves_of(uint32_t lanes) { return (lanes + IRISI_LANES_A_WAVE - 1) / IRISI_LANES_A_WAVE; }

/* Makes sure that a stream has the workers that a launch of `threads` threads needs. */
static const char *irisi_more_workers(iris_stream s, uint32_t threads)
{
    while (s->n_workers + 1 < threads) {
        irisi_worker *worker = (irisi_worker *)calloc(1, sizeof *worker);
        if (!worker)
            return "no memory for a kernel's threads";
        worker->stream = s;
        worker->index = s->n_workers + 1;
        sem_init(&worker->go, 0, 0);
        if (irisi_thread_start(&worker->thread, irisi_worker_main, worker) != 0) {
            sem_destroy(&worker->go);
            free(worker);
            return "cannot create a kernel's threads (see ulimit -u)";
        }
        s->workers[s->n_workers++] = worker;
    }
    return NULL;
}

static const char *irisi_job_init(irisi_job *job, const void *args, size_t bytes, uint32_t shared_bytes)
{
    const size_t shared = ((size_t)shared_bytes + 127) / 128 * 128;
    job->args = aligned_alloc(64, (bytes + 64) / 64 * 64);
    job->groups = (irisi_group *)calloc(job->slots, sizeof *job->groups);
    if (!job->args || !job->groups)
        return "no memory for a launch";
    if (bytes)
        memcpy(job->args, args, bytes);
    for (uint32_t i = 0; i < job->slots; i++) {
        job->groups[i].waves = job->waves;
        if (!shared)
            continue;
        job->groups[i].shared = aligned_alloc(128, shared);
        if (!job->groups[i].shared)
            return "no memory for a launch's workgroup-shared memory";
#ifndef NDEBUG
        memset(job->groups[i].shared, 0xA5, shared); /* shared memory holds nothing a kernel may rely on */
#endif
    }
    return NULL;
}

#endif
#endif
