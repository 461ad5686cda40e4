/* SPDX-License-Identifier: MIT */
/*
 * mpi.c: all-reduce, all-gather and all-to-all of f32 on the host beside MPI's, in the same processes, in turn:
 *
 *   mpirun -n 4 --oversubscribe build/bench/mpi --json FILE
 *
 * Bytes are those of the larger buffer of a rank. A time is the median over repetitions of the maximum over ranks, of
 * up to --laps calls in a row, divided by their number; both begin at a barrier of MPI. Ours are put on the stream one
 * after the other and waited for once; MPI's return when they are done. `ceiling` is MPI's time. The last row, geomean,
 * has the geometric means over all rows: its ratio says how much faster this library is.
 */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#define IRIS_INSTANTIATE_ALL_TO_ALL
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_to_all.h>

#if defined(__has_include)
#if __has_include(<mpi.h>)
#define BENCH_HAS_MPI 1
#endif
#endif

#if !defined(BENCH_HAS_MPI)
#include <stdio.h>
int main(void)
{
    fprintf(stderr, "this was built without MPI: mpi.h was not found\n");
    return 77;
}
#else
#include <math.h>
#include <mpi.h>

#include "bench.h"

enum { KINDS = 3 };
static const char *const names[KINDS] = {"all_reduce", "all_gather", "all_to_all"};

typedef struct job {
    bench b;
    iris_channel ch;
    float *dst, *src;
    int kind;
    size_t bytes;
} job;

static float element(int rank, size_t i) { return (float)((i * 7 + (size_t)rank * 3) % 13); }

static int call_own(job *j, size_t count)
{
    iris_world *w = j->b.w;
    const iris_team all = {0, 0, 0};
    if (j->kind == 0)
        return iris_all_reduce_sum_f32(w, &j->ch, j->dst, j->src, count, all, NULL) != IRIS_OK;
    if (j->kind == 1)
        return iris_all_gather_f32(w, &j->ch, j->dst, j->src, count, all, NULL) != IRIS_OK;
    return iris_all_to_all_f32(w, &j->ch, j->dst, j->src, count, all, NULL) != IRIS_OK;
}

