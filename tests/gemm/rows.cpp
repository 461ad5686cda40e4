/* SPDX-License-Identifier: MIT */
/*
 * rows.cpp: launches of fewer rows than their plan was prepared for (iris_gemm_set_rows). Many launches of one plan, of
 * every operation and by every pattern, follow each other with random numbers of rows, 0 and all among them: each must
 * give what the oracle of so many rows says and leave alone what is beyond them, bitwise as by a plan for exactly those
 * rows. What a launch leaves short in a counter makes a later one hang, or end before its data are there.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#endif
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "harness.h"
#include "oracle.h"

namespace {

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);
enum { PATTERNS = 7 };

struct operation {
    iris_gemm_op op;
    const char *name;
    launcher by[PATTERNS]; /* a null pointer: the operation has no such pattern */
};
#define OPERATION(OP, op, copy_engine)                                                                                 \
    {                                                                                                                  \
        IRIS_GEMM_##OP, #op,                                                                                           \
        {                                                                                                              \
            iris_gemm_##op##_bf16, iris_gemm_##op##_bulk_synchronous_bf16, iris_gemm_##op##_fused_sequential_bf16,     \
                iris_gemm_##op##_wg_specialized_bf16, iris_gemm_##op##_wave_specialized_bf16,                          \
                iris_gemm_##op##_producer_consumer_bf16, copy_engine                                                   \
        }                                                                                                              \
    }
const operation operations[] = {
    {IRIS_GEMM_LOCAL, "local", {iris_gemm_local_bf16}},
    OPERATION(ALL_SCATTER, all_scatter, nullptr),
    OPERATION(REDUCE_SCATTER, reduce_scatter, nullptr),
    OPERATION(ALL_REDUCE, all_reduce, nullptr),
    OPERATION(ALL_GATHER, all_gather, iris_gemm_all_gather_copy_engine_bf16),
};
const char *const pattern_names[PATTERNS] = {"the plan's pattern", "bulk_synchronous", "fused_sequential",
                                             "wg_specialized",     "wave_specialized", "producer_consumer",
                                             "copy_engine"};

uint32_t patterns_of(const operation &o) { return (uint32_t)(std::find(o.by, o.by + PATTERNS, nullptr) - o.by); }

/* A plan's problem; m is the most rows. `put`: what could go as packets is put all the same. */
struct problem {
    int64_t m, n, k;
    uint32_t tile_m, tile_n, workgroups;
    double beta;
    int real, put;
    uint32_t senders; /* 0: as many as the library takes */
};
const problem problems[] = {
    {45, 72, 24, 16, 16, 3, 0, 0, 1, 0}, /* rows of tiles end within shards */
    {45, 72, 24, 16, 16, 3, 0, 1, 0, 0},
    {5, 20, 40, 0, 0, 2, 0, 0, 0, 0}, /* some ranks without columns, and more ranks than rows */
    {64, 136, 32, 16, 24, 4, 0.5, 0, 1, 0},
    {200, 136, 64, 0, 0, 0, 0, 1, 1, 0},
};
const problem idle = {2, 24, 24, 0, 0,
                      6, 0,  0,  0, 3}; /* with workgroups that have nothing to do, also some that send */

/* A problem on one rank, for some number of rows. */
struct job {
    irist_rank *t;
    const operation *o;
    problem p;
    int rank;      /* in the oracle's world, which of a GEMM alone has one rank */
    uint64_t seed; /* of the inputs: of each lap others, so that what is left of one is wrong in the next */
    char *memory[ORACLE_RESIDUAL + 1]; /* by oracle_matrix */
    char *exact;                       /* C of plans for exactly so many rows */
    iris_gemm_plan plan;
};

oracle question(const job *j, int64_t rows)
{
    oracle q = oracle();
    q.op = (oracle_op)j->o->op, q.world = j->o->op == IRIS_GEMM_LOCAL ? 1 : j->t->ranks, q.seed = j->seed;
    q.m = rows, q.n = j->p.n, q.dtype = q.c_dtype = IRIS_BF16, q.beta = j->p.beta, q.residual = j->p.beta != 0;
    q.real = j->p.real;
    for (int r = 0; r < q.world; r++)
        q.k[r] = j->p.k + (oracle_splits_k(&q) ? r % 3 : 0), q.ldc[r] = oracle_block_of(&q, ORACLE_C, r).columns.count;
    return q;
}

