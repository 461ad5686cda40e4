/* SPDX-License-Identifier: MIT */
/*
 * window.h: a part of init.c: memory that others allocated, for all ranks. iris/window.h declares it.
 *
 *   irisi_window_numbered irisi_windows_free irisi_window_remote
 *
 * Each rank looks at its own memory, and all agree that nobody refuses it. They exchange cards, which say how the
 * memory is to be had, and where a card has a descriptor, descriptors; each maps what the others gave, and all agree
 * that this went well. Only then is there a window. Where a step fails on a rank, every rank undoes what it did.
 */
#ifndef IRIS_RUNTIME_WINDOW_H
#define IRIS_RUNTIME_WINDOW_H
#ifdef IRIS_INIT_C

#include <iris/runtime/group.h>
#include <iris/runtime/heap_map.h>

/* What one rank says of its memory. */
typedef struct irisi_window_offer {
    irisi_window_card card;
    uint64_t bytes;
    int32_t kind, pad;
} irisi_window_offer;

/* A live window by its number; null when there is none. */
static irisi_window *irisi_window_numbered(const iris_world *w, uint64_t number)
{
    for (size_t i = 0; i < w->n_windows; i++)
        if (w->windows[i].ctx.window == number)
            return w->windows + i;
    return NULL;
}

/* The live window that a value stands for; null where it stands for none of this world. */
static irisi_window *irisi_window_of(const iris_world *w, const iris_window *win)
{
    irisi_window *own = w && win && win->ctx.control == w->control ? irisi_window_numbered(w, win->ctx.window) : NULL;
    return own && own->ctx.base == win->ctx.base ? own : NULL;
}

/* Unmaps what this rank has of the others' memory. */
static void irisi_window_close(iris_world *w, irisi_window *win)
{
    for (int r = 0; win->parts && r < w->size; r++)
        irisi_dev_window_close(&w->dev, &win->parts[r].view);
}

static void irisi_window_free(iris_world *w, irisi_window *win)
{
    irisi_window_close(w, win);
    if (win->table)
        irisi_dev_local_free(&w->dev, win->table);
    free(win->parts);
    memset(win, 0, sizeof *win);
}

/* Unmaps all windows: their owners may free the memory. */
static void irisi_windows_close(iris_world *w)
{
    for (size_t i = 0; i < w->n_windows; i++)
        irisi_window_close(w, w->windows + i);
}

/* Gives back all of them; for a forked child's copy too. */
static void irisi_windows_free(iris_world *w)
{
    for (size_t i = 0; i < w->n_windows; i++)
        irisi_window_free(w, w->windows + i);
    free(w->windows);
    w->windows = NULL;
    w->n_windows = 0;
}

/* Where `bytes` bytes lie on `rank` that lie at p in an own window, as far from its first byte; null: in none. */
static void *irisi_window_remote(const iris_world *w, const void *p, size_t bytes, int rank)
{
    for (size_t i = 0; i < w->n_windows; i++) {
        const irisi_window *win = w->windows + i;
        const uint64_t offset = (uint64_t)(uintptr_t)p - win->ctx.base;
        const irisi_window_part *part = win->parts + rank;
        if (offset < win->ctx.bytes && offset <= part->bytes && bytes <= part->bytes - offset)
            return part->view.at + offset;
    }
    return NULL;
}

/* ---- making one ------------------------------------------------------------------------------------------------- */

/* Everything that can be wrong with a call on this rank alone, before its memory is looked at. */
static iris_status irisi_window_check(iris_world *w, const void *p, size_t bytes, iris_mem_kind kind,
                                      const iris_window *win)
{
    const uint64_t first = (uint64_t)(uintptr_t)p, heap = (uint64_t)(uintptr_t)w->heaps[w->rank].base;
    if (win == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_register: the window's address is null");
    if (kind != IRIS_MEM_DATA && kind != IRIS_MEM_SYNC)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_register: %d is no memory kind", (int)kind);
    if (bytes == 0)
        return IRIS_OK;
    if (p == NULL || bytes > UINT64_MAX - first)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_register: %zu bytes at %p are no memory", bytes, p);
    if (first < heap + w->heap_bytes && heap < first + bytes)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_register: %zu bytes at %p are in the symmetric heap, and every rank has them already",
                          bytes, p);
    for (size_t i = 0; i < w->n_windows; i++) {
        const iris_ctx *c = &w->windows[i].ctx;
        if (first < c->base + c->bytes && c->base < first + bytes)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "iris_register: %zu bytes at %p %s window %u, which is %llu bytes at 0x%llx; end that "
                              "with iris_unregister first",
                              bytes, p, first == c->base && bytes == c->bytes ? "are already" : "overlap", c->window,
                              (unsigned long long)c->bytes, (unsigned long long)c->base);
    }
    return IRIS_OK;
}

