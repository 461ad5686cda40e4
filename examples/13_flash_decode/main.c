/* SPDX-License-Identifier: MIT */
/*
 * Flash decoding: attention of each sequence's newest token to all tokens before it, with the cache of keys and values
 * dealt to the ranks page by page. One kernel a step on each rank: workgroups attend to a split of a rank's tokens
 * each; the last one of a pair (a sequence and a head of the cache) merges the splits, sends what came out as LL
 * packets to every rank, and merges what comes from them. No launch, no barrier and no collective in between.
 */
#include <iris/collective/ll.h>

#include "../attention.h"
#include "../model.h"

enum { MOST_SPLITS = 128 };

typedef struct {
    iris_ctx ctx;
    iris_channel ch;
    const float *q;                       /* own: a row of HEAD for each sequence and head, divided by sqrt(HEAD) */
    const iris_bf16 *new_key, *new_value; /* own: of the newest token: a row for each pair */
    iris_bf16 *keys, *values;             /* own: pages of PAGE rows for each head of the cache */
    const uint32_t *table, *lengths;      /* own: where a sequence's pages of this rank are; tokens before step 0 */
    record *parts, *all;                  /* own: of each pair's splits; of each pair's ranks */
    uint32_t *done;                       /* own: splits of each pair that are computed, of all steps */
    float *out;                           /* own: like q */
    uint32_t batch, heads, cache_heads, pages, splits, step; /* pages: in a row of the table */
} decode_args;

/* How many of a sequence's tokens a rank has: pages are dealt out in turn. */
IRIS_HOST_DEVICE uint32_t tokens_of(uint32_t length, uint32_t rank, uint32_t world)
{
    const uint32_t rest = length % (PAGE * world), before = rank * PAGE;
    return length / (PAGE * world) * PAGE + (rest <= before ? 0 : at_most(rest - before, PAGE));
}

/* A sequence's tokens on this rank, for one head of the cache. */
IRIS_DEVICE kv_rows rows_of(const decode_args *a, uint32_t pair)
{
    const kv_rows x = {a->keys, a->values, a->table + (size_t)(pair / a->cache_heads) * a->pages, a->cache_heads,
                       pair % a->cache_heads};
    return x;
}

/*
 * One workgroup attends to a split of this rank's tokens of a pair. Where the newest one is among them, its rows come
 * into the cache first.
 */
IRIS_DEVICE void attend_to_split(const decode_args *a, uint32_t pair, uint32_t which, attention_shared *m, record *to)
{
    const uint32_t world = (uint32_t)a->ctx.world, rank = (uint32_t)a->ctx.rank, group = a->heads / a->cache_heads;
    const uint32_t length = a->lengths[pair / a->cache_heads] + a->step + 1, here = tokens_of(length, rank, world);
    const uint32_t share = (here + a->splits - 1) / a->splits;
    const uint32_t first = which * share < here ? which * share : here,
                   end = here - first < share ? here : first + share;
    const kv_rows x = rows_of(a, pair);
    if ((length - 1) / PAGE % world == rank && end == here && first < end)
        for (uint32_t i = iris_wg_lane(); i < HEAD; i += iris_wg_lanes()) {
            const size_t at = kv_row(&x, here - 1) + i;
            a->keys[at] = a->new_key[(size_t)pair * HEAD + i];
            a->values[at] = a->new_value[(size_t)pair * HEAD + i];
        }
    load_queries(a->q + (size_t)pair * group * HEAD, group, m);
    attend(&x, first, end, 0, 0, 1, m, to);
}

