/* SPDX-License-Identifier: MIT */
/*
 * cut.c: how bands are cut into tiles of several widths, with the shapes and times of sm_90a, on the host.
 *
 * For random problems, worlds, grids and patterns every element of each rank's band is in one tile, every unit counts
 * once, flags are within the channel, and all ranks have come to the same pattern, widths and senders. The workgroups
 * of a pair meet tiles one below the other, or side by side where they compute together, which both have rows for then;
 * who adds up splits of K stands behind those who compute them. The same holds of fewer rows in the same cut. One
 * workgroup that computes, and huge problems, must come to an end too. Then bands themselves; and cuts that somebody
 * asks for: of any numbers, those that cover the band are laid as asked, and the others are told apart. A fast BLAS is
 * chosen, a slow one is not. The loops that few rows of bf16 take. And where tensor maps stand in a plan.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/arch/select.h>

#include <iris/gemm/exchange.h>

#define irisi_tile_cuts() 1 /* as on the device that has several widths */
#include <iris/gemm/scheduler.h>

#define IRIS_MAINLOOP_SHAPE_H /* not this platform's shape, but: */
#include <iris/mainloop/nvidia/gemm_shape.h>

#define IRIS_INIT_C
#include <iris/runtime/gemm/tile_search.h>

typedef struct question {
    uint32_t m, n, k, world, workgroups, senders, pattern, tile_m, tile_n;
    int tma_store;
} question;

static unsigned failures;
static unsigned by_senders;    /* plans whose senders compute first */
static unsigned pairs_split_k; /* pairs that compute tiles together */

static void fail(const question *q, uint32_t rank, const char *what)
{
    if (failures++ < 10)
        printf("%u x %u x %u, rank %u of %u, %u workgroups, %u senders, pattern %u, tiles %u x %u: %s\n", q->m, q->n,
               q->k, rank, q->world, q->workgroups, q->senders, q->pattern, q->tile_m, q->tile_n, what);
}

/* Fills in what iris_gemm_prepare has before the cut. */
static void fill(iris_gemm_plan *p, const question *q, uint32_t rank)
{
    const iris_gemm_columns own = iris_gemm_band(q->n, q->world, rank);
    memset(p, 0, sizeof *p);
    p->op = IRIS_GEMM_ALL_SCATTER;
    p->m = p->most_m = p->region.rows = q->m, p->n = q->n, p->k = q->k, p->world = q->world, p->rank = rank;
    p->region.n0 = own.first, p->region.columns = own.count, p->operands.element = 2, p->mainloop = IRISI_GEMM_SM90A;
    p->operands.c_element = q->n % 3 == 0 ? 4 : 2; /* boxes of 4-byte C are sent by no engine */
    p->pattern = q->pattern, p->machine.workgroups = q->workgroups, p->machine.tma_store = (uint32_t)q->tma_store;
    p->machine.xcds = 1;
    p->machine.comm_workgroups = q->senders ? q->senders : irisi_gemm_sixth(p);
    p->tiling.tile_m = q->tile_m ? q->tile_m : (uint32_t)IRISI_GEMM_SM90A_M;
    p->tiling.tile_n = q->tile_n ? q->tile_n : (uint32_t)IRISI_GEMM_SM90A_N;
    p->tiling.unit = q->tile_n ? q->tile_n : irisi_gemm_narrowest(p->mainloop);
}

/* Cuts: as asked, if anything is; 0 when that cannot be. */
static int cut(iris_gemm_plan *p, const question *q, uint32_t rank, const irisi_gemm_cutting *asked, double tflops)
{
    fill(p, q, rank);
    const int laid = irisi_gemm_cut(p, q->senders, asked, tflops);
    p->tiling.rotate_m = (uint32_t)((uint64_t)p->tiling.tiles_m * rank / p->world),
    p->tiling.rotate = p->tiling.rotate_m * p->tiling.full_n;
    return laid;
}

/*
 * Two workgroups of a pair walk in step: the same columns and split, rows one tile apart; those of a pair_split_k side
 * by side.
 */
