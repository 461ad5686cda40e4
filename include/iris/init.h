/* SPDX-License-Identifier: MIT */
/*
 * init.h: all that host code needs: the host API (world.h), teams of any ranks (team.h), memory of others (window.h),
 * overlap.h, trace.h, and typed creation (gen/create.h).
 *
 * init.c, the only file that a user compiles, implements it. The parts of init.c come along where it asks for them, so
 * that the single header holds them too.
 */
#ifndef IRIS_INIT_H
#define IRIS_INIT_H

#include <iris/overlap.h>
#include <iris/team.h>
#include <iris/trace.h>
#include <iris/window.h>
#include <iris/world.h>

#ifdef IRIS_INIT_C
#include <iris/arch/runtime.h>
#include <iris/runtime/group.h>
#include <iris/runtime/heap_import.h>
#include <iris/runtime/rendezvous.h>
#include <iris/runtime/team.h>
#include <iris/runtime/window.h>
#include <iris/runtime/report.h>

#include <iris/collective/launch.h>
#include <iris/runtime/collective_run.h>
#include <iris/on_stream.h>
#include <iris/runtime/on_stream_run.h>
#include <iris/gemm/prepare.h>
#include <iris/runtime/gemm/make.h>
#include <iris/runtime/gemm/search.h>
#include <iris/runtime/gemm/set_rows.h>
#include <iris/collective/launch_rmsnorm.h>
#include <iris/runtime/rmsnorm_run.h>
#include <iris/runtime/overlap.h>
#include <iris/runtime/tensor.h>
#include <iris/runtime/tensor_text.h>
#include <iris/gemm/tensors.h>
#include <iris/runtime/gemm/tensors.h>
#include <iris/runtime/tensor_reshard.h>
#include <iris/runtime/trace.h>
#include <iris/dlpack.h>
#include <iris/runtime/dlpack.h>
#else
#include <iris/gen/create.h>
#endif

#endif
