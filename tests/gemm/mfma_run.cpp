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
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
enum { LANES = 64 };
#define IRIST_GEMM_SHAPE <iris/mainloop/amd/gemm_shape.h>
#include "emulated_gemm.h"
#include "amd_instructions.h"

/* ---- in place of meetings of waves ------------------------------------------------------------------------------- */

#define __builtin_amdgcn_fence(order, scope) join_wave()
#define iris_sync_wg join_workgroup
#define iris_sync_wave() (void)wg.now->met++
#define irisi_shared_add irist_shared_add
#define irisi_shared_get irist_shared_get

static void irist_shared_add(uint32_t *p, uint32_t value) { *p += value; }
static uint32_t irist_shared_get(uint32_t *p)
{
    const uint32_t value = *p;
    if ((int32_t)(value - WAVES * (wg.now->met + 1)) < 0)
        pause_lane(p, value);
    return *p;
}

#include <iris/gen/mainloop/gemm_mfma_amd.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

enum { USUAL = 37 };

struct loop {
    uint32_t mainloop;
    bool with_comm;
    iris_dtype in, out; /* of A and B, and of C */
    const char *name;
    void (*work)(iris_wave_group *);
};
#define LOOP(name, id, in, out)                                                                                        \
    {                                                                                                                  \
        IRISI_GEMM_MFMA_##id, false, IRIS_##in, IRIS_##out, #name, IRIST_WALK(name, name, true)                        \
    }
#define BESIDE_COMM(name, id, in, out)                                                                                 \
    {                                                                                                                  \
        IRISI_GEMM_MFMA_##id, true, IRIS_##in, IRIS_##out, #name, IRIST_WALK(name, name##_with_comm, false)            \
    }
const loop loops[] = {
    LOOP(f16_gfx942, GFX942, F16, F16),
    LOOP(bf16_gfx950_small, GFX950_SMALL, BF16, BF16),
#if !IRIST_SLOW
    LOOP(f16_gfx90a, GFX90A, F16, F16),
    BESIDE_COMM(bf16_gfx90a, GFX90A, BF16, BF16),
    LOOP(bf16_gfx90a_small, GFX90A_SMALL, BF16, BF16),
    BESIDE_COMM(f16_gfx90a_small, GFX90A_SMALL, F16, F16),
    LOOP(bf16_gfx942_small, GFX942_SMALL, BF16, BF16),
    BESIDE_COMM(f16_gfx942_small, GFX942_SMALL, F16, F16),
    BESIDE_COMM(bf16_gfx942, GFX942, BF16, BF16),
    LOOP(f16_gfx950, GFX950, F16, F16),
    BESIDE_COMM(bf16_gfx950, GFX950, BF16, BF16),
    BESIDE_COMM(f16_gfx950_small, GFX950_SMALL, F16, F16),
    BESIDE_COMM(bf16_f32_gfx942, GFX942, BF16, F32),
    LOOP(f32_gfx942, GFX942, F32, F32),
    BESIDE_COMM(f32_gfx90a_small, GFX90A_SMALL, F32, F32),
    BESIDE_COMM(f32_gfx950, GFX950, F32, F32),
    LOOP(i8_i32_gfx90a, GFX90A, I8, I32),
    BESIDE_COMM(i8_bf16_gfx942_small, GFX942_SMALL, I8, BF16),
    LOOP(i8_bf16_gfx950, GFX950, I8, BF16),
    BESIDE_COMM(i8_i32_gfx950_small, GFX950_SMALL, I8, I32),
    LOOP(f8e4m3fnuz_bf16_gfx942, GFX942, F8E4M3FNUZ, BF16),
    BESIDE_COMM(f8e5m2fnuz_bf16_gfx942_small, GFX942_SMALL, F8E5M2FNUZ, BF16),
    LOOP(f8e4m3_bf16_gfx950_small, GFX950_SMALL, F8E4M3, BF16),
    BESIDE_COMM(f8e5m2_bf16_gfx950, GFX950, F8E5M2, BF16),
#endif
};

/* A loop and a problem; a tile of m x n where they are not 0. */
struct attempt {
    const loop *l;
    uint32_t m, n, k;
    int transposed;
    uint32_t tile_m, tile_n;
};

void try_loop(const attempt &t)
{
    irisi_gemm_problem q = {};
    const uint32_t e = (uint32_t)iris_dtype_bytes(t.l->in), unit = 16 / e, columns = t.transposed ? t.k : t.n;
    q.element = e, q.c_element = (uint32_t)iris_dtype_bytes(t.l->out), q.accumulator = 4;
    q.tile_m = t.tile_m, q.tile_n = t.tile_n;
    std::snprintf(trial, sizeof trial, "%s%s, %u x %u x %u, B %s, tile %u x %u", t.l->name,
                  t.l->with_comm ? " beside communication waves" : "", t.m, t.n, t.k,
                  t.transposed ? "transposed" : "as it is", t.tile_m, t.tile_n);
    gemm.with_comm = t.l->with_comm;
    gemm.kernel_waits = true;
    make_plan(irisi_mfma_gemm_shape(t.l->mainloop, &q), {t.l->in, t.l->out}, t.m, t.n, t.k, t.transposed,
              (int)((unit - t.k % unit) % unit + unit), (int)((unit - columns % unit) % unit), true);
    begin_trial();
    run_loop(t.l->work);
    check_pieces([](uint32_t) { return true; });
}

/* Depths shorter and longer than a slab and than a turn of the ring, multiples of it and not. All of it, or a part. */
std::vector<attempt> attempts(bool all)
{
    static const uint32_t depths[] = {70, 9, 129, 64, 200, 128, 33, 1};
    std::vector<attempt> made_up;
    for (const loop &l : loops) /* others than 16-bit elements are not n_major */
        for (int transposed = iris_dtype_bytes(l.in) != 2; transposed < 2; transposed++)
            for (uint32_t i = IRIST_SLOW && transposed != (int)(&l - loops); i < (all ? 8u : 1u); i++) {
                const uint32_t n = (uint32_t)made_up.size();
                const irisi_gemm_extent most = irisi_gemm_largest_tile(l.mainloop, 2);
                const bool cut = n % 4 == 3; /* into smaller tiles, as a caller may ask for */
                made_up.push_back({&l, most.m + 37, i % 2 ? most.n + 5 : 99, depths[all ? i : n % 8], transposed,
                                   cut ? 100u : 0, cut ? 68u : 0});
            }
    return made_up;
}

void run_mfma(uint32_t seed, uint32_t trials)
{
    const std::vector<attempt> some = attempts(trials > USUAL);
    random_state = seed;
    for (uint32_t i = 0; i < trials && i < some.size(); i++)
        try_loop(some[i]);
}

/* A loop with direct loads is one that waits. */
inline void try_mistaken(mistake m) { try_loop({&loops[m == FORGET_A_WAIT], 40, 99, 130, 0, 0, 0}); }

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_mfma,    USUAL, 2, 8 * USUAL, nullptr, {PASS_A_MEETING, FORGET_A_WAIT, READ_BEYOND},
                       try_mistaken};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
