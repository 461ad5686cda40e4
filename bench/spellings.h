/* SPDX-License-Identifier: MIT */
/*
 * spellings.h: ways to raise a signal and to wait for it that latency.c compares in one run. What the library does is
 * among them; where the platform is NVIDIA's, so is every candidate in PTX.
 *
 *   spelling_raise spelling_wait
 *
 * RELAXED orders nothing: it is what the link itself takes. SET and FENCED are what the memory model asks for.
 */
#ifndef IRIS_BENCH_SPELLINGS_H
#define IRIS_BENCH_SPELLINGS_H

#include <iris/signal.h>

typedef enum spelling_raise_kind {
    RAISE_SET,      /* a store that releases: the library's own before CUDA 13 */
    RAISE_ADD,      /* an addition that releases */
    RAISE_EXCHANGE, /* an exchange that releases */
    RAISE_FENCE,    /* a release fence, then a relaxed store: the library's own */
    RAISE_RELAXED
} spelling_raise_kind;

typedef enum spelling_wait_kind {
    WAIT_LIBRARY, /* irisi_poll until it holds, then irisi_acquired */
    WAIT_ACQUIRE, /* every look acquires */
    WAIT_FENCED,  /* relaxed looks, then an acquire fence */
    WAIT_TWO,     /* the same with two looks under way, half a look apart */
    WAIT_AGAIN,   /* relaxed looks, then one that acquires */
    WAIT_CHECKED, /* every look acquires; every 64th also looks at the clock */
    WAIT_RELAXED
} spelling_wait_kind;

/* On the host platform a waiter shares its core with whom it waits for. */
#if defined(IRIS_TARGET_HOST)
enum { SPELLING_YIELDS = 1 };
#else
enum { SPELLING_YIELDS = 0 };
#endif

#if defined(IRIS_TARGET_NVIDIA)
IRIS_DEVICE uint64_t spelling_look(const uint64_t *signal)
{
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(irisi_global(signal)) : "memory");
    return v;
}
IRIS_DEVICE uint64_t spelling_look_acquire(const uint64_t *signal)
{
    uint64_t v;
    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(irisi_global(signal)) : "memory");
    return v;
}
IRIS_DEVICE void spelling_acquired(void) { asm volatile("fence.acquire.sys;" ::: "memory"); }
IRIS_DEVICE void spelling_raise(uint64_t *signal, uint64_t value, spelling_raise_kind how)
{
    const uint64_t at = irisi_global(signal);
    if (how == RAISE_SET)
        asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
    else if (how == RAISE_ADD)
        asm volatile("red.release.sys.global.add.u64 [%0], 1;" ::"l"(at) : "memory");
    else if (how == RAISE_EXCHANGE)
        asm volatile("atom.release.sys.global.exch.b64 _, [%0], %1;" ::"l"(at), "l"(value) : "memory");
    else if (how == RAISE_FENCE)
        asm volatile("fence.release.sys;\n\tst.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
    else
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(value) : "memory");
}
#else
IRIS_DEVICE uint64_t spelling_look(const uint64_t *signal) { return irisi_poll(signal); }
IRIS_DEVICE uint64_t spelling_look_acquire(const uint64_t *signal)
{
    const uint64_t v = irisi_poll(signal);
    irisi_acquired();
    return v;
}
IRIS_DEVICE void spelling_acquired(void) { irisi_acquired(); }
IRIS_DEVICE void spelling_raise(uint64_t *signal, uint64_t value, spelling_raise_kind how)
{
    if (how != RAISE_RELAXED)
        irisi_release();
    if (how == RAISE_ADD)
        irisi_raise_add(signal, 1);
    else
        irisi_raise_set(signal, value);
}
#endif

/* Two looks under way: the second begins about when the first is half way. */
IRIS_DEVICE void spelling_wait_two(const uint64_t *signal, uint64_t value)
{
    uint64_t first = spelling_look(signal);
    iris_pause(64);
    for (uint32_t turn = 0;; turn++) {
        const uint64_t second = spelling_look(signal);
        if (first >= value)
            break;
        first = spelling_look(signal);
        if (second >= value)
            break;
        iris_pause(SPELLING_YIELDS ? turn : 0);
    }
    spelling_acquired();
}

/* Waits without a deadline until *signal >= value, and acquires. On the host platform waiters must give way. */
IRIS_DEVICE void spelling_wait(const uint64_t *signal, uint64_t value, spelling_wait_kind how, uint64_t deadline)
{
    uint64_t begin = 0;
    if (how == WAIT_TWO) {
        spelling_wait_two(signal, value);
        return;
    }
    for (uint32_t turn = 1;; turn++) {
        const uint64_t seen = how == WAIT_LIBRARY                          ? irisi_poll(signal)
                              : how == WAIT_ACQUIRE || how == WAIT_CHECKED ? spelling_look_acquire(signal)
                                                                           : spelling_look(signal);
        if (seen >= value)
            break;
        if (how == WAIT_CHECKED && turn % IRISI_WAIT_CHECK == 0) {
            begin = begin ? begin : iris_clock();
            if (iris_clock() - begin > deadline)
                return;
        }
        iris_pause(SPELLING_YIELDS ? turn : 0);
    }
    if (how == WAIT_LIBRARY)
        irisi_acquired();
    else if (how == WAIT_FENCED)
        spelling_acquired();
    else if (how == WAIT_AGAIN)
        (void)spelling_look_acquire(signal);
}

#endif
