/* SPDX-License-Identifier: MIT */
/*
 * dlpack.c: arrays go to DLPack and come back: every element type, shapes of random sizes and strides, negative ones
 * and those of 0 among them, by an oracle that goes through all indices; and what is refused. The structs are the
 * standard's: what another library reads at which byte.
 */
#include <stdio.h>
#include <string.h>

#include <iris/dlpack.h>
#include <iris/init.h>

#include "../random.h"

static int failures;

static void check(int held, const char *what)
{
    if (!held)
        printf("%s\n", what), failures++;
}

/* A call that must fail, with words of its sentence. */
static void refused(iris_world *w, iris_status status, iris_status want, const char *words)
{
    if (status == want && strstr(iris_error_string(w), words))
        return;
    printf("%s, not %s with \"%s\": %s\n", iris_status_name(status), iris_status_name(want), words,
           iris_error_string(w));
    failures++;
}

/* What the standard says of the fields' places, as one reads them without any header. */
static void layout(iris_world *w)
{
    static float memory[6];
    const int64_t size[2] = {2, 3};
    iris_dlpack *made = NULL;
    iris_dlpack_unversioned *old = NULL;
    int32_t word[2];
    void *pointer;
    const unsigned char *bytes;
    check(iris_to_dlpack(w, memory, IRIS_F32, 2, size, NULL, &made) == IRIS_OK, iris_error_string(w));
    check(iris_to_dlpack_unversioned(w, memory, IRIS_F32, 2, size, NULL, &old) == IRIS_OK, iris_error_string(w));
    if (!made || !old)
        return;
    bytes = (const unsigned char *)made;
    memcpy(word, bytes, 4);
    check(word[0] == 1, "the major version is not the first word");
    memcpy(&pointer, bytes + 32, sizeof pointer); /* behind version, manager_ctx, deleter and flags */
    check(pointer == memory, "the data is not at byte 32");
    memcpy(word, bytes + 40, 8);
    check(word[0] == made->tensor.device.type && word[1] == iris_device(w), "the device is not at byte 40");
    memcpy(word, bytes + 48, 4);
    check(word[0] == 2, "the dimensions are not at byte 48");
    check(bytes[52] == 2 && bytes[53] == 32 && bytes[54] == 1 && bytes[55] == 0, "the type is not at byte 52");
    bytes = (const unsigned char *)old;
    memcpy(&pointer, bytes, sizeof pointer);
    check(pointer == memory, "the data of an old one is not its first field");
    memcpy(word, bytes + 16, 4);
    check(word[0] == 2 && bytes[20] == 2 && bytes[21] == 32, "the fields of an old one are elsewhere");
    made->deleter(made);
    old->deleter(old);
}

/* Every element type, there and back. */
static void types(iris_world *w)
{
    for (int d = IRIS_DTYPE_NONE + 1; d < IRIS_DTYPES; d++) {
        static double memory[5];
        const iris_dtype dtype = (iris_dtype)d;
        const int64_t size = 5;
        iris_dlpack *made = NULL;
        iris_dlpack_array array;
        check(iris_to_dlpack(w, memory, dtype, 1, &size, NULL, &made) == IRIS_OK, iris_error_string(w));
        if (!made)
            continue;
        check(made->tensor.dtype.bits == 8 * iris_dtype_bytes(dtype) && made->tensor.dtype.lanes == 1, "a type's bits");
        check(iris_from_dlpack(w, made, &array) == IRIS_OK, iris_error_string(w));
        check(array.dtype == dtype && array.data == memory && array.bytes == 5 * iris_dtype_bytes(dtype) &&
                  array.elements == 5 && array.compact && !array.read_only,
              iris_dtype_name(dtype));
        made->flags |= IRIS_DLPACK_READ_ONLY;
        check(iris_from_dlpack(w, made, &array) == IRIS_OK && array.read_only, "not told that nobody may write");
        made->deleter(made);
    }
}

/* A random shape; the oracle looks at every element's offset. */
static void shape(iris_world *w, uint64_t turn)
{
    int64_t size[4], stride[4], low = 0, high = 0, elements = 1, next = 0;
    const int dims = (int)irist_pick(3, turn, 0, 5), strided = (int)irist_pick(3, turn, 1, 3) > 0;
    int compact = 1;
    char *const middle = (char *)(uintptr_t)0x40000000u; /* nobody looks there */
    iris_dlpack *made = NULL;
    iris_dlpack_unversioned old;
    iris_dlpack_array array;
    for (int d = 0; d < dims; d++) {
        size[d] = (int64_t)irist_pick(3, turn, 2 + 2 * (uint64_t)d, 6) + (irist_pick(3, turn, 99, 4) > 0);
        stride[d] = (int64_t)irist_pick(3, turn, 3 + 2 * (uint64_t)d, 41) - 20;
        elements *= size[d];
    }
    for (int64_t i = 0; i < elements; i++) {
        int64_t rest = i, at = 0;
        for (int d = dims - 1; d >= 0; d--) {
            at += strided ? rest % size[d] * stride[d] : 0;
            rest /= size[d];
        }
        at = strided ? at : i;
        low = at < low ? at : low;
        high = at > high ? at : high;
        compact &= at == next++;
    }
    check(iris_to_dlpack(w, middle, IRIS_F32, dims, size, strided ? stride : NULL, &made) == IRIS_OK,
          iris_error_string(w));
    if (!made)
        return;
    memset(&old, 0, sizeof old);
    old.tensor = made->tensor;
    old.tensor.data = middle - 64;
    old.tensor.byte_offset = 64;
    if (!strided)
        old.tensor.strides = NULL;
    for (int k = 0; k < 2; k++) {
        const iris_status s = k ? iris_from_dlpack_unversioned(w, &old, &array) : iris_from_dlpack(w, made, &array);
        check(s == IRIS_OK, iris_error_string(w));
        check(array.data == middle && array.elements == elements && array.dims == dims, "an array's elements");
        check(array.bytes == (elements ? (size_t)(high - low + 1) * 4 : 0), "an array's bytes");
        check(elements == 0 || array.first == middle + 4 * low, "an array's first byte");
        check(elements == 0 || array.compact == compact, "whether an array is compact");
        check(dims == 0 || memcmp(array.size, size, sizeof *size * (size_t)dims) == 0, "an array's sizes");
    }
    made->deleter(made);
}

