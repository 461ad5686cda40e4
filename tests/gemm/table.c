/* SPDX-License-Identifier: MIT */
/*
 * table.c: the built-in table of GEMM choices, with rows of this test's in place of the measured ones: it counts behind
 * IRIS_TUNE, and a row that cannot be on this device counts for nothing, whatever it is for. And what a row leaves open
 * is written as something that a row may say.
 */
#define IRIS_RUNTIME_GEMM_TABLE_H /* not the measured rows, but: */
static const char *const irisi_gemm_table[] = {
    "arch=host m=64 n=64 k=64 dtype=f32 layout=nn pattern=bulk_synchronous us=3",
    "arch=host m=65 n=64 k=64 dtype=f32 layout=nn "
    "pattern=bulk_synchronous comm=1 height=128 width=60000 tail_tiles=3 tail_halves=0 edge_width=64 us=3",
    "arch=host m=66 n=64 k=64 dtype=f32 layout=nn pattern=bulk_synchronous height=16 width=32 us=3",
    "arch=host m=67 n=64 k=64 dtype=f32 layout=nn pattern=wg_specialized comm=200 us=3",
    0,
};

#include "../../include/iris/init.c"

#include <iris/gemm/prepare.h>
#include <iris/collective/message.h> /* which init.c does not hold: one file can have both */

static unsigned failures;

static void expect(int64_t m, iris_gemm_plan *plan, const char *what, uint32_t got, uint32_t wanted)
{
    if (got != wanted)
        failures++, printf("%lld x 64 x 64: %s is %u, expected %u (pattern %s)\n", (long long)m, what, got, wanted,
                           iris_gemm_pattern_name((iris_gemm_pattern)plan->pattern));
}

/* A plan for m x 64 x 64 by these rows and the table's. */
static iris_gemm_plan plan(iris_world *w, int64_t m, const char *tune)
{
    static float a[80 * 64], b[64 * 64];
    static void *c;
    iris_gemm_args g;
    iris_gemm_plan p;
    memset(&g, 0, sizeof g);
    if (c == NULL)
        c = iris_malloc(w, 80 * 64 * sizeof(float));
    g.m = m, g.n = g.k = 64, g.a = a, g.b = b, g.c = c, g.workgroups = 8, g.tune = tune;
    if (iris_gemm_prepare(w, &p, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g) != IRIS_OK)
        failures++, printf("%s\n", iris_error_string(w));
    return p;
}

/* A plan that was cut as a row wants, who says nothing of full tiles: its own row can be read, and wants the same. */
static void read_back(iris_world *w)
{
    char text[IRIS_GEMM_TUNE_ROW] = "width=64 tail_tiles=2", why[256] = "";
    irisi_tune_row row;
    iris_gemm_plan p;
    memset(&p, 0, sizeof p);
    irisi_tune_read(&row, text, why, sizeof why);
    const irisi_gemm_cutting asked = irisi_tune_row_cut(&row);
    p.op = IRIS_GEMM_ALL_SCATTER;
    p.world = p.machine.default_workgroups = p.machine.workgroups = p.m = p.most_m = p.region.rows = p.n = p.k = 1,
    p.tiling.tile_m = 128, p.pattern = IRIS_GEMM_FUSED_SEQUENTIAL;
    p.operands.dtype = p.operands.c_dtype = p.sums.c_dtype = IRIS_BF16, p.tiling.tile_n = asked.width,
    p.tiling.edge_width = asked.edge_width, p.tiling.tail_tiles = asked.tail_tiles;
    p.tiling.cluster = asked.cluster, p.tiling.split_k = asked.split_k, p.tiling.most_full_n = asked.full_n;
    irisi_gemm_print(w, &p, 1, text, sizeof text);
    if (!irisi_tune_read(&row, text, why, sizeof why))
        failures++, printf("%s\n", why);
    else if (irisi_tune_row_cut(&row).full_n != asked.full_n)
        failures++, printf("%u full tiles of a row became %u\n", asked.full_n, irisi_tune_row_cut(&row).full_n);
}

static int rank_main(iris_world *w, void *arg)
{
    const uint32_t wave = IRIS_GEMM_WAVE_SPECIALIZED, bulk = IRIS_GEMM_BULK_SYNCHRONOUS;
    (void)arg;
    read_back(w);
    for (int64_t m = 64; m < 69; m++) {
        iris_gemm_plan model = plan(w, m, "model"), found = plan(w, m, NULL), tuned;
        const int hit = m == 64 || m == 66; /* the others cannot be, or there is none */
        expect(m, &found, "the pattern", found.pattern, hit ? bulk : model.pattern);
        expect(m, &found, "the height of a tile", found.tiling.tile_m, m == 66 ? 16 : model.tiling.tile_m);
        expect(m, &found, "the width of a tile", found.tiling.tile_n, m == 66 ? 32 : model.tiling.tile_n);
        expect(m, &found, "the number of senders", found.machine.comm_workgroups, model.machine.comm_workgroups);
        tuned = plan(w, m, "n=64,pattern=wave_specialized");
        expect(m, &tuned, "the pattern of tune", tuned.pattern, wave);
        if (iris_gemm_release(w, &tuned))
            failures++;
        tuned = plan(w, m, "n=65,pattern=wave_specialized");
        expect(m, &tuned, "the pattern behind tune", tuned.pattern, hit ? bulk : model.pattern);
        if (iris_gemm_release(w, &model) || iris_gemm_release(w, &found) || iris_gemm_release(w, &tuned))
            failures++;
    }
    return failures != 0; /* the rank is another process */
}

int main(void)
{
    unsetenv("IRIS_TUNE");
    if (iris_spawn(1, rank_main, NULL) != 0)
        failures++;
    printf("%u failures\n", failures);
    return failures != 0;
}
