/* SPDX-License-Identifier: MIT */
/*
 * mfma_model.cpp: the matrix loops of AMD GPUs on the host, in their own index functions (mainloop/amd/mfma_layout.h).
 *
 * A tile goes from global memory to shared memory, from there to operands, through a model of the matrix instruction,
 * and from accumulators into C, for every loop, every layout of B and ragged edges; every wave and lane of them. What
 * comes out must be the product. On the way, every access to shared memory is checked for bank conflicts.
 *
 * Instructions as AMD documents them (matrix instruction calculator; CDNA 2, 3, 4 ISA guides), for lane l:
 *   32x32x8   first operand: row l % 32, k = 4 * (l / 32) + 0..3; second: column l % 32, the same k
 *   32x32x16  likewise with k = 8 * (l / 32) + 0..7, of 16-bit elements and of 8-bit ones
 *   32x32x64  likewise with k = 32 * (l / 32) + 0..31, of 8-bit elements
 *   result    element e: row 8 * (e / 4) + 4 * (l / 32) + e % 4, column l % 32
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include <iris/mainloop/amd/gemm_shape.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { EVERY = 4 }; /* slow: a part of the tiles */
#else
enum { EVERY = 1 };
#endif
enum { SLABS = 2, LANES = 64 };

struct problem {
    uint32_t mainloop;
    int with_comm, n_major;
    uint32_t element; /* bytes of one of A and B */
    uint32_t deep;    /* k of an instruction: 8, 16 or 64 */
    uint32_t m, n, k, lda, ldb;
};

static uint32_t failures;

static void expect(bool held, const problem &p, const char *what)
{
    if (held || failures++ > 20)
        return;
    std::printf("mainloop %u, beside communication waves %d, B n_major %d, %u bytes, %u deep, %u x %u x %u: %s\n",
                p.mainloop, p.with_comm, p.n_major, p.element, p.deep, p.m, p.n, p.k, what);
}

/* Small whole numbers: sums of their products are exact. An element's first byte holds one of 0..8 for -4..4. */
typedef std::vector<uint8_t> memory;
static uint32_t seed;
static uint8_t small_number() { return (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24) % 9; }
enum : uint8_t { POISON = 0xff, ZERO = 4 };
static double value(const uint8_t *element) { return *element == POISON ? NAN : (double)*element - ZERO; }

/* Sets of lanes that shared memory serves at one time: 16 bytes each on writes and reads, and 4 bytes each. */
typedef std::vector<std::vector<uint32_t>> phases;

static phases write_phases()
{
    phases out;
    for (uint32_t first = 0; first < LANES; first += 8)
        out.push_back({first, first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 7});
    return out;
}

static phases read_phases(uint32_t banks)
{
    static const uint32_t narrow[4][2] = {{0, 20}, {4, 16}, {8, 28}, {12, 24}};
    static const uint32_t wide[2][4] = {{0, 12, 20, 24}, {4, 8, 16, 28}};
    phases out;
    for (uint32_t half = 0; half < LANES; half += 32)
        for (uint32_t i = 0; i < (banks == 32 ? 4u : 2u); i++) {
            std::vector<uint32_t> lanes;
            for (uint32_t quad = 0; quad < (banks == 32 ? 2u : 4u); quad++)
                for (uint32_t j = 0; j < 4; j++)
                    lanes.push_back(half + (banks == 32 ? narrow[i][quad] : wide[i][quad]) + j);
            out.push_back(lanes);
        }
    return out;
}

static phases word_phases(uint32_t banks)
{
    phases out;
    for (uint32_t first = 0; first < LANES; first += banks) {
        out.push_back({});
        for (uint32_t j = 0; j < banks; j++)
            out.back().push_back(first + j);
    }
    return out;
}

/* No two lanes of a phase want different words of one bank. */
static bool conflict_free(const phases &p, const uint32_t *at, uint32_t words, uint32_t banks)
{
    for (const std::vector<uint32_t> &lanes : p) {
        std::vector<std::set<uint32_t>> wanted(banks);
        for (uint32_t lane : lanes)
            for (uint32_t w = 0; w < words; w++)
                wanted[(at[lane] / 4 + w) % banks].insert(at[lane] / 4 + w);
        for (const std::set<uint32_t> &bank : wanted)
            if (bank.size() > 1)
                return false;
    }
    return true;
}

