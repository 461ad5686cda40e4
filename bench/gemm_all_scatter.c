/* SPDX-License-Identifier: MIT */
/*
 * gemm_all_scatter.c: GEMM + AllScatter of bf16 in every pattern, beside what it is made of, in one run:
 *
 *   gemm           this library's GEMM alone, of the own band
 *   blas           the vendor's, its fastest algorithm (peer_cublaslt.h)
 *   gemm_graph     one of --laps GEMMs alone in a graph, where a kernel may begin while the one before it ends
 *   blas_graph     the vendor's in the same form
 *   push           the band's bytes to every peer, by 16-byte stores
 *   gather         the vendor's all-gather of the bands (nccl.h)
 *   blas+gather    one behind the other on one stream, C left in bands: the strongest form
 *   blas+gather+copy  the same and then the bands into the columns of one C, which the patterns write at once
 *   auto, and the five patterns
 *   blas_gather    the vendor's GEMM as the library's BLAS (iris_gemm_args.blas); the band then goes into every C
 *
 * bound = max(blas, push). Every pattern's C is checked on every rank, at sampled elements, before it is timed, and
 * that of blas+gather, with or without the copy; the GEMMs alone are in them. Without the vendor's libraries those rows
 * are left out, and the bound takes the own GEMM.
 */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#include <iris/gen/launch/gemm_all_scatter.h>

#include "gemm_operands.h"
#include "nccl.h"
#include "runtime.h"

enum { BLAS, GEMM, BLAS_GRAPH, GEMM_GRAPH, PUSH, GATHER, BLAS_GATHER, PLACED, PATTERN };
enum { BLAS_IRIS = (int)PATTERN + (int)IRIS_GEMM_BLAS_GATHER, VARIANTS };
enum { SHAPES = 64 };
static const char *const names[] = {"blas", "gemm",   "blas_graph",  "gemm_graph",
                                    "push", "gather", "blas+gather", "blas+gather+copy"};

static iris_status (*const launchers[])(iris_world *, const iris_gemm_plan *,
                                        iris_stream) = {iris_gemm_all_scatter_bf16,
                                                        iris_gemm_all_scatter_bulk_synchronous_bf16,
                                                        iris_gemm_all_scatter_producer_consumer_bf16,
                                                        iris_gemm_all_scatter_fused_sequential_bf16,
                                                        iris_gemm_all_scatter_wg_specialized_bf16,
                                                        iris_gemm_all_scatter_wave_specialized_bf16,
                                                        iris_gemm_all_scatter_bf16};

/* One shape on one rank. */
typedef struct job {
    bench *b;
    gemm_operands g;
    int even; /* every rank's band is as wide, as the all-gather needs */
    char *bands;
    uint32_t *flag;
    peer vendor, placed; /* the band is a matrix of its own, or stands in C */
    bench_nccl peers;
    int have_blas, have_gather, variant;
} job;

typedef struct push_args {
    iris_ctx ctx;
    uint32_t *to, *from;
    uint64_t words;
} push_args;

/* Each workgroup's part of the band to every peer, in turn. */
IRIS_KERNEL(push_band, push_args, p, 1024)
{
    const uint64_t each = (p->words / 4 + iris_workgroups() - 1) / iris_workgroups() * 4;
    const uint64_t first = each * iris_workgroup() < p->words ? each * iris_workgroup() : p->words;
    const uint64_t end = first + each < p->words ? first + each : p->words;
    for (int i = 1; i < p->ctx.world; i++)
        iris_put_u32_wg(&p->ctx, p->to + first, p->from + first, end - first, (p->ctx.rank + i) % p->ctx.world);
}

static iris_status push(job *j, iris_stream stream)
{
    push_args p;
    const iris_launch_config grid = iris_grid((uint32_t)iris_compute_units(j->b->w), 1024);
    p.ctx = iris_device_ctx(j->b->w);
    p.words = j->g.m * j->g.own.count / 2;
    p.from = (uint32_t *)(void *)j->g.c;
    p.to = (uint32_t *)(void *)(j->bands + j->g.m * j->g.own.first * 2 / 16 * 16);
    return iris_launch(j->b->w, push_band, &p, sizeof p, &grid, stream);
}

