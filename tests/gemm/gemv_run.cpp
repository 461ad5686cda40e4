/* SPDX-License-Identifier: MIT */
/*
 * gemv_run.cpp: NVIDIA's loop for up to 8 rows, executed on the host: mainloop/nvidia/gemv.h, gemv_join.h and
 * gen/mainloop/gemm_gemv_nvidia.h as the GPU's compiler gets them, on stand-ins for mma_instructions.h and cluster.h.
 *
 * All lanes walk the tiles of a ragged problem, of which A and B start at any element and are surrounded by NaN; each
 * is a fiber that runs until a product or a meeting, waves in an order that changes every time. Every tile, staged or
 * written by lanes, must be the product and touch nothing else; every word that is read is aligned and has a byte of
 * the matrix. Then each part is broken in turn, and that must be noticed.
 *
 * Copies to shared memory arrive when they are waited for and no sooner; two waves that touch the same bytes between
 * two meetings are noticed. Splits of K are computed one after the other: the last one's workgroup finds what the
 * others have given, and expects as many bytes.
 */
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <cstdint>
#include <sys/mman.h>

enum { LANES = 32 };
#define IRIS_ARCH_NVIDIA_CLUSTER_H
#define IRIST_GEMM_SHAPE <iris/mainloop/nvidia/gemm_shape.h>
#include "emulated_gemm.h"
#include "nvidia_instructions.h"

static uint32_t __funnelshift_r(uint32_t low, uint32_t high, uint32_t bits)
{
    bits = made == OTHER_SHIFT ? 16 - bits : bits;
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits % 32);
}

namespace {

/* What a workgroup gives the last one. */
struct gift {
    uint32_t to;
    float v;
};

struct {
    std::vector<gift> gifts;
    uint32_t split_k, k_split, expected;
    uint32_t workgroup, workgroups; /* which of them runs, and how many there are */
    bool joined;
} gemv;

} // namespace

static void irisi_read_chunk(uint32_t *w, const void *from, uint32_t there)
{
    std::memset(w, 0, 16);
    if (there)
        read_global(w, from, 16, 16);
}
static uint32_t irisi_load_word(uint32_t from)
{
    uint32_t v;
    read_shared(&v, from, 4);
    return v;
}
static uint32_t irisi_load_short(uint32_t from)
{
    uint16_t v;
    read_shared(&v, from, 2);
    return v;
}
static void irisi_load_words(uint32_t *w, uint32_t from) { read_shared(w, from, 16); }
static void irisi_store_short(uint32_t to, uint32_t v)
{
    const uint16_t bits = (uint16_t)v;
    write_shared(to, &bits, 2);
}

/* The cluster's. */
static uint32_t irisi_cluster_at(uint32_t at, uint32_t rank)
{
    expect(rank + 1 == gemv.split_k && gemv.k_split < rank, "given to another workgroup than the last split's");
    return at;
}
static void irisi_cluster_arrive() {}
static void irisi_cluster_await() {}
static void irisi_cluster_give(uint32_t to, uint32_t, float v)
{
    if (made != LOSE_A_GIFT || gemv.gifts.size() != 5)
        gemv.gifts.push_back({to, v});
}
static void irisi_mbar_init(uint32_t bar, uint32_t) { expect(bar % 8 == 0, "a barrier is misaligned"); }
static void irisi_mbar_made() {}
static void irisi_mbar_expect(uint32_t, uint32_t bytes) { gemv.expected = bytes; }
static void irisi_mbar_wait_stored(uint32_t, uint32_t)
{
    expect(gemv.k_split + 1 == gemv.split_k, "another workgroup than the last split's waits");
    for (const gift &g : gemv.gifts)
        if (!gemv.joined)
            std::memcpy(&wg.shared[g.to], &g.v, 4);
    if (!gemv.joined)
        expect(gemv.expected == 4 * gemv.gifts.size(), "not as many bytes are given as are expected");
    gemv.joined = true;
}

#include <iris/gen/mainloop/gemm_gemv_nvidia.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

/* Lanes write every second tile to C themselves, but beside communication waves none. */
bool is_staged(uint32_t tile) { return gemm.with_comm || tile % 2; }

/* A lane's share of a workgroup; of a GEMM alone whose K is cut one tile, else all of them. */
#define WORK(type)                                                                                                     \
    void work_##type(iris_wave_group *group)                                                                           \
    {                                                                                                                  \
        iris_gemm_pipe_##type##_gemv pipe =                                                                            \
            iris_gemm_pipe_begin_##type##_gemv(&plan, wg.shared.data(), plan.machine.workspace_bytes);                 \
        const irisi_tile_schedule schedule = irisi_tile_schedule_all(&plan, gemv.workgroup, gemv.workgroups);          \
        iris_tile tile;                                                                                                \
        for (irisi_tile_begin_schedule(&plan, &tile, &schedule); irisi_tile_next_even(&plan, &tile, &schedule);) {     \
            iris_gemm_acc_##type##_gemv acc;                                                                           \
            gemv.k_split = tile.k_split;                                                                               \
            if (gemm.with_comm)                                                                                        \
                iris_gemm_mma_tile_##type##_gemv_with_comm(&plan, &tile, &pipe, group, &acc);                          \
            else                                                                                                       \
                iris_gemm_mma_tile_##type##_gemv(&plan, &tile, &pipe, group, &acc);                                    \
            if (tile.k_split + 1 < plan.tiling.split_k)                                                                \
                continue;                                                                                              \
            if (is_staged(tile.index))                                                                                 \
                iris_gemm_stage_tile_##type##_gemv(&plan, &tile, 0, &acc, group, stages[tile.index].data() + MARGIN);  \
            else                                                                                                       \
                irisi_gemm_leave_##type##_gemv(nullptr, &plan, &tile, &acc, group, nullptr, nullptr, 0);               \
        }                                                                                                              \
    }
