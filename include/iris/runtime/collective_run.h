/* SPDX-License-Identifier: MIT */
/*
 * collective_run.h: a part of init.c: channels of collectives, and their launches. collective/launch.h declares them.
 */
#ifndef IRIS_RUNTIME_COLLECTIVE_RUN_H
#define IRIS_RUNTIME_COLLECTIVE_RUN_H
#ifdef IRIS_INIT_C

#include <iris/runtime/collective_shape.h>
#include <iris/runtime/group.h>
#include <iris/runtime/heap_allocator.h>
#include <iris/runtime/team.h>

static const char *const irisi_op_names[] = {"sum", "prod", "min", "max", "avg", "and", "or", "xor"};

static iris_status irisi_take_stream(iris_world *w, const char *call, iris_stream *stream);
static iris_status irisi_device_result(iris_world *w, const char *call, const char *why);

/* What a rank makes a channel with. */
typedef struct irisi_collective_vote {
    uint64_t scratch; /* of a slice; 0 where a rank has refused already, with a status of its own */
    uint64_t slices;
    uint64_t read; /* a hash of IRIS_TUNE's rows */
    uint64_t rows; /* and of those that are for this rank's device; 0: of none, or they are not for every rank's */
} irisi_collective_vote;

/*
 * Whether every rank asks for as much scratch and has read the same rows; the slices are as many as every rank has
 * compute units for. Rows of which only some are for each rank's device count nowhere.
 */
static iris_status irisi_collective_agree(iris_world *w, irisi_collective_vote *vote, iris_status own)
{
    void *votes;
    const iris_status met = irisi_hear_all(w, "iris_collective_channel", vote, sizeof *vote, &votes);
    const irisi_collective_vote *all = (const irisi_collective_vote *)votes;
    iris_status s = own != IRIS_OK ? own : met;
    for (int r = 0; s == IRIS_OK && r < w->size; r++) {
        if (all[r].scratch == 0)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_collective_channel: rank %d refused its arguments", r);
        else if (all[r].scratch != all[0].scratch)
            s = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_collective_channel: scratch is %llu bytes on rank %d but %llu "
                           "on rank 0, rounded up; it must be the same",
                           (unsigned long long)all[r].scratch, r, (unsigned long long)all[0].scratch);
        else if (all[r].read != all[0].read)
            s = irisi_fail(w, IRIS_ERR_MISMATCH,
                           "iris_collective_channel: the checksum of IRIS_TUNE's rows is %08x on rank %d but %08x on "
                           "rank 0; give every rank the same rows",
                           (unsigned)(all[r].read & UINT32_MAX), r, (unsigned)(all[0].read & UINT32_MAX));
        vote->rows = all[r].rows == all[0].rows ? vote->rows : 0;
        vote->slices = all[r].slices < vote->slices ? all[r].slices : vote->slices;
    }
    free(votes);
    return s;
}

/* iris_collective_channel, as a group holds it. */
typedef struct irisi_held_channel {
    iris_channel *ch;
    size_t scratch;
} irisi_held_channel;

static iris_status irisi_held_channel_run(iris_world *w, const void *args)
{
    const irisi_held_channel *a = (const irisi_held_channel *)args;
    return iris_collective_channel(w, a->ch, a->scratch);
}

