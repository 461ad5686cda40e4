/* SPDX-License-Identifier: MIT */
/*
 * Two layers of a model, y = relu(x * W1) * W2, with W1 split by columns and W2 by rows, in the two ways that models
 * are spread over GPUs:
 *
 *   tensor-parallel     every rank has all of x:       a GEMM alone,   then GEMM + all-reduce
 *   sequence-parallel   every rank has its rows of x:  all-gather + GEMM,  then GEMM + reduce-scatter
 *
 * All matrices are tensors, whose layouts say what a GEMM needs to know. Both ways are compared with each other and
 * with plain loops in double.
 */
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F32
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include "../layer.h"

enum { X, W1, W2, LAPS = 3 };

/*
 * The model on one rank. Of --shape M is the rows of x and y (tokens), N the hidden layer's width, K that of both.
 * Columns of W1 and of the hidden layer are spread over the ranks, and the same rows of W2. x and y are there twice:
 * whole on every rank, and spread by rows.
 */
typedef struct mlp {
    iris_world *w;
    const options *o;
    uint32_t world;
    iris_gemm_rows rows; /* this rank's, of x and y, where they are spread */
    iris_tensor x, y, spread_x, spread_y;
    iris_tensor w1, hidden, w2;
    void *workspace; /* one for all plans: they are launched on one stream */
    size_t workspace_bytes;
} mlp;

enum { ROWS, COLUMNS, WHOLE = -1 };

/* A matrix that every rank has whole, or of which it has blocks of so many rows or columns. */
static iris_status create(const mlp *l, iris_tensor *t, uint32_t rows, uint32_t columns, int split, int64_t unit)
{
    const int64_t size[] = {rows, columns};
    const iris_tensor_layout layout = split == WHOLE ? iris_tensor_replicated(l->o->dtype, 2, size)
                                                     : iris_tensor_split(l->o->dtype, 2, size, split, unit);
    return iris_tensor_create(l->w, t, &layout);
}

/* This rank's part of a random matrix. */
static iris_status fill(const mlp *l, const iris_tensor *t, const matrix *x)
{
    const iris_tensor_shard own = iris_tensor_shard_of(t, iris_rank(l->w));
    const iris_gemm_rows rows = {(uint32_t)own.first[ROWS], (uint32_t)own.count[ROWS]};
    const iris_gemm_columns columns = {(uint32_t)own.first[COLUMNS], (uint32_t)own.count[COLUMNS]};
    void *part = part_of(x, rows, columns);
    const iris_status status = part ? iris_tensor_upload_shard(l->w, t, part) : IRIS_ERR_NOMEM;
    free(part);
    return status;
}

/* Makes room in the workspace for a plan. */
static int make_room(mlp *l, iris_gemm_op op, const iris_tensor *a, const iris_tensor *b, const iris_tensor *c)
{
    iris_gemm_args g;
    memset(&g, 0, sizeof g);
    IRIS_TRY(iris_gemm_tensor_args(l->w, op, a, b, c, &g));
    const size_t bytes = iris_gemm_workspace_bytes(l->w, op, l->o->dtype, &g);
    l->workspace_bytes = bytes > l->workspace_bytes ? bytes : l->workspace_bytes;
    return 0;
}

static int make_memory(mlp *l)
{
    const options *o = l->o;
    const matrix x = matrix_of(o, X, o->m, o->k), w1 = matrix_of(o, W1, o->k, o->n), w2 = matrix_of(o, W2, o->n, o->k);
    IRIS_TRY(create(l, &l->x, o->m, o->k, WHOLE, 0));
    IRIS_TRY(create(l, &l->y, o->m, o->k, WHOLE, 0));
    IRIS_TRY(create(l, &l->spread_x, o->m, o->k, ROWS, 1));
    IRIS_TRY(create(l, &l->spread_y, o->m, o->k, ROWS, 1));
    IRIS_TRY(create(l, &l->w1, o->k, o->n, COLUMNS, 16));
    IRIS_TRY(create(l, &l->hidden, o->m, o->n, COLUMNS, 16));
    IRIS_TRY(create(l, &l->w2, o->n, o->k, ROWS, 16));
    IRIS_TRY(fill(l, &l->x, &x));
    IRIS_TRY(fill(l, &l->spread_x, &x));
    IRIS_TRY(fill(l, &l->w1, &w1));
    IRIS_TRY(fill(l, &l->w2, &w2));
    if (make_room(l, IRIS_GEMM_ALL_GATHER, &l->spread_x, &l->w1, &l->hidden) ||
        make_room(l, IRIS_GEMM_ALL_REDUCE, &l->hidden, &l->w2, &l->y) ||
        make_room(l, IRIS_GEMM_REDUCE_SCATTER, &l->hidden, &l->w2, &l->spread_y))
        return 1;
    l->workspace = iris_malloc(l->w, l->workspace_bytes);
    IRIS_TRY(l->workspace ? IRIS_OK : IRIS_ERR_NOMEM);
    return 0;
}

