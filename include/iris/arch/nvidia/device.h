/* SPDX-License-Identifier: MIT */
/*
 * device.h (nvidia): what a kernel knows about itself, and how the lanes of a workgroup meet.
 *
 *   IRIS_DEVICE IRIS_HOST_DEVICE IRIS_KERNEL
 *   iris_lane iris_wave_lanes iris_wave iris_waves iris_wg_lane iris_wg_lanes
 *   iris_workgroup iris_workgroups iris_compute_unit iris_grid_lane iris_grid_lanes
 *   iris_sync_wave iris_sync_wg iris_shared
 *   iris_shuffle_{u32,u64,f32,f64} iris_shuffle_xor_{u32,u64,f32,f64} iris_ballot
 *   iris_clock iris_pause irisi_split irisi_launch_wait irisi_launch_next
 *
 * A wave is a warp, a workgroup is a thread block; grids and workgroups are one-dimensional.
 */
#ifndef IRIS_ARCH_NVIDIA_DEVICE_H
#define IRIS_ARCH_NVIDIA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <iris/arch/types.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "Iris needs an NVIDIA GPU of compute capability 8.0 or newer: compile with -arch=sm_80 or above."
#endif

#define IRIS_DEVICE static __device__ __forceinline__ __attribute__((unused))
#define IRISI_DEVICE_ONCE IRIS_DEVICE /* on the host it is not inlined */
#define IRISI_ONCE 0
#define IRIS_HOST_DEVICE static __host__ __device__ __forceinline__ __attribute__((unused))

/* Most lanes of a collective's workgroup: what leaves it the registers that it needs. */
enum { IRISI_COLLECTIVE_LANES = 512 };

/* Before a loop over a few registers: unrolled, or the registers become memory. */
#define IRISI_UNROLL _Pragma("unroll")
/* Before a loop that waits, or is seldom run: left as short as it is. */
#define IRISI_ROLLED _Pragma("unroll 1")
/* Before a loop over constants: they cost nothing here. */
#define IRISI_CONSTANTS

/* Atomics on a peer's memory work on every page of its heap. */
#if !defined(IRISI_REMOTE_ATOMICS_NEED_SYNC)
#define IRISI_REMOTE_ATOMICS_NEED_SYNC 0
#endif

/**
 * Declares and defines a kernel: `IRIS_KERNEL(name, args_type, var, max_lanes) { body }`.
 *
 * The kernel takes one argument struct by value; in the body `var` is a `const args_type *`. No launch may ask for
 * more than `max_lanes` lanes a workgroup. Put `static` in front for a kernel that only this file launches. With one
 * workgroup a multiprocessor asked for, ptxas takes the registers it needs; left open, it spills to keep them few.
 */
#define IRIS_KERNEL(name, args_type, var, max_lanes) IRISI_KERNEL_FITS(name, args_type, var, max_lanes, 1)

/* The same for a kernel of which `groups` workgroups are to fit on a multiprocessor. */
#define IRISI_KERNEL_FITS(name, args_type, var, max_lanes, groups)                                                     \
    __global__ void __launch_bounds__(max_lanes, groups) __attribute__((unused))                                       \
    name(const __grid_constant__ args_type irisi_args);                                                                \
    IRIS_DEVICE void irisi_body_##name(const args_type *var);                                                          \
    __global__ void __launch_bounds__(max_lanes, groups) name(const __grid_constant__ args_type irisi_args)            \
    {                                                                                                                  \
        irisi_body_##name(&irisi_args);                                                                                \
    }                                                                                                                  \
    IRIS_DEVICE void irisi_body_##name(const args_type *var)

/** Lanes of a wave: 64 on AMD, 32 on NVIDIA, 1 on the host. */
IRIS_DEVICE uint32_t iris_wave_lanes(void) { return 32; }
/** Lane within its workgroup. */
IRIS_DEVICE uint32_t iris_wg_lane(void) { return threadIdx.x; }
/** Lanes of a workgroup. */
IRIS_DEVICE uint32_t iris_wg_lanes(void) { return blockDim.x; }
/** Lane within its wave, 0 .. iris_wave_lanes()-1. */
IRIS_DEVICE uint32_t iris_lane(void) { return threadIdx.x % 32; }
/** Wave within its workgroup. */
IRIS_DEVICE uint32_t iris_wave(void) { return threadIdx.x / 32; }
/** Waves of a workgroup. */
IRIS_DEVICE uint32_t iris_waves(void) { return (blockDim.x + 31) / 32; }
/** Workgroup within the grid. */
IRIS_DEVICE uint32_t iris_workgroup(void) { return blockIdx.x; }
/** Workgroups of the grid. */
IRIS_DEVICE uint32_t iris_workgroups(void) { return gridDim.x; }
/**
 * The compute unit that the workgroup runs on, below IRIS_COMPUTE_UNIT_IDS; numbers may have gaps. For sharing out work
 * among workgroups that share a unit: which ones do, no grid says. Ranks that share a device share the numbers. A hint:
 * an emulator may call all units 0.
 */
