/* SPDX-License-Identifier: MIT */
/*
 * mma_run.cpp: the loop around NVIDIA's mma.sync, executed on the host: mainloop/nvidia/mma.h and
 * gen/mainloop/gemm_sm80_nvidia.h as the GPU's compiler gets them, on stand-ins for mma_instructions.h.
 *
 * All lanes of the math waves walk the tiles of a ragged problem; each is a fiber that runs from one meeting to the
 * next, waves in an order that changes every time. What stands in the staging tiles must be the product. On the way:
 *   - copies read what belongs to A and B, and nothing else;
 *   - no wave touches 16 bytes of shared memory that another writes between the same two meetings. A copy may write
 *     from its issue until its lane has waited for it, and only then do its bytes stand there;
 *   - lanes meet equally often (else they all wait), and nothing is written beside a piece in its staging tile.
 * Instructions of a wave are carried out when its last lane has come to them. Bank conflicts are mma_model.cpp's.
 */
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

enum { LANES = 32 };
#include "fibers.h"

#include "copies.h"

namespace {

enum { OPS = 256 };

/* What a lane has of its own. */
struct lane_state {
    uint32_t loads, ops; /* instructions of the wave so far */
};

/* ldmatrix of a wave: addresses, and what registers hold then: two elements each. */
struct load {
    uint32_t from[LANES], came, met;
    bool n_major;
    uint16_t value[LANES][4][2];
};

/* mma.sync of a wave: where the accumulators are, and operands: loads' registers, or values. */
struct product {
    uint32_t came;
    float *c[LANES];
    double *d[LANES], first[LANES][2], second[LANES];
    uint32_t a[LANES][4], b[LANES][2];
};

struct {
    lane_state lanes[WAVES][LANES];
    load loads[WAVES][OPS];
    product ops[WAVES][OPS];
    std::vector<char> a, b;
    iris_dtype dtype;
} gpu;

lane_state &own() { return gpu.lanes[wg.now->wave][wg.now->lane]; }

float widened(uint16_t bits) { return widened_16(gpu.dtype, bits); }
uint16_t narrowed(float v) { return narrowed_16(gpu.dtype, v); }

void carry_out(load &l)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        touch_shared(l.from[lane], 16, l.met, false);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t j = 0; j < 2; j++) {
                const uint32_t g = lane / 4, pair = lane % 4 * 2 + j;
                const uint32_t row = l.n_major ? pair : g, column = l.n_major ? g : pair;
                std::memcpy(&l.value[lane][i][j], &wg.shared[l.from[8 * i + row] + 2 * column], 2);
            }
}

void carry_out(const product &op, const load *loads)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++) {
            const uint32_t row = lane / 4 * 4, column = (lane % 4 * 2 + e % 2) * 4;
            float sum = 0;
            double wide = 0;
            for (uint32_t k = 0; op.c[0] && k < 16; k++) {
                const uint32_t a = op.a[row + k % 8 / 2][k / 8 * 2 + e / 2], b = op.b[column + k % 8 / 2][k / 8];
                sum += widened(loads[a / 4].value[row + k % 8 / 2][a % 4][k % 2]) *
                       widened(loads[b / 4].value[column + k % 8 / 2][b % 4][k % 2]);
            }
            for (uint32_t k = 0; op.d[0] && k < 4; k++)
                wide += op.first[row + k][e / 2] * op.second[column + k];
            if (op.c[0])
                op.c[lane][e] += sum;
            else
                op.d[lane][e] += wide;
        }
}

} // namespace

/* ---- in place of arch/nvidia/mma_instructions.h, and of the host's workgroups ------------------------------------ */

#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define IRIS_MAINLOOP_SHAPE_H
#define IRISI_WGMMA 0
#define iris_lane irist_lane
#define iris_wave_group_sync(group) ((void)(group), join_workgroup())

static uint32_t irist_lane() { return wg.now->lane; }
static uint32_t irisi_shared_address(const char *p) { return (uint32_t)(p - wg.shared.data()); }

static void irisi_copy_chunk(uint32_t to, const void *from, uint32_t bytes)
{
    const char *at = (const char *)from;
    char words[16] = {};
    bytes += made == READ_BEYOND && bytes > 0 ? 16 : 0;
    bool inside = bytes <= 32 && ((uintptr_t)at % 16 == 0);
    inside &= (at >= gpu.a.data() && at + bytes <= gpu.a.data() + gpu.a.size()) ||
              (at >= gpu.b.data() && at + bytes <= gpu.b.data() + gpu.b.size());
    expect(inside, "a load beyond the matrix, or misaligned");
    if (inside)
        std::memcpy(words, at, std::min(bytes, 16u));
    copy_chunk(to, words);
}
static void irisi_copies_close() { close_copies(); }
static void irisi_copies_await(uint32_t open)
{
    if (made != FORGET_A_WAIT || wg.now->wave != 2 || wg.now->met <= 2)
        await_copies(open);
}

