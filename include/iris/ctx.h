/* SPDX-License-Identifier: MIT */
/*
 * ctx.h: what a kernel carries to reach its peers, and where a wait that failed leaves its report.
 *
 *   iris_ctx iris_signal iris_team
 *   irisi_control irisi_report irisi_cmp irisi_fault irisi_access
 *
 * These types have one layout on every platform and in every language; init.c fills them, kernels read them.
 */
#ifndef IRIS_CTX_H
#define IRIS_CTX_H

#include <stddef.h>
#include <stdint.h>

/** A new one changes what existing programs mean. */
#define IRIS_VERSION_MAJOR 0
/** A new one adds; before 1.0 it may change too. Part of the ABI symbol's name. */
#define IRIS_VERSION_MINOR 1
/** A new one repairs. */
#define IRIS_VERSION_PATCH 0

/** Ranks whose heap offset fits into the context itself. */
#define IRIS_CTX_RANKS 64

/** A counter that remote ranks raise and the owner waits for. It counts up and is never reset. Sync memory. */
typedef struct iris_signal {
    uint64_t value; /**< read it with iris_signal_read or a wait, never directly */
} iris_signal;

/**
 * A subset of the world: world ranks start, start + stride, … (size of them); size 0 is the world. One of any ranks in
 * any order is from iris_team_create or iris_team_split: launchers take it like any other, and kernels take its
 * context (iris_team_ctx) in its place.
 */
typedef struct iris_team {
    int32_t start;  /**< world rank of the first member */
    int32_t stride; /**< world ranks from one member to the next */
    int32_t size;   /**< members */
} iris_team;

/* What a wait compares with. */
typedef enum irisi_cmp { IRISI_EQ, IRISI_NE, IRISI_GT, IRISI_GE, IRISI_LT, IRISI_LE } irisi_cmp;

/* What a report is about: a wait that passed its deadline, rows that a peer has named, or what checked mode refused. */
typedef enum irisi_fault {
    IRISI_FAULT_NONE,
    IRISI_FAULT_RANK,  /* no such rank */
    IRISI_FAULT_RANGE, /* not inside the heap */
    IRISI_FAULT_ALIGN, /* not a multiple of the item's size */
    IRISI_FAULT_SYNC,  /* an atomic on a peer's data memory, where only sync memory carries it */
    IRISI_FAULT_COUNT, /* another rank called the collective with another number of elements */
    IRISI_FAULT_BUSY,  /* two workgroups on one slice of a channel: it is used on two streams, or twice in a kernel */
    IRISI_FAULT_SLICE, /* a slice that the channel does not have */
    IRISI_FAULT_CALL,  /* another rank called the collective with another root, operation or size of element */
    IRISI_FAULT_BYTES, /* a message is not as long as its receiver says */
    IRISI_FAULT_ROOM,  /* a row is longer than the room for it */
    IRISI_FAULT_ROW,   /* a row that does not lie in its owner's heap */
    IRISI_FAULT_INDEX, /* an index outside a tensor */
    IRISI_FAULT_VECTOR, /* 16 bytes of a tensor that are not in one piece */
    IRISI_FAULT_PITCH,  /* rows to be written are longer than their pitch */
    IRISI_FAULT_WINDOW  /* a signal, wait, packet or collective with a window's context */
} irisi_fault;

/* What an operation does at an address; the last four are atomic. */
typedef enum irisi_access {
    IRISI_ACCESS_AT,
    IRISI_ACCESS_LOAD,
    IRISI_ACCESS_STORE,
    IRISI_ACCESS_PUT,
    IRISI_ACCESS_GET,
    IRISI_ACCESS_COPY,
    IRISI_ACCESS_RECEIVE,
    IRISI_ACCESS_ATOMIC,
    IRISI_ACCESS_SIGNAL,
    IRISI_ACCESS_WAIT,
    IRISI_ACCESS_LL
} irisi_access;

/* Written once by the first lane of a rank that has something to report; read by the host. */
typedef struct irisi_report {
    uint32_t claimed;  /* 0, then 1 by compare-and-swap: the first one writes */
    uint32_t complete; /* 1 once the fields below are valid */
    int32_t from;      /* rank that should have raised the signal, -1 unknown; rank that was to be accessed */
    uint32_t cmp;      /* irisi_cmp */
    uint32_t workgroup;
    uint32_t fault;  /* irisi_fault */
    uint64_t signal; /* heap offset of the signal, or of the address; of a refused one in a window, its offset there */
    uint64_t expected, seen; /* of a refused access with a window's context: the window, its bytes on that rank */
    uint64_t address, items; /* of a refused access: where, how many */
    uint32_t size, access;   /* bytes of one, irisi_access */
    uint32_t workgroups;
    uint32_t team; /* iris_ctx.team, where it is known: `from` is a rank of that team */
} irisi_report;

/* One for each rank, at the start of its heap, in sync memory. */
typedef struct irisi_control {
    uint32_t abort; /* 0, or 1 + the rank whose report says why the world stopped */
    uint32_t pad[15];
    irisi_report report;
    uint64_t scratch[2]; /* where refused accesses to one element or vector go */
    uint64_t mainloops;  /* the answer of the latest irisi_gemm_probe */
    uint64_t trace[2];   /* the rank's rings of events (trace_event.h), 0: no trace is on; their number, and 2^32 times
                            the events of each */
    uint64_t reserved[(256 - 64 - sizeof(irisi_report) - 40) / 8];
} irisi_control;

/**
 * Passed by value in every kernel's argument struct; from iris_device_ctx(w).
 *
 * delta[r] is base[r] - base[me]: an object at p here is at p + delta[r] on rank r. A window's context (window.h) has
 * windows in the place of the heaps.
 */
typedef struct iris_ctx {
    int32_t rank;                  /**< own rank, 0 .. world - 1 */
    int32_t world;                 /**< number of ranks */
    uint32_t team;                 /**< 0: the world's; else of which team (iris_team_ctx) */
    uint32_t window;               /**< 0: the heap; else which window (iris_register) */
    uint64_t base;                 /**< own heap or window: first byte */
    uint64_t bytes;                /**< own heap or window: length */
    uint64_t sync_bytes;           /**< the first sync_bytes of it are sync memory */
    uint64_t deadline;             /**< ticks of iris_clock a wait may last; 0 = no limit */
    irisi_control *control;        /**< own control block */
    const int64_t *far;            /**< delta of every rank, for worlds beyond IRIS_CTX_RANKS; of a window always,
                                        and behind it the heap's, then the window's bytes on every rank */
    int64_t delta[IRIS_CTX_RANKS]; /**< base[r] - base[me] */
} iris_ctx;

#endif
