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
#define IRIST_GEMM_SHAPE <iris/mainloop/amd/gemm_shape.h>
#include "emulated_gemm.h"
#include "amd_instructions.h"

namespace {

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

static float irisi_mfma_read_sum(irisi_mfma_lds lds, uint32_t offset)
{
    float v;
    const uint32_t at = shared_at(lds + offset);
    read_shared(&v, at, 4);
    banks[wg.now->wave][wg.now->lane].push_back((uint8_t)(at / 4 % 32));
    return v;
}
static void irisi_mfma_write_sums(irisi_mfma_lds lds, uint32_t offset, irisi_mfma_acc_16 sums)
{
    write_shared(shared_at(lds + offset), sums.v, sizeof sums.v);
}

#include <iris/gen/mainloop/gemm_skinny_amd.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

/* Loops by element type and whether communication waves run beside; all tiles are staged. */
void (*const loops[2][2])(iris_wave_group *) = {{IRIST_WALK(f16_skinny_mfma, f16_skinny_mfma, false),
                                                 IRIST_WALK(f16_skinny_mfma, f16_skinny_mfma_with_comm, false)},
                                                {IRIST_WALK(bf16_skinny_mfma, bf16_skinny_mfma, false),
                                                 IRIST_WALK(bf16_skinny_mfma, bf16_skinny_mfma_with_comm, false)}};

/* By tile `which`; rows are padded to 16 bytes, and some more. */
void try_plan(uint32_t which, iris_dtype dtype, uint32_t m, uint32_t n, uint32_t k, int transposed)
{
    irisi_gemm_problem q = {};
    q.element = 2, q.m = m, q.n = n, q.k = k, q.workgroups = 1;
    q.tile_m = irisi_skinny_tile_of(which).m, q.tile_n = irisi_skinny_tile_of(which).n;
    const uint32_t columns = transposed ? k : n;
    make_plan(irisi_skinny_gemm_shape(&q, 5300), {dtype, dtype}, m, n, k, transposed,
              (int)((8 - k % 8) % 8 + 8 * random_below(2)), (int)((8 - columns % 8) % 8 + 8 * random_below(2)), true);
    std::snprintf(trial, sizeof trial, "dtype %d, tile %u, %u x %u x %u, B transposed %d, with comm %d", (int)dtype,
                  which, m, n, k, transposed, gemm.with_comm);
    begin_trial();
    for (auto &wave : banks)
        for (auto &lane : wave)
            lane.clear();
    run_loop(loops[dtype == IRIS_BF16][gemm.with_comm]);
    if (made == NONE)
        check_banks();
    check_pieces([](uint32_t) { return true; });
}

/* Of any number of tiles, and workers on chiplets: each tile is met once, no chiplet has more to do than needs be. */
void schedule_chiplets()
{
    for (uint32_t i = 0; i < 200; i++) {
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
}

/* So many random problems, of rows, columns and depths around every edge. */
void run_skinny(uint32_t seed, uint32_t trials)
{
    random_state = seed;
    for (uint32_t i = 0; i < trials; i++) {
        const uint32_t deep = random_below(4);
        const iris_dtype dtype = random_below(2) ? IRIS_BF16 : IRIS_F16;
        gemm.with_comm = random_below(4) == 0;
        const uint32_t k = 1 + random_below(deep == 0 ? 40 : deep == 1 ? 400 : 1900);
        const uint32_t n = 1 + random_below(100), m = 1 + random_below(40);
        try_plan(i % IRISI_SKINNY_TILES, dtype, m, n, k, (int)(i / IRISI_SKINNY_TILES % 2));
    }
}

inline void try_mistaken(mistake) { run_skinny(77, 10); }

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_skinny,
                       120,
                       10,
                       1500,
                       schedule_chiplets,
                       {PASS_A_MEETING, READ_BEYOND, LOSE_WORDS},
                       IRIST_SLOW ? nullptr : try_mistaken};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
