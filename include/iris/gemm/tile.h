/* SPDX-License-Identifier: MIT */
/*
 * tile.h: how a finished tile leaves its workgroup: staged, stored, put and signalled.
 *
 *   iris_tile_row                                                 a row of the staging tile
 *   iris_tile_put iris_tile_store iris_tile_put_all iris_tile_send iris_tile_deliver
 *   iris_tile_stage iris_tile_staged iris_tile_flag iris_tile_await irisi_tile_notify_units iris_tile_notify
 *
 * A finished tile, or a piece of a large one, stands row after row, in C's type, in workgroup-shared memory: the
 * staging tile. Each row starts at the same place within 16 bytes as its row of C, so that copies are 16 bytes wide on
 * both sides, whatever column the band starts at. Heaps are page-aligned, so the place is the same on every rank.
 */
#ifndef IRIS_GEMM_TILE_H
#define IRIS_GEMM_TILE_H

#include <iris/bytes.h>
#include <iris/gemm/wave_group.h>
#include <iris/gemm/exchange.h>
#include <iris/signal.h>
#include <iris/gemm/scheduler.h>

#if IRIS_HAS_DEVICE

/* Elements from row to row of where a tile goes. */
IRIS_DEVICE uint64_t irisi_tile_ldc(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint32_t matrix = irisi_tile_matrix(tile);
    return matrix == 0 ? plan->operands.ldc : plan->several.more[matrix - 1].ldc;
}

/* Where row `row` of a tile goes on this rank, by the plan's route. */
IRIS_DEVICE char *irisi_tile_out(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t row)
{
    const uint64_t at = (uint64_t)(tile->m0 + row) * irisi_tile_ldc(plan, tile) + tile->n0;
    const uint32_t matrix = irisi_tile_matrix(tile);
    char *base = (char *)(matrix == 0 ? plan->route.base : plan->several.more[matrix - 1].c);
    return base + at * plan->operands.c_element;
}

/*
 * Where row `row` of a tile stands in this rank's C once the tile is finished. Where columns are pairs that is not
 * where its sums would.
 */
IRIS_DEVICE char *irisi_tile_in_c(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t row)
{
    if (!irisi_gemm_gated(plan))
        return irisi_tile_out(plan, tile, row);
    const uint64_t at = (uint64_t)(tile->m0 + row) * plan->sums.ldc + (plan->region.n0 + tile->n0) / 2;
    return (char *)plan->sums.c + at * plan->sums.c_element;
}

/* Where row `row` of a tile stands in what beta reads. */
IRIS_DEVICE const char *irisi_tile_residual(const iris_gemm_plan *plan, const iris_tile *tile, uint32_t row)
{
    const uint64_t at = (uint64_t)(tile->m0 + row) * plan->operands.ldr + plan->region.n0 + tile->n0;
    return (const char *)plan->operands.residual + at * plan->operands.c_element;
}

/**
 * @name Tiles on their way
 *
 * What a wave group does with a tile that it has computed. iris_gemm_part has the wave group, the stages and the epoch.
 *
 * @param ctx    the kernel's context, from iris_device_ctx
 * @param plan   the plan, from iris_gemm_prepare, in the kernel's argument struct
 * @param tile   the tile, from the schedule
 * @param stage  its staging tile in workgroup-shared memory, from iris_tile_stage
 * @param stages the workgroup's staging tiles: iris_gemm_part.stages
 * @param n      how many pieces the wave group has staged before
 * @param row    row within the tile
 * @param group  the waves that do it; every lane of them calls
 * @param rank   world rank
 * @param epoch  the running epoch of the plan's channel
 * @param to     a constant: the tile goes to its owner, or to every rank
 * @{
 */
/** Where row `row` of a tile starts in its staging tile. */
IRIS_DEVICE char *iris_tile_row(const iris_gemm_plan *plan, const iris_tile *tile, char *stage, uint32_t row)
{
    return stage + (size_t)row * plan->machine.pitch + ((uintptr_t)irisi_tile_out(plan, tile, row) & 15);
}

/*
 * Staging tiles are workgroup-shared memory, which is another address space than global memory on GPUs: it is read in
 * plain C (memcpy is how C reads memory of another type), never by irisi_load_*.
 */
