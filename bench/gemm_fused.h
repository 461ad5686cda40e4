/* SPDX-License-Identifier: MIT */
/*
 * gemm_fused.h: GEMMs of bf16 with communication beside what they are made of: the machine of gemm_fused.c, which has
 * the table of what the library offers. Included behind the launchers of the operations and of the collectives.
 *
 *   gemm_launch gemm_operation     a row of the table: the library's way of one operation
 *   gemm_fused_main                the program
 *
 * For each operation and shape, in this order:
 *
 *   blas              the vendor's product of one rank, its fastest algorithm whose result is right
 *   gemm              this library's, IRIS_GEMM_LOCAL
 *   push              the bytes that the operation sends, to every peer, by 16-byte stores
 *   nccl              NCCL's collective alone, contiguous
 *   nccl_window       the same with both buffers in windows (symmetric memory)
 *   iris              the library's collective
 *   blas+...          the BLAS and each of the three on one stream; of all_scatter C is left in bands, and with +copy
 *                     it is one C, which the patterns write at once. Of all_reduce_rmsnorm there are those with
 *                     +norm alone: the residual and RMSNorm are a kernel of its own behind them
 *   auto, the patterns, blas_gather, the BLAS as the library's (iris_gemm_args.blas), and of all_gather copy_engine
 *
 * and with _graph, of few rows, one of at least --laps calls in a graph, each set in turn; of more rows so are blas and
 * gemm alone.
 *
 * bound = max(blas, push), without a BLAS max(gemm, push): the `ceiling` of what communicates. Every C is checked on
 * every rank before it is timed, behind calls with all other sets, and of a graph again: all of its elements against
 * what the BLAS and a collective give, and sampled ones against sums in double precision, within the bound of all
 * roundings on the way.
 */
#ifndef IRIS_BENCH_GEMM_FUSED_H
#define IRIS_BENCH_GEMM_FUSED_H

#include <math.h>

#include "gemm_peers.h"
#include "runtime.h"

typedef iris_status (*gemm_launch)(iris_world *, const iris_gemm_plan *, iris_stream);

/* What the library has of an operation: its plans, and launchers by iris_gemm_pattern, null where it has none. */
typedef struct gemm_operation {
    gemm_fused op;
    gemm_prepare prepare; /* k: this rank's own; a, b and c: its own parts */
    gemm_launch launch[IRIS_GEMM_COPY_ENGINE + 1];
} gemm_operation;

/* What is timed, in this order: what others are compared with comes first. `which`: a mode or a pattern. */
enum { GEMM_DO_BLAS, GEMM_DO_OWN, GEMM_DO_PUSH, GEMM_DO_COLLECTIVE, GEMM_DO_BOTH, GEMM_DO_FOLLOWED, GEMM_DO_PATTERN };
enum { GEMM_KINDS = GEMM_DO_PATTERN + 1, GEMM_WHICH = IRIS_GEMM_COPY_ENGINE + 1, GEMM_NAME = 48 };
enum { GEMM_FEW_ROWS = 64, GEMM_LISTED = 64 };

static inline int gemm_whiches(int kind)
{
    return kind < GEMM_DO_COLLECTIVE ? 1 : kind < GEMM_DO_PATTERN ? (int)GEMM_MODES : (int)GEMM_WHICH;
}

static inline void gemm_name(char *name, gemm_fused op, int kind, int which, int graph)
{
    static const char *const names[] = {"blas", "gemm", "push"};
    const char *end = graph ? "_graph" : "";
    if (kind < GEMM_DO_COLLECTIVE)
        snprintf(name, GEMM_NAME, "%s%s", names[kind], end);
    else if (kind == GEMM_DO_PATTERN)
        snprintf(name, GEMM_NAME, "%s%s", iris_gemm_pattern_name((iris_gemm_pattern)which), end);
    else
        snprintf(name, GEMM_NAME, "%s%s%s%s", kind == GEMM_DO_COLLECTIVE ? "" : "blas+", gemm_mode_names[which],
                 kind != GEMM_DO_FOLLOWED ? ""
                 : op == GEMM_ALL_SCATTER ? "+copy"
                                          : "+norm",
                 end);
}

/* What the program was asked, for the ranks. */
typedef struct gemm_question {
    bench_options o;
    const gemm_operation *operations; /* GEMM_FUSED of them */
    gemm_launch local;
    int shapes[GEMM_FUSED]; /* 0: the operation is left out */
    long shape[GEMM_FUSED][GEMM_LISTED][3];
} gemm_question;

