/* SPDX-License-Identifier: MIT */
/*
 * gemm_fused_stub.c: bench/gemm_fused with operations of this test's in place of the library's: auto and
 * bulk_synchronous are right, and the others wrong in one way each. gemm_fused.py looks at what the program says.
 *
 *   producer_consumer   reduce_scatter, all_reduce: the last rank's partial sum is missing; all_gather: the rows of A
 *                       are those of the next shard
 *   fused_sequential    the last row of C is not written
 *   wg_specialized      one element that no sample looks at is wrong
 *   wave_specialized    the same in each second call
 *
 * A rank computes its C alone: elements of A and B are functions of their place. Before anything is run, what the
 * benchmark gives each rank of A, B and C is compared with what the oracle of GEMMs says (tests/gemm/oracle.h).
 */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_BF16
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/gemm.h>
#include <iris/gen/launch/reduce_scatter.h>

#include "../../bench/gemm_fused.h"
#include "../gemm/oracle.h"

typedef struct stub_args {
    gemm_product whole;
    iris_bf16 *c;
    uint64_t rows, columns;
    int mistake;
    uint64_t apart; /* the element that no sample looks at */
} stub_args;

/* The value at a row and a column of the whole C, each partial rounded. */
IRIS_DEVICE float stub_value(const stub_args *s, uint64_t row, uint64_t column)
{
    const uint32_t parts = s->whole.depths ? s->whole.depths : 1;
    double size = 0, sum = 0;
    if (s->whole.shards && s->mistake == IRIS_GEMM_PRODUCER_CONSUMER)
        row = (row + gemm_part(s->whole.m, s->whole.shards, 0).count) % s->whole.m;
    for (uint32_t r = 0; r < parts; r++) {
        uint32_t from = r;
        while (!s->whole.depths && iris_gemm_band((uint32_t)s->whole.n, s->whole.world, from).first +
                                           iris_gemm_band((uint32_t)s->whole.n, s->whole.world, from).count <= column)
            from++;
        if (s->whole.depths && r + 1 == parts && s->mistake == IRIS_GEMM_PRODUCER_CONSUMER)
            continue;
        sum += iris_widen_bf16(iris_narrow_bf16((float)gemm_partial(&s->whole, from, row, column, &size)));
    }
    if (s->whole.seed_residual)
        sum += gemm_element(s->whole.seed_residual, row * s->whole.n + column, IRIS_BF16);
    return (float)sum;
}

IRIS_KERNEL(stub_kernel, stub_args, s, 64)
{
    for (uint64_t i = iris_grid_lane(); i < s->rows * s->columns; i += iris_grid_lanes()) {
        const float v = stub_value(s, s->whole.rows.first + i / s->columns, s->whole.columns.first + i % s->columns);
        if (s->mistake == IRIS_GEMM_FUSED_SEQUENTIAL && i / s->columns + 1 == s->rows)
            continue;
        s->c[i] = iris_narrow_bf16(s->mistake == IRIS_GEMM_WG_SPECIALIZED && i == s->apart ? v + 3 : v);
    }
}

/* The norms of C's rows; the last is wrong by a fiftieth where `wrong` is not null. */
IRIS_KERNEL(stub_norm, gemm_norm_args, p, 64)
{
    for (uint64_t row = iris_grid_lane(); row < p->rows; row += iris_grid_lanes()) {
        const iris_bf16 *c = (const iris_bf16 *)(const void *)p->c + row * p->columns;
        iris_bf16 *out = (iris_bf16 *)(void *)p->out + row * p->columns;
        float squares = 0;
        for (uint32_t j = 0; j < p->columns; j++)
            squares += iris_widen_bf16(c[j]) * iris_widen_bf16(c[j]);
        for (uint32_t j = 0; j < p->columns; j++) {
            const int wrong = p->wrong != NULL && row + 1 == p->rows && j + 1 == p->columns;
            const float weight = iris_widen_bf16(((const iris_bf16 *)(const void *)p->weight)[j]);
            const float by = irisi_rsqrt(squares / (float)p->columns + p->epsilon) * (wrong ? 1.02f : 1.0f);
            out[j] = iris_narrow_bf16(iris_widen_bf16(c[j]) * by * weight);
        }
    }
}

