/* SPDX-License-Identifier: MIT */
/*
 * choice.cpp: who chooses how a GEMM is computed: arguments, rows of iris_gemm_args.tune and IRIS_TUNE, the model; and
 * the caller's BLAS as one of the choices. Rows that cannot be are in bad_arguments.cpp, cuts of sm_90a in cut.c.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#endif
#include <cstdlib>
#include <string>
#include <unistd.h>

#include "blas.h"
#include "choice.h"
#include "problem.h"

problem_launcher problem_launcher_of(const problem *, int pattern)
{
    static const problem_launcher launchers[] = {iris_gemm_all_scatter_f32,
                                                 iris_gemm_all_scatter_bulk_synchronous_f32,
                                                 iris_gemm_all_scatter_producer_consumer_f32,
                                                 iris_gemm_all_scatter_fused_sequential_f32,
                                                 iris_gemm_all_scatter_wg_specialized_f32,
                                                 iris_gemm_all_scatter_wave_specialized_f32};
    return launchers[pattern];
}

static const problem_shape shape = {40, 128, 24}; /* a band for each of 8 ranks */
static const problem_options plain = {"choice", 0, 0, 0, IRIS_ACTIVATION_NONE, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0};

/* Another plan for the problem, by these arguments. */
static bool plan_again(problem *p, const iris_gemm_args *g)
{
    irist_ok(p->t, iris_gemm_release(p->t->world, &p->plan));
    return irist_ok(p->t, iris_gemm_prepare(p->t->world, &p->plan, IRIS_GEMM_ALL_SCATTER, p->dtype, g));
}

/* What the plan's own launcher makes of a poisoned C. */
static void run_plan(problem *p, const char *what)
{
    const std::vector<unsigned char> before = problem_poison(p);
    problem_launch(p, IRIS_GEMM_AUTO);
    irist_ok(p->t, iris_synchronize(p->t->world));
    problem_check(p, before, what);
}

static std::string choice(problem *p) { return choice_of(p->t, &p->plan); }

/* Rows, and what a plan for the problem by them has; 0: what the model chooses. */
struct lookup {
    std::string rows;
    uint32_t pattern, comm, tile_m, tile_n, workgroups;
    void (*arguments)(iris_gemm_args *g);
};

static void transposed(iris_gemm_args *g) { g->b_transposed = 1, g->ldb = 0; }
static void one_pattern(iris_gemm_args *g) { g->pattern = IRIS_GEMM_FUSED_SEQUENTIAL; }
static void one_tile(iris_gemm_args *g) { g->tile_m = 16; }
static void five_workgroups(iris_gemm_args *g) { g->workgroups = 5; }
static void two_senders(iris_gemm_args *g) { g->comm_workgroups = 2; }
static void none(iris_gemm_args *) {}

static std::vector<lookup> lookups(irist_rank *t)
{
    const std::string arch(iris_arch_name(t->world), std::strcspn(iris_arch_name(t->world), ":"));
    const std::string world = std::to_string(t->ranks), key = "m=40,n=128,k=24,";
    const uint32_t wg = IRIS_GEMM_WG_SPECIALIZED, bulk = IRIS_GEMM_BULK_SYNCHRONOUS, fused = IRIS_GEMM_FUSED_SEQUENTIAL;
    return {
        {"pattern=wg_specialized,comm=1", wg, 1, 0, 0, 0, none},
        {"pattern=wg_specialized comm=3 height=32 width=24", wg, 3, 32, 24, 0, none},
        {key + "world=" + world + ",dtype=f32,out=f32,layout=nn,units=4,arch=" + arch +
             ",pattern=bulk_synchronous,us=9.5",
         bulk, 0, 0, 0, 0, none},
        {"m=41,pattern=bulk_synchronous", 0, 0, 0, 0, 0, none},
        {"arch=gfx1,pattern=bulk_synchronous", 0, 0, 0, 0, 0, none},
        {"layout=nt,pattern=bulk_synchronous", 0, 0, 0, 0, 0, none},
        {"layout=nt,pattern=bulk_synchronous", bulk, 0, 0, 0, 0, transposed},
        {"dtype=f16,pattern=bulk_synchronous", 0, 0, 0, 0, 0, none},
        {"out=f64,pattern=bulk_synchronous", 0, 0, 0, 0, 0, none},
        {"k=25,pattern=wave_specialized;pattern=bulk_synchronous;pattern=wg_specialized", bulk, 0, 0, 0, 0, none},
        {" ; # nothing\n;width=24,pattern=bulk_synchronous # but this", bulk, 0, 0, 24, 0, none},
        {"pattern=wg_specialized", fused, 0, 0, 0, 0, one_pattern},
        {"pattern=wg_specialized;pattern=fused_sequential,width=16", fused, 0, 0, 16, 0, one_pattern},
        {"width=24,pattern=bulk_synchronous", 0, 0, 16, 0, 0, one_tile},
        {"skinny=1,pattern=bulk_synchronous;skinny=0,pattern=wg_specialized", wg, 0, 16, 0, 0, one_tile},
        {"units=4,pattern=bulk_synchronous;units=5,pattern=wg_specialized", wg, 0, 0, 0, 5, five_workgroups},
        {"workgroups=3,pattern=wg_specialized", 0, 0, 0, 0, 5, five_workgroups},
        {"comm=3,pattern=wg_specialized;comm=2,pattern=wg_specialized", wg, 2, 0, 0, 0, two_senders},
        {"workgroups=2,pattern=bulk_synchronous", 0, 2, 0, 0, 0, two_senders},
        {"pattern=blas_gather", 0, 0, 0, 0, 0, none},
        {"model", 0, 0, 0, 0, 0, none},
    };
}

