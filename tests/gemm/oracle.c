/* SPDX-License-Identifier: MIT */
/*
 * oracle.c: the oracle of GEMMs with communication (oracle.h) against formulas that are written for one operation each,
 * element by element, from what a rank has in its memory; and against numbers that were added up by hand.
 *
 * Each formula is also made wrong in the ways that an operation can be: the oracle must notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"

static unsigned failures;

static void expect(int right, const char *what, const char *text)
{
    if (!right && failures++ < 20)
        printf("%s%s%s\n", what, text[0] ? ": " : "", text);
}

/* A rank's memory: inputs as the oracle fills them, and its C. */
typedef struct memory {
    unsigned char *a, *b, *c, *before, *residual, *bias, *scale_a, *scale_b, *scale_c;
} memory;

static unsigned char *filled(const oracle *p, oracle_matrix which, int rank)
{
    unsigned char *bytes = (unsigned char *)malloc(oracle_bytes(p, which, rank) + 1);
    oracle_fill(p, which, rank, bytes);
    return bytes;
}

static memory memory_of(const oracle *p, int rank)
{
    memory s;
    s.a = filled(p, ORACLE_A, rank), s.b = filled(p, ORACLE_B, rank), s.residual = filled(p, ORACLE_RESIDUAL, rank);
    s.bias = filled(p, ORACLE_BIAS, rank), s.scale_a = filled(p, ORACLE_SCALE_A, rank);
    s.scale_b = filled(p, ORACLE_SCALE_B, rank), s.scale_c = filled(p, ORACLE_SCALE_C, rank);
    s.c = filled(p, ORACLE_C, rank), s.before = filled(p, ORACLE_C, rank);
    oracle_before(p, rank, s.before);
    memcpy(s.c, s.before, oracle_bytes(p, ORACLE_C, rank));
    return s;
}

static void forget(memory *s)
{
    free(s->a), free(s->b), free(s->c), free(s->before), free(s->residual), free(s->bias);
    free(s->scale_a), free(s->scale_b), free(s->scale_c);
}

/* What a formula does wrong. */
typedef enum mistake {
    RIGHT,
    SLOT_TWICE,      /* a slot is added twice */
    SLOT_MISSING,    /* the last rank's is not added */
    SLOT_UNROUNDED,  /* a partial is added as it was in the accumulator */
    ORDER_TURNED,    /* the last rank's is added first */
    NEIGHBOURS_C,    /* beta reads another rank's C */
    BIAS_EACH,       /* each rank adds the bias */
    ALPHA_EACH,      /* alpha multiplies partials, and the sum once more */
    SCALES_OF_FIRST, /* the scales of rank 0 for every partial */
    ACT_EACH,        /* partials go through the activation */
    SHARD_TURNED,    /* A's rows come from the next rank's shard */
    BAND_SHIFTED,    /* a band is one column further right */
    GATE_LAST,       /* SwiGLU takes the second of a pair for the gate */
    BORDER           /* the element behind a row is written */
} mistake;

static double at(const unsigned char *p, iris_dtype dtype, int64_t i)
{
    return element_get(dtype, p + (size_t)i * iris_dtype_bytes(dtype));
}

/* The operation on one or more ranks' memory, as plainly as it can be said: one element after the other. */
typedef struct naive {
    const oracle *p;
    memory *ranks;
    mistake wrong;
} naive;

static int64_t pitch(int64_t given, int64_t least) { return given ? given : least; }

