/* SPDX-License-Identifier: MIT */
/*
 * few_run.cpp: NVIDIA's loop for few rows, executed on the host: arch/nvidia/few.h and gen/arch/gemm_few_nvidia.h as
 * the GPU's compiler gets them, on stand-ins for mma_instructions.h.
 *
 * All lanes walk the tiles of a ragged problem, of which A and B start at any element and are surrounded by NaN; each
 * is a fiber that runs until a product or a meeting, waves in an order that changes every time. Every tile, staged or
 * written by lanes, must be the product and touch nothing else; every word that is read is aligned and has a byte of
 * the matrix. Then each part is broken in turn, and that must be noticed.
 */
#include <iris/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <vector>

enum { LANES = 32 };
#define IRIST_WAVES 12
#include "fibers.h"

namespace {

enum breakage { RIGHT, OTHER_SHIFT, OTHER_PAIRS, NEXT_WORD, LOST_WORDS, LOST_MEETING, BREAKAGES };

/* A product of a wave, which is carried out when its last lane has come. */
struct product {
    uint32_t came, done;
    float *c[LANES];
    uint32_t a[LANES][4], b[LANES][2];
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
    int broken;
    uint32_t turn;              /* of the scheduler */
    bool waited[WAVES][LANES]; /* for the kernel before */
} gpu;

float widened(uint16_t bits) { return widened_16(gpu.dtype, bits); }
uint16_t narrowed(float v) { return narrowed_16(gpu.dtype, v); }

/* mma.m16n8k16: two elements of K a register (PTX ISA). */
void carry_out(const product &p)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++) {
            const uint32_t row = lane / 4 * 4, column = (lane % 4 * 2 + e % 2) * 4;
            float sum = 0;
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t a = p.a[row + k % 8 / 2][k / 8 * 2 + e / 2], b = p.b[column + k % 8 / 2][k / 8];
                sum += widened((uint16_t)(a >> k % 2 * 16)) * widened((uint16_t)(b >> k % 2 * 16));
            }
            p.c[lane][e] += sum;
        }
}

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

/* ---- in place of arch/nvidia/mma_instructions.h, and of the host's workgroups ------------------------------------ */

#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define IRIS_ARCH_GEMM_SHAPE_H
#define iris_lane irist_lane
#define iris_crew_sync(crew) ((void)(crew), meet())

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

static void irisi_read_words(uint32_t *w, const void *from, uint32_t bytes, uint32_t there)
{
    const char *at = (const char *)from + (gpu.broken == NEXT_WORD ? bytes : 0);
    if (!there || (gpu.broken == LOST_WORDS && wg.now->lane == 13))
        return;
    expect(gpu.waited[wg.now->wave][wg.now->lane], "a load before the wait for the kernel before");
    const bool inside = (uintptr_t)at % bytes == 0 && (holds_some(gpu.a, at, bytes) || holds_some(gpu.b, at, bytes));
    expect(inside, "a load of words without an element, or misaligned");
    if (inside)
        std::memcpy(w, at, bytes);
}
static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits)
{
    bits = gpu.broken == OTHER_SHIFT ? 16 - bits : bits;
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits % 32);
}
static uint32_t __byte_perm(uint32_t x, uint32_t y, uint32_t s)
{
    const uint64_t all = (uint64_t)y << 32 | x;
    uint32_t v = 0;
    s = gpu.broken == OTHER_PAIRS ? s ^ 0x2200 : s;
    for (uint32_t i = 0; i < 4; i++)
        v |= (uint32_t)(all >> 8 * (s >> 4 * i & 7) & 255) << 8 * i;
    return v;
}

struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
};
static void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    product &p = gpu.products[wg.now->wave];
    const uint32_t lane = wg.now->lane, done = p.done;
    p.c[lane] = c;
    std::memcpy(p.a[lane], o->a[m], sizeof p.a[lane]);
    std::memcpy(p.b[lane], o->b[n / 2] + n % 2 * 2, sizeof p.b[lane]);
    if (++p.came == LANES) {
        p.came = 0;
        carry_out(p);
        p.done++;
    }
    while (p.done == done)
        pause_lane(&p.done, done);
}
static void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    irisi_mma_f16(c, o, m, n);
}

#include <iris/arch/nvidia/gemm_shape.h>
#include <iris/gen/arch/gemm_few_nvidia.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

iris_gemm_plan plan;
std::vector<std::vector<char>> stages; /* one for each tile, with a margin on both sides */
int with_comm;

