/* SPDX-License-Identifier: MIT */
/*
 * host.h (host): what init.c asks of the platform. Only init.c includes it.
 *
 *   irisi_dev irisi_heap irisi_handle
 *   irisi_dev_open irisi_dev_stop irisi_dev_close irisi_dev_use
 *   irisi_dev_heap_create irisi_dev_heap_export irisi_dev_heap_import irisi_dev_heap_published irisi_dev_heap_close
 *   irisi_dev_table irisi_dev_table_free irisi_dev_copy irisi_dev_fill irisi_dev_read_control irisi_dev_raise_abort
 *   irisi_dev_stream_* irisi_dev_event_* irisi_dev_synchronize irisi_dev_max_workgroups irisi_dev_launch (stream.h)
 *
 * Every platform's host.h has the same functions. They return null, or what went wrong in a few words.
 *
 * A heap on the host is an anonymous file (memfd) that each rank maps: nothing in the file system, nothing to outlive
 * the job. Other processes open it through /proc/<pid>/fd while the job starts. Ranks that are threads of one process
 * share one mapping of each heap, since thread sanitizer does not see races through a second one.
 */
#ifndef IRIS_ARCH_HOST_HOST_H
#define IRIS_ARCH_HOST_HOST_H
#ifdef IRIS_INIT_C

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

void irisi_host_nap(uint32_t turn)
{
    struct timespec nap;
    if (turn < 64) {
        sched_yield();
        return;
    }
    nap.tv_sec = 0;
    nap.tv_nsec = turn < 1024 ? 20000 : 200000;
    nanosleep(&nap, NULL);
}

typedef struct irisi_dev {
    int device;
    int compute_units;
    char arch[32];
    char name[128];
    uint64_t clock_hz;     /* of iris_clock */
    size_t heap_bytes;     /* data part, by default */
    size_t heap_alignment; /* of a heap's first byte */
    iris_stream streams;   /* of this world */
} irisi_dev;

/* A span of addresses that holds a heap; ranks of one process share it. */
typedef struct irisi_mapping {
    char *span;
    size_t span_bytes;
    int users;
} irisi_mapping;

/* One rank's heap as another (or the same) rank sees it. */
typedef struct irisi_heap {
    char *base;
    irisi_mapping *mapping;
    int fd;
} irisi_heap;

/* What a rank tells the others so that they can map its heap. */
typedef struct irisi_handle {
    uint64_t device, inode; /* of the file: proves that the descriptor is still the one that was meant */
    uint64_t mapping, base; /* valid in the same process */
    int32_t pid, fd;
} irisi_handle;

/* The processor's name as the kernel has it. */
static void irisi_processor_name(char *name, size_t bytes)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
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

static const char *irisi_dev_open(irisi_dev *d, int ordinal)
{
    (void)ordinal;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    d->device = 0;
    d->compute_units = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
    d->clock_hz = 1000000000;
    d->heap_bytes = (size_t)64 << 20;
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

/* Maps a heap's file. What follows the heap in its span has no access rights: an overrun is caught. */
static const char *irisi_map(int fd, size_t bytes, size_t alignment, int slip, irisi_heap *out)
{
    irisi_mapping *m = (irisi_mapping *)calloc(1, sizeof *m);
    if (!m)
        return "no memory";
    m->users = 1;
    m->span_bytes = bytes + alignment * (size_t)(2 + slip);
    m->span = (char *)mmap(NULL, m->span_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->span != (char *)MAP_FAILED) {
        char *base = (char *)(((uintptr_t)m->span + alignment - 1) / alignment * alignment);
        if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == (void *)base) {
            out->base = base;
            out->mapping = m;
            return NULL;
        }
        munmap(m->span, m->span_bytes);
    }
    free(m);
    return "cannot map a heap into this process (see ulimit -v)";
}

/* Every rank's heap lies at another address, as on GPUs, so that a missing translation shows: hence the slip. */
static const char *irisi_dev_heap_create(irisi_dev *d, int rank, size_t bytes, irisi_heap *out)
{
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes > memory)
        return "the machine has less memory than that";
    out->fd = memfd_create("iris-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (out->fd < 0)
        return "memfd_create failed";
    const char *why = NULL;
    if (ftruncate(out->fd, (off_t)bytes) != 0 || fcntl(out->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        why = "the memory file cannot be made that large";
    if (!why)
        why = irisi_map(out->fd, bytes, d->heap_alignment, rank % 64, out);
    if (why) {
        close(out->fd);
        out->fd = -1;
    }
    return why;
}

static const char *irisi_dev_heap_export(irisi_dev *d, const irisi_heap *heap, irisi_handle *out)
{
    struct stat file;
    (void)d;
    if (fstat(heap->fd, &file) != 0)
        return "fstat failed on the heap's memory file";
    out->device = (uint64_t)file.st_dev;
    out->inode = (uint64_t)file.st_ino;
    out->mapping = (uint64_t)(uintptr_t)heap->mapping;
    out->base = (uint64_t)(uintptr_t)heap->base;
    out->pid = (int32_t)getpid();
    out->fd = heap->fd;
    return NULL;
}

static const char *irisi_dev_heap_import(irisi_dev *d, const irisi_handle *from, int same_process, size_t bytes,
                                         irisi_heap *out)
{
    char path[64];
    struct stat file;
    out->fd = -1;
    if (same_process) {
        out->mapping = (irisi_mapping *)(uintptr_t)from->mapping;
        out->base = (char *)(uintptr_t)from->base;
        __atomic_add_fetch(&out->mapping->users, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)from->pid, (int)from->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return "its memory file cannot be opened through /proc (do both ranks run as one user, in one container?)";
    const char *why = NULL;
    if (fstat(fd, &file) != 0 || (uint64_t)file.st_dev != from->device || (uint64_t)file.st_ino != from->inode ||
        (uint64_t)file.st_size != bytes)
        why = "its memory file is not the one that it announced (do both ranks see one /proc?)";
    if (!why)
        why = irisi_map(fd, bytes, d->heap_alignment, 0, out);
    close(fd);
    return why;
}

/* Every rank has imported this heap: what only importing needed can go. */
static void irisi_dev_heap_published(irisi_dev *d, irisi_heap *heap)
{
    (void)d;
    if (heap->mapping && heap->fd >= 0)
        close(heap->fd);
    heap->fd = -1;
}

static void irisi_dev_heap_close(irisi_dev *d, irisi_heap *heap, int own)
{
    (void)own;
    irisi_dev_heap_published(d, heap);
    if (heap->mapping && __atomic_sub_fetch(&heap->mapping->users, 1, __ATOMIC_ACQ_REL) == 0) {
        munmap(heap->mapping->span, heap->mapping->span_bytes);
        free(heap->mapping);
    }
    heap->mapping = NULL;
    heap->base = NULL;
}

/* A read-only copy of `bytes` bytes that kernels can read. */
static const char *irisi_dev_table(irisi_dev *d, const void *from, size_t bytes, void **out)
{
    (void)d;
    *out = malloc(bytes);
    if (!*out)
        return "no memory";
    memcpy(*out, from, bytes);
    return NULL;
}

static void irisi_dev_table_free(irisi_dev *d, void *table) { (void)d, free(table); }

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

#endif
#endif
