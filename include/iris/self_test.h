/* SPDX-License-Identifier: MIT */
/*
 * self_test.h: does this machine do what the library builds on? Tried between every two ranks.
 *
 *   iris_self_test iris_self_test_text iris_self_test_check_name
 *   irisi_self_test_run                                          with contexts of the caller's, for tests
 *
 * One file of the program defines IRIS_INSTANTIATE_SELF_TEST before it includes this header and gets the kernels;
 * everywhere else these are prototypes.
 */
#ifndef IRIS_SELF_TEST_H
#define IRIS_SELF_TEST_H

#include <iris/init.h>
#include <iris/iris.h>

/** What is tried between two ranks, in this order. */
typedef enum iris_self_test_check {
    IRIS_SELF_TEST_TRANSLATION, /**< stores and loads through a translated address meet that object and no other */
    IRIS_SELF_TEST_ORDERING,    /**< who sees a signal sees the data before it, however it was sent */
    IRIS_SELF_TEST_SYNC_MEMORY, /**< a store to sync memory reaches a kernel that is already running */
    IRIS_SELF_TEST_ATOMICS,     /**< remote add, compare-and-swap and exchange lose nothing to the owner's own */
    IRIS_SELF_TEST_DATA_MEMORY, /**< as sync memory, for data memory; the library does without (coarse memory on AMD) */
    IRIS_SELF_TEST_CHECKS       /**< how many there are */
} iris_self_test_check;

/**
 * What came out. For ranks `from` and `to` bit c of a byte stands for check c: passed, failed (something wrong was
 * seen), late (nothing wrong was seen, but it did not end in time), or, where none is set, not tried because an earlier
 * check had not passed. The same on every rank.
 */
typedef struct iris_self_test_result {
    int32_t world;                                            /**< ranks; 0: nothing was tried */
    uint32_t kinds;                                           /**< bit k: iris_mem_kind k passed everywhere */
    unsigned char passed[IRISI_MOST_RANKS][IRISI_MOST_RANKS]; /**< [from][to]: bits of iris_self_test_check */
    unsigned char failed[IRISI_MOST_RANKS][IRISI_MOST_RANKS]; /**< [from][to]: bits of iris_self_test_check */
    unsigned char late[IRISI_MOST_RANKS][IRISI_MOST_RANKS];   /**< [from][to]: bits of iris_self_test_check */
} iris_self_test_result;

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Trying a machine
 *
 * Host functions.
 *
 * @param w      the world, from iris_init
 * @param result the table
 * @param check  one of the checks
 * @{
 */
/**
 * Tries every check between every two ranks, each with itself too, on the world's default stream. Collective; needs
 * world * (16 * world + 17,000) bytes of the heap while it runs. Takes milliseconds on a sound machine, longer on one
 * that is busy, and at most half a deadline for each rank on one where nothing arrives.
 *
 * @param result receives the table; null when it is not wanted
 * @return IRIS_OK; IRIS_ERR_DEVICE with a sentence that names the first two ranks and the check that failed, the same
 *         on every rank; IRIS_ERR_TIMEOUT with a sentence likewise where nothing was wrong but a check did not end
 *         within half a deadline, on a machine that is busy or where nothing arrives. After both the world can still be
 *         used, without iris_reset. Data memory alone is not a failure, see `kinds`. Any other status, and a sentence
 *         that does not begin with iris_self_test, is the world's own.
 */
iris_status iris_self_test(iris_world *w, iris_self_test_result *result);

/**
 * The table as text, one line for each rank that writes and one column for each that is written to: a letter for each
 * check that passed, X for one that failed, ? for one that did not end in time, a dot for one that was not tried.
 *
 * @param text receives at most `bytes` bytes, always terminated; may be null when bytes is 0
 * @return the length of the whole text, which was cut when this is not below `bytes`
 */
size_t iris_self_test_text(const iris_self_test_result *result, char *text, size_t bytes);

/** "translation", "ordering", …; "none" when `check` is none. */
const char *iris_self_test_check_name(iris_self_test_check check);
/** @} */

/* The same with other contexts: the first for the check of translation, the second for those that follow. */
iris_status irisi_self_test_run(iris_world *w, const iris_ctx *reach, const iris_ctx *talk,
                                iris_self_test_result *result);

#ifdef __cplusplus
}
#endif

#if defined(IRIS_INSTANTIATE_SELF_TEST)
#include <iris/self_test_kernel.h>
#include <iris/self_test_run.h>
#endif

#endif
