/* SPDX-License-Identifier: MIT */
/*
 * memory.h (amd): raw loads and stores by width, signal accesses, fences.
 *
 *   irisi_load_{8,16,32,64,128} irisi_loaded irisi_store_{8,16,32,64,128} irisi_load_pair irisi_store_pair
 *   irisi_poll irisi_acquired irisi_drain irisi_release irisi_raise_set irisi_raise_add irisi_fence
 *   irisi_load_words irisi_settled irisi_release_agent irisi_acquire_agent irisi_acquire_system (here only)
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
 *
 * Every address is of global memory, on this device or a peer; workgroup-shared memory is read and written in plain C.
 *
 * gfx942 and gfx950 say in the instruction how far an access goes: sc0 sc1 is the system. gfx90a cannot: there it is
 * the page that decides. Fine-grained memory is written through (local) or past the L2 (remote), coarse-grained memory
 * stays in the L2 until buffer_wbl2. So on gfx90a the heap must be fine-grained for puts with signals.
 * (LLVM, User Guide for AMDGPU Backend, memory models gfx90a and gfx942.)
 */
#ifndef IRIS_ARCH_AMD_MEMORY_H
#define IRIS_ARCH_AMD_MEMORY_H

#include <iris/arch/amd/device.h>
#include <iris/arch/types.h>

#define IRISI_NOWHERE __attribute__((device))
#include <iris/arch/cache_hint.h>

#if defined(__gfx90a__)
#define IRISI_THROUGH ""
#define IRISI_THROUGH_STREAM "glc slc"
#define IRISI_WBL2_SYSTEM "buffer_wbl2\n\t"
#define IRISI_WBL2_AGENT ""
#define IRISI_INV_SYSTEM "buffer_invl2\n\tbuffer_wbinvl1_vol"
#define IRISI_INV_AGENT "buffer_wbinvl1_vol"
#define IRISI_SETTLE "s_nop 0" /* a store of 16 bytes: no overwriting of its data in the next clock */
#else
#define IRISI_THROUGH "sc0 sc1"
#define IRISI_THROUGH_STREAM "sc0 sc1 nt"
#define IRISI_WBL2_SYSTEM "buffer_wbl2 sc0 sc1\n\t"
#define IRISI_WBL2_AGENT "buffer_wbl2 sc1\n\t"
#define IRISI_INV_SYSTEM "buffer_inv sc0 sc1"
#define IRISI_INV_AGENT "buffer_inv sc1"
#define IRISI_SETTLE "s_nop 1" /* likewise, in the next two */
#endif

/* Memory of any type, accessed by width. */
typedef uint8_t __attribute__((may_alias)) irisi_any_8;
typedef uint16_t __attribute__((may_alias)) irisi_any_16;
typedef uint32_t __attribute__((may_alias)) irisi_any_32;
typedef uint64_t __attribute__((may_alias)) irisi_any_64;
typedef uint32_t __attribute__((vector_size(16))) irisi_words;
typedef irisi_words __attribute__((may_alias)) irisi_any_128;

/*
 * Loads are the compiler's, so that it places their waits. nt is a hint to the caches; what no cache is to give is
 * loaded as a relaxed system-scope atomic is. What makes loads see a peer's stores is irisi_acquired() before them. The
 * empty asm on both sides keeps the optimiser from merging the loads while it does not know the hint yet: the merged
 * one has no nt.
 */
IRIS_DEVICE int irisi_load_streams(iris_cache hint) { return hint == IRIS_CACHE_STREAM || hint == IRIS_CACHE_CG; }

