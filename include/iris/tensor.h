/* SPDX-License-Identifier: MIT */
/*
 * tensor.h: tensors whose dimensions are replicated, or split in blocks over ranks, and partial sums of such tensors.
 *
 *   iris_tensor_layout iris_tensor_replicated iris_tensor_split iris_tensor_partial   what a tensor is to look like
 *   iris_tensor iris_tensor_create iris_tensor_wrap iris_tensor_destroy  one in the symmetric heap
 *   iris_tensor_upload iris_tensor_upload_shard iris_tensor_download iris_tensor_download_shard
 *   iris_tensor_text iris_tensor_print
 *   iris_tensor_elements iris_tensor_shard_of iris_tensor_member iris_tensor_owner iris_tensor_offset
 *   iris_tensor_is_partial iris_tensor_vec_fits                          who has what; hosts and lanes ask
 *   iris_tensor_full_f32 iris_tensor_uniform_f32 …                       with contents  <iris/gen/tensor_create.h>
 *   iris_tensor_load_f32 iris_tensor_store_f32 iris_tensor_tile_load_f32_wg …   kernels <iris/gen/tensor_access.h>
 *   iris_tensor_reshard                                                  another layout <iris/gen/launch/tensor.h>
 *
 * A split dimension is cut as iris_gemm_band cuts columns: `unit` indices stay together, units are dealt out as evenly
 * as possible, the first blocks may have one more, the last one may be narrower, and blocks may be empty. Ranks of the
 * team are counted through the blocks in row-major order, the last split dimension first. Where there are fewer blocks
 * than ranks, the next ranks have another copy of the tensor.
 *
 * Of a partial tensor the copies are not alike: they are partial sums, and an element of the tensor is the sum of its
 * elements in all copies. Where nothing is split, every rank of the team has a partial sum of the whole tensor. Access
 * by index means the own partial sum; iris_tensor_reshard and iris_tensor_download add up.
 *
 * A shard is a rank's block. Element strides are the same in all shards, so that an element's place in its owner's
 * shard depends on its index alone, and every rank allocates what the largest shard needs.
 *
 * The host functions are implemented by init.c.
 */
#ifndef IRIS_TENSOR_H
#define IRIS_TENSOR_H

#include <stdio.h>

#include <iris/dtype.h>
#include <iris/world.h>

/** Dimensions that a tensor can have. */
enum { IRIS_TENSOR_DIMS = 5 };

/** Of iris_tensor_layout.parts: as many blocks as the team still has ranks for. */
enum { IRIS_TENSOR_REST = -1 };

/** What a tensor is to look like. A zeroed field means its default, but for dtype, dims and size, which have none. */
typedef struct iris_tensor_layout {
    iris_dtype dtype;                  /**< of the elements */
    int dims;                          /**< dimensions, 1 to 5 */
    int64_t size[IRIS_TENSOR_DIMS];    /**< indices of each dimension, 0 to 2^31 - 1 */
    int parts[IRIS_TENSOR_DIMS];       /**< blocks that it is split into; 0 or 1: every rank has all of it;
                                            IRIS_TENSOR_REST: as many as there are ranks for */
    int64_t unit[IRIS_TENSOR_DIMS];    /**< indices that stay together; default 16, as of iris_gemm_band; 1 cuts as
                                            iris_gemm_shard */
    int64_t stride[IRIS_TENSOR_DIMS];  /**< elements of a shard from one index to the next; all 0: row-major, without
                                            gaps in the largest shard */
    iris_team team;                    /**< ranks that have a shard; size 0: the world */
    int partial;                       /**< 1: the copies are partial sums; default: they are alike */
} iris_tensor_layout;

/** One dimension of a tensor. */
typedef struct iris_tensor_dim {
    uint32_t size;  /**< indices */
    uint32_t parts; /**< blocks; 1: not split */
    uint32_t unit;  /**< indices that stay together */
    uint32_t each;  /**< units of a block; */
    uint32_t more;  /**< the first so many blocks have one more */
    uint32_t step;  /**< members of the team from one block to the next */
    int64_t stride; /**< elements of a shard from one index to the next */
} iris_tensor_dim;

