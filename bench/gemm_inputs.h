/* SPDX-License-Identifier: MIT */
/*
 * gemm_inputs.h: random operands for GEMMs of 16-bit floats, and a check of their product, on the device.
 *
 *   gemm_shapes gemm_fill gemm_right
 *
 * An element is a function of a seed and its place, so that every rank can check columns whose B it does not hold.
 */
#ifndef IRIS_BENCH_GEMM_INPUTS_H
#define IRIS_BENCH_GEMM_INPUTS_H

#include <stdio.h>
#include <string.h>

#include <iris/iris.h>
#include <iris/init.h>

#include <iris/gemm_plan.h>

/* m, n, k of the published comparisons of GEMM + AllScatter, squares, a short and a very short one, a ragged one. */
static const long gemm_shapes[][3] = {
    {8192, 3584, 14336}, {8192, 4096, 12288}, {8192, 4096, 14336}, {8192, 4608, 36864},
    {8192, 8192, 28672}, {8192, 8192, 30720}, {4096, 4096, 4096},  {8192, 8192, 8192},
    {16384, 16384, 16384}, {1024, 8192, 8192}, {64, 8192, 8192},   {8191, 4095, 4097},
    /* nobody tunes for these: what the model chooses where the table has nothing */
    {8192, 6144, 8192},    {4096, 8192, 4096}, {2048, 8192, 16384}, {8192, 2560, 5120}, {128, 8192, 8192}};

enum { GEMM_ALL_SHAPES = sizeof gemm_shapes / sizeof gemm_shapes[0], GEMM_SHAPES = GEMM_ALL_SHAPES - 5 };
enum { GEMM_SAMPLES = 2048 };

/* The i-th element of a matrix, in [-1, 1), as its 16 bits. */
IRIS_DEVICE uint16_t gemm_bits(uint64_t seed, uint64_t i, int bf16)
{
    uint64_t z = seed * 0x51ED2701u + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    const float v = (float)(int32_t)(z >> 32) / 2147483648.0f;
    return bf16 ? iris_narrow_bf16(v).bits : iris_narrow_f16(v).bits;
}

IRIS_DEVICE float gemm_widen(uint16_t bits, int bf16)
{
    iris_bf16 b;
    iris_f16 h;
    b.bits = h.bits = bits;
    return bf16 ? iris_widen_bf16(b) : iris_widen_f16(h);
}

typedef struct gemm_fill_args {
    uint16_t *p;
    uint64_t n, seed;
    int bf16;
} gemm_fill_args;

IRIS_KERNEL(gemm_fill_kernel, gemm_fill_args, f, 256)
{
    for (uint64_t i = iris_grid_lane(); i < f->n; i += iris_grid_lanes())
        f->p[i] = gemm_bits(f->seed, i, f->bf16);
}

static inline iris_status gemm_fill(iris_world *w, iris_dtype dtype, void *p, uint64_t n, uint64_t seed)
{
    gemm_fill_args f;
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(w), 256);
    f.p = (uint16_t *)p, f.n = n, f.seed = seed, f.bf16 = dtype == IRIS_BF16;
    return iris_launch(w, gemm_fill_kernel, &f, sizeof f, &grid, NULL);
}

/* A product to look at: rank r's columns come from a B with seed seed_b + r. */
typedef struct gemm_product {
    const uint16_t *c;
    uint64_t m, n, k, lda, ldb, ldc; /* ldb 0: as many elements as the rank has columns */
    uint64_t seed_a, seed_b;
    uint32_t world;
    int transposed, bf16;
    int banded; /* 1: C is one matrix a rank, one after the other, without padding */
    uint32_t *wrong;
} gemm_product;

/* Sample s of a product: 1 when it is what double precision gives, rounded. */
IRIS_DEVICE int gemm_sample_right(const gemm_product *t, uint64_t s)
{
    const uint64_t row = s == 0 ? t->m - 1 : s * 0x9E3779B1u % t->m;
    const uint64_t col = s == 0 ? t->n - 1 : s * 0x85EBCA77u % t->n;
    uint32_t r = 0;
    while (iris_gemm_band((uint32_t)t->n, t->world, r).first + iris_gemm_band((uint32_t)t->n, t->world, r).count <= col)
        r++;
    const iris_gemm_columns band = iris_gemm_band((uint32_t)t->n, t->world, r);
    const uint64_t own = col - band.first, ldb = t->ldb ? t->ldb : band.count;
    const uint64_t at = t->banded ? t->m * band.first + row * band.count + own : row * t->ldc + col;
    double sum = 0, size = 0;
    for (uint64_t i = 0; i < t->k; i++) {
        const double x = gemm_widen(gemm_bits(t->seed_a, row * t->lda + i, t->bf16), t->bf16);
        const uint64_t place = t->transposed ? own * ldb + i : i * ldb + own;
        const double y = gemm_widen(gemm_bits(t->seed_b + r, place, t->bf16), t->bf16);
        sum += x * y;
        size += x * y < 0 ? -x * y : x * y;
    }
    const double got = gemm_widen(t->c[at], t->bf16);
    const double off = got < sum ? sum - got : got - sum;
    const double half_unit = (sum < 0 ? -sum : sum) * (t->bf16 ? 0.00390625 : 0.00048828125);
    return off <= half_unit + size * 1e-5; /* NaN is wrong too */
}

IRIS_KERNEL(gemm_check_kernel, gemm_product, t, 256)
{
    for (uint64_t s = iris_grid_lane(); s < GEMM_SAMPLES; s += iris_grid_lanes())
        if (!gemm_sample_right(t, s))
            *t->wrong = 1 + (uint32_t)s;
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

#endif
