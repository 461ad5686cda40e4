/* SPDX-License-Identifier: MIT */
/*
 * heap_map.h: a part of init.c: how the ranks make their heaps, map each other's, and let them grow.
 *
 *   irisi_make_heaps irisi_grow irisi_heaps_free
 *
 * The ranks first compare what they were asked for and agree on one mode. Each reserves addresses for its own heap and
 * for everyone else's, as many as a heap may ever need, and puts memory behind the first part of its own: a piece,
 * whose descriptor the other processes receive (fd_exchange.h) and map behind their addresses. Growing is one more
 * piece. Where heaps are one allocation each (IPC), they are opened as a whole and do not grow. Every step ends with
 * the ranks agreeing that it went well everywhere.
 */
#ifndef IRIS_RUNTIME_HEAP_MAP_H
#define IRIS_RUNTIME_HEAP_MAP_H
#ifdef IRIS_INIT_C

#include <iris/runtime/fd_exchange.h>

enum { IRISI_HEAP_ROUND = 64 << 10 };

static const char *const irisi_mode_name[] = {"auto", "ipc", "vmm"};

/* What ranks compare before any of them makes anything. */
typedef struct irisi_intent {
    uint64_t data_bytes, sync_bytes, most, block;
    uint64_t node, pid_space, key[2];
    int64_t timeout_ms;
    int32_t pid, checked, mode, pad;
    char cannot[160]; /* why this rank can have no heap that grows; empty: it can */
} irisi_intent;

/* How a heap is found, once it is there. */
typedef struct irisi_hello {
    uint64_t alignment;
    irisi_handle handle;
} irisi_hello;

static iris_status irisi_compare_intents(iris_world *w, const irisi_intent *all)
{
    const irisi_intent *me = &all[w->rank];
    for (int r = 0; r < w->size; r++) {
        const irisi_intent *o = &all[r];
        if (o->data_bytes != me->data_bytes || o->sync_bytes != me->sync_bytes || o->checked != me->checked)
            return irisi_fail(w, IRIS_ERR_MISMATCH,
                              "heap sizes or checked mode differ: rank %d has %llu + %llu bytes (checked %d), rank %d "
                              "has %llu + %llu (checked %d)",
                              w->rank, (unsigned long long)me->data_bytes, (unsigned long long)me->sync_bytes,
                              me->checked, r, (unsigned long long)o->data_bytes, (unsigned long long)o->sync_bytes,
                              o->checked);
        if (o->mode != me->mode)
            return irisi_fail(w, IRIS_ERR_MISMATCH, "IRIS_HEAP differs: rank %d has %s, rank %d %s", w->rank,
                              irisi_mode_name[me->mode], r, irisi_mode_name[o->mode]);
        if (w->checked && o->timeout_ms != me->timeout_ms)
            return irisi_fail(w, IRIS_ERR_MISMATCH,
                              "deadlines differ (IRIS_TIMEOUT_MS): rank %d has %lld ms, rank %d %lld ms; -1 is none",
                              w->rank, (long long)me->timeout_ms, r, (long long)o->timeout_ms);
        if (o->node != me->node)
            return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "rank %d runs on another machine; heaps are shared within one",
                              r);
    }
    return IRIS_OK;
}

