/* SPDX-License-Identifier: MIT */
/*
 * trace.h: a part of init.c: beginning and ending traces, and fetching what the ranks have written.
 *
 *   iris_trace_start iris_trace_stop iris_trace_name iris_trace_write iris_trace_overlap
 *   irisi_trace_begin_all irisi_trace_end_all       what IRIS_TRACE in the environment asks for
 *   irisi_trace_resume                              after iris_reset
 */
#ifndef IRIS_RUNTIME_TRACE_H
#define IRIS_RUNTIME_TRACE_H
#ifdef IRIS_INIT_C

#include <iris/runtime/control_link.h>
#include <iris/runtime/team.h>
#include <iris/runtime/trace_file.h>
#include <iris/signal.h>

enum { IRISI_TRACE_ROUNDS = 128, IRISI_TRACE_WORKGROUPS = 512, IRISI_TRACE_EVENTS = 256 };

static const char *irisi_bare(const char *text); /* init.c */

/* The state of a world's traces. */
typedef struct irisi_tracer {
    uint32_t rings, capacity;
    char *memory;               /* the rings, in the heap; null: there is no trace */
    iris_signal *signals;       /* [0]: rank 0 asks; [r]: rank r answers */
    irisi_clock_sample *samples;
    irisi_clock_fit (*fits)[2]; /* of every rank */
    uint32_t rounds; /* asked so far: signals count up */
    int on;
    irisi_trace_range ranges[IRIS_TRACE_NAMES];
} irisi_tracer;

static inline size_t irisi_trace_bytes(const irisi_tracer *t)
{
    return (size_t)t->rings * (size_t)irisi_trace_ring_bytes(t->capacity);
}

#if IRIS_HAS_DEVICE

/* What a rank's lane needs to compare clocks. `peer`: 0 on the others. */
typedef struct irisi_trace_clock_args {
    iris_ctx ctx;
    iris_signal *signals;
    irisi_clock_sample *samples;
    int peer;
    uint32_t base;
} irisi_trace_clock_args;

IRIS_KERNEL(irisi_trace_clock_kernel, irisi_trace_clock_args, a, 64)
{
    if (iris_grid_lane() != 0)
        return;
    uint64_t seen = a->ctx.rank == 0 ? irisi_poll(&a->signals[a->peer].value) : 0;
    for (uint32_t i = 0; i < IRISI_TRACE_ROUNDS && !iris_stopped(&a->ctx); i++) {
        if (a->ctx.rank == 0) {
            const uint64_t before = iris_clock();
            irisi_raise_at(irisi_signal_at(&a->ctx, a->signals, a->peer), a->base + i + 1, IRIS_SIGNAL_SET);
            seen = irisi_wait_signal(&a->ctx, a->signals + a->peer, IRISI_NE, seen, a->peer);
            a->samples[i].after = iris_clock();
            a->samples[i].before = before, a->samples[i].there = seen;
        } else {
            irisi_wait_signal(&a->ctx, a->signals, IRISI_GE, a->base + i + 1, 0);
            uint64_t now = iris_clock();
            for (; now == seen; now = iris_clock()) /* an answer is another number than the one before */
                continue;
            seen = now;
            irisi_raise_at(irisi_signal_at(&a->ctx, a->signals + a->ctx.rank, 0), now, IRIS_SIGNAL_SET);
        }
    }
}

/* Rank 0 and each other rank in turn; then all know all. `which`: before the trace, or after. */
static iris_status irisi_trace_compare(iris_world *w, int which)
{
    irisi_tracer *t = w->tracer;
    iris_status status = IRIS_OK;
    irisi_clock_sample samples[IRISI_TRACE_ROUNDS];
    irisi_clock_fit *fits = (irisi_clock_fit *)calloc((size_t)w->size, sizeof *fits);
    if (!fits)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace: no memory for %d clocks", w->size);
    for (int r = 1; r < w->size && status == IRIS_OK; r++) {
        if (w->rank != 0 && w->rank != r)
            continue;
        irisi_trace_clock_args args;
        memset((void *)&args, 0, sizeof args);
        args.ctx = iris_device_ctx(w);
        args.signals = t->signals;
        args.samples = t->samples;
        args.peer = w->rank == 0 ? r : 0;
        args.base = t->rounds;
        const iris_launch_config one = iris_grid(1, 1);
        const irisi_launched oldest = w->launched[w->launches % IRISI_LAUNCHES];
        const uint32_t launches = w->launches;
        status = irisi_launch(w, IRISI_KERNEL_PTR(irisi_trace_clock_kernel), "iris_trace's clocks", &args, sizeof args,
                              &one, w->stream);
        if (status == IRIS_OK)
            status = iris_synchronize(w);
        w->launches = launches; /* no later report means this kernel: its reader knows nothing of it */
        w->launched[launches % IRISI_LAUNCHES] = oldest;
        if (status == IRIS_OK && w->rank == 0)
            status = iris_memcpy(w, samples, t->samples, sizeof samples);
        if (status == IRIS_OK && w->rank == 0)
            fits[r] = irisi_clock_best(samples, IRISI_TRACE_ROUNDS);
    }
    t->rounds += IRISI_TRACE_ROUNDS;
    if (status == IRIS_OK)
        status = iris_broadcast(w, fits, (size_t)w->size * sizeof *fits, 0);
    for (int r = 0; r < w->size && status == IRIS_OK; r++) {
        t->fits[r][which] = fits[r];
        if (which == 0)
            t->fits[r][1] = fits[r];
    }
    free(fits);
    return status;
}

