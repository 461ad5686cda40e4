/* SPDX-License-Identifier: MIT */
/*
 * memory.h (nvidia): raw loads and stores by width, signal accesses, fences.
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
 *
 * Every address is of global memory, on this device or a peer; workgroup-shared memory is read and written in plain C.
 *
 * Here raising releases: at system scope that covers the caller's own stores and, because release is cumulative, those
 * of every lane that met the caller at a barrier before. So drain and release are empty.
 *
 * Loads are asm so that they stay coherent: left to itself the compiler may prove memory read-only for the kernel and
 * read it through the non-coherent path (ld.global.nc), which a peer's store does not reach.
 */
#ifndef IRIS_ARCH_NVIDIA_MEMORY_H
#define IRIS_ARCH_NVIDIA_MEMORY_H

#include <iris/arch/nvidia/device.h>
#include <iris/arch/cache_hint.h>
#include <iris/arch/types.h>

/* The address of generic pointer p in the global space, which asm with .global wants. */
IRIS_DEVICE uint64_t irisi_global(const void *p) { return (uint64_t)__cvta_generic_to_global(p); }

/*
 * The load, or the store, that a hint asks for; what follows `access` are the operands. An instruction without a cache
 * operator has .ca or .wb. Cache operators are hints: they do not change the memory consistency behaviour (PTX ISA,
 * cache operators).
 */
#define IRISI_LOAD_AS(hint, access, ...)                                                                               \
    if ((hint) == IRIS_CACHE_STREAM)                                                                                   \
        asm volatile("ld.global.L1::no_allocate." access : __VA_ARGS__ : "memory");                                    \
    else if ((hint) == IRIS_CACHE_CG)                                                                                  \
        asm volatile("ld.global.cg." access : __VA_ARGS__ : "memory");                                                 \
    else if ((hint) == IRIS_CACHE_CV)                                                                                  \
        asm volatile("ld.global.cv." access : __VA_ARGS__ : "memory");                                                 \
    else                                                                                                               \
        asm volatile("ld.global." access : __VA_ARGS__ : "memory")

/* What streams is evict-first (.cs): the peer reads it once, from its own L2. */
#define IRISI_STORE_AS(hint, access, ...)                                                                              \
    if ((hint) == IRIS_CACHE_STREAM || (hint) == IRIS_CACHE_CS)                                                        \
        asm volatile("st.global.cs." access ::__VA_ARGS__ : "memory");                                                 \
    else if ((hint) == IRIS_CACHE_CG)                                                                                  \
        asm volatile("st.global.cg." access ::__VA_ARGS__ : "memory");                                                 \
    else if ((hint) == IRIS_CACHE_WT)                                                                                  \
        asm volatile("st.global.wt." access ::__VA_ARGS__ : "memory");                                                 \
    else                                                                                                               \
        asm volatile("st.global." access ::__VA_ARGS__ : "memory")

IRIS_DEVICE uint8_t irisi_load_8(const void *p, iris_cache hint)
{
    uint32_t v;
    IRISI_LOAD_AS(hint, "u8 %0, [%1];", "=r"(v) : "l"(irisi_global(p)));
    return (uint8_t)v;
}

IRIS_DEVICE uint16_t irisi_load_16(const void *p, iris_cache hint)
{
    uint16_t v;
    IRISI_LOAD_AS(hint, "u16 %0, [%1];", "=h"(v) : "l"(irisi_global(p)));
    return v;
}

IRIS_DEVICE uint32_t irisi_load_32(const void *p, iris_cache hint)
{
    uint32_t v;
    IRISI_LOAD_AS(hint, "u32 %0, [%1];", "=r"(v) : "l"(irisi_global(p)));
    return v;
}

IRIS_DEVICE uint64_t irisi_load_64(const void *p, iris_cache hint)
{
    uint64_t v;
    IRISI_LOAD_AS(hint, "u64 %0, [%1];", "=l"(v) : "l"(irisi_global(p)));
    return v;
}

IRIS_DEVICE irisi_b128 irisi_load_128(const void *p, iris_cache hint)
{
    irisi_b128 v;
    IRISI_LOAD_AS(hint, "v4.u32 {%0, %1, %2, %3}, [%4];", "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
                  : "l"(irisi_global(p)));
    return v;
}

/* Waits until a load has arrived, where a store would otherwise come between (AMD). */
IRIS_DEVICE void irisi_loaded(irisi_b128 *v) { (void)v; }

IRIS_DEVICE void irisi_store_8(void *p, uint8_t v, iris_cache hint)
{
    IRISI_STORE_AS(hint, "u8 [%0], %1;", "l"(irisi_global(p)), "r"((uint32_t)v));
}

IRIS_DEVICE void irisi_store_16(void *p, uint16_t v, iris_cache hint)
{
    IRISI_STORE_AS(hint, "u16 [%0], %1;", "l"(irisi_global(p)), "h"(v));
}

IRIS_DEVICE void irisi_store_32(void *p, uint32_t v, iris_cache hint)
{
    IRISI_STORE_AS(hint, "u32 [%0], %1;", "l"(irisi_global(p)), "r"(v));
}

