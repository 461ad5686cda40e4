/* SPDX-License-Identifier: MIT */
/*
 * peer_nccl.h: the vendor's all-gather as a peer, opened at run time; one process for each GPU. Without the library, or
 * elsewhere than on NVIDIA, there is none.
 *
 *   gather gather_open gather_run
 */
#ifndef IRIS_BENCH_PEER_NCCL_H
#define IRIS_BENCH_PEER_NCCL_H

#include <iris/init.h>

typedef struct gather {
    void *library, *comm;
    int (*all_gather)(const void *, void *, size_t, int, void *, iris_stream);
} gather;

#if defined(IRIS_TARGET_NVIDIA)
#include <dlfcn.h>

enum { GATHER_BF16 = 9 }; /* the library's number of the type */

typedef struct gather_id {
    char bytes[128];
} gather_id;

/* Collective: 1 when every rank has joined. */
static int gather_open(gather *g, iris_world *w)
{
    gather_id id;
    memset(g, 0, sizeof *g);
    memset(&id, 0, sizeof id);
    g->library = dlopen("libnccl.so.2", RTLD_NOW);
    if (!g->library)
        return fprintf(stderr, "no peer: %s\n", dlerror()), 0;
    int (*unique)(gather_id *) = (int (*)(gather_id *))dlsym(g->library, "ncclGetUniqueId");
    int (*join)(void **, int, gather_id, int) =
        (int (*)(void **, int, gather_id, int))dlsym(g->library, "ncclCommInitRank");
    g->all_gather =
        (int (*)(const void *, void *, size_t, int, void *, iris_stream))dlsym(g->library, "ncclAllGather");
    if (!unique || !join || !g->all_gather || (iris_rank(w) == 0 && unique(&id) != 0))
        return 0;
    return iris_broadcast(w, &id, sizeof id, 0) == IRIS_OK &&
           join(&g->comm, iris_world_size(w), id, iris_rank(w)) == 0;
}

/* Every rank's `count` elements into `all`, in rank order; the own ones stand there already. 1 when launched. */
static int gather_run(const gather *g, void *all, size_t count, int rank, iris_stream stream)
{
    return g->all_gather((char *)all + (size_t)rank * count * 2, all, count, GATHER_BF16, g->comm, stream) == 0;
}
#else
static int gather_open(gather *g, iris_world *w) { return memset(g, 0, sizeof *g), (void)w, 0; }
static int gather_run(const gather *g, void *all, size_t count, int rank, iris_stream stream)
{
    return (void)g, (void)all, (void)count, (void)rank, (void)stream, 0;
}
#endif

#endif
