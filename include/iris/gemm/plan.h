/* SPDX-License-Identifier: MIT */
/*
 * plan.h: what a GEMM with communication is asked to do, and the plan that its kernels carry.
 *
 *   iris_gemm_args iris_gemm_more iris_gemm_op iris_gemm_pattern iris_activation     what the host asks for
 *   iris_gemm_blas iris_gemm_blas_call                                a BLAS of the caller's, which may compute it
 *   iris_gemm_plan                                                    how it is computed; kernels take it by value
 *   iris_gemm_band iris_gemm_shard irisi_gemm_units                   who computes what
 *   irisi_gemm_rows_of irisi_gemm_owner_of irisi_gemm_slot_rows       the same of the rows of a launch
 *
 * C = act(alpha * A * B + beta * C + bias), all row-major, with scales where they are given (iris_gemm_args). What each
 * rank has and gets (iris_gemm_op):
 *
 *     operation        A                 B             C
 *     local            m x k             k x n         m x n
 *     all_scatter      m x k             own columns   m x n, on every rank
 *     reduce_scatter   m x own k         own k x n     own rows of the sums over all ranks
 *     all_reduce       m x own k         own k x n     m x n, the sums over all ranks, on every rank
 *     all_gather       own rows x k      own columns   m x own columns
 *
 * With a_transposed A is given as its transpose, k x m or own k x m; all_gather has none.
 *
 * all_reduce_rmsnorm is all_reduce with one more matrix on every rank, the norms of the rows of C, or their codes of 8
 * bits with a scale for each row. With sequence_parallel C is this rank's own rows, as of reduce_scatter.
 *
 * Own columns are iris_gemm_band(n, world, rank), own rows iris_gemm_shard(m, world, rank). K is split as the caller
 * likes: each rank says its own k, which may be 0.
 */
#ifndef IRIS_GEMM_PLAN_H
#define IRIS_GEMM_PLAN_H

#include <iris/arch/types.h>
#include <iris/channel.h>
#include <iris/dtype.h>
#include <iris/gen/dtypes.h>
#include <iris/gen/gemm_loops.h>
#include <iris/gen/gemm_ops.h>

/** How communication and arithmetic share the device. */
typedef enum iris_gemm_pattern {
    IRIS_GEMM_AUTO,              /**< the library chooses, the same on every rank */
    IRIS_GEMM_BULK_SYNCHRONOUS,  /**< a GEMM kernel, and behind it (all_gather: before it) one that communicates */
    IRIS_GEMM_PRODUCER_CONSUMER, /**< the two at once on two streams, with a signal for each tile */
    IRIS_GEMM_FUSED_SEQUENTIAL,  /**< each workgroup computes a tile, then sends it (all_gather: all put own rows
                                      first) */
    IRIS_GEMM_WG_SPECIALIZED,    /**< some workgroups of one kernel compute, the others send */
    IRIS_GEMM_WAVE_SPECIALIZED,  /**< some waves of each workgroup compute, the others send */
    IRIS_GEMM_PATTERNS,          /**< how many values stand before it; those behind are for some calls only */
    IRIS_GEMM_BLAS_GATHER = IRIS_GEMM_PATTERNS, /**< bulk_synchronous, with iris_gemm_args.blas as its GEMM */
    IRIS_GEMM_COPY_ENGINE        /**< all_gather alone: copy engines gather while a kernel computes, on two streams */
} iris_gemm_pattern;

/** Applied last, in the accumulator's type. GELU is the form with tanh; SiLU is x * sigmoid(x). */
typedef enum iris_activation {
    IRIS_ACTIVATION_NONE,
    IRIS_ACTIVATION_RELU,
    IRIS_ACTIVATION_GELU,
    IRIS_ACTIVATION_SILU,
    IRIS_ACTIVATIONS /**< how many there are */
} iris_activation;

/**
 * A product for a BLAS of the caller's: c = alpha * a * b + beta * c, all row-major. Its fields, not those of
 * iris_gemm_args, say what to multiply: a is the gathered A for all_gather; c is this rank's partial sums, in memory of
 * the plan's, for reduce_scatter and all_reduce (alpha 1, beta 0), and the rank's own band of C otherwise; and of a
 * rank whose k is 0 a and b are a column and a row of zeros.
 */
typedef struct iris_gemm_blas_call {
    int64_t m, n, k;       /**< c is m x n, n the columns of the band; each 1 or more */
    const void *a, *b;     /**< b as iris_gemm_prepare was given it, unless k was 0 */
    void *c;               /**< the first element to write */
    int64_t lda, ldb, ldc; /**< elements from row to row */
    double alpha, beta;    /**< with alpha 0 the product is 0, even of infinities and NaNs in a and b */
    iris_dtype dtype;      /**< of a and b */
    iris_dtype c_dtype;    /**< of c */
    int a_transposed;      /**< 1: a is given as k x m, for iris_gemm_args.a_transposed alone */
    int b_transposed;      /**< 1: b is given as n x k */
} iris_gemm_blas_call;

/**
 * Puts the product on the stream and returns at once: 0, or any other number if that failed. A launch calls it, on the
 * launching thread; where the stream is captured, the work goes into the graph, and replays do not call it again.
 */
typedef int (*iris_gemm_blas)(void *arg, const iris_gemm_blas_call *call, iris_stream stream);

/** Most further matrices B of a plan, beside the one that iris_gemm_args has anyway. */
enum { IRIS_GEMM_MOST_MORE = 3 };

