/* SPDX-License-Identifier: MIT */
/*
 * create_fill.h: how created memory gets its contents, for every dtype and platform; behind <iris/gen/create.h>.
 *
 *   irisi_fill irisi_fill_{constant,ramp,line}_{f64,u64} irisi_fill_{rand,uniform,normal,randint}
 *   irisi_create irisi_create_zeros irisi_create_filled irisi_kind_of irisi_copy_elements
 *
 * The host computes the values in chunks and copies them to the device: no kernels, and the same numbers everywhere.
 * Floats of every width are computed in double (suffix f64), integers in 64 bits that wrap around (suffix u64);
 * one function for each dtype turns them into elements. A value depends on its index alone, never on the chunk.
 *
 * Products are rounded before they are added, whatever the compiler's flags: contracted into fma, as -march=native
 * lets compilers do, the last bit would depend on the machine. Only iris_randn_* calls the mathematical library:
 * its users link with -lm in C.
 */
#ifndef IRIS_CREATE_FILL_H
#define IRIS_CREATE_FILL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <iris/random.h>
#include <iris/world.h>

/* Elements computed and copied at a time: 64 KiB of 8-byte elements. */
#define IRISI_FILL_CHUNK ((size_t)8192)

/* What element i is. `values` writes those of [first, first + count) as double or uint64_t. */
typedef struct irisi_fill {
    void (*values)(void *out, size_t first, size_t count, const struct irisi_fill *how);
    size_t n;
    uint64_t seed;
    double a, b;       /* floats: value; start and step; first and last; lo and hi */
    uint64_t i, j;     /* integers: value; start and step; first and distance to last; lo and hi - lo */
    int digits;        /* rand: random bits of a number */
    int descending;    /* integer line */
    const char *wrong; /* null, or why there is no such fill */
} irisi_fill;

/* Writes `count` values, double or uint64_t, as elements of one dtype. */
typedef void (*irisi_fill_store)(void *to, const void *values, size_t count);

/* a + b * c, rounded twice: nothing is contracted across a volatile. */
static inline double irisi_fill_add_product(double a, double b, double c)
{
    const volatile double product = b * c;
    return a + product;
}

/* In [0, 1): a multiple of 2^-digits. */
static inline double irisi_fill_unit(uint64_t seed, uint64_t index, int digits)
{
    return (double)(irisi_random_u64(seed, index, 0) >> (64 - digits)) / (double)((uint64_t)1 << digits);
}

static inline void irisi_values_constant_f64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    (void)first;
    for (size_t k = 0; k < count; k++)
        ((double *)out)[k] = how->a;
}

static inline void irisi_values_constant_u64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    (void)first;
    for (size_t k = 0; k < count; k++)
        ((uint64_t *)out)[k] = how->i;
}

static inline void irisi_values_ramp_f64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((double *)out)[k] = irisi_fill_add_product(how->a, (double)(first + k), how->b);
}

static inline void irisi_values_ramp_u64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((uint64_t *)out)[k] = how->i + (first + k) * how->j;
}

/* Counted from the nearer end, so that both ends are exact. */
static inline void irisi_values_line_f64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    const size_t last = how->n - 1;
    const double step = last ? (how->b - how->a) / (double)last : 0;
    for (size_t k = 0; k < count; k++) {
        const size_t at = first + k;
        ((double *)out)[k] = at <= last / 2 ? irisi_fill_add_product(how->a, (double)at, step)
                                            : irisi_fill_add_product(how->b, -(double)(last - at), step);
    }
}

/* distance * at / last without overflow: quotient and remainder of distance / last apart; last < 2^32. */
static inline void irisi_values_line_u64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    const uint64_t last = how->n > 1 ? how->n - 1 : 1;
    for (size_t k = 0; k < count; k++) {
        const uint64_t at = first + k;
        const uint64_t moved = how->j / last * at + how->j % last * at / last;
        ((uint64_t *)out)[k] = how->descending ? how->i - moved : how->i + moved;
    }
}

static inline void irisi_values_rand(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((double *)out)[k] = irisi_fill_unit(how->seed, first + k, how->digits);
}

