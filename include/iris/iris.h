/* SPDX-License-Identifier: MIT */
/*
 * iris.h: the one include for kernels. Several GPUs, programmed as one.
 *
 * A symmetric heap gives every rank the same layout, so any object on any other rank is one addition away. On that
 * stand, from small to large:
 *
 *   iris_load_f32 iris_store_f32            one element a lane                       <iris/gen/load_store.h>
 *   iris_put_f32_wg iris_get_f32_wg         many elements, any alignment             <iris/gen/rma.h>
 *   iris_put_cache_f32_wg                   the same with cache hints                <iris/gen/rma_cache.h>
 *   iris_put_2d_f32_wg                      rows that are a pitch apart              <iris/gen/rma_2d.h>
 *   iris_window_at                          the same in memory that others allocated <iris/window.h>
 *   iris_atomic_add_u64                     every order and scope                    <iris/gen/atomic.h>
 *   iris_signal_add_wg iris_wait_ge_wg      release here, acquire there              <iris/signal.h> <iris/gen/wait.h>
 *   iris_put_signal_f32_wg                  data, then signal                        <iris/gen/put_signal.h>
 *   iris_put_signal_2d_f32_wg               rows, then signal                        <iris/gen/put_signal_2d.h>
 *   iris_stopped iris_stopped_wg            for loops that end by what they receive  <iris/signal.h>
 *   iris_ll_put_wg iris_ll_get_wg           short messages whose flag travels along  <iris/collective/ll.h>
 *   iris_barrier_all_wg iris_channel_enter_wg   state that is used again and again   <iris/barrier.h>
 *   iris_all_reduce_ll_sum_bf16             collectives: by a grid, or by a workgroup  <iris/gen/all_reduce_ll.h> …
 *   iris_all_reduce_sum_bf16                the same on a stream                     <iris/gen/launch/all_reduce.h> …
 *   iris_gemm_all_scatter_bf16              a GEMM that overlaps its communication   <iris/gen/launch/…>
 *
 * Each name ends in its element type and then in who calls it: one lane (no suffix), _wave or _wg. The host side
 * (starting, heap, streams, launches) is <iris/init.h> with init.c, the one file to compile.
 *
 * The order to keep in mind: put, then signal; wait, then use. docs/memory-model.md has the rest.
 */
#ifndef IRIS_IRIS_H
#define IRIS_IRIS_H

#include <iris/arch/select.h>

#include <iris/dtype.h>
#include <iris/op.h>

#include <iris/ctx.h>
#include <iris/memory.h>
#include <iris/signal.h>

#include <iris/gen/bits.h>
#include <iris/gen/load_store.h>
#include <iris/gen/wait.h>

#include <iris/atomic.h>
#include <iris/bytes.h>
#include <iris/gen/atomic.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>

#include <iris/barrier.h>
#include <iris/channel.h>
#include <iris/collective/ll.h>

#endif
