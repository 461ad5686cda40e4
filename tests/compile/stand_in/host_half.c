/* SPDX-License-Identifier: MIT */
/*
 * host_half.c: what init.c does on AMD, on a stand-in of HIP (hip.cpp): heaps that ranks open by IPC or share as
 * threads of one process, copies to a peer, of rows on a stream too, memory of hipMalloc as windows, how large a grid
 * may be. Says what went wrong; silent when nothing did.
 *
 *   host_half RANKS MOST    MOST: workgroups of 256 lanes that may wait for each other on a rank's device
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hip/hip_runtime_api.h>

#include <iris/init.h>
#include <iris/iris.h>
#include <iris/on_stream.h>

typedef struct nothing_args {
    iris_ctx ctx;
} nothing_args;

IRIS_KERNEL(nothing, nothing_args, a, 256) { (void)a; }
/* Of this one 8 workgroups fit a compute unit by registers, and it has 64 bytes of shared memory by itself. */
IRIS_KERNEL(light_nothing, nothing_args, a, 256) { (void)a; }

static int expect(int held, const char *what)
{
    if (!held)
        printf("%s\n", what);
    return held ? 0 : 1;
}

/* Rows of two numbers to the right one, three apart, and one number of each from the left one, without a gap. */
static int rows_go_around(iris_world *w)
{
    const int me = iris_rank(w), ranks = iris_world_size(w), right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    const size_t one = sizeof(float);
    const float first = (float)me;
    float *own = iris_arange_f32(w, 4, first, 1), *inbox = iris_full_f32(w, 6, -1), got[6], back[2];
    float *log = iris_zeros_f32(w, 2);
    int wrong = 0;
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_put_2d_on_stream(w, inbox, 3 * one, own, 2 * one, 2 * one, 2, right, NULL));
    IRIS_TRY(iris_get_2d_on_stream(w, log, one, own + 1, 2 * one, one, 2, left, NULL));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_download_f32(w, got, inbox, 6));
    IRIS_TRY(iris_download_f32(w, back, log, 2));
    for (int i = 0; i < 6; i++)
        wrong += expect(got[i] == (i % 3 < 2 ? (float)(left + i / 3 * 2 + i % 3) : -1), "rows that were put are wrong");
    for (int i = 0; i < 2; i++)
        wrong += expect(back[i] == (float)(left + 1 + 2 * i), "rows that were got are wrong");
    return wrong;
}

/* Mappings of memory files in this process: the stand-in has one for each allocation, its own or opened. */
static int mappings(void)
{
    char line[512];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:hip") != NULL;
    if (f)
        fclose(f);
    return n;
}

/* Two windows in one allocation of each rank, which other processes open once; another place and length on each. */
static int windows(iris_world *w)
{
    const int me = iris_rank(w), ranks = iris_world_size(w), right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    const char *spawn = getenv("IRIS_SPAWN");
    const int threads = spawn && strcmp(spawn, "thread") == 0;
    const size_t length = 64 + 16 * (size_t)me;
    char local[64], *memory = NULL, byte = (char)(10 + me), got = 0;
    iris_window first, second;
    int wrong = 0;
    IRIS_TRY(iris_barrier(w)); /* as threads of one process ranks have one list of mappings */
    const int before = mappings();
    IRIS_TRY(iris_barrier(w));
    wrong += expect(hipMalloc((void **)&memory, 4096) == hipSuccess, "there is no memory");
    IRIS_TRY(iris_register(w, memory + 256 + 8 * me, length, &first));
    IRIS_TRY(iris_register(w, memory + 1024, 32, &second));
    /* and a table of addresses for each window */
    wrong += expect(mappings() == before + (threads ? 3 * ranks : ranks + 2), "an allocation was opened twice");
    for (int r = 0; r < ranks; r++) {
        const iris_reach reach = iris_window_reach(w, &first, r);
        wrong += expect(iris_window_bytes(w, &first, r) == 64 + 16 * (size_t)r, "a rank's length is another");
        wrong += expect(reach == (r % 4 != me % 4 ? IRIS_REACH_PEER
                                  : threads || r == me ? IRIS_REACH_PROCESS : IRIS_REACH_DEVICE),
                        "a rank is reached otherwise");
    }
    IRIS_TRY(iris_memcpy(w, iris_window_translate(w, &first, memory + 256 + 8 * me + 40, right), &byte, 1));
    IRIS_TRY(iris_memcpy(w, memory + 2048, &byte, 1));
    IRIS_TRY(iris_put_on_stream(w, memory + 1024 + 31, memory + 2048, 1, right, NULL));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_memcpy(w, &got, memory + 256 + 8 * me + 40, 1));
    wrong += expect(got == (char)(10 + left), "the left neighbour's byte did not come into the first window");
    IRIS_TRY(iris_memcpy(w, &got, memory + 1024 + 31, 1));
    wrong += expect(got == (char)(10 + left), "the left neighbour's byte did not come into the second window");
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_unregister(w, &first));
    IRIS_TRY(iris_unregister(w, &second));
    wrong += expect(mappings() == before + (threads ? ranks : 1), "an allocation stays open");
    wrong += expect(iris_register(w, local, sizeof local, &first) == IRIS_ERR_ARGUMENT &&
                        strstr(iris_error_string(w), "it is no memory of the runtime's"),
                    "memory of the stack is a window");
    IRIS_TRY(iris_barrier(w));
    wrong += expect(hipFree(memory) == hipSuccess, "the memory cannot be freed");
    IRIS_TRY(iris_barrier(w));
    return wrong;
}

