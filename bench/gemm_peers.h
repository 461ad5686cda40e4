/* SPDX-License-Identifier: MIT */
/*
 * gemm_peers.h: what a GEMM with communication is compared with: a BLAS, a collective, and one behind the other on one
 * stream, both contiguous; and a push of as many bytes as the operation sends. A part of gemm_fused.h, behind the
 * launchers of the library's collectives.
 *
 *   gemm_mode gemm_mode_names gemm_peers gemm_peers_open gemm_peers_close
 *   gemm_peers_create gemm_peers_free gemm_peers_can gemm_peers_poison gemm_peers_place
 *   gemm_blas gemm_collective gemm_both gemm_follow gemm_blas_call
 *   gemm_bytes gemm_push gemm_push_poison gemm_pushed_right
 *
 * The BLAS is the vendor's (peer_cublaslt.h), on the host platform a plain loop. The collective is NCCL's (nccl.h), in
 * its default mode or with windows, or the library's own. Where parts are not equal, NCCL's is a group of broadcasts
 * or reductions, and the library has none, but for all_reduce.
 *
 *                    the BLAS writes        the collective             the result
 *   all_scatter      own band in `out`      gathers bands, in place    `out`, in bands; with windows from `in`
 *   reduce_scatter   `in`                   reduces to `out`           `out`
 *   all_reduce       `in`                   reduces to `out`           `out`
 *   all_gather       `result`, of `out`     gathers rows of A, `out`   `result`
 *
 * Behind those of all_scatter the bands may be put into one C, behind those of all_reduce_rmsnorm the residual is added
 * and the rows are normalised: gemm_follow.
 */
#ifndef IRIS_BENCH_GEMM_PEERS_H
#define IRIS_BENCH_GEMM_PEERS_H

#include "gemm_norm.h"
#include "gemm_operands.h"
#include "nccl.h"

/* Whose collective. */
typedef enum gemm_mode { GEMM_NCCL, GEMM_NCCL_WINDOW, GEMM_IRIS, GEMM_MODES } gemm_mode;
static const char *const gemm_mode_names[] = {"nccl", "nccl_window", "iris"};

typedef struct gemm_peers {
    bench *b;
    const gemm_operands *g;
    peer vendor, placed; /* for a product that stands alone, and for the one that the library asks for */
    iris_gemm_blas_call asked[GEMM_MOST_SETS]; /* what that is, for each set */
    int asking; /* more than 0: gemm_blas_call writes down what it is asked for this set, counted from 1, and no more */
    int have_vendor, plain; /* plain: the host platform's loop is the BLAS. Alone it works in GEMM_IRIS's memory */
    bench_nccl nccl;
    int have_nccl;
    iris_channel ch;        /* of the library's collectives */
    int even;               /* 1: every rank's part is as large */
    char *in[GEMM_MODES], *out[GEMM_MODES]; /* null: this mode cannot be */
    char *memory[2], *result;
    char *gathered[GEMM_MODES][GEMM_MOST_SETS]; /* all_gather: A of each set as a mode leaves it; else null */
    char *windows[2];
    size_t window_bytes[2]; /* of each window: as much as the largest shape needs */
} gemm_peers;

/* Bytes of the two buffers for a shape, of windows those of rank 0, which are the most. */
static inline size_t gemm_in_bytes(const gemm_operands *g, int window)
{
    if (gemm_splits_k(g))
        return g->m * g->n * 2;
    if (!window)
        return 256; /* not needed */
    return g->op == GEMM_ALL_GATHER ? (size_t)g->sets * g->a_count * 2 : g->m * g->own.count * 2;
}
static inline size_t gemm_out_bytes(const gemm_operands *g)
{
    return g->op == GEMM_ALL_GATHER ? (size_t)g->sets * g->m * g->k * 2 : g->c_count * 2;
}