iris_status iris_collective_channel(iris_world *w, iris_channel *ch, size_t scratch)
{
    const irisi_held_channel held = {ch, scratch};
    if (irisi_grouped())
        return irisi_hold(w, "iris_collective_channel", irisi_held_channel_run, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_collective_channel");
    if (status != IRIS_OK)
        return status;
    const irisi_collective_shape shape = irisi_collective_shape_of(w);
    if (ch == NULL)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_collective_channel: the channel is null");
    else if (scratch > w->sync_bytes || scratch > 1u << 30) /* a slice's bytes are counted in 32 bits */
        status = irisi_fail(w, IRIS_ERR_NOMEM,
                            "iris_collective_channel: %zu bytes of scratch a slice exceed the sync heap of %zu; raise "
                            "%s",
                            scratch, w->sync_bytes, irisi_size_name(w, IRIS_MEM_SYNC));
    const size_t least = IRISI_SLICE_ROW * (size_t)w->size, wanted = scratch ? scratch : shape.scratch;
    const size_t half = irisi_round_up(wanted < least ? least : wanted, 256);
    const irisi_collective_rows *rows = NULL;
    uint64_t read = 0;
    if (status == IRIS_OK)
        status = irisi_collective_rows_read(w, &read, &rows);
    irisi_collective_vote vote = {status == IRIS_OK ? half : 0, shape.slices, read, rows != NULL ? rows->hash : 0};
    status = irisi_collective_agree(w, &vote, status);
    if (status == IRIS_OK)
        status = iris_channel_create(w, ch, (size_t)vote.slices * irisi_slice_words((uint32_t)w->size),
                                     2 * half * vote.slices);
    if (status != IRIS_OK)
        return status;
    ch->half = (uint32_t)half;
    ch->room = (uint32_t)(half / (32 * (size_t)w->size) * 16);
    ch->slices = (uint32_t)vote.slices;
    ch->least = shape.least;
    irisi_sync_block(w, ch->signals)->rows = vote.rows != 0 ? rows : NULL;
    return IRIS_OK;
}

/* The record of a live channel; null when there is none at its place, or it was not made for collectives. */
static irisi_block *irisi_channel_block(iris_world *w, const iris_channel *ch)
{
    if (ch->slices == 0 || ch->half < IRISI_SLICE_ROW * (size_t)w->size || ch->room == 0 || ch->least == 0 ||
        ch->bank_bytes < 2 * (size_t)ch->half * ch->slices ||
        ch->n_signals < (size_t)ch->slices * irisi_slice_words((uint32_t)w->size))
        return NULL;
    return irisi_sync_block(w, ch->signals);
}

/* The channel is so far used, if at all, for this team or messages, on this stream. */
static iris_status irisi_channel_check_use(iris_world *w, const char *name, const irisi_block *block, iris_team team,
                                           iris_stream stream)
{
    const iris_team *users = &block->team;
    if (users->size != 0 &&
        (users->start != team.start || users->size != team.size || (users->stride != team.stride && team.size > 1)))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the channel is used %s already; make one for each team, and one for messages", name,
                          users->size < 0 ? "for messages" : "by another team");
    if (block->stream != NULL && block->stream != stream && !irisi_dev_stream_capturing(&w->dev, stream))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the channel is used on another stream already; make one for each stream", name);
    return IRIS_OK;
}

static void irisi_channel_note_use(iris_world *w, irisi_block *block, iris_team team, iris_stream stream)
{
    block->team = team;
    if (!irisi_dev_stream_capturing(&w->dev, stream)) /* where a graph will run is not known yet */
        block->stream = stream;
}

/* The channel: live, made for collectives, and so far used, if at all, for this team or messages, on this stream. */
static iris_status irisi_collective_check_channel(iris_world *w, const char *name, const iris_channel *ch,
                                                  iris_team team, iris_stream stream)
{
    irisi_block *block = ch == NULL ? NULL : irisi_channel_block(w, ch);
    if (block == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the channel is not from iris_collective_channel, or was destroyed", name);
    return irisi_channel_check_use(w, name, block, team, stream);
}

/* Launches on a channel that was looked at; from then on it is this team's and this stream's. */
static iris_status irisi_collective_start(iris_world *w, const iris_channel *ch, iris_team team, irisi_kernel kernel,
                                          const char *name, const void *args, size_t bytes,
                                          const iris_launch_config *cfg, iris_stream stream)
{
    const iris_status s = irisi_launch(w, kernel, name, args, bytes, cfg, stream);
    irisi_block *block = irisi_channel_block(w, ch);
    if (s == IRIS_OK && block != NULL)
        irisi_channel_note_use(w, block, team, stream);
    return s;
}

/* The team, completed; this rank and the root are in it. */
static iris_status irisi_collective_check_team(iris_world *w, const irisi_family_row *f, iris_team *t, int root)
{
    if (irisi_team_listed(*t) || (t->size < 0 && t->stride == 0)) {
        iris_status s = irisi_team_check_member(w, f->name, *t, "rank", w->rank);
        if (s == IRIS_OK && f->root_dst + f->root_src > 0)
            s = irisi_team_check_member(w, f->name, *t, "root", root);
        return s;
    }
    if (t->size == 0) {
        t->start = 0;
        t->stride = 1;
        t->size = w->size;
    }
    if (t->size == 1 && t->stride == 0) /* as kernels take it */
        t->stride = 1;
    const int64_t last = t->start + (int64_t)t->stride * (t->size - 1);
    if (t->size < 0 || t->stride < 1 || t->start < 0 || last >= w->size)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: a team of %d ranks from %d on, %d apart, is not within ranks 0 to %d", f->name,
                          (int)t->size, (int)t->start, (int)t->stride, w->size - 1);
    for (int asked = 0; asked <= f->root_dst + f->root_src; asked++) {
        const int rank = asked ? root : w->rank;
        if (rank < t->start || rank > last || (rank - t->start) % t->stride != 0)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: %s %d is not in the team of %d ranks from %d on, %d apart", f->name,
                              asked ? "root" : "rank", rank, (int)t->size, (int)t->start, (int)t->stride);
    }
    return IRIS_OK;
}