WORK(f16)
WORK(bf16)

void try_plan(uint32_t split_k)
{
    std::snprintf(trial, sizeof trial, "dtype %d, %u splits, tile %u x %u, %u x %u x %u, ldb %llu, n_major %u, comm %d",
                  (int)gemm.a.dtype, split_k, plan.tiling.tile_m, plan.tiling.tile_n, plan.m, plan.n, plan.k,
                  (unsigned long long)plan.operands.ldb, plan.operands.b_transposed, gemm.with_comm);
    begin_trial();
    const uint32_t tiles = plan.tiling.positions;
    gemv.split_k = plan.tiling.split_k = split_k;
    for (plan.tiling.split_k_shift = 0; 1u << plan.tiling.split_k_shift < split_k;)
        plan.tiling.split_k_shift++;
    plan.tiling.positions *= split_k;
    gemv.workgroups = split_k > 1 ? plan.tiling.positions : 1;
    for (gemv.workgroup = 0; gemv.workgroup < gemv.workgroups; gemv.workgroup++) {
        if (gemv.workgroup % split_k == 0)
            gemv.gifts.clear(), gemv.expected = 0;
        gemv.joined = false;
        run_loop(gemm.a.dtype == IRIS_F16 ? work_f16 : work_bf16);
    }
    plan.tiling.split_k = 1, plan.tiling.split_k_shift = 0, plan.tiling.positions = tiles;
    check_pieces(is_staged);
}

irisi_gemm_shape shape_of(uint32_t m, uint32_t n, uint32_t k, int transposed, int aligned, uint32_t width,
                          uint32_t split_k)
{
    irisi_gemm_problem q = {};
    q.element = 2, q.m = m, q.n = n, q.k = k, q.workgroups = 1, q.b_transposed = (uint32_t)transposed;
    q.b_unaligned = !aligned, q.mainloops = UINT32_MAX, q.split_k = split_k, q.tile_n = width;
    return irisi_gemv_gemm_shape(&q);
}

/* So many random problems, of rows, columns and depths around every edge. */
void run_gemv(uint32_t seed, uint32_t trials)
{
    random_state = seed;
    for (uint32_t i = 0; i < trials; i++) {
        const int transposed = (int)(i % 2), aligned = random_below(3) == 0;
        const uint32_t deep = random_below(4), few = random_below(2);
        const uint32_t m = few ? 1 + random_below(3) : 1 + random_below(17), n = 1 + random_below(150);
        const uint32_t k = 1 + random_below(deep == 0 ? 140 : deep == 1 ? 900 : few ? 2500 : 2200);
        const uint64_t columns = transposed ? k : n, pad = aligned ? (8 - columns % 8) % 8 : 0;
        const iris_dtype dtype = random_below(2) ? IRIS_BF16 : IRIS_F16;
        gemm.with_comm = random_below(4) == 0;
        const uint32_t split_k = gemm.with_comm ? 1 : 1u << random_below(4);
        const uint32_t width = transposed && aligned ? 16u << random_below(4) : 0;
        const irisi_gemm_shape s = shape_of(m, n, k, transposed, aligned, width, split_k);
        make_plan(s, {dtype, dtype}, m, n, k, transposed, -1, aligned ? (int)pad : -1, aligned);
        for (uint32_t fewer = s.cluster_split_k; fewer > 0; fewer /= 2)
            try_plan(fewer);
    }
}

/* A matrix whose rows are so far apart that offsets take more than 32 bits, where the system lends the addresses. */
bool spread_matrix(matrix *m, void **lent, size_t *bytes)
{
    m->ld = ((uint64_t)1 << (m->rows > 64 ? 27 : 31)) + 2 * random_below(8) + 1;
    *bytes = 2 * (m->rows * m->ld + 64);
    *lent = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m->first = *lent == MAP_FAILED ? nullptr : (char *)*lent + 18;
    if (m->first)
        fill_matrix(m, -1);
    return m->first != nullptr;
}

/* Rows of A and B that are gigabytes apart, in both layouts, by one split and two. */
void run_spread()
{
    gemm.with_comm = false;
    for (uint32_t i = 0; i < 4; i++) {
        void *lent[2];
        size_t bytes[2];
        make_plan(shape_of(11, 37, 400, (int)(i % 2), 0, 0, 1 + i / 2), {IRIS_BF16, IRIS_BF16}, 11, 37, 400,
                  (int)(i % 2), -1, -1, false);
        const bool a = spread_matrix(&gemm.a, &lent[0], &bytes[0]), b = spread_matrix(&gemm.b, &lent[1], &bytes[1]);
        plan.operands.a = gemm.a.first, plan.operands.b = gemm.b.first;
        plan.operands.lda = gemm.a.ld, plan.operands.ldb = gemm.b.ld;
        if (a && b)
            try_plan(1 + i / 2);
        else
            std::printf("skipped: no addresses for rows that are gigabytes apart\n");
        if (a)
            munmap(lent[0], bytes[0]);
        if (b)
            munmap(lent[1], bytes[1]);
    }
}

inline void try_mistaken(mistake) { run_gemv(77, 10); }

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_gemv,
                       80,
                       8,
                       1000,
                       run_spread,
                       {PASS_A_MEETING, FORGET_A_WAIT, READ_BEYOND, LOSE_WORDS, OTHER_SHIFT, LOSE_A_GIFT},
                       IRIST_SLOW ? nullptr : try_mistaken};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