/* Bytes that leave a rank, to all others together. Of all_reduce a partial sum and then the finished tile. */
static inline size_t gemm_bytes(const gemm_operands *g, int world, int rank)
{
    const size_t peers = (size_t)world - 1, rows = gemm_part(g->m, (uint32_t)world, (uint32_t)rank).count;
    switch (g->op) {
    case GEMM_ALL_SCATTER:
        return g->m * iris_gemm_band((uint32_t)g->n, (uint32_t)world, (uint32_t)rank).count * 2 * peers;
    case GEMM_REDUCE_SCATTER: return (g->m - rows) * g->n * 2;
    case GEMM_ALL_REDUCE:
    case GEMM_ALL_REDUCE_RMSNORM: return 2 * (g->m * g->n * 2 * peers / (size_t)world);
    default: return rows * g->k * 2 * peers;
    }
}

/* How often the push goes to each peer, and bytes that it takes there each time, in whole words. */
static inline int gemm_push_times(const gemm_operands *g) { return gemm_reduces_all(g) ? 2 : 1; }
static inline size_t gemm_push_each(const gemm_operands *g, int world, int rank)
{
    return world > 1 ? gemm_bytes(g, world, rank) / (size_t)gemm_push_times(g) / (size_t)(world - 1) / 4 * 4 : 0;
}

/* Bytes of each rank's place where a push arrives: the most that one rank sends, in whole pieces of 16 bytes. */
static inline size_t gemm_push_place(const gemm_operands *g, int world)
{
    const size_t first = gemm_push_each(g, world, 0), last = gemm_push_each(g, world, world - 1);
    return ((first > last ? first : last) + 15) / 16 * 16;
}

/* Collective. `bytes`: of each window, 0: none. */
static inline iris_status gemm_peers_open(bench *b, gemm_peers *p, const size_t *bytes)
{
    memset(p, 0, sizeof *p);
    p->b = b;
    p->plain = strcmp(iris_arch_name(b->w), "host") == 0;
    p->have_vendor = iris_bench_all_ok(b->w, peer_open(&p->vendor));
    p->placed = p->vendor;
    p->have_nccl = iris_world_size(b->w) > 1 && bench_nccl_open(b, &p->nccl);
    for (int i = 0; i < 2 && p->have_nccl && bytes[i]; i++)
        p->windows[i] = (char *)bench_nccl_alloc(b, &p->nccl, bytes[i]);
    const iris_status s = iris_collective_channel(b->w, &p->ch, 0);
    return s == IRIS_OK ? iris_barrier(b->w) : s;
}

static inline void gemm_peers_close(gemm_peers *p)
{
    iris_channel_destroy(p->b->w, &p->ch);
    bench_nccl_close(p->b, &p->nccl);
}

/* 1 when there is a BLAS for the shape. */
static inline int gemm_have_blas(const gemm_peers *p) { return p->plain || p->vendor.best >= 0; }

/* 1 when a mode's collective can be for the shape. */
static inline int gemm_peers_can(const gemm_peers *p, int mode)
{
    return p->out[mode] != NULL && iris_world_size(p->b->w) > 1 && (mode != GEMM_IRIS || p->even);
}

/* A plain product of bf16, of which each lane takes elements of C in turn. */
typedef struct gemm_plain_args {
    const iris_bf16 *a, *b;
    iris_bf16 *c;
    int64_t m, n, k, lda, ldb, ldc;
    int b_transposed;
} gemm_plain_args;

IRIS_KERNEL(gemm_plain, gemm_plain_args, g, 64)
{
    for (int64_t at = (int64_t)iris_grid_lane(); at < g->m * g->n; at += (int64_t)iris_grid_lanes()) {
        const int64_t i = at / g->n, j = at % g->n;
        float sum = 0;
        for (int64_t k = 0; k < g->k; k++)
            sum += iris_widen_bf16(g->a[i * g->lda + k]) *
                   iris_widen_bf16(g->b[g->b_transposed ? j * g->ldb + k : k * g->ldb + j]);
        g->c[i * g->ldc + j] = iris_narrow_bf16(sum);
    }
}

