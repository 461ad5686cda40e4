# SPDX-License-Identifier: MIT
"""iris-plot draws every kind of result and a trace, and refuses in one sentence what it cannot. Skipped where
matplotlib is not. All in one process: each one would need a second for matplotlib alone.

    plot.py ROOT
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile
import unittest.mock

ROOT = pathlib.Path(sys.argv[1]).resolve()
RESULTS = ROOT / "bench/results"
DEBIAN = "/usr/bin/python3"  # which has what apt-get installs, where another Python comes first


def said(*arguments, fails=False):
    """Names of the pictures, or the sentence with which the program ends."""
    out, sentence = io.StringIO(), None
    sys.argv = ["iris_plot.py", *map(str, arguments)]
    with contextlib.redirect_stdout(out):
        try:
            iris_plot.main()
        except SystemExit as end:
            sentence = end.code
    assert (sentence is not None) == fails, (arguments, sentence, out.getvalue())
    if fails:
        assert sentence.startswith("iris-plot: ") and "\n" not in sentence, sentence
    return sentence if fails else [pathlib.Path(line).name for line in out.getvalue().splitlines()]


def result(benchmark, rows):
    return {"schema": "iris-bench-1", "benchmark": benchmark, "device": "CPU", "commit": "abc1234", "world": 2,
            "rows": rows}


def row(case, us, **axes):
    return {"case": case, "dtype": "", "variant": "", "bytes": 0, "workgroups": 0, "lanes": 0, **axes, "us": us,
            "ok": True}


def trace():
    """Two ranks: an event in another one, and an arrow."""
    def span(pid, name, kind, ts, dur):
        return {"ph": "X", "pid": pid, "tid": 1, "name": name, "cat": kind, "ts": ts, "dur": dur}
    def end(ph, pid, ts):
        return {"ph": ph, "pid": pid, "tid": 1, "id": 7, "name": "raise", "cat": "flow", "ts": ts}
    return {"traceEvents": [{"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "unit 0"}},
                            span(0, "all_reduce", "collective", 10, 50), span(0, "put", "put", 12, 5),
                            span(0, "signal", "signal", 20, 1), span(1, "wait", "wait", 11, 12),
                            end("s", 0, 20), end("f", 1, 23)]}


def write(folder, name, what):
    file = folder / name
    file.write_text(json.dumps(what), encoding="utf-8")
    return file


def drawn(folder):
    out = folder / "out"
    push = result("push", [row("push", n * w, bytes=n, workgroups=w) for n in (64, 128, 256) for w in (1, 2)])
    pairs = result("pairs", [{**row("put", 1, bytes=64, variant="pair"), "from": a, "to": b, "gbps": 3.0 + a}
                             for a in range(2) for b in range(2)])
    faster = result("push", [{**r, "us": r["us"] / 2} for r in push["rows"][1:]])
    files = [write(folder, n, w) for n, w in (("push.json", push), ("pairs.json", pairs), ("run.json", trace()))]
    assert said("-o", out, *files) == ["push.svg", "pairs_pairs_64.svg", "run_timeline.svg"]
    again = write(folder, "again.json", faster)
    assert said("-o", out, "-f", "png", "--beside", files[0], again) == ["again_beside.png"]
    assert said("-o", out, "-f", "png", "--begin", "5", "--end", "20", files[2]) == ["run_timeline.png"]
    for name in ("bandwidth/4xH200", "latency/4xH200", "collectives/2xH200", "gemm_all_scatter/2xH200"):
        file, = (RESULTS / name).glob("*.json")
        assert said("-o", out, file), name
    svg = (out / "push.svg").read_text(encoding="utf-8")
    assert "</svg>" in svg and all(picture.stat().st_size > 1000 for picture in out.iterdir()), list(out.iterdir())


def names(folder):
    """Pictures of ranks' traces, of which each has its own, and of files whose names only look alike."""
    hang = [write(folder, f"hang.json.rank{r}", trace()) for r in range(2)]
    assert said("-o", folder / "hang", *hang) == [f"hang.json.rank{r}_timeline.svg" for r in range(2)]
    assert sorted(p.name for p in (folder / "hang").iterdir()) == [f"hang.json.rank{r}_timeline.svg" for r in range(2)]
    for side in "AB":
        (folder / side).mkdir()
    push = result("push", [row("push", n, bytes=n) for n in (64, 128)])
    a, b = write(folder / "A", "push.json", push), write(folder / "B", "push.json", push)
    run, timeline = write(folder / "A", "run.json", trace()), write(folder / "B", "run_timeline.json", push)
    for first, second in ((a, b), (run, timeline)):
        sentence = said("-o", folder / "none", first, second, fails=True)
        assert str(first) in sentence and str(second) in sentence and not (folder / "none").exists(), sentence
    assert said("-o", folder / "both", a, write(folder / "B", "run.json", trace())) == ["push.svg", "run_timeline.svg"]