/* The mode, the block and the limit that hold for all ranks, from what all of them have said. */
static iris_status irisi_settle_heaps(iris_world *w, const irisi_intent *all)
{
    const irisi_intent *me = &all[w->rank];
    uint64_t most = me->most, block = me->block;
    w->mode = (irisi_heap_mode)me->mode;
    w->mode_auto = w->mode == IRISI_HEAP_AUTO;
    for (int r = 0; r < w->size; r++) {
        const irisi_intent *o = &all[r];
        most = o->most < most ? o->most : most;
        block = o->block > block ? o->block : block;
        memcpy(w->peers[r].key, o->key, sizeof o->key);
        w->peers[r].near = o->pid == me->pid && o->pid_space == me->pid_space;
        if (!o->cannot[0] || w->mode == IRISI_HEAP_IPC)
            continue;
        if (!w->mode_auto)
            return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "IRIS_HEAP=vmm cannot be had on rank %d: %s", r, o->cannot);
        irisi_log(w->rank, IRISI_INFO, "heaps cannot grow (IRIS_HEAP=ipc), because of rank %d: %s", r, o->cannot);
        w->mode = IRISI_HEAP_IPC;
    }
    if (w->mode == IRISI_HEAP_AUTO)
        w->mode = IRISI_HEAP_VMM;
    w->heap_block = (size_t)block;
    w->sync_bytes = (size_t)me->sync_bytes;
    w->heap_bytes = irisi_round_up(w->sync_bytes + (size_t)me->data_bytes, w->heap_block);
    w->heap_most = irisi_round_up(w->sync_bytes + (size_t)most, w->heap_block);
    if (w->mode == IRISI_HEAP_IPC || w->heap_most < w->heap_bytes)
        w->heap_most = w->heap_bytes;
    return IRIS_OK;
}

static iris_status irisi_exchange_intents(iris_world *w, const irisi_settings *s)
{
    irisi_intent mine;
    struct stat space;
    char *data = NULL;
    size_t total = 0;
    memset(&mine, 0, sizeof mine);
    iris_status status = irisi_post_open(w);
    const char *cannot = irisi_dev_heap_vmm(&w->dev);
    snprintf(mine.cannot, sizeof mine.cannot, "%.*s", (int)sizeof mine.cannot - 1, cannot ? cannot : "");
    mine.sync_bytes = irisi_round_up(s->c.sync_bytes ? s->c.sync_bytes : w->dev.sync_bytes, IRISI_HEAP_ROUND);
    mine.data_bytes = irisi_round_up(s->c.heap_bytes ? s->c.heap_bytes : w->dev.heap_bytes, IRISI_HEAP_ROUND);
    mine.most = s->c.heap_max_bytes ? s->c.heap_max_bytes : w->dev.heap_most;
    mine.block = w->dev.heap_block;
    mine.node = irisi_node();
    mine.pid_space = stat("/proc/self/ns/pid", &space) == 0 ? (uint64_t)space.st_ino : 0;
    mine.pid = (int32_t)getpid();
    memcpy(mine.key, w->peers[w->rank].key, sizeof mine.key);
    mine.timeout_ms = w->timeout_ms;
    mine.checked = w->checked;
    mine.mode = s->heap_mode;
    memcpy(w->config_sizes, s->config_sizes, sizeof w->config_sizes);
    if (status == IRIS_OK && s->c.heap_max_bytes && s->c.heap_max_bytes < mine.data_bytes)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT,
                            "a heap of %llu bytes is to grow to %zu at most; raise %s",
                            (unsigned long long)mine.data_bytes, s->c.heap_max_bytes,
                            irisi_size_name(w, IRISI_SIZE_MOST));
    status = irisi_agree(w, IRISI_INIT, status);
    if (status == IRIS_OK)
        status = irisi_gather(w, IRISI_INIT, sizeof mine, 1, &mine, sizeof mine, &data, &total);
    if (status == IRIS_OK && total != sizeof mine * (size_t)w->size)
        status = irisi_fail(w, IRIS_ERR_MISMATCH, "the ranks run different builds of this library");
    if (status == IRIS_OK)
        status = irisi_compare_intents(w, (const irisi_intent *)(void *)data);
    if (status == IRIS_OK)
        status = irisi_settle_heaps(w, (const irisi_intent *)(void *)data);
    free(data);
    return irisi_agree(w, IRISI_INIT, status);
}

static const char *irisi_take_piece(iris_world *w, int from, int fd, const irisi_parcel *p)
{
    return irisi_dev_heap_attach(&w->dev, &w->heaps[from], p->offset, p->bytes, fd);
}