/* Sends this rank's record of a pair to everybody, and merges everybody's. */
IRIS_DEVICE void exchange(const decode_args *a, uint32_t pair, uint64_t epoch, attention_shared *m)
{
    const uint32_t world = (uint32_t)a->ctx.world, rank = (uint32_t)a->ctx.rank, group = a->heads / a->cache_heads;
    const uint32_t flag = iris_ll_flag(epoch);
    const size_t packets = iris_ll_packets(sizeof(record));
    iris_ll_packet *slots = iris_ll_bank(&a->ch, epoch) + (size_t)pair * world * packets;
    record *all = a->all + (size_t)pair * (world + 1), *whole = all + world;
    for (uint32_t i = 1; i < world; i++)
        iris_ll_put_wg(&a->ctx, slots + rank * packets, all + rank, sizeof *all, flag, (int)((rank + i) % world));
    for (uint32_t i = 1; i < world; i++) {
        const uint32_t from = (rank + i) % world;
        iris_ll_get_wg(&a->ctx, all + from, slots + from * packets, sizeof *all, flag, (int)from);
    }
    merge(all, world, m, whole);
    for (uint32_t i = iris_wg_lane(); i < group * HEAD; i += iris_wg_lanes())
        a->out[(size_t)pair * group * HEAD + i] = whole->sum[i] / whole->weight[i / HEAD];
}

/*
 * Pairs come in the same order on every rank, and who waits for a pair has sent its own record of it. So of all pairs
 * that anybody waits for the first one is computed by workgroups that wait for none before it: nobody waits for ever.
 */
IRIS_KERNEL(decode, decode_args, a, ATTENTION_LANES)
{
    attention_shared *m = (attention_shared *)iris_shared();
    const uint64_t epoch = iris_channel_enter_wg(&a->ch);
    const uint32_t splits = a->splits, world = (uint32_t)a->ctx.world;
    for (uint32_t i = iris_workgroup(); i < a->batch * a->cache_heads * splits; i += iris_workgroups()) {
        const uint32_t pair = i / splits;
        attend_to_split(a, pair, i % splits, m, a->parts + i);
        iris_fence_wg(&a->ctx); /* every lane's part of the record has arrived */
        if (iris_wg_lane() == 0)
            m->last =
                iris_atomic_add_u32(&a->ctx, a->done + pair, 1, a->ctx.rank, IRIS_ACQ_REL, IRIS_SCOPE_AGENT) % splits ==
                splits - 1;
        iris_sync_wg();
        if (m->last) {
            merge(a->parts + (size_t)pair * splits, splits, m, a->all + (size_t)pair * (world + 1) + a->ctx.rank);
            exchange(a, pair, epoch, m);
        }
        iris_sync_wg();
    }
    iris_channel_leave_wg(&a->ch, epoch, iris_workgroups());
}

typedef struct options {
    int ranks;
    uint32_t batch, heads, cache_heads, length, splits, steps, seed, time;
} options;

enum { KEY, VALUE, QUERY };

/* Element i of a token's row for one head: a bf16 in [-1, 1), a function of its place alone. */
static float element(const options *o, uint32_t what, uint32_t sequence, uint32_t token, uint32_t head, uint32_t i)
{
    const uint64_t row = mixed(mixed((uint64_t)o->seed * 4 + what) + ((uint64_t)sequence << 32 | token));
    const uint64_t z = mixed(row + ((uint64_t)head * HEAD + i + 1) * 0x9E3779B97F4A7C15u);
    return iris_widen_bf16(iris_narrow_bf16((float)((double)(z >> 11) / 4503599627370496.0 - 1)));
}

/* A head's query: 8 times as large, so that some tokens count far more than others; divided by sqrt(HEAD). */
static float query(const options *o, uint32_t sequence, uint32_t token, uint32_t head, uint32_t i)
{
    return element(o, QUERY, sequence, token, head, i) * 8 / sqrtf(HEAD);
}

/* Tokens of a sequence before the first step: the first has as many as --length says, the others fewer. */
static uint32_t length_of(const options *o, uint32_t sequence)
{
    return sequence == 0 ? o->length : (uint32_t)(mixed((uint64_t)o->seed + sequence) % o->length);
}