/** A tensor, from iris_tensor_create; passed by value in a kernel's argument struct. */
typedef struct iris_tensor {
    void *data;                            /**< own shard, at the same offset of every rank's heap */
    iris_tensor_dim dim[IRIS_TENSOR_DIMS]; /**< the first `dims` count */
    iris_team team;                        /**< ranks that have a shard */
    iris_dtype dtype;                      /**< of the elements */
    int32_t dims;                          /**< dimensions */
    int32_t members;                       /**< ranks of one copy */
    int32_t copies;                        /**< members * copies ranks are the team */
    uint32_t element;                      /**< bytes of one element */
    int32_t partial;                       /**< 1: the copies are partial sums */
    int32_t owned;                         /**< 1: iris_tensor_destroy gives the memory back */
    int64_t room;                          /**< elements that each rank has memory for: the largest shard's */
} iris_tensor;

typedef char irisi_tensor_is_small[sizeof(iris_tensor) <= 256 ? 1 : -1];

/** The block of a rank: in each dimension the first index, and how many. Where one is 0 there are no elements. */
typedef struct iris_tensor_shard {
    int64_t first[IRIS_TENSOR_DIMS]; /**< 0 beyond the tensor's dimensions */
    int64_t count[IRIS_TENSOR_DIMS]; /**< 1 beyond the tensor's dimensions */
} iris_tensor_shard;

/* Indices first, first + 1, … of one dimension. */
typedef struct irisi_tensor_range {
    uint32_t first, count;
} irisi_tensor_range;

/* Where an element is. */
typedef struct irisi_tensor_place {
    int rank;
    int64_t offset; /* elements from the shard's first */
} irisi_tensor_place;

/* The indices of one block. */
IRIS_HOST_DEVICE irisi_tensor_range irisi_tensor_block(const iris_tensor_dim *d, uint32_t part)
{
    const uint32_t first = d->unit * (part * d->each + (part < d->more ? part : d->more));
    const uint32_t end = first + d->unit * (d->each + (part < d->more ? 1 : 0));
    irisi_tensor_range block;
    block.first = first < d->size ? first : d->size;
    block.count = (end < d->size ? end : d->size) - block.first;
    return block;
}

/* The block that an index is in; where blocks are empty, of no more than `more` indices, those are not among them. */
IRIS_HOST_DEVICE uint32_t irisi_tensor_part(const iris_tensor_dim *d, uint32_t index)
{
    if (d->parts == 1)
        return 0;
    if (d->more == 0 && d->each > 0) /* all blocks alike */
        return index / (d->unit * d->each);
    const uint32_t at = index / d->unit, longer = d->more * (d->each + 1);
    return at < longer || d->each == 0 ? at / (d->each + 1) : d->more + (at - longer) / d->each;
}

/**
 * @name Who has what
 *
 * Host functions and lanes call them. Nothing here fails.
 *
 * @param t     the tensor, from iris_tensor_create
 * @param rank  world rank
 * @param index an index for each dimension, inside the tensor
 * @{
 */
/** Place of a rank in the tensor's team; -1 where it is not in it. */
IRIS_HOST_DEVICE int iris_tensor_member(const iris_tensor *t, int rank)
{
    const int ahead = rank - t->team.start, member = t->team.stride == 1 ? ahead : ahead / t->team.stride;
    return ahead >= 0 && member < t->team.size && member * t->team.stride == ahead ? member : -1;
}

/** Elements of the whole tensor. */
IRIS_HOST_DEVICE int64_t iris_tensor_elements(const iris_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->dims; d++)
        n *= t->dim[d].size;
    return n;
}

/**
 * 1 where an element is a sum of several ranks' partial sums. Of a partial tensor with one copy it is not: that copy is
 * the tensor.
 */
IRIS_HOST_DEVICE int iris_tensor_is_partial(const iris_tensor *t) { return t->partial && t->copies > 1; }

/* Whether a rank gets values where a tensor is written as a whole; the other copies of a partial one get zeroes. */
IRIS_HOST_DEVICE int irisi_tensor_has_values(const iris_tensor *t, int rank)
{
    return !iris_tensor_is_partial(t) || iris_tensor_member(t, rank) < t->members;
}

