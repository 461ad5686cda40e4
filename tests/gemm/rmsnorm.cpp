/* SPDX-License-Identifier: MIT */
/*
 * rmsnorm.cpp: GEMM + all-reduce with residual and RMSNorm: C against the triple loop of oracle.h, out against a norm
 * of that C in double precision, for ragged shapes and every split of K, by packets and by puts and by both patterns,
 * with and without a stored C; its codes of 8 bits against that norm over a scale in double precision; the same bits on
 * every rank; calls back to back; and rows that overflow, are tiny or zero. With sequence_parallel C is judged as that
 * of reduce_scatter, and compared with it bit by bit, and the norms are compared with those of a C on every rank.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_BF16_F32 /* the kernels of a C of bf16 whose partial sums are f32 */
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_RMSNORM_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#endif
#include <iris/barrier.h>
#include <iris/gen/launch/gemm_all_reduce_rmsnorm.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <algorithm>
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
    int f32_sums = 0; /* 1: partial sums are f32, although C is not */
};
static const kind kinds[] = {
    {"bf16", IRIS_BF16, {iris_gemm_all_reduce_rmsnorm_bf16, iris_gemm_all_reduce_rmsnorm_bulk_synchronous_bf16,
                         iris_gemm_all_reduce_rmsnorm_fused_sequential_bf16}},
    {"f32", IRIS_F32, {iris_gemm_all_reduce_rmsnorm_f32, iris_gemm_all_reduce_rmsnorm_bulk_synchronous_f32,
                       iris_gemm_all_reduce_rmsnorm_fused_sequential_f32}},
    {"bf16, sums of f32", IRIS_BF16, {iris_gemm_all_reduce_rmsnorm_bf16,
                                      iris_gemm_all_reduce_rmsnorm_bulk_synchronous_bf16,
                                      iris_gemm_all_reduce_rmsnorm_fused_sequential_bf16}, 1},
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
    int transposed, scales, real; /* transposed: A and B are */
    deal k;
    int64_t pad; /* elements beyond each row; of rank r one more each where ranks may differ */
    uint32_t workgroups;
    float epsilon;
    iris_dtype quant = IRIS_DTYPE_NONE; /* of quant_out; none: it is null */
    int alone = 0;                      /* 1: out is null */
    int own_rows = 0;                   /* 1: sequence_parallel */
};
static const options variants[] = {
    {"plain", 0, 0, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, ALIKE, 0, 0, 1e-5f},
    {"stream in place", 0, 1, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 1, RAGGED, 3, 3, 1e-5f},
    {"residual, C not stored", 0, 1, 1, 1, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, ONE_EMPTY, 1, 2, 0.5f},
    {"residual, bias, scales", 0.5, 2, 1, 1, 1, IRIS_ACTIVATION_NONE, 0, 2, 0, RAGGED, 0, 5, 1e-6f},
    {"real, silu", 0.75, 0, 1, 0, 1, IRIS_ACTIVATION_SILU, 0, 1, 1, ONE_FULL, 5, 4, 0.125f},
    {"C not stored, padded", 0, 0, 0, 0, 0, IRIS_ACTIVATION_RELU, 0, 0, 0, RAGGED, 8, 7, 1},
};

static const options quantized[] = {
    {"codes beside norms", 0, 0, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, ALIKE, 0, 0, 1e-5f, IRIS_F8E4M3},
    {"codes alone, stream in place", 0, 1, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 1, RAGGED, 3, 3, 1e-5f,
     IRIS_F8E4M3FNUZ, 1},
    {"codes and norms, C not stored", 0, 1, 1, 1, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, ONE_EMPTY, 1, 2, 0.5f,
     IRIS_F8E4M3FNUZ},
    {"codes alone, silu", 0.75, 0, 1, 0, 1, IRIS_ACTIVATION_SILU, 0, 1, 1, ONE_FULL, 5, 4, 0.125f, IRIS_F8E4M3, 1},
    {"codes alone, scales", 0.5, 2, 1, 1, 1, IRIS_ACTIVATION_NONE, 0, 2, 0, RAGGED, 0, 5, 1e-6f, IRIS_F8E4M3FNUZ, 1},
    {"codes and norms, padded", 0, 0, 0, 0, 0, IRIS_ACTIVATION_RELU, 0, 0, 0, RAGGED, 8, 7, 1, IRIS_F8E4M3},
};

