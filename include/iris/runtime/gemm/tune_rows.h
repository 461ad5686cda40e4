/* SPDX-License-Identifier: MIT */
/*
 * tune_rows.h: a part of init.c: rows that say how a problem is to be computed, of iris_gemm_args.tune, IRIS_TUNE, and
 * the built-in table (table.h). The first row that is for a problem counts.
 *
 *   irisi_gemm_row irisi_gemm_find irisi_gemm_print
 *
 * A row is a line of fields, `name=value`, with blanks or commas between them; # begins a comment. Fields that name a
 * problem say which ones the row is for; where one is missing, the row is for any. The others say what is chosen; what
 * is missing stays open. A row that contradicts an argument is not for that call. docs/gemm-choosing.md lists them.
 */
#ifndef IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#define IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#ifdef IRIS_INIT_C


#include <iris/runtime/gemm/table.h>
#include <iris/runtime/config.h>

/* Fields of a row: of the problem, of the choice, for the record. */
enum {
    IRISI_ROW_OP,
    IRISI_ROW_ARCH,
    IRISI_ROW_UNITS,
    IRISI_ROW_WORLD,
    IRISI_ROW_M,
    IRISI_ROW_N,
    IRISI_ROW_K,
    IRISI_ROW_DTYPE,
    IRISI_ROW_OUT,
    IRISI_ROW_LAYOUT,
    IRISI_ROW_PATTERN,
    IRISI_ROW_WORKGROUPS,
    IRISI_ROW_COMM,
    IRISI_ROW_HEIGHT,
    IRISI_ROW_WIDTH,
    IRISI_ROW_PAIR,
    IRISI_ROW_SPLIT_K,
    IRISI_ROW_FULL,
    IRISI_ROW_EARLY,
    IRISI_ROW_LATE,
    IRISI_ROW_HALVES,
    IRISI_ROW_EDGE,
    IRISI_ROW_LEAD,
    IRISI_ROW_FEW,
    IRISI_ROW_LL,
    IRISI_ROW_US,
    IRISI_ROW_FIELDS,
    IRISI_ROW_KEYS = IRISI_ROW_PATTERN
};

/* A field that is a number has bounds. */
static const struct irisi_row_field {
    const char *name;
    uint32_t least, most;
} irisi_row_fields[IRISI_ROW_FIELDS] = {{"op", 0, 0},
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
                                        {"pair", 1, 8},
                                        {"split_k", 1, 64},
                                        {"full", 0, INT32_MAX},
                                        {"early", 0, INT32_MAX},
                                        {"late", 0, INT32_MAX},
                                        {"halves", 0, INT32_MAX},
                                        {"edge", 1, 65535},
                                        {"lead", 0, 65535},
                                        {"few", 0, 2},
                                        {"ll", 0, 1},
                                        {"us", 0, 0}};

static const char *const irisi_row_layouts[] = {"nn", "nt"};

static const char *const irisi_gemm_op_names[] = {"local", "all_scatter"};
enum { IRISI_GEMM_OPS = sizeof irisi_gemm_op_names / sizeof *irisi_gemm_op_names };

/* A row, or a problem as the first fields of one. What is not given is 0. */
typedef struct irisi_gemm_row {
    uint32_t given; /* bit f: field f stands there */
    uint32_t value[IRISI_ROW_FIELDS];
    uint64_t hash;  /* of its text */
    char from[120]; /* where it stands, for sentences; empty: in the built-in table */
} irisi_gemm_row;

/* Names of architectures are compared by hash, and without what AMD adds behind a colon. */
static uint32_t irisi_row_arch(const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, ":"), name);
    return (uint32_t)irisi_hash_text(text);
}