/* A lane's share: every other tile goes into C by lanes, the rest is staged, as the kernels do it. */
#define WORK(type)                                                                                                     \
    void work_##type(iris_crew *crew)                                                                                  \
    {                                                                                                                  \
        iris_gemm_pipe_##type##_few pipe =                                                                             \
            iris_gemm_pipe_begin_##type##_few(&plan, wg.shared.data(), plan.workspace_bytes);                          \
        iris_tile tile;                                                                                                \
        uint32_t tiles = 0;                                                                                            \
        for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile); tiles++) {                             \
            iris_gemm_acc_##type##_few acc;                                                                            \
            if (with_comm)                                                                                             \
                iris_gemm_mma_tile_##type##_few_with_comm(&plan, &tile, &pipe, crew, &acc);                            \
            else                                                                                                       \
                iris_gemm_mma_tile_##type##_few(&plan, &tile, &pipe, crew, &acc);                                      \
            if (with_comm || tiles % 2)                                                                                \
                iris_gemm_stage_tile_##type##_few(&plan, &tile, 0, &acc, crew, stages[tiles].data() + MARGIN);         \
            else                                                                                                       \
                irisi_gemm_leave_##type##_few(nullptr, &plan, &tile, &acc, crew, nullptr, nullptr, 0);                 \
        }                                                                                                              \
    }
WORK(f16)
WORK(bf16)

void work()
{
    iris_crew crew;
    std::memset(&crew, 0, sizeof crew);
    crew.wave = wg.now->wave, crew.waves = WAVES;
    crew.member = crew.wave * LANES + wg.now->lane, crew.members = WAVES * LANES;
    if (gpu.dtype == IRIS_F16)
        work_f16(&crew);
    else
        work_bf16(&crew);
}

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
void make_matrix(matrix *m, uint64_t rows, uint64_t columns, uint64_t pad, int infinite)
{
    m->rows = rows, m->columns = columns, m->ld = columns + pad;
    m->room.assign(rows * m->ld + 32, 0xffff);
    m->first = &m->room[(16 - ((uintptr_t)m->room.data() & 15)) % 16 / 2 + 8 + random_below(8)];
    fill_matrix(m, infinite);
}

/* The same with rows so far apart that offsets take more than 32 bits, where the system lends the addresses. */
bool spread_matrix(matrix *m, uint64_t rows, uint64_t columns, void **lent, size_t *bytes)
{
    m->rows = rows, m->columns = columns, m->ld = ((uint64_t)1 << (rows > 64 ? 27 : 31)) + 2 * random_below(8) + 1;
    *bytes = 2 * (rows * m->ld + 64);
    *lent = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m->first = *lent == MAP_FAILED ? nullptr : (uint16_t *)*lent + 9;
    if (m->first)
        fill_matrix(m, -1);
    return m->first != nullptr;
}

uint16_t *element(matrix &m, uint64_t row, uint64_t column) { return m.first + row * m.ld + column; }

/* The plan as host/gemm_choose.h fills it in. */
void make_plan(uint32_t which, uint32_t m, uint32_t n, uint32_t k, int transposed)
{
    irisi_gemm_problem q = {};
    q.element = 2, q.m = m, q.n = n, q.k = k, q.workgroups = 1;
    q.tile_m = irisi_few_tile_of(which).m, q.tile_n = irisi_few_tile_of(which).n;
    const irisi_gemm_shape s = irisi_few_gemm_shape(&q);
    const bool infinite = random_below(3) == 0; /* some of B: behind the end of K they would make NaN of A's zeros */
    make_matrix(&gpu.a, m, k, random_below(9), infinite ? 0 : -1);
    make_matrix(&gpu.b, transposed ? n : k, transposed ? k : n, random_below(9), infinite ? 40 : -1);
    make_matrix(&gpu.c, m, n, random_below(9), -1);
    std::memset(&plan, 0, sizeof plan);
    plan.m = m, plan.n = plan.columns = n, plan.k = k, plan.b_transposed = (uint32_t)transposed;
    plan.a = element(gpu.a, 0, 0), plan.b = element(gpu.b, 0, 0), plan.c = element(gpu.c, 0, 0);
    plan.lda = gpu.a.ld, plan.ldb = gpu.b.ld, plan.ldc = gpu.c.ld;
    plan.alpha = 1;
    plan.element = plan.c_element = 2;
    plan.tile_m = s.tile_m, plan.tile_n = plan.unit = s.tile_n;
    plan.tiles_m = (m + s.tile_m - 1) / s.tile_m, plan.full_n = (n + s.tile_n - 1) / s.tile_n;
    plan.items = plan.tiles_m * plan.full_n;
    plan.pair = plan.slices = plan.xcds = 1;
    plan.runs[0].tiles = plan.items, plan.runs[0].parts = 1, plan.runs[0].width = plan.tile_n;
    plan.stage_m = s.stage_m, plan.stage_n = s.stage_n, plan.pass_m = s.tile_m;
    plan.pitch = (s.stage_n * 2 + 15) / 16 * 16 + 16;
    plan.stage_bytes = (s.stage_m * plan.pitch + 127) / 128 * 128;
    plan.workspace_bytes = s.workspace_bytes;
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
                       widened(plan.b_transposed ? *element(gpu.b, j, k) : *element(gpu.b, k, j));
            uint16_t *out = element(gpu.c, i, j), want = narrowed(sum);
            char *at = staged ? iris_tile_row(&plan, tile, stage.data() + MARGIN, row) + 2 * column : (char *)out;
            expect(std::memcmp(at, &want, 2) == 0, "an element is not the product's");
            std::memset(at, staged ? 0xaa : 0xff, 2);
            *out = 0xffff;
        }
    expect_untouched(stage);
}

