/* SPDX-License-Identifier: MIT */
/*
 * heap_import.h: a part of init.c: iris_as_symmetric: memory that is mapped a second time, as a part of the heap.
 *
 *   irisi_adopt irisi_adopted irisi_give_back irisi_absent_bytes
 *
 * The ranks tell each other whether their memory can be mapped again. Where it can on all of them, and lies in its
 * mapping alike, the mappings go behind addresses at the heap's end and are shared like any other piece: one block of
 * the data arena, lent. Given back, its addresses go too when they are the heap's last; else they stay without memory,
 * for the next mapping of that size.
 */
#ifndef IRIS_RUNTIME_HEAP_IMPORT_H
#define IRIS_RUNTIME_HEAP_IMPORT_H
#ifdef IRIS_INIT_C

#include <iris/runtime/heap_map.h>

/* What one rank says of its memory. */
typedef struct irisi_offer {
    uint64_t lead, size; /* bytes from its mapping's start to it; of the mapping */
    int32_t null, pad;
    char cannot[120]; /* why it cannot be mapped again; empty: it can */
} irisi_offer;

/* Fails, or says in `why` for what reason this has to be a copy; an empty `why`: every rank's can be adopted. */
static iris_status irisi_compare_offers(iris_world *w, const irisi_offer *mine, size_t bytes, char *why, size_t room)
{
    char *data;
    size_t total;
    iris_status status = irisi_gather(w, IRISI_ADOPT, bytes, w->heap_bytes, mine, sizeof *mine, &data, &total);
    if (status != IRIS_OK)
        return status;
    const irisi_offer *all = (const irisi_offer *)(void *)data;
    why[0] = 0;
    for (int r = 0; r < w->size && status == IRIS_OK; r++) {
        if (all[r].null)
            status = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_as_symmetric: the source is null on rank %d", r);
        else if (!why[0] && all[r].cannot[0])
            snprintf(why, room, "on rank %d %s", r, all[r].cannot);
        else if (!why[0] && (all[r].lead != mine->lead || all[r].size != mine->size))
            snprintf(why, room, "its mappings differ between ranks %d and %d", w->rank, r);
    }
    if (status == IRIS_OK && !why[0] && irisi_round_up(mine->size, w->heap_block) > w->heap_most - w->heap_bytes)
        snprintf(why, room, "no addresses are left at the heap's end (%s)", irisi_size_name(w, IRISI_SIZE_MOST));
    free(data);
    return status;
}

/* A block for the mapping: addresses without memory that an earlier one left, or new ones at the end. */
static irisi_block *irisi_lent_block(iris_world *w, size_t bytes)
{
    irisi_arena *a = &w->arena[IRIS_MEM_DATA];
    for (size_t i = 0; i < a->n; i++)
        if (a->blocks[i].tag == IRISI_BLOCK_ABSENT && a->blocks[i].bytes == bytes)
            return &a->blocks[i];
    irisi_block *b = irisi_arena_append(a, bytes);
    if (!b)
        return NULL;
    b->tag = IRISI_BLOCK_ABSENT;
    a->end += bytes;
    w->heap_bytes += bytes;
    return b;
}

/* Addresses without memory at the heap's end are no longer of the heap. */
static void irisi_drop_absent(iris_world *w)
{
    irisi_arena *a = &w->arena[IRIS_MEM_DATA];
    while (a->n > 0 && a->blocks[a->n - 1].tag == IRISI_BLOCK_ABSENT &&
           a->blocks[a->n - 1].offset + a->blocks[a->n - 1].bytes == a->end) {
        a->end -= a->blocks[a->n - 1].bytes;
        w->heap_bytes -= a->blocks[a->n - 1].bytes;
        a->n--;
    }
}

