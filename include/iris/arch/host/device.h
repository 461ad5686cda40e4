/* SPDX-License-Identifier: MIT */
/*
 * device.h (host): what a kernel knows about itself, and how the lanes of a workgroup meet.
 *
 *   IRIS_DEVICE IRIS_HOST_DEVICE IRIS_KERNEL
 *   iris_lane iris_wave_lanes iris_wave iris_waves iris_wg_lane iris_wg_lanes
 *   iris_workgroup iris_workgroups iris_compute_unit iris_grid_lane iris_grid_lanes
 *   iris_sync_wave iris_sync_wg iris_shared
 *   iris_shuffle_{u32,u64,f32,f64} iris_shuffle_xor_{u32,u64,f32,f64} iris_ballot
 *   iris_clock iris_pause irisi_split
 *
 * On the host a wave is one lane and one CPU thread; a workgroup is one thread for each 64 lanes asked for. All
 * three platforms define the same names with the same meaning.
 */
#ifndef IRIS_ARCH_HOST_DEVICE_H
#define IRIS_ARCH_HOST_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Without optimisation a call costs less than a copy of the function: the tests compile in half the time. */
#if defined(__OPTIMIZE__)
#define IRISI_INLINE inline __attribute__((always_inline, unused))
#else
#define IRISI_INLINE inline __attribute__((unused))
#endif
/** Before a device function: inlined into every kernel that calls it, where the compiler optimises. */
#define IRIS_DEVICE static IRISI_INLINE
/* The same for one that is not inlined: a compiler's time matters more than a call for each tile. */
#define IRISI_DEVICE_ONCE static __attribute__((noinline, unused))
#define IRISI_ONCE 1 /* such functions do not know what their callers' constants are */
/** Before a function for kernels and host code. */
#define IRIS_HOST_DEVICE static IRISI_INLINE

/* The threads of one workgroup share one of these; it lives as long as the launch. */
typedef struct irisi_group {
    uint32_t waves;
    uint32_t arrived;    /* threads at the barrier */
    uint32_t generation; /* barriers passed */
    uint32_t said[2];    /* the latest barrier, odd or even, at which a thread had a flag for irisi_any_wg */
    uint32_t pad;
    void *shared; /* what iris_shared() returns */
} irisi_group;

/* Who a thread is, set by the launcher before the kernel runs. This and the functions below are in init.c. */
typedef struct irisi_thread {
    irisi_group *group;
    uint32_t wave;
    uint32_t workgroup;
    uint32_t workgroups;
    uint32_t most_lanes; /* what a kernel says when it is called without arguments */
    size_t args_bytes;   /* likewise */
} irisi_thread;

#ifdef __cplusplus
extern "C" {
#endif
extern __thread irisi_thread irisi_self;
uint64_t irisi_host_clock(void);
void irisi_host_nap(uint32_t turn);
#ifdef __cplusplus
}
#endif

/* Most lanes of a collective's workgroup: what leaves it the registers that it needs. */
enum { IRISI_COLLECTIVE_LANES = 512 };

/* Before a loop over a few registers, which GPUs must unroll; here the compiler does better with the loop. */
#define IRISI_UNROLL
/* Before a loop that waits, or is seldom run: left as short as it is. */
#define IRISI_ROLLED
#define IRISI_CONSTANTS

/*
 * Atomics on a peer's memory work on every page of its heap here. Checked mode refuses all the same what AMD refuses:
 * who develops on the host learns of it there.
 */
#if !defined(IRISI_REMOTE_ATOMICS_NEED_SYNC)
#define IRISI_REMOTE_ATOMICS_NEED_SYNC 1
#endif

/**
 * Declares and defines a kernel: `IRIS_KERNEL(name, args_type, var, max_lanes) { body }`.
 *
 * The kernel takes one argument struct by value; in the body `var` is a `const args_type *`. Its locals have a stack of
 * at least 1 MiB, whoever launches it and waits for it. No launch may ask for more than `max_lanes` lanes a workgroup.
 * Put `static` in front for a kernel that only this file launches.
 */
#define IRIS_KERNEL(name, args_type, var, max_lanes)                                                                   \
    void name(const void *irisi_args);                                                                                 \
    IRIS_DEVICE void irisi_body_##name(const args_type *var);                                                          \
    static __attribute__((noinline)) void irisi_frame_##name(const void *irisi_args)                                   \
    {                                                                                                                  \
        irisi_body_##name((const args_type *)irisi_args);                                                              \
    }                                                                                                                  \
    void name(const void *irisi_args)                                                                                  \
    {                                                                                                                  \
        if (irisi_args)                                                                                                \
            irisi_frame_##name(irisi_args);                                                                            \
        else                                                                                                           \
            irisi_self.most_lanes = (max_lanes), irisi_self.args_bytes = sizeof(args_type);                            \
    }                                                                                                                  \
    IRIS_DEVICE void irisi_body_##name(const args_type *var)

