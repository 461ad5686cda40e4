/* SPDX-License-Identifier: MIT */
/*
 * tensors.h: a part of init.c: GEMMs of partitioned tensors. gemm/tensors.h declares these functions.
 *
 * M, N and K are a dimension of two matrices each. That makes six sides, and an operation wants each split in one way.
 */
#ifndef IRIS_RUNTIME_GEMM_TENSORS_H
#define IRIS_RUNTIME_GEMM_TENSORS_H
#ifdef IRIS_INIT_C

#include <iris/gemm/tensors.h>
#include <iris/runtime/gemm/make.h>
#include <iris/runtime/tensor_text.h>

/* A dimension of a matrix. The two that are one dimension of the product stand side by side. */
typedef enum irisi_gemm_side {
    IRISI_GEMM_M_OF_A,
    IRISI_GEMM_M_OF_C,
    IRISI_GEMM_N_OF_B,
    IRISI_GEMM_N_OF_C,
    IRISI_GEMM_K_OF_A,
    IRISI_GEMM_K_OF_B,
    IRISI_GEMM_SIDES
} irisi_gemm_side;

/* Which indices of a side each rank is to have. */
typedef enum irisi_op_split {
    IRISI_SPLIT_NONE,  /* all */
    IRISI_SPLIT_BAND,  /* iris_gemm_band's */
    IRISI_SPLIT_SHARD, /* iris_gemm_shard's */
    IRISI_SPLIT_PARTS, /* the caller's, each on one rank, alike in both matrices */
    IRISI_SPLIT_ALIKE  /* any, alike in both matrices */
} irisi_op_split;

/* By operation and side: gemm/tensors.h has it as a table. */
static const irisi_op_split irisi_op_splits[][IRISI_GEMM_SIDES] = {
    /* local */
    {IRISI_SPLIT_ALIKE, IRISI_SPLIT_ALIKE, IRISI_SPLIT_ALIKE, IRISI_SPLIT_ALIKE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE},
    /* all_scatter */
    {IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_BAND, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE},
    /* reduce_scatter */
    {IRISI_SPLIT_NONE, IRISI_SPLIT_SHARD, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_PARTS, IRISI_SPLIT_PARTS},
    /* all_reduce */
    {IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_PARTS, IRISI_SPLIT_PARTS},
    /* all_gather */
    {IRISI_SPLIT_SHARD, IRISI_SPLIT_NONE, IRISI_SPLIT_BAND, IRISI_SPLIT_BAND, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE},
    /* all_reduce_rmsnorm */
    {IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_NONE, IRISI_SPLIT_PARTS, IRISI_SPLIT_PARTS}};
typedef char irisi_op_splits_of_all[sizeof irisi_op_splits / sizeof *irisi_op_splits == IRISI_GEMM_OPS ? 1 : -1];

/* What is multiplied. */
typedef struct irisi_gemm_product {
    const char *who;              /* the function that was called */
    const iris_tensor *matrix[3]; /* A, B and C */
    int a_transposed, b_transposed;
    iris_gemm_op op;
    int sequence_parallel; /* of all_reduce_rmsnorm: C is split as of reduce_scatter */
} irisi_gemm_product;

static const char *const irisi_gemm_matrix_names[] = {"a", "b", "c"};

/* The matrix of a side, and its dimension there. */
static int irisi_gemm_matrix_of(int side)
{
    static const int matrix[IRISI_GEMM_SIDES] = {0, 2, 1, 2, 0, 1};
    return matrix[side];
}
static int irisi_gemm_dimension_of(const irisi_gemm_product *p, int side)
{
    static const int dimension[IRISI_GEMM_SIDES] = {0, 0, 1, 1, 1, 0};
    const int matrix = irisi_gemm_matrix_of(side);
    const int transposed = matrix == 0 ? p->a_transposed : matrix == 1 && p->b_transposed;
    return transposed ? 1 - dimension[side] : dimension[side];
}

