/* SPDX-License-Identifier: MIT */
/*
 * share.h: how the elements of a collective are shared out among slices, members and pieces.
 *
 *   irisi_share irisi_line_each irisi_some_slices irisi_slice_each irisi_slice_has irisi_share_of
 *   irisi_even_share irisi_hop_bytes
 */
#ifndef IRIS_COLLECTIVE_SHARE_H
#define IRIS_COLLECTIVE_SHARE_H

#include <iris/bytes.h>
#include <iris/channel.h>
#include <iris/check.h>

/* A slice's share of the elements is whole lines, and at least iris_channel.least bytes, if the message has. */
enum { IRISI_SLICE_LINE = 128 };

/*
 * A message of CROWD bytes and more goes by all slices; a shorter one by the first FEW, and so does any by a schedule
 * that only loads from members, or sends LL packets: more slices make large stores faster, but short messages wait for
 * more meetings, and loads of all slices at once get in each other's way.
 */
enum { IRISI_FEW_SLICES = 64, IRISI_CROWD = 8388608 };

/* Most bytes of a slice that travel at a time along a chain or around, and of a relayed part: see broadcast_chain. */
enum { IRISI_CHAIN_PIECE = 262144, IRISI_RELAY_PIECE = 16384 };

/* Elements first .. first + count - 1. */
typedef struct irisi_share {
    size_t first, count;
} irisi_share;

/* Elements of `bytes` bytes that each of so many parts has: lines, `least` bytes if there are. Of no parts: all. */
IRIS_HOST_DEVICE size_t irisi_line_each(uint32_t least, uint32_t parts, size_t count, size_t bytes)
{
    const size_t line = IRISI_SLICE_LINE / bytes, each = least / bytes;
    if (count <= each * parts)
        return each;
    return parts == 0 ? count : (irisi_divide(count + parts - 1, parts) + line - 1) / line * line;
}
/* Slices of a channel: all, or the first few. */
IRIS_HOST_DEVICE uint32_t irisi_some_slices(const iris_channel *ch, int few)
{
    return few && ch->slices > IRISI_FEW_SLICES ? (uint32_t)IRISI_FEW_SLICES : ch->slices;
}
/* What each slice of a channel has of `count` elements; `few`: of the first few, whatever the length. */
IRIS_HOST_DEVICE size_t irisi_slice_each(const iris_channel *ch, int few, size_t count, size_t bytes)
{
    return irisi_line_each(ch->least, irisi_some_slices(ch, few || count * bytes < IRISI_CROWD), count, bytes);
}
/* Whether a slice has something to do, where each has so many elements; in checked mode the first always has. */
IRIS_HOST_DEVICE int irisi_slice_has(size_t each, uint32_t slice, size_t count)
{
    return slice * each < count || (IRISI_CHECKED && slice == 0);
}
/* The share of a part, where each has so many. */
IRIS_HOST_DEVICE irisi_share irisi_share_of(size_t each, uint32_t part, size_t count)
{
    irisi_share s;
    s.first = part * each;
    s.count = s.first >= count ? 0 : count - s.first < each ? count - s.first : each;
    return s;
}

/* The share of part `part` of `parts` equal ones, cut at multiples of 16 bytes. */
IRIS_HOST_DEVICE irisi_share irisi_even_share(size_t count, uint32_t part, uint32_t parts, size_t bytes)
{
    const size_t grain = 16 / bytes;
    const size_t each = (irisi_divide(count + parts - 1, parts) + grain - 1) / grain * grain;
    return irisi_share_of(each, part, count);
}

/* Bytes of a piece that travels on: links are to be busy soon, signals few. */
IRIS_HOST_DEVICE size_t irisi_hop_bytes(size_t bytes, uint32_t pieces, size_t most)
{
    const size_t some = irisi_divide(bytes, pieces) / 16 * 16, least = 4096;
    return some < least ? least : some < most ? some : most;
}

#endif
