/* SPDX-License-Identifier: MIT */
/*
 * tensor_text.h: a part of init.c: partitioned tensors for people to read. include/iris/tensor.h declares them.
 *
 *   irisi_text_add irisi_text_add_sizes
 */
#ifndef IRIS_RUNTIME_TENSOR_TEXT_H
#define IRIS_RUNTIME_TENSOR_TEXT_H
#ifdef IRIS_INIT_C

#include <iris/runtime/tensor.h>

/* Appends to a text that may be cut. */
__attribute__((format(printf, 4, 5))) static void irisi_text_add(char *text, size_t bytes, size_t *length,
                                                                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(*length < bytes ? text + *length : NULL, *length < bytes ? bytes - *length : 0, format,
                            args);
    va_end(args);
    *length += n > 0 ? (size_t)n : 0;
}

/* Appends the dimensions: "[1000, 512 in 4 by 16]". */
static void irisi_text_add_sizes(char *text, size_t bytes, size_t *length, const iris_tensor *t)
{
    for (int d = 0; d < t->dims; d++) {
        irisi_text_add(text, bytes, length, "%s%u", d ? ", " : "[", t->dim[d].size);
        if (t->dim[d].parts > 1)
            irisi_text_add(text, bytes, length, " in %u by %u", t->dim[d].parts, t->dim[d].unit);
    }
    irisi_text_add(text, bytes, length, "]");
}

size_t iris_tensor_text(const iris_tensor *t, char *text, size_t bytes)
{
    size_t n = 0;
    if (!t || t->dims < 1 || t->dims > IRIS_TENSOR_DIMS) {
        irisi_text_add(text, bytes, &n, "no tensor");
        return n;
    }
    irisi_text_add(text, bytes, &n, "%s ", iris_dtype_name(t->dtype));
    irisi_text_add_sizes(text, bytes, &n, t);
    const iris_team *team = &t->team;
    static const char *const copies[] = {"copy", "copies", "partial sum", "partial sums"};
    irisi_text_add(text, bytes, &n, ", %d %s on rank", (int)t->copies, copies[2 * t->partial + (t->copies > 1)]);
    if (team->size > 1)
        irisi_text_add(text, bytes, &n, "s %d to %d", (int)team->start,
                       (int)(team->start + (team->size - 1) * team->stride));
    else
        irisi_text_add(text, bytes, &n, " %d", (int)team->start);
    if (team->stride > 1)
        irisi_text_add(text, bytes, &n, " by %d", (int)team->stride);
    irisi_text_add(text, bytes, &n, ", strides [");
    for (int d = 0; d < t->dims; d++)
        irisi_text_add(text, bytes, &n, "%s%lld", d ? ", " : "", (long long)t->dim[d].stride);
    irisi_text_add(text, bytes, &n, "], at most %lld elements a rank", (long long)t->room);
    return n;
}

/* The first values, in lines of 8. */
static void irisi_tensor_print_values(FILE *out, const iris_tensor *t, const char *elements, int64_t values)
{
    const int64_t n = iris_tensor_elements(t);
    for (int64_t i = 0; i < n && i < values; i++)
        fprintf(out, "%s%g%s", i % 8 ? " " : "    ", irisi_element_value(t->dtype, elements + (size_t)i * t->element),
                i % 8 == 7 || i + 1 == n || i + 1 == values ? "\n" : "");
    if (n > values)
        fprintf(out, "    … %lld more\n", (long long)(n - values));
}

iris_status iris_tensor_print(iris_world *w, const iris_tensor *t, FILE *out, int64_t values)
{
    char line[512], *elements = NULL;
    iris_status s = irisi_enter(w, "iris_tensor_print");
    if (s != IRIS_OK)
        return s;
    if (!out)
        s = irisi_fail(w, IRIS_ERR_ARGUMENT, "iris_tensor_print: the file is null");
    else
        s = irisi_tensor_check(w, "iris_tensor_print", t);
    if (s == IRIS_OK && values > 0) {
        elements = (char *)malloc((size_t)iris_tensor_elements(t) * t->element + 1);
        if (!elements)
            s = irisi_fail(w, IRIS_ERR_NOMEM, "iris_tensor_print: no host memory for %lld elements",
                           (long long)iris_tensor_elements(t));
    }
    s = irisi_agree(w, IRISI_ALLGATHER, s);
    if (s == IRIS_OK && values > 0)
        s = iris_tensor_download(w, t, elements);
    if (s == IRIS_OK && w->rank == 0) {
        iris_tensor_text(t, line, sizeof line);
        fprintf(out, "%s\n", line);
        if (values > 0)
            irisi_tensor_print_values(out, t, elements, values);
    }
    free(elements);
    return s;
}

#endif
#endif
