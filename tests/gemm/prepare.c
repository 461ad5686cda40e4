/* SPDX-License-Identifier: MIT */
/*
 * prepare.c: what iris_gemm_prepare chooses with the shapes and times of sm_90a, on the host.
 *
 * Ranks may have numbers of workgroups of their own, and then cut their bands differently: they still agree on what all
 * do together, down to the meeting at the plan's end. And a plan's row makes another plan like it, as do the rows that
 * a tuner is told to try; so it is for the loop of sm_80 too, whose tiles are not cut. An image that lacks sm_90a's
 * loop is told.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/arch/select.h>

#include <iris/gemm/plan.h>

#define IRIS_MAINLOOP_SHAPE_H /* not this platform's shape, but: */
#include <iris/mainloop/nvidia/gemm_shape.h>

#include "../../include/iris/init.c"

#include <iris/gemm/prepare.h>

static unsigned failures;

/* The next of a sequence of numbers below `n`. */
static uint32_t draw(uint32_t n)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

typedef struct question {
    uint32_t m, n, k, world, fewest, pattern;
    uint32_t mainloop; /* beside the plain one */
} question;

/* A rank's plan for a bf16 problem, with so many workgroups, of which `senders` (0: as the library likes) send. */
static int shape(iris_world *w, iris_gemm_plan *p, const question *q, uint32_t workgroups, uint32_t senders,
                 irisi_tune_row *row)
{
    irisi_gemm_common all;
    memset(&all, 0, sizeof all);
    all.mainloops = 1u << IRISI_GEMM_PLAIN | 1u << q->mainloop, all.workgroups = q->fewest;
    all.aligned = all.tma_store = all.no_epilogue = UINT64_MAX;
    memset(p, 0, sizeof *p);
    p->op = IRIS_GEMM_ALL_SCATTER;
    p->operands.dtype = p->operands.c_dtype = p->sums.c_dtype = IRIS_BF16,
    p->operands.element = p->operands.c_element = 2,
    p->machine.xcds = 1;
    p->m = p->most_m = p->region.rows = q->m, p->n = q->n, p->k = q->k, p->world = q->world, p->pattern = q->pattern;
    p->region.columns = iris_gemm_band(q->n, q->world, 0).count,
    p->machine.workgroups = p->machine.default_workgroups = workgroups;
    p->machine.comm_workgroups = senders ? senders : irisi_gemm_sixth(p);
    p->machine.workgroups = q->fewest;
    if (irisi_gemm_shape_plan(w, p, &all, senders, row) == IRIS_OK)
        return 1;
    failures++, printf("%u x %u x %u: %s\n", q->m, q->n, q->k, iris_error_string(w));
    return 0;
}

/* More tiles than the schedule can count are refused: 8 rows of them would be 2^32, which 32 bits have as 0. */
static void check_many(iris_world *w)
{
    irisi_gemm_common all;
    irisi_tune_row none;
    iris_gemm_plan p;
    memset(&all, 0, sizeof all), memset(&none, 0, sizeof none), memset(&p, 0, sizeof p);
    all.mainloops = 1u << IRISI_GEMM_PLAIN, all.workgroups = p.machine.workgroups = 2, p.op = IRIS_GEMM_ALL_SCATTER;
    p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = IRIS_BF16, p.operands.element = p.operands.c_element = 2,
    p.machine.xcds = p.world = p.m = p.most_m = p.region.rows = p.k = p.tiling.tile_n = 1;
    p.n = p.region.columns = (uint32_t)1 << 29;
    if (irisi_gemm_shape_plan(w, &p, &all, 0, &none) != IRIS_ERR_ARGUMENT ||
        strstr(iris_error_string(w), "tiles of 64 x 1 are too small: 536870912 of them") == NULL)
        failures++, printf("2^29 tiles: %s\n", iris_error_string(w));
}