/* Whether a rank of this world is in another process. */
static int irisi_has_far_ranks(const iris_world *w)
{
    int far = 0;
    for (int r = 0; r < w->size; r++)
        far |= !w->peers[r].near;
    return far;
}

/* What this rank has to say of its memory, and the descriptor that it sends: of no use where none is needed. */
static iris_status irisi_window_offer_of(iris_world *w, void *p, size_t bytes, irisi_window_offer *offer, int *fd)
{
    const int far = irisi_has_far_ranks(w);
    const char *why = bytes ? irisi_dev_window_offer(&w->dev, p, bytes, &offer->card, fd) : NULL;
    offer->bytes = bytes;
    if (why)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_register: %zu bytes at %p cannot be a window: %s", bytes, p, why);
    if (far && offer->card.cannot[0])
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_register: %zu bytes at %p cannot be given to ranks of other processes: %s; allocate "
                          "them otherwise, or copy them into memory of iris_malloc",
                          bytes, p, offer->card.cannot);
    if (far && *fd < 0)
        *fd = irisi_descriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (far && *fd < 0)
        return irisi_fail(w, IRIS_ERR_SYSTEM, "iris_register: no more descriptors (see ulimit -n)");
    return IRIS_OK;
}

/* Everyone's offers, alike in what they must be; the caller's to free. */
static iris_status irisi_window_offers(iris_world *w, const irisi_window_offer *mine, irisi_window_offer **all)
{
    char *data;
    size_t total;
    iris_status status = irisi_gather(w, IRISI_REGISTER, 0, 0, mine, sizeof *mine, &data, &total);
    *all = (irisi_window_offer *)(void *)data;
    for (int r = 1; r < w->size && status == IRIS_OK; r++)
        if ((*all)[r].kind != (*all)[0].kind)
            status = irisi_fail(w, IRIS_ERR_MISMATCH,
                                "iris_register: the kind is %s on rank %d but %s on rank 0; it must be the same",
                                irisi_mem_name[(*all)[r].kind], r, irisi_mem_name[(*all)[0].kind]);
    return status;
}

/* While descriptors arrive. */
typedef struct irisi_window_making {
    const irisi_window_offer *all;
    irisi_window *win;
} irisi_window_making;

static const char *irisi_window_take(iris_world *w, int from, int fd, const irisi_parcel *p)
{
    const irisi_window_making *making = (const irisi_window_making *)p->arg;
    const irisi_window_card *card = &making->all[from].card;
    return making->all[from].bytes && irisi_dev_window_travels(card)
               ? irisi_dev_window_open(&w->dev, card, fd, &making->win->parts[from].view)
               : NULL;
}

/* Memory of others: of this process as it is, of other processes by handles or, all at once, by descriptors. */
static iris_status irisi_window_map(iris_world *w, const irisi_window_offer *all, irisi_window *win, int fd)
{
    iris_status status = IRIS_OK;
    int travels = 0;
    for (int r = 0; r < w->size; r++) {
        const irisi_window_offer *o = all + r;
        const char *why = NULL;
        win->parts[r].bytes = o->bytes;
        if (o->bytes == 0)
            continue;
        travels |= irisi_dev_window_travels(&o->card);
        if (w->peers[r].near)
            why = irisi_dev_window_near(&w->dev, &o->card, &win->parts[r].view);
        else if (!irisi_dev_window_travels(&o->card))
            why = irisi_dev_window_open(&w->dev, &o->card, -1, &win->parts[r].view);
        if (why)
            status = irisi_fail(w, IRIS_ERR_DEVICE, "iris_register: cannot reach the memory of rank %d: %s", r, why);
        win->parts[r].reach = !irisi_dev_window_is_here(&w->dev, &o->card) ? IRIS_REACH_PEER
                              : w->peers[r].near                           ? IRIS_REACH_PROCESS
                                                                           : IRIS_REACH_DEVICE;
    }
    if (!travels || !irisi_has_far_ranks(w))
        return status;
    irisi_window_making making = {all, win}; /* a rank whose memory goes without a descriptor takes part for others' */
    irisi_parcel parcel;
    parcel.fd = fd;
    parcel.what = "window";
    parcel.take = irisi_window_take;
    parcel.offset = parcel.bytes = 0;
    parcel.arg = &making;
    const iris_status sent = irisi_post_exchange(w, &parcel);
    return status == IRIS_OK ? sent : status;
}

