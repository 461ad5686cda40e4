/* SPDX-License-Identifier: MIT */
/*
 * dlpack.h: a part of init.c: arrays from and to other libraries. iris/dlpack.h declares it.
 */
#ifndef IRIS_RUNTIME_DLPACK_H
#define IRIS_RUNTIME_DLPACK_H
#ifdef IRIS_INIT_C

#include <iris/dlpack.h>
#include <iris/runtime/group.h>

/* The standard's version that this is written for. */
enum { IRISI_DLPACK_MAJOR = 1, IRISI_DLPACK_MINOR = 1 };

/* The standard's layout. */
typedef char irisi_dlpack_dtype_is_small[sizeof(iris_dlpack_dtype) == 4 ? 1 : -1];
typedef char irisi_dlpack_tensor_fits[sizeof(iris_dlpack_tensor) == 48 ? 1 : -1];
typedef char irisi_dlpack_fits[sizeof(iris_dlpack) == 80 && offsetof(iris_dlpack, tensor) == 32 ? 1 : -1];
typedef char irisi_dlpack_unversioned_fits[sizeof(iris_dlpack_unversioned) == 64 ? 1 : -1];

/* Element types in both vocabularies. */
static const struct irisi_dlpack_row {
    iris_dtype dtype;
    uint8_t code, bits;
} irisi_dlpack_rows[] = {
    {IRIS_I8, 0, 8},          {IRIS_I16, 0, 16},        {IRIS_I32, 0, 32},  {IRIS_I64, 0, 64},
    {IRIS_U8, 1, 8},          {IRIS_U16, 1, 16},        {IRIS_U32, 1, 32},  {IRIS_U64, 1, 64},
    {IRIS_F16, 2, 16},        {IRIS_F32, 2, 32},        {IRIS_F64, 2, 64},  {IRIS_BF16, 4, 16},
    {IRIS_F8E4M3, 10, 8},     {IRIS_F8E4M3FNUZ, 11, 8}, {IRIS_F8E5M2, 12, 8}, {IRIS_F8E5M2FNUZ, 13, 8},
};
enum { IRISI_DLPACK_ROWS = sizeof irisi_dlpack_rows / sizeof *irisi_dlpack_rows };
typedef char irisi_dlpack_has_all_types[IRISI_DLPACK_ROWS + 1 == IRIS_DTYPES ? 1 : -1];

static const char *const irisi_dlpack_null = "%s: the %s is null";

/* Sizes that make sense: how many elements there are, and how far they reach from the first one, both ways. */
typedef struct irisi_dlpack_extent {
    int64_t elements, below, above;
    int compact;
} irisi_dlpack_extent;

/* Adds a dimension's reach; 0 where a number would be too large. */
static int irisi_dlpack_reach(irisi_dlpack_extent *e, int64_t size, int64_t stride)
{
    int64_t far;
    if (__builtin_mul_overflow(size - 1, stride, &far))
        return 0;
    if (far < 0)
        return !__builtin_sub_overflow(e->below, far, &e->below);
    return !__builtin_add_overflow(e->above, far, &e->above);
}

static iris_status irisi_dlpack_measure(iris_world *w, const char *call, int dims, const int64_t *size,
                                        const int64_t *stride, size_t element, irisi_dlpack_extent *e)
{
    int64_t row = 1, bytes;
    int fits = 1;
    e->elements = 1, e->below = e->above = 0, e->compact = 1;
    if (dims < 0 || (dims > 0 && size == NULL))
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: an array of %d dimensions%s", call, dims,
                          dims < 0 ? "" : " without sizes");
    for (int d = dims - 1; d >= 0; d--) {
        if (size[d] < 0)
            return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: dimension %d has %lld indices", call, d, (long long)size[d]);
        fits &= !__builtin_mul_overflow(e->elements, size[d], &e->elements);
    }
    for (int d = dims - 1; d >= 0 && fits && e->elements > 0; d--) {
        const int64_t step = stride ? stride[d] : row;
        fits &= irisi_dlpack_reach(e, size[d], step);
        e->compact &= size[d] == 1 || step == row;
        row *= size[d];
    }
    if (!fits || __builtin_add_overflow(e->above, e->below, &bytes) || bytes >= INT64_MAX / (int64_t)element - 1)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the array is larger than memory", call);
    return IRIS_OK;
}

