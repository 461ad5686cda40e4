/* SPDX-License-Identifier: MIT */
/*
 * validate.h: a part of init.c: which types GEMMs have kernels for, and checks of a GEMM's arguments.
 *
 *   irisi_gemm_types_of irisi_gemm_types_name irisi_gemm_check_values irisi_gemm_check_operands
 */
#ifndef IRIS_RUNTIME_GEMM_VALIDATE_H
#define IRIS_RUNTIME_GEMM_VALIDATE_H
#ifdef IRIS_INIT_C

#include <iris/gemm/prepare.h>
#include <iris/gen/gemm_types.h>
#include <iris/mainloop/shape.h>
#include <iris/runtime/gemm/operations.h>

/* Types for which kernels exist: of A and B, of C, and of bias; `name`: what the kernels' names end in. */
typedef struct irisi_gemm_types {
    iris_dtype in, out, bias;
    const char *name;
} irisi_gemm_types;

/* The types for A and B of `in` and C of `out`, or if `out` is none the first C there is; null: there is no kernel. */
static const irisi_gemm_types *irisi_gemm_types_of(iris_dtype in, iris_dtype out)
{
#define IRISI_GEMM_TYPES_ROW(name, NAME, IN, OUT, BIAS) {IRIS_##IN, IRIS_##OUT, IRIS_##BIAS, #name},
    static const irisi_gemm_types rows[] = {
        IRIS_EACH_GEMM(IRISI_GEMM_TYPES_ROW){IRIS_DTYPE_NONE, IRIS_DTYPE_NONE, IRIS_DTYPE_NONE, NULL}};
#undef IRISI_GEMM_TYPES_ROW
    for (const irisi_gemm_types *row = rows; row->name != NULL; row++)
        if (row->in == in && (row->out == out || out == IRIS_DTYPE_NONE))
            return row;
    return NULL;
}

/* What the names of a plan's kernels end in. */
static const char *irisi_gemm_types_name(const iris_gemm_plan *p)
{
    return irisi_gemm_types_of((iris_dtype)p->operands.dtype, (iris_dtype)p->sums.c_dtype)->name;
}

/* Bytes from the first to behind the last element of a matrix; 0 when that overflows. */
static uint64_t irisi_gemm_span(int64_t rows, int64_t cols, int64_t ld, uint64_t element)
{
    const uint64_t most = INT64_MAX / element;
    if ((uint64_t)cols > most || (rows > 1 && (uint64_t)ld > (most - (uint64_t)cols) / (uint64_t)(rows - 1)))
        return 0;
    return ((uint64_t)(rows - 1) * (uint64_t)ld + (uint64_t)cols) * element;
}

/* Checks one operand's leading dimension, address and alignment. */
static iris_status irisi_gemm_check_matrix(iris_world *w, const char *name, const void *p, int64_t rows, int64_t cols,
                                           int64_t ld, uint64_t element)
{
    if (p == NULL && rows > 0 && cols > 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s is a null pointer; pass %lld x %lld elements",
                          name, (long long)rows, (long long)cols);
    if (ld < cols)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: ld%s is %lld, less than the %lld elements of a row of %s", name,
                          (long long)ld, (long long)cols, name);
    if ((uintptr_t)p % element != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s at %p is not aligned to its %llu-byte elements",
                          name, p, (unsigned long long)element);
    if (rows > 0 && cols > 0 && irisi_gemm_span(rows, cols, ld, element) == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s with %lld rows of ld%s %lld exceeds 2^63 bytes",
                          name, (long long)rows, name, (long long)ld);
    return IRIS_OK;
}

/* Refuses a vector (bias, scales) that is not aligned to its elements. */
static iris_status irisi_gemm_check_vector(iris_world *w, const char *name, const void *p, size_t element)
{
    if ((uintptr_t)p % element == 0)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s at %p is not aligned to its %zu-byte elements", name,
                      p, element);
}

/* Where the elements of an operand stand: rows of so many bytes, `pitch` bytes from one to the next. */
typedef struct irisi_gemm_place {
    uintptr_t first;
    uint64_t rows, row_bytes, pitch;
} irisi_gemm_place;

static irisi_gemm_place irisi_gemm_place_of(const void *p, uint64_t rows, uint64_t cols, uint64_t ld, uint64_t element)
{
    const irisi_gemm_place place = {(uintptr_t)p, p != NULL && cols > 0 ? rows : 0, cols * element, ld * element};
    return place;
}

/* The address behind the last byte. */
static uint64_t irisi_gemm_place_end(const irisi_gemm_place *x)
{
    return x->first + (x->rows - 1) * x->pitch + x->row_bytes;
}

/*
 * 1 when two operands have a byte in common. Rows of one may stand between rows of the other, as of two slices of the
 * columns of one matrix: then each row of `x` is compared with the rows of `y` that begin before its end.
 */
static int irisi_gemm_places_meet(const irisi_gemm_place *x, const irisi_gemm_place *y)
{
    if (x->rows == 0 || y->rows == 0 || x->first >= irisi_gemm_place_end(y) || y->first >= irisi_gemm_place_end(x))
        return 0;
    if (x->rows > y->rows)
        return irisi_gemm_places_meet(y, x);
    for (uint64_t i = 0; i < x->rows; i++) {
        const uint64_t first = x->first + i * x->pitch, end = first + x->row_bytes;
        if (end <= y->first)
            continue;
        const uint64_t before = (end - 1 - y->first) / y->pitch; /* the last row of y that begins before the end */
        const uint64_t row = before < y->rows ? before : y->rows - 1;
        if (y->first + row * y->pitch + y->row_bytes > first)
            return 1;
    }
    return 0;
}

