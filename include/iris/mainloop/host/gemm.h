/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (host): the blocked loop of this platform, and which rows of a tile a thread computes.
 *
 *   irisi_gemm_registers irisi_gemm_rows irisi_gemm_own_rows
 *
 * A tile is computed in blocks of K: the wave group widens a panel of B into shared memory, each thread widens its own
 * rows of A, then a micro-kernel multiplies rows x columns that fit the vector registers. gen/mainloop/gemm_host.h has
 * these loops for each accumulator type and vector unit; at run time the best unit is taken.
 */
#ifndef IRIS_MAINLOOP_HOST_GEMM_H
#define IRIS_MAINLOOP_HOST_GEMM_H

#include <iris/mainloop/host/gemm_isa.h>
#include <iris/gemm/tile.h>

/** Prepares the mainloop's part of shared memory, before waves take their roles: nothing to do here. */
IRIS_DEVICE void irisi_gemm_workspace_begin(const iris_gemm_plan *plan, char *workspace, uint32_t bytes)
{
    (void)plan, (void)workspace, (void)bytes;
}

/** Deals a workgroup's registers to its roles, on devices that can; this one cannot. */
IRIS_DEVICE void irisi_gemm_registers(const iris_gemm_plan *plan, uint32_t mainloop, iris_gemm_role role,
                                      int begins)
{
    (void)plan, (void)mainloop, (void)role, (void)begins;
}

/* The rows of a tile that a thread computes: whole micro-kernels. */
typedef struct irisi_gemm_rows {
    uint32_t first, count;
} irisi_gemm_rows;

IRIS_DEVICE irisi_gemm_rows irisi_gemm_own_rows(const iris_tile *tile, const iris_wave_group *group)
{
    const uint32_t each = irisi_gemm_padded((tile->rows + group->members - 1) / group->members, IRISI_GEMM_ROWS);
    const uint32_t first = each * group->member;
    irisi_gemm_rows own;
    own.first = first < tile->rows ? first : tile->rows;
    own.count = tile->rows - own.first < each ? tile->rows - own.first : each;
    return own;
}

#include <iris/gen/mainloop/gemm_host.h>

#endif
