/* SPDX-License-Identifier: MIT */
/*
 * mainloop.h: includes the mainloops of this platform (mainloop/<platform>/). Every platform defines, for each dtype
 * <d> with GEMM kernels and each of its mainloops (suffix <s>, empty for the plain one):
 *
 *   iris_gemm_has_loader_<d><s>          a constant: 1 where separate waves load A and B
 *   iris_gemm_in_image_<d><s>()          1 where this compilation's target has what the mainloop needs; elsewhere its
 *                                        functions do nothing, and no plan chooses it
 *   iris_gemm_pipe_<d><s>                the state that a mainloop keeps from tile to tile
 *   iris_gemm_pipe_begin_<d><s>(plan, workspace, bytes)
 *   iris_gemm_acc_<d><s>                 one lane's share of a tile's accumulators, in registers
 *   iris_gemm_load_tile_<d><s>(plan, tile, pipe, wave group)  loader waves: fetch what the tile needs
 *   iris_gemm_mma_tile_<d><s>(plan, tile, pipe, wave group, acc)  math waves: acc = A * B
 *   iris_gemm_stage_tile_<d><s>(plan, piece, i, acc, wave group, stage)  math waves: epilogue of the tile's i-th piece,
 *                                                                   into the staging tile
 *
 * and once for all its mainloops:
 *
 *   irisi_gemm_workspace_begin(plan, workspace, bytes)        every lane of the workgroup, before its first barrier
 *   irisi_gemm_registers(plan, mainloop, role, begins)        the waves of a role, before their first tile (`begins`)
 *                                                             and after their last
 *
 * and for workgroups that only send, and do it by a copy engine through the workspace:
 *
 *   irisi_tma_forward_can irisi_tma_forward_begin
 *   irisi_tma_forward_fetch irisi_tma_forward_skip   loader waves: each fetches a tile in turn, and skips the others'
 *   irisi_tma_forward_put irisi_tma_forward_end      math waves: put what was fetched to the peers
 *
 * and for workgroups that only gather A in that way:
 *
 *   irisi_tma_gather_can irisi_tma_gather_rows
 *
 * The workspace starts 128 bytes behind the start of shared memory.
 */
#ifndef IRIS_MAINLOOP_MAINLOOP_H
#define IRIS_MAINLOOP_MAINLOOP_H

#include <iris/mainloop/shape.h>
#include <iris/gemm/tile.h>

#if IRIS_HAS_DEVICE

/** What the waves of a workgroup do. */
typedef enum iris_gemm_role { IRIS_GEMM_MATH, IRIS_GEMM_LOADER, IRIS_GEMM_COMM } iris_gemm_role;

#include <iris/gen/gemm_epilogue.h>
#if defined(IRIS_TARGET_NVIDIA)
#include <iris/mainloop/nvidia/tma_gather.h>
#elif defined(IRIS_TARGET_AMD)
#include <iris/mainloop/amd/gemm.h>
#else
#include <iris/mainloop/host/gemm.h>
#endif

#if !defined(IRISI_HAS_TMA_FORWARD)
/* This platform has no such engine: irisi_tma_forward_can says so, and the others are never called. */
typedef struct irisi_tma_forward {
    uint32_t none;
} irisi_tma_forward;
enum { IRISI_TMA_FORWARD_FETCHERS = 1 };
IRIS_DEVICE int irisi_tma_forward_can(const iris_gemm_plan *plan) { return (void)plan, 0; }
IRIS_DEVICE irisi_tma_forward irisi_tma_forward_begin(char *workspace)
{
    const irisi_tma_forward r = {0};
    return (void)workspace, r;
}
IRIS_DEVICE void irisi_tma_forward_fetch(const iris_gemm_plan *plan, const iris_tile *tile, irisi_tma_forward *r)
{
    (void)plan, (void)tile, (void)r;
}
IRIS_DEVICE void irisi_tma_forward_skip(const iris_tile *tile, irisi_tma_forward *r) { (void)tile, (void)r; }
IRIS_DEVICE void irisi_tma_forward_put(const iris_gemm_plan *plan, const iris_tile *tile, int stopped,
                                       irisi_tma_forward *r)
{
    (void)plan, (void)tile, (void)stopped, (void)r;
}
IRIS_DEVICE void irisi_tma_forward_end(void) {}
#endif

#if !defined(IRISI_HAS_TMA_GATHER)
IRIS_DEVICE int irisi_tma_gather_can(const iris_gemm_plan *plan) { return (void)plan, 0; }
IRIS_DEVICE void irisi_tma_gather_rows(const iris_ctx *ctx, const iris_gemm_plan *plan, char *workspace, uint64_t epoch,
                                       uint32_t worker, uint32_t workers)
{
    (void)ctx, (void)plan, (void)workspace, (void)epoch, (void)worker, (void)workers;
}
#endif
#endif

#endif
