/* SPDX-License-Identifier: MIT */
/* How fast rows go to the right neighbour, by size and by number of workgroups. */
#include <iris/bench.h>
#include <stdio.h>

enum { ROOM = 8 << 20 };

typedef struct {
    iris_ctx ctx;
    const float *row;
    float *inbox;
    size_t n;
} push_args;

IRIS_KERNEL(push, push_args, a, 256)
{
    const size_t each = (a->n + iris_workgroups() - 1) / iris_workgroups(), first = each * iris_workgroup();
    if (first < a->n)
        iris_put_f32_wg(&a->ctx, a->inbox + first, a->row + first, a->n - first < each ? a->n - first : each,
                        (a->ctx.rank + 1) % a->ctx.world);
}

/* A rank's buffers, of ROOM bytes each, and the launch that is measured. */
typedef struct {
    push_args args;
    float *row, *inbox;
    iris_launch_config grid;
} push_job;

/* One call. Rows go from place to place in the buffers, so that no cache holds what is read. */
static iris_status submit(iris_world *w, void *arg, iris_stream stream, int turn)
{
    push_job *j = (push_job *)arg;
    const size_t at = iris_bench_place(j->args.n * sizeof(float), ROOM, turn) / sizeof(float);
    j->args.row = j->row + at;
    j->args.inbox = j->inbox + at;
    return iris_launch(w, push, &j->args, sizeof j->args, &j->grid, stream);
}

/* One point of the axes: times it, and looks at the last number of the last call's row. */
static iris_status measure(iris_bench_point *p)
{
    push_job *j = (push_job *)p->arg;
    const int left = (iris_rank(p->world) + iris_world_size(p->world) - 1) % iris_world_size(p->world);
    j->args.n = p->row.bytes / sizeof(float);
    j->grid = iris_grid((uint32_t)p->row.workgroups, 256);
    p->row.lanes = 256;
    iris_status status = iris_memset(p->world, j->inbox, 0xFF, ROOM);
    if (status == IRIS_OK)
        status = iris_bench_time(p, NULL, submit, j);
    if (status == IRIS_OK)
        status = iris_barrier(p->world); /* the left neighbour's last row is here */
    p->row.gbps = iris_bench_gbps(&p->row.time, p->row.bytes);
    p->row.ok = status == IRIS_OK && iris_peek_f32(p->world, j->args.inbox + j->args.n - 1) == (float)left;
    return status;
}

static int rank_main(iris_world *w, void *arg)
{
    push_job j;
    memset((void *)&j, 0, sizeof j);
    j.args.ctx = iris_device_ctx(w);
    j.row = iris_full_f32(w, ROOM / sizeof(float), (float)iris_rank(w));
    j.inbox = iris_zeros_f32(w, ROOM / sizeof(float));
    IRIS_TRY(iris_barrier(w));
    return iris_bench_run(w, (const iris_bench_suite *)arg, &j);
}

int main(int argc, char **argv)
{
    static const int64_t workgroups[] = {1, 4, 16};
    static iris_bench_suite suite; /* its ranks are forked, or threads, and read it */
    iris_bench_suite_init(&suite, "push", "push: rows to the right neighbour");
    iris_bench_benchmark *b = iris_bench_add(&suite, "push", measure);
    iris_bench_powers(b, "bytes", 4 << 10, 4 << 20, 32);
    iris_bench_list(b, "workgroups", workgroups, 3);
    const int done = iris_bench_parse(&suite, argc, argv);
    return done >= 0 ? done : iris_spawn(suite.ranks, rank_main, &suite);
}
