/* SPDX-License-Identifier: MIT */
/*
 * trace.h: what kernels did and when, in a file that Perfetto (https://ui.perfetto.dev) shows; the host's side.
 *
 *   iris_trace_options
 *   iris_trace_start iris_trace_stop iris_trace_name iris_trace_write iris_trace_overlap
 *
 * Compile each file whose kernels are to be seen with -DIRIS_TRACE=1. Then IRIS_TRACE=trace.json in the
 * environment traces a whole program, from iris_init to iris_finalize; or the program starts and writes traces by
 * itself. docs/how-to/trace-a-kernel.md shows it from a kernel to the picture. trace_event.h has ranges of your own.
 */
#ifndef IRIS_TRACE_H
#define IRIS_TRACE_H

#include <iris/overlap.h>
#include <iris/trace_event.h>

enum {
    IRIS_TRACE_NAMES = 64,      /**< ids of ranges that can have names: 0 .. IRIS_TRACE_NAMES - 1 */
    IRIS_TRACE_NAME_BYTES = 48, /**< of a name, its end included */
    IRIS_TRACE_NO_SPAN = 2      /**< what a range is that counts neither as arithmetic nor as communication */
};

/** How much a trace can hold. Zeros choose. */
typedef struct iris_trace_options {
    uint32_t workgroups; /**< rings: workgroups that need not share one; 0: 512, at most 65,536 */
    uint32_t events;     /**< of 64 bytes, in each ring: a power of two, at most 1,048,576; 0: 256 */
} iris_trace_options;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Tracing
 *
 * The host calls these. All ranks call iris_trace_start, _stop and _write, in the same order, as they call
 * iris_barrier.
 *
 * @param w       the world
 * @{
 */
/**
 * Begins a trace: takes the rings from the heap, compares the ranks' clocks and lets kernels that are launched from
 * here on write events. What a trace before has left is dropped. No kernel of this rank may be running on a stream that
 * iris_synchronize does not wait for.
 *
 * @param options how much it holds, the same on every rank; null: zeros
 * @return IRIS_OK; IRIS_ERR_UNSUPPORTED where init.c was compiled without kernels; IRIS_ERR_ARGUMENT for other options;
 *         IRIS_ERR_NOMEM where the rings do not fit the heap: workgroups x (events x 64 + 64) bytes
 */
iris_status iris_trace_start(iris_world *w, const iris_trace_options *options);

/**
 * Ends a trace once this rank's work is done; its events stay until the next one begins. Compares the clocks again.
 *
 * @return IRIS_OK; IRIS_ERR_ARGUMENT where no trace is on
 */
iris_status iris_trace_stop(iris_world *w);

/**
 * Names a range, on the rank that calls it; rank 0's names go to the file. Any time before iris_trace_write.
 *
 * @param id   below IRIS_TRACE_NAMES
 * @param name shorter than IRIS_TRACE_NAME_BYTES; it is copied
 * @param span what iris_trace_overlap counts it as: IRIS_SPAN_COMPUTE, IRIS_SPAN_COMMUNICATE or IRIS_TRACE_NO_SPAN
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for another id, name or span; IRIS_ERR_NOMEM
 */
iris_status iris_trace_name(iris_world *w, uint32_t id, const char *name, int span);

/**
 * Writes the trace, on or ended, of all ranks into one file, on rank 0, once every rank's work is done. Clocks are
 * those of rank 0: the file says how far each rank's may be off. An arrow goes from each signal that was raised to the
 * wait that it ended. In a world that has stopped each rank writes what itself has, to the path with .rank and its
 * number behind it. Rank 0's host has room for all events of all ranks meanwhile, each other rank's for twice its own.
 *
 * @param path the file, in the trace format of Chrome and Perfetto (JSON); of rank 0 alone it is read
 * @return IRIS_OK; IRIS_ERR_ARGUMENT without a trace; on every rank IRIS_ERR_SYSTEM where the file cannot be written,
 *         and IRIS_ERR_NOMEM where a host has no room for the events
 */
iris_status iris_trace_write(iris_world *w, const char *path);

/**
 * How much of the communication of this rank's trace its arithmetic hides. Arithmetic: tiles that GEMMs compute and
 * bring out of their registers, and ranges named IRIS_SPAN_COMPUTE. Communication: everything else but ranges without
 * a span. Once this rank's work is done; no other rank takes part.
 *
 * @param result in ticks of iris_clock; see iris_overlap_report
 * @param lost   events that rings had no room for any more, and ranges that do not end after they began; may be null
 * @return IRIS_OK; IRIS_ERR_ARGUMENT without a trace and for a null result; IRIS_ERR_NOMEM
 */
iris_status iris_trace_overlap(iris_world *w, iris_overlap *result, uint64_t *lost);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
