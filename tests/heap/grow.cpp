/* SPDX-License-Identifier: MIT */
/*
 * Tries iris_heap_grow: nothing moves and nothing is lost, the new part is zero, every rank reaches it on every other
 * rank, and what cannot be granted is refused on all ranks alike, with the heap as before. Where heaps are one
 * allocation each (IRIS_HEAP=ipc, AMD), growing is refused with what to do.
 */
#define IRIS_CHECKED 1

#include "harness.h"

#include <cstring>
#include <string>

#include <iris/gen/load_store.h>
#include <iris/gen/rma.h>

namespace {

enum { BLOCKS = 24, WORDS = 4096 };

struct args {
    iris_ctx ctx;
    uint32_t *words; /* n of them, the same offset on every rank */
    uint32_t *out;
    uint64_t n;
    uint32_t salt;
};

IRIS_HOST_DEVICE uint32_t word_of(uint32_t salt, int writer, uint64_t i)
{
    return salt * 2654435761u + (uint32_t)writer * 40503u + (uint32_t)i;
}

/* Every rank writes into its right neighbour's part. */
IRIS_KERNEL(write_right, args, a, 256)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    for (uint64_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        iris_store_u32(&a->ctx, a->words + i, word_of(a->salt, a->ctx.rank, i), right);
}

/* And reads what its left neighbour has. */
IRIS_KERNEL(read_left, args, a, 256)
{
    const int left = (a->ctx.rank + a->ctx.world - 1) % a->ctx.world;
    for (uint64_t i = iris_grid_lane(); i < a->n; i += iris_grid_lanes())
        a->out[i] = iris_load_u32(&a->ctx, a->words + i, left);
}

bool has(const char *sentence, const char *words) { return std::string(sentence).find(words) != std::string::npos; }

bool grows(const irist_rank *t) { return std::strcmp(iris_heap_mode(t->world), "vmm") == 0; }

size_t size_of(const irist_rank *t) { return iris_heap_size(t->world, IRIS_MEM_DATA); }

/* Fills `words` by device writes of the left neighbour and looks at it from the right neighbour's side. */
void talk(irist_rank *t, const iris_ctx &ctx, uint32_t *words, uint32_t *out, uint64_t n, uint32_t salt)
{
    args a;
    std::vector<uint32_t> got(n);
    a.ctx = ctx;
    a.words = words;
    a.out = out;
    a.n = n;
    a.salt = salt;
    irist_meet(t);
    irist_run(t, write_right, a, iris_grid(4, 128));
    irist_meet(t);
    irist_ok(t, iris_memcpy(t->world, got.data(), words, n * sizeof(uint32_t)));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++)
        wrong += got[i] != word_of(salt, (t->rank + t->ranks - 1) % t->ranks, i);
    irist_check(t, !wrong, "%llu of %llu words from the left neighbour are wrong", (unsigned long long)wrong,
                (unsigned long long)n);
    irist_run(t, read_left, a, iris_grid(4, 128));
    irist_ok(t, iris_memcpy(t->world, got.data(), out, n * sizeof(uint32_t)));
    for (uint64_t i = wrong = 0; i < n; i++)
        wrong += got[i] != word_of(salt, (t->rank + 2 * t->ranks - 2) % t->ranks, i);
    irist_check(t, !wrong, "%llu of %llu words of the left neighbour's are wrong", (unsigned long long)wrong,
                (unsigned long long)n);
}

bool same_addresses(const iris_ctx &a, const iris_ctx &b)
{
    return a.base == b.base && a.control == b.control && a.sync_bytes == b.sync_bytes && a.far == b.far &&
           std::memcmp(a.delta, b.delta, sizeof a.delta) == 0;
}

/* Takes all of the heap that is free, in blocks; returns how many. */
int fill(irist_rank *t, void **blocks, size_t bytes)
{
    int n = 0;
    while (n < BLOCKS && (blocks[n] = iris_malloc(t->world, bytes)) != nullptr)
        n++;
    return n;
}

