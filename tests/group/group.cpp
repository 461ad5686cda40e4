/* SPDX-License-Identifier: MIT */
/*
 * One thread that drives all worlds of iris_init_all: calls that a group holds, and kernels on all devices at once.
 * Rank 0 of the harness makes the worlds; the other ranks have nothing to do.
 */
#define IRIS_INSTANTIATE_ALL_REDUCE_SUM_F32
#define IRIS_INSTANTIATE_SEND_RECV
#define IRIS_INSTANTIATE_TENSOR
#include <iris/gen/launch/all_reduce.h>
#include <iris/gen/launch/send_recv.h>
#include <iris/gen/launch/tensor.h>
#include <iris/gen/tensor_create.h>
#include <iris/iris.h>
#include <iris/on_stream.h>

#include "gemm/device_memory.h"
#include "harness.h"

#include <cstring>
#include <memory>

/* All worlds of a job in this process. */
struct job {
    irist_rank *t;
    int n;
    iris_world *w[8];
};

static bool ok(job *j, iris_status status, const char *what)
{
    return irist_check(j->t, status == IRIS_OK, "%d worlds, %s: %s: %s", j->n, what, iris_status_name(status),
                       iris_error_string(NULL));
}

static bool says(job *j, iris_status status, iris_status wanted, const char *words)
{
    return irist_check(j->t, status == wanted && std::strstr(iris_error_string(NULL), words),
                       "%d worlds: %s: %s; not %s with '%s'", j->n, iris_status_name(status), iris_error_string(NULL),
                       iris_status_name(wanted), words);
}

static bool begin(job *j, irist_rank *t, int n, int64_t timeout_ms)
{
    iris_config config;
    std::memset(&config, 0, sizeof config);
    std::memset(j, 0, sizeof *j);
    config.heap_bytes = (size_t)4 << 20;
    config.heap_max_bytes = (size_t)64 << 20;
    config.sync_bytes = (size_t)32 << 20;
    config.timeout_ms = timeout_ms;
    j->t = t;
    j->n = n;
    return ok(j, iris_init_all(j->w, n, &config), "iris_init_all");
}

/* The worlds end in a group too. */
static void finish(job *j)
{
    iris_group_begin();
    for (int r = 0; r < j->n; r++)
        ok(j, iris_finalize(j->w[r]), "iris_finalize");
    ok(j, iris_group_end(), "the end of all worlds");
}

/* 1 to 8 worlds, in the smoke tier a few of these. */
static const int counts[] = {1, 2, 3, 8, 4, 5, 6, 7};
static int how_many(const irist_rank *t) { return t->rank != 0 ? 0 : t->full ? 8 : 4; }