static void refusals(iris_world *w)
{
    static float memory[4];
    const int64_t size[2] = {2, 2}, none[2] = {2, -1}, huge[2] = {INT64_MAX, 2}, wide[2] = {3, 3};
    const int64_t far[2] = {INT64_MAX / 2, 1};
    iris_dlpack *made = NULL;
    iris_dlpack_array array;
    refused(NULL, iris_to_dlpack(NULL, memory, IRIS_F32, 2, size, NULL, &made), IRIS_ERR_ARGUMENT, "the world is null");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, 2, size, NULL, NULL), IRIS_ERR_ARGUMENT, "result's address is null");
    refused(w, iris_to_dlpack(w, NULL, IRIS_F32, 2, size, NULL, &made), IRIS_ERR_ARGUMENT, "the memory is null");
    refused(w, iris_to_dlpack(w, memory, IRIS_DTYPE_NONE, 2, size, NULL, &made), IRIS_ERR_ARGUMENT, "no element type");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, -1, size, NULL, &made), IRIS_ERR_ARGUMENT, "of -1 dimensions");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, 2, NULL, NULL, &made), IRIS_ERR_ARGUMENT, "without sizes");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, 2, none, NULL, &made), IRIS_ERR_ARGUMENT, "1 has -1 indices");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, 2, huge, NULL, &made), IRIS_ERR_ARGUMENT, "larger than memory");
    refused(w, iris_to_dlpack(w, memory, IRIS_F32, 2, wide, far, &made), IRIS_ERR_ARGUMENT, "larger than memory");
    check(made == NULL, "what was refused has been made");
    refused(w, iris_from_dlpack(w, NULL, &array), IRIS_ERR_ARGUMENT, "the array is null");
    refused(w, iris_from_dlpack_unversioned(w, NULL, &array), IRIS_ERR_ARGUMENT, "the array is null");
    if (iris_to_dlpack(w, memory, IRIS_F32, 2, size, NULL, &made) != IRIS_OK)
        return;
    refused(w, iris_from_dlpack(w, made, NULL), IRIS_ERR_ARGUMENT, "result's address is null");
    made->major = 2;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_UNSUPPORTED, "DLPack 2.1, and version 1 is read here");
    made->major = 1;
    const int32_t type = made->tensor.device.type;
    made->tensor.device.type = 7;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "kind (device 0, DLPack's type 7), and this rank");
    made->tensor.device.type = 11;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "in memory of the host, pinned by ROCm, (device");
    made->tensor.device.type = type;
    made->tensor.device.index = 63;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "(device 63, DLPack's type");
    made->tensor.device.index = iris_device(w);
    made->tensor.dtype.lanes = 4;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_UNSUPPORTED, "code 2 of 32 bits in 4 lanes");
    made->tensor.dtype.lanes = 1;
    made->tensor.dtype.code = 5; /* complex */
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_UNSUPPORTED, "code 5 of 32 bits");
    made->tensor.dtype.code = 2;
    made->tensor.byte_offset = 2;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "is not aligned to its elements of 4 bytes");
    made->tensor.byte_offset = UINT64_MAX - 3;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "leaves the addresses that there are");
    made->tensor.byte_offset = 0;
    const int64_t back[2] = {-(INT64_MAX / 32), 1};
    made->tensor.strides = (int64_t *)(uintptr_t)back;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "leaves the addresses that there are");
    made->tensor.data = NULL;
    refused(w, iris_from_dlpack(w, made, &array), IRIS_ERR_ARGUMENT, "the memory is null");
    check(array.bytes == 0 && array.data == NULL, "what was refused is an array");
    made->deleter(made);
}

int main(void)
{
    iris_world *w = NULL;
    IRIS_TRY(iris_init(&w, NULL));
    layout(w);
    types(w);
    for (uint64_t turn = 0; turn < 500; turn++)
        shape(w, turn);
    refusals(w);
    IRIS_TRY(iris_finalize(w));
    return failures != 0;
}
