/* SPDX-License-Identifier: MIT */
/*
 * mfma_run.cpp: the matrix loops of AMD GPUs, executed on the host: gen/mainloop/gemm_mfma_amd.h as the GPU's compiler
 * gets it, on stand-ins for what mainloop/amd/mfma.h is made of (memory, the matrix instruction, meetings of waves).
 *
 * All lanes of the math waves walk the tiles of a ragged problem; each is a fiber that runs from one meeting to the
 * next, waves in an order that changes every time. What stands in the staging tiles must be the product. On the way:
 *   - loads stay within the 16-byte units of A and B;
 *   - no wave touches 16 bytes of shared memory that another writes between the same two meetings. A direct load may
 *     write from its issue until its wave has waited for it, and only then do its bytes stand there;
 *   - waves meet equally often (else they all wait), and nothing is written beside a piece in its staging tile.
 * Bank conflicts are mfma_model.cpp's.
 */
#include <iris/gen/bits.h>
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

enum { LANES = 64 };
#include "fibers.h"

typedef uint32_t irisi_words __attribute__((vector_size(16)));

namespace {

enum { ACCS = 8, OPS = 64 };

/* A direct load on its way. */
struct transfer {
    char *to;
    uint32_t issued;
    irisi_words words;
};

/* What a lane has of its own. */
struct lane_state {
    uint32_t accs, op; /* accumulators handed out; matrix instructions so far */
    float acc[ACCS][16];
    std::vector<transfer> transfers;
};

/* A wave's matrix instruction: carried out when its last lane has come to it. */
struct instruction {
    float first[LANES][16], second[LANES][16];
    uint32_t acc, came;
};

/* Element types of A and B; C is f16 for f16, f32 and i32 for what says so and f32, else bf16. */
enum element_type { F16, BF16, BF16_F32, F32, I8_I32, I8_BF16, F8E4M3, F8E5M2, F8E4M3FNUZ, F8E5M2FNUZ };

struct {
    lane_state lanes[WAVES][LANES];
    uint32_t joined[WAVES], joins[WAVES];
    instruction ops[WAVES][OPS];
    std::vector<uint8_t> a, b;
    element_type type;
} gpu;

lane_state &own() { return gpu.lanes[wg.now->wave][wg.now->lane]; }

/* The lanes of a wave meet: on a GPU they are in step anyway. */
void join_wave()
{
    const uint32_t w = wg.now->wave, join = gpu.joins[w];
    if (++gpu.joined[w] == LANES) {
        gpu.joined[w] = 0;
        gpu.joins[w]++;
    }
    while (gpu.joins[w] == join)
        pause_lane(&gpu.joins[w], join);
}

/* touch_shared, of an address. */
void touch_at(const char *at, uint32_t bytes, uint32_t since, bool writes)
{
    touch_shared((size_t)(at - wg.shared.data()), bytes, since, writes);
}

uint32_t element_bytes() { return gpu.type < F32 ? 2 : gpu.type == F32 ? 4 : 1; }
uint32_t c_bytes() { return gpu.type >= BF16_F32 && gpu.type <= I8_I32 ? 4 : 2; }
bool is_whole() { return gpu.type == I8_I32 || gpu.type == I8_BF16; }

/* Element `i` of A or B. */
float widened(const uint8_t *from, uint64_t i)
{
    uint16_t bits;
    float f;
    switch (gpu.type) {
    case F32: return std::memcpy(&f, from + 4 * i, 4), f;
    case I8_I32:
    case I8_BF16: return (int8_t)from[i];
    case F8E4M3: return irisi_widen_f8e4m3(from[i]);
    case F8E5M2: return irisi_widen_f8e5m2(from[i]);
    case F8E4M3FNUZ: return irisi_widen_f8e4m3fnuz(from[i]);
    case F8E5M2FNUZ: return irisi_widen_f8e5m2fnuz(from[i]);
    default: break;
    }
    std::memcpy(&bits, from + 2 * i, 2);
    return gpu.type == F16 ? irisi_widen_f16(bits) : irisi_widen_bf16(bits);
}

uint32_t narrowed(float x)
{
    switch (gpu.type) {
    case F32: return irisi_f32_bits(x);
    case I8_I32:
    case I8_BF16: return (uint8_t)(int8_t)x;
    case F16: return irisi_narrow_f16(x);
    case BF16:
    case BF16_F32: return irisi_narrow_bf16(x);
    case F8E4M3: return irisi_narrow_f8e4m3(x);
    case F8E5M2: return irisi_narrow_f8e5m2(x);
    case F8E4M3FNUZ: return irisi_narrow_f8e4m3fnuz(x);
    default: return irisi_narrow_f8e5m2fnuz(x);
    }
}

/*
 * acc += first * second for the lanes of a wave: a lane's operands are row (column) lane % 32 and 8 k of each half of
 * the wave, 16 k where elements are bytes; its accumulator e is row 8 * (e / 4) + 4 * (lane / 32) + e % 4, column
 * lane % 32. Sums are exact.
 */
void carry_out(const instruction &op, lane_state *lanes)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 16; e++) {
            const uint32_t row = 8 * (e / 4) + 4 * (lane / 32) + e % 4, column = lane % 32;
            float sum = 0;
            for (uint32_t half = 0; half < LANES; half += 32)
                for (uint32_t k = 0; k < 16 / element_bytes(); k++)
                    sum += op.first[row + half][k] * op.second[column + half][k];
            lanes[lane].acc[op.acc][e] += sum;
        }
}

} // namespace