typedef struct place_args {
    irisi_b128 *c, *bands;
    uint32_t rows, pieces, all; /* of a band: rows, pieces of 16 bytes in each; of C: pieces in a row */
} place_args;

/* Equal bands, one behind the other, into the columns of C. */
IRIS_KERNEL(place_bands, place_args, p, 1024)
{
    for (uint32_t row = iris_workgroup(); row < p->rows; row += iris_workgroups())
        for (uint32_t i = iris_wg_lane(); i < p->all; i += iris_wg_lanes())
            p->c[(uint64_t)row * p->all + i] =
                p->bands[(uint64_t)(i / p->pieces * p->rows + row) * p->pieces + i % p->pieces];
}

static iris_status place(job *j, iris_stream stream)
{
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(j->b->w), 512);
    place_args p;
    p.c = (irisi_b128 *)(void *)j->g.c, p.bands = (irisi_b128 *)(void *)j->bands;
    p.rows = (uint32_t)j->g.m, p.pieces = (uint32_t)j->g.own.count / 8, p.all = (uint32_t)j->g.n / 8;
    return iris_launch(j->b->w, place_bands, &p, sizeof p, &grid, stream);
}

/* Every rank's band, of equal ones, in rank order; the own one stands there already. 1 when launched. */
static int gather(const job *j, iris_stream stream)
{
    const size_t count = j->g.m * j->g.own.count;
    const void *own = j->bands + (size_t)iris_rank(j->b->w) * count * 2;
    return j->peers.all_gather(own, j->bands, count, BENCH_NCCL_BF16, j->peers.comm, stream) == 0;
}

/* One repetition of the job's variant. */
static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    job *j = (job *)arg;
    const int set = turn % j->g.sets;
    char *own = j->bands + j->g.m * j->g.own.first * 2;
    int fine = 1;
    if (j->variant >= PATTERN)
        return launchers[j->variant - PATTERN](w, &j->g.plan[set], stream);
    if (j->variant == GEMM || j->variant == GEMM_GRAPH)
        return iris_gemm_local_bf16(w, &j->g.plan[set], stream);
    if (j->variant == PUSH)
        return push(j, stream);
    if (j->variant != GATHER)
        fine = peer_gemm(&j->vendor, j->vendor.best, j->g.a[set], j->g.b[set], own, stream);
    if (fine && (j->variant == GATHER || j->variant == BLAS_GATHER || j->variant == PLACED))
        fine = gather(j, stream);
    if (fine && j->variant == PLACED)
        return place(j, stream);
    return fine ? IRIS_OK : irisi_fail(w, IRIS_ERR_DEVICE, "%s was refused", names[j->variant]);
}

/* Poisons C, runs the variant once and looks at its C, where it has all of one. Collective. */
static int checked(job *j, const char *who)
{
    iris_world *w = j->b->w;
    const int banded = j->variant == BLAS_GATHER;
    int ok = iris_memset(w, j->g.c, 0xff, j->g.m * j->g.n * 2) == IRIS_OK &&
             iris_memset(w, j->bands, 0xff, j->g.m * j->g.n * 2) == IRIS_OK;
    ok = iris_barrier(w) == IRIS_OK && ok; /* nobody writes before all have poisoned */
    ok = submit(w, j, iris_default_stream(w), 0) == IRIS_OK && iris_synchronize(w) == IRIS_OK && ok;
    if (j->variant >= PLACED || banded)
        ok = ok && gemm_operands_right(w, &j->g, banded ? j->bands : j->g.c, banded, j->flag, who);
    if (!ok)
        fprintf(stderr, "rank %d, %s: %s\n", iris_rank(w), who, iris_error_string(w));
    return bench_all_ok(j->b, ok);
}