static const options sequence_parallel[] = {
    {"own rows in place", 0, 1, 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 1, RAGGED, 3, 3, 1e-5f, IRIS_DTYPE_NONE, 0, 1},
    {"own rows, C not stored", 0, 1, 1, 1, 0, IRIS_ACTIVATION_NONE, 1, 0, 0, ONE_EMPTY, 1, 2, 0.5f, IRIS_DTYPE_NONE, 0,
     1},
    {"own rows, residual apart", 0.5, 2, 1, 1, 1, IRIS_ACTIVATION_NONE, 0, 2, 0, RAGGED, 0, 5, 1e-6f, IRIS_DTYPE_NONE,
     0, 1},
    {"own rows, codes and norms", 0, 1, 1, 1, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, ALIKE, 8, 7, 1, IRIS_F8E4M3, 0, 1},
    {"own rows, codes alone", 0, 1, 0, 1, 1, IRIS_ACTIVATION_NONE, 0, 1, 0, RAGGED, 2, 0, 1e-5f, IRIS_F8E4M3FNUZ, 1, 1},
    {"own rows, no residual, silu", 0.75, 0, 1, 0, 1, IRIS_ACTIVATION_SILU, 0, 1, 1, ONE_FULL, 5, 4, 0.125f,
     IRIS_F8E4M3, 1, 1},
};

/* Bytes before C that nobody may write. */
enum { BEFORE_C = 1024 };

/* A problem on one rank: what is asked, its memory, and a plan. */
struct job {
    irist_rank *t;
    const kind *types;
    shape s;
    options o;
    oracle question;
    char *memory[ORACLE_RESIDUAL + 1]; /* by oracle_matrix */
    char *out, *weight, *codes;
    float *row_scales;
    size_t c_bytes; /* of C's memory, those before it not counted */
    int64_t ldout, ldcodes;
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
    q->op = j->o.own_rows ? ORACLE_REDUCE_SCATTER : ORACLE_ALL_REDUCE;
    q->world = j->t->ranks, q->seed = j->t->seed, q->alike = 1;
    q->m = j->s.m, q->n = j->s.n, q->dtype = q->c_dtype = q->bias_dtype = j->types->dtype;
    q->a_transposed = q->b_transposed = j->o.transposed;
    q->alpha = j->o.alpha, q->beta = j->o.beta, q->bias = j->o.bias;
    q->slot_dtype = j->types->f32_sums ? IRIS_F32 : IRIS_DTYPE_NONE;
    q->residual = j->o.residual, q->scales = j->o.scales, q->activation = j->o.activation, q->real = j->o.real;
    for (int r = 0; r < j->t->ranks; r++)
        q->k[r] = dealt(j, r);
    for (int r = 0; r < j->t->ranks; r++) {
        const int64_t own = j->o.pad ? j->o.pad + r : 0;
        const oracle_block b = oracle_block_of(q, ORACLE_B, r);
        q->lda[r] = (q->a_transposed ? q->m + j->spare : q->k[r]) + own;
        q->ldb[r] = (b.transposed ? b.rows.count : b.columns.count) + own;
        q->ldc[r] = q->n + (j->o.own_rows ? own : j->o.pad), q->ldr[r] = q->n + own;
    }
    j->ldout = q->n + 2 * j->o.pad;
    j->ldcodes = q->n + (j->o.pad ? j->o.pad + 1 : 0);
}

static size_t out_bytes(const job *j, int rows)
{
    return (size_t)((j->s.m + rows) * j->ldout) * iris_dtype_bytes(j->types->dtype);
}