/* Registers are named by the load that fills them. */
static void load_matrices(uint32_t *w, uint32_t from, bool n_major)
{
    const uint32_t n = own().loads++ % OPS;
    load &l = gpu.loads[wg.now->wave][n];
    l.from[wg.now->lane] = from, l.n_major = n_major, l.met = wg.now->met;
    for (uint32_t i = 0; i < 4; i++)
        w[i] = 4 * n + i;
    if (++l.came == LANES) {
        l.came = 0;
        carry_out(l);
    }
}
static void irisi_load_matrices(uint32_t *w, uint32_t from) { load_matrices(w, from, false); }
static void irisi_load_matrices_transposed(uint32_t *w, uint32_t from) { load_matrices(w, from, true); }
static double irisi_load_double(uint32_t from)
{
    double v;
    touch_shared(from & ~15u, 16, wg.now->met, false);
    std::memcpy(&v, &wg.shared[from], 8);
    return v;
}
static void load_floats(float *v, uint32_t from, uint32_t n)
{
    touch_shared(from & ~15u, 16, wg.now->met, false);
    std::memcpy(v, &wg.shared[from], n * sizeof *v);
}
static void irisi_load_quad(float *v, uint32_t from) { load_floats(v, from, 4); }
static void irisi_load_two(float *v, uint32_t from) { load_floats(v, from, 2); }

struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
};
struct irisi_mma_operands_64 {
    double a[2][2], b[4];
};

static product &begin_product() { return gpu.ops[wg.now->wave][own().ops++ % OPS]; }
static void end_product(product &op)
{
    if (++op.came == LANES) {
        op.came = 0;
        carry_out(op, gpu.loads[wg.now->wave]);
    }
}
static void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    product &op = begin_product();
    const uint32_t lane = wg.now->lane;
    op.c[lane] = c, op.d[lane] = nullptr;
    std::copy_n(o->a[m], 4, op.a[lane]);
    std::copy_n(o->b[n / 2] + n % 2 * 2, 2, op.b[lane]);
    end_product(op);
}
static void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    irisi_mma_f16(c, o, m, n);
}
static void irisi_mma_f64(double *c, const irisi_mma_operands_64 *o, uint32_t m, uint32_t n)
{
    product &op = begin_product();
    const uint32_t lane = wg.now->lane;
    op.d[lane] = c, op.c[lane] = nullptr;
    std::copy_n(o->a[m], 2, op.first[lane]);
    op.second[lane] = o->b[n];
    end_product(op);
}

#include <iris/mainloop/nvidia/gemm_shape.h>
#include <iris/gen/mainloop/gemm_sm80_nvidia.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

iris_gemm_plan plan;
std::vector<std::vector<char>> stages; /* one for each piece, with a margin on both sides */

/* A lane's share: each tile, and each piece of it, as the kernels go through them. */
#define WORK(name, loop, with_comm)                                                                                    \
    void work_##name(iris_wave_group *group)                                                                           \
    {                                                                                                                  \
        iris_gemm_pipe_##loop pipe =                                                                                   \
            iris_gemm_pipe_begin_##loop(&plan, wg.shared.data(), plan.machine.workspace_bytes);                        \
        iris_tile tile, pass, piece;                                                                                   \
        uint32_t pieces = 0;                                                                                           \
        for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)                                       \
            for (uint32_t p = 0; iris_tile_pass(&plan, &tile, p, &pass); p++) {                                        \
                iris_gemm_acc_##name acc;                                                                              \
                iris_gemm_mma_tile_##name(&plan, &pass, &pipe, group, &acc);                                           \
                for (uint32_t i = 0; iris_tile_piece(&plan, &pass, i, &piece); i++, pieces++) {                        \
                    if (with_comm == 0)                                                                                \
                        join_workgroup(); /* iris_tile_stage; communication waves take over without a meeting */       \
                    iris_gemm_stage_tile_##name(&plan, &piece, i, &acc, group, stages[pieces].data() + MARGIN);        \
                }                                                                                                      \
            }                                                                                                          \
    }
