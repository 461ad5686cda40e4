/* SPDX-License-Identifier: MIT */
/*
 * collective_sources.h: where a reduction's elements come from, and where its results go.
 *
 *   irisi_sources irisi_from_rows irisi_from_members irisi_source irisi_target irisi_deliver
 */
#ifndef IRIS_COLLECTIVE_SOURCES_H
#define IRIS_COLLECTIVE_SOURCES_H

#include <iris/collective.h>

#if IRIS_HAS_DEVICE

/* Where elements come from: the same place on every member, or `n` rows of own memory, `pitch` bytes apart. */
typedef struct irisi_sources {
    const void *first;
    size_t pitch;
    int n, remote;
} irisi_sources;
/* Where results go, if not to one rank. */
enum { IRISI_FOR_SELF = -1, IRISI_FOR_ALL = -2 };

IRIS_DEVICE irisi_sources irisi_from_rows(const void *first, size_t pitch, int n)
{
    irisi_sources from;
    from.first = first, from.pitch = pitch, from.n = n, from.remote = 0;
    return from;
}
IRIS_DEVICE irisi_sources irisi_from_members(const iris_slice *s, const void *first)
{
    irisi_sources from = irisi_from_rows(first, 0, s->size);
    from.remote = 1;
    return from;
}
IRIS_DEVICE const char *irisi_source(const iris_slice *s, const irisi_sources *from, int k)
{
    return from->remote ? (const char *)irisi_translate(s->ctx, from->first, irisi_slice_rank(s, k))
                        : (const char *)from->first + (size_t)k * from->pitch;
}

/* Where result number k goes, 1 … size for all members: the next one first, so that no link is everybody's first. */
IRIS_DEVICE void *irisi_target(const iris_slice *s, void *dst, int to, int k)
{
    return to == IRISI_FOR_SELF ? dst
                                : irisi_translate(s->ctx, dst, to == IRISI_FOR_ALL ? irisi_slice_ahead(s, k) : to);
}
IRIS_DEVICE void irisi_deliver(const iris_slice *s, void *dst, int to, irisi_b128 v)
{
    for (int k = 1; k <= (to == IRISI_FOR_ALL ? s->size : 1); k++)
        irisi_store_128(irisi_target(s, dst, to, k), v, IRIS_CACHE_DEFAULT);
}

#endif
#endif
