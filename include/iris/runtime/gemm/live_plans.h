/* SPDX-License-Identifier: MIT */
/*
 * live_plans.h: a part of init.c: which plans of a world were made and not released yet. A plan may be copied; all its
 * copies are one plan.
 *
 *   irisi_gemm_plan_enlist irisi_gemm_plan_lives irisi_gemm_plan_strike
 *
 * Each plan of a process has a number of its own. A world lists those of its live plans; numbers rise, so the list is
 * in order.
 */
#ifndef IRIS_RUNTIME_GEMM_LIVE_PLANS_H
#define IRIS_RUNTIME_GEMM_LIVE_PLANS_H
#ifdef IRIS_INIT_C

#include <iris/gemm/plan.h>
#include <iris/runtime/world_state.h>

static uint64_t irisi_gemm_plans_made; /* in this process */

/* Where a number stands in the world's list, or would stand. */
static size_t irisi_gemm_plan_place(const iris_world *w, uint64_t number)
{
    size_t low = 0, high = w->gemm_plans;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (w->gemm_numbers[mid] < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* 1 for a plan of this world of which no copy was released. */
static int irisi_gemm_plan_lives(const iris_world *w, const iris_gemm_plan *p)
{
    const size_t at = irisi_gemm_plan_place(w, p->launcher.number);
    return at < w->gemm_plans && w->gemm_numbers[at] == p->launcher.number;
}

/* Gives a plan its number and lists it. */
static iris_status irisi_gemm_plan_enlist(iris_world *w, iris_gemm_plan *p)
{
    if (w->gemm_plans == w->gemm_room) {
        const size_t room = w->gemm_room ? 2 * w->gemm_room : 16;
        uint64_t *numbers = (uint64_t *)realloc(w->gemm_numbers, room * sizeof *numbers);
        if (numbers == NULL)
            return irisi_fail(w, IRIS_ERR_NOMEM, "iris_gemm_prepare: no memory for a list of %zu plans", room);
        w->gemm_numbers = numbers, w->gemm_room = room;
    }
    p->launcher.number = __atomic_add_fetch(&irisi_gemm_plans_made, 1, __ATOMIC_RELAXED);
    w->gemm_numbers[w->gemm_plans++] = p->launcher.number;
    return IRIS_OK;
}

/* Takes a plan off the list, if it is there. */
static void irisi_gemm_plan_strike(iris_world *w, const iris_gemm_plan *p)
{
    const size_t at = irisi_gemm_plan_place(w, p->launcher.number);
    if (!irisi_gemm_plan_lives(w, p))
        return;
    w->gemm_plans--;
    memmove(w->gemm_numbers + at, w->gemm_numbers + at + 1, (w->gemm_plans - at) * sizeof *w->gemm_numbers);
}

#endif
#endif
