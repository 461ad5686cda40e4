/* SPDX-License-Identifier: MIT */
/*
 * The symmetric heap: the allocator against a model, equal offsets on every rank, a full heap's sentence, and what
 * strangers send to the socket through which heaps are exchanged.
 */
#include "harness.h"

#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct live {
    char *p;
    size_t bytes;
};

static bool overlaps(const std::vector<live> &blocks, const char *p, size_t bytes)
{
    for (const live &b : blocks)
        if (p < b.p + b.bytes && b.p < p + bytes)
            return true;
    return false;
}

static size_t granted(const std::vector<live> &blocks, size_t granule)
{
    size_t sum = 0;
    for (const live &b : blocks)
        sum += (b.bytes + granule - 1) / granule * granule;
    return sum;
}

/* Random sizes, alignments and frees; every block keeps its contents, and all ranks see equal offsets. */
static void against_model(irist_rank *t, iris_mem_kind kind, size_t granule)
{
    std::vector<live> blocks;
    const size_t before = iris_heap_used(t->world, kind), heap = iris_heap_size(t->world, kind);
    const uint32_t laps = irist_laps(2000, 20000);
    uint64_t hash = 0;
    for (uint32_t i = 0; i < laps; i++) {
        const uint64_t dice = irist_random(t->seed, 1, i);
        if (blocks.size() > 60 || (!blocks.empty() && dice % 3 == 0)) {
            const size_t victim = (size_t)(dice >> 8) % blocks.size();
            const live b = blocks[victim];
            for (size_t k = 0; k < b.bytes; k += 61)
                if (!irist_check(t, b.p[k] == (char)(b.bytes + k), "lap %u: a block lost its contents", i))
                    return;
            if (!irist_ok(t, iris_free(t->world, b.p)))
                return;
            blocks.erase(blocks.begin() + (long)victim);
            continue;
        }
        const size_t bytes = (size_t)(dice >> 8) % (dice & 16 ? 300 : heap / 40);
        const size_t align = dice & 32 ? (size_t)1 << (dice >> 48) % 15 : 0;
        char *p = (char *)iris_malloc_kind(t->world, bytes, align, kind);
        if (!p)
            continue; /* full: the rest of the model still holds */
        irist_check(t, !align || (uintptr_t)p % align == 0, "lap %u: %p is not aligned to %zu", i, (void *)p, align);
        irist_check(t, (uintptr_t)p % granule == 0, "lap %u: %p is not aligned to %zu", i, (void *)p, granule);
        irist_check(t, iris_is_symmetric(t->world, p, bytes), "lap %u: outside the heap", i);
        if (!irist_check(t, !overlaps(blocks, p, bytes ? bytes : 1), "lap %u: overlaps a live block", i))
            return;
        live b = {p, bytes ? bytes : 1};
        for (size_t k = 0; k < b.bytes; k += 61)
            p[k] = (char)(b.bytes + k);
        hash = irist_random(hash, 2, (uint64_t)(p - (char *)(uintptr_t)iris_device_ctx(t->world).base));
        blocks.push_back(b);
        irist_check(t, iris_heap_used(t->world, kind) == before + granted(blocks, granule),
                    "lap %u: used bytes are wrong", i);
    }
    irist_check(t, iris_heap_high_water(t->world, kind) >= iris_heap_used(t->world, kind), "high water is below used");
    for (const live &b : blocks)
        irist_ok(t, iris_free(t->world, b.p));
    irist_check(t, iris_heap_used(t->world, kind) == before, "not everything came back");
    std::vector<uint64_t> hashes((size_t)t->ranks);
    irist_ok(t, iris_allgather(t->world, &hash, hashes.data(), sizeof hash));
    for (uint64_t h : hashes)
        irist_check(t, h == hash, "offsets differ between ranks");
}

static void data_model(irist_rank *t) { against_model(t, IRIS_MEM_DATA, 256); }
static void sync_model(irist_rank *t) { against_model(t, IRIS_MEM_SYNC, 64); }

TEST_CASE("random allocations and frees agree with a model", "[host][heap]")
{
    irist_spmd(data_model, nullptr);
    irist_spmd(sync_model, nullptr);
}

static void holes_join(irist_rank *t)
{
    const size_t whole = iris_heap_size(t->world, IRIS_MEM_DATA) - iris_heap_used(t->world, IRIS_MEM_DATA),
                 part = whole / 4;
    void *p[4];
    for (int i = 0; i < 4; i++)
        p[i] = iris_malloc(t->world, part - 256);
    if (!irist_check(t, p[0] && p[1] && p[2] && p[3], "four quarters do not fit"))
        return;
    irist_ok(t, iris_free(t->world, p[1]));
    irist_ok(t, iris_free(t->world, p[2]));
    void *two = iris_malloc(t->world, 2 * part - 1024);
    irist_check(t, two == p[1], "two neighbours freed are not one hole");
    irist_ok(t, iris_free(t->world, two));
    irist_ok(t, iris_free(t->world, p[0]));
    irist_ok(t, iris_free(t->world, p[3]));
}

