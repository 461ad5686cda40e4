/* SPDX-License-Identifier: MIT */
/*
 * tensor.h: a part of init.c: partitioned tensors on the host. include/iris/tensor.h declares them.
 *
 *   irisi_tensor_cut irisi_tensor_lay irisi_tensor_check irisi_tensor_strides irisi_tensor_copy_box
 */
#ifndef IRIS_RUNTIME_TENSOR_H
#define IRIS_RUNTIME_TENSOR_H
#ifdef IRIS_INIT_C

#include <iris/gen/tensor_sum.h>
#include <iris/runtime/group.h>
#include <iris/runtime/heap_allocator.h>
#include <iris/runtime/team.h>
#include <iris/tensor.h>

iris_tensor_layout iris_tensor_replicated(iris_dtype dtype, int dims, const int64_t *size)
{
    iris_tensor_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.dtype = dtype;
    layout.dims = dims;
    for (int d = 0; size && d < dims && d < IRIS_TENSOR_DIMS; d++)
        layout.size[d] = size[d];
    return layout;
}

iris_tensor_layout iris_tensor_split(iris_dtype dtype, int dims, const int64_t *size, int dim, int64_t unit)
{
    iris_tensor_layout layout = iris_tensor_replicated(dtype, dims, size);
    if (dim < 0 || dim >= dims || dim >= IRIS_TENSOR_DIMS) {
        layout.dims = -1; /* creation refuses it */
        return layout;
    }
    layout.parts[dim] = IRIS_TENSOR_REST;
    layout.unit[dim] = unit;
    return layout;
}

iris_tensor_layout iris_tensor_partial(iris_dtype dtype, int dims, const int64_t *size)
{
    iris_tensor_layout layout = iris_tensor_replicated(dtype, dims, size);
    layout.partial = 1;
    return layout;
}

/* The team, completed, is within the world. */
static iris_status irisi_tensor_lay_team(iris_world *w, const char *who, iris_tensor *t)
{
    iris_team *team = &t->team;
    if (team->size == 0)
        team->start = 0, team->stride = 1, team->size = w->size;
    if (team->size == 1 && team->stride == 0)
        team->stride = 1;
    if (irisi_team_listed(*team))
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: a tensor's team is a start, a stride and a size; this one is of any ranks, from "
                          "iris_team_create or iris_team_split",
                          who);
    const int64_t last = team->start + (int64_t)team->stride * (team->size - 1);
    if (team->size < 1 || team->stride < 1 || team->start < 0 || last >= w->size)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: a team of %d ranks from %d on, %d apart, is not within ranks 0 to %d", who,
                          (int)team->size, (int)team->start, (int)team->stride, w->size - 1);
    return IRIS_OK;
}

/* How many blocks each dimension has, and how the team is counted through them. */
static iris_status irisi_tensor_lay_parts(iris_world *w, const char *who, iris_tensor *t, const iris_tensor_layout *l)
{
    int64_t members = 1;
    int rest = -1;
    for (int d = 0; d < l->dims; d++) {
        if (l->parts[d] < IRIS_TENSOR_REST || l->parts[d] > t->team.size)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimension %d is to be split into %d parts; it takes 0 to %d, the ranks of the team, "
                              "or IRIS_TENSOR_REST",
                              who, d, l->parts[d], (int)t->team.size);
        if (l->parts[d] == IRIS_TENSOR_REST && rest >= 0)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimensions %d and %d both have IRIS_TENSOR_REST parts; one of them can have it",
                              who, rest, d);
        if (l->parts[d] == IRIS_TENSOR_REST)
            rest = d;
        t->dim[d].parts = l->parts[d] > 1 ? (uint32_t)l->parts[d] : 1;
        members *= t->dim[d].parts;
        if (members > t->team.size)
            break;
    }
    if (t->team.size % members != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the dimensions are split into %lld blocks or more, which does not divide the team's %d "
                          "ranks",
                          who, (long long)members, (int)t->team.size);
    if (rest >= 0) {
        t->dim[rest].parts = (uint32_t)(t->team.size / members);
        members = t->team.size;
    }
    t->members = (int32_t)members;
    t->copies = (int32_t)(t->team.size / members);
    uint32_t step = 1;
    for (int d = l->dims - 1; d >= 0; d--) {
        t->dim[d].step = step;
        step *= t->dim[d].parts;
    }
    return IRIS_OK;
}

