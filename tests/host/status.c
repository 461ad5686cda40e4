/* SPDX-License-Identifier: MIT */
/*
 * status.c: a status and its sentence say the same. Where a peer dies while the ranks tell each other how a step went,
 * the sentence is that of the death; a rank whose own step had failed, as one does that cannot reach who is dead, once
 * returned its own status with it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* before the first header */
#endif
#include <stdio.h>
#include <string.h>

#include "../../include/iris/init.c"

int main(void)
{
    iris_world *worlds[2];
    iris_config config;
    memset(&config, 0, sizeof config);
    config.heap_bytes = (size_t)1 << 20;
    if (iris_init_all(worlds, 2, &config) != IRIS_OK)
        return 1;
    irisi_noticed(worlds[0], IRIS_ERR_PEER, 1, "rank 1 died");
    const iris_status mine = irisi_fail(worlds[0], IRIS_ERR_SYSTEM, "cannot reach rank 1");
    const iris_status status = irisi_agree(worlds[0], IRISI_GROW, mine);
    const char *sentence = iris_error_string(worlds[0]);
    printf("%s: %s\n", iris_status_name(status), sentence);
    const int failed = status != IRIS_ERR_PEER || strcmp(sentence, "rank 1 died") != 0;
    iris_finalize(worlds[0]);
    iris_finalize(worlds[1]);
    return failed;
}
