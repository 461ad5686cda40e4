/* SPDX-License-Identifier: MIT */
/*
 * tensor_reshard.h: a part of init.c: how a tensor gets into another layout. include/iris/tensor_reshard.h declares it.
 *
 *   irisi_tensor_way irisi_tensor_choose irisi_tensor_reshard_run
 */
#ifndef IRIS_RUNTIME_TENSOR_RESHARD_H
#define IRIS_RUNTIME_TENSOR_RESHARD_H
#ifdef IRIS_INIT_C

#include <iris/runtime/collective_run.h>
#include <iris/runtime/tensor.h>
#include <iris/tensor_reshard.h>

typedef enum irisi_tensor_way {
    IRISI_TENSOR_COPY,       /* every rank has what it needs */
    IRISI_TENSOR_ALL_GATHER, /* everybody's shard, in rank order, on every rank */
    IRISI_TENSOR_ALL_TO_ALL, /* row r of everybody's shard, in rank order, on rank r */
    IRISI_TENSOR_PIECES,
    IRISI_TENSOR_KEEP,           /* dst is partial: every rank keeps what it has, and zeroes for all else */
    IRISI_TENSOR_ALL_REDUCE,     /* the sum of everybody's shard, on every rank */
    IRISI_TENSOR_REDUCE_SCATTER, /* the sum of row r of everybody's shard, on rank r */
    IRISI_TENSOR_SUMS            /* pieces of partial sums, added up by whoever needs them */
} irisi_tensor_way;

static const char *const irisi_tensor_ways[] = {
    "copies", "all_gather", "all_to_all", "pieces", "own parts, and zeroes", "all_reduce", "reduce_scatter",
    "pieces of partial sums"};

/* The shard of src that `reader` reads from place `member` of a copy. */
static iris_tensor_shard irisi_tensor_read_from(const iris_tensor *src, int reader, int member, int *rank)
{
    const int own = iris_tensor_member(src, reader), first = own < 0 ? 0 : own / src->members * src->members;
    *rank = src->team.start + (first + member) * src->team.stride;
    return iris_tensor_shard_of(src, *rank);
}

/* What two shards share; how many elements. */
static int64_t irisi_tensor_common(const iris_tensor_shard *a, const iris_tensor_shard *b, iris_tensor_shard *both)
{
    int64_t n = 1;
    for (int d = 0; d < IRIS_TENSOR_DIMS; d++) {
        const int64_t end_a = a->first[d] + a->count[d], end_b = b->first[d] + b->count[d];
        const int64_t end = end_a < end_b ? end_a : end_b;
        both->first[d] = a->first[d] > b->first[d] ? a->first[d] : b->first[d];
        both->count[d] = end > both->first[d] ? end - both->first[d] : 0;
        n *= both->count[d];
    }
    return n;
}

/* Where a box of a shard begins, in elements, if it lies there in row-major order without gaps; else -1. */
static int64_t irisi_tensor_dense(const iris_tensor *t, const iris_tensor_shard *shard, const iris_tensor_shard *box)
{
    int64_t at = 0, packed = 1;
    for (int d = t->dims - 1; d >= 0; d--) {
        if (box->count[d] > 1 && t->dim[d].stride != packed)
            return -1;
        packed *= box->count[d];
        at += (box->first[d] - shard->first[d]) * t->dim[d].stride;
    }
    return at;
}

/* Whether rank `reader` finds in every other rank's shard of src what that collective would bring. */
static int irisi_tensor_is_row(const iris_tensor *dst, const iris_tensor *src, int reader, int writer, int to_all,
                               int64_t n)
{
    const iris_tensor_shard to = iris_tensor_shard_of(dst, reader), from = iris_tensor_shard_of(src, writer);
    iris_tensor_shard both;
    return irisi_tensor_common(&to, &from, &both) == n &&
           irisi_tensor_dense(src, &from, &both) == (to_all ? reader * n : 0) &&
           irisi_tensor_dense(dst, &to, &both) == writer * n;
}

