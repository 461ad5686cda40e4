/* SPDX-License-Identifier: MIT */
/*
 * mma_model.cpp: the loop around NVIDIA's mma.sync on the host, in its own index functions
 * (mainloop/nvidia/mma_layout.h).
 *
 * A tile goes from global memory to shared memory in slabs, from there to operands, through a model of the
 * instructions, and from accumulators into C, for every shape, both layouts of B and ragged edges; every wave and lane
 * of them. What comes out must be the product. On the way, every access to shared memory is checked for bank conflicts.
 * Then the host's choices: shared memory holds what they name, and who sends a tile meets the pieces that are posted.
 *
 * Instructions as the PTX ISA documents them, for lane l, g = l / 4, t = l % 4:
 *   ldmatrix x4   lanes 8i .. 8i + 7 give the rows of matrix i; register i: elements 2t and 2t + 1 of its row g;
 *                 .trans: of its column g
 *   m16n8k16      A: registers 0, 1 rows g, g + 8, k 2t and 2t + 1; registers 2, 3 the same with k + 8. B: column g,
 *                 the same k. C: elements 0, 1 row g, columns 2t and 2t + 1; elements 2, 3 row g + 8
 *   m8n8k4        A: row g, k t. B: k t, column g. C: row g, columns 2t and 2t + 1; m16n8k4: two, rows g and g + 8
 *   f32           no instruction: a lane multiplies rows g and g + 8 by columns 2t and 2t + 1
 */
#include <iris/arch/select.h>

#if defined(IRIS_TARGET_HOST)
#include <cmath>
#include <cstdio>
#include <cstring>
#include <set>
#include <vector>

#include <iris/gemm/plan.h>

#define irisi_tile_cuts() 1 /* as on these devices */
#include <iris/gemm/scheduler.h>

#define IRIS_MAINLOOP_SHAPE_H /* not this platform's shape, but: */
#include <iris/mainloop/nvidia/gemm_shape.h>

enum { LANES = 32 };

struct problem {
    irisi_mma_shape shape;
    int n_major;
    uint32_t m, n, k;
};

static uint32_t failures;

static void expect(bool held, const problem &p, const char *what)
{
    if (!held && failures++ < 20)
        std::printf("%u-byte elements, tile %u x %u, B n_major %d, %u x %u x %u: %s\n", p.shape.bytes,
                    irisi_mma_tile_m(p.shape), irisi_mma_tile_n(p.shape), p.n_major, p.m, p.n, p.k, what);
}

/* Small whole numbers: sums of their products are exact. */
static uint32_t seed;
static double small_number() { return (double)(((seed = seed * 1664525u + 1013904223u) >> 24) % 9) - 4; }

/* Shared memory in units of an element, which holds the number itself. */
typedef std::vector<double> memory;

/* Lanes `first` to `last` - 1 of a wave are served at one time: no two want different words of one bank. */
static void check_banks(const problem &p, const uint32_t *at, uint32_t bytes, const char *what)
{
    const uint32_t served = 128 / bytes;
    for (uint32_t first = 0; first < LANES; first += served) {
        std::vector<std::set<uint32_t>> wanted(32);
        for (uint32_t lane = first; lane < first + served; lane++)
            for (uint32_t w = at[lane] / 4; w < (at[lane] + bytes) / 4; w++)
                wanted[w % 32].insert(w);
        for (const std::set<uint32_t> &bank : wanted)
            expect(bank.size() <= 1, p, what);
    }
}

/* A matrix's part of slab `slab`, by all lanes; zeros where it has no elements. */
static void move(const problem &p, const std::vector<double> &matrix, uint32_t slab, int b, memory &shared)
{
    const int n_major = b && p.n_major;
    const uint32_t e = p.shape.bytes, whole = IRISI_MMA_DEPTH / e, k0 = slab * whole;
    const uint32_t part = b ? irisi_mma_tile_m(p.shape) * IRISI_MMA_DEPTH : 0, edge = b ? p.n : p.m;
    const uint32_t loads = b ? irisi_mma_loads_b(p.shape) : irisi_mma_loads_a(p.shape);
    for (uint32_t j = 0; j < loads; j++)
        for (uint32_t wave = 0; wave < IRISI_MMA_WAVES; wave++) {
            uint32_t at[LANES];
            for (uint32_t lane = 0; lane < LANES; lane++) {
                const irisi_mma_share share = irisi_mma_share_of(p.shape, n_major, wave * LANES + lane);
                const uint32_t line = share.line + j * share.next;
                at[lane] = part + irisi_mma_place(p.shape, n_major, line, share.chunk);
                expect(at[lane] % 16 == 0 && at[lane] + 16 <= shared.size() * e, p, "a chunk has no place in the slab");
                for (uint32_t i = 0; i < 16 / e; i++) {
                    const uint32_t along = share.chunk * 16 / e + i; /* place within the line */
                    const uint32_t k = k0 + (n_major ? line : along), x = n_major ? along : line;
                    double &to = shared[at[lane] / e + i];
                    expect(std::isnan(to), p, "two chunks have one place");
                    to = k < p.k && x < edge ? matrix[n_major ? k * p.n + x : x * p.k + k] : 0;
                }
            }
            check_banks(p, at, 16, "writes to shared memory conflict");
        }
}