static void lookup_work(irist_rank *t)
{
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        problem_expect(&p);
        for (const lookup &l : lookups(t)) {
            iris_gemm_args g = problem_args(&p);
            g.tune = "model";
            l.arguments(&g);
            if (g.b_transposed) /* of another shape than what is there: only its plan is looked at */
                g.ldb = shape.k;
            plan_again(&p, &g);
            const iris_gemm_plan model = p.plan;
            g.tune = l.rows.c_str();
            if (!plan_again(&p, &g))
                continue;
            irist_check(t, p.plan.pattern == (l.pattern ? l.pattern : model.pattern), "%s: %s was chosen",
                        l.rows.c_str(), iris_gemm_pattern_name((iris_gemm_pattern)p.plan.pattern));
            irist_check(t, p.plan.machine.comm_workgroups == (l.comm ? l.comm : model.machine.comm_workgroups),
                        "%s: %u workgroups send", l.rows.c_str(), p.plan.machine.comm_workgroups);
            irist_check(t,
                        p.plan.tiling.tile_m == (l.tile_m ? l.tile_m : model.tiling.tile_m) &&
                            p.plan.tiling.tile_n == (l.tile_n ? l.tile_n : model.tiling.tile_n),
                        "%s: tiles are %u x %u", l.rows.c_str(), p.plan.tiling.tile_m, p.plan.tiling.tile_n);
            irist_check(t, p.plan.machine.workgroups == (l.workgroups ? l.workgroups : model.machine.workgroups),
                        "%s: %u workgroups", l.rows.c_str(), p.plan.machine.workgroups);
            if (!g.b_transposed)
                run_plan(&p, l.rows.c_str());
        }
    }
    problem_free(&p);
}

TEST_CASE("the first row that is for a problem and contradicts no argument counts", "[gemm]")
{
    irist_spmd(lookup_work, nullptr);
}

/* A row's workgroups are the plan's where the arguments leave them open. */
static void workgroups_work(irist_rank *t)
{
    problem p;
    problem_options open = plain;
    open.workgroups = 0;
    if (problem_create(&p, t, IRIS_F32, shape, open)) {
        problem_expect(&p);
        iris_gemm_args g = problem_args(&p);
        g.tune = "workgroups=3,comm=2,pattern=wg_specialized";
        if (plan_again(&p, &g)) {
            irist_check(t, p.plan.machine.workgroups == 3 && p.plan.machine.comm_workgroups == 2,
                        "%u workgroups, %u of them send", p.plan.machine.workgroups, p.plan.machine.comm_workgroups);
            run_plan(&p, g.tune);
            const std::string row = choice(&p);
            g.tune = row.c_str();
            if (plan_again(&p, &g))
                irist_check(t, p.plan.machine.workgroups == 3 && choice(&p) == row, "\"%s\" became \"%s\"", row.c_str(),
                            choice(&p).c_str());
        }
        g.tune = "workgroups=6,pattern=wg_specialized";
        if (plan_again(&p, &g)) {
            irist_check(t, p.plan.machine.workgroups == 6 && p.plan.machine.comm_workgroups == 1,
                        "%u workgroups, %u of them send", p.plan.machine.workgroups, p.plan.machine.comm_workgroups);
            run_plan(&p, g.tune);
        }
        g.tune = "workgroups=1", g.pattern = IRIS_GEMM_PRODUCER_CONSUMER; /* somebody must send */
        if (plan_again(&p, &g))
            run_plan(&p, g.tune);
        g.pattern = IRIS_GEMM_AUTO;
        g.tune = "workgroups=3,pattern=wg_specialized;workgroups=4,pattern=wg_specialized", g.comm_workgroups = 3;
        if (plan_again(&p, &g))
            irist_check(t, p.plan.machine.workgroups == 4, "%u workgroups, 3 of them send", p.plan.machine.workgroups);
    }
    problem_free(&p);
}

