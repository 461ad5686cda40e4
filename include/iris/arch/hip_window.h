/* SPDX-License-Identifier: MIT */
/*
 * hip_window.h: the part of hip_runtime.h that maps memory that others allocated. Only init.c includes it.
 *
 * Ranks of one process use its address as it is, with peer access between devices. Other processes open the handle of
 * the whole allocation (IPC), once a process and device however many windows lie in it, or map it by its descriptor
 * (VMM), once for each window.
 */
#ifndef IRIS_ARCH_HIP_WINDOW_H
#define IRIS_ARCH_HIP_WINDOW_H
#ifdef IRIS_INIT_C

typedef enum irisi_window_way { IRISI_WINDOW_NO_WAY, IRISI_WINDOW_IPC, IRISI_WINDOW_VMM } irisi_window_way;

/* What a rank tells the others of its memory. */
typedef struct irisi_window_card {
    uint64_t address;    /* valid in the same process */
    uint64_t lead, span; /* bytes from its allocation's start to it; of the allocation, 0: it is more than one */
    hipIpcMemHandle_t ipc;
    int32_t device;
    int32_t way; /* irisi_window_way */
    char bus_id[IRISI_BUS_ID];
    char cannot[160]; /* why other processes cannot map it; empty: they can */
} irisi_window_card;

/* An allocation of another process, open in this one; in a list of all that are. */
typedef struct irisi_window_opened {
    struct irisi_window_opened *next;
    hipIpcMemHandle_t ipc;
    int device; /* that opened it */
    int users;
    char *base;
} irisi_window_opened;

static irisi_window_opened *irisi_windows_opened;
static pthread_mutex_t irisi_windows_lock = PTHREAD_MUTEX_INITIALIZER;

/* A rank's memory as this rank reaches it. */
typedef struct irisi_window_view {
    char *at; /* null: not at all */
    irisi_window_opened *opened;
    char *mapping; /* addresses that were reserved for it, or null */
    size_t span;
} irisi_window_view;

/* Whether memory that begins in an allocation ends in it too. */
static int irisi_window_lies_in(const void *p, size_t bytes, const char *base, size_t span)
{
    const size_t lead = (size_t)((const char *)p - base);
    return lead <= span && bytes <= span - lead;
}

/* Fills in the card of own memory, and its descriptor, or -1; or why kernels cannot use it. */
static const char *irisi_dev_window_offer(irisi_dev *d, void *p, size_t bytes, irisi_window_card *card, int *fd)
{
    const char *cannot = NULL;
    char *base = NULL;
    size_t span = 0;
    int device = -1;
    *fd = -1;
    const char *why = irisi_vmm_range(&d->vmm, p, &device, &base, &span);
    if (why)
        return why;
    if (device != d->device)
        return "it is memory of another device than this rank's";
    if (irisi_vmm_owns(&d->vmm, p)) {
        cannot = irisi_vmm_find(&d->vmm, p, bytes, &base, &span);
        cannot = cannot ? cannot : irisi_vmm_lend(&d->vmm, base, fd);
        card->way = IRISI_WINDOW_VMM;
        span = irisi_window_lies_in(p, bytes, base, span) ? span : 0;
    } else {
        if (!irisi_window_lies_in(p, bytes, base, span))
            return "it ends behind its allocation";
        cannot = irisi_hip(hipIpcGetMemHandle(&card->ipc, base));
        card->way = IRISI_WINDOW_IPC;
    }
    card->address = (uint64_t)(uintptr_t)p;
    card->lead = (uint64_t)((char *)p - base);
    card->span = span;
    card->device = d->device;
    memcpy(card->bus_id, d->bus_id, sizeof card->bus_id);
    snprintf(card->cannot, sizeof card->cannot, "%.*s", (int)sizeof card->cannot - 1, cannot ? cannot : "");
    return NULL;
}

/* Whether other processes need the descriptor of this memory. */
static int irisi_dev_window_travels(const irisi_window_card *card)
{
    return card->way == IRISI_WINDOW_VMM && !card->cannot[0];
}

/* Whether the memory is of this rank's device. */
static int irisi_dev_window_is_here(irisi_dev *d, const irisi_window_card *card)
{
    return memcmp(card->bus_id, d->bus_id, sizeof d->bus_id) == 0;
}

