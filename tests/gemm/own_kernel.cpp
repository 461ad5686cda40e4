/* SPDX-License-Identifier: MIT */
/*
 * own_kernel.cpp: a plan inside a kernel of one's own, beside other work; what such a kernel says when a rank does not
 * come; and plans for which the heap has no room for packets.
 */
#include "problem.h"

#include <iris/gen/gemm_all_scatter_fused_sequential.h>
#include <iris/gen/gemm_all_scatter_wave_specialized.h>

problem_launcher problem_launcher_of(const problem *, int) { return nullptr; }

typedef struct own_args {
    iris_ctx ctx;
    iris_gemm_plan plan;
    uint32_t *after; /* one for each workgroup: written once the GEMM is behind it */
} own_args;

IRIS_KERNEL(own_fused_kernel, own_args, a, IRIS_GEMM_LANES)
{
    iris_gemm_all_scatter_fused_sequential_f32_grid(&a->ctx, &a->plan);
    if (iris_wg_lane() == 0)
        a->after[iris_workgroup()] += 1;
}

IRIS_KERNEL(own_wave_kernel, own_args, a, IRIS_GEMM_LANES_WITH_COMM)
{
    iris_gemm_all_scatter_wave_specialized_f32_grid(&a->ctx, &a->plan);
    if (iris_wg_lane() == 0)
        a->after[iris_workgroup()] += 1;
}

IRIS_KERNEL(own_packets_kernel, own_args, a, IRIS_GEMM_LANES)
{
    iris_gemm_all_scatter_fused_sequential_ll_f32_grid(&a->ctx, &a->plan);
    if (iris_wg_lane() == 0)
        a->after[iris_workgroup()] += 1;
}

/* Packets are for plans with banks. */
enum { BY_PUTS, BY_WAVES, BY_PACKETS, WAYS };
static const char *const way_names[] = {"puts", "communication waves", "packets"};

static const problem_shape shape = {50, 70, 33};

static bool start(problem *p, own_args *a, uint32_t workgroups)
{
    const problem_options options = {"own kernel", 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, 3, 16, 16, workgroups, 1, 0,
                                     0};
    if (!problem_create(p, p->t, IRIS_F32, shape, options))
        return false;
    irist_check(p->t, (p->plan.exchange.ll.banks != nullptr) == (p->t->ranks > 1), "a short band has %s",
                p->plan.exchange.ll.banks ? "banks" : "none");
    problem_expect(p);
    a->ctx = iris_device_ctx(p->t->world);
    a->plan = p->plan;
    a->after = (uint32_t *)iris_malloc(p->t->world, 8 * sizeof *a->after);
    irist_ok(p->t, iris_memset(p->t->world, a->after, 0, 8 * sizeof *a->after));
    return irist_meet(p->t);
}

static void finish(problem *p, own_args *a)
{
    irist_ok(p->t, iris_free(p->t->world, a->after));
    problem_free(p);
}

static void launch(problem *p, const own_args *a, int way)
{
    const iris_launch_config grid = iris_gemm_grid(&p->plan, way == BY_WAVES ? 2 : 1);
    iris_world *w = p->t->world;
    iris_stream stream = iris_default_stream(w);
    irist_ok(p->t, way == BY_PUTS    ? iris_launch(w, own_fused_kernel, a, sizeof *a, &grid, stream)
                   : way == BY_WAVES ? iris_launch(w, own_wave_kernel, a, sizeof *a, &grid, stream)
                                     : iris_launch(w, own_packets_kernel, a, sizeof *a, &grid, stream));
}

/* Every way in turn, so many times each, each on poisoned memory. */
static void run_ways(problem *p, own_args *a, int laps, const char *when)
{
    for (int lap = 0; lap < laps * WAYS; lap++) {
        const int way = lap % WAYS;
        if (way == BY_PACKETS && p->plan.exchange.ll.banks == nullptr)
            continue;
        const std::vector<unsigned char> before = problem_poison(p);
        irist_delay(p->t, (uint64_t)lap);
        a->plan = p->plan;
        launch(p, a, way);
        irist_ok(p->t, iris_synchronize(p->t->world));
        if (!problem_check(p, before, when))
            irist_check(p->t, false, "%s: by %s", when, way_names[way]);
    }
}

static void own_work(irist_rank *t)
{
    const uint32_t laps = 2, ways = t->ranks > 1 ? WAYS : WAYS - 1;
    for (int uneven = 0; uneven < 2; uneven++) { /* the same grid on every rank, and not */
        problem p;
        own_args a;
        p.t = t;
        if (start(&p, &a, uneven ? 2 + (uint32_t)t->rank % 3 : 3)) {
            run_ways(&p, &a, (int)laps, uneven ? "own kernel, grids differ" : "own kernel");
            std::vector<uint32_t> after(p.plan.machine.workgroups);
            irist_ok(t, iris_memcpy(t->world, after.data(), a.after, after.size() * sizeof after[0]));
            for (uint32_t n : after)
                irist_check(t, n == laps * ways, "a workgroup came out of the GEMM %u times, not %u", n, laps * ways);
        }
        finish(&p, &a);
    }
}

