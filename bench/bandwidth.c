/* SPDX-License-Identifier: MIT */
/*
 * bandwidth.c: loads, stores, puts, gets and copies between one pair of ranks, and from or to all at once, beside
 * hand-written kernels and the copy engine of the same run. bench/README.md says how it measures.
 */
#include "bench.h"
#include "hand.h"
#include "runtime.h"

#define BENCH_DTYPE u8
#define BENCH_CTYPE uint8_t
#include "moves.h"
#define BENCH_DTYPE bf16
#define BENCH_CTYPE iris_bf16
#include "moves.h"
#define BENCH_DTYPE u32
#define BENCH_CTYPE uint32_t
#include "moves.h"
#define BENCH_DTYPE f32
#define BENCH_CTYPE float
#include "moves.h"
#define BENCH_DTYPE f64
#define BENCH_CTYPE double
#include "moves.h"

/* The same everywhere in a launch; `op` is a constant. */
IRIS_DEVICE void move(const move_args *a, move_op op)
{
    if (a->pair && a->ctx.rank != 0)
        return;
    switch (a->dtype) {
    case IRIS_U8: move_u8(a, op); break;
    case IRIS_BF16: move_bf16(a, op); break;
    case IRIS_U32: move_u32(a, op); break;
    case IRIS_F32: move_f32(a, op); break;
    default: move_f64(a, op); break;
    }
}

IRIS_KERNEL(put, move_args, a, 1024) { move(a, MOVE_PUT); }
IRIS_KERNEL(get, move_args, a, 1024) { move(a, MOVE_GET); }
IRIS_KERNEL(copy, move_args, a, 1024) { move(a, MOVE_COPY); }
IRIS_KERNEL(store, move_args, a, 1024) { move(a, MOVE_STORE); }
IRIS_KERNEL(load, move_args, a, 1024) { move(a, MOVE_LOAD); }
IRIS_KERNEL(put_2d, move_args, a, 1024) { move(a, MOVE_PUT_2D); }
IRIS_KERNEL(get_2d, move_args, a, 1024) { move(a, MOVE_GET_2D); }
IRIS_KERNEL(tile_load, move_args, a, 1024)
{
    const int64_t first = a->peer * (int64_t)(a->bytes / (4 * TENSOR_COLUMNS)); /* the peer's */
    if (a->ctx.rank != 0)
        return;
    for (size_t tile = iris_workgroup(); tile < hand_tiles(a); tile += iris_workgroups()) {
        const hand_tile t = hand_tile_of(tile);
        const int64_t index[2] = {first + (int64_t)t.row, (int64_t)t.column};
        uint32_t *to = (uint32_t *)(void *)(a->dst + a->at) + t.row * TENSOR_COLUMNS + t.column;
        iris_tensor_tile_load_u32_wg(&a->ctx, &a->tensor, index, TILE_ROWS, TILE_COLUMNS, to, TENSOR_COLUMNS);
    }
}
IRIS_KERNEL(all_store, move_args, a, 1024) { move(a, MOVE_ALL_STORE); }
IRIS_KERNEL(all_load, move_args, a, 1024) { move(a, MOVE_ALL_LOAD); }

IRIS_KERNEL(hand, move_args, a, 1024)
{
    if (a->ctx.rank == 0)
        hand_move(a, 1, 4);
}
IRIS_KERNEL(hand_deep, move_args, a, 1024)
{
    if (a->ctx.rank == 0)
        hand_move(a, 1, 8);
}
IRIS_KERNEL(hand_tiles_of_peer, move_args, a, 1024)
{
    if (a->ctx.rank == 0)
        hand_load_tiles(a);
}
IRIS_KERNEL(hand_all, move_args, a, 1024) { hand_move(a, a->ctx.world - 1, 2); }
IRIS_KERNEL(hand_all_deep, move_args, a, 1024) { hand_move(a, a->ctx.world - 1, 4); }

typedef struct move_case {
    const char *name;
    irisi_kernel kernel;
    int all;  /* every rank at once, from or to every other */
    int pull; /* the data comes from the peer */
    int hand; /* a ceiling itself */
    irisi_kernel by_hand; /* beside it; null: the plain kernel by hand */
} move_case;

typedef struct move_grid {
    uint32_t workgroups, lanes;
} move_grid;

typedef struct move_run {
    bench *b;
    move_args args;
    bench_kernel kernel;
} move_run;