/*
 * The B and C with number `which` of the arguments, 0 being those that iris_gemm_args has itself; leading dimensions
 * that were left open are filled in.
 */
static irisi_gemm_matrix irisi_gemm_given(const iris_gemm_plan *p, const iris_gemm_args *g, int which)
{
    const iris_gemm_more *more = which > 0 ? &g->more[which - 1] : NULL;
    irisi_gemm_matrix x = irisi_gemm_matrix_at(p, 0);
    if (more == NULL)
        return x;
    x.b = more->b, x.c = more->c, x.bias = more->bias, x.scale_b = more->scale_b;
    x.first = 0, x.columns = iris_gemm_band((uint32_t)more->n, p->world, p->rank).count;
    x.ldb = (uint64_t)(more->ldb ? more->ldb : p->operands.b_transposed ? g->k : (int64_t)x.columns);
    x.ldc = (uint64_t)(more->ldc ? more->ldc : (int64_t)x.columns);
    return x;
}

/* Where a rank's C with number `which` (irisi_gemm_matrix_at) stands, as the caller has it. */
static irisi_gemm_place irisi_gemm_place_of_c(const iris_gemm_plan *p, uint32_t which)
{
    const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, which);
    const uint32_t columns = which > 0 ? x.columns : irisi_gemm_own_c_columns(p);
    return irisi_gemm_place_of(x.c, irisi_gemm_own_c_rows(p), columns, x.ldc, p->operands.c_element);
}

/* The same of the norms of its rows. */
static irisi_gemm_place irisi_gemm_place_of_out(const iris_gemm_plan *p)
{
    return irisi_gemm_place_of(p->norm.out, p->m, p->n, p->norm.ldout, p->operands.c_element);
}

/* Codes of the norms, and the scales of their rows. */
static irisi_gemm_place irisi_gemm_place_of_quant_out(const iris_gemm_plan *p)
{
    return irisi_gemm_place_of(p->norm.quant_out, p->m, p->n, p->norm.ldquant_out, 1);
}
static irisi_gemm_place irisi_gemm_place_of_scale_out(const iris_gemm_plan *p)
{
    return irisi_gemm_place_of(p->norm.scale_out, 1, p->m, p->m, sizeof *p->norm.scale_out);
}

/* The name of what is written besides C and overlaps with `x`, before entry `end` of a list; null: none does. */
enum { IRISI_GEMM_NORM_PLACES = 3 };
static const char *const irisi_gemm_norm_places[IRISI_GEMM_NORM_PLACES] = {"out", "quant_out", "scale_out"};
static irisi_gemm_place irisi_gemm_norm_place(const iris_gemm_plan *p, int which)
{
    return which == 0   ? irisi_gemm_place_of_out(p)
           : which == 1 ? irisi_gemm_place_of_quant_out(p)
                        : irisi_gemm_place_of_scale_out(p);
}
static const char *irisi_gemm_written_to(const iris_gemm_plan *p, const irisi_gemm_place *x, int end, const void **at)
{
    for (uint32_t i = 0; i <= p->several.count; i++) {
        const irisi_gemm_place c = irisi_gemm_place_of_c(p, i);
        *at = (const void *)c.first;
        if (irisi_gemm_places_meet(x, &c))
            return i ? "c of more" : "c";
    }
    for (int i = 0; i < end; i++) {
        const irisi_gemm_place y = irisi_gemm_norm_place(p, i);
        *at = (const void *)y.first;
        if (irisi_gemm_places_meet(x, &y))
            return irisi_gemm_norm_places[i];
    }
    return NULL;
}