TEST_CASE("a row's workgroups are the plan's", "[gemm]") { irist_spmd(workgroups_work, nullptr); }

/* What a plan says of itself makes another one like it; so does what a tuner is told to try. */
static void round_trip_work(irist_rank *t)
{
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        problem_expect(&p);
        irist_check(t, p.plan.launcher.second != nullptr || irisi_gemm_in_sequence(t->world, nullptr),
                    "a plan that producer_consumer may launch has no second stream");
        for (int pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) {
            iris_gemm_row rows[4];
            const uint32_t n = iris_gemm_candidates(t->world, &p.plan, (iris_gemm_pattern)pattern, rows, 4);
            /* Senders, and nobody to send to. */
            const int splits = pattern == IRIS_GEMM_PRODUCER_CONSUMER || pattern == IRIS_GEMM_WG_SPECIALIZED;
            const int idle = splits && t->ranks == 1;
            irist_check(t, idle ? n == 0 : n >= 1 && n <= 4, "pattern %d has %u candidates", pattern, n);
            for (uint32_t i = 0; i < n; i++) {
                iris_gemm_args g = problem_args(&p);
                g.tune = rows[i].text;
                if (!plan_again(&p, &g))
                    continue;
                irist_check(t, choice(&p) == rows[i].text, "\"%s\" became \"%s\"", rows[i].text, choice(&p).c_str());
                irist_check(t, p.plan.pattern == (uint32_t)pattern, "%s has another pattern", rows[i].text);
                if (i == 0)
                    run_plan(&p, rows[i].text);
            }
        }
        iris_gemm_row one;
        irist_check(t, iris_gemm_candidates(t->world, &p.plan, IRIS_GEMM_AUTO, &one, 1) == 0, "auto has candidates");
        irist_check(t, iris_gemm_candidates(t->world, &p.plan, IRIS_GEMM_BLAS_GATHER, &one, 1) == 0, "BLAS has some");
        irist_check(t, iris_gemm_choice(t->world, nullptr, &one) == IRIS_ERR_ARGUMENT, "no plan has a choice");
    }
    problem_free(&p);
}

TEST_CASE("a plan's row makes another plan like it", "[gemm]") { irist_spmd(round_trip_work, nullptr); }

/* A file of the rank's own that holds these bytes. */
static std::string file_of(irist_rank *t, const std::string &bytes)
{
    char path[] = "/tmp/iris_tune_XXXXXX";
    const int file = mkstemp(path);
    irist_check(t, file >= 0 && write(file, bytes.data(), bytes.size()) == (ssize_t)bytes.size(), "no file");
    close(file);
    return path;
}

static void file_work(irist_rank *t)
{
    static const char *const table =
        "# for the test\r\n\r\n  \nm=41 pattern=wave_specialized us=1e2\r\n"
        "m=40 n=128\tk=24 pattern=wg_specialized comm=3 # this one\nm=40 pattern=wave_specialized";
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        problem_expect(&p);
        const std::string path = file_of(t, table);
        iris_gemm_args g = problem_args(&p);
        g.tune = path.c_str();
        if (plan_again(&p, &g)) {
            irist_check(t, p.plan.pattern == IRIS_GEMM_WG_SPECIALIZED && p.plan.machine.comm_workgroups == 3,
                        "%s was chosen", choice(&p).c_str());
            run_plan(&p, "a file");
        }
        irist_meet(t);
        unlink(path.c_str());
    }
    problem_free(&p);
}

TEST_CASE("a table may be a file", "[gemm]") { irist_spmd(file_work, nullptr); }

