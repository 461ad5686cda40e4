/* SPDX-License-Identifier: MIT */
/*
 * peer_cublaslt.h: the vendor's GEMM as a peer: cuBLASLt's best algorithm of those that its heuristic proposes, found
 * by timing them. The library is opened at run time; without it, or elsewhere than on NVIDIA, there is no peer.
 *
 *   peer peer_open peer_problem peer_gemm
 *   peer_inputs peer_choose
 *   peer_blas                                          the same as iris_gemm_args.blas wants it
 */
#ifndef IRIS_BENCH_PEER_CUBLASLT_H
#define IRIS_BENCH_PEER_CUBLASLT_H

#include <iris/init.h>

#include <iris/gemm/plan.h>

#include "runtime.h"

#if defined(IRIS_TARGET_NVIDIA) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <dlfcn.h>

enum { PEER_ALGORITHMS = 16, PEER_WORKSPACE = 64 << 20 };

/* C (m x n) = A (m x k) * B, all row-major: for cuBLASLt, which thinks in columns, the transpose of that. */
typedef struct peer {
    void *library;
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    void *workspace;
    cublasLtMatmulHeuristicResult_t algorithm[PEER_ALGORITHMS];
    int algorithms, best;
    uint32_t c_alignment; /* of what will be C, in bytes; 0: 256 */
    int tf32, fast_accum; /* as iris_gemm_args has them */
    int factor;           /* alpha and beta are f32, i32 or f64 */
    cublasStatus_t (*matmul)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *, const void *, cublasLtMatrixLayout_t,
                             const void *, cublasLtMatrixLayout_t, const void *, const void *, cublasLtMatrixLayout_t,
                             void *, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t *, void *, size_t,
                             cudaStream_t);
} peer;

/* A function of the library, cast by the caller. */
#define PEER_FUNCTION(p, name) ((decltype(&name))dlsym((p)->library, #name))

/* 1 when the library is here. */
static int peer_open(peer *p)
{
    memset(p, 0, sizeof *p);
    p->library = dlopen("libcublasLt.so.13", RTLD_NOW);
    if (!p->library)
        p->library = dlopen("libcublasLt.so.12", RTLD_NOW);
    if (!p->library)
        return fprintf(stderr, "no peer: %s\n", dlerror()), 0;
    p->matmul = PEER_FUNCTION(p, cublasLtMatmul);
    return PEER_FUNCTION(p, cublasLtCreate)(&p->handle) == CUBLAS_STATUS_SUCCESS &&
           cudaMalloc(&p->workspace, PEER_WORKSPACE) == cudaSuccess;
}

/* The vendor's words for types. */
static inline cudaDataType peer_type(iris_dtype dtype)
{
    switch (dtype) {
    case IRIS_F16: return CUDA_R_16F;
    case IRIS_BF16: return CUDA_R_16BF;
    case IRIS_F8E4M3: return CUDA_R_8F_E4M3;
    case IRIS_I8: return CUDA_R_8I;
    case IRIS_I32: return CUDA_R_32I;
    case IRIS_F64: return CUDA_R_64F;
    default: return CUDA_R_32F;
    }
}

/* Runs the i-th algorithm; 1 when it was launched. */
static int peer_gemm(const peer *p, int i, const void *a, const void *b, void *c, iris_stream stream)
{
    const float one = 1, zero = 0;
    const int32_t whole[2] = {0, 1};
    const double wide[2] = {0, 1};
    const void *factors[3][2] = {{&zero, &one}, {whole, whole + 1}, {wide, wide + 1}};
    const void *const *by = factors[p->factor];
    return p->matmul(p->handle, p->product, by[1], b, p->b, a, p->a, by[0], c, p->c, c, p->c, &p->algorithm[i].algo,
                     p->workspace, PEER_WORKSPACE, stream) == CUBLAS_STATUS_SUCCESS;
}

