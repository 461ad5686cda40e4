/* SPDX-License-Identifier: MIT */
/*
 * amd_instructions.h: what mfma_run.cpp and skinny_amd_run.cpp have in place of mainloop/amd/mfma.h, on emulator.h and
 * for the matrices of emulated_gemm.h, which are included before.
 *
 *   irisi_words irisi_mfma_lds
 *   irisi_mfma_acc irisi_mfma_<element type>, irisi_mfma_acc_16 irisi_mfma_16_{f16,bf16}      the matrix instructions
 *   irisi_mfma_load irisi_mfma_load_run irisi_mfma_load_lds irisi_mfma_loaded                 global memory
 *   irisi_mfma_read irisi_mfma_read_word irisi_mfma_write                                     shared memory
 *   irisi_mfma_part irisi_mfma_hurry irisi_mfma_yield irisi_mfma_now irisi_mfma_in_image
 */
#ifndef TESTS_GEMM_AMD_INSTRUCTIONS_H
#define TESTS_GEMM_AMD_INSTRUCTIONS_H

#define IRIS_MAINLOOP_AMD_MFMA_H
#define IRISI_GLOBAL

typedef uint32_t irisi_words __attribute__((vector_size(16)));
typedef char *irisi_mfma_lds;

/* A lane's share of a block: floats, or whole numbers as bits, which are exact as floats here. */
template <uint32_t count> struct block_share {
    float v[count];
    int operator=(int zero)
    {
        for (float &sum : v)
            sum = 0;
        return zero;
    }
    float operator[](uint32_t e) const
    {
        return gemm.a.dtype == IRIS_I8 ? irisi_unbits_f32((uint32_t)(int32_t)v[e]) : v[e];
    }
};
typedef block_share<16> irisi_mfma_acc;
typedef block_share<4> irisi_mfma_acc_16;

/* What a lane has of a product: its elements along K, and its sums. */
struct mfma_operands {
    float first[16], second[16], *sums;
};

/*
 * A block of lines x lines (AMD's matrix instruction calculator): a lane's elements are neighbours along K of line
 * lane % lines of each operand; its sum e is that of line 8 * (e / 4) + 4 * (lane / lines) + e % 4 of the first and
 * line lane % lines of the second.
 */
template <uint32_t lines> static inline void carry_out_mfma(mfma_operands *lanes)
{
    const uint32_t elements = 16 / (uint32_t)iris_dtype_bytes(gemm.a.dtype);
    for (uint32_t lane = 0; lane < LANES; lane++)
        for (uint32_t e = 0; e < lines * lines / LANES; e++) {
            const uint32_t row = 8 * (e / 4) + 4 * (lane / lines) + e % 4, column = lane % lines;
            float sum = 0;
            for (uint32_t from = 0; from < LANES; from += lines)
                for (uint32_t k = 0; k < elements; k++)
                    sum += lanes[from + row].first[k] * lanes[from + column].second[k];
            lanes[lane].sums[e] += sum;
        }
}

template <uint32_t lines, typename share>
static inline share multiply(const irisi_words *first, const irisi_words *second, share acc)
{
    mfma_operands own;
    widen_words(own.first, first);
    widen_words(own.second, second);
    own.sums = acc.v;
    wave_instruction(own, carry_out_mfma<lines>);
    return acc;
}

#define IRIST_MFMA(name, share, lines)                                                                                 \
    static inline share irisi_mfma_##name(const irisi_words *first, const irisi_words *second, uint32_t step,          \
                                          share acc)                                                                   \
    {                                                                                                                  \
        return multiply<lines>(first + step, second + step, acc);                                                      \
    }
/* These take two steps at once. */
#define IRIST_MFMA_TWO(name)                                                                                           \
    static inline irisi_mfma_acc irisi_mfma_##name(const irisi_words *first, const irisi_words *second, uint32_t step, \
                                                   irisi_mfma_acc acc)                                                 \
    {                                                                                                                  \
        if (step % 2 == 0)                                                                                             \
            return acc;                                                                                                \
        acc = multiply<32>(first + step - 1, second + step - 1, acc);                                                  \
        return multiply<32>(first + step, second + step, acc);                                                         \
    }
IRIST_MFMA(f16, irisi_mfma_acc, 32)
IRIST_MFMA(bf16, irisi_mfma_acc, 32)
IRIST_MFMA(f32, irisi_mfma_acc, 32)
IRIST_MFMA(i8, irisi_mfma_acc, 32)
IRIST_MFMA(f8e4m3fnuz, irisi_mfma_acc, 32)
IRIST_MFMA(f8e5m2fnuz, irisi_mfma_acc, 32)
IRIST_MFMA_TWO(f8e4m3)
IRIST_MFMA_TWO(f8e5m2)
IRIST_MFMA(16_f16, irisi_mfma_acc_16, 16)
IRIST_MFMA(16_bf16, irisi_mfma_acc_16, 16)

static inline irisi_words irisi_mfma_load(const char *base, uint32_t offset)
{
    irisi_words words = {0, 0, 0, 0};
    read_global(&words, base + offset, 16, 16);
    return words;
}
static inline void irisi_mfma_load_run(const char *base, uint32_t offset, uint32_t bytes, uint32_t *to)
{
    to[0] = bytes < 4 ? 0 : to[0];
    read_global(to, base + offset, bytes, bytes);
}

/* Each lane waits for its own, which the wave's next meeting makes all of them. */
static inline void irisi_mfma_load_lds(const char *base, uint32_t offset, irisi_mfma_lds lds)
{
    const irisi_words words = irisi_mfma_load(base, offset);
    copy_chunk(shared_at(lds) + 16 * wg.now->lane, &words);
}
static inline void irisi_mfma_loaded()
{
    close_copies();
    await_copies(0);
}

static inline irisi_words irisi_mfma_read(irisi_mfma_lds lds, uint32_t offset)
{
    irisi_words words;
    read_shared(&words, shared_at(lds + offset), 16);
    return words;
}
static inline uint32_t irisi_mfma_read_word(irisi_mfma_lds lds, uint32_t offset)
{
    uint32_t word;
    read_shared(&word, shared_at(lds + offset), 4);
    return word;
}
/* Where there are more lanes than chunks, two waves write the same: what already stands there is not written. */
static inline void irisi_mfma_write(irisi_mfma_lds lds, uint32_t offset, irisi_words words)
{
    if (std::memcmp(lds + offset, &words, 16) != 0)
        write_shared(shared_at(lds + offset), &words, 16);
}

static inline void irisi_mfma_part() {}
static inline void irisi_mfma_hurry(int) {}
static inline void irisi_mfma_yield() {}
static inline uint32_t irisi_mfma_now(uint32_t v) { return v; }
static inline int irisi_mfma_in_image(uint32_t) { return 1; }

#endif