IRIS_DEVICE void irisi_store_64(void *p, uint64_t v, iris_cache hint)
{
    IRISI_STORE_AS(hint, "u64 [%0], %1;", "l"(irisi_global(p)), "l"(v));
}

IRIS_DEVICE void irisi_store_128(void *p, irisi_b128 v, iris_cache hint)
{
    IRISI_STORE_AS(hint, "v4.u32 [%0], {%1, %2, %3, %4};", "l"(irisi_global(p)), "r"(v.w[0]), "r"(v.w[1]),
                   "r"(v.w[2]), "r"(v.w[3]));
}

/*
 * Two words side by side, 16-byte aligned, by relaxed system-scope atomics: one of 16 bytes where the toolkit has those
 * (libcu++'s memory model: naturally aligned ones of system scope, from CUDA 12.4 on; like all such atomics on a peer's
 * memory, between devices with native peer atomics, which NVLink has); else two, in no order between them, as the
 * elements of a vector access are. tests/litmus/litmus.cpp looks for torn ones.
 */
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
#define IRISI_WIDE_ATOMIC 1
#define IRISI_LOAD_PAIR "{ .reg .b128 both; ld.relaxed.sys.global.b128 both, [%2]; mov.b128 {%0, %1}, both; }"
#define IRISI_STORE_PAIR "{ .reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.global.b128 [%0], both; }"
#else
#define IRISI_WIDE_ATOMIC 0
#define IRISI_LOAD_PAIR "ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
#define IRISI_STORE_PAIR "st.relaxed.sys.global.v2.u64 [%0], {%1, %2};"
#endif
IRIS_DEVICE void irisi_load_pair(const uint64_t *p, uint64_t *v)
{
    asm volatile(IRISI_LOAD_PAIR : "=l"(v[0]), "=l"(v[1]) : "l"(irisi_global(p)) : "memory");
}
IRIS_DEVICE void irisi_store_pair(uint64_t *p, uint64_t v0, uint64_t v1)
{
    asm volatile(IRISI_STORE_PAIR ::"l"(irisi_global(p)), "l"(v0), "l"(v1) : "memory");
}

/*
 * Looks are relaxed, and one fence acquires once the value is there: an acquiring load drops the L1 after every look
 * (CCTL.IVALL), which makes looks rarer. A fence that only acquires costs no more than that one; fence.acq_rel, all
 * that PTX before 8.6 has, costs a microsecond.
 */
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 13
#define IRISI_LOOK "ld.relaxed.sys.global.u64 %0, [%1];"
#define IRISI_ACQUIRE "fence.acquire.sys;"
#else
#define IRISI_LOOK "ld.acquire.sys.global.u64 %0, [%1];"
#define IRISI_ACQUIRE ""
#endif
IRIS_DEVICE uint64_t irisi_poll(const uint64_t *signal)
{
    uint64_t v;
    asm volatile(IRISI_LOOK : "=l"(v) : "l"(irisi_global(signal)) : "memory");
    return v;
}
IRIS_DEVICE void irisi_acquired(void) { asm volatile(IRISI_ACQUIRE ::: "memory"); }

/* Empty on this platform; the asm keeps the compiler from moving accesses across. */
IRIS_DEVICE void irisi_drain(void) { asm volatile("" ::: "memory"); }
IRIS_DEVICE void irisi_release(void) { asm volatile("" ::: "memory"); }

/*
 * A fence that releases and then the signal are a release pattern, as good as st.release (PTX, memory consistency
 * model) and as fast; apart, they let the signal's address be computed while the fence waits.
 */
#if defined(__CUDACC_VER_MAJOR__) && __CUDACC_VER_MAJOR__ >= 13
#define IRISI_RELEASE "fence.release.sys;"
#define IRISI_RAISE "relaxed"
#else
#define IRISI_RELEASE ""
#define IRISI_RAISE "release"
#endif
IRIS_DEVICE void irisi_raise_set(uint64_t *signal, uint64_t v)
{
    asm volatile(IRISI_RELEASE ::: "memory");
    asm volatile("st." IRISI_RAISE ".sys.global.u64 [%0], %1;" ::"l"(irisi_global(signal)), "l"(v) : "memory");
}

IRIS_DEVICE void irisi_raise_add(uint64_t *signal, uint64_t v)
{
    asm volatile(IRISI_RELEASE ::: "memory");
    asm volatile("red." IRISI_RAISE ".sys.global.add.u64 [%0], %1;" ::"l"(irisi_global(signal)), "l"(v) : "memory");
}

/*
 * fence.sc and not fence.acq_rel: "before against after" includes an earlier store against a later load (the
 * store-buffering pattern), which only a sequentially consistent fence orders. The host's and AMD's fences do too.
 */
IRIS_DEVICE void irisi_fence(void) { asm volatile("fence.sc.sys;" ::: "memory"); }

/* 1 where a fence orders only the later stores of its own lane, so that each wave needs one (PTX: release patterns). */
IRIS_DEVICE int irisi_fence_is_own(void) { return 1; }

#endif
