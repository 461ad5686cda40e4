/* SPDX-License-Identifier: MIT */
/*
 * on_stream.h: puts, gets, signals, waits and barriers that the host puts on a stream (NVSHMEM's
 * nvshmemx_*_on_stream).
 *
 *   iris_put_on_stream iris_get_on_stream iris_put_2d_on_stream iris_get_2d_on_stream
 *   iris_put_signal_on_stream iris_signal_on_stream iris_wait_until_on_stream
 *   iris_barrier_on_stream iris_quiet_on_stream
 *
 * Copies are the device's copy engines' where it has them, and take no compute unit from a kernel that runs beside
 * them. init.c has the puts and gets. The others need kernels of one wave, and a put with signal of up to 64 KiB from
 * symmetric memory is one kernel of a workgroup, since between a copy engine and a kernel microseconds pass. One file
 * of the program defines IRIS_INSTANTIATE_ON_STREAM before it includes this header and gets them; everywhere else these
 * are prototypes.
 */
#ifndef IRIS_ON_STREAM_H
#define IRIS_ON_STREAM_H

#include <string.h>

#include <iris/barrier.h>
#include <iris/bytes.h>
#include <iris/world.h>

/** What iris_wait_until_on_stream compares with, as unsigned 64-bit numbers: `*signal cmp value`. */
typedef enum iris_cmp {
    IRIS_CMP_EQ = IRISI_EQ, /**< equal */
    IRIS_CMP_NE = IRISI_NE, /**< not equal */
    IRIS_CMP_GT = IRISI_GT, /**< above */
    IRIS_CMP_GE = IRISI_GE, /**< at least */
    IRIS_CMP_LT = IRISI_LT, /**< below */
    IRIS_CMP_LE = IRISI_LE  /**< at most */
} iris_cmp;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Operations on a stream
 *
 * Host functions. They put work on a stream and return at once; each operation begins when the stream's earlier work
 * has ended, and has taken place at its rank when the stream has passed it. They can be captured into a graph, and a
 * group holds them (iris_group_begin). Who sees a signal, and acquires it, sees everything that the stream did before
 * the signal: the bytes of its puts, and what its kernels wrote.
 *
 * @param w         the world, from iris_init
 * @param dst       where bytes go: of a put the symmetric address, or one in an own window (window.h); of a get memory
 *                  of this rank's device
 * @param src       where they come from: of a put memory of this rank's device; of a get the symmetric address, or one
 *                  in an own window
 * @param bytes     how many, any number; source and destination must not overlap
 * @param dst_pitch bytes from one row of dst to the next, at least row_bytes
 * @param src_pitch the same of src
 * @param row_bytes bytes of a row
 * @param rows      how many rows; 0, like 0 bytes, copies nothing
 * @param signal    symmetric address of a signal, from iris_signals
 * @param value     what the signal is set to, what is added to it, or what it is compared with
 * @param op        IRIS_SIGNAL_SET or IRIS_SIGNAL_ADD
 * @param cmp       an iris_cmp
 * @param rank      world rank of the other side; the own rank is allowed
 * @param ch        a channel from iris_channel_create with a signal for each rank of the world or more
 * @param team      the members; size 0: the world
 * @param stream    null: the world's default stream
 * @return IRIS_OK once it is on the stream; IRIS_ERR_ARGUMENT for what cannot be, and then nothing is put on the
 *         stream; IRIS_ERR_DEVICE for what the device's runtime refuses; of a world that has stopped, the status that
 *         it stopped with. What fails later, on the device, is told by iris_synchronize
 * @{
 */
/** Copies `bytes` bytes of own memory to `dst` on `rank`. `src` may be written again when the stream has passed it. */
iris_status iris_put_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, int rank, iris_stream stream);
/** Copies `bytes` bytes at `src` on `rank` to own memory. */
iris_status iris_get_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, int rank, iris_stream stream);
/** iris_put_on_stream of `rows` rows of `row_bytes` bytes, each side's rows as far apart as its pitch says. */
iris_status iris_put_2d_on_stream(iris_world *w, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                  size_t row_bytes, size_t rows, int rank, iris_stream stream);
/** iris_get_on_stream of `rows` rows of `row_bytes` bytes, each side's rows as far apart as its pitch says. */
iris_status iris_get_2d_on_stream(iris_world *w, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                  size_t row_bytes, size_t rows, int rank, iris_stream stream);

/** iris_put_on_stream, then iris_signal_on_stream: who waits for the signal sees the bytes. With 0 bytes only the
 *  signal is raised. */
