/* SPDX-License-Identifier: MIT */
/*
 * Ring attention: a sequence too long for one device is cut into one part for each rank, its queries, keys and values.
 * The keys and values go around the ring, a part at a time, while workgroups attend to the part that is there. One
 * kernel on each rank; a rank holds its own part and two of others, however many ranks there are.
 */
#include <iris/gemm/plan.h>

#include "../attention.h"
#include "../model.h"

enum { SENDERS = 4, MOST_HEADS = 256 };

typedef struct {
    iris_ctx ctx;
    iris_channel launches;      /* counts them */
    const float *q;             /* own: rows of own tokens for each head, divided by sqrt(HEAD) */
    const iris_bf16 *own;       /* own: keys of own tokens for each head, then values */
    iris_bf16 *inbox;           /* symmetric: two parts of others, each like `own` with room for the longest */
    iris_signal *arrived;       /* symmetric: of each sender on the left, shares of parts that it has put here */
    iris_signal *passed, *done; /* symmetric: of each sender, and of each workgroup that attends, on the right: parts
                                   that it needs no more */
    record *records;            /* own: of each head's groups of queries */
    float *out;                 /* own: like q */
    uint32_t tokens, heads, causal, attending; /* tokens of all ranks; workgroups that attend, on every rank */
} ring_args;

/* The number of a part that a rank gets in a step, among all that it gets in its life: 0, 1, … */
IRIS_DEVICE uint64_t nth_part(const ring_args *a, uint64_t launch, uint32_t step)
{
    return (launch - 1) * (uint64_t)(a->ctx.world - 1) + step - 1;
}

/* Whose part a rank attends to in a step: its own, then the left neighbour's, and so on. */
IRIS_DEVICE uint32_t owner_in(const ring_args *a, uint32_t step)
{
    return ((uint32_t)a->ctx.rank + (uint32_t)a->ctx.world - step) % (uint32_t)a->ctx.world;
}

/* Elements of the keys, or of the values, of the longest part. */
IRIS_DEVICE size_t longest(const ring_args *a)
{
    return (size_t)iris_gemm_shard(a->tokens, (uint32_t)a->ctx.world, 0).count * a->heads * HEAD;
}

/* Where a part is in a step. */
IRIS_DEVICE const iris_bf16 *part_in(const ring_args *a, uint64_t launch, uint32_t step)
{
    return step == 0 ? a->own : a->inbox + nth_part(a, launch, step) % 2 * 2 * longest(a);
}

/*
 * A sender passes its share of each part on, once it is here and nobody on the right neighbour needs what is in its
 * place there. Each of those has a signal of its own: in a sum one that is a part ahead would stand for one that is
 * behind. 1, or 0 when the world has stopped.
 */
IRIS_DEVICE int pass_on(const ring_args *a, uint64_t launch, uint32_t sender)
{
    const uint32_t world = (uint32_t)a->ctx.world;
    const int left = (int)owner_in(a, 1), right = (a->ctx.rank + 1) % a->ctx.world;
    for (uint32_t step = 0; step < world; step++) {
        const size_t n = 2 * (size_t)iris_gemm_shard(a->tokens, world, owner_in(a, step)).count * a->heads * HEAD;
        const size_t first = n * sender / SENDERS, end = n * (sender + 1) / SENDERS;
        if (step > 0 && !iris_wait_ge_wg(&a->ctx, a->arrived + sender, nth_part(a, launch, step) + 1))
            return 0;
        if (step + 1 < world) {
            const uint64_t part = nth_part(a, launch, step + 1);
            if (part >= 2 && (!iris_wait_all_ge_wg(&a->ctx, a->passed, SENDERS, part - 1) ||
                              !iris_wait_all_ge_wg(&a->ctx, a->done, a->attending, part - 1)))
                return 0;
            iris_put_signal_bf16_wg(&a->ctx, a->inbox + part % 2 * 2 * longest(a) + first,
                                    part_in(a, launch, step) + first, end - first, a->arrived + sender, 1,
                                    IRIS_SIGNAL_ADD, right);
        }
        if (step > 0)
            iris_signal_add_wg(&a->ctx, a->passed + sender, 1, left);
    }
    return 1;
}