/**
 * A further B of the same A, with a C of its own (iris_gemm_args.more): as K and V beside Q. Its fields mean what those
 * of the same names in iris_gemm_args mean, for this matrix; a rank's columns of it are its band of this `n`.
 */
typedef struct iris_gemm_more {
    int64_t n;            /**< columns of the whole B and C, 1 or more; the same on every rank */
    const void *b;        /**< this rank's columns; transposed if the first B is */
    int64_t ldb;          /**< elements from row to row; 0: as many as a row has */
    void *c;              /**< m rows of this rank's columns; apart from the other C and from all that is read */
    int64_t ldc;          /**< likewise */
    const void *bias;     /**< n_r values; there if the first B has a bias */
    const float *scale_b; /**< one value, or with scale_b_columns n_r; there if the first B has a scale_b */
} iris_gemm_more;

/**
 * What to compute; a zeroed field means its default. Everything but pointers, lda, ldb, numbers of workgroups, and the
 * k of reduce_scatter and all_reduce, is the same on every rank. What is said of all_reduce holds for
 * all_reduce_rmsnorm. For all_scatter and all_reduce c is at the same place in every rank's heap; for the others it is
 * anywhere in memory of the device, and ldc may differ between ranks. For IRIS_GEMM_LOCAL nothing need be the same, and
 * this rank's columns are all n of them, or with `band` its band.
 *
 * Element i, j of C, where j counts this rank's columns, becomes
 *
 *     x = alpha * scale_a[i] * scale_b[j] * sum over k of A[i, k] * B[k, j]  +  beta * C[i, j]  +  bias[j]
 *     C[i, j] = act(x) * scale_c[0]
 *
 * rounded to C's type once, at the end. For reduce_scatter and all_reduce each rank's partial sum P_r is rounded to
 * `reduce_dtype`, and then they are added in the order of ranks:
 *
 *     x = alpha * (P_0 + P_1 + ...)  +  beta * C[i, j]  +  bias[j],   P_r = scale_a[i] * scale_b[j] * sum over k
 *
 * with scale_a and scale_b of rank r, and with C, bias and scale_c of the rank that adds up the element: for
 * reduce_scatter the rank that gets it; for all_reduce it may be any rank, so give all ranks the same ones. Such sums
 * are bitwise the same in every run and on all ranks. reduce_dtype is the type of C, or bf16 where that has 8 bits. A
 * partial sum that overflows an f16 is infinite then, even if the whole sum fits. Where A, B and C are of f16 or of
 * bf16, it may be f32: no partial sum is rounded, twice as many bytes go over the links, and the library's kernels with
 * a C of f32 compute it.
 *
 * From this C all_reduce_rmsnorm makes a second matrix, with a norm in f32, of C as it was rounded:
 *
 *     out[i, j] = C[i, j] / sqrt(mean over j of C[i, j]^2 + epsilon) * weight[j]
 *
 * rounded to C's type, which is f16, bf16 or f32. (B. Zhang, R. Sennrich, Root Mean Square Layer Normalization, 2019.)
 * A row whose squares overflow becomes 0, and NaN where it is infinite. C and what beta reads hold the same on every
 * rank; with beta 1 C is the residual stream of a transformer, read and overwritten.
 *
 * With quant_out it makes codes of 8-bit floats of the norms, instead of out (null) or beside it, with a scale for each
 * row, as the scale_a of the next GEMM (scale_a_rows). From the norms y of row i in f32, before any rounding to C's
 * type:
 *
 *     scale_out[i]    = max(largest |y[j]| of the row, 2^-100) / largest value of quant_dtype (f8e4m3: 448, fnuz: 240)
 *     quant_out[i, j] = y[j] / scale_out[i], rounded as dtype.h says; the quotient is within 2 units in the last place
 *
 * So a row of zeros has codes of 0 and a scale of 2^-100 / 448 or 240, which is not 0. A row with a norm that is NaN or
 * infinite has NaN as its scale and as all its codes.
 *
 * With `sequence_parallel` the residual stream of all_reduce_rmsnorm is spread over the ranks by rows (tokens): C and
 * the residual are this rank's own rows alone, as C and the residual of reduce_scatter are, and anywhere in memory of
 * the device. out, quant_out and scale_out are of all rows on every rank, as without it. So it is reduce_scatter, the
 * residual and the norm of own rows, and an all-gather of the norms, ready for the next GEMM. C before the call and the
 * residual, which are nobody else's, count for this rank's rows.
 *
 * With `gated`, for local, all_scatter and all_gather, columns 2 j and 2 j + 1 of B are a gate and its up, and C has
 * half as many columns as the product; n is that of the product, and even:
 *
 *     C[i, j] = act(x of column 2 j) * (x of column 2 j + 1) * scale_c[0]
 *
 * With IRIS_ACTIVATION_SILU that is SwiGLU, with GELU GEGLU. There is no beta; bias has a value for each column of the
 * product. A and B are of f16, bf16 or f32, and C of the same or of f32; the library's kernels with a C of f32 compute
 * it, your own do not.
 *
 * With `more`, for local and all_gather, A is multiplied by several matrices B in one launch, and gathered once: by the
 * one that the fields above have, and by each that `more` has, into a C of its own. n, bands, leading dimensions, bias
 * and scale_b are each matrix's own; the types, b_transposed, alpha, scale_a, scale_c and the activation are those of
 * all. Each C is the same as that of a launch of its own with the same mainloop, width of tiles and splits of K. All n
 * together are below 2^30. There is no beta, gated, band or plain_mainloop.
 *
 * Types, of A and B (iris_gemm_prepare's dtype) and of C (c_dtype):
 *
 *     A and B            C                     sums   the rest   bias
 *     f16                f16, f32              f32    f32        C's
 *     bf16               bf16, f32             f32    f32        C's
 *     f32                f32                   f32    f32        f32
 *     f64                f64                   f64    f64        f64
 *     f8e4m3             bf16, f16, f8e4m3     f32    f32        C's; bf16 where C is f8e4m3
 *     f8e5m2             bf16                  f32    f32        bf16
 *     f8e4m3fnuz         bf16                  f32    f32        bf16
 *     f8e5m2fnuz         bf16                  f32    f32        bf16
 *     i8                 i32                   i32    f64        i32
 *     i8                 bf16, i8              i32    f32        bf16
 *
 * The first C that is listed for A and B is the one that c_dtype 0 means. Sums of i8 are exact; they wrap around beyond
 * 2^31, which takes a k of 131072 or more. So an i32 C with integer alpha, beta and bias and no scales is exact. What
 * becomes i32 or i8 is rounded to nearest, ties to even; values beyond the range become the nearest in it, NaN becomes
 * 0. dtype.h says the same of floats.
 *
 * Two fields permit less exact, faster products. With `tf32` matrix units may take only the upper 19 bits of each f32
 * of A and B (11 significant bits); without it f32 is never cut, and devices without such units ignore it. For 8-bit
 * floats Hopper's matrix units keep only about 14 significant bits of a sum while they add to it. So every 128 terms
 * are added up separately, and these sums are added in f32; with `fast_accum` the units add up all terms, as with
 * cuBLASLt's attribute of that name.
 */