static void check_banks(const problem &p, const phases &narrow, const phases &wide, const uint32_t *at, uint32_t words,
                        const char *what)
{
    const int roomy = irisi_mfma_loop_of(p.mainloop, 0, p.element).direct;
    expect(conflict_free(narrow, at, words, 32), p, what);
    if (roomy)
        expect(conflict_free(wide, at, words, 64), p, what);
}

/* One matrix's part of a slab, by all lanes: from global memory, with zeros behind the end of K, to shared memory. */
static void move(const problem &p, irisi_mfma_shape shape, const memory &matrix, uint32_t slab, int b, memory &lds,
                 uint32_t part)
{
    const uint32_t whole = irisi_mfma_whole(shape), k0 = slab * whole, n_major = b ? (uint32_t)p.n_major : 0;
    const uint32_t left = k0 >= p.k ? 0 : p.k - k0 < whole ? p.k - k0 : whole;
    const uint64_t base = left == 0 ? 0 : (uint64_t)k0 * (n_major ? p.ldb : 1) * p.element;
    const uint32_t loads = b ? irisi_mfma_loads_b(shape) : irisi_mfma_loads_a(shape);
    for (uint32_t j = 0; j < loads; j++)
        for (uint32_t wave = 0; wave < IRISI_MFMA_WAVES; wave++) {
            uint32_t at[LANES];
            for (uint32_t lane = 0; lane < LANES; lane++) {
                const uint32_t member = wave * LANES + lane;
                const irisi_mfma_share s = !b        ? irisi_mfma_share_a(shape, member, p.lda, p.m)
                                           : n_major ? irisi_mfma_share_b(shape, member, p.ldb, p.n)
                                                     : irisi_mfma_share_bt(shape, member, p.ldb, p.n);
                const uint64_t from = base + irisi_mfma_offset(&s, j, left, (int)n_major);
                uint32_t words[4];
                at[lane] = part + irisi_mfma_place(&s, j);
                expect(from % 16 == 0 && from < matrix.size(), p, "a load is misaligned or beyond the matrix");
                if (from >= matrix.size())
                    continue;
                std::memset(words, POISON, 16); /* the rest of the last unit of 16 bytes may be anything */
                std::memcpy(words, &matrix[from], matrix.size() - from < 16 ? matrix.size() - from : 16);
                for (uint32_t i = 0; i < 4 && left < whole; i++) {
                    const uint32_t kept = irisi_mfma_kept(&s, j, left, (int)n_major, (int32_t)i);
                    const uint32_t zero = ZERO * (p.element == 4 ? 1 : p.element == 2 ? 0x00010001 : 0x01010101);
                    words[i] = (words[i] & kept) | (zero & ~kept);
                }
                std::memcpy(&lds[at[lane]], words, 16);
                if (irisi_mfma_loop_of(p.mainloop, p.with_comm, p.element).direct)
                    expect(at[lane] == part + 1024 * (wave + j * IRISI_MFMA_WAVES) + 16 * lane, p,
                           "a chunk stands elsewhere than a direct load puts it");
            }
            check_banks(p, write_phases(), write_phases(), at, 4, "bank conflict on a write");
        }
}

/* A wave's operands of a step: 16 bytes of K a lane. */
typedef uint8_t operand[LANES][16];

static void take_lines(const problem &p, const memory &lds, uint32_t part, const uint32_t *at, operand out)
{
    uint32_t place[LANES];
    for (uint32_t lane = 0; lane < LANES; lane++) {
        place[lane] = part + at[lane];
        std::memcpy(out[lane], &lds[place[lane]], 16);
    }
    check_banks(p, read_phases(32), read_phases(64), place, 4, "bank conflict on a read");
}

