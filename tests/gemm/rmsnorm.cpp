/* SPDX-License-Identifier: MIT */
/*
 * rmsnorm.cpp: GEMM + all-reduce with residual and RMSNorm: C against the triple loop of oracle.h, out against a norm
 * of that C in double precision, for ragged shapes and every split of K, by packets and by puts and by both patterns,
 * with and without a stored C; the same bits on every rank; calls back to back; and rows that overflow.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_F32
#endif
#include <iris/gen/launch/gemm_all_reduce_rmsnorm.h>

#include <cmath>
#include <cstring>

#include "blas.h"
#include "harness.h"
#include "oracle.h"

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

/* Types, and the launchers: the one that chooses, and each pattern's. */
enum { PATTERNS = 3 };
struct kind {
    const char *name;
    iris_dtype dtype;
    launcher by[PATTERNS];
};
static const kind kinds[] = {
    {"bf16", IRIS_BF16, {iris_gemm_all_reduce_rmsnorm_bf16, iris_gemm_all_reduce_rmsnorm_bulk_synchronous_bf16,
                         iris_gemm_all_reduce_rmsnorm_fused_sequential_bf16}},
    {"f32", IRIS_F32, {iris_gemm_all_reduce_rmsnorm_f32, iris_gemm_all_reduce_rmsnorm_bulk_synchronous_f32,
                       iris_gemm_all_reduce_rmsnorm_fused_sequential_f32}},
};
static const char *const pattern_names[PATTERNS] = {"auto", "bulk_synchronous", "fused_sequential"};

struct shape {
    int64_t m, n, k;
};
static const shape shapes[] = {{1, 1, 1},    {1, 264, 40}, {2, 8, 16},    {3, 131, 7}, {13, 17, 19},
                               {64, 96, 33}, {5, 520, 64}, {33, 2, 100}, {70, 41, 24}};

/* How K is dealt out: alike, each rank another length, nothing to rank 1, or to all but the last. */
enum deal { ALIKE, RAGGED, ONE_EMPTY, ONE_FULL };

struct options {
    const char *name;
    double alpha, beta;
    int bias, residual, stored;
    iris_activation activation;
    int b_transposed, scales, real;
    deal k;
    int64_t pad; /* elements beyond each row; of rank r one more each where ranks may differ */
    uint32_t workgroups;
    float epsilon;
};
static const options variants[] = {
    {"plain", 0, 0, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, ALIKE, 0, 0, 1e-5f},
    {"stream in place", 0, 1, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 1, RAGGED, 3, 3, 1e-5f},
    {"residual, C not stored", 0, 1, 1, 1, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, ONE_EMPTY, 1, 2, 0.5f},
    {"residual, bias, scales", 0.5, 2, 1, 1, 1, IRIS_ACTIVATION_NONE, 0, 2, 0, RAGGED, 0, 5, 1e-6f},
    {"real, silu", 0.75, 0, 1, 0, 1, IRIS_ACTIVATION_SILU, 0, 1, 1, ONE_FULL, 5, 4, 0.125f},
    {"C not stored, padded", 0, 0, 0, 0, 0, IRIS_ACTIVATION_RELU, 0, 0, 0, RAGGED, 8, 7, 1},
};

