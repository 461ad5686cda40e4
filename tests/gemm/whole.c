/* SPDX-License-Identifier: MIT */
/*
 * whole.c: what is chosen where tiles are all of one width, with the shapes and figures of AMD's devices, on the host.
 *
 * The model: more bytes, a longer K, slower links and later signals never end sooner. The choice, for random problems
 * and grids: the best of all that the model knows, the same on every rank whatever each was asked for, and never a
 * number of senders that leaves none to compute; on chiplets as many senders on each. Alone a rank sends nothing. Where
 * each workgroup has one tile at most, as in decoding, none of them only sends; where products take long and there are
 * several rounds, something is sent beside them. A fast BLAS is chosen, a slow or unknown one is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/arch/select.h>

#include <iris/gemm/plan.h>

#define IRIS_MAINLOOP_HOST_GEMM_SHAPE_H /* not this platform's shape, but: */
#include <iris/mainloop/amd/gemm_shape.h>

#include <iris/mainloop/shape.h>

#define IRIS_INIT_C
#include <iris/runtime/gemm/tile_search.h>

static const struct device {
    const char *arch;
    uint32_t large, small, units;
} devices[] = {
    {"gfx90a", IRISI_GEMM_MFMA_GFX90A, IRISI_GEMM_MFMA_GFX90A_SMALL, 110},
    {"gfx942", IRISI_GEMM_MFMA_GFX942, IRISI_GEMM_MFMA_GFX942_SMALL, 304},
    {"gfx950", IRISI_GEMM_MFMA_GFX950, IRISI_GEMM_MFMA_GFX950_SMALL, 256},
};
enum { DEVICES = sizeof devices / sizeof devices[0], GFX942 = 1 };

typedef struct question {
    uint32_t device, m, n, k, world, workgroups, pattern, element, c_element;
    int plain; /* no other mainloop */
} question;

static unsigned failures;
static unsigned chosen[IRIS_GEMM_PATTERNS + 1];

static void fail(const question *q, const iris_gemm_plan *p, const char *what)
{
    if (failures++ < 20)
        printf("%s, %u x %u x %u, %u ranks, %u workgroups, pattern %u of %u, %u senders: %s\n", devices[q->device].arch,
               q->m, q->n, q->k, q->world, q->workgroups, p->pattern, q->pattern, p->machine.comm_workgroups, what);
}

/* Fills in what iris_gemm_prepare has before the cut. */
static iris_gemm_plan fill(const question *q, uint32_t rank, uint32_t senders)
{
    const struct device *d = &devices[q->device];
    irisi_gemm_problem problem;
    iris_gemm_plan p;
    memset(&problem, 0, sizeof problem), memset(&p, 0, sizeof p);
    problem.mainloops = 1u << IRISI_GEMM_PLAIN;
    if (!q->plain)
        problem.mainloops |= 1u << d->large | 1u << d->small | 1u << IRISI_GEMM_SKINNY_MFMA;
    problem.element = q->element, problem.c_element = q->c_element, problem.accumulator = q->element == 8 ? 8 : 4;
    problem.m = q->m, problem.n = iris_gemm_band(q->n, q->world, 0).count, problem.k = q->k;
    problem.aligned = 1, problem.workgroups = q->workgroups;
    const irisi_gemm_shape s = irisi_gemm_pick(d->arch, &problem);
    const iris_gemm_columns own = iris_gemm_band(q->n, q->world, rank);
    p.op = IRIS_GEMM_ALL_SCATTER;
    p.m = p.most_m = p.region.rows = q->m, p.n = q->n, p.k = q->k, p.world = q->world, p.rank = rank;
    p.region.n0 = own.first, p.region.columns = own.count, p.operands.element = q->element,
    p.operands.c_element = q->c_element;
    p.mainloop = s.mainloop, p.tiling.tile_m = s.tile_m, p.tiling.tile_n = p.tiling.unit = s.tile_n;
    p.pattern = q->pattern, p.machine.workgroups = q->workgroups, p.machine.xcds = irisi_gemm_xcds(d->arch, d->units);
    p.machine.comm_workgroups = senders ? senders : irisi_gemm_sixth(&p);
    return p;
}

