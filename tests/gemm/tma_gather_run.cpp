/* SPDX-License-Identifier: MIT */
/*
 * tma_gather_run.cpp: workgroups that only gather A, executed on the host: mainloop/nvidia/tma_gather.h, as the GPU's
 * compiler gets it, on stand-ins for barriers in shared memory and for the copy engine.
 *
 *     tma_gather_run [all | trials [first seed]]
 *
 * One rank's workers, one after the other, gather random shards: without rows, of one, ragged; rows of 16 bytes and of
 * many pieces, with gaps and without; some of them read in place. The engine takes pieces in any order, fetches, reads
 * and arrivals each early or as late as can be. No byte is moved: each 16 are known by their place in A. Checked:
 *   - what is fetched is within the shard's rows, and goes into one stage of the ring, which no put is yet to read and
 *     nothing is on its way to; a put reads what it is for;
 *   - every 16 bytes arrive once on every peer, and on this rank, where rows read in place may but need not;
 *   - a block's signal is set once on every rank, once all its bytes have arrived there; at the end all signals are;
 *   - a workgroup leaves when nothing is under way; no barrier is made twice, the mainloop's ones and those between
 *     pairs of workgroups included, used before it is made, or arrived at too often, and no lane waits for ever;
 *   - plans are turned down whose rows are not whole chunks of 16 bytes, or whose workgroups have no room for the ring.
 * A failure names the seed that shows it again.
 */
#include <iris/arch/select.h>

#if defined(IRIS_TARGET_HOST)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { LANES = 2 }; /* more would do what the second does */
#define IRIST_WAVES 12
#include "emulator.h"
#include "engine.h"

