/* SPDX-License-Identifier: MIT */
/*
 * hand.h: moves between ranks as one writes them by hand, and what those and the library's (moves.h) work on.
 *
 *   move_op move_args hand_vec hand_move hand_aim hand_places hand_place
 *   hand_word hand_arrived hand_tiles hand_tile_of hand_load_tiles
 */
#ifndef IRIS_BENCH_HAND_H
#define IRIS_BENCH_HAND_H

#include <iris/gen/put_signal_2d.h>
#include <iris/gen/tensor_access.h>

#include "bench.h"

typedef enum move_op {
    MOVE_PUT,
    MOVE_GET,
    MOVE_COPY,
    MOVE_STORE,
    MOVE_LOAD,
    MOVE_PUT_2D,    /* boxes of rows of BOX_ROW bytes, every other one */
    MOVE_GET_2D,    /* the same, got */
    MOVE_ALL_STORE, /* to every other rank */
    MOVE_ALL_LOAD,  /* from every other rank */
    MOVE_HAND,      /* and what is written by hand: one pair */
    MOVE_HAND_DEEP,
    MOVE_HAND_ALL,
    MOVE_HAND_ALL_DEEP,
    MOVE_OPS
} move_op;

enum { BOX_ROW = 4096 };
enum { TENSOR_COLUMNS = 1024, TILE_ROWS = 64, TILE_COLUMNS = 256 }; /* of u32: rows of 4 KiB, tiles of 64 KiB */
enum { VECTORS = 8 }; /* loads that a lane of the user's loop has under way */

/* 16 bytes as a hand-written kernel would move them. */
typedef struct hand_vec {
    IRISI_ALIGN(16) uint32_t w[4];
} hand_vec;

typedef struct move_args {
    iris_ctx ctx;
    char *src, *dst; /* symmetric: dst has a place of `slot` bytes for each rank */
    size_t at;       /* where this turn's message begins in both */
    size_t bytes;    /* of the message */
    size_t piece;    /* bytes that a workgroup moves at a time */
    size_t slot;
    char *from[BENCH_RANKS], *to[BENCH_RANKS]; /* by hand: translated on the host */
    iris_tensor tensor;                        /* split by rows; `src` is this rank's shard */
    int dtype;
    int pair, peer;
} move_args;

/*
 * The hand-written kernels: `depth` 16-byte loads, as many stores, the whole grid side by side; addresses made on the
 * host. To or from several ranks every element goes to each before the next, so that all links are busy from the first.
 */
IRIS_DEVICE void hand_move(const move_args *a, int peers, const int depth)
{
    const size_t step = iris_grid_lanes(), n = a->bytes / 16;
    size_t i = iris_grid_lane();
    for (; i + (size_t)(depth - 1) * step < n; i += (size_t)depth * step)
        for (int p = 0; p < peers; p++) {
            const hand_vec *from = (const hand_vec *)(const void *)(a->from[p] + a->at);
            hand_vec *to = (hand_vec *)(void *)(a->to[p] + a->at), v[8];
            for (int k = 0; k < depth; k++)
                v[k] = from[i + (size_t)k * step];
            for (int k = 0; k < depth; k++)
                to[i + (size_t)k * step] = v[k];
        }
    for (; i < n; i += step)
        for (int p = 0; p < peers; p++)
            ((hand_vec *)(void *)(a->to[p] + a->at))[i] = ((const hand_vec *)(const void *)(a->from[p] + a->at))[i];
    for (i = 4 * n + iris_grid_lane(); i < a->bytes / 4; i += step)
        for (int p = 0; p < peers; p++)
            ((uint32_t *)(void *)(a->to[p] + a->at))[i] = ((const uint32_t *)(const void *)(a->from[p] + a->at))[i];
}

/* Tile `tile` of the message: its first row and column. */
typedef struct hand_tile {
    size_t row, column;
} hand_tile;
IRIS_DEVICE size_t hand_tiles(const move_args *a) { return a->bytes / (4 * TILE_ROWS * TILE_COLUMNS); }
IRIS_DEVICE hand_tile hand_tile_of(size_t tile)
{
    const size_t across = TENSOR_COLUMNS / TILE_COLUMNS;
    hand_tile t;
    t.row = tile / across * TILE_ROWS, t.column = tile % across * TILE_COLUMNS;
    return t;
}

