# SPDX-License-Identifier: MIT
"""Every ratio in a benchmark's JSON is that of its own row, and every ceiling of a GEMM that of its own shape.

    ratios.py RESULTS_FOLDER GEMM_FUSED_PROGRAM

looks at the results that are kept, and at what the program writes of two small shapes on this machine.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

SENDS = ("push", "gather", "nccl", "nccl_window", "iris")  # rows with a bandwidth, which nothing is compared with
GEMMS = ("gemm_fused", "gemm_all_scatter")  # the second came before the first


def near(value, expected, *rounding):
    """Equal, but for the last printed digits of what was divided: [(number, half a unit)]."""
    slack = sum(half / abs(number) for number, half in rounding if number)
    return math.isclose(value, expected, rel_tol=slack * 1.1, abs_tol=1.5e-4)


def wrong_ratio(row):
    """What is wrong with the ratio of a row of iris-bench-1, or nothing."""
    if "ratio" not in row:
        return ""
    if row.get("gbps"):
        value, rounding = row["gbps"] / row["ceiling"], [(row["gbps"], 5e-4), (row["ceiling"], 5e-5)]
    elif row["us"]:
        value, rounding = row["ceiling"] / row["us"], [(row["ceiling"], 5e-5), (row["us"], 5e-5)]
    else:  # what was wrong has not been timed
        return "" if not row["ok"] and row["ratio"] == 0 else "a ratio without a time"
    if near(row["ratio"], value, *rounding):
        return ""
    return f"the ratio is {row['ratio']}, its row's numbers say {value:.4f}"


def wrong_ceiling(row, us, old):
    """What is wrong with the ceiling of a row of a GEMM; `us` by variant of its shape and operation."""
    end = "_graph" if row["variant"].endswith("_graph") else ""
    name = row["variant"].removesuffix("_graph")
    blas, gemm, push = (us.get(v + end) for v in ("blas", "gemm", "push"))
    expected = None if name in SENDS else blas if name in ("blas", "gemm") else max(blas or gemm or 0, push or 0)
    if old and name.startswith("blas+"):
        expected = blas
    if row.get("ceiling") == expected or (expected and near(row.get("ceiling", 0), expected, (expected, 5e-5))):
        return ""
    return f"the ceiling is {row.get('ceiling')}, its shape's own is {expected}"


def problems(result):
    """The sentences about one file."""
    found, shapes = [], {}
    rows = result["rows"] if result.get("schema") == "iris-bench-1" else []
    for row in rows:
        shapes.setdefault((row.get("op"), row["case"]), {})[row["variant"]] = row["us"]
    for row in rows:
        us, old = shapes[row.get("op"), row["case"]], result["benchmark"] == "gemm_all_scatter"
        for what in (wrong_ratio(row), wrong_ceiling(row, us, old) if result["benchmark"] in GEMMS else ""):
            if what:
                found.append(f"{row['case']} {row['variant']} {row['bytes']}: {what}")
    return found


def main():
    results, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    files = {str(p.relative_to(results)): json.loads(p.read_text(encoding="utf-8"))
             for p in sorted(results.rglob("*.json"))}
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made.json")
        subprocess.run([program, "-n", "2", "-r", "1", "-l", "1", "-M", "65536", "-j", made, "64x96x32", "32x64x128"],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, "IRIS_TIMEOUT_MS": "100000"})
        files["this machine's"] = json.loads(made.read_text(encoding="utf-8"))
    assert len({(row["op"], row["case"]) for row in files["this machine's"]["rows"]}) == 10, "a shape has no rows"
    found = [f"{name}: {what}" for name, result in files.items() for what in problems(result)]
    sys.exit("\n".join(found[:40] + [f"{len(found)} in all"]) if found else 0)


main()
