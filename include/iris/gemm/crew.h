/* SPDX-License-Identifier: MIT */
/*
 * crew.h: waves of a workgroup that work together.
 *
 *   iris_crew iris_crew_all iris_crew_of iris_crew_sync
 */
#ifndef IRIS_GEMM_CREW_H
#define IRIS_GEMM_CREW_H

#include <iris/barrier.h>

#if IRIS_HAS_DEVICE

/**
 * Waves of one workgroup that carry out something together, while other waves of it do something else. A crew that
 * is the whole workgroup meets at the workgroup's barrier, a part of it at a barrier of the device that its counter
 * stands for, or at the counter itself. Counters of one workgroup's crews are neighbours in shared memory.
 */
typedef struct iris_crew {
    uint32_t member, members; /* lanes */
    uint32_t wave, waves;
    uint32_t *counter; /* in shared memory, 0 when the crew is formed; null: the crew is the workgroup */
    uint32_t met;      /* arrivals that the last meeting waited for */
    uint32_t window;   /* boxes under way of each wave; 0: any number */
    int stopped;       /* 1: the wait for peers was given up, so nothing is put into their memory */
} iris_crew;

/**
 * @name Crews
 *
 * Waves of one workgroup that meet without the others.
 *
 * @param first   its first wave in the workgroup
 * @param waves   how many waves
 * @param counter 4 zeroed bytes of workgroup-shared memory
 * @param crew    the crew that meets
 * @{
 */
/** The crew of waves first .. first + waves - 1; the calling lane is in it. `counter` is zeroed shared memory. */
IRIS_DEVICE iris_crew iris_crew_of(uint32_t first, uint32_t waves, uint32_t *counter)
{
    iris_crew crew;
    crew.wave = iris_wave() - first;
    crew.waves = waves;
    crew.member = crew.wave * iris_wave_lanes() + iris_lane();
    crew.members = waves * iris_wave_lanes();
    crew.counter = counter;
    crew.met = 0;
    crew.window = 0;
    crew.stopped = 0;
    return crew;
}

/** The whole workgroup as a crew. */
IRIS_DEVICE iris_crew iris_crew_all(void) { return iris_crew_of(0, iris_waves(), NULL); }

/* Waits until a counter in shared memory has reached `value`; it may wrap. Every lane of a wave calls it. */
IRIS_DEVICE void irisi_await_counter(const uint32_t *counter, uint32_t value)
{
    for (uint32_t turn = 1;
         (int32_t)(irisi_shared_get(counter) - value) < 0; turn++)
        iris_pause(turn);
    iris_sync_wave();
}

/** Barrier of a crew: every lane of it calls; orders their memory operations among themselves. */
IRIS_DEVICE void iris_crew_sync(iris_crew *crew)
{
    iris_sync_wave();
    if (crew->counter == NULL) {
        iris_sync_wg();
    } else if (crew->waves > 1 && !irisi_sync_part(crew->counter, crew->members)) {
        crew->met += crew->waves;
        if (iris_lane() == 0)
            irisi_shared_add(crew->counter, 1);
        irisi_await_counter(crew->counter, crew->met);
    }
}
/** @} */

#endif
#endif