IRIS_DEVICE uint8_t irisi_load_8(const void *p, iris_cache hint)
{
    const IRISI_GLOBAL irisi_any_8 *g = (const IRISI_GLOBAL irisi_any_8 *)p;
    uint8_t v;
    if (hint == IRIS_CACHE_CV)
        return __hip_atomic_load(g, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (!irisi_load_streams(hint))
        return *g;
    __asm__ __volatile__("");
    v = __builtin_nontemporal_load(g);
    __asm__ __volatile__("");
    return v;
}

IRIS_DEVICE uint16_t irisi_load_16(const void *p, iris_cache hint)
{
    const IRISI_GLOBAL irisi_any_16 *g = (const IRISI_GLOBAL irisi_any_16 *)p;
    uint16_t v;
    if (hint == IRIS_CACHE_CV)
        return __hip_atomic_load(g, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (!irisi_load_streams(hint))
        return *g;
    __asm__ __volatile__("");
    v = __builtin_nontemporal_load(g);
    __asm__ __volatile__("");
    return v;
}

IRIS_DEVICE uint32_t irisi_load_32(const void *p, iris_cache hint)
{
    const IRISI_GLOBAL irisi_any_32 *g = (const IRISI_GLOBAL irisi_any_32 *)p;
    uint32_t v;
    if (hint == IRIS_CACHE_CV)
        return __hip_atomic_load(g, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (!irisi_load_streams(hint))
        return *g;
    __asm__ __volatile__("");
    v = __builtin_nontemporal_load(g);
    __asm__ __volatile__("");
    return v;
}

IRIS_DEVICE uint64_t irisi_load_64(const void *p, iris_cache hint)
{
    const IRISI_GLOBAL irisi_any_64 *g = (const IRISI_GLOBAL irisi_any_64 *)p;
    uint64_t v;
    if (hint == IRIS_CACHE_CV)
        return __hip_atomic_load(g, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    if (!irisi_load_streams(hint))
        return *g;
    __asm__ __volatile__("");
    v = __builtin_nontemporal_load(g);
    __asm__ __volatile__("");
    return v;
}

IRIS_DEVICE irisi_words irisi_load_words(const void *p, iris_cache hint)
{
    const IRISI_GLOBAL irisi_any_128 *g = (const IRISI_GLOBAL irisi_any_128 *)p;
    irisi_words v;
    if (hint == IRIS_CACHE_CV) { /* there is no such load of 16 bytes: two, in no order between them */
        const IRISI_GLOBAL irisi_any_64 *half = (const IRISI_GLOBAL irisi_any_64 *)p;
        const uint64_t low = __hip_atomic_load(half, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        const uint64_t high = __hip_atomic_load(half + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        const irisi_words both = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
        return both;
    }
    if (!irisi_load_streams(hint))
        return *g;
    __asm__ __volatile__("");
    v = __builtin_nontemporal_load(g);
    __asm__ __volatile__("");
    return v;
}

IRIS_DEVICE irisi_b128 irisi_load_128(const void *p, iris_cache hint)
{
    const irisi_words w = irisi_load_words(p, hint);
    irisi_b128 v;
    v.w[0] = w[0], v.w[1] = w[1], v.w[2] = w[2], v.w[3] = w[3];
    return v;
}

/*
 * Waits until a load has arrived. Stores of several loaded values come after this for all of them: loads and stores
 * count up one counter and complete in order, so a wait for the second value after the first store waits for that too.
 */
IRIS_DEVICE void irisi_loaded(irisi_b128 *v)
{
    irisi_words w = {v->w[0], v->w[1], v->w[2], v->w[3]};
    __asm__ __volatile__("" : "+v"(w));
    v->w[0] = w[0], v->w[1] = w[1], v->w[2] = w[2], v->w[3] = w[3];
}

/*
 * The word as a fresh VGPR written by an ordinary vector instruction. The hardware does not interlock a store against
 * a matrix instruction that is still writing its result, and the compiler, which otherwise inserts the wait, does not
 * know that asm is a store: an accumulator must not go into one directly. The compiler cannot know that `none` is 0.
 */
IRIS_DEVICE uint32_t irisi_settled(uint32_t word)
{
    uint32_t none;
    __asm__("s_mov_b32 %0, 0" : "=s"(none));
    return word | none;
}

/*
 * Stores go through to the system. Up to 8 bytes the compiler emits them (a relaxed system-scope atomic store is just
 * that); it has no such store with nt or of 16 bytes, so these are asm, which only counts up vmcnt unseen: the
 * compiler's own waits become longer, never shorter. Stores with the hints WB and CG are ordinary ones and stay in the
 * L2: irisi_release() writes them back, irisi_drain() alone does not. So a put whose signal follows a drain alone
 * (put_signal, tiles, collectives) has neither.
 */
IRIS_DEVICE int irisi_store_streams(iris_cache hint) { return hint == IRIS_CACHE_STREAM || hint == IRIS_CACHE_CS; }
IRIS_DEVICE int irisi_store_stays(iris_cache hint) { return hint == IRIS_CACHE_WB || hint == IRIS_CACHE_CG; }

IRIS_DEVICE void irisi_store_8(void *p, uint8_t v, iris_cache hint)
{
    IRISI_GLOBAL irisi_any_8 *g = (IRISI_GLOBAL irisi_any_8 *)p;
    if (irisi_store_stays(hint))
        *g = v;
    else if (irisi_store_streams(hint))
        __asm__ __volatile__("global_store_byte %0, %1, off " IRISI_THROUGH_STREAM ::"v"(g), "v"(irisi_settled(v))
                             : "memory");
    else
        __hip_atomic_store(g, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE void irisi_store_16(void *p, uint16_t v, iris_cache hint)
{
    IRISI_GLOBAL irisi_any_16 *g = (IRISI_GLOBAL irisi_any_16 *)p;
    if (irisi_store_stays(hint))
        *g = v;
    else if (irisi_store_streams(hint))
        __asm__ __volatile__("global_store_short %0, %1, off " IRISI_THROUGH_STREAM ::"v"(g), "v"(irisi_settled(v))
                             : "memory");
    else
        __hip_atomic_store(g, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE void irisi_store_32(void *p, uint32_t v, iris_cache hint)
{
    IRISI_GLOBAL irisi_any_32 *g = (IRISI_GLOBAL irisi_any_32 *)p;
    if (irisi_store_stays(hint))
        *g = v;
    else if (irisi_store_streams(hint))
        __asm__ __volatile__("global_store_dword %0, %1, off " IRISI_THROUGH_STREAM ::"v"(g), "v"(irisi_settled(v))
                             : "memory");
    else
        __hip_atomic_store(g, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE void irisi_store_64(void *p, uint64_t v, iris_cache hint)
{
    IRISI_GLOBAL irisi_any_64 *g = (IRISI_GLOBAL irisi_any_64 *)p;
    const uint64_t settled = (uint64_t)irisi_settled((uint32_t)(v >> 32)) << 32 | irisi_settled((uint32_t)v);
    if (irisi_store_stays(hint))
        *g = v;
    else if (irisi_store_streams(hint))
        __asm__ __volatile__("global_store_dwordx2 %0, %1, off " IRISI_THROUGH_STREAM ::"v"(g), "v"(settled)
                             : "memory");
    else
        __hip_atomic_store(g, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE void irisi_store_128(void *p, irisi_b128 v, iris_cache hint)
{
    IRISI_GLOBAL irisi_any_128 *g = (IRISI_GLOBAL irisi_any_128 *)p;
    const irisi_words w = {irisi_settled(v.w[0]), irisi_settled(v.w[1]), irisi_settled(v.w[2]), irisi_settled(v.w[3])};
    if (irisi_store_stays(hint)) {
        const irisi_words plain = {v.w[0], v.w[1], v.w[2], v.w[3]};
        *g = plain;
        return;
    }
    if (irisi_store_streams(hint))
        __asm__ __volatile__("global_store_dwordx4 %0, %1, off " IRISI_THROUGH_STREAM "\n\t" IRISI_SETTLE ::"v"(g),
                             "v"(w)
                             : "memory");
    else
        __asm__ __volatile__("global_store_dwordx4 %0, %1, off " IRISI_THROUGH "\n\t" IRISI_SETTLE ::"v"(g), "v"(w)
                             : "memory");
}

/*
 * Two words side by side, 16-byte aligned: each a relaxed system-scope atomic, in no order between them. Two accesses:
 * that a dwordx4 keeps its halves whole is not written down.
 */
#define IRISI_WIDE_ATOMIC 0
IRIS_DEVICE void irisi_load_pair(const uint64_t *p, uint64_t *v)
{
    v[0] = __hip_atomic_load((const IRISI_GLOBAL uint64_t *)p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    v[1] = __hip_atomic_load((const IRISI_GLOBAL uint64_t *)p + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
IRIS_DEVICE void irisi_store_pair(uint64_t *p, uint64_t v0, uint64_t v1)
{
    __hip_atomic_store((IRISI_GLOBAL uint64_t *)p, v0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    __hip_atomic_store((IRISI_GLOBAL uint64_t *)p + 1, v1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE uint64_t irisi_poll(const uint64_t *signal)
{
    return __hip_atomic_load((const IRISI_GLOBAL uint64_t *)signal, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

/*
 * The caller has compared the polled value, so its load is complete; caches drop what is older. The wait after it is
 * for the other waves of the workgroup, which read right after a barrier.
 */
IRIS_DEVICE void irisi_acquired(void) { __asm__ __volatile__(IRISI_INV_SYSTEM "\n\ts_waitcnt vmcnt(0)" ::: "memory"); }

IRIS_DEVICE void irisi_drain(void) { __asm__ __volatile__("s_waitcnt vmcnt(0)" ::: "memory"); }

/* One asm block: of two, the compiler drops the wait when it believes that nothing is outstanding. */
IRIS_DEVICE void irisi_release(void) { __asm__ __volatile__(IRISI_WBL2_SYSTEM "s_waitcnt vmcnt(0)" ::: "memory"); }

/* What release and acquire atomics of agent scope do before and after; acquires first wait for the atomic itself. */
IRIS_DEVICE void irisi_release_agent(void) { __asm__ __volatile__(IRISI_WBL2_AGENT "s_waitcnt vmcnt(0)" ::: "memory"); }
IRIS_DEVICE void irisi_acquire_agent(void)
{
    __asm__ __volatile__("s_waitcnt vmcnt(0)\n\t" IRISI_INV_AGENT "\n\ts_waitcnt vmcnt(0)" ::: "memory");
}
IRIS_DEVICE void irisi_acquire_system(void)
{
    __asm__ __volatile__("s_waitcnt vmcnt(0)\n\t" IRISI_INV_SYSTEM "\n\ts_waitcnt vmcnt(0)" ::: "memory");
}

IRIS_DEVICE void irisi_raise_set(uint64_t *signal, uint64_t v)
{
    __hip_atomic_store((IRISI_GLOBAL uint64_t *)signal, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

IRIS_DEVICE void irisi_raise_add(uint64_t *signal, uint64_t v)
{
    (void)__hip_atomic_fetch_add((IRISI_GLOBAL uint64_t *)signal, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

/* The stores have arrived before any later access is issued, so this orders stores against later loads too. */
IRIS_DEVICE void irisi_fence(void)
{
    irisi_release();
    irisi_acquired();
}

/* 0: the fence writes back the L2 that all waves of the workgroup share; one wave does it for all. */
IRIS_DEVICE int irisi_fence_is_own(void) { return 0; }

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