/* The same for a kernel of which `groups` workgroups are to fit on a core: here they do anyway. */
#define IRISI_KERNEL_FITS(name, args_type, var, max_lanes, groups) IRIS_KERNEL(name, args_type, var, max_lanes)

/** Lane within its wave, 0 .. iris_wave_lanes()-1. */
IRIS_DEVICE uint32_t iris_lane(void) { return 0; }
/** Lanes of a wave: 64 on AMD, 32 on NVIDIA, 1 on the host. */
IRIS_DEVICE uint32_t iris_wave_lanes(void) { return 1; }
/** Wave within its workgroup. */
IRIS_DEVICE uint32_t iris_wave(void) { return irisi_self.wave; }
/** Waves of a workgroup. */
IRIS_DEVICE uint32_t iris_waves(void) { return irisi_self.group->waves; }
/** Lane within its workgroup. */
IRIS_DEVICE uint32_t iris_wg_lane(void) { return irisi_self.wave; }
/** Lanes of a workgroup. */
IRIS_DEVICE uint32_t iris_wg_lanes(void) { return irisi_self.group->waves; }
/** Workgroup within the grid. */
IRIS_DEVICE uint32_t iris_workgroup(void) { return irisi_self.workgroup; }
/** Workgroups of the grid. */
IRIS_DEVICE uint32_t iris_workgroups(void) { return irisi_self.workgroups; }
/**
 * The compute unit that the workgroup runs on, below IRIS_COMPUTE_UNIT_IDS; numbers may have gaps. For sharing out work
 * among workgroups that share a unit: which ones do, no grid says. Ranks that share a device share the numbers. A hint:
 * an emulator may call all units 0.
 */
IRIS_DEVICE uint32_t iris_compute_unit(void) { return 0; }
/* The size of the grid costs nothing here: reports of every build hold it. */
enum { IRISI_GRID_AT_HAND = 1 };
/** Lane within the grid. */
IRIS_DEVICE size_t iris_grid_lane(void) { return (size_t)irisi_self.workgroup * iris_wg_lanes() + irisi_self.wave; }
/** Lanes of the grid. */
IRIS_DEVICE size_t iris_grid_lanes(void) { return (size_t)irisi_self.workgroups * iris_wg_lanes(); }

/** Workgroup-shared memory of the launch (iris_launch_config.shared_bytes), 128-byte aligned. */
IRIS_DEVICE void *iris_shared(void) { return irisi_self.group->shared; }

/** Nanoseconds of a clock that never goes back: the unit of iris_ctx.deadline. */
IRIS_DEVICE uint64_t iris_clock(void) { return irisi_host_clock(); }

/* A word of the own device's memory that does not change while a kernel runs: it may be loaded once and kept. */
IRIS_DEVICE uint64_t irisi_load_invariant_u64(const uint64_t *p) { return *p; }

/**
 * One turn of a polling loop. `turn` counts the turns so far.
 *
 * Waiters may outnumber the cores by a hundred to one. So a few turns spin, and the next give the core away, unless
 * somebody else takes it for long; the rest sleep for a moment: without the sleep 8 ranks on 2 cores spend their time
 * in the scheduler.
 */
IRIS_DEVICE void iris_pause(uint32_t turn)
{
    if (turn < 16)
        __asm__ __volatile__("" ::: "memory");
    else
        irisi_host_nap(turn);
}

/* Here a kernel begins when all work before it in its stream is complete. */
IRIS_DEVICE void irisi_launch_wait(void) {}
IRIS_DEVICE void irisi_launch_next(void) {}

/** Brings the lanes of a wave together and orders their memory operations among themselves. */
IRIS_DEVICE void iris_sync_wave(void) {}

/** Workgroup barrier: every lane of the workgroup calls it; orders their memory operations among themselves. */
IRIS_DEVICE void iris_sync_wg(void)
{
    irisi_group *g = irisi_self.group;
    const uint32_t generation = __atomic_load_n(&g->generation, __ATOMIC_RELAXED);
    if (__atomic_add_fetch(&g->arrived, 1, __ATOMIC_ACQ_REL) == g->waves) {
        __atomic_store_n(&g->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&g->generation, generation + 1, __ATOMIC_RELEASE);
        return;
    }
    for (uint32_t turn = 0; __atomic_load_n(&g->generation, __ATOMIC_ACQUIRE) == generation; turn++)
        iris_pause(turn);
}

/*
 * iris_sync_wg, and 1 in every lane when the flag of any lane was not 0; else 0. Two words take turns: who writes one
 * again has passed the barrier between, which nobody does before all have read it.
 */