IRIS_DEVICE uint32_t iris_compute_unit(void)
{
    uint32_t unit;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    return unit % IRIS_COMPUTE_UNIT_IDS;
}
/* The size of the grid costs nothing here: reports of every build hold it. */
enum { IRISI_GRID_AT_HAND = 1 };
/** Lane within the grid. */
IRIS_DEVICE size_t iris_grid_lane(void) { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }
/** Lanes of the grid. */
IRIS_DEVICE size_t iris_grid_lanes(void) { return (size_t)gridDim.x * blockDim.x; }

/** Workgroup-shared memory of the launch (iris_launch_config.shared_bytes), 128-byte aligned. */
IRIS_DEVICE void *iris_shared(void)
{
    extern __shared__ __align__(128) unsigned char irisi_shared_bytes[];
    return irisi_shared_bytes;
}

/** Nanoseconds of a clock that never goes back: the unit of iris_ctx.deadline. */
IRIS_DEVICE uint64_t iris_clock(void)
{
    uint64_t t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/*
 * A word of the own device's memory that does not change while a kernel runs: it may be loaded once and kept. __ldg
 * would be loaded where nobody uses it, too.
 */
IRIS_DEVICE uint64_t irisi_load_invariant_u64(const uint64_t *p)
{
    uint64_t v;
    asm("ld.global.nc.u64 %0, [%1];" : "=l"(v) : "l"(__cvta_generic_to_global(p)));
    return v;
}

/**
 * One turn of a polling loop. `turn` counts the turns so far.
 *
 * The first looks follow each other at once, since a signal between GPUs is often only a microsecond away; later ones
 * leave the memory system to the waves that do the work.
 */
IRIS_DEVICE void iris_pause(uint32_t turn)
{
    if (turn >= 64)
        __nanosleep(turn < 1024 ? 32 : 256);
}

/* Waits until all work before the kernel in its stream is complete, and sees what it has written. */
IRIS_DEVICE void irisi_launch_wait(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/*
 * Lets the next kernel in the stream begin, if it is launched early, where this one has no workgroups, or no more. Not
 * for kernels that wait for other ranks: theirs may be waiting for a place on this very device, which it would take.
 */
IRIS_DEVICE void irisi_launch_next(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/** Brings the lanes of a wave together and orders their memory operations among themselves. */
IRIS_DEVICE void iris_sync_wave(void) { __syncwarp(); }

/** Workgroup barrier: every lane of the workgroup calls it; orders their memory operations among themselves. */
IRIS_DEVICE void iris_sync_wg(void) { __syncthreads(); }

/* iris_sync_wg, and 1 in every lane when the flag of any lane was not 0; else 0. */
IRIS_DEVICE int irisi_any_wg(int flag) { return __syncthreads_or(flag) != 0; }

/*
 * Barrier of some waves of the workgroup, `lanes` lanes in all: 1, or 0 where the platform has none but the
 * workgroup's. Here one of the 15 further barriers of a thread block, which `counter` chooses by its place.
 */
IRIS_DEVICE int irisi_sync_part(const uint32_t *counter, uint32_t lanes)
{
    const uint32_t barrier = 1 + (uint32_t)__cvta_generic_to_shared(counter) / 4 % 15;
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(lanes) : "memory");
    return 1;
}

/*
 * A gate: 8 bytes of workgroup-shared memory, made by one lane before a workgroup barrier, at which waves wait for
 * others. Phase n ends with the `arrivals`-th arrival since phase n - 1 did; who waits for it comes before phase n + 1
 * has ended. Arriving releases, waiting acquires. All return 1, or 0 where the platform has no such thing.
 */
IRIS_DEVICE int irisi_gate_make(void *gate, uint32_t arrivals)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(gate);
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
    return 1;
}
IRIS_DEVICE int irisi_gate_arrive(void *gate)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(gate);
    asm volatile("{\n .reg .b64 state;\n mbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(at) : "memory");
    return 1;
}
IRIS_DEVICE int irisi_gate_await(const void *gate, uint32_t phase)
{
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(gate);
    uint32_t ended = 0;
    for (uint32_t turn = 0; !ended; turn++) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 /* sleeps in the device */
        asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(ended)
                     : "r"(at), "r"(phase & 1)
                     : "memory");
#else
        asm volatile("{\n .reg .pred p;\n mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(ended)
                     : "r"(at), "r"(phase & 1)
                     : "memory");
        iris_pause(turn);
#endif
    }
    return 1;
}