/* `columns`: of each of the two blocks, from this step on. */
static void take_pairs(const problem &p, irisi_mfma_shape shape, const memory &lds, uint32_t part, uint32_t wave,
                       uint32_t step, operand *const columns[2])
{
    uint32_t words[8][LANES];
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t place[LANES];
        for (uint32_t lane = 0; lane < LANES; lane++) {
            place[lane] = part + irisi_mfma_at_pair(shape, irisi_mfma_first_n(shape, wave, lane, 1), step, k);
            std::memcpy(&words[k][lane], &lds[place[lane]], 4);
        }
        check_banks(p, word_phases(32), word_phases(64), place, 1, "bank conflict on a read of pairs");
    }
    for (uint32_t column = 0; column < 2; column++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t i = 0; i < 4; i++) {
                const uint32_t pair = irisi_mfma_pair(words[2 * i][lane], words[2 * i + 1][lane], column);
                std::memcpy(&columns[column][step][lane][4 * i], &pair, 4);
            }
}

/* The instruction, as often as the steps take it: it is `deep` deep, of which either half of the lanes holds a half. */
static void multiply(const problem &p, const operand *first, const operand *second, uint32_t steps, double (*acc)[16])
{
    const uint32_t each = p.deep / 2 * p.element; /* bytes that a lane holds of an instruction */
    for (uint32_t part = 0; part < 16 * steps; part += each)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t e = 0; e < 16; e++) {
                const uint32_t row = 8 * (e / 4) + 4 * (lane / 32) + e % 4, col = lane % 32;
                for (uint32_t half = 0; half < LANES; half += 32)
                    for (uint32_t at = part; at < part + each; at += p.element) {
                        const uint8_t *a = &first[at / 16][row + half][at % 16];
                        const uint8_t *b = &second[at / 16][col + half][at % 16];
                        acc[lane][e] += value(a) * value(b);
                    }
            }
}

struct wave_accs {
    double v[4][2][LANES][16];
};

/* A slab's share of the sums, all waves. */
static void compute(const problem &p, irisi_mfma_shape shape, const memory &lds, std::vector<wave_accs> &acc)
{
    const uint32_t part_b = irisi_mfma_tile_m(shape) * shape.depth, steps = shape.depth / 32;
    operand rows[4], left[4], right[4], *const columns[2] = {left, right};
    uint32_t at[LANES];
    for (uint32_t wave = 0; wave < IRISI_MFMA_WAVES; wave++) {
        for (uint32_t step = 0; step < steps; step++)
            if (p.n_major)
                take_pairs(p, shape, lds, part_b, wave, step, columns);
        for (uint32_t i = 0; i < 2 * steps && !p.n_major; i++) {
            for (uint32_t lane = 0; lane < LANES; lane++)
                at[lane] = irisi_mfma_at_n(shape, irisi_mfma_first_n(shape, wave, lane, 0), i / 2, i % 2);
            take_lines(p, lds, part_b, at, columns[i % 2][i / 2]);
        }
        for (uint32_t block = 0; block < shape.blocks_m; block++) {
            for (uint32_t step = 0; step < steps; step++) {
                for (uint32_t lane = 0; lane < LANES; lane++)
                    at[lane] = irisi_mfma_at_m(shape, irisi_mfma_first_m(shape, wave, lane), step, block);
                take_lines(p, lds, 0, at, rows[step]);
            }
            multiply(p, columns[0], rows, steps, acc[wave].v[block][0]);
            multiply(p, columns[1], rows, steps, acc[wave].v[block][1]);
        }
    }
}

/* Accumulators into C, piece by piece, as the staging tile has them. Every element inside is written once. */
static std::vector<double> pieces(const problem &p, irisi_mfma_shape shape, const std::vector<wave_accs> &acc)
{
    std::vector<double> c(p.m * p.n, NAN);
    for (uint32_t piece = 0; piece < 2 * shape.blocks_m; piece++)
        for (uint32_t wave = 0; wave < IRISI_MFMA_WAVES; wave++)
            for (uint32_t lane = 0; lane < LANES; lane++)
                for (uint32_t i = 0; i < 16; i++) {
                    const uint32_t in_row = irisi_mfma_piece_row(shape, wave, lane);
                    const uint32_t in_col = irisi_mfma_piece_column(shape, wave, lane) + i / 8 * 16 + i % 8;
                    const uint32_t row = piece / 2 * irisi_mfma_band(shape) + in_row;
                    const uint32_t col = piece % 2 * irisi_mfma_stage_n(shape) + in_col;
                    expect(in_row < irisi_mfma_band(shape) && in_col < irisi_mfma_stage_n(shape), p,
                           "an accumulator lies outside its piece");
                    if (row >= p.m || col >= p.n)
                        continue;
                    expect(std::isnan(c[row * p.n + col]), p, "an element is written twice");
                    c[row * p.n + col] = acc[wave].v[piece / 2][irisi_mfma_piece_block(i)][lane]
                                                    [irisi_mfma_piece_acc(piece % 2, i)];
                }
    return c;
}

