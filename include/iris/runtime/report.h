/* SPDX-License-Identifier: MIT */
/*
 * report.h: a part of init.c: what a kernel left in its control block, in one sentence.
 *
 *   irisi_remember_launch irisi_by_signals irisi_reporter irisi_report_text
 */
#ifndef IRIS_RUNTIME_REPORT_H
#define IRIS_RUNTIME_REPORT_H
#ifdef IRIS_INIT_C

#include <iris/runtime/team.h>
#include <iris/runtime/window.h>

/* Kernels do not know their own names: the world keeps those of its latest launches. */
static void irisi_remember_launch(iris_world *w, const char *name, uint32_t workgroups)
{
    irisi_launched *l = &w->launched[w->launches++ % IRISI_LAUNCHES];
    l->name = name;
    l->workgroups = workgroups;
}

/*
 * "kernel a, ", or "kernel a or b, " where several of the latest launches had as many workgroups. 0: the report does
 * not know how many there were, any may be meant.
 */
static void irisi_kernel_text(const iris_world *w, uint32_t workgroups, char *text, size_t bytes)
{
    const char *named[IRISI_LAUNCHES];
    size_t used = 0;
    uint32_t n = 0;
    text[0] = 0;
    for (uint32_t back = 1; back <= IRISI_LAUNCHES && back <= w->launches; back++) {
        const irisi_launched *l = &w->launched[(w->launches - back) % IRISI_LAUNCHES];
        uint32_t before = 0;
        while (before < n && strcmp(named[before], l->name) != 0)
            before++;
        if (before < n || (workgroups && l->workgroups != workgroups) || used + strlen(l->name) + 10 > bytes)
            continue; /* named already, another one, or no room for all of its name */
        named[n++] = l->name;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " or " : "kernel ", l->name);
    }
    if (used)
        snprintf(text + used, bytes - used, ", ");
}

static const char irisi_by_signals[] = "iris_signals";

/* " (signal 2 of 3 from iris_signals, allocation call 5)": what lies at an offset of the heap, on all ranks. */
static void irisi_place_text(const iris_world *w, uint64_t offset, char *text, size_t room)
{
    text[0] = 0;
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < w->arena[kind].n; i++) {
            const irisi_block *b = &w->arena[kind].blocks[i];
            if (offset < b->offset || offset - b->offset >= b->bytes || !b->by)
                continue;
            const size_t one = b->by == irisi_by_signals ? sizeof(iris_signal) : 1;
            snprintf(text, room, " (%s %zu of %zu from %s, allocation call %llu)", one > 1 ? "signal" : "byte",
                     (size_t)(offset - b->offset) / one, b->asked / one, b->by, (unsigned long long)b->call);
        }
}

/* What is wrong with an access that checked mode refused. */
static void irisi_fault_text(const iris_world *w, const irisi_report *r, char *text, size_t bytes)
{
    switch ((irisi_fault)r->fault) {
    case IRISI_FAULT_RANK:
        if (irisi_team_numbered(w, r->team))
            snprintf(text, bytes, "names no rank of the kernel's team (0 to %d)",
                     (int)irisi_team_numbered(w, r->team)->size - 1);
        else
            snprintf(text, bytes, "names no rank of this world (0 to %d)", w->size - 1);
        break;
    case IRISI_FAULT_RANGE:
        if (r->expected)
            snprintf(text, bytes, "is not inside that rank's %llu bytes of the window", (unsigned long long)r->seen);
        else
            snprintf(text, bytes, "is not inside the heap of %zu bytes", w->heap_bytes);
        break;
    case IRISI_FAULT_ALIGN: snprintf(text, bytes, "is not aligned to %u bytes", r->size); break;
    case IRISI_FAULT_PITCH: snprintf(text, bytes, "is of a row that is longer than the pitch of dst"); break;
    default:
        snprintf(text, bytes, "is atomic but not in sync memory (%s with IRIS_MEM_SYNC)",
                 r->expected ? "iris_register_kind" : "iris_malloc_kind");
        break;
    }
}

/* A window's context where only the heap's will do; 0 when the report is about something else. */
static int irisi_window_text(char *text, size_t bytes, int rank, const char *kernel, const irisi_report *r)
{
    const char *const what = r->access == IRISI_ACCESS_SIGNAL ? "a signal"
                             : r->access == IRISI_ACCESS_WAIT ? "a wait"
                             : r->access == IRISI_ACCESS_LL   ? "an LL message"
                                                              : "a collective";
    if (r->fault != IRISI_FAULT_WINDOW)
        return 0;
    snprintf(text, bytes,
             "rank %d, %sworkgroup %u: %s was given the context of window %llu; it takes the heap's, from "
             "iris_device_ctx; call iris_reset on every rank",
             rank, kernel, r->workgroup, what, (unsigned long long)r->expected);
    return 1;
}

