/* SPDX-License-Identifier: MIT */
/*
 * program.h: a program of benchmarks, each run at every point of its axes, and its command line.
 *
 *   iris_bench_suite iris_bench_suite_init iris_bench_add iris_bench_parse iris_bench_run
 *   iris_bench_value iris_bench_word iris_bench_time
 *   iris_bench_option_int iris_bench_option_size iris_bench_option_text iris_bench_option_flag
 *
 *   main:   iris_bench_suite_init; iris_bench_add, and its axes; iris_bench_parse; iris_spawn
 *   a rank: buffers; iris_bench_run, which calls each benchmark's function at each of its points
 *
 * The axes dtype, variant, bytes, workgroups and lanes fill the row's fields of these names; every other axis is a
 * column of its own.
 */
#ifndef IRIS_BENCH_PROGRAM_H
#define IRIS_BENCH_PROGRAM_H

#include <iris/bench/axes.h>

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>

/** Most of each in a program. */
enum { IRIS_BENCH_BENCHMARKS = 32, IRIS_BENCH_OPTIONS = 16 };

/* Options without a letter; a program's own begin at the last one. */
enum { IRISI_BENCH_CSV = 256, IRISI_BENCH_LIST, IRISI_BENCH_CALLS, IRISI_BENCH_OWN };

/** An option of the program's own. */
typedef struct iris_bench_option {
    int letter;
    const char *name, *help;
    int *number;       /**< what it sets: one of the four */
    size_t *size;      /**< or this */
    const char **text; /**< or this */
    int *flag;         /**< or this, to 1; the option has no argument */
} iris_bench_option;

/** A program's benchmarks and options. */
typedef struct iris_bench_suite iris_bench_suite;

/** A program's benchmarks, and what its command line says. Changed before the ranks start, read by all of them. */
struct iris_bench_suite {
    iris_bench_about about;  /**< name, files, seconds */
    const char *what;        /**< one line, for the help */
    int ranks;               /**< to start; default 2 */
    iris_bench_options time; /**< how to measure */
    const char *filter;      /**< words that choose points, or null for all */
    int list;                /**< 1: points are listed, not run */
    int takes_words;         /**< 1: words may stand behind the options */
    int words;               /**< how many do */
    char **word;             /**< the first of them */
    /** Called once options are read, or null: adds axes that depend on them. Returns what is wrong, or null. */
    const char *(*settle)(iris_bench_suite *s);
    int benchmarks, options;
    iris_bench_benchmark benchmark[IRIS_BENCH_BENCHMARKS];
    iris_bench_option option[IRIS_BENCH_OPTIONS];
    char wrong[200]; /**< what the program registered wrong, or empty */
};

/** One point of a benchmark's axes, as one rank has it. */
struct iris_bench_point {
    iris_world *world;
    const iris_bench_suite *suite;
    const iris_bench_benchmark *benchmark;
    void *arg; /**< what iris_bench_run was given */
    int64_t values[IRIS_BENCH_AXES];
    iris_bench_row row; /**< filled in from the axes, ok is 1; the function sets what else it knows */
};

/**
 * @name Registration
 *
 * Host functions of main. One benchmark or option too many iris_bench_parse says in one sentence.
 *
 * @param s      the suite
 * @param name   lives as long as the suite, as all texts do
 * @param what   one line
 * @param run    measures one point
 * @param letter of the short option, a letter or digit that --help does not show for another; 0: there is none
 * @param at     what the option sets; what stands there is the default
 * @param help   one line
 * @{
 */
/** Begins a suite: no benchmarks, two ranks, defaults. */
static inline void iris_bench_suite_init(iris_bench_suite *s, const char *name, const char *what)
{
    memset(s, 0, sizeof *s);
    s->about.benchmark = name, s->what = what, s->ranks = 2;
    s->time.repeats = IRIS_BENCH_REPEATS, s->time.warmup = IRIS_BENCH_WARMUP, s->time.calls = 1;
}

