/* SPDX-License-Identifier: MIT */
/*
 * device.h (amd): what a kernel knows about itself, and how the lanes of a workgroup meet.
 *
 *   IRIS_DEVICE IRIS_HOST_DEVICE IRIS_KERNEL
 *   iris_lane iris_wave_lanes iris_wave iris_waves iris_wg_lane iris_wg_lanes
 *   iris_workgroup iris_workgroups iris_compute_unit iris_grid_lane iris_grid_lanes
 *   iris_sync_wave iris_sync_wg iris_shared
 *   iris_shuffle_{u32,u64,f32,f64} iris_shuffle_xor_{u32,u64,f32,f64} iris_ballot
 *   iris_clock iris_pause irisi_split
 *
 * Written on clang's own builtins, so that it needs neither HIP's device headers nor its device libraries. A wave is
 * 64 lanes; grids and workgroups are one-dimensional.
 */
#ifndef IRIS_ARCH_AMD_DEVICE_H
#define IRIS_ARCH_AMD_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <iris/arch/types.h>

#if !defined(__HIP_DEVICE_COMPILE__) && defined(__has_include)
#if __has_include(<hip/hip_runtime_api.h>)
#include <stdlib.h>              /* what follows, as C++20, includes clang's <new>, which calls malloc and free */
#include <hip/hip_runtime_api.h> /* the host half of a kernel calls hipLaunchKernel */
#endif
#endif

#if defined(__HIP_DEVICE_COMPILE__) && !defined(__gfx90a__) && !defined(__gfx942__) && !defined(__gfx950__)
#error "Iris supports the AMD GPUs gfx90a, gfx942 and gfx950: compile with one of these as --offload-arch."
#endif

#define IRIS_DEVICE static inline __attribute__((device, always_inline, unused))
#define IRISI_DEVICE_ONCE IRIS_DEVICE /* on the host it is not inlined */
#define IRISI_ONCE 0
#define IRIS_HOST_DEVICE static inline __attribute__((host, device, always_inline, unused))

/* A pointee in global memory: accesses through a generic pointer would also occupy the LDS counter (flat_*). */
#define IRISI_GLOBAL __attribute__((address_space(1)))
#define IRISI_LOCAL __attribute__((address_space(3)))
#define IRISI_CONSTANT __attribute__((address_space(4)))

/* Most lanes of a collective's workgroup: what leaves it the registers that it needs. */
enum { IRISI_COLLECTIVE_LANES = 256 };

/* Before a loop over a few registers: unrolled, or the registers become memory. */
#define IRISI_UNROLL _Pragma("unroll")
/* Before a loop that waits, or is seldom run: left as short as it is. */
#define IRISI_ROLLED _Pragma("unroll 1")
/* Before a loop over constants: in turn, or each of them takes registers of its own, all through the kernel. */
#define IRISI_CONSTANTS _Pragma("unroll 1")

/* Atomics on a peer's memory are coherent in sync memory only, which is uncached. */
#if !defined(IRISI_REMOTE_ATOMICS_NEED_SYNC)
#define IRISI_REMOTE_ATOMICS_NEED_SYNC 1
#endif

/**
 * Declares and defines a kernel: `IRIS_KERNEL(name, args_type, var, max_lanes) { body }`.
 *
 * The kernel takes one argument struct by value; in the body `var` is a `const args_type *`. No launch may ask for
 * more than `max_lanes` lanes a workgroup. Put `static` in front for a kernel that only this file launches.
 *
 * The body reads its arguments where the launch put them, at the start of the kernel's argument segment: taking the
 * parameter's address instead copies the struct to scratch at -O0 and wherever the optimiser gives up. clang heeds
 * launch_bounds on NVIDIA only.
 */
#define IRIS_KERNEL(name, args_type, var, max_lanes)                                                                   \
    __attribute__((global, amdgpu_flat_work_group_size(1, max_lanes), unused)) void name(args_type);                   \
    IRIS_DEVICE void irisi_body_##name(const args_type *var);                                                          \
    __attribute__((global, amdgpu_flat_work_group_size(1, max_lanes), unused)) void name(args_type)                    \
    {                                                                                                                  \
        irisi_body_##name((const args_type *)__builtin_amdgcn_kernarg_segment_ptr());                                  \
    }                                                                                                                  \
    IRIS_DEVICE void irisi_body_##name(const args_type *var)