/* One shape on one rank. */
typedef struct gemm_job {
    bench *b;
    const gemm_operation *operation;
    gemm_launch local;
    gemm_operands g;
    gemm_peers peers;
    uint32_t *flag;
    char *reference; /* the C of BLAS and a collective; of all_scatter in bands */
    int have_reference;
    int products; /* 1: every rank has one to compute */
    int kind, which;
    double us[GEMM_KINDS][GEMM_WHICH][2]; /* plain and in a graph; -1: not timed yet, 0: left out */
} gemm_job;

/* Lists of shapes by name: m x n x k of the whole product. */
static const long gemm_layers[][3] = {{8192, 8192, 30720}, {8192, 4608, 36864}, {8192, 4096, 12288},
                                      {8192, 4096, 14336}, {8192, 8192, 8192},  {4096, 4096, 4096},
                                      {1024, 8192, 8192},  {16384, 16384, 16384}};
static const long gemm_decoded_rows[] = {1, 4, 8, 16, 32, 64};
/* n and k of layers of 8 and of 70 billion parameters: where K is split, and where N is. */
static const long gemm_decoded[2][2][2][2] = {{{{4096, 4096}, {4096, 14336}}, {{14336, 4096}, {14336, 4096}}},
                                              {{{8192, 8192}, {8192, 28672}}, {{28672, 8192}, {28672, 8192}}}};

static inline int gemm_list_add(long (*shape)[3], int n, const long *more)
{
    if (n == GEMM_LISTED)
        return n;
    memcpy(shape[n], more, 3 * sizeof more[0]);
    return n + 1;
}

/* Adds a list's shapes of an operation to the n that there are. How many there are then; -1: there is no such list. */
static inline int gemm_list(gemm_fused op, const char *name, long (*shape)[3], int n)
{
    long one[3];
    if (gemm_shape_read(name, one))
        return gemm_list_add(shape, n, one);
    if (strcmp(name, "published") == 0) {
        for (int i = 0; i < GEMM_ALL_SHAPES; i++)
            n = gemm_list_add(shape, n, gemm_shapes[i]);
        return n;
    }
    if (strcmp(name, "layers") == 0) {
        for (size_t i = 0; i < sizeof gemm_layers / sizeof gemm_layers[0]; i++)
            n = gemm_list_add(shape, n, gemm_layers[i]);
        return n;
    }
    if (strcmp(name, "decode8b") != 0 && strcmp(name, "decode70b") != 0)
        return -1;
    const int by_columns = op == GEMM_ALL_SCATTER || op == GEMM_ALL_GATHER, large = name[6] == '7';
    for (int layer = 0; layer < (by_columns ? 1 : 2); layer++)
        for (size_t i = 0; i < sizeof gemm_decoded_rows / sizeof gemm_decoded_rows[0]; i++) {
            const long *nk = gemm_decoded[large][by_columns][layer];
            one[0] = gemm_decoded_rows[i], one[1] = nk[0], one[2] = nk[1];
            n = gemm_list_add(shape, n, one);
        }
    return n;
}

/* Fills the question's shapes; a word that is none ends the program. */
static inline void gemm_read_words(gemm_question *q)
{
    static const char *const scattered[] = {"published", NULL};
    static const char *const others[] = {"layers", "decode8b", "decode70b", NULL};
    static const char *const decoded[] = {"decode8b", "decode70b", NULL};
    int known = q->o.only == NULL;
    for (int op = 0; op < GEMM_FUSED; op++) {
        int n = 0;
        if (q->o.only && strcmp(q->o.only, gemm_fused_names[op]) != 0)
            continue;
        known = 1;
        const char *const *usual = op == GEMM_ALL_SCATTER          ? scattered
                                   : op == GEMM_ALL_REDUCE_RMSNORM ? decoded
                                                                   : others;
        for (int i = 0; q->o.words == 0 && usual[i]; i++)
            n = gemm_list((gemm_fused)op, usual[i], q->shape[op], n);
        for (int i = 0; i < q->o.words; i++) {
            n = gemm_list((gemm_fused)op, q->o.word[i], q->shape[op], n);
            if (n < 0) {
                fprintf(stderr, "gemm_fused: '%s' is neither a shape, MxNxK, nor a list; see --help\n", q->o.word[i]);
                exit(2);
            }
        }
        q->shapes[op] = n;
    }
    if (!known) {
        fprintf(stderr, "gemm_fused: '%s' is no operation; see --help\n", q->o.only);
        exit(2);
    }
    if (q->o.dtype && strcmp(q->o.dtype, "bf16") != 0) {
        fprintf(stderr, "gemm_fused: '%s' is not bf16, the only type here\n", q->o.dtype);
        exit(2);
    }
}

