/* SPDX-License-Identifier: MIT */
/*
 * Global alignment of two sequences by Needleman and Wunsch. The matrix of scores is cut into bands of columns: one for
 * each rank, and of those one for each computing workgroup. A band is computed in tiles of some rows, from the top to
 * the bottom, so that the tiles that are in work lie on a diagonal. A workgroup begins a tile when the column to its
 * left is there; a workgroup of each rank that only sends hands the rank's last column to the next rank, tile by tile,
 * while the others compute the tiles below.
 */
#include <iris/iris.h>
#include <iris/init.h>

#include "../plane.h"

enum { MATCH = 2, MISMATCH = -1, GAP = -2, BANDS = 3, LANES = 64 };

typedef struct {
    iris_ctx ctx;
    uint32_t rows, columns, tile;
    const uint8_t *down, *across; /* the two sequences, whole */
    int32_t *lines;               /* own: for each band a line of scores above a tile, and one below */
    int32_t *ends;                /* own: for each band its last column */
    int32_t *inbox;               /* symmetric: the last column of the rank before */
    iris_signal *computed;        /* own: one for each band, tiles computed */
    iris_signal *arrived;         /* symmetric: tiles of the inbox */
} align_args;

/* The columns of a band: first + 1 to last of the matrix, whose column 0 is that of an empty sequence. */
typedef struct {
    uint32_t first, last;
} band;

IRIS_HOST_DEVICE band band_of(uint32_t columns, uint32_t bands, uint32_t i)
{
    band b;
    b.first = (uint32_t)((uint64_t)columns * i / bands), b.last = (uint32_t)((uint64_t)columns * (i + 1) / bands);
    return b;
}

/* The score of an element from those on its left, above it, and on the left above it. */
IRIS_HOST_DEVICE int32_t score_of(int32_t left, int32_t above, int32_t diagonal, int equal)
{
    const int32_t aligned = diagonal + (equal ? MATCH : MISMATCH), gap = (left > above ? left : above) + GAP;
    return aligned > gap ? aligned : gap;
}

/* A tile: rows `row` + 1 to `row` + `rows` of a band. */
typedef struct {
    band columns;
    uint32_t row, rows;
    const int32_t *above; /* the line above it, by columns of the band */
    const int32_t *left;  /* the column on its left, from row 1 of the matrix on; null: the matrix's edge */
    int32_t *below, *end; /* receive its last line and its last column */
} tile;

/* The element on the left of row `row`, which may be row 0. */
IRIS_DEVICE int32_t left_of(const tile *t, uint32_t row)
{
    return row == 0 ? GAP * (int32_t)t->columns.first : t->left ? t->left[row - 1] : GAP * (int32_t)row;
}

/*
 * Computes a tile by one workgroup, diagonal by diagonal: on a diagonal no element depends on another. Scores of three
 * diagonals stand in shared memory, by rows of the tile.
 */
IRIS_DEVICE void compute_tile(const align_args *a, const tile *t)
{
    int32_t *scores = (int32_t *)iris_shared();
    const uint32_t width = t->columns.last - t->columns.first;
    for (uint32_t d = 0; d + 1 < t->rows + width; d++) {
        int32_t *now = scores + d % 3 * a->tile;
        const int32_t *one_ago = scores + (d + 2) % 3 * a->tile, *two_ago = scores + (d + 1) % 3 * a->tile;
        for (uint32_t i = iris_wg_lane(); i < t->rows; i += iris_wg_lanes()) {
            const uint32_t j = d - i, row = t->row + i;
            if (i > d || j >= width)
                continue;
            const int32_t left = j > 0 ? one_ago[i] : left_of(t, row + 1);
            const int32_t above = i > 0 ? one_ago[i - 1] : t->above[j];
            const int32_t diagonal = j == 0 ? left_of(t, row) : i > 0 ? two_ago[i - 1] : t->above[j - 1];
            now[i] = score_of(left, above, diagonal, a->down[row] == a->across[t->columns.first + j]);
            if (i + 1 == t->rows)
                t->below[j] = now[i];
            if (j + 1 == width)
                t->end[row] = now[i];
        }
        iris_sync_wg();
    }
    for (uint32_t i = iris_wg_lane(); i < t->rows && width == 0; i += iris_wg_lanes())
        t->end[t->row + i] = left_of(t, t->row + i + 1); /* a band without columns hands on what it gets */
}

