/* SPDX-License-Identifier: MIT */
/*
 * tensor_reshard_kernel.h: a tensor into another layout, piece by piece; behind <iris/gen/launch/tensor.h>.
 *
 *   irisi_tensor_copy_row irisi_tensor_zero_row irisi_tensor_get_piece irisi_tensor_get_line irisi_tensor_get_lines
 *   irisi_tensor_pieces irisi_tensor_sums
 *
 * Every rank gets what its shard of dst needs, line by line along the last dimension. Slices of the channel, and the
 * waves of their workgroups, share the lines out; a line is a box of src, read from whoever has its parts. Of a partial
 * src everybody's partial sums are read.
 */
#ifndef IRIS_TENSOR_RESHARD_KERNEL_H
#define IRIS_TENSOR_RESHARD_KERNEL_H

#include <iris/bytes.h>
#include <iris/collective/collective.h>
#include <iris/gen/tensor_sum.h>
#include <iris/tensor_box.h>
#include <iris/tensor_reshard.h>

#if IRIS_HAS_DEVICE

/* One element of 1, 2, 4 or 8 bytes, or a row of them without gaps, by the lanes of a wave. */
IRIS_DEVICE void irisi_tensor_copy_row(char *dst, size_t dst_step, const char *src, size_t src_step, size_t n,
                                       uint32_t element)
{
    if (dst_step == element && src_step == element) {
        irisi_copy_wave(dst, src, n * element);
        return;
    }
    for (size_t i = iris_lane(); i < n; i += iris_wave_lanes())
        irisi_copy_unit(dst + i * dst_step, src + i * src_step, element, IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
}

/* A row of zeroes, likewise. */
IRIS_DEVICE void irisi_tensor_zero_row(char *dst, size_t step, size_t n, uint32_t element)
{
    for (size_t i = iris_lane(); i < n; i += iris_wave_lanes()) {
        if (element == 1)
            irisi_store_8(dst + i * step, 0, IRIS_CACHE_DEFAULT);
        else if (element == 2)
            irisi_store_16(dst + i * step, 0, IRIS_CACHE_DEFAULT);
        else if (element == 4)
            irisi_store_32(dst + i * step, 0, IRIS_CACHE_DEFAULT);
        else
            irisi_store_64(dst + i * step, 0, IRIS_CACHE_DEFAULT);
    }
}

/* Elements of a row of src that checked mode lets a rank read: all of them or none. */
IRIS_DEVICE size_t irisi_tensor_readable(const irisi_tensor_reshard_args *a, const char *from, int rank, size_t n)
{
    const size_t step = (size_t)a->src.dim[a->src.dims - 1].stride;
    return irisi_count(&a->ctx, from, rank, (n - 1) * step + 1, a->src.element, IRISI_ACCESS_GET) > 0 ? n : 0;
}

/* A piece of a line: a row of src at the same place of one rank, or of all that have a partial sum of it. */
IRIS_DEVICE void irisi_tensor_get_piece(const irisi_tensor_reshard_args *a, const irisi_tensor_piece *p, char *to,
                                        int sums)
{
    const iris_tensor *src = &a->src;
    const uint32_t element = src->element;
    const size_t dst_step = (size_t)a->dst.dim[src->dims - 1].stride, src_step = (size_t)src->dim[src->dims - 1].stride;
    const char *from = (const char *)src->data + (size_t)p->offset * element;
    size_t n = p->columns;
    if (sums) {
        irisi_tensor_summands all;
        all.first = from, all.step = src_step, all.rank = p->rank;
        all.ahead = src->members * src->team.stride, all.n = src->copies;
        for (int k = 0; k < all.n && n > 0; k++)
            n = irisi_tensor_readable(a, from, all.rank + k * all.ahead, n);
        irisi_tensor_sum_row(src->dtype, &a->ctx, to, dst_step, &all, n);
    } else if (a->keep && p->rank != a->ctx.rank) {
        irisi_tensor_zero_row(to, dst_step * element, n, element);
    } else {
        n = irisi_tensor_readable(a, from, p->rank, n);
        irisi_tensor_copy_row(to, dst_step * element, (const char *)irisi_translate(&a->ctx, from, p->rank),
                              src_step * element, n, element);
    }
}

/* Line `line` of the own shard of dst, along the last dimension, by the lanes of a wave. */
IRIS_DEVICE void irisi_tensor_get_line(const irisi_tensor_reshard_args *a, const iris_tensor_shard *shard, size_t line,
                                       int sums)
{
    const iris_tensor *dst = &a->dst;
    const int last = dst->dims - 1, reader = sums || a->keep ? -1 : a->ctx.rank; /* -1 reads the first copy */
    int64_t index[IRIS_TENSOR_DIMS];
    size_t to = 0;
    for (int d = last - 1; d >= 0; d--) {
        const size_t count = (size_t)shard->count[d], rest = irisi_divide(line, (uint32_t)count);
        const size_t at = line - rest * count;
        index[d] = shard->first[d] + (int64_t)at;
        to += at * (size_t)dst->dim[d].stride;
        line = rest;
    }
    index[last] = shard->first[last];
    irisi_tensor_box box = irisi_tensor_box_of(&a->src, index, 1, (uint32_t)shard->count[last], reader);
    irisi_tensor_piece p;
    while (irisi_tensor_next(&box, &p)) {
        const size_t at = to + (size_t)p.column * (size_t)dst->dim[last].stride;
        irisi_tensor_get_piece(a, &p, (char *)dst->data + at * dst->element, sums);
    }
}

/* The lines of one slice of the channel, shared out among the waves of its workgroup. */
IRIS_DEVICE void irisi_tensor_get_lines(const irisi_tensor_reshard_args *a, uint32_t slice, int sums)
{
    const iris_tensor_shard shard = iris_tensor_shard_of(&a->dst, a->ctx.rank);
    const size_t waves = (iris_wg_lanes() + iris_wave_lanes() - 1) / iris_wave_lanes();
    size_t lines = shard.count[a->dst.dims - 1] > 0;
    for (int d = 0; d < a->dst.dims - 1; d++)
        lines *= (size_t)shard.count[d];
    for (size_t line = slice * waves + iris_wave(); line < lines; line += a->ch.slices * waves)
        irisi_tensor_get_line(a, &shard, line, sums);
}

/* Each workgroup works on slices of its own: meets, gets, and meets again, so that src may be written. */
IRIS_DEVICE void irisi_tensor_get(const irisi_tensor_reshard_args *a, int sums)
{
    const uint64_t call = irisi_call_of(-1, 0, a->dst.element);
    for (uint32_t slice = iris_workgroup(); slice < a->ch.slices; slice += iris_workgroups()) {
        if (!a->meet) {
            irisi_tensor_get_lines(a, slice, sums);
            continue;
        }
        iris_slice s = iris_slice_enter_wg(&a->ctx, &a->ch, iris_team_world(&a->ctx), slice);
        if (irisi_slice_agree(&s, (size_t)iris_tensor_elements(&a->dst), call)) {
            iris_slice_meet_wg(&s);
            irisi_tensor_get_lines(a, slice, sums);
            irisi_slice_meet_puts(&s);
        }
        iris_slice_leave_wg(&s);
    }
}

IRIS_KERNEL(irisi_tensor_pieces, irisi_tensor_reshard_args, a, IRISI_COLLECTIVE_LANES) { irisi_tensor_get(a, 0); }
IRIS_KERNEL(irisi_tensor_sums, irisi_tensor_reshard_args, a, IRISI_COLLECTIVE_LANES) { irisi_tensor_get(a, 1); }

#endif
#endif
