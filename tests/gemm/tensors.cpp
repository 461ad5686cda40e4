/* SPDX-License-Identifier: MIT */
/*
 * tensors.cpp: GEMMs of partitioned tensors (<iris/gemm/tensors.h>): every operation gives the product, and the bits of
 * the form with pointers. One type is enough: what follows from the tensors does not depend on it, and
 * tensor_layouts.cpp has a C of another type than A and B.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_REDUCE_BF16
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_BF16
#endif
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_all_reduce.h>
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <string>

#include "element.h"
#include "tensor/cases.h"

namespace {

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);

enum { A, B, C, C_BY_POINTER, MATRICES, OPS = 5, ROOM = 1 << 16 };

const iris_dtype T = IRIS_BF16;
const launcher launchers[OPS] = {iris_gemm_local_bf16, iris_gemm_all_scatter_bf16, iris_gemm_reduce_scatter_bf16,
                                 iris_gemm_all_reduce_bf16, iris_gemm_all_gather_bf16};
const char *const op_names[OPS] = {"local", "all_scatter", "reduce_scatter", "all_reduce", "all_gather"};

/* Of a product of which nobody says how: what local has split. SUMS: K, and C is of partial sums. */
enum { NOTHING, COLUMNS, ROWS, WAYS, SUMS = WAYS };

struct problem {
    iris_gemm_op op;
    int64_t m, n, k, unit; /* unit: of what the caller splits as it likes */
    int way, b_transposed;
    int64_t pad; /* elements behind each row */
    int a_transposed; /* not of all_gather */
};

/* How one matrix is laid out: -1, or which of its dimensions is split. */
iris_tensor_layout matrix(const irist_rank *r, int64_t rows, int64_t columns, int split, int64_t unit, int64_t pad)
{
    const int64_t size[] = {rows, columns};
    iris_tensor_layout l = split < 0 ? iris_tensor_replicated(T, 2, size) : iris_tensor_split(T, 2, size, split, unit);
    if (pad) {
        const int64_t widest = split == 1 ? irist_cut(columns, r->ranks, unit).count[0] : columns;
        l.stride[0] = widest + pad, l.stride[1] = 1;
    }
    return l;
}

/* The layouts that the operation takes, one by one. */
void layouts(const irist_rank *r, const problem &p, iris_tensor_layout *l)
{
    int m_of_a = 0, m_of_c = 0, n_of_b = 0, n_of_c = 0, k = 0; /* units; 0: not split */
    switch (p.op) {
    case IRIS_GEMM_ALL_SCATTER: n_of_b = 16; break;
    case IRIS_GEMM_REDUCE_SCATTER: k = (int)p.unit, m_of_c = 1; break;
    case IRIS_GEMM_ALL_REDUCE: k = (int)p.unit; break;
    case IRIS_GEMM_ALL_GATHER: m_of_a = 1, n_of_b = n_of_c = 16; break;
    default:
        if (p.way == COLUMNS)
            n_of_b = n_of_c = (int)p.unit;
        if (p.way == ROWS)
            m_of_a = m_of_c = (int)p.unit;
        if (p.way == SUMS)
            k = (int)p.unit;
    }
    const int turned = p.b_transposed, split_b = k ? turned : n_of_b ? 1 - turned : -1;
    const int columns = p.a_transposed, split_a = k ? 1 - columns : m_of_a ? columns : -1;
    l[A] = matrix(r, columns ? p.k : p.m, columns ? p.m : p.k, split_a, k ? k : m_of_a, p.pad);
    l[B] = matrix(r, turned ? p.n : p.k, turned ? p.k : p.n, split_b, k ? k : n_of_b, 2 * p.pad);
    l[C] = matrix(r, p.m, p.n, n_of_c ? 1 : m_of_c ? 0 : -1, n_of_c ? n_of_c : m_of_c, 3 * p.pad);
    l[C].partial = p.way == SUMS;
}

/* What follows the product. */
iris_gemm_args epilogue(const problem &p)
{
    iris_gemm_args g = {};
    g.a_transposed = p.a_transposed, g.b_transposed = p.b_transposed, g.alpha = 2;
    g.activation = p.way == SUMS ? IRIS_ACTIVATION_NONE : IRIS_ACTIVATION_RELU;
    return g;
}

