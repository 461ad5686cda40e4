/* SPDX-License-Identifier: MIT */
/*
 * share.c: how elements are shared out among slices and pieces: every element is one slice's, a slice's first element
 * begins a line, short messages and those by few slices leave the others alone, and the launcher's grid has a workgroup
 * for every slice that has work; in checked mode the first takes part even in what is empty. With the slices of every
 * platform, and counts about each bound.
 */
#include <iris/collective/collective.h>

#include <stdio.h>
#include <string.h>

static unsigned failures, tried;

static void fail(const iris_channel *ch, int few, size_t count, size_t bytes, const char *what)
{
    if (failures++ < 10)
        printf("%zu elements of %zu bytes, %u slices of %u bytes or more, skinny=%d: %s\n", count, bytes, ch->slices,
               ch->least, few, what);
}

static void check(const iris_channel *ch, int few, size_t count, size_t bytes)
{
    const size_t each = irisi_slice_each(ch, few, count, bytes);
    const uint32_t most = few || count * bytes < IRISI_CROWD ? (uint32_t)IRISI_FEW_SLICES : ch->slices;
    size_t next = 0;
    uint32_t slice = 0;
    for (; irisi_slice_has(each, slice, count) && slice <= ch->slices; slice++) {
        const irisi_share own = irisi_share_of(each, slice, count);
        const int empty = own.count == 0 && !(IRISI_CHECKED && count == 0 && slice == 0);
        if (own.first != next || empty || own.first * bytes % IRISI_SLICE_LINE != 0)
            fail(ch, few, count, bytes, "a slice's share does not follow the one before");
        next = own.first + own.count;
    }
    if (next != count)
        fail(ch, few, count, bytes, "not all elements are somebody's");
    if (slice > ch->slices || slice > most)
        fail(ch, few, count, bytes, "more slices have work than there are");
    if (IRISI_CHECKED && slice == 0)
        fail(ch, few, count, bytes, "no slice compares counts");
    if (irisi_share_of(each, slice, count).count != 0)
        fail(ch, few, count, bytes, "a slice behind the last has work");
    tried++;
}

int main(void)
{
    static const uint32_t slices[] = {1, 4, 63, 64, 65, 100, 128};
    static const size_t about[] = {0, 1024, 65536, 131072, IRISI_CROWD, (size_t)1 << 32, (size_t)1 << 40};
    iris_channel ch;
    memset(&ch, 0, sizeof ch);
    for (size_t s = 0; s < sizeof slices / sizeof slices[0]; s++)
        for (uint32_t least = 128; least <= 262144; least *= 8)
            for (size_t bytes = 1; bytes <= 8; bytes *= 2)
                for (size_t a = 0; a < sizeof about / sizeof about[0]; a++)
                    for (int off = -40; off <= 40; off++) {
                        ch.slices = slices[s], ch.least = least;
                        if (off >= 0 || about[a] / bytes >= (size_t)-off)
                            check(&ch, 0, about[a] / bytes + (size_t)off, bytes),
                                check(&ch, 1, about[a] / bytes + (size_t)off, bytes);
                    }
    ch.slices = 0, ch.least = 0; /* not made for collectives: all is the first slice's, which is none */
    if (irisi_slice_each(&ch, 0, 1000, 4) != 1000 || irisi_slice_has(1000, 1, 1000))
        fail(&ch, 0, 1000, 4, "a walk over no slices does not end");
    printf("%u cases, %u failures\n", tried, failures);
    return failures != 0;
}