/* The context: the heap's, with windows in the place of the heaps, and a table for what is rarely looked up. */
static iris_status irisi_window_context(iris_world *w, const void *p, iris_mem_kind kind, irisi_window *win)
{
    int64_t table[3 * IRISI_MOST_RANKS];
    iris_ctx *c = &win->ctx;
    *c = iris_device_ctx(w);
    c->bytes = win->parts[w->rank].bytes;
    /* A rank that gives nothing counts from an address on that is in nobody's memory, its own heap's least of all. */
    c->base = c->bytes ? (uint64_t)(uintptr_t)p : (uint64_t)1 << 62;
    c->sync_bytes = kind == IRIS_MEM_SYNC ? UINT64_MAX : 0;
    for (int r = 0; r < w->size; r++) {
        const char *at = win->parts[r].view.at;
        table[r] = at ? (int64_t)((uint64_t)(uintptr_t)at - c->base) : 0;
        table[w->size + r] = w->delta[r];
        table[2 * w->size + r] = (int64_t)win->parts[r].bytes;
        if (r < IRIS_CTX_RANKS)
            c->delta[r] = table[r];
    }
    const char *why = irisi_dev_table(&w->dev, table, 3 * sizeof *table * (size_t)w->size, &win->table);
    c->far = (const int64_t *)win->table;
    return why ? irisi_fail(w, IRIS_ERR_DEVICE, "iris_register: cannot make the table of addresses: %s", why) : IRIS_OK;
}

/* Room to remember it. */
static iris_status irisi_window_room(iris_world *w, irisi_window *win)
{
    irisi_window *more = (irisi_window *)realloc(w->windows, (w->n_windows + 1) * sizeof *more);
    if (more)
        w->windows = more;
    win->parts = (irisi_window_part *)calloc((size_t)w->size, sizeof *win->parts);
    return more && win->parts
               ? IRIS_OK
               : irisi_fail(w, IRIS_ERR_NOMEM, "iris_register: no memory for a window of %d ranks", w->size);
}

/* The collective part of iris_register, from what this rank thinks of its call. */
static iris_status irisi_window_make(iris_world *w, void *p, size_t bytes, iris_mem_kind kind, iris_status status,
                                     irisi_window *win)
{
    irisi_window_offer mine, *all = NULL;
    int fd = -1;
    memset(&mine, 0, sizeof mine);
    mine.kind = (int32_t)kind;
    if (status == IRIS_OK)
        status = irisi_window_room(w, win);
    if (status == IRIS_OK)
        status = irisi_window_offer_of(w, p, bytes, &mine, &fd);
    status = irisi_agree(w, IRISI_REGISTER, status);
    if (status == IRIS_OK)
        status = irisi_window_offers(w, &mine, &all);
    if (status == IRIS_OK) {
        status = irisi_window_map(w, all, win, fd);
        if (status == IRIS_OK)
            status = irisi_window_context(w, p, kind, win);
        status = irisi_agree(w, IRISI_REGISTER, status);
        if (status != IRIS_OK && !w->failed) {
            irisi_window_free(w, win); /* which may wait for the device, where a peer's next kernel would wait for us */
            (void)irisi_meet(w, IRISI_REGISTER);
        }
    }
    free(all);
    if (fd >= 0)
        close(fd);
    return status;
}

/* iris_register and iris_unregister, as a group holds them. */
typedef struct irisi_held_window {
    void *p;
    size_t bytes;
    iris_mem_kind kind;
    iris_window *win;
} irisi_held_window;

static iris_status irisi_held_register(iris_world *w, const void *args)
{
    const irisi_held_window *a = (const irisi_held_window *)args;
    return iris_register_kind(w, a->p, a->bytes, a->kind, a->win);
}

