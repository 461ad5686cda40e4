/* SPDX-License-Identifier: MIT */
/*
 * tune_read.h: a part of init.c: how tuning rows are read, from IRIS_TUNE and iris_gemm_args.tune. gemm/tune_rows.h
 * finds a GEMM's row among them, collective_rows.h those of collectives.
 *
 *   irisi_tune_row irisi_tune_read irisi_tune_reader irisi_tune_source
 *
 * A row is a line of fields, `name=value`, with blanks or commas between them; # begins a comment. Some fields describe
 * what the row is for, and a missing one matches anything; the others say what is chosen, and a missing one leaves that
 * open. With `collective` a row is a collective's, without it a GEMM's. Both kinds may stand in one file, and whoever
 * reads it reads every row, so that a mistake in one shows whatever the call is. docs/gemm-choosing.md and
 * docs/how-to/tune-for-your-machine.md list the fields.
 */
#ifndef IRIS_RUNTIME_TUNE_READ_H
#define IRIS_RUNTIME_TUNE_READ_H
#ifdef IRIS_INIT_C

#include <iris/gemm/prepare.h>
#include <iris/gen/schedules.h>
#include <iris/runtime/config.h>
#include <iris/runtime/gemm/operations.h>

/*
 * Fields of a row. Of a GEMM's: those of the problem, those of the choice from PATTERN on, and US, a time for the
 * record. Then those that only a collective's row has.
 */
enum {
    IRISI_TUNE_OP,
    IRISI_TUNE_ARCH,
    IRISI_TUNE_UNITS,
    IRISI_TUNE_WORLD,
    IRISI_TUNE_M,
    IRISI_TUNE_N,
    IRISI_TUNE_K,
    IRISI_TUNE_DTYPE,
    IRISI_TUNE_OUT,
    IRISI_TUNE_LAYOUT,
    IRISI_TUNE_PATTERN,
    IRISI_TUNE_WORKGROUPS,
    IRISI_TUNE_COMM,
    IRISI_TUNE_HEIGHT,
    IRISI_TUNE_WIDTH,
    IRISI_TUNE_CLUSTER,
    IRISI_TUNE_SPLIT_K,
    IRISI_TUNE_FULL,
    IRISI_TUNE_HEAD_HALVES,
    IRISI_TUNE_TAIL_TILES,
    IRISI_TUNE_TAIL_HALVES,
    IRISI_TUNE_EDGE_WIDTH,
    IRISI_TUNE_SENDER_TILES,
    IRISI_TUNE_SKINNY,
    IRISI_TUNE_LL,
    IRISI_TUNE_US,
    IRISI_TUNE_COLLECTIVE,
    IRISI_TUNE_RANKS,
    IRISI_TUNE_DTYPE_BYTES,
    IRISI_TUNE_UPTO,
    IRISI_TUNE_SCHEDULE,
    IRISI_TUNE_FIELDS,
    IRISI_TUNE_KEYS = IRISI_TUNE_PATTERN
};

/* Names of the fields, and bounds of those that are numbers. */
static const struct irisi_tune_field {
    const char *name;
    uint32_t least, most;
} irisi_tune_fields[IRISI_TUNE_FIELDS] = {{"op", 0, 0},
                                          {"arch", 0, 0},
                                          {"units", 1, 65535},
                                          {"world", 1, IRISI_MOST_RANKS},
                                          {"m", 1, INT32_MAX},
                                          {"n", 1, INT32_MAX},
                                          {"k", 1, INT32_MAX},
                                          {"dtype", 0, 0},
                                          {"out", 0, 0},
                                          {"layout", 0, 0},
                                          {"pattern", 0, 0},
                                          {"workgroups", 1, 65535},
                                          {"comm", 1, 65534},
                                          {"height", 1, 65535},
                                          {"width", 1, 65535},
                                          {"cluster", 1, 8},
                                          {"split_k", 1, 64},
                                          {"full", 0, INT32_MAX},
                                          {"head_halves", 0, INT32_MAX},
                                          {"tail_tiles", 0, INT32_MAX},
                                          {"tail_halves", 0, INT32_MAX},
                                          {"edge_width", 1, 65535},
                                          {"sender_tiles", 0, 65535},
                                          {"skinny", 0, 2},
                                          {"ll", 0, 1},
                                          {"us", 0, 0},
                                          {"collective", 0, 0},
                                          {"ranks", 1, IRISI_MOST_RANKS},
                                          {"dtype_bytes", 0, 0},
                                          {"upto", 0, 0},
                                          {"schedule", 0, 0}};