/*
 * The tiles of the peer's rows by hand: who has a tile, and where, by its row, as equal parts are; four loads of a lane
 * are under way.
 */
IRIS_DEVICE void hand_load_tiles(const move_args *a)
{
    const size_t wide = TILE_COLUMNS / 4, step = iris_wg_lanes(), n = TILE_ROWS * wide;
    const uint32_t each = (uint32_t)(a->bytes / (4 * TENSOR_COLUMNS)); /* rows of a rank */
    for (size_t tile = iris_workgroup(); tile < hand_tiles(a); tile += iris_workgroups()) {
        const hand_tile t = hand_tile_of(tile);
        const uint32_t row = (uint32_t)a->peer * each + (uint32_t)t.row, owner = row / each;
        const size_t first = ((row - owner * each) * (size_t)TENSOR_COLUMNS + t.column) / 4;
        const size_t to_first = (t.row * TENSOR_COLUMNS + t.column) / 4;
        const char *shard = a->src + a->ctx.delta[owner];
        const hand_vec *from = (const hand_vec *)(const void *)(shard + a->at) + first;
        hand_vec *to = (hand_vec *)(void *)(a->to[0] + a->at) + to_first, v[4];
        for (size_t i = iris_wg_lane(); i < n; i += 4 * step) {
            for (size_t k = 0; k < 4; k++)
                if (i + k * step < n)
                    v[k] = from[(i + k * step) / wide * (TENSOR_COLUMNS / 4) + (i + k * step) % wide];
            for (size_t k = 0; k < 4; k++)
                if (i + k * step < n)
                    to[(i + k * step) / wide * (TENSOR_COLUMNS / 4) + (i + k * step) % wide] = v[k];
        }
    }
}

/* Their addresses: with one peer, or with `all`. */
static inline void hand_aim(iris_world *w, move_args *a, int all, int pull)
{
    const int world = iris_world_size(w), rank = iris_rank(w);
    for (int k = 1; k < (all ? world : 2); k++) {
        const int peer = all ? (rank + k) % world : a->peer;
        char *slot = a->dst + (all ? (size_t)(pull ? peer : rank) * a->slot : 0);
        a->from[k - 1] = pull ? (char *)iris_translate(w, a->src, peer) : a->src;
        a->to[k - 1] = pull ? slot : (char *)iris_translate(w, slot, peer);
    }
}

/* Turns go from place to place, so that caches do not serve a message smaller than they are. */
static inline size_t hand_places(const move_args *a)
{
    const size_t stride = a->bytes < 256 ? 256 : a->bytes;
    return a->slot / stride < 64 ? a->slot / stride : 64;
}

/* Where the turn's message begins. */
static inline size_t hand_place(const move_args *a, int turn)
{
    return (size_t)turn % hand_places(a) * (a->bytes < 256 ? 256 : a->bytes);
}

/* What word i of rank `from`'s source holds. */
static inline uint32_t hand_word(int from, size_t i) { return (uint32_t)from * 0x01000193u + (uint32_t)i; }

/* The message that rank `from` sent in the last turn lies at dst: spot checks, every word of small messages. */
static inline int hand_arrived(iris_world *w, const move_args *a, const char *dst, int from)
{
    uint32_t seen[4096];
    const size_t words = a->bytes / 4, step = words / 16 > 4096 ? words / 16 : 4096;
    for (size_t first = 0; first < words; first += step) {
        const size_t count = words - first < 4096 ? words - first : 4096;
        if (iris_memcpy(w, seen, dst + a->at + 4 * first, 4 * count) != IRIS_OK)
            return 0;
        for (size_t i = 0; i < count; i++)
            if (seen[i] != hand_word(from, a->at / 4 + first + i))
                return 0;
    }
    return 1;
}

#endif
