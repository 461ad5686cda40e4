/* SPDX-License-Identifier: MIT */
/*
 * moves.h: one element type's moves between ranks. bandwidth.c includes it once for each, with BENCH_DTYPE and
 * BENCH_CTYPE defined; it defines move_<dtype>.
 *
 * Puts and gets go in pieces, which the workgroups take in turn, so that all of them work close together in memory:
 * one contiguous part for each workgroup touches as many pages at once as there are workgroups.
 */
#define MOVES_PASTE(a, b, c) a##b##c
#define MOVES_NAME(a, b, c) MOVES_PASTE(a, b, c)
#define MOVES_OF(name) MOVES_NAME(name, _, BENCH_DTYPE)
#define MOVES_WG(name) MOVES_NAME(name, BENCH_DTYPE, _wg)

/*
 * Vectors are the user's loop: eight loads are under way before the first store. With four, 8 workgroups of 1,024 lanes
 * reached 0.94 of the best store by hand on H200s, not 0.95. Then what is less than a vector.
 */
IRIS_DEVICE void MOVES_OF(vectors)(const move_args *a, BENCH_CTYPE *dst, const BENCH_CTYPE *src, int to, int from)
{
    const iris_ctx *ctx = &a->ctx;
    const size_t wide = 16 / sizeof(BENCH_CTYPE), n = a->bytes / sizeof(BENCH_CTYPE), whole = n - n % wide;
    const size_t step = wide * iris_grid_lanes();
    size_t i = wide * iris_grid_lane();
    for (; i + (VECTORS - 1) * step < whole; i += VECTORS * step) {
        MOVES_OF(iris_vec) v[VECTORS];
        for (size_t k = 0; k < VECTORS; k++)
            v[k] = MOVES_OF(iris_load_vec)(ctx, src + i + k * step, from, IRIS_CACHE_DEFAULT);
        for (size_t k = 0; k < VECTORS; k++)
            MOVES_OF(iris_store_vec)(ctx, dst + i + k * step, v[k], to, IRIS_CACHE_DEFAULT);
    }
    for (; i < whole; i += step)
        MOVES_OF(iris_store_vec)
    (ctx, dst + i, MOVES_OF(iris_load_vec)(ctx, src + i, from, IRIS_CACHE_DEFAULT), to, IRIS_CACHE_DEFAULT);
    for (i = whole + iris_grid_lane(); i < n; i += iris_grid_lanes())
        MOVES_OF(iris_store)(ctx, dst + i, MOVES_OF(iris_load)(ctx, src + i, from), to);
}

/* One piece. What comes from or goes to several ranks at once has a place for each sender, a->slot bytes apart. */
IRIS_DEVICE void MOVES_OF(piece)(const move_args *a, move_op op, BENCH_CTYPE *dst, const BENCH_CTYPE *src, size_t n)
{
    const iris_ctx *ctx = &a->ctx;
    const size_t slot = a->slot / sizeof(BENCH_CTYPE);
    if (op == MOVE_PUT)
        MOVES_WG(iris_put_)(ctx, dst, src, n, a->peer);
    else if (op == MOVE_GET)
        MOVES_WG(iris_get_)(ctx, dst, src, n, a->peer);
    else if (op == MOVE_COPY)
        MOVES_WG(iris_copy_)(ctx, dst, src, n, a->peer, ctx->rank);
    else
        for (int k = 1; k < ctx->world; k++) {
            const int peer = ctx->rank + k < ctx->world ? ctx->rank + k : ctx->rank + k - ctx->world;
            if (op == MOVE_ALL_STORE)
                MOVES_WG(iris_put_)(ctx, dst + (size_t)ctx->rank * slot, src, n, peer);
            else
                MOVES_WG(iris_get_)(ctx, dst + (size_t)peer * slot, src, n, peer);
        }
}

IRIS_DEVICE void MOVES_OF(move)(const move_args *a, move_op op)
{
    BENCH_CTYPE *dst = (BENCH_CTYPE *)(void *)(a->dst + a->at);
    const BENCH_CTYPE *src = (const BENCH_CTYPE *)(const void *)(a->src + a->at);
    const size_t n = a->bytes / sizeof(BENCH_CTYPE), piece = a->piece / sizeof(BENCH_CTYPE);
    if (op == MOVE_STORE)
        MOVES_OF(vectors)(a, dst, src, a->peer, a->ctx.rank);
    else if (op == MOVE_LOAD)
        MOVES_OF(vectors)(a, dst, src, a->ctx.rank, a->peer);
    else
        for (size_t first = piece * iris_workgroup(); first < n; first += piece * iris_workgroups())
            MOVES_OF(piece)(a, op, dst + first, src + first, n - first < piece ? n - first : piece);
}

#undef MOVES_PASTE
#undef MOVES_NAME
#undef MOVES_OF
#undef MOVES_WG
#undef BENCH_DTYPE
#undef BENCH_CTYPE