/* Rank r's sum of A's row i and B's column j, both as they are numbered in that rank's memory. */
static double naive_product(const naive *q, int r, int from, int64_t i, int64_t j)
{
    const oracle *p = q->p;
    const int split = p->op == ORACLE_REDUCE_SCATTER || p->op == ORACLE_ALL_REDUCE;
    const int64_t k = p->k[split ? r : 0];
    const int64_t rows = p->op == ORACLE_ALL_GATHER ? oracle_part(p->m, p->world, from).count : p->m;
    const int64_t columns =
        p->op == ORACLE_ALL_SCATTER || p->op == ORACLE_ALL_GATHER ? oracle_band(p->n, p->world, r).count : p->n;
    const int64_t lda = pitch(p->lda[from], p->a_transposed ? rows : k);
    const int64_t ldb = pitch(p->ldb[r], p->b_transposed ? k : columns);
    const int scaled = q->wrong == SCALES_OF_FIRST ? 0 : r;
    double sum = 0;
    for (int64_t at_k = 0; at_k < k; at_k++)
        sum += at(q->ranks[from].a, p->dtype, p->a_transposed ? at_k * lda + i : i * lda + at_k) *
               at(q->ranks[r].b, p->dtype, p->b_transposed ? j * ldb + at_k : at_k * ldb + j);
    if (p->scales) /* those of A are by the row of the whole C */
        sum *= at(q->ranks[scaled].scale_a, IRIS_F32,
                  p->scales == 1 ? 0 : i + (p->op == ORACLE_ALL_GATHER ? oracle_part(p->m, p->world, from).first : 0)) *
               at(q->ranks[scaled].scale_b, IRIS_F32, p->scales == 1 ? 0 : j);
    return sum;
}

static double naive_act(const oracle *p, double x)
{
    return p->activation == IRIS_ACTIVATION_RELU && x < 0 ? 0
           : p->activation == IRIS_ACTIVATION_SILU       ? x / (1 + exp(-x))
                                                         : x;
}

/* The sum over ranks at i, j of the whole x. */
static double naive_sum(const naive *q, int64_t i, int64_t j)
{
    const oracle *p = q->p;
    const iris_dtype slot = p->slot_dtype ? p->slot_dtype : p->c_dtype;
    float f = 0;
    double d = 0;
    if (p->op == ORACLE_LOCAL)
        return naive_product(q, 0, 0, i, j);
    if (p->op == ORACLE_ALL_SCATTER || p->op == ORACLE_ALL_GATHER) {
        int r = 0, from = 0;
        j += q->wrong == BAND_SHIFTED && j + 1 < p->n;
        while (oracle_band(p->n, p->world, r).first + oracle_band(p->n, p->world, r).count <= j)
            r++;
        if (p->op == ORACLE_ALL_GATHER) {
            while (oracle_part(p->m, p->world, from).first + oracle_part(p->m, p->world, from).count <= i)
                from++;
            i -= oracle_part(p->m, p->world, from).first;
            if (q->wrong == SHARD_TURNED && i < oracle_part(p->m, p->world, (from + 1) % p->world).count)
                from = (from + 1) % p->world;
        }
        return naive_product(q, r, from, i, j - oracle_band(p->n, p->world, r).first);
    }
    for (int turn = 0; turn < p->world + (q->wrong == SLOT_TWICE); turn++) {
        const int last = p->world - 1, r = q->wrong == ORDER_TURNED ? (turn + last) % p->world : turn % p->world;
        double partial = naive_product(q, r, r, i, j);
        if (q->wrong == SLOT_MISSING && r == last)
            continue;
        if (q->wrong == ALPHA_EACH)
            partial *= p->alpha;
        if (q->wrong == ACT_EACH)
            partial = naive_act(p, partial);
        if (q->wrong != SLOT_UNROUNDED)
            partial = element_round(slot, partial);
        if (q->wrong == BIAS_EACH && p->bias)
            partial += at(q->ranks[r].bias, p->bias_dtype, j);
        d += partial, f += (float)partial;
    }
    return p->dtype == IRIS_F64 || p->dtype == IRIS_I8 ? d : (double)f;
}

static int naive_owner(const void *arg, int64_t row, int64_t column)
{
    return (int)((row / 2 + column / 3) % *(const int *)arg);
}

/* Who owns a place of the whole C, as seen by a rank. */
static int naive_whose(const oracle *p, int rank, int64_t i, int64_t j)
{
    int r = 0;
    switch (p->op) {
    case ORACLE_ALL_SCATTER:
        while (oracle_band(p->n, p->world, r).first + oracle_band(p->n, p->world, r).count <= j)
            r++;
        return r;
    case ORACLE_ALL_REDUCE: return naive_owner(&p->world, i, j);
    default: return rank;
    }
}