/* The same for a kernel of which `groups` workgroups are to fit on a compute unit: here units are many enough. */
#define IRISI_KERNEL_FITS(name, args_type, var, max_lanes, groups) IRIS_KERNEL(name, args_type, var, max_lanes)

/** Lanes of a wave: 64 on AMD, 32 on NVIDIA, 1 on the host. */
IRIS_DEVICE uint32_t iris_wave_lanes(void) { return 64; }
/** Lane within its workgroup. */
IRIS_DEVICE uint32_t iris_wg_lane(void) { return __builtin_amdgcn_workitem_id_x(); }
/** Lanes of a workgroup. */
IRIS_DEVICE uint32_t iris_wg_lanes(void) { return __builtin_amdgcn_workgroup_size_x(); }
/** Lane within its wave, 0 .. iris_wave_lanes()-1. */
IRIS_DEVICE uint32_t iris_lane(void) { return __builtin_amdgcn_workitem_id_x() % 64; }
/** Wave within its workgroup. The same in all its lanes, and the compiler is told so. */
IRIS_DEVICE uint32_t iris_wave(void)
{
    return (uint32_t)__builtin_amdgcn_readfirstlane((int)(__builtin_amdgcn_workitem_id_x() / 64));
}
/** Waves of a workgroup. */
IRIS_DEVICE uint32_t iris_waves(void) { return (iris_wg_lanes() + 63) / 64; }
/** Workgroup within the grid. */
IRIS_DEVICE uint32_t iris_workgroup(void) { return __builtin_amdgcn_workgroup_id_x(); }
/** Workgroups of the grid. The launch packet holds the grid in lanes. */
IRIS_DEVICE uint32_t iris_workgroups(void) { return __builtin_amdgcn_grid_size_x() / iris_wg_lanes(); }
/**
 * The compute unit that the workgroup runs on, below IRIS_COMPUTE_UNIT_IDS; numbers may have gaps. For sharing out work
 * among workgroups that share a unit: which ones do, no grid says. Ranks that share a device share the numbers. A hint:
 * an emulator may call all units 0.
 */
IRIS_DEVICE uint32_t iris_compute_unit(void)
{
    const uint32_t unit = __builtin_amdgcn_s_getreg(4 | 8 << 6 | 7 << 11); /* HW_ID: CU_ID, SH_ID, SE_ID */
#if defined(__gfx942__) || defined(__gfx950__)
    const uint32_t xcd = __builtin_amdgcn_s_getreg(20 | 0 << 6 | 3 << 11); /* XCC_ID */
#else
    const uint32_t xcd = 0;
#endif
    return (xcd << 8 | unit) % IRIS_COMPUTE_UNIT_IDS;
}
/* The size of the grid is a division of what the launch packet holds, and takes registers: for checked mode alone. */
enum { IRISI_GRID_AT_HAND = 0 };
/** Lane within the grid. */
IRIS_DEVICE size_t iris_grid_lane(void) { return (size_t)iris_workgroup() * iris_wg_lanes() + iris_wg_lane(); }
/** Lanes of the grid. */
IRIS_DEVICE size_t iris_grid_lanes(void) { return __builtin_amdgcn_grid_size_x(); }

/** Workgroup-shared memory of the launch (iris_launch_config.shared_bytes), 128-byte aligned. */
IRIS_DEVICE void *iris_shared(void)
{
    extern __attribute__((shared, aligned(128))) unsigned char irisi_shared_bytes[];
    return irisi_shared_bytes;
}

/** Ticks (100 MHz) of a clock that never goes back: the unit of iris_ctx.deadline. */
IRIS_DEVICE uint64_t iris_clock(void) { return __builtin_amdgcn_s_memrealtime(); }

/* A word of the own device's memory that does not change while a kernel runs: it may be loaded once and kept. */
IRIS_DEVICE uint64_t irisi_load_invariant_u64(const uint64_t *p)
{
    return *(const IRISI_CONSTANT uint64_t *)(uintptr_t)p;
}

