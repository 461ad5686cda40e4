/* SPDX-License-Identifier: MIT */
/*
 * gemm.h (amd): the mainloops of this platform: the plain one, and those on matrix units.
 *
 *   irisi_gemm_registers, and what gen/mainloop/ has in gemm_simt.h, gemm_mfma_amd.h and gemm_skinny_amd.h
 */
#ifndef IRIS_MAINLOOP_AMD_GEMM_H
#define IRIS_MAINLOOP_AMD_GEMM_H

#include <iris/mainloop/shape.h>
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

#include <iris/gen/mainloop/gemm_skinny_amd.h>
#include <iris/gen/mainloop/gemm_mfma_amd.h>
#include <iris/gen/mainloop/gemm_simt.h>

#endif