/* The same as irisi_gemm_reads_from of the B with number `which`, and of what the epilogue has for its columns. */
static const char *irisi_gemm_reads_from_matrix(const iris_gemm_plan *p, uint32_t which, uint64_t bias,
                                                const irisi_gemm_place *x, const void **at)
{
    const irisi_gemm_matrix y = irisi_gemm_matrix_at(p, which);
    const int transposed = p->operands.b_transposed != 0;
    const uint64_t rows = transposed ? y.columns : p->k, cols = transposed ? p->k : y.columns;
    const irisi_gemm_place places[] = {
        irisi_gemm_place_of(y.b, rows, cols, y.ldb, p->operands.element),
        irisi_gemm_place_of(y.bias, 1, y.columns, y.columns, bias),
        irisi_gemm_place_of(y.scale_b, 1, p->operands.scale_b_step ? y.columns : 1, 1, sizeof *y.scale_b),
    };
    static const char *const names[][2] = {
        {"b", "b of more"}, {"bias", "bias of more"}, {"scale_b", "scale_b of more"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (irisi_gemm_places_meet(x, &places[i])) {
            *at = (const void *)places[i].first;
            return names[i][which > 0];
        }
    return NULL;
}

/* The name of a matrix or vector that is read and overlaps with `x`, and where it stands; null: none does. */
static const char *irisi_gemm_reads_from(const iris_gemm_plan *p, const irisi_gemm_place *x, const void **at)
{
    const uint64_t bias =
        iris_dtype_bytes(irisi_gemm_types_of((iris_dtype)p->operands.dtype, (iris_dtype)p->operands.c_dtype)->bias);
    const uint32_t a_rows = irisi_gemm_own_a_rows(p), a_cols = irisi_gemm_own_a_columns(p);
    const uint32_t rows = irisi_gemm_own_c_rows(p), columns = irisi_gemm_own_c_columns(p);
    const void *other = p->operands.beta != 0 && p->operands.residual != p->operands.c ? p->operands.residual : NULL;
    const struct {
        const char *name;
        irisi_gemm_place place;
    } inputs[] = {
        {"a", irisi_gemm_place_of(p->operands.a, a_rows, a_cols, p->operands.lda, p->operands.element)},
        {"scale_a", irisi_gemm_place_of(p->operands.scale_a, 1, p->operands.scale_a_step ? p->m : 1, 1,
                                        sizeof *p->operands.scale_a)},
        {"scale_c", irisi_gemm_place_of(p->operands.scale_c, 1, 1, 1, sizeof *p->operands.scale_c)},
        {"residual", irisi_gemm_place_of(other, rows, columns, p->operands.ldr, p->operands.c_element)},
        {"weight", irisi_gemm_place_of(p->norm.weight, 1, p->n, p->n, p->operands.c_element)},
    };
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (irisi_gemm_places_meet(x, &inputs[i].place)) {
            *at = (const void *)inputs[i].place.first;
            return inputs[i].name;
        }
    for (uint32_t i = 0; i <= p->several.count; i++) {
        const char *name = irisi_gemm_reads_from_matrix(p, i, bias, x, at);
        if (name != NULL)
            return name;
    }
    return NULL;
}

/* Refuses norms, codes and scales that overlap with C, with each other, or with what is read. */
static iris_status irisi_gemm_check_norms_apart(iris_world *w, const iris_gemm_plan *p)
{
    for (int i = 0; i < IRISI_GEMM_NORM_PLACES; i++) {
        const irisi_gemm_place x = irisi_gemm_norm_place(p, i);
        const void *at;
        const char *name = irisi_gemm_written_to(p, &x, i, &at);
        name = name != NULL ? name : irisi_gemm_reads_from(p, &x, &at);
        if (name != NULL)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "iris_gemm_prepare: %s at %p, %llu rows of %llu bytes, and %s at %p have elements in "
                              "common; %s must be apart from all else that is written or read",
                              irisi_gemm_norm_places[i], (const void *)x.first, (unsigned long long)x.rows,
                              (unsigned long long)x.row_bytes, name, at, irisi_gemm_norm_places[i]);
    }
    return IRIS_OK;
}

/* Refuses a C that overlaps with what is read to compute it, or with another C. */
static iris_status irisi_gemm_check_apart(iris_world *w, const iris_gemm_plan *p)
{
    for (uint32_t i = 0; i <= p->several.count; i++) {
        const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, i);
        const irisi_gemm_place c = irisi_gemm_place_of_c(p, i);
        const void *at = NULL;
        const char *name = irisi_gemm_reads_from(p, &c, &at);
        for (uint32_t j = i + 1; name == NULL && j <= p->several.count; j++) {
            const irisi_gemm_place other = irisi_gemm_place_of_c(p, j);
            at = (const void *)other.first;
            name = irisi_gemm_places_meet(&c, &other) ? "c of more" : NULL;
        }
        if (name != NULL)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "iris_gemm_prepare: %s at %p, %llu x %llu with ldc %llu, and %s at %p have elements in "
                              "common; c must be apart from all that is read for it%s",
                              i ? "c of more" : "c", x.c, (unsigned long long)c.rows,
                              (unsigned long long)(c.row_bytes / p->operands.c_element), (unsigned long long)x.ldc,
                              name, at, p->several.count ? ", and from each other c" : "");
    }
    return irisi_gemm_check_norms_apart(w, p);
}

/* The error for types that have no kernel; `out` is none where it was left open. */
static iris_status irisi_gemm_no_types(iris_world *w, iris_dtype in, iris_dtype out)
{
#define IRISI_GEMM_TYPES_NAME(name, NAME, IN, OUT, BIAS) " " #name
    const int open = out == IRIS_DTYPE_NONE;
    if (iris_dtype_bytes(in) == 0)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: dtype is %d, %s; there are GEMM kernels for:"
                          IRIS_EACH_GEMM(IRISI_GEMM_TYPES_NAME),
                          (int)in, in != IRIS_DTYPE_NONE ? "which does not exist" : "as if it was never set");
    return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                      "iris_gemm_prepare: there is no GEMM kernel for %s%s%s; there are, for A and B or for them and C:"
                      IRIS_EACH_GEMM(IRISI_GEMM_TYPES_NAME),
                      iris_dtype_name(in), open ? "" : " with C in ", open ? "" : iris_dtype_name(out));
#undef IRISI_GEMM_TYPES_NAME
}

/*
 * The name of what the arguments ask for and a BLAS cannot do, or null. Where K is split the library finishes the sums.
 */
