/* SPDX-License-Identifier: MIT */
/*
 * self_test_run.h: the host side of iris_self_test; self_test.h includes it where kernels are asked for.
 *
 *   iris_self_test irisi_self_test_run iris_self_test_text iris_self_test_check_name
 *
 * A launch writes, a launch verifies, and then each rank talks to its neighbours at distance 0, 1, … in one launch
 * each. All ranks are in the same step, so a pair that is silent costs the others one launch's patience.
 */
#ifndef IRIS_SELF_TEST_RUN_H
#define IRIS_SELF_TEST_RUN_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iris/self_test_kernel.h>

#if !IRIS_HAS_DEVICE
#error "IRIS_INSTANTIATE_SELF_TEST needs a file with kernels: compile this one as CUDA (-x cu) or HIP (-x hip)"
#endif

IRIS_KERNEL(irisi_self_test_write_kernel, irisi_self_test, a, IRISI_SELF_TEST_LANES) { irisi_self_test_write(a); }
IRIS_KERNEL(irisi_self_test_verify_kernel, irisi_self_test, a, IRISI_SELF_TEST_LANES) { irisi_self_test_verify(a); }
IRIS_KERNEL(irisi_self_test_talk_kernel, irisi_self_test, a, IRISI_SELF_TEST_LANES)
{
    const uint64_t start = iris_clock();
    if (iris_workgroup() == 0 && a->to >= 0)
        irisi_self_test_sender(a, start);
    if (iris_workgroup() == 1 && a->from >= 0)
        irisi_self_test_receiver(a, start);
}

/* Words that a rank notes of each other rank. */
enum { IRISI_SELF_TEST_NOTES = 2 * IRISI_SELF_TEST_ENDS };

/* Zeroed memory of a kind; null once any allocation has failed, which the next iris_barrier then reports. */
static void *irisi_self_test_memory(iris_world *w, size_t bytes, iris_mem_kind kind, int *failed)
{
    void *p = *failed ? NULL : iris_malloc_kind(w, bytes, 0, kind);
    if (!*failed && (!p || iris_memset(w, p, 0, bytes) != IRIS_OK)) {
        irisi_creation_failed(w);
        *failed = 1;
    }
    return p;
}

static iris_status irisi_self_test_create(iris_world *w, irisi_self_test *a, uint64_t deadline)
{
    const size_t world = (size_t)iris_world_size(w), word = sizeof(uint32_t);
    int failed = 0;
    memset((void *)a, 0, sizeof *a);
    a->own = (uint32_t *)irisi_self_test_memory(w, world * IRISI_SELF_TEST_QUAD * word, IRIS_MEM_DATA, &failed);
    a->written = (uint32_t *)irisi_self_test_memory(
        w, world * world * IRISI_SELF_TEST_QUAD * word, IRIS_MEM_DATA, &failed);
    a->slots = (uint32_t *)irisi_self_test_memory(
        w, world * IRISI_SELF_TEST_SLOTS * IRISI_SELF_TEST_WORDS * word, IRIS_MEM_DATA, &failed);
    a->message = (uint32_t *)irisi_self_test_memory(w, IRISI_SELF_TEST_WORDS * word, IRIS_MEM_DATA, &failed);
    a->wrong = (uint32_t *)irisi_self_test_memory(w, world * word, IRIS_MEM_DATA, &failed);
    a->notes = (uint32_t *)irisi_self_test_memory(w, IRISI_SELF_TEST_NOTES * world * word, IRIS_MEM_DATA, &failed);
    a->arrived = (iris_signal *)irisi_self_test_memory(w, world * sizeof(iris_signal), IRIS_MEM_SYNC, &failed);
    a->taken = (iris_signal *)irisi_self_test_memory(w, world * sizeof(iris_signal), IRIS_MEM_SYNC, &failed);
    for (int kind = IRIS_MEM_DATA; kind <= IRIS_MEM_SYNC; kind++)
        a->echo[kind] = (uint32_t *)irisi_self_test_memory(w, 2 * world * word, (iris_mem_kind)kind, &failed);
    a->cells = (irisi_self_test_cells *)irisi_self_test_memory(w, world * sizeof *a->cells, IRIS_MEM_SYNC, &failed);
    a->patience = deadline ? deadline / 2 : (uint64_t)1 << 33; /* world without deadline: seconds, not for ever */
    return iris_barrier(w);
}

static iris_status irisi_self_test_free(iris_world *w, const irisi_self_test *a)
{
    void *const memory[] = {a->cells, a->echo[IRIS_MEM_SYNC], a->echo[IRIS_MEM_DATA], a->taken, a->arrived, a->notes,
                            a->wrong, a->message,             a->slots,               a->own,   a->written};
    iris_status status = IRIS_OK;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        const iris_status freed = iris_free(w, memory[i]);
        status = status == IRIS_OK ? freed : status;
    }
    return status;
}

/*
 * A row of bits becomes a place in the table: passed where both sides say so, failed where one does, and late where one
 * does of a check that did not fail.
 */
