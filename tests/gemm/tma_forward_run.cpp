/* SPDX-License-Identifier: MIT */
/*
 * tma_forward_run.cpp: a workgroup that only sends, executed on the host: mainloop/nvidia/tma_forward.h, and of roles.h
 * what calls it, as the GPU's compiler gets them, on stand-ins for barriers in shared memory and for the copy engine.
 *
 *     tma_forward_run [all | trials [first seed]]
 *
 * All waves of the workgroup walk random tiles: narrow, low, without rows, no split's last. Some senders have computed
 * tiles before, which a wave tells of through gates. The engine takes boxes in any order, fetches, reads and arrivals
 * each early or as late as can be; some waves are slow; flags come in any order; some worlds stop on the way. Checked:
 *   - a box is fetched once its tile's flag is there and has been fenced, nobody computes there any more, and it stays
 *     in the ring; a put reads the box that it is for, and waits for peers to have begun the epoch;
 *   - every box of every tile of the schedule arrives once on every peer, and nothing else does; in a world that has
 *     stopped, at most once;
 *   - peers are told of every unit, but not before it has arrived, and the workgroup leaves when nothing is under way;
 *   - not more boxes are on their way than is meant, or copies of all others would wait behind them;
 *   - no barrier is made twice, used before it is made, or arrived at too often, and no lane waits for ever.
 * What a workgroup computes before is not executed, but for its gates. A failure names the seed that shows it again.
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

enum { MATH_WAVES = 8, RANKS = 8, TILES = 64, TILE_ROWS = 128 };
enum { BOX_BYTES = 2048, BOXES = 96 };     /* the ring, behind HEAD */
enum { PATIENCE = 40, MOST_IDLE = 50000 }; /* turns in which no lane gets on: all wait, or wait for ever */
enum { MOST_TRANSFERS = BOXES + 16 * MATH_WAVES * (RANKS - 1) };

/* A tile of the schedule. */
struct tile_state {
    uint32_t x, y, columns, rows, k_split;
    bool ends, sent;           /* written by someone; by this workgroup to the peers */
    uint32_t stored;           /* lanes that have stored it, where this workgroup computes it */
    uint32_t flagged;          /* when; 0: not yet */
    uint8_t arrived[RANKS][4]; /* of each part, a bit for each box */
};

/* A box on its way: fetched; or put, which reads it, then arrives. */
enum step { FETCH, READ, ARRIVE, STEPS };
struct moved_box {
    step next;
    uint32_t x, y, box, bar, to, lane, group;
};

struct {
    meeting groups[HEAD / 4];
    struct {
        uint32_t x, y;
        bool here;
    } ring[BOXES];
    std::vector<moved_box> transfers;
    uint32_t elected;
} gpu;

struct {
    uint32_t rank, ranks, boxes; /* that have arrived */
    uint32_t now;                /* counts flags and fences, to say when each was */
    uint32_t raised;             /* how often some signal was, or all stopped */
    uint32_t computing;          /* lanes that have not ended what they compute before */
    std::vector<tile_state> tiles;
    std::vector<uint32_t> unflagged, unready; /* tiles, and ranks, whose signals others are to raise */
    bool ordered;                             /* they do in order */
    int32_t stops;                            /* all stop once so many are left; -1: never, or they have */
    bool stopped;
    uint32_t haste, pause;    /* most boxes that get on in a turn, most turns from signal to signal */
    uint32_t patience[STEPS]; /* of a box, before each of its steps: turns in which no lane gets on */
    uint64_t epoch, signals[RANKS][2 * RANKS + 4 * TILES]; /* of each rank: ready, done, flags */
} world;

/* ---- the copy engine --------------------------------------------------------------------------------------------- */

/* The tile of C that a box is of, and which box of which of its parts. */
struct place {
    uint32_t tile, part, box;
};
place place_of(uint32_t x, uint32_t y)
{
    place p = {y / TILE_ROWS, 0, y % TILE_ROWS / 16};
    require(p.tile < world.tiles.size() && y % 16 == 0, "a box is of no tile");
    const tile_state &t = world.tiles[p.tile];
    p.part = (x - t.x) / 64;
    require(t.sent && x >= t.x && (x - t.x) % 64 == 0 && x < t.x + t.columns && y < t.y + t.rows,
            "a box is of no tile that is to be sent");
    return p;
}