/* iris_gemm_args.blas: a gemm_peers' BLAS for what the library asks for. */
static inline int gemm_blas_call(void *arg, const iris_gemm_blas_call *call, iris_stream stream)
{
    gemm_peers *p = (gemm_peers *)arg;
    if (p->asking > 0)
        return p->asked[p->asking - 1] = *call, 0;
    const iris_launch_config grid = iris_grid(4, 64);
    gemm_plain_args g;
    if (!p->plain)
        return peer_gemm(&p->placed, p->placed.best, call->a, call->b, call->c, stream) ? 0 : 1;
    g.a = (const iris_bf16 *)call->a, g.b = (const iris_bf16 *)call->b, g.c = (iris_bf16 *)call->c;
    g.m = call->m, g.n = call->n, g.k = call->k, g.lda = call->lda, g.ldb = call->ldb, g.ldc = call->ldc;
    g.b_transposed = call->b_transposed;
    return (int)iris_launch(p->b->w, gemm_plain, &g, sizeof g, &grid, stream);
}

/* Where a mode's BLAS writes, and what of a set it reads. */
static inline char *gemm_blas_out(const gemm_peers *p, int mode)
{
    switch (p->g->op) {
    case GEMM_ALL_SCATTER:
        return mode == GEMM_NCCL_WINDOW ? p->in[mode] : p->out[mode] + p->g->m * p->g->own.first * 2;
    case GEMM_ALL_GATHER: return p->result;
    default: return p->in[mode];
    }
}
static inline char *const *gemm_blas_a(const gemm_peers *p, int mode)
{
    return p->g->op == GEMM_ALL_GATHER ? p->gathered[mode] : p->g->a;
}

/* A mode's BLAS alone. */
static inline iris_status gemm_blas(const gemm_peers *p, int mode, int set, iris_stream stream)
{
    const gemm_operands *g = p->g;
    const char *a = gemm_blas_a(p, mode)[set];
    char *c = gemm_blas_out(p, mode);
    gemm_plain_args t;
    if (!p->plain)
        return peer_gemm(&p->vendor, p->vendor.best, a, g->b[set], c, stream)
                   ? IRIS_OK
                   : irisi_fail(p->b->w, IRIS_ERR_DEVICE, "the vendor's BLAS refuses the product");
    const iris_launch_config grid = iris_grid(4, 64);
    t.a = (const iris_bf16 *)(const void *)a, t.b = (const iris_bf16 *)(void *)g->b[set];
    t.c = (iris_bf16 *)(void *)c, t.b_transposed = g->transposed;
    t.m = (int64_t)g->m, t.n = (int64_t)g->product_n, t.k = (int64_t)g->product_k;
    t.lda = t.k, t.ldb = g->transposed ? t.k : t.n, t.ldc = t.n;
    return iris_launch(p->b->w, gemm_plain, &t, sizeof t, &grid, stream);
}

/* Elements of rank r's part, and where they begin in what all parts make together. */
static inline gemm_range gemm_peers_part(const gemm_peers *p, int r)
{
    const uint32_t world = (uint32_t)iris_world_size(p->b->w);
    const gemm_operands *g = p->g;
    gemm_range part = gemm_part(g->m, world, (uint32_t)r);
    if (g->op == GEMM_ALL_SCATTER) {
        const iris_gemm_columns band = iris_gemm_band((uint32_t)g->n, world, (uint32_t)r);
        part.first = g->m * band.first, part.count = g->m * band.count;
    } else {
        part.first *= g->op == GEMM_ALL_GATHER ? g->k : g->n;
        part.count *= g->op == GEMM_ALL_GATHER ? g->k : g->n;
    }
    return part;
}

/* What a mode's collective reads of a set, and writes. */
static inline char *gemm_collective_in(const gemm_peers *p, int mode, int set)
{
    if (p->g->op == GEMM_ALL_GATHER)
        return mode == GEMM_NCCL_WINDOW ? p->in[mode] + (size_t)set * p->g->a_count * 2 : p->g->a[set];
    return gemm_blas_out(p, mode);
}
static inline char *gemm_collective_out(const gemm_peers *p, int mode, int set)
{
    return p->g->op == GEMM_ALL_GATHER ? p->gathered[mode][set] : p->out[mode];
}

