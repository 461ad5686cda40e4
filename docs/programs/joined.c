/* SPDX-License-Identifier: MIT */
/* One rank of a job that somebody else starts: torchrun, mpirun, srun, or a shell script. */
#include <iris/init.h>
#include <stdio.h>

int main(void)
{
    iris_world *w;
    int ranks = 1;
    if (iris_init(&w, NULL) != IRIS_OK) { /* rank and world from the launcher's environment */
        fprintf(stderr, "%s\n", iris_error_string(NULL));
        return 1;
    }
    printf("rank %d of %d on %s\n", iris_rank(w), iris_world_size(w), iris_arch_name(w));
    if (iris_broadcast(w, &ranks, sizeof ranks, 0) != IRIS_OK || iris_barrier(w) != IRIS_OK)
        fprintf(stderr, "%s\n", iris_error_string(w));
    return iris_finalize(w) != IRIS_OK;
}
