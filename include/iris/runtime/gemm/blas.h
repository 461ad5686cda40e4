/* SPDX-License-Identifier: MIT */
/*
 * blas.h: a part of init.c: calls the caller's BLAS, which computes this rank's band for IRIS_GEMM_BLAS_GATHER.
 */
#ifndef IRIS_RUNTIME_GEMM_BLAS_H
#define IRIS_RUNTIME_GEMM_BLAS_H
#ifdef IRIS_INIT_C

#include <iris/gemm/prepare.h>
#include <iris/runtime/control_link.h>

/* A call of the caller's BLAS for matrix `which` of a plan (irisi_gemm_matrix_at). It reads originals, not copies. */
static iris_gemm_blas_call irisi_gemm_blas_call_of(const iris_gemm_plan *plan, uint32_t which)
{
    const irisi_gemm_packing *a = &plan->launcher.packs[0], *b = &plan->launcher.packs[1 + which];
    const irisi_gemm_matrix x = irisi_gemm_matrix_at(plan, which);
    iris_gemm_blas_call call;
    memset(&call, 0, sizeof call);
    call.m = plan->m, call.n = x.columns, call.k = plan->k;
    call.a = a->to ? a->from : plan->operands.a, call.b = b->to ? b->from : x.b;
    call.lda = (int64_t)(a->to ? a->from_pitch / plan->operands.element : plan->operands.lda);
    call.ldb = (int64_t)(b->to ? b->from_pitch / plan->operands.element : x.ldb);
    call.c = (char *)x.c + (uint64_t)plan->region.n0 * plan->operands.c_element, call.ldc = (int64_t)x.ldc;
    call.alpha = plan->operands.alpha, call.beta = plan->operands.beta;
    call.dtype = (iris_dtype)plan->operands.dtype, call.c_dtype = (iris_dtype)plan->operands.c_dtype;
    call.a_transposed = a->transposed != 0; /* no mainloop transposes an A that is m x k */
    call.b_transposed = (int)plan->operands.b_transposed && !b->transposed; /* else only the copy is transposed */
    return call;
}

/*
 * Calls the caller's BLAS for this rank's columns of each B, if there are some, and rows. When it fails, nothing will
 * come from this rank, so waiting peers are stopped at once, as at a deadline. Not in a capture, nor for a GEMM alone:
 * no peer waits then. The stream comes from irisi_take_stream.
 */
static iris_status irisi_gemm_start_blas(iris_world *w, const iris_gemm_plan *plan, iris_stream stream)
{
    iris_gemm_blas_call call;
    int failed = 0;
    for (uint32_t i = 0; i <= plan->several.count && failed == 0; i++) {
        call = irisi_gemm_blas_call_of(plan, i);
        if (call.n > 0 && call.m > 0)
            failed = plan->launcher.blas(plan->launcher.blas_arg, &call, stream);
    }
    if (failed == 0)
        return IRIS_OK;
    if (irisi_take_notice(w) != IRIS_OK || w->failed != IRIS_OK) /* it failed because the world has stopped */
        return irisi_fail_stopped(w);
    char text[200];
    const int notified = w->size > 1 && plan->op != IRIS_GEMM_LOCAL && !irisi_gemm_capturing(w, stream);
    snprintf(text, sizeof text, "rank %d: GEMM launch: its BLAS returned %d for %lld x %lld x %lld%s", w->rank, failed,
             (long long)call.m, (long long)call.n, (long long)call.k,
             notified ? "; call iris_reset on every rank" : "");
    if (notified) {
        irisi_send_text(w->sock, IRISI_ABORT, w->rank, IRIS_ERR_TIMEOUT, text);
        irisi_stop(w, IRIS_ERR_TIMEOUT, text);
    }
    return irisi_fail(w, IRIS_ERR_DEVICE, "%s", text);
}

#endif
#endif
