/* SPDX-License-Identifier: MIT */
/*
 * engine.h: what programs share in which lanes have Hopper's copy engine move things, tma_forward_run.cpp and
 * tma_gather_run.cpp: barriers in shared memory, and lanes' groups of puts. They include it behind emulator.h.
 *
 *   fail require                  something is wrong: ends the program, but for its name
 *   engine dawdle own             what is known of barriers and lanes; others may come before a lane's next; the lane's
 *   make_barrier barrier_at arrive complete await_barrier
 *   await_groups                  until so many of the lane's latest groups of puts have not read, or not arrived
 */
#ifndef TESTS_GEMM_ENGINE_H
#define TESTS_GEMM_ENGINE_H

namespace {

enum { HEAD = 1024 }; /* bytes of shared memory for barriers: what is fetched comes behind */

/* A lane's group of puts: how many have not read, and not arrived. */
struct put_group {
    uint32_t unread, absent;
};

/* What a lane has of its own. */
struct lane_state {
    std::vector<put_group> groups; /* the last one is open */
    uint32_t moved;                /* what its puts have done */
    uint32_t fenced;               /* when; 0: never */
};

/* A barrier in shared memory: `pending` arrivals and so many bytes are to come in this phase. */
struct barrier {
    bool made;
    uint32_t count, pending, phase;
    int64_t bytes;
};

struct {
    lane_state lanes[WAVES * LANES];
    barrier barriers[HEAD / 8];
    uint32_t slow[WAVES]; /* how long waves dawdle */
    uint32_t idle;        /* turns in which no lane has got on */
} engine;

lane_state &own() { return engine.lanes[wg.now->wave * LANES + wg.now->lane]; }

[[noreturn]] void fail(const char *what)
{
    expect(false, what);
    std::fflush(stdout);
    std::_Exit(1); /* not std::exit: this is one of the stacks that it would free */
}

void require(bool held, const char *what)
{
    if (!held)
        fail(what);
}

/* After whatever a lane has done: others may come before its next. */
void dawdle()
{
    const uint32_t slow = engine.slow[wg.now->wave];
    engine.idle = 0;
    if (slow > 0 || random_below(3) == 0)
        rest_lane(1 + random_below(slow + 1));
}

/* ---- barriers ---------------------------------------------------------------------------------------------------- */

void make_barrier(uint32_t at, uint32_t count)
{
    require(at % 8 == 0 && at < HEAD, "a barrier is misaligned, or stands among what is fetched");
    barrier &b = engine.barriers[at / 8];
    require(!b.made, "a barrier is made twice");
    b.made = true;
    b.count = b.pending = count;
    dawdle();
}

barrier &barrier_at(uint32_t at)
{
    require(at % 8 == 0 && at < HEAD && engine.barriers[at / 8].made, "a barrier is used that nobody has made");
    return engine.barriers[at / 8];
}

void end_phase(barrier &b)
{
    if (b.pending == 0 && b.bytes == 0) {
        b.pending = b.count;
        b.phase++;
    }
}

void arrive(uint32_t at, uint32_t bytes)
{
    barrier &b = barrier_at(at);
    require(b.pending > 0, "a barrier is arrived at too often");
    b.pending--;
    b.bytes += bytes;
    end_phase(b);
    dawdle();
}

/* So many bytes have been fetched. */
void complete(uint32_t at, uint32_t bytes)
{
    barrier &b = barrier_at(at);
    b.bytes -= bytes;
    end_phase(b);
}

/* Waits until the phase of this parity has ended; the one before the first has, with parity 1. */
void await_barrier(uint32_t at, uint32_t parity)
{
    const barrier &b = barrier_at(at);
    while (b.phase % 2 == parity % 2)
        pause_lane(&b.phase, b.phase);
    dawdle();
}

/* Waits until at most the lane's `open` latest groups have puts left that have not read, or not arrived. */
void await_groups(uint32_t open, uint32_t put_group::*left)
{
    lane_state &l = own();
    for (size_t i = 0; i + open + 1 < l.groups.size();)
        if (l.groups[i].*left == 0)
            i++;
        else
            pause_lane(&l.moved, l.moved);
    dawdle();
}

} // namespace

#endif
