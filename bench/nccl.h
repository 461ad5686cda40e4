/* SPDX-License-Identifier: MIT */
/*
 * nccl.h: NCCL as the peer of a benchmark, found at run time: nothing is linked, and without it rows have no peer.
 *
 *   bench_nccl bench_nccl_version bench_nccl_open bench_nccl_close bench_nccl_alloc bench_nccl_ok
 *
 * Its functions are declared here as far as they are used (NCCL's C interface, stable since 2.10; windows since 2.27).
 */
#ifndef IRIS_BENCH_NCCL_H
#define IRIS_BENCH_NCCL_H

#include <dlfcn.h>

#include "bench.h"

/* As NCCL's header numbers them. */
enum { BENCH_NCCL_BF16 = 9, BENCH_NCCL_SUM = 0, BENCH_NCCL_SYMMETRIC = 1 };

typedef struct bench_nccl_id {
    char bytes[128];
} bench_nccl_id;

/* NCCL, or all null. `alloc`, `window` and the other functions beyond the first six may be absent. */
typedef struct bench_nccl {
    void *comm;
    const char *(*error)(int);
    int (*id)(bench_nccl_id *);
    int (*init)(void **, int, bench_nccl_id, int);
    int (*destroy)(void *);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, iris_stream);
    int (*all_gather)(const void *, void *, size_t, int, void *, iris_stream);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, void *, iris_stream);
    int (*broadcast)(const void *, void *, size_t, int, int, void *, iris_stream);
    int (*reduce)(const void *, void *, size_t, int, int, int, void *, iris_stream);
    int (*send)(const void *, size_t, int, int, void *, iris_stream);
    int (*recv)(void *, size_t, int, int, void *, iris_stream);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*alloc)(void **, size_t);
    int (*window)(void *, void *, size_t, void **, int);
    int (*release)(void *, void *);
    int (*free)(void *);
    void *windows[2], *memory[2]; /* what bench_nccl_alloc made */
} bench_nccl;

/* Casts from void * to a function by way of the pointer's own memory, which is all that ISO C lets one do. */
static inline int bench_nccl_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

/* NCCL, or null where there is none; a host's ranks have no use for it. */
static inline void *bench_nccl_library(iris_world *w)
{
    return strcmp(iris_arch_name(w), "host") == 0 ? NULL : dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
}

/* Its version as NVIDIA writes it, until the next call, or null. The number is 22803 for 2.28.3. */
static inline const char *bench_nccl_version(iris_world *w)
{
    static char text[32];
    int (*get)(int *) = NULL, version = 0;
    void *library = bench_nccl_library(w);
    if (!library || !bench_nccl_find(library, "ncclGetVersion", &get) || get(&version) != 0)
        return NULL;
    snprintf(text, sizeof text, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
    return text;
}

/* Collective: joins NCCL's world of all ranks. 0 where there is no NCCL, or only one rank has it. */
static inline int bench_nccl_open(bench *b, bench_nccl *n)
{
    bench_nccl_id id;
    void *library = bench_nccl_library(b->w);
    int ok = library != NULL;
    memset(n, 0, sizeof *n);
    memset(&id, 0, sizeof id);
    ok =
        ok && bench_nccl_find(library, "ncclGetErrorString", &n->error) &&
        bench_nccl_find(library, "ncclGetUniqueId", &n->id) && bench_nccl_find(library, "ncclCommInitRank", &n->init) &&
        bench_nccl_find(library, "ncclCommDestroy", &n->destroy) &&
        bench_nccl_find(library, "ncclAllReduce", &n->all_reduce) &&
        bench_nccl_find(library, "ncclAllGather", &n->all_gather) &&
        bench_nccl_find(library, "ncclReduceScatter", &n->reduce_scatter) &&
        bench_nccl_find(library, "ncclBroadcast", &n->broadcast) &&
        bench_nccl_find(library, "ncclReduce", &n->reduce) && bench_nccl_find(library, "ncclSend", &n->send) &&
        bench_nccl_find(library, "ncclRecv", &n->recv) && bench_nccl_find(library, "ncclGroupStart", &n->group_start) &&
        bench_nccl_find(library, "ncclGroupEnd", &n->group_end);
    if (ok && bench_nccl_find(library, "ncclMemAlloc", &n->alloc) &&
        bench_nccl_find(library, "ncclMemFree", &n->free) &&
        bench_nccl_find(library, "ncclCommWindowDeregister", &n->release))
        (void)bench_nccl_find(library, "ncclCommWindowRegister", &n->window);
    if (ok && iris_rank(b->w) == 0)
        ok = n->id(&id) == 0;
    if (!iris_bench_all_ok(b->w, ok) || iris_broadcast(b->w, &id, sizeof id, 0) != IRIS_OK)
        return 0;
    ok = n->init(&n->comm, iris_world_size(b->w), id, iris_rank(b->w)) == 0;
    return iris_bench_all_ok(b->w, ok);
}

/* Collective: leaves NCCL's world once every rank is done with it, windows first. */
static inline void bench_nccl_close(bench *b, bench_nccl *n)
{
    const int all = iris_synchronize(b->w) == IRIS_OK && iris_barrier(b->w) == IRIS_OK && n->comm != NULL;
    for (int i = 0; i < 2 && all; i++) {
        if (n->windows[i])
            (void)n->release(n->comm, n->windows[i]);
        if (n->memory[i])
            (void)n->free(n->memory[i]);
    }
    if (all)
        (void)n->destroy(n->comm);
    memset(n, 0, sizeof *n);
}

/* Collective, twice at most: memory that NCCL works on from every rank; null where this NCCL has no windows. */
static inline void *bench_nccl_alloc(bench *b, bench_nccl *n, size_t bytes)
{
    const int i = n->memory[0] != NULL;
    int ok = n->window != NULL && n->alloc(n->memory + i, bytes) == 0;
    if (!iris_bench_all_ok(b->w, ok))
        return NULL;
    ok = n->window(n->comm, n->memory[i], bytes, n->windows + i, BENCH_NCCL_SYMMETRIC) == 0;
    return iris_bench_all_ok(b->w, ok) ? n->memory[i] : NULL;
}

static inline iris_status bench_nccl_ok(iris_world *w, const bench_nccl *n, int error, const char *call)
{
    return error == 0 ? IRIS_OK : irisi_fail(w, IRIS_ERR_DEVICE, "%s: %s", call, n->error(error));
}

#endif