/* ---- in place of mainloop/amd/mfma.h, and of the host's workgroups ----------------------------------------------- */

#define IRIS_MAINLOOP_AMD_MFMA_H
#define IRIS_MAINLOOP_SHAPE_H
#define IRISI_GLOBAL
#define __builtin_amdgcn_fence(order, scope) join_wave()
#define iris_lane irist_lane
#define iris_sync_wg join_workgroup
#define iris_sync_wave() (void)wg.now->met++
#define irisi_shared_add irist_shared_add
#define irisi_shared_get irist_shared_get

typedef char *irisi_mfma_lds;

/* Which of the lane's accumulators it is. */
struct irisi_mfma_acc {
    uint32_t id;
    int operator=(int zero)
    {
        id = own().accs++ % ACCS;
        std::fill_n(own().acc[id], 16, 0.0f);
        return zero;
    }
    float operator[](uint32_t e) const
    {
        const float sum = own().acc[id][e];
        return is_whole() ? irisi_unbits_f32((uint32_t)(int32_t)sum) : sum;
    }
};

static irisi_mfma_acc multiply(const irisi_words *first, const irisi_words *second, irisi_mfma_acc acc)
{
    const fiber *me = wg.now;
    instruction &op = gpu.ops[me->wave][own().op++ % OPS];
    for (uint32_t k = 0; k < 16 / element_bytes(); k++) {
        op.first[me->lane][k] = widened((const uint8_t *)first, k);
        op.second[me->lane][k] = widened((const uint8_t *)second, k);
    }
    expect(op.came == 0 || op.acc == acc.id, "lanes of a wave are at different instructions");
    op.acc = acc.id;
    if (++op.came == LANES) {
        op.came = 0;
        carry_out(op, gpu.lanes[me->wave]);
    }
    return acc;
}
#define ONE_STEP(name)                                                                                                 \
    static irisi_mfma_acc irisi_mfma_##name(const irisi_words *a, const irisi_words *b, uint32_t step,                 \
                                            irisi_mfma_acc acc)                                                        \
    {                                                                                                                  \
        return multiply(a + step, b + step, acc);                                                                      \
    }
