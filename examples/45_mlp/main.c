/* SPDX-License-Identifier: MIT */
/*
 * Two layers of a model, y = relu(x * W1) * W2, with W1 split by columns and W2 by rows, in the two ways that models
 * are spread over GPUs:
 *
 *   tensor-parallel     every rank has all of x:       a GEMM alone,   then GEMM + all-reduce
 *   sequence-parallel   every rank has its rows of x:  all-gather + GEMM,  then GEMM + reduce-scatter
 *
 * Both are compared with each other and with plain loops in double.
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

/* The model on one rank. Of --shape M is the rows of x and y (tokens), N the hidden layer's width, K that of both. */
typedef struct mlp {
    iris_world *w;
    const options *o;
    uint32_t world, rank;
    iris_gemm_columns own; /* columns of W1 and of the hidden layer, and rows of W2 */
    iris_gemm_rows rows;   /* this rank's, of x and y, where they are spread */
    void *x, *w1, *w2;     /* x: all of it */
    void *hidden, *y;      /* y: of all rows; with sequences split, the own rows stand first */
    void *workspace;       /* one for all plans: they are launched on one stream */
    size_t workspace_bytes;
} mlp;

static void *own_x(const mlp *l)
{
    return (char *)l->x + (size_t)l->rows.first * l->o->k * iris_dtype_bytes(l->o->dtype);
}

/* hidden = relu(x * own columns of W1) */
static iris_gemm_args up(const mlp *l, const void *x, uint32_t n)
{
    iris_gemm_args g;
    memset(&g, 0, sizeof g);
    g.m = l->o->m, g.n = n, g.k = l->o->k;
    g.a = x, g.b = l->w1, g.c = l->hidden;
    g.activation = IRIS_ACTIVATION_RELU;
    g.workspace = l->workspace, g.workspace_bytes = l->workspace_bytes;
    return g;
}

/* y = the sum over all ranks of hidden * own rows of W2 */
static iris_gemm_args down(const mlp *l)
{
    iris_gemm_args g;
    memset(&g, 0, sizeof g);
    g.m = l->o->m, g.n = l->o->k, g.k = l->own.count; /* 0 on a rank without columns of the hidden layer */
    g.a = l->hidden, g.b = l->w2, g.c = l->y;
    g.workspace = l->workspace, g.workspace_bytes = l->workspace_bytes;
    return g;
}

static int make_memory(mlp *l)
{
    const options *o = l->o;
    const size_t bytes = iris_dtype_bytes(o->dtype), widest = iris_gemm_band(o->n, l->world, 0).count;
    const matrix x = matrix_of(o, X, o->m, o->k), w1 = matrix_of(o, W1, o->k, o->n), w2 = matrix_of(o, W2, o->n, o->k);
    const iris_gemm_rows tokens = {0, o->m}, width = {0, o->k}, own_rows = {l->own.first, l->own.count};
    const iris_gemm_columns all = {0, o->k};
    l->x = iris_malloc(l->w, o->m * o->k * bytes), l->y = iris_malloc(l->w, o->m * o->k * bytes);
    l->w1 = iris_malloc(l->w, o->k * widest * bytes), l->w2 = iris_malloc(l->w, widest * o->k * bytes);
    l->hidden = iris_malloc(l->w, o->m * widest * bytes);
    IRIS_TRY(l->x && l->y && l->w1 && l->w2 && l->hidden ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(upload(l->w, l->x, &x, tokens, all));
    IRIS_TRY(upload(l->w, l->w1, &w1, width, l->own));
    IRIS_TRY(upload(l->w, l->w2, &w2, own_rows, all));

    const iris_gemm_args first = up(l, own_x(l), o->n), second = down(l);
    const size_t gathered = iris_gemm_workspace_bytes(l->w, IRIS_GEMM_ALL_GATHER, o->dtype, &first);
    const size_t sums = iris_gemm_workspace_bytes(l->w, IRIS_GEMM_ALL_REDUCE, o->dtype, &second);
    const size_t scattered = iris_gemm_workspace_bytes(l->w, IRIS_GEMM_REDUCE_SCATTER, o->dtype, &second);
    l->workspace_bytes = gathered > sums ? gathered : sums;
    l->workspace_bytes = l->workspace_bytes > scattered ? l->workspace_bytes : scattered;
    l->workspace = iris_malloc(l->w, l->workspace_bytes);
    IRIS_TRY(l->workspace ? IRIS_OK : IRIS_ERR_NOMEM);
    return 0;
}

/* All of y on every rank. A GEMM alone is this rank's own: one without columns leaves it out. */
static int tensor_parallel(const mlp *l)
{
    const iris_gemm_args first = up(l, l->x, l->own.count), second = down(l);
    const iris_stream stream = iris_default_stream(l->w);
    const iris_dtype dtype = l->o->dtype;
    iris_gemm_plan local, reduce;
    memset(&local, 0, sizeof local);
    if (l->own.count > 0)
        IRIS_TRY(iris_gemm_prepare(l->w, &local, IRIS_GEMM_LOCAL, dtype, &first));
    IRIS_TRY(iris_gemm_prepare(l->w, &reduce, IRIS_GEMM_ALL_REDUCE, dtype, &second));
    for (int lap = 0; lap < LAPS; lap++) { /* behind each other, without a barrier */
        if (l->own.count > 0)
            IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_local_bf16 : iris_gemm_local_f32)(l->w, &local, stream));
        IRIS_TRY((dtype == IRIS_BF16 ? iris_gemm_all_reduce_bf16 : iris_gemm_all_reduce_f32)(l->w, &reduce, stream));
    }
    IRIS_TRY(iris_gemm_release(l->w, &reduce));
    IRIS_TRY(iris_gemm_release(l->w, &local)); /* a zeroed plan is accepted */
    return 0;
}

/* Own rows of y, from own rows of x. */
static int sequence_parallel(const mlp *l)
{
    const iris_gemm_args first = up(l, own_x(l), l->o->n), second = down(l);
    const iris_stream stream = iris_default_stream(l->w);
    const iris_dtype dtype = l->o->dtype;
    iris_gemm_plan gather, scatter;
    IRIS_TRY(iris_gemm_prepare(l->w, &gather, IRIS_GEMM_ALL_GATHER, dtype, &first));
    IRIS_TRY(iris_gemm_prepare(l->w, &scatter, IRIS_GEMM_REDUCE_SCATTER, dtype, &second));
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
    l.w = w, l.o = o, l.world = (uint32_t)iris_world_size(w), l.rank = (uint32_t)iris_rank(w);
    l.own = iris_gemm_band(o->n, l.world, l.rank), l.rows = iris_gemm_shard(o->m, l.world, l.rank);
    if (make_memory(&l))
        return 1;
    IRIS_TRY(iris_memset(w, l.y, 0xFF, o->m * bytes)); /* NaN: what is not written is seen */
    if (tensor_parallel(&l))
        return 1;
    void *tensor = download(w, l.y, o->m * bytes);
    IRIS_TRY(iris_memset(w, l.y, 0xFF, o->m * bytes));
    if (tensor == NULL || sequence_parallel(&l))
        return 1;
    void *sequence = download(w, l.y, l.rows.count * bytes);
    const int failed = sequence == NULL || check(&l, tensor, sequence);
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
    const iris_config config = heap_for(&o, 3 * m * (k + 128) + 2 * k * (n + 16) + m * (n + 16));
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
