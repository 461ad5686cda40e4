/* SPDX-License-Identifier: MIT */
/*
 * dlpack.h: arrays from and to other libraries (PyTorch, NumPy, CuPy, JAX), by DLPack, without a copy.
 *
 *   iris_dlpack iris_dlpack_unversioned iris_dlpack_array
 *   iris_to_dlpack iris_to_dlpack_unversioned iris_from_dlpack iris_from_dlpack_unversioned
 *
 * The first two are laid out as DLPack's DLManagedTensorVersioned (1.0 and later) and DLManagedTensor (before): a
 * pointer to one is a pointer to the other, and dlpack.h of the standard may be included beside this file. In Python
 * they travel in capsules named "dltensor_versioned" and "dltensor".
 *
 * Implemented by init.c.
 */
#ifndef IRIS_DLPACK_H
#define IRIS_DLPACK_H

#include <iris/dtype.h>
#include <iris/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/** DLDevice. */
typedef struct iris_dlpack_device {
    int32_t type;  /**< 1: host; 2: CUDA; 10: ROCm */
    int32_t index; /**< of several; 0 on the host */
} iris_dlpack_device;

/** DLDataType. */
typedef struct iris_dlpack_dtype {
    uint8_t code;   /**< 0: int; 1: uint; 2: float; 4: bfloat; 10 to 13: floats of 8 bits */
    uint8_t bits;   /**< of one element */
    uint16_t lanes; /**< 1: no vector */
} iris_dlpack_dtype;

/** DLTensor. */
typedef struct iris_dlpack_tensor {
    void *data;                /**< the memory; with byte_offset, the element of index 0, 0, … */
    iris_dlpack_device device; /**< where it is */
    int32_t ndim;              /**< dimensions */
    iris_dlpack_dtype dtype;   /**< of the elements */
    int64_t *shape;            /**< ndim sizes */
    int64_t *strides;          /**< ndim distances, in elements; null: rows follow each other */
    uint64_t byte_offset;      /**< from data */
} iris_dlpack_tensor;

/** DLManagedTensorVersioned. Who gets one calls its deleter, where there is one, once he is through with the memory. */
typedef struct iris_dlpack {
    uint32_t major, minor;                     /**< the standard's version: another major has other fields */
    void *manager_ctx;                         /**< its maker's */
    void (*deleter)(struct iris_dlpack *self); /**< frees it; may be null */
    uint64_t flags;                            /**< IRIS_DLPACK_READ_ONLY and others */
    iris_dlpack_tensor tensor;                 /**< the array */
} iris_dlpack;

/** DLManagedTensor, as older libraries have it. */
typedef struct iris_dlpack_unversioned {
    iris_dlpack_tensor tensor;                             /**< the array */
    void *manager_ctx;                                     /**< its maker's */
    void (*deleter)(struct iris_dlpack_unversioned *self); /**< frees it; may be null */
} iris_dlpack_unversioned;

/** Of iris_dlpack.flags: nobody may write. */
enum { IRIS_DLPACK_READ_ONLY = 1 };

/** An array of another library as this one sees it. */
typedef struct iris_dlpack_array {
    void *first;           /**< its lowest byte: with `bytes`, what iris_register takes */
    size_t bytes;          /**< to its highest; 0: it has no elements */
    void *data;            /**< the element of index 0, 0, …; `first`, unless a stride is negative */
    iris_dtype dtype;      /**< of the elements */
    int32_t dims;          /**< dimensions */
    int64_t elements;      /**< all of them */
    int32_t compact;       /**< 1: row-major and without gaps, as `elements` elements in a row */
    int32_t read_only;     /**< 1: nobody may write */
    const int64_t *size;   /**< `dims` sizes, which live as long as what it is of */
    const int64_t *stride; /**< `dims` distances in elements, likewise; may be null where it is compact */
} iris_dlpack_array;

/**
 * @name DLPack
 *
 * Host functions of this rank alone.
 *
 * @param w       the world, from iris_init
 * @param p       memory of this rank's device: the element of index 0, 0, …
 * @param dtype   of its elements
 * @param dims    dimensions; 0: one element
 * @param size    `dims` sizes
 * @param stride  `dims` distances in elements; null: rows follow each other
 * @param out     receives what is to be handed on; null on failure
 * @param managed what another library has handed on
 * @param array   receives what it is
 * @{
 */
/**
 * Memory as an array for another library, which frees the description by its deleter. The memory stays the caller's: it
 * has to outlive every use, and work that fills it comes before what the other library does with it. That p is memory
 * of this rank's device is not looked at.
 */
iris_status iris_to_dlpack(iris_world *w, void *p, iris_dtype dtype, int dims, const int64_t *size,
                           const int64_t *stride, iris_dlpack **out);
/** The same for libraries from before DLPack 1.0. */
iris_status iris_to_dlpack_unversioned(iris_world *w, void *p, iris_dtype dtype, int dims, const int64_t *size,
                                       const int64_t *stride, iris_dlpack_unversioned **out);
/**
 * Looks at another library's array; copies nothing, and calls no deleter. iris_register(w, array.first, array.bytes, …)
 * makes it a window.
 *
 * @return IRIS_ERR_ARGUMENT for a description that makes no sense, or of memory that is another device's or not
 *         aligned, IRIS_ERR_UNSUPPORTED for another major version or an element type that is not of dtype.h
 */
iris_status iris_from_dlpack(iris_world *w, const iris_dlpack *managed, iris_dlpack_array *array);
/** The same for what older libraries hand on. */
iris_status iris_from_dlpack_unversioned(iris_world *w, const iris_dlpack_unversioned *managed,
                                         iris_dlpack_array *array);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
