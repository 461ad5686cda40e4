/* SPDX-License-Identifier: MIT */
/*
 * A rank is killed while every rank's kernel writes into, reads from and waits for the others: the survivors get the
 * sentence that names it within the deadline and two seconds, and the next job finds the devices as they should be. So
 * do survivors whose kernels run for as long as no message tells them to leave.
 *
 * The victim's kernel dies with its process; its memory stays mapped in the survivors, or their kernels fault on it:
 * either way they are told of the death. Ranks are processes, one for each device of --ranks; the host platform runs it
 * as well.
 */
#include "../host/job.h"

namespace {

enum { WORDS = 1024, LAPS = 300, DEADLINE_MS = 4000 };
const uint64_t NEVER = (uint64_t)1 << 60;

struct ring_args {
    iris_ctx ctx;
    iris_channel ch;
    uint32_t *inbox, *outbox; /* symmetric */
    uint64_t *wrong;
    iris_signal *came; /* of the loops that serve */
    int32_t *command;  /* symmetric; below 0: leave */
    uint64_t laps;
};

IRIS_DEVICE uint32_t word_of(uint64_t lap, int from, uint32_t i)
{
    return (uint32_t)(lap * 2654435761u) + (uint32_t)from * 40503u + i;
}

/* Everyone puts to the right, meets, looks at what came and at what the right one sent, meets. Ends when told to. */
IRIS_KERNEL(ring, ring_args, a, 256)
{
    const iris_ctx *c = &a->ctx;
    const int right = (c->rank + 1) % c->world, left = (c->rank + c->world - 1) % c->world;
    for (uint64_t lap = 1; lap <= a->laps; lap++) {
        if (iris_stopped_wg(c))
            return;
        for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes())
            a->outbox[i] = word_of(lap, c->rank, i);
        iris_sync_wg();
        iris_put_u32_wg(c, a->inbox, a->outbox, WORDS, right);
        iris_barrier_all_wg(c, &a->ch);
        uint64_t bad = 0;
        for (uint32_t i = iris_wg_lane(); i < WORDS; i += iris_wg_lanes()) {
            bad += iris_load_u32(c, a->inbox + i, c->rank) != word_of(lap, left, i);
            bad += iris_load_u32(c, a->outbox + i, right) != word_of(lap, right, i);
        }
        if (bad)
            irisi_atomic_add_u64(a->wrong, bad, IRIS_RELAXED, IRIS_SCOPE_AGENT);
        iris_barrier_all_wg(c, &a->ch);
    }
}

/*
 * Kernels that serve: they wait for message after message from the left, pass each on to the right, and end when the
 * command that came says so, which it never does. They leave a world that stopped by what the wait returns, or because
 * they ask, after a wait or between looks that do not wait.
 */
IRIS_DEVICE void serve_next(const ring_args *a)
{
    iris_signal_add_wg(&a->ctx, a->came, 1, (a->ctx.rank + 1) % a->ctx.world);
}
IRIS_KERNEL(serve_waits, ring_args, a, 256)
{
    for (uint64_t m = 1;; m++) {
        serve_next(a);
        if (!iris_wait_ge_wg(&a->ctx, a->came, m) || a->command[0] < 0)
            break;
    }
}
IRIS_KERNEL(serve_asks, ring_args, a, 256)
{
    for (uint64_t m = 1;; m++) {
        serve_next(a);
        iris_wait_ge_wg(&a->ctx, a->came, m);
        if (a->command[0] < 0 || iris_stopped_wg(&a->ctx))
            break;
    }
}
IRIS_KERNEL(serve_polls, ring_args, a, 256)
{
    if (iris_wg_lane() != 0)
        return;
    for (uint64_t m = 1; a->command[0] >= 0 && !iris_stopped(&a->ctx);) {
        if (!iris_test_ge(&a->ctx, a->came, m - 1))
            continue;
        iris_signal_add(&a->ctx, a->came, 1, (a->ctx.rank + 1) % a->ctx.world);
        m++;
    }
}

enum { RING, WAITS, ASKS, POLLS, LOOPS };