/* A workgroup of Hopper has 227 KB of shared memory, and C in 2 and 4 bytes leaves in boxes where that can be. */
static void check_room(void)
{
    for (uint32_t c = 1; c <= 4; c *= 2)
        for (uint32_t tma_store = 0; tma_store < 2; tma_store++) {
            irisi_gemm_problem q;
            memset(&q, 0, sizeof q);
            q.element = 2, q.c_element = c, q.accumulator = 4, q.m = q.n = q.k = 4096, q.tma_store = tma_store;
            const irisi_gemm_shape s = irisi_gemm_sm90a(&q);
            const uint32_t stage = s.stage_m * ((s.stage_n * c + 15) / 16 * 16 + (s.tma_store ? 0 : 16));
            if (s.tma_store != (tma_store && c > 1) || (s.tma_store && s.stage_n * c != 128))
                failures++, printf("C of %u bytes: tma_store %u, pieces of %u columns\n", c, s.tma_store, s.stage_n);
            if (IRISI_GEMM_COUNTERS + s.workspace_bytes + s.slots * stage > 227u << 10 ||
                IRISI_GEMM_COUNTERS + s.workspace_bytes_with_comm + s.slots_with_comm * stage > 227u << 10)
                failures++, printf("C of %u bytes, boxes %u: shared memory is too small\n", c, tma_store);
        }
}

/* So it has where B comes line by line; and blocks of all widths have barriers, and start where A's swizzle does. */
static void check_unaligned_b_room(void)
{
    for (uint32_t m = 1; m <= 128; m++) {
        irisi_gemm_problem q;
        iris_gemm_plan p;
        memset(&q, 0, sizeof q);
        memset(&p, 0, sizeof p);
        q.element = q.c_element = 2, q.accumulator = 4, q.m = p.m = p.most_m = p.region.rows = m, q.n = q.k = 4096;
        q.tile_n = m % 3 == 0 ? m : 0;
        const irisi_gemm_shape s = irisi_gemm_unaligned_b_shape(&q);
        const uint32_t stage = s.stage_m * ((s.stage_n * 2 + 15) / 16 * 16 + 16);
        if (s.tma_store || s.slots != 1 || s.slots_with_comm != 1 || s.workspace_bytes != s.workspace_bytes_with_comm ||
            IRISI_GEMM_COUNTERS + s.workspace_bytes + (stage + 127) / 128 * 128 > 227u << 10)
            failures++, printf("lines, %u rows: shared memory is too small\n", m);
        for (uint32_t runs = 1; runs <= 2; runs++) {
            const uint32_t block = irisi_gemm_a_rows(&p) * 128 + runs * IRISI_GEMM_UNALIGNED_B_RUN;
            const uint32_t blocks = (s.workspace_bytes - IRISI_GEMM_SM90A_HEAD) / block;
            if (block % 1024 != 0 || blocks < 3 || blocks > (runs == 1 ? 12 : 8))
                failures++, printf("lines, %u rows: %u blocks of %u bytes\n", m, blocks, block);
        }
    }
}

/* Two ranks; 1 where they cut K differently. */
static unsigned check_ranks(iris_world *w, const question *q)
{
    irisi_tune_row none;
    iris_gemm_plan a, b;
    memset(&none, 0, sizeof none);
    if (!shape(w, &a, q, q->fewest + draw(30), draw(3) ? 1 + draw(16) : 0, &none) ||
        !shape(w, &b, q, q->fewest, draw(3) ? 1 + draw(16) : 0, &none))
        return 0;
    if (a.launcher.copies != b.launcher.copies || irisi_gemm_units(&a, 1) != irisi_gemm_units(&b, 1))
        failures++, printf("%u x %u x %u, %s: one rank has %u splits of K, another %u, and only one meets the others "
                           "when it releases the plan\n",
                           q->m, q->n, q->k, iris_gemm_pattern_name((iris_gemm_pattern)q->pattern), a.tiling.split_k,
                           b.tiling.split_k);
    return a.tiling.split_k != b.tiling.split_k;
}

