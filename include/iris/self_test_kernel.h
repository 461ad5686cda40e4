/* SPDX-License-Identifier: MIT */
/*
 * self_test_kernel.h: the device side of iris_self_test; self_test.h includes it where kernels are asked for.
 *
 *   irisi_self_test irisi_self_test_cells irisi_self_test_word
 *   irisi_self_test_write irisi_self_test_verify irisi_self_test_sender irisi_self_test_receiver
 *
 * A machine that fails must not stop the world, so nothing here waits with the library's deadline: every wait has the
 * launch's patience, and only a signal that is there already is then waited for in the library's way.
 */
#ifndef IRIS_SELF_TEST_KERNEL_H
#define IRIS_SELF_TEST_KERNEL_H

#include <iris/iris.h>

enum {
    IRISI_SELF_TEST_LANES = 128,
    IRISI_SELF_TEST_QUAD = 4,    /* words written to each rank for the check of translation */
    IRISI_SELF_TEST_WORDS = 2048, /* of a message */
    IRISI_SELF_TEST_SLOTS = 2,   /* messages on their way at once */
    IRISI_SELF_TEST_ROUNDS = 600,
    IRISI_SELF_TEST_ECHOES = 100,
    IRISI_SELF_TEST_CALLS = 12800 /* of each atomic by each side: enough to overlap where lanes are few */
};

/* Two ranks' shared counters, on the rank that is written to. */
typedef struct irisi_self_test_cells {
    uint64_t add, cas, xchg, balance; /* balance: what exchanges put in, less what they got out */
    uint32_t narrow, pad[7];
} irisi_self_test_cells;

/* Whose side of a pair a note is about. */
enum { IRISI_SELF_TEST_IN, IRISI_SELF_TEST_OUT };

/* How a check ended: running out of patience says nothing of the machine but that it is slow, or silent. */
typedef enum irisi_self_test_end {
    IRISI_SELF_TEST_PASSED,
    IRISI_SELF_TEST_FAILED,
    IRISI_SELF_TEST_LATE,
    IRISI_SELF_TEST_ENDS
} irisi_self_test_end;

/* Arguments of every kernel here. Symmetric memory has one element for each peer. */
typedef struct irisi_self_test {
    iris_ctx ctx;
    uint32_t *written;            /* data: [from][to], a quad each: what `from` stored here for `to` */
    uint32_t *own;                /* data: [reader], a quad each: what this rank holds for `reader` to load */
    uint32_t *slots;              /* data: [sender], messages */
    uint32_t *message;            /* own memory: the message that is put */
    iris_signal *arrived, *taken; /* [sender]: messages sent; [receiver]: messages checked */
    uint32_t *echo[2];            /* by kind, [sender] there and [receiver] back */
    irisi_self_test_cells *cells; /* [sender] */
    uint32_t *wrong;              /* own memory, [sender]: words of messages that were wrong */
    uint32_t *notes;              /* own memory, [in, out][irisi_self_test_end][peer]: bits of checks */
    uint64_t patience;            /* ticks of iris_clock that a launch may take */
    int to, from;                 /* whom this rank sends to and receives from in this launch; -1: nobody */
} irisi_self_test;

#if IRIS_HAS_DEVICE

/* What word i of the k-th thing that `from` writes for `to` holds. */
IRIS_DEVICE uint32_t irisi_self_test_word(uint32_t k, int from, int to, uint32_t i)
{
    return ((k * 4099u + (uint32_t)from) * 4099u + (uint32_t)to) * 1031u + i + 1;
}

/* One lane calls it. */
IRIS_DEVICE void irisi_self_test_note(const irisi_self_test *a, int side, int peer, iris_self_test_check check,
                                      irisi_self_test_end end)
{
    a->notes[(IRISI_SELF_TEST_ENDS * side + (int)end) * a->ctx.world + peer] |= 1u << check;
}
IRIS_DEVICE irisi_self_test_end irisi_self_test_in_time(int done)
{
    return done ? IRISI_SELF_TEST_PASSED : IRISI_SELF_TEST_LATE;
}
IRIS_DEVICE irisi_self_test_end irisi_self_test_right(int right)
{
    return right ? IRISI_SELF_TEST_PASSED : IRISI_SELF_TEST_FAILED;
}

/*
 * Everyone writes for everyone, here and there. Every rank of the world runs it before anyone verifies. What is in the
 * own heap is never translated: an address that is wrong in the same way twice would not show.
 */
