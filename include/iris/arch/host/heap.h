/* SPDX-License-Identifier: MIT */
/*
 * heap.h (host): the part of host.h that makes and maps heaps. Only init.c includes it.
 *
 * A heap is a span of reserved addresses. Each piece of memory behind it is an anonymous file (memfd) whose descriptor
 * the other processes receive and map at the same place of their own spans: nothing is in the file system, nothing
 * outlives the job, and no descriptor stays open. What has no memory behind it has no access rights, so an overrun is
 * caught. Ranks that are threads of one process share one span for each heap, since thread sanitizer does not see races
 * through a second mapping.
 */
#ifndef IRIS_ARCH_HOST_HEAP_H
#define IRIS_ARCH_HOST_HEAP_H
#ifdef IRIS_INIT_C

/* A span of addresses that holds a heap; ranks of one process share it. */
typedef struct irisi_mapping {
    char *span;
    size_t span_bytes;
    int users;
} irisi_mapping;

/* One rank's heap as another (or the same) rank sees it. */
typedef struct irisi_heap {
    char *base;
    irisi_mapping *mapping;
    int near; /* another rank of this process made it and puts memory behind it */
    int fd;   /* of the latest piece of the own heap, until the others have it; or -1 */
} irisi_heap;

/* What a rank tells the others so that they can map its heap. */
typedef struct irisi_handle {
    uint64_t mapping, base; /* valid in the same process */
} irisi_handle;

/* Why heaps cannot grow here: they can. */
static const char *irisi_dev_heap_vmm(irisi_dev *d) { return (void)d, (const char *)NULL; }

/* Every rank's heap lies at another address, as on GPUs, so that a missing translation shows: hence the slip. */
static const char *irisi_reserve(size_t most, size_t alignment, int slip, irisi_heap *out)
{
    irisi_mapping *m = (irisi_mapping *)calloc(1, sizeof *m);
    if (!m)
        return "no memory";
    m->users = 1;
    m->span_bytes = most + alignment * (size_t)(2 + slip);
    m->span = (char *)mmap(NULL, m->span_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m->span == (char *)MAP_FAILED) {
        free(m);
        return "this process has no room for its addresses (see ulimit -v, or lower IRIS_HEAP_MAX_MB)";
    }
    out->base = (char *)(((uintptr_t)m->span + alignment - 1) / alignment * alignment);
    out->mapping = m;
    return NULL;
}

static const char *irisi_map(const irisi_heap *heap, size_t offset, size_t bytes, int fd)
{
    char *at = heap->base + offset;
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == (void *)at
               ? NULL
               : "cannot map a heap into this process (see ulimit -v)";
}