/* Those of the codes, and of their scales; as many in any launch. */
static size_t codes_bytes(const job *j) { return (size_t)((j->s.m + j->spare) * j->ldcodes); }
static size_t row_scales_bytes(const job *j) { return (size_t)(j->s.m + j->spare) * sizeof(float); }

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
    g.sequence_parallel = j->o.own_rows, g.reduce_dtype = j->types->f32_sums ? IRIS_F32 : IRIS_DTYPE_NONE;
    if (j->o.own_rows && oracle_part(g.m, q->world, r).count == 0)
        g.c = nullptr, g.residual = nullptr, g.ldc = g.ldr = 0; /* none of its rows is this rank's */
    if (q->scales) {
        g.scale_a = (const float *)(void *)j->memory[ORACLE_SCALE_A];
        g.scale_b = (const float *)(void *)j->memory[ORACLE_SCALE_B];
        g.scale_c = (const float *)(void *)j->memory[ORACLE_SCALE_C];
        g.scale_a_rows = g.scale_b_columns = q->scales == 2;
    }
    g.alpha = q->alpha, g.beta = q->beta, g.activation = q->activation;
    g.a_transposed = q->a_transposed, g.b_transposed = q->b_transposed;
    g.weight = j->weight, g.epsilon = j->o.epsilon;
    if (!j->o.alone)
        g.out = j->out, g.ldout = j->ldout;
    if (j->o.quant != IRIS_DTYPE_NONE) {
        g.quant_out = j->codes, g.scale_out = j->row_scales, g.ldquant_out = j->ldcodes;
        g.quant_dtype = j->o.quant == IRIS_F8E4M3 && j->o.pad == 0 ? IRIS_DTYPE_NONE : j->o.quant; /* the default */
    }
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
    j->spare = spare, j->t = t, j->types = types, j->s = s, j->o = o;
    j->by_blas = j->put = 0;
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
        const size_t before = which == ORACLE_C ? BEFORE_C : 0;
        char *memory = (char *)iris_malloc(t->world, before + most);
        all = irist_check(t, memory != nullptr, "%s", iris_error_string(t->world)) && all;
        j->memory[which] = memory + before;
        j->c_bytes = which == ORACLE_C ? most : j->c_bytes;
    }
    j->out = (char *)iris_malloc(t->world, out_bytes(j, j->spare));
    j->weight = (char *)iris_malloc(t->world, (size_t)s.n * size);
    j->codes = (char *)iris_malloc(t->world, codes_bytes(j));
    j->row_scales = (float *)iris_malloc(t->world, row_scales_bytes(j));
    all = irist_check(t, j->out && j->weight && j->codes && j->row_scales, "%s", iris_error_string(t->world)) && all;
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
    before.c = before.out = before.quant_out = before.scale_out = nullptr, before.residual = nullptr;
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
    irist_ok(j->t, iris_free(j->t->world, j->row_scales));
    irist_ok(j->t, iris_free(j->t->world, j->codes));
    irist_ok(j->t, iris_free(j->t->world, j->weight));
    irist_ok(j->t, iris_free(j->t->world, j->out));
    for (int which = ORACLE_RESIDUAL; which >= ORACLE_A; which--)
        irist_ok(j->t, iris_free(j->t->world, j->memory[which] - (which == ORACLE_C ? BEFORE_C : 0)));
    oracle_free(&j->question);
}

/* C's memory with this C in it, and poison before and behind that. */
static std::vector<unsigned char> around(const job *j, const std::vector<unsigned char> &c)
{
    std::vector<unsigned char> all = irist_poisoned(BEFORE_C + j->c_bytes);
    std::copy(c.begin(), c.end(), all.begin() + BEFORE_C);
    return all;
}

/* Poison in out, codes and scales, in the workspace, and in C but for what beta reads there: returns C. */
static std::vector<unsigned char> poison(job *j)
{
    std::vector<unsigned char> before(oracle_bytes(&j->question, ORACLE_C, j->t->rank));
    oracle_before(&j->question, j->t->rank, before.data());
    irist_upload(j->t, j->memory[ORACLE_C] - BEFORE_C, around(j, before));
    irist_upload(j->t, j->out, irist_poisoned(out_bytes(j, 0)));
    irist_upload(j->t, j->codes, irist_poisoned(codes_bytes(j)));
    irist_upload(j->t, j->row_scales, irist_poisoned(row_scales_bytes(j)));
    const iris_gemm_args g = args_of(j);
    const size_t room = iris_gemm_workspace_bytes(j->t->world, IRIS_GEMM_ALL_REDUCE_RMSNORM, j->types->dtype, &g);
    irist_check(j->t, room > 0, "%s", iris_error_string(j->t->world));
    irist_ok(j->t, iris_memset(j->t->world, j->plan.exchange.workspace, 0xff, room));
    irist_meet(j->t); /* nobody's poison comes after another's sums */
    return before;
}

