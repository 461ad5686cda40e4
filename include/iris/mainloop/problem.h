/* SPDX-License-Identifier: MIT */
/*
 * problem.h: what irisi_gemm_pick is given, and what it returns: which mainloop, and in what shape.
 *
 *   irisi_gemm_extent irisi_gemm_problem irisi_gemm_shape irisi_gemm_rates
 *   irisi_gemm_image
 *   irisi_gemm_has irisi_gemm_fits
 */
#ifndef IRIS_MAINLOOP_PROBLEM_H
#define IRIS_MAINLOOP_PROBLEM_H

#include <iris/gemm/plan.h>

/* Rows and columns of a tile. */
typedef struct irisi_gemm_extent {
    uint32_t m, n;
} irisi_gemm_extent;

/* The mainloop that a device runs from images made for it alone, and the compiler's option for such an image. */
typedef struct irisi_gemm_image {
    uint32_t mainloop; /* IRISI_GEMM_PLAIN: there is none */
    const char *option;
} irisi_gemm_image;

/* A problem's `skinny`: any loop may compute it; the skinny loop must; the gemv loop must; neither of these may. */
enum { IRISI_SKINNY_MAY, IRISI_SKINNY_MUST, IRISI_SKINNY_GEMV, IRISI_SKINNY_NEVER };

/* What a choice depends on: the same on every rank, so that all choose alike. */
typedef struct irisi_gemm_problem {
    uint32_t mainloops;  /* bit i: every rank's image holds mainloop i for this dtype, and its device runs it */
    uint32_t dtype, c_dtype;
    uint32_t element, c_element; /* bytes of an element of A and B, and of C */
    uint32_t accumulator; /* bytes of an accumulator */
    uint32_t m, n, k;     /* n: columns of the widest band */
    uint32_t b_transposed;
    uint32_t aligned;    /* 1: on every rank A, B and all their rows start at multiples of 16 bytes, or copies do */
    uint32_t b_unaligned; /* 1: on some rank B itself does not: only a loop for an unaligned B reads it uncopied */
    uint32_t a_unaligned; /* the same of A */
    uint32_t skinny;      /* IRISI_SKINNY_*: whether a loop for few rows is to compute it, and which */
    uint32_t split_k;    /* splits of K that the caller asks for; 0: free */
    uint32_t full;       /* 1: on every rank at least as many workgroups as the device has compute units */
    uint32_t compute_only; /* 1: by a kernel that only computes; 2: by fused_sequential of several ranks; 0: else */
    uint32_t tf32;       /* 1: f32 may be multiplied as tf32 */
    uint32_t no_epilogue; /* 1: on every rank nothing but the product is asked for */
    uint32_t tma_store;  /* 1: rows of all bands of C start at multiples of 16 bytes and have 16 or more; <= 8 ranks */
    uint32_t workgroups;
    uint32_t tile_m, tile_n; /* that the caller asks for; 0: free */
} irisi_gemm_problem;

/*
 * What irisi_gemm_pick returns. Waves of a workgroup: the first math_waves compute, the last comm_waves communicate,
 * the rest load.
 */
typedef struct irisi_gemm_shape {
    uint32_t mainloop, tile_m, tile_n;
    uint32_t tma_store;              /* 1: staging tiles are laid out in boxes for the copy engine */
    uint32_t slots, slots_with_comm; /* staging tiles without and with communication waves; at most 4 */
    uint32_t stage_m, stage_n; /* of a staging tile: fewer columns than tile_n where a tile leaves in pieces */
    uint32_t workspace_bytes, workspace_bytes_with_comm; /* shared memory without and with communication waves */
    uint32_t math_waves, comm_waves;
    uint32_t window; /* boxes under way of each communication wave; 0: any number */
    uint32_t waves, waves_with_comm; /* of a workgroup, without and with communication waves */
    uint32_t cluster_split_k;        /* see iris_gemm_plan */
} irisi_gemm_shape;

/*
 * About how long a device takes to compute and to send a plan's tiles, where all have one width: the model in
 * cost_rounds.h computes with these. tile_us 0: nothing is known.
 */
typedef struct irisi_gemm_rates {
    double tile_us;     /* a workgroup's arithmetic for its kernel's largest tile: a smaller one takes as long */
    double beside_us;   /* the same beside communication waves */
    double launch_us;   /* from a kernel's end until the next one has begun */
    double signal_us;   /* until a tile's bytes have arrived and its signal is seen, beside the time of the bytes */
    double link_gbps;   /* to one peer */
    double links_gbps;  /* to all of them together, at most */
    double sender_gbps; /* that one workgroup sends, to all peers together */
    double memory_gbps; /* that the device's memory delivers */
} irisi_gemm_rates;

/* 1 when `mainloop` is one of the problem's. */
IRIS_HOST_DEVICE int irisi_gemm_has(const irisi_gemm_problem *p, uint32_t mainloop)
{
    return (int)(p->mainloops >> mainloop & 1);
}

/* 1 when the tile that was asked for, if any, is within `most`. */
IRIS_HOST_DEVICE int irisi_gemm_fits(const irisi_gemm_problem *p, irisi_gemm_extent most)
{
    return p->tile_m <= most.m && p->tile_n <= most.n;
}

#endif
