/* SPDX-License-Identifier: MIT */
/*
 * A rank is killed while every rank's kernel writes into, reads from and waits for the others: the survivors get the
 * sentence that names it within the deadline and two seconds, and the next job finds the devices as they should be.
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
    uint32_t *stop = (uint32_t *)iris_shared();
    for (uint64_t lap = 1; lap <= a->laps; lap++) {
        if (iris_wg_lane() == 0)
            *stop = irisi_atomic_fetch_u32(&c->control->abort, IRIS_RELAXED, IRIS_SCOPE_SYSTEM);
        iris_sync_wg();
        if (*stop)
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

iris_status launch_ring(iris_world *w, ring_args *a, uint64_t laps)
{
    iris_launch_config one = iris_cooperative(1, 256);
    one.shared_bytes = 128;
    std::memset(static_cast<void *>(a), 0, sizeof *a);
    a->ctx = iris_device_ctx(w);
    a->inbox = iris_zeros_u32(w, WORDS);
    a->outbox = iris_zeros_u32(w, WORDS);
    a->wrong = iris_zeros_u64(w, 1);
    a->laps = laps;
    iris_status status = iris_channel_create(w, &a->ch, (size_t)iris_world_size(w), 16);
    if (status == IRIS_OK)
        status = iris_barrier(w);
    return status == IRIS_OK ? iris_launch(w, ring, a, sizeof *a, &one, nullptr) : status;
}

/* What the ranks of the two jobs tell the test, in memory that all share. */
struct report {
    outcome *said;
    double *when; /* [0] the kill, then each rank's answer */
    int victim;
};

int one_dies(iris_world *w, void *arg)
{
    const report *r = (const report *)arg;
    const int me = iris_rank(w);
    ring_args a;
    IRIS_TRY(launch_ring(w, &a, NEVER));
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
    IRIS_TRY(launch_ring(w, &a, LAPS));
    IRIS_TRY(iris_synchronize(w));
    IRIS_TRY(iris_memcpy(w, &wrong, a.wrong, sizeof wrong));
    tell(&said[iris_rank(w)], IRIS_OK, w);
    return wrong == 0 ? 0 : 70;
}

} // namespace

TEST_CASE("a rank killed in its kernel is named in time, and the next job runs", "[killed]")
{
    const int ranks = job_ranks();
    if (ranks < 2)
        return; /* nobody is left to say anything */
    iris_config c = small_config();
    c.timeout_ms = slow(DEADLINE_MS);
    report r = {shared_outcomes(ranks), (double *)shared_alloc(sizeof(double) * (size_t)(1 + ranks)), 0};
    for (int lap = 0; lap < 2; lap++) {
        r.victim = lap == 0 ? ranks - 1 : 0; /* rank 0 joins the others: its death cuts the connections */
        for (int me = 0; me < ranks; me++)
            r.said[me].status = -1;
        CHECK(iris_spawn_config(ranks, one_dies, &r, &c) == 128 + SIGKILL);
        for (int me = 0; me < ranks; me++) {
            if (me == r.victim)
                continue;
            INFO("rank " << me << " of " << ranks << ", victim " << r.victim << ", says: " << r.said[me].sentence);
            CHECK(r.said[me].status == (int)IRIS_ERR_PEER);
            CHECK(contains(r.said[me].sentence, ("rank " + std::to_string(r.victim) + " died").c_str()));
            CHECK(r.when[1 + me] - r.when[0] < slow(DEADLINE_MS) / 1000.0 + 2);
        }
        for (int me = 0; me < ranks; me++)
            r.said[me].status = -1;
        CHECK(iris_spawn_config(ranks, all_well, &r, &c) == 0);
        for (int me = 0; me < ranks; me++)
            CHECK(r.said[me].status == (int)IRIS_OK);
    }
}

int main(int argc, char **argv) { return job_main(argc, argv); }