/* Fields that only collectives' rows have, and all that they have. */
enum {
    IRISI_TUNE_FOR_COLLECTIVES = 1 << IRISI_TUNE_COLLECTIVE | 1 << IRISI_TUNE_RANKS | 1 << IRISI_TUNE_DTYPE_BYTES |
                                 1 << IRISI_TUNE_UPTO | 1 << IRISI_TUNE_SCHEDULE,
    IRISI_TUNE_OF_COLLECTIVES =
        IRISI_TUNE_FOR_COLLECTIVES | 1 << IRISI_TUNE_ARCH | 1 << IRISI_TUNE_UNITS | 1 << IRISI_TUNE_US
};

static const char *const irisi_tune_layouts[] = {"nn", "nt"};

/* A row, or a GEMM's problem as the first fields of a row. Fields that are not given are 0. */
typedef struct irisi_tune_row {
    uint32_t given; /* bit f: the row has field f */
    uint32_t value[IRISI_TUNE_FIELDS];
    uint64_t upto;  /* bytes of all members' elements together; 0: any number */
    uint64_t hash;  /* of its text */
    char from[120]; /* where it was read, for errors; empty: the built-in table */
} irisi_tune_row;

/* The hash by which names of architectures are compared; without the features that AMD adds behind a colon. */
static uint32_t irisi_tune_arch(const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, ":"), name);
    return (uint32_t)irisi_hash_text(text);
}

/* Reads a number within the bounds of its field; 1, or 0 with the reason in `why`. */
static int irisi_tune_number(uint32_t field, const char *text, uint32_t *value, char *why, size_t room)
{
    const struct irisi_tune_field *f = &irisi_tune_fields[field];
    char *end = NULL;
    errno = 0;
    const unsigned long long n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    *value = (uint32_t)n;
    if (end != NULL && *end == 0 && errno == 0 && n >= f->least && n <= f->most)
        return 1;
    snprintf(why, room, "%s=%.40s is not a whole number from %u to %u", f->name, text, f->least, f->most);
    return 0;
}

/* The name of a collective in rows. */
static const char *irisi_tune_collective(uint32_t family)
{
    return irisi_family_of((irisi_family)family)->name + sizeof "iris_" - 1;
}

/* Reads a number of bytes; likewise. */
static int irisi_tune_bytes(const char *text, uint64_t *bytes, char *why, size_t room)
{
    char *end = NULL;
    errno = 0;
    *bytes = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (end != NULL && *end == 0 && errno == 0 && *bytes > 0)
        return 1;
    snprintf(why, room, "upto=%.40s is not a whole number of bytes, 1 or more", text);
    return 0;
}

/* 1 when a text is a number of microseconds above 0, with a point whatever the program's locale has. */
static int irisi_tune_is_time(const char *text)
{
    static const char *const digits = "0123456789";
    const char *rest = text + strspn(text, digits);
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, digits);
    const int above = text + strcspn(text, "123456789") < rest;
    if (above && *rest == 'e') {
        rest += 1 + (rest[1] == '-' || rest[1] == '+');
        rest = *rest ? rest + strspn(rest, digits) : "e";
    }
    return above && *rest == 0;
}

