/* SPDX-License-Identifier: MIT */
/*
 * gemm_timeline.c: when each tile of a GEMM + AllScatter of bf16 was computed, handed on and had arrived, by the
 * device's clock: how much of the communication hides behind the arithmetic. Rank 0's tiles go to a JSON file, which
 * bench/plot.py draws; deciles are printed.
 */
#define IRIS_STAMPS 1
#define IRIS_GEMM_ALL_PATTERNS
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/gen/launch/gemm_all_scatter.h>

#include "gemm_inputs.h"

enum { WARM_UP = 5, DECILES = 10 };

typedef struct options {
    int ranks, pattern;
    uint32_t tile_n, comm;
    long m, n, k;
    const char *json, *commit;
} options;

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Deciles of one kind of stamp, in microseconds after `from`. */
static void print(const iris_gemm_stamp *stamps, uint32_t n, int which, uint64_t from, double tick_us)
{
    static const char *const names[] = {"begun", "computed", "left", "arrived"};
    uint64_t *times = (uint64_t *)malloc(n * sizeof *times);
    if (times == NULL)
        return;
    for (uint32_t i = 0; i < n; i++)
        times[i] = ((const uint64_t *)(stamps + i))[which];
    qsort(times, n, sizeof *times, compare);
    printf("%-9s", names[which]);
    for (int d = 0; d <= DECILES && times[0] != 0; d++)
        printf(" %7.1f", (double)(times[(uint64_t)(n - 1) * (uint64_t)d / DECILES] - from) * tick_us);
    printf("\n");
    free(times);
}

static int write_json(iris_world *w, const options *o, const iris_gemm_plan *plan, const iris_gemm_stamp *s, double us,
                      uint64_t from, double tick_us)
{
    const uint32_t senders = o->pattern == IRIS_GEMM_WG_SPECIALIZED || o->pattern == IRIS_GEMM_PRODUCER_CONSUMER
                                 ? plan->machine.comm_workgroups
                                 : 0;
    const uint32_t grid = plan->machine.workgroups - plan->machine.workgroups % plan->tiling.cluster;
    const uint32_t by_senders = o->pattern == IRIS_GEMM_WG_SPECIALIZED ? irisi_gemm_by_senders(plan, grid, senders) : 0;
    const uint32_t workers = grid - senders; /* rows of the picture: these, then senders */
    FILE *file = fopen(o->json, "w");
    if (file == NULL)
        return perror(o->json), 1;
    fprintf(file,
            "{\n  \"schema\": \"iris-gemm-timeline-1\",\n  \"device\": \"%s\",\n  \"commit\": \"%s\",\n"
            "  \"world\": %d,\n  \"m\": %ld, \"n\": %ld, \"k\": %ld,\n  \"pattern\": \"%s\",\n  \"us\": %.2f,\n"
            "  \"tiles\": [",
            iris_device_name(w), o->commit, iris_world_size(w), o->m, o->n, o->k,
            iris_gemm_pattern_name((iris_gemm_pattern)o->pattern), us);
    for (uint32_t i = 0; i < plan->tiling.positions; i++)
        fprintf(file, "%s\n    [%u, %.2f, %.2f, %.2f, %.2f]", i ? "," : "",
                i < by_senders ? workers + i % senders : (i - by_senders) % workers,
                (double)(s[i].begun - from) * tick_us, (double)(s[i].computed - from) * tick_us,
                (double)(s[i].left - from) * tick_us, (double)(s[i].arrived - from) * tick_us);
    fprintf(file, "\n  ]\n}\n");
    return fclose(file) != 0;
}