/** A benchmark without axes, to be given some. Never null. */
static inline iris_bench_benchmark *iris_bench_add(iris_bench_suite *s, const char *name, iris_bench_point_fn run)
{
    if (s->benchmarks == IRIS_BENCH_BENCHMARKS) {
        snprintf(s->wrong, sizeof s->wrong, "'%s' is one benchmark too many: at most %d", name,
                 (int)IRIS_BENCH_BENCHMARKS);
        s->benchmarks--;
    }
    iris_bench_benchmark *b = s->benchmark + s->benchmarks++;
    memset(b, 0, sizeof *b);
    b->name = name, b->run = run;
    return b;
}

static inline iris_bench_option *irisi_bench_option(iris_bench_suite *s, int letter, const char *name, const char *help)
{
    if (s->options == IRIS_BENCH_OPTIONS) {
        snprintf(s->wrong, sizeof s->wrong, "--%s is one option too many: at most %d", name, (int)IRIS_BENCH_OPTIONS);
        s->options--;
    }
    iris_bench_option *o = s->option + s->options++;
    memset(o, 0, sizeof *o);
    o->letter = letter > 0 && letter < 128 && isalnum(letter) ? letter : IRISI_BENCH_OWN + s->options, o->name = name,
    o->help = help;
    return o;
}

/** An option that sets an int. */
static inline void iris_bench_option_int(iris_bench_suite *s, int letter, const char *name, int *at, const char *help)
{
    irisi_bench_option(s, letter, name, help)->number = at;
}
/** An option that sets a size. */
static inline void iris_bench_option_size(iris_bench_suite *s, int letter, const char *name, size_t *at,
                                          const char *help)
{
    irisi_bench_option(s, letter, name, help)->size = at;
}
/** An option that sets a text. */
static inline void iris_bench_option_text(iris_bench_suite *s, int letter, const char *name, const char **at,
                                          const char *help)
{
    irisi_bench_option(s, letter, name, help)->text = at;
}
/** An option without an argument, which sets an int to 1. */
static inline void iris_bench_option_flag(iris_bench_suite *s, int letter, const char *name, int *at, const char *help)
{
    irisi_bench_option(s, letter, name, help)->flag = at;
}
/** @} */

/* "put bytes=64 from=0": a point. */
static inline void irisi_bench_point_text(const iris_bench_benchmark *b, const int64_t *values, char *text, size_t room)
{
    char value[64];
    size_t used = (size_t)snprintf(text, room, "%s", b->name);
    for (int i = 0; i < b->axis_count && used < room; i++) {
        irisi_bench_axis_text(b->axes + i, values[i], value, sizeof value);
        used += (size_t)snprintf(text + used, room - used, " %s=%s", b->axes[i].name, value);
    }
}

/* Lists the chosen points on `file`, if there is one; how many they are. */
static inline int64_t irisi_bench_list_points(const iris_bench_suite *s, FILE *file)
{
    int64_t values[IRIS_BENCH_AXES], chosen = 0;
    char text[256];
    for (int k = 0; k < s->benchmarks; k++) {
        const iris_bench_benchmark *b = s->benchmark + k;
        for (int64_t at = 0; at < irisi_bench_points(b, s->ranks); at++) {
            irisi_bench_values(b, s->ranks, at, values);
            if (!irisi_bench_chosen(s->filter, b, values))
                continue;
            chosen++;
            irisi_bench_point_text(b, values, text, sizeof text);
            if (file)
                fprintf(file, "%s\n", text);
        }
    }
    return chosen;
}

static inline void irisi_bench_help_axes(const iris_bench_suite *s)
{
    char text[64];
    for (int k = 0; k < s->benchmarks; k++) {
        const iris_bench_benchmark *b = s->benchmark + k;
        printf("%s%s\n", k ? "" : "\nbenchmarks, and their axes:\n", b->name);
        for (int i = 0; i < b->axis_count; i++) {
            printf("  %-12s", b->axes[i].name);
            for (int v = 0; v < b->axes[i].count; v++) {
                irisi_bench_axis_text(b->axes + i, b->axes[i].values[v], text, sizeof text);
                printf(" %s", text);
            }
            printf("%s\n", b->axes[i].kind == IRIS_BENCH_RANKS ? " 0 .. ranks - 1" : "");
        }
    }
}