/* 1 when all ranks have what a kind needs. */
static inline int gemm_possible(const gemm_job *j, int kind, int which, int graph)
{
    const gemm_peers *p = &j->peers;
    if (graph && (!iris_bench_graphs() || (j->g.m > GEMM_FEW_ROWS && kind > GEMM_DO_OWN)))
        return 0;
    switch (kind) {
    case GEMM_DO_BLAS: return gemm_have_blas(p);
    case GEMM_DO_OWN: return j->products;
    case GEMM_DO_PUSH: return iris_world_size(j->b->w) > 1;
    case GEMM_DO_COLLECTIVE: /* without a BLAS nothing says what it gives */
    case GEMM_DO_BOTH: return j->g.op != GEMM_ALL_REDUCE_RMSNORM && gemm_have_blas(p) && gemm_peers_can(p, which);
    case GEMM_DO_FOLLOWED: return gemm_follower(p) && gemm_have_blas(p) && gemm_peers_can(p, which);
    default: break;
    }
    if (which == IRIS_GEMM_BLAS_GATHER && !gemm_have_blas(p))
        return 0;
    return j->operation->launch[which] != NULL;
}

/* One repetition of what is timed, for iris_bench. Of so many calls as there are sets the last has the first set. */
static inline iris_status gemm_submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const gemm_job *j = (const gemm_job *)arg;
    const int set = (turn + 1) % j->g.sets;
    iris_status s;
    switch (j->kind) {
    case GEMM_DO_BLAS: return gemm_blas(&j->peers, GEMM_IRIS, set, stream);
    case GEMM_DO_OWN: return j->local(w, &j->g.plan[set], stream);
    case GEMM_DO_PUSH: return gemm_push(&j->peers, stream);
    case GEMM_DO_COLLECTIVE: return gemm_collective(&j->peers, j->which, set, stream);
    case GEMM_DO_BOTH: return gemm_both(&j->peers, j->which, set, stream);
    case GEMM_DO_FOLLOWED:
        s = gemm_both(&j->peers, j->which, set, stream);
        return s == IRIS_OK ? gemm_follow(&j->peers, gemm_both_out(&j->peers, j->which), stream) : s;
    default: return j->operation->launch[j->which](w, &j->g.plan[set], stream);
    }
}

static inline iris_status gemm_prepare_local(iris_world *w, iris_gemm_plan *plan, const iris_gemm_args *args)
{
    return iris_gemm_prepare(w, plan, IRIS_GEMM_LOCAL, IRIS_BF16, args);
}

/* Plans for each set: of a pattern the operation's, else of this rank's product alone, where BLAS's stands too. */
static inline iris_status gemm_plan(gemm_job *j, int kind, int which)
{
    iris_gemm_args args;
    iris_status s = IRIS_OK;
    memset(&args, 0, sizeof args);
    if (kind == GEMM_DO_PATTERN) {
        args.pattern = (iris_gemm_pattern)which;
        if (which == IRIS_GEMM_BLAS_GATHER)
            args.blas = gemm_blas_call, args.blas_arg = &j->peers;
        return gemm_operands_plan(j->b->w, &j->g, j->operation->prepare, &args);
    }
    args.m = (int64_t)j->g.m, args.n = (int64_t)j->g.product_n, args.k = (int64_t)j->g.product_k;
    args.c = gemm_blas_out(&j->peers, GEMM_IRIS), args.b_transposed = j->g.transposed;
    for (int i = 0; i < j->g.sets && s == IRIS_OK; i++) {
        s = iris_gemm_release(j->b->w, &j->g.plan[i]);
        args.a = gemm_blas_a(&j->peers, GEMM_IRIS)[i], args.b = j->g.b[i];
        if (s == IRIS_OK)
            s = gemm_prepare_local(j->b->w, &j->g.plan[i], &args);
    }
    return s;
}

