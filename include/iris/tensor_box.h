/* SPDX-License-Identifier: MIT */
/*
 * tensor_box.h: what kernels do with partitioned tensors, whatever the element type.
 *
 *   irisi_tensor_reach irisi_tensor_reach_vec                where an element is, looked at in checked mode
 *   irisi_tensor_box_of irisi_tensor_next                    a 2-D box as pieces, each in one shard
 *   irisi_tensor_lanes irisi_tensor_lanes_wave irisi_tensor_lanes_wg
 */
#ifndef IRIS_TENSOR_BOX_H
#define IRIS_TENSOR_BOX_H

#include <iris/bytes.h>
#include <iris/check.h>
#include <iris/collective/share.h>
#include <iris/tensor.h>

/* A box of the last two dimensions, inside the tensor, and the piece that comes next. A tensor of one dimension has one
 * row. */
typedef struct irisi_tensor_box {
    const iris_tensor *t;
    int64_t index[IRIS_TENSOR_DIMS]; /* where the next piece begins */
    int64_t row, column;             /* index of the box's first element; below 0 where the box begins outside */
    int64_t rows_end, left, right;   /* indices behind its last row; of its first column; behind its last */
} irisi_tensor_box;

/* What a box has in one shard. */
typedef struct irisi_tensor_piece {
    int rank;               /* the owner */
    int64_t offset;         /* of the first element in its shard */
    int64_t row, column;    /* of the first element in the box */
    uint32_t rows, columns; /* how many */
} irisi_tensor_piece;

/* The indices [*first, end) of [at, at + n) that are inside; where there are none, end is at most *first. */
IRIS_HOST_DEVICE int64_t irisi_tensor_clip(uint32_t size, int64_t at, uint32_t n, int64_t *first)
{
    const int64_t end = at + (int64_t)n;
    *first = at > 0 ? at : 0;
    return end < (int64_t)size ? end : (int64_t)size;
}

/* The box of rows x columns elements from `index` on, without what is outside the tensor. */
IRIS_HOST_DEVICE irisi_tensor_box irisi_tensor_box_of(const iris_tensor *t, const int64_t *index, uint32_t rows,
                                                      uint32_t columns)
{
    const int last = t->dims - 1;
    irisi_tensor_box box;
    box.t = t;
    box.row = last > 0 ? index[last - 1] : 0;
    box.column = index[last];
    for (int d = 0; d < t->dims; d++)
        box.index[d] = index[d];
    box.right = irisi_tensor_clip(t->dim[last].size, index[last], columns, &box.left);
    box.index[last] = box.left;
    box.rows_end = rows > 0;
    if (last > 0)
        box.rows_end = irisi_tensor_clip(t->dim[last - 1].size, index[last - 1], rows, &box.index[last - 1]);
    int inside = box.left < box.right;
    for (int d = 0; d < last - 1; d++)
        inside &= index[d] >= 0 && index[d] < (int64_t)t->dim[d].size;
    if (!inside)
        box.rows_end = -1;
    return box;
}

/* The piece that comes next, as `rank` sees it; 0 when there is none left. */
IRIS_HOST_DEVICE int irisi_tensor_next(irisi_tensor_box *box, int rank, irisi_tensor_piece *piece)
{
    const iris_tensor *t = box->t;
    const int last = t->dims - 1;
    const int64_t column = box->index[last], row = last > 0 ? box->index[last - 1] : box->row;
    if (row >= box->rows_end)
        return 0;
    const irisi_tensor_place place = irisi_tensor_find(t, box->index, rank);
    const iris_tensor_dim *across = &t->dim[last], *down = &t->dim[last > 0 ? last - 1 : 0];
    const irisi_tensor_range columns = irisi_tensor_block(across, irisi_tensor_part(across, (uint32_t)column));
    const irisi_tensor_range rows = irisi_tensor_block(down, irisi_tensor_part(down, (uint32_t)row));
    const int64_t right = (int64_t)columns.first + columns.count, low = (int64_t)rows.first + rows.count;
    const int64_t columns_end = right < box->right ? right : box->right;
    const int64_t rows_end = last == 0 ? 1 : low < box->rows_end ? low : box->rows_end;
    piece->rank = place.rank;
    piece->offset = place.offset;
    piece->row = row - box->row;
    piece->column = column - box->column;
    piece->rows = (uint32_t)(rows_end - row);
    piece->columns = (uint32_t)(columns_end - column);
    box->index[last] = columns_end < box->right ? columns_end : box->left;
    if (columns_end == box->right && last > 0)
        box->index[last - 1] = rows_end;
    else if (columns_end == box->right)
        box->rows_end = -1;
    return 1;
}

