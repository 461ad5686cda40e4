/* SPDX-License-Identifier: MIT */
/*
 * gemv_shape.h (nvidia): what the host must know of the loop whose tiles have up to 8 rows of C (gemv.h): its tiles, in
 * how many splits K is cut, and when it is the fastest one.
 *
 *   IRISI_GEMM_LANES_GEMV IRISI_GEMM_LANES_WITH_COMM_GEMV
 *   irisi_gemv_choice irisi_gemv_best irisi_gemv_us irisi_gemv_others_us irisi_gemv_takes irisi_gemv_gemm_shape
 *   irisi_gemv_rates_of
 */
#ifndef IRIS_MAINLOOP_NVIDIA_GEMV_SHAPE_H
#define IRIS_MAINLOOP_NVIDIA_GEMV_SHAPE_H

#include <iris/mainloop/problem.h>

enum {
    IRISI_GEMV_WAVES = 8,   /* of a workgroup */
    IRISI_GEMV_FITS = 2,    /* workgroups of a multiprocessor */
    IRISI_GEMV_AHEAD = 2,   /* steps of a wave that are loaded at a time where B is n x k */
    IRISI_GEMV_RING = 4,    /* steps in a wave's ring where B is k x n: one is multiplied while the others arrive */
    IRISI_GEMV_STEP = 2048, /* bytes of a wave's step: four words of 16 bytes for each lane */
    IRISI_GEMV_M = 8,
    IRISI_GEMV_ROW = 64,    /* columns of a tile where B is k x n: 8 words of 16 bytes of each row */
    IRISI_GEMV_SHORT = 56,  /* the same where rows are unaligned: 8 words always hold so many */
    IRISI_GEMV_LINES = 128, /* columns of a tile where B is n x k: 16 of each of 8 classes (gemv.h) */
    IRISI_GEMV_DEEP = 16 * IRISI_GEMV_WAVES,           /* elements of K in a step where B is k x n */
    IRISI_GEMV_SUMS = IRISI_GEMV_M * IRISI_GEMV_LINES, /* elements of a tile, at most */
    IRISI_GEMV_COMM_WAVES = 1,
    IRISI_GEMM_LANES_GEMV = 32 * IRISI_GEMV_WAVES,
    IRISI_GEMM_LANES_WITH_COMM_GEMV = 32 * (IRISI_GEMV_WAVES + IRISI_GEMV_COMM_WAVES)
};

/* A tile's columns, and splits of K. */
typedef struct irisi_gemv_choice {
    uint32_t n, split_k;
} irisi_gemv_choice;

/* The i-th choice that a problem has: 4 widths where B is n x k and aligned, else one; 1, 2, 4 or 8 splits of each. */
static inline irisi_gemv_choice irisi_gemv_choice_of(const irisi_gemm_problem *p, uint32_t i)
{
    const uint32_t n_major = !p->b_transposed, aligned = !p->b_unaligned;
    irisi_gemv_choice c;
    c.split_k = 1u << i % 4;
    c.n = n_major ? (uint32_t)IRISI_GEMV_SHORT : (uint32_t)IRISI_GEMV_LINES >> i / 4;
    if (n_major && aligned)
        c.n = IRISI_GEMV_ROW;
    if (i / 4 > (n_major || !aligned ? 0u : 3u))
        c.n = 0; /* there are no more */
    return c;
}

/*
 * About how long a problem takes with a choice. Workgroups run in rounds. A step, 16 KB of B, takes the longest of
 * three times: the latency of loads, a multiprocessor's share of the way from the cache, and the memory's share.
 * Clusters of 4 and 8 workgroups do not fit everywhere (`places`). The two rows of rates, for B k x n and n x k, are
 * fitted to the times of one H200 at every width and number of splits.
 */