/* Asks the library for the products that its plans leave to the caller's BLAS, and finds one: 1 when all ranks have. */
static inline int gemm_placed(gemm_job *j)
{
    iris_world *w = j->b->w;
    int ok = 1;
    memset(j->peers.asked, 0, sizeof j->peers.asked);
    for (int set = 0; set < j->g.sets; set++) {
        j->peers.asking = set + 1;
        ok = j->operation->launch[IRIS_GEMM_BLAS_GATHER](w, &j->g.plan[set], iris_default_stream(w)) == IRIS_OK && ok;
    }
    j->peers.asking = 0;
    ok = iris_synchronize(w) == IRIS_OK && ok;
    if (!ok)
        fprintf(stderr, "rank %d, blas_gather: %s\n", iris_rank(w), iris_error_string(w));
    return iris_bench_all_ok(j->b->w, ok) && gemm_peers_place(&j->peers);
}

/* What two right Cs may differ by besides the rounding of each: what sums lose, and the rounding of partials. */
static inline double gemm_may_differ(const gemm_job *j)
{
    const double k = (double)j->g.k, parts = gemm_splits_k(&j->g) ? (double)iris_world_size(j->b->w) : 0;
    const double partial = parts > 0 ? 8 * sqrt(k / parts / 9 + 1) : 0; /* terms are of variance 1/9: 8 deviations */
    const double sum = j->g.op == GEMM_ALL_REDUCE_RMSNORM ? sqrt(parts) * partial : 0; /* rounded before the residual */
    return 2 * (1e-5 * k / 2 + (parts * partial + sum) / 256);
}

/* 1 when a C is like the reference, and right where it is sampled. hops: a collective's, which may round on its way. */
static inline int gemm_c_right(gemm_job *j, const char *c, int banded, int hops, const char *who)
{
    gemm_likeness like;
    memset(&like, 0, sizeof like);
    like.c[0] = c, like.c[1] = j->reference;
    like.banded[0] = banded, like.banded[1] = j->g.op == GEMM_ALL_SCATTER;
    like.rows = j->g.c_rows, like.columns = j->g.c_columns, like.n = j->g.n;
    like.world = (uint32_t)iris_world_size(j->b->w), like.c_dtype = IRIS_BF16, like.off = gemm_may_differ(j);
    return gemm_operands_right(j->b->w, &j->g, c, banded, hops, j->flag, who) &&
           (!j->have_reference || gemm_alike(j->b->w, &like, j->flag, who));
}

/* What is to be written is poison on all ranks before anybody writes, and what a collective reads is there. */
static inline int gemm_poison(gemm_job *j)
{
    iris_world *w = j->b->w;
    const int mode = j->kind == GEMM_DO_BLAS || j->kind == GEMM_DO_OWN || j->kind == GEMM_DO_PATTERN ? (int)GEMM_IRIS
                                                                                                      : j->which;
    iris_status s = iris_memset(w, j->g.c, 0xff, j->g.c_count * 2);
    if (s == IRIS_OK && j->g.out)
        s = iris_memset(w, j->g.out, 0xff, j->g.c_count * 2);
    if (s == IRIS_OK && j->kind <= GEMM_DO_OWN)
        s = iris_memset(w, gemm_blas_out(&j->peers, mode), 0xff, j->g.m * j->g.product_n * 2);
    else if (s == IRIS_OK && j->kind == GEMM_DO_PUSH)
        s = gemm_push_poison(&j->peers);
    else if (s == IRIS_OK && j->kind != GEMM_DO_PATTERN)
        s = gemm_peers_poison(&j->peers, mode);
    const int ok = (iris_barrier(w) == IRIS_OK) & (s == IRIS_OK);
    if (j->kind != GEMM_DO_COLLECTIVE || j->g.op == GEMM_ALL_GATHER)
        return ok;
    return gemm_blas(&j->peers, mode, 0, iris_default_stream(w)) == IRIS_OK && ok;
}

/* What is submitted to be timed, and how many calls that takes until all sets have had their turn. */
typedef struct gemm_timing {
    const char *name;
    iris_bench_fn submit;
    void *arg;
    int calls;
} gemm_timing;

/* 1 when what the job's kind wrote last, of the first set, is right on this rank. */
static inline int gemm_wrote_right(gemm_job *j, const char *who)
{
    const int banded = j->g.op == GEMM_ALL_SCATTER;
    if (j->kind <= GEMM_DO_OWN)
        return gemm_operands_own_right(j->b->w, &j->g, gemm_blas_out(&j->peers, GEMM_IRIS), j->flag, who);
    if (j->kind == GEMM_DO_PUSH)
        return gemm_pushed_right(&j->peers, j->flag);
    if (j->kind >= GEMM_DO_FOLLOWED)
        return gemm_c_right(j, j->g.c, 0, j->kind == GEMM_DO_FOLLOWED && gemm_splits_k(&j->g), who) &&
               (j->g.out == NULL || gemm_norms_right(j->b->w, &j->g, j->flag, who));
    if (j->kind == GEMM_DO_COLLECTIVE && j->g.op == GEMM_ALL_GATHER &&
        gemm_blas(&j->peers, j->which, 0, iris_default_stream(j->b->w)) != IRIS_OK)
        return 0;
    return gemm_c_right(j, gemm_both_out(&j->peers, j->which), banded, 1, who);
}