/* One group of a head's queries attends to a part. */
IRIS_DEVICE void attend_to_part(const ring_args *a, uint32_t head, uint32_t group, const iris_bf16 *part, uint32_t step,
                                attention_shared *m, record *to)
{
    const uint32_t world = (uint32_t)a->ctx.world;
    const iris_gemm_rows own = iris_gemm_shard(a->tokens, world, (uint32_t)a->ctx.rank);
    const iris_gemm_rows theirs = iris_gemm_shard(a->tokens, world, owner_in(a, step));
    const uint32_t query = group * GROUP, queries = at_most(own.count - query, GROUP);
    const size_t rows = (size_t)head * theirs.count * HEAD;
    const kv_rows x = {part + rows, part + (size_t)theirs.count * a->heads * HEAD + rows, NULL, 0, 0};
    uint32_t end = theirs.count, seen = 0;
    if (a->causal) { /* query h of the group sees the tokens up to its own */
        const uint32_t before = own.first + query + 1;
        seen = before > theirs.first ? before - theirs.first : 0;
        end = theirs.first >= before + queries - 1 ? 0 : seen + queries - 1 < end ? seen + queries - 1 : end;
    }
    load_queries(a->q + ((size_t)head * own.count + query) * HEAD, queries, m);
    attend(&x, 0, end, (int)a->causal, seen, step == 0, m, to);
}

/* All groups of all heads, dealt to the workgroups, attend to part after part. 1, or 0 when the world has stopped. */
IRIS_DEVICE int attend_to_all(const ring_args *a, uint64_t launch, uint32_t workgroup)
{
    attention_shared *m = (attention_shared *)iris_shared();
    const uint32_t world = (uint32_t)a->ctx.world;
    const uint32_t own = iris_gemm_shard(a->tokens, world, (uint32_t)a->ctx.rank).count,
                   groups = (own + GROUP - 1) / GROUP;
    for (uint32_t step = 0; step < world; step++) {
        const iris_bf16 *part = part_in(a, launch, step);
        if (step > 0 && !iris_wait_all_ge_wg(&a->ctx, a->arrived, SENDERS, nth_part(a, launch, step) + 1))
            return 0;
        for (uint32_t i = workgroup; i < groups * a->heads; i += a->attending)
            attend_to_part(a, i / groups, i % groups, part, step, m, a->records + i);
        if (step > 0)
            iris_signal_add_wg(&a->ctx, a->done + workgroup, 1, (int)owner_in(a, 1));
    }
    for (uint32_t i = workgroup; i < groups * a->heads; i += a->attending) {
        const uint32_t query = i % groups * GROUP, queries = at_most(own - query, GROUP);
        for (uint32_t k = iris_wg_lane(); k < queries * HEAD; k += iris_wg_lanes())
            a->out[((size_t)(i / groups) * own + query) * HEAD + k] =
                a->records[i].sum[k] / a->records[i].weight[k / HEAD];
    }
    return 1;
}

IRIS_KERNEL(ring, ring_args, a, ATTENTION_LANES)
{
    const uint64_t launch = iris_channel_enter_wg(&a->launches);
    if (iris_workgroup() < SENDERS)
        pass_on(a, launch, iris_workgroup());
    else
        attend_to_all(a, launch, iris_workgroup() - SENDERS);
    iris_channel_leave_wg(&a->launches, launch, iris_workgroups());
}

typedef struct options {
    int ranks;
    uint32_t tokens, heads, full, launches, seed, time;
} options;

enum { QUERY, KEY, VALUE };

/* Element i of a token's row for one head: a bf16 in [-1, 1), a function of its place alone; other queries at times. */
static float element(const options *o, uint32_t what, uint32_t turn, uint32_t head, uint32_t token, uint32_t i)
{
    const uint64_t row =
        mixed(mixed((uint64_t)o->seed * 4 + what) + ((uint64_t)turn << 48 | (uint64_t)head << 32 | token));
    const uint64_t z = mixed(row + (i + 1) * 0x9E3779B97F4A7C15u);
    const float x = iris_widen_bf16(iris_narrow_bf16((float)((double)(z >> 11) / 4503599627370496.0 - 1)));
    return what == QUERY ? x * 8 / sqrtf(HEAD) : x; /* so large that some tokens count far more than others */
}

