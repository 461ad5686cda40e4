/* SPDX-License-Identifier: MIT */
/*
 * A layer of a mixture of experts in one kernel on each rank: tokens stay where they are, experts are dealt to the
 * ranks, and each token goes to the two experts that the router gives it, and back.
 *
 *   route     every rank chooses its tokens' experts and counts them; all hear all counts, as LL packets
 *   dispatch  a wave puts a token's row into the place that the counts give it in the expert's inbox, with a signal
 *   compute   a workgroup computes some rows of an expert as soon as they are there, and puts each back, with a signal
 *   combine   a wave adds up a token's two rows as soon as they are back
 *
 * Inboxes are packed: an expert's rows follow each other, whoever sent them. No token is dropped, however many want
 * one expert.
 */
#include <iris/collective/launch.h>
#include <iris/gemm/activation.h>
#include <iris/gemm/plan.h>
#include <iris/gen/all_gather_ll.h>
#include <iris/init.h>
#include <iris/iris.h>

#include "../model.h"

/* WANTED: experts of a token. BLOCK: rows of an expert that a workgroup computes together. */
enum { WANTED = 2, BLOCK = 8, LANES = 256, MOST_EXPERTS = 256 };

typedef struct {
    iris_ctx ctx;
    iris_channel turns, grid, counting; /* of launches, of the grid's barriers, of the all-gather */
    const iris_bf16 *x;                 /* own: rows of `width` */
    const float *router, *bias;         /* own: width x experts; experts */
    const iris_bf16 *up, *down;         /* own: width x inner and inner x width of each own expert */
    uint32_t *wanted, *nth;             /* own: of each row that leaves: its expert, how many left for it before */
    float *gate;                        /* own: of each row that leaves: what it counts when it is back */
    uint32_t *count, *counts;           /* own: rows of this rank for each expert; of each rank */
    uint32_t *first, *place;            /* own: where each expert's rows begin in its owner's inbox, and this rank's */
    uint32_t *home;                     /* own: where rows of each expert begin when they are back on each rank */
    iris_bf16 *inbox, *back;            /* symmetric: rows of own experts; rows of own tokens, by their experts */
    iris_signal *arrived, *returned;    /* symmetric: rows of each block of the inbox; each row that is back */
    uint64_t *expected;                 /* own: of each block, rows in all launches so far */
    iris_bf16 *hidden;                  /* own: BLOCK rows of `inner` for each workgroup */
    iris_bf16 *result;                  /* own: like the inbox */
    float *out;                         /* own: like x */
    uint32_t tokens, experts, width, inner;
    uint32_t inbox_rows, back_rows; /* what there is room for, the same on every rank */
} moe_args;

/* The rank that has an expert. The first ones have an expert more where they cannot be shared out evenly. */
IRIS_HOST_DEVICE uint32_t owner_of(uint32_t experts, uint32_t world, uint32_t expert)
{
    const uint32_t most = experts / world + 1, more = experts % world;
    return expert < more * most ? expert / most : more + (expert - more * most) / (most - 1);
}

/* The experts of a token: the largest score and the next one, the first of equal ones. One lane. */
IRIS_DEVICE void choose(const moe_args *a, const float *score, uint32_t token)
{
    uint32_t best[WANTED] = {0, 0};
    for (uint32_t e = 1; e < a->experts; e++)
        best[0] = score[e] > score[best[0]] ? e : best[0];
    best[1] = best[0] == 0;
    for (uint32_t e = 0; e < a->experts; e++)
        best[1] = e != best[0] && score[e] > score[best[1]] ? e : best[1];
    const float first = iris_sigmoid_f32(score[best[0]] - score[best[1]]); /* softmax of two */
    for (uint32_t k = 0; k < WANTED; k++) {
        const uint32_t row = token * WANTED + k;
        a->wanted[row] = best[k], a->gate[row] = k == 0 ? first : 1 - first;
        a->nth[row] = iris_atomic_add_u32(&a->ctx, a->count + best[k], 1, a->ctx.rank, IRIS_RELAXED, IRIS_SCOPE_AGENT);
    }
}

IRIS_DEVICE void route(const moe_args *a)
{
    float *score = (float *)iris_shared();
    for (uint32_t token = iris_workgroup(); token < a->tokens; token += iris_workgroups()) {
        for (uint32_t e = iris_wg_lane(); e < a->experts; e += iris_wg_lanes()) {
            float sum = a->bias[e];
            for (uint32_t i = 0; i < a->width; i++)
                sum += iris_widen_bf16(a->x[(size_t)token * a->width + i]) * a->router[(size_t)i * a->experts + e];
            score[e] = sum;
        }
        iris_sync_wg();
        if (iris_wg_lane() == 0)
            choose(a, score, token);
        iris_sync_wg();
    }
}