static void collectives_of(job *j)
{
    const iris_team all = {0, 0, 0};
    const size_t n = 5000;
    iris_channel ch[8];
    float *x[8];
    uint64_t numbers[8][8], told[8];
    std::vector<std::vector<float>> values((size_t)j->n);
    std::memset(numbers, 0xee, sizeof numbers);
    for (int r = 0; r < j->n; r++) {
        x[r] = iris_empty_f32(j->w[r], n);
        told[r] = 77u + (uint64_t)r;
        for (size_t i = 0; i < n; i++)
            values[(size_t)r].push_back((float)irist_pick(j->t->seed, (uint64_t)r, i, 100));
        ok(j, iris_upload_f32(j->w[r], x[r], values[(size_t)r].data(), n), "iris_upload_f32");
    }
    iris_group_begin();
    for (int r = 0; r < j->n; r++) { /* the collective takes the channel that the call before it makes */
        ok(j, iris_collective_channel(j->w[r], &ch[r], 0), "iris_collective_channel");
        if (std::strcmp(iris_heap_mode(j->w[r]), "vmm") == 0)
            ok(j, iris_heap_grow(j->w[r], 1 << 20), "iris_heap_grow");
        ok(j, iris_barrier(j->w[r]), "iris_barrier");
        ok(j, iris_allgather(j->w[r], &told[r], numbers[r], sizeof told[r]), "iris_allgather");
        ok(j, iris_broadcast(j->w[r], &told[r], sizeof told[r], j->n - 1), "iris_broadcast");
        ok(j, iris_all_reduce_sum_f32(j->w[r], &ch[r], x[r], x[r], n, all, NULL), "iris_all_reduce_sum_f32");
        ok(j, iris_synchronize(j->w[r]), "iris_synchronize");
    }
    if (!ok(j, iris_group_end(), "a group of collectives"))
        return;
    std::vector<float> sums(n);
    for (int r = 0; r < j->n; r++) {
        ok(j, iris_download_f32(j->w[r], sums.data(), x[r], n), "iris_download_f32");
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (int m = 0; m < j->n; m++)
                sum += values[(size_t)m][i];
            if (!irist_check(j->t, sums[i] == sum, "%d worlds, rank %d: sum %zu is %g, not %g", j->n, r, i,
                             (double)sums[i], (double)sum))
                break;
        }
        irist_check(j->t, told[r] == 77u + (uint64_t)j->n - 1, "%d worlds, rank %d: broadcast of %llu", j->n, r,
                    (unsigned long long)told[r]);
        for (int m = 0; m < j->n; m++)
            irist_check(j->t, numbers[r][m] == 77u + (uint64_t)m, "%d worlds, rank %d: row %d gathered is %llu", j->n,
                        r, m, (unsigned long long)numbers[r][m]);
    }
    iris_group_begin();
    for (int r = 0; r < j->n; r++) {
        ok(j, iris_barrier(j->w[r]), "iris_barrier");
        ok(j, iris_channel_destroy(j->w[r], &ch[r]), "iris_channel_destroy");
        ok(j, iris_free(j->w[r], x[r]), "iris_free");
    }
    ok(j, iris_group_end(), "a group that frees");
    for (int r = 0; r < j->n; r++)
        irist_check(j->t, iris_heap_used(j->w[r], IRIS_MEM_DATA) == 0, "rank %d has %zu bytes left", r,
                    iris_heap_used(j->w[r], IRIS_MEM_DATA));
}

static void collectives(irist_rank *t)
{
    job j;
    for (int i = 0; i < how_many(t); i++) {
        if (!begin(&j, t, counts[i], 0))
            return;
        collectives_of(&j);
        finish(&j);
    }
}

TEST_CASE("one thread makes the collective calls of all its worlds", "[group]") { irist_spmd(collectives, nullptr); }

typedef struct pass_args {
    iris_ctx ctx;
    uint64_t *inbox;
    iris_signal *arrived;
    uint64_t turn;
} pass_args;

/* Every device writes its index and the turn into the next one's inbox, and waits for the one before it. */
IRIS_KERNEL(pass_on, pass_args, a, 64)
{
    const int right = (a->ctx.rank + 1) % a->ctx.world;
    if (iris_grid_lane() == 0)
        iris_store_u64(&a->ctx, a->inbox, 1000 * a->turn + (uint64_t)a->ctx.rank, right);
    iris_sync_wg();
    iris_signal_add_wg(&a->ctx, a->arrived, 1, right);
    iris_wait_ge_wg(&a->ctx, a->arrived, a->turn);
}

static bool make_passes(job *j, pass_args *args)
{
    for (int r = 0; r < j->n; r++) {
        args[r].ctx = iris_device_ctx(j->w[r]);
        args[r].inbox = iris_full_u64(j->w[r], 1, 5);
        args[r].arrived = iris_signals(j->w[r], 1);
        args[r].turn = 1;
    }
    iris_group_begin();
    for (int r = 0; r < j->n; r++)
        ok(j, iris_barrier(j->w[r]), "iris_barrier");
    return ok(j, iris_group_end(), "a group of barriers");
}

