/* SPDX-License-Identifier: MIT */
/*
 * tiles.c: what becomes of a finished tile where an engine copies it, for check.py. Like kernels.c, never linked.
 */
#include <iris/iris.h>

#include <iris/gemm/tile.h>

typedef struct isa_args {
    iris_ctx ctx;
    iris_gemm_plan plan;
} isa_args;

/* Fenced before the engine reads the staging tile, arrived everywhere before the signal. */
IRIS_KERNEL(isa_tile_put, isa_args, a, 256)
{
    iris_wave_group group = iris_wave_group_all();
    iris_tile tile;
    uint32_t n = 0;
    for (iris_tile_begin(&a->plan, &tile, 0, 1); iris_tile_next(&a->plan, &tile);) {
        char *stage = iris_tile_stage(&a->plan, (char *)iris_shared(), n++, &group);
        ((float *)(void *)stage)[iris_wg_lane()] = 1;
        iris_tile_staged(&a->plan, &group);
        iris_tile_put_all(&a->ctx, &a->plan, &tile, stage, &group);
        iris_tile_notify(&a->ctx, &a->plan, &tile, &group);
    }
}