/* One output row in double. */
static void expect(const options *o, uint32_t sequence, uint32_t length, uint32_t head, double *row)
{
    const uint32_t of_cache = head / (o->heads / o->cache_heads);
    double weight = 0, most = -1e300;
    double *scores = (double *)malloc(length * sizeof *scores);
    float q[HEAD];
    for (uint32_t i = 0; i < HEAD; i++)
        q[i] = query(o, sequence, length - 1, head, i), row[i] = scores == NULL ? NAN : 0;
    for (uint32_t t = 0; t < length && scores; t++) {
        scores[t] = 0;
        for (uint32_t i = 0; i < HEAD; i++)
            scores[t] += (double)q[i] * element(o, KEY, sequence, t, of_cache, i);
        most = scores[t] > most ? scores[t] : most;
    }
    for (uint32_t t = 0; t < length && scores; t++) {
        const double e = exp(scores[t] - most);
        weight += e;
        for (uint32_t i = 0; i < HEAD; i++)
            row[i] += e * element(o, VALUE, sequence, t, of_cache, i);
    }
    for (uint32_t i = 0; i < HEAD; i++)
        row[i] /= weight;
    free(scores);
}

/* What this rank keeps: everything but the newest tokens, in pages whose order is anything but theirs. */
static iris_status fill(iris_world *w, const options *o, decode_args *a)
{
    const uint32_t world = (uint32_t)iris_world_size(w), rank = (uint32_t)iris_rank(w), all = a->pages * o->batch;
    const size_t row = (size_t)o->cache_heads * PAGE * HEAD;
    uint32_t *table = (uint32_t *)malloc(all * sizeof *table), lengths[64]; /* of --batch, at most */
    iris_bf16 *rows[2];
    for (int v = 0; v < 2; v++)
        rows[v] = (iris_bf16 *)malloc(all * row * sizeof **rows);
    iris_status s = table && rows[KEY] && rows[VALUE] ? IRIS_OK : IRIS_ERR_NOMEM;
    for (uint32_t i = 0; i < all && s == IRIS_OK; i++) { /* Fisher and Yates */
        const uint32_t with = (uint32_t)(mixed((uint64_t)o->seed + 99 + i) % (i + 1));
        table[i] = table[with], table[with] = i;
    }
    for (size_t i = 0; i < all * row && s == IRIS_OK; i++) /* NaN: a token that is not there is seen */
        rows[KEY][i] = rows[VALUE][i] = iris_narrow_bf16(NAN);
    for (uint32_t q = 0; q < o->batch && s == IRIS_OK; q++) {
        lengths[q] = length_of(o, q);
        for (uint32_t t = 0; t < tokens_of(lengths[q], rank, world); t++)
            for (uint32_t i = 0; i < o->cache_heads * HEAD; i++) {
                const uint32_t head = i / HEAD, token = (t / PAGE * world + rank) * PAGE + t % PAGE;
                const kv_rows x = {NULL, NULL, table + (size_t)q * a->pages, o->cache_heads, head};
                const size_t to = kv_row(&x, t) + i % HEAD;
                rows[KEY][to] = iris_narrow_bf16(element(o, KEY, q, token, head, i % HEAD));
                rows[VALUE][to] = iris_narrow_bf16(element(o, VALUE, q, token, head, i % HEAD));
            }
    }
    if (s == IRIS_OK)
        s = iris_memcpy(w, a->keys, rows[KEY], all * row * sizeof **rows);
    if (s == IRIS_OK)
        s = iris_memcpy(w, a->values, rows[VALUE], all * row * sizeof **rows);
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->table, table, all * sizeof *table);
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->lengths, lengths, o->batch * sizeof *lengths);
    free(table), free(rows[KEY]), free(rows[VALUE]);
    return s;
}