/* Rows of an expert, of all ranks before this one. */
IRIS_DEVICE uint32_t rows_of(const moe_args *a, uint32_t expert, uint32_t ranks)
{
    uint32_t rows = 0;
    for (uint32_t r = 0; r < ranks; r++)
        rows += a->counts[r * a->experts + expert];
    return rows;
}

/*
 * Where rows go: an expert's begin at a multiple of BLOCK, behind those of its owner's experts before it. Where they
 * come back to: on each rank an expert's follow those of all experts before it.
 */
IRIS_DEVICE void count(const moe_args *a)
{
    const uint32_t world = (uint32_t)a->ctx.world;
    iris_all_gather_ll_u32_wg(&a->ctx, &a->counting, iris_team_world(&a->ctx), 0, a->counts, a->count, a->experts,
                              a->experts);
    for (uint32_t e = iris_wg_lane(); e < a->experts; e += iris_wg_lanes()) {
        uint32_t first = 0;
        for (uint32_t before = e; before > 0; before--) {
            if (owner_of(a->experts, world, before - 1) != owner_of(a->experts, world, e))
                break;
            first += (rows_of(a, before - 1, world) + BLOCK - 1) / BLOCK * BLOCK;
        }
        a->first[e] = first, a->place[e] = first + rows_of(a, e, (uint32_t)a->ctx.rank);
        a->count[e] = 0; /* for the next launch */
        for (uint32_t r = 0; r < world; r++) {
            a->home[r * a->experts + e] = 0;
            for (uint32_t before = 0; before < e; before++)
                a->home[r * a->experts + e] += a->counts[r * a->experts + before];
        }
    }
    iris_sync_wg();
}

/* A wave of the whole grid, and how many there are. */
IRIS_DEVICE uint32_t grid_wave(void) { return iris_workgroup() * iris_waves() + iris_wave(); }
IRIS_DEVICE uint32_t grid_waves(void) { return iris_workgroups() * iris_waves(); }

IRIS_DEVICE void dispatch(const moe_args *a)
{
    for (uint32_t row = grid_wave(); row < a->tokens * WANTED; row += grid_waves()) {
        const uint32_t expert = a->wanted[row], at = a->place[expert] + a->nth[row];
        const int to = (int)owner_of(a->experts, (uint32_t)a->ctx.world, expert);
        if (at >= a->inbox_rows)
            continue; /* counts of a world that has stopped */
        iris_put_signal_bf16_wave(&a->ctx, a->inbox + (size_t)at * a->width, a->x + (size_t)row / WANTED * a->width,
                                  a->width, a->arrived + at / BLOCK, 1, IRIS_SIGNAL_ADD, to);
    }
}

/* BLOCK rows of x times a matrix of `depth` rows, by one workgroup: 8 columns a lane, 8 terms at a time. */
IRIS_DEVICE void multiply(const iris_bf16 *x, const iris_bf16 *weights, uint32_t depth, uint32_t columns, int silu,
                          iris_bf16 *y)
{
    const iris_vec_bf16 *rows = (const iris_vec_bf16 *)(const void *)x;
    for (uint32_t c = iris_wg_lane(); c < columns / 8; c += iris_wg_lanes()) {
        const iris_vec_bf16 *w = (const iris_vec_bf16 *)(const void *)weights + c;
        float sum[BLOCK][8];
        for (uint32_t i = 0; i < BLOCK * 8; i++)
            sum[i / 8][i % 8] = 0;
        for (uint32_t k = 0; k < depth; k += 8) {
            iris_vec_bf16 part[8];
            for (uint32_t j = 0; j < 8; j++)
                part[j] = w[(size_t)(k + j) * (columns / 8)];
            for (uint32_t r = 0; r < BLOCK; r++) {
                const iris_vec_bf16 row = rows[((size_t)r * depth + k) / 8];
                for (uint32_t j = 0; j < 8; j++)
                    for (uint32_t e = 0; e < 8; e++)
                        sum[r][e] += iris_widen_bf16(row.v[j]) * iris_widen_bf16(part[j].v[e]);
            }
        }
        for (uint32_t r = 0; r < BLOCK; r++) {
            iris_vec_bf16 out;
            for (uint32_t e = 0; e < 8; e++)
                out.v[e] = iris_narrow_bf16(silu ? iris_silu_f32(sum[r][e]) : sum[r][e]);
            ((iris_vec_bf16 *)(void *)y)[(size_t)r * (columns / 8) + c] = out;
        }
    }
}