static const iris_tensor_dim *irisi_gemm_side_of(const irisi_gemm_product *p, int side)
{
    return &p->matrix[irisi_gemm_matrix_of(side)]->dim[irisi_gemm_dimension_of(p, side)];
}

/* A GEMM alone whose C is of partial sums: it takes A and B as all_reduce does. */
static int irisi_gemm_leaves_sums(const irisi_gemm_product *p)
{
    return p->op == IRIS_GEMM_LOCAL && iris_tensor_is_partial(p->matrix[2]);
}

/* The operation whose row of the table the product has. */
static iris_gemm_op irisi_gemm_lies_as(const irisi_gemm_product *p)
{
    const int own_rows = p->op == IRIS_GEMM_ALL_REDUCE_RMSNORM && p->sequence_parallel;
    return irisi_gemm_leaves_sums(p) ? IRIS_GEMM_ALL_REDUCE : own_rows ? IRIS_GEMM_REDUCE_SCATTER : p->op;
}

/* How the operation wants a side to be cut. Where both matrices are to be cut alike, the first one leads. */
static iris_tensor_dim irisi_gemm_wanted(const iris_world *w, const irisi_gemm_product *p, int side)
{
    const int leads = side % 2 == 0;
    const iris_tensor_dim *own = irisi_gemm_side_of(p, side);
    iris_tensor_dim want = *own;
    want.step = 1;
    switch (irisi_op_splits[irisi_gemm_lies_as(p)][side]) {
    case IRISI_SPLIT_NONE: irisi_tensor_cut(&want, 1, own->unit); return want;
    case IRISI_SPLIT_BAND: irisi_tensor_cut(&want, (uint32_t)w->size, 16); return want;
    case IRISI_SPLIT_SHARD: irisi_tensor_cut(&want, (uint32_t)w->size, 1); return want;
    case IRISI_SPLIT_PARTS:
        if (leads) {
            irisi_tensor_cut(&want, (uint32_t)w->size, own->unit);
            return want;
        }
        break;
    default: break;
    }
    return *irisi_gemm_side_of(p, side / 2 * 2);
}

/* The indices of a rank, which is a member of that number: the team is the world. */
static irisi_tensor_range irisi_gemm_indices(const iris_tensor_dim *d, int rank)
{
    return irisi_tensor_block(d, (uint32_t)rank / d->step % d->parts);
}

/* The first rank that has other indices of a side than the operation wants; -1: none. */
static int irisi_gemm_misfit(const iris_world *w, const irisi_gemm_product *p, int side)
{
    const iris_tensor_dim want = irisi_gemm_wanted(w, p, side);
    for (int rank = 0; rank < w->size; rank++) {
        const irisi_tensor_range has = irisi_gemm_indices(irisi_gemm_side_of(p, side), rank);
        const irisi_tensor_range needs = irisi_gemm_indices(&want, rank);
        if (has.count != needs.count || (has.count > 0 && has.first != needs.first))
            return rank;
    }
    return -1;
}

/* Refuses a layout, and names the one that the operation takes. */
static iris_status irisi_gemm_refuse_layout(iris_world *w, const irisi_gemm_product *p, int side, int rank)
{
    const int matrix = irisi_gemm_matrix_of(side);
    iris_tensor want = *p->matrix[matrix];
    char wanted[120], given[120];
    size_t length = 0;
    for (int other = 0; other < IRISI_GEMM_SIDES; other++)
        if (irisi_gemm_matrix_of(other) == matrix)
            want.dim[irisi_gemm_dimension_of(p, other)] = irisi_gemm_wanted(w, p, other);
    irisi_text_add_sizes(wanted, sizeof wanted, &length, &want);
    length = 0;
    irisi_text_add_sizes(given, sizeof given, &length, p->matrix[matrix]);
    const irisi_tensor_range has = irisi_gemm_indices(irisi_gemm_side_of(p, side), rank);
    const int d = irisi_gemm_dimension_of(p, side);
    const irisi_tensor_range needs = irisi_gemm_indices(&want.dim[d], rank);
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "%s: %s%s takes %s as %s, but it is %s: of dimension %d rank %d has %u indices from %u on, and "
                      "needs %u from %u on",
                      p->who, irisi_gemm_op_names[p->op],
                      irisi_gemm_leaves_sums(p)     ? " with a partial c"
                      : irisi_gemm_lies_as(p) != p->op ? " with sequence_parallel"
                                                       : "",
                      irisi_gemm_matrix_names[matrix], wanted, given, d, rank,
                      has.count, has.first, needs.count, needs.first);
}

