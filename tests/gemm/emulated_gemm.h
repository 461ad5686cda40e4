/* SPDX-License-Identifier: MIT */
/*
 * emulated_gemm.h: a GEMM on emulator.h, for mma_run.cpp, gemv_run.cpp, mfma_run.cpp and skinny_amd_run.cpp, which say
 * IRIST_GEMM_SHAPE before, the platform's header of loops' shapes: random matrices between NaN, the plan, tiles that a
 * loop computes, and the check of what they hold.
 *
 *   gemm plan stages               the problem, and where its pieces are staged
 *   widened_16 widen_words         elements as floats
 *   read_global                    of A or B alone, aligned, once the kernel before has ended
 *   make_plan begin_trial          a random problem
 *   walk_tiles run_loop            each lane's share of it
 *   check_pieces                   pieces are the product, and nothing else is written
 */
#ifndef TESTS_GEMM_EMULATED_GEMM_H
#define TESTS_GEMM_EMULATED_GEMM_H

#include <cmath>

#include <iris/gen/bits.h>
#include <iris/gemm/tile.h>
#include "element.h"
#include "emulator.h"

namespace {

struct matrix {
    std::vector<char> room;
    char *first;                /* the first element */
    uint64_t rows, columns, ld; /* ld: elements from row to row */
    iris_dtype dtype;
};

struct {
    matrix a, b, c;
    std::vector<char> c_before; /* what is in C's room */
    bool with_comm;             /* beside communication waves */
    bool kernel_waits;          /* for the kernel before, not the loop */
    bool to_the_byte; /* nothing behind the last element is read; else whole words are that have a byte of it */
    bool waited[WAVES][LANES]; /* for the kernel before */
    uint32_t counter;          /* of waves that meet without communication waves */
    void (*loop)(iris_wave_group *);
} gemm;

iris_gemm_plan plan;
std::vector<iris_tile> pieces;         /* in a lane's order */
std::vector<std::vector<char>> stages; /* one for each, with a margin on both sides */

/* ---- elements ---------------------------------------------------------------------------------------------------- */

inline uint32_t bytes_of(const matrix &m) { return (uint32_t)iris_dtype_bytes(m.dtype); }

char *element(const matrix &m, uint64_t row, uint64_t column)
{
    return m.first + (row * m.ld + column) * iris_dtype_bytes(m.dtype);
}

inline double get(const matrix &m, const void *from) { return element_get(m.dtype, (const unsigned char *)from); }
inline void set(const matrix &m, void *to, double v) { element_set(m.dtype, (unsigned char *)to, v); }

/* Of A's and B's type, which has 16 bits. */
inline float widened_16(uint16_t bits)
{
    iris_bf16 b;
    iris_f16 h;
    b.bits = h.bits = bits;
    return gemm.a.dtype == IRIS_BF16 ? iris_widen_bf16(b) : iris_widen_f16(h);
}

/* 16 bytes of A or B. */
inline void widen_words(float *to, const void *words)
{
    for (uint32_t i = 0; i < 16 / bytes_of(gemm.a); i++)
        to[i] = (float)get(gemm.a, (const char *)words + i * bytes_of(gemm.a));
}

/* ---- in place of the host's workgroups and global memory --------------------------------------------------------- */

/* 1 when one of the bytes is an element's; `to_the_byte`: and none stands behind the last. */
bool holds_some(const matrix &m, const char *word, uint32_t bytes)
{
    const char *end = element(m, m.rows - 1, m.columns);
    if (word + bytes <= m.first || word >= end || (gemm.to_the_byte && word + bytes > end))
        return false;
    for (const char *at = word < m.first ? m.first : word; at < word + bytes && at < end; at++)
        if ((uint64_t)(at - m.first) / bytes_of(m) % m.ld < m.columns)
            return true;
    return false;
}

/* Bytes of A or B, aligned to `unit`. */
void read_global(void *to, const void *from, uint32_t bytes, uint32_t unit)
{
    const char *at = (const char *)from + (made == READ_BEYOND ? unit : 0);
    if (made == LOSE_WORDS && wg.now->lane == 13)
        return;
    expect(gemm.waited[wg.now->wave][wg.now->lane], "a load before the wait for the kernel before");
    const bool inside = (uintptr_t)at % unit == 0 && (holds_some(gemm.a, at, bytes) || holds_some(gemm.b, at, bytes));
    expect(inside, "a load of words without an element, or misaligned");
    if (inside)
        std::memcpy(to, at, bytes);
}

/* All waves meet; behind the meeting some are slow. */
inline void join_slowly()
{
    join_workgroup();
    rest_lane((wg.now->wave * 7 + wg.now->met * 5) % 3 ? 0 : 40);
}

inline uint32_t irist_lane() { return wg.now->lane; }

} // namespace