typedef struct iris_gemm_args {
    int64_t m, n, k;              /**< C is m x n, A is m x k, B is k x n; each from 1 to 2^31 - 1. For reduce_scatter
                                       and all_reduce k is this rank's, and may be 0. A launch may have fewer rows than
                                       m: iris_gemm_set_rows */
    const void *a;                /**< m x k, or k x m with a_transposed, for all_gather own rows x k; local memory of
                                       the device; any alignment, see iris_gemm_prepare */
    const void *b;                /**< this rank's columns: k x n_r, or n_r x k with b_transposed; memory and alignment
                                       as of a. For reduce_scatter and all_reduce n_r is n */
    void *c;                      /**< as the table above (plan.h) says, for all_scatter and all_reduce in the symmetric
                                       heap, else anywhere; must not overlap with what is read. all_reduce_rmsnorm may
                                       have null on every rank: then C is not stored */
    const void *residual;         /**< what beta reads, of C's type and shape; null: C. For all_scatter this rank's
                                       columns of it are read, for all_reduce the elements that it adds up */
    int64_t ldr;                  /**< elements from row to row of the residual; 0: as ldc */
    void *out;                    /**< of all_reduce_rmsnorm: the norms of C's rows, of C's type and shape, at the same
                                       place in every rank's heap; apart from C and all that is read */
    int64_t ldout;                /**< elements from row to row of it, the same on every rank; 0: n */
    const void *weight;           /**< n values of C's type, the same on every rank, local memory */
    float epsilon;                /**< 0 to 1e30 */
    void *quant_out;              /**< of all_reduce_rmsnorm: m x n codes of the norms, at the same place in every
                                       rank's heap; apart from C, out and all that is read. Then out may be null on
                                       every rank, unless C is. Null: norms are not quantised */
    int64_t ldquant_out;          /**< elements from row to row of it, the same on every rank; 0: n */
    float *scale_out;             /**< with quant_out: m values, what its rows are to be multiplied by, at the same
                                       place in every rank's heap; apart from all else */
    iris_dtype quant_dtype;       /**< of quant_out: IRIS_F8E4M3 or IRIS_F8E4M3FNUZ; 0: IRIS_F8E4M3 */
    int sequence_parallel;        /**< of all_reduce_rmsnorm. 1: c and residual are this rank's own rows alone
                                       (iris_gemm_shard), anywhere in memory of the device, and ldc and ldr, and which
                                       of the two there is, are its own affair; default: all m rows on every rank */
    void *workspace;              /**< symmetric memory for partial sums or the gathered A, that plans of one stream may
                                       share (iris_gemm_workspace_bytes); null: the plan allocates its own */
    size_t workspace_bytes;       /**< its length */
    iris_dtype reduce_dtype;      /**< of partial sums, where K is split over ranks. IRIS_F32: also those of a C of f16
                                       or bf16, see above; 0: C's type, or bf16 where that has 8 bits */
    void *gathered;               /**< of all_gather: symmetric memory, at multiples of 16 bytes, that receives the rows
                                       of A of all ranks and takes the place of the workspace; null: the caller does not
                                       get them. May be read behind the call on its stream, until the plan's next one */
    size_t gathered_bytes;        /**< its length, at least iris_gemm_workspace_bytes */
    int64_t ld_gathered;          /**< elements from row to row of it, a multiple of 16 bytes; 0: as many as a row has,
                                       rounded up to 16 bytes. What a row lacks to whole 16 bytes may become 0 */
    int band;                     /**< of IRIS_GEMM_LOCAL. 1: this rank's columns are iris_gemm_band(n, world, rank), as
                                       of the other operations; default: all n */
    int tf32;                     /**< 1: f32 inputs may be cut to tf32, see above; default: they are not */
    int fast_accum;               /**< 1: sums of 8-bit floats may lose bits, see above; default: they may not */
    iris_dtype c_dtype;           /**< of C; 0: the first that the table above has for A and B */
    const void *bias;             /**< n_r values of the type above, local memory; null: none */
    const float *scale_a;         /**< one value, or with scale_a_rows m, local memory, 4-byte aligned; null: 1 */
    const float *scale_b;         /**< one value, or with scale_b_columns n_r; as scale_a */
    const float *scale_c;         /**< one value; likewise. beta's C is read as it stands there, without this scale */
    int scale_a_rows;             /**< 1: scale_a has a value for each row of A */
    int scale_b_columns;          /**< 1: scale_b has a value for each of this rank's columns of B */
    int64_t lda, ldb, ldc;        /**< elements from row to row; 0: as many as a row has */
    double alpha;                 /**< 0 means 1: a zeroed struct is a plain product */
    int zero_alpha;               /**< 1: alpha is really 0, and so is the product, even of infinities and NaNs;
                                       2: so it is whatever alpha says (iris_gemm_tensor_args) */
    double beta;                  /**< 0: C is not read */
    iris_activation activation;   /**< default none */
    const iris_gemm_more *more;   /**< of local and all_gather: further matrices B of the same A, see above; read by
                                       iris_gemm_prepare alone */
    int n_more;                   /**< how many, the same on every rank; at most IRIS_GEMM_MOST_MORE */
    int gated;                    /**< 1: columns of the product are pairs, and C has half as many, see above */
    int a_transposed;             /**< 1: A is given as k x m, as where dW = X^T dY; each launch makes an m x k copy
                                       (iris_gemm_prepare). Not for all_gather */
    int b_transposed;             /**< 1: B is given as n_r x k */
    iris_gemm_pattern pattern;    /**< for the launcher that chooses; default: by the library */
    uint32_t tile_m, tile_n;      /**< rows and columns of a tile, at most the kernel's own; default: by the library */
    uint32_t workgroups;          /**< of the whole operation; default: one for each compute unit, 2 or more */
    int plain_mainloop;           /**< 1: only the plain mainloop, for your own kernels that call its functions;
                                       refused with gated, more, or a reduce_dtype wider than C */
    uint32_t comm_workgroups;     /**< how many of the workgroups send, where a pattern splits them, or are left out
                                       (copy_engine); default: by the library */
    const char *tune;             /**< tuning rows that choose what is left open, as in IRIS_TUNE; null: IRIS_TUNE's */
    iris_gemm_blas blas;          /**< makes IRIS_GEMM_BLAS_GATHER possible, for plain products; null: none */
    void *blas_arg;               /**< the first argument of `blas` */
    double blas_tflops;           /**< what `blas` reaches here, 10^12 operations a second; 0: unknown, and only a
                                       tuning row chooses it */
} iris_gemm_args;