/* IRIS_TUNE counts where the arguments say nothing. */
static void environment_work(irist_rank *t)
{
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        irist_check(t, p.plan.pattern == IRIS_GEMM_WAVE_SPECIALIZED && p.plan.tiling.tile_n == 24, "%s",
                    choice(&p).c_str());
        iris_gemm_args g = problem_args(&p);
        g.tune = "pattern=wg_specialized";
        plan_again(&p, &g);
        irist_check(t, p.plan.pattern == IRIS_GEMM_WG_SPECIALIZED && p.plan.tiling.tile_n != 24, "tune: %s",
                    choice(&p).c_str());
    }
    problem_free(&p);
}

TEST_CASE("IRIS_TUNE chooses, and an argument counts more", "[gemm]")
{
    setenv("IRIS_TUNE", "dtype=f32,pattern=wave_specialized,width=24", 1); /* no rank is at work here */
    irist_spmd(environment_work, nullptr);
    unsetenv("IRIS_TUNE");
}

/* The status and part of the sentence that a plan by these rows is refused with. */
static void refused(problem *p, const char *rows, iris_status status, const std::string &sentence)
{
    iris_gemm_args g = problem_args(p);
    iris_gemm_plan plan;
    g.tune = rows;
    const iris_status got = iris_gemm_prepare(p->t->world, &plan, IRIS_GEMM_ALL_SCATTER, p->dtype, &g);
    irist_check(p->t, got == status, "%s: %s", rows, iris_status_name(got));
    irist_check(p->t, std::strstr(iris_error_string(p->t->world), sentence.c_str()) != nullptr,
                "%s: \"%s\" lacks \"%s\"", rows, iris_error_string(p->t->world), sentence.c_str());
}

static void disagree_work(irist_rank *t)
{
    const int last = t->ranks - 1, odd = t->rank == last;
    problem p;
    if (t->ranks > 1 && problem_create(&p, t, IRIS_F32, shape, plain)) {
        refused(&p, odd ? "pattern=wg_specialized" : "pattern=bulk_synchronous", IRIS_ERR_MISMATCH,
                "the checksum of IRIS_TUNE or tune and of the built-in table is");
        refused(&p, odd ? "model" : "", IRIS_ERR_MISMATCH, " on rank " + std::to_string(last) + " but ");
        refused(&p, odd ? "pattern=fused" : "pattern=bulk_synchronous", odd ? IRIS_ERR_ARGUMENT : IRIS_ERR_MISMATCH,
                odd ? "row 1 of tune: pattern=fused is none of"
                    : "rank " + std::to_string(last) + " refused its arguments (IRIS_ERR_ARGUMENT)");
        /* Grids of their own are allowed; a row that is for some of them is for none. */
        iris_gemm_args g = problem_args(&p);
        g.workgroups = odd ? 5 : 4, g.tune = "model";
        plan_again(&p, &g);
        const uint32_t model = p.plan.pattern;
        g.tune = "units=5,pattern=bulk_synchronous;units=4,pattern=wg_specialized";
        plan_again(&p, &g);
        irist_check(t, p.plan.pattern == model, "%s was chosen by some", choice(&p).c_str());
        problem_expect(&p);
        run_plan(&p, "after ranks differed");
        problem_free(&p);
    }
}

TEST_CASE("ranks with different rows are told so, all of them", "[gemm]") { irist_spmd(disagree_work, nullptr); }

static const problem_shape blas_shapes[] = {{40, 48, 24}, {1, 1, 1}, {67, 131, 30}, {5, 2, 64}, {33, 7, 3}};
static const problem_options blas_options[] = {
    plain,
    {"alpha, beta, padded", 1.5, -0.5, 0, IRIS_ACTIVATION_NONE, 0, 3, 1, 5, 16, 24, 3, 1, 0, 0},
    {"transposed", 0, 2, 0, IRIS_ACTIVATION_NONE, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0},
};

static void blas_work(irist_rank *t)
{
    for (const problem_options &options : blas_options)
        for (const problem_shape &s : blas_shapes) {
            naive_blas blas = {t->world, 0, 0, {}};
            problem p;
            if (problem_create(&p, t, IRIS_F32, s, options)) {
                problem_expect(&p);
                iris_gemm_args g = problem_args(&p);
                g.blas = naive_gemm, g.blas_arg = &blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
                if (plan_again(&p, &g)) {
                    run_plan(&p, "blas_gather");
                    irist_check(t, blas.calls == (p.own.count > 0), "a band of %u columns is %d calls", p.own.count,
                                blas.calls);
                    for (int pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) { /* on one plan, in turn */
                        const std::vector<unsigned char> before = problem_poison(&p);
                        problem_launch(&p, pattern);
                        irist_ok(t, iris_synchronize(t->world));
                        problem_check(&p, before, "another pattern on a plan for BLAS");
                        run_plan(&p, "blas_gather again");
                    }
                }
            }
            problem_free(&p);
        }
}

