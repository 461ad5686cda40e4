/* SPDX-License-Identifier: MIT */
/*
 * attention.h: what the examples of attention share: GROUP queries attend to some tokens, by one workgroup.
 *
 *   record kv_rows attention_shared
 *   at_most kv_row load_queries attend merge
 *
 * Softmax comes in parts: a record holds what some tokens add, and two records make one. Keys and values are bf16,
 * everything else is f32.
 */
#ifndef ATTENTION_H
#define ATTENTION_H

#include <stdalign.h>

#include <iris/gemm/activation.h>
#include <iris/init.h>
#include <iris/iris.h>

/*
 * HEAD: elements of a head. GROUP: queries that attend together. PAGE: tokens of a page. CHUNK: tokens whose scores
 * stand in shared memory. TEAM: lanes of a GPU that share a key. BATCH: tokens whose values are loaded at once.
 */
enum { HEAD = 128, GROUP = 8, PAGE = 16, CHUNK = 256, TEAM = 4, BATCH = 16, ATTENTION_LANES = 128 };

/* What some tokens add: sums of values, not yet divided; the largest score; the sum of exponentials. */
typedef struct record {
    float sum[GROUP * HEAD], most[GROUP], weight[GROUP];
} record;

/* Keys and values of one head: rows of HEAD, one behind the other, or in pages of `heads` heads that a table places. */
typedef struct kv_rows {
    const iris_bf16 *keys, *values;
    const uint32_t *table; /* null: no pages */
    uint32_t heads, head;
} kv_rows;

/* What moves as one access. */
typedef struct four {
    alignas(16) float v[4];
} four;
typedef struct two {
    alignas(4) iris_bf16 v[2];
} two;

/* In workgroup-shared memory. */
typedef struct attention_shared {
    four q[GROUP][HEAD / 4], score[CHUNK][GROUP / 4]; /* scores, then their exponentials */
    float sum[GROUP * HEAD], wave[ATTENTION_LANES / 32 * GROUP];
    uint32_t row[CHUNK]; /* of the chunk's tokens, in rows of HEAD; behind the last one its own again */
    uint32_t last;       /* the program's own */
} attention_shared;

IRIS_HOST_DEVICE uint32_t at_most(uint32_t n, uint32_t most) { return n < most ? n : most; }

IRIS_HOST_DEVICE size_t kv_row(const kv_rows *x, uint32_t token)
{
    if (x->table == NULL)
        return (size_t)token * HEAD;
    return (((size_t)x->table[token / PAGE] * x->heads + x->head) * PAGE + token % PAGE) * HEAD;
}

/* `count` queries, one behind the other; those that are missing to GROUP are zeros. */
IRIS_DEVICE void load_queries(const float *q, uint32_t count, attention_shared *m)
{
    for (uint32_t i = iris_wg_lane(); i < GROUP * HEAD; i += iris_wg_lanes())
        m->q[i / HEAD][i % HEAD / 4].v[i % 4] = i < count * HEAD ? q[i] : 0;
}

/* Whether query h sees a token: all of them, or of a causal mask the first `seen` + h. */
IRIS_DEVICE int sees(uint32_t h, uint32_t token, int causal, uint32_t seen) { return !causal || token < seen + h; }

/* Scores of a chunk of `count` tokens from `first` on, and the largest that a lane has met, for each query. */
IRIS_DEVICE void score(const kv_rows *x, uint32_t first, uint32_t count, int causal, uint32_t seen, attention_shared *m,
                       float *most)
{
    const uint32_t team = iris_wave_lanes() < TEAM ? 1 : TEAM, member = iris_wg_lane() % team;
    for (uint32_t k = iris_wg_lane() / team; k < CHUNK; k += iris_wg_lanes() / team) {
        const iris_vec_bf16 *key = (const iris_vec_bf16 *)(const void *)(x->keys + (size_t)m->row[k] * HEAD);
        float dot[GROUP];
        for (uint32_t h = 0; h < GROUP; h++)
            dot[h] = 0;
        for (uint32_t c = member; c < HEAD / 8 && k < count; c += team) {
            const iris_vec_bf16 part = key[c];
            for (uint32_t h = 0; h < GROUP; h++) {
                const four low = m->q[h][2 * c], high = m->q[h][2 * c + 1];
                for (uint32_t j = 0; j < 4; j++)
                    dot[h] += iris_widen_bf16(part.v[j]) * low.v[j] + iris_widen_bf16(part.v[4 + j]) * high.v[j];
            }
        }
        for (uint32_t mask = team / 2; mask > 0; mask /= 2) /* every lane of the wave is here */
            for (uint32_t h = 0; h < GROUP; h++)
                dot[h] += iris_shuffle_xor_f32(dot[h], mask);
        for (uint32_t h = 0; h < GROUP && k < count; h++) {
            most[h] = dot[h] > most[h] && sees(h, first + k, causal, seen) ? dot[h] : most[h];
            if (member == 0)
                m->score[k][h / 4].v[h % 4] = dot[h];
        }
    }
}

/* The same number for each query on every lane of the workgroup: the largest, or the sum, of all lanes' numbers. */
IRIS_DEVICE void combine(float *x, int adds, attention_shared *m)
{
    for (uint32_t mask = iris_wave_lanes() / 2; mask > 0; mask /= 2)
        for (uint32_t h = 0; h < GROUP; h++) {
            const float other = iris_shuffle_xor_f32(x[h], mask);
            x[h] = adds ? x[h] + other : other > x[h] ? other : x[h];
        }
    for (uint32_t h = 0; h < GROUP && iris_lane() == 0; h++)
        m->wave[iris_wave() * GROUP + h] = x[h];
    iris_sync_wg();
    for (uint32_t h = 0; h < GROUP; h++) {
        x[h] = m->wave[h];
        for (uint32_t wave = 1; wave < iris_waves(); wave++) {
            const float other = m->wave[wave * GROUP + h];
            x[h] = adds ? x[h] + other : other > x[h] ? other : x[h];
        }
    }
    iris_sync_wg(); /* the next call may write there */
}