IRIS_DEVICE uint64_t irisi_tile_staged_unit(const char *from, uint32_t unit)
{
    uint64_t bits = 0;
    if (unit == 2)
        __builtin_memcpy(&bits, from, 2);
    else if (unit == 4)
        __builtin_memcpy(&bits, from, 4);
    else if (unit == 8)
        __builtin_memcpy(&bits, from, 8);
    else
        __builtin_memcpy(&bits, from, 1);
    return bits;
}

IRIS_DEVICE void irisi_tile_store_unit(char *to, uint64_t bits, uint32_t unit)
{
    if (unit == 2)
        irisi_store_16(to, (uint16_t)bits, IRIS_CACHE_DEFAULT);
    else if (unit == 4)
        irisi_store_32(to, (uint32_t)bits, IRIS_CACHE_DEFAULT);
    else if (unit == 8)
        irisi_store_64(to, bits, IRIS_CACHE_DEFAULT);
    else
        irisi_store_8(to, (uint8_t)bits, IRIS_CACHE_DEFAULT);
}

/* Ranks that something is copied to, one or more: from `first` to `last`, with rank 0 behind the highest. */
typedef struct irisi_tile_ranks {
    int first, last;
} irisi_tile_ranks;

/* Goes on to the next of these ranks: 1, or 0 behind the last. */
IRIS_DEVICE int irisi_tile_next_rank(const iris_ctx *ctx, irisi_tile_ranks ranks, int *rank)
{
    const int more = *rank != ranks.last;
    *rank = *rank + 1 == ctx->world ? 0 : *rank + 1;
    return more;
}

/* The address on `rank` of what is at `own` in this rank's C. A GEMM alone has a C outside the heap, but no peers. */
IRIS_DEVICE char *irisi_tile_on(const iris_ctx *ctx, char *own, int rank)
{
    return IRISI_CHECKED && rank == ctx->rank ? own : (char *)iris_at(ctx, own, rank);
}

/*
 * Copies a row of a staging tile to C on some ranks: whole chunks of 16 bytes, and single elements of C (`unit` bytes)
 * at both ends. `from`, `own` (the row of this rank's C) and the rows of the others start at the same place within 16
 * bytes. A lane reads once what it copies to all.
 */
IRIS_DEVICE void irisi_tile_unstage_row(const iris_ctx *ctx, char *own, const char *from, uint32_t bytes,
                                        uint32_t unit, irisi_tile_ranks ranks, uint32_t member, uint32_t members)
{
    const uint32_t gap = (uint32_t)(0 - (uintptr_t)own) & 15;
    const uint32_t head = gap < bytes ? gap : bytes;
    const uint32_t end = head + (bytes - head) / 16 * 16;
    int rank;
    for (uint32_t at = head + 16 * member; at < end; at += 16 * members) {
        irisi_b128 v;
        __builtin_memcpy(&v, __builtin_assume_aligned(from + at, 16), sizeof v);
        rank = ranks.first;
        do
            irisi_store_128(irisi_tile_on(ctx, own + at, rank), v, IRIS_CACHE_DEFAULT);
        while (irisi_tile_next_rank(ctx, ranks, &rank));
    }
    for (uint32_t i = member * unit; i < bytes - (end - head); i += members * unit) {
        const uint32_t at = i < head ? i : i + (end - head);
        const uint64_t bits = irisi_tile_staged_unit(from + at, unit);
        rank = ranks.first;
        do
            irisi_tile_store_unit(irisi_tile_on(ctx, own + at, rank), bits, unit);
        while (irisi_tile_next_rank(ctx, ranks, &rank));
    }
}

/*
 * Copies a row from this rank's C to another's, which start at the same place within 16 bytes: whole chunks of 16
 * bytes, and single elements of C (`unit` bytes) at both ends. Member `member` of `members` lanes does its share.
 */
