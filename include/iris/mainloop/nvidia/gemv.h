/* SPDX-License-Identifier: MIT */
/*
 * gemv.h (nvidia): the loop for up to 8 rows of C, which takes as long as B takes to be read. It reads B in whole words
 * of 16 bytes, wherever its rows start, and each word once, but for those at tiles' ends.
 *
 *   irisi_gemv_job irisi_gemv_begin
 *   irisi_gemv_fetch irisi_gemv_take_rows                     steps of a B that is k x n, by copies
 *   irisi_gemv_words irisi_gemv_load irisi_gemv_take_columns  and of one that is n x k, by loads
 *   irisi_gemv_stage irisi_gemv_clean irisi_gemv_advance      A, by pieces
 *
 * A row of an unaligned B starts at one of 8 places within 16 bytes. The row 8 further on (or 4, 2 or 1, depending on
 * ldb) starts at the same place again; such rows are a class. Each wave has rows of one class only: it loads the
 * aligned words that they lie in and multiplies the words as they are. Where B is k x n, the products then stand up to
 * 7 columns to the left of their place, which is put right once, where waves' sums are added up. Where B is n x k, its
 * K is shifted, and A is read with the same shift. What the words hold of neighbouring rows goes to columns outside the
 * tile, which are not stored, or is replaced by zeros.
 *
 * A stands in shared memory, in two pieces of up to 8192 elements, which are copied asynchronously; A may be unaligned
 * too. The product is transposed, since the instruction has 16 rows and 8 columns: C's columns are its rows. K may be
 * cut into splits (gemv_join.h).
 */
#ifndef IRIS_MAINLOOP_NVIDIA_GEMV_H
#define IRIS_MAINLOOP_NVIDIA_GEMV_H

#include <iris/mainloop/shape.h>
#include <iris/arch/nvidia/cluster.h>
#include <iris/arch/nvidia/mma_instructions.h>
#include <iris/gemm/scheduler.h>

/* What a lane loads in a step of a B that is n x k. */
typedef struct irisi_gemv_words {
    uint32_t w[4][4];
} irisi_gemv_words;

/* A wave's part of a tile, as one lane sees it. Positions along K count from where the split's first words begin. */
typedef struct irisi_gemv_job {
    const char *at[2];   /* the words that the lane loads next: of its row of B, or of its two columns */
    const char *some;    /* a word of B: the address of copies of no bytes */
    uint64_t row, leap;  /* bytes between the lane's rows in a step, and from its last row to the next step's first; */
                         /* where B is n x k, `row` is from step to step */
    uint32_t there;      /* bit i: at[i] is of the tile's columns */
    uint32_t first;      /* the lane's first position in a step */
    uint32_t apart;      /* log2 of the distance of two neighbouring rows of a class */
    uint32_t begin, end; /* the split's first element of K, and how many positions it has */
    uint32_t step, steps; /* the step that is fetched next; how many there are, the same for all waves */
    uint32_t deep;       /* log2 of the positions of a step, of all waves together */
    uint32_t skew;       /* elements from the start of a word to the start of the row, or of the column, in it */
    uint32_t a;          /* bytes from the start of a piece to the lane's first element of A */
    uint32_t piece;      /* log2 of the elements of a row of A in a piece */
    uint32_t slot;       /* bytes of a piece */
    uint32_t ring;       /* the wave's ring in shared memory, where B is k x n */
    uint32_t part, column; /* which of a column's partial sums the wave computes; the wave's first column */
} irisi_gemv_job;

/* log2 of a tile's columns, rounded up. */
IRIS_DEVICE uint32_t irisi_gemv_columns(const iris_gemm_plan *plan)
{
    return plan->tiling.tile_n > 64 ? 7 : plan->tiling.tile_n > 32 ? 6 : plan->tiling.tile_n > 16 ? 5 : 4;
}

/* Sets a job's split of K, in whole steps. All waves have equally many, though some begin up to 7 elements earlier. */
IRIS_DEVICE void irisi_gemv_k_split(int n_major, const iris_gemm_plan *plan, const iris_tile *tile, irisi_gemv_job *job)
{
    const uint64_t at = 2 * irisi_tile_ldb(plan, tile) | (uintptr_t)irisi_tile_b(plan, tile);
    const int ragged = !n_major && (at & 15) != 0;
    const uint32_t whole = plan->k + (ragged ? 7 : 0), step = 1u << job->deep;
    const uint32_t each = (((whole + plan->tiling.split_k - 1) >> plan->tiling.split_k_shift) + step - 1) & ~(step - 1);
    job->begin = tile->k_split * each;
    const uint32_t all = whole > job->begin ? whole - job->begin : 0, own = plan->k + (n_major ? 0 : job->skew);
    job->steps = ((all < each ? all : each) + step - 1) >> job->deep;
    job->end = own > job->begin ? own - job->begin : 0;
    job->end = job->end < each ? job->end : each;
}