/* What a kernel takes for a team and a root: a listed team is the world of its own context. */
typedef struct irisi_collective_whom {
    iris_ctx ctx;
    iris_team team;
    int32_t root;
} irisi_collective_whom;

static irisi_collective_whom irisi_collective_whom_of(const iris_world *w, iris_team team, int root)
{
    irisi_collective_whom whom;
    whom.ctx = iris_device_ctx(w);
    whom.team = team;
    whom.root = root;
    if (irisi_team_listed(team)) {
        whom.ctx = irisi_team_ctx_of(w, irisi_team_of(w, team));
        whom.team.start = 0;
        whom.team.stride = 1;
        whom.root = iris_team_rank(w, team, root);
    }
    return whom;
}

/* One buffer of `rows` rows. */
static iris_status irisi_collective_check_buffer(iris_world *w, const char *name, const char *which, const void *p,
                                                 size_t rows, const iris_collective *c, const char *by)
{
    const size_t element = iris_dtype_bytes(c->dtype);
    if (c->count > SIZE_MAX / 2 / element / rows)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %zu elements of %s%s are too many", name, c->count,
                          iris_dtype_name(c->dtype), rows > 1 ? " for each rank" : "");
    if (c->count > 0 && p == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s is null; pass %zu elements of %s", name, which,
                          rows * c->count, iris_dtype_name(c->dtype));
    if ((uintptr_t)p % element != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s at %p is not aligned to its %zu-byte elements", name,
                          which, p, element);
    if (by != NULL && c->count > 0 && !iris_is_symmetric(w, p, rows * c->count * element))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: schedule %s wants %s in the symmetric heap, where its %zu bytes at %p are not; "
                          "allocate it with iris_malloc, or choose a schedule that takes any memory",
                          name, by, which, rows * c->count * element, p);
    return IRIS_OK;
}

/* dst and src must be apart, or the same: in place, the own row of the one that has rows. */
static iris_status irisi_collective_check_overlap(iris_world *w, const irisi_family_row *f, const iris_collective *c)
{
    const size_t row = c->count * iris_dtype_bytes(c->dtype);
    const size_t own = (size_t)iris_team_rank(w, c->team, w->rank) * row;
    const uintptr_t dst = (uintptr_t)c->dst, src = (uintptr_t)c->src;
    const size_t dst_bytes = f->dst_rows ? row * (size_t)c->team.size : row;
    const size_t src_bytes = f->src_rows ? row * (size_t)c->team.size : row;
    const int apart = dst + dst_bytes <= src || src + src_bytes <= dst;
    const int same = f->dst_rows == f->src_rows ? dst == src && !f->dst_rows
                     : f->dst_rows              ? dst + own == src
                                                : src + own == dst;
    if (row == 0 || apart || same)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dst at %p and src at %p overlap, and not in place", f->name,
                      c->dst, c->src);
}