ONE_STEP(f16)
ONE_STEP(bf16)
ONE_STEP(f32)
ONE_STEP(i8)
ONE_STEP(f8e4m3fnuz)
ONE_STEP(f8e5m2fnuz)
/* These take two steps at once. */
static irisi_mfma_acc irisi_mfma_f8e4m3(const irisi_words *a, const irisi_words *b, uint32_t step, irisi_mfma_acc acc)
{
    return step % 2 ? multiply(a + step, b + step, multiply(a + step - 1, b + step - 1, acc)) : acc;
}
static irisi_mfma_acc irisi_mfma_f8e5m2(const irisi_words *a, const irisi_words *b, uint32_t step, irisi_mfma_acc acc)
{
    return step % 2 ? multiply(a + step, b + step, multiply(a + step - 1, b + step - 1, acc)) : acc;
}

static irisi_words irisi_mfma_read(irisi_mfma_lds lds, uint32_t offset)
{
    irisi_words words;
    touch_at(lds + offset, 16, wg.now->met, false);
    std::memcpy(&words, lds + offset, 16);
    return words;
}
static uint32_t irisi_mfma_read_word(irisi_mfma_lds lds, uint32_t offset)
{
    uint32_t word;
    touch_at(lds + offset, 4, wg.now->met, false);
    std::memcpy(&word, lds + offset, 4);
    return word;
}
/* Where there are more lanes than chunks, two waves write the same: what already stands there is not written. */
static void irisi_mfma_write(irisi_mfma_lds lds, uint32_t offset, irisi_words words)
{
    if (std::memcmp(lds + offset, &words, 16) == 0)
        return;
    touch_at(lds + offset, 16, wg.now->met, true);
    std::memcpy(lds + offset, &words, 16);
}

static irisi_words irisi_mfma_load(const char *base, uint32_t offset)
{
    const char *at = base + offset + (made == READ_BEYOND ? 16 : 0);
    irisi_words words = {0, 0, 0, 0};
    bool inside = (uintptr_t)at % 16 == 0;
    const char *a = (const char *)gpu.a.data(), *b = (const char *)gpu.b.data();
    inside &= (at >= a && at + 16 <= a + gpu.a.size()) || (at >= b && at + 16 <= b + gpu.b.size());
    expect(inside, "a load beyond the matrix, or misaligned");
    if (inside)
        std::memcpy(&words, at, 16);
    return words;
}

static void irisi_mfma_load_lds(const char *base, uint32_t offset, irisi_mfma_lds lds)
{
    transfer t = {lds + 16 * wg.now->lane, wg.now->met, irisi_mfma_load(base, offset)};
    touch_at(t.to, 16, t.issued, true);
    std::memset(t.to, 0xff, 16); /* NaN */
    own().transfers.push_back(t);
}
static void irisi_mfma_loaded()
{
    if (made == FORGET_A_WAIT && wg.now->wave == 2 && wg.now->met > 2)
        return;
    for (const transfer &t : own().transfers) {
        touch_at(t.to, 16, t.issued, true);
        std::memcpy(t.to, &t.words, 16);
    }
    own().transfers.clear();
}

static void irisi_mfma_part() {}
static void irisi_mfma_hurry(int) {}
static void irisi_mfma_yield() {}
static uint32_t irisi_mfma_now(uint32_t v) { return v; }
static int irisi_mfma_in_image(uint32_t) { return 1; }
static uint32_t irist_lane() { return wg.now->lane; }
static void irist_shared_add(uint32_t *p, uint32_t value) { *p += value; }
static uint32_t irist_shared_get(uint32_t *p)
{
    const uint32_t value = *p;
    if ((int32_t)(value - WAVES * (wg.now->met + 1)) < 0)
        pause_lane(p, value);
    return *p;
}

#include <iris/mainloop/amd/gemm_shape.h>
#include <iris/gen/mainloop/gemm_mfma_amd.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

