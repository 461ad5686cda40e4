/* SPDX-License-Identifier: MIT */
/*
 * runtime.h (host): what init.c asks of the platform. Only init.c includes it.
 *
 *   irisi_dev
 *   irisi_dev_prepare irisi_dev_open irisi_dev_stop irisi_dev_abandon irisi_dev_close irisi_dev_use
 *   irisi_heap irisi_handle irisi_dev_heap_* (heap.h)
 *   irisi_window_card irisi_window_view irisi_dev_window_* (window.h)
 *   IRISI_DLPACK_DEVICE
 *   irisi_dev_local irisi_dev_local_free irisi_dev_table
 *   irisi_dev_copy irisi_dev_fill irisi_dev_read_control irisi_dev_raise_abort
 *   irisi_dev_stream_* irisi_dev_event_* irisi_dev_synchronize irisi_dev_copy_rows irisi_dev_max_workgroups
 *   irisi_dev_launch (stream.h)
 *
 * Every platform's host.h has the same functions. They return null, or what went wrong in a few words.
 */
#ifndef IRIS_ARCH_HOST_RUNTIME_H
#define IRIS_ARCH_HOST_RUNTIME_H
#ifdef IRIS_INIT_C

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Out of line, because kernels are compiled in strict C11 too, which hides what POSIX adds. */
uint64_t irisi_host_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Whether cores are given away. A yield among threads that wait for each other is the quickest way to the one that can
 * go on, and takes microseconds. Where others want the cores too, it lasts as long as they may compute, milliseconds,
 * and the scheduler counts it against the thread that yielded, so that the next one lasts longer still. Threads that
 * sleep for a moment are scheduled soon there, however many others want the cores. So a yield that took long is the
 * last one for IRISI_CROWDED_TIMES as long, of all threads of the process; that time doubles as long as the first yield
 * behind it is no quicker.
 */
enum { IRISI_YIELD_LONG = 1000 * 1000 /* ns */, IRISI_CROWDED_TIMES = 16, IRISI_CROWDED_MOST = 640 * 1000 * 1000 };
static uint64_t irisi_crowded_until, irisi_crowded_for;