/* What one rank has named and another cannot follow: roots, messages, rows; 0 when the report is not about that. */
static int irisi_named_text(char *text, size_t bytes, int rank, const char *kernel, const irisi_report *r)
{
    const unsigned long long expected = r->expected, seen = r->seen;
    char what[128];
    if (r->fault == IRISI_FAULT_CALL && (uint32_t)expected != (uint32_t)seen)
        snprintf(what, sizeof what, "the collective was called with root %d, on rank %d with root %d",
                 (int)(int32_t)expected, (int)r->from, (int)(int32_t)seen);
    else if (r->fault == IRISI_FAULT_CALL)
        snprintf(what, sizeof what,
                 "the collective was called with another operation, size of element or length of row on rank %d",
                 (int)r->from);
    else if (r->fault == IRISI_FAULT_BYTES)
        snprintf(what, sizeof what, "a message of %llu bytes was to be received, rank %d sent one of %llu", expected,
                 (int)r->from, seen);
    else if (r->fault == IRISI_FAULT_ROOM)
        snprintf(what, sizeof what, "rank %d sends a row of %llu elements, and dst_counts has room for %llu",
                 (int)r->from, seen, expected);
    else if (r->fault == IRISI_FAULT_ROW)
        snprintf(what, sizeof what, "the row of %llu elements from element %llu on is not inside the heap of rank %d",
                 seen, expected, (int)r->from);
    else
        return 0;
    snprintf(text, bytes, "rank %d, %sworkgroup %u: %s; call iris_reset on every rank", rank, kernel, r->workgroup,
             what);
    return 1;
}

/* What was refused in a collective; 0 when the report is about something else. */
static int irisi_collective_text(char *text, size_t bytes, int rank, const char *kernel, const irisi_report *r)
{
    if (r->fault == IRISI_FAULT_COUNT)
        snprintf(text, bytes,
                 "rank %d, %sworkgroup %u: the collective was called with %llu elements, on rank %d with %llu; call "
                 "iris_reset on every rank",
                 rank, kernel, r->workgroup, (unsigned long long)r->expected, (int)r->from,
                 (unsigned long long)r->seen);
    else if (r->fault == IRISI_FAULT_BUSY)
        snprintf(text, bytes,
                 "rank %d, %sworkgroup %u: slice %llu of the channel is in use by another workgroup: two streams need "
                 "two channels; call iris_reset on every rank",
                 rank, kernel, r->workgroup, (unsigned long long)r->seen);
    else if (r->fault == IRISI_FAULT_SLICE)
        snprintf(
            text, bytes,
            "rank %d, %sworkgroup %u: there is no slice %llu: the channel has room for %llu slices, or is not from "
            "iris_collective_channel; call iris_reset on every rank",
            rank, kernel, r->workgroup, (unsigned long long)r->seen, (unsigned long long)r->expected);
    else
        return irisi_named_text(text, bytes, rank, kernel, r);
    return 1;
}

/* Where the channel lies that a report is about; null when it is about none. */
static const irisi_block *irisi_report_block(const iris_world *w, const irisi_report *r)
{
    const irisi_arena *a = &w->arena[IRIS_MEM_SYNC];
    for (size_t i = 0; i < a->n; i++)
        if (r->signal >= a->blocks[i].offset && r->signal - a->blocks[i].offset < a->blocks[i].bytes)
            return a->blocks + i;
    return NULL;
}

/*
 * A report whose ranks are the world's. Kernels with a team's context name ranks of that team. The report says which
 * team in checked mode; else a wait is for a signal of a channel, and launchers have noted whose that is. 0: nobody
 * knows whether a kernel of the caller's had a team's context.
 */
static int irisi_report_of_world(const iris_world *w, irisi_report *r)
{
    const irisi_block *block = r->fault == IRISI_FAULT_NONE ? irisi_report_block(w, r) : NULL;
    const irisi_team *list = irisi_team_numbered(w, r->team);
    if (!list && block)
        list = irisi_team_of(w, block->team);
    if (!list)
        return r->team == 0 &&
               (w->team_numbers == 0 || r->fault != IRISI_FAULT_NONE || (block && block->team.size != 0));
    if (r->from >= 0 && r->from < list->size)
        r->from = list->ranks[r->from];
    if (r->fault == IRISI_FAULT_CALL && (uint32_t)r->expected < (uint32_t)list->size)
        r->expected = (r->expected & ~(uint64_t)UINT32_MAX) | (uint32_t)list->ranks[(uint32_t)r->expected];
    if (r->fault == IRISI_FAULT_CALL && (uint32_t)r->seen < (uint32_t)list->size)
        r->seen = (r->seen & ~(uint64_t)UINT32_MAX) | (uint32_t)list->ranks[(uint32_t)r->seen];
    return 1;
}

/*
 * Whose report an abort word stands for. A kernel that had a team's context has left its rank there instead of its rank
 * in the world: where teams were made, who reported is who has a report.
 */
