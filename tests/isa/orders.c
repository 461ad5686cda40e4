/* SPDX-License-Identifier: MIT */
/*
 * orders.c: an atomic of every order and scope, between an ordinary store before and one after it.
 *
 * Compiled like kernels.c. gates.py reads order and scope from the name: isa_order_<operation>_<order>_<scope>.
 */
#include <iris/iris.h>

typedef struct isa_args {
    iris_ctx ctx;
    uint32_t *before, *after;
    uint64_t *word;
    int rank;
} isa_args;

#define ISA_ORDER(order, ORDER, scope, SCOPE)                                                                          \
    IRIS_KERNEL(isa_order_add_##order##_##scope, isa_args, a, 256)                                                     \
    {                                                                                                                  \
        a->before[iris_wg_lane()] = 1;                                                                                 \
        a->after[iris_wg_lane()] =                                                                                     \
            (uint32_t)iris_atomic_add_u64(&a->ctx, a->word, 1, a->rank, IRIS_##ORDER, IRIS_SCOPE_##SCOPE);             \
    }                                                                                                                  \
    IRIS_KERNEL(isa_order_fetch_##order##_##scope, isa_args, a, 256)                                                   \
    {                                                                                                                  \
        a->before[iris_wg_lane()] = 1;                                                                                 \
        a->after[iris_wg_lane()] =                                                                                     \
            (uint32_t)iris_atomic_fetch_u64(&a->ctx, a->word, a->rank, IRIS_##ORDER, IRIS_SCOPE_##SCOPE);              \
    }                                                                                                                  \
    IRIS_KERNEL(isa_order_set_##order##_##scope, isa_args, a, 256)                                                     \
    {                                                                                                                  \
        a->before[iris_wg_lane()] = 1;                                                                                 \
        iris_atomic_set_u64(&a->ctx, a->word, 1, a->rank, IRIS_##ORDER, IRIS_SCOPE_##SCOPE);                           \
    }

#define ISA_SCOPES(order, ORDER)                                                                                       \
    ISA_ORDER(order, ORDER, wg, WG)                                                                                    \
    ISA_ORDER(order, ORDER, agent, AGENT)                                                                              \
    ISA_ORDER(order, ORDER, system, SYSTEM)

ISA_SCOPES(relaxed, RELAXED)
ISA_SCOPES(acquire, ACQUIRE)
ISA_SCOPES(release, RELEASE)
ISA_SCOPES(acq_rel, ACQ_REL)