iris_status iris_put_signal_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, iris_signal *signal,
                                      uint64_t value, iris_signal_op op, int rank, iris_stream stream)
    IRISI_NEEDS(iris_put_signal_on_stream, IRIS_INSTANTIATE_ON_STREAM);
/** Sets `signal` on `rank` to `value`, or adds `value` to it. Releases the stream's earlier work at system scope. */
iris_status iris_signal_on_stream(iris_world *w, iris_signal *signal, uint64_t value, iris_signal_op op, int rank,
                                  iris_stream stream) IRISI_NEEDS(iris_signal_on_stream, IRIS_INSTANTIATE_ON_STREAM);
/**
 * The stream's later work begins once `*signal cmp value` holds of an own signal, and sees what was written before it
 * was raised. It waits on the device; the host goes on.
 *
 * It has the world's deadline, like every wait: when that passes, or the world has stopped for another reason, the wait
 * ends and the stream goes on with what follows, whose results are not to be trusted; iris_synchronize says who waited
 * for what, and the world needs iris_reset.
 */
iris_status iris_wait_until_on_stream(iris_world *w, iris_signal *signal, iris_cmp cmp, uint64_t value,
                                      iris_stream stream)
    IRISI_NEEDS(iris_wait_until_on_stream, IRIS_INSTANTIATE_ON_STREAM);
/**
 * The stream's later work begins once the streams of all members have come to their calls, and sees what each of them
 * did before. Every member calls it, in the same order; the channel is for barriers of this team on this stream alone.
 * It has the world's deadline, like a wait. The host does not wait: iris_barrier makes it do so.
 */
iris_status iris_barrier_on_stream(iris_world *w, const iris_channel *ch, iris_team team, iris_stream stream)
    IRISI_NEEDS(iris_barrier_on_stream, IRIS_INSTANTIATE_ON_STREAM);
/** The stream's later work begins once the puts, stores and remote atomics of its earlier work have taken place at
 *  their ranks, those of kernels that called neither iris_fence nor iris_quiet too. */
iris_status iris_quiet_on_stream(iris_world *w, iris_stream stream)
    IRISI_NEEDS(iris_quiet_on_stream, IRIS_INSTANTIATE_ON_STREAM);
/** @} */

/* A copy of rows between own memory and another rank's; no rows: none. */
typedef struct irisi_rows {
    void *dst;
    const void *src;
    size_t dst_pitch, src_pitch, bytes, rows; /* bytes: of a row */
} irisi_rows;

typedef enum irisi_stream_kind {
    IRISI_STREAM_PUT, /* and a signal, where there is a kernel */
    IRISI_STREAM_GET,
    IRISI_STREAM_SIGNAL,
    IRISI_STREAM_WAIT,
    IRISI_STREAM_BARRIER,
    IRISI_STREAM_QUIET
} irisi_stream_kind;

/* What one of the functions was called with. */
typedef struct irisi_stream_call {
    const char *name;
    irisi_stream_kind kind;
    irisi_kernel kernel; /* what does all but the copy; null: nothing is left */
    irisi_kernel whole;  /* what does all, where a kernel can; null: there is none */
    irisi_rows copy;
    iris_signal *signal;
    uint64_t value;
    int how; /* iris_signal_op or iris_cmp */
    int rank;
    const iris_channel *ch;
    iris_team team;
    iris_stream stream;
} irisi_stream_call;

/* What the kernels take. */
typedef struct irisi_stream_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    iris_signal *signal;
    uint64_t value;
    int32_t how, rank;
    void *to; /* of a put with signal in one kernel: where the bytes go, as this rank reaches it */
    const void *from, *own; /* own: the same place of the own heap, for traces; null: it is in a window */
    uint64_t bytes;
} irisi_stream_args;

/* Most bytes of a put with signal in one kernel, and the most lanes that it has. */
enum { IRISI_STREAM_WHOLE = 64 << 10, IRISI_STREAM_LANES = 512 };

/* Looks at a call and puts it on its stream, or has the group hold it; init.c has it. */
iris_status irisi_on_stream(iris_world *w, const irisi_stream_call *call);

/* A call that is filled in as far as all have it. */
static inline irisi_stream_call irisi_stream_call_of(const char *name, irisi_stream_kind kind, irisi_kernel kernel,
                                                     iris_stream stream)
{
    irisi_stream_call c;
    memset(&c, 0, sizeof c);
    c.name = name, c.kind = kind, c.kernel = kernel, c.stream = stream;
    return c;
}