namespace {

enum { RANKS = 8, CHUNK = 16 };
enum { RING_BYTES = 192 << 10, MOST_BYTES = 1 << 20 };           /* behind HEAD; of a shard */
enum { PATIENCE = 40, MOST_IDLE = 50000, MOST_WORKERS = 4 };     /* PATIENCE: turns in which no lane gets on */
const uint64_t HEAP = 1ull << 40, SPAN = 1ull << 32;             /* each rank's, as addresses alone */
const uint64_t GATHERED = HEAP + (1ull << 30), OWN = 1ull << 36; /* the gathered A in the heap; the rank's rows */

/* A piece on its way: fetched; or put, which reads it, then arrives. */
enum step { FETCH, READ, ARRIVE, STEPS };
struct piece {
    step next;
    uint32_t stage, bytes, bar, to, lane, group; /* stage: where in the ring */
    uint64_t at;                                 /* in this rank's rows, or in the gathered A */
};

struct {
    uint32_t rank, ranks, worker, workers;
    uint32_t first, rows, row_bytes;     /* own rows of A */
    uint64_t pitch, gathered_pitch;      /* bytes from row to row */
    uint32_t elected, haste;             /* haste: most pieces that get on in a turn */
    uint32_t patience[STEPS];            /* of a piece, before each of its steps: turns in which no lane gets on */
    std::vector<uint8_t> arrived[RANKS]; /* how often, of each chunk of each row */
    std::vector<uint8_t> raised[RANKS];  /* of each block: its signal is set */
    std::vector<piece> transfers;
    uint32_t ring[RING_BYTES / CHUNK]; /* 1 + the chunk of the rank's rows that stands there; 0: none does */
    uint32_t pieces;
    uint64_t epoch;
} world;

uint32_t chunks() { return world.row_bytes / CHUNK; }

/* The chunk, of all of the rank's rows, at a byte of rows so far apart. */
uint32_t chunk_at(uint64_t at, uint64_t pitch)
{
    require(at % CHUNK == 0 && at / pitch < world.rows && at % pitch < world.row_bytes, "a byte is in no own row");
    return (uint32_t)(at / pitch * chunks() + at % pitch / CHUNK);
}

/* Where a piece stands in the ring. */
uint32_t stage_at(uint32_t at, uint32_t bytes)
{
    require(at >= HEAD && at - HEAD + bytes <= RING_BYTES, "a piece is not in the ring");
    require(bytes > 0 && bytes % CHUNK == 0 && at % CHUNK == 0, "a piece is no whole chunks");
    return at - HEAD;
}

bool overlaps(const piece &p, uint32_t stage, uint32_t bytes)
{
    return p.stage < stage + bytes && stage < p.stage + p.bytes;
}

void begin_fetch(uint32_t to, uint64_t from, uint32_t bytes, uint32_t bar)
{
    const piece f = {FETCH, stage_at(to, bytes), bytes, bar, 0, 0, 0, from - OWN};
    for (const piece &p : world.transfers)
        require(p.next == ARRIVE || !overlaps(p, f.stage, bytes), "a piece is fetched over one that is in use");
    for (uint32_t i = 0; i < bytes; i += CHUNK) {
        chunk_at(f.at + i, world.pitch);
        world.ring[(f.stage + i) / CHUNK] = 0;
    }
    world.transfers.push_back(f);
    world.pieces++;
    dawdle();
}

void begin_put(uint64_t to, uint32_t from, uint32_t bytes)
{
    lane_state &l = own();
    const uint32_t rank = (uint32_t)((to - HEAP) / SPAN);
    require(to >= HEAP && rank < world.ranks, "a piece is put to no rank");
    const uint64_t at = to - rank * SPAN - GATHERED - world.first * world.gathered_pitch;
    const piece p = {
        READ, stage_at(from, bytes), bytes, 0, rank, (uint32_t)(&l - engine.lanes), (uint32_t)l.groups.size() - 1, at};
    for (uint32_t i = 0; i < bytes; i += CHUNK)
        chunk_at(at + i, world.gathered_pitch);
    l.groups.back().unread++, l.groups.back().absent++;
    world.transfers.push_back(p);
    dawdle();
}

void move_put(const piece &p)
{
    lane_state &l = engine.lanes[p.lane];
    put_group &group = l.groups[p.group];
    l.moved++;
    (p.next == READ ? group.unread : group.absent)--;
    for (uint32_t i = 0; i < p.bytes; i += CHUNK) {
        const uint32_t chunk = chunk_at(p.at + i, world.gathered_pitch);
        if (p.next == READ)
            require(world.ring[(p.stage + i) / CHUNK] == chunk + 1, "a put reads another piece than its own");
        else
            require(++world.arrived[p.to][chunk] == 1, "bytes arrive twice");
    }
}

/* Some piece gets on, if its step need not wait until all lanes do. */
void move_transfer()
{
    piece &t = world.transfers[random_below((uint32_t)world.transfers.size())];
    if (engine.idle < world.patience[t.next])
        return;
    if (t.next == FETCH) {
        for (uint32_t i = 0; i < t.bytes; i += CHUNK)
            world.ring[(t.stage + i) / CHUNK] = 1 + chunk_at(t.at + i, world.pitch);
        complete(t.bar, t.bytes);
    } else {
        move_put(t);
    }
    if (t.next == READ) {
        t.next = ARRIVE;
        return;
    }
    t = world.transfers.back();
    world.transfers.pop_back();
}

} // namespace

/* ---- in place of the host's workgroups and memory, of arch/nvidia/async.h and mainloop/nvidia/gemm.h ------------- */

#define iris_lane irist_lane
#define iris_wave irist_wave
#define iris_wave_lanes irist_wave_lanes
#define iris_waves irist_waves
#define iris_wg_lane irist_wg_lane
#define iris_wg_lanes irist_wg_lanes
#define iris_workgroup irist_workgroup
#define iris_sync_wg irist_sync_wg
#define irisi_bulk_can irist_bulk_can
#define irisi_bulk_put irist_bulk_put
#define irisi_bulk_commit irist_bulk_commit
#define irisi_bulk_reusable irist_bulk_reusable
#define irisi_bulk_reusable_but_five irist_bulk_reusable_but_five
#define irisi_bulk_arrived irist_bulk_arrived
#define irisi_bulk_pace irist_bulk_pace
#define irisi_bulk_acquired irist_bulk_acquired
#define irisi_raise_set irist_raise_set
#define __syncwarp irist_sync_wave
#define IRISI_WGMMA 1
#define IRIS_MAINLOOP_SHAPE_H
#define IRIS_MAINLOOP_HOST_GEMM_H
#define IRIS_MAINLOOP_NVIDIA_GEMM_H