TEST_CASE("a plan works inside a kernel of one's own", "[gemm]") { irist_spmd(own_work, nullptr); }

/* One rank does not launch: the others are told who is missing, and after iris_reset all is well, by every way. */
static void missing_work(irist_rank *t)
{
    problem p;
    own_args a;
    p.t = t;
    if (t->ranks == 1)
        return;
    if (start(&p, &a, 3)) {
        const uint64_t whole = a.ctx.deadline;
        for (int turn = 0; turn < 4; turn++) {
            const int way = turn % 2 ? BY_PACKETS : BY_PUTS, missing = turn < 2 ? t->ranks - 1 : 0;
            problem_poison(&p);
            a.ctx.deadline = whole / 100;
            if (t->rank != missing)
                launch(&p, &a, way);
            const iris_status status = iris_barrier(t->world);
            irist_check(t, status == IRIS_ERR_TIMEOUT, "by %s a missing rank gave %s", way_names[way],
                        iris_status_name(status));
            irist_check(t, std::strstr(iris_error_string(t->world), "waited") != nullptr, "the sentence is \"%s\"",
                        iris_error_string(t->world));
            irist_ok(t, iris_reset(t->world));
            a.ctx.deadline = whole;
            run_ways(&p, &a, 1, "after iris_reset");
        }
    }
    finish(&p, &a);
}

TEST_CASE("a rank that does not come ends the GEMM in a sentence", "[gemm]") { irist_spmd(missing_work, nullptr); }

/* Leaves `room` bytes of the heap for signals, and gives what fills the rest. */
static void *fill_heap(irist_rank *t, size_t room)
{
    const size_t left = iris_heap_size(t->world, IRIS_MEM_SYNC) - iris_heap_used(t->world, IRIS_MEM_SYNC);
    void *filler = iris_malloc_kind(t->world, left - room, 0, IRIS_MEM_SYNC);
    irist_check(t, filler != nullptr, "%s", iris_error_string(t->world));
    return filler;
}

/*
 * Where banks would take more than a quarter of what is free, nobody gets some unasked; who asks gets them as long as
 * there is room, and a sentence where there is none.
 */
static void exhausted_work(irist_rank *t)
{
    problem p;
    own_args a;
    p.t = t;
    if (t->ranks == 1)
        return;
    if (start(&p, &a, 3)) {
        iris_gemm_args g = problem_args(&p);
        const size_t banks = 2 * p.plan.exchange.ll.bank_bytes, halves[] = {6, 1}; /* of the banks */
        for (const size_t half : halves) {
            irist_ok(t, iris_gemm_release(t->world, &p.plan));
            void *filler = fill_heap(t, half * banks / 2);
            g.tune = nullptr;
            if (irist_ok(t, iris_gemm_prepare(t->world, &p.plan, IRIS_GEMM_ALL_SCATTER, p.dtype, &g))) {
                irist_check(t, p.plan.exchange.ll.banks == nullptr, "%zu halves: banks unasked", half);
                run_ways(&p, &a, 1, "without banks");
                irist_ok(t, iris_gemm_release(t->world, &p.plan));
            }
            const size_t used = iris_heap_used(t->world, IRIS_MEM_SYNC);
            g.tune = "ll=1";
            const iris_status s = iris_gemm_prepare(t->world, &p.plan, IRIS_GEMM_ALL_SCATTER, p.dtype, &g);
            if (half > 2) {
                irist_check(t, s == IRIS_OK && p.plan.exchange.ll.banks, "room is there, and asked for: %s",
                            iris_status_name(s));
                run_ways(&p, &a, 1, "banks that were asked for");
            } else {
                irist_check(t, s == IRIS_ERR_NOMEM, "no room: %s", iris_status_name(s));
                irist_check(t, std::strstr(iris_error_string(t->world), "row 1 of tune: ll=1 cannot be: its two banks"),
                            "the sentence is \"%s\"", iris_error_string(t->world));
                irist_check(t, iris_heap_used(t->world, IRIS_MEM_SYNC) == used, "a refused plan keeps memory");
            }
            irist_ok(t, iris_free(t->world, filler));
            g.tune = nullptr;
            irist_ok(t, iris_gemm_release(t->world, &p.plan));
            irist_ok(t, iris_gemm_prepare(t->world, &p.plan, IRIS_GEMM_ALL_SCATTER, p.dtype, &g));
            irist_check(t, p.plan.exchange.ll.banks != nullptr, "%zu halves: no banks though there is room again",
                        half);
        }
        run_ways(&p, &a, 1, "banks again");
    }
    finish(&p, &a);
}

TEST_CASE("banks for packets leave the heap to others", "[gemm]") { irist_spmd(exhausted_work, nullptr); }