/* The first element that gemm_right's samples leave out. */
static uint64_t stub_apart(uint64_t rows, uint64_t columns)
{
    for (uint64_t i = 0; i < rows * columns; i++) {
        uint64_t s = 1;
        while (s < GEMM_SAMPLES && (s * 0x9E3779B1u % rows != i / columns || s * 0x85EBCA77u % columns != i % columns))
            s++;
        if (s == GEMM_SAMPLES)
            return i;
    }
    return 0;
}

/* A plan that was never the library's: it holds what stub_launch needs. k is the same on every rank. */
static iris_status stub_prepare(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args, gemm_fused op)
{
    (void)w;
    memset(plan, 0, sizeof *plan);
    plan->op = (uint32_t)op;
    plan->m = (uint32_t)args->m, plan->n = (uint32_t)args->n, plan->k = (uint32_t)args->k;
    plan->operands.c = args->c, plan->norm.out = args->out, plan->norm.weight = args->weight;
    return IRIS_OK;
}

static iris_status stub_launch(iris_world *w, const iris_gemm_plan *plan, iris_stream stream, int mistake)
{
    const iris_launch_config grid = iris_grid(4, 64);
    const int norm = plan->op == GEMM_ALL_REDUCE_RMSNORM;
    static uint32_t one;
    gemm_operands g;
    stub_args s;
    memset(&g, 0, sizeof g);
    g.op = (gemm_fused)plan->op, g.m = plan->m, g.n = plan->n, g.k = plan->k;
    g.k *= gemm_splits_k(&g) ? (uint64_t)iris_world_size(w) : 1;
    gemm_operands_deal(&g, (uint32_t)iris_world_size(w), (uint32_t)iris_rank(w));
    s.whole = gemm_operands_product(w, &g, NULL);
    s.c = (iris_bf16 *)plan->operands.c, s.rows = g.c_rows, s.columns = g.c_columns;
    s.mistake = norm && mistake == IRIS_GEMM_WG_SPECIALIZED ? (int)IRIS_GEMM_AUTO : mistake;
    s.apart = mistake == IRIS_GEMM_WG_SPECIALIZED ? stub_apart(g.c_rows, g.c_columns) : 0;
    const iris_status status = iris_launch(w, stub_kernel, &s, sizeof s, &grid, stream);
    if (status != IRIS_OK || !norm)
        return status;
    g.c = (char *)plan->operands.c, g.out = (char *)plan->norm.out;
    gemm_norm_args n = gemm_norm_of(&g, NULL);
    n.weight = (const char *)plan->norm.weight, n.wrong = mistake == IRIS_GEMM_WG_SPECIALIZED ? &one : NULL;
    return iris_launch(w, stub_norm, &n, sizeof n, &grid, stream);
}

#define STUB_PREPARE(name, op)                                                                                         \
    static iris_status name(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)                           \
    {                                                                                                                  \
        return stub_prepare(w, plan, args, op);                                                                        \
    }
STUB_PREPARE(prepare_reduce_scatter, GEMM_REDUCE_SCATTER)
STUB_PREPARE(prepare_all_reduce, GEMM_ALL_REDUCE)
STUB_PREPARE(prepare_all_gather, GEMM_ALL_GATHER)
STUB_PREPARE(prepare_all_reduce_rmsnorm, GEMM_ALL_REDUCE_RMSNORM)

#define STUB_LAUNCH(name, mistake)                                                                                     \
    static iris_status name(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)                             \
    {                                                                                                                  \
        return stub_launch(w, plan, stream, mistake);                                                                  \
    }
STUB_LAUNCH(stub_right, IRIS_GEMM_AUTO)
STUB_LAUNCH(stub_part, IRIS_GEMM_PRODUCER_CONSUMER)
STUB_LAUNCH(stub_row, IRIS_GEMM_FUSED_SEQUENTIAL)
STUB_LAUNCH(stub_element, IRIS_GEMM_WG_SPECIALIZED)

static iris_status stub_second(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    static __thread int calls; /* a rank's own, where ranks are threads */
    return stub_launch(w, plan, stream, calls++ % 2 ? IRIS_GEMM_WG_SPECIALIZED : IRIS_GEMM_AUTO);
}

