/* SPDX-License-Identifier: MIT */
/*
 * skinny_gpu.h: what gemv_run.cpp and skinny_amd_run.cpp have in common, which say LANES and
 * IRIST_WAVES before: stand-ins for memory, meetings and matrix instructions of a wave, random problems of which A and
 * B start at any element, or where they must, and are surrounded by NaN, and the check of a tile.
 */
#ifndef TESTS_GEMM_SKINNY_GPU_H
#define TESTS_GEMM_SKINNY_GPU_H

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "fibers.h"

namespace {

enum breakage { RIGHT, OTHER_SHIFT, NEXT_WORD, LOST_WORDS, LOST_MEETING, BREAKAGES };

/* A product of a wave, which is carried out when its last lane has come. */
struct product {
    uint32_t came, done;
    float *c[LANES];
    uint32_t a[LANES][4], b[LANES][4];
};

struct matrix {
    std::vector<uint16_t> room;
    uint16_t *first;
    uint64_t rows, columns, ld; /* ld: elements from row to row */
};

struct {
    product products[WAVES];
    matrix a, b, c;
    iris_dtype dtype;
    int broken, infinite; /* infinite: some of every B, not of every third */
    uint32_t turn, turns; /* of the scheduler, and of the schedule: a workgroup's first */
    bool waited[WAVES][LANES]; /* for the kernel before */
} gpu;

float widened(uint16_t bits) { return widened_16(gpu.dtype, bits); }
uint16_t narrowed(float v) { return narrowed_16(gpu.dtype, v); }

/* What the platform's instruction makes of it. */
void carry_out(const product &p);

/* 1 when one of the bytes is an element's. */
bool holds_some(const matrix &m, const char *word, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        const ptrdiff_t at = word + i - (const char *)m.first;
        if (at >= 0 && (uint64_t)at / 2 / m.ld < m.rows && (uint64_t)at / 2 % m.ld < m.columns)
            return true;
    }
    return false;
}

} // namespace

/* ---- in place of the host's workgroups --------------------------------------------------------------------------- */

#define IRIS_MAINLOOP_SHAPE_H
#define iris_lane irist_lane
#define iris_wave_group_sync(group) ((void)(group), meet())

static uint32_t irist_lane() { return wg.now->lane; }
#define irisi_launch_wait() (void)(gpu.waited[wg.now->wave][wg.now->lane] = true)

/* A meeting, behind which some waves are slow. */
static void meet()
{
    if (gpu.broken != LOST_MEETING || wg.now->wave != 7)
        join_workgroup();
    else
        wg.now->met++, wg.arrived++; /* it does not wait for the others */
    for (uint32_t i = (wg.now->wave * 7 + wg.now->met * 5) % 3 ? 0 : 40; i > 0; i--)
        pause_lane(&gpu.turn, gpu.turn);
}
static bool another_turn()
{
    gpu.turn++;
    return false;
}

/* Words of A or B, which must hold some of it. */
static void read_some(void *to, const void *from, uint32_t bytes)
{
    const char *at = (const char *)from + (gpu.broken == NEXT_WORD ? bytes : 0);
    if (gpu.broken == LOST_WORDS && wg.now->lane == 13)
        return;
    expect(gpu.waited[wg.now->wave][wg.now->lane], "a load before the wait for the kernel before");
    const bool inside = (uintptr_t)at % bytes == 0 && (holds_some(gpu.a, at, bytes) || holds_some(gpu.b, at, bytes));
    expect(inside, "a load of words without an element, or misaligned");
    if (inside)
        std::memcpy(to, at, bytes);
}

/* A product of the wave's lanes, by this one; so many registers of each operand. */
static void multiply(float *c, const uint32_t *a, uint32_t a_words, const uint32_t *b, uint32_t b_words)
{
    product &p = gpu.products[wg.now->wave];
    const uint32_t lane = wg.now->lane, done = p.done;
    p.c[lane] = c;
    std::memcpy(p.a[lane], a, 4 * a_words);
    std::memcpy(p.b[lane], b, 4 * b_words);
    if (++p.came == LANES) {
        p.came = 0;
        carry_out(p);
        p.done++;
    }
    while (p.done == done)
        pause_lane(&p.done, done);
}

#include IRIST_GEMM_SHAPE /* the platform's */

/* ---- problems and checks ----------------------------------------------------------------------------------------- */

