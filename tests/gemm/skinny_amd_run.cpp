/* SPDX-License-Identifier: MIT */
/*
 * skinny_amd_run.cpp: AMD's loop for few rows, executed on the host like gemv_run.cpp's: mainloop/amd/skinny.h and
 * gen/mainloop/gemm_skinny_amd.h as the GPU's compiler gets them, on stand-ins for mfma.h.
 *
 * Rows of A and B start at multiples of 16 bytes. Loads must be aligned and hold an element; no wave may touch sums
 * that another writes between two meetings, and the 32 lanes that read some at once must find them in different banks.
 */
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <cstdint>

enum { LANES = 64 };
#define IRIST_WAVES 8
#define IRIS_MAINLOOP_AMD_MFMA_H
#define IRIST_GEMM_SHAPE <iris/mainloop/amd/gemm_shape.h>
#define IRISI_GLOBAL
#include "skinny_gpu.h"

typedef uint32_t irisi_words __attribute__((vector_size(16)));
typedef char *irisi_mfma_lds;

namespace {

/*
 * v_mfma_f32_16x16x32, or two half as deep: a lane has 8 k of line lane % 16 of each operand, and lines 4 * (lane / 16)
 * to that and 3 of the first in column lane % 16 of the second (AMD's matrix instruction calculator).
 */
void carry_out(const product &p)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++) {
            float sum = 0;
            for (uint32_t k = 0; k < 32; k++) {
                const uint32_t a = p.a[k / 8 * 16 + lane / 16 * 4 + e][k % 8 / 2];
                const uint32_t b = p.b[k / 8 * 16 + lane % 16][k % 8 / 2];
                sum += widened((uint16_t)(a >> k % 2 * 16)) * widened((uint16_t)(b >> k % 2 * 16));
            }
            p.c[lane][e] += sum;
        }
}

/* The banks that each lane of a wave finds its sums in, one after the other. */
std::vector<uint8_t> banks[WAVES][LANES];

/* Those that the lanes of half a wave read at once must differ. */
void check_banks()
{
    for (auto &wave : banks)
        for (size_t i = 0; i < wave[0].size(); i++)
            for (uint32_t half = 0; half < LANES; half += LANES / 2) {
                uint32_t seen = 0;
                for (uint32_t lane = half; lane < half + LANES / 2; lane++)
                    seen |= 1u << wave[lane][i];
                expect(seen == UINT32_MAX, "lanes read sums from the same bank");
            }
}

} // namespace

struct irisi_mfma_acc_16 {
    float v[4];
    int operator=(int zero)
    {
        v[0] = v[1] = v[2] = v[3] = 0;
        return zero;
    }
};

static irisi_mfma_acc_16 irisi_mfma_16_f16(const irisi_words *first, const irisi_words *second, uint32_t step,
                                           irisi_mfma_acc_16 acc)
{
    uint32_t a[4], b[4];
    std::memcpy(a, first + step, sizeof a);
    std::memcpy(b, second + step, sizeof b);
    multiply(acc.v, a, 4, b, 4);
    return acc;
}
static irisi_mfma_acc_16 irisi_mfma_16_bf16(const irisi_words *first, const irisi_words *second, uint32_t step,
                                            irisi_mfma_acc_16 acc)
{
    return irisi_mfma_16_f16(first, second, step, acc);
}
static void irisi_mfma_load_run(const char *base, uint32_t offset, uint32_t bytes, uint32_t *to)
{
    to[0] = bytes < 4 ? 0 : to[0];
    read_some(to, base + offset, bytes);
}
static irisi_words irisi_mfma_load(const char *base, uint32_t offset)
{
    irisi_words words = {0, 0, 0, 0};
    read_some(&words, base + offset, 16);
    return words;
}
static float irisi_mfma_read_sum(irisi_mfma_lds lds, uint32_t offset)
{
    float v;
    const size_t at = (size_t)(lds + offset - wg.shared.data());
    touch_shared(at, 4, wg.now->met, false);
    banks[wg.now->wave][wg.now->lane].push_back((uint8_t)(at / 4 % 32));
    std::memcpy(&v, lds + offset, sizeof v);
    return v;
}
static void irisi_mfma_write_sums(irisi_mfma_lds lds, uint32_t offset, irisi_mfma_acc_16 sums)
{
    touch_shared((size_t)(lds + offset - wg.shared.data()), 16, wg.now->met, true);
    std::memcpy(lds + offset, sums.v, sizeof sums.v);
}
static int irisi_mfma_in_image(uint32_t) { return 1; }
static void irisi_mfma_part() {}

#include <iris/gen/mainloop/gemm_skinny_amd.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

