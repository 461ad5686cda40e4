/* SPDX-License-Identifier: MIT */
/*
 * hip_runtime.h: what init.c asks of a GPU, in HIP's names. nvidia/runtime.h spells them in CUDA, amd/runtime.h
 * includes HIP; both then include this file, and only init.c includes them. The functions are those of host/runtime.h.
 *
 * Heaps are in hip_heap.h, windows in hip_window.h. Streams that the program made with the runtime itself are drained
 * with the world's own once a call has named them, until irisi_dev_stream_destroy. Never hipDeviceSynchronize: with
 * several ranks on one device it would wait for a peer's kernel, which may itself wait for this rank's next one.
 */
#ifndef IRIS_ARCH_HIP_RUNTIME_H
#define IRIS_ARCH_HIP_RUNTIME_H
#ifdef IRIS_INIT_C

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IRISI_BUS_ID = 32 };

typedef enum irisi_stream_owner {
    IRISI_STREAM_PROGRAM, /* the program made it */
    IRISI_STREAM_WORLD,   /* irisi_dev_stream_create made it */
    IRISI_STREAM_SPARE    /* likewise, and it was given back, to be handed out again */
} irisi_stream_owner;

typedef struct irisi_known_stream {
    iris_stream stream;
    irisi_stream_owner owner;
} irisi_known_stream;

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
    irisi_vmm vmm;
    irisi_known_stream *known; /* streams of this world */
    size_t n_known, known_room;
    int sharers;            /* ranks on this device, while heaps are mapped */
    int shared;             /* 1 where there are others */
    int chiplets;           /* that it deals workgroups to in turn */
    char bus_id[IRISI_BUS_ID];
    iris_stream side;       /* copies of control blocks, while kernels run */
    irisi_control *bounce;  /* pinned */
    void *touched;          /* a few bytes of the device's, which every new stream sets once */
    pthread_mutex_t lock;   /* of side and bounce: the thread that listens uses them too */
    int open;
    /* What a caller got wrong about a kernel. */
    char mistake[256];
} irisi_dev;

/* What went wrong, in the runtime's words; null when nothing did. Clears the runtime's sticky last error. */
static const char *irisi_hip(hipError_t error)
{
    int driver = 1;
    if (error == hipSuccess)
        return NULL;
    (void)hipGetLastError();
    if (error == hipErrorInsufficientDriver && (hipDriverGetVersion(&driver) != hipSuccess || driver == 0))
        error = hipErrorNoDevice; /* how CUDA says that there is no driver at all */
    if (error == hipErrorNoDevice)
        return "there is no GPU on this machine that the runtime can use (check the driver and device permissions)";
    return hipGetErrorString(error);
}

static const char *irisi_dev_use(irisi_dev *d)
{
    int current = -1;
    hipError_t error = hipGetDevice(&current);
    if (error == hipSuccess && current != d->device)
        error = hipSetDevice(d->device);
    return irisi_hip(error);
}

/* Before the process's first call of the runtime, by one thread, while no other reads the environment. */
static void irisi_dev_prepare(void) { irisi_gpu_prepare(); }

static const char *irisi_dev_open(irisi_dev *d, int ordinal)
{
    int devices = 0;
    const char *why = irisi_hip(hipGetDeviceCount(&devices));
    if (!why && devices < 1)
        why = irisi_hip(hipErrorNoDevice);
    if (!why)
        why = irisi_hip(ordinal < 0 ? hipGetDevice(&d->device) : hipSetDevice(d->device = ordinal % devices));
    if (!why)
        why = irisi_hip(hipFree(NULL)); /* makes the context */
    if (!why)
        why = irisi_hip(
            hipDeviceGetAttribute(&d->compute_units, hipDeviceAttributeMultiprocessorCount, d->device));
    if (!why)
        why = irisi_hip(hipDeviceGetPCIBusId(d->bus_id, (int)sizeof d->bus_id, d->device));
    if (!why)
        why = irisi_gpu_identify(d->device, d->arch, sizeof d->arch, d->name, sizeof d->name, &d->clock_hz);
    if (!why)
        why = irisi_hip(hipStreamCreateWithFlags(&d->side, hipStreamNonBlocking));
    if (!why)
        why = irisi_hip(hipHostMalloc((void **)&d->bounce, sizeof *d->bounce, 0));
    if (!why)
        why = irisi_hip(hipMalloc(&d->touched, 256));
    d->chiplets = why ? 1 : irisi_gpu_chiplets(d->device, d->arch, d->compute_units);
    size_t free_bytes = 0;
    if (!why)
        why = irisi_hip(hipMemGetInfo(&free_bytes, &d->heap_most));
    d->heap_bytes = (size_t)1 << 30;
    d->sync_bytes = IRISI_GPU_SYNC_BYTES;
    d->heap_block = (size_t)2 << 20; /* a whole block is the heap's own: IPC exports blocks, not parts of them */
    d->heap_alignment = (size_t)2 << 20;
    d->sharers = 1;
    pthread_mutex_init(&d->lock, NULL);
    d->open = 1;
    return why;
}