/*
 * The norms of row i: a sum of squares, a root and products in double precision. `c`: what the rank's C holds.
 * `most_off`: how far each may be from what f32 gives, for a norm of 1: half a unit of each square, and a few of the
 * root and the products.
 */
static std::vector<double> norms_of(const job *j, const std::vector<unsigned char> &c, int64_t i, double *most_off)
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
    for (int64_t k = 0; k < q->n; k++)
        x[(size_t)k] = x[(size_t)k] / std::sqrt(squares / (double)q->n + (double)j->o.epsilon) * weight_at(j, k);
    *most_off = ((double)q->n / 2 + 16) * std::ldexp(1, -24);
    return x;
}

/* Row i of out. */
static bool row_right(job *j, const std::vector<unsigned char> &c, const std::vector<unsigned char> &out, int64_t i,
                      const char *how)
{
    const oracle *q = &j->question;
    const iris_dtype dtype = j->types->dtype;
    double off;
    const std::vector<double> norms = norms_of(j, c, i, &off);
    for (int64_t k = 0; k < q->n; k++) {
        const double want = norms[(size_t)k];
        const double got = element_get(dtype, &out[(size_t)(i * j->ldout + k) * iris_dtype_bytes(dtype)]);
        const double most = element_half_unit(dtype, std::fabs(want) * 1.0001) + std::fabs(want) * off;
        if (!irist_check(j->t, std::fabs(got - want) <= most, "%s %s %lldx%lldx%lld, %s: out[%lld][%lld] is %.9g, not "
                         "%.9g", how, j->types->name, (long long)q->m, (long long)q->n, (long long)j->s.k, j->o.name,
                         (long long)i, (long long)k, got, want))
            return false;
    }
    return true;
}

/*
 * Row i of the codes and its scale: the largest norm over the largest code, and the norms over that, rounded to the
 * type; where a quotient that is off by as much as one of f32 may be rounds to either of two codes, both are right.
 */
static bool row_quantized(job *j, const std::vector<unsigned char> &c, const std::vector<unsigned char> &codes,
                          double scale, int64_t i, const char *how)
{
    const oracle *q = &j->question;
    double off, largest = 0;
    const std::vector<double> norms = norms_of(j, c, i, &off);
    for (const double y : norms)
        largest = std::fmax(largest, std::fabs(y));
    const double want_scale = std::fmax(largest, std::ldexp(1, -100)) / (j->o.quant == IRIS_F8E4M3 ? 448 : 240);
    off += std::ldexp(8, -24);
    if (!irist_check(j->t, std::fabs(scale - want_scale) <= want_scale * off,
                     "%s %s %lldx%lld, %s: the scale of row %lld is %.9g, not %.9g", how, j->types->name,
                     (long long)q->m, (long long)q->n, j->o.name, (long long)i, scale, want_scale))
        return false;
    for (int64_t k = 0; k < q->n; k++) {
        const double want = norms[(size_t)k] / want_scale, near = want * (1 - 2 * off), far = want * (1 + 2 * off);
        const double one = element_round(j->o.quant, near), other = element_round(j->o.quant, far);
        const double got = element_get(j->o.quant, &codes[(size_t)(i * j->ldcodes + k)]);
        if (!irist_check(j->t, got == one || got == other, "%s %s %lldx%lld, %s: the code of [%lld][%lld] is of %g, "
                         "not of %g or %g", how, j->types->name, (long long)q->m, (long long)q->n, j->o.name,
                         (long long)i, (long long)k, got, one, other))
            return false;
        const double most = std::fmax(std::fabs(norms[(size_t)k]) / 16, scale * std::ldexp(1, -10)) * 1.001;
        if (!irist_check(j->t, std::fabs(got * scale - norms[(size_t)k]) <= most,
                         "%s, %s: [%lld][%lld] times its scale is %.9g, far from %.9g", how, j->o.name, (long long)i,
                         (long long)k, got * scale, norms[(size_t)k]))
            return false;
    }
    return true;
}