iris_status launch_ring(iris_world *w, ring_args *a, int loop, uint64_t laps)
{
    static const irisi_kernel kernels[] = {IRISI_KERNEL_PTR(ring), IRISI_KERNEL_PTR(serve_waits),
                                           IRISI_KERNEL_PTR(serve_asks), IRISI_KERNEL_PTR(serve_polls)};
    static const char *const names[] = {"ring", "serve_waits", "serve_asks", "serve_polls"};
    const iris_launch_config one = iris_cooperative(1, 256);
    std::memset(static_cast<void *>(a), 0, sizeof *a);
    a->ctx = iris_device_ctx(w);
    a->inbox = iris_zeros_u32(w, WORDS);
    a->outbox = iris_zeros_u32(w, WORDS);
    a->wrong = iris_zeros_u64(w, 1);
    a->came = iris_signals(w, 1);
    a->command = iris_zeros_i32(w, 1);
    a->laps = laps;
    iris_status status = iris_channel_create(w, &a->ch, (size_t)iris_world_size(w), 16);
    if (status == IRIS_OK)
        status = iris_barrier(w);
    return status == IRIS_OK ? irisi_launch(w, kernels[loop], names[loop], a, sizeof *a, &one, nullptr) : status;
}

/* What the ranks of the two jobs tell the test, in memory that all share. */
struct report {
    outcome *said;
    double *when; /* [0] the kill, then each rank's answer */
    int victim, loop;
};

int one_dies(iris_world *w, void *arg)
{
    const report *r = (const report *)arg;
    const int me = iris_rank(w);
    ring_args a;
    IRIS_TRY(launch_ring(w, &a, r->loop, NEVER));
    if (me == r->victim) {
        nap_ms(500); /* every kernel runs by now */
        r->when[0] = seconds();
        kill(getpid(), SIGKILL);
    }
    const iris_status status = iris_synchronize(w);
    r->when[1 + me] = seconds();
    tell(&r->said[me], status, w);
    return 0;
}

int all_well(iris_world *w, void *arg)
{
    outcome *said = ((const report *)arg)->said;
    ring_args a;
    uint64_t wrong = 1;
    IRIS_TRY(launch_ring(w, &a, RING, LAPS));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, &wrong, a.wrong, sizeof wrong));
    tell(&said[iris_rank(w)], IRIS_OK, w);
    return wrong == 0 ? 0 : 70;
}

} // namespace

/* Kills a rank of a job whose kernels run `loop`: the others leave their kernels and are told, in time. */
static void kill_one(report *r, int ranks, const iris_config *c)
{
    for (int me = 0; me < ranks; me++)
        r->said[me].status = -1;
    CHECK(iris_spawn_config(ranks, one_dies, r, c) == 128 + SIGKILL);
    for (int me = 0; me < ranks; me++) {
        if (me == r->victim)
            continue;
        INFO("rank " << me << " of " << ranks << ", loop " << r->loop << ", victim " << r->victim
                     << ", says: " << r->said[me].sentence);
        CHECK(r->said[me].status == (int)IRIS_ERR_PEER);
        CHECK(contains(r->said[me].sentence, ("rank " + std::to_string(r->victim) + " died").c_str()));
        CHECK(r->when[1 + me] - r->when[0] < slow(DEADLINE_MS) / 1000.0 + 2);
    }
}

TEST_CASE("a rank killed in its kernel is named in time, and the next job runs", "[killed]")
{
    const int ranks = job_ranks();
    if (ranks < 2)
        return; /* nobody is left to say anything */
    iris_config c = small_config();
    c.timeout_ms = slow(DEADLINE_MS);
    report r = {shared_outcomes(ranks), (double *)shared_alloc(sizeof(double) * (size_t)(1 + ranks)), 0, RING};
    for (int lap = 0; lap < 2; lap++) {
        r.victim = lap == 0 ? ranks - 1 : 0; /* rank 0 joins the others: its death cuts the connections */
        kill_one(&r, ranks, &c);
        for (int me = 0; me < ranks; me++)
            r.said[me].status = -1;
        CHECK(iris_spawn_config(ranks, all_well, &r, &c) == 0);
        for (int me = 0; me < ranks; me++)
            CHECK(r.said[me].status == (int)IRIS_OK);
    }
}

TEST_CASE("a kernel whose loop ends by what it receives leaves when a peer is killed", "[killed]")
{
    const int ranks = job_ranks();
    if (ranks < 2)
        return;
    iris_config c = small_config();
    c.timeout_ms = slow(DEADLINE_MS);
    report r = {shared_outcomes(ranks), (double *)shared_alloc(sizeof(double) * (size_t)(1 + ranks)), 0, WAITS};
    for (r.loop = WAITS; r.loop < LOOPS; r.loop++) {
        r.victim = r.loop % 2 ? ranks - 1 : 0;
        kill_one(&r, ranks, &c);
    }
}

int main(int argc, char **argv) { return job_main(argc, argv); }