/* Tells kernels where the rings are, or that no trace is on; how large they are stays. */
static const char *irisi_trace_tell(iris_world *w, int on)
{
    const irisi_tracer *t = w->tracer;
    const uint64_t words[2] = {on ? (uint64_t)(uintptr_t)t->memory : 0, (uint64_t)t->capacity << 32 | t->rings};
    return irisi_dev_copy(&w->dev, w->control->trace, words, sizeof words, w->stream); /* of irisi_control */
}

/* Kernels write from here on, or no more. */
static iris_status irisi_trace_switch(iris_world *w, int on)
{
    const char *why = irisi_trace_tell(w, on);
    w->tracer->on = on && !why;
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "iris_trace: %s", why) : IRIS_OK;
}

static void irisi_trace_drop(iris_world *w)
{
    irisi_tracer *t = w->tracer;
    if (t->signals)
        iris_free(w, t->signals);
    if (t->memory)
        iris_free(w, t->memory);
    t->signals = NULL, t->memory = NULL;
}

/* The state, made when first asked for; null without memory. */
static irisi_tracer *irisi_tracer_of(iris_world *w)
{
    if (!w->tracer) {
        w->tracer = (irisi_tracer *)calloc(1, sizeof *w->tracer);
        if (w->tracer)
            w->tracer->fits = (irisi_clock_fit(*)[2])calloc((size_t)w->size, sizeof *w->tracer->fits);
        for (int i = 0; w->tracer && i < IRIS_TRACE_NAMES; i++)
            w->tracer->ranges[i].span = IRIS_TRACE_NO_SPAN;
    }
    return w->tracer && w->tracer->fits ? w->tracer : NULL;
}

iris_status iris_trace_start(iris_world *w, const iris_trace_options *options)
{
    iris_status status = irisi_enter(w, "iris_trace_start");
    if (status != IRIS_OK)
        return status;
    const uint32_t rings = options && options->workgroups ? options->workgroups : (uint32_t)IRISI_TRACE_WORKGROUPS;
    const uint32_t events = options && options->events ? options->events : (uint32_t)IRISI_TRACE_EVENTS;
    if (rings > 65536 || events > 1u << 20 || (events & (events - 1)) != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_trace_start: %u workgroups and %u events; at most 65536 workgroups, and a power of two "
                          "of events up to 1048576",
                          rings, events);
    irisi_tracer *t = irisi_tracer_of(w);
    if (!t)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_start: no memory for the trace of %d ranks", w->size);
    status = iris_synchronize(w); /* who writes into the rings of the trace before is done */
    if (status == IRIS_OK)
        status = irisi_trace_switch(w, 0);
    if (status != IRIS_OK)
        return status;
    irisi_trace_drop(w);
    t->rounds = 0;
    t->rings = rings, t->capacity = events;
    const size_t bytes = irisi_trace_bytes(t), samples = IRISI_TRACE_ROUNDS * sizeof *t->samples;
    const iris_status pending = w->pending;
    const int stays = w->pending_stays;
    t->memory = (char *)irisi_malloc_by(w, "iris_trace_start", bytes + samples, 128, IRIS_MEM_DATA);
    t->signals = iris_signals(w, (size_t)w->size);
    w->pending_stays = stays;
    w->pending = pending; /* iris_trace_start says it itself, so the next barrier need not */
    if (!t->memory || !t->signals) {
        status = w->last;
        irisi_trace_drop(w);
        return status;
    }
    t->samples = (irisi_clock_sample *)(void *)(t->memory + bytes);
    status = iris_memset(w, t->memory, 0, bytes + samples);
    if (status == IRIS_OK)
        status = iris_barrier(w); /* signals are there on every rank */
    if (status == IRIS_OK)
        status = irisi_trace_compare(w, 0);
    if (status == IRIS_OK)
        status = irisi_trace_switch(w, 1);
    return status == IRIS_OK ? iris_barrier(w) : status;
}