/* Reads a field's value; 1, or 0 with the reason in `why`. */
static int irisi_tune_value(uint32_t field, const char *text, uint32_t *value, char *why, size_t room)
{
    uint32_t v = 0, n = 0;
    switch (field) {
    case IRISI_TUNE_OP:
        for (n = IRISI_GEMM_OPS; v < n && strcmp(text, irisi_gemm_op_names[v]) != 0;)
            v++;
        break;
    case IRISI_TUNE_ARCH: v = irisi_tune_arch(text), n = v + (*text != 0); break;
    case IRISI_TUNE_DTYPE:
    case IRISI_TUNE_OUT:
        for (v = 1, n = IRIS_DTYPES; v < n && strcmp(text, iris_dtype_name((iris_dtype)v)) != 0;)
            v++;
        break;
    case IRISI_TUNE_LAYOUT:
        for (n = 2; v < n && strcmp(text, irisi_tune_layouts[v]) != 0;)
            v++;
        break;
    case IRISI_TUNE_PATTERN:
        for (v = 1, n = IRIS_GEMM_COPY_ENGINE + 1; v < n && strcmp(text, iris_gemm_pattern_name((iris_gemm_pattern)v));)
            v++;
        break;
    case IRISI_TUNE_COLLECTIVE:
        for (n = IRISI_FAMILIES; v < n && strcmp(text, irisi_tune_collective(v)) != 0;)
            v++;
        break;
    case IRISI_TUNE_SCHEDULE:
        for (v = 1, n = IRIS_SCHEDULES; v < n && strcmp(text, irisi_schedule_name((int)v)) != 0;)
            v++;
        break;
    case IRISI_TUNE_US:
        n = (uint32_t)irisi_tune_is_time(text);
        break;
    case IRISI_TUNE_DTYPE_BYTES:
        for (v = 1, n = 16; v < n && (text[0] != (char)('0' + v) || text[1] != 0);)
            v *= 2;
        break;
    default: return irisi_tune_number(field, text, value, why, room);
    }
    *value = v;
    if (v != n)
        return 1;
    if (field == IRISI_TUNE_OP || field == IRISI_TUNE_COLLECTIVE) {
        int used = snprintf(why, room, "%s=%.40s is none of", irisi_tune_fields[field].name, text);
        for (v = 0; v < n && (size_t)used < room; v++)
            used += snprintf(why + used, room - (size_t)used, " %s",
                             field == IRISI_TUNE_OP ? irisi_gemm_op_names[v] : irisi_tune_collective(v));
        return 0;
    }
    snprintf(why, room, "%s=%.40s is %s", irisi_tune_fields[field].name, text,
             field == IRISI_TUNE_ARCH          ? "no name"
             : field == IRISI_TUNE_LAYOUT      ? "neither nn nor nt"
             : field == IRISI_TUNE_US          ? "not a time in microseconds"
             : field == IRISI_TUNE_DTYPE_BYTES ? "not 1, 2, 4 or 8"
             : field == IRISI_TUNE_SCHEDULE    ? "no schedule"
             : field == IRISI_TUNE_PATTERN
                 ? "none of bulk_synchronous producer_consumer fused_sequential wg_specialized wave_specialized "
                   "blas_gather copy_engine"
                 : "no element type");
    return 0;
}

/* Reads one field into a row; 1, or 0 with the reason in `why`. */
static int irisi_tune_field(irisi_tune_row *row, const char *text, char *why, size_t room)
{
    const size_t name = strcspn(text, "=");
    uint32_t f = 0;
    if (text[name] == 0) {
        snprintf(why, room, "'%.40s' is not of the form name=value", text);
        return 0;
    }
    while (f < IRISI_TUNE_FIELDS &&
           (strlen(irisi_tune_fields[f].name) != name || memcmp(irisi_tune_fields[f].name, text, name) != 0))
        f++;
    if (f == IRISI_TUNE_FIELDS) {
        int used = snprintf(why, room, "there is no field '%.*s'; there are", (int)(name < 40 ? name : 40), text);
        for (f = 0; f < IRISI_TUNE_FIELDS && (size_t)used < room; f++)
            used += snprintf(why + used, room - (size_t)used, " %s", irisi_tune_fields[f].name);
        return 0;
    }
    if (row->given >> f & 1) {
        snprintf(why, room, "%s stands there twice", irisi_tune_fields[f].name);
        return 0;
    }
    row->given |= 1u << f;
    if (f == IRISI_TUNE_UPTO)
        return irisi_tune_bytes(text + name + 1, &row->upto, why, room);
    return irisi_tune_value(f, text + name + 1, &row->value[f], why, room);
}

