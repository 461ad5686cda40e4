# SPDX-License-Identifier: MIT
"""A program of benchmarks is told what to do on its command line: bench/pairs lists its points, runs those that are
asked for, writes the same rows to both files, and refuses what it cannot do in one sentence.

    pairs.py PROGRAM
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
ENVIRONMENT = {**os.environ, "IRIS_TIMEOUT_MS": "100000"}
SMALL = ("-n", "3", "-r", "2", "-m", "64", "-M", "256", "-A", "64", "-w", "1", "-l", "64")
PAIRS = ("load", "store", "put", "get", "atomic_add", "atomic_xchg")
ALL = ("all_load", "all_store")


def said(*arguments, fails=0):
    """(standard output, standard error) of a run that ends with `fails`."""
    done = subprocess.run([PROGRAM, *arguments], check=False, capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == fails, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def listed():
    out, _ = said(*SMALL, "--list", "--filter", "put bytes=256 from=1")
    assert out == "".join(f"put bytes=256 from=1 to={to}\n" for to in range(3)), out
    out, _ = said(*SMALL, "--list")
    assert len(out.splitlines()) == 4 * 2 * 9 + 2 * 1 * 9 + 2 * 2, out
    out, _ = said("-m", "64", "-M", "256", "-h")
    for part in ("--list", "--filter WORDS", "--json FILE", "--csv FILE", "-h, --help", "--ceiling",
                 "put\n  bytes        64 256\n  from         0 .. ranks - 1\n"):
        assert part in out, out


def refused():
    for arguments, words in ((("--filter", "push"), "no point matches 'push'"), (("-r", "few"), "'few' is no number"),
                             (("--repeats", "0"), "--repeats 0: give 1 to 4096"), (("-n", "-2"), "'-2' is no number"),
                             (("--ceiling", "x"), "--ceiling is no positive number"),
                             (("word",), "'word' is no option"),
                             (("-m", "24"), "--min is a multiple of 16"), (("--bogus",), "--bogus"),
                             (("--graph",), "--graph: the host platform has no graphs")):
        out, error = said(*arguments, fails=2)
        assert words in error and error.count("\n") == 1 and not out, (arguments, out, error)
    with tempfile.TemporaryDirectory() as folder:
        _, error = said(*SMALL, "--json", f"{folder}/there/is/none.json", fails=1)
        assert error.startswith("cannot write ") and "none.json" in error, error


def written():
    with tempfile.TemporaryDirectory() as folder:
        made, table = pathlib.Path(folder, "made.json"), pathlib.Path(folder, "made.csv")
        out, _ = said(*SMALL, "-c", "abc1234", "--json", made, "--csv", table)
        result, lines = json.loads(made.read_text(encoding="utf-8")), list(csv.DictReader(table.open(encoding="utf-8")))
    assert (result["schema"], result["benchmark"], result["commit"]) == ("iris-bench-1", "pairs", "abc1234"), result
    assert (result["world"], result["repeats"], result["complete"]) == (3, 2, True), result
    rows = result["rows"]
    assert all(r["ok"] and 0 < r["min"] <= r["p10"] <= r["us"] <= r["p90"] for r in rows), rows
    for case in PAIRS:
        sizes = (64,) if case.startswith("atomic") else (64, 256)
        assert [(r["bytes"], r["from"], r["to"]) for r in rows if r["case"] == case] == [
            (size, a, b) for size in sizes for a in range(3) for b in range(3)], case
    for case in ALL:
        assert [r["bytes"] for r in rows if r["case"] == case] == [128, 512], case
    assert all("ratio" in r or r["case"].startswith("atomic") for r in rows), rows
    for text, number in (("case", None), ("bytes", int), ("us", float), ("p90", float), ("gbps", float)):
        for r, line in zip(rows, lines, strict=True):
            want = r.get(text, 0)
            assert line[text] == want if number is None else abs(number(line[text] or 0) - want) <= 1e-3, (r, line)
    assert "put, 256 bytes, GB/s" in out and out.count("\n  2: ") == 4 * 2 + 2, out


def ceiling():
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "made.json")
        said(*SMALL, "-f", "put,atomic_add,bytes=64,from=0,to=1", "--ceiling", "0.5", "-j", made)
        rows = json.loads(made.read_text(encoding="utf-8"))["rows"]
    assert [(r["case"], r["ceiling"]) for r in rows] == [("put", 0.5), ("atomic_add", 0.5)], rows


listed()
refused()
written()
ceiling()