typedef struct irisi_gemv_rates {
    double begin_us, split_k_us, rows_us;   /* once; once more where K is cut; what 8 rows take longer than one */
    double round_us, two_us;                /* each round; more with two workgroups on a multiprocessor */
    double unshared_us, unshared_rows_us;   /* a step's latency; more for 8 rows than for one */
    double each, all, all_of_two;           /* 10^12 bytes/s: a multiprocessor; the device, by one or two workgroups */
    double a;                               /* the weight of A's bytes beside B's */
} irisi_gemv_rates;
static inline double irisi_gemv_us(const irisi_gemm_problem *p, irisi_gemv_choice c)
{
    static const irisi_gemv_rates rates[2] = {{0.76, 0.8, 0.65, 1.63, 0.41, 0.1, 0.22, 0.061, 4.19, 4.93, 1.6},
                                              {0.79, 0.37, 0.36, 1.66, 0, 0.17, 0.3, 0.053, 3.51, 4.49, 1.1}};
    const irisi_gemv_rates r = rates[p->b_transposed != 0];
    const uint32_t deep = p->b_transposed ? 8192 / c.n : (uint32_t)IRISI_GEMV_DEEP, rows = p->m < 8 ? p->m : 8;
    const double places = (c.split_k > 4 ? 0.8 : c.split_k > 2 ? 0.92 : 1) * (int)IRISI_GEMV_FITS * p->workgroups;
    const uint64_t tiles = ((uint64_t)p->m + IRISI_GEMV_M - 1) / IRISI_GEMV_M * (((uint64_t)p->n + c.n - 1) / c.n);
    const double groups = (double)tiles * c.split_k, full = (double)(uint64_t)(groups / places);
    const double steps = (double)((p->k / c.split_k + deep - 1) / deep), more = (rows - 1) / 7.0;
    const double ends = c.n == IRISI_GEMV_SHORT || c.n == IRISI_GEMV_LINES ? 1.2 : 1; /* words that are read twice */
    const double mb = 0.016384 * (1 + r.a * rows / c.n) * ends, unshared = r.unshared_us + r.unshared_rows_us * more;
    double us = r.begin_us + r.split_k_us * (c.split_k > 1) + r.rows_us * more;
    for (int last = 0; last < 2; last++) {
        const double busy = last ? groups - full * places : places, rounds = last ? busy > 0 : full;
        const int two = busy > p->workgroups;
        const double each = mb * (1 + two) / r.each, all = mb * busy / (two ? r.all_of_two : r.all);
        const double step = unshared > each ? unshared : each;
        us += rounds * (r.round_us + r.two_us * two + steps * (step > all ? step : all));
    }
    return us;
}

/* The fastest choice of those that the problem allows; n is 0 when there is none. */
static inline irisi_gemv_choice irisi_gemv_best(const irisi_gemm_problem *p)
{
    irisi_gemv_choice best = {0, 0};
    for (uint32_t i = 0; irisi_gemv_choice_of(p, i).n > 0; i++) {
        const irisi_gemv_choice c = irisi_gemv_choice_of(p, i);
        const int clusters = irisi_gemm_has(p, IRISI_GEMM_SM90A) || c.split_k == 1;
        if ((p->tile_n == 0 || p->tile_n == c.n) && (p->split_k == 0 || p->split_k == c.split_k) && clusters &&
            (best.n == 0 || irisi_gemv_us(p, c) < irisi_gemv_us(p, best)))
            best = c;
    }
    if (p->tile_m != 0 && p->tile_m != (p->m < IRISI_GEMV_M ? p->m : (uint32_t)IRISI_GEMV_M))
        best.n = 0;
    return best;
}

/*
 * About how long the problem takes by Hopper's other loops, for up to 128 rows; fitted to the few0_us of
 * bench/results/gemm_local/1xH200/d2c8a52.json. A C that does not leave in boxes takes longer, and so does a copy of A.
 */
static inline double irisi_gemv_others_us(const irisi_gemm_problem *p)
{
    const double mb = 2e-6 * p->n * p->k, rows = p->m / 128.0, copied = p->a_unaligned ? 4 : 0;
    const double started = 4.1 + 0.65 * p->k / 1024 + (p->m > 64 ? 1.2 : 0), read = 3.3 + 0.255 * mb;
    if (p->b_unaligned)
        return 8 + 0.34 * mb + 5 * rows + copied;
    return (started > read ? started : read) + (p->tma_store ? 0 : 3.5 + 2.5 * rows) + copied;
}

/*
 * 1 when the loop is to compute a problem: it must; or rows are few, no tile is asked for, and a GEMM alone is faster
 * with it than with the others. An unaligned B may have up to 16 rows; from 9 on `longer` corrects the two models,
 * which favour the other loop there (docs/notes/mainloops.md). Not on devices before Hopper, where the loop was not
 * measured. Not where B is large and the copy engine can read and write everything: there Hopper's usual loop is
 * faster, as it begins while the kernel before it ends. fused_sequential does not begin so early, so up to 4 rows it
 * takes this loop.
 */