/* Lets this rank's device reach memory of another device of this process. */
static const char *irisi_window_grant(irisi_dev *d, const irisi_window_card *card)
{
    const char *why = irisi_peer_reach(d, card->device);
    if (why || card->way != IRISI_WINDOW_VMM)
        return why ? why : irisi_peer_enable(card->device);
    if (card->span == 0)
        return "it is more than one mapping, and the other device can be let into one alone";
    return irisi_vmm_grant(&d->vmm, (char *)(uintptr_t)(card->address - card->lead), (size_t)card->span);
}

/* Memory of a rank of this process. */
static const char *irisi_dev_window_near(irisi_dev *d, const irisi_window_card *card, irisi_window_view *view)
{
    const char *why = card->device == d->device ? NULL : irisi_window_grant(d, card);
    view->at = why ? NULL : (char *)(uintptr_t)card->address;
    return why;
}

/* Another process's allocation: open here already, or now. */
static const char *irisi_window_open_ipc(irisi_dev *d, const irisi_window_card *card, irisi_window_opened **out)
{
    irisi_window_opened *o = irisi_windows_opened;
    void *base = NULL;
    while (o && (o->device != d->device || memcmp(&o->ipc, &card->ipc, sizeof o->ipc) != 0))
        o = o->next;
    if (o) {
        o->users++;
        *out = o;
        return NULL;
    }
    o = (irisi_window_opened *)calloc(1, sizeof *o);
    if (!o)
        return "no memory";
    const hipError_t error = irisi_gpu_open(&base, card->ipc);
    if (error != hipSuccess) {
        free(o);
        return irisi_ipc_refused(d, error);
    }
    o->ipc = card->ipc;
    o->device = d->device;
    o->users = 1;
    o->base = (char *)base;
    o->next = irisi_windows_opened;
    irisi_windows_opened = *out = o;
    return NULL;
}

/* Memory of another process, by its handle or by its descriptor, which stays the caller's. */
static const char *irisi_dev_window_open(irisi_dev *d, const irisi_window_card *card, int fd, irisi_window_view *view)
{
    const char *why;
    if (card->way == IRISI_WINDOW_IPC) {
        pthread_mutex_lock(&irisi_windows_lock);
        why = irisi_window_open_ipc(d, card, &view->opened);
        pthread_mutex_unlock(&irisi_windows_lock);
        view->at = why ? NULL : view->opened->base + card->lead;
        return why;
    }
    if (d->vmm.block == 0)
        return "this rank's device has no virtual memory management";
    why = irisi_vmm_reserve(&d->vmm, &view->mapping, (size_t)card->span);
    if (why)
        return why;
    view->span = (size_t)card->span;
    why = irisi_vmm_take(&d->vmm, view->mapping, view->span, fd);
    if (why) {
        irisi_vmm_release(&d->vmm, view->mapping, view->span);
        view->mapping = NULL;
        return why;
    }
    view->at = view->mapping + card->lead;
    return NULL;
}

/* One user less of an open allocation; the last one closes it. */
static void irisi_window_close_ipc(irisi_window_opened *opened)
{
    irisi_window_opened **at = &irisi_windows_opened;
    if (--opened->users > 0)
        return;
    while (*at != opened)
        at = &(*at)->next;
    *at = opened->next;
    (void)hipIpcCloseMemHandle(opened->base);
    free(opened);
}

/*
 * Lets go of it; of own memory and of a rank's of this process nothing was taken. A forked child has no driver, and a
 * lock that nobody may ever let go of.
 */
static void irisi_dev_window_close(irisi_dev *d, irisi_window_view *view)
{
    if (!d->open || irisi_dev_use(d) != NULL)
        return;
    if (view->opened) {
        pthread_mutex_lock(&irisi_windows_lock);
        irisi_window_close_ipc(view->opened);
        pthread_mutex_unlock(&irisi_windows_lock);
    }
    if (view->mapping) {
        irisi_vmm_drop(&d->vmm, view->mapping, view->span);
        irisi_vmm_release(&d->vmm, view->mapping, view->span);
    }
    memset(view, 0, sizeof *view);
}

#endif
#endif