uint32_t box_at(uint32_t at)
{
    require(at >= HEAD && (at - HEAD) % BOX_BYTES == 0 && (at - HEAD) / BOX_BYTES < BOXES, "a box is not in the ring");
    return (at - HEAD) / BOX_BYTES;
}

void begin_fetch(uint32_t to, uint32_t from, uint32_t x, uint32_t y, uint32_t bar)
{
    const tile_state &t = world.tiles[place_of(x, y).tile];
    require(from == world.rank, "a box is fetched from another rank");
    require(t.flagged > 0 || world.stopped, "a box is fetched before its tile's flag");
    require(own().fenced > t.flagged, "no fence stands between a tile's flag and its fetch");
    require(world.computing == 0, "a box is fetched to where others still compute");
    const moved_box f = {FETCH, x, y, box_at(to), bar, 0, 0, 0};
    gpu.ring[f.box].here = false;
    gpu.transfers.push_back(f);
    dawdle();
}

void begin_put(uint32_t to, uint32_t x, uint32_t y, uint32_t from)
{
    lane_state &l = own();
    place_of(x, y);
    require(to < world.ranks && to != world.rank, "a box is put to no peer");
    require(world.signals[world.rank][to] >= world.epoch, "a box is put to a peer that has not begun the epoch");
    const moved_box p = {READ, x, y, box_at(from), 0, to, (uint32_t)(&l - engine.lanes), (uint32_t)l.groups.size() - 1};
    l.groups.back().unread++, l.groups.back().absent++;
    gpu.transfers.push_back(p);
    require(gpu.transfers.size() <= MOST_TRANSFERS, "too many boxes are on their way");
    dawdle();
}

void end_fetch(const moved_box &f)
{
    gpu.ring[f.box] = {f.x, f.y, true};
    complete(f.bar, BOX_BYTES);
}

void move_put(const moved_box &p)
{
    lane_state &l = engine.lanes[p.lane];
    l.moved++;
    if (p.next == READ) {
        const auto &box = gpu.ring[p.box];
        require(box.here && box.x == p.x && box.y == p.y, "a put reads another box than its own");
        l.groups[p.group].unread--;
        return;
    }
    const place at = place_of(p.x, p.y);
    uint8_t &arrived = world.tiles[at.tile].arrived[p.to][at.part];
    require(!(arrived >> at.box & 1), "a box arrives twice");
    arrived = (uint8_t)(arrived | 1 << at.box);
    l.groups[p.group].absent--;
    world.boxes++;
}