/* What is wrong with a GEMM's row whose fields are right, in `why`, which is empty before. */
static void irisi_tune_check_gemm(const irisi_tune_row *row, char *why, size_t room)
{
    const uint32_t *v = row->value, stray = row->given & IRISI_TUNE_FOR_COLLECTIVES;
    uint32_t f = 0;
    const uint32_t own =
        v[IRISI_TUNE_SKINNY] == 2 ? 1u << IRISI_TUNE_SPLIT_K : 0; /* the gemv loop's splits need no width */
    const uint32_t cuts = (row->given & ~own) >> IRISI_TUNE_CLUSTER & 255;
    while (stray != 0 && !(stray >> f & 1))
        f++;
    if (stray != 0)
        snprintf(why, room, "%s needs the field collective, which says of which collective the row is",
                 irisi_tune_fields[f].name);
    else if (row->given != 0 && (row->given & ((1u << IRISI_TUNE_US) - (1u << IRISI_TUNE_KEYS))) == 0)
        snprintf(why, room, "it chooses nothing, neither pattern nor workgroups, comm, height, width, skinny or ll");
    else if (v[IRISI_TUNE_WIDTH] == 0 && cuts != 0)
        snprintf(
            why, room,
            "cluster, split_k, full, head_halves, tail_tiles, tail_halves, edge_width and sender_tiles need a width");
    else if (v[IRISI_TUNE_SENDER_TILES] &&
             (v[IRISI_TUNE_PATTERN] != IRIS_GEMM_WG_SPECIALIZED || v[IRISI_TUNE_SPLIT_K] > 1))
        snprintf(why, room, "sender_tiles=%u needs pattern=wg_specialized and split_k=1", v[IRISI_TUNE_SENDER_TILES]);
    else if (v[IRISI_TUNE_LL] && v[IRISI_TUNE_PATTERN] &&
             !irisi_gemm_sends_packets(v[IRISI_TUNE_OP], v[IRISI_TUNE_PATTERN]))
        snprintf(why, room,
                 "ll=1 is for pattern=fused_sequential, and where op is not all_scatter for bulk_synchronous and "
                 "blas_gather too");
    else if (v[IRISI_TUNE_PATTERN] == IRIS_GEMM_COPY_ENGINE &&
             !irisi_gemm_op_is(v[IRISI_TUNE_OP], IRISI_GEMM_OPS_GATHERS)) /* without op 0: no operation that does */
        snprintf(why, room, "pattern=copy_engine is for op=all_gather alone");
    else if (v[IRISI_TUNE_TAIL_HALVES] > v[IRISI_TUNE_TAIL_TILES])
        snprintf(why, room, "tail_halves=%u are more than tail_tiles=%u", v[IRISI_TUNE_TAIL_HALVES],
                 v[IRISI_TUNE_TAIL_TILES]);
    else if (v[IRISI_TUNE_WORKGROUPS] != 0 && v[IRISI_TUNE_COMM] >= v[IRISI_TUNE_WORKGROUPS])
        snprintf(why, room, "comm=%u of workgroups=%u leaves none to compute", v[IRISI_TUNE_COMM],
                 v[IRISI_TUNE_WORKGROUPS]);
}

/* Adds the names of the bits that are set to a sentence. */
static void irisi_tune_list(char *why, size_t room, uint32_t bits, const char *(*name)(uint32_t bit))
{
    size_t used = strlen(why);
    for (uint32_t b = 0; b < 32 && used < room; b++)
        if (bits >> b & 1)
            used += (size_t)snprintf(why + used, room - used, " %s", name(b));
}
static const char *irisi_tune_field_name(uint32_t field) { return irisi_tune_fields[field].name; }
static const char *irisi_tune_schedule(uint32_t schedule) { return irisi_schedule_name((int)schedule); }

/* The same of a collective's row. */
static void irisi_tune_check_collective(const irisi_tune_row *row, char *why, size_t room)
{
    const uint32_t stray = row->given & ~(uint32_t)IRISI_TUNE_OF_COLLECTIVES;
    const uint32_t schedule = row->value[IRISI_TUNE_SCHEDULE];
    const uint32_t schedules = irisi_family_of((irisi_family)row->value[IRISI_TUNE_COLLECTIVE])->schedules;
    const char *name = irisi_tune_collective(row->value[IRISI_TUNE_COLLECTIVE]);
    uint32_t f = 0;
    while (stray != 0 && !(stray >> f & 1))
        f++;
    if (stray != 0) {
        snprintf(why, room, "%s is of a GEMM's row; a collective's has", irisi_tune_fields[f].name);
        irisi_tune_list(why, room, IRISI_TUNE_OF_COLLECTIVES, irisi_tune_field_name);
    } else if (schedule == 0 || !(schedules >> schedule & 1)) {
        if (schedule == 0)
            snprintf(why, room, "it chooses nothing, since there is no schedule; %s has", name);
        else
            snprintf(why, room, "%s has no schedule %s; it has", name, irisi_tune_schedule(schedule));
        irisi_tune_list(why, room, schedules, irisi_tune_schedule);
    }
}

/* Reads a row and overwrites its text; 1, or 0 with the reason in `why`. An empty row or a comment has no fields. */
static int irisi_tune_read(irisi_tune_row *row, char *text, char *why, size_t room)
{
    static const char *const between = " \t\r\n,";
    char *rest = NULL;
    memset(row, 0, sizeof *row);
    row->hash = irisi_hash_text(text) | 1;
    text[strcspn(text, "#")] = 0;
    for (char *field = strtok_r(text, between, &rest); field; field = strtok_r(NULL, between, &rest))
        if (!irisi_tune_field(row, field, why, room))
            return 0;
    why[0] = 0;
    if (row->given >> IRISI_TUNE_COLLECTIVE & 1)
        irisi_tune_check_collective(row, why, room);
    else
        irisi_tune_check_gemm(row, why, room);
    return why[0] == 0;
}