static int rank_main(iris_world *w, void *arg)
{
    static iris_status (*const launchers[])(iris_world *, const iris_gemm_plan *, iris_stream) = {
        iris_gemm_local_bf16, iris_gemm_all_scatter_bulk_synchronous_bf16,
        iris_gemm_all_scatter_producer_consumer_bf16, iris_gemm_all_scatter_fused_sequential_bf16,
        iris_gemm_all_scatter_wg_specialized_bf16, iris_gemm_all_scatter_wave_specialized_bf16};
    const options *o = (const options *)arg;
    const uint64_t m = (uint64_t)o->m, n = (uint64_t)o->n, k = (uint64_t)o->k;
    const iris_gemm_columns own = iris_gemm_band((uint32_t)n, (uint32_t)o->ranks, (uint32_t)iris_rank(w));
    const double tick_us = strncmp(iris_arch_name(w), "gfx", 3) == 0 ? 1e-2 : 1e-3; /* of iris_clock */
    iris_gemm_args g;
    iris_gemm_plan plan;
    iris_event begin, end;
    float ms = 0;
    memset(&g, 0, sizeof g);
    g.m = o->m, g.n = o->n, g.k = o->k, g.tile_n = o->tile_n;
    g.comm_workgroups = o->comm, g.pattern = (iris_gemm_pattern)o->pattern;
    g.a = iris_malloc(w, m * k * 2), g.b = iris_malloc(w, k * (n / (uint64_t)o->ranks + 1) * 2);
    g.c = iris_malloc(w, m * n * 2);
    if (!g.a || !g.b || !g.c)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    IRIS_TRY(gemm_fill(w, IRIS_BF16, (void *)(uintptr_t)g.a, m * k, 1));
    IRIS_TRY(gemm_fill(w, IRIS_BF16, (void *)(uintptr_t)g.b, k * own.count, 100 + (uint64_t)iris_rank(w)));
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_BF16, &g));
    const uint32_t tiles = iris_gemm_tiles(&plan);
    iris_gemm_stamp *stamps = (iris_gemm_stamp *)iris_malloc(w, (m / 32 + 1) * (n / 32 + 1) * sizeof *stamps);
    iris_gemm_stamp *host = (iris_gemm_stamp *)calloc(tiles + 1, sizeof *host);
    if (!stamps || !host)
        return fprintf(stderr, "%s\n", iris_error_string(w)), 1;
    IRIS_TRY(iris_event_create(w, &begin));
    IRIS_TRY(iris_event_create(w, &end));
    IRIS_TRY(iris_memset(w, stamps, 0, tiles * sizeof *stamps));
    IRIS_TRY(iris_barrier(w));
    for (int i = 0; i <= WARM_UP; i++) {
        if (i == WARM_UP)
            iris_gemm_watch(&plan, stamps);
        IRIS_TRY(iris_event_record(w, begin, NULL));
        IRIS_TRY(launchers[o->pattern](w, &plan, NULL));
        IRIS_TRY(iris_event_record(w, end, NULL));
    }
    IRIS_TRY(iris_event_elapsed_ms(w, &ms, begin, end));
    IRIS_TRY(iris_memcpy(w, host, stamps, tiles * sizeof *stamps));
    if (iris_rank(w) == 0) {
        uint64_t from = UINT64_MAX;
        for (uint32_t i = 0; i < tiles; i++)
            from = host[i].begun < from ? host[i].begun : from;
        printf("%ld x %ld x %ld, %s, %d ranks: %.1f us; %u tiles;", o->m, o->n, o->k,
               iris_gemm_pattern_name((iris_gemm_pattern)o->pattern), o->ranks, 1e3 * ms, tiles);
        for (int r = 0; r < IRISI_GEMM_RUNS && plan.tiling.runs[r].tiles; r++)
            printf(" %u of %u columns", plan.tiling.runs[r].tiles, plan.tiling.runs[r].width);
        printf("\n");
        for (int i = 0; i < 4; i++)
            print(host, tiles, i, from, tick_us);
        if (o->json && write_json(w, o, &plan, host, 1e3 * ms, from, tick_us))
            return 1;
    }
    IRIS_TRY(iris_gemm_release(w, &plan));
    free(host);
    return 0;
}

int main(int argc, char **argv)
{
    static options o;
    iris_config config;
    memset(&config, 0, sizeof config);
    o.ranks = 4, o.pattern = IRIS_GEMM_FUSED_SEQUENTIAL, o.commit = "unknown", o.m = 8192, o.n = 3584, o.k = 14336;
    for (int c; (c = getopt(argc, argv, "n:p:t:s:j:c:")) != -1;) {
        switch (c) {
        case 'n': o.ranks = atoi(optarg); break;
        case 'p': o.pattern = atoi(optarg); break;
        case 't': o.tile_n = (uint32_t)atoi(optarg); break;
        case 's': o.comm = (uint32_t)atoi(optarg); break;
        case 'j': o.json = optarg; break;
        case 'c': o.commit = optarg; break;
        default: o.ranks = 0;
        }
    }
    if (o.ranks < 1 || o.pattern < 0 || o.pattern >= IRIS_GEMM_PATTERNS ||
        (optind < argc && sscanf(argv[optind], "%ldx%ldx%ld", &o.m, &o.n, &o.k) != 3)) {
        printf("gemm_timeline [-n RANKS] [-p PATTERN (0: GEMM alone, 1 .. 5)] [-t TILE_N] [-s SENDERS] [-j FILE] "
               "[-c COMMIT] [MxNxK]\n");
        return 2;
    }
    config.heap_bytes = (size_t)8 << 30;
    if (o.m * o.n + o.m * o.k < 64 << 20)
        config.heap_bytes = (size_t)1 << 30;
    return iris_spawn_config(o.ranks, rank_main, &o, &config);
}