/* A loop of the library. */
struct loop {
    const char *name;
    uint32_t mainloop;
    int with_comm;
    element_type type;
    irisi_mfma_pipe (*begin)(const iris_gemm_plan *, char *, uint32_t);
    void (*multiply)(const iris_gemm_plan *, const iris_tile *, const irisi_mfma_pipe *, iris_wave_group *,
                     irisi_mfma_accs *);
    void (*stage)(const iris_gemm_plan *, const iris_tile *, uint32_t, irisi_mfma_accs *, const iris_wave_group *,
                  char *);
};

#define LOOP(name, id, comm, type)                                                                                     \
    {#name comm_##comm, IRISI_GEMM_MFMA_##id, comm, type, iris_gemm_pipe_begin_##name, mma_##comm(name),               \
     stage_##comm(name)},
#define comm_0 ""
#define comm_1 " beside communication waves"
#define mma_0(name) iris_gemm_mma_tile_##name
#define mma_1(name) iris_gemm_mma_tile_##name##_with_comm
#define stage_0(name) iris_gemm_stage_tile_##name
#define stage_1(name) iris_gemm_stage_tile_##name##_with_comm

const loop loops[] = {
    LOOP(f16_gfx942, GFX942, 0, F16)               LOOP(bf16_gfx950_small, GFX950_SMALL, 0, BF16)
#if !IRIST_SLOW
    LOOP(f16_gfx90a, GFX90A, 0, F16)               LOOP(bf16_gfx90a, GFX90A, 1, BF16)
    LOOP(bf16_gfx90a_small, GFX90A_SMALL, 0, BF16) LOOP(f16_gfx90a_small, GFX90A_SMALL, 1, F16)
    LOOP(bf16_gfx942_small, GFX942_SMALL, 0, BF16) LOOP(f16_gfx942_small, GFX942_SMALL, 1, F16)
    LOOP(bf16_gfx942, GFX942, 1, BF16)             LOOP(f16_gfx950, GFX950, 0, F16)
    LOOP(bf16_gfx950, GFX950, 1, BF16)             LOOP(f16_gfx950_small, GFX950_SMALL, 1, F16)
    LOOP(bf16_f32_gfx942, GFX942, 1, BF16_F32)     LOOP(f32_gfx942, GFX942, 0, F32)
    LOOP(f32_gfx90a_small, GFX90A_SMALL, 1, F32)   LOOP(f32_gfx950, GFX950, 1, F32)
    LOOP(i8_i32_gfx90a, GFX90A, 0, I8_I32)         LOOP(i8_bf16_gfx942_small, GFX942_SMALL, 1, I8_BF16)
    LOOP(i8_bf16_gfx950, GFX950, 0, I8_BF16)       LOOP(i8_i32_gfx950_small, GFX950_SMALL, 1, I8_I32)
    LOOP(f8e4m3fnuz_bf16_gfx942, GFX942, 0, F8E4M3FNUZ) LOOP(f8e5m2fnuz_bf16_gfx942_small, GFX942_SMALL, 1, F8E5M2FNUZ)
    LOOP(f8e4m3_bf16_gfx950_small, GFX950_SMALL, 0, F8E4M3) LOOP(f8e5m2_bf16_gfx950, GFX950, 1, F8E5M2)
#endif
};

/* The trial that the lanes carry out. */
const loop *run;
iris_gemm_plan plan;
uint32_t counter;
std::vector<std::vector<char>> stages; /* one for each piece, with a margin on both sides */

/* A lane's share: each tile, and each piece of it, as the kernels of tile.h and gemm_tiles.h go through them. */
void work()
{
    iris_wave_group group;
    iris_tile tile, pass, piece;
    uint32_t pieces = 0;
    own().accs = own().op = 0;
    own().transfers.clear();
    group_of_all(&group);
    group.counter = run->with_comm ? &counter : NULL;
    irisi_mfma_pipe pipe = run->begin(&plan, wg.shared.data(), plan.machine.workspace_bytes);
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)
        for (uint32_t p = 0; iris_tile_pass(&plan, &tile, p, &pass); p++) {
            irisi_mfma_accs acc;
            run->multiply(&plan, &pass, &pipe, &group, &acc);
            for (uint32_t i = 0; iris_tile_piece(&plan, &pass, i, &piece); i++, pieces++) {
                if (!run->with_comm)
                    join_workgroup(); /* iris_tile_stage; communication waves take over without a meeting */
                run->stage(&plan, &piece, i, &acc, &group, stages[pieces].data() + MARGIN);
            }
        }
    expect(own().transfers.empty(), "a direct load that nobody waits for");
}

