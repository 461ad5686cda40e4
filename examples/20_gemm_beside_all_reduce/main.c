/* SPDX-License-Identifier: MIT */
/*
 * A product and an all-reduce that have nothing to do with each other, at the same time: a layer's product, and the
 * gradients of another layer. Each has a stream and its share of the device's compute units, so that neither waits
 * until the other's workgroups leave. Timed alone and together, and checked.
 */
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_F32
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#include <iris/bench.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/gemm.h>

#include "../layer.h"

enum { A, B };

/* What goes on the streams, and which part of it. */
typedef struct work {
    iris_dtype dtype;
    iris_gemm_plan plan;
    iris_collective sum;
    iris_channel channel;
    iris_stream second;
    iris_event fork, join;
    int gemm, all_reduce;
} work;

/* The product goes on the stream, the all-reduce on the second one, between two events. */
static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    work *x = (work *)arg;
    iris_status s = IRIS_OK;
    (void)turn;
    if (x->all_reduce) {
        s = iris_event_record(w, x->fork, stream);
        if (s == IRIS_OK)
            s = iris_stream_wait_event(w, x->second, x->fork);
        if (s == IRIS_OK)
            s = iris_launch_all_reduce(w, &x->channel, &x->sum, x->second);
        if (s == IRIS_OK)
            s = iris_event_record(w, x->join, x->second);
    }
    if (s == IRIS_OK && x->gemm)
        s = x->dtype == IRIS_BF16 ? iris_gemm_local_bf16(w, &x->plan, stream)
                                  : iris_gemm_local_f32(w, &x->plan, stream);
    return s == IRIS_OK && x->all_reduce ? iris_stream_wait_event(w, stream, x->join) : s;
}

static int check_product(iris_world *w, const options *o, const void *c)
{
    const iris_gemm_columns all = {0, o->n};
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n);
    float *columns = transposed(&b, all);
    double *row = (double *)malloc(o->k * sizeof *row);
    verdict v = {0, 0, 0, 0, 0, 0};
    for (uint32_t s = 0; s < checked_rows(o->m) && columns && row; s++) {
        const uint32_t i = row_of(s, o->m);
        for (uint32_t k = 0; k < o->k; k++)
            row[k] = element(&a, i, k);
        for (uint32_t j = 0; j < o->n; j++) {
            const product p = dot(row, columns + (size_t)j * o->k, o->k, 1);
            judge(&v, i, j, at(o->dtype, c, (size_t)i * o->n + j), p.sum, tolerance(o->dtype, o->k, &p, p.sum));
        }
    }
    const int made = columns && row;
    free(row), free(columns);
    IRIS_TRY(made ? IRIS_OK : IRIS_ERR_NOMEM);
    return told(w, &v, "C");
}

/* Rank r's gradient i is (r + 1) * (i % 7): small whole numbers, whose sums are exact. */
static int check_sums(iris_world *w, const float *sums, size_t count)
{
    const int ranks = iris_world_size(w);
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += sums[i] != (float)(ranks * (ranks + 1) / 2 * (int)(i % 7));
    if (wrong || iris_rank(w) == 0)
        printf("rank %d: %zu of %zu sums are wrong\n", iris_rank(w), wrong, count);
    return wrong != 0;
}