/*
 * Begins a wave's part of a tile. `skew` is the same for every split, because a split begins a multiple of 16 bytes
 * into K: steps have 64 elements or more.
 */
IRIS_DEVICE void irisi_gemv_begin(int n_major, const iris_gemm_plan *plan, const iris_tile *tile, uint32_t wave,
                                  char *room, irisi_gemv_job *job)
{
    const uint32_t low = (uint32_t)irisi_tile_ldb(plan, tile) & 7, quad = iris_lane() / 4, own = iris_lane() % 4;
    const uint32_t blocks = irisi_gemv_columns(plan) - 4; /* log2 of the number of blocks of 16 columns */
    const char *b = (const char *)irisi_tile_b(plan, tile);
    const uint64_t ldb = 2 * irisi_tile_ldb(plan, tile);
    const uint32_t row = quad < tile->rows ? quad : tile->rows - 1;
    job->apart = low == 0 ? 0 : low & 1 ? 3 : low & 2 ? 2 : 1;
    job->piece = irisi_gemv_piece(plan->tiling.tile_m),
    job->slot = plan->tiling.tile_m * irisi_gemv_pitch(plan->tiling.tile_m);
    job->step = 0, job->some = b - (uintptr_t)b % 16;
    const uint32_t classes = 1u << job->apart, block = n_major ? wave : wave & ((1u << blocks) - 1);
    const uint32_t cls = block & (classes - 1);
    uint32_t first; /* the lane's first position of A */
    if (n_major) {
        const uint32_t line = iris_lane() / 8, word = iris_lane() % 8;
        job->deep = 7, job->part = wave, job->column = 0;
        job->first = cls + (((wave >> job->apart) * 16 + line) << job->apart);
        first = cls + (((wave >> job->apart) * 16 + 2 * own) << job->apart);
        b += 2 * (uint64_t)tile->n0;
        job->skew = (uint32_t)(uintptr_t)(b + cls * ldb) % 16 / 2;
        irisi_gemv_k_split(1, plan, tile, job);
        job->at[0] = job->at[1] = b + (job->begin + job->first) * ldb + 16 * word - 2 * job->skew;
        job->there = 16 * word < 2 * (tile->cols + job->skew);
        job->row = (4 * ldb) << job->apart, job->leap = IRISI_GEMV_DEEP * ldb - 3 * job->row;
        job->ring = irisi_shared_address(room) + wave * IRISI_GEMV_RING * IRISI_GEMV_STEP;
    } else {
        job->deep = 9 - blocks, job->part = wave >> blocks;
        job->first = first = 64 * job->part + 8 * own;
        job->column = cls + (((block >> job->apart) * 16) << job->apart);
        b += (tile->n0 + job->column) * ldb;
        job->skew = (uint32_t)(uintptr_t)b % 16 / 2;
        irisi_gemv_k_split(0, plan, tile, job);
        job->there = 0, job->row = 2u << job->deep, job->leap = 0;
        IRISI_UNROLL
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t column = (8 * i + quad) << job->apart;
            job->there |= (uint32_t)(job->column + column < tile->cols) << i;
            job->at[i] = b + column * ldb + 2 * (uint64_t)(job->begin + job->first) - 2 * job->skew;
        }
    }
    const char *a = (const char *)plan->operands.a + 2 * (tile->m0 + row) * plan->operands.lda;
    job->a = (n_major ? IRISI_GEMV_RINGS : 0) + row * irisi_gemv_pitch(plan->tiling.tile_m) + 16 +
             (uint32_t)(uintptr_t)a % 16 + 2 * first - (n_major ? 0 : 2 * job->skew);
}

/*
 * B is n x k: begins to load the next step's words, zeros in place of those behind the end of K. Copies to shared
 * memory, as below, are slower here: they bypass the first-level cache, which has the sectors that are needed twice.
 */
IRIS_DEVICE void irisi_gemv_load(irisi_gemv_job *job, irisi_gemv_words *to)
{
    const uint32_t first = (job->step++ << job->deep) + job->first;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t there = (job->there >> i / 2 & 1) & (uint32_t)(first + i % 2 * 32 < job->end);
        irisi_read_chunk(to->w[i], job->at[i / 2] + i % 2 * 64, there);
        if (i % 2)
            job->at[i / 2] += job->row;
    }
}