/* Puts an expert's row back to where it came from: rows are in the order of ranks. Every lane of a wave calls it. */
IRIS_DEVICE void put_back(const moe_args *a, uint32_t expert, uint32_t nth, const iris_bf16 *row)
{
    uint32_t rank = 0;
    while (rank + 1 < (uint32_t)a->ctx.world && nth >= a->counts[rank * a->experts + expert])
        nth -= a->counts[rank++ * a->experts + expert];
    const uint32_t at = a->home[rank * a->experts + expert] + nth;
    if (at < a->back_rows)
        iris_put_signal_bf16_wave(&a->ctx, a->back + (size_t)at * a->width, row, a->width, a->returned + at, 1,
                                  IRIS_SIGNAL_ADD, (int)rank);
}

/*
 * Computes an own expert's rows nth .. nth + rows - 1, up to BLOCK of them, and puts them back. Rows behind the last
 * are computed, and go nowhere.
 */
IRIS_DEVICE void compute_block(const moe_args *a, uint32_t expert, uint32_t own, uint32_t nth, uint32_t rows)
{
    const uint32_t at = a->first[expert] + nth;
    const size_t matrix = (size_t)a->width * a->inner;
    iris_bf16 *hidden = a->hidden + (size_t)iris_workgroup() * BLOCK * a->inner;
    const uint64_t expected = a->expected[at / BLOCK] + rows;
    if (!iris_wait_ge_wg(&a->ctx, a->arrived + at / BLOCK, expected))
        return; /* given up: the world has stopped */
    if (iris_wg_lane() == 0)
        a->expected[at / BLOCK] = expected;
    multiply(a->inbox + (size_t)at * a->width, a->up + own * matrix, a->width, a->inner, 1, hidden);
    iris_sync_wg();
    multiply(hidden, a->down + own * matrix, a->inner, a->width, 0, a->result + (size_t)at * a->width);
    iris_sync_wg();
    for (uint32_t r = iris_wave(); r < rows; r += iris_waves())
        put_back(a, expert, nth + r, a->result + (size_t)(at + r) * a->width);
}

/* Blocks of own experts are dealt to the workgroups in turn. */
IRIS_DEVICE void compute(const moe_args *a)
{
    const uint32_t world = (uint32_t)a->ctx.world, rank = (uint32_t)a->ctx.rank;
    uint32_t own = 0, block = 0;
    for (uint32_t e = 0; e < a->experts; e++) {
        if (owner_of(a->experts, world, e) != rank)
            continue;
        const uint32_t rows = rows_of(a, e, world);
        for (uint32_t r = 0; r < rows; r += BLOCK, block++)
            if (block % iris_workgroups() == iris_workgroup())
                compute_block(a, e, own, r, rows - r < BLOCK ? rows - r : (uint32_t)BLOCK);
        own++;
    }
}

IRIS_DEVICE void combine(const moe_args *a, uint64_t turn)
{
    for (uint32_t token = grid_wave(); token < a->tokens; token += grid_waves()) {
        uint32_t at[WANTED];
        for (uint32_t k = 0; k < WANTED; k++) {
            const uint32_t row = token * WANTED + k;
            at[k] = a->home[(uint32_t)a->ctx.rank * a->experts + a->wanted[row]] + a->nth[row];
            if (at[k] >= a->back_rows || !iris_wait_ge_wave(&a->ctx, a->returned + at[k], turn))
                return;
        }
        for (uint32_t i = iris_lane(); i < a->width; i += iris_wave_lanes()) {
            float sum = 0;
            for (uint32_t k = 0; k < WANTED; k++)
                sum += a->gate[token * WANTED + k] * iris_widen_bf16(a->back[(size_t)at[k] * a->width + i]);
            a->out[(size_t)token * a->width + i] = sum;
        }
    }
}

/*
 * Nobody waits for a rank that waits for it: a workgroup sends all that it has to send before it waits for a row, and
 * computes all that it has to compute before it waits for one to come back. A rank that sends in the next launch has
 * heard everybody's counts of it, so everybody is done with this one.
 */