iris_status iris_trace_stop(iris_world *w)
{
    iris_status status = irisi_enter(w, "iris_trace_stop");
    if (status != IRIS_OK)
        return status;
    if (!w->tracer || !w->tracer->on)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_trace_stop: no trace is on; call iris_trace_start first");
    status = iris_barrier(w); /* a kernel that hangs is not told as a clock that does */
    if (status == IRIS_OK)
        status = irisi_trace_switch(w, 0);
    return status == IRIS_OK ? irisi_trace_compare(w, 1) : status;
}

/* iris_reset zeroes the control block and the signals. */
static const char *irisi_trace_resume(iris_world *w)
{
    if (w->tracer)
        w->tracer->rounds = 0;
    return w->tracer && w->tracer->on ? irisi_trace_tell(w, 1) : NULL;
}

iris_status iris_trace_name(iris_world *w, uint32_t id, const char *name, int span)
{
    if (!w)
        return irisi_fail(NULL, IRIS_ERR_ARGUMENT, "iris_trace_name: the world is null");
    if (id >= IRIS_TRACE_NAMES || !name || strlen(name) >= IRIS_TRACE_NAME_BYTES)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_trace_name: id %u, name %.60s; ids are below %d, names shorter than %d bytes", id,
                          name ? name : "null", IRIS_TRACE_NAMES, IRIS_TRACE_NAME_BYTES);
    if (span != IRIS_SPAN_COMPUTE && span != IRIS_SPAN_COMMUNICATE && span != IRIS_TRACE_NO_SPAN)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_trace_name: span %d; give IRIS_SPAN_COMPUTE, IRIS_SPAN_COMMUNICATE or "
                          "IRIS_TRACE_NO_SPAN",
                          span);
    irisi_tracer *t = irisi_tracer_of(w);
    if (!t)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_name: no memory");
    snprintf(t->ranges[id].name, sizeof t->ranges[id].name, "%s", name);
    t->ranges[id].span = span;
    return IRIS_OK;
}

/* This rank's events, on the host; also in a world that has stopped. */
static iris_status irisi_trace_fetch(iris_world *w, const char *call, irisi_trace_rank *rank)
{
    irisi_tracer *t = w->tracer;
    const size_t bytes = irisi_trace_bytes(t);
    char *copy = (char *)malloc(bytes);
    rank->events = (iris_trace_event *)malloc(bytes);
    rank->n = 0, rank->lost = 0;
    const int room = copy && rank->events;
    const char *why = !room ? "no memory on the host" : irisi_dev_synchronize(&w->dev);
    if (!why)
        why = irisi_dev_copy(&w->dev, copy, t->memory, bytes, w->stream);
    for (uint32_t i = 0; !why && i < t->rings; i++) {
        uint64_t *count = (uint64_t *)(void *)(copy + i * irisi_trace_ring_bytes(t->capacity));
        const iris_trace_event *ring = irisi_trace_events(count);
        rank->n += irisi_trace_keep(rank->events + rank->n, ring, *count, t->capacity, &rank->lost);
    }
    free(copy);
    for (size_t i = 0; !why && i < rank->n; i++) { /* of a team its number in the world */
        iris_trace_event *e = rank->events + i;
        const irisi_team *list = irisi_team_numbered(w, e->team);
        if (list && e->peer >= 0 && e->peer < list->size)
            e->peer = list->ranks[e->peer];
    }
    if (!why)
        return IRIS_OK;
    free(rank->events), rank->events = NULL;
    return irisi_fail(w, room ? IRIS_ERR_DEVICE : IRIS_ERR_NOMEM, "%s: %s", call, why);
}