/*
 * A further B that has columns on this rank, and its C. A tile's columns are counted within its own matrix; the
 * schedule counts all matrices' columns one behind the other, and each matrix begins at a full tile.
 */
typedef struct irisi_gemm_matrix {
    const void *b, *bias;
    const float *scale_b;
    void *c;
    uint64_t ldb, ldc;
    uint32_t first, columns; /* where the schedule has its first column; this rank's columns */
} irisi_gemm_matrix;

/*
 * Several matrices B. The first that has columns on this rank is operands.b, with operands.c and so on; the others that
 * have some are here. region.columns are those of the schedule, with what the last tile of each matrix lacks to a full
 * one.
 */
typedef struct irisi_gemm_several {
    irisi_gemm_matrix more[IRIS_GEMM_MOST_MORE];
    uint32_t count;   /* of them */
    uint32_t columns; /* this rank's columns of operands.b */
    uint32_t n[IRIS_GEMM_MOST_MORE]; /* columns of the whole further matrices, as the caller has them; 0: there is none.
                                        The plan's n is the sum of all */
} irisi_gemm_several;

/* A matrix that the mainloop cannot read in place, and its copy, which every launch makes anew (gemm/pack.h). */
typedef struct irisi_gemm_packing {
    const void *from;
    void *to;                      /* null: no copy */
    uint64_t from_pitch, to_pitch; /* bytes from row to row */
    uint64_t row_bytes, rows;      /* of the matrix */
    uint64_t transposed;           /* bytes of an element, where the copy has the matrix's columns as rows; else 0 */
} irisi_gemm_packing;
enum { IRISI_GEMM_PACKS = 2 + IRIS_GEMM_MOST_MORE }; /* of A, B and further matrices B */

/*
 * Tensor maps in a plan: A, B, C on up to 8 ranks, and A once more with lower boxes, for tiles at its last rows. Where
 * A is gathered C is on this rank alone, and the map behind that of its C is of its own rows of A (irisi_gemm_own_a).
 * Behind that stand those of further matrices B, and then of their C (irisi_gemm_more_b, irisi_gemm_more_c).
 */
enum {
    IRISI_GEMM_MAPS = 11,
    IRISI_GEMM_MAP_TAIL = 10,
    IRISI_GEMM_MAP_BYTES = 128,
    IRISI_GEMM_TMA_STORE_RANKS = 8,
    IRISI_GEMM_PLAN_BYTES = 2880
};

