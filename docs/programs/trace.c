/* SPDX-License-Identifier: MIT */
/* One workgroup sends a row to the right neighbour in turns while the others compute; a trace shows when. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { GROUPS = 3, N = 1 << 16, TURNS = 4, SMOOTH = 0, EXCHANGE = 1 };

typedef struct {
    iris_ctx ctx;
    float *row, *inbox, *x;
    iris_signal *arrived;
} work_args;

IRIS_KERNEL(work, work_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    const uint32_t group = iris_workgroup();
    for (uint64_t turn = 1; turn <= TURNS; turn++) {
        const uint64_t begun = iris_trace_begin(&a->ctx);
        if (group == 0) {
            iris_put_signal_f32_wg(&a->ctx, a->inbox, a->row, N, a->arrived, turn, IRIS_SIGNAL_SET, right);
            iris_wait_ge_wg(&a->ctx, a->arrived, turn);
        } else {
            for (size_t i = (group - 1) * iris_wg_lanes() + iris_wg_lane(); i < N; i += (GROUPS - 1) * iris_wg_lanes())
                a->x[i] = a->x[i] * 0.5f + 1;
            iris_sync_wg(); /* the range ends when every lane is done */
        }
        if (iris_wg_lane() == 0)
            iris_trace_end(&a->ctx, begun, group == 0 ? EXCHANGE : SMOOTH);
    }
}

static int rank_main(iris_world *w, void *file)
{
    iris_launch_config grid = iris_cooperative(GROUPS, 256);
    iris_overlap seen;
    uint64_t lost;
    work_args a;
    a.ctx = iris_device_ctx(w);
    a.row = iris_full_f32(w, N, (float)iris_rank(w));
    a.inbox = iris_zeros_f32(w, N);
    a.x = iris_zeros_f32(w, N);
    a.arrived = iris_signals(w, 1);
    IRIS_TRY(iris_trace_name(w, SMOOTH, "smooth", IRIS_SPAN_COMPUTE));
    IRIS_TRY(iris_trace_name(w, EXCHANGE, "exchange", IRIS_TRACE_NO_SPAN)); /* its put and its wait count already */
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_trace_start(w, NULL));
    IRIS_TRY(iris_launch(w, work, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_trace_stop(w));
    IRIS_TRY(iris_trace_write(w, (const char *)file));
    IRIS_TRY(iris_trace_overlap(w, &seen, &lost));
    printf("rank %d: efficiency %.2f, %llu events lost\n", iris_rank(w), seen.efficiency, (unsigned long long)lost);
    return seen.compute == 0 || lost != 0;
}

int main(int argc, char **argv)
{
    static char file[] = "trace.json";
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(3, rank_main, argc > 1 ? argv[1] : file);
}