static iris_gemm_plan choose(const question *q, uint32_t rank, uint32_t senders, double tflops)
{
    const irisi_gemm_cutting open = irisi_gemm_open_cut();
    iris_gemm_plan p = fill(q, rank, senders);
    if (!irisi_gemm_cut(&p, senders, &open, tflops))
        fail(q, &p, "a plan without cuts is refused");
    return p;
}

/* The next of a sequence of numbers below `n`. */
static uint32_t draw(uint32_t n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static question any(void)
{
    question q;
    q.device = draw(DEVICES), q.plain = draw(4) == 0;
    q.m = 1 + draw(draw(2) ? 300 : 20000), q.n = 1 + draw(draw(4) ? 20000 : 20), q.k = 1 + draw(30000);
    q.world = 1 + draw(8), q.workgroups = draw(2) ? devices[q.device].units : 1 + draw(draw(2) ? 12 : 300);
    q.element = q.plain ? 1u << draw(4) : 2, q.c_element = q.plain ? q.element : 2, q.pattern = IRIS_GEMM_AUTO;
    return q;
}

/* What makes any part take longer makes no pattern faster. */
static void check_model(const question *q)
{
    for (uint32_t pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        const uint32_t senders = q->workgroups > 1 ? 1 + draw(q->workgroups - 1) : 0;
        const iris_gemm_plan p = fill(q, 0, 0);
        const irisi_gemm_rates rates = irisi_gemm_rates_of(&p);
        iris_gemm_plan more = p;
        irisi_gemm_rates slow = rates;
        if (irisi_gemm_splits(pattern) && senders == 0)
            continue;
        const double us = irisi_gemm_whole_us(&p, &rates, pattern, senders);
        if (!(us >= rates.tile_us) || !(us < 1e18))
            fail(q, &p, "it takes no time, or for ever");
        more.operands.c_element *= 2;
        if (irisi_gemm_whole_us(&more, &rates, pattern, senders) < us)
            fail(q, &p, "more bytes are faster");
        more = p, more.k += 1 + draw(1000);
        slow = irisi_gemm_rates_of(&more);
        if (irisi_gemm_whole_us(&more, &slow, pattern, senders) < us)
            fail(q, &p, "a longer K is faster");
        more = p, more.m += draw(1000), more.n += draw(1000); /* with the same tiles */
        if (irisi_gemm_whole_us(&more, &rates, pattern, senders) < us * (1 - 1e-9))
            fail(q, &p, "a larger C is faster");
        more = p, more.world++, more.n = iris_gemm_band(p.n, p.world, 0).count * more.world;
        if (irisi_gemm_whole_us(&more, &rates, pattern, senders) < us)
            fail(q, &p, "more peers are faster");
        for (int i = 0; i < 7; i++) {
            slow = rates;
            double *const rate[] = {&slow.link_gbps, &slow.links_gbps, &slow.sender_gbps, &slow.memory_gbps};
            double *const time[] = {&slow.tile_us, &slow.signal_us, &slow.launch_us};
            if (i < 4)
                *rate[i] /= 2;
            else
                *time[i - 4] *= 2;
            if (irisi_gemm_whole_us(&p, &slow, pattern, senders) < us)
                fail(q, &p, "a slower device is faster");
        }
    }
}

/* The earliest end of all patterns and numbers of senders that keep chiplets alike. */
static double best_us(const iris_gemm_plan *p, const irisi_gemm_rates *rates)
{
    double best = irisi_gemm_whole_us(p, rates, IRIS_GEMM_FUSED_SEQUENTIAL, 0);
    for (uint32_t pattern = 1; pattern < IRIS_GEMM_PATTERNS && p->world > 1; pattern++) {
        const uint32_t step = p->machine.xcds > 1 ? p->machine.xcds : 4, splits = (uint32_t)irisi_gemm_splits(pattern);
        for (uint32_t n = splits ? step : 0; n <= (splits ? p->machine.workgroups / 4 : 0); n += step) {
            const double us = irisi_gemm_whole_us(p, rates, pattern, n);
            best = us < best ? us : best;
        }
    }
    return best;
}

static void check_choice(const question *q)
{
    const iris_gemm_plan first = choose(q, 0, 0, 0);
    const irisi_gemm_rates rates = irisi_gemm_rates_of(&first);
    const int splits = irisi_gemm_splits(first.pattern);
    const uint64_t tiles = irisi_gemm_tiles(&first);
    chosen[first.pattern]++;
    if (first.pattern == IRIS_GEMM_AUTO || first.pattern >= IRIS_GEMM_PATTERNS)
        fail(q, &first, "nothing is chosen");
    if (splits && (first.machine.comm_workgroups == 0 || first.machine.comm_workgroups >= q->workgroups))
        fail(q, &first, "nobody sends, or nobody computes");
    if (splits && q->workgroups >= 32 && first.machine.comm_workgroups % first.machine.xcds != 0)
        fail(q, &first, "chiplets have different numbers of senders");
    if (q->world == 1 && first.pattern != IRIS_GEMM_FUSED_SEQUENTIAL)
        fail(q, &first, "there is nobody to send to");
    if (tiles <= 3 * (uint64_t)q->workgroups / 4 && first.pattern != IRIS_GEMM_FUSED_SEQUENTIAL)
        fail(q, &first, "there is one round, and nothing to send beside it");
    if (q->workgroups >= 32 && irisi_gemm_whole_us(&first, &rates, first.pattern, first.machine.comm_workgroups) >
                                   best_us(&first, &rates) * (1 + 1e-9))
        fail(q, &first, "another choice would end sooner");
    for (uint32_t rank = 1; rank < q->world; rank++) {
        const iris_gemm_plan p = choose(q, rank, 0, 0);
        const uint32_t senders = 1 + draw(q->workgroups);
        const iris_gemm_plan asked = choose(q, rank, senders, 0);
        if (p.pattern != first.pattern || p.machine.comm_workgroups != first.machine.comm_workgroups)
            fail(q, &p, "ranks have come to different ends");
        if (asked.pattern != first.pattern)
            fail(q, &asked, "a number of senders that one rank is asked for changes its pattern");
        if (asked.machine.comm_workgroups != senders)
            fail(q, &asked, "another number of senders was chosen than was asked for");
    }
}

/* Where the pattern is given it stays, and so does a number of senders that is asked for. The tiles are the band's. */
static void check_given(const question *given)
{
    question q = *given;
    q.pattern = 1 + draw(IRIS_GEMM_PATTERNS - 1);
    const uint32_t senders = 1 + draw(q.workgroups);
    const iris_gemm_plan open = choose(&q, 0, 0, 1e9), asked = choose(&q, 0, senders, 1e9);
    if (open.pattern != q.pattern || asked.pattern != q.pattern)
        fail(&q, &open, "another pattern was chosen than was asked for");
    if (asked.machine.comm_workgroups != senders)
        fail(&q, &asked, "another number of senders was chosen than was asked for");
    if (q.workgroups > 1 && (open.machine.comm_workgroups == 0 || open.machine.comm_workgroups >= q.workgroups))
        fail(&q, &open, "nobody sends, or nobody computes");
    if (open.tiling.positions != (open.m + open.tiling.tile_m - 1) / open.tiling.tile_m *
                                     ((open.region.columns + open.tiling.tile_n - 1) / open.tiling.tile_n) ||
        open.tiling.runs[0].tiles != open.tiling.positions || open.tiling.runs[0].width != open.tiling.tile_n ||
        open.tiling.sender_tiles != 0 || open.tiling.cluster != 1)
        fail(&q, &open, "the tiles are not the band");
}

/* In TFLOP/s: 10^9 are faster than anything but the launch of its own that it takes, 10^-9 slower, 0 is unknown. */
static void check_blas(const question *q)
{
    const iris_gemm_plan none = choose(q, 0, 0, 0), fast = choose(q, 0, 0, 1e9), slow = choose(q, 0, 0, 1e-9);
    if (none.pattern == IRIS_GEMM_BLAS_GATHER || slow.pattern == IRIS_GEMM_BLAS_GATHER)
        fail(q, &none, "a slow or unknown BLAS is chosen");
    if (fast.pattern != IRIS_GEMM_BLAS_GATHER && irisi_gemm_rates_of(&fast).tile_us > 20)
        fail(q, &fast, "a fast BLAS is not chosen");
}

/* Shapes of models on MI300X. */
static void check_shapes(void)
{
    static const question decode = {GFX942, 64, 8192, 8192, 8, 304, IRIS_GEMM_AUTO, 2, 2, 0};
    static const question one_round = {GFX942, 8192, 4096, 14336, 8, 304, IRIS_GEMM_AUTO, 2, 2, 0};
    static const question large[] = {{GFX942, 8192, 8192, 28672, 8, 304, IRIS_GEMM_AUTO, 2, 2, 0},
                                     {GFX942, 16384, 16384, 16384, 8, 304, IRIS_GEMM_AUTO, 2, 2, 0},
                                     {GFX942, 16384, 16384, 16384, 2, 304, IRIS_GEMM_AUTO, 2, 2, 0},
                                     {GFX942, 16384, 16384, 16384, 8, 304, IRIS_GEMM_AUTO, 1, 2, 0}};
    const iris_gemm_plan blas = choose(&one_round, 0, 0, 900), few = choose(&decode, 0, 0, 0);
    if (blas.pattern != IRIS_GEMM_BLAS_GATHER)
        fail(&one_round, &blas, "a fast BLAS is not chosen");
    if (few.pattern != IRIS_GEMM_FUSED_SEQUENTIAL)
        fail(&decode, &few, "some workgroups only send where there is next to nothing to compute");
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        const iris_gemm_plan p = choose(&large[i], 0, 0, 0);
        if ((p.pattern != IRIS_GEMM_WG_SPECIALIZED && p.pattern != IRIS_GEMM_WAVE_SPECIALIZED) ||
            p.machine.comm_workgroups % 8 != 0)
            fail(&large[i], &p, "nothing is sent beside long products");
    }
}

