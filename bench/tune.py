#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the built-in table of GEMM choices, include/iris/runtime/gemm/table.h, of what iris-tune wrote.

    commit=$(git rev-parse --short HEAD)
    build-gpu/bench_iris_tune -n 4 -c $commit -o bench/results/iris_tune/4xH200/$commit.txt published
    python3 bench/tune.py

Every bench/results/*_tune/*/*.txt counts (gemm_tune is what iris-tune was before it knew collectives), and
tests/docs/check.py compares the header with them. iris_gemm_prepare reads the header's rows as it reads those of a
file: the first one for a problem counts. Rows of collectives are passed over: the library's choice of schedules is a
table in include/iris/runtime/collective_shape.h.
"""
import pathlib
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = ROOT / "include/iris/runtime/gemm/table.h"
TEXT = """/* SPDX-License-Identifier: MIT */
/*
 * table.h: a part of init.c: the built-in table of measured choices, rows as tune_read.h reads them.
 *
 * Made by `python3 bench/tune.py` of what iris-tune wrote into bench/results: measure again instead of editing it.
 */
#ifndef IRIS_RUNTIME_GEMM_TABLE_H
#define IRIS_RUNTIME_GEMM_TABLE_H
#ifdef IRIS_INIT_C

static const char *const irisi_gemm_table[] = {
%s    NULL,
};

#endif
#endif
"""


# What AUTO does not choose with Hopper's mainloop, so that programs need not hold it (gen/gemm.py, `chosen`). On one
# rank such a row's tiles are those of a GEMM alone.
UNCHOSEN = ("wave_specialized",)


def rows(files):
    """(problem, choice) of each row; two of a problem must be BLAS's and the library's own, in this order."""
    seen = {}
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            problem, found, choice = " ".join(line.partition("#")[0].split()).partition(" pattern=")
            if not problem or problem.startswith("collective="):
                continue
            if not found:
                sys.exit(f"{file}, line {number}: it has no problem and pattern")
            before = seen.setdefault(problem, [])
            if before and before != ["blas_gather"]:
                sys.exit(f"{file}, line {number}: this problem has a row already: {problem}")
            pattern, rest = choice.split(maxsplit=1)
            before.append(pattern)
            if pattern not in UNCHOSEN:
                yield problem, "pattern=" + choice
            elif " world=1 " in problem:
                yield "op=local " + problem, rest


def header(files=None):
    """The header's text."""
    files = sorted(ROOT.glob("bench/results/*_tune/*/*.txt")) if files is None else files
    lines = ([problem, *textwrap.wrap(choice, 112)] for problem, choice in rows(files))
    return TEXT % "".join("    " + " \"\n    ".join('"' + part for part in row) + '",\n' for row in lines)


if __name__ == "__main__":
    HEADER.write_text(header(), encoding="utf-8")
    print(f"{HEADER.relative_to(ROOT)}: {header().count('us=')} rows")
