/* SPDX-License-Identifier: MIT */
/*
 * random.h: random numbers that are a function of (seed, index), on every platform, in kernels and on the host.
 *
 *   iris_random_bits iris_philox4x32 iris_philox
 *   iris_random_f32 iris_random_f64 iris_random_below
 *
 * The generator is Philox4x32-10: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3", SC '11, doi 10.1145/2063384.2063405. It has no state: number `index` is ten rounds over the index, keyed
 * with the seed, so any lane, wave or rank can compute any element without what came before it, and a tensor filled
 * in one piece or in many holds the same numbers.
 *
 * One block of 128 bits serves one index: numbers of two indices, or of two streams, never share bits.
 */
#ifndef IRIS_RANDOM_H
#define IRIS_RANDOM_H

#include <stdint.h>

#include <iris/arch/select.h>

/** One block: four random words. */
typedef struct iris_philox {
    uint32_t v[4];
} iris_philox;

/**
 * @name Random numbers without a state
 *
 * Any lane or host thread calls them: the same arguments give the same number everywhere.
 *
 * @param seed    one for each sequence
 * @param index   which number of it
 * @param stream  separates sequences of one seed
 * @param range   how many integers there are to choose from; 0: all of 64 bits
 * @param counter the block's number
 * @param key0    the key's first word
 * @param key1    the key's second word
 * @{
 */
/** Philox4x32-10: ten rounds over `counter` with the key (key0, key1). */
IRIS_HOST_DEVICE iris_philox iris_philox4x32(iris_philox counter, uint32_t key0, uint32_t key1)
{
    iris_philox x = counter;
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * x.v[0];
        const uint64_t p1 = (uint64_t)0xCD9E8D57u * x.v[2];
        x.v[0] = (uint32_t)(p1 >> 32) ^ x.v[1] ^ key0;
        x.v[1] = (uint32_t)p1;
        x.v[2] = (uint32_t)(p0 >> 32) ^ x.v[3] ^ key1;
        x.v[3] = (uint32_t)p0;
        key0 += 0x9E3779B9u; /* Weyl sequences: golden ratio, sqrt(3) - 1 */
        key1 += 0xBB67AE85u;
    }
    return x;
}

/**
 * The 128 random bits of (seed, index). `stream` separates sequences of one seed: creation uses streams 0 (rand,
 * uniform), 1 (randn) and 2 (randint).
 */
IRIS_HOST_DEVICE iris_philox iris_random_bits(uint64_t seed, uint64_t index, uint32_t stream)
{
    iris_philox counter;
    counter.v[0] = (uint32_t)index;
    counter.v[1] = (uint32_t)(index >> 32);
    counter.v[2] = stream;
    counter.v[3] = 0;
    return iris_philox4x32(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

/* The first 64 of those bits. */
IRIS_HOST_DEVICE uint64_t irisi_random_u64(uint64_t seed, uint64_t index, uint32_t stream)
{
    const iris_philox x = iris_random_bits(seed, index, stream);
    return (uint64_t)x.v[0] << 32 | x.v[1];
}

/** Uniform in [0, 1): a multiple of 2^-24, each as likely. The number that iris_rand_f32 puts at `index`. */
IRIS_HOST_DEVICE float iris_random_f32(uint64_t seed, uint64_t index)
{
    return (float)(irisi_random_u64(seed, index, 0) >> 40) * 0x1p-24f;
}

/** Uniform in [0, 1): a multiple of 2^-53, each as likely. The number that iris_rand_f64 puts at `index`. */
IRIS_HOST_DEVICE double iris_random_f64(uint64_t seed, uint64_t index)
{
    return (double)(irisi_random_u64(seed, index, 0) >> 11) * 0x1p-53;
}

/* The upper 64 bits of a * b. */
IRIS_HOST_DEVICE uint64_t irisi_mulhi_u64(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t cross = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (cross >> 32);
}

/**
 * An integer in [0, range); with range 0, any 64-bit number. The number, less lo, that iris_randint_* puts at `index`.
 *
 * 64 random bits are scaled, not reduced: number k has ceil or floor of 2^64 / range of the 2^64 bit patterns, so
 * its probability is off by less than 2^-64, and relative to 1 / range by less than range / 2^64 (2^-32 for the
 * largest 32-bit range). Rejection would remove that, and make the work depend on the numbers.
 */
IRIS_HOST_DEVICE uint64_t iris_random_below(uint64_t seed, uint64_t index, uint64_t range)
{
    const uint64_t bits = irisi_random_u64(seed, index, 2);
    return range == 0 ? bits : irisi_mulhi_u64(bits, range);
}
/** @} */

#endif