/*
 * Poisons, calls with each set, without waiting in between, and looks at what is left of the last call: calls behind
 * each other must not disturb one another. Collective: the same on every rank.
 */
static inline int gemm_checked(gemm_job *j, const gemm_timing *t)
{
    iris_world *w = j->b->w;
    int ok = gemm_poison(j);
    for (int turn = 0; turn < t->calls; turn++) /* whatever failed here: the others wait for this rank */
        ok = t->submit(w, t->arg, iris_default_stream(w), turn) == IRIS_OK && ok;
    ok = iris_synchronize(w) == IRIS_OK && ok;
    if (!ok)
        fprintf(stderr, "rank %d, %s %s: %s\n", iris_rank(w), gemm_fused_names[j->g.op], t->name,
                iris_error_string(w));
    ok = iris_bench_all_ok(j->b->w, ok); /* a push has arrived once all ranks are through */
    ok = ok && gemm_wrote_right(j, t->name);
    return iris_bench_all_ok(j->b->w, ok);
}

/* What came of a way of the job's kind: microseconds of one call, 0 where the check failed. */
typedef struct gemm_outcome {
    double us; /* negative when a rank could not go on */
    int ok;
} gemm_outcome;

static inline gemm_outcome gemm_check_and_time(gemm_job *j, const gemm_timing *t)
{
    gemm_outcome out;
    out.ok = gemm_checked(j, t);
    out.us = out.ok ? bench_time(j->b, t->name, t->submit, t->arg) : 0;
    return out;
}

/* The job's kind as single calls. Collective. */
static inline gemm_outcome gemm_timed(gemm_job *j, const char *name)
{
    gemm_timing t;
    t.name = name, t.submit = gemm_submit, t.arg = j, t.calls = j->g.sets > 1 ? j->g.sets : 2;
    return gemm_check_and_time(j, &t);
}

/* The same as graphs of at least --laps calls, each set in turn. Collective. */
static inline gemm_outcome gemm_timed_graph(gemm_job *j, const char *name)
{
    gemm_outcome out;
    out.us = -1, out.ok = 0;
    const int calls = (j->b->o->laps + j->g.sets - 1) / j->g.sets * j->g.sets;
    irisi_graph made;
    gemm_timing t;
    const int ok = bench_graph_make(j->b->w, &made, gemm_submit, j, calls) == IRIS_OK;
    if (!ok)
        fprintf(stderr, "%s: %s\n", name, iris_error_string(j->b->w));
    t.name = name, t.submit = bench_submit_graph, t.arg = &made, t.calls = 1;
    if (iris_bench_all_ok(j->b->w, ok))
        out = gemm_check_and_time(j, &t);
    irisi_graph_free(made);
    out.us = out.us < 0 ? out.us : out.us / calls;
    return out;
}

/* Microseconds of what others are compared with, 0 where it was left out. It comes before they do. */
static inline double gemm_measured(const gemm_job *j, int kind, int graph)
{
    char name[GEMM_NAME];
    if (j->us[kind][0][graph] >= 0)
        return j->us[kind][0][graph];
    gemm_name(name, j->g.op, kind, 0, graph);
    fprintf(stderr, "gemm_fused: %s is compared with before it was timed\n", name);
    exit(3);
}

/* The best that can be: what neither arithmetic nor links allow to be shorter. 0: nothing to compare with. */
static inline double gemm_bound(const gemm_job *j, int kind, int graph)
{
    if (kind == GEMM_DO_PUSH || kind == GEMM_DO_COLLECTIVE)
        return 0;
    const double blas = gemm_measured(j, GEMM_DO_BLAS, graph);
    if (kind <= GEMM_DO_OWN)
        return blas;
    const double product = blas > 0 ? blas : gemm_measured(j, GEMM_DO_OWN, graph);
    const double push = gemm_measured(j, GEMM_DO_PUSH, graph);
    return product > push ? product : push;
}