/* ---- to another library ----------------------------------------------------------------------------------------- */

/* A description with its sizes behind it: `head` bytes, of which the tensor is a part. */
static void *irisi_dlpack_new(iris_world *w, const char *call, size_t head, size_t at, void *p, iris_dtype dtype,
                              int dims, const int64_t *size, const int64_t *stride)
{
    const struct irisi_dlpack_row *row = irisi_dlpack_rows;
    irisi_dlpack_extent extent;
    if (irisi_enter_own(w, call) != IRIS_OK)
        return NULL;
    if (iris_dtype_bytes(dtype) == 0) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: %d is no element type", call, (int)dtype);
        return NULL;
    }
    if (irisi_dlpack_measure(w, call, dims, size, stride, iris_dtype_bytes(dtype), &extent) != IRIS_OK)
        return NULL;
    if (p == NULL && extent.elements > 0) {
        irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, call, "memory");
        return NULL;
    }
    char *made = (char *)calloc(1, head + 2 * sizeof(int64_t) * (size_t)(dims ? dims : 1));
    if (!made) {
        irisi_fail(w, IRIS_ERR_NOMEM, "%s: no memory for an array of %d dimensions", call, dims);
        return NULL;
    }
    iris_dlpack_tensor *t = (iris_dlpack_tensor *)(void *)(made + at);
    while (row->dtype != dtype)
        row++;
    t->data = p;
    t->device.type = IRISI_DLPACK_DEVICE;
    t->device.index = w->dev.device;
    t->ndim = dims;
    t->dtype.code = row->code;
    t->dtype.bits = row->bits;
    t->dtype.lanes = 1;
    t->shape = (int64_t *)(void *)(made + head);
    t->strides = t->shape + dims;
    int64_t step = 1;
    for (int d = dims - 1; d >= 0; d--) {
        t->shape[d] = size[d];
        t->strides[d] = stride ? stride[d] : step;
        step *= extent.elements > 0 ? size[d] : 1;
    }
    return made;
}

static void irisi_dlpack_free(iris_dlpack *self) { free(self); }
static void irisi_dlpack_free_unversioned(iris_dlpack_unversioned *self) { free(self); }

iris_status iris_to_dlpack(iris_world *w, void *p, iris_dtype dtype, int dims, const int64_t *size,
                           const int64_t *stride, iris_dlpack **out)
{
    if (!out)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, "iris_to_dlpack", "result's address");
    *out = (iris_dlpack *)irisi_dlpack_new(w, "iris_to_dlpack", sizeof **out, offsetof(iris_dlpack, tensor), p, dtype,
                                           dims, size, stride);
    if (!*out)
        return w ? w->last : IRIS_ERR_ARGUMENT;
    (*out)->major = IRISI_DLPACK_MAJOR;
    (*out)->minor = IRISI_DLPACK_MINOR;
    (*out)->deleter = irisi_dlpack_free;
    return IRIS_OK;
}

iris_status iris_to_dlpack_unversioned(iris_world *w, void *p, iris_dtype dtype, int dims, const int64_t *size,
                                       const int64_t *stride, iris_dlpack_unversioned **out)
{
    if (!out)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, "iris_to_dlpack_unversioned", "result's address");
    *out = (iris_dlpack_unversioned *)irisi_dlpack_new(w, "iris_to_dlpack_unversioned", sizeof **out,
                                                       offsetof(iris_dlpack_unversioned, tensor), p, dtype, dims, size,
                                                       stride);
    if (!*out)
        return w ? w->last : IRIS_ERR_ARGUMENT;
    (*out)->deleter = irisi_dlpack_free_unversioned;
    return IRIS_OK;
}

/* ---- from another library --------------------------------------------------------------------------------------- */

/* Where memory is, by the standard's number of the device's type. */
static const char *irisi_dlpack_place(int32_t type)
{
    switch (type) {
    case 1: return "the host";
    case 2: return "CUDA";
    case 3: return "the host, pinned by CUDA,";
    case 10: return "ROCm";
    case 11: return "the host, pinned by ROCm,";
    case 13: return "CUDA, managed,";
    default: return "a device of another kind";
    }
}