/* The same by pointers, as docs/gemm-operations.md has it. */
iris_gemm_args by_pointers(const irist_rank *r, const problem &p, char *const *memory)
{
    const uint32_t world = (uint32_t)r->ranks, rank = (uint32_t)r->rank;
    const auto widest = [&](int64_t n, int64_t unit) { return irist_cut(n, r->ranks, unit).count[0]; };
    const auto own = [&](int64_t n, int64_t unit) { return irist_cut(n, r->ranks, unit).count[rank]; };
    const bool sums = p.op == IRIS_GEMM_REDUCE_SCATTER || p.op == IRIS_GEMM_ALL_REDUCE || p.way == SUMS;
    const bool local = p.op == IRIS_GEMM_LOCAL, gathers = p.op == IRIS_GEMM_ALL_GATHER;
    iris_gemm_args g = epilogue(p);
    g.m = local && p.way == ROWS ? own(p.m, p.unit) : p.m;
    g.n = local && p.way == COLUMNS ? own(p.n, p.unit) : p.n;
    g.k = sums ? own(p.k, p.unit) : p.k;
    if (p.way == SUMS && g.k == 0)
        g.k = 1, g.zero_alpha = 2;
    g.a = memory[A], g.b = memory[B], g.c = memory[C_BY_POINTER];
    const int64_t wide_k = sums ? widest(p.k, p.unit) : p.k, band = iris_gemm_band((uint32_t)p.n, world, 0).count;
    const int64_t wide_b = p.op == IRIS_GEMM_ALL_SCATTER || gathers ? band
                           : local && p.way == COLUMNS              ? widest(p.n, p.unit)
                                                                    : p.n;
    const int64_t wide_m = local && p.way == ROWS ? widest(p.m, p.unit) : p.m;
    g.lda = (p.a_transposed ? wide_m : wide_k) + p.pad;
    g.ldb = (p.b_transposed ? wide_k : wide_b) + 2 * p.pad;
    g.ldc = (gathers || local ? wide_b : p.n) + 3 * p.pad;
    g.c_dtype = T;
    return g;
}

/* Inputs are -1, 0 and 1: every sum is exact in every type. */
double input(uint64_t seed, int which, int64_t row, int64_t column)
{
    return (double)irist_pick(seed, 50 + (uint64_t)which, (uint64_t)row * 1000 + (uint64_t)column, 3) - 1;
}

irist_bytes whole_of(const irist_rank *r, const problem &p, int which)
{
    const bool turned = which == A ? p.a_transposed : p.b_transposed;
    const int64_t rows = which == A ? p.m : p.k, columns = which == A ? p.k : p.n;
    const size_t element = iris_dtype_bytes(T);
    irist_bytes whole((size_t)(rows * columns) * element);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            element_set(T, whole.data() + (size_t)(turned ? j * rows + i : i * columns + j) * element,
                        input(r->seed, which, i, j));
    return whole;
}

std::string text_of(const problem &p)
{
    return std::string(op_names[p.op]) + " of " + std::to_string(p.m) + " x " + std::to_string(p.n) + " x " +
           std::to_string(p.k) + " by " + std::to_string(p.unit) + ", way " + std::to_string(p.way) +
           (p.a_transposed ? ", A transposed" : "") + (p.b_transposed ? ", B transposed" : "") + ", pad " +
           std::to_string(p.pad);
}

/* relu(2 * A * B), whole; of partial sums 2 * A * B. */
void compare_product(irist_rank *r, const problem &p, const iris_tensor &c)
{
    const size_t element = iris_dtype_bytes(T);
    irist_bytes got((size_t)(p.m * p.n) * element);
    if (!irist_ok(r, iris_tensor_download(r->world, &c, got.data())))
        return;
    for (int64_t i = 0; i < p.m; i++)
        for (int64_t j = 0; j < p.n; j++) {
            double sum = 0;
            for (int64_t k = 0; k < p.k; k++)
                sum += 2 * input(r->seed, A, i, k) * input(r->seed, B, k, j);
            const double x = element_get(T, got.data() + (size_t)(i * p.n + j) * element);
            const double want = sum > 0 || p.way == SUMS ? sum : 0;
            if (!irist_check(r, x == want, "%s: row %lld, column %lld is %g, not %g", text_of(p).c_str(), (long long)i,
                             (long long)j, x, want))
                return;
        }
}

/* What follows from the tensors is what a caller would say; nothing else is touched. */
void compare_args(irist_rank *r, const problem &p, const iris_tensor *t, const iris_gemm_args &hand)
{
    iris_gemm_args g = hand;
    g.m = g.n = g.k = g.lda = g.ldb = g.ldc = -7, g.a = g.b = nullptr, g.c = nullptr, g.c_dtype = IRIS_U8, g.band = 9;
    g.zero_alpha = 2; /* as tensors whose part of K is empty leave it */
    if (!irist_ok(r, iris_gemm_tensor_args(r->world, p.op, &t[A], &t[B], &t[C], &g)))
        return;
    iris_gemm_args want = hand;
    want.c = t[C].data;
    if (hand.m == 0 || hand.n == 0)
        want.m = want.n = want.band = 1;
    irist_check(r, std::memcmp(&g, &want, sizeof g) == 0,
                "%s: m, n, k are %lld, %lld, %lld, lda, ldb, ldc %lld, %lld, %lld, not %lld, %lld, %lld, %lld, %lld, "
                "%lld; or something else is not as asked for",
                text_of(p).c_str(), (long long)g.m, (long long)g.n, (long long)g.k, (long long)g.lda, (long long)g.ldb,
                (long long)g.ldc, (long long)want.m, (long long)want.n, (long long)want.k, (long long)want.lda,
                (long long)want.ldb, (long long)want.ldc);
}