/* The line of an option: letter, name, what it takes, help, default. */
static inline void irisi_bench_help_option(const iris_bench_option *o)
{
    char name[32];
    const char *takes = o->number ? " N" : o->size ? " BYTES" : o->text ? " TEXT" : "";
    snprintf(name, sizeof name, "%s%s", o->name, takes);
    if (o->letter < 256)
        printf("  -%c, --%-17s %s", o->letter, name, o->help);
    else
        printf("      --%-17s %s", name, o->help);
    if (o->number)
        printf(" (default %d)", *o->number);
    else if (o->size)
        printf(" (default %zu)", *o->size);
    printf("\n");
}

static inline void irisi_bench_help(const iris_bench_suite *s)
{
    printf("%s\n\n"
           "  -n, --ranks N           ranks (default %d)\n"
           "  -r, --repeats N         repetitions of each (default %d)\n"
           "  -s, --seconds N         begin no row after so many; 0: no limit (default %d)\n"
           "  -c, --commit ID         what is measured\n"
           "  -j, --json FILE         write rows to a file\n"
           "      --csv FILE          write rows to a file of comma-separated values\n",
           s->what, s->ranks, s->time.repeats, s->about.seconds);
    if (s->benchmarks > 0)
        printf("  -f, --filter WORDS      names of benchmarks, and AXIS=VALUE, with * and ?; default: all\n"
               "      --list              list what would be run\n"
               "  -g, --graph             time captured graphs (GPUs)\n"
               "      --calls N           calls in a repetition, or a graph (default %d)\n",
               s->time.calls);
    for (int i = 0; i < s->options; i++)
        irisi_bench_help_option(s->option + i);
    printf("  -h, --help              this\n");
    irisi_bench_help_axes(s);
}

/* A number of a command line: 0 when it is none, or not from `least` to `most`, with a sentence. */
static inline int irisi_bench_number(const char *program, const char *name, const char *text, unsigned long long least,
                                     unsigned long long most, unsigned long long *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (end == text || *end || strchr(text, '-') || errno) {
        fprintf(stderr, "%s: '%s' is no number; see --help\n", program, text);
        return 0;
    }
    if (*out < least || *out > most) {
        fprintf(stderr, "%s: --%s %s: give %llu to %llu\n", program, name, text, least, most);
        return 0;
    }
    return 1;
}

static inline int irisi_bench_int(const char *program, const char *name, const char *text, int least, int most,
                                  int *out)
{
    unsigned long long n = 0;
    if (!irisi_bench_number(program, name, text, (unsigned long long)least, (unsigned long long)most, &n))
        return 0;
    *out = (int)n;
    return 1;
}

static inline int irisi_bench_set_own(const char *program, const iris_bench_option *o, const char *text)
{
    unsigned long long n = 0;
    if (o->text)
        return (*o->text = text), 1;
    if (o->flag)
        return (*o->flag = 1);
    if (!irisi_bench_number(program, o->name, text, 0, o->size ? SIZE_MAX : (unsigned long long)INT_MAX, &n))
        return 0;
    if (o->size)
        *o->size = (size_t)n;
    else
        *o->number = (int)n;
    return 1;
}

/* Sets what one option says; 0 when it cannot be. */
static inline int irisi_bench_set(iris_bench_suite *s, const char *program, int letter, const char *text)
{
    for (int i = 0; i < s->options; i++)
        if (s->option[i].letter == letter)
            return irisi_bench_set_own(program, s->option + i, text);
    switch (letter) {
    case 'n': return irisi_bench_int(program, "ranks", text, 1, IRISI_MOST_RANKS, &s->ranks);
    case 'r': return irisi_bench_int(program, "repeats", text, 1, IRIS_BENCH_MOST_REPEATS, &s->time.repeats);
    case 's': return irisi_bench_int(program, "seconds", text, 0, INT_MAX, &s->about.seconds);
    case IRISI_BENCH_CALLS: return irisi_bench_int(program, "calls", text, 1, 1 << 20, &s->time.calls);
    case 'c': return (s->about.commit = text), 1;
    case 'j': return (s->about.json = text), 1;
    case IRISI_BENCH_CSV: return (s->about.csv = text), 1;
    case 'f': return (s->filter = text), 1;
    case IRISI_BENCH_LIST: return (s->list = 1);
    default: return (s->time.graph = 1); /* g */
    }
}