/* The row of IRIS_TUNE by which a call without a schedule goes on this channel, if it is one; or null. */
static const irisi_collective_row *irisi_collective_tuned(iris_world *w, const iris_channel *ch, irisi_family family,
                                                          const iris_collective *c)
{
    const irisi_block *block = ch == NULL ? NULL : irisi_channel_block(w, ch);
    const size_t bytes = iris_dtype_bytes(c->dtype);
    return block == NULL ? NULL
                         : irisi_collective_row_for(block->rows, (uint32_t)family, (uint32_t)c->team.size, bytes,
                                                    (uint64_t)c->count * bytes * (uint64_t)c->team.size);
}

/*
 * Everything about a collective that can be wrong on this rank alone; completes team and schedule.
 * `who` receives what chose the schedule, for sentences; it is empty where the caller has.
 */
static iris_status irisi_collective_check(iris_world *w, const iris_channel *ch, irisi_family family,
                                          iris_collective *c, const irisi_collective_kernel *kernels, size_t n,
                                          const irisi_collective_kernel **chosen, const char **who)
{
    const irisi_family_row *f = irisi_family_of(family);
    const irisi_collective_row *tuned = NULL;
    iris_status s = irisi_collective_check_team(w, f, &c->team, c->root);
    if (s != IRIS_OK)
        return s;
    *who = c->schedule == IRIS_SCHEDULE_AUTO ? "the library" : "";
    if (c->schedule == IRIS_SCHEDULE_AUTO) {
        tuned = irisi_collective_tuned(w, ch, family, c);
        *who = tuned != NULL ? tuned->from : *who;
        c->schedule = irisi_collective_choose(w, family, c, tuned);
    }
    *chosen = NULL;
    for (size_t i = 0; i < n; i++)
        if (kernels[i].schedule == c->schedule)
            *chosen = kernels + i;
    if (*chosen == NULL)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "%s: there is no schedule %s (%d)", f->name,
                          irisi_schedule_name((int)c->schedule), (int)c->schedule);
    char by[192];
    snprintf(by, sizeof by, "%s%s%s%s", irisi_schedule_name((int)c->schedule), tuned != NULL ? ", which " : "",
             tuned != NULL ? tuned->from : "", tuned != NULL ? " chose," : "");
    const size_t size = (size_t)c->team.size;
    /* A buffer of the root is looked at elsewhere only where its address stands for that of the root's. */
    const int dst = (*chosen)->dst_symmetric || !f->root_dst || w->rank == c->root;
    const int src = (*chosen)->src_symmetric || !f->root_src || w->rank == c->root;
    if (dst)
        s = irisi_collective_check_buffer(w, f->name, "dst", c->dst, f->dst_rows ? size : 1, c,
                                          (*chosen)->dst_symmetric ? by : NULL);
    if (s == IRIS_OK && src)
        s = irisi_collective_check_buffer(w, f->name, "src", c->src, f->src_rows ? size : 1, c,
                                          (*chosen)->src_symmetric ? by : NULL);
    return s == IRIS_OK && dst && src ? irisi_collective_check_overlap(w, f, c) : s;
}

/*
 * The copies of copy_engine, from the `first` member ahead on: each goes to the same place of a member's dst. Ahead by
 * none is this rank itself.
 */
static iris_status irisi_collective_copy(iris_world *w, const irisi_family_row *f, const iris_collective *c, int first,
                                         int end, iris_stream stream)
{
    const size_t row = c->count * iris_dtype_bytes(c->dtype);
    const int own = iris_team_rank(w, c->team, w->rank);
    const char *why = NULL;
    if (row == 0 || (f->root_src && w->rank != c->root))
        return IRIS_OK;
    char *const dst = (char *)c->dst + (f->dst_rows ? (size_t)own * row : 0);
    for (int ahead = first; ahead < end && !why; ahead++) { /* each member begins with another one */
        const int member = (own + ahead) % c->team.size;
        const char *from = (const char *)c->src + (f->src_rows ? (size_t)member * row : 0);
        char *to = (char *)iris_translate(w, dst, iris_team_world_rank(w, c->team, member));
        if (to != from)
            why = irisi_dev_copy_rows(&w->dev, to, row, from, row, row, 1, stream);
    }
    return irisi_device_result(w, f->name, why);
}