IRIS_DEVICE void irisi_tile_copy_row(char *to, const char *from, uint32_t bytes, uint32_t unit, uint32_t member,
                                     uint32_t members)
{
    const uint32_t gap = (uint32_t)(0 - (uintptr_t)to) & 15;
    const uint32_t head = gap < bytes ? gap : bytes;
    const uint32_t whole = (bytes - head) / 16 * 16;
    irisi_copy_chunks(to + head, from + head, whole / 16, member, members, IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
    for (uint32_t i = member * unit; i < bytes - whole; i += members * unit) {
        const uint32_t at = i < head ? i : i + whole;
        irisi_copy_unit(to + at, from + at, unit, IRIS_CACHE_DEFAULT, IRIS_CACHE_DEFAULT);
    }
}

/* 1 when staging tiles are laid out in boxes for the copy engine. */
IRIS_DEVICE int irisi_tile_tma_store(const iris_gemm_plan *plan) { return irisi_bulk_can() && plan->machine.tma_store; }

/* 1 when the rows of a tile stand at multiples of 16 bytes on every rank and are whole chunks of 16 bytes. */
IRIS_DEVICE int irisi_tile_whole(const iris_gemm_plan *plan, const iris_tile *tile)
{
    const uint64_t all =
        (uint64_t)(uintptr_t)irisi_tile_out(plan, tile, 0) | irisi_tile_ldc(plan, tile) * plan->operands.c_element;
    return irisi_bulk_can() && ((all | tile->cols * plan->operands.c_element) & 15) == 0;
}

/*
 * Puts a staging tile that is laid out in boxes, 16 rows of 128 bytes each, into C on `rank`: the waves give the boxes
 * to the copy engine, and where all 8 math waves do, each gives the one that it wrote.
 */
IRIS_DEVICE void irisi_tile_put_by_tma(const iris_gemm_plan *plan, const iris_tile *tile, const char *stage,
                                       const iris_wave_group *group, int rank)
{
    const uint32_t first = irisi_gemm_c_map(plan, (uint32_t)rank);
    const unsigned char *map = plan->maps[tile->matrix == 0 ? first : irisi_gemm_more_c(plan, tile->matrix)];
    if (iris_lane() == 0)
        for (uint32_t i = group->wave; 16 * i < tile->rows; i += group->waves) {
            irisi_bulk_put_box(map, tile->n0, tile->m0 + 16 * i, stage + 2048 * i);
            if (group->window) {
                irisi_bulk_commit();
                irisi_bulk_pace(group->window - 1);
            }
        }
}

/*
 * How many elements of a tile's or a piece's row are behind its last whole 16 bytes. The copy engine writes whole 16
 * bytes only, so where tiles leave in boxes, lanes write these elements; only the band's last tiles have some.
 */
IRIS_DEVICE uint32_t irisi_tile_rest(const iris_gemm_plan *plan, const iris_tile *tile)
{
    return tile->cols & (16 / plan->operands.c_element - 1);
}

/*
 * Copies these elements to C on some ranks, for the 16 rows from `row` on, from the box in shared memory that holds the
 * ends of the rows. Every lane of the wave that wrote the box, or that has met this wave since, calls it; half of the
 * lanes have a row each.
 */
IRIS_DEVICE void irisi_tile_put_rest(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                     uint32_t row, const char *box, irisi_tile_ranks ranks)
{
    const uint32_t unit = plan->operands.c_element, count = irisi_tile_rest(plan, tile), lane = iris_lane();
    const uint32_t whole = (tile->cols - count) * unit; /* bytes */
    if (count == 0 || lane >= 16 || row + lane >= tile->rows)
        return;
    char *own = irisi_tile_out(plan, tile, row + lane) + whole;
    const char *from = box + 128 * lane + ((whole % 128) ^ (lane % 8 * 16));
    for (uint32_t i = 0; i < count * unit; i += unit) {
        const uint64_t bits = irisi_tile_staged_unit(from + i, unit);
        int rank = ranks.first;
        do
            irisi_tile_store_unit(irisi_tile_on(ctx, own + i, rank), bits, unit);
        while (irisi_tile_next_rank(ctx, ranks, &rank));
    }
}

/* How many lanes share a row: as many as it has chunks of 16 bytes, rounded up to a power of two; at most a wave. */
IRIS_DEVICE uint32_t irisi_tile_share(uint32_t bytes)
{
    uint32_t share = 1;
    while (share < iris_wave_lanes() && 16 * share < bytes)
        share *= 2;
    return share;
}

/*
 * Copies the rows of a staging tile to C on some ranks. Where the device has a copy engine, it copies while the lanes
 * go on; iris_tile_stage and iris_tile_notify wait for it. Else the wave group's lanes share the rows.
 */
IRIS_DEVICE void irisi_tile_unstage(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                    const iris_wave_group *group, irisi_tile_ranks ranks)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    const uint32_t bytes = tile->cols * plan->operands.c_element;
    const int whole = irisi_tile_whole(plan, tile);
    const uint32_t share = whole ? 1 : irisi_tile_share(bytes);
    int rank;
    if (group->stopped && ranks.first == ranks.last && ranks.first != ctx->rank)
        return;
    if (group->stopped)
        ranks.first = ranks.last = ctx->rank;
    rank = ranks.first;
    if (irisi_tile_tma_store(plan)) {
        do
            irisi_tile_put_by_tma(plan, tile, stage, group, rank);
        while (irisi_tile_next_rank(ctx, ranks, &rank));
        if (irisi_tile_rest(plan, tile) > 0)
            for (uint32_t i = group->wave; 16 * i < tile->rows; i += group->waves)
                irisi_tile_put_rest(ctx, plan, tile, 16 * i, stage + 2048 * i, ranks);
        return;
    }
    const irisi_span rows = irisi_split(tile->rows, group->member / share, group->members / share);
    for (size_t row = rows.first; row < rows.end; row += rows.step) {
        char *own = irisi_in_vector_register(irisi_tile_out(plan, tile, (uint32_t)row));
        const char *from = iris_tile_row(plan, tile, stage, (uint32_t)row);
        if (!whole) {
            irisi_tile_unstage_row(ctx, own, from, bytes, plan->operands.c_element, ranks, group->member % share,
                                   share);
            continue;
        }
        rank = ranks.first;
        do
            irisi_bulk_put(irisi_tile_on(ctx, own, rank), from, bytes);
        while (irisi_tile_next_rank(ctx, ranks, &rank));
    }
}