/* Every option's name, for getopt_long, and the letters. */
static inline void irisi_bench_getopt(const iris_bench_suite *s, struct option *names, char *letters)
{
    static const struct option usual[] = {
        {"help", 0, NULL, 'h'},   {"ranks", 1, NULL, 'n'}, {"repeats", 1, NULL, 'r'},        {"seconds", 1, NULL, 's'},
        {"commit", 1, NULL, 'c'}, {"json", 1, NULL, 'j'},  {"csv", 1, NULL, IRISI_BENCH_CSV}};
    static const struct option axes[] = {{"filter", 1, NULL, 'f'},
                                         {"list", 0, NULL, IRISI_BENCH_LIST},
                                         {"graph", 0, NULL, 'g'},
                                         {"calls", 1, NULL, IRISI_BENCH_CALLS}};
    int n = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        names[n++] = usual[i];
    for (size_t i = 0; i < sizeof axes / sizeof *axes && s->benchmarks > 0; i++)
        names[n++] = axes[i];
    for (int i = 0; i < s->options; i++, n++) {
        names[n].name = s->option[i].name, names[n].has_arg = s->option[i].flag == NULL, names[n].flag = NULL;
        names[n].val = s->option[i].letter;
    }
    memset(names + n, 0, sizeof names[n]);
    for (int i = 0; i < n; i++)
        if (names[i].val < 256) {
            *letters++ = (char)names[i].val;
            if (names[i].has_arg)
                *letters++ = ':';
        }
    *letters = 0;
}

/* Whether an axis before this one has its name. */
static inline int irisi_bench_axis_twice(const iris_bench_benchmark *b, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(b->axes[i].name, b->axes[at].name) == 0)
            return 1;
    return 0;
}

/* An option of the program's own that has the letter or the name of another one. */
static inline void irisi_bench_options_sound(iris_bench_suite *s, const struct option *names)
{
    int n = 0;
    while (names[n].name)
        n++;
    for (int i = n - s->options; i < n && !*s->wrong; i++)
        for (int k = 0; k < i && !*s->wrong; k++)
            if (names[k].val == names[i].val || strcmp(names[k].name, names[i].name) == 0)
                snprintf(s->wrong, sizeof s->wrong, "option --%s has the letter or the name of --%s; give it another",
                         names[i].name, names[k].name);
}

/* What the program registered wrong; 1 when there is nothing. */
static inline int irisi_bench_sound(iris_bench_suite *s, const char *program)
{
    for (int k = 0; k < s->benchmarks && !*s->wrong; k++) {
        const iris_bench_benchmark *b = s->benchmark + k;
        if (b->axis_count > IRIS_BENCH_AXES)
            snprintf(s->wrong, sizeof s->wrong, "benchmark '%s' has %d axes; at most %d", b->name, b->axis_count,
                     (int)IRIS_BENCH_AXES);
        for (int i = 0; i < b->axis_count && !*s->wrong; i++)
            if (irisi_bench_figure(b->axes[i].name) || irisi_bench_axis_twice(b, i))
                snprintf(s->wrong, sizeof s->wrong, "axis '%s' of benchmark '%s' has the name of %s; give it another",
                         b->axes[i].name, b->name,
                         irisi_bench_figure(b->axes[i].name) ? "a figure in files" : "an axis before it");
            else if (!irisi_bench_fits(b->axes + i))
                snprintf(
                    s->wrong, sizeof s->wrong,
                    "axis '%s' of benchmark '%s' must be of %s, as the field of that name; or give it another name",
                    b->axes[i].name, b->name,
                    strcmp(b->axes[i].name, "dtype") == 0 || strcmp(b->axes[i].name, "variant") == 0
                        ? "words"
                        : "numbers from 0 on that fit");
            else if (b->axes[i].kind != IRIS_BENCH_RANKS &&
                     (b->axes[i].count < 1 || b->axes[i].count > IRIS_BENCH_VALUES))
                snprintf(s->wrong, sizeof s->wrong, "axis '%s' of benchmark '%s' has %d values; give 1 to %d",
                         b->axes[i].name, b->name, b->axes[i].count, (int)IRIS_BENCH_VALUES);
            else if (!irisi_bench_usual(b->axes[i].name)) {
                int c = 0;
                while (c < IRIS_BENCH_COLUMNS && s->about.columns[c] &&
                       strcmp(s->about.columns[c], b->axes[i].name) != 0)
                    c++;
                if (c == IRIS_BENCH_COLUMNS)
                    snprintf(s->wrong, sizeof s->wrong, "axis '%s' is one column too many: at most %d", b->axes[i].name,
                             (int)IRIS_BENCH_COLUMNS);
                else
                    s->about.columns[c] = b->axes[i].name;
            }
    }
    if (*s->wrong)
        fprintf(stderr, "%s: %s\n", program, s->wrong);
    return !*s->wrong;
}