#if IRIS_HAS_DEVICE

#if IRISI_CHECKED

/* Reports an index of dimension `d`, and gives a place on no rank, where the access does nothing. */
IRIS_DEVICE irisi_tensor_place irisi_tensor_refuse(const iris_ctx *ctx, const iris_tensor *t, int d, int64_t index,
                                                   irisi_fault fault)
{
    irisi_tensor_place nowhere;
    nowhere.rank = -1, nowhere.offset = 0;
    irisi_report *report = irisi_claim(ctx);
    if (report == NULL)
        return nowhere;
    report->fault = (uint32_t)fault;
    report->workgroup = iris_workgroup();
    report->workgroups = iris_workgroups();
    report->from = ctx->rank;
    report->items = (uint64_t)d;
    report->expected = t->dim[d].size;
    report->seen = (uint64_t)index;
    irisi_publish(ctx, report);
    return nowhere;
}

#endif

/* Where an element is. Checked mode refuses an index outside the tensor. */
IRIS_DEVICE irisi_tensor_place irisi_tensor_reach(const iris_ctx *ctx, const iris_tensor *t, const int64_t *index)
{
#if IRISI_CHECKED
    for (int d = 0; d < t->dims; d++)
        if (index[d] < 0 || index[d] >= (int64_t)t->dim[d].size)
            return irisi_tensor_refuse(ctx, t, d, index[d], IRISI_FAULT_INDEX);
#endif
    return irisi_tensor_find(t, index, ctx->rank);
}

/* Where 16 bytes are. Checked mode refuses what iris_tensor_vec_fits does not take. */
IRIS_DEVICE irisi_tensor_place irisi_tensor_reach_vec(const iris_ctx *ctx, const iris_tensor *t, const int64_t *index)
{
    const irisi_tensor_place place = irisi_tensor_reach(ctx, t, index);
#if IRISI_CHECKED
    if (place.rank >= 0 && !iris_tensor_vec_fits(t, index))
        return irisi_tensor_refuse(ctx, t, t->dims - 1, index[t->dims - 1], IRISI_FAULT_VECTOR);
#endif
    return place;
}

/* How a piece is copied: rows of vectors where shard and buffer allow them, then the elements that are left. */
typedef struct irisi_tensor_shape {
    size_t down, across;    /* elements of the shard from row to row, from column to column */
    uint32_t vectors, rest; /* of a row */
} irisi_tensor_shape;

/* `shard` and `buffer`: where the piece begins in each; rows of the buffer are `pitch` elements apart. */
IRIS_DEVICE irisi_tensor_shape irisi_tensor_shape_of(const iris_tensor *t, const irisi_tensor_piece *p,
                                                     const void *shard, const void *buffer, size_t pitch, size_t size)
{
    const uint32_t n = (uint32_t)(16 / size);
    irisi_tensor_shape s;
    s.across = (size_t)t->dim[t->dims - 1].stride;
    s.down = t->dims > 1 ? (size_t)t->dim[t->dims - 2].stride : 0;
    const uintptr_t rows = p->rows > 1 ? (s.down | pitch) * size : 0;
    const int aligned = (((uintptr_t)shard | (uintptr_t)buffer | rows) & 15) == 0;
    s.vectors = aligned && s.across == 1 ? p->columns / n : 0;
    s.rest = p->columns - s.vectors * n;
    return s;
}

/* The lanes that carry something out together: which one the caller is, of how many. */
typedef struct irisi_tensor_group {
    size_t member, members;
} irisi_tensor_group;

IRIS_DEVICE irisi_tensor_group irisi_tensor_lanes(void)
{
    irisi_tensor_group g;
    g.member = 0, g.members = 1;
    return g;
}
IRIS_DEVICE irisi_tensor_group irisi_tensor_lanes_wave(void)
{
    irisi_tensor_group g;
    g.member = iris_lane(), g.members = irisi_wave_members();
    return g;
}
IRIS_DEVICE irisi_tensor_group irisi_tensor_lanes_wg(void)
{
    irisi_tensor_group g;
    g.member = iris_wg_lane(), g.members = iris_wg_lanes();
    return g;
}

#endif
#endif
