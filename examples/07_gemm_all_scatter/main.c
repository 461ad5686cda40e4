/* SPDX-License-Identifier: MIT */
/*
 * 07_gemm_all_scatter: a tensor-parallel layer, C = A * B with N split over the ranks, in five patterns.
 *
 * Rank r computes its band of C's columns and writes it into every rank's C while it computes the next tile. One
 * source for the CPU (cc), NVIDIA (nvcc -x cu) and AMD (hipcc -x hip); see README.md.
 */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F64
#include <math.h>

#include <iris/gen/launch/gemm_all_scatter.h>

#include "options.h"
#include "reference.h"

/* What the table shows of one pattern on one shape. */
typedef struct row {
    shape s;
    int pattern, ok;
    double ms, gflops, exposed_ms, error, bound;
} row;

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

#define LAUNCHERS(d)                                                                                                   \
    {                                                                                                                  \
        iris_gemm_local_##d, iris_gemm_all_scatter_bulk_synchronous_##d, iris_gemm_all_scatter_producer_consumer_##d,  \
            iris_gemm_all_scatter_fused_sequential_##d, iris_gemm_all_scatter_wg_specialized_##d,                      \
            iris_gemm_all_scatter_wave_specialized_##d                                                                 \
    }

/* By pattern; 0 is the GEMM alone. */
static launcher launcher_of(iris_dtype dtype, int pattern)
{
    static const launcher f32[] = LAUNCHERS(f32), f64[] = LAUNCHERS(f64), f16[] = LAUNCHERS(f16),
                          bf16[] = LAUNCHERS(bf16);
    switch (dtype) {
    case IRIS_F64: return f64[pattern];
    case IRIS_F16: return f16[pattern];
    case IRIS_BF16: return bf16[pattern];
    default: return f32[pattern];
    }
}

/* Rounds v to the dtype, writes it to element i and returns what it has become. */
static double set_element(iris_dtype dtype, void *p, size_t i, double v)
{
    switch (dtype) {
    case IRIS_F64: return ((double *)p)[i] = v;
    case IRIS_F16: return ((iris_f16 *)p)[i] = iris_narrow_f16((float)v), iris_widen_f16(((iris_f16 *)p)[i]);
    case IRIS_BF16: return ((iris_bf16 *)p)[i] = iris_narrow_bf16((float)v), iris_widen_bf16(((iris_bf16 *)p)[i]);
    default: return ((float *)p)[i] = (float)v, ((float *)p)[i];
    }
}

static double get_element(iris_dtype dtype, const void *p, size_t i)
{
    switch (dtype) {
    case IRIS_F64: return ((const double *)p)[i];
    case IRIS_F16: return iris_widen_f16(((const iris_f16 *)p)[i]);
    case IRIS_BF16: return iris_widen_bf16(((const iris_bf16 *)p)[i]);
    default: return ((const float *)p)[i];
    }
}