WORK(f16_sm80, f16_sm80, 0)
WORK(bf16_sm80, bf16_sm80, 0)
WORK(f32_sm80, f32_sm80, 0)
WORK(f64_sm80, f64_sm80, 0)
WORK(f16_sm80_with_comm, f16_sm80, 1)
WORK(bf16_sm80_with_comm, bf16_sm80, 1)
WORK(f32_sm80_with_comm, f32_sm80, 1)
WORK(f64_sm80_with_comm, f64_sm80, 1)

struct loop {
    iris_dtype dtype;
    int with_comm;
    void (*work)(iris_wave_group *);
} const loops[] = {{IRIS_F16, 0, work_f16_sm80},           {IRIS_BF16, 1, work_bf16_sm80_with_comm},
                   {IRIS_F64, 0, work_f64_sm80},           {IRIS_F16, 1, work_f16_sm80_with_comm},
                   {IRIS_F64, 1, work_f64_sm80_with_comm}, {IRIS_BF16, 0, work_bf16_sm80},
                   {IRIS_F32, 0, work_f32_sm80},           {IRIS_F32, 1, work_f32_sm80_with_comm}};
const loop *run;

void work()
{
    iris_wave_group group;
    group_of_all(&group);
    own().loads = own().ops = 0;
    begin_copies();
    run->work(&group);
}

double get(const char *from)
{
    union {
        uint16_t bits;
        float f;
        double d;
    } v;
    std::memcpy(&v, from, plan.operands.element);
    return plan.operands.element == 8 ? v.d : plan.operands.element == 4 ? (double)v.f : (double)widened(v.bits);
}

/* The element that a number is, at `to`. */
void set(char *to, double v)
{
    const uint16_t bits = narrowed((float)v);
    const float f = (float)v;
    std::memcpy(to,
                plan.operands.element == 8   ? (const void *)&v
                : plan.operands.element == 4 ? (const void *)&f
                                             : &bits,
                plan.operands.element);
}

/* Whole numbers from -4 to 4, so that sums are exact; what is no element is NaN, and nothing follows the last. */
std::vector<char> random_matrix(uint64_t rows, uint64_t columns, uint64_t ld)
{
    const uint32_t e = plan.operands.element;
    std::vector<char> v(((rows - 1) * ld + columns) * e, (char)0xff);
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            set(&v[(i * ld + j) * e], (double)random_below(9) - 4);
    return v;
}

/* The plan as runtime/gemm/choose.h fills it in, with a tile of m x n where they are not 0. */
void make_plan(const char *arch, uint32_t m, uint32_t n, uint32_t k, int n_major, uint32_t tile_m, uint32_t tile_n)
{
    irisi_gemm_problem q = {};
    const uint32_t e = (uint32_t)iris_dtype_bytes(run->dtype), unit = 16 / e;
    q.element = e, q.m = m, q.n = n, q.workgroups = 1, q.tile_m = tile_m, q.tile_n = tile_n;
    const irisi_gemm_shape s = irisi_mma_gemm_shape(arch, &q);
    std::memset(&plan, 0, sizeof plan);
    plan.m = plan.region.rows = m, plan.n = plan.region.columns = n, plan.k = k;
    plan.operands.b_transposed = !n_major;
    plan.operands.lda = (k + unit - 1) / unit * unit + unit;
    plan.operands.ldb = ((n_major ? n : k) + unit - 1) / unit * unit;
    plan.operands.ldc = n + 3;
    plan.operands.c = (void *)(uintptr_t)(0x1000000 + e); /* only where it stands within 16 bytes counts */
    plan.operands.alpha = 1;
    plan.operands.element = plan.operands.c_element = e;
    irisi_gemm_route_c(&plan);
    plan.tiling.tile_m = s.tile_m, plan.tiling.tile_n = s.tile_n;
    plan.tiling.tiles_m = (m + s.tile_m - 1) / s.tile_m, plan.tiling.full_n = (n + s.tile_n - 1) / s.tile_n;
    plan.machine.xcds = 1;
    plan.machine.stage_m = s.stage_m, plan.machine.stage_n = s.stage_n;
    plan.machine.pass_m = run->with_comm ? irisi_gemm_pass_m(IRISI_GEMM_SM80, s.tile_m) : s.tile_m;
    plan.machine.pitch = (s.stage_n * e + 15) / 16 * 16 + 16;
    plan.machine.stage_bytes = (s.stage_m * plan.machine.pitch + 127) / 128 * 128;
    plan.machine.workspace_bytes = run->with_comm ? s.workspace_bytes_with_comm : s.workspace_bytes;
    gpu.a = random_matrix(m, k, plan.operands.lda);
    gpu.b = n_major ? random_matrix(k, n, plan.operands.ldb) : random_matrix(n, k, plan.operands.ldb);
    plan.operands.a = gpu.a.data(), plan.operands.b = gpu.b.data();
}