TEST_CASE("freed neighbours become one hole, and the lowest hole is taken first", "[host][heap]")
{
    irist_spmd(holes_join, nullptr);
}

static void full_heap(irist_rank *t)
{
    const size_t whole = iris_heap_size(t->world, IRIS_MEM_DATA);
    char asked[64];
    void *p = iris_malloc(t->world, whole / 2);
    irist_check(t, p != nullptr, "half the heap does not fit: %s", iris_error_string(t->world));
    irist_check(t, !iris_malloc(t->world, whole - 512), "more than the heap was granted");
    std::snprintf(asked, sizeof asked, "asked for %zu bytes", whole - 512);
    const char *said = iris_error_string(t->world);
    irist_check(t, std::strstr(said, asked) && std::strstr(said, "largest hole") && std::strstr(said, "IRIS_HEAP_MB"),
                "%s", said);
    irist_check(t, !iris_malloc(t->world, SIZE_MAX), "SIZE_MAX bytes were granted");
    irist_check(t, !iris_malloc(t->world, SIZE_MAX - 100), "nearly SIZE_MAX bytes were granted");
    irist_check(t, !iris_malloc_kind(t->world, 64, 3, IRIS_MEM_DATA), "an alignment of 3 was granted");
    irist_check(t, !iris_malloc_kind(t->world, 64, (size_t)1 << 60, IRIS_MEM_DATA), "an alignment of 2^60 was granted");
    irist_check(t, !iris_malloc_kind(t->world, 64, 0, (iris_mem_kind)7), "memory of kind 7 was granted");
    irist_check(t, iris_barrier(t->world) == IRIS_ERR_NOMEM && std::strstr(iris_error_string(t->world), asked),
                "the barrier does not report the first allocation that failed: %s", iris_error_string(t->world));
    irist_ok(t, iris_barrier(t->world)); /* once */
    irist_check(t, !iris_signals(t->world, SIZE_MAX / 4), "too many signals were granted");
    irist_check(t, std::strstr(iris_error_string(t->world), "IRIS_SYNC_MB") != nullptr, "%s",
                iris_error_string(t->world));
    irist_check(t, iris_signals(t->world, 0) == nullptr, "no signals were granted");
    irist_check(t, iris_barrier(t->world) == IRIS_ERR_NOMEM && std::strstr(iris_error_string(t->world), "IRIS_SYNC_MB"),
                "the barrier does not report the first creation that failed: %s", iris_error_string(t->world));
    irist_ok(t, iris_barrier(t->world)); /* once */
    iris_channel ch;
    irist_check(t, iris_channel_create(t->world, &ch, SIZE_MAX / 16, 64) == IRIS_ERR_NOMEM,
                "a huge channel was granted");
    irist_check(t, iris_channel_create(t->world, &ch, 4, SIZE_MAX / 2) == IRIS_ERR_NOMEM, "huge banks were granted");
    irist_check(t, iris_channel_create(t->world, nullptr, 4, 64) == IRIS_ERR_ARGUMENT, "a null channel was taken");
    irist_ok(t, iris_free(t->world, p));
    irist_check(t, iris_free(t->world, p) == IRIS_ERR_ARGUMENT, "a second free was taken");
    irist_check(t, iris_free(t->world, (char *)p + 256) == IRIS_ERR_ARGUMENT, "an address inside was freed");
    irist_check(t, iris_free(t->world, &p) == IRIS_ERR_ARGUMENT, "an address of the stack was freed");
    irist_ok(t, iris_free(t->world, nullptr));
}

TEST_CASE("a full heap says so with numbers, and nonsense is refused", "[host][heap]")
{
    irist_spmd(full_heap, nullptr);
}

static void channel_layout(irist_rank *t)
{
    iris_channel a, b;
    const size_t before = iris_heap_used(t->world, IRIS_MEM_SYNC);
    irist_ok(t, iris_channel_create(t->world, &a, 5, 1000));
    irist_ok(t, iris_channel_create(t->world, &b, 0, 0));
    irist_check(t, a.bank_bytes >= 1000 && a.n_signals == 5, "sizes");
    irist_check(t, iris_is_symmetric(t->world, a.banks, 2 * a.bank_bytes), "banks");
    for (size_t i = 0; i < 5; i++)
        irist_check(t, a.signals[i].value == 0, "a signal is not zero");
    irist_check(t, a.state[0] == 0 && a.state[1] == 0 && b.state[0] == 0, "state is not zero");
    irist_check(t, (char *)a.state >= (char *)(a.signals + 5) && a.banks >= (char *)(a.state + 16), "parts overlap");
    std::memset(a.banks, 1, 2 * a.bank_bytes);
    irist_check(t, b.state[0] == 0, "a channel's banks reach into the next channel");
    irist_ok(t, iris_channel_destroy(t->world, &a));
    irist_ok(t, iris_channel_destroy(t->world, &b));
    irist_ok(t, iris_channel_destroy(t->world, &b)); /* zeroed: nothing to do */
    irist_check(t, iris_heap_used(t->world, IRIS_MEM_SYNC) == before, "a destroyed channel left memory behind");
    irist_ok(t, iris_channel_create(t->world, &a, 5, 1000)); /* on memory that was written to */
    irist_check(t, a.banks[0] == 0 && a.signals[0].value == 0, "a channel on used memory is not zero");
    irist_ok(t, iris_channel_destroy(t->world, &a));
}

