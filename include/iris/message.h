/* SPDX-License-Identifier: MIT */
/*
 * message.h: messages between two ranks, in pieces, through the receiver's scratch.
 *
 *   irisi_exchange irisi_message_fits
 *
 * <iris/gen/send_recv.h> has the typed functions. A slice of a channel carries, in each direction between two ranks, a
 * stream of pieces: piece k lies in bank k & 1, where every sender has a row of its own, and is announced by a counter.
 * The receiver copies it out and says so; the sender may be two pieces ahead. Counters go on from call to call, so
 * messages follow each other without any other meeting. A channel that carries messages is used for nothing else. In
 * checked mode the message's length goes ahead of each piece.
 */
#ifndef IRIS_MESSAGE_H
#define IRIS_MESSAGE_H

#include <iris/collective.h>

#if IRIS_HAS_DEVICE

/* An own counter of a row, read by every lane. */
IRIS_DEVICE uint64_t irisi_message_count(const iris_slice *s, irisi_slice_row row, int rank)
{
    return irisi_atomic_fetch_u64(&irisi_slice_word(s, row, rank)->value, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* Bytes ahead of each piece. */
enum { IRISI_MESSAGE_HEAD = IRISI_CHECKED ? 16 : 0 };

/* 1, and in checked mode only where the piece is of a message of `whole` bytes; else that is reported: waits end. */
IRIS_DEVICE int irisi_message_fits(const iris_slice *s, const char *piece, uint64_t whole, int from)
{
    if (!IRISI_CHECKED)
        return 1;
    const uint64_t sent = irisi_load_64(piece, IRIS_CACHE_DEFAULT);
    if (sent != whole)
        irisi_slice_fault(s, IRISI_FAULT_BYTES, from, whole, sent);
    return sent == whole;
}

/*
 * Sends `out` bytes at src to rank `to` and receives `in` bytes from rank `from` into dst, a piece of each in turn, so
 * that ranks that send to each other do not wait for each other. A rank of -1: nothing in that direction. `whole`: of
 * the message whose part on this slice this is, all bytes. All own memory; dst and src apart. Every lane of the
 * workgroup calls it.
 */
IRIS_DEVICE void irisi_exchange(const iris_slice *s, void *dst, size_t in, int from, const void *src, size_t out,
                                int to, size_t whole)
{
    const size_t row_bytes = s->half / (uint32_t)s->ctx->world / 16 * 16, room = row_bytes - IRISI_MESSAGE_HEAD;
    uint64_t sent = to < 0 ? 0 : irisi_message_count(s, IRISI_ROW_SENT, to);
    uint64_t received = from < 0 ? 0 : irisi_message_count(s, IRISI_ROW_RECEIVED, from);
    const size_t most = (to < 0 || in > out) && from >= 0 ? in : out;
    for (size_t done = 0; done < most; done += room) {
        if (to >= 0 && done < out) {
            const size_t now = out - done < room ? out - done : room;
            char *row = irisi_slice_scratch(s, ++sent) + (size_t)s->ctx->rank * row_bytes;
            if (sent > 2)
                irisi_slice_wait(s, IRISI_ROW_TAKEN, sent - 2, to);
            row = (char *)irisi_translate(s->ctx, row, to);
            if (IRISI_CHECKED && iris_wg_lane() == 0)
                irisi_store_64(row, whole, IRIS_CACHE_DEFAULT);
            irisi_copy_wg(row + IRISI_MESSAGE_HEAD, (const char *)src + done, now);
            irisi_slice_raise(s, IRISI_ROW_MOVED, sent, to);
        }
        if (from >= 0 && done < in) {
            const size_t now = in - done < room ? in - done : room;
            const char *row = irisi_slice_scratch(s, ++received) + (size_t)from * row_bytes;
            irisi_slice_wait(s, IRISI_ROW_MOVED, received, from);
            if (!irisi_message_fits(s, row, whole, from))
                break;
            irisi_copy_wg((char *)dst + done, row + IRISI_MESSAGE_HEAD, now);
            irisi_slice_raise(s, IRISI_ROW_TAKEN, received, from);
        }
    }
    iris_sync_wg();
    if (iris_wg_lane() == 0 && to >= 0)
        irisi_atomic_set_u64(&irisi_slice_word(s, IRISI_ROW_SENT, to)->value, sent, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    if (iris_wg_lane() == 0 && from >= 0)
        irisi_atomic_set_u64(&irisi_slice_word(s, IRISI_ROW_RECEIVED, from)->value, received, IRIS_RELAXED,
                             IRIS_SCOPE_AGENT);
}

#endif
#endif