#if defined(IRIS_INSTANTIATE_ON_STREAM)
#if !IRIS_HAS_DEVICE
#error "IRIS_INSTANTIATE_ON_STREAM needs a file with kernels: compile this one as CUDA (-x cu) or HIP (-x hip)"
#endif

/*
 * Kernels of one workgroup, of one wave but for puts. What the stream did before a kernel is complete when the kernel
 * begins; its release makes that visible to who acquires the signal, whoever wrote it.
 */
IRIS_DEVICE void irisi_stream_raise(const irisi_stream_args *a)
{
    if (iris_wg_lane() == 0 && a->how == IRIS_SIGNAL_ADD)
        iris_signal_add(&a->ctx, a->signal, a->value, a->rank);
    else if (iris_wg_lane() == 0)
        iris_signal_set(&a->ctx, a->signal, a->value, a->rank);
}
IRIS_KERNEL(irisi_stream_signal, irisi_stream_args, a, 64) { irisi_stream_raise(a); }
IRIS_KERNEL(irisi_stream_put_signal, irisi_stream_args, a, IRISI_STREAM_LANES)
{
    const uint64_t begun = irisi_trace_begin(&a->ctx);
    irisi_copy_wg(a->to, a->from, a->bytes);
    irisi_trace_end_wg(&a->ctx, begun, IRIS_TRACE_PUT, a->rank, a->own, a->bytes);
    irisi_drain();
    iris_sync_wg();
    irisi_stream_raise(a);
}
IRIS_KERNEL(irisi_stream_wait, irisi_stream_args, a, 64)
{
    if (iris_wg_lane() == 0)
        irisi_await(&a->ctx, a->signal, (irisi_cmp)a->how, a->value);
}
IRIS_KERNEL(irisi_stream_barrier, irisi_stream_args, a, 64) { iris_barrier_team_wg(&a->ctx, a->team, &a->ch); }
IRIS_KERNEL(irisi_stream_quiet, irisi_stream_args, a, 64)
{
    if (iris_wg_lane() == 0)
        iris_quiet(&a->ctx);
}

iris_status iris_put_signal_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, iris_signal *signal,
                                      uint64_t value, iris_signal_op op, int rank, iris_stream stream)
{
    irisi_stream_call c = irisi_stream_call_of("iris_put_signal_on_stream", IRISI_STREAM_PUT,
                                               IRISI_KERNEL_PTR(irisi_stream_signal), stream);
    c.copy.dst = dst, c.copy.src = src, c.copy.bytes = c.copy.dst_pitch = c.copy.src_pitch = bytes, c.copy.rows = 1;
    c.signal = signal, c.value = value, c.how = (int)op, c.rank = rank;
    c.whole = IRISI_KERNEL_PTR(irisi_stream_put_signal);
    return irisi_on_stream(w, &c);
}

iris_status iris_signal_on_stream(iris_world *w, iris_signal *signal, uint64_t value, iris_signal_op op, int rank,
                                  iris_stream stream)
{
    irisi_stream_call c = irisi_stream_call_of("iris_signal_on_stream", IRISI_STREAM_SIGNAL,
                                               IRISI_KERNEL_PTR(irisi_stream_signal), stream);
    c.signal = signal, c.value = value, c.how = (int)op, c.rank = rank;
    return irisi_on_stream(w, &c);
}

iris_status iris_wait_until_on_stream(iris_world *w, iris_signal *signal, iris_cmp cmp, uint64_t value,
                                      iris_stream stream)
{
    irisi_stream_call c = irisi_stream_call_of("iris_wait_until_on_stream", IRISI_STREAM_WAIT,
                                               IRISI_KERNEL_PTR(irisi_stream_wait), stream);
    c.signal = signal, c.value = value, c.how = (int)cmp;
    return irisi_on_stream(w, &c);
}

iris_status iris_barrier_on_stream(iris_world *w, const iris_channel *ch, iris_team team, iris_stream stream)
{
    irisi_stream_call c = irisi_stream_call_of("iris_barrier_on_stream", IRISI_STREAM_BARRIER,
                                               IRISI_KERNEL_PTR(irisi_stream_barrier), stream);
    c.ch = ch, c.team = team;
    return irisi_on_stream(w, &c);
}

iris_status iris_quiet_on_stream(iris_world *w, iris_stream stream)
{
    const irisi_stream_call c =
        irisi_stream_call_of("iris_quiet_on_stream", IRISI_STREAM_QUIET, IRISI_KERNEL_PTR(irisi_stream_quiet), stream);
    return irisi_on_stream(w, &c);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
