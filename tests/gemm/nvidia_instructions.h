/* SPDX-License-Identifier: MIT */
/*
 * nvidia_instructions.h: what mma_run.cpp and gemv_run.cpp have in place of arch/nvidia/mma_instructions.h, on
 * emulator.h and for the matrices of emulated_gemm.h, which are included before.
 *
 *   irisi_shared_address
 *   irisi_copy_chunk irisi_copies_close irisi_copies_await         cp.async
 *   irisi_load_matrices irisi_load_matrices_transposed             ldmatrix
 *   irisi_mma_operands_16 irisi_mma_f16 irisi_mma_bf16             mma.m16n8k16
 */
#ifndef TESTS_GEMM_NVIDIA_INSTRUCTIONS_H
#define TESTS_GEMM_NVIDIA_INSTRUCTIONS_H

#define IRIS_ARCH_NVIDIA_MMA_INSTRUCTIONS_H
#define IRISI_WGMMA 0

static inline uint32_t irisi_shared_address(const void *p) { return shared_at(p); }

static inline void irisi_copy_chunk(uint32_t to, const void *from, uint32_t bytes)
{
    char words[16] = {};
    if (bytes > 0)
        read_global(words, from, bytes, 16);
    copy_chunk(to, words);
}
static inline void irisi_copies_close() { close_copies(); }
static inline void irisi_copies_await(uint32_t open) { await_copies(open); }

/*
 * ldmatrix.x4 (PTX ISA): lane 8 * i + r says where row r of matrix i stands. Of each matrix a lane gets two neighbours
 * of row lane / 4, or with .trans of column lane / 4.
 */
struct matrix_rows {
    uint32_t from, *to;
};
static inline void load_matrices(const matrix_rows *lanes, bool transposed)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t i = 0; i < 4; i++) {
            uint16_t two[2];
            for (uint32_t j = 0; j < 2; j++) {
                const uint32_t line = lane / 4, pair = lane % 4 * 2 + j;
                const matrix_rows &row = lanes[8 * i + (transposed ? pair : line)];
                std::memcpy(&two[j], &wg.shared[row.from + 2 * (transposed ? line : pair)], 2);
            }
            lanes[lane].to[i] = two[0] | (uint32_t)two[1] << 16;
        }
}
static inline void carry_out_load(matrix_rows *lanes) { load_matrices(lanes, false); }
static inline void carry_out_load_transposed(matrix_rows *lanes) { load_matrices(lanes, true); }

static inline void irisi_load_matrices(uint32_t *w, uint32_t from)
{
    touch_shared(from, 16, wg.now->met, false);
    wave_instruction(matrix_rows{from, w}, carry_out_load);
}
static inline void irisi_load_matrices_transposed(uint32_t *w, uint32_t from)
{
    touch_shared(from, 16, wg.now->met, false);
    wave_instruction(matrix_rows{from, w}, carry_out_load_transposed);
}

/* mma.m16n8k16: two elements of K a register (PTX ISA). */
struct mma_operands {
    float *c;
    uint32_t a[4], b[2];
};
static inline void carry_out_mma(mma_operands *lanes)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < 4; e++) {
            const uint32_t row = lane / 4 * 4, column = (lane % 4 * 2 + e % 2) * 4;
            float sum = 0;
            for (uint32_t k = 0; k < 16; k++) {
                const uint32_t a = lanes[row + k % 8 / 2].a[k / 8 * 2 + e / 2], b = lanes[column + k % 8 / 2].b[k / 8];
                sum += widened_16((uint16_t)(a >> k % 2 * 16)) * widened_16((uint16_t)(b >> k % 2 * 16));
            }
            lanes[lane].c[e] += sum;
        }
}

struct irisi_mma_operands_16 {
    uint32_t a[4][4], b[4][4];
};
static inline void irisi_mma_f16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    mma_operands own = {c, {}, {}};
    std::memcpy(own.a, o->a[m], sizeof own.a);
    std::memcpy(own.b, o->b[n / 2] + n % 2 * 2, sizeof own.b);
    wave_instruction(own, carry_out_mma);
}
static inline void irisi_mma_bf16(float *c, const irisi_mma_operands_16 *o, uint32_t m, uint32_t n)
{
    irisi_mma_f16(c, o, m, n);
}

#endif
