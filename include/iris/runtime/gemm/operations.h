/* SPDX-License-Identifier: MIT */
/*
 * operations.h: a part of init.c: names of operations, and sizes of their matrices and workspace.
 *
 *   irisi_gemm_op_names irisi_gemm_one_pattern irisi_gemm_has_pattern irisi_gemm_sends_packets
 *   irisi_gemm_own_a_rows irisi_gemm_own_a_columns irisi_gemm_own_c_rows irisi_gemm_own_c_columns irisi_gemm_c_on_all
 *   irisi_gemm_matrix_at irisi_gemm_laid
 *   irisi_gemm_slot_dtype irisi_gemm_reduce_dtype irisi_gemm_gathered_row irisi_gemm_room_pitch irisi_gemm_room
 */
#ifndef IRIS_RUNTIME_GEMM_OPERATIONS_H
#define IRIS_RUNTIME_GEMM_OPERATIONS_H
#ifdef IRIS_INIT_C

#include <iris/gemm/plan.h>

#define IRISI_GEMM_OP_NAME(name, NAME) #name,
static const char *const irisi_gemm_op_names[] = {IRIS_EACH_GEMM_OP(IRISI_GEMM_OP_NAME)};
#undef IRISI_GEMM_OP_NAME
enum { IRISI_GEMM_OPS = sizeof irisi_gemm_op_names / sizeof *irisi_gemm_op_names };

/*
 * 1 when AUTO takes one pattern of the operation by rule (irisi_gemm_one_pattern_of), or a BLAS: there is no model of
 * how long its patterns take.
 */
static inline int irisi_gemm_one_pattern(uint32_t op) { return !irisi_gemm_op_is(op, IRISI_GEMM_OPS_SENDS_TILES); }

/* 1 when the operation has kernels of a pattern, as gen/gemm.py has it. */
static inline int irisi_gemm_has_pattern(uint32_t op, uint32_t pattern)
{
    if (pattern == IRIS_GEMM_COPY_ENGINE)
        return irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS);
    return !irisi_gemm_op_is(op, IRISI_GEMM_OPS_NORMS) || pattern == IRIS_GEMM_BULK_SYNCHRONOUS ||
           pattern == IRIS_GEMM_FUSED_SEQUENTIAL || pattern == IRIS_GEMM_BLAS_GATHER;
}

/* 1 when a pattern of the operation can send its tiles, partial sums or rows as packets. */
static inline int irisi_gemm_sends_packets(uint32_t op, uint32_t pattern)
{
    const int apart = pattern == IRIS_GEMM_BULK_SYNCHRONOUS || pattern == IRIS_GEMM_BLAS_GATHER;
    return pattern == IRIS_GEMM_FUSED_SEQUENTIAL ||
           (apart && irisi_gemm_op_is(op, IRISI_GEMM_OPS_GATHERS | IRISI_GEMM_OPS_SPLIT_K));
}

/* The B and C that a plan computes with number `which`: 0 the first, then further ones. */
static inline irisi_gemm_matrix irisi_gemm_matrix_at(const iris_gemm_plan *p, uint32_t which)
{
    irisi_gemm_matrix x;
    if (which > 0)
        return p->several.more[which - 1];
    x.b = p->operands.b, x.c = p->operands.c, x.bias = p->operands.bias, x.scale_b = p->operands.scale_b;
    x.ldb = p->operands.ldb, x.ldc = p->operands.ldc, x.first = 0, x.columns = p->several.columns;
    return x;
}

/* The columns that a rank's schedule has with full tiles of so many: of several B each has whole tiles. */
static inline uint32_t irisi_gemm_laid(const iris_gemm_plan *p, uint32_t rank, uint32_t width)
{
    if (p->several.n[0] == 0)
        return irisi_gemm_columns_of(p, rank);
    uint32_t tiles = (iris_gemm_band(irisi_gemm_first_n(p), p->world, rank).count + width - 1) / width;
    for (int i = 0; i < IRIS_GEMM_MOST_MORE; i++)
        tiles += (iris_gemm_band(p->several.n[i], p->world, rank).count + width - 1) / width;
    return tiles * width;
}