/* In a forked child: no driver follows there, so nothing of it is called any more. */
static void irisi_dev_abandon(irisi_dev *d) { d->open = 0; }

static void irisi_dev_close(irisi_dev *d)
{
    free(d->known);
    d->known = NULL, d->n_known = d->known_room = 0;
    if (!d->open)
        return;
    if (d->side)
        (void)hipStreamDestroy(d->side);
    if (d->bounce)
        (void)hipHostFree(d->bounce);
    if (d->touched)
        (void)hipFree(d->touched);
    pthread_mutex_destroy(&d->lock);
    d->open = 0;
}

/*
 * Work that the null stream must not order: copies and fills of this world, on `stream`, complete on return. A copy of
 * pageable memory waits for the stream inside the runtime, where it may keep another rank of this process from
 * launching what the stream's kernel waits for (seen on an H100); so the stream is drained before.
 */
static const char *irisi_dev_copy(irisi_dev *d, void *to, const void *from, size_t bytes, iris_stream stream)
{
    (void)d;
    const char *why = irisi_hip(hipStreamSynchronize(stream));
    if (!why)
        why = irisi_hip(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, stream));
    return why ? why : irisi_hip(hipStreamSynchronize(stream));
}

static const char *irisi_dev_fill(irisi_dev *d, void *to, int byte, size_t bytes, iris_stream stream)
{
    (void)d;
    const char *why = irisi_hip(hipMemsetAsync(to, byte, bytes, stream));
    return why ? why : irisi_hip(hipStreamSynchronize(stream));
}

/*
 * Puts a copy of rows on a stream, between any memory that this rank can reach. Rows further apart than the runtime's
 * copies of rows can have them, or that follow each other, are bytes in a row.
 */
static const char *irisi_dev_copy_rows(irisi_dev *d, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                       size_t bytes, size_t rows, iris_stream s)
{
    const size_t most = 0x7fffffff;
    const char *why = NULL;
    (void)d;
    if (rows == 1 || (to_pitch == bytes && from_pitch == bytes))
        return irisi_hip(hipMemcpyAsync(to, from, rows * bytes, hipMemcpyDefault, s));
    if (to_pitch <= most && from_pitch <= most)
        return irisi_hip(hipMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, hipMemcpyDefault, s));
    for (size_t i = 0; i < rows && !why; i++)
        why = irisi_hip(hipMemcpyAsync((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes,
                                       hipMemcpyDefault, s));
    return why;
}

#include <iris/arch/hip_heap.h>
#include <iris/arch/hip_window.h>

static const char *irisi_dev_local(irisi_dev *d, size_t bytes, void **out)
{
    *out = NULL;
    (void)d;
    return irisi_hip(hipMalloc(out, bytes));
}

static void irisi_dev_local_free(irisi_dev *d, void *memory)
{
    if (d->open)
        (void)hipFree(memory);
}

static const char *irisi_dev_table(irisi_dev *d, const void *from, size_t bytes, void **out)
{
    const char *why = irisi_dev_local(d, bytes, out);
    return why ? why : irisi_dev_copy(d, *out, from, bytes, d->side);
}

static const char *irisi_dev_read_control(irisi_dev *d, const irisi_control *from, irisi_control *to)
{
    pthread_mutex_lock(&d->lock);
    const char *why = irisi_dev_copy(d, d->bounce, from, sizeof *to, d->side);
    *to = *d->bounce;
    pthread_mutex_unlock(&d->lock);
    if (!to->report.complete)
        memset(&to->report, 0, sizeof to->report);
    return why;
}

/* Two copies instead of a compare-and-swap: who comes later in between has stopped the world just as well. */
static const char *irisi_dev_raise_abort(irisi_dev *d, irisi_control *control, uint32_t value)
{
    const char *why = irisi_dev_use(d);
    if (why)
        return why;
    pthread_mutex_lock(&d->lock);
    why = irisi_dev_copy(d, &d->bounce->abort, &control->abort, sizeof value, d->side);
    if (!why && d->bounce->abort == 0) {
        d->bounce->abort = value;
        why = irisi_dev_copy(d, &control->abort, &d->bounce->abort, sizeof value, d->side);
    }
    pthread_mutex_unlock(&d->lock);
    return why;
}

/* A stream's record; null when the world does not know the stream. */
static irisi_known_stream *irisi_stream_find(irisi_dev *d, iris_stream s)
{
    for (size_t i = 0; i < d->n_known; i++)
        if (d->known[i].stream == s)
            return &d->known[i];
    return NULL;
}