/* Elements of 16 bits: what ldmatrix gives each lane, two elements a register. */
static void load_matrices(const problem &p, const memory &shared, const uint32_t *at, int n_major, double (*out)[4][2])
{
    check_banks(p, at, 16, "ldmatrix conflicts");
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t j = 0; j < 2; j++) {
                const uint32_t g = lane / 4, pair = lane % 4 * 2 + j;
                out[lane][i][j] = shared[at[8 * i + (n_major ? pair : g)] / 2 + (n_major ? g : pair)];
            }
}

/* The accumulators of all lanes of a wave. */
struct accumulators {
    double v[LANES][IRISI_MMA_ACCS];
};

static void step_16(const problem &p, const memory &shared, uint32_t wave, uint32_t step, accumulators &acc)
{
    const uint32_t part = irisi_mma_tile_m(p.shape) * IRISI_MMA_DEPTH;
    static double a[4][LANES][4][2], b[4][LANES][4][2];
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t from_a[LANES], from_b[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++) {
            from_a[lane] = irisi_mma_at_a(irisi_mma_first_a(p.shape, wave, lane), step, i);
            from_b[lane] =
                p.n_major
                    ? irisi_mma_at_b_n_major(p.shape, part + irisi_mma_first_b_n_major(p.shape, wave, lane), step, i)
                    : irisi_mma_at_b(part + irisi_mma_first_b(p.shape, wave, lane), step, i);
        }
        if (i < p.shape.blocks_m)
            load_matrices(p, shared, from_a, 0, a[i]);
        if (i < p.shape.blocks_n / 2)
            load_matrices(p, shared, from_b, p.n_major, b[i]);
    }
    for (uint32_t n = 0; n < p.shape.blocks_n; n++)
        for (uint32_t m = 0; m < p.shape.blocks_m; m++)
            for (uint32_t lane = 0; lane < LANES; lane++)
                for (uint32_t e = 0; e < 4; e++)
                    for (uint32_t k = 0; k < 16; k++) {
                        const uint32_t row = lane / 4 * 4, column = (lane % 4 * 2 + e % 2) * 4, t = k % 8 / 2;
                        acc.v[lane][4 * irisi_mma_block(p.shape, m, n) + e] +=
                            a[m][row + t][k / 8 * 2 + e / 2][k % 2] * b[n / 2][column + t][n % 2 * 2 + k / 8][k % 2];
                    }
}

static void step_64(const problem &p, const memory &shared, uint32_t wave, uint32_t step, accumulators &acc)
{
    const uint32_t part = irisi_mma_tile_m(p.shape) * IRISI_MMA_DEPTH;
    double a[2][2][LANES], b[4][LANES];
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t at[2][LANES], from[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++) {
            at[0][lane] = irisi_mma_at_a(irisi_mma_first_a_64(p.shape, wave, lane), step, i);
            at[1][lane] = at[0][lane] + 8 * IRISI_MMA_DEPTH;
            from[lane] = p.n_major ? irisi_mma_at_b_64_n_major(
                                         p.shape, part + irisi_mma_first_b_64_n_major(p.shape, wave, lane), step, i)
                                   : irisi_mma_at_b_64(part + irisi_mma_first_b_64(p.shape, wave, lane), step, i);
            b[i][lane] = shared[from[lane] / 8];
            for (uint32_t h = 0; h < 2 && i < p.shape.blocks_m; h++)
                a[i][h][lane] = shared[at[h][lane] / 8];
        }
        check_banks(p, from, 8, "reads of B conflict");
        if (i < p.shape.blocks_m)
            check_banks(p, at[0], 8, "reads of A conflict");
    }
    for (uint32_t n = 0; n < p.shape.blocks_n; n++)
        for (uint32_t m = 0; m < p.shape.blocks_m; m++)
            for (uint32_t lane = 0; lane < LANES; lane++)
                for (uint32_t e = 0; e < 4; e++)
                    for (uint32_t t = 0; t < 4; t++)
                        acc.v[lane][4 * irisi_mma_block(p.shape, m, n) + e] +=
                            a[m][e / 2][lane / 4 * 4 + t] * b[n][(lane % 4 * 2 + e % 2) * 4 + t];
}

