/* SPDX-License-Identifier: MIT */
/*
 * rmsnorm_run.h: a part of init.c: the launch of all-reduce with residual and RMSNorm. collective/launch_rmsnorm.h
 * declares it.
 */
#ifndef IRIS_RUNTIME_RMSNORM_RUN_H
#define IRIS_RUNTIME_RMSNORM_RUN_H
#ifdef IRIS_INIT_C

#include <iris/runtime/collective_run.h>

/* One buffer: there, aligned, and symmetric where schedule `by` wants that. */
static iris_status irisi_rmsnorm_check_buffer(iris_world *w, const char *which, const void *p, size_t bytes,
                                              const char *by)
{
    if (p == NULL || (uintptr_t)p % 16 != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_all_reduce_rmsnorm: %s at %p is null or not 16-byte aligned",
                          which, p);
    if (by != NULL && !iris_is_symmetric(w, p, bytes))
        return irisi_fail(
            w, IRIS_ERR_ARGUMENT,
            "iris_all_reduce_rmsnorm: schedule %s wants %s in the symmetric heap, where its %zu bytes at %p "
            "are not; allocate it with iris_malloc",
            by, which, bytes, p);
    return IRIS_OK;
}

static int irisi_rmsnorm_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Everything that can be wrong on this rank alone. */
static iris_status irisi_rmsnorm_check(iris_world *w, const iris_rmsnorm *a, size_t element,
                                       const irisi_collective_kernel *k)
{
    const char *by = irisi_schedule_name((int)k->schedule), *both = k->dst_symmetric ? by : NULL;
    if (a->columns == 0 || a->columns % 8 != 0 || a->rows > SIZE_MAX / 4 / a->columns)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_all_reduce_rmsnorm: %zu rows of %zu columns cannot be; columns are a multiple of 8",
                          a->rows, a->columns);
    if (irisi_nan_f32(a->epsilon) || irisi_nan_f32(a->scale) || a->epsilon < 0 || a->scale < 0 || a->epsilon > 1e30f ||
        a->scale > 1e30f)
        return irisi_fail(
            w, IRIS_ERR_ARGUMENT,
            "iris_all_reduce_rmsnorm: an epsilon of %g and a scale of %g are not both finite and at least 0",
            (double)a->epsilon, (double)a->scale);
    if (a->rows == 0)
        return IRIS_OK;
    const size_t bytes = a->rows * a->columns * element, out = a->scale > 0 ? a->rows * a->columns : bytes;
    iris_status s = irisi_rmsnorm_check_buffer(w, "src", a->src, bytes, by);
    if (s == IRIS_OK)
        s = irisi_rmsnorm_check_buffer(w, "residual", a->residual, bytes, both);
    if (s == IRIS_OK)
        s = irisi_rmsnorm_check_buffer(w, "out", a->out, out, both);
    if (s == IRIS_OK)
        s = irisi_rmsnorm_check_buffer(w, "weight", a->weight, a->columns * element, NULL);
    if (s != IRIS_OK)
        return s;
    if (irisi_rmsnorm_overlap(a->out, out, a->src, bytes) || irisi_rmsnorm_overlap(a->out, out, a->residual, bytes) ||
        irisi_rmsnorm_overlap(a->src, bytes, a->residual, bytes) ||
        irisi_rmsnorm_overlap(a->out, out, a->weight, a->columns * element))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_all_reduce_rmsnorm: out at %p, residual at %p, src at %p and weight at %p overlap",
                          a->out, a->residual, a->src, a->weight);
    return IRIS_OK;
}

/* One that a group holds. */
typedef struct irisi_held_rmsnorm {
    const iris_channel *ch;
    iris_rmsnorm what;
    iris_dtype dtype;
    const irisi_collective_kernel *kernels;
    iris_schedule schedule;
    iris_team team;
    iris_stream stream;
} irisi_held_rmsnorm;

static iris_status irisi_held_rmsnorm_run(iris_world *w, const void *args)
{
    const irisi_held_rmsnorm *a = (const irisi_held_rmsnorm *)args;
    return irisi_rmsnorm_run(w, a->ch, &a->what, a->dtype, a->kernels, a->schedule, a->team, a->stream);
}

