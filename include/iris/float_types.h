/* SPDX-License-Identifier: MIT */
/*
 * float_types.h: storage types of the 16- and 8-bit floats; dtype.h says what they hold and converts them.
 *
 *   iris_f16 iris_bf16 iris_f8e4m3 iris_f8e5m2 iris_f8e4m3fnuz iris_f8e5m2fnuz
 */
#ifndef IRIS_FLOAT_TYPES_H
#define IRIS_FLOAT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include <iris/arch/select.h>

/** IEEE 754 binary16. */
typedef struct iris_f16 {
    uint16_t bits; /**< the encoding */
} iris_f16;

/** The upper half of a float. */
typedef struct iris_bf16 {
    uint16_t bits; /**< the encoding */
} iris_bf16;

/** OCP E4M3: largest 448, no infinity. */
typedef struct iris_f8e4m3 {
    uint8_t bits; /**< the encoding */
} iris_f8e4m3;

/** OCP E5M2: largest 57344. */
typedef struct iris_f8e5m2 {
    uint8_t bits; /**< the encoding */
} iris_f8e5m2;

/** E4M3 of gfx942: largest 240, no infinity, no -0. */
typedef struct iris_f8e4m3fnuz {
    uint8_t bits; /**< the encoding */
} iris_f8e4m3fnuz;

/** E5M2 of gfx942: largest 57344, no infinity, no -0. */
typedef struct iris_f8e5m2fnuz {
    uint8_t bits; /**< the encoding */
} iris_f8e5m2fnuz;

#endif