/* A lane's share of all tiles, which are staged: stores by lanes would not go through the caches. */
#define WORK(type)                                                                                                     \
    void work_##type(iris_wave_group *group)                                                                           \
    {                                                                                                                  \
        iris_gemm_pipe_##type##_skinny_mfma pipe =                                                                     \
            iris_gemm_pipe_begin_##type##_skinny_mfma(&plan, wg.shared.data(), plan.machine.workspace_bytes);          \
        iris_tile tile;                                                                                                \
        uint32_t tiles = 0;                                                                                            \
        for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile); tiles++) {                             \
            iris_gemm_acc_##type##_skinny_mfma acc;                                                                    \
            if (with_comm)                                                                                             \
                iris_gemm_mma_tile_##type##_skinny_mfma_with_comm(&plan, &tile, &pipe, group, &acc);                   \
            else                                                                                                       \
                iris_gemm_mma_tile_##type##_skinny_mfma(&plan, &tile, &pipe, group, &acc);                             \
            iris_gemm_stage_tile_##type##_skinny_mfma(&plan, &tile, 0, &acc, group, stages[tiles].data() + MARGIN);    \
        }                                                                                                              \
    }
WORK(f16)
WORK(bf16)

void work()
{
    work_of_type(work_f16, work_bf16);
}

/* By tile `which`; rows are padded to 16 bytes, and some more. */
void try_plan(uint32_t which, uint32_t m, uint32_t n, uint32_t k, int transposed)
{
    irisi_gemm_problem q = {};
    q.element = 2, q.m = m, q.n = n, q.k = k, q.workgroups = 1;
    q.tile_m = irisi_skinny_tile_of(which).m, q.tile_n = irisi_skinny_tile_of(which).n;
    const uint32_t columns = transposed ? k : n;
    make_plan(irisi_skinny_gemm_shape(&q, 5300), m, n, k, transposed, (int)((8 - k % 8) % 8 + 8 * random_below(2)),
              (int)((8 - columns % 8) % 8 + 8 * random_below(2)), 1);
    std::snprintf(trial, sizeof trial, "dtype %d, tile %u, %u x %u x %u, B transposed %d, with comm %d",
                  (int)gpu.dtype, which, m, n, k, transposed, with_comm);
    begin_trial();
    for (auto &wave : banks)
        for (auto &lane : wave)
            lane.clear();
    run_lanes(plan.machine.workspace_bytes, work);
    if (made == NONE)
        check_banks();
    check_tiles(1);
}

/* Of any number of tiles, and workers on chiplets: each tile is met once, no chiplet has more to do than needs be. */
uint32_t schedule_chiplets(uint32_t trials)
{
    const uint32_t before = failures;
    for (uint32_t i = 0; i < trials; i++) {
        std::memset(&plan, 0, sizeof plan);
        plan.machine.xcds = 1 + random_below(8);
        plan.m = plan.region.rows = plan.tiling.tile_m = 16, plan.tiling.tile_n = 16, plan.tiling.tiles_m = 1;
        plan.tiling.positions = plan.tiling.full_n = 1 + random_below(i % 2 ? 64 : 900);
        plan.n = plan.region.columns = 16 * plan.tiling.full_n;
        const uint32_t each = 1 + random_below(40), workers = plan.machine.xcds * each;
        const uint32_t most = (plan.tiling.positions + workers - 1) / workers * each;
        const uint32_t fair = plan.tiling.positions > workers
                                  ? most
                                  : (plan.tiling.positions + plan.machine.xcds - 1) / plan.machine.xcds;
        std::vector<uint32_t> met(plan.tiling.positions), busy(plan.machine.xcds);
        std::snprintf(trial, sizeof trial, "%u tiles, %u workers on %u chiplets", plan.tiling.positions, workers,
                      plan.machine.xcds);
        for (uint32_t worker = 0; worker < workers; worker++) {
            iris_tile tile;
            for (iris_tile_begin(&plan, &tile, worker, workers); iris_tile_next(&plan, &tile);)
                met[tile.n0 / 16]++, busy[worker % plan.machine.xcds]++;
        }
        for (uint32_t times : met)
            expect(times == 1, "a tile is not met once");
        for (uint32_t tiles : busy)
            expect(tiles <= fair, "a chiplet has more tiles than its share");
    }
    return failures - before;
}

/* So many random problems, of rows, columns and depths around every edge; how many failed. */
uint32_t run_skinny(uint32_t seed, uint32_t trials)
{
    const uint32_t before = failures;
    random_state = seed;
    for (uint32_t i = 0; i < trials; i++) {
        const uint32_t deep = random_below(4);
        gpu.dtype = random_below(2) ? IRIS_BF16 : IRIS_F16;
        with_comm = random_below(4) == 0;
        const uint32_t k = 1 + random_below(deep == 0 ? 40 : deep == 1 ? 400 : 1900);
        const uint32_t n = 1 + random_below(100), m = 1 + random_below(40);
        try_plan(i % IRISI_SKINNY_TILES, m, n, k, (int)(i / IRISI_SKINNY_TILES % 2));
    }
    return failures - before;
}

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    const uint32_t wrong = run_skinny(1, all ? 1500 : IRIST_SLOW ? 10 : 120) + schedule_chiplets(200);
    std::printf("%u failures\n", wrong);
    return wrong || count_unnoticed(NEXT_WORD, BREAKAGES, run_skinny, [](int broken) { gpu.broken = broken; });
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
