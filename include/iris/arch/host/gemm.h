/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (host): the blocked loop's ground: what a thread owns.
 *
 *   iris_gemm_pipe iris_gemm_pipe_begin iris_gemm_has_loader
 *
 * A tile is computed in blocks of K: the crew widens a panel of B into shared memory, each thread widens its own rows
 * of A, then a micro-kernel multiplies rows x columns that fit the vector registers. gen/arch/gemm_host.h has these
 * loops for each accumulator type and vector unit; at run time the best unit is taken.
 */
#ifndef IRIS_ARCH_HOST_GEMM_H
#define IRIS_ARCH_HOST_GEMM_H

#include <iris/arch/host/gemm_isa.h>
#include <iris/tile.h>

enum { iris_gemm_has_loader = 0 };

/* The mainloops that this platform has. */
#define IRISI_GEMM_HAS_PLAIN 1

/** What a mainloop keeps from tile to tile. */
typedef struct iris_gemm_pipe {
    char *workspace;
} iris_gemm_pipe;

IRIS_DEVICE iris_gemm_pipe iris_gemm_pipe_begin(const iris_gemm_plan *plan, char *workspace)
{
    iris_gemm_pipe pipe;
    (void)plan;
    pipe.workspace = workspace;
    return pipe;
}

/* The rows of a tile that a thread computes: whole micro-kernels. */
typedef struct irisi_gemm_rows {
    uint32_t first, count;
} irisi_gemm_rows;

IRIS_DEVICE irisi_gemm_rows irisi_gemm_own_rows(const iris_tile *tile, const iris_crew *crew)
{
    const uint32_t each = irisi_gemm_padded((tile->rows + crew->members - 1) / crew->members, IRISI_GEMM_ROWS);
    const uint32_t first = each * crew->member;
    irisi_gemm_rows own;
    own.first = first < tile->rows ? first : tile->rows;
    own.count = tile->rows - own.first < each ? tile->rows - own.first : each;
    return own;
}

#include <iris/gen/arch/gemm_host.h>

#endif