/*
 * The place of a word in a wave's ring: word `word` of line `line` of the step at `place`. Words are permuted within a
 * line, so that one word of each of 8 lines takes up all banks.
 */
IRIS_DEVICE uint32_t irisi_gemv_place(const irisi_gemv_job *job, uint32_t place, uint32_t line, uint32_t word)
{
    return job->ring + place * IRISI_GEMV_STEP + 128 * line + 16 * (word ^ (line & 7));
}

/*
 * B is k x n: begins to copy the next step's words into the wave's ring, zeros behind the end of K. Eight neighbouring
 * lanes copy the 128 bytes of a row: if lanes copied what they multiply, each sector would be read twice.
 */
IRIS_DEVICE void irisi_gemv_fetch(irisi_gemv_job *job, uint32_t place)
{
    const uint32_t first = (job->step << job->deep) + job->first;
    if (job->step++ >= job->steps)
        return;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const int there = job->there && first + ((4 * i) << job->apart) < job->end;
        irisi_copy_chunk(irisi_gemv_place(job, place, 4 * i + iris_lane() / 8, iris_lane() % 8),
                         there ? job->at[0] : job->some, there ? 16 : 0);
        job->at[0] += i < 3 ? job->row : job->leap;
    }
}

/*
 * The words of a piece of A that a lane copies: of one row, which several waves share where rows are fewer than waves,
 * every `step`-th word from word `first` on. `begin`, `end`: the row in memory. `at`, `to`: word 0 in memory and in
 * shared memory, 8 elements before the piece's first element. `words`: how many a row of the piece has.
 */
typedef struct irisi_gemv_row {
    const char *begin, *end, *at;
    char *to;
    uint32_t first, step, words;
} irisi_gemv_row;
IRIS_DEVICE irisi_gemv_row irisi_gemv_row_of(const iris_gemm_plan *plan, const iris_tile *tile,
                                             const irisi_gemv_job *job, uint32_t wave, uint32_t piece, char *room)
{
    const uint32_t from = piece << job->piece, all = job->steps << job->deep, most = 1u << job->piece;
    const uint32_t left = all > from ? all - from : 0, rows = tile->rows;
    const uint32_t share = rows > 4 ? 0 : rows > 2 ? 1 : rows > 1 ? 2 : 3, row = wave >> share;
    irisi_gemv_row r;
    r.begin = (const char *)plan->operands.a + 2 * (tile->m0 + row) * plan->operands.lda,
    r.end = r.begin + 2 * (uint64_t)plan->k;
    r.at = r.begin + 2 * (uint64_t)(job->begin + from) - 16;
    r.at -= (uintptr_t)r.at % 16;
    r.to = room + (plan->operands.b_transposed ? 0 : IRISI_GEMV_RINGS);
    r.to += (piece % 2 * plan->tiling.tile_m + row) * irisi_gemv_pitch(plan->tiling.tile_m);
    r.first = 32 * (wave & ((1u << share) - 1)) + iris_lane(), r.step = 32u << share;
    r.words = left == 0 || row >= rows ? 0 : (left < most ? left : most) / 8 + 2;
    return r;
}

/* Begins to copy a piece of A; zeros in place of words without an element of the row. */
IRIS_DEVICE void irisi_gemv_stage(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_job *job,
                                  uint32_t wave, uint32_t piece, char *room)
{
    const irisi_gemv_row r = irisi_gemv_row_of(plan, tile, job, wave, piece, room);
    IRISI_ROLLED
    for (uint32_t i = r.first; i < r.words; i += r.step) {
        const char *from = r.at + 16 * i;
        const uint32_t in = from + 16 > r.begin && from < r.end;
        irisi_copy_chunk(irisi_shared_address(r.to) + 16 * i, in ? from : r.begin - (uintptr_t)r.begin % 16, 16 * in);
    }
}

/* Words at the begin and the end of a row of A hold elements of other rows: the lane that copied them zeros those. */
IRIS_DEVICE void irisi_gemv_clean(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_job *job,
                                  uint32_t wave, uint32_t piece, char *room)
{
    const irisi_gemv_row r = irisi_gemv_row_of(plan, tile, job, wave, piece, room);
    if (r.at >= r.begin && r.at + 16 * r.words <= r.end)
        return;
    IRISI_ROLLED
    for (uint32_t i = r.first; i < r.words; i += r.step) {
        const char *from = r.at + 16 * i;
        if ((from >= r.begin && from + 16 <= r.end) || from + 16 <= r.begin || from >= r.end)
            continue;
        IRISI_ROLLED
        for (uint32_t e = 0; e < 16; e += 2)
            if (from + e < r.begin || from + e >= r.end)
                irisi_store_short(irisi_shared_address(r.to) + 16 * i + e, 0);
    }
}