/* Who reads rows: every row is handed to `take`, in their order. */
typedef struct irisi_tune_reader {
    iris_world *w;
    const char *call; /* for sentences */
    void (*take)(void *arg, const irisi_tune_row *row, const char *from);
    void *arg;
    uint64_t hash; /* of what all rows say, however they are written */
} irisi_tune_reader;

/* Reads a row; one without fields is handed to nobody. `from`: where it stands. */
static iris_status irisi_tune_one(irisi_tune_reader *r, char *text, const char *from)
{
    irisi_tune_row row;
    char why[448] = "";
    if (!irisi_tune_read(&row, text, why, sizeof why))
        return irisi_fail(r->w, IRIS_ERR_ARGUMENT, "%s: %s: %s", r->call, from, why);
    if (row.given == 0)
        return IRIS_OK;
    r->hash = irisi_hash_word(irisi_hash_word(r->hash, row.given), row.upto);
    for (int f = 0; f < IRISI_TUNE_FIELDS; f++)
        r->hash = irisi_hash_word(r->hash, row.value[f]);
    r->take(r->arg, &row, from);
    return IRIS_OK;
}

/* Reads the rows of a file, one a line. */
static iris_status irisi_tune_file(irisi_tune_reader *r, const char *path, const char *name)
{
    char line[IRIS_GEMM_TUNE_ROW], from[120];
    FILE *file = irisi_open_text(path);
    iris_status status = IRIS_OK;
    errno = file ? 0 : errno;
    for (unsigned n = 1; file && status == IRIS_OK && fgets(line, sizeof line, file); n++) {
        snprintf(from, sizeof from, "line %u of %.80s", n, path);
        if (strchr(line, '\n') == NULL && !feof(file))
            status = irisi_fail(r->w, IRIS_ERR_ARGUMENT, "%s: %s: it has %d characters or more", r->call, from,
                                IRIS_GEMM_TUNE_ROW - 1);
        else
            status = irisi_tune_one(r, line, from);
    }
    if (status == IRIS_OK && (file == NULL || ferror(file)))
        status = irisi_fail(r->w, IRIS_ERR_ARGUMENT, "%s: the table of %s, %.200s, cannot be read: %s", r->call, name,
                            path, strerror(errno));
    if (file)
        fclose(file);
    return status;
}

/* 1 when a text is a file's name: it begins with / or ., or it has neither a row nor a comment and is not empty. */
static int irisi_tune_names_file(const char *text)
{
    const char first = text[strspn(text, " \t\n;")];
    return *text == '/' || *text == '.' || (first != 0 && first != '#' && strchr(text, '=') == NULL);
}

/* Reads the rows of a text, which semicolons or ends of lines separate. */
static iris_status irisi_tune_text(irisi_tune_reader *r, const char *text, const char *name)
{
    char row[IRIS_GEMM_TUNE_ROW], from[40];
    iris_status status = IRIS_OK;
    for (unsigned n = 1; status == IRIS_OK && *text; n++) {
        const size_t length = strcspn(text, ";\n");
        snprintf(from, sizeof from, "row %u of %s", n, name);
        if (length >= sizeof row)
            return irisi_fail(r->w, IRIS_ERR_ARGUMENT, "%s: %s: it has %d characters or more", r->call, from,
                              IRIS_GEMM_TUNE_ROW);
        memcpy(row, text, length);
        row[length] = 0;
        status = irisi_tune_one(r, row, from);
        text += length + (text[length] != 0);
    }
    return status;
}

/* 1 when a text asks for no rows at all. */
static int irisi_tune_model_only(const char *text) { return text != NULL && strcmp(text, "model") == 0; }

/* Reads what IRIS_TUNE or its like, which is called `name`, holds: rows, or the name of a file of them. */
static iris_status irisi_tune_source(irisi_tune_reader *r, const char *text, const char *name)
{
    if (text == NULL || *text == 0 || irisi_tune_model_only(text))
        return IRIS_OK;
    return irisi_tune_names_file(text) ? irisi_tune_file(r, text, name) : irisi_tune_text(r, text, name);
}

#endif
#endif