/**
 * @name The program
 *
 * Host functions.
 *
 * @param s    the suite
 * @param argc of main
 * @param argv of main
 * @param w    the world
 * @param arg  what a point's function finds as p->arg
 * @param p    the point
 * @param name an axis of the point's benchmark
 * @param stream where the work goes; null: the world's default stream
 * @param fn   puts one call's work on the stream
 * @param job  handed to `fn`
 * @{
 */
/**
 * Reads the command line: before the ranks start. --help lists options, benchmarks and their axes; --list the points
 * that --filter chooses.
 *
 * @return -1: go on. Else what main is to return: 0 after --help and --list, 2 after a sentence on stderr about what is
 *         wrong
 */
static inline int iris_bench_parse(iris_bench_suite *s, int argc, char **argv)
{
    struct option names[16 + IRIS_BENCH_OPTIONS];
    char letters[64 + 2 * IRIS_BENCH_OPTIONS];
    int help = 0;
    irisi_bench_getopt(s, names, letters);
    irisi_bench_options_sound(s, names);
    if (*s->wrong)
        return fprintf(stderr, "%s: %s\n", argv[0], s->wrong), 2;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        if (c == '?') /* getopt_long has said what */
            return 2;
        if (c == 'h')
            help = 1;
        else if (!irisi_bench_set(s, argv[0], c, optarg))
            return 2;
    }
    const char *wrong = s->settle ? s->settle(s) : NULL;
    if (wrong)
        fprintf(stderr, "%s: %s; see --help\n", argv[0], wrong);
    if (wrong || !irisi_bench_sound(s, argv[0]))
        return 2;
    if (help)
        return irisi_bench_help(s), 0;
    s->words = argc - optind, s->word = argv + optind;
    if (s->words > 0 && !s->takes_words) {
        fprintf(stderr, "%s: '%s' is no option; see --help\n", argv[0], s->word[0]);
        return 2;
    }
    s->about.repeats = s->time.repeats;
    if (s->about.json && s->about.csv && strcmp(s->about.json, s->about.csv) == 0) {
        fprintf(stderr, "%s: --json and --csv name the same file, %s\n", argv[0], s->about.json);
        return 2;
    }
    if (s->benchmarks > 0 && irisi_bench_list_points(s, NULL) == 0) {
        fprintf(stderr, "%s: no point matches '%s'; --list without --filter lists all\n", argv[0], s->filter);
        return 2;
    }
    if (s->time.graph && !iris_bench_graphs()) {
        fprintf(stderr, "%s: --graph: the host platform has no graphs\n", argv[0]);
        return 2;
    }
    return s->list ? irisi_bench_list_points(s, stdout), 0 : -1;
}

/** The point's value on an axis: a number, a word's place, or an iris_dtype; 0 where the benchmark has no such axis. */
static inline int64_t iris_bench_value(const iris_bench_point *p, const char *name)
{
    for (int i = 0; i < p->benchmark->axis_count; i++)
        if (strcmp(p->benchmark->axes[i].name, name) == 0)
            return p->values[i];
    return 0;
}

/** The point's word on an axis of words or element types; null where it is none. */
static inline const char *iris_bench_word(const iris_bench_point *p, const char *name)
{
    for (int i = 0; i < p->benchmark->axis_count; i++)
        if (strcmp(p->benchmark->axes[i].name, name) == 0)
            return irisi_bench_axis_word(p->benchmark->axes + i, p->values[i]);
    return NULL;
}

