/* SPDX-License-Identifier: MIT */
/*
 * moves.h: one element type's moves between ranks. A benchmark includes it once for each, after hand.h, with
 * BENCH_DTYPE and BENCH_CTYPE defined; it defines move_<dtype>.
 *
 * Puts, gets and stores go in pieces, which the workgroups take in turn, so that all of them work close together in
 * memory: one contiguous part for each workgroup touches as many pages at once as there are workgroups. Loads go side
 * by side over the whole grid. On H200s 8 workgroups of 1,024 lanes put 1 % more in pieces, four loads of a lane under
 * way, than they stored side by side; loads from a peer wait longer, and 8 under way brought 3 % more than four.
 */
#define MOVES_PASTE(a, b, c) a##b##c
#define MOVES_NAME(a, b, c) MOVES_PASTE(a, b, c)
#define MOVES_OF(name) MOVES_NAME(name, _, BENCH_DTYPE)
#define MOVES_WG(name) MOVES_NAME(name, BENCH_DTYPE, _wg)

/*
 * Vectors are the user's loop: `depth` loads, a constant of at most VECTORS, are under way before the first store; then
 * what is less than a vector. Lane `lane` of `lanes` does its share.
 */
IRIS_DEVICE void MOVES_OF(vectors)(const move_args *a, BENCH_CTYPE *dst, const BENCH_CTYPE *src, size_t n, int to,
                                   int from, size_t lane, size_t lanes, const size_t depth)
{
    const iris_ctx *ctx = &a->ctx;
    const size_t wide = 16 / sizeof(BENCH_CTYPE), whole = n - n % wide, step = wide * lanes;
    size_t i = wide * lane;
    for (; i + (depth - 1) * step < whole; i += depth * step) {
        MOVES_OF(iris_vec) v[VECTORS];
        for (size_t k = 0; k < depth; k++)
            v[k] = MOVES_OF(iris_load_vec)(ctx, src + i + k * step, from, IRIS_CACHE_DEFAULT);
        for (size_t k = 0; k < depth; k++)
            MOVES_OF(iris_store_vec)(ctx, dst + i + k * step, v[k], to, IRIS_CACHE_DEFAULT);
    }
    for (; i < whole; i += step)
        MOVES_OF(iris_store_vec)
    (ctx, dst + i, MOVES_OF(iris_load_vec)(ctx, src + i, from, IRIS_CACHE_DEFAULT), to, IRIS_CACHE_DEFAULT);
    for (i = whole + lane; i < n; i += lanes)
        MOVES_OF(iris_store)(ctx, dst + i, MOVES_OF(iris_load)(ctx, src + i, from), to);
}

/* The left half of all rows of a piece, then the right one: two boxes; the rest at once. */
IRIS_DEVICE void MOVES_OF(boxes)(const move_args *a, BENCH_CTYPE *dst, const BENCH_CTYPE *src, size_t n, int puts)
{
    const size_t wide = BOX_ROW / sizeof(BENCH_CTYPE), rows = n / (2 * wide), whole = rows * 2 * wide;
    for (size_t left = 0; left < 2 * wide; left += wide)
        if (puts)
            MOVES_WG(iris_put_2d_)(&a->ctx, dst + left, src + left, rows, wide, 2 * wide, 2 * wide, a->peer);
        else
            MOVES_WG(iris_get_2d_)(&a->ctx, dst + left, src + left, rows, wide, 2 * wide, 2 * wide, a->peer);
    if (puts)
        MOVES_WG(iris_put_)(&a->ctx, dst + whole, src + whole, n - whole, a->peer);
    else
        MOVES_WG(iris_get_)(&a->ctx, dst + whole, src + whole, n - whole, a->peer);
}

/* One piece. What comes from or goes to several ranks at once has a place for each sender, a->slot bytes apart. */
IRIS_DEVICE void MOVES_OF(piece)(const move_args *a, move_op op, BENCH_CTYPE *dst, const BENCH_CTYPE *src, size_t n)
{
    const iris_ctx *ctx = &a->ctx;
    const size_t slot = a->slot / sizeof(BENCH_CTYPE);
    if (op == MOVE_STORE)
        MOVES_OF(vectors)(a, dst, src, n, a->peer, ctx->rank, iris_wg_lane(), iris_wg_lanes(), VECTORS / 2);
    else if (op == MOVE_PUT)
        MOVES_WG(iris_put_)(ctx, dst, src, n, a->peer);
    else if (op == MOVE_PUT_2D || op == MOVE_GET_2D)
        MOVES_OF(boxes)(a, dst, src, n, op == MOVE_PUT_2D);
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
    if (op == MOVE_LOAD)
        MOVES_OF(vectors)(a, dst, src, n, a->ctx.rank, a->peer, iris_grid_lane(), iris_grid_lanes(), VECTORS);
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