TEST_CASE("a channel's parts are apart, zero, and come back", "[host][heap]") { irist_spmd(channel_layout, nullptr); }

static void addresses(irist_rank *t)
{
    const iris_ctx ctx = iris_device_ctx(t->world);
    int *p = (int *)iris_malloc(t->world, 1000 * sizeof *p), local = 41;
    irist_check(t, iris_translate(t->world, p, t->rank) == p, "translation to oneself moves");
    irist_check(t, !iris_translate(t->world, &local, 0) && !iris_is_symmetric(t->world, &local, 4),
                "the stack is symmetric");
    irist_check(t, !iris_translate(t->world, p, -1) && !iris_translate(t->world, p, t->ranks),
                "translation to no rank");
    irist_check(t, !iris_is_symmetric(t->world, p, SIZE_MAX) && !iris_is_symmetric(t->world, nullptr, 1),
                "nonsense is symmetric");
    for (int r = 0; r < t->ranks; r++) {
        char *there = (char *)iris_translate(t->world, p, r);
        irist_check(t, there == (char *)p + ctx.delta[r], "delta of rank %d", r);
        irist_check(t, r == t->rank || there != (char *)p, "rank %d's heap lies where mine does", r);
    }
    int *copy = (int *)iris_as_symmetric(t->world, &local, sizeof local);
    irist_check(t, copy && *copy == 41 && iris_is_symmetric(t->world, copy, sizeof local), "iris_as_symmetric");
    irist_ok(t, iris_barrier(t->world));
    ((volatile int *)iris_translate(t->world, p, (t->rank + 1) % t->ranks))[3] = t->rank;
    irist_ok(t, iris_barrier(t->world));
    irist_check(t, p[3] == (t->rank + t->ranks - 1) % t->ranks, "what the neighbour wrote is not here");
    irist_ok(t, iris_free(t->world, copy));
    irist_ok(t, iris_free(t->world, p));
}

TEST_CASE("addresses on other ranks are one addition away", "[host][heap]") { irist_spmd(addresses, nullptr); }

static int open_descriptors()
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* The socket at which this rank receives descriptors of heaps. */
static socklen_t own_post(sockaddr_un *a)
{
    for (int fd = 0; fd < 1024; fd++) {
        socklen_t bytes = sizeof *a;
        std::memset(a, 0, sizeof *a);
        if (getsockname(fd, (sockaddr *)(void *)a, &bytes) == 0 && a->sun_family == AF_UNIX &&
            std::strncmp(a->sun_path + 1, "iris-post-", 10) == 0)
            return bytes;
    }
    return 0;
}

/* Whatever somebody sends there: it is closed, and the heap grows by what the ranks send each other. */
static void strangers(irist_rank *t)
{
    sockaddr_un a;
    const char *how = std::getenv("IRIS_SPAWN");
    if (how && std::strcmp(how, "thread") == 0)
        return; /* ranks of one process send nothing */
    const socklen_t bytes = own_post(&a);
    const int before = open_descriptors(), sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    irist_check(t, bytes > 0 && sock >= 0, "no socket");
    for (size_t n : {(size_t)0, (size_t)1, (size_t)40, (size_t)48}) {
        unsigned char letter[48];
        union {
            cmsghdr align;
            char room[CMSG_SPACE(2 * sizeof(int))];
        } u;
        const int given[2] = {STDERR_FILENO, sock};
        iovec part = {letter, n};
        msghdr m;
        std::memset(letter, n == 40 ? 0xFF : 0, sizeof letter);
        std::memset(&u, 0, sizeof u);
        std::memset(&m, 0, sizeof m);
        m.msg_name = &a;
        m.msg_namelen = bytes;
        m.msg_iov = &part;
        m.msg_iovlen = 1;
        m.msg_control = u.room;
        m.msg_controllen = sizeof u.room;
        cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof given);
        std::memcpy(CMSG_DATA(c), given, sizeof given);
        irist_check(t, sendmsg(sock, &m, MSG_DONTWAIT) == (ssize_t)n, "cannot send a letter of %zu bytes", n);
    }
    close(sock);
    irist_meet(t);
    const size_t size = iris_heap_size(t->world, IRIS_MEM_DATA);
    irist_ok(t, iris_heap_grow(t->world, 1 << 16));
    char *p = (char *)(uintptr_t)iris_device_ctx(t->world).base + iris_device_ctx(t->world).sync_bytes + size;
    ((volatile char *)iris_translate(t->world, p, (t->rank + 1) % t->ranks))[t->rank] = 7;
    irist_meet(t);
    irist_check(t, p[(t->rank + t->ranks - 1) % t->ranks] == 7, "the new part is not everyone's");
    irist_check(t, open_descriptors() == before, "%d descriptors are open, %d were", open_descriptors(), before);
}

TEST_CASE("letters that are not the heap's are thrown away, with what they carry", "[host][heap]")
{
    irist_spmd(strangers, nullptr);
}