/* NCCL's way for parts that are not equal: a broadcast or a reduction for each. */
static inline int gemm_nccl_group(const gemm_peers *p, const char *in, char *out, iris_stream stream)
{
    const bench_nccl *n = &p->nccl;
    int error = n->group_start();
    for (int r = 0; r < iris_world_size(p->b->w) && error == 0; r++) {
        const gemm_range part = gemm_peers_part(p, r);
        if (part.count == 0)
            continue;
        if (p->g->op == GEMM_REDUCE_SCATTER)
            error = n->reduce(in + part.first * 2, out, part.count, BENCH_NCCL_BF16, BENCH_NCCL_SUM, r, n->comm,
                              stream);
        else
            error = n->broadcast(in, out + part.first * 2, part.count, BENCH_NCCL_BF16, r, n->comm, stream);
    }
    return error == 0 ? n->group_end() : error;
}

static inline iris_status gemm_nccl(const gemm_peers *p, const char *in, char *out, iris_stream stream)
{
    enum { BF16 = BENCH_NCCL_BF16, SUM = BENCH_NCCL_SUM };
    const bench_nccl *n = &p->nccl;
    const gemm_operands *g = p->g;
    const size_t part = gemm_peers_part(p, 0).count;
    int error;
    if (gemm_reduces_all(g))
        error = n->all_reduce(in, out, g->m * g->n, BF16, SUM, n->comm, stream);
    else if (!p->even)
        error = gemm_nccl_group(p, in, out, stream);
    else if (g->op == GEMM_REDUCE_SCATTER)
        error = n->reduce_scatter(in, out, part, BF16, SUM, n->comm, stream);
    else
        error = n->all_gather(in, out, part, BF16, n->comm, stream);
    return bench_nccl_ok(p->b->w, n, error, gemm_fused_names[g->op]);
}

/* A mode's collective alone, on what the BLAS has left, or for all_gather on a set's shards. */
static inline iris_status gemm_collective(const gemm_peers *p, int mode, int set, iris_stream stream)
{
    const gemm_operands *g = p->g;
    iris_collective c;
    memset(&c, 0, sizeof c);
    c.src = gemm_collective_in(p, mode, set), c.dst = gemm_collective_out(p, mode, set), c.dtype = IRIS_BF16;
    if (mode != GEMM_IRIS)
        return gemm_nccl(p, (const char *)c.src, (char *)c.dst, stream);
    c.count = gemm_reduces_all(g) ? g->m * g->n : gemm_peers_part(p, 0).count;
    if (gemm_reduces_all(g))
        return iris_launch_all_reduce(p->b->w, &p->ch, &c, stream);
    if (g->op == GEMM_REDUCE_SCATTER)
        return iris_launch_reduce_scatter(p->b->w, &p->ch, &c, stream);
    return iris_launch_all_gather(p->b->w, &p->ch, &c, stream);
}

/* One behind the other. */
static inline iris_status gemm_both(const gemm_peers *p, int mode, int set, iris_stream stream)
{
    const int first = p->g->op == GEMM_ALL_GATHER;
    iris_status s = first ? gemm_collective(p, mode, set, stream) : gemm_blas(p, mode, set, stream);
    if (s == IRIS_OK)
        s = first ? gemm_blas(p, mode, set, stream) : gemm_collective(p, mode, set, stream);
    return s;
}

/* Where a mode's result stands. */
static inline char *gemm_both_out(const gemm_peers *p, int mode)
{
    return p->g->op == GEMM_ALL_GATHER ? p->result : p->out[mode];
}

typedef struct gemm_push_args {
    iris_ctx ctx;
    uint32_t *to, *from;
    uint64_t words; /* to each peer */
    int times;
} gemm_push_args;

/* Each workgroup's part to every peer, in turn. */
IRIS_KERNEL(gemm_push_part, gemm_push_args, p, 1024)
{
    const uint64_t pieces = (p->words + 3) / 4, each = (pieces + iris_workgroups() - 1) / iris_workgroups() * 4;
    const uint64_t first = each * iris_workgroup() < p->words ? each * iris_workgroup() : p->words;
    const uint64_t end = first + each < p->words ? first + each : p->words;
    for (int t = 0; t < p->times; t++)
        for (int i = 1; i < p->ctx.world; i++)
            iris_put_u32_wg(&p->ctx, p->to + first, p->from + first, end - first, (p->ctx.rank + i) % p->ctx.world);
}