static int irisi_row_number(uint32_t field, const char *text, uint32_t *value, char *why, size_t room)
{
    const struct irisi_row_field *f = &irisi_row_fields[field];
    char *end = NULL;
    errno = 0;
    const unsigned long long n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    *value = (uint32_t)n;
    if (end != NULL && *end == 0 && errno == 0 && n >= f->least && n <= f->most)
        return 1;
    snprintf(why, room, "%s=%.40s is not a whole number from %u to %u", f->name, text, f->least, f->most);
    return 0;
}

/* Reads a field's value; 1, or 0 with the reason in `why`. */
static int irisi_row_value(uint32_t field, const char *text, uint32_t *value, char *why, size_t room)
{
    uint32_t v = 0, n = 0;
    char *end = NULL;
    double us = 0;
    switch (field) {
    case IRISI_ROW_OP:
        for (n = IRISI_GEMM_OPS; v < n && strcmp(text, irisi_gemm_op_names[v]) != 0;)
            v++;
        break;
    case IRISI_ROW_ARCH: v = irisi_row_arch(text), n = v + (*text != 0); break;
    case IRISI_ROW_DTYPE:
    case IRISI_ROW_OUT:
        for (v = 1, n = IRIS_DTYPES; v < n && strcmp(text, iris_dtype_name((iris_dtype)v)) != 0;)
            v++;
        break;
    case IRISI_ROW_LAYOUT:
        for (n = 2; v < n && strcmp(text, irisi_row_layouts[v]) != 0;)
            v++;
        break;
    case IRISI_ROW_PATTERN:
        for (v = 1, n = IRIS_GEMM_BLAS_GATHER + 1; v < n && strcmp(text, iris_gemm_pattern_name((iris_gemm_pattern)v));)
            v++;
        break;
    case IRISI_ROW_US:
        us = strtod(text, &end);
        n = *text != 0 && *end == 0 && !irisi_nan_f64(us) && us > 0 && us < 1e300;
        break;
    default: return irisi_row_number(field, text, value, why, room);
    }
    *value = v;
    if (v != n)
        return 1;
    if (field == IRISI_ROW_OP) {
        snprintf(why, room, "op=%.40s is neither local nor all_scatter", text);
        return 0;
    }
    snprintf(why, room, "%s=%.40s is %s", irisi_row_fields[field].name, text,
             field == IRISI_ROW_ARCH     ? "no name"
             : field == IRISI_ROW_LAYOUT ? "neither nn nor nt"
             : field == IRISI_ROW_US     ? "not a time in microseconds"
             : field == IRISI_ROW_PATTERN
                 ? "none of bulk_synchronous producer_consumer fused_sequential wg_specialized wave_specialized "
                   "blas_gather"
                 : "no element type");
    return 0;
}

/* Reads one field into a row; likewise. */
static int irisi_row_field(irisi_gemm_row *row, const char *text, char *why, size_t room)
{
    const size_t name = strcspn(text, "=");
    uint32_t f = 0;
    if (text[name] == 0) {
        snprintf(why, room, "'%.40s' is not of the form name=value", text);
        return 0;
    }
    while (f < IRISI_ROW_FIELDS &&
           (strlen(irisi_row_fields[f].name) != name || memcmp(irisi_row_fields[f].name, text, name) != 0))
        f++;
    if (f == IRISI_ROW_FIELDS) {
        int used = snprintf(why, room, "there is no field '%.*s'; there are", (int)(name < 40 ? name : 40), text);
        for (f = 0; f < IRISI_ROW_FIELDS; f++)
            used += snprintf(why + used, room - (size_t)used, " %s", irisi_row_fields[f].name);
        return 0;
    }
    if (row->given >> f & 1) {
        snprintf(why, room, "%s stands there twice", irisi_row_fields[f].name);
        return 0;
    }
    row->given |= 1u << f;
    return irisi_row_value(f, text + name + 1, &row->value[f], why, room);
}

