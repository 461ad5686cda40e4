/* SPDX-License-Identifier: MIT */
/*
 * cache_hint.h: what refuses a cache hint that is not for a load, or not for a store. memory.h includes it.
 *
 *   irisi_check_load_hint irisi_check_store_hint
 *
 * A compiler refuses where it optimises, and so knows constants, and where the platform says how a function that is
 * nowhere is declared (IRISI_NOWHERE). Elsewhere such a hint is as IRIS_CACHE_DEFAULT.
 */
#ifndef IRIS_ARCH_CACHE_HINT_H
#define IRIS_ARCH_CACHE_HINT_H

#include <iris/arch/types.h>

#if defined(IRISI_NOWHERE) && __has_attribute(error)
IRISI_NOWHERE void irisi_refuse_load_hint(void)
    __attribute__((error("iris: the cache hint of a load is IRIS_CACHE_DEFAULT, _STREAM, _CA, _CG or _CV")));
IRISI_NOWHERE void irisi_refuse_store_hint(void)
    __attribute__((error("iris: the cache hint of a store is IRIS_CACHE_DEFAULT, _STREAM, _WB, _CG, _CS or _WT")));
IRIS_DEVICE void irisi_check_load_hint(iris_cache hint)
{
    if (__builtin_constant_p(hint) && (hint == IRIS_CACHE_WB || hint == IRIS_CACHE_CS || hint == IRIS_CACHE_WT))
        irisi_refuse_load_hint();
}
IRIS_DEVICE void irisi_check_store_hint(iris_cache hint)
{
    if (__builtin_constant_p(hint) && (hint == IRIS_CACHE_CA || hint == IRIS_CACHE_CV))
        irisi_refuse_store_hint();
}
#else
IRIS_DEVICE void irisi_check_load_hint(iris_cache hint) { (void)hint; }
IRIS_DEVICE void irisi_check_store_hint(iris_cache hint) { (void)hint; }
#endif

#endif