/** iris_bench as the command line asks for it; the row gets its times. Collective. */
static inline iris_status iris_bench_time(iris_bench_point *p, iris_stream stream, iris_bench_fn fn, void *job)
{
    const iris_status status = iris_bench(p->world, stream, fn, job, &p->suite->time, &p->row.time);
    p->row.us = p->row.time.median;
    return status;
}

/* What the axes say about the row. */
static inline void irisi_bench_row_of(iris_bench_point *p)
{
    const iris_bench_about *about = &p->suite->about;
    memset(&p->row, 0, sizeof p->row);
    p->row.name = p->benchmark->name, p->row.ok = 1;
    p->row.dtype = iris_bench_word(p, "dtype"), p->row.variant = iris_bench_word(p, "variant");
    p->row.bytes = (size_t)iris_bench_value(p, "bytes");
    p->row.workgroups = (int)iris_bench_value(p, "workgroups"), p->row.lanes = (int)iris_bench_value(p, "lanes");
    for (int c = 0; c < irisi_bench_columns(about); c++)
        for (int i = 0; i < p->benchmark->axis_count; i++)
            if (strcmp(p->benchmark->axes[i].name, about->columns[c]) == 0) {
                p->row.cells[c].there = 1, p->row.cells[c].number = p->values[i];
                p->row.cells[c].word = irisi_bench_axis_word(p->benchmark->axes + i, p->values[i]);
            }
}

/* Why a point's function failed: the library's sentence, which begins with the rank, or the status alone. */
static inline void irisi_bench_complain(const iris_bench_point *p, iris_status status)
{
    const char *why = iris_error_string(p->world);
    if (*why)
        fprintf(stderr, "%s: %s\n", p->benchmark->name, why);
    else
        fprintf(stderr, "%s: rank %d: its function returned %s\n", p->benchmark->name, iris_rank(p->world),
                iris_status_name(status));
}

/* One point: 0, or 1 when the run cannot go on. */
static inline int irisi_bench_run_point(iris_bench_point *p, iris_bench_file *f)
{
    irisi_bench_row_of(p);
    const iris_status status = p->benchmark->run(p);
    if (status != IRIS_OK)
        irisi_bench_complain(p, status);
    if (!iris_bench_all_ok(p->world, status == IRIS_OK))
        return 1;
    p->row.ok = iris_bench_all_ok(p->world, p->row.ok);
    if (p->row.us > 0)
        iris_bench_put(f, &p->row);
    return 0;
}

/**
 * Runs every point that the command line chooses, and writes the rows. Collective: main functions of ranks call it.
 *
 * @return 0; 1 on every rank when a row's check or a point's function failed, or a file cannot be written
 */
static inline int iris_bench_run(iris_world *w, const iris_bench_suite *s, void *arg)
{
    const int ranks = iris_world_size(w);
    iris_bench_file f;
    iris_bench_point p;
    char what[256];
    int failed = 0;
    memset(&p, 0, sizeof p);
    p.world = w, p.suite = s, p.arg = arg;
    failed = !iris_bench_all_ok(w, iris_bench_open(&f, w, &s->about) == 0);
    iris_bench_expect(&f, (long)irisi_bench_list_points(s, NULL));
    for (int k = 0; k < s->benchmarks && !failed; k++) {
        p.benchmark = s->benchmark + k;
        for (int64_t at = 0; at < irisi_bench_points(p.benchmark, ranks) && !failed; at++) {
            irisi_bench_values(p.benchmark, ranks, at, p.values);
            if (!irisi_bench_chosen(s->filter, p.benchmark, p.values))
                continue;
            if (iris_bench_late(&f))
                break;
            irisi_bench_point_text(p.benchmark, p.values, what, sizeof what);
            iris_bench_doing(&f, what);
            failed = irisi_bench_run_point(&p, &f);
        }
    }
    f.cut = failed ? 2 : f.cut;
    failed |= iris_bench_close(&f);
    return !iris_bench_all_ok(w, !failed); /* a file is rank 0's: the others' jobs end as badly */
}
/** @} */

#endif
