/* SPDX-License-Identifier: MIT */
/*
 * unaligned_b_model.cpp: how sm_90a's loop for few rows reads a B whose rows start anywhere, on the host:
 * mainloop/nvidia/sm90a_unaligned_b.h as the GPU's compiler gets it, on stand-ins for mma_instructions.h, lane after
 * lane.
 *
 * For random bands, tiles, leading dimensions and first elements, of both layouts, each lane's registers must hold the
 * pairs of B that the first operand of wgmma in registers has there (PTX ISA), and zeros behind the end of K; every
 * word of 16 bytes that is read has a byte of B, and every word that is written belongs to the run. Then each part is
 * broken in turn, and that must be noticed.
 */
#include <iris/arch/select.h>

#if defined(IRIS_TARGET_HOST)
#include <cstdio>
#include <cstring>
#include <vector>

#include <iris/gemm/plan.h>

#define irisi_tile_cuts() 1 /* as on these devices */
#include <iris/gemm/scheduler.h>

#define IRIS_MAINLOOP_SHAPE_H /* not this platform's shape, but: */
#include <iris/mainloop/nvidia/gemm_shape.h>

namespace {

enum { RIGHT, NO_LAST_WORD, NO_END_OF_K, OTHER_SHIFT, NEXT_WORD, BREAKAGES };

struct {
    std::vector<unsigned char> shared;
    const char *first, *end; /* of B */
    uint32_t lane, written;
    int breakage;
    unsigned wrong;
} gpu;

void note(bool right) { gpu.wrong += !right; }

} // namespace

/* ---- in place of arch/nvidia/mma_instructions.h ------------------------------------------------------------------ */

#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define iris_lane() gpu.lane

static void irisi_copy_chunk(uint32_t to, const void *from, uint32_t bytes)
{
    const char *word = (const char *)from + (gpu.breakage == NEXT_WORD ? 16 : 0);
    note((uintptr_t)word % 16 == 0 && to % 16 == 0 && bytes <= 16 && to + 16 <= gpu.shared.size());
    note(word + 16 > gpu.first && word < gpu.end);
    if (gpu.wrong > 0 || (gpu.breakage == NO_LAST_WORD && to % IRISI_GEMM_LINE == 128))
        return;
    std::memcpy(&gpu.shared[to], word, bytes);
    if (gpu.breakage != NO_END_OF_K)
        std::memset(&gpu.shared[to] + bytes, 0, 16 - bytes);
    gpu.written++;
}
static void irisi_copy_whole_chunk(uint32_t to, const void *from) { irisi_copy_chunk(to, from, 16); }

static uint32_t load(uint32_t from, uint32_t bytes)
{
    uint32_t v = 0;
    const bool inside = from % bytes == 0 && from + bytes <= gpu.shared.size();
    note(inside);
    if (inside)
        std::memcpy(&v, &gpu.shared[from], bytes);
    return v;
}
static uint32_t irisi_load_word(uint32_t from) { return load(from, 4); }
static uint32_t irisi_load_short(uint32_t from) { return load(from, 2); }
static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits)
{
    bits = gpu.breakage == OTHER_SHIFT ? 16 - bits : bits;
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits % 32);
}

#include <iris/mainloop/nvidia/sm90a_unaligned_b.h>

namespace {

uint64_t state;
uint32_t draw(uint32_t most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % most;
}

/* One tile's blocks; `b`: where element (k, n) is. */
void check_tile(const iris_gemm_plan &plan, const iris_tile &tile)
{
    const uint32_t runs = (tile.cols + 63) / 64;
    const uint16_t *b = (const uint16_t *)plan.operands.b;
    for (uint32_t k0 = 0; k0 < plan.k && gpu.wrong == 0; k0 += 64) {
        gpu.shared.assign(runs * IRISI_GEMM_UNALIGNED_B_RUN, 0xff);
        for (gpu.lane = 0; gpu.lane < 32; gpu.lane++) {
            const irisi_gemm_unaligned_b lines = irisi_gemm_unaligned_b_of(&plan, &tile);
            irisi_gemm_unaligned_b_block(&plan, &tile, &lines, 0, k0, runs);
        }
        for (uint32_t wave = 0; wave < 4 * runs; wave++)
            for (gpu.lane = 0; gpu.lane < 32; gpu.lane++) {
                const irisi_gemm_held held = irisi_gemm_held_of(&plan, &tile, wave);
                uint32_t v[4][4];
                irisi_gemm_held_take(&held, 0, !plan.operands.b_transposed, v);
                for (uint32_t e = 0; e < 32; e++) { /* product, register, half of it */
                    const uint32_t j = e / 2 % 4, n = wave * 16 + gpu.lane / 4 + j % 2 * 8;
                    const uint32_t k = k0 + e / 8 * 16 + j / 2 * 8 + gpu.lane % 4 * 2 + e % 2;
                    const uint64_t at = plan.operands.b_transposed ? (tile.n0 + n) * plan.operands.ldb + k
                                                                   : k * plan.operands.ldb + tile.n0 + n;
                    if (n < tile.cols)
                        note((uint16_t)(v[e / 8][j] >> e % 2 * 16) == (k < plan.k ? b[at] : 0));
                }
            }
    }
}

/* A random problem and one of its tiles. */
void check_case(uint64_t seed, int breakage)
{
    iris_gemm_plan plan;
    iris_tile tile;
    state = seed;
    std::memset(&plan, 0, sizeof plan);
    std::memset(&tile, 0, sizeof tile);
    plan.k = 1 + draw(200), plan.region.columns = 1 + draw(300), plan.operands.b_transposed = draw(2);
    const uint64_t rows = plan.operands.b_transposed ? plan.region.columns : plan.k,
                   cols = plan.operands.b_transposed ? plan.k : plan.region.columns;
    plan.operands.ldb = cols + (draw(2) ? draw(20) : 0);
    const uint64_t count = (rows - 1) * plan.operands.ldb + cols;
    std::vector<uint64_t> room(count / 4 + 16); /* 8 bytes each, and the first element at any place within 16 */
    uint16_t *all = (uint16_t *)(((uintptr_t)room.data() + 15) & ~(uintptr_t)15);
    const uint32_t place = 8 + draw(8);
    for (uint64_t i = 0; i < count + 24; i++)
        all[i] = i < place || i >= place + count ? 0x7fff : (uint16_t)(1 + draw(60000));
    plan.operands.b = all + place;
    gpu.first = (const char *)plan.operands.b, gpu.end = gpu.first + 2 * count, gpu.breakage = breakage, gpu.wrong = 0;
    const uint32_t width = draw(4) ? 64 << draw(2) : 1 + draw(IRISI_GEMM_UNALIGNED_B_N);
    tile.n0 = draw((plan.region.columns + width - 1) / width) * width;
    tile.cols = plan.region.columns - tile.n0 < width ? plan.region.columns - tile.n0 : width;
    check_tile(plan, tile);
}

} // namespace

int main()
{
    enum { CASES = 3000 };
    unsigned failed = 0;
    for (int breakage = RIGHT; breakage < BREAKAGES; breakage++) {
        unsigned cases = 0;
        for (uint64_t i = 0; i < (breakage ? CASES / 10 : CASES); i++) {
            check_case(0x6c696e6573u + 7919 * i, breakage);
            cases += gpu.wrong > 0;
        }
        const bool fine = breakage == RIGHT ? cases == 0 && gpu.written > 0 : cases > 0;
        std::printf("%s - breakage %d: %u cases are noticed\n", fine ? "ok" : "not ok", breakage, cases);
        failed += !fine;
    }
    return failed > 0;
}
#else
int main() { return 0; }
#endif
