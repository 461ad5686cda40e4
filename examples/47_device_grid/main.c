/* SPDX-License-Identifier: MIT */
/*
 * C = A * B on several devices, written as for one: the grid has one dimension more, the device. One thread of one
 * process drives all devices. Tiles of C are dealt out over devices and workgroups, and each is stored on every device.
 */
#include <iris/init.h>
#include <iris/iris.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ranks.h"

enum { M = 150, N = 130, K = 70, TILE = 16, MOST = 64 };

typedef struct {
    iris_ctx ctx;
    const float *a, *b; /* all of A and B, on every device */
    float *c;
    iris_signal *done;
} matmul_args;

static const int across = (N + TILE - 1) / TILE, tiles = (N + TILE - 1) / TILE * ((M + TILE - 1) / TILE);

IRIS_DEVICE float dot(const matmul_args *a, int row, int column)
{
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += a->a[row * K + k] * a->b[k * N + column];
    return sum;
}

IRIS_KERNEL(matmul, matmul_args, a, 256)
{
    const int device = a->ctx.rank, devices = a->ctx.world;
    const int n_tiles = (N + TILE - 1) / TILE * ((M + TILE - 1) / TILE), n_across = (N + TILE - 1) / TILE;
    for (int t = device + devices * (int)iris_workgroup(); t < n_tiles; t += devices * (int)iris_workgroups())
        for (int i = (int)iris_wg_lane(); i < TILE * TILE; i += (int)iris_wg_lanes()) {
            const int row = t / n_across * TILE + i / TILE, column = t % n_across * TILE + i % TILE;
            const float sum = row < M && column < N ? dot(a, row, column) : 0;
            for (int to = 0; row < M && column < N && to < devices; to++)
                iris_store_f32(&a->ctx, a->c + row * N + column, sum, (device + to) % devices);
        }
    for (int to = 0; to < devices; to++) /* release: what this workgroup has stored there is seen with it */
        iris_signal_add_wg(&a->ctx, a->done, 1, to);
    iris_wait_ge_wg(&a->ctx, a->done, (uint64_t)iris_workgroups() * (uint64_t)devices);
}

/* Small whole numbers: every order of adding gives the same sums. */
static float element(int i) { return (float)(i * 7 % 11 - 5); }

static int wrong(iris_world *w, const float *c)
{
    float *got = (float *)malloc(M * N * sizeof *got);
    int n = iris_download_f32(w, got, c, M * N) == IRIS_OK ? 0 : M * N;
    for (int i = 0; i < M * N && n < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum += element(i / N * K + k) * element(k * N + i % N);
        n += got[i] != sum;
    }
    free(got);
    return n;
}

/* What a device needs; its memory is written before any device's kernel begins. */
static iris_status prepare(iris_world *w, matmul_args *a)
{
    static float host_a[M * K], host_b[K * N];
    float *on_a = iris_empty_f32(w, M * K), *on_b = iris_empty_f32(w, K * N);
    for (int i = 0; i < M * K; i++)
        host_a[i] = element(i);
    for (int i = 0; i < K * N; i++)
        host_b[i] = element(i);
    a->ctx = iris_device_ctx(w);
    a->a = on_a, a->b = on_b;
    a->c = iris_zeros_f32(w, M * N);
    a->done = iris_signals(w, 1);
    const iris_status status = iris_upload_f32(w, on_a, host_a, M * K);
    return status == IRIS_OK ? iris_upload_f32(w, on_b, host_b, K * N) : status;
}

int main(int argc, char **argv)
{
    const int n = ranks_of(argc, argv, 2, "Multiplies two matrices on several devices that one thread drives.");
    const iris_launch_config grid = iris_cooperative(4, 256);
    iris_world *worlds[MOST];
    static matmul_args args[MOST];
    int failed = 0;
    printf("platform: %s\n", iris_platform_name());
    if (n > MOST)
        return fprintf(stderr, "%s: at most %d ranks\n", argv[0], (int)MOST), 2;
    IRIS_TRY(iris_init_all(worlds, n, NULL));
    for (int r = 0; r < n; r++)
        IRIS_TRY(prepare(worlds[r], &args[r]));
    IRIS_TRY(iris_group_begin());
    for (int r = 0; r < n; r++)
        IRIS_TRY(iris_barrier(worlds[r])); /* held: every device has created before any kernel stores */
    IRIS_TRY(iris_group_end());
    IRIS_TRY(iris_launch_all(worlds, n, matmul, args, sizeof args[0], &grid, NULL));
    for (int r = 0; r < n; r++) {
        IRIS_TRY(iris_synchronize(worlds[r]));
        failed += wrong(worlds[r], args[r].c);
    }
    printf("%d devices computed %d tiles, %d in a row; %d wrong elements on all of them\n", n, tiles, across, failed);
    IRIS_TRY(iris_group_begin());
    for (int r = 0; r < n; r++)
        IRIS_TRY(iris_finalize(worlds[r]));
    IRIS_TRY(iris_group_end());
    return failed != 0;
}