#define IRIS_MAINLOOP_SHAPE_H
#define iris_lane irist_lane
#define iris_wave_group_sync(group) ((void)(group), join_slowly())
#define irisi_launch_wait() (void)(gemm.waited[wg.now->wave][wg.now->lane] = true)
#include IRIST_GEMM_SHAPE

namespace {

/* ---- problems ---------------------------------------------------------------------------------------------------- */

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
            set(*m, element(*m, row, column), random_value(infinite));
}

/*
 * With NaN around it, of which fnuz types have one and whole numbers none; the first element stands anywhere within 16
 * bytes, or where they begin.
 */
void make_matrix(matrix *m, iris_dtype dtype, uint64_t rows, uint64_t columns, uint64_t pad, int infinite, bool aligned)
{
    const uint32_t bytes = (uint32_t)iris_dtype_bytes(dtype);
    m->dtype = dtype, m->rows = rows, m->columns = columns, m->ld = columns + pad;
    m->room.assign(rows * m->ld * bytes + 64,
                   (char)(dtype == IRIS_F8E4M3FNUZ || dtype == IRIS_F8E5M2FNUZ ? 0x80 : 0xff));
    m->first =
        &m->room[(16 - ((uintptr_t)m->room.data() & 15)) % 16 + 16 + (aligned ? 0 : bytes * random_below(16 / bytes))];
    fill_matrix(m, infinite);
}

/* Element types of a problem: of A and B, and of C. */
struct types {
    iris_dtype in, out;
};

/* A random problem, and its plan as runtime/gemm/choose.h fills it in; a pad of -1: any, and A starts anywhere. */
void make_plan(const irisi_gemm_shape &s, types t, uint32_t m, uint32_t n, uint32_t k, int transposed, int pad_a,
               int pad_b, bool aligned)
{
    const bool infinite = random_below(3) == 0; /* some of B: times zeros of A they would make NaN */
    make_matrix(&gemm.a, t.in, m, k, pad_a < 0 ? random_below(9) : (uint64_t)pad_a, infinite ? 0 : -1, pad_a >= 0);
    make_matrix(&gemm.b, t.in, transposed ? n : k, transposed ? k : n, pad_b < 0 ? random_below(9) : (uint64_t)pad_b,
                infinite ? 40 : -1, aligned);
    make_matrix(&gemm.c, t.out, m, n, random_below(9), -1, false);
    std::memset(&plan, 0, sizeof plan);
    plan.m = plan.most_m = plan.region.rows = m, plan.n = plan.region.columns = n, plan.k = k;
    plan.operands.b_transposed = (uint32_t)transposed;
    plan.operands.a = gemm.a.first, plan.operands.b = gemm.b.first, plan.operands.c = gemm.c.first;
    plan.operands.lda = gemm.a.ld, plan.operands.ldb = gemm.b.ld, plan.operands.ldc = gemm.c.ld;
    plan.operands.alpha = 1;
    plan.operands.element = bytes_of(gemm.a), plan.operands.c_element = bytes_of(gemm.c);
    irisi_gemm_route_c(&plan);
    plan.tiling.tile_m = s.tile_m, plan.tiling.tile_n = plan.tiling.unit = s.tile_n;
    plan.tiling.tiles_m = (m + s.tile_m - 1) / s.tile_m, plan.tiling.full_n = (n + s.tile_n - 1) / s.tile_n;
    plan.tiling.positions = plan.tiling.tiles_m * plan.tiling.full_n;
    plan.tiling.cluster = plan.tiling.split_k = 1, plan.tiling.cluster_split_k = s.cluster_split_k;
    plan.tiling.runs[0].tiles = plan.tiling.positions, plan.tiling.runs[0].parts = 1,
    plan.tiling.runs[0].width = plan.tiling.tile_n;
    plan.machine.xcds = plan.machine.slots = 1;
    plan.machine.stage_m = s.stage_m, plan.machine.stage_n = s.stage_n;
    plan.machine.pass_m = gemm.with_comm ? irisi_gemm_pass_m(s.mainloop, s.tile_m) : s.tile_m;
    plan.machine.pitch = (s.stage_n * bytes_of(gemm.c) + 15) / 16 * 16 + 16;
    plan.machine.stage_bytes = (s.stage_m * plan.machine.pitch + 127) / 128 * 128;
    plan.machine.workspace_bytes = gemm.with_comm ? s.workspace_bytes_with_comm : s.workspace_bytes;
}