static void run(const problem &p)
{
    const irisi_mfma_loop loop = irisi_mfma_loop_of(p.mainloop, p.with_comm, p.element);
    const irisi_mfma_shape shape = loop.shape;
    const uint32_t whole = irisi_mfma_whole(shape), slabs = (p.k + whole - 1) / whole;
    const uint32_t b_rows = p.n_major ? p.k : p.n, b_cols = p.n_major ? p.n : p.k;
    memory a(((p.m - 1) * p.lda + p.k) * p.element, POISON), b(((b_rows - 1) * p.ldb + b_cols) * p.element, POISON);
    std::vector<wave_accs> acc(IRISI_MFMA_WAVES);
    std::memset(acc.data(), 0, acc.size() * sizeof acc[0]);
    for (uint32_t i = 0; i < p.m; i++)
        for (uint32_t k = 0; k < p.k; k++)
            a[(i * p.lda + k) * p.element] = small_number();
    for (uint32_t i = 0; i < b_rows; i++)
        for (uint32_t j = 0; j < b_cols; j++)
            b[(i * p.ldb + j) * p.element] = small_number();
    /* A turn of the loop's ring beyond the end of K is computed too: on zeros. */
    for (uint32_t slab = 0; slab < (slabs + loop.ring - 1) / loop.ring * loop.ring; slab++) {
        memory lds(irisi_mfma_slab_bytes(shape), POISON);
        move(p, shape, a, slab, 0, lds, 0);
        move(p, shape, b, slab, 1, lds, irisi_mfma_tile_m(shape) * shape.depth);
        compute(p, shape, lds, acc);
    }
    const std::vector<double> c = pieces(p, shape, acc);
    for (uint32_t i = 0; i < p.m; i++)
        for (uint32_t j = 0; j < p.n; j++) {
            double sum = 0;
            for (uint32_t k = 0; k < p.k; k++)
                sum += value(&a[(i * p.lda + k) * p.element]) *
                       value(&b[(p.n_major ? k * p.ldb + j : j * p.ldb + k) * p.element]);
            expect(c[i * p.n + j] == sum, p, "an element of C is not the product's");
        }
}

/* Kernels with their staging tiles fit into shared memory, for C of 1, 2 and 4 bytes. */
static void check_shared(uint32_t mainloop)
{
    for (uint32_t c_element = 1; c_element <= 4; c_element *= 2) {
        irisi_gemm_problem q;
        std::memset(&q, 0, sizeof q);
        q.element = 2, q.c_element = c_element, q.accumulator = 4;
        const irisi_gemm_shape s = irisi_mfma_gemm_shape(mainloop, &q);
        const uint32_t stage = (s.stage_m * ((s.stage_n * c_element + 15) / 16 * 16 + 16) + 127) / 128 * 128;
        const uint32_t least = IRISI_GEMM_COUNTERS + s.workspace_bytes + s.slots * stage;
        const uint32_t with_comm = IRISI_GEMM_COUNTERS + s.workspace_bytes_with_comm + s.slots_with_comm * stage;
        const uint32_t most = irisi_mfma_loop_of(mainloop, 0, 2).direct ? 160 << 10 : 64 << 10;
        if (least <= most && with_comm <= most)
            continue;
        std::printf("mainloop %u, C of %u bytes: %u and %u bytes of shared memory\n", mainloop, c_element, least,
                    with_comm);
        failures++;
    }
}