/* Every rank has put a piece behind its own heap: now behind its addresses for the others' heaps too. */
static iris_status irisi_share_piece(iris_world *w, irisi_kind kind, size_t offset, size_t bytes)
{
    irisi_heap *own = &w->heaps[w->rank];
    iris_status status = IRIS_OK;
    irisi_parcel parcel;
    for (int r = 0; r < w->size; r++) {
        const char *why =
            r != w->rank && w->peers[r].near ? irisi_dev_heap_attach(&w->dev, &w->heaps[r], offset, bytes, -1) : NULL;
        if (why)
            status = irisi_fail(w, IRIS_ERR_DEVICE, "cannot reach the heap of rank %d: %s", r, why);
    }
    if (own->fd >= 0 && w->size > 1) {
        parcel.fd = own->fd;
        parcel.what = "heap";
        parcel.take = irisi_take_piece;
        parcel.offset = offset;
        parcel.bytes = bytes;
        parcel.arg = NULL;
        const iris_status sent = irisi_post_exchange(w, &parcel);
        status = status == IRIS_OK ? sent : status;
    }
    if (own->fd >= 0)
        close(own->fd);
    own->fd = -1;
    return irisi_agree(w, kind, status);
}

/* Addresses for every other rank's heap; with IPC the heap itself. */
static iris_status irisi_import_heaps(iris_world *w, const irisi_hello *all)
{
    for (int r = 0; r < w->size; r++) {
        if (all[r].alignment < w->dev.heap_alignment)
            w->dev.heap_alignment = (size_t)all[r].alignment;
        if (r == w->rank)
            continue;
        const char *why =
            irisi_dev_heap_import(&w->dev, w->mode, &all[r].handle, w->peers[r].near, w->heap_most, &w->heaps[r]);
        if (why)
            return irisi_fail(w, IRIS_ERR_DEVICE, "cannot map the heap of rank %d: %s", r, why);
        w->delta[r] = (int64_t)((uint64_t)(uintptr_t)w->heaps[r].base - (uint64_t)(uintptr_t)w->heaps[w->rank].base);
    }
    return IRIS_OK;
}

static iris_status irisi_share_heaps(iris_world *w)
{
    irisi_hello mine;
    char *data = NULL;
    size_t total = 0;
    memset(&mine, 0, sizeof mine);
    mine.alignment = w->dev.heap_alignment;
    irisi_dev_heap_export(&w->dev, w->mode, &w->heaps[w->rank], &mine.handle);
    iris_status status = irisi_gather(w, IRISI_INIT, sizeof mine, 2, &mine, sizeof mine, &data, &total);
    if (status != IRIS_OK)
        return status;
    status = irisi_import_heaps(w, (const irisi_hello *)(void *)data);
    free(data);
    status = irisi_agree(w, IRISI_INIT, status);
    return status == IRIS_OK ? irisi_share_piece(w, IRISI_INIT, 0, w->heap_bytes) : status;
}

static void irisi_close_imports(iris_world *w)
{
    for (int r = 0; w->heaps && r < w->size; r++)
        if (r != w->rank)
            irisi_dev_heap_close(&w->dev, &w->heaps[r], 0);
}

static void irisi_heaps_free(iris_world *w)
{
    irisi_close_imports(w);
    if (w->heaps)
        irisi_dev_heap_close(&w->dev, &w->heaps[w->rank], 1);
}

/* Every rank's heap, in the mode that was chosen. */
static iris_status irisi_build_heaps(iris_world *w)
{
    const char *why = irisi_dev_heap_create(&w->dev, w->mode, w->rank, w->heap_bytes, w->heap_most, &w->heaps[w->rank]);
    iris_status status = why ? irisi_fail(w, IRIS_ERR_NOMEM,
                                          "cannot create a heap of %zu MiB (%s, addresses for %zu MiB): %s; lower %s",
                                          w->heap_bytes >> 20, irisi_mode_name[w->mode], w->heap_most >> 20, why,
                                          irisi_size_name(w, IRIS_MEM_DATA))
                             : IRIS_OK;
    status = irisi_agree(w, IRISI_INIT, status);
    return status == IRIS_OK ? irisi_share_heaps(w) : status;
}

