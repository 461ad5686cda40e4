/* SPDX-License-Identifier: MIT */
/*
 * gemv_join.h (nvidia): how the loop for up to 8 rows (gemv.h) adds up the sums of a workgroup's waves, and those of
 * splits of K.
 *
 *   irisi_gemv_pipe irisi_gemv_pipe_begin irisi_gemv_leave irisi_gemv_expect irisi_gemv_collect
 *
 * Where K is cut, each workgroup of a cluster computes a split of one tile. The others store their sums in the shared
 * memory of the last one, which adds them up and writes the tile.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_GEMV_JOIN_H
#define IRIS_MAINLOOP_NVIDIA_GEMV_JOIN_H

#include <iris/mainloop/nvidia/gemv.h>
#include <iris/gemm/wave_group.h>

/*
 * What the mainloop keeps from tile to tile: `room` for what it multiplies, later for the waves' sums, and how many
 * tiles there have been. Where K is cut: the barrier that counts other splits' sums, and where the last workgroup gets
 * these.
 */
typedef struct irisi_gemv_pipe {
    char *room;
    uint32_t bar;
    const float *given;
    uint32_t tiles;
} irisi_gemv_pipe;

IRIS_DEVICE irisi_gemv_pipe irisi_gemv_pipe_begin(const iris_gemm_plan *plan, char *workspace)
{
    char *behind =
        workspace + irisi_gemv_room(!plan->operands.b_transposed, plan->tiling.tile_m, plan->k, plan->tiling.split_k);
    irisi_gemv_pipe pipe;
    pipe.room = workspace, pipe.bar = irisi_shared_address(behind), pipe.given = (const float *)(void *)(behind + 16);
    pipe.tiles = 0;
    return pipe;
}

/* Elements of a tile that a lane finishes, at most: counted row by row, every IRISI_GEMM_LANES_GEMV-th. */
enum { IRISI_GEMV_SHARE = IRISI_GEMV_SUMS / IRISI_GEMM_LANES_GEMV };

/* How many waves have a partial sum of a column. */
IRIS_DEVICE uint32_t irisi_gemv_parts(int n_major, const iris_gemm_plan *plan)
{
    return n_major ? (uint32_t)IRISI_GEMV_WAVES : IRISI_GEMV_WAVES >> (irisi_gemv_columns(plan) - 4);
}

/* Stores a lane's accumulators among the waves' sums. Rows are an odd number of floats apart: in different banks. */
IRIS_DEVICE void irisi_gemv_leave(int n_major, const iris_gemm_plan *plan, const iris_tile *tile,
                                  const irisi_gemv_job *job, const float *v, float *sums)
{
    const uint32_t quad = iris_lane() / 4, pitch = plan->tiling.tile_n + 1;
    IRISI_UNROLL
    for (uint32_t i = 0; i < (n_major ? 16u : 4u); i++) {
        const uint32_t row = iris_lane() % 4 * 2 + i % 2, second = i / 2 % 2;
        const uint32_t column =
            n_major ? 16 * (i / 4) + quad + 8 * second - job->skew : job->column + ((quad + 8 * second) << job->apart);
        if (row < tile->rows && column < plan->tiling.tile_n)
            sums[(job->part * plan->tiling.tile_m + row) * pitch + column] = v[i];
    }
}

/* Adds up an element's partial sums. All are read before the first is added. */
IRIS_DEVICE float irisi_gemv_sum(const iris_gemm_plan *plan, const float *sums, uint32_t parts, uint32_t row,
                                 uint32_t column)
{
    const uint32_t pitch = plan->tiling.tile_n + 1, apart = plan->tiling.tile_m * pitch;
    float part[IRISI_GEMV_WAVES], v = 0;
    sums += row * pitch + column;
    IRISI_UNROLL
    for (uint32_t i = 0; i < IRISI_GEMV_WAVES; i++)
        part[i] = i < parts ? sums[i * apart] : 0;
    IRISI_UNROLL
    for (uint32_t i = 0; i < IRISI_GEMV_WAVES; i++)
        v += part[i];
    return v;
}

/* Makes the barrier that counts the others' sums, in the last split's workgroup. Every lane of the cluster calls it. */
IRIS_DEVICE void irisi_gemv_expect(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_pipe *pipe,
                                   const iris_wave_group *group)
{
    if (plan->tiling.split_k == 1)
        return;
    if (tile->k_split + 1 == plan->tiling.split_k && group->member == 0) {
        irisi_mbar_init(pipe->bar, 1);
        irisi_mbar_made();
        irisi_mbar_expect(pipe->bar, (4 * tile->k_split * tile->rows) << irisi_gemv_columns(plan));
    }
    irisi_cluster_arrive();
}

/* Adds up splits of K, in order, in the last one's workgroup. Every lane of the cluster calls it. */
IRIS_DEVICE void irisi_gemv_join(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_pipe *pipe,
                                 const iris_wave_group *group, float *v)
{
    const uint32_t last = plan->tiling.split_k - 1, all = tile->rows << irisi_gemv_columns(plan);
    const uint32_t given = irisi_shared_address(pipe->given) + 4 * tile->k_split * all;
    irisi_cluster_await(); /* the barrier has been made */
    IRISI_UNROLL
    for (uint32_t r = 0; r < IRISI_GEMV_SHARE; r++) {
        const uint32_t i = group->member + r * IRISI_GEMM_LANES_GEMV;
        if (tile->k_split == last || i >= all)
            break;
        irisi_cluster_give(irisi_cluster_at(given + 4 * i, last), irisi_cluster_at(pipe->bar, last), v[r]);
    }
    if (tile->k_split < last)
        return;
    irisi_mbar_wait_stored(pipe->bar, 0);
    IRISI_UNROLL
    for (uint32_t r = 0; r < IRISI_GEMV_SHARE; r++) {
        const uint32_t i = group->member + r * IRISI_GEMM_LANES_GEMV;
        if (i >= all)
            break;
        for (uint32_t k_split = 0; k_split < last; k_split++)
            v[r] += pipe->given[k_split * all + i];
    }
}

/* A lane's elements of the tile, once all waves' sums are stored. Every lane of the wave group calls it. */
IRIS_DEVICE void irisi_gemv_collect(const iris_gemm_plan *plan, const iris_tile *tile, const irisi_gemv_pipe *pipe,
                                    const iris_wave_group *group, float *v)
{
    const uint32_t shift = irisi_gemv_columns(plan), parts = irisi_gemv_parts(!plan->operands.b_transposed, plan);
    const float *sums = (const float *)(const void *)pipe->room;
    IRISI_UNROLL
    for (uint32_t r = 0; r < IRISI_GEMV_SHARE; r++) {
        const uint32_t i = group->member + r * IRISI_GEMM_LANES_GEMV, row = i >> shift,
                       column = i & ((1u << shift) - 1);
        v[r] = 0;
        if (row < tile->rows && column < plan->tiling.tile_n)
            v[r] = irisi_gemv_sum(plan, sums, parts, row, column);
    }
    if (plan->machine.next == IRISI_NEXT_SUMMED)
        irisi_launch_next();
    if (plan->tiling.split_k > 1)
        irisi_gemv_join(plan, tile, pipe, group, v);
}

#endif
