/* SPDX-License-Identifier: MIT */
/*
 * decimal.h: numbers in files, with a point whatever the program's locale puts there (host).
 *
 *   irisi_decimal irisi_decimal_of irisi_decimal_point
 */
#ifndef IRIS_DECIMAL_H
#define IRIS_DECIMAL_H

#include <stdio.h>
#include <string.h>

/* A number as a text. */
typedef struct irisi_decimal {
    char text[48];
} irisi_decimal;

/* Puts a point in place of whatever stands between the digits of a number: in some locales that is several bytes. */
static inline void irisi_decimal_point(char *text)
{
    char *mark = text + (*text == '-');
    mark += strspn(mark, "0123456789");
    const size_t bytes = strcspn(mark, "0123456789");
    if (bytes > 0 && mark[bytes] != 0) {
        memmove(mark + 1, mark + bytes, strlen(mark + bytes) + 1);
        *mark = '.';
    }
}

/* A number with so many digits behind the point; null, as in JSON, where it is none. */
static inline irisi_decimal irisi_decimal_of(double value, int digits)
{
    irisi_decimal d;
    if (__builtin_isfinite(value))
        snprintf(d.text, sizeof d.text, "%.*f", digits, value);
    else
        snprintf(d.text, sizeof d.text, "null");
    irisi_decimal_point(d.text);
    return d;
}

#endif
