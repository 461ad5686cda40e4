/* SPDX-License-Identifier: MIT */
/*
 * launch.h: collectives from the host: their channels, and what the launchers in gen/launch/ call.
 *
 *   iris_collective iris_collective_channel
 *   irisi_collective_run irisi_collective_lacks irisi_message_run irisi_rows_run
 *
 * Implemented by init.c.
 */
#ifndef IRIS_COLLECTIVE_LAUNCH_H
#define IRIS_COLLECTIVE_LAUNCH_H

#include <string.h>

#include <iris/collective/collective.h>
#include <iris/dtype.h>
#include <iris/gen/schedules.h>
#include <iris/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A collective by values; a zeroed field means its default, but for the type, which has none. */
typedef struct iris_collective {
    void *dst;              /**< result: `count` elements, or a row of them for each member */
    const void *src;        /**< input: likewise */
    size_t count;           /**< elements; the same on every member */
    iris_dtype dtype;       /**< of dst and src; IRIS_DTYPE_NONE is refused */
    iris_reduce_op op;      /**< of collectives that combine; default sum */
    iris_schedule schedule; /**< default: chosen from the number of bytes and of members, or by a row of IRIS_TUNE */
    int root;               /**< world rank, of collectives that have one */
    iris_team team;         /**< default: the world; {start, stride, size}, or from iris_team_create or _split */
    uint32_t workgroups;    /**< default: one for each slice that has work, up to one a compute unit */
    uint32_t lanes;         /**< lanes a workgroup, at most 512, on AMD 256, the default, 64 on the host; where
                                 elements are combined no more than 32768 in all */
} iris_collective;

/**
 * @name Channels of collectives
 *
 * Host functions.
 *
 * @param w  the world, from iris_init
 * @param ch receives the channel
 * @{
 */
/**
 * Makes a channel for collectives of one team on one stream. It has 128 slices on NVIDIA GPUs with 128 multiprocessors
 * for every rank, else 64, 4 on the host; each slice has room for 2 banks of `scratch` bytes of LL packets and as many
 * of raw scratch, so the channel takes about
 *
 *   slices * (4 * scratch + 64 + 48 * world) bytes of sync memory (IRIS_SYNC_MB)
 *
 * on every rank. Messages that do not fit the scratch are sent in several turns: LL packets carry
 * scratch * slices / (2 * world) bytes of each rank a turn, one_shot's staging scratch * slices. Collective, on every
 * rank of the world: the ranks compare what they ask for, and all refuse what differs (IRIS_ERR_MISMATCH). Put an
 * iris_barrier between creation and first use. iris_channel_destroy gives it back.
 *
 * Rows of IRIS_TUNE that are for collectives on this device are read here and kept with the channel: they choose the
 * schedule of calls on it that leave it open. The ranks compare what they have read; a row that cannot be is refused
 * with its place (IRIS_ERR_ARGUMENT). docs/how-to/tune-for-your-machine.md has their fields.
 *
 * @param scratch bytes, the same on every rank, rounded up to 256 and to at least 64 for each rank; 0 means 32 KiB:
 *                16 MiB in all with 128 slices, 8 MiB with 64, 512 KiB on the host
 */
iris_status iris_collective_channel(iris_world *w, iris_channel *ch, size_t scratch);
/** @} */

/* What every kernel of a launcher takes. */
typedef struct irisi_collective_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    int32_t root;
    void *dst;
    const void *src;
    size_t count;
} irisi_collective_args;

/* What the kernel of messages takes; a rank of -1: nothing in that direction. */
typedef struct irisi_message_args {
    iris_ctx ctx;
    iris_channel ch;
    void *dst;
    const void *src;
    size_t bytes;
    int32_t from, to;
} irisi_message_args;

/* What the kernels of rows of any length take. */
typedef struct irisi_rows_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    void *dst;
    const uint64_t *dst_offsets, *dst_counts;
    const void *src;
    const uint64_t *src_offsets, *src_counts;
} irisi_rows_args;

/* A kernel, its schedule, whether dst and src must be symmetric, and whether it goes by few slices. */
typedef struct irisi_collective_kernel {
    iris_schedule schedule;
    int dst_symmetric, src_symmetric, few;
    irisi_kernel kernel;
    const char *name;
} irisi_collective_kernel;

#define IRISI_COLLECTIVE_KERNEL(schedule, dst, src, few, kernel)                                                       \
    {(schedule), (dst), (src), (few), IRISI_KERNEL_PTR(kernel), #kernel}

/* A type and an op as one number, for switches. As int: C++20 deprecates arithmetic on two enumerations. */
#define IRISI_REDUCTION(op, dtype) ((int)(op) * (int)IRIS_DTYPES + (int)(dtype))

/* What a typed launcher was called with. */
static inline iris_collective irisi_collective_of(void *dst, const void *src, size_t count, iris_dtype dtype,
                                                  iris_reduce_op op, int root, iris_team team)
{
    iris_collective c;
    memset(&c, 0, sizeof c);
    c.dst = dst, c.src = src, c.count = count, c.dtype = dtype, c.op = op, c.root = root, c.team = team;
    return c;
}

/* Checks a collective and launches the kernel of its schedule. `bytes`: of an element that the kernels count in. */
iris_status irisi_collective_run(iris_world *w, const iris_channel *ch, irisi_family family,
                                 const iris_collective *what, const irisi_collective_kernel *kernels, size_t n,
                                 size_t bytes, iris_stream stream);

/* Checks a message and launches its kernel. receives and sends: whether there is that direction. */
iris_status irisi_message_run(iris_world *w, const iris_channel *ch, const irisi_message_args *what, int receives,
                              int sends, iris_dtype dtype, irisi_kernel kernel, iris_stream stream);

/* Checks an all-to-all of rows of any length, of elements of `bytes` bytes, and launches its kernel. */
iris_status irisi_rows_run(iris_world *w, const iris_channel *ch, const irisi_rows_args *what, size_t bytes,
                           irisi_kernel kernel, iris_stream stream);

/* The sentence for an op or dtype without kernels: there is none, or this build did not ask for them. */
iris_status irisi_collective_lacks(iris_world *w, irisi_family family, const iris_collective *what);

#ifdef __cplusplus
}
#endif

#endif