/** The block that `rank` has; without elements on ranks outside the team. */
IRIS_HOST_DEVICE iris_tensor_shard iris_tensor_shard_of(const iris_tensor *t, int rank)
{
    const int member = iris_tensor_member(t, rank);
    iris_tensor_shard shard;
    for (int d = 0; d < IRIS_TENSOR_DIMS; d++) {
        shard.first[d] = 0;
        shard.count[d] = member < 0 ? 0 : 1;
        if (d >= t->dims || member < 0)
            continue;
        const iris_tensor_dim *dim = &t->dim[d];
        const irisi_tensor_range block = irisi_tensor_block(dim, (uint32_t)member / dim->step % dim->parts);
        shard.first[d] = block.first;
        shard.count[d] = block.count;
    }
    return shard;
}

/* The first member of the copy that `rank` has a part of, else of the first copy. */
IRIS_HOST_DEVICE uint32_t irisi_tensor_copy_of(const iris_tensor *t, int rank)
{
    const int own = t->copies == 1 ? 0 : iris_tensor_member(t, rank);
    return own < 0 ? 0 : (uint32_t)own / (uint32_t)t->members * (uint32_t)t->members;
}

/* The block of a dimension that an index is in; what it adds to the owner's place in the team and in a shard. */
IRIS_HOST_DEVICE irisi_tensor_range irisi_tensor_step(const iris_tensor_dim *d, int64_t index, uint32_t *member,
                                                      int64_t *offset)
{
    const uint32_t part = irisi_tensor_part(d, (uint32_t)index);
    const irisi_tensor_range block = irisi_tensor_block(d, part);
    *member += part * d->step;
    *offset += (index - block.first) * d->stride;
    return block;
}

/* The element's owner, as `rank` sees it, and its place there. */
IRIS_HOST_DEVICE irisi_tensor_place irisi_tensor_find(const iris_tensor *t, const int64_t *index, int rank)
{
    uint32_t member = irisi_tensor_copy_of(t, rank);
    irisi_tensor_place place;
    place.offset = 0;
    for (int d = 0; d < t->dims; d++)
        irisi_tensor_step(&t->dim[d], index[d], &member, &place.offset);
    place.rank = t->team.start + (int)member * t->team.stride;
    return place;
}

/**
 * World rank that has the element. Where there are several copies: of the copy that `rank` has a part of, else of the
 * first. So of a replicated tensor every rank is its own owner. Of a partial tensor: the rank that has the partial sum
 * which `rank` reaches by this index.
 */
IRIS_HOST_DEVICE int iris_tensor_owner(const iris_tensor *t, const int64_t *index, int rank)
{
    return irisi_tensor_find(t, index, rank).rank;
}

/** Elements from the beginning of the owner's shard to the element. */
IRIS_HOST_DEVICE int64_t iris_tensor_offset(const iris_tensor *t, const int64_t *index)
{
    return irisi_tensor_find(t, index, t->team.start).offset;
}

/**
 * 1 where the 16 bytes from the element on, along the last dimension, are inside the tensor, lie in one shard without
 * gaps, and begin at a multiple of 16 bytes: iris_tensor_load_vec_f32 and its family take them.
 */