IRIS_KERNEL(moe, moe_args, a, LANES)
{
    const uint64_t turn = iris_channel_enter_wg(&a->turns);
    route(a);
    iris_grid_sync(&a->ctx, &a->grid); /* counts are whole */
    if (iris_workgroup() == 0)
        count(a);
    iris_grid_sync(&a->ctx, &a->grid); /* places are known */
    if (!iris_stopped_wg(&a->ctx)) {   /* else counts are not to be trusted */
        dispatch(a);
        compute(a);
        combine(a, turn);
    }
    iris_channel_leave_wg(&a->turns, turn, iris_workgroups());
}

typedef struct options {
    int ranks;
    uint32_t tokens, experts, width, inner, turns, seed, time;
} options;

enum { X, ROUTER, BIAS, UP, DOWN };

/* A multiple of 1/64 in [-1, 1): exact in bf16, and so that sums of the router are exact in f32. */
static float element(const options *o, uint32_t what, uint64_t which, uint64_t i)
{
    const uint64_t z = mixed(mixed(mixed((uint64_t)o->seed * 8 + what) + which) + (i + 1) * 0x9E3779B97F4A7C15u);
    return (float)(int)(z % 128) / 64 - 1;
}

static float token_at(const options *o, int rank, uint32_t turn, size_t i)
{
    return element(o, X, (uint64_t)rank << 32 | turn, i);
}

static float router_at(const options *o, size_t i) { return element(o, ROUTER, 0, i); }

/* Some experts are wanted more than others, and one, where there are enough, by nobody. */
static float bias_at(const options *o, uint32_t expert)
{
    return expert == 1 && o->experts > WANTED ? -1e6f : 4 * element(o, BIAS, 0, expert);
}

/* Weights of such a size that a layer neither swells nor fades. */
static float weight_at(const options *o, uint32_t what, uint32_t expert, size_t i)
{
    const float scale = 2 / sqrtf((float)(what == UP ? o->width : o->inner));
    return iris_widen_bf16(iris_narrow_bf16(element(o, what, expert, i) * scale));
}

/* A rank's tokens: none on the second one, where there are more than one. */
static uint32_t tokens_of(const options *o, int rank)
{
    return rank == 1 ? 0 : o->tokens > (uint32_t)rank ? o->tokens - (uint32_t)rank : 1;
}

/* The score of an expert; exact, as on the device. */
static float score_of(const options *o, const float *x, uint32_t expert)
{
    float sum = bias_at(o, expert);
    for (uint32_t i = 0; i < o->width; i++)
        sum += x[i] * router_at(o, (size_t)i * o->experts + expert);
    return sum;
}

/* Adds what an expert makes of a token; `allowed`: what rounding to bf16 in between and at the end may change. */
static void add_expert(const options *o, const float *x, uint32_t expert, double gate, double *y, double *allowed)
{
    double *row = (double *)calloc(2 * (size_t)o->width, sizeof *row), *terms = row + o->width;
    for (uint32_t h = 0; h < o->inner && row; h++) {
        double sum = 0;
        for (uint32_t i = 0; i < o->width; i++)
            sum += (double)x[i] * weight_at(o, UP, expert, (size_t)i * o->inner + h);
        sum /= 1 + exp(-sum);
        for (uint32_t i = 0; i < o->width; i++) {
            const double term = sum * weight_at(o, DOWN, expert, (size_t)h * o->width + i);
            row[i] += term, terms[i] += fabs(term);
        }
    }
    for (uint32_t i = 0; i < o->width; i++) {
        y[i] += row ? gate * row[i] : NAN;
        allowed[i] += row ? gate * ((terms[i] + fabs(row[i])) / 256 + 1e-4) : 0;
    }
    free(row);
}

/* A token's output, by double. */
static void expect(const options *o, const float *x, double *y, double *allowed)
{
    float score[MOST_EXPERTS] = {0};
    uint32_t best = 0, next;
    for (uint32_t e = 0; e < o->experts; e++) {
        score[e] = score_of(o, x, e);
        best = score[e] > score[best] ? e : best;
    }
    next = best == 0;
    for (uint32_t e = 0; e < o->experts; e++)
        next = e != best && score[e] > score[next] ? e : next;
    const double gate = 1 / (1 + exp((double)score[next] - score[best]));
    for (uint32_t i = 0; i < o->width; i++)
        y[i] = allowed[i] = 0;
    add_expert(o, x, best, gate, y, allowed);
    add_expert(o, x, next, 1 - gate, y, allowed);
}

