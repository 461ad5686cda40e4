/* SPDX-License-Identifier: MIT */
/*
 * maps.h: fills a plan's tensor maps, which NVIDIA's copy engine (TMA) reads. A part of init.c.
 *
 *   irisi_gemm_maps
 */
#ifndef IRIS_MAINLOOP_MAPS_H
#define IRIS_MAINLOOP_MAPS_H
#ifdef IRIS_INIT_C

#if defined(IRIS_TARGET_NVIDIA)
#include <iris/mainloop/nvidia/tensor_map.h>
#else
/* The mainloops of this platform use no tensor maps. */
static const char *irisi_gemm_maps(const iris_world *w, iris_gemm_plan *p)
{
    (void)w, (void)p;
    return NULL;
}
#endif

#endif
#endif