/*
 * A run of the schedule: neighbouring positions whose tiles are equally wide (runtime/gemm/tile_layout.h). A run's
 * tiles are full tiles, equal parts of them, or parts of edges. Edges, the columns beside a row's full tiles, are
 * numbered behind the full tiles.
 */
typedef struct irisi_tile_run {
    uint32_t tiles; /* positions of this run: one for each part, tile of a cluster and split of K */
    uint32_t first; /* the number of the full tile or edge (of a cluster) that the first of them is cut from */
    uint32_t parts; /* into how many parts each full tile or edge is cut */
    uint32_t width; /* columns of a part; the last may have fewer */
    uint32_t pair_split_k; /* 1: a cluster computes two parts side by side, each workgroup half of K of both */
} irisi_tile_run;
enum { IRISI_GEMM_RUNS = 5 };

/*
 * When the next kernel may begin, in a kernel of the gemv loop that only computes: never before this one ends, or once
 * all workgroups have read their B, or have their tile's sums. Not sooner, because workgroups that wait would take the
 * places of others.
 */
typedef enum irisi_gemm_next { IRISI_NEXT_NEVER, IRISI_NEXT_READ, IRISI_NEXT_SUMMED } irisi_gemm_next;

/*
 * Added to an activation: columns are pairs (iris_gemm_args.gated). In a plan operands.activation is this alone then:
 * the epilogue leaves sums of f32, of which glu.h makes C by `sums`.
 */
enum { IRISI_GEMM_GATED = 16 };

/* The matrices that are multiplied, and what the epilogue does with their sums. */
typedef struct irisi_gemm_operands {
    const void *a, *b, *bias;
    void *c;
    const void *residual;                     /* what beta reads, rows ldr apart: C, or another matrix */
    const float *scale_a, *scale_b, *scale_c; /* null: none */
    uint64_t lda, ldb, ldc, ldr;
    double alpha, beta;
    uint32_t dtype, c_dtype, activation;
    uint32_t b_transposed;
    uint32_t element, c_element;         /* bytes of an element of A and B, and of C */
    uint32_t scale_a_step, scale_b_step; /* 0: one value; 1: one for each row or column */
    uint32_t tf32, fast_accum;
} irisi_gemm_operands;

/*
 * all_gather: this rank's rows of A, as the caller has them. operands.a is the gathered A, with the rows of all ranks.
 * Tiles whose rows are all among first, first + 1, ... before `end`, which are own ones, are computed from `a` itself;
 * those rows are not copied to this rank's gathered A. end 0: no tile is, as where the caller gets the gathered A.
 */
typedef struct irisi_gemm_inputs {
    const void *a;
    uint64_t ld;
    uint32_t first, end;
} irisi_gemm_inputs;

/* The part of C whose products this rank computes: rows m0, m0 + 1, ... and columns n0, n0 + 1, ... */
typedef struct irisi_gemm_region {
    uint32_t m0, rows;
    uint32_t n0, columns;
} irisi_gemm_region;

/*
 * Where finished tiles go: into C on this rank, and to the same place of the heap of each rank that gets them. Where K
 * is split over ranks, to this rank's part of the slots of each row's owner; in bulk_synchronous to operands.c, which
 * is this rank's slot for all rows (irisi_gemm_route_slot).
 */
typedef struct irisi_gemm_route {
    void *base; /* the region's first element; rows are as far apart as C's */
    uint32_t shard, longer; /* where rows have owners: rows of a shard, and how many shards have one more */
} irisi_gemm_route;

/* copy_engine, between copies: the blocks of this rank's rows that were copied before the kernel; count 0: none yet. */
typedef struct irisi_gemm_copied {
    uint32_t first, count;
} irisi_gemm_copied;

/* How the region is cut into tiles, and in which order they are computed: tile.h, scheduler.h. */
typedef struct irisi_gemm_tiling {
    uint32_t tile_m, tile_n;  /* of a full tile */
    uint32_t cluster;         /* 2: two workgroups compute tiles one below the other and share B, or in runs with
                                 pair_split_k tiles side by side; 1: no clusters */
    uint32_t split_k, split_k_shift; /* splits of K, one for each workgroup; 1: K is not cut; its log2 */
    uint32_t cluster_split_k; /* gemv loop: splits of K, one for each workgroup of a cluster, in kernels that only
                                 compute; else 1 */
    uint32_t cluster_split_k_fused; /* the same in fused_sequential; 0: a workgroup computes a whole tile there */
    uint32_t tiles_m, full_n; /* rows of tiles (of clusters); full tiles in a row */
    uint32_t unit;            /* columns of a unit: all tiles start at multiples of it; each unit has a flag */
    uint32_t positions;       /* of all runs */
    uint32_t several;         /* 1: they are of several B; here it is read with what every tile needs */
    uint32_t sender_tiles;    /* how many of the schedule's first tiles each sender computes: irisi_gemm_by_senders */
    uint32_t head_halves;     /* the widest band's full tiles that are halved at the schedule's begin */
    uint32_t tail_tiles, tail_halves; /* those that are cut at its end; those of them that are halved */
    uint32_t edge_width;      /* columns of edges' parts */
    uint32_t most_full_n;     /* the widest band's full tiles of a row */
    irisi_tile_run runs[IRISI_GEMM_RUNS];
    uint32_t group_shift;      /* log2 of the rows of tiles that the schedule takes together, column by column */
    uint32_t rotate, rotate_m; /* the full tile and the edge that the schedule starts with: another on each rank */
    void *partials;            /* sums of splits of K, those of a tile for each position */
} irisi_gemm_tiling;

