/* SPDX-License-Identifier: MIT */
/*
 * gemm.h: the mainloops of this platform: arch/<platform>/gemm.h. Every platform defines, for each dtype <d> with GEMM
 * kernels and each of its mainloops (suffix <s>, empty for the plain one):
 *
 *   iris_gemm_has_loader                 1 where waves of their own load (sm_90a); a constant
 *   iris_gemm_pipe                       the state that a mainloop keeps from tile to tile: begin, then use
 *   iris_gemm_pipe_begin(plan, workspace)
 *   iris_gemm_acc_<d><s>                 one lane's share of a tile's accumulators, in registers
 *   iris_gemm_load_tile_<d><s>(plan, tile, pipe, crew)        loader waves: fetch what the tile needs
 *   iris_gemm_mma_tile_<d><s>(plan, tile, pipe, crew, acc)    math waves: acc = A * B
 *   iris_gemm_stage_tile_<d><s>(plan, tile, acc, crew, stage) math waves: epilogue, into the staging tile
 */
#ifndef IRIS_ARCH_GEMM_H
#define IRIS_ARCH_GEMM_H

#include <iris/arch/gemm_shape.h>
#include <iris/tile.h>

#if IRIS_HAS_DEVICE
#include <iris/gen/gemm_epilogue.h>
#if defined(IRIS_TARGET_NVIDIA)
#include <iris/arch/nvidia/gemm.h>
#elif defined(IRIS_TARGET_AMD)
#include <iris/arch/amd/gemm.h>
#else
#include <iris/arch/host/gemm.h>
#endif
#endif

#endif
