# SPDX-License-Identifier: MIT
"""Tables and pictures of docs/performance.md, from the newest result of each benchmark: docs/build.py calls it.

    python3 docs/figures.py docs/pictures --only gemm_all_scatter,collectives    # those that the README shows
"""
import argparse
import itertools
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402

RESULTS = ROOT / "bench/results"


def result(name):
    """The result that a table or picture is made from: a file, or the newest one of a folder, which is the only one."""
    file, = RESULTS.glob(f"{name}/*.json") if (RESULTS / name).is_dir() else [RESULTS / f"{name}.json"]
    return json.loads(file.read_text(encoding="utf-8"))


def where(found):
    """Which devices and commit a result is of."""
    world = found.get("world", 1)
    return f"{world} × {found['device']}, commit `{found['commit']}`"


def usual(found):
    """Round trips and launches as a program makes them, without the spellings that were compared."""
    cases = ("signal", "ll", "ll_barrier", "barrier", "put_signal", "launch_barrier", "launch_ll_barrier")
    return [r for r in found["rows"] if r["case"] in cases]


def few_rows(found):
    return [r for r in found["rows"] if r["m"] <= 8 and not r.get("b_transposed")]


def all_reduce(found):
    return [r for r in found["rows"] if r["case"] == "all_reduce"]


# name on the page: (result, the table of it)
TABLES = {
    "latency": ("latency/4xH200", lambda found: report.latency_table(usual(found))),
    "bandwidth": ("bandwidth/4xH200", lambda found: itertools.takewhile(
        str, itertools.islice(report.bandwidth_tables(found["rows"]), 1, None))),
    "collectives": ("collectives/4xH200", lambda found: report.collectives_table(all_reduce(found))),
    "tiles": ("tiles/4xH200", lambda found: report.tiles_table(found["rows"])),
    "gemm_all_scatter": ("gemm_fused/4xH200", report.gemm_summary),
    "gemm_operations_4": ("gemm_fused/4xH200", lambda found: report.gemm_operations_summary(found, False)),
    "gemm_decoding_4": ("gemm_fused/4xH200", lambda found: report.gemm_operations_summary(found, True)),
    "gemm_operations": ("gemm_fused/2xH200", lambda found: report.gemm_operations_summary(found, False)),
    "gemm_decoding": ("gemm_fused/2xH200", lambda found: report.gemm_operations_summary(found, True)),
    "gemm_norm": ("gemm_fused/2xH200", report.gemm_norm_summary),
    "beside": ("beside/2xH200", lambda found: report.beside_table(found["rows"])),
    "gemm_local": ("gemm_local/1xH200/2d4599e", lambda found: report.local_table(found["rows"])),
    "gemm_types": ("gemm_local/1xH200/3b1043f", lambda found: report.types_table(found["runs"])),
    "gemm_few_rows": ("gemm_local/1xH200/34a105c",
                      lambda found: report.local_table(few_rows(found))),
}


def write_tables(folder):
    """NAME.md for each table, with a line that says what it is of."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (source, table) in TABLES.items():
        found = result(source)
        lines = [where(found) + ":", "", *(line for line in table(found) if line)]
        (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_pictures(folder, names):
    """NAME.svg for each picture; needs matplotlib."""
    import plot
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        found = result(TABLES[name][0] if name in TABLES else "pairs/2xH200")
        title = where(found).replace("`", "")
        if name == "gemm_all_scatter":
            plot.speedups(found, "all_scatter", title, folder / f"{name}.svg")
        elif name == "collectives":
            plot.collectives(all_reduce(found), title, folder, name)
        elif name in ("gemm_local", "gemm_few_rows"):
            rows = few_rows(found) if name == "gemm_few_rows" else found["rows"]
            plot.ratios(rows, f"GEMM alone, {found['dtype']}, B as k x n: {title}", folder / f"{name}.svg")
        elif name == "bandwidth":
            rows = [r for r in found["rows"] if "gbps" in r and r["variant"] == "all" and r["dtype"] == "u32"]
            plot.draw(rows, "bytes", "gbps", f"all ranks at once: {title}", ("bytes", "GB/s a rank"),
                      folder / f"{name}.svg")
        elif name == "pairs":
            most = max(r["bytes"] for r in found["rows"])
            rows = [r for r in found["rows"] if r["bytes"] == most]
            plot.heat_maps(rows, title, folder, "bandwidth", "svg")
        elif name == "latency":
            rows = [r for r in found["rows"] if r["case"] == "put_signal"]
            plot.draw(rows, "bytes", "us", f"round trip: {title}", ("bytes", "µs"), folder / f"{name}.svg")


PICTURES = ("latency", "bandwidth", "pairs", "collectives", "gemm_all_scatter", "gemm_local", "gemm_few_rows")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="where the pictures go")
    parser.add_argument("--only", default=",".join(PICTURES), metavar="NAME,...", help=", ".join(PICTURES))
    args = parser.parse_args()
    write_pictures(args.folder, args.only.split(","))