static int call_mpi(job *j, size_t count)
{
    if (j->kind == 0)
        return MPI_Allreduce(j->src, j->dst, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (j->kind == 1)
        return MPI_Allgather(j->src, (int)count, MPI_FLOAT, j->dst, (int)count, MPI_FLOAT, MPI_COMM_WORLD);
    return MPI_Alltoall(j->src, (int)count, MPI_FLOAT, j->dst, (int)count, MPI_FLOAT, MPI_COMM_WORLD);
}

/* 1 when every element of dst is right. */
static int right(const job *j, size_t count)
{
    const int ranks = iris_world_size(j->b.w), me = iris_rank(j->b.w);
    const size_t all = j->kind == 0 ? count : count * (size_t)ranks;
    for (size_t i = 0; i < all; i++) {
        float want = element((int)(i / count), j->kind == 2 ? (size_t)me * count + i % count : i % count);
        for (int r = 1; r < ranks && j->kind == 0; r++)
            want += element(r, i);
        if (j->dst[i] != want)
            return 0;
    }
    return 1;
}

/* Microseconds of a call, the slowest rank's; negative when one failed. */
static double once(job *j, int mpi, size_t count, int calls)
{
    int failed = MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int i = 0; i < calls && !failed; i++)
        failed = mpi ? call_mpi(j, count) : call_own(j, count);
    if (!mpi && !failed)
        failed = iris_synchronize(j->b.w) != IRIS_OK;
    double us = failed ? 1e30 : 1e6 * (MPI_Wtime() - began) / calls, most = 0;
    if (MPI_Allreduce(&us, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
        return -1;
    return most < 1e29 ? most : -1;
}

/* One size: both in turn, each checked. Adds the logarithms of the times to `sums`. 1 when the run cannot go on. */
static int compare(job *j, double *sums)
{
    const bench_options *o = j->b.o;
    const size_t count = j->bytes / sizeof(float) / (j->kind == 0 ? 1 : (size_t)iris_world_size(j->b.w));
    const size_t some = ((size_t)16 << 20) / j->bytes; /* calls in a row, fewer of what takes long */
    const int calls = some < 1 ? 1 : some < (size_t)o->laps ? (int)some : o->laps;
    iris_bench_result result[2];
    double *times = (double *)calloc(2 * (size_t)o->repeats, sizeof *times);
    iris_bench_row row;
    if (!times)
        return fprintf(stderr, "no memory for the times\n");
    memset(&row, 0, sizeof row);
    row.ok = 1;
    for (int turn = -o->warmup; turn < o->repeats; turn++)
        for (int mpi = 0; mpi < 2; mpi++) {
            if (turn == -o->warmup)
                memset(j->dst, 0xFF, o->max_bytes);
            const double us = once(j, mpi, count, turn < 0 ? 1 : calls);
            if (us < 0) {
                free(times);
                return fprintf(stderr, "%s by %s: %s\n", names[j->kind], mpi ? "MPI" : "us", iris_error_string(j->b.w));
            }
            if (turn >= 0)
                times[mpi * o->repeats + turn] = us;
            else if (turn == -o->warmup)
                row.ok &= right(j, count);
        }
    for (int mpi = 0; mpi < 2; mpi++) {
        iris_bench_summarize(times + mpi * o->repeats, o->repeats, result + mpi);
        sums[mpi] += log(result[mpi].median);
    }
    free(times);
    row.name = names[j->kind], row.dtype = "f32", row.variant = "auto", row.bytes = j->bytes;
    row.us = result[0].median, row.ceiling = result[1].median, row.time = result[0];
    row.ok = iris_bench_all_ok(j->b.w, row.ok);
    iris_bench_put(&j->b.file, &row);
    return 0;
}

static int rank_main(iris_world *w, const bench_options *o)
{
    double sums[2] = {0, 0};
    int rows = 0;
    iris_bench_row row;
    job j;
    memset(&j, 0, sizeof j);
    IRIS_TRY(iris_collective_channel(w, &j.ch, o->piece));
    j.dst = (float *)iris_malloc(w, o->max_bytes);
    j.src = (float *)iris_malloc(w, o->max_bytes);
    if (!j.dst || !j.src || bench_open(&j.b, w, o, "mpi"))
        return irisi_try_failed(IRIS_ERR_NOMEM, "the benchmark's buffers");
    for (size_t i = 0; i < o->max_bytes / sizeof(float); i++)
        j.src[i] = element(iris_rank(w), i);
    IRIS_TRY(iris_barrier(w));
    for (j.kind = 0; j.kind < KINDS; j.kind++)
        for (j.bytes = o->min_bytes; j.bytes <= o->max_bytes && !iris_bench_late(&j.b.file); j.bytes *= 4, rows++)
            if ((!o->only || strcmp(o->only, names[j.kind]) == 0) && compare(&j, sums))
                return 1;
    memset(&row, 0, sizeof row);
    row.name = "geomean", row.dtype = "f32", row.variant = "auto", row.ok = 1;
    row.us = exp(sums[0] / rows), row.ceiling = exp(sums[1] / rows);
    if (rows > 0)
        iris_bench_put(&j.b.file, &row);
    return iris_bench_close(&j.b.file);
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    iris_world *w = NULL;
    int failed = MPI_Init(&argc, &argv);
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 1, o.repeats = 20, o.warmup = 3, o.min_bytes = 1024, o.max_bytes = 64 << 20, o.laps = 64, o.seconds = 600;
    bench_parse(&o, argc, argv, "mpi: collectives on the host beside MPI's, under mpirun, which sets the ranks");
    config.heap_bytes = 2 * o.max_bytes + (8u << 20);
    config.sync_bytes = 32u << 20;
    failed |= iris_init(&w, &config) != IRIS_OK;
    if (failed)
        fprintf(stderr, "%s\n", iris_error_string(w));
    failed = failed || rank_main(w, &o) || iris_finalize(w) != IRIS_OK;
    MPI_Finalize();
    return failed;
}
#endif