static inline void irisi_values_uniform(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((double *)out)[k] = irisi_fill_add_product(how->a, irisi_fill_unit(how->seed, first + k, 53), how->b - how->a);
}

/*
 * G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", Annals of Mathematical
 * Statistics 29 (1958): sqrt(-2 ln u) cos(2 pi v), u in (0, 1] and v in [0, 1) of 53 bits each, so at most 8.6.
 */
static inline void irisi_values_normal(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++) {
        const iris_philox x = iris_random_bits(how->seed, first + k, 1);
        const double u = (double)((((uint64_t)x.v[0] << 32 | x.v[1]) >> 11) + 1) * 0x1p-53;
        const double v = (double)(((uint64_t)x.v[2] << 32 | x.v[3]) >> 11) * 0x1p-53;
        ((double *)out)[k] = sqrt(-2.0 * log(u)) * cos(6.283185307179586476925 * v);
    }
}

static inline void irisi_values_randint_u64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((uint64_t *)out)[k] = how->i + iris_random_below(how->seed, first + k, how->j);
}

static inline void irisi_values_randint_f64(void *out, size_t first, size_t count, const irisi_fill *how)
{
    for (size_t k = 0; k < count; k++)
        ((double *)out)[k] = (double)(int64_t)(how->i + iris_random_below(how->seed, first + k, how->j));
}

/* What the functions above are called with. */
typedef void (*irisi_fill_values)(void *out, size_t first, size_t count, const irisi_fill *how);

static inline irisi_fill irisi_fill_of(irisi_fill_values values, size_t n)
{
    irisi_fill how;
    memset(&how, 0, sizeof how);
    how.values = values;
    how.n = n;
    return how;
}

static inline irisi_fill irisi_fill_f64(irisi_fill_values values, size_t n, double a, double b)
{
    irisi_fill how = irisi_fill_of(values, n);
    how.a = a;
    how.b = b;
    return how;
}

static inline irisi_fill irisi_fill_u64(irisi_fill_values values, size_t n, uint64_t i, uint64_t j)
{
    irisi_fill how = irisi_fill_of(values, n);
    how.i = i;
    how.j = j;
    return how;
}

static inline irisi_fill irisi_fill_constant_f64(size_t n, double value)
{
    return irisi_fill_f64(irisi_values_constant_f64, n, value, 0);
}

static inline irisi_fill irisi_fill_constant_u64(size_t n, uint64_t value)
{
    return irisi_fill_u64(irisi_values_constant_u64, n, value, 0);
}

static inline irisi_fill irisi_fill_ramp_f64(size_t n, double start, double step)
{
    return irisi_fill_f64(irisi_values_ramp_f64, n, start, step);
}

static inline irisi_fill irisi_fill_ramp_u64(size_t n, uint64_t start, uint64_t step)
{
    return irisi_fill_u64(irisi_values_ramp_u64, n, start, step);
}

/* `descending` says whether last < first in the elements' own type, which matters to integers. */
static inline irisi_fill irisi_fill_line_f64(size_t n, double first, double last, int descending)
{
    (void)descending;
    return irisi_fill_f64(irisi_values_line_f64, n, first, last);
}

static inline irisi_fill irisi_fill_line_u64(size_t n, uint64_t first, uint64_t last, int descending)
{
    irisi_fill how = irisi_fill_u64(irisi_values_line_u64, n, first, descending ? first - last : last - first);
    how.descending = descending;
    if ((uint64_t)n > UINT32_MAX)
        how.wrong = "integers in equal steps are limited to 2^32 - 1 elements";
    return how;
}

static inline irisi_fill irisi_fill_rand(size_t n, uint64_t seed, int digits)
{
    irisi_fill how = irisi_fill_of(irisi_values_rand, n);
    how.seed = seed;
    how.digits = digits;
    return how;
}

static inline irisi_fill irisi_fill_uniform(size_t n, uint64_t seed, double lo, double hi)
{
    irisi_fill how = irisi_fill_f64(irisi_values_uniform, n, lo, hi);
    how.seed = seed;
    return how;
}

static inline irisi_fill irisi_fill_normal(size_t n, uint64_t seed)
{
    irisi_fill how = irisi_fill_of(irisi_values_normal, n);
    how.seed = seed;
    return how;
}

