/* SPDX-License-Identifier: MIT */
/*
 * Litmus tests of the memory model: what may not happen, tried a hundred thousand times.
 *
 * Two to four agents, spread over ranks and workgroups, each run a line of the test for every cell of a batch. A cell
 * holds the batch's number once written, so nothing is cleared in between. Names after Alglave, Maranget, Tautschnig,
 * "Herding Cats", ACM TOPLAS 36 (2014): store buffering, message passing, load buffering, independent reads of
 * independent writes, write-to-read causality, coherent reads.
 */
#include "harness.h"

#include <cstring>

#include <iris/gen/atomic.h>
#include <iris/gen/load_store.h>
#include <iris/gen/put_signal.h>
#include <iris/gen/wait.h>

namespace {

enum test { SB, MP_ATOMIC, MP_FENCE, MP_SIGNAL, MP_ADD, MP_PUT, LB, IRIW, WRC, CORR, PAIR };
enum { BATCH = 1024, CELL = 16, AGENTS = 4, LANES = 64 }; /* cells of a batch, words of a cell, most agents */

struct args {
    iris_ctx ctx;
    uint32_t *cells[2]; /* symmetric: x and y */
    iris_signal *flags; /* symmetric: y where it is a signal */
    uint32_t *own;      /* own memory: what each of this rank's agents saw, 2 words for each cell */
    uint32_t *seen;     /* symmetric, used on rank 0: 2 banks of what every agent saw */
    iris_signal *met;   /* symmetric: one for each pair of agents */
    uint32_t *ready;    /* the same, for the start of a batch */
    uint64_t *bad;      /* own memory: [0] how often, [1] batch, [2] cell of the first */
    uint64_t first, batches, seed;
    int test, agents, home[2];
};

IRIS_DEVICE void set(const args *a, int v, uint32_t i, uint32_t value, iris_order order)
{
    iris_atomic_set_u32(&a->ctx, a->cells[v] + i * CELL, value, a->home[v], order, IRIS_SCOPE_SYSTEM);
}
IRIS_DEVICE uint32_t get(const args *a, int v, uint32_t i, iris_order order)
{
    return iris_atomic_fetch_u32(&a->ctx, a->cells[v] + i * CELL, a->home[v], order, IRIS_SCOPE_SYSTEM);
}

/* A cell as 16 bytes that are written and read at once. */
IRIS_DEVICE uint64_t *pair(const args *a, uint32_t i)
{
    return (uint64_t *)irisi_translate(&a->ctx, a->cells[0] + i * CELL, a->home[0]);
}

/* Writer and reader of message passing: x is the data, y the flag. The reader looks at x only behind a raised flag. */
IRIS_DEVICE void message_write(const args *a, uint32_t i, uint32_t now, uint32_t *scratch)
{
    uint32_t *x = a->cells[0] + i * CELL;
    if (a->test == MP_FENCE) {
        set(a, 0, i, now, IRIS_RELAXED);
        iris_fence(&a->ctx);
        set(a, 1, i, now, IRIS_RELAXED);
    } else if (a->test == MP_PUT) {
        scratch[0] = now; /* a put's source is global memory */
        iris_put_signal_u32(&a->ctx, x, scratch, 1, a->flags + i, now, IRIS_SIGNAL_SET, a->home[1]);
    } else {
        iris_store_u32(&a->ctx, x, now, a->home[0]);
        if (a->test == MP_ATOMIC)
            set(a, 1, i, now, IRIS_RELEASE);
        else if (a->test == MP_SIGNAL)
            iris_signal_set(&a->ctx, a->flags + i, now, a->home[1]);
        else
            iris_signal_add(&a->ctx, a->flags + i, 1, a->home[1]);
    }
}

IRIS_DEVICE void message_read(const args *a, uint32_t i, uint32_t now, uint32_t *saw)
{
    saw[1] = now;
    if (a->test == MP_FENCE) {
        saw[0] = get(a, 1, i, IRIS_RELAXED);
        iris_fence(&a->ctx);
        saw[1] = get(a, 0, i, IRIS_RELAXED);
        return;
    }
    if (a->test == MP_ATOMIC)
        saw[0] = get(a, 1, i, IRIS_ACQUIRE);
    else
        saw[0] = (uint32_t)iris_signal_read(&a->ctx, a->flags + i);
    if (saw[0] == now)
        saw[1] = iris_load_u32(&a->ctx, a->cells[0] + i * CELL, a->home[0]);
}

/* One agent's line of the test for one cell. */
IRIS_DEVICE void line(const args *a, int agent, uint32_t i, uint32_t now, uint32_t *saw)
{
    switch (a->test) {
    case SB:
        set(a, agent, i, now, IRIS_RELAXED);
        iris_fence(&a->ctx);
        saw[0] = get(a, 1 - agent, i, IRIS_RELAXED);
        break;
    case LB:
        saw[0] = get(a, agent, i, IRIS_ACQUIRE);
        set(a, 1 - agent, i, now, IRIS_RELEASE);
        break;
    case IRIW:
        if (agent < 2) {
            set(a, agent, i, now, IRIS_RELAXED);
        } else {
            saw[0] = get(a, agent - 2, i, IRIS_RELAXED);
            iris_fence(&a->ctx);
            saw[1] = get(a, 3 - agent, i, IRIS_RELAXED);
        }
        break;
    case WRC:
        if (agent == 0) {
            set(a, 0, i, now, IRIS_RELAXED);
        } else if (agent == 1) {
            set(a, 1, i, get(a, 0, i, IRIS_ACQUIRE), IRIS_RELEASE);
        } else {
            saw[0] = get(a, 1, i, IRIS_ACQUIRE);
            saw[1] = get(a, 0, i, IRIS_RELAXED);
        }
        break;
    case CORR:
        if (agent == 0) {
            set(a, 0, i, now, IRIS_RELAXED);
        } else {
            saw[0] = get(a, 0, i, IRIS_RELAXED);
            saw[1] = get(a, 0, i, IRIS_RELAXED);
        }
        break;
    case PAIR: /* its second half stands for the flag of a line (collective/ll128.h) */
        if (agent == 0) {
            irisi_store_pair(pair(a, i), now, now);
        } else {
            uint64_t both[2];
            irisi_load_pair(pair(a, i), both);
            saw[0] = (uint32_t)both[1], saw[1] = (uint32_t)both[0];
        }
        break;
    default:
        if (agent == 0)
            message_write(a, i, now, saw);
        else
            message_read(a, i, now, saw);
    }
}

/* What must not be: `s` holds two words for each agent and cell. */
IRIS_DEVICE int forbidden(int test, const uint32_t *s, uint32_t i, uint32_t now)
{
    const uint32_t *s0 = s + 2 * i, *s1 = s0 + 2 * BATCH, *s2 = s1 + 2 * BATCH, *s3 = s2 + 2 * BATCH;
    switch (test) {
    case SB:
        return s0[0] != now && s1[0] != now;
    case LB:
        return s0[0] == now && s1[0] == now;
    case IRIW:
        return s2[0] == now && s2[1] != now && s3[0] == now && s3[1] != now;
    case WRC:
        return s2[0] == now && s2[1] != now;
    default:
        return s1[0] == now && s1[1] != now;
    }
}

/* Agents wait for each other: each has a signal for every other. */
IRIS_DEVICE void meet(const args *a, int agent, uint64_t turn)
{
    for (int other = 0; other < a->agents; other++)
        iris_signal_set_wg(&a->ctx, a->met + other * AGENTS + agent, turn, other % a->ctx.world);
    iris_wait_all_ge_wg(&a->ctx, a->met + agent * AGENTS, (size_t)a->agents, turn);
}

/*
 * Agents that have met may still be naps apart, longer than a batch takes, and then nothing overlaps: whoever is first
 * spins a while for the others. No wait and no order: a litmus test is worth what its lines overlap.
 */
IRIS_DEVICE void start_together(const args *a, int agent, uint32_t now)
{
    for (int other = 0; other < a->agents; other++)
        iris_atomic_set_u32(&a->ctx, a->ready + other * AGENTS + agent, now, other % a->ctx.world, IRIS_RELAXED,
                            IRIS_SCOPE_SYSTEM);
    const uint32_t *own = a->ready + agent * AGENTS;
    for (int spins = 0, other = 0; other < a->agents && spins < 20000; spins++)
        other += iris_atomic_fetch_u32(&a->ctx, own + other, a->ctx.rank, IRIS_RELAXED, IRIS_SCOPE_SYSTEM) >= now;
}

/*
 * A workgroup is an agent, and each of its lanes runs the agent's line for cells of its own: lane l of every agent has
 * the same cells, so as many tests go on at once as there are lanes. On the host that is one.
 */
IRIS_KERNEL(litmus_kernel, args, a, LANES)
{
    const int agent = (int)iris_workgroup() * a->ctx.world + a->ctx.rank;
    if (agent >= a->agents)
        return;
    uint32_t *own = a->own + iris_workgroup() * 2 * BATCH;
    for (uint64_t b = a->first; b < a->first + a->batches; b++) {
        const uint32_t now = (uint32_t)b;
        meet(a, agent, 2 * b);
        if (iris_wg_lane() == 0)
            start_together(a, agent, now);
        iris_sync_wg();
        for (uint32_t k = irist_pick(a->seed, (uint64_t)agent, b, 64); k > 0; k--)
            iris_pause(0);
        for (uint32_t i = iris_wg_lane(); i < BATCH; i += iris_wg_lanes()) {
            own[2 * i] = own[2 * i + 1] = 0;
            line(a, agent, i, now, own + 2 * i);
        }
        iris_sync_wg();
        uint32_t *bank = a->seen + (b & 1) * AGENTS * 2 * BATCH;
        iris_put_u32_wg(&a->ctx, bank + agent * 2 * BATCH, own, 2 * BATCH, 0);
        meet(a, agent, 2 * b + 1);
        for (uint32_t i = iris_wg_lane(); agent == 0 && i < BATCH; i += iris_wg_lanes()) {
            if (forbidden(a->test, bank, i, now) &&
                irisi_atomic_add_u64(a->bad, 1, IRIS_RELAXED, IRIS_SCOPE_AGENT) == 0) {
                a->bad[1] = b;
                a->bad[2] = i;
            }
        }
    }
}

struct litmus {
    const char *name;
    int test, agents;
};

void *allocate(irist_rank *t, size_t bytes, iris_mem_kind kind)
{
    void *p = iris_malloc_kind(t->world, bytes, 0, kind);
    if (irist_check(t, p != nullptr, "%s", iris_error_string(t->world)))
        irist_ok(t, iris_memset(t->world, p, 0, bytes));
    return p;
}

void try_litmus(irist_rank *t)
{
    const litmus *l = (const litmus *)t->arg;
    const uint32_t workgroups = (uint32_t)((l->agents + t->ranks - 1) / t->ranks);
    args a;
    std::memset(&a, 0, sizeof a);
    a.ctx = iris_device_ctx(t->world);
    for (uint32_t *&cells : a.cells)
        cells = (uint32_t *)allocate(t, BATCH * CELL * sizeof(uint32_t), IRIS_MEM_SYNC);
    a.flags = (iris_signal *)allocate(t, BATCH * sizeof(iris_signal), IRIS_MEM_SYNC);
    a.met = (iris_signal *)allocate(t, AGENTS * AGENTS * sizeof(iris_signal), IRIS_MEM_SYNC);
    a.ready = (uint32_t *)allocate(t, AGENTS * AGENTS * sizeof(uint32_t), IRIS_MEM_SYNC);
    a.own = (uint32_t *)allocate(t, AGENTS * 2 * BATCH * sizeof(uint32_t), IRIS_MEM_DATA);
    a.seen = (uint32_t *)allocate(t, 2 * AGENTS * 2 * BATCH * sizeof(uint32_t), IRIS_MEM_DATA);
    a.bad = (uint64_t *)allocate(t, 3 * sizeof(uint64_t), IRIS_MEM_DATA);
    a.test = l->test;
    a.agents = l->agents;
    a.seed = t->seed;
    a.first = 1;
    const bool message = l->test >= MP_ATOMIC && l->test <= MP_PUT;
    const uint64_t all = 1 + irist_laps(400000, 10000000) / BATCH;
    for (int place = 0; place < 4; place++) { /* both cells move round the ranks */
        a.home[0] = (place & 1) % t->ranks;
        a.home[1] = (place >> 1) % t->ranks;
        if (message) /* a signal is read where it lives; put_signal keeps data and signal together */
            a.home[1] = 1 % t->ranks;
        if (l->test == MP_PUT)
            a.home[0] = a.home[1];
        a.batches = all / 4 + 1;
        irist_meet(t);
        irist_run(t, litmus_kernel, a, iris_cooperative(workgroups, LANES));
        a.first += a.batches;
    }
    uint64_t bad[3] = {0, 0, 0};
    irist_ok(t, iris_memcpy(t->world, bad, a.bad, sizeof bad));
    irist_check(t, bad[0] == 0, "%s: %llu forbidden outcomes in %llu tries, the first in batch %llu, cell %llu",
                l->name, (unsigned long long)bad[0], (unsigned long long)(a.first * BATCH), (unsigned long long)bad[1],
                (unsigned long long)bad[2]);
    irist_meet(t);
    void *all_memory[] = {a.bad, a.seen, a.own, a.ready, a.met, a.flags, a.cells[1], a.cells[0]};
    for (void *p : all_memory)
        irist_ok(t, iris_free(t->world, p));
}

const litmus table[] = {
    {"store buffering with fences", SB, 2},
    {"message passing by a release store", MP_ATOMIC, 2},
    {"message passing by fences", MP_FENCE, 2},
    {"message passing by signal_set", MP_SIGNAL, 2},
    {"message passing by signal_add", MP_ADD, 2},
    {"message passing by put_signal", MP_PUT, 2},
    {"load buffering", LB, 2},
    {"independent reads of independent writes with fences", IRIW, 4},
    {"write-to-read causality", WRC, 3},
    {"coherent reads", CORR, 2},
#if IRISI_WIDE_ATOMIC
    {"16 bytes at once", PAIR, 2},
#endif
};

} // namespace

TEST_CASE("what the memory model forbids does not happen", "[litmus]")
{
    for (const litmus &l : table) {
        SECTION(l.name) { irist_spmd(try_litmus, &l); }
    }
}
