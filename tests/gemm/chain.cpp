/* SPDX-License-Identifier: MIT */
/*
 * chain.cpp: layers of a sequence-parallel model one behind the other: all_gather + GEMM, GEMM + reduce_scatter, and
 * again, each reading what the one before has written, without a barrier and without work of the host between them; on
 * a GPU as one graph, which is replayed.
 *
 * A layer moves the columns of x to other places: hidden columns hold each of them twice, on ranks that the seed
 * chooses, and the second product takes the one from twice the other. So every value stays an exact integer however
 * many layers there are, a sum that misses a rank's part is another value, and so is what is read too early or is left
 * of layers before.
 *
 * A chain ends where the world stops. The waves of a workgroup may see that at different times: those that have seen it
 * put no more rows of A, and meet the others all the same.
 */
#if !defined(IRIST_KERNELS_ELSEWHERE) /* types.h */
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_GATHER_F32
#define IRIS_INSTANTIATE_GEMM_REDUCE_SCATTER_F32
#endif
#include <iris/gemm/roles.h>
#include <iris/gen/launch/gemm_all_gather.h>
#include <iris/gen/launch/gemm_reduce_scatter.h>

#include <algorithm>
#include <cstring>

#include "harness.h"
#if !defined(IRIS_TARGET_HOST)
#include "gpu/capture.h"
#endif