/* A row of a plan for the problem makes a plan that says the same of itself. */
static void check_again(iris_world *w, const question *q, const iris_gemm_row *first)
{
    iris_gemm_row again;
    irisi_tune_row row;
    iris_gemm_plan p;
    char text[IRIS_GEMM_TUNE_ROW], why[256];
    memset(&row, 0, sizeof row);
    strcpy(text, first->text);
    if (!irisi_tune_read(&row, text, why, sizeof why)) {
        failures++, printf("%s: %s\n", first->text, why);
        return;
    }
    strcpy(row.from, "the plan's row");
    if (!shape(w, &p, q, q->fewest, 0, &row))
        return;
    irisi_gemm_print(w, &p, 1, again.text, sizeof again.text);
    if (strcmp(first->text, again.text) != 0)
        failures++, printf("%s\nbecame %s\n", first->text, again.text);
}

/* So does what a plan says of itself. */
static void check_row(iris_world *w, const question *q)
{
    iris_gemm_row first;
    irisi_tune_row none;
    iris_gemm_plan p;
    memset(&none, 0, sizeof none);
    if (!shape(w, &p, q, q->fewest, 0, &none))
        return;
    irisi_gemm_print(w, &p, 1, first.text, sizeof first.text);
    check_again(w, q, &first);
}

/* And so does what a tuner is told to try: rows of each pattern, all of them different. */
static void check_candidates(iris_world *w, const question *q)
{
    question open = *q;
    irisi_tune_row none;
    iris_gemm_plan p;
    open.pattern = IRIS_GEMM_AUTO;
    memset(&none, 0, sizeof none);
    if (!shape(w, &p, &open, q->fewest, 0, &none))
        return;
    p.launcher.magic = irisi_gemm_magic;
    for (int pattern = 1; pattern < IRIS_GEMM_PATTERNS; pattern++) {
        iris_gemm_row rows[3];
        const uint32_t n = iris_gemm_candidates(w, &p, (iris_gemm_pattern)pattern, rows, 3);
        if (n == 0)
            failures++, printf("%u x %u x %u: pattern %d has no candidate\n", q->m, q->n, q->k, pattern);
        for (uint32_t i = 0; i < n; i++) {
            check_again(w, &open, &rows[i]);
            if (i > 0 && strcmp(rows[i].text, rows[i - 1].text) == 0)
                failures++, printf("%s, twice\n", rows[i].text);
        }
    }
}

/* What a probe finds in an image for sm_90, or in one for sm_90a. */
IRIS_KERNEL(probe_sm90, irisi_gemm_probe, a, 64)
{
    a->control->mainloops = 1u << IRISI_GEMM_PLAIN | 1u << IRISI_GEMM_SM80;
}
IRIS_KERNEL(probe_sm90a, irisi_gemm_probe, a, 64)
{
    a->control->mainloops = 1u << IRISI_GEMM_PLAIN | 1u << IRISI_GEMM_SM80 | 1u << IRISI_GEMM_SM90A;
}

