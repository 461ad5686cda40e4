/* SPDX-License-Identifier: MIT */
/*
 * kernels.c: small kernels, one for each promise about the instructions that check.py looks at.
 *
 * Compiled as HIP and as CUDA, never linked and never run. A kernel's name is what gates.py calls it.
 */
#include <iris/collective/collective.h>
#include <iris/gen/put_signal_2d.h>
#include <iris/gen/rma_cache.h>
#include <iris/iris.h>

typedef struct isa_args {
    iris_ctx ctx;
    iris_channel channel;
    float *dst;
    const float *src;
    iris_signal *signal;
    size_t n;
    uint64_t value;
    int rank;
    iris_slice slice;
} isa_args;

/* A group's put, then one signal: no cache write-back, every wave waits for its own stores before the barrier. */
IRIS_KERNEL(isa_put_signal_wg, isa_args, a, 256)
{
    iris_put_signal_f32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, 1, IRIS_SIGNAL_ADD, a->rank);
}

IRIS_KERNEL(isa_put_signal_wave, isa_args, a, 256)
{
    iris_put_signal_f32_wave(&a->ctx, a->dst, a->src, a->n, a->signal, 1, IRIS_SIGNAL_ADD, a->rank);
}

/* The same by one lane; with a signal that is set; and puts without one. */
IRIS_KERNEL(isa_put_signal, isa_args, a, 256)
{
    iris_put_signal_f32(&a->ctx, a->dst, a->src, a->n, a->signal, 1, IRIS_SIGNAL_ADD, a->rank);
}

IRIS_KERNEL(isa_put_signal_set_wg, isa_args, a, 256)
{
    iris_put_signal_f32_wg(&a->ctx, a->dst, a->src, a->n, a->signal, 1, IRIS_SIGNAL_SET, a->rank);
}

IRIS_KERNEL(isa_put, isa_args, a, 256) { iris_put_f32(&a->ctx, a->dst, a->src, a->n, a->rank); }
IRIS_KERNEL(isa_put_wave, isa_args, a, 256) { iris_put_f32_wave(&a->ctx, a->dst, a->src, a->n, a->rank); }
IRIS_KERNEL(isa_put_wg, isa_args, a, 256) { iris_put_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank); }

/* Boxes: the chunks of all rows together, and the rows of those that are aligned otherwise. */
IRIS_KERNEL(isa_put_2d_wave, isa_args, a, 256)
{
    iris_put_2d_f32_wave(&a->ctx, a->dst, a->src, a->value, a->n, 2 * a->n, a->n + 4, a->rank);
}
IRIS_KERNEL(isa_put_signal_2d_wg, isa_args, a, 256)
{
    iris_put_signal_2d_f32_wg(&a->ctx, a->dst, a->src, a->value, a->n, 2 * a->n, a->n + 4, a->signal, 1,
                              IRIS_SIGNAL_ADD, a->rank);
}

/* Between two other ranks. */
IRIS_KERNEL(isa_copy_wg, isa_args, a, 256) { iris_copy_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank, a->ctx.rank); }

/* What translation costs: the address of one object on another rank. */
IRIS_KERNEL(isa_translate, isa_args, a, 256) { *(float *)iris_at(&a->ctx, a->dst, a->rank) = 1.0f; }

/* A user's ordinary stores, then a signal: one write-back after the barrier, then the signal. */
IRIS_KERNEL(isa_signal_add_wg, isa_args, a, 256)
{
    float *out = (float *)iris_at(&a->ctx, a->dst, a->rank);
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        out[i] = a->src[i] + 1.0f;
    iris_signal_add_wg(&a->ctx, a->signal, 1, a->rank);
}

IRIS_KERNEL(isa_signal_set, isa_args, a, 256)
{
    a->dst[iris_grid_lane()] = 1.0f;
    iris_signal_set(&a->ctx, a->signal + iris_grid_lane(), a->value, a->rank);
}