static double naive_x(const naive *q, int rank, int64_t i, int64_t j)
{
    const oracle *p = q->p;
    const int64_t row0 = p->op == ORACLE_REDUCE_SCATTER ? oracle_part(p->m, p->world, rank).first : 0;
    const int64_t column0 = p->op == ORACLE_ALL_GATHER ? oracle_band(p->n, p->world, rank).first : 0;
    const int64_t columns = p->op == ORACLE_ALL_GATHER ? oracle_band(p->n, p->world, rank).count : p->n;
    int owner = naive_whose(p, rank, i, j);
    double x = (p->alpha ? p->alpha : 1) * naive_sum(q, i, j);
    int64_t row = i - row0;
    if (q->wrong == NEIGHBOURS_C) {
        owner = (owner + 1) % p->world;
        if (p->op == ORACLE_REDUCE_SCATTER) /* it may have fewer rows */
            row %= oracle_part(p->m, p->world, owner).count;
    }
    if (p->beta != 0) {
        const int64_t ld = p->residual ? pitch(p->ldr[owner], columns) : pitch(p->ldc[owner], columns);
        x += p->beta * at(p->residual ? q->ranks[owner].residual : q->ranks[owner].before, p->c_dtype,
                          row * ld + (j - column0));
    }
    if (p->bias && q->wrong != BIAS_EACH) {
        const int whose = naive_whose(p, rank, i, j);
        const int banded = p->op == ORACLE_ALL_SCATTER || p->op == ORACLE_ALL_GATHER;
        x += at(q->ranks[whose].bias, p->bias_dtype, j - (banded ? oracle_band(p->n, p->world, whose).first : 0));
    }
    return x;
}

/* A rank's C, by the formula. */
static void naive_compute(const naive *q, int rank)
{
    const oracle *p = q->p;
    const oracle_block block = oracle_block_of(p, ORACLE_C, rank);
    const double last = p->scales ? at(q->ranks[rank].scale_c, IRIS_F32, 0) : 1;
    const size_t size = iris_dtype_bytes(p->c_dtype);
    for (int64_t i = 0; i < block.rows.count; i++)
        for (int64_t j = 0; j < block.columns.count; j++) {
            const int64_t row = i + block.rows.first, column = j + block.columns.first;
            double v;
            if (p->swiglu) {
                const int gate = q->wrong == GATE_LAST;
                v = naive_act(p, naive_x(q, rank, row, 2 * column + gate)) * naive_x(q, rank, row, 2 * column + !gate);
            } else {
                v = naive_act(p, naive_x(q, rank, row, column));
            }
            element_set(p->c_dtype, q->ranks[rank].c + (size_t)(i * block.ld + j) * size, v * last);
        }
    if (q->wrong == BORDER && block.rows.count > 0 && block.ld > block.columns.count)
        q->ranks[rank].c[(size_t)block.columns.count * size] ^= 1;
}

/* Behind a C that was right: another one of its middle row is wrong, in that row; and the first is right again. */
static void changed(const oracle *p, int rank, memory *s)
{
    const oracle_block block = oracle_block_of(p, ORACLE_C, rank);
    const size_t size = iris_dtype_bytes(p->c_dtype), row = (size_t)block.rows.count / 2;
    unsigned char *value = s->c + (row * (size_t)block.ld + (size_t)block.columns.count / 2) * size;
    unsigned char kept[8];
    oracle_wrong found;
    if (block.rows.count == 0 || block.columns.count == 0)
        return;
    memcpy(kept, value, size);
    element_set(p->c_dtype, value, element_get(p->c_dtype, value) == 0 ? 100 : 0);
    if (iris_dtype_bytes(p->c_dtype) > 1 && !p->beta) { /* what beta adds may be any of several ranks' */
        expect(!oracle_right(p, rank, s->c, s->before, &found), "another C behind a right one", "goes unnoticed");
        expect(found.row == block.rows.first + (int64_t)row, "another C behind a right one", "in another row");
    }
    memcpy(value, kept, size);
    expect(oracle_right(p, rank, s->c, s->before, &found), "the C that was right", "is not any more");
}

