/* SPDX-License-Identifier: MIT */
/*
 * heap_allocator.h: the symmetric heap's allocator, and the allocation log of checked mode.
 */
#ifndef IRIS_RUNTIME_HEAP_ALLOCATOR_H
#define IRIS_RUNTIME_HEAP_ALLOCATOR_H
#ifdef IRIS_INIT_C

#include <iris/runtime/control_link.h>

static const char *const irisi_mem_name[] = {"data", "sync"};

/* What a program sets, or who starts it: the sizes of both kinds of memory, and what the data part can grow to. */
enum { IRISI_SIZE_MOST = 2 };
static const char *const irisi_size_variable[] = {"IRIS_HEAP_MB", "IRIS_SYNC_MB", "IRIS_HEAP_MAX_MB"};
static const char *const irisi_size_field[] = {"iris_config.heap_bytes", "iris_config.sync_bytes",
                                               "iris_config.heap_max_bytes"};
/* Which of the two counts in this world, for sentences; and a number of bytes in its unit: MiB, or bytes. */
static const char *irisi_size_name(const iris_world *w, int size)
{
    return w->config_sizes[size] ? irisi_size_field[size] : irisi_size_variable[size];
}
static size_t irisi_size_value(const iris_world *w, int size, size_t bytes)
{
    return w->config_sizes[size] ? bytes : bytes >> 20;
}

static size_t irisi_round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static void irisi_arena_init(irisi_arena *a, size_t start, size_t end, size_t granule)
{
    memset(a, 0, sizeof *a);
    a->start = start;
    a->end = end;
    a->granule = granule;
}

/* Room for one more block; 0: there is no memory. */
static int irisi_arena_room(irisi_arena *a)
{
    const size_t room = a->room ? 2 * a->room : 64;
    if (a->n < a->room)
        return 1;
    irisi_block *blocks = (irisi_block *)realloc(a->blocks, room * sizeof *blocks);
    if (!blocks)
        return 0;
    a->blocks = blocks;
    a->room = room;
    return 1;
}

/* A block behind the arena's end, which the caller moves. */
static irisi_block *irisi_arena_append(irisi_arena *a, size_t bytes)
{
    if (!irisi_arena_room(a))
        return NULL;
    memset(&a->blocks[a->n], 0, sizeof *a->blocks);
    a->blocks[a->n].offset = a->end;
    a->blocks[a->n].bytes = bytes;
    return &a->blocks[a->n++];
}

/*
 * First fit by offset: looks at the holes from the lowest on. Equal call sequences give equal offsets on every rank.
 */
static irisi_block *irisi_arena_alloc(irisi_arena *a, size_t bytes, size_t align)
{
    const size_t want = irisi_round_up(bytes ? bytes : 1, a->granule);
    size_t from = a->start, i;
    if (!irisi_arena_room(a))
        return NULL;
    for (i = 0; i <= a->n; i++) {
        const size_t end = i < a->n ? a->blocks[i].offset : a->end, at = irisi_round_up(from, align);
        if (at <= end && end - at >= want) {
            memmove(a->blocks + i + 1, a->blocks + i, (a->n - i) * sizeof *a->blocks);
            memset(&a->blocks[i], 0, sizeof *a->blocks);
            a->blocks[i].offset = at;
            a->blocks[i].bytes = want;
            a->n++;
            a->used += want;
            if (a->used > a->high)
                a->high = a->used;
            return &a->blocks[i];
        }
        if (i < a->n)
            from = end + a->blocks[i].bytes;
    }
    return NULL;
}

static size_t irisi_arena_largest(const irisi_arena *a)
{
    size_t from = a->start, largest = 0;
    for (size_t i = 0; i <= a->n; i++) {
        const size_t end = i < a->n ? a->blocks[i].offset : a->end;
        if (end - from > largest)
            largest = end - from;
        if (i < a->n)
            from = end + a->blocks[i].bytes;
    }
    return largest;
}

