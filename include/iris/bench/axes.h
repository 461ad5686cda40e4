/* SPDX-License-Identifier: MIT */
/*
 * axes.h: benchmarks, the axes whose product each is run at, and filters that choose points.
 *
 *   iris_bench_axis_kind iris_bench_axis iris_bench_point iris_bench_point_fn iris_bench_benchmark
 *   iris_bench_powers iris_bench_list iris_bench_words iris_bench_dtypes iris_bench_ranks
 */
#ifndef IRIS_BENCH_AXES_H
#define IRIS_BENCH_AXES_H

#include <iris/bench/rows.h>

#include <fnmatch.h>

/** Most axes of a benchmark, and values of an axis. */
enum { IRIS_BENCH_AXES = 6, IRIS_BENCH_VALUES = 64 };

/** What an axis goes through. */
typedef enum iris_bench_axis_kind {
    IRIS_BENCH_NUMBERS, /**< whole numbers */
    IRIS_BENCH_WORDS,   /**< words; the value is the word's place in the list */
    IRIS_BENCH_DTYPES,  /**< element types; the value is an iris_dtype */
    IRIS_BENCH_RANKS    /**< 0 .. ranks - 1 */
} iris_bench_axis_kind;

/** One axis of a benchmark. */
typedef struct iris_bench_axis {
    const char *name;
    iris_bench_axis_kind kind;
    int count; /**< of values; IRIS_BENCH_RANKS has none of its own */
    int64_t values[IRIS_BENCH_VALUES];
    const char *const *words; /**< of IRIS_BENCH_WORDS */
} iris_bench_axis;

/** One point of a benchmark's axes. */
typedef struct iris_bench_point iris_bench_point;

/**
 * Measures one point: iris_bench_time, a check, and what the row shows. Called on every rank.
 *
 * @return IRIS_OK; anything else ends the run. A point that leaves row.us 0 has no row
 */
typedef iris_status (*iris_bench_point_fn)(iris_bench_point *p);

/** A benchmark: a function, and the axes whose product it is run at, the last one fastest. */
typedef struct iris_bench_benchmark {
    const char *name;
    iris_bench_point_fn run;
    const void *data; /**< the program's own */
    int axis_count;
    iris_bench_axis axes[IRIS_BENCH_AXES];
} iris_bench_benchmark;

/**
 * @name Axes
 *
 * Host functions of main, for a benchmark of iris_bench_add. An axis without values, and one too many, iris_bench_parse
 * says in one sentence, and a name that files have for a figure: case, op, us, n, p10, p90, min, gbps, algbw, ceiling,
 * ratio, ok.
 *
 * @param b      the benchmark
 * @param name   dtype and variant are of words, bytes, workgroups and lanes of numbers from 0 on; each other name is a
 *               column of its own. Lives as long as the suite, as all texts do
 * @param from   the first value, above 0
 * @param to     the greatest
 * @param factor from a value to the next, above 1
 * @param values count values, which are copied
 * @param words  count words
 * @param count  how many
 * @{
 */
/* The next axis; one too many is counted, and the last one's place is used again. */
static inline iris_bench_axis *irisi_bench_axis(iris_bench_benchmark *b, const char *name, iris_bench_axis_kind kind)
{
    const int at = b->axis_count < IRIS_BENCH_AXES ? b->axis_count : IRIS_BENCH_AXES - 1;
    iris_bench_axis *a = b->axes + at;
    b->axis_count++;
    memset(a, 0, sizeof *a);
    a->name = name, a->kind = kind;
    return a;
}

/** An axis of from, from * factor, … up to `to`. */
static inline void iris_bench_powers(iris_bench_benchmark *b, const char *name, int64_t from, int64_t to, int factor)
{
    iris_bench_axis *a = irisi_bench_axis(b, name, IRIS_BENCH_NUMBERS);
    for (int64_t v = from; v > 0 && factor > 1 && v <= to && a->count < IRIS_BENCH_VALUES; v *= factor) {
        a->values[a->count++] = v;
        if (v > to / factor)
            break;
    }
}

/** An axis of the numbers given. */
static inline void iris_bench_list(iris_bench_benchmark *b, const char *name, const int64_t *values, int count)
{
    iris_bench_axis *a = irisi_bench_axis(b, name, IRIS_BENCH_NUMBERS);
    a->count = count;
    for (int i = 0; i < count && i < IRIS_BENCH_VALUES; i++)
        a->values[i] = values[i];
}

/** An axis of words, such as schedules. */
static inline void iris_bench_words(iris_bench_benchmark *b, const char *name, const char *const *words, int count)
{
    iris_bench_axis *a = irisi_bench_axis(b, name, IRIS_BENCH_WORDS);
    a->count = count, a->words = words;
    for (int i = 0; i < count && i < IRIS_BENCH_VALUES; i++)
        a->values[i] = i;
}

/** The axis dtype: element types. */
static inline void iris_bench_dtypes(iris_bench_benchmark *b, const iris_dtype *values, int count)
{
    iris_bench_axis *a = irisi_bench_axis(b, "dtype", IRIS_BENCH_DTYPES);
    a->count = count;
    for (int i = 0; i < count && i < IRIS_BENCH_VALUES; i++)
        a->values[i] = values[i];
}