/* A kernel's arguments, or a part of them, which the compiler is to read where they are needed (AMD). */
IRIS_DEVICE const void *irisi_rematerialize(const void *args) { return args; }
IRIS_DEVICE uint32_t irisi_rematerialize_u32(uint32_t v) { return v; }
IRIS_DEVICE uint64_t irisi_rematerialize_u64(uint64_t v) { return v; }
IRIS_DEVICE uint32_t irisi_in_vector_register_u32(uint32_t v) { return v; }
IRIS_DEVICE uint32_t irisi_from_vector_register_u32(uint32_t v) { return v; }
IRIS_DEVICE char *irisi_in_vector_register(char *p) { return p; }

/* Counters in workgroup-shared memory: get acquires, set releases, add does both; within the workgroup. */
IRIS_DEVICE uint32_t irisi_shared_get(const uint32_t *p)
{
    uint32_t value;
    asm volatile("ld.acquire.cta.shared.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"((uint32_t)__cvta_generic_to_shared(p))
                 : "memory");
    return value;
}
IRIS_DEVICE void irisi_shared_set(uint32_t *p, uint32_t value)
{
    asm volatile("st.release.cta.shared.u32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)), "r"(value)
                 : "memory");
}
IRIS_DEVICE void irisi_shared_add(uint32_t *p, uint32_t value)
{
    asm volatile("atom.acq_rel.cta.shared.add.u32 _, [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)), "r"(value)
                 : "memory");
}

/** The value that lane `from` of the wave holds. Every lane of the wave calls it. */
IRIS_DEVICE uint32_t iris_shuffle_u32(uint32_t value, uint32_t from)
{
    return __shfl_sync(0xffffffffu, value, (int)from);
}
IRIS_DEVICE uint64_t iris_shuffle_u64(uint64_t value, uint32_t from)
{
    return __shfl_sync(0xffffffffu, (unsigned long long)value, (int)from);
}
IRIS_DEVICE float iris_shuffle_f32(float value, uint32_t from) { return __shfl_sync(0xffffffffu, value, (int)from); }
IRIS_DEVICE double iris_shuffle_f64(double value, uint32_t from) { return __shfl_sync(0xffffffffu, value, (int)from); }
/** The value that lane `iris_lane() ^ mask` holds. Every lane of the wave calls it; mask < iris_wave_lanes(). */
IRIS_DEVICE uint32_t iris_shuffle_xor_u32(uint32_t value, uint32_t mask)
{
    return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}
IRIS_DEVICE uint64_t iris_shuffle_xor_u64(uint64_t value, uint32_t mask)
{
    return __shfl_xor_sync(0xffffffffu, (unsigned long long)value, (int)mask);
}
IRIS_DEVICE float iris_shuffle_xor_f32(float value, uint32_t mask)
{
    return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}
IRIS_DEVICE double iris_shuffle_xor_f64(double value, uint32_t mask)
{
    return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}
/** One bit for each lane of the wave whose `predicate` is not 0; bit i is lane i. */
IRIS_DEVICE uint64_t iris_ballot(int predicate) { return __ballot_sync(0xffffffffu, predicate); }

/*
 * For traces: the lanes of the wave that are here together and gave the same key as the caller; how many those are, and
 * whether the caller is the first of them. Any lanes call it.
 */
IRIS_DEVICE uint64_t irisi_lanes_that_mean(uint32_t key) { return __match_any_sync(__activemask(), key); }
IRIS_DEVICE uint32_t irisi_count_lanes(uint64_t lanes) { return (uint32_t)__popcll(lanes); }
IRIS_DEVICE int irisi_is_first_of(uint64_t lanes) { return (lanes & (((uint64_t)1 << iris_lane()) - 1)) == 0; }

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
