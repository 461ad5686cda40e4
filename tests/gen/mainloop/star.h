/* SPDX-License-Identifier: MIT */
/*
 * star.h: a made-up mainloop of f32, for test_gen.py and docs/adding-a-variant.md. A mainloop's own header has the
 * functions that mainloop/mainloop.h lists; this one borrows the plain loop's. Its shape header says that the platform
 * has it and how many lanes its workgroups have.
 */
#ifndef STAR_H
#define STAR_H

#define IRISI_GEMM_HAS_STAR 1
enum { IRISI_GEMM_LANES_STAR = 64, IRISI_GEMM_LANES_WITH_COMM_STAR = 128 };

#define iris_gemm_has_loader_f32_star iris_gemm_has_loader_f32
#define iris_gemm_in_image_f32_star iris_gemm_in_image_f32
#define iris_gemm_pipe_f32_star iris_gemm_pipe_f32
#define iris_gemm_pipe_begin_f32_star iris_gemm_pipe_begin_f32
#define iris_gemm_acc_f32_star iris_gemm_acc_f32
#define iris_gemm_load_tile_f32_star iris_gemm_load_tile_f32
#define iris_gemm_mma_tile_f32_star iris_gemm_mma_tile_f32
#define iris_gemm_stage_tile_f32_star iris_gemm_stage_tile_f32

#endif
