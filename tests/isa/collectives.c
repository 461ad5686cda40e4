/* SPDX-License-Identifier: MIT */
/*
 * collectives.c: the kernels of every schedule of every collective, for sums of bf16 where they reduce, as their
 * launchers hold them, for check.py. Never linked and never run.
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