def sweep(rows):
    """{a picture of sweep: (label and scale of x, of y, its lines)}"""
    seen = {}

    def look(fig, file):
        axes, = fig.axes
        lines = {line.get_label(): list(line.get_xdata()) for line in axes.lines}
        seen[file.name] = (axes.get_xlabel(), axes.get_xscale(), axes.get_ylabel(), axes.get_yscale(), lines)
    with unittest.mock.patch.object(iris_plot.plot, "saved", look):
        assert iris_plot.plot.sweep(rows, "here", pathlib.Path("mixed.svg")) == len(seen)
    return seen


def swept():
    """Which axis sweep draws against, and where a 0 keeps a scale from being logarithmic."""
    copy = [row("copy", n, bytes=n, gbps=1.0) for n in (256, 1024)]
    fill = [row("fill", n, elements=n) for n in (64, 256)]
    assert sweep(copy + fill) == {
        "mixed.svg": ("bytes", "log", "GB/s", "log", {"copy": [256, 1024]}),
        "mixed_fill.svg": ("elements", "log", "µs", "log", {"fill": [64, 256]})}
    more = [row("fill", n, elements=n) for n in (16, 64, 256)]
    rest = [row("empty", 1), row("empty", 2, elements=None), *(row("there/back", n, hops=n) for n in (1, 2))]
    assert {name: drawn[0] for name, drawn in sweep(copy + more + rest).items()} == {
        "mixed.svg": "elements", "mixed_copy.svg": "bytes", "mixed_there_back.svg": "hops"}
    assert sweep(copy + [row("push", n, bytes=n, gbps=1.0) for n in (256, 512)]) == {
        "mixed.svg": ("bytes", "log", "GB/s", "log", {"copy": [256, 1024], "push": [256, 512]})}
    assert sweep([row("wait", 1, depth=n) for n in (0, 1, 2)]) == {
        "mixed.svg": ("depth", "linear", "µs", "log", {"wait": [0, 1, 2]})}
    assert sweep([{**r, "gbps": i * 1.0} for i, r in enumerate(copy)]) == {
        "mixed.svg": ("bytes", "log", "GB/s", "linear", {"copy": [256, 1024]})}
    workgroups = [row("tiles", 1, bytes=n, variant=f"v{w}", workgroups=w) for n in (64, 256) for w in (0, 132, 264)]
    assert sweep(workgroups)["mixed.svg"][0] == "bytes"
    assert sweep([row("signal", 1), row("signal", 2)]) == {}


def refused(folder):
    push = result("push", [row("push", 1, bytes=64)])
    assert "no axis has several numbers" in said(write(folder, "one.json", push), fails=True)
    push["rows"][0]["ok"] = False
    assert "the check of 1 rows failed" in said(write(folder, "wrong.json", push), fails=True)
    assert "there are no rows" in said(write(folder, "empty.json", result("push", [])), fails=True)
    assert "neither a result" in said(write(folder, "other.json", [1]), fails=True)
    assert "No such file" in said(folder / "none.json", fails=True)
    file = write(folder, "run.json", trace())
    assert "it has no events there" in said("--begin", "500", "--end", "600", file, fails=True)
    assert "a trace is no result" in said("--beside", file, write(folder, "push.json", push), fails=True)
    for out in (file, file / "below"):
        assert f"no picture can be written into the folder {out}: " in said("-o", out, file, fails=True)


if not importlib.util.find_spec("matplotlib"):
    if sys.executable != DEBIAN and os.access(DEBIAN, os.X_OK):
        os.execv(DEBIAN, [DEBIAN, "-B", *sys.argv])
    print("matplotlib is not here")
    sys.exit(77)
sys.path.insert(0, str(ROOT / "bench"))
import iris_plot  # noqa: E402 (it wants matplotlib)

with tempfile.TemporaryDirectory() as scratch:
    drawn(pathlib.Path(scratch))
    names(pathlib.Path(scratch))
    swept()
    refused(pathlib.Path(scratch))