static void check_pairs(const question *q, const iris_gemm_plan *p)
{
    const int splits = irisi_gemm_splits(p->pattern) && p->machine.comm_workgroups < q->workgroups;
    const uint32_t senders = splits ? p->machine.comm_workgroups : 0;
    const uint32_t workers = p->machine.workgroups - p->machine.workgroups % p->tiling.cluster - senders;
    iris_tile upper, lower;
    if (workers % p->tiling.cluster != 0 || workers == 0 || p->machine.comm_workgroups % p->tiling.cluster != 0)
        fail(q, p->rank, "there are not whole pairs");
    if (p->tiling.split_k > 1 && p->tiling.positions > workers)
        fail(q, p->rank, "who adds up splits may stand before those who compute them");
    if (p->tiling.cluster == 1)
        return;
    iris_tile_begin(p, &upper, 2, 6), iris_tile_begin(p, &lower, 3, 6);
    while (iris_tile_next(p, &upper))
        if (!iris_tile_next(p, &lower) || lower.cols != upper.cols || lower.k_split != upper.k_split ||
            lower.pair_split_k != upper.pair_split_k || (upper.pair_split_k && (upper.cols % 64 != 0 || p->m <= 64)) ||
            lower.m0 != upper.m0 + (upper.pair_split_k ? 0 : p->tiling.tile_m) ||
            lower.n0 != upper.n0 + (upper.pair_split_k ? upper.cols : 0))
            fail(q, p->rank, "a pair falls apart");
        else
            pairs_split_k += upper.pair_split_k;
}

/*
 * wg_specialized on a grid of so many workgroups, which need not be those that the plan was cut for: every tile is
 * computed once, and goes one way: a sender waits for its flag, or it is its worker's last. Senders compute equally.
 */
static void check_ways(const question *q, const iris_gemm_plan *p, uint32_t grid)
{
    const uint32_t senders = p->machine.comm_workgroups, first = irisi_gemm_by_senders(p, grid, senders);
    const uint32_t sent = irisi_tile_sent(p, grid - senders);
    unsigned char *seen = (unsigned char *)calloc(p->tiling.positions + 1, 1);
    uint32_t met = 0;
    iris_tile t;
    by_senders += first > 0;
    for (uint32_t g = 0; seen && g < grid; g++) {
        const irisi_tile_schedule schedule = irisi_tile_schedule_split(p, g, grid, senders);
        uint32_t own = 0;
        for (irisi_tile_begin_schedule(p, &t, &schedule); irisi_tile_next_scheduled(p, &t, &schedule); met++, own++) {
            const uint32_t position = irisi_tile_position(&t);
            if (position >= p->tiling.positions || seen[position]++)
                fail(q, p->rank, "a tile is computed twice");
            if ((t.position >= schedule.direct) == (position < sent))
                fail(q, p->rank, "a tile goes to nobody, or by two ways");
        }
        if (g < senders && own != first / senders)
            fail(q, p->rank, "some senders compute, and others do not");
        if (first > 0 && own == 0)
            fail(q, p->rank, "senders compute while others have nothing to do");
    }
    if (met != p->tiling.positions)
        fail(q, p->rank, "a tile is not computed");
    free(seen);
}