static iris_status submit_move(iris_world *w, void *arg, iris_stream stream, int turn)
{
    move_run *r = (move_run *)arg;
    r->args.at = hand_place(&r->args, turn);
    r->args.tensor.data = r->args.src + r->args.at;
    return bench_submit_kernel(w, &r->kernel, stream, turn);
}

/* Collective: whether the last turn's messages lie where they should. */
static int all_arrived(bench *b, const move_args *a, const move_case *c)
{
    const int rank = iris_rank(b->w);
    int ok = 1;
    if (c->all)
        for (int from = 0; from < iris_world_size(b->w); from++)
            ok &= from == rank || hand_arrived(b->w, a, a->dst + (size_t)from * a->slot, from);
    else if (rank == (c->pull ? 0 : a->ctx.world > 1))
        ok = hand_arrived(b->w, a, a->dst, c->pull ? a->peer : 0);
    return iris_bench_all_ok(b->w, ok);
}

/* Times a kernel and looks at what it moved. Negative when it failed. */
static double time_moves(move_run *r, const move_case *c, irisi_kernel kernel, const char *name, move_grid g, int *ok)
{
    if (iris_memset(r->b->w, r->args.dst, 0xEE, (c->all ? (size_t)r->args.ctx.world : 1) * r->args.slot) != IRIS_OK)
        return -1;
    r->kernel.kernel = kernel;
    r->kernel.name = name;
    r->kernel.args = &r->args;
    r->kernel.bytes = sizeof r->args;
    r->kernel.cfg = iris_grid(g.workgroups, g.lanes);
    const double us = bench_time(r->b, name, submit_move, r);
    *ok &= us < 0 || all_arrived(r->b, &r->args, c);
    return us;
}

static int run_row(move_run *r, const move_case *c, const char *dtype, size_t bytes, move_grid g, size_t piece)
{
    const char *by_hand = c->all ? "hand_all" : "hand";
    const size_t part = ((bytes + g.workgroups - 1) / g.workgroups + 15) / 16 * 16;
    iris_bench_row row;
    memset(&row, 0, sizeof row);
    r->args.pair = !c->all;
    r->args.bytes = bytes;
    r->args.piece = piece && piece < part ? piece : part;
    hand_aim(r->b->w, &r->args, c->all, c->pull);
    row.ok = 1;
    row.us = time_moves(r, c, c->kernel, c->name, g, &row.ok);
    if (row.us < 0)
        return 1;
    row.name = c->name, row.dtype = dtype;
    row.variant = c->all ? "all" : piece || c->hand ? "pair" : "pair_parts";
    row.bytes = bytes * (c->all ? (size_t)(r->args.ctx.world - 1) : 1);
    row.gbps = 1e-3 * (double)row.bytes / row.us;
    row.workgroups = (int)g.workgroups, row.lanes = (int)g.lanes;
    if (!c->hand) {
        const irisi_kernel k = c->by_hand ? c->by_hand : c->all ? IRISI_KERNEL_PTR(hand_all) : IRISI_KERNEL_PTR(hand);
        const double us = time_moves(r, c, k, by_hand, g, &row.ok);
        if (us < 0)
            return 1;
        row.ceiling = 1e-3 * (double)row.bytes / us;
    }
    iris_bench_put(&r->b->file, &row);
    return 0;
}

/* What the copy engine does with the same pair, if there is one. */
static int run_copy_engine(move_run *r, size_t bytes)
{
#if BENCH_HAS_RUNTIME
    for (int pull = 0; pull < 2; pull++) {
        move_case c;
        bench_copy copy;
        iris_bench_row row;
        memset(&c, 0, sizeof c);
        memset(&row, 0, sizeof row);
        c.pull = pull;
        r->args.bytes = bytes;
        hand_aim(r->b->w, &r->args, c.all, c.pull);
        copy.to = r->args.to[0], copy.from = r->args.from[0];
        copy.bytes = iris_rank(r->b->w) == 0 ? bytes : 4; /* the others copy a word */
        copy.places = iris_rank(r->b->w) == 0 && bytes >= 256 ? hand_places(&r->args) : 1;
        if (iris_rank(r->b->w) != 0)
            copy.to = copy.from = r->args.src;
        if (iris_memset(r->b->w, r->args.dst, 0xEE, r->args.slot) != IRIS_OK)
            return 1;
        row.us = bench_time(r->b, "copy engine", bench_submit_copy, &copy);
        if (row.us < 0)
            return 1;
        r->args.at = bytes < 256 ? 0 : (size_t)(r->b->o->warmup + r->b->o->repeats - 1) % hand_places(&r->args) * bytes;
        row.ok = all_arrived(r->b, &r->args, &c);
        row.name = pull ? "copy_engine_pull" : "copy_engine_push", row.dtype = "u8", row.variant = "pair";
        row.bytes = bytes, row.gbps = 1e-3 * (double)bytes / row.us;
        iris_bench_put(&r->b->file, &row);
    }
#else
    (void)r, (void)bytes;
#endif
    return 0;
}