void repeatedly(irist_rank *t)
{
    const iris_ctx first = iris_device_ctx(t->world);
    const std::vector<unsigned char> poison = irist_poisoned(WORDS * 4);
    void *kept = iris_malloc(t->world, poison.size());
    uint32_t *out = (uint32_t *)iris_malloc(t->world, WORDS * sizeof(uint32_t));
    uint32_t *old = (uint32_t *)iris_malloc(t->world, WORDS * sizeof(uint32_t));
    iris_signal *signals = iris_signals(t->world, 3);
    if (!irist_check(t, kept && out && old && signals, "%s", iris_error_string(t->world)))
        return;
    irist_upload(t, kept, poison);
    for (uint32_t step = 0; step < irist_laps(4, 12); step++) {
        const size_t before = size_of(t), bytes = 1 + irist_pick(t->seed, 1, step, 3 << 20);
        irist_delay(t, step);
        if (!irist_ok(t, iris_heap_grow(t->world, bytes)))
            return;
        const iris_ctx now = iris_device_ctx(t->world);
        const size_t gained = size_of(t) - before;
        irist_check(t, gained >= bytes && gained < bytes + ((size_t)8 << 20), "%zu bytes asked, %zu gained", bytes,
                    gained);
        irist_check(t, same_addresses(first, now) && now.bytes == now.sync_bytes + size_of(t),
                    "the heap moved, or its size is wrong");
        char *fresh = (char *)(uintptr_t)(now.base + now.bytes - gained);
        irist_check(t, iris_is_symmetric(t->world, fresh, gained) && !iris_is_symmetric(t->world, fresh, gained + 1),
                    "the heap does not end where it should");
        irist_check(t, irist_download(t, fresh, gained) == std::vector<unsigned char>(gained), "new memory is not 0");
        talk(t, now, (uint32_t *)(void *)(fresh + gained - WORDS * 4), out, WORDS, step);
        talk(t, first, old, out, WORDS, 100 + step); /* a context from before, as a captured graph holds it */
        irist_check(t, irist_download(t, kept, poison.size()) == poison, "old contents changed");
    }
    irist_meet(t);
    irist_ok(t, iris_free(t->world, signals));
    irist_ok(t, iris_free(t->world, old));
    irist_ok(t, iris_free(t->world, out));
    irist_ok(t, iris_free(t->world, kept));
}

void full_then_more(irist_rank *t)
{
    void *blocks[BLOCKS];
    const size_t all = size_of(t) - iris_heap_used(t->world, IRIS_MEM_DATA), part = all / 8;
    const int n = fill(t, blocks, part);
    irist_check(t, iris_malloc(t->world, part) == nullptr && has(iris_error_string(t->world), "iris_heap_grow"),
                "a full heap does not name iris_heap_grow: %s", iris_error_string(t->world));
    irist_ok(t, iris_heap_grow(t->world, part + (64 << 10)));
    char *p = (char *)iris_malloc(t->world, part);
    irist_check(t, p != nullptr, "no room after growing: %s", iris_error_string(t->world));
    if (p && n > 0) {
        irist_ok(t, iris_memset(t->world, p, 0x5A, part));
        talk(t, iris_device_ctx(t->world), (uint32_t *)(void *)p, (uint32_t *)blocks[0], WORDS, 7);
    }
    irist_meet(t);
    irist_ok(t, iris_free(t->world, p));
    for (int i = 0; i < n; i++)
        irist_ok(t, iris_free(t->world, blocks[i]));
}