TEST_CASE("the caller's BLAS computes the band, and every rank has all of C", "[gemm]")
{
    irist_spmd(blas_work, nullptr);
}

enum { COPY_PITCH = 512, COPY_BYTES = 128 * COPY_PITCH };

/* Copies of A, and of B as it is or transposed, such as a plan has where its mainloop cannot read the operands. */
static void add_copies(problem *p, char *const *to, int transposed)
{
    for (int i = 0; i < 2; i++) {
        irisi_gemm_packing *copy = &p->plan.launcher.packs[i];
        copy->from = i ? p->b : p->a, copy->from_pitch = 4 * (uint64_t)(i ? p->ldb : p->lda);
        copy->rows = (uint64_t)(i ? p->shape.k : p->shape.m);
        copy->row_bytes = 4 * (i ? p->own.count : (uint64_t)p->shape.k);
        copy->to = to[i], copy->to_pitch = COPY_PITCH, copy->transposed = i && transposed ? 4 : 0;
        irist_ok(p->t, iris_memset(p->t->world, to[i], 0xff, COPY_BYTES));
    }
    p->plan.operands.a = to[0], p->plan.operands.b = to[1],
    p->plan.operands.lda = p->plan.operands.ldb = COPY_PITCH / 4;
    p->plan.operands.b_transposed = (uint32_t)transposed;
}

static void blas_copies_work(irist_rank *t)
{
    const problem_options options = {"copies", 1.5, -0.5, 0, IRIS_ACTIVATION_NONE, 0, 3, 1, 5, 0, 0, 3, 1, 0, 0};
    naive_blas blas = {t->world, 0, 0, {}};
    char *copies[2] = {(char *)iris_malloc(t->world, COPY_BYTES), (char *)iris_malloc(t->world, COPY_BYTES)};
    problem p;
    irist_check(t, copies[0] && copies[1], "%s", iris_error_string(t->world));
    if (problem_create(&p, t, IRIS_F32, shape, options)) {
        problem_expect(&p);
        iris_gemm_args g = problem_args(&p);
        g.blas = naive_gemm, g.blas_arg = &blas, g.pattern = IRIS_GEMM_BLAS_GATHER;
        for (int transposed = 0; transposed < 2 && plan_again(&p, &g); transposed++) {
            add_copies(&p, copies, transposed);
            run_plan(&p, transposed ? "BLAS beside a transposed copy" : "BLAS beside copies");
            irist_check(t, blas.last.a == p.a && blas.last.lda == p.lda && blas.last.b == p.b && blas.last.ldb == p.ldb,
                        "BLAS was not given the operands themselves");
            irist_check(t, blas.last.b_transposed == 0, "BLAS was told that B is transposed");
            for (const char *copy : copies)
                irist_check(t, irist_download(t, copy, COPY_BYTES) == std::vector<unsigned char>(COPY_BYTES, 0xff),
                            "a copy was made that BLAS does not read");
            const std::vector<unsigned char> before = problem_poison(&p);
            problem_launch(&p, IRIS_GEMM_FUSED_SEQUENTIAL); /* which reads them */
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, "a pattern by copies, after BLAS");
            std::memset(p.plan.launcher.packs, 0, 2 * sizeof *p.plan.launcher.packs); /* not the plan's memory */
        }
    }
    problem_free(&p);
    irist_ok(t, iris_free(t->world, copies[1]));
    irist_ok(t, iris_free(t->world, copies[0]));
}

TEST_CASE("the caller's BLAS reads the operands themselves where the plan has copies", "[gemm]")
{
    irist_spmd(blas_copies_work, nullptr);
}