namespace {

iris_gemm_plan plan;
std::vector<std::vector<char>> stages; /* one for each tile, with a margin on both sides */
int with_comm;

/*
 * Whole numbers from -4 to 4, so that sums are exact, or where `infinite` is not negative from 1 to 4, of which so many
 * in 1000 become infinite.
 */
float random_value(int infinite)
{
    if (infinite < 0)
        return (float)random_below(9) - 4;
    return random_below(1000) < (uint32_t)infinite ? HUGE_VALF : 1 + (float)random_below(4);
}

void fill_matrix(matrix *m, int infinite)
{
    for (uint64_t row = 0; row < m->rows; row++)
        for (uint64_t column = 0; column < m->columns; column++)
            m->first[row * m->ld + column] = narrowed(random_value(infinite));
}

/* With NaN around it; the first element stands anywhere within 16 bytes. */
void make_matrix(matrix *m, uint64_t rows, uint64_t columns, uint64_t pad, int infinite, int aligned = 0)
{
    m->rows = rows, m->columns = columns, m->ld = columns + pad;
    m->room.assign(rows * m->ld + 32, 0xffff);
    m->first = &m->room[(16 - ((uintptr_t)m->room.data() & 15)) % 16 / 2 + 8 + (aligned ? 0 : random_below(8))];
    fill_matrix(m, infinite);
}

uint16_t *element(matrix &m, uint64_t row, uint64_t column) { return m.first + row * m.ld + column; }

/* A random problem, and its plan as runtime/gemm/choose.h fills it in; a pad of -1: any, and A starts anywhere. */
void make_plan(const irisi_gemm_shape &s, uint32_t m, uint32_t n, uint32_t k, int transposed, int pad_a, int pad_b,
               int aligned)
{
    const bool infinite = random_below(3) == 0 || gpu.infinite; /* some of B: times zeros of A they would make NaN */
    make_matrix(&gpu.a, m, k, pad_a < 0 ? random_below(9) : (uint64_t)pad_a, infinite ? 0 : -1, pad_a >= 0);
    make_matrix(&gpu.b, transposed ? n : k, transposed ? k : n, pad_b < 0 ? random_below(9) : (uint64_t)pad_b,
                infinite ? 40 : -1, aligned);
    make_matrix(&gpu.c, m, n, random_below(9), -1);
    std::memset(&plan, 0, sizeof plan);
    plan.m = plan.region.rows = m, plan.n = plan.region.columns = n, plan.k = k;
    plan.operands.b_transposed = (uint32_t)transposed;
    plan.operands.a = element(gpu.a, 0, 0), plan.operands.b = element(gpu.b, 0, 0),
    plan.operands.c = element(gpu.c, 0, 0);
    plan.operands.lda = gpu.a.ld, plan.operands.ldb = gpu.b.ld, plan.operands.ldc = gpu.c.ld;
    plan.operands.alpha = 1;
    plan.operands.element = plan.operands.c_element = 2;
    irisi_gemm_route_c(&plan);
    plan.tiling.tile_m = s.tile_m, plan.tiling.tile_n = plan.tiling.unit = s.tile_n;
    plan.tiling.tiles_m = (m + s.tile_m - 1) / s.tile_m, plan.tiling.full_n = (n + s.tile_n - 1) / s.tile_n;
    plan.tiling.positions = plan.tiling.tiles_m * plan.tiling.full_n;
    plan.tiling.cluster = plan.tiling.split_k = plan.machine.xcds = 1, plan.tiling.cluster_split_k = s.cluster_split_k;
    plan.tiling.runs[0].tiles = plan.tiling.positions, plan.tiling.runs[0].parts = 1,
    plan.tiling.runs[0].width = plan.tiling.tile_n;
    plan.machine.stage_m = s.stage_m, plan.machine.stage_n = s.stage_n, plan.machine.pass_m = s.tile_m;
    plan.machine.pitch = (s.stage_n * 2 + 15) / 16 * 16 + 16;
    plan.machine.stage_bytes = (s.stage_m * plan.machine.pitch + 127) / 128 * 128;
    plan.machine.workspace_bytes = s.workspace_bytes;
}

/* A tile is the product, where it was to be written, and becomes NaN. */
void check_tile(const iris_tile *tile, std::vector<char> &stage, bool staged)
{
    for (uint32_t row = 0; row < tile->rows; row++)
        for (uint32_t column = 0; column < tile->cols; column++) {
            const uint64_t i = tile->m0 + row, j = tile->n0 + column;
            float sum = 0;
            for (uint64_t k = 0; k < plan.k; k++)
                sum += widened(*element(gpu.a, i, k)) *
                       widened(plan.operands.b_transposed ? *element(gpu.b, j, k) : *element(gpu.b, k, j));
            uint16_t *out = element(gpu.c, i, j), want = narrowed(sum);
            char *at = staged ? iris_tile_row(&plan, tile, stage.data() + MARGIN, row) + 2 * column : (char *)out;
            expect(std::memcmp(at, &want, 2) == 0, "an element is not the product's");
            std::memset(at, staged ? 0xaa : 0xff, 2);
            *out = 0xffff;
        }
    expect_untouched(stage);
}

void begin_trial()
{
    std::memset(gpu.products, 0, sizeof gpu.products);
    stages.assign(plan.tiling.positions, std::vector<char>(plan.machine.stage_bytes + 2 * MARGIN, (char)0xaa));
    std::memset(gpu.waited, 0, sizeof gpu.waited);
    gpu.turns = 0;
    wg.beside = another_turn;
}

/* All tiles: those of odd numbers are staged, and all beside communication waves, or if `every`. */
void check_tiles(int every = 0)
{
    iris_tile tile;
    uint32_t tiles = 0;
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile); tiles++)
        check_tile(&tile, stages[tiles], every || with_comm || tiles % 2);
    for (uint16_t bits : gpu.c.room)
        expect(bits == 0xffff, "C is written beside the tiles");
}

/* A lane's share, by the function of the elements' type. */
void work_of_type(void (*f16)(iris_wave_group *), void (*bf16)(iris_wave_group *))
{
    iris_wave_group group;
    group_of_all(&group);
    (gpu.dtype == IRIS_F16 ? f16 : bf16)(&group);
}

/* How many of the breakages from `first` on no trial of `run` notices; what fails is not printed any more. */
inline unsigned count_unnoticed(int first, int last, uint32_t (*run)(uint32_t seed, uint32_t trials),
                                void (*do_break)(int))
{
    unsigned unnoticed = 0;
    made = FORGET_A_WAIT;
    for (int broken = first; broken < last && !IRIST_SLOW; broken++) {
        do_break(broken);
        const bool noticed = run(77, 10) > 0;
        std::printf("%s - breakage %d is noticed\n", noticed ? "ok" : "not ok", broken);
        unnoticed += !noticed;
    }
    return unnoticed;
}

} // namespace

#endif
