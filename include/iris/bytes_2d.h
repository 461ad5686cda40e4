/* SPDX-License-Identifier: MIT */
/*
 * bytes_2d.h: copies of boxes: rows of any length and alignment, a pitch apart, by a lane, a wave or a workgroup.
 *
 *   irisi_box irisi_box_of irisi_box_begin irisi_box_on
 *   irisi_copy_box irisi_copy_box_wave irisi_copy_box_wg irisi_copy_box_bytes
 *
 * Where both places and both pitches are multiples of 16 bytes, the lanes share out the 16-byte chunks of all rows as
 * if these followed each other: no lane waits at the end of a row, however narrow rows are. What is left of such rows,
 * and boxes of any other alignment, is copied row by row as bytes.h does, several rows at a time where a row is too
 * short for all lanes.
 */
#ifndef IRIS_BYTES_2D_H
#define IRIS_BYTES_2D_H

#include <iris/bytes.h>

#if IRIS_HAS_DEVICE

/* `rows` rows of `bytes` bytes; each begins `dst_pitch` and `src_pitch` bytes behind the one before. */
typedef struct irisi_box {
    size_t rows, bytes, dst_pitch, src_pitch;
} irisi_box;

/* The box of rows of n elements of `size` bytes; pitches in elements. */
IRIS_DEVICE irisi_box irisi_box_of(size_t rows, size_t n, size_t dst_pitch, size_t src_pitch, size_t size)
{
    irisi_box box;
    box.rows = rows;
    box.bytes = n * size;
    box.dst_pitch = dst_pitch * size;
    box.src_pitch = src_pitch * size;
    return box;
}

/* Where a lane is in a box, and how far on its next chunk is; all in bytes. `over` is added where a row ends. */
typedef struct irisi_box_walk {
    size_t dst, src, column;
    size_t dst_on, src_on, column_on;
    size_t dst_over, src_over, width;
} irisi_box_walk;

/* A walk over chunks first, first + step, …, where rows have `wide` chunks; the only divisions there are. */
IRIS_DEVICE irisi_box_walk irisi_box_begin(const irisi_box *box, uint32_t wide, size_t first, size_t step)
{
    const size_t row = irisi_divide(first, wide), down = irisi_divide(step, wide);
    irisi_box_walk w;
    w.width = 16 * (size_t)wide;
    w.column = 16 * first - row * w.width;
    w.column_on = 16 * step - down * w.width;
    w.dst = row * box->dst_pitch + w.column;
    w.src = row * box->src_pitch + w.column;
    w.dst_on = down * box->dst_pitch + w.column_on;
    w.src_on = down * box->src_pitch + w.column_on;
    w.dst_over = box->dst_pitch - w.width;
    w.src_over = box->src_pitch - w.width; /* rows of src may overlap: the sum is right all the same */
    return w;
}

/* On to the lane's next chunk. */
IRIS_DEVICE void irisi_box_on(irisi_box_walk *w)
{
    w->column += w->column_on;
    const int over = w->column >= w->width;
    w->column -= over ? w->width : 0;
    w->dst += w->dst_on + (over ? w->dst_over : 0);
    w->src += w->src_on + (over ? w->src_over : 0);
}

/* `n` chunks of a lane, at most 4: every load is in flight before the first store. */
IRIS_DEVICE void irisi_copy_box_some(char *dst, const char *src, irisi_box_walk *w, size_t n)
{
    irisi_b128 v[4];
    size_t to[4];
    __builtin_memset(v, 0, sizeof v);
    IRISI_UNROLL
    for (size_t u = 0; u < 4; u++) {
        to[u] = w->dst;
        if (u < n)
            v[u] = irisi_load_128(src + w->src, IRIS_CACHE_DEFAULT);
        irisi_box_on(w);
    }
    IRISI_UNROLL
    for (size_t u = 0; u < 4; u++)
        irisi_loaded(v + u);
    IRISI_UNROLL
    for (size_t u = 0; u < 4; u++)
        if (u < n)
            irisi_store_128(dst + to[u], v[u], IRIS_CACHE_DEFAULT);
}

/* The whole chunks of all rows, `wide` of each; everything is a multiple of 16 bytes. */
IRIS_DEVICE void irisi_copy_box_chunks(char *dst, const char *src, const irisi_box *box, uint32_t wide, size_t member,
                                       size_t members)
{
    const irisi_span s = irisi_split(box->rows * wide, member, members);
    irisi_box_walk w = irisi_box_begin(box, wide, s.first, s.step);
    size_t i = s.first;
    for (; i + 3 * s.step < s.end; i += 4 * s.step)
        irisi_copy_box_some(dst, src, &w, 4);
    if (i < s.end)
        irisi_copy_box_some(dst, src, &w, 1 + (size_t)(i + s.step < s.end) + (size_t)(i + 2 * s.step < s.end));
}

/* Row by row: lanes make teams with a lane for each 16 bytes of a row, and each team takes rows of its own. */
IRIS_DEVICE void irisi_copy_box_rows(char *dst, const char *src, const irisi_box *box, uint32_t member,
                                     uint32_t members)
{
    const size_t chunks = (box->bytes + 15) / 16;
    const uint32_t most = chunks < members ? members / (uint32_t)chunks : 1;
    const uint32_t teams = box->rows < most ? (uint32_t)box->rows : most;
    const uint32_t lanes = members / teams, team = member / lanes;
    if (team >= teams)
        return;
    const irisi_span s = irisi_split(box->rows, team, teams);
    for (size_t row = s.first; row < s.end; row += s.step)
        irisi_copy_bytes(dst + row * box->dst_pitch, src + row * box->src_pitch, box->bytes, member - team * lanes,
                         lanes, IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
}

/*
 * Copies a box, member `member` of `members` lanes doing its share. Any alignment; rows of dst must not overlap each
 * other or src. No order and no meeting of the lanes: callers add those.
 */
IRIS_DEVICE void irisi_copy_box_bytes(void *to, const void *from, irisi_box box, uint32_t member, uint32_t members)
{
    const uintptr_t places = (uintptr_t)to | (uintptr_t)from | (uintptr_t)box.dst_pitch | (uintptr_t)box.src_pitch;
    size_t done = 0;
    if (box.rows == 0 || box.bytes == 0)
        return;
    if (box.rows == 1 || (box.dst_pitch == box.bytes && box.src_pitch == box.bytes)) {
        box.bytes *= box.rows; /* rows follow each other: one long one */
        box.rows = 1;
    } else if (irisi_alignment(places) == 16 && box.bytes >> 36 == 0) { /* chunks of a row are counted by 32 bits */
        done = box.bytes / 16 * 16;
    }
    if (done > 0)
        irisi_copy_box_chunks((char *)to, (const char *)from, &box, (uint32_t)(done / 16), member, members);
    box.bytes -= done;
    if (box.bytes > 0)
        irisi_copy_box_rows((char *)to + done, (const char *)from + done, &box, member, members);
}

/* By one lane, by the lanes of a wave, by the lanes of a workgroup. */
IRIS_DEVICE void irisi_copy_box(void *to, const void *from, irisi_box box)
{
    irisi_copy_box_bytes(to, from, box, 0, 1);
}
IRIS_DEVICE void irisi_copy_box_wave(void *to, const void *from, irisi_box box)
{
    irisi_copy_box_bytes(to, from, box, iris_lane(), irisi_wave_members());
}
IRIS_DEVICE void irisi_copy_box_wg(void *to, const void *from, irisi_box box)
{
    irisi_copy_box_bytes(to, from, box, iris_wg_lane(), iris_wg_lanes());
}

#endif
#endif
