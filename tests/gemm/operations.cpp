/* SPDX-License-Identifier: MIT */
/*
 * operations.cpp: GEMM + reduce-scatter, GEMM + all-reduce and all-gather + GEMM: every shape, type, split of K and
 * option by every pattern, against the triple loop of oracle.h; plans that share a workspace; the caller's BLAS.
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
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <cmath>
#include <cstring>
#include <string>

#include "blas.h"
#include "harness.h"
#include "oracle.h"
#if !defined(IRIS_TARGET_HOST)
#include "../gpu/capture.h"
#endif

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

/* An operation of a type, by pattern: the launcher that chooses, then each pattern's. */
enum { PATTERNS = 6 };
struct kind {
    const char *name;
    iris_dtype dtype, c_dtype;
    launcher reduce_scatter[PATTERNS], all_reduce[PATTERNS], all_gather[PATTERNS];
};
#define KIND(d, IN, OUT)                                                                                               \
    {                                                                                                                  \
        #d, IRIS_##IN, IRIS_##OUT,                                                                                     \
            {iris_gemm_reduce_scatter_##d, iris_gemm_reduce_scatter_bulk_synchronous_##d,                              \
             iris_gemm_reduce_scatter_fused_sequential_##d, iris_gemm_reduce_scatter_wg_specialized_##d,               \
             iris_gemm_reduce_scatter_wave_specialized_##d, iris_gemm_reduce_scatter_producer_consumer_##d},           \
            {iris_gemm_all_reduce_##d, iris_gemm_all_reduce_bulk_synchronous_##d,                                      \
             iris_gemm_all_reduce_fused_sequential_##d, iris_gemm_all_reduce_wg_specialized_##d,                       \
             iris_gemm_all_reduce_wave_specialized_##d, iris_gemm_all_reduce_producer_consumer_##d},                   \
            {iris_gemm_all_gather_##d, iris_gemm_all_gather_bulk_synchronous_##d,                                      \
             iris_gemm_all_gather_fused_sequential_##d, iris_gemm_all_gather_wg_specialized_##d,                       \
             iris_gemm_all_gather_wave_specialized_##d, iris_gemm_all_gather_producer_consumer_##d},                   \
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
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const iris_gemm_op ops[] = {IRIS_GEMM_REDUCE_SCATTER, IRIS_GEMM_ALL_REDUCE, IRIS_GEMM_ALL_GATHER};
enum { OPS = sizeof ops / sizeof ops[0] };
static const char *const op_names[] = {"local", "all_scatter", "reduce_scatter", "all_reduce", "all_gather"};

static const char *const pattern_names[PATTERNS] = {"auto", "bulk_synchronous", "fused_sequential",
                                                   "wg_specialized", "wave_specialized", "producer_consumer"};

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

struct options {
    const char *name;
    double alpha, beta;
    int bias, residual;
    iris_activation activation;
    int b_transposed, scales, real, spread;
    deal k;
    int64_t pad; /* elements beyond each row; of rank r one more each */
    uint32_t tile_m, tile_n, workgroups;
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
    q->b_transposed = j->o.b_transposed, q->alpha = j->o.alpha, q->beta = j->o.beta, q->bias = j->o.bias;
    q->residual = j->o.residual && j->o.beta != 0, q->scales = j->o.scales, q->activation = j->o.activation;
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
        q->lda[r] = oracle_block_of(q, ORACLE_A, r).columns.count + own;
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
    g.m = q->m, g.n = q->n, g.k = q->k[r];
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
    g.alpha = q->alpha, g.beta = q->beta, g.activation = q->activation, g.b_transposed = q->b_transposed;
    g.tile_m = j->o.tile_m, g.tile_n = j->o.tile_n, g.workgroups = j->o.workgroups;
    g.workspace = j->workspace, g.workspace_bytes = j->workspace_bytes;
    if (j->put)
        g.tune = "op=reduce_scatter ll=0; op=all_reduce ll=0; op=all_gather ll=0";
    if (j->by_blas)
        g.blas = naive_gemm, g.blas_arg = (void *)&j->blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
    return g;
}

/* The same allocations on every rank, whatever each has of a matrix. */
static bool allocate(job *j)
{
    bool all = true;
    for (int which = ORACLE_A; which <= ORACLE_RESIDUAL; which++) {
        size_t most = 16;
        for (int r = 0; r < j->t->ranks; r++) {
            const size_t bytes = oracle_bytes(&j->question, (oracle_matrix)which, r);
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
                   char *workspace = nullptr, size_t workspace_bytes = 0)
{
    j->t = t, j->types = types, j->op = op, j->s = s, j->o = o, j->by_blas = j->put = 0;
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
    return irist_ok(j->t, iris_gemm_prepare(j->t->world, &j->plan, j->op, j->types->dtype, &g));
}

static void release(job *j)
{
    irist_ok(j->t, iris_gemm_release(j->t->world, &j->plan));
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

/* A problem by every pattern, each on poisoned memory and twice in a row: bitwise the same. `put`: as in job. */
static void every_pattern(irist_rank *t, const kind *types, iris_gemm_op op, const shape &s, const options &o, int put)
{
    job j;
    const bool made = create(&j, t, types, op, s, o);
    j.put = put;
    if (made && prepare(&j)) {
        for (int lap = 0; lap < 2 * PATTERNS; lap++) { /* the second time behind another pattern's epoch */
            const int pattern = lap % PATTERNS;
            if (lap >= PATTERNS && !t->full)
                break;
            const std::vector<unsigned char> before = poison(&j);
            launch(&j, pattern);
            if (!irist_check(t, iris_synchronize(t->world) == IRIS_OK, "%s %s %s %lldx%lldx%lld, %s: %s", op_names[op],
                             pattern_names[pattern], types->name, (long long)s.m, (long long)s.n, (long long)s.k,
                             o.name, iris_error_string(t->world)))
                break;
            right(&j, before, pattern_names[pattern]);
        }
    }
    release(&j);
}

static void shape_work(irist_rank *t)
{
    const kind *types = (const kind *)t->arg;
    const int some = irist_slow() ? 24 : types - kinds < 3 ? 6 : 12;
    for (int s = 0; s < SHAPES; s++)
        for (int v = 0; v < VARIANTS; v++)
            for (int o = 0; o < OPS; o++)
                if ((t->full && types - kinds < 4 && t->ranks <= 4) || (s + 2 * v + o) % (t->full ? 3 : some) == 0)
                    every_pattern(t, types, ops[o], shapes[s], variants[v], (s + v) % 2);
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
            launch(&jobs[i], (int)((lap + 2 * (uint32_t)i) % PATTERNS)); /* bulk_synchronous before wg_specialized */
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

TEST_CASE("plans that share a workspace give the same bits in every launch, back to back", "[gemm]")
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
        made = create(&jobs[i], t, &kinds[of(i, 3, 3)], ops[of(i, 4, OPS)], s, o) && made;
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
            launch(&jobs[i], (int)of(i, 6, PATTERNS), stream);
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

TEST_CASE("many plans on one workspace, in a row and in a graph", "[gemm]") { irist_spmd(many_work, nullptr); }

static void blas_work(irist_rank *t)
{
    for (int o = 0; o < OPS; o++)
        for (int i = 1; i <= 2; i++) { /* f32, f64 */
            job j;
            options v = variants[1];
            v.beta = ops[o] == IRIS_GEMM_ALL_GATHER ? 0.5 : v.beta, v.tile_m = v.tile_n = 0;
            const bool made = create(&j, t, &kinds[i], ops[o], shapes[5], v);
            j.by_blas = 1;
            if (made && prepare(&j)) {
                const std::vector<unsigned char> before = poison(&j);
                launch(&j, 0);
                irist_ok(t, iris_synchronize(t->world));
                right(&j, before, "blas_gather");
                const int calls = oracle_block_of(&j.question, ORACLE_C, t->rank).columns.count > 0;
                irist_check(t, j.blas.calls == calls, "the caller's BLAS was called %d times", j.blas.calls);
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