static iris_status irisi_rmsnorm_hold(iris_world *w, const iris_channel *ch, const iris_rmsnorm *what, iris_dtype dtype,
                                      const irisi_collective_kernel *kernels, iris_schedule schedule, iris_team team,
                                      iris_stream stream)
{
    irisi_held_rmsnorm held;
    if (what == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_all_reduce_rmsnorm: what to do is null");
    held.ch = ch, held.what = *what, held.dtype = dtype, held.kernels = kernels;
    held.schedule = schedule, held.team = team, held.stream = stream;
    return irisi_hold(w, "iris_all_reduce_rmsnorm", irisi_held_rmsnorm_run, IRISI_HELD_RETURNS, &held, sizeof held);
}

iris_status irisi_rmsnorm_run(iris_world *w, const iris_channel *ch, const iris_rmsnorm *what, iris_dtype dtype,
                              const irisi_collective_kernel *kernels, iris_schedule schedule, iris_team team,
                              iris_stream stream)
{
    static const irisi_family_row family = {"iris_all_reduce_rmsnorm", 0, 0, 0, 0, 1, 0};
    if (irisi_grouped())
        return irisi_rmsnorm_hold(w, ch, what, dtype, kernels, schedule, team, stream);
    const size_t element = iris_dtype_bytes(dtype);
    irisi_rmsnorm_args args;
    iris_status s = irisi_take_stream(w, family.name, &stream);
    if (s == IRIS_OK)
        s = irisi_collective_check_team(w, &family, &team, 0);
    if (s != IRIS_OK)
        return s;
    if (what == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_all_reduce_rmsnorm: what to do is null");
    const irisi_collective_shape shape = irisi_collective_shape_of(w);
    const size_t all = what->rows * what->columns * element * (size_t)team.size;
    const int chosen = schedule == IRIS_SCHEDULE_AUTO;
    if (chosen)
        schedule = all <= (irisi_on_host(w) ? 2048 : 1 << 20) ? IRIS_SCHEDULE_ONE_SHOT : IRIS_SCHEDULE_TWO_SHOT;
    if (schedule != IRIS_SCHEDULE_ONE_SHOT && schedule != IRIS_SCHEDULE_TWO_SHOT)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "iris_all_reduce_rmsnorm: there is no schedule %s (%d)",
                          irisi_schedule_name((int)schedule), (int)schedule);
    const irisi_collective_kernel *kernel = &kernels[schedule == IRIS_SCHEDULE_TWO_SHOT];
    s = irisi_rmsnorm_check(w, what, element, kernel);
    if (s == IRIS_OK)
        s = irisi_collective_check_channel(w, family.name, ch, team, stream);
    if (s != IRIS_OK)
        return s;
    if (irisi_verbose(w))
        irisi_log(w->rank, IRISI_DEBUG, "%s of %zu rows of %zu %s among %d ranks: schedule %s, %s", family.name,
                  what->rows, what->columns, iris_dtype_name(dtype), (int)team.size, irisi_schedule_name((int)schedule),
                  chosen ? "which the library chose" : "as asked for");
    const uint32_t slices = irisi_some_slices(ch, 1), units = irisi_collective_units(w);
    const uint32_t most = slices < units ? slices : units;
    iris_launch_config cfg = iris_grid(what->rows > 0 && what->rows < most ? (uint32_t)what->rows : most, shape.lanes);
    const size_t each = irisi_rmsnorm_rows(ch, what->rows);
    cfg.shared_bytes = IRIS_RMSNORM_SHARED;
    cfg.flags = irisi_collective_flags(w, cfg.workgroups, irisi_collective_busy(what->rows, each));
    const irisi_collective_whom whom = irisi_collective_whom_of(w, team, 0);
    args.ctx = whom.ctx;
    args.ch = *ch;
    args.team = whom.team;
    args.what = *what;
    return irisi_collective_start(w, ch, team, kernel->kernel, kernel->name, &args, sizeof args, &cfg, stream);
}

#endif
#endif