/**
 * Puts a staging tile into C on `rank`. Every lane of the wave group calls it, after a barrier of the waves that filled
 * it.
 */
IRIS_DEVICE void iris_tile_put(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                               const iris_wave_group *group, int rank)
{
    const irisi_tile_ranks one = {rank, rank};
    irisi_tile_unstage(ctx, plan, tile, stage, group, one);
    irisi_bulk_commit();
}

/** Puts a staging tile into this rank's own C. */
IRIS_DEVICE void iris_tile_store(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                 const iris_wave_group *group)
{
    iris_tile_put(ctx, plan, tile, stage, group, ctx->rank);
}

/* The i-th rank that a tile is put to. The first one depends on rank and tile, so that links are used evenly. */
IRIS_DEVICE int irisi_tile_target(const iris_ctx *ctx, const iris_tile *tile, uint32_t i)
{
    return (int)(((uint32_t)ctx->rank + tile->index + i) % (uint32_t)ctx->world);
}

/** Puts a staging tile into C on every rank, this one included. */
IRIS_DEVICE void iris_tile_put_all(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                   const iris_wave_group *group)
{
    const int first = irisi_tile_target(ctx, tile, 0);
    const irisi_tile_ranks all = {first, (first == 0 ? ctx->world : first) - 1};
    irisi_tile_unstage(ctx, plan, tile, stage, group, all);
    irisi_bulk_commit();
}

/* Where delivered tiles go: a constant in each kernel. */
typedef enum irisi_gemm_to {
    IRISI_GEMM_TO_SELF,
    IRISI_GEMM_TO_EVERYONE, /* this rank included */
    IRISI_GEMM_TO_OWNER,    /* each row to the rank whose shard it belongs to (iris_gemm_shard), maybe this one */
    IRISI_GEMM_TO_LL,       /* into this rank's C, and as packets into the others' banks (tile_ll.h) */
    IRISI_GEMM_TO_LL_SUMS   /* partial sums, as packets into the banks of all that add them up */
} irisi_gemm_to;