/* Who chooses the caller's BLAS, and when it cannot be. */
static void blas_choice_work(irist_rank *t)
{
    naive_blas blas = {t->world, 0, 0, {}};
    const int last = t->ranks - 1, odd = t->rank == last;
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        iris_gemm_args g = problem_args(&p);
        problem_expect(&p);
        g.blas = naive_gemm, g.blas_arg = &blas, g.tune = "pattern=blas_gather;pattern=wg_specialized";
        if (plan_again(&p, &g)) {
            irist_check(t, p.plan.pattern == IRIS_GEMM_BLAS_GATHER, "%s was chosen", choice(&p).c_str());
            irist_check(t, choice(&p).find("pattern=blas_gather") != std::string::npos, "%s", choice(&p).c_str());
            run_plan(&p, "a row for BLAS");
        }
        g.activation = IRIS_ACTIVATION_RELU; /* which BLAS lacks */
        plan_again(&p, &g);
        irist_check(t, p.plan.pattern == IRIS_GEMM_WG_SPECIALIZED, "activation: %s", choice(&p).c_str());
        g.activation = IRIS_ACTIVATION_NONE, g.bias = p.bias;
        plan_again(&p, &g);
        irist_check(t, p.plan.pattern == IRIS_GEMM_WG_SPECIALIZED, "bias: %s", choice(&p).c_str());
        if (t->ranks > 1) { /* one rank has none: the row is not for all, and the model knows of no BLAS */
            g.bias = nullptr, g.blas = odd ? nullptr : naive_gemm;
            plan_again(&p, &g);
            irist_check(t, p.plan.pattern != IRIS_GEMM_BLAS_GATHER, "one rank has no BLAS: %s", choice(&p).c_str());
            run_plan(&p, "one rank has no BLAS");
        }
    }
    problem_free(&p);
}

TEST_CASE("the caller's BLAS is chosen by a row where every rank has one", "[gemm]")
{
    irist_spmd(blas_choice_work, nullptr);
}

static int counted(void *calls, const iris_gemm_blas_call *, iris_stream) { return ++*(int *)calls, 0; }

/* In a world that has stopped a BLAS is not called, for a GEMM alone either. */
static void blas_in_stopped_world(problem *p, iris_gemm_plan *alone, const int *calls)
{
    irist_rank *t = p->t;
    for (const iris_status s : {iris_gemm_local_f32(t->world, alone, nullptr),
                                iris_gemm_local_f32(t->world, &p->plan, nullptr),
                                iris_gemm_all_scatter_f32(t->world, &p->plan, nullptr)})
        irist_check(t, s == IRIS_ERR_TIMEOUT, "a launch in a world that has stopped: %s", iris_status_name(s));
    irist_check(t, *calls == 0, "BLAS was called %d times in a world that has stopped", *calls);
}

/* One rank's BLAS fails: its launch says so, and the others' waits end with its sentence. */
static void blas_failure_work(irist_rank *t)
{
    const int last = t->ranks - 1, odd = t->rank == last;
    naive_blas blas = {t->world, 0, odd ? 7 : 0, {}};
    iris_gemm_plan alone;
    int calls = 0;
    problem p;
    if (problem_create(&p, t, IRIS_F32, shape, plain)) {
        const std::string sentence = "rank " + std::to_string(last) + ": GEMM launch: its BLAS returned 7";
        iris_gemm_args g = problem_args(&p);
        g.pattern = IRIS_GEMM_BLAS_GATHER, g.blas = counted, g.blas_arg = &calls, g.band = 1;
        irist_ok(t, iris_gemm_prepare(t->world, &alone, IRIS_GEMM_LOCAL, p.dtype, &g));
        g.blas = naive_gemm, g.blas_arg = &blas, g.band = 0;
        if (plan_again(&p, &g)) {
            const iris_status launched = iris_gemm_all_scatter_f32(t->world, &p.plan, iris_default_stream(t->world));
            if (odd) {
                irist_check(t, launched == IRIS_ERR_DEVICE, "a failing BLAS is %s", iris_status_name(launched));
            } else { /* it may be told before it launches, or while its kernel waits */
                const iris_status drained = launched == IRIS_OK ? iris_synchronize(t->world) : launched;
                irist_check(t, drained == IRIS_ERR_TIMEOUT, "another rank's failing BLAS is %s",
                            iris_status_name(drained));
            }
            irist_check(t, std::strstr(iris_error_string(t->world), sentence.c_str()) != nullptr, "\"%s\" lacks \"%s\"",
                        iris_error_string(t->world), sentence.c_str());
            if (t->ranks > 1) {
                blas_in_stopped_world(&p, &alone, &calls);
                irist_ok(t, iris_reset(t->world));
            }
            blas.fail = 0;
            problem_expect(&p);
            run_plan(&p, "after a failure");
        }
        irist_ok(t, iris_gemm_release(t->world, &alone));
    }
    problem_free(&p);
}

TEST_CASE("a BLAS that fails on one rank holds up nobody", "[gemm]") { irist_spmd(blas_failure_work, nullptr); }
