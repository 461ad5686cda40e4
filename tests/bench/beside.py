# SPDX-License-Identifier: MIT
"""bench/beside measures a GEMM, a collective and both at once, checks what they leave, and compares both with the
longer of the two alone.

    beside.py PROGRAM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
SMALL = ("-m", "33", "-w", "17", "-k", "40", "-b", "6144", "-r", "2")
ENVIRONMENT = {**os.environ, "IRIS_TIMEOUT_MS": "100000"}

for ranks in ("1", "3"):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "rows.json")
        done = subprocess.run([PROGRAM, "-n", ranks, *SMALL, "--json", file], check=False, capture_output=True,
                              text=True, env=ENVIRONMENT)
        assert done.returncode == 0, (ranks, done.stdout, done.stderr)
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert all(r["ok"] for r in rows), rows
    alone, shares = {}, []
    for r in rows:
        if r["variant"] != "both":
            alone[r["case"], r["variant"]] = r["us"]
            continue
        shares.append((r["case"], r["share"]))
        longer = max(alone[r["case"], "gemm"], alone[r["case"], "collective"])
        assert abs(r["ceiling"] - longer) <= 1e-3 * longer, (r, alone)
        assert abs(r["ratio"] - r["ceiling"] / r["us"]) <= 1e-3, r
    assert shares == [("all_reduce", 1), ("all_reduce", 2), ("all_gather", 1), ("all_gather", 2),
                      ("all_gather_copy_engine", 0)], shares

refused = subprocess.run([PROGRAM, "-m", "0"], check=False, capture_output=True, text=True)
assert refused.returncode == 2 and "sides are 1 or more" in refused.stderr, (refused.returncode, refused.stderr)
