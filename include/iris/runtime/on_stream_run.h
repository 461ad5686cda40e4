/* SPDX-License-Identifier: MIT */
/*
 * on_stream_run.h: a part of init.c: operations on a stream, as on_stream.h declares them.
 *
 *   iris_put_on_stream iris_get_on_stream iris_put_2d_on_stream iris_get_2d_on_stream
 *   irisi_on_stream
 */
#ifndef IRIS_RUNTIME_ON_STREAM_RUN_H
#define IRIS_RUNTIME_ON_STREAM_RUN_H
#ifdef IRIS_INIT_C

#include <iris/on_stream.h>
#include <iris/runtime/collective_run.h>

/* From the first byte of the first row to the last of the last; SIZE_MAX: more than memory holds. */
static size_t irisi_rows_extent(size_t pitch, size_t bytes, size_t rows)
{
    const size_t most = SIZE_MAX / 2;
    if (bytes > most || (rows > 1 && pitch > (most - bytes) / (rows - 1)))
        return SIZE_MAX;
    return (rows - 1) * pitch + bytes;
}

/* Where memory of a rank is that is named by an address here, of the heap or in a window; null: in neither. */
static void *irisi_stream_remote(const iris_world *w, const void *p, size_t bytes, int rank)
{
    return iris_is_symmetric(w, p, bytes) ? iris_translate(w, p, rank) : irisi_window_remote(w, p, bytes, rank);
}

/* Which side of a copy is wrong, and how. There are rows, of some bytes. */
static iris_status irisi_stream_check_copy(iris_world *w, const irisi_stream_call *c)
{
    const irisi_rows *r = &c->copy;
    const void *const far = c->kind == IRISI_STREAM_GET ? r->src : r->dst;
    const char *const far_name = c->kind == IRISI_STREAM_GET ? "src" : "dst";
    const size_t dst_bytes = irisi_rows_extent(r->dst_pitch, r->bytes, r->rows);
    const size_t src_bytes = irisi_rows_extent(r->src_pitch, r->bytes, r->rows);
    const size_t far_bytes = c->kind == IRISI_STREAM_GET ? src_bytes : dst_bytes;
    if (!r->dst || !r->src)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s is null; pass %zu bytes", c->name, r->dst ? "src" : "dst",
                          r->dst ? src_bytes : dst_bytes);
    if (r->rows > 1 && (r->dst_pitch < r->bytes || r->src_pitch < r->bytes))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: rows of %zu bytes are %zu bytes apart in %s, so they overlap",
                          c->name, r->bytes, r->dst_pitch < r->bytes ? r->dst_pitch : r->src_pitch,
                          r->dst_pitch < r->bytes ? "dst" : "src");
    if (dst_bytes == SIZE_MAX || src_bytes == SIZE_MAX)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %zu rows of %zu bytes are more than memory holds", c->name,
                          r->rows, r->bytes);
    if (!irisi_stream_remote(w, far, far_bytes, c->rank))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s is to name memory of rank %d, and its %zu bytes at %p are not in the symmetric heap, "
                          "nor in a window; allocate it with iris_malloc",
                          c->name, far_name, c->rank, far_bytes, far);
    const uintptr_t dst = (uintptr_t)r->dst, src = (uintptr_t)r->src;
    if (c->rank == w->rank && r->rows == 1 && dst < src + src_bytes && src < dst + dst_bytes)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dst at %p and src at %p, %zu bytes of rank %d, overlap", c->name,
                          r->dst, r->src, r->bytes, c->rank);
    return IRIS_OK;
}

