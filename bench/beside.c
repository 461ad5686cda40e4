/* SPDX-License-Identifier: MIT */
/*
 * beside.c: a GEMM and a collective that do not depend on each other, on two streams: each alone with the device for
 * itself, and both at once, where the collective has `share` workgroups and the GEMM the other compute units.
 *
 * An all_gather is in place, as one of a GEMM's results would be. `ceiling` of both is the longer of the two alone: its
 * ratio is 1 where the shorter one is hidden. The copy engines' all_gather takes no compute unit for its copies, but
 * its handshakes are kernels of one wave: `share` is what the GEMM leaves free for them. Operands are whole numbers so
 * small that every sum is exact; samples of both results are checked after each time.
 */
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_ALL_GATHER
#include <iris/bench.h>
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/gemm.h>

enum { GEMM = 1, COLLECTIVE = 2, CHECKED = 4096 };
static const char *const variants[] = {"gemm", "collective", "both"};

typedef struct beside_options {
    iris_bench_suite suite;
    int m, n, k;
    size_t bytes; /* of the collective: all_reduce's message, or what all_gather leaves on a rank */
} beside_options;

typedef struct beside_job {
    const beside_options *o;
    iris_bf16 *a, *b, *c, *src, *dst;
    iris_gemm_args args;
    iris_gemm_plan plan;
    iris_collective what;
    iris_channel channel;
    iris_stream second;
    iris_event fork, join;
    int parts, gathers;
    double alone[COLLECTIVE + 1]; /* microseconds of each, of the benchmark that is measured */
} beside_job;

static float element(int64_t i) { return (float)(i % 5 - 2); }
static float sent(int rank, int64_t i) { return (float)((i + rank) % 7); }

static iris_status collect(iris_world *w, beside_job *j)
{
    return j->gathers ? iris_launch_all_gather(w, &j->channel, &j->what, j->second)
                      : iris_launch_all_reduce(w, &j->channel, &j->what, j->second);
}

/* The GEMM goes on the stream, the collective on the second one, between two events. */
static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    beside_job *j = (beside_job *)arg;
    iris_status s = IRIS_OK;
    (void)turn;
    if ((j->parts & COLLECTIVE) && (s = iris_event_record(w, j->fork, stream)) == IRIS_OK &&
        (s = iris_stream_wait_event(w, j->second, j->fork)) == IRIS_OK && (s = collect(w, j)) == IRIS_OK)
        s = iris_event_record(w, j->join, j->second);
    if (s == IRIS_OK && (j->parts & GEMM))
        s = iris_gemm_local_bf16(w, &j->plan, stream);
    return s == IRIS_OK && (j->parts & COLLECTIVE) ? iris_stream_wait_event(w, stream, j->join) : s;
}

/* How many of the sampled elements of C are wrong. */
static iris_status wrong_products(iris_world *w, const beside_job *j, int *wrong)
{
    const int64_t m = j->o->m, n = j->o->n, k = j->o->k, step = m * n / CHECKED + 1;
    for (int64_t at = 0; at < m * n; at += step) {
        iris_bf16 c;
        double sum = 0;
        const iris_status s = iris_memcpy(w, &c, j->c + at, sizeof c);
        if (s != IRIS_OK)
            return s;
        for (int64_t i = 0; i < k; i++)
            sum += element(at / n * k + i) * element(i * n + at % n);
        *wrong += iris_widen_bf16(c) != iris_widen_bf16(iris_narrow_bf16((float)sum));
    }
    return IRIS_OK;
}

static iris_status wrong_sums(iris_world *w, const beside_job *j, int *wrong)
{
    const int ranks = iris_world_size(w);
    const int64_t count = (int64_t)j->what.count, all = j->gathers ? count * ranks : count, step = all / CHECKED + 1;
    for (int64_t at = 0; at < all; at += step) {
        iris_bf16 x;
        float want = 0;
        const iris_status s = iris_memcpy(w, &x, j->dst + at, sizeof x);
        if (s != IRIS_OK)
            return s;
        for (int r = 0; r < ranks; r++)
            want += j->gathers ? (at / count == r ? sent(r, at % count) : 0) : sent(r, at);
        *wrong += iris_widen_bf16(x) != want;
    }
    return IRIS_OK;
}

