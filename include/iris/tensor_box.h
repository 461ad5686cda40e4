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

#include <iris/bytes_2d.h>
#include <iris/check.h>
#include <iris/collective/share.h>
#include <iris/tensor.h>

/*
 * A box of the last two dimensions, inside the tensor, as a rank sees it, and where the piece begins that comes next. A
 * tensor of one dimension has one row. Dimensions before these are looked at once.
 */
typedef struct irisi_tensor_box {
    const iris_tensor *t;
    const iris_tensor_dim *down, *across; /* the two; `down` null: there is one */
    uint32_t member;                      /* of the team: who has the box, as far as the dimensions before these say */
    int64_t offset;                       /* of its first element in a shard, likewise */
    int64_t row, column;                  /* index of the box's first element; below 0 where the box begins outside */
    int64_t rows_end, left, right;        /* indices behind its last row; of its first column; behind its last */
    int64_t next_row, next_column;
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

/* The box of rows x columns elements from `index` on, without what is outside the tensor, as `rank` sees it. */
IRIS_HOST_DEVICE irisi_tensor_box irisi_tensor_box_of(const iris_tensor *t, const int64_t *index, uint32_t rows,
                                                      uint32_t columns, int rank)
{
    const int last = t->dims - 1;
    irisi_tensor_box box;
    box.t = t, box.across = &t->dim[last], box.down = last > 0 ? box.across - 1 : NULL;
    box.member = irisi_tensor_copy_of(t, rank), box.offset = 0;
    box.row = box.next_row = last > 0 ? index[last - 1] : 0;
    box.column = index[last];
    box.right = irisi_tensor_clip(box.across->size, box.column, columns, &box.left);
    box.next_column = box.left;
    box.rows_end = rows > 0;
    if (last > 0)
        box.rows_end = irisi_tensor_clip(box.down->size, box.row, rows, &box.next_row);
    int inside = box.left < box.right;
    for (int d = 0; d < last - 1; d++) {
        const iris_tensor_dim *dim = &t->dim[d];
        inside &= index[d] >= 0 && index[d] < (int64_t)dim->size;
        if (inside)
            irisi_tensor_step(dim, index[d], &box.member, &box.offset);
    }
    if (!inside)
        box.rows_end = -1;
    return box;
}

/* The piece that comes next; 0 when there is none left. */
IRIS_HOST_DEVICE int irisi_tensor_next(irisi_tensor_box *box, irisi_tensor_piece *piece)
{
    const iris_team *team = &box->t->team;
    const int64_t column = box->next_column, row = box->next_row;
    uint32_t member = box->member;
    if (row >= box->rows_end)
        return 0;
    piece->offset = box->offset;
    const irisi_tensor_range columns = irisi_tensor_step(box->across, column, &member, &piece->offset);
    irisi_tensor_range rows = {0, 1};
    if (box->down != NULL)
        rows = irisi_tensor_step(box->down, row, &member, &piece->offset);
    const int64_t right = (int64_t)columns.first + columns.count, low = (int64_t)rows.first + rows.count;
    const int64_t columns_end = right < box->right ? right : box->right;
    const int64_t rows_end = low < box->rows_end ? low : box->rows_end;
    piece->rank = team->start + (int)member * team->stride;
    piece->row = row - box->row;
    piece->column = column - box->column;
    piece->rows = (uint32_t)(rows_end - row);
    piece->columns = (uint32_t)(columns_end - column);
    box->next_column = columns_end < box->right ? columns_end : box->left;
    if (columns_end == box->right)
        box->next_row = rows_end;
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