/* The kernels' grids, waves and shared memory. */
typedef struct irisi_gemm_machine {
    uint32_t workgroups, comm_workgroups;
    uint32_t default_workgroups;     /* workgroups, unless a tuning row chooses their number */
    uint32_t equal_workgroups;       /* workgroups of kernels that need equally many on every rank (meet.h) */
    uint32_t xcds;                   /* chiplets that workgroups are dealt to in turn; 1 where there are none */
    uint32_t stage_m, stage_n;       /* of a staging tile; a larger tile leaves in pieces */
    uint32_t pass_m;                 /* rows that math waves beside communication waves compute at a time */
    uint32_t tma_store;              /* 1: staging tiles are laid out in boxes of 16 rows of 128 bytes */
    uint32_t slots, slots_with_comm; /* staging tiles, without and with communication waves */
    uint32_t pitch;                  /* bytes from row to row of a staging tile */
    uint32_t stage_bytes;            /* of one staging tile */
    uint32_t workspace_bytes;        /* shared memory of the mainloop, without and with communication waves */
    uint32_t workspace_bytes_with_comm;
    uint32_t math_waves, comm_waves; /* of a workgroup, by role; loader waves are those left */
    uint32_t waves, waves_with_comm; /* of a workgroup, without and with communication waves */
    uint32_t wave_lanes;
    uint32_t window;       /* boxes of each communication wave that may be under way at a time; 0: any number */
    uint32_t early_launch; /* 1: kernels that wait for no rank may begin while the one before them ends */
    uint32_t next;         /* irisi_gemm_next */
} irisi_gemm_machine;

/* Signals and packets between ranks: exchange.h. */
typedef struct irisi_gemm_exchange {
    iris_channel channel; /* the plan's signals */
    iris_channel ll;      /* banks for LL packets of tiles, partial sums or rows of A; null: none are sent */
    void *workspace;      /* slots, or the gathered A; the caller's (launcher.ld_gathered) or the plan's own */
    uint32_t ll_pitch;    /* packets from row to row of a bank; 0: none are sent */
    uint32_t missing;     /* how much of `done`'s amount no tile of a launch raises: irisi_exchange_missing */
} irisi_gemm_exchange;

/*
 * The norms of C's rows. Where C is not stored, sums.c is `out`. quant_out null: they are not quantised; else `out` may
 * be null. Where C and what beta reads are this rank's rows alone (sequence_parallel), sums.c and sums.residual are
 * where row 0 would stand, so that kernels count all rows alike; they touch own rows only.
 */
typedef struct irisi_gemm_norm {
    void *out;
    const void *weight;
    uint64_t ldout;
    void *quant_out;
    float *scale_out;
    uint64_t ldquant_out;
    float epsilon;
    float largest_code; /* the largest value of quant_out's type: 448 of f8e4m3, 240 of f8e4m3fnuz */
    uint32_t sums_to_all; /* 1: C is stored, on every rank */
    uint32_t sequence_parallel;
} irisi_gemm_norm;

/* What launches need and kernels do not. */
typedef struct irisi_gemm_launcher {
    uint64_t number;             /* unique in the process; 0: the plan was not made */
    irisi_gemm_packing *packs;   /* IRISI_GEMM_PACKS of them; operands.a and operands.b are then the copies */
    uint8_t copies;              /* 1 when some rank may have such copies, or tiling.partials */
    uint8_t a_transposed;        /* 1: the caller's A is k x m; operands.a is an m x k copy of it */
    uint8_t no_k;                /* 1 on a rank whose part of K is empty */
    uint8_t stores_c;            /* 1: the caller gets C */
    uint8_t f32_sums;            /* 1: partial sums are f32 on their way, although C is not */
    iris_gemm_blas blas;
    void *blas_arg;
    iris_stream second; /* of the kernel that sends (producer_consumer) or of the copies (copy_engine); the events that
                           join it */
    iris_event fork, join;
    void *workspace;       /* slots or the gathered A, where the plan allocated them itself */
    uint64_t ld_gathered;  /* elements from row to row of the gathered A, where the caller gets it; else 0 */
    void *zeros;           /* A and B of a rank whose part of K is empty */
    unsigned char slot_map[IRISI_GEMM_MAP_BYTES]; /* TMA's, where K is split: of operands.c, */
    unsigned char own_map[IRISI_GEMM_MAP_BYTES];  /* and of this rank's part of its own slots */
    uint64_t magic; /* irisi_gemm_magic: the plan is from iris_gemm_prepare */
} irisi_gemm_launcher;

/**
 * Everything a kernel needs to know besides iris_ctx; from iris_gemm_prepare. One layout on every platform; embed it
 * by value in a kernel's argument struct. Its fields are private to the library.
 */
typedef struct iris_gemm_plan {
    IRISI_ALIGN(64) unsigned char maps[IRISI_GEMM_MAPS][IRISI_GEMM_MAP_BYTES];
    uint32_t op, pattern, mainloop;
    uint32_t m, n, k; /* of the whole product; m: rows of the next launches, from 0 to most_m */
    uint32_t rank, world;
    irisi_gemm_operands operands;
    irisi_gemm_operands sums; /* where K is split over ranks, or columns are pairs: C and the epilogue of whole sums;
                                 else as operands */
    irisi_gemm_inputs inputs;
    irisi_gemm_region region;
    irisi_gemm_route route;
    irisi_gemm_copied copied;
    irisi_gemm_tiling tiling;
    irisi_gemm_machine machine;
    irisi_gemm_exchange exchange;
    irisi_gemm_norm norm;
    irisi_gemm_several several;
    uint32_t most_m; /* the rows that the plan was prepared for: memory and signals' amounts depend on them alone */
    uint32_t pairs_split_k; /* 1: clusters may compute parts of full tiles together, in launches of rows enough */
    irisi_gemm_launcher launcher;
} iris_gemm_plan;