/* Cuts a dimension into blocks of whole units, dealt out as evenly as possible. */
static void irisi_tensor_cut(iris_tensor_dim *dim, uint32_t parts, uint32_t unit)
{
    const uint32_t units = dim->size / unit + (dim->size % unit != 0);
    dim->parts = parts;
    dim->unit = unit;
    dim->each = units / parts;
    dim->more = units % parts;
}

/* Where each dimension is cut. */
static iris_status irisi_tensor_lay_blocks(iris_world *w, const char *who, iris_tensor *t, const iris_tensor_layout *l)
{
    for (int d = 0; d < l->dims; d++) {
        iris_tensor_dim *dim = &t->dim[d];
        const int64_t unit = l->unit[d] == 0 ? 16 : l->unit[d];
        if (l->size[d] < 0 || l->size[d] > INT32_MAX)
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dimension %d has %lld indices; it takes 0 to 2^31 - 1", who, d,
                              (long long)l->size[d]);
        if (unit < 1 || unit > INT32_MAX)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimension %d is cut at multiples of %lld; unit takes 1 to 2^31 - 1, or 0 for 16",
                              who, d, (long long)unit);
        dim->size = (uint32_t)l->size[d];
        irisi_tensor_cut(dim, dim->parts, (uint32_t)unit);
    }
    return IRIS_OK;
}

/* The dimension with the smallest stride of those that are not `done`; -1: none is left. */
static int irisi_tensor_nearest(const iris_tensor *t, unsigned done)
{
    int nearest = -1;
    for (int d = 0; d < t->dims; d++)
        if (!(done >> d & 1) && (nearest < 0 || t->dim[d].stride < t->dim[nearest].stride))
            nearest = d;
    return nearest;
}

/* The strides, and the room of the largest shard. Two indices never share an element. */
static iris_status irisi_tensor_lay_strides(iris_world *w, const char *who, iris_tensor *t,
                                            const iris_tensor_layout *l)
{
    const int64_t most = INT64_MAX / 16;
    int64_t extent[IRIS_TENSOR_DIMS], packed = 1, room = 1;
    int given = 0, empty = 0;
    for (int d = t->dims - 1; d >= 0; d--) {
        extent[d] = irisi_tensor_block(&t->dim[d], 0).count; /* no block is longer than the first */
        empty |= extent[d] == 0;
        given |= l->stride[d] != 0;
        t->dim[d].stride = packed;
        if (extent[d] > 1 && packed > most / extent[d])
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: a shard has more elements than memory can have", who);
        packed *= extent[d] > 1 ? extent[d] : 1;
    }
    for (int d = 0; given && d < t->dims; d++) {
        t->dim[d].stride = l->stride[d];
        if (l->stride[d] < 1 || (extent[d] > 1 && l->stride[d] > most / extent[d] / IRIS_TENSOR_DIMS))
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimension %d has stride %lld; strides are at least 1, or all 0 for row-major order",
                              who, d, (long long)l->stride[d]);
    }
    unsigned done = 0;
    for (int d; (d = irisi_tensor_nearest(t, done)) >= 0; done |= 1u << d) {
        if (extent[d] < 2)
            continue;
        if (t->dim[d].stride < room)
            return irisi_fail(w, IRIS_ERR_ARGUMENT,
                              "%s: dimension %d has stride %lld, but what lies within it takes %lld elements: elements "
                              "would share memory",
                              who, d, (long long)t->dim[d].stride, (long long)room);
        room += (extent[d] - 1) * t->dim[d].stride;
    }
    t->room = empty ? 0 : room;
    return IRIS_OK;
}

/* A tensor without memory, from its layout. */
static iris_status irisi_tensor_lay(iris_world *w, const char *who, iris_tensor *t, const iris_tensor_layout *l)
{
    if (!t)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the tensor's address is null", who);
    memset(t, 0, sizeof *t);
    if (!l)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the layout is null", who);
    if (iris_dtype_bytes(l->dtype) == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dtype is %d, %s; set it to IRIS_F32 or another iris_dtype, 1 to "
                          "%d",
                          who, (int)l->dtype, l->dtype ? "which does not exist" : "as if it was never set",
                          (int)IRIS_DTYPES - 1);
    if (l->dims < 1 || l->dims > IRIS_TENSOR_DIMS)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: %s; a tensor has 1 to %d dimensions, and one of them may be split", who,
                          l->dims < 0 ? "the layout has no such dimension" : "too many dimensions, or none",
                          (int)IRIS_TENSOR_DIMS);
    t->dtype = l->dtype;
    t->element = (uint32_t)iris_dtype_bytes(l->dtype);
    t->dims = l->dims;
    t->team = l->team;
    t->partial = l->partial != 0;
    iris_status s = irisi_tensor_lay_team(w, who, t);
    if (s == IRIS_OK)
        s = irisi_tensor_lay_parts(w, who, t, l);
    if (s == IRIS_OK)
        s = irisi_tensor_lay_blocks(w, who, t, l);
    if (s == IRIS_OK)
        s = irisi_tensor_lay_strides(w, who, t, l);
    if (s != IRIS_OK)
        memset(t, 0, sizeof *t);
    return s;
}