/* 1 where tiles are partial sums, which their owners, or all ranks, add up. */
IRIS_DEVICE int irisi_gemm_to_sums(irisi_gemm_to to)
{
    return to == IRISI_GEMM_TO_OWNER || to == IRISI_GEMM_TO_LL_SUMS;
}

/* 1 where tiles go as packets. */
IRIS_DEVICE int irisi_gemm_to_packets(irisi_gemm_to to)
{
    return to == IRISI_GEMM_TO_LL || to == IRISI_GEMM_TO_LL_SUMS;
}

/*
 * Puts a wave's box, 16 rows of a tile from `row` on and 128 bytes from column `column` of C on, to the owners of its
 * rows. A box of one owner goes by the copy engine, whose map leaves out what is behind the owner's rows; rows before
 * them it cannot leave out (the instruction is illegal then), so lanes store a box of several owners. Every lane of the
 * wave calls it, which has written the box, or met those that have since.
 */
IRIS_DEVICE void irisi_tile_put_box_to_owners(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                              const iris_wave_group *group, uint32_t column, uint32_t row,
                                              const char *box)
{
    const uint32_t first = tile->m0 + row, left = tile->rows - row, count = left < 16 ? left : 16;
    const uint32_t owner = irisi_gemm_owner_of(plan, first);
    if (__builtin_expect(owner == irisi_gemm_owner_of(plan, first + count - 1), 1)) {
        if (iris_lane() == 0 && (!group->stopped || owner == plan->rank))
            irisi_bulk_put_box(plan->maps[2 + owner], column, first - irisi_gemm_rows_of(plan, owner).first, box);
        return;
    }
    for (uint32_t i = iris_lane(); i < 8 * count; i += iris_wave_lanes()) {
        const uint32_t r = i / 8, c = i % 8, to = irisi_gemm_owner_of(plan, first + r);
        const uint64_t at = (uint64_t)(first + r - irisi_gemm_rows_of(plan, to).first) * plan->operands.ldc + column;
        irisi_b128 v;
        if ((group->stopped && to != plan->rank) ||
            (uint64_t)column * plan->operands.c_element + 16 * c >=
                (uint64_t)plan->region.columns * plan->operands.c_element)
            continue;
        __builtin_memcpy(&v, __builtin_assume_aligned(box + 128 * r + ((c ^ r % 8) * 16), 16), sizeof v);
        char *own = (char *)plan->route.base + at * plan->operands.c_element + 16 * c;
        irisi_store_128(irisi_tile_on(ctx, own, (int)to), v, IRIS_CACHE_DEFAULT);
    }
}

/*
 * Puts each row of a staging tile to its owner, into this rank's part of the slots there, whose first row is that of
 * the owner's shard: the copy engine in boxes, as in irisi_tile_put_by_tma, else lanes. Every lane of the wave group
 * calls it.
 */
IRIS_DEVICE void irisi_tile_put_owners(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                       char *stage, const iris_wave_group *group)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (irisi_tile_tma_store(plan)) {
        for (uint32_t i = group->wave; 16 * i < tile->rows; i += group->waves) {
            irisi_tile_put_box_to_owners(ctx, plan, tile, group, tile->n0, 16 * i, stage + 2048 * i);
            if (group->window) {
                irisi_bulk_commit();
                irisi_bulk_pace(group->window - 1);
            }
        }
        irisi_bulk_commit();
        return;
    }
    ctx = (const iris_ctx *)irisi_rematerialize(ctx);
    const uint32_t bytes = tile->cols * plan->operands.c_element;
    const int whole = irisi_tile_whole(plan, tile);
    const uint32_t share = whole ? 1 : irisi_tile_share(bytes);
    const irisi_span rows = irisi_split(tile->rows, group->member / share, group->members / share);
    for (size_t row = rows.first; row < rows.end; row += rows.step) {
        const uint32_t owner = irisi_gemm_owner_of(plan, tile->m0 + (uint32_t)row);
        const irisi_tile_ranks one = {(int)owner, (int)owner};
        const uint64_t up = irisi_gemm_rows_of(plan, owner).first * plan->operands.ldc * plan->operands.c_element;
        char *own = irisi_in_vector_register(irisi_tile_out(plan, tile, (uint32_t)row) - up);
        const char *from = iris_tile_row(plan, tile, stage, (uint32_t)row);
        if (group->stopped && (int)owner != ctx->rank)
            continue;
        if (whole)
            irisi_bulk_put(irisi_tile_on(ctx, own, (int)owner), from, bytes);
        else
            irisi_tile_unstage_row(ctx, own, from, bytes, plan->operands.c_element, one, group->member % share, share);
    }
    irisi_bulk_commit();
}

