/* SPDX-License-Identifier: MIT */
/*
 * bench.h: a benchmark of one's own. Not a part of iris.h: a program that measures includes it, in a file with kernels.
 *
 *   <iris/bench/time.h>     iris_bench: one time, from an aligned start of all ranks; quantiles, rates
 *   <iris/bench/rows.h>     rows of a result as a table, JSON and CSV
 *   <iris/bench/progress.h> what a long run is at, on standard error
 *   <iris/bench/axes.h>     benchmarks and the axes whose product each is run at
 *   <iris/bench/program.h>  a program of benchmarks, and its command line
 *
 * docs/how-to/benchmark-a-kernel.md has a whole program.
 */
#ifndef IRIS_BENCH_H
#define IRIS_BENCH_H

#include <iris/bench/axes.h>
#include <iris/bench/program.h>
#include <iris/bench/rows.h>
#include <iris/bench/time.h>

#endif