iris_status iris_register_kind(iris_world *w, void *p, size_t bytes, iris_mem_kind kind, iris_window *win)
{
    const irisi_held_window held = {p, bytes, kind, win};
    irisi_window made;
    if (irisi_grouped())
        return irisi_hold(w, "iris_register", irisi_held_register, IRISI_HELD_WAITS, &held, sizeof held);
    if (win)
        memset(win, 0, sizeof *win);
    memset(&made, 0, sizeof made);
    iris_status status = irisi_enter(w, "iris_register");
    if (status == IRIS_OK)
        status = iris_synchronize(w); /* memory is mapped while no kernel of this rank runs */
    if (!w || irisi_foreign(w) || w->failed)
        return status;
    if (status == IRIS_OK)
        status = irisi_window_check(w, p, bytes, kind, win);
    status = irisi_window_make(w, p, bytes, kind, status, &made);
    if (status != IRIS_OK) {
        irisi_window_free(w, &made);
        return status;
    }
    made.ctx.window = ++w->window_numbers;
    w->windows[w->n_windows++] = made;
    win->ctx = made.ctx;
    irisi_log(w->rank, IRISI_INFO, "window %u: %zu bytes at %p", made.ctx.window, bytes, p);
    return IRIS_OK;
}

iris_status iris_register(iris_world *w, void *p, size_t bytes, iris_window *win)
{
    return iris_register_kind(w, p, bytes, IRIS_MEM_DATA, win);
}

/* ---- ending one ------------------------------------------------------------------------------------------------- */

static iris_status irisi_held_unregister(iris_world *w, const void *args)
{
    return iris_unregister(w, ((const irisi_held_window *)args)->win);
}

/* Whether every rank means the same window: 0 is none, a rank has refused its own. */
static iris_status irisi_window_same(iris_world *w, uint64_t mine, iris_status own)
{
    char *data;
    size_t total;
    const iris_status met = irisi_gather(w, IRISI_UNREGISTER, 0, 0, &mine, sizeof mine, &data, &total);
    const uint64_t *all = (const uint64_t *)(void *)data;
    iris_status status = own != IRIS_OK ? own : met;
    for (int r = 0; r < w->size && status == IRIS_OK; r++)
        if (all[r] == 0)
            status = irisi_fail(w, IRIS_ERR_MISMATCH, "iris_unregister: rank %d refused its window", r);
    for (int r = 1; r < w->size && status == IRIS_OK; r++)
        if (all[r] != all[0])
            status = irisi_fail(w, IRIS_ERR_MISMATCH,
                                "iris_unregister: window %llu on rank %d but %llu on rank 0; it must be the same",
                                (unsigned long long)all[r], r, (unsigned long long)all[0]);
    free(data);
    return status;
}

iris_status iris_unregister(iris_world *w, iris_window *win)
{
    const irisi_held_window held = {NULL, 0, IRIS_MEM_DATA, win};
    if (irisi_grouped())
        return irisi_hold(w, "iris_unregister", irisi_held_unregister, IRISI_HELD_WAITS, &held, sizeof held);
    iris_status status = irisi_enter(w, "iris_unregister");
    if (status == IRIS_OK)
        status = iris_synchronize(w); /* no kernel of this rank touches it any more */
    if (!w || irisi_foreign(w) || w->failed)
        return status;
    irisi_window *own = irisi_window_of(w, win);
    if (status == IRIS_OK && own == NULL)
        status = irisi_fail(w, IRIS_ERR_ARGUMENT,
                            "iris_unregister: the window is not from iris_register of this world, or has ended");
    status = irisi_window_same(w, status == IRIS_OK ? own->ctx.window : 0, status);
    if (status != IRIS_OK)
        return status;
    irisi_window_free(w, own);
    *own = w->windows[--w->n_windows];
    memset(win, 0, sizeof *win);
    return irisi_meet(w, IRISI_UNREGISTER); /* nobody maps this rank's memory any more */
}

/* ---- questions -------------------------------------------------------------------------------------------------- */

/* A rank's part of a live window, or null. */
static const irisi_window_part *irisi_window_part_of(const iris_world *w, const iris_window *win, int rank)
{
    const irisi_window *own = irisi_window_of(w, win);
    return own && rank >= 0 && rank < w->size ? own->parts + rank : NULL;
}

iris_reach iris_window_reach(const iris_world *w, const iris_window *win, int rank)
{
    const irisi_window_part *part = irisi_window_part_of(w, win, rank);
    return part ? part->reach : IRIS_REACH_NONE;
}

size_t iris_window_bytes(const iris_world *w, const iris_window *win, int rank)
{
    const irisi_window_part *part = irisi_window_part_of(w, win, rank);
    return part ? (size_t)part->bytes : 0;
}

void *iris_window_translate(const iris_world *w, const iris_window *win, const void *p, int rank)
{
    const irisi_window_part *part = irisi_window_part_of(w, win, rank);
    const uint64_t offset = part ? (uint64_t)(uintptr_t)p - win->ctx.base : 0;
    return part && offset < part->bytes ? part->view.at + offset : NULL;
}

#endif
#endif
