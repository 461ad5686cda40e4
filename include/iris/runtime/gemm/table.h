/* SPDX-License-Identifier: MIT */
/*
 * table.h: a part of init.c: the built-in table of measured choices, rows as tune_read.h reads them.
 *
 * Made by `python3 bench/tune.py` of what iris-tune wrote into bench/results: measure again instead of editing it.
 */
#ifndef IRIS_RUNTIME_GEMM_TABLE_H
#define IRIS_RUNTIME_GEMM_TABLE_H
#ifdef IRIS_INIT_C

static const char *const irisi_gemm_table[] = {
    "arch=sm_90 units=132 world=1 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1031.9",
    "arch=sm_90 units=132 world=1 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=14 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=1064.3",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1014.9",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=1063.2",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1172.6",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=14 tail_tiles=0 tail_halves=0 "
    "edge_width=128 us=1278.3",
    "op=local arch=sm_90 units=132 world=1 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "height=128 width=256 cluster=2 split_k=1 full=18 tail_tiles=48 tail_halves=33 edge_width=256 us=3739.6",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=29 tail_tiles=0 tail_halves=0 "
    "edge_width=192 us=5695.7",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 cluster=2 split_k=1 full=29 tail_tiles=0 tail_halves=0 "
    "edge_width=192 us=6035.6",
    "arch=sm_90 units=132 world=1 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=180.4",
    "arch=sm_90 units=132 world=1 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=13 tail_tiles=10 tail_halves=0 "
    "edge_width=192 us=193.9",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1477.5",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 cluster=2 split_k=1 full=29 tail_tiles=0 tail_halves=0 "
    "edge_width=192 us=1512.2",
    "arch=sm_90 units=132 world=1 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 cluster=2 split_k=1 full=64 tail_tiles=70 tail_halves=66 "
    "edge_width=256 us=13028.5",
    "arch=sm_90 units=132 world=1 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=180.5",
    "arch=sm_90 units=132 world=1 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=31 tail_tiles=0 tail_halves=0 "
    "edge_width=192 us=185.5",
    "arch=sm_90 units=132 world=1 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=36.5",
    "op=local arch=sm_90 units=132 world=1 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "height=128 width=128 cluster=1 split_k=1 full=64 tail_tiles=64 tail_halves=64 edge_width=128 us=42.4",
    "arch=sm_90 units=132 world=1 m=8191 n=4095 k=4097 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 cluster=2 split_k=1 full=15 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=537.6",
    "arch=sm_90 units=132 world=2 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=547.8",
    "arch=sm_90 units=132 world=2 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=637.4",
    "arch=sm_90 units=132 world=2 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=7 tail_tiles=30 tail_halves=30 "
    "edge_width=256 sender_tiles=1 us=556.3",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=0 tail_halves=0 "
    "edge_width=256 sender_tiles=1 us=747.6",
    "arch=sm_90 units=132 world=2 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=128 cluster=2 split_k=1 full=16 tail_tiles=0 tail_halves=0 "
    "edge_width=128 us=126.7",
    "arch=sm_90 units=132 world=2 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=20 tail_halves=20 "
    "edge_width=256 head_halves=20 us=117.2",
    "arch=sm_90 units=132 world=2 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=64 cluster=1 split_k=2 full=64 tail_tiles=0 tail_halves=0 "
    "edge_width=64 us=34.1",
    "arch=sm_90 units=132 world=2 m=8191 n=4095 k=4097 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=364.6",
    "arch=sm_90 units=132 world=2 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 cluster=2 split_k=1 full=9 tail_tiles=28 tail_halves=28 "
    "edge_width=256 us=1819.6",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=2800.1",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=0 tail_halves=0 "
    "edge_width=256 us=2986.1",
    "arch=sm_90 units=132 world=2 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 cluster=2 split_k=1 full=32 tail_tiles=94 tail_halves=94 "
    "edge_width=256 sender_tiles=4 us=6909.2",
    "arch=sm_90 units=132 world=4 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 cluster=2 split_k=1 full=4 tail_tiles=62 tail_halves=62 "
    "edge_width=256 sender_tiles=1 us=311.0",
    "arch=sm_90 units=132 world=4 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 cluster=2 split_k=1 full=4 tail_tiles=62 tail_halves=31 "
    "edge_width=256 sender_tiles=1 us=351.5",
    "arch=sm_90 units=132 world=4 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 cluster=2 split_k=1 full=3 tail_tiles=30 tail_halves=30 "
    "edge_width=64 sender_tiles=1 us=331.7",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=12 height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=70 tail_halves=60 "
    "edge_width=256 sender_tiles=1 us=426.7",
    "arch=sm_90 units=132 world=4 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=12 height=128 width=256 cluster=2 split_k=1 full=4 tail_tiles=64 tail_halves=0 "
    "edge_width=256 us=103.2",
    "arch=sm_90 units=132 world=4 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential workgroups=128 height=128 width=128 cluster=2 split_k=1 full=16 tail_tiles=22 "
    "tail_halves=22 edge_width=128 head_halves=22 us=80.8",
    "arch=sm_90 units=132 world=4 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=64 cluster=1 split_k=4 full=32 tail_tiles=0 tail_halves=0 "
    "edge_width=64 us=26.2",
    "arch=sm_90 units=132 world=4 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=192 cluster=2 split_k=1 full=6 tail_tiles=0 tail_halves=0 "
    "edge_width=192 sender_tiles=1 us=970.6",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=62 tail_halves=62 "
    "edge_width=256 sender_tiles=1 us=1355.5",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 cluster=2 split_k=1 full=8 tail_tiles=0 tail_halves=0 "
    "edge_width=256 sender_tiles=1 us=1449.8",
    "arch=sm_90 units=132 world=4 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=6 height=128 width=256 cluster=2 split_k=1 full=16 tail_tiles=4 tail_halves=0 "
    "edge_width=256 sender_tiles=4 us=3293.2",
    NULL,
};

#endif
#endif