static bool passed(job *j, const pass_args *args, uint64_t turn)
{
    bool good = true;
    for (int r = 0; r < j->n; r++) {
        good = ok(j, iris_synchronize(j->w[r]), "iris_synchronize") && good;
        const uint64_t wanted = turn ? 1000 * turn + (uint64_t)((r + j->n - 1) % j->n) : 5;
        const uint64_t seen = iris_peek_u64(j->w[r], args[r].inbox);
        good = irist_check(j->t, seen == wanted, "%d worlds, rank %d: inbox has %llu, not %llu", j->n, r,
                           (unsigned long long)seen, (unsigned long long)wanted) && good;
    }
    return good;
}

static void launches_of(job *j)
{
    pass_args args[8];
    std::memset(args, 0, sizeof args);
    if (!make_passes(j, args))
        return;
    const iris_launch_config one = iris_cooperative(1, 64), wide = iris_cooperative(1, 1024);
    /* None is made where one is refused: the last world, and a shape that the kernel does not take. */
    iris_world *w[8];
    std::memcpy(w, j->w, sizeof w);
    w[j->n - 1] = NULL;
    says(j, iris_launch_all(w, j->n, pass_on, args, sizeof args[0], &one, NULL), IRIS_ERR_ARGUMENT, "world is null");
    says(j, iris_launch_all(j->w, 0, pass_on, args, sizeof args[0], &one, NULL), IRIS_ERR_ARGUMENT, "0 worlds");
    says(j, iris_launch_all(NULL, j->n, pass_on, args, sizeof args[0], &one, NULL), IRIS_ERR_ARGUMENT,
         "worlds is null");
    says(j, iris_launch_all(j->w, j->n, pass_on, NULL, sizeof args[0], &one, NULL), IRIS_ERR_ARGUMENT,
         "arguments are null");
    irist_check(j->t, iris_launch_all(j->w, j->n, pass_on, args, sizeof args[0], &wide, NULL) != IRIS_OK,
                "1024 lanes of a kernel for 64 were launched");
    if (!passed(j, args, 0))
        return;
    ok(j, iris_launch_all(j->w, j->n, pass_on, args, sizeof args[0], &one, NULL), "iris_launch_all");
    if (!passed(j, args, 1))
        return;
    /* In a group, on streams, and for each world more than one: held launches keep their order and their arguments. */
    iris_stream streams[8];
    for (int r = 0; r < j->n; r++)
        ok(j, iris_stream_create(j->w[r], &streams[r]), "iris_stream_create");
    iris_group_begin();
    for (uint64_t turn = 2; turn < 6; turn++) {
        for (int r = 0; r < j->n; r++)
            args[r].turn = turn;
        ok(j, iris_launch_all(j->w, j->n, pass_on, args, sizeof args[0], &one, streams), "held launches");
    }
    std::vector<pass_args> kept(args, args + 8);
    for (int r = 0; r < j->n; r++) {
        kept[(size_t)r].turn = 6;
        ok(j, iris_launch(j->w[r], pass_on, &kept[(size_t)r], sizeof args[0], &one, streams[r]), "a held launch");
        kept[(size_t)r].turn = 99;
        ok(j, iris_stream_synchronize(j->w[r], streams[r]), "iris_stream_synchronize");
    }
    ok(j, iris_group_end(), "a group of launches");
    passed(j, args, 6);
    for (int r = 0; r < j->n; r++)
        ok(j, iris_stream_destroy(j->w[r], streams[r]), "iris_stream_destroy");
}

static void launches(irist_rank *t)
{
    job j;
    for (int i = 0; i < how_many(t); i++) {
        if (!begin(&j, t, counts[i], 0))
            return;
        launches_of(&j);
        finish(&j);
    }
}

TEST_CASE("one thread starts a kernel on every device at once, or on none", "[group]")
{
    irist_spmd(launches, nullptr);
}

/* What the next barrier of all worlds says. */
static iris_status meet(job *j)
{
    iris_group_begin();
    for (int r = 0; r < j->n; r++)
        iris_barrier(j->w[r]);
    return iris_group_end();
}