IRIS_DEVICE void irisi_self_test_write(const irisi_self_test *a)
{
    const int world = a->ctx.world, me = a->ctx.rank;
    for (int peer = (int)iris_wg_lane(); peer < world; peer += (int)iris_wg_lanes()) {
        for (uint32_t i = 0; i < IRISI_SELF_TEST_QUAD; i++) {
            iris_store_u32(&a->ctx, a->written + (me * world + peer) * IRISI_SELF_TEST_QUAD + i,
                           irisi_self_test_word(0, me, peer, i), peer);
            irisi_store_32(a->own + peer * IRISI_SELF_TEST_QUAD + i, irisi_self_test_word(1, me, peer, i),
                           IRIS_CACHE_DEFAULT);
        }
    }
}

IRIS_DEVICE void irisi_self_test_verify(const irisi_self_test *a)
{
    const int world = a->ctx.world, me = a->ctx.rank;
    for (int peer = (int)iris_wg_lane(); peer < world; peer += (int)iris_wg_lanes()) {
        int stored = 1, loaded = 1;
        for (uint32_t i = 0; i < IRISI_SELF_TEST_QUAD; i++) {
            stored &= irisi_load_32(a->written + (peer * world + me) * IRISI_SELF_TEST_QUAD + i, IRIS_CACHE_DEFAULT) ==
                      irisi_self_test_word(0, peer, me, i);
            loaded &= iris_load_u32(&a->ctx, a->own + me * IRISI_SELF_TEST_QUAD + i, peer) ==
                      irisi_self_test_word(1, peer, me, i);
        }
        irisi_self_test_note(a, IRISI_SELF_TEST_IN, peer, IRIS_SELF_TEST_TRANSLATION, irisi_self_test_right(stored));
        irisi_self_test_note(a, IRISI_SELF_TEST_OUT, peer, IRIS_SELF_TEST_TRANSLATION, irisi_self_test_right(loaded));
    }
}