/* Integers in [lo, hi); `ordered` says whether lo < hi in their own type. */
static inline irisi_fill irisi_fill_randint(irisi_fill_values values, size_t n, uint64_t seed, uint64_t lo, uint64_t hi,
                                            int ordered)
{
    irisi_fill how = irisi_fill_u64(values, n, lo, hi - lo);
    how.seed = seed;
    if (!ordered)
        how.wrong = "lo must be below hi";
    return how;
}

/* Memory for n elements, contents undefined. No elements get a byte all the same: an address of their own. */
static inline void *irisi_create(iris_world *w, const char *who, size_t n, size_t bytes, iris_mem_kind kind)
{
    if (n > SIZE_MAX / bytes) {
        irisi_fail(w, IRIS_ERR_NOMEM, "%s: %zu elements of %zu bytes are more than memory can have", who, n, bytes);
        irisi_creation_failed(w);
        return NULL;
    }
    return irisi_malloc_by(w, who, n ? n * bytes : 1, 0, kind);
}

/* The kind of memory that p lies in; data memory when p is not in the heap. */
static inline iris_mem_kind irisi_kind_of(const iris_world *w, const void *p)
{
    const iris_ctx ctx = iris_device_ctx(w);
    return (uintptr_t)p - ctx.base < ctx.sync_bytes ? IRIS_MEM_SYNC : IRIS_MEM_DATA;
}

/* Computes and copies `how`'s n values into device memory at p, chunk by chunk. */
static inline iris_status irisi_fill_device(iris_world *w, const char *who, void *p, size_t bytes,
                                            irisi_fill_store store, const irisi_fill *how)
{
    void *values = malloc(IRISI_FILL_CHUNK * sizeof(uint64_t));
    void *elements = malloc(IRISI_FILL_CHUNK * bytes);
    iris_status status = IRIS_OK;
    if (!values || !elements)
        status = irisi_fail(w, IRIS_ERR_NOMEM, "%s: no host memory for a buffer of %zu bytes", who,
                            IRISI_FILL_CHUNK * (bytes + sizeof(uint64_t)));
    for (size_t first = 0; first < how->n && status == IRIS_OK; first += IRISI_FILL_CHUNK) {
        const size_t left = how->n - first;
        const size_t count = left < IRISI_FILL_CHUNK ? left : IRISI_FILL_CHUNK;
        how->values(values, first, count, how);
        store(elements, values, count);
        status = irisi_memcpy_by(w, who, (char *)p + first * bytes, elements, count * bytes);
    }
    free(elements);
    free(values);
    return status;
}

/* Memory for elements that hold what `how` says; null when any part fails. */
static inline void *irisi_create_filled(iris_world *w, const char *who, size_t bytes, irisi_fill_store store,
                                        irisi_fill how)
{
    void *p = NULL;
    if (how.wrong) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %s", who, how.wrong);
        irisi_creation_failed(w);
    } else {
        p = irisi_create(w, who, how.n, bytes, IRIS_MEM_DATA);
    }
    if (p && irisi_fill_device(w, who, p, bytes, store, &how) != IRIS_OK) {
        irisi_creation_failed(w);
        iris_free(w, p);
        p = NULL;
    }
    return p;
}

/* Memory for n zeroes. */
static inline void *irisi_create_zeros(iris_world *w, const char *who, size_t n, size_t bytes, iris_mem_kind kind)
{
    void *p = irisi_create(w, who, n, bytes, kind);
    if (p && irisi_memset_by(w, who, p, 0, n * bytes) != IRIS_OK) {
        iris_free(w, p);
        p = NULL;
    }
    return p;
}

/* iris_memcpy of n elements, as a failure of `who`. */
static inline iris_status irisi_copy_elements(iris_world *w, const char *who, void *to, const void *from, size_t n,
                                              size_t bytes)
{
    if (n > SIZE_MAX / bytes)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %zu elements of %zu bytes are more than memory can have", who, n,
                          bytes);
    return irisi_memcpy_by(w, who, to, from, n * bytes);
}

#endif
