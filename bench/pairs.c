/* SPDX-License-Identifier: MIT */
/*
 * pairs.c: what goes from every rank to every rank, one pair at a time: loads, stores, puts, gets, atomic sums and
 * exchanges of u64, as a matrix of GB/s and of per cent of a ceiling, over sizes; and all ranks at once, from or to all
 * others. bench/iris_plot.py draws the matrices as heat maps.
 *
 * `from` is the rank whose kernel moves, `to` the one whose memory it reaches; on the diagonal it is its own. The
 * ceiling is what --ceiling gives, or the hand-written kernel's figure for the same ranks, size and direction; atomics
 * have none of their own.
 */
#include "bench.h"
#include "hand.h"

#define BENCH_DTYPE u32
#define BENCH_CTYPE uint32_t
#include "moves.h"

IRIS_KERNEL(put, move_args, a, 1024) { move_u32(a, MOVE_PUT); }
IRIS_KERNEL(get, move_args, a, 1024) { move_u32(a, MOVE_GET); }
IRIS_KERNEL(store, move_args, a, 1024) { move_u32(a, MOVE_STORE); }
IRIS_KERNEL(load, move_args, a, 1024) { move_u32(a, MOVE_LOAD); }
IRIS_KERNEL(all_store, move_args, a, 1024) { move_u32(a, MOVE_ALL_STORE); }
IRIS_KERNEL(all_load, move_args, a, 1024) { move_u32(a, MOVE_ALL_LOAD); }
IRIS_KERNEL(hand, move_args, a, 1024) { hand_move(a, 1, 4); }
IRIS_KERNEL(hand_all, move_args, a, 1024) { hand_move(a, a->ctx.world - 1, 2); }

/* Each lane a word of its own, one after the other: the words of the message, which are sync memory. */
typedef struct atomic_args {
    iris_ctx ctx;
    uint64_t *words;
    size_t n; /* 0 on ranks that do not take part */
    uint64_t value;
    int peer;
} atomic_args;