static inline uint32_t irist_lane() { return wg.now->lane; }
static inline uint32_t irist_wave() { return wg.now->wave; }
static inline uint32_t irist_wave_lanes() { return LANES; }
static inline uint32_t irist_waves() { return WAVES; }
static inline uint32_t irist_wg_lane() { return wg.now->wave * LANES + wg.now->lane; }
static inline uint32_t irist_wg_lanes() { return WAVES * LANES; }
/* Only reports say which workgroup this is. */
static inline uint32_t irist_workgroup() { fail("an access is refused, or a wait is given up"); }
static inline uint32_t irisi_shared_address(const void *p) { return shared_at(p); }
static inline void irist_sync_wave() { join_wave(), engine.idle = 0; }
static inline void irist_sync_wg() { join_workgroup(), engine.idle = 0; }
static inline uint32_t irisi_elected() { return irist_sync_wave(), wg.now->lane == world.elected; }
static inline void irisi_mbar_init(uint32_t at, uint32_t count) { make_barrier(at, count); }
static inline void irisi_mbar_made() {}
static inline void irisi_mbar_expect(uint32_t at, uint32_t bytes) { arrive(at, bytes); }
static inline void irisi_mbar_wait(uint32_t at, uint32_t parity) { await_barrier(at, parity); }
static inline int irist_bulk_can() { return 1; }
static inline void irisi_bulk_fetch(uint32_t to, const void *from, uint32_t bytes, uint32_t bar)
{
    begin_fetch(to, (uint64_t)(uintptr_t)from, bytes, bar);
}
static inline void irist_bulk_put(void *to, const void *from, uint32_t bytes)
{
    begin_put((uint64_t)(uintptr_t)to, shared_at(from), bytes);
}
static inline void irist_bulk_commit()
{
    own().groups.emplace_back();
    dawdle();
}
static inline void irist_bulk_reusable(int keep) { await_groups(keep ? 1 : 0, &put_group::unread); }
static inline void irist_bulk_reusable_but_five() { await_groups(5, &put_group::unread); }
static inline void irist_bulk_arrived() { await_groups(0, &put_group::absent); }
static inline void irist_bulk_pace(uint32_t open) { await_groups(open, &put_group::absent); }
static inline void irist_bulk_acquired() {}
static inline void irisi_bulk_put_box_at(const void *, uint32_t, uint32_t, uint32_t) { fail("a box is put"); }
static inline void irisi_fetch_box(uint32_t, const void *, uint32_t, uint32_t, uint32_t) { fail("a box is fetched"); }
static void irist_raise_set(uint64_t *at, uint64_t value);

#include <iris/mainloop/nvidia/gemm_shape.h>
#include <iris/gemm/tile.h>

enum { IRISI_GEMM_SM90A_RINGS = 30 }; /* as mainloop/nvidia/gemm.h has it */
static_assert(HEAD == IRISI_GEMM_COUNTERS + IRISI_GEMM_SM90A_HEAD, "barriers end elsewhere");
static_assert(RING_BYTES == 4 * IRISI_GEMM_SM90A_BLOCK, "the ring has another size");

#include <iris/mainloop/nvidia/tma_gather.h>

static iris_gemm_plan plan;

/* A block's signal, on some rank. */
static void irist_raise_set(uint64_t *at, uint64_t value)
{
    const uint64_t offset = (uint64_t)(uintptr_t)at - HEAP, rank = offset / SPAN, signal = offset % SPAN / 8;
    const uint64_t block = signal / world.ranks - 3;
    require(rank < world.ranks && signal % world.ranks == world.rank && block < world.raised[rank].size() &&
                value == world.epoch,
            "a signal is set that is no block's");
    require(world.raised[rank][block]++ == 0, "a block's signal is set twice");
    const uint32_t end = std::min(world.rows, (uint32_t)(block + 1) * IRISI_GEMM_BLOCK_ROWS);
    for (uint32_t row = (uint32_t)block * IRISI_GEMM_BLOCK_ROWS; row < end; row++)
        for (uint32_t i = 0; i < chunks(); i++)
            require(world.arrived[rank][row * chunks() + i] ||
                        (rank == world.rank && irisi_gemm_in_place(&plan, world.first + row, 1)),
                    "a block's signal is set before it has arrived");
    dawdle();
}

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