static const char *irisi_gemm_beyond_blas(iris_gemm_op op, const iris_gemm_args *g)
{
    if (g->scale_a != NULL || g->scale_b != NULL)
        return "there are scales";
    if (irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_K))
        return NULL;
    if (g->scale_c != NULL)
        return "there are scales";
    if (g->beta != 0 && g->residual != NULL && g->residual != g->c)
        return "there is a residual";
    if (g->gated)
        return "columns are gated";
    for (int i = 0; i < g->n_more; i++)
        if (g->more[i].bias != NULL || g->more[i].scale_b != NULL)
            return g->more[i].bias != NULL ? "there is a bias" : "there are scales";
    return g->bias != NULL                         ? "there is a bias"
           : g->activation != IRIS_ACTIVATION_NONE ? "there is an activation"
                                                   : NULL;
}

/* The speed of a rank's BLAS as irisi_gemm_common has it; 0: the rank cannot use one. */
static uint64_t irisi_gemm_blas_of(iris_gemm_op op, const iris_gemm_args *g)
{
    if (g->pattern != IRIS_GEMM_AUTO && g->pattern != IRIS_GEMM_BLAS_GATHER && irisi_gemm_one_pattern(op))
        return 0; /* another pattern is asked for */
    return g->blas == NULL || irisi_gemm_beyond_blas(op, g) != NULL ? 0 : 1 + (uint64_t)(1e3 * g->blas_tflops);
}

/* Checks the arguments about the caller's BLAS. */
static iris_status irisi_gemm_check_blas(iris_world *w, iris_gemm_op op, const iris_gemm_args *g)
{
    if (!(g->blas_tflops >= 0 && g->blas_tflops < 1e6))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: blas_tflops is %g; it must be from 0 to 10^6",
                          g->blas_tflops);
    if (g->pattern != IRIS_GEMM_BLAS_GATHER || irisi_gemm_blas_of(op, g) != 0)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "iris_gemm_prepare: blas_gather needs blas, and is alpha * A * B + beta * C alone: %s",
                      g->blas == NULL ? "blas is null" : irisi_gemm_beyond_blas(op, g));
}

/* Refuses arguments that belong to another operation. */
static iris_status irisi_gemm_check_op(iris_world *w, iris_gemm_op op, const iris_gemm_args *g)
{
    if (op != IRIS_GEMM_LOCAL && g->band)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: band is for IRIS_GEMM_LOCAL; what a rank computes of %s follows from "
                          "the operation",
                          irisi_gemm_op_names[op]);
    if (op == IRIS_GEMM_LOCAL && g->pattern != IRIS_GEMM_AUTO && g->pattern != IRIS_GEMM_BLAS_GATHER)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: pattern is %s, but a GEMM alone has nothing to send; leave it 0, or "
                          "blas_gather for the caller's BLAS",
                          iris_gemm_pattern_name(g->pattern));
    if (g->pattern == IRIS_GEMM_COPY_ENGINE && !irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: pattern is copy_engine, by which A is gathered: it is for all_gather "
                          "alone, not for %s",
                          irisi_gemm_op_names[op]);
    if (g->a_transposed && irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: a_transposed is not for %s, which gathers rows of an m x k A: give a as "
                          "own rows x k",
                          irisi_gemm_op_names[op]);
    if (op == IRIS_GEMM_LOCAL && g->comm_workgroups > 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: comm_workgroups is %u, but a GEMM alone has nothing to send; leave it 0",
                          g->comm_workgroups);
    if (g->residual != NULL && g->beta == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: there is a residual, but beta is 0, so that it would count for nothing");
    return IRIS_OK;
}

/* Checks what the arguments say of norms, but for pointers. */
static iris_status irisi_gemm_check_norm(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *g)
{
    const iris_dtype c = irisi_gemm_types_of(dtype, g->c_dtype)->out;
    if (!irisi_gemm_op_is(op, IRISI_GEMM_OPS_NORMS)) {
        const int quantizes = g->quant_out != NULL || g->ldquant_out || g->scale_out != NULL || g->quant_dtype;
        const int normalizes = g->out != NULL || g->ldout || g->weight != NULL || g->epsilon != 0;
        if (!quantizes && !normalizes && !g->sequence_parallel)
            return IRIS_OK;
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s for all_reduce_rmsnorm; %s has no norm",
                          quantizes    ? "quant_out, ldquant_out, scale_out and quant_dtype are"
                          : normalizes ? "out, ldout, weight and epsilon are"
                                       : "sequence_parallel is",
                          irisi_gemm_op_names[op]);
    }
    if (g->quant_dtype != IRIS_DTYPE_NONE && g->quant_dtype != IRIS_F8E4M3 && g->quant_dtype != IRIS_F8E4M3FNUZ)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: quant_dtype is %s (%d); norms are quantised to f8e4m3 or f8e4m3fnuz",
                          iris_dtype_name(g->quant_dtype), (int)g->quant_dtype);
    if (c != IRIS_F16 && c != IRIS_BF16 && c != IRIS_F32)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: %s is for a C of f16, bf16 or f32, not of %s", irisi_gemm_op_names[op],
                          iris_dtype_name(c));
    if (irisi_nan_f32(g->epsilon) || g->epsilon < 0 || g->epsilon > 1e30f)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: epsilon is %g; it must be from 0 to 1e30", (double)g->epsilon);
    return IRIS_OK;
}

