/* SPDX-License-Identifier: MIT */
/*
 * tensor_map.h (nvidia): a plan's tensor maps, which describe A, B and every rank's C to the copy engine. A part of
 * init.c.
 *
 *   irisi_gemm_maps
 *
 * The driver's function that encodes a map is found at run time, so that nothing links with the driver.
 */
#ifndef IRIS_MAINLOOP_NVIDIA_TENSOR_MAP_H
#define IRIS_MAINLOOP_NVIDIA_TENSOR_MAP_H
#ifdef IRIS_INIT_C

#include <cuda.h>

#include <iris/arch/nvidia/driver.h>
#include <iris/mainloop/shape.h>

typedef CUresult (*irisi_encode_map)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                     const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                     CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static irisi_encode_map irisi_find_encode_map(void)
{
    void *const found = irisi_driver_find("cuTensorMapEncodeTiled");
    irisi_encode_map encode = NULL;
    memcpy((void *)&encode, &found, sizeof encode);
    return encode;
}

/*
 * The map of a matrix that is moved in boxes of box_rows rows of 128 bytes, swizzled within those; `element`: bytes of
 * an element. The cache fetches lines of 128 bytes from memory: with 256, problems of few rows are slower.
 */
static const char *irisi_gemm_map(irisi_encode_map encode, unsigned char *map, uint32_t element, const void *matrix,
                                  uint64_t rows, uint64_t cols, uint64_t ld, uint32_t box_rows)
{
    const cuuint64_t size[2] = {cols, rows};
    const cuuint64_t pitch[1] = {ld * element};
    const cuuint32_t box[2] = {128 / element, box_rows};
    const cuuint32_t step[2] = {1, 1};
    const CUtensorMapDataType type = element == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : element == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                    : CU_TENSOR_MAP_DATA_TYPE_UINT32;
    CUtensorMap made;
    if (encode(&made, type, 2, (void *)(uintptr_t)matrix, size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        return "the driver makes no tensor map of an operand";
    memcpy(map, &made, sizeof made);
    return NULL;
}

/*
 * Where A is gathered and the copy engine can read the caller's rows: the map of these, for whole tiles of them, which
 * are then computed from there, unless the gathered A must have them too.
 */
static const char *irisi_gemm_map_own_a(irisi_encode_map encode, iris_gemm_plan *p)
{
    const iris_gemm_rows own = iris_gemm_shard(p->m, p->world, p->rank);
    const uint32_t tile = p->tiling.tile_m, first = (own.first + tile - 1) / tile * tile;
    const uint32_t end = (own.first + own.count) / tile * tile;
    const uint64_t pitch = p->inputs.ld * p->operands.element;
    if (p->pattern == IRIS_GEMM_BLAS_GATHER || p->launcher.ld_gathered > 0) /* a BLAS, or the caller, reads one A */
        return NULL;
    if (p->mainloop != IRISI_GEMM_SM90A || first >= end || (((uintptr_t)p->inputs.a | pitch) & 15) != 0 ||
        pitch > IRISI_GEMM_MOST_PITCH)
        return NULL;
    p->inputs.first = first, p->inputs.end = end;
    return irisi_gemm_map(encode, p->maps[irisi_gemm_own_a(p)], p->operands.element, p->inputs.a, own.count, p->k,
                          p->inputs.ld, irisi_gemm_a_box(tile));
}

/* The maps of a plan's B and of this rank's C with number `which` (irisi_gemm_matrix_at). */
static const char *irisi_gemm_map_b(irisi_encode_map encode, const iris_gemm_plan *p, uint32_t which,
                                    unsigned char *map)
{
    const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, which);
    const int transposed = p->operands.b_transposed != 0;
    return irisi_gemm_map(encode, map, p->operands.element, x.b, transposed ? x.columns : p->k,
                          transposed ? p->k : x.columns, x.ldb, 64);
}
static const char *irisi_gemm_maps_of_more(irisi_encode_map encode, iris_gemm_plan *p, uint32_t which)
{
    const irisi_gemm_matrix x = irisi_gemm_matrix_at(p, which);
    const char *why = NULL;
    if (p->mainloop == IRISI_GEMM_SM90A)
        why = irisi_gemm_map_b(encode, p, which, p->maps[irisi_gemm_more_b(p, which)]);
    if (p->machine.tma_store && !why)
        why = irisi_gemm_map(encode, p->maps[irisi_gemm_more_c(p, which)], p->operands.c_element, x.c, p->m,
                             x.columns - x.columns % (16 / p->operands.c_element), x.ldc, 16);
    return why;
}

/* Fills a plan's maps, if its mainloop uses them. Returns null, or what went wrong. */
static const char *irisi_gemm_maps(const iris_world *w, iris_gemm_plan *p)
{
    if (!irisi_gemm_is_sm90a(p->mainloop) || p->region.columns == 0)
        return NULL;
    const irisi_encode_map encode = irisi_find_encode_map();
    if (encode == NULL)
        return "the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12";
    const uint32_t rows = p->m < p->tiling.tile_m ? p->m : p->tiling.tile_m, tail = p->m % p->tiling.tile_m;
    const uint32_t whole =
        p->several.columns - p->several.columns % (16 / p->operands.c_element); /* what boxes take of a row of C */
    const char *why = irisi_gemm_map(encode, p->maps[0], p->operands.element, p->operands.a, p->m, p->k,
                                     p->operands.lda, irisi_gemm_a_box(rows));
    if (!why && tail > 0 && p->m > p->tiling.tile_m)
        why = irisi_gemm_map(encode, p->maps[IRISI_GEMM_MAP_TAIL], p->operands.element, p->operands.a, p->m, p->k,
                             p->operands.lda, irisi_gemm_a_box(tail));
    if (!why && p->mainloop == IRISI_GEMM_SM90A)
        why = irisi_gemm_map_b(encode, p, 0, p->maps[1]);
    for (uint32_t i = 1; i <= p->several.count && !why; i++)
        why = irisi_gemm_maps_of_more(encode, p, i);
    const int owners = irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SPLIT_K);
    const int own = !owners && !irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_SENDS_TILES);
    const int first = own ? w->rank : 0, end = own ? w->rank + 1 : (int)p->world;
    for (int r = first; p->machine.tma_store && r < end && !why; r++) {
        const char *c = (const char *)(own ? p->route.base : iris_translate(w, p->route.base, r));
        const uint32_t c_rows = owners ? iris_gemm_shard(p->m, p->world, (uint32_t)r).count : p->m;
        unsigned char *map = p->maps[irisi_gemm_c_map(p, (uint32_t)r)];
        if (c_rows > 0) /* else nothing is put there */
            why = irisi_gemm_map(encode, map, p->operands.c_element, c, c_rows, whole, p->operands.ldc, 16);
    }
    if (irisi_gemm_op_is(p->op, IRISI_GEMM_OPS_GATHERS) && !why)
        why = irisi_gemm_map_own_a(encode, p);
    memcpy(p->launcher.own_map, p->maps[irisi_gemm_c_map(p, p->rank)], IRISI_GEMM_MAP_BYTES);
    if (owners && p->machine.tma_store && !why)
        why = irisi_gemm_map(encode, p->launcher.slot_map, p->operands.c_element, p->operands.c, p->m, whole,
                             p->operands.ldc, 16);
    return why;
}

#endif
#endif
