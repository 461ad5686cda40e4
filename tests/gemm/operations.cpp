/* SPDX-License-Identifier: MIT */
/*
 * operations.cpp: GEMM + reduce-scatter, GEMM + all-reduce and all-gather + GEMM: every shape, type, split of K and
 * option by every pattern, against the triple loop of oracle.h; plans that share a workspace; the gathered A, which the
 * caller gets; columns in pairs; several B; partial sums wider than C; a transposed A; the caller's BLAS.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F32
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F64
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F64
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F64
#if !defined(IRIST_PART)
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F16_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F8E4M3_F8E4M3
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_I8_I32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_I8_I8
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F16_F32
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F8E4M3_F8E4M3
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_I8_I32
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_I8_I8
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F16_F32
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F8E4M3_F8E4M3
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F8E4M3_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_I8_I32
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_I8_I8
#endif
#endif
#include <iris/barrier.h>
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <cmath>
#include <cstring>
#include <string>

#include "blas.h"
#include "choice.h"
#include "harness.h"
#include "oracle.h"
#if !defined(IRIS_TARGET_HOST)
#include "../gpu/capture.h"
#endif

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

/* An operation of a type, by pattern: the launcher that chooses, then each pattern's. */
enum { WG_SPECIALIZED = 3, PATTERNS = 7 }; /* the last is all_gather's alone */
struct kind {
    const char *name;
    iris_dtype dtype, c_dtype;
    launcher local, reduce_scatter[PATTERNS], all_reduce[PATTERNS], all_gather[PATTERNS];
};
#define KIND(d, IN, OUT)                                                                                               \
    {                                                                                                                  \
        #d, IRIS_##IN, IRIS_##OUT, iris_gemm_local_##d,                                                                \
            {iris_gemm_reduce_scatter_##d, iris_gemm_reduce_scatter_bulk_synchronous_##d,                              \
             iris_gemm_reduce_scatter_fused_sequential_##d, iris_gemm_reduce_scatter_wg_specialized_##d,               \
             iris_gemm_reduce_scatter_wave_specialized_##d, iris_gemm_reduce_scatter_producer_consumer_##d, nullptr},  \
            {iris_gemm_all_reduce_##d, iris_gemm_all_reduce_bulk_synchronous_##d,                                      \
             iris_gemm_all_reduce_fused_sequential_##d, iris_gemm_all_reduce_wg_specialized_##d,                       \
             iris_gemm_all_reduce_wave_specialized_##d, iris_gemm_all_reduce_producer_consumer_##d, nullptr},          \
            {iris_gemm_all_gather_##d, iris_gemm_all_gather_bulk_synchronous_##d,                                      \
             iris_gemm_all_gather_fused_sequential_##d, iris_gemm_all_gather_wg_specialized_##d,                       \
             iris_gemm_all_gather_wave_specialized_##d, iris_gemm_all_gather_producer_consumer_##d,                    \
             iris_gemm_all_gather_copy_engine_##d},                                                                    \
    }
static const kind kinds[] = {
    KIND(bf16, BF16, BF16),
    KIND(f32, F32, F32),
    KIND(f64, F64, F64),
#if !defined(IRIST_PART)
    KIND(f16, F16, F16),
    KIND(f16_f32, F16, F32),
    KIND(f8e4m3_f8e4m3, F8E4M3, F8E4M3),
    KIND(f8e4m3_bf16, F8E4M3, BF16),
    KIND(i8_i32, I8, I32),
    KIND(i8_i8, I8, I8),
#endif
};
enum { KINDS = sizeof kinds / sizeof kinds[0], F16 = 3 };

static const iris_gemm_op ops[] = {IRIS_GEMM_REDUCE_SCATTER, IRIS_GEMM_ALL_REDUCE, IRIS_GEMM_ALL_GATHER};
enum { OPS = sizeof ops / sizeof ops[0] };
static const char *const op_names[] = {"local", "all_scatter", "reduce_scatter", "all_reduce", "all_gather"};

static const char *const pattern_names[PATTERNS] = {"auto", "bulk_synchronous", "fused_sequential",
                                                   "wg_specialized", "wave_specialized", "producer_consumer",
                                                   "copy_engine"};

static int patterns_of(iris_gemm_op op) { return op == IRIS_GEMM_ALL_GATHER ? PATTERNS : PATTERNS - 1; }

static launcher launcher_of(const kind *types, iris_gemm_op op, int pattern)
{
    return op == IRIS_GEMM_REDUCE_SCATTER ? types->reduce_scatter[pattern]
           : op == IRIS_GEMM_ALL_REDUCE   ? types->all_reduce[pattern]
                                          : types->all_gather[pattern];
}

struct shape {
    int64_t m, n, k;
};
static const shape shapes[] = {
    {1, 1, 1},    {1, 7, 5},      {5, 3, 1},   {2, 8, 16},    {13, 17, 19},   {31, 37, 41},    {64, 64, 64},
    {1, 129, 33}, {129, 1, 65},   {3, 131, 1}, {33, 2, 300},  {127, 257, 63}, {97, 101, 103},  {300, 40, 130},
    {8, 264, 128}, {200, 512, 64}, /* one box of the copy engine has rows of several ranks */
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* How K is dealt out: alike, each rank another length, or nothing to rank 1, or to all but the last. */
enum deal { ALIKE, RAGGED, ONE_EMPTY, ONE_FULL };

/* How A lies: row by row, so many elements apart as a row has; column by column; or with rows at cache lines. */
enum layout { BY_ROWS, BY_COLUMNS, AT_LINES };

struct options {
    const char *name;
    double alpha, beta;
    int bias, residual;
    iris_activation activation;
    int b_transposed, scales, real, spread;
    deal k;
    int64_t pad; /* elements beyond each row; of rank r one more each */
    uint32_t tile_m, tile_n, workgroups;
    int gated = 0;
    layout a = BY_ROWS; /* all_gather: not by columns */
    int f32_sums = 0;   /* 1: partial sums are f32, although C is not */
};
static const options variants[] = {
    {"plain", 0, 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 22, ALIKE, 0, 0, 0, 0},
    {"padded, alpha, beta", 1.5, -0.5, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, RAGGED, 3, 16, 24, 3},
    {"bias, relu, transposed", 0, 0, 1, 0, IRIS_ACTIVATION_RELU, 1, 0, 0, 0, ONE_EMPTY, 1, 32, 8, 2},
    {"residual, scales", 0.5, 2, 1, 1, IRIS_ACTIVATION_NONE, 0, 2, 0, 0, RAGGED, 0, 0, 0, 5},
    {"real, silu", 0.75, 0, 1, 0, IRIS_ACTIVATION_SILU, 0, 1, 1, 0, ALIKE, 5, 8, 40, 4},
    {"real, gelu, beta", 0, 1.25, 0, 0, IRIS_ACTIVATION_GELU, 1, 0, 1, 0, ONE_FULL, 0, 19, 13, 3},
};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* A problem on one rank: what is asked, its memory, and a plan. */
struct job {
    irist_rank *t;
    const kind *types;
    iris_gemm_op op;
    shape s;
    options o;
    oracle question;
    char *memory[ORACLE_RESIDUAL + 1]; /* by oracle_matrix; C's too */
    char *workspace;
    size_t workspace_bytes;
    naive_blas blas;
    int by_blas, put; /* put: partial sums are, also where they could go as packets */
    int spare;        /* rows that the plan is prepared for beyond those of its launches (iris_gemm_set_rows) */
    int keeps;        /* 1: the caller gets the gathered A, in `gathered` */
    char *gathered;
    size_t gathered_bytes;
    iris_gemm_plan plan;
};

static int64_t dealt(const job *j, int rank)
{
    const int64_t k = j->s.k;
    switch (j->o.k) {
    case RAGGED: return k + (rank * 7) % 5 - (k > 4 ? 2 : 0);
    case ONE_EMPTY: return rank == 1 ? 0 : k;
    case ONE_FULL: return rank + 1 == j->t->ranks ? k : 0;
    default: return k;
    }
}

static void ask(job *j)
{
    oracle *q = &j->question;
    *q = oracle();
    q->op = (oracle_op)j->op, q->world = j->t->ranks, q->seed = j->t->seed;
    q->m = j->s.m, q->n = j->s.n, q->dtype = j->types->dtype, q->c_dtype = j->types->c_dtype;
    q->bias_dtype = iris_dtype_bytes(q->c_dtype) == 1 ? IRIS_BF16 : q->c_dtype;
    q->a_transposed = j->o.a == BY_COLUMNS && j->op != IRIS_GEMM_ALL_GATHER, q->b_transposed = j->o.b_transposed;
    q->alpha = j->o.alpha, q->beta = j->o.beta, q->bias = j->o.bias;
    q->residual = j->o.residual && j->o.beta != 0, q->scales = j->o.scales, q->activation = j->o.activation;
    q->swiglu = j->o.gated, q->slot_dtype = j->o.f32_sums ? IRIS_F32 : IRIS_DTYPE_NONE;
    q->real = j->o.real; /* sums that depend on their order, of types that have the range */
#if !defined(IRIS_TARGET_HOST) /* what matrix units lose of sums of 8-bit floats, whatever mainloop computes them */
    if (iris_dtype_bytes(q->dtype) == 1 && q->dtype != IRIS_I8)
        q->units_lose = std::ldexp(1, -8);
#endif
    q->spread = q->dtype == IRIS_BF16 || q->dtype == IRIS_F32 || q->dtype == IRIS_F64 ? j->o.spread : 0;
    for (int r = 0; r < j->t->ranks; r++)
        q->k[r] = oracle_splits_k(q) ? dealt(j, r) : j->s.k;
    for (int r = 0; r < j->t->ranks; r++) {
        const int64_t own = j->o.pad ? j->o.pad + r : 0; /* ldc of one length where all ranks write C */
        const oracle_block a = oracle_block_of(q, ORACLE_A, r);
        q->lda[r] = (a.transposed ? a.rows.count + j->spare : a.columns.count) + own;
        if (j->o.a == AT_LINES)
            q->lda[r] = (q->lda[r] + 127) / 128 * 128;
        const oracle_block b = oracle_block_of(q, ORACLE_B, r);
        q->ldb[r] = (b.transposed ? b.rows.count : b.columns.count) + own;
        q->ldc[r] = oracle_block_of(q, ORACLE_C, r).columns.count + (q->op == ORACLE_ALL_REDUCE ? j->o.pad : own);
        q->ldr[r] = oracle_block_of(q, ORACLE_RESIDUAL, r).columns.count + own;
    }
}

static iris_gemm_args args_of(const job *j)
{
    const oracle *q = &j->question;
    const int r = j->t->rank;
    iris_gemm_args g = {};
    g.m = q->m + j->spare, g.n = q->n, g.k = q->k[r];
    g.a = j->memory[ORACLE_A], g.b = j->memory[ORACLE_B], g.c = j->memory[ORACLE_C];
    g.lda = q->lda[r], g.ldb = q->ldb[r], g.ldc = q->ldc[r], g.c_dtype = q->c_dtype;
    g.bias = q->bias ? j->memory[ORACLE_BIAS] : nullptr;
    if (q->residual)
        g.residual = j->memory[ORACLE_RESIDUAL], g.ldr = q->ldr[r];
    if (q->scales) {
        g.scale_a = (const float *)(void *)j->memory[ORACLE_SCALE_A];
        g.scale_b = (const float *)(void *)j->memory[ORACLE_SCALE_B];
        g.scale_c = (const float *)(void *)j->memory[ORACLE_SCALE_C];
        g.scale_a_rows = g.scale_b_columns = q->scales == 2;
    }
    g.alpha = q->alpha, g.beta = q->beta, g.activation = q->activation;
    g.a_transposed = q->a_transposed, g.b_transposed = q->b_transposed;
    g.gated = j->o.gated, g.reduce_dtype = j->o.f32_sums ? IRIS_F32 : IRIS_DTYPE_NONE;
    g.tile_m = j->o.tile_m, g.tile_n = j->o.tile_n, g.workgroups = j->o.workgroups;
    g.workspace = j->workspace, g.workspace_bytes = j->workspace_bytes;
    if (j->keeps) {
        const int64_t chunk = 16 / (int64_t)iris_dtype_bytes(q->dtype);
        g.gathered = j->gathered, g.gathered_bytes = j->gathered_bytes;
        g.ld_gathered = j->o.pad ? ((q->k[r] + chunk - 1) / chunk + j->o.pad) * chunk : 0;
    }
    if (j->put)
        g.tune = "op=reduce_scatter ll=0; op=all_reduce ll=0; op=all_gather ll=0";
    if (j->by_blas)
        g.blas = naive_gemm, g.blas_arg = (void *)&j->blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
    return g;
}

/* Memory for the gathered A, as long as it must be. Whatever stands in its place says that there is one. */
static bool keep(job *j)
{
    j->keeps = 1, j->gathered = (char *)16;
    const iris_gemm_args g = args_of(j);
    j->gathered_bytes = iris_gemm_workspace_bytes(j->t->world, j->op, j->types->dtype, &g);
    j->gathered = (char *)iris_malloc(j->t->world, j->gathered_bytes);
    return irist_check(j->t, j->gathered != nullptr, "%s", iris_error_string(j->t->world));
}

/* The rows of all ranks stand in the gathered A, and nothing between them but zeros up to whole 16 bytes. */
static bool whole(job *j, const char *how)
{
    const oracle *q = &j->question;
    const iris_gemm_args g = args_of(j);
    const size_t size = iris_dtype_bytes(q->dtype), row = (size_t)q->k[j->t->rank] * size, end = (row + 15) / 16 * 16;
    const size_t pitch = g.ld_gathered ? (size_t)g.ld_gathered * size : end;
    const std::vector<unsigned char> got = irist_download(j->t, j->gathered, j->gathered_bytes);
    std::vector<unsigned char> expected(got.size(), 0xff);
    for (int64_t i = 0; i < q->m; i++) {
        const size_t first = (size_t)i * pitch;
        for (size_t at = first + row; at < first + end; at++)
            expected[at] = got[at] == 0 ? 0 : 0xff;
        for (int64_t k = 0; k < q->k[j->t->rank]; k++)
            element_set(q->dtype, &expected[first + (size_t)k * size], oracle_input(q, ORACLE_A, 0, i, k));
    }
    return irist_check(j->t, got == expected, "%s %s %lldx%lldx%lld: the gathered A is another", how, j->types->name,
                       (long long)j->s.m, (long long)j->s.n, (long long)j->s.k);
}

/* The same allocations on every rank, whatever each has of a matrix. */
static bool allocate(job *j)
{
    oracle all_rows = j->question;
    bool all = true;
    all_rows.m += j->spare;
    for (int which = ORACLE_A; which <= ORACLE_RESIDUAL; which++) {
        size_t most = 16;
        for (int r = 0; r < j->t->ranks; r++) {
            const size_t bytes = oracle_bytes(&all_rows, (oracle_matrix)which, r);
            most = bytes > most ? bytes : most;
        }
        j->memory[which] = (char *)iris_malloc(j->t->world, most);
        all = irist_check(j->t, j->memory[which] != nullptr, "%s", iris_error_string(j->t->world)) && all;
    }
    for (int which = ORACLE_A; all && which <= ORACLE_RESIDUAL; which++) {
        std::vector<unsigned char> bytes(oracle_bytes(&j->question, (oracle_matrix)which, j->t->rank));
        oracle_fill(&j->question, (oracle_matrix)which, j->t->rank, bytes.data());
        irist_upload(j->t, j->memory[which], bytes);
    }
    return all;
}

static bool create(job *j, irist_rank *t, const kind *types, iris_gemm_op op, const shape &s, const options &o,
                   char *workspace = nullptr, size_t workspace_bytes = 0, int spare = 0)
{
    j->spare = spare, j->t = t, j->types = types, j->op = op, j->s = s, j->o = o, j->by_blas = j->put = j->keeps = 0;
    j->gathered = nullptr, j->gathered_bytes = 0;
    j->workspace = workspace, j->workspace_bytes = workspace_bytes;
    std::memset(&j->plan, 0, sizeof j->plan);
    std::memset(j->memory, 0, sizeof j->memory);
    std::memset(&j->blas, 0, sizeof j->blas);
    j->blas.world = t->world;
    ask(j);
    return allocate(j) && irist_check(t, oracle_create(&j->question) == 0, "there is no oracle");
}

static bool prepare(job *j)
{
    const iris_gemm_args g = args_of(j);
    return irist_ok(j->t, iris_gemm_prepare(j->t->world, &j->plan, j->op, j->types->dtype, &g)) &&
           irist_ok(j->t, iris_gemm_set_rows(j->t->world, &j->plan, j->question.m));
}

static void release(job *j)
{
    irist_ok(j->t, iris_gemm_release(j->t->world, &j->plan));
    irist_ok(j->t, iris_free(j->t->world, j->gathered));
    for (int which = ORACLE_RESIDUAL; which >= ORACLE_A; which--)
        irist_ok(j->t, iris_free(j->t->world, j->memory[which]));
    oracle_free(&j->question);
}

/* Poison in C, but for what beta reads there, and between its rows; and in the plan's workspace. */
static std::vector<unsigned char> poison(job *j)
{
    std::vector<unsigned char> before(oracle_bytes(&j->question, ORACLE_C, j->t->rank));
    oracle_before(&j->question, j->t->rank, before.data());
    irist_upload(j->t, j->memory[ORACLE_C], before);
    const iris_gemm_args g = args_of(j);
    const size_t room = iris_gemm_workspace_bytes(j->t->world, j->op, j->types->dtype, &g);
    irist_ok(j->t, iris_memset(j->t->world, j->plan.exchange.workspace, 0xff, room));
    irist_meet(j->t); /* nobody's poison comes after another's sums */
    return before;
}

static bool right(job *j, const std::vector<unsigned char> &before, const char *how)
{
    oracle_wrong wrong;
    const std::vector<unsigned char> got = irist_download(j->t, j->memory[ORACLE_C], before.size());
    return irist_check(j->t, oracle_right(&j->question, j->t->rank, got.data(), before.data(), &wrong),
                       "%s %s %s %lldx%lldx%lld, %s: %s", op_names[j->op], how, j->types->name, (long long)j->s.m,
                       (long long)j->s.n, (long long)j->s.k, j->o.name, wrong.text);
}

static void launch(job *j, int pattern, iris_stream stream = nullptr)
{
    irist_ok(j->t, launcher_of(j->types, j->op, pattern)(j->t->world, &j->plan, stream));
}

/*
 * A problem by every pattern, each on poisoned memory and twice in a row: bitwise the same. Half of the plans are for
 * more rows. put, keeps: as in job.
 */
static void every_pattern(irist_rank *t, const kind *types, iris_gemm_op op, const shape &s, const options &o, int put,
                          int keeps)
{
    job j;
    const int spare = (s.m + keeps + o.k) % 2 ? (int)(3 + s.n % 20) : 0;
    const bool made = create(&j, t, types, op, s, o, nullptr, 0, spare) && (!keeps || keep(&j));
    j.put = put;
    if (made && prepare(&j)) {
        const int patterns = patterns_of(op);
        for (int lap = 0; lap < 2 * patterns; lap++) { /* the second time behind another pattern's epoch */
            const int pattern = lap % patterns;
            if (lap >= patterns && !t->full)
                break;
            const std::vector<unsigned char> before = poison(&j);
            launch(&j, pattern);
            if (!irist_check(t, iris_synchronize(t->world) == IRIS_OK, "%s %s %s %lldx%lldx%lld, %s: %s", op_names[op],
                             pattern_names[pattern], types->name, (long long)s.m, (long long)s.n, (long long)s.k,
                             o.name, iris_error_string(t->world)))
                break;
            right(&j, before, pattern_names[pattern]);
            if (keeps)
                whole(&j, pattern_names[pattern]);
        }
    }
    release(&j);
}

static void shape_work(irist_rank *t)
{
    const kind *types = (const kind *)t->arg;
    const int some = irist_slow() > 1 ? 24 : irist_slow() ? 11 : types - kinds < 3 ? 6 : 12;
    const int most = t->ranks == 2 ? 3 : t->ranks == 4 ? 10 : t->ranks > 4 ? 24 : 8; /* of full */
    const int fewer = types - kinds < 4 || t->ranks > 4 ? most : 8;
    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < VARIANTS; v++)
            for (int o = 0; o < OPS; o++)
                if ((s + 2 * v + o) % (t->full ? fewer : some) == 0)
                    every_pattern(t, types, ops[o], shapes[s], variants[v], (s + v) % 2,
                                  ops[o] == IRIS_GEMM_ALL_GATHER && (s + v) % 4 > 0);
}

TEST_CASE("reduce_scatter, all_reduce and all_gather are right for every type, shape and option", "[gemm]")
{
    for (int i = 0; i < KINDS; i++)
        irist_spmd(shape_work, &kinds[i]);
}

/* Bitwise the same, however often, launched back to back, by plans that share one workspace. */
static void share_work(irist_rank *t)
{
    enum { JOBS = 2 * OPS };
    static const shape sizes[] = {{37, 72, 40}, {64, 24, 96}};
    const options o = {"shared workspace", 0.5, 0, 1, 0, IRIS_ACTIVATION_RELU, 0, 0, 1, 0, RAGGED, 0, 16, 16, 3};
    job jobs[JOBS];
    size_t most = 0;
    bool made = true;
    for (int i = 0; i < JOBS; i++) {
        made = create(&jobs[i], t, &kinds[i % 3], ops[i % OPS], sizes[i / OPS], o) && made;
        const iris_gemm_args g = args_of(&jobs[i]);
        const size_t room = iris_gemm_workspace_bytes(t->world, jobs[i].op, jobs[i].types->dtype, &g);
        irist_check(t, room > 0, "%s", iris_error_string(t->world));
        most = room > most ? room : most;
    }
    for (int r = 0; r < t->ranks; r++) /* the largest of all ranks: k differs */
        for (int i = 0; i < JOBS; i++) {
            iris_gemm_args g = args_of(&jobs[i]);
            g.k = jobs[i].question.k[r], g.lda = g.ldb = 0;
            const size_t room = iris_gemm_workspace_bytes(t->world, jobs[i].op, jobs[i].types->dtype, &g);
            most = room > most ? room : most;
        }
    char *workspace = (char *)iris_malloc(t->world, most);
    std::vector<unsigned char> before[JOBS], first[JOBS];
    for (int i = 0; i < JOBS; i++)
        jobs[i].workspace = workspace, jobs[i].workspace_bytes = most, jobs[i].put = i >= OPS,
        made = prepare(&jobs[i]) && made;
    for (int i = 0; made && i < JOBS; i++)
        before[i] = poison(&jobs[i]);
    for (uint32_t lap = 0; made && lap < irist_laps(5, 30); lap++) {
        for (int i = 0; i < JOBS; i++)
            irist_upload(t, jobs[i].memory[ORACLE_C], before[i]);
        irist_meet(t);
        for (int i = 0; i < JOBS; i++) {
            if (lap % 3 == 1)
                irist_delay(t, lap * JOBS + (uint32_t)i);
            /* bulk_synchronous before wg_specialized */
            launch(&jobs[i], (int)((lap + 2 * (uint32_t)i) % (uint32_t)patterns_of(jobs[i].op)));
        }
        irist_ok(t, iris_synchronize(t->world));
        for (int i = 0; i < JOBS; i++) {
            const std::vector<unsigned char> got = irist_download(t, jobs[i].memory[ORACLE_C], before[i].size());
            if (lap == 0)
                right(&jobs[i], before[i], "shared"), first[i] = got;
            irist_check(t, got == first[i], "%s: launch %u differs from the first one", op_names[jobs[i].op], lap);
        }
    }
    for (int i = JOBS - 1; i >= 0; i--)
        irist_ok(t, iris_gemm_release(t->world, &jobs[i].plan));
    irist_ok(t, iris_free(t->world, workspace));
    for (int i = JOBS - 1; i >= 0; i--)
        release(&jobs[i]);
}

TEST_CASE("plans that share a workspace give the same bits in every launch, back to back", "[gemm][shared]")
{
    irist_spmd(share_work, nullptr);
}

/*
 * Plans of many shapes, types, operations and patterns on one workspace, one after the other without a barrier, and on
 * a GPU as one graph, which is replayed: the same bits each time.
 */
static void many_work(irist_rank *t)
{
    enum { MOST = 64 };
#if defined(IRIS_TARGET_HOST)
    const int count = t->full ? MOST : 16;
#else
    const int count = MOST;
#endif
    const options o = {"many", 0.5, 0, 1, 0, IRIS_ACTIVATION_RELU, 0, 0, 1, 0, RAGGED, 0, 0, 0, 0};
    std::vector<job> jobs((size_t)count);
    std::vector<std::vector<unsigned char>> before((size_t)count), first((size_t)count);
    size_t most = 0;
    bool made = true;
    const auto of = [&](int i, uint32_t what, uint32_t n) { return irist_pick(t->seed, (uint64_t)i + 1000, what, n); };
    for (int i = 0; i < count; i++) {
        const shape s = {1 + (int64_t)of(i, 0, 96), 1 + (int64_t)of(i, 1, 160), 1 + (int64_t)of(i, 2, 80)};
        options own = o;
        own.a = of(i, 7, 3) == 0 ? BY_COLUMNS : BY_ROWS;
        made = create(&jobs[i], t, &kinds[of(i, 3, 3)], ops[of(i, 4, OPS)], s, own) && made;
        jobs[i].put = (int)of(i, 5, 2);
        for (int r = 0; r < t->ranks; r++) { /* the largest of all ranks: k differs */
            iris_gemm_args g = args_of(&jobs[i]);
            g.k = jobs[i].question.k[r], g.lda = g.ldb = 0;
            const size_t room = iris_gemm_workspace_bytes(t->world, jobs[i].op, jobs[i].types->dtype, &g);
            most = room > most ? room : most;
        }
    }
    char *workspace = (char *)iris_malloc(t->world, most);
    for (int i = 0; i < count; i++)
        jobs[i].workspace = workspace, jobs[i].workspace_bytes = most, made = prepare(&jobs[i]) && made;
    const auto submit = [&](iris_stream stream) {
        for (int i = 0; i < count; i++)
            launch(&jobs[i], (int)of(i, 6, (uint32_t)patterns_of(jobs[i].op)), stream);
    };
    for (int lap = 0; made && lap < 2; lap++) {
        for (int i = 0; i < count; i++)
            before[i] = poison(&jobs[i]);
#if defined(IRIS_TARGET_HOST)
        submit(nullptr);
#else
        iris_stream recorder;
        if (lap == 0) {
            submit(nullptr);
        } else if (irist_ok(t, iris_stream_create(t->world, &recorder))) {
            irist_replay(t, iris_default_stream(t->world), recorder, submit);
            irist_ok(t, iris_stream_destroy(t->world, recorder));
        }
#endif
        irist_ok(t, iris_synchronize(t->world));
        for (int i = 0; i < count; i++) {
            const std::vector<unsigned char> got = irist_download(t, jobs[i].memory[ORACLE_C], before[i].size());
            if (lap == 0)
                right(&jobs[i], before[i], "one of many"), first[i] = got;
            irist_check(t, got == first[i], "plan %d, %s: another result the second time", i, op_names[jobs[i].op]);
        }
    }
    for (int i = count - 1; i >= 0; i--)
        irist_ok(t, iris_gemm_release(t->world, &jobs[i].plan));
    irist_ok(t, iris_free(t->world, workspace));
    for (int i = count - 1; i >= 0; i--)
        release(&jobs[i]);
}

TEST_CASE("many plans on one workspace, in a row and in a graph", "[gemm][shared]") { irist_spmd(many_work, nullptr); }

/*
 * Two plans gather into one memory, rows differently far apart, and a GEMM alone behind each reads it there, call after
 * call without a barrier: it gives what the plan has given.
 */
static void again_work(irist_rank *t)
{
    static const options o[] = {
        {"gathered", 0, 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ALIKE, 0, 16, 24, 3},
        {"gathered, padded", 0, 0, 1, 0, IRIS_ACTIVATION_RELU, 1, 0, 0, 0, ALIKE, 3, 0, 0, 4},
    };
    const shape s = {67, 264, 52};
    job jobs[2];
    iris_gemm_plan alone[2];
    char *c[2];
    std::vector<unsigned char> before[2];
    bool made = true;
    for (int i = 0; i < 2; i++) {
        made = create(&jobs[i], t, &kinds[1], IRIS_GEMM_ALL_GATHER, s, o[i]) && made;
        c[i] = (char *)iris_malloc(t->world, oracle_bytes(&jobs[i].question, ORACLE_C, 0) + 4096);
        std::memset(&alone[i], 0, sizeof alone[i]);
    }
    made = keep(&jobs[1]) && made; /* the one with the longer rows */
    jobs[0].keeps = 1, jobs[0].gathered = jobs[1].gathered, jobs[0].gathered_bytes = jobs[1].gathered_bytes;
    for (int i = 0; i < 2; i++) {
        made = prepare(&jobs[i]) && made;
        iris_gemm_args g = args_of(&jobs[i]);
        g.a = g.gathered, g.lda = g.ld_gathered, g.c = c[i];
        g.n = oracle_block_of(&jobs[i].question, ORACLE_C, t->rank).columns.count;
        g.gathered = nullptr, g.gathered_bytes = 0, g.ld_gathered = 0;
        made = irist_ok(t, iris_gemm_prepare(t->world, &alone[i], IRIS_GEMM_LOCAL, IRIS_F32, &g)) && made;
    }
    for (uint32_t lap = 0; made && lap < irist_laps(6, 30); lap++) {
        for (int i = 0; i < 2; i++) {
            before[i] = poison(&jobs[i]);
            irist_upload(t, c[i], before[i]);
        }
        irist_meet(t);
        for (uint32_t i = 0; i < 4; i++) {
            if (lap % 3 == 1)
                irist_delay(t, 4 * lap + i);
            launch(&jobs[i % 2], (int)((lap + i) % PATTERNS));
            irist_ok(t, iris_gemm_local_f32(t->world, &alone[i % 2], nullptr));
        }
        irist_ok(t, iris_synchronize(t->world));
        for (int i = 0; i < 2; i++) {
            right(&jobs[i], before[i], "gathered for another");
            irist_check(t, irist_download(t, c[i], before[i].size()) ==
                               irist_download(t, jobs[i].memory[ORACLE_C], before[i].size()),
                        "lap %u: a GEMM of the gathered A gives another C", lap);
        }
    }
    jobs[0].gathered = nullptr; /* it is the other's */
    for (int i = 1; i >= 0; i--) {
        irist_ok(t, iris_gemm_release(t->world, &alone[i]));
        irist_ok(t, iris_free(t->world, c[i]));
        release(&jobs[i]);
    }
}

TEST_CASE("the gathered A serves other GEMMs until the next call", "[gemm][shared]")
{
    irist_spmd(again_work, nullptr);
}

/*
 * A GEMM alone, of this rank's columns and the rows of A of all ranks, gives the C that a plan of all_gather has given.
 * `before`: what stood in C.
 */
static void gated_alone(job *j, const std::vector<unsigned char> &before)
{
    irist_rank *t = j->t;
    oracle all = j->question; /* the whole A, on one rank */
    all.op = ORACLE_LOCAL, all.world = 1, all.lda[0] = j->question.k[0] + j->o.pad;
    std::vector<unsigned char> a(oracle_bytes(&all, ORACLE_A, 0));
    const std::vector<unsigned char> got = irist_download(t, j->memory[ORACLE_C], before.size());
    char *memory = (char *)iris_malloc(t->world, a.size());
    iris_gemm_args g = args_of(j);
    iris_gemm_plan plan;
    g.m = all.m, g.a = memory, g.lda = all.lda[0], g.n = oracle_block_of(&j->question, ORACLE_B, t->rank).columns.count;
    g.tune = nullptr;
    std::memset(&plan, 0, sizeof plan);
    oracle_fill(&all, ORACLE_A, 0, a.data());
    irist_upload(t, memory, a);
    if (g.n > 0 && irist_ok(t, iris_gemm_prepare(t->world, &plan, IRIS_GEMM_LOCAL, j->types->dtype, &g))) {
        irist_upload(t, j->memory[ORACLE_C], before);
        irist_ok(t, j->types->local(t->world, &plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        right(j, before, "alone");
        irist_check(t, j->o.real || irist_download(t, j->memory[ORACLE_C], before.size()) == got,
                    "%s: a GEMM alone gives another C", j->o.name);
    }
    irist_ok(t, iris_gemm_release(t->world, &plan));
    irist_ok(t, iris_free(t->world, memory));
}

/* Columns in pairs, of any shape, with and without bias and scales, by all_gather's patterns and by a GEMM alone. */
static void gated_work(irist_rank *t)
{
    static const options o[] = {
        {"swiglu", 0.5, 0, 1, 0, IRIS_ACTIVATION_SILU, 0, 2, 0, 0, ALIKE, 3, 0, 0, 0, 1},
        {"geglu, transposed", 0, 0, 0, 0, IRIS_ACTIVATION_GELU, 1, 0, 0, 0, ALIKE, 0, 16, 24, 3, 1},
        {"pairs, real", 0.75, 0, 1, 0, IRIS_ACTIVATION_NONE, 0, 1, 1, 0, ALIKE, 1, 8, 40, 4, 1},
    };
    static const shape sizes[] = {{1, 2, 5}, {13, 34, 19}, {64, 64, 64}, {127, 258, 63}, {3, 200, 100}};
    static const int types[] = {1, 3}; /* f32, and f16 by the kernels of f16_f32 */
    for (int i = 0; i < 5 * 3 * 2; i++) {
        const int s = i % 5, v = i / 5 % 3, which = types[i / 15];
        if (which >= KINDS || (!t->full && (s + v + which) % 2))
            continue;
        job j;
        const bool made = create(&j, t, &kinds[which], IRIS_GEMM_ALL_GATHER, sizes[s], o[v], nullptr, 0, i % 3 * 11);
        j.put = s % 2;
        if (made && prepare(&j)) {
            std::vector<unsigned char> before;
            for (int pattern = 0; pattern < PATTERNS; pattern++) {
                before = poison(&j);
                launch(&j, pattern);
                if (irist_ok(t, iris_synchronize(t->world)))
                    right(&j, before, pattern_names[pattern]);
            }
            gated_alone(&j, before);
        }
        release(&j);
    }
}

TEST_CASE("gates and ups are multiplied, for every shape", "[gemm][gated]")
{
    irist_spmd(gated_work, nullptr);
}

#if !defined(IRIST_PART)
/* Partial sums of f32 and a C of f16, by the kernels of f16_f32: every pattern, by packets and by puts. */
static void f32_sums_work(irist_rank *t)
{
    static const options o[] = {
        {"f32 sums", 0, 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ALIKE, 0, 0, 0, 0, 0, BY_ROWS, 1},
        {"f32 sums, all of it", 0.5, 2, 1, 1, IRIS_ACTIVATION_RELU, 1, 2, 0, 0, RAGGED, 3, 16, 24, 3, 0, BY_ROWS, 1},
        {"f32 sums, in place", 0, -1, 1, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ONE_EMPTY, 1, 0, 0, 2, 0, BY_COLUMNS, 1},
        {"f32 sums, real", 0.75, 0, 1, 0, IRIS_ACTIVATION_SILU, 0, 1, 1, 0, RAGGED, 0, 0, 0, 0, 0, BY_ROWS, 1},
    };
    static const shape sizes[] = {{1, 7, 300}, {13, 34, 701}, {64, 66, 520}, {200, 129, 400}};
    int turn = 0;
    for (const shape &s : sizes)
        for (const options &of : o)
            for (const iris_gemm_op op : {IRIS_GEMM_REDUCE_SCATTER, IRIS_GEMM_ALL_REDUCE})
                if (turn++ % (t->ranks > 4 ? 3 : t->full ? 1 : 5) == 0)
                    every_pattern(t, &kinds[F16], op, s, of, turn % 2, 0);
}

TEST_CASE("partial sums of f32 are rounded once, to a C of 16 bits", "[gemm][f32_sums]")
{
    irist_spmd(f32_sums_work, nullptr);
}

/*
 * Each rank's partial sum is 65536 or -65536, which an f16 has not, and the sum of an odd number of ranks half of that
 * with alpha.
 */
static void overflow_work(irist_rank *t)
{
    const options o = {"overflow", 0.5, 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ALIKE, 0, 0, 0, 0, 0, BY_ROWS, 1};
    const shape s = {12, 20, 1024};
    const double want = t->ranks % 2 ? 32768 : 0;
    for (const iris_gemm_op op : {IRIS_GEMM_REDUCE_SCATTER, IRIS_GEMM_ALL_REDUCE}) {
        job j;
        const bool made = create(&j, t, &kinds[F16], op, s, o);
        for (int which = ORACLE_A; made && which <= ORACLE_B; which++) {
            std::vector<unsigned char> bytes(oracle_bytes(&j.question, (oracle_matrix)which, t->rank));
            for (size_t at = 0; at < bytes.size(); at += 2)
                element_set(IRIS_F16, &bytes[at], which == ORACLE_A ? 64 : t->rank % 2 ? -1 : 1);
            irist_upload(t, j.memory[which], bytes);
        }
        if (made && prepare(&j)) {
            for (int pattern = 0; pattern < patterns_of(op); pattern++) {
                poison(&j);
                launch(&j, pattern);
                irist_ok(t, iris_synchronize(t->world));
                const std::vector<unsigned char> got =
                    irist_download(t, j.memory[ORACLE_C], oracle_bytes(&j.question, ORACLE_C, t->rank));
                for (size_t at = 0; at < got.size(); at += 2)
                    if (!irist_check(t, element_get(IRIS_F16, &got[at]) == want, "%s %s: a sum is %g, not %g",
                                     op_names[op], pattern_names[pattern], element_get(IRIS_F16, &got[at]), want))
                        break;
            }
        }
        release(&j);
    }
}

TEST_CASE("partial sums may be beyond what C holds", "[gemm][f32_sums]") { irist_spmd(overflow_work, nullptr); }

/* A tuning row's `out` is the type that kernels finish in: f32 of a gated C of f16, and of partial sums of f32. */
static void finish_work(irist_rank *t)
{
    static const struct {
        iris_gemm_op op;
        int gated, f32_sums;
        const char *out, *other;
    } rows[] = {
        {IRIS_GEMM_ALL_GATHER, 1, 0, "f32", "f16"},     {IRIS_GEMM_ALL_GATHER, 0, 0, "f16", "f32"},
        {IRIS_GEMM_ALL_REDUCE, 0, 1, "f32", "f16"},     {IRIS_GEMM_ALL_REDUCE, 0, 0, "f16", "f32"},
        {IRIS_GEMM_REDUCE_SCATTER, 0, 1, "f32", "f16"},
    };
    for (const auto &of : rows) {
        const options o = {"a row", 0, 0, 0,        0,       IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ALIKE, 0,
                           0,       0, 0, of.gated, BY_ROWS, of.f32_sums};
        job j;
        if (create(&j, t, &kinds[F16], of.op, {48, 96, 40}, o)) {
            iris_gemm_args g = args_of(&j);
            const std::string op = std::string("op=") + op_names[of.op], mine = std::string("out=") + of.out;
            const std::string table = op + ",workgroups=3,pattern=fused_sequential,out=" + of.other + ";" + op +
                                      ",workgroups=4,pattern=fused_sequential," + mine;
            g.tune = table.c_str();
            if (irist_ok(t, iris_gemm_prepare(t->world, &j.plan, of.op, IRIS_F16, &g))) {
                irist_check(t, j.plan.machine.workgroups == 4, "%s: %u workgroups", table.c_str(),
                            j.plan.machine.workgroups);
                const std::string chosen = choice_of(t, &j.plan);
                irist_check(t, chosen.find(" " + mine + " ") != std::string::npos, "the choice is %s", chosen.c_str());
                const std::vector<unsigned char> before = poison(&j);
                launch(&j, 0);
                irist_ok(t, iris_synchronize(t->world));
                right(&j, before, "by a row");
                irist_ok(t, iris_gemm_release(t->world, &j.plan));
                g.tune = chosen.c_str();
                irist_ok(t, iris_gemm_prepare(t->world, &j.plan, of.op, IRIS_F16, &g));
                const std::string again = choice_of(t, &j.plan);
                irist_check(t, again == chosen, "\"%s\" became \"%s\"", chosen.c_str(), again.c_str());
            }
        }
        release(&j);
    }
}

TEST_CASE("a row is for plans whose kernels finish in its type", "[gemm][row]") { irist_spmd(finish_work, nullptr); }
#endif

/*
 * A plan whose A stands column by column, by a pattern, on a copy full of poison. Returns C; empty where it is wrong.
 */
static std::vector<unsigned char> transposed_once(job *j, int pattern, int64_t rows, const char *how)
{
    irist_rank *t = j->t;
    const irisi_gemm_packing &copy = j->plan.launcher.packs[0];
    const std::vector<unsigned char> before = poison(j);
    if (copy.to)
        irist_ok(t, iris_memset(t->world, copy.to, 0xff, (size_t)j->plan.most_m * copy.to_pitch));
    irist_ok(t, iris_gemm_set_rows(t->world, &j->plan, rows));
    launch(j, pattern);
    if (!irist_ok(t, iris_synchronize(t->world)))
        return {};
    const std::vector<unsigned char> got = irist_download(t, j->memory[ORACLE_C], before.size());
    if (rows == 0)
        irist_check(t, got == before, "%s %s: a launch without rows has written C", op_names[j->op], how);
    else if (!right(j, before, how))
        return {};
    return got;
}

/*
 * dW = X^T dY: A given as k x m, K dealt out raggedly or not to every rank, by every pattern, with all rows that the
 * plan has and with fewer. Bitwise what the same A gives as m x k.
 */
static void transposed_work(irist_rank *t)
{
    const kind *types = (const kind *)t->arg;
    static const options o[] = {
        {"A by columns", 0, 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 1, 0, RAGGED, 3, 0, 0, 0},
        {"A and B by columns", 0.5, -0.5, 1, 0, IRIS_ACTIVATION_RELU, 1, 2, 1, 0, ONE_EMPTY, 0, 16, 24, 3},
        {"A by columns, one part", 0, 1, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, ONE_FULL, 1, 0, 0, 4},
    };
    static const shape sizes[] = {{1, 7, 5}, {13, 17, 19}, {97, 101, 103}, {64, 64, 64}, {130, 40, 300}, {5, 131, 1}};
    const int own = (int)(types - kinds);
    const int each = !t->full ? 7 : t->ranks == 2 ? 1 : t->ranks > 4 ? 8 : 4; /* 2 ranks take them all */
    for (int i = 0; i < 6 * 3 * 2; i++) {
        const int s = i % 6, v = i / 6 % 3;
        const iris_gemm_op op = ops[i / 18];
        if ((s + 2 * v + 3 * (i / 18) + own) % each)
            continue;
        const int spare = i % 2 ? 0 : 1 + s;
        options turned = o[v], plain = o[v];
        turned.a = BY_COLUMNS, plain.a = AT_LINES;
        job a, b;
        const bool made = create(&a, t, types, op, sizes[s], turned, nullptr, 0, spare);
        const bool both = create(&b, t, types, op, sizes[s], plain, nullptr, 0, spare) && made;
        a.put = b.put = s % 2;
        if (both && prepare(&a) && prepare(&b)) {
            irist_check(t, (a.plan.launcher.packs[0].to != nullptr) == (a.question.k[t->rank] > 0),
                        "%lldx%lldx%lld, %s: there is a copy of an empty A, or none", (long long)sizes[s].m,
                        (long long)sizes[s].n, (long long)sizes[s].k, turned.name);
            for (int pattern = 0; pattern < patterns_of(op); pattern++)
                irist_check(t, transposed_once(&a, pattern, sizes[s].m, pattern_names[pattern]) ==
                                   transposed_once(&b, pattern, sizes[s].m, "as m x k"),
                            "%s %s %s %lldx%lldx%lld, %s: other bits than of the same A as m x k", op_names[op],
                            pattern_names[pattern], types->name, (long long)sizes[s].m, (long long)sizes[s].n,
                            (long long)sizes[s].k, turned.name);
            transposed_once(&a, 0, 0, "no rows");
        }
        release(&b);
        release(&a);
    }
}

TEST_CASE("an A that is given as k x m is the same A, for every type and pattern", "[gemm][transposed]")
{
    for (int i = 0; i < KINDS; i++)
        irist_spmd(transposed_work, &kinds[i]);
}

/*
 * Plans come and go: nothing is left of them in the heap, neither workspaces nor signals. A copy of A lies elsewhere; a
 * sanitizer tells of one that is left.
 */
static void release_work(irist_rank *t)
{
    static const iris_gemm_op all[] = {IRIS_GEMM_LOCAL, IRIS_GEMM_REDUCE_SCATTER, IRIS_GEMM_ALL_REDUCE,
                                       IRIS_GEMM_ALL_GATHER};
    for (int turn = 0; turn < 8; turn++) {
        const iris_gemm_op op = all[turn / 2];
        options o = variants[0];
        o.a = turn % 2 ? BY_COLUMNS : BY_ROWS;
        if (op == IRIS_GEMM_ALL_GATHER && o.a == BY_COLUMNS)
            continue;
        job j;
        if (create(&j, t, &kinds[1], op == IRIS_GEMM_LOCAL ? IRIS_GEMM_REDUCE_SCATTER : op, {67, 48, 40}, o)) {
            const size_t data = iris_heap_used(t->world, IRIS_MEM_DATA), sync = iris_heap_used(t->world, IRIS_MEM_SYNC);
            const iris_gemm_args g = args_of(&j);
            irist_ok(t, iris_gemm_prepare(t->world, &j.plan, op, IRIS_F32, &g));
            irist_check(t, o.a == BY_ROWS || j.plan.launcher.packs[0].to != nullptr, "%s: A has no copy", op_names[op]);
            irist_check(t, op == IRIS_GEMM_LOCAL || t->ranks == 1 || iris_heap_used(t->world, IRIS_MEM_DATA) > data,
                        "%s has no workspace", op_names[op]);
            if (op != IRIS_GEMM_LOCAL)
                launch(&j, 0);
            irist_ok(t, iris_synchronize(t->world));
            irist_ok(t, iris_gemm_release(t->world, &j.plan));
            const size_t left = iris_heap_used(t->world, IRIS_MEM_DATA) - data;
            const size_t signals = iris_heap_used(t->world, IRIS_MEM_SYNC) - sync;
            irist_check(t, left == 0 && signals == 0, "%s, A %s: a plan left %zu bytes of data and %zu of signals",
                        op_names[op], o.a == BY_COLUMNS ? "by columns" : "by rows", left, signals);
        }
        release(&j);
    }
}

TEST_CASE("released plans of every operation leave nothing in the heap", "[gemm]")
{
    irist_spmd(release_work, nullptr);
}

/*
 * Several B of one A: each C is bit by bit that of a plan of its own. Widths differ, and some ranks have no columns of
 * some matrices. What follows is of one such problem.
 */
enum { MATRICES = 1 + IRIS_GEMM_MOST_MORE };
struct several {
    irist_rank *t;
    const kind *types;
    iris_gemm_args args; /* all but the matrices */
    int count, spare; /* matrices; rows that plans have beyond those of launches */
    int biased;
    char *a, *scale_a, *memory[MATRICES][4]; /* B, C, bias and scale_b of each */
    size_t c_bytes[MATRICES];
    naive_blas blas;
};

/* A matrix of random whole numbers, whose sums are exact, in memory of equal length on every rank; `what`: its seed. */
static char *several_matrix(several *s, iris_dtype dtype, int64_t rows, int64_t cols, int64_t ld, uint32_t what)
{
    const size_t size = iris_dtype_bytes(dtype);
    char *memory = (char *)iris_malloc(s->t->world, (size_t)(rows * ld + 16) * size);
    std::vector<unsigned char> bytes((size_t)(rows * ld) * size, 0xff);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            element_set(dtype, &bytes[(size_t)(i * ld + j) * size],
                        (int)irist_pick(s->t->seed + what, (uint64_t)i, (uint64_t)j, 5) - 2);
    if (irist_check(s->t, memory != nullptr, "%s", iris_error_string(s->t->world)) && !bytes.empty())
        irist_upload(s->t, memory, bytes);
    return memory;
}

/* Random sizes and options, and memory for all that belongs to them. */
static void several_ask(several *s, irist_rank *t, const kind *types, uint32_t turn,
                        std::vector<iris_gemm_more> *matrices)
{
    const auto of = [&](uint32_t what, uint32_t n) { return (int64_t)irist_pick(t->seed + 77, turn, what, n); };
    *s = several();
    s->t = t, s->types = types, s->count = 2 + (int)(turn % IRIS_GEMM_MOST_MORE), s->spare = turn % 3 ? 0 : 9;
    s->blas.world = t->world;
    iris_gemm_args *g = &s->args;
    const iris_dtype bias = iris_dtype_bytes(types->c_dtype) == 1 ? IRIS_BF16 : types->c_dtype;
    s->biased = of(0, 2) == 0;
    const int scaled = iris_dtype_bytes(types->c_dtype) == 4 && of(1, 2);
    g->m = 1 + of(2, turn % 2 ? 40 : 200) + s->spare, g->k = 1 + of(3, 90), g->c_dtype = types->c_dtype;
    g->b_transposed = (int)of(4, 2), g->activation = of(5, 3) ? IRIS_ACTIVATION_NONE : IRIS_ACTIVATION_RELU;
    g->scale_b_columns = scaled && of(6, 2), g->alpha = of(7, 2) ? 2 : 0, g->workgroups = 2 + (uint32_t)of(8, 4);
    g->tile_m = of(9, 2) ? 8 + 8 * (uint32_t)of(10, 4) : 0, g->tile_n = of(11, 2) ? 8 + 8 * (uint32_t)of(12, 4) : 0;
    g->lda = g->k + of(13, 4);
    g->a = s->a = several_matrix(s, types->dtype, g->m, g->k, g->lda, 1 + (uint32_t)t->rank);
    s->scale_a = several_matrix(s, IRIS_F32, 1, 1, 1, 99);
    g->scale_a = scaled ? (const float *)(void *)s->scale_a : nullptr;
    for (int i = 0; i < s->count; i++) {
        iris_gemm_more x = {};
        x.n = 1 + of(20 + 8 * (uint32_t)i, turn % 4 ? 150 : 40);
        const int64_t most = iris_gemm_band((uint32_t)x.n, (uint32_t)t->ranks, 0).count;
        const int64_t own = iris_gemm_band((uint32_t)x.n, (uint32_t)t->ranks, (uint32_t)t->rank).count;
        const int64_t b_rows = g->b_transposed ? most : g->k, b_cols = g->b_transposed ? g->k : most;
        x.ldb = b_cols + of(21 + 8 * (uint32_t)i, 4), x.ldc = most + of(22 + 8 * (uint32_t)i, 5);
        char **m = s->memory[i];
        const uint32_t what = 1000 * (uint32_t)(1 + i) + 100 * (uint32_t)t->rank;
        m[0] = several_matrix(s, types->dtype, b_rows, b_cols, x.ldb, what);
        m[1] = several_matrix(s, types->c_dtype, g->m, most, x.ldc, what + 1);
        m[2] = several_matrix(s, bias, 1, most, most, what + 2);
        m[3] = several_matrix(s, IRIS_F32, 1, most, most, what + 3);
        s->c_bytes[i] = (size_t)(g->m * x.ldc) * iris_dtype_bytes(types->c_dtype);
        x.b = m[0], x.c = m[1], x.bias = s->biased && own > 0 ? m[2] : nullptr;
        x.scale_b = scaled && own > 0 ? (const float *)(void *)m[3] : nullptr;
        matrices->push_back(x);
    }
}

/* All C after a launch of a plan of `args` on C full of poison; a pattern below 0: a GEMM alone. */
static std::vector<std::vector<unsigned char>> several_run(several *s, iris_gemm_op op, const iris_gemm_args *args,
                                                           int pattern)
{
    irist_rank *t = s->t;
    iris_gemm_plan plan;
    std::vector<std::vector<unsigned char>> got((size_t)s->count);
    std::memset(&plan, 0, sizeof plan);
    if (irist_ok(t, iris_gemm_prepare(t->world, &plan, op, s->types->dtype, args)) &&
        irist_ok(t, iris_gemm_set_rows(t->world, &plan, args->m - s->spare))) {
        for (int i = 0; i < s->count; i++)
            irist_ok(t, iris_memset(t->world, s->memory[i][1], 0xff, s->c_bytes[i]));
        if (plan.exchange.workspace)
            irist_ok(t, iris_memset(t->world, plan.exchange.workspace, 0xff,
                                    iris_gemm_workspace_bytes(t->world, op, s->types->dtype, args)));
        if (op != IRIS_GEMM_LOCAL)
            irist_meet(t); /* nobody's poison comes after another's rows */
        irist_ok(t, (pattern < 0 ? s->types->local : s->types->all_gather[pattern])(t->world, &plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        for (int i = 0; i < s->count; i++)
            got[i] = irist_download(t, s->memory[i][1], s->c_bytes[i]);
    }
    irist_ok(t, iris_gemm_release(t->world, &plan));
    return got;
}

/* Arguments for the matrices of a list: the first as iris_gemm_args has it, and as many further ones as `together`. */
static iris_gemm_args several_args(const several *s, const std::vector<iris_gemm_more> &x, size_t first, int together)
{
    iris_gemm_args g = s->args;
    g.n = x[first].n, g.b = x[first].b, g.ldb = x[first].ldb, g.c = x[first].c, g.ldc = x[first].ldc;
    g.bias = x[first].bias, g.scale_b = x[first].scale_b;
    if (together && x.size() > 1)
        g.more = x.data() + 1, g.n_more = (int)x.size() - 1;
    return g;
}

/* The matrices of a list by every pattern of all_gather, or by a GEMM alone, in one plan; and by one for each. */
static void several_compare(several *s, iris_gemm_op op, const std::vector<iris_gemm_more> &matrices, uint32_t turn)
{
    const int alone = op == IRIS_GEMM_LOCAL, plain = !s->biased && s->args.scale_a == nullptr && !s->args.activation;
    const int blas = !alone && plain && (s->types->dtype == IRIS_F32 || s->types->dtype == IRIS_F64);
    std::vector<std::vector<unsigned char>> expected(MATRICES);
    for (size_t i = 0; i < matrices.size(); i++) {
        const iris_gemm_args g = several_args(s, matrices, i, 0);
        const auto got = several_run(s, op, &g, alone ? -1 : 1);
        for (int c = 0; c < s->count; c++)
            if (matrices[i].c == s->memory[c][1])
                expected[c] = got[c];
    }
    for (int pattern = alone ? -1 : 0; pattern < (alone ? 0 : PATTERNS + blas); pattern++) {
        iris_gemm_args g = several_args(s, matrices, 0, 1);
        if (pattern == PATTERNS)
            g.blas = naive_gemm, g.blas_arg = &s->blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
        const auto got = several_run(s, op, &g, pattern == PATTERNS ? 0 : pattern);
        for (int c = 0; c < s->count; c++)
            irist_check(s->t, expected[c].empty() || got[c] == expected[c],
                        "%s %s %s, turn %u, %lld rows: C %d of %d is another", op_names[op],
                        pattern < 0 ? "" : pattern < PATTERNS ? pattern_names[pattern] : "blas_gather", s->types->name,
                        turn, (long long)g.m, c, s->count);
    }
}

/* What rank 0's plan has chosen, for all: ranks with fewer tiles may choose fewer senders, and rows must be equal. */
static std::string choice_of_first(irist_rank *t, const iris_gemm_plan *plan)
{
    std::string own = choice_of(t, plan);
    own.resize(IRIS_GEMM_TUNE_ROW); /* with zeros behind it */
    std::vector<char> all(own.size() * (size_t)t->ranks);
    irist_ok(t, iris_allgather(t->world, own.data(), all.data(), own.size()));
    return all.data();
}

/* Rows of tiles are not for several B, whose tiles are not those of one: their choice is printed without any. */
static void several_rows(several *s, iris_gemm_op op, const std::vector<iris_gemm_more> &matrices)
{
    irist_rank *t = s->t;
    iris_gemm_args g = several_args(s, matrices, 0, 1);
    iris_gemm_plan plans[3]; /* by the model, by a row, and by what that one has chosen */
    std::string row;
    std::memset(plans, 0, sizeof plans);
    g.tile_m = g.tile_n = 0; /* rows of tiles would count */
    for (int i = 0; i < 3; i++) {
        const std::string tune = i == 0 ? "model" : i == 1 ? "op=all_gather,height=8,width=8" : row;
        g.tune = tune.c_str();
        irist_ok(t, iris_gemm_prepare(t->world, &plans[i], op, s->types->dtype, &g));
        row = choice_of_first(t, &plans[i]);
        irist_check(
            t, plans[i].tiling.tile_m == plans[0].tiling.tile_m && plans[i].tiling.tile_n == plans[0].tiling.tile_n,
            "%s: tiles of %u x %u", g.tune, plans[i].tiling.tile_m, plans[i].tiling.tile_n);
        irist_check(t, row.find(" width=") == std::string::npos, "the choice is %s", row.c_str());
    }
    for (int i = 2; i >= 0; i--)
        irist_ok(t, iris_gemm_release(t->world, &plans[i]));
}

static void several_work(irist_rank *t)
{
    const kind *types = (const kind *)t->arg;
    const uint32_t turns = irist_laps(3, 10);
    for (uint32_t turn = 0; turn < turns; turn++) {
        several s;
        std::vector<iris_gemm_more> all, own;
        several_ask(&s, t, types, 5 * (uint32_t)(types - kinds) + turn, &all);
        several_compare(&s, IRIS_GEMM_ALL_GATHER, all, turn);
        if (turn == 0)
            several_rows(&s, IRIS_GEMM_ALL_GATHER, all);
        for (iris_gemm_more x : all) { /* of this rank's columns alone, if there are some */
            x.n = iris_gemm_band((uint32_t)x.n, (uint32_t)t->ranks, (uint32_t)t->rank).count;
            if (x.n > 0)
                own.push_back(x);
        }
        if (!own.empty())
            several_compare(&s, IRIS_GEMM_LOCAL, own, turn);
        irist_meet(t);
        for (int i = s.count - 1; i >= 0; i--)
            for (int j = 3; j >= 0; j--)
                irist_ok(t, iris_free(t->world, s.memory[i][j]));
        irist_ok(t, iris_free(t->world, s.scale_a));
        irist_ok(t, iris_free(t->world, s.a));
    }
}

TEST_CASE("several B of one A give what a plan for each gives, bit by bit", "[gemm][several]")
{
    for (int i = 0; i < KINDS; i++)
        irist_spmd(several_work, &kinds[i]);
}

/* How many epochs of a channel have ended on this rank. */
static uint64_t epoch_of(irist_rank *t, const iris_channel *ch)
{
    uint64_t epoch = 0;
    irist_ok(t, iris_memcpy(t->world, &epoch, ch->state + IRISI_EPOCH, sizeof epoch));
    return epoch;
}

static void blas_work(irist_rank *t)
{
    for (int o = 0; o < OPS; o++)
        for (int turn = 0; turn < 4; turn++) {
            const int i = 1 + turn / 2, packets = turn % 2; /* f32, f64 */
            job j;
            options v = variants[1];
            v.beta = ops[o] == IRIS_GEMM_ALL_GATHER ? 0.5 : packets && ops[o] == IRIS_GEMM_ALL_REDUCE ? 0 : v.beta;
            v.tile_m = v.tile_n = 0;
            v.a = (i + o) % 2 ? BY_COLUMNS : BY_ROWS; /* a BLAS reads it as it stands */
            const bool made = create(&j, t, &kinds[i], ops[o], shapes[5], v);
            j.by_blas = 1, j.put = !packets;
            if (made && prepare(&j)) {
                const bool gathers = ops[o] == IRIS_GEMM_ALL_GATHER, banks = j.plan.exchange.ll.banks != nullptr;
                irist_check(t, gathers || banks == (packets && t->ranks > 1), "%d ranks, %s: banks %d", t->ranks,
                            op_names[ops[o]], banks);
                const std::vector<unsigned char> before = poison(&j);
                const uint64_t epochs = banks ? epoch_of(t, &j.plan.exchange.ll) : 0;
                launch(&j, 0);
                irist_ok(t, iris_synchronize(t->world));
                irist_check(t, !banks || epoch_of(t, &j.plan.exchange.ll) == epochs + 1, "no packets were sent");
                right(&j, before, "blas_gather");
                const int calls = oracle_block_of(&j.question, ORACLE_C, t->rank).columns.count > 0;
                irist_check(t, j.blas.calls == calls, "the caller's BLAS was called %d times", j.blas.calls);
                irist_ok(t, iris_gemm_set_rows(t->world, &j.plan, 0));
                launch(&j, 0);
                irist_ok(t, iris_synchronize(t->world));
                irist_check(t, j.blas.calls == calls, "the caller's BLAS was called for no rows");
            }
            release(&j);
        }
}

TEST_CASE("the caller's BLAS computes what the library gathers and adds up", "[gemm][blas]")
{
    irist_spmd(blas_work, nullptr);
}

/* A heap without room for a plan's own workspace: prepare says so, on every rank, and nothing is owed afterwards. */
static void full_heap_work(irist_rank *t)
{
    job j;
    const size_t room = iris_heap_size(t->world, IRIS_MEM_DATA) - iris_heap_used(t->world, IRIS_MEM_DATA);
    void *rest = nullptr;
    if (create(&j, t, &kinds[1], IRIS_GEMM_REDUCE_SCATTER, shapes[6], variants[0])) {
        const iris_gemm_args g = args_of(&j);
        const size_t used = iris_heap_size(t->world, IRIS_MEM_DATA) - iris_heap_used(t->world, IRIS_MEM_DATA);
        rest = iris_malloc(t->world, used - 1024);
        irist_check(t, rest != nullptr && used < room, "%s", iris_error_string(t->world));
        const iris_status s = iris_gemm_prepare(t->world, &j.plan, j.op, j.types->dtype, &g);
        irist_check(t, s == IRIS_ERR_NOMEM, "a full heap: %s", iris_status_name(s));
        irist_check(t, std::strstr(iris_error_string(t->world), "the data heap is full") != nullptr, "%s",
                    iris_error_string(t->world));
        irist_ok(t, iris_barrier(t->world));
        irist_ok(t, iris_free(t->world, rest));
        irist_ok(t, iris_gemm_prepare(t->world, &j.plan, j.op, j.types->dtype, &g)); /* now there is room */
    }
    release(&j);
}

TEST_CASE("a heap that is full is told once, by iris_gemm_prepare", "[gemm]") { irist_spmd(full_heap_work, nullptr); }

/* What a plan of reduce_scatter becomes by rows, by name, and beside a BLAS that says it is fast. */
static void choice_work(irist_rank *t)
{
    static const struct {
        const char *tune;
        iris_gemm_pattern asked, pattern;
        int blas;
    } rows[] = {
        {"pattern=bulk_synchronous", IRIS_GEMM_AUTO, IRIS_GEMM_FUSED_SEQUENTIAL, 0}, /* it names no operation */
        {"op=all_reduce pattern=bulk_synchronous", IRIS_GEMM_AUTO, IRIS_GEMM_FUSED_SEQUENTIAL, 0},
        {"op=reduce_scatter pattern=bulk_synchronous", IRIS_GEMM_AUTO, IRIS_GEMM_BULK_SYNCHRONOUS, 0},
        {"op=reduce_scatter pattern=bulk_synchronous", IRIS_GEMM_AUTO, IRIS_GEMM_BULK_SYNCHRONOUS, 1},
        {nullptr, IRIS_GEMM_FUSED_SEQUENTIAL, IRIS_GEMM_FUSED_SEQUENTIAL, 1},
        {nullptr, IRIS_GEMM_BULK_SYNCHRONOUS, IRIS_GEMM_BULK_SYNCHRONOUS, 1},
        {nullptr, IRIS_GEMM_BLAS_GATHER, IRIS_GEMM_BLAS_GATHER, 1},
    };
    job j;
    if (create(&j, t, &kinds[1], IRIS_GEMM_REDUCE_SCATTER, shapes[6], variants[0]))
        for (const auto &row : rows) {
            iris_gemm_args g = args_of(&j);
            g.tune = row.tune, g.pattern = row.asked;
            if (row.blas)
                g.blas = naive_gemm, g.blas_arg = (void *)&j.blas, g.blas_tflops = 1e5;
            irist_ok(t, iris_gemm_prepare(t->world, &j.plan, j.op, j.types->dtype, &g));
            irist_check(t, j.plan.pattern == (uint32_t)row.pattern, "%s %s: %s", row.tune ? row.tune : "asked for",
                        iris_gemm_pattern_name(row.asked), iris_gemm_pattern_name((iris_gemm_pattern)j.plan.pattern));
            irist_ok(t, iris_gemm_release(t->world, &j.plan));
        }
    release(&j);
}

TEST_CASE("rows and names choose a pattern, and no row of another operation does", "[gemm]")
{
    irist_spmd(choice_work, nullptr);
}

/*
 * copy_engine by name and by a row: the plan leaves room beside the kernel that computes, and rows go in several
 * batches. The GEMM of bulk_synchronous reads the gathered A to its end, behind the last handshake, so copies right
 * behind it come too early unless they wait for all ranks to begin. Ranks may also differ: one has copies made, another
 * has workgroups that send. A row for another operation is refused.
 */
static void copies_work(irist_rank *t)
{
    static const shape rows = {700, 24, 40}; /* of each of up to two ranks six blocks or more: two a batch, or three */
    job j;
    if (create(&j, t, &kinds[1], IRIS_GEMM_ALL_GATHER, rows, variants[4]))
        for (int by_row = 0; by_row < 2; by_row++) {
            iris_gemm_args g = args_of(&j);
            g.pattern = by_row ? IRIS_GEMM_AUTO : IRIS_GEMM_COPY_ENGINE;
            g.tune = by_row ? "op=all_gather pattern=copy_engine comm=2" : "model";
            irist_ok(t, iris_gemm_prepare(t->world, &j.plan, j.op, j.types->dtype, &g));
            irist_check(t, j.plan.pattern == IRIS_GEMM_COPY_ENGINE && j.plan.machine.comm_workgroups == 1u + by_row,
                        "%s, and %u workgroups fewer compute",
                        iris_gemm_pattern_name((iris_gemm_pattern)j.plan.pattern), j.plan.machine.comm_workgroups);
            iris_gemm_row proposed;
            if (t->ranks > 1 && irist_check(t, iris_gemm_candidates(t->world, &j.plan, IRIS_GEMM_COPY_ENGINE, &proposed,
                                                                    1) == 1, "nothing is proposed"))
                irist_check(t, std::strstr(proposed.text, " pattern=copy_engine comm=1 ") != nullptr, "%s",
                            proposed.text);
            const std::vector<unsigned char> before = poison(&j);
            launch(&j, t->rank % 2 ? WG_SPECIALIZED : 0); /* as where odd ranks capture, or share a device */
            for (int lap = 0; lap < 4; lap++)
                launch(&j, lap % 2 ? 0 : 1); /* bulk_synchronous, then the plan's */
            irist_ok(t, iris_synchronize(t->world));
            right(&j, before, "copy_engine");
            irist_ok(t, iris_gemm_release(t->world, &j.plan));
        }
    for (const char *tune : {"pattern=copy_engine", "op=all_reduce pattern=copy_engine"}) {
        iris_gemm_args g = args_of(&j);
        g.tune = tune;
        const iris_status s = iris_gemm_prepare(t->world, &j.plan, j.op, j.types->dtype, &g);
        irist_check(t, s == IRIS_ERR_ARGUMENT && std::strstr(iris_error_string(t->world), "op=all_gather alone"),
                    "%s: %s", tune, iris_error_string(t->world));
    }
    release(&j);
}

TEST_CASE("copy_engine waits for who still reads, by name or by a row, and is all_gather's alone", "[gemm]")
{
    irist_spmd(copies_work, nullptr);
}
