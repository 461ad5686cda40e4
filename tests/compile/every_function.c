/* SPDX-License-Identifier: MIT */
/*
 * every_function.c: a kernel that takes the address of every generated function, so that the compiler makes code for
 * each of them and not only a syntax tree.
 */
#include <iris/gen/index.h>
#include <iris/gen/tensor_access.h>
#include <iris/gen/put_signal_2d.h>
#include <iris/gen/rma_cache.h>
#include <iris/iris.h>

typedef struct every_args {
    void (**out)(void);
} every_args;

#define REFER(function) a->out[i++] = (void (*)(void))(function);
#define CONVERT(name, NAME, ctype, bits, kind, acc) REFER(iris_widen_##name) REFER(iris_narrow_##name)
#define REFER_GROUPS(function) REFER(function) REFER(function##_wave) REFER(function##_wg)

IRIS_KERNEL(every_function, every_args, a, 256)
{
    size_t i = 0;
    IRIS_EACH_DTYPE(CONVERT)
    IRIS_EACH_IN_OP(REFER)
    IRIS_EACH_IN_LOAD_STORE(REFER)
    IRIS_EACH_IN_RMA(REFER)
    /* Behind an address no hint is a constant: each of these holds all of them, so one type will do. */
    REFER_GROUPS(iris_put_cache_bf16)
    REFER_GROUPS(iris_get_cache_bf16)
    REFER_GROUPS(iris_copy_cache_bf16)
    IRIS_EACH_IN_PUT_SIGNAL(REFER)
    IRIS_EACH_IN_TENSOR_ACCESS(REFER)
    IRIS_EACH_IN_RMA_2D(REFER)
    IRIS_EACH_IN_PUT_SIGNAL_2D(REFER)
    IRIS_EACH_IN_ATOMIC(REFER)
    IRIS_EACH_IN_WAIT(REFER)
    a->out[0](); /* so that every function counts as called: AMD gives shared memory to no others */
}