void try_plan(uint32_t which, int spread)
{
    std::snprintf(trial, sizeof trial, "dtype %d, tile %u, %u x %u x %u, B transposed %u, with comm %d, spread %d",
                  (int)gpu.dtype, which, plan.m, plan.n, plan.k, plan.b_transposed, with_comm, spread);
    std::memset(gpu.products, 0, sizeof gpu.products);
    stages.assign(plan.items, std::vector<char>(plan.stage_bytes + 2 * MARGIN, (char)0xaa));
    std::memset(gpu.waited, 0, sizeof gpu.waited);
    wg.beside = another_turn;
    run_lanes(plan.workspace_bytes, work);
    iris_tile tile;
    uint32_t tiles = 0;
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile); tiles++)
        check_tile(&tile, stages[tiles], with_comm || tiles % 2);
    for (uint16_t bits : gpu.c.room)
        expect(bits == 0xffff, "C is written beside the tiles");
}

/* So many random problems, of rows, columns and depths around every edge; how many failed. */
uint32_t run_few(uint32_t seed, uint32_t trials)
{
    const uint32_t before = failures;
    random_state = seed;
    for (uint32_t i = 0; i < trials; i++) {
        const uint32_t deep = random_below(4);
        gpu.dtype = random_below(2) ? IRIS_BF16 : IRIS_F16;
        with_comm = random_below(4) == 0;
        make_plan(i % IRISI_FEW_TILES, 1 + random_below(40), 1 + random_below(70),
                  1 + random_below(deep == 0 ? 40 : deep == 1 ? 400 : 900), (int)(i / IRISI_FEW_TILES % 2));
        try_plan(i % IRISI_FEW_TILES, 0);
    }
    return failures - before;
}

/* By every tile, rows of A and B that are gigabytes apart; how many failed. */
uint32_t run_spread()
{
    const uint32_t before = failures;
    for (uint32_t i = 0; i < 2 * IRISI_FEW_TILES; i++) {
        void *lent[2];
        size_t bytes[2];
        make_plan(i % IRISI_FEW_TILES, 11, 37, 400, (int)(i / IRISI_FEW_TILES));
        const bool a = spread_matrix(&gpu.a, gpu.a.rows, gpu.a.columns, &lent[0], &bytes[0]);
        const bool b = spread_matrix(&gpu.b, gpu.b.rows, gpu.b.columns, &lent[1], &bytes[1]);
        plan.a = gpu.a.first, plan.b = gpu.b.first, plan.lda = gpu.a.ld, plan.ldb = gpu.b.ld;
        if (a && b)
            try_plan(i % IRISI_FEW_TILES, 1);
        else
            std::printf("skipped: no addresses for rows that are gigabytes apart\n");
        if (a)
            munmap(lent[0], bytes[0]);
        if (b)
            munmap(lent[1], bytes[1]);
    }
    return failures - before;
}

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    unsigned unnoticed = 0;
    const uint32_t wrong = run_few(1, all ? 2000 : IRIST_SLOW ? 10 : 150) + run_spread();
    std::printf("%u failures\n", wrong);
    made = FORGET_A_WAIT; /* says nothing of what fails from here on */
    for (gpu.broken = RIGHT + 1; gpu.broken < BREAKAGES; gpu.broken++) {
        const bool noticed = run_few(77, 10) > 0;
        std::printf("%s - breakage %d is noticed\n", noticed ? "ok" : "not ok", gpu.broken);
        unnoticed += !noticed;
    }
    return wrong || unnoticed;
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