/* Writes some ranks' events to a file. */
static iris_status irisi_trace_save(iris_world *w, const char *path, irisi_trace_rank *ranks, int first, int n)
{
    char device[200];
    snprintf(device, sizeof device, "%s (%s)", w->dev.name, w->dev.arch);
    const uint32_t shift = strncmp(w->dev.arch, "gfx", 3) == 0 ? 8 : 0;
    irisi_trace_log log = {first, n, ranks, (double)w->dev.clock_hz / 1e6, shift,
                           device, w->tracer->ranges};
    unsigned long long events = 0, lost = 0;
    for (int i = 0; i < n; i++) {
        memcpy(ranks[i].fits, w->tracer->fits[first + i], sizeof ranks[i].fits);
        events += ranks[i].n, lost += ranks[i].lost;
    }
    irisi_log(w->rank, IRISI_INFO, "trace of %d ranks: %llu events, %llu lost, into %.200s", n, events, lost,
              path ? path : "null");
    FILE *f = path && *path ? fopen(path, "w") : NULL;
    if (!f)
        return irisi_fail(w, IRIS_ERR_SYSTEM, "iris_trace_write: cannot write %.200s: %s", path ? path : "null",
                          path && *path ? strerror(errno) : "give a path");
    if (events == 0 && w->failed == IRIS_OK)
        irisi_warn("iris_trace_write: the trace has no events; compile files with kernels with -DIRIS_TRACE=1, and "
                   "launch them while it is on");
    const int printed = irisi_trace_print(f, &log), broken = ferror(f);
    if (fclose(f) != 0 || broken)
        return irisi_fail(w, IRIS_ERR_SYSTEM, "iris_trace_write: cannot write all of %.200s: %s", path,
                          strerror(errno));
    return printed ? IRIS_OK : irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_write: no memory on the host");
}

