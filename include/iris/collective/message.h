/* SPDX-License-Identifier: MIT */
/*
 * message.h: messages between two ranks, in pieces, through the receiver's scratch.
 *
 *   irisi_exchange irisi_exchange_rows, and parts of them: irisi_message_count irisi_message_verdict
 *   irisi_message_reached irisi_message_may_go irisi_message_has_come irisi_message_rows irisi_message_at
 *   irisi_copy_packed_wg
 *
 * <iris/gen/send_recv.h> and <iris/gen/send_recv_2d.h> have the typed functions. A slice of a channel carries, in each
 * direction between two ranks, a stream of pieces: piece k lies in bank k & 1, where every sender has a row of its own,
 * and is announced by a counter. The receiver copies it out and says so; the sender may be two pieces ahead. Counters
 * go on from call to call, so messages follow each other without any other meeting. A channel that carries messages is
 * used for nothing else. In checked mode a head goes ahead of each piece: both ends' files are compiled alike.
 */
#ifndef IRIS_COLLECTIVE_MESSAGE_H
#define IRIS_COLLECTIVE_MESSAGE_H

#include <iris/bytes_2d.h>
#include <iris/collective/collective.h>

#if IRIS_HAS_DEVICE

/* An own counter of a row, read by every lane. */
IRIS_DEVICE uint64_t irisi_message_count(const iris_slice *s, irisi_slice_row row, int rank)
{
    return irisi_atomic_fetch_u64(&irisi_slice_word(s, row, rank)->value, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* Bytes ahead of each piece: the message's length, and which piece it is. */
enum { IRISI_MESSAGE_HEAD = IRISI_CHECKED ? 16 : 0 };

/*
 * What lane 0 says, for every lane. In checked mode waits end once something was reported; what was waited for may be
 * there for one lane and not for another then, but all of a workgroup must go on alike.
 */
IRIS_DEVICE int irisi_message_verdict(const iris_slice *s, int right)
{
    uint64_t *own = &irisi_slice_word(s, IRISI_WORD_COUNT, s->ctx->rank)->value;
    if (iris_wg_lane() == 0)
        irisi_atomic_set_u64(own, right != 0, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    irisi_drain(); /* it has arrived before another wave reads it */
    iris_sync_wg();
    return irisi_atomic_fetch_u64(own, IRIS_RELAXED, IRIS_SCOPE_AGENT) != 0;
}
/* Whether `rank` has set its word of a row to `value` indeed. */
IRIS_DEVICE int irisi_message_reached(const iris_slice *s, irisi_slice_row row, uint64_t value, int rank)
{
    return irisi_atomic_fetch_u64(&irisi_slice_word(s, row, rank)->value, IRIS_ACQUIRE, IRIS_SCOPE_SYSTEM) >= value;
}

/* Waits until piece `sent` may go to `row`, which is the receiver's. 0, in checked mode: something was reported. */
IRIS_DEVICE int irisi_message_may_go(const iris_slice *s, char *row, uint64_t whole, uint64_t sent, int to)
{
    int right = iris_wg_lane() == 0;
    if (sent > 2)
        irisi_slice_wait(s, IRISI_WORD_TAKEN, sent - 2, to);
    if (!IRISI_CHECKED)
        return 1;
    right = right && (sent <= 2 || irisi_message_reached(s, IRISI_WORD_TAKEN, sent - 2, to));
    if (right) {
        irisi_store_64(row, whole, IRIS_CACHE_DEFAULT);
        irisi_store_64(row + 8, sent, IRIS_CACHE_DEFAULT);
    }
    return irisi_message_verdict(s, right);
}
/* Waits until piece `received` is in `row`. 0, in checked mode: not of a message so long, or something was reported. */
IRIS_DEVICE int irisi_message_has_come(const iris_slice *s, const char *row, uint64_t whole, uint64_t received,
                                       int from)
{
    int right = iris_wg_lane() == 0;
    irisi_slice_wait(s, IRISI_WORD_MOVED, received, from);
    if (!IRISI_CHECKED)
        return 1;
    right = right && irisi_message_reached(s, IRISI_WORD_MOVED, received, from) &&
            irisi_load_64(row + 8, IRIS_CACHE_DEFAULT) == received;
    const uint64_t sent = right ? irisi_load_64(row, IRIS_CACHE_DEFAULT) : whole;
    if (sent != whole)
        irisi_slice_fault(s, IRISI_FAULT_BYTES, from, whole, sent);
    return irisi_message_verdict(s, right && sent == whole);
}

/* A message's place in own memory: rows of `bytes` bytes, `pitch` bytes apart, and how far it has been moved. */
typedef struct irisi_message_rows {
    char *row;     /* the first that has not been moved */
    size_t column; /* bytes of it that have */
    size_t bytes, pitch;
} irisi_message_rows;

/* Moves the next `count` bytes of a message to (`pack`, a constant), or from, the contiguous bytes at `packed`. */
IRIS_DEVICE void irisi_copy_packed_wg(irisi_message_rows *m, char *packed, size_t count, int pack)
{
    IRISI_ROLLED
    while (count > 0) { /* what is left of a row, whole rows, a part of the last */
        const int part = m->column > 0 || count < m->bytes || m->bytes >> 32; /* rows so long: one at a time */
        const size_t left = m->bytes - m->column;
        irisi_box box;
        box.rows = part ? 1 : irisi_divide(count, (uint32_t)m->bytes);
        box.bytes = part && count < left ? count : left;
        box.dst_pitch = pack ? box.bytes : m->pitch;
        box.src_pitch = pack ? m->pitch : box.bytes;
        irisi_copy_box_wg(pack ? packed : m->row + m->column, pack ? m->row + m->column : packed, box);
        packed += box.rows * box.bytes;
        count -= box.rows * box.bytes;
        m->column += box.bytes;
        m->row += m->column == m->bytes ? box.rows * m->pitch : 0;
        m->column = m->column == m->bytes ? 0 : m->column;
    }
}

/*
 * Sends `out` bytes of src to rank `to` and receives `in` bytes from rank `from` into dst, a piece of each in turn, so
 * that ranks that send to each other do not wait for each other. A rank of -1: nothing in that direction. `whole`: of
 * the message whose part on this slice this is, all bytes. `packed`, a constant: dst and src are rows; else they are
 * contiguous. All own memory; dst and src apart. Every lane of the workgroup calls it.
 */
IRIS_DEVICE void irisi_exchange_rows(const iris_slice *s, irisi_message_rows dst, size_t in, int from,
                                     irisi_message_rows src, size_t out, int to, size_t whole, int packed)
{
    const size_t row_bytes = s->half / (uint32_t)s->ctx->world / 16 * 16, room = row_bytes - IRISI_MESSAGE_HEAD;
    uint64_t sent = to < 0 ? 0 : irisi_message_count(s, IRISI_WORD_SENT, to);
    uint64_t received = from < 0 ? 0 : irisi_message_count(s, IRISI_WORD_RECEIVED, from);
    const size_t most = (to < 0 || in > out) && from >= 0 ? in : out;
    for (size_t done = 0; done < most; done += room) {
        if (to >= 0 && done < out) {
            const size_t now = out - done < room ? out - done : room;
            char *own = irisi_slice_scratch(s, ++sent) + (size_t)s->ctx->rank * row_bytes;
            char *row = (char *)irisi_translate(s->ctx, own, to);
            const int goes = irisi_message_may_go(s, row, whole, sent, to);
            if (packed)
                irisi_copy_packed_wg(&src, row + IRISI_MESSAGE_HEAD, goes ? now : 0, 1);
            else
                irisi_copy_wg(row + IRISI_MESSAGE_HEAD, src.row + done, goes ? now : 0);
            irisi_slice_raise(s, IRISI_WORD_MOVED, sent, to);
        }
        if (from >= 0 && done < in) {
            const size_t now = in - done < room ? in - done : room;
            char *row = irisi_slice_scratch(s, ++received) + (size_t)from * row_bytes;
            const int came = irisi_message_has_come(s, row, whole, received, from);
            if (packed)
                irisi_copy_packed_wg(&dst, row + IRISI_MESSAGE_HEAD, came ? now : 0, 0);
            else
                irisi_copy_wg(dst.row + done, row + IRISI_MESSAGE_HEAD, came ? now : 0);
            irisi_slice_raise(s, IRISI_WORD_TAKEN, received, from);
        }
    }
    iris_sync_wg();
    if (iris_wg_lane() == 0 && to >= 0)
        irisi_atomic_set_u64(&irisi_slice_word(s, IRISI_WORD_SENT, to)->value, sent, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    if (iris_wg_lane() == 0 && from >= 0)
        irisi_atomic_set_u64(&irisi_slice_word(s, IRISI_WORD_RECEIVED, from)->value, received, IRIS_RELAXED,
                             IRIS_SCOPE_AGENT);
}

/* A message's rows at p; one row of `bytes` bytes where there are no others. */
IRIS_DEVICE irisi_message_rows irisi_message_at(const void *p, size_t bytes, size_t pitch)
{
    irisi_message_rows m;
    m.row = (char *)(uintptr_t)p;
    m.column = 0;
    m.bytes = bytes;
    m.pitch = pitch;
    return m;
}

/* The same of contiguous memory. */
IRIS_DEVICE void irisi_exchange(const iris_slice *s, void *dst, size_t in, int from, const void *src, size_t out,
                                int to, size_t whole)
{
    irisi_exchange_rows(s, irisi_message_at(dst, in, 0), in, from, irisi_message_at(src, out, 0), out, to, whole, 0);
}

#endif
#endif