/* Refuses a tensor that is no matrix of the whole world, row by row. */
static iris_status irisi_gemm_check_tensor(iris_world *w, const irisi_gemm_product *p, int matrix)
{
    const iris_tensor *t = p->matrix[matrix];
    const char *name = irisi_gemm_matrix_names[matrix];
    char who[64];
    snprintf(who, sizeof who, "%s, %s", p->who, name);
    const iris_status s = irisi_tensor_check(w, who, t);
    if (s != IRIS_OK)
        return s;
    if (t->dims != 2)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s has %d dimensions; a matrix has 2", p->who, name, (int)t->dims);
    if (t->team.size != w->size)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s is on %d of the %d ranks, from rank %d on; the matrices of a GEMM are on all of them",
                          p->who, name, (int)t->team.size, w->size, (int)t->team.start);
    if (matrix < 2 && iris_tensor_is_partial(t))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s is of %d partial sums, which are no factor of a product; iris_tensor_reshard adds "
                          "them up into another tensor",
                          p->who, name, (int)t->copies);
    if (t->dim[1].stride != 1 && irisi_tensor_block(&t->dim[1], 0).count > 1)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s has strides [%lld, %lld]; elements of a row must follow each other, so dimension 1 "
                          "has stride 1 (what stands column by column is a tensor of its transpose, with a_transposed "
                          "or b_transposed)",
                          p->who, name, (long long)t->dim[0].stride, (long long)t->dim[1].stride);
    return IRIS_OK;
}

/* What every operation wants of the tensors. */
static iris_status irisi_gemm_check_tensors(iris_world *w, const irisi_gemm_product *p)
{
    static const char *const names[] = {"m", "n", "k"};
    for (int matrix = 0; matrix < 3; matrix++) {
        const iris_status s = irisi_gemm_check_tensor(w, p, matrix);
        if (s != IRIS_OK)
            return s;
    }
    if (p->matrix[0]->dtype != p->matrix[1]->dtype)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: a is of %s, b of %s; they must be of one type", p->who,
                          iris_dtype_name(p->matrix[0]->dtype), iris_dtype_name(p->matrix[1]->dtype));
    for (int side = 0; side < IRISI_GEMM_SIDES; side += 2) {
        const uint32_t one = irisi_gemm_side_of(p, side)->size, other = irisi_gemm_side_of(p, side + 1)->size;
        if (one != other)
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s is %u in %s, %u in %s; a is %s, b %s, c m x n", p->who,
                              names[side / 2], one, irisi_gemm_matrix_names[irisi_gemm_matrix_of(side)], other,
                              irisi_gemm_matrix_names[irisi_gemm_matrix_of(side + 1)],
                              p->a_transposed ? "k x m" : "m x k", p->b_transposed ? "n x k" : "k x n");
    }
    return IRIS_OK;
}