static void irisi_self_test_merge(iris_self_test_result *r, const uint32_t *notes)
{
    const size_t world = (size_t)r->world;
    for (size_t from = 0; from < world; from++) {
        for (size_t to = 0; to < world; to++) {
            const uint32_t *in = notes + IRISI_SELF_TEST_NOTES * world * to + from; /* what `to` says of `from` */
            const uint32_t *out =
                notes + (IRISI_SELF_TEST_NOTES * from + IRISI_SELF_TEST_ENDS) * world + to; /* and `from` of `to` */
            const uint32_t failed = in[world] | out[world], late = (in[2 * world] | out[2 * world]) & ~failed;
            r->failed[from][to] = (unsigned char)failed;
            r->late[from][to] = (unsigned char)late;
            r->passed[from][to] = (unsigned char)(in[0] & out[0] & ~(failed | late));
        }
    }
}

/* Everyone's notes, on everyone. Collective. */
static iris_status irisi_self_test_gather(iris_world *w, const irisi_self_test *a, iris_self_test_result *r)
{
    const size_t words = IRISI_SELF_TEST_NOTES * (size_t)r->world, bytes = words * sizeof(uint32_t);
    uint32_t *notes = (uint32_t *)calloc(words * ((size_t)r->world + 1), sizeof *notes);
    if (!notes)
        return irisi_fail(w, IRIS_ERR_NOMEM, "iris_self_test: no host memory for the notes of %d ranks", (int)r->world);
    iris_status status = iris_memcpy(w, notes, a->notes, bytes);
    if (status == IRIS_OK)
        status = iris_allgather(w, notes, notes + words, bytes);
    if (status == IRIS_OK)
        irisi_self_test_merge(r, notes + words);
    free(notes);
    return status;
}

/* The neighbour at a distance; nobody where the two do not find each other's memory. */
static int irisi_self_test_neighbour(const iris_self_test_result *r, int me, int distance)
{
    const int other = (me + distance + r->world) % r->world;
    return ((r->passed[me][other] & r->passed[other][me]) >> IRIS_SELF_TEST_TRANSLATION & 1) ? other : -1;
}

static iris_status irisi_self_test_launch_all(iris_world *w, irisi_self_test *a, const iris_ctx *reach,
                                              const iris_ctx *talk, iris_self_test_result *r)
{
    const iris_launch_config one = iris_grid(1, IRISI_SELF_TEST_LANES);
    iris_launch_config two = iris_cooperative(2, IRISI_SELF_TEST_LANES);
    two.shared_bytes = 128;
    a->ctx = *reach;
    iris_status status = iris_launch(w, irisi_self_test_write_kernel, a, sizeof *a, &one, NULL);
    if (status == IRIS_OK)
        status = iris_barrier(w);
    if (status == IRIS_OK)
        status = iris_launch(w, irisi_self_test_verify_kernel, a, sizeof *a, &one, NULL);
    if (status == IRIS_OK)
        status = irisi_self_test_gather(w, a, r);
    a->ctx = *talk;
    for (int distance = 0; status == IRIS_OK && distance < r->world; distance++) {
        a->to = irisi_self_test_neighbour(r, talk->rank, distance);
        a->from = irisi_self_test_neighbour(r, talk->rank, -distance);
        status = iris_launch(w, irisi_self_test_talk_kernel, a, sizeof *a, &two, NULL);
        if (status == IRIS_OK)
            status = iris_barrier(w);
    }
    return status == IRIS_OK ? irisi_self_test_gather(w, a, r) : status;
}

/* Pairs of ranks for which a check came out in one way. */
typedef struct irisi_self_test_found {
    int pairs, check, from, to; /* how many, and the first in the order of checks, then of ranks */
} irisi_self_test_found;

static irisi_self_test_found irisi_self_test_find(const iris_self_test_result *r, const unsigned char *bits)
{
    irisi_self_test_found found = {0, IRIS_SELF_TEST_CHECKS, -1, -1};
    for (int check = 0; check < IRIS_SELF_TEST_CHECKS; check++) {
        for (int pair = 0; pair < r->world * r->world && check != IRIS_SELF_TEST_DATA_MEMORY; pair++) {
            const int from = pair / r->world, to = pair % r->world;
            if (!(bits[from * IRISI_MOST_RANKS + to] >> check & 1))
                continue;
            if (found.pairs++ == 0)
                found.check = check, found.from = from, found.to = to;
        }
    }
    return found;
}

static uint32_t irisi_self_test_kinds(const iris_self_test_result *r)
{
    uint32_t kinds = 1u << IRIS_MEM_DATA | 1u << IRIS_MEM_SYNC;
    for (int pair = 0; pair < r->world * r->world; pair++) {
        const uint32_t passed = r->passed[pair / r->world][pair % r->world];
        if (!(passed >> IRIS_SELF_TEST_SYNC_MEMORY & 1))
            kinds &= ~(1u << IRIS_MEM_SYNC);
        if (!(passed >> IRIS_SELF_TEST_DATA_MEMORY & 1))
            kinds &= ~(1u << IRIS_MEM_DATA);
    }
    return kinds;
}