iris_ctx ctx;
irisi_control control;

/* A lane's share of the kernel, behind the barriers that irisi_gemm_workspace_begin makes, for pairs too. */
void work()
{
    char *workspace = wg.shared.data() + IRISI_GEMM_COUNTERS;
    if (irist_wg_lane() == 0)
        for (uint32_t i = 0; i < 2 * (IRISI_GEMM_SM90A_RINGS + IRISI_GEMM_SM90A_MATH_WAVES); i++)
            make_barrier(shared_at(workspace) + 8 * i, 1);
    iris_sync_wg();
    irisi_tma_gather_rows(&ctx, &plan, workspace, world.epoch, world.worker, world.workers);
    for (const piece &p : world.transfers)
        require(p.lane != (uint32_t)(&own() - engine.lanes) || p.next == FETCH, "a lane leaves while it puts");
    iris_sync_wg();
    require(world.transfers.empty(), "the workgroup leaves while pieces are on their way");
}

/* A turn of the engine. */
bool move_world()
{
    require(++engine.idle < MOST_IDLE, "lanes wait for ever");
    for (uint32_t steps = 1 + random_below(world.haste); steps > 0 && !world.transfers.empty(); steps--)
        move_transfer();
    return !world.transfers.empty();
}

uint32_t some_row_bytes()
{
    const uint32_t pieces = 8192 * (1 + random_below(4));
    switch (random_below(4)) {
    case 0: return CHUNK * (1 + random_below(8));
    case 1: return CHUNK * (1 + random_below(512));
    case 2: return pieces + CHUNK * random_below(3) - CHUNK; /* about whole pieces */
    default: return CHUNK * (1 + random_below(2500));
    }
}

/* Rows of A, at most some of them: none, one, whole blocks, ragged. */
uint32_t some_rows(uint32_t most)
{
    switch (random_below(8)) {
    case 0: return random_below(2);
    case 1: return std::min(most, (uint32_t)IRISI_GEMM_BLOCK_ROWS * (1 + random_below(16)));
    case 2: return std::min(most, (uint32_t)IRISI_GEMM_BLOCK_ROWS * (1 + random_below(16)) + 1);
    default: return 1 + random_below(most);
    }
}

void make_plan(uint32_t shard, uint32_t longer)
{
    const uint32_t element = 1u << random_below(3), gap = random_below(2) ? 0 : CHUNK * (1 + random_below(9));
    std::memset(&plan, 0, sizeof plan);
    plan.mainloop = random_below(4) ? IRISI_GEMM_SM90A : IRISI_GEMM_SM90A_UNALIGNED_B;
    plan.rank = world.rank, plan.world = world.ranks;
    plan.route.shard = shard, plan.route.longer = longer;
    plan.operands.element = element, plan.k = world.row_bytes / element;
    world.pitch = world.row_bytes + gap;
    world.gathered_pitch = world.row_bytes + (random_below(2) ? gap : 0);
    plan.inputs.ld = world.pitch / element, plan.operands.lda = world.gathered_pitch / element;
    plan.inputs.a = (const void *)(uintptr_t)OWN;
    plan.machine.slots = 1, plan.machine.workspace_bytes = HEAD - IRISI_GEMM_COUNTERS + RING_BYTES;
    if (random_below(3)) { /* some rows are read in place: all, or those of some tiles */
        const uint32_t a = random_below(world.rows + 1), b = random_below(world.rows + 1);
        const bool all = random_below(3) == 0;
        plan.inputs.first = world.first + (all ? 0 : std::min(a, b));
        plan.inputs.end = world.first + (all ? world.rows : std::max(a, b));
    }
    control = irisi_control();
    ctx = iris_ctx();
    ctx.rank = (int32_t)world.rank, ctx.world = (int32_t)world.ranks;
    ctx.control = &control;
    ctx.base = HEAP + world.rank * SPAN;
    ctx.bytes = ctx.sync_bytes = SPAN;
    plan.operands.a = (decltype(plan.operands.a))(uintptr_t)(GATHERED + world.rank * SPAN);
    plan.exchange.channel.signals = (iris_signal *)(uintptr_t)ctx.base;
    for (uint32_t r = 0; r < world.ranks; r++)
        ctx.delta[r] = (int64_t)SPAN * ((int64_t)r - world.rank);
}

