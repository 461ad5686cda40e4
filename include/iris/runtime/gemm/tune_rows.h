/* SPDX-License-Identifier: MIT */
/*
 * tune_rows.h: a part of init.c: tuning rows, which say how a problem is to be computed. They come from
 * iris_gemm_args.tune or else IRIS_TUNE, and then from the built-in table (table.h). The first row that is for a
 * problem counts.
 *
 *   irisi_tune_row irisi_gemm_find irisi_gemm_print
 *
 * A row is a line of fields, `name=value`, with blanks or commas between them; # begins a comment. Some fields describe
 * the problems that the row is for; a missing one matches any problem, but without `op` a row is for local and
 * all_scatter. The others say what is chosen; a missing one leaves that open. A row that contradicts an argument is not
 * for that call. docs/gemm-choosing.md lists the fields.
 */
#ifndef IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#define IRIS_RUNTIME_GEMM_TUNE_ROWS_H
#ifdef IRIS_INIT_C

#include <iris/runtime/config.h>
#include <iris/runtime/gemm/operations.h>
#include <iris/runtime/gemm/table.h>

/* Fields of a row: those of the problem, those of the choice from PATTERN on, and US, a time for the record. */
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
                                          {"us", 0, 0}};

static const char *const irisi_tune_layouts[] = {"nn", "nt"};