/* Memory of the device from a function of the place. */
static iris_status fill(iris_world *w, const options *o, void *to, size_t n, int narrow, uint32_t what, uint32_t which)
{
    float *wide = (float *)malloc((n + 1) * sizeof *wide);
    for (size_t i = 0; i < n && wide; i++) {
        const float v = what == X        ? token_at(o, iris_rank(w), which, i)
                        : what == ROUTER ? router_at(o, i)
                        : what == BIAS   ? bias_at(o, (uint32_t)i)
                                         : weight_at(o, what, which, i);
        if (narrow)
            ((iris_bf16 *)(void *)wide)[i] = iris_narrow_bf16(v);
        else
            wide[i] = v;
    }
    const iris_status s =
        wide ? iris_memcpy(w, to, wide, n * (narrow ? sizeof(iris_bf16) : sizeof *wide)) : IRIS_ERR_NOMEM;
    free(wide);
    return s;
}

/* Checks some of the rank's tokens, the first and the last among them. */
static int check(iris_world *w, const options *o, const moe_args *a, uint32_t turn)
{
    enum { CHECKED = 8 };
    const size_t n = (size_t)a->tokens * a->width;
    float *out = (float *)malloc((n + 1) * sizeof *out), *x = (float *)malloc(a->width * sizeof *x);
    double *y = (double *)malloc(2 * a->width * sizeof *y), worst = 0, all[MOST_RANKS];
    const uint32_t checked = a->tokens < CHECKED ? a->tokens : (uint32_t)CHECKED;
    IRIS_TRY(out && x && y ? IRIS_OK : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_memcpy(w, out, a->out, n * sizeof *out));
    for (uint32_t c = 0; c < checked; c++) {
        const uint32_t token = checked < 2 ? 0 : (uint32_t)((uint64_t)c * (a->tokens - 1) / (checked - 1));
        for (uint32_t i = 0; i < a->width; i++)
            x[i] = token_at(o, iris_rank(w), turn, (size_t)token * a->width + i);
        expect(o, x, y, y + a->width);
        for (uint32_t i = 0; i < a->width; i++)
            worst = worse(worst, fabs((double)out[(size_t)token * a->width + i] - y[i]) / y[a->width + i]);
    }
    for (size_t i = 0; i < n; i++)
        worst = out[i] - out[i] == 0 ? worst : NAN; /* what nobody has written */
    free(out), free(x), free(y);
    IRIS_TRY(iris_allgather(w, &worst, all, sizeof worst));
    for (int r = 0; r < o->ranks; r++)
        worst = worse(worst, all[r]);
    if (iris_rank(w) == 0)
        printf("launch %u: tokens are %s; largest error: %.2g of what rounding may cause\n", turn + 1,
               worst <= 1 ? "right" : "wrong", worst);
    return !(worst <= 1);
}

LAUNCHES(moe, moe_args)