/* All tiles of a band, by one workgroup. */
IRIS_DEVICE void compute_band(const align_args *a, uint32_t which)
{
    const uint32_t before = (uint32_t)a->ctx.rank * BANDS + which, room = a->columns / BANDS + 1;
    int32_t *lines = a->lines + (size_t)which * 2 * room;
    uint64_t done = 0;
    tile t;
    t.columns = band_of(a->columns, (uint32_t)a->ctx.world * BANDS, before);
    t.left = which > 0 ? a->ends + (size_t)(which - 1) * a->rows : before > 0 ? a->inbox : NULL;
    t.end = a->ends + (size_t)which * a->rows;
    for (uint32_t j = iris_wg_lane(); t.columns.first + j < t.columns.last; j += iris_wg_lanes())
        lines[j] = GAP * (int32_t)(t.columns.first + j + 1); /* row 0 */
    iris_sync_wg();
    for (t.row = 0; t.row < a->rows; t.row += a->tile, done++) {
        t.rows = a->rows - t.row < a->tile ? a->rows - t.row : a->tile;
        t.above = lines + done % 2 * room, t.below = lines + (done + 1) % 2 * room;
        if (before > 0 && !iris_wait_ge_wg(&a->ctx, which > 0 ? a->computed + which - 1 : a->arrived, done + 1))
            return; /* given up: the world has stopped */
        compute_tile(a, &t);
        iris_signal_add_wg(&a->ctx, a->computed + which, 1, a->ctx.rank);
    }
}

/* Hands the rank's last column to the next rank. Every tile has its own place there: nothing has to be given back. */
IRIS_DEVICE void send_column(const align_args *a, int to)
{
    const int32_t *end = a->ends + (size_t)(BANDS - 1) * a->rows;
    uint64_t done = 0;
    for (uint32_t row = 0; row < a->rows; row += a->tile, done++) {
        if (!iris_wait_ge_wg(&a->ctx, a->computed + BANDS - 1, done + 1))
            return;
        iris_put_signal_i32_wg(&a->ctx, a->inbox + row, end + row, a->rows - row < a->tile ? a->rows - row : a->tile,
                               a->arrived, 1, IRIS_SIGNAL_ADD, to);
    }
}

IRIS_KERNEL(align, align_args, a, LANES)
{
    if (iris_workgroup() < BANDS)
        compute_band(a, iris_workgroup());
    else if (a->ctx.rank + 1 < a->ctx.world)
        send_column(a, a->ctx.rank + 1);
}

/* The sequences, and the last row of scores as a plain loop over the matrix finds it: the oracle. */
typedef struct {
    const options *o;
    uint8_t *down, *across;
    int32_t *last; /* from column 0 on */
} plain;

/* The second sequence is the first one with other letters here and there, and one letter more in each eleven. */
static int make_sequences(plain *p)
{
    const options *o = p->o;
    p->down = (uint8_t *)malloc(o->rows), p->across = (uint8_t *)malloc(o->columns);
    p->last = (int32_t *)malloc(((size_t)o->columns + 1) * sizeof *p->last);
    if (!p->down || !p->across || !p->last)
        return 0;
    for (uint32_t i = 0; i < o->rows; i++)
        p->down[i] = (uint8_t) "ACGT"[random_at(o->seed, i) % 4];
    for (uint32_t j = 0; j < o->columns; j++) {
        const uint64_t z = random_at(o->seed, (1ull << 32) + j);
        const uint32_t from = j - j / 11;
        p->across[j] = z % 5 == 0 || from >= o->rows ? (uint8_t) "ACGT"[z / 5 % 4] : p->down[from];
    }
    return 1;
}

static void plain_align(plain *p)
{
    for (uint32_t j = 0; j <= p->o->columns; j++)
        p->last[j] = GAP * (int32_t)j;
    for (uint32_t i = 1; i <= p->o->rows; i++) {
        int32_t diagonal = p->last[0];
        p->last[0] = GAP * (int32_t)i;
        for (uint32_t j = 1; j <= p->o->columns; j++) {
            const int32_t above = p->last[j];
            p->last[j] = score_of(p->last[j - 1], above, diagonal, p->down[i - 1] == p->across[j - 1]);
            diagonal = above;
        }
    }
}