/* 0 when the launch has lasted too long, or the world has stopped: looked at once in IRISI_WAIT_CHECK turns. */
IRIS_DEVICE int irisi_self_test_patient(const irisi_self_test *a, uint32_t turn, uint64_t start)
{
    if (turn % IRISI_WAIT_CHECK != IRISI_WAIT_CHECK - 1)
        return 1;
    return irisi_atomic_fetch_u32(&a->ctx.control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == 0 &&
           !irisi_passed(start, iris_clock(), a->patience);
}

/* What lane 0 of the workgroup found, for all of its lanes. */
IRIS_DEVICE int irisi_self_test_notify(int found)
{
    uint32_t *shared = (uint32_t *)iris_shared();
    iris_sync_wg(); /* everyone has read the last one */
    if (iris_wg_lane() == 0)
        *shared = (uint32_t)found;
    iris_sync_wg();
    return (int)*shared;
}

/* 1 when none of the workgroup's lanes has found anything. Every lane of it calls. */
IRIS_DEVICE int irisi_self_test_none(int found)
{
    uint32_t *shared = (uint32_t *)iris_shared();
    iris_sync_wg(); /* everyone has read the last one */
    if (iris_wg_lane() == 0)
        irisi_shared_set(shared, 0);
    iris_sync_wg();
    if (found)
        irisi_shared_add(shared, 1);
    iris_sync_wg();
    return irisi_shared_get(shared) == 0;
}

/* 1 once the own signal has come to `value`, and everything before it may be read; 0 when patience ends first. */
IRIS_DEVICE int irisi_self_test_await(const irisi_self_test *a, const iris_signal *signal, uint64_t value,
                                      uint64_t start)
{
    int here = 0;
    for (uint32_t turn = 0; iris_wg_lane() == 0 && !here && irisi_self_test_patient(a, turn, start); turn++) {
        here = irisi_poll(&signal->value) >= value;
        if (!here)
            iris_pause(turn);
    }
    here = irisi_self_test_notify(here);
    if (here)
        iris_wait_ge_wg(&a->ctx, signal, value);
    return here;
}

/* Messages by three ways in turn: put by a workgroup (16 bytes a lane), stores by its lanes, put by one lane. */
IRIS_DEVICE int irisi_self_test_send(const irisi_self_test *a, uint64_t start)
{
    const iris_ctx *ctx = &a->ctx;
    iris_signal *arrived = a->arrived + ctx->rank;
    for (uint32_t k = 1; k <= IRISI_SELF_TEST_ROUNDS; k++) {
        uint32_t *slot = a->slots + ((uint32_t)ctx->rank * IRISI_SELF_TEST_SLOTS + k % IRISI_SELF_TEST_SLOTS) *
                                        IRISI_SELF_TEST_WORDS;
        if (!irisi_self_test_await(a, a->taken + a->to, k > IRISI_SELF_TEST_SLOTS ? k - IRISI_SELF_TEST_SLOTS : 0,
                                   start))
            return 0;
        for (uint32_t i = iris_wg_lane(); i < IRISI_SELF_TEST_WORDS; i += iris_wg_lanes()) {
            const uint32_t word = irisi_self_test_word(k, ctx->rank, a->to, i);
            if (k % 3 == 1)
                iris_store_u32(ctx, slot + i, word, a->to);
            else
                a->message[i] = word;
        }
        iris_sync_wg(); /* the message is whole before anyone puts it */
        if (k % 3 == 1)
            iris_signal_set_wg(ctx, arrived, k, a->to);
        else if (k % 3 == 0)
            iris_put_signal_u32_wg(ctx, slot, a->message, IRISI_SELF_TEST_WORDS, arrived, k, IRIS_SIGNAL_SET, a->to);
        else if (iris_wg_lane() == 0)
            iris_put_signal_u32(ctx, slot, a->message, IRISI_SELF_TEST_WORDS, arrived, k, IRIS_SIGNAL_SET, a->to);
    }
    return irisi_self_test_await(a, a->taken + a->to, IRISI_SELF_TEST_ROUNDS, start);
}

/* Whether every message came, whole; `silent` is 1 when one did not come: then one before may have been wrong. */
IRIS_DEVICE irisi_self_test_end irisi_self_test_receive(const irisi_self_test *a, uint64_t start, int *silent)
{
    const iris_ctx *ctx = &a->ctx;
    uint32_t *wrong = a->wrong + a->from;
    *silent = 0;
    for (uint32_t k = 1; k <= IRISI_SELF_TEST_ROUNDS && !*silent; k++) {
        const uint32_t *slot = a->slots + ((uint32_t)a->from * IRISI_SELF_TEST_SLOTS + k % IRISI_SELF_TEST_SLOTS) *
                                              IRISI_SELF_TEST_WORDS;
        uint32_t bad = 0;
        *silent = !irisi_self_test_await(a, a->arrived + a->from, k, start);
        for (uint32_t i = iris_wg_lane(); i < IRISI_SELF_TEST_WORDS && !*silent; i += iris_wg_lanes())
            bad += irisi_load_32(slot + i, IRIS_CACHE_DEFAULT) != irisi_self_test_word(k, a->from, ctx->rank, i);
        if (bad)
            irisi_atomic_add_u32(wrong, bad, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        if (!*silent)
            iris_signal_set_wg(ctx, a->taken + ctx->rank, k, a->from);
    }
    irisi_drain();
    iris_sync_wg();
    if (irisi_atomic_fetch_u32(wrong, IRIS_RELAXED, IRIS_SCOPE_AGENT) != 0)
        return IRISI_SELF_TEST_FAILED;
    return irisi_self_test_in_time(!*silent);
}

/* Numbers there and back through memory of a kind, with no signal and no end of a kernel. 1 when all came back. */
IRIS_DEVICE int irisi_self_test_echo(const irisi_self_test *a, iris_mem_kind kind, int sends, uint64_t start)
{
    const int world = a->ctx.world, me = a->ctx.rank, peer = sends ? a->to : a->from;
    uint32_t *there = a->echo[kind], *back = there + world;
    const uint32_t *mine = sends ? back + peer : there + peer;
    uint32_t *theirs = (uint32_t *)irisi_translate(&a->ctx, sends ? there + me : back + me, peer);
    uint32_t k = 0;
    for (uint32_t turn = 0; iris_wg_lane() == 0 && k < IRISI_SELF_TEST_ECHOES; turn++) {
        if (sends && turn == 0)
            irisi_atomic_set_u32(theirs, k + 1, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        if (irisi_atomic_fetch_u32(mine, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) == k + 1) {
            k++;
            turn = (uint32_t)-1; /* the next one's first turn */
            if (!sends)
                irisi_atomic_set_u32(theirs, k, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        } else if (irisi_self_test_patient(a, turn, start)) {
            iris_pause(turn);
        } else {
            break;
        }
    }
    return irisi_self_test_notify(k == IRISI_SELF_TEST_ECHOES);
}

/* The sender's lanes and the owner's, at the owner's counters. 1 when the calling workgroup has made all its calls. */
IRIS_DEVICE int irisi_self_test_fight(const irisi_self_test *a, int sender, int owner, uint64_t start)
{
    const iris_ctx *ctx = &a->ctx;
    irisi_self_test_cells *c = a->cells + sender;
    const uint32_t calls = IRISI_SELF_TEST_CALLS / iris_wg_lanes();
    uint64_t balance = 0;
    uint32_t turn = 0;
    int missed = 0; /* a call that was given up: the sum says nothing then */
    for (uint32_t n = 0; n < calls; n++) {
        const uint64_t mine = ((uint64_t)(owner == ctx->rank ? 1 : 2) << 32) + iris_grid_lane() * calls + n;
        iris_atomic_add_u64(ctx, &c->add, (uint64_t)1 << 20, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_atomic_add_u32(ctx, &c->narrow, 3, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        balance += mine - iris_atomic_xchg_u64(ctx, &c->xchg, mine, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        uint64_t seen = iris_atomic_fetch_u64(ctx, &c->cas, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        while (iris_lane() == 0 && !missed) { /* a lane a wave: enough to collide */
            const uint64_t now =
                iris_atomic_cas_u64(ctx, &c->cas, seen, seen + 1, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
            if (now == seen)
                break;
            seen = now;
            missed = !irisi_self_test_patient(a, turn++, start);
        }
    }
    iris_atomic_add_u64(ctx, &c->balance, balance, owner, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    return irisi_self_test_none(missed);
}

/* The owner's judgement, after both have fought: each made as many calls. */
IRIS_DEVICE int irisi_self_test_exact(const irisi_self_test *a)
{
    const irisi_self_test_cells *c = a->cells + a->from;
    const uint64_t calls = 2 * (uint64_t)(IRISI_SELF_TEST_CALLS / iris_wg_lanes()), lanes = calls * iris_wg_lanes();
    const uint64_t add = irisi_atomic_fetch_u64(&c->add, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    const uint64_t cas = irisi_atomic_fetch_u64(&c->cas, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    const uint64_t xchg = irisi_atomic_fetch_u64(&c->xchg, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    const uint64_t balance = irisi_atomic_fetch_u64(&c->balance, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    const uint32_t narrow = irisi_atomic_fetch_u32(&c->narrow, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
    return add == lanes << 20 && narrow == (uint32_t)(3 * lanes) && cas == calls * iris_waves() && balance == xchg;
}

/* One workgroup sends to a->to while the other receives from a->from; each goes on as long as it hears its peer. */
IRIS_DEVICE void irisi_self_test_sender(const irisi_self_test *a, uint64_t start)
{
    const int speaks = iris_wg_lane() == 0;
    int done = irisi_self_test_send(a, start);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_OUT, a->to, IRIS_SELF_TEST_ORDERING, irisi_self_test_in_time(done));
    if (!done)
        return;
    done = irisi_self_test_echo(a, IRIS_MEM_SYNC, 1, start);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_OUT, a->to, IRIS_SELF_TEST_SYNC_MEMORY, irisi_self_test_in_time(done));
    if (!done)
        return;
    done = irisi_self_test_fight(a, a->ctx.rank, a->to, start);
    if (done)
        iris_signal_set_wg(&a->ctx, a->arrived + a->ctx.rank, IRISI_SELF_TEST_ROUNDS + 1, a->to);
    if (speaks) /* whether the sum is right, the owner says */
        irisi_self_test_note(a, IRISI_SELF_TEST_OUT, a->to, IRIS_SELF_TEST_ATOMICS, irisi_self_test_in_time(done));
    if (!done)
        return;
    done = irisi_self_test_echo(a, IRIS_MEM_DATA, 1, start);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_OUT, a->to, IRIS_SELF_TEST_DATA_MEMORY, irisi_self_test_in_time(done));
}

IRIS_DEVICE void irisi_self_test_receiver(const irisi_self_test *a, uint64_t start)
{
    const int speaks = iris_wg_lane() == 0;
    int silent;
    const irisi_self_test_end end = irisi_self_test_receive(a, start, &silent);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_IN, a->from, IRIS_SELF_TEST_ORDERING, end);
    if (silent)
        return;
    int done = irisi_self_test_echo(a, IRIS_MEM_SYNC, 0, start);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_IN, a->from, IRIS_SELF_TEST_SYNC_MEMORY, irisi_self_test_in_time(done));
    if (!done)
        return;
    done = irisi_self_test_fight(a, a->from, a->ctx.rank, start);
    irisi_drain();
    done = irisi_self_test_await(a, a->arrived + a->from, IRISI_SELF_TEST_ROUNDS + 1, start) && done;
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_IN, a->from, IRIS_SELF_TEST_ATOMICS,
                             done ? irisi_self_test_right(irisi_self_test_exact(a)) : IRISI_SELF_TEST_LATE);
    if (!done)
        return;
    done = irisi_self_test_echo(a, IRIS_MEM_DATA, 0, start);
    if (speaks)
        irisi_self_test_note(a, IRISI_SELF_TEST_IN, a->from, IRIS_SELF_TEST_DATA_MEMORY, irisi_self_test_in_time(done));
}

#endif
#endif