static const move_case cases[] = {
    {"put", IRISI_KERNEL_PTR(put), 0, 0, 0, NULL},
    {"get", IRISI_KERNEL_PTR(get), 0, 1, 0, NULL},
    {"copy", IRISI_KERNEL_PTR(copy), 0, 0, 0, NULL},
    {"store", IRISI_KERNEL_PTR(store), 0, 0, 0, NULL},
    {"load", IRISI_KERNEL_PTR(load), 0, 1, 0, NULL},
    {"put_2d", IRISI_KERNEL_PTR(put_2d), 0, 0, 0, NULL},
    {"get_2d", IRISI_KERNEL_PTR(get_2d), 0, 1, 0, NULL},
    {"tile_load", IRISI_KERNEL_PTR(tile_load), 0, 1, 0, IRISI_KERNEL_PTR(hand_tiles_of_peer)},
    {"all_store", IRISI_KERNEL_PTR(all_store), 1, 0, 0, NULL},
    {"all_load", IRISI_KERNEL_PTR(all_load), 1, 1, 0, NULL},
    {"hand_push_deep", IRISI_KERNEL_PTR(hand_deep), 0, 0, 1, NULL},
    {"hand_pull_deep", IRISI_KERNEL_PTR(hand_deep), 0, 1, 1, NULL},
    {"hand_push_deep", IRISI_KERNEL_PTR(hand_all_deep), 1, 0, 1, NULL},
    {"hand_pull_deep", IRISI_KERNEL_PTR(hand_all_deep), 1, 1, 1, NULL},
};

/* 1 where a message is whole tiles, and whole rows of them. */
static int has_tiles(size_t bytes) { return bytes > 0 && bytes % (4 * TILE_ROWS * TENSOR_COLUMNS) == 0; }

/* The tensor whose shards the sources are. Collective. */
static iris_status lay_tensor(move_run *r, size_t bytes)
{
    iris_tensor_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.dtype = IRIS_U32, layout.dims = 2;
    layout.size[0] = (int64_t)(bytes / (4 * TENSOR_COLUMNS)) * r->args.ctx.world;
    layout.size[1] = TENSOR_COLUMNS;
    layout.parts[0] = r->args.ctx.world;
    return iris_tensor_wrap(r->b->w, &r->args.tensor, &layout, r->args.src, bytes);
}

/* Grids worth a look at a message size: the sweep over workgroups is at 64 MiB. */
static size_t grids_of(size_t bytes, const move_grid **out)
{
    static const move_grid small[] = {{1, 256}, {1, 1024}, {4, 256}, {16, 1024}};
    static const move_grid middle[] = {{4, 1024}, {8, 1024}, {16, 1024}, {64, 256}, {132, 256}, {264, 256}};
    static const move_grid sweep[] = {{1, 1024}, {2, 1024},  {4, 1024}, {8, 1024},  {12, 1024}, {16, 512}, {16, 1024},
                                      {32, 512}, {32, 1024}, {64, 256}, {132, 256}, {132, 512}, {264, 256}};
    static const move_grid large[] = {{8, 1024}, {16, 1024}, {64, 256}, {132, 256}, {132, 512}, {264, 256}};
    *out = bytes <= 1u << 16 ? small : bytes == 64u << 20 ? sweep : bytes > 64u << 20 ? large : middle;
    return bytes <= 1u << 16    ? sizeof small / sizeof *small
           : bytes == 64u << 20 ? sizeof sweep / sizeof *sweep
           : bytes > 64u << 20  ? sizeof large / sizeof *large
                                : sizeof middle / sizeof *middle;
}