/** An axis of all ranks. */
static inline void iris_bench_ranks(iris_bench_benchmark *b, const char *name)
{
    irisi_bench_axis(b, name, IRIS_BENCH_RANKS);
}
/** @} */

static inline int irisi_bench_axis_count(const iris_bench_axis *a, int ranks)
{
    return a->kind == IRIS_BENCH_RANKS ? ranks : a->count;
}

static inline int64_t irisi_bench_axis_value(const iris_bench_axis *a, int i)
{
    return a->kind == IRIS_BENCH_RANKS ? i : a->values[i];
}

/* The word of a value, or null where it is a number. */
static inline const char *irisi_bench_axis_word(const iris_bench_axis *a, int64_t value)
{
    return a->kind == IRIS_BENCH_WORDS    ? a->words[value]
           : a->kind == IRIS_BENCH_DTYPES ? iris_dtype_name((iris_dtype)value)
                                          : NULL;
}

/* A value as it is listed and filtered by. */
static inline void irisi_bench_axis_text(const iris_bench_axis *a, int64_t value, char *text, size_t bytes)
{
    const char *word = irisi_bench_axis_word(a, value);
    if (word)
        snprintf(text, bytes, "%s", word);
    else
        snprintf(text, bytes, "%lld", (long long)value);
}

/* A name that the row has a field for. */
static inline int irisi_bench_usual(const char *name)
{
    static const char *const usual[] = {"dtype", "variant", "bytes", "workgroups", "lanes"};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(usual[i], name) == 0)
            return 1;
    return 0;
}

/* A name that files have for a figure of the row, which no axis can have. */
static inline int irisi_bench_figure(const char *name)
{
    static const char *const figures[] = {"case", "op",   "us",    "n",       "p10",   "p90",
                                          "min",  "gbps", "algbw", "ceiling", "ratio", "ok"};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (strcmp(figures[i], name) == 0)
            return 1;
    return 0;
}

/* Whether the row's field of the axis's name can hold its values: words in dtype and variant, numbers in the others. */
static inline int irisi_bench_fits(const iris_bench_axis *a)
{
    const int words = strcmp(a->name, "dtype") == 0 || strcmp(a->name, "variant") == 0;
    const int64_t most = strcmp(a->name, "bytes") == 0 ? INT64_MAX : INT32_MAX;
    if (!irisi_bench_usual(a->name))
        return 1;
    if (words != (a->kind == IRIS_BENCH_WORDS || a->kind == IRIS_BENCH_DTYPES))
        return 0;
    for (int i = 0; !words && i < a->count && i < IRIS_BENCH_VALUES; i++)
        if (a->values[i] < 0 || a->values[i] > most)
            return 0;
    return 1;
}

/* Points of a benchmark: the product of its axes. */
static inline int64_t irisi_bench_points(const iris_bench_benchmark *b, int ranks)
{
    int64_t n = 1;
    for (int i = 0; i < b->axis_count; i++)
        n *= irisi_bench_axis_count(b->axes + i, ranks);
    return n;
}

/* The values of point `at`, the last axis fastest. */
static inline void irisi_bench_values(const iris_bench_benchmark *b, int ranks, int64_t at, int64_t *values)
{
    for (int i = b->axis_count - 1; i >= 0; i--) {
        const int count = irisi_bench_axis_count(b->axes + i, ranks);
        values[i] = irisi_bench_axis_value(b->axes + i, (int)(at % count));
        at /= count;
    }
}

/*
 * Whether a filter's words about `subject`, an axis or "" for the benchmark's name, allow a value: 1 when one of them
 * matches, or there are none.
 */
static inline int irisi_bench_allows(const char *filter, const char *subject, const char *value)
{
    int none = 1;
    char word[128];
    for (const char *c = filter; *c;) {
        const size_t n = strcspn(c, " ,");
        snprintf(word, sizeof word, "%.*s", (int)n, c);
        c += n + (c[n] != 0);
        char *equals = strchr(word, '=');
        const char *pattern = equals ? equals + 1 : word;
        if (equals)
            *equals = 0;
        if (n == 0 || strcmp(equals ? word : "", subject) != 0)
            continue;
        if (fnmatch(pattern, value, 0) == 0)
            return 1;
        none = 0;
    }
    return none;
}

/* Words of a filter about axes that the benchmark has not. */
static inline int irisi_bench_strange(const char *filter, const iris_bench_benchmark *b)
{
    for (const char *c = filter; *c;) {
        const size_t n = strcspn(c, " ,"), name = strcspn(c, "=");
        int known = name >= n;
        for (int i = 0; i < b->axis_count && !known; i++)
            known = strlen(b->axes[i].name) == name && strncmp(b->axes[i].name, c, name) == 0;
        if (!known)
            return 1;
        c += n + (c[n] != 0);
    }
    return 0;
}

/* 1 when a filter, or none, chooses the point. */
static inline int irisi_bench_chosen(const char *filter, const iris_bench_benchmark *b, const int64_t *values)
{
    char text[64];
    if (!filter)
        return 1;
    if (!irisi_bench_allows(filter, "", b->name) || irisi_bench_strange(filter, b))
        return 0;
    for (int i = 0; i < b->axis_count; i++) {
        irisi_bench_axis_text(b->axes + i, values[i], text, sizeof text);
        if (!irisi_bench_allows(filter, b->axes[i].name, text))
            return 0;
    }
    return 1;
}

#endif