/* Whether the oracle finds every rank's C right. */
static int judged(const oracle *p, mistake wrong, char *text)
{
    memory ranks[ORACLE_RANKS];
    naive q;
    int right = 1;
    q.p = p, q.ranks = ranks, q.wrong = wrong;
    for (int r = 0; r < p->world; r++)
        ranks[r] = memory_of(p, r);
    for (int r = 0; r < p->world; r++) {
        oracle_wrong found;
        naive_compute(&q, r);
        const int good = oracle_right(p, r, ranks[r].c, ranks[r].before, &found);
        if (!good && right)
            right = 0, memcpy(text, found.text, sizeof found.text);
        if (good)
            changed(p, r, &ranks[r]);
    }
    for (int r = 0; r < p->world; r++)
        forget(&ranks[r]);
    return right;
}

static oracle question(oracle_op op, int world, int64_t m, int64_t n, int64_t k, iris_dtype dtype)
{
    oracle p;
    memset(&p, 0, sizeof p);
    p.op = op, p.world = op == ORACLE_LOCAL ? 1 : world, p.m = m, p.n = n, p.seed = 5;
    for (int r = 0; r < world; r++) /* of all lengths, and none of the last of several */
        p.k[r] = op != ORACLE_REDUCE_SCATTER && op != ORACLE_ALL_REDUCE ? k
                 : r > 1 && r == world - 1                             ? 0
                                                                       : k + 3 * r;
    p.dtype = p.c_dtype = p.bias_dtype = p.slot_dtype = dtype;
    if (dtype == IRIS_I8)
        p.c_dtype = p.bias_dtype = p.slot_dtype = IRIS_I32;
    return p;
}

static const char *const names[] = {"local", "all_scatter", "reduce_scatter", "all_reduce", "all_gather"};

/* Everything that a description has, in turns. */
static void vary(oracle *p, int turn)
{
    const int unequal = turn % 2;
    for (int r = 0; r < p->world; r++) {
        const oracle_block a = oracle_block_of(p, ORACLE_A, r), b = oracle_block_of(p, ORACLE_B, r);
        p->lda[r] = unequal ? (a.transposed ? a.rows.count : a.columns.count) + 1 + r : 0;
        p->ldb[r] = unequal ? (b.transposed ? b.rows.count : b.columns.count) + 2 + r : 0;
        p->ldc[r] = unequal ? p->n + 3 : 0, p->ldr[r] = unequal ? p->n + 5 : 0;
    }
    p->alpha = turn % 3 == 1 ? 0.5 : turn % 3 == 2 && !element_whole(p->c_dtype) ? -2 : 0;
    if (element_whole(p->c_dtype))
        p->alpha = turn % 3;
    p->beta = p->swiglu ? 0 : turn % 4 == 1 ? 2 : turn % 4 == 3 ? -1 : 0;
    p->residual = p->beta != 0 && turn % 8 > 4;
    p->bias = turn % 5 > 1;
    p->scales = element_whole(p->c_dtype) ? 0 : turn % 3;
    p->activation = turn % 7 == 2 ? IRIS_ACTIVATION_RELU : turn % 7 == 5 && !element_whole(p->c_dtype)
                                                               ? IRIS_ACTIVATION_SILU
                                                               : IRIS_ACTIVATION_NONE;
    p->real = turn % 6 == 4 && !element_whole(p->c_dtype);
}

