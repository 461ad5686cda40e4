/* SPDX-License-Identifier: MIT */
/*
 * channel.h: the state of one stateful operation between ranks: signals, an epoch, two scratch banks.
 */
#ifndef IRIS_CHANNEL_H
#define IRIS_CHANNEL_H

#include <iris/ctx.h>

/** Passed by value in a kernel's argument struct; from iris_channel_create. Its memory is sync memory of the heap. */
typedef struct iris_channel {
    iris_signal *signals; /**< n_signals of them, symmetric */
    uint64_t *state;      /**< own: [0] epochs finished, [1] workgroups that have left the running epoch */
    char *banks;          /**< two banks of bank_bytes, symmetric */
    size_t bank_bytes;    /**< bytes of one bank */
    size_t n_signals;     /**< length of `signals` */
    uint32_t half;        /**< of iris_collective_channel: bytes of LL packets, and of scratch, a slice and bank */
    uint32_t room;        /**< and of elements that a member's row of LL packets carries */
    uint32_t slices;      /**< and how many slices there are; 0 for other channels */
    uint32_t least;       /**< and bytes that are worth a slice: whole lines of 128, the same on every rank */
} iris_channel;

#endif
