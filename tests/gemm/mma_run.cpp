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
enum { LANES = 32 };
#define IRIST_GEMM_SHAPE <iris/mainloop/nvidia/gemm_shape.h>
#include "emulated_gemm.h"
#include "nvidia_instructions.h"

static double irisi_load_double(uint32_t from)
{
    double v;
    read_shared(&v, from, 8);
    return v;
}
static void irisi_load_quad(float *v, uint32_t from) { read_shared(v, from, 16); }
static void irisi_load_two(float *v, uint32_t from) { read_shared(v, from, 8); }

/* mma.m8n8k4 of doubles, twice (PTX ISA). */
struct mma_doubles {
    double *d, first[2], second;
};
static void carry_out_doubles(mma_doubles *lanes)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++)
            for (uint32_t k = 0; k < 4; k++)
                lanes[lane].d[e] += lanes[lane / 4 * 4 + k].first[e / 2] * lanes[(lane % 4 * 2 + e % 2) * 4 + k].second;
}

struct irisi_mma_operands_64 {
    double a[2][2], b[4];
};
static void irisi_mma_f64(double *c, const irisi_mma_operands_64 *o, uint32_t m, uint32_t n)
{
    wave_instruction(mma_doubles{c, {o->a[m][0], o->a[m][1]}, o->b[n]}, carry_out_doubles);
}

#include <iris/gen/mainloop/gemm_sm80_nvidia.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

enum { USUAL = 40 };

struct loop {
    iris_dtype dtype;
    bool with_comm;
    void (*work)(iris_wave_group *);
};
#define LOOP(type, TYPE)                                                                                               \
    {                                                                                                                  \
        IRIS_##TYPE, false, IRIST_WALK(type##_sm80, type##_sm80, true)                                                 \
    }
#define BESIDE_COMM(type, TYPE)                                                                                        \
    {                                                                                                                  \
        IRIS_##TYPE, true, IRIST_WALK(type##_sm80, type##_sm80_with_comm, false)                                       \
    }
const loop loops[] = {LOOP(f16, F16),        BESIDE_COMM(bf16, BF16), LOOP(f64, F64), BESIDE_COMM(f16, F16),
                      BESIDE_COMM(f64, F64), LOOP(bf16, BF16),        LOOP(f32, F32), BESIDE_COMM(f32, F32)};

/* A loop and a problem; a tile of m x n where they are not 0. */
struct attempt {
    const loop *l;
    const char *arch;
    uint32_t m, n, k;
    int n_major;
    uint32_t tile_m, tile_n;
};

void try_loop(const attempt &t)
{
    irisi_gemm_problem q = {};
    const uint32_t e = (uint32_t)iris_dtype_bytes(t.l->dtype), unit = 16 / e, columns = t.n_major ? t.n : t.k;
    q.element = e, q.m = t.m, q.n = t.n, q.workgroups = 1, q.tile_m = t.tile_m, q.tile_n = t.tile_n;
    std::snprintf(trial, sizeof trial, "dtype %d%s, %s, %u x %u x %u, B n_major %d, tile %u x %u", (int)t.l->dtype,
                  t.l->with_comm ? " beside communication waves" : "", t.arch, t.m, t.n, t.k, t.n_major, t.tile_m,
                  t.tile_n);
    gemm.with_comm = t.l->with_comm;
    gemm.kernel_waits = gemm.to_the_byte = true;
    make_plan(irisi_mma_gemm_shape(t.arch, &q), {t.l->dtype, t.l->dtype}, t.m, t.n, t.k, !t.n_major,
              (int)((unit - t.k % unit) % unit + unit), (int)((unit - columns % unit) % unit), true);
    begin_trial();
    run_loop(t.l->work);
    check_pieces([](uint32_t) { return true; });
}

/*
 * Depths shorter and longer than a slab and than the ring, multiples of it and not; tiles as chosen, and asked for. All
 * of it, or a part that has each.
 */
std::vector<attempt> attempts(bool all)
{
    static const uint32_t depths[] = {70, 9, 129, 64, 200, 128, 33, 1};
    static const uint32_t tiles[][2] = {{0, 0}, {64, 64}, {100, 72}, {128, 256}, {24, 40}};
    std::vector<attempt> made_up;
    for (const loop &l : loops)
        for (int n_major = IRIST_SLOW; n_major < 2; n_major++)
            for (uint32_t t = all || IRIST_SLOW ? 0 : (uint32_t)n_major; t < (IRIST_SLOW ? 1 : 5); t += all ? 1 : 2)
                for (uint32_t i = 0; i < (all ? 8u : 1u); i++) {
                    const uint32_t n = (uint32_t)made_up.size(), k = depths[all ? i : (n + t) % 8];
                    const uint32_t half = l.dtype == IRIS_F64 ? 2 : 1, narrow = iris_dtype_bytes(l.dtype) > 2 ? 2 : 1;
                    made_up.push_back({&l, n % 2 ? "sm_90" : "sm_86", i % 2 ? 165u : 53u, i % 3 ? 99u : 261u, k,
                                       n_major, tiles[t][0] / half, tiles[t][1] / narrow});
                }
    return made_up;
}

void run_mma(uint32_t seed, uint32_t trials)
{
    const std::vector<attempt> some = attempts(trials > USUAL);
    random_state = seed;
    for (uint32_t i = 0; i < trials && i < some.size(); i++)
        try_loop(some[i]);
}

/* Each mistake in another loop. */
inline void try_mistaken(mistake m) { try_loop({&loops[m - PASS_A_MEETING], "sm_86", 40, 99, 130, 0, 0, 0}); }

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_mma, USUAL, 3, 640, nullptr, {PASS_A_MEETING, FORGET_A_WAIT, READ_BEYOND}, try_mistaken};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
