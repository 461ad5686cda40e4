/* SPDX-License-Identifier: MIT */
/*
 * harness.h: what a test is written with.
 *
 *   irist_rank irist_spmd irist_check irist_ok irist_run
 *   irist_poisoned irist_upload irist_download irist_delay irist_laps irist_epochs
 *   and random.h: irist_random irist_pick irist_poison
 *
 * A test binary forks its ranks once; every rank runs the same cases in the same order. Catch2 is not thread-safe and
 * ranks may be threads of one process (IRIS_SPAWN=thread), so a case hands its work to irist_spmd as a plain function
 * that every rank runs; there it uses irist_check, never Catch2. Afterwards the ranks exchange their verdicts and the
 * case fails on all of them or on none: control flow never diverges.
 *
 *   static void work(irist_rank *t) { irist_check(t, 1 + 1 == 2, "sum is %d", 1 + 1); }
 *   TEST_CASE("addition works", "[memory]") { irist_spmd(work, NULL); }
 *
 * Options: --ranks N (IRIS_TEST_RANKS), --tier smoke|full (IRIS_TEST_TIER; several, with commas, run one after the
 * other), --seed N (IRIS_TEST_SEED), and Catch2's.
 */
#ifndef IRIST_HARNESS_H
#define IRIST_HARNESS_H

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <cstddef>
#include <cstdint>
#include <vector>

#include <iris/arch/select.h>
#include <iris/init.h>

#include "random.h"

/** What a rank knows while it runs a case's function. */
typedef struct irist_rank {
    iris_world *world;
    int rank, ranks;
    int full;        /* 1 in the full tier */
    uint64_t seed;   /* the same on every rank; printed when a case fails */
    const void *arg; /* what irist_spmd was given */
    int failures;
    char message[400];
} irist_rank;

typedef void (*irist_work)(irist_rank *t);

/** Runs `work` on every rank and fails the running case on all of them when a check failed on any. */
void irist_spmd(irist_work work, const void *arg);

/** Records a failure, keeping the first message of each rank. Returns the condition. */
bool irist_check(irist_rank *t, bool condition, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** Records a status other than IRIS_OK with the library's sentence. Returns true for IRIS_OK. */
bool irist_ok(irist_rank *t, iris_status status);

/** Launches on the default stream and waits for the kernel; `args` is the struct itself. True when both went well. */
#define irist_run(t, kernel, args, cfg)                                                                                \
    irist_run_kernel((t), IRISI_KERNEL_PTR(kernel), #kernel, &(args), sizeof(args), (cfg))
bool irist_run_kernel(irist_rank *t, irisi_kernel kernel, const char *name, const void *args, size_t bytes,
                      iris_launch_config cfg);

/** Ranks, tier and seed of this run, for tables that are built outside a rank's function. */
int irist_ranks(void);
int irist_full(void);
uint64_t irist_seed(void);

/** The running binary's choice between the two tiers; fewer laps where a sanitizer slows everything down. */
uint32_t irist_laps(uint32_t smoke, uint32_t full);

/** Not 0 when a tool that slows GPUs down looks on (IRIS_TEST_SLOW): a part of the cases will do; above 1 a few. */
int irist_slow(void);

/**
 * irist_laps for a loop in which every rank waits for every other, turn by turn. On the host, where more than 2 ranks
 * share few processors and a turn of eight takes half a millisecond, only 2 ranks make all turns of the full tier.
 */
uint32_t irist_epochs(const irist_rank *t, uint32_t smoke, uint32_t full);

/** Memory of so many bytes that nobody has touched (irist_poison). */
std::vector<unsigned char> irist_poisoned(size_t bytes);

/** Host to device and back; the case fails when the copy does. */
bool irist_upload(irist_rank *t, void *to, const std::vector<unsigned char> &from);
std::vector<unsigned char> irist_download(irist_rank *t, const void *from, size_t bytes);

/** Keeps the calling rank back so that ranks arrive in another order: one of four lengths, by seed, or none. */
void irist_delay(const irist_rank *t, uint64_t turn);

/** All ranks meet and their streams are drained. */
bool irist_meet(irist_rank *t);

#endif