static void check(const question *q, const iris_gemm_plan *first, const iris_gemm_plan *p)
{
    const uint32_t units = irisi_gemm_units(p, p->rank),
                   across = (p->region.columns + p->tiling.unit - 1) / p->tiling.unit, workers = 6;
    unsigned char *seen = (unsigned char *)calloc(units + 1, 1);
    uint64_t area = 0, positions = 0, raised = irisi_exchange_missing(p);
    iris_gemm_plan dealt = *p;
    dealt.machine.xcds =
        p->tiling.cluster > 1 ? 1 : 1 + p->m % 4; /* workers are dealt to chiplets, as AMD does; 6 not to 4 */
    for (uint32_t worker = 0; seen && worker < workers; worker++) {
        iris_tile t;
        for (iris_tile_begin(&dealt, &t, worker, workers); iris_tile_next(&dealt, &t); positions++) {
            const uint32_t many = irisi_tile_units(p, &t);
            if (!irisi_tile_ends(p, &t))
                continue;
            area += (uint64_t)t.rows * t.cols, raised += many;
            if (t.rows == 0 || t.cols == 0 || t.cols > p->tiling.tile_n || t.n0 % p->tiling.unit != 0 ||
                t.index + many > units || t.index != t.m0 / p->tiling.tile_m * across + t.n0 / p->tiling.unit) {
                fail(q, p->rank, "a tile is outside its band");
                continue;
            }
            for (uint32_t i = 0; i < many; i++)
                if (seen[t.index + i]++)
                    fail(q, p->rank, "two tiles have the same unit");
        }
    }
    if (positions != p->tiling.positions || area != (uint64_t)p->m * p->region.columns)
        fail(q, p->rank, "the tiles are not the band");
    if (raised != irisi_exchange_amount(first, p->rank))
        fail(q, p->rank, "a signal rises by another amount than peers wait for");
    if (units > irisi_gemm_units(first, 0))
        fail(q, p->rank, "flags are beyond the channel");
    if (p->pattern != first->pattern || p->tiling.cluster != first->tiling.cluster ||
        p->tiling.split_k != first->tiling.split_k || p->tiling.tile_n != first->tiling.tile_n ||
        p->tiling.unit != first->tiling.unit || p->machine.comm_workgroups != first->machine.comm_workgroups)
        fail(q, p->rank, "ranks have come to different ends");
    free(seen);
    check_pairs(q, p);
    const uint32_t own = p->machine.workgroups - p->machine.workgroups % p->tiling.cluster,
                   senders = p->machine.comm_workgroups;
    for (uint32_t grid = own; p->pattern == IRIS_GEMM_WG_SPECIALIZED && grid < own + 30; grid += 14)
        if (senders > 0 && senders < grid)
            check_ways(q, p, grid);
    if (p->tiling.sender_tiles > 0 && (p->pattern != IRIS_GEMM_WG_SPECIALIZED || p->tiling.split_k > 1 ||
                                       p->tiling.sender_tiles != first->tiling.sender_tiles))
        fail(q, p->rank, "there is nobody to compute before sending, or not on every rank");
}