/* What irisi_gemm_ask says on standard error of a GEMM of `dtype`, twice, in a program with this probe. */
static const char *warning(iris_world *w, irisi_kernel probe, iris_dtype dtype, uint32_t tf32)
{
    static char text[1024];
    static const irisi_gemm_kernel rows[] = {
        {IRIS_GEMM_LOCAL, IRISI_GEMM_SM80, IRIS_GEMM_AUTO, IRISI_GEMM_KERNEL_COMPUTE, NULL, "a"},
        {IRIS_GEMM_LOCAL, IRISI_GEMM_SM90A, IRIS_GEMM_AUTO, IRISI_GEMM_KERNEL_COMPUTE, NULL, "b"}};
    static irisi_gemm_offer offers[16]; /* the last one that was added counts */
    static size_t used;
    const int before = dup(2);
    FILE *file = tmpfile();
    irisi_gemm_offer *all = &offers[used++ % 16];
    irisi_gemm_common own;
    iris_gemm_plan p;
    all->dtype = all->c_dtype = dtype;
    all->probe = probe, all->rows = rows, all->n = dtype == IRIS_F64 ? 1 : 2;
    irisi_gemm_add_offer(all);
    memset(&p, 0, sizeof p), memset(&own, 0, sizeof own);
    p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = (uint32_t)dtype;
    p.operands.element = p.operands.c_element = 2;
    p.m = p.most_m = p.region.rows = p.n = p.k = 64, p.world = 1, p.operands.tf32 = tf32;
    w->gemm_warned = 0;
    dup2(fileno(file), 2);
    for (int i = 0; i < 2; i++)
        if (irisi_gemm_ask(w, &p, 0, &own) != IRIS_OK ||
            own.mainloops >> IRISI_GEMM_SM90A != (probe == IRISI_KERNEL_PTR(probe_sm90a)))
            failures++, printf("the probe was not asked: %s\n", iris_error_string(w));
    dup2(before, 2);
    close(before);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

/* An image that lacks Hopper's loop is told once, with the option that brings it, where that loop would be chosen. */
static void check_image(iris_world *w)
{
    const irisi_kernel sm90 = IRISI_KERNEL_PTR(probe_sm90), sm90a = IRISI_KERNEL_PTR(probe_sm90a);
    const char *expect = "iris: warning: iris_gemm_prepare: this program's image lacks the fastest loop of sm_90 for "
                         "GEMMs of bf16: compile its kernels with -gencode=arch=compute_90a,code=sm_90a\n";
    char arch[sizeof w->dev.arch];
    memcpy(arch, w->dev.arch, sizeof arch);
    unsetenv("IRIS_LOG"); /* it is told without being asked for */
    strcpy(w->dev.arch, "sm_90");
    if (strcmp(warning(w, sm90, IRIS_BF16, 0), expect) != 0)
        failures++, printf("an image for sm_90: '%s'\n", warning(w, sm90, IRIS_BF16, 0));
    if (warning(w, sm90, IRIS_F32, 1)[0] == 0)
        failures++, printf("an image for sm_90 and tf32: nothing is said\n");
    if (warning(w, sm90a, IRIS_BF16, 0)[0] || warning(w, sm90, IRIS_F64, 0)[0] || warning(w, sm90, IRIS_F32, 0)[0])
        failures++, printf("a warning where nothing is missing\n");
    strcpy(w->dev.arch, "sm_80");
    if (warning(w, sm90, IRIS_BF16, 0)[0])
        failures++, printf("a warning on a device that has no such loop\n");
    memcpy(w->dev.arch, arch, sizeof arch);
}

/* What AUTO takes by rule: behind a product that is summed and normalised, a kernel of its own for some sums. */
static void check_rule(iris_world *w)
{
    static const struct {
        uint32_t op, m, n, world;
        int scattered, quantised, f32, apart; /* rows to their owners; codes; sums of 4 bytes; bulk_synchronous */
    } rules[] = {
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 31, 4096, 2, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 32, 4096, 2, 0, 0, 0, 1},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 96, 4096, 2, 0, 0, 0, 1},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 97, 4096, 2, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 64, 8192, 2, 0, 0, 0, 1},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 65, 8192, 2, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 11, 4096, 4, 0, 0, 0, 1},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 10, 4096, 4, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 64, 4096, 1, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 64, 4096, 2, 1, 0, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 64, 4096, 2, 0, 1, 0, 0},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 16, 4096, 2, 0, 0, 1, 1},
        {IRIS_GEMM_ALL_REDUCE_RMSNORM, 65, 4096, 2, 0, 0, 1, 0},
        {IRIS_GEMM_ALL_REDUCE, 64, 4096, 2, 0, 0, 0, 0},
        {IRIS_GEMM_REDUCE_SCATTER, 64, 8192, 2, 0, 0, 0, 0},
        {IRIS_GEMM_ALL_GATHER, 64, 8192, 2, 0, 0, 0, 1},
    };
    char arch[sizeof w->dev.arch];
    memcpy(arch, w->dev.arch, sizeof arch);
    for (int hopper = 0; hopper < 2; hopper++)
        for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
            iris_gemm_plan p;
            memset(&p, 0, sizeof p);
            strcpy(w->dev.arch, hopper ? "sm_90" : "sm_80");
            p.op = rules[i].op, p.m = p.most_m = rules[i].m, p.n = rules[i].n, p.k = 4096, p.world = rules[i].world;
            p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = IRIS_BF16;
            p.operands.element = p.operands.c_element = 2;
            p.norm.sequence_parallel = (uint32_t)rules[i].scattered, p.norm.quant_out = rules[i].quantised ? &p : NULL;
            p.launcher.f32_sums = (uint32_t)rules[i].f32;
            p.route.shard = p.m / p.world, p.route.longer = p.m % p.world;
            const int apart = rules[i].apart && (hopper || rules[i].op == IRIS_GEMM_ALL_GATHER);
            const uint32_t got = irisi_gemm_one_pattern_of(w, &p);
            if (got != (apart ? (uint32_t)IRIS_GEMM_BULK_SYNCHRONOUS : (uint32_t)IRIS_GEMM_FUSED_SEQUENTIAL))
                failures++, printf("rule %zu, hopper %d: pattern %u\n", i, hopper, got);
        }
    memcpy(w->dev.arch, arch, sizeof arch);
}