/* Start-up: from what was asked for to heaps that every rank maps. */
static iris_status irisi_make_heaps(iris_world *w, const irisi_settings *s)
{
    iris_status status = irisi_exchange_intents(w, s);
    if (status != IRIS_OK)
        return status;
    status = irisi_build_heaps(w);
    if (status != IRIS_OK && w->mode_auto && w->mode == IRISI_HEAP_VMM && !w->failed) {
        irisi_log(w->rank, IRISI_WARN, "heaps cannot grow (IRIS_HEAP=ipc): %s", w->error);
        irisi_heaps_free(w);
        w->mode = IRISI_HEAP_IPC;
        w->heap_most = w->heap_bytes;
        status = irisi_build_heaps(w);
    }
    if (status != IRIS_OK)
        return status;
    irisi_arena_init(&w->arena[IRIS_MEM_SYNC], sizeof *w->control, w->sync_bytes, 64);
    irisi_arena_init(&w->arena[IRIS_MEM_DATA], w->sync_bytes, w->heap_bytes, 256);
    const char *why = irisi_dev_heap_settled(&w->dev);
    if (why)
        return irisi_fail(w, IRIS_ERR_DEVICE, "%s", why);
    /* From here on the thread that listens may raise the abort word. */
    __atomic_store_n(&w->control, (irisi_control *)(void *)w->heaps[w->rank].base, __ATOMIC_RELEASE);
    const size_t table = sizeof *w->delta * (size_t)w->size;
    why = IRISI_MOST_RANKS > IRIS_CTX_RANKS ? irisi_dev_table(&w->dev, w->delta, table, &w->far) : NULL;
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "cannot make the table of heap addresses: %s", why) : IRIS_OK;
}

/* The data part gets longer: the same addresses, more memory behind them. */
static void irisi_heap_grown(iris_world *w, size_t bytes)
{
    w->heap_bytes += bytes;
    w->arena[IRIS_MEM_DATA].end += bytes;
}

static void irisi_detach_all(iris_world *w, size_t offset, size_t bytes)
{
    for (int r = 0; r < w->size; r++)
        irisi_dev_heap_detach(&w->dev, &w->heaps[r], offset, bytes);
}

/* The collective part of iris_heap_grow; streams are drained. */
static iris_status irisi_grow(iris_world *w, size_t bytes)
{
    char *data;
    size_t total;
    iris_status status = irisi_gather(w, IRISI_GROW, bytes, w->heap_bytes, NULL, 0, &data, &total);
    if (status != IRIS_OK)
        return status;
    free(data);
    if (w->mode == IRISI_HEAP_IPC)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_heap_grow: this heap is one allocation and cannot grow; start with IRIS_HEAP=vmm, or "
                          "with a larger %s",
                          irisi_size_name(w, IRIS_MEM_DATA));
    const size_t room = w->heap_most - w->heap_bytes;
    if (bytes > room)
        return irisi_fail(w, IRIS_ERR_NOMEM,
                          "iris_heap_grow: asked for %zu more bytes, but the data heap has %zu and can grow by %zu; "
                          "raise %s (now %zu)",
                          bytes, w->heap_bytes - w->sync_bytes, room, irisi_size_name(w, IRISI_SIZE_MOST),
                          irisi_size_value(w, IRISI_SIZE_MOST, w->heap_most - w->sync_bytes));
    const size_t offset = w->heap_bytes, more = irisi_round_up(bytes, w->heap_block);
    const char *why = more ? irisi_dev_heap_extend(&w->dev, &w->heaps[w->rank], offset, more) : NULL;
    if (why)
        status = irisi_fail(w, IRIS_ERR_NOMEM, "iris_heap_grow: no memory for %zu more bytes: %s", more, why);
    status = irisi_agree(w, IRISI_GROW, status);
    if (status == IRIS_OK && more)
        status = irisi_share_piece(w, IRISI_GROW, offset, more);
    if (status == IRIS_OK)
        irisi_heap_grown(w, more);
    else
        irisi_detach_all(w, offset, more);
    return status;
}

#endif
#endif