/* Refuses a partial C that the operation or its epilogue would make something else of than a sum. */
static iris_status irisi_gemm_check_sums(iris_world *w, const irisi_gemm_product *p, const iris_gemm_args *args)
{
    if (!iris_tensor_is_partial(p->matrix[2]))
        return IRIS_OK;
    if (p->op != IRIS_GEMM_LOCAL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s does not leave partial sums, but c is of %d; local does, where K is split", p->who,
                          irisi_gemm_op_names[p->op], (int)p->matrix[2]->copies);
    if (args->bias != NULL || args->activation != IRIS_ACTIVATION_NONE || args->residual != NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: c is of partial sums, and %s is for the whole sum; leave it out here", p->who,
                          args->bias != NULL                             ? "a bias"
                          : args->activation != IRIS_ACTIVATION_NONE ? "an activation"
                                                                         : "a residual");
    return IRIS_OK;
}

/* Refuses rows and columns of a GEMM alone that are both split: each rank would have one block of C, and no tensor has
   just those blocks. */
static iris_status irisi_gemm_check_local(iris_world *w, const irisi_gemm_product *p)
{
    char a[120], b[120];
    size_t length = 0;
    if (p->op != IRIS_GEMM_LOCAL || irisi_gemm_side_of(p, IRISI_GEMM_M_OF_A)->parts == 1 ||
        irisi_gemm_side_of(p, IRISI_GEMM_N_OF_B)->parts == 1)
        return IRIS_OK;
    irisi_text_add_sizes(a, sizeof a, &length, p->matrix[0]);
    length = 0;
    irisi_text_add_sizes(b, sizeof b, &length, p->matrix[1]);
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "%s: local takes m of a or n of b split over ranks, not both, since no c has the blocks of these "
                      "products; a is %s, b %s",
                      p->who, a, b);
}

/* Elements from row to row of a shard; where there is one row, any number that is no less than it has. */
static int64_t irisi_gemm_ld(const iris_tensor *t)
{
    const int64_t longest = irisi_tensor_block(&t->dim[1], 0).count;
    return t->dim[0].stride > longest ? t->dim[0].stride : longest;
}

/* What follows from the tensors, whose layouts fit. */
static void irisi_gemm_args_of(const iris_world *w, const irisi_gemm_product *p, iris_gemm_args *g)
{
    const iris_tensor *a = p->matrix[0], *b = p->matrix[1], *c = p->matrix[2];
    const iris_tensor_dim *k = irisi_gemm_side_of(p, IRISI_GEMM_K_OF_A);
    const int local = p->op == IRIS_GEMM_LOCAL, some = c->dim[0].size > 0 && c->dim[1].size > 0;
    g->m = local ? irisi_gemm_indices(&c->dim[0], w->rank).count : c->dim[0].size;
    g->n = local ? irisi_gemm_indices(&c->dim[1], w->rank).count : c->dim[1].size;
    g->k = irisi_gemm_indices(k, w->rank).count;
    g->a = a->data, g->b = b->data, g->c = c->data;
    g->lda = irisi_gemm_ld(a), g->ldb = irisi_gemm_ld(b), g->ldc = irisi_gemm_ld(c);
    g->c_dtype = c->dtype;
    g->band = 0;
    if (local && some && (g->m == 0 || g->n == 0)) /* of one column rank 0 has all, and is never without a shard */
        g->m = g->n = g->band = 1;
    g->zero_alpha = g->zero_alpha == 2 ? 0 : g->zero_alpha; /* what other tensors left there */
    if (irisi_gemm_leaves_sums(p) && k->size > 0 && g->k == 0) /* each rank has room for one index of K */
        g->k = 1, g->zero_alpha = g->zero_alpha ? g->zero_alpha : 2;
}