static int prepare(job *j)
{
    iris_world *w = j->b->w;
    if (gemm_operands_create(w, &j->g))
        return 1;
    j->even = j->g.n % (uint64_t)iris_world_size(w) == 0;
    j->bands = (char *)iris_malloc(w, j->g.m * j->g.n * 2 + 16);
    if (!j->bands)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    gemm_operands_peer(j->b, &j->g, &j->vendor, j->have_blas, j->bands, j->g.own.count);
    j->placed.c_alignment = gemm_operands_alignment(&j->g);
    gemm_operands_peer(j->b, &j->g, &j->placed, j->vendor.best >= 0, j->g.c + 2 * j->g.own.first, j->g.n);
    return 0;
}

/* Microseconds of the variant, or of one of its calls in a graph; negative when a rank failed. Collective. */
static double timed(job *j, const char *name)
{
#if BENCH_HAS_RUNTIME
    if (j->variant == GEMM_GRAPH || j->variant == BLAS_GRAPH) {
        bench_graph graph = NULL;
        const int made = bench_graph_make(j->b, &graph, submit, j, j->b->o->laps) == IRIS_OK;
        const double us = bench_all_ok(j->b, made) ? bench_time(j->b, name, bench_submit_graph, &graph) : -1;
        bench_graph_free(graph);
        return us / j->b->o->laps;
    }
#endif
    return bench_time(j->b, name, submit, j);
}

/* A plan for each set of operands, as the variant's pattern wants it: of none, that of the GEMM alone. */
static int plan(job *j)
{
    iris_gemm_args args;
    memset(&args, 0, sizeof args);
    args.pattern = j->variant < PATTERN ? IRIS_GEMM_BULK_SYNCHRONOUS : (iris_gemm_pattern)(j->variant - PATTERN);
    if (j->variant == BLAS_IRIS)
        args.blas = peer_blas, args.blas_arg = &j->placed;
    IRIS_TRY(gemm_operands_plan(j->b->w, &j->g, &args));
    return 0;
}

static int release(job *j)
{
    IRIS_TRY(iris_barrier(j->b->w));
    IRIS_TRY(iris_free(j->b->w, j->bands));
    return gemm_operands_free(j->b->w, &j->g);
}

/* 1 when this run has what the variant needs. */
static int possible(const job *j)
{
    if (j->variant == GEMM_GRAPH)
        return BENCH_HAS_RUNTIME;
    if (j->variant == BLAS || j->variant == BLAS_GRAPH)
        return j->vendor.best >= 0; /* never on the host */
    if (j->variant == BLAS_IRIS)
        return j->placed.best >= 0;
    if (j->variant == GATHER)
        return j->have_gather && j->even;
    if (j->variant == BLAS_GATHER || j->variant == PLACED)
        return j->vendor.best >= 0 && j->have_gather && j->even && (j->variant != PLACED || j->g.own.count % 8 == 0);
    return j->variant != PUSH || iris_world_size(j->b->w) > 1;
}

/* Microseconds of a variant that others are compared with, 0 where it was left out. It comes before they do. */
static double measured(const double *us, int variant)
{
    if (us[variant] >= 0)
        return us[variant];
    fprintf(stderr, "gemm_all_scatter: %s is compared with before it was timed\n", names[variant]);
    exit(3);
}

/* The best that can be: what neither the arithmetic nor the links allow to be shorter. 0: nothing to compare with. */
static double ceiling_of(const double *us, int variant)
{
    if (variant == PUSH || variant == GATHER)
        return 0;
    if (variant == BLAS_GRAPH || variant == GEMM_GRAPH)
        return measured(us, BLAS_GRAPH);
    if (variant == BLAS || measured(us, BLAS) > 0)
        return variant < PATTERN || us[BLAS] > measured(us, PUSH) ? us[BLAS] : us[PUSH];
    return variant < PATTERN || measured(us, GEMM) > measured(us, PUSH) ? measured(us, GEMM) : us[PUSH];
}