/* Whether the collective of rows of n elements does it. Each rank comes to the same answer. */
static int irisi_tensor_is_collective(const iris_world *w, const iris_tensor *dst, const iris_tensor *src, int to_all,
                                      int64_t n)
{
    const int64_t rows = to_all ? n * w->size : n;
    if (src->members != w->size || n == 0 || src->room < rows || dst->room < n * w->size)
        return 0;
    for (int reader = 0; reader < w->size; reader++)
        for (int writer = 0; writer < w->size; writer++)
            if (!irisi_tensor_is_row(dst, src, reader, writer, to_all, n))
                return 0;
    return 1;
}

/* Whether every rank has all that it needs. */
static int irisi_tensor_is_copy(const iris_world *w, const iris_tensor *dst, const iris_tensor *src)
{
    for (int reader = 0; reader < w->size; reader++) {
        const iris_tensor_shard to = iris_tensor_shard_of(dst, reader);
        for (int m = 0; m < src->members; m++) {
            iris_tensor_shard both;
            int writer;
            const iris_tensor_shard from = irisi_tensor_read_from(src, reader, m, &writer);
            if (irisi_tensor_common(&to, &from, &both) > 0 && writer != reader)
                return 0;
        }
    }
    return 1;
}

/* Whether rank `at` has of dst what it has of src, or more where that is enough. */
static int irisi_tensor_holds(const iris_tensor *dst, const iris_tensor *src, int at, int more)
{
    const iris_tensor_shard to = iris_tensor_shard_of(dst, at), from = iris_tensor_shard_of(src, at);
    iris_tensor_shard both;
    int64_t all = 1, has = 1;
    for (int d = 0; d < src->dims; d++)
        all *= from.count[d], has *= to.count[d];
    return irisi_tensor_common(&from, &to, &both) == all && (more || has == all);
}

/*
 * The first rank that a partial dst cannot take its own part from; -1: none. Of a partial src every rank keeps its
 * partial sum; else those of the first copy keep what they have.
 */
static int irisi_tensor_not_kept(const iris_world *w, const iris_tensor *dst, const iris_tensor *src)
{
    const int sums = iris_tensor_is_partial(src);
    for (int rank = 0; rank < w->size; rank++) {
        const int member = iris_tensor_member(src, rank), reads = sums || (member >= 0 && member < src->members);
        if (reads && !irisi_tensor_holds(dst, src, rank, !sums))
            return rank;
    }
    return -1;
}

/* The collective that adds up, if one does: a world of dense partial sums of all of src, and dst dense. */
static irisi_tensor_way irisi_tensor_choose_sum(const iris_world *w, const iris_tensor *dst, const iris_tensor *src,
                                                const irisi_tensor_kernels *kernels, int64_t *row)
{
    const int64_t n = iris_tensor_elements(src);
    const int scatters = dst->members == w->size;
    const irisi_tensor_way way = scatters ? IRISI_TENSOR_REDUCE_SCATTER : IRISI_TENSOR_ALL_REDUCE;
    *row = scatters ? n / w->size : n;
    if (!(scatters ? kernels->reduce_scatter : kernels->all_reduce) || src->copies != w->size ||
        (scatters ? *row * w->size != n : dst->copies != w->size))
        return IRISI_TENSOR_SUMS;
    for (int rank = 0; rank < w->size; rank++) {
        const iris_tensor_shard to = iris_tensor_shard_of(dst, rank), from = iris_tensor_shard_of(src, rank);
        iris_tensor_shard both;
        if (irisi_tensor_common(&to, &from, &both) != *row || irisi_tensor_dense(dst, &to, &both) != 0 ||
            irisi_tensor_dense(src, &from, &both) != (scatters ? rank * *row : 0))
            return IRISI_TENSOR_SUMS;
    }
    return way;
}