/* What a push reads, and where that of all ranks arrives, gemm_push_place apart. */
static inline char *gemm_push_from(const gemm_peers *p) { return p->g->op == GEMM_ALL_GATHER ? p->g->a[0] : p->g->c; }
static inline char *gemm_push_to(const gemm_peers *p) { return p->memory[gemm_splits_k(p->g) ? 0 : 1]; }

/* As many bytes as the operation sends, to every peer as many, by 16-byte stores; all_reduce's in two parts. */
static inline iris_status gemm_push(const gemm_peers *p, iris_stream stream)
{
    const int world = iris_world_size(p->b->w), rank = iris_rank(p->b->w);
    const iris_launch_config grid = iris_grid((uint32_t)iris_compute_units(p->b->w), 1024);
    gemm_push_args a;
    a.ctx = iris_device_ctx(p->b->w);
    a.times = gemm_push_times(p->g), a.words = gemm_push_each(p->g, world, rank) / 4;
    a.from = (uint32_t *)(void *)gemm_push_from(p);
    a.to = (uint32_t *)(void *)(gemm_push_to(p) + (size_t)rank * gemm_push_place(p->g, world));
    return iris_launch(p->b->w, gemm_push_part, &a, sizeof a, &grid, stream);
}

/* The seed of what a rank pushes: its first shard of A is there already. */
static inline uint64_t gemm_push_seed(const gemm_operands *g, uint32_t rank)
{
    return g->op == GEMM_ALL_GATHER ? gemm_seed_a(g, rank) : gemm_seed_of(rank);
}

/* What is pushed is random, and where it arrives is poison. */
static inline iris_status gemm_push_poison(const gemm_peers *p)
{
    const gemm_operands *g = p->g;
    const int world = iris_world_size(p->b->w);
    const uint32_t rank = (uint32_t)iris_rank(p->b->w);
    const iris_status s = iris_memset(p->b->w, gemm_push_to(p), 0xff, (size_t)world * gemm_push_place(g, world));
    if (s != IRIS_OK || g->op == GEMM_ALL_GATHER)
        return s;
    return gemm_fill(p->b->w, IRIS_BF16, g->c, g->c_count, gemm_push_seed(g, rank));
}

typedef struct gemm_pushed_args {
    const void *at;
    uint64_t n, seed;
    uint32_t *wrong;
} gemm_pushed_args;

IRIS_KERNEL(gemm_pushed_kernel, gemm_pushed_args, p, 256)
{
    for (uint64_t i = iris_grid_lane(); i < p->n; i += iris_grid_lanes())
        if (gemm_get(p->at, i, IRIS_BF16) != gemm_element(p->seed, i, IRIS_BF16))
            *p->wrong = 1;
}

/* 1 when every element that the peers have pushed to this rank is there; else 0, with a sentence on stderr. */
static inline int gemm_pushed_right(const gemm_peers *p, uint32_t *flag)
{
    iris_world *w = p->b->w;
    const int world = iris_world_size(w);
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(w), 256);
    uint32_t wrong = 0;
    iris_status s = iris_memset(w, flag, 0, sizeof *flag);
    for (int i = 1; i < world && s == IRIS_OK; i++) {
        const int peer = (iris_rank(w) + i) % world;
        gemm_pushed_args a;
        a.at = gemm_push_to(p) + (size_t)peer * gemm_push_place(p->g, world);
        a.n = gemm_push_each(p->g, world, peer) / 2, a.seed = gemm_push_seed(p->g, (uint32_t)peer), a.wrong = flag;
        s = iris_launch(w, gemm_pushed_kernel, &a, sizeof a, &grid, NULL);
    }
    if (s == IRIS_OK)
        s = iris_memcpy(w, &wrong, flag, sizeof wrong);
    if (s != IRIS_OK)
        fprintf(stderr, "push: %s\n", iris_error_string(w));
    else if (wrong)
        fprintf(stderr, "push: an element did not arrive on rank %d\n", iris_rank(w));
    return s == IRIS_OK && wrong == 0;
}

typedef struct gemm_place_args {
    irisi_b128 *c;
    const irisi_b128 *bands;
    uint32_t rows, pieces, all; /* of a band: rows, pieces of 16 bytes in each; of C: pieces in a row */
} gemm_place_args;