/* Chiplets of whole devices, of parts of them, and of shares of them. */
static void check_chiplets(void)
{
    static const struct {
        const char *arch;
        uint32_t units, xcds;
    } rows[] = {{"gfx942:sramecc+:xnack-", 304, 8}, {"gfx942", 228, 6}, {"gfx942", 152, 4}, {"gfx942", 38, 1},
                {"gfx942", 145, 8}, {"gfx942", 80, 8}, {"gfx942", 342, 8}, {"gfx942", 0, 8}, {"gfx950", 256, 8},
                {"gfx950", 64, 2}, {"gfx950", 304, 8}, {"gfx90a", 104, 1}, {"gfx90a", 228, 1}};
    for (const auto &row : rows) {
        const uint32_t xcds = irisi_gemm_xcds(row.arch, row.units);
        if (xcds == row.xcds)
            continue;
        std::printf("%s, %u compute units: %u chiplets, not %u\n", row.arch, row.units, xcds, row.xcds);
        failures++;
    }
}

/* 1 for the device without 8-bit floats. */
static int irist_old(uint32_t mainloop)
{
    return mainloop == IRISI_GEMM_MFMA_GFX90A || mainloop == IRISI_GEMM_MFMA_GFX90A_SMALL;
}

int main(int argc, char **argv)
{
    static const uint32_t edges[][3] = {{256, 256, 64}, {255, 250, 37}, {1, 1, 1}, {33, 129, 130}, {200, 8, 9}};
    const uint32_t only = argc > 1 ? (uint32_t)std::atoi(argv[1]) : 0;
    uint32_t runs = 0, turn = 0;
    seed = argc > 2 ? (uint32_t)std::atoi(argv[2]) : 1;
    check_chiplets();
    for (uint32_t mainloop = IRISI_GEMM_MFMA_GFX90A; mainloop <= IRISI_GEMM_MFMA_GFX950_SMALL; mainloop++)
        check_shared(mainloop);
    for (uint32_t mainloop = IRISI_GEMM_MFMA_GFX90A; mainloop <= IRISI_GEMM_MFMA_GFX950_SMALL; mainloop++)
        for (int with_comm = 0; with_comm < 2; with_comm++)
            for (uint32_t kind = 0; kind < 5; kind++) { /* 16 bits, B n_major or not; 8-bit floats; i8; f32 */
                if ((with_comm && irisi_mfma_is_small(mainloop)) || (kind == 2 && irist_old(mainloop)))
                    continue; /* the same again; there is no such kernel */
                for (uint32_t edge = 0; edge < sizeof edges / sizeof edges[0]; edge++) {
                    const uint32_t element = kind < 2 ? 2 : kind < 4 ? 1 : 4, unit = 16 / element;
                    const irisi_mfma_loop loop = irisi_mfma_loop_of(mainloop, with_comm, element);
                    const uint32_t tile_m = irisi_mfma_tile_m(loop.shape), tile_n = irisi_mfma_tile_n(loop.shape);
                    const uint32_t wide = irist_old(mainloop) ? 8 : loop.direct ? 32 : 16; /* of i8 */
                    const uint32_t of_16 = loop.direct ? 16 : 8, of_8 = loop.direct ? 64 : 16;
                    const uint32_t deep[] = {of_16, of_16, of_8, wide, 2};
                    problem p = {mainloop, with_comm, kind == 1, element, deep[kind], 0, 0, edges[edge][2], 0, 0};
                    if ((only && mainloop != only) || turn++ % EVERY != 0)
                        continue;
                    p.m = edges[edge][0] < tile_m ? edges[edge][0] : tile_m - 256 % edges[edge][0];
                    p.n = edges[edge][1] < tile_n ? edges[edge][1] : tile_n - 256 % edges[edge][1];
                    p.lda = (p.k + unit - 1) / unit * unit + unit * (edge % 2);
                    p.ldb = ((p.n_major ? p.n : p.k) + unit - 1) / unit * unit + unit * (edge % 3);
                    run(p);
                    runs++;
                }
            }
    std::printf("%u tiles, %u failures\n", runs, failures);
    return failures || runs == 0;
}