/* A problem on one rank: what is asked, its memory, and a plan. */
struct job {
    irist_rank *t;
    const kind *types;
    shape s;
    options o;
    oracle question;
    char *memory[ORACLE_RESIDUAL + 1]; /* by oracle_matrix */
    char *out, *weight;
    int64_t ldout;
    naive_blas blas;
    int by_blas, put; /* put: partial sums are, also where they could go as packets */
    int spare; /* rows that the plan is prepared for beyond those of its launches */
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

static double weight_at(const job *j, int64_t column)
{
    return element_round(j->types->dtype, 0.5 + irist_pick(j->t->seed, 77, (uint64_t)column, 256) / 256.0);
}

static void ask(job *j)
{
    oracle *q = &j->question;
    *q = oracle();
    q->op = ORACLE_ALL_REDUCE, q->world = j->t->ranks, q->seed = j->t->seed, q->alike = 1;
    q->m = j->s.m, q->n = j->s.n, q->dtype = q->c_dtype = q->bias_dtype = j->types->dtype;
    q->b_transposed = j->o.b_transposed, q->alpha = j->o.alpha, q->beta = j->o.beta, q->bias = j->o.bias;
    q->residual = j->o.residual, q->scales = j->o.scales, q->activation = j->o.activation, q->real = j->o.real;
    for (int r = 0; r < j->t->ranks; r++)
        q->k[r] = dealt(j, r);
    for (int r = 0; r < j->t->ranks; r++) {
        const int64_t own = j->o.pad ? j->o.pad + r : 0;
        const oracle_block b = oracle_block_of(q, ORACLE_B, r);
        q->lda[r] = q->k[r] + own, q->ldb[r] = (b.transposed ? b.rows.count : b.columns.count) + own;
        q->ldc[r] = q->n + j->o.pad, q->ldr[r] = q->n + own;
    }
    j->ldout = q->n + 2 * j->o.pad;
}

static size_t out_bytes(const job *j, int rows)
{
    return (size_t)((j->s.m + rows) * j->ldout) * iris_dtype_bytes(j->types->dtype);
}

static iris_gemm_args args_of(const job *j)
{
    const oracle *q = &j->question;
    const int r = j->t->rank;
    iris_gemm_args g = {};
    g.m = q->m + j->spare, g.n = q->n, g.k = q->k[r];
    g.a = j->memory[ORACLE_A], g.b = j->memory[ORACLE_B], g.lda = q->lda[r], g.ldb = q->ldb[r];
    if (j->o.stored)
        g.c = j->memory[ORACLE_C], g.ldc = q->ldc[r];
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
    g.out = j->out, g.ldout = j->ldout, g.weight = j->weight, g.epsilon = j->o.epsilon;
    g.workgroups = j->o.workgroups;
    if (j->put)
        g.tune = "op=all_reduce_rmsnorm ll=0";
    if (j->by_blas)
        g.blas = naive_gemm, g.blas_arg = (void *)&j->blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
    return g;
}

static bool create(job *j, irist_rank *t, const kind *types, const shape &s, const options &o, int spare = 0)
{
    const size_t size = iris_dtype_bytes(types->dtype);
    bool all = true;
    j->spare = spare, j->t = t, j->types = types, j->s = s, j->o = o, j->by_blas = j->put = 0;
    if (t->ranks == 1 && types->dtype == IRIS_BF16) /* one rank's sum may be rounded once or twice: C says which */
        j->o.stored = 1;
    std::memset(&j->plan, 0, sizeof j->plan);
    std::memset(&j->blas, 0, sizeof j->blas);
    j->blas.world = t->world;
    ask(j);
    oracle all_rows = j->question;
    all_rows.m += spare;
    for (int which = ORACLE_A; which <= ORACLE_RESIDUAL; which++) { /* equally long on every rank */
        size_t most = 16;
        for (int r = 0; r < t->ranks; r++) {
            const size_t bytes = oracle_bytes(&all_rows, (oracle_matrix)which, r);
            most = bytes > most ? bytes : most;
        }
        j->memory[which] = (char *)iris_malloc(t->world, most);
        all = irist_check(t, j->memory[which] != nullptr, "%s", iris_error_string(t->world)) && all;
    }
    j->out = (char *)iris_malloc(t->world, out_bytes(j, j->spare));
    j->weight = (char *)iris_malloc(t->world, (size_t)s.n * size);
    all = irist_check(t, j->out && j->weight, "%s", iris_error_string(t->world)) && all;
    for (int which = ORACLE_A; all && which <= ORACLE_RESIDUAL; which++) {
        std::vector<unsigned char> bytes(oracle_bytes(&j->question, (oracle_matrix)which, t->rank));
        oracle_fill(&j->question, (oracle_matrix)which, t->rank, bytes.data());
        irist_upload(t, j->memory[which], bytes);
    }
    std::vector<unsigned char> weight((size_t)s.n * size);
    for (int64_t i = 0; i < s.n; i++)
        element_set(types->dtype, &weight[(size_t)i * size], weight_at(j, i));
    return all && irist_upload(t, j->weight, weight) &&
           irist_check(t, oracle_create(&j->question) == 0, "there is no oracle");
}

static bool prepare(job *j)
{
    const iris_gemm_args g = args_of(j);
    iris_gemm_args before = g; /* C and what beta reads may be allocated when the workspace's length is known */
    before.c = before.out = nullptr, before.residual = nullptr;
    const auto room = [&](const iris_gemm_args *of) {
        return iris_gemm_workspace_bytes(j->t->world, IRIS_GEMM_ALL_REDUCE_RMSNORM, j->types->dtype, of);
    };
    irist_check(j->t, room(&before) > 0 && room(&before) == room(&g), "the workspace's length needs pointers");
    return irist_ok(j->t,
                    iris_gemm_prepare(j->t->world, &j->plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, j->types->dtype, &g)) &&
           irist_ok(j->t, iris_gemm_set_rows(j->t->world, &j->plan, j->s.m));
}

static void release(job *j)
{
    irist_ok(j->t, iris_gemm_release(j->t->world, &j->plan));
    irist_ok(j->t, iris_free(j->t->world, j->weight));
    irist_ok(j->t, iris_free(j->t->world, j->out));
    for (int which = ORACLE_RESIDUAL; which >= ORACLE_A; which--)
        irist_ok(j->t, iris_free(j->t->world, j->memory[which]));
    oracle_free(&j->question);
}

/* Poison in out, in the workspace, and in C but for what beta reads there: returns C. */
static std::vector<unsigned char> poison(job *j)
{
    std::vector<unsigned char> before(oracle_bytes(&j->question, ORACLE_C, j->t->rank));
    oracle_before(&j->question, j->t->rank, before.data());
    irist_upload(j->t, j->memory[ORACLE_C], before);
    irist_upload(j->t, j->out, irist_poisoned(out_bytes(j, 0)));
    const iris_gemm_args g = args_of(j);
    const size_t room = iris_gemm_workspace_bytes(j->t->world, IRIS_GEMM_ALL_REDUCE_RMSNORM, j->types->dtype, &g);
    irist_check(j->t, room > 0, "%s", iris_error_string(j->t->world));
    irist_ok(j->t, iris_memset(j->t->world, j->plan.exchange.workspace, 0xff, room));
    irist_meet(j->t); /* nobody's poison comes after another's sums */
    return before;
}

/* The norm of row i: a sum of squares, a root and products in double precision. `c`: what the rank's C holds. */
static bool row_right(job *j, const std::vector<unsigned char> &c, const std::vector<unsigned char> &out, int64_t i,
                      const char *how)
{
    const oracle *q = &j->question;
    const iris_dtype dtype = j->types->dtype;
    const size_t size = iris_dtype_bytes(dtype);
    std::vector<double> x((size_t)q->n);
    double squares = 0, off;
    for (int64_t k = 0; k < q->n; k++) { /* where C was not stored, exact inputs give what it would have held */
        x[(size_t)k] = j->o.stored ? element_get(dtype, &c[(size_t)(i * q->ldc[j->t->rank] + k) * size])
                                   : element_round(dtype, oracle_expect(q, 0, i, k, &off));
        squares += x[(size_t)k] * x[(size_t)k];
    }
    for (int64_t k = 0; k < q->n; k++) {
        const double want = x[(size_t)k] / std::sqrt(squares / (double)q->n + (double)j->o.epsilon) * weight_at(j, k);
        const double got = element_get(dtype, &out[(size_t)(i * j->ldout + k) * size]);
        /* One rounding to the type; in f32 half a unit of each square, and a few of the root and the products. */
        const double most = element_half_unit(dtype, std::fabs(want) * 1.0001) +
                            std::fabs(want) * ((double)q->n / 2 + 16) * std::ldexp(1, -24);
        if (!irist_check(j->t, std::fabs(got - want) <= most, "%s %s %lldx%lldx%lld, %s: out[%lld][%lld] is %.9g, not "
                         "%.9g", how, j->types->name, (long long)q->m, (long long)q->n, (long long)j->s.k, j->o.name,
                         (long long)i, (long long)k, got, want))
            return false;
    }
    return true;
}

/* C, out, what stands between their rows, and that all ranks have the same. */
static std::vector<unsigned char> right(job *j, const std::vector<unsigned char> &before, const char *how)
{
    irist_rank *t = j->t;
    const size_t size = iris_dtype_bytes(j->types->dtype), row = (size_t)j->ldout * size;
    const std::vector<unsigned char> c = irist_download(t, j->memory[ORACLE_C], before.size());
    const std::vector<unsigned char> out = irist_download(t, j->out, out_bytes(j, 0));
    const std::vector<unsigned char> poisoned = irist_poisoned(out.size());
    oracle_wrong wrong;
    if (j->o.stored)
        irist_check(t, oracle_right(&j->question, t->rank, c.data(), before.data(), &wrong),
                    "%s %s %lldx%lldx%lld, %s: %s", how, j->types->name, (long long)j->s.m, (long long)j->s.n,
                    (long long)j->s.k, j->o.name, wrong.text);
    else
        irist_check(t, c == before, "%s, %s: a C that is not the call's was written", how, j->o.name);
    for (int64_t i = 0; i < j->s.m && row_right(j, c, out, i, how); i++) {
        const size_t end = (size_t)i * row + (size_t)j->s.n * size, next = (size_t)(i + 1) * row;
        irist_check(t, std::memcmp(&out[0] + end, &poisoned[0] + end, next - end) == 0,
                    "%s, %s: row %lld of out was written beyond its end", how, j->o.name, (long long)i);
    }
    uint64_t sum = 0, all[ORACLE_RANKS];
    for (const unsigned char byte : out)
        sum = sum * 0x100000001B3u + byte;
    for (size_t i = 0; j->o.stored && i < c.size(); i++)
        sum = sum * 0x100000001B3u + c[i];
    irist_ok(t, iris_allgather(t->world, &sum, all, sizeof sum));
    for (int r = 1; r < t->ranks; r++)
        irist_check(t, all[r] == all[0], "%s, %s: ranks 0 and %d have different bits", how, j->o.name, r);
    return out;
}

/*
 * A problem by every pattern, each on poisoned memory: one plan gives the same bits by all of them. Half of the plans
 * are for more rows.
 */
static void every_pattern(irist_rank *t, const kind *types, const shape &s, const options &o, int put)
{
    job j;
    std::vector<unsigned char> first;
    const bool made = create(&j, t, types, s, o, (put + (int)(s.m % 2)) % 2 ? 7 : 0);
    j.put = put;
    if (made && prepare(&j)) {
        for (int lap = 0; lap < 2 * PATTERNS; lap++) { /* the second time behind another pattern's epoch */
            const int pattern = lap % PATTERNS;
            if (lap >= PATTERNS && !t->full)
                break;
            const std::vector<unsigned char> before = poison(&j);
            irist_ok(t, types->by[pattern](t->world, &j.plan, nullptr));
            if (!irist_ok(t, iris_synchronize(t->world)))
                break;
            const std::vector<unsigned char> out = right(&j, before, pattern_names[pattern]);
            irist_check(t, lap == 0 || out == first, "%s, %s: other bits than auto's", pattern_names[pattern], o.name);
            first = lap == 0 ? out : first;
        }
    }
    release(&j);
}

static void shape_work(irist_rank *t)
{
    const int all = t->full && !irist_slow();
    int turn = 0;
    for (const kind &types : kinds)
        for (const shape &s : shapes)
            for (const options &o : variants)
                if (turn++, all || turn % 5 == 0) /* of six variants, another one with each of these shapes */
                    every_pattern(t, &types, s, o, (int)irist_pick(t->seed, 78, (uint64_t)turn, 2));
}

TEST_CASE("all_reduce_rmsnorm is the norm of the sums, with the same bits on every rank", "[gemm]")
{
    irist_spmd(shape_work, nullptr);
}

static void blas_work(irist_rank *t)
{
    job j;
    const bool made = create(&j, t, &kinds[1], shapes[4], variants[1]);
    j.by_blas = 1;
    if (made && prepare(&j)) {
        const std::vector<unsigned char> before = poison(&j);
        irist_ok(t, kinds[1].by[0](t->world, &j.plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        right(&j, before, "blas_gather");
        irist_check(t, j.blas.calls == 1, "the caller's BLAS was called %d times", j.blas.calls);
    }
    release(&j);
}

TEST_CASE("all_reduce_rmsnorm takes the caller's BLAS", "[gemm][blas]") { irist_spmd(blas_work, nullptr); }

/*
 * Many calls and nothing in between, on a stream that each reads and overwrites: of each call's sum the first rank adds
 * one more than the others take away. A call that misses a rank, or takes one from another call, shows. A row whose
 * pattern the operation lacks is not taken.
 */
static void stream_work(irist_rank *t)
{
    enum { M = 5, N = 24, ROUNDS = 4 };
    const uint32_t calls = irist_laps(50, 400);
    float *memory = iris_zeros_f32(t->world, M + N + 2 * M * N + N);
    float *a = memory, *b = a + M, *c = b + N, *out = c + M * N, *weight = out + M * N;
    std::vector<float> host(M + N + 2 * M * N + N, 0.0f), got(2 * M * N);
    for (int i = 0; i < M; i++)
        host[(size_t)i] = t->rank == 0 ? (float)t->ranks : -1.0f;
    for (int i = 0; i < N; i++)
        host[(size_t)(M + i)] = 1, host[(size_t)(M + N + 2 * M * N + i)] = 1;
    for (int round = 0; round < ROUNDS; round++) {
        iris_gemm_plan plan;
        iris_gemm_args g = {};
        g.m = M, g.n = N, g.k = 1, g.a = a, g.b = b, g.c = c, g.beta = 1, g.out = out, g.weight = weight;
        g.tune = round % 2 ? "op=all_reduce_rmsnorm pattern=wave_specialized; op=all_reduce_rmsnorm ll=0" : "model";
        irist_ok(t, iris_memcpy(t->world, memory, host.data(), host.size() * sizeof(float)));
        if (!irist_ok(t, iris_gemm_prepare(t->world, &plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_F32, &g)))
            break;
        irist_meet(t);
        for (uint32_t call = 0; call < calls; call++)
            irist_ok(t, kinds[1].by[round < 2 ? 0 : call % PATTERNS](t->world, &plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        irist_ok(t, iris_memcpy(t->world, got.data(), c, got.size() * sizeof(float)));
        for (size_t i = 0; i < M * N; i++)
            if (!irist_check(t, got[i] == (float)calls && std::fabs(got[i + M * N] - 1) < 1e-6f,
                             "round %d: after %u calls the stream is %g, its norm %g", round, calls, (double)got[i],
                             (double)got[i + M * N]))
                break;
        irist_ok(t, iris_gemm_release(t->world, &plan));
    }
    irist_ok(t, iris_free(t->world, memory));
}

TEST_CASE("all_reduce_rmsnorm may follow itself at once", "[gemm][shared]") { irist_spmd(stream_work, nullptr); }

/* Rows whose squares overflow become 0, and NaN where they are infinite. */
static void overflow_work(irist_rank *t)
{
    enum { M = 4, N = 20 };
    float *memory = iris_zeros_f32(t->world, M + N + M * N + N);
    std::vector<float> host(M + N + M * N + N, 1.0f);
    iris_gemm_plan plan;
    iris_gemm_args g = {};
    host[1] = 1e20f, host[2] = HUGE_VALF;
    g.m = M, g.n = N, g.k = t->rank == 0, g.a = memory, g.b = memory + M, g.out = memory + M + N;
    g.weight = memory + M + N + M * N;
    irist_ok(t, iris_memcpy(t->world, memory, host.data(), host.size() * sizeof(float)));
    if (irist_ok(t, iris_gemm_prepare(t->world, &plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_F32, &g))) {
        irist_ok(t, iris_gemm_all_reduce_rmsnorm_f32(t->world, &plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        irist_ok(t, iris_memcpy(t->world, host.data(), g.out, M * N * sizeof(float)));
        for (size_t i = 0; i < M * N; i++) {
            const size_t row = i / N;
            irist_check(t, row == 2 ? std::isnan(host[i]) : std::fabs(host[i] - (row == 1 ? 0 : 1)) < 1e-6f,
                        "row %d holds %g", (int)row, (double)host[i]);
        }
        irist_ok(t, iris_gemm_release(t->world, &plan));
    }
    irist_ok(t, iris_free(t->world, memory));
}

TEST_CASE("all_reduce_rmsnorm makes nothing up where squares overflow", "[gemm]")
{
    irist_spmd(overflow_work, nullptr);
}
