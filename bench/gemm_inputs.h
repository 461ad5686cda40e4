/* SPDX-License-Identifier: MIT */
/*
 * gemm_inputs.h: random operands for GEMMs, and a check of their product, on the device.
 *
 *   gemm_shapes gemm_shape_read gemm_shapes_read gemm_get gemm_set gemm_element gemm_fill gemm_part
 *   gemm_product gemm_right gemm_likeness gemm_alike
 *
 * An element is a function of a seed and its place, so that every rank can check products of what it does not hold.
 */
#ifndef IRIS_BENCH_GEMM_INPUTS_H
#define IRIS_BENCH_GEMM_INPUTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/iris.h>
#include <iris/init.h>

#include <iris/gemm/plan.h>

/* m, n, k of the published comparisons of GEMM + AllScatter, squares, a short and a very short one, a ragged one. */
static const long gemm_shapes[][3] = {
    {8192, 3584, 14336}, {8192, 4096, 12288}, {8192, 4096, 14336}, {8192, 4608, 36864},
    {8192, 8192, 28672}, {8192, 8192, 30720}, {4096, 4096, 4096},  {8192, 8192, 8192},
    {16384, 16384, 16384}, {1024, 8192, 8192}, {64, 8192, 8192},   {8191, 4095, 4097},
    /* nobody tunes for these: what the model chooses where the table has nothing */
    {8192, 6144, 8192},    {4096, 8192, 4096}, {2048, 8192, 16384}, {8192, 2560, 5120}, {128, 8192, 8192}};

enum { GEMM_ALL_SHAPES = sizeof gemm_shapes / sizeof gemm_shapes[0], GEMM_SHAPES = GEMM_ALL_SHAPES - 5 };
enum { GEMM_SAMPLES = 2048 };

/* 1 when a word is a shape, MxNxK. */
static inline int gemm_shape_read(const char *word, long *shape)
{
    char end;
    return sscanf(word, "%ldx%ldx%ld%c", &shape[0], &shape[1], &shape[2], &end) == 3 && shape[0] >= 1 &&
           shape[1] >= 1 && shape[2] >= 1;
}

/*
 * The shapes that a command line's last words are, written MxNxK, or where there are none the list's first `standing`.
 * How many; a word that is no shape, or one too many, ends the program with a sentence.
 */
static inline int gemm_shapes_read(const char *program, int words, char **word, int standing, long (*shape)[3],
                                   int most)
{
    for (int i = 0; i < words; i++) {
        if (i == most || !gemm_shape_read(word[i], shape[i])) {
            fprintf(stderr, "%s: '%s' is no shape, or there are more than %d; they are written MxNxK\n", program,
                    word[i], most);
            exit(2);
        }
    }
    if (words > 0)
        return words;
    memcpy(shape, gemm_shapes, (size_t)standing * sizeof gemm_shapes[0]);
    return standing;
}

/* An element of any of the types that a GEMM has, and how one is written: rounded to the type. */
IRIS_DEVICE double gemm_get(const void *p, uint64_t i, iris_dtype dtype)
{
    switch (dtype) {
    case IRIS_F16: return iris_widen_f16(((const iris_f16 *)p)[i]);
    case IRIS_BF16: return iris_widen_bf16(((const iris_bf16 *)p)[i]);
    case IRIS_F8E4M3: return iris_widen_f8e4m3(((const iris_f8e4m3 *)p)[i]);
    case IRIS_I8: return ((const int8_t *)p)[i];
    case IRIS_I32: return ((const int32_t *)p)[i];
    case IRIS_F32: return ((const float *)p)[i];
    default: return ((const double *)p)[i];
    }
}

IRIS_DEVICE void gemm_set(void *p, uint64_t i, iris_dtype dtype, double v)
{
    switch (dtype) {
    case IRIS_F16: ((iris_f16 *)p)[i] = iris_narrow_f16((float)v); break;
    case IRIS_BF16: ((iris_bf16 *)p)[i] = iris_narrow_bf16((float)v); break;
    case IRIS_F8E4M3: ((iris_f8e4m3 *)p)[i] = iris_narrow_f8e4m3((float)v); break;
    case IRIS_I8: ((int8_t *)p)[i] = irisi_round_i8((float)v); break;
    case IRIS_I32: ((int32_t *)p)[i] = irisi_round_i32(v); break;
    case IRIS_F32: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = v; break;
    }
}