/**
 * Puts a staging tile to its owners, to all, or into this rank's C. Every lane of the wave group calls it, after a
 * barrier of the waves that filled it.
 */
IRIS_DEVICE void iris_tile_deliver(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, char *stage,
                                   const iris_wave_group *group, irisi_gemm_to to)
{
    if (to == IRISI_GEMM_TO_EVERYONE)
        iris_tile_put_all(ctx, plan, tile, stage, group);
    else if (to == IRISI_GEMM_TO_OWNER)
        irisi_tile_put_owners(ctx, plan, tile, stage, group);
    else
        iris_tile_put(ctx, plan, tile, stage, group, ctx->rank);
}

/* Copies a tile from this rank's C to another's. */
IRIS_DEVICE void irisi_tile_copy(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                 const iris_wave_group *group, int rank)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    const uint32_t bytes = (uint32_t)irisi_gemm_row_bytes(plan, tile->cols);
    const uint32_t share = irisi_tile_share(bytes);
    const irisi_span rows = irisi_split(tile->rows, group->member / share, group->members / share);
    const uint64_t pitch = plan->sums.ldc * plan->sums.c_element;
    char *first = irisi_tile_in_c(plan, tile, 0);
    for (size_t row = rows.first; row < rows.end; row += rows.step) {
        char *own = irisi_in_vector_register(first + row * pitch);
        irisi_tile_copy_row((char *)iris_at(ctx, own, rank), own, bytes, plan->sums.c_element, group->member % share,
                            share);
    }
}

/** Puts a tile that stands in this rank's C into C on every other rank. */
IRIS_DEVICE void iris_tile_send(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                const iris_wave_group *group)
{
    for (uint32_t i = 0; i < (uint32_t)ctx->world; i++) {
        const int rank = irisi_tile_target(ctx, tile, i);
        if (rank != ctx->rank && !group->stopped)
            irisi_tile_copy(ctx, plan, tile, group, rank);
    }
}

/*
 * Puts a tile's elements behind the last whole 16 bytes of its rows, which stand in this rank's C, into C on every
 * other rank, by lanes. Every lane of the wave group calls it.
 */
IRIS_DEVICE void irisi_tile_send_rest(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                      const iris_wave_group *group)
{
    iris_tile rest = *tile;
    rest.cols = irisi_tile_rest(plan, tile);
    rest.n0 += tile->cols - rest.cols;
    if (rest.cols > 0)
        iris_tile_send(ctx, plan, &rest, group);
}

/**
 * Raises the tile's flag on this rank: the tile stands in this rank's C. After iris_tile_store; every lane of the wave
 * group calls it.
 */
IRIS_DEVICE void iris_tile_flag(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, uint64_t epoch,
                                iris_wave_group *group)
{
    irisi_bulk_arrived();
    irisi_drain();
    iris_wave_group_sync(group);
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    if (group->member == 0)
        irisi_raise(ctx, irisi_exchange_flag(plan, tile->index), epoch, IRIS_SIGNAL_SET, ctx->rank);
}

/** Waits until another wave group has called iris_tile_flag for the tile. Every lane of the wave group calls it. */
IRIS_DEVICE void iris_tile_await(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile, uint64_t epoch,
                                 iris_wave_group *group)
{
    if (group->wave == 0)
        irisi_wait_signal(ctx, irisi_exchange_flag(plan, tile->index), IRISI_GE, epoch, ctx->rank);
    iris_wave_group_sync(group);
}

/**
 * The wave group has filled a staging tile, and may put it after this call. Every lane of the wave group calls it. In
 * boxes each wave puts what it has written itself, so that waves need not meet.
 */