size_t bytes_of(const job *j, oracle_matrix which, int64_t rows)
{
    const oracle q = question(j, rows);
    return rows > 0 ? oracle_bytes(&q, which, j->rank) : 0;
}

iris_gemm_args args_of(const job *j, int64_t rows, void *c)
{
    const oracle q = question(j, rows);
    iris_gemm_args g = {};
    g.m = rows, g.n = q.n, g.k = q.k[j->rank], g.beta = q.beta;
    g.a = j->memory[ORACLE_A], g.b = j->memory[ORACLE_B], g.c = c;
    g.residual = q.residual ? j->memory[ORACLE_RESIDUAL] : nullptr;
    g.tile_m = j->p.tile_m, g.tile_n = j->p.tile_n, g.workgroups = j->p.workgroups;
    g.comm_workgroups = j->p.senders;
    if (j->p.put)
        g.tune = "ll=0; op=reduce_scatter ll=0; op=all_reduce ll=0; op=all_gather ll=0";
    return g;
}

/* What every rank allocates for a matrix: as much as the rank of the most has. */
char *room(const job *j, oracle_matrix which)
{
    const oracle q = question(j, j->p.m);
    size_t most = 16;
    for (int r = 0; r < q.world; r++)
        most = oracle_bytes(&q, which, r) > most ? oracle_bytes(&q, which, r) : most;
    char *p = (char *)iris_malloc(j->t->world, most);
    irist_check(j->t, p != nullptr, "%s", iris_error_string(j->t->world));
    return p;
}

bool create(job *j, irist_rank *t, const operation *o, const problem &p)
{
    std::memset(j, 0, sizeof *j);
    j->t = t, j->seed = t->seed, j->o = o, j->p = p, j->rank = o->op == IRIS_GEMM_LOCAL ? 0 : t->rank;
    for (int which = ORACLE_A; which <= ORACLE_RESIDUAL; which++)
        j->memory[which] = room(j, (oracle_matrix)which);
    j->exact = room(j, ORACLE_C);
    const iris_gemm_args g = args_of(j, p.m, j->memory[ORACLE_C]);
    return irist_ok(t, iris_gemm_prepare(t->world, &j->plan, o->op, IRIS_BF16, &g));
}

void release(job *j)
{
    irist_ok(j->t, iris_gemm_release(j->t->world, &j->plan));
    irist_ok(j->t, iris_free(j->t->world, j->exact));
    for (int which = ORACLE_RESIDUAL; which >= ORACLE_A; which--)
        irist_ok(j->t, iris_free(j->t->world, j->memory[which]));
}

/* Inputs of so many rows, with poison where rows are not this launch's; poison in all of C, which is returned. */
std::vector<unsigned char> fill(job *j, int64_t rows)
{
    const oracle q = question(j, rows);
    static const oracle_matrix inputs[] = {ORACLE_A, ORACLE_B, ORACLE_RESIDUAL};
    for (const oracle_matrix which : inputs) {
        std::vector<unsigned char> all = irist_poisoned(bytes_of(j, which, j->p.m));
        if (rows > 0)
            oracle_fill(&q, which, j->rank, all.data());
        irist_upload(j->t, j->memory[which], all);
    }
    const std::vector<unsigned char> before = irist_poisoned(bytes_of(j, ORACLE_C, j->p.m));
    irist_upload(j->t, j->memory[ORACLE_C], before);
    irist_upload(j->t, j->exact, before);
    irist_meet(j->t); /* nobody's poison comes after another's tiles */
    return before;
}

/* A launch of so many rows, by a pattern. */
void launch(job *j, int64_t rows, uint32_t pattern)
{
    irist_ok(j->t, iris_gemm_set_rows(j->t->world, &j->plan, rows));
    irist_ok(j->t, j->o->by[pattern](j->t->world, &j->plan, nullptr));
}

#if defined(IRIS_TARGET_HOST)
/* The same bits by a plan for exactly so many rows, since the mainloop adds up K in one order whatever the tile. */
void compare(job *j, const std::vector<unsigned char> &got, int64_t rows, uint32_t pattern)
{
    iris_gemm_plan plan;
    const iris_gemm_args g = args_of(j, rows, j->exact);
    if (!irist_ok(j->t, iris_gemm_prepare(j->t->world, &plan, j->o->op, IRIS_BF16, &g)))
        return;
    irist_ok(j->t, j->o->by[pattern](j->t->world, &plan, nullptr));
    irist_ok(j->t, iris_synchronize(j->t->world));
    irist_check(j->t, irist_download(j->t, j->exact, got.size()) == got,
                "%s by %s, %lld of %lld rows: other bits than by a plan for so many rows", j->o->name,
                pattern_names[pattern], (long long)rows, (long long)j->p.m);
    irist_ok(j->t, iris_gemm_release(j->t->world, &plan));
}
#endif