/*
 * copy_engine: once every member's dst may be written the copies go, and then everybody's have come. The copy within
 * this rank comes last, where nobody waits for it: runtimes make it by a kernel, which finds no room beside a GEMM, and
 * all other copies would stand behind it.
 */
static iris_status irisi_collective_by_copies(iris_world *w, const iris_channel *ch, const irisi_family_row *f,
                                              const iris_collective *c, const irisi_collective_kernel *meeting,
                                              const irisi_collective_args *args, iris_stream stream)
{
    const iris_launch_config one = iris_grid(1, 64);
    iris_status s = irisi_collective_start(w, ch, c->team, meeting->kernel, meeting->name, args, sizeof *args, &one,
                                           stream);
    if (s == IRIS_OK)
        s = irisi_collective_copy(w, f, c, 1, c->team.size, stream);
    if (s == IRIS_OK)
        s = irisi_collective_start(w, ch, c->team, meeting->kernel, meeting->name, args, sizeof *args, &one, stream);
    return s == IRIS_OK ? irisi_collective_copy(w, f, c, 0, 1, stream) : s;
}

/* A collective that a group holds. The channel may be one that the same group makes: it is read when it is there. */
typedef struct irisi_held_collective {
    const iris_channel *ch;
    irisi_family family;
    iris_collective what;
    const irisi_collective_kernel *kernels;
    size_t n, bytes;
    iris_stream stream;
} irisi_held_collective;

static iris_status irisi_held_collective_run(iris_world *w, const void *args)
{
    const irisi_held_collective *a = (const irisi_held_collective *)args;
    return irisi_collective_run(w, a->ch, a->family, &a->what, a->kernels, a->n, a->bytes, a->stream);
}