/* A row, or a problem as the first fields of a row. Fields that are not given are 0. */
typedef struct irisi_tune_row {
    uint32_t given; /* bit f: the row has field f */
    uint32_t value[IRISI_TUNE_FIELDS];
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

/* Reads a field's value; 1, or 0 with the reason in `why`. */
static int irisi_tune_value(uint32_t field, const char *text, uint32_t *value, char *why, size_t room)
{
    uint32_t v = 0, n = 0;
    char *end = NULL;
    double us = 0;
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
        for (v = 1, n = IRIS_GEMM_BLAS_GATHER + 1; v < n && strcmp(text, iris_gemm_pattern_name((iris_gemm_pattern)v));)
            v++;
        break;
    case IRISI_TUNE_US:
        us = strtod(text, &end);
        n = *text != 0 && *end == 0 && !irisi_nan_f64(us) && us > 0 && us < 1e300;
        break;
    default: return irisi_tune_number(field, text, value, why, room);
    }
    *value = v;
    if (v != n)
        return 1;
    if (field == IRISI_TUNE_OP) {
        int used = snprintf(why, room, "op=%.40s is none of", text);
        for (v = 0; v < IRISI_GEMM_OPS && (size_t)used < room; v++)
            used += snprintf(why + used, room - (size_t)used, " %s", irisi_gemm_op_names[v]);
        return 0;
    }
    snprintf(why, room, "%s=%.40s is %s", irisi_tune_fields[field].name, text,
             field == IRISI_TUNE_ARCH     ? "no name"
             : field == IRISI_TUNE_LAYOUT ? "neither nn nor nt"
             : field == IRISI_TUNE_US     ? "not a time in microseconds"
             : field == IRISI_TUNE_PATTERN
                 ? "none of bulk_synchronous producer_consumer fused_sequential wg_specialized wave_specialized "
                   "blas_gather"
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
    return irisi_tune_value(f, text + name + 1, &row->value[f], why, room);
}

/* Reads a row and overwrites its text; 1, or 0 with the reason in `why`. An empty row or a comment has no fields. */
static int irisi_gemm_read(irisi_tune_row *row, char *text, char *why, size_t room)
{
    static const char *const between = " \t\r\n,";
    const uint32_t *v = row->value;
    char *rest = NULL;
    memset(row, 0, sizeof *row);
    row->hash = irisi_hash_text(text) | 1;
    text[strcspn(text, "#")] = 0;
    for (char *field = strtok_r(text, between, &rest); field; field = strtok_r(NULL, between, &rest))
        if (!irisi_tune_field(row, field, why, room))
            return 0;
    const uint32_t own =
        v[IRISI_TUNE_SKINNY] == 2 ? 1u << IRISI_TUNE_SPLIT_K : 0; /* the gemv loop's splits need no width */
    const uint32_t cuts = (row->given & ~own) >> IRISI_TUNE_CLUSTER & 255;
    why[0] = 0;
    if (row->given != 0 && (row->given & ((1u << IRISI_TUNE_US) - (1u << IRISI_TUNE_KEYS))) == 0)
        snprintf(why, room, "it chooses nothing, neither pattern nor workgroups, comm, height, width, skinny or ll");
    else if (v[IRISI_TUNE_WIDTH] == 0 && cuts != 0)
        snprintf(
            why, room,
            "cluster, split_k, full, head_halves, tail_tiles, tail_halves, edge_width and sender_tiles need a width");
    else if (v[IRISI_TUNE_SENDER_TILES] &&
             (v[IRISI_TUNE_PATTERN] != IRIS_GEMM_WG_SPECIALIZED || v[IRISI_TUNE_SPLIT_K] > 1))
        snprintf(why, room, "sender_tiles=%u needs pattern=wg_specialized and split_k=1", v[IRISI_TUNE_SENDER_TILES]);
    else if (v[IRISI_TUNE_LL] && v[IRISI_TUNE_PATTERN] && v[IRISI_TUNE_PATTERN] != IRIS_GEMM_FUSED_SEQUENTIAL)
        snprintf(why, room, "ll=1 is for fused_sequential alone");
    else if (v[IRISI_TUNE_TAIL_HALVES] > v[IRISI_TUNE_TAIL_TILES])
        snprintf(why, room, "tail_halves=%u are more than tail_tiles=%u", v[IRISI_TUNE_TAIL_HALVES],
                 v[IRISI_TUNE_TAIL_TILES]);
    else if (v[IRISI_TUNE_WORKGROUPS] != 0 && v[IRISI_TUNE_COMM] >= v[IRISI_TUNE_WORKGROUPS])
        snprintf(why, room, "comm=%u of workgroups=%u leaves none to compute", v[IRISI_TUNE_COMM],
                 v[IRISI_TUNE_WORKGROUPS]);
    return why[0] == 0;
}

/* The problem of a plan that irisi_gemm_fill has filled in. */
static irisi_tune_row irisi_gemm_problem_of(const iris_world *w, const iris_gemm_plan *p)
{
    irisi_tune_row row;
    memset(&row, 0, sizeof row);
    const uint32_t keys[IRISI_TUNE_KEYS] = {p->op,
                                            irisi_tune_arch(iris_arch_name(w)),
                                            p->machine.default_workgroups,
                                            p->world,
                                            p->m,
                                            p->n,
                                            p->k,
                                            p->operands.dtype,
                                            p->sums.c_dtype,
                                            p->operands.b_transposed};
    memcpy(row.value, keys, sizeof keys);
    return row;
}

/*
 * 1 when a row is for a problem and contradicts no argument. A row for a world of one rank whose pattern has no sending
 * workgroups is for a GEMM alone too, since both compute the same.
 */
static int irisi_gemm_applies(const irisi_tune_row *row, const irisi_tune_row *problem, const iris_gemm_args *g,
                              int blas)
{
    const uint32_t *v = row->value, pattern = v[IRISI_TUNE_PATTERN];
    const uint32_t senders = g->comm_workgroups ? g->comm_workgroups : (uint32_t)irisi_gemm_splits(g->pattern);
    for (uint32_t f = 0; f < IRISI_TUNE_KEYS; f++)
        if ((row->given >> f & 1) && v[f] != problem->value[f])
            return 0;
    if (pattern && g->pattern != IRIS_GEMM_AUTO && pattern != (uint32_t)g->pattern)
        return 0;
    const uint32_t op = problem->value[IRISI_TUNE_OP];
    const int general = irisi_gemm_op_is(op, IRISI_GEMM_OPS_SENDS_TILES | 1 << IRIS_GEMM_LOCAL);
    if (!general && !(row->given >> IRISI_TUNE_OP & 1))
        return 0; /* a row that names no operation is for these two */
    const int all_compute = problem->value[IRISI_TUNE_WORLD] == 1 && !irisi_gemm_splits(pattern);
    if (pattern && op == IRIS_GEMM_LOCAL && pattern != IRIS_GEMM_BLAS_GATHER && !all_compute)
        return 0;
    if (v[IRISI_TUNE_WORKGROUPS] &&
        (g->workgroups ? v[IRISI_TUNE_WORKGROUPS] != g->workgroups : v[IRISI_TUNE_WORKGROUPS] <= senders))
        return 0;
    if (v[IRISI_TUNE_COMM] && g->comm_workgroups && v[IRISI_TUNE_COMM] != g->comm_workgroups)
        return 0;
    if ((v[IRISI_TUNE_HEIGHT] || v[IRISI_TUNE_WIDTH] || v[IRISI_TUNE_SKINNY]) && (g->tile_m || g->tile_n))
        return 0;
    return pattern != IRIS_GEMM_BLAS_GATHER || blas;
}

/* A search for a problem's row: every row is read, so that a mistake in one shows whatever the problem is. */
typedef struct irisi_gemm_search {
    iris_world *w;
    irisi_tune_row problem, found;
    const iris_gemm_args *args;
    int blas;
    uint64_t hash; /* of all that was read */
} irisi_gemm_search;

/* Reads a row, and keeps it if it is the first one that is for the problem. */
static iris_status irisi_gemm_consider(irisi_gemm_search *s, char *text, const char *from)
{
    irisi_tune_row row;
    char why[384];
    s->hash = (s->hash ^ irisi_hash_text(text)) * 1099511628211u;
    if (!irisi_gemm_read(&row, text, why, sizeof why))
        return irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: %s", from, why);
    if (s->found.given == 0 && row.given != 0 && irisi_gemm_applies(&row, &s->problem, s->args, s->blas)) {
        s->found = row;
        snprintf(s->found.from, sizeof s->found.from, "%s", from);
    }
    return IRIS_OK;
}

/* Reads the rows of a file, one a line. */
static iris_status irisi_gemm_consider_file(irisi_gemm_search *s, const char *path)
{
    char line[IRIS_GEMM_TUNE_ROW], from[120];
    FILE *file = irisi_open_text(path);
    iris_status status = IRIS_OK;
    errno = file ? 0 : errno;
    for (unsigned n = 1; file && status == IRIS_OK && fgets(line, sizeof line, file); n++) {
        snprintf(from, sizeof from, "line %u of %.80s", n, path);
        if (strchr(line, '\n') == NULL && !feof(file))
            status = irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: it has %d characters or more", from,
                                IRIS_GEMM_TUNE_ROW - 1);
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

/* 1 when a text is a file's name: it begins with / or ., or it has neither a row nor a comment and is not empty. */
static int irisi_gemm_names_file(const char *text)
{
    const char first = text[strspn(text, " \t\n;")];
    return *text == '/' || *text == '.' || (first != 0 && first != '#' && strchr(text, '=') == NULL);
}

/* Reads the rows of a text, which semicolons separate. */
static iris_status irisi_gemm_consider_text(irisi_gemm_search *s, const char *text, const char *name)
{
    char row[IRIS_GEMM_TUNE_ROW], from[40];
    iris_status status = IRIS_OK;
    for (unsigned n = 1; status == IRIS_OK && *text; n++) {
        const size_t length = strcspn(text, ";");
        snprintf(from, sizeof from, "row %u of %s", n, name);
        if (length >= sizeof row)
            return irisi_fail(s->w, IRIS_ERR_ARGUMENT, "iris_gemm_prepare: %s: it has %d characters or more", from,
                              IRIS_GEMM_TUNE_ROW);
        memcpy(row, text, length);
        row[length] = 0;
        status = irisi_gemm_consider(s, row, from);
        text += length + (text[length] != 0);
    }
    return status;
}

/*
 * The row that counts for a plan, if there is one, and a hash of all rows. A call that asks for the plain mainloop has
 * its own kernels, to which rows do not apply.
 *
 * @param plan irisi_gemm_fill has filled it in
 * @param blas 1: the arguments allow IRIS_GEMM_BLAS_GATHER
 */
static iris_status irisi_gemm_find(iris_world *w, const iris_gemm_plan *plan, const iris_gemm_args *g, int blas,
                                   irisi_tune_row *found, uint64_t *hash)
{
    const char *name = g->tune ? "tune" : "IRIS_TUNE", *text = g->tune ? g->tune : getenv("IRIS_TUNE");
    const int model_only = text && strcmp(text, "model") == 0; /* no rows at all */
    irisi_gemm_search s;
    iris_status status = IRIS_OK;
    memset(&s, 0, sizeof s);
    s.w = w, s.problem = irisi_gemm_problem_of(w, plan), s.args = g, s.blas = blas;
    s.hash = (uint64_t)model_only;
    if (text && *text && !model_only)
        status = irisi_gemm_names_file(text) ? irisi_gemm_consider_file(&s, text)
                                             : irisi_gemm_consider_text(&s, text, name);
    for (size_t i = 0; status == IRIS_OK && !model_only && irisi_gemm_table[i] != NULL; i++) {
        char row[IRIS_GEMM_TUNE_ROW];
        snprintf(row, sizeof row, "%s", irisi_gemm_table[i]);
        status = irisi_gemm_consider(&s, row, "");
    }
    *hash = s.hash;
    *found = s.found;
    if (plan->op == IRIS_GEMM_LOCAL && found->value[IRISI_TUNE_PATTERN] != IRIS_GEMM_BLAS_GATHER)
        found->value[IRISI_TUNE_PATTERN] = IRIS_GEMM_AUTO; /* a GEMM alone has no pattern */
    if (g->plain_mainloop)
        memset(found, 0, sizeof *found);
    return status;
}

/* Writes a plan's problem and choice as a row. */
static void irisi_gemm_print(const iris_world *w, const iris_gemm_plan *p, char *row, size_t room)
{
    const char *arch = iris_arch_name(w);
    const int cuts = p->tiling.edge_width != 0;
    int used = snprintf(row, room, "op=%s arch=%.*s units=%u world=%u m=%u n=%u k=%u dtype=%s out=%s layout=%s",
                        irisi_gemm_op_names[p->op], (int)strcspn(arch, ":"), arch, p->machine.default_workgroups,
                        p->world, p->m, p->n, p->k, iris_dtype_name((iris_dtype)p->operands.dtype),
                        iris_dtype_name((iris_dtype)p->sums.c_dtype), irisi_tune_layouts[p->operands.b_transposed]);
    if (p->op != IRIS_GEMM_LOCAL || p->pattern == IRIS_GEMM_BLAS_GATHER)
        used += snprintf(row + used, room - (size_t)used, " pattern=%s",
                         iris_gemm_pattern_name((iris_gemm_pattern)p->pattern));
    if (p->machine.workgroups != p->machine.default_workgroups)
        used += snprintf(row + used, room - (size_t)used, " workgroups=%u", p->machine.workgroups);
    if (irisi_gemm_splits(p->pattern))
        used += snprintf(row + used, room - (size_t)used, " comm=%u", p->machine.comm_workgroups);
    used += snprintf(row + used, room - (size_t)used, " height=%u width=%u", p->tiling.tile_m, p->tiling.tile_n);
    if (cuts)
        used += snprintf(row + used, room - (size_t)used,
                         " cluster=%u split_k=%u full=%u tail_tiles=%u tail_halves=%u edge_width=%u", p->tiling.cluster,
                         p->tiling.split_k, p->tiling.most_full_n, p->tiling.tail_tiles, p->tiling.tail_halves,
                         p->tiling.edge_width);
    if (p->tiling.head_halves)
        used += snprintf(row + used, room - (size_t)used, " head_halves=%u", p->tiling.head_halves);
    if (p->tiling.sender_tiles)
        used += snprintf(row + used, room - (size_t)used, " sender_tiles=%u", p->tiling.sender_tiles);
    const int cluster = irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_CLUSTER_SPLIT_K);
    if (cluster)
        used += snprintf(row + used, room - (size_t)used, " split_k=%u", p->tiling.cluster_split_k);
    if (irisi_gemm_loop_is(p->mainloop, IRISI_GEMM_LOOPS_SKINNY))
        used += snprintf(row + used, room - (size_t)used, " skinny=%d", cluster ? 2 : 1);
    if (p->pattern == IRIS_GEMM_FUSED_SEQUENTIAL && p->world > 1)
        snprintf(row + used, room - (size_t)used, " ll=%d", p->exchange.ll_pitch > 0);
}

#endif
#endif