static int leaves_by_try(iris_world *w)
{
    iris_group_begin();
    iris_barrier(w);
    IRIS_TRY(iris_barrier(NULL));
    return 0;
}

static void refusals(irist_rank *t)
{
    job j;
    if (t->rank != 0 || !begin(&j, t, 3, 0))
        return;
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "no iris_group_begin");
    iris_group_begin();
    ok(&j, iris_barrier(j.w[0]), "iris_barrier");
    says(&j, iris_barrier(NULL), IRIS_ERR_ARGUMENT, "world is null");
    ok(&j, iris_barrier(j.w[1]), "iris_barrier");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "iris_barrier: the world is null"); /* and world 0 waits for nobody */

    uint64_t *p = iris_full_u64(j.w[0], 1, 5);
    iris_group_begin();
    irist_check(t, iris_peek_u64(j.w[0], p) == 5, "own memory is not read at once in a group");
    iris_barrier(j.w[0]);
    irist_check(t, iris_zeros_f32(j.w[1], 10) != NULL, "another world's creation was refused: %s",
                iris_error_string(NULL));
    irist_check(t, iris_zeros_f32(j.w[0], 10) == NULL, "creation has overtaken a held call");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "would overtake");

    iris_group_begin();
    irist_check(t, iris_as_symmetric(j.w[0], p, 8) == NULL, "iris_as_symmetric was made inside a group");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "iris_group_call");
    says(&j, meet(&j), IRIS_ERR_ARGUMENT, "iris_as_symmetric"); /* likewise */
    iris_group_begin();
    iris_team all = {0, 0, 0};
    says(&j, iris_launch_all_reduce(j.w[0], NULL, NULL, NULL), IRIS_ERR_ARGUMENT, "is null");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "is null");
    iris_group_begin();
    ok(&j, iris_all_reduce_sum_f32(j.w[0], NULL, NULL, NULL, 0, all, NULL), "what is looked at when it is made");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "channel is not from iris_collective_channel");
    says(&j, iris_group_call(j.w[0], NULL, NULL), IRIS_ERR_ARGUMENT, "function is null");

    ok(&j, meet(&j), "a group after refusals");
    iris_group_begin();
    iris_group_begin();
    iris_barrier(j.w[0]);
    ok(&j, iris_group_end(), "an inner end"); /* world 0 alone would wait */
    iris_barrier(j.w[1]);
    iris_barrier(j.w[2]);
    ok(&j, iris_group_end(), "the outer end");
    ok(&j, iris_group_begin(), "an empty group's begin");
    ok(&j, iris_group_end(), "an empty group");
    irist_check(t, leaves_by_try(j.w[0]) != 0, "IRIS_TRY let a failure pass");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "no iris_group_begin"); /* the function's group is gone */
    finish(&j);
}

TEST_CASE("a group refuses what it cannot hold, and then makes none of its calls", "[group]")
{
    irist_spmd(refusals, nullptr);
}

static int barrier_then_count(iris_world *w, void *arg)
{
    if (iris_barrier(w) != IRIS_OK)
        return 1;
    *(int *)arg += 1;
    return 0;
}

static int fails(iris_world *w, void *arg)
{
    (void)w;
    *(int *)arg += 100;
    return 3;
}

static int fails_in_a_call(iris_world *w, void *arg)
{
    *(int *)arg += 100;
    return iris_memcpy(w, NULL, arg, 4) != IRIS_OK;
}

/* On world 1 a failure of its own, which the others hear of: their memory would do, a GPU's too. */
static int fails_for_all(iris_world *w, void *memory)
{
    iris_window window;
    return iris_register(w, iris_rank(w) == 1 ? NULL : memory, 64, &window) != IRIS_OK;
}

