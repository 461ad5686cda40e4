/* SPDX-License-Identifier: MIT */
/*
 * collective_rows.h: a part of init.c: tuning rows of IRIS_TUNE that choose schedules of collectives.
 *
 *   irisi_collective_rows irisi_collective_rows_read irisi_collective_rows_free irisi_collective_row_for
 *
 * iris_collective_channel reads them, since it is called by every rank, compares there what the ranks have read, and
 * keeps them with the channel: whatever changes in the environment or the file later, all ranks choose by the same
 * rows. docs/how-to/tune-for-your-machine.md lists the fields.
 */
#ifndef IRIS_RUNTIME_COLLECTIVE_ROWS_H
#define IRIS_RUNTIME_COLLECTIVE_ROWS_H
#ifdef IRIS_INIT_C

#include <iris/collective/launch.h>
#include <iris/runtime/tune_read.h>

/* A row that is for this machine; what is 0 matches anything. */
typedef struct irisi_collective_row {
    uint32_t family, schedule, ranks, dtype_bytes;
    uint64_t upto;  /* bytes of all members' elements together */
    char from[120]; /* where it was read */
} irisi_collective_row;

/* The rows of one reading, in their order. */
typedef struct irisi_collective_rows {
    struct irisi_collective_rows *next;
    iris_world *w;
    irisi_collective_row *row;
    size_t n;
    uint64_t hash; /* of the rows, but for where they were read */
    int no_memory;
} irisi_collective_rows;

/* Keeps a row that is a collective's and for this machine. */
static void irisi_collective_rows_take(void *arg, const irisi_tune_row *row, const char *from)
{
    irisi_collective_rows *rows = (irisi_collective_rows *)arg;
    const uint32_t *v = row->value, arch = irisi_tune_arch(iris_arch_name(rows->w));
    const uint32_t units = (uint32_t)rows->w->dev.compute_units, given = row->given;
    if (!(given >> IRISI_TUNE_COLLECTIVE & 1) || ((given >> IRISI_TUNE_ARCH & 1) && v[IRISI_TUNE_ARCH] != arch) ||
        ((given >> IRISI_TUNE_UNITS & 1) && v[IRISI_TUNE_UNITS] != units))
        return;
    irisi_collective_row *more = (irisi_collective_row *)realloc(rows->row, (rows->n + 1) * sizeof *more);
    if (more == NULL) {
        rows->no_memory = 1;
        return;
    }
    rows->row = more;
    more += rows->n++;
    memset(more, 0, sizeof *more);
    more->family = v[IRISI_TUNE_COLLECTIVE], more->schedule = v[IRISI_TUNE_SCHEDULE];
    more->ranks = v[IRISI_TUNE_RANKS], more->dtype_bytes = v[IRISI_TUNE_DTYPE_BYTES], more->upto = row->upto;
    snprintf(more->from, sizeof more->from, "%s", from);
    const uint64_t words[] = {more->family, more->schedule, more->ranks, more->dtype_bytes, more->upto};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        rows->hash = irisi_hash_word(rows->hash, words[i]);
}

/* The world's copy of these rows, which it has from then on, and the only one of its kind; null: there is no memory. */
static const irisi_collective_rows *irisi_collective_rows_hold(iris_world *w, irisi_collective_rows *rows)
{
    for (irisi_collective_rows *held = w->collective_rows; held != NULL; held = held->next)
        if (held->n == rows->n && memcmp(held->row, rows->row, held->n * sizeof *held->row) == 0) {
            free(rows->row);
            return held;
        }
    irisi_collective_rows *own = (irisi_collective_rows *)malloc(sizeof *own);
    if (own == NULL) {
        free(rows->row);
        return NULL;
    }
    *own = *rows;
    own->next = w->collective_rows;
    w->collective_rows = own;
    return own;
}

/*
 * Reads what IRIS_TUNE has for collectives on this machine.
 *
 * @param read receives a hash of all rows, those for GEMMs and for other machines too
 * @param rows receives the rows, which live as long as the world; null where there are none
 */
static iris_status irisi_collective_rows_read(iris_world *w, uint64_t *read, const irisi_collective_rows **rows)
{
    const char *text = getenv("IRIS_TUNE");
    irisi_collective_rows own;
    irisi_tune_reader r;
    memset(&own, 0, sizeof own);
    memset(&r, 0, sizeof r);
    own.w = w;
    r.w = w, r.call = "iris_collective_channel", r.take = irisi_collective_rows_take, r.arg = &own;
    r.hash = (uint64_t)irisi_tune_model_only(text);
    const iris_status status = irisi_tune_source(&r, text, "IRIS_TUNE");
    *read = r.hash;
    *rows = NULL;
    if (status != IRIS_OK || own.no_memory || own.n == 0)
        free(own.row);
    else
        *rows = irisi_collective_rows_hold(w, &own);
    if (status == IRIS_OK && (own.no_memory || (own.n > 0 && *rows == NULL)))
        return irisi_fail(w, IRIS_ERR_SYSTEM, "iris_collective_channel: no memory for the rows of IRIS_TUNE");
    return status;
}

/* Gives back the rows of all channels. */
static void irisi_collective_rows_free(iris_world *w)
{
    while (w->collective_rows != NULL) {
        irisi_collective_rows *rows = w->collective_rows;
        w->collective_rows = rows->next;
        free(rows->row);
        free(rows);
    }
}

/* The first row for so many members, elements of so many bytes, and bytes of all members together; or null. */
static const irisi_collective_row *irisi_collective_row_for(const irisi_collective_rows *rows, uint32_t family,
                                                            uint32_t ranks, size_t dtype_bytes, uint64_t all)
{
    for (size_t i = 0; rows != NULL && i < rows->n; i++) {
        const irisi_collective_row *row = rows->row + i;
        if (row->family == family && (row->ranks == 0 || row->ranks == ranks) &&
            (row->dtype_bytes == 0 || row->dtype_bytes == dtype_bytes) && (row->upto == 0 || all <= row->upto))
            return row;
    }
    return NULL;
}

#endif
#endif