/*
 * Shared memory is given out in units of 512 bytes, or of 1280 where there is more than 64 KiB: 64 + 10752 bytes take
 * 11264, of which 5 fit 64 KiB, where a division says 6; 64 + 54208 take 55040, of which 2 fit 160 KiB, and not 3.
 */
static int shared_memory_counts(iris_world *w, uint32_t most)
{
    const char *set = getenv("IRIST_SHARED");
    const uint32_t all = set ? (uint32_t)atoi(set) : 65536;
    int wrong = 0;
    wrong += expect(iris_max_workgroups(w, light_nothing, 256, 0) == 8 * most, "registers allow another number");
    wrong += expect(iris_max_workgroups(w, light_nothing, 256, all == 65536 ? 10752 : 54208) ==
                        (all == 65536 ? 5 : 2) * most,
                    "shared memory allows another number of workgroups");
    wrong += expect(iris_max_workgroups(w, light_nothing, 256, all - 64) == most, "all of shared memory is too much");
    wrong += expect(iris_max_workgroups(w, light_nothing, 256, all) == 0, "what the kernel has itself is not counted");
    wrong += expect(iris_max_workgroups(w, nothing, 256, all) == most, "all of shared memory is too much for nothing");
    wrong += expect(iris_max_workgroups(w, nothing, 256, all + 1) == 0, "more shared memory than there is is allowed");
    return wrong;
}

static int rank_main(iris_world *w, void *arg)
{
    const uint32_t most = *(const uint32_t *)arg;
    const int me = iris_rank(w), ranks = iris_world_size(w);
    iris_launch_config grid = iris_cooperative(0, 256);
    nothing_args a;
    float mine = (float)me, got = -1;
    int wrong = 0;
    a.ctx = iris_device_ctx(w);
    float *inbox = iris_zeros_f32(w, 1);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_memcpy(w, (char *)inbox + a.ctx.delta[(me + 1) % ranks], &mine, sizeof mine));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_memcpy(w, &got, inbox, sizeof got));
    wrong += expect(got == (float)((me + ranks - 1) % ranks), "the left neighbour's number did not come");
    wrong += expect(a.ctx.deadline == (uint64_t)10 * 100000000, "the deadline is not 10 s of a clock of 100 MHz");
    wrong += expect(iris_max_workgroups(w, nothing, 256, 1024) == most, "another number of workgroups may wait");
    wrong += shared_memory_counts(w, most);
    const char *few = getenv("GPU_FORCE_BLIT_COPY_SIZE");
    wrong += expect(few && strcmp(few, "0") == 0, "the runtime may copy a few bytes by a kernel");
    wrong += expect(iris_max_workgroups(w, nothing, 512, 0) == 0, "more lanes than the kernel has are allowed");
    wrong += rows_go_around(w);
    wrong += windows(w);
    IRIS_TRY(iris_launch(w, nothing, &a, sizeof a, &grid, NULL));
    grid.workgroups = most + 1;
    const iris_status refused = iris_launch(w, nothing, &a, sizeof a, &grid, NULL);
    wrong += expect(refused == IRIS_ERR_GRID, "a grid that is too large is launched");
    return wrong;
}

int main(int argc, char **argv)
{
    uint32_t most = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    return iris_spawn(argc > 1 ? atoi(argv[1]) : 1, rank_main, &most);
}