iris_status irisi_tensor_create_by(iris_world *w, const char *who, iris_tensor *t, const iris_tensor_layout *layout)
{
    if (t)
        memset(t, 0, sizeof *t);
    iris_status s = irisi_enter_own(w, who);
    if (s == IRIS_OK)
        s = irisi_tensor_lay(w, who, t, layout);
    if (s != IRIS_OK)
        return s;
    t->owned = 1;
    t->data = irisi_malloc_by(w, who, t->room ? (size_t)t->room * t->element : 1, 0, IRIS_MEM_DATA);
    if (t->data)
        return IRIS_OK;
    memset(t, 0, sizeof *t);
    return IRIS_ERR_NOMEM;
}

iris_status iris_tensor_create(iris_world *w, iris_tensor *t, const iris_tensor_layout *layout)
{
    return irisi_tensor_create_by(w, "iris_tensor_create", t, layout);
}

iris_status iris_tensor_wrap(iris_world *w, iris_tensor *t, const iris_tensor_layout *layout, void *data, size_t bytes)
{
    if (t)
        memset(t, 0, sizeof *t);
    iris_status s = irisi_enter_own(w, "iris_tensor_wrap");
    if (s == IRIS_OK)
        s = irisi_tensor_lay(w, "iris_tensor_wrap", t, layout);
    if (s != IRIS_OK)
        return s;
    const size_t needed = (size_t)t->room * t->element;
    const int aligned = (uintptr_t)data % t->element == 0;
    if (!data || !aligned || bytes < needed || !iris_is_symmetric(w, data, bytes)) {
        memset(t, 0, sizeof *t);
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "iris_tensor_wrap: %zu bytes at %p %s; a shard takes %zu of the symmetric heap", bytes, data,
                          !aligned ? "are not aligned for the elements" : "are too few, or not in the heap", needed);
    }
    t->data = data;
    return IRIS_OK;
}

iris_status iris_tensor_destroy(iris_world *w, iris_tensor *t)
{
    if (!t)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_tensor_destroy: the tensor is null");
    void *data = t->owned ? t->data : NULL;
    memset(t, 0, sizeof *t);
    return iris_free(w, data);
}

/* Whether t is a tensor, of this world. */
static iris_status irisi_tensor_check(iris_world *w, const char *who, const iris_tensor *t)
{
    if (!t || t->dims < 1 || t->dims > IRIS_TENSOR_DIMS || t->element == 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the tensor is null, or not from iris_tensor_create", who);
    if (!iris_is_symmetric(w, t->data, t->room ? (size_t)t->room * t->element : 1))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the tensor's memory at %p is not in this world's heap", who,
                          t->data);
    return IRIS_OK;
}

/* Strides of `count` elements in row-major order without gaps; how many elements there are. */
static int64_t irisi_tensor_strides(int dims, const int64_t *count, int64_t *stride)
{
    int64_t n = 1;
    for (int d = dims - 1; d >= 0; d--) {
        stride[d] = n;
        n *= count[d];
    }
    return n;
}

/* Copies a box of host memory between two arrays, each with strides of its own, in elements. */
static void irisi_tensor_copy_box(int dims, const int64_t *count, size_t element, char *to, const int64_t *to_stride,
                                  const char *from, const int64_t *from_stride)
{
    if (dims == 0) {
        memcpy(to, from, element);
    } else if (dims == 1 && *to_stride == 1 && *from_stride == 1) {
        memcpy(to, from, (size_t)*count * element);
    } else {
        for (int64_t i = 0; i < *count; i++)
            irisi_tensor_copy_box(dims - 1, count + 1, element, to + (size_t)(i * *to_stride) * element, to_stride + 1,
                                  from + (size_t)(i * *from_stride) * element, from_stride + 1);
    }
}