/* Every operation, on every number of ranks, of any shape: what the formula gives is right. */
static void formulas(void)
{
    static const int64_t shapes[][3] = {{1, 1, 1}, {5, 3, 1}, {2, 34, 7}, {7, 18, 33}, {13, 66, 5}, {3, 40, 0}};
    static const iris_dtype types[] = {IRIS_F32, IRIS_F64, IRIS_F16, IRIS_BF16, IRIS_I8};
    static const int worlds[] = {1, 2, 3, 4, 8};
    int turn = 0;
    for (int op = ORACLE_LOCAL; op <= ORACLE_ALL_GATHER; op++)
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++)
            for (size_t t = 0; t < sizeof types / sizeof types[0]; t++)
                for (size_t w = 0; w < sizeof worlds / sizeof worlds[0]; w++, turn++) {
                    char text[160] = "", what[160];
                    oracle p = question((oracle_op)op, worlds[w], shapes[s][0], shapes[s][1], shapes[s][2], types[t]);
                    p.a_transposed = turn % 5 == 3, p.b_transposed = turn % 3 == 1;
                    p.swiglu = turn % 4 == 2 && p.n % 2 == 0;
                    p.owner = naive_owner, p.owner_arg = &p.world;
                    vary(&p, turn);
                    snprintf(what, sizeof what, "%s, %d ranks, %lldx%lldx%lld of %s, turn %d", names[op], p.world,
                             (long long)p.m, (long long)p.n, (long long)p.k[0], iris_dtype_name(p.dtype), turn);
                    expect(oracle_create(&p) == 0, what, "was refused");
                    expect(judged(&p, RIGHT, text), what, text);
                    oracle_free(&p);
                }
}

/* A formula that is wrong is found wrong. `p`: what shows it. */
static void noticed(oracle p, mistake wrong, const char *what)
{
    char text[160] = "";
    p.owner = naive_owner, p.owner_arg = &p.world;
    expect(oracle_create(&p) == 0, what, "was refused");
    expect(judged(&p, RIGHT, text), what, text);
    expect(!judged(&p, wrong, text), what, "goes unnoticed");
    oracle_free(&p);
}

static void mistakes(void)
{
    for (int world = 2; world <= 4; world++)
        for (int op = ORACLE_REDUCE_SCATTER; op <= ORACLE_ALL_REDUCE; op++)
            for (int real = 0; real < 2; real++) {
                oracle p = question((oracle_op)op, world, 9, 20, 40, IRIS_BF16);
                p.real = real;
                p.k[world - 1] = 24;
                noticed(p, SLOT_TWICE, "a slot that is added twice");
                noticed(p, SLOT_MISSING, "a slot that is not added");
                p.beta = 2;
                noticed(p, NEIGHBOURS_C, "another rank's C");
                p.residual = 1;
                noticed(p, NEIGHBOURS_C, "another rank's residual");
                p.residual = 0, p.beta = 0, p.bias = 1;
                noticed(p, BIAS_EACH, "a bias from each rank");
                p.bias = 0, p.alpha = 2;
                noticed(p, ALPHA_EACH, "alpha on partials too");
                p.alpha = 0, p.scales = 2;
                noticed(p, SCALES_OF_FIRST, "scales of another part of K");
                p.scales = 0, p.activation = IRIS_ACTIVATION_RELU;
                noticed(p, ACT_EACH, "an activation of partials");
                p.activation = IRIS_ACTIVATION_NONE;
                for (int r = 0; r < world; r++)
                    p.ldc[r] = p.n + 1;
                noticed(p, BORDER, "an element behind a row");
            }
    oracle p = question(ORACLE_REDUCE_SCATTER, 3, 16, 24, 64, IRIS_F32);
    p.k[2] = 64, p.spread = 19; /* the odd part is so large that sums with it are rounded */
    noticed(p, ORDER_TURNED, "another order of ranks");
    p = question(ORACLE_ALL_REDUCE, 2, 16, 24, 400, IRIS_BF16);
    p.k[0] = p.k[1] = 400;
    p.c_dtype = IRIS_F32; /* shows what bf16 slots lose */
    noticed(p, SLOT_UNROUNDED, "a partial that was not rounded");
    p = question(ORACLE_ALL_GATHER, 3, 12, 60, 16, IRIS_F32);
    noticed(p, SHARD_TURNED, "another rank's rows");
    noticed(p, BAND_SHIFTED, "a band one column further right");
    p.swiglu = 1, p.activation = IRIS_ACTIVATION_SILU;
    noticed(p, GATE_LAST, "the gate in the second column");
    noticed(question(ORACLE_ALL_SCATTER, 3, 12, 60, 16, IRIS_F32), BAND_SHIFTED, "all_scatter's band further right");
}