static void failures(irist_rank *t)
{
    std::unique_ptr<device_memory> memory[3];
    job j;
    int counts_of[3] = {0, 0, 0};
    if (t->rank != 0 || !begin(&j, t, 3, 300))
        return;
    for (int how = 0; how < 2; how++) {
        std::memset(counts_of, 0, sizeof counts_of);
        iris_group_begin();
        for (int r = 0; r < 3; r++) {
            iris_group_call(j.w[r], barrier_then_count, &counts_of[r]);
            if (r == 1)
                iris_group_call(j.w[r], how ? fails_in_a_call : fails, &counts_of[r]);
            iris_group_call(j.w[r], barrier_then_count, &counts_of[r]);
        }
        says(&j, iris_group_end(), how ? IRIS_ERR_ARGUMENT : IRIS_ERR_PEER,
             how ? "rank 1: iris_memcpy: the destination is null" : "the function returned 3 on rank 1");
        irist_check(t, counts_of[0] == 1 && counts_of[1] == 101 && counts_of[2] == 1,
                    "calls behind the failed one: %d %d %d", counts_of[0], counts_of[1], counts_of[2]);
        iris_group_begin(); /* the others have waited for rank 1 in vain: mend the worlds */
        for (int r = 0; r < 3; r++)
            iris_reset(j.w[r]);
        ok(&j, iris_group_end(), "a group of iris_reset");
        ok(&j, meet(&j), "a barrier after iris_reset");
    }
    for (int r = 0; r < 3; r++)
        memory[r].reset(new device_memory(j.w[r], 64));
    iris_group_begin();
    for (int r = 0; r < 3; r++)
        iris_group_call(j.w[r], fails_for_all, memory[r]->base);
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "rank 1: iris_register");
    for (int r = 0; r < 3; r++)
        irist_check(t, std::strstr(iris_error_string(j.w[r]), "rank 1: iris_register") != nullptr, "world %d: %s", r,
                    iris_error_string(j.w[r]));
    iris_group_begin(); /* a world ends whatever failed before it */
    for (int r = 0; r < 3; r++) {
        iris_group_call(j.w[r], fails, &counts_of[r]);
        iris_finalize(j.w[r]);
    }
    says(&j, iris_group_end(), IRIS_ERR_PEER, "the function returned 3");
}

TEST_CASE("the end of a group says which call failed first", "[group]") { irist_spmd(failures, nullptr); }

static void messages(irist_rank *t)
{
    job j;
    iris_channel ch[3];
    uint32_t *to[3], *from[3];
    if (t->rank != 0 || !begin(&j, t, 3, 0))
        return;
    for (int r = 0; r < 3; r++) {
        from[r] = iris_full_u32(j.w[r], 999, 10u + (uint32_t)r);
        to[r] = iris_zeros_u32(j.w[r], 999);
    }
    iris_group_begin();
    for (int r = 0; r < 3; r++) {
        iris_collective_channel(j.w[r], &ch[r], 0);
        iris_barrier(j.w[r]);
        iris_exchange_u32(j.w[r], &ch[r], to[r], (r + 2) % 3, from[r], (r + 1) % 3, 999, NULL);
    }
    ok(&j, iris_group_end(), "a ring of messages");
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 999; i += 499)
            irist_check(t, iris_peek_u32(j.w[r], to[r] + i) == 10u + (uint32_t)(r + 2) % 3,
                        "rank %d, element %d: %u", r, i, iris_peek_u32(j.w[r], to[r] + i));
    finish(&j);
}

TEST_CASE("messages of one thread's worlds go around a ring", "[group]") { irist_spmd(messages, nullptr); }