/* The own shard as it lies in memory. */
typedef struct irisi_tensor_image {
    iris_tensor_shard shard;
    int64_t stride[IRIS_TENSOR_DIMS];
    int64_t n, room; /* elements, and elements from the first to the last */
    char *bytes;     /* a copy on the host; null where there are no elements */
} irisi_tensor_image;

static iris_status irisi_tensor_image_of(iris_world *w, const char *who, const iris_tensor *t, irisi_tensor_image *m)
{
    m->shard = iris_tensor_shard_of(t, w->rank);
    m->n = m->room = 1;
    m->bytes = NULL;
    for (int d = 0; d < t->dims; d++) {
        m->stride[d] = t->dim[d].stride;
        m->n *= m->shard.count[d];
        m->room += (m->shard.count[d] - 1) * m->stride[d];
    }
    if (m->n == 0)
        return IRIS_OK;
    m->bytes = (char *)malloc((size_t)m->room * t->element);
    if (!m->bytes)
        return irisi_fail(w, IRIS_ERR_NOMEM, "%s: no host memory for a shard of %zu bytes", who,
                          (size_t)m->room * t->element);
    return IRIS_OK;
}

/* Writes the own shard from an array with strides of its own, which begins with the shard's first element. */
static iris_status irisi_tensor_put_own(iris_world *w, const char *who, const iris_tensor *t, const char *host,
                                        const int64_t *host_stride)
{
    irisi_tensor_image m;
    iris_status s = irisi_tensor_image_of(w, who, t, &m);
    if (s == IRIS_OK && m.n > 0 && m.room > m.n) /* what lies between the elements stays */
        s = irisi_memcpy_by(w, who, m.bytes, t->data, (size_t)m.room * t->element);
    if (s == IRIS_OK && m.n > 0) {
        irisi_tensor_copy_box(t->dims, m.shard.count, t->element, m.bytes, m.stride, host, host_stride);
        s = irisi_memcpy_by(w, who, t->data, m.bytes, (size_t)m.room * t->element);
    }
    free(m.bytes);
    return s;
}

/* The converse. */
static iris_status irisi_tensor_get_own(iris_world *w, const char *who, const iris_tensor *t, char *host,
                                        const int64_t *host_stride)
{
    irisi_tensor_image m;
    iris_status s = irisi_tensor_image_of(w, who, t, &m);
    if (s == IRIS_OK && m.n > 0)
        s = irisi_memcpy_by(w, who, m.bytes, t->data, (size_t)m.room * t->element);
    if (s == IRIS_OK && m.n > 0)
        irisi_tensor_copy_box(t->dims, m.shard.count, t->element, host, host_stride, m.bytes, m.stride);
    free(m.bytes);
    return s;
}

/* Strides of the whole tensor in row-major order, and the first element of a shard there. */
static int64_t irisi_tensor_whole(const iris_tensor *t, const iris_tensor_shard *shard, int64_t *stride)
{
    int64_t size[IRIS_TENSOR_DIMS], first = 0;
    for (int d = 0; d < t->dims; d++)
        size[d] = t->dim[d].size;
    irisi_tensor_strides(t->dims, size, stride);
    for (int d = 0; d < t->dims; d++)
        first += shard->first[d] * stride[d];
    return first;
}

/* What copies from and to the host begin with; `own`: of the own shard alone, which may be empty. */
static iris_status irisi_tensor_enter(iris_world *w, const char *who, const iris_tensor *t, const void *host, int own)
{
    iris_status s = irisi_enter_own(w, who);
    if (s == IRIS_OK)
        s = irisi_tensor_check(w, who, t);
    if (s != IRIS_OK || host)
        return s;
    int64_t n = iris_tensor_elements(t);
    if (own) {
        const iris_tensor_shard shard = iris_tensor_shard_of(t, w->rank);
        n = 1;
        for (int d = 0; d < t->dims; d++)
            n *= shard.count[d];
    }
    if (n > 0)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the host's array is null", who);
    return s;
}

iris_status iris_tensor_upload(iris_world *w, const iris_tensor *t, const void *host)
{
    int64_t stride[IRIS_TENSOR_DIMS];
    const iris_status s = irisi_tensor_enter(w, "iris_tensor_upload", t, host, 0);
    if (s != IRIS_OK || iris_tensor_elements(t) == 0)
        return s;
    if (!irisi_tensor_has_values(t, w->rank)) {
        static const char zero[8] = {0}; /* every element is read from here */
        memset(stride, 0, sizeof stride);
        return irisi_tensor_put_own(w, "iris_tensor_upload", t, zero, stride);
    }
    const iris_tensor_shard shard = iris_tensor_shard_of(t, w->rank);
    const int64_t first = irisi_tensor_whole(t, &shard, stride);
    return irisi_tensor_put_own(w, "iris_tensor_upload", t, (const char *)host + (size_t)first * t->element, stride);
}