/* Whole numbers from -4 to 4 whose products' sums are exact; what is no element is NaN. */
std::vector<uint8_t> random_matrix(uint64_t rows, uint64_t columns, uint64_t ld)
{
    const uint32_t bytes = element_bytes();
    const uint8_t none = gpu.type < F8E4M3FNUZ ? 0xff : 0x80;
    std::vector<uint8_t> v((((rows - 1) * ld + columns) * bytes + 15) / 16 * 16, none);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++) {
            const float x = (float)random_below(9) - 4;
            const uint32_t bits = narrowed(x); /* little endian */
            std::memcpy(&v[(i * ld + j) * bytes], &bits, bytes);
        }
    return v;
}

/* The plan as runtime/gemm/choose.h fills it in, with a tile of m x n where they are not 0. */
void make_plan(uint32_t m, uint32_t n, uint32_t k, int transposed, uint32_t tile_m, uint32_t tile_n)
{
    irisi_gemm_problem problem;
    std::memset(&problem, 0, sizeof problem);
    const uint32_t unit = 16 / element_bytes();
    problem.element = element_bytes(), problem.c_element = c_bytes(), problem.accumulator = 4;
    problem.tile_m = tile_m, problem.tile_n = tile_n;
    const irisi_gemm_shape s = irisi_mfma_gemm_shape(run->mainloop, &problem);
    std::memset(&plan, 0, sizeof plan);
    plan.m = plan.region.rows = m, plan.n = plan.region.columns = n, plan.k = k;
    plan.operands.b_transposed = (uint32_t)transposed;
    plan.operands.lda = (k + unit - 1) / unit * unit + unit;
    plan.operands.ldb = ((transposed ? k : n) + unit - 1) / unit * unit;
    plan.operands.ldc = n + 3;
    plan.operands.c = (void *)(uintptr_t)(0x1000000 + 3 * c_bytes()); /* only where it stands within 16 bytes counts */
    plan.operands.alpha = 1;
    plan.operands.element = element_bytes(), plan.operands.c_element = c_bytes();
    irisi_gemm_route_c(&plan);
    plan.tiling.tile_m = s.tile_m, plan.tiling.tile_n = s.tile_n;
    plan.tiling.tiles_m = (m + s.tile_m - 1) / s.tile_m, plan.tiling.full_n = (n + s.tile_n - 1) / s.tile_n;
    plan.machine.xcds = plan.machine.slots = 1;
    plan.machine.stage_m = s.stage_m, plan.machine.stage_n = s.stage_n;
    plan.machine.pass_m = run->with_comm ? irisi_gemm_pass_m(run->mainloop, s.tile_m) : s.tile_m;
    plan.machine.pitch = (s.stage_n * c_bytes() + 15) / 16 * 16 + 16;
    plan.machine.stage_bytes = (s.stage_m * plan.machine.pitch + 127) / 128 * 128;
    plan.machine.workspace_bytes = run->with_comm ? s.workspace_bytes_with_comm : s.workspace_bytes;
    gpu.a = random_matrix(m, k, plan.operands.lda);
    gpu.b = transposed ? random_matrix(n, k, plan.operands.ldb) : random_matrix(k, n, plan.operands.ldb);
    plan.operands.a = gpu.a.data(), plan.operands.b = gpu.b.data();
}