static void step_32(const problem &p, const memory &shared, uint32_t wave, uint32_t step, accumulators &acc)
{
    const uint32_t part = irisi_mma_tile_m(p.shape) * IRISI_MMA_DEPTH;
    for (uint32_t m = 0; m < p.shape.blocks_m; m++)
        for (uint32_t n = 0; n < p.shape.blocks_n; n++)
            for (uint32_t e = 0; e < 4; e++)
                for (uint32_t k = 0; k < 4; k++) {
                    uint32_t at[LANES], from[LANES];
                    for (uint32_t lane = 0; lane < LANES; lane++) {
                        at[lane] = irisi_mma_at_32(irisi_mma_first_a_32(p.shape, wave, lane), step, m) +
                                   e / 2 * 8 * IRISI_MMA_DEPTH;
                        const uint32_t first = part + (p.n_major ? irisi_mma_first_b_32_n_major(p.shape, wave, lane)
                                                                 : irisi_mma_first_b_32(p.shape, wave, lane));
                        from[lane] = p.n_major ? irisi_mma_at_b_32_n_major(p.shape, first, step, n, k)
                                               : irisi_mma_at_32(first, step, n) + e % 2 * IRISI_MMA_DEPTH;
                        acc.v[lane][4 * irisi_mma_block(p.shape, m, n) + e] +=
                            shared[at[lane] / 4 + k] * shared[from[lane] / 4 + (p.n_major ? e % 2 : k)];
                    }
                    check_banks(p, at, 16, "reads of A conflict");
                    check_banks(p, from, p.n_major ? 8 : 16, "reads of B conflict");
                }
}

static void check(const problem &p)
{
    std::vector<double> a(p.m * p.k), b(p.k * p.n), c(p.m * p.n, NAN), bt(p.n * p.k);
    for (double &v : a)
        v = small_number();
    for (uint32_t i = 0; i < p.k * p.n; i++)
        bt[i % p.n * p.k + i / p.n] = b[i] = small_number();
    static accumulators acc[IRISI_MMA_WAVES];
    std::memset(acc, 0, sizeof acc);
    for (uint32_t slab = 0; slab * IRISI_MMA_DEPTH < p.k * p.shape.bytes; slab++) {
        memory shared(irisi_mma_slab_bytes(p.shape) / p.shape.bytes, NAN);
        move(p, a, slab, 0, shared);
        move(p, p.n_major ? b : bt, slab, 1, shared);
        for (uint32_t wave = 0; wave < IRISI_MMA_WAVES; wave++)
            for (uint32_t step = 0; step < (p.shape.bytes == 4 ? 4 : 2); step++)
                if (p.shape.bytes == 4)
                    step_32(p, shared, wave, step, acc[wave]);
                else if (p.shape.bytes == 8)
                    step_64(p, shared, wave, step, acc[wave]);
                else
                    step_16(p, shared, wave, step, acc[wave]);
    }
    for (uint32_t wave = 0; wave < IRISI_MMA_WAVES; wave++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t i = 0; i < 4 * p.shape.blocks_m * p.shape.blocks_n; i++) {
                const uint32_t m = i / 4 % p.shape.blocks_m, n = i / 4 / p.shape.blocks_m;
                const uint32_t row = irisi_mma_row(wave, lane, m, i % 4);
                const uint32_t column = irisi_mma_column(wave, lane, n, i % 4);
                const uint32_t at = 4 * irisi_mma_block(p.shape, m, n) + i % 4;
                expect(row < irisi_mma_tile_m(p.shape) && column < irisi_mma_tile_n(p.shape), p, "beyond the tile");
                expect(at / IRISI_MMA_ACCS_OF_PIECE == irisi_mma_piece(p.shape, row, column), p, "in another piece");
                if (row >= p.m || column >= p.n)
                    continue;
                expect(std::isnan(c[row * p.n + column]), p, "two accumulators are one element of C");
                c[row * p.n + column] = acc[wave].v[lane][at];
            }
    for (uint32_t i = 0; i < p.m * p.n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < p.k; k++)
            sum += a[i / p.n * p.k + k] * b[k * p.n + i % p.n];
        expect(sum == c[i], p, "C is not the product");
    }
}

