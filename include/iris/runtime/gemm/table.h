/* SPDX-License-Identifier: MIT */
/*
 * table.h: a part of init.c: the built-in table of measured choices, rows as tune_rows.h reads them.
 *
 * Made by `python3 bench/tune.py` of what bench/gemm_tune wrote into bench/results/gemm_tune/: measure again instead of
 * editing it.
 */
#ifndef IRIS_RUNTIME_GEMM_TABLE_H
#define IRIS_RUNTIME_GEMM_TABLE_H
#ifdef IRIS_INIT_C

static const char *const irisi_gemm_table[] = {
    "arch=sm_90 units=132 world=1 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1031.9",
    "arch=sm_90 units=132 world=1 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=14 late=0 halves=0 edge=256 us=1064.3",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1014.9",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 pair=2 split_k=1 full=16 late=0 halves=0 edge=256 us=1063.2",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1172.6",
    "arch=sm_90 units=132 world=1 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=14 late=0 halves=0 edge=128 us=1278.3",
    "arch=sm_90 units=132 world=1 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "pattern=wave_specialized height=128 width=256 pair=2 split_k=1 full=18 late=48 halves=33 edge=256 us=3739.6",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=29 late=0 halves=0 edge=192 us=5695.7",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 pair=2 split_k=1 full=29 late=0 halves=0 edge=192 us=6035.6",
    "arch=sm_90 units=132 world=1 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=180.4",
    "arch=sm_90 units=132 world=1 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=13 late=10 halves=0 edge=192 us=193.9",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=1477.5",
    "arch=sm_90 units=132 world=1 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 pair=2 split_k=1 full=29 late=0 halves=0 edge=192 us=1512.2",
    "arch=sm_90 units=132 world=1 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 pair=2 split_k=1 full=64 late=70 halves=66 edge=256 us=13028.5",
    "arch=sm_90 units=132 world=1 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=180.5",
    "arch=sm_90 units=132 world=1 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=31 late=0 halves=0 edge=192 us=185.5",
    "arch=sm_90 units=132 world=1 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=blas_gather height=128 width=256 us=36.5",
    "arch=sm_90 units=132 world=1 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wave_specialized height=128 width=128 pair=1 split_k=1 full=64 late=64 halves=64 edge=128 us=42.4",
    "arch=sm_90 units=132 world=1 m=8191 n=4095 k=4097 dtype=bf16 out=bf16 layout=nn "
    "pattern=bulk_synchronous height=128 width=256 pair=2 split_k=1 full=15 late=0 halves=0 edge=256 us=537.6",
    "arch=sm_90 units=132 world=2 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=8 late=0 halves=0 edge=256 us=547.8",
    "arch=sm_90 units=132 world=2 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=8 late=0 halves=0 edge=256 us=637.4",
    "arch=sm_90 units=132 world=2 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=7 late=30 halves=30 edge=256 lead=1 "
    "us=556.3",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=16 late=0 halves=0 edge=256 lead=1 "
    "us=747.6",
    "arch=sm_90 units=132 world=2 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=128 pair=2 split_k=1 full=16 late=0 halves=0 edge=128 us=126.7",
    "arch=sm_90 units=132 world=2 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=16 late=20 halves=20 edge=256 early=20 "
    "us=117.2",
    "arch=sm_90 units=132 world=2 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=64 pair=1 split_k=2 full=64 late=0 halves=0 edge=64 us=34.1",
    "arch=sm_90 units=132 world=2 m=8191 n=4095 k=4097 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential height=128 width=256 pair=2 split_k=1 full=8 late=0 halves=0 edge=256 us=364.6",
    "arch=sm_90 units=132 world=2 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 pair=2 split_k=1 full=9 late=28 halves=28 edge=256 us=1819.6",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 pair=2 split_k=1 full=16 late=0 halves=0 edge=256 us=2800.1",
    "arch=sm_90 units=132 world=2 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 pair=2 split_k=1 full=16 late=0 halves=0 edge=256 us=2986.1",
    "arch=sm_90 units=132 world=2 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=256 pair=2 split_k=1 full=32 late=94 halves=94 edge=256 lead=4 "
    "us=6909.2",
    "arch=sm_90 units=132 world=4 m=8192 n=4096 k=12288 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 pair=2 split_k=1 full=4 late=62 halves=62 edge=256 lead=1 "
    "us=311.0",
    "arch=sm_90 units=132 world=4 m=8192 n=4096 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 pair=2 split_k=1 full=4 late=62 halves=31 edge=256 lead=1 "
    "us=351.5",
    "arch=sm_90 units=132 world=4 m=8192 n=3584 k=14336 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=8 height=128 width=256 pair=2 split_k=1 full=3 late=30 halves=30 edge=64 lead=1 "
    "us=331.7",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=12 height=128 width=256 pair=2 split_k=1 full=8 late=70 halves=60 edge=256 lead=1 "
    "us=426.7",
    "arch=sm_90 units=132 world=4 m=4096 n=4096 k=4096 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=12 height=128 width=256 pair=2 split_k=1 full=4 late=64 halves=0 edge=256 us=103.2",
    "arch=sm_90 units=132 world=4 m=1024 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=fused_sequential workgroups=128 height=128 width=128 pair=2 split_k=1 full=16 late=22 halves=22 edge=128 "
    "early=22 us=80.8",
    "arch=sm_90 units=132 world=4 m=64 n=8192 k=8192 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=64 pair=1 split_k=4 full=32 late=0 halves=0 edge=64 us=26.2",
    "arch=sm_90 units=132 world=4 m=8191 n=4095 k=4097 dtype=bf16 out=bf16 layout=nn "
    "pattern=wave_specialized height=128 width=256 pair=2 split_k=1 full=4 late=0 halves=0 edge=256 us=301.7",
    "arch=sm_90 units=132 world=4 m=8192 n=4608 k=36864 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=2 height=128 width=192 pair=2 split_k=1 full=6 late=0 halves=0 edge=192 lead=1 "
    "us=970.6",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=28672 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=8 late=62 halves=62 edge=256 lead=1 "
    "us=1355.5",
    "arch=sm_90 units=132 world=4 m=8192 n=8192 k=30720 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=4 height=128 width=256 pair=2 split_k=1 full=8 late=0 halves=0 edge=256 lead=1 "
    "us=1449.8",
    "arch=sm_90 units=132 world=4 m=16384 n=16384 k=16384 dtype=bf16 out=bf16 layout=nn "
    "pattern=wg_specialized comm=6 height=128 width=256 pair=2 split_k=1 full=16 late=4 halves=0 edge=256 lead=4 "
    "us=3293.2",
    NULL,
};

#endif
#endif
