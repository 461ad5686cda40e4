/* SPDX-License-Identifier: MIT */
/*
 * skinny_run.cpp: NVIDIA's loop for few rows, executed on the host: mainloop/nvidia/skinny.h and
 * gen/mainloop/gemm_skinny_nvidia.h as the GPU's compiler gets them, on stand-ins for mma_instructions.h.
 *
 * All lanes walk the tiles of a ragged problem, of which A and B start at any element and are surrounded by NaN; each
 * is a fiber that runs until a product or a meeting, waves in an order that changes every time. Every tile, staged or
 * written by lanes, must be the product and touch nothing else; every word that is read is aligned and has a byte of
 * the matrix. Then each part is broken in turn, and that must be noticed.
 */
#include <iris/gemm/tile.h>

#if defined(IRIS_TARGET_HOST)
#include <sys/mman.h>

#define IRIST_WAVES 12
#include "skinny_nvidia.h"

static void irisi_read_words(uint32_t *w, const void *from, uint32_t bytes, uint32_t there)
{
    if (there)
        read_some(w, from, bytes);
}

#include <iris/gen/mainloop/gemm_skinny_nvidia.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

/* A lane's share: every other tile goes into C by lanes, the rest is staged, as the kernels do it. */
#define WORK(type)                                                                                                     \
    void work_##type(iris_wave_group *group)                                                                           \
    {                                                                                                                  \
        iris_gemm_pipe_##type##_skinny pipe =                                                                          \
            iris_gemm_pipe_begin_##type##_skinny(&plan, wg.shared.data(), plan.workspace_bytes);                       \
        iris_tile tile;                                                                                                \
        uint32_t tiles = 0;                                                                                            \
        for (iris_tile_begin(&plan, &tile, 0, 1); iris_tile_next(&plan, &tile); tiles++) {                             \
            iris_gemm_acc_##type##_skinny acc;                                                                         \
            if (with_comm)                                                                                             \
                iris_gemm_mma_tile_##type##_skinny_with_comm(&plan, &tile, &pipe, group, &acc);                        \
            else                                                                                                       \
                iris_gemm_mma_tile_##type##_skinny(&plan, &tile, &pipe, group, &acc);                                  \
            if (with_comm || tiles % 2)                                                                                \
                iris_gemm_stage_tile_##type##_skinny(&plan, &tile, 0, &acc, group, stages[tiles].data() + MARGIN);     \
            else                                                                                                       \
                irisi_gemm_leave_##type##_skinny(nullptr, &plan, &tile, &acc, group, nullptr, nullptr, 0);             \
        }                                                                                                              \
    }
WORK(f16)
WORK(bf16)

void work()
{
    iris_wave_group group = wave_group_of_all();
    if (gpu.dtype == IRIS_F16)
        work_f16(&group);
    else
        work_bf16(&group);
}

irisi_gemm_shape shape_of(uint32_t which, uint32_t m, uint32_t n, uint32_t k)
{
    irisi_gemm_problem q = {};
    q.element = 2, q.m = m, q.n = n, q.k = k, q.workgroups = 1;
    q.tile_m = irisi_skinny_tile_of(which).m, q.tile_n = irisi_skinny_tile_of(which).n;
    return irisi_skinny_gemm_shape(&q);
}

void try_plan(uint32_t which, int spread)
{
    std::snprintf(trial, sizeof trial, "dtype %d, tile %u, %u x %u x %u, B transposed %u, with comm %d, spread %d",
                  (int)gpu.dtype, which, plan.m, plan.n, plan.k, plan.b_transposed, with_comm, spread);
    begin_trial();
    run_lanes(plan.workspace_bytes, work);
    check_tiles();
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
        const uint32_t k = 1 + random_below(deep == 0 ? 40 : deep == 1 ? 400 : 900);
        const uint32_t n = 1 + random_below(70), m = 1 + random_below(40);
        make_plan(shape_of(i % IRISI_SKINNY_TILES, m, n, k), m, n, k, (int)(i / IRISI_SKINNY_TILES % 2), -1, -1, 0);
        try_plan(i % IRISI_SKINNY_TILES, 0);
    }
    for (uint32_t i = 0; i < IRISI_SKINNY_TILES; i++) { /* a wave's last step is shorter than those before it */
        gpu.dtype = IRIS_BF16, gpu.infinite = 1, with_comm = 0;
        make_plan(shape_of(i, 5, 70, 1510), 5, 70, 1510, 0, -1, -1, 0);
        try_plan(i, 0);
        gpu.infinite = 0;
    }
    return failures - before;
}

/* A matrix whose rows are so far apart that offsets take more than 32 bits, where the system lends the addresses. */
bool spread_matrix(matrix *m, uint64_t rows, uint64_t columns, void **lent, size_t *bytes)
{
    m->rows = rows, m->columns = columns, m->ld = ((uint64_t)1 << (rows > 64 ? 27 : 31)) + 2 * random_below(8) + 1;
    *bytes = 2 * (rows * m->ld + 64);
    *lent = mmap(nullptr, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    m->first = *lent == MAP_FAILED ? nullptr : (uint16_t *)*lent + 9;
    if (m->first)
        fill_matrix(m, -1);
    return m->first != nullptr;
}

/* By every tile, rows of A and B that are gigabytes apart; how many failed. */
uint32_t run_spread()
{
    const uint32_t before = failures;
    for (uint32_t i = 0; i < 2 * IRISI_SKINNY_TILES; i++) {
        void *lent[2];
        size_t bytes[2];
        make_plan(shape_of(i % IRISI_SKINNY_TILES, 11, 37, 400), 11, 37, 400, (int)(i / IRISI_SKINNY_TILES), -1, -1, 0);
        const bool a = spread_matrix(&gpu.a, gpu.a.rows, gpu.a.columns, &lent[0], &bytes[0]);
        const bool b = spread_matrix(&gpu.b, gpu.b.rows, gpu.b.columns, &lent[1], &bytes[1]);
        plan.a = gpu.a.first, plan.b = gpu.b.first, plan.lda = gpu.a.ld, plan.ldb = gpu.b.ld;
        if (a && b)
            try_plan(i % IRISI_SKINNY_TILES, 1);
        else
            std::printf("skipped: no addresses for rows that are gigabytes apart\n");
        if (a)
            munmap(lent[0], bytes[0]);
        if (b)
            munmap(lent[1], bytes[1]);
    }
    return failures - before;
}

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const bool all = argc > 1 && std::strcmp(argv[1], "all") == 0;
    unsigned unnoticed = 0;
    const uint32_t wrong = run_skinny(1, all ? 2000 : IRIST_SLOW ? 10 : 150) + run_spread();
    std::printf("%u failures\n", wrong);
    made = FORGET_A_WAIT; /* says nothing of what fails from here on */
    for (gpu.broken = RIGHT + 1; gpu.broken < BREAKAGES && !IRIST_SLOW; gpu.broken++) {
        const bool noticed = run_skinny(77, 10) > 0;
        std::printf("%s - breakage %d is noticed\n", noticed ? "ok" : "not ok", gpu.broken);
        unnoticed += !noticed;
    }
    return wrong || unnoticed;
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