/* Reads a row, whose text is cut up; likewise. What is empty but for a comment gives nothing. */
static int irisi_gemm_read(irisi_gemm_row *row, char *text, char *why, size_t room)
{
    static const char *const between = " \t\r\n,";
    const uint32_t *v = row->value;
    char *rest = NULL;
    memset(row, 0, sizeof *row);
    row->hash = irisi_hash_text(text) | 1;
    text[strcspn(text, "#")] = 0;
    for (char *field = strtok_r(text, between, &rest); field; field = strtok_r(NULL, between, &rest))
        if (!irisi_row_field(row, field, why, room))
            return 0;
    const uint32_t own = v[IRISI_ROW_FEW] == 2 ? 1u << IRISI_ROW_SPLIT_K : 0; /* splits that say nothing of widths */
    const uint32_t cuts = (row->given & ~own) >> IRISI_ROW_PAIR & 255;
    why[0] = 0;
    if (row->given != 0 && (row->given & ((1u << IRISI_ROW_US) - (1u << IRISI_ROW_KEYS))) == 0)
        snprintf(why, room, "it chooses nothing, neither pattern nor workgroups, comm, height, width, few or ll");
    else if (v[IRISI_ROW_WIDTH] == 0 && cuts != 0)
        snprintf(why, room, "pair, split_k, full, early, late, halves, edge and lead need a width");
    else if (v[IRISI_ROW_LEAD] && (v[IRISI_ROW_PATTERN] != IRIS_GEMM_WG_SPECIALIZED || v[IRISI_ROW_SPLIT_K] > 1))
        snprintf(why, room, "lead=%u needs pattern=wg_specialized and split_k=1", v[IRISI_ROW_LEAD]);
    else if (v[IRISI_ROW_LL] && v[IRISI_ROW_PATTERN] && v[IRISI_ROW_PATTERN] != IRIS_GEMM_FUSED_SEQUENTIAL)
        snprintf(why, room, "ll=1 is for fused_sequential alone");
    else if (v[IRISI_ROW_HALVES] > v[IRISI_ROW_LATE])
        snprintf(why, room, "halves=%u are more than late=%u", v[IRISI_ROW_HALVES], v[IRISI_ROW_LATE]);
    else if (v[IRISI_ROW_WORKGROUPS] != 0 && v[IRISI_ROW_COMM] >= v[IRISI_ROW_WORKGROUPS])
        snprintf(why, room, "comm=%u of workgroups=%u leaves none to compute", v[IRISI_ROW_COMM],
                 v[IRISI_ROW_WORKGROUPS]);
    return why[0] == 0;
}

/* The problem of a plan that has all that follows from this rank's arguments. */
static irisi_gemm_row irisi_gemm_problem_of(const iris_world *w, const iris_gemm_plan *p)
{
    irisi_gemm_row row;
    memset(&row, 0, sizeof row);
    const uint32_t keys[IRISI_ROW_KEYS] = {p->op, irisi_row_arch(iris_arch_name(w)), p->units, p->world, p->m, p->n,
                                           p->k, p->dtype, p->c_dtype, p->b_transposed};
    memcpy(row.value, keys, sizeof keys);
    return row;
}

/* 1 when a row is for a problem, and says nothing else than the arguments do. A GEMM alone has no pattern to choose. */
static int irisi_gemm_applies(const irisi_gemm_row *row, const irisi_gemm_row *problem, const iris_gemm_args *g,
                              int blas)
{
    const uint32_t *v = row->value, pattern = v[IRISI_ROW_PATTERN];
    const uint32_t senders = g->comm_workgroups ? g->comm_workgroups : (uint32_t)irisi_gemm_splits(g->pattern);
    for (uint32_t f = 0; f < IRISI_ROW_KEYS; f++)
        if ((row->given >> f & 1) && v[f] != problem->value[f])
            return 0;
    if (pattern && g->pattern != IRIS_GEMM_AUTO && pattern != (uint32_t)g->pattern)
        return 0;
    if (pattern && pattern != IRIS_GEMM_BLAS_GATHER && problem->value[IRISI_ROW_OP] == IRIS_GEMM_LOCAL)
        return 0;
    if (v[IRISI_ROW_WORKGROUPS] &&
        (g->workgroups ? v[IRISI_ROW_WORKGROUPS] != g->workgroups : v[IRISI_ROW_WORKGROUPS] <= senders))
        return 0;
    if (v[IRISI_ROW_COMM] && g->comm_workgroups && v[IRISI_ROW_COMM] != g->comm_workgroups)
        return 0;
    if ((v[IRISI_ROW_HEIGHT] || v[IRISI_ROW_WIDTH] || v[IRISI_ROW_FEW]) && (g->tile_m || g->tile_n))
        return 0;
    return pattern != IRIS_GEMM_BLAS_GATHER || blas;
}

