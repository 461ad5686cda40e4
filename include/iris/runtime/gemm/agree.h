/* SPDX-License-Identifier: MIT */
/*
 * agree.h: a part of init.c: what the ranks of a plan must have in common, and what all have.
 *
 *   irisi_gemm_agree
 */
#ifndef IRIS_RUNTIME_GEMM_AGREE_H
#define IRIS_RUNTIME_GEMM_AGREE_H
#ifdef IRIS_INIT_C

#include <iris/runtime/gemm/choose.h>

/* What all ranks must have alike, and whether this one's arguments were sound. */
typedef struct irisi_gemm_vote {
    int64_t status, op, dtype, c_dtype, tf32, fast_accum, m, n, k, c, ldc, tile_m, tile_n, pattern, rows, ll;
    int64_t mainloop;
    int64_t mainloops, aligned, boxes, bare, workgroups, blas; /* of these the least is taken, not the same asked for */
    int64_t row, xcds; /* count where all have the same */
    int64_t full;
} irisi_gemm_vote;

/*
 * Compares the ranks' arguments, and leaves in `common` what all have. Every rank calls it, whatever it thinks of its
 * own.
 */
static iris_status irisi_gemm_agree(iris_world *w, const iris_gemm_plan *p, iris_status own, irisi_gemm_common *common)
{
    static const char *const names[] = {"status", "op",  "dtype",  "c_dtype", "tf32", "fast_accum", "m", "n", "k",
                                        "c's place in the heap, which equal allocations in one order make equal,",
                                        "ldc", "tile_m", "tile_n",  "pattern",
                                        "the checksum of IRIS_TUNE or tune and of the built-in table",
                                        "the room for packets", "the mainloop that fits"};
    enum { FIELDS = sizeof(irisi_gemm_vote) / sizeof(int64_t), SAME = FIELDS - 9 };
    const int64_t place = own == IRIS_OK ? (int64_t)((uintptr_t)p->c - (uintptr_t)iris_device_ctx(w).base) : 0;
    const int64_t mine[FIELDS] = {own,   p->op,           p->dtype,  p->c_dtype, p->tf32, p->fast_accum,
                                  p->m,  p->n,            p->k,
                                  place, (int64_t)p->ldc, p->tile_m, p->unit ? p->unit : p->tile_n, p->pattern,
                                  (int64_t)(common->rows & UINT32_MAX),
                                  p->ll.banks != NULL, p->mainloop,
                                  (int64_t)common->mainloops, (int64_t)common->aligned, (int64_t)common->boxes,
                                  (int64_t)common->bare, (int64_t)common->workgroups, (int64_t)common->blas,
                                  (int64_t)common->row, (int64_t)p->xcds, (int64_t)common->full};
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_gemm_prepare", mine, sizeof mine, &votes);
    const int64_t *all = (const int64_t *)votes;
    iris_status s = met != IRIS_OK ? met : own;
    common->xcds = p->xcds;
    for (uint32_t r = 0; s == IRIS_OK && r < p->world; r++) {
        if (all[r * FIELDS] != IRIS_OK)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_gemm_prepare: rank %u refused its arguments (%s)", r,
                           iris_status_name((iris_status)all[r * FIELDS]));
        for (int f = 1; s == IRIS_OK && f < SAME; f++)
            if (all[r * FIELDS + f] != all[f])
                s = irisi_fail(w, IRIS_ERR_MISMATCH,
                               "iris_gemm_prepare: %s is %lld on rank %u but %lld on rank 0; it must be the same",
                               names[f], (long long)all[r * FIELDS + f], r, (long long)all[f]);
        common->mainloops &= (uint64_t)all[r * FIELDS + SAME];
        common->aligned &= (uint64_t)all[r * FIELDS + SAME + 1];
        common->boxes &= (uint64_t)all[r * FIELDS + SAME + 2];
        common->bare &= (uint64_t)all[r * FIELDS + SAME + 3];
        if (common->workgroups > (uint64_t)all[r * FIELDS + SAME + 4])
            common->workgroups = (uint64_t)all[r * FIELDS + SAME + 4];
        if (common->blas > (uint64_t)all[r * FIELDS + SAME + 5])
            common->blas = (uint64_t)all[r * FIELDS + SAME + 5];
        if (all[r * FIELDS + SAME + 6] != all[SAME + 6])
            common->row = 0;
        if (all[r * FIELDS + SAME + 7] != all[SAME + 7])
            common->xcds = 1;
        common->full &= (uint64_t)all[r * FIELDS + SAME + 8];
    }
    free(votes);
    return s;
}

#endif
#endif