/* The i-th element of a matrix, in [-1, 1): of f32 one that tf32 holds too; whole numbers up to 127. */
IRIS_DEVICE double gemm_element(uint64_t seed, uint64_t i, iris_dtype dtype)
{
    uint64_t z = seed * 0x51ED2701u + (i + 1) * 0x9E3779B97F4A7C15u;
    union {
        iris_f16 h;
        iris_bf16 b;
        iris_f8e4m3 e;
        int8_t i;
        float f;
        double d;
    } rounded;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    const float v = (float)(int32_t)(z >> 32) / 2147483648.0f;
    const iris_dtype held = dtype == IRIS_F32 ? IRIS_F16 : dtype;
    gemm_set(&rounded, 0, held, dtype == IRIS_I8 ? 127 * v : v);
    return gemm_get(&rounded, 0, held);
}

typedef struct gemm_fill_args {
    void *p;
    uint64_t n, seed;
    iris_dtype dtype;
} gemm_fill_args;

IRIS_KERNEL(gemm_fill_kernel, gemm_fill_args, f, 256)
{
    for (uint64_t i = iris_grid_lane(); i < f->n; i += iris_grid_lanes())
        gemm_set(f->p, i, f->dtype, gemm_element(f->seed, i, f->dtype));
}

static inline iris_status gemm_fill(iris_world *w, iris_dtype dtype, void *p, uint64_t n, uint64_t seed)
{
    gemm_fill_args f;
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(w), 256);
    f.p = p, f.n = n, f.seed = seed, f.dtype = dtype;
    return iris_launch(w, gemm_fill_kernel, &f, sizeof f, &grid, NULL);
}

/* Elements first, first + 1, ... (count of them). */
typedef struct gemm_range {
    uint64_t first, count;
} gemm_range;

/* Part r of n: n / parts each, the first n % parts one more. */
IRIS_HOST_DEVICE gemm_range gemm_part(uint64_t n, uint32_t parts, uint32_t r)
{
    const uint64_t each = n / parts, more = n % parts;
    gemm_range part;
    part.first = r * each + (r < more ? r : more);
    part.count = each + (r < more);
    return part;
}

/* What the seed of rank r's own part of A has more than the one of an A that all ranks have. */
IRIS_HOST_DEVICE uint64_t gemm_seed_of(uint32_t r) { return 10000u * ((uint64_t)r + 1); }

/*
 * A product to look at. B's seed is seed_b + r for rank r's part of it: its columns, of `world` bands, or its part of
 * K. A is one with seed_a, or rank r has a part of it with seed_a + gemm_seed_of(r): of K, or of the rows.
 */
typedef struct gemm_product {
    const void *c;
    uint64_t m, n, k;       /* of the whole product */
    gemm_range rows, columns; /* what stands at c; count 0: all */
    uint64_t lda, ldb, ldc; /* ldb 0: as many elements as the rank has columns; K or rows in parts: no lda */
    uint64_t seed_a, seed_b;
    uint64_t seed_residual; /* more than 0: of a matrix of C's shape that is added; hops: to sums that were rounded */
    uint32_t world;
    uint32_t depths;        /* more than 0: so many ranks have parts of K, and round their sums to C's type */
    uint32_t shards;        /* more than 0: so many ranks have parts of A's rows */
    iris_dtype dtype, c_dtype;
    int transposed, fast; /* fast: 8-bit floats may lose bits of sums */
    int banded;           /* 1: C is one matrix a rank, one after the other, without padding */
    int hops;             /* 1: sums on the way from rank to rank may be rounded too, as a ring or a tree does */
    uint32_t *wrong;
} gemm_product;