void run_plan(irist_rank *r, const problem &p, iris_gemm_plan *plan)
{
    if (p.way != ROWS) /* also where this rank has no columns */
        irist_ok(r, iris_gemm_set_rows(r->world, plan, p.m));
    irist_ok(r, launchers[p.op](r->world, plan, nullptr));
    irist_check(r, iris_synchronize(r->world) == IRIS_OK, "%s: %s", text_of(p).c_str(), iris_error_string(r->world));
    irist_ok(r, iris_gemm_release(r->world, plan));
}

void one(irist_rank *r, char *const *memory, const problem &p)
{
    iris_tensor_layout l[3];
    iris_tensor t[3];
    iris_gemm_plan plan;
    layouts(r, p, l);
    for (int i = 0; i < 3; i++)
        if (!irist_check(r, iris_tensor_wrap(r->world, &t[i], &l[i], memory[i], ROOM) == IRIS_OK, "%s: %s",
                         text_of(p).c_str(), iris_error_string(r->world)))
            return;
    for (int i : {A, B})
        irist_ok(r, iris_tensor_upload(r->world, &t[i], whole_of(r, p, i).data()));
    const irist_bytes poison = irist_poisoned((size_t)t[C].room * t[C].element);
    irist_upload(r, memory[C], poison), irist_upload(r, memory[C_BY_POINTER], poison);
    const iris_gemm_args hand = by_pointers(r, p, memory);
    compare_args(r, p, t, hand);
    const iris_gemm_args rest = epilogue(p);
    irist_meet(r);
    if (irist_ok(r, iris_gemm_prepare_tensors(r->world, &plan, p.op, &t[A], &t[B], &t[C], &rest)))
        run_plan(r, p, &plan);
    if (hand.m > 0 && hand.n > 0 && /* by pointers a rank without a part of C leaves a GEMM alone out */
        irist_ok(r, iris_gemm_prepare(r->world, &plan, p.op, T, &hand)))
        run_plan(r, p, &plan);
    const irist_bytes got = irist_download(r, memory[C], poison.size());
    irist_check(r, got == irist_download(r, memory[C_BY_POINTER], poison.size()), "%s: other bits than by pointers",
                text_of(p).c_str());
    compare_product(r, p, t[C]);
    iris_gemm_op found = r->ranks == 1 ? IRIS_GEMM_LOCAL : p.op;
    if (!p.a_transposed)
        irist_ok(r, iris_gemm_tensor_op(r->world, &t[A], &t[B], &t[C], p.b_transposed, &found));
    irist_check(r, found == (r->ranks == 1 ? IRIS_GEMM_LOCAL : p.op), "%s: operation %d has these layouts",
                text_of(p).c_str(), (int)found);
    irist_meet(r);
}

void products(irist_rank *r)
{
    static const int64_t shapes[][3] = {{1, 7, 5}, {13, 17, 3}, {37, 72, 41}, {5, 130, 64}};
    static const int64_t units[] = {1, 16, 5};
    char *memory[MATRICES];
    for (char *&room : memory)
        if (!irist_check(r, (room = (char *)iris_malloc(r->world, ROOM)) != nullptr, "%s", iris_error_string(r->world)))
            return;
    for (int s = 0; s < 4; s++)
        for (int op = 0; op <= OPS; op++) /* the last one is local once more, of partial sums */
            for (int v = 0; v < (int)irist_laps(1, 6) && !r->failures; v++) {
                const int i = v + s + op; /* six laps have each unit with B as it is and transposed */
                one(r, memory,
                    {op < OPS ? (iris_gemm_op)op : IRIS_GEMM_LOCAL, shapes[s][0], shapes[s][1], shapes[s][2],
                     units[i % 3], op < OPS ? (i + i / 3) % WAYS : SUMS, i / 3 % 2, i % 4 == 0 ? 3 : 0,
                     op != IRIS_GEMM_ALL_GATHER && (v + s) % 2});
            }
    for (int i = MATRICES - 1; i >= 0; i--)
        irist_ok(r, iris_free(r->world, memory[i]));
}

} // namespace

TEST_CASE("a GEMM of tensors is that of their pointers, and the product", "[gemm]") { irist_spmd(products, nullptr); }