/* The verdict as a sentence: what was wrong, or else what did not end; and the kinds of memory that passed. */
static iris_status irisi_self_test_judge(iris_world *w, iris_self_test_result *r)
{
    static const char *const what[] = {
        "a store or a load through a translated address missed its object",
        "a signal came without the data before it",
        "a store to sync memory did not reach a kernel that was running",
        "remote atomics and the owner's own did not add up",
    };
    const irisi_self_test_found wrong = irisi_self_test_find(r, r->failed[0]),
                                late = irisi_self_test_find(r, r->late[0]);
    r->kinds = irisi_self_test_kinds(r);
    if (wrong.pairs)
        return irisi_fail(w, IRIS_ERR_DEVICE,
                          "iris_self_test: %s from rank %d to rank %d failed: %s (%d failures among %d pairs of "
                          "ranks); do not rely on this machine before its links and drivers are checked",
                          iris_self_test_check_name((iris_self_test_check)wrong.check), wrong.from, wrong.to,
                          what[wrong.check], wrong.pairs, r->world * r->world);
    if (late.pairs)
        return irisi_fail(w, IRIS_ERR_TIMEOUT,
                          "iris_self_test: %s from rank %d to rank %d was not finished within half of the deadline (%d "
                          "checks among %d pairs of ranks): nothing was wrong, but the machine is busy, or nothing "
                          "arrives there; call it again while the machine is idle, or with a longer IRIS_TIMEOUT_MS",
                          iris_self_test_check_name((iris_self_test_check)late.check), late.from, late.to, late.pairs,
                          r->world * r->world);
    return IRIS_OK;
}

#ifdef __cplusplus
extern "C" {
#endif

iris_status irisi_self_test_run(iris_world *w, const iris_ctx *reach, const iris_ctx *talk,
                                iris_self_test_result *result)
{
    irisi_self_test a;
    iris_self_test_result *r = result ? result : (iris_self_test_result *)malloc(sizeof *r);
    if (!w || !r) {
        if (r != result)
            free(r);
        return irisi_fail(w, w ? IRIS_ERR_NOMEM : IRIS_ERR_ARGUMENT, "iris_self_test: %s",
                          w ? "no host memory for the table" : "the world is null");
    }
    memset((void *)r, 0, sizeof *r);
    r->world = iris_world_size(w);
    iris_status status = irisi_self_test_create(w, &a, reach->deadline);
    if (status == IRIS_OK)
        status = irisi_self_test_launch_all(w, &a, reach, talk, r);
    if (status == IRIS_OK) {
        status = iris_barrier(w); /* nobody reads here any more */
        const iris_status freed = irisi_self_test_free(w, &a);
        status = status == IRIS_OK ? freed : status;
        if (status == IRIS_OK)
            status = irisi_self_test_judge(w, r);
    } else {
        (void)irisi_self_test_free(w, &a); /* the world has stopped, and its own sentence stays */
    }
    if (!result)
        free(r);
    return status;
}

iris_status iris_self_test(iris_world *w, iris_self_test_result *result)
{
    const iris_ctx ctx = iris_device_ctx(w);
    return irisi_self_test_run(w, &ctx, &ctx, result);
}

const char *iris_self_test_check_name(iris_self_test_check check)
{
    static const char *const names[] = {"translation", "ordering", "sync memory", "atomics", "data memory"};
    return (unsigned)check < IRIS_SELF_TEST_CHECKS ? names[check] : "none";
}

/* Appends to a text that may be full, and counts on. */
static void irisi_self_test_append(char *text, size_t bytes, size_t *used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void irisi_self_test_append(char *text, size_t bytes, size_t *used, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(*used < bytes ? text + *used : NULL, *used < bytes ? bytes - *used : 0, format, args);
    va_end(args);
    *used += n > 0 ? (size_t)n : 0;
}

size_t iris_self_test_text(const iris_self_test_result *r, char *text, size_t bytes)
{
    static const char letters[] = "tosad";
    size_t used = 0;
    if (bytes && text)
        text[0] = 0;
    if (!r || (bytes && !text))
        return 0;
    irisi_self_test_append(text, bytes, &used,
                           "t translation, o ordering, s sync memory, a atomics, d data memory; X failed, "
                           "? not finished, . not tried\nfrom \\ to");
    for (int to = 0; to < r->world; to++)
        irisi_self_test_append(text, bytes, &used, " %5d", to);
    for (int from = 0; from < r->world; from++) {
        irisi_self_test_append(text, bytes, &used, "\n%9d", from);
        for (int to = 0; to < r->world; to++) {
            char cell[IRIS_SELF_TEST_CHECKS + 1];
            for (int c = 0; c < IRIS_SELF_TEST_CHECKS; c++)
                cell[c] = r->failed[from][to] >> c & 1   ? 'X'
                          : r->late[from][to] >> c & 1   ? '?'
                          : r->passed[from][to] >> c & 1 ? letters[c]
                                                         : '.';
            cell[IRIS_SELF_TEST_CHECKS] = 0;
            irisi_self_test_append(text, bytes, &used, " %s", cell);
        }
    }
    irisi_self_test_append(text, bytes, &used, "\n");
    return used;
}

#ifdef __cplusplus
}
#endif

#endif