/* What rounding to a type changes, as a part of the value; and what sums lose before, as a part of all terms' sizes. */
IRIS_DEVICE double gemm_half_unit(iris_dtype c)
{
    return c == IRIS_BF16 ? 0.00390625 : c == IRIS_F16 ? 0.00048828125 : c == IRIS_F32 ? 6e-8 : 0;
}
IRIS_DEVICE double gemm_loses(const gemm_product *t)
{
    return t->dtype == IRIS_I8       ? 0
           : t->dtype == IRIS_F64    ? 1e-13
           : t->dtype != IRIS_F8E4M3 ? 1e-5
           : t->fast                 ? 4e-3
                                     : 5e-4;
}

/* Rank r's part of a sum, and the size of its terms: A's row, B's column, both of the whole product. */
IRIS_DEVICE double gemm_partial(const gemm_product *t, uint32_t r, uint64_t row, uint64_t col, double *size)
{
    const iris_gemm_columns band = iris_gemm_band((uint32_t)t->n, t->world, t->depths ? 0 : r);
    const uint64_t k = t->depths ? gemm_part(t->k, t->depths, r).count : t->k, own = col - (t->depths ? 0 : band.first);
    const uint64_t ldb = t->ldb ? t->ldb : t->transposed ? k : t->depths ? t->n : band.count;
    uint64_t seed_a = t->seed_a, lda = t->lda;
    double sum = 0;
    if (t->depths)
        seed_a += gemm_seed_of(r), lda = k;
    if (t->shards) {
        uint32_t q = 0;
        while (gemm_part(t->m, t->shards, q).first + gemm_part(t->m, t->shards, q).count <= row)
            q++;
        seed_a += gemm_seed_of(q), lda = k, row -= gemm_part(t->m, t->shards, q).first;
    }
    for (uint64_t i = 0; i < k; i++) {
        const double x = gemm_element(seed_a, row * lda + i, t->dtype);
        const double y = gemm_element(t->seed_b + r, t->transposed ? own * ldb + i : i * ldb + own, t->dtype);
        sum += x * y;
        *size += x * y < 0 ? -x * y : x * y;
    }
    return sum;
}

/* Sample s of a product: 1 when it is what double precision gives, rounded. */
IRIS_DEVICE int gemm_sample_right(const gemm_product *t, uint64_t s)
{
    const uint64_t rows = t->rows.count ? t->rows.count : t->m, cols = t->columns.count ? t->columns.count : t->n;
    const uint64_t row = t->rows.first + (s == 0 ? rows - 1 : s * 0x9E3779B1u % rows);
    const uint64_t col = t->columns.first + (s == 0 ? cols - 1 : s * 0x85EBCA77u % cols);
    const double half = gemm_half_unit(t->c_dtype);
    uint64_t at = (row - t->rows.first) * t->ldc + col - t->columns.first;
    double sum = 0, size = 0, rounded = 0;
    for (uint32_t r = 0; r < t->depths; r++) {
        const double part = gemm_partial(t, r, row, col, &size);
        sum += part, rounded += (part < 0 ? -part : part) * half;
    }
    if (t->hops && t->depths > 2) /* no sum on the way is larger than all parts */
        rounded *= t->depths - 1;
    if (!t->depths) {
        uint32_t r = 0;
        while (iris_gemm_band((uint32_t)t->n, t->world, r).first + iris_gemm_band((uint32_t)t->n, t->world, r).count <=
               col)
            r++;
        const iris_gemm_columns band = iris_gemm_band((uint32_t)t->n, t->world, r);
        at = t->banded ? t->m * band.first + row * band.count + col - band.first : at;
        sum = gemm_partial(t, r, row, col, &size);
    }
    if (t->seed_residual) {
        rounded += t->hops ? (sum < 0 ? -sum : sum) * half : 0;
        sum += gemm_element(t->seed_residual, row * t->n + col, t->c_dtype);
    }
    const double got = gemm_get(t->c, at, t->c_dtype);
    const double off = got < sum ? sum - got : got - sum;
    /* NaN is wrong too */
    return off <= (sum < 0 ? -sum : sum) * half + 1.01 * rounded + size * gemm_loses(t);
}