/* Equal bands, one behind the other, into the columns of C. */
IRIS_KERNEL(gemm_place_bands, gemm_place_args, p, 1024)
{
    for (uint32_t row = iris_workgroup(); row < p->rows; row += iris_workgroups())
        for (uint32_t i = iris_wg_lane(); i < p->all; i += iris_wg_lanes())
            p->c[(uint64_t)row * p->all + i] =
                p->bands[(uint64_t)(i / p->pieces * p->rows + row) * p->pieces + i % p->pieces];
}

/* What all_scatter's patterns write at once: bands that were gathered, into one C. */
static inline iris_status gemm_place(const gemm_peers *p, const char *bands, iris_stream stream)
{
    const gemm_operands *g = p->g;
    const iris_launch_config grid = iris_grid(4 * (uint32_t)iris_compute_units(p->b->w), 512);
    gemm_place_args a;
    a.c = (irisi_b128 *)(void *)g->c, a.bands = (const irisi_b128 *)(const void *)bands;
    a.rows = (uint32_t)g->m, a.pieces = (uint32_t)g->own.count / 8, a.all = (uint32_t)g->n / 8;
    return iris_launch(p->b->w, gemm_place_bands, &a, sizeof a, &grid, stream);
}

/* What the patterns do at once, behind a collective that left `from`; its name, null where there is nothing to do. */
static inline const char *gemm_follower(const gemm_peers *p)
{
    const gemm_operands *g = p->g;
    if (g->op == GEMM_ALL_SCATTER)
        return p->even && g->own.count % 8 == 0 ? "copy" : NULL;
    return g->op == GEMM_ALL_REDUCE_RMSNORM && g->n % 8 == 0 ? "norm" : NULL;
}
static inline iris_status gemm_follow(const gemm_peers *p, const char *from, iris_stream stream)
{
    return p->g->op == GEMM_ALL_SCATTER ? gemm_place(p, from, stream) : gemm_norm(p->b->w, p->g, from, stream);
}

/* Fills a set's gathered A as the shards' owners would: elements are functions of their place. */
static inline iris_status gemm_fill_gathered(const gemm_peers *p, int mode, int set)
{
    const gemm_operands *g = p->g;
    iris_status s = IRIS_OK;
    for (int r = 0; r < iris_world_size(p->b->w) && s == IRIS_OK; r++) {
        const gemm_range part = gemm_peers_part(p, r);
        s = gemm_fill(p->b->w, IRIS_BF16, p->gathered[mode][set] + part.first * 2, part.count,
                      gemm_seed_a(g, (uint32_t)r) + (uint64_t)set);
    }
    if (mode == GEMM_NCCL_WINDOW && s == IRIS_OK)
        s = gemm_fill(p->b->w, IRIS_BF16, gemm_collective_in(p, mode, set), g->rows.count * g->k,
                      gemm_seed_a(g, (uint32_t)iris_rank(p->b->w)) + (uint64_t)set);
    return s;
}

/* A BLAS whose product is right, of the fastest first: some add sums up that they have rounded before. */
static inline void gemm_peers_choose(gemm_peers *p, uint32_t *flag)
{
    iris_world *w = p->b->w;
    const gemm_operands *g = p->g;
    char *c = gemm_blas_out(p, GEMM_IRIS);
    uint32_t wrong = 0;
    p->vendor.best = -1;
    if (!p->have_vendor)
        return;
    while (gemm_operands_algorithm(w, g, &p->vendor, gemm_blas_a(p, GEMM_IRIS), c, g->product_n, wrong) >= 0) {
        if (gemm_blas(p, GEMM_IRIS, 0, iris_default_stream(w)) == IRIS_OK && iris_synchronize(w) == IRIS_OK &&
            gemm_operands_own_right(w, g, c, flag, "BLAS"))
            break;
        wrong |= 1u << p->vendor.best;
    }
    if (!iris_bench_all_ok(p->b->w, p->vendor.best >= 0))
        p->vendor.best = -1;
}