/* One shape: 0, or 1 when the run cannot go on. */
static int run_shape(job *j)
{
    double us[VARIANTS], best = 0;
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)j->g.m, (unsigned long long)j->g.n,
             (unsigned long long)j->g.k);
    if (prepare(j))
        return 1;
    const double band = (double)j->g.m * j->g.own.count * 2 * (iris_world_size(j->b->w) - 1); /* bytes that leave */
    for (int v = 0; v < VARIANTS; v++)
        us[v] = -1; /* not timed yet */
    for (int v = 0; v < VARIANTS; v++) { /* what others are compared with comes first */
        const char *name = v < PATTERN ? names[v] : iris_gemm_pattern_name((iris_gemm_pattern)(v - PATTERN));
        bench_row row;
        us[v] = 0;
        j->variant = v;
        if (!possible(j) || (j->b->o->only && strcmp(j->b->o->only, name) != 0))
            continue;
        const int planned = v == GEMM || v == GEMM_GRAPH || v >= PATTERN;
        if (planned && plan(j))
            return 1;
        const int ok = checked(j, name);
        us[v] = ok ? timed(j, name) : 0;
        if (us[v] < 0)
            return 1;
        memset(&row, 0, sizeof row);
        row.name = shape, row.dtype = "bf16", row.variant = name;
        row.bytes = (size_t)band, row.ok = ok;
        if (planned)
            row.workgroups = (int)j->g.plan[0].machine.workgroups,
            row.lanes = (int)(j->g.plan[0].machine.waves * j->g.plan[0].machine.wave_lanes);
        row.us = us[v], row.gbps = (v == PUSH || v == GATHER) && us[v] > 0 ? band / us[v] * 1e-3 : 0;
        row.ceiling = ceiling_of(us, v);
        bench_put(j->b, &row);
        if (v >= PATTERN && v < BLAS_IRIS && us[v] > 0 && (best == 0 || us[v] < best))
            best = us[v];
    }
    if (iris_rank(j->b->w) == 0 && best > 0 && us[BLAS_GATHER] > 0)
        printf("%s: %.2f times as fast as blas+gather\n", shape, us[BLAS_GATHER] / best);
    return release(j);
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    bench b;
    job j;
    long shape[SHAPES][3];
    memset(&j, 0, sizeof j);
    j.b = &b;
    if (bench_open(&b, w, o, "gemm_all_scatter"))
        return 1;
    j.flag = (uint32_t *)iris_malloc(w, sizeof *j.flag);
    IRIS_TRY(iris_barrier(w));
    j.have_blas = peer_open(&j.vendor);
    j.placed = j.vendor;
    j.have_gather = iris_world_size(w) > 1 && bench_nccl_open(&b, &j.peers);
    const int shapes =
        gemm_shapes_read("gemm_all_scatter", o->words, o->word, GEMM_ALL_SHAPES, shape, SHAPES);
    for (int i = 0; i < shapes && !bench_late(&b); i++) {
        j.g.m = (uint64_t)shape[i][0], j.g.n = (uint64_t)shape[i][1], j.g.k = (uint64_t)shape[i][2];
        if (o->max_bytes < j.g.m * j.g.n * 2) /* a run on a small machine */
            continue;
        if (run_shape(&j))
            return 1;
    }
    bench_nccl_close(&b, &j.peers);
    return bench_close(&b);
}

int main(int argc, char **argv)
{
    static bench_options o;
    iris_config config;
    memset(&config, 0, sizeof config);
    o.ranks = 4, o.repeats = 20, o.warmup = 5, o.laps = 8, o.seconds = 240, o.min_bytes = 4;
    o.max_bytes = (size_t)1 << 30, o.takes_words = 1;
    bench_parse(&o, argc, argv,
                "gemm_all_scatter [OPTION...] [MxNxK...]: GEMM + AllScatter of bf16; --max: bytes of the largest C");
    config.heap_bytes = (size_t)8 << 30;
    if (o.max_bytes < (size_t)64 << 20)
        config.heap_bytes = (size_t)512 << 20;
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
