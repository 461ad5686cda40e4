/* SPDX-License-Identifier: MIT */
/*
 * ll.h: messages without signals: each packet is 4 bytes of data and a flag that says they are there.
 *
 *   iris_ll_packet iris_ll_flag iris_ll_packets iris_ll_bank
 *   iris_ll_put iris_ll_put_wave iris_ll_put_wg iris_ll_get iris_ll_get_wave iris_ll_get_wg
 *   iris_ll_send iris_ll_receive iris_ll_barrier_wg
 *
 * Sending costs one store on its way, where data and then a signal cost two and an order between them. In return every
 * message is twice as long. Worth it up to a few KiB, for what is waited for: the last message before an answer.
 *
 * A packet is one relaxed 8-byte atomic of system scope, so data and flag arrive together or not at all. The receiver
 * looks for a flag that equals the one it expects; it needs no acquire, since what it reads is the atomic itself. For
 * the same reason nothing else is ordered: other data needs a signal. Not 16 bytes, which only NVIDIA promises to be
 * single-copy atomic between devices (collective/ll128.h makes use of that), and only as one .b128; LL128 as NCCL does
 * it relies on what NVLink happens to do, which is why NCCL keeps a table of machines where it is safe.
 *
 * Flags and banks. Slots are in sync memory, best in a channel's two banks, and start zeroed: iris_reset, after which
 * epochs begin anew, zeroes a channel's banks and no other slots. Flags come from the epoch and are never 0;
 * consecutive epochs have different flags and different banks. A slot may be written again in epoch e + 2, once its
 * sender knows that the receiver has read epoch e. Where every rank receives, in each epoch, from everyone that it
 * sends to, it knows that: what it received in epoch e + 1 was sent after the peer was done with e. (An empty message
 * is none.) Whoever sends one way only must be told by the receiver, or meet it at a barrier.
 *
 * What passes its deadline, or waits in a world that has stopped, returns all the same, with whatever the slots held.
 * iris_stopped then says 1: a loop that ends by what it receives asks it (iris_stopped_wg for a workgroup) after each
 * iris_ll_get, iris_ll_receive or iris_ll_barrier_wg.
 */
#ifndef IRIS_COLLECTIVE_LL_H
#define IRIS_COLLECTIVE_LL_H

#include <iris/barrier.h>
#include <iris/bytes.h>

/** One packet: data in the low half, flag in the high half. */
typedef struct iris_ll_packet {
    uint64_t bits; /**< read and written by the functions below only */
} iris_ll_packet;

/* Packets of a lane that are looked at together: so many loads are under way at once. */
enum { IRISI_LL_BATCH = 4 };

#if IRIS_HAS_DEVICE

/**
 * @name LL packets
 *
 * A packet carries its data and the flag that says it is there. Putting is one store on its way, getting waits for the
 * flag with the world's deadline, and neither orders anything else. Slots are sync memory, start zeroed, and are
 * written again two epochs later at the earliest.
 *
 * @param ctx   the kernel's context, from iris_device_ctx
 * @param ch    a channel whose banks hold the slots
 * @param epoch the channel's epoch
 * @param slots of a put, symmetric; of a get, own; iris_ll_packets(bytes) of them
 * @param slot  one of them
 * @param src   own memory to send, of any alignment
 * @param dst   own global memory that receives, of any alignment
 * @param bytes length of the message
 * @param value 4 bytes to send
 * @param flag  iris_ll_flag(epoch), the same at both ends
 * @param rank  world rank of the other end
 * @{
 */
/** The flag of an epoch: its low 31 bits, and the top bit so that it is never 0. */
IRIS_HOST_DEVICE uint32_t iris_ll_flag(uint64_t epoch) { return (uint32_t)epoch | 0x80000000u; }
/** Packets of a message of `bytes` bytes: one for each 4 bytes that it begins. */
IRIS_HOST_DEVICE size_t iris_ll_packets(size_t bytes) { return bytes / 4 + (bytes % 4 != 0); }

/** The slots of an epoch: the channel's bank for it. */
IRIS_DEVICE iris_ll_packet *iris_ll_bank(const iris_channel *ch, uint64_t epoch)
{
    return (iris_ll_packet *)(void *)iris_channel_bank(ch, epoch);
}

