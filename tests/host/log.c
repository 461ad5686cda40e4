/* SPDX-License-Identifier: MIT */
/*
 * log.c: IRIS_LOG=debug says what was launched and what the library chose, and IRIS_LOG=info says nothing of it.
 *
 * What stopped the world is told once by each rank, however many calls fail for it.
 *
 * Two ranks as threads write their lines to a file that stands for stderr; each line is then looked for word by word.
 */
#define _GNU_SOURCE 1
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#define IRIS_INSTANTIATE_GEMM_ALL_SCATTER_F32
#define IRIS_INSTANTIATE_TENSOR
#define IRIS_INSTANTIATE_TENSOR_SUM_F32
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/gemm_all_scatter.h>
#include <iris/gen/launch/tensor.h>
#include <iris/gen/wait.h>

typedef struct {
    iris_ctx ctx;
} nothing_args;

IRIS_KERNEL(do_nothing, nothing_args, a, 256) { (void)a; }

static char choice[IRIS_GEMM_TUNE_ROW]; /* of rank 0's plan, as iris_gemm_choice has it */

static iris_team everyone(const iris_world *w)
{
    iris_team team;
    team.start = 0, team.stride = 1, team.size = iris_world_size(w);
    return team;
}

static int reduce(iris_world *w, const iris_channel *ch, float *x, size_t count)
{
    IRIS_TRY(iris_all_reduce_sum_f32(w, ch, x, x, count, everyone(w), NULL));
    IRIS_TRY(iris_synchronize(w));
    return 0;
}

static int multiply(iris_world *w, float *a, float *b, float *c, iris_gemm_pattern pattern)
{
    iris_gemm_plan plan;
    iris_gemm_args g;
    iris_gemm_row row;
    memset(&g, 0, sizeof g);
    g.m = 96, g.n = 64, g.k = 32;
    g.a = a, g.b = b, g.c = c;
    g.pattern = pattern;
    IRIS_TRY(iris_gemm_prepare(w, &plan, IRIS_GEMM_ALL_SCATTER, IRIS_F32, &g));
    IRIS_TRY(iris_gemm_choice(w, &plan, &row));
    if (iris_rank(w) == 0 && pattern == IRIS_GEMM_AUTO)
        memcpy(choice, row.text, sizeof choice);
    IRIS_TRY(iris_gemm_all_scatter_f32(w, &plan, NULL));
    IRIS_TRY(iris_gemm_release(w, &plan));
    return 0;
}

/*
 * One call for each way to another layout: a copy, an all-gather, an all-to-all, pieces; into partial sums; of partial
 * sums an all-reduce, a reduce-scatter, pieces.
 */
static int reshard(iris_world *w, const iris_channel *ch)
{
    static const int64_t size[] = {2, 6, 5}, odd[] = {3, 7};
    const iris_tensor_layout layouts[] = {
        iris_tensor_split(IRIS_F32, 3, size, 1, 1), iris_tensor_split(IRIS_F32, 3, size, 0, 1),
        iris_tensor_replicated(IRIS_F32, 3, size), iris_tensor_split(IRIS_F32, 2, odd, 0, 1),
        iris_tensor_replicated(IRIS_F32, 2, odd), iris_tensor_partial(IRIS_F32, 3, size),
        iris_tensor_partial(IRIS_F32, 2, odd)};
    iris_tensor t[7];
    for (int i = 0; i < 7; i++)
        IRIS_TRY(iris_tensor_create(w, &t[i], &layouts[i]));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[1], &t[0], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[2], &t[1], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[0], &t[2], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[4], &t[3], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[5], &t[1], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[2], &t[5], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[1], &t[5], NULL));
    IRIS_TRY(iris_tensor_reshard(w, ch, &t[3], &t[6], NULL));
    IRIS_TRY(iris_barrier(w));
    return 0;
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(3, 64);
    float *x = iris_zeros_f32(w, 1 << 16);
    nothing_args a;
    iris_channel ch;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    grid.shared_bytes = 128;
    IRIS_TRY(iris_collective_channel(w, &ch, 0));
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, do_nothing, &a, sizeof a, &grid, NULL));
    if (reduce(w, &ch, x, 10) || reduce(w, &ch, x, 200) || reduce(w, &ch, x, 1 << 15))
        return 1;
    iris_collective asked = irisi_collective_of(x, x, 10, IRIS_F32, IRIS_OP_SUM, 0, everyone(w));
    asked.schedule = IRIS_SCHEDULE_RING;
    IRIS_TRY(iris_launch_all_reduce(w, &ch, &asked, NULL));
    return reshard(w, &ch) || multiply(w, x, x + 8192, x + 16384, IRIS_GEMM_AUTO) ||
           multiply(w, x, x + 8192, x + 16384, IRIS_GEMM_WG_SPECIALIZED);
}

typedef struct {
    iris_ctx ctx;
    iris_signal *never;
} wait_args;

IRIS_KERNEL(wait_in_vain, wait_args, a, 256) { iris_wait_ge_wg(&a->ctx, a->never, 1); }

