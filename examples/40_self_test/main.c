/* SPDX-License-Identifier: MIT */
/*
 * Asks a machine, before anything else runs on it, whether it does what the library builds on, between every two ranks.
 */
#define IRIS_INSTANTIATE_SELF_TEST
#include <iris/self_test.h>
#include <stdio.h>

#include "../ranks.h"

static int rank_main(iris_world *w, void *unused)
{
    static iris_self_test_result result; /* large: a place for each pair of the largest world */
    static char text[40000];
    (void)unused;
    const iris_status status = iris_self_test(w, iris_rank(w) == 0 ? &result : NULL);
    if (iris_rank(w) == 0) {
        iris_self_test_text(&result, text, sizeof text);
        printf("%d ranks on %s\n%s", iris_world_size(w), iris_arch_name(w), text);
        if (!(result.kinds >> IRIS_MEM_DATA & 1))
            printf("stores to data memory do not reach running kernels: signals, not data, tell that they came\n");
    }
    IRIS_TRY(status);
    return 0;
}

int main(int argc, char **argv)
{
    const int ranks = ranks_of(argc, argv, 2, "Asks a machine whether it does what the library builds on.");
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(ranks, rank_main, NULL);
}