IRIS_KERNEL(atomic_add, atomic_args, a, 1024)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        iris_atomic_add_u64(&a->ctx, a->words + i, a->value, a->peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}
IRIS_KERNEL(atomic_xchg, atomic_args, a, 1024)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        iris_atomic_xchg_u64(&a->ctx, a->words + i, a->value + i, a->peer, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

/* What a benchmark is, as its data. */
typedef struct pairs_op {
    const char *name;
    irisi_kernel kernel;
    int all, pull, atomic; /* every rank at once; the data comes from the peer; its target is sync memory */
} pairs_op;

static const pairs_op ops[] = {
    {"load", IRISI_KERNEL_PTR(load), 0, 1, 0},
    {"store", IRISI_KERNEL_PTR(store), 0, 0, 0},
    {"put", IRISI_KERNEL_PTR(put), 0, 0, 0},
    {"get", IRISI_KERNEL_PTR(get), 0, 1, 0},
    {"atomic_add", IRISI_KERNEL_PTR(atomic_add), 0, 0, 1},
    {"atomic_xchg", IRISI_KERNEL_PTR(atomic_xchg), 0, 0, 1},
    {"all_load", IRISI_KERNEL_PTR(all_load), 1, 1, 0},
    {"all_store", IRISI_KERNEL_PTR(all_store), 1, 0, 0},
};
enum { OPS = sizeof ops / sizeof *ops };

typedef struct pairs_options {
    iris_bench_suite suite;
    size_t min_bytes, max_bytes, max_atomic;
    int workgroups, lanes; /* workgroups 0: one for each compute unit */
    const char *ceiling_text;
    double ceiling; /* 0: the hand-written kernel's */
} pairs_options;

/* One row of the matrices that are printed at the end. */
typedef struct pairs_cell {
    const pairs_op *op;
    size_t bytes;
    int from, to;
    double gbps, percent;
} pairs_cell;

/* One rank's buffers, and what is measured. */
typedef struct pairs_job {
    const pairs_options *o;
    move_args moves;
    atomic_args atomics;
    bench_kernel kernel;
    int turns; /* calls of this point's function */
    pairs_cell *cells;
    size_t n_cells, room;
} pairs_job;

static iris_status submit_moves(iris_world *w, void *arg, iris_stream stream, int turn)
{
    pairs_job *j = (pairs_job *)arg;
    j->moves.at = j->moves.bytes ? hand_place(&j->moves, turn) : 0;
    return bench_submit_kernel(w, &j->kernel, stream, turn);
}

/* Sums add 1 in each turn, exchanges leave the turn's number plus the word's. */
static iris_status submit_atomics(iris_world *w, void *arg, iris_stream stream, int turn)
{
    pairs_job *j = (pairs_job *)arg;
    j->turns++; /* in a graph those of one launch */
    j->atomics.value = j->kernel.kernel == IRISI_KERNEL_PTR(atomic_add) ? 1 : (uint64_t)j->turns;
    return bench_submit_kernel(w, &j->kernel, stream, turn);
}

/* The launch of a kernel with so many bytes of arguments. */
static void set_kernel(pairs_job *j, iris_world *w, irisi_kernel kernel, const char *name, const void *args, size_t n)
{
    const int groups = j->o->workgroups ? j->o->workgroups : iris_compute_units(w);
    j->kernel.kernel = kernel, j->kernel.name = name, j->kernel.args = args, j->kernel.bytes = n;
    j->kernel.cfg = iris_grid((uint32_t)groups, (uint32_t)j->o->lanes);
}

/* Those that count, and those before them. */
static int repetitions(const iris_bench_point *p) { return p->suite->time.warmup + p->suite->time.repeats; }

/* Times one kernel that moves data, and looks at where it went. Ranks that do not take part move nothing. */
static iris_status time_moves(iris_bench_point *p, pairs_job *j, const pairs_op *op, irisi_kernel kernel,
                              iris_bench_result *result, int *ok)
{
    const int rank = iris_rank(p->world), ranks = iris_world_size(p->world);
    const int from = (int)iris_bench_value(p, "from"), to = (int)iris_bench_value(p, "to");
    const int takes_part = op->all || rank == from;
    const int turns = (p->suite->time.graph ? 1 : repetitions(p)) * p->suite->time.calls;
    const size_t bytes = (size_t)iris_bench_value(p, "bytes");
    iris_status status = iris_memset(p->world, j->moves.dst, 0xEE, (op->all ? (size_t)ranks : 1) * j->moves.slot);
    j->moves.bytes = takes_part ? bytes : 0;
    set_kernel(j, p->world, kernel, op->name, &j->moves, sizeof j->moves);
    const size_t part = (bytes / 16 / j->kernel.cfg.workgroups + 1) * 16;
    j->moves.piece = part < 65536 ? part : 65536;
    if (status == IRIS_OK)
        status = iris_bench(p->world, NULL, submit_moves, j, &p->suite->time, result);
    if (status == IRIS_OK)
        status = iris_barrier(p->world); /* what others put is here */
    j->moves.bytes = bytes;
    j->moves.at = hand_place(&j->moves, turns - 1);
    if (op->all) {
        for (int r = 0; r < ranks && status == IRIS_OK; r++)
            *ok &= r == rank || hand_arrived(p->world, &j->moves, j->moves.dst + (size_t)r * j->moves.slot, r);
    } else if (status == IRIS_OK && rank == (op->pull ? from : to)) {
        *ok &= hand_arrived(p->world, &j->moves, j->moves.dst, op->pull ? to : from);
    }
    return status;
}

/* Times atomics, and reads every word that they left. */
static iris_status time_atomics(iris_bench_point *p, pairs_job *j, const pairs_op *op)
{
    const int from = (int)iris_bench_value(p, "from"), to = (int)iris_bench_value(p, "to");
    const int sums = op->kernel == IRISI_KERNEL_PTR(atomic_add);
    const uint64_t launches = p->suite->time.graph ? (uint64_t)repetitions(p) : 1; /* of what was submitted */
    const size_t n = p->row.bytes / sizeof(uint64_t);
    iris_status status = iris_memset(p->world, j->atomics.words, 0, n * sizeof(uint64_t));
    j->atomics.n = iris_rank(p->world) == from ? n : 0;
    j->atomics.peer = to, j->turns = 0;
    set_kernel(j, p->world, op->kernel, op->name, &j->atomics, sizeof j->atomics);
    if (status == IRIS_OK)
        status = iris_bench_time(p, NULL, submit_atomics, j);
    if (status == IRIS_OK)
        status = iris_barrier(p->world);
    for (size_t at = 0; at < n && status == IRIS_OK && iris_rank(p->world) == to; at += 4096) {
        uint64_t seen[4096];
        const size_t count = n - at < 4096 ? n - at : 4096;
        status = iris_memcpy(p->world, seen, j->atomics.words + at, count * sizeof *seen);
        for (size_t i = 0; i < count; i++)
            p->row.ok &= seen[i] == (sums ? (uint64_t)j->turns * launches : (uint64_t)j->turns + at + i);
    }
    return status;
}

/* Keeps a pair's figures for the matrices. */
static void keep(pairs_job *j, const iris_bench_point *p, const pairs_op *op)
{
    if (j->n_cells == j->room) {
        const size_t room = 2 * j->room + 64;
        pairs_cell *more = (pairs_cell *)realloc(j->cells, room * sizeof *more);
        if (!more)
            return;
        j->cells = more, j->room = room;
    }
    pairs_cell *c = j->cells + j->n_cells++;
    c->op = op, c->bytes = p->row.bytes, c->gbps = p->row.gbps;
    c->from = (int)iris_bench_value(p, "from"), c->to = (int)iris_bench_value(p, "to");
    c->percent = p->row.ceiling > 0 ? 100 * p->row.gbps / p->row.ceiling : 0;
}

/* One point: a pair, or all ranks at once. */
static iris_status measure(iris_bench_point *p)
{
    pairs_job *j = (pairs_job *)p->arg;
    const pairs_op *op = (const pairs_op *)p->benchmark->data;
    const int rank = iris_rank(p->world), ranks = iris_world_size(p->world);
    iris_bench_result by_hand;
    iris_status status;
    if (op->all && ranks < 2)
        return IRIS_OK; /* no row */
    memset(&by_hand, 0, sizeof by_hand);
    j->moves.peer = rank == (int)iris_bench_value(p, "from") ? (int)iris_bench_value(p, "to") : rank;
    hand_aim(p->world, &j->moves, op->all, op->pull);
    if (op->atomic) {
        status = time_atomics(p, j, op);
    } else {
        status = time_moves(p, j, op, op->kernel, &p->row.time, &p->row.ok);
        if (status == IRIS_OK && j->o->ceiling <= 0)
            status = time_moves(p, j, op, op->all ? IRISI_KERNEL_PTR(hand_all) : IRISI_KERNEL_PTR(hand), &by_hand,
                                &p->row.ok);
    }
    p->row.dtype = op->atomic ? "u64" : "u32", p->row.variant = op->all ? "all" : "pair";
    p->row.workgroups = (int)j->kernel.cfg.workgroups, p->row.lanes = (int)j->kernel.cfg.lanes;
    p->row.bytes *= op->all ? (size_t)(ranks - 1) : 1;
    p->row.us = p->row.time.median, p->row.gbps = iris_bench_gbps(&p->row.time, p->row.bytes);
    p->row.ceiling = j->o->ceiling > 0 ? j->o->ceiling : iris_bench_gbps(&by_hand, p->row.bytes);
    if (!op->all)
        keep(j, p, op);
    return status;
}

/* The matrices, a line for each rank whose kernel moves: GB/s, and per cent of the ceiling where there is one. */
static void print_matrices(const pairs_job *j)
{
    for (size_t i = 0; i < j->n_cells; i++) {
        const pairs_cell *c = j->cells + i;
        const int first = i == 0 || c[-1].op != c->op || c[-1].bytes != c->bytes;
        if (first)
            printf("\n%s, %zu bytes, GB/s (%% of the ceiling); a line: the rank whose kernel moves", c->op->name,
                   c->bytes);
        if (first || c[-1].from != c->from)
            printf("\n%3d:", c->from);
        printf(" %8.2f", c->gbps);
        if (c->percent > 0)
            printf(" (%3.0f)", c->percent);
    }
    printf("%s", j->n_cells ? "\n" : "");
}

static int rank_main(iris_world *w, void *arg)
{
    const pairs_options *o = (const pairs_options *)arg;
    pairs_job j;
    memset(&j, 0, sizeof j);
    j.o = o;
    j.moves.ctx = j.atomics.ctx = iris_device_ctx(w);
    j.moves.slot = o->max_bytes < 16384 ? 16384 : o->max_bytes;
    j.moves.src = (char *)(void *)iris_arange_u32(w, j.moves.slot / 4, hand_word(iris_rank(w), 0), 1);
    j.moves.dst = (char *)iris_malloc(w, j.moves.slot * (size_t)iris_world_size(w));
    j.atomics.words = (uint64_t *)iris_malloc_kind(w, o->max_atomic, 0, IRIS_MEM_SYNC);
    IRIS_TRY(iris_barrier(w));
    const int failed = iris_bench_run(w, &o->suite, &j);
    if (iris_rank(w) == 0)
        print_matrices(&j);
    free(j.cells);
    return failed;
}

/* The sizes that were asked for, as axes; the suite is the options' first member. */
static const char *settle(iris_bench_suite *s)
{
    pairs_options *o = (pairs_options *)(void *)s;
    char *end = NULL;
    if (o->ceiling_text)
        o->ceiling = strtod(o->ceiling_text, &end);
    if (end && (end == o->ceiling_text || *end || !(o->ceiling > 0)))
        return "--ceiling is no positive number";
    if (o->min_bytes < 16 || o->min_bytes % 16 || o->min_bytes > o->max_bytes || o->min_bytes > o->max_atomic)
        return "--min is a multiple of 16, and at most --max and --max-atomic";
    if (o->lanes < 1 || o->lanes > 1024 || s->ranks > BENCH_RANKS)
        return "1 to 1024 lanes, 1 to 8 ranks";
    for (int i = 0; i < s->benchmarks; i++) {
        iris_bench_benchmark *b = s->benchmark + i;
        iris_bench_powers(b, "bytes", (int64_t)o->min_bytes, (int64_t)(ops[i].atomic ? o->max_atomic : o->max_bytes),
                          4);
        if (!ops[i].all) {
            iris_bench_ranks(b, "from");
            iris_bench_ranks(b, "to");
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static pairs_options o;
    iris_config config;
    memset(&config, 0, sizeof config);
    o.min_bytes = 4 << 10, o.max_bytes = 64 << 20, o.max_atomic = 1 << 20, o.lanes = 256;
    iris_bench_suite_init(&o.suite, "pairs", "pairs: what goes from every rank to every rank");
    o.suite.about.seconds = 540, o.suite.settle = settle;
    for (int i = 0; i < OPS; i++)
        iris_bench_add(&o.suite, ops[i].name, measure)->data = ops + i;
    iris_bench_option_size(&o.suite, 'm', "min", &o.min_bytes, "smallest message; the next has four times as many");
    iris_bench_option_size(&o.suite, 'M', "max", &o.max_bytes, "largest message");
    iris_bench_option_size(&o.suite, 'A', "max-atomic", &o.max_atomic, "most bytes of atomics");
    iris_bench_option_int(&o.suite, 'w', "workgroups", &o.workgroups, "0: one for each compute unit");
    iris_bench_option_int(&o.suite, 'l', "lanes", &o.lanes, "lanes of a workgroup");
    iris_bench_option_text(&o.suite, 'C', "ceiling", &o.ceiling_text, "GB/s; default: the hand-written kernel's");
    const int done = iris_bench_parse(&o.suite, argc, argv);
    if (done >= 0)
        return done;
    const size_t slot = o.max_bytes < 16384 ? 16384 : o.max_bytes;
    config.heap_bytes = (size_t)(o.suite.ranks + 1) * slot + (8u << 20);
    config.sync_bytes = o.max_atomic + (8u << 20);
    return iris_spawn_config(o.suite.ranks, rank_main, &o, &config);
}
