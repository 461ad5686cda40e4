/* SPDX-License-Identifier: MIT */
/*
 * message.h: messages between two ranks, in pieces, through the receiver's scratch.
 *
 *   irisi_exchange
 *
 * <iris/gen/send_recv.h> has the typed functions. A slice of a channel carries, in each direction between two ranks, a
 * stream of pieces: piece k lies in bank k & 1, where every sender has a row of its own, and is announced by a counter.
 * The receiver copies it out and says so; the sender may be two pieces ahead. Counters go on from call to call, so
 * messages follow each other without any other meeting. A channel that carries messages is used for nothing else.
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

/*
 * Sends `out` bytes at src to rank `to` and receives `in` bytes from rank `from` into dst, a piece of each in turn, so
 * that ranks that send to each other do not wait for each other. A rank of -1: nothing in that direction. All own
 * memory; dst and src apart. Every lane of the workgroup calls it.
 */
IRIS_DEVICE void irisi_exchange(const iris_slice *s, void *dst, size_t in, int from, const void *src, size_t out,
                                int to)
{
    const size_t room = s->half / (uint32_t)s->ctx->world / 16 * 16;
    uint64_t sent = to < 0 ? 0 : irisi_message_count(s, IRISI_ROW_SENT, to);
    uint64_t received = from < 0 ? 0 : irisi_message_count(s, IRISI_ROW_RECEIVED, from);
    const size_t most = (to < 0 || in > out) && from >= 0 ? in : out;
    for (size_t done = 0; done < most; done += room) {
        if (to >= 0 && done < out) {
            const size_t now = out - done < room ? out - done : room;
            char *row = irisi_slice_scratch(s, ++sent) + (size_t)s->ctx->rank * room;
            if (sent > 2)
                irisi_slice_wait(s, IRISI_ROW_TAKEN, sent - 2, to);
            irisi_copy_wg(irisi_translate(s->ctx, row, to), (const char *)src + done, now);
            irisi_slice_raise(s, IRISI_ROW_MOVED, sent, to);
        }
        if (from >= 0 && done < in) {
            const size_t now = in - done < room ? in - done : room;
            const char *row = irisi_slice_scratch(s, ++received) + (size_t)from * room;
            irisi_slice_wait(s, IRISI_ROW_MOVED, received, from);
            irisi_copy_wg((char *)dst + done, row, now);
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
