/* SPDX-License-Identifier: MIT */
/*
 * atomic_host.h: atomics of 32 and 64 bits on the CPU.
 *
 * Generated from templates/arch/atomic_host.h.j2; edit that or gen/registry.py.
 */
#ifndef IRIS_GEN_ARCH_ATOMIC_HOST_H
#define IRIS_GEN_ARCH_ATOMIC_HOST_H

#include <iris/arch/host/memory.h>
#include <iris/arch/types.h>

/*
 * Atomics of the words a CPU works in. Scopes make no difference here. `order` and `scope` are constants at every call,
 * so that of each switch one line is left. A load cannot release and a store cannot acquire: that half of the order
 * does nothing.
 */
IRIS_DEVICE uint32_t irisi_atomic_xchg_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED: return __atomic_exchange_n(p, value, __ATOMIC_RELAXED);
    case IRIS_ACQUIRE: return __atomic_exchange_n(p, value, __ATOMIC_ACQUIRE);
    case IRIS_RELEASE: return __atomic_exchange_n(p, value, __ATOMIC_RELEASE);
    case IRIS_ACQ_REL: return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
    }
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
}

IRIS_DEVICE uint32_t irisi_atomic_add_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED: return __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
    case IRIS_ACQUIRE: return __atomic_fetch_add(p, value, __ATOMIC_ACQUIRE);
    case IRIS_RELEASE: return __atomic_fetch_add(p, value, __ATOMIC_RELEASE);
    case IRIS_ACQ_REL: return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
    }
    return __atomic_fetch_add(p, value, __ATOMIC_SEQ_CST);
}

IRIS_DEVICE uint32_t irisi_atomic_and_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED: return __atomic_fetch_and(p, value, __ATOMIC_RELAXED);
    case IRIS_ACQUIRE: return __atomic_fetch_and(p, value, __ATOMIC_ACQUIRE);
    case IRIS_RELEASE: return __atomic_fetch_and(p, value, __ATOMIC_RELEASE);
    case IRIS_ACQ_REL: return __atomic_fetch_and(p, value, __ATOMIC_ACQ_REL);
    }
    return __atomic_fetch_and(p, value, __ATOMIC_SEQ_CST);
}

IRIS_DEVICE uint32_t irisi_atomic_or_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED: return __atomic_fetch_or(p, value, __ATOMIC_RELAXED);
    case IRIS_ACQUIRE: return __atomic_fetch_or(p, value, __ATOMIC_ACQUIRE);
    case IRIS_RELEASE: return __atomic_fetch_or(p, value, __ATOMIC_RELEASE);
    case IRIS_ACQ_REL: return __atomic_fetch_or(p, value, __ATOMIC_ACQ_REL);
    }
    return __atomic_fetch_or(p, value, __ATOMIC_SEQ_CST);
}

IRIS_DEVICE uint32_t irisi_atomic_xor_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED: return __atomic_fetch_xor(p, value, __ATOMIC_RELAXED);
    case IRIS_ACQUIRE: return __atomic_fetch_xor(p, value, __ATOMIC_ACQUIRE);
    case IRIS_RELEASE: return __atomic_fetch_xor(p, value, __ATOMIC_RELEASE);
    case IRIS_ACQ_REL: return __atomic_fetch_xor(p, value, __ATOMIC_ACQ_REL);
    }
    return __atomic_fetch_xor(p, value, __ATOMIC_SEQ_CST);
}

IRIS_DEVICE uint32_t irisi_atomic_cas_u32(uint32_t *p, uint32_t expected, uint32_t desired, iris_order order,
                                          iris_scope scope)
{
    (void)scope;
    switch (order) {
    case IRIS_RELAXED:
        (void)__atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
        return expected;
    case IRIS_ACQUIRE:
        (void)__atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
        return expected;
    case IRIS_RELEASE:
        (void)__atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        return expected;
    case IRIS_ACQ_REL:
        (void)__atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return expected;
    }
    return expected;
}

IRIS_DEVICE uint32_t irisi_atomic_fetch_u32(const uint32_t *p, iris_order order, iris_scope scope)
{
    (void)scope;
    return order == IRIS_ACQUIRE || order == IRIS_ACQ_REL ? __atomic_load_n(p, __ATOMIC_ACQUIRE)
                                                          : __atomic_load_n(p, __ATOMIC_RELAXED);
}

IRIS_DEVICE void irisi_atomic_set_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    (void)scope;
    if (order == IRIS_RELEASE || order == IRIS_ACQ_REL)
        __atomic_store_n(p, value, __ATOMIC_RELEASE);
    else
        __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

/* C has neither fetch-and-minimum nor floating-point fetch-and-add: tried again until nobody came between. */
IRIS_DEVICE int32_t irisi_atomic_min_i32(int32_t *p, int32_t value, iris_order order, iris_scope scope)
{
    int32_t old, next;
    (void)scope;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    for (;;) {
        next = value < old ? value : old;
        switch (order) {
        case IRIS_RELAXED:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQUIRE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
                return old;
            break;
        case IRIS_RELEASE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQ_REL:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return old;
            break;
        }
    }
}

IRIS_DEVICE int32_t irisi_atomic_max_i32(int32_t *p, int32_t value, iris_order order, iris_scope scope)
{
    int32_t old, next;
    (void)scope;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    for (;;) {
        next = value > old ? value : old;
        switch (order) {
        case IRIS_RELAXED:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQUIRE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
                return old;
            break;
        case IRIS_RELEASE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQ_REL:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return old;
            break;
        }
    }
}

IRIS_DEVICE uint32_t irisi_atomic_min_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    uint32_t old, next;
    (void)scope;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    for (;;) {
        next = value < old ? value : old;
        switch (order) {
        case IRIS_RELAXED:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQUIRE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
                return old;
            break;
        case IRIS_RELEASE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQ_REL:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return old;
            break;
        }
    }
}

IRIS_DEVICE uint32_t irisi_atomic_max_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    uint32_t old, next;
    (void)scope;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    for (;;) {
        next = value > old ? value : old;
        switch (order) {
        case IRIS_RELAXED:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQUIRE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
                return old;
            break;
        case IRIS_RELEASE:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
                return old;
            break;
        case IRIS_ACQ_REL:
            if (__atomic_compare_exchange(p, &old, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return old;
            break;
        }
    }
}

#endif
