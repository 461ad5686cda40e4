/* SPDX-License-Identifier: MIT */
/*
 * tensor_reshard_kernel.h: a tensor into another layout, piece by piece; behind <iris/gen/launch/tensor.h>.
 *
 *   irisi_tensor_copy_row irisi_tensor_get_line irisi_tensor_get_lines irisi_tensor_pieces
 *
 * Every rank gets what its shard of dst needs, line by line along the last dimension. Slices of the channel, and the
 * waves of their workgroups, share the lines out; a line is a box of src, read from whoever has its parts.
 */
#ifndef IRIS_TENSOR_RESHARD_KERNEL_H
#define IRIS_TENSOR_RESHARD_KERNEL_H

#include <iris/bytes.h>
#include <iris/collective/collective.h>
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

/* Line `line` of the own shard of dst, along the last dimension, by the lanes of a wave. */
IRIS_DEVICE void irisi_tensor_get_line(const irisi_tensor_reshard_args *a, const iris_tensor_shard *shard, size_t line)
{
    const iris_tensor *dst = &a->dst, *src = &a->src;
    const int last = dst->dims - 1;
    const uint32_t element = dst->element;
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
    const size_t dst_step = (size_t)dst->dim[last].stride, src_step = (size_t)src->dim[last].stride;
    irisi_tensor_box box = irisi_tensor_box_of(src, index, 1, (uint32_t)shard->count[last]);
    irisi_tensor_piece p;
    while (irisi_tensor_next(&box, a->ctx.rank, &p)) {
        const char *from = (const char *)src->data + (size_t)p.offset * element;
        const size_t n = irisi_count(&a->ctx, from, p.rank, ((size_t)p.columns - 1) * src_step + 1, element,
                                     IRISI_ACCESS_GET) > 0 ? p.columns : 0;
        irisi_tensor_copy_row((char *)dst->data + (to + (size_t)p.column * dst_step) * element, dst_step * element,
                              (const char *)irisi_translate(&a->ctx, from, p.rank), src_step * element, n, element);
    }
}

/* The lines of one slice of the channel, shared out among the waves of its workgroup. */
IRIS_DEVICE void irisi_tensor_get_lines(const irisi_tensor_reshard_args *a, uint32_t slice)
{
    const iris_tensor_shard shard = iris_tensor_shard_of(&a->dst, a->ctx.rank);
    const size_t waves = (iris_wg_lanes() + iris_wave_lanes() - 1) / iris_wave_lanes();
    size_t lines = shard.count[a->dst.dims - 1] > 0;
    for (int d = 0; d < a->dst.dims - 1; d++)
        lines *= (size_t)shard.count[d];
    for (size_t line = slice * waves + iris_wave(); line < lines; line += a->ch.slices * waves)
        irisi_tensor_get_line(a, &shard, line);
}

/* Each workgroup works on slices of its own: meets, gets, and meets again, so that src may be written. */
IRIS_KERNEL(irisi_tensor_pieces, irisi_tensor_reshard_args, a, IRISI_COLLECTIVE_LANES)
{
    const uint64_t call = irisi_call_of(-1, 0, a->dst.element);
    for (uint32_t slice = iris_workgroup(); slice < a->ch.slices; slice += iris_workgroups()) {
        if (!a->meet) {
            irisi_tensor_get_lines(a, slice);
            continue;
        }
        iris_slice s = iris_slice_enter_wg(&a->ctx, &a->ch, iris_team_world(&a->ctx), slice);
        if (irisi_slice_agree(&s, (size_t)iris_tensor_elements(&a->dst), call)) {
            iris_slice_meet_wg(&s);
            irisi_tensor_get_lines(a, slice);
            irisi_slice_meet_puts(&s);
        }
        iris_slice_leave_wg(&s);
    }
}

#endif
#endif
