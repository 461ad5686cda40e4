/* SPDX-License-Identifier: MIT */
/*
 * choice.h: what a GEMM plan has chosen, as a tuning row.
 */
#ifndef TESTS_GEMM_CHOICE_H
#define TESTS_GEMM_CHOICE_H

#include <cstring>
#include <string>

#include <iris/gemm/prepare.h>

#include "../harness.h"

inline std::string choice_of(irist_rank *t, const iris_gemm_plan *plan)
{
    iris_gemm_row row;
    std::memset(&row, 0, sizeof row);
    irist_ok(t, iris_gemm_choice(t->world, plan, &row));
    return row.text;
}

#endif