static iris_status irisi_dlpack_read(iris_world *w, const char *call, const iris_dlpack_tensor *t,
                                     iris_dlpack_array *array)
{
    const struct irisi_dlpack_row *row = irisi_dlpack_rows, *const end = row + IRISI_DLPACK_ROWS;
    irisi_dlpack_extent extent;
    if (t->device.type != IRISI_DLPACK_DEVICE || t->device.index != w->dev.device)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the array is in memory of %s (device %d, DLPack's type %d), and this rank's is that of "
                          "%s (device %d, type %d); copy it there first",
                          call, irisi_dlpack_place(t->device.type), (int)t->device.index, (int)t->device.type,
                          irisi_dlpack_place(IRISI_DLPACK_DEVICE), w->dev.device, (int)IRISI_DLPACK_DEVICE);
    while (row < end && (row->code != t->dtype.code || row->bits != t->dtype.bits))
        row++;
    if (row == end || t->dtype.lanes != 1)
        return irisi_fail(w, IRIS_ERR_UNSUPPORTED,
                          "%s: no element type here is DLPack's code %d of %d bits in %d lanes", call, t->dtype.code,
                          t->dtype.bits, t->dtype.lanes);
    const size_t element = iris_dtype_bytes(row->dtype);
    const iris_status s = irisi_dlpack_measure(w, call, t->ndim, t->shape, t->strides, element, &extent);
    if (s != IRIS_OK)
        return s;
    if (t->data == NULL && extent.elements > 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, call, "memory");
    const uintptr_t at = (uintptr_t)t->data;
    if (t->byte_offset > UINTPTR_MAX - at || (uint64_t)extent.below * element > at + t->byte_offset ||
        (uint64_t)extent.above * element > UINTPTR_MAX - (at + t->byte_offset) - element)
        return irisi_fail(w, IRIS_ERR_ARGUMENT, "%s: the array, at %p + %llu, leaves the addresses that there are",
                          call, t->data, (unsigned long long)t->byte_offset);
    if (extent.elements > 0 && (at + t->byte_offset) % element != 0)
        return irisi_fail(w, IRIS_ERR_ARGUMENT,
                          "%s: the array, at %p + %llu, is not aligned to its elements of %zu bytes; copy it", call,
                          t->data, (unsigned long long)t->byte_offset, element);
    array->elements = extent.elements;
    array->data = t->data ? (char *)t->data + t->byte_offset : NULL;
    array->first = array->data;
    if (extent.elements > 0) {
        array->first = (char *)array->data - (size_t)extent.below * element;
        array->bytes = (size_t)(extent.above + extent.below + 1) * element;
    }
    array->dtype = row->dtype;
    array->dims = t->ndim;
    array->compact = extent.compact;
    array->size = t->shape;
    array->stride = t->strides;
    return IRIS_OK;
}

iris_status iris_from_dlpack(iris_world *w, const iris_dlpack *managed, iris_dlpack_array *array)
{
    const char *const call = "iris_from_dlpack";
    if (array)
        memset(array, 0, sizeof *array);
    iris_status s = irisi_enter_own(w, call);
    if (s == IRIS_OK && (!managed || !array))
        s = irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, call, managed ? "result's address" : "array");
    if (s == IRIS_OK && managed->major != IRISI_DLPACK_MAJOR)
        s = irisi_fail(w, IRIS_ERR_UNSUPPORTED, "%s: the array is in DLPack %u.%u, and version %d is read here", call,
                       managed->major, managed->minor, (int)IRISI_DLPACK_MAJOR);
    if (s != IRIS_OK)
        return s;
    s = irisi_dlpack_read(w, call, &managed->tensor, array);
    array->read_only = s == IRIS_OK && (managed->flags & IRIS_DLPACK_READ_ONLY) != 0;
    return s;
}

iris_status iris_from_dlpack_unversioned(iris_world *w, const iris_dlpack_unversioned *managed,
                                         iris_dlpack_array *array)
{
    const char *const call = "iris_from_dlpack_unversioned";
    if (array)
        memset(array, 0, sizeof *array);
    iris_status s = irisi_enter_own(w, call);
    if (s == IRIS_OK && (!managed || !array))
        s = irisi_fail(w, IRIS_ERR_ARGUMENT, irisi_dlpack_null, call, managed ? "result's address" : "array");
    return s == IRIS_OK ? irisi_dlpack_read(w, call, &managed->tensor, array) : s;
}

#endif
#endif
