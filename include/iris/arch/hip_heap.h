/* SPDX-License-Identifier: MIT */
/*
 * hip_heap.h: the part of hip_runtime.h that makes and maps heaps. Only init.c includes it.
 *
 * IPC: a heap is one allocation. Ranks of one process use its address as it is, with peer access between devices; other
 * processes open its handle. VMM: a heap is reserved addresses with pieces of memory behind them (<platform>/vmm.h),
 * and each device of the world is given access to each piece.
 */
#ifndef IRIS_ARCH_HIP_HEAP_H
#define IRIS_ARCH_HIP_HEAP_H
#ifdef IRIS_INIT_C

/* Memory that this rank has mapped behind a heap's addresses. */
typedef struct irisi_piece {
    size_t offset, bytes;
} irisi_piece;

typedef struct irisi_heap {
    char *base;
    size_t reserved; /* addresses that this rank reserved; 0: none */
    irisi_piece *pieces;
    int n_pieces;
    int opened; /* by IPC handle */
    int near;   /* another rank of this process made it and puts memory behind it */
    int grants; /* this rank's device has to be given access to each piece */
    int fd;     /* of the latest piece of the own heap, until the others have it; or -1 */
} irisi_heap;

typedef struct irisi_handle {
    hipIpcMemHandle_t ipc;
    uint64_t base; /* valid in the same process */
    int32_t device;
    int32_t pad;
    char bus_id[IRISI_BUS_ID];
} irisi_handle;

/* Why heaps cannot grow on this device; null: they can. */
static const char *irisi_dev_heap_vmm(irisi_dev *d)
{
    const char *why = irisi_vmm_open(&d->vmm, d->device);
    if (!why && d->vmm.block > d->heap_block)
        d->heap_block = d->vmm.block;
    return why;
}

/* Remembers what is mapped, so that it can be taken back piece by piece. */
static const char *irisi_heap_note(irisi_heap *heap, size_t offset, size_t bytes)
{
    irisi_piece *pieces = (irisi_piece *)realloc(heap->pieces, (size_t)(heap->n_pieces + 1) * sizeof *pieces);
    if (!pieces)
        return "no memory";
    heap->pieces = pieces;
    pieces[heap->n_pieces].offset = offset;
    pieces[heap->n_pieces++].bytes = bytes;
    return NULL;
}

/* Takes back the piece that is mapped there, if there is one; the addresses stay reserved. */
static void irisi_dev_heap_detach(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes)
{
    (void)bytes;
    if (heap->fd >= 0)
        close(heap->fd);
    heap->fd = -1;
    for (int i = 0; i < heap->n_pieces; i++) {
        if (heap->pieces[i].offset != offset)
            continue;
        irisi_vmm_drop(&d->vmm, heap->base + offset, heap->pieces[i].bytes);
        heap->pieces[i] = heap->pieces[--heap->n_pieces];
        return;
    }
}

/* Puts a piece of zeroed memory behind the own heap. */
static const char *irisi_dev_heap_extend(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes)
{
    const char *why = irisi_heap_note(heap, offset, bytes);
    if (why)
        return why;
    why = irisi_vmm_make(&d->vmm, heap->base + offset, bytes, &heap->fd);
    if (why) {
        heap->n_pieces--;
        return why;
    }
    why = irisi_dev_fill(d, heap->base + offset, 0, bytes, d->side);
    if (why)
        irisi_dev_heap_detach(d, heap, offset, bytes);
    return why;
}

/* Makes the own heap: with VMM addresses for `most` bytes, memory behind the first `bytes`. */
static const char *irisi_dev_heap_create(irisi_dev *d, irisi_heap_mode mode, int rank, size_t bytes, size_t most,
                                         irisi_heap *out)
{
    const char *why;
    (void)rank;
    d->sharers = 1;
    if (mode == IRISI_HEAP_VMM) {
        why = irisi_vmm_reserve(&d->vmm, &out->base, most);
        out->reserved = why ? 0 : most;
        why = why ? why : irisi_dev_heap_extend(d, out, 0, bytes);
    } else {
        void *base = NULL;
        why = irisi_gpu_malloc(&base, bytes, d->arch);
        out->base = (char *)base;
        why = why ? why : irisi_dev_fill(d, base, 0, bytes, d->side);
    }
    while (!why && d->heap_alignment > 256 && (uintptr_t)out->base % d->heap_alignment != 0)
        d->heap_alignment /= 2;
    return why;
}

static void irisi_dev_heap_export(irisi_dev *d, irisi_heap_mode mode, const irisi_heap *heap, irisi_handle *out)
{
    out->base = (uint64_t)(uintptr_t)heap->base;
    out->device = d->device;
    memcpy(out->bus_id, d->bus_id, sizeof out->bus_id);
    /* Ranks of one process need no handle, and some machines have none to give: their importers say so. */
    if (mode == IRISI_HEAP_IPC && hipIpcGetMemHandle(&out->ipc, heap->base) != hipSuccess)
        (void)hipGetLastError();
}

/* Whether memory of another device of this process can be reached from this one. */
static const char *irisi_peer_reach(irisi_dev *d, int device)
{
    int can = 0;
    const char *why = irisi_hip(hipDeviceCanAccessPeer(&can, d->device, device));
    return why || can ? why : "its device cannot be reached from this one (no NVLink, xGMI or PCIe peer access)";
}

