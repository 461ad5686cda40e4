/* SPDX-License-Identifier: MIT */
/*
 * decimal.h: numbers in files, with a point whatever the program's locale puts there, and texts of JSON (host).
 *
 *   irisi_decimal irisi_decimal_of irisi_decimal_point irisi_json_text
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
    if (value >= -1e308 && value <= 1e308) /* neither infinite nor a NaN */
        snprintf(d.text, sizeof d.text, "%.*f", digits, value);
    else
        snprintf(d.text, sizeof d.text, "null");
    irisi_decimal_point(d.text);
    return d;
}

/* Bytes of the character that begins here; 0 where it is none of UTF-8. */
static inline int irisi_utf8(const unsigned char *c)
{
    const int bytes = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    for (int i = 1; i < bytes; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    const int early = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90); /* a shorter one says it */
    const int beyond = (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF4 && c[1] > 0x8F);
    return early || beyond ? 0 : bytes;
}

/* A text as JSON has it, in quotes: a question mark in place of each byte that is no UTF-8. Null is empty. */
static inline void irisi_json_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c;) {
        const int bytes = irisi_utf8(c);
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", (unsigned)*c);
        else if (bytes == 0)
            fputc('?', file);
        else
            fwrite(c, 1, (size_t)bytes, file);
        c += bytes ? bytes : 1;
    }
    fputc('"', file);
}

#endif