/* Takes back what is mapped there, and a descriptor that was not shared; the addresses stay reserved. */
static void irisi_dev_heap_detach(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes)
{
    (void)d;
    if (heap->fd >= 0)
        close(heap->fd);
    heap->fd = -1;
    if (heap->base && !heap->near && bytes)
        mmap(heap->base + offset, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/* Puts a piece of zeroed memory behind the own heap. Its size is sealed: nobody's access can find it gone. */
static const char *irisi_dev_heap_extend(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes)
{
    const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit file;
    (void)d;
    if (offset + bytes > memory)
        return "the machine has less memory than that";
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY && bytes > file.rlim_cur)
        return "the limit on the size of files, which its memory file has to keep, is lower (see ulimit -f)";
    heap->fd = irisi_descriptor(memfd_create("iris-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (heap->fd < 0)
        return "memfd_create failed (see ulimit -n)";
    const char *why = NULL;
    if (ftruncate(heap->fd, (off_t)bytes) != 0 || fcntl(heap->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
        why = "the memory file cannot be made that large";
    if (!why)
        why = irisi_map(heap, offset, bytes, heap->fd);
    if (why) {
        close(heap->fd);
        heap->fd = -1;
    }
    return why;
}

/* Makes the own heap: addresses for `most` bytes, memory behind the first `bytes`. */
static const char *irisi_dev_heap_create(irisi_dev *d, irisi_heap_mode mode, int rank, size_t bytes, size_t most,
                                         irisi_heap *out)
{
    (void)mode;
    const char *why = irisi_reserve(most, d->heap_alignment, rank % 64, out);
    return why ? why : irisi_dev_heap_extend(d, out, 0, bytes);
}

static void irisi_dev_heap_export(irisi_dev *d, irisi_heap_mode mode, const irisi_heap *heap, irisi_handle *out)
{
    (void)d, (void)mode;
    out->mapping = (uint64_t)(uintptr_t)heap->mapping;
    out->base = (uint64_t)(uintptr_t)heap->base;
}

/* Addresses for another rank's heap; in the same process, its own. */
static const char *irisi_dev_heap_import(irisi_dev *d, irisi_heap_mode mode, const irisi_handle *from, int near,
                                         size_t most, irisi_heap *out)
{
    (void)mode;
    out->near = near;
    if (!near)
        return irisi_reserve(most, d->heap_alignment, 0, out);
    out->mapping = (irisi_mapping *)(uintptr_t)from->mapping;
    out->base = (char *)(uintptr_t)from->base;
    __atomic_add_fetch(&out->mapping->users, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Maps a piece of another rank's heap whose descriptor came; in the same process it is there already. */
static const char *irisi_dev_heap_attach(irisi_dev *d, irisi_heap *heap, size_t offset, size_t bytes, int fd)
{
    struct stat file;
    (void)d;
    if (heap->near)
        return NULL;
    if (fstat(fd, &file) != 0 || (uint64_t)file.st_size != bytes)
        return "its memory file has another size than the heap";
    const int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return "its memory file could shrink";
    return irisi_map(heap, offset, bytes, fd);
}

/* Memory of the caller's that can be mapped a second time. */
typedef struct irisi_found {
    char *base;
    size_t bytes;
    int fd; /* of its file; the finder's to close */
} irisi_found;

/* A descriptor of the memfd, if this process has it open; or -1. Other threads may open and close meanwhile. */
static int irisi_descriptor_of(unsigned long inode)
{
    char path[64];
    struct stat file;
    const int folder = irisi_descriptor(open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *all = folder >= 0 ? fdopendir(folder) : NULL;
    int fd = -1;
    for (struct dirent *e = all ? readdir(all) : NULL; e && fd < 0; e = readdir(all)) {
        snprintf(path, sizeof path, "/proc/self/fd/%.20s", e->d_name);
        if (e->d_name[0] == '.' || stat(path, &file) != 0 || file.st_ino != inode)
            continue;
        fd = irisi_descriptor(open(path, O_RDWR | O_CLOEXEC));
        if (fd < 0 || (fstat(fd, &file) == 0 && file.st_ino == inode && fcntl(fd, F_GET_SEALS) >= 0))
            continue;
        close(fd);
        fd = -1;
    }
    if (all)
        closedir(all);
    else if (folder >= 0)
        close(folder);
    return fd;
}

/* A length, of a file of so many bytes, as far as pages reach. */
static uint64_t irisi_whole_pages(uint64_t bytes)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

/* The whole memfd that [p, p + bytes) lies in, when its size is sealed. */
static const char *irisi_find_file(const void *p, size_t bytes, irisi_found *out)
{
    char line[256];
    unsigned long start = 0, end = 0, offset = 0, inode = 0;
    struct stat file;
    int found = 0;
    FILE *f = irisi_open_text("/proc/self/maps");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%lx-%lx rw-s %lx %*s %lu", &start, &end, &offset, &inode) == 4 && (uintptr_t)p >= start &&
                (uintptr_t)p < end;
    if (f)
        fclose(f);
    if (!found || bytes > end - (uintptr_t)p || offset != 0)
        return "it is no shared mapping of a file from its start";
    out->fd = irisi_descriptor_of(inode);
    if (out->fd < 0 || fstat(out->fd, &file) != 0 || irisi_whole_pages((uint64_t)file.st_size) != end - start ||
        !(fcntl(out->fd, F_GET_SEALS) & F_SEAL_SHRINK))
        return "it is no memfd that is open, sealed against shrinking and mapped as a whole";
    out->base = (char *)start;
    out->bytes = (size_t)(end - start);
    return NULL;
}

/* The same of memory that can be a piece of the heap: pieces are whole pages. */
static const char *irisi_dev_heap_find(irisi_dev *d, const void *p, size_t bytes, irisi_found *out)
{
    struct stat file;
    (void)d;
    const char *why = irisi_find_file(p, bytes, out);
    if (!why && (fstat(out->fd, &file) != 0 || (size_t)file.st_size != out->bytes))
        why = "its memfd is no whole number of pages long";
    return why;
}

/* Maps it behind the own heap's addresses too. */
static const char *irisi_dev_heap_alias(irisi_dev *d, irisi_heap *heap, size_t offset, const irisi_found *found)
{
    (void)d;
    const char *why = irisi_map(heap, offset, found->bytes, found->fd);
    heap->fd = why ? -1 : fcntl(found->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return why ? why : heap->fd < 0 ? "no more descriptors (see ulimit -n)" : NULL;
}

/* All heaps are mapped. */
static const char *irisi_dev_heap_settled(irisi_dev *d) { return (void)d, (const char *)NULL; }

/* Ranks that share this device's queues for streams: none, streams are threads. */
static int irisi_dev_shared(const irisi_dev *d) { return (void)d, 0; }

static void irisi_dev_heap_close(irisi_dev *d, irisi_heap *heap, int own)
{
    (void)d, (void)own;
    if (heap->fd >= 0)
        close(heap->fd);
    heap->fd = -1;
    if (heap->mapping && __atomic_sub_fetch(&heap->mapping->users, 1, __ATOMIC_ACQ_REL) == 0) {
        munmap(heap->mapping->span, heap->mapping->span_bytes);
        free(heap->mapping);
    }
    heap->mapping = NULL;
    heap->base = NULL;
}

#endif
#endif
