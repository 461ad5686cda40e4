/* SPDX-License-Identifier: MIT */
/*
 * shape.h: what the host must know about this platform's GEMM kernels: mainloop/<platform>/gemm_shape.h.
 *
 *   IRISI_GEMM_WAVE_LANES                                    lanes of a wave, as a launch counts them
 *   IRISI_GEMM_MOST_LANES                                    most lanes of a workgroup without communication waves
 *   IRISI_GEMM_LANES IRISI_GEMM_LANES_WITH_COMM              of a workgroup of the plain loop; other loops add a suffix
 *   irisi_gemm_largest_tile(mainloop, element)               the largest tile, for elements of so many bytes
 *   irisi_gemm_pick(arch, problem)                           the mainloop and its shape
 *   irisi_gemm_image_of(arch, dtype, tf32)                   the mainloop that only images for this device have
 *   irisi_gemm_xcds(arch, units)                             chiplets that workgroups are dealt to in turn
 *   IRISI_GEMM_MOST_PITCH irisi_gemm_pass_m(mainloop, tile_m)
 *   irisi_gemm_narrowest(mainloop)                           columns that tiles may be cut to; 0: they are not cut
 *   irisi_gemm_most_cluster(mainloop) irisi_gemm_most_split_k(mainloop)  workgroups that share B; splits of K
 *   irisi_gemm_can_pair_split_k(plan)                        1 when a cluster may compute halves of full tiles together
 *   irisi_gemm_tma_forwards(plan)                            1 when workgroups that only send use the copy engine
 *   IRISI_GEMM_PARTIAL_BYTES                                 room for the sums of one position, where K is cut
 *   irisi_gemm_tile_us(mainloop, cluster, split_k, rows, columns, k, flagged)  about how long a tile takes
 *   irisi_gemm_pair_split_k_us(mainloop, rows, columns, k, flagged)    the same of a half that a cluster computes
 *   irisi_gemm_senders_us()                                  about how much later a tile arrives by sending workgroups
 *   irisi_gemm_memory_us(bytes)                              about how long the device's memory takes to read so many
 *   irisi_gemm_link_gbps(workgroups, tma_store, peers)       about how fast so many workgroups send to all other ranks
 *   irisi_gemm_rates_of(plan)                                about what a device reaches where tiles are not cut
 *
 * No device code: init.c includes it in plain C.
 */
#ifndef IRIS_MAINLOOP_SHAPE_H
#define IRIS_MAINLOOP_SHAPE_H

#include <iris/mainloop/problem.h>

#if defined(IRIS_TARGET_NVIDIA)
#include <iris/mainloop/nvidia/gemm_shape.h>
#elif defined(IRIS_TARGET_AMD)
#include <iris/mainloop/amd/gemm_shape.h>
#else
#include <iris/mainloop/host/gemm_shape.h>
#endif

/* Bytes from row to row of A and B up to which mainloops other than the plain one may be chosen. */
#if !defined(IRISI_GEMM_MOST_PITCH)
#define IRISI_GEMM_MOST_PITCH UINT64_MAX
#endif

#if !defined(IRISI_GEMM_HAS_IMAGES)
/* No mainloop of this platform needs an image made for one device. */
static inline irisi_gemm_image irisi_gemm_image_of(const char *arch, uint32_t dtype, uint32_t tf32)
{
    const irisi_gemm_image none = {IRISI_GEMM_PLAIN, ""};
    return (void)arch, (void)dtype, (void)tf32, none;
}
#endif

#if !defined(IRISI_GEMM_HAS_WIDTHS)
/* Tiles of these mainloops all have one width: the search for widths, which asks for these times, does not run. */
static inline uint32_t irisi_gemm_narrowest(uint32_t mainloop) { return (void)mainloop, 0; }
enum { IRISI_GEMM_PARTIAL_BYTES = 0, IRISI_GEMM_PARTIAL_BYTE = 0 };
static inline uint32_t irisi_gemm_can_pair_split_k(const iris_gemm_plan *plan) { return (void)plan, 0; }
static inline uint32_t irisi_gemm_tma_forwards(const iris_gemm_plan *plan) { return (void)plan, 0; }
static inline uint32_t irisi_gemm_most_cluster(uint32_t mainloop) { return (void)mainloop, 1; }
static inline uint32_t irisi_gemm_most_split_k(uint32_t mainloop) { return (void)mainloop, 1; }
static inline double irisi_gemm_tile_us(uint32_t mainloop, uint32_t cluster, uint32_t split_k, uint32_t rows,
                                        uint32_t columns, uint32_t k, int flagged)
{
    return (void)mainloop, (void)cluster, (void)rows, (void)flagged, (double)columns * k / split_k;
}
static inline double irisi_gemm_pair_split_k_us(uint32_t mainloop, uint32_t rows, uint32_t columns, uint32_t k,
                                                int flagged)
{
    return irisi_gemm_tile_us(mainloop, 1, 1, rows, columns, k, flagged);
}
static inline double irisi_gemm_senders_us(void) { return 0; }
static inline double irisi_gemm_memory_us(double bytes) { return (void)bytes, 0; }
static inline double irisi_gemm_link_gbps(uint32_t workgroups, int tma_store, uint32_t peers)
{
    return (void)tma_store, (void)peers, workgroups;
}
#endif

#if !defined(IRISI_GEMM_HAS_RATES)
/* No rates are known: on the host all ranks' workgroups share the cores, and memory is the link. */
static inline irisi_gemm_rates irisi_gemm_rates_of(const iris_gemm_plan *plan)
{
    irisi_gemm_rates none = {0, 0, 0, 0, 0, 0, 0, 0};
    return (void)plan, none;
}
#endif

#if !defined(IRISI_GEMM_HAS_PASSES)
/* Rows that math waves beside communication waves compute at a time: here all of a tile's. */
static inline uint32_t irisi_gemm_pass_m(uint32_t mainloop, uint32_t tile_m) { return (void)mainloop, tile_m; }
#endif

#endif