/* The pieces of all tiles, and an empty stage for each. */
void begin_trial()
{
    iris_tile tile, pass, piece;
    pieces.clear();
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)
        for (uint32_t p = 0; iris_tile_pass(&plan, &tile, p, &pass); p++)
            for (uint32_t i = 0; iris_tile_piece(&plan, &pass, i, &piece); i++)
                pieces.push_back(piece);
    stages.assign(pieces.size(), std::vector<char>(plan.machine.stage_bytes + 2 * MARGIN, (char)0xaa));
    std::memset(gemm.waited, 0, sizeof gemm.waited);
    gemm.c_before = gemm.c.room;
}

/* ---- a lane's share ---------------------------------------------------------------------------------------------- */

/*
 * Each tile, and each piece of it, as the kernels go through them. `meets`: the kernel's waves meet before they stage
 * a piece; those beside communication waves do not.
 */
template <typename accumulators, typename begin_pipe, typename multiply_tile, typename stage_piece>
void walk_tiles(iris_wave_group *group, bool meets, begin_pipe begin, multiply_tile multiply, stage_piece stage)
{
    auto pipe = begin(&plan, wg.shared.data(), plan.machine.workspace_bytes);
    iris_tile tile, pass, piece;
    uint32_t number = 0;
    for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile);)
        for (uint32_t p = 0; iris_tile_pass(&plan, &tile, p, &pass); p++) {
            accumulators acc;
            multiply(&plan, &pass, &pipe, group, &acc);
            for (uint32_t i = 0; iris_tile_piece(&plan, &pass, i, &piece); i++, number++) {
                if (meets)
                    join_workgroup();
                stage(&plan, &piece, i, &acc, group, stages[number].data() + MARGIN);
            }
        }
}

/* walk_tiles with the functions of a loop, as a function: f16_sm80, and f16_sm80_with_comm. */
#define IRIST_WALK(loop, name, meets)                                                                                  \
    [](iris_wave_group *group) {                                                                                       \
        walk_tiles<iris_gemm_acc_##name>(group, meets, iris_gemm_pipe_begin_##loop, iris_gemm_mma_tile_##name,         \
                                         iris_gemm_stage_tile_##name);                                                 \
    }

void begin_share()
{
    iris_wave_group group;
    group_of_all(&group);
    group.counter = gemm.with_comm ? &gemm.counter : nullptr;
    begin_copies();
    if (gemm.kernel_waits)
        irisi_launch_wait();
    gemm.loop(&group);
    end_copies();
}

/* All lanes do their share. */
void run_loop(void (*loop)(iris_wave_group *))
{
    gemm.loop = loop;
    gemm.counter = 0;
    run_lanes(plan.machine.workspace_bytes, begin_share);
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Elements as numbers, row after row. */
inline std::vector<float> numbers_of(const matrix &m)
{
    std::vector<float> numbers;
    for (uint64_t row = 0; row < m.rows; row++)
        for (uint64_t column = 0; column < m.columns; column++)
            numbers.push_back((float)get(m, element(m, row, column)));
    return numbers;
}

/* A piece is the product, in its stage or in C, where what was before it is put back. */
void check_piece(const iris_tile &piece, std::vector<char> &stage, bool staged, const std::vector<float> &a,
                 const std::vector<float> &b)
{
    const uint64_t n = plan.n, k = plan.k;
    const uint32_t bytes = bytes_of(gemm.c);
    for (uint32_t row = 0; row < piece.rows; row++)
        for (uint32_t column = 0; column < piece.cols; column++) {
            const uint64_t i = piece.m0 + row, j = piece.n0 + column;
            char want[8], *at = staged ? iris_tile_row(&plan, &piece, stage.data() + MARGIN, row) + bytes * column
                                       : element(gemm.c, i, j);
            float sum = 0;
            for (uint64_t s = 0; s < k; s++)
                sum += a[i * k + s] * b[plan.operands.b_transposed ? j * k + s : s * n + j];
            set(gemm.c, want, sum);
            expect(std::memcmp(at, want, bytes) == 0, "an element is not the product's");
            if (staged)
                std::memset(at, 0xaa, bytes);
            else
                std::memcpy(at, &gemm.c_before[(size_t)(at - gemm.c.room.data())], bytes);
        }
    for (char byte : stage)
        expect(byte == (char)0xaa, "a staging tile is written beside the piece");
}

/* All pieces; `staged` says of a piece's number whether it was, or C was written. */
template <typename function> void check_pieces(function staged)
{
    const std::vector<float> a = numbers_of(gemm.a), b = numbers_of(gemm.b);
    for (uint32_t i = 0; i < pieces.size(); i++)
        check_piece(pieces[i], stages[i], staged(i), a, b);
    expect(gemm.c.room == gemm.c_before, "C is written beside the tiles");
}

} // namespace

#endif
