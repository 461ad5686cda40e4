/* SPDX-License-Identifier: MIT */
/*
 * patterns.c: a program without IRIS_GEMM_ALL_PATTERNS has the kernels that AUTO may choose, and no others. What AUTO
 * chooses can be launched; producer_consumer, which it never chooses, is refused in one sentence that names the macro:
 * by iris_gemm_prepare where it is asked for, by an argument or a row, and by its launcher. So no plan has the second
 * stream that it would need: a model has hundreds of plans.
 */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/init.h>
#include <iris/iris.h>

#include <stdio.h>
#include <string.h>

enum { SIZE = 48 };

static int fails(iris_world *w, const char *what, iris_status s, iris_status wanted)
{
    const int said = wanted == IRIS_OK || strstr(iris_error_string(w), "IRIS_GEMM_ALL_PATTERNS") != NULL;
    if (s != wanted || !said)
        printf("%s: status %s, expected %s: %s\n", what, iris_status_name(s), iris_status_name(wanted),
               iris_error_string(w));
    return s != wanted || !said;
}

static int rank_main(iris_world *w, void *arg)
{
    int failures = 0;
    iris_gemm_args g;
    iris_gemm_plan plan;
    (void)arg;
    memset(&g, 0, sizeof g);
    g.m = g.n = g.k = SIZE, g.tune = "model";
    g.a = iris_zeros_f32(w, SIZE * SIZE), g.b = iris_zeros_f32(w, SIZE * SIZE), g.c = iris_zeros_f32(w, SIZE * SIZE);
    for (int pattern = IRIS_GEMM_AUTO; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        const int without = pattern == IRIS_GEMM_PRODUCER_CONSUMER;
        g.pattern = (iris_gemm_pattern)pattern;
        const iris_status s = iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g);
        failures += fails(w, iris_gemm_pattern_name(g.pattern), s, without ? IRIS_ERR_UNSUPPORTED : IRIS_OK);
        if (s != IRIS_OK)
            continue;
        if (plan.launcher.second != NULL) {
            printf("%s: the plan has a second stream that no pattern uses\n", iris_gemm_pattern_name(g.pattern));
            failures++;
        }
        failures += fails(w, "launch", iris_gemm_all_scatter_f32(w, &plan, NULL), IRIS_OK);
        failures += fails(w, "launch of producer_consumer",
                          iris_gemm_all_scatter_producer_consumer_f32(w, &plan, NULL), IRIS_ERR_UNSUPPORTED);
        failures += fails(w, "launch of the GEMM alone", iris_gemm_local_f32(w, &plan, NULL), IRIS_OK);
        failures += fails(w, "iris_synchronize", iris_synchronize(w), IRIS_OK);
        failures += fails(w, "iris_gemm_release", iris_gemm_release(w, &plan), IRIS_OK);
    }
    g.pattern = IRIS_GEMM_AUTO, g.tune = "pattern=producer_consumer";
    failures +=
        fails(w, g.tune, iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g), IRIS_ERR_UNSUPPORTED);
    return failures;
}

int main(void)
{
    const int failed = iris_spawn(2, rank_main, NULL) != 0;
    printf("%s\n", failed ? "failed" : "ok");
    return failed;
}