/* The pieces of a tile are those of its passes, in their order: communication waves count on what math waves post. */
static void check_pieces(const iris_gemm_plan &plan, const problem &p)
{
    iris_tile tile = {}, pass, posted, sent;
    tile.rows = p.m, tile.cols = p.n;
    uint32_t count = 0;
    for (uint32_t i = 0; iris_tile_pass(&plan, &tile, i, &pass); i++) {
        expect(pass.rows <= irisi_mma_tile_m(p.shape), p, "a pass has more rows than its accumulators");
        for (uint32_t j = 0; iris_tile_piece(&plan, &pass, j, &posted); j++, count++)
            expect(iris_tile_piece(&plan, &tile, count, &sent) && sent.m0 == posted.m0 && sent.n0 == posted.n0 &&
                       sent.rows == posted.rows && sent.cols == posted.cols,
                   p, "another piece is sent than is posted");
    }
    expect(!iris_tile_piece(&plan, &tile, count, &sent), p, "more pieces are sent than are posted");
}

/* What the host makes of a tile that is asked for, or of none, on a device. */
static void check_choice(const char *arch, uint32_t shared, uint32_t bytes, uint32_t tile_m, uint32_t tile_n)
{
    irisi_gemm_problem q = {};
    iris_gemm_plan plan = {};
    q.mainloops = 1u << IRISI_GEMM_PLAIN | 1u << IRISI_GEMM_SM80, q.element = bytes, q.accumulator = bytes == 8 ? 8 : 4;
    q.m = q.n = q.k = 8192, q.aligned = q.b_transposed = 1, q.workgroups = 132, q.tile_m = tile_m, q.tile_n = tile_n;
    const irisi_gemm_shape s = irisi_gemm_pick(arch, &q);
    const int small = irisi_mma_is_small(bytes, s.tile_m, s.tile_n);
    problem p = {irisi_mma_shape_of(bytes, small, 1), 0, s.tile_m, s.tile_n, 0};
    expect(s.mainloop == IRISI_GEMM_SM80, p, "another mainloop is chosen");
    const uint32_t stage = (s.stage_m * ((s.stage_n * bytes + 15) / 16 * 16 + 16) + 127) / 128 * 128;
    expect(IRISI_GEMM_COUNTERS + s.workspace_bytes + s.slots * stage <= shared &&
               IRISI_GEMM_COUNTERS + s.workspace_bytes_with_comm + s.slots_with_comm * stage <= shared,
           p, "shared memory is too small");
    expect(s.workspace_bytes >= 3 * irisi_mma_slab_bytes(irisi_mma_shape_of(bytes, small, 0)) &&
               s.workspace_bytes_with_comm >= 3 * irisi_mma_slab_bytes(p.shape),
           p, "a ring has less than three slabs");
    plan.tiling.tile_m = s.tile_m, plan.tiling.tile_n = s.tile_n, plan.machine.stage_m = s.stage_m,
    plan.machine.stage_n = s.stage_n;
    plan.machine.pass_m = irisi_gemm_pass_m(s.mainloop, s.tile_m);
    for (p.m = 1; p.m <= s.tile_m; p.m++)
        for (p.n = 1; p.n <= s.tile_n; p.n += 7)
            check_pieces(plan, p);
}

int main()
{
    static const struct {
        const char *arch;
        uint32_t shared;
    } devices[] = {{"sm_80", 163 << 10}, {"sm_86", 99 << 10}, {"sm_90", 227 << 10}, {"", 99 << 10}};
    static const uint32_t tiles[][2] = {{0, 0}, {19, 21}, {64, 64}, {64, 65}, {65, 64}, {100, 200}, {128, 256}};
    for (uint32_t d = 0; d < 4; d++)
        for (uint32_t t = 0; t < 7; t++) {
            check_choice(devices[d].arch, devices[d].shared, 2, tiles[t][0], tiles[t][1]);
            check_choice(devices[d].arch, devices[d].shared, 4, tiles[t][0], tiles[t][1] / 2);
            check_choice(devices[d].arch, devices[d].shared, 8, tiles[t][0] / 2, tiles[t][1] / 2);
        }
    for (uint32_t bytes = 2; bytes <= 8; bytes *= 2)
        for (int kind = 0; kind < 3; kind++)
            for (int n_major = 0; n_major < 2; n_major++) {
                problem p = {irisi_mma_shape_of(bytes, kind == 1, kind == 2), n_major, 0, 0, 64};
                p.m = irisi_mma_tile_m(p.shape), p.n = irisi_mma_tile_n(p.shape);
                check(p);
                p.m -= 21, p.n -= 27, p.k = 37;
                check(p);
            }
    std::printf(failures ? "%u failures\n" : "every tile is its product, without bank conflicts\n", failures);
    return failures != 0;
}
#else
int main() { return 0; }
#endif