/*
 * Adds a stream to those that are drained; 0: there is no memory for it. The runtime may have given it the handle of a
 * stream of the program's that is gone.
 */
static int irisi_stream_note(irisi_dev *d, iris_stream s, irisi_stream_owner owner)
{
    irisi_known_stream *known = irisi_stream_find(d, s);
    if (!known && d->n_known == d->known_room) {
        const size_t room = d->known_room ? 2 * d->known_room : 16;
        known = (irisi_known_stream *)realloc(d->known, room * sizeof *known);
        if (!known)
            return 0;
        d->known = known, d->known_room = room, known = NULL;
    }
    if (!known)
        known = &d->known[d->n_known++];
    known->stream = s, known->owner = owner;
    return 1;
}

/* 1 while the stream's work goes into a graph instead of running. */
static int irisi_dev_stream_capturing(irisi_dev *d, iris_stream s)
{
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    (void)d;
    return irisi_hip(hipStreamIsCapturing(s, &status)) == NULL && status != hipStreamCaptureStatusNone;
}

/*
 * Streams that were given back are handed out again before new ones are made: a context deals its few hardware queues
 * to streams as they are made, so that a late one may share the queue of another rank of this process and stand behind
 * that rank's waiting kernel for good (seen on an H100 with 4 ranks). The first work of a new stream is a fill of a few
 * bytes, done on return: where a stream's first work was a kernel that waits, other ranks' kernels on streams as new
 * did not begin now and then, though all of them were submitted.
 */