static inline int irisi_gemv_takes(const irisi_gemm_problem *p)
{
    if (!irisi_gemm_has(p, IRISI_GEMM_GEMV) || p->skinny == IRISI_SKINNY_NEVER || p->skinny == IRISI_SKINNY_MUST)
        return 0;
    const irisi_gemv_choice best = irisi_gemv_best(p);
    if (best.n == 0 || p->skinny == IRISI_SKINNY_GEMV)
        return best.n != 0;
    if (p->m > (p->b_unaligned ? 2 : 1) * (uint32_t)IRISI_GEMV_M || p->tile_m > 0 || p->tile_n > 0 ||
        !p->compute_only || !irisi_gemm_has(p, IRISI_GEMM_SM90A))
        return 0;
    if (2e-6 * p->n * p->k > 20 && p->tma_store && !p->a_unaligned && !p->b_unaligned &&
        (p->compute_only == 1 || p->m > 4))
        return 0;
    const double later = p->compute_only == 1 ? 0 : p->m > 4 ? 0.4 : 1.2, longer = p->m > IRISI_GEMV_M ? 1.3 : 1;
    return irisi_gemv_us(p, best) < longer * irisi_gemv_others_us(p) + later;
}

/*
 * log2 of the elements of a row of A in a piece; bytes from row to row of a piece, which put rows in different banks.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemv_piece(uint32_t rows) { return rows > 4 ? 10 : rows > 2 ? 11 : rows > 1 ? 12 : 13; }
IRIS_HOST_DEVICE uint32_t irisi_gemv_pitch(uint32_t rows) { return (2u << irisi_gemv_piece(rows)) + 48; }

/*
 * Bytes of the workspace for operands, for a K of so many splits: the waves' rings where B is k x n, and two pieces of
 * A, or one where it holds the whole split. The waves' sums use the same memory later.
 */
enum { IRISI_GEMV_RINGS = IRISI_GEMV_WAVES * IRISI_GEMV_RING * IRISI_GEMV_STEP };
IRIS_HOST_DEVICE uint32_t irisi_gemv_room(int n_major, uint32_t rows, uint32_t k, uint32_t split_k)
{
    const uint32_t most = k / split_k + 520; /* splits are in whole steps, and may begin up to 7 elements sooner */
    return (n_major ? IRISI_GEMV_RINGS : 0) +
           (most > 1u << irisi_gemv_piece(rows) ? 2 : 1) * rows * irisi_gemv_pitch(rows);
}

/* The loop's shape. Its workspace: irisi_gemv_room, a barrier, and the other splits' sums. */
static inline irisi_gemm_shape irisi_gemv_gemm_shape(const irisi_gemm_problem *p)
{
    const irisi_gemv_choice c = irisi_gemv_best(p);
    irisi_gemm_shape s;
    s.mainloop = IRISI_GEMM_GEMV;
    s.tile_m = s.stage_m = p->m < IRISI_GEMV_M ? p->m : (uint32_t)IRISI_GEMV_M, s.tile_n = s.stage_n = c.n;
    s.cluster_split_k = c.split_k;
    s.tma_store = s.window = 0, s.slots = 2, s.slots_with_comm = 4;
    const uint32_t columns = c.n == IRISI_GEMV_SHORT ? 64 : c.n;
    s.workspace_bytes_with_comm = s.workspace_bytes = irisi_gemv_room(!p->b_transposed, s.tile_m, p->k, 1);
    for (uint32_t split_k = c.split_k; split_k > 1; split_k /= 2) { /* fused_sequential may get fewer splits */
        const uint32_t own =
            irisi_gemv_room(!p->b_transposed, s.tile_m, p->k, split_k) + 16 + 4 * (split_k - 1) * s.tile_m * columns;
        s.workspace_bytes = s.workspace_bytes > own ? s.workspace_bytes : own;
    }
    s.math_waves = s.waves = IRISI_GEMV_WAVES;
    s.comm_waves = IRISI_GEMV_COMM_WAVES;
    s.waves_with_comm = s.waves + s.comm_waves;
    return s;
}

/* What the model of cost_rounds.h computes with, estimates, for one workgroup on each multiprocessor and a whole K. */
static inline irisi_gemm_rates irisi_gemv_rates_of(const iris_gemm_plan *p)
{
    const double steps =
        (double)p->k / (p->operands.b_transposed ? 8192 / p->tiling.tile_n : (uint32_t)IRISI_GEMV_DEEP);
    irisi_gemm_rates r;
    r.tile_us = 1.8 + 0.3 * steps;
    r.beside_us = r.tile_us;
    r.launch_us = 6, r.signal_us = 3;
    r.link_gbps = r.links_gbps = 340;
    r.sender_gbps = 12;
    r.memory_gbps = 4200;
    return r;
}

#endif
