/* SPDX-License-Identifier: MIT */
/*
 * What runtime/trace_file.h makes of events: clocks that disagree and drift, rings that overran, rows that must not
 * overlap, arrows from each raise to its wait, and the bytes in flight. The file is read back line by line. Faults of
 * clocks and events that are left out must be noticed.
 */
#define IRIS_INIT_C 1
#define _GNU_SOURCE 1
#include <assert.h>
#include <math.h>
#include <string.h>

#include <iris/iris.h>
#include <iris/runtime/trace_file.h>

static uint64_t state = 1;

static uint64_t pick(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static int failures, quiet;

static void check(int ok, const char *what, double got, double wanted)
{
    if (!ok)
        failures++, quiet ? 0 : printf("%s: %.3f, not %.3f\n", what, got, wanted);
}

/* Rank 1's clock at a moment of rank 0's: 12,345,678 ahead, and faster by 50 of a million. */
static uint64_t other(uint64_t at) { return at + 12345678 + at / 20000; }

static irisi_clock_fit compare(uint64_t from)
{
    irisi_clock_sample samples[32];
    for (int i = 0; i < 32; i++) {
        const uint64_t go = 300 + pick(5000), back = 300 + pick(5000);
        samples[i].before = from, samples[i].there = other(from + go), samples[i].after = from + go + back;
        from += go + back + 100;
    }
    const irisi_clock_fit fit = irisi_clock_best(samples, 32);
    const double wrong = fabs((double)(int64_t)(other(fit.at) - fit.at - (uint64_t)fit.ahead));
    check(wrong <= (double)fit.error, "a clock is off by more than it says", wrong, (double)fit.error);
    for (int i = 0; i < 32; i++)
        check(fit.error <= (samples[i].after - samples[i].before) / 2 + 1, "a shorter round was left out",
              (double)fit.error, 0);
    return fit;
}

static void clocks(irisi_clock_fit fits[2])
{
    const uint64_t start = 1000000000, end = start + 40000000000u;
    fits[0] = compare(start), fits[1] = compare(end);
    for (int i = 0; i < 1000; i++) {
        const uint64_t at = start + pick(end - start), back = irisi_clock_shift(fits, other(at));
        const double wrong = fabs((double)(int64_t)(back - at));
        const uint64_t most = fits[0].error > fits[1].error ? fits[0].error : fits[1].error;
        check(wrong <= (double)most + 1, "between two comparisons a clock is off", wrong, (double)most);
    }
}

/* Of rings that got fewer events than they hold, as many, and more. */
static void rings(void)
{
    enum { CAPACITY = 16 };
    for (uint64_t count = 0; count < 5 * CAPACITY; count++) {
        iris_trace_event ring[CAPACITY], kept[CAPACITY];
        uint64_t lost = 7;
        memset(ring, 0xEE, sizeof ring);
        for (uint64_t i = 0; i < count; i++)
            ring[i % CAPACITY].number = i, ring[i % CAPACITY].begin = 10 * i + 1;
        const size_t n = irisi_trace_keep(kept, ring, count, CAPACITY, &lost);
        check(n == (count < (size_t)CAPACITY ? count : (size_t)CAPACITY), "a ring keeps", (double)n, (double)count);
        check(lost == 7 + count - n, "a ring has lost", (double)lost, (double)(7 + count - n));
        for (size_t i = 0; i < n; i++)
            check(kept[i].begin == 10 * (count - n + i) + 1, "a ring's order", (double)kept[i].begin, (double)i);
        if (count > 0) { /* one is being written over */
            ring[(count - 1) % CAPACITY].number = 0x123456;
            check(irisi_trace_keep(kept, ring, count, CAPACITY, &lost) + 1 == n, "half an event is kept", 0, 0);
            ring[(count - 1) % CAPACITY].number = count - 1; /* one that nothing began, or that ends before it began */
            const uint64_t times[][2] = {{0, 5}, {6, 5}, {0, 0}, {5, 5}};
            for (size_t i = 0; i < 4; i++) {
                ring[(count - 1) % CAPACITY].begin = times[i][0], ring[(count - 1) % CAPACITY].end = times[i][1];
                check(irisi_trace_keep(kept, ring, count, CAPACITY, &lost) + (i < 3) == n, "no event is kept",
                      (double)i, (double)count);
            }
        }
    }
}

static iris_trace_event event(iris_trace_kind kind, uint64_t begin, uint64_t ticks, int peer)
{
    iris_trace_event e;
    memset(&e, 0, sizeof e);
    e.kind = (uint16_t)kind, e.begin = begin, e.end = begin + ticks, e.peer = peer, e.offset = UINT64_MAX;
    return e;
}

/* The file's line that has all of these texts, from line *at on; 0 when there is none. */
static int find(const char *text, const char **at, const char *a, const char *b, char *line, size_t room)
{
    (void)text;
    while (**at) {
        const size_t n = strcspn(*at, "\n");
        const size_t copied = n < room ? n : room - 1;
        memcpy(line, *at, copied), line[copied] = 0;
        *at += n + ((*at)[n] != 0);
        if (strstr(line, a) && strstr(line, b))
            return 1;
    }
    return 0;
}

static double field(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at ? strtod(at + strlen(name), NULL) : -1;
}

enum { TURNS = 40, WAVES = 6 };

/*
 * Rank 0 puts to rank 1 and raises its signal, by turns; the waves of rank 1 wait at the same time, on two units.
 * `dropped`: an event of `rank` that is left out; -1: none.
 */
static void print(const irisi_clock_fit fits[2], iris_signal_op op, int rank, int dropped)
{
    irisi_trace_range ranges[IRIS_TRACE_NAMES];
    iris_trace_event first[3 * TURNS], second[2 * TURNS];
    irisi_trace_rank ranks[2];
    char *text = NULL, line[512];
    size_t bytes = 0;
    memset(ranges, 0, sizeof ranges), memset(ranks, 0, sizeof ranks);
    strcpy(ranges[5].name, "a \"quoted\\ name");
    for (int i = 0; i < TURNS; i++) {
        const uint64_t at = 2000000000 + (uint64_t)i * 100000;
        first[3 * i] = event(IRIS_TRACE_PUT, at, 1000, 1);
        first[3 * i].amount = 4096;
        if (i == 7) /* into a window */
            first[3 * i].id = 3, first[3 * i].offset = 96;
        first[3 * i + 1] = event(IRIS_TRACE_SIGNAL, at + 1200, 50, 1);
        first[3 * i + 1].offset = 640, first[3 * i + 1].id = (uint32_t)op, first[3 * i + 1].number = (uint64_t)i;
        first[3 * i + 1].amount = op == IRIS_SIGNAL_SET ? (uint64_t)i + 1 : 1;
        first[3 * i + 2] = event(IRIS_TRACE_RANGE, at - 10, 1500, 0);
        first[3 * i + 2].id = 5;
        second[2 * i] = event(IRIS_TRACE_WAIT, other(at - 250000), 0, 0);
        second[2 * i].end = other(at + 20000);
        second[2 * i].offset = 640, second[2 * i].amount = (uint64_t)i + 1;
        second[2 * i].unit = (uint32_t)i % 2, second[2 * i].wave = (uint16_t)(i % WAVES);
        second[2 * i + 1] = event(IRIS_TRACE_COLLECTIVE, other(at + 21000), 10, 1);
        second[2 * i + 1].id = irisi_collective_id(IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_RING);
        second[2 * i + 1].unit = second[2 * i].unit, second[2 * i + 1].wave = second[2 * i].wave;
    }
    ranks[0].events = first, ranks[0].n = 3 * TURNS, ranks[0].lost = 3;
    ranks[1].events = second, ranks[1].n = 2 * TURNS;
    memcpy(ranks[1].fits, fits, sizeof ranks[1].fits);
    if (dropped >= 0)
        ranks[rank].events[dropped] = ranks[rank].events[--ranks[rank].n];
    const irisi_trace_log log = {0, 2, ranks, 1000, 0, "a \"device\"", ranges};
    FILE *f = open_memstream(&text, &bytes);
    check(irisi_trace_print(f, &log), "no file", 0, 0);
    fclose(f);
    const double within = (double)(fits[0].error > fits[1].error ? fits[0].error : fits[1].error) / 1000 + 0.002;

    /* Every wait has its arrow: from its own raise, at the time that the clocks say. */
    const char *from = text, *to = text;
    for (int i = 0; i < TURNS; i++) {
        check(find(text, &from, "\"ph\":\"s\"", "", line, sizeof line), "an arrow is missing", i, TURNS);
        const double id = field(line, "\"id\":"), raised = field(line, "\"ts\":");
        check(field(line, "\"pid\":") == 0, "an arrow begins on rank", field(line, "\"pid\":"), 0);
        const double wanted = 250 + i * 100 + 1.2; /* after the first wait begins */
        check(fabs(raised - wanted) <= within, "an arrow begins at", raised, wanted);
        check(find(text, &to, "\"cat\":\"raised\"", "\"peer\":0", line, sizeof line), "no part after a raise", i,
              TURNS);
        const double known = field(line, "\"ts\":"), end = known + field(line, "\"dur\":");
        check(fabs(known - raised - 0.05) <= within, "the part after a raise begins at", known, raised + 0.05);
        check(find(text, &to, "\"ph\":\"f\"", "", line, sizeof line) && field(line, "\"id\":") == id, "an arrow's end",
              id, field(line, "\"id\":"));
        check(field(line, "\"ts\":") >= known && field(line, "\"ts\":") < end, "an arrow does not end in that part",
              field(line, "\"ts\":"), end);
        check(fabs(field(line, "\"ts\":") - raised - 18.8) <= within, "raise to wait lasts",
              field(line, "\"ts\":") - raised, 18.8);
    }
    check(!find(text, &from, "\"ph\":\"s\"", "", line, sizeof line), "there are more arrows than waits", 0, 0);

    /* Rows: a wave's events do not overlap those of another wave in one row; waves of a unit that do have two. */
    enum { FIRST_ROW = 100 };
    double ends[64] = {0};
    uint32_t used = 0;
    for (const char *at = text; find(text, &at, "\"ph\":\"X\"", "\"pid\":1", line, sizeof line);) {
        const int row = (int)field(line, "\"tid\":") - FIRST_ROW;
        if (!strstr(line, "\"cat\":\"wait\""))
            continue;
        check(row >= 0 && row < 64, "a row", row, 0);
        check(field(line, "\"ts\":") >= ends[row & 63] - 0.002 || strstr(line, "collective"), "a row overlaps",
              field(line, "\"ts\":"), ends[row & 63]);
        check(fabs(field(line, "\"dur\":") - 270) < 0.1, "a wait lasts", field(line, "\"dur\":"), 270);
        ends[row & 63] = field(line, "\"ts\":") + field(line, "\"dur\":");
        used |= 1u << (row & 31);
    }
    check(__builtin_popcount(used) == WAVES, "rows", __builtin_popcount(used), WAVES);

    /* Bytes in flight: nothing, up to a put, down to nothing. */
    const char *at = text;
    check(find(text, &at, "\"ph\":\"C\"", "\"pid\":0", line, sizeof line) && field(line, "\"bytes\":") == 0,
          "bytes in flight", field(line, "\"bytes\":"), 0);
    for (int i = 0; i < TURNS; i++) {
        check(find(text, &at, "\"ph\":\"C\"", "\"pid\":0", line, sizeof line) && field(line, "\"bytes\":") == 4096,
              "bytes in flight", field(line, "\"bytes\":"), 4096);
        check(find(text, &at, "\"ph\":\"C\"", "\"pid\":0", line, sizeof line) && field(line, "\"bytes\":") == 0,
              "bytes in flight", field(line, "\"bytes\":"), 0);
    }
    at = text;
    check(find(text, &at, "\"name\":\"a \\\"quoted\\\\ name\"", "\"pid\":0", line, sizeof line), "no named range", 0,
          0);
    check(find(text, &at, "\"name\":\"all_reduce ring\"", "\"pid\":1", line, sizeof line), "no named collective", 0, 0);
    at = text;
    check(find(text, &at, "\"cat\":\"put\"", "\"window\":3,\"window_offset\":\"0x60\"", line, sizeof line),
          "no put into a window", 0, 0);
    at = text;
    check(find(text, &at, "\"events\":120,\"lost\":3", "\"events\":80,\"lost\":0", line, sizeof line), "no counts", 0,
          0);
    check(strstr(line, "a \\\"device\\\"") != NULL, "no device", 0, 0);
    at = text;
    check(find(text, &at, "process_name", "\"name\":\"3 events lost, rank\"", line, sizeof line), "a rank's name", 0,
          0);
    free(text);
}

/* Where an event of the file is: its row, begin and end in microseconds. -1: it is not there. */
typedef struct block {
    int row;
    double begin, end;
} block;

static block block_of(const char *text, const char *kind, const char *wave)
{
    char line[512];
    const char *at = text;
    block b = {-1, 0, 0};
    if (find(text, &at, kind, wave, line, sizeof line)) {
        b.row = (int)field(line, "\"tid\":"), b.begin = field(line, "\"ts\":");
        b.end = b.begin + field(line, "\"dur\":");
    }
    return b;
}

/*
 * Lanes of one wave wait at the same time: an inner wait is in its outer one's row, one that ends later is not, and the
 * part after a raise is after what lies in the wait.
 */
static void lanes_that_part(void)
{
    irisi_trace_range ranges[IRIS_TRACE_NAMES];
    iris_trace_event of[2][3];
    irisi_trace_rank ranks[2];
    char *text = NULL, line[512];
    size_t bytes = 0;
    memset(ranges, 0, sizeof ranges), memset(ranks, 0, sizeof ranks);
    of[1][0] = event(IRIS_TRACE_WAIT, 1000000, 100000, 0), of[1][0].offset = 640; /* at 0, ends at 100 us */
    of[1][1] = event(IRIS_TRACE_GET, 1010000, 60000, 0);                          /* lies in it */
    of[1][2] = event(IRIS_TRACE_PUT, 1080000, 40000, 0);                          /* ends after it */
    of[0][0] = event(IRIS_TRACE_SIGNAL, 1030000, 10000, 1), of[0][0].offset = 640;
    ranks[0].events = of[0], ranks[0].n = 1, ranks[1].events = of[1], ranks[1].n = 3;
    const irisi_trace_log log = {98, 2, ranks, 1000, 0, "device", ranges}; /* ranks 98 and 99 */
    of[1][0].peer = of[1][1].peer = of[1][2].peer = 98, of[0][0].peer = 99;
    FILE *f = open_memstream(&text, &bytes);
    check(irisi_trace_print(f, &log), "no file", 0, 0);
    fclose(f);
    const block wait = block_of(text, "\"cat\":\"wait\"", ""), inner = block_of(text, "\"cat\":\"get\"", "");
    const block later = block_of(text, "\"cat\":\"put\"", ""), raised = block_of(text, "\"cat\":\"raised\"", "");
    check(wait.row == inner.row && inner.begin >= wait.begin && inner.end <= wait.end, "what lies in a wait is in row",
          inner.row, wait.row);
    check(later.row >= 0 && later.row != wait.row, "what ends after a wait is in its row", later.row, wait.row);
    check(raised.row == wait.row && fabs(raised.begin - inner.end) < 0.002 && fabs(raised.end - wait.end) < 0.002,
          "the part after a raise begins at", raised.begin, inner.end);
    check(raised.end <= wait.end, "the part after a raise ends at", raised.end, wait.end);
    for (const char *at = text; find(text, &at, "\"tid\":", "", line, sizeof line);)
        check(field(line, "\"tid\":") > 99, "a row has the number of a rank", field(line, "\"tid\":"), 100);
    free(text);
}

/* Whether the checks above fail for a file that is made of these clocks, without one event. */
static int noticed(const irisi_clock_fit fits[2], iris_signal_op op, int rank, int dropped)
{
    const int before = failures;
    quiet = 1;
    print(fits, op, rank, dropped);
    quiet = 0;
    const int found = failures - before;
    failures = before;
    return found > 0;
}

/* Faults, each of which the checks notice: rank 1's clock off at both comparisons or at one, and a dropped event. */
static void faults(const irisi_clock_fit fits[2], iris_signal_op op)
{
    check(!noticed(fits, op, 0, -1), "without a fault something is noticed", 0, 0);
    for (int which = 1; which <= 3; which++)
        for (int64_t off = -20000; off <= 20000; off += 40000) { /* 20 us; comparisons are off by at most 5 */
            irisi_clock_fit wrong[2] = {fits[0], fits[1]};
            wrong[0].ahead += which & 1 ? off : 0;
            wrong[1].ahead += which & 2 ? off * (which == 2 ? 40 : 1) : 0; /* all this is at a fortieth of the way */
            check(noticed(wrong, op, 0, -1), "a clock off by this is not noticed", (double)off, which);
        }
    for (int i = 0; i < 3 * TURNS; i += 17)
        check(noticed(fits, op, 0, i), "an event of rank 0 may be dropped", i, -1);
    for (int i = 0; i < 2 * TURNS; i += 13)
        check(noticed(fits, op, 1, i), "an event of rank 1 may be dropped", i, -1);
}

static void run(void)
{
    irisi_clock_fit fits[2];
    for (int i = 0; i < 20; i++) {
        clocks(fits);
        print(fits, i % 2 ? IRIS_SIGNAL_ADD : IRIS_SIGNAL_SET, 0, -1);
        if (i < 2)
            faults(fits, i ? IRIS_SIGNAL_ADD : IRIS_SIGNAL_SET);
    }
    rings();
    lanes_that_part();
}

#if !defined(IRIST_NO_MAIN)
/* Numbers have a point, whatever the program's locale puts there. */
static void decimals(void)
{
    static const char *const texts[][2] = {{"12,5000", "12.5000"},
                                           {"-0,25", "-0.25"},
                                           {"1.5", "1.5"},
                                           {"7", "7"},
                                           {"3\xd9\xab"
                                            "75",
                                            "3.75"},
                                           {"-4", "-4"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[16];
        strcpy(text, texts[i][0]);
        irisi_decimal_point(text);
        check(strcmp(text, texts[i][1]) == 0, texts[i][0], 0, (double)i);
    }
    check(strcmp(irisi_decimal_of(-1234.56789, 3).text, "-1234.568") == 0, "a number", 0, 0);
}

int main(void)
{
    decimals();
    run();
    printf("%d failures\n", failures);
    return failures != 0;
}
#endif