/* Looks at C after launches of which the last had so many rows, by a pattern; `exactly`: at the bits, too. */
bool look(job *j, int64_t rows, uint32_t pattern, const std::vector<unsigned char> &before, bool exactly)
{
    if (!irist_check(j->t, iris_synchronize(j->t->world) == IRIS_OK, "%s by %s, %lld of %lld rows: %s", j->o->name,
                     pattern_names[pattern], (long long)rows, (long long)j->p.m, iris_error_string(j->t->world)))
        return false;
    std::vector<unsigned char> got = irist_download(j->t, j->memory[ORACLE_C], before.size());
    const size_t own = bytes_of(j, ORACLE_C, rows);
    irist_check(j->t, std::equal(got.begin() + (ptrdiff_t)own, got.end(), before.begin() + (ptrdiff_t)own),
                "%s by %s, %lld of %lld rows: rows beyond them were written", j->o->name, pattern_names[pattern],
                (long long)rows, (long long)j->p.m);
    if (rows == 0)
        return true;
    oracle q = question(j, rows);
    oracle_wrong wrong;
    if (irist_check(j->t, oracle_create(&q) == 0, "there is no oracle"))
        irist_check(j->t, oracle_right(&q, j->rank, got.data(), before.data(), &wrong),
                    "%s by %s, %lld of %lld rows: %s", j->o->name, pattern_names[pattern], (long long)rows,
                    (long long)j->p.m, wrong.text);
    oracle_free(&q);
#if defined(IRIS_TARGET_HOST)
    got.resize(own);
    if (exactly)
        compare(j, got, rows, pattern);
#else
    (void)exactly;
#endif
    return true;
}

/* One lap: launches of fewer rows, or none, not waited for, then one of `rows` rows, which is looked at. */
bool lap(job *j, uint32_t n, int64_t rows, uint32_t pattern)
{
    const auto pick = [&](uint32_t what, uint32_t of) { return irist_pick(j->t->seed, 100 + n, what, of); };
    j->seed = j->t->seed + n;
    const std::vector<unsigned char> before = fill(j, rows);
    for (uint32_t i = 0, others = pick(0, 4); i < others; i++) {
        if (pick(10 + i, 3) == 0)
            irist_delay(j->t, n * 4 + i);
        launch(j, pick(40 + i, 3) == 0 ? 0 : pick(20 + i, (uint32_t)rows + 1), pick(30 + i, patterns_of(*j->o)));
    }
    launch(j, rows, pattern);
    return look(j, rows, pattern, before, n % 3 == 0);
}

/*
 * Launches without rows by producer_consumer, of whose kernels neither waits for the other, each before a launch of all
 * rows that one rank comes late to: its peers must not believe that it has begun.
 */
void none_work(irist_rank *t)
{
    for (uint32_t o = 2; o < 4; o++) {
        job j;
        bool goes_on = create(&j, t, &operations[o], problems[0]);
        for (uint32_t n = 0, laps = irist_laps(8, 60); goes_on && n < laps; n++) {
            j.seed = t->seed + n;
            const std::vector<unsigned char> before = fill(&j, j.p.m);
            launch(&j, 0, 5);
            irist_delay(t, n);
            launch(&j, j.p.m, 1);
            goes_on = look(&j, j.p.m, 1, before, false);
        }
        release(&j);
    }
}

/*
 * Kernels of producer_consumer that have workgroups with nothing to do: those of one kernel must not end the epoch
 * before those of the other have looked which one it is.
 */
void beside_work(irist_rank *t)
{
    for (uint32_t o = 2; o < 4; o++) {
        job j;
        bool goes_on = create(&j, t, &operations[o], idle);
        for (uint32_t n = 0, laps = irist_laps(60, 300); goes_on && n < laps; n++) {
            j.seed = t->seed + n;
            const int64_t rows = 1 + irist_pick(t->seed, n, 3, (uint32_t)j.p.m);
            const std::vector<unsigned char> before = fill(&j, rows);
            launch(&j, rows, 5);
            goes_on = look(&j, rows, 5, before, false);
        }
        release(&j);
    }
}