IRIS_DEVICE int irisi_any_wg(int flag)
{
    irisi_group *g = irisi_self.group;
    const uint32_t turn = __atomic_load_n(&g->generation, __ATOMIC_RELAXED) + 1;
    if (flag)
        __atomic_store_n(&g->said[turn & 1], turn, __ATOMIC_RELAXED);
    iris_sync_wg();
    return __atomic_load_n(&g->said[turn & 1], __ATOMIC_RELAXED) == turn;
}

/* Barrier of some waves of the workgroup: 0, this platform has none. */
IRIS_DEVICE int irisi_sync_part(const uint32_t *counter, uint32_t lanes) { return (void)counter, (void)lanes, 0; }

/* Gates between waves of a workgroup: 0, this platform has none. */
IRIS_DEVICE int irisi_gate_make(void *gate, uint32_t arrivals) { return (void)gate, (void)arrivals, 0; }
IRIS_DEVICE int irisi_gate_arrive(void *gate) { return (void)gate, 0; }
IRIS_DEVICE int irisi_gate_await(const void *gate, uint32_t phase) { return (void)gate, (void)phase, 0; }

/* A kernel's arguments, or a part of them, which the compiler is to read where they are needed (AMD). */
IRIS_DEVICE const void *irisi_rematerialize(const void *args) { return args; }
IRIS_DEVICE uint32_t irisi_rematerialize_u32(uint32_t v) { return v; }
IRIS_DEVICE uint64_t irisi_rematerialize_u64(uint64_t v) { return v; }
IRIS_DEVICE uint32_t irisi_in_vector_register_u32(uint32_t v) { return v; }
IRIS_DEVICE uint32_t irisi_from_vector_register_u32(uint32_t v) { return v; }
IRIS_DEVICE char *irisi_in_vector_register(char *p) { return p; }

/* Counters in workgroup-shared memory: get acquires, set releases, add does both; within the workgroup. */
IRIS_DEVICE uint32_t irisi_shared_get(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
IRIS_DEVICE void irisi_shared_set(uint32_t *p, uint32_t value) { __atomic_store_n(p, value, __ATOMIC_RELEASE); }
IRIS_DEVICE void irisi_shared_add(uint32_t *p, uint32_t value) { __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL); }

/**
 * @name Values between the lanes of a wave
 *
 * Every lane of the wave calls them.
 *
 * @param value     what this lane gives
 * @param from      lane of the wave
 * @param mask      below iris_wave_lanes()
 * @param predicate 0 or not
 * @{
 */
/** The value that lane `from` of the wave holds. Every lane of the wave calls it. */
IRIS_DEVICE uint32_t iris_shuffle_u32(uint32_t value, uint32_t from) { return (void)from, value; }
/** iris_shuffle_u32 for u64. */
IRIS_DEVICE uint64_t iris_shuffle_u64(uint64_t value, uint32_t from) { return (void)from, value; }
/** iris_shuffle_u32 for f32. */
IRIS_DEVICE float iris_shuffle_f32(float value, uint32_t from) { return (void)from, value; }
/** iris_shuffle_u32 for f64. */
IRIS_DEVICE double iris_shuffle_f64(double value, uint32_t from) { return (void)from, value; }
/** The value that lane `iris_lane() ^ mask` holds. Every lane of the wave calls it; mask < iris_wave_lanes(). */
IRIS_DEVICE uint32_t iris_shuffle_xor_u32(uint32_t value, uint32_t mask) { return (void)mask, value; }
/** iris_shuffle_xor_u32 for u64. */
IRIS_DEVICE uint64_t iris_shuffle_xor_u64(uint64_t value, uint32_t mask) { return (void)mask, value; }
/** iris_shuffle_xor_u32 for f32. */
IRIS_DEVICE float iris_shuffle_xor_f32(float value, uint32_t mask) { return (void)mask, value; }
/** iris_shuffle_xor_u32 for f64. */
IRIS_DEVICE double iris_shuffle_xor_f64(double value, uint32_t mask) { return (void)mask, value; }
/** One bit for each lane of the wave whose `predicate` is not 0; bit i is lane i. */
IRIS_DEVICE uint64_t iris_ballot(int predicate) { return predicate ? 1u : 0u; }
/** @} */

/*
 * For traces: the lanes of the wave that are here together and gave the same key as the caller; how many those are, and
 * whether the caller is the first of them. Any lanes call it.
 */
IRIS_DEVICE uint64_t irisi_lanes_that_mean(uint32_t key) { return (void)key, 1; }
IRIS_DEVICE uint32_t irisi_count_lanes(uint64_t lanes) { return (uint32_t)lanes; }
IRIS_DEVICE int irisi_is_first_of(uint64_t lanes) { return (int)lanes; }

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
    s.first = n / members * member + (n % members < member ? n % members : member);
    s.end = s.first + n / members + (member < n % members ? 1 : 0);
    s.step = 1;
    return s;
}

#endif