/* Maps what was found behind the addresses of a block, on every rank; null when it did not go well everywhere. */
static void *irisi_map_found(iris_world *w, const irisi_found *found, size_t lead)
{
    irisi_arena *a = &w->arena[IRIS_MEM_DATA];
    irisi_block *b = irisi_lent_block(w, irisi_round_up(found->bytes, w->heap_block));
    const char *why = b ? irisi_dev_heap_alias(&w->dev, &w->heaps[w->rank], b->offset, found) : "no memory";
    iris_status status = why ? irisi_fail(w, IRIS_ERR_DEVICE, "%s", why) : IRIS_OK;
    status = irisi_agree(w, IRISI_ADOPT, status);
    if (status == IRIS_OK)
        status = irisi_share_piece(w, IRISI_ADOPT, b->offset, found->bytes);
    if (status != IRIS_OK) {
        if (b)
            irisi_detach_all(w, b->offset, found->bytes);
        irisi_drop_absent(w);
        return NULL;
    }
    b->tag = IRISI_BLOCK_LENT;
    b->lead = lead;
    b->mapped = found->bytes;
    a->used += b->bytes;
    a->high = a->used > a->high ? a->used : a->high;
    irisi_log_call(w, found->bytes, 0, IRIS_MEM_DATA, 0);
    return w->heaps[w->rank].base + b->offset + lead;
}

/* The collective part of iris_as_symmetric: the memory's own symmetric address, or null: to be copied if IRIS_OK. */
static void *irisi_adopt(iris_world *w, const void *p, size_t bytes, iris_status *status)
{
    char why[200];
    irisi_found found;
    irisi_offer mine;
    memset(&found, 0, sizeof found);
    memset(&mine, 0, sizeof mine);
    found.fd = -1;
    const char *cannot = bytes ? irisi_dev_heap_find(&w->dev, p, bytes, &found) : "it is empty";
    if (!cannot && iris_is_symmetric(w, p, 1))
        cannot = "it is in the heap already";
    snprintf(mine.cannot, sizeof mine.cannot, "%.*s", (int)sizeof mine.cannot - 1, cannot ? cannot : "");
    mine.null = !p && bytes;
    mine.lead = cannot ? 0 : (uint64_t)((const char *)p - found.base);
    mine.size = found.bytes;
    *status = irisi_compare_offers(w, &mine, bytes, why, sizeof why);
    void *adopted = *status == IRIS_OK && !why[0] ? irisi_map_found(w, &found, (size_t)mine.lead) : NULL;
    if (*status == IRIS_OK && !adopted)
        irisi_log(w->rank, IRISI_INFO, "iris_as_symmetric copies: %s", why[0] ? why : w->error);
    if (found.fd >= 0)
        close(found.fd);
    if (w->failed)
        *status = w->failed;
    return adopted;
}

/* The block of lent memory that an offset of the heap lies in, or null. */
static irisi_block *irisi_adopted(const iris_world *w, size_t offset)
{
    const irisi_arena *a = &w->arena[IRIS_MEM_DATA];
    for (size_t i = 0; i < a->n; i++)
        if (a->blocks[i].tag == IRISI_BLOCK_LENT && offset - a->blocks[i].offset < a->blocks[i].mapped)
            return &a->blocks[i];
    return NULL;
}

/* Lets go of lent memory: it stays its owner's. Streams are drained. */
static void irisi_give_back(iris_world *w, irisi_block *b)
{
    irisi_detach_all(w, b->offset, b->mapped);
    b->tag = IRISI_BLOCK_ABSENT;
    w->arena[IRIS_MEM_DATA].used -= b->bytes;
    irisi_drop_absent(w);
}

/* Bytes of an arena that have addresses only. */
static size_t irisi_absent_bytes(const irisi_arena *a)
{
    size_t bytes = 0;
    for (size_t i = 0; i < a->n; i++)
        bytes += a->blocks[i].tag == IRISI_BLOCK_ABSENT ? a->blocks[i].bytes : 0;
    return bytes;
}

#endif
#endif