/* What must stand at a place of C. */
uint32_t product(uint64_t i, uint64_t j)
{
    float sum = 0;
    for (uint64_t k = 0; k < plan.k; k++)
        sum +=
            widened(gpu.a.data(), i * plan.operands.lda + k) *
            widened(gpu.b.data(), plan.operands.b_transposed ? j * plan.operands.ldb + k : k * plan.operands.ldb + j);
    if (c_bytes() == 4)
        return gpu.type == I8_I32 ? (uint32_t)(int32_t)sum : irisi_f32_bits(sum);
    return gpu.type == F16 ? irisi_narrow_f16(sum) : irisi_narrow_bf16(sum);
}

/* A piece's staging tile: the product, and nothing else. */
void check_piece(const iris_tile *piece, std::vector<char> &stage)
{
    for (uint32_t row = 0; row < piece->rows; row++) {
        char *at = iris_tile_row(&plan, piece, stage.data() + MARGIN, row);
        for (uint32_t column = 0; column < piece->cols; column++, at += c_bytes()) {
            uint32_t bits = 0; /* little endian */
            std::memcpy(&bits, at, c_bytes());
            expect(bits == product(piece->m0 + row, piece->n0 + column), "an element is not the product's");
            std::memset(at, 0xaa, c_bytes());
        }
    }
    expect_untouched(stage);
}

void try_loop(const loop *l, uint32_t m, uint32_t n, uint32_t k, int transposed, uint32_t tile_m, uint32_t tile_n)
{
    std::snprintf(trial, sizeof trial, "%s, %u x %u x %u, B %s, tile %u x %u", l->name, m, n, k,
                  transposed ? "transposed" : "as it is", tile_m, tile_n);
    run = l;
    gpu.type = l->type;
    make_plan(m, n, k, transposed, tile_m, tile_n);
    counter = 0;
    std::memset(gpu.joined, 0, sizeof gpu.joined);
    std::memset(gpu.ops, 0, sizeof gpu.ops);
    iris_tile tile, pass, piece;
    std::vector<iris_tile> pieces;
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)
        for (uint32_t p = 0; iris_tile_pass(&plan, &tile, p, &pass); p++)
            for (uint32_t i = 0; iris_tile_piece(&plan, &pass, i, &piece); i++)
                pieces.push_back(piece);
    stages.assign(pieces.size(), std::vector<char>(plan.machine.stage_bytes + 2 * MARGIN, (char)0xaa));
    run_lanes(plan.machine.workspace_bytes, work);
    for (size_t i = 0; i < pieces.size(); i++)
        check_piece(&pieces[i], stages[i]);
}

bool loop_notices(const loop *l, mistake m)
{
    return notices(m, [l] { try_loop(l, 40, 99, 130, 0, 0, 0); });
}

} // namespace

int main(int argc, char **argv)
{
    /* Shorter and longer than a slab and than a turn of the ring, multiples of it and not. */
    static const uint32_t depths[] = {70, 9, 129, 64, 200, 128, 33, 1};
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    uint32_t trials = 0;
    for (const loop &l : loops)
        for (int transposed = l.type >= F32; transposed < 2; transposed++) /* others than 16-bit ones are not n_major */
            for (uint32_t i = IRIST_SLOW && transposed != (int)(&l - loops); i < (all ? 8u : 1u); i++, trials++) {
                const uint32_t k = depths[all ? i : trials % 8];
                const irisi_gemm_extent most = irisi_gemm_largest_tile(l.mainloop, 2);
                const bool cut = trials % 4 == 3; /* into smaller tiles, as a caller may ask for */
                try_loop(&l, most.m + 37, i % 2 ? most.n + 5 : 99, k, transposed, cut ? 100 : 0, cut ? 68 : 0);
            }
    std::printf("%u trials, %u failures\n", trials, failures);
    return failures || trials == 0 || !loop_notices(&loops[0], PASS_A_MEETING) ||
           !loop_notices(&loops[1], FORGET_A_WAIT) || !loop_notices(&loops[0], READ_BEYOND);
}
#else
int main() { return 0; }
#endif