static int prepare(iris_world *w, const plain *p, align_args *a)
{
    const options *o = p->o;
    memset(a, 0, sizeof *a);
    a->ctx = iris_device_ctx(w);
    a->rows = o->rows, a->columns = o->columns, a->tile = o->number;
    uint8_t *down = iris_empty_u8(w, o->rows), *across = iris_empty_u8(w, o->columns);
    a->down = down, a->across = across;
    a->lines = iris_empty_i32(w, BANDS * 2 * (o->columns / BANDS + (size_t)1));
    a->ends = iris_empty_i32(w, (size_t)BANDS * o->rows);
    a->inbox = iris_empty_i32(w, o->rows);
    a->computed = iris_signals(w, BANDS);
    a->arrived = iris_signals(w, 1);
    IRIS_TRY(down && across && a->lines && a->ends && a->inbox && a->computed && a->arrived ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_upload_u8(w, down, p->down, o->rows));
    IRIS_TRY(iris_upload_u8(w, across, p->across, o->columns));
    return 0;
}

/* How many scores in the last row of the own bands are not the plain loop's. */
static int check(iris_world *w, const plain *p, const align_args *a, uint32_t *wrong)
{
    const options *o = p->o;
    const uint32_t tiles = (o->rows + o->number - 1) / o->number, room = o->columns / BANDS + 1;
    int32_t *found = (int32_t *)malloc(room * sizeof *found);
    IRIS_TRY(found ? IRIS_OK : IRIS_ERR_NOMEM);
    for (uint32_t i = 0; i < BANDS; i++) {
        const band b = band_of(o->columns, (uint32_t)(o->ranks * BANDS), (uint32_t)iris_rank(w) * BANDS + i);
        IRIS_TRY(iris_download_i32(w, found, a->lines + ((size_t)2 * i + tiles % 2) * room, b.last - b.first));
        for (uint32_t j = b.first; j < b.last; j++)
            *wrong += found[j - b.first] != p->last[j + 1];
    }
    free(found);
    return 0;
}

static int rank_main(iris_world *w, void *arg)
{
    const plain *p = (const plain *)arg;
    const options *o = p->o;
    iris_launch_config grid = iris_cooperative(BANDS + 1, LANES);
    align_args a;
    uint32_t wrong = 0;
    grid.shared_bytes = 3 * o->number * (uint32_t)sizeof(int32_t);
    if (prepare(w, p, &a))
        return 1;
    IRIS_TRY(iris_barrier(w)); /* everyone has created */
    IRIS_TRY(iris_launch(w, align, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    if (check(w, p, &a, &wrong))
        return 1;
    /* The last rank's last column ends with the score of both sequences, whole. */
    const int32_t score = iris_peek_i32(w, a.ends + (size_t)BANDS * o->rows - 1);
    const int last = iris_rank(w) + 1 == iris_world_size(w);
    wrong += last && score != p->last[o->columns];
    if (last)
        printf("%d ranks aligned %u letters with %u: score %d, by a plain loop %d\n", iris_world_size(w), o->rows,
               o->columns, (int)score, (int)p->last[o->columns]);
    if (wrong)
        printf("rank %d: %u scores in the last row are wrong\n", iris_rank(w), wrong);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    static const command c = {"Aligns two sequences, whose matrix of scores is cut into a band of columns a rank.",
                              "letters of the first and of the second sequence",
                              "tile",
                              "rows of a tile",
                              1024,
                              {4, 301, 257, 32, 1}};
    options o;
    plain p;
    iris_config config;
    const int status = parse_options(&o, argc, argv, &c);
    if (status >= 0)
        return status;
    memset(&p, 0, sizeof p);
    memset(&config, 0, sizeof config);
    p.o = &o;
    const size_t bytes = ((size_t)o.rows * (BANDS + 3) + (size_t)o.columns * 4) * sizeof(int32_t) + (4u << 20);
    config.heap_bytes = bytes > (64u << 20) ? bytes : 0;
    printf("platform: %s\n", iris_platform_name());
    if (!make_sequences(&p))
        return fprintf(stderr, "%s: no memory for the sequences\n", argv[0]), 1;
    plain_align(&p);
    const int failed = iris_spawn_config(o.ranks, rank_main, &p, &config);
    free(p.down), free(p.across), free(p.last);
    return failed;
}
