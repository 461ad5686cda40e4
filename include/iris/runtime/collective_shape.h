/* SPDX-License-Identifier: MIT */
/*
 * collective_shape.h: a part of init.c: which schedule a collective goes by, by how many slices, workgroups, lanes.
 */
#ifndef IRIS_RUNTIME_COLLECTIVE_SHAPE_H
#define IRIS_RUNTIME_COLLECTIVE_SHAPE_H
#ifdef IRIS_INIT_C

#include <iris/runtime/collective_rows.h>
#include <iris/runtime/world_state.h>

/* How a platform shares work out: slices of a channel, their scratch, bytes worth one, lanes of a workgroup. */
typedef struct irisi_collective_shape {
    uint32_t slices, scratch, least, lanes;
} irisi_collective_shape;

static int irisi_on_host(const iris_world *w) { return !strcmp(iris_arch_name(w), "host"); }
/* A platform's place in tables: NVIDIA, AMD, host. */
static int irisi_column(const iris_world *w) { return irisi_on_host(w) ? 2 : !strncmp(iris_arch_name(w), "gfx", 3); }

/* Many workgroups of few lanes are quickest, if all fit; on the host, with few cores, few of one thread each. */
static irisi_collective_shape irisi_collective_shape_of(const iris_world *w)
{
    static const irisi_collective_shape shapes[] = {
        {128, 32 << 10, 1 << 10, 512}, {64, 32 << 10, 1 << 10, 256}, {4, 32 << 10, 1 << 18, 64}};
    irisi_collective_shape shape = shapes[irisi_column(w)];
    if (shape.slices > IRISI_FEW_SLICES && shape.slices > (uint32_t)w->dev.compute_units)
        shape.slices = IRISI_FEW_SLICES;
    return shape;
}

/*
 * The library's choice: the first row of a collective, for so many members or any (0), that reaches to the bytes of all
 * members' elements together, on NVIDIA, AMD and the host. From two and four H200s; AMD has thin packets for ll_relay.
 */