/* Describes a problem and asks for algorithms; 1 when there is one. */
static int peer_problem(peer *p, iris_dtype dtype, iris_dtype c_dtype, uint64_t m, uint64_t n, uint64_t k, int64_t lda,
                        int64_t ldb, int64_t ldc, int b_transposed)
{
    const cudaDataType type = peer_type(dtype), c_type = peer_type(c_dtype);
    const cublasOperation_t transposed = CUBLAS_OP_T;
    const int8_t fast = (int8_t)p->fast_accum;
    const size_t most = PEER_WORKSPACE;
    cublasLtMatmulPreference_t preference;
    const cublasComputeType_t computed[] = {p->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                            CUBLAS_COMPUTE_32I, CUBLAS_COMPUTE_64F};
    const cudaDataType factors[] = {CUDA_R_32F, CUDA_R_32I, CUDA_R_64F};
    p->factor = dtype == IRIS_I8 ? 1 : dtype == IRIS_F64 ? 2 : 0;
    PEER_FUNCTION(p, cublasLtMatmulDescCreate)(&p->product, computed[p->factor], factors[p->factor]);
    if (b_transposed)
        PEER_FUNCTION(p, cublasLtMatmulDescSetAttribute)
    (p->product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed);
    if (fast)
        PEER_FUNCTION(p, cublasLtMatmulDescSetAttribute)
    (p->product, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast);
    PEER_FUNCTION(p, cublasLtMatrixLayoutCreate)(&p->b, type, b_transposed ? k : n, b_transposed ? n : k, ldb);
    PEER_FUNCTION(p, cublasLtMatrixLayoutCreate)(&p->a, type, k, m, lda);
    PEER_FUNCTION(p, cublasLtMatrixLayoutCreate)(&p->c, c_type, n, m, ldc);
    PEER_FUNCTION(p, cublasLtMatmulPreferenceCreate)(&preference);
    PEER_FUNCTION(p, cublasLtMatmulPreferenceSetAttribute)
    (preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most);
    const cublasLtMatmulPreferenceAttributes_t aligned[] = {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                                                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (int i = 0; i < 2 && p->c_alignment; i++)
        PEER_FUNCTION(p, cublasLtMatmulPreferenceSetAttribute)
    (preference, aligned[i], &p->c_alignment, sizeof p->c_alignment);
    return PEER_FUNCTION(p, cublasLtMatmulAlgoGetHeuristic)(p->handle, p->product, p->b, p->a, p->c, p->c, preference,
                                                            PEER_ALGORITHMS, p->algorithm,
                                                            &p->algorithms) == CUBLAS_STATUS_SUCCESS &&
           p->algorithms > 0;
}

#else
typedef struct peer {
    int algorithms, best, tf32, fast_accum;
    uint32_t c_alignment;
} peer;

static int peer_open(peer *p) { return p->algorithms = 0; }
static int peer_gemm(const peer *p, int i, const void *a, const void *b, void *c, iris_stream stream)
{
    return (void)p, (void)i, (void)a, (void)b, (void)c, (void)stream, 0;
}
static int peer_problem(peer *p, iris_dtype dtype, iris_dtype c_dtype, uint64_t m, uint64_t n, uint64_t k, int64_t lda,
                        int64_t ldb, int64_t ldc, int b_transposed)
{
    return (void)p, (void)dtype, (void)c_dtype, (void)m, (void)n, (void)k, (void)lda, (void)ldb, (void)ldc,
           (void)b_transposed, 0;
}
#endif

/* What algorithms are tried on: operands in turn, so that no cache holds them, and events to time with. */
typedef struct peer_inputs {
    char *const *a, *const *b;
    int sets;
    void *c;
    iris_event begin, end;
} peer_inputs;

typedef struct peer_try {
    const peer *p;
    const peer_inputs *in;
    int algorithm;
} peer_try;

static inline iris_status peer_submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    const peer_try *t = (const peer_try *)arg;
    const int set = turn % t->in->sets;
    return peer_gemm(t->p, t->algorithm, t->in->a[set], t->in->b[set], t->in->c, stream)
               ? IRIS_OK
               : irisi_fail(w, IRIS_ERR_DEVICE, "the peer refuses the problem");
}

/*
 * Finds `best`, the fastest algorithm on this rank but for those of which a bit is set in `wrong`; each rank may take
 * another. Returns it, -1 where there is none. Not collective.
 */
static inline int peer_choose(peer *p, iris_world *w, const peer_inputs *in, uint32_t wrong)
{
    const int calls = in->sets > 4 ? in->sets : 4;
    peer_try t;
    double least = 0;
    t.p = p, t.in = in, p->best = -1;
    for (t.algorithm = 0; t.algorithm < p->algorithms; t.algorithm++) {
        double us = wrong >> t.algorithm & 1 ? -1 : bench_calls(w, peer_submit, &t, 2, in->begin, in->end);
        if (us > 0)
            us = bench_calls(w, peer_submit, &t, calls, in->begin, in->end);
        if (us > 0 && (p->best < 0 || us < least))
            p->best = t.algorithm, least = us;
    }
    return p->best;
}

/* The problem that was described last, by its best algorithm; the call says nothing else. */
static inline int peer_blas(void *arg, const iris_gemm_blas_call *call, iris_stream stream)
{
    const peer *p = (const peer *)arg;
    return peer_gemm(p, p->best, call->a, call->b, call->c, stream) ? 0 : 1;
}

#endif