/*
 * Before the first step of a piece of A: waits until the piece has arrived, and begins to copy the next one. Every lane
 * of the wave group calls it.
 */
IRIS_DEVICE void irisi_gemv_advance(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_job *job,
                                    uint32_t step, char *room, iris_wave_group *group)
{
    const uint32_t piece = (step << job->deep) >> job->piece;
    if (plan->operands.b_transposed) /* else it came with copies of B, at least 8 steps ago */
        irisi_copies_await(0);
    irisi_gemv_clean(plan, tile, job, group->wave, piece, room);
    iris_wave_group_sync(group); /* the whole piece is there, and the one before has been read */
    if (((piece + 1) << job->piece) >= (job->steps << job->deep))
        return;
    irisi_gemv_stage(plan, tile, job, group->wave, piece + 1, room);
    if (plan->operands.b_transposed)
        irisi_copies_close();
}

/* Zeros, of 8 neighbours along K, those before `low` and from `high` on. */
IRIS_DEVICE void irisi_gemv_clear(uint32_t *pairs, uint32_t low, uint32_t high)
{
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        pairs[i] &= (2 * i >= low && 2 * i < high ? 0xffffu : 0) |
                    (2 * i + 1 >= low && 2 * i + 1 < high ? 0xffff0000u : 0);
}

/* Zeros what the words of a column hold before K's begin, in the first step, and behind its end, in the last. */
IRIS_DEVICE void irisi_gemv_trim(const irisi_gemv_job *job, uint32_t step, irisi_gemv_words *words)
{
    if ((job->begin > 0 || step > 0) && (step + 1) << job->deep <= job->end)
        return;
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t position = (step << job->deep) + job->first + i % 2 * 32;
        const uint32_t low = job->begin + position < job->skew ? job->skew - position : 0;
        irisi_gemv_clear(words->w[i], low, job->end > position ? job->end - position : 0);
    }
}

/* Reads 8 neighbouring elements of A, whose shared address `from` may be unaligned. */
IRIS_DEVICE void irisi_gemv_run(uint32_t *to, uint32_t from)
{
    uint32_t w[5];
    if (from % 16 == 0) {
        irisi_load_words(to, from);
        return;
    }
    IRISI_UNROLL
    for (uint32_t i = 0; i < 5; i++)
        w[i] = irisi_load_word((from & ~3u) + 4 * i);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        to[i] = __funnelshift_r(w[i], w[i + 1], from % 4 * 8);
}

/* The shared address of the lane's first element of A of a step. */
IRIS_DEVICE uint32_t irisi_gemv_a(const irisi_gemv_job *job, uint32_t step, char *room)
{
    const uint32_t position = step << job->deep, piece = position >> job->piece;
    return irisi_shared_address(room) + piece % 2 * job->slot + job->a + 2 * (position & ((1u << job->piece) - 1));
}

/* The operands of a step's four products, where B is k x n: a[i], 16 columns of B each, and b[0], A, for all four. */
IRIS_DEVICE void irisi_gemv_take_rows(const irisi_gemv_job *job, uint32_t step, uint32_t place, char *room,
                                      irisi_mma_operands_16 *to)
{
    const uint32_t a = irisi_gemv_a(job, step, room), matrix = iris_lane() / 8;
    uint32_t e[4];
    iris_sync_wave(); /* what all lanes have copied is there */
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        irisi_load_matrices_transposed(
            to->a[i], irisi_gemv_place(job, place, iris_lane() % 8 + matrix / 2 * 8, 2 * i + matrix % 2));
        e[i] = irisi_load_short(a + ((2 * (i % 2 + i / 2 * 8)) << job->apart));
    }
    to->b[0][0] = e[0] | e[1] << 16, to->b[0][1] = e[2] | e[3] << 16;
}

/* The same where B is n x k: a[i], the wave's 16 columns over 16 elements of K each, and in `b` A over the same K. */
IRIS_DEVICE void irisi_gemv_take_columns(const irisi_gemv_job *job, uint32_t step, char *room, irisi_gemv_words *words,
                                         irisi_mma_operands_16 *to)
{
    const uint32_t a = irisi_gemv_a(job, step, room);
    irisi_gemv_trim(job, step, words);
    IRISI_UNROLL
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t *w = words->w[i / 2] + i % 2 * 2, *v = words->w[2 + i / 2] + i % 2 * 2;
        to->a[i][0] = w[0], to->a[i][1] = v[0], to->a[i][2] = w[1], to->a[i][3] = v[1];
        if (i % 2 == 0)
            irisi_gemv_run(to->b[i / 2], a + 32 * i);
    }
}

#endif