/* Checks what is asked where columns are pairs; the types are sound. */
static iris_status irisi_gemm_check_gated(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *g)
{
    const iris_dtype c = irisi_gemm_types_of(dtype, g->c_dtype)->out;
    const int made = irisi_gemm_types_of(dtype, IRIS_F32) != NULL && (c == dtype || c == IRIS_F32);
    if (!g->gated)
        return IRIS_OK;
    if (irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_K))
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: gated is for operations whose sums one rank has whole: local, "
                          "all_scatter and all_gather, not for %s",
                          irisi_gemm_op_names[op]);
    if (!made)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: gated is for A and B of f16, bf16 or f32, and a C of the same or of f32, "
                          "not for %s",
                          irisi_gemm_types_of(dtype, c)->name);
    if (g->plain_mainloop)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: gated is for the library's kernels, not for your own, which write C by "
                          "themselves; leave plain_mainloop 0");
    if (g->n % 2 != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: n is %lld, but gated columns are pairs: it must be even",
                          (long long)g->n);
    if (g->beta != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: beta is %g, but a gated C is not read; it must be 0", g->beta);
    return IRIS_OK;
}

/* Checks the type of partial sums; the types of A, B and C are sound. */
static iris_status irisi_gemm_check_reduce_dtype(iris_world *w, iris_gemm_op op, iris_dtype dtype,
                                                 const iris_gemm_args *g)
{
    const iris_dtype c = irisi_gemm_types_of(dtype, g->c_dtype)->out, own = irisi_gemm_slot_dtype(c);
    const int wider = c == dtype && irisi_gemm_types_of(dtype, IRIS_F32) != NULL;
    if (g->reduce_dtype == IRIS_DTYPE_NONE)
        return IRIS_OK;
    if (!irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_K))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: reduce_dtype is for operations that add up partial sums of ranks; %s has "
                          "none",
                          irisi_gemm_op_names[op]);
    if (g->reduce_dtype == own)
        return IRIS_OK;
    if (g->reduce_dtype == IRIS_F32 && wider && g->plain_mainloop)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: reduce_dtype f32 of a narrower C is for the library's kernels, not for "
                          "your own; leave plain_mainloop or reduce_dtype 0");
    if (g->reduce_dtype == IRIS_F32 && wider)
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                      "iris_gemm_prepare: reduce_dtype is %s (%d), but partial sums of %s are %s%s",
                      iris_dtype_name(g->reduce_dtype), (int)g->reduce_dtype, irisi_gemm_types_of(dtype, c)->name,
                      iris_dtype_name(own), wider ? " or f32" : "");
}

/* Checks what is said of further matrices B, but for pointers to them. */
static iris_status irisi_gemm_check_more(iris_world *w, iris_gemm_op op, const iris_gemm_args *g)
{
    int64_t n = g->n;
    if (g->n_more == 0 && g->more == NULL)
        return IRIS_OK;
    if (g->n_more < 1 || g->n_more > IRIS_GEMM_MOST_MORE || g->more == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: n_more is %d, and more is %s; pass 1 to %d further matrices, or leave "
                          "both 0",
                          g->n_more, g->more ? "there" : "null", IRIS_GEMM_MOST_MORE);
    if (op != IRIS_GEMM_LOCAL && !irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS))
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED, "iris_gemm_prepare: more is for local and all_gather, not for %s",
                          irisi_gemm_op_names[op]);
    if (g->gated || g->band || g->plain_mainloop || g->beta != 0) /* own kernels do not look for a tile's matrix */
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "iris_gemm_prepare: with more there is no %s; leave it 0, or make a plan for each b",
                          g->gated            ? "gated"
                          : g->band           ? "band"
                          : g->plain_mainloop ? "plain_mainloop"
                                              : "beta");
    for (int i = 0; i < g->n_more; i++) {
        if (g->more[i].n < 1 || g->more[i].n > INT32_MAX)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "iris_gemm_prepare: n of more[%d] is %lld; it must be from 1 to 2147483647", i,
                              (long long)g->more[i].n);
        n += g->more[i].n;
    }
    if (n > INT32_MAX / 2) /* the schedule counts each matrix's columns in whole tiles */
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: n of all matrices is %lld together; it must be at most %d", (long long)n,
                          INT32_MAX / 2);
    return IRIS_OK;
}

/* Checks how the rows of the gathered A lie, which the caller asks for; m, k and the types are sound. */
static iris_status irisi_gemm_check_gathered(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *g)
{
    const uint64_t element = iris_dtype_bytes(dtype), pitch = (uint64_t)g->ld_gathered * element;
    if (g->gathered == NULL && g->ld_gathered == 0)
        return IRIS_OK;
    if (!irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: gathered and ld_gathered are for all_gather; %s gathers no A",
                          irisi_gemm_op_names[op]);
    if (g->ld_gathered == 0)
        return IRIS_OK;
    if (g->ld_gathered < g->k)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: ld_gathered is %lld, less than the %lld elements of a row of the "
                          "gathered A",
                          (long long)g->ld_gathered, (long long)g->k);
    if (irisi_gemm_span(g->m, g->k, g->ld_gathered, element) == 0 || (uint64_t)g->ld_gathered > INT64_MAX / element)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: gathered with %lld rows of ld_gathered %lld exceeds 2^63 bytes",
                          (long long)g->m, (long long)g->ld_gathered);
    if (pitch % 16 != 0 || pitch > IRISI_GEMM_MOST_PITCH)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: ld_gathered is %lld, so that rows of the gathered A are %llu bytes "
                          "apart; it must be a multiple of 16, at most %llu",
                          (long long)g->ld_gathered, (unsigned long long)pitch,
                          (unsigned long long)IRISI_GEMM_MOST_PITCH);
    return IRIS_OK;
}