/* Lets this rank's device, the current one, reach what another device's runtime allocates. */
static const char *irisi_peer_enable(int device)
{
    const hipError_t error = hipDeviceEnablePeerAccess(device, 0);
    if (error != hipErrorPeerAccessAlreadyEnabled)
        return irisi_hip(error);
    (void)hipGetLastError();
    return NULL;
}

/* The heap of a rank of this process, by its own address. With VMM each piece grants access by itself. */
static const char *irisi_heap_near(irisi_dev *d, irisi_heap_mode mode, const irisi_handle *from, irisi_heap *out)
{
    out->base = (char *)(uintptr_t)from->base;
    out->near = 1;
    if (from->device == d->device)
        return NULL;
    const char *why = irisi_peer_reach(d, from->device);
    if (why)
        return why;
    out->grants = mode == IRISI_HEAP_VMM;
    return out->grants ? NULL : irisi_peer_enable(from->device);
}

/* Why the handle of another process's memory cannot be opened: the runtime's words, then what the platform advises. */
static const char *irisi_ipc_refused(irisi_dev *d, hipError_t error)
{
    const char *why = irisi_hip(error);
    if (!IRISI_IPC_HINT[0])
        return why;
    snprintf(d->mistake, sizeof d->mistake, "%s: %s", why, IRISI_IPC_HINT);
    return d->mistake;
}

/* Addresses for another rank's heap; with IPC the heap itself. */
static const char *irisi_dev_heap_import(irisi_dev *d, irisi_heap_mode mode, const irisi_handle *from, int near,
                                         size_t most, irisi_heap *out)
{
    if (memcmp(from->bus_id, d->bus_id, sizeof d->bus_id) == 0)
        d->sharers++;
    if (near)
        return irisi_heap_near(d, mode, from, out);
    if (mode == IRISI_HEAP_VMM) {
        const char *why = irisi_vmm_reserve(&d->vmm, &out->base, most);
        out->reserved = why ? 0 : most;
        return why;
    }
    void *base = NULL;
    const hipError_t error = irisi_gpu_open(&base, from->ipc);
    if (error != hipSuccess)
        return irisi_ipc_refused(d, error);
    out->base = (char *)base;
    out->opened = 1;
    return NULL;
}

/* Maps a piece of another rank's heap whose descriptor came; in the same process it is there, and wants access. */
static const char *irisi_dev_heap_attach(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes, int fd)
{
    if (heap->near)
        return heap->grants ? irisi_vmm_grant(&d->vmm, heap->base + offset, bytes) : NULL;
    if (fd < 0)
        return NULL; /* an IPC handle opened all of it */
    const char *why = irisi_heap_note(heap, offset, bytes);
    if (why)
        return why;
    why = irisi_vmm_take(&d->vmm, heap->base + offset, bytes, fd);
    if (why)
        heap->n_pieces--;
    return why;
}

/* Memory of the caller's that can be mapped a second time. */
typedef struct irisi_found {
    char *base;
    size_t bytes;
    int fd; /* none here: -1 */
} irisi_found;

/* The mapping that [p, p + bytes) lies in. */
static const char *irisi_dev_heap_find(irisi_dev *d, const void *p, size_t bytes, irisi_found *out)
{
    const char *why = irisi_vmm_find(&d->vmm, p, bytes, &out->base, &out->bytes);
    return why || out->bytes % d->vmm.block == 0 ? why : "its mapping is no multiple of the memory's granularity";
}

/* Maps it behind the own heap's addresses too. */
static const char *irisi_dev_heap_alias(irisi_dev *d, irisi_heap *heap, size_t offset, const irisi_found *found)
{
    const char *why = irisi_heap_note(heap, offset, found->bytes);
    if (why)
        return why;
    why = irisi_vmm_alias(&d->vmm, heap->base + offset, found->bytes, found->base, &heap->fd);
    if (why)
        heap->n_pieces--;
    return why;
}

/* All heaps are mapped, so it is known how many ranks share the device: each counts on its part of it. */
static const char *irisi_dev_heap_settled(irisi_dev *d)
{
    const int share = irisi_gpu_share(d->compute_units, d->chiplets, d->sharers), ranks = d->sharers;
    const int each = d->compute_units / d->chiplets;
    d->compute_units = share > 1 ? share : 1;
    d->shared = d->sharers > 1;
    d->sharers = 1;
    if (share > 0 || d->chiplets == 1)
        return NULL;
    snprintf(d->mistake, sizeof d->mistake,
             "%d ranks share device %d, whose %d chiplets have %d compute units each: kernels begin on the same "
             "chiplet, and those that wait for each other would not all find room there; at most %d ranks can share it",
             ranks, d->device, d->chiplets, each, each);
    return d->mistake;
}

/* 1 where other ranks have this device too. */
static int irisi_dev_shared(const irisi_dev *d) { return d->shared; }

static void irisi_dev_heap_close(irisi_dev *d, irisi_heap *heap, int own)
{
    if (heap->fd >= 0)
        close(heap->fd);
    heap->fd = -1;
    if (!d->open || !heap->base || irisi_dev_use(d) != NULL)
        return;
    while (heap->n_pieces > 0)
        irisi_dev_heap_detach(d, heap, heap->pieces[heap->n_pieces - 1].offset, 0);
    if (heap->reserved)
        irisi_vmm_release(&d->vmm, heap->base, heap->reserved);
    else if (own)
        (void)hipFree(heap->base);
    else if (heap->opened)
        (void)hipIpcCloseMemHandle(heap->base);
    free(heap->pieces);
    memset(heap, 0, sizeof *heap);
    heap->fd = -1;
}

#endif
#endif