/* A wait, then a use of what the signal was for. */
IRIS_KERNEL(isa_wait_wg, isa_args, a, 256)
{
    iris_wait_ge_wg(&a->ctx, a->signal, a->value);
    for (size_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->dst[i] = iris_load_f32(&a->ctx, a->src + i, a->ctx.rank);
}

/* A look at a signal, then a use of what it was for. */
IRIS_KERNEL(isa_test, isa_args, a, 256)
{
    if (iris_test_ge(&a->ctx, a->signal, a->value))
        a->dst[iris_grid_lane()] = iris_load_f32(&a->ctx, a->src + iris_grid_lane(), a->ctx.rank);
}

/* The same of several signals. */
IRIS_KERNEL(isa_test_all, isa_args, a, 256)
{
    if (iris_test_all_ge(&a->ctx, a->signal, 3, a->value))
        a->dst[iris_grid_lane()] = iris_load_f32(&a->ctx, a->src + iris_grid_lane(), a->ctx.rank);
}

/* A wait with a deadline of the caller's, and as above. */
IRIS_KERNEL(isa_wait_until, isa_args, a, 256)
{
    if (iris_wait_until_ge(&a->ctx, a->signal, a->value, a->n))
        a->dst[iris_grid_lane()] = iris_load_f32(&a->ctx, a->src + iris_grid_lane(), a->ctx.rank);
}

/* Ordinary stores before a barrier of all ranks are seen after it. */
IRIS_KERNEL(isa_barrier_wg, isa_args, a, 256)
{
    a->dst[iris_grid_lane()] = 1.0f;
    iris_barrier_all_wg(&a->ctx, &a->channel);
}

IRIS_KERNEL(isa_barrier_grid, isa_args, a, 256) { iris_barrier_all_grid(&a->ctx, &a->channel); }

/* Meetings of a slice, after ordinary stores and after puts; a slice's signal to one member. */
IRIS_DEVICE iris_slice isa_slice(const isa_args *a)
{
    iris_slice s = a->slice;
    s.ctx = &a->ctx;
    return s;
}
IRIS_KERNEL(isa_slice_barrier, isa_args, a, 256)
{
    iris_slice s = isa_slice(a);
    a->dst[iris_grid_lane()] = 1.0f;
    iris_slice_meet_wg(&s);
}
IRIS_KERNEL(isa_slice_barrier_puts, isa_args, a, 256)
{
    iris_slice s = isa_slice(a);
    iris_put_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank);
    irisi_slice_meet_puts(&s);
}
IRIS_KERNEL(isa_slice_raise_set, isa_args, a, 256)
{
    const iris_slice s = isa_slice(a);
    iris_put_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank);
    irisi_slice_raise(&s, IRISI_WORD_MOVED, a->value, a->rank);
}

IRIS_KERNEL(isa_fence_wg, isa_args, a, 256)
{
    iris_put_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank);
    iris_fence_wg(&a->ctx);
}

/* One element and 16 bytes, with and without a hint. */
IRIS_KERNEL(isa_store, isa_args, a, 256)
{
    const size_t i = iris_grid_lane();
    iris_store_f32(&a->ctx, a->dst + i, iris_load_f32(&a->ctx, a->src + i, a->rank), a->rank);
}

IRIS_KERNEL(isa_store_stream, isa_args, a, 256)
{
    const size_t i = iris_grid_lane();
    const float value = iris_load_cache_f32(&a->ctx, a->src + i, a->rank, IRIS_CACHE_STREAM);
    iris_store_cache_f32(&a->ctx, a->dst + i, value, a->rank, IRIS_CACHE_STREAM);
}

/* The same behind a mask. */
IRIS_KERNEL(isa_store_if, isa_args, a, 256)
{
    const size_t i = iris_grid_lane();
    const float value = iris_load_f32_if(&a->ctx, a->src + i, a->rank, i < a->n, 1.0f);
    iris_store_f32_if(&a->ctx, a->dst + i, value, a->rank, i < a->value);
}