/* Checks the arguments that are not pointers: sizes and choices. */
static iris_status irisi_gemm_check_values(iris_world *w, iris_gemm_op op, iris_dtype dtype, const iris_gemm_args *g)
{
    if ((unsigned)op >= IRISI_GEMM_OPS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: operation %d does not exist", (int)op);
    if (irisi_gemm_types_of(dtype, g->c_dtype) == NULL)
        return irisi_gemm_no_types(w, dtype, g->c_dtype);
    const int64_t least = irisi_gemm_op_is(op, IRISI_GEMM_OPS_SPLIT_K) ? 0 : 1; /* of k */
    if (g->m < 1 || g->n < 1 || g->k < least || g->m > INT32_MAX || g->n > INT32_MAX || g->k > INT32_MAX)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: m, n, k are %lld, %lld, %lld; each must be from 1 to 2147483647%s",
                          (long long)g->m, (long long)g->n, (long long)g->k, least ? "" : ", k also 0");
    if ((unsigned)g->pattern > IRIS_GEMM_COPY_ENGINE)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: pattern %d does not exist; there are 1 to %d, and 0 leaves it open",
                          (int)g->pattern, IRIS_GEMM_COPY_ENGINE);
    if ((unsigned)g->activation >= IRIS_ACTIVATIONS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: activation %d does not exist; there are 0 to %d",
                          (int)g->activation, IRIS_ACTIVATIONS - 1);
    if (g->zero_alpha != 0 && g->zero_alpha != 2 && g->alpha != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: zero_alpha says that alpha is 0, but alpha is %g; set one of them",
                          g->alpha);
    if (g->workgroups == 1 && (g->pattern == IRIS_GEMM_WG_SPECIALIZED || g->pattern == IRIS_GEMM_PRODUCER_CONSUMER ||
                               g->pattern == IRIS_GEMM_COPY_ENGINE))
        return irisi_fail(w, IRIS_ERR_GRID, "iris_gemm_prepare: %s needs 2 or more workgroups, but workgroups is 1",
                          iris_gemm_pattern_name(g->pattern));
    if (g->workgroups > 65535 || g->comm_workgroups > 65534 ||
        (g->comm_workgroups > 0 && g->workgroups > 0 && g->comm_workgroups >= g->workgroups))
        return irisi_fail(w, IRIS_ERR_GRID,
                          "iris_gemm_prepare: %u workgroups, %u of them to send, cannot be: at most 65535, and one or "
                          "more must compute",
                          g->workgroups, g->comm_workgroups);
    iris_status s = irisi_gemm_check_op(w, op, g);
    if (s == IRIS_OK)
        s = irisi_gemm_check_norm(w, op, dtype, g);
    if (s == IRIS_OK)
        s = irisi_gemm_check_gated(w, op, dtype, g);
    if (s == IRIS_OK)
        s = irisi_gemm_check_reduce_dtype(w, op, dtype, g);
    if (s == IRIS_OK)
        s = irisi_gemm_check_more(w, op, g);
    if (s == IRIS_OK)
        s = irisi_gemm_check_gathered(w, op, dtype, g);
    return s == IRIS_OK ? irisi_gemm_check_blas(w, op, g) : s;
}

/* Refuses a matrix that all ranks write and that does not lie in the heap. */
static iris_status irisi_gemm_check_symmetric(iris_world *w, const char *name, const void *at, uint64_t bytes)
{
    if (iris_is_symmetric(w, at, bytes))
        return IRIS_OK;
    return irisi_fail(w, IRIS_ERR_ARGUMENT,
                      "iris_gemm_prepare: %s must lie in the symmetric heap, so that peers can write it: its %llu "
                      "bytes at %p do not; allocate it with iris_malloc",
                      name, (unsigned long long)bytes, at);
}

/* Bytes from the first to behind the last of the m x n elements that every rank has of norms or their codes. */
static uint64_t irisi_gemm_span_of_all(const iris_gemm_plan *p, uint64_t ld, uint64_t element)
{
    return irisi_gemm_span(p->m, p->n, (int64_t)ld, element);
}