/* A yield took from `before` to `now`, too long; `until` is since when yields had been allowed again. */
static void irisi_crowded(uint64_t until, uint64_t before, uint64_t now)
{
    const uint64_t last = __atomic_load_n(&irisi_crowded_for, __ATOMIC_RELAXED);
    uint64_t next = before - until > last ? IRISI_CROWDED_TIMES * (now - before) : 2 * last;
    if (next > IRISI_CROWDED_MOST)
        next = IRISI_CROWDED_MOST;
    /* Of several threads that waited at the same time, the first one says so. */
    if (__atomic_compare_exchange_n(&irisi_crowded_until, &until, now + next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        __atomic_store_n(&irisi_crowded_for, next, __ATOMIC_RELAXED);
}

/* Gives the core away and returns 1; 0, at once, where that has lately taken long. */
static int irisi_yield(void)
{
    const uint64_t until = __atomic_load_n(&irisi_crowded_until, __ATOMIC_RELAXED), before = irisi_host_clock();
    if (before < until)
        return 0;
    sched_yield();
    const uint64_t now = irisi_host_clock();
    if (now - before >= IRISI_YIELD_LONG)
        irisi_crowded(until, before, now);
    return 1;
}

/* Sleeps are as short as the system makes them until a wait has lasted for milliseconds. */
void irisi_host_nap(uint32_t turn)
{
    struct timespec nap;
    if (turn < 64 && irisi_yield())
        return;
    nap.tv_sec = 0;
    nap.tv_nsec = turn < 128 ? 1 : turn < 328 ? 1000 * (long)(turn - 127) : 200000;
    nanosleep(&nap, NULL);
}

typedef struct irisi_dev {
    int device;
    int compute_units;
    char arch[32];
    char name[128];
    uint64_t clock_hz;     /* of iris_clock */
    size_t heap_bytes;     /* data part, by default */
    size_t sync_bytes;     /* sync part, by default */
    size_t heap_most;      /* what it can grow to, by default */
    size_t heap_block;     /* by multiples of this */
    size_t heap_alignment; /* of a heap's first byte */
    iris_stream streams;   /* of this world */
    /* What a caller got wrong about a kernel. */
    char mistake[128];
} irisi_dev;

/* The processor's name as the kernel has it. */
static void irisi_processor_name(char *name, size_t bytes)
{
    char line[256];
    FILE *f = irisi_open_text("/proc/cpuinfo");
    snprintf(name, bytes, "processor");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            snprintf(name, bytes, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
                     colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    if (f)
        fclose(f);
}

/* The device's memory, as DLPack numbers it: kDLCPU. */
enum { IRISI_DLPACK_DEVICE = 1 };

static void irisi_dev_prepare(void) {}

static const char *irisi_dev_open(irisi_dev *d, int ordinal)
{
    (void)ordinal;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    d->device = 0;
    d->compute_units = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    d->clock_hz = 1000000000;
    d->heap_bytes = (size_t)64 << 20;
    d->sync_bytes = IRISI_SYNC_HOST;
    d->heap_most = (size_t)8 << 30;
    d->heap_block = (size_t)64 << 10;
    d->heap_alignment = (size_t)2 << 20;
    snprintf(d->arch, sizeof d->arch, "host");
    irisi_processor_name(d->name, sizeof d->name);
    return NULL;
}

static void irisi_dev_close(irisi_dev *d) { (void)d; }

/* Makes the device current in the calling thread. */
static const char *irisi_dev_use(irisi_dev *d)
{
    (void)d;
    return NULL;
}

#include <iris/arch/host/heap.h>
#include <iris/arch/host/window.h>

/* Memory of this rank's device alone, aligned to 128 bytes or more. Freeing it may wait for all work of the device. */
static const char *irisi_dev_local(irisi_dev *d, size_t bytes, void **out)
{
    (void)d;
    *out = bytes > SIZE_MAX - 127 ? NULL : aligned_alloc(128, (bytes + 127) / 128 * 128);
    return *out ? NULL : "no memory";
}

static void irisi_dev_local_free(irisi_dev *d, void *memory) { (void)d, free(memory); }

/* A read-only copy of `bytes` bytes that kernels can read. */
static const char *irisi_dev_table(irisi_dev *d, const void *from, size_t bytes, void **out)
{
    const char *why = irisi_dev_local(d, bytes, out);
    if (!why)
        memcpy(*out, from, bytes);
    return why;
}

/* Reads a control block while kernels may be writing it: `abort` first, the rest only when that is set. */
static const char *irisi_dev_read_control(irisi_dev *d, const irisi_control *from, irisi_control *to)
{
    (void)d;
    memset(to, 0, sizeof *to);
    to->abort = __atomic_load_n(&from->abort, __ATOMIC_ACQUIRE);
    to->report.complete = __atomic_load_n(&from->report.complete, __ATOMIC_ACQUIRE);
    if (to->report.complete) /* other lanes may still try to claim it */
        memcpy(&to->report.from, &from->report.from, sizeof to->report - offsetof(irisi_report, from));
    return NULL;
}

/* Raises the abort word while kernels run, unless it is raised already; from any thread. */
static const char *irisi_dev_raise_abort(irisi_dev *d, irisi_control *control, uint32_t value)
{
    uint32_t none = 0;
    (void)d;
    __atomic_compare_exchange_n(&control->abort, &none, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    return NULL;
}

#include <iris/arch/host/stream.h>

/* Copies between any two of host and device memory, after the stream's earlier work; complete on return. */
static const char *irisi_dev_copy(irisi_dev *d, void *to, const void *from, size_t bytes, iris_stream stream)
{
    irisi_dev_stream_synchronize(d, stream);
    memmove(to, from, bytes);
    return NULL;
}

static const char *irisi_dev_fill(irisi_dev *d, void *to, int byte, size_t bytes, iris_stream stream)
{
    irisi_dev_stream_synchronize(d, stream);
    memset(to, byte, bytes);
    return NULL;
}

/* Drains and destroys the streams of this world. */
static void irisi_dev_stop(irisi_dev *d)
{
    while (d->streams)
        irisi_dev_stream_destroy(d, d->streams);
}

/* In a forked child, which has none of the streams' threads: frees what only they used. */
static void irisi_dev_abandon(irisi_dev *d)
{
    while (d->streams) {
        iris_stream s = d->streams;
        d->streams = s->next;
        for (uint32_t i = 0; i < s->n_workers; i++)
            free(s->workers[i]);
        free(s);
    }
}

#endif
#endif