/* Codes and scales, and what stands between and behind them: adds both to `bits`. */
static void quantized_right(job *j, const std::vector<unsigned char> &c, std::vector<unsigned char> *bits,
                            const char *how)
{
    const std::vector<unsigned char> codes = irist_download(j->t, j->codes, codes_bytes(j));
    const std::vector<unsigned char> bytes = irist_download(j->t, j->row_scales, row_scales_bytes(j));
    const std::vector<unsigned char> codes_before = irist_poisoned(codes.size());
    const std::vector<unsigned char> scales_before = irist_poisoned(bytes.size());
    const int wanted = j->o.quant != IRIS_DTYPE_NONE;
    const size_t rows = wanted ? (size_t)j->s.m : 0, n = wanted ? (size_t)j->s.n : 0;
    for (size_t i = 0; i < rows; i++) {
        float scale;
        std::memcpy(&scale, &bytes[i * sizeof scale], sizeof scale);
        if (!row_quantized(j, c, codes, (double)scale, (int64_t)i, how))
            break;
    }
    for (size_t i = 0; i < (size_t)(j->s.m + j->spare); i++) {
        const size_t end = i * (size_t)j->ldcodes + (i < rows ? n : 0), next = (i + 1) * (size_t)j->ldcodes;
        irist_check(j->t, std::memcmp(codes.data() + end, codes_before.data() + end, next - end) == 0,
                    "%s, %s: row %d of the codes was written beyond its end", how, j->o.name, (int)i);
    }
    const size_t end = rows * sizeof(float);
    irist_check(j->t, std::memcmp(bytes.data() + end, scales_before.data() + end, bytes.size() - end) == 0,
                "%s, %s: scales beyond the last row's were written", how, j->o.name);
    bits->insert(bits->end(), codes.begin(), codes.end());
    bits->insert(bits->end(), bytes.begin(), bytes.end());
}

/* C, once nothing was written before or behind it. */
static std::vector<unsigned char> c_of(job *j, size_t bytes, const char *how)
{
    const std::vector<unsigned char> all = irist_download(j->t, j->memory[ORACLE_C] - BEFORE_C, BEFORE_C + j->c_bytes);
    const std::vector<unsigned char> c(all.begin() + BEFORE_C, all.begin() + BEFORE_C + (std::ptrdiff_t)bytes);
    irist_check(j->t, all == around(j, c), "%s, %s: memory before or behind C was written", how, j->o.name);
    return c;
}

/* All rows of C, as far apart as this rank's, of which each rank has its own. */
static std::vector<unsigned char> rows_of_all(job *j, const std::vector<unsigned char> &c)
{
    const oracle *q = &j->question;
    const size_t size = iris_dtype_bytes(j->types->dtype), row = (size_t)q->n * size;
    const size_t pitch = (size_t)q->ldc[j->t->rank] * size, most = (size_t)oracle_part(q->m, q->world, 0).count * row;
    std::vector<unsigned char> mine(most), all((size_t)q->world * most), whole((size_t)q->m * pitch);
    for (int64_t i = 0; i < oracle_part(q->m, q->world, j->t->rank).count; i++)
        std::memcpy(&mine[(size_t)i * row], &c[(size_t)i * pitch], row);
    irist_ok(j->t, iris_allgather(j->t->world, mine.data(), all.data(), most));
    for (int r = 0; r < q->world; r++) {
        const oracle_range rows = oracle_part(q->m, q->world, r);
        for (int64_t i = 0; i < rows.count; i++)
            std::memcpy(&whole[(size_t)(rows.first + i) * pitch], &all[(size_t)r * most + (size_t)i * row], row);
    }
    return whole;
}