/* How it is done, and the elements of a row where that is a collective. */
static irisi_tensor_way irisi_tensor_choose(const iris_world *w, const iris_tensor *dst, const iris_tensor *src,
                                            const irisi_tensor_kernels *kernels, int64_t *row)
{
    const int64_t n = iris_tensor_elements(src) / w->size;
    *row = n;
    if (iris_tensor_is_partial(dst))
        return iris_tensor_is_partial(src) ? IRISI_TENSOR_COPY : IRISI_TENSOR_KEEP;
    if (iris_tensor_is_partial(src))
        return irisi_tensor_choose_sum(w, dst, src, kernels, row);
    if (irisi_tensor_is_copy(w, dst, src))
        return IRISI_TENSOR_COPY;
    if (n * w->size != iris_tensor_elements(src))
        return IRISI_TENSOR_PIECES;
    if (irisi_tensor_is_collective(w, dst, src, 0, n))
        return IRISI_TENSOR_ALL_GATHER;
    *row = n / w->size;
    if (n % w->size == 0 && irisi_tensor_is_collective(w, dst, src, 1, n / w->size))
        return IRISI_TENSOR_ALL_TO_ALL;
    return IRISI_TENSOR_PIECES;
}

static iris_status irisi_tensor_check_both(iris_world *w, const iris_tensor *dst, const iris_tensor *src)
{
    static const char who[] = "iris_tensor_reshard";
    iris_status s = irisi_tensor_check(w, who, dst);
    if (s == IRIS_OK)
        s = irisi_tensor_check(w, who, src);
    if (s != IRIS_OK)
        return s;
    if (dst->dtype != src->dtype || dst->dims != src->dims)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dst has %d dimensions of %s, src %d of %s; they must be the same",
                          who, (int)dst->dims, iris_dtype_name(dst->dtype), (int)src->dims,
                          iris_dtype_name(src->dtype));
    for (int d = 0; d < dst->dims; d++)
        if (dst->dim[d].size != src->dim[d].size)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimension %d has %u indices in dst, %u in src; they must be the same", who, d,
                              dst->dim[d].size, src->dim[d].size);
    const uintptr_t to = (uintptr_t)dst->data, from = (uintptr_t)src->data;
    if (to < from + (size_t)src->room * src->element && from < to + (size_t)dst->room * dst->element)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dst at %p and src at %p overlap", who, dst->data, src->data);
    const int rank = iris_tensor_is_partial(dst) ? irisi_tensor_not_kept(w, dst, src) : -1;
    if (rank >= 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: dst is of partial sums, of which each rank keeps what it has, but the block of rank %d "
                          "in dst %s its block in src; reshard src into a replicated tensor first",
                          who, rank, iris_tensor_is_partial(src) ? "is not" : "does not hold");
    return IRIS_OK;
}

/* One that a group holds. The channel may be one that the same group makes. */
typedef struct irisi_held_reshard {
    const iris_channel *ch;
    iris_tensor dst, src;
    irisi_tensor_kernels kernels;
    iris_stream stream;
} irisi_held_reshard;

static iris_status irisi_held_reshard_run(iris_world *w, const void *args)
{
    const irisi_held_reshard *a = (const irisi_held_reshard *)args;
    return irisi_tensor_reshard_run(w, a->ch, &a->dst, &a->src, &a->kernels, a->stream);
}

static iris_status irisi_tensor_hold(iris_world *w, const iris_channel *ch, const iris_tensor *dst,
                                     const iris_tensor *src, const irisi_tensor_kernels *kernels, iris_stream stream)
{
    irisi_held_reshard held;
    if (!dst || !src)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_tensor_reshard: a tensor is null");
    held.ch = ch, held.dst = *dst, held.src = *src, held.kernels = *kernels, held.stream = stream;
    return irisi_hold(w, "iris_tensor_reshard", irisi_held_reshard_run, IRISI_HELD_RETURNS, &held, sizeof held);
}

