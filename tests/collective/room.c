/* SPDX-License-Identifier: MIT */
/*
 * room.c: four default channels and a GEMM's plan fit a default world, with the sizes of every platform, on the host.
 *
 * A world gets the sync heap that it would have on the platform by default, and its channels the platform's shape. The
 * plan sends as LL packets, of as large a C as plans do that of their own accord: its banks must fit too. And a channel
 * takes what docs/collectives.md says. And where the ranks' devices differ, rows of IRIS_TUNE for one of them choose
 * nothing, since all ranks must choose alike.
 */
#define _GNU_SOURCE 1
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_BF16
#include "../../include/iris/init.c"

#include <iris/gen/create.h>
#include <iris/gen/launch/gemm_all_scatter.h>

enum { CHANNELS = 4, LL_MOST = 256 << 10 }; /* LL_MOST: the largest IRISI_GEMM_LL_BYTES there is */

typedef struct platform {
    const char *arch;
    int units, slices;
    size_t sync_bytes;
} platform;

static const platform platforms[] = {
    {"sm_90", 132, 128, IRISI_SYNC_NVIDIA},
    {"sm_80", 108, 64, IRISI_SYNC_NVIDIA},
    {"gfx942", 304, 64, IRISI_SYNC_AMD},
    {"host", 2, 4, IRISI_SYNC_HOST},
};

/* The world as one of the platform while channels are made; what it was comes back afterwards. */
static iris_status make_channels(iris_world *w, const platform *p, iris_channel *channels)
{
    const irisi_dev own = w->dev;
    iris_status s = IRIS_OK;
    snprintf(w->dev.arch, sizeof w->dev.arch, "%s", p->arch);
    w->dev.compute_units = p->units;
    for (int i = 0; i < CHANNELS && s == IRIS_OK; i++)
        s = iris_collective_channel(w, &channels[i], 0);
    memcpy(w->dev.arch, own.arch, sizeof own.arch);
    w->dev.compute_units = own.compute_units;
    return s;
}

/* 16 rows that each rank sends IRISI_GEMM_LL_BYTES of. */
static iris_status make_plan(iris_world *w, iris_gemm_plan *plan)
{
    iris_gemm_args g;
    const size_t others = (size_t)iris_world_size(w) - 1;
    memset(&g, 0, sizeof g);
    g.m = 16, g.k = 16, g.n = (int64_t)(IRISI_GEMM_LL_BYTES / others / 16 / 2 * (others + 1));
    g.a = iris_zeros_bf16(w, (size_t)(g.m * g.k));
    g.b = iris_zeros_bf16(w, (size_t)(g.k * g.n));
    g.c = iris_zeros_bf16(w, (size_t)(g.m * g.n));
    g.pattern = IRIS_GEMM_FUSED_SEQUENTIAL;
    return iris_gemm_prepare(w, plan, IRIS_GEMM_ALL_SCATTER, IRIS_BF16, &g);
}

static int rank_main(iris_world *w, void *arg)
{
    const platform *p = (const platform *)arg;
    iris_channel channels[CHANNELS];
    iris_gemm_plan plan;
    const size_t world = (size_t)iris_world_size(w), slice = 4 * (32 << 10) + 64 + 48 * world;
    IRIS_TRY(make_channels(w, p, channels));
    for (int i = 0; i < CHANNELS; i++)
        if (channels[i].slices != (uint32_t)p->slices)
            return printf("%s: %u slices, not %d\n", p->arch, channels[i].slices, p->slices), 1;
    const size_t used = iris_heap_used(w, IRIS_MEM_SYNC), said = (size_t)p->slices * slice * CHANNELS;
    if (used < said || used > said + said / 64)
        return printf("%s: four channels take %zu bytes, the page says %zu\n", p->arch, used, said), 1;
    const size_t banks = 4 * (size_t)LL_MOST * world / (world - 1), left = iris_heap_size(w, IRIS_MEM_SYNC) - used;
    if (strcmp(p->arch, "host") != 0 && banks > left / 4)
        return printf("%s: banks of %zu bytes are more than a quarter of %zu\n", p->arch, banks, left), 1;
    IRIS_TRY(make_plan(w, &plan));
    if (plan.exchange.ll_pitch == 0 || plan.exchange.ll.banks == NULL)
        return printf("%s: the plan has no room to send as LL packets\n", p->arch), 1;
    IRIS_TRY(iris_gemm_release(w, &plan));
    return 0;
}

/* The first channel is one of equal devices, for which there is a row; before the second rank 1 becomes another one. */
static int rows_main(iris_world *w, void *unused)
{
    enum { COUNT = 100 };
    iris_collective c;
    (void)unused;
    memset(&c, 0, sizeof c);
    c.count = COUNT, c.dtype = IRIS_I32, c.team.stride = 1, c.team.size = iris_world_size(w);
    for (int differ = 0; differ < 2; differ++) {
        iris_channel ch;
        w->dev.compute_units = differ && w->rank == 1 ? 8 : 7;
        IRIS_TRY(iris_collective_channel(w, &ch, 0));
        const irisi_collective_row *row = irisi_collective_tuned(w, &ch, IRISI_FAMILY_ALL_REDUCE, &c);
        if ((row != NULL) != !differ || (row != NULL && row->schedule != IRIS_SCHEDULE_RING))
            return printf("rank %d: a row %s where devices %s\n", w->rank, row ? "chooses" : "is missing",
                          differ ? "differ" : "are equal"),
                   1;
        IRIS_TRY(iris_barrier(w));
    }
    return 0;
}

int main(void)
{
    int failures = 0;
    unsetenv("IRIS_SYNC_MB");
    setenv("IRIS_TUNE", "collective=all_reduce units=7 schedule=ring", 1);
    if (iris_spawn(2, rows_main, NULL) != 0)
        failures++, printf("rows for a device: failed\n");
    unsetenv("IRIS_TUNE");
    for (size_t i = 0; i < sizeof platforms / sizeof *platforms; i++) {
        platform p = platforms[i];
        iris_config config;
        memset(&config, 0, sizeof config);
        config.sync_bytes = strcmp(p.arch, "host") != 0 ? p.sync_bytes : 0; /* the host's own default */
        for (int ranks = 2; ranks <= 3; ranks++)
            if (iris_spawn_config(ranks, rank_main, &p, &config) != 0)
                failures++, printf("%s, %d ranks: failed\n", p.arch, ranks);
    }
    return failures != 0;
}