#define STUB_LAUNCHES {stub_right, stub_right, stub_part, stub_row, stub_element, stub_second}
static const gemm_operation operations[GEMM_FUSED] = {
    {GEMM_ALL_SCATTER, NULL, {NULL}},
    {GEMM_REDUCE_SCATTER, prepare_reduce_scatter, STUB_LAUNCHES},
    {GEMM_ALL_REDUCE, prepare_all_reduce, STUB_LAUNCHES},
    {GEMM_ALL_GATHER, prepare_all_gather, STUB_LAUNCHES},
    {GEMM_ALL_REDUCE_RMSNORM, prepare_all_reduce_rmsnorm, STUB_LAUNCHES},
};

/* 1 when the benchmark's ranges of a block are the oracle's; `has`: of rows and of columns. */
static int stub_same(const oracle *p, oracle_matrix which, int rank, const gemm_range *has)
{
    const oracle_block block = oracle_block_of(p, which, rank);
    return (uint64_t)block.rows.first == has[0].first && (uint64_t)block.rows.count == has[0].count &&
           (uint64_t)block.columns.first == has[1].first && (uint64_t)block.columns.count == has[1].count;
}

/* 1 when one rank's operands are those of the oracle. */
static int stub_dealt(gemm_fused op, const long *shape, int world, int rank)
{
    static const oracle_op ops[GEMM_FUSED] = {ORACLE_ALL_SCATTER, ORACLE_REDUCE_SCATTER, ORACLE_ALL_REDUCE,
                                              ORACLE_ALL_GATHER, ORACLE_ALL_REDUCE};
    gemm_operands *g = (gemm_operands *)calloc(1, sizeof *g);
    gemm_range all[3], a[2], b[2], c[2], own;
    oracle p;
    int same = 0;
    if (g == NULL)
        return 0;
    g->op = op, g->m = (uint64_t)shape[0], g->n = (uint64_t)shape[1], g->k = (uint64_t)shape[2];
    gemm_operands_deal(g, (uint32_t)world, (uint32_t)rank);
    memset(&p, 0, sizeof p);
    p.op = ops[op], p.world = world, p.m = shape[0], p.n = shape[1], p.dtype = IRIS_BF16;
    for (int r = 0; r < world; r++) /* where K is split, as the benchmark does it: a caller's choice */
        p.k[r] = gemm_splits_k(g) ? (int64_t)gemm_part(g->k, (uint32_t)world, (uint32_t)r).count : shape[2];
    for (int i = 0; i < 3; i++)
        all[i].first = 0, all[i].count = (uint64_t)shape[i];
    own.first = g->own.first, own.count = g->own.count;
    a[0] = op == GEMM_ALL_GATHER ? g->rows : all[0], a[1] = gemm_splits_k(g) ? g->depth : all[2];
    b[0] = a[1], b[1] = gemm_splits_k(g) ? all[1] : own;
    c[0] = op == GEMM_REDUCE_SCATTER ? g->rows : all[0], c[1] = op == GEMM_ALL_GATHER ? own : all[1];
    same = stub_same(&p, ORACLE_A, rank, a) && stub_same(&p, ORACLE_B, rank, b) && stub_same(&p, ORACLE_C, rank, c) &&
           g->c_rows == c[0].count && g->c_columns == c[1].count && g->product_n == b[1].count &&
           g->product_k == b[0].count;
    free(g);
    return same;
}

/* 1 when all ranks' operands are those of the oracle; else 0, with a sentence on stderr. */
static int stub_deals(void)
{
    static const long shapes[][3] = {{1, 1, 1}, {5, 80, 7}, {7, 33, 16}, {8, 128, 64}, {24, 96, 96}, {29, 250, 31}};
    for (int op = 0; op < GEMM_FUSED; op++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
            for (int world = 1; world <= ORACLE_RANKS; world++)
                for (int rank = 0; rank < world; rank++)
                    if (!stub_dealt((gemm_fused)op, shapes[i], world, rank))
                        return fprintf(stderr, "%s %ldx%ldx%ld: rank %d of %d has other parts than the oracle says\n",
                                       gemm_fused_names[op], shapes[i][0], shapes[i][1], shapes[i][2], rank, world),
                               0;
    return 1;
}

int main(int argc, char **argv)
{
    return stub_deals() ? gemm_fused_main(argc, argv, operations, iris_gemm_local_bf16) : 3;
}