IRIS_DEVICE void iris_tile_staged(const iris_gemm_plan *plan, iris_wave_group *group)
{
    irisi_bulk_written();
    if (irisi_tile_tma_store(plan))
        iris_sync_wave();
    else
        iris_wave_group_sync(group);
}

/**
 * The staging tile of the wave group's n-th piece; waits until the piece that was in it before has left it. Every lane
 * of the wave group calls it.
 */
IRIS_DEVICE char *iris_tile_stage(const iris_gemm_plan *plan, char *stages, uint32_t n, iris_wave_group *group)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    irisi_bulk_reusable(plan->machine.slots > 1);
    if (irisi_tile_tma_store(plan))
        iris_sync_wave();
    else
        iris_wave_group_sync(group);
    return stages + n % plan->machine.slots * plan->machine.stage_bytes;
}

/*
 * Raises `done` on every peer by so many units: this rank's tiles of so many units have arrived there. Every lane of
 * the wave group calls it, once all waves that put the tiles know that they have arrived.
 */
IRIS_DEVICE void irisi_tile_notify_units(const iris_ctx *ctx, const iris_gemm_plan *plan, uint32_t units,
                                         const iris_wave_group *group)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    for (int rank = (int)group->member; rank < ctx->world; rank += (int)group->members)
        if (rank != ctx->rank)
            irisi_raise(ctx, irisi_exchange_done(plan, ctx->rank), units, IRIS_SIGNAL_ADD, rank);
}

/* Tells the owners of a tile's rows, this rank too if it is one. Every lane of the wave group calls it; likewise. */
IRIS_DEVICE void irisi_tile_notify_owners(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                          const iris_wave_group *group)
{
    plan = (const iris_gemm_plan *)irisi_rematerialize(plan);
    const uint32_t step = irisi_in_vector_register_u32(group->members);
    for (int rank = (int)group->member; rank < ctx->world; rank += (int)step) {
        const iris_gemm_rows rows = irisi_gemm_rows_of(plan, (uint32_t)rank);
        if (rows.first < tile->m0 + tile->rows && rows.first + rows.count > tile->m0) {
            const uint32_t below = tile->m0 / plan->tiling.tile_m - rows.first / plan->tiling.tile_m;
            irisi_raise(ctx, irisi_exchange_partial(plan, (uint32_t)ctx->rank, below), irisi_tile_units(plan, tile),
                        IRIS_SIGNAL_ADD, rank);
        }
    }
}

/* What the event of a tile says that goes to each other rank, or once to the owners of its rows: all bytes of it. */
IRIS_DEVICE uint64_t irisi_trace_sent_bytes(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                            irisi_gemm_to to)
{
    return tile->rows * irisi_gemm_row_bytes(plan, tile->cols) *
           (to == IRISI_GEMM_TO_OWNER ? 1 : (uint32_t)ctx->world - 1);
}

/* Waits until the tile's puts have arrived, and tells whom it was put to. Every lane of the wave group calls it. */
IRIS_DEVICE void irisi_tile_notify_to(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                      iris_wave_group *group, irisi_gemm_to to)
{
    const uint64_t begun = irisi_trace_begin(ctx);
    irisi_bulk_arrived();
    irisi_drain();
    iris_wave_group_sync(group);
    if (to == IRISI_GEMM_TO_OWNER)
        irisi_tile_notify_owners(ctx, plan, tile, group);
    else
        irisi_tile_notify_units(ctx, plan, irisi_tile_units(plan, tile), group);
    if (IRISI_TRACE && group->member == 0)
        irisi_trace_note(ctx, begun, IRIS_TRACE_GEMM_SEND, ctx->rank, NULL, irisi_trace_sent_bytes(ctx, plan, tile, to),
                         irisi_tile_position(tile));
}

/**
 * Waits until the tile's puts have arrived, and tells every peer. Every lane of the wave group calls it, after its
 * puts.
 */
IRIS_DEVICE void iris_tile_notify(const iris_ctx *ctx, const iris_gemm_plan *plan, const iris_tile *tile,
                                  iris_wave_group *group)
{
    irisi_tile_notify_to(ctx, plan, tile, group, IRISI_GEMM_TO_EVERYONE);
}
/** @} */

#endif
#endif
