/* SPDX-License-Identifier: MIT */
/*
 * own_kernel.cpp: a plan inside a kernel of one's own, beside other work; and what such a kernel says when a rank does
 * not come.
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

static const problem_options options = {"own kernel", 0, 0, 1, IRIS_ACTIVATION_NONE, 0, 0, 0, 3, 16, 16, 3, 1, 0, 0};
static const problem_shape shape = {50, 70, 33};

static bool start(problem *p, own_args *a)
{
    if (!problem_create(p, p->t, IRIS_F32, shape, options))
        return false;
    problem_expect(p);
    a->ctx = iris_device_ctx(p->t->world);
    a->plan = p->plan;
    a->after = (uint32_t *)iris_malloc(p->t->world, p->plan.workgroups * sizeof *a->after);
    irist_ok(p->t, iris_memset(p->t->world, a->after, 0, p->plan.workgroups * sizeof *a->after));
    return irist_meet(p->t);
}

static void launch(problem *p, const own_args *a, int waves)
{
    const iris_launch_config grid = iris_gemm_grid(&p->plan, waves ? 2 : 1);
    iris_stream stream = iris_default_stream(p->t->world);
    irist_ok(p->t, waves ? iris_launch(p->t->world, own_wave_kernel, a, sizeof *a, &grid, stream)
                         : iris_launch(p->t->world, own_fused_kernel, a, sizeof *a, &grid, stream));
}

static void own_work(irist_rank *t)
{
    problem p;
    own_args a;
    p.t = t;
    if (start(&p, &a)) {
        for (int lap = 0; lap < 4; lap++) {
            const std::vector<unsigned char> before = problem_poison(&p);
            launch(&p, &a, lap % 2);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, "own kernel");
        }
        std::vector<uint32_t> after(p.plan.workgroups);
        irist_ok(t, iris_memcpy(t->world, after.data(), a.after, after.size() * sizeof after[0]));
        for (uint32_t n : after)
            irist_check(t, n == 4, "a workgroup came out of the GEMM %u times, not 4", n);
    }
    irist_ok(t, iris_free(t->world, a.after));
    problem_free(&p);
}

TEST_CASE("a plan works inside a kernel of one's own", "[gemm]") { irist_spmd(own_work, nullptr); }

/* The last rank does not launch: the others are told who is missing, and after iris_reset all is well. */
static void missing_work(irist_rank *t)
{
    problem p;
    own_args a;
    p.t = t;
    if (t->ranks == 1)
        return;
    if (start(&p, &a)) {
        const uint64_t whole = a.ctx.deadline;
        std::vector<unsigned char> before = problem_poison(&p);
        a.ctx.deadline = whole / 100;
        if (t->rank != t->ranks - 1)
            launch(&p, &a, 0);
        const iris_status status = iris_barrier(t->world);
        irist_check(t, status == IRIS_ERR_TIMEOUT, "a missing rank gave %s", iris_status_name(status));
        irist_check(t, std::strstr(iris_error_string(t->world), "waited") != nullptr, "the sentence is \"%s\"",
                    iris_error_string(t->world));
        irist_ok(t, iris_reset(t->world));
        a.ctx.deadline = whole;
        for (int lap = 0; lap < 2; lap++) {
            before = problem_poison(&p);
            launch(&p, &a, lap);
            irist_ok(t, iris_synchronize(t->world));
            problem_check(&p, before, "after iris_reset");
        }
    }
    irist_ok(t, iris_free(t->world, a.after));
    problem_free(&p);
}

TEST_CASE("a rank that does not come ends the GEMM in a sentence", "[gemm]") { irist_spmd(missing_work, nullptr); }