/* Each rank hears twice of what stopped the world, then of what stopped it again after iris_reset. */
static int stop_twice(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(1, 64);
    wait_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.never = iris_signals(w, 1);
    IRIS_TRY(iris_barrier(w));
    for (int time = 0; time < 2; time++) {
        if (iris_rank(w) == 1)
            IRIS_TRY(iris_launch(w, wait_in_vain, &a, sizeof a, &grid, NULL));
        for (int call = 0; call < 3; call++)
            if (iris_barrier(w) != IRIS_ERR_TIMEOUT)
                return 1;
        IRIS_TRY(iris_reset(w));
    }
    return 0;
}

static unsigned count(const char *text, const char *word)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        n++;
    return n;
}

/* All that a job writes to stderr at a level of IRIS_LOG, to be freed; null when it fails. */
static char *lines_at(const char *level, iris_rank_main job)
{
    FILE *file = tmpfile();
    const int kept = dup(2);
    char *text = NULL;
    setenv("IRIS_LOG", level, 1);
    setenv("IRIS_SPAWN", "thread", 1);
    fflush(stderr);
    const int well = file && dup2(fileno(file), 2) == 2 && iris_spawn(2, job, NULL) == 0;
    fflush(stderr);
    dup2(kept, 2);
    if (well && fseek(file, 0, SEEK_END) == 0) {
        const size_t bytes = (size_t)ftell(file);
        text = (char *)calloc(bytes + 1, 1);
        rewind(file);
        if (text && fread(text, 1, bytes, file) != bytes)
            text[0] = 0;
    }
    if (file)
        fclose(file);
    close(kept);
    return text;
}

int main(void)
{
    static const char *const expected[] = {
        "iris[0] launch of do_nothing: 3 workgroups of 64 lanes, 128 bytes of shared memory, cooperative, default "
        "stream\n",
        "iris[1] launch of do_nothing: 3 workgroups of 64 lanes, 128 bytes of shared memory, cooperative, default "
        "stream\n",
        "iris[1] iris_all_reduce of 10 f32 by sum among 2 ranks: schedule ll, which the library chose\n",
        "iris[0] iris_all_reduce of 200 f32 by sum among 2 ranks: schedule ll_two_shot, which the library chose\n",
        "iris[0] iris_all_reduce of 32768 f32 by sum among 2 ranks: schedule two_shot, which the library chose\n",
        "iris[0] iris_all_reduce of 10 f32 by sum among 2 ranks: schedule ring, as asked for\n",
        "iris[0] launch of irisi_all_reduce_ll_sum_f32: ",
        "iris[0] launch of irisi_all_reduce_two_shot_sum_f32: ",
        "iris[0] iris_tensor_reshard of 60 f32 among 2 ranks: by all_to_all\n",
        "iris[1] iris_tensor_reshard of 60 f32 among 2 ranks: by all_gather\n",
        "iris[0] iris_tensor_reshard of 60 f32 among 2 ranks: by copies\n",
        "iris[1] iris_tensor_reshard of 21 f32 among 2 ranks: by pieces\n",
        "iris[0] iris_tensor_reshard of 60 f32 among 2 ranks: by own parts, and zeroes\n",
        "iris[1] iris_tensor_reshard of 60 f32 among 2 ranks: by all_reduce\n",
        "iris[0] iris_tensor_reshard of 60 f32 among 2 ranks: by reduce_scatter\n",
        "iris[1] iris_tensor_reshard of 21 f32 among 2 ranks: by pieces of partial sums\n",
        "iris[0] iris_gemm_prepare: pattern wg_specialized (asked for), tile ",
        "iris[1] launch of irisi_gemm_all_scatter_wg_specialized_f32",
    };
    int failures = 0;
    char *debug = lines_at("debug", rank_main), *info = lines_at("info", rank_main), *errors;
    setenv("IRIS_TIMEOUT_MS", "1500", 1);
    errors = lines_at("error", stop_twice);
    if (!debug || !info || !errors)
        return printf("a job failed\n"), 1;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (!strstr(debug, expected[i]))
            failures++, printf("missing: %s\n", expected[i]);
    const char *plan = strstr(debug, "iris[0] iris_gemm_prepare: "), *end = plan ? strchr(plan, '\n') : NULL;
    const char *row = plan ? strstr(plan, choice) : NULL;
    if (!choice[0] || !row || row > end)
        failures++, printf("missing: the choice \"%s\"\n", choice);
    if (strstr(info, "launch of") || strstr(info, "which the library chose") || strstr(info, "iris_gemm_prepare"))
        failures++, printf("said at IRIS_LOG=info too\n");
    if (failures)
        printf("%s", debug);
    if (count(errors, "iris[0] IRIS_ERR_TIMEOUT: ") != 2 || count(errors, "iris[1] IRIS_ERR_TIMEOUT: ") != 2)
        failures++, printf("a world that stopped twice is not told twice by each rank:\n%s", errors);
    free(debug), free(info), free(errors);
    printf("%d failures\n", failures);
    return failures != 0;
}