static const char *irisi_dev_stream_create(irisi_dev *d, iris_stream *out)
{
    for (size_t i = 0; i < d->n_known; i++)
        if (d->known[i].owner == IRISI_STREAM_SPARE) {
            d->known[i].owner = IRISI_STREAM_WORLD;
            *out = d->known[i].stream;
            return NULL;
        }
    iris_stream s = NULL;
    const char *why = irisi_hip(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    if (why)
        return why;
    why = irisi_dev_fill(d, d->touched, 0, 1, s);
    if (!why && !irisi_stream_note(d, s, IRISI_STREAM_WORLD))
        why = "no memory for a longer list of streams";
    if (why)
        (void)hipStreamDestroy(s);
    else
        *out = s;
    return why;
}

/*
 * Drains a stream that the world knows. One that the world made then waits to be handed out again, if it was drained;
 * one that the program made is forgotten in any case, so that no later call touches it.
 */
static const char *irisi_dev_stream_destroy(irisi_dev *d, iris_stream s)
{
    irisi_known_stream *known = irisi_stream_find(d, s);
    if (!known)
        return NULL;
    const char *why = irisi_hip(hipStreamSynchronize(s));
    if (known->owner == IRISI_STREAM_PROGRAM)
        *known = d->known[--d->n_known];
    else if (!why)
        known->owner = IRISI_STREAM_SPARE;
    return why;
}

/*
 * 1: calls may name the stream; 0: it was given back; -1: there is no memory to note it. Any stream of the runtime will
 * do; the world notes it when a call first names it.
 */
static int irisi_dev_stream_known(irisi_dev *d, iris_stream s)
{
    const irisi_known_stream *known = irisi_stream_find(d, s);
    if (known)
        return known->owner != IRISI_STREAM_SPARE;
    return irisi_stream_note(d, s, IRISI_STREAM_PROGRAM) ? 1 : -1;
}

static const char *irisi_dev_stream_synchronize(irisi_dev *d, iris_stream s)
{
    (void)d;
    return irisi_hip(hipStreamSynchronize(s));
}

/* Drains every stream, also behind one that fails; returns what failed first. */
static const char *irisi_dev_synchronize(irisi_dev *d)
{
    const char *first = NULL;
    for (size_t i = 0; i < d->n_known; i++) {
        const int spare = d->known[i].owner == IRISI_STREAM_SPARE;
        const char *why = spare ? NULL : irisi_hip(hipStreamSynchronize(d->known[i].stream));
        first = first ? first : why;
    }
    return first;
}

/* Drains the streams of this world and destroys those that it made. */
static void irisi_dev_stop(irisi_dev *d)
{
    if (!d->open || irisi_dev_use(d) != NULL)
        return;
    (void)irisi_dev_synchronize(d);
    for (size_t i = 0; i < d->n_known; i++)
        if (d->known[i].owner != IRISI_STREAM_PROGRAM)
            (void)hipStreamDestroy(d->known[i].stream);
    d->n_known = 0;
}

static const char *irisi_dev_event_create(irisi_dev *d, iris_event *out)
{
    (void)d;
    return irisi_hip(hipEventCreate(out));
}

static const char *irisi_dev_event_destroy(irisi_dev *d, iris_event e)
{
    (void)d;
    return irisi_hip(hipEventDestroy(e));
}

static const char *irisi_dev_event_record(irisi_dev *d, iris_event e, iris_stream s)
{
    (void)d;
    return irisi_hip(hipEventRecord(e, s));
}

static const char *irisi_dev_stream_wait_event(irisi_dev *d, iris_stream s, iris_event e)
{
    (void)d;
    return irisi_hip(hipStreamWaitEvent(s, e, 0));
}

static const char *irisi_dev_event_elapsed_ms(irisi_dev *d, float *ms, iris_event start, iris_event stop)
{
    (void)d;
    const char *why = irisi_hip(hipEventSynchronize(stop));
    return why ? why : irisi_hip(hipEventElapsedTime(ms, start, stop));
}

/* Why a kernel cannot run with that many lanes, when that is why; else `why` as it is. */
static const char *irisi_too_many_lanes(irisi_dev *d, irisi_kernel kernel, uint32_t lanes, const char *why)
{
    struct hipFuncAttributes a;
    memset((void *)&a, 0, sizeof a);
    if (irisi_hip(hipFuncGetAttributes(&a, kernel)) != NULL || (int)lanes <= a.maxThreadsPerBlock)
        return why;
    snprintf(d->mistake, sizeof d->mistake, "%u lanes a workgroup are more than the %d that the kernel is declared for",
             lanes, a.maxThreadsPerBlock);
    return d->mistake;
}

/*
 * What kernels have been allowed to have of shared memory, in this process. A kernel's limit only grows: ranks that are
 * threads may share a device and with it the limit, and a lower one, set for a peer's plan, would refuse a launch.
 */
enum { IRISI_SHARED_LIMITS = 1024 };
typedef struct irisi_shared_limit {
    irisi_kernel kernel;
    int device;
    uint32_t bytes;
} irisi_shared_limit;
static irisi_shared_limit irisi_shared_limits[IRISI_SHARED_LIMITS];
static pthread_mutex_t irisi_shared_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *irisi_dev_allow_shared(irisi_dev *d, irisi_kernel kernel, uint32_t bytes)
{
    const char *why = NULL;
    if (bytes <= IRISI_SHARED_ANYWAY)
        return NULL;
    size_t at = ((uintptr_t)kernel >> 4) + (size_t)d->device * 37;
    pthread_mutex_lock(&irisi_shared_lock);
    for (int tries = 0; tries < IRISI_SHARED_LIMITS; tries++, at++) {
        irisi_shared_limit *l = &irisi_shared_limits[at % IRISI_SHARED_LIMITS];
        if (l->kernel != NULL && (l->kernel != kernel || l->device != d->device))
            continue;
        if (l->bytes < bytes && (why = irisi_gpu_allow_shared(kernel, bytes)) == NULL)
            l->kernel = kernel, l->device = d->device, l->bytes = bytes;
        pthread_mutex_unlock(&irisi_shared_lock);
        return why;
    }
    pthread_mutex_unlock(&irisi_shared_lock);
    return irisi_gpu_allow_shared(kernel, bytes);
}

/* Ranks that share a device share its compute units: each may fill its part, since all their kernels wait at once. */
static const char *irisi_dev_max_workgroups(irisi_dev *d, irisi_kernel kernel, uint32_t lanes, uint32_t shared_bytes,
                                            uint32_t *workgroups)
{
    int each = 0;
    const char *why = irisi_too_many_lanes(d, kernel, lanes, NULL); /* the runtime's answer looks at registers alone */
    if (!why)
        why = irisi_dev_allow_shared(d, kernel, shared_bytes);
    if (!why)
        why = irisi_gpu_resident(d->device, kernel, lanes, shared_bytes, &each);
    *workgroups = why ? 0 : (uint32_t)each * (uint32_t)d->compute_units;
    return why;
}

static const char *irisi_dev_launch(irisi_dev *d, irisi_kernel kernel, const void *args, size_t bytes,
                                    const iris_launch_config *cfg, iris_stream s)
{
    (void)bytes;
    const char *why = irisi_dev_allow_shared(d, kernel, cfg->shared_bytes);
    if (!why)
        why = irisi_gpu_launch(kernel, args, cfg, s);
    if (why && cfg->shared_bytes > IRISI_SHARED_ANYWAY && irisi_gpu_allow_shared(kernel, cfg->shared_bytes) == NULL)
        why = irisi_gpu_launch(kernel, args, cfg, s); /* the program had lowered the limit, or reset the device */
    return why ? irisi_too_many_lanes(d, kernel, cfg->lanes, why) : NULL;
}

#endif
#endif