static int irisi_reporter(iris_world *w, const irisi_control *own)
{
    irisi_control theirs;
    const int named = (int)(own->abort - 1);
    if (!own->abort || w->team_numbers == 0 || __atomic_load_n(&w->notice, __ATOMIC_ACQUIRE))
        return named;
    if (own->report.complete)
        return w->rank;
    for (int r = 0; r < w->size; r++)
        if (r != w->rank &&
            irisi_dev_read_control(&w->dev, (const irisi_control *)(void *)w->heaps[r].base, &theirs) == NULL &&
            theirs.report.complete)
            return r;
    return named;
}

/* An index that a tensor does not take; 0 when the report is about something else. */
static int irisi_index_text(char *text, size_t bytes, int rank, const char *kernel, const irisi_report *r)
{
    const long long index = (long long)r->seen;
    const int dim = (int)r->items;
    char what[160];
    if (r->fault == IRISI_FAULT_INDEX)
        snprintf(what, sizeof what, "index %lld of dimension %d is outside the tensor, which has %llu there", index,
                 dim, (unsigned long long)r->expected);
    else if (r->fault == IRISI_FAULT_VECTOR)
        snprintf(what, sizeof what,
                 "16 bytes of a tensor from index %lld of dimension %d on are not aligned, or not in one shard without "
                 "gaps; ask iris_tensor_vec_fits",
                 index, dim);
    else
        return 0;
    snprintf(text, bytes, "rank %d, %sworkgroup %u: %s; call iris_reset on every rank", rank, kernel, r->workgroup,
             what);
    return 1;
}

/* The report of `rank` as a sentence. Only the own launches are known by name. */
static iris_status irisi_report_text(char *text, size_t bytes, const iris_world *w, int rank,
                                     const irisi_report *written)
{
    static const char *const cmps[] = {"equal", "differ from", "be above", "be at least", "be below", "be at most"};
    static const char *const accesses[] = {"iris_at",          "load",   "store", "put",       "get", "copy", "receive",
                                           "atomic operation", "signal", "wait",  "LL message"};
    irisi_report report = *written;
    const irisi_report *r = &report;
    char kernel[160] = "", from[96] = "", place[96], what[96], where[160], count[48] = "";
    if (!r->complete || r->cmp > IRISI_LE || r->access > IRISI_ACCESS_LL) {
        snprintf(text, bytes, "rank %d stopped the world; call iris_reset on every rank", rank);
        return IRIS_ERR_TIMEOUT;
    }
    const int known = irisi_report_of_world(w, &report);
    if (rank == w->rank)
        irisi_kernel_text(w, r->workgroups, kernel, sizeof kernel);
    irisi_place_text(w, r->signal, place, sizeof place);
    if (r->fault == IRISI_FAULT_NONE) {
        const int never = r->seen == 0 && (r->cmp == IRISI_EQ || r->cmp == IRISI_GT || r->cmp == IRISI_GE);
        if (r->from >= 0)
            snprintf(from, sizeof from, " from rank %d%s, which may have refused the call", (int)r->from,
                     known ? "" : " of the kernel's context");
        snprintf(text, bytes,
                 "rank %d, %sworkgroup %u waited %lld ms for the signal at heap offset %llu%s to %s %llu (saw %llu)"
                 "%s%s; call iris_reset on every rank",
                 rank, kernel, r->workgroup, (long long)w->timeout_ms, (unsigned long long)r->signal, place,
                 cmps[r->cmp], (unsigned long long)r->expected, (unsigned long long)r->seen, from,
                 never ? ": nobody raised it, or somebody did before an iris_barrier followed its creation" : "");
        return IRIS_ERR_TIMEOUT;
    }
    if (irisi_collective_text(text, bytes, rank, kernel, r) || irisi_index_text(text, bytes, rank, kernel, r) ||
        irisi_window_text(text, bytes, rank, kernel, r))
        return IRIS_ERR_CHECK;
    if (r->expected)
        snprintf(where, sizeof where, "%s%llu of window %llu", r->signal >> 63 ? "offset -" : "offset ",
                 (unsigned long long)(r->signal >> 63 ? 0 - r->signal : r->signal), (unsigned long long)r->expected);
    else if (r->signal <= w->heap_bytes)
        snprintf(where, sizeof where, "heap offset %llu%s", (unsigned long long)r->signal, place);
    else
        snprintf(where, sizeof where, "address 0x%llx", (unsigned long long)r->address);
    if (r->access != IRISI_ACCESS_AT)
        snprintf(count, sizeof count, " of %llu x %u bytes", (unsigned long long)r->items, r->size);
    irisi_fault_text(w, r, what, sizeof what);
    snprintf(text, bytes, "rank %d, %sworkgroup %u: %s%s at %s on rank %d %s; call iris_reset on every rank", rank,
             kernel, r->workgroup, accesses[r->access], count, where, (int)r->from, what);
    return IRIS_ERR_CHECK;
}

#endif
#endif