/* What BLAS and a collective give, verified; of one rank the BLAS alone. 0, or 1 when the run cannot go on. */
static inline int gemm_refer(gemm_job *j)
{
    iris_world *w = j->b->w;
    const gemm_operands *g = &j->g;
    iris_stream stream = iris_default_stream(w);
    const int alone = iris_world_size(w) == 1, mode = gemm_peers_can(&j->peers, GEMM_NCCL) ? GEMM_NCCL : GEMM_IRIS;
    const char *c = alone ? gemm_blas_out(&j->peers, mode) : gemm_both_out(&j->peers, mode);
    j->have_reference = 0;
    j->kind = GEMM_DO_BOTH, j->which = mode;
    if (!gemm_have_blas(&j->peers) || (!alone && !gemm_peers_can(&j->peers, mode)) ||
        (g->op == GEMM_ALL_REDUCE_RMSNORM && !gemm_follower(&j->peers)))
        return 0; /* C is then checked by samples alone */
    int ok = gemm_poison(j);
    if (alone && g->op == GEMM_ALL_GATHER)
        ok = gemm_fill_gathered(&j->peers, mode, 0) == IRIS_OK && ok;
    ok = (alone ? gemm_blas(&j->peers, mode, 0, stream) : gemm_both(&j->peers, mode, 0, stream)) == IRIS_OK && ok;
    if (g->op == GEMM_ALL_REDUCE_RMSNORM) {
        ok = ok && gemm_norm(w, g, c, stream) == IRIS_OK;
        c = g->c;
    }
    ok = ok && iris_synchronize(w) == IRIS_OK;
    ok = ok && iris_memcpy(w, j->reference, c, g->c_rows * g->c_columns * 2) == IRIS_OK;
    if (!ok)
        fprintf(stderr, "%s\n", iris_error_string(w));
    if (!iris_bench_all_ok(j->b->w, ok))
        return 1;
    ok = gemm_operands_right(w, g, j->reference, g->op == GEMM_ALL_SCATTER, 1, j->flag, "BLAS and a collective");
    j->have_reference = iris_bench_all_ok(j->b->w, ok);
    return 0;
}

static inline int gemm_job_create(gemm_job *j)
{
    iris_world *w = j->b->w;
    const uint32_t world = (uint32_t)iris_world_size(w);
    j->g.most_sets = j->peers.plain ? GEMM_SETS : GEMM_MOST_SETS;
    if (gemm_operands_create(w, &j->g) || gemm_peers_create(&j->peers, &j->g, j->flag))
        return 1;
    j->products = gemm_splits_k(&j->g) ? j->g.k >= world
                                       : iris_gemm_band((uint32_t)j->g.n, world, world - 1).count > 0;
    j->reference = (char *)iris_malloc(w, j->g.c_count * 2);
    if (!j->reference)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    return gemm_refer(j);
}

static inline int gemm_job_free(gemm_job *j)
{
    IRIS_TRY(iris_synchronize(j->b->w));
    IRIS_TRY(iris_barrier(j->b->w));
    IRIS_TRY(iris_free(j->b->w, j->reference));
    return gemm_peers_free(&j->peers) || gemm_operands_free(j->b->w, &j->g);
}

/* One way, plain and in a graph: 0, or 1 when the run cannot go on. */
static inline int gemm_run(gemm_job *j, const char *shape, int kind, int which)
{
    const int planned = kind == GEMM_DO_OWN || kind == GEMM_DO_PATTERN;
    int ready = 0;
    for (int graph = 0; graph < 2; graph++) {
        char name[GEMM_NAME];
        iris_bench_row row;
        gemm_name(name, j->g.op, kind, which, graph);
        j->us[kind][which][graph] = 0;
        if (!gemm_possible(j, kind, which, graph) || (j->b->o->variant && strcmp(j->b->o->variant, name) != 0))
            continue;
        if (!ready) {
            j->kind = kind, j->which = which;
            const iris_status s = planned ? gemm_plan(j, kind, which) : IRIS_OK;
            if (s != IRIS_OK)
                fprintf(stderr, "rank %d, %s: %s\n", iris_rank(j->b->w), name, iris_error_string(j->b->w));
            j->us[kind][which][1] = 0;
            if (!iris_bench_all_ok(j->b->w, s == IRIS_OK)) /* what the library says that it lacks is left out */
                return !iris_bench_all_ok(j->b->w, s == IRIS_OK || s == IRIS_ERR_UNSUPPORTED);
            if (kind == GEMM_DO_PATTERN && which == IRIS_GEMM_BLAS_GATHER && !gemm_placed(j))
                return 0;
            ready = 1;
        }
        gemm_outcome out = graph ? gemm_timed_graph(j, name) : gemm_timed(j, name);
        if (out.us < 0 && !graph)
            return 1;
        if (out.us < 0) /* it cannot be captured */
            out.us = 0, out.ok = 0;
        j->us[kind][which][graph] = out.us;
        memset(&row, 0, sizeof row);
        row.op = gemm_fused_names[j->g.op];
        row.name = shape, row.dtype = "bf16", row.variant = name;
        row.bytes = gemm_bytes(&j->g, iris_world_size(j->b->w), iris_rank(j->b->w)), row.ok = out.ok;
        if (planned) {
            row.workgroups = (int)j->g.plan[0].machine.workgroups;
            row.lanes = (int)(j->g.plan[0].machine.waves * j->g.plan[0].machine.wave_lanes);
        }
        row.us = out.us;
        if ((kind == GEMM_DO_PUSH || kind == GEMM_DO_COLLECTIVE) && out.us > 0)
            row.gbps = (double)row.bytes / out.us * 1e-3;
        row.ceiling = gemm_bound(j, kind, graph);
        iris_bench_put(&j->b->file, &row);
    }
    return 0;
}