/* A BLAS for what the library asks for (`asked`), the fastest: 1 when every rank has one. Collective. */
static inline int gemm_peers_place(gemm_peers *p)
{
    const iris_gemm_blas_call *call = &p->asked[0];
    char *a[GEMM_MOST_SETS], *b[GEMM_MOST_SETS];
    peer_inputs in = {a, b, p->g->sets, call->c, NULL, NULL};
    for (int i = 0; i < p->g->sets; i++)
        a[i] = (char *)p->asked[i].a, b[i] = (char *)p->asked[i].b;
    p->placed.best = -1, p->placed.c_alignment = 256;
    while ((uintptr_t)call->c % p->placed.c_alignment != 0)
        p->placed.c_alignment /= 2;
    if (call->n > 0 && call->k > 0 && iris_event_create(p->b->w, &in.begin) == IRIS_OK &&
        iris_event_create(p->b->w, &in.end) == IRIS_OK &&
        peer_problem(&p->placed, IRIS_BF16, IRIS_BF16, (uint64_t)call->m, (uint64_t)call->n, (uint64_t)call->k,
                     call->lda, call->ldb, call->ldc, call->b_transposed))
        (void)peer_choose(&p->placed, p->b->w, &in, 0);
    iris_event_destroy(p->b->w, in.begin);
    iris_event_destroy(p->b->w, in.end);
    return iris_bench_all_ok(p->b->w, p->plain || p->placed.best >= 0);
}

/* Memory for a shape, and a BLAS. 0, or 1 with a sentence on stderr. Collective. */
static inline int gemm_peers_create(gemm_peers *p, const gemm_operands *g, uint32_t *flag)
{
    iris_world *w = p->b->w;
    const int world = iris_world_size(w);
    p->g = g;
    p->even = 1;
    for (int r = 1; r < world; r++)
        p->even = p->even && gemm_peers_part(p, r).count == gemm_peers_part(p, 0).count;
    p->even = p->even || gemm_reduces_all(g);
    for (int i = 0; i < 2; i++) {
        const size_t bytes = i ? gemm_out_bytes(g) : gemm_in_bytes(g, 0);
        const size_t pushed = (size_t)world * gemm_push_place(g, world);
        p->memory[i] = (char *)iris_malloc(w, gemm_splits_k(g) == !i && pushed > bytes ? pushed : bytes);
    }
    p->result = (char *)iris_malloc(w, g->op == GEMM_ALL_GATHER ? g->c_count * 2 : 256);
    if (!p->memory[0] || !p->memory[1] || !p->result)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    for (int mode = 0; mode < GEMM_MODES; mode++) {
        const int window = mode == GEMM_NCCL_WINDOW;
        const int there = mode == GEMM_IRIS || (p->have_nccl && (!window || (p->windows[0] && p->windows[1])));
        p->in[mode] = window ? p->windows[0] : p->memory[0];
        p->out[mode] = !there ? NULL : window ? p->windows[1] : p->memory[1];
        for (int set = 0; set < g->sets && g->op == GEMM_ALL_GATHER && there; set++) {
            p->gathered[mode][set] = p->out[mode] + (size_t)set * g->m * g->k * 2;
            if (mode != GEMM_NCCL) /* where it works in the same memory as the library's */
                IRIS_TRY(gemm_fill_gathered(p, mode, set));
        }
    }
    gemm_peers_choose(p, flag);
    return 0;
}

static inline int gemm_peers_free(gemm_peers *p)
{
    IRIS_TRY(iris_free(p->b->w, p->result));
    IRIS_TRY(iris_free(p->b->w, p->memory[1]));
    IRIS_TRY(iris_free(p->b->w, p->memory[0]));
    return 0;
}

/* What a mode is to write is poison, but for all_gather's later sets, which BLAS alone reads. */
static inline iris_status gemm_peers_poison(const gemm_peers *p, int mode)
{
    const gemm_operands *g = p->g;
    iris_world *w = p->b->w;
    const int gathers = g->op == GEMM_ALL_GATHER;
    iris_status s = IRIS_OK;
    if (gemm_splits_k(g))
        s = iris_memset(w, p->in[mode], 0xff, gemm_in_bytes(g, 0));
    if (s == IRIS_OK)
        s = iris_memset(w, p->out[mode], 0xff, gathers ? g->m * g->k * 2 : gemm_out_bytes(g));
    if (s == IRIS_OK && gathers)
        s = iris_memset(w, p->result, 0xff, g->c_count * 2);
    return s;
}

#endif