iris_status irisi_tensor_upload_shard_by(iris_world *w, const char *who, const iris_tensor *t, const void *host)
{
    int64_t stride[IRIS_TENSOR_DIMS];
    const iris_status s = irisi_tensor_enter(w, who, t, host, 1);
    if (s != IRIS_OK)
        return s;
    const iris_tensor_shard shard = iris_tensor_shard_of(t, w->rank);
    irisi_tensor_strides(t->dims, shard.count, stride);
    return irisi_tensor_put_own(w, who, t, (const char *)host, stride);
}

iris_status iris_tensor_upload_shard(iris_world *w, const iris_tensor *t, const void *host)
{
    return irisi_tensor_upload_shard_by(w, "iris_tensor_upload_shard", t, host);
}

iris_status iris_tensor_download_shard(iris_world *w, const iris_tensor *t, void *host)
{
    int64_t stride[IRIS_TENSOR_DIMS];
    const iris_status s = irisi_tensor_enter(w, "iris_tensor_download_shard", t, host, 1);
    if (s != IRIS_OK)
        return s;
    const iris_tensor_shard shard = iris_tensor_shard_of(t, w->rank);
    irisi_tensor_strides(t->dims, shard.count, stride);
    return irisi_tensor_get_own(w, "iris_tensor_download_shard", t, (char *)host, stride);
}

/* Bytes of the largest shard without gaps. */
static size_t irisi_tensor_shard_bytes(const iris_tensor *t)
{
    size_t bytes = t->element;
    for (int d = 0; d < t->dims; d++)
        bytes *= irisi_tensor_block(&t->dim[d], 0).count;
    return bytes;
}

/*
 * The ranks' shards, from iris_allgather, into the whole tensor: those of the copy that this rank has a part of.
 * Partial sums are added up first, to those of the first copy.
 */
static void irisi_tensor_assemble(iris_world *w, const iris_tensor *t, char *all, size_t each, char *host)
{
    const int sums = iris_tensor_is_partial(t), own = sums ? 0 : iris_tensor_member(t, w->rank);
    const int first = own < 0 ? 0 : own / t->members * t->members;
    const size_t elements = each / t->element, apart = (size_t)(t->members * t->team.stride) * elements;
    for (int m = first; m < first + t->members; m++) {
        const int rank = t->team.start + m * t->team.stride;
        const iris_tensor_shard shard = iris_tensor_shard_of(t, rank);
        int64_t from[IRIS_TENSOR_DIMS], to[IRIS_TENSOR_DIMS];
        const int64_t n = irisi_tensor_strides(t->dims, shard.count, from), at = irisi_tensor_whole(t, &shard, to);
        if (sums)
            irisi_tensor_add_rows(t->dtype, all + (size_t)rank * each, apart, t->copies, (size_t)n);
        if (n > 0)
            irisi_tensor_copy_box(t->dims, shard.count, t->element, host + (size_t)at * t->element, to,
                                  all + (size_t)rank * each, from);
    }
}

iris_status iris_tensor_download(iris_world *w, const iris_tensor *t, void *host)
{
    iris_status s = irisi_enter(w, "iris_tensor_download");
    if (s != IRIS_OK)
        return s;
    s = irisi_tensor_enter(w, "iris_tensor_download", t, host, 0);
    char *mine = NULL, *all = NULL;
    const size_t each = s == IRIS_OK ? irisi_tensor_shard_bytes(t) : 0;
    if (each > 0) {
        mine = (char *)calloc(1, each);
        all = (char *)malloc(each * (size_t)w->size);
        s = mine && all ? iris_tensor_download_shard(w, t, mine)
                        : irisi_fail(w, IRIS_ERR_NOMEM,
                                     "iris_tensor_download: no host memory for %d shards of %zu bytes", w->size, each);
    }
    s = irisi_agree(w, IRISI_ALLGATHER, s); /* what fails on one rank fails on all: none waits for another */
    if (s == IRIS_OK)
        s = iris_allgather(w, mine, all, each);
    if (s == IRIS_OK && each > 0)
        irisi_tensor_assemble(w, t, all, each, (char *)host);
    free(all);
    free(mine);
    return s;
}

#endif
#endif