/* The least of a kind's times, from the first-th on; 0: there is none. */
static inline double gemm_least(const gemm_job *j, int kind, int first, int end, int graph)
{
    double least = 0;
    for (int i = first; i < end; i++)
        if (j->us[kind][i][graph] > 0 && (least == 0 || j->us[kind][i][graph] < least))
            least = j->us[kind][i][graph];
    return least;
}

/* One line: the best pattern beside the better of NCCL's modes, and the bound. */
static inline void gemm_summary(const gemm_job *j, const char *shape)
{
    const int graph = gemm_least(j, GEMM_DO_PATTERN, 0, IRIS_GEMM_PATTERNS, 1) > 0;
    const double patterns = gemm_least(j, GEMM_DO_PATTERN, 0, IRIS_GEMM_PATTERNS, graph);
    const double copies = j->us[GEMM_DO_PATTERN][IRIS_GEMM_COPY_ENGINE][graph];
    const double own = copies > 0 && (patterns == 0 || copies < patterns) ? copies : patterns;
    const int norm = j->g.op == GEMM_ALL_REDUCE_RMSNORM, beside = norm ? GEMM_DO_FOLLOWED : GEMM_DO_BOTH;
    double both = gemm_least(j, beside, 0, GEMM_IRIS, graph);
    const char *whose = "NCCL";
    if (both == 0)
        both = gemm_least(j, beside, GEMM_IRIS, GEMM_MODES, graph), whose = "the library's collective";
    if (iris_rank(j->b->w) == 0 && own > 0 && both > 0)
        printf("%s %s%s: %.2f times as fast as BLAS + %s%s, %.2f of the bound\n", gemm_fused_names[j->g.op], shape,
               graph ? " in a graph" : "", both / own, whose, norm ? " + RMSNorm" : "",
               gemm_bound(j, GEMM_DO_PATTERN, graph) / own);
}

/* One shape: 0, or 1 when the run cannot go on. */
static inline int gemm_run_shape(gemm_job *j)
{
    char shape[64];
    snprintf(shape, sizeof shape, "%llux%llux%llu", (unsigned long long)j->g.m, (unsigned long long)j->g.n,
             (unsigned long long)j->g.k);
    if (gemm_job_create(j))
        return 1;
    for (int kind = 0; kind < GEMM_KINDS; kind++)
        for (int which = 0; which < GEMM_WHICH; which++)
            j->us[kind][which][0] = j->us[kind][which][1] = -1;
    for (int kind = 0; kind < GEMM_KINDS; kind++)
        for (int which = 0; which < gemm_whiches(kind) && !iris_bench_late(&j->b->file); which++)
            if (gemm_run(j, shape, kind, which))
                return 1;
    if (!j->b->file.cut)
        gemm_summary(j, shape);
    return gemm_job_free(j);
}

