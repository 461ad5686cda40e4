# SPDX-License-Identifier: MIT
"""bench/few_rows.py says by how much a path wins where it is chosen, of numbers that are made up; and what gemm_local
writes of several paths on this machine is whole: each in turn, checked, and none where its row cannot be.

    few_rows.py SCRIPT [GEMM_LOCAL_PROGRAM]
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def path(loop, us, ok=True, copies=0):
    return {"row": "", "loop": loop, "tile": [8, 64], "split_k": 1, "copies": copies, "us": us, "ok": ok}


def row(m, *paths):
    return {"m": m, "n": 4095, "k": 4096, "us": paths[0]["us"], "peer_us": 3 * paths[0]["us"], "ratio": 3.0, "ok": True,
            "paths": list(paths)}


def shown(script, folder):
    other = "sm90a_unaligned_b"
    rows = [row(1, path("gemv", 2.0), path(other, 4.0), path("sm90a", 3.0, ok=False)),  # 2: wrong ones do not count
            row(8, path("gemv", 2.0), path(other, 2.5), path(other, 1.0)),  # 0.5: the best of a path
            row(64, path(other, 1.0), path("sm90a", 1.21, copies=1))]
    run = {"dtype": "bf16", "b_transposed": 0, "ragged": 1, "rows": rows, "complete": True}
    file = pathlib.Path(folder, "made_up.json")
    file.write_text(json.dumps({"device": "none", "commit": "none", "runs": [run]}), encoding="utf-8")
    text = subprocess.run([sys.executable, "-B", script, "--show", file], check=True, capture_output=True,
                          text=True).stdout
    last = {tuple(line.split()[1:3]): line.split() for line in text.splitlines() if " shapes " in line}
    assert last["gemv", "all"][5] == "1.000" and last["gemv", "all"][3] == "2", last
    assert last["sm90a_unaligned_b", "ragged"][5] == "1.210", last
    assert last["sm90a_unaligned_b", "all"][-1] == "3.000", last
    assert "sm90a after copies" in text, text


def written(program, folder):
    file = pathlib.Path(folder, "written.json")
    subprocess.run([program, "-r", "1", "-T", "skinny=2", "-T", "width=16", "-j", file, "8x64x32", "16x48x40"],
                   check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    assert [[p["row"] for p in r["paths"]] for r in rows] == [["", "width=16"]] * 2, rows  # the host has no skinny=2
    assert all(p["ok"] and p["us"] > 0 for r in rows for p in r["paths"]), rows
    assert all(r["paths"][1]["tile"][1] == 16 for r in rows), rows


if len(sys.argv) not in (2, 3):
    sys.exit("usage: few_rows.py SCRIPT [GEMM_LOCAL_PROGRAM], where SCRIPT is bench/few_rows.py")
with tempfile.TemporaryDirectory() as scratch:
    shown(sys.argv[1], scratch)
    if len(sys.argv) > 2:
        written(sys.argv[2], scratch)