/* The live block that starts at `offset`; null when there is none. */
static irisi_block *irisi_arena_at(const irisi_arena *a, size_t offset)
{
    size_t low = 0, high = a->n;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (a->blocks[mid].offset < offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low < a->n && a->blocks[low].offset == offset ? &a->blocks[low] : NULL;
}

/* The live block of sync memory that starts at `p`, as a channel's does at its signals; likewise. */
static irisi_block *irisi_sync_block(const iris_world *w, const void *p)
{
    return irisi_arena_at(&w->arena[IRIS_MEM_SYNC], (size_t)((uintptr_t)p - (uintptr_t)w->heaps[w->rank].base));
}

/* 1 when a live block starts at `offset`; it is gone then, and its neighbours' holes are one. */
static int irisi_arena_free(irisi_arena *a, size_t offset)
{
    irisi_block *block = irisi_arena_at(a, offset);
    if (!block || block->tag >= IRISI_BLOCK_LENT)
        return 0;
    a->used -= block->bytes;
    memmove(block, block + 1, (size_t)(a->blocks + a->n - block - 1) * sizeof *block);
    a->n--;
    return 1;
}

static void irisi_log_call(iris_world *w, size_t bytes, size_t align, iris_mem_kind kind, int freed)
{
    irisi_record *r = &w->log[w->log_count++ % IRISI_RECORDS];
    memset(r, 0, sizeof *r);
    r->bytes = bytes;
    r->align = (uint32_t)align;
    r->kind = (uint32_t)kind;
    r->freed = (uint32_t)freed;
    const unsigned char *p = (const unsigned char *)r;
    for (size_t i = 0; i < sizeof *r; i++)
        w->log_hash = irisi_hash_word(w->log_hash, p[i]);
}

static void irisi_record_text(char *text, size_t room, const irisi_record *r)
{
    if (r->freed)
        snprintf(text, room, "gave back heap offset %llu", (unsigned long long)r->bytes);
    else
        snprintf(text, room, "asked for %llu bytes of %s memory, aligned to %u", (unsigned long long)r->bytes,
                 irisi_mem_name[r->kind & 1], (unsigned)r->align);
}

/* What one rank says of its allocation calls. */
typedef struct irisi_history {
    uint64_t count, hash;
    irisi_record log[IRISI_RECORDS];
} irisi_history;

/* Names the first call in which two ranks' allocations differ. */
static iris_status irisi_name_difference(iris_world *w, const irisi_history *a, const irisi_history *b, int rank)
{
    char ours[128], theirs[128];
    const uint64_t most = a->count > b->count ? a->count : b->count, least = a->count + b->count - most;
    uint64_t i = most > IRISI_RECORDS ? most - IRISI_RECORDS : 0;
    while (i < least && memcmp(&a->log[i % IRISI_RECORDS], &b->log[i % IRISI_RECORDS], sizeof a->log[0]) == 0)
        i++;
    if (i >= most)
        return irisi_fail(w, IRIS_ERR_MISMATCH, "ranks 0 and %d differ in an allocation call before call %llu", rank,
                          (unsigned long long)i - IRISI_RECORDS + 1);
    snprintf(ours, sizeof ours, "made no such call");
    snprintf(theirs, sizeof theirs, "made no such call");
    if (i < a->count)
        irisi_record_text(ours, sizeof ours, &a->log[i % IRISI_RECORDS]);
    if (i < b->count)
        irisi_record_text(theirs, sizeof theirs, &b->log[i % IRISI_RECORDS]);
    return irisi_fail(
        w, IRIS_ERR_MISMATCH,
        "allocation call %llu differs between ranks: rank 0 %s, rank %d %s; make them in one order on all ranks",
        (unsigned long long)i + 1, ours, rank, theirs);
}

/* Checked mode: the ranks compare their allocation calls. */
static iris_status irisi_compare_logs(iris_world *w)
{
    irisi_history mine, *all = NULL;
    char *data;
    size_t total;
    mine.count = w->log_count;
    mine.hash = w->log_hash;
    memcpy(mine.log, w->log, sizeof mine.log);
    iris_status status = irisi_gather(w, IRISI_CHECK, sizeof mine, 0, &mine, sizeof mine, &data, &total);
    if (status != IRIS_OK)
        return status;
    all = (irisi_history *)(void *)data;
    for (int r = 1; r < w->size && total == sizeof mine * (size_t)w->size && status == IRIS_OK; r++)
        if (all[r].count != all[0].count || all[r].hash != all[0].hash)
            status = irisi_name_difference(w, &all[0], &all[r], r);
    free(data);
    return status;
}

#endif
#endif