/* iris_gemm_tensor_args, as a failure of `who`. */
static iris_status irisi_gemm_tensor_args_by(iris_world *w, const char *who, iris_gemm_op op, const iris_tensor *a,
                                             const iris_tensor *b, const iris_tensor *c, iris_gemm_args *args)
{
    const irisi_gemm_product p = {who, {a, b, c}, args->a_transposed != 0, args->b_transposed != 0, op,
                                  args->sequence_parallel};
    if ((unsigned)op >= IRISI_GEMM_OPS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: operation %d does not exist", who, (int)op);
    if (args->gated)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: gated is for iris_gemm_prepare: c is m x n here, and a gated one has half as many "
                          "columns",
                          who);
    if (args->more != NULL || args->n_more != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: more is for iris_gemm_prepare: there is one tensor b here, and one c", who);
    iris_status s = irisi_gemm_check_tensors(w, &p);
    if (s == IRIS_OK)
        s = irisi_gemm_check_sums(w, &p, args);
    if (s == IRIS_OK)
        s = irisi_gemm_check_local(w, &p);
    if (s != IRIS_OK)
        return s;
    for (int side = 0; side < IRISI_GEMM_SIDES; side++) {
        const int rank = irisi_gemm_misfit(w, &p, side);
        if (rank >= 0)
            return irisi_gemm_refuse_layout(w, &p, side, rank);
    }
    irisi_gemm_args_of(w, &p, args);
    return IRIS_OK;
}

iris_status iris_gemm_tensor_args(iris_world *w, iris_gemm_op op, const iris_tensor *a, const iris_tensor *b,
                                  const iris_tensor *c, iris_gemm_args *args)
{
    if (w == NULL || args == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_tensor_args: world and args must not be null");
    return irisi_gemm_tensor_args_by(w, "iris_gemm_tensor_args", op, a, b, c, args);
}

iris_status iris_gemm_prepare_tensors(iris_world *w, iris_gemm_plan *plan, iris_gemm_op op, const iris_tensor *a,
                                      const iris_tensor *b, const iris_tensor *c, const iris_gemm_args *args)
{
    if (w == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare_tensors: the world must not be null");
    iris_gemm_args all;
    memset(&all, 0, sizeof all);
    if (args != NULL)
        all = *args;
    const iris_status s = irisi_gemm_tensor_args_by(w, "iris_gemm_prepare_tensors", op, a, b, c, &all);
    return irisi_gemm_prepare_by(w, plan, op, s == IRIS_OK ? a->dtype : IRIS_DTYPE_NONE, &all, s);
}

/* Whether the operation takes the tensors as they are laid out. */
static int irisi_gemm_op_fits(const iris_world *w, const irisi_gemm_product *p)
{
    if (iris_tensor_is_partial(p->matrix[2]) && p->op != IRIS_GEMM_LOCAL)
        return 0;
    for (int side = 0; side < IRISI_GEMM_SIDES; side++)
        if (irisi_gemm_misfit(w, p, side) >= 0)
            return 0;
    return 1;
}

iris_status iris_gemm_tensor_op(iris_world *w, const iris_tensor *a, const iris_tensor *b, const iris_tensor *c,
                                int b_transposed, iris_gemm_op *op)
{
    irisi_gemm_product p = {"iris_gemm_tensor_op", {a, b, c}, 0, b_transposed != 0, IRIS_GEMM_LOCAL, 0};
    if (w == NULL || op == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_tensor_op: world and op must not be null");
    const iris_status s = irisi_gemm_check_tensors(w, &p);
    if (s != IRIS_OK)
        return s;
    for (int i = 0; i < IRISI_GEMM_OPS; i++) {
        p.op = (iris_gemm_op)i;
        if (irisi_gemm_op_fits(w, &p)) {
            *op = p.op;
            return IRIS_OK;
        }
    }
    char text[3][120];
    for (int matrix = 0; matrix < 3; matrix++) {
        size_t length = 0;
        irisi_text_add_sizes(text[matrix], sizeof text[matrix], &length, p.matrix[matrix]);
    }
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "iris_gemm_tensor_op: no operation takes a as %s, b as %s and c as %s; <iris/gemm/tensors.h> has "
                      "a table of what they take, and iris_gemm_prepare_tensors says what one of them wants",
                      text[0], text[1], text[2]);
}

#endif
#endif