static const struct irisi_collective_choice {
    irisi_family family;
    iris_schedule schedule;
    int members;
    size_t most[3];
} irisi_collective_choices[] = {
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_LL, 2, {512 << 10, 512 << 10, 512}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_ONE_SHOT, 2, {2 << 20, 2 << 20, 0}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_LL, 0, {256 << 10, 256 << 10, 512}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_LL_TWO_SHOT, 0, {1 << 20, 1 << 20, 2048}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_TWO_SHOT, 2, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_TWO_SHOT_PUSH, 0, {4 << 20, 0, 0}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_TWO_SHOT, 0, {128 << 20, 128 << 20, SIZE_MAX}},
    {IRISI_FAMILY_ALL_REDUCE, IRIS_SCHEDULE_TWO_PHASE, 0, {SIZE_MAX, SIZE_MAX, 0}},
    {IRISI_FAMILY_ALL_GATHER, IRIS_SCHEDULE_LL, 0, {256 << 10, 256 << 10, 512}},
    {IRISI_FAMILY_ALL_GATHER, IRIS_SCHEDULE_PUSH, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_REDUCE_SCATTER, IRIS_SCHEDULE_LL, 0, {256 << 10, 256 << 10, 512}},
    {IRISI_FAMILY_REDUCE_SCATTER, IRIS_SCHEDULE_PUSH, 0, {2 << 20, 2 << 20, 4096}},
    {IRISI_FAMILY_REDUCE_SCATTER, IRIS_SCHEDULE_PULL, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_ALL_TO_ALL, IRIS_SCHEDULE_LL, 0, {256 << 10, 256 << 10, 512}},
    {IRISI_FAMILY_ALL_TO_ALL, IRIS_SCHEDULE_PUSH, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_LL, 0, {512 << 10, 512 << 10, 512}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_PUSH, 2, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_LL_RELAY, 0, {20 << 20, 1 << 20, 0}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_RELAY, 0, {512 << 20, 512 << 20, 0}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_CHAIN, 0, {SIZE_MAX, SIZE_MAX, 0}},
    {IRISI_FAMILY_BROADCAST, IRIS_SCHEDULE_PUSH, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_REDUCE, IRIS_SCHEDULE_TWO_SHOT, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_GATHER, IRIS_SCHEDULE_PUSH, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
    {IRISI_FAMILY_SCATTER, IRIS_SCHEDULE_PULL, 0, {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
};

/* From what all members know alike. `tuned`: the row of IRIS_TUNE for the call, which counts first, or null. */
static iris_schedule irisi_collective_choose(const iris_world *w, irisi_family family, const iris_collective *c,
                                             const irisi_collective_row *tuned)
{
    const size_t all = c->count * iris_dtype_bytes(c->dtype) * (size_t)c->team.size;
    const struct irisi_collective_choice *row = irisi_collective_choices;
    if (tuned != NULL)
        return (iris_schedule)tuned->schedule;
    while (row->family != family || (row->members && row->members != c->team.size) || all > row->most[irisi_column(w)])
        row++;
    return row->schedule;
}

/* Most workgroups of a collective: the device's compute units; of the host's cores, every rank has its part. */
static uint32_t irisi_collective_units(const iris_world *w)
{
    const uint32_t units = (uint32_t)w->dev.compute_units, ranks = (uint32_t)w->size;
    return !irisi_on_host(w) ? units : units < ranks ? 1 : units / ranks;
}

/* Slices that have work, of which each but the last has `each`; one where there is none. */
static uint32_t irisi_collective_busy(size_t count, size_t each)
{
    return count == 0 ? 1 : (uint32_t)((count + each - 1) / each);
}

/*
 * Workgroups meet those of other ranks on the same slice, never each other. Where each has one slice, it is enough that
 * they begin in order: launched like any other kernel they begin earlier. Where some have several, all must be there at
 * once: one that went on to its next slice would keep another, which a peer with fewer workgroups waits for, from
 * beginning.
 */
static uint32_t irisi_collective_flags(const iris_world *w, uint32_t workgroups, uint32_t busy)
{
    return workgroups >= busy && workgroups <= (uint32_t)w->dev.compute_units ? 0 : IRIS_LAUNCH_COOPERATIVE;
}

/*
 * A workgroup for each slice that has work, but no more than compute units, and a lane for each 8 bytes of it, if the
 * caller does not ask for others. Workgroups that reduce have no more than LOADERS lanes together: with more loads from
 * members at once they are slower, and of two streams' kernels of 128 workgroups not all would fit a device. `each`: of
 * a slice; `asked`: may be null.
 */
static iris_launch_config irisi_collective_grid(const iris_world *w, size_t each, size_t count, size_t bytes,
                                                int reduces, const iris_collective *asked)
{
    enum { LOADERS = 32768 };
    const uint32_t units = irisi_collective_units(w), busy = irisi_collective_busy(count, each);
    const size_t some = (each < count ? each : count) * bytes, wanted = irisi_round_up(some < 8 ? 1 : some / 8, 64);
    const uint32_t most = irisi_collective_shape_of(w).lanes;
    iris_launch_config cfg = iris_cooperative(busy < units ? busy : units, wanted < most ? (uint32_t)wanted : most);
    cfg.workgroups = asked && asked->workgroups ? asked->workgroups : cfg.workgroups;
    cfg.lanes = asked && asked->lanes ? asked->lanes : cfg.lanes;
    const uint32_t loaders = cfg.workgroups < LOADERS / 64 ? LOADERS / cfg.workgroups / 64 * 64 : 64;
    cfg.lanes = reduces && cfg.lanes > loaders ? loaders : cfg.lanes;
    cfg.flags = irisi_collective_flags(w, cfg.workgroups, busy);
    return cfg;
}

#endif
#endif