/* A number in [-1, 1) for each index, the same on every rank (SplitMix64). */
static double random_value(uint64_t stream, uint64_t i)
{
    uint64_t z = (stream << 40) + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (double)((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1;
}

/*
 * What a correct result may differ by. The accumulator rounds once for each of k products of mean size 1/4; rounding
 * errors add up like a random walk, so 4 sqrt(k) of them times k / 4 is exceeded by no element in practice (N. Higham,
 * T. Mary, "A New Approach to Probabilistic Rounding Error Analysis", 2019, with lambda = 4). Then C's dtype rounds.
 */
static double error_bound(iris_dtype dtype, int k, double value)
{
    const double accumulator = dtype == IRIS_F64 ? ldexp(1, -52) : ldexp(1, -24); /* in f64 the reference errs too */
    const double output = dtype == IRIS_F16 ? ldexp(1, -11) : dtype == IRIS_BF16 ? ldexp(1, -8) : accumulator;
    const double smallest = dtype == IRIS_F16 ? ldexp(1, -25) : 0; /* half of f16's last subnormal bit */
    return accumulator * k * sqrt(k) + output * fabs(value) + smallest;
}

/* One shape on one rank: host copies, device memory, plan. */
typedef struct job {
    iris_world *w;
    const options *o;
    shape s;
    void *a, *b, *c;      /* in the heap */
    void *host_c;         /* to look at C */
    double *want;         /* all of C by OpenBLAS */
    size_t c_bytes;
    iris_gemm_plan plan;
    iris_event start, stop;
} job;

/* Inputs on the device, the expected C on the host. */
static int make_inputs(job *j, iris_gemm_columns own)
{
    const shape s = j->s;
    const size_t element = iris_dtype_bytes(j->o->dtype);
    const size_t a_n = (size_t)s.m * (size_t)s.k, b_n = (size_t)s.k * (size_t)s.n;
    double *a = (double *)malloc(a_n * sizeof *a), *b = (double *)malloc(b_n * sizeof *b);
    char *host = (char *)malloc((a_n > b_n ? a_n : b_n) * element);
    iris_status status = IRIS_ERR_NOMEM;
    if (a && b && host) {
        for (size_t i = 0; i < a_n; i++)
            a[i] = set_element(j->o->dtype, host, i, random_value(1, i));
        status = iris_memcpy(j->w, j->a, host, a_n * element);
        for (size_t i = 0; i < b_n; i++) {
            double rounded;
            b[i] = set_element(j->o->dtype, &rounded, 0, random_value(2, i));
            const size_t row = i / (size_t)s.n, col = i % (size_t)s.n - own.first;
            if (col < own.count)
                set_element(j->o->dtype, host, row * own.count + col, b[i]);
        }
        if (status == IRIS_OK && own.count > 0)
            status = iris_memcpy(j->w, j->b, host, (size_t)s.k * own.count * element);
        reference_gemm(s.m, s.n, s.k, a, b, j->want);
    }
    free(a), free(b), free(host);
    IRIS_TRY(status);
    return 0;
}

static int begin_job(job *j)
{
    const shape s = j->s;
    const size_t element = iris_dtype_bytes(j->o->dtype);
    const uint32_t world = (uint32_t)iris_world_size(j->w);
    iris_gemm_args g;
    memset(&g, 0, sizeof g);
    j->c_bytes = (size_t)s.m * (size_t)s.n * element;
    j->a = iris_malloc(j->w, (size_t)s.m * (size_t)s.k * element);
    j->b = iris_malloc(j->w, (size_t)s.k * iris_gemm_band((uint32_t)s.n, world, 0).count * element);
    j->c = iris_malloc(j->w, j->c_bytes);
    j->host_c = malloc(j->c_bytes);
    j->want = (double *)malloc((size_t)s.m * (size_t)s.n * sizeof(double));
    if (!j->a || !j->b || !j->c || !j->host_c || !j->want)
        return fprintf(stderr, "no memory: %s\n", iris_error_string(j->w)), 1;
    if (make_inputs(j, iris_gemm_band((uint32_t)s.n, world, (uint32_t)iris_rank(j->w))))
        return 1;
    g.m = s.m, g.n = s.n, g.k = s.k;
    g.a = j->a, g.b = j->b, g.c = j->c;
    IRIS_TRY(iris_gemm_prepare(j->w, &j->plan, IRIS_GEMM_ALL_SCATTER, j->o->dtype, &g));
    IRIS_TRY(iris_event_create(j->w, &j->start));
    IRIS_TRY(iris_event_create(j->w, &j->stop));
    return 0;
}

static int end_job(job *j)
{
    IRIS_TRY(iris_event_destroy(j->w, j->start));
    IRIS_TRY(iris_event_destroy(j->w, j->stop));
    IRIS_TRY(iris_gemm_release(j->w, &j->plan));
    IRIS_TRY(iris_free(j->w, j->c));
    IRIS_TRY(iris_free(j->w, j->b));
    IRIS_TRY(iris_free(j->w, j->a));
    free(j->host_c), free(j->want);
    return 0;
}

/* The larger of two values; NaN when one of them is. */
static double larger(double a, double b) { return a != a || a > b ? a : b; }

/* The largest of the ranks' values, on every rank; NaN when one of them is. */
static double largest(iris_world *w, double mine)
{
    double all[64];
    if (iris_allgather(w, &mine, all, sizeof mine) != IRIS_OK)
        return NAN;
    for (int r = 0; r < iris_world_size(w); r++)
        mine = larger(mine, all[r]);
    return mine;
}

/* Runs a pattern once on a C full of NaN and looks at every element. */
static int check(job *j, row *r)
{
    const size_t n = (size_t)j->s.m * (size_t)j->s.n;
    double worst = 0, error = 0;
    IRIS_TRY(iris_memset(j->w, j->c, 0xFF, j->c_bytes));
    IRIS_TRY(launcher_of(j->o->dtype, r->pattern)(j->w, &j->plan, iris_default_stream(j->w)));
    IRIS_TRY(iris_synchronize(j->w));
    IRIS_TRY(iris_memcpy(j->w, j->host_c, j->c, j->c_bytes));
    for (size_t i = 0; i < n; i++) {
        const double off = fabs(get_element(j->o->dtype, j->host_c, i) - j->want[i]);
        error = larger(error, off);
        worst = larger(worst, off / error_bound(j->o->dtype, j->s.k, j->want[i]));
    }
    r->error = largest(j->w, error);
    r->bound = largest(j->w, worst);
    r->ok = r->bound <= 1;
    return 0;
}

/* 1 when the command line asks for a pattern; the GEMM alone (0) is always measured. */
static int wanted(const options *o, int pattern) { return o->pattern == 0 || pattern == 0 || o->pattern == pattern; }

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Milliseconds of one launch on the slowest rank; pattern 0 is the GEMM alone. */
static int time_once(job *j, int pattern, double *ms)
{
    iris_stream stream = iris_default_stream(j->w);
    float took = 0;
    IRIS_TRY(iris_barrier(j->w));
    IRIS_TRY(iris_event_record(j->w, j->start, stream));
    IRIS_TRY(launcher_of(j->o->dtype, pattern)(j->w, &j->plan, stream));
    IRIS_TRY(iris_event_record(j->w, j->stop, stream));
    IRIS_TRY(iris_event_elapsed_ms(j->w, &took, j->start, j->stop));
    *ms = largest(j->w, took);
    return 0;
}

/* Median times of all patterns. They take turns, so that whatever else the machine does meets all of them alike. */
static int measure(job *j, double *ms)
{
    double times[IRIS_GEMM_PATTERNS][MAX_REPEATS];
    memset(times, 0, sizeof times);
    for (int i = -1; i < j->o->repeats; i++) /* the first warms up */
        for (int pattern = 0; pattern < IRIS_GEMM_PATTERNS; pattern++)
            if (wanted(j->o, pattern) && time_once(j, pattern, &times[pattern][i < 0 ? 0 : i]))
                return 1;
    for (int pattern = 0; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        qsort(times[pattern], (size_t)j->o->repeats, sizeof(double), by_value);
        ms[pattern] = times[pattern][j->o->repeats / 2];
    }
    return 0;
}

/* All rows of a shape. Returns 0 when they could be made. */
static int run_shape(job *j, row *rows, int *n)
{
    double ms[IRIS_GEMM_PATTERNS];
    const int first = *n;
    if (begin_job(j))
        return 1;
    for (int pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        if (!wanted(j->o, pattern))
            continue;
        row *r = &rows[(*n)++];
        memset(r, 0, sizeof *r);
        r->s = j->s, r->pattern = pattern;
        if (check(j, r))
            return 1;
    }
    if (measure(j, ms))
        return 1;
    const double operations = 2e-6 * j->s.m * j->s.n * j->s.k; /* in millions: by ms, in 10^9 a second */
    if (iris_rank(j->w) == 0)
        printf("%5dx%5dx%5d  %-18s %9.3f %9.1f\n", j->s.m, j->s.n, j->s.k, "(GEMM alone)", ms[0], operations / ms[0]);
    for (row *r = rows + first; r < rows + *n; r++) {
        r->ms = ms[r->pattern];
        r->gflops = operations / r->ms;
        r->exposed_ms = r->ms - ms[0];
        if (iris_rank(j->w) == 0)
            printf("%5dx%5dx%5d  %-18s %9.3f %9.1f %9.3f  %10.3g %9.3f  %s\n", r->s.m, r->s.n, r->s.k,
                   pattern_names[r->pattern], r->ms, r->gflops, r->exposed_ms, r->error, r->bound,
                   r->ok ? "ok" : "WRONG");
    }
    return end_job(j);
}

/* 1 when no row of the same shape is faster. */
static int is_fastest(const row *rows, int n, int i)
{
    for (int k = 0; k < n; k++)
        if (memcmp(&rows[k].s, &rows[i].s, sizeof(shape)) == 0 && rows[k].ms < rows[i].ms)
            return 0;
    return 1;
}

/* One line: which pattern was the fastest where. */
static void print_winners(const row *rows, int n)
{
    const char *before = "fastest: ";
    for (int pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        int wins = 0;
        for (int i = 0; i < n; i++) {
            if (rows[i].pattern != pattern || !is_fastest(rows, n, i))
                continue;
            if (wins == 0)
                printf("%s%s on ", before, pattern_names[pattern]);
            printf("%s%dx%dx%d", wins > 0 ? ", " : "", rows[i].s.m, rows[i].s.n, rows[i].s.k);
            before = "; ";
            wins++;
        }
    }
    printf("\n");
}

/* One more number of a row; null where it is NaN or infinite, for which JSON has no word. */
static void write_number(FILE *f, const char *name, double v)
{
    if (v - v == 0)
        fprintf(f, ", \"%s\": %.6g", name, v);
    else
        fprintf(f, ", \"%s\": null", name);
}

static int write_json(const iris_world *w, const options *o, const row *rows, int n)
{
    FILE *f = fopen(o->json, "w");
    if (!f)
        return fprintf(stderr, "cannot write %s\n", o->json), 1;
    fprintf(f, "{\"example\": \"07_gemm_all_scatter\", \"arch\": \"%s\", \"ranks\": %d, \"dtype\": \"%s\", "
               "\"repeats\": %d,\n \"rows\": [", iris_arch_name(w), iris_world_size(w), iris_dtype_name(o->dtype),
            o->repeats);
    for (int i = 0; i < n; i++) {
        fprintf(f, "%s\n  {\"m\": %d, \"n\": %d, \"k\": %d, \"pattern\": \"%s\", \"ms\": %.6f, \"gflops\": %.3f, "
                   "\"exposed_ms\": %.6f", i ? "," : "", rows[i].s.m, rows[i].s.n, rows[i].s.k,
                pattern_names[rows[i].pattern], rows[i].ms, rows[i].gflops, rows[i].exposed_ms);
        write_number(f, "max_error", rows[i].error);
        write_number(f, "share_of_bound", rows[i].bound);
        fprintf(f, ", \"ok\": %s}", rows[i].ok ? "true" : "false");
    }
    fprintf(f, "\n ]}\n");
    return fclose(f) != 0;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    row rows[(int)MAX_SHAPES * (int)IRIS_GEMM_PATTERNS];
    int n = 0, wrong = 0;
    job j;
    memset(&j, 0, sizeof j);
    j.w = w, j.o = o;
    if (iris_rank(w) == 0)
        printf("%d ranks, %s, %s\n"
               "ms         slowest rank, median of %d runs\n"
               "exposed    ms beyond the GEMM alone, which takes turns with the patterns; below 0: this pattern took\n"
               "           less, as where times vary by more than communication takes\n"
               "max error  largest difference from OpenBLAS in f64, of all elements on all ranks\n"
               "err/bound  largest difference, as a part of what rounding may cause at that element; above 1: wrong\n"
               "%17s  %-18s %9s %9s %9s  %10s %9s\n", iris_world_size(w), iris_arch_name(w),
               iris_dtype_name(o->dtype), o->repeats, "M x N x K", "pattern", "ms", "GFLOP/s", "exposed", "max error",
               "err/bound");
    for (int i = 0; i < o->n_shapes; i++) {
        j.s = o->shapes[i];
        if (run_shape(&j, rows, &n))
            return 1;
        fflush(stdout);
    }
    for (int i = 0; i < n; i++)
        wrong += !rows[i].ok;
    if (iris_rank(w) != 0)
        return 0; /* the verdict is the same on every rank, and rank 0 returns it when it has told all rows */
    print_winners(rows, n);
    if (wrong)
        printf("%d of %d rows are wrong\n", wrong, n);
    const int unwritten = o->json && write_json(w, o, rows, n); /* of wrong rows too: "ok" says which they are */
    return wrong != 0 || unwritten;
}

int main(int argc, char **argv)
{
    options o;
    iris_config config;
    const int status = parse_options(&o, argc, argv);
    if (status >= 0)
        return status;
    memset(&config, 0, sizeof config);
    for (int i = 0; i < o.n_shapes; i++) { /* room for A, B and C of the largest */
        const shape s = o.shapes[i];
        const size_t elements = (size_t)s.m * (size_t)s.k + (size_t)s.k * (size_t)s.n + (size_t)s.m * (size_t)s.n;
        const size_t bytes = elements * iris_dtype_bytes(o.dtype) + (1u << 20);
        config.heap_bytes = bytes > config.heap_bytes ? bytes : config.heap_bytes;
    }
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