/* A signal of sync memory, and something to do with it that exists. */
static iris_status irisi_stream_check_signal(iris_world *w, const irisi_stream_call *c)
{
    const size_t offset = (size_t)((uintptr_t)c->signal - (uintptr_t)w->heaps[w->rank].base);
    const int last = c->kind == IRISI_STREAM_WAIT ? (int)IRIS_CMP_LE : (int)IRIS_SIGNAL_ADD;
    if (!c->signal)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the signal is null; take one from iris_signals", c->name);
    if (offset > w->sync_bytes - sizeof(iris_signal) || offset % sizeof(iris_signal) != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %p is no signal: it is not in sync memory of the heap, or not aligned to 8 bytes; take "
                          "one from iris_signals",
                          c->name, (void *)c->signal);
    if (c->how < 0 || c->how > last)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s %d does not exist", c->name,
                          c->kind == IRISI_STREAM_WAIT ? "comparison" : "operation", c->how);
    return IRIS_OK;
}

/* A channel for barriers of this team on this stream; its record in *block. Completes the team. */
static iris_status irisi_stream_check_barrier(iris_world *w, const irisi_stream_call *c, iris_team *team,
                                              iris_stream stream, irisi_block **block)
{
    static const irisi_family_row family = {"iris_barrier_on_stream", 0, 0, 0, 0, 0, 0};
    const iris_channel *ch = c->ch;
    const int good = ch && ch->state && ch->slices == 0 && ch->n_signals >= (size_t)w->size;
    *block = good ? irisi_sync_block(w, ch->signals) : NULL;
    if (!*block)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the channel is not from iris_channel_create with %d signals or more, or was destroyed",
                          c->name, w->size);
    const iris_status s = irisi_collective_check_team(w, &family, team, 0);
    return s == IRIS_OK ? irisi_channel_check_use(w, c->name, *block, *team, stream) : s;
}

/* Everything that can be wrong with a call; completes the team. */
static iris_status irisi_stream_check(iris_world *w, const irisi_stream_call *c, iris_team *team, iris_stream stream,
                                      irisi_block **block)
{
    const int copies = c->kind == IRISI_STREAM_PUT || c->kind == IRISI_STREAM_GET;
    const int signals = c->kind == IRISI_STREAM_SIGNAL || (c->kind == IRISI_STREAM_PUT && c->kernel);
    iris_status s = IRIS_OK;
    if ((copies || signals) && (c->rank < 0 || c->rank >= w->size))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: rank %d is not within ranks 0 to %d", c->name, c->rank,
                          w->size - 1);
    if (copies && c->copy.bytes > 0 && c->copy.rows > 0)
        s = irisi_stream_check_copy(w, c);
    if (s == IRIS_OK && (signals || c->kind == IRISI_STREAM_WAIT))
        s = irisi_stream_check_signal(w, c);
    return s == IRIS_OK && c->kind == IRISI_STREAM_BARRIER ? irisi_stream_check_barrier(w, c, team, stream, block) : s;
}

static iris_status irisi_stream_copy(iris_world *w, const irisi_stream_call *c, iris_stream stream)
{
    const irisi_rows *r = &c->copy;
    const int gets = c->kind == IRISI_STREAM_GET;
    if (r->bytes == 0 || r->rows == 0)
        return IRIS_OK;
    void *dst = gets ? r->dst : irisi_stream_remote(w, r->dst, 1, c->rank);
    const void *src = gets ? irisi_stream_remote(w, r->src, 1, c->rank) : r->src;
    const char *why = irisi_dev_copy_rows(&w->dev, dst, r->dst_pitch, src, r->src_pitch, r->bytes, r->rows, stream);
    return irisi_device_result(w, c->name, why);
}

/*
 * 1 where a put with signal is one kernel: few bytes of symmetric memory, which every kernel reads. A copy engine and
 * the kernel of one wave behind it take longer (docs/performance.md).
 */
static int irisi_stream_in_one(const iris_world *w, const irisi_stream_call *c)
{
    return c->whole && c->copy.rows == 1 && c->copy.bytes > 0 && c->copy.bytes <= IRISI_STREAM_WHOLE &&
           iris_is_symmetric(w, c->copy.src, c->copy.bytes);
}