/* A search for a problem's row: every row is read, so that a mistake in one shows whatever the problem is. */
typedef struct irisi_gemm_search {
    iris_world *w;
    irisi_gemm_row problem, found;
    const iris_gemm_args *args;
    int blas;
    uint64_t hash; /* of all that was read */
} irisi_gemm_search;

static iris_status irisi_gemm_consider(irisi_gemm_search *s, char *text, const char *from)
{
    irisi_gemm_row row;
    char why[256];
    s->hash = (s->hash ^ irisi_hash_text(text)) * 1099511628211u;
    if (!irisi_gemm_read(&row, text, why, sizeof why))
        return irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: %s", from, why);
    if (s->found.given == 0 && row.given != 0 && irisi_gemm_applies(&row, &s->problem, s->args, s->blas)) {
        s->found = row;
        snprintf(s->found.from, sizeof s->found.from, "%s", from);
    }
    return IRIS_OK;
}

/* The rows of a file, one a line. */
static iris_status irisi_gemm_consider_file(irisi_gemm_search *s, const char *path)
{
    char line[IRIS_GEMM_ROW], from[120];
    FILE *file = irisi_open_text(path);
    iris_status status = IRIS_OK;
    errno = file ? 0 : errno;
    for (unsigned n = 1; file && status == IRIS_OK && fgets(line, sizeof line, file); n++) {
        snprintf(from, sizeof from, "line %u of %.80s", n, path);
        if (strchr(line, '\n') == NULL && !feof(file))
            status = irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: it has %d characters or more", from,
                                IRIS_GEMM_ROW - 1);
        else
            status = irisi_gemm_consider(s, line, from);
    }
    if (status == IRIS_OK && (file == NULL || ferror(file)))
        status = irisi_fail(s->w, IRIS_ERR_ARGUMENT,
                            "iris_gemm_prepare: the table of IRIS_TUNE or tune, %.200s, cannot be read: %s", path,
                            strerror(errno));
    if (file)
        fclose(file);
    return status;
}

/* Whether a text is a file's name: it has a path's first character, or no row, comment or nothing at all in it. */
static int irisi_gemm_names_file(const char *text)
{
    const char first = text[strspn(text, " \t\n;")];
    return *text == '/' || *text == '.' || (first != 0 && first != '#' && strchr(text, '=') == NULL);
}

/* Rows that stand in a text, with semicolons between them. */
static iris_status irisi_gemm_consider_text(irisi_gemm_search *s, const char *text, const char *name)
{
    char row[IRIS_GEMM_ROW], from[40];
    iris_status status = IRIS_OK;
    for (unsigned n = 1; status == IRIS_OK && *text; n++) {
        const size_t length = strcspn(text, ";");
        snprintf(from, sizeof from, "row %u of %s", n, name);
        if (length >= sizeof row)
            return irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: it has %d characters or more", from,
                              IRIS_GEMM_ROW);
        memcpy(row, text, length);
        row[length] = 0;
        status = irisi_gemm_consider(s, row, from);
        text += length + (text[length] != 0);
    }
    return status;
}

/*
 * The row that counts for a plan, if there is one, and a hash of all rows. What asks for the plain mainloop has kernels
 * of its own, which no row knows of.
 *
 * @param plan has all that follows from this rank's arguments
 * @param blas 1: the arguments allow IRIS_GEMM_BLAS_GATHER
 */
