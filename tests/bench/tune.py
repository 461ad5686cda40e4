# SPDX-License-Identifier: MIT
"""iris-tune on the host platform: its rows are the fastest of what it has timed, each range up to where the next one
begins, and it refuses in one sentence what it cannot do. That programs obey the file, the page's commands show.

    tune.py PROGRAM
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ENVIRONMENT = {**os.environ, "IRIS_TIMEOUT_MS": "100000", "IRIS_TUNE": "no such file"}  # which is not for iris-tune
SMALL = ("-n", "2", "-m", "1024", "-M", "16384", "-r", "2", "-l", "2")
STAYS = 1.02


def said(*arguments, fails=0, cwd=None):
    done = subprocess.run([PROGRAM, *arguments], check=False, capture_output=True, text=True, env=ENVIRONMENT, cwd=cwd)
    assert done.returncode == fails, (arguments, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def fields(line):
    return dict(field.split("=", 1) for field in line.split())


def expected(rows, name):
    """(schedule, bytes of all ranks' elements at the ends of its range) as the page says, of the times in JSON."""
    won, before = [], None
    for size in sorted({r["bytes"] for r in rows if r["case"] == name}):
        times = {r["variant"]: r["us"] for r in rows if r["case"] == name and r["bytes"] == size}
        best = min(times, key=times.get)
        if before in times and times[before] <= STAYS * times[best]:
            best = before
        before = best
        won.append((best, 2 * size))  # a message of each of two ranks
    ranges = []
    for i, (schedule, size) in enumerate(won):
        if i + 1 == len(won):
            ranges.append((schedule, size))
        elif won[i + 1][0] != schedule:
            ranges.append((schedule, int(math.sqrt(float(size) * float(won[i + 1][1])))))
    return ranges


def measured():
    with tempfile.TemporaryDirectory() as folder:
        out, _ = said(*SMALL, "-o", "rows.txt", "--json", "rows.json", "-k", "2", "all_reduce", "reduce", "64x48x32",
                      cwd=folder)
        lines = pathlib.Path(folder, "rows.txt").read_text(encoding="utf-8").splitlines()
        result = json.loads(pathlib.Path(folder, "rows.json").read_text(encoding="utf-8"))
    end = f"{len(lines) - 1} rows are in rows.txt: IRIS_TUNE=./rows.txt makes programs choose by them\n"
    assert out.endswith(end), (out, end)
    assert result["complete"] and all(r["ok"] for r in result["rows"]), result
    assert lines[0].startswith("# 2 x ") and lines[0].endswith(": rows for IRIS_TUNE, by iris-tune"), lines
    rows = [fields(line) for line in lines[1:]]
    for name, schedules in (("all_reduce", 6), ("reduce", 2)):  # without rings
        timed = {r["variant"] for r in result["rows"] if r["case"] == name}
        assert len(timed) == schedules and "ring" not in timed, timed
        own = [r for r in rows if r.get("collective") == name]
        assert all((r["arch"], r["ranks"]) == ("host", "2") and float(r["us"]) > 0 for r in own), own
        got, wanted = [(r["schedule"], int(r["upto"])) for r in own], expected(result["rows"], name)
        assert got == wanted, (got, wanted)
    gemms = [r for r in rows if r.get("op") == "all_scatter"]
    assert len(gemms) == 1 and len(rows) == len(gemms) + sum("collective" in r for r in rows), lines
    assert (gemms[0]["m"], gemms[0]["n"], gemms[0]["k"], gemms[0]["dtype"]) == ("64", "48", "32", "bf16"), gemms
    again, seen = [], set()  # the fastest few are timed twice, and the second time counts
    for r in (r for r in result["rows"] if r["case"] == "64x48x32"):
        again += [r] if r["variant"] in seen else []
        seen.add(r["variant"])
    best = min(again, key=lambda r: r["us"])
    assert len(seen) >= 4 and len(again) == 3 and abs(best["us"] - float(gemms[0]["us"])) <= 0.06, (again, gemms)
    assert fields(best["variant"]).items() <= gemms[0].items(), (best, gemms)


def refused():
    for arguments, words in ((("gather",), "'gather' is no collective with several schedules and no shape MxNxK"),
                             (("64x48",), "'64x48' is no collective"), (("-n", "9"), "1 to 8 ranks"),
                             (("-m", "4096", "-M", "1024"), "--min at most --max"),
                             (("-k", "0"), "1 to 32 candidates")):
        out, error = said(*arguments, fails=2)
        assert words in error and error.count("\n") == 1 and not out, (arguments, out, error)
    _, error = said(*SMALL, "-o", "there/is/none.txt", "reduce", fails=1)
    assert error.startswith("iris-tune: cannot write there/is/none.txt"), error


def kept():
    """A table keeps what it has where a run finds no rows or cannot write; a link stays one."""
    with tempfile.TemporaryDirectory() as folder:
        table, link = pathlib.Path(folder, "rows.txt"), pathlib.Path(folder, "link.txt")
        table.write_text("precious\n", encoding="utf-8")
        link.symlink_to("rows.txt")
        for arguments, words in ((("--json", "no/where.json"), "cannot write no/where.json: "),
                                 (("-s", "1", "-r", "4000", "-l", "400"), "there are no rows; rows.txt is as it was")):
            _, error = said(*SMALL, "-M", "1024", *arguments, "-o", "rows.txt", "all_reduce", fails=1, cwd=folder)
            assert words in error and table.read_text(encoding="utf-8") == "precious\n", (arguments, error)
            assert not pathlib.Path(folder, "rows.txt.new").exists()
        _, error = said(*SMALL, "-o", "/dev/full", "reduce", fails=1, cwd=folder)
        assert "cannot write all of /dev/full\n" in error, error
        said(*SMALL, "-o", "link.txt", "reduce", cwd=folder)
        assert link.is_symlink() and "collective=reduce" in table.read_text(encoding="utf-8")


refused()
kept()
measured()
