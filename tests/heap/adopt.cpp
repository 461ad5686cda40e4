/* SPDX-License-Identifier: MIT */
/*
 * Tries iris_as_symmetric: memory that can be mapped a second time becomes a part of the heap, so that peers write into
 * the original itself; memory that cannot is copied, and iris_is_alias says so. What is given back is the owner's alone
 * again, and its addresses serve once more.
 */
#include "harness.h"
#include "heap/lender.h"

#include <cstring>
#include <string>

#include <iris/gen/rma.h>

namespace {

enum { BYTES = 4096 };

struct args {
    iris_ctx ctx;
    uint32_t *words, *from;
    uint64_t n;
};

IRIS_KERNEL(put_right, args, a, 256)
{
    iris_put_u32_wg(&a->ctx, a->words, a->from, a->n, (a->ctx.rank + 1) % a->ctx.world);
}

bool lends(const irist_rank *t) { return std::strcmp(iris_heap_mode(t->world), "vmm") == 0; }

std::vector<unsigned char> of_rank(int rank, size_t n)
{
    std::vector<unsigned char> bytes = irist_poisoned(n);
    for (unsigned char &b : bytes)
        b = (unsigned char)(b + rank);
    return bytes;
}

/* Peers put into the symmetric address; the original has it, and what the original gets is there. */
void shared_both_ways(irist_rank *t, char *original, char *symmetric, size_t n)
{
    args a;
    a.ctx = iris_device_ctx(t->world);
    a.words = (uint32_t *)(void *)symmetric;
    a.from = (uint32_t *)iris_malloc(t->world, n);
    a.n = n / 4;
    irist_upload(t, a.from, of_rank(t->rank, n));
    irist_meet(t);
    irist_run(t, put_right, a, iris_grid(1, 128));
    irist_meet(t);
    const int left = (t->rank + t->ranks - 1) % t->ranks;
    irist_check(t, irist_download(t, original, n) == of_rank(left, n), "a peer's put is not in the original");
    irist_upload(t, original, of_rank(99, n));
    irist_check(t, irist_download(t, symmetric, n) == of_rank(99, n), "what the original got is not in the heap");
    irist_meet(t);
    irist_ok(t, iris_free(t->world, a.from));
}

void alias(irist_rank *t)
{
    const size_t used = iris_heap_used(t->world, IRIS_MEM_DATA), size = iris_heap_size(t->world, IRIS_MEM_DATA);
    for (size_t lead : {(size_t)0, (size_t)4352}) {
        lent_memory m(t->world, 1 << 20);
        if (!m.base)
            return; /* this platform's memory cannot be lent: what happens then is tried below */
        char *p = (char *)iris_as_symmetric(t->world, m.base + lead, BYTES);
        if (!irist_check(t, p != nullptr, "%s", iris_error_string(t->world)))
            return;
        irist_check(t,
                    iris_is_alias(t->world, p) && iris_is_alias(t->world, p + BYTES - 1) &&
                        iris_is_symmetric(t->world, p, BYTES),
                    "memory that can be lent was copied");
        irist_check(t, iris_heap_used(t->world, IRIS_MEM_DATA) > used, "lent memory is not counted");
        irist_check(t, m.mapped() == 2 || m.mapped() < 0, "mapped %d times, not 2", m.mapped());
        shared_both_ways(t, m.base + lead, p, BYTES);
        irist_ok(t, iris_heap_grow(t->world, 1 << 20)); /* behind it */
        char *q = (char *)iris_as_symmetric(t->world, m.base + lead, BYTES);
        irist_check(t, q != p && iris_is_alias(t->world, q), "a second alias");
        shared_both_ways(t, m.base + lead, q, BYTES);
        irist_check(t, iris_free(t->world, p + 256) == IRIS_ERR_ARGUMENT, "an address inside was freed");
        irist_ok(t, iris_free(t->world, p));
        irist_check(t, !iris_is_alias(t->world, p), "given back, and still an alias");
        irist_check(t, iris_free(t->world, p) == IRIS_ERR_ARGUMENT, "a second free was taken");
        irist_check(t, iris_as_symmetric(t->world, m.base + lead, BYTES) == p, "its addresses do not serve again");
        irist_meet(t);
        irist_ok(t, iris_free(t->world, q));
        irist_ok(t, iris_free(t->world, p));
        irist_check(t, m.mapped() == 1 || m.mapped() < 0, "given back, and mapped %d times", m.mapped());
        irist_upload(t, m.base + lead, of_rank(5, BYTES));
        irist_check(t, irist_download(t, m.base + lead, BYTES) == of_rank(5, BYTES), "the original is gone");
        irist_meet(t);
    }
    irist_check(t, iris_heap_used(t->world, IRIS_MEM_DATA) == used, "lent memory is counted after it was given back");
    irist_check(t,
                iris_heap_size(t->world, IRIS_MEM_DATA) >= size + (2 << 20) &&
                    iris_heap_size(t->world, IRIS_MEM_DATA) < size + (8 << 20),
                "addresses without memory are counted");
}

/* One rank's memory cannot be lent, or lies elsewhere in its mapping: then it is a copy on all of them. */
void copies(irist_rank *t)
{
    lent_memory m(t->world, 1 << 20);
    const size_t size = iris_heap_size(t->world, IRIS_MEM_DATA), used = iris_heap_used(t->world, IRIS_MEM_DATA);
    std::vector<unsigned char> plain = of_rank(t->rank, BYTES);
    void *p = iris_as_symmetric(t->world, plain.data(), BYTES);
    irist_check(t, p && !iris_is_alias(t->world, p) && irist_download(t, p, BYTES) == plain, "a copy of host memory");
    irist_ok(t, iris_free(t->world, p));
    if (m.base && t->ranks > 1) {
        irist_upload(t, m.base, plain);
        irist_upload(t, m.base + 4096, plain);
        const void *mine = t->rank == 0 ? plain.data() : (unsigned char *)m.base;
        p = iris_as_symmetric(t->world, mine, BYTES);
        irist_check(t, p && !iris_is_alias(t->world, p) && irist_download(t, p, BYTES) == plain, "one rank's is plain");
        irist_ok(t, iris_free(t->world, p));
        p = iris_as_symmetric(t->world, m.base + (t->rank == 0 ? 4096 : 0), BYTES);
        irist_check(t, p && !iris_is_alias(t->world, p) && irist_download(t, p, BYTES) == plain, "places differ");
        irist_ok(t, iris_free(t->world, p));
    }
    void *symmetric = iris_malloc(t->world, BYTES);
    irist_upload(t, symmetric, plain);
    p = iris_as_symmetric(t->world, symmetric, BYTES);
    irist_check(t, p && p != symmetric && !iris_is_alias(t->world, p) && irist_download(t, p, BYTES) == plain,
                "a copy of the heap's own memory");
    irist_meet(t);
    irist_ok(t, iris_free(t->world, p));
    irist_ok(t, iris_free(t->world, symmetric));
    irist_check(t, !iris_is_alias(t->world, nullptr) && !iris_is_alias(nullptr, plain.data()), "null is an alias");
    irist_check(t, iris_heap_size(t->world, IRIS_MEM_DATA) == size && iris_heap_used(t->world, IRIS_MEM_DATA) == used,
                "copies left something behind");
}

void refused(irist_rank *t)
{
    unsigned char local[64] = {1};
    irist_check(t, iris_as_symmetric(nullptr, local, 1) == nullptr, "a null world was taken");
    irist_check(t, iris_as_symmetric(t->world, nullptr, 8) == nullptr, "null was taken");
    irist_check(t, std::strstr(iris_error_string(t->world), "the source is null") != nullptr, "%s",
                iris_error_string(t->world));
    if (lends(t) && t->ranks > 1) {
        irist_check(t, iris_as_symmetric(t->world, local, t->rank == 0 ? 32 : 64) == nullptr, "different sizes");
        irist_check(t, std::strstr(iris_error_string(t->world), "iris_as_symmetric(32 bytes;") != nullptr, "%s",
                    iris_error_string(t->world));
        irist_check(t, iris_as_symmetric(t->world, t->rank == 0 ? nullptr : local, 8) == nullptr, "one null was taken");
        irist_check(t, std::strstr(iris_error_string(t->world), "null on rank 0") != nullptr, "%s",
                    iris_error_string(t->world));
    }
    irist_check(t, iris_barrier(t->world) == IRIS_ERR_ARGUMENT, "the barrier says nothing of the first that failed");
    irist_meet(t);
}

} // namespace

TEST_CASE("memory that can be mapped twice is the heap's without a copy", "[heap]") { irist_spmd(alias, nullptr); }

TEST_CASE("memory that cannot is copied, on every rank alike", "[heap]") { irist_spmd(copies, nullptr); }

TEST_CASE("nonsense is no symmetric memory", "[heap]") { irist_spmd(refused, nullptr); }