IRIS_HOST_DEVICE int iris_tensor_vec_fits(const iris_tensor *t, const int64_t *index)
{
    const iris_tensor_dim *last = &t->dim[t->dims - 1];
    const uint32_t n = 16 / t->element, at = (uint32_t)index[t->dims - 1];
    const irisi_tensor_range block = irisi_tensor_block(last, irisi_tensor_part(last, at));
    const uintptr_t place = (uintptr_t)t->data + (uintptr_t)iris_tensor_offset(t, index) * t->element;
    return last->stride == 1 && at + n <= block.first + block.count && place % 16 == 0;
}
/** @} */

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @name Tensors from the host
 *
 * Host functions. Creation is collective in effect, like iris_malloc: every rank of the world makes the same calls with
 * the same layouts, those outside the team too. A barrier stands between creation or upload and the first access by
 * another rank. All that return a status leave a sentence for iris_error_string when it is not IRIS_OK.
 *
 * @param w      the world, from iris_init
 * @param t      the tensor
 * @param layout what it is to look like
 * @param dtype  of the elements
 * @param dims   dimensions
 * @param size   indices of each dimension
 * @param host   host memory: elements in row-major order, of the whole tensor or of the own shard
 * @{
 */
/** The layout of a tensor that every rank has all of. */
iris_tensor_layout iris_tensor_replicated(iris_dtype dtype, int dims, const int64_t *size);
/**
 * The layout of a tensor with one dimension split over all ranks of the world.
 *
 * @param dim  which dimension
 * @param unit indices that stay together; 0: 16, as of iris_gemm_band; 1: as of iris_gemm_shard
 */
iris_tensor_layout iris_tensor_split(iris_dtype dtype, int dims, const int64_t *size, int dim, int64_t unit);
/** The layout of a tensor that is a sum over the ranks of the world: each has a partial sum of all of it. */
iris_tensor_layout iris_tensor_partial(iris_dtype dtype, int dims, const int64_t *size);

/**
 * Allocates a tensor on the symmetric heap, contents undefined: on each rank as much as the largest shard needs.
 *
 * @return IRIS_OK; IRIS_ERR_ARGUMENT for a layout that cannot be; IRIS_ERR_NOMEM when the heap is full, which the next
 *         iris_barrier says too. t is zeroed then
 */
iris_status iris_tensor_create(iris_world *w, iris_tensor *t, const iris_tensor_layout *layout);
/**
 * A tensor on symmetric memory that is there already; iris_tensor_destroy does not give it back. Zeroes t on failure.
 *
 * @param data  the own shard, at the same offset on every rank, aligned for its elements
 * @param bytes its length: as much as the largest shard needs
 */
iris_status iris_tensor_wrap(iris_world *w, iris_tensor *t, const iris_tensor_layout *layout, void *data,
                             size_t bytes);
/** Gives the memory of iris_tensor_create back and zeroes t; that of iris_tensor_wrap stays its caller's. Put an
 *  iris_barrier before it when peers may still touch it. Accepts a zeroed tensor. */
iris_status iris_tensor_destroy(iris_world *w, iris_tensor *t);

/** Writes the own shard from `host`, which has all elements; each rank calls it for itself. Of a partial tensor the
 *  first copy gets the elements, the others zeroes. Where strides leave gaps, nobody may write into them meanwhile. */
iris_status iris_tensor_upload(iris_world *w, const iris_tensor *t, const void *host);
/** Writes the own shard from `host`, which has the elements of it alone: of a partial tensor, the own partial sum. */
iris_status iris_tensor_upload_shard(iris_world *w, const iris_tensor *t, const void *host);
/** Reads all elements into `host`, on every rank. Collective; the ranks exchange their shards by iris_allgather. What
 *  streams other than the default one have written is there once they were synchronized. Partial sums are added up
 *  in the order of the copies, in the type that the elements compute in, and narrowed once. */
iris_status iris_tensor_download(iris_world *w, const iris_tensor *t, void *host);
/** Reads the elements of the own shard into `host`, of a partial tensor the own partial sum; each rank calls it for
 *  itself. */
iris_status iris_tensor_download_shard(iris_world *w, const iris_tensor *t, void *host);

/**
 * The layout in one line: "f32 [1000, 512 in 4 by 16], 1 copy on ranks 0 to 3, strides [128, 1], at most 128000
 * elements a rank". Of a partial tensor "4 partial sums" takes the place of "1 copy".
 *
 * @param text  receives at most `bytes` bytes, always terminated; may be null when bytes is 0
 * @param bytes its length
 * @return the length of the whole text, which was cut when this is not below `bytes`
 */
size_t iris_tensor_text(const iris_tensor *t, char *text, size_t bytes);
/**
 * Rank 0 prints the layout in a line of its own, and the first values behind it, with as many digits as %g gives.
 * Collective.
 *
 * @param out    where to
 * @param values how many at most; 0: none
 */
iris_status iris_tensor_print(iris_world *w, const iris_tensor *t, FILE *out, int64_t values);
/** @} */
/* iris_tensor_create and iris_tensor_upload_shard, as a failure of `who`. */
iris_status irisi_tensor_create_by(iris_world *w, const char *who, iris_tensor *t, const iris_tensor_layout *layout);
iris_status irisi_tensor_upload_shard_by(iris_world *w, const char *who, const iris_tensor *t, const void *host);

#ifdef __cplusplus
}
#endif

#endif