/* Launches the kernel that gets pieces, or copies, or adds up. */
static iris_status irisi_tensor_start(iris_world *w, const iris_channel *ch, const iris_tensor *dst,
                                      const iris_tensor *src, irisi_tensor_way way,
                                      const irisi_tensor_kernels *kernels, iris_stream stream)
{
    const int sums = way == IRISI_TENSOR_SUMS, meet = sums || way == IRISI_TENSOR_PIECES;
    const irisi_collective_shape shape = irisi_collective_shape_of(w);
    const uint32_t units = irisi_collective_units(w), wgs = ch->slices < units ? ch->slices : units;
    iris_launch_config cfg = iris_grid(wgs, shape.lanes);
    irisi_tensor_reshard_args args;
    memset(&args, 0, sizeof args);
    args.ctx = iris_device_ctx(w);
    args.ch = *ch;
    args.dst = *dst;
    args.src = *src;
    args.meet = meet;
    args.keep = way == IRISI_TENSOR_KEEP;
    if (meet)
        cfg.flags = irisi_collective_flags(w, cfg.workgroups, ch->slices);
    const iris_team world = {0, 1, w->size};
    return irisi_collective_start(w, ch, world, sums ? kernels->sums : kernels->pieces,
                                  sums ? "irisi_tensor_sums" : "irisi_tensor_pieces", &args, sizeof args, &cfg, stream);
}

/* Launches the collective that it is done by. */
static iris_status irisi_tensor_run_collective(iris_world *w, const iris_channel *ch, irisi_tensor_way way,
                                               const iris_collective *what, const irisi_tensor_kernels *k,
                                               iris_stream stream)
{
    switch (way) {
    case IRISI_TENSOR_ALL_GATHER:
        return irisi_collective_run(w, ch, IRISI_FAMILY_ALL_GATHER, what, k->all_gather, k->n_all_gather, 1, stream);
    case IRISI_TENSOR_ALL_TO_ALL:
        return irisi_collective_run(w, ch, IRISI_FAMILY_ALL_TO_ALL, what, k->all_to_all, k->n_all_to_all, 1, stream);
    case IRISI_TENSOR_ALL_REDUCE:
        return irisi_collective_run(w, ch, IRISI_FAMILY_ALL_REDUCE, what, k->all_reduce, k->n_all_reduce,
                                    iris_dtype_bytes(what->dtype), stream);
    default:
        return irisi_collective_run(w, ch, IRISI_FAMILY_REDUCE_SCATTER, what, k->reduce_scatter, k->n_reduce_scatter,
                                    iris_dtype_bytes(what->dtype), stream);
    }
}

iris_status irisi_tensor_reshard_run(iris_world *w, const iris_channel *ch, const iris_tensor *dst,
                                     const iris_tensor *src, const irisi_tensor_kernels *kernels, iris_stream stream)
{
    if (irisi_grouped())
        return irisi_tensor_hold(w, ch, dst, src, kernels, stream);
    const iris_team world = {0, 1, w ? w->size : 0};
    int64_t row = 0;
    iris_status s = irisi_take_stream(w, "iris_tensor_reshard", &stream);
    if (s == IRIS_OK)
        s = irisi_tensor_check_both(w, dst, src);
    if (s == IRIS_OK)
        s = irisi_collective_check_channel(w, "iris_tensor_reshard", ch, world, stream);
    if (s != IRIS_OK || iris_tensor_elements(src) == 0)
        return s;
    const irisi_tensor_way way = irisi_tensor_choose(w, dst, src, kernels, &row);
    if (irisi_verbose(w))
        irisi_log(w->rank, IRISI_DEBUG, "iris_tensor_reshard of %lld %s among %d ranks: by %s",
                  (long long)iris_tensor_elements(src), iris_dtype_name(src->dtype), w->size, irisi_tensor_ways[way]);
    if (way == IRISI_TENSOR_COPY || way == IRISI_TENSOR_PIECES || way == IRISI_TENSOR_KEEP || way == IRISI_TENSOR_SUMS)
        return irisi_tensor_start(w, ch, dst, src, way, kernels, stream);
    const iris_collective what =
        irisi_collective_of(dst->data, src->data, (size_t)row, src->dtype, IRIS_OP_SUM, 0, world);
    return irisi_tensor_run_collective(w, ch, way, &what, kernels, stream);
}

#endif
#endif
