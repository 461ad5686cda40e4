#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws what benchmarks and traces have written: `python3 -m iris_plot FILE…` in bench/, or
`python3 bench/iris_plot.py FILE…`. A file is a result (JSON of schema iris-bench-1) or a trace (JSON of IRIS_TRACE);
pictures go into one folder. docs/how-to/draw-results.md shows what there is. Needs matplotlib.
"""
import argparse
import json
import pathlib
import sys

try:
    import matplotlib  # noqa: F401 (asked for here, for the sentence)
except ImportError:
    sys.exit("iris-plot: matplotlib is missing: apt-get install python3-matplotlib, or pip install matplotlib")
import gemm_report
import plot
import timeline


def rows_of(file, result):
    """The rows of a result, all of which were right."""
    wrong = sum(not row["ok"] for row in result["rows"])
    if wrong:
        sys.exit(f"iris-plot: {file}: the check of {wrong} rows failed: they are not drawn, nor are the others")
    if not result["rows"]:
        sys.exit(f"iris-plot: {file}: there are no rows")
    return result["rows"]


def where_of(result):
    units = result.get("compute_units")  # of a rank: where ranks share a device, its part of it
    part = f" ({units} compute units a rank)" if units else ""
    return f"{result.get('world', result.get('ranks'))} × {result['device']}{part}, {result['commit']}"


def name_of(file):
    """What the names of a file's pictures begin with. What follows .json stays: ranks write FILE.json.rank0, …"""
    return file.name.removesuffix(".json")


def draw(file, result, folder, ending):
    """All pictures of one result."""
    rows, where, stem = rows_of(file, result), where_of(result), name_of(file)
    kind = result["benchmark"]
    if kind in ("gemm_fused", "gemm_all_scatter"):
        drawn = sum(plot.speedups(result, op, where, folder / f"{stem}_{op}.{ending}")
                    for op in gemm_report.OPERATIONS)
        if not drawn:
            sys.exit(f"iris-plot: {file}: no pattern stands beside BLAS + NCCL")
    elif kind == "pairs":
        plot.heat_maps(rows, where, folder, stem, ending)
        together = [r for r in rows if r["variant"] == "all"]
        if together:
            plot.draw(together, "bytes", "gbps", f"all at once: {where}", ("bytes", "GB/s a rank"),
                      folder / f"{stem}_all_size.{ending}")
    elif kind == "collectives":
        plot.collectives(rows, where, folder, stem, ending)
    elif kind in ("bandwidth", "latency"):
        plot.bandwidths(rows, where, folder, stem, ending)
    elif not plot.sweep(rows, f"{kind}: {where}", folder / f"{stem}.{ending}"):
        sys.exit(f"iris-plot: {file}: no axis has several numbers")


def read(file):
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as why:
        sys.exit(f"iris-plot: {file}: {why}")
    if isinstance(found, dict) and (found.get("schema") == "iris-bench-1" or "traceEvents" in found):
        return found
    sys.exit(f"iris-plot: {file} is neither a result of schema iris-bench-1 nor a trace")


def arguments():
    parser = argparse.ArgumentParser(prog="iris-plot", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE", help="results and traces")
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("."), metavar="FOLDER",
                        help="where the pictures go; default: here")
    parser.add_argument("-f", "--format", default="svg", choices=("svg", "png", "pdf"))
    parser.add_argument("--beside", type=pathlib.Path, metavar="FILE",
                        help="an earlier result: draw how many times as fast each row is now")
    parser.add_argument("--begin", type=float, metavar="US", help="of a trace: microseconds from its first event on")
    parser.add_argument("--end", type=float, metavar="US", help="and up to where")
    return parser.parse_args()


def picture_of(file, found, before):
    """The name of a trace's or a comparison's picture; of a result what the names of its pictures begin with."""
    return name_of(file) + ("_timeline" if "traceEvents" in found else "" if before is None else "_beside")


def refuse_same_pictures(inputs, before):
    """Ends the program where a picture of one input would overwrite another's."""
    first = {}
    for file, found in inputs:
        name = picture_of(file, found, before)
        if name in first:
            sys.exit(f"iris-plot: {first[name]} and {file} would write pictures of the same name, {name}: "
                     "draw them in two calls, with two folders")
        first[name] = file


def draw_input(file, found, before, args):
    """All pictures of one trace or result."""
    picture = args.out / f"{picture_of(file, found, before)}.{args.format}"
    if "traceEvents" in found:
        if not timeline.timeline(found, file.name, picture, args.begin, args.end):
            sys.exit(f"iris-plot: {file}: it has no events there")
    elif before is None:
        draw(file, found, args.out, args.format)
    elif not plot.beside(rows_of(file, found), rows_of(args.beside, before),
                         f"{where_of(found)}, beside {before['commit']}", picture):
        sys.exit(f"iris-plot: {file} and {args.beside} have no row in common")


def main():
    args = arguments()
    before = read(args.beside) if args.beside else None
    if before is not None and "rows" not in before:
        sys.exit(f"iris-plot: --beside {args.beside}: a trace is no result")
    inputs = [(file, read(file)) for file in args.files]
    refuse_same_pictures(inputs, before)
    try:
        args.out.mkdir(parents=True, exist_ok=True)
        for file, found in inputs:
            draw_input(file, found, before, args)
    except OSError as why:
        sys.exit(f"iris-plot: no picture can be written into the folder {args.out}: {why}")


if __name__ == "__main__":
    main()
