/* SPDX-License-Identifier: MIT */
/*
 * memory.h (host): raw loads and stores by width, signal accesses, fences.
 *
 *   irisi_load_{8,16,32,64,128} irisi_loaded irisi_store_{8,16,32,64,128} irisi_load_pair irisi_store_pair
 *   irisi_poll irisi_acquired irisi_drain irisi_release irisi_raise_set irisi_raise_add irisi_fence
 *
 * The same names mean the same on every platform:
 *   irisi_store_*     a store that needs no cache write-back to reach another device (AMD: sc0 sc1), unless its hint is
 *                     WB or CG: these are ordinary stores there
 *   irisi_loaded      waits until a load has arrived, before a store that would make its wait longer (AMD)
 *   irisi_drain       waits until the wave's own stores have arrived where that is not implied (AMD: vmcnt(0))
 *   irisi_release     makes the caller's ordinary stores visible to the system, before irisi_raise_*
 *   irisi_raise_*     the signal itself, after irisi_drain (store-through puts) or irisi_release (anything else)
 *   irisi_poll        one look at a signal; irisi_acquired() follows once the looked-for value was seen
 *   irisi_fence       orders everything the caller did before against everything after, system scope
 * On the host order sits on the signal atomic itself and never in a separate fence: thread sanitizer understands the
 * former and reports the latter.
 */
#ifndef IRIS_ARCH_HOST_MEMORY_H
#define IRIS_ARCH_HOST_MEMORY_H

#include <iris/arch/host/device.h>
#include <iris/arch/types.h>

#define IRISI_NOWHERE extern
#include <iris/arch/cache_hint.h>

/* Hints are for GPUs: here every access is the same. */
IRIS_DEVICE uint8_t irisi_load_8(const void *p, iris_cache hint) { return (void)hint, *(const uint8_t *)p; }
IRIS_DEVICE void irisi_store_8(void *p, uint8_t v, iris_cache hint) { (void)hint, *(uint8_t *)p = v; }

/* memcpy is how C spells an access to memory of another type; it compiles to one move. */
IRIS_DEVICE uint16_t irisi_load_16(const void *p, iris_cache hint)
{
    uint16_t v;
    (void)hint;
    memcpy(&v, p, sizeof v);
    return v;
}
IRIS_DEVICE uint32_t irisi_load_32(const void *p, iris_cache hint)
{
    uint32_t v;
    (void)hint;
    memcpy(&v, p, sizeof v);
    return v;
}
IRIS_DEVICE uint64_t irisi_load_64(const void *p, iris_cache hint)
{
    uint64_t v;
    (void)hint;
    memcpy(&v, p, sizeof v);
    return v;
}
IRIS_DEVICE irisi_b128 irisi_load_128(const void *p, iris_cache hint)
{
    irisi_b128 v;
    (void)hint;
    memcpy(&v, p, sizeof v);
    return v;
}
/* Waits until a load has arrived, where a store would otherwise come between (AMD). */
IRIS_DEVICE void irisi_loaded(irisi_b128 *v) { (void)v; }
IRIS_DEVICE void irisi_store_16(void *p, uint16_t v, iris_cache hint) { (void)hint, memcpy(p, &v, sizeof v); }
IRIS_DEVICE void irisi_store_32(void *p, uint32_t v, iris_cache hint) { (void)hint, memcpy(p, &v, sizeof v); }
IRIS_DEVICE void irisi_store_64(void *p, uint64_t v, iris_cache hint) { (void)hint, memcpy(p, &v, sizeof v); }
IRIS_DEVICE void irisi_store_128(void *p, irisi_b128 v, iris_cache hint) { (void)hint, memcpy(p, &v, sizeof v); }

/*
 * Two words side by side, 16-byte aligned: each a system-scope atomic. They are what a member is heard by in a step of
 * LL packets, after which its scratch is written again: its reads must be over. A GPU has waited for a read before it
 * stores what it read; here release and acquire say so. The second is written last and read first: a reader who finds
 * a flag there has the first word that was written with it. So both layouts of LL packets work here; the sanitizers'
 * builds ask for that of platforms with 16-byte atomics.
 */
#ifndef IRISI_WIDE_ATOMIC
#define IRISI_WIDE_ATOMIC 0
#endif
IRIS_DEVICE void irisi_load_pair(const uint64_t *p, uint64_t *v)
{
    v[1] = __atomic_load_n(p + 1, __ATOMIC_ACQUIRE);
    v[0] = __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
IRIS_DEVICE void irisi_store_pair(uint64_t *p, uint64_t v0, uint64_t v1)
{
    __atomic_store_n(p, v0, __ATOMIC_RELEASE);
    __atomic_store_n(p + 1, v1, __ATOMIC_RELEASE);
}

IRIS_DEVICE uint64_t irisi_poll(const uint64_t *signal) { return __atomic_load_n(signal, __ATOMIC_ACQUIRE); }
IRIS_DEVICE void irisi_acquired(void) {}
IRIS_DEVICE void irisi_drain(void) {}
IRIS_DEVICE void irisi_release(void) {}
IRIS_DEVICE void irisi_raise_set(uint64_t *signal, uint64_t v) { __atomic_store_n(signal, v, __ATOMIC_RELEASE); }
IRIS_DEVICE void irisi_raise_add(uint64_t *signal, uint64_t v) { __atomic_fetch_add(signal, v, __ATOMIC_RELEASE); }

IRIS_DEVICE void irisi_fence(void)
{
#if defined(__SANITIZE_THREAD__)
    /* Thread sanitizer does not model fences; an atomic that everyone touches orders as much. */
    static uint32_t everyone;
    __atomic_fetch_add(&everyone, 1, __ATOMIC_ACQ_REL);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* 1 where a fence orders only the later stores of its own lane, so that each wave needs one (C11). */
IRIS_DEVICE int irisi_fence_is_own(void) { return 1; }

/* Copies by an engine beside the lanes, out of workgroup-shared memory: this platform has none. */
IRIS_DEVICE int irisi_bulk_can(void) { return 0; }
IRIS_DEVICE void irisi_bulk_put(void *to, const void *from, uint32_t bytes) { (void)to, (void)from, (void)bytes; }
IRIS_DEVICE void irisi_bulk_put_box(const void *map, uint32_t x, uint32_t y, const void *from)
{
    (void)map, (void)x, (void)y, (void)from;
}
IRIS_DEVICE void irisi_bulk_commit(void) {}
IRIS_DEVICE void irisi_bulk_reusable(int keep) { (void)keep; }
IRIS_DEVICE void irisi_bulk_acquired(void) {}
IRIS_DEVICE void irisi_bulk_arrived(void) {}

/* 1 where tiles may be of several widths: here all are of one. */
IRIS_DEVICE int irisi_tile_cuts(void) { return 0; }
IRIS_DEVICE void irisi_bulk_pace(uint32_t open) { (void)open; }
IRIS_DEVICE void irisi_bulk_written(void) {}

#endif
