/* SPDX-License-Identifier: MIT */
/*
 * atomic.h: atomics that no platform has as one instruction, built on compare-and-swap of 32-bit words.
 *
 *   irisi_atomic_sub_{u32,u64}
 *   irisi_atomic_{fetch,set,xchg,cas}_{u8,u16}
 *   irisi_difference_{i8,u8,i16,u16}
 */
#ifndef IRIS_ATOMIC_H
#define IRIS_ATOMIC_H

#include <iris/arch/select.h>

#if IRIS_HAS_DEVICE

IRIS_DEVICE uint32_t irisi_atomic_sub_u32(uint32_t *p, uint32_t value, iris_order order, iris_scope scope)
{
    return irisi_atomic_add_u32(p, 0u - value, order, scope);
}
IRIS_DEVICE uint64_t irisi_atomic_sub_u64(uint64_t *p, uint64_t value, iris_order order, iris_scope scope)
{
    return irisi_atomic_add_u64(p, (uint64_t)0 - value, order, scope);
}

/* Differences of the narrow integers, modulo 2^bits. */
IRIS_DEVICE int8_t irisi_difference_i8(int8_t a, int8_t b) { return (int8_t)(uint8_t)(a - b); }
IRIS_DEVICE uint8_t irisi_difference_u8(uint8_t a, uint8_t b) { return (uint8_t)(a - b); }
IRIS_DEVICE int16_t irisi_difference_i16(int16_t a, int16_t b) { return (int16_t)(uint16_t)(a - b); }
IRIS_DEVICE uint16_t irisi_difference_u16(uint16_t a, uint16_t b) { return (uint16_t)(a - b); }

/* A narrow element inside its aligned 32-bit word; every platform is little-endian. */
typedef struct irisi_cell {
    uint32_t *word;
    uint32_t shift;
    uint32_t mask; /* of the element, at bit 0 */
} irisi_cell;

IRIS_DEVICE irisi_cell irisi_cell_at(const void *p, uint32_t mask)
{
    const uint32_t byte = (uint32_t)((uintptr_t)p & 3);
    irisi_cell c;
    c.word = (uint32_t *)((char *)p - byte);
    c.shift = 8 * byte;
    c.mask = mask;
    return c;
}

IRIS_DEVICE uint32_t irisi_cell_fetch(irisi_cell c, iris_order order, iris_scope scope)
{
    return irisi_atomic_fetch_u32(c.word, order, scope) >> c.shift & c.mask;
}

/* Puts `desired` where the element equals `expected`; changes of its neighbours in the word are retried. */
IRIS_DEVICE uint32_t irisi_cell_cas(irisi_cell c, uint32_t expected, uint32_t desired, iris_order order,
                                    iris_scope scope)
{
    uint32_t old = irisi_atomic_fetch_u32(c.word, IRIS_RELAXED, scope);
    for (;;) {
        const uint32_t rest = old & ~(c.mask << c.shift);
        const uint32_t now = old >> c.shift & c.mask;
        const uint32_t next = rest | (now == expected ? desired : now) << c.shift;
        const uint32_t seen = irisi_atomic_cas_u32(c.word, old, next, order, scope);
        if (seen == old)
            return now;
        old = seen;
    }
}

IRIS_DEVICE uint32_t irisi_cell_xchg(irisi_cell c, uint32_t value, iris_order order, iris_scope scope)
{
    uint32_t now = irisi_cell_fetch(c, IRIS_RELAXED, scope);
    for (;;) {
        const uint32_t seen = irisi_cell_cas(c, now, value, order, scope);
        if (seen == now)
            return now;
        now = seen;
    }
}

IRIS_DEVICE uint8_t irisi_atomic_fetch_u8(const uint8_t *p, iris_order order, iris_scope scope)
{
    return (uint8_t)irisi_cell_fetch(irisi_cell_at(p, 0xff), order, scope);
}
IRIS_DEVICE uint16_t irisi_atomic_fetch_u16(const uint16_t *p, iris_order order, iris_scope scope)
{
    return (uint16_t)irisi_cell_fetch(irisi_cell_at(p, 0xffff), order, scope);
}
IRIS_DEVICE uint8_t irisi_atomic_xchg_u8(uint8_t *p, uint8_t value, iris_order order, iris_scope scope)
{
    return (uint8_t)irisi_cell_xchg(irisi_cell_at(p, 0xff), value, order, scope);
}
IRIS_DEVICE uint16_t irisi_atomic_xchg_u16(uint16_t *p, uint16_t value, iris_order order, iris_scope scope)
{
    return (uint16_t)irisi_cell_xchg(irisi_cell_at(p, 0xffff), value, order, scope);
}
IRIS_DEVICE void irisi_atomic_set_u8(uint8_t *p, uint8_t value, iris_order order, iris_scope scope)
{
    (void)irisi_atomic_xchg_u8(p, value, order, scope);
}
IRIS_DEVICE void irisi_atomic_set_u16(uint16_t *p, uint16_t value, iris_order order, iris_scope scope)
{
    (void)irisi_atomic_xchg_u16(p, value, order, scope);
}
IRIS_DEVICE uint8_t irisi_atomic_cas_u8(uint8_t *p, uint8_t expected, uint8_t desired, iris_order order,
                                        iris_scope scope)
{
    return (uint8_t)irisi_cell_cas(irisi_cell_at(p, 0xff), expected, desired, order, scope);
}
IRIS_DEVICE uint16_t irisi_atomic_cas_u16(uint16_t *p, uint16_t expected, uint16_t desired, iris_order order,
                                          iris_scope scope)
{
    return (uint16_t)irisi_cell_cas(irisi_cell_at(p, 0xffff), expected, desired, order, scope);
}

#endif
#endif