/* Checks the codes of norms and their scales, and what must be there where none are asked for. */
static iris_status irisi_gemm_check_quant(iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g)
{
    if (p->norm.quant_out == NULL) {
        if (g->scale_out == NULL && g->ldquant_out == 0 && g->quant_dtype == IRIS_DTYPE_NONE)
            return IRIS_OK;
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: scale_out, ldquant_out or quant_dtype is set, but quant_out is a null "
                          "pointer; pass %u x %u bytes, or leave the others 0",
                          p->m, p->n);
    }
    if (p->norm.scale_out == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: scale_out is a null pointer; quant_out needs %u floats there", p->m);
    iris_status s = irisi_gemm_check_matrix(w, "quant_out", p->norm.quant_out, p->m, p->n,
                                            (int64_t)p->norm.ldquant_out, 1);
    if (s == IRIS_OK)
        s = irisi_gemm_check_vector(w, "scale_out", p->norm.scale_out, sizeof *p->norm.scale_out);
    if (s == IRIS_OK)
        s = irisi_gemm_check_symmetric(w, "quant_out", p->norm.quant_out,
                                       irisi_gemm_span_of_all(p, p->norm.ldquant_out, 1));
    return s != IRIS_OK ? s
                        : irisi_gemm_check_symmetric(w, "scale_out", p->norm.scale_out,
                                                     p->m * sizeof *p->norm.scale_out);
}

/* Checks the matrix of norms and the weight, where the operation has them. */
static iris_status irisi_gemm_check_out(iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g)
{
    if (!irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS))
        return IRIS_OK;
    const int owns = irisi_gemm_own_c_rows(p) > 0; /* else there is no sum here */
    if (p->norm.sequence_parallel && owns && p->sums.residual == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: sequence_parallel says that c and residual are this rank's rows, but "
                          "both are null pointers; pass one of them, or leave it 0");
    if (p->sums.beta != 0 && owns && p->sums.residual == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: beta is %g, but there is neither a residual nor a c that it could read",
                          p->sums.beta);
    const int wants_out = p->norm.quant_out == NULL || p->norm.out != NULL;
    iris_status s = IRIS_OK;
    if (!wants_out && owns && p->operands.c == NULL)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT,
                       "iris_gemm_prepare: c and out are null pointers, but sums need one of them until they are "
                       "quantised; pass %u x %u elements",
                       p->m, p->n);
    if (s == IRIS_OK && wants_out)
        s = irisi_gemm_check_matrix(w, "out", p->norm.out, p->m, p->n, (int64_t)p->norm.ldout, p->operands.c_element);
    if (s == IRIS_OK && p->norm.weight == NULL)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: weight is a null pointer; pass %u elements", p->n);
    if (s == IRIS_OK)
        s = irisi_gemm_check_vector(w, "weight", p->norm.weight, p->operands.c_element);
    if (s == IRIS_OK && wants_out)
        s = irisi_gemm_check_symmetric(w, "out", p->norm.out,
                                       irisi_gemm_span_of_all(p, p->norm.ldout, p->operands.c_element));
    return s == IRIS_OK ? irisi_gemm_check_quant(w, p, g) : s;
}

/* Checks the further matrices B of the arguments, and what belongs to each. */
static iris_status irisi_gemm_check_matrices(iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g)
{
    const iris_dtype bias = irisi_gemm_types_of((iris_dtype)p->operands.dtype, (iris_dtype)p->operands.c_dtype)->bias;
    iris_status s = IRIS_OK;
    for (int i = 0; s == IRIS_OK && i < g->n_more; i++) {
        const irisi_gemm_matrix x = irisi_gemm_given(p, g, 1 + i);
        const int64_t rows = p->operands.b_transposed ? x.columns : p->k,
                      cols = p->operands.b_transposed ? p->k : x.columns;
        char b[24], c[24], at[28], scale[32];
        snprintf(b, sizeof b, "b of more[%d]", i), snprintf(c, sizeof c, "c of more[%d]", i);
        snprintf(at, sizeof at, "bias of more[%d]", i), snprintf(scale, sizeof scale, "scale_b of more[%d]", i);
        s = irisi_gemm_check_matrix(w, b, x.b, rows, cols, (int64_t)x.ldb, p->operands.element);
        if (s == IRIS_OK)
            s = irisi_gemm_check_matrix(w, c, x.c, p->m, x.columns, (int64_t)x.ldc, p->operands.c_element);
        if (s == IRIS_OK)
            s = irisi_gemm_check_vector(w, at, x.bias, iris_dtype_bytes(bias));
        if (s == IRIS_OK)
            s = irisi_gemm_check_vector(w, scale, x.scale_b, sizeof *x.scale_b);
    }
    for (uint32_t i = 0; s == IRIS_OK && i < p->several.count; i++) {
        const irisi_gemm_matrix *x = &p->several.more[i];
        const int biases = (x->bias != NULL) == (p->operands.bias != NULL);
        if (!biases || (x->scale_b != NULL) != (p->operands.scale_b != NULL))
            s = irisi_fail(w, IRIS_ERR_ARGUMENT,
                           "iris_gemm_prepare: some of the matrices b have a %s and others have none; give one for "
                           "each, or for none",
                           biases ? "scale_b" : "bias");
    }
    return s;
}