/* A piece's staging tile: the product, and nothing else. */
void check_piece(const iris_tile *piece, std::vector<char> &stage)
{
    const uint32_t e = plan.operands.element;
    for (uint32_t row = 0; row < piece->rows; row++) {
        char *at = iris_tile_row(&plan, piece, stage.data() + MARGIN, row);
        for (uint32_t column = 0; column < piece->cols; column++, at += e) {
            const uint64_t i = piece->m0 + row, j = piece->n0 + column;
            double sum = 0;
            for (uint64_t k = 0; k < plan.k; k++)
                sum += get(&gpu.a[(i * plan.operands.lda + k) * e]) *
                       get(&gpu.b[(plan.operands.b_transposed ? j * plan.operands.ldb + k : k * plan.operands.ldb + j) *
                                  e]);
            char want[8];
            set(want, sum);
            expect(std::memcmp(at, want, e) == 0, "an element is not the product's");
            std::memset(at, 0xaa, e);
        }
    }
    expect_untouched(stage);
}

void try_loop(const loop *l, const char *arch, uint32_t m, uint32_t n, uint32_t k, int n_major, uint32_t tile_m,
              uint32_t tile_n)
{
    std::snprintf(trial, sizeof trial, "dtype %d%s, %s, %u x %u x %u, B n_major %d, tile %u x %u", (int)l->dtype,
                  l->with_comm ? " beside communication waves" : "", arch, m, n, k, n_major, tile_m, tile_n);
    run = l;
    gpu.dtype = l->dtype;
    make_plan(arch, m, n, k, n_major, tile_m, tile_n);
    std::memset(gpu.loads, 0, sizeof gpu.loads);
    std::memset(gpu.ops, 0, sizeof gpu.ops);
    iris_tile tile, piece;
    std::vector<iris_tile> pieces;
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)
        for (uint32_t i = 0; iris_tile_piece(&plan, &tile, i, &piece); i++)
            pieces.push_back(piece);
    stages.assign(pieces.size(), std::vector<char>(plan.machine.stage_bytes + 2 * MARGIN, (char)0xaa));
    run_lanes(plan.machine.workspace_bytes, work);
    for (size_t i = 0; i < pieces.size(); i++)
        check_piece(&pieces[i], stages[i]);
}

bool loop_notices(const loop *l, mistake m)
{
    return notices(m, [l] { try_loop(l, "sm_86", 40, 99, 130, 0, 0, 0); });
}

} // namespace

int main(int argc, char **argv)
{
    /* Shorter and longer than a slab and than the ring, multiples of it and not; tiles as chosen, and asked for. */
    static const uint32_t depths[] = {70, 9, 129, 64, 200, 128, 33, 1};
    static const uint32_t tiles[][2] = {{0, 0}, {64, 64}, {100, 72}, {128, 256}, {24, 40}};
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    uint32_t trials = 0;
    for (const loop &l : loops)
        for (int n_major = IRIST_SLOW; n_major < (IRIST_SLOW && &l - loops > 2 ? 0 : 2); n_major++)
            for (uint32_t t = all || IRIST_SLOW ? 0 : (uint32_t)n_major; t < (IRIST_SLOW ? 1 : 5); t += all ? 1 : 2)
                for (uint32_t i = 0; i < (all ? 8u : 1u); i++, trials++) {
                    const uint32_t k = depths[all ? i : (trials + t) % 8];
                    const uint32_t half = l.dtype == IRIS_F64 ? 2 : 1, narrow = iris_dtype_bytes(l.dtype) > 2 ? 2 : 1;
                    try_loop(&l, trials % 2 ? "sm_90" : "sm_86", i % 2 ? 165 : 53, i % 3 ? 99 : 261, k, n_major,
                             tiles[t][0] / half, tiles[t][1] / narrow);
                }
    std::printf("%u trials, %u failures\n", trials, failures);
    return failures || trials == 0 || !loop_notices(&loops[0], PASS_A_MEETING) ||
           !loop_notices(&loops[1], FORGET_A_WAIT) || !loop_notices(&loops[2], READ_BEYOND);
}
#else
int main() { return 0; }
#endif