/* Its lanes: four chunks of 16 bytes for each, so that little needs little room; 32 are in one wave of every device. */
static uint32_t irisi_stream_lanes(const iris_world *w, size_t bytes)
{
    return irisi_on_host(w) || bytes <= 2 << 10 ? 32 : bytes <= 8 << 10 ? 128 : IRISI_STREAM_LANES;
}

static iris_status irisi_held_stream_call(iris_world *w, const void *args)
{
    return irisi_on_stream(w, (const irisi_stream_call *)args);
}

iris_status irisi_on_stream(iris_world *w, const irisi_stream_call *c)
{
    if (irisi_grouped())
        return irisi_hold(w, c->name, irisi_held_stream_call, IRISI_HELD_RETURNS, c, sizeof *c);
    irisi_stream_args args;
    iris_stream stream = c->stream;
    irisi_block *block = NULL;
    memset(&args, 0, sizeof args);
    args.team = c->team;
    iris_status s = irisi_take_stream(w, c->name, &stream);
    if (s == IRIS_OK)
        s = irisi_stream_check(w, c, &args.team, stream, &block);
    const int in_one = s == IRIS_OK && irisi_stream_in_one(w, c);
    if (s == IRIS_OK && !in_one)
        s = irisi_stream_copy(w, c, stream);
    if (s != IRIS_OK || !c->kernel)
        return s;
    const iris_launch_config cfg = iris_grid(1, in_one ? irisi_stream_lanes(w, c->copy.bytes) : 32);
    const iris_team users = args.team;
    const irisi_collective_whom whom = irisi_collective_whom_of(w, users, 0); /* without a team: the world's */
    args.ctx = whom.ctx, args.team = whom.team;
    if (c->ch)
        args.ch = *c->ch;
    args.signal = c->signal, args.value = c->value, args.how = c->how, args.rank = c->rank;
    if (in_one)
        args.to = irisi_stream_remote(w, c->copy.dst, 1, c->rank), args.from = c->copy.src, args.bytes = c->copy.bytes;
    args.own = in_one && iris_is_symmetric(w, c->copy.dst, 1) ? c->copy.dst : NULL;
    s = irisi_launch(w, in_one ? c->whole : c->kernel, c->name, &args, sizeof args, &cfg, stream);
    if (s == IRIS_OK && block)
        irisi_channel_note_use(w, block, users, stream);
    return s;
}

/* A put or a get of rows. */
static iris_status irisi_stream_rows(iris_world *w, const char *name, irisi_stream_kind kind, irisi_rows rows, int rank,
                                     iris_stream stream)
{
    irisi_stream_call c = irisi_stream_call_of(name, kind, NULL, stream);
    c.copy = rows, c.rank = rank;
    return irisi_on_stream(w, &c);
}

iris_status iris_put_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, int rank, iris_stream stream)
{
    const irisi_rows row = {dst, src, bytes, bytes, bytes, 1};
    return irisi_stream_rows(w, "iris_put_on_stream", IRISI_STREAM_PUT, row, rank, stream);
}

iris_status iris_get_on_stream(iris_world *w, void *dst, const void *src, size_t bytes, int rank, iris_stream stream)
{
    const irisi_rows row = {dst, src, bytes, bytes, bytes, 1};
    return irisi_stream_rows(w, "iris_get_on_stream", IRISI_STREAM_GET, row, rank, stream);
}

iris_status iris_put_2d_on_stream(iris_world *w, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                  size_t row_bytes, size_t rows, int rank, iris_stream stream)
{
    const irisi_rows r = {dst, src, dst_pitch, src_pitch, row_bytes, rows};
    return irisi_stream_rows(w, "iris_put_2d_on_stream", IRISI_STREAM_PUT, r, rank, stream);
}

iris_status iris_get_2d_on_stream(iris_world *w, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                                  size_t row_bytes, size_t rows, int rank, iris_stream stream)
{
    const irisi_rows r = {dst, src, dst_pitch, src_pitch, row_bytes, rows};
    return irisi_stream_rows(w, "iris_get_2d_on_stream", IRISI_STREAM_GET, r, rank, stream);
}

#endif
#endif
