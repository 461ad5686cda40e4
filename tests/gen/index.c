/* SPDX-License-Identifier: MIT */
/*
 * index.c: the index names what is there. An X-macro entry without its function, or a wrong fact about an element
 * type, fails the compilation or this program.
 */
#include <stdio.h>
#include <string.h>

#include <iris/gen/index.h>
#include <iris/gen/put_signal_2d.h>
#include <iris/gen/rma_cache.h>
#include <iris/iris.h>

static int failures;

static void check_dtype(iris_dtype dtype, const char *name, size_t bytes, size_t size, size_t acc)
{
    if (strcmp(iris_dtype_name(dtype), name) != 0 || iris_dtype_bytes(dtype) != bytes || size != bytes || acc < size) {
        printf("index.h is wrong about %s\n", name);
        failures++;
    }
}

#define CHECK_DTYPE(name, NAME, ctype, bits, kind, acc)                                                                \
    check_dtype(IRIS_##NAME, #name, bits / 8, sizeof(ctype), sizeof(iris_widen_##name(zero_##name)));
#define ZERO(name, NAME, ctype, bits, kind, acc)                                                                       \
    ctype zero_##name;                                                                                                 \
    memset(&zero_##name, 0, sizeof zero_##name);
#define REFER(function) functions += sizeof(&(function)) > 0; /* it exists; taking its address draws a warning */

int main(void)
{
    int functions = 0;
    IRIS_EACH_DTYPE(ZERO)
    IRIS_EACH_DTYPE(CHECK_DTYPE)
    IRIS_EACH_IN_LOAD_STORE(REFER)
    IRIS_EACH_IN_RMA(REFER)
    IRIS_EACH_IN_RMA_CACHE(REFER)
    IRIS_EACH_IN_PUT_SIGNAL(REFER)
    IRIS_EACH_IN_RMA_2D(REFER)
    IRIS_EACH_IN_PUT_SIGNAL_2D(REFER)
    IRIS_EACH_IN_ATOMIC(REFER)
    IRIS_EACH_IN_WAIT(REFER)
    printf("%d functions\n", functions);
    return failures;
}