/* The newest tokens' queries, keys and values: what the layers before would have made of them. */
static iris_status bring_tokens(iris_world *w, const options *o, const decode_args *a)
{
    const size_t queries = (size_t)o->batch * o->heads * HEAD, rows = (size_t)o->batch * o->cache_heads * HEAD;
    float *q = (float *)malloc(queries * sizeof *q);
    iris_bf16 *kv = (iris_bf16 *)malloc(2 * rows * sizeof *kv);
    iris_status s = q && kv ? IRIS_OK : IRIS_ERR_NOMEM;
    for (size_t i = 0; i < queries && s == IRIS_OK; i++) {
        const uint32_t sequence = (uint32_t)(i / HEAD / o->heads), head = (uint32_t)(i / HEAD % o->heads);
        q[i] = query(o, sequence, length_of(o, sequence) + a->step, head, (uint32_t)(i % HEAD));
    }
    for (size_t i = 0; i < 2 * rows && s == IRIS_OK; i++) {
        const size_t row = i % rows / HEAD;
        const uint32_t sequence = (uint32_t)(row / o->cache_heads), head = (uint32_t)(row % o->cache_heads);
        kv[i] = iris_narrow_bf16(
            element(o, i < rows ? KEY : VALUE, sequence, length_of(o, sequence) + a->step, head, (uint32_t)(i % HEAD)));
    }
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->q, q, queries * sizeof *q);
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->new_key, kv, rows * sizeof *kv);
    if (s == IRIS_OK)
        s = iris_memcpy(w, (void *)(uintptr_t)a->new_value, kv + rows, rows * sizeof *kv);
    free(q), free(kv);
    return s;
}

/*
 * A score is a sum of HEAD products, in f32 off by some 1e-6, and so is the exponential; a value is at most 1. What is
 * left out or counted twice among a thousand tokens changes far more.
 */
static int check(iris_world *w, const options *o, const decode_args *a)
{
    const uint32_t rows = o->batch * o->heads, world = (uint32_t)o->ranks, step = (rows / world / 64 + 1) * world;
    const size_t n = (size_t)rows * HEAD;
    struct {
        double worst;
        uint64_t bits;
    } mine = {0, 0}, all[MOST_RANKS];
    float *out = (float *)malloc(n * sizeof *out);
    double row[HEAD], worst = 0;
    int differ = 0;
    IRIS_TRY(out ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_memcpy(w, out, a->out, n * sizeof *out));
    for (uint32_t r = (uint32_t)iris_rank(w); r < rows; r += step) { /* all have the same bits: each checks some */
        const uint32_t sequence = r / o->heads;
        expect(o, sequence, length_of(o, sequence) + a->step + 1, r % o->heads, row);
        for (uint32_t i = 0; i < HEAD; i++)
            mine.worst = worse(mine.worst, fabs((double)out[(size_t)r * HEAD + i] - row[i]));
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, &out[i], sizeof word);
        mine.bits = mixed(mine.bits + word);
    }
    free(out);
    IRIS_TRY(iris_allgather(w, &mine, all, sizeof mine));
    for (int r = 0; r < o->ranks; r++)
        worst = worse(worst, all[r].worst), differ += all[r].bits != all[0].bits;
    const int wrong = !(worst <= 3e-5);
    if (iris_rank(w) == 0)
        printf("token %u: largest error %.1e%s, different bits on %d ranks\n", a->step, worst,
               wrong ? ", which is too large" : "", differ);
    return wrong || differ != 0;
}