namespace {

typedef iris_status (*launcher)(iris_world *, const iris_gemm_plan *, iris_stream);
enum { PATTERNS = 6 };
const launcher gathers[] = {iris_gemm_all_gather_f32,
                            iris_gemm_all_gather_bulk_synchronous_f32,
                            iris_gemm_all_gather_producer_consumer_f32,
                            iris_gemm_all_gather_fused_sequential_f32,
                            iris_gemm_all_gather_wg_specialized_f32,
                            iris_gemm_all_gather_wave_specialized_f32};
const launcher scatters[] = {iris_gemm_reduce_scatter_f32,
                             iris_gemm_reduce_scatter_bulk_synchronous_f32,
                             iris_gemm_reduce_scatter_producer_consumer_f32,
                             iris_gemm_reduce_scatter_fused_sequential_f32,
                             iris_gemm_reduce_scatter_wg_specialized_f32,
                             iris_gemm_reduce_scatter_wave_specialized_f32};

/* Tokens, columns of x, columns of the hidden layer: at least two for each of x. */
struct sizes {
    uint32_t m, k, n;
};
const sizes all_sizes[] = {{13, 24, 100}, {5, 40, 80}, {130, 20, 52}};

struct chain {
    irist_rank *t;
    sizes s;
    iris_gemm_rows rows;                      /* own, of x */
    iris_gemm_columns columns;                /* own, of the hidden layer */
    std::vector<uint32_t> moved, plus, minus; /* by column of x: where to, and the two hidden ones */
    float *x[2], *hidden, *w1, *w2;
    void *workspace;
    iris_gemm_plan gather[2], scatter[2]; /* by the x that is read */
};

/* 0 to n - 1 in an order of the seed's. */
std::vector<uint32_t> shuffled(uint64_t seed, uint64_t stream, uint32_t n)
{
    std::vector<uint32_t> v(n);
    for (uint32_t i = 0; i < n; i++)
        v[i] = i;
    for (uint32_t i = n; i > 1; i--)
        std::swap(v[i - 1], v[irist_pick(seed, stream, i, i)]);
    return v;
}

float value(const chain *c, uint32_t row, uint32_t column)
{
    return (float)irist_pick(c->t->seed, 5, (uint64_t)row * c->s.k + column, 2001) - 1000;
}

void upload(chain *c, float *to, const std::vector<float> &from)
{
    std::vector<unsigned char> bytes(from.size() * sizeof(float));
    if (!from.empty())
        std::memcpy(bytes.data(), from.data(), bytes.size());
    irist_upload(c->t, to, bytes);
}

/* Own parts of the weights: of w1 columns, of w2 rows. */
void fill_weights(chain *c)
{
    const uint32_t own = c->columns.count, k = c->s.k;
    std::vector<float> w1((size_t)k * own), w2((size_t)own * k);
    for (uint32_t i = 0; i < k; i++)
        for (const uint32_t h : {c->plus[i], c->minus[i]})
            if (h - c->columns.first < own) {
                w1[(size_t)i * own + h - c->columns.first] = 1;
                w2[(size_t)(h - c->columns.first) * k + c->moved[i]] = h == c->plus[i] ? 2 : -1;
            }
    upload(c, c->w1, w1);
    upload(c, c->w2, w2);
}

iris_gemm_args gather_args(const chain *c, int from)
{
    iris_gemm_args g = {};
    g.m = c->s.m, g.n = c->s.n, g.k = c->s.k;
    g.a = c->x[from], g.b = c->w1, g.c = c->hidden;
    return g;
}

iris_gemm_args scatter_args(const chain *c, int from)
{
    iris_gemm_args g = {};
    g.m = c->s.m, g.n = c->s.k, g.k = c->columns.count;
    g.a = c->hidden, g.b = c->w2, g.c = c->x[1 - from];
    return g;
}

bool create(chain *c, irist_rank *t, const sizes &s)
{
    c->t = t, c->s = s;
    c->rows = iris_gemm_shard(s.m, (uint32_t)t->ranks, (uint32_t)t->rank);
    c->columns = iris_gemm_band(s.n, (uint32_t)t->ranks, (uint32_t)t->rank);
    const std::vector<uint32_t> hidden = shuffled(t->seed, 6, s.n);
    c->moved = shuffled(t->seed, 7, s.k);
    c->plus.assign(hidden.begin(), hidden.begin() + s.k);
    c->minus.assign(hidden.begin() + s.k, hidden.begin() + 2 * s.k);
    const size_t most = iris_gemm_shard(s.m, (uint32_t)t->ranks, 0).count;
    const size_t widest = iris_gemm_band(s.n, (uint32_t)t->ranks, 0).count;
    for (float *&x : c->x)
        x = (float *)iris_malloc(t->world, most * s.k * sizeof *x);
    c->hidden = (float *)iris_malloc(t->world, s.m * widest * sizeof(float));
    c->w1 = (float *)iris_malloc(t->world, s.k * widest * sizeof(float));
    c->w2 = (float *)iris_malloc(t->world, widest * s.k * sizeof(float));
    size_t bytes = 0;
    for (int from = 0; from < 2; from++) {
        const iris_gemm_args up = gather_args(c, from), down = scatter_args(c, from);
        bytes = std::max({bytes, iris_gemm_workspace_bytes(t->world, IRIS_GEMM_ALL_GATHER, IRIS_F32, &up),
                          iris_gemm_workspace_bytes(t->world, IRIS_GEMM_REDUCE_SCATTER, IRIS_F32, &down)});
    }
    c->workspace = iris_malloc(t->world, bytes);
    if (!irist_check(t, c->x[0] && c->x[1] && c->hidden && c->w1 && c->w2 && c->workspace, "%s",
                     iris_error_string(t->world)))
        return false;
    fill_weights(c);
    bool made = true;
    for (int from = 0; from < 2; from++) {
        iris_gemm_args up = gather_args(c, from), down = scatter_args(c, from);
        up.workspace = down.workspace = c->workspace, up.workspace_bytes = down.workspace_bytes = bytes;
        made = irist_ok(t, iris_gemm_prepare(t->world, &c->gather[from], IRIS_GEMM_ALL_GATHER, IRIS_F32, &up)) && made;
        made = irist_ok(t, iris_gemm_prepare(t->world, &c->scatter[from], IRIS_GEMM_REDUCE_SCATTER, IRIS_F32, &down)) &&
               made;
    }
    return made;
}

void release(chain *c)
{
    for (int from = 1; from >= 0; from--) {
        irist_ok(c->t, iris_gemm_release(c->t->world, &c->scatter[from]));
        irist_ok(c->t, iris_gemm_release(c->t->world, &c->gather[from]));
    }
    for (void *p : {c->workspace, (void *)c->w2, (void *)c->w1, (void *)c->hidden, (void *)c->x[1], (void *)c->x[0]})
        irist_ok(c->t, iris_free(c->t->world, p));
}

/* Submits two layers, from x[0] to x[1] and back, by patterns that `turn` chooses; returns how many. */
uint32_t two_layers(chain *c, uint32_t turn, iris_stream stream)
{
    for (int from = 0; from < 2; from++) {
        const uint32_t which = 2 * turn + (uint32_t)from;
        irist_ok(c->t, gathers[which % PATTERNS](c->t->world, &c->gather[from], stream));
        irist_ok(c->t, scatters[which / PATTERNS % PATTERNS](c->t->world, &c->scatter[from], stream));
    }
    return 2;
}

/* Own rows of x[0], all of whose columns so many layers have moved. */
void look(chain *c, uint32_t layers, const char *how)
{
    std::vector<uint32_t> at(c->s.k);
    for (uint32_t i = 0; i < c->s.k; i++) {
        at[i] = i;
        for (uint32_t layer = 0; layer < layers; layer++)
            at[i] = c->moved[at[i]];
    }
    const std::vector<unsigned char> bytes =
        irist_download(c->t, c->x[0], (size_t)c->rows.count * c->s.k * sizeof(float));
    for (uint32_t r = 0; r < c->rows.count; r++)
        for (uint32_t i = 0; i < c->s.k; i++) {
            float got;
            std::memcpy(&got, &bytes[((size_t)r * c->s.k + at[i]) * sizeof got], sizeof got);
            const float want = value(c, c->rows.first + r, i);
            if (!irist_check(c->t, got == want, "%ux%ux%u, %s, after %u layers: row %u, column %u is %g, not %g",
                             c->s.m, c->s.n, c->s.k, how, layers, c->rows.first + r, at[i], got, want))
                return;
        }
}

/* The first x; poison in the other one and in the hidden layer. */
void start(chain *c)
{
    std::vector<float> x((size_t)c->rows.count * c->s.k);
    for (uint32_t r = 0; r < c->rows.count; r++)
        for (uint32_t i = 0; i < c->s.k; i++)
            x[(size_t)r * c->s.k + i] = value(c, c->rows.first + r, i);
    upload(c, c->x[0], x);
    irist_upload(c->t, c->x[1], irist_poisoned(x.size() * sizeof(float)));
    irist_upload(c->t, c->hidden, irist_poisoned((size_t)c->s.m * c->columns.count * sizeof(float)));
    irist_meet(c->t); /* nobody's poison comes after another's call */
}

void layers_work(irist_rank *t)
{
    const uint32_t turns = irist_epochs(t, 40, 500); /* of two layers, of two calls each */
    for (const sizes &s : all_sizes) {
        chain c;
        if (create(&c, t, s)) {
            uint32_t layers = 0;
            start(&c);
            for (uint32_t turn = 0; turn < turns && !t->failures; turn++) {
                layers += two_layers(&c, turn, nullptr);
                if (turn % 16 == 3) /* some rank comes late */
                    irist_delay(t, turn);
            }
            irist_ok(t, iris_synchronize(t->world));
            look(&c, layers, "in a row");
#if !defined(IRIS_TARGET_HOST)
            iris_stream recorder;
            for (uint32_t turn = 1; turn < 3 * PATTERNS && irist_ok(t, iris_stream_create(t->world, &recorder));
                 turn += 7) { /* three choices of patterns */
                start(&c);
                irist_replay(t, iris_default_stream(t->world), recorder,
                             [&](iris_stream stream) { two_layers(&c, turn, stream); });
                look(&c, 2 * ((uint32_t)irist_replays() + 1), "in a graph");
                irist_ok(t, iris_stream_destroy(t->world, recorder));
            }
#endif
        }
        release(&c);
    }
}

struct stopping_args {
    iris_ctx ctx;
    iris_gemm_plan plan;
    uint64_t *ended; /* waves, one number for each workgroup */
};

/* Half of the waves have seen that the world has stopped. */
IRIS_KERNEL(stopping_kernel, stopping_args, a, 256)
{
    iris_wave_group group = iris_wave_group_all();
    group.stopped = iris_wave() % 2;
    irisi_gemm_gather_beside(&a->ctx, &a->plan, 1, &group, iris_workgroup(), iris_workgroups());
    if (iris_lane() == 0)
        irisi_atomic_add_u64(a->ended + iris_workgroup(), 1, IRIS_RELAXED, IRIS_SCOPE_AGENT);
}

/* Rows of peers in the gathered A: each chunk of 16 bytes has been put, or nobody has written there; some of either. */
void look_gathered(irist_rank *t, const std::vector<unsigned char> &got, uint32_t rows, uint32_t k)
{
    const std::vector<unsigned char> poison = irist_poisoned(got.size());
    uint32_t put = 0, left = 0;
    for (uint32_t i = 0; i < (uint32_t)t->ranks * rows * k; i += 4) {
        const int owner = (int)(i / (rows * k));
        float chunk[4];
        std::memcpy(chunk, &got[i * sizeof(float)], sizeof chunk);
        const bool none = std::memcmp(chunk, &poison[i * sizeof(float)], sizeof chunk) == 0;
        const float want = (float)(owner + 1);
        if (owner == t->rank) /* rows that this rank may read where they are */
            continue;
        if (!irist_check(t, none || (chunk[0] == want && chunk[1] == want && chunk[2] == want && chunk[3] == want),
                         "row %u of rank %d has %g, not %g", i / k - (uint32_t)owner * rows, owner, chunk[0], want))
            return;
        (none ? left : put)++;
    }
    irist_check(t, t->ranks == 1 || (put > 0 && left > 0), "%u chunks were put and %u were not", put, left);
}

void stopping_work(irist_rank *t)
{
    const uint32_t rows = 2 * IRISI_GEMM_BLOCK_ROWS + 5, k = 40, band = 16, workgroups = 2;
    iris_world *w = t->world;
    iris_gemm_args g = {};
    g.m = (int64_t)rows * t->ranks, g.n = band * t->ranks, g.k = k;
    g.gathered_bytes = (size_t)g.m * k * sizeof(float);
    g.gathered = iris_malloc(w, g.gathered_bytes);
    float *own = iris_full_f32(w, (size_t)rows * k, (float)(t->rank + 1)), *b = iris_zeros_f32(w, (size_t)k * band);
    g.a = own, g.b = b, g.c = iris_zeros_f32(w, (size_t)g.m * band);
    stopping_args a = {};
    a.ctx = iris_device_ctx(w);
    a.ended = (uint64_t *)iris_malloc(w, workgroups * sizeof *a.ended);
    if (irist_ok(t, iris_gemm_prepare(w, &a.plan, IRIS_GEMM_ALL_GATHER, IRIS_F32, &g))) {
        irist_upload(t, g.gathered, irist_poisoned(g.gathered_bytes));
        irist_ok(t, iris_memset(w, a.ended, 0, workgroups * sizeof *a.ended));
        irist_meet(t);
        irist_run(t, stopping_kernel, a, iris_cooperative(workgroups, 256));
        irist_meet(t);
        look_gathered(t, irist_download(t, g.gathered, g.gathered_bytes), rows, k);
        const std::vector<unsigned char> bytes = irist_download(t, a.ended, workgroups * sizeof *a.ended);
        for (uint32_t i = 0; i < workgroups; i++) {
            uint64_t ended;
            std::memcpy(&ended, &bytes[i * sizeof ended], sizeof ended);
            irist_check(t, ended > 1, "%u waves of workgroup %u have ended", (uint32_t)ended, i);
        }
        irist_ok(t, iris_gemm_release(w, &a.plan));
    }
    for (void *p : {(void *)a.ended, g.c, (void *)b, (void *)own, g.gathered})
        irist_ok(t, iris_free(w, p));
}

} // namespace

TEST_CASE("layers follow each other without a barrier", "[gemm][chain]") { irist_spmd(layers_work, nullptr); }

TEST_CASE("waves that know that the world has stopped meet those that do not", "[gemm][stopped]")
{
    irist_spmd(stopping_work, nullptr);
}