/* The next of a sequence of numbers below `n`. */
static uint32_t draw(uint32_t n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* The same cut of fewer rows, as iris_gemm_set_rows lays it, and of all of them again. */
static void check_fewer(const question *q, const iris_gemm_plan *first, const iris_gemm_plan *p)
{
    iris_gemm_plan fewer = *p;
    const uint32_t some[] = {draw(p->m + 1), draw(2), p->m};
    for (int i = 0; i < 3; i++) {
        fewer.m = fewer.region.rows = some[i];
        irisi_gemm_cut_again(&fewer);
        if (fewer.tiling.positions > p->tiling.positions)
            fail(q, p->rank, "fewer rows have more positions");
        if (fewer.m > 0)
            irisi_gemm_rotate(&fewer);
        check(q, first, &fewer);
    }
    if (memcmp(&fewer.tiling, &p->tiling, sizeof p->tiling) != 0)
        fail(q, p->rank, "all rows are cut otherwise after fewer");
}

/*
 * A cut of random numbers, or a sound one, which irisi_gemm_covers must take: whatever it takes is laid as asked and
 * makes up every rank's band. 1 when it was laid.
 */
static unsigned check_asked(const question *q)
{
    const int sound = draw(2) == 0;
    const uint32_t least = iris_gemm_band(q->n, q->world, q->world - 1).count;
    iris_gemm_plan first, p;
    irisi_gemm_cutting c;
    memset(&c, 0, sizeof c);
    fill(&first, q, 0);
    if (sound) {
        c.width = 64u << draw(3);
        c.tail_tiles = c.width > 64 ? draw(2 * first.machine.workgroups) : 0,
        c.tail_halves = c.width > 128 ? draw(c.tail_tiles + 1) : c.tail_tiles;
        c.edge_width = 64 * (1 + draw(c.width / 64));
        c.cluster = 1 + draw(2), c.split_k = 1, c.full_n = draw(2) ? UINT32_MAX : draw(20);
        c.sender_tiles = draw(4) ? 0 : 1 + draw(3);
        c.head_halves = c.width > 64 && draw(2) ? draw(first.machine.workgroups) : 0;
    } else {
        c.width = draw(2) ? 32 * draw(9) : draw(300);
        c.tail_tiles = draw(2 * first.machine.workgroups), c.tail_halves = draw(c.tail_tiles + 2),
        c.full_n = draw(2) ? UINT32_MAX : draw(20);
        c.cluster = draw(4), c.split_k = draw(10), c.head_halves = draw(4) ? 0 : draw(first.machine.workgroups);
        c.edge_width = draw(2) ? c.width >> draw(3) : draw(300);
    }
    if (!irisi_gemm_covers(&first, &c, iris_gemm_band(q->n, q->world, 0).count) ||
        !irisi_gemm_covers(&first, &c, least)) {
        if (sound)
            fail(q, 0, "a sound cut is refused");
        return 0;
    }
    const int laid = cut(&first, q, 0, &c, 0) && q->pattern != IRIS_GEMM_BLAS_GATHER;
    for (uint32_t rank = 0; rank < q->world; rank++) {
        if (cut(&p, q, rank, &c, 0) != laid)
            fail(q, rank, "not all ranks are cut as is asked for");
        check(q, &first, &p);
        if (laid && (p.tiling.tile_n != c.width || p.tiling.head_halves != c.head_halves ||
                     p.tiling.tail_tiles != c.tail_tiles || p.tiling.tail_halves != c.tail_halves ||
                     p.tiling.sender_tiles != c.sender_tiles))
            fail(q, rank, "another cut was laid than was asked for");
        if (rank + 1 == q->world)
            check_fewer(q, &first, &p);
    }
    return (unsigned)laid;
}

/*
 * Of a plan with several B, as of all_gather in worlds of up to 16 ranks and of a GEMM alone on each of them, no two
 * tensor maps share a place.
 */
static void check_maps(void)
{
    const question q = {512, 4096, 4096, 1, 132, 0, IRIS_GEMM_AUTO, 0, 0, 1};
    for (uint32_t world = 1; world <= 16; world++)
        for (uint32_t rank = 0; rank < 16; rank++) {
            iris_gemm_plan p;
            uint32_t seen = 0, bits = 0;
            memset(&p, 0, sizeof p);
            p.world = world, p.rank = world == 1 ? 0 : rank % world; /* a GEMM alone: of any rank of its world */
            const uint32_t fixed[] = {0, 1, IRISI_GEMM_MAP_TAIL, irisi_gemm_own_a(&p),
                                      irisi_gemm_c_map(&p, world == 1 ? rank : p.rank)};
            for (uint32_t i = 0; i < 5; i++)
                seen |= 1u << fixed[i], bits++;
            for (uint32_t i = 1; i <= IRIS_GEMM_MOST_MORE; i++)
                seen |= 1u << irisi_gemm_more_b(&p, i) | 1u << irisi_gemm_more_c(&p, i), bits += 2;
            if (bits != IRISI_GEMM_MAPS || seen != (1u << bits) - 1)
                fail(&q, rank, "two tensor maps share a place, or one is beyond the last");
        }
}

/* 4096 x 1024 x 4096 on each of four ranks: cuBLASLt's 560 TFLOP/s need 61 us, and 140 us would be no use. */
static void check_blas(void)
{
    const question q = {4096, 4096, 4096, 4, 132, 0, IRIS_GEMM_AUTO, 0, 0, 1};
    iris_gemm_plan p;
    static const double tflops[] = {0, 250, 10000};
    for (int i = 0; i < 3; i++) {
        const irisi_gemm_cutting none = irisi_gemm_open_cut();
        cut(&p, &q, 0, &none, tflops[i]);
        if ((p.pattern == IRIS_GEMM_BLAS_GATHER) != (i == 2))
            fail(&q, 0, i == 2 ? "a fast BLAS is not chosen" : "a slow or unknown BLAS is chosen");
        check(&q, &p, &p);
    }
}

/* The loops for few rows of bf16, of problems that one H100 was timed with (docs/notes/mainloops.md). */
static void check_gemv(void)
{
    const uint32_t hopper = IRISI_GEMM_SM90A, unaligned = IRISI_GEMM_SM90A_UNALIGNED_B, gemv = IRISI_GEMM_GEMV;
    const uint32_t all = 1u << IRISI_GEMM_SM80 | 1u << hopper | 1u << unaligned | 1u << gemv;
    const uint32_t before = all & ~(1u << hopper | 1u << unaligned);
    const struct {
        uint32_t m, n, k, transposed, ragged, compute_only, mainloops, loop;
    } rows[] = {{1, 4095, 4095, 0, 1, 1, all, gemv},          {8, 28671, 4095, 1, 1, 1, all, gemv},
                {8, 4095, 14335, 0, 1, 1, all, gemv},         {16, 6143, 4095, 1, 1, 1, all, gemv},
                {16, 8191, 1023, 0, 1, 1, all, gemv},         {16, 28671, 4095, 0, 1, 1, all, unaligned},
                {16, 4095, 14335, 1, 1, 1, all, unaligned},   {32, 1279, 8191, 0, 1, 1, all, unaligned},
                {128, 8191, 3583, 1, 1, 1, all, unaligned},   {8, 4095, 4095, 0, 1, 0, all, unaligned},
                {8, 4096, 4096, 0, 0, 1, all, hopper},        {16, 8192, 1024, 0, 0, 1, all, hopper},
                {1, 8192, 1024, 1, 0, 1, all, gemv},          {129, 4095, 4095, 0, 1, 1, all, hopper},
                {8, 4095, 4095, 0, 1, 1, before, IRISI_GEMM_SM80}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        irisi_gemm_problem q;
        memset(&q, 0, sizeof q);
        q.mainloops = rows[i].mainloops, q.dtype = q.c_dtype = IRIS_BF16, q.element = q.c_element = 2;
        q.accumulator = 4, q.aligned = q.full = q.no_epilogue = 1, q.workgroups = 132;
        q.m = rows[i].m, q.n = rows[i].n, q.k = rows[i].k, q.b_transposed = rows[i].transposed;
        q.a_unaligned = q.b_unaligned = rows[i].ragged, q.tma_store = !rows[i].ragged;
        q.compute_only = rows[i].compute_only;
        const uint32_t loop = irisi_gemm_pick("sm_90", &q).mainloop;
        if (loop != rows[i].loop) {
            printf("%u x %u x %u: mainloop %u, not %u\n", q.m, q.n, q.k, loop, rows[i].loop);
            failures++;
        }
    }
}

/*
 * What a row asks for without a pattern, where a fast BLAS is chosen after all: the schedule is whole, whatever was
 * tried before. K may be shorter than a block, and workgroups few.
 */
static void check_few(void)
{
    const question blas = {90, 4922, 4044, 5, 132, 0, IRIS_GEMM_AUTO, 0, 0, 1};
    const question four = {150, 331, 40, 4, 4, 1, IRIS_GEMM_WG_SPECIALIZED, 0, 0, 1};
    const question gemv = {4096, 4096, 32, 4, 132, 0, IRIS_GEMM_FUSED_SEQUENTIAL, 0, 0, 1};
    iris_gemm_plan p;
    irisi_gemm_cutting c;
    memset(&c, 0, sizeof c);
    c.width = c.edge_width = 256, c.tail_tiles = 18, c.cluster = c.split_k = 1, c.full_n = INT32_MAX;
    cut(&p, &blas, 0, &c, 1e6);
    if (p.pattern != IRIS_GEMM_BLAS_GATHER)
        fail(&blas, 0, "a fast BLAS is not chosen");
    check(&blas, &p, &p);
    c.tail_tiles = 0;
    if (!cut(&p, &gemv, 0, &c, 0))
        fail(&gemv, 0, "a cut is refused for a short K");
    check(&gemv, &p, &p);
    c.width = c.edge_width = 64, c.sender_tiles = 1;
    if (!cut(&p, &four, 0, &c, 0) || p.tiling.sender_tiles != 1)
        fail(&four, 0, "one sender of four workgroups cannot compute first");
    check(&four, &p, &p);
}

/* Loops whose tiles are all of one width: something is chosen, the same on every rank, that leaves some to compute. */
static void check_uncut(void)
{
    static const uint32_t elements[] = {2, 2, 8, 4};
    for (uint32_t i = 0; i < 400; i++) {
        const irisi_gemm_cutting none = irisi_gemm_open_cut();
        iris_gemm_plan plans[2];
        question q;
        memset(&q, 0, sizeof q);
        q.m = 1 + draw(9000), q.n = 1 + draw(9000), q.k = 1 + draw(9000), q.world = 1 + draw(8);
        q.workgroups = 1 + draw(150), q.tile_m = i % 2 ? 64 : 128, q.tile_n = i % 2 ? 64 : 256;
        for (uint32_t last = 0; last < 2; last++) {
            iris_gemm_plan *p = &plans[last];
            fill(p, &q, last * (q.world - 1));
            p->operands.element = p->operands.c_element = elements[i % 4],
            p->mainloop = i % 4 == 3 ? IRISI_GEMM_PLAIN : IRISI_GEMM_SM80;
            irisi_gemm_cut(p, 0, &none, 0);
            const int splits = irisi_gemm_splits(p->pattern);
            if (p->pattern == IRIS_GEMM_AUTO || p->pattern > IRIS_GEMM_WAVE_SPECIALIZED || p->tiling.edge_width != 0 ||
                p->tiling.runs[1].tiles != 0 ||
                (splits && (p->machine.comm_workgroups == 0 || p->machine.comm_workgroups >= q.workgroups)))
                fail(&q, p->rank, "whole tiles: what is chosen cannot be");
        }
        if (plans[0].pattern != plans[1].pattern ||
            plans[0].machine.comm_workgroups != plans[1].machine.comm_workgroups)
            fail(&q, 0, "whole tiles: ranks have come to different ends");
        if (q.world == 1 && plans[0].pattern != IRIS_GEMM_FUSED_SEQUENTIAL)
            fail(&q, 0, "whole tiles: there is nobody to send to");
    }
}

/* Senders where nobody says how many: as many on each chiplet. */
static void check_senders(void)
{
    static const uint32_t rows[][3] = {{132, 1, 22}, {304, 1, 51}, {304, 8, 48}, {256, 8, 40}, {228, 6, 36},
                                       {38, 8, 7}, {2, 8, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        iris_gemm_plan p;
        memset(&p, 0, sizeof p);
        p.machine.workgroups = rows[i][0], p.machine.xcds = rows[i][1];
        if (irisi_gemm_sixth(&p) != rows[i][2])
            failures++, printf("%u of %u workgroups send\n", irisi_gemm_sixth(&p), p.machine.workgroups);
    }
}

/* Workgroups that gather A: more where the links would take longer than the product. {m, n, k, world, how many} */
static void check_gatherers(void)
{
    static const uint32_t rows[][5] = {{8192, 4608, 36864, 2, 8}, {8192, 4608, 36864, 4, 12}, {4096, 4096, 4096, 2, 8},
                                       {4096, 4096, 4096, 4, 12}, {8192, 8192, 8192, 4, 12},
                                       {16384, 16384, 16384, 4, 8}, {16384, 16384, 16384, 8, 12}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const question q = {rows[i][0], rows[i][1], rows[i][2], rows[i][3], 132, 0, 0, 0, 0, 1};
        iris_gemm_plan p;
        fill(&p, &q, 0);
        p.op = IRIS_GEMM_ALL_GATHER;
        if (irisi_gemm_gatherers(&p) != rows[i][4])
            fail(&q, 0, "another number of workgroups gathers");
        p.operands.element = 1, p.k *= 2; /* as many bytes, multiplied in as much time */
        if (irisi_gemm_gatherers(&p) != rows[i][4])
            fail(&q, 0, "another number of workgroups gathers elements of one byte");
        p.machine.tma_store = 0;
        if (irisi_gemm_gatherers(&p) != irisi_gemm_sixth(&p))
            fail(&q, 0, "lanes gather, and not in a sixth of the workgroups");
    }
}

/* Bands follow each other over all columns, start at multiples of 16, and none is wider than the first. */
static void check_bands(void)
{
    for (uint32_t i = 0; i < 4000; i++) {
        const uint32_t n = i % 8 == 7 ? INT32_MAX - draw(100) : 1 + draw(3000), world = 1 + draw(70);
        uint32_t next = 0;
        int right = 1;
        for (uint32_t rank = 0; rank < world; rank++) {
            const iris_gemm_columns band = iris_gemm_band(n, world, rank);
            right &= band.first == next && (band.count == 0 || band.first % 16 == 0);
            right &= band.count <= iris_gemm_band(n, world, 0).count;
            right &= band.count + 31 >= iris_gemm_band(n, world, 0).count || next + band.count == n;
            next += band.count;
        }
        if (!right || next != n)
            failures++, printf("bands of %u columns for %u ranks are wrong\n", n, world);
    }
}

int main(void)
{
    static const question edges[] = {
        {4096, 4096, 4096, 1, 1, 0, IRIS_GEMM_FUSED_SEQUENTIAL, 0, 0, 1},
        {4096, 4096, 4096, 4, 5, 0, IRIS_GEMM_AUTO, 0, 0, 1},
        {4096, 4096, 4096, 4, 8, 7, IRIS_GEMM_WG_SPECIALIZED, 0, 0, 1},
        {4096, 4096, 4096, 4, 8, 8, IRIS_GEMM_WG_SPECIALIZED, 0, 0, 1},
        {131072, 131072, 512, 4, 132, 0, IRIS_GEMM_AUTO, 0, 0, 1},
        {1, 1, 1, 8, 132, 0, IRIS_GEMM_AUTO, 0, 0, 0},
        {64, 8192, 8192, 2, 132, 0, IRIS_GEMM_AUTO, 32, 0, 1},
    };
    const irisi_gemm_cutting none = irisi_gemm_open_cut();
    iris_gemm_plan first, p;
    unsigned laid = 0;
    for (size_t i = 0; i < 4000 + sizeof edges / sizeof *edges; i++) {
        question q;
        if (i < sizeof edges / sizeof *edges) {
            q = edges[i];
        } else {
            q.m = 1 + draw(draw(2) ? 300 : 3000), q.n = 1 + draw(draw(3) ? 2500 : 20), q.k = 1 + draw(4096);
            q.world = 1 + draw(8), q.workgroups = 1 + draw(draw(2) ? 12 : 150);
            q.senders = draw(3) ? 0 : 1 + draw(q.workgroups), q.pattern = draw(IRIS_GEMM_PATTERNS);
            q.tile_n = draw(3) ? 0 : 8 * (1 + draw(32)), q.tile_m = draw(4) ? 0 : 1 + draw(128),
            q.tma_store = (int)draw(2);
        }
        cut(&first, &q, 0, &none, 0);
        for (uint32_t rank = 0; rank < q.world; rank++) {
            cut(&p, &q, rank, &none, 0);
            check(&q, &first, &p);
            if (rank == i % q.world)
                check_fewer(&q, &first, &p);
        }
        if (q.tile_n == 0)
            laid += check_asked(&q);
    }
    if (laid < 100)
        failures++, printf("only %u cuts of those that were asked for cover their bands\n", laid);
    if (by_senders < 100)
        failures++, printf("senders compute first in only %u plans\n", by_senders);
    if (pairs_split_k < 100)
        failures++, printf("only %u pairs compute tiles together\n", pairs_split_k);
    check_bands();
    check_maps();
    check_blas();
    check_gemv();
    check_few();
    check_senders();
    check_gatherers();
    check_gatherers();
    check_uncut();
    printf("%u failures\n", failures);
    return failures != 0;
}
