/* SPDX-License-Identifier: MIT */
/*
 * tensor_layouts.cpp: what GEMMs take of partitioned tensors (<iris/gemm/tensors.h>): layouts, types, shapes, teams and
 * strides that no operation takes are refused with the same sentence on every rank, and nobody waits. It needs no
 * kernels.
 */
#include <cstring>
#include <string>

#include "harness.h"

#include <iris/gemm/tensors.h>

namespace {

enum { A, B, C, MATRICES, ROOM = 1 << 16 };

/* A sound question, in layouts of A, B and C, that each row spoils in one way. */
struct question {
    iris_gemm_op op;
    iris_tensor_layout l[3];
    iris_gemm_args args;
};

enum { M = 33, N = 50, K = 20 };
const iris_dtype T = IRIS_BF16;

/* Dimension `split` (-1: none) of a matrix in blocks by `unit`. */
iris_tensor_layout laid(int64_t rows, int64_t columns, int split, int64_t unit)
{
    const int64_t size[] = {rows, columns};
    return split < 0 ? iris_tensor_replicated(T, 2, size) : iris_tensor_split(T, 2, size, split, unit);
}

/* What cannot be in any world. */
void flat_c(question *q) { q->l[C].dims = 1; }
void deep_b(question *q) { q->l[B].dims = 3, q->l[B].size[2] = 2; }
void other_b(question *q) { q->l[B].dtype = IRIS_F32; }
void no_kernel(question *q) { q->l[C].dtype = IRIS_I32; }
void other_m(question *q) { q->l[C].size[0]++; }
void other_n(question *q) { q->l[C].size[1]++; }
void other_k(question *q) { q->l[B].size[0]++; }
void turned(question *q) { q->args.b_transposed = 1; }
void by_column_a(question *q) { q->l[A].stride[0] = 1, q->l[A].stride[1] = M; }
void by_column_b(question *q) { q->l[B].stride[0] = 2, q->l[B].stride[1] = 2 * K; }
void by_column_c(question *q) { q->l[C].stride[0] = 2 * N + 1, q->l[C].stride[1] = 2; }
void no_op(question *q) { q->op = (iris_gemm_op)6; }
void no_rows(question *q) { q->l[A].size[0] = q->l[C].size[0] = 0; }
void with_pattern(question *q) { q->args.pattern = (iris_gemm_pattern)9; }

/* What cannot be where there are several ranks. */
void on_one(question *q) { q->l[C].team.size = 1; }
void on_last(question *q) { q->l[A].team = {1, 1, 1}; }
void local_by_k(question *q) { q->l[A] = laid(M, K, 1, 0); }
void local_b_by_k(question *q) { q->l[B] = laid(K, N, 0, 3); }
void local_c_by_n(question *q) { q->l[C] = laid(M, N, 1, 1); }
void local_b_by_n(question *q) { q->l[B] = laid(K, N, 1, 0); }
void local_by_m(question *q) { q->l[A] = laid(M, K, 0, 1), q->l[C] = laid(M, N, 0, 16); }
void local_by_both(question *q) { local_by_m(q), q->l[B] = laid(K, N, 1, 16); }
void scatter(question *q) { q->op = IRIS_GEMM_ALL_SCATTER, q->l[B] = laid(K, N, 1, 16); }
void scatter_whole_b(question *q) { scatter(q), q->l[B] = laid(K, N, -1, 0); }
void scatter_b_by_1(question *q) { scatter(q), q->l[B] = laid(K, N, 1, 1); }
void scatter_b_by_k(question *q) { scatter(q), q->l[B] = laid(K, N, 0, 1); }
void scatter_turned(question *q) { scatter(q), q->args.b_transposed = 1, q->l[B] = laid(N, K, 1, 16); }
void scatter_a_by_m(question *q) { scatter(q), q->l[A] = laid(M, K, 0, 1); }
void scatter_split_c(question *q) { scatter(q), q->l[C] = laid(M, N, 1, 16); }
void sum(question *q) { q->op = IRIS_GEMM_ALL_REDUCE, q->l[A] = laid(M, K, 1, 1), q->l[B] = laid(K, N, 0, 1); }
void sum_whole_a(question *q) { sum(q), q->l[A] = laid(M, K, -1, 0); }
void sum_whole_b(question *q) { sum(q), q->l[B] = laid(K, N, -1, 0); }
void sum_b_by_3(question *q) { sum(q), q->l[B] = laid(K, N, 0, 3); }
void sum_a_by_m(question *q) { sum(q), q->l[A] = laid(M, K, 0, 1); }
void sum_split_c(question *q) { sum(q), q->l[C] = laid(M, N, 0, 1); }
void sum_rows(question *q) { sum(q), q->op = IRIS_GEMM_REDUCE_SCATTER, q->l[C] = laid(M, N, 0, 1); }
void sum_rows_of_whole_c(question *q) { sum_rows(q), q->l[C] = laid(M, N, -1, 0); }
void sum_rows_by_16(question *q) { sum_rows(q), q->l[C] = laid(M, N, 0, 16); }
void sum_columns(question *q) { sum_rows(q), q->l[C] = laid(M, N, 1, 1); }
void norm_whole_rows(question *q) { sum_rows(q), q->op = IRIS_GEMM_ALL_REDUCE_RMSNORM; }
void norm_own_rows(question *q) { sum(q), q->op = IRIS_GEMM_ALL_REDUCE_RMSNORM, q->args.sequence_parallel = 1; }
void sum_own_rows(question *q) { sum(q), q->args.sequence_parallel = 1; }
void gather(question *q)
{
    q->op = IRIS_GEMM_ALL_GATHER;
    q->l[A] = laid(M, K, 0, 1), q->l[B] = laid(K, N, 1, 16), q->l[C] = laid(M, N, 1, 16);
}
void gather_whole_a(question *q) { gather(q), q->l[A] = laid(M, K, -1, 0); }
void gather_a_by_16(question *q) { gather(q), q->l[A] = laid(M, K, 0, 16); }
void gather_whole_b(question *q) { gather(q), q->l[B] = laid(K, N, -1, 0); }
void gather_whole_c(question *q) { gather(q), q->l[C] = laid(M, N, -1, 0); }
void gather_c_by_32(question *q) { gather(q), q->l[C] = laid(M, N, 1, 32); }
void gather_c_by_1(question *q) { gather(q), q->l[C] = laid(M, N, 1, 1); }
void gated(question *q) { q->args.gated = 1; }
void partial(question *q) { sum(q), q->op = IRIS_GEMM_LOCAL, q->l[C].partial = 1; }
void partial_a(question *q) { partial(q), q->l[A] = laid(M, K, -1, 0), q->l[A].partial = 1; }
void partial_b(question *q) { partial(q), q->l[B] = laid(K, N, -1, 0), q->l[B].partial = 1; }
void partial_sum(question *q) { partial(q), q->op = IRIS_GEMM_ALL_REDUCE; }
void partial_whole_a(question *q) { partial(q), q->l[A] = laid(M, K, -1, 0); }
void partial_b_by_3(question *q) { partial(q), q->l[B] = laid(K, N, 0, 3); }
void partial_biased(question *q) { partial(q), q->args.bias = q; }
void partial_active(question *q) { partial(q), q->args.activation = IRIS_ACTIVATION_GELU; }
void partial_beside(question *q) { partial(q), q->args.residual = q; }

const struct row {
    void (*spoil)(question *);
    int ranks;            /* at least */
    const char *sentence; /* a part of it; @ stands for the number of ranks */
} rows[] = {
    {flat_c, 1, "c has 1 dimensions; a matrix has 2"},
    {deep_b, 1, "b has 3 dimensions; a matrix has 2"},
    {other_b, 1, "a is of bf16, b of f32; they must be of one type"},
    {no_kernel, 1, "there is no GEMM kernel for bf16 with C in i32"},
    {other_m, 1, "m is 33 in a, 34 in c; a is m x k, b k x n, c m x n"},
    {other_n, 1, "n is 50 in b, 51 in c; a is m x k, b k x n, c m x n"},
    {other_k, 1, "k is 20 in a, 21 in b; a is m x k, b k x n, c m x n"},
    {turned, 1, "n is 20 in b, 50 in c; a is m x k, b n x k, c m x n"},
    {by_column_a, 1, "a has strides [1, 33]; elements of a row must follow each other, so dimension 1 has stride 1"},
    {by_column_b, 1, "b has strides [2, 40]; elements of a row"},
    {by_column_c, 1, "c has strides [101, 2]; elements of a row"},
    {no_op, 1, "operation 6 does not exist"},
    {no_rows, 1, "m, n, k are 0, 50, 20"},
    {with_pattern, 1, "pattern 9 does not exist"},
    {gated, 1, "gated is for iris_gemm_prepare: c is m x n here"},
    {on_one, 2, "c is on 1 of the @ ranks, from rank 0 on; the matrices of a GEMM are on all of them"},
    {on_last, 2, "a is on 1 of the @ ranks, from rank 1 on; the matrices of a GEMM are on all of them"},
    {local_by_k, 2,
     "local takes a as [33, 20], but it is [33, 20 in @ by 16]: of dimension 1 rank 0 has 16 indices from 0 on, and "
     "needs 20 from 0 on"},
    {local_b_by_k, 2, "local takes b as [20, 50], but it is [20 in @ by 3, 50]: of dimension 0 rank 0 has "},
    {local_c_by_n, 2, "local takes c as [33, 50], but it is [33, 50 in @ by 1]: of dimension 1 rank 0 has "},
    {local_b_by_n, 2, "local takes c as [33, 50 in @ by 16], but it is [33, 50]: of dimension 1 rank 0 has 50 "},
    {local_by_m, 2, "local takes c as [33 in @ by 1, 50], but it is [33 in @ by 16, 50]: of dimension 0 rank 0 has "},
    {local_by_both, 2,
     "local takes m of a or n of b split over ranks, not both, since no c has the blocks of these products; a is "
     "[33 in @ by 1, 20], b [20, 50 in @ by 16]"},
    {scatter_whole_b, 2, "all_scatter takes b as [20, 50 in @ by 16], but it is [20, 50]: of dimension 1 rank 0 has "},
    {scatter_b_by_1, 2, "all_scatter takes b as [20, 50 in @ by 16], but it is [20, 50 in @ by 1]: of dimension 1 "},
    {scatter_b_by_k, 2, "all_scatter takes b as [20, 50 in @ by 16], but it is [20 in @ by 1, 50]: of dimension 1 "},
    {scatter_turned, 2, "all_scatter takes b as [50 in @ by 16, 20], but it is [50, 20 in @ by 16]: of dimension 0 "},
    {scatter_a_by_m, 2, "all_scatter takes a as [33, 20], but it is [33 in @ by 1, 20]: of dimension 0 rank 0 has "},
    {scatter_split_c, 2, "all_scatter takes c as [33, 50], but it is [33, 50 in @ by 16]: of dimension 1 rank 0 has "},
    {sum_whole_a, 2, "all_reduce takes a as [33, 20 in @ by 16], but it is [33, 20]: of dimension 1 rank 0 has 20 "},
    {sum_whole_b, 2, "all_reduce takes b as [20 in @ by 1, 50], but it is [20, 50]: of dimension 0 rank 0 has 20 "},
    {sum_b_by_3, 2, "all_reduce takes b as [20 in @ by 1, 50], but it is [20 in @ by 3, 50]: of dimension 0 rank 0 "},
    {sum_a_by_m, 2, "all_reduce takes a as [33, 20 in @ by 16], but it is [33 in @ by 1, 20]: of dimension 0 rank 0 "},
    {sum_split_c, 2, "all_reduce takes c as [33, 50], but it is [33 in @ by 1, 50]: of dimension 0 rank 0 has "},
    {sum_rows_of_whole_c, 2, "reduce_scatter takes c as [33 in @ by 1, 50], but it is [33, 50]: of dimension 0 rank "},
    {sum_rows_by_16, 2, "reduce_scatter takes c as [33 in @ by 1, 50], but it is [33 in @ by 16, 50]: of dimension 0 "},
    {sum_columns, 2, "reduce_scatter takes c as [33 in @ by 1, 50], but it is [33, 50 in @ by 1]: of dimension 0 "},
    {norm_whole_rows, 2, "all_reduce_rmsnorm takes c as [33, 50], but it is [33 in @ by 1, 50]: of dimension 0 rank "},
    {norm_own_rows, 2, "all_reduce_rmsnorm with sequence_parallel takes c as [33 in @ by 1, 50], but it is [33, 50]: "},
    {sum_own_rows, 1, "sequence_parallel is for all_reduce_rmsnorm; all_reduce has no norm"},
    {gather_whole_a, 2, "all_gather takes a as [33 in @ by 1, 20], but it is [33, 20]: of dimension 0 rank 0 has 33 "},
    {gather_a_by_16, 2, "all_gather takes a as [33 in @ by 1, 20], but it is [33 in @ by 16, 20]: of dimension 0 "},
    {gather_whole_b, 2, "all_gather takes b as [20, 50 in @ by 16], but it is [20, 50]: of dimension 1 rank 0 has 50 "},
    {gather_whole_c, 2, "all_gather takes c as [33, 50 in @ by 16], but it is [33, 50]: of dimension 1 rank 0 has 50 "},
    {gather_c_by_32, 3, "all_gather takes c as [33, 50 in @ by 16], but it is [33, 50 in @ by 32]: of dimension 1 "},
    {partial_a, 2, "a is of @ partial sums, which are no factor of a product; iris_tensor_reshard adds them up"},
    {partial_b, 2, "b is of @ partial sums, which are no factor of a product"},
    {partial_sum, 2, "all_reduce does not leave partial sums, but c is of @; local does, where K is split"},
    {partial_whole_a, 2, "local with a partial c takes a as [33, 20 in @ by 16], but it is [33, 20]: of dimension 1 "},
    {partial_b_by_3, 2, "with a partial c takes b as [20 in @ by 1, 50], but it is [20 in @ by 3, 50]: of dimension "},
    {partial_biased, 2, "c is of partial sums, and a bias is for the whole sum; leave it out here"},
    {partial_active, 2, "c is of partial sums, and an activation is for the whole sum"},
    {partial_beside, 2, "c is of partial sums, and a residual is for the whole sum"},
    {gather_c_by_1, 2, "all_gather takes c as [33, 50 in @ by 16], but it is [33, 50 in @ by 1]: of dimension 1 "},
};

question sound()
{
    question q;
    std::memset(&q, 0, sizeof q);
    q.op = IRIS_GEMM_LOCAL;
    q.l[A] = laid(M, K, -1, 0), q.l[B] = laid(K, N, -1, 0), q.l[C] = laid(M, N, -1, 0);
    return q;
}

bool wrap(irist_rank *r, const question &q, char *const *memory, iris_tensor *t)
{
    bool all = true;
    for (int i = 0; i < 3; i++)
        all = irist_ok(r, iris_tensor_wrap(r->world, &t[i], &q.l[i], memory[i], ROOM)) && all;
    return all;
}

/* The last call left this sentence, and on every rank the same one. */
void says(irist_rank *r, iris_status status, const char *part, bool alike)
{
    std::string want(part);
    for (size_t at; (at = want.find('@')) != std::string::npos;)
        want.replace(at, 1, std::to_string(r->ranks));
    struct sentence {
        char text[640];
    } mine = {};
    const char *said = iris_error_string(r->world), *bare = std::strstr(said, "iris_gemm");
    std::strncpy(mine.text, bare ? bare : said, sizeof mine.text - 1);
    irist_check(r, status != IRIS_OK && std::strstr(mine.text, want.c_str()), "%s, and '%s' lacks '%s'",
                iris_status_name(status), mine.text, want.c_str());
    std::vector<sentence> all((size_t)r->ranks);
    irist_ok(r, iris_allgather(r->world, &mine, all.data(), sizeof mine));
    for (const sentence &other : all)
        irist_check(r, !alike || std::strcmp(other.text, mine.text) == 0, "'%s', but '%s'", mine.text, other.text);
}

void refuse_rows(irist_rank *r, char *const *memory)
{
    for (const row &row : rows) {
        question q = sound();
        iris_tensor t[3];
        iris_gemm_plan plan;
        row.spoil(&q);
        if (r->ranks < row.ranks || !wrap(r, q, memory, t))
            continue;
        says(r, iris_gemm_prepare_tensors(r->world, &plan, q.op, &t[A], &t[B], &t[C], &q.args), row.sentence, true);
        irist_ok(r, iris_gemm_release(r->world, &plan));
    }
}

/* What the rows have not: addresses, and what one rank alone does wrong. */
void refuse_calls(irist_rank *r, char *const *memory)
{
    iris_world *w = r->world;
    iris_tensor t[3], none, elsewhere;
    iris_gemm_plan plan;
    iris_gemm_op op;
    iris_gemm_args args = {};
    question q = sound();
    sum(&q);
    if (!wrap(r, q, memory, t))
        return;
    std::memset(&none, 0, sizeof none);
    elsewhere = t[C], elsewhere.data = &none;
    const auto made = [&](const iris_tensor *a, const iris_tensor *b, const iris_tensor *c) {
        return iris_gemm_prepare_tensors(w, &plan, q.op, a, b, c, &args);
    };
    says(r, made(nullptr, &t[B], &t[C]), "iris_gemm_prepare_tensors, a: the tensor is null", true);
    says(r, made(&t[A], &none, &t[C]), "iris_gemm_prepare_tensors, b: the tensor is null, or not from", true);
    irist_check(r,
                made(&t[A], &t[B], &elsewhere) == IRIS_ERR_ARGUMENT &&
                    std::strstr(iris_error_string(w), "_tensors, c: the tensor's memory"),
                "%s", iris_error_string(w));
    says(r, iris_gemm_prepare_tensors(w, nullptr, q.op, &t[A], &t[B], &t[C], &args), "plan and args must not", true);
    irist_check(r, iris_gemm_prepare_tensors(nullptr, &plan, q.op, &t[A], &t[B], &t[C], &args) == IRIS_ERR_ARGUMENT,
                "a plan without a world");
    says(r, iris_gemm_tensor_args(w, q.op, &t[A], &t[B], &t[C], nullptr), "world and args must not be null", true);
    says(r, iris_gemm_tensor_args(w, q.op, &t[A], &t[A], &t[C], &args), "iris_gemm_tensor_args: n is", true);
    says(r, iris_gemm_tensor_op(w, &t[A], &t[B], &t[C], 0, nullptr), "world and op must not be null", true);
    says(r, iris_gemm_tensor_op(w, &t[A], &t[B], nullptr, 0, &op), "iris_gemm_tensor_op, c: the tensor is null", true);
    if (r->ranks > 1) {
        says(r, made(&t[A], r->rank == 1 ? nullptr : &t[B], &t[C]),
             r->rank == 1 ? "_tensors, b: the tensor is null" : "rank 1 refused its arguments", false);
        says(r, iris_gemm_prepare_tensors(w, &plan, r->rank == 1 ? (iris_gemm_op)77 : q.op, &t[A], &t[B], &t[C], &args),
             r->rank == 1 ? "operation 77 does not exist" : "rank 1 refused its arguments", false);
        question other = sound();
        sum(&other);
        if (r->rank == 1)
            other.l[A].size[0] = other.l[C].size[0] = M - 1;
        if (wrap(r, other, memory, t))
            says(r, made(&t[A], &t[B], &t[C]), "m is 32 on rank 1 but 33 on rank 0", true);
        question nobody = sound();
        nobody.l[A] = laid(M, K, 0, 1);
        if (wrap(r, nobody, memory, t))
            says(r, iris_gemm_tensor_op(w, &t[A], &t[B], &t[C], 0, &op),
                 "no operation takes a as [33 in @ by 1, 20], b as [20, 50] and c as [33, 50]; <iris/gemm/", true);
    }
    if (r->ranks == 4) { /* two copies of a K in two parts: every product would be added twice */
        question twice = sound();
        sum(&twice);
        twice.l[A].parts[1] = twice.l[B].parts[0] = 2;
        if (wrap(r, twice, memory, t))
            says(r, made(&t[A], &t[B], &t[C]),
                 "all_reduce takes a as [33, 20 in 4 by 1], but it is [33, 20 in 2 by 1]: of dimension 1 rank 0 has 10 "
                 "indices from 0 on, and needs 5",
                 true);
    }
}

/* What counts is which indices a rank has. Without args it is a plain product. */
void take(irist_rank *r, char *const *memory)
{
    const int64_t k = 16 * r->ranks;
    question q = sound();
    q.l[A] = laid(M, k, 1, 0), q.l[B] = laid(k, N, 0, 1);
    iris_tensor t[3];
    iris_gemm_plan plan;
    if (wrap(r, q, memory, t) &&
        irist_ok(r, iris_gemm_prepare_tensors(r->world, &plan, IRIS_GEMM_ALL_REDUCE, &t[A], &t[B], &t[C], nullptr)))
        irist_ok(r, iris_gemm_release(r->world, &plan));
    iris_gemm_args g = {};
    irist_ok(r, iris_gemm_tensor_args(r->world, IRIS_GEMM_ALL_REDUCE, &t[A], &t[B], &t[C], &g));
    irist_check(r,
                g.m == M && g.n == N && g.k == 16 && g.lda == 16 && g.ldb == N && g.ldc == N && g.a == memory[A] &&
                    g.b == memory[B] && g.c == memory[C] && g.c_dtype == T,
                "m, n, k are %lld, %lld, %lld", (long long)g.m, (long long)g.n, (long long)g.k);
    irist_check(r, iris_gemm_workspace_bytes(r->world, IRIS_GEMM_ALL_REDUCE, T, &g) >= M * N * 2, "%s",
                iris_error_string(r->world));
}

/* A C of own rows, as of reduce_scatter, for all_reduce_rmsnorm with sequence_parallel. */
void take_own_rows(irist_rank *r, char *const *memory)
{
    question q = sound();
    iris_tensor t[3];
    sum_rows(&q), q.args.sequence_parallel = 1;
    if (!wrap(r, q, memory, t) || !irist_ok(r, iris_gemm_tensor_args(r->world, IRIS_GEMM_ALL_REDUCE_RMSNORM, &t[A],
                                                                     &t[B], &t[C], &q.args)))
        return;
    irist_check(r, q.args.m == M && q.args.n == N && q.args.ldc == N && q.args.c == memory[C], "m is %lld, ldc %lld",
                (long long)q.args.m, (long long)q.args.ldc);
}

/* The type of C follows from its tensor, too. */
void take_types(irist_rank *r, char *const *memory)
{
    question q = sound();
    iris_tensor t[3];
    iris_gemm_plan plan;
    q.l[A].dtype = q.l[B].dtype = IRIS_I8, q.l[C].dtype = IRIS_I32;
    q.args.c_dtype = IRIS_I8;
    if (!wrap(r, q, memory, t) ||
        !irist_ok(r, iris_gemm_prepare_tensors(r->world, &plan, q.op, &t[A], &t[B], &t[C], &q.args)))
        return;
    irist_check(r, plan.operands.dtype == IRIS_I8 && plan.operands.c_dtype == IRIS_I32, "a plan of %s with C in %s",
                iris_dtype_name((iris_dtype)plan.operands.dtype), iris_dtype_name((iris_dtype)plan.operands.c_dtype));
    irist_ok(r, iris_gemm_release(r->world, &plan));
}

/* One row whose stride is shorter than it is long; columns with gaps; a rank without columns. */
void take_edges(irist_rank *r, char *const *memory)
{
    question q = sound();
    iris_tensor t[3];
    iris_gemm_plan plan;
    iris_gemm_args g = {};
    q.l[A] = laid(1, K, -1, 0), q.l[B] = laid(K, 16, 1, 16), q.l[C] = laid(1, 16, 1, 16);
    q.l[A].stride[0] = q.l[A].stride[1] = 1;
    q.l[B].stride[0] = 19, q.l[B].stride[1] = 1;
    if (!wrap(r, q, memory, t) || !irist_ok(r, iris_gemm_tensor_args(r->world, q.op, &t[A], &t[B], &t[C], &g)))
        return;
    irist_check(r, g.m == 1 && g.n == (r->rank == 0 ? 16 : 1) && g.band == (r->rank > 0) && g.lda == K && g.ldb == 19,
                "n is %lld, band %d, lda %lld, ldb %lld", (long long)g.n, g.band, (long long)g.lda, (long long)g.ldb);
    if (irist_ok(r, iris_gemm_prepare_tensors(r->world, &plan, q.op, &t[A], &t[B], &t[C], &g)))
        irist_ok(r, iris_gemm_release(r->world, &plan));
}

void work(irist_rank *r)
{
    char *memory[MATRICES];
    for (char *&room : memory)
        if (!irist_check(r, (room = (char *)iris_malloc(r->world, ROOM)) != nullptr, "%s", iris_error_string(r->world)))
            return;
    refuse_rows(r, memory);
    refuse_calls(r, memory);
    take(r, memory);
    take_own_rows(r, memory);
    take_types(r, memory);
    take_edges(r, memory);
    irist_meet(r);
    for (int i = MATRICES - 1; i >= 0; i--)
        irist_ok(r, iris_free(r->world, memory[i]));
}

} // namespace

TEST_CASE("tensors that are no GEMM's are refused in the same sentence on every rank", "[gemm]")
{
    irist_spmd(work, nullptr);
}