/* u32 goes through everything, f32 through all sizes in two grids, the others are there at 64 MiB (or the largest). */
static int worth(const bench_options *o, const char *dtype, size_t bytes, move_grid g)
{
    if (o->dtype)
        return strcmp(o->dtype, dtype) == 0;
    const size_t usual = o->max_bytes < 64u << 20 ? o->max_bytes : 64u << 20;
    return strcmp(dtype, "u32") == 0 ||
           ((strcmp(dtype, "f32") == 0 || bytes == usual) && (g.workgroups == 132 || g.lanes == 1024) &&
            (g.workgroups == 132 || g.workgroups == 16));
}

static int run_size(move_run *r, size_t bytes)
{
    static const struct {
        const char *name;
        int dtype;
    } dtypes[] = {{"u32", IRIS_U32}, {"f32", IRIS_F32}, {"u8", IRIS_U8}, {"bf16", IRIS_BF16}, {"f64", IRIS_F64}};
    const bench_options *o = r->b->o;
    const move_grid *grids;
    const size_t n = grids_of(bytes, &grids);
    const int tiles = has_tiles(bytes);
    const int host = iris_compute_units(r->b->w) < 64 && strcmp(iris_arch_name(r->b->w), "host") == 0;
    if (tiles)
        IRIS_TRY(lay_tensor(r, bytes));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t g = 0; g < n; g++) {
                if ((o->only && strcmp(o->only, cases[c].name) != 0) || (cases[c].hand && (d > 0 || o->dtype)) ||
                    !worth(o, dtypes[d].name, bytes, grids[g]) || (host && g > 1) ||
                    (cases[c].all && r->args.ctx.world < 2) || (cases[c].by_hand && (!tiles || d > 0)))
                    continue;
                if (iris_bench_late(&r->b->file))
                    return 0;
                r->args.dtype = dtypes[d].dtype;
                if (run_row(r, &cases[c], dtypes[d].name, bytes, grids[g], o->piece))
                    return 1;
                if (c < 3 && d == 0 && o->piece && bytes == 64u << 20 &&
                    run_row(r, &cases[c], dtypes[d].name, bytes, grids[g], 0))
                    return 1;
            }
    const int engine = !o->only || strcmp(o->only, "copy_engine") == 0;
    return engine && !iris_bench_late(&r->b->file) ? run_copy_engine(r, bytes) : 0;
}

static int rank_main(iris_world *w, void *arg)
{
    const bench_options *o = (const bench_options *)arg;
    bench b;
    move_run r;
    memset(&r, 0, sizeof r);
    if (bench_open(&b, w, o, "bandwidth"))
        return 1;
    r.b = &b;
    r.args.ctx = iris_device_ctx(w);
    r.args.slot = o->max_bytes < 16384 ? 16384 : o->max_bytes;
    r.args.peer = iris_rank(w) == 0 && iris_world_size(w) > 1 ? 1 : 0;
    r.args.src = (char *)(void *)iris_arange_u32(w, r.args.slot / 4, (uint32_t)iris_rank(w) * 0x01000193u, 1);
    r.args.dst = (char *)iris_malloc(w, r.args.slot * (size_t)iris_world_size(w));
    IRIS_TRY(iris_barrier(w));
    int failed = 0;
    /* 64 MiB first: what matters most is there even when the time runs out. */
    const size_t first = (size_t)64 << 20;
    if (first >= o->min_bytes && first <= o->max_bytes)
        failed = run_size(&r, first);
    for (size_t bytes = o->max_bytes; bytes >= o->min_bytes && !failed; bytes /= 4)
        if (bytes != first)
            failed = run_size(&r, bytes / 4 * 4);
    b.file.cut = failed ? 2 : b.file.cut;
    return iris_bench_close(&b.file) || failed;
}

int main(int argc, char **argv)
{
    bench_options o;
    iris_config config;
    memset(&o, 0, sizeof o);
    memset(&config, 0, sizeof config);
    o.ranks = 2, o.repeats = 20, o.warmup = 3, o.min_bytes = 4, o.max_bytes = 1 << 20, o.piece = 1 << 16;
    o.laps = 1, o.seconds = 600;
    bench_parse(&o, argc, argv, "bandwidth: how fast data goes from rank to rank");
    config.heap_bytes = (size_t)(o.ranks + 1) * (o.max_bytes < 16384 ? 16384 : o.max_bytes) + (8u << 20);
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