LAUNCHES(decode, decode_args)

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const uint32_t world = (uint32_t)iris_world_size(w), pairs = o->batch * o->cache_heads;
    const uint32_t most = (uint32_t)iris_max_workgroups(w, decode, ATTENTION_LANES, sizeof(attention_shared));
    const uint32_t few = 4 * (uint32_t)iris_compute_units(w), workgroups = most < few ? most : few;
    iris_launch_config grid = iris_cooperative(workgroups, ATTENTION_LANES);
    int failed = workgroups == 0;
    decode_args a;
    memset(&a, 0, sizeof a);
    grid.shared_bytes = sizeof(attention_shared);
    a.ctx = iris_device_ctx(w);
    a.batch = o->batch, a.heads = o->heads, a.cache_heads = o->cache_heads;
    a.pages = ((o->length + o->steps) / PAGE + 1 + world - 1) / world;
    a.splits = o->splits ? o->splits : (workgroups + pairs - 1) / pairs;
    a.splits = at_most(a.splits, MOST_SPLITS);
    const size_t cache = (size_t)a.pages * o->batch * o->cache_heads * PAGE * HEAD;
    float *q = iris_empty_f32(w, (size_t)o->batch * o->heads * HEAD);
    iris_bf16 *new_key = iris_empty_bf16(w, (size_t)pairs * HEAD),
              *new_value = iris_empty_bf16(w, (size_t)pairs * HEAD);
    uint32_t *table = iris_empty_u32(w, (size_t)a.pages * o->batch), *lengths = iris_empty_u32(w, o->batch);
    a.q = q, a.new_key = new_key, a.new_value = new_value, a.table = table, a.lengths = lengths;
    a.keys = iris_empty_bf16(w, cache), a.values = iris_empty_bf16(w, cache);
    a.parts = (record *)iris_malloc(w, (size_t)pairs * a.splits * sizeof *a.parts);
    a.all = (record *)iris_malloc(w, (size_t)pairs * (world + 1) * sizeof *a.all);
    a.done = iris_zeros_u32(w, pairs);
    a.out = iris_full_f32(w, (size_t)o->batch * o->heads * HEAD, NAN);
    IRIS_TRY(a.keys && a.values && a.parts && a.all && a.done && a.out ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_channel_create(w, &a.ch, 0,
                                 (size_t)pairs * world * iris_ll_packets(sizeof(record)) * sizeof(iris_ll_packet)));
    IRIS_TRY(fill(w, o, &a));
    IRIS_TRY(iris_barrier(w)); /* every channel exists */
    for (a.step = 0; a.step < o->steps; a.step++) {
        IRIS_TRY(bring_tokens(w, o, &a));
        IRIS_TRY(iris_launch(w, decode, &a, sizeof a, &grid, iris_default_stream(w)));
        IRIS_TRY(iris_synchronize(w));
        failed |= check(w, o, &a);
    }
    a.step--;
    if (failed || !o->time)
        return failed;
    launched last = {&a, &grid};
    const double us = median_us(w, submit, &last);
    double tokens = 0; /* of rank 0, which has the most */
    for (uint32_t i = 0; i < o->batch; i++)
        tokens += tokens_of(length_of(o, i) + o->steps, 0, world);
    if (iris_rank(w) == 0)
        printf("%.1f us a step; %.0f GB/s of a rank's cache\n", us,
               tokens * o->cache_heads * (double)(HEAD * 2 * sizeof(iris_bf16)) / us / 1e3);
    return us < 0;
}

int main(int argc, char **argv)
{
    options o = {4, 3, 8, 2, 2500, 0, 3, 1, 0};
    const number known[] = {
        {"batch", &o.batch, 1, 64, "sequences"},
        {"heads", &o.heads, 1, 4096, "heads of a query, at most 8 for each of the cache"},
        {"cache-heads", &o.cache_heads, 1, 512, "heads of the cache, of which that is a multiple"},
        {"length", &o.length, 1, 1 << 24, "tokens of the first sequence; the others have fewer"},
        {"splits", &o.splits, 1, MOST_SPLITS, "of a rank's tokens of a head, a workgroup each; default: they fill it"},
        {"steps", &o.steps, 1, 1000, "tokens that are decoded"},
        {"seed", &o.seed, 1, UINT32_MAX, "another one makes other numbers"},
        {"time", &o.time, 1, 0, "times the last step"}};
    const int status = parse_numbers(argc, argv, "Flash decoding with a cache that is spread over the ranks.", known,
                                     sizeof known / sizeof *known, &o.ranks);
    if (status >= 0)
        return status;
    if (o.heads % o.cache_heads != 0 || o.heads / o.cache_heads > GROUP) {
        fprintf(stderr, "%s: --heads %u must be 1 to %d times --cache-heads %u\n", argv[0], o.heads, GROUP,
                o.cache_heads);
        return 2;
    }
    const size_t pairs = (size_t)o.batch * o.cache_heads, ranks = (size_t)o.ranks;
    const size_t tokens = (size_t)o.batch * ((o.length + o.steps) / ranks + 2 * PAGE);
    iris_config config;
    memset(&config, 0, sizeof config);
    config.sync_bytes = 2 * pairs * ranks * iris_ll_packets(sizeof(record)) * sizeof(iris_ll_packet) + (1u << 20);
    config.heap_bytes = tokens * o.cache_heads * HEAD * 2 * sizeof(iris_bf16) +
                        (pairs * (ranks + 4 + o.splits) + 2048) * sizeof(record) + (4u << 20);
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
