/* SPDX-License-Identifier: MIT */
/*
 * tensor_fill.h: how a created tensor gets its contents; behind <iris/gen/tensor_create.h>.
 *
 *   irisi_tensor_filled
 *
 * A value depends on the element's place in the whole tensor alone, in row-major order, so every layout of a tensor
 * holds the same values, those of the flat creation functions (create_fill.h). Of a partial tensor the first copy has
 * them.
 */
#ifndef IRIS_TENSOR_FILL_H
#define IRIS_TENSOR_FILL_H

#include <iris/create_fill.h>
#include <iris/tensor.h>

/* The next line of a shard, along the last dimension; 0 behind the last one. `line`: in each dimension, from the
 * shard's first index on. */
static inline int irisi_tensor_next_line(const iris_tensor *t, const iris_tensor_shard *shard, int64_t *line)
{
    for (int d = t->dims - 2; d >= 0; d--) {
        if (++line[d] < shard->count[d])
            return 1;
        line[d] = 0;
    }
    return 0;
}

/* The values of a shard, as elements without gaps. `values` has room for IRISI_FILL_CHUNK of them. */
static inline void irisi_tensor_values(const iris_tensor *t, const iris_tensor_shard *shard, irisi_fill_store store,
                                       const irisi_fill *how, char *elements, void *values)
{
    const size_t n = (size_t)shard->count[t->dims - 1];
    int64_t line[IRIS_TENSOR_DIMS] = {0, 0, 0, 0, 0};
    do {
        size_t first = 0;
        for (int d = 0; d < t->dims; d++)
            first = first * t->dim[d].size + (size_t)(shard->first[d] + line[d]);
        for (size_t i = 0; i < n; i += IRISI_FILL_CHUNK) {
            const size_t count = n - i < IRISI_FILL_CHUNK ? n - i : IRISI_FILL_CHUNK;
            how->values(values, first + i, count, how);
            store(elements + i * t->element, values, count);
        }
        elements += n * t->element;
    } while (irisi_tensor_next_line(t, shard, line));
}

/* Fills the own shard: of a partial tensor with zeroes, but for the first copy. */
static inline iris_status irisi_tensor_fill(iris_world *w, const char *who, const iris_tensor *t,
                                            irisi_fill_store store, const irisi_fill *how)
{
    const iris_tensor_shard shard = iris_tensor_shard_of(t, iris_rank(w));
    size_t n = 1;
    for (int d = 0; d < t->dims; d++)
        n *= (size_t)shard.count[d];
    if (n == 0)
        return IRIS_OK;
    void *values = malloc(IRISI_FILL_CHUNK * sizeof(uint64_t));
    char *elements = (char *)calloc(n, t->element);
    iris_status s = IRIS_OK;
    if (!values || !elements)
        s = irisi_fail(w, IRIS_ERR_NOMEM, "%s: no host memory for a shard of %zu bytes", who, n * t->element);
    if (s == IRIS_OK) {
        if (irisi_tensor_has_values(t, iris_rank(w)))
            irisi_tensor_values(t, &shard, store, how, elements, values);
        s = irisi_tensor_upload_shard_by(w, who, t, elements);
    }
    free(elements);
    free(values);
    return s;
}

/* A tensor that holds what `how` says; zeroed when any part fails. */
static inline iris_status irisi_tensor_filled(iris_world *w, const char *who, iris_tensor *t,
                                              const iris_tensor_layout *layout, iris_dtype dtype,
                                              irisi_fill_store store, irisi_fill how)
{
    iris_tensor_layout typed;
    if (t)
        memset(t, 0, sizeof *t);
    if (layout) {
        if (layout->dtype != IRIS_DTYPE_NONE && layout->dtype != dtype)
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the layout is of %s, the function of %s", who,
                              iris_dtype_name(layout->dtype), iris_dtype_name(dtype));
        typed = *layout;
        typed.dtype = dtype;
    }
    iris_status s = irisi_tensor_create_by(w, who, t, layout ? &typed : NULL);
    if (s != IRIS_OK)
        return s;
    s = irisi_tensor_fill(w, who, t, store, &how);
    if (s != IRIS_OK)
        iris_tensor_destroy(w, t);
    return s;
}

#endif
