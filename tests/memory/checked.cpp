/* SPDX-License-Identifier: MIT */
/*
 * Tries <iris/check.h>: in checked mode what an operation must not touch is refused, reported in one sentence with the
 * kernel's name, and harms nothing; what it may touch it touches as ever.
 */
#define IRIS_CHECKED 1

#include "harness.h"

#include <cstring>
#include <string>

#include <iris/gen/atomic.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/put_signal_2d.h>
#include <iris/gen/rma.h>
#include <iris/gen/rma_cache.h>
#include <iris/gen/tensor_access.h>
#include <iris/gen/wait.h>
#include <iris/collective/ll.h>

namespace {

enum deed {
    AT,
    LOAD,
    LOAD_CACHE,
    LOAD_VEC,
    STORE,
    STORE_VEC,
    PUT,
    PUT_CACHE,
    PUT_WAVE,
    PUT_WG,
    GET_WG,
    COPY_FROM,
    COPY_TO,
    PUT_SIGNAL,
    PUT_2D,
    PUT_2D_NARROW,
    GET_2D,
    GET_2D_NARROW,
    COPY_2D,
    PUT_SIGNAL_2D,
    ATOMIC_ADD,
    ATOMIC_CAS,
    ATOMIC_NARROW,
    SIGNAL_SET,
    SIGNAL_ADD_WG,
    SIGNAL_READ,
    WAIT,
    WAIT_ANY,
    WAIT_ALL_WG,
    LL_SEND,
    LL_RECEIVE,
    LL_PUT_WG,
    LL_GET_WG,
    TENSOR_LOAD,
    TENSOR_STORE,
    TENSOR_LOAD_VEC,
    TENSOR_STORE_VEC
};

/* Where the operation points to, from a good place on. */
enum place { GOOD, END, LAST, BEFORE, NOWHERE, ODD, DATA, RANK };

struct violation {
    const char *name;
    int deed, place;
    uint64_t n;
    const char *words; /* the sentence has them */
};

const violation violations[] = {
    {"address on a rank that is not there", AT, RANK, 0, "iris_at at heap offset"},
    {"address of private memory", AT, NOWHERE, 0, "at address 0x"},
    {"load behind the heap", LOAD, END, 1, "load of 1 x 4 bytes at heap offset"},
    {"load before the heap", LOAD_CACHE, BEFORE, 1, "is not inside the heap of"},
    {"load of an odd address", LOAD, ODD, 1, "is not aligned to 4 bytes"},
    {"vector load of half a vector's alignment", LOAD_VEC, ODD, 1, "is not aligned to 16 bytes"},
    {"store to a rank that is not there", STORE, RANK, 1, "names no rank of this world (0 to"},
    {"store to private memory", STORE, NOWHERE, 1, "store of 1 x 4 bytes at address 0x"},
    {"vector store at an odd place", STORE_VEC, ODD, 1, "store of 1 x 16 bytes"},
    {"put over the heap's end", PUT, GOOD, (uint64_t)1 << 40, "put of 1099511627776 x 4 bytes at heap offset"},
    {"put of more than there can be", PUT, GOOD, ~(uint64_t)0 / 2, "is not inside the heap of"},
    {"put with cache hints behind the heap", PUT_CACHE, END, 9, "put of 9 x 4 bytes"},
    {"put_wave to a rank that is not there", PUT_WAVE, RANK, 5, "put of 5 x 4 bytes"},
    {"put_wg behind the heap", PUT_WG, END, 9, "put of 9 x 4 bytes"},
    {"get_wg of an odd address", GET_WG, ODD, 9, "get of 9 x 4 bytes"},
    {"copy from nowhere", COPY_FROM, NOWHERE, 9, "copy of 9 x 4 bytes"},
    {"copy to a rank that is not there", COPY_TO, RANK, 9, "names no rank"},
    {"put_signal to nowhere", PUT_SIGNAL, NOWHERE, 9, "put of 9 x 4 bytes"},
    {"rows put over the heap's end", PUT_2D, GOOD, (uint64_t)1 << 40, "put of 3298534883331 x 4 bytes at heap offset"},
    {"rows put so far apart that their bytes wrap", PUT_2D, GOOD, ~(uint64_t)0 / 3, "is not inside the heap of"},
    {"rows put over each other", PUT_2D_NARROW, GOOD, 4, "is of a row that is longer than the pitch of dst"},
    {"rows put of which the last ends behind the heap", PUT_2D, LAST, 5, "put of 18 x 4 bytes"},
    {"rows got from behind the heap", GET_2D, END, 5, "get of 18 x 4 bytes"},
    {"rows got over each other", GET_2D_NARROW, GOOD, 4, "get of 5 x 4 bytes"},
    {"rows copied to a rank that is not there", COPY_2D, RANK, 5, "copy of 18 x 4 bytes"},
    {"rows with a signal put to nowhere", PUT_SIGNAL_2D, NOWHERE, 5, "put of 18 x 4 bytes"},
    {"atomic at an odd address", ATOMIC_ADD, ODD, 1, "atomic operation of 1 x 8 bytes"},
    {"atomic on private memory", ATOMIC_CAS, NOWHERE, 1, "is not inside the heap"},
    {"atomic of 2 bytes behind the heap", ATOMIC_NARROW, END, 1, "atomic operation of 1 x 2 bytes"},
    {"atomic on a peer's data memory", ATOMIC_ADD, DATA, 1, "is atomic but not in sync memory"},
    {"signal that is null", SIGNAL_SET, NOWHERE, 1, "signal of 1 x 8 bytes"},
    {"signal in a peer's data memory", SIGNAL_ADD_WG, DATA, 1, "is atomic but not in sync memory"},
    {"reading a signal outside the heap", SIGNAL_READ, END, 1, "wait of 1 x 8 bytes"},
    {"waiting for a null signal", WAIT, NOWHERE, 1, "wait of 1 x 8 bytes"},
    {"waiting for any of too many signals", WAIT_ANY, GOOD, (uint64_t)1 << 40, "wait of 1099511627776 x 8 bytes"},
    {"waiting for all null signals", WAIT_ALL_WG, NOWHERE, 3, "wait of 1 x 8 bytes"},
    {"LL word to a rank that is not there", LL_SEND, RANK, 1, "LL message of 1 x 8 bytes"},
    {"LL word from an odd slot", LL_RECEIVE, ODD, 1, "is not aligned to 8 bytes"},
    {"LL message over the heap's end", LL_PUT_WG, END, 9, "LL message of 3 x 8 bytes"},
    {"LL message from nowhere", LL_GET_WG, NOWHERE, 9, "LL message of 3 x 8 bytes"},
    {"row behind a tensor's last", TENSOR_LOAD, GOOD, 2, "index 2 of dimension 0 is outside the tensor, which has 2"},
    {"column before a tensor's first", TENSOR_STORE, GOOD, ~(uint64_t)0, "index -1 of dimension 1 is outside"},
    {"vector behind a tensor", TENSOR_LOAD_VEC, GOOD, 1000, "index 1000 of dimension 1 is outside the tensor"},
    {"vector beyond a shard", TENSOR_LOAD_VEC, GOOD, 4, "16 bytes of a tensor from index 4 of dimension 1 on"},
    {"vector beyond a shard, stored", TENSOR_STORE_VEC, GOOD, 4, "ask iris_tensor_vec_fits"},
};

enum { BYTES = 256, WORKGROUPS = 3 };

struct args {
    iris_ctx ctx;
    char *p;    /* what the operation points to */
    char *good; /* sync memory of BYTES bytes */
    char *own;  /* own memory, as long */
    uint32_t *out;
    iris_signal *signal;
    iris_tensor tensor; /* 2 rows; 5 columns of them on each rank, in `good` */
    uint64_t n;
    int deed, rank;
};

/* A wait that was refused held nothing: a good place shows it. */
IRIS_DEVICE void held_after_all(const args *a, int held)
{
    if (held)
        *(volatile char *)a->good = 0;
}

IRIS_DEVICE void one_lane(const args *a, uint32_t *p)
{
    const iris_ctx *c = &a->ctx;
    uint32_t *own = (uint32_t *)(void *)a->own;
    const iris_vec_u32 vec = {{1, 2, 3, 4}};
    const int64_t index[] = {a->deed == TENSOR_LOAD ? (int64_t)a->n : 0, a->deed == TENSOR_LOAD ? 0 : (int64_t)a->n};
    switch (a->deed) {
    case AT: *(volatile char *)iris_at(c, p, a->rank) = 1; break;
    case LOAD: own[0] = iris_load_u32(c, p, a->rank); break;
    case LOAD_CACHE: own[0] = iris_load_cache_u32(c, p, a->rank, IRIS_CACHE_STREAM); break;
    case LOAD_VEC: own[0] = iris_load_vec_u32(c, p, a->rank, IRIS_CACHE_DEFAULT).v[3]; break;
    case STORE: iris_store_u32(c, p, 7, a->rank); break;
    case STORE_VEC: iris_store_vec_u32(c, p, vec, a->rank, IRIS_CACHE_DEFAULT); break;
    case PUT: iris_put_u32(c, p, own, a->n, a->rank); break;
    case PUT_CACHE: iris_put_cache_u32(c, p, own, a->n, a->rank, IRIS_CACHE_CG, IRIS_CACHE_WB); break;
    case COPY_FROM: iris_copy_u32(c, (uint32_t *)(void *)a->good, p, a->n, c->rank, a->rank); break;
    case COPY_TO: iris_copy_u32(c, p, (const uint32_t *)(void *)a->good, a->n, a->rank, c->rank); break;
    case PUT_SIGNAL: iris_put_signal_u32(c, p, own, a->n, a->signal, 1, IRIS_SIGNAL_ADD, a->rank); break;
    case PUT_2D: iris_put_2d_u32(c, p, own, 4, 3, a->n, 4, a->rank); break;
    case PUT_2D_NARROW: iris_put_2d_u32(c, p, own, 3, 5, a->n, 5, a->rank); break;
    case GET_2D: iris_get_2d_u32(c, own, p, 4, 3, 4, a->n, a->rank); break;
    case GET_2D_NARROW: iris_get_2d_u32(c, (uint32_t *)(void *)a->good, p, 3, 5, a->n, 5, a->rank); break;
    case COPY_2D: iris_copy_2d_u32(c, p, (const uint32_t *)(void *)a->good, 4, 3, a->n, 4, a->rank, c->rank); break;
    case PUT_SIGNAL_2D:
        iris_put_signal_2d_u32(c, p, own, 4, 3, a->n, 4, a->signal, 1, IRIS_SIGNAL_ADD, a->rank);
        break;
    case ATOMIC_ADD: iris_atomic_add_u64(c, (uint64_t *)(void *)p, 1, a->rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM); break;
    case ATOMIC_CAS: iris_atomic_cas_f32(c, (float *)(void *)p, 0, 1, a->rank, IRIS_ACQ_REL, IRIS_SCOPE_SYSTEM); break;
    case ATOMIC_NARROW:
        iris_atomic_max_i16(c, (int16_t *)(void *)p, 9, a->rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        break;
    case SIGNAL_SET: iris_signal_set(c, (iris_signal *)(void *)p, 7, a->rank); break;
    case SIGNAL_READ: own[0] = (uint32_t)iris_signal_read(c, (const iris_signal *)(void *)p); break;
    case WAIT: held_after_all(a, iris_wait_le(c, (const iris_signal *)(void *)p, 7)); break;
    case WAIT_ANY: held_after_all(a, iris_wait_any_ge(c, (const iris_signal *)(void *)p, a->n, 7) != a->n); break;
    case LL_SEND: iris_ll_send(c, (iris_ll_packet *)(void *)p, 7, iris_ll_flag(1), a->rank); break;
    case LL_RECEIVE: own[0] = iris_ll_receive(c, (const iris_ll_packet *)(void *)p, iris_ll_flag(1), a->rank); break;
    case TENSOR_LOAD: own[0] = iris_tensor_load_u32(c, &a->tensor, index); break;
    case TENSOR_STORE: iris_tensor_store_u32(c, &a->tensor, index, 7); break;
    case TENSOR_LOAD_VEC: own[0] = iris_tensor_load_vec_u32(c, &a->tensor, index).v[3]; break;
    case TENSOR_STORE_VEC: iris_tensor_store_vec_u32(c, &a->tensor, index, vec); break;
    }
}

IRIS_KERNEL(violating_kernel, args, a, 256)
{
    const iris_ctx *c = &a->ctx;
    uint32_t *p = (uint32_t *)(void *)a->p, *own = (uint32_t *)(void *)a->own;
    if (iris_workgroup() == WORKGROUPS - 1) {
        if (iris_wg_lane() == 0)
            one_lane(a, p);
        if (a->deed == PUT_WAVE && iris_wave() == 0)
            iris_put_u32_wave(c, p, own, a->n, a->rank);
        if (a->deed == PUT_WG)
            iris_put_u32_wg(c, p, own, a->n, a->rank);
        if (a->deed == GET_WG)
            iris_get_u32_wg(c, own, p, a->n, a->rank);
        if (a->deed == SIGNAL_ADD_WG)
            iris_signal_add_wg(c, (iris_signal *)(void *)p, 1, a->rank);
        if (a->deed == WAIT_ALL_WG)
            held_after_all(a, iris_wait_all_le_wg(c, (const iris_signal *)(void *)p, a->n, 7));
        if (a->deed == LL_PUT_WG)
            iris_ll_put_wg(c, (iris_ll_packet *)(void *)p, own, a->n, iris_ll_flag(1), a->rank);
        if (a->deed == LL_GET_WG)
            iris_ll_get_wg(c, own, (const iris_ll_packet *)(void *)p, a->n, iris_ll_flag(1), a->rank);
    }
    iris_sync_wg();
    if (iris_wg_lane() == 0)
        a->out[iris_workgroup()] = 1;
}

IRIS_KERNEL(bystander_kernel, args, a, 64)
{
    if (iris_grid_lane() == 0)
        a->out[WORKGROUPS] = 1;
}

/* Lane 0 is about to report a refused access; a wait that is refused meanwhile, and what iris_stopped says after it. */
IRIS_KERNEL(second_kernel, args, a, 64)
{
    if (iris_grid_lane() != 0)
        return;
    irisi_report *report = irisi_claim(&a->ctx);
    a->out[0] = iris_wait_ge(&a->ctx, (const iris_signal *)(void *)a->p, 1) ? 9 : 1;
    a->out[1] = (uint32_t)iris_stopped(&a->ctx);
    if (report == NULL)
        return;
    report->fault = IRISI_FAULT_RANGE;
    report->access = IRISI_ACCESS_PUT;
    report->workgroups = iris_workgroups();
    report->from = a->ctx.rank;
    report->items = report->size = 1;
    irisi_publish(&a->ctx, report);
}

struct fixture {
    args a;
    char *data;
    explicit fixture(irist_rank *t)
    {
        std::memset(static_cast<void *>(&a), 0, sizeof a);
        a.ctx = iris_device_ctx(t->world);
        a.good = (char *)iris_malloc_kind(t->world, BYTES, 0, IRIS_MEM_SYNC);
        a.own = (char *)iris_malloc(t->world, BYTES);
        data = (char *)iris_malloc(t->world, BYTES);
        a.out = (uint32_t *)iris_malloc(t->world, (WORKGROUPS + 1) * sizeof(uint32_t));
        a.signal = iris_signals(t->world, 1);
        irist_check(t, a.good && a.own && data && a.out && a.signal, "%s", iris_error_string(t->world));
        const int64_t size[] = {2, 5 * t->ranks};
        const iris_tensor_layout columns = iris_tensor_split(IRIS_U32, 2, size, 1, 5);
        irist_ok(t, iris_tensor_wrap(t->world, &a.tensor, &columns, a.good, BYTES));
        irist_ok(t, iris_memset(t->world, a.own, 0, BYTES));
        irist_ok(t, iris_memset(t->world, a.out, 0, (WORKGROUPS + 1) * sizeof(uint32_t)));
        irist_upload(t, a.good, irist_poisoned(BYTES));
        irist_upload(t, data, irist_poisoned(BYTES));
        irist_meet(t);
    }
    void expect_untouched(irist_rank *t, const char *what)
    {
        irist_check(t,
                    irist_download(t, a.good, BYTES) == irist_poisoned(BYTES) &&
                        irist_download(t, data, BYTES) == irist_poisoned(BYTES),
                    "%s: a good place was written", what);
    }
    void free(irist_rank *t)
    {
        irist_meet(t);
        irist_ok(t, iris_free(t->world, a.signal));
        irist_ok(t, iris_free(t->world, a.out));
        irist_ok(t, iris_free(t->world, data));
        irist_ok(t, iris_free(t->world, a.own));
        irist_ok(t, iris_free(t->world, a.good));
    }
};

bool has(const std::string &sentence, const std::string &words) { return sentence.find(words) != std::string::npos; }

/* The last rank does what it must not; the others are in iris_barrier. */
void refused(irist_rank *t)
{
    const violation *v = (const violation *)t->arg;
    const int last = t->ranks - 1;
    const bool amd_or_host = IRISI_REMOTE_ATOMICS_NEED_SYNC || iris_arch_name(t->world) == std::string("host");
    if (v->place == DATA && (t->ranks == 1 || !amd_or_host))
        return; /* own data memory is fine, and on NVIDIA a peer's is */
    fixture f(t);
    static char nothing[64];
    const uintptr_t base = (uintptr_t)f.a.ctx.base, end = base + (uintptr_t)f.a.ctx.bytes;
    f.a.deed = v->deed;
    f.a.n = v->n;
    f.a.rank = v->place == RANK ? (v->n % 2 ? -1 : t->ranks) : v->place == DATA ? 0 : last;
    f.a.p = v->place == END ? (char *)end : v->place == BEFORE ? (char *)(base - 64) : f.a.good;
    if (v->place == LAST)
        f.a.p = (char *)(end - 17 * sizeof(uint32_t));
    if (v->place == NOWHERE)
        f.a.p = v->deed == STORE ? nothing : nullptr;
    if (v->place == ODD)
        f.a.p = f.a.good + (v->deed == LOAD_VEC || v->deed == STORE_VEC ? 8
                            : v->deed == LOAD || v->deed == GET_WG      ? 2
                                                                        : 4);
    if (v->place == DATA)
        f.a.p = f.data;
    iris_status status = IRIS_OK;
    const iris_launch_config grid = iris_cooperative(WORKGROUPS, 128), other = iris_grid(1, 64);
    if (t->rank == last) {
        irist_ok(t, iris_launch(t->world, violating_kernel, &f.a, sizeof f.a, &grid, iris_default_stream(t->world)));
        irist_ok(t, iris_launch(t->world, bystander_kernel, &f.a, sizeof f.a, &other, iris_default_stream(t->world)));
        status = iris_synchronize(t->world);
    } else {
        status = iris_barrier(t->world);
    }
    const std::string sentence = iris_error_string(t->world);
    const std::string who = "rank " + std::to_string(last) + ", ";
    irist_check(t, status == IRIS_ERR_CHECK, "%s: %s (%s)", v->name, iris_status_name(status), sentence.c_str());
    irist_check(t, has(sentence, who) && has(sentence, "workgroup 2: ") && has(sentence, v->words),
                "%s: the sentence does not say \"%s\": %s", v->name, v->words, sentence.c_str());
    irist_check(t, t->rank != last || has(sentence, "kernel violating_kernel, "), "%s: which kernel? %s", v->name,
                sentence.c_str());
    irist_check(t, iris_synchronize(t->world) == IRIS_ERR_CHECK, "%s: the world works without iris_reset", v->name);
    irist_ok(t, iris_reset(t->world));
    uint32_t out[WORKGROUPS + 1];
    irist_ok(t, iris_memcpy(t->world, out, f.a.out, sizeof out));
    for (uint32_t one : out)
        irist_check(t, one == (t->rank == last ? 1u : 0u), "%s: the kernel did not go on to its end", v->name);
    f.expect_untouched(t, v->name);
    f.free(t);
}

/* A wait that is refused second has stopped the world as the first: a loop that asks iris_stopped ends. */
void refused_second(irist_rank *t)
{
    fixture f(t);
    const iris_launch_config grid = iris_cooperative(1, 64);
    const int last = t->ranks - 1;
    iris_status status = IRIS_OK;
    f.a.p = nullptr;
    if (t->rank == last) { /* alone: a peer's refusal could stop the world before this launch */
        irist_ok(t, iris_launch(t->world, second_kernel, &f.a, sizeof f.a, &grid, iris_default_stream(t->world)));
        status = iris_synchronize(t->world);
    } else {
        status = iris_barrier(t->world);
    }
    irist_check(t, status == IRIS_ERR_CHECK && has(iris_error_string(t->world), "put of 1 x 1 bytes"), "%s (%s)",
                iris_status_name(status), iris_error_string(t->world));
    irist_ok(t, iris_reset(t->world));
    uint32_t out[2];
    irist_ok(t, iris_memcpy(t->world, out, f.a.out, sizeof out));
    if (t->rank != last)
        out[0] = out[1] = 1;
    irist_check(t, out[0] == 1, "a wait for a null signal held");
    irist_check(t, out[1] == 1, "a wait was refused, and iris_stopped says %u", out[1]);
    f.free(t);
}

/* Everything at the very edge of what is allowed. */
IRIS_KERNEL(allowed_kernel, args, a, 256)
{
    const iris_ctx *c = &a->ctx;
    uint32_t *p = (uint32_t *)(void *)a->good, *own = (uint32_t *)(void *)a->own;
    uint32_t *wild = (uint32_t *)(void *)a->p, *end = (uint32_t *)((uintptr_t)c->base + (uintptr_t)c->bytes);
    const int to = (c->rank + 1) % c->world;
    if (iris_wg_lane() == 0) {
        iris_store_u32(c, p, 11, to);
        iris_store_vec_u32(c, p + 4, iris_load_vec_u32(c, p + 8, c->rank, IRIS_CACHE_DEFAULT), to, IRIS_CACHE_DEFAULT);
        iris_put_u32(c, wild, own, 0, to);
        iris_put_2d_u32(c, wild, own, 0, 5, 1, 1, to);
        iris_put_2d_u32(c, wild, own, 5, 0, 0, 0, to);
        iris_put_2d_u32(c, p + 1, own + 16, 1, 3, 0, 0, to); /* one row needs no pitch */
        iris_atomic_add_u32(c, p + 12, 5, to, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_ll_send(c, (iris_ll_packet *)(void *)(p + 14), 3, iris_ll_flag(1), to);
    }
    iris_get_u32_wg(c, own, end - 16, 16, to);
    iris_sync_wg();
    iris_get_2d_u32_wg(c, own, end - 16, 3, 4, 4, 6, to);
    iris_sync_wg();
    iris_put_2d_u32_wg(c, end - 16, own, 3, 4, 6, 4, to); /* what was there */
    iris_put_signal_u32_wg(c, p + 16, own + 16, 48, a->signal, 1, IRIS_SIGNAL_ADD, to);
    iris_wait_ge_wg(c, a->signal, 1);
}

void allowed(irist_rank *t)
{
    fixture f(t);
    irist_run(t, allowed_kernel, f.a, iris_cooperative(1, 128));
    irist_meet(t);
    const std::vector<unsigned char> got = irist_download(t, f.a.good, BYTES), before = irist_poisoned(BYTES);
    uint32_t word[16], was[16];
    std::memcpy(word, got.data(), sizeof word);
    std::memcpy(was, before.data(), sizeof was);
    irist_check(t,
                word[0] == 11 && !word[1] && !word[3] && word[4] == was[8] && word[12] == was[12] + 5 &&
                    word[14] == 3 && word[15] == iris_ll_flag(1) && got[64] == 0 && got[255] == 0,
                "an allowed operation did not take place");
    f.free(t);
}

} // namespace

TEST_CASE("checked mode refuses what must not be touched, and says so", "[memory]")
{
    for (const violation &v : violations) {
        SECTION(v.name) { irist_spmd(refused, &v); }
    }
}

TEST_CASE("after a refused wait the world has stopped, whoever reports", "[memory]")
{
    irist_spmd(refused_second, nullptr);
}

TEST_CASE("checked mode lets through what may be touched", "[memory]") { irist_spmd(allowed, nullptr); }