/* Checks the operands; irisi_gemm_check_values has passed. */
static iris_status irisi_gemm_check_operands(iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g)
{
    const int64_t b_rows = p->operands.b_transposed ? p->several.columns : p->k;
    const int64_t b_cols = p->operands.b_transposed ? p->k : p->several.columns;
    const uint32_t rows = irisi_gemm_own_c_rows(p), columns = irisi_gemm_own_c_columns(p);
    iris_status s =
        irisi_gemm_check_matrix(w, "a", p->operands.a, irisi_gemm_own_a_rows(p), irisi_gemm_own_a_columns(p),
                                (int64_t)p->operands.lda, p->operands.element);
    if (s == IRIS_OK)
        s = irisi_gemm_check_matrix(w, "b", p->operands.b, b_rows, b_cols, (int64_t)p->operands.ldb,
                                    p->operands.element);
    const int stores = p->operands.c != NULL || !irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_NORMS); /* C on request */
    if (s == IRIS_OK && stores)
        s = irisi_gemm_check_matrix(w, "c", p->operands.c, rows, columns, (int64_t)p->operands.ldc,
                                    p->operands.c_element);
    if (s == IRIS_OK && rows > 0 && p->operands.residual == p->operands.c && p->operands.ldr != p->operands.ldc)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT,
                       "iris_gemm_prepare: ldr is %lld, but there is no residual: beta reads c, whose ldc is %lld",
                       (long long)p->operands.ldr, (long long)p->operands.ldc);
    if (s == IRIS_OK && p->operands.beta != 0 && p->operands.residual != p->operands.c)
        s = irisi_gemm_check_matrix(w, "residual", p->operands.residual, rows, columns, (int64_t)p->operands.ldr,
                                    p->operands.c_element);
    if (s != IRIS_OK)
        return s;
    const iris_dtype bias = irisi_gemm_types_of((iris_dtype)p->operands.dtype, (iris_dtype)p->operands.c_dtype)->bias;
    s = irisi_gemm_check_vector(w, "bias", p->operands.bias, iris_dtype_bytes(bias));
    if (s == IRIS_OK)
        s = irisi_gemm_check_vector(w, "scale_a", p->operands.scale_a, sizeof *p->operands.scale_a);
    if (s == IRIS_OK)
        s = irisi_gemm_check_vector(w, "scale_b", p->operands.scale_b, sizeof *p->operands.scale_b);
    if (s == IRIS_OK)
        s = irisi_gemm_check_vector(w, "scale_c", p->operands.scale_c, sizeof *p->operands.scale_c);
    if (s == IRIS_OK)
        s = irisi_gemm_check_matrices(w, p, g);
    if (s != IRIS_OK)
        return s;
    if (irisi_gemm_c_on_all(p) && stores)
        s = irisi_gemm_check_symmetric(
            w, "c", p->operands.c, irisi_gemm_span(p->m, columns, (int64_t)p->operands.ldc, p->operands.c_element));
    if (s == IRIS_OK)
        s = irisi_gemm_check_out(w, p, g);
    return s == IRIS_OK ? irisi_gemm_check_apart(w, p) : s;
}

static iris_status irisi_gemm_check_room(iris_world *w, const iris_gemm_plan *p, uint64_t bytes)
{
    if (bytes / 16 > UINT32_MAX) /* kernels count chunks in 32 bits */
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s of %u x %u x %u needs %llu bytes of workspace; at most 2^36 can be",
                          irisi_gemm_op_names[p->op], p->m, p->n, p->k, (unsigned long long)bytes);
    return IRIS_OK;
}

/*
 * Checks the caller's memory for what crosses the ranks, if the operation needs some: the workspace, or the gathered A.
 */
static iris_status irisi_gemm_check_workspace(iris_world *w, const iris_gemm_plan *p, const iris_gemm_args *g)
{
    const uint64_t bytes = irisi_gemm_room(p);
    const iris_status fits = irisi_gemm_check_room(w, p, bytes);
    const int keeps = p->launcher.ld_gathered > 0;
    const char *what = keeps ? "gathered" : "the workspace";
    const void *own = keeps ? g->gathered : g->workspace;
    const size_t own_bytes = keeps ? g->gathered_bytes : g->workspace_bytes;
    const uint32_t aligned = keeps ? 16 : 128;
    if (fits != IRIS_OK)
        return fits;
    if (keeps && own == NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: ld_gathered is %lld, but gathered is null: pass %llu bytes, or leave "
                          "ld_gathered 0",
                          (long long)g->ld_gathered, (unsigned long long)bytes);
    if (own == NULL || bytes == 0)
        return IRIS_OK;
    if (own_bytes < bytes)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s has %zu bytes, but %s of %u x %u x %u needs %llu "
                          "(iris_gemm_workspace_bytes)",
                          what, own_bytes, irisi_gemm_op_names[p->op], p->m, p->n, p->k, (unsigned long long)bytes);
    if ((uintptr_t)own % aligned != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s at %p must be aligned to %u bytes, as iris_malloc's memory is", what,
                          own, aligned);
    if (!iris_is_symmetric(w, own, bytes))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s must lie in the symmetric heap, so that peers can reach it: its %llu "
                          "bytes at %p do not; allocate it with iris_malloc",
                          what, (unsigned long long)bytes, own);
    const uint64_t row = keeps ? irisi_gemm_gathered_row(p->k, p->operands.element) : bytes;
    const irisi_gemm_place room = irisi_gemm_place_of(own, keeps ? p->m : 1, row, irisi_gemm_room_pitch(p), 1);
    const void *at;
    const char *name = irisi_gemm_written_to(p, &room, IRISI_GEMM_NORM_PLACES, &at);
    name = name != NULL ? name : irisi_gemm_reads_from(p, &room, &at);
    if (name != NULL)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_gemm_prepare: %s at %p and %s at %p have bytes in common; keep them apart", name, at,
                          what, own);
    return IRIS_OK;
}

#endif
#endif
