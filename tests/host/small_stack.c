/* SPDX-License-Identifier: MIT */
/*
 * small_stack.c: kernels run on a stack that is large enough, however small the caller's is. A kernel with a frame of
 * 600 KB, and an f64 GEMM, launched and waited for by a thread with a stack of 128 KiB, by processes whose first thread
 * has no more (ulimit -s 128, in the suite), and by ranks that are threads.
 */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F64
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/init.h>
#include <iris/iris.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { FRAME = 600 * 1000, LAUNCHES = 100, M = 70, N = 50, K = 30 };

typedef struct frame_args {
    iris_ctx ctx;
    uint64_t *sum;
} frame_args;

/* Every byte of the frame is written and read: a stack that is too small does not go unnoticed. */
IRIS_KERNEL(large_frame, frame_args, a, 64)
{
    volatile unsigned char frame[FRAME];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < FRAME; i++)
        frame[i] = (unsigned char)(i + (uint32_t)a->ctx.rank);
    for (uint32_t i = 0; i < FRAME; i++)
        sum += frame[i];
    *a->sum += sum;
}

static int frames(iris_world *w)
{
    const iris_launch_config grid = iris_grid(1, 64);
    uint64_t expected = 0, sum = 0;
    frame_args a;
    memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(w);
    a.sum = iris_zeros_u64(w, 1);
    for (uint32_t i = 0; i < FRAME; i++)
        expected += (unsigned char)(i + (uint32_t)iris_rank(w));
    for (int n = 0; n < LAUNCHES; n++) {
        IRIS_TRY(iris_launch(w, large_frame, &a, sizeof a, &grid, iris_default_stream(w)));
        IRIS_TRY(iris_synchronize(w));
    }
    IRIS_TRY(iris_memcpy(w, &sum, a.sum, sizeof sum));
    if (sum != LAUNCHES * expected)
        printf("rank %d: the frames add up to %llu, not %llu\n", iris_rank(w), (unsigned long long)sum,
               (unsigned long long)(LAUNCHES * expected));
    return sum != LAUNCHES * expected;
}

/* A is 0.5 everywhere, B is 2 times the rank and 1: so is K times a band of C. */
static int product(iris_world *w)
{
    const int ranks = iris_world_size(w);
    static const char *const where = "rank %d: C[%d] is %g, not %g\n";
    iris_gemm_args args;
    iris_gemm_plan plan;
    int wrong = 0;
    memset(&args, 0, sizeof args);
    args.m = M, args.n = N, args.k = K;
    args.a = iris_full_f64(w, M * K, 0.5);
    args.b = iris_full_f64(w, K * N, 2.0 * iris_rank(w) + 2.0);
    args.c = iris_zeros_f64(w, M * N);
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F64, &args));
    for (int n = 0; n < LAUNCHES / 10; n++) {
        IRIS_TRY(iris_gemm_all_scatter_f64(w, &plan, iris_default_stream(w)));
        IRIS_TRY(iris_synchronize(w));
    }
    IRIS_TRY(iris_barrier(w));
    for (int r = 0; r < ranks; r++) {
        const iris_gemm_columns band = iris_gemm_band(N, (uint32_t)ranks, (uint32_t)r);
        for (int i = 0; i < M && !wrong; i++) {
            const int at = i * N + (int)band.first;
            const double seen = iris_peek_f64(w, (double *)args.c + at), right = K * (r + 1.0);
            if (band.count && seen != right)
                wrong = printf(where, iris_rank(w), at, seen, right);
        }
    }
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_gemm_release(w, &plan));
    return wrong;
}

static int rank_main(iris_world *w, void *unused)
{
    (void)unused;
    return frames(w) || product(w);
}

/* Forked by this thread, ranks that are processes have its stack. */
static void *spawn(void *result)
{
    *(int *)result = iris_spawn(2, rank_main, NULL);
    return NULL;
}

int main(void)
{
    int result = 1;
    pthread_t small;
    pthread_attr_t attr;
    if (iris_spawn(2, rank_main, NULL) != 0)
        return 1;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, 128 * 1024) != 0 || pthread_create(&small, &attr, spawn, &result) != 0) {
        printf("no thread with a stack of 128 KiB\n");
        return 1;
    }
    pthread_join(small, NULL);
    return result;
}