enum { IRISI_GEMM_PLAN_FITS = 1 / (sizeof(iris_gemm_plan) == IRISI_GEMM_PLAN_BYTES) };

/* 1 where C is made of pairs of columns of the product. */
IRIS_HOST_DEVICE int irisi_gemm_gated(const iris_gemm_plan *plan)
{
    return plan->operands.activation >= IRISI_GEMM_GATED;
}

/*
 * Region and route of operations that compute all rows of the columns from n0 on, whose tiles go to their place in C.
 */
IRIS_HOST_DEVICE void irisi_gemm_route_c(iris_gemm_plan *plan)
{
    plan->region.m0 = 0, plan->region.rows = plan->m;
    plan->route.base = (void *)((uintptr_t)plan->operands.c + (uintptr_t)plan->region.n0 * plan->operands.c_element);
}

/*
 * Bytes of what so many columns of the product, in whole pairs where there are pairs, leave of a row as it is stored or
 * sent: of C, or where K is split over ranks of partial sums.
 */
IRIS_HOST_DEVICE uint64_t irisi_gemm_row_bytes(const iris_gemm_plan *plan, uint32_t columns)
{
    return irisi_gemm_gated(plan) ? (uint64_t)(columns / 2) * plan->sums.c_element
                                  : (uint64_t)columns * plan->operands.c_element;
}

/* Bytes of counters at the start of a workgroup's shared memory; the mainloop's workspace and the stages follow. */
enum { IRISI_GEMM_COUNTERS = 128 };

/* Shared memory of a workgroup; `stages` is 0 without staging tiles, 2 where waves of it communicate. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_shared_bytes(const iris_gemm_plan *plan, uint32_t stages)
{
    if (stages > 1)
        return IRISI_GEMM_COUNTERS + plan->machine.workspace_bytes_with_comm +
               plan->machine.slots_with_comm * plan->machine.stage_bytes;
    return IRISI_GEMM_COUNTERS + plan->machine.workspace_bytes +
           stages * plan->machine.slots * plan->machine.stage_bytes;
}

/* Argument struct of the library's own GEMM kernels. */
typedef struct irisi_gemm_launch {
    iris_ctx ctx;
    iris_gemm_plan plan;
} irisi_gemm_launch;

/* Argument struct of the kernels that copy A and B. */
typedef struct irisi_gemm_pack_launch {
    irisi_gemm_packing packs[IRISI_GEMM_PACKS];
} irisi_gemm_pack_launch;

/* Argument struct of the kernels that say which mainloops an image holds: bit i of control->mainloops is mainloop i. */
typedef struct irisi_gemm_probe {
    irisi_control *control;
} irisi_gemm_probe;

/** A band of columns: first, first + 1, … (count of them). */
typedef struct iris_gemm_columns {
    uint32_t first, count;
} iris_gemm_columns;

/**
 * @name Bands
 *
 * Host functions and lanes call it.
 *
 * @param n     columns of C
 * @param world ranks
 * @param rank  whose band
 * @{
 */
/**
 * The columns of C that `rank` of `world` ranks owns. Blocks of 16 columns are dealt out as evenly as possible: the
 * first ranks may have one more than the others, and the last block may be narrower. So where rows of C start at
 * multiples of 16 bytes, the rows of all bands do too.
 */
IRIS_HOST_DEVICE iris_gemm_columns iris_gemm_band(uint32_t n, uint32_t world, uint32_t rank)
{
    const uint32_t blocks = n / 16 + (n % 16 != 0), each = blocks / world, more = blocks % world;
    const uint32_t first = 16 * (rank * each + (rank < more ? rank : more));
    const uint32_t end = first + 16 * (each + (rank < more ? 1 : 0));
    iris_gemm_columns band;
    band.first = first < n ? first : n;
    band.count = (end < n ? end : n) - band.first;
    return band;
}

/** Rows first, first + 1, ... (count of them). */
typedef struct iris_gemm_rows {
    uint32_t first, count;
} iris_gemm_rows;

/**
 * The rows of an m x k or m x n matrix that `rank` of `world` ranks owns, of A where it is gathered, of C where sums
 * are scattered: m / world each, the first m % world ranks one more.
 *
 * @param m rows of the whole matrix
 */
IRIS_HOST_DEVICE iris_gemm_rows iris_gemm_shard(uint32_t m, uint32_t world, uint32_t rank)
{
    const uint32_t each = m / world, more = m % world;
    iris_gemm_rows rows;
    rows.first = rank * each + (rank < more ? rank : more);
    rows.count = each + (rank < more ? 1 : 0);
    return rows;
}
/** @} */