/*
 * Adds values of a chunk, weighted by the exponentials that stand in place of their scores: two elements of four
 * queries a lane, so many tokens at once that their loads are under way together.
 */
IRIS_DEVICE void add_values(const kv_rows *x, uint32_t count, attention_shared *m, const float *rescale)
{
    for (uint32_t i = iris_wg_lane(); i < HEAD / 2 * (GROUP / 4); i += iris_wg_lanes()) {
        const two *values = (const two *)(const void *)x->values + i % (HEAD / 2);
        const uint32_t at = i % (HEAD / 2) * 2, h = i / (HEAD / 2) * 4;
        float sum[4][2] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};
        for (uint32_t k = 0; k < count; k += BATCH) { /* CHUNK is a multiple; what is behind the last counts 0 */
            two value[BATCH];
            for (uint32_t b = 0; b < BATCH; b++)
                value[b] = values[(size_t)m->row[k + b] * (HEAD / 2)];
            for (uint32_t b = 0; b < BATCH; b++) {
                const four e = m->score[k + b][h / 4];
                for (uint32_t j = 0; j < 4; j++) {
                    sum[j][0] += iris_widen_bf16(value[b].v[0]) * e.v[j];
                    sum[j][1] += iris_widen_bf16(value[b].v[1]) * e.v[j];
                }
            }
        }
        for (uint32_t j = 0; j < 4; j++)
            for (uint32_t e = 0; e < 2; e++) {
                float *to = &m->sum[(h + j) * HEAD + at + e];
                *to = *to * rescale[h + j] + sum[j][e];
            }
    }
}

/*
 * The queries in m->q attend to tokens first .. end - 1, chunk by chunk: sums so far count for less when a larger score
 * comes. What they add goes to a record that holds nothing yet (`fresh`), or is added to it.
 */
IRIS_DEVICE void attend(const kv_rows *x, uint32_t first, uint32_t end, int causal, uint32_t seen, int fresh,
                        attention_shared *m, record *to)
{
    float most[GROUP], weight[GROUP], before[GROUP];
    for (uint32_t h = 0; h < GROUP; h++)
        most[h] = fresh ? -1e30f : to->most[h], weight[h] = fresh || iris_wg_lane() > 0 ? 0 : to->weight[h];
    for (uint32_t i = iris_wg_lane(); i < GROUP * HEAD; i += iris_wg_lanes())
        m->sum[i] = fresh ? 0 : to->sum[i];
    iris_sync_wg();
    for (; first < end; first += CHUNK) {
        const uint32_t count = at_most(end - first, CHUNK);
        for (uint32_t h = 0; h < GROUP; h++)
            before[h] = most[h];
        for (uint32_t k = iris_wg_lane(); k < CHUNK; k += iris_wg_lanes())
            m->row[k] = (uint32_t)(kv_row(x, first + (k < count ? k : count - 1)) / HEAD);
        iris_sync_wg();
        score(x, first, count, causal, seen, m, most);
        combine(most, 0, m);
        for (uint32_t h = 0; h < GROUP; h++)
            before[h] = iris_exp_f32(before[h] - most[h]), weight[h] *= before[h];
        for (uint32_t k = iris_wg_lane(); k < CHUNK; k += iris_wg_lanes())
            for (uint32_t h = 0; h < GROUP; h++) {
                float *e = &m->score[k][h / 4].v[h % 4];
                *e = k < count && sees(h, first + k, causal, seen) ? iris_exp_f32(*e - most[h]) : 0;
                weight[h] += *e;
            }
        iris_sync_wg();
        add_values(x, count, m, before);
        iris_sync_wg(); /* the next chunk's rows and scores take their place */
    }
    combine(weight, 1, m);
    for (uint32_t i = iris_wg_lane(); i < GROUP * HEAD; i += iris_wg_lanes())
        to->sum[i] = m->sum[i];
    for (uint32_t h = 0; h < GROUP && iris_wg_lane() == 0; h++)
        to->most[h] = most[h], to->weight[h] = weight[h];
    iris_sync_wg();
}

/* One record of n that follow each other, in their order: the same bits wherever it is done. */
IRIS_DEVICE void merge(const record *from, uint32_t n, attention_shared *m, record *to)
{
    float *scale = m->score[0][0].v; /* n x GROUP */
    for (uint32_t i = iris_wg_lane(); i < n * GROUP; i += iris_wg_lanes())
        scale[i] = from[i / GROUP].most[i % GROUP];
    iris_sync_wg();
    for (uint32_t h = iris_wg_lane(); h < GROUP; h += iris_wg_lanes()) {
        float most = scale[h], weight = 0;
        for (uint32_t p = 1; p < n; p++)
            most = scale[p * GROUP + h] > most ? scale[p * GROUP + h] : most;
        for (uint32_t p = 0; p < n; p++) {
            const float share = iris_exp_f32(scale[p * GROUP + h] - most);
            scale[p * GROUP + h] = share, weight += share * from[p].weight[h];
        }
        to->most[h] = most, to->weight[h] = weight;
    }
    iris_sync_wg();
    for (uint32_t i = iris_wg_lane(); i < GROUP * HEAD; i += iris_wg_lanes()) {
        float sum = 0;
        for (uint32_t p = 0; p < n; p++)
            sum += scale[p * GROUP + i / HEAD] * from[p].sum[i];
        to->sum[i] = sum;
    }
    iris_sync_wg();
}

#endif