IRIS_KERNEL(gemm_check_kernel, gemm_product, t, 256)
{
    for (uint64_t s = iris_grid_lane(); s < GEMM_SAMPLES; s += iris_grid_lanes())
        if (!gemm_sample_right(t, s))
            irisi_atomic_set_u32(t->wrong, 1 + (uint32_t)s, IRIS_RELAXED, IRIS_SCOPE_AGENT); /* any lane's will do */
}

/* 1 when the sampled elements of a product are right; else 0, with a sentence on stderr. `flag`: a word of the heap. */
static inline int gemm_right(iris_world *w, gemm_product *p, uint32_t *flag, const char *who)
{
    uint32_t wrong = 0;
    const iris_launch_config grid = iris_grid(GEMM_SAMPLES / 64, 64);
    p->wrong = flag;
    if (iris_memset(w, flag, 0, sizeof *flag) != IRIS_OK ||
        iris_launch(w, gemm_check_kernel, p, sizeof *p, &grid, NULL) != IRIS_OK ||
        iris_memcpy(w, &wrong, flag, sizeof wrong) != IRIS_OK)
        return fprintf(stderr, "%s: %s\n", who, iris_error_string(w)), 0;
    if (wrong)
        fprintf(stderr, "%s: sample %u of C is wrong on rank %d\n", who, wrong - 1, iris_rank(w));
    return wrong == 0;
}

/* Two Cs of one rank that should be the same but for rounding, and what they may differ by. */
typedef struct gemm_likeness {
    const void *c[2];
    uint64_t rows, columns, n; /* n: of the whole product */
    int banded[2];             /* 1: it is one matrix a rank, one after the other */
    uint32_t world;
    iris_dtype c_dtype;
    double off; /* besides the rounding of each to its type */
    uint32_t *wrong;
} gemm_likeness;

/* Where an element of one of the two stands. */
IRIS_DEVICE uint64_t gemm_likeness_at(const gemm_likeness *t, int which, uint64_t row, uint64_t col)
{
    uint32_t r = 0;
    if (!t->banded[which])
        return row * t->columns + col;
    while (iris_gemm_band((uint32_t)t->n, t->world, r).first + iris_gemm_band((uint32_t)t->n, t->world, r).count <= col)
        r++;
    const iris_gemm_columns band = iris_gemm_band((uint32_t)t->n, t->world, r);
    return t->rows * band.first + row * band.count + col - band.first;
}

IRIS_KERNEL(gemm_alike_kernel, gemm_likeness, t, 256)
{
    const double half = gemm_half_unit(t->c_dtype);
    for (uint64_t i = iris_grid_lane(); i < t->rows * t->columns; i += iris_grid_lanes()) {
        const double x = gemm_get(t->c[0], gemm_likeness_at(t, 0, i / t->columns, i % t->columns), t->c_dtype);
        const double y = gemm_get(t->c[1], gemm_likeness_at(t, 1, i / t->columns, i % t->columns), t->c_dtype);
        const double size = (x < 0 ? -x : x) + (y < 0 ? -y : y), off = x < y ? y - x : x - y;
        if (!(off <= size * half + t->off)) /* NaN is wrong too */
            irisi_atomic_set_u32(t->wrong, 1 + (uint32_t)(i % 0xfffffffeu), IRIS_RELAXED, IRIS_SCOPE_AGENT);
    }
}

/* 1 when every element of the first is like that of the second; else 0, with a sentence on stderr. */
static inline int gemm_alike(iris_world *w, gemm_likeness *t, uint32_t *flag, const char *who)
{
    uint32_t wrong = 0;
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(w), 256);
    t->wrong = flag;
    if (iris_memset(w, flag, 0, sizeof *flag) != IRIS_OK ||
        iris_launch(w, gemm_alike_kernel, t, sizeof *t, &grid, NULL) != IRIS_OK ||
        iris_memcpy(w, &wrong, flag, sizeof wrong) != IRIS_OK)
        return fprintf(stderr, "%s: %s\n", who, iris_error_string(w)), 0;
    if (wrong)
        fprintf(stderr, "%s: element %u of C is another than BLAS and a collective give on rank %d\n", who, wrong - 1,
                iris_rank(w));
    return wrong == 0;
}

#endif