/* Each alone, then both. */
static iris_status timed(iris_world *w, work *x)
{
    static const char *names[] = {"", "GEMM alone", "all-reduce alone", "both"};
    iris_bench_options how;
    iris_bench_result r[4];
    memset(&how, 0, sizeof how);
    how.repeats = 7;
    for (int part = 1; part < 4; part++) {
        x->gemm = part & 1, x->all_reduce = part >> 1;
        const iris_status s = iris_bench(w, iris_default_stream(w), submit, x, &how, &r[part]);
        if (s != IRIS_OK)
            return s;
        if (iris_rank(w) == 0)
            printf("%-16s %10.1f us\n", names[part], r[part].median);
    }
    if (iris_rank(w) == 0)
        printf("both take %.2f times the longer of the two, which in turn take %.2f\n",
               r[3].median / fmax(r[1].median, r[2].median),
               (r[1].median + r[2].median) / fmax(r[1].median, r[2].median));
    return IRIS_OK;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const iris_gemm_rows a_rows = {0, o->m}, b_rows = {0, o->k};
    const iris_gemm_columns a_columns = {0, o->k}, b_columns = {0, o->n};
    const size_t bytes = iris_dtype_bytes(o->dtype), count = (size_t)o->k * o->n, c_bytes = (size_t)o->m * o->n * bytes;
    const matrix a = matrix_of(o, A, o->m, o->k), b = matrix_of(o, B, o->k, o->n);
    const uint32_t units = (uint32_t)iris_compute_units(w);
    const uint32_t share = o->workgroups ? o->workgroups : units / 8 ? units / 8 : 1;
    work x;
    void *own_a = iris_malloc(w, a.rows * (size_t)a.columns * bytes), *own_b = iris_malloc(w, count * bytes);
    void *c = iris_malloc(w, c_bytes);
    float *gradients = iris_empty_f32(w, count), *sums = iris_empty_f32(w, count);
    float *host = (float *)malloc(count * sizeof *host);
    IRIS_TRY(own_a && own_b && c && gradients && sums && host ? IRIS_OK : IRIS_ERR_NOMEM);
    for (size_t i = 0; i < count; i++)
        host[i] = (float)((iris_rank(w) + 1) * (int)(i % 7));
    IRIS_TRY(upload(w, own_a, &a, a_rows, a_columns));
    IRIS_TRY(upload(w, own_b, &b, b_rows, b_columns));
    IRIS_TRY(iris_memcpy(w, gradients, host, count * sizeof *host));
    IRIS_TRY(iris_memset(w, c, 0xFF, c_bytes)); /* NaN: what is not written is seen */
    IRIS_TRY(iris_memset(w, sums, 0xFF, count * sizeof *sums));

    memset(&x, 0, sizeof x);
    x.dtype = o->dtype;
    iris_gemm_args g;
    memset(&g, 0, sizeof g);
    g.m = o->m, g.n = o->n, g.k = o->k, g.a = own_a, g.b = own_b, g.c = c;
    g.workgroups = units > share + 1 ? units - share : 2; /* the compute units that the all-reduce leaves */
    IRIS_TRY(iris_gemm_prepare(w, &x.plan, IRIS_GEMM_LOCAL, o->dtype, &g));
    x.sum.dst = sums, x.sum.src = gradients, x.sum.count = count, x.sum.dtype = IRIS_F32;
    x.sum.workgroups = share;
    IRIS_TRY(iris_collective_channel(w, &x.channel, 0));
    IRIS_TRY(iris_stream_create(w, &x.second));
    IRIS_TRY(iris_event_create(w, &x.fork));
    IRIS_TRY(iris_event_create(w, &x.join));
    IRIS_TRY(iris_barrier(w)); /* everyone has a channel */
    if (iris_rank(w) == 0)
        printf("%ux%ux%u %s on %u workgroups beside an all-reduce of %zu f32 on %u\n", o->m, o->n, o->k,
               iris_dtype_name(o->dtype), g.workgroups, count, share);
    IRIS_TRY(timed(w, &x));
    IRIS_TRY(iris_memset(w, c, 0xFF, c_bytes)); /* what is checked is of both at once */
    IRIS_TRY(iris_memset(w, sums, 0xFF, count * sizeof *sums));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(submit(w, &x, iris_default_stream(w), 0));

    void *result = download(w, c, c_bytes);
    IRIS_TRY(iris_memcpy(w, host, sums, count * sizeof *host));
    int failed = result == NULL || check_product(w, o, result);
    failed |= check_sums(w, host, count);
    free(result), free(host);
    IRIS_TRY(iris_barrier(w)); /* nobody works on the channel any more */
    IRIS_TRY(iris_channel_destroy(w, &x.channel));
    IRIS_TRY(iris_event_destroy(w, x.join));
    IRIS_TRY(iris_event_destroy(w, x.fork));
    IRIS_TRY(iris_stream_destroy(w, x.second));
    IRIS_TRY(iris_gemm_release(w, &x.plan));
    return failed;
}

int main(int argc, char **argv)
{
    options o;
    const int status = parse_more(&o, argc, argv, "A GEMM beside an all-reduce of K x N floats, each on its share.",
                                  "of the GEMM", 'w', "of the all-reduce (default: an eighth of the compute units)");
    if (status >= 0)
        return status;
    const size_t m = o.m, n = o.n, k = o.k;
    const iris_config config = heap_for(&o, m * (k + 64) + 5 * k * (n + 64) + m * (n + 64));
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