/* C, out and codes, what stands between their rows, and that all ranks have the same: returns all but C. */
static std::vector<unsigned char> right(job *j, const std::vector<unsigned char> &before, const char *how)
{
    irist_rank *t = j->t;
    const size_t size = iris_dtype_bytes(j->types->dtype), row = (size_t)j->ldout * size;
    std::vector<unsigned char> c = c_of(j, before.size(), how);
    std::vector<unsigned char> out = irist_download(t, j->out, out_bytes(j, 0));
    const std::vector<unsigned char> poisoned = irist_poisoned(out.size());
    oracle_wrong wrong;
    if (j->o.stored)
        irist_check(t, oracle_right(&j->question, t->rank, c.data(), before.data(), &wrong),
                    "%s %s %lldx%lldx%lld, %s: %s", how, j->types->name, (long long)j->s.m, (long long)j->s.n,
                    (long long)j->s.k, j->o.name, wrong.text);
    else
        irist_check(t, c == before, "%s, %s: a C that is not the call's was written", how, j->o.name);
    if (j->o.own_rows)
        c = rows_of_all(j, c);
    irist_check(t, !j->o.alone || out == poisoned, "%s, %s: an out that is not the call's was written", how, j->o.name);
    for (int64_t i = 0; !j->o.alone && i < j->s.m && row_right(j, c, out, i, how); i++) {
        const size_t end = (size_t)i * row + (size_t)j->s.n * size, next = (size_t)(i + 1) * row;
        irist_check(t, std::memcmp(&out[0] + end, &poisoned[0] + end, next - end) == 0,
                    "%s, %s: row %lld of out was written beyond its end", how, j->o.name, (long long)i);
    }
    quantized_right(j, c, &out, how);
    uint64_t sum = 0, all[ORACLE_RANKS];
    for (const unsigned char byte : out)
        sum = sum * 0x100000001B3u + byte;
    for (size_t i = 0; j->o.stored && !j->o.own_rows && i < c.size(); i++)
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

/* What one launch of a plan that chooses leaves of C and, if the operation has norms, elsewhere. */
struct left {
    std::vector<unsigned char> c, out;
};
static left by_launch(job *j, launcher launch, const char *how)
{
    left l;
    const std::vector<unsigned char> before = poison(j);
    irist_ok(j->t, launch(j->t->world, &j->plan, nullptr));
    irist_ok(j->t, iris_synchronize(j->t->world));
    l.c = c_of(j, before.size(), how);
    if (j->plan.op == IRIS_GEMM_ALL_REDUCE_RMSNORM)
        l.out = right(j, before, how);
    return l;
}

/*
 * C of a plan for the same by reduce_scatter. It is to be that of sequence_parallel, whose norms of all rows `right`
 * compares with a norm of just that C, gathered from all ranks.
 */
static std::vector<unsigned char> scattered(job *j)
{
    iris_gemm_args g = args_of(j);
    std::vector<unsigned char> c;
    g.out = g.quant_out = g.scale_out = nullptr, g.weight = nullptr, g.epsilon = 0, g.quant_dtype = IRIS_DTYPE_NONE;
    g.ldout = g.ldquant_out = 0, g.sequence_parallel = 0, g.tune = "model";
    irist_ok(j->t, iris_gemm_release(j->t->world, &j->plan));
    if (irist_ok(j->t, iris_gemm_prepare(j->t->world, &j->plan, IRIS_GEMM_REDUCE_SCATTER, j->types->dtype, &g)) &&
        irist_ok(j->t, iris_gemm_set_rows(j->t->world, &j->plan, j->s.m)))
        c = by_launch(j, iris_gemm_reduce_scatter_f32, "reduce_scatter").c;
    return c;
}

/* One problem with own rows, with C on every rank, and by reduce_scatter: the same bits. */
static void compare(irist_rank *t, const shape &s, const options &o, int spare)
{
    const kind *types = &kinds[1];
    options on_all = o;
    on_all.own_rows = 0;
    job own, all;
    left l, whole;
    std::vector<unsigned char> c;
    if (create(&own, t, types, s, o, spare) && prepare(&own)) {
        l = by_launch(&own, types->by[0], "own rows");
        if (o.stored)
            c = scattered(&own);
    }
    release(&own);
    if (create(&all, t, types, s, on_all, spare) && prepare(&all))
        whole = by_launch(&all, types->by[0], "C on every rank");
    release(&all);
    irist_check(t, !o.stored || l.c == c, "%lldx%lldx%lld, %s: C is not that of reduce_scatter", (long long)s.m,
                (long long)s.n, (long long)s.k, o.name);
    irist_check(t, l.out == whole.out, "%lldx%lldx%lld, %s: norms or codes are not those of a C on every rank",
                (long long)s.m, (long long)s.n, (long long)s.k, o.name);
}

/* Inputs that are exact alone where a GPU may add up K of two plans in two orders. */
static void compare_work(irist_rank *t)
{
    int turn = 0;
    for (const shape &s : shapes)
        for (const options &o : sequence_parallel)
#if !defined(IRIS_TARGET_HOST)
            if (!o.real)
#endif
                if (turn++, (t->full && !irist_slow()) || turn % 5 == 0)
                    compare(t, s, o, turn % 2 ? 5 : 0);
}

TEST_CASE("own rows alone give the C of reduce_scatter, and all norms", "[gemm]")
{
    irist_spmd(compare_work, nullptr);
}

static void own_rows_work(irist_rank *t)
{
    const int all = t->full && !irist_slow();
    int turn = 0;
    for (const kind &types : kinds)
        for (const shape &s : shapes)
            for (const options &o : sequence_parallel)
                if (turn++, all || turn % 5 == 0)
                    every_pattern(t, &types, s, o, (int)irist_pick(t->seed, 80, (uint64_t)turn, 2));
}

TEST_CASE("sequence_parallel reads and writes own rows of the residual stream alone", "[gemm]")
{
    irist_spmd(own_rows_work, nullptr);
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

static void quantized_work(irist_rank *t)
{
    const int all = t->full && !irist_slow();
    int turn = 0;
    for (const kind &types : kinds)
        for (const shape &s : shapes)
            for (const options &o : quantized)
                if (turn++, all || turn % 5 == 0)
                    every_pattern(t, &types, s, o, (int)irist_pick(t->seed, 79, (uint64_t)turn, 2));
}

TEST_CASE("all_reduce_rmsnorm quantises each row by its largest norm, with the same bits on every rank", "[gemm]")
{
    irist_spmd(quantized_work, nullptr);
}

static void blas_work(irist_rank *t)
{
    static const struct {
        const options *o;
        int shape, packets;
    } turns[] = {{&variants[1], 4, 0},  {&quantized[1], 4, 0}, {&sequence_parallel[0], 4, 0}, {&variants[1], 4, 1},
                 {&quantized[1], 4, 1}, {&variants[2], 2, 1}}; /* the last: sums stay in registers on the host, too */
    for (const auto &turn : turns) {
        job j;
        const bool made = create(&j, t, &kinds[1], shapes[turn.shape], *turn.o);
        j.by_blas = 1, j.put = !turn.packets;
        if (made && prepare(&j)) {
            const bool banks = j.plan.exchange.ll.banks != nullptr;
            uint64_t epochs[2] = {0, 0}; /* of packets, before and after */
            irist_check(t, banks == (turn.packets && t->ranks > 1), "%d ranks: banks %d", t->ranks, banks);
            const std::vector<unsigned char> before = poison(&j);
            for (int i = 0; i < 2; i++) {
                if (i == 1) {
                    irist_ok(t, kinds[1].by[0](t->world, &j.plan, nullptr));
                    irist_ok(t, iris_synchronize(t->world));
                }
                if (banks)
                    irist_ok(t, iris_memcpy(t->world, epochs + i, j.plan.exchange.ll.state + IRISI_EPOCH, 8));
            }
            irist_check(t, epochs[1] == epochs[0] + (banks ? 1 : 0), "packets were sent %d times",
                        (int)(epochs[1] - epochs[0]));
            right(&j, before, "blas_gather");
            irist_check(t, j.blas.calls == 1, "the caller's BLAS was called %d times", j.blas.calls);
        }
        release(&j);
    }
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
    std::fill_n(&host[M + N], M * N, 9.0f); /* out: nothing that is expected */
    g.m = M, g.n = N, g.k = t->rank == 0, g.a = memory, g.b = memory + M, g.out = memory + M + N;
    g.weight = memory + M + N + M * N;
    irist_ok(t, iris_memcpy(t->world, memory, host.data(), host.size() * sizeof(float)));
    const size_t data = iris_heap_used(t->world, IRIS_MEM_DATA), sync = iris_heap_used(t->world, IRIS_MEM_SYNC);
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
        irist_check(
            t, iris_heap_used(t->world, IRIS_MEM_DATA) == data && iris_heap_used(t->world, IRIS_MEM_SYNC) == sync,
            "the plan has left something in the heap");
    }
    irist_ok(t, iris_free(t->world, memory));
}

TEST_CASE("all_reduce_rmsnorm makes nothing up where squares overflow", "[gemm]")
{
    irist_spmd(overflow_work, nullptr);
}

/*
 * What a row of which there is no ordinary scale becomes: a row of zeros, of norms below 2^-100, of an infinity, and
 * one whose squares overflow; and one whose largest norm is negative. Rank 0 has all of K.
 */
static void odd_rows_work(irist_rank *t)
{
    enum { ONES, ZEROS, TINY, INFINITE, OVERFLOWS, NEGATIVE, M, N = 24 };
    const double largest[] = {448, 240};
    float *memory = iris_zeros_f32(t->world, M + N + M * N + N + M * N / 4 + M);
    float *c = memory + M + N, *weight = c + M * N, *row_scales = weight + N;
    uint8_t *codes = (uint8_t *)(row_scales + M);
    for (int turn = 0; turn < 4; turn++) {
        const iris_dtype quant = turn % 2 ? IRIS_F8E4M3FNUZ : IRIS_F8E4M3;
        const float least = (float)(std::ldexp(1, -100) / largest[turn % 2]);
        std::vector<float> host(M + N + M * N + N, 0.0f), got(M);
        std::vector<uint8_t> bytes(M * N);
        host[ONES] = 1, host[TINY] = 1e-35f, host[INFINITE] = HUGE_VALF, host[OVERFLOWS] = 1e20f, host[NEGATIVE] = 1;
        for (size_t i = 0; i < N; i++)
            host[M + i] = 1, host[M + N + M * N + i] = i == 1 ? -2.0f : 1.0f;
        iris_gemm_plan plan;
        iris_gemm_args g = {};
        g.m = M, g.n = N, g.k = t->rank == 0, g.a = memory, g.b = memory + M, g.c = c, g.weight = weight;
        g.quant_out = codes, g.scale_out = row_scales, g.quant_dtype = quant, g.epsilon = 1;
        g.tune = turn < 2 ? "model" : "op=all_reduce_rmsnorm ll=0";
        irist_ok(t, iris_memcpy(t->world, memory, host.data(), host.size() * sizeof(float)));
        irist_upload(t, row_scales, irist_poisoned(M * sizeof(float) + M * N)); /* and the codes behind them */
        if (!irist_ok(t, iris_gemm_prepare(t->world, &plan, IRIS_GEMM_ALL_REDUCE_RMSNORM, IRIS_F32, &g)))
            break;
        irist_ok(t, iris_gemm_all_reduce_rmsnorm_f32(t->world, &plan, nullptr));
        irist_ok(t, iris_synchronize(t->world));
        irist_ok(t, iris_memcpy(t->world, got.data(), row_scales, M * sizeof(float)));
        irist_ok(t, iris_memcpy(t->world, bytes.data(), codes, M * N));
        for (size_t row = 0; row < M; row++) {
            const double norm = row == ONES || row == NEGATIVE ? std::sqrt(0.5) : row == TINY ? 1e-35 : 0;
            const float scale = norm > 0.5 ? (float)(2 * norm / largest[turn % 2]) : least;
            irist_check(t, row == INFINITE ? std::isnan(got[row]) : std::fabs(got[row] / scale - 1) < 1e-6f,
                        "the scale of row %d is %g, not %g", (int)row, (double)got[row], (double)scale);
            for (size_t i = 0; i < N; i++) {
                const double want = element_round(quant, norm * (i == 1 ? -2 : 1) / (double)scale);
                const double code = element_get(quant, &bytes[row * N + i]);
                irist_check(t, row == INFINITE ? std::isnan(code) : code == want,
                            "row %d: the code of %d is of %g, not of %g", (int)row, (int)i, code, want);
            }
        }
        irist_ok(t, iris_gemm_release(t->world, &plan));
    }
    irist_ok(t, iris_free(t->world, memory));
}

TEST_CASE("rows without an ordinary scale do not poison what reads their codes", "[gemm]")
{
    irist_spmd(odd_rows_work, nullptr);
}