/* A variant of one benchmark: the collective's schedule is the benchmark's data, null for the library's choice. */
static iris_status measure(iris_bench_point *p)
{
    beside_job *j = (beside_job *)p->arg;
    iris_world *w = p->world;
    const iris_schedule *schedule = (const iris_schedule *)p->benchmark->data;
    const uint32_t units = (uint32_t)iris_compute_units(w), share = (uint32_t)p->values[1];
    const uint32_t rest = units > share + 1 ? units - share : 2;
    int wrong = 0;
    j->parts = (int)p->values[0] + 1;
    if (j->parts != (GEMM | COLLECTIVE) && p->values[1] != p->benchmark->axes[1].values[0])
        return IRIS_OK; /* alone there are no shares */
    j->gathers = strcmp(p->benchmark->name, "all_reduce") != 0;
    j->what.count = j->o->bytes / sizeof(iris_bf16) / (j->gathers ? (size_t)iris_world_size(w) : 1);
    j->what.schedule = schedule ? *schedule : IRIS_SCHEDULE_AUTO;
    j->what.src = j->gathers ? j->dst + (size_t)iris_rank(w) * j->what.count : j->src;
    j->what.workgroups = j->parts == (GEMM | COLLECTIVE) && !schedule ? share : 0;
    j->args.workgroups = j->parts == (GEMM | COLLECTIVE) ? rest : 0;
    iris_status s = iris_gemm_prepare(w, &j->plan, IRIS_GEMM_LOCAL, IRIS_BF16, &j->args);
    if (s != IRIS_OK)
        return s;
    /* NaN: what is not written is seen */
    s = iris_memset(w, j->c, 0xff, (size_t)j->o->m * (size_t)j->o->n * sizeof *j->c);
    if (s == IRIS_OK)
        s = iris_memset(w, j->dst, 0xff, j->o->bytes);
    if (s == IRIS_OK && j->gathers)
        s = iris_memcpy(w, j->dst + (size_t)iris_rank(w) * j->what.count, j->src, j->what.count * sizeof *j->src);
    if (s == IRIS_OK)
        s = iris_barrier(w);
    if (s != IRIS_OK)
        return s;
    p->row.dtype = "bf16", p->row.bytes = j->parts & COLLECTIVE ? j->o->bytes : 0;
    s = iris_bench_time(p, NULL, submit, j);
    if (s == IRIS_OK && (j->parts & GEMM))
        s = wrong_products(w, j, &wrong);
    if (s == IRIS_OK && (j->parts & COLLECTIVE))
        s = wrong_sums(w, j, &wrong);
    p->row.ok = wrong == 0;
    if (j->parts != (GEMM | COLLECTIVE))
        j->alone[j->parts] = p->row.us;
    else if (j->alone[GEMM] > 0 && j->alone[COLLECTIVE] > 0) /* a filter may have left them out */
        p->row.ceiling = j->alone[GEMM] > j->alone[COLLECTIVE] ? j->alone[GEMM] : j->alone[COLLECTIVE];
    const iris_status released = iris_gemm_release(w, &j->plan);
    return s == IRIS_OK ? released : s;
}

/* Matrices and the collective's input, from the host. */
static iris_status fill(iris_world *w, beside_job *j)
{
    const int64_t a = (int64_t)j->o->m * j->o->k, b = (int64_t)j->o->k * j->o->n;
    const int64_t sends = (int64_t)(j->o->bytes / sizeof(iris_bf16)), most = a > b ? a : b;
    iris_bf16 *host = (iris_bf16 *)malloc(sizeof *host * (size_t)(most > sends ? most : sends));
    if (!host)
        return IRIS_ERR_NOMEM;
    for (int64_t i = 0; i < most; i++)
        host[i] = iris_narrow_bf16(element(i));
    iris_status s = iris_memcpy(w, j->a, host, (size_t)a * sizeof *host);
    if (s == IRIS_OK)
        s = iris_memcpy(w, j->b, host, (size_t)b * sizeof *host);
    for (int64_t i = 0; i < sends; i++)
        host[i] = iris_narrow_bf16(sent(iris_rank(w), i));
    if (s == IRIS_OK)
        s = iris_memcpy(w, j->src, host, (size_t)sends * sizeof *host);
    free(host);
    return s;
}

