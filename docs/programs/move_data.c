/* SPDX-License-Identifier: MIT */
/* Data goes in, a kernel doubles it, and data comes out: on every rank, for its own memory. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

typedef struct {
    float *x;
    size_t n;
} double_args;

IRIS_KERNEL(double_all, double_args, a, 256)
{
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->x[i] *= 2;
}

static int rank_main(iris_world *w, void *unused)
{
    float host[1000];
    double_args a;
    (void)unused;
    for (size_t i = 0; i < 1000; i++)
        host[i] = (float)i;
    a.n = 1000;
    a.x = iris_empty_f32(w, a.n);
    IRIS_TRY(iris_barrier(w));                        /* tells of a creation that failed */
    IRIS_TRY(iris_memcpy(w, a.x, host, sizeof host)); /* in: iris_upload_f32(w, a.x, host, a.n) is the same */
    IRIS_TRY(iris_launch(w, double_all, &a, sizeof a, NULL, iris_default_stream(w)));
    IRIS_TRY(iris_memcpy(w, host, a.x, sizeof host)); /* out: after the kernel, on the same stream */
    IRIS_TRY(iris_poke_f32(w, a.x, -1));              /* one element */
    printf("rank %d: %g, %g\n", iris_rank(w), (double)host[999], (double)iris_peek_f32(w, a.x));
    return host[999] == 1998 && iris_peek_f32(w, a.x) == -1 ? 0 : 1;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