IRIS_DEVICE void irisi_ll_write(iris_ll_packet *to, uint32_t data, uint32_t flag)
{
    irisi_atomic_set_u64(&to->bits, (uint64_t)flag << 32 | data, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* Up to 4 bytes as a word, and back. `left` bytes are there. */
IRIS_DEVICE uint32_t irisi_ll_gather(const char *from, size_t left)
{
    uint32_t word = 0;
    if (left >= 4 && (uintptr_t)from % 4 == 0)
        return irisi_load_32(from, IRIS_CACHE_DEFAULT);
    for (size_t i = 0; i < 4 && i < left; i++)
        word |= (uint32_t)irisi_load_8(from + i, IRIS_CACHE_DEFAULT) << 8 * i;
    return word;
}
IRIS_DEVICE void irisi_ll_scatter(char *to, uint32_t word, size_t left)
{
    if (left >= 4 && (uintptr_t)to % 4 == 0)
        irisi_store_32(to, word, IRIS_CACHE_DEFAULT);
    else
        for (size_t i = 0; i < 4 && i < left; i++)
            irisi_store_8(to + i, (uint8_t)(word >> 8 * i), IRIS_CACHE_DEFAULT);
}

/* 1 when a packet's flag is the one that is waited for. */
IRIS_DEVICE int irisi_ll_here(uint64_t bits, uint32_t flag) { return bits >> 32 == flag; }

/* A look at `batch` packets (a constant), step apart; of fewer than that the first is looked at again. */
IRIS_DEVICE int irisi_ll_look(const iris_ll_packet *slots, size_t step, size_t n, uint32_t flag, int batch,
                              uint64_t *seen, irisi_wait *wait, uint64_t *saw)
{
    int late = 0;
    for (int k = 0; k < batch; k++)
        seen[k] = irisi_atomic_fetch_u64(&slots[(size_t)k < n ? (size_t)k * step : 0].bits, IRIS_RELAXED,
                                         IRIS_SCOPE_SYSTEM);
    for (int k = 0; k < batch; k++) {
        if (late || irisi_ll_here(seen[k], flag))
            continue;
        late = 1;
        *saw = seen[k] >> 32;
        wait->signal = (const iris_signal *)&slots[(size_t)k < n ? (size_t)k * step : 0];
    }
    return !late;
}

/*
 * Waits until n >= 1 packets, step apart, have the flag; their last values go to seen[0 .. n - 1], of at most `batch`.
 * The first looks at a single packet stand apart, in the shortest loop there is: what comes back to a sender of a few
 * bytes is one packet a lane.
 */
IRIS_DEVICE void irisi_ll_await(const iris_ctx *ctx, const iris_ll_packet *slots, size_t step, size_t n, uint32_t flag,
                                int batch, int from, uint64_t *seen)
{
    uint64_t saw = 0;
    uint32_t turn = 1;
    IRISI_ROLLED
    for (; n == 1 && turn < IRISI_LL_CHECK; turn++) {
        seen[0] = irisi_atomic_fetch_u64(&slots->bits, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        if (irisi_ll_here(seen[0], flag))
            return;
        iris_pause(turn);
    }
    irisi_wait wait = irisi_wait_for((const iris_signal *)slots, IRISI_EQ, flag, from);
    for (; !irisi_ll_look(slots, step, n, flag, batch, seen, &wait, &saw); turn++) {
        if (turn % IRISI_LL_CHECK == 0 && irisi_give_up(ctx, &wait, saw))
            return;
        iris_pause(turn);
    }
}

/* Member `member` of `members` lanes does its share of a put, or of a get. */
IRIS_DEVICE void irisi_ll_put(const iris_ctx *ctx, iris_ll_packet *slots, const void *src, size_t bytes, uint32_t flag,
                              int rank, size_t member, size_t members)
{
    const size_t n = irisi_count(ctx, slots, rank, iris_ll_packets(bytes), sizeof *slots, IRISI_ACCESS_LL);
    iris_ll_packet *to = (iris_ll_packet *)irisi_translate(ctx, slots, rank);
    const irisi_span s = irisi_split(n, member, members);
    for (size_t i = s.first; i < s.end; i += s.step)
        irisi_ll_write(to + i, irisi_ll_gather((const char *)src + 4 * i, bytes - 4 * i), flag);
}

IRIS_DEVICE void irisi_ll_get(const iris_ctx *ctx, void *dst, const iris_ll_packet *slots, size_t bytes, uint32_t flag,
                              int rank, size_t member, size_t members)
{
    const size_t n = irisi_count(ctx, slots, ctx->rank, iris_ll_packets(bytes), sizeof *slots, IRISI_ACCESS_LL);
    const irisi_span s = irisi_split(n, member, members);
    for (size_t i = s.first; i < s.end; i += IRISI_LL_BATCH * s.step) {
        uint64_t seen[IRISI_LL_BATCH];
        size_t left = 1; /* of this batch, counted: a division would stand before the first look */
        while (left < IRISI_LL_BATCH && i + left * s.step < s.end)
            left++;
        irisi_ll_await(ctx, slots + i, s.step, left, flag, IRISI_LL_BATCH, rank, seen);
        for (size_t k = 0; k < IRISI_LL_BATCH; k++)
            if (k < left)
                irisi_ll_scatter((char *)dst + 4 * (i + k * s.step), (uint32_t)seen[k], bytes - 4 * (i + k * s.step));
    }
}

/**
 * Sends `bytes` bytes of own memory as packets to slots on `rank`. One lane calls it. Any length and alignment of src;
 * when it returns, src may be reused. No order with anything else.
 *
 * @param slots symmetric, iris_ll_packets(bytes) of them, in sync memory
 * @param flag  iris_ll_flag(epoch)
 */
IRIS_DEVICE void iris_ll_put(const iris_ctx *ctx, iris_ll_packet *slots, const void *src, size_t bytes, uint32_t flag,
                             int rank)
{
    irisi_ll_put(ctx, slots, src, bytes, flag, rank, 0, 1);
}
/** iris_ll_put by the lanes of a wave. Every lane of the wave calls it. */
IRIS_DEVICE void iris_ll_put_wave(const iris_ctx *ctx, iris_ll_packet *slots, const void *src, size_t bytes,
                                  uint32_t flag, int rank)
{
    irisi_ll_put(ctx, slots, src, bytes, flag, rank, iris_lane(), irisi_wave_members());
}
/** iris_ll_put by the lanes of a workgroup. Every lane of the workgroup calls it. */
IRIS_DEVICE void iris_ll_put_wg(const iris_ctx *ctx, iris_ll_packet *slots, const void *src, size_t bytes,
                                uint32_t flag, int rank)
{
    irisi_ll_put(ctx, slots, src, bytes, flag, rank, iris_wg_lane(), iris_wg_lanes());
}

/**
 * Receives what iris_ll_put of `rank` sent into own slots: waits for each packet's flag, with the world's deadline, and
 * writes the data to `dst`, own global memory of any alignment. One lane calls it. When the wait was given up,
 * iris_stopped says 1 and dst is not to be trusted.
 */
IRIS_DEVICE void iris_ll_get(const iris_ctx *ctx, void *dst, const iris_ll_packet *slots, size_t bytes, uint32_t flag,
                             int rank)
{
    irisi_ll_get(ctx, dst, slots, bytes, flag, rank, 0, 1);
}
/** iris_ll_get by the lanes of a wave, all of which call it; when it returns all of dst may be read by each. */
IRIS_DEVICE void iris_ll_get_wave(const iris_ctx *ctx, void *dst, const iris_ll_packet *slots, size_t bytes,
                                  uint32_t flag, int rank)
{
    irisi_ll_get(ctx, dst, slots, bytes, flag, rank, iris_lane(), irisi_wave_members());
    iris_sync_wave();
}
/** iris_ll_get by the lanes of a workgroup, all of which call it; when it returns all of dst may be read by each. */
IRIS_DEVICE void iris_ll_get_wg(const iris_ctx *ctx, void *dst, const iris_ll_packet *slots, size_t bytes,
                                uint32_t flag, int rank)
{
    irisi_ll_get(ctx, dst, slots, bytes, flag, rank, iris_wg_lane(), iris_wg_lanes());
    iris_sync_wg();
}

/** Sends 4 bytes into one slot on `rank`. One lane calls it. */
IRIS_DEVICE void iris_ll_send(const iris_ctx *ctx, iris_ll_packet *slot, uint32_t value, uint32_t flag, int rank)
{
    irisi_ll_write((iris_ll_packet *)irisi_reach(ctx, slot, rank, sizeof *slot, IRISI_ACCESS_LL), value, flag);
}
/**
 * Waits for 4 bytes that `rank` sends into an own slot, and returns them; anything, when the wait was given up
 * (iris_stopped). One lane calls it.
 */
IRIS_DEVICE uint32_t iris_ll_receive(const iris_ctx *ctx, const iris_ll_packet *slot, uint32_t flag, int rank)
{
    uint64_t seen[IRISI_LL_BATCH];
    slot = (const iris_ll_packet *)irisi_own(ctx, slot, sizeof *slot, IRISI_ACCESS_LL);
    irisi_ll_await(ctx, slot, 0, 1, flag, 1, rank, seen);
    return (uint32_t)seen[0];
}

/**
 * A meeting of the world that orders no data: nobody returns before every rank has called it, and that is all. Every
 * lane of one workgroup on each rank calls it. Where data of before is read after, call iris_barrier_all_wg, or have
 * the data in LL packets too, or stand iris_fence_wg on both sides.
 *
 * @param ch a channel with banks of at least 8 * ctx->world bytes, used for this barrier only
 */
IRIS_DEVICE void iris_ll_barrier_wg(const iris_ctx *ctx, const iris_channel *ch)
{
    const uint64_t epoch = iris_channel_enter_wg(ch);
    iris_ll_packet *slots = iris_ll_bank(ch, epoch);
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        irisi_atomic_set_u64(ch->state + IRISI_EPOCH, epoch, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    for (int rank = (int)iris_wg_lane(); rank < ctx->world; rank += (int)iris_wg_lanes())
        iris_ll_send(ctx, slots + ctx->rank, 0, iris_ll_flag(epoch), rank);
    for (int rank = (int)iris_wg_lane(); rank < ctx->world; rank += (int)iris_wg_lanes())
        iris_ll_receive(ctx, slots + rank, iris_ll_flag(epoch), rank);
    irisi_drain(); /* the epoch has arrived before another wave reads it in the next barrier */
    iris_sync_wg();
}
/** @} */

#endif
#endif
