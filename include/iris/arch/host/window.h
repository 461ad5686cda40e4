/* SPDX-License-Identifier: MIT */
/*
 * window.h (host): the part of host.h that maps memory that others allocated. Only init.c includes it.
 *
 * Ranks that are threads of one process use it as it is, whatever memory it is. Other processes map the memfd that it
 * lies in, whose descriptor they receive: a mapping for each window and process.
 */
#ifndef IRIS_ARCH_HOST_WINDOW_H
#define IRIS_ARCH_HOST_WINDOW_H
#ifdef IRIS_INIT_C

/* What a rank tells the others of its memory. */
typedef struct irisi_window_card {
    uint64_t address;    /* valid in the same process */
    uint64_t lead, span; /* bytes from its mapping's start to it; of the mapping */
    char cannot[160];    /* why other processes cannot map it; empty: they can */
} irisi_window_card;

/* A rank's memory as this rank reaches it. */
typedef struct irisi_window_view {
    char *at;      /* null: not at all */
    char *mapping; /* what was mapped for it, or null */
    size_t span;
} irisi_window_view;

/* Fills in the card of own memory, and its descriptor, or -1; or why kernels cannot use it. */
static const char *irisi_dev_window_offer(irisi_dev *d, void *p, size_t bytes, irisi_window_card *card, int *fd)
{
    irisi_found found;
    memset(&found, 0, sizeof found);
    found.fd = -1;
    (void)d;
    const char *cannot = irisi_find_file(p, bytes, &found);
    if (cannot && found.fd >= 0) {
        close(found.fd);
        found.fd = -1;
    }
    card->address = (uint64_t)(uintptr_t)p;
    card->lead = cannot ? 0 : (uint64_t)((char *)p - found.base);
    card->span = found.bytes;
    snprintf(card->cannot, sizeof card->cannot, "%.*s", (int)sizeof card->cannot - 1, cannot ? cannot : "");
    *fd = found.fd;
    return NULL;
}

/* Whether other processes need the descriptor of this memory. */
static int irisi_dev_window_travels(const irisi_window_card *card) { return !card->cannot[0]; }

/* Whether the memory is of this rank's device. */
static int irisi_dev_window_is_here(irisi_dev *d, const irisi_window_card *card) { return (void)d, (void)card, 1; }

/* Memory of a rank of this process. */
static const char *irisi_dev_window_near(irisi_dev *d, const irisi_window_card *card, irisi_window_view *view)
{
    (void)d;
    view->at = (char *)(uintptr_t)card->address;
    return NULL;
}

/* Memory of another process, by its descriptor, which stays the caller's. */
static const char *irisi_dev_window_open(irisi_dev *d, const irisi_window_card *card, int fd, irisi_window_view *view)
{
    struct stat file;
    (void)d;
    if (fstat(fd, &file) != 0 || irisi_whole_pages((uint64_t)file.st_size) != card->span)
        return "its memory file has another size than its mapping";
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return "its memory file could shrink";
    void *at = mmap(NULL, (size_t)card->span, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return "this process has no room for its addresses (see ulimit -v)";
    view->mapping = (char *)at;
    view->span = (size_t)card->span;
    view->at = view->mapping + card->lead;
    return NULL;
}

/* Lets go of it; of own memory and of a rank's of this process nothing was taken. */
static void irisi_dev_window_close(irisi_dev *d, irisi_window_view *view)
{
    (void)d;
    if (view->mapping)
        munmap(view->mapping, view->span);
    memset(view, 0, sizeof *view);
}

#endif
#endif