/* What does not follow from the tensors: up is hidden = relu(x * W1), down is y = hidden * W2. */
static void describe(const mlp *l, iris_gemm_args *up, iris_gemm_args *down)
{
    memset(up, 0, sizeof *up);
    up->workspace = l->workspace, up->workspace_bytes = l->workspace_bytes;
    *down = *up;
    up->activation = IRIS_ACTIVATION_RELU;
}

/* All of y on every rank. */
static int tensor_parallel(const mlp *l)
{
    const iris_stream stream = iris_default_stream(l->w);
    const iris_dtype dtype = l->o->dtype;
    iris_gemm_args up, down;
    iris_gemm_plan local, reduce;
    describe(l, &up, &down);
    IRIS_TRY(iris_gemm_prepare_tensors(l->w, &local, IRIS_GEMM_LOCAL, &l->x, &l->w1, &l->hidden, &up));
    IRIS_TRY(iris_gemm_prepare_tensors(l->w, &reduce, IRIS_GEMM_ALL_REDUCE, &l->hidden, &l->w2, &l->y, &down));
    for (int lap = 0; lap < LAPS; lap++) { /* behind each other, without a barrier */
        IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_local_bf16 : iris_gemm_local_f32)(l->w, &local, stream));
        IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_all_reduce_bf16 : iris_gemm_all_reduce_f32)(l->w, &reduce, stream));
    }
    IRIS_TRY(iris_gemm_release(l->w, &reduce));
    IRIS_TRY(iris_gemm_release(l->w, &local));
    return 0;
}

/* Own rows of y, from own rows of x. */
static int sequence_parallel(const mlp *l)
{
    const iris_stream stream = iris_default_stream(l->w);
    const iris_dtype dtype = l->o->dtype;
    iris_gemm_args up, down;
    iris_gemm_plan gather, scatter;
    describe(l, &up, &down);
    IRIS_TRY(iris_gemm_prepare_tensors(l->w, &gather, IRIS_GEMM_ALL_GATHER, &l->spread_x, &l->w1, &l->hidden, &up));
    IRIS_TRY(iris_gemm_prepare_tensors(l->w, &scatter, IRIS_GEMM_REDUCE_SCATTER, &l->hidden, &l->w2, &l->spread_y,
                                       &down));
    for (int lap = 0; lap < LAPS; lap++) {
        IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_all_gather_bf16 : iris_gemm_all_gather_f32)(l->w, &gather, stream));
        IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_reduce_scatter_bf16 : iris_gemm_reduce_scatter_f32)(l->w, &scatter,
                                                                                                     stream));
    }
    IRIS_TRY(iris_gemm_release(l->w, &scatter));
    IRIS_TRY(iris_gemm_release(l->w, &gather));
    return 0;
}

/* The model in double: of one row of x the row of y, and what a correct one may differ by. */
typedef struct plain {
    float *w1, *w2; /* their columns */
    double *row, *hidden, *hidden_error, *y, *allowed;
} plain;

static int make_plain(plain *p, const options *o)
{
    const iris_gemm_columns hidden = {0, o->n}, all = {0, o->k};
    const matrix w1 = matrix_of(o, W1, o->k, o->n), w2 = matrix_of(o, W2, o->n, o->k);
    p->w1 = transposed(&w1, hidden), p->w2 = transposed(&w2, all);
    p->row = (double *)malloc(o->k * sizeof(double)), p->y = (double *)malloc(o->k * sizeof(double));
    p->allowed = (double *)malloc(o->k * sizeof(double));
    p->hidden = (double *)malloc(o->n * sizeof(double)), p->hidden_error = (double *)malloc(o->n * sizeof(double));
    return p->w1 && p->w2 && p->row && p->y && p->allowed && p->hidden && p->hidden_error;
}

static void free_plain(plain *p)
{
    free(p->w1), free(p->w2), free(p->row), free(p->y), free(p->allowed), free(p->hidden), free(p->hidden_error);
}