/* Rows and columns of this rank's A and of the first of its C, as the caller has them. */
static inline uint32_t irisi_gemm_own_a_rows(const iris_gemm_plan *p)
{
    if (p->launcher.a_transposed)
        return p->k;
    return irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) ? iris_gemm_shard(p->m, p->world, p->rank).count : p->m;
}
static inline uint32_t irisi_gemm_own_a_columns(const iris_gemm_plan *p)
{
    return p->launcher.a_transposed ? p->m : p->k;
}
static inline uint32_t irisi_gemm_own_c_rows(const iris_gemm_plan *p)
{
    const int scattered = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K & IRISI_GEMM_OPS_SPLIT_M);
    return scattered || p->norm.sequence_parallel ? iris_gemm_shard(p->m, p->world, p->rank).count : p->m;
}
static inline uint32_t irisi_gemm_own_c_columns(const iris_gemm_plan *p)
{
    const int own = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) || p->several.n[0] > 0;
    const uint32_t columns = own ? p->several.columns : p->n;
    return irisi_gemm_gated(p) ? columns / 2 : columns;
}

/* 1 when C is m x n on every rank, in the heap, and written by all. */
static inline int irisi_gemm_c_on_all(const iris_gemm_plan *p)
{
    return irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_C_ON_ALL) && !p->norm.sequence_parallel;
}

/* The type that partial sums are rounded to, by the type of C, unless f32 is asked for: as gen/gemm.py has it. */
static inline iris_dtype irisi_gemm_slot_dtype(iris_dtype c) { return iris_dtype_bytes(c) == 1 ? IRIS_BF16 : c; }

/* The same of a plan. */
static inline iris_dtype irisi_gemm_reduce_dtype(const iris_gemm_plan *p)
{
    return p->launcher.f32_sums ? IRIS_F32 : irisi_gemm_slot_dtype((iris_dtype)p->sums.c_dtype);
}

/* The bytes of a row of A in whole 16 bytes, as a row is gathered. */
static inline uint64_t irisi_gemm_gathered_row(uint64_t k, uint64_t element) { return (k * element + 15) / 16 * 16; }

/*
 * Bytes from row to row of a slot or of the gathered A: whole cache lines, so that no mainloop needs a copy, unless the
 * caller gets the gathered A and says.
 */
static inline uint64_t irisi_gemm_room_pitch(const iris_gemm_plan *p)
{
    if (p->launcher.ld_gathered > 0)
        return p->launcher.ld_gathered * p->operands.element;
    const uint64_t slot = iris_dtype_bytes(irisi_gemm_reduce_dtype(p));
    const uint64_t row = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS)   ? (uint64_t)p->k * p->operands.element
                         : irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K) ? p->n * slot
                                                                           : 0;
    return (row + 127) / 128 * 128;
}

/* Bytes of the workspace: of slots a part for each rank, as long as the longest; or of the caller's gathered A. */
static inline uint64_t irisi_gemm_room(const iris_gemm_plan *p)
{
    const uint64_t pitch = irisi_gemm_room_pitch(p);
    if (p->launcher.ld_gathered > 0) { /* what is beside the last row may be another's */
        const uint64_t row = irisi_gemm_gathered_row(p->k, p->operands.element);
        return p->m - 1 > (UINT64_MAX - row) / pitch ? UINT64_MAX : (p->m - 1) * pitch + row;
    }
    const int slots = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K);
    const uint64_t rows = slots ? (uint64_t)p->world * irisi_gemm_slot_rows(p) : p->m;
    return pitch > 0 && rows > UINT64_MAX / pitch ? UINT64_MAX : rows * pitch;
}

#endif
#endif