IRIS_KERNEL(isa_store_vec, isa_args, a, 256)
{
    const size_t i = 4 * iris_grid_lane();
    const iris_vec_f32 v = iris_load_vec_f32(&a->ctx, a->src + i, a->rank, IRIS_CACHE_DEFAULT);
    iris_store_vec_f32(&a->ctx, a->dst + i, v, a->rank, IRIS_CACHE_DEFAULT);
}

/* Every cache hint, of one element and of 16 bytes: a kernel's name says first the load's and then the store's. */
IRIS_DEVICE void isa_move(const isa_args *a, iris_cache load, iris_cache store)
{
    const size_t i = iris_grid_lane();
    const float value = iris_load_cache_f32(&a->ctx, a->src + i, a->rank, load);
    const iris_vec_f32 vec = iris_load_vec_f32(&a->ctx, a->src + a->n + 4 * i, a->rank, load);
    iris_store_cache_f32(&a->ctx, a->dst + i, value, a->rank, store);
    iris_store_vec_f32(&a->ctx, a->dst + a->n + 4 * i, vec, a->rank, store);
}
IRIS_KERNEL(isa_hint_ca_wb, isa_args, a, 256) { isa_move(a, IRIS_CACHE_CA, IRIS_CACHE_WB); }
IRIS_KERNEL(isa_hint_cg_cg, isa_args, a, 256) { isa_move(a, IRIS_CACHE_CG, IRIS_CACHE_CG); }
IRIS_KERNEL(isa_hint_cv_wt, isa_args, a, 256) { isa_move(a, IRIS_CACHE_CV, IRIS_CACHE_WT); }
IRIS_KERNEL(isa_hint_stream_cs, isa_args, a, 256) { isa_move(a, IRIS_CACHE_STREAM, IRIS_CACHE_CS); }

/* The same of a put, a get and a copy. */
IRIS_KERNEL(isa_put_hint_cg_cs_wg, isa_args, a, 256)
{
    iris_put_cache_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank, IRIS_CACHE_CG, IRIS_CACHE_CS);
}
IRIS_KERNEL(isa_get_hint_cv_wb_wave, isa_args, a, 256)
{
    iris_get_cache_f32_wave(&a->ctx, a->dst, a->src, a->n, a->rank, IRIS_CACHE_CV, IRIS_CACHE_WB);
}
IRIS_KERNEL(isa_copy_hint_stream_wt, isa_args, a, 256)
{
    iris_copy_cache_f32(&a->ctx, a->dst, a->src, a->n, a->rank, a->ctx.rank, IRIS_CACHE_STREAM, IRIS_CACHE_WT);
}

/* A put that may stay in a cache, then a signal: the signal writes it back. */
IRIS_KERNEL(isa_put_hint_wb_signal_add_wg, isa_args, a, 256)
{
    iris_put_cache_f32_wg(&a->ctx, a->dst, a->src, a->n, a->rank, IRIS_CACHE_STREAM, IRIS_CACHE_WB);
    iris_signal_add_wg(&a->ctx, a->signal, 1, a->rank);
}

/* Atomics that some memory does not carry, and one that all does. */
IRIS_KERNEL(isa_atomic_add_f32, isa_args, a, 256)
{
    (void)iris_atomic_add_f32(&a->ctx, a->dst, 1.0f, a->rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

IRIS_KERNEL(isa_atomic_min_i64, isa_args, a, 256)
{
    (void)iris_atomic_min_i64(&a->ctx, (int64_t *)a->signal, 1, a->rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
}

IRIS_KERNEL(isa_atomic_add_u64, isa_args, a, 256)
{
    a->signal[1].value =
        iris_atomic_add_u64(&a->ctx, (uint64_t *)a->signal, 1, a->rank, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM);
}