/* From none to all; each of them in one lap of eight. */
int64_t rows_of(const job *j, uint32_t n)
{
    const uint32_t what = irist_pick(j->t->seed, 100 + n, 1, 8);
    return what == 0 ? 0 : what == 1 ? j->p.m : 1 + irist_pick(j->t->seed, 100 + n, 2, (uint32_t)j->p.m);
}

void rows_work(irist_rank *t)
{
    const problem *p = (const problem *)t->arg;
    for (const operation &o : operations) {
        job j;
        bool goes_on = create(&j, t, &o, *p);
        const uint32_t laps = irist_laps(2 * PATTERNS, 8 * PATTERNS), first = 1000 * (uint32_t)(&o - operations);
        for (uint32_t n = 0; goes_on && n < laps; n++)
            goes_on = lap(&j, first + n, rows_of(&j, first + n), n % patterns_of(o));
        release(&j);
    }
}

/* What is refused, and leaves the plan as it is. */
void refused_work(irist_rank *t)
{
    job j;
    if (create(&j, t, &operations[1], problems[0])) {
        static const int64_t wrong[] = {-1, 46, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
        for (const int64_t rows : wrong) {
            irist_check(t, iris_gemm_set_rows(t->world, &j.plan, rows) == IRIS_ERR_ARGUMENT, "%lld rows are taken",
                        (long long)rows);
            const std::string want = "rows is " + std::to_string(rows) + ", not from 0 to 45";
            irist_check(t, std::strstr(iris_error_string(t->world), want.c_str()) != nullptr, "%s",
                        iris_error_string(t->world));
        }
        irist_check(t, iris_gemm_set_rows(t->world, nullptr, 1) == IRIS_ERR_ARGUMENT, "there is no plan");
        lap(&j, 0, 45, 1);
        iris_gemm_row before, after;
        irist_ok(t, iris_gemm_choice(t->world, &j.plan, &before));
        irist_ok(t, iris_gemm_set_rows(t->world, &j.plan, 3));
        irist_ok(t, iris_gemm_choice(t->world, &j.plan, &after));
        irist_check(t, std::strcmp(before.text, after.text) == 0, "the choice becomes %s", after.text);
    }
    release(&j);
    irist_check(t, iris_gemm_set_rows(t->world, &j.plan, 1) == IRIS_ERR_ARGUMENT, "a released plan is changed");
}

/* In a world in checked mode ranks that differ are told, and plans keep their rows; a GEMM alone concerns one rank. */
void differ_work(irist_rank *t)
{
    const char *asked = std::getenv("IRIS_CHECKED");
    job j;
    if (asked == nullptr || *asked != '1' || t->ranks == 1)
        return;
    if (create(&j, t, &operations[3], problems[0])) {
        const int last = t->rank + 1 == t->ranks;
        irist_check(t, iris_gemm_set_rows(t->world, &j.plan, 7 + last) == IRIS_ERR_MISMATCH, "ranks differ");
        const std::string want = "rows is 8 on rank " + std::to_string(t->ranks - 1) + " but 7 on rank 0";
        irist_check(t, std::strstr(iris_error_string(t->world), want.c_str()) != nullptr, "%s",
                    iris_error_string(t->world));
        const iris_status s = iris_gemm_set_rows(t->world, &j.plan, last ? -1 : 7);
        irist_check(t, s == (last ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH), "%s", iris_status_name(s));
        irist_check(t, j.plan.m == 45, "the plan has %u rows", j.plan.m);
        lap(&j, 0, 9, 2);
    }
    release(&j);
    if (create(&j, t, &operations[0], problems[0]) && t->rank == 0)
        irist_ok(t, iris_gemm_set_rows(t->world, &j.plan, 1));
    release(&j);
}

} // namespace

TEST_CASE("launches of one plan may have any number of rows, by every operation and pattern", "[gemm]")
{
    for (const problem &p : problems)
        irist_spmd(rows_work, &p);
}

TEST_CASE("a launch without rows says nothing for the next one", "[gemm]") { irist_spmd(none_work, nullptr); }

TEST_CASE("workgroups without anything to do end no epoch early", "[gemm]") { irist_spmd(beside_work, nullptr); }

TEST_CASE("a number of rows that a plan has no room for is refused", "[gemm]") { irist_spmd(refused_work, nullptr); }

TEST_CASE("ranks that differ in rows are told in checked mode", "[gemm]") { irist_spmd(differ_work, nullptr); }
