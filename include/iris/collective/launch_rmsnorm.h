/* SPDX-License-Identifier: MIT */
/*
 * launch_rmsnorm.h: all-reduce with residual and RMSNorm from the host: what its launchers in gen/launch/ call.
 *
 *   irisi_rmsnorm_run
 *
 * Implemented by init.c.
 */
#ifndef IRIS_COLLECTIVE_LAUNCH_RMSNORM_H
#define IRIS_COLLECTIVE_LAUNCH_RMSNORM_H

#include <iris/collective/launch.h>
#include <iris/collective/rmsnorm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What its kernels take. */
typedef struct irisi_rmsnorm_args {
    iris_ctx ctx;
    iris_channel ch;
    iris_team team;
    iris_rmsnorm what;
} irisi_rmsnorm_args;

/* Checks it and launches one of two kernels: one_shot, two_shot. */
iris_status irisi_rmsnorm_run(iris_world *w, const iris_channel *ch, const iris_rmsnorm *what, iris_dtype dtype,
                              const irisi_collective_kernel *kernels, iris_schedule schedule, iris_team team,
                              iris_stream stream);

#ifdef __cplusplus
}
#endif

#endif