/* Bytes of NCCL's two windows: the most that a shape needs. */
static inline void gemm_window_bytes(const gemm_question *q, size_t *bytes)
{
    enum { PAGE = 2 << 20 };
    bytes[0] = bytes[1] = 0;
    for (int op = 0; op < GEMM_FUSED; op++)
        for (int i = 0; i < q->shapes[op]; i++) {
            gemm_operands g;
            memset(&g, 0, sizeof g);
            g.op = (gemm_fused)op, g.most_sets = GEMM_MOST_SETS;
            g.m = (uint64_t)q->shape[op][i][0], g.n = (uint64_t)q->shape[op][i][1], g.k = (uint64_t)q->shape[op][i][2];
            gemm_operands_deal(&g, (uint32_t)q->o.ranks, 0);
            if (q->o.max_bytes < g.m * g.n * 2)
                continue;
            bytes[0] = gemm_in_bytes(&g, 1) > bytes[0] ? gemm_in_bytes(&g, 1) : bytes[0];
            bytes[1] = gemm_out_bytes(&g) > bytes[1] ? gemm_out_bytes(&g) : bytes[1];
        }
    for (int i = 0; i < 2; i++)
        bytes[i] = (bytes[i] + PAGE - 1) / PAGE * PAGE;
}

static inline int gemm_fused_rank(iris_world *w, void *arg)
{
    gemm_question *q = (gemm_question *)arg;
    bench_options o = q->o;
    gemm_job *j = (gemm_job *)calloc(1, sizeof *j);
    bench b;
    size_t bytes[2];
    o.nccl = bench_nccl_version(w);
    if (j == NULL || bench_open(&b, w, &o, "gemm_fused"))
        return 1;
    j->b = &b, j->local = q->local;
    j->flag = (uint32_t *)iris_malloc(w, sizeof *j->flag);
    IRIS_TRY(iris_barrier(w));
    gemm_window_bytes(q, bytes);
    IRIS_TRY(gemm_peers_open(&b, &j->peers, bytes));
    for (int op = 0; op < GEMM_FUSED; op++) {
        if (q->shapes[op] > 0 && q->operations[op].prepare == NULL && iris_rank(w) == 0)
            printf("%s: the library has no kernels of this operation yet; what follows are its parts\n",
                   gemm_fused_names[op]);
        for (int i = 0; i < q->shapes[op] && !iris_bench_late(&b.file); i++) {
            memset(&j->g, 0, sizeof j->g);
            j->operation = &q->operations[op], j->g.op = (gemm_fused)op;
            j->g.m = (uint64_t)q->shape[op][i][0], j->g.n = (uint64_t)q->shape[op][i][1];
            j->g.k = (uint64_t)q->shape[op][i][2];
            if (o.max_bytes < j->g.m * j->g.n * 2) /* a run on a small machine */
                continue;
            if (gemm_run_shape(j))
                return 1;
        }
    }
    gemm_peers_close(&j->peers);
    IRIS_TRY(iris_free(w, j->flag));
    free(j);
    return iris_bench_close(&b.file);
}

/* The program: `operations` has a row for each gemm_fused, in that order; `local` launches a GEMM alone. */
static inline int gemm_fused_main(int argc, char **argv, const gemm_operation *operations, gemm_launch local)
{
    static gemm_question q;
    iris_config config;
    memset(&config, 0, sizeof config);
    q.operations = operations, q.local = local;
    q.o.ranks = 2, q.o.repeats = 20, q.o.warmup = 5, q.o.laps = 8, q.o.seconds = 540, q.o.min_bytes = 4;
    q.o.max_bytes = (size_t)1 << 30, q.o.takes_words = 1;
    bench_parse(&q.o, argc, argv,
                "gemm_fused [OPTION...] [SHAPE...]: GEMMs of bf16 with communication, beside BLAS and NCCL\n\n"
                "  --only     all_scatter, reduce_scatter, all_reduce, all_gather, all_reduce_rmsnorm; default: all\n"
                "  --variant  blas, gemm, push, nccl, nccl_window, iris, blas+nccl, blas+nccl_window, blas+iris,\n"
                "             blas+nccl+copy, blas+nccl+norm, auto, the patterns, blas_gather; with _graph of few\n"
                "             rows, of more rows blas_graph and gemm_graph\n"
                "  SHAPE      MxNxK of the whole product (K is split over the ranks where sums are reduced,\n"
                "             N by the others, M of A too by all_gather), or a list: published, layers, decode8b,\n"
                "             decode70b; default: published for all_scatter, the others for the others, the last two\n"
                "             for all_reduce_rmsnorm\n"
                "  --max      bytes of the largest C");
    gemm_read_words(&q);
    config.heap_bytes = (size_t)8 << 30;
    if (q.o.max_bytes < (size_t)64 << 20)
        config.heap_bytes = (size_t)512 << 20;
    return iris_spawn_config(q.o.ranks, gemm_fused_rank, &q, &config);
}

#endif
