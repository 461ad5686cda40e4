/* SPDX-License-Identifier: MIT */
/* Memory that somebody else has allocated, of another length on each rank: half of it goes into the right neighbour's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { RANKS = 3, ROW = 512 };

/* What stands for a framework: memory of the device that is not the library's. */
#if defined(IRIS_TARGET_NVIDIA) || defined(IRIS_TARGET_AMD)
#if defined(IRIS_TARGET_NVIDIA)
#include <cuda_runtime_api.h>
#define DEVICE(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define DEVICE(name) hip##name
#endif
static float *framework_memory(size_t bytes)
{
    void *p = NULL;
    return DEVICE(Malloc)(&p, bytes) == DEVICE(Success) ? (float *)p : NULL;
}
static void framework_free(float *p, size_t bytes) { (void)bytes, (void)DEVICE(Free)(p); }
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static float *framework_memory(size_t bytes)
{
    const int fd = memfd_create("tensor", MFD_ALLOW_SEALING); /* stays open: other ranks map it */
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
        return NULL;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : (float *)p;
}
static void framework_free(float *p, size_t bytes) { munmap(p, bytes); }
#endif

typedef struct {
    iris_ctx ctx;       /* of the heap: signals */
    iris_window tensor; /* of the framework's memory on every rank */
    iris_signal *arrived;
} push_args;

/* The own first row into the right neighbour's second. */
IRIS_KERNEL(push_right, push_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    float *own = (float *)(uintptr_t)a->tensor.ctx.base;
    iris_put_f32_wg(&a->tensor.ctx, own + ROW, own, ROW, right); /* own + ROW here is row 1 there */
    iris_signal_add_wg(&a->ctx, a->arrived, 1, right);
    iris_wait_ge_wg(&a->ctx, a->arrived, 1);
}

static int rank_main(iris_world *w, void *unused)
{
    const int rank = iris_rank(w), right = (rank + 1) % RANKS, left = (rank + RANKS - 1) % RANKS;
    const size_t bytes = (size_t)(2 + rank) * ROW * sizeof(float); /* each rank's own */
    const char *const reached[] = {"not at all", "in this process", "on this device", "over a link"};
    iris_launch_config grid = iris_cooperative(1, 256);
    float *tensor, value[ROW], got = -1;
    push_args a;
    (void)unused;
    tensor = framework_memory(bytes);
    for (int i = 0; i < ROW; i++)
        value[i] = (float)rank;
    a.ctx = iris_device_ctx(w);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_register(w, tensor, bytes, &a.tensor));
    IRIS_TRY(iris_memcpy(w, tensor, value, sizeof value));
    IRIS_TRY(iris_barrier(w)); /* everyone's memory is filled */
    IRIS_TRY(iris_launch(w, push_right, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, &got, tensor + ROW, sizeof got));
    printf("rank %d has %g from rank %d; %zu bytes of rank %d are reached %s\n", rank, (double)got, left,
           iris_window_bytes(w, &a.tensor, right), right, reached[iris_window_reach(w, &a.tensor, right)]);
    IRIS_TRY(iris_unregister(w, &a.tensor));
    framework_free(tensor, bytes); /* nobody has it mapped any more */
    return got == (float)left ? 0 : 1;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(RANKS, rank_main, NULL);
}