/* A row of another pattern than the plan's leaves open whether there are packets. */
static void check_packets(iris_world *w)
{
    iris_gemm_plan p;
    iris_gemm_row row;
    memset(&p, 0, sizeof p);
    p.op = IRIS_GEMM_ALL_REDUCE, p.pattern = IRIS_GEMM_FUSED_SEQUENTIAL, p.m = p.most_m = 64, p.n = p.k = 4096;
    p.world = 2, p.mainloop = IRISI_GEMM_SM80, p.launcher.magic = irisi_gemm_magic, p.region.columns = 4096;
    p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = IRIS_BF16, p.operands.element = p.operands.c_element = 2;
    p.machine.workgroups = p.machine.default_workgroups = 8, p.machine.xcds = 1;
    p.tiling.tile_m = p.tiling.tile_n = 64, p.exchange.ll_pitch = 1;
    for (int same = 0; same < 2; same++) {
        const iris_gemm_pattern pattern = same ? IRIS_GEMM_FUSED_SEQUENTIAL : IRIS_GEMM_BULK_SYNCHRONOUS;
        const uint32_t n = iris_gemm_candidates(w, &p, pattern, &row, 1);
        if (n != 1 || (strstr(row.text, " ll=1") != NULL) != same)
            failures++, printf("%u candidates of pattern %d: %s\n", n, (int)pattern, n ? row.text : "");
    }
}

static int rank_main(iris_world *w, void *arg)
{
    static const uint32_t patterns[] = {IRIS_GEMM_PRODUCER_CONSUMER, IRIS_GEMM_WG_SPECIALIZED,
                                        IRIS_GEMM_FUSED_SEQUENTIAL, IRIS_GEMM_AUTO};
    unsigned differ = 0;
    (void)arg;
    check_many(w);
    check_image(w);
    check_rule(w);
    check_packets(w);
    check_room();
    check_unaligned_b_room();
    for (int i = 0; i < 1500; i++) {
        question q;
        q.m = 1 + draw(1000), q.n = 64 * (1 + draw(40)), q.k = 64 * (1 + draw(200));
        q.world = 2 + draw(3), q.fewest = 20 + draw(120), q.pattern = patterns[draw(3)];
        q.mainloop = IRISI_GEMM_SM90A;
        differ += check_ranks(w, &q);
        check_row(w, &q);
        if (i % 50 == 0)
            check_candidates(w, &q);
        q.mainloop = IRISI_GEMM_SM80, q.pattern = patterns[draw(4)];
        check_ranks(w, &q);
        check_row(w, &q);
        check_candidates(w, &q);
    }
    if (differ < 10)
        failures++, printf("only %u pairs of ranks cut K differently\n", differ);
    printf("%u failures\n", failures);
    return failures != 0;
}

int main(void) { return iris_spawn(1, rank_main, NULL); }