/* Rows become columns; what copies all elements to every rank is no call that a group holds. */
static void tensors(irist_rank *t)
{
    const int64_t size[] = {23, 11};
    const iris_tensor_layout rows = iris_tensor_split(IRIS_I32, 2, size, 0, 1);
    const iris_tensor_layout columns = iris_tensor_split(IRIS_I32, 2, size, 1, 1);
    iris_tensor from[3], to[3];
    iris_channel ch[3];
    int32_t host[23 * 11];
    job j;
    if (t->rank != 0 || !begin(&j, t, 3, 0))
        return;
    iris_group_begin();
    for (int r = 0; r < 3; r++) {
        ok(&j, iris_tensor_arange_i32(j.w[r], &from[r], &rows, 0, 1), "a tensor of rows");
        ok(&j, iris_tensor_zeros_i32(j.w[r], &to[r], &columns), "a tensor of columns");
        iris_collective_channel(j.w[r], &ch[r], 0);
        iris_barrier(j.w[r]);
        ok(&j, iris_tensor_reshard(j.w[r], &ch[r], &to[r], &from[r], NULL), "iris_tensor_reshard");
        iris_synchronize(j.w[r]);
    }
    ok(&j, iris_group_end(), "rows that become columns");
    for (int r = 0; r < 3; r++) {
        const iris_tensor_shard own = iris_tensor_shard_of(&to[r], r);
        ok(&j, iris_tensor_download_shard(j.w[r], &to[r], host), "iris_tensor_download_shard");
        for (int64_t i = 0; i < 23 * own.count[1]; i++) {
            const int64_t want = i / own.count[1] * 11 + own.first[1] + i % own.count[1];
            irist_check(t, host[i] == (int32_t)want, "rank %d, element %lld: %d", r, (long long)i, host[i]);
        }
    }
    iris_group_begin();
    says(&j, iris_tensor_download(j.w[0], &to[0], host), IRIS_ERR_ARGUMENT, "iris_group_begin does not hold this call");
    iris_group_end();
    finish(&j);
}

TEST_CASE("tensors of one thread's worlds change their layout", "[group]") { irist_spmd(tensors, nullptr); }

/* Memory of another length on each, in the same group as what goes there; then a world refuses its own. */
static void windows(irist_rank *t)
{
    std::unique_ptr<device_memory> memory[3];
    iris_window win[3];
    uint32_t *from[3];
    job j;
    if (t->rank != 0 || !begin(&j, t, 3, 0))
        return;
    for (int r = 0; r < 3; r++) {
        memory[r].reset(new device_memory(j.w[r], 64 + 16 * (size_t)r));
        from[r] = iris_full_u32(j.w[r], 4, 10u + (uint32_t)r);
    }
    iris_group_begin();
    for (int r = 0; r < 3; r++) {
        ok(&j, iris_register(j.w[r], memory[r]->base, 64 + 16 * (size_t)r, &win[r]), "iris_register");
        ok(&j, iris_put_on_stream(j.w[r], memory[r]->base + 48, from[r], 16, (r + 1) % 3, NULL), "a put");
        iris_barrier(j.w[r]);
    }
    ok(&j, iris_group_end(), "windows of three worlds");
    for (int r = 0; r < 3; r++) {
        uint32_t got = 0;
        ok(&j, iris_memcpy(j.w[r], &got, memory[r]->base + 60, sizeof got), "iris_memcpy");
        irist_check(t, got == 10u + (uint32_t)(r + 2) % 3, "rank %d has %u", r, got);
        irist_check(t, iris_window_bytes(j.w[0], &win[0], r) == 64 + 16 * (size_t)r, "rank %d has another length", r);
    }
    iris_group_begin();
    for (int r = 0; r < 3; r++)
        ok(&j, iris_unregister(j.w[r], &win[r]), "iris_unregister");
    ok(&j, iris_group_end(), "windows that end");
    iris_group_begin();
    for (int r = 0; r < 3; r++)
        ok(&j, iris_register(j.w[r], r == 1 ? NULL : memory[r]->base, 64, &win[r]), "iris_register");
    says(&j, iris_group_end(), IRIS_ERR_ARGUMENT, "rank 1: iris_register: 64 bytes at");
    for (int r = 0; r < 3; r++)
        irist_check(t, win[r].ctx.window == 0, "rank %d has a window that rank 1 has refused", r);
    finish(&j);
}

TEST_CASE("one thread makes windows of all its worlds' memory", "[group]") { irist_spmd(windows, nullptr); }
