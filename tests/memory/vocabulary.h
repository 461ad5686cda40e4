/* SPDX-License-Identifier: MIT */
/*
 * vocabulary.h: the functions of one element type under names that a C++ template can use.
 *
 *   irist_f32::type irist_f32::load irist_f32::put … for every dtype
 *   IRIST_FOR_DTYPE(dtype, run, a)     run<irist_f32>(a) for the dtype's value, inside a kernel
 */
#ifndef IRIST_MEMORY_VOCABULARY_H
#define IRIST_MEMORY_VOCABULARY_H

#include "types.h"

#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/rma.h>

enum irist_group { IRIST_LANE, IRIST_WAVE, IRIST_WG, IRIST_GROUPS };

/* The instance table. `G` is a constant: of each chain of ifs one line is left. */
#define IRIST_VOCABULARY(d, D, ctype, bits, kind, acc)                                                                 \
    struct irist_##d {                                                                                                 \
        typedef ctype type;                                                                                            \
        typedef iris_vec_##d vec;                                                                                      \
        IRIS_DEVICE type load(const iris_ctx *c, const type *p, int rank) { return iris_load_##d(c, p, rank); }        \
        IRIS_DEVICE void store(const iris_ctx *c, type *p, type v, int rank) { iris_store_##d(c, p, v, rank); }        \
        IRIS_DEVICE type load_cache(const iris_ctx *c, const type *p, int rank, iris_cache hint)                       \
        {                                                                                                              \
            return iris_load_cache_##d(c, p, rank, hint);                                                              \
        }                                                                                                              \
        IRIS_DEVICE void store_cache(const iris_ctx *c, type *p, type v, int rank, iris_cache hint)                    \
        {                                                                                                              \
            iris_store_cache_##d(c, p, v, rank, hint);                                                                 \
        }                                                                                                              \
        IRIS_DEVICE vec load_vec(const iris_ctx *c, const type *p, int rank, iris_cache hint)                          \
        {                                                                                                              \
            return iris_load_vec_##d(c, p, rank, hint);                                                                \
        }                                                                                                              \
        IRIS_DEVICE void store_vec(const iris_ctx *c, type *p, vec v, int rank, iris_cache hint)                       \
        {                                                                                                              \
            iris_store_vec_##d(c, p, v, rank, hint);                                                                   \
        }                                                                                                              \
        IRIS_DEVICE type load_if(const iris_ctx *c, const type *p, int rank, int ok, type other)                       \
        {                                                                                                              \
            return iris_load_##d##_if(c, p, rank, ok, other);                                                          \
        }                                                                                                              \
        IRIS_DEVICE void store_if(const iris_ctx *c, type *p, type v, int rank, int ok)                                \
        {                                                                                                              \
            iris_store_##d##_if(c, p, v, rank, ok);                                                                    \
        }                                                                                                              \
        IRIS_DEVICE vec load_vec_if(const iris_ctx *c, const type *p, int rank, int ok, vec other)                     \
        {                                                                                                              \
            return iris_load_vec_##d##_if(c, p, rank, IRIS_CACHE_STREAM, ok, other);                                   \
        }                                                                                                              \
        IRIS_DEVICE void store_vec_if(const iris_ctx *c, type *p, vec v, int rank, int ok)                             \
        {                                                                                                              \
            iris_store_vec_##d##_if(c, p, v, rank, IRIS_CACHE_DEFAULT, ok);                                            \
        }                                                                                                              \
        template <int G> IRIS_DEVICE void put(const iris_ctx *c, type *dst, const type *src, size_t n, int rank)       \
        {                                                                                                              \
            if (G == IRIST_LANE)                                                                                       \
                iris_put_##d(c, dst, src, n, rank);                                                                    \
            if (G == IRIST_WAVE)                                                                                       \
                iris_put_##d##_wave(c, dst, src, n, rank);                                                             \
            if (G == IRIST_WG)                                                                                         \
                iris_put_##d##_wg(c, dst, src, n, rank);                                                               \
        }                                                                                                              \
        template <int G> IRIS_DEVICE void get(const iris_ctx *c, type *dst, const type *src, size_t n, int rank)       \
        {                                                                                                              \
            if (G == IRIST_LANE)                                                                                       \
                iris_get_##d(c, dst, src, n, rank);                                                                    \
            if (G == IRIST_WAVE)                                                                                       \
                iris_get_##d##_wave(c, dst, src, n, rank);                                                             \
            if (G == IRIST_WG)                                                                                         \
                iris_get_##d##_wg(c, dst, src, n, rank);                                                               \
        }                                                                                                              \
        template <int G>                                                                                               \
        IRIS_DEVICE void copy(const iris_ctx *c, type *dst, const type *src, size_t n, int to, int from)               \
        {                                                                                                              \
            if (G == IRIST_LANE)                                                                                       \
                iris_copy_##d(c, dst, src, n, to, from);                                                               \
            if (G == IRIST_WAVE)                                                                                       \
                iris_copy_##d##_wave(c, dst, src, n, to, from);                                                        \
            if (G == IRIST_WG)                                                                                         \
                iris_copy_##d##_wg(c, dst, src, n, to, from);                                                          \
        }                                                                                                              \
        template <int G>                                                                                               \
        IRIS_DEVICE void put_signal(const iris_ctx *c, type *dst, const type *src, size_t n, iris_signal *signal,      \
                                    uint64_t value, iris_signal_op op, int rank)                                       \
        {                                                                                                              \
            if (G == IRIST_LANE)                                                                                       \
                iris_put_signal_##d(c, dst, src, n, signal, value, op, rank);                                          \
            if (G == IRIST_WAVE)                                                                                       \
                iris_put_signal_##d##_wave(c, dst, src, n, signal, value, op, rank);                                   \
            if (G == IRIST_WG)                                                                                         \
                iris_put_signal_##d##_wg(c, dst, src, n, signal, value, op, rank);                                     \
        }                                                                                                              \
    };
IRIST_EACH_SAMPLE(IRIST_VOCABULARY)

#define IRIST_DTYPE_CASE(d, D, ctype, bits, kind, acc)                                                                 \
    case IRIS_##D:                                                                                                     \
        irist_chosen<irist_##d>(a);                                                                                    \
        break;

#endif