static int rank_main(iris_world *w, void *options)
{
    static const size_t element_bytes = sizeof(iris_bf16);
    beside_job j;
    memset(&j, 0, sizeof j);
    j.o = (const beside_options *)options;
    const size_t m = (size_t)j.o->m, n = (size_t)j.o->n, k = (size_t)j.o->k;
    j.a = iris_empty_bf16(w, m * k), j.b = iris_empty_bf16(w, k * n), j.c = iris_empty_bf16(w, m * n);
    j.src = (iris_bf16 *)iris_malloc(w, j.o->bytes), j.dst = (iris_bf16 *)iris_malloc(w, j.o->bytes + element_bytes);
    IRIS_TRY(j.a && j.b && j.c && j.src && j.dst ? fill(w, &j) : IRIS_ERR_NOMEM);
    j.args.m = j.o->m, j.args.n = j.o->n, j.args.k = j.o->k;
    j.args.a = j.a, j.args.b = j.b, j.args.c = j.c;
    j.what.dst = j.dst, j.what.dtype = IRIS_BF16;
    IRIS_TRY(iris_collective_channel(w, &j.channel, 0));
    IRIS_TRY(iris_stream_create(w, &j.second));
    IRIS_TRY(iris_event_create(w, &j.fork));
    IRIS_TRY(iris_event_create(w, &j.join));
    IRIS_TRY(iris_barrier(w));
    return iris_bench_run(w, &j.o->suite, &j);
}

static const char *settle(iris_bench_suite *s)
{
    const beside_options *o = (const beside_options *)(const void *)s; /* its first member */
    return o->m > 0 && o->n > 0 && o->k > 0 && o->bytes >= 1024 ? NULL : "sides are 1 or more, bytes 1024 or more";
}

int main(int argc, char **argv)
{
    static const iris_schedule copy_engine = IRIS_SCHEDULE_COPY_ENGINE;
    static const int64_t shares[] = {8, 16, 32}, on_host[] = {1, 2}, free_units[] = {0, 1, 2};
    static beside_options o;
    iris_config config;
    const int host = strcmp(iris_platform_name(), "host") == 0;
    o.m = host ? 256 : 8192, o.n = host ? 256 : 4096, o.k = host ? 256 : 14336;
    o.bytes = (size_t)(host ? 1 : 256) << 20;
    iris_bench_suite_init(&o.suite, "beside", "beside: a GEMM and a collective at the same time, beside each alone");
    static const char *const names[] = {"all_reduce", "all_gather", "all_gather_copy_engine"};
    for (int i = 0; i < 3; i++) {
        iris_bench_benchmark *b = iris_bench_add(&o.suite, names[i], measure);
        iris_bench_words(b, "variant", variants, 3);
        iris_bench_list(b, "share", i == 2 ? free_units : host ? on_host : shares, !host ? 3 : i == 2 ? 1 : 2);
        b->data = i == 2 ? &copy_engine : NULL;
    }
    iris_bench_option_int(&o.suite, 'm', "rows", &o.m, "M of the GEMM");
    iris_bench_option_int(&o.suite, 'w', "columns", &o.n, "N of the GEMM");
    iris_bench_option_int(&o.suite, 'k', "inner", &o.k, "K of the GEMM");
    iris_bench_option_size(&o.suite, 'b', "bytes", &o.bytes, "bytes of the collective");
    o.suite.settle = settle;
    const int done = iris_bench_parse(&o.suite, argc, argv);
    if (done >= 0)
        return done;
    memset(&config, 0, sizeof config);
    config.heap_bytes = 2 * ((size_t)o.m * (size_t)o.k + (size_t)o.k * (size_t)o.n + (size_t)o.m * (size_t)o.n) +
                        2 * o.bytes + (16u << 20);
    return iris_spawn_config(o.suite.ranks, rank_main, &o, &config);
}