void refused(irist_rank *t)
{
    const iris_ctx before = iris_device_ctx(t->world);
    const size_t limit = iris_heap_limit(t->world), room = limit - size_of(t);
    char number[64];
    irist_check(t, iris_heap_grow(t->world, room + 1) == IRIS_ERR_NOMEM, "more than the limit was granted");
    std::snprintf(number, sizeof number, "can grow by %zu;", room);
    irist_check(t, has(iris_error_string(t->world), number) && has(iris_error_string(t->world), "IRIS_HEAP_MAX_MB"),
                "%s", iris_error_string(t->world));
    irist_check(t, iris_heap_grow(t->world, SIZE_MAX) == IRIS_ERR_NOMEM, "SIZE_MAX bytes were granted");
    if (t->ranks > 1) {
        const size_t mine = t->rank == t->ranks - 1 ? 2 << 20 : 4 << 20;
        irist_check(t, iris_heap_grow(t->world, mine) == IRIS_ERR_MISMATCH, "different sizes were granted");
        irist_check(t,
                    has(iris_error_string(t->world), "iris_heap_grow(4194304 bytes;") &&
                        has(iris_error_string(t->world), "iris_heap_grow(2097152 bytes;"),
                    "%s", iris_error_string(t->world));
        const iris_status status = t->rank == 0 ? iris_heap_grow(t->world, 4096) : iris_barrier(t->world);
        irist_check(t, status == IRIS_ERR_MISMATCH && has(iris_error_string(t->world), "iris_barrier"), "%s",
                    iris_error_string(t->world));
    }
    irist_ok(t, iris_heap_grow(t->world, 0));
    const iris_ctx after = iris_device_ctx(t->world);
    irist_check(t, std::memcmp(&before, &after, sizeof before) == 0, "what was refused has changed the heap");
    irist_check(t, iris_heap_grow(nullptr, 1) == IRIS_ERR_ARGUMENT, "a null world was taken");
}

/* A checked kernel with a context from before keeps off the new part; with a new one it may touch it. */
void checked(irist_rank *t)
{
    args a;
    uint32_t *out = (uint32_t *)iris_malloc(t->world, 64 * sizeof(uint32_t));
    a.ctx = iris_device_ctx(t->world);
    a.words = (uint32_t *)(uintptr_t)(a.ctx.base + a.ctx.bytes);
    a.out = out;
    a.n = 64;
    a.salt = 9;
    irist_ok(t, iris_heap_grow(t->world, 1 << 20));
    talk(t, iris_device_ctx(t->world), a.words, out, a.n, 9);
    irist_meet(t);
    iris_status status = IRIS_OK;
    const iris_launch_config grid = iris_grid(1, 64);
    if (t->rank == 0) {
        irist_ok(t, iris_launch(t->world, write_right, &a, sizeof a, &grid, iris_default_stream(t->world)));
        status = iris_synchronize(t->world);
    } else {
        status = iris_barrier(t->world);
    }
    irist_check(t, status == IRIS_ERR_CHECK && has(iris_error_string(t->world), "is not inside the heap"), "%s",
                iris_error_string(t->world));
    irist_ok(t, iris_reset(t->world));
    irist_ok(t, iris_heap_grow(t->world, 1 << 20)); /* a world that was reset grows as any other */
    irist_ok(t, iris_free(t->world, out));
}

void fixed(irist_rank *t)
{
    const size_t before = size_of(t);
    irist_check(t, iris_heap_limit(t->world) == before, "the limit of a heap that cannot grow is not its size");
    irist_check(t,
                iris_heap_grow(t->world, 4096) == IRIS_ERR_UNSUPPORTED &&
                    has(iris_error_string(t->world), "IRIS_HEAP=vmm") && size_of(t) == before,
                "%s", iris_error_string(t->world));
}

/* What is tried where heaps grow, and where they do not. */
void either(irist_rank *t)
{
    const irist_work work = *(const irist_work *)t->arg;
    if (grows(t))
        work(t);
    else
        fixed(t);
}

} // namespace

TEST_CASE("a heap grows again and again, nothing moves, and everyone reaches the new part", "[heap]")
{
    const irist_work work = repeatedly;
    irist_spmd(either, &work);
}

TEST_CASE("what a full heap could not hold fits once it has grown", "[heap]")
{
    const irist_work work = full_then_more;
    irist_spmd(either, &work);
}

TEST_CASE("growth beyond the limit, or of different sizes, is refused and changes nothing", "[heap]")
{
    const irist_work work = refused;
    irist_spmd(either, &work);
}

TEST_CASE("a checked kernel may touch the new part with a new context only", "[heap]")
{
    const irist_work work = checked;
    irist_spmd(either, &work);
}