/**
 * One turn of a polling loop. `turn` counts the turns so far.
 *
 * A turn sleeps 64 clocks, later ones 1024: a poll of a signal goes out to memory, and waves that do not work should
 * not compete with those that do.
 */
IRIS_DEVICE void iris_pause(uint32_t turn)
{
    if (turn < 64)
        __builtin_amdgcn_s_sleep(1);
    else
        __builtin_amdgcn_s_sleep(16);
}

/* Here a kernel begins when all work before it in its stream is complete. */
IRIS_DEVICE void irisi_launch_wait(void) {}
IRIS_DEVICE void irisi_launch_next(void) {}

/** Brings the lanes of a wave together and orders their memory operations among themselves. */
IRIS_DEVICE void iris_sync_wave(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

/**
 * Workgroup barrier: every lane of the workgroup calls it; orders their memory operations among themselves.
 *
 * Among themselves only: the compiler does not wait for stores to global memory before the barrier, because the waves
 * of a workgroup share one L1. Stores that another device is to see need irisi_drain() or irisi_release() first.
 */
IRIS_DEVICE void iris_sync_wg(void)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

/* Barrier of some waves of the workgroup: 0, this platform has none. */
IRIS_DEVICE int irisi_sync_part(const uint32_t *counter, uint32_t lanes) { return (void)counter, (void)lanes, 0; }

/* Gates between waves of a workgroup: 0, this platform has none. */
IRIS_DEVICE int irisi_gate_make(void *gate, uint32_t arrivals) { return (void)gate, (void)arrivals, 0; }
IRIS_DEVICE int irisi_gate_arrive(void *gate) { return (void)gate, 0; }
IRIS_DEVICE int irisi_gate_await(const void *gate, uint32_t phase) { return (void)gate, (void)phase, 0; }

/*
 * A value that is the same in all lanes, as if it were new; a kernel's arguments, or a part of them, at an address that
 * the compiler cannot recognise. What depends on them is read and computed where it is needed: the compiler would do it
 * before the loop, and keep it in more scalar registers than there are.
 */
IRIS_DEVICE uint32_t irisi_rematerialize_u32(uint32_t v)
{
    uint32_t fresh;
    __asm__ __volatile__("" : "=s"(fresh) : "0"(__builtin_amdgcn_readfirstlane((int)v)));
    return fresh;
}
IRIS_DEVICE uint64_t irisi_rematerialize_u64(uint64_t v)
{
    const uint64_t low = irisi_rematerialize_u32((uint32_t)v), high = irisi_rematerialize_u32((uint32_t)(v >> 32));
    return high << 32 | low;
}
IRIS_DEVICE const void *irisi_rematerialize(const void *args)
{
    return (const void *)(const IRISI_CONSTANT void *)irisi_rematerialize_u64((uint64_t)args);
}

/* Likewise a value that is needed rarely: it waits for irisi_rematerialize_u32 in a vector register. */
IRIS_DEVICE uint32_t irisi_in_vector_register_u32(uint32_t v)
{
    __asm__ __volatile__("" : "+v"(v));
    return v;
}
/* The same value as a scalar again, which it is in every lane of a wave; it may be one already. */
IRIS_DEVICE uint32_t irisi_from_vector_register_u32(uint32_t v)
{
    return (uint32_t)__builtin_amdgcn_readfirstlane((int)v);
}

/* A lane's address: the compiler would take it apart and keep what is the same in all lanes many times over. */
IRIS_DEVICE char *irisi_in_vector_register(char *p)
{
    __asm__ __volatile__("" : "+v"(p));
    return p;
}

/* Counters in workgroup-shared memory: get acquires, set releases, add does both; within the workgroup. */
IRIS_DEVICE uint32_t irisi_shared_get(const uint32_t *p)
{
    return __hip_atomic_load((const IRISI_LOCAL uint32_t *)p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
}
IRIS_DEVICE void irisi_shared_set(uint32_t *p, uint32_t value)
{
    __hip_atomic_store((IRISI_LOCAL uint32_t *)p, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
}
IRIS_DEVICE void irisi_shared_add(uint32_t *p, uint32_t value)
{
    (void)__hip_atomic_fetch_add((IRISI_LOCAL uint32_t *)p, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_WORKGROUP);
}

/** The value that lane `from` of the wave holds. Every lane of the wave calls it. */
IRIS_DEVICE uint32_t iris_shuffle_u32(uint32_t value, uint32_t from)
{
    return (uint32_t)__builtin_amdgcn_ds_bpermute((int)(from * 4), (int)value);
}
IRIS_DEVICE uint64_t iris_shuffle_u64(uint64_t value, uint32_t from)
{
    const uint32_t low = iris_shuffle_u32((uint32_t)value, from);
    return (uint64_t)iris_shuffle_u32((uint32_t)(value >> 32), from) << 32 | low;
}
IRIS_DEVICE float iris_shuffle_f32(float value, uint32_t from)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = iris_shuffle_u32(bits, from);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}
IRIS_DEVICE double iris_shuffle_f64(double value, uint32_t from)
{
    uint64_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    bits = iris_shuffle_u64(bits, from);
    __builtin_memcpy(&value, &bits, sizeof bits);
    return value;
}
/** The value that lane `iris_lane() ^ mask` holds. Every lane of the wave calls it; mask < iris_wave_lanes(). */
IRIS_DEVICE uint32_t iris_shuffle_xor_u32(uint32_t value, uint32_t mask)
{
    return iris_shuffle_u32(value, iris_lane() ^ mask);
}
IRIS_DEVICE uint64_t iris_shuffle_xor_u64(uint64_t value, uint32_t mask)
{
    return iris_shuffle_u64(value, iris_lane() ^ mask);
}
IRIS_DEVICE float iris_shuffle_xor_f32(float value, uint32_t mask)
{
    return iris_shuffle_f32(value, iris_lane() ^ mask);
}
IRIS_DEVICE double iris_shuffle_xor_f64(double value, uint32_t mask)
{
    return iris_shuffle_f64(value, iris_lane() ^ mask);
}
/** One bit for each lane of the wave whose `predicate` is not 0; bit i is lane i. */
IRIS_DEVICE uint64_t iris_ballot(int predicate) { return __builtin_amdgcn_ballot_w64(predicate != 0); }

/*
 * For traces: the lanes of the wave that are here together and gave the same key as the caller; how many those are, and
 * whether the caller is the first of them. Any lanes call it.
 */
IRIS_DEVICE uint64_t irisi_lanes_that_mean(uint32_t key)
{
    uint64_t same = 0;
    for (int mine = 0; !mine;) { /* the first lane left, and who means the same, leave together */
        mine = (uint32_t)__builtin_amdgcn_readfirstlane((int)key) == key;
        if (mine)
            same = iris_ballot(1);
    }
    return same;
}
IRIS_DEVICE uint32_t irisi_count_lanes(uint64_t lanes) { return (uint32_t)__builtin_popcountll(lanes); }
IRIS_DEVICE int irisi_is_first_of(uint64_t lanes) { return (lanes & (((uint64_t)1 << iris_lane()) - 1)) == 0; }

/*
 * iris_sync_wg, and 1 in every lane when the flag of any lane was not 0; else 0. Waves tell each other through 64 bytes
 * of workgroup-shared memory of their own, which nobody may write again before all have read it: a second barrier.
 */
IRIS_DEVICE int irisi_any_wg(int flag)
{
    static __attribute__((shared)) uint32_t irisi_said[16];
    const uint32_t said = iris_ballot(flag) != 0;
    uint32_t any = 0;
    if (iris_lane() == 0)
        irisi_said[iris_wave()] = said;
    iris_sync_wg();
    IRISI_ROLLED
    for (uint32_t wave = 0; wave < iris_waves(); wave++)
        any |= irisi_said[wave];
    iris_sync_wg();
    return __builtin_amdgcn_readfirstlane((int)any) != 0;
}

/*
 * How n items are split over a group: for (size_t i = s.first; i < s.end; i += s.step).
 * Neighbouring lanes take neighbouring items on GPUs; CPU threads take one contiguous block each.
 */
typedef struct irisi_span {
    size_t first, end, step;
} irisi_span;

IRIS_DEVICE irisi_span irisi_split(size_t n, size_t member, size_t members)
{
    irisi_span s;
    s.first = member;
    s.end = n;
    s.step = members;
    return s;
}

#endif