/* What a tuner is told to try, for each pattern: the model's order, each number of senders once. */
static void check_candidates(const question *given)
{
    irisi_gemm_cutting rows[4];
    irisi_gemm_ranking best = {rows, 0, 4};
    question q = *given;
    q.pattern = 1 + draw(IRIS_GEMM_PATTERNS - 1);
    const iris_gemm_plan p = fill(&q, 0, 0);
    irisi_gemm_rank_whole(&p, 0, &best);
    if (best.n == 0 && (q.workgroups > 1 || !irisi_gemm_splits(q.pattern)))
        fail(&q, &p, "a pattern has no candidate");
    for (uint32_t i = 0; i < best.n; i++) {
        if (rows[i].pattern != q.pattern || rows[i].width != p.tiling.tile_n || rows[i].senders >= q.workgroups ||
            (rows[i].senders == 0) == irisi_gemm_splits(q.pattern))
            fail(&q, &p, "a candidate cannot be");
        if (i > 0 && (rows[i].us < rows[i - 1].us || rows[i].senders == rows[i - 1].senders))
            fail(&q, &p, "candidates are not in order, or the same");
    }
}

int main(void)
{
    for (int i = 0; i < 20000; i++) {
        const question q = any();
        check_model(&q);
        check_choice(&q);
        check_given(&q);
        check_blas(&q);
        check_candidates(&q);
    }
    check_shapes();
    (void)irisi_gemm_covers; /* cuts are not asked for here */
    if (chosen[IRIS_GEMM_FUSED_SEQUENTIAL] < 100 || chosen[IRIS_GEMM_WG_SPECIALIZED] < 100)
        failures++, printf("%u times fused_sequential was chosen, %u times wg_specialized\n",
                           chosen[IRIS_GEMM_FUSED_SEQUENTIAL], chosen[IRIS_GEMM_WG_SPECIALIZED]);
    printf("%u failures\n", failures);
    return failures != 0;
}