static void plain_row(plain *p, const mlp *l, uint32_t i)
{
    const options *o = l->o;
    const matrix x = matrix_of(o, X, o->m, o->k);
    for (uint32_t k = 0; k < o->k; k++)
        p->row[k] = element(&x, i, k);
    for (uint32_t j = 0; j < o->n; j++) {
        const product h = dot(p->row, p->w1 + (size_t)j * o->k, o->k, 1);
        p->hidden[j] = h.sum > 0 ? h.sum : 0;
        p->hidden_error[j] = tolerance(o->dtype, o->k, &h, h.sum);
    }
    for (uint32_t j = 0; j < o->k; j++) {
        product y = {0, 0, 0, 0};
        for (uint32_t r = 0; r < l->world; r++) {
            const iris_gemm_columns part = iris_gemm_band(o->n, l->world, r);
            add_part(&y, p->hidden, p->hidden_error, p->w2 + (size_t)j * o->n, part.first, part.count);
        }
        p->y[j] = y.sum;
        p->allowed[j] = tolerance(o->dtype, o->n, &y, y.sum);
    }
}

/*
 * Compares rows of both results with the plain ones, and both with each other where this rank has a row of both. `most`
 * receives the largest difference that rounding may cause between a result and the plain one.
 */
static int check_plain(const mlp *l, const void *tensor, const void *sequence, verdict *v, double *most)
{
    const options *o = l->o;
    plain p;
    const int made = make_plain(&p, o);
    for (uint32_t s = 0; s < checked_rows(o->m) && made; s++) {
        const uint32_t i = row_of(s, o->m);
        plain_row(&p, l, i);
        for (uint32_t j = 0; j < o->k; j++) {
            judge(&v[0], i, j, at(o->dtype, tensor, (size_t)i * o->k + j), p.y[j], p.allowed[j]);
            *most = p.allowed[j] > *most ? p.allowed[j] : *most;
        }
    }
    for (uint32_t s = 0; s < checked_rows(l->rows.count) && made; s++) {
        const uint32_t i = row_of(s, l->rows.count);
        plain_row(&p, l, l->rows.first + i);
        for (uint32_t j = 0; j < o->k; j++)
            judge(&v[1], l->rows.first + i, j, at(o->dtype, sequence, (size_t)i * o->k + j), p.y[j], p.allowed[j]);
    }
    free_plain(&p);
    IRIS_TRY(made ? IRIS_OK : IRIS_ERR_NOMEM);
    return 0;
}

static int check(const mlp *l, const void *tensor, const void *sequence)
{
    static const char *const names[] = {"y of the tensor-parallel layers", "y of the sequence-parallel layers",
                                        "y of either, compared with the other,"};
    const options *o = l->o;
    verdict v[3];
    double most = 0;
    memset(v, 0, sizeof v);
    if (check_plain(l, tensor, sequence, v, &most))
        return 1;
    for (uint32_t i = 0; i < l->rows.count; i++) /* all own rows, whose errors are those of the sample */
        for (uint32_t j = 0; j < o->k; j++)
            judge(&v[2], l->rows.first + i, j, at(o->dtype, sequence, (size_t)i * o->k + j),
                  at(o->dtype, tensor, (size_t)(l->rows.first + i) * o->k + j), 2 * most);
    if (differs(l->w, tensor, (size_t)o->m * o->k * iris_dtype_bytes(o->dtype), names[0]))
        return 1;
    for (int i = 0; i < 3; i++)
        if (told(l->w, &v[i], names[i]))
            return 1;
    return 0;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const size_t bytes = o->k * iris_dtype_bytes(o->dtype); /* of a row of y */
    mlp l;
    memset(&l, 0, sizeof l);
    l.w = w, l.o = o, l.world = (uint32_t)iris_world_size(w);
    l.rows = iris_gemm_shard(o->m, l.world, (uint32_t)iris_rank(w));
    if (make_memory(&l))
        return 1;
    IRIS_TRY(iris_memset(w, l.y.data, 0xFF, o->m * bytes)); /* NaN: what is not written is seen */
    IRIS_TRY(iris_memset(w, l.spread_y.data, 0xFF, l.rows.count * bytes));
    IRIS_TRY(iris_barrier(w)); /* everyone has written its memory before anyone else does */
    if (tensor_parallel(&l) || sequence_parallel(&l))
        return 1;
    void *tensor = download(w, l.y.data, o->m * bytes), *sequence = download(w, l.spread_y.data, l.rows.count * bytes);
    const int failed = tensor == NULL || sequence == NULL || check(&l, tensor, sequence);
    free(sequence), free(tensor);
    return failed;
}

int main(int argc, char **argv)
{
    options o;
    const int status =
        parse_options(&o, argc, argv, "Two layers, y = relu(x * W1) * W2, tensor-parallel and sequence-parallel.",
                      "M rows of x and y, N the hidden layer's width, K that of x and y");
    if (status >= 0)
        return status;
    const size_t m = o.m, n = o.n, k = o.k;
    const iris_config config = heap_for(&o, 5 * m * (k + 128) + 2 * k * (n + 16) + m * (n + 16));
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