static iris_status irisi_collective_hold(iris_world *w, const iris_channel *ch, irisi_family family,
                                         const iris_collective *what, const irisi_collective_kernel *kernels, size_t n,
                                         size_t bytes, iris_stream stream)
{
    const char *name = irisi_family_of(family)->name;
    irisi_held_collective held;
    if (what == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: what to do is null", name);
    held.ch = ch, held.family = family, held.what = *what, held.kernels = kernels;
    held.n = n, held.bytes = bytes, held.stream = stream;
    return irisi_hold(w, name, irisi_held_collective_run, IRISI_HELD_RETURNS, &held, sizeof held);
}

iris_status irisi_collective_run(iris_world *w, const iris_channel *ch, irisi_family family,
                                 const iris_collective *what, const irisi_collective_kernel *kernels, size_t n,
                                 size_t bytes, iris_stream stream)
{
    if (irisi_grouped())
        return irisi_collective_hold(w, ch, family, what, kernels, n, bytes, stream);
    const char *name = irisi_family_of(family)->name;
    const irisi_collective_kernel *kernel;
    const char *who;
    irisi_collective_args args;
    iris_collective c;
    iris_status s = irisi_take_stream(w, name, &stream);
    if (s != IRIS_OK)
        return s;
    if (what == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: what to do is null", name);
    c = *what;
    s = irisi_collective_check(w, ch, family, &c, kernels, n, &kernel, &who);
    if (s == IRIS_OK)
        s = irisi_collective_check_channel(w, name, ch, c.team, stream);
    if (s != IRIS_OK)
        return s;
    if (irisi_verbose(w))
        irisi_log(w->rank, IRISI_DEBUG, "%s of %zu %s%s%s among %d ranks: schedule %s, %s%s%s", name, c.count,
                  iris_dtype_name(c.dtype), irisi_family_of(family)->reduces ? " by " : "",
                  irisi_family_of(family)->reduces ? irisi_op_names[c.op] : "", (int)c.team.size,
                  irisi_schedule_name((int)c.schedule), *who ? "which " : "as asked for", who, *who ? " chose" : "");
    const irisi_collective_whom whom = irisi_collective_whom_of(w, c.team, c.root);
    args.ctx = whom.ctx;
    args.ch = *ch;
    args.team = whom.team;
    args.root = whom.root;
    args.dst = c.dst;
    args.src = c.src;
    args.count = c.count * (iris_dtype_bytes(c.dtype) / bytes);
    if (c.schedule == IRIS_SCHEDULE_COPY_ENGINE)
        return irisi_collective_by_copies(w, ch, irisi_family_of(family), &c, kernel, &args, stream);
    const size_t each = irisi_slice_each(ch, kernel->few, args.count, bytes);
    const iris_launch_config cfg =
        irisi_collective_grid(w, each, args.count, bytes, irisi_family_of(family)->reduces, &c);
    return irisi_collective_start(w, ch, c.team, kernel->kernel, kernel->name, &args, sizeof args, &cfg, stream);
}

/* A message, or rows of any length, that a group holds; the channel as above. */
typedef struct irisi_held_message {
    const iris_channel *ch;
    irisi_message_args what;
    int receives, sends;
    iris_dtype dtype;
    irisi_kernel kernel;
    iris_stream stream;
} irisi_held_message;

static iris_status irisi_held_message_run(iris_world *w, const void *args)
{
    const irisi_held_message *a = (const irisi_held_message *)args;
    return irisi_message_run(w, a->ch, &a->what, a->receives, a->sends, a->dtype, a->kernel, a->stream);
}

typedef struct irisi_held_rows {
    const iris_channel *ch;
    irisi_rows_args what;
    size_t bytes;
    irisi_kernel kernel;
    iris_stream stream;
} irisi_held_rows;

static iris_status irisi_held_rows_run(iris_world *w, const void *args)
{
    const irisi_held_rows *a = (const irisi_held_rows *)args;
    return irisi_rows_run(w, a->ch, &a->what, a->bytes, a->kernel, a->stream);
}

iris_status irisi_message_run(iris_world *w, const iris_channel *ch, const irisi_message_args *what, int receives,
                              int sends, iris_dtype dtype, irisi_kernel kernel, iris_stream stream)
{
    const char *name = !receives ? "iris_send_to" : !sends ? "iris_recv_from" : "iris_exchange";
    const irisi_held_message held = {ch, *what, receives, sends, dtype, kernel, stream};
    if (irisi_grouped())
        return irisi_hold(w, name, irisi_held_message_run, IRISI_HELD_RETURNS, &held, sizeof held);
    static const iris_team messages = {0, 1, -1}; /* no team of a collective */
    const size_t element = iris_dtype_bytes(dtype), bytes = what->bytes;
    irisi_message_args args = *what;
    iris_status s = irisi_take_stream(w, name, &stream);
    if (s != IRIS_OK)
        return s;
    if ((receives && (what->from < 0 || what->from >= w->size)) || (sends && (what->to < 0 || what->to >= w->size)))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: rank %d is not within ranks 0 to %d", name,
                          receives && (what->from < 0 || what->from >= w->size) ? what->from : what->to, w->size - 1);
    if (bytes > SIZE_MAX / 2)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: so many elements of %s are more than memory holds", name,
                          iris_dtype_name(dtype));
    if (bytes > 0 && ((receives && !what->dst) || (sends && !what->src)))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s is null; pass %zu elements of %s", name,
                          receives && !what->dst ? "dst" : "src", bytes / element, iris_dtype_name(dtype));
    if ((receives && (uintptr_t)what->dst % element != 0) || (sends && (uintptr_t)what->src % element != 0))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: a buffer is not aligned to its %zu-byte elements", name,
                          element);
    const uintptr_t dst = (uintptr_t)what->dst, src = (uintptr_t)what->src;
    if (receives && sends && bytes > 0 && dst < src + bytes && src < dst + bytes)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dst at %p and src at %p overlap", name, what->dst, what->src);
    s = irisi_collective_check_channel(w, name, ch, messages, stream);
    if (s != IRIS_OK)
        return s;
    const iris_launch_config cfg = irisi_collective_grid(w, irisi_slice_each(ch, 0, bytes, 1), bytes, 1, 0, NULL);
    args.ctx = iris_device_ctx(w);
    args.ch = *ch;
    return irisi_collective_start(w, ch, messages, kernel, "irisi_send_recv", &args, sizeof args, &cfg, stream);
}

