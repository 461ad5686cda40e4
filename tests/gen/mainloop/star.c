/* SPDX-License-Identifier: MIT */
/*
 * star.c: built by test_gen.py with headers made from a registry with one row more. The kernels of the made-up
 * mainloop are in the table for the patterns of its row and no others, the probe reports it, its properties are those
 * of its row, and a plan that has it computes what the plain loop computes.
 */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#include "star.h"

#include "../../../include/iris/init.c"

#include <iris/gen/launch/gemm_all_scatter.h>

enum { SIZE = 33 };

static int failures;

static void expect(int right, const char *what)
{
    if (!right)
        failures++, printf("%s\n", what);
}

static int rank_main(iris_world *w, void *arg)
{
    iris_gemm_args g;
    iris_gemm_plan plan;
    irisi_gemm_common common;
    float c[2][SIZE * SIZE];
    (void)arg;
    memset(&g, 0, sizeof g), memset(&common, 0, sizeof common);
    float *a = (float *)iris_malloc(w, sizeof c[0]), *b = (float *)iris_malloc(w, sizeof c[0]);
    float *to = (float *)iris_malloc(w, sizeof c[0]);
    for (int i = 0; i < SIZE * SIZE; i++)
        a[i] = (float)(i % 7), b[i] = (float)(i % 5);
    g.m = g.n = g.k = SIZE, g.a = a, g.b = b, g.c = to, g.pattern = IRIS_GEMM_FUSED_SEQUENTIAL;
    expect(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g) == IRIS_OK, iris_error_string(w));
    expect(irisi_gemm_ask(w, &plan, 0, &common) == IRIS_OK && common.mainloops >> IRISI_GEMM_STAR & 1,
           "the probe does not report the mainloop");
    for (int star = 0; star < 2; star++) {
        plan.mainloop = star ? IRISI_GEMM_STAR : IRISI_GEMM_PLAIN;
        memset(to, 0xff, sizeof c[0]);
        expect(iris_gemm_all_scatter_f32(w, &plan, NULL) == IRIS_OK && iris_synchronize(w) == IRIS_OK,
               iris_error_string(w));
        memcpy(c[star], to, sizeof c[0]);
    }
    expect(c[0][5] > 0 && memcmp(c[0], c[1], sizeof c[0]) == 0, "the mainloop computes something else");
    expect(strcmp(irisi_gemm_find_kernel(&plan, IRIS_GEMM_ALL_SCATTER, IRIS_GEMM_FUSED_SEQUENTIAL,
                                         IRISI_GEMM_KERNEL_WHOLE)->name,
                  "irisi_gemm_all_scatter_fused_sequential_f32_star") == 0,
           "its kernel is not found");
    expect(irisi_gemm_find_kernel(&plan, IRIS_GEMM_ALL_SCATTER, IRIS_GEMM_WG_SPECIALIZED, IRISI_GEMM_KERNEL_WHOLE) ==
               NULL,
           "it has a kernel of a pattern that its row does not name");
    expect(irisi_gemm_loop_is(IRISI_GEMM_STAR, IRISI_GEMM_LOOPS_UNALIGNED_A) &&
               !irisi_gemm_loop_is(IRISI_GEMM_STAR, IRISI_GEMM_LOOPS_EARLY_LAUNCH),
           "its properties are not those of its row");
    return failures != 0;
}

int main(void)
{
    const int failed = iris_spawn(1, rank_main, NULL) != 0;
    printf("%s\n", failed ? "failed" : "ok");
    return failed;
}