/* Rank 0 gets what all have: in turn each rank tells everyone, and the others forget it. */
static iris_status irisi_trace_collect(iris_world *w, irisi_trace_rank *own, irisi_trace_rank *all)
{
    void *heard = NULL;
    const uint64_t mine[2] = {own->n, own->lost};
    iris_status status = irisi_hear_all(w, "iris_trace_write", mine, sizeof mine, &heard);
    const uint64_t(*counts)[2] = (const uint64_t(*)[2])heard;
    size_t most = 1;
    for (int r = 0; r < w->size && status == IRIS_OK; r++) {
        all[r].n = counts[r][0], all[r].lost = counts[r][1];
        most = all[r].n > most ? all[r].n : most;
    }
    free(heard);
    if (status != IRIS_OK)
        return status;
    iris_trace_event *others = w->rank == 0 ? NULL : (iris_trace_event *)malloc(most * sizeof *others);
    int room = w->rank == 0 || others != NULL;
    for (int r = 0; r < w->size; r++) {
        all[r].events = r == w->rank   ? own->events
                        : w->rank == 0 ? (iris_trace_event *)malloc((all[r].n + 1) * sizeof *others)
                                       : NULL;
        room = room && (w->rank != 0 || all[r].events);
    }
    status = irisi_agree(w, IRISI_ALLGATHER,
                         room ? IRIS_OK : irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_write: no memory for events"));
    for (int r = 0; r < w->size && status == IRIS_OK; r++)
        if (all[r].n > 0)
            status = iris_broadcast(w, all[r].events ? all[r].events : others, all[r].n * sizeof *others, r);
    free(others);
    return status;
}

/* `fetched`: whether this rank has its own events. */
static iris_status irisi_trace_write_all(iris_world *w, const char *path, irisi_trace_rank *own, iris_status fetched)
{
    irisi_trace_rank *all = (irisi_trace_rank *)calloc((size_t)w->size, sizeof *all);
    if (!all && fetched == IRIS_OK)
        fetched = irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_write: no memory on the host");
    iris_status status = irisi_agree(w, IRISI_ALLGATHER, fetched);
    if (status == IRIS_OK)
        status = irisi_trace_collect(w, own, all);
    if (status == IRIS_OK)
        status = irisi_agree(w, IRISI_ALLGATHER, w->rank == 0 ? irisi_trace_save(w, path, all, 0, w->size) : IRIS_OK);
    for (int r = 0; all && r < w->size; r++)
        if (r != w->rank)
            free(all[r].events);
    free(all);
    return status;
}

iris_status iris_trace_write(iris_world *w, const char *path)
{
    irisi_trace_rank own;
    iris_status status = irisi_enter(w, "iris_trace_write");
    if (!w || irisi_foreign(w) || irisi_grouped())
        return status;
    if (!w->tracer || !w->tracer->memory)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_trace_write: there is no trace; call iris_trace_start first");
    if (status == IRIS_OK)
        status = iris_barrier(w); /* as in iris_trace_stop */
    if (status == IRIS_OK && w->tracer->on) {
        status = irisi_trace_switch(w, 0); /* what follows is not part of it */
        if (status == IRIS_OK)
            status = irisi_trace_compare(w, 1);
        const iris_status on = irisi_trace_switch(w, 1);
        status = status == IRIS_OK ? on : status;
    }
    const iris_status stopped = w->failed;
    if (status != IRIS_OK && stopped == IRIS_OK)
        return status;
    status = irisi_trace_fetch(w, "iris_trace_write", &own);
    if (stopped == IRIS_OK) {
        status = irisi_trace_write_all(w, path, &own, status);
    } else if (status == IRIS_OK) {
        char name[4200]; /* longer than any path that a system takes */
        snprintf(name, sizeof name, "%s.rank%d", path ? path : "", w->rank);
        status = irisi_trace_save(w, path && *path ? name : path, &own, w->rank, 1);
    }
    free(own.events);
    return status;
}

/* What a kind of event counts as. */
static int irisi_trace_span(const irisi_tracer *t, const iris_trace_event *e)
{
    if (e->kind == IRIS_TRACE_RANGE)
        return e->id < IRIS_TRACE_NAMES ? t->ranges[e->id].span : IRIS_TRACE_NO_SPAN;
    return e->kind == IRIS_TRACE_GEMM_COMPUTE || e->kind == IRIS_TRACE_GEMM_STAGE ? IRIS_SPAN_COMPUTE
                                                                                 : IRIS_SPAN_COMMUNICATE;
}

iris_status iris_trace_overlap(iris_world *w, iris_overlap *result, uint64_t *lost)
{
    irisi_trace_rank own;
    iris_status status = irisi_enter(w, "iris_trace_overlap");
    if (result)
        memset(result, 0, sizeof *result);
    if (status != IRIS_OK)
        return status;
    if (!result)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_trace_overlap: result is null");
    if (!w->tracer || !w->tracer->memory)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_trace_overlap: there is no trace; call iris_trace_start first");
    status = iris_synchronize(w);
    if (status == IRIS_OK)
        status = irisi_trace_fetch(w, "iris_trace_overlap", &own);
    if (status != IRIS_OK)
        return status;
    iris_span *spans = (iris_span *)malloc((own.n + 1) * sizeof *spans);
    size_t n = 0;
    for (size_t i = 0; i < own.n && spans; i++) {
        const iris_span span = {own.events[i].begin, own.events[i].end,
                                (uint32_t)irisi_trace_span(w->tracer, own.events + i), 0};
        if (span.kind != IRIS_TRACE_NO_SPAN)
            spans[n++] = span;
    }
    status = spans ? iris_overlap_report(spans, n, result)
                   : irisi_fail(w, IRIS_ERR_NOMEM, "iris_trace_overlap: no memory on the host");
    if (lost)
        *lost = own.lost;
    free(spans), free(own.events);
    return status;
}

#else

/* Clocks are compared by a kernel, which init.c has not got. */
static iris_status irisi_trace_absent(iris_world *w, const char *call)
{
    return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                      "%s: init.c holds no kernels; compile it as CUDA (-x cu) or HIP (-x hip)", call);
}
iris_status iris_trace_start(iris_world *w, const iris_trace_options *options)
{
    (void)options;
    return irisi_trace_absent(w, "iris_trace_start");
}
iris_status iris_trace_stop(iris_world *w) { return irisi_trace_absent(w, "iris_trace_stop"); }
iris_status iris_trace_name(iris_world *w, uint32_t id, const char *name, int span)
{
    (void)id, (void)name, (void)span;
    return irisi_trace_absent(w, "iris_trace_name");
}
iris_status iris_trace_write(iris_world *w, const char *path)
{
    (void)path;
    return irisi_trace_absent(w, "iris_trace_write");
}
iris_status iris_trace_overlap(iris_world *w, iris_overlap *result, uint64_t *lost)
{
    (void)result, (void)lost;
    return irisi_trace_absent(w, "iris_trace_overlap");
}
static const char *irisi_trace_resume(iris_world *w) { return (void)w, (const char *)NULL; }

#endif

/* IRIS_TRACE in the environment names a file: the whole program is traced. A trace that fails does not stop it. */
static void irisi_trace_begin_all(iris_world *w)
{
    const char *path = getenv("IRIS_TRACE");
    if (!path || !*path)
        return;
    if (iris_trace_start(w, NULL) != IRIS_OK && w->rank == 0)
        irisi_warn("IRIS_TRACE=%.100s: %s", path, irisi_bare(w->error));
}
static void irisi_trace_end_all(iris_world *w)
{
    const char *path = getenv("IRIS_TRACE");
    if (!path || !*path || !w->tracer || !w->tracer->memory)
        return; /* what was wrong has been said */
    if (iris_trace_write(w, path) != IRIS_OK && w->rank == 0)
        irisi_warn("IRIS_TRACE=%.100s: %s", path, irisi_bare(w->error));
}

#endif
#endif
