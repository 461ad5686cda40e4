/* SPDX-License-Identifier: MIT */
/*
 * wave_group.h: waves of a workgroup that work together.
 *
 *   iris_wave_group iris_wave_group_all iris_wave_group_of iris_wave_group_sync
 */
#ifndef IRIS_GEMM_WAVE_GROUP_H
#define IRIS_GEMM_WAVE_GROUP_H

#include <iris/barrier.h>

#if IRIS_HAS_DEVICE

/**
 * Waves of one workgroup that do something together, while its other waves do something else. A wave group that is the
 * whole workgroup meets at the workgroup's barrier. One that is a part of it meets at a named barrier of the device,
 * which the address of its counter selects, or where the device has none, at the counter. Counters of one workgroup's
 * wave groups are neighbours in shared memory.
 */
typedef struct iris_wave_group {
    uint32_t member, members; /* lanes */
    uint32_t wave, waves;
    uint32_t *counter; /* in shared memory, 0 when the wave group is formed; null: the wave group is the workgroup */
    uint32_t met;      /* arrivals that the last meeting waited for */
    uint32_t window;   /* boxes of each wave that may be under way at a time; 0: any number */
    int stopped;       /* 1: the world has stopped: nothing is put into peers' memory any more */
} iris_wave_group;

/**
 * @name Wave groups
 *
 * Waves of one workgroup that meet without the others. The workgroup has whole waves: its lanes are a multiple of
 * iris_wave_lanes().
 *
 * @param first   its first wave in the workgroup
 * @param waves   how many waves
 * @param counter 4 zeroed bytes of workgroup-shared memory
 * @param group   the wave group that meets
 * @{
 */
/** The wave group of waves first .. first + waves - 1; the calling lane is in one of them. */
IRIS_DEVICE iris_wave_group iris_wave_group_of(uint32_t first, uint32_t waves, uint32_t *counter)
{
    iris_wave_group group;
    group.wave = iris_wave() - first;
    group.waves = waves;
    group.member = group.wave * iris_wave_lanes() + iris_lane();
    group.members = waves * iris_wave_lanes();
    group.counter = counter;
    group.met = 0;
    group.window = 0;
    group.stopped = 0;
    return group;
}

/** The whole workgroup as a wave group. */
IRIS_DEVICE iris_wave_group iris_wave_group_all(void) { return iris_wave_group_of(0, iris_waves(), NULL); }

/* Waits until a counter in shared memory has reached `value`; it may wrap. Every lane of a wave calls it. */
IRIS_DEVICE void irisi_await_counter(const uint32_t *counter, uint32_t value)
{
    for (uint32_t spin = 1; (int32_t)(irisi_shared_get(counter) - value) < 0; spin++)
        iris_pause(spin);
    iris_sync_wave();
}

/** Barrier of a wave group: every lane of it calls; orders their memory operations among themselves. */
IRIS_DEVICE void iris_wave_group_sync(iris_wave_group *group)
{
    iris_sync_wave();
    if (group->counter == NULL) {
        iris_sync_wg();
    } else if (group->waves > 1 && !irisi_sync_part(group->counter, group->members)) {
        group->met += group->waves;
        if (iris_lane() == 0)
            irisi_shared_add(group->counter, 1);
        irisi_await_counter(group->counter, group->met);
    }
}
/** @} */

#endif
#endif