void make_world()
{
    world = {};
    world.ranks = 1 + random_below(RANKS), world.rank = random_below(world.ranks);
    world.epoch = 1 + random_below(3), world.workers = 1 + random_below(MOST_WORKERS);
    world.row_bytes = some_row_bytes();
    const uint32_t shard = some_rows(std::min(MOST_BYTES / world.row_bytes, 1000u)), longer = random_below(world.ranks);
    world.rows = shard + (world.rank < longer);
    world.first = world.rank * shard + std::min(world.rank, longer);
    make_plan(shard, longer);
    for (uint32_t r = 0; r < world.ranks; r++) {
        world.arrived[r].assign(world.rows * chunks(), 0);
        world.raised[r].assign((world.rows + IRISI_GEMM_BLOCK_ROWS - 1) / IRISI_GEMM_BLOCK_ROWS, 0);
    }
    world.haste = 1 + random_below(40);
    for (uint32_t &patience : world.patience)
        patience = random_below(2) ? (uint32_t)PATIENCE : 0;
    world.elected = random_below(LANES);
}

void begin_worker(uint32_t worker)
{
    world.worker = worker;
    engine = {};
    for (uint32_t &slow : engine.slow)
        slow = random_below(4) ? 0 : random_below(20);
    for (lane_state &l : engine.lanes)
        l.groups.resize(1);
}

/* What plans may be gathered so. */
void check_can()
{
    require(irisi_tma_gather_can(&plan), "a plan is turned down");
    iris_gemm_plan other = plan;
    other.machine.workspace_bytes -= 128;
    require(!irisi_tma_gather_can(&other), "a workgroup has no room for the ring");
    other.machine.stage_bytes = 128;
    require(irisi_tma_gather_can(&other), "a workgroup has room, where it stages tiles");
    other = plan;
    other.inputs.a = (const char *)plan.inputs.a + 8;
    require(!irisi_tma_gather_can(&other), "rows begin within 16 bytes");
}

void check_world()
{
    for (uint32_t r = 0; r < world.ranks; r++) {
        for (const uint8_t raised : world.raised[r])
            require(raised == 1, "a block's signal is not set");
        for (uint32_t i = 0; i < world.arrived[r].size(); i++)
            require(world.arrived[r][i] == 1 ||
                        (r == world.rank && irisi_gemm_in_place(&plan, world.first + i / chunks(), 1)),
                    "bytes have not arrived");
    }
}

/* So many trials, till one fails; some failures end the program. */
void run_tma_gather(uint32_t first, uint32_t trials)
{
    uint32_t pieces = 0;
    wg.beside = move_world;
    for (uint32_t seed = first; seed < first + trials && failures == 0; seed++) {
        random_state = seed * 2654435761u;
        make_world();
        std::snprintf(trial, sizeof trial, "seed %u, rank %u of %u, %u rows of %u bytes, %u workers, %u to %u in place",
                      seed, world.rank, world.ranks, world.rows, world.row_bytes, world.workers, plan.inputs.first,
                      plan.inputs.end);
        check_can();
        for (uint32_t worker = 0; worker < world.workers && failures == 0; worker++) {
            begin_worker(worker);
            run_lanes(HEAD + RING_BYTES, work);
        }
        if (failures == 0)
            check_world();
        pieces += world.pieces;
    }
    std::printf("%u pieces\n", pieces);
}

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_tma_gather, 300, 60, 3000, nullptr, {}, nullptr};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