/* Some box gets on, if its step need not wait until all lanes do. */
void move_transfer()
{
    const uint32_t i = random_below((uint32_t)gpu.transfers.size());
    moved_box &t = gpu.transfers[i];
    if (engine.idle < world.patience[t.next])
        return;
    if (t.next == FETCH)
        end_fetch(t);
    else
        move_put(t);
    if (t.next == READ) {
        t.next = ARRIVE;
        return;
    }
    t = gpu.transfers.back();
    gpu.transfers.pop_back();
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

void flag(uint32_t tile)
{
    world.tiles[tile].flagged = ++world.now;
    world.signals[world.rank][2 * world.ranks + 4 * tile + tile % 4] = world.epoch;
    world.raised++;
}

uint32_t units_of(const tile_state &t) { return (t.columns + 63) / 64; }

/* Units of tiles to be sent: all, or those that have arrived on a rank with all their boxes. */
uint64_t units_sent(const uint32_t *rank)
{
    uint64_t units = 0;
    for (const tile_state &t : world.tiles) {
        const uint32_t all = (1u << (t.rows + 15) / 16) - 1;
        bool arrived = t.sent;
        for (uint32_t i = 0; arrived && rank && i < units_of(t); i++)
            arrived = t.arrived[*rank][i] == all;
        units += arrived ? units_of(t) : 0;
    }
    return units;
}

template <typename T> T take(std::vector<T> &from)
{
    const size_t i = world.ordered ? 0 : random_below((uint32_t)from.size());
    const T taken = from[i];
    from.erase(from.begin() + (ptrdiff_t)i);
    return taken;
}

/* Others get on: one has computed a tile or begun the epoch, or all stop. */
void move_others()
{
    const uint32_t left = (uint32_t)(world.unflagged.size() + world.unready.size());
    if ((int32_t)left <= world.stops) {
        world.stopped = true;
        world.raised++;
        world.unflagged.clear(), world.unready.clear();
        world.stops = -1;
    } else if (random_below(left) < world.unready.size()) {
        world.signals[world.rank][take(world.unready)] = world.epoch;
        world.raised++;
    } else {
        flag(take(world.unflagged));
    }
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
#define iris_shared irist_shared
#define iris_sync_wave irist_sync_wave
#define iris_sync_wg irist_sync_wg
#define iris_pause irist_pause
#define irisi_sync_part irist_sync_part
#define irisi_gate_make irist_gate_make
#define irisi_gate_arrive irist_gate_arrive
#define irisi_gate_await irist_gate_await
#define irisi_bulk_acquired irist_bulk_acquired
#define irisi_bulk_can irist_bulk_can
#define irisi_bulk_commit irist_bulk_commit
#define irisi_bulk_reusable irist_bulk_reusable
#define irisi_bulk_arrived irist_bulk_arrived
#define irisi_bulk_pace irist_bulk_pace
#define irisi_tile_cuts irist_tile_cuts
#define irisi_raise_set irist_raise_set
#define irisi_raise_add irist_raise_add
#define __syncwarp irist_sync_wave
#define IRISI_WGMMA 1
#define IRIS_MAINLOOP_SHAPE_H
#define IRIS_MAINLOOP_HOST_GEMM_H
#define IRIS_MAINLOOP_NVIDIA_GEMM_H

static uint32_t irist_lane() { return wg.now->lane; }
static uint32_t irist_wave() { return wg.now->wave; }
static uint32_t irist_wave_lanes() { return LANES; }
static uint32_t irist_waves() { return WAVES; }
static uint32_t irist_wg_lane() { return wg.now->wave * LANES + wg.now->lane; }
static uint32_t irist_wg_lanes() { return WAVES * LANES; }
/* Only reports say which workgroup this is. */
static uint32_t irist_workgroup() { fail("an access is refused, or a wait is given up"); }
static void *irist_shared() { return wg.shared.data(); }
static uint32_t irisi_shared_address(const void *p) { return shared_at(p); }
static void irist_sync_wave() { join_wave(), engine.idle = 0; }
static void irist_sync_wg() { join_workgroup(); }
static uint32_t irisi_elected() { return irist_sync_wave(), wg.now->lane == gpu.elected; }
static int irist_sync_part(const uint32_t *counter, uint32_t lanes)
{
    meet(gpu.groups[irisi_shared_address(counter) / 4], lanes, [] {});
    return engine.idle = 0, 1;
}

/* Once all have stopped, who waits for a signal looks whether they have. */
static void irist_pause(uint32_t) { pause_lane(world.stopped ? nullptr : &world.raised, world.raised); }

static void irisi_mbar_init(uint32_t at, uint32_t count) { make_barrier(at, count); }
static void irisi_mbar_made() {}
static void irisi_mbar_expect(uint32_t at, uint32_t bytes) { arrive(at, bytes); }
static void irisi_mbar_wait(uint32_t at, uint32_t parity) { await_barrier(at, parity); }
static int irist_gate_make(void *gate, uint32_t count) { return make_barrier(irisi_shared_address(gate), count), 1; }
static int irist_gate_arrive(void *gate) { return arrive(irisi_shared_address(gate), 0), 1; }
static int irist_gate_await(const void *gate, uint32_t phase)
{
    return await_barrier(irisi_shared_address(gate), phase), 1;
}

static int irist_bulk_can() { return 1; }
static int irist_tile_cuts() { return 1; }
static void irist_bulk_acquired() { own().fenced = ++world.now; }
static void irist_bulk_commit()
{
    own().groups.emplace_back();
    dawdle();
}
static void irist_bulk_reusable(int keep) { await_groups(keep ? 1 : 0, &put_group::unread); }
static void irist_bulk_arrived() { await_groups(0, &put_group::absent); }
static void irist_bulk_pace(uint32_t open) { await_groups(open, &put_group::absent); }

/* A tile's flag on this rank, by who tells of what this workgroup has computed. */
static void irist_raise_set(uint64_t *at, uint64_t value)
{
    const uint64_t *flags = world.signals[world.rank] + 2 * world.ranks;
    const size_t tile = (size_t)(at - flags) / 4;
    require(at >= flags && tile < world.tiles.size() && value == world.epoch, "a signal is set that is no tile's flag");
    require(world.tiles[tile].flagged == 0, "a tile is flagged twice");
    require(world.tiles[tile].stored == MATH_WAVES * LANES, "a tile is flagged before it stands in C");
    flag((uint32_t)tile);
    require(*at == value, "a signal is set that is no tile's flag");
}

/* Peers are told of units. */
static void irist_raise_add(uint64_t *at, uint64_t units)
{
    uint32_t rank = 0;
    while (rank < world.ranks && at != &world.signals[rank][world.ranks + world.rank])
        rank++;
    require(rank < world.ranks && rank != world.rank && units > 0, "a signal is raised that tells no peer of tiles");
    *at += units;
    require(*at <= units_sent(&rank) || world.stopped, "a peer is told of tiles that have not arrived");
    dawdle();
}

#include <iris/mainloop/nvidia/gemm_shape.h>
#include <iris/gemm/tile.h>

static iris_gemm_plan plan;

/* Maps of C on each rank come behind those of A and B. */
static uint32_t rank_of(const void *map)
{
    return (uint32_t)((const unsigned char *)map - plan.maps[2]) / IRISI_GEMM_MAP_BYTES;
}
static void irisi_fetch_box(uint32_t to, const void *map, uint32_t x, uint32_t y, uint32_t bar)
{
    begin_fetch(to, rank_of(map), x, y, bar);
}
static void irisi_bulk_put_box_at(const void *map, uint32_t x, uint32_t y, uint32_t from)
{
    begin_put(rank_of(map), x, y, from);
}

enum { IRISI_GEMM_SM90A_RINGS = 30 }; /* as mainloop/nvidia/gemm.h has it */
static_assert(HEAD == IRISI_GEMM_COUNTERS + IRISI_GEMM_SM90A_HEAD, "barriers end elsewhere");
static_assert(BOXES * BOX_BYTES == 4 * IRISI_GEMM_SM90A_BLOCK, "the ring has another size");
static_assert(MATH_WAVES == (uint32_t)IRISI_GEMM_SM90A_MATH_WAVES, "other waves compute");

static void irisi_gemm_workspace_begin(const iris_gemm_plan *, char *workspace, uint32_t)
{
    if (irist_lane() == 0)
        for (uint32_t i = irist_wave(); i < 2 * IRISI_GEMM_SM90A_RINGS; i += irist_waves())
            make_barrier(irisi_shared_address(workspace) + 8 * i, 1);
}

/* Tiles at random, not the plan's. */
#define irisi_tile_next_scheduled irist_tile_next_scheduled
static int irist_tile_next_scheduled(const iris_gemm_plan *, iris_tile *tile, const irisi_tile_schedule *schedule)
{
    const uint32_t turn = tile->position;
    if (turn >= world.tiles.size() || turn >= schedule->end)
        return 0;
    const tile_state &t = world.tiles[turn];
    tile->m0 = t.y, tile->n0 = t.x, tile->rows = t.rows, tile->cols = t.columns;
    tile->top = tile->left = 0;
    tile->index = 4 * turn + turn % 4;
    tile->k_split = t.k_split;
    tile->position += tile->step;
    return 1;
}

#include <iris/mainloop/nvidia/tma_forward.h>
#include <iris/gemm/roles.h>

/* ---- the trials -------------------------------------------------------------------------------------------------- */

namespace {

iris_ctx ctx;
irisi_control control;
uint64_t channel_state[IRISI_CHANNEL_STATE];
irisi_tile_schedule computed, sent;
const irisi_gemm_way way = {IRISI_GEMM_TO_EVERYONE, IRISI_GEMM_DIRECTLY_LAST, 1, 0, 0};

/* What the math waves and the one that tells do before, without products. */
void compute(iris_gemm_part *part)
{
    iris_tile tile;
    uint32_t turn = 0;
    irisi_gemm_notify_begin(part, &plan);
    if (part->role == IRIS_GEMM_LOADER) {
        if (part->group.wave + 1 == part->group.waves)
            irisi_gemm_notify_wave(&ctx, &plan, part, &computed, way);
        return;
    }
    for (irisi_tile_begin_schedule(&plan, &tile, &computed); irisi_tile_next_scheduled(&plan, &tile, &computed);) {
        dawdle();
        if (!irisi_tile_ends(&plan, &tile))
            continue;
        world.tiles[irisi_tile_position(&tile)].stored++;
        irisi_gemm_notify_request(part, &plan, turn++);
    }
    irisi_bulk_arrived();
    world.computing--;
}

/* A lane's share of the kernel. */
void work()
{
    iris_gemm_part part = iris_gemm_begin(&plan, 0);
    if (computed.first < computed.end)
        compute(&part);
    irisi_gemm_send_beside(&ctx, &plan, &part, &sent);
    iris_sync_wg();
    require(gpu.transfers.empty(), "the workgroup leaves while boxes are on their way");
}

/* A turn of everything beside the lanes. */
bool move_world()
{
    const bool others = !world.unflagged.empty() || !world.unready.empty() || world.stops >= 0;
    require(++engine.idle < MOST_IDLE, "lanes wait for ever");
    for (uint32_t steps = 1 + random_below(world.haste); steps > 0 && !gpu.transfers.empty(); steps--)
        move_transfer();
    if (others && random_below(world.pause) == 0)
        move_others();
    control.abort = world.stopped;
    return others || !gpu.transfers.empty();
}

/* Tiles, one below the other: all of the most parts, which fill the ring, or of whole parts, or of any width. */
void make_tiles()
{
    const uint32_t tiles = random_below(5) == 0 ? random_below(4) : random_below(TILES), widths = random_below(3);
    world.tiles.assign(tiles, tile_state());
    for (uint32_t i = 0; i < tiles; i++) {
        tile_state &t = world.tiles[i];
        t.x = 64 * random_below(10), t.y = TILE_ROWS * i;
        t.columns = widths == 0 ? 256 : widths == 1 ? 64 * (1 + random_below(4)) : 8 * (1 + random_below(32));
        t.rows = random_below(9) == 0 ? 0 : random_below(3) ? (uint32_t)TILE_ROWS : 1 + random_below(TILE_ROWS);
        t.k_split = random_below(10) != 0;
        t.ends = t.rows > 0 && t.k_split == 1;
        t.sent = t.ends && i % sent.workers == sent.worker && i < sent.end;
    }
}

void make_plan()
{
    std::memset(&plan, 0, sizeof plan);
    plan.mainloop = IRISI_GEMM_SM90A, plan.machine.tma_store = 1, plan.operands.c_element = 2;
    plan.rank = world.rank, plan.world = world.ranks;
    plan.tiling.split_k = 2, plan.tiling.split_k_shift = 1, plan.tiling.unit = 64, plan.machine.xcds = 1;
    plan.machine.math_waves = MATH_WAVES, plan.machine.comm_waves = IRISI_GEMM_SM90A_COMM_WAVES;
    plan.machine.slots_with_comm = 4;
    plan.machine.workspace_bytes = HEAD - IRISI_GEMM_COUNTERS + BOXES * BOX_BYTES;
    plan.exchange.channel.signals = (iris_signal *)world.signals[world.rank];
    plan.exchange.channel.state = channel_state;
    channel_state[IRISI_EPOCH] = world.epoch - 1;
    control = irisi_control();
    ctx = iris_ctx();
    ctx.rank = (int32_t)world.rank, ctx.world = (int32_t)world.ranks;
    ctx.control = &control;
    ctx.base = (uint64_t)(uintptr_t)world.signals[world.rank]; /* the heap: signals alone */
    ctx.bytes = ctx.sync_bytes = sizeof world.signals[0];
    for (uint32_t r = 0; r < world.ranks; r++)
        ctx.delta[r] = (int64_t)sizeof world.signals[0] * ((int64_t)r - world.rank);
}

void make_world()
{
    world = {};
    gpu = {};
    engine = {};
    world.ranks = 1 + random_below(RANKS), world.rank = random_below(world.ranks);
    world.epoch = 1 + random_below(3);
    const uint32_t workers = random_below(3) ? 1 : 1 + random_below(3), worker = random_below(workers);
    sent = {worker, workers, 0, random_below(4) ? (uint32_t)TILES : random_below(TILES), UINT32_MAX};
    make_tiles();
    const uint32_t tiles = (uint32_t)world.tiles.size(), most = std::min(tiles, sent.end) / workers;
    computed = {worker, workers, 0, random_below(2) ? workers * random_below(std::min(most, 12u) + 1) : 0, UINT32_MAX};
    world.computing = computed.end > 0 ? MATH_WAVES * LANES : 0;
    for (uint32_t i = 0; i < tiles; i++)
        if (world.tiles[i].ends && (i >= computed.end || i % workers != worker))
            world.unflagged.push_back(i);
    for (uint32_t r = 0; r < world.ranks; r++)
        if (r != world.rank)
            world.unready.push_back(r);
    world.haste = 1 + random_below(40), world.pause = 1 + random_below(60), world.ordered = random_below(2) == 1;
    world.stops = random_below(8) ? -1 : (int32_t)random_below((uint32_t)world.unflagged.size() + world.ranks);
    for (uint32_t &patience : world.patience)
        patience = random_below(2) ? (uint32_t)PATIENCE : 0;
    gpu.elected = random_below(LANES);
    for (uint32_t &slow : engine.slow)
        slow = random_below(4) ? 0 : random_below(20);
    for (lane_state &l : engine.lanes)
        l.groups.resize(1);
}

void check_world()
{
    for (uint32_t r = 0; r < world.ranks; r++) {
        const bool peer = r != world.rank;
        const uint64_t units = units_sent(nullptr), notified = world.signals[r][world.ranks + world.rank];
        require(notified == (peer ? units : 0), "a peer is not told of all tiles, or of more");
        require(!peer || world.stopped || units_sent(&r) == units, "boxes have not arrived on a peer");
    }
}

/* So many trials, till one fails; some failures end the program. */
void run_tma_forward(uint32_t first, uint32_t trials)
{
    uint32_t boxes = 0;
    wg.beside = move_world;
    for (uint32_t seed = first; seed < first + trials && failures == 0; seed++) {
        random_state = seed * 2654435761u;
        make_world();
        make_plan();
        std::snprintf(trial, sizeof trial, "seed %u, rank %u of %u, %zu tiles, %u computed before%s", seed, world.rank,
                      world.ranks, world.tiles.size(), computed.end, world.stops < 0 ? "" : ", stops");
        run_lanes(IRISI_GEMM_COUNTERS + plan.machine.workspace_bytes, work);
        if (failures == 0)
            check_world();
        boxes += world.boxes;
    }
    std::printf("%u boxes\n", boxes);
}

} // namespace

#if !defined(IRIST_NO_MAIN)
int main(int argc, char **argv)
{
    const program p = {run_tma_forward, 500, 100, 5000, nullptr, {}, nullptr};
    return run_program(p, argc, argv);
}
#endif
#else
#if !defined(IRIST_NO_MAIN)
int main() { return 0; }
#endif
#endif