/*
 * How many of the schedule's first tiles the first `senders` of so many workgroups of wg_specialized compute before
 * they send: `sender_tiles` each, if at least one tile is left for each other workgroup, else none.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_by_senders(const iris_gemm_plan *plan, uint32_t workgroups, uint32_t senders)
{
    const uint32_t by_senders = plan->tiling.sender_tiles * senders, workers = workgroups - senders;
    return plan->tiling.positions >= workers && by_senders <= plan->tiling.positions - workers ? by_senders : 0;
}

/* How many columns the first B has, of all of them. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_first_n(const iris_gemm_plan *plan)
{
    uint32_t n = plan->n;
    for (int i = 0; i < IRIS_GEMM_MOST_MORE; i++)
        n -= plan->several.n[i];
    return n;
}

/* Columns of the region that a rank computes: of all matrices B, each of which is banded by itself. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_columns_of(const iris_gemm_plan *plan, uint32_t rank)
{
    if (!irisi_gemm_op_is(plan->op, IRISI_GEMM_OPS_SPLIT_N))
        return plan->n;
    uint32_t columns = iris_gemm_band(irisi_gemm_first_n(plan), plan->world, rank).count;
    for (int i = 0; i < IRIS_GEMM_MOST_MORE; i++)
        columns += iris_gemm_band(plan->several.n[i], plan->world, rank).count;
    return columns;
}

/*
 * Rows of a rank's part of a slot, where partial sums are put to the owners of their rows: as many as the most have,
 * in a launch of the plan's most rows.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_slot_rows(const iris_gemm_plan *plan)
{
    return iris_gemm_shard(plan->most_m, plan->world, 0).count;
}

/*
 * Where K is split, the route of kernels that leave all partial sums on this rank, and of those that put them to the
 * owners of their rows. A plan has that of its pattern.
 */
IRIS_HOST_DEVICE void irisi_gemm_route_slot(iris_gemm_plan *plan)
{
    plan->route.base = plan->operands.c;
    __builtin_memcpy(plan->maps[2 + plan->rank % IRISI_GEMM_TMA_STORE_RANKS], plan->launcher.slot_map,
                     IRISI_GEMM_MAP_BYTES);
}
IRIS_HOST_DEVICE void irisi_gemm_route_owners(iris_gemm_plan *plan)
{
    const uint64_t pitch = plan->operands.ldc * plan->operands.c_element;
    plan->route.base = (char *)plan->operands.c + (uint64_t)plan->rank * irisi_gemm_slot_rows(plan) * pitch;
    __builtin_memcpy(plan->maps[2 + plan->rank % IRISI_GEMM_TMA_STORE_RANKS], plan->launcher.own_map,
                     IRISI_GEMM_MAP_BYTES);
}

/* iris_gemm_shard without a division, and the rank whose shard a row of C belongs to. */
IRIS_HOST_DEVICE iris_gemm_rows irisi_gemm_rows_of(const iris_gemm_plan *plan, uint32_t rank)
{
    iris_gemm_rows rows;
    rows.first = rank * plan->route.shard + (rank < plan->route.longer ? rank : plan->route.longer);
    rows.count = plan->route.shard + (rank < plan->route.longer ? 1 : 0);
    return rows;
}
IRIS_HOST_DEVICE uint32_t irisi_gemm_owner_of(const iris_gemm_plan *plan, uint32_t row)
{
    const uint32_t each = plan->route.shard, in_longer = plan->route.longer * (each + 1);
    return row < in_longer ? row / (each + 1) : plan->route.longer + (row - in_longer) / each;
}

/* Where A is gathered: the tensor map of this rank's own rows; 1 when so many rows from m0 on are read there. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_own_a(const iris_gemm_plan *plan)
{
    return 2 + (plan->rank + 1) % IRISI_GEMM_TMA_STORE_RANKS;
}
/*
 * The tensor map of C on a rank. A GEMM alone has one, in a place that does not depend on its rank, of which the plan
 * knows nothing; where A is gathered there is one too, and ranks may be more than maps.
 */
IRIS_HOST_DEVICE uint32_t irisi_gemm_c_map(const iris_gemm_plan *plan, uint32_t rank)
{
    return 2 + (plan->world == 1 ? 0 : rank % IRISI_GEMM_TMA_STORE_RANKS);
}
/* The tensor maps of further matrix `which`, from 1 on: of its B, and of its C. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_more_b(const iris_gemm_plan *plan, uint32_t which)
{
    return 2 + (plan->rank + 1 + which) % IRISI_GEMM_TMA_STORE_RANKS;
}
IRIS_HOST_DEVICE uint32_t irisi_gemm_more_c(const iris_gemm_plan *plan, uint32_t which)
{
    return 2 + (plan->rank + 1 + IRIS_GEMM_MOST_MORE + which) % IRISI_GEMM_TMA_STORE_RANKS;
}
IRIS_HOST_DEVICE int irisi_gemm_in_place(const iris_gemm_plan *plan, uint32_t m0, uint32_t rows)
{
    return m0 + rows <= plan->inputs.end && m0 >= plan->inputs.first;
}

/* Units of so many rows of a rank's band, however it is cut into tiles. 0 for an empty band. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_units_of_rows(const iris_gemm_plan *plan, uint32_t rows, uint32_t rank)
{
    const uint32_t columns = iris_gemm_band(plan->n, plan->world, rank).count;
    return (rows + plan->tiling.tile_m - 1) / plan->tiling.tile_m *
           ((columns + plan->tiling.unit - 1) / plan->tiling.unit);
}

/* The same of the most rows that a launch of the plan may have. */
IRIS_HOST_DEVICE uint32_t irisi_gemm_units(const iris_gemm_plan *plan, uint32_t rank)
{
    return irisi_gemm_units_of_rows(plan, plan->most_m, rank);
}

#endif
