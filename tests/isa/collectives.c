/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: the kernels of every schedule of every collective, for sums of bf16 where they reduce, as their
 * launchers hold them, and a few more, for check.py. Never linked and never run.
 */
#define IRIS_INSTANTIATE_ALL_GATHER
#define IRIS_INSTANTIATE_ALL_REDUCE_RMSNORM_BF16
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_ALL_TO_ALL
#define IRIS_INSTANTIATE_ALL_TO_ALLV
#define IRIS_INSTANTIATE_BROADCAST
#define IRIS_INSTANTIATE_GATHER
#define IRIS_INSTANTIATE_REDUCE_SCATTER_SUM_BF16
#define IRIS_INSTANTIATE_REDUCE_SUM_BF16
#define IRIS_INSTANTIATE_SCATTER
#define IRIS_INSTANTIATE_SEND_RECV
#include <iris/gen/launch/all_gather.h>
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/all_reduce_rmsnorm.h>
#include <iris/gen/launch/all_to_all.h>
#include <iris/gen/launch/all_to_allv.h>
#include <iris/gen/launch/broadcast.h>
#include <iris/gen/launch/gather.h>
#include <iris/gen/launch/reduce.h>
#include <iris/gen/launch/reduce_scatter.h>
#include <iris/gen/launch/scatter.h>
#include <iris/gen/launch/send_recv.h>
#include <iris/gen/all_reduce_atomic.h>
#include <iris/gen/all_reduce_values.h>
#include <iris/gen/send_recv_2d.h>

/* What no launcher holds, and the kernels of narrow types that need most registers, of those that an arch converts. */
#if defined(__gfx942__)
#define ISA_F8 f8e4m3fnuz
#define ISA_F8_TYPE iris_f8e4m3fnuz
#else
#define ISA_F8 f8e4m3
#define ISA_F8_TYPE iris_f8e4m3
#endif
#define ISA_COLLECTIVE(collective, op, type, ctype) ISA_COLLECTIVE_OF(collective, op, type, ctype)
#define ISA_COLLECTIVE_OF(collective, op, type, ctype)                                                                 \
    IRIS_KERNEL(irisi_##collective##_##op##_##type, irisi_collective_args, a, IRISI_COLLECTIVE_LANES)                  \
    {                                                                                                                  \
        iris_##collective##_##op##_##type(&a->ctx, &a->ch, a->team, (ctype *)a->dst, (const ctype *)a->src, a->count); \
    }
extern "C" {
ISA_COLLECTIVE(all_reduce_atomic, sum, f32, float)
ISA_COLLECTIVE(all_reduce_two_phase, min, i8, int8_t)
ISA_COLLECTIVE(reduce_scatter_push, min, i16, int16_t)
ISA_COLLECTIVE(all_reduce_two_phase, sum, ISA_F8, ISA_F8_TYPE)
ISA_COLLECTIVE(all_reduce_two_shot_push, sum, ISA_F8, ISA_F8_TYPE)
ISA_COLLECTIVE(reduce_scatter_push, sum, ISA_F8, ISA_F8_TYPE)
IRIS_KERNEL(irisi_send_recv_2d, irisi_message_args, a, IRISI_COLLECTIVE_LANES)
{
    iris_send_recv_2d_f32_wg(&a->ctx, &a->ch, iris_workgroup(), (float *)a->dst, a->bytes + 3, a->from,
                             (const float *)a->src, a->bytes + 4, a->to, a->bytes / 64, a->bytes);
}
IRIS_KERNEL(irisi_all_reduce_values, irisi_collective_args, a, IRISI_COLLECTIVE_LANES)
{
    float v[4], *own = (float *)a->dst + 4 * iris_grid_lane();
    for (int i = 0; i < 4; i++)
        v[i] = own[i] * 2;
    iris_all_reduce_values_sum_f32_wg(&a->ctx, &a->ch, a->team, iris_workgroup(), v, 4);
    for (int i = 0; i < 4; i++)
        own[i] = v[i] + 1;
}
}
