/* SPDX-License-Identifier: MIT */
/* One workgroup sends a row to the right neighbour and waits for the left one's while the others compute. */
#include <iris/iris.h>
#include <iris/init.h>
#include <stdio.h>

enum { GROUPS = 4, N = 1 << 20 };

typedef struct {
    iris_ctx ctx;
    float *row, *inbox, *x;
    iris_signal *arrived;
    iris_span *spans; /* one for each workgroup, in own memory */
} work_args;

IRIS_KERNEL(work, work_args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    const uint32_t group = iris_workgroup();
    const uint64_t begin = iris_clock();
    if (group == 0) {
        iris_put_signal_f32_wg(&a->ctx, a->inbox, a->row, N, a->arrived, 1, IRIS_SIGNAL_ADD, right);
        iris_wait_ge_wg(&a->ctx, a->arrived, 1);
    } else {
        for (size_t i = (group - 1) * iris_wg_lanes() + iris_wg_lane(); i < N; i += (GROUPS - 1) * iris_wg_lanes())
            for (int turn = 0; turn < 20; turn++)
                a->x[i] = a->x[i] * 0.5f + 1;
    }
    iris_sync_wg(); /* the span ends when every lane is done */
    if (iris_wg_lane() == 0) {
        a->spans[group].begin = begin;
        a->spans[group].end = iris_clock();
        a->spans[group].kind = group == 0 ? IRIS_SPAN_COMMUNICATE : IRIS_SPAN_COMPUTE;
    }
}

static int rank_main(iris_world *w, void *unused)
{
    iris_launch_config grid = iris_cooperative(GROUPS, 256);
    iris_span spans[GROUPS];
    iris_overlap seen;
    work_args a;
    (void)unused;
    a.ctx = iris_device_ctx(w);
    a.row = iris_full_f32(w, N, (float)iris_rank(w));
    a.inbox = iris_zeros_f32(w, N);
    a.x = iris_zeros_f32(w, N);
    a.arrived = iris_signals(w, 1);
    a.spans = (iris_span *)iris_zeros_u8(w, sizeof spans);
    IRIS_TRY(iris_barrier(w));
    IRIS_TRY(iris_launch(w, work, &a, sizeof a, &grid, iris_default_stream(w)));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, spans, a.spans, sizeof spans));
    IRIS_TRY(iris_overlap_report(spans, GROUPS, &seen));
    printf("rank %d: %llu ticks; arithmetic %llu, communication %llu, of it exposed %llu; efficiency %.2f\n",
           iris_rank(w), (unsigned long long)seen.time, (unsigned long long)seen.compute,
           (unsigned long long)seen.communicate, (unsigned long long)seen.exposed, seen.efficiency);
    return seen.time != 0 && seen.compute + seen.exposed + seen.idle == seen.time ? 0 : 1;
}

int main(void)
{
    printf("platform: %s\n", iris_platform_name());
    return iris_spawn(2, rank_main, NULL);
}