static int rank_main(iris_world *w, void *arg)
{
    const options *o = (const options *)arg;
    const uint32_t world = (uint32_t)iris_world_size(w);
    const iris_gemm_rows own = iris_gemm_shard(o->experts, world, (uint32_t)iris_rank(w));
    const uint32_t most = (uint32_t)iris_max_workgroups(w, moe, LANES, MOST_EXPERTS * sizeof(float));
    const uint32_t few = 2 * (uint32_t)iris_compute_units(w), workgroups = most < few ? most : few;
    iris_launch_config grid = iris_cooperative(workgroups, LANES);
    int failed = workgroups == 0;
    moe_args a;
    memset(&a, 0, sizeof a);
    grid.shared_bytes = MOST_EXPERTS * sizeof(float);
    a.ctx = iris_device_ctx(w);
    a.tokens = tokens_of(o, iris_rank(w));
    a.experts = o->experts, a.width = o->width, a.inner = o->inner;
    const size_t matrix = (size_t)o->width * o->inner, leave = (size_t)o->tokens * WANTED;
    const size_t come = world * leave + (size_t)BLOCK * (o->experts / world + 1); /* all tokens to one rank */
    iris_bf16 *x = iris_empty_bf16(w, (size_t)o->tokens * o->width);
    float *router = iris_empty_f32(w, (size_t)o->width * o->experts), *bias = iris_empty_f32(w, o->experts);
    iris_bf16 *up = iris_empty_bf16(w, (o->experts / world + 1) * matrix);
    iris_bf16 *down = iris_empty_bf16(w, (o->experts / world + 1) * matrix);
    a.x = x, a.router = router, a.bias = bias, a.up = up, a.down = down;
    a.wanted = iris_empty_u32(w, leave), a.nth = iris_empty_u32(w, leave), a.gate = iris_empty_f32(w, leave);
    a.count = iris_zeros_u32(w, o->experts), a.counts = iris_empty_u32(w, (size_t)world * o->experts);
    a.first = iris_empty_u32(w, o->experts), a.place = iris_empty_u32(w, o->experts);
    a.inbox = iris_zeros_bf16(w, come * o->width), a.back = iris_empty_bf16(w, leave * o->width);
    a.home = iris_empty_u32(w, (size_t)world * o->experts);
    a.inbox_rows = (uint32_t)come, a.back_rows = (uint32_t)leave;
    a.arrived = iris_signals(w, come / BLOCK + 1), a.returned = iris_signals(w, leave);
    a.expected = iris_zeros_u64(w, come / BLOCK + 1);
    a.hidden = iris_empty_bf16(w, (size_t)workgroups * BLOCK * o->inner);
    a.result = iris_empty_bf16(w, come * o->width);
    a.out = iris_empty_f32(w, (size_t)o->tokens * o->width);
    IRIS_TRY(a.up && a.down && a.inbox && a.back && a.arrived && a.returned && a.hidden && a.result && a.out
                 ? IRIS_OK
                 : IRIS_ERR_NOMEM);
    IRIS_TRY(iris_channel_create(w, &a.turns, 0, 0));
    IRIS_TRY(iris_channel_create(w, &a.grid, 1, 0));
    IRIS_TRY(iris_collective_channel(w, &a.counting, 0));
    IRIS_TRY(fill(w, o, router, (size_t)o->width * o->experts, 0, ROUTER, 0));
    IRIS_TRY(fill(w, o, bias, o->experts, 0, BIAS, 0));
    for (uint32_t e = 0; e < own.count; e++) {
        IRIS_TRY(fill(w, o, up + e * matrix, matrix, 1, UP, own.first + e));
        IRIS_TRY(fill(w, o, down + e * matrix, matrix, 1, DOWN, own.first + e));
    }
    IRIS_TRY(iris_barrier(w)); /* every channel exists */
    for (uint32_t turn = 0; turn < o->turns; turn++) {
        IRIS_TRY(fill(w, o, x, (size_t)a.tokens * o->width, 1, X, turn));
        IRIS_TRY(iris_memset(w, a.out, 0xFF, (size_t)o->tokens * o->width * sizeof *a.out)); /* NaN */
        IRIS_TRY(iris_launch(w, moe, &a, sizeof a, &grid, iris_default_stream(w)));
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
    options o = {4, 45, 10, 72, 96, 3, 1, 0};
    const number known[] = {
        {"tokens", &o.tokens, 1, 65536, "of the first rank; the others have fewer, and the second has none"},
        {"experts", &o.experts, WANTED, MOST_EXPERTS, "of all ranks"},
        {"width", &o.width, 8, 8192, "elements of a token, a multiple of 8"},
        {"inner", &o.inner, 8, 32768, "elements between an expert's two products, a multiple of 8"},
        {"launches", &o.turns, 1, 1000, "one after the other, with other tokens each"},
        {"seed", &o.seed, 1, UINT32_MAX, "another one makes other numbers"},
        {"time", &o.time, 1, 0, "times a launch"}};
    const int status = parse_numbers(argc, argv, "A layer of a mixture of experts, in one kernel on each rank.", known,
                                     sizeof known / sizeof *known, &o.ranks);
    if (status >= 0)
        return status;
    if (o.width % 8 != 0 || o.inner % 8 != 0) {
        fprintf(stderr, "%s: --width %u --inner %u: both must be multiples of 8\n", argv[0], o.width, o.inner);
        return 2;
    }
    const size_t ranks = (size_t)o.ranks, rows = ranks * o.tokens * WANTED + BLOCK * (o.experts / ranks + 1);
    const size_t weights = 2 * (o.experts / ranks + 1) * o.width * o.inner + (size_t)o.experts * o.width * 2;
    iris_config config;
    memset(&config, 0, sizeof config);
    config.heap_bytes = (weights + 2 * rows * (o.width + 4) + (size_t)o.tokens * o.width * 8) * sizeof(iris_bf16) +
                        (size_t)4096 * BLOCK * o.inner * sizeof(iris_bf16) / (ranks > 1 ? 2 : 1) + (32u << 20);
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