/* By hand: 257 + 1 in bf16 slots is 256 + 1, which is 257 in f32 and 256 in bf16. */
static void by_hand(void)
{
    double off;
    oracle p = question(ORACLE_ALL_REDUCE, 2, 1, 1, 1, IRIS_BF16);
    p.k[0] = p.k[1] = 1, p.c_dtype = IRIS_F32;
    expect(oracle_create(&p) == 0, "by hand", "was refused");
    p.a[0] = 257, p.b[0] = 1, p.a[1] = 1, p.b[1] = 1; /* no inputs, but partials */
    oracle_add_up(&p, 0);
    expect(oracle_expect(&p, 0, 0, 0, &off) == 257 && off == 0, "a partial of 257 in a bf16 slot, and 1", "not 257");
    p.slot_dtype = IRIS_F32;
    oracle_add_up(&p, 0);
    expect(oracle_expect(&p, 0, 0, 0, &off) == 258 && off == 0, "a partial of 257 in an f32 slot, and 1", "not 258");
    p.slot_dtype = IRIS_F16, p.a[0] = 70000, p.a[1] = -30000;
    oracle_add_up(&p, 0);
    expect(oracle_expect(&p, 0, 0, 0, &off) == HUGE_VAL, "an f16 partial that overflows, though the sum fits", "");
    expect(oracle_value_right(&p, HUGE_VAL, HUGE_VAL, 0) && !oracle_value_right(&p, 40000, HUGE_VAL, 0),
           "infinity is right alone", "");
    p.slot_dtype = IRIS_F32, p.real = 1, p.a[0] = p.a[1] = 1;
    oracle_add_up(&p, 0); /* 5 roundings of each product, one of its slot, and of the sum, 2 */
    expect(p.sum[0] == 2 && fabs(p.off[0] - ldexp(2 * (5 + 1) + 2, -24)) < ldexp(1, -40), "the bound of 1 + 1", "");
    oracle_free(&p);
}

/* Parts and bands as the library deals them out, and what cannot be is refused. */
static void parts(void)
{
    for (int64_t n = 1; n < 150; n++)
        for (int world = 1; world <= ORACLE_RANKS; world++) {
            int64_t next = 0;
            for (int r = 0; r < world; r++) {
                const oracle_range band = oracle_band(n, world, r), part = oracle_part(n, world, r);
                const iris_gemm_columns own = iris_gemm_band((uint32_t)n, (uint32_t)world, (uint32_t)r);
                expect(band.first == own.first && band.count == own.count, "a band is another than the library's", "");
                expect(part.first == next && part.count - n / world == (r < n % world), "parts are not in a row", "");
                next += part.count;
            }
            expect(next == n, "parts are not all", "");
        }
    oracle p = question(ORACLE_LOCAL, 1, 4, 4, 4, IRIS_F32);
    expect(oracle_refuses(&p) == NULL, "a plain product is refused", "");
    p.ldc[0] = 3;
    expect(oracle_refuses(&p) != NULL, "a leading dimension of less than a row is taken", "");
    p.ldc[0] = 0, p.swiglu = 1, p.n = 5;
    expect(oracle_refuses(&p) != NULL, "a pair of one column is taken", "");
    p = question(ORACLE_ALL_REDUCE, 9 % ORACLE_RANKS, 4, 4, 4, IRIS_F32);
    p.world = 9;
    expect(oracle_refuses(&p) != NULL, "nine ranks are taken", "");
}

/* Without an owner any rank's C will do under beta, and nothing else. */
static void owners(void)
{
    char text[160] = "";
    oracle p = question(ORACLE_ALL_REDUCE, 3, 6, 10, 8, IRIS_F32);
    p.beta = 1;
    expect(oracle_create(&p) == 0, "owners", "was refused");
    expect(judged(&p, RIGHT, text), "an owner that nobody named", text);
    expect(judged(&p, NEIGHBOURS_C, text), "another owner that nobody named", text);
    expect(!judged(&p, SLOT_TWICE, text), "a slot that is added twice, without owners", "goes unnoticed");
    oracle_free(&p);
}

int main(void)
{
    parts();
    by_hand();
    formulas();
    mistakes();
    owners();
    printf("%u failures\n", failures);
    return failures != 0;
}