/* This rank's queries, keys and values. */
static iris_status fill(iris_world *w, const options *o, const ring_args *a, uint32_t turn)
{
    const iris_gemm_rows own = iris_gemm_shard(o->tokens, (uint32_t)o->ranks, (uint32_t)iris_rank(w));
    const size_t n = (size_t)own.count * o->heads * HEAD;
    float *q = (float *)malloc((n + 1) * sizeof *q);
    iris_bf16 *kv = (iris_bf16 *)malloc((2 * n + 1) * sizeof *kv);
    iris_status s = q && kv ? IRIS_OK : IRIS_ERR_NOMEM;
    for (size_t i = 0; i < n && s == IRIS_OK; i++) {
        const uint32_t head = (uint32_t)(i / HEAD / own.count), at = (uint32_t)(i % HEAD);
        const uint32_t token = own.first + (uint32_t)(i / HEAD % own.count);
        q[i] = element(o, QUERY, turn, head, token, at);
        kv[i] = iris_narrow_bf16(element(o, KEY, turn, head, token, at));
        kv[n + i] = iris_narrow_bf16(element(o, VALUE, turn, head, token, at));
    }
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->q, q, n * sizeof *q);
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->own, kv, 2 * n * sizeof *kv);
    free(q), free(kv);
    return s;
}

/* One row in double. */
static void expect(const options *o, uint32_t turn, uint32_t head, uint32_t token, double *scores, double *row)
{
    const uint32_t seen = o->full ? o->tokens : token + 1;
    double weight = 0, most = -1e300;
    for (uint32_t t = 0; t < seen; t++) {
        scores[t] = 0;
        for (uint32_t i = 0; i < HEAD; i++)
            scores[t] += (double)element(o, QUERY, turn, head, token, i) * element(o, KEY, turn, head, t, i);
        most = scores[t] > most ? scores[t] : most;
    }
    for (uint32_t i = 0; i < HEAD; i++)
        row[i] = 0;
    for (uint32_t t = 0; t < seen; t++) {
        const double e = exp(scores[t] - most);
        weight += e;
        for (uint32_t i = 0; i < HEAD; i++)
            row[i] += e * element(o, VALUE, turn, head, t, i);
    }
    for (uint32_t i = 0; i < HEAD; i++)
        row[i] /= weight;
}

/* Some of the rank's rows, the first and the last among them. A score is off by some 1e-6, and so is an exponential. */
static int check(iris_world *w, const options *o, const ring_args *a, uint32_t turn)
{
    enum { CHECKED = 12 };
    const iris_gemm_rows own = iris_gemm_shard(o->tokens, (uint32_t)o->ranks, (uint32_t)iris_rank(w));
    const size_t rows = (size_t)own.count * o->heads, n = rows * HEAD;
    const uint32_t checked = rows < CHECKED ? (uint32_t)rows : (uint32_t)CHECKED;
    float *out = (float *)malloc((n + 1) * sizeof *out);
    double *scores = (double *)malloc(o->tokens * sizeof *scores), row[HEAD], worst = 0, all[MOST_RANKS];
    IRIS_TRY(out && scores ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_memcpy(w, out, a->out, n * sizeof *out));
    for (uint32_t c = 0; c < checked; c++) {
        const size_t r = checked < 2 ? 0 : (size_t)c * (rows - 1) / (checked - 1);
        expect(o, turn, (uint32_t)(r / own.count), own.first + (uint32_t)(r % own.count), scores, row);
        for (uint32_t i = 0; i < HEAD; i++)
            worst = worse(worst, fabs((double)out[r * HEAD + i] - row[i]));
    }
    for (size_t i = 0; i < n; i++)
        worst = out[i] - out[i] == 0 ? worst : NAN; /* what nobody has written */
    free(out), free(scores);
    IRIS_TRY(iris_allgather(w, &worst, all, sizeof worst));
    for (int r = 0; r < o->ranks; r++)
        worst = worse(worst, all[r]);
    const int wrong = !(worst <= 3e-5);
    if (iris_rank(w) == 0)
        printf("launch %u: %s; largest error %.1e\n", turn + 1, wrong ? "wrong" : "right", worst);
    return wrong;
}

