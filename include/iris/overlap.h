/* SPDX-License-Identifier: MIT */
/*
 * overlap.h: does it overlap? Arithmetic, communication, and the part of the communication that nothing hides.
 *
 *   iris_span_kind iris_span iris_overlap iris_overlap_report
 *
 * A kernel reads iris_clock() before and after what it does and leaves both readings in memory; the host copies them
 * and asks. init.h includes this header.
 */
#ifndef IRIS_OVERLAP_H
#define IRIS_OVERLAP_H

#include <iris/world.h>

/** What was done during a span. */
typedef enum iris_span_kind {
    IRIS_SPAN_COMPUTE,    /**< arithmetic */
    IRIS_SPAN_COMMUNICATE /**< loads, stores, puts, gets, waits: what has to do with other ranks */
} iris_span_kind;

/** From one reading of a clock to a later one of the same clock. */
typedef struct iris_span {
    uint64_t begin; /**< iris_clock() before */
    uint64_t end;   /**< iris_clock() after; not less than begin */
    uint32_t kind;  /**< iris_span_kind */
    uint32_t pad;   /**< not read */
} iris_span;

/** What iris_overlap_report says, in ticks of the spans' clock. At any time, what many workgroups do counts once. */
typedef struct iris_overlap {
    uint64_t time;        /**< from the first begin to the last end */
    uint64_t compute;     /**< while there was arithmetic */
    uint64_t communicate; /**< while there was communication */
    uint64_t both;        /**< while there were both */
    uint64_t exposed;     /**< while there was communication and no arithmetic: communicate - both */
    uint64_t idle;        /**< while there was neither */
    double efficiency;    /**< the greater of compute and communicate, over time: 1 is perfect; 0 where time is 0 */
} iris_overlap;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How much of the communication the arithmetic hides, from spans of all workgroups of one device.
 *
 * Spans may overlap, lie apart, repeat, be empty and come in any order; zeros, as where a workgroup wrote none, count
 * for nothing. They are of one clock: iris_clock() of another device need not agree with it, so each rank asks for
 * itself. The host calls it; no world, no other rank takes part.
 *
 * @param spans  n spans in host memory; they are sorted by their begin
 * @param n      how many; 0 gives zeros
 * @param result what came out; zeros when the spans are refused
 * @return IRIS_ERR_ARGUMENT for null pointers, a span that ends before it begins, and a kind that does not exist
 */
iris_status iris_overlap_report(iris_span *spans, size_t n, iris_overlap *result);

#ifdef __cplusplus
}
#endif

#endif