static iris_status irisi_gemm_find(iris_world *w, const iris_gemm_plan *plan, const iris_gemm_args *g, int blas,
                                   irisi_gemm_row *found, uint64_t *hash)
{
    const char *name = g->tune ? "tune" : "IRIS_TUNE", *text = g->tune ? g->tune : getenv("IRIS_TUNE");
    const int alone = text && strcmp(text, "model") == 0; /* no rows at all */
    irisi_gemm_search s;
    iris_status status = IRIS_OK;
    memset(&s, 0, sizeof s);
    s.w = w, s.problem = irisi_gemm_problem_of(w, plan), s.args = g, s.blas = blas;
    s.hash = (uint64_t)alone;
    if (text && *text && !alone)
        status = irisi_gemm_names_file(text) ? irisi_gemm_consider_file(&s, text)
                                             : irisi_gemm_consider_text(&s, text, name);
    for (size_t i = 0; status == IRIS_OK && !alone && irisi_gemm_table[i] != NULL; i++) {
        char row[IRIS_GEMM_ROW];
        snprintf(row, sizeof row, "%s", irisi_gemm_table[i]);
        status = irisi_gemm_consider(&s, row, "");
    }
    *hash = s.hash;
    *found = s.found;
    if (g->plain_mainloop)
        memset(found, 0, sizeof *found);
    return status;
}

/* Writes a plan's problem and choice as a row. */
static void irisi_gemm_print(const iris_world *w, const iris_gemm_plan *p, char *row, size_t room)
{
    const char *arch = iris_arch_name(w);
    const int cuts = p->edge_width != 0;
    int used = snprintf(row, room, "op=%s arch=%.*s units=%u world=%u m=%u n=%u k=%u dtype=%s out=%s layout=%s",
                        irisi_gemm_op_names[p->op], (int)strcspn(arch, ":"), arch, p->units, p->world, p->m, p->n, p->k,
                        iris_dtype_name((iris_dtype)p->dtype), iris_dtype_name((iris_dtype)p->c_dtype),
                        irisi_row_layouts[p->b_transposed]);
    if (p->op != IRIS_GEMM_LOCAL || p->pattern == IRIS_GEMM_BLAS_GATHER)
        used += snprintf(row + used, room - (size_t)used, " pattern=%s",
                         iris_gemm_pattern_name((iris_gemm_pattern)p->pattern));
    if (p->workgroups != p->units)
        used += snprintf(row + used, room - (size_t)used, " workgroups=%u", p->workgroups);
    if (irisi_gemm_splits(p->pattern))
        used += snprintf(row + used, room - (size_t)used, " comm=%u", p->comm_workgroups);
    used += snprintf(row + used, room - (size_t)used, " height=%u width=%u", p->tile_m, p->tile_n);
    if (cuts)
        used += snprintf(row + used, room - (size_t)used, " pair=%u split_k=%u full=%u late=%u halves=%u edge=%u",
                         p->pair, p->split_k, p->most_full_n, p->late, p->halves, p->edge_width);
    if (p->early)
        used += snprintf(row + used, room - (size_t)used, " early=%u", p->early);
    if (p->lead)
        used += snprintf(row + used, room - (size_t)used, " lead=%u", p->lead);
    if (p->mainloop == IRISI_GEMM_THIN)
        used += snprintf(row + used, room - (size_t)used, " split_k=%u", p->cluster_split_k);
    if (irisi_gemm_is_few(p->mainloop))
        used += snprintf(row + used, room - (size_t)used, " few=%d", p->mainloop == IRISI_GEMM_THIN ? 2 : 1);
    if (p->pattern == IRIS_GEMM_FUSED_SEQUENTIAL && p->world > 1)
        snprintf(row + used, room - (size_t)used, " ll=%d", p->ll_pitch > 0);
}

#endif
#endif