iris_status irisi_rows_run(iris_world *w, const iris_channel *ch, const irisi_rows_args *what, size_t bytes,
                           irisi_kernel kernel, iris_stream stream)
{
    static const irisi_family_row family = {"iris_all_to_allv", 1, 1, 0, 0, 0, 0};
    const irisi_held_rows held = {ch, *what, bytes, kernel, stream};
    if (irisi_grouped())
        return irisi_hold(w, family.name, irisi_held_rows_run, IRISI_HELD_RETURNS, &held, sizeof held);
    irisi_rows_args args = *what;
    iris_status s = irisi_take_stream(w, "iris_all_to_allv", &stream);
    if (s == IRIS_OK)
        s = irisi_collective_check_team(w, &family, &args.team, 0);
    if (s != IRIS_OK)
        return s;
    const size_t array = (size_t)args.team.size * sizeof(uint64_t);
    const uintptr_t arrays = (uintptr_t)args.dst_offsets | (uintptr_t)args.dst_counts | (uintptr_t)args.src_offsets |
                             (uintptr_t)args.src_counts;
    if (!args.dst || !args.dst_offsets || !args.dst_counts || arrays % sizeof(uint64_t) != 0 ||
        (uintptr_t)args.dst % bytes != 0 || (uintptr_t)args.src % bytes != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_all_to_allv: dst, dst_offsets or dst_counts is null, or dst or src is not aligned to "
                          "its %zu-byte elements, or an array not to 8 bytes",
                          bytes);
    if (!iris_is_symmetric(w, args.src, 1) || !iris_is_symmetric(w, args.src_offsets, array) ||
        !iris_is_symmetric(w, args.src_counts, array))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_all_to_allv: src, src_offsets and src_counts, for %d ranks, must lie in the symmetric "
                          "heap, where members read them; allocate them with iris_malloc",
                          (int)args.team.size);
    s = irisi_collective_check_channel(w, family.name, ch, args.team, stream);
    if (s != IRIS_OK)
        return s;
    const size_t most = SIZE_MAX / 4; /* bytes: their number is known on the device only */
    const iris_launch_config cfg = irisi_collective_grid(w, irisi_slice_each(ch, 1, most, 1), most, 1, 0, NULL);
    const irisi_collective_whom whom = irisi_collective_whom_of(w, args.team, 0);
    const iris_team team = args.team;
    args.ctx = whom.ctx;
    args.ch = *ch;
    args.team = whom.team;
    return irisi_collective_start(w, ch, team, kernel, "irisi_all_to_allv", &args, sizeof args, &cfg, stream);
}

/* The letters of a macro: those of a function or type. */
static void irisi_upper_text(char *text, size_t room, const char *name)
{
    size_t i = 0;
    for (; name[i] && i + 1 < room; i++)
        text[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
    text[i] = 0;
}

iris_status irisi_collective_lacks(iris_world *w, irisi_family family, const iris_collective *what)
{
    const char *name = irisi_family_of(family)->name;
    char macro[96], file[96];
    if (what == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the description of what to do is null", name);
    if (iris_dtype_bytes(what->dtype) == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: dtype is %d, %s; set it to IRIS_F32 or another iris_dtype, 1 to %d", name,
                          (int)what->dtype, what->dtype ? "which does not exist" : "as if it was never set",
                          (int)IRIS_DTYPES - 1);
    if ((unsigned)what->op >= IRIS_REDUCE_OPS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: op is %d, which does not exist; set it to IRIS_OP_SUM or another iris_reduce_op, "
                          "0 to %d",
                          name, (int)what->op, (int)IRIS_REDUCE_OPS - 1);
    const char *op = irisi_op_names[what->op], *dtype = iris_dtype_name(what->dtype);
    if (what->op >= IRIS_OP_AND && (dtype[0] == 'f' || dtype[0] == 'b'))
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "%s: %s of %s has no kernel: the type lacks the operation", name, op,
                          dtype);
    snprintf(file, sizeof file, "%s_%s_%s", name + 5, op, dtype); /* the name begins with iris_ */
    irisi_upper_text(macro, sizeof macro, file);
    return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                      "%s: %s of %s has no kernel: no file of this program asks for it; define IRIS_INSTANTIATE_%s "
                      "before <iris/gen/launch/%s.h> is first included, in the one file that holds the launchers",
                      name, op, dtype, macro, name + 5);
}

#endif
#endif
