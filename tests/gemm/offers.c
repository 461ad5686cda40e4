/* SPDX-License-Identifier: MIT */
/*
 * offers.c: the table of GEMM kernels knows the operation. Two launch headers in one file both add their kernels, for
 * one type or for different ones; a second offer for a type hides nothing of the first; and each kernel is found by its
 * operation, mainloop, pattern and role, and by nothing less.
 */
#define IRIS_INSTANTIATE_GEMM_LOCAL_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#include "../../include/iris/init.c"

#include <iris/gen/launch/gemm.h>
#include <iris/gen/launch/gemm_all_scatter.h>

static unsigned failures;

static void expect(int right, const char *what)
{
    if (!right)
        failures++, printf("%s\n", what);
}

static const char *found(iris_dtype dtype, iris_gemm_op op, iris_gemm_pattern pattern, irisi_gemm_kernel_role role)
{
    iris_gemm_plan p;
    memset(&p, 0, sizeof p);
    p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = (uint32_t)dtype, p.mainloop = IRISI_GEMM_PLAIN;
    const irisi_gemm_kernel *k = irisi_gemm_find_kernel(&p, op, pattern, role);
    return k ? k->name : "none";
}

static void kernel(const void *args) { (void)args; }

int main(void)
{
    static const irisi_gemm_kernel rows[] = {{77, IRISI_GEMM_PLAIN, IRIS_GEMM_WG_SPECIALIZED, IRISI_GEMM_KERNEL_WHOLE,
                                              kernel, "another operation's"}};
    static irisi_gemm_offer more = {IRIS_F32, IRIS_F32, rows, 1, NULL, NULL, NULL};
    const iris_gemm_op local = IRIS_GEMM_LOCAL, scatter = IRIS_GEMM_ALL_SCATTER, other = (iris_gemm_op)77;
    const iris_gemm_pattern bulk = IRIS_GEMM_BULK_SYNCHRONOUS, wg = IRIS_GEMM_WG_SPECIALIZED, any = IRIS_GEMM_AUTO;
    for (int added = 0; added < 2; added++) {
        expect(strcmp(found(IRIS_BF16, local, any, IRISI_GEMM_KERNEL_COMPUTE), "irisi_gemm_local_bf16") == 0,
               "a GEMM alone of bf16, which only launch/gemm.h was asked for, is not found");
        expect(strcmp(found(IRIS_F32, local, any, IRISI_GEMM_KERNEL_COMPUTE), "irisi_gemm_local_f32") == 0,
               "a GEMM alone of f32, which comes with the operation, is not found");
        expect(strcmp(found(IRIS_F32, scatter, wg, IRISI_GEMM_KERNEL_WHOLE),
                      "irisi_gemm_all_scatter_wg_specialized_f32") == 0,
               "the operation's kernel is not found");
        expect(strcmp(found(IRIS_F32, scatter, bulk, IRISI_GEMM_KERNEL_COMPUTE), "none") == 0,
               "the operation has a copy of the GEMM alone");
        expect(strcmp(found(IRIS_BF16, scatter, wg, IRISI_GEMM_KERNEL_WHOLE), "none") == 0,
               "the operation is found for a type that nobody asked for");
        expect(strcmp(found(IRIS_F32, scatter, wg, IRISI_GEMM_KERNEL_COMMUNICATE), "none") == 0,
               "a kernel is found in a role that it has not");
        expect(strcmp(found(IRIS_F32, other, wg, IRISI_GEMM_KERNEL_WHOLE), added ? "another operation's" : "none") == 0,
               "another operation's kernel is found before it is added, or not afterwards");
        if (!added)
            irisi_gemm_add_offer(&more);
    }
    printf("%s\n", failures ? "failed" : "ok");
    return failures != 0;
}
