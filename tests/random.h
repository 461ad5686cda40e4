/* SPDX-License-Identifier: MIT */
/*
 * random.h: numbers and bytes that are functions of their place, the same on every rank, platform and compiler.
 *
 *   irist_random irist_pick irist_poison
 */
#ifndef IRIST_RANDOM_H
#define IRIST_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include <iris/arch/select.h>

/** Counter-based random bits (SplitMix64): the same numbers on every rank and platform. */
IRIS_HOST_DEVICE uint64_t irist_random(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t z = seed * 0xD1342543DE82EF95u + stream * 0x2545F4914F6CDD1Du + (index + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/** A number below `n` that depends on seed, stream and index. */
IRIS_HOST_DEVICE uint32_t irist_pick(uint64_t seed, uint64_t stream, uint64_t index, uint32_t n)
{
    return (uint32_t)((irist_random(seed, stream, index) >> 32) * n >> 32);
}

/** What untouched memory holds: every byte depends on its place, so a shifted copy of it shows. */
IRIS_HOST_DEVICE unsigned char irist_poison(size_t i) { return (unsigned char)(0x5B ^ (i * 37) ^ (i >> 8)); }

#endif