LAUNCHES(ring, ring_args)

/* Workgroups on every rank: the most that the rank with the fewest has room for. */
static int workgroups_of(iris_world *w, uint32_t *workgroups)
{
    const uint32_t most = (uint32_t)iris_max_workgroups(w, ring, ATTENTION_LANES, sizeof(attention_shared));
    const uint32_t few = 4 * (uint32_t)iris_compute_units(w) + SENDERS, mine = most < few ? most : few;
    uint32_t all[MOST_RANKS];
    IRIS_TRY(iris_allgather(w, &mine, all, sizeof mine));
    *workgroups = mine;
    for (int r = 0; r < iris_world_size(w); r++)
        *workgroups = all[r] < *workgroups ? all[r] : *workgroups;
    return *workgroups <= SENDERS;
}

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const uint32_t world = (uint32_t)iris_world_size(w);
    const size_t rows = (size_t)iris_gemm_shard(o->tokens, world, 0).count * o->heads;
    uint32_t workgroups = 0;
    ring_args a;
    memset(&a, 0, sizeof a);
    if (workgroups_of(w, &workgroups))
        return 1;
    iris_launch_config grid = iris_cooperative(workgroups, ATTENTION_LANES);
    grid.shared_bytes = sizeof(attention_shared);
    a.ctx = iris_device_ctx(w);
    a.tokens = o->tokens, a.heads = o->heads, a.causal = !o->full, a.attending = workgroups - SENDERS;
    a.q = iris_empty_f32(w, rows * HEAD), a.own = iris_empty_bf16(w, 2 * rows * HEAD);
    a.inbox = iris_empty_bf16(w, 4 * rows * HEAD);
    a.arrived = iris_signals(w, SENDERS), a.passed = iris_signals(w, SENDERS), a.done = iris_signals(w, a.attending);
    a.records = (record *)iris_malloc(w, (rows / GROUP + o->heads) * sizeof *a.records);
    a.out = iris_empty_f32(w, rows * HEAD);
    IRIS_TRY(a.q && a.own && a.inbox && a.records && a.out && a.done ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_channel_create(w, &a.launches, 0, 0));
    IRIS_TRY(iris_barrier(w)); /* everyone has an inbox */
    int failed = 0;
    for (uint32_t turn = 0; turn < o->launches; turn++) {
        IRIS_TRY(fill(w, o, &a, turn));
        IRIS_TRY(iris_memset(w, a.out, 0xFF, rows * HEAD * sizeof *a.out)); /* NaN */
        IRIS_TRY(iris_launch(w, ring, &a, sizeof a, &grid, iris_default_stream(w)));
        IRIS_TRY(iris_synchronize(w));
        failed |= check(w, o, &a, turn);
    }
    if (failed || !o->time)
        return failed;
    launched last = {&a, &grid};
    const double us = median_us(w, submit, &last);
    if (iris_rank(w) == 0)
        printf("%.1f us a launch\n", us);
    return us < 0;
}

int main(int argc, char **argv)
{
    options o = {4, 1500, 2, 0, 3, 1, 0};
    const number known[] = {
        {"tokens", &o.tokens, 1, 1 << 24, "of the sequence"},
        {"heads", &o.heads, 1, MOST_HEADS, "each with keys and values of its own"},
        {"full", &o.full, 1, 0, "every token sees every other; default: those before it and itself"},
        {"launches", &o.launches, 1, 1000, "one after the other, with other tokens each"},
        {"seed", &o.seed, 1, UINT32_MAX, "another one makes other numbers"},
        {"time", &o.time, 1, 0, "times a launch"}};
    const int status = parse_numbers(argc, argv, "Attention of a sequence that is spread over a ring of ranks.", known,
                                     sizeof known / sizeof *known, &o.ranks);
    if (status >= 0)
        return status;
    const size_t rows = ((size_t)o.tokens / (size_t)o.ranks + GROUP + 1) * o.heads;
    iris_config config;
    memset(&config, 0, sizeof config);
    config.heap_bytes = rows * HEAD * (2 * sizeof(float) + 6 * sizeof(iris_bf16)) + rows / GROUP * sizeof(record) +
                        o.heads * sizeof(record) + (4u << 20);
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
